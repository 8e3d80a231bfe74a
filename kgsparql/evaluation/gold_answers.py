"""The answers of questions that come with SPARQL alone: it is run on the graph.

SPARQL of a file is foreign text: it is checked, and runs in a process of its own with a deadline, or on the endpoint.
"""

from __future__ import annotations

from kgsparql.dataclasses import replace
from kgsparql.errors import DataError, EndpointTimeoutError, ForbiddenQueryError, LimitError, QueryError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Problem, Question, gold_terms
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.user_query import GraphQueries, check
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term

MAX_ROWS = 100_000  # solutions of one gold query: nobody asks a question with more answers
_TIMEOUT_S = 30.0

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""Errors of one query, and not of the graph or the network."""


def answered(dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = _TIMEOUT_S) -> Dataset:
    """Fill in answers where a dataset has only SPARQL, and labels where it has only IRIs.

    A question without a known answer is left out, and becomes a problem: its SPARQL is refused, or finds nothing.

    :param timeout_s: of each query.
    :raises DataError: if none of the queries finds anything: then it is another graph.
    """
    queries = GraphQueries(knowledge.graph, prefixes=knowledge.prefixes)
    results = {
        question.id: _query_result(queries, knowledge.prefixes, question.sparql, timeout_s)
        for question in dataset.questions
        if question.answers is None and question.sparql
    }
    if results and not any(terms for terms, _ in results.values()):
        why = next((f"; the first is refused: {reason}" for _, reason in results.values() if reason), "")
        raise DataError(
            f"none of the {len(results):,} queries of {dataset.name} finds anything in {knowledge.graph.name}{why}",
            hint="is it the graph that the questions are about? name it with -k",
        )
    bare = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI) and not a.label}
    labels = knowledge.labels({*bare, *(term for terms, _ in results.values() for term in terms)})
    questions: list[Question] = []
    problems: list[Problem] = []
    for question in dataset.questions:
        answers = question.answers
        if question.id in results:
            terms, reason = results[question.id]
            if not terms:
                problems.append(Problem(question.id, f"no answer is known: {reason or 'it finds nothing'}"))
                continue
            answers = tuple(GoldAnswer(term, labels[term]) for term in terms)
        elif answers:
            answers = tuple(replace(a, label=a.label or labels.get(a.term, "")) if a.term else a for a in answers)
        questions.append(replace(question, answers=answers))
    return replace(dataset, questions=tuple(questions), problems=(*dataset.problems, *problems))


def missing_share(dataset: Dataset, knowledge: KnowledgeBase) -> float:
    """Return the share of the IRIs in gold answers and topics that the graph does not mention; 0 if there are none."""
    terms = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI)}
    terms |= {topic.iri for question in dataset.questions for topic in question.topics}
    known = select_about(knowledge.graph, [Query.load("known")], sorted(terms, key=str)).seen if terms else ()
    return 1 - len({solution["entity"] for solution in known}) / len(terms) if terms else 0.0


def _query_result(
    queries: GraphQueries, prefixes: PrefixMap, sparql: str, timeout_s: float
) -> tuple[tuple[Term, ...], str]:
    """Run SPARQL, if it may be run: return the answers, or why it is refused."""
    try:
        form = check(sparql, prefixes=prefixes).form
        if form not in {"SELECT", "ASK"}:
            return (), f"{form} has no answers, only triples (write a SELECT)"
        result = queries.run(sparql, timeout_s=timeout_s, max_rows=MAX_ROWS)
    except _REFUSED as error:
        return (), f"{error.message} ({error.hint})" if error.hint else error.message
    if not result.complete:
        return (), f"more than {result.rows:,} solutions (ask for less)"
    if form == "ASK":
        return (Literal(result.boolean),), ""
    return gold_terms(result.solutions, result.solutions.variables), ""
