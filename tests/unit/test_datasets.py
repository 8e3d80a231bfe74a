"""Every format a dataset comes in, read from real files, and what is said of the lines that cannot be."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kgsparql.errors import DataError, InputError, KgsparqlError
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Question, Topic
from kgsparql.evaluation.datasets import load, sample
from kgsparql.rdf.terms import IRI, Literal
from tests.world import FIXTURES

DATASETS = FIXTURES / "datasets"
R = "https://kgsparql.example/rivers/"


def river(name: str) -> IRI:
    return IRI(R + name)


def answers_of(dataset: Dataset, number: int) -> dict[object, str]:
    answers = dataset.questions[number].answers
    assert answers is not None
    return {answer.term: answer.label for answer in answers}


def lines(*entries: object) -> str:
    return "".join(entry if isinstance(entry, str) else json.dumps(entry) + "\n" for entry in entries)


def entry(**more: Any) -> dict[str, Any]:
    return {"id": "a", "question": "Where?", "answers": ["Bonn"], "answer_iris": [R + "Bonn"], **more}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """A function that writes a file and loads it."""

    def write(content: str | bytes, name: str = "questions.jsonl", **options: Any) -> Dataset:
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load(file, **options)

    return write


def test_a_folder_with_its_graph_what_it_says_of_itself_and_gold_answers_of_each_kind() -> None:
    dataset = load(DATASETS / "rivers")
    assert dataset.name == "rivers"
    assert dataset.graph == (DATASETS / "rivers" / "graph.ttl",)
    assert [question.id for question in dataset.questions] == [f"r{n}" for n in range(1, 9)]
    assert dataset.problems == ()
    first = dataset.questions[0]
    assert first.topics == (Topic(river("Elbe"), "Elbe"),)
    assert (first.hops, first.type, first.path) == (1, "city", ("flowsThrough",))
    assert answers_of(dataset, 0) == {river("Dresden"): "Dresden", river("Hamburg"): "Hamburg"}
    assert answers_of(dataset, 1) == {Literal("2850"): "2850"}
    assert answers_of(dataset, 3) == dict.fromkeys(map(river, ("Rhine", "Elbe", "Danube")), "")
    assert answers_of(dataset, 4) == {Literal("true"): "true"}
    assert dataset.questions[7].answers == (GoldAnswer(None, "Ulm"), GoldAnswer(None, "vienna"))
    assert str(dataset.questions[6].golden_triples[0].predicate) == f"<{R}mouth>"


def test_iris_and_labels_are_pairs_if_there_are_as_many(written: Any) -> None:
    ids = [R + "1", R + "2", R + "1"]
    dataset = written(lines(entry(answers=["a", "b", "c"], answer_iris=ids), entry(id="b", answer_iris=ids)))
    assert answers_of(dataset, 0) == {river("1"): "a", river("2"): "b"}
    assert answers_of(dataset, 1) == {river("1"): "", river("2"): ""}


def test_our_format_is_lines(written: Any) -> None:
    content = lines(entry(), entry(id="b")).encode()
    for name in ("a.jsonl", "a.jsonl.gz"):
        dataset = written(gzip.compress(content) if name.endswith("gz") else content, name)
        assert [question.id for question in dataset.questions] == ["a", "b"], name
        assert (dataset.name, dataset.graph) == ("a", ())


def test_texts_are_cleaned_and_only_line_feeds_end_lines(written: Any) -> None:
    odd = entry(question="Wh\x00ere\t \u2028is\x1b it?", answers=[8, True, 1.5], answer_iris=[])
    text = lines(odd).replace("\n", "\r\n").replace("\\u2028", "\u2028")
    dataset = written(f"\ufeff{text}\r\n\r\n")
    assert [q.text for q in dataset.questions] == ["Where is it?"]
    assert (list(answers_of(dataset, 0).values()), dataset.problems) == (["8", "true", "1.5"], ())


BROKEN: list[tuple[object, str]] = [
    ('{"id": "x", "question": \n', "Invalid JSON"),
    ('{"id": "x", "question": "\\ud800?", "answers": ["a"]}\n', "hex escape"),
    ("[" * 100_000 + "\n", "recursion limit"), ('{"id": "x", "hops": ' + "9" * 5000 + "}\n", "Invalid JSON"),
    (entry(question=""), "empty"), (entry(question="x" * 4001), "4,001 characters"),
    (entry(id=["x"]), "id: Input should be a valid string"), (entry(answer_iris=["Bonn"]), "not a valid IRI"),
    (entry(topic_entities=[{"label": "Bonn"}]), "topic_entities.0.iri: Field required"),
    (entry(hops=-1), "hops: Input should be greater"),
    (entry(golden_triples=[{"s": "a", "p": "b", "o": "c"}]), "not a triple: a b c"),
    ({"id": "x", "question": "Why?"}, "no answers, and no SPARQL"),
]  # fmt: skip


def test_a_line_that_cannot_be_used_is_a_problem_with_its_number(written: Any) -> None:
    dataset = written(lines(entry(id="before"), *(line for line, _ in BROKEN), entry(id="after")))
    assert [question.id for question in dataset.questions] == ["before", "after"]
    for number, (problem, (_, message)) in enumerate(zip(dataset.problems, BROKEN, strict=True), 2):
        assert problem.where.endswith(f"questions.jsonl:{number}")
        assert message in problem.message


def test_of_questions_with_one_id_the_first_counts(written: Any) -> None:
    bare = entry(id="b", topic_entities=[{"iri": R + "Bonn", "label": None}])
    dataset = written(lines(entry(), entry(answers=["Ulm"], answer_iris=[R + "Ulm"]), bare))
    assert [question.id for question in dataset.questions] == ["a", "b"]
    (problem,) = dataset.problems
    assert (problem.where[-1], problem.message) == ("2", "another one has the id a")


def test_an_empty_list_of_answers_says_that_there_is_none(written: Any) -> None:
    dataset = written(lines(entry(answers=[], answer_iris=[]), {"id": "b", "question": "Why?", "sparql": "ASK {}"}))
    assert [question.answers for question in dataset.questions] == [(), None]


def test_a_file_of_which_nothing_can_be_used_is_an_error(written: Any) -> None:
    with pytest.raises(DataError, match=r"none of 2 questions can be used; the first:1: Invalid JSON"):
        written("{\n{\n")
    for content in ("", "\n\n", "\ufeff"):
        with pytest.raises(DataError, match="no questions"):
            written(content)
    packed = gzip.compress(lines(*[entry(id=n) for n in range(500)]).encode())
    with pytest.raises(DataError, match="not whole"):
        written(packed[: len(packed) // 2], "questions.jsonl.gz")


def test_another_encoding_is_refused_with_the_line(written: Any) -> None:
    for content, name, line in (
        (lines(entry()).encode() + b'{"question": "caf\xe9", "answers": ["a"]}\n', "a.jsonl", 2),
        ('{"question": "Why?", "answers": ["a"]}'.encode("utf-16"), "a.jsonl", 1),
    ):
        with pytest.raises(DataError, match=rf"{name}:{line}: not UTF-8"):
            written(content, name)


def test_what_is_no_format_is_refused_with_those_that_are(written: Any) -> None:
    for content, name in (("hello", "a.dat"), ("questions: []", "a.yml"), ("[]", "a.json")):
        with pytest.raises(InputError, match="not a file of questions") as caught:
            written(content, name)
    assert "JSON Lines" in caught.value.hint


def test_a_folder_has_questions_and_the_graph_that_is_named_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no questions\.jsonl") as caught:
        load(DATASETS)
    assert "sparql_only.jsonl" in caught.value.hint
    for absent in (tmp_path / "absent", "a\0b", "x" * 5000):
        with pytest.raises(InputError, match="no such file"):
            load(absent)
    (tmp_path / "questions.jsonl").write_text(lines(entry()), encoding="utf-8")
    for name in ("graph.nt.gz", "graph_literals.nt.gz", "graph.txt", "other.ttl"):
        (tmp_path / name).write_bytes(b"")
    assert load(tmp_path).graph == (tmp_path / "graph.nt.gz",)


def test_a_sample_is_the_same_every_time_and_equal_by_hops() -> None:
    questions = [Question(id=str(n), text="?", hops=1 + n % 3 if n < 290 else None) for n in range(300)]
    taken = sample(questions, 90, seed=1)
    assert taken == sample(questions, 90, seed=1) != sample(questions, 90, seed=2)
    assert list(taken) == [question for question in questions if question in set(taken)]
    assert Counter(question.hops for question in taken) == {1: 27, 2: 27, 3: 26, None: 10}
    assert set(sample(questions, 60, seed=1)) < set(taken)
    assert sample(questions, None) == sample(questions, 300) == tuple(questions)


def test_the_real_datasets_beside_the_checkout_are_read_whole(shared_data: Path) -> None:
    counts = {}
    for folder in sorted(shared_data.iterdir()):
        try:
            dataset = load(folder)
        except KgsparqlError:
            continue
        assert dataset.problems == ()
        assert all(question.answers for question in dataset.questions)
        assert [graph.name.split(".")[0] for graph in dataset.graph] == ["graph"]
        counts[dataset.name] = len(dataset.questions)
    assert counts["metaqa"] == 900
    assert counts["orkg"] == 80
