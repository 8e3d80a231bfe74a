"""A real SPARQL server in a process of its own, over data of a test."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pyoxigraph
import pytest

from tests.endpoints.ports import free_port
from tests.world import ROOT

OXIGRAPH = Path(sys.executable).with_name("oxigraph")
ALL_ENGINES = "KGSPARQL_ALL_ENGINES"
"""Set to 1 where an engine that is not installed is a failure, as in CI; elsewhere its tests are skipped."""

VIRTUOSO_GRAPH = "http://example.org/default-graph"
"""Virtuoso has no default graph of its own: what is in none is put here."""
_VIRTUOSO = """
[Database]
DatabaseFile = {directory}/virtuoso.db
ErrorLogFile = {directory}/virtuoso.log
LockFile = {directory}/virtuoso.lck
TransactionFile = {directory}/virtuoso.trx
xa_persistent_file = {directory}/virtuoso.pxa
FileExtend = 200
TempStorage = TempDatabase
[TempDatabase]
DatabaseFile = {directory}/virtuoso-temp.db
TransactionFile = {directory}/virtuoso-temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql_port}
DisableUnixSocket = 1
DirsAllowed = {directory}
CheckpointInterval = 0
CaseMode = 2
NumberOfBuffers = 40000
MaxDirtyBuffers = 30000
ThreadsPerQuery = 2
AsyncQueueMaxThreads = 2
[HTTPServer]
ServerPort = 127.0.0.1:{port}
ServerRoot = {directory}
ServerThreads = 10
MaxKeepAlives = 10
KeepAliveTimeout = 10
[SPARQL]
ResultSetMaxRows = {max_rows}
MaxQueryExecutionTime = 60
MaxQueryCostEstimationTime = 0
"""
_FILL = """
log_enable(2, 1);
DELETE FROM DB.DBA.RDF_QUAD;
DELETE FROM DB.DBA.load_list;
ld_dir('{directory}', '{name}', '{graph}');
rdf_loader_run();
SELECT CASE WHEN COUNT(*) = 1 AND MIN(ll_state) = 2 AND MAX(ll_error) IS NULL THEN 'filled' ELSE MAX(ll_error) END
  FROM DB.DBA.load_list;
{more}
"""
_TEXT_INDEX = "DB.DBA.RDF_OBJ_FT_RULE_ADD(null, null, 'all');\nDB.DBA.VT_INC_INDEX_DB_DBA_RDF_OBJ();\n"


def store_of(data: Path, directory: Path) -> Path:
    """A store that Oxigraph's server can serve, filled from one file."""
    store = pyoxigraph.Store(str(directory))
    store.bulk_load(path=data)
    store.flush()
    del store
    return directory


@contextlib.contextmanager
def oxigraph_serve(store: Path, *options: str, port: int | None = None, writable: bool = False) -> Iterator[str]:
    """The URL of ``oxigraph serve-read-only`` over a store, as long as the ``with`` lasts."""
    port = port or free_port()
    serving = "serve" if writable else "serve-read-only"
    command = [OXIGRAPH, serving, "--location", store, "--bind", f"127.0.0.1:{port}", *options]
    yield from _served([str(part) for part in command], port, "/query")


class Virtuoso:
    """A Virtuoso server that holds the quads of one file after the other.

    It starts in some seconds and is filled in milliseconds, so tests share one. The triples about itself that it comes
    with are deleted: what it holds is what it was given.
    """

    def __init__(self, directory: Path, *, max_rows: int = 10_000) -> None:
        self.directory = directory.resolve()
        self.port, self._sql_port = free_port(), free_port()
        self._max_rows = max_rows
        self._filled = 0
        self._data: Path | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[Virtuoso]:
        """This server, as long as the ``with`` lasts."""
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = self.directory / "virtuoso.ini"
        settings.write_text(
            _VIRTUOSO.format(
                directory=self.directory, port=self.port, sql_port=self._sql_port, max_rows=self._max_rows
            ),
            encoding="utf-8",
        )
        command = [_installed("virtuoso-t"), "+configfile", settings, "+foreground"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(self.port, process, within_s=60)
            _wait_for(self._sql_port, process)
            yield self
        finally:
            process.kill()  # nothing of it is kept
            process.wait()

    def fill(self, data: Path, *, text_index: bool = False) -> str:
        """Drop everything, load a file in any RDF format, and return the URL, which is another for other data.

        Nothing is done for the file that it was filled with last.

        :param text_index: so that literals can be searched with ``bif:contains``.
        """
        if data == self._data:
            return self.url
        self._data = data
        self._filled += 1
        quads = self.directory / f"data-{self._filled}.nq"
        with quads.open("wb") as output:
            pyoxigraph.serialize(pyoxigraph.parse(path=str(data)), output, pyoxigraph.RdfFormat.N_QUADS)
        said = self._sql(
            _FILL.format(directory=self.directory, name=quads.name, graph=VIRTUOSO_GRAPH, more=_TEXT_INDEX * text_index)
        )
        quads.unlink()
        if "filled" not in said or "*** Error" in said:
            raise RuntimeError(f"Virtuoso did not load {data}: {said[-2000:]}")
        return self.url

    @property
    def url(self) -> str:
        """Where what it holds now is asked."""
        return f"http://127.0.0.1:{self.port}/sparql?filled={self._filled}"

    def _sql(self, text: str) -> str:
        command = [_installed("isql-vt"), f"127.0.0.1:{self._sql_port}", "dba", "dba", "ERRORS=STDOUT"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout


@contextlib.contextmanager
def virtuoso(data: Path, directory: Path, **options: int) -> Iterator[str]:
    """The URL of a Virtuoso server of its own over a file, as long as the ``with`` lasts."""
    with Virtuoso(directory, **options).running() as server:
        yield server.fill(data)


@contextlib.contextmanager
def rdflib_endpoint(data: Path) -> Iterator[str]:
    """The URL of rdflib-endpoint over a file, in a process of its own, as long as the ``with`` lasts."""
    if importlib.util.find_spec("rdflib_endpoint") is None:
        _missing("rdflib-endpoint is not installed: pip install rdflib-endpoint uvicorn")
    port = free_port()
    yield from _served(
        [sys.executable, "-W", "ignore", "-m", "tests.endpoints.rdflib_server", str(data), str(port)], port
    )


@contextlib.contextmanager
def comunica(data: Path) -> Iterator[str]:
    """The URL of Comunica's server over a file, as long as the ``with`` lasts."""
    own = str(ROOT / ".comunica" / "node_modules" / ".bin")
    program = shutil.which("comunica-sparql-file-http", path=os.pathsep.join((own, os.environ.get("PATH", ""))))
    if program is None:
        _missing("Comunica is not installed: npm install --prefix .comunica @comunica/query-sparql-file@4.5.0")
    port = free_port()
    yield from _served([program, str(data.resolve()), "--port", str(port)], port)


@contextlib.contextmanager
def kgsparql_serve(data: Path) -> Iterator[str]:
    """The URL of the SPARQL endpoint of ``kgsparql serve`` over a file, as long as the ``with`` lasts."""
    port = free_port()
    command = [sys.executable, "-m", "kgsparql", "serve", "-k", str(data.resolve()), "--port", str(port), "--no-model"]
    yield from _served(command, port, "/sparql")


SERVERS: Mapping[str, Callable[[Path, Path], contextlib.AbstractContextManager[str]]] = {
    "Oxigraph": lambda data, folder: oxigraph_serve(store_of(data, folder / "store")),
    "Virtuoso": lambda data, folder: virtuoso(data, folder / "virtuoso", max_rows=1_000_000),
    "rdflib-endpoint": lambda data, _: rdflib_endpoint(data),
    "Comunica": lambda data, _: comunica(data),
    "kgsparql serve": lambda data, _: kgsparql_serve(data),
}
"""The servers that people have and a registry brings, each over a file, with a folder for what it writes."""


def _served(command: list[str], port: int, path: str = "/sparql") -> Iterator[str]:
    """Yield the URL of a server in processes of its own, and end them."""
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # Comunica has a worker
        process.wait()


def _installed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        _missing(f"{program} is not installed: apt-get install virtuoso-opensource-7 virtuoso-opensource-7-bin")
    return found


def _missing(why: str) -> NoReturn:
    if os.environ.get(ALL_ENGINES) == "1":
        pytest.fail(f"{why} ({ALL_ENGINES}=1 says that every engine is there)")
    pytest.skip(why)


def _wait_for(port: int, process: subprocess.Popen[bytes], *, within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError("the server did not start")
