"""Several runs of ``kgsparql query`` at one public endpoint, which is not on this machine: a proxy in between is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.endpoints.faults import SELECT_JSON, FaultServer, Request, reply, results

URL = "http://sparql.example.org/sparql"
PROFILE = f"""
[mine]
urls = ["{URL}"]
engine = "virtuoso"
is_public = true
has_union = true
concurrency = 1
timeout_s = 20
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a user with an empty cache and a profile; no proxy is bypassed."""
    (tmp_path / "endpoints.toml").write_text(PROFILE)
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return {
        **kept,
        "KGSPARQL_CACHE_DIR": str(tmp_path / "cache"),
        "KGSPARQL_ENDPOINTS": str(tmp_path / "endpoints.toml"),
    }


def started(environment: dict[str, str], server: FaultServer, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kgsparql", "query", f"SELECT ?s ?n {{ ?s ?n {number} }}", "-k", URL]
    proxied = {**environment, "http_proxy": f"http://127.0.0.1:{server.port}"}
    return subprocess.Popen(command, env=proxied, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_runs_at_the_same_time_ask_one_after_the_other(environment: dict[str, str]) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def behave(sock: Any, _: Request) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(1.5)
        with lock:
            running -= 1
        sock.sendall(reply(SELECT_JSON))

    with FaultServer(behave) as server:
        runs = [started(environment, server, number) for number in range(3)]
        said = [run.communicate(timeout=120)[1] for run in runs]
        assert [run.returncode for run in runs] == [0, 0, 0], said
    assert len(server.asked) == 3
    assert server.asked[0].line.startswith(f"POST {URL}")
    assert most == 1


def test_E11_the_next_run_keeps_the_wait_that_this_one_was_told(environment: dict[str, str]) -> None:
    with FaultServer(results(b"", status="503 Service Unavailable", headers=["Retry-After: 600"])) as server:
        for words in ("503", "not to be asked for another"):
            run = started(environment, server, 1)
            assert words in run.communicate(timeout=120)[1]
            assert run.returncode == 5
        assert len(server.asked) == 1
