"""A node of the drawing is opened: what it is, its neighbours, and a question about it, in Chromium."""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

Ask = Callable[[str], None]

NODES = "document.querySelector('.canvas')._cyreg.cy.nodes()"
EDGES = "document.querySelector('.canvas')._cyreg.cy.edges()"


def drawn(page: Page) -> list[str]:
    found: list[str] = page.evaluate(f"{NODES}.map((node) => node.data('full'))")
    return found


def click_node(page: Page, label: str) -> None:
    """Click on a node as a person does: where it is drawn."""
    page.wait_for_selector(".canvas canvas")
    at: dict[str, float] = page.evaluate(
        f"(label) => {NODES}.filter((node) => node.data('full') === label)[0].renderedPosition()", label
    )
    page.locator(".canvas").click(position={"x": at["x"], "y": at["y"]})


def take(page: Page) -> None:
    """Add the next neighbours, and wait for them, and until those after them are known."""
    page.wait_for_selector(".card[aria-busy=false]")
    before = page.locator("tbody[data-around] li").count()
    page.click(".card > button >> nth=0")
    expect(page.locator("tbody[data-around] li")).not_to_have_count(before)
    page.wait_for_selector(".card[aria-busy=false]")


def test_a_click_on_a_node_says_what_it_is_and_adds_its_neighbours(page: Page, answered: None) -> None:
    click_node(page, "Marie Curie")
    page.wait_for_selector("text=Its neighbours (32)")
    said = page.inner_text(".card p")
    assert "Nobel laureate · person · scientist · Physicist and chemist born in Warsaw" in said
    assert "dbr:Marie_Curie" in said
    before = set(drawn(page))
    take(page)
    assert {"Warsaw", "curium", "University of Paris"} <= set(drawn(page)) - before
    assert page.locator("tbody[data-around] li").count() == 12
    assert "Around Marie Curie, not evidence" in page.inner_text("tbody[data-around]")
    assert "curium —named after→ Marie Curie (walked back)" in page.inner_text("tbody[data-around]")
    edge = page.evaluate(
        f"(() => {{ const edge = {EDGES}.filter((edge) => edge.data('full') === 'named after')[0];"
        " return [edge.source().data('full'), edge.target().data('full'), edge.style('line-style')]; })()"
    )
    assert edge == ["curium", "Marie Curie", "dashed"]
    assert page.inner_text(".card button >> nth=-2") == "+12 more of 32"
    take(page)
    take(page)
    assert page.locator("tbody[data-around] li").count() == 32
    assert page.locator(".card button >> text=more of").is_hidden()


def test_a_drawing_that_moved_down_is_clicked_where_it_is(page: Page, answered: None) -> None:
    page.wait_for_selector(".canvas canvas")
    page.evaluate("document.querySelector('header').style.paddingBottom = '60px'")
    click_node(page, "Marie Curie")
    page.wait_for_selector("text=Its neighbours (32)")


def test_the_evidence_alone_lights_up_with_its_markers(page: Page, answered: None) -> None:
    click_node(page, "Marie Curie")
    take(page)
    page.hover(".best button.marker >> nth=0")
    page.wait_for_function("() => document.querySelector('.canvas').dataset.litNodes")
    assert page.get_attribute(".canvas", "data-lit-nodes") == "Marie Curie|Pierre Curie"
    assert page.evaluate(f"{NODES}.filter('.around.dim').length === {NODES}.filter('.around').length")
    assert page.evaluate(f"{NODES}.filter('.around')[0].style('border-style')") == "dotted"
    assert page.evaluate(f"{NODES}.filter('.answer')[0].style('border-style')") == "solid"


def test_sixty_nodes_are_in_view_until_more_are_asked_for(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    ask("Where was Marie Curie born?")
    click_node(page, "Warsaw")
    page.wait_for_selector("text=/Its neighbours/")
    for label in ("Marie Curie", "scientist"):
        page.select_option(".tools select", label=label)
        page.click("text=What is it?")
        page.wait_for_selector(f".card strong >> text='{label}'")
        page.wait_for_selector(".card[aria-busy=false]")
        for _ in range(6):
            if page.locator(".card > button >> nth=0").is_visible():
                take(page)
    more = page.locator(".tools button >> text=/^\\+\\d+ more$/")
    expect(more).to_be_visible()
    assert len(drawn(page)) == 60
    left = int(more.inner_text().split()[0])
    more.click()
    page.wait_for_function(f"(n) => {NODES}.length === n", arg=60 + left)


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
    assert page.inner_text(".best li bdi >> nth=0") == "Paris"
    assert page.locator(".chip").is_hidden()
    click_node(page, "Pierre Curie")
    page.click("text=Ask about this")
    page.click(".chip")
    assert page.locator(".chip").is_hidden()


def test_values_say_what_they_are_and_are_not_looked_up(page: Page, address: str, ask: Ask) -> None:
    asked: list[str] = []
    page.goto(address)
    ask("When was Marie Curie born?")
    page.on("request", lambda request: asked.append(request.url))
    click_node(page, "1867-11-07")
    page.wait_for_selector(".card code")
    assert '"1867-11-07"^^<http://www.w3.org/2001/XMLSchema#date>' in page.inner_text(".card")
    assert page.locator(".card > button >> visible=true").count() == 0
    assert asked == []
