"""Checked queries of users and models, run by an endpoint instead of a worker process."""

from __future__ import annotations

import threading
import time
from functools import partial

from kgsparql.errors import EndpointReplyError, QuerySyntaxError
from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.user_query.checking import CheckedQuery
from kgsparql.graphs.user_query.results import BoundedLines, QueryResult, write_lines
from kgsparql.graphs.user_query.worker import syntax_error


def run_on_endpoint(
    graph: EndpointGraph,
    query: CheckedQuery,
    *,
    timeout_s: float = 30.0,
    max_rows: int = 100_000,
    max_bytes: int = 2**28,
    cancel: threading.Event | None = None,
) -> QueryResult:
    """Run one query at an endpoint, over the union of its graphs where it has one.

    :param timeout_s: for the whole reply to arrive.
    :param max_rows: solutions or triples that are kept; the query is sent as it is, with the LIMIT it has.
    :raises QuerySyntaxError: if the endpoint says that it is not SPARQL, with line and column of what the user wrote.
    :raises QueryError: if it cannot run it.
    :raises UnreachableError: for whatever else is wrong at the endpoint.
    :raises CancelledError: if ``cancel`` is set.
    """
    from kgsparql.graphs.protocol.results import boolean, read, repaired_reply, triples, why_cut

    began = time.monotonic()
    reply, request = graph.send(query.text, query.form, name="", timeout_s=timeout_s, cancel=cancel)
    header = 1 if query.form == "SELECT" else 0
    lines, complete, invalid = BoundedLines(max_rows + header, max_bytes), True, 0
    try:
        if query.form == "ASK":
            lines.content += b"true" if boolean(reply, request) else b"false"
            lines.lines = 1
        elif query.form == "SELECT":
            try:
                complete = read(reply, request, "SELECT", partial(write_lines, lines=lines))
            except EndpointReplyError as error:
                (reply, invalid), lines = (
                    repaired_reply(reply, error, request),
                    BoundedLines(max_rows + header, max_bytes),
                )
                complete = read(reply, request, "SELECT", partial(write_lines, lines=lines))
        else:
            complete = lines.extend(f"{triple} .\n".encode() for triple in triples(reply, request))
    except QuerySyntaxError as error:
        raise syntax_error(str(error.detail.get("said", error.message)), query) from error
    number, seconds = lines.lines - header, time.monotonic() - began
    why = why_cut(reply, request, number + invalid, "solutions" if header else "triples")
    is_whole = complete and not why and not invalid
    return QueryResult(query.form, bytes(lines.content), number, is_whole, seconds, why, invalid)
