"""Runs that are slow, stopped, left, opened later, or checked again."""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.deep import deep
from tests.model_server import ModelServer, Slow
from tests.scripted import by_call, reader, wrote
from tests.serving.conftest import NOBEL, served

Ask = Callable[[str], None]

FEYNMAN = "Which scientists worked at the same institution as Richard Feynman?"
KEY = "sk-canary-0123456789abcdef"
SLOW = by_call(mentions=reader, choices=reader, sentences=reader, answer=Slow(30))


def model(server: ModelServer) -> tuple[str, ...]:
    return ("-k", str(NOBEL), "-r", "mindmap", "-m", "any", "--base-url", server.url, "-q")


def test_a_stopped_question_keeps_what_was_found(page: Page, tmp_path: Path) -> None:
    with ModelServer(SLOW) as server, served(tmp_path, *model(server)) as address:
        page.goto(address)
        page.fill("#question", FEYNMAN)
        page.keyboard.press("Enter")
        page.click("text=/^\\d+ steps$/")
        page.wait_for_selector(".steps .evidence_found")
        began = time.monotonic()
        page.click(".stop")
        page.wait_for_selector(".run:not([aria-busy])")
        assert time.monotonic() - began < 5
        assert page.inner_text(".badge") == "partial"
        assert "stopped: this is what was found until then" in page.inner_text(".notes")
        assert page.locator(".evidence tbody").count() > 0
        assert "found again" in page.inner_text(".evidence")


def test_what_is_kept_and_let_go_is_shown_while_the_question_is_answered(page: Page, tmp_path: Path) -> None:
    quick = [reader]
    waiting = by_call(mentions=reader, choices=lambda body: quick.pop()(body) if quick else Slow(30), answer=reader)
    with ModelServer(waiting) as server, served(tmp_path, *model(server), "-r", "think_on_graph") as address:
        page.goto(address)
        page.fill("#question", FEYNMAN)
        page.keyboard.press("Enter")
        page.wait_for_selector(".live")
        kept = page.locator(".live .kept").all_inner_texts()
        assert len(kept) == 3
        assert all(line.startswith("Richard Feynman —") for line in kept)
        gone = page.locator(".live .gone").all_inner_texts()
        assert len(gone) == 4
        assert gone[-1] == "+6 more"
        assert set(kept).isdisjoint(gone)
        assert (
            page.locator(".live .gone").first.evaluate("(line) => getComputedStyle(line).borderLeftStyle") == "dotted"
        )
        page.click(".stop")
        page.wait_for_selector(".run:not([aria-busy])")
        assert page.locator(".live").count() == 0


@pytest.mark.parametrize(
    "leave", [Page.close, deep(lambda page: page.click(".name")), deep(lambda page: page.go_back())]
)
def test_U11_a_browser_that_goes_away_ends_its_question(
    page: Page, tmp_path: Path, leave: Callable[[Page], object]
) -> None:
    with ModelServer(SLOW) as server, served(tmp_path, *model(server)) as address:
        page.goto(address)
        page.fill("#question", FEYNMAN)
        page.keyboard.press("Enter")
        page.click("text=/^\\d+ steps$/")
        page.wait_for_selector(".steps .evidence_found")
        name = page.url.rpartition("/")[2]
        leave(page)
        time.sleep(8)  # it ends 5 s after the last look at it
        assert _state(address, name) == "failed"


def _state(address: str, name: str) -> str:
    with urllib.request.urlopen(f"{address}api/runs/{name}") as reply:  # noqa: S310 - of this test
        return str(json.load(reply)["state"])


def test_sentences_that_rest_on_nothing_are_marked_and_the_key_is_nowhere(page: Page, tmp_path: Path, ask: Ask) -> None:
    seen: list[str] = []
    page.on("response", lambda reply: seen.append(reply.url))
    script = by_call(
        mentions=reader, choices=reader, sentences=reader,
        answer=wrote("J. Oppenheimer and others worked there [N1]. They all liked cycling a lot.", entities=[1]),
    )  # fmt: skip
    with ModelServer(script) as server, served(tmp_path, *model(server), OPENAI_API_KEY=KEY) as address:
        page.goto(address)
        ask(FEYNMAN)
        assert page.locator(".unsupported").all_inner_texts() == ["They all liked cycling a lot. not from the graph"]
        assert page.locator(".said button.marker").all_inner_texts()[0] == "N1"
        assert "model call" in page.inner_text(".meter")
        page.click("text=/^\\d+ steps$/")
        page.click(".steps .model_called summary >> nth=0")
        assert "mentions" in page.inner_text(".steps .model_called pre >> nth=1")
        name = page.url.rpartition("/")[2]
        for url in [*seen, *(f"{address}runs/{name}.{suffix}" for suffix in ("json", "md", "trig", "svg"))]:
            if not url.endswith(("/events", "/api/ask")):
                with urllib.request.urlopen(url) as reply:  # noqa: S310 - of this test
                    assert KEY.encode() not in reply.read(), url
        assert [file for file in tmp_path.rglob("*.json") if KEY in file.read_text(encoding="utf-8")] == []


def test_a_permalink_opens_in_another_process_with_the_graph_gone(
    page: Page, tmp_path: Path, ask: Ask, trouble: list[str]
) -> None:
    graph = tmp_path / "graph.ttl"
    shutil.copy(NOBEL, graph)
    cache = tmp_path / "cache"
    with served(cache, "-k", graph, "--no-model", "-q") as address:
        page.goto(address)
        ask("Who is the spouse of Marie Curie?")
        name = page.url.rpartition("/")[2]
        page.click("text=Check again")
        page.wait_for_selector(".recheck strong")
        assert page.inner_text(".recheck strong").startswith("It stands: ")
    (kept,) = (cache / "runs").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    assert kept.parent.stat().st_mode & 0o077 == 0
    graph.unlink()
    with served(cache, "-q") as address:
        page.goto(f"{address}runs/{name}")
        page.wait_for_selector(".evidence")
        assert page.inner_text(".best li bdi >> nth=0") == "Pierre Curie"
        assert page.locator(".steps > li").count() > 5
        page.click("text=Check again")
        page.wait_for_selector(".recheck .trouble")
        assert "no graph is open" in page.inner_text(".recheck")
    trouble.clear()  # Chromium writes the refusal of the check to its console


def test_a_check_names_the_triple_that_is_gone(page: Page, tmp_path: Path, ask: Ask) -> None:
    graph = tmp_path / "graph.ttl"
    shutil.copy(NOBEL, graph)
    with served(tmp_path / "cache", "-k", graph, "--no-model", "-q") as address:
        page.goto(address)
        ask("Who is the spouse of Marie Curie?")
        name = page.url.rpartition("/")[2]
    text = graph.read_text(encoding="utf-8")
    less = text.replace("dbo:spouse dbr:Pierre_Curie", "dbo:knows dbr:Pierre_Curie")
    assert less != text
    graph.write_text(less, encoding="utf-8")
    with served(tmp_path / "cache", "-k", graph, "--no-model", "-q") as address:
        page.goto(f"{address}runs/{name}")
        page.click("text=Check again")
        page.wait_for_selector(".recheck strong")
        assert page.inner_text(".recheck strong") == "It does not stand any more."
        gone = "<http://dbpedia.org/resource/Marie_Curie> <http://dbpedia.org/ontology/spouse>"
        assert gone in page.inner_text(".recheck pre")


HOSTILE = [
    "<script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>", "{{7*7}}", "&lt;b&gt;",
    "\"'><svg/onload=alert(1)>", "javascript:alert(1)", "\u202edesrever\u202c", "\u2066isolated", "a\u200bb", "<!--",
    "</textarea><b>bold</b>", "]]>", "`${1+1}`", "\t tab", "x" * 5_000,
]  # fmt: skip


def test_U05_hostile_labels_are_text(page: Page, tmp_path: Path, ask: Ask) -> None:
    labels = [f"{HOSTILE[at % len(HOSTILE)]} {at}" for at in range(200)]
    lines = ["@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
             ':start rdfs:label "Alpha Centre" . :linked rdfs:label "linked to <i>it</i>" .']  # fmt: skip
    lines += [f":n{at} rdfs:label {json.dumps(label)} . :start :linked :n{at} ." for at, label in enumerate(labels)]
    graph = tmp_path / "hostile<b>.ttl"
    graph.write_text("\n".join(lines), encoding="utf-8")
    with served(tmp_path / "cache", "-k", graph, "--no-model", "-q") as address:
        page.goto(address)
        ask("What is Alpha Centre linked to?")
        page.select_option(".tools select", label="Alpha Centre")
        page.click("text=What is it?")
        page.click("text=Its neighbours (201)")
        page.click("text=+12 more of 201")
        page.wait_for_function("() => document.querySelectorAll('tbody[data-around] li').length === 24")
        shown: dict[str, Any] = page.evaluate(
            "({title: document.title, images: document.images.length, bold: document.querySelectorAll('b, i').length,"
            " inline: document.querySelectorAll('script:not([src])').length, text: document.body.textContent})"
        )
        assert shown["title"].startswith("What is Alpha Centre")
        assert (shown["images"], shown["bold"], shown["inline"]) == (0, 0, 0)
        assert "<script>document.title='owned'</script>" in shown["text"]
        assert "linked to <i>it</i>" in shown["text"]
        assert not set("\u202e\u202c\u2066\u200b") & set(shown["text"])
