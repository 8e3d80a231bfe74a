"""A question that is changed part by part: on the page, and over the routes that it asks."""

from typing import Any

import urllib3
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.serving.conftest import asked, open_to_type
from tests.serving.test_keyboard import tab_to

BORN = "Which Nobel laureates were born in Warsaw?"


def sent(address: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    reply = urllib3.request(method, address + path.removeprefix("/"), json=body, headers=headers)
    return reply.status, reply.json()


def test_a_part_of_a_question_is_changed_and_the_answer_follows(page: Page, address: str, ask: Any) -> None:
    page.goto(address)
    ask(BORN)
    page.wait_for_selector(".part")
    assert "found: Nobel laureates whose place of birth is Warsaw" in page.inner_text(".how")  # and not twice
    assert page.inner_text(".guide > [role=status]") == ""
    parts = ["Warsaw", "place of birth", "Nobel laureate", "+ add a condition"]
    assert page.locator(".part").all_inner_texts() == parts
    first = page.url
    page.click(".part >> text=Warsaw")
    page.wait_for_selector(".offered li")
    assert page.inner_text(".offered li >> nth=0").split("\n") == ["Paris", "5"]
    assert Axe().run(page, ".guide").response["violations"] == []
    page.click(".offered li >> text=Paris")
    page.wait_for_url(lambda url: url != first)
    page.wait_for_selector(".run:not([aria-busy]) .part")
    assert page.inner_text(".run h2") == "Nobel laureates whose place of birth is Paris"
    assert "Marie Curie" not in page.inner_text(".answer-part")
    assert "Henri Becquerel" in page.inner_text(".answer-part")
    page.go_back()
    page.wait_for_selector(".run h2 >> text=Warsaw")


def test_a_question_is_built_with_the_keyboard_on_a_phone(chromium: Browser, address: str) -> None:
    page = chromium.new_context(viewport={"width": 360, "height": 740}).new_page()
    open_to_type(page, address)
    page.keyboard.type("How many Nobel laureates are there?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".run:not([aria-busy]) .part")
    tab_to(page, ".part[data-kind=class]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".offered:focus")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('.part[data-kind=class]')")
    page.keyboard.press("Enter")
    page.wait_for_selector(".offered:focus")
    heights = page.eval_on_selector_all(
        ".part, .offered li", "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".offered [aria-selected=true]").split("\n") == ["person", "124"]
    page.keyboard.press("Enter")
    page.wait_for_selector(".run h2 >> text=the number of people")
    page.wait_for_selector(".run:not([aria-busy]) .part")
    assert "124" in page.inner_text(".answer-part")
    assert page.evaluate("document.activeElement.matches('.part[data-kind=class]')")  # where it was
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_question_is_built_from_what_is_in_the_graph(page: Page, address: str) -> None:
    page.goto(address)
    page.click(".kind >> text=Nobel laureate")
    page.wait_for_selector(".relations >> text=that studied at something")
    texts = page.locator(".kind[open] button").all_inner_texts()
    assert (texts[0], "with a place of birth 70" in texts) == ("all of them 74", True)
    assert Axe().run(page).response["violations"] == []
    page.click(".relations >> text=with a place of birth")
    page.wait_for_selector(".run:not([aria-busy]) .part")
    assert page.inner_text(".run h2") == "Nobel laureates with a place of birth"
    assert page.inner_text(".wide + .tools [role=status]") == "70 rows"
    page.click(".part >> text=anything")
    page.click(".offered li >> text=Paris")
    page.wait_for_selector(".run h2 >> text=Nobel laureates whose place of birth is Paris")


def test_what_was_understood_is_what_was_answered(address: str) -> None:
    found = {
        question: sent(address, "GET", f"/api/runs/{asked(address, question)}/chips")[1]
        for question in (
            "With whom did Gerty Cori share her Nobel Prize?",  # a path; the likeliest plan would be all people
            "Who was the 1903 Nobel Prize in Physics given to?",
        )
    }
    words = [(one["words"].split()[0], one["is_near"]) for one in found.values()]
    assert words == [("others", False), ("those", False)]


def test_only_plans_of_options_are_run(address: str) -> None:
    name = asked(address, BORN)
    status, found = sent(address, "GET", f"/api/runs/{name}/chips")
    assert (status, [one["kind"] for one in found["chips"]]) == (
        200, ["item", "predicate", "class", "condition"],
    )  # fmt: skip
    _, offered = sent(address, "GET", f"/api/runs/{name}/chips/0")
    plan = next(one["plan"] for one in offered["options"] if one["words"] == "Paris")
    status, run = sent(address, "POST", "/api/ask", {"question": "", "plan": plan})
    assert (status, run["question"]) == (202, "Nobel laureates whose place of birth is Paris")
    for forged in (plan.replace("Paris", "Vienna"), plan[64:], ""):
        status, refused = sent(address, "POST", "/api/ask", {"question": "", "plan": forged})
        assert (status, refused["error"]["code"]) == (400, "E_INPUT"), forged
    other = {"sec-fetch-site": "cross-site"}
    assert sent(address, "GET", f"/api/runs/{name}/chips/0", None, **other)[0] == 403
    assert sent(address, "GET", f"/api/runs/{name}/chips/99")[0] == 404
    assert sent(address, "GET", f"/api/runs/{'0' * 32}/chips")[0] == 404
    assert sent(address, "POST", "/api/ask", {"question": "", "plan": plan}, origin="http://other.example")[0] == 403
