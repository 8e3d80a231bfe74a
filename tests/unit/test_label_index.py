"""The label index: which rows a graph gives, what is kept, what survives a kill, what is refused."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyoxigraph
import pytest

import kgsparql
from kgsparql import OxigraphGraph, open_graph
from kgsparql.errors import CancelledError, DiskFullError, OptionError, StoreError, StoreLockedError
from kgsparql.linking.graph_indexes import KEEP_EVERY, build_label_index, index_directory, label_index, open_label_index
from kgsparql.linking.label_index.packed import LabelsWithMore, PackedLabels
from kgsparql.linking.label_index.reading import read_labels
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.models.embedders import CachedEmbedder
from kgsparql.rdf.terms import normalised
from kgsparql.rdf.vocabulary import Naming
from kgsparql.storage.files import writer_lock
from kgsparql.storage.lance_tables import MANIFEST, Tables, errors_translated
from tests.deep import DEEP
from tests.unit.hashed_embedder import HashedEmbedder
from tests.world import FIXTURES, ex, graph_of

PLACES = """
:bonn a :City ; rdfs:label "Bonn"@de , "Bonn"@en ; skos:altLabel "Bonna" ; rdfs:comment "A city on the Rhine." .
:oneill rdfs:label "Eugene O'Neill" ; :born :nyc .
:nyc rdfs:label "New York City" ; skos:altLabel "New York" , "NYC" .
:back rdfs:label "back\\\\slash \\"quoted\\" ' OR 1=1 --" .
:born rdfs:label "born in" .
"""


LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def many(count: int) -> OxigraphGraph:
    """A graph of labels that all differ."""
    lines = (f'<http://example.org/{i}> <{LABEL}> "thing {i} of {i * 7919 % 1000}" .' for i in range(count))
    store = pyoxigraph.Store()
    store.bulk_load("\n".join(lines).encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    return OxigraphGraph(store, name="many", fingerprint=f"many-{count}")


def built(graph: Any, directory: Path, embedder: Any = None, **options: Any) -> PackedLabels:
    return build_label_index(graph, directory, embedder=embedder, **options)


def texts_of(rows: list[LabelRow], iri: str) -> list[tuple[str, str]]:
    return [(row.text, row.role) for row in rows if row.iri == f"http://example.org/{iri}"]


class SayingHowItNames:
    """A graph with label predicates of its own, as an endpoint's profile may say."""

    def __init__(self, graph: OxigraphGraph, naming: Naming) -> None:
        self.graph, self.naming = graph, naming

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)


@pytest.fixture
def kept(tmp_path: Path) -> PackedLabels:
    return built(graph_of(PLACES), tmp_path / "index", HashedEmbedder())


def test_rows_say_role_language_kind_and_degree() -> None:
    rows = list(read_labels(graph_of(PLACES)))
    found = {(r.iri.removeprefix("http://example.org/"), r.text, r.role, r.language, r.kind, r.degree) for r in rows}
    assert ("bonn", "Bonn", "label", "de", "entity", 5) in found
    assert ("bonn", "Bonna", "alternative", "", "entity", 5) in found
    assert ("nyc", "NYC", "alternative", "", "entity", 4) in found
    assert ("born", "born in", "label", "", "predicate", 1) in found
    assert ("City", "City", "derived", "", "class", 0) in found
    assert len({(row.iri, row.text, row.language, row.kind) for row in rows}) == len(rows)


def test_L36_L37_L42_keys_are_normalised_and_texts_that_say_nothing_are_left_out() -> None:
    texts = f'"", "  \\t", "http://example.org/a", "!!!", "{"x" * 5000}", "good", 12, "2020-01-01"^^xsd:date, "gut"@de'
    rows = list(read_labels(graph_of(f":a rdfs:label {texts} . :caf%C3%A9 :p 1 . :cafe\u0301 :p 1 .")))
    assert sorted(text for text, _ in texts_of(rows, "a")) == ["good", "gut", "x" * 300]
    assert all(row.text.strip() and row.key for row in rows)
    escaped, plain = (row for row in rows if row.key == "cafe")  # two IRIs are two entities
    assert escaped.iri != plain.iri


def test_L38_names_come_from_iris_where_there_are_no_others_and_say_so() -> None:
    rows = list(read_labels(graph_of(":Marie_Curie :bornIn :Q36 .")))
    for iri, text in (("Marie_Curie", "Marie Curie"), ("bornIn", "born in"), ("Q36", "Q36")):
        assert texts_of(rows, iri) == [(text, "derived")]
    data = ':a rdfs:label "A thing" ; :in :United_States , :Q30 , :m.0k3p1 , <http://x.org/a.jpg> .'
    assert {row.text for row in read_labels(graph_of(data)) if row.role == "derived"} == {"United States", "label"}


def test_a_graph_names_things_by_what_tells_them_apart_and_by_predicates_of_its_own() -> None:
    data = (
        ':a :name "Ann" ; :jobTitle "x" ; :title "Dr." . :b :name "Bob" ; :title "Dr." . '
        ':c :title "Dr." ; rdfs:label "Cy" ; :name "Cyril" .'
    )
    rows = list(read_labels(graph_of(data)))
    assert (texts_of(rows, "a"), texts_of(rows, "c")) == (
        [("Ann", "label")], [("Cy", "label"), ("Cyril", "alternative")],
    )  # fmt: skip
    assert not any(row.text == "Dr." for row in rows)
    graph = graph_of(':P1 :heisst "Geburtsort" ; :used :p . :a :heisst "Anna" ; rdfs:label "Ann" ; :p 1 .')
    rows = list(read_labels(SayingHowItNames(graph, Naming((ex("heisst"),), (ex("used"),)))))
    assert (texts_of(rows, "a"), texts_of(rows, "p")) == (
        [("Ann", "alternative"), ("Anna", "label")], [("Geburtsort", "label")],
    )  # fmt: skip
    assert texts_of(read_labels(graph), "a") == [("Ann", "label")]
    wikibase = graph_of(
        '@prefix wikibase: <http://wikiba.se/ontology#> . :P19 rdfs:label "place of birth"@en ; '
        'wikibase:directClaim :direct-P19 , :unused-P19 . :Q1 rdfs:label "Q one" ; :direct-P19 :Q2 . '
        ':unused-P19 rdfs:label "born in" , "place of birth"@en . :p rdfs:label "has part" . :a :p :a ; a :a .'
    )
    named = {(row.iri[19:], row.text, row.kind, row.role) for row in read_labels(wikibase)}
    assert {(iri, kind, role) for iri, text, kind, role in named if text == "place of birth"} == {
        (iri, "predicate", "label") for iri in ("P19", "direct-P19", "unused-P19")
    }
    assert [(iri, kind) for iri, text, kind, _ in named if text == "has part"] == [("p", "predicate")]


def test_a_triple_in_several_named_graphs_counts_once() -> None:
    store = pyoxigraph.Store()
    data = f'@prefix : <http://e.org/> . :a :p :b ; <{LABEL}> "A" .'
    for name in ("http://e.org/g", "http://e.org/h"):
        store.load(data.encode(), pyoxigraph.RdfFormat.TURTLE, to_graph=pyoxigraph.NamedNode(name))
    rows = list(read_labels(OxigraphGraph(store, name="two", fingerprint="two")))
    assert [row.degree for row in rows if row.text == "A"] == [2]


def test_a_cancel_stops_reading_between_two_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.linking.label_index.reading.AT_ONCE", 5)
    stop, seen = threading.Event(), list[int]()

    def show(_: str, done: int, __: int | None) -> None:
        seen.append(done)
        if done:
            stop.set()

    for _ in range(2):  # the second time it is set before the engine works
        with pytest.raises(CancelledError):
            list(read_labels(many(100), cancel=stop, progress=show))
        assert 0 < seen[-1] < 10


def test_labels_for_which_there_is_no_room_beside_are_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    class SmallConnection(sqlite3.Connection):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            self.execute("PRAGMA max_page_count = 12")

    monkeypatch.setattr(sqlite3, "connect", SmallConnection)
    with pytest.raises(DiskFullError, match="no space left"):
        list(read_labels(many(1_000)))


def row(text: str) -> LabelRow:
    return LabelRow(f"http://e.org/{text}", text, normalised(text))


def test_names_beside_the_labels_of_a_graph_are_searched_with_them() -> None:
    first = PackedLabels.of([row("Ann Lee"), row("Bob")])
    joined = LabelsWithMore(first, [row("Ann Lee"), row("Ann Lea"), row("Cy")])
    assert [r.text for r in joined.exact(["ann lee", "cy"])] == ["Ann Lee", "Cy"]
    assert {r.text for r in joined.with_words(["ann"], limit=5)} == {"Ann Lee", "Ann Lea"}
    assert len(joined.with_words(["ann"], limit=1)) == 1
    assert joined.like("bobb", limit=3)[0].text == "Bob"
    vocabulary = joined.vocabulary
    assert ([*map(vocabulary.count, ("ann", "bob", "nobody"))], vocabulary.labels) == ([3, 1, 0], 5)
    assert joined.for_text("Ann", ()).vocabulary.labels == joined.offline().vocabulary.labels == 5
    assert joined.nearest(np.ones((2, 3), dtype=np.float32), limit=4) == [[], []]


@pytest.fixture(params=["memory", "file"])
def search(request: pytest.FixtureRequest, kept: PackedLabels) -> PackedLabels:
    return kept if request.param == "file" else PackedLabels.of(read_labels(graph_of(PLACES)))


def test_T13_keys_are_found_exactly_and_are_data(search: PackedLabels) -> None:
    found = search.exact(["bonn", "nyc", "no such"])
    assert [(row.text, row.language) for row in found] == [("Bonn", "de"), ("Bonn", "en"), ("NYC", "")]
    assert search.exact([]) == search.exact(["x' OR 1=1 --", "') OR ('1'='1", "\\' OR 1=1", "%", "*"]) == []
    key = normalised('back\\slash "quoted" \' OR 1=1 --')
    assert [row.iri for row in search.exact([key])] == ["http://example.org/back"]
    assert [row.text for row in search.exact(["eugene o neill"])] == ["Eugene O'Neill"]


def test_words_and_parts_of_words(search: PackedLabels) -> None:
    assert search.with_words(["city", "york"], limit=2)[0].text == "New York City"
    for typed in ("euegne oneil", "o'neill"):
        assert [row.text for row in search.like(typed, limit=1)] == ["Eugene O'Neill"]
    assert search.with_words(["zzz"], limit=5) == search.like("?", limit=5) == []
    words = ("york", "city", "bonn", "nothing")
    vocabulary = search.vocabulary
    assert [*map(vocabulary.count, words)] == [2, 2, 1, 0]
    assert vocabulary.idf("nothing") > vocabulary.idf("bonn") > vocabulary.idf("york") > 0
    assert {"city", "born"} <= vocabulary.type_stems


def test_rows_are_the_same_however_many_are_python_objects_or_packed_at_once(
    kept: PackedLabels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = list(read_labels(graph_of(PLACES)))
    for at_once in (1, 7):
        monkeypatch.setattr("kgsparql.linking.label_index.reading.AT_ONCE", at_once)
        monkeypatch.setattr("kgsparql.linking.label_index.packed._ROWS_AT_ONCE", at_once)
        assert list(read_labels(graph_of(PLACES))) == rows == sorted(rows)
        built(graph_of(PLACES), tmp_path / str(at_once), HashedEmbedder())
        assert content_of(tmp_path / str(at_once)) == content_of(tmp_path / "index")


def test_an_approximate_index_finds_what_numpy_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, embedder = many(1_500), HashedEmbedder()
    asked = embedder.embed([f"things {i} of {i * 7919 % 1000}" for i in range(0, 1_500, 100)])
    exact = built(graph, tmp_path / "numpy", embedder).nearest(asked, limit=1)
    monkeypatch.setattr("kgsparql.linking.graph_indexes.EXACT_VECTORS", 1_000)
    found = built(graph, tmp_path / "hnsw", embedder).nearest(asked, limit=1)
    _, vectors = tables_of(tmp_path / "hnsw")
    assert [i.index_type for i in vectors.list_indices()] == ["IvfHnswSq"]
    assert exact[1][0][0].text == "thing 100 of 900"
    right = embedder.embed([hits[0][0].text for hits in exact])
    cosines = [np.array([hits[0][1] for hits in some]) for some in (exact, found)]
    assert np.abs(cosines[0] - (asked * right).sum(axis=1)).max() < 1e-5
    assert np.abs(cosines[0] - cosines[1]).max() < 0.01


def test_few_labels_are_embedded_when_vectors_are_first_compared(tmp_path: Path) -> None:
    log = tmp_path / "log"
    graph = graph_of(PLACES)
    for _ in range(2):
        embedder = HashedEmbedder(log=log)
        cached = CachedEmbedder(embedder, tmp_path / "vectors.sqlite")
        index = label_index(graph, tmp_path / "index", embedder=cached)
        assert index.embedder is cached
        assert not (tmp_path / "index").exists()
        ((nearest, *_),) = index.nearest(embedder.embed(["Bonn"]), limit=3)
        assert (nearest[0].text, round(nearest[1], 5)) == ("Bonn", 1.0)
        cached.close()
    texts = [text for text in log.read_text().splitlines() if text != "Bonn"]
    assert len(texts) == len(set(texts)) == len({row.text for row in index.rows()}) - 1  # Bonn, twice in the graph


def test_many_labels_are_searched_by_text_before_all_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsparql.linking.graph_indexes.KEPT_ROWS", 2_000)
    graph = many(2_500)
    directory = index_directory(graph, tmp_path)
    index = label_index(graph, directory, embedder=HashedEmbedder())
    assert open_label_index(directory) is not None
    assert (index.row_count, index.embedder) == (2_501, None)
    with pytest.raises(KeyboardInterrupt):
        built(graph, directory, HashedEmbedder(), progress=stop_after(1_000))
    assert label_index(graph, directory, embedder=HashedEmbedder()).embedder is None
    assert built(graph, directory, HashedEmbedder()).embedder is not None
    (tmp_path / "file").write_text("not a directory")
    for labels, note in ((graph, "KGSPARQL_CACHE_DIR"), (many(10), "")):  # few are held in memory anyway
        said = list[str]()
        assert label_index(labels, tmp_path / "file" / "index", note=said.append).row_count
        assert bool(note) == bool(said)
        assert note in " ".join(said)


def stop_after(texts: int) -> Callable[[str, int, int | None], None]:
    """Progress that a Ctrl-C interrupts while texts are embedded."""

    def progress(what: str, done: int, _: int | None) -> None:
        if what == "embedding labels" and done > texts:
            raise KeyboardInterrupt

    return progress


def test_S03_a_stopped_build_goes_on_without_embedding_anything_twice(tmp_path: Path) -> None:
    graph, log = many(3_000), tmp_path / "log"
    with pytest.raises(KeyboardInterrupt):
        built(graph, tmp_path / "i", HashedEmbedder(log=log), progress=stop_after(2_500))
    before = len(log.read_text().splitlines())
    assert 2_500 < before < 3_000
    index = built(graph, tmp_path / "i", HashedEmbedder(log=log))
    texts = log.read_text().splitlines()
    assert len(texts) == len(set(texts)) == index.row_count == 3_001


KILLED = """
import sys
from pathlib import Path
from kgsparql.linking.graph_indexes import build_label_index
from tests.unit.hashed_embedder import HashedEmbedder
from tests.unit.test_label_index import many
build_label_index(many(6_000), Path(sys.argv[1]), embedder=HashedEmbedder(log=Path(sys.argv[2]), delay_s=0.05))
"""


@pytest.mark.longer
@pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
def test_S04_a_killed_build_goes_on_and_equals_a_clean_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for at_texts in (1, 2_500, 4_700) if DEEP else (2_500,):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "killed"), str(log)])
        while process.poll() is None and (not log.exists() or len(log.read_text().splitlines()) < at_texts):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.returncode == -signal.SIGKILL
    graph = many(6_000)
    killed = built(graph, tmp_path / "killed", HashedEmbedder(log=log))
    clean = built(graph, tmp_path / "clean", HashedEmbedder())
    assert content_of(tmp_path / "killed") == content_of(tmp_path / "clean")
    assert killed.exact(["thing 5 of 595"]) == clean.exact(["thing 5 of 595"]) != []
    embedded = len(log.read_text().splitlines())
    assert embedded <= 6_001 + 3 * (KEEP_EVERY + 256)
    assert sorted(p.name.split("_")[0] for p in (tmp_path / "killed").glob("*.*")) == [MANIFEST, "labels", "vectors"]


def tables_of(directory: Path) -> tuple[bytes, Any]:
    """The labels and the vectors of an index."""
    tables = Tables(directory)
    manifest = tables.manifest()
    assert manifest is not None
    return tables.blob(manifest["labels"])[:], tables.open(manifest["vectors"]["hashed"]["table"])


def content_of(directory: Path) -> list[object]:
    """The labels of an index, byte for byte, and its vectors, in their order."""
    labels, table = tables_of(directory)
    vectors = table.to_arrow().sort_by("number")
    return [labels, vectors["text"].to_pylist(), np.stack(vectors["vector"].to_numpy()).tobytes()]


def test_S09_an_index_of_another_content_has_another_place(tmp_path: Path) -> None:
    graph, changed = graph_of(PLACES), graph_of(PLACES + ':c rdfs:label "Cologne" .')
    built(graph, index_directory(graph, tmp_path))
    assert open_label_index(index_directory(changed, tmp_path)) is None
    assert [r.text for r in built(changed, index_directory(changed, tmp_path)).exact(["cologne"])] == ["Cologne"]
    other = SayingHowItNames(changed, Naming((ex("born"),)))  # another recipe
    assert open_label_index(index_directory(other, tmp_path)) is None
    assert index_directory(SayingHowItNames(changed, Naming()), tmp_path) == index_directory(changed, tmp_path)


def test_S10_few_vectors_of_another_model_are_made_again_and_many_wait_for_kgsparql_index(
    kept: PackedLabels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(PLACES)
    directory = tmp_path / "index"
    anew = label_index(graph, directory, embedder=HashedEmbedder("other"))
    assert kept.embedder is not None
    assert anew.embedder is not None
    assert (kept.embedder.name, anew.embedder.name) == ("hashed", "other")  # few are made again
    for module in ("label_index.packed", "graph_indexes"):
        monkeypatch.setattr(f"kgsparql.linking.{module}.EMBED_AT_ONCE", 3)
    assert label_index(graph, directory, embedder=HashedEmbedder("other")).embedder is None
    assert built(graph, directory, HashedEmbedder("other")).embedder is not None
    assert open_label_index(directory, embedder=HashedEmbedder()) is not None


def test_S13_a_half_made_index_is_made_again(tmp_path: Path) -> None:
    graph, directory = graph_of(PLACES), tmp_path / "i"
    built(graph, directory)
    for damage in ("no labels", "half the labels", "half a manifest", "no manifest"):
        share, what = damage.split(" ", 1)
        file = directory / MANIFEST if what.endswith("manifest") else next(directory.glob("labels_*.bin"))
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2 if share == "half" else 0])
        assert open_label_index(directory) is None
        again = built(graph, directory)
        assert [row.text for row in again.exact(["nyc"])] == ["NYC"]
        assert len(list(directory.glob("labels_*"))) == 1


def test_S14_the_second_of_two_builders_is_told_who_is_first(tmp_path: Path) -> None:
    graph = graph_of(PLACES)
    with writer_lock(tmp_path / "i"), pytest.raises(StoreLockedError) as caught:
        built(graph, tmp_path / "i")
    assert caught.value.detail["pid"] is not None


def test_S17_of_a_file_that_changes_two_indexes_are_kept(tmp_path: Path) -> None:
    file, other = tmp_path / "changing.ttl", tmp_path / "other.ttl"
    other.write_text(f'<http://e.org/o> <{LABEL}> "other" .')
    built(open_graph(other), index_directory(open_graph(other), tmp_path))
    newest = []
    for i in range(6):
        file.write_text(f'<http://e.org/a> <{LABEL}> "name {i}" .')
        graph = open_graph(file)
        newest.append(index_directory(graph, tmp_path))
        assert built(graph, newest[-1]).row_count == 2  # and the predicate's
    kept = {entry for entry in (tmp_path / "labels").iterdir() if entry.is_dir()}
    assert kept == {*newest[4:], index_directory(open_graph(other), tmp_path)}


def test_tables_that_are_removed_are_said_to_be_gone_and_a_place_not_writable_names_another(tmp_path: Path) -> None:
    tables = Tables(tmp_path / "index")
    tables.written("labels", pa.table({"key": ["a", "b"]}))
    opened = Tables(tmp_path / "index").open("labels")
    assert opened is not None
    shutil.rmtree(tmp_path / "index")
    with pytest.raises(StoreError) as caught, errors_translated(tmp_path / "index"):
        opened.search().where("key = 'a'").to_arrow()
    assert "removed meanwhile; ask again" in caught.value.hint
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        Tables(tmp_path / "file" / "index").written("labels", pa.table({"key": ["a"]}))
    assert "KGSPARQL_CACHE_DIR" in caught.value.hint


def test_indexes_are_in_a_directory_and_not_in_object_storage() -> None:
    with pytest.raises(OptionError, match="no place for an index"):
        kgsparql.open(FIXTURES / "nobel.ttl", index="s3://bucket/prefix")
