"""Wikidata's query service as its rules are known: a real engine behind a proxy that throttles, strikes and bans.

Each client (told by its User-Agent) may use 60 seconds of query time a minute and saves up 120 at most, may make 30
errors a minute, 60 saved up, and have 5 queries running; since 2026 it may also make 200 requests a minute if it names
a contact, and 10 if it does not. Over it, 429 and Retry-After. A request inside that time is a
strike, and more strikes than are let pass are a ban. A query ends after 60 seconds, a URL may have 1 MB.

It has the manners of Blazegraph, or those of QLever, to which it may turn at any time: 429 for a query that took too
long, figures behind each result, no services of labels and of search, nothing to say of itself, and, where the index
was built so, a triple for each word of a literal (:func:`_as_qlever_reads`).

:func:`as_wikidata_has_it` makes of a file with direct claims what that service has of them: statements, too, each with
its rank and some with a qualifier, sitelinks, and what properties are. Items are found by the service's own search.
"""

from __future__ import annotations

import json
import math
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

import pyoxigraph as ox

from kgsparql import AskOptions, KnowledgeBase
from kgsparql.evaluation import datasets
from kgsparql.evaluation.dataset import Question, Record
from kgsparql.evaluation.run_plan import Plan, run
from kgsparql.graphs.profiles import EndpointProfile, known_endpoints
from kgsparql.retrievers import load
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Exchange, Fault, Proxy, Response, Seen, sends
from tests.endpoints.proxy import Plan as Faults
from tests.endpoints.servers import oxigraph_serve, store_of

QUERY_SECONDS, QUERY_BURST = 60.0, 120.0
ERRORS, ERRORS_BURST = 30.0, 60.0
QUERY_TIMEOUT_S = 60.0
REQUESTS, REQUESTS_WITHOUT_CONTACT = 200, 10
MOST_AT_ONCE = 5
MOST_URL = 1_000_000
WIKIDATA, WIKIBASE = "http://www.wikidata.org/", "http://wikiba.se/ontology#"
Manners = Literal["Blazegraph", "QLever"]
MAY_STRIKE = 1
"""Requests inside the time of a Retry-After that are let pass with another 429."""
IMPOLITE = ("strikes", "bans")
"""Figures that are 0 for a client that keeps limits."""
_NAMES = {"http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#altLabel"}
_CONTACT = re.compile(r"\S+@\S+\.\S+|https?://\S+")
_PLEA = b"Please set a user-agent with a way to reach you, as https://w.wiki/4wJS says."
_TRACE = b"SPARQL-QUERY: queryStr=...\njava.util.concurrent.TimeoutException\n\tat java.base/FutureTask.get(FutureTask)"


@dataclass(slots=True)
class _Client:
    """What is left to one client, in seconds and errors of the simulated clock."""

    at: float
    seconds: float = QUERY_BURST
    errors: float = ERRORS_BURST
    closed_until: float = 0.0
    strikes: int = 0
    is_banned: bool = False
    came: list[float] = field(default_factory=list)

    def refill(self, now: float) -> None:
        minutes, self.at = (now - self.at) / 60, now
        self.seconds = min(QUERY_BURST, self.seconds + minutes * QUERY_SECONDS)
        self.errors = min(ERRORS_BURST, self.errors + minutes * ERRORS)
        self.came = [at for at in self.came if at > now - 60]

    def wait_s(self, most: int) -> float:
        """Until there is something left again."""
        left_s = self.came[-most] + 60 - self.at if len(self.came) >= most else 0.0
        return max(0.0, left_s, -self.seconds * 60 / QUERY_SECONDS, -self.errors * 60 / ERRORS)


class WikidataSimulator(Proxy):
    """A :class:`Proxy` with Wikidata's limits.

    :param speed: how many seconds its clock goes in one of ours.
    :param charge: the seconds of its clock that a query is charged; by default those that the engine needed.
    :param search: what its own search of items knows; without it, there is none, and labels are read.
    :param faults: what else goes wrong with a request that is let through.
    :param manners: of the engine that it has; may be changed while it runs.
    :param has_words: as QLever, it has triples of words.
    """

    def __init__(
        self,
        engine: str,
        *,
        speed: float = 1.0,
        charge: Callable[[Seen], float] | None = None,
        faults: Faults | None = None,
        search: ItemSearch | None = None,
        latency_s: float = 0.0,
        manners: Manners = "Blazegraph",
        has_words: bool = True,
    ) -> None:
        super().__init__(engine, self._judged, latency_s=latency_s)
        self.manners, self.has_words = manners, has_words
        self.speed = speed
        self.throttled = 0
        self._charge = charge or (lambda request: request.cost_s * speed)
        self.faults = faults
        self._search = search
        self._clients: dict[str, _Client] = {}

    def profile(self, **more: Any) -> EndpointProfile:
        """What a polite client knows of this service, in seconds of our clock."""
        known = known_endpoints().named("wikidata") if self._search else EndpointProfile(is_public=True, has_union=True)
        limited = replace(
            known, name="simulated Wikidata", urls=(), hosts=(), concurrency=1,
            linker_url=f"http://127.0.0.1:{self.port}/w/api.php" if self._search else "",
            requests_per_minute=int(REQUESTS * self.speed),
            requests_without_contact=int(REQUESTS_WITHOUT_CONTACT * self.speed),
            errors_per_minute=int(ERRORS * self.speed), timeout_s=QUERY_TIMEOUT_S / self.speed,
        )  # fmt: skip
        return replace(limited, **more)

    @property
    def strikes(self) -> int:
        """Requests inside the time of a Retry-After."""
        return sum(client.strikes for client in self._clients.values())

    @property
    def banned(self) -> tuple[str, ...]:
        """The User-Agents that are banned."""
        return tuple(agent for agent, client in self._clients.items() if client.is_banned)

    @property
    def without_contact(self) -> int:
        """Requests whose User-Agent has no way to reach who sends them."""
        return sum(_CONTACT.search(request.headers.get("user-agent", "")) is None for request in self.requests)

    @property
    def figures(self) -> dict[str, int]:
        """What an operator would look at."""
        return {
            "requests": len(self.requests),
            "throttled": self.throttled,
            "strikes": self.strikes,
            "most at once": self.most_at_once,
            "without contact": self.without_contact,
            "bans": len(self.banned),
        }

    def _judged(self, request: Seen) -> Fault:
        agent = request.headers.get("user-agent", "")
        if not agent:
            return sends(reply(_PLEA, type="text/plain"))
        now = time.monotonic()
        client = self._clients.setdefault(agent, _Client(now * self.speed))
        client.refill(now * self.speed)
        if now < client.closed_until:
            client.strikes += 1
            client.is_banned = client.is_banned or client.strikes > MAY_STRIKE
        if client.is_banned:
            return sends(reply(b"You have been banned until tomorrow.", status="403 Forbidden", type="text/plain"))
        wait_s = client.wait_s(REQUESTS_WITHOUT_CONTACT if _CONTACT.search(agent) is None else REQUESTS)
        if now < client.closed_until or wait_s or request.at_once > MOST_AT_ONCE:
            return self._throttles(client, now, wait_s)
        client.came.append(client.at)
        if len(request.path) > MOST_URL:
            return sends(reply(b"", status="414 URI Too Long", type="text/html"))
        return self._runs(client)

    def _throttles(self, client: _Client, now: float, wait_s: float) -> Fault:
        self.throttled += 1
        left_s = max(client.closed_until - now, wait_s / self.speed)
        wait = max(1, math.ceil(left_s))  # the header has whole seconds, and the client's are ours
        client.closed_until = max(client.closed_until, now + wait)
        header = f"Retry-After: {wait}"
        return sends(reply(b"Rate limit exceeded", status="429 Too Many Requests", type="text/plain", headers=[header]))

    def _runs(self, client: _Client) -> Fault:
        async def fault(exchange: Exchange) -> None:
            request = exchange.request
            try:
                other = self.faults(request) if self.faults is not None else None
                if other is not None:
                    await other(exchange)
                    return
                if self._search is not None and "action=wbsearchentities" in request.path:
                    await exchange.write(self._search.named(request.path))
                    return
                if self.manners == "QLever":
                    await exchange.write(await self._reply_of_qlever(exchange))
                    return
                if self._search is not None and "SERVICE wikibase:mwapi" in request.query:
                    await exchange.write(reply(self._search.results(request.query)))
                    return
                found = await exchange.engine()
                if request.cost_s * self.speed > QUERY_TIMEOUT_S:
                    status = "500 Internal Server Error"
                    await exchange.write(reply(_TRACE, status=status, type="text/plain"))
                else:
                    await exchange.write(found.head() + found.body)
            finally:
                client.seconds -= self._charge(request)
                client.errors -= request.status >= 400

        return fault

    async def _reply_of_qlever(self, exchange: Exchange) -> bytes:
        request = exchange.request
        if service := re.search(r"SERVICE (wikibase:\w+)", request.query):
            return qlever_error(request, 500, f"Error while executing a SERVICE request to {service[1]}: 301")
        query = _as_qlever_reads(request.query) if self.has_words else request.query
        request.body = urlencode({**request.form, "query": query}).encode()
        found = await exchange.engine()
        if request.cost_s * self.speed > QUERY_TIMEOUT_S:
            return qlever_error(request, 429, "Operation timed out.")
        if found.status != 200:
            return qlever_error(request, found.status, found.body.decode())
        meta = b',"meta":{"query-time-ms":%d,"result-size-total":1}}' % (1000 * request.cost_s)
        return reply(found.body.rstrip().removesuffix(b"}") + meta)

    def ask_engine(self, request: Seen, headers: dict[str, str]) -> Response:
        if request.asks_for_description:
            if self.manners == "QLever":
                return Response(404, "Not Found", {"Content-Type": "text/plain"}, b"Unknown path")
            said = b"[] <http://www.bigdata.com/rdf#/features/KB/Namespace> 'wdq' ."
            return Response(200, "OK", {"Content-Type": "text/turtle"}, said)
        return super().ask_engine(request, headers)


def qlever_error(request: Seen, status: int, message: str) -> bytes:
    """What QLever says of a query that failed."""
    took = {"computeResult": 1, "total": 1}
    said = {"exception": message, "query": request.query, "resultsize": 0, "status": "ERROR", "time": took}
    reason = {429: "429 Too Many Requests", 500: "500 Internal Server Error"}.get(status, f"{status} Bad Request")
    return reply(json.dumps(said, indent=4).encode(), status=reason, type="application/json")


def _as_qlever_reads(query: str) -> str:
    """Write triples of words for an engine that has none, and lets no literal be a subject."""
    words = r'CONCAT(" ", LCASE(REPLACE(STR({0}), "[^\\p{{L}}\\p{{N}}]+", " ")), " ")'

    def written(found: re.Match[str]) -> str:
        if found[2].startswith("?"):
            return f'?named <http://www.w3.org/2000/01/rdf-schema#label> {found[1]} . BIND("word" AS {found[2]})'
        return f'FILTER(CONTAINS({words.format(found[1])}, CONCAT(" ", {found[2]}, " ")))'

    return re.sub(r'(\?\w+) ql:has-word (\?\w+|"[^"]*") \.', written, query)


class ItemSearch:
    """Finds the items whose labels or aliases begin with some words, those with the most sitelinks first."""

    def __init__(self, data: Path) -> None:
        quads = list(ox.parse(path=str(data)))
        self._sitelinks = _sitelinks(quads)
        named = (quad for quad in quads if quad.predicate.value in _NAMES)
        names = {(quad.object.value.casefold(), quad.subject.value) for quad in named}
        self._names = sorted(name for name in names if name[1].startswith(f"{WIKIDATA}entity/Q"))

    def found(self, words: str, limit: int) -> list[str]:
        start = words.casefold()
        at, items = bisect_left(self._names, (start, "")), set()
        while at < len(self._names) and self._names[at][0].startswith(start):
            items.add(self._names[at][1])
            at += 1
        return sorted(items, key=lambda item: (-self._sitelinks[item], item))[:limit]

    def named(self, path: str) -> bytes:
        """Reply as the API that the web page of the wiki has."""
        asked = parse_qs(urlsplit(path).query)
        found = self.found(asked["search"][0], int(asked["limit"][0]))
        entities = [{"id": item.rpartition("/")[2], "concepturi": item, "repository": "wikidata"} for item in found]
        said = {"searchinfo": {"search": asked["search"][0]}, "search": entities, "success": 1}
        return reply(json.dumps(said).encode(), type="application/json; charset=utf-8")

    def results(self, query: str) -> bytes:
        """Reply to a query that sends words to it."""
        listed = re.search(r"VALUES \?words \{(.*?)\}\s*VALUES", query, re.DOTALL)
        limit = re.search(r"wikibase:limit (\d+)", query)
        assert listed is not None
        assert limit is not None
        every = [json.loads(text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', listed[1])]
        bindings = [
            {"words": {"type": "literal", "value": words}, "entity": {"type": "uri", "value": item}}
            for words in every
            for item in self.found(words, int(limit[1]))
        ]
        return json.dumps({"head": {"vars": ["words", "entity"]}, "results": {"bindings": bindings}}).encode()


def as_wikidata_has_it(data: Path, out: Path) -> None:
    """Write the triples of a file, and those that Wikidata's query service has beside direct claims."""
    ox.serialize(_with_statements(list(ox.parse(path=str(data)))), str(out), ox.RdfFormat.N_TRIPLES)


def _sitelinks(quads: Sequence[ox.Quad]) -> Counter[str]:
    """Count the claims that an item is in, for want of the wikis that have a page about it."""
    claims = [quad for quad in quads if quad.predicate.value.startswith(f"{WIKIDATA}prop/direct/")]
    return Counter(
        end.value
        for quad in claims
        for end in {quad.subject, quad.object}
        if end.value.startswith(f"{WIKIDATA}entity/Q")
    )


def _with_statements(quads: Sequence[ox.Quad]) -> Iterator[ox.Triple]:
    def triple(subject: str, predicate: str, value: ox.NamedNode | ox.Literal) -> ox.Triple:
        return ox.Triple(ox.NamedNode(subject), ox.NamedNode(predicate), value)

    direct, type_ = f"{WIKIDATA}prop/direct/", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    claims, properties = Counter[str](), set()
    values = Counter((quad.subject, quad.predicate) for quad in quads)
    for quad in quads:
        yield quad.triple
        item, predicate, key = quad.subject.value, quad.predicate.value, quad.predicate.value.removeprefix(direct)
        if key == predicate:
            continue
        properties.add(key)
        claims[item] += 1
        statement = f"{WIKIDATA}entity/statement/{item.rpartition('/')[2]}-{claims[item]}"
        yield triple(item, f"{WIKIDATA}prop/{key}", ox.NamedNode(statement))
        yield triple(statement, f"{WIKIDATA}prop/statement/{key}", quad.object)
        yield triple(statement, type_, ox.NamedNode(f"{WIKIBASE}BestRank"))
        yield triple(statement, f"{WIKIBASE}rank", ox.NamedNode(f"{WIKIBASE}NormalRank"))
        if values[quad.subject, quad.predicate] > 1:  # its place in a series
            yield triple(statement, f"{WIKIDATA}prop/qualifier/P1545", ox.Literal(str(claims[item])))
    for item, count in claims.items():
        yield triple(item, f"{WIKIBASE}statements", ox.Literal(count))
    for item, count in _sitelinks(quads).items():
        yield triple(item, f"{WIKIBASE}sitelinks", ox.Literal(count))
    for key in {*properties, "P1545"}:
        node = f"{WIKIDATA}entity/{key}"
        yield triple(node, type_, ox.NamedNode(f"{WIKIBASE}Property"))
        parts = {"claim": "", "statementProperty": "statement/", "qualifier": "qualifier/", "reference": "reference/"}
        for name, part in parts.items():
            yield triple(node, f"{WIKIBASE}{name}", ox.NamedNode(f"{WIKIDATA}prop/{part}{key}"))


@contextmanager
def simulated(turtle: str, folder: Path) -> Iterator[tuple[WikidataSimulator, Path]]:
    """A service with the items of a text, and the file of these."""
    (folder / "items.ttl").write_text(turtle, encoding="utf-8")
    items, served = folder / "items.nt", folder / "served.nt"
    own = (quad.triple for quad in ox.parse(path=str(folder / "items.ttl")))
    ox.serialize(own, str(items), ox.RdfFormat.N_TRIPLES)
    as_wikidata_has_it(items, served)
    with (
        oxigraph_serve(store_of(served, folder / "store")) as url,
        WikidataSimulator(url, search=ItemSearch(items)) as simulator,
    ):
        yield simulator, items


def questions_of(file: Path, *, limit: int) -> list[Question]:
    """The first questions of a file whose entities are known; those that a SELECT answers, where the file says it."""
    known = [question for question in datasets.load(file).questions if question.topics]
    return ([question for question in known if question.type == "SELECT"] or known)[:limit]


def records_of_run(
    knowledge: KnowledgeBase, questions: Sequence[Question], path: Path, *, method: str, workers: int
) -> list[Record]:
    """What came of questions whose entities are given, asked by an evaluation run in a directory of its own."""
    asked = load(method)
    plan = Plan(questions=questions, methods=[asked], asking=AskOptions(), gold_topics=True, workers=workers)
    config = {"dataset": {"name": "simulated"}, "methods": [{"label": method}], "model": ""}
    return list(run(knowledge, plan, path, config).records(method).values())
