"""What a graph calls its entities, predicates and classes: one row for each name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

from kgsparql.rdf.terms import normalised

__all__ = ["MAX_DEGREE", "Description", "Kind", "LabelRow", "Progress", "Role", "label_row", "told", "with_short"]

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much, where that is known."""

MAX_TEXT = 300
"""Characters of a text that are kept."""
MAX_DEGREE = 10_001
"""Where counting stops to matter."""

_PARENTHESIS = re.compile(r"(.*\S)\s+\([^()]*\)$", re.DOTALL)


class LabelRow(NamedTuple):
    """One name of one thing.

    :param key: the text as labels are compared; of ``Thriller (song)``, in a second row, also only ``thriller``.
    :param role: ``derived`` when the graph has no name for it, so that the end of its IRI has to do.
    :param language: as the graph has it, in lower case; empty for none.
    :param degree: triples it is in, counted to 10,001.
    """

    iri: str
    text: str
    key: str
    role: Role = "label"
    language: str = ""
    kind: Kind = "entity"
    degree: int = 0


class Description(NamedTuple):
    """A sentence about one thing: for display and for choosing among candidates, never for finding them."""

    iri: str
    text: str
    language: str = ""


def told(text: str) -> str:
    """What is kept of a text: without white space around it, and not without end.

    >>> told("  Thriller "), len(told("no end " * 100))
    ('Thriller', 300)
    """
    return text[: MAX_TEXT + 100].strip()[:MAX_TEXT]


def label_row(
    iri: str, text: str, *, role: Role = "label", language: str = "", kind: Kind = "entity", degree: int = 0
) -> LabelRow | None:
    """The row of a name, its text cleaned and cut; ``None`` for one that says nothing."""
    name = told(text)
    key = normalised(name)
    if not key or name == iri:
        return None
    return LabelRow(iri, name, key, role, language, kind, min(MAX_DEGREE, degree))


def with_short(row: LabelRow) -> Iterator[LabelRow]:
    """A row, and if its text ends in a parenthesis, the one without that."""
    yield row
    yield from _shortened(row)


def _shortened(row: LabelRow) -> Iterator[LabelRow]:
    """The row of a label without the parenthesis at its end, which tells apart what people call the same.

    >>> [(row.key, row.role) for row in _shortened(LabelRow("http://e.org/a", "Thriller (song)", "thriller song"))]
    [('thriller', 'alternative')]
    """
    found = _PARENTHESIS.match(row.text) if row.text.endswith(")") else None
    key = normalised(found[1]) if found else ""
    if key:
        yield row._replace(key=key, role="derived" if row.role == "derived" else "alternative")
