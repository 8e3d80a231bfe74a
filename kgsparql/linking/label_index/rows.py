"""One row for each name of an entity, class or predicate, and how rows are made of what was read of one IRI."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal as OneOf
from typing import NamedTuple, Protocol, TypeAlias, cast

from kgsparql.linking.words import is_unspaced
from kgsparql.rdf.terms import IRI, local_name, normalised
from kgsparql.rdf.vocabulary import Naming, is_mediator

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much; ``None`` where that is not known."""

MAX_TEXT_CHARACTERS = 300
MAX_DEGREE = 10_001

_PARENTHESIS = re.compile(r"(.*\S)\s+\([^()]*\)$", re.DOTALL)
_MEANS_SOMETHING = re.compile(r"[^\W\d_]{3}")
_NOT_A_NAME = re.compile(r"[%?=&@]|::|\.(?:jpe?g|png|gif|svg|tiff?|pdf|html?|ogg|webm|mp[34])$", re.IGNORECASE)


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
    """Remove white space around a text and cut it to 300 characters.

    >>> clean_text("  Thriller "), len(clean_text("no end " * 100))
    ('Thriller', 300)
    """
    return text[: MAX_TEXT_CHARACTERS + 100].strip()[:MAX_TEXT_CHARACTERS]


def label_row(
    iri: str, text: str, *, role: Role = "label", language: str = "", kind: Kind = "entity", degree: int = 0
) -> LabelRow | None:
    """Make the row of a name, its text cleaned; ``None`` for a name that is empty, or only the IRI."""
    name = clean_text(text)
    key = normalised(name)
    if not key or name == iri:
        return None
    return LabelRow(iri, name, key, role, language, kind, min(MAX_DEGREE, degree))


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


# --- Rows of what was read


class Read(NamedTuple):
    """What one solution says of an IRI: a name or, without a text, in how many triples it is.

    :param step: names count in the order of the queries that gave them: the first of two equal ones stays.
    :param role: empty for a text that is a label if no earlier query gave one.
    """

    iri: str
    step: int = 0
    text: str = ""
    language: str = ""
    role: str = ""
    degree: int = 0


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Maker of the rows of each IRI.

    :param kinds: of the IRIs that are no entities.
    :param is_bare: no entity of the graph has a name.
    """

    kinds: dict[str, Kind] = field(default_factory=dict)
    is_bare: bool = False

    def rows(self, iri: str, found: Sequence[Read]) -> list[LabelRow]:
        """Make all rows of an IRI, sorted."""
        kind = self.kinds.get(iri, "entity")
        degree = min(MAX_DEGREE, max(read.degree for read in found))
        names = list(names_of_one(found))
        if not any(map(_is_readable, names)):
            names += self._derived_rows(iri, {row.key for row in names})
        made = (row._replace(kind=kind, degree=degree) for row in names)
        return sorted(row for name in made for row in with_short(name))

    def _derived_rows(self, iri: str, foreign: set[str]) -> Iterator[LabelRow]:
        """Yield the end of an IRI without a readable name, if it means something; any end if no entity has a name."""
        name = clean_text(local_name(IRI(iri)))
        key = normalised(name)
        if key and key not in foreign and not is_mediator(IRI(iri)) and (self.is_bare or _is_name(name)):
            yield LabelRow(iri, name, key, "derived")


def names_of_one(found: Iterable[Read]) -> Iterator[LabelRow]:
    """Yield the names that were read of one IRI, each once, without kind and degree."""
    known: set[tuple[str, str]] = set()
    labelled_at: int | None = None
    for read in sorted(found, key=attrgetter("step")):
        key = normalised(read.text)
        if key and (read.text, read.language) not in known:
            known.add((read.text, read.language))
            role = cast("Role", read.role or ("label" if labelled_at in {None, read.step} else "alternative"))
            if role == "label" and labelled_at is None:
                labelled_at = read.step
            yield LabelRow(read.iri, read.text, key, role, read.language)


def _is_readable(row: LabelRow) -> bool:
    """Tell whether a name is in English or in no language."""
    return row.language in {"", "mul"} or row.language.partition("-")[0] == "en"


def _is_name(name: str) -> bool:
    """Tell whether the end of an IRI means something to a person: words, not ``Q42``, ``m.0abc``, a UUID or ``a.jpg``.

    >>> [_is_name(n) for n in ("New York", "Q42", "m.0h6rm", "1e0eae5f 25ae 4ef9", "東京", "Flag.svg", "go%2:38::")]
    [True, False, False, False, True, False, False]
    """
    if _NOT_A_NAME.search(name) or sum(c.isdigit() for c in name) * 3 > len(name):
        return False
    return any(map(is_unspaced, name)) or _MEANS_SOMETHING.search(name) is not None


# --- The recipe

RECIPE = "labels-6"
"""Changes whenever the rows, the keys or the tables would be made differently."""


def recipe(naming: Naming) -> str:
    """Return the recipe for the rows of a graph with these label predicates; made by another, an index is stale."""
    known = Naming()  # links that a graph does not use change no row
    is_known = naming.labels == known.labels and set(naming.links) <= set(known.links)
    own = [] if is_known else [[p.value for p in naming.labels], [p.value for p in naming.links]]
    return json.dumps([RECIPE, *own])
