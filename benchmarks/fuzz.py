"""Made-up terms, replies and queries, where a mistake would show: what is written is read back, nothing gets out.

    python -m benchmarks.fuzz [--terms 100000] [--replies 20000] [--queries 5000] [--seed 0]

Terms of all of Unicode go through every builder of queries and every writer of answers and results, and back. Replies
of endpoints and models are spoiled, and must be read or refused. SPARQL is spoiled, and what the check lets through
runs in a worker that may not connect: a library before the C library refuses it and puts it down. Each finding is
printed with its seed (`SEED:kind:number`), which makes it again.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyoxigraph as ox

from benchmarks.hostile.processes import peak_of
from kgsparql.answering.ask_options import AskOptions
from kgsparql.errors import KgsparqlError, OptionError
from kgsparql.graphs import OxigraphGraph
from kgsparql.graphs.protocol.request import Reply, SparqlRequest
from kgsparql.graphs.protocol.results import solutions
from kgsparql.graphs.text_search import wikibase_search
from kgsparql.graphs.user_query import QueryLimits, QueryResult, QueryWorker, check, serialise
from kgsparql.graphs.user_query.tokens import tokenise, without_codepoint_escapes
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.models.citations import cited_text
from kgsparql.models.replies import mentions, numbers, quantity, written_answer
from kgsparql.models.reply_json import json_value, plain_text
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rendering import render
from tests.contract.gallery import GALLERY
from tests.endpoints.faults import ASK_JSON, JSON, SELECT_JSON, SELECT_XML, XML
from tests.unit.user_query_corpus import LEGITIMATE, SECOND_READINGS, forbidden

ROOT = Path(__file__).parents[1]
EX = "http://e.org/"
LABEL = IRI("http://www.w3.org/2000/01/rdf-schema#label")
AT_ONCE = 200
TROUBLE = [
    *"\"'\\\n\r\t#<>{}|^`$?u&;:=()[]%@\0\x1b\x7f\u202e\u2028\ufeff\ufffe\U0010ffff",
    "\\u0022",
    "-->",
    "]]>",
    "```",
]


@dataclass
class Findings:
    """What was found, and how much was tried."""

    told: list[str] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)

    def add(self, seed: str, what: str) -> None:
        """A finding, printed at once."""
        self.told.append(f"{seed}: {what}")
        if len(self.told) <= 50:
            print(f"FOUND {seed}: {ascii(what)[:400]}", flush=True)

    def count(self, what: str, number: int = 1) -> None:
        """So many more were tried."""
        self.tried[what] = self.tried.get(what, 0) + number


# -- Terms ------------------------------------------------------------------------------------------------------------


def text_of(chance: random.Random) -> str:
    """A text of any characters, and often of those that end something."""
    pieces = []
    for _ in range(chance.randint(0, 14)):
        if chance.random() < 0.45:
            pieces.append(chance.choice(TROUBLE))
        else:
            code = chance.randrange(0x110000 if chance.random() < 0.5 else 0x250)
            pieces.append("x" if 0xD800 <= code < 0xE000 else chr(code))
    return "".join(pieces)


def iri_of(chance: random.Random) -> IRI:
    """An IRI that is one."""
    while True:
        with contextlib.suppress(ValueError):
            return IRI(EX + text_of(chance).translate({ord(c): None for c in '<>"{}|^`\\ '}))


def terms_of(chance: random.Random, kind: str, count: int) -> list[Term]:
    """So many different terms of a kind."""
    made: dict[Term, None] = {}
    while len(made) < count:
        if kind == "iri":
            made[iri_of(chance)] = None
        elif kind == "language":
            made[Literal(text_of(chance), language=chance.choice(["en", "de-AT", "zh-Hans", "x-odd", "mul"]))] = None
        elif kind == "datatype":
            made[Literal(text_of(chance), datatype=iri_of(chance))] = None
        else:
            made[Literal(text_of(chance))] = None
    return list(made)


def harmless(term: Term, n: int) -> Term:
    """A harmless term in the place of another, which the builders treat alike."""
    if not isinstance(term, Literal):
        return IRI(f"{EX}i{n}")
    if term.language:
        return Literal(f"t{n}", language=term.language)
    is_plain = term.datatype.value.endswith("#string")
    return Literal(f"t{n}") if is_plain else Literal(f"t{n}", datatype=IRI(f"{EX}t"))


KINDS = ("plain", "language", "datatype", "iri")
VALUES = Query("values", "SELECT ?term { VALUES ?term { UNDEF } }")
ROWS = Query("rows", "SELECT ?a ?b { VALUES (?a ?b) { (UNDEF UNDEF) } }")
EMPTY = OxigraphGraph(ox.Store(), name="empty", fingerprint="0")


def with_parameters() -> list[tuple[Query, str]]:
    """The shipped queries, each with one of its parameters."""
    found = []
    for file in sorted((ROOT / "queries").glob("*.rq")):
        query = Query.load(file.stem)
        found += [(query, name) for name in sorted(set(re.findall(r"VALUES \?(\w+) \{ UNDEF \}", query.text)))]
    return found


def shape(text: str) -> list[str]:
    """The kinds of the tokens of a query, one for each list of terms: what a term must not change."""
    tokens = tokenise(without_codepoint_escapes(text), QueryLimits())
    terms = [
        token.text if token.kind == "sign" and token.text not in {",", "^^", "(", ")"} else token.word
        for token in tokens
    ]
    return [kind for kind, _ in itertools.groupby(terms)]


def builders() -> list[tuple[str, Callable[[list[Any], str], Query | None]]]:
    """Every way in which terms get into a query."""
    made: list[tuple[str, Callable[[list[Any], str], Query | None]]] = [
        (f"{query.name}({name})", lambda terms, _, query=query, name=name: query.bind(**{name: terms}))
        for query, name in with_parameters()
    ]
    start = IRI(f"{EX}start")

    def path(terms: list[Any], kind: str) -> PropertyPath | None:
        return PropertyPath(tuple(Step(term) for term in terms[:3])) if kind == "iri" else None

    def walk(terms: list[Any], kind: str) -> Query | None:
        way = path(terms, kind)
        return path_queries.walk(way, terms[:5], limit=9) if way else None

    def ends(terms: list[Any], _: str) -> Query | None:
        way = PropertyPath((Step(IRI(f"{EX}p")), Step(IRI(f"{EX}q"), "inverse")))
        return path_queries.walk_triples(way, [start], terms, limit=9)

    def answers(terms: list[Any], kind: str) -> Query | None:
        way = path(terms, kind)
        return path_queries.answers(way, terms[0]) if way else None

    def union(terms: list[Any], kind: str) -> Query | None:
        arms = [walk(terms[n : n + 3], kind) for n in range(0, 9, 3)]
        return Query.union([arm for arm in arms if arm is not None]) if kind == "iri" else None

    def names(terms: list[Any], kind: str) -> Query | None:
        return (
            wikibase_search([t.value for t in terms[:9]], host="e.org", languages=["en"]) if kind == "plain" else None
        )

    return [*made, ("walk", walk), ("walk_triples", ends), ("answers", answers), ("union", union), ("wikibase", names)]


def fuzz_builders(count: int, seed: int, found: Findings) -> None:
    """Terms through every builder of queries: the text keeps its shape, and the engine gives the terms back."""
    ways = builders()
    for n in range(0, count, AT_ONCE):
        name, kind = f"{seed}:builders:{n}", KINDS[(n // AT_ONCE) % len(KINDS)]
        chance = random.Random(name)
        terms = terms_of(chance, kind, min(AT_ONCE, count - n))
        plain = [harmless(term, i) for i, term in enumerate(terms)]
        back = {solution["term"] for solution in EMPTY.select(VALUES.bind(term=terms))}
        if back != set(terms):
            found.add(name, f"VALUES lost {sorted(map(str, set(terms) ^ back))[:2]}")
        rows = list(zip(terms, plain, strict=True))
        if {(s["a"], s["b"]) for s in EMPTY.select(ROWS.bind_rows(("a", "b"), rows))} != set(rows):
            found.add(name, "rows are not those that were bound")
        for what, build in ways:
            query, other = build(list(terms), kind), build(list(plain), kind)
            if query is None or other is None:
                continue
            if shape(query.text) != shape(other.text):
                found.add(name, f"{what}: a term changes the query: {query.text[:300]}")
            try:
                EMPTY.store.query(query.text)
            except SyntaxError as error:
                found.add(name, f"{what}: {error}")
            found.count("terms through a builder", len(terms))
        found.count("terms", len(terms))


# -- Writers ----------------------------------------------------------------------------------------------------------


def known(terms: list[Term], texts: list[str]) -> KnowledgeBase:
    """A graph whose ``:a`` has these values, and neighbours with these labels."""
    store, alpha, near = ox.Store(), IRI(f"{EX}a"), IRI(f"{EX}near")
    store.add(ox.Quad(alpha, LABEL, Literal("Alpha")))
    store.add(ox.Quad(near, LABEL, Literal("near")))
    for term in terms:
        store.add(ox.Quad(alpha, near, term))
    for n, text in enumerate(texts):
        store.add(ox.Quad(alpha, near, IRI(f"{EX}b{n}")))
        store.add(ox.Quad(IRI(f"{EX}b{n}"), LABEL, Literal(text)))
    return KnowledgeBase(OxigraphGraph(store, name="fuzz", fingerprint=str(random.random())), embedder="none")


def term_of(said: dict[str, Any]) -> Term:
    """A term of JSON results."""
    if said["type"] == "uri":
        return IRI(said["value"])
    if language := said.get("xml:lang") or said.get("lang"):
        return Literal(said["value"], language=language)
    datatype = said.get("datatype")
    return Literal(said["value"], datatype=IRI(datatype)) if datatype else Literal(said["value"])


def objects_in(said: Any) -> Iterator[Term]:
    for item in said["evidence"]:
        for triple in item["triples"]:
            yield term_of(triple["object"])


def check_writers(answer: Any, name: str, found: Findings) -> None:
    """What each writer writes can be read, and holds the terms."""
    cited = {cited.triple.object if hasattr(cited, "triple") else cited.object
             for item in answer.evidence for cited in item.triples}  # fmt: skip
    if set(objects_in(json.loads(render(answer, "json")))) != cited:
        found.add(name, "JSON does not hold the terms that were cited")
    quads = list(ox.parse(render(answer, "trig").encode(), ox.RdfFormat.TRIG))
    held = {term for quad in quads for term in (quad.object, getattr(quad.object, "object", None))}
    held |= {getattr(quad.subject, "object", None) for quad in quads}
    if missing := [term for term in cited if term not in held]:
        found.add(name, f"TriG lacks {missing[:2]}")
    root = ET.fromstring(render(answer, "svg"))  # noqa: S314 - ours
    if any(part.tag.endswith("}script") or any(key.startswith("on") for key in part.attrib) for part in root.iter()):
        found.add(name, "SVG has a script")
    for form in ("mermaid", "dot"):
        quoted = r'"[^"]*"' if form == "mermaid" else r'"(?:[^"\\]|\\.)*"'
        for line in re.sub(quoted, "", render(answer, form)).split("\n"):
            rest = line
            if '"' in rest or not rest.isprintable() or (form == "mermaid" and "<" in line.replace("<-->", "")):
                found.add(name, f"{form}: {line}")
    for form, dialect in (("csv", "excel"), ("tsv", "excel-tab")):
        lines = list(csv.reader(io.StringIO(render(answer, form), newline=""), dialect))
        if len({len(line) for line in lines}) > 1:
            found.add(name, f"{form}: lines of different lengths")
    for form in ("text", "md"):
        shown = render(answer, form)
        if any(char in shown for char in "\x1b\x00\u202e\x7f"):
            found.add(name, f"{form}: a control character")
    if re.search(r"(?<!\\)<(script|img|iframe|svg)\b", render(answer, "md")):
        found.add(name, "md has raw HTML")


def fuzz_writers(count: int, seed: int, found: Findings) -> None:
    """Terms as values and labels of a graph, asked for, written in every form and read again."""
    for n in range(0, count, 100):
        name = f"{seed}:writers:{n}"
        chance = random.Random(name)
        kind = KINDS[(n // 100) % len(KINDS)]
        terms = terms_of(chance, kind, 50)
        knowledge = known(terms, [text_of(chance) for _ in range(50)])
        try:
            answer = knowledge.answer("What is near Alpha?", AskOptions(entities=(IRI(f"{EX}a"),)))
            check_writers(answer, name, found)
            result = ox.Store()
            result.extend(ox.Quad(IRI(f"{EX}{i}"), LABEL, term) for i, term in enumerate(terms))
            check_results(result, set(terms), name, found)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            found.add(name, f"{type(error).__name__}: {error}")
        found.count("terms through the writers", 100)


def check_results(store: ox.Store, terms: set[Term], name: str, found: Findings) -> None:
    """Results of a query in each format hold what was asked for."""
    tsv = store.query("SELECT ?o { ?s ?p ?o }").serialize(format=ox.QueryResultsFormat.TSV) or b""
    result = QueryResult("SELECT", tsv, len(terms))
    for form, read in (
        ("json", ox.QueryResultsFormat.JSON),
        ("xml", ox.QueryResultsFormat.XML),
        ("tsv", ox.QueryResultsFormat.TSV),
    ):
        try:
            written = serialise(result, form)
        except OptionError:  # a character that XML cannot hold is refused
            continue
        back = {one["o"] for one in ox.parse_query_results(written, format=read)}
        if back != terms:
            found.add(name, f"results as {form}: {sorted(map(str, back ^ terms))[:2]}")


# -- Replies ----------------------------------------------------------------------------------------------------------


def spoiled(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """The bytes after one to four accidents."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(made) + 1)
        what = chance.randrange(7)
        if what == 0 and made:
            made[min(at, len(made) - 1)] ^= 1 << chance.randrange(8)
        elif what == 1:
            del made[at : at + chance.randint(1, 20)]
        elif what == 2:
            made[at:at] = made[at : at + chance.randint(1, 200)]
        elif what == 3:
            made[at:at] = chance.choice(TROUBLE).encode() * chance.choice([1, 1, 1, 3000])
        elif what == 4:
            del made[at:]
        elif what == 5:
            made[at:at] = chance.choice(
                [b"[", b"{", b'"', b"null", b"NaN", b"1e999", b"-0", b"</", b"<!--", b"<![CDATA["]
            )
        else:
            start = chance.randrange(len(other) + 1)
            made[at : at + 10] = other[start : start + chance.randint(1, 60)]
    return bytes(made)


NAMES = ["spouse", "capital of", "capital", "country (state)", "http://e.org/p", "child", "child"]
READERS: tuple[Callable[[str], Any], ...] = (
    json_value, plain_text, lambda text: numbers(text, count=7), lambda text: numbers(text, count=7, names=NAMES),
    mentions, written_answer, quantity, lambda text: cited_text(text, ("P1", "N2")),
)  # fmt: skip
REPLY_S = 5.0


def model_replies() -> list[bytes]:
    """What the gallery of replies says to a request that asks for everything."""
    numbered = {"n": {"type": "integer"}, "score": {"type": "number"}}
    properties = {
        "choices": {"type": "array", "items": {"type": "object", "properties": numbered}},
        "answer": {"type": "string"}, "sufficient": {"type": "boolean"},
        "mentions": {"type": "array", "items": {"type": "object", "properties": {"mention": {"type": "string"}}}},
    }  # fmt: skip
    lines = "\n".join(f"{n}. {name}" for n, name in enumerate(NAMES, 1))
    body = {"messages": [{"role": "user", "content": f"Question: Who?\n<candidates>\n{lines}\n</candidates>"}],
            "response_format": {"json_schema": {"schema": {"properties": properties}}}}  # fmt: skip
    said = []
    for script in GALLERY.values():
        reply = script(body)
        content = getattr(reply, "content", None)
        if content is not None:
            said.append((content if isinstance(content, str) else json.dumps(content))[:5_000].encode())
    return said


def fuzz_replies(count: int, seed: int, found: Findings) -> None:
    """Replies that are spoiled are read or refused, in time; one that is cut is never taken for a whole one."""
    endpoint = [(SELECT_JSON, JSON, "SELECT"), (ASK_JSON, JSON, "ASK"), (SELECT_XML, XML, "SELECT")]
    models = model_replies()
    for n in range(count):
        name = f"{seed}:replies:{n}"
        chance = random.Random(name)
        began = time.monotonic()
        try:
            if n % 2:
                text = spoiled(chance.choice(models), chance, chance.choice(models)).decode(errors="replace")
                for read in READERS:
                    with contextlib.suppress(KgsparqlError):
                        read(text)
            else:
                body, kind, _ = endpoint[0 if n % 4 else 2]
                is_cut = chance.random() < 0.3
                bad = body[: chance.randrange(len(body))] if is_cut else spoiled(body, chance, SELECT_XML)
                try:
                    solutions(
                        Reply(200, {"content-type": kind}, bad), SparqlRequest(f"{EX}sparql", "fuzz", "SELECT", 5.0)
                    )
                    if is_cut:
                        found.add(name, f"a reply that was cut is read: {bad[-80:]!r}")
                except KgsparqlError:
                    pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            found.add(name, f"{type(error).__name__}: {error}")
        if time.monotonic() - began > REPLY_S:
            found.add(name, f"{time.monotonic() - began:.1f} s")
        found.count("replies of models" if n % 2 else "replies of endpoints")


# -- Queries ----------------------------------------------------------------------------------------------------------

HOOK = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int connect(int fd, const struct sockaddr *to, socklen_t size) {
    int out = open(getenv("FUZZ_CONNECTED"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (out >= 0) { (void)!write(out, "x", 1); close(out); }
    errno = ECONNREFUSED;
    return -1;
}
"""
QUERY_S, MEMORY = 2.0, 512 << 20
WHERE = "<http://127.0.0.1:18999/sparql>"
PIECES = (
    "SERVICE|service|SILENT|?v|{|}|(|)|[|]|.|;|,|'|\"|'''|\"\"\"|#|\n|<|>|FILTER|FILTER(?o<|VALUES ?q {|OPTIONAL{|"
    "UNION|GRAPH ?g|EXISTS{|&&|||=|!|1.|'x'|@en|^^|\\u0053ERVICE|\\u0022|a|*|/|+|true|FROM|NAMED|LOAD|?s ?p ?o|"
    f"SELECT *|{{ SELECT * {{ ?a ?b ?c }} }}|REGEX(?o, '(a+)+$')|REGEX(?o,'((a{{9}}){{9}}){{9}}')|?a ?b ?c . ?d ?e ?f .|"  # noqa: E501
    f"{WHERE}"
).split("|")


def spoiled_query(text: str, chance: random.Random, other: str) -> str:
    """A query after one to five accidents between its tokens."""
    parts = re.findall(r"\w+|\s+|[^\w\s]", text)[:4_000]
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        at = chance.randrange(len(parts) + 1)
        what = chance.choice([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 4])
        if what == 0:
            del parts[at : at + chance.randint(1, 4)]
        elif what == 1:
            parts.insert(at, chance.choice(PIECES))
        elif what == 2:
            parts[at:at] = parts[at : at + chance.randint(1, 12)] * chance.choice([1, 1, 2, 60])
        elif what == 3:
            parts.insert(at, f" SERVICE {WHERE} {{ ?x ?y ?z }} ")
        else:
            others = re.findall(r"\w+|\s+|[^\w\s]", other)
            start = chance.randrange(len(others) + 1)
            parts[at:at] = others[start : start + chance.randint(1, 12)]
    return "".join(parts)


@contextlib.contextmanager
def no_connections(folder: Path) -> Iterator[Path]:
    """Processes that are started now cannot connect; whoever tries is put down in a file."""
    library, told = folder / "refuse.so", folder / "connected"
    (folder / "refuse.c").write_text(HOOK)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, folder / "refuse.c"],  # noqa: S607
        check=True,
    )
    os.environ.update(LD_PRELOAD=str(library), FUZZ_CONNECTED=str(told))
    try:
        trying = "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\nexcept OSError:\n    pass"
        subprocess.run([sys.executable, "-c", trying], check=True)
        if not told.exists():
            raise RuntimeError("the library puts nothing down, and would show nothing")
        unchecked = (
            f"import pyoxigraph as ox; list(ox.Store().query('SELECT * {{ SERVICE SILENT {WHERE} {{ ?s ?p ?o }} }}'))"
        )
        before = told.stat().st_size
        subprocess.run([sys.executable, "-c", unchecked], check=False, capture_output=True)
        if told.stat().st_size == before:
            raise RuntimeError("the engine connects past the library: it would show nothing")
        told.unlink()
        yield told
    finally:
        del os.environ["LD_PRELOAD"], os.environ["FUZZ_CONNECTED"]


def fuzz_queries(count: int, seed: int, found: Findings) -> None:
    """SPARQL that is spoiled is refused, or runs within its time and memory; nobody connects to anything."""
    bad = [*(text.format(port=18999) for text in SECOND_READINGS), *forbidden()]
    good = [*LEGITIMATE, *(f.read_text(encoding="utf-8") for f in sorted((ROOT / "queries").glob("*.rq")))]
    store = ox.Store()
    store.extend(ox.Quad(IRI(f"{EX}{n}"), IRI(f"{EX}p{n % 5}"), IRI(f"{EX}{n * 7 % 300}")) for n in range(300))
    with (
        tempfile.TemporaryDirectory() as folder,
        no_connections(Path(folder)) as told,
        QueryWorker(store, memory_bytes=MEMORY) as worker,
    ):
        for n in range(count):
            name = f"{seed}:queries:{n}"
            chance = random.Random(name)
            text = spoiled_query(chance.choice(good if chance.random() < 0.7 else bad), chance, chance.choice(good))
            began = time.monotonic()
            try:
                checked = check(text)
                found.count("queries that the check let through")
                took = time.monotonic() - began
                worker.start()
                before = time.monotonic()
                worker.run(checked, timeout_s=QUERY_S, max_rows=1000)
                took += time.monotonic() - before
            except KgsparqlError as error:
                took = time.monotonic() - began
                if error.code == "E_QUERY_CRASH":
                    found.add(name, f"a process died of it: {error}: {text[:200]}")
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                found.add(name, f"{type(error).__name__}: {error}: {text[:200]}")
                took = 0.0
            if took > QUERY_S + 8:  # a worker that is started again is not its fault
                found.add(name, f"{took:.1f} s: {text[:200]}")
            if told.exists():
                found.add(name, f"somebody connected: {text[:300]}")
                told.unlink()
            if worker.pid and n % 50 == 0:
                with contextlib.suppress(OSError):
                    peak = peak_of(worker.pid)
                    found.tried["MiB of the worker at most"] = max(
                        found.tried.get("MiB of the worker at most", 0), int(peak)
                    )
                    if peak > (MEMORY >> 20) + 300:
                        found.add(name, f"the worker has {peak:.0f} MiB")
            found.count("queries")


def main() -> int:
    """Run what is asked for, print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terms", type=int, default=100_000)
    parser.add_argument("--replies", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = Findings()
    for name, work, count in (
        ("builders", fuzz_builders, options.terms), ("writers", fuzz_writers, options.terms),
        ("replies", fuzz_replies, options.replies), ("queries", fuzz_queries, options.queries),
    ):  # fmt: skip
        began = time.monotonic()
        work(count, options.seed, found)
        print(f"{name}: {count:,}, {time.monotonic() - began:.0f} s", flush=True)
    print("; ".join(f"{number:,} {what}" for what, number in found.tried.items()))
    print(f"{len(found.told)} findings, seed {options.seed}")
    return 1 if found.told else 0


if __name__ == "__main__":
    sys.exit(main())
