"""What is copied from the page runs outside it: a command line in a shell, a program in Python."""

import json
import subprocess
import sys
from collections.abc import Callable

from playwright.sync_api import Page

import kgsparql
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.serving.page_facts import curl_command, python_code, query_ways
from tests.serving.conftest import NOBEL, SPOUSE, asked, run_in_shell
from tests.serving.test_guards import send
from tests.serving.test_runs_on_the_page import HOSTILE
from tests.world import FIXTURES, ROOT

Ask = Callable[[str], None]


def run_in_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def ways_of(*sources: object, served_at: str | None = None) -> list[dict[str, str]]:
    """How the query of the first piece of evidence is run elsewhere, of an answer from these sources."""
    knowledge = kgsparql.open(*sources, embedder="none")  # type: ignore[arg-type]
    answer = answer_to_json(knowledge.ask(SPOUSE, model=None))
    return query_ways(knowledge, answer, "P1", served_at=served_at, needs_token=False)


def test_the_query_of_a_piece_of_evidence_runs_in_a_shell_and_in_python(page: Page, address: str, ask: Ask) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    ask(SPOUSE)
    page.click(".names button.marker >> nth=0")
    row = page.locator(".piece[data-markers=P1]")
    for title, run in (("curl", run_in_shell), ("Python", run_in_python)):
        row.get_by_role("button", name=title, exact=True).click()
        assert row.get_by_role("button", name="SPARQL", exact=True).get_attribute("aria-pressed") == "false"
        row.get_by_role("button", name="Cop").click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == row.locator("pre").text_content()
        assert "Pierre_Curie" in run(copied)
    row.get_by_role("button", name="SPARQL", exact=True).click()
    assert row.locator("pre").inner_text().startswith("SELECT")


def test_any_text_reaches_the_endpoint_as_it_was(address: str) -> None:
    for text in ("it's \"quoted\" $HOME `id` \\ '''", "a\rb\x07\u202e", "@/etc/passwd", "%27;id;'"):
        literal = json.dumps(text, ensure_ascii=False)
        for query in (f"SELECT ?text {{ VALUES ?text {{ {literal} }} }}", f"# {text.splitlines()[0]}\nASK {{ }}"):
            reply = json.loads(run_in_shell(curl_command(f"{address}sparql", query)))
            found = reply.get("boolean") or reply["results"]["bindings"]
            assert found in (True, [{"text": {"type": "literal", "value": text}}])
    assert "--data query=ASK%20%7B%7D%0D%23%E2%80%AE" in curl_command("http://127.0.0.1/sparql", "ASK {}\r#\u202e")


def test_any_text_is_the_same_in_python() -> None:
    seen: list[str] = []

    class Knowledge:
        def query(self, sparql: str) -> None:
            seen.append(sparql.strip("\n") if sparql.startswith("\n") else sparql)

    class Package:
        def open(self, source: str, *, format: str) -> Knowledge:  # noqa: A002 - as in the program
            seen.append(f"{source} {format}")
            return Knowledge()

    for text in (*HOSTILE, "it's \"quoted\" ''' \\N{DASH} \\", "a\rb\x00", "ends with '"):
        code = python_code(["a'b.ttl"], {"format": "ttl"}, text)
        exec(code.replace("import kgsparql\n", ""), {"kgsparql": Package()})  # noqa: S102 - what a person would paste
        assert [seen.pop(), seen.pop()] == [text, "a'b.ttl ttl"]


def test_each_graph_is_asked_where_it_is_without_credentials_and_none_that_is_not_open(address: str) -> None:
    path = f"/api/runs/{asked(address)}/queries/"
    (own,) = json.loads(send(address, "GET", path + "P1")[2])["ways"]
    assert set(own) == {"curl", "Python"}
    assert send(address, "GET", path + "X9")[0] == 404
    assert send(address, "GET", "/api/runs/none/queries/P1")[0] == 404
    answer = answer_to_json(kgsparql.open(NOBEL, embedder="none").ask(SPOUSE, model=None))
    other = kgsparql.open(FIXTURES / "corner_cases.trig", embedder="none")
    assert query_ways(other, answer, "P1", served_at=address, needs_token=False) == [{}]
    (own,) = ways_of(address.replace("http://", "http://me:secret@") + "sparql", served_at="http://127.0.0.1:9/sparql")
    assert own["curl"].startswith(f"curl {address}sparql ")
    assert "secret" not in json.dumps(own)
    assert f"kgsparql.open('{address}sparql')" in own["Python"]
    sources = (FIXTURES / "corner_cases.trig", FIXTURES / "wikidata_statements.ttl")
    (own,) = ways_of(*sources, f"{address}sparql")
    assert "Pierre_Curie" in run_in_shell(own["curl"])
    (own,) = ways_of(NOBEL, sources[0], "http://127.0.0.1:9/sparql")
    assert set(own) == {"Python"}
    assert f"kgsparql.open('{NOBEL}', '{sources[0]}')" in own["Python"]


def test_a_server_that_is_gone_is_told_and_the_query_stays(page: Page, answered: None, trouble: list[str]) -> None:
    page.route("**/queries/P1", lambda route: route.abort())
    page.click(".names button.marker >> nth=0")
    row = page.locator(".piece[data-markers=P1]")
    row.locator(".trouble").wait_for()
    assert "does not answer" in row.inner_text()
    assert row.locator("pre").inner_text().startswith("SELECT")
    trouble.clear()
