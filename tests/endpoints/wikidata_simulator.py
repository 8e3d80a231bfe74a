"""Wikidata's query service as its rules are known: a real engine behind a proxy that throttles, strikes and bans.

Each client (told by its User-Agent) may use 60 seconds of query time a minute and saves up 120 at most, and may make
30 errors a minute, 60 saved up. Over it, 429 and Retry-After. A request inside that time is a strike, and more
strikes than are let pass are a ban.
"""

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kgsparql.answering.ask_options import AskOptions
from kgsparql.evaluation import datasets
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.record import Record
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.runs.plan import Method, Plan
from kgsparql.evaluation.runs.running import run
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.retrievers import load
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Exchange, Fault, Proxy, Seen, sends
from tests.endpoints.proxy import Plan as Faults

QUERY_SECONDS, QUERY_BURST = 60.0, 120.0
ERRORS, ERRORS_BURST = 30.0, 60.0
QUERY_TIMEOUT_S = 60.0
MAY_STRIKE = 1
"""Requests inside the time of a Retry-After that are let pass with another 429."""
IMPOLITE = ("strikes", "without contact", "bans")
"""Figures that are 0 for a client that keeps limits."""
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

    def refill(self, now: float) -> None:
        minutes, self.at = (now - self.at) / 60, now
        self.seconds = min(QUERY_BURST, self.seconds + minutes * QUERY_SECONDS)
        self.errors = min(ERRORS_BURST, self.errors + minutes * ERRORS)

    @property
    def wait_s(self) -> float:
        """Until there is something left again."""
        return max(0.0, -self.seconds * 60 / QUERY_SECONDS, -self.errors * 60 / ERRORS)


class WikidataSimulator(Proxy):
    """A :class:`Proxy` with Wikidata's limits.

    :param speed: how many seconds its clock goes in one of ours.
    :param charge: the seconds of its clock that a query is charged; by default those that the engine needed.
    :param faults: what else goes wrong with a request that is let through.
    """

    def __init__(
        self,
        engine: str,
        *,
        speed: float = 1.0,
        charge: Callable[[Seen], float] | None = None,
        faults: Faults | None = None,
        latency_s: float = 0.0,
    ) -> None:
        super().__init__(engine, self._judged, latency_s=latency_s)
        self.speed = speed
        self.throttled = 0
        self._charge = charge or (lambda request: request.cost_s * speed)
        self._faults = faults
        self._clients: dict[str, _Client] = {}

    def profile(self, **more: Any) -> EndpointProfile:
        """What a polite client knows of this service, in seconds of our clock."""
        known = EndpointProfile(
            name="simulated Wikidata", is_public=True, needs_contact=True, concurrency=1,
            query_seconds=QUERY_SECONDS, burst_seconds=QUERY_BURST / self.speed,
            errors_per_minute=int(ERRORS * self.speed), timeout_s=QUERY_TIMEOUT_S / self.speed, has_union=True,
        )  # fmt: skip
        return replace(known, **more)

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
        if _CONTACT.search(agent) is None:
            return sends(reply(_PLEA, status="403 Forbidden", type="text/plain"))
        if now < client.closed_until or client.wait_s:
            return self._throttles(client, now)
        return self._runs(client)

    def _throttles(self, client: _Client, now: float) -> Fault:
        self.throttled += 1
        left_s = max(client.closed_until - now, client.wait_s / self.speed)
        wait = max(1, math.ceil(left_s))  # the header has whole seconds, and the client's are ours
        client.closed_until = max(client.closed_until, now + wait)
        header = f"Retry-After: {wait}"
        return sends(reply(b"Rate limit exceeded", status="429 Too Many Requests", type="text/plain", headers=[header]))

    def _runs(self, client: _Client) -> Fault:
        async def fault(exchange: Exchange) -> None:
            request = exchange.request
            try:
                other = self._faults(request) if self._faults is not None else None
                if other is not None:
                    await other(exchange)
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


def questions_of(file: Path, *, limit: int) -> list[Question]:
    """The first questions of a file whose entities are known; those that a SELECT answers, where the file says it."""
    known = [question for question in datasets.load(file).questions if question.topics]
    return ([question for question in known if question.type == "SELECT"] or known)[:limit]


def records_of_run(
    knowledge: KnowledgeBase, questions: Sequence[Question], path: Path, *, method: str, workers: int
) -> list[Record]:
    """What came of questions whose entities are given, asked by an evaluation run in a directory of its own."""
    asked = Method(label=method, retriever=load(method))
    plan = Plan(questions=questions, methods=[asked], asking=AskOptions(), gold_topics=True, workers=workers)
    config = {"dataset": {"name": "simulated"}, "methods": [{"label": method}], "model": ""}
    run(knowledge, plan, Run.begin(path, config, questions))
    return list(Run.open(path).records(method).values())


def answers_of_run(path: Path) -> bytes:
    """The answers that a run wrote; questions that are asked at the same time end in any order."""
    files = sorted((path / "answers").iterdir())
    return b"".join(line for file in files for line in sorted(file.read_bytes().splitlines(keepends=True)))
