"""What a user gets who chooses no embedder, or one that is not here. In one file: each process loads it for seconds."""

import json
from collections import Counter
from pathlib import Path

import pytest

import kgsparql
from benchmarks.honesty import QUESTIONS, judged
from kgsparql import KnowledgeBase, Literal
from kgsparql.models.embedding import DEFAULT_MODEL, find_model, has_sentence_transformers
from tests.cli.conftest import Run
from tests.world import FEYNMAN, FIXTURES, NOBEL, graph_of


def test_the_question_of_the_demo(run: Run, default_embedder: None) -> None:
    done = run("ask", FEYNMAN, "-k", NOBEL, "--no-model", "-f", "json")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert list(answer) == [
        "schema_version", "question", "status", "grounding", "graphs", "retriever", "model", "trust", "text",
        "confidence", "sure", "type", "value", "unit", "is_ranked", "answers", "more_answers", "claims", "cited",
        "evidence", "linked", "inference", "own_steps", "tree", "usage", "details", "computed", "gaps",
        "choices", "guarantee", "notes", "fallbacks", "error",
    ]  # fmt: skip
    assert [link["term"]["label"] for link in answer["linked"]] == ["Richard Feynman"]
    assert answer["status"] == "answered"
    assert answer["grounding"] == "graph"
    labels = [a["term"]["label"] for a in answer["answers"]]
    assert "Richard Feynman" not in labels
    assert "Murray Gell-Mann" in labels
    paths = [item for item in answer["evidence"][:5] if item["kind"] == "path"]
    assert any(
        {"California Institute of Technology", "Murray Gell-Mann"}
        <= {t[role]["label"] for t in item["triples"] for role in ("subject", "object")}
        for item in paths
    )
    assert all(t["verified"] is True for item in answer["evidence"] for t in item["triples"])


def test_the_default_embedder_really_embeds(run: Run, default_embedder: None) -> None:
    if not has_sentence_transformers() or find_model(DEFAULT_MODEL) is None:
        pytest.skip("the default embedder is not installed")
    done = run("doctor", "-f", "json")
    (found,) = [check for check in json.loads(done.stdout) if check["check"] == "embedder"]
    assert found["state"] == "ok"
    assert "384 numbers" in found["found"]
    assert "all-MiniLM-L6-v2@" in found["found"]


def test_an_absence_rests_on_no_guess_literal_answers_are_literals(shared_data: Path, default_embedder: None) -> None:
    """`active` is a little like `ID`: of hardware without an ID there is nothing."""
    knowledge = kgsparql.open(shared_data / "ck25" / "graph.nt.gz")
    answer = knowledge.ask("Which hardware items have no active product manager?", model=None)
    assert "ID" not in answer.text
    assert answer.gaps
    answer = knowledge.ask("What is the telephone of Baldwin Dirksen?")
    assert Literal("+49-6200-33069465") in [a.term for a in answer.answers]


RECORDS = """
@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:artist rdfs:label "artist" . :member rdfs:label "member" . :home rdfs:label "home town" . :Record rdfs:label "album" .
:Musician rdfs:label "musician" . :Town rdfs:label "town" . :Band rdfs:label "band" .
:larks rdfs:label "The Larks" ; a :Band . :dawn rdfs:label "Slow Dawn" ; a :Record ; :artist :larks .
:wrens rdfs:label "The Wrens" ; a :Band ; :member :ida ; :home :varde . :ida rdfs:label "Ida Brandt" ; a :Musician .
:varde rdfs:label "Varde" ; a :Town .
"""


def test_people_and_places_are_not_albums_and_what_only_some_answers_have_to_do_with_is_a_doubt(
    tmp_path: Path, default_embedder: None
) -> None:
    file = tmp_path / "records.ttl"
    file.write_text(RECORDS, encoding="utf-8")
    knowledge = kgsparql.open(file)
    for question, status, text in (
        ("Who is the artist of The Larks?", "partial", "this asks for somebody, and what was found is 'album'"),
        ("Where is the artist of The Larks?", "partial", "this asks for a place, and what was found is 'album'"),
        ("Who is a member of The Wrens?", "answered", ""),
        ("Where is the home of The Wrens?", "answered", ""),
        ("Which genre has the artist The Larks?", "partial", "'genre' is left out"),
    ):
        answer = knowledge.ask(question)
        assert (answer.status, text in {"", *(gap.text for gap in answer.gaps)}) == (status, True), question
        assert bool(answer.gaps) == bool(text)
    experts = (FIXTURES / "golden" / "experts.ttl").read_text()
    experts += ':ida a :Person ; rdfs:label "Ida Roth" ; :member :data ; :expert :net .'
    question = "Which person is a member of Marketing and has area of expertise Network?"
    answer = KnowledgeBase(graph_of(experts)).ask(question, retriever="path_ranking")
    assert answer.status == "partial"
    assert "'marketing' is left out" in [gap.text.lower() for gap in answer.gaps]


@pytest.mark.deep
def test_few_answers_are_misleading(default_embedder: None) -> None:
    outcomes = Counter(one.outcome for one in judged(QUESTIONS, FIXTURES))
    assert outcomes.total() >= 120
    assert outcomes["misleading"] <= 0.08 * outcomes.total()
    assert outcomes["right"] >= 0.3 * outcomes.total()
