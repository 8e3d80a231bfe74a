"""Runs checked queries of users and models, in a process that is killed at the deadline, or at an endpoint.

And says why one finds nothing, by its patterns.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import CancelledError, InputError, KgsparqlError, QuerySyntaxError, QueryTimeoutError
from kgsparql.graphs.endpoint import EndpointGraph
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.oxigraph import OxigraphGraph, engine_error
from kgsparql.graphs.protocol.replies import boolean, read_solutions, triples, why_cut
from kgsparql.graphs.query_process import BoundedLines
from kgsparql.graphs.user_query.checking import CheckedQuery, check
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Node, Variable
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, other_spellings, printable
from kgsparql.rdf.vocabulary import RDF_TYPE

_COUNTS_ONCE = re.compile(r"\b(DISTINCT|GRAPH)\b", re.IGNORECASE)


@dataclass(slots=True)
class GraphQueries:
    """Runs queries on one graph: at its endpoint, or in the processes of the graph.

    A process makes no connections: :func:`check` stops SERVICE. Over a graph in memory it could not either, on Linux,
    for want of a file descriptor; over a store on disk, which opens files as it goes, the check is all there is.
    """

    graph: KnowledgeGraph
    prefixes: PrefixMap | None = None
    note: Callable[[str], None] = lambda _: None

    def run(self, text: str, **limits: Any) -> QueryResult:
        """Check a query and run it; limits and errors as of :func:`check` and :meth:`run_checked`."""
        result = self.run_checked(check(text, prefixes=self.prefixes), **limits)
        if result.cut is not None:
            self.note(f"cut: {result.cut} ({result.reason or 'max_rows keeps more'})")
        return result

    def why_nothing(self, text: str) -> str:
        """Say why a query finds nothing, as :func:`why_nothing`."""
        prefixes = self.prefixes or PrefixMap.default()
        return why_nothing(check(text, prefixes=prefixes), self.run_checked, prefixes)

    def run_checked(
        self, query: CheckedQuery, *, timeout_s: float = 30.0, max_rows: int = 100_000, max_bytes: int = 2**28,
        cancel: threading.Event | None = None,
    ) -> QueryResult:  # fmt: skip
        """Run a query over all graphs as one; any number of threads may do so.

        :param timeout_s: it is stopped then.
        :param max_rows: solutions or triples that are kept; ``complete`` is ``False`` when there were more.
        :param cancel: looked at twenty times a second; the query is stopped when it is set.
        :raises QuerySyntaxError: if the engine cannot parse it, with line and column of what the user wrote.
        :raises QueryTimeoutError: at the deadline.
        :raises LimitError: if it takes more memory than it may.
        :raises QueryCrashError: if it ended the process.
        :raises QueryError: for any other failure of the engine.
        """
        graph, until = self.graph, time.monotonic() + timeout_s
        if isinstance(graph, EndpointGraph):
            return _run_on_endpoint(graph, query, timeout_s, BoundedLines(max_rows, max_bytes), cancel)
        if not isinstance(graph, OxigraphGraph):
            raise InputError("a query of your own runs on files, a store or an endpoint", hint="open the graph as one")

        def look_up_time() -> None:
            if cancel is not None and cancel.is_set():
                raise CancelledError("the query was stopped")
            if time.monotonic() >= until:
                raise QueryTimeoutError(
                    f"the query was stopped after {timeout_s:g} s",
                    hint="start from an IRI, or give it longer (--max-seconds; timeout_s)",
                )

        may_repeat = graph.may_repeat_triples
        try:
            header, content = graph.processes.reply_to(
                query.text, look_up_time, max_rows, max_bytes, is_set=graph.is_in_memory and may_repeat
            )
        except SyntaxError as error:
            raise _placed_syntax_error(str(error), query) from error
        except (OSError, RuntimeError) as error:
            if isinstance(error, KgsparqlError):
                raise
            raise engine_error(graph.name, "query", error) from error
        if may_repeat and not graph.is_in_memory and query.form == "SELECT" and not _COUNTS_ONCE.search(query.text):
            self.note("a triple that is in several graphs of the store counts once for each: DISTINCT counts it once")
        return QueryResult(query.form, content, header["rows"], header["complete"], header["seconds"])


_SENTENCE = re.compile(r"(?:the )?select (?:contains|overrides|\*)[^,]*", re.IGNORECASE)
_MISSING = "is something missing in it? a triple has three parts; FILTER, BIND and functions want ( )"
_GROUPING = "what is selected beside COUNT, MAX and the like is what GROUP BY names"


def _placed_syntax_error(message: str, query: CheckedQuery) -> QuerySyntaxError:
    """Return the engine's error, at the line of what the user wrote."""
    found = re.match(r"error at (\d+):(\d+): (.*)", message, re.DOTALL)
    if found is None:
        return QuerySyntaxError(printable(message, 200), query=query.text)
    line, column = max(1, int(found[1]) - query.added), int(found[2])
    read = "".join(query.text.splitlines()[int(found[1]) - 1 : int(found[1])])[: column - 1]
    why, hint = f"{read[-60:].strip()!r} cannot be read", _MISSING
    if own := _SENTENCE.search(found[3]):  # the rest is what the grammar has at this place, without the order of it
        why, hint = own[0], _GROUPING if "override" not in own[0] else "choose another name for it"
    message = f"line {line}:{column}: {printable(why, 120)}"
    return QuerySyntaxError(message, hint=hint, line=line, column=column, query=query.text)


def _run_on_endpoint(
    graph: EndpointGraph, query: CheckedQuery, timeout_s: float, lines: BoundedLines, cancel: threading.Event | None
) -> QueryResult:
    began, invalid = time.monotonic(), 0
    reply, request = graph.send(query.text, query.form, timeout_s=timeout_s, cancel=cancel)
    try:
        if query.form == "SELECT":
            complete, invalid = read_solutions(reply, request, lines.take)
        else:
            complete = lines.take((boolean if query.form == "ASK" else triples)(reply, request))
    except QuerySyntaxError as error:
        raise _placed_syntax_error(str(error.detail.get("said", error.message)), query) from error
    why = why_cut(reply, request, lines.rows + invalid, "solutions" if query.form == "SELECT" else "triples")
    is_whole, seconds = complete and not why and not invalid, time.monotonic() - began
    return QueryResult(query.form, bytes(lines.content), lines.rows, is_whole, seconds, why, invalid)


_AROUND = "Project Slice Filter Extend OrderBy Distinct Reduced Group AggregateJoin".split()


def patterns_of(query: CheckedQuery) -> ReadPatterns | None:
    """Read the patterns of a query; ``None`` for one that rdflib does not read, such as SPARQL 1.2.

    >>> from kgsparql.graphs.user_query.checking import check
    >>> read = patterns_of(check("SELECT ?city { ?city a dbo:City OPTIONAL { ?city dbo:country ?land } }"))
    >>> len(read.facts), list(read.names.values())
    (1, ['?city'])
    """
    from pyparsing import ParseException
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        parsed = translateQuery(parseQuery(query.text))
        read = ReadPatterns()
        read.facts += read.required(parsed.algebra.get("p"))
    except (ParseException, NotImplementedError, KeyError, RecursionError, InputError):
        return None
    read.prefixes |= {name: str(of) for name, of in parsed.prologue.namespace_manager.namespaces()}
    return read


@dataclass(slots=True)
class ReadPatterns:
    """The triple patterns that every solution of a query has, and its prefixes, read from the algebra of rdflib.

    :param names: what the query calls its variables; ``[]`` where it has no name.
    """

    facts: list[g.Fact] = field(default_factory=list)
    names: dict[Variable, str] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    new: g.Variables = field(default_factory=g.Variables)
    variables: dict[str, Variable] = field(default_factory=dict)

    def node(self, node: Any) -> Node:
        """Read a term."""
        from rdflib.term import BNode
        from rdflib.term import Variable as Named

        from kgsparql.graphs.rdflib_interop import from_rdflib

        if isinstance(node, Named | BNode):
            own = self.variables.setdefault(node.n3(), self.new("v"))
            self.names[own] = node.n3() if isinstance(node, Named) else "[]"
            return own
        return cast("Node", from_rdflib(node))

    def required(self, part: Any) -> Iterator[g.Fact]:
        """Read the triple patterns that every solution has; those of an inner query say nothing."""
        match getattr(part, "name", ""):
            case "BGP":
                for start, path, end in part.triples:
                    yield from self._path_facts(self.node(start), path, self.node(end))
            case "Join":
                yield from (*self.required(part.p1), *self.required(part.p2))
            case "LeftJoin" | "Minus":
                yield from self.required(part.p1)
            case name if name in _AROUND:
                yield from self.required(part.p)

    def _path_facts(self, start: Node, path: Any, end: Node) -> Iterator[g.Fact]:
        """Read a property path of single steps; another kind says nothing."""
        from rdflib import paths

        match path:
            case paths.InvPath():
                yield from self._path_facts(end, path.arg, start)
            case paths.SequencePath():
                nodes = [start, *(self.new("v") for _ in path.args[1:]), end]
                for one, step, other in zip(nodes, path.args, nodes[1:], strict=False):
                    yield from self._path_facts(one, step, other)
            case paths.Path():
                return
            case _:
                yield g.Fact(start, cast("IRI | Variable", self.node(path)), end)


Run: TypeAlias = Callable[..., QueryResult]
Probe: TypeAlias = "tuple[g.Fact, ...]"

_SECONDS = 5.0
"""For all that is asked about one empty result."""
_BESIDE = "what else the query asks for (FILTER, MINUS, VALUES, LIMIT)"
_ALL = (g.Fact(Variable("s"), Variable("p"), Variable("o")),)


def is_nothing(result: QueryResult) -> bool:
    """Tell whether a whole result is empty, no, or one row of nothing and zeros, such as a count of nothing."""
    if result.form == "ASK":
        return not result.boolean
    if result.form == "SELECT" and result.rows == 1:
        (row,) = result.solutions
        return all(isinstance(term, Literal) and term.value == "0" for term in row.values())
    return result.rows == 0 and result.complete


def why_nothing(query: CheckedQuery, run: Run, prefixes: PrefixMap) -> str:
    """Say in one sentence why a query finds nothing; empty where its patterns tell nothing of it.

    :param run: runs a checked query, for so many seconds as ``timeout_s`` says.
    """
    patterns = patterns_of(query)
    if patterns is None:
        return ""
    try:
        return _reason_of(patterns, run, prefixes.merged(patterns.prefixes))
    except KgsparqlError as error:
        return f"why there is nothing could not be found out: {printable(error.message, 200)}"


def _probes_found(probes: Iterable[Probe], run: Run) -> set[Probe]:
    """Return the probes that have a solution: one query for all of them."""
    asked, n, queries = [*dict.fromkeys(probes)][:MAX_ARMS], Variable("n"), []
    for number, facts in enumerate(asked):
        group: g.Group = (g.Values(n, (Literal(str(number)),)), *facts)
        queries.append(g.select_query("why_nothing", g.Select((n,), group, limit=1)))
    result = run(check(Query.union(queries).text), timeout_s=_SECONDS)
    numbers = {solution.get("n") for solution in result.solutions}
    return {facts for number, facts in enumerate(asked) if Literal(str(number)) in numbers}


def _reason_of(patterns: ReadPatterns, run: Run, prefixes: PrefixMap) -> str:
    facts = [*dict.fromkeys(patterns.facts)]
    s, o = Variable("s"), Variable("o")
    uses = {own.predicate: (g.Fact(s, own.predicate, o),) for own in facts if isinstance(own.predicate, IRI)}
    found = _probes_found([*((own,) for own in facts), *uses.values()], run) if facts else set()
    if not found and not _probes_found([_ALL], run):
        return "the graph gives nothing back: even whether there is any triple it answers with no"
    unused = [prefixes.compress(one) for one, use in uses.items() if use not in found]
    if unused:
        return f"no triple here has the predicate {printable(', '.join(unused), 400)}"
    if alone := [own for own in facts if (own,) not in found]:
        kind, is_text = alone[0].object, isinstance(alone[0].object, Literal)
        if alone[0].predicate == RDF_TYPE and isinstance(kind, IRI):
            return f"nothing here is of the class {printable(prefixes.compress(kind), 200)}"
        tag = "; a text matches only with its language or datatype: better start from the IRI" * is_text
        ends = [(name, own) for name in ("subject", "object") if isinstance(own := getattr(alone[0], name), IRI)]
        spelt = {(replace(alone[0], **{name: one}),): one for name, own in ends for one in other_spellings(own)}
        near = _probes_found(spelt, run) if spelt else ()
        tag += "".join(f"; did you mean {spelt[one]}?" for one in spelt if one in near)
        return f"no triple here matches {_written_fact(alone[0], patterns.names, prefixes)}{tag}"
    numbers = range(2, len(facts) + 1)
    together = _probes_found((tuple(facts[:n]) for n in numbers), run) if numbers else set()
    for n in numbers:
        if tuple(facts[:n]) not in together:
            *before, last = (_written_fact(own, patterns.names, prefixes) for own in facts[:n])
            others = before[0] if n == 2 else f"the {n - 1} patterns before it"
            return f"both {last} and {others} are found here, but never together"
    return f"its triple patterns are found here, together; {_BESIDE} leaves nothing of them" if facts else ""


def _written_fact(fact: g.Fact, names: Mapping[Variable, str], prefixes: PrefixMap) -> str:
    """Write a pattern as the user knows it."""

    def text(node: g.Node) -> str:
        if isinstance(node, Variable):
            return names.get(node, "[]")
        return prefixes.compress(node) if isinstance(node, IRI) else str(node)

    texts = [text(node) for node in (fact.subject, fact.predicate, fact.object)]
    return printable(f"{{ {' '.join(texts)} }}", 300)
