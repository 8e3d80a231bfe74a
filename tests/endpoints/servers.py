"""A real SPARQL server in a process of its own, over data of a test."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph

__all__ = ["free_port", "oxigraph_serve", "store_of"]

OXIGRAPH = Path(sys.executable).with_name("oxigraph")


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def store_of(data: Path, directory: Path) -> Path:
    """A store that Oxigraph's server can serve, filled from one file."""
    store = pyoxigraph.Store(str(directory))
    store.bulk_load(path=data)
    store.flush()
    del store
    return directory


@contextlib.contextmanager
def oxigraph_serve(store: Path, *options: str, port: int | None = None) -> Iterator[str]:
    """The URL of ``oxigraph serve-read-only`` over a store, as long as the ``with`` lasts."""
    port = port or free_port()
    command = [OXIGRAPH, "serve-read-only", "--location", store, "--bind", f"127.0.0.1:{port}", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}/query"
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError("the server did not start")
