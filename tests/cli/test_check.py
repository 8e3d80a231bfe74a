"""``kgsparql check`` and ``diff``: what stands is said to stand, and what changed is named, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph
import pytest

from tests.cli.conftest import Run
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
BORN = "Where was Marie Curie born?"
CHILDREN = "How many children did Marie Curie have?"
NAMED = "Who are the children of Marie Curie?"
QUESTIONS = [
    BORN,
    CHILDREN,
    "Was Linus Pauling born in Germany?",
    "Name the three oldest universities.",
    "For each author, the number of books.",
    "Which scientists worked at the same institution as Richard Feynman?",
    "Who painted Xyzzyplugh?",
]
DBPEDIA = "http://dbpedia.org/"
QUERY = f"SELECT DISTINCT ?answer {{ <{DBPEDIA}resource/Marie_Curie> <{DBPEDIA}ontology/birthPlace> ?answer }}"
PARENT = "dbo:child dbr:Irène_Joliot-Curie, dbr:Ève_Curie ;\n    dbo:field dbr:Physics, dbr:Chemistry ;"
"""Of Marie Curie; her husband has the same children, and other fields."""


def asked(run: Run, question: str, file: Path, *, kg: object = NOBEL) -> Path:
    run("ask", question, "-k", kg, "-q", "--no-model", "-o", file, "-f", file.suffix[1:])
    assert file.read_text()
    return file


def changed(tmp_path: Path, old: str, new: str) -> Path:
    """The graph with one place of its text changed."""
    text = NOBEL.read_text()
    assert text.count(old) == 1
    (tmp_path / "nobel.ttl").write_text(text.replace(old, new))
    return tmp_path / "nobel.ttl"


@pytest.mark.parametrize("suffix", ["trig", "json", "jsonl"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_on_an_unchanged_graph_all_stands(run: Run, tmp_path: Path, question: str, suffix: str) -> None:
    done = run("check", asked(run, question, tmp_path / f"a.{suffix}"), "-k", NOBEL)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("stands: " + question)


@pytest.mark.parametrize("suffix", ["trig", "json"])
def test_a_deleted_triple_is_named_and_nothing_else(run: Run, tmp_path: Path, suffix: str) -> None:
    file = asked(run, BORN, tmp_path / f"a.{suffix}")
    comment = 'first person to receive two Nobel Prizes."@en ;\n    dbo:birthDate "1867-11-07"^^xsd:date ;\n'
    kg = changed(tmp_path, comment + "    dbo:birthPlace dbr:Warsaw ;", comment)
    done = run("check", file, "-k", kg)
    assert done.exit_code == 3
    assert " there, 1 gone\n    gone    dbr:Marie_Curie dbo:birthPlace dbr:Warsaw\n" in done.stdout
    found = json.loads(run("check", file, "-k", kg, "-f", "json").stdout)
    lost = f"<{DBPEDIA}resource/Marie_Curie> <{DBPEDIA}ontology/birthPlace> <{DBPEDIA}resource/Warsaw>"
    assert found["triples"]["found"] > 2
    assert {**found["triples"], "found": 0} == {"found": 0, "gone": [lost], "unnamed": 0, "unknown": 0}
    differing = [item for item in found["items"] if item["verdict"] != "stands"]
    assert [(item["marker"], item["gone"], item["new"]) for item in differing] == [
        ("P1", [[f"<{DBPEDIA}resource/Warsaw>"]], [])
    ]


@pytest.mark.parametrize("suffix", ["trig", "json"])
def test_a_new_answer_and_a_moved_number_are_named(run: Run, tmp_path: Path, suffix: str) -> None:
    born, children = (asked(run, q, tmp_path / f"{i}.{suffix}") for i, q in enumerate((NAMED, CHILDREN)))
    kg = changed(tmp_path, PARENT, PARENT.replace("dbo:child", "dbo:child dbr:Third,"))
    done = run("check", born, "-k", kg)
    assert done.exit_code == 3
    assert done.stdout.count("new:") == 1
    assert "new: dbr:Third\n" in done.stdout
    assert "0 gone" in done.stdout
    done = run("check", children, "-k", kg)
    assert done.exit_code == 3
    assert "was 2, now 3" in done.stdout


def test_many_answers_in_one_file_and_one_of_them_changed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        "".join(asked(run, q, tmp_path / "one.jsonl").read_text() for q in (BORN, CHILDREN))
    )
    own = 'Nobel Prizes."@en ;\n    dbo:birthDate "1867-11-07"^^xsd:date ;\n    dbo:birthPlace dbr:Warsaw'
    kg = changed(tmp_path, own, own.replace("Warsaw", "Paris"))
    done = run("check", "-", "-k", kg, stdin=(tmp_path / "a.jsonl").read_bytes())
    assert done.exit_code == 3
    assert [part.split(":")[0] for part in done.stdout.split("\n\n")] == ["CHANGED", "stands"]


def test_an_answer_from_another_graph_is_said_to_be_one(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.ttl"
    other.write_text("<http://e.org/a> <http://e.org/p> <http://e.org/b> .")
    done = run("check", asked(run, BORN, tmp_path / "a.trig"), "-k", other)
    assert done.exit_code == 3
    assert f"answered from {NOBEL}, checked on {other}" in done.stdout
    assert "triples   0 there, " in done.stdout


def test_blank_nodes_are_counted_apart(run: Run, tmp_path: Path) -> None:
    kg = tmp_path / "blank.ttl"
    kg.write_text(
        "@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':ada rdfs:label "Ada" ; :address [ :city :Bonn ] . :Bonn rdfs:label "Bonn" . :city rdfs:label "city" .\n'
        ':address rdfs:label "address" .'
    )
    done = run("check", asked(run, "Which city is the address of Ada in?", tmp_path / "a.trig", kg=kg), "-k", kg)
    assert done.exit_code == 0, done.output
    assert "with a blank node" in done.stdout


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "SERVICE is not run here"),
        ("DELETE WHERE { ?s ?p ?o }", "DELETE is not run here"),
        ("SELECT * " + "{" * 5_000 + "}" * 5_000, "deep"),
    ],
)
def test_a_hostile_query_is_refused_and_the_rest_is_checked(run: Run, tmp_path: Path, query: str, said: str) -> None:
    file = asked(run, BORN, tmp_path / "a.trig")
    assert file.read_text().count(QUERY) == 1
    file.write_text(file.read_text().replace(QUERY, query))
    done = run("check", file, "-k", NOBEL)
    assert done.exit_code == 3
    assert "refused:" in done.stdout
    assert said in done.stdout
    assert "queries   4 of 5 give the same" in done.stdout


def test_a_query_that_never_ends_is_stopped(run: Run, tmp_path: Path) -> None:
    file = asked(run, BORN, tmp_path / "a.trig")
    slow = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    file.write_text(file.read_text().replace(QUERY, slow))
    done = run("check", file, "-k", NOBEL, "--max-seconds", "2")
    assert done.exit_code == 6
    assert "not told: the query was stopped" in done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is no answer of kgsparql in it"),
        (b"<http://e.org/a> <http://e.org/p> 1 .", "there is no answer of kgsparql in it"),
        (b"\xff\xfe", "not TriG"),
        (b"[" * 100_000, "not JSON"),
        (b'{"question": "x"}', "no 'evidence'"),
        (b'{"evidence": 1, "cited": 2}', "no answer of kgsparql"),
        (b"[]", "there is no answer in it"),
        (b'{"a": "\xff"}', "not UTF-8"),
    ],
)
def test_what_is_no_answer_is_an_error(run: Run, content: bytes, said: str) -> None:
    done = run("check", "-", "-k", NOBEL, stdin=content)
    assert done.exit_code == 4
    assert said in done.stderr


@pytest.mark.parametrize("suffix", ["trig", "json"])
def test_half_a_file_is_an_error(run: Run, tmp_path: Path, suffix: str) -> None:
    file = asked(run, BORN, tmp_path / f"a.{suffix}")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    done = run("check", file, "-k", NOBEL)
    assert done.exit_code == 4
    assert "cut off" in done.stderr


def test_a_huge_file_is_refused_before_it_is_read(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.trig"
    with file.open("wb") as opened:
        opened.truncate(100 * 2**20)
    done = run("check", file, "-k", NOBEL)
    assert done.exit_code == 2
    assert "more than 64 MiB" in done.stderr


def test_diff_names_what_differs_across_formats(run: Run, tmp_path: Path) -> None:
    trig, as_json = (asked(run, CHILDREN, tmp_path / f"a.{suffix}") for suffix in ("trig", "json"))
    assert run("diff", trig, as_json).exit_code == 0
    kg = changed(tmp_path, PARENT, PARENT.replace("dbo:child", "dbo:child dbr:Third,"))
    done = run("diff", trig, asked(run, CHILDREN, tmp_path / "b.trig", kg=kg))
    assert done.exit_code == 3
    assert "values    - 2\n  values    + 3\n" in done.stdout
    assert "triples   + dbr:Marie_Curie dbo:child dbr:Third" in done.stdout
    assert "triples   -" not in done.stdout


@pytest.mark.parametrize("question", QUESTIONS[:4])
def test_a_nanopublication_has_its_four_graphs_and_conforms(run: Run, tmp_path: Path, question: str) -> None:
    pyshacl = pytest.importorskip("pyshacl")
    import rdflib

    made = run("ask", question, "-k", NOBEL, "-q", "--no-model", "-f", "nanopub").stdout
    quads = list(pyoxigraph.parse(made, pyoxigraph.RdfFormat.TRIG))
    parts = {quad.graph_name.value.rpartition("#")[2] for quad in quads}
    assert parts == {"head", "assertion", "provenance", "pubinfo"}
    held = {q.triple for q in pyoxigraph.parse(NOBEL.read_bytes(), pyoxigraph.RdfFormat.TURTLE)}
    asserted = [q.triple for q in quads if q.graph_name.value.endswith("#assertion")]
    assert asserted
    assert all(triple in held for triple in asserted if not triple.subject.value.startswith("urn:"))
    shapes = rdflib.Graph().parse(FIXTURES.parent / "ontologies" / "shapes.ttl")
    lines = [f"{quad.triple} ." for quad in quads]
    assert pyshacl.validate(rdflib.Graph().parse(data="\n".join(lines), format="nt"), shacl_graph=shapes)[0]
    for needed in ("hasProvenance", "hasAssertion", "wasDerivedFrom", "terms/creator"):
        without = "\n".join(line for line in lines if needed not in line)
        assert not pyshacl.validate(rdflib.Graph().parse(data=without, format="nt"), shacl_graph=shapes)[0], needed


def test_what_the_graph_does_not_carry_is_no_nanopublication(run: Run) -> None:
    done = run("ask", QUESTIONS[-1], "-k", NOBEL, "-q", "--no-model", "-f", "nanopub")
    assert done.exit_code == 3
    assert "nothing to publish" in done.stderr
