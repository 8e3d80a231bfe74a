"""One row for each name of an entity, class or predicate: how a name becomes a row, and the recipe of an index."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Literal as OneOf
from typing import NamedTuple, Protocol, TypeAlias

from kgsparql.rdf.terms import normalised
from kgsparql.rdf.vocabulary import Naming

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much; ``None`` where that is not known."""

MAX_TEXT_CHARACTERS = 300
MAX_DEGREE = 10_001
RECIPE = "labels-7"
"""Changes whenever the rows, the keys or the tables would be made differently."""

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
    """Rows that can be counted, and read several times."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[LabelRow]: ...


def clean_text(text: str) -> str:
    """Remove white space around a text and cut it to 300 characters."""
    return text[: MAX_TEXT_CHARACTERS + 100].strip()[:MAX_TEXT_CHARACTERS]


def label_row(iri: str, text: str, *, role: Role = "label", language: str = "") -> LabelRow | None:
    """Make the row of a name, its text cleaned; ``None`` for a name that is empty, or only the IRI."""
    name = clean_text(text)
    key = normalised(name)
    return LabelRow(iri, name, key, role, language) if key and name != iri else None


def short_key(text: str) -> str:
    """Return the key of a name without the parenthesis at its end; of the whole name if it is nothing else."""
    found = _PARENTHESIS.match(text) if text.endswith(")") else None
    return normalised(found[1] if found else text)


def with_short(row: LabelRow) -> Iterator[LabelRow]:
    """Yield a row and, if its text ends in a parenthesis, a second one whose key is without it.

    >>> [(row.key, row.role) for row in with_short(LabelRow("http://e.org/a", "Thriller (song)", "thriller song"))]
    [('thriller song', 'label'), ('thriller', 'alternative')]
    """
    yield row
    key = short_key(row.text)
    if key and key != row.key:
        yield row._replace(key=key, role="derived" if row.role == "derived" else "alternative")


def recipe(naming: Naming) -> str:
    """Return the recipe for the rows of a graph with these label predicates; made by another, an index is stale."""
    known = Naming()  # links that a graph does not use change no row
    is_known = naming.labels == known.labels and set(naming.links) <= set(known.links)
    own = [] if is_known else [[p.value for p in naming.labels], [p.value for p in naming.links]]
    return json.dumps([RECIPE, *own])
