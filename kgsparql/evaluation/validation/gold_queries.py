"""The SPARQL and the paths that a dataset gives for its answers, asked of a graph.

SPARQL of a file is foreign text: it is checked, and run in a process of its own with a deadline; an endpoint runs it
itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kgsparql.errors import DataError, EndpointTimeoutError, ForbiddenQueryError, LimitError, QueryError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets import gold_terms
from kgsparql.evaluation.oracle import gold_paths, predicates_by_name
from kgsparql.exploration import walk_ends
from kgsparql.graphs import EndpointGraph, OxigraphGraph
from kgsparql.rdf.paths import Walk
from kgsparql.rdf.terms import IRI, Literal, Term, printable

if TYPE_CHECKING:
    from kgsparql.graphs.user_query import QueryResult
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["GoldQueries", "Result", "hint_for"]

MAX_ROWS = 100_000
"""Solutions of one gold query; a question with more answers is none that a person asks."""

_CHUNK = 50
"""Questions whose paths are walked by one query."""

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""What is wrong with one query, and not with the graph or the network."""

_HINTS = (
    (
        re.compile(r"custom function <http://www\.w3\.org/2001/XMLSchema#(?:int|long|short|byte)> is not supported"),
        "SPARQL has no such cast; write xsd:integer(…) in its place",
    ),
    (
        re.compile(r"custom function <(?P<function>[^>]*)> is not supported"),
        "{function} is a function of another engine; write it with those of SPARQL 1.1",
    ),
    (
        re.compile(r'expected one of "\$", "\(", "\*", "\?"'),
        "what is computed stands in brackets with its name: (COUNT(?x) AS ?n)",
    ),
    (re.compile(r"SERVICE is not run here"), "a query may not ask other servers: put what it needs into the graph"),
    (re.compile(r"[Pp]refix"), "declare it at the head of the query; only well-known prefixes need no declaration"),
)
"""What to do about a refusal, by what the engine says."""


def hint_for(message: str, otherwise: str = "") -> str:
    """What to do about a refused query.

    >>> hint_for("The custom function <http://www.w3.org/2001/XMLSchema#int> is not supported")
    'SPARQL has no such cast; write xsd:integer(…) in its place'
    """
    for pattern, hint in _HINTS:
        if found := pattern.search(message):
            return hint.format(**found.groupdict())
    return otherwise


@dataclass(frozen=True, slots=True)
class Result:
    """What a query, or a path, leads to.

    :param how: ``sparql`` or ``path``; empty where the question has neither.
    :param terms: the answers, as :func:`kgsparql.evaluation.datasets.gold_terms` says.
    :param refused: why there is no result, in the engine's words; empty where there is one.
    :param hint: what to do about it.
    :param notes: what else a person should know of the query.
    :param named: the IRIs that the query names, where the answer is one literal.
    """

    how: str = ""
    terms: tuple[Term, ...] = ()
    refused: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()
    named: tuple[IRI, ...] = ()


@dataclass
class GoldQueries:
    """Asks a graph what the SPARQL and the paths of questions lead to; use it as a context manager.

    :param timeout_s: for each query.
    """

    knowledge: KnowledgeBase
    timeout_s: float = 30.0
    _run: Callable[..., QueryResult] | None = None
    _names: dict[str, tuple[IRI, ...]] | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def results(
        self, questions: Sequence[Question], *, progress: Callable[[str, int, int | None], None] | None = None
    ) -> dict[str, Result]:
        """What each question's SPARQL leads to; without SPARQL, its path.

        :param progress: called with the phase, how many questions are done, and of how many.
        :raises KgsparqlError: if the graph cannot be asked at all.
        """
        found: dict[str, Result] = {}
        walked: list[Question] = []

        def tell() -> None:
            if progress is not None:
                progress("checking answers", len(found), len(questions))

        for question in questions:
            if question.sparql:
                found[question.id] = self._queried(question.sparql)
            elif question.path and question.topics:
                walked.append(question)
            else:
                found[question.id] = Result()
            tell()
        for at in range(0, len(walked), _CHUNK):
            found.update(self._walked(walked[at : at + _CHUNK]))
            tell()
        return found

    def _queried(self, sparql: str) -> Result:
        from kgsparql.evaluation.validation.query_terms import named_iris
        from kgsparql.graphs.user_query import check

        try:
            checked = check(sparql, prefixes=self.knowledge.prefixes)
            if checked.form not in {"SELECT", "ASK"}:
                return Result("sparql", refused=f"{checked.form} has no answers, only triples", hint="write a SELECT")
            result = self._runner()(checked, timeout_s=self.timeout_s, max_rows=MAX_ROWS)
            if not result.complete:
                return Result("sparql", refused=f"more than {result.rows:,} solutions", hint="ask for less")
            named = named_iris(checked.text)
            if checked.form == "ASK":
                return Result("sparql", (Literal(result.boolean),), named=named)
            rows = result.solutions
        except _REFUSED as error:
            return Result("sparql", refused=error.message, hint=hint_for(error.message, error.hint))
        unbound = [name for name in rows.variables if rows and not any(name in row for row in rows)]
        notes = (f"?{', ?'.join(unbound)} is empty in every solution",) if unbound else ()
        terms = gold_terms(rows, rows.variables)
        is_value = len(terms) == 1 and isinstance(terms[0], Literal)
        return Result("sparql", terms, notes=notes, named=named if is_value else ())

    def _runner(self) -> Callable[..., QueryResult]:
        """What runs a query; a worker process is started when the first one is to be run."""
        if self._run is None:
            from kgsparql.graphs.user_query import QueryWorker, run_on_endpoint

            graph = self.knowledge.graph
            if isinstance(graph, EndpointGraph):
                self._run = partial(run_on_endpoint, graph)
            elif isinstance(graph, OxigraphGraph):
                # A store on disk is opened again by the worker; what is only in memory is sent to it.
                target = graph.name if _is_store(graph.name) else graph.store
                self._run = self._stack.enter_context(QueryWorker(target)).run
            else:
                raise DataError(f"{graph.name}: gold SPARQL cannot be run on this kind of graph")
        return self._run

    def _walked(self, questions: Sequence[Question]) -> dict[str, Result]:
        """Where the paths of questions lead from their topics."""
        if self._names is None:
            self._names = predicates_by_name(self.knowledge.graph)
        paths = {question.id: gold_paths(question, self._names) for question in questions}
        walks = [
            (question.id, Walk(topic.iri, path))
            for question in questions
            for path in paths[question.id]
            for topic in question.topics
        ]
        ends: dict[str, dict[Term, None]] = {question.id: {} for question in questions}
        cut: set[str] = set()
        found = walk_ends(self.knowledge.graph, [walk for _, walk in walks], limit=MAX_ROWS // 10)
        for (question_id, _), own in zip(walks, found, strict=True):
            ends[question_id].update(dict.fromkeys(own.items))
            cut.update({question_id} if own.cuts else ())
        return {q.id: self._walk_result(q, bool(paths[q.id]), ends[q.id], q.id in cut) for q in questions}

    def _walk_result(self, question: Question, is_known: bool, ends: dict[Term, None], is_cut: bool) -> Result:
        """A path that leads back to the topic has it as an answer only if the dataset says so, or there is no other."""
        if not is_known:
            lacking = [name for name in question.path if not gold_paths(_only(question, name), self._names or {})]
            return Result("path", refused=f"the graph has no predicate {printable(', '.join(lacking), 120)}")
        if is_cut:
            return Result("path", refused=f"more than {MAX_ROWS // 10:,} ends", hint="ask for less")
        topics = {topic.iri for topic in question.topics}
        kept = topics & {answer.term for answer in question.answers or ()}
        others = tuple(term for term in ends if term not in topics or term in kept)
        return Result("path", others or tuple(ends))


def _is_store(name: str) -> bool:
    from kgsparql.storage.atomic_replace import is_store

    try:
        return is_store(Path(name))
    except OSError:
        return False  # a name that cannot be one of a file


def _only(question: Question, name: str) -> Question:
    return Question(id=question.id, text=question.text, path=(name,))
