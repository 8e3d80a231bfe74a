"""What two answers differ in: of the same question at two times, by two methods, or from two graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from kgsparql.answering.kept_answer import KeptAnswer, named_triples
from kgsparql.rdf.terms import Term, Triple

_One = TypeVar("_One", Term, Triple, str)


@dataclass(frozen=True, slots=True)
class Change(Generic[_One]):
    """What only the first has, and what only the second has, each in its order."""

    gone: tuple[_One, ...]
    new: tuple[_One, ...]

    def __bool__(self) -> bool:
        return bool(self.gone or self.new)

    def to_json(self) -> dict[str, list[str]]:
        """Both as lists of texts; terms and triples as N-Triples."""
        return {"gone": [str(one) for one in self.gone], "new": [str(one) for one in self.new]}


@dataclass(frozen=True, slots=True)
class AnswerDiff:
    """What two answers differ in; scores, and the words of the text, are not compared.

    :param triples: those that are cited; without those that have a blank node, whose name is another in each file.
    """

    question: Change[str]
    status: Change[str]
    graphs: Change[str]
    values: Change[Term]
    answers: Change[Term]
    triples: Change[Triple]

    @property
    def is_same(self) -> bool:
        """Whether they differ in nothing."""
        return not any(getattr(self, field.name) for field in fields(self))

    def to_json(self) -> dict[str, Any]:
        """The differences as a JSON object."""
        return {"is_same": self.is_same, **{f.name: getattr(self, f.name).to_json() for f in fields(self)}}


def answer_diff(first: KeptAnswer, second: KeptAnswer) -> AnswerDiff:
    """What a second answer has that a first has not, and the other way round."""
    return AnswerDiff(
        question=_change([first.question], [second.question]),
        status=_change([first.status], [second.status]),
        graphs=_change(first.graphs, second.graphs),
        values=_change(sorted(first.values, key=str), sorted(second.values, key=str)),
        answers=_change(first.answers, second.answers),
        triples=_change(named_triples(first.cited), named_triples(second.cited)),
    )


def _change(first: Iterable[_One], second: Iterable[_One]) -> Change[_One]:
    one, other = dict.fromkeys(first), dict.fromkeys(second)
    return Change(tuple(x for x in one if x not in other), tuple(x for x in other if x not in one))
