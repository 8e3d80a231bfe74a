"""What two answers to a question must have in common, wherever the graph is."""

import json
from typing import Any

from kgsparql import Answer, answer_to_json
from kgsparql.events import Event, QueryRun
from tests.endpoints.servers import VIRTUOSO_GRAPH

COMPARED = ("status", "text", "answers", "claims", "cited", "evidence", "linked")


def told(answer: Answer) -> dict[str, Any]:
    """What an answer says of the graph, and what it rests on.

    Virtuoso keeps every triple in a named graph, so those of the default graph are cited as in one. Blank nodes have
    another name in every reply of an endpoint, and cannot be looked up there.
    """
    said = answer_to_json(answer)
    kept: dict[str, Any] = json.loads(json.dumps({name: said[name] for name in COMPARED}))
    for linked in kept["linked"]:
        del linked["candidates"]  # as many as an index on disk, or in memory, finds worth it
    for item in kept["evidence"]:
        for triple in item["triples"]:
            for source in triple["sources"]:
                if source["named_graph"] == VIRTUOSO_GRAPH:
                    source["named_graph"] = None
            for place in ("subject", "object"):
                if triple[place]["type"] == "bnode":
                    triple[place], triple["verified"], triple["sources"] = "_:", None, []
    return kept


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The parts that are not the same."""
    return [name for name in one if one[name] != other[name]]


def was_cut(answer: Answer, events: list[Event]) -> bool:
    """Whether a limit left something out: of an evidence item, or of the solutions of a query."""
    return any(item.cuts for item in answer.evidence) or any(
        not event.complete for event in events if isinstance(event, QueryRun)
    )
