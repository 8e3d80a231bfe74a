"""Ten answers of different kinds as a person sees them, on a wide screen and on a phone; and names while one types."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from kgsparql.linking.label_index.search import LabelRow
from kgsparql.rdf.terms import normalised
from kgsparql.serving.page_facts import Completions
from tests.serving.conftest import open_to_type
from tests.serving.test_keyboard import tab_to

ANSWERS = {  # each with how it is shown
    "What percentage of the elements are radioactive?": ".value strong >> text=90.9",
    "Was Niels Bohr born before Albert Einstein?": ".value strong >> text=No",
    "Where was Marie Curie born?": ".names.one button >> text=Warsaw",
    "On what date did Richard Feynman die?": ".names.one >> text=1988-02-15",
    "Name the doctoral students of Arnold Sommerfeld.": ".names li:nth-of-type(3) button",
    "How many laureates does each prize category have?": ".wide table >> text=Chemistry",
    "Which Nobel laureates were born before 1950?": ".wide table button >> text=Aage Bohr",
    "Which university is the oldest?": ".answer-part .how >> text=next: Sapienza University of Rome (1303) · of 88",
    "What is the blood type of Marie Curie?": ".again button >> text=What is said of Marie Curie",
    "Where was Bragg born?": ".choices button >> text=place of birth of William Henry Bragg",
}
WIDTHS = (1280, 360)
SEEN = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)], box = (one) => one.getBoundingClientRect();
  const frame = document.querySelector('.canvas') && box(document.querySelector('.canvas'));
  const isApart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const isInside = (a) => a.left >= frame.left && a.right <= frame.right && a.top >= frame.top && a.bottom <= frame.bottom;
  const isSmall = (one) => innerWidth < 576 && one.checkVisibility() && box(one).height < 43.5;
  const texts = all('.canvas text');
  return {
    tables: all('table').length, bold: all('.gap ~ .value, .gap ~ .names').length,
    answers: all('.canvas .node.answer').length, outside: all('.canvas .node').filter((one) => one.checkVisibility() && !isInside(box(one))).length,
    unread: all('.canvas text').filter((one) => one.checkVisibility() && box(one).height < 9).length,
    top: box(document.querySelector('.answer-part')).top,
    overlapping: texts.filter((one, at) => texts.slice(at + 1).some((other) => !isApart(box(one), box(other)))).length,
    small: all('button:not(.mention), summary, select, a:not(.skip), #question').filter(isSmall).map((one) => one.outerHTML),
    wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
  };
}"""  # noqa: E501
PAINTED = """(question) => new Promise((done) => {
  const runs = document.getElementById('runs'), asked = performance.now();
  const seen = new MutationObserver(() => {
    if (!document.title.startsWith(question) || !document.querySelector('.run:not([aria-busy]) .answer-part')) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - asked)));
  });
  seen.observe(runs, { childList: true, subtree: true, attributes: true });
  document.getElementById('question').value = question;
  document.getElementById('ask').requestSubmit();
})"""


def look_at(page: Page, question: str, shown: str) -> float:
    """Ask, check what is seen, and tell after how many milliseconds the answer was painted."""
    took: float = page.evaluate(PAINTED, question)
    expect(page.locator(shown).first).to_be_visible()
    seen = page.evaluate(SEEN)
    is_table, is_number = "table" in shown, ".value" in shown
    assert (seen["tables"], seen["bold"], seen["overlapping"]) == (int(is_table), 0, 0), (question, seen)
    assert (seen["outside"], seen["unread"], seen["small"], seen["wide"]) == (0, 0, [], 0), (question, seen)
    assert seen["top"] < 300, (question, seen["top"])  # of 740 on a phone
    assert is_number or seen["answers"] > 0, question
    assert not re.search(r"kgsparql [a-z]+ -|(^| )--[a-z]|(^| )-[a-z] [A-Z]", page.inner_text("main")), question
    return took


@pytest.mark.parametrize("width", WIDTHS)
def test_ten_answers_are_shown_as_what_they_are(chromium: Browser, address: str, width: int) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800}, has_touch=width < 400)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#examples li")
    for question, shown in ANSWERS.items():
        look_at(page, question, shown)
        found = Axe().run(page).response["violations"]
        assert [f"{one['id']}: {one['nodes'][0]['html']}" for one in found] == [], question
    context.close()


def test_names_complete_what_is_written_with_the_keyboard_alone(page: Page, address: str) -> None:
    open_to_type(page, address)
    page.keyboard.type("Who is the spouse of marie cu")
    page.wait_for_selector("#names li >> text=Marie Curie")
    assert "Physicist and chemist born in Warsaw" in page.inner_text("#names li >> nth=0")  # what it is
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found] == []
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#question", "aria-activedescendant") == "name-0"
    page.keyboard.press("Enter")
    assert page.input_value("#question") == "Who is the spouse of Marie Curie"
    expect(page.locator("#names")).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_selector(".names.one button >> text=Pierre Curie")
    page.click(".names.one button")  # a name opens its card
    page.wait_for_selector(".card >> text=Its neighbours")
    open_to_type(page, address)
    page.keyboard.press("ArrowDown")  # nothing is written: what was asked before
    page.wait_for_selector("#names li >> text=Who is the spouse of Marie Curie")
    page.keyboard.press("Escape")
    expect(page.locator("#names")).to_be_hidden()


def test_a_table_is_headed_by_what_is_in_it(page: Page, address: str, ask: Callable[[str], None]) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    for question, heads in (
        ("How many laureates per country?", ["country", "number"]),
        ("For each laureate, the birth place and the university", ["Nobel laureate", "place of birth", "studied at"]),
    ):
        ask(question)
        assert page.locator(".wide th").all_inner_texts() == heads
    cells = "all => all.filter((one) => !/[\\s-]/.test(one.textContent) && one.getClientRects().length > 1).map((one) => one.textContent)"  # noqa: E501
    assert page.eval_on_selector_all(".wide td bdi", cells) == []  # no word is broken
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_likely_reading_is_a_button(page: Page, address: str) -> None:
    open_to_type(page, address)
    page.keyboard.type("Who did a PhD under Paul Langevin?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".choices button >> nth=1")
    tab_to(page, ".choices button + button")
    said = page.inner_text(".choices button >> nth=1").split("\n")
    assert said == ["those that Paul Langevin worked at", "2: Collège de France, ESPCI Paris"]
    page.keyboard.press("Enter")
    page.wait_for_selector("#runs .run:not([aria-busy]) .names >> text=Collège de France")
    assert page.locator(".gap").count() == 0
    assert page.locator("#runs .answer-part > .names li").count() == 2
    expect(page.locator("#thread")).to_be_hidden()  # the doubt is not before it


def test_the_longest_beginning_of_a_name_is_completed_and_kinds_come_first() -> None:
    texts = [
        ("Marie Curie", "entity", 9), ("Pierre Curie", "entity", 3), ("curie unit", "class", 1),
        ("The Hague", "entity", 5),
    ]  # fmt: skip
    rows = [
        LabelRow(f"http://e.org/{at}", text, normalised(text), kind=kind, degree=n)
        for at, (text, kind, n) in enumerate(texts)
    ]  # type: ignore[arg-type]
    known = Completions(rows)
    assert [row.text for row in known.of("Where was curi")[1]] == ["curie unit", "Marie Curie", "Pierre Curie"]
    assert [(start, rows[0].text) for start, rows in [known.of("Where was marie c")]] == [(10, "Marie Curie")]
    for text in ("Where is the", "Where was zz", "", "Marie Curie "):
        assert not known.of(text)[1], text
