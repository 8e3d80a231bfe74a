"""The description of a method: its options with their types and defaults, and what it costs."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, Field, asdict, dataclass
from typing import Any, get_args, get_origin, get_type_hints
from typing import Literal as OneOf

from kgsparql.answering.cost_formulas import names_in
from kgsparql.answering.retriever import Retriever
from kgsparql.errors import OptionError
from kgsparql.retrievers._loading import alternatives, option_fields

__all__ = ["CostBound", "MethodDescription", "Option", "description_of"]

_PARAMETER = re.compile(r"^:param (\w+):(.*?)(?=^:|^\s*$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a method.

    :param type: as a person writes it: ``int``, ``model | linker``.
    :param default: as the command line takes it; ``None`` for an option that must be given.
    :param about: its purpose in one line.
    """

    name: str
    type: str
    default: str | None
    about: str


@dataclass(frozen=True, slots=True)
class CostBound:
    """The most that a method spends of something on one question.

    :param formula: in the names of options, and of properties of the question, such as ``entities``.
    :param value: of the formula with the default options.
    :param where: the properties of the question that this value assumes: ``{"entities": 1}``.
    """

    formula: str
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
        """As one JSON object."""
        return asdict(self)


def description_of(method: type[Retriever]) -> MethodDescription:
    """The description of a method, from its class, its docstring and its fields.

    :raises OptionError: if it does not say what it costs, in formulas that can be read.

    >>> from kgsparql.retrievers import find
    >>> found = description_of(find("mindmap"))
    >>> found.options[0]
    Option(name='paths_kept', type='int', default='5', about='paths shown, over all chains')
    >>> found.cost["calls"]
    CostBound(formula="2 + (verbalise == 'model')", value=2, where={})
    """
    docs = [inspect.cleandoc(kind.__doc__ or "") for kind in method.__mro__]
    about = {name: _line(text) for doc in reversed(docs) for name, text in _PARAMETER.findall(doc)}
    hints = get_type_hints(method)
    options = option_fields(method)
    return MethodDescription(
        name=method.name,
        summary=method.summary,
        source=method.source,
        about=_line(docs[0].partition("\n\n")[0], end="."),
        cost=_bounds(method, {field.name: _default(field) for field in options}),
        options=tuple(
            Option(field.name, _type_text(hints[field.name]), _default_text(_default(field)), about.get(field.name, ""))
            for field in options
        ),
    )


def _bounds(method: type[Retriever], options: dict[str, Any]) -> dict[str, CostBound]:
    try:
        values = method.cost.bounds(options)
        given = method.cost.open_names(options)
    except (AttributeError, ValueError) as error:
        raise OptionError(f"the method {method.name!r} does not say what it costs: {error}") from error
    return {
        what: CostBound(formula, values[what], {name: 1 for name in names_in(formula) if name in given})
        for what, formula in method.cost.formulas.items()
    }


def _line(text: str, *, end: str = "") -> str:
    """A text as one line that ends as wanted."""
    return " ".join(text.replace("``", "").split()).removesuffix(".") + end


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _default_text(default: Any) -> str | None:
    """A default as the command line takes it."""
    if default is MISSING:
        return None
    if isinstance(default, tuple | list | frozenset):
        return ",".join(str(value) for value in default)
    return str(default).lower() if isinstance(default, bool) or default is None else str(default)


def _type_text(hint: Any) -> str:
    """A type as a person writes it."""
    if get_origin(hint) is OneOf:
        return " | ".join(map(str, get_args(hint)))
    if len(kinds := alternatives(hint)) > 1:
        return " | ".join("none" if kind is type(None) else _type_text(kind) for kind in kinds)
    if get_origin(hint) in {tuple, list, frozenset}:
        return f"{_type_text(get_args(hint)[0])}, …"
    return {bool: "true | false", str: "text"}.get(hint) or str(getattr(hint, "__name__", hint))
