"""The rows of one IRI, of all that was read of it: its names, or the end of the IRI."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple, cast

from kgsparql.linking.label_index.rows import MAX_DEGREE, Kind, LabelRow, Role, clean_text, with_short
from kgsparql.linking.words import is_unspaced
from kgsparql.rdf.terms import IRI, local_name, normalised
from kgsparql.rdf.vocabulary import is_mediator

_MEANS_SOMETHING = re.compile(r"[^\W\d_]{3}")
_NOT_A_NAME = re.compile(r"[%?=&@]|::|\.(?:jpe?g|png|gif|svg|tiff?|pdf|html?|ogg|webm|mp[34])$", re.IGNORECASE)


class Read(NamedTuple):
    """What one solution says of an IRI: a name, or without a text, in how many triples it is.

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
    """Makes the rows of each IRI.

    :param kinds: of the IRIs that are no entities.
    :param is_bare: no entity of the graph has a name.
    """

    kinds: dict[str, Kind] = field(default_factory=dict)
    is_bare: bool = False

    def rows(self, iri: str, found: Sequence[Read]) -> list[LabelRow]:
        """All rows of an IRI, sorted."""
        kind = self.kinds.get(iri, "entity")
        degree = min(MAX_DEGREE, max(read.degree for read in found))
        names = list(names_of_one(found))
        if not any(map(_is_readable, names)):
            names += self._derived(iri, {row.key for row in names})
        made = (row._replace(kind=kind, degree=degree) for row in names)
        return sorted(row for name in made for row in with_short(name))

    def _derived(self, iri: str, foreign: set[str]) -> Iterator[LabelRow]:
        """The end of an IRI without a readable name, if it means something; any, if no entity has a name."""
        name = clean_text(local_name(IRI(iri)))
        key = normalised(name)
        if key and key not in foreign and not is_mediator(IRI(iri)) and (self.is_bare or _is_name(name)):
            yield LabelRow(iri, name, key, "derived")


def names_of_one(found: Iterable[Read]) -> Iterator[LabelRow]:
    """The names that were read of one IRI, each once, without kind and degree."""
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
    """Whether a name is in English or in no language."""
    return row.language in {"", "mul"} or row.language.partition("-")[0] == "en"


def _is_name(name: str) -> bool:
    """Whether the end of an IRI means something to a person: words, not ``Q42``, ``m.0abc``, a UUID or ``a.jpg``.

    >>> [_is_name(n) for n in ("New York", "Q42", "m.0h6rm", "1e0eae5f 25ae 4ef9", "東京", "Flag.svg", "go%2:38::")]
    [True, False, False, False, True, False, False]
    """
    if _NOT_A_NAME.search(name) or sum(c.isdigit() for c in name) * 3 > len(name):
        return False
    return any(map(is_unspaced, name)) or _MEANS_SOMETHING.search(name) is not None
