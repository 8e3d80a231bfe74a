"""A graph behind a SPARQL endpoint, what is found out about it, and that in words for people and as JSON."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Self, cast

from kgsparql.budget import Usage
from kgsparql.errors import (
    BudgetExceededError,
    CancelledError,
    EndpointReplyError,
    EndpointTimeoutError,
    InputError,
    KgsparqlError,
    LimitError,
    OptionError,
    QueryError,
    UnreachableError,
    is_about_the_query,
)
from kgsparql.events import Tell, ignore
from kgsparql.graphs.graph import BOUND, VOID, KnowledgeGraph, Solution, Solutions, StatedSizes
from kgsparql.graphs.profiles import (
    UNKNOWN,
    EndpointProfile,
    Probe,
    engine_in_words,
    known_endpoints,
)
from kgsparql.graphs.protocol.linker import LINKER, found_entities, linker_parameters
from kgsparql.graphs.protocol.replies import solutions, triples
from kgsparql.graphs.protocol.request import MAX_WAIT_S, Form, Sender, SparqlRequest
from kgsparql.graphs.protocol.senders import CachedSender, HttpSender, RateLimitedSender
from kgsparql.http.address import Address
from kgsparql.http.transport import HttpReply, Transport, media_type
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Json, Triple, printable
from kgsparql.rdf.vocabulary import WORDS, Naming
from kgsparql.storage.response_cache import COUNTS, ResponseCache

MAX_BYTES = 64 * 2**20  # of one reply, unpacked
TIMEOUT_S = 30.0  # for a query, where the profile does not say how long the server lets one run
_GRACE_FOR_THE_SERVER_S = 2.0
"""Added to the server's own limit, so that a server that ends a query has the time to say so."""
_COUNT_S = 5.0
_LINKER_S = 10.0  # for one name
_CHECKED_EVERY_S = 600.0  # whether it changed
_SLOW_S = 0.5  # a fingerprint that took as long is not asked for again by the next process
_SHARED_S = 3_600.0  # for which a reply is kept that is the same for all questions, if the fingerprint stays
_DESCRIPTION_S = 5.0
_AGAIN_S = 60.0  # seconds until another try to read the description
_RDF = {"text/turtle", "application/n-triples", "application/rdf+xml"}
_UNION: Mapping[str, str] = {"union-default-graph": "true"}
"""Asks Oxigraph's server for the union of all graphs; other servers may refuse a parameter that they do not know."""
_TOLD = """
    is_public has_union text_search timeout_s concurrency pause_s requests_per_minute
    requests_without_contact errors_per_minute max_solutions chunk_size keep_s label_predicates noise external_ids
    elsewhere
""".split()
"""The fields of a profile that ``info -f json`` tells."""


class EndpointGraph(KnowledgeGraph):
    """A graph that is asked over HTTP; requests are built by SPARQLWrapper. Any number of threads may use it.

    Before the first query, it is asked what engine it is, if its profile does not say. Where that fails, it is asked as
    an unknown one. Proxies are those of the environment (``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY``, ``NO_PROXY``).

    :param url: with ``user:password@`` or a key in its query where the endpoint wants that; neither is ever shown.
    :param name: what citations say; the URL without credentials and keys, if ``None``.
    :param profile: how it is to be asked; what is known of the URL, if ``None``. With ``kgsparql.UNKNOWN`` it is
        asked without the limits that public services want; ``kgsparql.EndpointProfile`` makes one of your own.
    :param timeout_s: for one query, without waiting for a turn. ``None``: a little more than its profile says, or 30 s.
    :param max_bytes: of one reply when it is unpacked.
    :param note: called with a line for the user, each line once.
    :param response_cache: keeps results, where the profile says so.
    :param transport: a function that answers each HTTP request; ``None`` for the network.
    :raises InputError: for what is not the URL of an endpoint.

    >>> EndpointGraph("https://me:secret@example.org/sparql").name
    'https://example.org/sparql'
    """

    is_remote = True

    def __init__(
        self, url: str, *, name: str | None = None, profile: EndpointProfile | None = None,
        timeout_s: float | None = None, max_bytes: int = MAX_BYTES,
        note: Tell = ignore, response_cache: ResponseCache | None = None,
        transport: Transport | None = None,
    ) -> None:  # fmt: skip
        profile = known_endpoints().at(url) if profile is None else profile
        address = self._address = profile.with_credentials(Address.parse(url))
        self.name = address.url if name is None else name
        self.probe = Probe(profile, profile)
        if timeout_s is not None and not 0 < timeout_s < math.inf:
            raise OptionError(f"--endpoint-timeout {timeout_s}: not a number of seconds", hint="leave it out for 30")
        if timeout_s is None:
            timeout_s = profile.timeout_s + _GRACE_FOR_THE_SERVER_S if profile.timeout_s else TIMEOUT_S
        self.timeout_s = timeout_s
        self._response_cache = response_cache
        self.clock: Callable[[], float] = time.monotonic
        self._http = HttpSender(address, max_bytes, transport)
        self._sender: Sender = RateLimitedSender(self._http, note)
        self._linker_address = profile.with_credentials(Address.parse(profile.linker_url or url))
        self._linker_http = HttpSender(self._linker_address, max_bytes, transport)
        self._linker: Sender = RateLimitedSender(self._linker_http, note)
        if response_cache is not None and not any(address.secrets):  # what needs a password is not kept
            self._sender = cached = CachedSender(self._sender, response_cache, note)
            if not any(self._linker_address.secrets):
                self._linker = replace(cached, sender=self._linker)
            kept = cached.lookup(COUNTS, {"endpoint": self.url}, _CHECKED_EVERY_S) or {}
            if kept.get("fingerprint"):
                self.probe.fingerprint = kept["fingerprint"]
                self.probe.checked_at = self.clock() - max(0.0, time.time() - kept["at"])
        self._usage: Usage | None = None
        self._in_grace = self._is_shared = False
        self._most_s: float | None = None

    def within(self, usage: Usage, *, in_grace: bool = False, most_s: float | None = None) -> Self:
        """Return the same graph for one question: its queries end with its time, or when it is stopped."""
        return self.changed(_usage=usage, _in_grace=in_grace, _most_s=most_s)

    def shared(self) -> Self:
        """Return the same graph for what is the same for all questions; replies are kept, for other processes too."""
        return self.changed(_is_shared=True)

    def reopened(self) -> Self:
        """Return the graph as it is now: nothing is known of it, and no reply that was kept is used again."""
        return self._from_now_on().changed(probe=Probe(self.probe.known, self.probe.known), _origin=None)

    def _from_now_on(self) -> Self:
        """Return the same graph, for which no reply is used that was kept before now."""
        kept = {name: own for name in ("_sender", "_linker") if isinstance(own := getattr(self, name), CachedSender)}
        return (
            self.changed(**{name: replace(own, since=time.monotonic()) for name, own in kept.items()}) if kept else self
        )

    def close(self) -> None:
        """Close the connections and the file of replies; the next query opens others."""
        self._http.close()
        self._linker_http.close()
        if self._response_cache is not None:
            self._response_cache.close()

    @property
    def profile(self) -> EndpointProfile:
        """What is known of the endpoint; where it is probed, more after its first query."""
        return self.probe.profile

    @property
    def naming(self) -> Naming:
        """The label predicates of its profile; no links to predicates that are labelled elsewhere, if it has none."""
        known, profile = Naming(), self.profile
        links = known.links if self.probe.used.get(known.links, True) else ()
        return Naming(profile.label_predicates or known.labels, profile.predicate_label_links or links)

    def uses_any(self, predicates: tuple[IRI, ...]) -> bool:
        """Ask once whether a triple has one of some predicates."""
        if predicates not in self.probe.used:
            every = Query.load("predicate_triples").bind(predicate=predicates)
            found = self.shared().select((Query.load("words") if predicates == WORDS else every).limit(1))
            if not (found or found.complete):
                return True
            self.probe.used[predicates] = len(found) > 0
        return self.probe.used[predicates]

    @property
    def url(self) -> str:
        """Where it is, without credentials and keys."""
        return self._address.url

    @property
    def linker_url(self) -> str:
        """Where its linker is, without credentials and keys; empty if it has none."""
        return self._linker_address.url if self.profile.linker_url else ""

    @property
    def fingerprint(self) -> str:
        """A hash of the URL, the number of triples, and the labels; of today's date, if they are not counted in 5 s.

        So a change of other triples that keeps their number goes unseen, and a label index of what cannot be counted
        lasts for a day. For a service that is too large to be counted, a hash of the URL alone.
        """
        if self.probe.fingerprint is None:
            is_large = self.profile.has_many_labels
            of_today = self._hash_with("" if is_large else datetime.now(UTC).date().isoformat())
            self.probe.fingerprint = of_today if is_large else self._new_fingerprint(of_today)
        return self.probe.fingerprint

    def refreshed(self) -> Self:
        """Return the same graph; another one where its triples or labels changed, which is asked every ten minutes."""
        if self.clock() - self.probe.checked_at < _CHECKED_EVERY_S:
            return self
        found = known = self.fingerprint
        with suppress(KgsparqlError):  # then it is as it was: who asks it next is told why it fails
            found = self._from_now_on()._new_fingerprint(known)  # noqa: SLF001 - of this class
        if found == known:
            return self
        return self.changed(probe=replace(self.probe, fingerprint=found, used={}), _origin=None)

    @property
    def sizes(self) -> StatedSizes:
        """What its service description, or one in its graph, says that it holds; looked up once."""
        if self.probe.sizes is None:
            self.find_out()  # it may say it there
        if self.probe.sizes is None:
            self.probe.sizes = StatedSizes()
            with suppress(
                EndpointReplyError, TypeError
            ):  # none of the question's queries; what is no triple says nothing
                found = self.shared()._told_of_whole(Query.load("void_sizes").limit(4 * BOUND))  # noqa: SLF001 - of this class
                if found.complete:
                    said = (Triple(one["subject"], one["predicate"], one["object"]) for one in found)  # type: ignore[arg-type]
                    self.probe.sizes = StatedSizes.of(said, self)
        return cast("StatedSizes", self.probe.sizes)

    def _new_fingerprint(self, otherwise: str) -> str:
        """Ask for the numbers of which a fingerprint is made; another one is taken where they are not counted."""
        self.probe.checked_at, began = self.clock(), time.monotonic()
        sums, count = Query.load("fingerprint").bind(predicate=self.naming.names), Query.load("info_triples")
        numbers = "" if self.sizes.are_large else self._numbers(sums) or self._numbers(count)
        found = self._hash_with(numbers) if numbers else otherwise
        if time.monotonic() - began >= _SLOW_S and isinstance(self._sender, CachedSender):
            self._sender.keep(COUNTS, {"endpoint": self.url}, {"fingerprint": found, "at": time.time()})
        return found

    def _hash_with(self, what: str) -> str:
        return hashlib.sha256(
            f"{self._address.user or self.profile.token_env}\n{self._address.target}\n{what}".encode()
        ).hexdigest()

    def _numbers(self, query: Query) -> str:
        """Ask for numbers; empty where the endpoint cannot count in time."""
        found = self._told_of_whole(query)
        is_told = found.complete and len(found) == 1
        return " ".join(str(found[0].get(name)) for name in found.variables) if is_told else ""

    def _told_of_whole(self, query: Query) -> Solutions:
        """Ask for what is true of all of it; nothing where the endpoint cannot tell in time."""
        try:
            return self.select(query, _COUNT_S)
        except KgsparqlError as error:
            if not is_about_the_query(error):
                raise
            return Solutions(cut=error.message)

    @property
    def may_repeat_triples(self) -> bool:
        """Whether there are named graphs: then one triple may be in several, and counts must be of distinct ones."""
        if self.profile.has_named_graphs is not None:
            return self.profile.has_named_graphs
        if self.probe.has_named_graphs is None:  # taken for granted where the engine cannot tell
            found = self.shared()._told_of_whole(Query.load("info_graphs").limit(1))  # noqa: SLF001 - of this class
            self.probe.has_named_graphs = len(found) > 0 or not found.complete
        return self.probe.has_named_graphs

    def named_graphs(self) -> list[IRI] | None:
        """Return none, where it is known that there are none."""
        return [] if False in {self.profile.has_named_graphs, self.probe.has_named_graphs} else None

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        """Get the solutions of a SELECT, over ``timeout_s`` from now, waiting for a turn included."""
        if query.empty:
            return Solutions()
        with self._request_limits(None, timeout_s) as limits:
            if query.name != LINKER:
                return solutions(*self._reply_to(query, "SELECT", limits))
            address, found = self._linker_address, list[Solution]()
            for parameters in linker_parameters(query):
                request = replace(
                    limits, url=address.url, name=LINKER, form="NAMES", profile=self.profile, parameters=parameters,
                    secrets=address.secrets, timeout_s=min(limits.timeout_s, _LINKER_S),
                )  # fmt: skip
                found += found_entities(self._linker.send(request), request)
            return Solutions(("words", "entity"), tuple(found))

    def send(
        self, text: str, form: Form, *, timeout_s: float | None = None, cancel: threading.Event | None = None
    ) -> tuple[HttpReply, SparqlRequest]:
        """Get the reply of the endpoint to a user's query that was checked, over the union of its graphs."""
        with self._request_limits(timeout_s, timeout_s, cancel) as limits:
            return self._reply_to(Query("", text), form, limits)

    @contextmanager
    def _request_limits(
        self, query_s: float | None = None, all_s: float | None = None, cancel: threading.Event | None = None
    ) -> Iterator[SparqlRequest]:
        """Yield a request for nothing yet, whose time begins now; what a question may still take limits it, too.

        :param query_s: of one query; the graph's own, if ``None``.
        :param all_s: of all; what is left of the question, or two minutes more than ``query_s``, if ``None``.
        """
        query_s = self.timeout_s if query_s is None else query_s
        usage, sent, most_s = self._usage, None, query_s + MAX_WAIT_S
        if usage is not None:
            if usage.cancel.is_set():
                raise CancelledError("stopped")
            left_s = usage.grace_s if self._in_grace else usage.seconds_left
            if left_s == 0:
                usage.check(in_grace=self._in_grace)
            most_s = min((limit for limit in (left_s, self._most_s) if limit is not None), default=most_s)
            sent = partial(usage.count_preparing, is_shared=self._is_shared)
            cancel = cancel or usage.cancel
        all_s = max(0.001, most_s if all_s is None else min(all_s, most_s))
        try:
            yield SparqlRequest(
                self.url, "", "", min(query_s, all_s), self._address.secrets, deadline=time.monotonic() + all_s,
                cancel=cancel, sent=sent,
            )  # fmt: skip
        except EndpointTimeoutError as error:
            if usage is not None:  # the timeout of a query is the end of the budget, if the question's time is over
                waited = error.message if "waited_s" in error.detail else ""
                usage.check(waited, in_grace=self._in_grace, is_late=self._in_grace)
            raise

    def _reply_to(self, query: Query, form: Form, limits: SparqlRequest) -> tuple[HttpReply, SparqlRequest]:
        self._find_out(limits)
        fingerprint = "" if query.name == "void_sizes" else self.probe.fingerprint  # it tells whether there may be one
        if self._is_shared and fingerprint is not None:
            keep_s = _SHARED_S if fingerprint and not self.profile.has_many_labels else _CHECKED_EVERY_S
            limits = replace(limits, keep_s=keep_s, of=fingerprint)
        return self._send_query(query, form, limits)

    def _send_query(self, query: Query, form: Form, limits: SparqlRequest) -> tuple[HttpReply, SparqlRequest]:
        request = replace(
            limits,
            profile=self.profile,
            name=query.name,
            text=query.without_comments if query.name else query.text,  # errors count the lines of a user's own query
            form=form,
            parameters=_UNION if self.profile.engine == "Oxigraph" else {},
            deadline=max(limits.deadline, time.monotonic() + 0.001),  # what ran out before is this query's timeout
        )
        reply = self._sender.send(request)
        if self.probe.known.engine and not reply.is_kept:
            self._notice_engine(query, reply, limits)
        return reply, request

    def _notice_engine(self, query: Query, reply: HttpReply, limits: SparqlRequest) -> None:
        """See by a reply that the endpoint has another engine than it had; where it may have, ask what it is."""
        engine = known_endpoints().engine_of(self.url, reply)
        if engine is None:
            if query.name.startswith("text_search/") and 400 <= reply.status <= 500 and reply.status != 429:
                self.probe.is_doubted = True
                self._find_out(limits)
        elif engine.name != self.profile.engine:
            self.probe.profile = self.probe.known.on(engine)

    def find_out(self) -> None:
        """Ask the endpoint what it is, if that is not known."""
        with self._request_limits() as limits:
            self._find_out(limits)

    def _find_out(self, limits: SparqlRequest) -> None:
        """Ask the endpoint what it is, if that is not known; one thread finds out for all."""
        if self.probe.needs_description:
            with self.probe.lock:
                if self.probe.needs_description:
                    self._read_description(limits)

    def _read_description(self, limits: SparqlRequest) -> None:
        """Fetch and read what the endpoint says of itself; half of the query's time is left to the query."""
        probe, most_s = self.probe, min(_DESCRIPTION_S, limits.timeout_s / 2)
        try:
            own = replace(limits, timeout_s=most_s, deadline=time.monotonic() + most_s, keep_s=_CHECKED_EVERY_S)
            asked = self._from_now_on() if probe.is_doubted else self
            reply, request = asked._send_query(Query("service_description", ""), "DESCRIPTION", own)  # noqa: SLF001 - of this class
        except (CancelledError, BudgetExceededError):
            raise
        except KgsparqlError as error:
            is_ours = isinstance(error, InputError) and not isinstance(error, LimitError)  # such as a wrong proxy
            if is_ours or error.detail.get("connected") is False:
                raise  # nobody is there: the query would fail, too
            probe.again_from = time.monotonic() + _AGAIN_S
            return
        is_rdf = reply.status == 200 and media_type(reply.headers) in _RDF
        description = reply.body.decode("utf-8", "replace") if is_rdf else ""
        engine = known_endpoints().engine(self.url, reply.headers, description, reply.body)
        if engine is not None or probe.is_doubted:
            probe.profile = probe.known.on(engine or UNKNOWN)
        probe.is_doubted = False
        probe.server = printable(reply.headers.get("server", ""), 120)
        if is_rdf and VOID in description:
            with suppress(EndpointReplyError):  # what is wrong with it says nothing
                sizes = StatedSizes.of(triples(reply, request), self)
                probe.sizes = sizes if sizes.counts else None


def endpoint_json(graph: EndpointGraph) -> Json:
    """Describe what is known of an endpoint, and what it says of itself, as a JSON object; ``null`` is not known."""
    with suppress(UnreachableError, QueryError):
        graph.find_out()
    profile, server = graph.profile, graph.probe.server
    told = {name: getattr(profile, name) for name in _TOLD}
    return {
        "url": graph.url, "summary": engine_in_words(profile, server),
        "profile": None if profile.name == UNKNOWN.name else profile.name,
        "engine": profile.engine or None, "server": server or None, "linker_url": graph.linker_url,
        **{k: [getattr(one, "value", one) for one in v] if isinstance(v, tuple) else v for k, v in told.items()},
    }  # fmt: skip
