"""Shards: parts of an index made apart are, merged, the index that one run makes; what does not fit is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgsparql.errors import IndexStaleError, ModelMismatchError, OptionError, StoreError
from kgsparql.graphs import OxigraphGraph
from kgsparql.linking.label_index.index import build_label_index, merge_label_index, open_label_index
from kgsparql.linking.label_index.lance import LanceLabels, write_rows
from kgsparql.linking.label_index.merging import FOLDER, Part
from kgsparql.linking.label_index.reading import read_labels
from kgsparql.linking.label_index.search import LabelIndex
from kgsparql.linking.label_index.shards import Shard
from kgsparql.storage.integrity import with_digest
from kgsparql.storage.lance_tables import MANIFEST, Tables
from tests.conftest import FIXTURES
from tests.unit.hashed_embedder import HashedEmbedder

MakeGraph = Callable[..., OxigraphGraph]

WIKIBASE = """
PREFIX wikibase: <http://wikiba.se/ontology#>
:P31 a wikibase:Property ; rdfs:label "is a" , "ist ein(e)"@de ; wikibase:directClaim :direct31 ; wikibase:claim :p31 .
:P50 a wikibase:Property ; rdfs:label "author"@en ; skos:altLabel "writer"@en ; wikibase:directClaim :direct50 .
:direct50 rdfs:label "author of"@en .
:Q1 :direct31 :Q5 ; :direct50 :Q2 ; rdfs:label "Emma"@en ; :name "Emma Woodhouse" ; :title "Dr." .
:Q2 :direct31 :Q5 ; rdfs:label "Jane Austen"@en , "Джейн Остин"@ru ; :name "J. Austen" ; :title "Dr." .
:Q3 :direct31 :Q5 ; rdfs:label "Джейн"@ru ; :name "Jane" ; :title "Dr." .
:Pride_and_Prejudice :direct50 :Q2 . :Thriller rdfs:label "Thriller (song)" ; a :Song .
"""
NAMELESS = ":Marie_Curie :bornIn :Warsaw ; a :Person . :Person rdfs:label 'person' . :Warsaw :in :Poland ."


class NeverAsked(HashedEmbedder):
    """As the embedder of the shards, but it must not be asked again."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError(f"{len(texts)} texts were embedded again")


def index_shards(
    graph: OxigraphGraph, directory: Path, count: int, *, embedder: HashedEmbedder | None = None, leave_out: int = 0
) -> None:
    for number in range(count, 0, -1):  # in no order that matters
        if number != leave_out:
            build_label_index(graph, directory, embedder=embedder, shard=Shard(number, count))


def assert_same_index(merged: LabelIndex, whole: LabelIndex, *, vectors: bool) -> None:
    """All that is written is the same, and what some searches find."""
    one, other = merged.search, whole.search
    assert isinstance(one, LanceLabels)
    assert isinstance(other, LanceLabels)
    for name in ("labels", "words", "keys_table"):
        tables = [search._tables.open(search._manifest[name]).to_arrow() for search in (one, other)]
        assert tables[0].equals(tables[1]), name
    own = {"labels", "words", "keys_table", "version", "files", "sha256"}
    assert {k: v for k, v in one._manifest.items() if k not in own} == {
        k: v for k, v in other._manifest.items() if k not in own
    }
    keys = sorted(row["key"] for row in other._labels.to_arrow().to_pylist())
    for key in keys[:: max(1, len(keys) // 20)]:
        assert one.exact([key]) == other.exact([key]) != []
        assert one.like(key, limit=10) == other.like(key, limit=10)
        assert one.with_words(key.split(), limit=10) == other.with_words(key.split(), limit=10)
        assert one.near_keys(key[1:], edits=1) == other.near_keys(key[1:], edits=1)
        if vectors:
            wanted = HashedEmbedder().embed([key])
            assert one.nearest(wanted, limit=5) == other.nearest(wanted, limit=5)


@pytest.fixture
def nobel() -> OxigraphGraph:
    store = pyoxigraph.Store()
    store.bulk_load(path=str(FIXTURES / "nobel.ttl"), format=pyoxigraph.RdfFormat.TURTLE)
    return OxigraphGraph(store, name="nobel", fingerprint="nobel-1")


# Which entities a shard has


@given(
    st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))), st.text(st.characters(codec=None))
)
def test_each_key_is_in_one_shard(shard: tuple[int, int], key: str) -> None:
    _, count = shard
    assert sum(Shard(number, count).has(key) for number in range(1, count + 1)) == 1


@pytest.mark.parametrize("text", ["", "0/16", "17/16", "1/0", "3", "3/", "a/b", "-1/2", "1/100000", "1/2/3"])
def test_what_is_no_shard_is_an_option_error(text: str) -> None:
    with pytest.raises(OptionError, match="is no shard"):
        Shard.parse(text)


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("turtle", [WIKIBASE, NAMELESS, ""])
def test_the_rows_of_all_shards_are_those_of_the_graph(graph_of: MakeGraph, turtle: str, count: int) -> None:
    graph = graph_of(turtle)
    parts = [list(read_labels(graph, shard=Shard(number, count))) for number in range(1, count + 1)]
    assert sorted(row for rows in parts for row in rows) == list(read_labels(graph))
    if turtle and count == 7:
        assert sum(bool(rows) for rows in parts) > 2


@given(st.data())
def test_shards_of_any_graph_have_its_rows_once(data: st.DataObject) -> None:
    things = st.sampled_from([f"<http://example.org/{name}>" for name in "Q1 Q2 Q3 Ann_Lee New_York p1 p2".split()])
    predicates = st.sampled_from(
        [
            "<http://example.org/p1>", "<http://example.org/name>", "<http://example.org/p2>", "a",
            "<http://www.w3.org/2000/01/rdf-schema#label>", "<http://www.w3.org/2004/02/skos/core#altLabel>",
            "<http://wikiba.se/ontology#directClaim>",
        ]
    )  # fmt: skip
    texts = st.sampled_from(['"Ann"', '"Anna"@de', '"Thriller (song)"', '"Q1"', '"New York"@en', '"Нью-Йорк"@ru'])
    triples = data.draw(st.lists(st.tuples(things, predicates, things | texts), max_size=12))
    store = pyoxigraph.Store()
    store.load("".join(f"{s} {p} {o} .\n" for s, p, o in triples).encode(), format=pyoxigraph.RdfFormat.TURTLE)
    graph = OxigraphGraph(store, name="drawn", fingerprint="drawn")
    count = data.draw(st.integers(1, 4))
    parts = [row for number in range(1, count + 1) for row in read_labels(graph, shard=Shard(number, count))]
    assert sorted(parts) == list(read_labels(graph))


# Merging


@pytest.mark.parametrize("at_once", [1, 100, 250_000])
def test_rows_are_the_same_however_many_are_written_at_once(
    nobel: OxigraphGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    rows = list(read_labels(nobel))[:120]
    monkeypatch.setattr("kgsparql.linking.label_index.lance._WRITTEN_AT_ONCE", at_once)
    tables = Tables(tmp_path)
    manifest = write_rows(tables, rows, "nobel", "tag")
    assert list(Part(tables, manifest).rows()) == rows


@pytest.mark.parametrize("count", [1, 3, 16])
def test_merged_shards_are_the_index_of_one_run(nobel: OxigraphGraph, tmp_path: Path, count: int) -> None:
    whole = build_label_index(nobel, tmp_path / "whole", embedder=HashedEmbedder())
    index_shards(nobel, tmp_path / "parts", count, embedder=HashedEmbedder())
    merged = merge_label_index(nobel, tmp_path / "parts", embedder=NeverAsked())
    assert_same_index(merged, whole, vectors=True)
    assert not (tmp_path / "parts" / FOLDER).exists() or not list((tmp_path / "parts" / FOLDER).rglob("*.lance"))
    opened = open_label_index(nobel, tmp_path / "parts", embedder=HashedEmbedder())
    assert opened is not None
    assert_same_index(opened, whole, vectors=True)


def test_shards_without_vectors_are_merged_without(nobel: OxigraphGraph, tmp_path: Path) -> None:
    whole = build_label_index(nobel, tmp_path / "whole", embedder=None)
    index_shards(nobel, tmp_path / "parts", 4)
    assert_same_index(merge_label_index(nobel, tmp_path / "parts", embedder=None), whole, vectors=False)


def test_a_graph_without_labels_is_merged(graph_of: MakeGraph, tmp_path: Path) -> None:
    index_shards(graph_of(""), tmp_path, 3, embedder=HashedEmbedder())
    assert merge_label_index(graph_of(""), tmp_path, embedder=HashedEmbedder()).rows == 0


def test_a_merge_that_was_stopped_goes_on(
    nobel: OxigraphGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgsparql.linking.label_index.vectors.KEEP_EVERY", 16)
    monkeypatch.setattr("kgsparql.linking.label_index.vectors._EMBED_AT_ONCE", 16)
    whole = build_label_index(nobel, tmp_path / "whole", embedder=HashedEmbedder())
    index_shards(nobel, tmp_path / "parts", 3, embedder=HashedEmbedder())

    def stop(what: str, done: int, of: int | None) -> None:
        if what == "embedding labels" and done > 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge_label_index(nobel, tmp_path / "parts", embedder=NeverAsked(), progress=stop)
    assert_same_index(merge_label_index(nobel, tmp_path / "parts", embedder=NeverAsked()), whole, vectors=True)


def test_a_missing_shard_is_named(nobel: OxigraphGraph, tmp_path: Path) -> None:
    index_shards(nobel, tmp_path, 4, leave_out=3)
    with pytest.raises(StoreError, match=r"shard 3/4 is missing") as caught:
        merge_label_index(nobel, tmp_path, embedder=None)
    assert caught.value.hint == "with the options of the others, run: kgsparql index -k nobel --shard 3/4"
    build_label_index(nobel, tmp_path, embedder=None, shard=Shard(3, 4))
    assert merge_label_index(nobel, tmp_path, embedder=None).rows


def test_without_any_shard_there_is_nothing_to_merge(nobel: OxigraphGraph, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no shard of what nobel has now is finished"):
        merge_label_index(nobel, tmp_path, embedder=None)


def test_a_half_written_shard_is_not_merged(nobel: OxigraphGraph, tmp_path: Path) -> None:
    index_shards(nobel, tmp_path, 2)
    (tmp_path / FOLDER / "2-of-2" / MANIFEST).unlink()
    with pytest.raises(StoreError, match=r"shard 2/2 is missing or not finished"):
        merge_label_index(nobel, tmp_path, embedder=None)


def test_a_shard_whose_table_is_damaged_is_not_merged(nobel: OxigraphGraph, tmp_path: Path) -> None:
    index_shards(nobel, tmp_path, 2)
    for table in (tmp_path / FOLDER / "1-of-2").glob("labels_*.lance"):
        shutil.rmtree(table)
    with pytest.raises(StoreError, match=r"missing or not finished"):
        merge_label_index(nobel, tmp_path, embedder=None)
    assert open_label_index(nobel, tmp_path) is None


def test_shards_of_another_count_are_refused(nobel: OxigraphGraph, tmp_path: Path) -> None:
    index_shards(nobel, tmp_path, 2)
    build_label_index(nobel, tmp_path, embedder=None, shard=Shard(1, 3))
    with pytest.raises(StoreError, match=r"shards of several counts, as 1/2 and 1/3"):
        merge_label_index(nobel, tmp_path, embedder=None)


def test_a_shard_of_another_state_of_the_graph_is_refused(nobel: OxigraphGraph, tmp_path: Path) -> None:
    index_shards(nobel, tmp_path, 2)
    path = tmp_path / FOLDER / "2-of-2" / MANIFEST
    changed = {**json.loads(path.read_text(encoding="utf-8")), "fingerprint": "x"}
    path.write_text(json.dumps(with_digest(changed)), encoding="utf-8")
    with pytest.raises(IndexStaleError, match=r"shard 2/2 was made from other data"):
        merge_label_index(nobel, tmp_path, embedder=None)


def test_shards_with_vectors_of_another_model_are_refused(nobel: OxigraphGraph, tmp_path: Path) -> None:
    index_shards(nobel, tmp_path, 2, embedder=HashedEmbedder(), leave_out=2)
    build_label_index(nobel, tmp_path, embedder=HashedEmbedder(name="other"), shard=Shard(2, 2))
    with pytest.raises(ModelMismatchError, match=r"shard 2/2 has vectors of other"):
        merge_label_index(nobel, tmp_path, embedder=HashedEmbedder())
    with pytest.raises(ModelMismatchError, match=r"not of no model"):
        merge_label_index(nobel, tmp_path, embedder=None)


def test_a_shard_goes_on_where_it_was_stopped(
    nobel: OxigraphGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgsparql.linking.label_index.vectors.KEEP_EVERY", 16)
    monkeypatch.setattr("kgsparql.linking.label_index.vectors._EMBED_AT_ONCE", 16)

    def stop(what: str, done: int, of: int | None) -> None:
        if what == "embedding labels" and done > 40:
            raise KeyboardInterrupt

    index_shards(nobel, tmp_path, 2, embedder=HashedEmbedder(), leave_out=1)
    with pytest.raises(KeyboardInterrupt):
        build_label_index(nobel, tmp_path, embedder=HashedEmbedder(), shard=Shard(1, 2), progress=stop)
    with pytest.raises(ModelMismatchError, match=r"shard 1/2 has vectors of no model"):
        merge_label_index(nobel, tmp_path, embedder=HashedEmbedder())
    build_label_index(nobel, tmp_path, embedder=HashedEmbedder(), shard=Shard(1, 2))
    whole = build_label_index(nobel, tmp_path / "whole", embedder=HashedEmbedder())
    assert_same_index(merge_label_index(nobel, tmp_path, embedder=NeverAsked()), whole, vectors=True)
