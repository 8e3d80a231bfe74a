"""What kgsparql keeps can be trusted or is made anew: no flipped byte, lost tail or other version gives a wrong answer.

Each kind is made once by the code that makes it for a user. Of a copy, some bytes of one file are changed; what is then
read is what was read before, or nothing, so that it is made anew, or the error has a code and a hint.
"""

import functools
import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from starlette.testclient import TestClient

import kgsparql
from kgsparql import AskOptions, KgsparqlError, OxigraphGraph, Query, Solutions, open_graph
from kgsparql.evaluation.run_directory import Run
from kgsparql.exploration import counting
from kgsparql.exploration.counting import counted
from kgsparql.graphs import oxigraph
from kgsparql.graphs.adjacency import open_adjacency
from kgsparql.graphs.files import ReadOptions, rdf_files
from kgsparql.graphs.stores import graph_in_cache, load_store, open_store, place_in_cache
from kgsparql.linking.graph_indexes import build_label_index, index_directory, open_label_index
from kgsparql.models.embedders import VectorStore
from kgsparql.resources import cache_directory
from kgsparql.serving.app import ServedPage
from kgsparql.serving.runs import AskedRun, KeptRuns
from kgsparql.serving.sparql import BoundedQueries
from kgsparql.storage.response_cache import ResponseCache
from tests.deep import DEEP
from tests.unit.hashed_embedder import HashedEmbedder
from tests.unit.test_run_directory import CONFIG, QUESTION, RECORD
from tests.world import NOBEL

ALL = Query("all", "SELECT ?s ?p ?o WHERE { ?s ?p ?o }")
ANEW = "made anew"
FLIPS = 500 if DEEP else 6


@dataclass(frozen=True)
class Kind:
    """A kind of what is kept.

    :param make: makes it below a directory.
    :param read: what a user gets of it; ``ANEW`` for nothing, so that it is made anew.
    :param version: a pattern of its version in one of its files, as text; empty if another number is read as another
        file's, or is a hash.
    """

    make: Callable[[Path], None]
    read: Callable[[Path], object]
    version: str = ""


@functools.cache
def _nobel() -> OxigraphGraph:
    graph = open_graph(NOBEL)
    assert isinstance(graph, OxigraphGraph)
    return graph


def _rows(graph: OxigraphGraph) -> object:
    listed = sorted(str(sorted(map(str, row.values()))) for row in graph.select(ALL))
    return listed, graph.prefixes, [s.source for s in graph.stored]


def _store(directory: Path) -> None:
    load_store(NOBEL, directory / "S")


def _label_index(directory: Path) -> None:
    graph = _nobel()
    build_label_index(graph, index_directory(graph, directory), embedder=HashedEmbedder())


def _found_labels(directory: Path) -> object:
    graph, embedder = _nobel(), HashedEmbedder()
    index = open_label_index(index_directory(graph, directory), embedder=embedder)
    if index is None or index.embedder is None:
        return ANEW
    near = index.nearest(embedder.embed(["physicist", "Paris"]), limit=5)
    return index.exact(["marie curie", "paris"]), index.with_words(["nobel", "prize"], limit=20), near, index.row_count


def _vectors(directory: Path) -> None:
    with closing(VectorStore(directory / "v.sqlite")) as store:
        store.put({bytes([i]) * 20: _vector(i) for i in range(20)})


def _vector(number: int) -> Any:
    vector = np.random.default_rng(number).normal(size=64).astype(np.float32)
    return vector / np.linalg.norm(vector)


def _kept_vectors(directory: Path) -> object:
    with closing(VectorStore(directory / "v.sqlite")) as store:
        return {key: vector.tolist() for key, vector in store.get([bytes([i]) * 20 for i in range(20)]).items()}


def _exchanges(directory: Path) -> None:
    with ResponseCache(directory / "e.sqlite") as cache:
        for i in range(20):
            cache.put("model", {"q": i}, {"answer": f"the answer is {i}", "tokens": i} if i else {})


def _replies(directory: Path) -> object:
    with ResponseCache(directory / "e.sqlite") as cache:
        found = {i: cache.get("model", {"q": i}) for i in range(20)}
    return {i: reply for i, reply in found.items() if reply is not None}


def _run(directory: Path) -> None:
    run = Run.begin(directory, {**CONFIG, "questions": 1}, [QUESTION])
    run.add(RECORD)


def _records(directory: Path) -> object:
    run = Run.open(directory)
    found = run.questions, run.records("mindmap"), run.dataset, run.model
    return found if found[1] else ANEW  # a question without an answer is asked again


def _adjacency(directory: Path) -> None:
    os.environ["KGSPARQL_CACHE_DIR"] = str(directory)
    assert _nobel().reopened().built_adjacency() is not None


def _paths(directory: Path) -> object:
    os.environ["KGSPARQL_CACHE_DIR"] = str(directory)
    revision = _nobel().revision
    assert revision is not None
    found = open_adjacency(revision)
    return ANEW if found is None else [found.others.tolist(), found.names.tolist(), found.about.tolist()]


def _count(directory: Path) -> None:
    os.environ["KGSPARQL_CACHE_DIR"] = str(directory)
    counted(_nobel(), Query.load("info_classes"))


def _counts(directory: Path) -> object:
    os.environ["KGSPARQL_CACHE_DIR"] = str(directory)
    anew = False

    def again(query: Query) -> Solutions:
        nonlocal anew
        anew = True
        return _nobel().select(query)

    found = list(map(str, counted(_nobel(), Query.load("info_classes"), again)))
    return ANEW if anew else found


KINDS = {
    "store": Kind(_store, lambda d: _rows(open_store(d / "S", name="S")), r'"version": 1'),
    "label index": Kind(_label_index, _found_labels, r'"version": 1'),
    "vectors": Kind(_vectors, _kept_vectors),
    "exchanges": Kind(_exchanges, _replies),
    "run": Kind(_run, _records, r'"format": 3'),
    "page run": Kind(
        lambda d: KeptRuns(d).put("a" * 32, {"text": "Marie Curie", "n": [1, 2.5, None]}),
        lambda d: KeptRuns(d).get("a" * 32) or ANEW,
    ),
    "adjacency": Kind(_adjacency, _paths, r"adjacency-7"),
    "counts": Kind(_count, _counts),
}
_OF_THEIR_LENGTH = {"adjacency", "counts", "exchanges", "label index"}
"""Of these, only a lost tail is noticed."""
_PARTIAL = {"vectors", "exchanges"}
"""Of these, each part that is damaged is made anew by itself."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    places: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in places:
            places[name] = tmp_path_factory.mktemp("kept")
            KINDS[name].make(places[name])
        return places[name]

    return make


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setattr(counting, "_KEPT_S", 0.0)
    monkeypatch.setattr(oxigraph, "MIN_TRIPLES", 0)


def _files(directory: Path) -> list[Path]:
    """What is written by kgsparql; ``LOG`` and ``OPTIONS`` are for people and are not read, ``-shm`` is made anew."""
    found = (file for file in directory.rglob("*") if file.is_file() and file.stat().st_size)
    return sorted(f for f in found if not re.match(r"LOG|LOCK|IDENTITY|OPTIONS|.*-shm|.*\.lock", f.name))


def _check(name: str, directory: Path, expected: object, *, what: str) -> str:
    """Whether what is read is right; what came of it."""
    caught: KgsparqlError | None = None
    try:
        found = KINDS[name].read(directory)
    except KgsparqlError as error:
        caught = error
    if caught is not None:
        assert caught.code != "E_INTERNAL", what
        assert caught.hint, f"{what}: no hint: {caught.message}"
        return caught.code
    if name in _PARTIAL:
        assert isinstance(found, dict), what
        assert isinstance(expected, dict), what
        assert found.items() <= expected.items(), what
    else:
        assert found in (expected, ANEW), what
    return "same" if found == expected else ANEW


def _damages(directory: Path, seed: int) -> Iterator[tuple[Path, bytes, str]]:
    """A file, its bytes after damage, and what was done."""
    chosen = random.Random(seed)  # noqa: S311
    files = _files(directory)
    for number in range(FLIPS + 2 * min(len(files), FLIPS)):
        file = files[number % len(files)]
        data = bytearray(file.read_bytes())
        place = chosen.randrange(len(data))
        if number < FLIPS:
            bit = chosen.randrange(8)
            data[place] ^= 1 << bit
            yield file, bytes(data), f"bit {bit} of byte {place} of {file.name} flipped"
        else:
            yield file, bytes(data[:place]), f"{file.name} cut at {place} of {len(data)}"


@pytest.mark.longer
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("name", sorted(KINDS.keys() - {"run"}))  # which is text
def test_S12_a_flipped_bit_or_lost_tail_misleads_nobody(name: str, made: Callable[[str], Path], tmp_path: Path) -> None:
    original = made(name)
    expected = KINDS[name].read(original)
    assert expected != ANEW
    came = set()
    for file, data, what in islice(_damages(original, seed=18), FLIPS if name in _OF_THEIR_LENGTH else 0, None):
        copy = tmp_path / "copy"
        shutil.copytree(original, copy)
        (copy / file.relative_to(original)).write_bytes(data)
        came.add(_check(name, copy, expected, what=f"{name}: {what}"))
        shutil.rmtree(copy)
    assert came - {"same"}, "no damage was seen: the test damages what nobody reads"


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.version])
def test_S11_another_version_is_an_error_or_made_anew(name: str, made: Callable[[str], Path], tmp_path: Path) -> None:
    for number in (0, 98, 99):
        copy = Path(shutil.copytree(made(name), tmp_path / str(number)))
        expected = KINDS[name].read(copy)
        changed = re.sub(r"\d", str(number), KINDS[name].version).encode()
        for file in _files(copy):
            file.write_bytes(file.read_bytes().replace(KINDS[name].version.encode(), changed))
        assert _check(name, copy, expected, what=f"{name} of version {number}") != "same"


def test_a_store_with_a_damaged_table_is_called_damaged_by_each_way_to_read_it(tmp_path: Path) -> None:
    load_store(NOBEL, tmp_path / "S")
    for table in (tmp_path / "S").glob("*.sst"):
        data = bytearray(table.read_bytes())
        data[len(data) // 4] ^= 64
        table.write_bytes(data)
    for use in (
        lambda: open_store(tmp_path / "S").select(ALL),
        lambda: list(open_store(tmp_path / "S").quads()),
        lambda: kgsparql.open(tmp_path / "S", embedder="none").ask("Who is Marie Curie?", model=None),
    ):
        with pytest.raises(KgsparqlError, match="damaged") as caught:
            use()
        assert caught.value.code == "E_STORE_CORRUPT"


def test_a_flipped_bit_in_the_engines_list_of_tables_or_a_lost_tail_is_damage(tmp_path: Path) -> None:
    """Of a list that is cut off the engine reads what is left: triples were missing without a word."""
    load_store(NOBEL, tmp_path / "S")
    (listed,) = (tmp_path / "S").glob("MANIFEST-*")
    whole, at = listed.read_bytes(), listed.stat().st_size * 3 // 5
    for data in (whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :], whole[:at], whole[:-1]):
        listed.write_bytes(data)
        with pytest.raises(KgsparqlError, match="damaged"):
            open_store(tmp_path / "S")
    load_store(NOBEL, tmp_path / "T")
    another = ox.Store(str(tmp_path / "T"))
    another.add(ox.Quad(ox.NamedNode("http://e.org/a"), ox.NamedNode("http://e.org/b"), ox.Literal("c")))
    del another  # another program, which makes a list of its own
    assert len(open_store(tmp_path / "T").store) == 3_535


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("umask", [0, 0o022])
def test_only_its_owner_reads_copies_of_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int) -> None:
    cache, store, before = tmp_path / "cache", tmp_path / "S", os.umask(umask)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(cache))
    try:
        graph = graph_in_cache(files := rdf_files(NOBEL), options := ReadOptions(), place_in_cache(files, options))
        build_label_index(graph, index_directory(graph, cache), embedder=None)
        graph.built_adjacency()
        load_store(NOBEL, store)
        kept = [*cache.glob("*/*"), store]
        assert {path.parent.name for path in kept} >= {"graphs", "labels", "adjacency"}
        assert {path.stat().st_mode & 0o077 for path in kept if path.is_dir()} == {0}
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_only_its_owner_may_look_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KGSPARQL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "kgsparql" / "labels").mkdir(0o755, parents=True)
    assert cache_directory() == tmp_path / "kgsparql"
    assert (tmp_path / "kgsparql").stat().st_mode & 0o777 == 0o700
    shared = tmp_path / "shared"
    shared.mkdir(0o755)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kgsparql").symlink_to(shared)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert cache_directory().resolve() == shared
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(shared))
    assert cache_directory() == shared
    assert shared.stat().st_mode & 0o777 == 0o755


def test_an_answer_of_the_page_that_cannot_be_kept_is_shown_all_the_same(tmp_path: Path) -> None:
    """It was told to be a bug in kgsparql, and lost: it may have cost money."""
    (tmp_path / "runs").touch()
    knowledge, asking = kgsparql.open(NOBEL, embedder="none"), AskOptions(model=None)
    page = ServedPage(knowledge, asking, KeptRuns(tmp_path / "runs"), BoundedQueries(knowledge))
    run = AskedRun("Where was Marie Curie born?", asking, {})
    frozen = page.freeze(run, knowledge.ask(run.question, model=None))
    assert "Warsaw" in frozen["answer"]["text"]
    (note,) = frozen["answer"]["notes"]
    assert note["code"] == "not_kept"
    assert "File exists" in note["text"]


def test_a_run_of_the_version_before_is_shown_without_drawing(nobel: kgsparql.KnowledgeBase, tmp_path: Path) -> None:
    page = ServedPage(nobel, AskOptions(model=None), kept := KeptRuns(tmp_path), BoundedQueries(nobel))
    frozen = page.freeze(AskedRun("Where was Marie Curie born?", AskOptions(), {}), nobel.ask("Where was Curie born?"))
    kept.put("a" * 32, frozen)
    kept.put("b" * 32, {**frozen, "drawing": {"nodes": [], "edges": [], "left_out": 0}})
    with TestClient(page.app, base_url="http://127.0.0.1:8000") as client:
        shown = [client.get(f"/api/runs/{name * 32}").json()["drawing"] for name in "ab"]
    assert shown == [json.loads(json.dumps(frozen["drawing"])), None]
    assert shown[0]["view"]
