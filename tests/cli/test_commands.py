"""``find``, ``show``, ``paths``, ``query``, ``load``, ``index`` and ``info`` as a user types them."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest

from kgsparql.evaluation.datasets import load
from tests.cli.conftest import Run
from tests.world import FIXTURES, NOBEL, ROOT

CORNERS = FIXTURES / "corner_cases.trig"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.ttl"
    file.write_text(
        '@prefix ex: <http://ex.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n'
        'ex:a rdfs:label "Ann"@en ; ex:knows ex:b . ex:b rdfs:label "Ben"@en ; ex:age 42 .\n'
    )  # fmt: skip
    return file


@pytest.mark.parametrize(
    ("typed", "instead"),
    [(["ask", "g.ttl", "Who is it?"], "kgsparql ask -k g.ttl 'Who is it?'"),
     (["ask", "Who is it?", "wikidata", "-v"], "kgsparql ask -v -k wikidata 'Who is it?'"),
     (["ask", "Who", "is", "it?", "-k", "g.ttl"], "kgsparql ask -k g.ttl 'Who is it?'"),
     (["info", "g.ttl", "h.ttl"], "kgsparql info -k g.ttl -k h.ttl"),
     (["paths", "https://me:secret@e.org/sparql", "A", "B"], "kgsparql paths -k https://***@e.org/sparql A B"),
     (["sparql", "ASK {}", "-k", "g.ttl"], "did you mean kgsparql query?"), (["aks"], "did you mean kgsparql ask?"),
     (["Who is it?", "-k", "g.ttl"], "did you mean kgsparql ask?"), (["zzz"], "one of ask, find, show, paths, ")],
)  # fmt: skip
def test_a_natural_first_guess_is_answered_by_what_to_type(run: Run, typed: list[str], instead: str) -> None:
    done = run(*typed)
    assert (done.exit_code, done.stdout) == (2, "")
    said, hint = done.stderr.splitlines()
    assert said.endswith("[E_OPTION]")
    assert hint.startswith(f"  hint: {instead}")


def test_paths_in_both_formats(run: Run) -> None:
    asked = ("paths", "dbr:Marie_Curie", "Pierre Curie", "-k", NOBEL)
    assert "Marie Curie —spouse→ Pierre Curie" in run(*asked).stdout.splitlines()
    data = json.loads(run(*asked, "-f", "json").stdout)
    assert {hop["end_label"] for path in data for hop in path["hops"]} == {"Pierre Curie"}
    near = run("paths", "Richard Feynman", "Marie Curie", "-k", NOBEL, "--max-hops", "1")
    assert (near.exit_code, "hint: raise --max-hops\n" in near.stderr) == (3, True)


def test_show_takes_a_label_an_iri_and_a_curie_of_the_file_itself(run: Run, small: Path) -> None:
    shown = [run("show", name, "-k", small).stdout for name in ("Ann", "ex:a", "http://ex.org/a", "<http://ex.org/a>")]
    assert shown == ["ex:a ! Ann\n  —knows→ Ben\n  —label→ Ann@en\n"] * 4
    small.write_text('@prefix e: <http://e/> . e:bob e:claims <<( e:a e:p "x"@en )>> .')
    assert '—claims→ <<( e:a e:p "x"@en )>>' in run("show", "e:bob", "-k", small).stdout


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("http://e.org/Café", "http://e.org/Caf%C3%A9"), ("http://e.org/Caf%c3%a9", "http://e.org/Caf%C3%A9"),
     ("http://e.org/S%C3%A3o_(x)", "http://e.org/São_(x)"), ("http://e.org/a(b)", "http://e.org/a%28b%29"),
     ("http://e.org/l%C3%A9", "http://e.org/l%c3%a9"), ("http://e.org/a%20b", ""), ("http://e.org/Cafe", "")],
)  # fmt: skip
def test_an_iri_that_differs_by_its_percent_encoding_is_named(run: Run, tmp_path: Path, asked: str, meant: str) -> None:
    iris = ("Caf%C3%A9", "São_(x)", "a%28b%29", "l%c3%a9", "a%2520b")
    (tmp_path / "g.nt").write_text(
        "".join(f"<http://e.org/{iri}> <http://e.org/p> 'v' .\n".replace("'", '"') for iri in iris)
    )
    for command in (("show", asked), ("ask", "What is it?", "-e", asked, "--no-model")):
        done = run(*command, "-k", tmp_path / "g.nt")
        assert (done.exit_code, "is not in the graph" in done.stderr) == (3, True), done.stderr
        assert (f"hint: did you mean <{meant}>?" in done.stderr) is bool(meant), done.stderr


def test_L41_show_says_what_it_left_out_and_an_ambiguous_label_is_no_silent_pick(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "hub.nt"
    file.write_text("".join(f"<http://e/{i}> <http://e/p> <http://e/hub> .\n" for i in range(300)))
    done = run("show", "http://e/hub", "-k", file, "-n", "3")
    assert "(300 in all)" in done.stdout
    assert "at most 3 of 300 taken" in done.stderr
    data = json.loads(run("show", "http://e/hub", "-k", file, "-n", "3", "-f", "json").stdout)
    assert [(g["count"], g["exact"], len(g["neighbours"])) for g in data["groups"]] == [(300, True, 3)]
    done = run("show", "Springfield", "-k", CORNERS)
    assert done.exit_code == 3
    assert done.stdout == ""
    assert done.stderr.count("springfield-") == 3


def test_bad_input_is_one_line_with_a_way_out(run: Run) -> None:
    for arguments, code, says in (
        (("show", "http://nowhere.example/x"), 3, "not in the graph"),
        (("show", "Marie Curie", "-f", "xml"), 2, "text, json"),
        (("paths", "Marie Curie", "Niels Bohr", "--max-hops", "1", "--direction", "forward"), 3,
         "hint: raise --max-hops, or try --direction"),
        (("query", "INSERT DATA { <http://a> <http://b> <http://c> }"), 2, "E_FORBIDDEN_QUERY"),
        (("query", "ASK { ?s ?p ?o }", "-f", "csv"), 2, "json"),
        (("find", " ?! "), 2, "nothing to search for"),
    ):  # fmt: skip
        done = run(*arguments, "-k", NOBEL)
        assert (done.exit_code, says in done.stderr, done.stdout) == (code, True, ""), done.output
        assert "Traceback" not in done.stderr
    for arguments in (("ask", "Who?", "-k", "--max-seconds", "5"), ("info", "-k", "-f", "json"), ("info", "-k", "")):
        done = run(*arguments)  # as after `-k $U`, where U is unset
        assert (done.exit_code, done.stderr.count("is a variable unset?"), done.stdout) == (2, 1, ""), done.output
    done = run("info", "-k", "x" * 5_000 + ".nt")
    assert "name too long [E_INPUT]" in done.stderr
    assert len(done.stderr) < 1_000
    done = run("query", "SELECT * { ?s ?p ?o FILTER(REGEX(STR(?o), '((')) }", "-k", NOBEL)
    assert (done.exit_code, done.stderr.endswith("try it without FILTER\n")) == (0, True), done.stderr


NEVER_HERE = (
    "asyncio curies lancedb matplotlib openai pandas pyarrow pydantic rdflib rich SPARQLWrapper "
    "sentence_transformers tokenizers torch transformers urllib3 yaml"
).split()
"""What no command needs that asks a local file, and neither a model nor an embedder; nor does the list of methods."""

NOT_TO_LOOK_UP = (
    "kgsparql.evaluation kgsparql.linking.label_index.lookup "
    "kgsparql.models.openai_client kgsparql.models.replies kgsparql.retrievers.query_plan"
).split()
"""What a question needs only where a model or an endpoint is asked, or no plan says all that is asked."""


def imported_by(words: list[str]) -> set[str]:
    """The modules that a command imports."""
    code = (
        f"import sys; from kgsparql.cli import app\ntry: app({words})\n"
        "except SystemExit as end: assert end.code in (0, None, 3), end.code\n"
        "print('imported:', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("imported:")[2].split())


@pytest.mark.parametrize(("command", "unneeded"), [
    (["ask", "Who is the spouse of Ann?", "--no-model", "--embedder", "none"], NOT_TO_LOOK_UP),
    (["paths", "Ann", "Ben"], ["kgsparql.retrievers.query_plan"]),
    (["query", "ASK { ?s ?p ?o }"], ["kgsparql.answering", "numpy"]),
    (["info"], []),
    (["find", "Ann", "--embedder", "none"], []),
    (["retrievers"], []),
])  # fmt: skip
def test_a_command_imports_nothing_that_it_does_not_need(small: Path, command: list[str], unneeded: list[str]) -> None:
    imported = imported_by([*command, "-q", "-k", str(small)] if command != ["retrievers"] else command)
    others = {f"kgsparql.cli.{name}" for name in ("ask", "eval", "doctor")} - {f"kgsparql.cli.{command[0]}"}
    assert imported & {*NEVER_HERE, *unneeded, *others} == set()


def test_help_imports_nothing_of_an_answer() -> None:
    imported = imported_by(["--help"])
    assert "kgsparql.cli.ask" in imported
    parts = {"kgsparql.answering.answer", "kgsparql.evidence.evidence", "kgsparql.rdf.paths"}
    assert imported & {*NEVER_HERE, *parts, "numpy"} <= {"rich"}


def test_query_formats_are_what_they_say_and_what_a_limit_cut_off_is_said_with_q_too(run: Run, tmp_path: Path) -> None:
    select = "SELECT ?year { dbr:Marie_Curie dbo:award/dbo:year ?year } ORDER BY ?year"
    for name in ("json", "xml", "tsv"):
        done = run("query", select, "-k", NOBEL, "-f", name)
        form = pyoxigraph.QueryResultsFormat.from_extension({"json": "srj", "xml": "srx"}.get(name, name))
        assert form is not None
        found = pyoxigraph.parse_query_results(done.stdout.encode(), format=form)
        assert [s["year"].value for s in found] == ["1903", "1911"]  # type: ignore[union-attr]
    file = tmp_path / "years.csv"
    assert run("query", select, "-k", NOBEL, "-o", file).exit_code == 0
    assert file.read_bytes() == b"year\r\n1903\r\n1911\r\n"
    turtle = run("query", "CONSTRUCT { ?s rdfs:label ?o } WHERE { ?s rdfs:label ?o } LIMIT 3", "-k", NOBEL).stdout
    assert len(list(pyoxigraph.parse(turtle.encode(), format=pyoxigraph.RdfFormat.TURTLE))) == 3
    for query, form in (("SELECT ?s { ?s ?p ?o }", "csv"), ("CONSTRUCT WHERE { ?s ?p ?o }", "nt")):
        done = run("query", query, "-k", NOBEL, "-q", "-f", form, "--max-rows", "2")
        assert (done.exit_code, "cut: " in done.stderr) == (6, True), done.stderr
        assert done.stdout
    assert run("query", "SELECT ?s { ?s ?p ?o } LIMIT 2", "-k", NOBEL, "-q", "--max-rows", "2").exit_code == 0


def test_a_query_is_stopped_at_its_deadline(run: Run) -> None:
    began = time.monotonic()
    cross = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
    assert run("query", "ASK {}", "-k", NOBEL, "--timeout", "20").exit_code == 0, "another name of the option"
    done = run("query", cross, "-k", NOBEL, "--max-seconds", "1")
    assert done.exit_code == 2
    assert "--max-seconds" in done.stderr
    assert "E_TIMEOUT" in done.stderr
    assert time.monotonic() - began < 30


def test_query_and_graph_from_stdin_and_sources_from_the_environment_one_per_line(
    run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("query", "-", "-k", small, "-f", "json", stdin="ASK { ?s ?p 42 }")
    assert json.loads(done.stdout)["boolean"] is True
    done = run("query", "ASK { ?s ?p 42 }", "-k", "-", "--input-format", "ttl", "-f", "json", stdin=small.read_bytes())
    assert json.loads(done.stdout)["boolean"] is True
    monkeypatch.setenv("KGSPARQL_KG", f"{small}\n{CORNERS}\n")
    assert run("show", "Ann").exit_code == 0
    assert run("show", "Springfield").exit_code == 3


def test_what_was_loaded_and_skipped_is_told_by_load_info_and_answers(run: Run, small: Path, tmp_path: Path) -> None:
    bad, store = tmp_path / "bad.nt", tmp_path / "S"
    bad.write_text("<http://e/a> <http://e/p> <http://e/b> .\nnonsense\n<http://e/a> <http://e/p> <http://e/c> .\n")
    refused = run("load", bad, "--store", store)
    assert (refused.exit_code, "bad.nt:2:" in refused.stderr, store.exists()) == (4, True, False)
    assert "2 triples, 1 bad statement skipped" in run("load", bad, small, "--store", store, "--skip-bad").stderr
    assert "a store is made once" in run("load", bad, "--store", store, "--skip-bad").stderr
    assert "ex:b ! Ben" in run("show", "ex:b", "-k", store).stdout, "the prefixes of the files are known"
    for source in (("-k", bad, "-k", small), ("-k", store)):
        told = run("info", *source, "--skip-bad", "-f", "json")
        sources = [(s["source"], s["triples"], s["skipped"]) for s in json.loads(told.stdout)["sources"]]
        assert sources == [(str(bad), 2, 1), (str(small), 4, 0)]
        done = run("ask", "What is a?", "-e", "http://e/a", *source, "--skip-bad", "-f", "json", "-q")
        notes = [note["text"] for note in json.loads(done.stdout)["notes"]]
        assert len([note for note in notes if f"1 bad statement was skipped in {bad}" in note]) == 1
    assert f"{bad} (2 triples, 1 bad statement skipped)" in run("info", "-k", bad, "--skip-bad").stdout
    piped = run("info", "-k", "-", "--input-format", "ttl", "-f", "json", stdin=small.read_bytes())
    assert [(s["source"], s["triples"]) for s in json.loads(piped.stdout)["sources"]] == [("-", 4)]
    assert run("index", "-k", small, "--embedder", "none").exit_code == 0
    assert run("find", "ann", "-k", small, "--embedder", "none").stdout.startswith("ex:a ! Ann")


def test_loading_says_from_what_size_on_another_engine_is_better(
    run: Run, tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = "from about 30 million on an engine of its own answers faster (QLever, Virtuoso, GraphDB)"
    for size, said in ((2_999_999_999, False), (4_000_000_000, True)):
        with (tmp_path / "big.nt").open("wb") as file:
            file.truncate(size)  # of zeros, which are no statement and take no place
        done = run("load", tmp_path / "big.nt", "--store", tmp_path / "store")
        assert (done.exit_code, f"some 40 million triples: {better}" in done.stderr) == (4, said)
        assert ("ask it by -k URL (docs/scale.md)" in done.stderr) is said
    monkeypatch.setattr("kgsparql.graphs.files.MANY_TRIPLES", 1)
    monkeypatch.setattr("kgsparql.graphs.sources.CACHE_FROM_BYTES", 1)
    assert [run("info", "-k", small).stderr.count("ask it by -k URL") for _ in range(2)] == [1, 0]


def test_info_says_what_can_be_asked(run: Run, small: Path) -> None:
    examples = json.loads(run("info", "-k", NOBEL, "-f", "json").stdout)["example_questions"]
    assert len(examples) == 3
    shown = run("info", "-k", NOBEL, "-f", "text").stdout
    assert shown.endswith("  Ask, for example:\n" + "".join(f"    {text}\n" for text in examples))
    answered = json.loads(run("ask", examples[0], "-k", NOBEL, "-f", "json", "--embedder", "none").stdout)
    assert answered["status"] == "answered"
    small.write_text("<http://e.org/q1> <http://e.org/p2> <http://e.org/q3> .", encoding="utf-8")
    assert json.loads(run("info", "-k", small, "-f", "json").stdout)["example_questions"] == []
    assert "Ask, for example" not in run("info", "-k", small).stdout
    wrong = run("info", "-k", small, "-f", "yaml")
    assert (wrong.exit_code, "one of: text, json" in wrong.stderr) == (2, True)


def test_info_shows_what_a_graph_is_read_as(run: Run, small: Path) -> None:
    lines = run("info", "--schema", "-k", NOBEL).stdout.splitlines()
    assert (
        "kind      nob:Laureate ! Nobel laureate (74), by rdfs:label: Aage Bohr; Abhijit Banerjee; Albert Einstein"
        in lines
    )
    assert "relation  dbo:award ! received the award (78): Nobel laureate → Nobel Prize; " in "\n".join(lines)
    data = json.loads(run("info", "--schema", "-k", NOBEL, "-f", "json").stdout)
    assert [len(data[what]) for what in ("kinds", "relations")] == [
        len([line for line in lines if line.startswith(what)]) for what in ("kind ", "relation ")
    ]
    spouse = next(one for one in data["relations"] if one["term"] == "dbo:spouse")
    assert spouse == {
        "term": "dbo:spouse", "label": "spouse", "also": [], "count": 42, "subjects": ["person"],
        "objects": ["person"], "stated": [], "example": spouse["example"],
    }  # fmt: skip
    small.write_text("<http://e.org/q1> <http://e.org/p2> <http://e.org/q3> .", encoding="utf-8")
    only = "relation  <http://e.org/p2> ! p2 (1): thing → thing; q1 — p2 → q3\n"
    assert run("info", "--schema", "-k", small).stdout == only


def test_info_counts_a_triple_of_three_graphs_once_and_says_what_it_does_not_list(run: Run, tmp_path: Path) -> None:
    data = json.loads(run("info", "-k", CORNERS, "-f", "json").stdout)
    quads = list(pyoxigraph.parse(path=str(CORNERS)))
    assert data["triples"] == len({quad.triple for quad in quads}) == len(quads) - 2
    counts = Counter(triple.predicate for triple in {quad.triple for quad in quads})
    counted = {entry["term"]: entry["count"] for entry in data["predicates"]}
    assert list(counted.values()) == sorted(counts.values(), reverse=True)[:10]
    assert all(counts[pyoxigraph.NamedNode(term.strip("<>"))] == count for term, count in counted.items())
    assert [s["triples"] for s in data["sources"]] == [len(quads)]
    many = tmp_path / "many.nq"
    many.write_text("".join(f"<http://e/s> <http://e/p> <http://e/o> <http://e/g{i:02}> .\n" for i in range(12)))
    data = json.loads(run("info", "-k", many, "-f", "json").stdout)
    assert (data["triples"], data["predicates"][0]["count"], len(data["named_graphs"])) == (1, 1, 10)
    assert data["cuts"] == ["named graphs: at most 10 of 12 taken"]
    assert data["cuts"][0] in run("info", "-k", many).stdout
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    (tmp_path / "names.ttl").write_text(f'<http://e/a> <http://e/p> 1 . <http://e/p> {label} "size"@en , "Größe"@de .')
    assert "! size (1)" in run("info", "-k", tmp_path / "names.ttl").stdout
    assert "! Größe (1)" in run("info", "-k", tmp_path / "names.ttl", "--lang", "de").stdout


def test_a_query_that_finds_nothing_says_why_beside_its_result(run: Run) -> None:
    done = run("query", "SELECT (COUNT(*) AS ?n) { ?c a dbo:Village }", "-k", NOBEL, "-f", "csv")
    assert (done.stdout.split(), done.stderr) == (["n", "0"], "nothing: the graph does not mention dbo:Village\n")
    assert run("query", "ASK { ?s a dbo:City }", "-k", NOBEL).stderr == ""


def test_a_store_beside_another_graph_is_one_line_that_says_what_to_do(run: Run, tmp_path: Path) -> None:
    assert run("load", NOBEL, "--store", tmp_path / "S").exit_code == 0
    for command in (("query", "ASK {}"), ("ask", "Who?"), ("info",)):
        done = run(*command, "-k", NOBEL, "-k", tmp_path / "S")
        told = f"error: {tmp_path / 'S'}: a store or an endpoint is asked alone, with no graph beside it"
        assert (done.exit_code, done.stderr.splitlines()[0]) == (2, f"{told} [E_INPUT]")
        assert "load all files into one store (kgsparql load FILES --store S)" in done.stderr


def test_query_knows_the_prefixes_of_the_graph(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "own.ttl"
    file.write_text("@prefix mine: <http://mine.example/> . mine:a mine:knows mine:b .")
    assert run("load", file, "--store", tmp_path / "S").exit_code == 0
    for source, stdin in ((("-k", tmp_path / "S"), None), (("-k", "-", "--input-format", "ttl"), file.read_bytes())):
        table = run("query", "SELECT ?o { mine:a mine:knows ?o }", *source, stdin=stdin)
        assert (table.exit_code, table.stdout.splitlines()[2]) == (0, "mine:b"), table.stderr
        turtle = run("query", "DESCRIBE mine:a", *source, "-v", stdin=stdin)
        assert "@prefix mine: <http://mine.example/> ." in turtle.stdout
        assert "    PREFIX mine: <http://mine.example/>\n    DESCRIBE mine:a" in turtle.stderr


def test_find_leaves_out_what_is_not_alike_and_a_file_holds_the_same(run: Run, small: Path, tmp_path: Path) -> None:
    known = run("find", "Feynman", "-k", NOBEL, "--embedder", "none")
    assert "Richard Feynman" in known.stdout.splitlines()[0]
    assert "Denmark" not in known.stdout
    assert known.stderr == ""
    assert "Institute for Advanced Study" in run("find", "institute", "-k", NOBEL, "--embedder", "none").stdout
    unknown = run("find", "Feynmann", "-k", NOBEL, "--embedder", "none")
    assert "Richard Feynman" in unknown.stdout.splitlines()[0]
    assert unknown.stderr == "no label has this word; the nearest:\n"
    assert run("find", "Feynmann Rychard", "-k", NOBEL, "--embedder", "none", "-q").stderr == ""
    for common in (("find", "Ann", "-k", small, "--embedder", "none"), ("info", "-k", small)):
        for name, form in (("out.txt", "text"), ("out.json", "json")):
            done = run(*common, "-o", tmp_path / name)
            assert (done.exit_code, done.stdout) == (0, ""), done.stderr
            assert (tmp_path / name).read_text() == run(*common, "-f", form).stdout != ""


def test_several_files_are_cited_by_name(run: Run, small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ttl"
    other.write_text('<http://ex.org/b> <http://ex.org/likes> <http://ex.org/c> .')  # fmt: skip
    done = run("ask", "Whom does Ben like?", "-k", small, "-k", other, "-f", "json", "--embedder", "none")
    answer = json.loads(done.stdout)
    sources = {
        t["predicate"]["value"]: {s["graph"] for s in t["sources"]}
        for item in answer["evidence"]
        for t in item["triples"]
    }
    assert sources["http://ex.org/likes"] == {str(other)}
    assert sources["http://ex.org/age"] == {str(small)}


def test_output_never_overwrites_what_is_read_and_goes_to_a_pipe_and_through_a_link(run: Run, tmp_path: Path) -> None:
    graph, store, folder, query = tmp_path / "g.ttl", tmp_path / "store", tmp_path / "folder", tmp_path / "q.rq"
    graph.write_text("<http://e.org/a> <http://e.org/p> 1 .\n", encoding="utf-8")
    query.write_text("SELECT * { ?s ?p ?o }", encoding="utf-8")
    folder.mkdir()
    for link in (tmp_path / "hard.ttl", folder / "hard.ttl"):
        link.hardlink_to(graph)
    (tmp_path / "soft.ttl").symlink_to(graph)
    assert run("load", graph, "--store", store, "-q").exit_code == 0
    asked = [
        (graph, graph), (graph, tmp_path / "hard.ttl"), (graph, tmp_path / "soft.ttl"),
        (graph, folder / ".." / "g.ttl"), (folder, folder / "hard.ttl"), (folder, graph), (store, store / "CURRENT"),
        (store, store / "new.ttl"), (graph, query),
    ]  # fmt: skip
    for kg, output in asked:
        done = run("query", query, "-k", kg, "-o", output)
        assert (done.exit_code, "would overwrite what is read" in done.stderr) == (2, True), (kg, output, done.stderr)
    assert run("check", graph, "-o", graph).exit_code == 2
    assert graph.read_text(encoding="utf-8").startswith("<http://e.org/a>")
    assert run("query", query, "-k", folder, "-o", folder / "new.csv").exit_code == 0
    real, link, pipe = tmp_path / "real.json", tmp_path / "link.json", tmp_path / "pipe"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to(real)
    asked = ("query", "ASK {}", "-k", NOBEL, "-f", "json", "-o")
    assert run(*asked, link).exit_code == 0
    assert (link.is_symlink(), "true" in real.read_text(encoding="utf-8")) == (True, True)
    assert real.stat().st_mode & 0o777 == 0o640
    os.mkfifo(pipe)
    reader = subprocess.Popen([shutil.which("cat") or "/bin/cat", pipe], stdout=subprocess.PIPE, text=True)
    assert run(*asked, pipe).exit_code == 0
    assert "true" in reader.communicate(timeout=30)[0]


def test_a_file_stays_as_it_was_until_the_new_one_is_whole(tmp_path: Path) -> None:
    old, ask = tmp_path / "old.csv", tmp_path / "answers.jsonl"
    for file in (old, ask):
        file.write_text("old\n", encoding="utf-8")
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    limited += "from kgsparql.__main__ import main; main()"  # as a disk that is full after 4,096 bytes

    def kgsparql(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", limited, *map(str, arguments), "-k", str(NOBEL), "-q"]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    done = kgsparql("query", "SELECT * { ?s ?p ?o }", "-o", old)
    assert (done.returncode, "cannot write" in done.stderr) == (2, True), done.stderr
    done = kgsparql("ask", "-", "--no-model", "--embedder", "none", "-o", ask, stdin="Who is Marie Curie?\n" * 3)
    assert (done.returncode, "cannot write" in done.stderr) == (2, True), done.stderr
    assert [file.read_text(encoding="utf-8") for file in (old, ask)] == ["old\n", "old\n"]
    assert {file.name for file in tmp_path.iterdir()} == {"old.csv", "answers.jsonl"}


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="a system without /dev/zero")
def test_a_file_that_an_option_names_is_read_up_to_a_limit(run: Run, tmp_path: Path) -> None:
    endless = tmp_path / "zero.rq"
    endless.symlink_to("/dev/zero")
    done = run("query", endless, "-k", NOBEL)
    assert (done.exit_code, "zero.rq: larger than" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(("closing", "exit_code", "says"), [
    (">&-", 2, "cannot write to stdout"), (">/dev/full", 4, "No space left"), ("<&-", 0, ""), ("2>&-", 0, ""),
    ("| head -1; exit ${PIPESTATUS[0]}", 0, ""),
])  # fmt: skip
def test_a_stream_that_is_closed_full_or_read_by_nobody(closing: str, exit_code: int, says: str) -> None:
    if closing.startswith(">"):  # also for a text of ours
        text = "--version" if exit_code == 2 else "ask --help"
        line = f"{sys.executable} -m kgsparql {text} {closing}"
        done = subprocess.run(["/bin/sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.startswith("error: cannot write to stdout: ")
    command = "query 'ASK {}' -f json" if exit_code else "ask 'Who is Marie Curie?' --no-model -q -f json"
    line = f"{sys.executable} -m kgsparql {command} -k {NOBEL} {closing}"
    bash = shutil.which("bash") or "/bin/bash"
    done = subprocess.run([bash, "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == exit_code, done.stderr
    assert says in done.stderr
    assert not any(word in done.stderr for word in ("Traceback", "Broken"))
    assert bool(done.stdout) == (exit_code == 0)


def test_what_ends_its_lines_as_on_windows_is_read_as_what_does_not(tmp_path: Path, run: Run) -> None:
    texts = {
        "g.ttl": '@prefix : <http://e.org/> .\n# a comment\n:a :name "Ann" ;\n   :knows :b .\n:b :name "Bob" .\n',
        "q.rq": "\ufeffSELECT ?s ?o {\n ?s ?p ?o # a comment\n}\nORDER BY ?s ?o\n",
        "q.jsonl": '{"id": "1", "question": "Where?", "answers": ["Warsaw"]}\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode())
    found = run("query", tmp_path / "q.rq", "-k", tmp_path / "g.ttl", "-f", "csv")
    assert len(found.stdout.splitlines()) == 4
    assert "Ann\n" in found.stdout.replace("\r\n", "\n")
    (question,) = load(tmp_path / "q.jsonl").questions
    assert (question.text, [one.label for one in question.answers or ()]) == ("Where?", ["Warsaw"])
