"""Neighbours, predicates, labels, types and texts of a few entities."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from kgsparql import IRI, BlankNode, Literal, OxigraphGraph, Term, open_graph
from kgsparql.errors import InputError
from kgsparql.exploration import Label, by_label, labels, neighbours, predicate_counts, predicates, texts, types
from kgsparql.rdf.paths import Step
from tests.engines import CountingGraph, engine_from_quads
from tests.world import LABEL, ex, graph_of

SKIPPING = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix schema: <http://schema.org/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
"""


def steps(found: Any) -> list[tuple[str, str]]:
    return [(item.entity.value.rsplit("/", 1)[1], str(item.step).replace("http://example.org/", "")) for item in found]


def shown(group: Any) -> list[str]:
    return [term.value.rsplit("/", 1)[-1] for term in group.neighbours if not isinstance(term, BlankNode)]


def test_neighbours_in_both_directions_in_groups() -> None:
    graph = graph_of(":a a :C ; rdfs:label 'A' ; :p :b , :c , 'text' ; :q :b . :d :p :a . :a :p :a .")
    found = neighbours(graph, [ex("d"), ex("a")])
    assert steps(found.items) == [("d", "<p>"), ("a", "<p>"), ("a", "^<p>"), ("a", "<q>")]
    assert [shown(group) for group in found.items] == [["a"], ["a", "b", "c", "text"], ["a", "d"], ["b"]]
    assert found.cuts == ()
    only = neighbours(graph, [ex("a")], direction="inverse")
    assert steps(only.items) == [("a", "^<p>")]
    everything = neighbours(graph, [ex("a")], direction="forward", skip=())
    assert len(everything.items) == 4


def test_a_limit_per_group_is_a_cut_with_the_number_known() -> None:
    graph = graph_of(":a :p " + " , ".join(f":b{i}" for i in range(30)) + " ; :q :b1 .")
    found = neighbours(graph, [ex("a")], limit=3)
    assert [shown(group) for group in found.items] == [["b0", "b1", "b10"], ["b1"]]
    assert [(group.count, group.exact) for group in found.items] == [(30, True), (1, True)]
    assert [(cut.what, cut.limit, cut.known, cut.where) for cut in found.cuts] == [
        ("neighbours", 3, 30, "<http://example.org/a> <http://example.org/p>")
    ]


def test_steps_for_all_and_for_each() -> None:
    graph = graph_of(":a :p :b ; :q :c . :d :p :a ; :q :a . :a rdfs:label 'A' .")
    forward, inverse = Step(ex("p")), Step(ex("q"), "inverse")
    same = neighbours(graph, [ex("a"), ex("d")], steps=[forward, inverse])
    assert steps(same.items) == [("a", "<p>"), ("a", "^<q>"), ("d", "<p>")]
    own = neighbours(graph, [ex("a"), ex("d")], steps={ex("a"): [inverse], ex("d"): [Step(ex("q"))]})
    assert steps(own.items) == [("a", "^<q>"), ("d", "<q>")]
    assert neighbours(graph, [ex("a")], steps=[]).items == ()
    label = Step(IRI("http://www.w3.org/2000/01/rdf-schema#label"))
    assert [shown(group) for group in neighbours(graph, [ex("a")], steps=[label]).items] == [["A"]]


def test_a_blank_node_comes_with_what_lies_behind_it() -> None:
    graph = graph_of(
        """:alice :employment [ :organisation :acme ; :start 1999 ] .
           :ann :address _:house . :ben :address _:house . _:house :town :springfield ."""
    )
    found = {steps([group])[0]: group for group in neighbours(graph, [ex("alice"), ex("ann"), ex("acme")]).items}
    behind = [
        (str(path.property_path).replace("http://example.org/", ""), path.end)
        for path in found["alice", "<employment>"].mediated
    ]
    assert behind == [("<employment>/<organisation>", ex("acme")), ("<employment>/<start>", Literal(1999))]
    assert [path.end for path in found["ann", "<address>"].mediated] == [ex("ben"), ex("springfield")]
    assert [path.end for path in found["acme", "^<organisation>"].mediated] == [ex("alice"), Literal(1999)]
    forward = neighbours(graph, [ex("ann")], direction="forward").items[0]
    assert [path.end for path in forward.mediated] == [ex("springfield")]


def test_blank_nodes_are_listed_by_what_lies_behind_them_and_one_behind_another_is_a_cut() -> None:
    """Their names change with every load, so the first two of six must not depend on them."""
    turtle = ":a :p " + " , ".join(f"[ :q :b{i} ]" for i in (4, 1, 5, 0, 3, 2)) + " ."
    for _ in range(5):
        (group,) = neighbours(graph_of(turtle), [ex("a")], limit=2).items
        assert ([path.end for path in group.mediated], group.count) == ([ex("b0"), ex("b1")], 6)
    found = neighbours(graph_of(":a :p [ :q [ :r :b ] ; :s :c ] ."), [ex("a")])
    assert {path.end for path in found.items[0].mediated if isinstance(path.end, IRI)} == {ex("c")}
    assert [cut.what for cut in found.cuts] == ["hops through nested blank nodes"]


def test_L32_one_triple_in_three_graphs_is_one_neighbour() -> None:
    graphs = (pyoxigraph.DefaultGraph(), ex("g1"), ex("g2"))
    quads = [pyoxigraph.Quad(ex("a"), ex("p"), ex("b"), name) for name in graphs]
    graph = engine_from_quads("oxigraph", quads)
    assert [group.count for group in neighbours(graph, [ex("a")]).items] == [1]
    assert [count.count for count in predicates(graph, [ex("a")]).items] == [1]


def test_predicates_with_counts() -> None:
    graph = graph_of(":a a :C ; :p :b , :c , 1 ; :q :b . :d :p :a . :b :q :d .")
    found = predicates(graph, [ex("b"), ex("a")])
    assert [(*steps([item])[0], item.count, item.exact) for item in found.items] == [
        ("b", "^<p>", 1, True), ("b", "<q>", 1, True), ("b", "^<q>", 1, True),
        ("a", "<p>", 3, True), ("a", "^<p>", 1, True), ("a", "<q>", 1, True),
    ]  # fmt: skip
    assert len(predicates(graph, [ex("a")], skip=()).items) == 4
    assert steps(predicates(graph, [ex("d")], direction="forward").items) == [("d", "<p>")]


def test_Q19_Q20_a_blank_node_is_no_start_and_an_entity_that_is_absent_has_nothing() -> None:
    counting = CountingGraph(graph_of(":a :p [ :q :b ] ."))
    looks: tuple[Callable[..., Any], ...] = (neighbours, predicates, types, texts)
    for look in looks:
        with pytest.raises(InputError, match="blank node"):
            look(counting, [BlankNode("b0")])
        with pytest.raises(InputError, match="not an IRI"):
            look(counting, [Literal("a")])
    for look in (neighbours, predicates, labels):
        look(counting, [])
    assert counting.queries == []
    for look in (neighbours, predicates, texts):
        found = look(counting, [ex("absent")])
        assert (found.items, found.cuts) == ((), ())
    assert types(counting, [ex("absent")]) == {ex("absent"): ()}
    assert labels(counting, [ex("absent")]) == {ex("absent"): Label("absent", derived=True)}


def test_labels_by_language_then_predicate() -> None:
    graph = graph_of(
        """:a skos:prefLabel 'a pref'@en ; rdfs:label 'a rdfs'@en , 'a de'@de .
           :b rdfs:label 'b de'@de ; skos:prefLabel 'b US'@en-US .
           :c rdfs:label 'c none' , 'c de'@de . :d rdfs:label 'd fr'@fr , 'd de'@de , 'd mul'@mul .
           :e rdfs:label 'e zh'@zh , 'e de'@de . :f rdfs:label '' , '   ' . :g rdfs:label ' g ' , 'h' .
           :h rdfs:label :a ; skos:altLabel 'never'@en ."""
    )
    found = labels(graph, [ex(name) for name in "abcdefgh"])
    assert {term.value[-1]: (label.text, label.language, label.derived) for term, label in found.items()} == {
        "a": ("a rdfs", "en", False), "b": ("b US", "en-us", False), "c": ("c none", None, False),
        "d": ("d mul", "mul", False), "e": ("e de", "de", False), "f": ("f", None, True), "g": ("g", None, False),
        "h": ("h", None, True),
    }  # fmt: skip


def test_L38_L40_L42_asked_language_then_english_then_any_then_the_iri() -> None:
    graph = graph_of(
        """:a rdfs:label 'it'@it , 'en'@en-GB , 'de'@de , 'fr'@FR . :b rdfs:label 'it'@it , 'en'@en .
           :c :birthPlace :New_York ; rdfs:label '' , '  ' ; skos:prefLabel '\\t'@en ; rdfs:label 'name'@zh ."""
    )
    for name, languages, text in (("a", ["Fr"], "fr"), ("a", ["pt", "de"], "de"), ("b", ["fr"], "en"), ("a", [], "en")):
        assert labels(graph, [ex(name)], languages=languages)[ex(name)].text == text
    found = labels(graph, [ex("New_York"), ex("birthPlace"), ex("c")])
    unnamed = [Label(text, derived=True) for text in ("New York", "birth place")]
    assert list(found.values()) == [*unnamed, Label("name", "zh")]


def test_every_term_gets_a_label_also_one_on_another_node() -> None:
    terms: list[Term] = [Literal("text", language="de"), Literal(3), BlankNode("b"), ex("a"), ex("a")]
    counting = CountingGraph(graph_of(":a rdfs:label 'A' ."))
    assert labels(counting, terms) == {
        Literal("text", language="de"): Label("text", "de"), Literal(3): Label("3"),
        BlankNode("b"): Label("[]", derived=True), ex("a"): Label("A"),
    }  # fmt: skip
    assert len(counting.queries) == 1
    graph = graph_of(
        SKIPPING
        + """:P1 wikibase:directClaim :field , :spouse ; wikibase:qualifier :year ; rdfs:label 'field of work'@en .
             :spouse rdfs:label 'married'@en . :x schema:about :nothing ."""
    )
    found = labels(graph, [ex("field"), ex("spouse"), ex("year"), ex("P1")])
    assert [label.text for label in found.values()] == ["field of work", "married", "field of work", "field of work"]


def test_by_label_is_exact() -> None:
    graph = graph_of(
        """:b rdfs:label 'Springfield'@en . :a rdfs:label 'Springfield' . :c skos:altLabel 'Springfield'@fr .
           :d rdfs:label 'springfield' . [] rdfs:label 'Springfield' . :e :p 'Springfield' ."""
    )
    assert by_label(graph, "Springfield") == (ex("a"), ex("b"))
    assert by_label(graph, "Springfield", languages=["FR"]) == (ex("a"), ex("b"), ex("c"))
    assert by_label(graph, "Shelbyville") == by_label(graph, "Springfiel") == ()
    with pytest.raises(InputError, match="not a language tag"):
        by_label(graph, "Springfield", languages=["en } DROP ALL"])


def test_L40_a_label_is_found_whatever_its_language() -> None:
    """Other queries, and only where the first found nothing."""
    graph = CountingGraph(
        graph_of(
            """:wall rdfs:label 'Great Wall'@en , '长城'@zh-Hans . :car rdfs:label '长城'^^xsd:normalizedString .
               :moth rdfs:label 'Schmetterling'@de . :dive skos:altLabel 'Schmetterling'@de-AT ; :p 'Schmetterling' .
               [] rdfs:label 'Schmetterling' . :b rdfs:comment 'Schmetterling'@fr ."""
        )
    )
    assert by_label(graph, "长城") == (ex("car"), ex("wall"))
    assert by_label(graph, "Schmetterling") == (ex("dive"), ex("moth"))
    assert [query.name for query in graph.queries] == ["by_label", "by_name", "by_text"] * 2
    assert by_label(graph, "Schmetterling", languages=["de"]) == (ex("moth"),)
    assert by_label(graph, "Great Wall") == (ex("wall"),)
    assert [query.name for query in graph.queries[6:]] == ["by_label"] * 2


def test_L41_more_namesakes_than_are_fetched_are_told_by_their_number() -> None:
    for tag, number in (("", 10_100), ("@en", 1_000), ("@de", 10_100)):
        graph = graph_of(" ".join(f":s{i} rdfs:label 'Springfield'{tag} ." for i in range(number)))
        assert len(by_label(graph, "Springfield")) == min(number, 10_001)


def test_types_are_all_and_in_order() -> None:
    graph = graph_of(":a a :C , :B . :b :p :a . :c a [] .")
    assert types(graph, [ex("b"), ex("a"), ex("c")]) == {ex("b"): (), ex("a"): (ex("B"), ex("C")), ex("c"): ()}


def test_texts_in_the_best_language_of_each_predicate() -> None:
    graph = graph_of(
        ":a rdfs:comment 'eins'@de , 'one'@en , 'one more'@en ; skos:definition 'zwei'@de , ' ' . :b rdfs:comment :a ."
    )
    found = texts(graph, [ex("a"), ex("b")])
    assert [text.object.value for text in found.items] == ["one", "one more"], "German is not needed"
    german = texts(graph, [ex("a")], languages=["de"])
    assert [text.object.value for text in german.items] == ["zwei", "eins"]
    only_german = graph_of(":a rdfs:comment 'eins'@de ; skos:definition 'zwei'@de , 'deux'@fr .")
    assert [text.object.value for text in texts(only_german, [ex("a")]).items] == ["deux", "zwei", "eins"]


def test_predicates_of_a_graph_the_commonest_first_and_distinct_only_where_they_may_repeat(tmp_path: Path) -> None:
    (tmp_path / "two.trig").write_text(
        "@prefix : <http://example.org/> . :one { :a :p :b , :c . :a :s :b } "
        ":two { :a :p :b , :c . :a :q :b , :c , :d . :a :r :b }",
        encoding="utf-8",
    )
    graph = open_graph(tmp_path / "two.trig")
    assert list(predicate_counts(graph).items()) == [(ex("q"), 3), (ex("p"), 2), (ex("r"), 1), (ex("s"), 1)]
    assert predicate_counts(CountingGraph(graph)) == predicate_counts(graph)

    class Telling(CountingGraph):
        may_repeat_triples = False

    for made, sent in ((CountingGraph, "index_predicates_distinct"), (Telling, "index_predicates")):
        asked = made(graph_of(":a :p :b ."))
        assert predicate_counts(asked) == {ex("p"): 1}
        assert [query.name for query in asked.queries] == [sent]


def test_a_graph_with_label_predicates_of_its_own() -> None:
    graph = graph_of(':a :name "Ann" ; :title "Dr" . :b :title "The Book" . :c :nickname "Cas" .')
    a, b, c = (IRI(f"http://example.org/{name}") for name in "abc")
    assert {term: label.text for term, label in labels(graph, [a, b, c]).items()} == {a: "Ann", b: "The Book", c: "c"}
    assert by_label(graph, "Ann") == (a,)
    assert by_label(graph, "Cas") == ()


EDGES = 130_000
PREDICATES = 40


@cache
def store_with_hub() -> pyoxigraph.Store:
    """A hub with 130,000 triples into it by 40 predicates and 500 out of it, one by a rare predicate; 2,000 others."""
    store = pyoxigraph.Store()
    kinds = [ex(f"p{i:02}") for i in range(PREDICATES)]
    hub = ex("hub")
    store.bulk_extend(pyoxigraph.Quad(ex(f"n{i}"), kinds[i % PREDICATES], hub) for i in range(EDGES))
    store.bulk_extend(pyoxigraph.Quad(hub, ex("out"), ex(f"n{i}")) for i in range(500))
    store.add(pyoxigraph.Quad(ex("only"), ex("rare"), hub))
    chosen = random.Random(1)  # noqa: S311
    for i in range(2_000):
        store.add(pyoxigraph.Quad(ex(f"e{i}"), LABEL, Literal(f"entity {i}", language="en")))
        for _ in range(4):
            store.add(pyoxigraph.Quad(ex(f"e{i}"), chosen.choice(kinds), ex(f"e{chosen.randrange(2_000)}")))
    return store


@pytest.fixture
def graph() -> CountingGraph:
    return CountingGraph(OxigraphGraph(store_with_hub(), name="hub", fingerprint="0"))


def test_entities_together_equal_entities_alone(graph: CountingGraph) -> None:
    """Also when one of them is a hub, and when chunks are small."""
    entities = [ex(f"e{i}") for i in range(40)] + [ex("hub")] + [ex(f"n{i}") for i in range(40)]
    together = neighbours(graph, entities, limit=5)
    queries = len(graph.queries)
    alone = [neighbours(graph, [entity], limit=5) for entity in entities]
    in_chunks = neighbours(CountingGraph(graph.graph, chunk_size=7), entities, limit=5)
    assert together.items == tuple(group for found in alone for group in found.items)
    assert together.items == in_chunks.items
    assert set(together.cuts) == {cut for found in alone for cut in found.cuts} == set(in_chunks.cuts)
    assert queries <= 6


def test_Q16_neighbours_of_a_hub_and_their_number(graph: CountingGraph) -> None:
    found = neighbours(graph, [ex("hub")])
    assert len(graph.queries) <= 3
    by_step = {str(group.step).replace("http://example.org/", ""): group for group in found.items}
    assert len(by_step) == PREDICATES + 2
    assert (by_step["^<rare>"].neighbours, by_step["^<rare>"].count) == ((ex("only"),), 1)
    assert (by_step["^<p07>"].count, by_step["^<p07>"].exact) == (EDGES // PREDICATES, True)
    assert all(len(group.neighbours) == min(10, group.count) for group in found.items)
    assert by_step["<out>"].neighbours == tuple(
        sorted((ex(f"n{i}") for i in range(500)), key=lambda term: term.value)[:10]
    )
    assert sum(group.count for group in found.items) == EDGES + 501
    cuts = [cut for cut in found.cuts if cut.where == f"{ex('hub')} ^{ex('p07')}"]
    assert [(cut.what, cut.limit, cut.known) for cut in cuts] == [("neighbours", 10, EDGES // PREDICATES)]
    assert len(found.cuts) == PREDICATES + 1
    before, counted = len(graph.queries), predicates(graph, [ex("e1"), ex("hub")])
    assert len(graph.queries) == before + 1
    assert sum(count.count for count in counted.items if count.entity == ex("hub")) == EDGES + 501
    assert all(count.exact for count in counted.items)


def test_Q16_more_than_can_be_counted_is_a_lower_bound() -> None:
    store = pyoxigraph.Store()
    store.bulk_extend(pyoxigraph.Quad(ex(f"n{i}"), ex("p"), ex("hub")) for i in range(200_100))
    graph = OxigraphGraph(store, name="hub", fingerprint="0")
    found = predicates(graph, [ex("hub")])
    assert [(count.count >= 200_000, count.exact) for count in found.items] == [(True, False)]
    assert [(cut.what, cut.known, cut.where) for cut in found.cuts] == [("predicates", None, str(ex("hub")))]
    near = neighbours(graph, [ex("hub")])
    assert (len(near.items[0].neighbours), near.items[0].exact) == (10, False)
    assert {(cut.what, cut.known) for cut in near.cuts} == {("predicates", None), ("neighbours", None)}


def test_Q17_twenty_thousand_terms_are_asked_in_chunks(graph: CountingGraph) -> None:
    terms = [*(ex(f"absent{i}") for i in range(19_000)), *(ex(f"e{i}") for i in range(1_000))]
    found = labels(graph, terms)
    names = Counter(query.name for query in graph.queries)
    assert names == {"labels+labels_linked": 20, "labels+labels_by_name+labels_linked+labels_of_nodes": 19}, (
        "and only the unlabelled ones are asked for again"
    )
    assert sum(not label.derived for label in found.values()) == 1_000
    assert list(found) == terms
