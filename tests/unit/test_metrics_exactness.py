"""Whether the whole answer is right: values, sets and rows, as records have them."""

from dataclasses import fields, replace
from pathlib import Path

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.evaluation.dataset import GoldAnswer, Question
from kgsparql.evaluation.datasets import load
from kgsparql.evaluation.record import Record, RecordedAnswer, RecordedCost
from kgsparql.plans import algebra as a
from kgsparql.plans.running import run
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI
from tests.unit.scored import of

NOBEL = Path(__file__).parents[2] / "fixtures" / "nobel.ttl"
NO_COST = dict.fromkeys((field.name for field in fields(RecordedCost) if field.name != "model_seconds"), 0)
XSD = "http://www.w3.org/2001/XMLSchema#"


def gold(*labels: str, text: str = "?", rows: tuple[tuple[str, ...], ...] = (), type: str = "") -> Question:  # noqa: A002
    return Question(
        id="1", text=text, type=type, answers=tuple(GoldAnswer(None, label) for label in labels),
        rows=tuple(tuple(GoldAnswer(None, cell) for cell in row) for row in rows),
    )  # fmt: skip


def typed(text: str, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


def valued(value: str, status: str = "answered") -> Record:
    return Record(question="1", method="test", status=status, value=value)


VALUES = [
    ("8", "?", typed("8", "integer"), 1),
    ("8", "?", typed("8.0", "decimal"), 1),
    ("8", "?", typed("9", "integer"), 0),
    ("91.54545454545455", "?", typed("91.545454545454545454", "decimal"), 1),
    ("1.79", "on average?", typed("1.7857142857", "decimal"), 0),
    ("1.79", "rounded to two decimals?", typed("1.7857142857", "decimal"), 1),
    ("1.79", "rounded to two decimals?", typed("1.78", "decimal"), 0),
    ("true", "?", typed("true", "boolean"), 1),
    ("true", "?", typed("false", "boolean"), 0),
    ("1842-11-12", "?", typed("1842-11-12", "date"), 1),
    ("1842-11-12", "?", typed("1842", "gYear"), 0),
    ("1981", "?", typed("1981", "gYear"), 1),
]


def test_a_value_is_exact_if_it_is_the_right_one() -> None:
    for right, text, value, expected in VALUES:
        assert of("exact", gold(right, text=text), valued(value)) == [expected], (right, value)


def test_a_set_is_exact_if_nothing_is_missing_and_nothing_added() -> None:
    both = gold("Bonn", "Ulm")
    sets = [("Bonn", "Ulm"), ("Bonn",), ("Bonn", "Ulm", "Rome"), ()]
    made = [
        Record(
            question="1", method="test", status="answered", answers=tuple(RecordedAnswer("", name) for name in names)
        )
        for names in sets
    ]
    assert [of("exact", both, record) for record in made] == [[1], [0], [0], [0]]
    failed = replace(made[0], status="error", error=("E_TIMEOUT", "too late"))
    assert of("exact", both, failed) == [0]
    assert of("exact", replace(both, answers=None), made[0]) == [None]


def test_rows_are_a_set_unless_their_order_matters() -> None:
    rows = (("Denmark", "2"), ("Egypt", "1"))
    egypt = (("<http://e.org/e>", "Egypt"), (typed("1", "integer"), ""))
    denmark = (("<http://e.org/d>", "Denmark"), (typed("2", "integer"), ""))
    given = (egypt, denmark)
    made = Record(question="1", method="test", status="answered", rows=given)
    table = gold("Denmark", "2", "Egypt", "1", rows=rows)
    ordered = replace(table, type="table,RESULT_ORDER_MATTERS")
    assert of("exact", table, made) == of("exact", ordered, replace(made, rows=given[::-1])) == [1]
    assert of("exact", ordered, made) == [0]
    assert of("exact", table, replace(made, rows=given[:1])) == of("exact", table, replace(made, rows=())) == [0]
    swapped = ((given[0][0], given[1][1]), (given[1][0], given[0][1]))
    assert of("exact", table, replace(made, rows=swapped)) == [0]


def test_only_the_opposite_without_doubt_is_a_wrong_yes_or_no() -> None:
    no = gold("false")
    yes, right = typed("true", "boolean"), typed("false", "boolean")
    made = [valued(yes), valued(yes, "partial"), valued(right), valued("")]
    assert [of("wrong_yes_no", no, record) for record in made] == [[1], [0], [0], [0]]
    assert of("wrong_yes_no", gold("8"), valued(yes)) == [None]


def test_what_a_plan_comes_to_is_recorded_and_scored() -> None:
    """The same plan on the same graph, scored by the question that asks for it."""
    questions = {q.id: q for q in load(NOBEL.parent / "computed_questions.jsonl").questions}
    knowledge = kgsparql.open(NOBEL, embedder="none")
    ontology = "http://dbpedia.org/ontology/"
    elements = a.Instances(IRI(f"{ontology}ChemicalElement"))
    books, author = a.Instances(IRI(f"{ontology}Book")), PropertyPath((Step(IRI(f"{ontology}author")),))
    number = a.Value(PropertyPath((Step(IRI("https://kgsparql.example/nobel/atomicNumber")),)))
    plans: dict[str, a.Plan] = {
        "computed-16": a.SummaryOf("avg", elements, number),
        "computed-57": a.Grouped(books, author, (a.GroupColumn("books"),)),
    }
    for key, plan in plans.items():
        computed = run(plan, knowledge.graph)
        labels = knowledge.labels([term for row in computed.rows for term in row if isinstance(term, IRI)])
        answer = Answer(question="?", status="answered", text="", computed=computed, labels=labels, usage=NO_COST)
        record = Record.of(answer, question=key, method="test", degrees={})
        assert of("exact", questions[key], record) == [1]
        assert Record.from_json(record.to_json()) == record
        assert Question.from_json(questions[key].to_json()) == questions[key]
