"""What each tool takes and gives: small values, terms with their labels, and what to ask for where there is more.

Text of the graph is made safe to show here: on one line, without control characters, and not longer than is useful.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias
from typing import Literal as OneOf

from pydantic import BaseModel, ConfigDict, Field

from kgsparql.answering.answer import Status
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.paths import Directions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer, AnswerTerm
    from kgsparql.evidence.evidence import EvidenceItem
    from kgsparql.linking.linked_entity import LinkedEntity

MAX_CHARACTERS = 400
"""Of a text of the graph."""
_MAX_NOTE_CHARACTERS = 1_000
_MAX_ALTERNATIVES = 4
"""Of what words of a question may mean, beside what they were taken to mean."""
_MAX_NAMED = 10
"""Likeliest answers that the text names; ``answers`` may have more."""
_MAX_LIKELIEST = 3
"""Pieces of evidence that the text of an unsure answer tells."""
_TOLD_ELSEWHERE = frozenset({"not_understood", "missing_name"})
"""Notes that only say again what is not understood."""
_COMMAND = re.compile(r"kgsparql (ask|find|show|paths|plan|query|info)\b( [A-Z]+\b)?( -k \S+)?")
_ENTITY_OPTION = re.compile(r"-e (?:'([^']+)'|([^\s),;]+:[^\s),;]+))")
_OPTION = re.compile(r"; there are more \(-O [^)]*\)|\s*\(-O [^)]*\)")


# -- What each tool takes: the descriptions are read by models that choose and fill the arguments -------------------

LONG_QUERY = 1_000
"""Characters of a query that is given only to who asks for it."""
OTHER_PLANS = 4
"""Plans beside the one that is computed."""

_Entity: TypeAlias = Annotated[
    str,
    Field(
        max_length=2_000,
        description="An entity, class or predicate: its exact label (`Marie Curie`), an IRI in angle brackets as the "
        "tools give it (`<http://…>`), or a prefixed name (`dbr:Marie_Curie`).",
    ),
]
_Direction: TypeAlias = Annotated[
    Directions,
    Field(
        description="`forward` follows triples from subject to object, `inverse` from object to subject, `both` either."
    ),
]
_WholeQueries: TypeAlias = Annotated[
    bool, Field(description=f"Give also the SPARQL of more than {LONG_QUERY:,} characters, to check or to change it.")
]
_Meant: TypeAlias = Annotated[
    list[Annotated[str, Field(max_length=2_000)]],
    Field(max_length=20, description="What the names in the question mean, where you know it better: see `linked`."),
]


def _number(most: int, description: str) -> Any:
    """Describe an argument that is a number from 1 on."""
    return Field(ge=1, le=most, description=description)


class ToolParameters(BaseModel):
    """The arguments of a tool; a name that it does not have is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AskParameters(ToolParameters):
    """Of ``ask``."""

    question: Annotated[
        str,
        Field(
            max_length=4_000,
            description="One whole question in English that names things as the graph may call them: `Where was Marie "
            "Curie born?`. It cannot refer to earlier questions.",
        ),
    ]
    entities: _Meant = []
    max_answers: Annotated[
        int, _number(1_000, "Answers in the result; where these are sure, other candidates only if it is given.")
    ] = 10
    max_evidence: Annotated[
        int, _number(100, "Pieces of evidence in the result; of sure answers, only their own unless it is given.")
    ] = 3
    max_triples: Annotated[int, _number(1_000, "Triples for each piece of evidence.")] = 3
    whole_queries: _WholeQueries = False


class FindParameters(ToolParameters):
    """Of ``find``."""

    text: Annotated[
        str, Field(max_length=4_000, description="A name or a part of one, such as `Curie`; not a question.")
    ]
    limit: Annotated[int, _number(100, "Entities in the result.")] = 10


class ShowParameters(ToolParameters):
    """Of ``show``."""

    entity: _Entity
    direction: _Direction = "both"
    predicate: Annotated[
        _Entity | None, Field(description="Only the neighbours by this predicate; leave it out for all predicates.")
    ] = None
    limit: Annotated[int, _number(1_000, "Neighbours for each predicate and direction.")] = 5
    max_predicates: Annotated[int, _number(1_000, "Predicates, forward and inverse.")] = 30


class PathsParameters(ToolParameters):
    """Of ``paths``."""

    start: _Entity
    end: _Entity
    direction: _Direction = "both"
    max_hops: Annotated[int, _number(10, "The longest path that is looked for.")] = 4
    limit: Annotated[int, _number(100, "Paths in the result.")] = 5


class PlanParameters(ToolParameters):
    """Of ``plan``."""

    question: Annotated[
        str,
        Field(
            max_length=4_000,
            description="A whole question whose answer is computed: how many, how much, which has most, is it so, "
            "which do not: `How many Nobel laureates were born in Warsaw?`",
        ),
    ]
    entities: _Meant = []
    other_plan: Annotated[
        int | None,
        _number(OTHER_PLANS, "Compute this of the `other_plans` instead: 1 is the first of them."),
    ] = None
    limit: Annotated[int, _number(1_000, "Rows in the result.")] = 20
    whole_queries: _WholeQueries = False


class QueryParameters(ToolParameters):
    """Of ``query``."""

    sparql: Annotated[
        str,
        Field(
            max_length=100_000,
            description="A SPARQL 1.1 SELECT, ASK, CONSTRUCT or DESCRIBE query. The prefixes that `info` lists "
            "and well-known ones need no declaration. No update, SERVICE, FROM or LOAD.",
        ),
    ]
    limit: Annotated[int, _number(1_000, "Rows, or triples, in the result.")] = 50
    max_seconds: Annotated[float, Field(gt=0, le=120, description="The query is stopped then.")] = 30.0


class InfoParameters(ToolParameters):
    """Of ``info``."""

    limit: Annotated[int, _number(500, "Classes, predicates and named graphs, each.")] = 25


# -- The results --------------------------------------------------------------------------------------------------


class ToolResult(BaseModel):
    """The result of a tool; ``more`` says what was left out, and the argument that gets more of it."""

    model_config = ConfigDict(frozen=True)

    more: str = ""


class ToolTerm(BaseModel):
    """A term as SPARQL writes it, what it is called, and what else is known of it where it stands.

    :param description: what tells it from another of the same label.
    :param count: how often it is used, where that was counted.
    :param markers: of the evidence that an answer rests on; ``is_best``, whether it is the answer, as far as can be
        told: none is where something is in doubt.
    """

    model_config = ConfigDict(frozen=True)

    term: str
    label: str
    description: str = ""
    kind: str = ""
    score: float | None = None
    count: int | None = None
    markers: list[str] = []
    is_best: bool | None = None

    @classmethod
    def of(cls, term: Term, label: str | None, **more: Any) -> Self:
        """Make it of a term and its label; without one it is called by its own text."""
        if isinstance(term, Literal):
            name = value_text(term)
        else:
            name = label or (term.value if isinstance(term, IRI | BlankNode) else str(term))
        more = {key: printable(own, MAX_CHARACTERS) if key == "description" else own for key, own in more.items()}
        return cls(term=_sparql_text(term), label=printable(name, MAX_CHARACTERS), **more)


class ToolLink(ToolTerm):
    """What words of the question were taken to mean, and what else they may mean."""

    words: str
    alternatives: list[ToolTerm] = []


class ToolValue(ToolTerm):
    """A text that is no name but a value of a predicate, and what has it; ``is_exact``: no more have it."""

    predicate: ToolTerm
    is_exact: bool
    examples: list[ToolTerm]


class ToolTriple(BaseModel):
    """A triple, in its own direction."""

    subject: ToolTerm
    predicate: ToolTerm
    object: ToolTerm

    @classmethod
    def of(cls, triple: Triple, labels: Mapping[Term, str]) -> ToolTriple:
        """Make it of a triple and the labels of its terms."""
        subject, predicate, object_ = (ToolTerm.of(term, labels.get(term)) for term in triple)
        return cls(subject=subject, predicate=predicate, object=object_)


class ToolPath(BaseModel):
    """What a path or a piece of evidence says, and its triples; the latter is cited by its marker: [P1].

    :param sparql: finds it again, and all answers on the same way.
    :param document: the document and place that a passage is from.
    """

    text: str
    triples: list[ToolTriple]
    marker: str = ""
    sparql: str = ""
    document: str = ""


class ToolNeighbours(BaseModel):
    """The neighbours of an entity by one predicate, one way: forward, the entity is the subject.

    ``count`` is that of all, also those that are not shown; ``is_exact``: there are no more.
    """

    predicate: ToolTerm
    direction: OneOf["forward", "inverse"]
    count: int
    is_exact: bool
    neighbours: list[ToolTerm]


class AskResult(ToolResult):
    """Of ``ask``; ``is_ranked``: nobody chose, the answers are candidates in order."""

    status: Status
    text: str
    is_ranked: bool
    grounding: str
    answers: list[ToolTerm]
    evidence: list[ToolPath]
    linked: list[ToolLink]
    not_understood: list[str]
    notes: list[str]


class FindResult(ToolResult):
    """Of ``find``; ``values``: where the text is no name but a value."""

    found: list[ToolTerm]
    values: list[ToolValue] = []
    notes: list[str]


class ShowResult(ToolResult):
    """Of ``show``."""

    entity: ToolTerm
    groups: list[ToolNeighbours]


class PathsResult(ToolResult):
    """Of ``paths``."""

    paths: list[ToolPath]


class PlanResult(ToolResult):
    """Of ``plan``: what was computed, in words; what speaks against it; and what else the question may ask."""

    words: str
    is_sure: bool
    doubts: list[str]
    columns: list[str]
    rows: list[list[ToolTerm | None]]
    facts: int
    linked: list[ToolLink]
    sparql: str = ""
    other_plans: list[str]
    notes: list[str]


class QueryToolResult(ToolResult):
    """Of ``query``: a boolean of ASK, rows of SELECT, triples of CONSTRUCT and DESCRIBE."""

    form: OneOf["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
    boolean: bool | None = None
    columns: list[str]
    rows: list[list[ToolTerm | None]]
    triples: list[ToolTriple]
    is_complete: bool


class InfoResult(ToolResult):
    """Of ``info``: queries need not declare the prefixes, nor well-known ones such as ``foaf:``."""

    name: str
    triples: int | None
    languages: list[str]
    classes: list[ToolTerm]
    predicates: list[ToolTerm]
    named_graphs: list[str]
    prefixes: dict[str, str]
    notes: list[str]


def _sparql_text(term: Term) -> str:
    """Write a term in SPARQL's syntax, its text made safe to show; a text that is cut ends in an ellipsis."""
    if not isinstance(term, Literal):
        return printable(str(term), 4 * MAX_CHARACTERS)
    text = printable(term.value, MAX_CHARACTERS)
    if text == term.value:
        return str(term)
    if term.language is not None:
        return str(Literal(text, language=term.language))
    return str(Literal(text, datatype=term.datatype))


# -- An answer as the result of ask -------------------------------------------------------------------------------


def ask_result(
    answer: Answer, given: AskParameters, *, explained: Mapping[str, str], notes: Sequence[str]
) -> AskResult:
    """Take what was asked for of an answer, and say which arguments get more.

    :param explained: gaps whose text is to be another.
    :param notes: what else is to be said.
    """
    best = frozenset() if answer.gaps else frozenset(answer.best)
    shown = _shown_evidence(answer, given, best)
    markers = [item.marker for item in shown]
    resting = [one for one in answer.answers if not one.markers or not set(markers).isdisjoint(one.markers)]
    if best and "max_answers" not in given.model_fields_set:
        resting = [one for one in resting if one in best]
    answers = resting[: given.max_answers]
    gaps = [said_of_tools(printable(explained.get(gap.text, gap.text), _MAX_NOTE_CHARACTERS)) for gap in answer.gaps]
    most_triples = max((len(item.triples) for item in shown), default=0)
    cuts = {
        "answers and candidates: give max_answers and max_evidence": (len(answer.answers), len(answers)),
        "pieces of evidence: give max_evidence": (len(answer.evidence), len(shown)),
        "triples of a piece of evidence: raise max_triples": (most_triples, given.max_triples),
    }
    more = [f"{most} of {known:,} {what}" for what, (known, most) in cuts.items() if known > most]
    told = told_notes(answer.notes, untold=_TOLD_ELSEWHERE if answer.gaps else ())
    failed = [] if answer.error is None else [f"no model wrote this: {answer.error.message}"]
    return AskResult(
        status=answer.status, text=_answer_text(answer, gaps), is_ranked=answer.is_ranked, grounding=answer.grounding,
        answers=[
            ToolTerm.of(
                one.term, one.label, markers=[marker for marker in one.markers if marker in markers],
                is_best=one in best, description=one.description,
            )
            for one in answers
        ],
        evidence=[_evidence_of(item, answer.labels, given) for item in shown],
        linked=[_link_of(link) for link in answer.linked], not_understood=gaps, notes=[*notes, *told, *failed],
        more=joined(*more, long_query_note([item.query for item in shown], is_whole=given.whole_queries)),
    )  # fmt: skip


def _shown_evidence(answer: Answer, given: AskParameters, best: frozenset[AnswerTerm]) -> list[EvidenceItem]:
    """Choose the evidence, what is cited first; unless more is asked for, only what sure answers rest on."""
    first = [marker for one in answer.answers if one in best for marker in one.markers[:1]]
    cited = list(answer.cited) if best and not answer.is_ranked else first
    if not cited or "max_evidence" in given.model_fields_set:
        cited = [*answer.cited, *(item.marker for item in answer.evidence)]
    return [answer.evidence[marker] for marker in dict.fromkeys(cited)][: given.max_evidence]


def _answer_text(answer: Answer, gaps: Sequence[str]) -> str:
    """Write the answer in words. Of candidates, which stand beside it, those that are sure; else what is in doubt.

    What was computed of another question than was asked is told after what it is.
    """
    if answer.is_ranked and answer.answers and not gaps:
        named = "; ".join(printable(one.label, 120) for one in answer.best[:_MAX_NAMED])
        more = f"; and {len(answer.best) - _MAX_NAMED:,} more" if len(answer.best) > _MAX_NAMED else ""
        return f"{named}{more} [{answer.answers[0].markers[0]}]"
    if gaps and (answer.is_ranked or answer.computed is not None) and len(answer.evidence):
        best = list(answer.evidence)[:_MAX_LIKELIEST]
        found = [f"[{item.marker}] {printable(item.text, _MAX_NOTE_CHARACTERS // 5)}" for item in best]
        return "\n".join([f"No sure answer: {gaps[0]}", "What was found, the likeliest first:", *found])
    return said_of_tools("\n".join(printable(line, 4 * MAX_CHARACTERS) for line in answer.text.splitlines()))


def _evidence_of(item: EvidenceItem, labels: Mapping[Term, str], given: AskParameters) -> ToolPath:
    return ToolPath(
        marker=item.marker, text=printable(item.text, 4 * MAX_CHARACTERS),
        sparql=query_text(item.query, is_whole=given.whole_queries),
        triples=[ToolTriple.of(cited.triple, labels) for cited in item.triples[: given.max_triples]],
        document="" if item.excerpt is None else str(item.excerpt),
    )  # fmt: skip


def _link_of(link: LinkedEntity) -> ToolLink:
    others = [
        ToolTerm.of(one.term, one.label, description=one.description)
        for one in link.likely_alternatives[:_MAX_ALTERNATIVES]
    ]
    return ToolLink.of(link.term, link.label, words=printable(link.mention.text, 200), alternatives=others)


# -- Texts --------------------------------------------------------------------------------------------------------


def told_notes(notes: Iterable[str], *, untold: Collection[str] = ()) -> list[str]:
    """Write notes in the words of the tools, without some codes; of ends that were not walked on from, one."""
    kept = [note for note in notes if getattr(note, "code", "") not in untold]
    frontier = [note for note in kept if getattr(note, "code", "") == "frontier"]
    kept = [note for note in kept if note not in frontier[1:]]
    return [said_of_tools(printable(str(note), _MAX_NOTE_CHARACTERS)) for note in kept]


def said_of_tools(text: str) -> str:
    """Write a note or hint that names commands and their options in the words of the tools.

    >>> said_of_tools("search for what it is called: kgsparql find TEXT; then name it with -e IRI")
    'search for what it is called: the tool find; then name it with entities'
    >>> said_of_tools("'Ulm' may be Ulm (-e http://e.org/1); to take another, add -e 'http://e.org/2_(x)'")
    "'Ulm' may be Ulm (<http://e.org/1>); to take another, add to entities: <http://e.org/2_(x)>"
    """
    text = _COMMAND.sub(r"the tool \1", text).replace("-e IRI", "entities").replace("--max-seconds", "max_seconds")
    text = _ENTITY_OPTION.sub(lambda found: f"<{found[1] or found[2]}>", text.replace("add -e", "add to entities: -e"))
    return _OPTION.sub("", text)


def joined(*parts: str) -> str:
    """Join those that are not empty, as one line."""
    return "; ".join(filter(None, parts))


def query_text(query: Query, *, is_whole: bool) -> str:
    """Return a query's text; empty for one that is long and not asked for."""
    return query.shown if is_whole or len(query.shown) <= LONG_QUERY else ""


def long_query_note(queries: Iterable[Query], *, is_whole: bool) -> str:
    """Say which argument gets the queries that are left out; empty if none is."""
    is_left_out = any(query.shown and not query_text(query, is_whole=is_whole) for query in queries)
    return "a long SPARQL query: give whole_queries" if is_left_out else ""
