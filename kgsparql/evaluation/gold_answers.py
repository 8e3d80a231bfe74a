"""The answers of questions that come with SPARQL or a path alone: these are run on the graph.

SPARQL of a file is foreign text: it is checked, and runs in a process of its own with a deadline, or on the endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice, product
from urllib.parse import unquote

from kgsparql.answering.ask_options import ignore
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import DataError, EndpointTimeoutError, ForbiddenQueryError, IriError, LimitError, QueryError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Problem, Question, first_texts, gold_terms
from kgsparql.evaluation.question_formats import iris_in
from kgsparql.exploration import predicate_counts, walk_ends
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.user_query import GraphQueries, check
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.paths import PropertyPath, Step, Walk
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, XSD, Literal, PrefixMap, Term, iri, printable

MAX_ROWS = 100_000  # solutions of one gold query: nobody asks a question with more answers
_MAX_ENDS = 10_000
_MAX_TERMS = 3  # that a reason names
_TIMEOUT_S = 30.0
_PATHS_AT_ONCE = 50
_PATHS = 64  # property paths that one list of names may mean, since several predicates may have the same name

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""Errors of one query, and not of the graph or the network."""

_AROUND = re.compile(r"(?:\^\^|\b(?:FROM|NAMED|GRAPH))\s*$", re.IGNORECASE)  # datatypes and graphs
_NO_TEXTS = frozenset({"false", "0", "0.0", "0.0E0", "0E0"})


def answered(dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = _TIMEOUT_S) -> Dataset:
    """Fill in answers where a dataset has only SPARQL or paths, and labels where it has only IRIs.

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
    """Answers that a query or a path finds.

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
    """Run the SPARQL of each question or, without SPARQL, walk its path; by the ids of questions that have either."""
    found: dict[str, _GoldResult] = {}
    with closing(GraphQueries(knowledge.graph, prefixes=knowledge.prefixes, note=ignore)) as queries:
        for question in questions:
            if question.sparql:
                found[question.id] = _query_result(queries, knowledge.prefixes, question.sparql, timeout_s)
    walked = [question for question in questions if question.path and question.topics and not question.sparql]
    predicates = predicates_by_name(knowledge.graph) if walked else {}
    for at in range(0, len(walked), _PATHS_AT_ONCE):
        found.update(_walk_results(knowledge.graph, walked[at : at + _PATHS_AT_ONCE], predicates))
    known = _mentioned_iris(knowledge.graph, dict.fromkeys(t for result in found.values() for t in result.named))
    for question_id, result in found.items():
        absent = [term for term in result.named if term not in known]
        if says_nothing(result.terms, result.named, absent):
            reason = f"the graph does not mention {first_texts(list(map(str, absent)), _MAX_TERMS)}"
            found[question_id] = _GoldResult((), reason)
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


def _walk_results(
    graph: KnowledgeGraph, questions: Sequence[Question], predicates: Mapping[str, tuple[IRI, ...]]
) -> Iterator[tuple[str, _GoldResult]]:
    """Walk the paths of questions from their topics, all with a few queries; yield the result of each.

    A topic that a path leads back to is no answer, unless it is alone.
    """
    walks = [[Walk(t.iri, path) for path in gold_paths(q, predicates) for t in q.topics] for q in questions]
    reached = iter(walk_ends(graph, [walk for own in walks for walk in own], limit=_MAX_ENDS))
    for question, own in zip(questions, walks, strict=True):
        ends = list(islice(reached, len(own)))
        if not ends:
            lacking = [name for name in question.path if not gold_paths(replace(question, path=(name,)), predicates)]
            result = _refused_result(f"the graph has no predicate {printable(', '.join(lacking), 120)}")
        elif any(some.cuts for some in ends):
            result = _refused_result(f"more than {_MAX_ENDS:,} ends", "ask for less")
        else:
            terms = dict.fromkeys(term for some in ends for term in some.items)
            topics = {topic.iri for topic in question.topics}
            result = _GoldResult(tuple(term for term in terms if term not in topics) or tuple(terms))
        yield question.id, result


def predicates_by_name(graph: KnowledgeGraph) -> dict[str, tuple[IRI, ...]]:
    """Sort the predicates of a graph by the last part of their IRIs, the commonest of a name first."""
    found: dict[str, tuple[IRI, ...]] = {}
    for predicate in predicate_counts(graph):
        name = unquote(predicate.value.rstrip("/#").replace("#", "/").rpartition("/")[2])
        found[name] = (*found.get(name, ()), predicate)
    return found


def gold_paths(question: Question, names: Mapping[str, tuple[IRI, ...]]) -> tuple[PropertyPath, ...]:
    """Return the property paths that the path of a question may mean; none if the graph lacks a predicate of it.

    >>> question = Question(id="1", text="?", path=("^at", "http://e.org/of"))
    >>> [str(path) for path in gold_paths(question, {"at": (IRI("http://e.org/at"), IRI("http://f.org/at"))})]
    ['^<http://e.org/at>/<http://e.org/of>', '^<http://f.org/at>/<http://e.org/of>']
    """
    steps = [_possible_steps(name, names) for name in question.path]
    return tuple(PropertyPath(own) for own in islice(product(*steps), _PATHS)) if steps else ()


def _possible_steps(name: str, names: Mapping[str, tuple[IRI, ...]]) -> list[Step]:
    """Return the steps that one name of a path may mean."""
    plain = name.removeprefix("^").removeprefix("<").removesuffix(">")
    found = names.get(plain, ())
    if not found and ":" in plain:
        with suppress(IriError):
            found = (iri(plain),)
    return [Step(predicate, "inverse" if name.startswith("^") else "forward") for predicate in found]


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
