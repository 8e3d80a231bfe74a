"""The whole page with the keyboard alone, at 200 % zoom: where the focus is can be seen, and it is never lost."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.serving.conftest import SPOUSE, open_to_type

SEEN = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
  const [x, y] = [box.x + Math.min(box.width, innerWidth) / 2, box.y + Math.min(box.height / 2, 20)];
  const at = document.elementFromPoint(x, y);
  const ring = style.outlineStyle !== 'none' || getComputedStyle(one.parentElement).boxShadow !== 'none';
  return {
    what: `${one.tagName}.${one.className}#${one.id} ${one.textContent.slice(0, 40)}`,
    isSeen: box.left >= 0 && box.right <= innerWidth + 1 && box.bottom > 0 && box.top < innerHeight && one.contains(at),
    hasRing: ring, isNothing: one === document.body,
  };
}"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A window of 1280 × 900 pixels at 200 %."""
    context = chromium.new_context(viewport={"width": 640, "height": 450}, device_scale_factor=2)
    yield context.new_page()
    context.close()


def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    for _ in range(90):
        page.keyboard.press(key)
        if page.evaluate("(one) => document.activeElement.matches(one)", selector):
            assert is_seen(page)
            return
    raise AssertionError(selector)


def is_seen(page: Page) -> bool:
    seen = page.evaluate(SEEN)
    assert seen["isSeen"], seen
    assert seen["hasRing"], seen
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), seen
    return not seen["isNothing"]


def finished(page: Page) -> None:
    page.wait_for_selector(".run:not([aria-busy])")
    page.wait_for_selector(".canvas .node", state="attached")
    page.wait_for_selector(".part")  # after which nothing moves


def asked(page: Page, address: str, question: str) -> None:
    open_to_type(page, address)
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    finished(page)


def test_every_stop_of_the_focus_is_in_view(page: Page, address: str) -> None:
    asked(page, address, SPOUSE)
    tab_to(page, ".mention")
    page.keyboard.press("Enter")
    tab_to(page, ".steps, details:has(> .steps) > summary")
    page.keyboard.press("Enter")
    tab_to(page, ".steps summary")
    page.keyboard.press("Enter")
    tab_to(page, ".steps pre")
    page.evaluate("document.querySelector('.name').focus()")
    stops = []
    for _ in range(150):
        page.keyboard.press("Tab")
        seen = page.evaluate(SEEN)
        if seen["isNothing"]:
            break
        assert is_seen(page)
        stops.append(seen["what"])
    said = "\n".join(stops)
    for stop in ("Ask", "Options", "Marie Curie", "P1", "Whole drawing", "What is it?",
                 "SPARQL", "Permalink", "steps"):  # fmt: skip
        assert stop in said, stop


def test_a_marker_opens_its_row_and_a_node_its_neighbours(page: Page, address: str) -> None:
    asked(page, address, SPOUSE)
    tab_to(page, ".names button.marker")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.piece[data-markers=P1] .query summary')")
    assert is_seen(page)
    tab_to(page, ".tools select", "Shift+Tab")
    tab_to(page, ".tools select ~ button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card button >> text=/Its neighbours/")
    tab_to(page, ".card > button")
    for n in (12, 24, 32):
        page.keyboard.press("Enter")
        page.wait_for_function("(n) => document.querySelectorAll('.piece[data-around] li').length === n", arg=n)
        page.wait_for_selector(".card[aria-busy=false]")
        assert is_seen(page)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "question"
    assert page.inner_text(".chip") == "about Marie Curie ×"
    tab_to(page, ".chip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "question"


def test_an_example_a_correction_and_a_whole_drawing_keep_the_focus(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("#examples li")
    tab_to(page, "#examples button")
    page.keyboard.press("Enter")
    finished(page)
    assert page.evaluate("document.activeElement.id") == "runs"
    asked(page, address, "Where was Bragg born?")
    first = page.url
    tab_to(page, ".mention")
    page.keyboard.press("Enter")
    tab_to(page, ".meanings button")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != first)
    finished(page)
    assert page.evaluate("document.activeElement.id") == "runs"
    asked(page, address, "How many Nobel laureates are there?")
    tab_to(page, ".drawing summary")
    page.keyboard.press("Enter")
    tab_to(page, ".zoom + button")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.canvas .node').length > 60")
    page.wait_for_function("() => document.activeElement.matches('.tools select')")
    assert is_seen(page)
