"""What is copied from the page runs outside it: a command line in a shell, a program in Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from kgsparql.serving.page_facts import curl_command, python_code
from tests.conftest import FIXTURES, ROOT
from tests.endpoints.servers import ALL_ENGINES
from tests.serving.conftest import NOBEL, SPOUSE, asked, served
from tests.serving.test_guards import TOKEN, send
from tests.serving.test_runs_on_the_page import HOSTILE

Ask = Callable[[str], None]


def run_in_shell(command: str, **environment: str) -> str:
    if shutil.which("curl") is None:
        (pytest.fail if os.environ.get(ALL_ENGINES) else pytest.skip)("there is no curl on this machine")
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout


def run_in_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def queries_of(address: str, **headers: str) -> str:
    """The path of the queries of a run that is over, but for the marker."""
    return f"/api/runs/{asked(address, **headers)}/queries/"


def ways(address: str, path: str, **headers: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(send(address, "GET", path, **headers)[2])
    return found


def test_the_query_of_a_piece_of_evidence_runs_in_a_shell_and_in_python(page: Page, address: str, ask: Ask) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    ask(SPOUSE)
    page.click(".best button.marker >> nth=0")
    row = page.locator("tbody[data-markers=P1]")
    for title, run in (("curl", run_in_shell), ("Python", run_in_python)):
        row.get_by_role("button", name=title, exact=True).click()
        assert row.get_by_role("button", name="SPARQL", exact=True).get_attribute("aria-pressed") == "false"
        row.get_by_role("button", name="Cop").click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == row.locator("pre").text_content()
        assert "Pierre_Curie" in run(copied)
    row.get_by_role("button", name="SPARQL", exact=True).click()
    assert row.locator("pre").inner_text().startswith("SELECT")


@pytest.mark.parametrize("text", ["it's \"quoted\" $HOME `id` \\ '''", "a\rb\x07\u202e", "@/etc/passwd", "%27;id;'"])
def test_any_text_reaches_the_endpoint_as_it_was(address: str, text: str) -> None:
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


def test_a_page_with_a_token_names_its_variable_not_the_token(serving_cache: Path) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with served(serving_cache, "-k", NOBEL, "--no-model", "-q", KGSPARQL_TOKEN=TOKEN) as address:
        found = ways(address, queries_of(address, **bearer) + "P1", **bearer)
        command = found["ways"][0]["curl"]
        assert TOKEN not in json.dumps(found)
        assert "Pierre_Curie" in run_in_shell(command, KGSPARQL_TOKEN=TOKEN)


def test_a_graph_that_is_not_open_is_not_asked(address: str, serving_cache: Path) -> None:
    path = queries_of(address) + "P1"
    assert set(ways(address, path)["ways"][0]) == {"curl", "Python"}
    with served(serving_cache, "-q") as other:
        assert ways(other, path) == {"ways": [], "is_served": False}
    with served(serving_cache, "-k", FIXTURES / "corner_cases.trig", "--no-model", "-q") as other:
        assert ways(other, path) == {"ways": [{}], "is_served": False}
    assert send(address, "GET", path.replace("P1", "X9"))[0] == 404
    assert send(address, "GET", "/api/runs/none/queries/P1")[0] == 404


def test_an_endpoint_is_asked_where_it_is_without_credentials(address: str, serving_cache: Path) -> None:
    endpoint = address.replace("http://", "http://me:secret@") + "sparql"
    with served(serving_cache, "-k", endpoint, "--no-model", "-q") as other:
        found = ways(other, queries_of(other) + "P1")
    assert found["is_served"]
    assert found["ways"][0]["curl"].startswith(f"curl {address}sparql ")
    assert "secret" not in json.dumps(found)
    assert f"kgsparql.open('{address}sparql')" in found["ways"][0]["Python"]


def test_of_several_graphs_the_one_that_holds_the_evidence_is_asked(address: str, serving_cache: Path) -> None:
    sources = (FIXTURES / "corner_cases.trig", FIXTURES / "wikidata_statements.ttl", f"{address}sparql")
    given = [word for source in sources for word in ("-k", source)]
    with served(serving_cache, *given, "--no-model", "-q") as other:
        found = ways(other, queries_of(other) + "P1")
    assert not found["is_served"]  # a query of one's own runs on one graph
    assert "Pierre_Curie" in run_in_shell(found["ways"][0]["curl"])
    with served(serving_cache, "-k", NOBEL, *given[:2], "-k", "http://127.0.0.1:9/sparql", "--no-model", "-q") as other:
        (own,) = ways(other, queries_of(other) + "P1")["ways"]
    assert set(own) == {"Python"}
    assert f"kgsparql.open('{NOBEL}', '{sources[0]}')" in own["Python"]


def test_a_server_that_is_gone_is_told_and_the_query_stays(page: Page, answered: None, trouble: list[str]) -> None:
    page.route("**/queries/P1", lambda route: route.abort())
    page.click(".best button.marker >> nth=0")
    row = page.locator("tbody[data-markers=P1]")
    row.locator(".trouble").wait_for()
    assert "does not answer" in row.inner_text()
    assert row.locator("pre").inner_text().startswith("SELECT")
    trouble.clear()
