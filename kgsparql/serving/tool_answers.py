"""An answer as the result of the tool ``ask``; and how texts and queries are shown in the results of all tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Term, printable
from kgsparql.serving import tool_parameters as p
from kgsparql.serving import tool_results as r

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.evidence.evidence import EvidenceItem
    from kgsparql.linking.linked_entity import LinkedEntity

_ALTERNATIVES = 4
"""Of what words of a question may mean, beside what they were taken to mean."""
_COMMAND = re.compile(r"kgsparql (ask|find|show|paths|plan|query|info)\b( [A-Z]+\b)?( -k \S+)?")


def ask_result(answer: Answer, given: p.AskParameters) -> r.AskResult:
    """What of an answer was asked for, and which arguments get more."""
    best = frozenset(answer.best)
    cited = dict.fromkeys([*answer.cited, *(item.marker for item in answer.evidence)])
    shown = [answer.evidence[marker] for marker in cited][: given.max_evidence]
    cuts = {
        "answers: raise max_answers": (len(answer.answers), given.max_answers),
        "pieces of evidence: raise max_evidence": (len(answer.evidence), given.max_evidence),
        "triples of a piece of evidence: raise max_triples": (
            max((len(item.triples) for item in shown), default=0),
            given.max_triples,
        ),
    }
    more = [f"{most} of {known:,} {what}" for what, (known, most) in cuts.items() if known > most]
    return r.AskResult(
        status=answer.status, text=said_of_tools(_lines(answer.text)), is_ranked=answer.is_ranked,
        grounding=answer.grounding,
        answers=[
            r.ToolAnswer(
                **r.LabelledTerm.of(one.term, {one.term: one.label}).model_dump(),
                markers=list(one.markers[:5]), is_best=one in best,
                description=printable(one.description, r.MOST_CHARACTERS),
            )
            for one in answer.answers[: given.max_answers]
        ],
        evidence=[_evidence(item, answer.labels, given) for item in shown],
        linked=[_link(link) for link in answer.linked],
        not_understood=[printable(gap.text) for gap in answer.gaps],
        notes=[said_of_tools(printable(str(note))) for note in answer.notes]
        + ([] if answer.error is None else [f"no model wrote this: {answer.error.message}"]),
        more=joined(*more, long_query_note([item.query for item in shown], given)),
    )  # fmt: skip


def said_of_tools(text: str) -> str:
    """A note or hint that names commands and their options, in the words of the tools.

    >>> said_of_tools("search for what it is called: kgsparql find TEXT; then name it with -e IRI")
    'search for what it is called: the tool find; then name it with entities'
    """
    return _COMMAND.sub(r"the tool \1", text).replace("-e IRI", "entities").replace("--max-seconds", "max_seconds")


def joined(*parts: str) -> str:
    """Those that are not empty, as one line."""
    return "; ".join(filter(None, parts))


def query_text(query: Query, given: p.AskParameters | p.PlanParameters) -> str:
    """A query's text; empty for one that is long and not asked for."""
    return query.shown if given.whole_queries or len(query.shown) <= p.LONG_QUERY else ""


def long_query_note(queries: Iterable[Query], given: p.AskParameters | p.PlanParameters) -> str:
    """Which argument gets the queries that are left out; empty if none is."""
    is_left_out = any(query.shown and not query_text(query, given) for query in queries)
    return "a long SPARQL query: give whole_queries" if is_left_out else ""


def _lines(text: str) -> str:
    """A text of several lines, made safe to show."""
    return "\n".join(printable(line, 4 * r.MOST_CHARACTERS) for line in text.splitlines())


def _evidence(item: EvidenceItem, labels: Mapping[Term, str], given: p.AskParameters) -> r.ToolEvidence:
    return r.ToolEvidence(
        marker=item.marker, text=printable(item.text, 4 * r.MOST_CHARACTERS), sparql=query_text(item.query, given),
        triples=[r.ToolTriple.of(cited.triple, labels) for cited in item.triples[: given.max_triples]],
        document="" if item.excerpt is None else str(item.excerpt),
    )  # fmt: skip


def _link(link: LinkedEntity) -> r.ToolLink:
    others = [r.LabelledTerm.of(one.term, {one.term: one.label}) for one in link.candidates if one.term != link.term]
    named = r.LabelledTerm.of(link.term, {link.term: link.label})
    return r.ToolLink(
        **named.model_dump(), words=printable(link.mention.text, 200), alternatives=others[:_ALTERNATIVES]
    )
