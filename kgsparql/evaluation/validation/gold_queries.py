"""The SPARQL and the paths that a dataset gives for its answers, run on a graph.

SPARQL of a file is foreign text: it is checked, and runs in a process of its own with a deadline, or on the endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from kgsparql.errors import EndpointTimeoutError, ForbiddenQueryError, IriError, LimitError, QueryError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets import gold_terms
from kgsparql.evaluation.oracle import gold_paths, predicates_by_name
from kgsparql.exploration import walk_ends
from kgsparql.graphs.user_query import QueryLimits, QueryResult, check, query_runner
from kgsparql.graphs.user_query.tokens import SparqlToken, tokenise
from kgsparql.rdf.paths import Walk
from kgsparql.rdf.terms import IRI, Literal, Term, iri, printable

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase


Progress = Callable[[str, int, int | None], None]

MAX_ROWS = 100_000
"""Solutions of one gold query: nobody asks a question with more answers."""

_CHUNK = 50
"""Questions whose paths are walked by one query."""

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""Errors of one query, and not of the graph or the network."""

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

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NO = frozenset({"false", "0", "0.0", "0.0E0", "0E0"})


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
    """The answers that a query or a path finds.

    :param how: ``sparql`` or ``path``; empty if the question has neither.
    :param terms: the answers, as :func:`kgsparql.evaluation.datasets.gold_terms` chooses them.
    :param refused: why there is no result, in the engine's words; empty if there is one.
    :param named: the IRIs that the query names, if the answer is one literal.
    """

    how: str = ""
    terms: tuple[Term, ...] = ()
    refused: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()
    named: tuple[IRI, ...] = ()


def gold_results(
    knowledge: KnowledgeBase, questions: Sequence[Question], *, timeout_s: float, progress: Progress | None = None
) -> dict[str, Result]:
    """By the id of each question, the result of its SPARQL or, without SPARQL, of its path.

    :raises KgsparqlError: if the graph cannot be asked at all.
    """
    found: dict[str, Result] = {}
    walked: list[Question] = []

    def tell() -> None:
        if progress is not None:
            progress("checking answers", len(found), len(questions))

    with ExitStack() as stack:
        queries = _GoldQueries(knowledge, timeout_s, stack)
        for question in questions:
            if question.sparql:
                found[question.id] = queries.query_result(question.sparql)
            elif question.path and question.topics:
                walked.append(question)
            else:
                found[question.id] = Result()
            tell()
        for at in range(0, len(walked), _CHUNK):
            found.update(queries.walk_results(walked[at : at + _CHUNK]))
            tell()
    return found


@dataclass
class _GoldQueries:
    """Runs the SPARQL and the paths of questions on a graph.

    :param stack: ends the worker process.
    """

    knowledge: KnowledgeBase
    timeout_s: float
    stack: ExitStack

    def query_result(self, sparql: str) -> Result:
        try:
            checked = check(sparql, prefixes=self.knowledge.prefixes)
            if checked.form not in {"SELECT", "ASK"}:
                return Result("sparql", refused=f"{checked.form} has no answers, only triples", hint="write a SELECT")
            result = self._run(checked, timeout_s=self.timeout_s, max_rows=MAX_ROWS)
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

    @cached_property
    def _run(self) -> Callable[..., QueryResult]:
        """The function that runs a query: on the endpoint, or in a worker process."""
        return self.stack.enter_context(query_runner(self.knowledge.graph))

    @cached_property
    def _names(self) -> dict[str, tuple[IRI, ...]]:
        return predicates_by_name(self.knowledge.graph)

    def walk_results(self, questions: Sequence[Question]) -> dict[str, Result]:
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
        """The ends of a path; a topic that it leads back to is no answer, unless the dataset says so or it is alone."""
        if not is_known:
            lacking = [name for name in question.path if not gold_paths(replace(question, path=(name,)), self._names)]
            return Result("path", refused=f"the graph has no predicate {printable(', '.join(lacking), 120)}")
        if is_cut:
            return Result("path", refused=f"more than {MAX_ROWS // 10:,} ends", hint="ask for less")
        topics = {topic.iri for topic in question.topics}
        kept = topics & {answer.term for answer in question.answers or ()}
        others = tuple(term for term in ends if term not in topics or term in kept)
        return Result("path", others or tuple(ends))


def named_iris(query: str) -> tuple[IRI, ...]:
    """The IRIs that a query matches triples with, each once, in their order, without functions and datatypes.

    :param query: SPARQL that has passed :func:`kgsparql.graphs.user_query.check`, with all its prefixes declared.

    >>> prefix = "PREFIX e: <http://e.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    >>> [term.value for term in named_iris(prefix + "ASK { e:a <http://e.org/b> ?n FILTER(e:f(?n) > xsd:int('7')) }")]
    ['http://e.org/a', 'http://e.org/b']
    """
    tokens = tokenise(query, QueryLimits())
    prefixes: dict[str, str] = {}
    declarations: set[int] = set()
    for i, (before, token) in enumerate(pairwise(tokens), 1):
        if before.word == "PREFIX" and token.kind == "name" and i + 1 < len(tokens):
            prefixes[token.text[:-1]] = tokens[i + 1].text[1:-1]
            declarations.update((i, i + 1))
        elif before.word == "BASE":
            declarations.add(i)
    found: dict[IRI, None] = {}
    for i, token in enumerate(tokens):
        if token.kind in {"iri", "name"} and i not in declarations and _is_term(tokens, i):
            term = _iri(token, prefixes)
            if term is not None and not term.value.startswith(_XSD):
                found[term] = None
    return tuple(found)


def _is_term(tokens: Sequence[SparqlToken], i: int) -> bool:
    """Whether an IRI is a term, and not that of a graph, a datatype or a function."""
    before = tokens[i - 1] if i else None
    if before is not None and (before.word == "GRAPH" or before.text == "^^"):
        return False
    # Only a function has its arguments right behind its name: people write a space before a list of objects.
    end = tokens[i].start + len(tokens[i].text)
    return i + 1 == len(tokens) or tokens[i + 1].text != "(" or tokens[i + 1].start != end


def _iri(token: SparqlToken, prefixes: dict[str, str]) -> IRI | None:
    """The IRI of a token; ``None`` for a relative one."""
    prefix, _, name = token.text.partition(":")
    value = token.text[1:-1] if token.kind == "iri" else prefixes.get(prefix, "") + name.replace("\\", "")
    try:
        return iri(value)
    except IriError:
        return None


def says_nothing(terms: Sequence[Term], named: Collection[IRI], absent: Collection[IRI]) -> bool:
    """Whether a result says nothing, because the graph lacks what the query is about.

    *No* and 0 say nothing as soon as one IRI is absent; *yes* says nothing if all are (``FILTER NOT EXISTS``).

    >>> a, b = IRI("http://e.org/a"), IRI("http://e.org/b")
    >>> says_nothing([Literal(0)], [a, b], [b]), says_nothing([Literal(7)], [a, b], [b]), says_nothing([a], [b], [b])
    (True, False, False)
    """
    texts = {term.value if isinstance(term, Literal) else "" for term in terms}
    if not absent or not texts:
        return False
    return texts <= _NO or (texts == {"true"} and len(absent) == len(named))
