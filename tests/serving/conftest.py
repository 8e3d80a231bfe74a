"""``kgsparql serve`` in a process of its own, and Chromium."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.endpoints.servers import ALL_ENGINES
from tests.world import FIXTURES, ROOT

CHROMIUM = Path("/usr/bin/chromium")

NOBEL = FIXTURES / "nobel.ttl"
SPOUSE = "Who is the spouse of Marie Curie?"

_PROCESSES: dict[str, int] = {}


def process_of(address: str) -> int:
    """The process that serves there."""
    return _PROCESSES[address]


@contextmanager
def served(cache: Path, *options: str | Path, **environment: str) -> Iterator[str]:
    """The address of a server with these options, until it is stopped as by Ctrl-C."""
    command = [sys.executable, "-m", "kgsparql", "serve", "--port", "0", "--embedder", "none", *map(str, options)]
    # stderr goes to the terminal of the tests: a pipe that nobody reads may fill
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={
            **os.environ, "KGSPARQL_CACHE_DIR": str(cache), "XDG_CONFIG_HOME": str(cache), "HF_HUB_OFFLINE": "1",
            **environment,
        },
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert re.match(r"http://\S+:\d+/", line), line
        _PROCESSES[line] = process.pid
        yield line
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()


@pytest.fixture(scope="session")
def serving_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serving-cache")


@pytest.fixture(scope="session")
def address(serving_cache: Path) -> Iterator[str]:
    """A page on the bundled graph, without a model."""
    with served(serving_cache, "-k", NOBEL, "--no-model", "-q") as found:
        yield found


@pytest.fixture(scope="module")  # for longer it would keep an event loop, which asynchronous tests cannot start beside
def chromium() -> Iterator[Browser]:
    if not CHROMIUM.is_file():
        without = pytest.fail if os.environ.get(ALL_ENGINES) else pytest.skip
        without("there is no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser, trouble: list[str]) -> Iterator[BrowserContext]:
    """A fresh browser; whatever it complains of is in ``trouble``, and must be nothing at the end."""
    made = chromium.new_context(viewport={"width": 1280, "height": 900})
    made.on("console", lambda m: trouble.append(f"{m.type}: {m.text}") if m.type in {"error", "warning"} else None)
    made.on("weberror", lambda error: trouble.append(str(error.error)))
    yield made
    made.close()
    assert [told for told in trouble if "ERR_CONNECTION_REFUSED" not in told] == []  # the server may have ended first


@pytest.fixture
def trouble() -> list[str]:
    return []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def open_to_type(page: Page, address: str) -> None:
    """Open the page and wait for its question box to have the focus, which a busy browser gives it late."""
    page.goto(address)
    expect(page.locator("#question")).to_be_focused()


@pytest.fixture
def ask(page: Page) -> Callable[[str], None]:
    """Ask a question on the page, and wait for its answer."""

    def asked(question: str) -> None:
        page.fill("#question", question)
        page.keyboard.press("Enter")
        page.wait_for_function("q => document.title.startsWith(q)", arg=question)
        page.wait_for_selector(".run:not([aria-busy])")

    return asked


@pytest.fixture
def answered(page: Page, address: str, ask: Callable[[str], None]) -> None:
    """The page shows the answer to a question."""
    page.goto(address)
    ask(SPOUSE)


def asked(address: str, question: str = SPOUSE, **headers: str) -> str:
    """The name of a run that is over."""
    name = urllib3.request("POST", f"{address}api/ask", json={"question": question}, headers=headers).json()["id"]
    urllib3.request("GET", f"{address}api/runs/{name}/events", headers=headers)
    return str(name)
