"""Whether a graph gives the gold answers of a dataset: its SPARQL, its paths or its golden triples are run again.

SPARQL of a file is foreign text: it is checked, and runs in a process of its own with a deadline, or on the endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from kgsparql.errors import DataError, EndpointTimeoutError, ForbiddenQueryError, LimitError, QueryError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Problem, Question, gold_terms
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.evaluation.oracle import gold_paths, predicates_by_name
from kgsparql.exploration import walk_ends
from kgsparql.exploration.batched_select import lookup
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.user_query import QueryResult, check, query_runner
from kgsparql.rdf.paths import Walk
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, iri, printable

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase

Progress = Callable[[str, int, int | None], None]

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

MAX_ROWS = 100_000
"""Solutions of one gold query: nobody asks a question with more answers."""

_MAX_ENDS = 10_000
_PATHS_AT_ONCE = 50

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""Errors of one query, and not of the graph or the network."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NO_TEXTS = frozenset({"false", "0", "0.0", "0.0E0", "0E0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of checking one question.

    :param how: what was checked: ``sparql``, ``path`` or ``triples``.
    :param gold: how many gold answers, or golden triples, were checked; ``None`` if the file has none.
    :param missing: gold answers that it does not give, golden triples that it lacks.
    :param extra: answers that it gives and that are not gold.
    :param absent: IRIs that the graph mentions nowhere: of gold answers and topics, and of a query that finds no or 0.
    """

    question: str
    text: str
    outcome: Outcome
    how: str = ""
    gold: int | None = None
    found: int = 0
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    reason: str = ""
    hint: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether nobody needs to look at it."""
        return self.outcome in _FINE and not self.absent


def validate(
    dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = 30.0, progress: Progress | None = None
) -> list[Finding]:
    """Check each question by its SPARQL, its path, or its golden triples.

    Answers are compared as metrics compare them: see :mod:`kgsparql.evaluation.matching`.

    :raises KgsparqlError: if the graph cannot be asked at all; a query that cannot be run is a finding.
    """
    questions = dataset.questions
    results = _gold_results(knowledge, questions, timeout_s=timeout_s, progress=progress)
    known = _mentioned_iris(knowledge.graph, [*_gold_iris(questions), *_queried_iris(results.values())])
    unrun = (triple for q in questions for triple in q.golden_triples if not results[q.id].how)
    held = _held_triples(knowledge.graph, unrun)
    by_name = [q.id for q in questions if any(answer.term is None for answer in q.answers or ())]
    names = knowledge.labels({term for question in by_name for term in results[question].terms})
    return [_question_finding(question, results[question.id], known, held, names) for question in questions]


def answered(
    dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = 30.0, progress: Progress | None = None
) -> Dataset:
    """Fill in answers where a dataset has only SPARQL or paths, and labels where it has only IRIs.

    A question without a known answer is left out, and becomes a problem: its SPARQL is refused, finds nothing, or finds
    *no* or 0 though the graph does not mention an IRI of it, as any other graph would.

    :raises DataError: if none of the queries finds anything: then it is another graph.
    """
    open_ = [q for q in dataset.questions if q.answers is None and (q.sparql or (q.path and q.topics))]
    results: dict[str, _GoldResult] = {}
    absent: dict[str, tuple[str, ...]] = {}
    if open_:
        results = _gold_results(knowledge, open_, timeout_s=timeout_s, progress=progress)
        known = _mentioned_iris(knowledge.graph, list(_queried_iris(results.values())))
        absent = {question: _absent_iris(result, known) for question, result in results.items()}
        results = {i: replace(r, terms=()) if absent[i] else r for i, r in results.items()}
        if not any(result.terms for result in results.values()):
            why = next((f"; the first is refused: {r.refused}" for r in results.values() if r.refused), "")
            raise DataError(
                f"none of the {len(open_):,} queries of {dataset.name} finds anything in {knowledge.graph.name}{why}",
                hint="is it the graph that the questions are about? name it with -k",
            )
    bare = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI) and not a.label}
    labels = knowledge.labels({*bare, *(term for result in results.values() for term in result.terms)})
    questions: list[Question] = []
    problems: list[Problem] = []
    for question in dataset.questions:
        result = results.get(question.id)
        if result is None:
            questions.append(_with_labels(question, labels))
        elif result.terms:
            answers = tuple(GoldAnswer(term, labels[term]) for term in result.terms)
            questions.append(replace(question, answers=answers))
        else:
            problems.append(Problem(question.id, _why_unknown(result, absent[question.id])))
    return replace(dataset, questions=tuple(questions), problems=(*dataset.problems, *problems))


def missing_share(dataset: Dataset, knowledge: KnowledgeBase) -> float:
    """Return the share of the IRIs in gold answers and topics that the graph does not mention; 0 if there are none."""
    terms = _gold_iris(dataset.questions)
    return 1 - len(_mentioned_iris(knowledge.graph, terms)) / len(terms) if terms else 0.0


def _why_unknown(result: _GoldResult, absent: Sequence[str]) -> str:
    if absent:
        more = f" and {len(absent) - 3:,} more" if len(absent) > 3 else ""
        return f"no answer is known: the graph does not mention {', '.join(absent[:3])}{more}, which its query names"
    if not result.refused:
        return "no answer is known: its query finds nothing"
    return f"no answer is known: its query is refused: {result.refused}" + (f" ({result.hint})" if result.hint else "")


def _with_labels(question: Question, labels: Mapping[Term, str]) -> Question:
    answers = question.answers and tuple(
        a if a.label or a.term is None else GoldAnswer(a.term, labels.get(a.term, "")) for a in question.answers
    )
    return replace(question, answers=answers)


def _gold_iris(questions: Iterable[Question]) -> list[IRI]:
    """List the IRIs in gold answers and topics, each once, in their order."""
    terms: dict[IRI, None] = {}
    for question in questions:
        terms.update(dict.fromkeys(a.term for a in question.answers or () if isinstance(a.term, IRI)))
        terms.update(dict.fromkeys(topic.iri for topic in question.topics))
    return list(terms)


def _mentioned_iris(graph: KnowledgeGraph, terms: Sequence[IRI]) -> set[Term]:
    query, size = Query.load("known"), graph.chunk_size
    known: set[Term] = set()
    for at in range(0, len(terms), size):
        chunk = terms[at : at + size]
        known.update(s["entity"] for s in graph.select(query.bind(entity=chunk).limit(len(chunk))))
    return known


def _held_triples(graph: KnowledgeGraph, triples: Iterable[Triple]) -> set[tuple[Term, ...]]:
    plain = [t for t in dict.fromkeys(triples) if isinstance(t.subject, IRI) and isinstance(t.object, IRI | Literal)]
    size = max(1, graph.chunk_size // 5)
    held: set[tuple[Term, ...]] = set()
    for at in range(0, len(plain), size):
        found = graph.select(lookup(plain[at : at + size]))
        held.update((s["subject"], s["predicate"], s["object"]) for s in found)
    return held


def _question_finding(
    question: Question, result: _GoldResult, known: set[Term], held: set[tuple[Term, ...]], names: Mapping[Term, str]
) -> Finding:
    nothing = _absent_iris(result, known)
    finding = Finding(
        question=question.id, text=question.text, outcome="unchecked", how=result.how,
        gold=None if question.answers is None else len(question.answers), found=len(result.terms),
        absent=tuple(dict.fromkeys((*(str(t) for t in _gold_iris([question]) if t not in known), *nothing))),
        reason="; ".join(result.notes),
    )  # fmt: skip
    if nothing and question.answers is None:
        return replace(finding, outcome="absent")
    if result.refused:
        return replace(finding, outcome="refused", reason=result.refused, hint=result.hint)
    if result.how:
        return _compared_with_gold(finding, question, result.terms, names)
    if not question.golden_triples:
        return finding
    lacking = [t for t in question.golden_triples if (t.subject, t.predicate, t.object) not in held]
    return replace(
        finding,
        how="triples",
        outcome="different" if lacking else "reproduced",
        gold=len(question.golden_triples),
        found=len(question.golden_triples) - len(lacking),
        missing=tuple(f"{t.subject} {t.predicate} {t.object}" for t in lacking),
    )


def _compared_with_gold(
    finding: Finding, question: Question, terms: Sequence[Term], names: Mapping[Term, str]
) -> Finding:
    if question.answers is None:
        return replace(finding, outcome="derived" if terms else "empty")
    gold = GoldAnswers(question.answers)
    met: set[int] = set()
    extra: list[str] = []
    for term in terms:
        numbers = gold.found(str(term), names.get(term, ""))
        met.update(numbers)
        extra += [] if numbers else [str(term)]
    missing = [
        a.label if a.term is None else str(a.term)
        for a in question.answers
        if met.isdisjoint(gold.found("" if a.term is None else str(a.term), a.label))
    ]
    outcome: Outcome = "different" if missing or extra else "reproduced"
    return replace(finding, outcome=outcome, missing=tuple(missing), extra=tuple(extra))


@dataclass(frozen=True, slots=True)
class _GoldResult:
    """Answers that a query or a path finds.

    :param how: ``sparql`` or ``path``; empty if the question has neither.
    :param refused: why there is no result, in the engine's words; empty if there is one.
    :param named: the IRIs that the query names, if the answer is one literal.
    """

    how: str = ""
    terms: tuple[Term, ...] = ()
    refused: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()
    named: tuple[IRI, ...] = ()


def _gold_results(
    knowledge: KnowledgeBase, questions: Sequence[Question], *, timeout_s: float, progress: Progress | None
) -> dict[str, _GoldResult]:
    """Run the SPARQL of each question or, without SPARQL, walk its path; the results are by the ids of questions."""
    found: dict[str, _GoldResult] = {}
    walked: list[Question] = []

    def tell() -> None:
        if progress is not None:
            progress("checking answers", len(found), len(questions))

    with _GoldQueries(knowledge, timeout_s) as queries:
        for question in questions:
            if question.sparql:
                found[question.id] = queries.query_result(question.sparql)
            elif question.path and question.topics:
                walked.append(question)
            else:
                found[question.id] = _GoldResult()
            tell()
        for at in range(0, len(walked), _PATHS_AT_ONCE):
            found.update(queries.walk_results(walked[at : at + _PATHS_AT_ONCE]))
            tell()
    return found


class _GoldQueries(ExitStack):
    """Runs the SPARQL and the paths of questions on a graph; at the end the process of queries ends."""

    def __init__(self, knowledge: KnowledgeBase, timeout_s: float) -> None:
        super().__init__()
        self._knowledge = knowledge
        self._timeout_s = timeout_s

    @cached_property
    def _query_runner(self) -> Callable[..., QueryResult]:
        return self.enter_context(query_runner(self._knowledge.graph))

    @cached_property
    def _predicates_of_graph(self) -> dict[str, tuple[IRI, ...]]:
        return predicates_by_name(self._knowledge.graph)

    def query_result(self, sparql: str) -> _GoldResult:
        """Run SPARQL, if it may be run."""
        try:
            checked = check(sparql, prefixes=self._knowledge.prefixes)
            if checked.form not in {"SELECT", "ASK"}:
                return _GoldResult(
                    "sparql", refused=f"{checked.form} has no answers, only triples", hint="write a SELECT"
                )
            result = self._query_runner(checked, timeout_s=self._timeout_s, max_rows=MAX_ROWS)
            if not result.complete:
                return _GoldResult("sparql", refused=f"more than {result.rows:,} solutions", hint="ask for less")
            if checked.form == "ASK":
                return _GoldResult("sparql", (Literal(result.boolean),), named=named_iris(checked.text))
            rows = result.solutions
        except _REFUSED as error:
            return _GoldResult("sparql", refused=error.message, hint=error.hint or "")
        unbound = [name for name in rows.variables if rows and not any(name in row for row in rows)]
        notes = (f"?{', ?'.join(unbound)} is empty in every solution",) if unbound else ()
        terms = gold_terms(rows, rows.variables)
        is_value = len(terms) == 1 and isinstance(terms[0], Literal)
        return _GoldResult("sparql", terms, notes=notes, named=named_iris(checked.text) if is_value else ())

    def walk_results(self, questions: Sequence[Question]) -> dict[str, _GoldResult]:
        """Walk the paths of questions from their topics, all with a few queries."""
        paths = {question.id: gold_paths(question, self._predicates_of_graph) for question in questions}
        walks = [
            (question.id, Walk(topic.iri, path))
            for question in questions
            for path in paths[question.id]
            for topic in question.topics
        ]
        ends: dict[str, dict[Term, None]] = {question.id: {} for question in questions}
        cut: set[str] = set()
        found = walk_ends(self._knowledge.graph, [walk for _, walk in walks], limit=_MAX_ENDS)
        for (question_id, _), own in zip(walks, found, strict=True):
            ends[question_id].update(dict.fromkeys(own.items))
            cut.update({question_id} if own.cuts else ())
        return {q.id: self._walk_result(q, bool(paths[q.id]), ends[q.id], q.id in cut) for q in questions}

    def _walk_result(self, question: Question, is_known: bool, ends: dict[Term, None], is_cut: bool) -> _GoldResult:
        """Take the ends of a path; a topic it leads back to is no answer, unless the dataset says so or it is alone."""
        if not is_known:
            lacking = [
                name
                for name in question.path
                if not gold_paths(replace(question, path=(name,)), self._predicates_of_graph)
            ]
            return _GoldResult("path", refused=f"the graph has no predicate {printable(', '.join(lacking), 120)}")
        if is_cut:
            return _GoldResult("path", refused=f"more than {_MAX_ENDS:,} ends", hint="ask for less")
        topics = {topic.iri for topic in question.topics}
        kept = topics & {answer.term for answer in question.answers or ()}
        others = tuple(term for term in ends if term not in topics or term in kept)
        return _GoldResult("path", others or tuple(ends))


def _queried_iris(results: Iterable[_GoldResult]) -> dict[IRI, None]:
    return dict.fromkeys(term for result in results for term in result.named)


def _absent_iris(result: _GoldResult, known: set[Term]) -> tuple[str, ...]:
    """List the IRIs without which the result of a query says nothing, of those the graph lacks."""
    absent = [term for term in result.named if term not in known]
    return tuple(map(str, absent)) if says_nothing(result.terms, result.named, absent) else ()


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

    :param query: SPARQL with all its prefixes declared; of what rdflib cannot read, none is known.

    >>> prefix = "PREFIX e: <http://e.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    >>> [term.value for term in named_iris(prefix + "ASK { e:a <http://e.org/b> ?n FILTER(e:f(?n) > xsd:int('7')) }")]
    ['http://e.org/a', 'http://e.org/b']
    """
    from pyparsing import ParseException
    from rdflib import URIRef
    from rdflib.paths import Path
    from rdflib.plugins.sparql.algebra import translateQuery, traverse
    from rdflib.plugins.sparql.parser import parseQuery

    found: dict[IRI, None] = {}

    def add_terms(term: Any) -> None:
        if isinstance(term, Path):  # of a path, its parts
            for part in (*getattr(term, "args", ()), getattr(term, "arg", None), getattr(term, "path", None)):
                add_terms(part)
        elif isinstance(term, URIRef) and not term.startswith(_XSD):
            found[iri(term.replace("\\", ""))] = None  # rdflib leaves the escapes of e:a\\-b in

    def visit(node: Any) -> None:
        for triple in node.get("triples") or () if isinstance(node, dict) else ():
            for term in triple:
                add_terms(term)

    with suppress(ParseException):
        traverse(translateQuery(parseQuery(query)).algebra, visit)
    return tuple(found)
