"""Whether a graph gives the gold answers of a dataset: its SPARQL, its paths or its golden triples are run again.

SPARQL of a file is foreign text: it is checked, and runs in a process of its own with a deadline, or on the endpoint.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Literal as OneOf

from kgsparql.answering.ask_options import ignore
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import DataError, EndpointTimeoutError, ForbiddenQueryError, LimitError, QueryError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Problem, Question, first_texts, gold_terms
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.oracle import gold_paths, predicates_by_name
from kgsparql.evaluation.question_formats import iris_in
from kgsparql.evidence.evidence import has_a_name
from kgsparql.exploration import walk_ends
from kgsparql.exploration.batched_select import lookup, select_about
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.user_query import GraphQueries, check
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.made_questions.frequent_paths import Progress, no_progress
from kgsparql.rdf.paths import Walk
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, XSD, Literal, PrefixMap, Term, Triple, printable

Outcome = OneOf["reproduced", "different", "empty", "absent", "refused", "derived", "unchecked"]

OUTCOMES: Mapping[Outcome, str] = {
    "reproduced": "the graph gives the gold answers",
    "derived": "no gold answers in the file; the query finds them",
    "different": "the graph gives other answers",
    "empty": "no gold answers in the file, and the query finds none",
    "absent": "the query says no, or 0, of terms that the graph does not mention",
    "refused": "the query cannot be run",
    "unchecked": "no SPARQL, no path, no golden triples: nothing to check with",
}
"""The outcomes of checking a question, and what they mean."""

_FINE = frozenset({"reproduced", "derived", "unchecked"})
_RAN = frozenset({"derived", "empty", "absent"})

MAX_ROWS = 100_000  # solutions of one gold query: nobody asks a question with more answers
_MAX_ENDS = 10_000
_MAX_TERMS = 3  # of a finding that are listed
_TIMEOUT_S = 30.0
_PATHS_AT_ONCE = 50

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""Errors of one query, and not of the graph or the network."""

_AROUND = re.compile(r"(?:\^\^|\b(?:FROM|NAMED|GRAPH))\s*$", re.IGNORECASE)  # datatypes and graphs
_NO_TEXTS = frozenset({"false", "0", "0.0", "0.0E0", "0E0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of checking one question.

    :param how: what was checked: ``sparql``, ``path`` or ``triples``.
    :param missing: gold answers that it does not give, golden triples that it lacks.
    :param extra: answers that it gives and that are not gold.
    :param absent: IRIs that the graph mentions nowhere: of gold answers and topics, and of a query that finds no or 0.
    """

    question: str
    text: str
    outcome: Outcome
    how: str
    missing: Sequence[str]
    extra: Sequence[str]
    absent: Sequence[str]
    reason: str

    @property
    def is_fine(self) -> bool:
        """Whether nobody needs to look at it."""
        return self.outcome in _FINE and not self.absent


def validate(
    dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = _TIMEOUT_S, progress: Progress = no_progress
) -> list[Finding]:
    """Check each question by its SPARQL, its path, or its golden triples.

    Answers are compared as metrics compare them: see :mod:`kgsparql.evaluation.matching`.

    :raises KgsparqlError: if the graph cannot be asked at all; a query that cannot be run is a finding.
    """
    questions = dataset.questions
    results = _gold_results(knowledge, questions, timeout_s, progress)
    known = _mentioned_iris(knowledge.graph, _gold_iris(questions))
    held = _held_triples(knowledge.graph, (t for q in questions if not results[q.id].how for t in q.golden_triples))
    by_name = [q.id for q in questions if any(answer.term is None for answer in q.answers or ())]
    names = knowledge.labels({term for question in by_name for term in results[question].terms})
    findings = []
    for question in questions:
        result, missing, extra = results[question.id], list[str](), list[str]()
        how, outcome = result.how, result.outcome
        if outcome in _RAN and question.answers is not None:
            missing, extra = _compared_with_gold(question.answers, result.terms, names)
            outcome = "different" if missing or extra else "reproduced"
        elif not how and question.golden_triples:
            how, missing = "triples", [str(triple) for triple in question.golden_triples if tuple(triple) not in held]
            outcome = "different" if missing else "reproduced"
        absent = (str(term) for term in (*_gold_iris([question]), *result.absent) if term not in known)
        findings.append(Finding(
            question=question.id, text=question.text, outcome=outcome, how=how, missing=missing, extra=extra,
            absent=tuple(dict.fromkeys(absent)), reason=result.reason,
        ))  # fmt: skip
    return findings


def validation_lines(dataset: Dataset, graph: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield lines for a person: the number of questions by outcome, then the findings that need a look."""
    counts = Counter((finding.outcome, finding.how) for finding in findings)
    yield f"{dataset.name} on {graph}: {len(findings):,} questions"
    for (outcome, how), count in sorted(counts.items(), key=lambda item: (list(OUTCOMES).index(item[0][0]), item)):
        yield f"  {count:>7,}  {outcome:<10}  {how:<7}  {OUTCOMES[outcome]}"
    if absent := sum(bool(finding.absent) for finding in findings):
        yield f"  {absent:>7,}  of these are about terms that are nowhere in the graph"
    if dataset.problems:
        yield f"  {len(dataset.problems):>7,}  problems where the file was read"
        yield from ("", *(f"  {printable(str(problem), 300)}" for problem in dataset.problems))
    for finding in (finding for finding in findings if not finding.is_fine):
        yield from ("", f"{finding.question}  {finding.outcome}: {printable(finding.text, 160)}")
        if finding.reason:
            yield f"  why      {printable(finding.reason, 600)}"
        for name, terms in (("missing", finding.missing), ("extra", finding.extra), ("absent", finding.absent)):
            if terms:
                yield f"  {name:<8} {first_texts(terms, _MAX_TERMS)}"


def _compared_with_gold(
    answers: Sequence[GoldAnswer], terms: Sequence[Term], names: Mapping[Term, str]
) -> tuple[list[str], list[str]]:
    """Return the gold answers that are not among the terms, and the terms that are no gold answers."""
    gold = GoldAnswers(answers)
    numbers = {term: gold.found(str(term), names.get(term, "")) for term in terms}
    met = {number for found in numbers.values() for number in found}
    written = [("" if answer.term is None else str(answer.term), answer.label) for answer in answers]
    missing = [term or label for term, label in written if met.isdisjoint(gold.found(term, label))]
    return missing, [str(term) for term, found in numbers.items() if not found]


def answered(dataset: Dataset, knowledge: KnowledgeBase) -> Dataset:
    """Fill in answers where a dataset has only SPARQL or paths, and labels where it has only IRIs.

    A question without a known answer is left out, and becomes a problem: its SPARQL is refused, finds nothing, or finds
    *no* or 0 though the graph does not mention an IRI of it, as any other graph would.

    :raises DataError: if none of the queries finds anything: then it is another graph.
    """
    results = _gold_results(knowledge, [question for question in dataset.questions if question.answers is None])
    tried = [result for result in results.values() if result.how]
    found = {question: result.terms for question, result in results.items() if result.outcome == "derived"}
    if tried and not found:
        why = next((f"; the first is refused: {r.reason}" for r in tried if r.outcome == "refused"), "")
        raise DataError(
            f"none of the {len(tried):,} queries of {dataset.name} finds anything in {knowledge.graph.name}{why}",
            hint="is it the graph that the questions are about? name it with -k",
        )
    bare = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI) and not a.label}
    labels = knowledge.labels({*bare, *(term for terms in found.values() for term in terms)})
    questions: list[Question] = []
    problems: list[Problem] = []
    for question in dataset.questions:
        answers = question.answers
        if question.id in found:
            answers = tuple(GoldAnswer(term, labels[term]) for term in found[question.id])
        elif answers:
            answers = tuple(replace(a, label=a.label or labels.get(a.term, "")) if a.term else a for a in answers)
        elif answers is None and (result := results[question.id]).how:
            problems.append(Problem(question.id, f"no answer is known: {result.reason}"))
            continue
        questions.append(replace(question, answers=answers))
    return replace(dataset, questions=tuple(questions), problems=(*dataset.problems, *problems))


def missing_share(dataset: Dataset, knowledge: KnowledgeBase) -> float:
    """Return the share of the IRIs in gold answers and topics that the graph does not mention; 0 if there are none."""
    terms = _gold_iris(dataset.questions)
    return 1 - len(_mentioned_iris(knowledge.graph, terms)) / len(terms) if terms else 0.0


def _gold_iris(questions: Iterable[Question]) -> list[IRI]:
    """List the IRIs in gold answers and topics, each once, in their order."""
    terms: dict[IRI, None] = {}
    for question in questions:
        terms.update(dict.fromkeys(a.term for a in question.answers or () if isinstance(a.term, IRI)))
        terms.update(dict.fromkeys(topic.iri for topic in question.topics))
    return list(terms)


def _mentioned_iris(graph: KnowledgeGraph, terms: Iterable[IRI]) -> set[Term]:
    return {solution["entity"] for solution in select_about(graph, [Query.load("known")], terms).seen}


def _held_triples(graph: KnowledgeGraph, triples: Iterable[Triple]) -> set[tuple[Term, ...]]:
    plain, size = list(filter(has_a_name, dict.fromkeys(triples))), max(1, graph.chunk_size // 5)
    found = (s for at in range(0, len(plain), size) for s in graph.select(lookup(plain[at : at + size])))
    return {(s["subject"], s["predicate"], s["object"]) for s in found}


@dataclass(frozen=True, slots=True)
class _GoldResult:
    """Answers that a query or a path finds.

    :param outcome: as if the file had no gold answers.
    :param how: ``sparql`` or ``path``; empty if the question has neither.
    :param reason: why there is no answer, if it is refused in the engine's words; else what is odd in it.
    :param named: the IRIs that the query names, if the answer is one literal.
    :param absent: those of them that the graph lacks, if the answer says nothing without them.
    """

    outcome: Outcome = "unchecked"
    how: str = ""
    terms: tuple[Term, ...] = ()
    reason: str = ""
    named: tuple[IRI, ...] = ()
    absent: tuple[IRI, ...] = ()


def _refused_result(how: str, reason: str, hint: str | None = None) -> _GoldResult:
    return _GoldResult("refused", how, reason=f"{reason} ({hint})" if hint else reason)


def _gold_results(
    knowledge: KnowledgeBase, questions: Sequence[Question], timeout_s: float = _TIMEOUT_S,
    progress: Progress = no_progress,
) -> dict[str, _GoldResult]:  # fmt: skip
    """Run the SPARQL of each question or, without SPARQL, walk its path; the results are by the ids of questions."""
    found: dict[str, _GoldResult] = {}
    walked: list[Question] = []
    with closing(GraphQueries(knowledge.graph, prefixes=knowledge.prefixes, note=ignore)) as queries:
        for question in questions:
            if question.sparql:
                found[question.id] = _query_result(queries, knowledge.prefixes, question.sparql, timeout_s)
            elif question.path and question.topics:
                walked.append(question)
            else:
                found[question.id] = _GoldResult()
            progress("checking answers", len(found), len(questions))
    predicates = predicates_by_name(knowledge.graph) if walked else {}
    for at in range(0, len(walked), _PATHS_AT_ONCE):
        found.update(_walk_results(knowledge.graph, walked[at : at + _PATHS_AT_ONCE], predicates))
        progress("checking answers", len(found), len(questions))
    known = _mentioned_iris(knowledge.graph, dict.fromkeys(t for result in found.values() for t in result.named))
    for question_id, result in found.items():
        absent = tuple(term for term in result.named if term not in known)
        if says_nothing(result.terms, result.named, absent):
            reason = f"the graph does not mention {first_texts(list(map(str, absent)), _MAX_TERMS)}"
            found[question_id] = replace(result, outcome="absent", absent=absent, reason=reason)
    return found


def _query_result(queries: GraphQueries, prefixes: PrefixMap, sparql: str, timeout_s: float) -> _GoldResult:
    """Run SPARQL, if it may be run."""
    try:
        checked = check(sparql, prefixes=prefixes)
        if checked.form not in {"SELECT", "ASK"}:
            return _refused_result("sparql", f"{checked.form} has no answers, only triples", "write a SELECT")
        result = queries.run(sparql, timeout_s=timeout_s, max_rows=MAX_ROWS)
        if not result.complete:
            return _refused_result("sparql", f"more than {result.rows:,} solutions", "ask for less")
        if checked.form == "ASK":
            return _GoldResult("derived", "sparql", (Literal(result.boolean),), named=named_iris(checked.text))
        rows = result.solutions
    except _REFUSED as error:
        return _refused_result("sparql", error.message, error.hint)
    unbound = [name for name in rows.variables if rows and not any(name in row for row in rows)]
    reason = f"?{', ?'.join(unbound)} is empty in every solution" if unbound else "" if rows else "it finds nothing"
    terms = gold_terms(rows, rows.variables)
    named = named_iris(checked.text) if len(terms) == 1 and isinstance(terms[0], Literal) else ()
    return _GoldResult("derived" if terms else "empty", "sparql", terms, reason, named=named)


def _walk_results(
    graph: KnowledgeGraph, questions: Sequence[Question], predicates: Mapping[str, tuple[IRI, ...]]
) -> Iterator[tuple[str, _GoldResult]]:
    """Walk the paths of questions from their topics, all with a few queries; yield the result of each.

    A topic that a path leads back to is no answer, unless the dataset says so or it is alone.
    """
    walks = [[Walk(t.iri, path) for path in gold_paths(q, predicates) for t in q.topics] for q in questions]
    reached = iter(walk_ends(graph, [walk for own in walks for walk in own], limit=_MAX_ENDS))
    for question, own in zip(questions, walks, strict=True):
        ends = list(islice(reached, len(own)))
        if not ends:
            lacking = [name for name in question.path if not gold_paths(replace(question, path=(name,)), predicates)]
            result = _refused_result("path", f"the graph has no predicate {printable(', '.join(lacking), 120)}")
        elif any(some.cuts for some in ends):
            result = _refused_result("path", f"more than {_MAX_ENDS:,} ends", "ask for less")
        else:
            terms = dict.fromkeys(term for some in ends for term in some.items)
            left_out = {topic.iri for topic in question.topics} - {answer.term for answer in question.answers or ()}
            kept = tuple(term for term in terms if term not in left_out) or tuple(terms)
            result = _GoldResult("derived" if kept else "empty", "path", kept, "" if kept else "it finds nothing")
        yield question.id, result


def says_nothing(terms: Sequence[Term], named: Collection[IRI], absent: Collection[IRI]) -> bool:
    """Tell whether a result says nothing, because the graph lacks what the query is about.

    *No* and 0 say nothing as soon as one IRI is absent; *yes* says nothing if all are (``FILTER NOT EXISTS``).

    >>> a, b = IRI("http://e.org/a"), IRI("http://e.org/b")
    >>> says_nothing([Literal(0)], [a, b], [b]), says_nothing([Literal(7)], [a, b], [b]), says_nothing([a], [b], [b])
    (True, False, False)
    """
    texts = {term.value if isinstance(term, Literal) else "" for term in terms}
    if not absent or not texts:
        return False
    return texts <= _NO_TEXTS or (texts == {"true"} and len(absent) == len(named))


def named_iris(query: str) -> tuple[IRI, ...]:
    """List the IRIs that a query matches triples with, each once, without those of functions, datatypes and graphs.

    :param query: SPARQL with all its prefixes declared.

    >>> prefix = "PREFIX e: <http://e.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    >>> [term.value for term in named_iris(prefix + "ASK { e:a <http://e.org/b> ?n FILTER(e:f(?n) > xsd:int('7')) }")]
    ['http://e.org/a', 'http://e.org/b']
    """
    found = (iri for iri, before, after in iris_in(query) if not _AROUND.search(before) and not after.startswith("("))
    return tuple(dict.fromkeys(one for one in found if not one.value.startswith(XSD)))
