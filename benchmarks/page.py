"""How fast the page is, and whether it still answers while 20 clients ask: `python -m benchmarks.page`.

`first paint` is Chromium's own figure, of a new tab of a server that is up; `answer` the time from Enter until ten
answers of different kinds are painted, at two widths, when they are asked first and once more: `--pictures FOLDER`
keeps how they look.
`completion` is how long names take while one types, of a graph with 100,000 labels. Then 20 clients ask five questions
each at once, as tabs do, with their steps streamed, while `/healthz` is asked ten times a second by another process:
what it took, in ms of the clock. `--tabs` does that with 20 tabs of Chromium instead, which take the processors, too.
Last the memory of the server over 500 questions.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import quote, urlsplit

from playwright.sync_api import Browser, sync_playwright

from tests.serving.conftest import CHROMIUM, NOBEL, process_of, served
from tests.serving.test_answers_on_the_page import ANSWERS, WIDTHS, look_at
from tests.serving.test_guards import QUESTIONS, ask_many, health_of, resident_bytes

CLIENTS = 20
EACH = 5
WORDS = ("Amber", "Basalt", "Cobalt", "Dahlia", "Ember", "Fjord", "Garnet")
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the answers; nothing else is measured")
    parser.add_argument("--tabs", action="store_true", help="tabs of Chromium, in place of plain clients")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache, served(Path(cache), "-k", NOBEL, "--no-model", "-q") as address:
        with chromium() as browser:
            for what, took in zip(
                ("asked first", "asked before"),
                zip(*answer_paints(browser, address, asked.pictures), strict=True),
                strict=True,
            ):
                print(
                    f"answer, {what}: median {statistics.median(took):.0f} ms, at most {max(took):.0f}, of {len(took)}"
                )
            if asked.pictures:
                return
            print(f"first paint: {statistics.median(first_paints(browser, address)):.0f} ms, median of 10 tabs")
            at_once = (lambda: tabs(browser, address)) if asked.tabs else (lambda: clients(address))
            took = health_while(address, at_once)
        what = f"{CLIENTS} tabs" if asked.tabs else f"{CLIENTS} clients with {EACH} questions each"
        figures = f"median {statistics.median(took):.0f} ms, 95 % below {took[int(len(took) * 0.95)]:.0f}"
        print(f"/healthz beside {what}: {figures}, at most {took[-1]:.0f} ({len(took)} times)")
        sizes = list(sizes_over_questions(address))
        took = sorted(completions(Path(cache)))
        print(f"completion of 100,000 labels: median {statistics.median(took):.1f} ms, at most {took[-1]:.1f}")
        print(f"memory over 500 questions, after each 100: {', '.join(f'{size / 1e6:.0f}' for size in sizes)} MB")


def answer_paints(browser: Browser, address: str, pictures: Path | None) -> Iterator[tuple[float, float]]:
    """Milliseconds until each of ten answers is painted, asked first and once more; all are checked, and kept."""
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(address)
        page.wait_for_selector("#examples li", timeout=90_000)
        for number, (question, shown) in enumerate(ANSWERS.items(), 1):
            yield look_at(page, question, shown), look_at(page, question, shown)
            if pictures:
                page.screenshot(path=pictures / f"{number}-{width}.png", full_page=True)
        page.close()


def completions(folder: Path) -> Iterator[float]:
    """Milliseconds that names took, after the first, of texts that end in the beginning of a name."""
    graph = folder / "labels.nt"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = (f'<http://e.org/{n}> {label} "{WORDS[n % 7]} {WORDS[n // 7 % 7]} {n}" .' for n in range(100_000))
    graph.write_text("\n".join(lines), encoding="utf-8")
    with served(folder, "-k", graph, "--no-model", "-q") as address:
        connection = HTTPConnection(urlsplit(address).netloc, timeout=120)
        for at in range(61):
            text = (
                f"Where is {WORDS[at % 7][: 3 + at % 4]}" if at % 2 else f"Who made {WORDS[at % 7]} {WORDS[at % 6][:3]}"
            )
            began = time.perf_counter()
            connection.request("GET", f"/api/names?text={quote(text)}")
            found = json.load(connection.getresponse())["names"]
            assert len(found) == 8, text
            if at:
                yield 1000 * (time.perf_counter() - began)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's browser, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


def first_paints(browser: Browser, address: str) -> Iterator[float]:
    """Milliseconds from the click to the first text that is seen, for ten new visitors."""
    for _ in range(10):
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function(PAINT)
        yield page.evaluate(PAINT)
        page.close()


def health_while(address: str, work: Callable[[], None]) -> list[float]:
    """Milliseconds that `/healthz` took while something else went on, sorted; asked from another process."""
    ours, theirs = multiprocessing.Pipe()
    asking = multiprocessing.get_context("spawn").Process(target=_ask_health, args=(address, theirs))
    asking.start()
    ours.recv()  # it has begun
    work()
    ours.send("enough")
    took: list[float] = ours.recv()
    asking.join()
    return sorted(1000 * seconds for seconds in took)


def _ask_health(address: str, pipe: Connection) -> None:
    with health_of(address) as took:
        pipe.send("begun")
        pipe.recv()
    pipe.send(took)


def clients(address: str) -> None:
    """Ask as 20 tabs do, and wait for the answers."""
    threads = [threading.Thread(target=ask_many, args=(address, EACH), kwargs={"at": at}) for at in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tabs(browser: Browser, address: str) -> None:
    """Ask in 20 tabs, and wait for the answers."""
    pages = [browser.new_page() for _ in range(CLIENTS)]
    for at, page in enumerate(pages):
        page.goto(address)
        page.fill("#question", QUESTIONS[at % len(QUESTIONS)])
        page.keyboard.press("Enter")
    for page in pages:
        page.wait_for_selector(".run:not([aria-busy]) .evidence", timeout=90_000)
        page.close()


def sizes_over_questions(address: str) -> Iterator[int]:
    """Resident bytes of the server after each 100 of 500 questions."""
    for round_ in range(5):
        ask_many(address, 100, at=round_)
        yield resident_bytes(process_of(address))


if __name__ == "__main__":
    main()
