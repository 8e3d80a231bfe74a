"""What a person does on the page, in Chromium."""

from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from kgsparql.serving.app import STATIC
from tests.serving.conftest import SPOUSE
from tests.serving.test_keyboard import tab_to

Ask = Callable[[str], None]


def test_a_question_is_answered_with_markers_evidence_and_steps(page: Page, address: str, ask: Ask) -> None:
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    ask(SPOUSE)
    assert page.inner_text(".best li bdi") == "Pierre Curie"
    assert "Marie Curie —spouse→ Pierre Curie" in page.inner_text(".evidence tbody")
    assert page.locator(".evidence .checked").all_inner_texts()[0] == "✓ found again"
    page.wait_for_selector(".canvas canvas")
    page.hover(".best button.marker >> nth=0")  # its nodes light up, and its row alone
    page.wait_for_function("() => document.querySelector('.canvas').dataset.litNodes")
    assert page.get_attribute(".canvas", "data-lit-nodes") == "Marie Curie|Pierre Curie"
    assert page.locator("tbody.lit").get_attribute("data-markers") == "P1"
    page.hover(".run h2")
    page.wait_for_function("() => !document.querySelector('.canvas').dataset.litNodes")
    assert page.locator("tbody.lit").count() == 0
    page.click("text=/^\\d+ steps$/")
    steps = page.locator(".steps > li")
    assert steps.filter(has_text="linked: 'Marie Curie'").count() == 1
    first_query = steps.filter(has=page.locator("details")).first
    first_query.locator("summary").click()
    assert "SELECT" in page.inner_text(".steps pre >> nth=0")
    page.click(".best button.marker >> nth=0")
    query = page.inner_text("tbody[data-markers=P1] pre")
    assert "<http://dbpedia.org/resource/Marie_Curie> <http://dbpedia.org/ontology/spouse> ?answer" in query
    assert len(asked) > 8
    assert [url for url in asked if not url.startswith(address)] == [], "no request leaves the machine"
    assert sum(file.stat().st_size for file in STATIC.iterdir() if file.is_file()) <= 60_000


def test_a_name_that_was_taken_for_another_is_corrected_with_a_click(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    ask("Where was Bragg born?")
    before = page.inner_text(".best li bdi >> nth=0")
    first = page.url
    page.click(".mention")
    assert page.locator(".meanings li").count() > 0
    other = page.inner_text(".meanings li strong >> nth=0")
    page.click(".meanings li button >> nth=0")
    page.wait_for_url(lambda url: url != first)
    page.wait_for_selector(".run:not([aria-busy])")
    for _ in range(2):  # as it is answered, and as the permalink shows it
        assert page.inner_text(".mention") == "Bragg"
        assert page.inner_text(".best li bdi >> nth=0") != before
        page.click(".mention")
        assert page.inner_text(".meanings > p strong") == other
        page.reload()
        page.wait_for_selector(".run:not([aria-busy])")
    page.click(".mention")
    corrected = page.url
    page.locator(".meanings li", has_text="Use this").nth(0).get_by_role("button").click()
    page.wait_for_url(lambda url: url != corrected)
    page.wait_for_selector(".run:not([aria-busy])")
    assert page.inner_text(".best li bdi >> nth=0") == before  # the meaning that it was corrected from is offered first


def test_a_computed_answer_shows_what_was_counted_and_its_facts(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    ask("How many Nobel laureates are there?")
    assert page.inner_text(".said").split()[0] == "74"
    assert "counted: Nobel laureates = 74" in page.inner_text(".how")
    assert page.inner_text(".badge") == "answered"
    page.click("text=+15 more")
    page.wait_for_function("() => document.querySelector('.drawing').innerText.indexOf('more') < 0")


def test_two_methods_answer_side_by_side(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("#beside option >> nth=2", state="attached")
    page.keyboard.type(SPOUSE)
    tab_to(page, "#method")
    page.keyboard.type("path")
    tab_to(page, "#beside")
    page.keyboard.type("mind")
    tab_to(page, ".go", "Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.run:not([aria-busy])').length === 2")
    left, right = (page.locator(".run").nth(at).bounding_box() for at in (0, 1))
    assert left is not None
    assert right is not None
    assert right["x"] > left["x"]
    assert page.locator(".state").all_inner_texts()[1].endswith("mindmap")
    tab_to(page, ".run + .run .best button.marker")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.run + .run tbody summary')")
    again = page.url
    page.goto(address)
    page.goto(again)
    page.wait_for_function("() => document.querySelectorAll('.run .evidence').length === 2")


def test_errors_say_who_failed_and_what_to_do(page: Page, address: str, trouble: list[str]) -> None:
    page.goto(address)
    page.fill("#question", "???")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble:not([hidden])")
    assert page.inner_text("#trouble").startswith("the question is empty")
    page.goto(f"{address}runs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "no such run" in page.inner_text("#trouble")
    assert all("400" in line or "404" in line for line in trouble)  # Chromium writes refusals to its console
    trouble.clear()


def test_axe_finds_nothing_serious(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    page.wait_for_selector("#examples li")
    assert page.locator("#examples li").count() == 4
    assert "3,534 triples" in page.inner_text("header")
    found = in_both_schemes(page)
    ask("Where was Bragg born?")
    page.click(".mention")
    page.click(".best button.marker >> nth=0")
    page.click("text=/^\\d+ steps$/")
    page.click("text=What is it?")
    page.click("text=/Its neighbours/")
    page.wait_for_selector("text=/more of/")
    page.click("text=Ask about this")
    assert found + in_both_schemes(page) == []


def in_both_schemes(page: Page) -> list[str]:
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found += serious(page)
    return found


def serious(page: Page) -> list[str]:
    """What axe-core finds on the page that is serious or worse."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in {"serious", "critical"}]
