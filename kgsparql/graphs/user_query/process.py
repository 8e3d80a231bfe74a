"""The process that runs queries and may be killed at any moment; ``python -m kgsparql.graphs.user_query.process``.

It speaks frames (:mod:`kgsparql.graphs.user_query.frames`): first what to load, then one query after another. It ends
when its parent does, because a thread waits for the end of standard input while the engine works.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyoxigraph as ox

from kgsparql.errors import KgsparqlError
from kgsparql.graphs.user_query.frames import ChunkReader, read_frame, write_frame
from kgsparql.graphs.user_query.lines import Lines, written

__all__ = ["main"]

_REPORT_EVERY_S = 0.1


def main() -> None:
    """Load what the first frame says, then answer queries until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the parent, who kills this process
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may come between the frames
    requests = sys.stdin.buffer
    first = read_frame(requests)
    if first is None:
        return
    target, _ = first
    try:
        if target["kind"] == "quads":
            store = _received(requests)
            waiting = _waiting(requests)
        else:
            waiting = _waiting(requests)
            store = _opened(target, replies)
    except KgsparqlError as error:
        write_frame(replies, {"error": type(error).__name__, **error.to_json()})
        os._exit(0)
    except (OSError, SyntaxError, ValueError, RuntimeError, MemoryError) as error:
        write_frame(replies, {"error": "GraphLoadError", "message": f"the graph cannot be loaded: {error}"})
        os._exit(0)
    _confine(target["memory_bytes"], in_memory=not any(Path(source).is_dir() for source in target.get("sources", ())))
    write_frame(replies, {"ready": True})
    while True:
        query = waiting.get()
        write_frame(replies, *_answer(store, query))


def _waiting(requests: BinaryIO) -> queue.Queue[dict[str, Any]]:
    """The queries as they arrive; the process ends with its parent."""
    waiting: queue.Queue[dict[str, Any]] = queue.Queue()

    def receive() -> None:
        while (frame := read_frame(requests)) is not None:
            waiting.put(frame[0])
        os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    return waiting


def _received(requests: BinaryIO) -> ox.Store:
    """A store with the quads that the parent sends; blank nodes keep their names."""
    store = ox.Store()
    store.bulk_extend(ox.parse(cast("BinaryIO", ChunkReader(requests)), ox.RdfFormat.N_QUADS))
    return store


def _opened(target: dict[str, Any], replies: BinaryIO) -> ox.Store:
    """The store that these sources name, or one with what is in these files."""
    from kgsparql.graphs import open_embedded

    last = 0.0

    def report(phase: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPORT_EVERY_S or done >= total:
            last = now
            write_frame(replies, {"progress": [phase, done, total]})

    def note(text: str) -> None:
        write_frame(replies, {"note": text})

    return open_embedded(target["sources"], progress=report, notes=note, **target["options"]).store


def _confine(memory_bytes: int, *, in_memory: bool) -> None:
    """Limit what queries may take from here on: memory, core files and, for a graph in memory, new connections.

    Only where the system has these limits. A store on disk goes on opening files, so it keeps its descriptors.
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
    if in_memory and not any(link.endswith(".sst") for link in _links(Path("/proc/self/fd"))):
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))  # no new descriptor: no socket


def _links(descriptors: Path) -> list[str]:
    links = []
    for entry in descriptors.iterdir():
        try:
            links.append(str(entry.readlink()))
        except FileNotFoundError:  # the descriptor that read this directory
            continue
    return links


def _answer(store: ox.Store, query: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    started = time.monotonic()
    try:
        results = store.query(query["text"], use_default_graph_as_union=True)
        if isinstance(results, ox.QueryBoolean):
            return {
                "rows": 1,
                "complete": True,
                "seconds": time.monotonic() - started,
            }, b"true" if results else b"false"
        header = 1 if isinstance(results, ox.QuerySolutions) else 0
        lines = Lines(query["max_rows"] + header, query["max_bytes"])
        complete = written(results, lines)
    except SyntaxError as error:
        return {"error": "QuerySyntaxError", "message": str(error)}, b""
    except MemoryError as error:
        return {"error": "LimitError", "message": str(error) or "the query needs more memory than it may have"}, b""
    except (OSError, RuntimeError, ValueError) as error:
        return {"error": "QueryError", "message": str(error)}, b""
    reply = {"rows": lines.lines - header, "complete": complete, "seconds": time.monotonic() - started}
    return reply, bytes(lines.content)


if __name__ == "__main__":
    main()
