"""The options of a method: their ranges, declared at their fields and checked in one place, and mistyped names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints

from kgsparql.errors import OptionError


@dataclass(frozen=True, slots=True)
class Within:
    """The least and the most that an option may be: ``width: Annotated[int, Within(1, 50)] = 3``."""

    least: float
    most: float


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that there is not; empty where none is like it.

    >>> did_you_mean("retreiver", ["retriever", "rerank"]), did_you_mean("x", ["retriever"])
    ("; did you mean 'retriever'?", '')
    """
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_ranges(method: Any) -> None:
    """Check the options of a method against the ranges of its fields; ``None`` is in every range.

    :raises OptionError: for the first option that is out of its range.
    """
    for name, hint in get_type_hints(type(method), include_extras=True).items():
        for within in getattr(hint, "__metadata__", ()):
            value = getattr(method, name)
            if isinstance(within, Within) and value is not None and not within.least <= value <= within.most:
                raise OptionError(
                    f"{method.name}: {name}={value} is out of range", hint=f"from {within.least:,} to {within.most:,}"
                )
