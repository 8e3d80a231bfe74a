"""The methods; :func:`load` turns a name and options into one."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import Field, fields
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any, Union, cast, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

from kgsparql.errors import OptionError
from kgsparql.retriever import Retriever

__all__ = ["load", "names"]

_GROUP = "kgsparql.retrievers"


def names() -> list[str]:
    """Every method there is: the files beside this one, and those that other packages registered.

    >>> "mindmap" in names()
    True
    """
    built_in = {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}
    return sorted(built_in | {point.name for point in entry_points(group=_GROUP)})


def find(name: str) -> type[Retriever]:
    """The class of a method.

    :raises OptionError: if there is no method of this name.
    """
    if name not in names():
        raise OptionError(f"no method {name!r}", hint=f"there are: {', '.join(names())}")
    outside = {point.name: point for point in entry_points(group=_GROUP)}
    if name in outside:
        return cast("type[Retriever]", outside[name].load())
    module = import_module(f"{__name__}.{name}")
    found = [c for c in vars(module).values() if isinstance(c, type) and getattr(c, "name", None) == name]
    return cast("type[Retriever]", found[0])


def load(name: str, options: Mapping[str, Any] | None = None) -> Retriever:
    """A method with its options; texts, as a command line has them, become the type of the field.

    :raises OptionError: for a method, an option or a value that does not exist.

    >>> load("mindmap", {"paths_kept": "3"}).paths_kept
    3
    """
    method = find(name)
    known = {field.name: field for field in fields(cast("Any", method)) if field.init}
    hints = get_type_hints(method)
    values: dict[str, Any] = {}
    for option, value in (options or {}).items():
        if option not in known:
            raise OptionError(f"{name} has no option {option!r}", hint=f"it has: {', '.join(sorted(known))}")
        values[option] = _converted(name, known[option], hints[option], value)
    return method(**values)


def _converted(method: str, field: Field[Any], hint: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if get_origin(hint) is OneOf:
        allowed = get_args(hint)
        if value in allowed:
            return value
        raise OptionError(f"{method}: {field.name}={value!r}", hint=f"one of: {', '.join(map(str, allowed))}")
    kinds = (
        [k for k in get_args(hint) if k is not type(None)] if get_origin(hint) in {Union, types.UnionType} else [hint]
    )
    if len(kinds) < len(get_args(hint)) and value.lower() in {"none", ""}:
        return None
    kind = kinds[0]
    try:
        if kind is bool:
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[value.lower()]
        return kind(value)
    except (ValueError, KeyError, TypeError) as error:
        raise OptionError(
            f"{method}: {field.name}={value!r} is not a {kind.__name__}", hint=f"default: {field.default}"
        ) from error
