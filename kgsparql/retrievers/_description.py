"""What a method says of itself: its options with their types and defaults, and what it costs."""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import MISSING, Field, asdict, dataclass, fields
from typing import Any, Union, cast, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

from kgsparql.answering.cost_formulas import names_in
from kgsparql.answering.retriever import Retriever
from kgsparql.errors import OptionError

__all__ = ["Bound", "Described", "Option", "described"]

_PARAMETER = re.compile(r"^:param (\w+):(.*?)(?=^:|^\s*$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a method.

    :param type: as a person writes it: ``int``, ``model | linker``.
    :param default: as the command line takes it; ``None`` for an option that must be given.
    :param about: what it is for, in a line.
    """

    name: str
    type: str
    default: str | None
    about: str


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a method spends of something on one question.

    :param formula: in the names of options, and of what is known of the question only when it is asked.
    :param value: what it comes to with the default options.
    :param where: what that takes for granted of the question: ``{"entities": 1}``.
    """

    formula: str
    value: int
    where: dict[str, int]


@dataclass(frozen=True, slots=True)
class Described:
    """A method in words and numbers.

    :param about: the first paragraph of its class.
    :param cost: bounds of ``calls``, ``rounds`` and ``queries``.
    """

    name: str
    summary: str
    source: str
    about: str
    cost: dict[str, Bound]
    options: tuple[Option, ...]

    def to_json(self) -> dict[str, Any]:
        """As one JSON object."""
        return asdict(self)


def described(method: type[Retriever]) -> Described:
    """What a method says of itself.

    :raises OptionError: if it does not say what it costs, in formulas that can be read.

    >>> from kgsparql.retrievers import find
    >>> found = described(find("mindmap"))
    >>> found.options[0]
    Option(name='paths_kept', type='int', default='5', about='paths shown, over all chains')
    >>> found.cost["calls"]
    Bound(formula="2 + (verbalise == 'model')", value=2, where={})
    """
    said = inspect.cleandoc(method.__doc__ or "")
    told = {name: _line(text) for name, text in _PARAMETER.findall(said)}
    hints = get_type_hints(method)
    known = [field for field in fields(cast("Any", method)) if field.init]
    return Described(
        name=method.name,
        summary=method.summary,
        source=method.source,
        about=_line(said.partition("\n\n")[0], end="."),
        cost=_bounds(method, {field.name: _default(field) for field in known}),
        options=tuple(
            Option(field.name, _type(hints[field.name]), _text(_default(field)), told.get(field.name, ""))
            for field in known
        ),
    )


def _bounds(method: type[Retriever], options: dict[str, Any]) -> dict[str, Bound]:
    try:
        values = method.cost.bounds(options)
        given = method.cost.open_names(options)
    except (AttributeError, ValueError) as error:
        raise OptionError(f"the method {method.name!r} does not say what it costs: {error}") from error
    return {
        what: Bound(formula, values[what], {name: 1 for name in names_in(formula) if name in given})
        for what, formula in method.cost.formulas.items()
    }


def _line(text: str, *, end: str = "") -> str:
    """A text as one line that ends as wanted."""
    return " ".join(text.replace("``", "").split()).removesuffix(".") + end


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _text(default: Any) -> str | None:
    """A default as the command line takes it."""
    if default is MISSING:
        return None
    if isinstance(default, tuple | list | frozenset):
        return ",".join(str(value) for value in default)
    return str(default).lower() if isinstance(default, bool) or default is None else str(default)


def _type(hint: Any) -> str:
    """A type as a person writes it."""
    if get_origin(hint) is OneOf:
        return " | ".join(map(str, get_args(hint)))
    if get_origin(hint) in {Union, types.UnionType}:
        return " | ".join("none" if kind is type(None) else _type(kind) for kind in get_args(hint))
    if get_origin(hint) in {tuple, list, frozenset}:
        return f"{_type(get_args(hint)[0])}, …"
    return {bool: "true | false", str: "text"}.get(hint) or str(getattr(hint, "__name__", hint))
