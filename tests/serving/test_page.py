"""What a person does on the page, and in its SPARQL box, in Chromium."""

from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from kgsparql.serving.app import STATIC
from tests.serving.conftest import SPOUSE, open_to_type
from tests.serving.test_keyboard import tab_to

Ask = Callable[[str], None]


def test_a_question_is_answered_with_markers_evidence_and_steps(page: Page, address: str, ask: Ask) -> None:
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    ask(SPOUSE)
    assert page.inner_text(".names li bdi") == "Pierre Curie"
    assert "Marie Curie —spouse→ Pierre Curie" in page.inner_text(".evidence .piece")
    assert page.locator(".evidence .checked").all_inner_texts()[0] == "✓ found in the graph"
    page.wait_for_selector(".canvas .node")
    page.hover(".names button.marker >> nth=0")  # its nodes light up, and its row alone
    page.wait_for_function("() => document.querySelector('.canvas').dataset.litNodes")
    assert page.get_attribute(".canvas", "data-lit-nodes") == "Marie Curie|Pierre Curie"
    assert page.locator(".piece.lit").get_attribute("data-markers") == "P1"
    page.hover(".run h2")
    page.wait_for_function("() => !document.querySelector('.canvas').dataset.litNodes")
    assert page.locator(".piece.lit").count() == 0
    page.click("text=/^\\d+ steps$/")
    steps = page.locator(".steps > li")
    assert steps.filter(has_text="linked: 'Marie Curie'").count() == 1
    first_query = steps.filter(has=page.locator("details")).first
    first_query.locator("summary").click()
    assert "SELECT" in page.inner_text(".steps pre >> nth=0")
    page.click(".names button.marker >> nth=0")
    query = page.inner_text(".piece[data-markers=P1] pre")
    assert "<http://dbpedia.org/resource/Marie_Curie> <http://dbpedia.org/ontology/spouse> ?answer" in query
    assert len(asked) > 8
    assert [url for url in asked if not url.startswith(address)] == [], "no request leaves the machine"
    assert sum(file.stat().st_size for file in STATIC.iterdir() if file.is_file()) <= 100_000


def test_a_name_that_was_taken_for_another_is_corrected_with_a_click(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    ask("Where was Bragg born?")
    before = page.locator(".names li bdi").first.text_content()
    first = page.url
    page.click(".mention")
    assert page.locator(".meanings li").count() > 0
    other = page.inner_text(".meanings li strong >> nth=0")
    page.click(".meanings li button >> nth=0")
    page.wait_for_url(lambda url: url != first)
    page.wait_for_selector(".run:not([aria-busy])")
    for _ in range(2):  # as it is answered, and as the permalink shows it
        assert page.inner_text(".mention") == "Bragg"
        assert page.locator(".names li bdi").first.text_content() != before
        page.click(".mention")
        assert page.inner_text(".meanings > p strong") == other
        page.reload()
        page.wait_for_selector(".run:not([aria-busy])")
    page.click(".mention")
    corrected = page.url
    page.locator(".meanings li", has_text="Use this").nth(0).get_by_role("button").click()
    page.wait_for_url(lambda url: url != corrected)
    page.wait_for_selector(".run:not([aria-busy])")
    assert (
        page.locator(".names li bdi").first.text_content() == before
    )  # the meaning that it was corrected from is offered first


def test_a_computed_answer_shows_what_was_counted_and_its_facts(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    ask("How many Nobel laureates are there?")
    assert page.inner_text(".value strong") == "74"
    assert page.inner_text(".how") == "(counted: Nobel laureates)"
    assert page.inner_text(".answer-part > .badge") == "97% likely"
    page.click(".drawing summary")
    page.click("text=+61 more")
    page.wait_for_function("() => document.querySelector('.drawing').innerText.indexOf('more') < 0")


def test_two_methods_answer_side_by_side(page: Page, address: str) -> None:
    open_to_type(page, address)
    page.wait_for_selector("#beside option >> nth=2", state="attached")
    page.keyboard.type(SPOUSE)
    tab_to(page, "#options summary")
    page.keyboard.press("Enter")
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
    tab_to(page, ".run + .run .names button.marker")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.run + .run .query summary')")
    again = page.url
    page.goto(address)
    page.goto(again)
    page.wait_for_function("() => document.querySelectorAll('.run .evidence').length === 2")


def test_errors_say_who_failed_and_what_to_do(page: Page, address: str, trouble: list[str]) -> None:
    page.goto(address)
    page.fill("#question", "???")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble:not([hidden])")
    assert page.inner_text("#trouble").startswith("The question is empty.")
    page.goto(f"{address}runs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "no such run" in page.inner_text("#trouble")
    assert all("400" in line or "404" in line for line in trouble)  # Chromium writes refusals to its console
    page.route("**/yasqe*.js", lambda route: route.abort())
    page.goto(address)
    page.click("#open-sparql")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "could not be loaded" in page.inner_text("#trouble")
    page.unroute("**/yasqe*.js")
    page.click("#open-sparql")  # and is tried again
    page.wait_for_selector("#sparql .CodeMirror-focused")
    trouble.clear()


def test_axe_finds_nothing_serious(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    page.wait_for_selector("#examples li")
    assert page.locator("#examples li").count() == 3
    assert "3,534 triples" in page.inner_text("header")
    found = in_both_schemes(page)
    ask("Where was Bragg born?")
    page.click(".mention")
    page.click(".nearest > summary")
    page.click(".names button.marker >> nth=0")
    page.click("text=/^\\d+ steps$/")
    page.click("text=What is it?")
    page.click("text=/Its neighbours/")
    page.wait_for_selector("text=/more of/")
    page.click("text=Ask about this")
    found += in_both_schemes(page)
    query = 'PREFIX e: <http://e.org/> # so\nSELECT ?who {\n  dbr:Marie_Curie dbo:spouse ?who ; e:p "x"@en, 1, true\n'
    run(page, query + "} ORDER BY ?who")
    run(page, "SELECT * { ?s ?p ?o } LIMIT 3")
    page.evaluate("query => document.querySelector('#sparql .CodeMirror').CodeMirror.setValue(query)", query)
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


def write(page: Page, query: str) -> None:
    """Open the box, and put a query in it."""
    page.click("#open-sparql")
    page.wait_for_selector("#sparql .CodeMirror-focused")
    page.evaluate("query => document.querySelector('#sparql .CodeMirror').CodeMirror.setValue(query)", query)


def run(page: Page, query: str) -> str:
    """What the box shows for a query."""
    write(page, query)
    page.click("#sparql >> text=Run")
    page.wait_for_selector("#sparql button:text-is('Run')")
    return page.inner_text("#sparql [role=status]")


def test_the_editor_is_loaded_late_and_no_request_leaves_here(page: Page, address: str, trouble: list[str]) -> None:
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("#open-sparql")
    assert not any("yasqe" in url for url in asked)
    page.click("#open-sparql")
    page.wait_for_selector("#sparql .CodeMirror-focused")
    assert any("yasqe" in url for url in asked)
    page.keyboard.press("Control+a")
    page.keyboard.type("SELECT ?who { ?who dbo:spouse foaf:x, e")
    page.keyboard.press("Control+Space")
    page.keyboard.press("Control+s")
    text = page.evaluate("document.querySelector('#sparql .CodeMirror').CodeMirror.getValue()")
    assert text == "SELECT ?who { ?who dbo:spouse foaf:x, e"  # no prefix of another namespace was declared
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#sparql .trouble")
    assert [url for url in asked if not url.startswith(address)] == []
    assert page.evaluate("localStorage.length") == 0
    assert all("400" in line for line in trouble)  # Chromium writes the refusal of the query to its console
    trouble.clear()


def test_results_of_each_form_and_what_is_wrong_with_a_query(page: Page, address: str, trouble: list[str]) -> None:
    page.goto(address)
    shown = run(page, "SELECT ?who ?born ?none { dbr:Marie_Curie dbo:spouse ?who ; dbo:birthDate ?born }")
    assert shown.startswith("1 solution\n")
    assert page.locator("#sparql th").all_inner_texts() == ["?who", "?born", "?none"]
    cells = page.locator("#sparql td").all_inner_texts()
    assert cells == ["http://dbpedia.org/resource/Pierre_Curie", "1867-11-07 ^^date", ""]
    assert run(page, "ASK { dbr:Marie_Curie dbo:spouse ?who }").startswith("true")
    assert run(page, "SELECT * { ?s ?p ?o } LIMIT 250").startswith("250 solutions, of which the first 200 are shown")
    assert page.locator("#sparql tbody tr").count() == 200
    assert "dbr:Pierre_Curie" in run(page, "CONSTRUCT WHERE { dbr:Marie_Curie dbo:spouse ?who }")
    assert run(page, "SELECT ?s { ?s a <http://e.org/none> }").startswith("0 solutions")
    write(page, "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")
    page.click("#sparql >> text=Run")
    page.click("#sparql >> text=Stop")
    page.wait_for_selector("#sparql >> text=Stopped.")
    assert run(page, "ASK { }").startswith("true")
    for query, says, hint in (
        ("SELECT {", "Line 1:8: { is never closed", ""),
        ("DELETE WHERE { ?s ?p ?o }", "DELETE is not run here", "Only SELECT, ASK"),
        ("# " + "x" * 4_000_000, "is larger than", "Send less"),
    ):
        shown = run(page, query)
        message = page.inner_text("#sparql .trouble strong")
        assert says in message
        assert hint in shown.removeprefix(message)
    trouble.clear()  # Chromium writes refusals to its console


def test_a_long_answer_is_filtered_sorted_and_taken_along(page: Page, address: str, ask: Ask) -> None:
    page.goto(address)
    ask("For each laureate, the birth place and the university")
    page.click(".wide th >> text=place of birth")
    places = [text for text in page.locator(".wide td:nth-child(2)").all_inner_texts() if text.isascii()]
    assert places == sorted(places, key=lambda text: (not text, text.casefold()))  # what is empty comes last
    assert page.get_attribute(".wide th >> nth=1", "aria-sort") == "ascending"
    page.fill("input[type=search]", "warsaw curie")
    assert page.inner_text(".wide ~ .tools [role=status]").startswith("1 of 114 rows")
    assert page.locator(".wide tbody tr:visible").count() == 1
    with page.expect_download() as saved:
        page.click(".wide ~ .tools >> text=CSV")
    lines = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert lines == ["Nobel laureate,place of birth,studied at", "Marie Curie,Warsaw,University of Paris"]
    page.click("#open-sparql")  # with the query of the answer
    page.wait_for_selector("#sparql .CodeMirror-focused")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#sparql td >> text=Marie_Curie")
    assert page.evaluate(
        "document.querySelector('#sparql [role=status]').getBoundingClientRect().bottom <= innerHeight + 1"
    )
    assert serious(page) == []


def test_the_query_of_a_piece_of_evidence_is_opened_in_the_box(page: Page, answered: None) -> None:
    page.click(".names button.marker >> nth=0")
    page.click(".piece[data-markers=P1] >> text=Open in the SPARQL box")
    page.wait_for_selector("#sparql .CodeMirror-focused")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#sparql td")
    assert page.locator("#sparql td").all_inner_texts() == ["http://dbpedia.org/resource/Pierre_Curie"]
    page.keyboard.press("Tab")  # which the editor does not keep
    assert page.evaluate("document.activeElement.textContent") == "Run"
