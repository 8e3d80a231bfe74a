"""Replies that models really give, of every kind a method asks for: what a parser must survive."""

import json
from collections.abc import Callable
from typing import Any

from tests.model_server import Big, Length, NoChoices, NullContent, Raw, Refusal, Reply, Text
from tests.scripted import Player, asked_for, numbered

Script = Callable[[dict[str, Any]], Reply]


def _names(body: dict[str, Any]) -> list[str]:
    """What is listed in a request."""
    return list(numbered(body).values()) or ["nothing"]


def _lines(form: str) -> Script:
    """A reply with a line for each of the first three candidates, as ``form`` has it."""

    def script(body: dict[str, Any]) -> Reply:
        names = _names(body)[:3]
        return Text("\n".join(form.format(i=i, name=name, score=0.9 / i) for i, name in enumerate(names, 1)))

    return script


def changed(says: Callable[[dict[str, Any]], dict[str, Any]]) -> Script:
    """What a good model replies, but with what this says for the properties that are asked for."""

    def script(body: dict[str, Any]) -> Reply:
        wrong = says(body)
        return Text({key: wrong.get(key, value) for key, value in Player().says(body).items()})

    return script


def _keys(**values: Any) -> Script:
    return changed(lambda _: values)


def _good(change: Callable[[str], str]) -> Script:
    """What a good model replies, in another form."""
    return lambda body: Text(change(json.dumps(Player().says(body))))


def _same(reply: Reply) -> Script:
    return lambda body: reply


USELESS: dict[str, Script] = {
    "empty": _same(Text("")), "spaces": _same(Text("  \n ")), "null": _same(NullContent()),
    "no choices": _same(NoChoices()), "refusal": _same(Refusal()),
    "cut off": _same(Length('{"choices": [{"n": 1, "sc')), "cut reading": _same(Text('{"numbers": [')),
    "only thinking": _same(Text("<think>Perhaps number 2? Or P1? I am not sure")),
    "another object": _same(Text({"error": {"code": 7}})), "a list of lists": _same(Text([[[[]]]])),
    "deep": _same(Text("[" * 5_000)),
    "another completion": _same(Raw(b'{"id": 1, "choices": [{"message": {"content": [1, 2, {"x": 3}]}}]}')),
}  # fmt: skip
"""Replies that say nothing: whatever was asked, something has to step in."""

GALLERY: dict[str, Script] = USELESS | {
    "cut JSON": _same(Text('{"choices": [{"n": 1, "score": 0.9}, {"n": 2, "sco')),
    "refused in words": _same(Text("I'm sorry, but I cannot help with that.")),
    "prose": _same(Text("The question is an interesting one, and many have asked it before.")),
    "odd characters": _same(Text("😀 \x00 \x1b[31m \u202e")),
    "huge": _same(Big(300_000)),
    "huge list": _keys(choices=[{"n": n, "score": 1} for n in range(20_000)], numbers=list(range(20_000))),
    "wrong numbers": _keys(choices=[{"n": n, "score": 1} for n in (0, -1, 99, 10**12)], numbers=[0, -1, 99, 10**12]),
    "not numbers": _keys(choices=[{"n": "all"}, {"n": None}, {"n": True}, {"n": []}], numbers=["all", None, True, {}]),
    "same number": _keys(choices=[{"n": 1, "score": 1}] * 50, numbers=[1] * 50),
    "strings": _keys(choices="1, 2", numbers="1", compute="True", meaning=["a"], search={}, quote=3),
    "nothing": _keys(choices=[], numbers=[], compute=None, meaning="", search="", quote=""),
    "scores": _keys(choices=[{"n": n, "score": s} for n, s in enumerate(["9/10", "NaN", -1, 1e9, "high", None], 1)]),
    "infinite scores": lambda body: (
        Text('{"choices": [{"n": 1, "score": Infinity}, {"n": 2, "score": NaN}]}')
        if "choices" in asked_for(body)
        else Player()(body)
    ),
    "numbered": _lines("{i}. {name}: {score:.2f}"),
    "a table": _lines("| {i} | {name} | {score:.2f} |"),
    "upper case": lambda body: Text("\n".join(name.upper() for name in _names(body)[:3])),
    "prefixed and underscored": lambda body: Text("\n".join(f"wiki.{n.replace(' ', '_')}" for n in _names(body)[:3])),
    "near misses": lambda body: Text({"choices": [{"n": f"{name[:-2]}x"} for name in _names(body)[:3]]}),
    "yes": _same(Text("{Yes}. The answer is {1965} [P1].")),
    "a lead-in": lambda body: Text(f"The relevant relations are: {_names(body)[0]}"),
    "numbers in prose": _same(Text("In 1998 there were 3 of them, and 2 in 1999 [P1].")),
    "fenced": _good(lambda text: f"Here you are:\n```json\n{text}\n```\nI hope that helps!"),
    "thinking first": _good(lambda text: f"<think>1? 2? [P9]</think>\n{text}"),
    "single quotes": lambda body: Text(str(Player().says(body))),
    "trailing comma": _good(lambda text: text[:-1] + ",}"),
    "said twice": _good(lambda text: f"{text}\n{text}"),
    "in a list": _good(lambda text: f"[{text}]"),
    "in an object": _good(lambda text: f'{{"result": {text}}}'),
    "said beside": lambda body: Text({**Player().says(body), "answer": "It was Einstein [P99].", "quote": "Einstein"}),
    "SPARQL": _same(Text("SELECT * { ?s ?p ?o } ; DROP ALL")),
}
