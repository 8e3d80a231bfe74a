"""A service beside an endpoint that finds entities by name: how it is asked, and what it may reply.

It is the search API of a Wikibase (``wbsearchentities``), or speaks the Reconciliation Service API 0.2 of OpenRefine:
of ``queries={"q0": {"query": "Curie", "limit": 10}}`` it makes ``{"q0": {"result": [{"id": "Q1", "match": true}]}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kgsparql.errors import InputError
from kgsparql.graphs.graph import Solution
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.graphs.protocol.request import SparqlRequest, of_status
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal, iri

MOST_FOUND = 10  # entities of one name
LINKER = "linker"


def linker_query(names: Sequence[str], language: str) -> Query:
    """Make what an endpoint is asked for where its linker is to find ``?words`` and ``?entity``; it is no SPARQL."""
    return Query(LINKER, json.dumps({"names": names, "language": language}, ensure_ascii=False), empty=not names)


def linker_parameters(query: Query, profile: EndpointProfile) -> list[Mapping[str, str]]:
    """List the parameters of the requests that ask a linker for the names of a query, as few as it allows."""
    asked = json.loads(query.text)
    if profile.linker == "wikibase":
        every = {"action": "wbsearchentities", "format": "json", "language": asked["language"]}
        return [{**every, "limit": str(MOST_FOUND), "search": name} for name in asked["names"]]
    queries = {f"q{at}": {"query": name, "limit": MOST_FOUND} for at, name in enumerate(asked["names"])}
    return [{"queries": json.dumps(queries, ensure_ascii=False)}]


def found_entities(reply: HttpReply, request: SparqlRequest) -> list[Solution]:
    """Read ``?words`` and ``?entity`` in the reply of a linker; ``?label`` where it is sure that these are its name.

    :raises EndpointReplyError: for what has another form; an error as the status says.
    """
    if (failure := of_status(reply, request)) is not None:
        raise failure
    profile, given = request.profile, request.parameters
    try:
        said, found = json.loads(reply.body), list[tuple[str, str, bool]]()
        if profile.linker == "wikibase":
            found = [(given["search"], one["concepturi"], False) for one in said["search"][:MOST_FOUND]]
        else:
            for key, asked in json.loads(given["queries"]).items():
                own = said[key]["result"][:MOST_FOUND]
                found += [(asked["query"], one["id"], one.get("match") is True) for one in own]
        return [
            {
                "words": (words := Literal(name)), "entity": iri(one if "://" in one else profile.linker_prefix + one),
                **({"label": words} if is_sure else {}),
            } for name, one, is_sure in found
        ]  # fmt: skip
    except (ValueError, TypeError, LookupError, RecursionError, AttributeError, InputError):
        hint = "is linker_url that of a service as `linker` of the profile says?"
        raise request.reply_error(f"no reply of a linker ({profile.linker})", "E_FORMAT", hint) from None
