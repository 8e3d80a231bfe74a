"""What the page asks for beside an answer: neighbours of a node, how old a graph is, how an answer is had again."""

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
from typer.testing import CliRunner

import kgsparql
from kgsparql import AskOptions, KnowledgeBase
from kgsparql.answering.answer_json import answer_to_json
from kgsparql.cli import app
from kgsparql.errors import InputError, NotFoundError
from kgsparql.serving.page_facts import as_of, curl_command, node_neighbours, python_code, query_ways
from tests.serving.conftest import NOBEL, SPOUSE, asked, run_in_shell
from tests.serving.test_guards import JSON, send
from tests.serving.test_runs_on_the_page import HOSTILE
from tests.world import FIXTURES, ROOT

MARIE = "<http://dbpedia.org/resource/Marie_Curie>"


@pytest.fixture(scope="module")
def knowledge() -> KnowledgeBase:
    return kgsparql.open(NOBEL, embedder="none")


def around(knowledge: KnowledgeBase, term: str, after: int = 0) -> dict[str, Any]:
    return node_neighbours(knowledge, AskOptions(), {"term": term, "after": str(after)})


def keys(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(*(one[at]["term"] for at in ("subject", "predicate", "object")), one["direction"])
            for one in found["triples"]]  # fmt: skip


def test_a_node_is_told_of_by_its_kinds_its_description_and_its_curie(knowledge: KnowledgeBase, tmp_path: Path) -> None:
    found = around(knowledge, MARIE)
    assert found["node"]["label"] == "Marie Curie"
    assert found["curie"] == "dbr:Marie_Curie"
    assert found["kinds"] == ["Nobel laureate", "person", "scientist"]
    assert found["description"].startswith("Physicist and chemist born in Warsaw")
    assert found["graphs"] == [str(NOBEL)]
    (tmp_path / "graph.ttl").write_text("<http://e.org/a> a <http://e.org/RockBand> .", encoding="utf-8")
    found = around(kgsparql.open(tmp_path / "graph.ttl", embedder="none"), "<http://e.org/a>")
    assert (found["kinds"], found["description"], found["node"]["label"]) == (["rock band"], "", "a")


def test_the_pages_hold_every_triple_of_the_node_once_both_ways(knowledge: KnowledgeBase) -> None:
    first = around(knowledge, MARIE)
    pages = [around(knowledge, MARIE, after) for after in range(0, first["count"] + 12, 12)]
    assert [len(page["triples"]) for page in pages] == [12, 12, first["count"] - 24, 0]
    seen = [key for page in pages for key in keys(page)]
    rows = knowledge.query(f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER (?s = {MARIE} || ?o = {MARIE}) }}").solutions
    expected = {(str(row["s"]), str(row["p"]), str(row["o"])) for row in rows}
    assert len(seen) == len(expected) == first["count"]
    assert {key[:3] for key in seen} == expected
    assert {(way, MARIE in (s if way == "forward" else o)) for s, _, o, way in seen} == {
        ("forward", True), ("inverse", True),
    }  # fmt: skip
    assert {key[3] for key in keys(first)} == {"forward", "inverse"}
    assert not any("rdf-schema#label" in key[1] for key in keys(first)), "labels and texts come last"


def test_of_a_hub_the_pages_repeat_nothing_and_end(tmp_path: Path) -> None:
    graph = tmp_path / "hub.nt"
    lines = [f"<http://e.org/{n}> <http://e.org/of> <http://e.org/hub> ." for n in range(10_500)]
    graph.write_text("\n".join(lines), encoding="utf-8")
    hub = kgsparql.open(graph, embedder="none")
    pages = [around(hub, "<http://e.org/hub>", after) for after in range(0, 132, 12)]
    assert {page["count"] for page in pages} == {10_500}
    seen = [key for page in pages for key in keys(page)]
    assert len(seen) == len(set(seen)) == 120


def test_what_cannot_be_looked_up(knowledge: KnowledgeBase) -> None:
    for term, after, error in (
        ('"a text"', "0", InputError), ("_:b0", "0", InputError), ("<http://a> . <http://b> <c> <d>", "0", InputError),
        (MARIE, "600", InputError), (MARIE, "²", InputError), ("<http://e.org/nothing>", "0", NotFoundError),
    ):  # fmt: skip
        with pytest.raises(error):
            node_neighbours(knowledge, AskOptions(), {"term": term, "after": after})


def test_what_cannot_be_drawn_is_refused(address: str) -> None:
    path = f"/api/runs/{asked(address)}/drawing"
    for body in (b"{", b"[]", b"{}", b'{"triples": [1]}', json.dumps({"triples": [{}] * 3000}).encode()):
        status, _, reply = send(address, "POST", path, body, **JSON)
        assert (status, "error" in json.loads(reply)) == (400, True)


CHANGED = 1_700_000_000  # 2023-11-14T22:13:20Z


def test_a_graph_is_as_old_as_its_newest_file_or_its_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, at in (("a.ttl", CHANGED), ("b.ttl", CHANGED - 9)):
        (tmp_path / name).write_text("<http://e.org/a> <http://e.org/p> 1 .", encoding="utf-8")
        os.utime(tmp_path / name, (at, at))
    knowledge = kgsparql.open(tmp_path, embedder="none")
    assert as_of(knowledge.graph) == "2023-11-14T22:13:20+00:00"
    (tmp_path / "a.ttl").unlink()
    assert as_of(knowledge.graph) is None
    store = tmp_path / "store"  # is as old as its loading
    assert CliRunner().invoke(app, ["load", str(NOBEL), "--store", str(store)]).exit_code == 0
    os.utime(store / "kgsparql.json", (CHANGED, CHANGED))
    assert as_of(kgsparql.open(store, embedder="none").graph) == "2023-11-14T22:13:20+00:00"
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("kgsparql.graphs.sources.CACHE_FROM_BYTES", 10)
    graph = tmp_path / "graph.ttl"
    shutil.copy(NOBEL, graph)
    os.utime(graph, (CHANGED, CHANGED))
    knowledge = kgsparql.open(graph, embedder="none")
    assert list((tmp_path / "cache" / "graphs").iterdir())
    assert as_of(knowledge.graph) == "2023-11-14T22:13:20+00:00"
    endpoint = "http://127.0.0.1:9/sparql"
    assert as_of(kgsparql.open(endpoint, embedder="none").graph) is None
    assert as_of(kgsparql.open(NOBEL, endpoint, embedder="none").graph) is None


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
