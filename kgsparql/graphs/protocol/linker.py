"""The search of a Wikibase (``wbsearchentities``), which finds entities by name: how it is asked, what it may reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kgsparql.errors import InputError
from kgsparql.graphs.graph import Solution
from kgsparql.graphs.protocol.request import SparqlRequest, of_status
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal, iri

MOST_FOUND = 10  # entities of one name
LINKER = "linker"


def linker_query(names: Sequence[str], language: str) -> Query:
    """Make what an endpoint is asked for where its linker is to find ``?words`` and ``?entity``; it is no SPARQL."""
    return Query(LINKER, json.dumps({"names": names, "language": language}, ensure_ascii=False), empty=not names)


def linker_parameters(query: Query) -> list[Mapping[str, str]]:
    """List the parameters of the requests that ask a linker for the names of a query."""
    asked = json.loads(query.text)
    every = {
        "action": "wbsearchentities", "format": "json", "language": asked["language"], "limit": str(MOST_FOUND),
    }  # fmt: skip
    return [{**every, "search": name} for name in asked["names"]]


def found_entities(reply: HttpReply, request: SparqlRequest) -> list[Solution]:
    """Read ``?words`` and ``?entity`` in the reply of a linker.

    :raises EndpointReplyError: for what has another form; an error as the status says.
    """
    if (failure := of_status(reply, request)) is not None:
        raise failure
    try:
        words, found = Literal(request.parameters["search"]), json.loads(reply.body)["search"]
        return [{"words": words, "entity": iri(one["concepturi"])} for one in found[:MOST_FOUND]]
    except (ValueError, TypeError, LookupError, RecursionError, AttributeError, InputError):
        hint = "is linker_url that of the search API of a Wikibase?"
        raise request.reply_error("no reply of a linker", "E_FORMAT", hint) from None
