"""The methods; :func:`load` turns a name and options into one.

A method is one file beside this one, with a class whose ``name`` is the file's, or a class that another package
registers under its name in the entry-point group ``kgsparql.retrievers``.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from importlib import import_module
from importlib.metadata import entry_points
from inspect import isclass
from pkgutil import iter_modules
from typing import Any, Union, cast, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

from kgsparql.answering.retriever import Retriever
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

__all__ = ["find", "load", "names", "with_options"]

_GROUP = "kgsparql.retrievers"
_YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_KINDS = {int: "a whole number", float: "a number", bool: "yes or no"}
"""What a value should be, as a person says it."""


def names() -> list[str]:
    """Every method there is: the files beside this one, and those that other packages registered.

    >>> "mindmap" in names()
    True
    """
    return sorted(_built_in() | {point.name for point in entry_points(group=_GROUP)})


def _built_in() -> set[str]:
    return {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}


def find(name: str) -> type[Retriever]:
    """The class of a method; a built-in one is never another package's.

    :raises OptionError: if there is no method of this name, or what another package registered is none.
    """
    if name in _built_in():
        module = import_module(f"{__name__}.{name}")
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
    raise OptionError(f"no method {printable(name, 60)!r}", hint=f"there are: {', '.join(names())}")


def _is_method(thing: Any) -> bool:
    return isclass(thing) and issubclass(thing, Retriever) and is_dataclass(thing) and hasattr(thing, "name")


def load(name: str | Retriever, options: Mapping[str, Any] | None = None) -> Retriever:
    """A method with its options; one that is made already stays as it is.

    Texts, as a command line has them, become the type of the field.

    Where a field holds several values, the text has them between commas.

    :raises OptionError: for a method, an option or a value that does not exist.

    >>> load("mindmap", {"paths_kept": "3"}).paths_kept
    3
    """
    return with_options(find(name), options) if isinstance(name, str) else name


def with_options(method: type[Retriever], options: Mapping[str, Any] | None = None) -> Retriever:
    """A method of a class with its options, as :func:`load`; fields without ``repr`` are no options.

    :raises OptionError: for an option or a value that does not exist.
    """
    known = {field.name: field for field in fields(cast("Any", method)) if field.init and field.repr}
    hints = get_type_hints(method)
    values: dict[str, Any] = {}
    for option, value in (options or {}).items():
        if option not in known:
            raise OptionError(
                f"{method.name} has no option {printable(option, 60)!r}", hint=f"it has: {', '.join(sorted(known))}"
            )
        values[option] = _converted(method.name, known[option], hints[option], value)
    return method(**values)


def _converted(method: str, field: Field[Any], hint: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    said = f"{method}: {field.name}={printable(value, 60)!r}"
    if get_origin(hint) is OneOf:
        allowed = get_args(hint)
        if value in allowed:
            return value
        raise OptionError(said, hint=f"one of: {', '.join(map(str, allowed))}")
    kind, may_be_none = hint, False
    if get_origin(hint) in {Union, types.UnionType}:
        kind = next(k for k in get_args(hint) if k is not type(None))
        may_be_none = type(None) in get_args(hint)
    if may_be_none and value.lower() in {"none", ""}:
        return None
    try:
        return _read(kind, value)
    except (ValueError, KeyError, TypeError) as error:
        raise OptionError(
            f"{said} is not {_KINDS.get(kind) or getattr(kind, '__name__', kind)}", hint=f"default: {field.default}"
        ) from error


def _read(kind: Any, text: str) -> Any:
    """A value of a type, from a text.

    :raises ValueError: or KeyError or TypeError, if it is none.
    """
    if kind is bool:
        return _YES_OR_NO[text.lower()]
    if get_origin(kind) is tuple:
        of = get_args(kind)[0]
        return tuple(_read(of, part.strip()) for part in text.split(",") if part.strip())
    value = kind(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{text} is not finite")
    return value
