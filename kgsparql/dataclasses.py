"""Dataclasses that are quick to make: a command makes all those of the modules that it imports.

The standard library compiles six methods for each class, most of which no command calls. Here ``__init__`` is compiled
when it is first wanted, and the other methods never. Classes that others inherit from are of the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

__all__ = ["Field", "asdict", "dataclass", "field", "fields", "frozen", "is_dataclass", "replace"]

_T = TypeVar("_T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen=False, eq=True, order=False, slots=False, kw_only=False):
        """Make a class a dataclass, as the decorator of that name in the standard library does.

        >>> @dataclass(frozen=True, slots=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, y=0), len({Point(1), Point(1, 0)})
        (Point(x=1, y=0), True, 1)
        """
        if order:
            return dataclasses.dataclass(frozen=frozen, eq=eq, order=True, slots=slots, kw_only=kw_only)

        def made(cls: type) -> type:
            own = {name for name, method in vars(cls).items() if method is not None}
            cls.__doc__ = cls.__doc__ or cls.__name__  # else a signature is written, which takes 0.5 ms
            cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            methods = {"__init__": _LazyInit(cls), "__repr__": _repr_text}
            if frozen:
                methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change}
                methods |= {"__setstate__": _restore_fields} if slots else {}
            if eq:
                methods |= _comparison_methods([one.name for one in fields(cls) if one.compare], frozen=frozen)
            for name in methods.keys() - own:
                setattr(cls, name, methods[name])
            return cls

        return made


@overload
def frozen(cls: type[_T], /) -> type[_T]: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[type[_T]], type[_T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, kw_only: bool = False) -> Any:
    """Make a class a value: a dataclass with slots that cannot be changed, as ``attrs.frozen`` does.

    >>> @frozen
    ... class Point:
    ...     x: int
    >>> Point(1), {Point(1), Point(1)} == {Point(1)}
    (Point(x=1), True)
    """
    made = dataclass(frozen=True, slots=True, kw_only=kw_only)
    return made if cls is None else made(cls)


class _LazyInit:
    """A method ``__init__`` that is compiled when it is called for the first time, or its signature is asked for."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __get__(self, value: Any, owner: type) -> Any:
        """Compile the method, and put it in the place of this."""
        method = _compiled_init(self.cls)
        self.cls.__init__ = method  # type: ignore[misc]
        return method.__get__(value, owner)


def _compiled_init(cls: type) -> Any:
    """Compile ``__init__`` from the fields of a class; only their names, which are Python's, become code."""
    known: dict[str, Any] = {"_unset": MISSING}
    given, lines = [], []
    for one in sorted(fields(cls), key=lambda one: bool(one.kw_only)):
        name, value, default = one.name, one.name, ""
        if one.default_factory is not MISSING:
            known[f"_make_{name}"], default = one.default_factory, "=_unset"
            value = f"_make_{name}() if {name} is _unset else {name}" if one.init else f"_make_{name}()"
        elif one.default is not MISSING:
            known[f"_default_{name}"], default = one.default, f"=_default_{name}"
            value = name if one.init else f"_default_{name}"
        if one.init:
            given += ["*"] * (one.kw_only and "*" not in given) + [name + default]
        if one.init or default:
            known[f"_set_{name}"] = slot = getattr(getattr(cls, name, None), "__set__", None)
            # To call the slot takes half the time of ``object.__setattr__``.
            lines.append(f"_set_{name}(self, {value})" if slot else f"self.__dict__[{name!r}] = {value}")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else ["return"]
    exec(f"def __init__({', '.join(['self', *given])}):\n  " + "\n  ".join(lines), known)  # noqa: S102
    method = known["__init__"]
    method.__annotations__ = {one.name: one.type for one in fields(cls) if one.init} | {"return": None}
    return method


def _comparison_methods(names: list[str], *, frozen: bool) -> dict[str, Any]:
    """Make ``__eq__`` and ``__hash__`` of the fields of some names."""
    compared = attrgetter(*names) if names else lambda _: ()

    def equals(self: Any, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(compared(self))

    return {"__eq__": equals, "__hash__": hashed if frozen else None}


@recursive_repr()
def _repr_text(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_change(self: Any, *given: object) -> None:
    raise FrozenInstanceError(f"{given[0]!r} of a {type(self).__name__} cannot be set or deleted: it is frozen")


def _restore_fields(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    """Set the fields that ``copy`` or ``pickle`` kept."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)
