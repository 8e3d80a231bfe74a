"""An endpoint that is named: whether it replies, what it is, what it allows, and what to set for it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator

from kgsparql.cli.diagnosis.checks import Check, attempted, failed
from kgsparql.errors import GRAPH_FAILED, KgsparqlError
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.endpoint_info import NAMED_GRAPHS, limits, what_it_is
from kgsparql.graphs.profiles.profile import UNKNOWN
from kgsparql.graphs.protocol.contact import CONTACT_VARIABLE, checked_contact
from kgsparql.linking.labels.reading import REMOTE_ROWS
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal
from kgsparql.rdf.vocabulary import LABELS

__all__ = ["endpoint_checks"]

_OWN_PROFILE = "if you know it, say so in a profile of your own: README, Endpoints"


def endpoint_checks(graph: EndpointGraph, *, timeout_s: float, note: Callable[[str], None]) -> Iterator[Check]:
    """A line for each thing that matters; none after the first if it does not reply, or has nothing to say."""
    note(f"asking {graph.name} …")
    began = time.perf_counter()
    try:
        (counted,) = graph.select_within(Query.load("any"), timeout_s=timeout_s)
    except KgsparqlError as error:
        yield failed("endpoint", error)
        return
    took = time.perf_counter() - began
    if counted["count"] == Literal(0):
        yield Check("endpoint", "fail", f"{graph.name} holds no triples [E_EMPTY_GRAPH]", "is it the right one?", 3)
        return
    at = f" ({graph.url})" if graph.url != graph.name else ""
    yield Check("endpoint", "ok", f"{graph.name}{at}: answers SPARQL, {took:.2f} s")
    yield _engine(graph)
    yield _limits(graph)
    yield from _contact(graph)
    yield attempted("labels", lambda: _labels(graph, timeout_s))
    yield attempted("named graphs", lambda: _named_graphs(graph))
    yield from (Check("elsewhere", "ok", f"-k {other}") for other in graph.profile.elsewhere)


def _engine(graph: EndpointGraph) -> Check:
    profile, found = graph.profile, graph.probe.found
    if profile.name != UNKNOWN.name:
        return Check("engine", "ok", what_it_is(profile, found))
    why = f": {graph.probe.trouble}" if graph.probe.trouble else ""
    return Check("engine", "absent", what_it_is(profile, found) + why, _OWN_PROFILE)


def _limits(graph: EndpointGraph) -> Check:
    profile = graph.profile
    said = ", ".join(limits(profile))
    hint = ""
    if profile.is_public:
        hint = "many share it: --max-queries bounds a question; for many questions, ask a copy of your own"
    return Check("limits", "ok", said, hint)


def _contact(graph: EndpointGraph) -> Iterator[Check]:
    """Who asks; a server of one's own need not know."""
    contact = checked_contact(graph.url, needed=False)
    if contact:
        yield Check("contact", "ok", f"requests say how to reach you: {contact}")
    elif graph.profile.wants_contact:
        hint = f"export {CONTACT_VARIABLE}=you@example.org"
        yield Check("contact", "absent", "requests do not say how to reach you, which may get them refused", hint)


def _labels(graph: EndpointGraph, timeout_s: float) -> Check:
    """How names in a question become entities there."""
    profile = graph.profile
    looked_up = "names in a question are looked up as they are written"
    if profile.text_search != "none":
        looked_up += f", and searched for with {profile.text_search}"
    if profile.has_many_labels and profile.text_search != "none":
        return Check("labels", "ok", f"not read: {looked_up}")
    count = Query.load("label_count").bind(predicate=profile.label_predicates or LABELS)
    try:
        found = graph.select_within(count, timeout_s=timeout_s)
    except GRAPH_FAILED as error:
        return Check("labels", "absent", f"cannot be counted ({error.message}): {looked_up}", _slice(graph))
    number = int(getattr(found[0]["count"], "value", 0)) if found.complete and len(found) else 0
    if not number:
        hint = "name the entities: -e IRI; or say in a profile which predicates are labels: README, Endpoints"
        return Check("labels", "absent", "none by the predicates that are known", hint)
    if number <= REMOTE_ROWS:
        return Check("labels", "ok", f"{number:,}, few enough to be read once and kept")
    hint = "" if profile.text_search != "none" else _slice(graph)
    return Check("labels", "ok", f"{number:,}, too many to be read (more than {REMOTE_ROWS:,}): {looked_up}", hint)


def _slice(graph: EndpointGraph) -> str:
    index = f"kgsparql index -k {shlex.quote(graph.name)} --class IRI --limit N"
    return f"to search by parts of names: {index}; or name entities: -e IRI"


def _named_graphs(graph: EndpointGraph) -> Check:
    if graph.profile.has_named_graphs is False:
        return Check("named graphs", "ok", "there are none")
    hidden = "; ".join(graph.notes)
    if hidden:
        return Check("named graphs", "absent", hidden, "name the one you mean in your own queries: kgsparql query")
    return Check("named graphs", "ok", NAMED_GRAPHS[True])
