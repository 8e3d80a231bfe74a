"""What is known of an endpoint, in words for people and as JSON."""

from __future__ import annotations

from typing import Any

from kgsparql.errors import QueryError, UnreachableError
from kgsparql.graphs.endpoint import EndpointGraph
from kgsparql.graphs.profiles.profile import UNKNOWN, EndpointProfile
from kgsparql.graphs.protocol.probing import ProbeResult
from kgsparql.http.retry_after import in_words

NAMED_GRAPHS = {
    True: "what is in named graphs is found without naming them",
    False: "what is in named graphs is not found without naming them",
    None: "whether what is in named graphs is found is not known",
}
"""Whether queries see named graphs, in words."""


def summary(profile: EndpointProfile, found: ProbeResult | None) -> str:
    """The service, its engine, and when that was found out, in words.

    >>> summary(EndpointProfile(name="DBpedia", engine="Virtuoso", urls=("https://dbpedia.org/sparql",)), None)
    'DBpedia, on Virtuoso'
    >>> summary(UNKNOWN, ProbeResult(at="2026-11-22T01:50:20+00:00", server="nginx"))
    'an engine that does not say what it is (server: nginx), asked 2026-11-22'
    """
    version = f" {found.version}" if found and found.version else ""
    if found is None:
        if profile.name == UNKNOWN.name:
            return "an engine that is not known yet"
        return profile.name + (f", on {profile.engine}" if profile.engine != profile.name and profile.engine else "")
    day = found.at[:10]
    if not found.engine:
        server = f" (server: {found.server})" if found.server else ""
        name = "" if profile.name == UNKNOWN.name else f"{profile.name}, on "
        return f"{name}an engine that does not say what it is{server}, asked {day}"
    service = "" if profile.name == found.engine else f"{profile.name}, on "
    return f"{service}{found.engine}{version}, found {day}"


def limits_in_words(profile: EndpointProfile) -> list[str]:
    """The limits of queries there, its own and those that we keep for its sake.

    >>> limits_in_words(EndpointProfile(timeout_s=60, concurrency=1, max_solutions=10_000))
    ['60 s a query', 'one query at a time', '200 terms looked up at once', '10,000 solutions a query']
    >>> limits_in_words(EndpointProfile(keep_s=300))
    ['4 queries at a time', '200 terms looked up at once', 'results kept for 5 min']
    """
    lines = [f"{profile.timeout_s:g} s a query"] if profile.timeout_s is not None else []
    if profile.query_seconds is not None:
        saved = f", at most {profile.burst_seconds:g} s saved up" if profile.burst_seconds is not None else ""
        lines.append(f"{profile.query_seconds:g} s of query time a minute{saved}")
    at_once = "one query" if profile.concurrency == 1 else f"{profile.concurrency} queries"
    lines.append(f"{at_once} at a time")
    if profile.pause_s:
        lines.append(f"{profile.pause_s:g} s between queries")
    lines.append(f"{profile.chunk_size:,} terms looked up at once")
    if profile.max_solutions is not None:
        lines.append(f"{profile.max_solutions:,} solutions a query")
    if profile.errors_per_minute is not None:
        lines.append(f"a ban from {profile.errors_per_minute} errors a minute on")
    if profile.keep_s:
        lines.append(f"results kept for {in_words(profile.keep_s)}")
    return lines


def _shows_named_graphs(graph: EndpointGraph) -> bool | None:
    try:
        return not graph.notes
    except (UnreachableError, QueryError):
        return None


def endpoint_json(graph: EndpointGraph) -> dict[str, Any]:
    """What is known of an endpoint, and what it says of itself, as a JSON object; ``null`` is not known."""
    profile, found = graph.profile, graph.probe.found
    return {
        "url": graph.url,
        "summary": summary(profile, found),
        "said_of_limits": limits_in_words(profile),
        "profile": None if profile.name == UNKNOWN.name else profile.name,
        "engine": profile.engine or None,
        "version": (found.version or None) if found else None,
        "server": (found.server or None) if found else None,
        "found": found.at if found else None,
        "is_described": found.is_described if found else None,
        "triples_as_described": found.triples if found else None,
        "is_public": profile.is_public,
        "needs_contact": profile.needs_contact,
        "union_default_graph": profile.has_union,
        "shows_named_graphs": _shows_named_graphs(graph),
        "text_search": profile.text_search,
        "limits": {
            "timeout_s": profile.timeout_s,
            "concurrency": profile.concurrency,
            "pause_s": profile.pause_s,
            "query_seconds_per_minute": profile.query_seconds,
            "burst_seconds": profile.burst_seconds,
            "errors_per_minute": profile.errors_per_minute,
            "max_solutions": profile.max_solutions,
            "chunk_size": profile.chunk_size,
        },
        "keep_s": profile.keep_s,
        "label_predicates": [predicate.value for predicate in profile.label_predicates],
        "noise": [predicate.value for predicate in profile.noise],
        "external_ids": profile.external_ids,
        "elsewhere": list(profile.elsewhere),
    }
