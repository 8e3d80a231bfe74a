"""The process that runs queries and may be killed at any moment; ``python -m kgsparql.graphs.user_query.process``.

The first frame says what to load, each further one is a query. ``worker.py`` is the side of the session.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyoxigraph as ox

from kgsparql.errors import GraphLoadError, KgsparqlError, LimitError, QueryError, QuerySyntaxError
from kgsparql.graphs.child_process import Frame, connected_to_parent, progress_to_parent, write_frame
from kgsparql.graphs.manifest import corrupt_store
from kgsparql.graphs.user_query.results import BoundedLines
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal

if TYPE_CHECKING:
    from kgsparql.graphs import OxigraphGraph


def main() -> None:
    """Load what the first frame says, then answer queries until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, who kills this process
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a store that is being filled in the cache is removed
    (target, content), queries, replies = connected_to_parent()
    try:
        graph = _graph_of(target, content, replies)
        is_on_disk, may_repeat = graph.directory is not None, graph.may_repeat_triples
        if may_repeat and not is_on_disk and (may_repeat := _repeats_triples(graph)):
            # Queries then see the default graph instead of the union; the named graphs stay.
            store = graph.store
            store.bulk_extend(ox.Quad(*q.triple) for q in store if not isinstance(q.graph_name, ox.DefaultGraph))
    except (KgsparqlError, OSError, SyntaxError, ValueError, RuntimeError, MemoryError) as error:
        ours = error if isinstance(error, KgsparqlError) else GraphLoadError(f"the graph cannot be loaded: {error}")
        write_frame(replies, {"error": ours.to_record()})
        os._exit(0)
    del content  # as large as the graph
    sources = target["sources"] or ()
    _limit_resources(target["memory_bytes"], in_memory=not any(Path(source).is_dir() for source in sources))
    write_frame(replies, {"ready": True, "may_repeat": may_repeat and is_on_disk})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    is_union = is_on_disk or not may_repeat
    while True:
        write_frame(replies, *_reply_to(graph.store, queries.get()[0], ", ".join(sources), is_union=is_union))


def _graph_of(target: dict[str, Any], content: bytes, replies: BinaryIO) -> OxigraphGraph:
    """Open the graph that the sources name; without sources, one with the content, N-Quads."""
    from kgsparql.graphs import OxigraphGraph, open_embedded

    if target["sources"] is None:
        store = ox.Store()
        store.bulk_extend(ox.parse(content, ox.RdfFormat.N_QUADS))  # blank nodes keep their names
        return OxigraphGraph(store, name="", fingerprint="")
    return open_embedded(
        target["sources"], progress=progress_to_parent(replies),
        notes=lambda text: write_frame(replies, {"note": [text]}), **target["options"],
    )  # fmt: skip


def _repeats_triples(graph: OxigraphGraph) -> bool:
    """Tell whether a triple is in two graphs: Oxigraph's union has it twice, and sums and counts would be wrong."""
    repeated = graph.select(Query.load("repeated")).solutions[0]["count"] == Literal(1)
    quads = graph.store.quads_for_pattern(None, None, None, ox.DefaultGraph())
    return repeated or any(len(graph.sources_of(quad.triple)) > 1 for quad in quads)


def _limit_resources(memory_bytes: int, *, in_memory: bool) -> None:
    """Limit memory, core files and, for a graph in memory, new connections, where the system has these limits.

    A store on disk opens files as it goes, so it keeps its descriptors.
    """
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return
    used = int(statm.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
    if in_memory and not any(os.path.realpath(link).endswith(".sst") for link in Path("/proc/self/fd").iterdir()):
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))  # no new descriptor: no socket


def _reply_to(store: ox.Store, query: dict[str, Any], name: str, *, is_union: bool) -> Frame:
    """Run a query; return the header and the bytes of its result, or the header of an error."""
    started = time.monotonic()
    lines = BoundedLines(query["max_rows"], query["max_bytes"])
    try:
        complete = lines.take(store.query(query["text"], use_default_graph_as_union=is_union))
    except SyntaxError as error:
        failure: KgsparqlError = QuerySyntaxError(str(error))
    except MemoryError as error:
        failure = LimitError(str(error) or "the query needs more memory than it may have")
    except (OSError, RuntimeError, ValueError) as error:
        is_damaged = "Corruption" in str(error)  # the engine checks each block of a store that it reads
        failure = corrupt_store(name, str(error)) if is_damaged else QueryError(str(error))
    else:
        return {"rows": lines.rows, "complete": complete, "seconds": time.monotonic() - started}, bytes(lines.content)
    return {"error": failure.to_record()}, b""


if __name__ == "__main__":
    main()
