"""One row for each name of an entity, predicate or class."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal as OneOf
from typing import NamedTuple, Protocol, TypeAlias

from kgsparql.rdf.terms import normalised

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much; ``None`` where that is not known."""

MAX_TEXT = 300
"""Characters of a text that are kept."""
MAX_DEGREE = 10_001
"""Degrees are counted up to here."""

_PARENTHESIS = re.compile(r"(.*\S)\s+\([^()]*\)$", re.DOTALL)


class LabelRow(NamedTuple):
    """One name of one thing.

    :param key: the text as it is compared; ``Thriller (song)`` has a second row with the key ``thriller``.
    :param role: ``derived`` for the end of an IRI, where the graph has no name.
    :param language: in lower case; empty for none.
    :param degree: triples it is in, counted to 10,001.
    """

    iri: str
    text: str
    key: str
    role: Role = "label"
    language: str = ""
    kind: Kind = "entity"
    degree: int = 0


class Rows(Protocol):
    """Rows that can be counted, and read several times: a list, or what is read from disk each time."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[LabelRow]: ...


def clean_text(text: str) -> str:
    """A text without white space around it, cut to 300 characters.

    >>> clean_text("  Thriller "), len(clean_text("no end " * 100))
    ('Thriller', 300)
    """
    return text[: MAX_TEXT + 100].strip()[:MAX_TEXT]


def label_row(
    iri: str, text: str, *, role: Role = "label", language: str = "", kind: Kind = "entity", degree: int = 0
) -> LabelRow | None:
    """The row of a name, its text cleaned; ``None`` for one that is empty, or only the IRI."""
    name = clean_text(text)
    key = normalised(name)
    if not key or name == iri:
        return None
    return LabelRow(iri, name, key, role, language, kind, min(MAX_DEGREE, degree))


def short_key(text: str) -> str:
    """The key of a name without the parenthesis that it ends in: that of all of it where it is nothing else."""
    found = _PARENTHESIS.match(text) if text.endswith(")") else None
    return normalised(found[1] if found else text)


def with_short(row: LabelRow) -> Iterator[LabelRow]:
    """A row, and if its text ends in a parenthesis, a second one whose key is without it.

    >>> [(row.key, row.role) for row in with_short(LabelRow("http://e.org/a", "Thriller (song)", "thriller song"))]
    [('thriller song', 'label'), ('thriller', 'alternative')]
    """
    yield row
    key = short_key(row.text)
    if key and key != row.key:
        yield row._replace(key=key, role="derived" if row.role == "derived" else "alternative")
