"""The SPARQL box of the page, in Chromium: YASQE under the policy of the page, and what comes back from /sparql."""

from collections.abc import Callable

from playwright.sync_api import Page

from tests.serving.test_page import in_both_schemes

Ask = Callable[[str], None]


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


def test_the_editor_is_loaded_when_it_is_opened_and_no_request_leaves_the_machine(
    page: Page, address: str, trouble: list[str]
) -> None:
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


def test_results_of_each_form_are_shown(page: Page, address: str) -> None:
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


def test_errors_say_what_is_wrong(page: Page, address: str, trouble: list[str]) -> None:
    page.goto(address)
    for query, says, hint in (
        ("SELECT {", "line 1:8: { is never closed", ""),
        ("DELETE WHERE { ?s ?p ?o }", "DELETE is not run here", "runs SELECT, ASK"),
        ("# " + "x" * 4_000_000, "is larger than", "send less"),
    ):
        shown = run(page, query)
        message = page.inner_text("#sparql .trouble strong")
        assert says in message
        assert hint in shown.removeprefix(message)
    trouble.clear()  # Chromium writes refusals to its console


def test_the_query_of_a_piece_of_evidence_is_opened_in_the_box(page: Page, answered: None) -> None:
    page.click(".best button.marker >> nth=0")
    page.click("tbody[data-markers=P1] >> text=Open in the SPARQL box")
    page.wait_for_selector("#sparql .CodeMirror-focused")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#sparql td")
    assert page.locator("#sparql td").all_inner_texts() == ["http://dbpedia.org/resource/Pierre_Curie"]
    page.keyboard.press("Tab")  # which the editor does not keep
    assert page.evaluate("document.activeElement.textContent") == "Run"


def test_an_editor_that_cannot_be_loaded_is_told(page: Page, address: str, trouble: list[str]) -> None:
    page.route("**/yasqe*.js", lambda route: route.abort())
    page.goto(address)
    page.click("#open-sparql")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "could not be loaded" in page.inner_text("#trouble")
    page.unroute("**/yasqe*.js")
    page.click("#open-sparql")  # and is tried again
    page.wait_for_selector("#sparql .CodeMirror-focused")
    trouble.clear()


def test_axe_finds_nothing_serious_in_the_box(page: Page, address: str) -> None:
    page.goto(address)
    query = 'PREFIX e: <http://e.org/> # so\nSELECT ?who {\n  dbr:Marie_Curie dbo:spouse ?who ; e:p "x"@en, 1, true\n'
    run(page, query + "} ORDER BY ?who")
    run(page, "SELECT * { ?s ?p ?o } LIMIT 3")
    page.evaluate("query => document.querySelector('#sparql .CodeMirror').CodeMirror.setValue(query)", query)
    assert in_both_schemes(page) == []
