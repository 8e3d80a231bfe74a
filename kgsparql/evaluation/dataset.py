"""Questions with known answers, and where they are from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from kgsparql.dataclasses import field, frozen
from kgsparql.rdf.terms import IRI, BlankNode, Json, Term, Triple, iri, parse_term

_T = TypeVar("_T")


_WrittenTerm = Annotated[Term, PlainValidator(parse_term), PlainSerializer(str)]
"""A term that JSON has in N-Triples syntax."""
WrittenIRI = Annotated[IRI, PlainValidator(lambda text: iri(str(text))), PlainSerializer(lambda term: term.value)]
_WrittenTriple = Annotated[
    Triple,
    PlainValidator(lambda terms: Triple(*map(parse_term, terms))),
    PlainSerializer(lambda triple: list(map(str, triple))),
]


@frozen
class GoldAnswer:
    """Right answer.

    :param term: ``None`` where the dataset knows it only by its name.
    :param label: its name, or the text of a literal.
    """

    term: _WrittenTerm | None
    label: str


@frozen
class Topic:
    """Entity that a question is about."""

    iri: WrittenIRI
    label: str = ""


@frozen(kw_only=True)
class Question:
    """Question and what is known of its answer.

    :param answers: every right answer; empty if the graph has none; ``None`` while only SPARQL that finds them
        is known.
    :param topics: the entities it is about, if the dataset names them.
    :param hops: predicates between topic and answer.
    :param type: what kind of question it is, in the dataset's own words.
    :param path: names of the predicates from the topic to the answers, IRIs or local names, ``^`` before one that is
        walked from object to subject.
    :param golden_triples: the triples an answer must rest on.
    :param rows: the right rows, where the answer is a table; ``answers`` then has every value of them.
    """

    id: str
    text: Annotated[str, Field(alias="question")]
    answers: tuple[GoldAnswer, ...] | None = None
    topics: tuple[Topic, ...] = ()
    hops: int | None = None
    type: str = ""
    path: tuple[str, ...] = ()
    sparql: str = ""
    golden_triples: tuple[_WrittenTriple, ...] = ()
    rows: tuple[tuple[GoldAnswer, ...], ...] = ()

    @property
    def direction(self) -> str:
        """Which way its path is walked: ``forward``, ``inverse`` or ``mixed``; empty where no path is known.

        >>> Question(id="1", text="?", path=("^director", "starring")).direction
        'mixed'
        """
        ways = {"inverse" if name.startswith("^") else "forward" for name in self.path}
        return "" if not ways else ways.pop() if len(ways) == 1 else "mixed"

    def to_json(self) -> Json:
        """Write the question as a JSON object, terms in N-Triples syntax."""
        written: Json = json_form(Question).dump_python(self, mode="json", by_alias=True)
        return written


@cache
def json_form(kind: type[_T]) -> TypeAdapter[_T]:
    """Make what reads a question or a record from JSON: a ValueError for what is none."""
    return TypeAdapter(kind)


def gold_terms(rows: Iterable[Mapping[str, Term]], variables: Sequence[str]) -> tuple[Term, ...]:
    """Choose the answers in the solutions of a query: each once, in their order.

    With one variable, all its terms. With several, every IRI of the rows, as literals then describe the IRIs; without
    IRIs, every literal. A blank node is never an answer: it has no name outside its graph.

    >>> from kgsparql import Literal
    >>> rows = [{"film": IRI("http://e.org/f"), "year": Literal("1999")}]
    >>> gold_terms(rows, ("film", "year"))
    (<NamedNode value=http://e.org/f>,)
    """
    found = dict.fromkeys(
        row[name] for row in rows for name in variables if name in row and not isinstance(row[name], BlankNode)
    )
    if len(variables) > 1 and any(isinstance(term, IRI) for term in found):
        return tuple(term for term in found if isinstance(term, IRI))
    return tuple(found)


@frozen
class Problem:
    """Question that is left out, since it cannot be read, or has no known answer.

    :param where: file and line, or the number of the question.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: left out: {self.message}"


@frozen(kw_only=True)
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
