"""The fixtures are what their README says: labelled, and with gold answers that hold."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from tests.world import FIXTURES

RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
LAUREATE = NamedNode("https://kgsparql.example/nobel/Laureate")
AWARD = NamedNode("http://dbpedia.org/ontology/award")
FORMATS = {".ttl": RdfFormat.TURTLE, ".trig": RdfFormat.TRIG}
RDF_FILES = [FIXTURES / "nobel.ttl", FIXTURES / "corner_cases.trig"]
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (FIXTURES / "nobel_questions.jsonl").read_text(encoding="utf-8").splitlines()
]

Node = NamedNode | BlankNode | Literal | Triple


def quads_of(path: Path) -> set[Quad]:
    return set(parse(path=str(path), format=FORMATS[path.suffix]))


@pytest.fixture(scope="module")
def nobel() -> set[Quad]:
    return quads_of(RDF_FILES[0])


def local_name(iri: str) -> str:
    return re.split(r"[/#]", iri)[-1]


def english_labels(quads: Iterable[Quad]) -> dict[Node, str]:
    return {
        quad.subject: quad.object.value
        for quad in quads
        if quad.predicate == LABEL and isinstance(quad.object, Literal) and quad.object.language == "en"
    }


def walk(quads: Iterable[Quad], topic: Node, path: list[str]) -> set[Node]:
    """The distinct ends of `path` from `topic`, by the two rules of fixtures/README.md."""
    neighbours: dict[tuple[Node, str], set[Node]] = defaultdict(set)
    for quad in quads:
        name = local_name(quad.predicate.value)
        neighbours[quad.subject, name].add(quad.object)
        neighbours[quad.object, "^" + name].add(quad.subject)
    walks: list[tuple[Node, ...]] = [(topic,)]
    for position, step in enumerate(path):
        before = path[position - 1] if position else ""
        goes_back = before in {"^" + step, step.removeprefix("^")} and before != step
        walks = [
            (*nodes, end)
            for nodes in walks
            for end in neighbours[nodes[-1], step]
            if not (goes_back and end == nodes[-2])
        ]
    ends = {nodes[-1] for nodes in walks}
    return ends - {topic} or ends


def test_nobel_is_large_enough_and_covers_all_six_prizes(nobel: set[Quad]) -> None:
    laureates = {quad.subject for quad in nobel if quad.predicate == RDF_TYPE and quad.object == LAUREATE}
    assert len(nobel) >= 800
    assert len(laureates) >= 55
    assert laureates == {quad.subject for quad in nobel if quad.predicate == AWARD}
    prizes = {quad.object.value for quad in nobel if quad.predicate == AWARD and isinstance(quad.object, NamedNode)}
    categories = {prize.rsplit("-", 1)[1] for prize in prizes}
    assert categories == {"physics", "chemistry", "medicine", "literature", "peace", "economics"}


def test_every_iri_of_nobel_has_one_english_label_and_every_predicate_a_local_name_of_its_own(nobel: set[Quad]) -> None:
    """Questions name predicates by local name, so two predicates must not share one."""
    predicates = {quad.predicate for quad in nobel}
    named = {term for quad in nobel for term in (quad.subject, quad.object) if isinstance(term, NamedNode)}
    labelled = Counter(
        quad.subject
        for quad in nobel
        if quad.predicate == LABEL and isinstance(quad.object, Literal) and quad.object.language == "en"
    )
    assert {term: labelled[term] for term in named} == dict.fromkeys(named, 1)
    assert predicates - labelled.keys() == set()
    assert len({local_name(predicate.value) for predicate in predicates}) == len(predicates)


def test_40_questions_cover_every_number_of_hops_both_directions_and_literals() -> None:
    for key in ("id", "question"):
        assert len(QUESTIONS) == len({question[key] for question in QUESTIONS}) == 40
    hops = Counter(question["hops"] for question in QUESTIONS)
    assert hops.keys() == {1, 2, 3}
    assert min(hops.values()) >= 8
    assert {step.startswith("^") for question in QUESTIONS for step in question["path"]} == {True, False}
    assert sum(not question["answer_iris"] for question in QUESTIONS) >= 4


def test_walking_the_path_gives_the_gold_and_labels_are_those_of_the_graph(nobel: set[Quad]) -> None:
    labels = english_labels(nobel)
    for question in QUESTIONS:
        (topic,) = question["topic_entities"]
        ends = walk(nobel, NamedNode(topic["iri"]), question["path"])
        texts = [end.value if isinstance(end, Literal) else labels[end] for end in ends]
        iris = [end.value for end in ends if isinstance(end, NamedNode)]
        assert ends, question["id"]
        assert sorted(texts) == question["answers"], question["id"]
        assert sorted(iris) == sorted(question["answer_iris"]), question["id"]
        assert question["hops"] == len(question["path"])
        assert labels[NamedNode(topic["iri"])] == topic["label"]
        if question["answer_iris"]:
            assert [labels[NamedNode(iri)] for iri in question["answer_iris"]] == question["answers"]


def test_the_gold_answers_of_the_honesty_questions_are_in_their_graphs() -> None:
    questions = [json.loads(line) for line in (FIXTURES / "honesty.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(questions) >= 120
    assert len({question["question"] for question in questions}) == len(questions)
    values = {
        name: {quad.object.value for quad in quads_of(FIXTURES / name) if isinstance(quad.object, Literal)}
        for name in {question["graph"] for question in questions}
    }
    for question in questions:
        kind, answers = question["kind"], question["answers"]
        assert kind in {"answerable", "ambiguous", "unanswerable", "half_known", "computed"}, question["id"]
        if kind in {"answerable", "ambiguous"}:
            assert answers, question["id"]
            assert set(answers) <= values[question["graph"]], question["id"]
        elif kind != "computed":
            assert answers == [], question["id"]
    assert max(Counter(question["kind"] for question in questions).values()) <= len(questions) / 2
