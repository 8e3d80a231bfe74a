"""An answer as the result of the tool ``ask``; and how texts and queries are shown in the results of all tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Term, printable
from kgsparql.serving import tool_parameters as p
from kgsparql.serving import tool_results as r

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer, AnswerTerm
    from kgsparql.evidence.evidence import EvidenceItem
    from kgsparql.linking.linked_entity import LinkedEntity

_ALTERNATIVES = 4
"""Of what words of a question may mean, beside what they were taken to mean."""
_NAMED = 10
"""Likeliest answers that the text names; `answers` may have more."""
_LIKELIEST = 3
"""Pieces of evidence that the text of an unsure answer tells."""
_NOTE = 1_000
"""Characters of a note."""
_TOLD_ELSEWHERE = frozenset({"not_understood", "missing_name"})
"""Notes that only say again what is not understood."""
_COMMAND = re.compile(r"kgsparql (ask|find|show|paths|plan|query|info)\b( [A-Z]+\b)?( -k \S+)?")
_ENTITY_OPTION = re.compile(r"-e (?:'([^']+)'|([^\s),;]+:[^\s),;]+))")
_OPTION = re.compile(r"; there are more \(-O [^)]*\)|\s*\(-O [^)]*\)")


def ask_result(
    answer: Answer, given: p.AskParameters, *, explained: Mapping[str, str], notes: Sequence[str]
) -> r.AskResult:
    """What of an answer was asked for, and which arguments get more.

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
    gaps = [said_of_tools(printable(explained.get(gap.text, gap.text), _NOTE)) for gap in answer.gaps]
    cuts = {
        "answers and candidates: give max_answers and max_evidence": (len(answer.answers), len(answers)),
        "pieces of evidence: give max_evidence": (len(answer.evidence), len(shown)),
        "triples of a piece of evidence: raise max_triples": (
            max((len(item.triples) for item in shown), default=0),
            given.max_triples,
        ),
    }
    more = [f"{most} of {known:,} {what}" for what, (known, most) in cuts.items() if known > most]
    return r.AskResult(
        status=answer.status, text=_text(answer, gaps), is_ranked=answer.is_ranked,
        grounding=answer.grounding,
        answers=[
            r.ToolAnswer.of(
                one.term, {one.term: one.label},
                markers=[marker for marker in one.markers if marker in markers], is_best=one in best,
                description=printable(one.description, r.MOST_CHARACTERS),
            )
            for one in answers
        ],
        evidence=[_evidence(item, answer.labels, given) for item in shown],
        linked=[_link(link) for link in answer.linked],
        not_understood=gaps,
        notes=[*notes, *told_notes(answer.notes, untold=_TOLD_ELSEWHERE if answer.gaps else ())]
        + ([] if answer.error is None else [f"no model wrote this: {answer.error.message}"]),
        more=joined(*more, long_query_note([item.query for item in shown], given)),
    )  # fmt: skip


def _shown_evidence(answer: Answer, given: p.AskParameters, best: frozenset[AnswerTerm]) -> list[EvidenceItem]:
    """The evidence, what is cited first; unless more is asked for, only what sure answers rest on."""
    first = [marker for one in answer.answers if one in best for marker in one.markers[:1]]
    cited = list(answer.cited) if best and not answer.is_ranked else first
    if not cited or "max_evidence" in given.model_fields_set:
        cited = [*answer.cited, *(item.marker for item in answer.evidence)]
    return [answer.evidence[marker] for marker in dict.fromkeys(cited)][: given.max_evidence]


def _text(answer: Answer, gaps: Sequence[str]) -> str:
    """The answer in words. Of candidates, which stand beside it, those that are sure; else what is in doubt.

    What was computed of another question than was asked is told after what it is.
    """
    if answer.is_ranked and answer.answers and not gaps:
        named = "; ".join(printable(one.label, 120) for one in answer.best[:_NAMED])
        more = f"; and {len(answer.best) - _NAMED:,} more" if len(answer.best) > _NAMED else ""
        return f"{named}{more} [{answer.answers[0].markers[0]}]"
    if gaps and (answer.is_ranked or answer.computed is not None) and len(answer.evidence):
        best = list(answer.evidence)[:_LIKELIEST]
        found = [f"[{item.marker}] {printable(item.text, _NOTE // 5)}" for item in best]
        return "\n".join([f"No sure answer: {gaps[0]}", "What was found, the likeliest first:", *found])
    return said_of_tools(_lines(answer.text))


def told_notes(notes: Iterable[str], *, untold: Collection[str] = ()) -> list[str]:
    """Notes in the words of the tools, without those of some codes; of ends that were not walked on from, one."""
    kept = [note for note in notes if getattr(note, "code", "") not in untold]
    frontier = [note for note in kept if getattr(note, "code", "") == "frontier"]
    kept = [note for note in kept if note not in frontier[1:]]
    return [said_of_tools(printable(str(note), _NOTE)) for note in kept]


def said_of_tools(text: str) -> str:
    """A note or hint that names commands and their options, in the words of the tools.

    >>> said_of_tools("search for what it is called: kgsparql find TEXT; then name it with -e IRI")
    'search for what it is called: the tool find; then name it with entities'
    >>> said_of_tools("'Ulm' may be Ulm (-e http://e.org/1); to take another, add -e 'http://e.org/2_(x)'")
    "'Ulm' may be Ulm (<http://e.org/1>); to take another, add to entities: <http://e.org/2_(x)>"
    """
    text = _COMMAND.sub(r"the tool \1", text).replace("-e IRI", "entities").replace("--max-seconds", "max_seconds")
    text = _ENTITY_OPTION.sub(lambda found: f"<{found[1] or found[2]}>", text.replace("add -e", "add to entities: -e"))
    return _OPTION.sub("", text)


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
    others = [
        r.ToolMeaning.of(one.term, {one.term: one.label}, description=printable(one.description, r.MOST_CHARACTERS))
        for one in link.likely_alternatives[:_ALTERNATIVES]
    ]
    words = printable(link.mention.text, 200)
    return r.ToolLink.of(link.term, {link.term: link.label}, words=words, alternatives=others)
