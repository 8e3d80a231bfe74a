"""MindMap with a model: what it asks, what it makes of the replies, and what a bad reply costs."""

from typing import Any

from kgsparql.budget import Budget
from tests import scripted
from tests.conftest import open_nobel
from tests.model_server import Text
from tests.scripted import Asked, by_call, facts_of, knowledge_of, purpose, reader, wrote

FEYNMAN = "Which scientists worked at the same institution as Richard Feynman?"
CALTECH = "California Institute of Technology"
LINKER = {"mentions": "linker"}


def ask(script: Any, question: str = FEYNMAN, *, turtle: str = "", **asking: Any) -> Asked:
    """Ask a question of the bundled graph, or another."""
    knowledge = knowledge_of(turtle) if turtle else open_nobel()
    return scripted.ask(knowledge, question, script, retriever="mindmap", **asking)


def purposes(asked: Asked) -> list[str]:
    return [purpose(body) for body in asked.bodies]


def linked(asked: Asked) -> list[str]:
    return [link.label for link in asked.answer.linked]


def number(body: dict[str, Any], label: str) -> int:
    shown = "\n".join(message["content"] for message in body["messages"])
    return next(int(line.split(".")[0]) for line in shown.split("\n") if f". {label} [" in line)


def mentioning(*said: tuple[str, bool]) -> dict[str, Any]:
    return {"mentions": [{"mention": text, "is_type": kind} for text, kind in said]}


def test_an_answer_is_written_from_numbered_evidence() -> None:
    steps = [("P1", name, "worked at", CALTECH) for name in ("Richard Feynman", "Linus Pauling")]
    said = "Linus Pauling did [P1]."
    asked = ask(by_call(answer=lambda body: wrote(said, entities=[number(body, "Linus Pauling")], steps=steps)))
    answer = asked.answer
    assert (answer.text, asked.labels) == (said, ["Linus Pauling"])
    assert (answer.status, answer.grounding, answer.removed, answer.error) == ("answered", "graph", 0, None)
    assert [(s.marker, answer.labels[s.cited.triple.subject]) for s in answer.inference] == [
        ("P1", "Richard Feynman"), ("P1", "Linus Pauling"),
    ]  # fmt: skip
    assert answer.tree.text().splitlines() == [
        "Richard Feynman",
        "└─ —worked at→ California Institute of Technology  [P1]",
        "   └─ ←worked at— Linus Pauling  [P1]",
    ]
    assert (answer.usage["model_calls"], purposes(asked)) == (2, ["mentions", "answer"])


def test_the_facts_are_a_turn_of_their_own_and_every_item_is_in_it() -> None:
    asked = ask(reader, options=LINKER)
    assert (purposes(asked), linked(asked)) == (["answer"], ["Richard Feynman"]), "the linker finds the names"
    messages = asked.bodies[-1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert FEYNMAN in messages[-1]["content"]
    assert "<facts>" not in messages[-1]["content"]
    assert facts_of(asked.bodies[-1]) == [(item.marker, item.text) for item in asked.answer.evidence]
    without = ask(None).answer
    assert without.evidence.triples == asked.answer.evidence.triples, "all is the same up to the writing"
    assert [item.text for item in without.evidence] == asked.texts
    assert without.linked == asked.answer.linked


def test_sentences_cost_one_call_more_and_are_what_the_model_reads() -> None:
    asked = ask(reader, options={"verbalise": "model"})
    assert (purposes(asked), asked.answer.usage["model_calls"]) == (["mentions", "sentences", "answer"], 3)
    templates = [(item.marker, item.text) for item in asked.answer.evidence]
    assert facts_of(asked.bodies[1]) == templates
    assert all(text.startswith("It is so that") for _, text in facts_of(asked.bodies[-1]))
    assert not any(text.startswith("It is so that") for text in asked.texts)
    refused = by_call(sentences=Text("I would rather not."), answer=wrote("Yes [P1]."))
    asked = ask(refused, options={"verbalise": "model"})
    assert (facts_of(asked.bodies[-1]), asked.fallbacks) == (templates, ["sentences"])


def test_known_mistake_11_mentions_are_linked_in_their_order_and_types_only_alone() -> None:
    so, curie = wrote("So [P1]."), ("Marie Curie", False)
    mentions = mentioning(("person", True), ("Niels Bohr", False), ("the lady Curie", False), curie, ("", False))
    asked = ask(by_call(mentions=mentions, answer=so), "What joins Marie Curie and Niels Bohr?")
    assert linked(asked) == [link.mention.text for link in asked.answer.linked] == ["Niels Bohr", "Marie Curie"]
    for reply, fallbacks in (
        (Text(mentioning()), []),
        (Text("I am sorry, I can't."), ["mentions"]),
        (Text(mentioning(("Zzyzx Qwrt", False))), []),
        (Text(mentioning(("scientists", True), ("xqzw", False))), []),
    ):
        asked = ask(by_call(mentions=reply, answer=so))
        assert linked(asked) == ["Richard Feynman"], "by the words of the question"
        assert asked.fallbacks == fallbacks


def test_M14_without_an_entity_a_model_may_still_know() -> None:
    script = by_call(**{"closed book": {"answer": "Ask a zoo."}})
    zebras: dict[str, Any] = {"question": "Where do zebras live?", "turtle": ':a rdfs:label "Alpha" ; :p :b .'}
    assert ask(script, **zebras).answer.status == "no_entity"
    answer = ask(script, **zebras, allow_model_knowledge=True).answer
    assert (answer.status, answer.grounding) == ("answered", "model")


def test_M04_an_answer_in_another_script_is_kept_and_told() -> None:
    answer = ask(by_call(answer=wrote("他在加州理工学院工作 [P1]."))).answer
    assert answer.text == "他在加州理工学院工作 [P1]."
    assert any("another script" in note for note in answer.notes)


def test_M06_a_name_in_the_answer_is_known_word_for_word_or_not_at_all() -> None:
    for said, labels in (
        ({"answer": "It was Linus Pauling [P1]."}, ["Linus Pauling"]),
        ({"answer": "It was Hans Beth [P1]."}, []),
        ('<think>P9? no</think>\n```json\n{"answer": "Linus Pauling [P1]"}\n```', ["Linus Pauling"]),
    ):
        asked = ask(by_call(answer=Text(said)))
        assert (asked.labels, asked.answer.status) == (labels, "answered")
        assert all(label in asked.answer.text for label in labels)


def test_known_mistake_10_braces_in_graph_text_reach_the_model_as_they_are() -> None:
    braces = "{0} {x!r} %s ${HOME}"
    turtle = f':a rdfs:label "Alpha" ; :p :b . :b rdfs:label "{braces}" . :p rdfs:label "is {{near}}" .'
    asked = ask(reader, "What is Alpha near?", turtle=turtle)
    assert braces in asked.bodies[-1]["messages"][1]["content"]
    assert asked.answer.status == "answered"


def test_U15_the_only_call_is_for_the_answer_and_without_any_what_was_found_is_shown() -> None:
    for verbalise, left_out in (("template", {"mentions"}), ("model", {"mentions", "sentences"})):
        asked = ask(reader, budget=Budget(max_calls=1), options={"verbalise": verbalise})
        assert (purposes(asked), linked(asked)) == (["answer"], ["Richard Feynman"])
        assert (asked.answer.status, asked.answer.usage["model_calls"]) == ("answered", 1)
        assert set(asked.fallbacks) == left_out
    asked = ask(reader, budget=Budget(max_calls=0))
    assert (asked.bodies, asked.answer.status) == ([], "partial")
    assert asked.texts
