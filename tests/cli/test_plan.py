"""``kgsparql plan``: the plans of a question, and a plan in a file, computed."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

from kgsparql import IRI, KnowledgeBase, Literal, PropertyPath
from kgsparql.plans import algebra as a
from kgsparql.plans.running import rows_from_facts
from tests.cli.conftest import Run
from tests.world import FIXTURES, NOBEL

PLANS = FIXTURES / "plans"
DBO = "http://dbpedia.org/ontology/"
LAUREATES = a.Instances(IRI("https://kgsparql.example/nobel/Laureate"))
TEXT = {"term": "<http://e.org/p>", "kind": "text"}
BORN = a.Value(PropertyPath.of(DBO + "birthDate"), "date")


def test_a_table_of_groups_is_shown_in_its_order_and_json_has_the_plan_the_rows_and_the_facts(run: Run) -> None:
    done = run("plan", "--plan", PLANS / "laureates_by_country.json", "-k", NOBEL)
    assert done.exit_code == 0, done.stderr
    rows, _, words = done.stdout.partition("\n\n")
    assert rows.splitlines()[:3] == ["group | laureates", "United States | 32", "United Kingdom | 16"]
    assert words.splitlines()[-1] == "rests on 168 facts"
    assert "SELECT" not in done.stdout
    assert (
        "SELECT ?key ?column0" in run("plan", "--plan", PLANS / "laureates_by_country.json", "-k", NOBEL, "-v").stdout
    )
    file = PLANS / "oldest_laureate.json"
    found = json.loads(run("plan", "--plan", file, "-k", NOBEL, "-f", "json").stdout)
    assert {"names": found["names"], "plan": found["plan"]} == json.loads(file.read_text())
    assert [cell["label"] for cell in found["rows"][0]] == ["Lord Rayleigh"]
    assert found["all_facts"] is True
    assert ["1842-11-12" in fact[2] for fact in found["facts"]].count(True) == 1


def test_what_is_no_plan_or_cannot_be_planned_is_said(run: Run, tmp_path: Path) -> None:
    def plan_of(term: str, plan: object, **more: object) -> str:
        return json.dumps({"names": {"C1": {"term": term}, **more}, "plan": plan})

    for content, code, said in (
        ("[]", 2, 'an object with "names" and "plan" is expected'),
        ('{"names": {}, "plan": ["count", "C1"]}', 2, "C1 is not in the list"),
        (plan_of('"text"', ["count", "C1"]), 2, "C1: a class is an IRI"),
        ("[" * 100_000, 2, "not JSON"),
        (
            plan_of("<http://e.org/C>", ["avg", "C1", "R1>"], R1=TEXT),
            2,
            "avg needs numbers, and the measure gives text",
        ),
        (plan_of("<http://e.org/Nothing>", ["count", "C1"]), 3, "<http://e.org/Nothing> is not in the graph"),
    ):
        (tmp_path / "plan.json").write_text(content)
        done = run("plan", "--plan", tmp_path / "plan.json", "-k", NOBEL)
        assert (done.exit_code, said in done.stderr, done.stdout) == (code, True, ""), said
    for arguments, code, said in (
        ((), 2, "a question, or --plan FILE"),
        (("--plan", "no/such.json"), 2, "-f json -o no/such.json writes one"),
        (("blah xyzzy?",), 3, "nothing in 'blah xyzzy?' is called so in this graph"),
    ):
        done = run("plan", *arguments, "-k", NOBEL)
        assert (done.exit_code, said in done.stderr, done.stdout) == (code, True, ""), said


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
    schema = Draft202012Validator(json.loads(run("schema", "plan").stdout))
    schema.validate(own)
    assert not schema.is_valid({**own, "plan": ["explode", "C1"]})
