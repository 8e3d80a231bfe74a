"""The patterns of a query of a user's own, and why it finds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from kgsparql.dataclasses import dataclass, field
from kgsparql.errors import InputError, KgsparqlError
from kgsparql.graphs.user_query.checking import CheckedQuery, check
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Node, Variable
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, printable
from kgsparql.rdf.vocabulary import RDF_TYPE

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
        queries.append(g.select_query("why_nothing", g.Select(((n, None),), group, limit=1)))
    result = run(check(Query.union(queries).text), timeout_s=_SECONDS)
    numbers = {str(getattr(solution.get("n"), "value", "")) for solution in result.solutions}
    return {facts for number, facts in enumerate(asked) if str(number) in numbers}


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
