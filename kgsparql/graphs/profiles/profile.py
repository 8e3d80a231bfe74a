"""What is known of SPARQL engines and public services before they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from kgsparql.terms import IRI

__all__ = ["UNKNOWN", "EndpointProfile", "Meaning", "StatusMeaning", "TextSearch"]

Meaning: TypeAlias = Literal["throttled", "out of time", "overloaded", "refused", "not allowed"]
TextSearch: TypeAlias = Literal["none", "bif:contains", "wikibase:mwapi", "qlever", "jena", "graphdb"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMeaning:
    """What a server means by a status where that is not what HTTP says.

    :param says: words that the body must have, in any case, for this meaning; empty for any body.
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
    :param is_public: many share it: one query at a time, results are kept, errors end the asking early.
    :param needs_contact: requests without a way to reach who sends them are refused.
    :param post: queries are posted; else they are sent by GET where they fit in ``max_url`` bytes.
    :param chunk_size: terms of one ``VALUES`` block.
    :param max_solutions: a result of exactly so many may have been cut.
    :param timeout_s: how long the server lets a query run.
    :param concurrency: queries at once.
    :param pause_s: between the end of a query and the next.
    :param query_seconds: of a minute that its queries may run altogether, ``burst_seconds`` at most saved up.
    :param errors_per_minute: from which on a client is banned.
    :param signs: how it is told: ``Header: how its value begins``, ``URL: part of it``, or how an IRI begins that its
        service description mentions.
    :param statuses: statuses that mean something of their own.
    :param has_union: whether the default graph is the union of all graphs; ``None``: find out.
    :param has_named_graphs: whether there are any, so that it makes sense, and is allowed, to ask for them; ``None``:
        find out.
    :param text_search: how labels can be searched.
    :param label_predicates: the best first; none for those that kgsparql knows.
    :param noise: predicates that lead nowhere, beside those that kgsparql knows.
    :param external_ids: it is a Wikibase, which says itself which predicates lead to identifiers in other catalogues.
    :param avoid: forms of queries it fails at: ``long paths``, ``one-term values``, ``text filters``.
    :param silent_timeout_s: an empty result that took so long may be one that ran out of time.
    :param keep_s: how long a result may be used again.
    :param elsewhere: other services that hold what this one lacks, each as ``alias: what it holds``.
    """

    name: str = "unknown endpoint"
    aliases: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    engine: str = ""
    is_public: bool = False
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
    signs: tuple[str, ...] = ()
    statuses: tuple[StatusMeaning, ...] = ()
    has_union: bool | None = None
    has_named_graphs: bool | None = None
    text_search: TextSearch = "none"
    label_predicates: tuple[IRI, ...] = ()
    predicate_label_links: tuple[IRI, ...] = ()
    noise: tuple[IRI, ...] = ()
    external_ids: bool = False
    avoid: frozenset[str] = frozenset()
    silent_timeout_s: float | None = None
    keep_s: float = 0.0
    elsewhere: tuple[str, ...] = ()


UNKNOWN = EndpointProfile()
"""What is taken for granted of an endpoint that nobody described."""
