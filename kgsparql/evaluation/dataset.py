"""Questions with known answers, and where they are from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, parse_term


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One right answer.

    :param term: ``None`` where the dataset knows it only by its name.
    :param label: its name, or the text of a literal.
    """

    term: Term | None
    label: str

    def to_json(self) -> dict[str, Any]:
        """The answer as a JSON object, its term in N-Triples syntax."""
        return {"term": None if self.term is None else str(self.term), "label": self.label}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GoldAnswer:
        """What :meth:`to_json` gave."""
        return cls(None if data["term"] is None else parse_term(data["term"]), data["label"])


@dataclass(frozen=True, slots=True)
class Topic:
    """An entity that a question is about."""

    iri: IRI
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and what is known of its answer.

    :param answers: every right answer; empty if the graph has none; ``None`` while only SPARQL or a path that finds
        them is known.
    :param topics: the entities it is about, if the dataset names them.
    :param hops: predicates between topic and answer.
    :param type: what kind of question it is, in the dataset's own words.
    :param path: names of the predicates from the topic to the answers, IRIs or local names, ``^`` before one that is
        walked from object to subject.
    :param golden_triples: the triples an answer must rest on.
    :param reference: the answer as a sentence.
    :param rows: the right rows, where the answer is a table; ``answers`` then has every value of them.
    """

    id: str
    text: str
    answers: tuple[GoldAnswer, ...] | None = None
    topics: tuple[Topic, ...] = ()
    hops: int | None = None
    type: str = ""
    path: tuple[str, ...] = ()
    sparql: str = ""
    golden_triples: tuple[Triple, ...] = ()
    reference: str = ""
    rows: tuple[tuple[GoldAnswer, ...], ...] = ()

    @property
    def direction(self) -> str:
        """Which way its path is walked: ``forward``, ``inverse`` or ``mixed``; empty where no path is known.

        >>> Question(id="1", text="?", path=("^director", "starring")).direction
        'mixed'
        """
        ways = {"inverse" if name.startswith("^") else "forward" for name in self.path}
        return "" if not ways else ways.pop() if len(ways) == 1 else "mixed"

    def to_json(self) -> dict[str, Any]:
        """The question as a JSON object, terms in N-Triples syntax."""
        return {
            "id": self.id,
            "question": self.text,
            "answers": None if self.answers is None else [answer.to_json() for answer in self.answers],
            "topics": [{"iri": topic.iri.value, "label": topic.label} for topic in self.topics],
            "hops": self.hops,
            "type": self.type,
            "path": list(self.path),
            "sparql": self.sparql,
            "golden_triples": [[str(t.subject), str(t.predicate), str(t.object)] for t in self.golden_triples],
            "reference": self.reference,
            **({"rows": [[cell.to_json() for cell in row] for row in self.rows]} if self.rows else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Question:
        """What :meth:`to_json` gave."""
        return cls(
            id=data["id"], text=data["question"],
            answers=None if data["answers"] is None else tuple(map(GoldAnswer.from_json, data["answers"])),
            topics=tuple(Topic(IRI(topic["iri"]), topic["label"]) for topic in data["topics"]), hops=data["hops"],
            type=data["type"], path=tuple(data["path"]), sparql=data["sparql"],
            golden_triples=tuple(triple_of(*terms) for terms in data["golden_triples"]), reference=data["reference"],
            rows=tuple(tuple(map(GoldAnswer.from_json, row)) for row in data.get("rows", ())),
        )  # fmt: skip


def triple_of(subject: str, predicate: str, object_: str) -> Triple:
    """A triple from its terms in N-Triples syntax.

    :raises InputError: if they make none.
    """
    terms = parse_term(subject), parse_term(predicate), parse_term(object_)
    if isinstance(terms[0], Literal | Triple) or not isinstance(terms[1], IRI):
        raise InputError(f"not a triple: {subject} {predicate} {object_}")
    return Triple(terms[0], terms[1], terms[2])


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a file of questions that could not be read.

    :param where: file and line, or the number of the question.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Questions, and where they are from.

    :param name: short, for tables.
    :param source: who published it and where, as far as its files or its format say.
    :param licence: empty where the files say none, which whoever uses it should know.
    :param graph: files that the questions are about, beside them; empty if the user must name a graph.
    :param problems: what of the files could not be read.
    """

    name: str
    questions: tuple[Question, ...]
    source: str = ""
    licence: str = ""
    graph: tuple[Path, ...] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
