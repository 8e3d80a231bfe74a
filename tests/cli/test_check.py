"""``kgsparql check``: what stands is said to stand, and what changed is named, and nothing else."""

import json
from dataclasses import replace
from pathlib import Path

from kgsparql import IRI, Triple, open_graph
from kgsparql.answering.kept_answers import KeptAnswer, KeptItem
from kgsparql.answering.recheck import recheck
from tests.cli.conftest import Run
from tests.world import BORN, CHILDREN, NOBEL

NAMED = "Who are the children of Marie Curie?"
QUESTIONS = [
    BORN, CHILDREN, "Was Linus Pauling born in Germany?", "Name the three oldest universities.",
    "For each author, the number of books.", "Which scientists worked at the same institution as Richard Feynman?",
    "Who painted Xyzzyplugh?",
]  # fmt: skip
DBPEDIA = "http://dbpedia.org/"
QUERY = f"SELECT DISTINCT ?answer {{ <{DBPEDIA}resource/Marie_Curie> <{DBPEDIA}ontology/birthPlace> ?answer }}"
PARENT = "dbo:child dbr:Irène_Joliot-Curie, dbr:Ève_Curie ;\n    dbo:field dbr:Physics, dbr:Chemistry ;"
"""Of Marie Curie; her husband has the same children, and other fields."""


_ASKED: dict[tuple[str, str], str] = {}


def asked(run: Run, question: str, file: Path, *, kg: object = NOBEL) -> Path:
    """The answer in a file; one from the usual graph is asked for once."""
    key = question, file.suffix
    if kg != NOBEL or key not in _ASKED:
        own = ("-r", "path_ranking") if question == BORN else ()  # of several queries one can be spoilt
        run("ask", question, "-k", kg, "-q", "--no-model", *own, "-o", file, "-f", file.suffix[1:])
        if kg == NOBEL:
            _ASKED[key] = file.read_text(encoding="utf-8")
    else:
        file.write_text(_ASKED[key], encoding="utf-8")
    assert file.read_text()
    return file


def changed(tmp_path: Path, old: str, new: str) -> Path:
    """The graph with one place of its text changed."""
    text = NOBEL.read_text()
    assert text.count(old) == 1
    (tmp_path / "nobel.ttl").write_text(text.replace(old, new))
    return tmp_path / "nobel.ttl"


def test_on_an_unchanged_graph_all_stands(run: Run, tmp_path: Path) -> None:
    done = run("check", asked(run, BORN, tmp_path / "a.json"), "-k", NOBEL)
    assert (done.exit_code, done.stdout.startswith("stands: " + BORN)) == (0, True), done.output
    lines = run("ask", "-", "-k", NOBEL, "-q", "--no-model", stdin="\n".join(QUESTIONS)).stdout_bytes
    done = run("check", "-", "-k", NOBEL, stdin=lines)
    assert (done.exit_code, done.stdout.count("stands: ")) == (0, len(QUESTIONS)), done.output


def test_a_deleted_triple_a_new_answer_and_a_moved_number_are_named_and_nothing_else(run: Run, tmp_path: Path) -> None:
    comment = 'first person to receive two Nobel Prizes."@en ;\n    dbo:birthDate "1867-11-07"^^xsd:date ;\n'
    kg = changed(tmp_path, comment + "    dbo:birthPlace dbr:Warsaw ;", comment)
    born = asked(run, BORN, tmp_path / "born.json")
    done = run("check", born, "-k", kg)
    assert done.exit_code == 3
    assert " there, 1 gone\n    gone    dbr:Marie_Curie dbo:birthPlace dbr:Warsaw\n" in done.stdout
    found = json.loads(run("check", born, "-k", kg, "-f", "json").stdout)
    lost = f"<{DBPEDIA}resource/Marie_Curie> <{DBPEDIA}ontology/birthPlace> <{DBPEDIA}resource/Warsaw>"
    assert {**found["triples"], "found": 0} == {"found": 0, "gone": [lost], "unnamed": 0, "unknown": 0}
    differing = [item for item in found["items"] if item["verdict"] != "stands"]
    assert [(item["marker"], item["gone"], item["new"]) for item in differing] == [
        ("P1", [[f"<{DBPEDIA}resource/Warsaw>"]], [])
    ]
    kg = changed(tmp_path, PARENT, PARENT.replace("dbo:child", "dbo:child dbr:Third,"))
    named, children = (asked(run, q, tmp_path / f"{i}.json") for i, q in enumerate((NAMED, CHILDREN)))
    done = run("check", named, "-k", kg)
    assert (done.exit_code, done.stdout.count("new:")) == (3, 1)
    assert "new: dbr:Third\n" in done.stdout
    assert "0 gone" in done.stdout
    done = run("check", children, "-k", kg)
    assert (done.exit_code, "was 2, now 3" in done.stdout) == (3, True)


def test_a_value_that_the_cited_facts_do_not_give_is_named(run: Run, tmp_path: Path) -> None:
    kept = json.loads(asked(run, CHILDREN, tmp_path / "a.json").read_text())
    (item,) = (one for one in kept["evidence"] if one["kind"] == "computed")
    assert item["text"].endswith(" = 2 (2 facts)")
    item["triples"].pop()
    (tmp_path / "a.json").write_text(json.dumps(kept))
    done = run("check", tmp_path / "a.json", "-k", NOBEL)
    assert (done.exit_code, " 0 gone\n" in done.stdout) == (3, True)
    assert "changed: the facts that it cites give another value than it says\n" in done.stdout


def test_many_answers_in_one_file_and_one_of_them_changed(run: Run, tmp_path: Path) -> None:
    lines = [asked(run, q, tmp_path / "one.jsonl").read_text() for q in (BORN, CHILDREN)]
    own = 'Nobel Prizes."@en ;\n    dbo:birthDate "1867-11-07"^^xsd:date ;\n    dbo:birthPlace dbr:Warsaw'
    kg = changed(tmp_path, own, own.replace("Warsaw", "Paris"))
    done = run("check", "-", "-k", kg, stdin="".join(lines).encode())
    assert done.exit_code == 3
    assert [part.split(":")[0] for part in done.stdout.split("\n\n")] == ["CHANGED", "stands"]
    (tmp_path / "a.jsonl").write_text(lines[0].replace("Where was", "Where\u2028was") * 2)
    done = run("check", tmp_path / "a.jsonl", "-k", NOBEL)
    assert (done.exit_code, done.stdout.count("stands: ")) == (0, 2), "another line end ends no line"


def test_many_files_are_checked_and_a_graph_of_another_name_is_no_difference(run: Run, tmp_path: Path) -> None:
    born, children = asked(run, BORN, tmp_path / "a.json"), asked(run, CHILDREN, tmp_path / "b.jsonl")
    moved = tmp_path / "moved.ttl"
    moved.write_bytes(NOBEL.read_bytes())
    done = run("check", born, children, "-k", moved)
    assert (done.exit_code, done.stdout.count("stands: ")) == (0, 2), done.output
    assert run("check", born, children, "-k", changed(tmp_path, PARENT, "")).exit_code == 3


def test_damaged_lines_are_named_and_keep_none_from_being_checked(run: Run, tmp_path: Path) -> None:
    """An answer, damaged lines, a line of a question that failed, and another answer."""
    first, last = (asked(run, question, tmp_path / "one.jsonl").read_bytes() for question in (BORN, CHILDREN))
    failed = b'{"id": 5, "question": "", "status": "empty", "answers": [], "error": null}\n'
    file = tmp_path / "a.jsonl"
    file.write_bytes(first + b'{"question": "Where was\n{"question": "\xff"}\n17\n' + failed + last)
    why = ["line 2: not JSON, or cut off", "line 3: not UTF-8 at byte 14", "line 4: this is no answer of kgsparql: "]
    done = run("check", file, "-k", NOBEL)
    assert done.exit_code == 4, done.output
    assert [part.split(":")[0] for part in done.stdout.split("\n\n")] == ["stands", "stands", "NOT READ"]
    assert "NOT READ: 3 of 6\n  " + "\n  ".join(why) in done.stdout
    assert "no answer to check: 1 (" in done.stdout
    kg = changed(tmp_path, PARENT, PARENT.replace("dbo:child", "dbo:child dbr:Third,"))
    done = run("check", file, "-k", kg, "-f", "json")
    assert done.exit_code == 4, "though an answer has changed"
    found = json.loads(done.stdout)
    assert [one["stands"] for one in found["answers"]] == [True, False]
    assert (found["damaged"], found["unanswered"]) == (3, 1)
    assert [one["number"] for one in found["damaged_lines"]] == [2, 3, 4]
    assert all(own["why"].startswith(said) for own, said in zip(found["damaged_lines"], why, strict=True))
    one = json.loads(asked(run, BORN, tmp_path / "one.json").read_text())
    (tmp_path / "list.json").write_text(json.dumps([one, {}, one]))
    done = run("check", tmp_path / "list.json", "-k", NOBEL)
    assert (done.exit_code, "NOT READ: 1 of 3\n  object 2: this is no answer" in done.stdout) == (4, True)


def test_an_answer_from_another_graph_does_not_stand_and_blank_nodes_count_apart(run: Run, tmp_path: Path) -> None:
    kg = tmp_path / "blank.ttl"
    kg.write_text(
        "@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':ada rdfs:label "Ada" ; :address [ :city :Bonn ] . :Bonn rdfs:label "Bonn" . :city rdfs:label "city" .\n'
        ':address rdfs:label "address" .'
    )
    done = run("check", asked(run, BORN, tmp_path / "a.json"), "-k", kg)
    assert done.exit_code == 3
    assert "triples   0 there, " in done.stdout
    done = run("check", asked(run, "Which city is the address of Ada in?", tmp_path / "b.json", kg=kg), "-k", kg)
    assert (done.exit_code, "with a blank node" in done.stdout) == (0, True), done.output


def test_a_hostile_query_is_refused_and_the_rest_is_checked(run: Run, tmp_path: Path) -> None:
    file = asked(run, BORN, tmp_path / "a.json")
    text = file.read_text()
    assert QUERY in text
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    for query, said in (
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "1:12: SERVICE is not run here"),
        ("DELETE WHERE { ?s ?p ?o }", "1:1: DELETE is not run here"),
        ("SELECT * " + "{" * 5_000 + "}" * 5_000, "deep"),
        (endless, "not told: the query was stopped"),
    ):
        file.write_text(text.replace(QUERY, query))
        is_endless = query == endless
        done = run("check", file, "-k", NOBEL, "--max-seconds", "2" if is_endless else "60")
        assert (done.exit_code, said in done.stdout) == (6 if is_endless else 3, True), done.stdout
        assert is_endless or all(one in done.stdout for one in ("queries   4 of 5 give the same", "refused: "))


def test_what_is_no_answer_or_was_changed_by_hand_cut_or_huge_is_an_error(run: Run, tmp_path: Path) -> None:
    for content, said in {
        b"": "there is no answer in it", b"\xff\xfe": "not UTF-8", b"[" * 100_000: "not JSON",
        b"<http://e.org/a> <http://e.org/p> 1 .": "not JSON",
        b'{"question": "x"}': "no 'answers'", b'{"evidence": 1, "cited": 2}': "no answer of kgsparql",
        b"[]": "there is no answer in it", b'{"status": []}': "no \'answers\'", b'{"a": "\xff"}': "not UTF-8",
    }.items():  # fmt: skip
        done = run("check", "-", "-k", NOBEL, stdin=content)
        assert (done.exit_code, said in done.stderr) == (4, True), (content[:40], done.stderr)
    data, file = asked(run, BORN, tmp_path / "a.json").read_bytes(), tmp_path / "changed.json"
    for ends in (b"1e999", b'"many"', b"9" * 5000):
        assert b'"ends": 1,' in data
        file.write_bytes(data.replace(b'"ends": 1,', b'"ends": ' + ends + b",", 1))
        done = run("check", file, "-k", NOBEL)
        assert (done.exit_code, "JSON" in done.stderr or "kgsparql" in done.stderr) == (4, True), (ends, done.output)
    file.write_bytes(data[: len(data) // 2])
    done = run("check", file, "-k", NOBEL)
    assert (done.exit_code, "cut off" in done.stderr) == (4, True)
    with file.open("wb") as opened:
        opened.truncate(100 * 2**20)
    done = run("check", file, "-k", NOBEL)
    assert (done.exit_code, "larger than 67,108,864 bytes" in done.stderr) == (2, True)


def test_more_than_was_kept_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "kept.ttl"
    e = "http://e.org/"
    lines = [f"<{e}a> <{e}p> <{e}{name}> .\n<{e}{name}> <{e}q> {len(name)} ." for name in ("b", "bb", "bbb")]
    file.write_text("\n".join(lines))
    walk = f"SELECT DISTINCT ?n0 ?n1 {{ VALUES ?n0 {{ <{e}a> }} ?n0 <{e}p> ?n1 }}"
    table = f"SELECT DISTINCT ?row ?answer ?of {{ <{e}a> <{e}p> ?answer . OPTIONAL {{ ?answer <{e}q> ?of }} }}"
    one_of_many = KeptItem(marker="P1", text="", is_cited=True, query=walk, is_part=True)
    described_in_part = KeptItem(marker="P2", text="", is_cited=True, query=table, ends=3)
    cited = tuple(Triple(IRI(f"{e}a"), IRI(f"{e}p"), IRI(f"{e}{name}")) for name in ("b", "bb", "bbb"))
    answer = KeptAnswer("?", "answered", "", (), (one_of_many, described_in_part), cited[:1], cited[1:])
    alone = replace(answer, items=(one_of_many,), retrieved=())
    with_all = replace(answer, items=(described_in_part,))
    graph = open_graph(file)
    for kept in (alone, with_all):
        found = recheck(kept, graph)
        assert [item.verdict for item in found.items] == ["stands"]
    file.write_text("\n".join([*lines, f"<{e}a> <{e}p> <{e}new> ."]))
    changed_item = recheck(with_all, open_graph(file)).items[0]
    assert changed_item.verdict == "changed"
    assert changed_item.new == ((IRI(f"{e}new"),),)
