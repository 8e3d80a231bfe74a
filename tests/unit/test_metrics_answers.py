"""When an answer that was given is a right one, and metrics of the answers, on tables worked out by hand."""

import unicodedata
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgsparql
from kgsparql import IRI, Answer, Literal
from kgsparql.evaluation.dataset import GoldAnswer, Question, Record, RecordedAnswer, RecordedCost, json_form
from kgsparql.evaluation.datasets import load
from kgsparql.evaluation.metrics import GoldAnswers
from kgsparql.plans import algebra as a
from kgsparql.plans.running import run
from kgsparql.rdf.paths import PropertyPath, Step
from tests.unit.scored import asking, entity, of, path, record
from tests.world import XSD

NAMES = "hits@1 expected_hits@1 mrr precision recall f1"
P1, P2 = path("a b"), path("c d", score=0.5, marker="P2")

TABLE = [
    # gold, answers, ranked: hits@1, expected, mrr, precision, recall, f1
    ("a b", (*P1, *P2), False, [1, 1, 1, 1 / 2, 1, 2 / 3]),
    ("a b", (*P1, *P2), True, [1, 1, 1, 1, 1, 1]),
    ("b", (*P1, *P2), True, [0, 1 / 2, 1 / 2, 1 / 2, 1, 2 / 3]),
    ("b x y", (*P1, *P2), True, [0, 1 / 2, 1 / 2, 1 / 2, 1 / 3, 2 / 5]),
    ("d", (*P1, *P2), True, [0, 0, 1 / 4, 0, 0, 0]),
    ("d", (*P1, *P2), False, [0, 0, 1 / 4, 1 / 4, 1, 2 / 5]),
    ("j", path("a b c d e f g h i j k"), True, [0, 1 / 11, 1 / 10, 1 / 11, 1, 1 / 6]),
    ("k", path("a b c d e f g h i j k"), True, [0, 1 / 11, 1 / 11, 1 / 11, 1, 1 / 6]),
    ("x", (*P1, *P2), False, [0] * 6),
    ("x", (), False, [0] * 6),
    ("", (), False, [1] * 6),
    ("", P1, False, [0] * 6),
]


def test_the_table() -> None:
    for gold, answers, ranked, expected in TABLE:
        made = record(*answers, ranked=ranked, status="answered" if answers else "not_in_graph")
        assert of(NAMES, asking(gold), made) == pytest.approx(expected), (gold, ranked)


def test_a_failed_question_and_an_empty_answer_are_wrong() -> None:
    failed = Record(question="1", method="test", status="error", error=("E_TIMEOUT", "too late"))
    empty = (record(status=status) for status in ("answered", "partial", "not_in_graph", "no_entity"))
    for gold, made in (("", failed), ("a", failed), *(("a", one) for one in empty)):
        assert of(NAMES, asking(gold), made) == [0] * 6
    said = record(text="There are three.", grounding="model")
    assert of("hits@1 f1", asking(""), said) == [0, 0], "an answer in words only is an answer"
    assert of(NAMES, asking(None), record(*P1)) == [None] * 6, "nobody knows the answers"
    nameless = record(RecordedAnswer("", ""), text="  ")
    assert of("hits@1 f1", asking("Paris"), nameless) == [0, 0]


def test_the_order_in_which_answers_are_scored() -> None:
    tied = tuple(map(entity, "0acb"))
    paths = (entity("a"), entity("c", marker="P2"), entity("b", score=0.5))
    said = tuple(RecordedAnswer("", name) for name in ("c", "b", "a"))
    for made, order in (
        (record(*tied, ranked=True), "0acb"),  # as they were given, whoever chose
        (record(*tied), "0acb"),
        (record(*paths, ranked=True), "acb"),
        (record(*said, ranked=True, grounding="model"), "cba"),  # names without evidence
    ):
        assert [of("mrr", asking(name), made)[0] for name in order] == [1 / place for place in range(1, len(order) + 1)]
    assert of("hits@1 expected_hits@1", asking("0"), record(*tied)) == [1, 1 / 4]
    assert of("expected_hits@1", asking("a"), record(*paths, ranked=True)) == [1], "what leads is of one path"
    assert of("hits@1 mrr expected_hits@1", asking("b"), record(*said, grounding="model")) == [0, 1 / 2, 1 / 3]


def test_the_set_of_precision_and_recall_is_what_leads() -> None:
    ends = record(*path("a b"), *path("c", marker="P2"), *path("d"), ranked=True)
    assert of("precision recall", asking("a b c d"), ends) == [1, 1 / 2], "those that lead stand right behind it"
    entities = record(entity("a", marker="N1"), entity("b", marker="N2"), ranked=True)
    assert of("precision recall", asking("a b"), entities) == [1, 1 / 2]


NOBEL = Path(__file__).parents[2] / "fixtures" / "nobel.ttl"
NO_COST = dict.fromkeys((field.name for field in fields(RecordedCost)), 0)


def gold(*labels: str, text: str = "?", rows: tuple[tuple[str, ...], ...] = (), type: str = "") -> Question:  # noqa: A002
    return Question(
        id="1", text=text, type=type, answers=tuple(GoldAnswer(None, label) for label in labels),
        rows=tuple(tuple(GoldAnswer(None, cell) for cell in row) for row in rows),
    )  # fmt: skip


def typed(text: str, kind: str) -> str:
    return f'"{text}"^^<{XSD}{kind}>'


def valued(value: str, status: str = "answered") -> Record:
    return Record(question="1", method="test", status=status, value=value)


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


def test_every_metric_of_answers_compares_all_columns_of_a_table_and_numbers_by_value() -> None:
    rows = (("Denmark", "2.6666667"), ("Egypt", "1"))
    egypt = (("<http://e.org/e>", "Egypt"), (typed("1", "integer"), ""))
    denmark = (("<http://e.org/d>", "Denmark"), (typed("2.66666666666", "decimal"), ""))
    wrong = (("<http://e.org/d>", "Denmark"), (typed("3", "integer"), ""))
    table = gold("Denmark", "2.6666667", "Egypt", "1", rows=rows)
    made = Record(question="1", method="test", status="answered", rows=(wrong, egypt, denmark))
    names = ("hits@1", "mrr", "precision", "recall")
    assert [of(name, table, made) for name in names] == [[0], [0.5], [pytest.approx(2 / 3)], [1]]
    found = [RecordedAnswer(term="<http://e.org/e>", label="Egypt", score=1.0, markers=("Q1",))]
    for other in (replace(made, rows=(), answers=tuple(found)), valued(typed("1", "integer"))):
        assert [of(name, table, other) for name in ("hits@1", "recall", "exact")] == [[0], [0], [0]]


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
        "computed-57": a.Grouped(books, author, (a.Column("books", a.Count(a.Members())),)),
    }
    for key, plan in plans.items():
        computed = run(plan, knowledge.graph)
        labels = knowledge.labels([term for row in computed.rows for term in row if isinstance(term, IRI)])
        answer = Answer(question="?", status="answered", text="", computed=computed, labels=labels, usage=NO_COST)
        record = Record.of(answer, question=key, method="test")
        assert of("exact", questions[key], record) == [1]
        assert json_form(Record).validate_python(asdict(record)) == record
        assert json_form(Question).validate_python(questions[key].to_json()) == questions[key]


def term(text: str, kind: str = "") -> Literal:
    """A literal: plain, of a datatype of XSD, or ``@en``."""
    if kind.startswith("@"):
        return Literal(text, language=kind[1:])
    return Literal(text, datatype=IRI(XSD + (kind or "string")))


def literal(text: str, kind: str = "") -> str:
    return str(term(text, kind))


def gold_of(text: str, kind: str = "") -> GoldAnswer:
    return GoldAnswer(term(text, kind), text)


def is_right(gold: GoldAnswer, given: str, label: str = "") -> bool:
    return bool(GoldAnswers([gold]).found(given, label))


EQUAL = [
    (("1", "integer"), ("1.0", "decimal")), (("0.1", "decimal"), ("0.1", "double")),
    (("NaN", "double"), ("NaN", "float")), (("1.0", ""), ("1", "")), (("1965", "gYear"), ("1965", "integer")),
    (("123456789012345678901234567890.5", "decimal"), ("123456789012345678901234567890.50", "decimal")),
    (("true", "boolean"), ("1", "boolean")),
    (("1999-12-31T23:00:00-01:00", "dateTime"), ("2000-01-01T00:00:00Z", "dateTimeStamp")),
    (("2000-01-01Z", "date"), ("2000-01-01+00:00", "date")), (("8", ""), ("8", "integer")),
    (("8", ""), ("+8.0", "decimal")), (("true", ""), ("1", "boolean")), (("1965", ""), ("1965", "gYear")),
    (("1965", ""), ("1965", "integer")), (("1965-01-02", ""), ("1965-01-02", "date")),
    (("P1D", ""), ("P1D", "duration")), (("abc", ""), ("abc", "integer")), (("chat", "@fr"), ("chat", "")),
    (("chat", "@fr"), ("chat", "@en")), (("0.1", "decimal"), ("0.10000000000000001", "decimal")),
    (("-3.3333333", ""), ("-3.33333333333", "decimal")), (("66.666666666666667", "double"), ("66.6666666", "decimal")),
    (("São", ""), (unicodedata.normalize("NFD", "São"), "")),
]  # fmt: skip

DIFFERENT = [
    (("1", "integer"), ("2", "integer")), (("01", ""), ("1", "")), (("01", ""), ("1", "integer")),
    (("0.1", "decimal"), ("0.100001", "decimal")), (("8336817", "integer"), ("8336818", "integer")),
    (("1965-01-01", "date"), ("1965-01-01T00:00:00", "dateTime")), (("2000-01-01", "date"), ("2000-01-01Z", "date")),
    (("2020-02-31", "date"), ("2020-03-02", "date")), (("Paris", ""), ("paris", "")),
    (("abc", "integer"), ("abd", "integer")), (("1", "boolean"), ("1", "integer")),
    (("INF", "double"), ("-INF", "double")),
]  # fmt: skip


def test_literals_are_equal_by_value_whichever_is_the_right_answer() -> None:
    for rows, are_equal in ((EQUAL, True), (DIFFERENT, False)):
        for one, other in rows:
            assert is_right(gold_of(*one), literal(*other)) is are_equal, (one, other)
            assert is_right(gold_of(*other), literal(*one)) is are_equal, (one, other)


ODD = ("1e999999999999999999999", "9" * 5000, "", "99999999999-01-01", "٣", "--1", "1_000", "0x10", "\u0000", "1e", ".")


def test_a_literal_of_any_shape_is_equal_to_itself_and_to_no_other() -> None:
    for kind in ("integer", "decimal", "double", "boolean", "date", "gYear", "duration", "", "@en"):
        for text in ODD:
            assert is_right(gold_of(text, kind), literal(text, kind)), text
            assert not is_right(gold_of(text, kind), literal("7", kind)), text


A, P, COMPOSED = (GoldAnswer(IRI(f"http://example.org/{name[0]}"), name) for name in ("a", "paris", "é"))
PARIS = GoldAnswer(None, "Paris")
BY_NAME = [
    # IRIs are equal by their characters, whatever they are called
    (COMPOSED, "<http://example.org/é>", "", True), (COMPOSED, "<http://example.org/e\u0301>", "é", False),
    *((A, f"<http://example.org/{other}>", "a", False) for other in ("A", "%61", "a_TX")),
    # a name is compared with the name of the right answer
    (P, "", "  PARIS ", True), (P, "", "a", False), (P, "", "Paris, France", False), (P, "", "", False),
    (GoldAnswer(P.term, ""), "", "", False), (gold_of("8", "integer"), "", "8", True),
    (gold_of("8", "integer"), "", "8.0", True), (gold_of("Straße"), "", "STRASSE", True),
    # a right answer that is a name is compared with the name of what was given
    (PARIS, "<http://example.org/p>", "paris", True), (PARIS, "<http://example.org/Paris>", "Paris, Texas", False),
    (PARIS, literal("Paris", "@fr"), "another label", True),
    (GoldAnswer(None, "8"), literal("8.0", "decimal"), "", True),
    (GoldAnswer(None, "sa\u0303o  paulo"), "_:b0", "São Paulo", True),
    # what is no term is equal to nothing
    (gold_of("Paris"), '"Paris', "Paris", False), (GoldAnswer(None, ""), '"Paris', "", False),
    (gold_of(""), '"Paris', "", False),
]  # fmt: skip


def test_terms_are_equal_by_their_characters_and_names_by_their_letters() -> None:
    for right, term, name, is_equal in BY_NAME:
        assert is_right(right, term, name) is is_equal, (right, term, name)


def test_one_name_may_be_that_of_several_right_answers_and_duplicates_count_once() -> None:
    twins = [GoldAnswer(IRI(f"http://example.org/{i}"), "Ann") for i in range(3)]
    gold = GoldAnswers([*twins, *twins])
    assert len(gold) == 3
    assert gold.found("", "ann") == (0, 1, 2)
    assert gold.found("<http://example.org/1>", "Ann") == (1,)
    numbers = GoldAnswers([gold_of("1", "integer"), gold_of("1.0", "decimal"), gold_of("2", "integer")])
    assert len(numbers) == 2
    assert numbers.found(literal("2", "double")) == (1,)


@given(st.integers().filter(bool), st.integers(min_value=0, max_value=30))
def test_a_number_is_the_same_however_it_is_written(digits: int, power: int) -> None:
    whole = literal(str(digits * 10**power), "integer")
    assert is_right(gold_of(f"{digits}E{power}"), whole)
    assert is_right(gold_of(f"{digits}{'0' * power}.000", "decimal"), whole)
    assert not is_right(gold_of(f"{digits + 1}E{power}"), whole)


@given(st.integers(-30_000_000_000, 250_000_000_000), st.integers(min_value=-14 * 60, max_value=14 * 60))
def test_an_instant_is_the_same_in_every_time_zone(seconds: int, minutes: int) -> None:
    in_utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    there = in_utc.astimezone(timezone(timedelta(minutes=minutes)))
    later = in_utc + timedelta(seconds=1)
    assert is_right(gold_of(in_utc.isoformat(), "dateTime"), literal(there.isoformat(), "dateTime"))
    assert not is_right(gold_of(later.isoformat(), "dateTime"), literal(there.isoformat(), "dateTime"))
