"""What each tool gives: small values, terms with their labels, and what to ask for where there is more.

Text of the graph is made safe to show here: on one line, without control characters, and not longer than is useful.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self
from typing import Literal as OneOf

from pydantic import BaseModel, ConfigDict, Field

from kgsparql.answering.answer import Status
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable

MOST_CHARACTERS = 400
"""Of a text of the graph."""

_More = Annotated[str, Field(description="What was left out, and the argument that gets more of it.")]


class ToolResult(BaseModel):
    """The result of a tool."""

    model_config = ConfigDict(frozen=True)


class LabelledTerm(ToolResult):
    """A term, and what it is called."""

    term: Annotated[
        str, Field(description='As SPARQL writes it: `<IRI>`, `"text"@en`, `"7"^^<datatype>`; for tools and queries.')
    ]
    label: Annotated[str, Field(description="What it is called, for readers.")]

    @classmethod
    def of(cls, term: Term, labels: Mapping[Term, str], **more: Any) -> Self:
        """A term by the labels of terms, with what else is said of it; without a label it is called by its own text."""
        if isinstance(term, Literal):
            name = value_text(term)
        else:
            name = labels.get(term) or (term.value if isinstance(term, IRI | BlankNode) else str(term))
        return cls(term=_written(term), label=printable(name, MOST_CHARACTERS), **more)


class FoundEntity(LabelledTerm):
    """Something that has a name like the one that was looked for."""

    kind: str
    score: float
    description: Annotated[str, Field(description="What tells it from another of the same label.")] = ""


class ToolTriple(ToolResult):
    """A triple, in its own direction."""

    subject: LabelledTerm
    predicate: LabelledTerm
    object: LabelledTerm

    @classmethod
    def of(cls, triple: Triple, labels: Mapping[Term, str]) -> ToolTriple:
        """A triple by the labels of its terms."""
        subject, predicate, object_ = (
            LabelledTerm.of(term, labels) for term in (triple.subject, triple.predicate, triple.object)
        )
        return cls(subject=subject, predicate=predicate, object=object_)


class ToolAnswer(LabelledTerm):
    """A term that answers, and the markers of the evidence it rests on."""

    markers: list[str]
    is_best: Annotated[
        bool,
        Field(description="Whether this is the answer, as far as can be told; of none where something is in doubt."),
    ]
    description: str = ""


class ToolEvidence(ToolResult):
    """A piece of evidence: what it says, its triples, and the query that finds it again."""

    marker: Annotated[str, Field(description="Cite it by this: [P1].")]
    text: str
    triples: list[ToolTriple]
    sparql: Annotated[str, Field(description="Finds it again, and all answers on the same way.")] = ""
    document: Annotated[str, Field(description="The document and place that a passage is from.")] = ""


class ToolMeaning(LabelledTerm):
    """What words may mean."""

    description: str = ""


class ToolLink(LabelledTerm):
    """What words of the question were taken to mean, and what else they may mean."""

    words: str
    alternatives: list[ToolMeaning] = []


class AskResult(ToolResult):
    """Of ``ask``."""

    status: Annotated[
        Status,
        Field(
            description="`answered`; `partial`: a limit ended the search, or something in the question was not "
            "accounted for; `not_in_graph`: nothing found; `no_entity`: nothing in the question is called so here."
        ),
    ]
    text: Annotated[str, Field(description="The answer in words; markers such as [P1] cite the evidence.")]
    is_ranked: Annotated[bool, Field(description="Nobody chose: the answers are candidates in order, likeliest first.")]
    grounding: Annotated[str, Field(description="`graph`, or `model` or `mixed` where a model's memory was used.")]
    answers: list[ToolAnswer]
    evidence: list[ToolEvidence]
    linked: list[ToolLink]
    not_understood: Annotated[list[str], Field(description="What of the question the answer leaves out.")]
    notes: list[str]
    more: _More = ""


class ValueFound(LabelledTerm):
    """A text that is no name but a value, and what has it."""

    predicate: LabelledTerm
    count: int
    is_exact: Annotated[bool, Field(description="Whether no more have it.")]
    examples: list[LabelledTerm]


class FindResult(ToolResult):
    """Of ``find``."""

    found: list[FoundEntity]
    values: Annotated[
        list[ValueFound], Field(description="Where the text is no name but a value: `plan` and `query` find by it.")
    ] = []
    notes: list[str]
    more: _More = ""


class ToolNeighbours(ToolResult):
    """The neighbours of an entity by one predicate, one way."""

    predicate: LabelledTerm
    direction: Annotated[
        OneOf["forward", "inverse"],
        Field(description="`forward`: the entity is the subject; `inverse`: the entity is the object."),
    ]
    count: Annotated[int, Field(description="All of them, also those that are not shown.")]
    is_exact: Annotated[bool, Field(description="Whether there are no more than `count`.")]
    neighbours: list[LabelledTerm]


class ShowResult(ToolResult):
    """Of ``show``."""

    entity: LabelledTerm
    groups: list[ToolNeighbours]
    more: _More = ""


class ToolPath(ToolResult):
    """A path: as a line whose arrows are those of its triples, and the triples."""

    text: str
    triples: list[ToolTriple]


class PathsResult(ToolResult):
    """Of ``paths``."""

    paths: list[ToolPath]
    more: _More = ""


class PlanResult(ToolResult):
    """Of ``plan``."""

    words: Annotated[str, Field(description="What was computed, in words: check that this is what was asked.")]
    is_sure: Annotated[bool, Field(description="Whether nothing speaks against it; else see `doubts`.")]
    doubts: list[str]
    columns: list[str]
    rows: list[list[LabelledTerm | None]]
    facts: Annotated[int, Field(description="Triples that the value rests on.")]
    linked: Annotated[list[ToolLink], Field(description="What the question names; see `entities`.")]
    sparql: str = ""
    other_plans: Annotated[
        list[str], Field(description="What else the question may ask, in words: give `other_plan` to compute one.")
    ]
    notes: list[str]
    more: _More = ""


class QueryToolResult(ToolResult):
    """Of ``query``."""

    form: OneOf["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
    boolean: Annotated[bool | None, Field(description="Of ASK.")] = None
    columns: Annotated[list[str], Field(description="The variables of SELECT.")]
    rows: Annotated[list[list[LabelledTerm | None]], Field(description="Of SELECT; null where a variable is unbound.")]
    triples: Annotated[list[ToolTriple], Field(description="Of CONSTRUCT and DESCRIBE.")]
    is_complete: bool
    more: _More = ""


class CountedTerm(LabelledTerm):
    """A class or predicate, and how often it is used; null where that was not counted."""

    count: int | None


class InfoResult(ToolResult):
    """Of ``info``."""

    name: str
    triples: int | None
    languages: Annotated[list[str], Field(description="Of labels, the preferred first.")]
    classes: Annotated[list[CountedTerm], Field(description="The commonest, with the number of their instances.")]
    predicates: Annotated[list[CountedTerm], Field(description="The commonest, with the number of their triples.")]
    named_graphs: list[str]
    prefixes: Annotated[
        dict[str, str],
        Field(description="Of the graph; queries need not declare them, nor well-known ones such as `foaf:`."),
    ]
    notes: list[str]
    more: _More = ""


def _written(term: Term) -> str:
    """A term in SPARQL's syntax, its text made safe to show; a text that is cut ends in an ellipsis."""
    if not isinstance(term, Literal):
        return printable(str(term), 4 * MOST_CHARACTERS)
    text = printable(term.value, MOST_CHARACTERS)
    if text == term.value:
        return str(term)
    if term.language is not None:
        return str(Literal(text, language=term.language))
    return str(Literal(text, datatype=term.datatype))
