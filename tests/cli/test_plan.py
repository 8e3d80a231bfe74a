"""``kgsparql plan``: the plans of a question, and a plan in a file, computed, and again from the facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import kgsparql
from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal
from tests.cli.conftest import Run
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
PLANS = FIXTURES / "plans"
DBO = "http://dbpedia.org/ontology/"
LAUREATES = a.Instances(IRI("https://kgsparql.example/nobel/Laureate"))
TEXT = {"term": "<http://e.org/p>", "kind": "text"}
BORN = a.Value(PropertyPath.of(DBO + "birthDate"), "date")


def test_a_table_of_groups_is_shown_in_its_order(run: Run) -> None:
    done = run("plan", "--plan", PLANS / "laureates_by_country.json", "-k", NOBEL)
    assert done.exit_code == 0, done.stderr
    rows, _, words = done.stdout.partition("\n\n")
    assert rows.splitlines()[:3] == ["group | laureates", "United States | 32", "United Kingdom | 16"]
    assert words.splitlines()[-1].startswith("computed again from ")
    assert words.splitlines()[-1].endswith(" facts: the same")
    assert "SELECT" not in done.stdout
    assert (
        "SELECT ?key ?column0" in run("plan", "--plan", PLANS / "laureates_by_country.json", "-k", NOBEL, "-v").stdout
    )


def test_json_has_the_plan_the_rows_and_the_facts(run: Run) -> None:
    file = PLANS / "oldest_laureate.json"
    found = json.loads(run("plan", "--plan", file, "-k", NOBEL, "-f", "json").stdout)
    assert {"names": found["names"], "plan": found["plan"]} == json.loads(file.read_text())
    assert [cell["label"] for cell in found["rows"][0]] == ["Lord Rayleigh", "1842-11-12"]
    assert (found["all_facts"], found["is_confirmed"]) == (True, True)
    assert ["1842-11-12" in fact[2] for fact in found["facts"]].count(True) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", 'an object with "names" and "plan" is expected'),
        ('{"names": {}, "plan": ["count", "C1"]}', "C1 is not in the list"),
        ('{"names": {"C1": {"term": "<http://e.org/C>"}}, "plan": ["explode", "C1"]}', "a set of items is expected"),
        ('{"names": {"C1": {"term": "C"}}, "plan": "C1"}', '{"term": "<IRI>"} is expected'),
        (json.dumps({"names": {"C1": {"term": '"text"'}}, "plan": ["count", "C1"]}), "C1: a class is an IRI"),
        ("[" * 100_000, "not JSON"),
        ('{"question": "How many unicorns?", "candidates": []}', "of this question none was made"),
        (
            json.dumps({"names": {"C1": {"term": "<http://e.org/C>"}, "R1": TEXT}, "plan": ["avg", "C1", "R1>"]}),
            "avg needs numbers, and the measure gives text",
        ),
    ],
)
def test_what_is_no_plan_is_said(run: Run, tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(content)
    done = run("plan", "--plan", file, "-k", NOBEL)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""


@pytest.fixture(scope="module")
def nobel() -> kgsparql.KnowledgeBase:
    return kgsparql.open(NOBEL, embedder="none")


def test_where_the_plan_ran_dry_is_part_of_a_zero(nobel: kgsparql.KnowledgeBase) -> None:
    young = a.Where(LAUREATES, BORN, ">", Literal("2005", datatype=IRI("http://www.w3.org/2001/XMLSchema#gYear")))
    found = nobel.run(a.Count(young))
    assert found.value is not None
    assert (found.value.value, found.is_confirmed, found.empty_part) == ("0", True, young)  # type: ignore[union-attr]


def test_a_calculation_of_many_numbers_is_the_value_itself_and_not_one_of_them(nobel: kgsparql.KnowledgeBase) -> None:
    number: a.Number = a.Count(LAUREATES)
    for _ in range(9):
        number = a.Calculated("+", number, a.Count(LAUREATES))
    found = nobel.run(number)
    assert (str(found.value), found.is_confirmed) == (str(Literal(10 * 74)), True)


def test_an_absence_is_not_said_to_be_computed_again(nobel: kgsparql.KnowledgeBase) -> None:
    alive = a.Lacks(LAUREATES, PropertyPath.of(DBO + "deathDate"))
    found = nobel.run(alive)
    assert found.items
    assert (found.all_facts, found.is_confirmed) == (True, None)


def test_counts_of_several_graphs_do_not_add_up(tmp_path: Path) -> None:
    federation = kgsparql.open(NOBEL, FIXTURES / "wikidata_statements.ttl", embedder="none")
    members = getattr(federation.graph, "members", (federation.graph,))
    if len(members) == 1:  # files are loaded into one
        assert federation.run(a.Count(LAUREATES)).value == nobel_count()
        return
    with pytest.raises(PlanError, match="several"):
        federation.run(a.Count(LAUREATES))


def nobel_count() -> Literal:
    found = kgsparql.open(NOBEL, embedder="none").run(a.Count(LAUREATES)).value
    assert isinstance(found, Literal)
    return found


def test_the_plans_of_a_question_are_shown_and_the_likeliest_is_computed(run: Run) -> None:
    done = run("plan", "How many laureates worked at University of Cambridge in purple?", "-k", NOBEL, "-v")
    assert done.exit_code == 3  # as of ask: it is no sure answer
    lines = done.stdout.split("\n")
    assert "entity  University of Cambridge → University of Cambridge" in lines[0]
    (chosen,) = (line for line in lines if line.startswith("* "))
    assert chosen.endswith("laureates that worked at University of Cambridge; leaves out purple")
    assert "9" in lines
    assert "no sure answer: what was computed leaves out 'purple'" in lines
    assert "SELECT" in done.stdout


def test_a_question_as_json_is_a_plan_that_can_be_run_again(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "question.json"
    planned = run("plan", "How many Nobel laureates are there?", "-k", NOBEL, "-f", "json")
    file.write_text(planned.stdout)
    own, again = json.loads(planned.stdout), json.loads(run("plan", "--plan", file, "-k", NOBEL, "-f", "json").stdout)
    assert own["rows"] == again["rows"] == [[{**own["rows"][0][0], "value": "74"}]]
    assert own["named"][0]["kind"] == "class"
    assert own["candidates"][0]["plan"] == own["plan"] == again["plan"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "a question, or --plan FILE"),
        (("How many?", "--plan", "x.json"), 2, "a question, or --plan FILE"),
        (("--plan", "no/such.json"), 2, "-f json -o no/such.json writes one"),
        (("blah xyzzy?",), 3, "nothing in 'blah xyzzy?' is called so in this graph"),
    ],
)
def test_what_cannot_be_planned_is_said(run: Run, arguments: tuple[str, ...], status: int, message: str) -> None:
    done = run("plan", *arguments, "-k", NOBEL)
    assert (done.exit_code, message in done.stderr, done.stdout) == (status, True, "")


def test_a_plan_over_what_the_graph_does_not_mention_is_an_error_and_not_a_zero(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"names": {"C1": {"term": "<http://e.org/Nothing>"}}, "plan": ["count", "C1"]}))
    done = run("plan", "--plan", file, "-k", NOBEL)
    assert (done.exit_code, done.stdout) == (3, "")
    assert "<http://e.org/Nothing> is not in the graph" in done.stderr


def test_the_schema_of_a_plan_has_the_plans_that_are_written(run: Run) -> None:
    schema = json.loads(run("schema", "plan").stdout)
    planned = json.loads(run("plan", "How many Nobel laureates are there?", "-k", NOBEL, "-f", "json").stdout)
    Draft202012Validator(schema).validate(planned)
    assert not Draft202012Validator(schema).is_valid({**planned, "plan": ["explode", "C1"]})
    assert run("schema", "soup").exit_code == 2
