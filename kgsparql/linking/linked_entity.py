"""Mentions in a question, and the entities that they are linked to."""

from __future__ import annotations

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.label_index.search import Kind, short_key
from kgsparql.linking.label_matching import Matched, written
from kgsparql.linking.words import place_of, words_of
from kgsparql.rdf.terms import IRI, normalised

_SIGNS = "#♯♭*°@.-"
_CLOSE = 0.9
"""Share of a link's score from which another candidate may be meant, where no label is the mention itself."""


@frozen
class Mention:
    """The part of a question that names something.

    :param start: in characters of the question, as is ``end``; -1 for a text that is not in the question.
    :param is_type: it is, or may only be, the name of a class or predicate: `film` in `which film …`.
    """

    text: str
    start: int
    end: int
    is_type: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Where it starts and ends."""
        return self.start, self.end

    def overlaps(self, other: Mention) -> bool:
        """Whether both name the same part of the question, or share some of it; never with one that has no place."""
        return min(self.start, other.start) >= 0 and self.start < other.end and other.start < self.end


NOWHERE = Mention("", -1, -1)
"""The mention of what the question does not name."""


def mention_in(question: str, text: str, *, is_type: bool = False) -> Mention:
    """A text as a mention in the question; one without a place, if the question does not have it word for word."""
    place = place_of(text, question)
    return replace(NOWHERE, is_type=is_type) if place is None else Mention(question[slice(*place)], *place, is_type)


@frozen
class LinkedEntity:
    """An entity of the graph that a question names.

    :param score: in [0, 1]; 1 for one that was given.
    :param candidates: what else the same mention may be, the best first.
    :param description: tells it from another with the same label; empty where nothing does.
    :param degree: how many triples it is in, as the index of labels counts them; 0 where that is not known.
    """

    term: IRI
    label: str
    score: float
    kind: Kind
    matched: Matched
    mention: Mention
    candidates: tuple[LinkedEntity, ...] = ()
    description: str = ""
    degree: int = 0

    @property
    def namesakes(self) -> tuple[LinkedEntity, ...]:
        """The candidates of the same kind and label, but for case and signs, that all words of the mention name."""
        name, kind = normalised(self.label), self.kind
        return tuple(
            c for c in self.full_candidates
            # What was only found by its words has other signs than the mention: *C*, of `C#`.
            if normalised(c.label) == name and c.kind == kind and (c.matched == "exact" or self.matched != "exact")
        )  # fmt: skip

    @property
    def has_other_signs(self) -> bool:
        """Whether the mention begins or ends with a sign that the label does not have: `C#`, of *C*."""
        said, label = written(self.mention.text), written(self.label)
        before, after = said[: len(said) - len(said.lstrip(_SIGNS))], said[len(said.rstrip(_SIGNS)) :]
        return not (label.startswith(before) and label.endswith(after))

    @property
    def likely_alternatives(self) -> tuple[LinkedEntity, ...]:
        """The candidates that may just as well be meant: the namesakes; where no label is the mention, also close ones.

        Candidates for a part of the mention do not count: Joseph is not what Joseph Beuys means. Of labels that only
        differ in a parenthesis, those of the same score do: Queen is a band and an album.
        """
        if not self.candidates:
            return ()
        same, short = set(self.namesakes), short_key(self.label)
        if self.matched == "exact":
            same |= {c for c in self.full_candidates if c.score == self.score and short_key(c.label) == short}
            return tuple(c for c in self.candidates if c in same)
        return tuple(c for c in self.full_candidates if c in same or c.score >= _CLOSE * self.score)

    @property
    def full_candidates(self) -> list[LinkedEntity]:
        """The candidates whose mention has all words of this one that are in the label: what all of it may mean."""
        if not self.candidates:
            return []
        mention = set(words_of(self.mention.text))
        own = mention.intersection(words_of(self.label)) or mention
        return [c for c in self.candidates if own.issubset(words_of(c.mention.text))]
