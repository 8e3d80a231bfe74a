"""The answers of questions that come with SPARQL alone: it is run on the graph.

SPARQL of a file is foreign text: it is checked, and runs in a process of its own with a deadline, or on the endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing

from kgsparql.answering.ask_options import ignore
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import DataError, EndpointTimeoutError, ForbiddenQueryError, LimitError, QueryError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Problem, Question, gold_terms
from kgsparql.evaluation.question_formats import iris_in
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.user_query import GraphQueries, check
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, XSD, Literal, PrefixMap, Term, printable

MAX_ROWS = 100_000  # solutions of one gold query: nobody asks a question with more answers
_MAX_TERMS = 3  # that a reason names
_TIMEOUT_S = 30.0

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""Errors of one query, and not of the graph or the network."""

_AROUND = re.compile(r"(?:\^\^|\b(?:FROM|NAMED|GRAPH))\s*$", re.IGNORECASE)  # datatypes and graphs
_NO_TEXTS = frozenset({"false", "0", "0.0", "0.0E0", "0E0"})


def answered(dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = _TIMEOUT_S) -> Dataset:
    """Fill in answers where a dataset has only SPARQL, and labels where it has only IRIs.

    A question without a known answer is left out, and becomes a problem: its SPARQL is refused, finds nothing, or finds
    *no* or 0 though the graph does not mention an IRI of it, as any other graph would.

    :param timeout_s: of each query.
    :raises DataError: if none of the queries finds anything: then it is another graph.
    """
    asked = [question for question in dataset.questions if question.answers is None]
    results = _gold_results(knowledge, asked, timeout_s)
    if results and not any(result.terms for result in results.values()):
        why = next((f"; the first is refused: {r.reason}" for r in results.values() if r.is_refused), "")
        raise DataError(
            f"none of the {len(results):,} queries of {dataset.name} finds anything in {knowledge.graph.name}{why}",
            hint="is it the graph that the questions are about? name it with -k",
        )
    bare = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI) and not a.label}
    labels = knowledge.labels({*bare, *(term for result in results.values() for term in result.terms)})
    questions: list[Question] = []
    problems: list[Problem] = []
    for question in dataset.questions:
        answers, result = question.answers, results.get(question.id)
        if result is not None and not result.terms:
            problems.append(Problem(question.id, f"no answer is known: {result.reason}"))
            continue
        if result is not None:
            answers = tuple(GoldAnswer(term, labels[term]) for term in result.terms)
        elif answers:
            answers = tuple(replace(a, label=a.label or labels.get(a.term, "")) if a.term else a for a in answers)
        questions.append(replace(question, answers=answers))
    return replace(dataset, questions=tuple(questions), problems=(*dataset.problems, *problems))


def missing_share(dataset: Dataset, knowledge: KnowledgeBase) -> float:
    """Return the share of the IRIs in gold answers and topics that the graph does not mention; 0 if there are none."""
    terms = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI)}
    terms |= {topic.iri for question in dataset.questions for topic in question.topics}
    return 1 - len(_mentioned_iris(knowledge.graph, sorted(terms, key=str))) / len(terms) if terms else 0.0


def _mentioned_iris(graph: KnowledgeGraph, terms: Iterable[IRI]) -> set[Term]:
    return {solution["entity"] for solution in select_about(graph, [Query.load("known")], terms).seen}


@dataclass(frozen=True, slots=True)
class _GoldResult:
    """Answers that a query finds.

    :param reason: why there is no answer; if ``is_refused``, in the engine's words.
    :param named: the IRIs that the query names, if the answer is one literal.
    """

    terms: tuple[Term, ...] = ()
    reason: str = "it finds nothing"
    is_refused: bool = False
    named: tuple[IRI, ...] = ()


def _refused_result(reason: str, hint: str | None = None) -> _GoldResult:
    return _GoldResult((), f"{reason} ({hint})" if hint else reason, is_refused=True)


def _gold_results(
    knowledge: KnowledgeBase, questions: Sequence[Question], timeout_s: float
) -> dict[str, _GoldResult]:  # fmt: skip
    """Run the SPARQL of each question; by the ids of questions that have any."""
    found: dict[str, _GoldResult] = {}
    with closing(GraphQueries(knowledge.graph, prefixes=knowledge.prefixes, note=ignore)) as queries:
        for question in questions:
            if question.sparql:
                found[question.id] = _query_result(queries, knowledge.prefixes, question.sparql, timeout_s)
    known = _mentioned_iris(knowledge.graph, dict.fromkeys(t for result in found.values() for t in result.named))
    for question_id, result in found.items():
        absent = [term for term in result.named if term not in known]
        if says_nothing(result.terms, result.named, absent):
            named = ", ".join(printable(str(term), 120) for term in absent[:_MAX_TERMS])
            found[question_id] = _GoldResult((), f"the graph does not mention {named}")
    return found


def _query_result(queries: GraphQueries, prefixes: PrefixMap, sparql: str, timeout_s: float) -> _GoldResult:
    """Run SPARQL, if it may be run."""
    try:
        checked = check(sparql, prefixes=prefixes)
        if checked.form not in {"SELECT", "ASK"}:
            return _refused_result(f"{checked.form} has no answers, only triples", "write a SELECT")
        result = queries.run(sparql, timeout_s=timeout_s, max_rows=MAX_ROWS)
        if not result.complete:
            return _refused_result(f"more than {result.rows:,} solutions", "ask for less")
        if checked.form == "ASK":
            return _GoldResult((Literal(result.boolean),), named=named_iris(checked.text))
        rows = result.solutions
    except _REFUSED as error:
        return _refused_result(error.message, error.hint)
    terms = gold_terms(rows, rows.variables)
    return _GoldResult(
        terms, named=named_iris(checked.text) if len(terms) == 1 and isinstance(terms[0], Literal) else ()
    )


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
    found = (one for one, before, after in iris_in(query) if not _AROUND.search(before) and not after.startswith("("))
    return tuple(dict.fromkeys(one for one in found if not one.value.startswith(XSD)))
