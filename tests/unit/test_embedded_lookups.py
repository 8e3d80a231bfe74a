"""What exploration does differently with a graph in this process: fewer and shorter queries, the same results."""

from collections.abc import Callable, Iterable

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import IRI, KnowledgeGraph, Literal, OxigraphGraph, Query, Term, Usage
from kgsparql.events import Event
from kgsparql.exploration import descriptions, labels, neighbours, predicates, shortest_paths, texts
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.rdf.vocabulary import DESCRIPTIONS, LABELS, PREDICATE_LABEL_LINKS, UNWALKED, Naming, may_be_name
from tests.deep import examples
from tests.engines import CountingGraph
from tests.world import EX, ex

LABEL = LABELS[0]
NAMES = [IRI(EX + name) for name in ("name", "x#Title", "prefLabel", "fullName", "title/of", "p", "q")]


def graph_of(quads: Iterable[ox.Quad], *, as_loaded: bool = True) -> OxigraphGraph:
    store = ox.Store()
    store.extend(quads)
    return OxigraphGraph(store, name="made", fingerprint="0" if as_loaded else lambda: "0")


def metered(graph: KnowledgeGraph, events: list[Event] | None = None) -> MeteredGraph:
    return MeteredGraph(graph, Usage(), lambda event: None if events is None else events.append(event))


ENTITIES = [ex(name) for name in "abcde"]
LITERALS = st.builds(
    lambda text, tag: Literal(text, language=tag) if tag else Literal(text),
    st.sampled_from(["one", "two", " ", "Ö"]),
    st.sampled_from(["", "en", "en-GB", "de", "mul", "fr"]),
) | st.sampled_from([Literal(7), Literal("1999", datatype=IRI("http://www.w3.org/2001/XMLSchema#gYear"))])
PREDICATES = [
    *LABELS[:3], *LABELS[-1:], *DESCRIPTIONS[:2], *NAMES, PREDICATE_LABEL_LINKS[0], *sorted(UNWALKED, key=str)[:4],
]  # fmt: skip
QUADS = st.lists(
    st.builds(
        ox.Quad, st.sampled_from([*ENTITIES, *NAMES]), st.sampled_from(PREDICATES),
        st.sampled_from([*ENTITIES, *NAMES[:2]]) | LITERALS, st.sampled_from([ox.DefaultGraph(), ex("graph")]),
    ), max_size=30,
)  # fmt: skip


class Measured(CountingGraph):
    """A graph of which nothing is known but what is measured, and no query asks."""

    @property
    def naming(self) -> Naming:
        return self.graph.naming

    def is_page(self, term: IRI) -> bool:
        return self.graph.is_page(term)


@examples(300)
@given(QUADS, st.sampled_from([("en",), ("de", "fr"), ()]))
def test_results_are_those_of_the_portable_queries(quads: list[ox.Quad], languages: tuple[str, ...]) -> None:
    """Behind a graph that is not known to be in this process, every query is the one that an endpoint is sent."""
    graph = graph_of(quads)
    elsewhere = Measured(graph)
    assert not elsewhere.is_embedded
    looks: list[Callable[[KnowledgeGraph], object]] = [
        lambda g: neighbours(g, ENTITIES), lambda g: neighbours(g, ENTITIES[:1], direction="inverse", limit=1),
        lambda g: labels(g, [*ENTITIES, *PREDICATES], languages=languages), lambda g: predicates(g, ENTITIES),
        lambda g: descriptions(g, ENTITIES, languages=languages), lambda g: texts(g, ENTITIES, languages=languages),
        lambda g: shortest_paths(g, ENTITIES[0], ENTITIES[1]),
    ]  # fmt: skip
    for look in looks:
        portable = look(elsewhere)
        assert look(graph) == portable
        assert look(metered(graph)) == portable
        assert look(graph_of(quads, as_loaded=False)) == portable


def test_two_queries_for_an_entity_with_its_labels_however_often() -> None:
    """Predicates without a name cost no third; what is named in another language, or by another predicate, does."""
    graph = graph_of(
        ox.Quad(s, p, o)
        for s, p, o in [
            (ex("a"), ex("p"), ex("b")), (ex("a"), LABEL, Literal("A")), (ex("b"), LABEL, Literal("B", language="en")),
            (ex("c"), ex("p"), ex("d")), (ex("d"), LABEL, Literal("Dé", language="fr")),
            (ex("p"), ex("q"), Literal("r")), (ex("e"), ex("p"), ex("f")), (ex("f"), ex("name"), Literal("Eff")),
        ]
    )  # fmt: skip
    for _ in range(2):
        for start, queries, label in (("a", 2, "B"), ("c", 3, "Dé"), ("e", 3, "Eff")):
            some = metered(graph)
            (group,) = neighbours(some, [ex(start)]).items
            found = labels(some, [ex(start), group.step.predicate, *group.neighbours])
            assert found[group.neighbours[0]].text == label
            assert some.usage.queries == queries


def test_a_query_names_only_the_predicates_that_the_graph_has() -> None:
    graph = graph_of([ox.Quad(ex("a"), ex("p"), ex("b")), ox.Quad(ex("a"), LABEL, Literal("A"))])
    events: list[Event] = []
    some = metered(graph, events)
    neighbours(some, [ex("a")])
    labels(some, [ex("a")])
    for event in events:
        assert LABEL.value in event.text  # type: ignore[attr-defined]
        assert not any(p.value in event.text for p in UNWALKED - {LABEL})  # type: ignore[attr-defined]
    assert CountingGraph(graph).held(UNWALKED) == UNWALKED


def test_a_store_that_its_owner_fills_is_looked_at_anew() -> None:
    graph = graph_of([ox.Quad(ex("a"), ex("p"), ex("b"))], as_loaded=False)
    assert labels(graph, [ex("a")])[ex("a")].derived
    assert [str(group.step) for group in neighbours(graph, [ex("a")]).items] == [f"<{EX}p>"]
    graph.store.add(ox.Quad(ex("a"), ex("name"), Literal("by its own name")))
    assert labels(graph, [ex("a")])[ex("a")].text == "by its own name"
    graph.store.add(ox.Quad(ex("a"), LABEL, Literal("A")))
    assert labels(graph, [ex("a")])[ex("a")].text == "A"
    assert [str(group.step) for group in neighbours(graph, [ex("a")]).items] == [f"<{EX}name>", f"<{EX}p>"]
    for name in ("g", "h"):  # a triple of two graphs is one
        graph.store.add(ox.Quad(ex("a"), ex("q"), ex("c"), ex(name)))
    assert [group.count for group in neighbours(graph, [ex("a")]).items] == [1, 1, 1]


def test_a_name_among_many_triples_is_asked_for() -> None:
    hub = [ox.Quad(ex("hub"), ex("p"), ex(f"n{i}")) for i in range(1500)]
    graph = graph_of([*hub, ox.Quad(ex("hub"), ex("x#Title"), Literal("the hub"))])
    assert graph.may_have_name(ex("hub"))
    assert labels(graph, [ex("hub")])[ex("hub")].text == "the hub"


def test_a_predicate_is_called_like_a_name_where_the_query_says_so() -> None:
    for predicate in (*LABELS, *NAMES, IRI("urn:x:NAME"), IRI(EX + "name/"), IRI(EX + "surname")):
        graph = graph_of([ox.Quad(ex("a"), predicate, Literal("x"))])
        found = graph.select(Query.load("labels_by_name").bind(entity=[ex("a")]))
        assert may_be_name(predicate) == (len(found) == 1 or predicate in LABELS), predicate


TERMS = st.lists(st.sampled_from([*ENTITIES, Literal("VALUES ?entity { UNDEF }"), Literal('NOT IN ("")')]), max_size=4)


@examples(300)
@given(TERMS, TERMS)
def test_a_union_may_be_bound_before_or_after_it_is_made(entities: list[Term], skipped: list[Term]) -> None:
    arms = [Query.load("neighbours_forward"), Query.load("neighbours_inverse")]
    before = Query.union([arm.bind(predicate=skipped).bind(entity=entities).limit(7) for arm in arms])
    after = Query.union([arm.limit(7) for arm in arms]).bind(predicate=skipped, entity=entities)
    assert after.empty == before.empty
    if not after.empty:
        assert (after.text, after.name) == (before.text, before.name)
        assert [arm.text for arm in after.arms] == [arm.text for arm in before.arms]
