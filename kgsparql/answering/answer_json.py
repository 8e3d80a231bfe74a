"""The JSON of an answer, and the type of each of its members, from which its JSON Schema is made."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, TypeVar, cast
from typing import Literal as OneOf

from typing_extensions import TypedDict

from kgsparql.answering.answer import Answer, AnswerType
from kgsparql.errors import KgsparqlError
from kgsparql.events import Drafted, Event, Finished
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.rdf.terms import IRI, BlankNode, Json, Literal, Term, printable, zip_equal

if TYPE_CHECKING:
    from kgsparql.linking.linked_entity import LinkedEntity
    from kgsparql.plans.algebra import Plan


SCHEMA_VERSION = 4
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

# Parts of an answer whose members say what they are; places in a text are in characters.
ClaimObject = TypedDict("ClaimObject", {"text": str, "markers": list[str]})
SourceObject = TypedDict("SourceObject", {"graph": str, "named_graph": str | None})
NoteObject = TypedDict("NoteObject", {"code": str, "text": str})
GapObject = TypedDict("GapObject", {"code": str, "words": str, "text": str})
ChoiceObject = TypedDict("ChoiceObject", {"reading": str, "count": int, "first": list[str]})
FallbackObject = TypedDict("FallbackObject", {"purpose": str, "reason": str})


class AnswerObject(TypedDict):
    """A term that answers, and the markers of the evidence it is in; scores compare only within one answer.

    `best` says whether it is of the answer itself; of ranked candidates, what the best reading leads to.
    """

    term: TermObject
    best: bool
    description: NotRequired[str]
    score: float
    markers: list[str]


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


class EvidenceObject(TypedDict):
    """A piece of evidence; `query` finds it again (null for what has none), `cuts` is what limits left out.

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


class ErrorObject(TypedDict):
    """An error: a stable code, what is wrong, what to do, and whether the same call may succeed later."""

    code: str
    message: str
    hint: str
    retryable: bool
    detail: Json


NextObject = TypedDict("NextObject", {"item": TermObject, "value": TermObject | None})
ComparedObject = TypedDict("ComparedObject", {"next": list[NextObject], "size": int})


class ComputedObject(TypedDict):
    """What a query plan came to: its rows, and the facts it rests on.

    `words` says in English what was computed, `plan` holds it as `kgsparql plan` reads it. Of the best of a set,
    `compared` has what comes next, and how many were compared (0: not counted). `is_cut`: there are more rows.
    """

    words: str
    plan: Json
    columns: list[str]
    rows: list[list[TermObject | None]]
    is_cut: bool
    compared: ComparedObject | None
    facts: int
    all_facts: bool
    query: str


class TrustObject(TypedDict):
    """What a model was found good for: choosing from lists, writing plans.

    `right` says of each part of the trial how many of how many it had right, and `tokens` what that took.
    """

    chooses: bool
    plans: bool
    right: dict[str, list[int]]
    tokens: int


class AnsweredObject(TypedDict):
    """The answer to one question; `id` is there for questions from stdin: their own, else the number of their line.

    `graphs` are those that were asked. `is_ranked`: nobody chose among the answers, they are candidates in order.
    `more_answers` counts those that are not listed. `cited` are the markers of what the answer rests on. `error` is
    what kept a model from writing the answer. `type` says what kind of value the answer is, null where nothing answers:
    that of what was `computed`, else of the `answers` that are best; a date may be a year, text is also what a model
    wrote without naming a thing. `value` is a number, or a yes or no, that was computed, and `unit` that of the number,
    empty where the graph names none and it is no percentage. `confidence` is how likely the answer is right, or where
    it is not sure its best candidate; 0 where there is none. `details` is for what explains an answer, and may grow
    within a version: `signals` is what the confidence rests on, `they` what *they* was taken for.
    `sure`: nothing is in doubt, else `gaps` says what is. `choices` are then the likely readings of the question, with
    what each comes to: asked with `reading` 2, the second is the answer. Asked with a `guarantee`, that many times in
    100 they hold the right answer, or `answers` do where `choices` is empty; it is 0 where no readings do.
    """

    schema_version: int
    id: NotRequired[str | int]
    question: str
    status: OneOf["answered", "partial", "not_in_graph", "no_entity"]
    grounding: OneOf["graph", "mixed"]
    graphs: list[str]
    retriever: str
    model: str
    trust: TrustObject | None
    text: str
    confidence: float
    sure: bool
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
    own_steps: list[str]
    tree: str
    usage: Json
    details: Json
    computed: ComputedObject | None
    gaps: list[GapObject]
    choices: list[ChoiceObject]
    guarantee: int
    notes: list[NoteObject]
    fallbacks: list[FallbackObject]
    error: ErrorObject | None


class UnansweredObject(TypedDict):
    """What stands for an answer where there is none: after an error, and for an empty line of stdin."""

    schema_version: int
    id: NotRequired[str | int]
    question: str
    status: OneOf["error", "empty"]
    answers: list[AnswerObject]
    error: ErrorObject | None


def answer_schema() -> Json:
    """Return the JSON Schema (2020-12) of the JSON of an answer."""
    from pydantic import TypeAdapter

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `kgsparql ask -f json` writes: an answer, or what stands for one",
        **TypeAdapter(AnsweredObject | UnansweredObject).json_schema(),
    }


MAX_JSON_ANSWERS = 1_000
"""Answers in the JSON object of an answer; ``more_answers`` counts the rest, which the query of their item finds."""

_WriteTerm: TypeAlias = Callable[[Term], TermObject]
_T = TypeVar("_T")


def _object_of(kind: type[_T], of: Any, /, **own: Any) -> _T:
    """Make an object of a kind: its members as given, else as the value has them; ``id`` is of a batch, not of it."""
    made = {name: own[name] if name in own else getattr(of, name) for name in kind.__annotations__ if name != "id"}
    return cast("_T", {
        name: [*one] if isinstance(one, tuple) else one
        for name, one in made.items() if one or name != "description"
    })  # fmt: skip


def answer_to_json(answer: Answer) -> AnsweredObject:
    """Return the answer as one JSON object."""
    from kgsparql.plans.arrays import written_plan  # not needed by whoever makes no JSON

    best = frozenset(answer.best)

    def term(one: Term) -> TermObject:
        return term_json(one, answer.labels.get(one, printable(getattr(one, "value", str(one)))))

    return _object_of(
        AnsweredObject, answer,
        schema_version=SCHEMA_VERSION,
        value=answer.value and term(answer.value),
        answers=[
            _object_of(
                AnswerObject, one, term=term_json(one.term, one.label), best=one in best,
                score=round(one.score, 4),
            )
            for one in answer.answers[:MAX_JSON_ANSWERS]
        ],
        more_answers=max(0, len(answer.answers) - MAX_JSON_ANSWERS),
        claims=[_object_of(ClaimObject, claim) for claim in answer.claims],
        evidence=[_item_object(item, term) for item in answer.evidence],
        linked=[
            _link_object(
                LinkObject, link,
                mention=link.mention.text, start=link.mention.start, end=link.mention.end,
                candidates=[_link_object(AlternativeObject, one) for one in link.candidates],
            )
            for link in answer.linked
        ],
        inference=[_triple_object(StepObject, step.cited, term, marker=step.marker) for step in answer.inference],
        tree=answer.tree.mermaid() if answer.tree else "",
        usage=dict(answer.usage),
        trust=answer.trust and asdict(answer.trust),
        details={
            "signals": {name: round(value, 4) for name, value in answer.signals.items()},
            **({"they": written_plan(answer.they)} if answer.they is not None else {}),
        },
        computed=_computed_object(answer, term, written_plan),
        gaps=[_object_of(GapObject, gap) for gap in answer.gaps],
        choices=[_object_of(ChoiceObject, one) for one in answer.choices],
        notes=[_object_of(NoteObject, note, text=str(note)) for note in answer.notes],
        fallbacks=[_object_of(FallbackObject, one) for one in answer.fallbacks],
        error=answer.error and error_json(answer.error),
    )  # fmt: skip


def event_json(event: Event) -> Json:
    """Write an event with its kind; a draft, and the last one of a question, hold the JSON of the answer."""
    if not isinstance(event, Drafted | Finished):
        return {"kind": event.kind, **asdict(event)}
    told = asdict(replace(event, answer=None))
    return {"kind": event.kind, **told, "answer": None if event.answer is None else answer_to_json(event.answer)}


def unanswered_json(question: str, error: KgsparqlError | None = None) -> UnansweredObject:
    """Return what stands for an answer that an error prevented; without an error, for that to an empty line."""
    return {
        "schema_version": SCHEMA_VERSION, "question": printable(question), "status": "error" if error else "empty",
        "answers": [], "error": None if error is None else error_json(error),
    }  # fmt: skip


def error_json(error: KgsparqlError) -> ErrorObject:
    """Return the error; what is no JSON in its details is told as text."""
    return _object_of(ErrorObject, error, detail=json.loads(json.dumps(error.detail, default=str)))


def term_json(term: Term, label: str) -> TermObject:
    """Return a term with its label."""
    if not isinstance(term, Literal):
        kind: Any = "uri" if isinstance(term, IRI) else "bnode" if isinstance(term, BlankNode) else "triple"
        return {"type": kind, "value": getattr(term, "value", str(term)), "label": label}
    made: TermObject = {"type": "literal", "value": term.value, "label": label}
    if term.language is not None:
        made["xml:lang"] = term.language
    elif term.datatype.value != "http://www.w3.org/2001/XMLSchema#string":
        made["datatype"] = term.datatype.value
    return made


def _computed_object(answer: Answer, term: _WriteTerm, written_plan: Callable[[Plan], Json]) -> ComputedObject | None:
    found = answer.computed
    if found is None:
        return None
    return _object_of(
        ComputedObject, found,
        words=next((item.text for item in answer.evidence if item.kind == "computed"), ""),
        plan=written_plan(found.plan),
        rows=[[cell and term(cell) for cell in row] for row in found.rows],
        compared=found.compared and {
            "next": [{"item": term(item), "value": value and term(value)} for item, value in found.compared.next],
            "size": found.compared.size,
        },
        facts=len(found.facts),
        query=found.query.shown,
    )  # fmt: skip


def _triple_object(kind: type[_T], cited: CitedTriple, term: _WriteTerm, **own: Any) -> _T:
    places = dict(zip_equal(("subject", "predicate", "object"), map(term, cited.triple)))
    return _object_of(kind, cited, sources=[_object_of(SourceObject, one) for one in cited.sources], **places, **own)


def _item_object(item: EvidenceItem, term: _WriteTerm) -> EvidenceObject:
    return _object_of(
        EvidenceObject, item,
        triples=[_triple_object(TripleObject, cited, term) for cited in item.triples],
        score=round(item.score, 4),
        ends=item.named_ends,
        cuts=[*map(str, item.cuts)],
        query=item.query.shown or None,
    )  # fmt: skip


def _link_object(kind: type[_T], link: LinkedEntity, **own: Any) -> _T:
    return _object_of(kind, link, term=term_json(link.term, link.label), score=round(link.score, 4), **own)
