"""Why a query of a user's own finds nothing: each of its triple patterns asked alone, then more and more of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from kgsparql.errors import KgsparqlError
from kgsparql.graphs.user_query.checking import CheckedQuery, check
from kgsparql.graphs.user_query.results import QueryResult
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, printable
from kgsparql.rdf.vocabulary import RDF_TYPE

if TYPE_CHECKING:
    from rdflib.plugins.sparql.parserutils import CompValue

Run: TypeAlias = Callable[..., QueryResult]
Probe: TypeAlias = "tuple[g.Fact, ...]"

_SECONDS = 5.0
"""For all that is asked about one empty result."""
_ALL = (g.Fact(Variable("s"), Variable("p"), Variable("o")),)
_INTO = frozenset("SelectQuery AskQuery ConstructQuery Project Distinct Reduced Slice OrderBy Extend Group "
                  "AggregateJoin Filter Join ToMultiSet".split())  # fmt: skip
"""Parts of a query whose patterns must all be found; of the others, some solution may do without."""
_BESIDE = {"LeftJoin": "", "Minus": "MINUS"}
_KEEPING = {"Filter": "FILTER", "values": "VALUES", "Union": "UNION", "Graph": "GRAPH", "Slice": "OFFSET or LIMIT"}


@dataclass(slots=True)
class RequiredPatterns:
    """The triple patterns of a query without which it has no solution.

    :param facts: in the order of the query. :param one_of: predicates of which a property path needs one.
    :param others: what else may leave nothing, as keywords. :param prefixes: that the query declares.
    """

    facts: list[g.Fact] = field(default_factory=list)
    one_of: list[frozenset[IRI]] = field(default_factory=list)
    others: dict[str, None] = field(default_factory=dict)
    names: dict[Variable, str] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    _nodes: dict[str, Variable] = field(default_factory=dict)

    @classmethod
    def of(cls, query: CheckedQuery) -> RequiredPatterns:
        """Read a query; nothing of one that rdflib cannot read, such as SPARQL 1.2."""
        from pyparsing import ParseException
        from rdflib.plugins.sparql.algebra import translateQuery
        from rdflib.plugins.sparql.parser import parseQuery

        found = cls()
        try:
            translated = translateQuery(parseQuery(query.text))
        except (ParseException, NotImplementedError, KeyError, RecursionError):
            return found
        found.prefixes = {name: str(of) for name, of in translated.prologue.namespace_manager.namespaces()}
        found._read(translated.algebra)
        return found

    def _read(self, part: CompValue) -> None:
        if part.name in _KEEPING:
            self.others[_KEEPING[part.name]] = None
        if part.name == "BGP":
            for one in part.triples:
                self._add(*one)
        elif part.name in _BESIDE:
            self.others |= dict.fromkeys(filter(None, [_BESIDE[part.name]]))
            self._read(part.p1)
        elif part.name in _INTO:
            for name in ("p", "p1", "p2"):
                if name in part:
                    self._read(part[name])

    def _add(self, subject: Any, predicate: Any, far: Any) -> None:
        from rdflib.paths import Path

        if isinstance(predicate, Path):
            self.others["property path"] = None
            self.one_of += _needed(predicate)
            return
        self.facts.append(g.Fact(self._node(subject), cast("IRI | Variable", self._node(predicate)), self._node(far)))

    def _node(self, node: Any) -> g.Node:
        from rdflib.term import BNode
        from rdflib.term import Variable as Named

        from kgsparql.graphs.rdflib_interop import from_rdflib

        if not isinstance(node, Named | BNode):
            return cast("IRI | Literal", from_rdflib(node))
        name = f"?{node}" if isinstance(node, Named) else "[]"
        variable = self._nodes.setdefault(node.n3(), Variable(f"v{len(self._nodes)}"))
        self.names[variable] = name
        return variable


def _needed(path: Any) -> Iterator[frozenset[IRI]]:
    """Yield the sets of predicates of each of which a path needs one."""
    from rdflib import paths
    from rdflib.term import URIRef

    match path:
        case URIRef():
            yield frozenset((IRI(str(path)),))
        case paths.InvPath():
            yield from _needed(path.arg)
        case paths.SequencePath():
            for step in path.args:
                yield from _needed(step)
        case paths.MulPath(mod="+"):
            yield from _needed(path.path)
        case paths.AlternativePath():
            arms = [[*_needed(one)] for one in path.args]
            if all(len(arm) == 1 for arm in arms):
                yield frozenset().union(*(arm[0] for arm in arms))


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
    required = RequiredPatterns.of(query)
    try:
        return _sentence(required, _Probing(run), prefixes.merged(required.prefixes))
    except KgsparqlError as error:
        return f"why there is nothing could not be found out: {printable(error.message, 200)}"


@dataclass(frozen=True, slots=True)
class _Probing:
    run: Run

    def found(self, probes: Iterable[Probe]) -> set[Probe]:
        """Return the probes that have a solution: one query for all of them."""
        asked, n, queries = [*dict.fromkeys(probes)][:MAX_ARMS], Variable("n"), []
        for number, facts in enumerate(asked):
            group: g.Group = (g.Values(n, (Literal(str(number)),)), *facts)
            queries.append(g.select_query("why_nothing", g.Select(((n, None),), group, limit=1)))
        result = self.run(check(Query.union(queries).text), timeout_s=_SECONDS)
        numbers = {str(getattr(solution.get("n"), "value", "")) for solution in result.solutions}
        return {facts for number, facts in enumerate(asked) if str(number) in numbers}


def _sentence(required: RequiredPatterns, probing: _Probing, prefixes: PrefixMap) -> str:
    facts = [*dict.fromkeys(required.facts)]
    predicates = dict.fromkeys(own.predicate for own in facts if isinstance(own.predicate, IRI))
    uses = {one: _use_of(one) for one in [*predicates, *(p for some in required.one_of for p in sorted(some, key=str))]}
    found = probing.found([_ALL, *((own,) for own in facts), *uses.values()])
    if _ALL not in found:
        return "the graph gives nothing back: it answers even ASK { ?s ?p ?o } with no"
    one_of = [frozenset((one,)) for one in predicates] + required.one_of
    unused = [some for some in dict.fromkeys(one_of) if not any(uses[one] in found for one in some)]
    if unused:
        names = ", ".join(" or ".join(sorted(map(prefixes.compress, some))) for some in unused)
        return f"no triple here has the predicate {printable(names, 400)}"
    alone = [own for own in facts if (own,) not in found]
    if alone:
        return _unmatched(alone[0], required.names, prefixes)
    if len(facts) > 1:
        together = probing.found(tuple(facts[:n]) for n in range(2, len(facts) + 1))
        for n in range(2, len(facts) + 1):
            if tuple(facts[:n]) not in together:
                *before, last = (_written(own, required.names, prefixes) for own in facts[:n])
                others = before[0] if n == 2 else f"the {n - 1} patterns before it"
                return f"both {last} and {others} are found here, but never together"
    if not (facts and required.others):
        return ""
    return f"its triple patterns are found here, together; {_listed([*required.others])} leaves nothing of them"


def _use_of(predicate: IRI) -> Probe:
    return (g.Fact(Variable("s"), predicate, Variable("o")),)


def _unmatched(fact: g.Fact, names: Mapping[Variable, str], prefixes: PrefixMap) -> str:
    if fact.predicate == RDF_TYPE and isinstance(fact.object, IRI):
        return f"nothing here is of the class {printable(prefixes.compress(fact.object), 200)}"
    with_tag = (
        "; a text matches only with its language or datatype: better start from the IRI"
        if isinstance(fact.object, Literal)
        else ""
    )
    return f"no triple here matches {_written(fact, names, prefixes)}{with_tag}"


def _written(fact: g.Fact, names: Mapping[Variable, str], prefixes: PrefixMap) -> str:
    """Write a pattern as the user knows it."""
    nodes: Sequence[Variable | Term] = (fact.subject, fact.predicate, fact.object)
    texts = [
        names[node] if isinstance(node, Variable) else prefixes.compress(node) if isinstance(node, IRI) else str(node)
        for node in nodes
    ]
    return printable(f"{{ {' '.join(texts)} }}", 300)


def _listed(names: Sequence[str]) -> str:
    return " or ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} or {names[-1]}"
