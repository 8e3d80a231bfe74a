"""A model that follows a script: asked with no socket, and replies that depend on what was asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import kgsparql
from tests import world
from tests.model_server import Reply, Text
from tests.world import Asked, Body, knowledge_of

__all__ = ["Asked", "Body", "knowledge_of"]


def ask(knowledge: kgsparql.KnowledgeBase, question: str, script: Any = None, **asking: Any) -> Asked:
    """Ask with a model that follows a script: see :func:`world.ask`."""
    return world.ask(question, knowledge, script, **asking)


def purpose(body: Body) -> str:
    """Which call a request is: ``mentions``, ``choices``, ``reading``, ``enough``, ``answer``, ``plan`` …"""
    said = body["messages"][0]["content"]
    heads = {
        "A graph of facts": "reading", "You find": "mentions", "You choose": "choices", "Some of": "constraints",
        "You write": "plan", "You judge": "enough",
        "You answer": "answer", "You follow": "choices", "You rewrite": "sentences",
    }  # fmt: skip
    return next(name for head, name in heads.items() if said.startswith(head))


def purposes(asked: Asked) -> list[str]:
    """Which calls there were, in order."""
    return [purpose(body) for body in asked.bodies]


def by_call(**replies: Reply | Callable[[Body], Reply] | dict[str, Any]) -> Callable[[Body], Reply]:
    """A script that replies by purpose; dictionaries are written as JSON. By default it is a :func:`reader`."""

    def script(body: Body) -> Reply:
        reply = replies.get(purpose(body), reader)
        if isinstance(reply, dict):
            return Text(reply)
        return reply if isinstance(reply, Reply) else reply(body)

    return script


def chose(*numbers: int, **more: Any) -> Text:
    """A reply that chooses these readings; ``more`` is what else it says."""
    return Text({"numbers": list(numbers), **more})


def reading_with(*parts: str, **more: Any) -> Callable[[Body], Reply]:
    """A script that chooses every reading whose line has one of these parts; none where none has."""

    def script(body: Body) -> Reply:
        return chose(*(n for n, text in numbered(body).items() if any(part in text for part in parts)), **more)

    return script


def facts_with(*parts: str, **more: Any) -> Callable[[Body], Reply]:
    """A script that answers with the last thing of every fact that has one of these parts; not enough if none has."""

    def script(body: Body) -> Reply:
        found = [(m, text, part) for m, text in marked(body).items() for part in parts if part in text]
        answers = [n for _, text, part in found for n in _meant_in(text, part)]
        said = {"answers": answers, "used": list(dict.fromkeys(m for m, _, _ in found)), "enough": bool(found)}
        ends = [(m, [*things_in(text)][:1], _meant_in(text, part)) for m, text, part in found]
        said["steps"] = [
            {"used": [m], "start": a, "end": b, "says": "so"} for m, first, ends_ in ends for a in first for b in ends_
        ]
        return Text({name: said.get(name, more.get(name, "")) for name in _members(body)})

    return script


def _members(body: Body) -> Sequence[str]:
    return list(asked_for(body)) if "json_schema" in body.get("response_format", {}) else ["answers", "used", "steps"]


def _meant_in(text: str, part: str) -> list[int]:
    """The last thing of a fact; of what is behind a node without a name, ``[—in→ 1911 [3]]``, that after the part."""
    after = text[text.index(part) :] if "[—" in text else text
    return list(things_in(f" {after}"))[: 1 if "[—" in text else None][-1:]


def things_in(text: str) -> dict[int, str]:
    """The things of a line of facts by their numbers: ``Ann`` of ``F1 Ann [1] —knows→ Bob [2]``."""
    found = re.findall(r"(?:^[FNPT]\d+ |→ |— |; |\| |)([^\[\]→—;|]+?) \[(\d+)\]", text)
    return {int(number): name for name, number in found}


def _said_of_ends(body: Body) -> dict[str, Any]:
    """An answer with all ends of the first line; of neighbour lines, of the first of two steps."""
    lines = {marker: text for marker, text in marked(body).items() if things_in(text)}
    far = [marker for marker, text in lines.items() if text.count("→") + text.count("←") > 1]
    used = (far if next(iter(lines), "")[:1] == "N" and far else list(lines))[:1]
    ends = [int(n) for marker in used for n in re.findall(r"\[(\d+)\](?! [—←])", lines[marker])]
    steps = [{"used": used, "start": min(things_in(lines[used[0]])), "end": end, "says": "so"} for end in ends]
    said = {"answers": ends, "used": used, "steps": steps, "enough": bool(ends)}
    return {name: said.get(name, "") for name in _members(body)}


def reader(body: Body) -> Reply:
    """A model that takes capitalised words for names, the first three of a list, the first reading or fact."""
    if purpose(body) == "choices":
        return Text({"choices": [{"n": n, "score": round(0.9 / n, 3)} for n in list(numbered(body))[:3]]})
    if purpose(body) == "reading":
        return chose(*list(numbered(body))[:1])
    if purpose(body) in {"enough", "answer"}:
        return Text(_said_of_ends(body))
    return Player()(body)


# -- A model that plays any method ---------------------------------------------------------------------------------


def asked_for(body: Body) -> dict[str, Any]:
    """The properties of the reply that a request asks for, with their schemas."""
    return dict(body["response_format"]["json_schema"]["schema"]["properties"])


def fences(body: Body) -> list[tuple[str, list[str]]]:
    """Everything that stands between fences in a request, as ``(name, lines)``, in order."""
    shown = "\n".join(message["content"] for message in body["messages"])
    return [(name, inside.split("\n")) for name, inside in FENCE.findall(shown)]


FENCE = re.compile(r"^<(\w+)>\n(.*?)\n?^</\1>", re.MULTILINE | re.DOTALL)


def numbered(body: Body) -> dict[int, str]:
    """The candidates of a request by their numbers."""
    lines = [line for _, inside in fences(body) for line in inside]
    found = [re.match(r"(\d+)\. (.*)", line) for line in lines]
    return {int(match[1]): match[2] for match in found if match}


def marked(body: Body) -> dict[str, str]:
    """The facts of a request by their markers."""
    lines = [line for _, inside in fences(body) for line in inside]
    found = [re.match(r"([A-Z]\d+) (.*)", line) for line in lines]
    return {match[1]: match[2] for match in found if match}


def question_of(body: Body) -> str:
    """The question of a request, wherever its method puts it."""
    shown = "\n".join(message["content"] for message in body["messages"])
    told = re.findall(r"^Question: (.*)$|^<question>\n(.*)\n</question>$", shown, re.MULTILINE)
    return next((a or b for a, b in told), "")


@dataclass(frozen=True)
class Player:
    """A model that plays any method: it sees from the schema of the reply what is asked for, and fills that in.

    It chooses the lines that share most words with the question, and takes capitalised words for names.

    :param sufficient: whether it finds a reading that says what is asked; else it chooses none.
    :param chooses: how many numbers of a list; but one reading.
    """

    sufficient: bool = True
    chooses: int = 3

    def __call__(self, body: Body) -> Reply:
        return Text(self.says(body))

    def says(self, body: Body) -> dict[str, Any]:
        """The reply as an object."""
        return {name: self.value(name, schema, body) for name, schema in asked_for(body).items()}

    def value(self, name: str, schema: Mapping[str, Any], body: Body) -> Any:
        kind = schema.get("type")
        if name in {"answers", "used", "enough", "steps"}:
            return self.read(body)[name]
        if kind == "array":
            return self.members(name, schema["items"], body)
        if kind == "object":
            return {key: self.value(key, own, body) for key, own in schema["properties"].items()}
        plain = {"boolean": False, "integer": 1, "number": 0.5, "string": "It is so." if name == "answer" else ""}
        return schema["enum"][0] if "enum" in schema else plain[str(kind)]

    def read(self, body: Body) -> dict[str, Any]:
        """What it says of facts: the last thing of the one that shares most words with the question."""
        words = set(re.findall(r"\w{4,}", question_of(body).lower()))
        facts = {marker: own for marker, text in marked(body).items() if (own := things_in(text))}
        shared = {m: len(words & set(re.findall(r"\w{4,}", marked(body)[m].lower()))) for m in facts}
        best = max(shared, key=lambda m: shared[m], default="") if self.sufficient else ""
        if not best:
            return {"answers": [], "used": [], "steps": [], "enough": False}
        start, *_, end = (*facts[best], [*facts[best]][-1])
        step = {"used": [best], "start": start, "end": end, "says": "It is so."}
        return {"answers": [end], "used": [best], "steps": [step], "enough": True}

    def members(self, name: str, schema: Mapping[str, Any], body: Body) -> list[Any]:
        if name == "mentions":
            return [{"mention": said, "is_type": False} for said in NAMES.findall(question_of(body))]
        if name == "numbers":
            return self.chosen(body)[: int(self.sufficient)]
        if name == "choices":
            return [self.choice(schema, n, i, body) for i, n in enumerate(self.chosen(body))]
        return [self.value(name, schema, body)]

    def choice(self, schema: Mapping[str, Any], number: int, rank: int, body: Body) -> Any:
        if schema.get("type") != "object":
            return number
        own = {key: self.value(key, of, body) for key, of in schema["properties"].items()}
        integers = [key for key, of in schema["properties"].items() if of.get("type") == "integer"]
        return own | {integers[0]: number} | ({"score": round(0.9 / (rank + 1), 3)} if "score" in own else {})

    def chosen(self, body: Body) -> list[int]:
        words = set(re.findall(r"\w{4,}", question_of(body).lower()))
        shown = numbered(body)
        return sorted(shown, key=lambda n: (-len(words & set(re.findall(r"\w{4,}", shown[n].lower()))), n))[
            : self.chooses
        ]


def one_after_another(calls: Sequence[tuple[float, float]]) -> int:
    """The most calls of which each begins when the one before has ended.

    >>> one_after_another([(0, 2), (0, 2), (1, 3), (2, 4)])
    2
    """
    count, ended = 0, float("-inf")
    for began, end in sorted(calls, key=lambda call: call[1]):
        if began >= ended:
            count, ended = count + 1, end
    return count


NAMES = re.compile(r"[A-Z][\w.'-]+(?: [A-Z][\w.'-]+)*")
