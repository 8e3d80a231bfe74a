"""Rows S on stores: killed, full, locked, flipped, of another version, read-only."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from benchmarks.hostile.load import LABEL
from benchmarks.hostile.processes import check, marked, run
from benchmarks.hostile.rows import EX, NOBEL, CannotRun, Place, row

WORKER_MIB = 4096 + 300
"""What the process of a query may take, beside what kgsparql itself takes."""

COUNT = "SELECT (COUNT(*) AS ?v) { ?s ?p ?o }"


def triples(count: int, word: str = "v") -> bytes:
    """N-Triples."""
    return b"".join(b'<http://e.org/%d> <http://e.org/p> "%s" .\n' % (n, word.encode()) for n in range(count))


def labelled(count: int) -> str:
    """Things with names of their own."""
    return "".join(f'<{EX}{n}> {LABEL} "thing {n} of {n * 7919 % 1000}" .\n' for n in range(count))


def beside(store: Path) -> list[str]:
    """What has the name of a store, with whatever after it."""
    return sorted(one.name for one in store.parent.iterdir() if one.name.startswith(store.name))


def held(store: Path) -> int:
    """How many quads a store has, as any other program sees it; -1 if there is none."""
    if not (store / "CURRENT").exists():
        return -1
    return len(ox.Store.read_only(str(store)))


def killed(at: Place, after_s: float, *arguments: object, env: dict[str, str] | None = None) -> int:
    """Start ``kgsparql``, and kill it then; what it says, or -9."""
    with subprocess.Popen(
        [at.kgsparql, *map(str, arguments)], cwd=at.folder, env={**at.environment, **(env or {})},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.kill()
        process.wait()
    return process.returncode


def all_gone(at: Place, within_s: float = 10.0) -> None:
    """What a killed process had started ends by itself."""
    deadline = time.monotonic() + within_s
    while (left := marked(at.mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    check(not left, f"{len(left)} processes outlive their parent that was killed by more than {within_s:.0f} s")


def usual_s(work: Callable[[], object]) -> float:
    """How long something takes, so that kills fall within it."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


@row(
    "S01",
    "kill -9 at random instants of load into a store, index, ask, eval and cache",
    "0 lost, 0 torn, 0 left behind after the next command",
)
def random_kills(at: Place) -> str:
    kills = at.number("kills", 1000, 15, "kills")
    chance = random.Random(1)
    first, more = at.write("first.nt", labelled(300)), at.folder / "more-0.nt"
    dataset = at.write(
        "questions.jsonl", '{"id": "1", "question": "What is thing 7 of 433?", "answers": ["http://e.org/7"]}\n'
    )
    at.fine("load", first, "--store", "S")
    store, acknowledged, hit = at.folder / "S", 300, 0
    commands: dict[str, Callable[[int], Sequence[object]]] = {
        "load": lambda n: ("load", f"more-{n}.nt", "--store", "S", "-q"),
        "index": lambda _: ("index", "-k", "S", "-q"),
        "ask": lambda n: ("ask", f"What is thing {n} of 433?", "-k", "S", "--no-model", "-q", "--log", "log.sqlite"),
        "eval": lambda n: ("eval", dataset, "-k", "S", "--no-model", "-o", f"runs/{n}", "-q"),
        "cache": lambda _: ("cache", "--clear", "all", "-q"),
    }
    takes: dict[str, float] = {}
    for name, command in commands.items():
        if name == "load":
            more.write_bytes(triples(20_000, "usual"))
        takes[name] = usual_s(lambda command=command: at.run(*command(0)))
    acknowledged = held(store)
    for n in range(1, kills + 1):
        name = list(commands)[n % len(commands)]
        adds = 0
        if name == "load":
            adds = 20_000
            more = at.write(f"more-{n}.nt", triples(adds, f"round {n}"))
        ended = killed(at, chance.uniform(0.1, 1.0) * takes[name], *commands[name](n))
        hit += ended == -signal.SIGKILL
        if name == "eval":
            there = (at.folder / f"runs/{n}/run.json").exists()
            at.fine(*commands[name](n), *["--resume"] * there)
            answers = list((at.folder / f"runs/{n}/answers").iterdir())
            check({len(file.read_bytes().splitlines()) for file in answers} == {1}, f"run {n} is not whole")
        now = held(store)
        if adds and ended == 0:
            acknowledged += adds
        elif adds and now == acknowledged + adds:  # it was done, and killed before it said so
            acknowledged = now
        check(now == acknowledged, f"round {n}, {name}: {now:,} triples, not {acknowledged:,}")
        if n % 20 == 0 or n == kills:
            all_gone(at)
            at.fine("load", at.write(f"whole-{n}.nt", triples(3, f"whole {n}")), "--store", "S", "-q")
            acknowledged += 3
            check(at.count("S") == acknowledged, f"round {n}: not {acknowledged:,} triples")
            check(beside(store) == ["S"], f"round {n}: {beside(store)}")
            at.ask(f"What is thing {n} of 433?", "S", exit={0, 3}, more=["--log", "log.sqlite"])
            at.fine("log", "list", "--log", "log.sqlite") if (at.folder / "log.sqlite").exists() else None
            if acknowledged > 400_000:  # else each load would take longer than the one before
                shutil.rmtree(store)
                at.fine("load", first, "--store", "S")
                acknowledged = 300
    at.fine("index", "-k", "S", "-q")
    check(hit > kills / 3, f"only {hit} of {kills} were alive when they were killed")
    return f"{kills} kills, {hit} of a process that was at work: 0 lost, 0 torn, nothing left behind"


@row(
    "S02",
    "kill -9 in a load that makes or replaces a store, also between its two renames",
    "the old store or the new one, never between; nothing left by the next load",
)
def killed_loads(at: Place) -> str:
    rounds = max(5, at.number("kills", 1000, 15, "kills of S01, a fifth of them here") // 5)
    chance, store = random.Random(2), at.folder / "S"
    small, big = at.write("small.nt", triples(5)), at.write("big.nt", triples(60_000, "big"))
    at.fine("load", small, "--store", "S")
    takes = usual_s(lambda: at.fine("load", big, "--store", "T"))
    seen = {"old": 0, "new": 0}
    for _ in range(rounds):
        killed(at, chance.uniform(0.15, 1.05) * takes, "load", big, "--store", "S", "-q")
        all_gone(at)
        now = held(store)
        check(now in {5, 60_005}, f"{now:,} triples, neither 5 nor 60,005")
        seen["old" if now == 5 else "new"] += 1
        if now != 5:
            shutil.rmtree(store)
            at.fine("load", small, "--store", "S")
    at.fine("load", big, "--store", "S")
    check(held(store) == 60_005 and beside(store) == ["S"], f"{beside(store)}")
    store.rename(store.with_name("S.previous-0123"))
    (at.folder / "S.partial-1").mkdir()
    check(at.count("S") == 60_005, "a store between two renames cannot be read")
    at.fine("load", at.write("c.nt", triples(3, "c")), "--store", "S")
    check(held(store) == 60_008 and beside(store) == ["S"], f"{beside(store)}")
    return f"{rounds} kills: {seen['old']} times the old store, {seen['new']} times the new one"


FULL = """
mount -t tmpfs -o size=24m tmpfs small || exit 99
"$K" load a.nt --store small/S -q || exit 98
for fill in $FILLS; do
  dd if=/dev/zero of=small/fill bs=1k count=$fill 2>/dev/null
  "$K" load big.nt --store small/S -q 2>said; echo "load $? $(head -c 300 said | tr '\\n' ' ')"
  KGSPARQL_CACHE_DIR=small/cache "$K" index -k nobel.nt -q 2>said; echo "index $? $(head -c 300 said | tr '\\n' ' ')"
  KGSPARQL_CACHE_DIR=small/cache "$K" ask "Who is thing 7?" -k small/S --no-model -q --log small/log 2>said >/dev/null
  echo "ask $? $(head -c 300 said | tr '\\n' ' ')"
  echo "count $("$K" query "$COUNT" -k small/S -f csv -q 2>&1 | tail -1 | tr -d '\\r') $(ls small | tr '\\n' ' ')"
  rm -rf small/fill small/cache small/log*
done
"""


def in_small_disk(at: Place, script: str, **variables: str) -> list[str]:
    """The lines of a shell script that may mount a small file system."""
    (at.folder / "small").mkdir()
    try:
        done = run(
            ["unshare", "-rm", "sh", "-c", script], folder=at.folder, timeout_s=900,
            environment={**at.environment, "K": str(at.kgsparql), "COUNT": COUNT, **variables},
        )  # fmt: skip
    except FileNotFoundError:
        raise CannotRun("no unshare") from None
    at.done.append(done)
    if done.exit == 99 or "unshare:" in done.stderr:
        raise CannotRun(f"no small file system can be mounted: {done.stderr[:100]}")
    check("Traceback" not in done.stderr + done.stdout, done.stderr[-300:])
    check(done.exit == 0, f"exit {done.exit}: {done.stderr[-300:]}")
    return done.stdout.splitlines()


@row(
    "S05",
    "a disk of 24 MiB that is full at 20 different points, in load, index and ask with a log",
    "E_DISK_FULL that says so; what was there can be read, nothing is left behind",
)
def disk_full(at: Place) -> str:
    points = at.smaller(20, 4, "fill points")
    at.write("a.nt", triples(5))
    at.write("big.nt", triples(250_000, "some more text that takes room"))
    at.write("nobel.nt", labelled(20_000))
    fills = [20_000 + n * (4_500 // points) for n in range(points)]
    lines = in_small_disk(at, FULL, FILLS=" ".join(map(str, fills)))
    told = {name: [line for line in lines if line.startswith(f"{name} ")] for name in ("load", "index", "ask", "count")}
    check(len(told["count"]) == points, f"{len(told['count'])} points were reached")
    check(all("load 4 " in line and "E_DISK_FULL" in line for line in told["load"]), f"{told['load'][:2]}")
    for line in told["index"]:
        check(line.split()[1] == "0" or "E_DISK_FULL" in line, line)
    for line in told["ask"]:
        check(line.split()[1] in {"0", "3"} or "E_DISK_FULL" in line, line)
    for line in told["count"]:
        check(line.split()[1] == "5", line)
        check(not set(line.split()[2:]) - {"S", "fill", "cache", "log", "log-shm", "log-wal"}, line)
    full = sum("E_DISK_FULL" in line for kind in told.values() for line in kind)
    return f"{points} fill points: {full} times E_DISK_FULL, the store readable each time"


@row("S06", "a store is opened while the disk is full to the last byte", "questions and queries go on")
def still_full(at: Place) -> str:
    at.write("a.nt", labelled(50))
    script = """
mount -t tmpfs -o size=24m tmpfs small || exit 99
"$K" load a.nt --store small/S -q || exit 98
dd if=/dev/zero of=small/fill bs=1k 2>/dev/null; dd if=/dev/zero of=small/rest bs=1 2>/dev/null
for n in 1 2; do
  "$K" query "$COUNT" -k small/S -f csv -q; echo "query $?"
  KGSPARQL_CACHE_DIR=small/cache "$K" ask "What is thing 7 of 433?" -k small/S --no-model -q >out 2>said
  echo "ask $? $(cat said)"
done
"""
    lines = in_small_disk(at, script)
    check(lines.count("query 0") == 2 and lines.count("50") + lines.count("50\r") == 2, f"{lines}")
    check(all(line.split()[1] in {"0", "3"} for line in lines if line.startswith("ask ")), f"{lines}")
    return "; ".join(line for line in lines if line[:3] in {"ask", "que"})[:200]


@contextlib.contextmanager
def writer(at: Place) -> Any:
    """A load that reads from a pipe which stays open, and so has the lock of the store."""
    with subprocess.Popen(
        [at.kgsparql, "load", "-", "--store", "S", "--input-format", "nt", "-q"], cwd=at.folder, env=at.environment,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(triples(20_000, "held"))
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while not (at.folder / "S.lock").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.5)
        try:
            yield process
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait(60)


@row(
    "S07",
    "a second writer while the first one writes",
    "exit 4, E_STORE_LOCKED with the process, within 1 s of work; readers go on",
)
def second_writer(at: Place) -> None:
    file, other = at.write("a.nt", triples(5)), at.write("b.nt", triples(5, "b"))
    at.fine("load", file, "--store", "S")
    with writer(at) as first:
        at.refused(4, ["E_STORE_LOCKED", str(first.pid)], "load", other, "--store", "S", within_s=15)
        check(at.count("S") == 5, "a reader sees something else")
    check(first.returncode == 0 and held(at.folder / "S") == 20_005, f"{first.returncode}, {held(at.folder / 'S')}")
    at.fine("load", other, "--store", "S")
    check(held(at.folder / "S") == 20_010, "the other file")


@row("S08", "the lock of a writer that was killed", "the next load goes on by itself, and takes it away")
def stale_lock(at: Place) -> None:
    at.fine("load", at.write("a.nt", triples(5)), "--store", "S")
    with writer(at) as first:
        first.kill()
        first.wait()
        all_gone(at)
        check((at.folder / "S.lock").exists(), "it left no lock: this shows nothing")
        check(at.count("S") == 5, "what it did not finish is there")
        at.fine("load", at.write("b.nt", triples(5, "b")), "--store", "S")
    check(beside(at.folder / "S") == ["S"] and held(at.folder / "S") == 10, f"{beside(at.folder / 'S')}")


@row(
    "S11",
    "a store, an index and a cache of a newer version; no older version was ever released",
    "exit 4, E_VERSION, or made anew",
)
def newer(at: Place) -> None:
    at.fine("load", NOBEL, "--store", "S")
    manifest = at.folder / "S" / "kgsparql.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"version": 1', '"version": 99'))
    at.refused(4, ["E_VERSION", "newer"], "query", "ASK {}", "-k", "S")
    at.refused(4, ["E_VERSION", "newer"], "load", at.write("a.nt", triples(1)), "--store", "S")
    manifest.write_text("{")
    at.refused(4, "kgsparql.json cannot be read", "query", "ASK {}", "-k", "S")
    manifest.write_text(text)
    check(at.count("S") > 3000, "the store is not what it was")
    at.fine("index", "-k", "S")
    (kept,) = (at.folder / "cache" / "labels").glob("*/*.json")
    about = json.loads(kept.read_text())
    kept.write_text(json.dumps({**about, "version": 99}))
    done = at.run("ask", "Who is the spouse of Marie Curie?", "-k", "S", "--no-model", "-f", "json")
    check(done.exit == 0 or "E_VERSION" in done.stdout, f"exit {done.exit}: {done.stdout[:300]}")


@row(
    "S12",
    "bytes flipped at random in a store, its manifest, an index, the cache",
    "exit 4, or the right answer, or made anew; never a wrong row without a word",
)
def flips(at: Place) -> str:
    count, chance = at.number("flips", 500, 16, "flips"), random.Random(12)
    at.fine("load", NOBEL, "--store", "S")
    everything = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p ?o"
    question = "Who is the spouse of Marie Curie?"
    asked = ("ask", question, "-k", "S", "--no-model", "-f", "plain", "-q")
    at.fine("index", "-k", "S")
    right = at.fine("query", everything, "-k", "S", "-f", "csv", "-q").stdout, at.fine(*asked).stdout
    whole = {name: at.folder / f"{name}-whole" for name in ("S", "cache")}
    for name, kept in whole.items():
        shutil.copytree(at.folder / name, kept)
    told, most = {"right": 0, "refused": 0}, 0.0
    for n in range(count):
        place = at.folder / ("S" if n % 2 else "cache")
        files = [one for one in sorted(place.rglob("*")) if one.is_file() and one.stat().st_size and one.name != "LOCK"]
        file = chance.choice(files)
        data, bit = bytearray(file.read_bytes()), chance.randrange(8)
        byte = chance.randrange(len(data))
        data[byte] ^= 1 << bit
        file.write_bytes(bytes(data))
        where = f"{file.relative_to(at.folder)}, byte {byte}, bit {bit}"
        command = ("query", everything, "-k", "S", "-f", "csv", "-q") if n % 4 == 1 else asked
        done = at.run(*command)
        most = max(most, done.peak_mib)
        check(most < WORKER_MIB, f"{done.peak_mib:.0f} MiB, exit {done.exit}, after {where}: {done.first_line}")
        if done.exit == 0:
            check(done.stdout == right[0 if n % 4 == 1 else 1], f"another result, exit 0, after {where}")
        else:
            check(
                done.exit in {2, 3, 4} and "error:" in done.stderr,
                f"{command[0]}: exit {done.exit} after {where}: {done.first_line}",
            )
        told["right" if done.exit == 0 else "refused"] += 1
        shutil.rmtree(place)
        shutil.copytree(whole[place.name], place)
    return f"{count} flips: {told['right']} times the right result, {told['refused']} refused, {most:.0f} MiB at most"


@row(
    "S16",
    "read-only media, no HOME, a cache that is a file, a file system without locks",
    "works without the cache and says so, or exit 4 with the cause",
)
def read_only(at: Place) -> str:
    at.fine("load", at.write("a.nt", labelled(50)), "--store", "S")
    at.fine("query", COUNT, "-k", "S", env={"HOME": "/nonexistent", "KGSPARQL_CACHE_DIR": ""})
    at.write("file", "not a directory")
    for env in ({"KGSPARQL_CACHE_DIR": str(at.folder / "file")}, {"KGSPARQL_CACHE_DIR": "/proc/nowhere"}):
        at.ask("What is thing 7 of 433?", "S", exit={0, 3}, env=env)
        at.refused(4, "E_STORE", "index", "-k", "S", env=env)
    script = """
mount --bind S S 2>/dev/null && mount -o remount,bind,ro S || exit 99
"$K" query "$COUNT" -k S -f csv -q; echo "query $?"
"$K" ask "What is thing 7 of 433?" -k S --no-model -q >out; echo "ask $?"
"$K" load a2.nt --store S -q 2>said; echo "load $? $(cat said)"
"""
    at.write("a2.nt", triples(5))
    lines = in_small_disk(at, script)
    check("query 0" in lines and any(line in {"ask 0", "ask 3"} for line in lines), f"{lines}")
    (load,) = (line for line in lines if line.startswith("load "))
    check(load.split()[1] in {"0", "4"} and (load.split()[1] == "0" or "hint:" in load or "error" in load), load)
    env = {"LD_PRELOAD": str(_without_locks(at))}
    done = at.run("load", "a2.nt", "--store", "T", env=env)
    check(
        done.exit in {0, 4} and (done.exit == 0 or "hint: " in done.stderr),
        f"without locks: exit {done.exit}: {done.stderr[:200]}",
    )
    return f"read-only: {load[:120]}; without locks: exit {done.exit}"


NO_LOCKS = """#include <errno.h>
int flock(int fd, int how) { errno = ENOLCK; return -1; }
int lockf(int fd, int how, long size) { errno = ENOLCK; return -1; }
"""


def _without_locks(at: Place) -> Path:
    """A library under which no file can be locked, as on some network file systems."""
    made = at.folder / "nolocks.so"
    command = ["cc", "-shared", "-fPIC", "-o", made, at.write("nolocks.c", NO_LOCKS)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        raise CannotRun("no C compiler to make a file system without locks of") from None
    return made


@row("S19", "a power cut", "nothing that was acknowledged after a flush is lost")
def power_cut(_: Place) -> None:
    try:
        os.close(os.open("/dev/mapper/control", os.O_RDWR))
    except OSError:
        raise CannotRun("no device mapper: what is not on the disk yet cannot be taken away") from None
    raise CannotRun("dm-flakey may be had here, but this row is not written for it")


SOAK = """
import json, os, sys, threading, time
from pathlib import Path
import kgsparql
seconds, stop, told = float(sys.argv[2]), threading.Event(), {"asked": 0, "wrong": 0, "errors": []}
def size():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))
def read():
    knowledge = kgsparql.open(sys.argv[1], embedder="none")
    while not stop.is_set():
        try:
            answer = knowledge.ask("What is the p of thing 7 of 433?")
            told["asked"] += 1
            if "http://e.org/8" not in str([a.term for a in answer.answers]):
                told["wrong"] += 1
        except kgsparql.errors.KgsparqlError as error:
            told["errors"].append(str(error))
threads = [threading.Thread(target=read) for _ in range(8)]
[t.start() for t in threads]
time.sleep(min(20, seconds / 3))
sizes, began = [], time.monotonic()
while time.monotonic() - began < seconds:
    sizes.append((time.monotonic() - began, *size()))
    time.sleep(1)
stop.set()
[t.join() for t in threads]
half = len(sizes) // 2
mean = lambda rows, at: sum(row[at] for row in rows) / max(1, len(rows))
told["first_mib"], told["last_mib"] = mean(sizes[:half], 1) / 2**20, mean(sizes[half:], 1) / 2**20
told["fds"] = sizes[0][2], sizes[-1][2]
told["hours"] = seconds / 3600
print(json.dumps(told))
"""


@row("S20", "24 h with 8 readers, a writer that loads, and kills of it", "memory and files flat, 0 violations")
def soak(at: Place) -> str:
    seconds = at.options.get("soak_s", 60)
    at.fine("load", at.write("a.nt", labelled(200) + f"<{EX}7> <{EX}p> <{EX}8> .\n"), "--store", "S")
    over, loads, chance = threading.Event(), 0, random.Random(20)

    def write() -> None:
        nonlocal loads
        while not over.is_set():
            more = at.write("more.nt", triples(100, f"round {loads}"))
            killed(at, chance.uniform(0.2, 4), "load", more, "--store", "S", "-q")
            loads += 1

    writing = threading.Thread(target=write)
    writing.start()
    try:
        told = json.loads(at.python(SOAK, "S", seconds, timeout_s=seconds * 3 + 120).stdout)
    finally:
        over.set()
        writing.join()
    at.fine("load", at.write("last.nt", triples(3, "last")), "--store", "S")
    check(told["asked"] and not told["wrong"] and not told["errors"], f"{told}")
    check(told["fds"][1] <= told["fds"][0] + 10, f"{told['fds']} open files")
    grew = told["last_mib"] - told["first_mib"]
    check(grew < 30, f"{grew:.1f} MiB more in the second half")
    files = told["fds"][1] - told["fds"][0]
    said = f"{seconds:,} s: {told['asked']:,} questions, {loads} loads with kills, {grew:+.1f} MiB, {files:+} files"
    if seconds < 86_400:
        raise CannotRun(f"24 h were not to be had (--soak 86400); {said}: 0 violations")
    return said
