"""Questions with known answers, where they are from, and the record of one with a method: what metrics are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from kgsparql.answering.answer import Answer
from kgsparql.dataclasses import field, fields, frozen
from kgsparql.errors import KgsparqlError, ModelReplyError, RequestRefusedError, UnreachableError
from kgsparql.evidence.notes import CUT_SHORT, WITHOUT_MODEL
from kgsparql.rdf.terms import IRI, BlankNode, Json, Term, Triple, iri, iris_in, parse_term

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

    def __hash__(self) -> int:  # as the key of a cache: that of thousands of answers takes longer than judging them
        return hash(self.id)

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
        return iris_in(found)
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
    """Questions, and the graph that they are about.

    :param name: short, for tables.
    :param graph: files that the questions are about, beside them; empty if the user must name a graph.
    :param problems: what of the files could not be read.
    """

    name: str
    questions: tuple[Question, ...]
    graph: tuple[Path, ...] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)


@frozen
class RecordedAnswer:
    """Answer that was given.

    :param term: in N-Triples syntax; empty for a name that a model gave without a graph.
    :param score: higher is better; comparable only within one record.
    :param markers: of the evidence that has it, the best first.
    """

    __pydantic_config__: ClassVar = {"extra": "ignore"}  # 0.2 had a degree, too

    term: str
    label: str
    score: float = 0.0
    markers: tuple[str, ...] = ()


@frozen
class RecordedEvidence:
    """Piece of evidence.

    :param triples: each as its three terms in N-Triples syntax.
    :param verified: for each triple, whether it was found again; ``None`` where that could not be checked.
    """

    marker: str
    triples: tuple[tuple[str, ...], ...] = ()
    verified: tuple[bool | None, ...] = ()


@frozen(kw_only=True)
class RecordedCost:
    """Calls, tokens, queries and time.

    :param rounds: model calls that waited for each other: the longest chain.
    :param seconds: wall time.
    """

    model_calls: int = 0
    rounds: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    queries: int = 0
    rows: int = 0
    seconds: float = 0.0


@frozen(kw_only=True)
class Record:
    """Result of one question with one method.

    :param status: of :class:`Answer`, or ``error``.
    :param error: code and message, if the question failed, or the model did when there was evidence.
    :param is_lost: a server did not answer.
    :param ranked: nobody chose among the answers: they are candidates in order.
    :param score: of the answer as a whole, the higher the likelier it is right; comparable among the records of one
        method: the confidence. ``None`` if there is no answer, and of a baseline.
    :param is_sure: the answer accounts for all of the question, and nothing failed: it was given as *the* answer, and
        not as *no sure answer*.
    :param linked: of each name in the question, the entity that was taken and the other candidates, the best first.
    :param is_without_model: a model was to be asked, and this is the answer without it: it failed, or was not trusted.
    :param is_cut_short: a limit, or the end of the budget or graph, left something out, of the evidence or on the way.
    :param fallbacks: ``(purpose, reason)`` of what was done in the second-best way.
    :param value: the number, date, or yes or no that was computed, in N-Triples syntax; empty where none was.
    :param rows: of a computed table, each cell as ``(term, label)``.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    question: str
    method: str
    status: str
    error: tuple[str, str] | None = None
    is_lost: bool = False
    grounding: str = "graph"
    text: str = ""
    ranked: bool = False
    score: float | None = None
    is_sure: bool = False
    answers: tuple[RecordedAnswer, ...] = ()
    evidence: tuple[RecordedEvidence, ...] = ()
    linked: tuple[tuple[str, ...], ...] = ()
    claims: tuple[tuple[str, tuple[str, ...]], ...] = ()
    is_cut_short: bool = False
    is_without_model: bool = False
    fallbacks: tuple[tuple[str, str], ...] = ()
    value: str = ""
    rows: tuple[tuple[tuple[str, str], ...], ...] = ()
    measured: RecordedCost = RecordedCost()

    def __hash__(self) -> int:
        return hash(self.question)

    @property
    def has_failed(self) -> bool:
        """Whether an error kept it from an answer; candidates that are listed when a model is lost are no answer."""
        return self.status == "error" or self.error is not None

    @classmethod
    def of(cls, answer: Answer, *, question: str, method: str) -> Record:
        """Make the record of an answer."""
        error = answer.error
        return cls(
            question=question, method=method, status=answer.status,
            error=None if error is None else (error.code, error.message), is_lost=error is not None and is_lost(error),
            grounding=answer.grounding, text=answer.text, ranked=answer.is_ranked,
            score=answer.confidence if answer.signals and answer.best else None,
            is_sure=answer.status == "answered" and error is None,
            answers=tuple(
                RecordedAnswer(
                    str(one.term), one.label, round(one.score, 6), one.markers
                )
                for one in answer.answers
            ),
            evidence=tuple(
                RecordedEvidence(
                    item.marker, tuple(tuple(map(str, cited.triple)) for cited in item.triples),
                    tuple(cited.verified for cited in item.triples),
                )
                for item in answer.evidence
            ),
            linked=tuple(tuple(str(one.term) for one in (link, *link.candidates)) for link in answer.linked),
            claims=tuple((claim.text, claim.markers) for claim in answer.claims),
            is_cut_short=any(note.code in CUT_SHORT for note in answer.notes) or any(i.cuts for i in answer.evidence),
            is_without_model=any(note.code in WITHOUT_MODEL for note in answer.notes),
            fallbacks=tuple((f.purpose, f.reason) for f in answer.fallbacks),
            value="" if answer.value is None else str(answer.value), rows=_table_rows(answer),
            measured=RecordedCost(**{field.name: answer.usage[field.name] for field in fields(RecordedCost)}),
        )  # fmt: skip

    @classmethod
    def failed(cls, error: KgsparqlError, *, question: str, method: str, seconds: float) -> Record:
        """Make the record of a question that an error left without an answer: it counts as wrong."""
        return cls(
            question=question, method=method, status="error", error=(error.code, error.message), is_lost=is_lost(error),
            measured=RecordedCost(seconds=round(seconds, 6)),
        )  # fmt: skip


def is_lost(error: KgsparqlError) -> bool:
    """Tell whether an error says that a server did not answer, so that asking again may help.

    A server that refused the request, or whose reply was of no use, would do so again.
    """
    useless = isinstance(error, ModelReplyError | RequestRefusedError)
    return isinstance(error, UnreachableError) and not useless and error.code not in {"E_LIMIT", "E_PARTIAL"}


def _table_rows(answer: Answer) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return the rows of a table; none of an answer that is a value or a set."""
    computed = answer.computed
    if computed is None or len(computed.columns) == 1:
        return ()
    return tuple(
        tuple(("", "") if cell is None else (str(cell), answer.labels.get(cell, "")) for cell in row)
        for row in computed.rows
    )
