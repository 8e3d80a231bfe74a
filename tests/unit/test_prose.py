"""What a model says below an answer: true sentences are shown, and none that the cited facts do not bear out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import kgsparql
from kgsparql import Answer, AskOptions, LanguageModel, Session
from kgsparql.answering.pipeline import answer
from kgsparql.answering.prose import borne_out, with_prose
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.retrievers import load
from tests.deep import DEEP
from tests.model_server import HangUp, ModelServer, Reply, Text
from tests.scripted import Player, ask, purpose
from tests.world import BORN, FIXTURES, graph_of

PLANT = """
@prefix : <http://example.org/plant/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Pump rdfs:label "pump" . :Tank rdfs:label "tank" . :Company rdfs:label "company" . :Engineer rdfs:label "engineer" .
:feeds rdfs:label "feeds" . :suppliedBy rdfs:label "supplied by" . :weight rdfs:label "weight in kg" .
:installed rdfs:label "installation date" . :maintains rdfs:label "maintains" . :price rdfs:label "price" .
:headquarters rdfs:label "headquarters" . :ownedBy rdfs:label "owned by" . :successor rdfs:label "successor" .
:marriedTo rdfs:label "married to" . :locatedIn rdfs:label "located in" .
:p1 a :Pump ; rdfs:label "Pump Alder" ; :feeds :t1 ; :suppliedBy :acme ; :weight 120 ; :price 5400.50 ;
    :installed "2019-03-04"^^xsd:date .
:p2 a :Pump ; rdfs:label "Pump Birch" ; :feeds :t1 , :t2 ; :suppliedBy :bolt ; :weight 95 ; :price 3100 ;
    :installed "2021-10-12"^^xsd:date ; :successor :p1 .
:t1 a :Tank ; rdfs:label "Tank North" ; :locatedIn :hall1 ; :weight 900 . :hall1 rdfs:label "Hall One" .
:t2 a :Tank ; rdfs:label "Tank South" ; :locatedIn :hall2 ; :weight 750 . :hall2 rdfs:label "Hall Two" .
:acme a :Company ; rdfs:label "Acme Flow" ; :headquarters :leeds ; :ownedBy :gil . :leeds rdfs:label "Leeds" .
:bolt a :Company ; rdfs:label "Bolt Hydraulics" ; :headquarters :york ; :ownedBy :ines . :york rdfs:label "York" .
:gil a :Engineer ; rdfs:label "Gil Osei" ; :maintains :p1 , :p2 ; :marriedTo :ines .
:ines a :Engineer ; rdfs:label "Ines Roth" ; :maintains :t1 .
"""
TOLD = (Path(__file__).parent / "prose_sentences.txt").read_text(encoding="utf-8").splitlines()


@cache
def opened(graph: str) -> kgsparql.KnowledgeBase:
    if graph == "plant":
        return kgsparql.KnowledgeBase(graph_of(PLANT), embedder="none")
    return kgsparql.open(FIXTURES / graph, embedder="none")


def told(sign: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (graph, question, sentences) of one kind: + for the true ones."""
    graph = question = ""
    lines: dict[tuple[str, str], list[str]] = {}
    for line in TOLD:
        first, _, text = line.partition(" ")
        graph, question = (text if first == "==" else graph), (text if first == "?" else question)
        if first == sign:
            lines.setdefault((graph, question), []).append(text)
    yield from ((*about, sentences) for about, sentences in lines.items())


def writer_of(sentences: Sequence[str]) -> LanguageModel:
    transport = ModelServer(lambda _: Text({"sentences": list(sentences)})).transport
    return LanguageModel("scripted-model", OpenAIClient("http://model.test/v1", timeout_s=5.0, transport=transport))


@cache
def made_with_session(graph: str, question: str) -> tuple[Answer, Session]:
    without_limit = kgsparql.Budget(max_seconds=None, max_queries=None, max_rows=None)  # it is asked many times below
    session = opened(graph).session(question, AskOptions(budget=without_limit))
    return answer(load("auto", {}), session), session


def shown(sign: str) -> tuple[list[str], list[str]]:
    """Have a server say all sentences of a kind; return which are shown, and which are not."""
    kept, dropped = [], []
    for graph, question, sentences in told(sign):
        made, session = made_with_session(graph, question)
        for one in sentences[:: 1 if DEEP else 3] if made.status == "answered" else ():
            said = with_prose(made, replace(session, writer=writer_of([one])))
            (kept if said.prose else dropped).append(f"{question} {one}")
            assert said.usage["dropped_sentences"] == 1 - len(said.prose)
    return kept, dropped


def test_nine_of_ten_true_sentences_are_shown() -> None:
    kept, dropped = shown("+")
    assert len(kept) >= (60 if DEEP else 40)
    assert len(kept) >= 0.9 * (len(kept) + len(dropped)), dropped


def test_no_sentence_is_shown_that_the_facts_do_not_bear_out() -> None:
    kept, dropped = shown("-")
    assert kept == []
    assert len(dropped) >= 60


def lies_made_of(sentence: str, other: str) -> Iterator[str]:
    """Change a true sentence into false ones: its preposition, whether it is so, its number, a name, who is who."""
    text, _, marker = sentence.removesuffix(".").rpartition(" ")
    found = text.split(" ")
    for at, word in enumerate(found):
        for wrong in {"in": "by to", "of": "by with", "by": "to in", "at": "by of", "to": "at by"}.get(
            word, ""
        ).split():
            yield " ".join([*found[:at], wrong, *found[at + 1 :], marker])
        if word in {"is", "was", "are", "were"}:
            for wrong in (f"{word} not", f"{word} never", "may be", "could have been"):
                yield " ".join([*found[:at], wrong, *found[at + 1 :], marker])
    if re.search(r"\d$", text):
        yield re.sub(r"\d(?=\d?$)", lambda digit: str((int(digit[0]) + 1) % 10), text) + f" {marker}"
    names = re.findall(r"(?:[A-Z]\w+ )*[A-Z]\w+", text)
    for name in names[-1:]:
        yield text.replace(name, other) + f" {marker}"
    if len(names) == 2 and found[0] not in {"The", "Yes", "No"} and not {"married", "is", "are", "and"} & {*found}:
        yield text.replace(names[0], "@").replace(names[1], names[0]).replace("@", names[1]) + f" {marker}"


def test_no_true_sentence_is_shown_when_it_was_changed() -> None:
    others = {"honesty/company.ttl": "Harbour Light", "plant": "Bolt Hydraulics"}
    asked = [about for about in told("+") if about[0] in others]
    made = {question: made_with_session(graph, question) for graph, question, _ in asked}
    lies = [
        (question, f"{lie}.") for graph, question, sentences in asked
        for one in sentences[:: 1 if DEEP else 2] for lie in lies_made_of(one, others[graph])
        if made[question][0].status == "answered"
    ]  # fmt: skip
    assert len(lies) >= 60
    assert [own for own in lies if borne_out(own[1], *made[own[0]])] == []


def test_at_most_three_sentences_are_shown_and_the_others_are_counted() -> None:
    made, session = made_with_session("nobel.ttl", BORN)
    true, lie = "Marie Curie was born in Warsaw [P1].", "Marie Curie was born in Vienna [P1]."
    other = "Warsaw is the place of birth of Marie Curie [P1]."
    said = with_prose(made, replace(session, writer=writer_of([true, lie, other, true, true])))
    assert said.prose == (true, other)
    assert said.usage["dropped_sentences"] == 3


@pytest.mark.parametrize("reply", [HangUp(), Text("no list at all"), Text({"sentences": "Warsaw [P1]."})])
def test_where_the_call_fails_the_answer_stands_with_one_note(reply: Reply) -> None:
    player = Player()
    script = lambda body: reply if purpose(body) == "prose" else player(body)  # noqa: E731
    without = ask(opened("nobel.ttl"), BORN, player).answer
    found = ask(opened("nobel.ttl"), BORN, script, prose=True).answer
    assert (found.status, found.text, found.answers) == (without.status, without.text, without.answers)
    assert found.prose == ()
    assert [note.code for note in found.notes if note.code == "no_prose"] == ["no_prose"]


def test_nothing_is_said_where_nothing_is_sure_nor_without_being_asked() -> None:
    doubted = ask(opened("nobel.ttl"), "Who is the mayor of Warsaw?", Player(sufficient=False), prose=True)
    plain = ask(opened("nobel.ttl"), BORN, Player())
    assert not any(purpose(body) == "prose" for body in (*doubted.bodies, *plain.bodies))


def test_prose_stands_below_the_answer_in_every_form_but_rdf() -> None:
    made, session = made_with_session("nobel.ttl", BORN)
    said = with_prose(made, replace(session, writer=writer_of(["Marie Curie was born in Warsaw [P1]."])))
    title = "In the words of scripted-model, each sentence checked against what it cites:"
    for form in ("text", "markdown", "html"):
        lines = kgsparql.render(said, form).replace("\\", "").splitlines()
        assert any(title in line for line in lines), form
        assert sum("was born in Warsaw [P1]." in line for line in lines) == 1, form
    assert kgsparql.answer_to_json(said)["prose"] == ["Marie Curie was born in Warsaw [P1]."]
    assert "was born in Warsaw" not in kgsparql.render(said, "trig")
