"""Methods by name: the class of one, one with its options, and its description.

A method is one file beside this one, with a class whose ``name`` is the file's, or any class that is named as
``module:Class``.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Union, cast, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

from kgsparql.answering.retriever import AUTO, Retriever, did_you_mean
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import Json, printable, zip_equal

_PARAMETER = re.compile(r"^:param (\w+):(.*?)(?=^:|^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_TYPE_NAMES = {bool: "true | false", str: "text", type(None): "none"}
_TYPE_WORDS = {int: "a whole number", float: "a number", bool: "yes or no"}


@cache
def _built_in() -> tuple[str, ...]:
    found = (module.name for module in iter_modules([str(Path(__file__).parent)]))
    return tuple(sorted(name for name in found if not name.startswith("_")))


def names() -> list[str]:
    """List the methods: the files beside this one.

    >>> "mindmap" in names()
    True
    """
    return [*_built_in()]


@cache
def _built_in_method(name: str) -> type[Retriever]:
    module = vars(import_module(f"{__package__}.{name}"))
    return next(kind for kind in module.values() if _is_method(kind) and kind.name == name)  # type: ignore[no-any-return]


def find(name: str) -> type[Retriever]:
    """Find the class of a method, also of one's own: ``module:Class``.

    :raises OptionError: if there is none.
    """
    if name in _built_in():
        return _built_in_method(name)
    module, colon, kind = name.partition(":")
    if not colon:
        meant = did_you_mean(name, [AUTO, *names()])
        raise OptionError(f"no method {printable(name, 60)!r}{meant}", hint=f"there are: {', '.join(names())}")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    problem = "is no method: a dataclass derived from kgsparql.Retriever"
    try:
        found = getattr(import_module(module), kind)
        if _is_method(found):
            return cast("type[Retriever]", found)
    except Exception as error:  # noqa: BLE001 - whatever the code of somebody else raises is told
        problem = f"cannot be loaded: {printable(str(error), 200)}"
    raise OptionError(f"the method {printable(name, 60)!r} {problem}", hint="name it as module:Class")


def _is_method(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Retriever) and is_dataclass(thing) and hasattr(thing, "name")


def load(name: str | Retriever, options: Mapping[str, Any] | None = None) -> Retriever:
    """Make a method with its options; a method that is already made is returned as it is.

    The options of ``auto`` are those of the method that looks things up, ``path_ranking``. Texts, as a command line has
    them, become values of the field's type.

    :raises OptionError: for a method, an option or a value that does not exist.

    >>> load("mindmap", {"paths_kept": "3"}).paths_kept
    3
    """
    if name == AUTO:
        # Plans are a tenth of a second to import, and few questions need one.
        from kgsparql.retrievers._planned_or_walked import PlannedOrWalked

        return PlannedOrWalked(planning=partial(load, "query_plan"), walking=load("path_ranking", options))
    if isinstance(name, str):
        return with_options(find(name), options)
    if options:
        raise OptionError(
            f"options beside a method that is made: {', '.join(options)}", hint=f"give them to {type(name).__name__}(…)"
        )
    return name


def with_options(method: type[Retriever], options: Mapping[str, Any] | None = None) -> Retriever:
    """Make a method of a class with its options, as :func:`load`."""
    if not options:
        return method()
    from pydantic import ConfigDict, TypeAdapter, ValidationError  # which takes time to import

    values = {}
    known, hints = {one.name: one for one in option_fields(method)}, get_type_hints(method)
    for option, value in options.items():
        if option not in known:
            raise OptionError(
                f"{method.name} has no option {printable(option, 60)!r}{did_you_mean(option, known)}",
                hint=f"it has: {', '.join(sorted(known))}",
            )
        hint = hints[option]
        is_none = isinstance(value, str) and value.lower() in {"none", ""} and type(None) in _type_alternatives(hint)
        adapter = TypeAdapter(hint, config=ConfigDict(allow_inf_nan=False))
        try:
            values[option] = adapter.validate_python(None if is_none else value)
        except ValidationError as error:
            wanted = _TYPE_WORDS.get(_type_alternatives(hint)[0], _type_text(hint))
            raise OptionError(
                f"{method.name}: {option}={printable(str(value), 60)!r} is not {wanted}",
                hint=f"default: {_default_text(known[option])}",
            ) from error
    return method(**values)


def option_fields(method: type[Retriever]) -> list[Field[Any]]:
    """List the fields that are options: the method's own, then inherited ones; fields without ``repr`` are none."""
    options = [one for one in fields(cast("Any", method)) if one.init and one.repr]
    own = inspect.get_annotations(method)
    return sorted(options, key=lambda one: one.name not in own)


def _type_alternatives(hint: Any) -> tuple[Any, ...]:
    """List the types of a union, or the values of a literal type."""
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType, OneOf} else (hint,)


def description_of(method: type[Retriever]) -> Json:
    """Describe a method by its class, its docstring and its fields, as one JSON object.

    :return: also its ``cost``: of each thing that it spends the most on one question, ``where`` this has properties.
    :raises OptionError: if it does not say what it costs.

    >>> found = description_of(find("mindmap"))
    >>> found["options"][0]
    {'name': 'paths_kept', 'type': 'int', 'default': '5', 'about': 'paths shown, over all chains'}
    >>> found["cost"]["calls"]
    {'value': 3, 'where': {}}
    """
    docs = [inspect.cleandoc(kind.__doc__ or "") for kind in method.__mro__]
    about = {name: _one_line(text) for doc in reversed(docs) for name, text in _PARAMETER.findall(doc)}
    hints = get_type_hints(method)
    try:
        made = method()
        cost, of_two = made.cost(), made.cost(entities=2)
        bounds = {
            what: {"value": int(most), "where": {"entities": 1} if more != most else {}}
            for (what, most), more in zip_equal(cost._asdict().items(), of_two)
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise OptionError(f"the method {method.name!r} does not say what it costs: {error}") from error
    options = [
        {
            "name": one.name, "type": _type_text(hints[one.name]), "default": _default_text(one),
            "about": about.get(one.name, ""),
        }
        for one in option_fields(method)
    ]  # fmt: skip
    return {
        "name": method.name, "summary": method.summary, "source": method.source,
        "about": _one_line(docs[0].partition("\n\n")[0]) + ".", "asks": list(method.asks), "cost": bounds,
        "options": options,
    }  # fmt: skip


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "").split()).removesuffix(".")


def _default_text(option: Field[Any]) -> str:
    default = option.default
    return str(default).lower() if isinstance(default, bool) or default is None else str(default)


def _type_text(hint: Any) -> str:
    kinds = _type_alternatives(hint)
    return " | ".join(_TYPE_NAMES.get(kind) or str(getattr(kind, "__name__", kind)) for kind in kinds)
