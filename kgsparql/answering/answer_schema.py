"""The JSON of an answer: the type of each of its members, from which its JSON Schema is made."""

from __future__ import annotations

from typing import Any, NotRequired
from typing import Literal as OneOf

from typing_extensions import TypedDict

from kgsparql.answering.value_types import AnswerType

SCHEMA_VERSION = 1
"""Of the JSON of an answer: grows when a member goes away or means something else."""

TermObject = TypedDict(
    "TermObject",
    {
        "type": OneOf["uri", "literal", "bnode", "triple"],
        "value": str,
        "datatype": NotRequired[str],
        "xml:lang": NotRequired[str],
        "label": str,
    },
)
TermObject.__doc__ = "A term as in SPARQL 1.1 Query Results JSON, with what it is called; a triple in N-Triples syntax."


class AnswerObject(TypedDict):
    """A term that answers, and the markers of the evidence it is in; scores compare only within one answer.

    `is_best` says whether it is of the answer itself; of ranked candidates, what the best reading leads to.
    """

    term: TermObject
    is_best: bool
    description: NotRequired[str]
    score: float
    markers: list[str]


class ClaimObject(TypedDict):
    """A statement of the answer and the markers of the evidence it rests on."""

    text: str
    markers: list[str]


class SourceObject(TypedDict):
    """A graph that a triple was found in, as the user named it, and the named graph inside it."""

    graph: str
    named_graph: str | None


class TripleObject(TypedDict):
    """A cited triple; `direction` is how it was walked, `verified` whether it was found again (null: not checkable)."""

    subject: TermObject
    predicate: TermObject
    object: TermObject
    direction: OneOf["forward", "inverse"]
    sources: list[SourceObject]
    verified: bool | None


class StepObject(TripleObject):
    """A triple that the answer was inferred from."""

    marker: str


class SourceQueryObject(TypedDict):
    """The query that finds the triples that one of several graphs holds."""

    source: str
    query: str


class TextMentionObject(TypedDict):
    """An entity that a passage mentions, and where."""

    term: TermObject
    start: int
    end: int


class ExcerptObject(TypedDict):
    """Where in a document a passage stands, in characters."""

    document: str
    page: int | None
    start: int
    end: int
    mentions: list[TextMentionObject]


class EvidenceObject(TypedDict):
    """A piece of evidence; `query` finds it again (null for a passage), `cuts` is what limits left out.

    `ends` is how many terms with a name it leads to, where all are known: `triples` may show only some.
    """

    marker: str
    kind: OneOf["path", "neighbours", "passage", "computed"]
    text: str
    triples: list[TripleObject]
    score: float
    ends: int | None
    cuts: list[str]
    query: str | None
    queries: list[SourceQueryObject]
    source: ExcerptObject | None


class AlternativeObject(TypedDict):
    """Something else that words of the question may mean."""

    term: TermObject
    description: NotRequired[str]
    score: float
    matched: str


class LinkObject(AlternativeObject):
    """What words of the question were taken to mean; `mention` is empty where the entity was given."""

    mention: str
    start: int
    end: int
    candidates: list[AlternativeObject]


class GapObject(TypedDict):
    """Words of the question that the answer does not account for."""

    code: str
    words: str
    text: str


class NoteObject(TypedDict):
    """Something the reader should know; the code says what kind of note it is."""

    code: str
    text: str


class FallbackObject(TypedDict):
    """Something that was done in the second-best way."""

    purpose: str
    reason: str


class ErrorObject(TypedDict):
    """An error: a stable code, what is wrong, what to do, and whether the same call may succeed later."""

    code: str
    message: str
    hint: str
    retryable: bool
    detail: dict[str, Any]


class ComputedObject(TypedDict):
    """What a query plan came to: its rows, and the facts it rests on.

    `words` says in English what was computed, `plan` holds it as `kgsparql plan` reads it. `is_cut`: there are more
    rows. `is_confirmed`: the facts alone give the same value again (null where they do not tell).
    """

    words: str
    plan: dict[str, Any]
    columns: list[str]
    rows: list[list[TermObject | None]]
    is_cut: bool
    facts: int
    all_facts: bool
    is_confirmed: bool | None
    query: str


class AnsweredObject(TypedDict):
    """The answer to one question; `id` is there for questions from stdin: their own, else the number of their line.

    `graphs` are those that were asked. `is_ranked`: nobody chose among the answers, they are candidates in order.
    `more_answers` counts those that are not listed. `cited` are the markers of what the answer rests on. `error` is
    what kept a model from writing the answer. `type` says what kind of value the answer is, null where nothing answers:
    that of what was `computed`, else of the `answers` that are best; a date may be a year, text is also what a model
    wrote without naming a thing. `value` is a number, or a yes or no, that was computed, and `unit` that of the number,
    empty where the graph names none and it is no percentage.
    """

    schema_version: int
    id: NotRequired[str | int]
    question: str
    status: OneOf["answered", "partial", "not_in_graph", "no_entity"]
    grounding: OneOf["graph", "model", "mixed"]
    graphs: list[str]
    retriever: str
    model: str
    text: str
    type: AnswerType | None
    value: TermObject | None
    unit: str
    is_ranked: bool
    answers: list[AnswerObject]
    more_answers: int
    claims: list[ClaimObject]
    cited: list[str]
    evidence: list[EvidenceObject]
    linked: list[LinkObject]
    inference: list[StepObject]
    tree: str
    usage: dict[str, Any]
    computed: ComputedObject | None
    not_understood: list[GapObject]
    notes: list[NoteObject]
    fallbacks: list[FallbackObject]
    removed: int
    error: ErrorObject | None


class UnansweredObject(TypedDict):
    """What stands for an answer where there is none: after an error, and for an empty line of stdin."""

    schema_version: int
    id: NotRequired[str | int]
    question: str
    status: OneOf["error", "empty"]
    answers: list[AnswerObject]
    error: ErrorObject | None


def answer_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the JSON of an answer."""
    from pydantic import TypeAdapter

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `kgsparql ask -f json` writes: an answer, or what stands for one",
        **TypeAdapter(AnsweredObject | UnansweredObject).json_schema(),
    }
