"""Replies for the scripted model server that depend on what was asked: each of MindMap's calls gets its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.model_server import Reply, Text

__all__ = ["by_call", "facts_of", "purpose", "reader", "wrote"]

Body = dict[str, Any]


def purpose(body: Body) -> str:
    """Which of MindMap's calls a request is: ``mentions``, ``sentences``, ``answer`` or ``closed book``."""
    said = body["messages"][0]["content"]
    heads = {"You find": "mentions", "You put": "sentences", "You answer": "answer", "Answer the": "closed book"}
    return next(name for head, name in heads.items() if said.startswith(head))


def facts_of(body: Body) -> list[tuple[str, str]]:
    """The numbered facts of a request, as ``(marker, text)``."""
    shown = "\n".join(message["content"] for message in body["messages"])
    inside = re.search(r"<facts>\n(.*?)\n</facts>", shown, re.DOTALL)
    assert inside is not None
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in inside[1].split("\n")]


def by_call(**replies: Reply | Callable[[Body], Reply] | dict[str, Any]) -> Callable[[Body], Reply]:
    """A script that replies by purpose; dictionaries are written as JSON. Names of no mention are the default."""

    def script(body: Body) -> Reply:
        reply = replies.get(purpose(body), {"mentions": []})
        if isinstance(reply, dict):
            return Text(reply)
        return reply if isinstance(reply, Reply) else reply(body)

    return script


def wrote(answer: str, *, entities: Sequence[int] = (), steps: Sequence[Sequence[str]] = (), **more: Any) -> Text:
    """What MindMap's last call asks for."""
    keys = ("marker", "subject", "predicate", "object")
    inference = [dict(zip(keys, step, strict=True)) for step in steps]
    return Text({"sufficient": True, "answer": answer, "entities": list(entities), "inference": inference, **more})


def reader(body: Body) -> Reply:
    """A model that copies: the capitalised words as names, the first fact as answer, its first arrow as inference."""
    if purpose(body) == "mentions":
        question = body["messages"][1]["content"]
        names = re.findall(r"[A-Z][\w.'-]+(?: [A-Z][\w.'-]+)*", question)
        return Text({"mentions": [{"mention": name, "is_type": False} for name in names]})
    if purpose(body) == "sentences":
        return Text({"sentences": [{"marker": m, "sentence": f"It is so that {t}"} for m, t in facts_of(body)]})
    marker, text = facts_of(body)[0]
    steps = []
    if arrow := re.match(r"(?P<a>.+?) (?:—(?P<out>[^—→]+)→|←(?P<in>[^—→]+)—) (?P<b>[^;|—←]+)", text):
        a, b = arrow["a"].strip(), arrow["b"].strip()
        steps.append((marker, a, arrow["out"], b) if arrow["out"] else (marker, b, arrow["in"], a))
    return wrote(f"{json.dumps(text[:60], ensure_ascii=False)} [{marker}]", entities=[1], steps=steps)
