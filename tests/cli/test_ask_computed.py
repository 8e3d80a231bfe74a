"""``kgsparql ask`` and ``plan`` where something is computed."""

import csv
import io
import json
from operator import itemgetter
from pathlib import Path

import pytest

from kgsparql import IRI, KnowledgeBase, Literal, PropertyPath
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import read_plan_file
from kgsparql.plans.running import rows_from_facts
from tests.cli.conftest import Run
from tests.world import NOBEL

SUPPLIERS = "How many products does each supplier have?"
SUPPLIED = [("Exotic | Liquids", 1209), ("日本の会社", 3), *((f"Firm {i}", 1) for i in range(10))]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Products, and who supplies them."""
    lines = [
        "@prefix : <http://e.org/> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
        ":Product a rdfs:Class ; rdfs:label 'product' .", ":Supplier a rdfs:Class ; rdfs:label 'supplier' .",
        ":suppliedBy rdfs:label 'supplied by' .",
    ]  # fmt: skip
    for s, (name, count) in enumerate(SUPPLIED):
        lines.append(f":s{s} a :Supplier ; rdfs:label '{name}' .")
        lines += [f":p{s}_{i} a :Product ; rdfs:label 'Product {s} {i}' ; :suppliedBy :s{s} ." for i in range(count)]
    file = tmp_path_factory.mktemp("shop") / "shop.ttl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_a_table_is_aligned_for_a_person_and_its_rows_are_not_said_twice(run: Run, shop: Path) -> None:
    done = run("ask", SUPPLIERS, "-k", shop, "--no-model")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        "  item              number", "  Exotic | Liquids   1,209", "  日本の会社             3", lines[3],
    ]  # fmt: skip
    assert {line.split()[0] for line in lines[3:11]} == {"Firm"}
    assert lines[11] == "  +2 more: -f csv  [Q1]"
    assert lines[12].startswith("(computed: for each ")
    assert done.stdout.count("1,209") == done.stdout.count("日本の会社") == 1
    assert "Answers" not in lines
    page = run("ask", SUPPLIERS, "-k", shop, "--no-model", "-f", "md").stdout
    assert "| item | number |\n| --- | --- |\n| Exotic \\| Liquids | 1,209 |\n| 日本の会社 | 3 |\n" in page
    assert "\n\n+2 more: -f csv  \\[Q1\\]\n" in page


def test_a_table_is_a_row_or_a_line_for_each_group_and_rows_that_a_limit_cut_are_said(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("ask", SUPPLIERS, "-k", shop, "--no-model", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [*rows[0]] == ["status", "item", "item_iri", "number", "confidence", "reason"]
    assert len(rows) == len(SUPPLIED)
    assert sorted((row["item"], int(row["number"])) for row in rows) == sorted(SUPPLIED)
    told = {"status": "answered", "confidence": rows[0]["confidence"], "reason": ""}
    assert rows[0] == {"item": "Exotic | Liquids", "item_iri": "http://e.org/s0", "number": "1209", **told}
    assert float(rows[0]["confidence"]) > 0.8
    asked = ("-k", shop, "--no-model", "-f", "plain")
    lines = run("ask", SUPPLIERS, *asked).stdout.splitlines()
    assert (lines[0], lines[1], len(lines)) == ("Exotic | Liquids | 1209", "日本の会社 | 3", len(SUPPLIED))
    assert run("ask", "-", *asked, stdin=SUPPLIERS).stdout == "\t".join(lines) + "\n"
    monkeypatch.setattr("kgsparql.plans.running.MOST_ROWS", 5)
    monkeypatch.setattr("kgsparql.rendering.rows._AT_ONCE", 7)
    done = run("ask", SUPPLIERS, "-k", shop, "--no-model", "-f", "csv")
    again = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["item_iri"] for row in again] == [row["item_iri"] for row in rows], "written as they are read"
    assert not done.stderr
    whole = json.loads(run("ask", SUPPLIERS, "-k", shop, "--no-model", "-f", "json").stdout)["computed"]
    assert [[*map(itemgetter("value"), row)] for row in whole["rows"]] == [
        [row["item_iri"], row["number"]] for row in rows
    ]
    assert not whole["is_cut"]
    done = run("ask", SUPPLIERS, *asked)
    assert len(done.stdout.splitlines()) == 5
    assert done.stderr == "rows: at most 5 taken, there are more\n"
    assert "rows: at most 5 taken, there are more" in run("ask", SUPPLIERS, "-k", shop, "--no-model").stdout


def test_every_column_of_a_table_is_there(run: Run) -> None:
    asked = ("ask", "List the symbol and the atomic number of every chemical element.", "-k", NOBEL, "--no-model")
    done = run(*asked, "-r", "query_plan", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    by_name = {row["item"]: row for row in rows}
    assert len(rows) == 11
    assert (by_name["argon"]["chemical symbol"], by_name["argon"]["atomic number"]) == ("Ar", "18")
    assert by_name["argon"]["item_iri"] == "http://dbpedia.org/resource/Argon"
    assert "chemical symbol_iri" not in rows[0]


def test_a_value_alone_is_plain_and_one_row(run: Run, shop: Path) -> None:
    for question, plain, shown in (
        ("How many products are there?", "1222", "1,222 [Q1]"), ("Are there any products?", "true", "yes [Q1]"),
    ):  # fmt: skip
        asked = ("ask", question, "-k", shop, "--no-model")
        assert run(*asked, "-f", "plain").stdout == f"{plain}\n"
        (row,) = csv.DictReader(io.StringIO(run(*asked, "-f", "csv").stdout))
        assert (row["status"], row["value"], row["markers"]) == ("answered", plain, "Q1")
        lines = run(*asked).stdout.splitlines()
        assert (lines[0], "Answers" in lines) == (shown, False)


def test_a_name_that_is_no_label_may_be_a_value(run: Run, tmp_path: Path) -> None:
    lines = [
        "@prefix : <http://e.org/> .", "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
        ":Supplier a rdfs:Class ; rdfs:label 'supplier' .", ":locality rdfs:label 'address locality' .",
        *(f":s{i} a :Supplier ; rdfs:label 'Firm {i}' ; :locality '{town}' ."
          for i, town in enumerate(["Porto", "Toulouse", "Gdynia"])),
    ]  # fmt: skip
    (tmp_path / "towns.ttl").write_text("\n".join(lines), encoding="utf-8")
    done = run("ask", "Which suppliers do we have in Toulouse?", "-k", tmp_path / "towns.ttl", "--no-model")
    assert done.exit_code == 0
    assert done.stdout.startswith("Firm 1 [Q1]\n(found: suppliers whose address locality is Toulouse)\n")
    assert "not found in the graph" not in done.stdout
    unknown = run("ask", "Which suppliers do we have in Lyon?", "-k", tmp_path / "towns.ttl", "--no-model")
    assert unknown.exit_code == 3
    assert "nothing in this graph is called 'Lyon'" in unknown.stdout


DBO = "http://dbpedia.org/ontology/"
LAUREATES = a.Instances(IRI("https://kgsparql.example/nobel/Laureate"))
BORN = a.Value(PropertyPath.of(DBO + "birthDate"), "date")


def test_a_plan_of_what_is_not_named_is_said(run: Run) -> None:
    done = run("plan", "blah xyzzy?", "-k", NOBEL)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "nothing in 'blah xyzzy?' is called so in this graph" in done.stderr


def test_a_zero_says_where_the_plan_ran_dry_and_facts_give_the_value_again(nobel: KnowledgeBase) -> None:
    young = a.Where(LAUREATES, BORN, ">", Literal("2005", datatype=IRI("http://www.w3.org/2001/XMLSchema#gYear")))
    found = nobel.run(a.Count(young))
    assert found.value is not None
    assert (found.value.value, found.empty_part) == ("0", young)  # type: ignore[union-attr]
    alive = nobel.run(a.Lacks(LAUREATES, PropertyPath.of(DBO + "deathDate")))
    assert alive.items
    assert alive.all_facts
    number: a.Number = a.Count(LAUREATES)
    for _ in range(9):
        number = a.Calculated("+", number, a.Count(LAUREATES))
    found = nobel.run(number)
    assert ((found.value,),) == rows_from_facts(number, found.query, found.facts) == ((Literal(10 * 74),),)


def test_the_plans_of_a_question_are_shown_and_the_likeliest_is_computed(run: Run) -> None:
    done = run("plan", "How many laureates worked at University of Cambridge in purple?", "-k", NOBEL, "-v")
    assert (done.exit_code, done.stdout != "") == (3, True), done.stderr  # as of ask: it is no sure answer
    lines = done.stdout.split("\n")
    assert any("entity  University of Cambridge → University of Cambridge" in line for line in lines)
    (chosen,) = (line for line in lines if line.startswith("* "))
    assert chosen.endswith("laureates that worked at University of Cambridge; leaves out purple")
    assert "no sure answer: 'purple' is left out" in lines
    assert "SELECT" in done.stdout


def test_a_question_as_json_has_its_plans_and_the_query_of_the_likeliest(run: Run, nobel: KnowledgeBase) -> None:
    own = json.loads(run("plan", "How many Nobel laureates are there?", "-k", NOBEL, "-f", "json").stdout)
    assert own["named"][0]["kind"] == "class"
    assert own["candidates"][0]["plan"] == own["plan"]
    found, row = nobel.run(read_plan_file(own)), nobel.query(own["query"]).solutions[0]
    assert found.value is not None
    assert found.value == row["value"]
