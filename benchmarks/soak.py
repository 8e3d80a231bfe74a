"""Whether hours of questions by many threads, while servers fail, leave anything behind or make an answer wrong.

    python -m benchmarks.soak [--minutes 120] [--threads 8] [--share 0.05] [-o benchmarks/SOAK.md]

A process asks questions through the Python API, and every answer is compared with that of the same question before the
first fault; what the process holds is looked at from outside.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import kgsparql
from kgsparql import EndpointGraph
from kgsparql.answering.answer import Answer
from kgsparql.budget import Budget
from kgsparql.errors import KgsparqlError
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.label_matching import similarity
from kgsparql.linking.words import root, stem, trigrams, words
from kgsparql.models.language_model import LanguageModel, open_model
from tests import model_server as model
from tests.endpoints import proxy as endpoint
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.scripted import Player

ROOT = Path(__file__).parents[1]
GRAPH = ROOT / "fixtures" / "nobel.ttl"
QUESTIONS = ("nobel_questions.jsonl", "computed_questions.jsonl", "honesty.jsonl")
LOOK_S = 15.0
CACHES = {cache.__name__: cache for cache in (words, trigrams, stem, root, similarity)}
REQUEST_S = 3.0
"""An endpoint or a model that takes longer has failed: of hangs there are many here."""

HOW = """A process asks the questions of `fixtures/` about `nobel.ttl` through the Python API: of a file, of a store on
disk, and of an Oxigraph server behind a proxy, with and without a scripted model. Each kind of fault has a minute in
which it befalls that share of the requests, and in the last minute of each round all kinds do. Every answer is compared
with that of the same question before the first fault. The process is looked at from outside: its memory (it collects
its garbage every five seconds), open files, threads, and the files in its temporary and cache directories. What is in
use is told by the process itself: what the C library has given out and not got back, and the blocks of Python's
objects. The rest of the memory is room between these, which things that are kept would use first. A slope is that of a
straight line through all that was seen after the first tenth, with its 95 % interval."""
_BROKEN = b'{"head": {"vars": ["a"]}, "results": {"bindings": [{"a": '
_PAGE = b"<!DOCTYPE html><title>Sign in</title><h1>Welcome</h1>"


def _status(status: str, *headers: str) -> endpoint.Fault:
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/plain", "Content-Length: 4", *headers, "", "busy"]
    return endpoint.sends("\r\n".join(lines).encode())


def _ok(body: bytes, kind: str) -> endpoint.Fault:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return endpoint.sends(head.encode() + body)


ENDPOINT_FAULTS: Mapping[str, endpoint.Fault] = {
    "reset": endpoint.resets(),
    "reset in the body": endpoint.resets(60),
    "cut": endpoint.cut(60),
    "chunk cut": endpoint.chunks_cut(60, ends_in_chunk=True),
    "429": _status("429 Too Many Requests", "Retry-After: 0"),
    "500": _status("500 Internal Server Error"),
    "503": _status("503 Service Unavailable", "Retry-After: 1"),
    "a page": _ok(_PAGE, "text/html"),
    "broken JSON": _ok(_BROKEN, "application/sparql-results+json"),
    "late": endpoint.late(0.5),
    "hangs": endpoint.hangs,
}
MODEL_FAULTS: Mapping[str, model.Reply] = {
    "closes": model.HangUp(),
    "reset": model.Reset(),
    "reset in the body": model.Reset(20),
    "cut": model.Cut(20),
    "429": model.Status(429, {"Retry-After": "0"}),
    "500": model.Status(500),
    "503": model.Status(503, {"Retry-After": "1"}),
    "a page": model.Html(),
    "broken JSON": model.Text('{"choices": [{'),
    "late": model.Slow(0.5),
    "hangs": model.Slow(3600),
}
CUTS = model.Cut | model.Slow
"""Faults of a reply that is right."""


@dataclass
class Weather:
    """Which fault befalls a request, if any.

    :ivar sent: how many of each kind there were.
    """

    share: float
    seed: int
    minute_s: float = 60.0
    began: float | None = None
    sent: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._lock = threading.Lock()

    def fault(self, who: str, kinds: Sequence[str]) -> str | None:
        """The kind of fault for the next request of an endpoint or a model."""
        if self.began is None:
            return None
        at = int((time.monotonic() - self.began) / self.minute_s) % (len(kinds) + 1)
        with self._lock:
            now = kinds if at == len(kinds) else kinds[at : at + 1]
            drawn = int(self._chance.random() / self.share)
            if drawn >= len(now):
                return None
            self.sent[f"{who}: {now[drawn]}"] += 1
        return now[drawn]


def main() -> int:
    """Serve, have a process ask, look at it, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.05, help="of the requests that each kind of fault befalls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="write the page here")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)  # the process that asks
    options = parser.parse_args()
    if options.ask:
        return ask(options.ask)
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch, ExitStack() as stack:
        place = Path(scratch)
        weather = Weather(options.share, options.seed)
        engine = stack.enter_context(oxigraph_serve(store_of(GRAPH, place / "served")))
        proxy = stack.enter_context(endpoint.Proxy(engine))
        server = stack.enter_context(model.ModelServer(lambda body: reply_of(server, body)))
        proxy.plan = lambda _: fault_of(proxy, weather)
        player = Player()

        def reply_of(server: model.ModelServer, body: dict[str, Any]) -> model.Reply | str:
            server.requests.clear()
            kind = weather.fault("model", list(MODEL_FAULTS))
            if kind is None:
                return player(body)
            fault = MODEL_FAULTS[kind]
            return replace(fault, then=player(body)) if isinstance(fault, CUTS) else fault

        told = watched(options, place, weather, {"endpoint": proxy.url, "model": server.url})
    print(page(told))
    if options.output:
        options.output.write_text(page(told), encoding="utf-8")
    return 0 if not told["wrong"] and not told["crashed"] else 1


def fault_of(proxy: endpoint.Proxy, weather: Weather) -> endpoint.Fault | None:
    """The fault for a request."""
    proxy.requests.clear()  # hours of them would be gigabytes
    kind = weather.fault("endpoint", list(ENDPOINT_FAULTS))
    return None if kind is None else ENDPOINT_FAULTS[kind]


def watched(options: argparse.Namespace, place: Path, weather: Weather, urls: Mapping[str, str]) -> dict[str, Any]:
    """Start the process that asks, and look at it until its time is over."""
    for name in ("tmp", "cache", "home"):
        (place / name).mkdir()
    told = {"seconds": options.minutes * 60, "threads": options.threads, "seed": options.seed, "place": str(place)}
    (place / "told.json").write_text(json.dumps({**told, **urls}))
    environment = {
        **os.environ, "TMPDIR": str(place / "tmp"), "KGSPARQL_CACHE_DIR": str(place / "cache"),
        "HOME": str(place / "home"), "OPENAI_API_KEY": "none",
    }  # fmt: skip
    command = [sys.executable, "-m", "benchmarks.soak", "--ask", str(place / "told.json")]
    looks: list[dict[str, float]] = []
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        while process.poll() is None:
            if weather.began is None and (place / "quiet").exists():
                weather.began = time.monotonic()
            if weather.began is not None:
                looks.append({"s": time.monotonic() - weather.began, **held(process.pid, place)})
                print(f"{looks[-1]}", file=sys.stderr, flush=True)
            time.sleep(LOOK_S)
    if process.returncode:
        raise SystemExit(f"the process that asks ended with {process.returncode}")
    found = json.loads((place / "came.json").read_text())
    looks = [look for look in looks if look["s"] <= options.minutes * 60]
    return {
        "minutes": options.minutes, "threads": options.threads, "share": options.share, "seed": options.seed,
        "faults": dict(sorted(weather.sent.items())), **found, "looks": looks,
        "slopes": {name: slope(looks, name) for name in looks[0] if name != "s"} if len(looks) > 20 else {},
    }  # fmt: skip


def held(process: int, place: Path) -> dict[str, float]:
    """What a process holds now: MiB of memory, thousands of Python's blocks, open files, threads, and files it made."""
    own = Path(f"/proc/{process}")
    pages = int((own / "statm").read_text().split()[1])
    return {
        "memory_mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        **json.loads((place / "in_use.json").read_text()),
        "open_files": len(list((own / "fd").iterdir())),
        "threads": len(list((own / "task").iterdir())),
        "temporary_files": sum(1 for _ in (place / "tmp").rglob("*")),
        "cache_files": sum(1 for _ in (place / "cache").rglob("*")),
    }


def slope(looks: Sequence[Mapping[str, float]], name: str) -> tuple[float, float]:
    """Of the straight line through what was seen after the first tenth: per hour, and half its 95 % interval.

    What is seen soon after is much the same, so the interval rests on means of twenty equal parts of the time.
    """
    seen = [look for look in looks if look["s"] >= looks[-1]["s"] / 10]
    size = max(1, len(seen) // 20)
    parts = [seen[at : at + size] for at in range(0, len(seen) - size + 1, size)]
    xs = [math.fsum(look["s"] for look in part) / len(part) / 3600 for part in parts]
    ys = [math.fsum(look[name] for look in part) / len(part) for part in parts]
    x_mean, y_mean = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    spread = math.fsum((x - x_mean) ** 2 for x in xs)
    rise = math.fsum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread
    rest = math.fsum((y - y_mean - rise * (x - x_mean)) ** 2 for x, y in zip(xs, ys, strict=True))
    student = 2.101  # of 18 degrees of freedom
    return rise, student * math.sqrt(rest / (len(xs) - 2) / spread)


def page(told: Mapping[str, Any]) -> str:
    """What came of it, as Markdown."""
    outcomes = told["outcomes"]
    asked = sum(sum(of.values()) for of in outcomes.values())
    kinds = ("same", "said", "refused", "wrong")
    command = f"`python -m benchmarks.soak --minutes {told['minutes']:g} --threads {told['threads']}`"
    lines = [
        "# Hours of questions while servers fail", "",
        f"{command}, seed {told['seed']}: {asked:,} questions, {sum(told['faults'].values()):,} faults. {HOW}", "",
        "| asked of | the same answer | another, which says what failed | an error | wrong |", "|---|--:|--:|--:|--:|",
        *(f"| {name} | {' | '.join(f'{of.get(kind, 0):,}' for kind in kinds)} |" for name, of in outcomes.items()), "",
        "| held | first tenth | last tenth | slope an hour, 95 % | in the second half |", "|---|--:|--:|--:|--:|",
    ]  # fmt: skip
    looks = told["looks"]
    tenth = max(1, len(looks) // 10)
    for name, (rise, half) in told["slopes"].items():
        first, last = (math.fsum(look[name] for look in of) / tenth for of in (looks[:tenth], looks[-tenth:]))
        later = slope(looks[len(looks) // 2 :], name)
        slopes = f"{rise:+.2f} ± {half:.2f} | {later[0]:+.2f} ± {later[1]:.2f}"
        lines.append(f"| {name.replace('_', ' ')} | {first:.1f} | {last:.1f} | {slopes} |")
    kept = (f"`{name}` {was:,} → {now:,} of {most:,}" for name, (was, now, most) in told["caches"].items())
    lines += [
        "",
        f"Entries of the caches in which texts are kept, before the first fault and at the end: {', '.join(kept)}.",
    ]
    lines += ["", "| fault | times |", "|---|--:|", *(f"| {kind} | {n:,} |" for kind, n in told["faults"].items())]
    for one in told["wrong"][:20]:
        lines += ["", f"Wrong: {json.dumps(one, ensure_ascii=False)}"]
    return "\n".join(lines) + "\n"


# -- The process that asks -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One way to ask, by its name."""

    name: str
    knowledge: KnowledgeBase
    model: LanguageModel | None = None

    def answer(self, question: str) -> Answer:
        return self.knowledge.ask(question, model=self.model, trial=False, budget=Budget(max_seconds=20.0))


def ask(file: Path) -> int:
    """Answer every question once in peace; then by many threads, until the time is over."""
    told = json.loads(file.read_text())
    place = Path(told["place"])
    lines = [line for name in QUESTIONS for line in (ROOT / "fixtures" / name).read_text("utf-8").splitlines()]
    questions = [one["question"] for one in map(json.loads, lines) if one.get("graph", "nobel.ttl") == "nobel.ttl"]
    store = store_of(GRAPH, place / "store")
    asked_model = open_model("scripted-model", base_url=told["model"], mode=None, timeout_s=REQUEST_S)
    ways = []
    served = EndpointGraph(told["endpoint"], profile=kgsparql.UNKNOWN, timeout_s=REQUEST_S)
    for name, knowledge in {
        "a file": kgsparql.open(GRAPH, embedder="none"),
        "a store": kgsparql.open(store, embedder="none"),
        "an endpoint": KnowledgeBase(served, embedder="none"),
    }.items():
        ways += [Asked(name, knowledge), Asked(f"{name}, with a model", knowledge, asked_model)]
    quiet = {(way.name, question): told_by(way.answer(question)) for way in ways for question in questions}
    tell_in_use(place)
    known = entries()
    (place / "quiet").touch()
    outcomes: dict[str, Counter[str]] = {way.name: Counter() for way in ways}
    wrong: list[dict[str, Any]] = []
    crashed: list[str] = []
    lock, end = threading.Lock(), time.monotonic() + told["seconds"]

    def work(number: int) -> None:
        chance = random.Random(told["seed"] * 1000 + number)
        for way in cycle(chance.sample(ways, len(ways))):
            if time.monotonic() > end:
                return
            question = chance.choice(questions)
            try:
                kind, said = outcome(way, question, quiet[way.name, question])
            except Exception as error:  # noqa: BLE001 - whatever is no KgsparqlError is a finding
                kind, said = "wrong", {"crash": repr(error)}
                crashed.append(repr(error))
            with lock:
                outcomes[way.name][kind] += 1
                if kind == "wrong" and len(wrong) < 100:
                    wrong.append({"of": way.name, "question": question, **said})
                    print(wrong[-1], file=sys.stderr, flush=True)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(told["threads"])]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        gc.collect()
        tell_in_use(place)
        time.sleep(5)
    caches = {name: (known[name], now, CACHES[name].cache_info().maxsize) for name, now in entries().items()}
    came = {"outcomes": outcomes, "wrong": wrong, "crashed": crashed, "caches": caches}
    (place / "came.json").write_text(json.dumps(came, ensure_ascii=False))
    return 0


def entries() -> dict[str, int]:
    """How many entries the caches of a bounded size have, in which texts are kept."""
    return {name: cache.cache_info().currsize for name, cache in CACHES.items()}


class MallInfo(ctypes.Structure):
    """What glibc's ``mallinfo2`` returns, in bytes."""

    _names = "arena ordblks smblks hblks mapped usmblks fsmblks used free top"
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names.split())


def tell_in_use(place: Path) -> None:
    """Write down what of this process's memory is in use."""
    libc = ctypes.CDLL("libc.so.6")
    libc.mallinfo2.restype = MallInfo
    told = libc.mallinfo2()
    in_use = {
        "in_use_mib": (told.used + told.mapped) / 2**20,
        "python_thousand_blocks": sys.getallocatedblocks() / 1000,
    }
    (place / "in_use.new").write_text(json.dumps(in_use))
    (place / "in_use.new").replace(place / "in_use.json")


def told_by(answer: Answer) -> dict[str, Any]:
    """What an answer claims, and what it says of itself."""
    return {
        "status": answer.status,
        "text": answer.text,
        "answers": sorted(str(one.term) for one in answer.best),
        "value": str(answer.value),
        "notes": sorted(map(str, answer.notes)),
        "fallbacks": sorted(one.reason for one in answer.fallbacks),
    }


def outcome(way: Asked, question: str, quiet: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Whether an answer is the quiet one, or says what failed, or is an error, or wrong."""
    try:
        answer = way.answer(question)
    except KgsparqlError as error:
        return ("refused", {}) if error.code != "E_INTERNAL" else ("wrong", {"error": str(error)})
    now = told_by(answer)
    claims = ("status", "text", "answers", "value")
    if all(now[name] == quiet[name] for name in claims):
        return "same", {}
    more = set(now["notes"]) - set(quiet["notes"]) | set(now["fallbacks"]) - set(quiet["fallbacks"])
    if more or answer.error is not None:
        return "said", {}
    return "wrong", {"now": now, "quiet": {name: quiet[name] for name in claims}}


if __name__ == "__main__":
    raise SystemExit(main())
