"""Metrics of the evidence, of what an answer says of itself, of what it cost; and what holds for every metric."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import IRI, Literal, Triple
from kgsparql.evaluation.dataset import Question, Record, RecordedAnswer, RecordedCost, RecordedEvidence
from kgsparql.evaluation.metrics import METRICS
from tests.unit.scored import asking, entity, item, link, of, path, record, scores, topics, triple

HELD = item("a p b")
FAILED = Record(question="1", method="test", status="error", error=("E_TIMEOUT", "too late"))
SILENT = record(status="not_in_graph", text="The graph holds no evidence for this question.")
FROM_MEMORY = record(RecordedAnswer("", "Paris"), text="Paris", grounding="model")


def test_grounded_is_an_answer_whose_citations_all_hold() -> None:
    for made, grounded in (
        (record(*path("b"), evidence=(HELD,), claims=(("It is b.", ("P1",)),)), 1),
        (record(*path("b"), evidence=(HELD,)), 1),
        (record(*path("b"), evidence=(HELD,), claims=(("It is b.", ("P1", "P2")),)), 0),
        (record(*path("b", marker="P9"), evidence=(HELD,)), 0), (record(entity("b", marker="")), 0),
        (record(*path("b"), evidence=(item("a p b", verified=[False]),), claims=(("It is b.", ("P1",)),)), 0),
        (record(*path("b"), evidence=(item("a p b", verified=[None]),)), 0),
        (record(*path("b", marker="T1"), evidence=(RecordedEvidence("T1"),)), 1),
        (record(*path("b"), evidence=(HELD,), grounding="document"), 0), (FROM_MEMORY, 0), (SILENT, None), (FAILED, 0),
    ):  # fmt: skip
        assert of("grounded", asking("b"), made) == [grounded], made


def test_abstention_is_to_answer_nothing() -> None:
    for made, abstained in ((SILENT, 1), (record(*path("a")), 0), (FAILED, 0), (FROM_MEMORY, 0)):
        assert of("abstained", asking(""), made) == of("abstained", asking(None), made) == [abstained]
    assert of("abstained hits@1", asking(""), record(ranked=True)) == [1, 1]
    assert of("abstained hits@1", asking(""), record(status="partial", text="A limit was reached.")) == [1, 1]


def test_misleading_is_what_is_called_an_answer_and_is_none() -> None:
    wrong, right, doubted = record(*path("b")), record(*path("a")), record(*path("b"), status="partial")
    made = (wrong, right, doubted, SILENT, FAILED)
    assert [of("misleading", asking("a"), one) for one in made] == [[1], [0], [0], [0], [0]]
    assert of("misleading", asking(""), wrong) == [1]
    assert of("misleading", asking(None), wrong) == [None]


def test_an_answer_in_words_is_no_abstention() -> None:
    for status in ("answered", "partial"):
        claims = (("There are three.", ("P1",)),)
        said = record(text="There are three [P1].", status=status, claims=claims, evidence=(HELD,))
        from_memory = record(text="There are three.", status=status, grounding="model")
        for made in (said, from_memory):
            assert of("abstained hits@1", asking(""), made) == [0, 0]
            assert of("abstained", asking("a"), made) == [0]
        assert of("grounded", asking("a"), said) == [1]
        # candidates are no words of a model, and neither is what stands below a reply that nothing carries
        for made in (replace(said, ranked=True), record(status=status)):
            assert of("abstained", asking("a"), made) == [1]


def test_shares_of_questions() -> None:
    how_it_was_run = ("ranking", "no embedding model: texts are compared by the words they share")
    for made, expected in (
        (record(fallbacks=(("prune", "empty"), ("prune", "empty"))), [1, 0, 0]),
        (record(fallbacks=(how_it_was_run,)), [0, 0, 0]),
        (record(fallbacks=(how_it_was_run, ("prune", "empty"))), [1, 0, 0]),
        (record(status="partial"), [0, 1, 0]),
        (FAILED, [0, 0, 1]),
        (record(), [0, 0, 0]),
    ):
        assert of("fallbacks partial failed", asking("a"), made) == expected
    assert of("truncated", asking("a"), record(is_cut_short=True)) == [1]


def test_costs_are_as_measured() -> None:
    spent = RecordedCost(
        model_calls=3, rounds=2, prompt_tokens=100, completion_tokens=20, queries=7, rows=90, seconds=4.0,
    )  # fmt: skip
    found = scores(asking("a"), record(measured=spent), groups={"cost"})
    assert found == {"model_calls": 3, "tokens": 120, "queries": 7, "seconds": 4.0}
    assert of("tokens", asking("a"), record()) == [0]
    late = Record(question="1", method="test", status="error", measured=RecordedCost(seconds=9.0))
    assert of("seconds", asking("a"), late) == [9]


def test_a_question_whose_model_failed_has_failed() -> None:
    """Templates listed what the method had found, for a person; the model answered nothing."""
    lost = record(
        *path("a"), status="partial", ranked=True, error=("E_MODEL", "gone"), evidence=(item("t p a"),),
        claims=(("It is a.", ("P1",)),), linked=(link("t"),), measured=RecordedCost(queries=3),
    )  # fmt: skip
    question = asking("a", topics=topics("t"), golden_triples=(triple("t p a"),))
    answer_metrics = [name for name, metric in METRICS.items() if metric.group == "answer"]
    assert of(" ".join(answer_metrics), question, lost) == [0] * len(answer_metrics)
    assert of("failed partial grounded abstained", question, lost) == [1, 0, 0, 0]
    assert of("triple_recall linking_recall@1 queries", question, lost) == [1, 1, 3]
    silent = record(status="partial", error=("E_MODEL", "gone"))
    assert of("hits@1 abstained", asking(""), silent) == [0, 0]


NAMES = "triple_precision triple_recall triple_f1 triple_hit@10"
WRONG = [f"x p {i}" for i in range(20)]

TABLE: list[tuple[list[str], list[list[str]], list[float | None]]] = [
    # golden, evidence: precision, recall, F1, hit@10
    (["a p b"], [["a p b"]], [1] * 4),
    (["a p b", "b q c"], [["a p b", "x p y"]], [1 / 2, 1 / 2, 1 / 2, 1 / 2]),
    (["a p b", "b q c"], [["x p y", "a p b"], ["x p z", "b q c"]], [1 / 2, 1, 2 / 3, 1]),
    (["a p b", "b q c"], [["a p b"] * 10, ["b q c"]], [1, 1, 1, 1 / 2]),  # one that is repeated takes a place
    (["a p b"], [WRONG[:10], ["a p b"]], [1 / 11, 1, 1 / 6, 0]),
    (["a p b"], [WRONG[:9], ["a p b"]], [1 / 10, 1, 2 / 11, 1]),
    (["b p a"], [["a p b"]], [0] * 4),
    (["a p b"], [], [0] * 4),
    ([], [["a p b"]], [None] * 4),
]


def resting_on(golden: list[str]) -> Question:
    return Question(id="1", text="?", golden_triples=tuple(map(triple, golden)))


def test_the_table() -> None:
    for golden, evidence, expected in TABLE:
        made = record(evidence=tuple(item(*triples, marker=f"P{i}") for i, triples in enumerate(evidence, 1)))
        found = of(NAMES, resting_on(golden), made)
        assert found == (expected if expected[0] is None else pytest.approx(expected)), (golden, evidence)
    failed = Record(question="1", method="test", status="error")
    assert of(NAMES, resting_on(["a p b"]), failed) == [0] * 4


def test_literals_of_triples_are_compared_by_value() -> None:
    number = Triple(IRI("http://e.org/a"), IRI("http://e.org/p"), Literal(8))
    shown = ("<http://e.org/a>", "<http://e.org/p>", '"8.0"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    made = record(evidence=(RecordedEvidence("P1", (shown,)),))
    assert of("triple_f1", Question(id="1", text="?", golden_triples=(number,)), made) == [1]


def test_linking_looks_at_what_each_mention_was_taken_for_where_the_entities_are_known() -> None:
    ann = asking("a", topics=topics("Ann"))
    failed = Record(question="1", method="test", status="error", linked=(link("Ann"),))
    many = record(linked=(link("Ann", "Anna"), link("Bonn", "Bob")))
    for question, made, expected in (
        (asking("a", topics=topics("Ann Bob")), many, 1 / 2), (asking("a"), many, None), (ann, record(), 0),
        (ann, failed, 0),
    ):  # fmt: skip
        assert of("linking_recall@1", question, made) == [expected]


QUALITY = {"answer", "evidence", "linking", "grounding"}
LETTERS = st.lists(st.sampled_from("a b c d e f".split()), max_size=8)
TRIPLES = st.lists(st.sampled_from(["a p b", "b p c", "c p a", "a q c"]), max_size=6)


MARKERS, SCORES = st.sampled_from(["", "P1", "P2"]), st.sampled_from([1.0, 0.5])
STATUS = st.sampled_from(["answered", "partial", "not_in_graph", "no_entity", "error"])


@st.composite
def asked(draw: st.DrawFn) -> tuple[Question, Record]:
    golden, topic = tuple(map(triple, draw(TRIPLES))), topics(" ".join(draw(LETTERS)))
    question = asking(" ".join(draw(LETTERS)), topics=topic, golden_triples=golden)
    answers = [entity(n, score=draw(SCORES), marker=draw(MARKERS)) for n in draw(LETTERS)]
    linked = tuple(link(name, *draw(LETTERS)) for name in draw(LETTERS)[:2])
    claims = (("x", ("P1",)),) if draw(st.booleans()) else ()
    text, is_ranked, evidence = " ".join(draw(LETTERS)), draw(st.booleans()), (item(*draw(TRIPLES)),)
    more = {"linked": linked, "claims": claims, "evidence": evidence}
    return question, record(*answers, status=draw(STATUS), ranked=is_ranked, text=text, **more)


@given(asked())
def test_every_quality_is_between_0_and_1_and_f1_between_precision_and_recall(pair: tuple[Question, Record]) -> None:
    found = scores(*pair, groups=QUALITY)
    assert all(value is None or 0 <= value <= 1 for value in found.values())
    for prefix in ("", "triple_"):
        parts = [found[f"{prefix}{name}"] for name in ("precision", "recall", "f1")]
        if None not in parts:
            precision, recall, f1 = parts
            assert min(precision, recall) - 1e-12 <= f1 <= max(precision, recall) + 1e-12 or f1 == 0
    assert found["hits@1"] <= found["mrr"] or found["hits@1"] == found["mrr"] == 1


@given(asked(), st.randoms(use_true_random=False))
def test_the_order_of_what_is_right_and_of_a_path_is_free(pair: tuple[Question, Record], chance: random.Random) -> None:
    question, made = pair
    names = ("answers", "topics", "golden_triples")
    shuffled = {name: tuple(chance.sample(own, len(own))) for name in names for own in [getattr(question, name)]}
    assert scores(question, made) == scores(replace(question, **shuffled), made)
    answers = tuple(replace(answer, score=1.0, markers=("P1",)) for answer in made.answers)
    one = replace(made, ranked=True, answers=answers)
    other = replace(one, answers=tuple(chance.sample(answers, len(answers))))
    assert of("expected_hits@1 f1 exact", question, one) == of("expected_hits@1 f1 exact", question, other)


@given(asked())
def test_a_wrong_answer_or_triple_more_never_helps(pair: tuple[Question, Record]) -> None:
    question, made = pair
    worse = replace(made, evidence=(*made.evidence, item("x p y", marker="P2")))
    before, after = (scores(question, some, groups={"evidence"}) for some in (made, worse))
    assert all(before[name] is None or after[name] <= before[name] for name in before)
    if question.answers and made.status != "error":
        chosen = replace(made, ranked=False)
        last = chosen.answers[-1] if chosen.answers else entity("a")
        worse = replace(chosen, answers=(*chosen.answers, replace(entity("wrong"), score=last.score)))
        before, after = (scores(question, some, groups={"answer"}) for some in (chosen, worse))
        assert all(after[name] <= before[name] for name in ("precision", "f1", "recall"))


@given(asked())
def test_giving_exactly_what_is_right_is_perfect(pair: tuple[Question, Record]) -> None:
    question, _ = pair
    given = [entity(answer.label) for answer in question.answers or ()]
    perfect = record(*given, status="answered" if given else "not_in_graph", ranked=True)
    names = [m.name for m in METRICS.values() if m.group == "answer"]
    assert [scores(question, perfect)[name] for name in names] == [1] * len(names)
