"""An adjacency: built once for a revision of a graph, never read by half, and never needed."""

import json
import resource
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql import IRI, BlankNode, Budget, Literal, OxigraphGraph, Query, Triple, Usage, answer_to_json, open_graph
from kgsparql.cli import app
from kgsparql.dataclasses import replace
from kgsparql.errors import BudgetExceededError, CancelledError, StoreError
from kgsparql.events import Event, PathsSearched
from kgsparql.exploration import shortest_paths
from kgsparql.graphs import adjacency_building, oxigraph, sources
from kgsparql.graphs.adjacency import Adjacency, open_adjacency
from kgsparql.graphs.metered_graph import IgnoredPredicates, MeteredGraph
from kgsparql.graphs.stores import load_store, open_store
from kgsparql.linking import graph_indexes
from kgsparql.linking.graph_indexes import open_label_index
from kgsparql.linking.label_index.reading import read_labels
from kgsparql.rdf.graph_patterns import Fact, Select, Values, Variable, select_query
from kgsparql.storage.files import size_of, writer_lock
from tests.brute_force import predicate_paths
from tests.deep import DEEP
from tests.world import EX, FIXTURES

CHAIN = "".join(f"<{EX}n{i}> <{EX}p> <{EX}n{i + 1}> ; <{EX}q> <{EX}n{i + 1}> .\n" for i in range(9))
START, END = IRI(f"{EX}n0"), IRI(f"{EX}n3")


@pytest.fixture(autouse=True)
def _small_graphs_have_one(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setattr(oxigraph, "MIN_TRIPLES", 1)


without_one = patch.object(oxigraph, "MIN_TRIPLES", 1_000_000_000)


@without_one
def store_of(tmp_path: Path, text: str = CHAIN, name: str = "store") -> Path:
    file = tmp_path / f"{name}.ttl"
    file.write_text(text, encoding="utf-8")
    load_store(file, tmp_path / name)
    return tmp_path / name


def built(graph: OxigraphGraph) -> Adjacency:
    adjacency = graph.built_adjacency()
    assert adjacency is not None
    return adjacency


def opened(source: Path, **options: Any) -> OxigraphGraph:
    graph = open_graph(source, **options)
    assert isinstance(graph, OxigraphGraph)
    return graph


def kept_in(graph: OxigraphGraph) -> Path:
    assert graph.revision is not None
    return graph.revision.directory


def test_an_adjacency_says_what_the_graph_holds(tmp_path: Path) -> None:
    kinds = f"<{EX}a> a <{EX}C> . <{EX}D> a <http://www.w3.org/2002/07/owl#Class> ."
    more = f'{kinds} <{EX}a> <{EX}p> <{EX}a> , "x", 1 . <{EX}é> <{EX}p> [] .'
    adjacency = built(open_store(store_of(tmp_path, more)))
    terms = [adjacency.term(i) for i in range(len(adjacency.about))]
    assert [t.value.rpartition("/")[2] for t in terms if isinstance(t, IRI)] == ["C", "D", "a", "é", "owl#Class"]
    assert (adjacency.iris, isinstance(terms[5], BlankNode), adjacency.edges) == (5, True, 4)
    assert [adjacency.number(t) for t in terms if isinstance(t, IRI)] == [0, 1, 2, 3, 4]
    assert adjacency.number(IRI(f"{EX}absent")) is None
    classes = (adjacency.about & 1 << 15) > 0
    assert classes.tolist() == [True, True, False, False, True, False]
    assert (adjacency.about & 0x7FFF).tolist() == [1, 1, 5, 1, 1, 1]  # the loop counts on both sides, literals too


@pytest.mark.parametrize("limit", [1_000, 9, 3, 1])  # where it is cut, the first are those that the engine finds first
def test_triples_of_terms_are_those_that_the_engine_finds(tmp_path: Path, limit: int) -> None:
    text = f'<{EX}n0> <{EX}p> "x", 1, _:b, <{EX}n0>, <{EX}n9> ; <{EX}q> "x"@en . _:b <{EX}p> <{EX}n0> .'
    graph = open_store(store_of(tmp_path, CHAIN + text))
    built(graph)
    n, x, p, end = map(Variable, ("n", "x", "p", "end"))
    arms = [
        select_query("facts", Select(((n, Literal(number)), (x, None), (p, None), (end, None)), group, limit=limit))
        for number, fact in (("0", Fact(x, p, end)), ("1", Fact(end, p, x)))
        for group in [(Values(x, (START, IRI(f"{EX}absent"), END)), fact)]
    ]
    query = Query.union(arms)
    by_engine, by_store = graph.select(replace(query, arms=())), graph.select(query)
    assert graph.adjacency is not None
    found = [Counter(frozenset(row.items()) for row in own) for own in (by_engine, by_store, graph.select(query))]
    assert found[0] == found[1] == found[2]


@pytest.mark.longer
def test_odd_graphs_have_one_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more predicates than two bytes number, with a label of a megabyte, and without any label."""
    monkeypatch.setattr(graph_indexes, "MIN_TRIPLES", 1)
    many = "".join(f"<{EX}n{i % 9}> <{EX}p{i}> <{EX}n{i % 7}> .\n" for i in range(33_000))
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    for name, more in (
        *((("many", many),) if DEEP else ()),
        ("long", f'<{EX}n0> {label} "Long {"x" * 1_000_000}" , "Start" .'),
        ("none", ""),
    ):
        graph = open_store(store_of(tmp_path, CHAIN + more, name))
        slow = lengths(graph)
        assert len(built(graph).predicates) == 2 + (33_000 if name == "many" else name == "long")
        assert lengths(graph) == slow
        indexes = kgsparql.open(tmp_path / name, embedder="none").indexes
        assert [found.term for found in indexes.linker.find("Start", limit=1)] == [START] * (name == "long")
        assert open_label_index(indexes.directory) is not None  # however few labels it has


def add(directory: Path, triple: tuple[Any, ...]) -> Path:
    """Add a triple as another program would."""
    store = ox.Store(str(directory))
    store.add(ox.Quad(*triple))
    store.flush()
    return directory


def lengths(graph: Any, end: IRI = END) -> list[int]:
    return [len(path) for path in shortest_paths(graph, START, end).items]


def test_a_store_that_changed_since_is_noticed(tmp_path: Path) -> None:
    directory = store_of(tmp_path)
    built(open_store(directory))
    assert open_store(directory).adjacency_view() is not None
    changed = open_store(add(directory, (START, IRI(f"{EX}new"), END)))
    assert (changed.adjacency_view(), lengths(changed)) == (None, [1])
    built(changed)
    assert changed.adjacency_view() is not None
    assert lengths(changed) == [1]
    assert len(list((tmp_path / "cache" / "adjacency").iterdir())) == 1  # in the place of the old one


def test_the_adjacency_of_a_file_is_found_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "data.ttl"
    file.write_text(CHAIN + f"<{EX}n0> <{EX}at> [ <{EX}of> <{EX}n7> ] .")
    first, again = opened(file), opened(file)
    built(first)
    assert again.adjacency_view() is not None
    assert lengths(again, IRI(f"{EX}n7")) == [2]
    (through,) = shortest_paths(again, START, IRI(f"{EX}n7")).items
    assert all(again.sources_of(triple) for triple in through.triples)  # the blank node is the same
    file.write_text(CHAIN)
    assert opened(file).adjacency_view() is None


def test_labels_know_the_triples_of_each_thing_from_it_as_from_a_query(tmp_path: Path) -> None:
    hub = "".join(f"<{EX}m{i}> a <{EX}C> ; <{EX}p> <{EX}hub> .\n" for i in range(10_010))
    more = f'<{EX}C> <{EX}p> <{EX}hub> ; <{EX}q> "x", "y" . <{EX}only> <{EX}q> "z" ; <http://schema.org/name> "Only" .'
    directory = store_of(tmp_path, f"{CHAIN}{hub}{more}")
    with without_one:
        by_query = list(read_labels(open_store(directory)))
    graph = open_store(directory)
    assert list(read_labels(graph)) == by_query
    assert graph.adjacency is not None
    degrees = {row.iri.removeprefix(EX): row.degree for row in by_query}
    assert (degrees["hub"], degrees["only"]) == (10_001, 2)


def test_a_load_makes_one_and_a_question_only_to_read_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CACHE_FROM_BYTES", 100)
    file = tmp_path / "big.nt"
    file.write_text("".join(f"<{EX}n{i}> <{EX}p> <{EX}n{i * 7 % 500}> .\n" for i in range(500)))
    graph = opened(file)
    assert graph.directory is not None
    assert graph.adjacency_view() is None
    list(read_labels(graph))
    assert graph.adjacency_view() is not None
    load_store(file, tmp_path / "loaded")
    assert open_store(tmp_path / "loaded").adjacency_view() is not None


def noted(directory: Path) -> tuple[int, list[str], int]:
    """The edges indexed, the notes, and the number of paths that are found all the same."""
    notes: list[str] = []
    knowledge = kgsparql.open(directory, embedder="none", note=notes.append)
    return knowledge.index_paths(), notes, len(knowledge.paths(START, END).items)


def test_who_may_not_wait_any_longer_goes_the_slow_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = store_of(tmp_path)
    monkeypatch.setattr(adjacency_building, "_WAIT_S", 0.0)
    with writer_lock(kept_in(open_store(directory))):
        edges, notes, paths = noted(directory)
    assert (edges, paths) == (0, 8)
    assert "paths are still searched by queries" in notes[0]
    assert noted(directory) == (18, [], 8)


def test_a_full_or_read_only_disk_leaves_the_slow_way_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = store_of(tmp_path)
    before = sorted(entry.name for entry in directory.iterdir())
    kept_in(open_store(directory)).parent.mkdir(parents=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 150, 300):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            edges, notes, paths = noted(directory)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert (edges, len(notes), paths) == (0, 1, 8)
        assert "still searched by queries" in notes[0]
        assert list((tmp_path / "cache" / "adjacency").iterdir()) == []
    with monkeypatch.context() as blocked:
        (tmp_path / "file").write_text("")
        blocked.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "file"))
        edges, notes, paths = noted(directory)
        assert (edges, len(notes), paths) == (0, 1, 8)
    assert noted(directory) == (18, [], 8)
    assert sorted(entry.name for entry in directory.iterdir()) == before  # nothing is written into a store


def test_graphs_that_do_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ox.Store()
    store.load(CHAIN.encode(), ox.RdfFormat.TURTLE)
    directory, file = store_of(tmp_path), tmp_path / "store.ttl"
    assert kgsparql.open(store, embedder="none").index_paths() == 0  # its owner may change it
    built(open_store(directory))
    assert open_store(directory).adjacency_view() is not None
    monkeypatch.setattr(oxigraph, "MIN_TRIPLES", 1_000)
    assert kgsparql.open(file, embedder="none").index_paths() == 0  # small
    ox.Store(str(tmp_path / "triple_terms")).flush()
    add(tmp_path / "triple_terms", (START, IRI(f"{EX}says"), Triple(START, IRI(f"{EX}p"), END)))
    monkeypatch.setattr(oxigraph, "MIN_TRIPLES", 1)
    with pytest.raises(StoreError, match="triple terms"):
        open_store(tmp_path / "triple_terms").built_adjacency()
    monkeypatch.setattr(oxigraph, "MOST_TRIPLES", 1)
    assert kgsparql.open(file, embedder="none").index_paths() == 0


def metered(graph: OxigraphGraph, events: list[Event], **options: Any) -> MeteredGraph:
    return MeteredGraph(graph, Usage(options.pop("budget", Budget())), events.append, **options)


@pytest.fixture
def graph(tmp_path: Path) -> OxigraphGraph:
    opened = open_store(store_of(tmp_path))
    built(opened)
    return opened


def test_a_search_is_no_query_but_is_emitted_and_its_paths_count(graph: OxigraphGraph) -> None:
    events: list[Event] = []
    limited = metered(graph, events)
    assert len(shortest_paths(limited, START, END).items) == 8
    (event,) = events
    assert isinstance(event, PathsSearched)
    assert (event.start, event.end, event.paths) == (str(START), str(END), 8)
    assert (limited.usage.queries, limited.usage.rows) == (0, 8)
    assert len(predicate_paths(limited, START, max_hops=2).items) == 8
    assert [(event.end, event.paths) for event in events[1:] if isinstance(event, PathsSearched)] == [("", 2), ("", 6)]
    assert (limited.usage.queries, limited.usage.rows) == (0, 16)
    for budget in (Budget(max_rows=7), Budget(max_seconds=0)):
        with pytest.raises(BudgetExceededError):
            shortest_paths(metered(graph, events, budget=budget), START, END)
    limited.usage.cancel.set()
    with pytest.raises(CancelledError):
        shortest_paths(limited, START, END)


def test_ignored_predicates_are_not_walked(graph: OxigraphGraph) -> None:
    ignored = IgnoredPredicates(frozenset([IRI(f"{EX}q")]))
    without = shortest_paths(metered(graph, [], ignored=ignored), START, END).items
    assert [[hop.triple.predicate.value for hop in path.hops] for path in without] == [[f"{EX}p"] * 3]
    assert len(shortest_paths(metered(graph, []), START, END).items) == 8


def test_statements_of_a_wikibase_are_not_walked(tmp_path: Path) -> None:
    opened = open_store(store_of(tmp_path, f"<{EX}n0> <http://www.wikidata.org/prop/P1> <{EX}n3> ."))
    built(opened)
    limited = metered(opened, [])
    assert shortest_paths(limited, START, END).items == ()
    assert limited.usage.queries == 0, "what is left out is left out of what is kept, too"


def test_it_is_built_by_the_command_index_and_listed_and_cleared_with_the_cache(tmp_path: Path) -> None:
    directory = store_of(tmp_path)
    done = CliRunner().invoke(app, ["index", "-k", str(directory), "--embedder", "none"])
    assert done.exit_code == 0, done.stderr
    assert "indexed 18 edges between things, for paths" in done.stderr
    graph = open_store(directory)
    assert graph.adjacency_view() is not None
    kinds = json.loads(CliRunner().invoke(app, ["cache", "-f", "json"]).stdout)["kinds"]
    (size,) = [kind["bytes"] for kind in kinds if kind["kind"] == "adjacency"]
    assert size == size_of(kept_in(graph))
    cleared = json.loads(CliRunner().invoke(app, ["cache", "--clear", "adjacency", "-f", "json"]).stdout)
    assert cleared == {"cleared": [{"kind": "adjacency", "bytes": size}]}
    assert graph.revision is not None
    assert open_adjacency(graph.revision) is None


def test_an_answer_is_the_same_with_it_and_without() -> None:
    """But for the queries that it took."""

    def answered() -> dict[str, Any]:
        knowledge = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
        question = "Which university links Marie Curie and Niels Bohr?"
        return answer_to_json(knowledge.ask(question, retriever="mindmap", model=None))

    with without_one:
        slow = answered()
    assert kgsparql.open(FIXTURES / "nobel.ttl", embedder="none").index_paths() > 0
    fast = answered()
    assert fast.pop("usage")["queries"] < slow.pop("usage")["queries"]
    assert fast == slow
    assert slow["evidence"]
