"""The predicates by which a graph says what things are and what they are called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from kgsparql.dataclasses import field, frozen, replace
from kgsparql.errors import EndpointAuthenticationError, EndpointReplyError, EndpointTimeoutError
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, in_parts, select_each
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Apply, Variable, variables
from kgsparql.rdf.paths import Step
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, Term, iris_in, name_words, normalised
from kgsparql.rdf.vocabulary import (
    CLASS_ABOVE,
    CLASS_KINDS,
    EQUIVALENT_PROPERTY,
    INSTANCE_OF,
    INVERSE_OF,
    LABELS,
    OF_ONTOLOGIES,
    ON_PROPERTY,
    RDF_TYPE,
    SAME_AS,
    SUBCLASS_OF,
    SUBPROPERTY_OF,
    SYMMETRIC,
    TRANSITIVE,
)
from kgsparql.schema.amounts import Amounts, amounts_observed, amounts_of
from kgsparql.schema.dating import Dating, Joined, reified
from kgsparql.schema.joining import Keyed, joining_classes, key_columns, value_nodes
from kgsparql.schema.patterns import patterns

_DECLARING = (SUBPROPERTY_OF, EQUIVALENT_PROPERTY, INVERSE_OF)
_MOST_READ = 1_000  # predicates that restrictions are on, and classes that things are of
_MOST_DECLARED = 200  # predicates of which an endpoint is asked whether it has them
_READ: WeakKeyDictionary[KnowledgeGraph, GraphVocabulary] = WeakKeyDictionary()
"""What was read of graphs that stay as they were loaded, and of endpoints."""


@frozen
class GraphVocabulary:
    """What plans need to know of a graph.

    :param types: from an item to its classes.
    :param narrower: from a class to a broader one; none where all classes are flat.
    :param labels: from an item to its names.
    :param is_ontology: OWL says by restrictions what its classes have, and no thing is of such a class, or nothing is
        of any class: classes are the things that are asked about.
    :param restricted: of an ontology, the predicates that restrictions are on.
    :param stated: those of them that triples have, too.
    :param relations: of predicates, by which other steps what they say is stated: what is below them, and back.
    :param valued: of predicates that lead to nodes which stand for a value, those from there to the value.
    :param keyed: of predicates whose values are keys of things, whose.
    :param amounts: what the numbers of predicates are in.
    :param transitive: predicates that are declared to be so.
    :param joined: of classes whose nodes join two things, how these say what a predicate of that name would.
    :param silent: the links of tables that only join others: nobody says them.
    :param dated: of predicates whose facts have dates, where these stand.
    :param implied: of steps, which others they are, too, by what is declared of their predicates.
    :param retired: what marks things that are deprecated, withdrawn or replaced: a predicate, and by which values.
    :param has_twins: some of its things are said to be the same.
    :param unread: why an endpoint did not say what it declares; empty where it did.
    :param populated: of an ontology, the classes of its things, with those above; the items of others are the classes
        below them.
    """

    types: tuple[IRI, ...] = (RDF_TYPE,)
    narrower: tuple[IRI, ...] = (SUBCLASS_OF,)
    labels: tuple[IRI, ...] = LABELS
    is_ontology: bool = False
    restricted: frozenset[IRI] = frozenset()
    stated: frozenset[IRI] = frozenset()
    populated: frozenset[IRI] = frozenset()
    relations: Mapping[IRI, tuple[Step, ...]] = field(default_factory=dict, compare=False)
    implied: Mapping[Step, tuple[Step, ...]] = field(default_factory=dict, compare=False)
    joined: Mapping[IRI, tuple[Joined, ...]] = field(default_factory=dict, compare=False)
    transitive: frozenset[IRI] = frozenset()
    silent: frozenset[IRI] = frozenset()
    dated: Mapping[IRI, Dating] = field(default_factory=dict, compare=False)
    has_twins: bool = False
    retired: tuple[tuple[IRI, tuple[IRI | Literal, ...]], ...] = ()
    valued: Mapping[IRI, tuple[IRI, ...]] = field(default_factory=dict, compare=False)
    keyed: Mapping[IRI, Keyed] = field(default_factory=dict, compare=False)
    amounts: Mapping[IRI, Amounts] = field(default_factory=dict, compare=False)
    unread: str = ""

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> GraphVocabulary:
        """Make the vocabulary of a graph; where it sees that no class is below another, nothing leads to such."""
        above = (
            {SUBCLASS_OF, CLASS_ABOVE} if graph.is_embedded else {SUBCLASS_OF}
        )  # an endpoint does not say what it has
        narrower = tuple(sorted(graph.held(frozenset(above)), key=str))
        labels = graph.naming.labels
        if not graph.is_embedded:
            return replace(_declared_at(graph), narrower=narrower, labels=labels)
        types = tuple(sorted(graph.held(frozenset((RDF_TYPE, INSTANCE_OF))), key=str)) or (RDF_TYPE,)
        if (read := _READ.get(graph.origin)) is None:
            has_restrictions = narrower and graph.held(frozenset((ON_PROPERTY,)))
            read = _read_ontology(graph) if has_restrictions else cls(is_ontology=_has_only_classes(graph, narrower))
            own, (amounts, to_amounts) = _read_relations(graph.origin), amounts_of(graph.origin)
            joined, silent, dated = joining_classes(graph.origin)
            stated = {step.predicate for steps in own["relations"].values() for step in steps} | own["relations"].keys()
            valued = {by: to for by, to in (value_nodes(graph.origin) | to_amounts).items() if by not in stated}
            amounts |= amounts_observed(graph.origin, joined, amounts)
            read = replace(
                read, joined=joined, silent=silent, dated=dated | reified(graph.origin), valued=valued, amounts=amounts,
                retired=_marks_of(graph.origin), keyed=key_columns(graph.origin),
                has_twins=bool(graph.held(frozenset((SAME_AS,)))), **own,
            )  # fmt: skip
        if graph.is_as_loaded:
            _READ[graph.origin] = read
        return replace(read, types=types, narrower=narrower, labels=labels)

    def with_nodes_of(self, kinds: frozenset[IRI]) -> GraphVocabulary:
        """Return the same without the relations that nodes of some classes stand for with their dates."""
        joined = {
            relation: ways
            for relation, ways in self.joined.items()
            if relation not in self.dated or all(way.kind not in kinds or way.is_alone for way in ways)
        }
        dated = {relation: own for relation, own in self.dated.items() if own.by is not None or relation in joined}
        return self if joined == self.joined else replace(self, joined=joined, dated=dated)

    def without_keys(self, question: str) -> GraphVocabulary:
        """Return the same with the values of predicates as what they lead to, where a key is asked for: its code."""
        asked = {word.removesuffix("s") for word in normalised(question).split()} & patterns()["key"]
        keyed = {by: to for by, to in self.keyed.items() if asked.isdisjoint(name_words(by))}
        return replace(self, keyed=keyed) if asked and self.keyed else self

    def are_one(self, *names: IRI) -> bool:
        """Tell whether two predicates name one relation from either end by the same nodes: `member`, `works for`."""
        one, other = ({(way.kind, frozenset((way.start, way.end))) for way in self.joined.get(p, ())} for p in names)
        return names[0] == names[1] or not one.isdisjoint(other)

    def may_repeat(self, step: Step, *, is_within: bool, is_next: bool = False) -> bool:
        """Tell whether what a step leads to is meant in any number of steps.

        :param is_within: it is asked whether something stands in another; else what stands next above it is meant.
        :param is_next: what is next is meant by what is declared to be transitive, too: where something is.
        """
        if step.predicate in self.transitive:
            return not (is_next and step.direction == "forward")
        one, to_narrower = step.predicate.value, "down" if step.direction == "forward" else "up"
        return one in patterns()[to_narrower] or (is_within and one in patterns()["up"] | patterns()["down"])

    def stated_by(self, predicate: IRI) -> tuple[tuple[IRI, ...], tuple[IRI, ...]]:
        """List the predicates by which what one says is stated, itself first; and those that state it back."""
        also = self.relations.get(predicate, ())
        onward = (step.predicate for step in also if step.direction == "forward")
        return (predicate, *onward), tuple(step.predicate for step in also if step.direction == "inverse")

    @property
    def to_nodes(self) -> frozenset[Step]:
        """The steps that lead to nodes that only join things, which are the answer to nothing."""
        ways = (way for own in self.joined.values() for way in own)
        return frozenset(step for way in ways for step in way.to_nodes)

    @property
    def keys(self) -> frozenset[IRI]:
        """The predicates that lead to keys, of things and to them."""
        return frozenset((*self.keyed, *(own.key for own in self.keyed.values())))

    @property
    def kinds(self) -> tuple[IRI, ...]:
        """What leads from an item to its classes, where the item may be a class itself."""
        if not self.is_ontology:
            return self.types
        return (*self.types, *self.narrower) if self.populated else self.narrower

    def has_classes_as_items(self, of: IRI) -> bool:
        """Tell whether the items of a class are the classes below it."""
        return self.is_ontology and of not in self.populated and of not in CLASS_KINDS


def _declared_at(graph: KnowledgeGraph) -> GraphVocabulary:
    """Read what an endpoint declares of its predicates, its nodes and its units, once in a process, in a few requests.

    Public services have profiles, which say how they state things: what these declare is too much, and of no use.
    What is refused, or takes too long, is not asked for again.
    """
    if graph.profile.is_public:
        return GraphVocabulary()
    if (read := _READ.get(graph.origin)) is None:
        read = GraphVocabulary()
        try:
            read = GraphVocabulary(**_read_relations(graph.shared()))
            joined, silent, _ = joining_classes(graph.shared())
            read = replace(read, joined=joined, silent=silent)
            if not graph.sizes.are_large:  # all values are looked at
                amounts, valued = amounts_of(graph.shared())
                read = replace(read, amounts=amounts, valued=valued)
        except (EndpointAuthenticationError, EndpointReplyError, EndpointTimeoutError) as error:  # others: it is gone
            read = replace(read, unread=error.message)
        _READ[graph.origin] = read
    return read


def _held_of(graph: KnowledgeGraph, predicates: frozenset[IRI]) -> frozenset[IRI]:
    """Find which of some predicates are in a triple."""
    if not graph.is_remote or not predicates:
        return graph.held(predicates)
    x, y = variables("x y")
    asked = sorted(predicates, key=str)[:_MOST_DECLARED]
    found = set[IRI]()
    for some in in_parts(asked, MAX_ARMS):
        each = [g.Select((x,), (g.Fact(x, one, y),), limit=1) for one in some]
        found |= {some[at] for at, _ in select_each(graph, "held", each)}
    return frozenset(found)


def _has_only_classes(graph: KnowledgeGraph, narrower: Sequence[IRI]) -> bool:
    """Tell whether OWL has classes below others here, and nothing is of one."""
    x, own = variables("x own")
    of_schema = Apply("REGEX", (Apply("STR", (own,)), Literal(f"^({'|'.join(OF_ONTOLOGIES)})")))
    of_owl = (g.Fact(x, RDF_TYPE, own), g.Values(own, CLASS_KINDS[1:2]))
    of_others = (g.Fact(x, RDF_TYPE, own), g.Filter(Apply("!", (of_schema,))))
    has_classes, has_things = (
        bool(narrower) and bool(g.found(graph, "any_of", (own,), group, limit=1)) for group in (of_owl, of_others)
    )
    return has_classes and not has_things


def classes_below(kind: Variable, of: IRI, vocabulary: GraphVocabulary) -> g.OneOfPredicates:
    """Find the classes below a class, in a step or more: with none, too, Virtuoso finds only some of a class."""
    return g.OneOfPredicates(kind, vocabulary.narrower, of, then=vocabulary.narrower)


def _marks_of(graph: KnowledgeGraph) -> tuple[tuple[IRI, tuple[IRI | Literal, ...]], ...]:
    """List the predicates of a graph by which it retires things, each with the values that say so."""
    found = []
    for mark in sorted(patterns()["retired"]):
        by, *values = mark.split()
        true = (Literal(value=True), Literal("1", datatype=Literal(value=True).datatype), Literal("true"))
        if graph.held(frozenset((IRI(by),))):
            found.append((IRI(by), true if values == ["true"] else tuple(map(IRI, values))))
    return tuple(found)


@cache
def _pairs() -> tuple[tuple[IRI, IRI], ...]:
    """List the predicates that state the same from either end."""
    split = (pair.split() for pair in sorted(patterns()["inverse"]))
    return tuple((IRI(one), IRI(other)) for one, other in split)


def _read_relations(graph: KnowledgeGraph) -> dict[str, Any]:
    """Read by which other predicates what a predicate says is stated, those below and those that lead back."""
    x, by, y = variables("x by y")
    said = (g.Values(by, _DECLARING), g.Fact(x, by, y))
    kept = g.Select((x, by, y), said, limit=BOUND)
    typed = g.Select((x, by), (g.Values(by, (SYMMETRIC, TRANSITIVE)), g.Fact(x, RDF_TYPE, by)), limit=BOUND)
    ways: dict[IRI, set[Step]] = defaultdict(set)
    equal, transitive = set[tuple[Term, Term]](), set[Term]()
    for found in graph.select(Query.union([g.select_query("declared", kept), g.select_query("typed", typed)])):
        one, other, how = found["x"], found.get("y", found["x"]), found["by"]
        if how == TRANSITIVE:
            transitive.add(one)
        elif isinstance(one, IRI) and isinstance(other, IRI) and not other.value.startswith(OF_ONTOLOGIES):
            ways[other].add(Step(one, "inverse" if how in {INVERSE_OF, SYMMETRIC} else "forward"))
            if how in {INVERSE_OF, EQUIVALENT_PROPERTY}:
                equal |= {(one, other), (other, one)}
                ways[one].add(Step(other, "inverse" if how == INVERSE_OF else "forward"))
    for one, other in _pairs():
        if graph.held(frozenset((one, other))):
            ways[one].add(Step(other, "inverse"))
            ways[other].add(Step(one, "inverse"))
    held = _held_of(graph, frozenset(step.predicate for own in ways.values() for step in own))
    relations = {one: tuple(step for step in _all_ways(one, ways) if step.predicate in held) for one in ways}
    implied: dict[Step, list[Step]] = defaultdict(list)
    for one, steps in relations.items():
        for step in steps:
            implied[Step(step.predicate)].append(Step(one, step.direction))
            implied[Step(step.predicate, "inverse")].append(Step(one, step.direction).reversed)
    transitive |= {other for one, other in equal if one in transitive}  # from the other end, too
    stated = {one: steps for one, steps in relations.items() if steps}
    return {
        "transitive": frozenset(iris_in(transitive)),
        "relations": stated,
        "implied": {one: tuple(steps) for one, steps in implied.items()},
    }


def _all_ways(one: IRI, ways: Mapping[IRI, Iterable[Step]]) -> list[Step]:
    """List the steps that say what a predicate says, near ones first."""
    found = {Step(one): None}
    waiting = [Step(one)]
    for step in waiting:  # it grows
        near = (
            way if step.direction == "forward" else way.reversed
            for way in sorted(ways.get(step.predicate, ()), key=str)
        )
        new = [way for way in near if way not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return [step for step in found if step != Step(one)]


def _read_ontology(graph: KnowledgeGraph) -> GraphVocabulary:
    """Read what restrictions are on, and what things are; if these are of a class with restrictions, it is no ontology.

    What things are is asked first: these are few classes, and to look for things of every class takes an engine long.
    """
    x, own, kind, rule, by = variables("x own kind rule by")
    said = g.Select((own,), (g.Fact(x, RDF_TYPE, own),), distinct=True, limit=_MOST_READ)
    above = g.OneOfPredicates(own, (SUBCLASS_OF,), rule, then=(SUBCLASS_OF,))
    on, kinds_above = g.Fact(rule, ON_PROPERTY, by), g.Fact(kind, SUBCLASS_OF, rule)
    rules = g.found(graph, "restricted", (by,), (on, kinds_above), distinct=True, limit=_MOST_READ)
    if not rules or g.found(graph, "populated", (own,), (said, above, on), limit=1):
        return GraphVocabulary()
    each = (said, g.OneOfPredicates(own, (), kind, then=(SUBCLASS_OF,)))
    kinds = g.found(graph, "kinds", (own, kind), each, limit=BOUND)
    of_things = [one for one in kinds if not str(getattr(one["own"], "value", "")).startswith(OF_ONTOLOGIES)]
    restricted = frozenset(iris_in(one["by"] for one in rules))
    return GraphVocabulary(
        is_ontology=True,
        restricted=restricted,
        stated=frozenset(graph.held(restricted)),
        populated=frozenset(iris_in(one["kind"] for one in of_things)),
    )
