"""Stores on disk: whole or absent, whatever happens (rows S of the catalogue)."""

import gzip
import io
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import kgsparql.graphs.sources
from kgsparql import IRI, Query, open_graph
from kgsparql.errors import GraphLoadError, StoreError, StoreLockedError
from kgsparql.graphs.stores import describe_store, load_store, open_store
from kgsparql.storage.files import is_disk_full
from tests.cli.lock_holder import lock_held
from tests.deep import DEEP
from tests.world import ROOT

LOAD = (
    "import sys\n"
    "from kgsparql.graphs.stores import load_store\n"
    "try:\n"
    "    load_store(sys.argv[1], sys.argv[2], progress=lambda *step: print(step[0], flush=True))\n"
    "except KeyboardInterrupt:\n"
    "    sys.exit(130)\n"
)


def triples(count: int, word: str = "v") -> bytes:
    return b"".join(b'<http://e.org/%d> <http://e.org/p> "%s" .\n' % (n, word.encode()) for n in range(count))


def nt(directory: Path, name: str, count: int, word: str = "v") -> Path:
    path = directory / name
    path.write_bytes(triples(count, word))
    return path


def contents(store: Path) -> list[str]:
    """Every quad of a store, opened as any other program would."""
    return sorted(str(quad) for quad in ox.Store.read_only(str(store)))


def beside(store: Path) -> list[str]:
    return sorted(entry.name for entry in store.parent.iterdir() if entry.name.startswith(store.name))


def refused(kind: type[Exception], match: str, *given: Any, **options: Any) -> Any:
    """The error of a load that must fail."""
    with pytest.raises(kind, match=match or None) as caught:
        load_store(*given, **options)
    return caught.value


def code_of(match: str, use: Callable[[Path], object], directory: Path) -> str:
    with pytest.raises(StoreError, match=match) as caught:
        use(directory)
    return caught.value.code


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store may be made, with a name that shells and globs would trip over."""
    (tmp_path / "a store [ü] *").mkdir()
    return tmp_path / "a store [ü] *" / "my store.db"


@pytest.fixture
def five(tmp_path: Path, store: Path) -> Path:
    """A file of five triples, in the store."""
    path = nt(tmp_path, "five [a].nt", 5)
    load_store(path, store)
    return path


def test_load_open_describe(tmp_path: Path, store: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    path = nt(tmp_path, "fünf 5.nt", 5)
    loaded = load_store(path, store, progress=lambda *step: steps.append(step))
    assert [(s.triples, s.graph, s.source) for s in loaded] == [(5, None, str(path))]
    assert {phase for phase, _, _ in steps} == {"reading", "writing"}
    assert beside(store) == ["my store.db"]
    assert describe_store(store).sources == loaded
    graph = open_graph(store)
    assert len(graph.select(Query("all", "SELECT * { ?s ?p ?o }"))) == 5
    assert graph.name == str(store)
    assert graph.fingerprint == open_store(store).fingerprint
    with pytest.raises(RuntimeError):
        graph.store.add(ox.Quad(IRI("http://e.org/x"), IRI("http://e.org/x"), IRI("http://e.org/x")))


def test_named_graphs_on_request(tmp_path: Path, store: Path) -> None:
    trig = tmp_path / "data.trig"
    trig.write_bytes(triples(1) + b'GRAPH <http://e.org/g> { <http://e.org/a> <http://e.org/p> "in g" }')
    load_store(trig, store, has_graphs=True)
    assert [line.rpartition(" ")[2] for line in contents(store)] == [f"<{trig.as_uri()}>", "<http://e.org/g>"]
    assert describe_store(store).sources[0].graphs == ("http://e.org/g",)


def test_stdin_and_blank_nodes_of_two_files(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(triples(4) + b"_:a <http://e.org/p> _:a .\n")))
    (tmp_path / "other.nt").write_bytes(b"_:a <http://e.org/p> _:b .\n")
    loaded = load_store(["-", tmp_path / "other.nt"], store, format="nt")
    assert [(s.source, s.triples) for s in loaded] == [("-", 5), (str(tmp_path / "other.nt"), 1)]
    assert beside(store) == ["my store.db"]
    assert len({line.split()[0] for line in contents(store) if line.startswith("_:")}) == 2  # L30


def test_a_bad_second_file_leaves_nothing_and_a_store_is_made_once(tmp_path: Path, store: Path) -> None:
    good, bad = nt(tmp_path, "good.nt", 5), tmp_path / "bad.nt"
    bad.write_bytes(triples(3) + b"<http://e.org/a> <http://e.org/p>")
    error = refused(GraphLoadError, r"bad\.nt:4:", [good, bad], store)
    assert (error.code, error.detail["line"], beside(store)) == ("E_PARSE", 4, [])
    load_store(good, store)
    before = contents(store)
    assert "made once, of all its files" in refused(StoreError, "not empty", good, store).hint
    assert (contents(store), beside(store)) == (before, ["my store.db"])


def test_other_directories_are_not_replaced_and_stores_of_others_are_opened(tmp_path: Path) -> None:
    path = nt(tmp_path, "a.nt", 1)
    refused(StoreError, "not empty", path, tmp_path)
    refused(StoreError, "not a directory", path, path)
    (tmp_path / "empty").mkdir()
    load_store(path, tmp_path / "empty")
    assert len(contents(tmp_path / "empty")) == 1
    assert code_of("not a store", open_store, tmp_path)
    made = ox.Store(str(tmp_path / "S"))
    made.add(ox.Quad(IRI("http://e.org/x"), IRI("http://e.org/x"), IRI("http://e.org/x")))
    del made
    assert (len(open_graph(tmp_path / "S").store), describe_store(tmp_path / "S").sources) == (1, ())


def run_load(path: Path, store: Path) -> subprocess.Popen[str]:
    code = [sys.executable, "-c", LOAD, str(path), str(store)]
    return subprocess.Popen(code, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.parametrize("phase", ["reading", "writing"])
def test_ctrl_c_during_a_load(tmp_path: Path, store: Path, phase: str) -> None:
    process = run_load(nt(tmp_path, "big.nt", 300_000, "big"), store)
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.strip() == phase:
                break
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert time.monotonic() - start < 10
    assert beside(store) == []


@pytest.mark.longer
def test_S01_S02_kill_at_any_moment(tmp_path: Path, store: Path) -> None:
    big = nt(tmp_path, "big.nt", 60_000, "big")
    chance = random.Random(1)  # noqa: S311
    whole = 0
    kills = 20 if DEEP else 4
    for _ in range(kills):
        process = run_load(big, store)
        assert process.stdout is not None
        with process.stdout:
            time.sleep(chance.uniform(0.05, 0.7))
            process.kill()
            process.wait(10)
        if store.exists():  # it was quicker than the kill: start again
            whole += len(contents(store)) == 60_000
            shutil.rmtree(store)
    assert len(load_store(big, store)) == 1
    assert len(contents(store)) == 60_000
    assert whole < kills
    assert beside(store) == ["my store.db"]


def test_S07_S08_second_writer(five: Path, store: Path) -> None:
    with lock_held(store) as holder:
        start = time.monotonic()
        error = refused(StoreLockedError, f"process {holder.pid}", five, store)
        assert time.monotonic() - start < 10
        assert (error.code, error.retryable, error.detail["pid"]) == ("E_STORE_LOCKED", True, holder.pid)
        assert len(open_store(store).store) == 5  # readers go on
        holder.kill()  # what it leaves behind is not in the way
        holder.wait(10)
    assert store.with_name(f"{store.name}.lock").exists()
    refused(StoreError, "not empty", five, store)
    assert not store.with_name(f"{store.name}.lock").exists()


def test_S05_disk_full(tmp_path: Path) -> None:
    assert is_disk_full(OSError("IO error: No space left on device: While appending to file"))
    assert not is_disk_full(OSError("IO error: While opening a file"))
    small = tmp_path / "small"
    small.mkdir()
    code = (
        "import sys\nfrom kgsparql.graphs.stores import load_store\nfrom kgsparql.errors import DiskFullError\n"
        "from pathlib import Path\n"
        "try:\n    load_store(sys.argv[1], sys.argv[2])\n"
        "except DiskFullError as error:\n"
        "    print(error.code, sorted(p.name for p in Path(sys.argv[2]).parent.iterdir()))\n"
    )
    arguments = [str(nt(tmp_path, "big.nt", 300_000)), str(small / "S")]
    script = 'mount -t tmpfs -o size=12m tmpfs "$1" && shift && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(small), sys.executable, "-c", code, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("a small file system cannot be mounted here")
    assert done.stdout.strip() == "E_DISK_FULL []", done.stderr


@pytest.mark.usefixtures("five")
def test_S11_a_store_of_a_newer_version_or_without_some_of_its_files(store: Path) -> None:
    manifest = store / "kgsparql.json"
    newer = json.dumps({**json.loads(manifest.read_text()), "version": 99})
    for text, code, said in ((newer, "E_VERSION", "newer"), ("{", "E_STORE_CORRUPT", "manifest|damaged")):
        manifest.write_text(text)
        assert code_of(said, open_store, store) == code
    (store / "CURRENT").unlink()
    assert code_of("damaged", open_graph, store) == "E_STORE_CORRUPT"


@pytest.fixture
def cached_from_1000_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kgsparql.graphs.sources, "CACHE_FROM_BYTES", 1000)


def opened(sources: Path | Sequence[Path], **options: bool) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    graph = open_graph(sources, notes=notes.append, **options)  # type: ignore[arg-type]
    return notes, sorted(str(quad) for quad in graph.store)


@pytest.mark.usefixtures("cached_from_1000_bytes")
def test_big_files_are_kept_in_the_cache(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "big.nt.gz"
    path.write_bytes(gzip.compress(triples(500)))
    (own_cache / "graphs").mkdir(exist_ok=True)
    before = {*(own_cache / "graphs").iterdir()}  # of other tests
    notes, quads = opened(path)
    assert len(notes) == 1
    assert "--no-cache" in notes[0]
    assert str(own_cache) in notes[0]
    assert opened(path) == ([], quads)
    assert opened(path, cache=False) == ([], quads)
    assert len({*(own_cache / "graphs").iterdir()} - before) == 1
    path.write_bytes(gzip.compress(triples(501)))
    assert len(opened(path)[1]) == 501
    assert open_graph(path).name == str(path)
    assert opened(nt(tmp_path, "small.nt", 3))[0] == []


@pytest.mark.usefixtures("cached_from_1000_bytes")
def test_the_newest_two_stores_of_a_file_stay(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept() -> set[str]:
        return {entry.name for entry in (own_cache / "graphs").iterdir()}

    monkeypatch.chdir(tmp_path)
    opened(nt(tmp_path, "other.nt", 300))
    others = kept()
    made = []
    for number in range(200, 205):
        nt(tmp_path, "a.nt", number)
        before = kept()
        opened(Path("a.nt") if number % 2 else tmp_path / "a.nt")
        made += kept() - before
    assert len(made) == 5
    assert kept() == others | set(made[-2:])
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    opened(nt(tmp_path / "below", "a.nt", 206).relative_to(tmp_path / "below"))
    assert kept() > others | set(made[-2:])  # another file of that name


@pytest.mark.usefixtures("cached_from_1000_bytes")
def test_what_was_skipped_is_kept_with_the_graph_wherever_it_is(tmp_path: Path, store: Path) -> None:
    paths = [tmp_path / "bad.nt", tmp_path / "same.nt"]
    for path in paths:
        path.write_bytes(triples(30) + b"<bad>\n<worse>\n")
    load_store(paths[0], store, skip_bad=True)
    fresh = open_graph(paths[0], skip_bad=True, cache=False)
    made, found = (open_graph(paths[0], skip_bad=True) for _ in range(2))
    for graph in (fresh, made, found, open_graph(store)):
        assert [(s.source, s.triples, s.skipped) for s in graph.stored] == [(str(paths[0]), 30, 2)]
        (note,) = graph.notes
        assert note.startswith(f"2 bad statements were skipped in {paths[0]}; the first: {paths[0]}:31:")
    (note,) = open_graph(paths[1], skip_bad=True).notes  # the same bytes under another name
    assert note.startswith(f"2 bad statements were skipped in {paths[1]}; the first: {paths[1]}:31:")
    assert open_graph(nt(tmp_path, "good.nt", 5), skip_bad=True).notes == ()


def test_each_file_in_memory_has_the_triples_it_brought_which_may_repeat(tmp_path: Path, store: Path) -> None:
    quad = b'<http://e.org/a> <http://e.org/p> "%s" <http://e.org/g> .\n'
    (tmp_path / "a.nq").write_bytes(quad % b"one" + quad % b"two" + b'_:a <http://e.org/p> "x" _:g .\n')
    (tmp_path / "b.nq").write_bytes(quad % b"two" + quad % b"three" + triples(2) + triples(2))
    graph = open_graph([tmp_path / "a.nq", tmp_path / "b.nq", nt(tmp_path, "c.nt", 2)])
    assert [s.triples for s in graph.stored] == [3, 3, 2]
    assert len(graph.store) == 8
    files = [tmp_path / "c.nt", nt(tmp_path, "d.nt", 2)]
    assert not open_graph(files[0]).may_repeat_triples
    assert open_graph(files).may_repeat_triples  # there is more than one graph
    load_store(files[0], store)
    assert not open_graph(store).may_repeat_triples
    load_store(files, store.with_name("both"), has_graphs=True)
    assert open_graph(store.with_name("both")).may_repeat_triples


@pytest.mark.usefixtures("cached_from_1000_bytes")
def test_a_cache_that_is_not_writable_is_said_and_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = nt(tmp_path, "a.nt", 50)
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(file / "below a file"))
    notes, quads = opened(file)
    assert len(quads) == 50
    assert any("KGSPARQL_CACHE_DIR" in note for note in notes)
