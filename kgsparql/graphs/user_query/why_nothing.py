"""Why a query of a user's own finds nothing: each of its triple patterns asked alone, then more and more of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from kgsparql.errors import InputError, KgsparqlError
from kgsparql.graphs.user_query.checking import CheckedQuery, check
from kgsparql.graphs.user_query.patterns import ReadPatterns, read_patterns
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, printable
from kgsparql.rdf.vocabulary import RDF_TYPE

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
    try:
        patterns = read_patterns(query, is_literal=True)
    except InputError:
        return ""  # such as SPARQL 1.2, which rdflib does not read
    try:
        return _reason_of(patterns, run, prefixes.merged(patterns.prefixes))
    except KgsparqlError as error:
        return f"why there is nothing could not be found out: {printable(error.message, 200)}"


def _required_facts(group: g.Group) -> Iterator[g.Fact]:
    """Yield the triple patterns without which a group has no solution."""
    for pattern in group:
        if isinstance(pattern, g.Fact):
            yield pattern
        elif isinstance(pattern, g.Select):
            yield from _required_facts(pattern.group)


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
    facts = [*dict.fromkeys(_required_facts(patterns.group))]
    s, o = Variable("s"), Variable("o")
    uses = {own.predicate: (g.Fact(s, own.predicate, o),) for own in facts if isinstance(own.predicate, IRI)}
    found = _probes_found([*((own,) for own in facts), *uses.values()], run) if facts else set()
    if not found and not _probes_found([_ALL], run):
        return "the graph gives nothing back: even whether there is any triple it answers with no"
    unused = [prefixes.compress(one) for one, use in uses.items() if use not in found]
    if unused:
        return f"no triple here has the predicate {printable(', '.join(unused), 400)}"
    alone = [own for own in facts if (own,) not in found]
    if alone:
        return _unmatched_text(alone[0], patterns.names, prefixes)
    numbers = range(2, len(facts) + 1)
    together = _probes_found((tuple(facts[:n]) for n in numbers), run) if numbers else set()
    for n in numbers:
        if tuple(facts[:n]) not in together:
            *before, last = (_written_fact(own, patterns.names, prefixes) for own in facts[:n])
            others = before[0] if n == 2 else f"the {n - 1} patterns before it"
            return f"both {last} and {others} are found here, but never together"
    return f"its triple patterns are found here, together; {_BESIDE} leaves nothing of them" if facts else ""


def _unmatched_text(fact: g.Fact, names: Mapping[Variable, str], prefixes: PrefixMap) -> str:
    if fact.predicate == RDF_TYPE and isinstance(fact.object, IRI):
        return f"nothing here is of the class {printable(prefixes.compress(fact.object), 200)}"
    with_tag = (
        "; a text matches only with its language or datatype: better start from the IRI"
        if isinstance(fact.object, Literal)
        else ""
    )
    return f"no triple here matches {_written_fact(fact, names, prefixes)}{with_tag}"


def _written_fact(fact: g.Fact, names: Mapping[Variable, str], prefixes: PrefixMap) -> str:
    """Write a pattern as the user knows it."""

    def text(node: g.Node) -> str:
        if isinstance(node, Variable):
            return names.get(node, "[]")
        return prefixes.compress(node) if isinstance(node, IRI) else str(node)

    texts = [text(node) for node in (fact.subject, fact.predicate, fact.object)]
    return printable(f"{{ {' '.join(texts)} }}", 300)
