"""The four published methods ask a model the steps of their papers, in order, each in words of its own."""

import itertools
import json
from collections import Counter
from typing import Any

import pytest

from kgsparql.retrievers import entity, mindmap, struct_gpt, think_on_graph
from tests.model_server import Reply, Text
from tests.scripted import Player, ask, facts_with, numbered, purpose
from tests.world import FIXTURES, Body, open_nobel

TWO_STEPS = "Where was the spouse of Marie Curie born?"
WAY = ("—spouse→", "—place of birth→")


def walker(body: Body) -> Reply:
    """A model that follows the spouse, then the birthplace, and answers when it has read that."""
    if purpose(body) == "choices":
        listed = {n: text for n, text in numbered(body).items() if any(way in text.replace("…", "") for way in WAY)}
        far = [n for n, text in listed.items() if all(way in text for way in WAY)]
        near = [n for n, text in listed.items() if text.startswith("Marie Curie —spouse→ (")]
        return Text({"choices": [{"n": n, "score": 0.9} for n in (far or near or list(listed))[:1]]})
    if purpose(body) in {"enough", "answer"}:
        return facts_with("—place of birth→ Paris", "Pierre Curie [2] —place of birth→")(body)
    return Player()(body)


def heads(bodies: list[Body]) -> list[str]:
    """What each call is told to do, by the name of the prompt."""
    prompts = {
        "names": mindmap.MENTIONS, "merge": mindmap.MERGE, "enough": think_on_graph.ENOUGH, "follow": struct_gpt.FOLLOW,
        "select": struct_gpt.SELECT, "context": entity.ANSWER,
    }  # fmt: skip
    told = [body["messages"][0]["content"] for body in bodies]
    return [next((name for name, prompt in prompts.items() if text.startswith(prompt)), "score") for text in told]


@pytest.mark.parametrize(("method", "steps"), [
    ("think_on_graph", ["score", "enough", "score", "enough"]),
    ("struct_gpt", ["follow", "select", "follow", "select"]),
    ("mindmap", ["names", "merge"]),
    ("entity", ["context"]),
])  # fmt: skip
def test_each_step_is_asked_in_order(method: str, steps: list[str]) -> None:
    asked = ask(open_nobel(), TWO_STEPS, walker, retriever=method)
    assert (heads(asked.bodies), asked.labels, asked.answer.status) == (steps, ["Paris"], "answered")
    (item,) = asked.answer.evidence.keep(asked.answer.cited)
    assert item.text == "Marie Curie —spouse→ Pierre Curie —place of birth→ Paris"


def test_no_two_methods_ask_the_same() -> None:
    lines = (FIXTURES / "nobel_questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines[::4]]
    sent: dict[str, Counter[str]] = {}
    for method in ("think_on_graph", "struct_gpt", "mindmap", "entity"):
        bodies: list[dict[str, Any]] = []
        for question in questions:
            bodies += ask(open_nobel(), question, Player(), retriever=method).bodies
        sent[method] = Counter(json.dumps(body["messages"]) for body in bodies)
    for one, other in itertools.combinations(sent, 2):
        shared = (sent[one] & sent[other]).total() / min(sent[one].total(), sent[other].total())
        assert shared <= 0.25, (one, other, shared)
