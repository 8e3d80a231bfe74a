"""Metrics of the evidence and of linking, on tables worked out by hand."""

import pytest

from kgsparql.errors import KgsparqlError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.record import Record, RecordedEvidence
from kgsparql.rdf.terms import IRI, Literal, Triple
from tests.unit.scored import asking, item, link, of, record, topics, triple

NAMES = "triple_precision triple_recall triple_f1 triple_hit@10 triple_precision@10 triple_map@10 triple_mrr@10"
WRONG = [f"x p {i}" for i in range(20)]

TABLE: list[tuple[list[str], list[list[str]], list[float | None]]] = [
    # golden, evidence: precision, recall, F1, hit@10, P@10, MAP@10, MRR@10
    (["a p b"], [["a p b"]], [1] * 7),
    (["a p b", "b q c"], [["a p b", "x p y"]], [1 / 2, 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1]),
    (
        ["a p b", "b q c"],
        [["x p y", "a p b"], ["x p z", "b q c"]],
        [1 / 2, 1, 2 / 3, 1, 1 / 2, (1 / 2 + 2 / 4) / 2, 1 / 2],
    ),
    # a triple that is repeated takes a place and is not counted again
    (["a p b", "b q c"], [["a p b"] * 10, ["b q c"]], [1, 1, 1, 1 / 2, 1, 1 / 2, 1]),
    (["a p b"], [WRONG[:10], ["a p b"]], [1 / 11, 1, 1 / 6, 0, 0, 0, 0]),
    (["a p b"], [WRONG[:9], ["a p b"]], [1 / 10, 1, 2 / 11, 1, 1 / 10, 1 / 10, 1 / 10]),
    (["b p a"], [["a p b"]], [0] * 7),
    (["a p b"], [], [0] * 7),
    ([], [["a p b"]], [None] * 7),
    ([], [], [None] * 7),
]


def resting_on(golden: list[str]) -> Question:
    return Question(id="1", text="?", golden_triples=tuple(map(triple, golden)))


def test_the_table() -> None:
    for golden, evidence, expected in TABLE:
        made = record(evidence=tuple(item(*triples, marker=f"P{i}") for i, triples in enumerate(evidence, 1)))
        found = of(NAMES, resting_on(golden), made)
        assert found == (expected if expected[0] is None else pytest.approx(expected)), (golden, evidence)
    failed = Record(question="1", method="test", status="error")
    assert of(NAMES, resting_on(["a p b"]), failed) == [0] * 7
    many = [f"a p {i}" for i in range(12)]
    found = of("triple_hit@10 triple_map@10", resting_on(many), record(evidence=(item(*many),)))
    assert found == pytest.approx([10 / 12, 1]), "of more than ten golden triples the average is of ten"


def test_literals_of_triples_are_compared_by_value() -> None:
    number = Triple(IRI("http://e.org/a"), IRI("http://e.org/p"), Literal(8))
    shown = ("<http://e.org/a>", "<http://e.org/p>", '"8.0"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    made = record(evidence=(RecordedEvidence("P1", "path", "", triples=(shown,)),))
    assert of("triple_f1", Question(id="1", text="?", golden_triples=(number,)), made) == [1]


LINKING = "linking_recall@1 linking_recall@3 linking_recall@5 linking_recall@10"


def test_linking_looks_at_the_candidates_of_each_mention_where_the_entities_are_known() -> None:
    ann, unlinked = asking("a", topics=topics("Ann")), KgsparqlError("gone")
    failed = Record(question="1", method="test", status="error", linked=(link("Ann"),))
    does_not_look = Record.failed(unlinked, question="1", method="test", seconds=1.0, links=False)
    many = record(linked=(link("Ann", "Anna"), link("Bonn", "Bern", "Berlin", "Bob")))
    repeated = record(linked=(link("Bonn", "Bonn", "Bern", "Bob"),))
    for question, made, expected in (
        (asking("a", topics=topics("Ann Bob")), many, [1 / 2, 1 / 2, 1, 1]),
        (asking("a", topics=topics("Ann Bob")), repeated, [0, 1 / 2, 1 / 2, 1 / 2]),
        (asking("a"), record(linked=(link("Ann"),)), [None] * 4),
        (ann, record(), [0] * 4), (ann, failed, [0] * 4),
        (ann, record(linked=None), [None] * 4), (ann, does_not_look, [None] * 4),
    ):  # fmt: skip
        assert of(LINKING, question, made) == expected
