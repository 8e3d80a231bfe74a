"""A thread of questions: what was asked before stays, what is asked next is offered, and follow-ups are understood."""

from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect


def test_earlier_questions_stay_above_and_next_ones_are_offered(
    page: Page, address: str, ask: Callable[[str], None]
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    ask("Where was Marie Curie born?")
    assert page.input_value("#question") == ""
    ask("what about Pierre Curie?")
    assert page.inner_text("#runs h2") == "Where was Pierre Curie born?"
    assert "in the place of 'Marie Curie'" in page.inner_text(".how")
    assert page.inner_text(".past summary") == "Where was Marie Curie born? Warsaw"
    ask("Which Nobel laureates were born in Paris?")
    page.click(".next >> text=their dates of birth")
    page.wait_for_selector("#runs h2 >> text=dates of birth of the Nobel laureates")
    page.wait_for_selector("#runs .run:not([aria-busy])")
    for _ in range(2):  # and as its address opens it
        expect(page.locator("#thread > details > summary")).to_have_text(
            "3 earlier questions, the last: Which Nobel laureates were born in Paris? Esther Duflo and 4 more"
        )
        assert "likely" in page.inner_text("#runs .badge")
        assert page.eval_on_selector("#runs .answer-part", "(one) => one.getBoundingClientRect().top") < 300
        assert Axe().run(page).response["violations"] == []
        page.reload()
    page.click("#thread > details > summary")
    page.click(".past >> nth=-1")
    page.wait_for_selector("#thread .run:not([aria-busy]) .names >> text=Henri Becquerel")
    assert Axe().run(page).response["violations"] == []
    page.go_back()
    page.wait_for_selector("#runs h2 >> text=Which Nobel laureates were born in Paris?")
    page.click("text=Edit the question")
    assert page.input_value("#question") == "Which Nobel laureates were born in Paris?"
    ask("and when were they born?")
    page.wait_for_selector("#runs .run:not([aria-busy]) >> text=1852-12-15")
    assert "'they' was taken for Esther Duflo" in page.inner_text("#runs")
    page.click(".name")  # begins anew
    expect(page.locator("#thread")).to_be_hidden()
    page.wait_for_selector("#examples li")
