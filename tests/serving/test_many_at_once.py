"""Many browsers at once, and many questions one after the other."""

import http.client
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.serving.conftest import NOBEL, process_of, served

QUESTIONS = [
    "Who is the spouse of Marie Curie?", "Where was Richard Feynman born?",
    "Who was the doctoral advisor of Hans Bethe?",
    "Which university did Linus Pauling attend?", "How many Nobel laureates are there?",
]  # fmt: skip


@contextmanager
def health_of(address: str) -> Iterator[list[float]]:
    """Seconds that ``/healthz`` took, asked ten times a second meanwhile."""
    took: list[float] = []
    done = threading.Event()

    def look() -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
        while not done.wait(0.1):
            began = time.monotonic()
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b'{"status":"ok"}'
            took.append(time.monotonic() - began)
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield took
    finally:
        done.set()
        thread.join()


def test_six_tabs_ask_at_once_and_all_are_answered(chromium: Browser, address: str) -> None:
    context = chromium.new_context()
    pages = [context.new_page() for _ in range(6)]
    for page in pages:
        page.goto(address)
    with health_of(address) as took:
        for at, page in enumerate(pages):
            page.fill("#question", QUESTIONS[at % len(QUESTIONS)])
            page.keyboard.press("Enter")
        for page in pages:
            page.wait_for_selector(".run:not([aria-busy]) .evidence", timeout=90_000)
    assert [page.inner_text(".badge") for page in pages].count("failed") == 0
    assert took  # how long it takes: python -m benchmarks.page
    context.close()


@pytest.mark.deep
def test_memory_is_flat_over_500_questions(tmp_path: Path) -> None:
    with served(tmp_path, "-k", NOBEL, "--no-model", "-q") as address:
        sizes = []
        with health_of(address) as took:
            for round_ in range(5):
                ask_many(address, 100, at=round_)
                sizes.append(resident_bytes(process_of(address)))
    assert sizes[-1] - sizes[1] < 40_000_000, sizes
    assert len(took) > 5


def ask_many(address: str, count: int, *, at: int) -> None:
    """Ask so many questions one after the other, each with its steps; the first is the one ``at`` that place."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    for number in range(count):
        asked = json.dumps({"question": QUESTIONS[(number + at) % len(QUESTIONS)]})
        connection.request("POST", "/api/ask", asked, {"content-type": "application/json"})
        name = json.load(connection.getresponse())["id"]
        connection.request("GET", f"/api/runs/{name}/events")
        assert b"event: over" in connection.getresponse().read()
    connection.close()


def resident_bytes(process: int) -> int:
    """The memory that a process has now."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
