"""Rows of the catalogue that need a place of their own: full and read-only disks, stores replaced under a reader."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.world import EX, ROOT

pytestmark = [pytest.mark.deep, pytest.mark.skipif(sys.platform != "linux", reason="mounts file systems")]

COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
QUESTION = "What is the p of thing 7 of 433?"
K = (sys.executable, "-m", "kgsparql")


def labelled(count: int) -> str:
    """Things with a label each, and one fact."""
    lines = [
        f'<{EX}{i}> <http://www.w3.org/2000/01/rdf-schema#label> "thing {i} of {i * 7919 % 1000}" .'
        for i in range(count)
    ]
    return "\n".join([*lines, f"<{EX}7> <{EX}p> <{EX}8> .", ""])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store ``S``, and a cache of its own."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "a.nt").write_text(labelled(50), encoding="utf-8")
    assert kgsparql(tmp_path, "load", "a.nt", "--store", "S").returncode == 0
    return tmp_path


def kgsparql(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own; it never shows a traceback."""
    command = [*K, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


def in_own_mounts(folder: Path, script: str) -> list[str]:
    """The lines that a shell script writes which may mount file systems; 99 says that it cannot."""
    command = ["unshare", "-rm", "sh", "-c", script]
    own = {**os.environ, "COUNT": COUNT, "QUESTION": QUESTION, "K": " ".join(K)}
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=own, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.returncode == 99 or "unshare:" in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done.stdout.splitlines()


def test_S06_a_store_on_a_disk_that_is_full_to_the_last_byte_answers(place: Path) -> None:
    (place / "small").mkdir()
    lines = in_own_mounts(place, """
mount -t tmpfs -o size=24m tmpfs small || exit 99
$K load a.nt --store small/S -q || exit 98
dd if=/dev/zero of=small/fill bs=1k 2>/dev/null; dd if=/dev/zero of=small/rest bs=1 2>/dev/null
for n in 1 2; do
  $K query "$COUNT" -k small/S -f csv -q; echo "query $?"
  export KGSPARQL_CACHE_DIR=small/cache
  $K ask "$QUESTION" -k small/S --no-model --embedder none -q >/dev/null 2>&1; echo "ask $?"
done
""")  # fmt: skip
    assert (lines.count("query 0"), lines.count("51")) == (2, 2)
    assert {line for line in lines if line.startswith("ask ")} <= {"ask 0", "ask 3"}


def test_S16_a_store_that_is_read_only_and_a_cache_that_is_none(place: Path) -> None:
    (place / "file").write_text("not a directory", encoding="utf-8")
    (place / "b.nt").write_text(f"<{EX}a> <{EX}p> <{EX}b> .\n", encoding="utf-8")
    for cache in (str(place / "file"), "/proc/nowhere"):
        asked = kgsparql(
            place, "ask", QUESTION, "-k", "S", "--no-model", "--embedder", "none", KGSPARQL_CACHE_DIR=cache
        )
        assert asked.returncode in {0, 3}, asked.stderr
        indexed = kgsparql(place, "index", "-k", "S", "--embedder", "none", KGSPARQL_CACHE_DIR=cache)
        assert (indexed.returncode, "E_STORE" in indexed.stderr) == (4, True), indexed.stderr
    lines = in_own_mounts(place, """
mount --bind S S 2>/dev/null && mount -o remount,bind,ro S || exit 99
$K query "$COUNT" -k S -f csv -q; echo "query $?"
$K ask "$QUESTION" -k S --no-model --embedder none -q >/dev/null; echo "ask $?"
$K load b.nt --store S -q 2>said; echo "load $?"; grep -c "hint: " said
""")  # fmt: skip
    assert "query 0" in lines
    assert {"ask 0", "ask 3"} & set(lines)
    assert "load 0" in lines or ("load 4" in lines and lines[-1] == "1"), lines


SLOWLY = """
import sys, kgsparql
from tests.unit.hashed_embedder import HashedEmbedder
kgsparql.open(sys.argv[1], embedder=HashedEmbedder(delay_s=0.3)).indexes.build()
"""


def test_S15_a_graph_is_asked_while_its_index_is_built(place: Path) -> None:
    file = place / "many.nt"
    file.write_text(labelled(1_000), encoding="utf-8")
    command, own = [sys.executable, "-c", SLOWLY, str(file)], {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=place, env=own) as building:
        asked = 0
        while building.poll() is None or asked < 2:
            found = kgsparql(place, "ask", QUESTION, "-k", file, "--no-model", "--embedder", "none", "-f", "json")
            assert json.loads(found.stdout)["linked"][0]["term"]["value"] == f"{EX}7", found.stderr
            asked += 1
    assert building.returncode == 0
    found = kgsparql(place, "find", "thing 999 of 81", "-k", file, "--embedder", "none", "-f", "json").stdout
    assert found.count(f"{EX}999>") + found.count(f'{EX}999"') >= 1


READER = """
import sys, kgsparql
knowledge = kgsparql.open(sys.argv[1], embedder="none")
def said():
    answer = knowledge.ask(sys.argv[2], model=None)
    return [link.term.value for link in answer.linked], [str(a.term) for a in answer.answers][:3]
print(said(), flush=True)
for line in sys.stdin:
    print(said(), flush=True)
"""


def test_S18_an_open_reader_goes_on_with_what_it_opened(place: Path) -> None:
    command = [sys.executable, "-c", READER, "S", QUESTION]
    with subprocess.Popen(
        command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        before = reader.stdout.readline()
        assert f"{EX}8" in before
        for change in (("index", "-k", "S", "--embedder", "none"), ("cache", "--clear", "all")):
            assert kgsparql(place, *change).returncode == 0
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == before, change
        reader.stdin.close()
        assert reader.wait(30) == 0
