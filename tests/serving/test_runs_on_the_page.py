"""Runs that are slow, stopped, left, opened later, or checked again; and graphs that are hostile."""

import json
import shutil
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from kgsparql.errors import our_error
from kgsparql.serving.runs import page_error
from tests.model_server import ModelServer, Slow
from tests.scripted import by_call, reader
from tests.serving.conftest import NOBEL, SPOUSE, asked, served
from tests.serving.test_guards import JSON, send
from tests.serving.test_keyboard import tab_to
from tests.serving.test_page import run
from tests.world import FEYNMAN

Ask = Callable[[str], None]

KEY = "sk-canary-0123456789abcdef"


def model(server: ModelServer) -> tuple[str, ...]:
    return ("-k", str(NOBEL), "-r", "mindmap", "-m", "any", "--base-url", server.url, "-q")


def begin(page: Page, address: str, method: str = "") -> None:
    page.goto(address)
    page.wait_for_selector("#method option >> nth=2", state="attached")
    if method:
        page.click("#options summary")
        page.select_option("#method", method)
    page.fill("#question", FEYNMAN)
    page.keyboard.press("Enter")


def open_steps(page: Page) -> None:
    page.wait_for_selector(".run[aria-busy] .names li")  # after the draft nothing moves under the mouse
    page.click("text=/^\\d+ steps$/")
    page.wait_for_selector(".steps .evidence_found")


def test_U11_a_question_on_its_way_shows_what_it_found_and_is_stopped_or_left(page: Page, tmp_path: Path) -> None:
    quick = [reader]
    choices = lambda body: quick.pop()(body) if quick else Slow(120)  # noqa: E731
    script = by_call(choices=choices, answer=Slow(120))
    with ModelServer(script) as server, served(tmp_path, *model(server)) as address:
        begin(page, address, "think_on_graph")
        page.wait_for_selector(".run[aria-busy] .names li")  # the draft, while the model is asked
        page.locator(".live .gone").filter(has_text="+6 more").wait_for()
        kept, gone = (page.locator(f".live .{kind}").all_inner_texts() for kind in ("kept", "gone"))
        assert len(kept) == 3
        assert all(line.startswith("Richard Feynman —") for line in kept)
        assert (len(gone), gone[-1], set(kept) & set(gone)) == (4, "+6 more", set())
        assert page.eval_on_selector(".live .gone", "(line) => getComputedStyle(line).borderLeftStyle") == "dotted"
        tab_to(page, ".stop")
        page.keyboard.press("Enter")
        page.wait_for_selector(".run:not([aria-busy])")
        assert page.locator(".live").count() == 0
        assert page.evaluate("document.activeElement.id") == "runs"
        other = page.context.new_page()
        begin(other, address)
        open_steps(other)
        left = other.url.rpartition("/")[2]
        other.close()
        left_at = time.monotonic()
        begin(page, address)
        open_steps(page)
        began = time.monotonic()
        page.click(".stop")
        page.wait_for_selector(".run:not([aria-busy])")
        assert time.monotonic() - began < 5
        assert "no language model" in page.inner_text(".meter")  # the draft
        assert "did not help, the answer is the one without it" in page.inner_text(".outcome")
        assert page.locator(".evidence .piece").count() > 0
        assert "found in the graph" in page.inner_text(".evidence")
        time.sleep(max(0.0, left_at + 10 - time.monotonic()))  # it ends 5 s after the last look at it, as this is one
        assert _state(address, left) == "failed"


def _state(address: str, name: str) -> str:
    with urllib.request.urlopen(f"{address}api/runs/{name}") as reply:  # noqa: S310 - of this test
        return str(json.load(reply)["state"])


def test_what_a_model_chose_is_cited_and_the_key_is_nowhere(page: Page, tmp_path: Path, ask: Ask) -> None:
    seen: list[str] = []
    page.on("response", lambda reply: seen.append(reply.url))
    with ModelServer(reader) as server, served(tmp_path, *model(server), OPENAI_API_KEY=KEY) as address:
        page.goto(address)
        ask(FEYNMAN)
        assert page.locator(".names button.marker").all_inner_texts()[0] == "P1"
        assert page.inner_text(".outcome") == "any agrees."
        assert "model call" in page.inner_text(".meter")
        page.click("text=/^\\d+ steps$/")
        page.click(".steps .model_called summary >> nth=0")
        assert "mentions" in page.inner_text(".steps .model_called pre >> nth=1")
        name = page.url.rpartition("/")[2]
        for url in [*seen, *(f"{address}runs/{name}.{suffix}" for suffix in ("json", "md", "trig", "rq"))]:
            if not url.endswith(("/events", "/api/ask")):
                with urllib.request.urlopen(url) as reply:  # noqa: S310 - of this test
                    assert KEY.encode() not in reply.read(), url
        assert [file for file in tmp_path.rglob("*.json") if KEY in file.read_text(encoding="utf-8")] == []


def test_a_permalink_opens_on_another_graph(page: Page, tmp_path: Path, trouble: list[str]) -> None:
    graph, other, cache = tmp_path / "graph.ttl", tmp_path / "other.ttl", tmp_path / "cache"
    shutil.copy(NOBEL, graph)
    text = graph.read_text(encoding="utf-8")
    other.write_text(text.replace("dbo:spouse dbr:Pierre_Curie", "dbo:knows dbr:Pierre_Curie"), encoding="utf-8")
    assert other.read_text(encoding="utf-8") != text
    with served(cache, "-k", graph, "--no-model", "-q", "--log", tmp_path / "folder" / "q.jsonl") as address:
        (tmp_path / "folder").write_text("in its way", encoding="utf-8")
        page.goto(address)
        page.wait_for_selector("#facts >> text=3,534 triples")
        page.fill("#question", SPOUSE)
        page.keyboard.press("Enter")
        page.wait_for_selector(".run:not([aria-busy]) .evidence")
        assert "Not logged: " in page.inner_text(".exports")  # which costs no answer
        name = page.url.rpartition("/")[2]
    (kept,) = (cache / "runs").iterdir()
    assert [place.stat().st_mode & 0o077 for place in (kept, kept.parent)] == [0, 0]
    with served(cache, "-k", other, "--no-model", "-q") as address:
        page.goto(f"{address}runs/{name}")
        page.wait_for_selector(".evidence")
        assert page.inner_text(".names li bdi >> nth=0") == "Pierre Curie"
        assert page.locator(".steps > li").count() > 5
        click_node(page, "Marie Curie")
        page.wait_for_selector("text=/Its neighbours/")
        assert f"as {other} has it; the answer is from {graph}" in page.inner_text(".card p")
        page.wait_for_selector("#method option >> nth=1", state="attached")  # nothing is asked when the server ends
    assert trouble == []


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
        page.click(".drawing summary")
        page.select_option(".tools select", label="Alpha Centre")
        page.click("text=What is it?")
        page.click("text=Its neighbours (201)")
        page.click("text=+12 more of 201")
        page.wait_for_function("() => document.querySelectorAll('.piece[data-around] li').length === 24")
        shown: dict[str, Any] = page.evaluate(
            "({title: document.title, images: document.images.length, bold: document.querySelectorAll('b, i').length,"
            " inline: document.querySelectorAll('script:not([src])').length, text: document.body.textContent})"
        )
        assert shown["title"].startswith("What is Alpha Centre")
        assert (shown["images"], shown["bold"], shown["inline"]) == (0, 0, 0)
        assert "<script>document.title='owned'</script>" in shown["text"]
        assert "linked to <i>it</i>" in shown["text"]
        assert not set("\u202e\u202c\u2066\u200b") & set(shown["text"])
        found = run(page, "SELECT ?text { ?node rdfs:label ?text FILTER(STRSTARTS(?text, '<img') || ?node = :n6) }")
        assert "<img src=x onerror=document.title='owned'>" in found
        assert "\ufffddesrever\ufffd" in found
        assert page.locator("img").count() == 0


def drawn(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(".canvas .node", "(all) => all.map((node) => node.dataset.full)")
    return found


def click_node(page: Page, label: str) -> None:
    """Click on a node as a person does: where it is drawn."""
    page.locator(f'.canvas .node[data-full="{label}"]').click()


def take(page: Page) -> None:
    """Add the next neighbours, and wait for them, and until those after them are known."""
    page.wait_for_selector(".card[aria-busy=false]")
    before = page.locator(".piece[data-around] li").count()
    page.click(".card > button >> nth=0")
    expect(page.locator(".piece[data-around] li")).not_to_have_count(before)
    page.wait_for_selector(".card[aria-busy=false]")


def test_a_click_on_a_node_says_what_it_is_and_adds_neighbours_no_marker_lights(page: Page, answered: None) -> None:
    click_node(page, "Marie Curie")
    page.wait_for_selector("text=Its neighbours (32)")
    said = page.inner_text(".card p")
    assert "Nobel laureate · person · scientist · Physicist and chemist born in Warsaw" in said
    assert "dbr:Marie_Curie" in said
    take(page)
    assert page.locator(".piece[data-around] li").count() == 12
    assert "Around Marie Curie, not evidence" in page.inner_text(".piece[data-around]")
    assert "curium —named after→ Marie Curie" in page.inner_text(".piece[data-around]")
    assert page.inner_text(".card button >> nth=-2") == "+12 more of 32"
    take(page)
    take(page)
    assert page.locator(".piece[data-around] li").count() == 32
    assert page.locator(".card button >> text=more of").is_hidden()
    page.hover(".names button.marker >> nth=0")
    page.wait_for_function("() => document.querySelector('.canvas').dataset.litNodes")
    assert page.get_attribute(".canvas", "data-lit-nodes") == "Marie Curie|Pierre Curie"


def test_ask_about_this_puts_the_thing_into_the_question(page: Page, answered: None) -> None:
    click_node(page, "Pierre Curie")
    page.click("text=Ask about this")
    assert page.inner_text(".chip") == "about Pierre Curie ×"
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type("Where was he born?")  # in the place of the question that was there
    with page.expect_request("**/api/ask") as sent:
        page.keyboard.press("Enter")
    body: dict[str, Any] = json.loads(sent.value.post_data or "")
    assert body["question"] == "Where was he born?"
    assert body["entities"] == ["<http://dbpedia.org/resource/Pierre_Curie>"]
    page.wait_for_function("() => document.title.startsWith('Where was he born?')")
    page.wait_for_selector(".run:not([aria-busy])")
    assert page.inner_text(".names li bdi >> nth=0") == "Paris"
    assert page.locator(".chip").is_hidden()
    click_node(page, "Pierre Curie")
    page.click("text=Ask about this")
    page.click(".chip")
    assert page.locator(".chip").is_hidden()


def test_values_say_what_they_are_and_are_not_looked_up(page: Page, address: str, ask: Ask) -> None:
    sent: list[str] = []
    page.goto(address)
    ask("When was Marie Curie born?")
    page.on("request", lambda request: sent.append(request.url))
    click_node(page, "1867-11-07")
    page.wait_for_selector(".card code")
    assert '"1867-11-07"^^<http://www.w3.org/2001/XMLSchema#date>' in page.inner_text(".card")
    assert page.locator(".card > button >> visible=true").count() == 0
    assert sent == []


def test_a_question_is_logged_also_one_that_fails(serving_cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "questions.jsonl"
    with served(serving_cache, "-k", NOBEL, "--no-model", "-q", "--log", log) as address:
        asked(address, SPOUSE)
        failing = '{"question": "Why?", "entities": ["http://e.org/no"]}'
        name = json.loads(send(address, "POST", "/api/ask", failing, **JSON)[2])["id"]
        send(address, "GET", f"/api/runs/{name}/events")
    assert log.stat().st_mode & 0o077 == 0
    answered, failed = log.read_text(encoding="utf-8").splitlines()
    assert ("Why?" in failed, "error" in failed, SPOUSE in answered) == (True, True, True)


def test_a_fault_is_said_without_names_of_python() -> None:
    told = page_error(our_error(ZeroDivisionError("by zero")))
    assert "Error" not in f"{told['message']} {told['hint']}"
    assert (told["code"], told["detail"]) == ("E_INTERNAL", {"fault": "ZeroDivisionError: by zero"})  # for a report
