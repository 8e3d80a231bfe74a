"""What is known of SPARQL engines and public services before they are asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from kgsparql.rdf.terms import IRI

PUBLIC_PAUSE_S = 60.0
"""The pause after a public endpoint is overloaded, or asked too often, and does not say how long to wait."""
PUBLIC_TIMEOUT_S = 60.0
"""How long a public endpoint may work on a query, where its profile does not say."""

ALIAS = re.compile(r"[a-z0-9][a-z0-9_-]*")

Meaning: TypeAlias = Literal["throttled", "out of time", "overloaded", "may pass", "refused", "not allowed"]
TextSearch: TypeAlias = Literal["none", "bif:contains", "wikibase:mwapi", "qlever", "jena", "graphdb"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMeaning:
    """The meaning of a status where it is not that of HTTP.

    :param says: words that the body must have for this meaning, in upper or lower case; empty for any body.
    """

    status: int
    means: Meaning
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointProfile:
    """How to ask an endpoint: of one engine, or of one service that runs it. Read from ``ontologies/endpoints.ttl``.

    :param name: as ``info`` and ``doctor`` say it.
    :param aliases: what a user may write instead of the URL.
    :param urls: of the service; none for an engine.
    :param engine: the name of the engine's own profile, whose values a service takes over.
    :param is_public: many share it. It counts clients, so that all graphs and processes of a user take turns there; it
        counts queries that it cannot run as errors; and counts of all triples get some seconds only.
    :param has_many_labels: more than can be read: they are looked up for each question, and it is not asked for counts.
    :param needs_contact: requests without a way to reach who sends them are refused.
    :param post: queries are posted; else they are sent by GET where they fit in ``max_url`` bytes.
    :param chunk_size: terms of one ``VALUES`` block.
    :param max_solutions: a result of exactly so many may have been cut.
    :param timeout_s: how long the server lets a query run.
    :param concurrency: queries at once.
    :param pause_s: between the end of a query and the next.
    :param query_seconds: in each minute, for all queries together; at most ``burst_seconds`` may be saved up.
    :param errors_per_minute: from which on a client is banned.
    :param hosts: all endpoints there are of this service; ``*.`` at the beginning stands for every name below one.
    :param signs: by which it is recognised: ``Header: how its value begins``, ``URL: part of its host and path``, or
        how an IRI begins that its service description mentions.
    :param statuses: statuses that mean something of their own.
    :param has_union: whether the default graph is the union of all graphs; ``None``: find out.
    :param has_named_graphs: whether there are any, so that it makes sense, and is allowed, to ask for them; ``None``:
        find out.
    :param text_search: how labels can be searched.
    :param search_host: of a Wikibase, whose own search ``wikibase:mwapi`` is to ask.
    :param degree_predicate: leads to a number that tells how well known an entity is; else its triples are counted.
    :param type_predicates: lead from an entity to its class, beside ``rdf:type``.
    :param label_predicates: the best first; none for those that kgsparql knows.
    :param noise: predicates that lead nowhere, beside those that kgsparql knows.
    :param external_ids: it is a Wikibase, which says itself which predicates lead to identifiers in other catalogues.
    :param silent_timeout_s: an empty result that took so long may be one that ran out of time.
    :param keep_s: how long a result may be used again.
    :param elsewhere: other services that hold what this one lacks, each as ``alias: what it holds``.
    """

    name: str = "unknown endpoint"
    aliases: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    engine: str = ""
    is_public: bool = False
    has_many_labels: bool = False
    needs_contact: bool = False
    post: bool = True
    max_url: int = 1_500
    chunk_size: int = 200
    max_solutions: int | None = None
    timeout_s: float | None = None
    concurrency: int = 4
    pause_s: float = 0.0
    query_seconds: float | None = None
    burst_seconds: float | None = None
    errors_per_minute: int | None = None
    hosts: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    statuses: tuple[StatusMeaning, ...] = ()
    has_union: bool | None = None
    has_named_graphs: bool | None = None
    text_search: TextSearch = "none"
    search_host: str = ""
    degree_predicate: IRI | None = None
    type_predicates: tuple[IRI, ...] = ()
    label_predicates: tuple[IRI, ...] = ()
    predicate_label_links: tuple[IRI, ...] = ()
    noise: tuple[IRI, ...] = ()
    external_ids: bool = False
    silent_timeout_s: float | None = None
    keep_s: float = 0.0
    elsewhere: tuple[str, ...] = ()

    @property
    def abandoned_query_s(self) -> float:
        """How long it may work on, and count, a query that nobody waits for any more."""
        if not self.is_public:
            return 0.0
        return PUBLIC_TIMEOUT_S if self.timeout_s is None else self.timeout_s

    @property
    def overload_pause_s(self) -> float | None:
        """The pause when it is overloaded and does not say how long; ``None``: as for any server."""
        return PUBLIC_PAUSE_S if self.is_public else None

    @property
    def may_be_searched_for_noise(self) -> bool:
        """Whether it may be asked for its identifying predicates; a public one only if its profile says it has some."""
        return self.external_ids or not self.is_public

    @property
    def wants_contact(self) -> bool:
        """Whether its operators should know how to reach who asks, even where they do not insist."""
        return self.needs_contact or self.is_public


UNKNOWN = EndpointProfile()
"""The profile of an endpoint without one."""

SHARED: dict[str, Any] = {"is_public": True, "concurrency": 1, "pause_s": 0.1, "keep_s": 300.0}
"""What is assumed of an endpoint that the public may use, where its profile says nothing else."""


def could_be_alias(source: str) -> bool:
    """Whether a source is written as an alias is, and not as a path or a URL.

    >>> could_be_alias("wikidata"), could_be_alias("./wikidata"), could_be_alias("data.ttl")
    (True, False, False)
    """
    return ALIAS.fullmatch(source.strip().lower()) is not None
