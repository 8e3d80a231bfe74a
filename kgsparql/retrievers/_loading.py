"""Methods by name: which there are, the class of one, and one with its options.

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
from inspect import get_annotations, isclass
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Union, cast, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

from kgsparql.answering.retriever import Retriever
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

__all__ = ["alternatives", "find", "load", "names", "option_fields", "with_options"]

_GROUP = "kgsparql.retrievers"
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_TYPE_WORDS = {int: "a whole number", float: "a number", bool: "yes or no"}


def names() -> list[str]:
    """Every method there is: the files beside this one, and those that other packages registered.

    >>> "mindmap" in names()
    True
    """
    return sorted(_built_in() | {point.name for point in entry_points(group=_GROUP)})


def _built_in() -> set[str]:
    modules = iter_modules([str(Path(__file__).parent)])
    return {module.name for module in modules if not module.name.startswith("_")}


def find(name: str) -> type[Retriever]:
    """The class of a method; a built-in one is never another package's.

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
    raise OptionError(f"no method {printable(name, 60)!r}", hint=f"there are: {', '.join(names())}")


def _is_method(thing: Any) -> bool:
    return isclass(thing) and issubclass(thing, Retriever) and is_dataclass(thing) and hasattr(thing, "name")


def load(name: str | Retriever, options: Mapping[str, Any] | None = None) -> Retriever:
    """A method with its options; a method that is already made is returned as it is.

    Texts, as a command line has them, become values of the field's type; several values stand between commas.

    :raises OptionError: for a method, an option or a value that does not exist.

    >>> load("mindmap", {"paths_kept": "3"}).paths_kept
    3
    """
    return with_options(find(name), options) if isinstance(name, str) else name


def with_options(method: type[Retriever], options: Mapping[str, Any] | None = None) -> Retriever:
    """A method of a class with its options, as :func:`load`.

    :raises OptionError: for an option or a value that does not exist.
    """
    known = {field.name: field for field in option_fields(method)}
    hints = get_type_hints(method)
    values: dict[str, Any] = {}
    for option, value in (options or {}).items():
        if option not in known:
            raise OptionError(
                f"{method.name} has no option {printable(option, 60)!r}", hint=f"it has: {', '.join(sorted(known))}"
            )
        is_text = isinstance(value, str)
        values[option] = _value_of_text(method.name, known[option], hints[option], value) if is_text else value
    return method(**values)


def option_fields(method: type[Retriever]) -> list[Field[Any]]:
    """The fields that are options: the method's own, then those it inherits; fields without ``repr`` are none."""
    options = [field for field in fields(cast("Any", method)) if field.init and field.repr]
    own = get_annotations(method)
    return sorted(options, key=lambda field: field.name not in own)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a type allows: the members of a union, or just itself.

    >>> alternatives(int | None), alternatives(int)
    ((<class 'int'>, <class 'NoneType'>), (<class 'int'>,))
    """
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def _value_of_text(method: str, field: Field[Any], hint: Any, text: str) -> Any:
    """The value of an option from its text.

    :raises OptionError: if the text is no value of the option's type.
    """
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
        return _parsed(kind, text)
    except (ValueError, KeyError, TypeError) as error:
        wanted = _TYPE_WORDS.get(kind) or getattr(kind, "__name__", kind)
        raise OptionError(f"{setting} is not {wanted}", hint=f"default: {field.default}") from error


def _parsed(kind: Any, text: str) -> Any:
    """A value of a type.

    :raises ValueError: or KeyError or TypeError, if the text is none.
    """
    if kind is bool:
        return _BOOLEANS[text.lower()]
    if get_origin(kind) is tuple:
        return tuple(_parsed(get_args(kind)[0], part.strip()) for part in text.split(",") if part.strip())
    value = kind(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{text} is not finite")
    return value
