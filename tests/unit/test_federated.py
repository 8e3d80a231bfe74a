"""Several graphs in one: whatever their triples are divided into, the same is found as in one graph of them all."""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, Self

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from kgsparql import IRI, BlankNode, FederatedGraph, KnowledgeGraph, OxigraphGraph, Query, Solutions, Source, Usage
from kgsparql.errors import EndpointError, EndpointTimeoutError, InputError, QueryError
from kgsparql.exploration import (
    by_label,
    labels,
    neighbours,
    predicate_counts,
    predicates,
    shortest_paths,
    texts,
    types,
    walk_ends,
    walk_ways,
)
from kgsparql.exploration.neighbourhood import mediated_paths
from kgsparql.plans.algebra import Count, Ends, Has, Instances, Minus, Top, Value
from kgsparql.plans.running import run
from kgsparql.rdf.paths import Constraint, PropertyPath, Step, Walk
from kgsparql.rdf.vocabulary import UNWALKED, Naming
from tests.brute_force import predicate_paths
from tests.deep import examples
from tests.world import EX, ex, graph_of

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def graph(quads: Sequence[pyoxigraph.Quad], name: str) -> OxigraphGraph:
    store = pyoxigraph.Store()
    store.extend(quads)
    return OxigraphGraph(store, name=name, fingerprint=name)


def divided(quads: Sequence[pyoxigraph.Quad], parts: int, random: Random) -> FederatedGraph:
    """The quads in so many members, those of a blank node, and of those beside it, in the same one."""
    leader: dict[Any, Any] = {}

    def first(term: Any) -> Any:
        while leader.setdefault(term, term) != term:
            term = leader[term]
        return term

    for quad in quads:
        if isinstance(quad.subject, BlankNode) and isinstance(quad.object, BlankNode):
            leader[first(quad.subject)] = first(quad.object)
    place: dict[Any, int] = {}
    members: list[list[pyoxigraph.Quad]] = [[] for _ in range(parts)]
    for quad in quads:
        blank = next((term for term in (quad.subject, quad.object) if isinstance(term, BlankNode)), None)
        at = random.randrange(parts) if blank is None else place.setdefault(first(blank), random.randrange(parts))
        members[at].append(quad)
    # Blank nodes of different members have the same names, as those of different files and endpoints may have.
    return FederatedGraph([graph(_renamed(some), f"member {i}") for i, some in enumerate(members)])


def _renamed(quads: Sequence[pyoxigraph.Quad]) -> list[pyoxigraph.Quad]:
    names: dict[BlankNode, BlankNode] = {}

    def own(term: Any) -> Any:
        return names.setdefault(term, BlankNode(f"b{len(names)}")) if isinstance(term, BlankNode) else term

    return [pyoxigraph.Quad(own(q.subject), q.predicate, own(q.object)) for q in quads]


def shown(found: Any) -> list[str]:
    """Results as text, in one order; blank nodes have no name that two graphs share."""
    items = found.items() if isinstance(found, dict) else found
    return sorted(re.sub(r"value=m\d+\.\w+|(?<=BlankNode )value=\w+", "value=_", repr(item)) for item in items)


def around(graph: KnowledgeGraph, terms: Sequence[IRI], _: Sequence[PropertyPath]) -> dict[str, list[str]]:
    """What is found around each term."""
    found = {
        "neighbours": neighbours(graph, terms, limit=50, skip=()).items,
        "predicates": predicates(graph, terms, skip=()).items,
        "predicate_counts": list(predicate_counts(graph).items()), "labels": labels(graph, terms),
        "types": types(graph, terms), "texts": texts(graph, terms).items, "by_label": by_label(graph, "b"),
        "predicate_paths": predicate_paths(graph, terms[0], max_hops=3, skip=()).items,
    }  # fmt: skip
    return {name: shown(some) for name, some in found.items()}


def walked(graph: KnowledgeGraph, terms: Sequence[IRI], paths: Sequence[PropertyPath]) -> dict[str, list[str]]:
    """What walks and paths lead to."""
    found: dict[str, Any] = {}
    given = [Walk(term, path) for term in terms[:2] for path in paths]
    given += [
        Walk(walk.start, walk.path, (Constraint(len(walk.path.steps), Step(IRI(TYPE)), (ex("C"), ex("D"))),))
        for walk in given
    ]
    found["walk_ends"] = [ends.items for ends in walk_ends(graph, given)]
    found["walk_ways"] = [way for ways in walk_ways(graph, given, [None for _ in given]) for way in ways.items]
    for start in terms[:3]:
        for end in terms[:3]:
            found[f"shortest {start} {end}"] = shortest_paths(graph, start, end, max_hops=4, skip=(IRI(LABEL),)).items
    return {name: shown(some) for name, some in found.items()}


TERMS = [ex(name) for name in "abcde"]
NODES: list[Any] = [*TERMS, ex("C"), BlankNode("x"), BlankNode("y"), pyoxigraph.Literal("b"), pyoxigraph.Literal("1")]
QUADS = st.lists(
    st.builds(
        pyoxigraph.Quad, st.sampled_from([node for node in NODES if not isinstance(node, pyoxigraph.Literal)]),
        st.sampled_from([ex("p"), ex("p"), ex("q"), ex("q"), IRI(TYPE), IRI(LABEL)]), st.sampled_from(NODES),
    ), unique=True, max_size=25,
)  # fmt: skip
STEPS = st.lists(st.sampled_from([f"{EX}p", f"^{EX}p", f"{EX}q", f"^{EX}q", TYPE, f"^{TYPE}"]), min_size=1, max_size=4)


@given(QUADS, st.lists(STEPS, max_size=4), st.integers(2, 3), st.randoms(use_true_random=False))
@examples(25, short=5, suppress_health_check=[HealthCheck.too_slow])
def test_divided_graphs_say_what_one_graph_says(
    quads: list[pyoxigraph.Quad], steps: list[list[str]], parts: int, random: Random
) -> None:
    _same_as_one(quads, [PropertyPath.of(*some) for some in steps], parts, random)


@pytest.mark.parametrize("seed", range(12))
def test_dense_graphs_that_are_divided_say_what_one_graph_says(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the same graphs every time
    subjects = [node for node in NODES if not isinstance(node, pyoxigraph.Literal)]
    predicates = [ex("p"), ex("p"), ex("q"), ex("q"), IRI(TYPE), IRI(LABEL)]
    quads = [
        pyoxigraph.Quad(random.choice(subjects), random.choice(predicates), random.choice(NODES)) for _ in range(20)
    ]
    steps = [f"{EX}p", f"^{EX}p", f"{EX}q", f"^{EX}q", TYPE, f"^{TYPE}"]
    paths = [PropertyPath.of(*random.choices(steps, k=random.randrange(1, 5))) for _ in range(6)]
    _same_as_one(list(dict.fromkeys(quads)), paths, random.choice([2, 3]), random)


def _same_as_one(quads: list[pyoxigraph.Quad], paths: list[PropertyPath], parts: int, random: Random) -> None:
    """Compare what one graph says with what its members say, of walks without classes on the way.

    That a thing is a class, too, only the member knows that says so.
    """
    things = {quad.subject for quad in quads} | {quad.object for quad in quads if quad.predicate.value != TYPE}
    named = [quad for quad in quads if not any(isinstance(term, BlankNode) for term in (quad.subject, quad.object))]
    named = [quad for quad in named if quad.predicate.value != TYPE or quad.object not in things]
    for some, find in ((quads, around), (named, walked)):  # a walk leads through no blank node into another graph
        expected = find(graph(some, "whole"), TERMS, paths)
        found = find(divided(some, parts, random), TERMS, paths)
        for name, own in expected.items():
            assert found[name] == own, name


def test_what_is_computed_is_told_by_the_graph_that_alone_has_it_and_is_not_sure_where_two_have() -> None:
    """One that all others say nothing about is computed as alone; of what two graphs have, things are counted alone."""
    films = ":jaws a :Film ; :by :ann . :alien a :Film ; :by :bob . :ann :born 1950 . :bob :born 1940 ."
    sets: dict[str, Any] = {
        "count": Count(Instances(ex("Film"))), "path": Ends(Instances(ex("Film")), PropertyPath.of(f"{EX}by")),
        "best": Top(Ends(Instances(ex("Film")), PropertyPath.of(f"{EX}by")), Value(PropertyPath.of(f"{EX}born"))),
        "without": Minus(Instances(ex("Film")), Has(Instances(ex("Film")), PropertyPath.of(f"{EX}prize"))),
    }  # fmt: skip
    alone = {name: run(plan, graph_of(films, name="alone")).rows for name, plan in sets.items()}
    for name, plan in sets.items():
        found = run(plan, two(films, ":x a :Book ; :price 3 ."))
        assert (found.rows, found.is_cut, found.unread) == (alone[name], False, ""), name
    both = two(films, ":x a :Film ; :by :cid . :cid :born 1930 . :jaws a :Film .")
    assert [row[0] for row in run(sets["path"], both).rows] == [ex("ann"), ex("bob"), ex("cid")]
    count = run(sets["count"], both)
    assert (str(count.value), count.unread) == (str(pyoxigraph.Literal(3)), "")
    for name in ("best", "without"):
        with pytest.raises(QueryError, match="load them into one store"):
            run(sets[name], both)
    beyond = run(sets["path"], two(films, ":ann :died 1999 . :jaws :by :cid ."))
    assert ([row[0] for row in beyond.rows], beyond.is_cut) == ([ex("ann"), ex("bob")], True)
    assert "not joined" in beyond.unread
    assert (nothing := run(Count(Instances(ex("Book"))), two(films, ":ann :died 1999 ."))).unread == ""
    assert str(nothing.value) == str(pyoxigraph.Literal(0))


def two(one: str, other: str) -> FederatedGraph:
    return FederatedGraph([graph_of(one, name="one"), graph_of(other, name="other")])


class Broken(OxigraphGraph):
    """A member that fails."""

    is_remote = True

    def __init__(self, error: Exception, *, times: int = 1000) -> None:
        super().__init__(pyoxigraph.Store(), name="broken", fingerprint="0")
        self.error, self.times, self.asked = error, times, 0

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        return self  # a copy would count its own queries

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        self.asked += 1
        if self.asked > self.times:
            return super().select(query)
        raise self.error


def test_what_two_members_hold_is_found_once_in_the_order_of_the_members() -> None:
    both = two(":a :p :z , :b .", ":a :p :b , :c .")
    found = both.select(Query.load("neighbours_forward").bind(entity=[ex("a")]))
    assert [solution["object"] for solution in found][-1] == ex("c")
    assert sorted(str(solution["object"]) for solution in found) == [str(ex(name)) for name in "bcz"]
    assert found.complete


def test_counts_are_added_and_a_union_of_counts_too() -> None:
    both = two(":a :p :x , :y . :x :q :a .", ":a :p :z . :y :q :a .")
    found = {str(count.step): count.count for count in predicates(both, [ex("a")], skip=()).items}
    assert found == {f"<{EX}p>": 3, f"^<{EX}q>": 2}
    (counted,) = both.select(Query.load("info_triples"))
    assert counted["count"] == pyoxigraph.Literal(5)


def test_blank_nodes_of_different_members_stay_apart() -> None:
    both = two(":a :p _:x . _:x :q :one .", ":a :p _:x . _:x :q :other .")
    found = neighbours(both, [ex("a")]).items
    assert len(found[0].neighbours) == 2
    assert sorted(str(path.end) for path in found[0].mediated) == [str(ex("one")), str(ex("other"))]
    for path in found[0].mediated:
        (source,) = both.sources_of(path.triples[1]) or ()
        assert source == Source(str(path.end)[len(EX) + 1 : -1])


def test_E22_a_member_that_fails_does_not_take_the_others_with_it() -> None:
    broken = Broken(EndpointError("no route to it"))
    both = FederatedGraph([graph_of(":a :p :b , :c .", name="one"), broken])
    found = both.select(Query.load("neighbours_forward").bind(entity=[ex("a")]))
    assert (len(found), found.complete, found.failed) == (2, False, ("broken",))
    assert [str(note) for note in both.failures] == ["broken: no route to it; what it holds may be missing"]
    # What is not there is asked once, and never in smaller and smaller parts.
    assert len(neighbours(both, [ex("a")]).items[0].neighbours) == 2
    assert broken.asked == 1
    assert both.refreshed().failures == ()
    assert both.within(Usage()).failures == both.failures


def test_E02_a_query_that_is_too_much_for_a_member_is_not_its_last() -> None:
    broken = Broken(EndpointTimeoutError("30 s are over"), times=1)
    both = FederatedGraph([graph_of(":a :p :b .", name="one"), broken])
    query = Query.load("neighbours_forward").bind(entity=[ex("a")])
    assert not both.select(query).complete
    both.select(query)
    assert broken.asked == 2
    broken.times = 1000
    for _ in range(5):
        both.select(query)
    assert broken.asked == 4


def test_there_are_several_members_and_the_error_is_raised_if_every_one_fails() -> None:
    with pytest.raises(InputError):
        FederatedGraph([graph([], "alone")])
    both = FederatedGraph([Broken(EndpointError("first")), Broken(EndpointError("second"))])
    with pytest.raises(EndpointError, match="first"):
        both.select(Query.load("any"))


class Cut(OxigraphGraph):
    """A member that gives some solutions and no more."""

    def __init__(self, turtle: str, name: str, most: int) -> None:
        super().__init__(graph_of(turtle).store, name=name, fingerprint=name)
        self.most, self.asked = most, 0

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        self.asked += 1
        found = super().select(query)
        cut = f"no more than {self.most}" if len(found) > self.most else ""
        return replace(found, solutions=found.solutions[: self.most], cut=cut)


def test_E09_a_member_that_fails_does_not_hide_that_another_cuts() -> None:
    entities = [ex(f"e{i}") for i in range(30)]
    turtle = "\n".join(f":e{i} :p :n{i}, :m{i} ." for i in range(30))
    cut = Cut(turtle, "cut", 20)
    both = FederatedGraph([cut, Broken(EndpointError("no route to it"))])
    query = Query.load("neighbours_forward").bind(entity=entities)
    found = both.select(query)
    assert (found.complete, found.cut, found.failed) == (False, "cut: no more than 20", ("broken",))
    assert neighbours(both, entities, direction="forward").items == (
        neighbours(graph_of(turtle, name="whole"), entities, direction="forward").items
    )


def test_a_member_that_cuts_whatever_it_is_asked_is_not_asked_for_single_terms() -> None:
    middles = "\n".join(f":a :p :m{i} . :m{i} :r :z ." for i in range(150))
    cut = Cut("\n".join(f":m{i} :q :y{i} ." for i in range(150)), "cut", 0)
    both = FederatedGraph([graph_of(middles, name="one"), cut])
    (found,) = walk_ends(both, [Walk(ex("a"), PropertyPath.of(f"{EX}p", f"{EX}q"))])
    assert (found.items, len(found.cuts)) == ((), 1)
    assert cut.asked < 30


def test_a_hub_between_two_graphs_is_not_read_whole() -> None:
    many = " , ".join(f":x{i}" for i in range(10_500))
    both = two(f":hub :p {many} . :a :q :x77 .", ":b :q :x77 .")
    (found,) = shortest_paths(both, ex("b"), ex("hub")).items
    assert [str(term) for term in found.terms] == [str(ex(name)) for name in ("b", "x77", "hub")]
    (there,) = walk_ends(both, [Walk(ex("b"), PropertyPath.of(f"{EX}q", f"^{EX}q"))])
    assert there.items == (ex("a"),)


def test_members_of_one_name_are_numbered_and_cite_themselves_so() -> None:
    given = [graph_of(f":a :p :b{i} .", name=name) for i, name in enumerate(("x", "x", "x (2)", "y", "x"))]
    both = FederatedGraph(given)
    assert [member.name for member in both.members] == ["x", "x (2)", "x (2) (2)", "y", "x (3)"]
    assert both.members[1].source(None) == Source("x (2)")


class Named(OxigraphGraph):
    """A graph whose profile says by which predicates it names things."""

    @property
    def naming(self) -> Naming:
        return Naming(labels=(ex("called"),))


def test_the_label_predicates_of_a_member_are_not_walked() -> None:
    """As the known ones are not, in whatever way a graph is walked."""
    plain = graph_of(
        ":a :called :n ; :knows :b . :b :called 'B' ; :knows [ :called 'it' ; :knows :c ] . :c :called :n ."
    )
    named = Named(plain.store, name="named", fingerprint="named")
    other = graph_of(":c :title 'Dr' ; rdfs:label 'C' .", name="other")
    for asked in (named, FederatedGraph([named, other])):
        steps = [count.step for count in predicates(asked, [ex("a"), ex("b")]).items]
        groups = neighbours(asked, [ex("a"), ex("b")]).items
        walked = [path.property_path for group in groups for path in group.mediated]
        paths = predicate_paths(asked, ex("a"), max_hops=3).items
        through, _ = mediated_paths(asked, [(ex("b"), Step(ex("knows")))], direction="both", skip=UNWALKED)
        walked += [path.property_path for some in through.values() for path in some]
        steps += [group.step for group in groups]
        met = {step.predicate for step in (*steps, *(s for path in walked for s in path.steps))}
        assert met | {step.predicate for path in paths for step in path.path.steps} <= {ex("knows"), ex("title")}
        assert walked, "what is behind the blank node is found"
        (shortest,) = shortest_paths(asked, ex("a"), ex("c")).items
        assert {step.predicate for step in shortest.property_path.steps} == {ex("knows")}, "not by the name of both"
        by_name = predicates(asked, [ex("a")], skip=()).items
        assert ex("called") in {count.step.predicate for count in by_name}, "unless everything is asked for"
    assert ex("called") in {count.step.predicate for count in predicates(plain, [ex("a")]).items}
