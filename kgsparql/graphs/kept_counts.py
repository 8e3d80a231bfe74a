"""What was counted over a whole graph, kept as long as its content is the same: ten million triples take 7 s."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from kgsparql.errors import InputError
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import parse_term
from kgsparql.resources import cache_directory
from kgsparql.storage.atomic_replace import replace_text
from kgsparql.storage.integrity import checked_text, read_checked_text

FOLDER = "counts"
"""Of the cache directory."""
_KEPT_S = 0.2
"""A count that took less is not kept."""


def counted(
    graph: KnowledgeGraph,
    query: Query,
    select: Callable[[Query], Solutions] | None = None,
    *,
    note: Callable[[str], None] = lambda _: None,
) -> Solutions:
    """The solutions of a query that reads a whole graph; of a file or store, as they were counted before.

    Of two processes at once both count, and one of the two equal results stays.

    :param select: runs the query, if not the graph itself: within the time of a question, say.
    :param note: takes a line if what took long to count cannot be kept.
    """
    run = select or graph.select
    if not graph.is_as_loaded:
        return run(query)
    key = hashlib.sha256(f"{graph.fingerprint}\n{query.text}".encode()).hexdigest()
    file = cache_directory() / FOLDER / key[:32]
    kept = _kept(file)
    if kept is not None:
        return kept
    began = time.perf_counter()
    found = run(query)
    if found.complete and time.perf_counter() - began >= _KEPT_S:
        try:
            _keep(found, file)
        except OSError as error:
            note(
                f"{graph.name}: counted anew each time, since nothing can be kept in {cache_directory()}: "
                f"{error.strerror or error} (KGSPARQL_CACHE_DIR names another place)"
            )
    return found


def _kept(file: Path) -> Solutions | None:
    """The solutions in a file; ``None`` where there is none, or not just what was written: then it is counted again."""
    try:
        variables, rows = json.loads(read_checked_text(file))
        solutions = [{name: parse_term(term) for name, term in row.items()} for row in rows]
    except (OSError, ValueError, TypeError, AttributeError, InputError):
        return None
    return Solutions(tuple(variables), tuple(solutions))


def _keep(found: Solutions, file: Path) -> None:
    rows = [{name: str(term) for name, term in solution.items()} for solution in found]
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, checked_text(json.dumps([found.variables, rows])))
