"""Rows E: servers that are down, slow, cut, lie, throttle, redirect; between kgsparql and a real engine."""

from __future__ import annotations

import gzip
import json
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

from benchmarks.hostile.processes import Done, check
from benchmarks.hostile.rows import NOBEL, Place, notes, row
from tests.endpoints import proxy as faults
from tests.endpoints.faults import JSON, SELECT_JSON, XML, FaultServer, reply, results
from tests.endpoints.ports import free_port
from tests.endpoints.proxy import Fault, Proxy, Response, as_json, changed, first, sends
from tests.endpoints.servers import oxigraph_serve, store_of

LABELS = "SELECT ?s ?labelled WHERE { ?s rdfs:label ?labelled } ORDER BY ?s ?labelled LIMIT 1000"
MINE = "?labelled"
CURIE = "http://dbpedia.org/resource/Marie_Curie"
BORN = "Where was Marie Curie born?"


@contextmanager
def engine(at: Place) -> Iterator[str]:
    """A real engine over the bundled graph."""
    store = at.folder / "engine"
    with oxigraph_serve(store if store.exists() else store_of(NOBEL, store)) as url:
        yield url


def status(line: str, body: bytes = b"no", *headers: str, kind: str = "text/plain") -> Fault:
    """A reply with this status."""
    return sends(reply(body, status=line, type=kind, headers=headers))


def throttled(*headers: str) -> Fault:
    """429."""
    return status("429 Too Many Requests", b"Rate limit exceeded", *headers)


def profile(at: Place, url: str, more: str) -> dict[str, str]:
    """The environment in which an endpoint has a profile."""
    text = f"""@prefix kgs: <https://w3id.org/kgsparql#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
[] a kgs:EndpointProfile ; rdfs:label "of this row" ; kgs:alias "ofthisrow" ; sd:endpoint <{url}> ; {more} ."""
    return {"KGSPARQL_ENDPOINTS": str(at.write("endpoints.ttl", text))}


def failing(
    at: Place, url: str, fault: Fault, code: str, *says: str, times: int | None = 1, most_s: float = 30.0,
    seconds: float = 20.0, exit: int = 5, of: str = "", hint: bool = True,  # noqa: A002
) -> Done:  # fmt: skip
    """Every reply to the query has the same fault: the error, and how often it was sent."""
    with Proxy(url, first(then=fault, only=MINE)) as proxy:
        env = profile(at, proxy.url, of) if of else {}
        done = at.refused(
            exit,
            [code, *says],
            "query",
            LABELS,
            "-k",
            proxy.url,
            "--max-seconds",
            seconds,
            within_s=most_s,
            env=env,
            hint=hint,
        )
        sent = len(proxy.of(MINE))
    check(times is None or sent == times, f"sent {sent} times, not {times}")
    return done


def passing(
    at: Place,
    url: str,
    *plan: Fault | None,
    of: str = "",
    then: Fault | None = None,
    exit: int = 0,  # noqa: A002
) -> tuple[list[Any], Proxy, Done]:
    """The solutions that come through in the end."""
    with Proxy(url, first(*plan, then=then, only=MINE)) as proxy:
        env = profile(at, proxy.url, of) if of else {}
        done = at.fine("query", LABELS, "-k", proxy.url, "-f", "json", "--max-seconds", "60", env=env, exit=exit)
    return json.loads(done.stdout)["results"]["bindings"], proxy, done


def all_labels(at: Place, url: str) -> list[Any]:
    """What the engine says by itself."""
    found = json.loads(at.fine("query", LABELS, "-k", url, "-f", "json").stdout)["results"]["bindings"]
    check(len(found) > 300, "the engine says nothing")
    return list(found)


def certificate(at: Place) -> tuple[Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that nobody signed."""
    chain, key = at.folder / "certificate.pem", at.folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",  # noqa: S607
         "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", chain], check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain, key)
    return chain, context


@row("E01", "nobody listens, no such host, IPv6 only, no TLS, a certificate that nobody signed", "exit 5 within 10 s")
def down(at: Place) -> None:
    port = free_port()
    for url in (f"http://127.0.0.1:{port}/sparql", f"http://[::1]:{port}/sparql", "http://nowhere.invalid/sparql"):
        at.refused(5, "E_ENDPOINT_DOWN", "query", "ASK {}", "-k", url, within_s=15)
    with engine(at) as url:
        at.refused(5, ["E_ENDPOINT_DOWN", "TLS"], "query", "ASK {}", "-k", url.replace("http:", "https:"), within_s=15)
        with Proxy(url, tls=certificate(at)[1]) as proxy:
            at.refused(5, ["E_ENDPOINT_DOWN", "certificate"], "query", "ASK {}", "-k", proxy.url, within_s=15)
        check(not proxy.requests, "something was sent")


@row("E02", "it takes the query and never answers", "exit 5, E_TIMEOUT at its deadline")
def never(at: Place) -> None:
    with engine(at) as url:
        done = failing(at, url, faults.hangs, "E_TIMEOUT", seconds=3, most_s=12)
        check(done.seconds >= 3, "too soon")


@row("E03", "a byte every 0.25 s", "exit 5, E_TIMEOUT at the deadline of all of it")
def drip(at: Place) -> None:
    with engine(at) as url:
        done = failing(at, url, faults.drips(0.25), "E_TIMEOUT", seconds=3, most_s=12)
        check(done.seconds >= 3, "too soon")


@row("E04", "a web page with status 200, also called JSON", "exit 5, E_ENDPOINT_NOT_SPARQL with its words, no ESC")
def page(at: Place) -> None:
    html = b"<!doctype html><html><body><h1>Maintenance</h1> until \x1b[31mnoon</body></html>"
    with engine(at) as url:
        for kind in ("text/html; charset=utf-8", JSON):
            done = failing(at, url, sends(reply(html, type=kind)), "E_ENDPOINT_NOT_SPARQL", "Maintenance until")
            check("\x1b" not in done.stderr and "<h1>" not in done.stderr, ascii(done.stderr))


@row("E05", "plain text with status 200: please set a user-agent", "the same, and a hint to KGSPARQL_CONTACT")
def plea(at: Place) -> None:
    with engine(at) as url:
        fault = sends(reply(b"Please set a user-agent with a contact", type="text/plain"))
        failing(at, url, fault, "E_ENDPOINT_NOT_SPARQL", "Please set a user-agent", "KGSPARQL_CONTACT")


CUT_EVERYWHERE = """
import sys
import kgsparql
from kgsparql.errors import KgsparqlError
url, count, text = sys.argv[1], int(sys.argv[2]), sys.argv[3]
knowledge = kgsparql.open(url, embedder="none")
codes, accepted = {}, []
for at in range(count):
    try:
        accepted.append((at, knowledge.query(text).rows))
    except KgsparqlError as error:
        codes[error.code] = codes.get(error.code, 0) + 1
print(accepted, codes, knowledge.query(text).rows)
"""


@row("E06", "JSON and XML results cut at every byte", "never accepted")
def cut_everywhere(at: Place) -> str:
    small = "SELECT ?s ?labelled WHERE { ?s rdfs:label ?labelled } ORDER BY ?s ?labelled LIMIT 4"
    told, tried = [], 0
    with engine(at) as url:
        for accept in (JSON, XML):
            whole: list[bytes] = []

            def keep(r: Response, whole: list[bytes] = whole) -> Response:
                whole.append(r.body)
                return r

            with Proxy(url, first(changed(keep, accept=accept), only=MINE)) as proxy:
                at.fine("query", small, "-k", proxy.url)
            body = whole[0]
            step = max(1, len(body) // 40) if at.quick else 1
            cuts = range(0, len(body) - 1, step)
            plan = [changed(lambda r, n=n: replace(r, body=r.body[:n]), accept=accept) for n in cuts]
            with Proxy(url, first(*plan, only=MINE)) as proxy:
                said = at.python(CUT_EVERYWHERE, proxy.url, len(plan), small, timeout_s=900).stdout.strip()
            check(said.startswith("[] ") and said.endswith(" 4"), f"accepted: {said[:300]}")
            told.append(said[3:-2])
            tried += len(plan)
    if at.quick:
        at.cut_down = "40 cuts of each instead of every byte"
    return f"{tried} cuts, none accepted: {'; '.join(told)}"


@row("E07", "a trace of Java inside and after the JSON", "exit 5, E_PARTIAL or E_TIMEOUT with a hint to ask for less")
def trace(at: Place) -> None:
    java = b"java.util.concurrent.TimeoutException\n\tat com.bigdata.rdf.sail.webapp.QueryServlet.doSparqlQuery"
    with engine(at) as url:
        for n in (500, None):
            fault = changed(lambda r, n=n: replace(r, body=r.body[:n] + java))
            failing(at, url, fault, "E_", "ask for less")


@row("E08", "a length that is longer or shorter, chunks that end, RST", "exit 5, E_PARTIAL")
def lengths(at: Place) -> None:
    with engine(at) as url:
        for fault in (
            faults.cut(700), faults.wrong_length(lambda real: real + 10), faults.wrong_length(lambda real: real - 10),
            faults.chunks_cut(700), faults.chunks_cut(700, ends_in_chunk=True), faults.resets(700),
            faults.unframed(700),
        ):  # fmt: skip
            failing(at, url, fault, "E_PARTIAL", times=None)


@row("E09", "206, X-SQL-State, as many rows as the server gives at most", "the result is called cut; so is the answer")
def cut_by_server(at: Place) -> str:
    said = []
    with engine(at) as url:
        for fault, of in (
            (changed(lambda r: replace(r, status=206, reason="Partial Content")), ""),
            (changed(lambda r: r.with_headers(X_SQL_State="S1TAT")), ""),
            (None, "kgs:maxSolutions 1000 ; kgs:hasUnion true"),
        ):  # fmt: skip
            text = LABELS if fault else "SELECT ?s ?labelled { ?s ?p ?labelled }"
            cap = changed(as_json(lambda d: d["results"]["bindings"].__delitem__(slice(1000, None))))
            with Proxy(url, first(then=fault or cap, only=MINE)) as proxy:
                env = profile(at, proxy.url, of) if of else {}
                done = at.fine("query", text, "-k", proxy.url, "-f", "csv", env=env, exit=6)
            check("endpoint" in done.stderr and ("cut" in done.stderr or "stopped" in done.stderr), done.stderr)
            said.append(done.stderr.splitlines()[-1])
        with Proxy(url, first(then=changed(lambda r: r.with_headers(X_SQL_State="S1TAT")))) as proxy:
            answer = at.ask(BORN, proxy.url, exit={0, 3}, more=["-e", CURIE])
        check("cut" in notes(answer), f"the answer does not say it: {notes(answer)}")
    return "; ".join(said)


@row("E10", "429 with Retry-After: 2, then fine", "one wait as long as that, then the result")
def wait_once(at: Place) -> str:
    waited = []
    with engine(at) as url:
        for after in ("2", formatdate(time.time() + 4, usegmt=True)):
            found, proxy, _ = passing(at, url, throttled(f"Retry-After: {after}"))
            refused, then = proxy.of(MINE)
            waited.append(then.came - (refused.went or 0))
            check(len(found) > 300, "not the result")
        check(waited[0] >= 1.9, f"waited {waited[0]:.1f} s")
    return f"waited {waited[0]:.1f} s"


@row(
    "E11",
    "429 for ever; Retry-After 86400, -1, abc, none, 2093",
    "exit 5, E_RATE, 3 tries at most, says how long to wait",
)
def throttled_for_ever(at: Place) -> None:
    with engine(at) as url:
        for after in ("86400", "-1", "abc", None, "Sun, 22 Nov 2093 00:00:00 GMT", "9" * 400):
            fault = throttled(*([] if after is None else [f"Retry-After: {after}"]))
            long = after is not None and (after == "86400" or "2093" in after or len(after) > 99)
            failing(at, url, fault, "E_RATE", "wait", times=1 if long else None, seconds=5, most_s=20)


@row("E12", "429 that says `Operation timed out`, as QLever does", "exit 5, E_TIMEOUT, not asked again")
def out_of_time(at: Place) -> None:
    body = json.dumps({"exception": "Operation timed out.", "query": "x", "status": "ERROR"}).encode()
    fault = status("429 Too Many Requests", body, kind="application/json")
    with engine(at) as url:
        failing(at, url, fault, "E_TIMEOUT", "less")
        failing(at, url, fault, "E_TIMEOUT", "less", of="kgs:engine kgs:qlever")


DBPEDIA = 'kgs:statusMeaning [ kgs:httpStatus 405 ; kgs:means "throttled" ]'


@row("E13", "405 with Retry-After, as DBpedia does", "taken as throttling: a wait, or E_RATE")
def throttled_by_405(at: Place) -> None:
    with engine(at) as url:
        fault = status("405 Method Not Allowed", b"Too many requests", "Retry-After: 1")
        found, proxy, _ = passing(at, url, fault, of=DBPEDIA)
        check(len(found) > 300 and len(proxy.of(MINE)) == 2, f"{len(proxy.of(MINE))} requests")
        fault = status("405 Method Not Allowed", b"no", "Retry-After: 3000")
        failing(at, url, fault, "E_RATE", of=DBPEDIA)


@row("E14", "403 that wants a user-agent, 401", "exit 5, E_AUTH, not asked again")
def forbidden(at: Place) -> None:
    with engine(at) as url:
        failing(at, url, status("403 Forbidden", b"Please set a user-agent"), "E_AUTH", "KGSPARQL_CONTACT")
        failing(at, url, status("401 Unauthorized"), "E_AUTH", "USER:PASSWORD")


@row(
    "E15",
    "500 with `transitive start not given` or S1T00",
    "exit 4 (the query) or 5 with its words, not asked again; no query of kgsparql's has such a path",
)
def virtuoso_500(at: Place) -> None:
    with engine(at) as url:
        body = b"Virtuoso 37000 Error TN...: transitive start not given"
        failing(at, url, status("500 SPARQL Request Failed", body), "transitive start not given", exit=4, hint=False)
        failing(at, url, status("500 SPARQL Request Failed", b"Virtuoso S1T00 Error SR171: timed out"), "E_TIMEOUT")


@row("E16", "503 and 502 twice and then fine; 504; 400; 500", "tried again; 504, 400, 500 are not")
def overloaded(at: Place) -> None:
    with engine(at) as url:
        for line in ("503 Service Unavailable", "502 Bad Gateway"):
            found, proxy, _ = passing(at, url, status(line, b"", "Retry-After: 1"), status(line))
            check(len(found) > 300 and len(proxy.of(MINE)) == 3, f"{line}: {len(proxy.of(MINE))} requests")
        failing(at, url, status("504 Gateway Timeout"), "E_TIMEOUT")
        failing(at, url, status("400 Bad Request", b"nothing to be done"), "nothing to be done", exit=4, hint=False)
        failing(at, url, status("500 Internal Server Error", b"nothing to be done"), "nothing to be done")


@row(
    "E17",
    "redirects: to 127.0.0.1, 169.254.169.254, [::ffff:10.0.0.1], file:, another host, http from https, in a circle",
    "exit 5, E_REDIRECT or E_EGRESS, nothing is sent there",
)
def redirects(at: Place) -> None:
    with engine(at) as url, Proxy(url) as target:
        for host in (f"127.0.0.1:{target.port}", f"localhost:{target.port}", f"[::ffff:127.0.0.1]:{target.port}",
                     f"0x7f.1:{target.port}"):  # fmt: skip
            failing(at, url, status("302 Found", b"", f"Location: http://{host}/sparql"), "E_REDIRECT")
        for place in ("http://169.254.169.254/latest/meta-data/", "http://[::ffff:10.0.0.1]/", "file:///etc/passwd"):
            failing(at, url, status("307 Temporary Redirect", b"", f"Location: {place}"), "E_REDIRECT", most_s=15)
        failing(at, url, status("308 Permanent Redirect", b"", "Location: /sparql?again"), "E_REDIRECT", times=None)
        chain, context = certificate(at)
        with Proxy(url, tls=context) as secure:
            secure.plan = first(then=status("301 Moved Permanently", b"", f"Location: {target.url}"))
            env = {"SSL_CERT_FILE": str(chain)}
            at.refused(5, "E_REDIRECT", "query", LABELS, "-k", secure.url, env=env)
        check(target.connections == 0, f"{target.connections} connections to where it was sent")


@row("E18", "200 KB of gzip that are 200 MB", "exit 5, E_LIMIT, less than 100 MiB more")
def bomb(at: Place) -> str:
    size = 200_000_000
    packed = gzip.compress(SELECT_JSON + b" " * size)
    with engine(at) as url:
        usual = at.fine("query", LABELS, "-k", url)
        done = failing(at, url, sends(reply(packed, headers=["Content-Encoding: gzip"])), "E_LIMIT")
    check(done.peak_mib - usual.peak_mib < 100, f"{done.peak_mib - usual.peak_mib:.0f} MiB more")
    return f"E_LIMIT, {done.peak_mib - usual.peak_mib:+.0f} MiB beside a query that is fine"


@row("E19", "XML though JSON was asked for, no Content-Type, QLever's own JSON, CSV", "read, or exit 5 with E_FORMAT")
def formats(at: Place) -> None:
    def without_type(whole: Response) -> Response:
        return whole.with_headers(Content_Type=None)

    with engine(at) as url:
        wanted = all_labels(at, url)
        for fault in (changed(lambda r: r, accept=XML), changed(without_type), changed(without_type, accept=XML)):
            check(passing(at, url, then=fault)[0] == wanted, "another result")
        qlever = b'{"query":"SELECT *","status":"OK","res":[["<http://e.org/a>"]]}'
        failing(at, url, sends(reply(qlever, type="application/qlever-results+json")), "E_")
        failing(at, url, changed(lambda r: r, accept="text/csv"), "E_")


@row(
    "E20",
    "typed-literal, an unknown variable, no head, one bad IRI among many",
    "read; the bad row is dropped and counted",
)
def odd_rows(at: Place) -> None:
    def old(document: dict[str, Any]) -> None:
        for one in document["results"]["bindings"]:
            if "xml:lang" not in one["labelled"]:
                one["labelled"]["type"] = "typed-literal"

    def spoil(document: dict[str, Any]) -> None:
        document["results"]["bindings"][200]["s"]["value"] = "http://example.org/a b>"

    def spoil_all(document: dict[str, Any]) -> None:
        for one in document["results"]["bindings"]:
            one["s"]["value"] = "no iri"

    with engine(at) as url:
        wanted = all_labels(at, url)
        check(passing(at, url, then=changed(as_json(old)))[0] == wanted, "typed-literal")
        found, _, done = passing(at, url, then=changed(as_json(spoil)), exit=6)
        check(found == wanted[:200] + wanted[201:], f"{len(found)} of {len(wanted)}")
        check("1 " in done.stderr, f"not counted: {done.stderr!r}")
        failing(at, url, changed(as_json(spoil_all)), "E_FORMAT")


@row("E21", "414 for a query in the URL", "posted instead")
def too_long(at: Place) -> None:
    with engine(at) as url, Proxy(url) as proxy:
        proxy.plan = lambda request: status("414 URI Too Long") if len(request.path) > 100 else None
        env = profile(at, proxy.url, "kgs:post false")
        done = at.fine("query", LABELS, "-k", proxy.url, "-f", "json", env=env)
        check(len(json.loads(done.stdout)["results"]["bindings"]) > 300, "not the result")
        methods = [request.method for request in proxy.of(MINE)]
        check(methods in (["GET", "POST"], ["POST"]), f"{methods}")


@row(
    "E22",
    "the endpoint dies at several moments of a question",
    "what was found as a partial answer that says so, or exit 5",
)
def dies(at: Place) -> str:
    question = "Who was born in the city in which Marie Curie was born?"
    kept = partial = 0
    with engine(at) as url:
        with Proxy(url) as proxy:
            at.ask(question, proxy.url, exit={0, 3}, more=["-e", CURIE])
            needed = len(proxy.requests)
        check(needed > 8, f"only {needed} requests")
        moments = [2, needed // 2, needed - 1] if at.quick else range(1, needed)
        for n, last in enumerate(moments):
            with Proxy(url) as proxy:
                proxy.plan = lambda request, last=last: faults.goes_down if request.number >= last else None
                env = {"KGSPARQL_CACHE_DIR": str(at.folder / f"cache-{n}")}
                done = at.run("ask", question, "-k", proxy.url, "-e", CURIE, "--no-model", "-f", "json", env=env)
            answer = json.loads(done.stdout)
            check(done.exit == 5 and answer["error"]["code"] == "E_ENDPOINT_DOWN", f"exit {done.exit} at {last}")
            partial += answer["status"] == "partial"
            kept += bool(answer.get("evidence"))
            named = str(answer.get("notes")) + str(answer["error"])
            check(proxy.url in named, "the endpoint is not named")
    check(kept, "nothing was ever left of it")
    if at.quick:
        at.cut_down = f"3 moments instead of {needed - 1}"
    return f"{len(list(moments))} moments of {needed} requests: exit 5 each, {partial} partial answers"


@row("E23", "a scholarly item at the main endpoint of Wikidata", "exit 3, hint to wikidata-scholarly")
def split(at: Place) -> None:
    with engine(at) as url:
        env = profile(at, url, 'kgs:hasUnion true ; kgs:elsewhere "wikidata-scholarly: scholarly articles"')
        options = ["-e", "http://www.wikidata.org/entity/Q21090025", "--no-model"]
        at.refused(3, "wikidata-scholarly", "ask", "Who wrote it?", "-k", url, *options, env=env)


FORTY = """
import sys
import kgsparql
from kgsparql.errors import KgsparqlError
knowledge, told = kgsparql.open(sys.argv[1], embedder="none"), []
for _ in range(40):
    try:
        knowledge.query(sys.argv[2], timeout_s=5)
    except KgsparqlError as error:
        told.append(error)
print(len(told), len({id(e) for e in told}), told[-1].code, told[-1].hint)
"""
PUBLIC = "kgs:isPublic true ; kgs:concurrency 1 ; kgs:errorsPerMinute 30 ; kgs:hasUnion true"


@row(
    "E24",
    "40 errors in a minute, in one process and in several",
    "the asking ends before 30; the next process asks nothing",
)
def breaker(at: Place) -> str:
    broken = results(b"out of memory", status="500 Broken", type="text/plain")
    with FaultServer(broken) as server:  # as a proxy, since what is known of this machine is not told to others
        url = "http://sparql.example.org/sparql"
        env = {**profile(at, url, PUBLIC), "http_proxy": f"http://127.0.0.1:{server.port}"}
        said = at.python(FORTY, url, LABELS, env=env).stdout
        check(said.startswith("40 "), said)
        sent = len(server.requests)
        check(1 <= sent <= 15, f"{sent} requests")
        at.refused(5, "E_", "query", LABELS, "-k", url, "--max-seconds", "5", env=env)
        check(len(server.requests) == sent, "the next process asked")
    return f"{sent} of 40 were sent; the next process asked nothing"


JUMPING = """
import sys, time
real, start = time.time, time.monotonic()
jump = float(sys.argv[3])
time.time = lambda: real() + (jump if time.monotonic() - start > 1.5 else 0.0)
import kgsparql
from kgsparql.errors import KgsparqlError
knowledge = kgsparql.open(sys.argv[1], embedder="none")
time.sleep(max(0, 1.6 - (time.monotonic() - start)))
began = time.monotonic()
try:
    print("rows", knowledge.query(sys.argv[2], timeout_s=4).rows, time.monotonic() - began)
except KgsparqlError as error:
    print(error.code, 0, time.monotonic() - began)
"""


@row("E25", "the clock jumps by a day, either way, while it waits", "deadlines and waits hold")
def clock(at: Place) -> str:
    told = []
    with engine(at) as url:
        for jump in (86_400, -86_400):
            for fault, code in ((faults.hangs, "E_TIMEOUT"), (throttled("Retry-After: 2"), "rows")):
                plan = first(then=fault, only=MINE) if code == "E_TIMEOUT" else first(fault, only=MINE)
                with Proxy(url, plan) as proxy:
                    said = at.python(JUMPING, proxy.url, LABELS, jump).stdout.split()
                check(said[0] == code, f"{said}")
                low, high = (3.8, 9) if code == "E_TIMEOUT" else (1.9, 9)
                check(low <= float(said[2]) <= high, f"{said}")
                told.append(f"{float(said[2]):.1f}")
    return f"{', '.join(told)} s"
