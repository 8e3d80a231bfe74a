"""Methods by name: which there are, the class of one, one with its options, and its description.

A method is one file beside this one, with a class whose ``name`` is the file's, or a class that another package
registers under its name in the entry-point group ``kgsparql.retrievers``.
"""

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Union, cast, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

from kgsparql.answering.retriever import AUTO, Retriever, Routed, did_you_mean
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

_GROUP = "kgsparql.retrievers"
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_PARAMETER = re.compile(r"^:param (\w+):(.*?)(?=^:|^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_TYPE_WORDS = {int: "a whole number", float: "a number", bool: "yes or no"}


def names() -> list[str]:
    """List every method there is: the files beside this one, and those that other packages registered.

    >>> "mindmap" in names()
    True
    """
    return sorted(_built_in() | {point.name for point in entry_points(group=_GROUP)})


def _built_in() -> set[str]:
    modules = iter_modules([str(Path(__file__).parent)])
    return {module.name for module in modules if not module.name.startswith("_")}


def find(name: str) -> type[Retriever]:
    """Find the class of a method; a built-in one is never another package's.

    :raises OptionError: if there is no method of this name, or what another package registered is none.
    """
    if name in _built_in():
        module = import_module(f"{__package__}.{name}")
        own = [c for c in vars(module).values() if _is_method(c) and c.name == name]
        if not own:
            raise OptionError(f"{module.__name__} has no method {name!r}", hint="its class must say so as its name")
        return cast("type[Retriever]", own[0])
    for point in entry_points(group=_GROUP, name=name):
        try:
            found = point.load()
        except Exception as error:
            raise OptionError(
                f"the method {printable(name, 60)!r} cannot be loaded: {printable(str(error), 200)}",
                hint=f"it is registered as {point.value}",
            ) from error
        if not _is_method(found) or found.name != name:
            raise OptionError(
                f"{point.value} is no method {printable(name, 60)!r}",
                hint="a method is a dataclass derived from kgsparql.Retriever whose name is that of its entry point",
            )
        return cast("type[Retriever]", found)
    meant = did_you_mean(name, [AUTO, *names()])
    raise OptionError(f"no method {printable(name, 60)!r}{meant}", hint=f"there are: {', '.join(names())}")


def _is_method(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Retriever) and is_dataclass(thing) and hasattr(thing, "name")


def load(name: str | Retriever, options: Mapping[str, Any] | None = None) -> Retriever:
    """Make a method with its options; a method that is already made is returned as it is.

    The options of ``auto`` are those of the method that looks things up, ``path_ranking``. Texts, as a command line has
    them, become values of the field's type; several values stand between commas.

    :raises OptionError: for a method, an option or a value that does not exist.

    >>> load("mindmap", {"paths_kept": "3"}).paths_kept
    3
    """
    if name == AUTO:
        # Plans are a tenth of a second to import, and few questions need one.
        return Routed(computing=partial(load, "query_plan"), walking=load("path_ranking", options))
    if isinstance(name, str):
        return with_options(find(name), options)
    if options:
        raise OptionError(
            f"options beside a method that is made: {', '.join(options)}", hint=f"give them to {type(name).__name__}(…)"
        )
    return name


def with_options(method: type[Retriever], options: Mapping[str, Any] | None = None) -> Retriever:
    """Make a method of a class with its options, as :func:`load`."""
    known = {field.name: field for field in option_fields(method)}
    hints = get_type_hints(method)
    values: dict[str, Any] = {}
    for option, value in (options or {}).items():
        if option not in known:
            raise OptionError(
                f"{method.name} has no option {printable(option, 60)!r}{did_you_mean(option, known)}",
                hint=f"it has: {', '.join(sorted(known))}",
            )
        is_text = isinstance(value, str)
        values[option] = _value_of_text(method.name, known[option], hints[option], value) if is_text else value
    return method(**values)


def option_fields(method: type[Retriever]) -> list[Field[Any]]:
    """List the fields that are options: the method's own, then inherited ones; fields without ``repr`` are none."""
    options = [field for field in fields(cast("Any", method)) if field.init and field.repr]
    own = inspect.get_annotations(method)
    return sorted(options, key=lambda field: field.name not in own)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """List the types that a type allows: the members of a union, or just itself.

    >>> alternatives(int | None), alternatives(int)
    ((<class 'int'>, <class 'NoneType'>), (<class 'int'>,))
    """
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def _value_of_text(method: str, field: Field[Any], hint: Any, text: str) -> Any:
    setting = f"{method}: {field.name}={printable(text, 60)!r}"
    if get_origin(hint) is OneOf:
        if text in get_args(hint):
            return text
        raise OptionError(setting, hint=f"one of: {', '.join(map(str, get_args(hint)))}")
    kinds = alternatives(hint)
    if type(None) in kinds and text.lower() in {"none", ""}:
        return None
    kind = next(kind for kind in kinds if kind is not type(None))
    try:
        return _parsed_value(kind, text)
    except (ValueError, KeyError, TypeError) as error:
        wanted = _TYPE_WORDS.get(kind) or getattr(kind, "__name__", kind)
        raise OptionError(f"{setting} is not {wanted}", hint=f"default: {field.default}") from error


def _parsed_value(kind: Any, text: str) -> Any:
    """Read a value of a type; ValueError, KeyError or TypeError if the text is none."""
    if kind is bool:
        return _BOOLEANS[text.lower()]
    if get_origin(kind) is tuple:
        return tuple(_parsed_value(get_args(kind)[0], part.strip()) for part in text.split(",") if part.strip())
    value = kind(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{text} is not finite")
    return value


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a method.

    :param type: as a person writes it: ``int``, ``model | linker``.
    :param default: as the command line takes it; ``None`` for an option that must be given.
    """

    name: str
    type: str
    default: str | None
    about: str


@dataclass(frozen=True, slots=True)
class CostBound:
    """The most that a method spends of something on one question.

    :param where: the properties of the question that this value assumes: ``{"entities": 1}``.
    """

    value: int
    where: dict[str, int]


@dataclass(frozen=True, slots=True)
class MethodDescription:
    """A method in words and numbers.

    :param about: the first paragraph of the docstring of its class.
    :param cost: bounds of ``calls``, ``rounds`` and ``queries``.
    """

    name: str
    summary: str
    source: str
    about: str
    cost: dict[str, CostBound]
    options: tuple[Option, ...]

    def to_json(self) -> dict[str, Any]:
        """Make one JSON object."""
        return asdict(self)


def description_of(method: type[Retriever]) -> MethodDescription:
    """Describe a method by its class, its docstring and its fields.

    :raises OptionError: if it does not say what it costs.

    >>> found = description_of(find("mindmap"))
    >>> found.options[0]
    Option(name='paths_kept', type='int', default='5', about='paths shown, over all chains')
    >>> found.cost["calls"]
    CostBound(value=2, where={})
    """
    docs = [inspect.cleandoc(kind.__doc__ or "") for kind in method.__mro__]
    about = {name: _one_line(text) for doc in reversed(docs) for name, text in _PARAMETER.findall(doc)}
    hints = get_type_hints(method)
    options = option_fields(method)
    return MethodDescription(
        name=method.name,
        summary=method.summary,
        source=method.source,
        about=_one_line(docs[0].partition("\n\n")[0], end="."),
        cost=_cost_bounds(method, {field.name: _default_of(field) for field in options}),
        options=tuple(
            Option(
                field.name, _type_text(hints[field.name]), _default_text(_default_of(field)), about.get(field.name, "")
            )
            for field in options
        ),
    )


def _cost_bounds(method: type[Retriever], options: dict[str, Any]) -> dict[str, CostBound]:
    """Bound a method with these options; one without a default may be no part of them."""
    made = object.__new__(method)
    for name, value in options.items():
        object.__setattr__(made, name, value)
    try:
        cost, others = made.cost(), {"entities": made.cost(entities=2), "mediators": made.cost(mediators=0)}
        return {
            what: CostBound(int(bound), {name: 1 for name, other in others.items() if getattr(other, what) != bound})
            for what, bound in cost._asdict().items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise OptionError(f"the method {method.name!r} does not say what it costs: {error}") from error


def _one_line(text: str, *, end: str = "") -> str:
    return " ".join(text.replace("``", "").split()).removesuffix(".") + end


def _default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _default_text(default: Any) -> str | None:
    if default is MISSING:
        return None
    if isinstance(default, tuple | list | frozenset):
        return ",".join(str(value) for value in default)
    return str(default).lower() if isinstance(default, bool) or default is None else str(default)


def _type_text(hint: Any) -> str:
    if get_origin(hint) is OneOf:
        return " | ".join(map(str, get_args(hint)))
    if len(kinds := alternatives(hint)) > 1:
        return " | ".join("none" if kind is type(None) else _type_text(kind) for kind in kinds)
    if get_origin(hint) in {tuple, list, frozenset}:
        return f"{_type_text(get_args(hint)[0])}, …"
    return {bool: "true | false", str: "text"}.get(hint) or str(getattr(hint, "__name__", hint))
