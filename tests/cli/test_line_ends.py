r"""What ends its lines with ``\r\n``, as programs of Windows write it, is read as what ends them with ``\n``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsparql.graphs.files import FORMATS
from kgsparql.linking.passages.documents import Document, read_document
from tests.cli.conftest import Run
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
TURTLE = """\
@prefix : <http://example.org/> .
# a comment
:a :name "Ann" ;
   :knows :b .
:b :name "Bob" .
"""
EVERY = "SELECT ?s ?o {\n ?s ?p ?o # a comment\n}\nORDER BY ?s ?o\n"
QUESTION = "Where was Marie Curie born?"
QUESTIONS = {
    "q.jsonl": '{"id": "1", "question": "Where was Marie Curie born?", "answers": ["Warsaw"]}\n'
    '{"id": "2", "question": "Where was Pierre Curie born?", "answers": ["Paris"]}\n',
    "q.json": '[\n {"id": "1", "question": "Where was Marie Curie born?", "answers": ["Warsaw"]}\n]\n',
    "q.csv": 'id,question,answers\n1,"Where was Marie Curie born?",Warsaw\n2,Where was Pierre Curie born?,Paris\n',
    "q.tsv": "id\tquestion\tanswers\n1\tWhere was Marie Curie born?\tWarsaw\n2\tWhere was Pierre Curie born?\tParis\n",
    "q.yml": """\
dataset: {id: https://example.org/}
questions:
- id: 1
  question:
    en: Where was Marie Curie born?
  query:
    sparql: |
      SELECT ?o {
        <http://dbpedia.org/resource/Marie_Curie> <http://dbpedia.org/ontology/birthPlace> ?o }
""",
}

Both = Callable[[str, str], tuple[Path, Path]]


@pytest.fixture
def both(tmp_path: Path) -> Both:
    """A function that writes a text twice, with either line end, and returns the two files."""

    def write(name: str, text: str) -> tuple[Path, Path]:
        files = tmp_path / "feed" / name, tmp_path / "return and feed" / name
        for file, end in zip(files, ("\n", "\r\n"), strict=True):
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(text.replace("\n", end).encode())
        assert b"\r\n" in files[1].read_bytes()
        return files

    return write


@pytest.mark.parametrize("form", sorted({"ttl", "nt", "nq", "trig", "rdf", "jsonld"} & set(FORMATS)))
def test_rdf(form: str, both: Both, run: Run) -> None:
    store = ox.Store()
    store.load(TURTLE.encode(), ox.RdfFormat.TURTLE)
    text = TURTLE if form in {"ttl", "trig"} else _dumped(store, FORMATS[form])
    found = [run("query", EVERY, "-k", file, "-f", "csv") for file in both(f"g.{form}", text + "\n")]
    assert found[0].stdout_bytes == found[1].stdout_bytes
    assert found[1].stdout_bytes.count(b"\r\n") == 4


def _dumped(store: ox.Store, form: ox.RdfFormat) -> str:
    default = None if form.supports_datasets else ox.DefaultGraph()
    return (store.dump(format=form, from_graph=default) or b"").decode()


@pytest.mark.parametrize("size", [1 << 16, 100_001])
def test_lines_of_a_literal_in_xml_end_as_a_reader_of_xml_ends_them(size: int, tmp_path: Path, run: Run) -> None:
    """Oxigraph kept ``\\r``, so a literal was another one where git had changed line ends; also between two chunks."""
    lines = ["line"] * (size // 6)
    for file, end in (("feed.rdf", "\n"), ("return.rdf", "\r"), ("both.rdf", "\r\n")):
        (tmp_path / file).write_bytes(
            f"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://example.org/'>{end}"
            f"<rdf:Description rdf:about='http://example.org/a'><p>{end.join(lines)}</p></rdf:Description>"
            f"</rdf:RDF>{end}".encode()
        )
    query = 'SELECT (STRLEN(?o) AS ?n) (CONTAINS(?o, "\\r") AS ?r) { ?s ?p ?o }'
    expected = [str(5 * len(lines) - 1), "false"]
    for file in ("feed.rdf", "return.rdf", "both.rdf"):
        rows = run("query", query, "-k", tmp_path / file, "-f", "csv").stdout.splitlines()
        assert rows[1].split(",") == expected, file


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
def test_a_query(mark: bytes, both: Both, run: Run) -> None:
    graph, _ = both("g.ttl", TURTLE)
    fed, returned = both("q.rq", EVERY)
    expected = run("query", fed, "-k", graph, "-f", "csv")
    assert expected.exit_code == 0
    returned.write_bytes(mark + returned.read_bytes())
    assert run("query", returned, "-k", graph, "-f", "csv").stdout_bytes == expected.stdout_bytes
    piped = run("query", "-", "-k", graph, "-f", "csv", stdin=returned.read_bytes())
    assert piped.stdout_bytes == expected.stdout_bytes


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions(name: str, both: Both, run: Run, tmp_path: Path) -> None:
    asked = []
    for file in both(name, QUESTIONS[name]):
        made = tmp_path / f"run of {file.parent.name}"
        done = run("eval", "run", file, "-k", NOBEL, "-o", made, "-r", "path_ranking", "--no-model", "-q")
        assert done.exit_code == 0, done.output
        asked.append((made / "questions.jsonl").read_bytes())
    assert asked[0] == asked[1]
    assert b"Warsaw" in asked[0]
    assert b"\\r" not in asked[0]


def test_questions_of_standard_input(run: Run) -> None:
    text = f"{QUESTION}\nWhere was Pierre Curie born?\n"
    options = ("-k", NOBEL, "--no-model", "-f", "csv")
    found = [run("ask", "-", *options, stdin=text.replace("\n", end).encode()) for end in ("\n", "\r\n")]
    assert found[0].exit_code == 0
    assert found[0].stdout_bytes == found[1].stdout_bytes


def test_settings(both: Both, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    for file in both("kgsparql.toml", f"graph = ['{NOBEL}']\n\n[limits]\nmax_queries = 7\n# the end\n"):
        monkeypatch.chdir(file.parent)
        shown.append([run("config", "show").stdout, run("info", "-f", "json").stdout])
    assert [" ".join(text.replace("return and feed", "feed").split()) for text in shown[1]] == [
        " ".join(text.split()) for text in shown[0]
    ]
    assert json.loads(shown[0][1])["triples"] == 3_534


def test_graphs_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch, both: Both) -> None:
    graph, _ = both("g.ttl", TURTLE)
    monkeypatch.setenv("KGSPARQL_KG", f"{NOBEL}\r\n{graph}\r\n")
    assert run("info", "-f", "json").exit_code == 0


@pytest.mark.parametrize("form", ["json", "jsonl", "trig"])
def test_a_kept_answer(form: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / f"a.{form}"
    assert run("ask", QUESTION, "-k", NOBEL, "--no-model", "-o", file).exit_code == 0
    expected = run("check", file, "-k", NOBEL)
    assert expected.exit_code == 0
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    found = run("check", file, "-k", NOBEL)
    assert (found.exit_code, found.stdout) == (0, expected.stdout)


def test_a_run_and_a_snapshot_that_git_has_changed(run: Run, tmp_path: Path, both: Both) -> None:
    questions, _ = both("q.jsonl", QUESTIONS["q.jsonl"])
    ask = ("ask", QUESTION, "-k", NOBEL, "--no-model")
    of_run = ("-k", NOBEL, "-o", tmp_path / "run", "-r", "path_ranking", "--no-model", "-q")
    assert run("eval", "run", questions, *of_run).exit_code == 0
    assert run(*ask, "--record", tmp_path / "snap").exit_code == 0
    compared = run("eval", "compare", tmp_path / "run", "-f", "csv").stdout
    assert run("load", NOBEL, "--store", tmp_path / "S", "-q").exit_code == 0
    texts = [
        *(tmp_path / "run").rglob("*.json*"),
        tmp_path / "snap" / "manifest.json",
        tmp_path / "S" / "kgsparql.json",
    ]
    for file in texts:
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert len(texts) == 6
    assert run("eval", "compare", tmp_path / "run", "-f", "csv").stdout == compared
    assert run("eval", "run", questions, *of_run, "--resume").exit_code == 0
    replayed = run(*ask, "--replay", tmp_path / "snap")
    assert replayed.exit_code == 0
    assert "Warsaw" in replayed.stdout
    assert run("query", "ASK {}", "-k", tmp_path / "S").stdout == "true\n"


def test_paragraphs_of_a_document_are_told_apart(both: Both) -> None:
    text = "Marie Curie was born in Warsaw.\n\nShe went to Paris.\n"
    found = [read_document(file, file.parent) for file in both("d.txt", text)]
    assert found[0] == found[1]
    assert isinstance(found[0], Document)
    assert found[0].pages[0].text == text
