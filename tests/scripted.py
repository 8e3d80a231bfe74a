"""A model that follows a script: asked with no socket, and replies that depend on what was asked."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import kgsparql
from kgsparql.events import Event, QueryRun
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from tests.conftest import graph_from
from tests.model_server import ModelServer, Reply, Text

Body = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """An answer, what the model was sent, and what happened."""

    answer: kgsparql.Answer
    bodies: list[Body]
    events: list[Event]

    @property
    def labels(self) -> list[str]:
        return [term.label for term in self.answer.answers]

    @property
    def texts(self) -> list[str]:
        return [item.text for item in self.answer.evidence]

    @property
    def fallbacks(self) -> list[str]:
        """For what something simpler was used, but for the ranking of words, which is what these tests ask for."""
        return [used.purpose for used in self.answer.fallbacks if used.purpose != "ranking"]

    def queries(self, *names: str) -> list[QueryRun]:
        """Return the queries that were sent by one of these names, or together with it."""
        return [e for e in self.events if isinstance(e, QueryRun) and set(e.name.split("+")) & set(names)]


def knowledge_of(turtle: str, embedder: Any = "none") -> kgsparql.KnowledgeBase:
    """Make a knowledge base over Turtle text, the usual prefixes declared."""
    return kgsparql.KnowledgeBase(graph_from(turtle), embedder=embedder)


def ask(knowledge: kgsparql.KnowledgeBase, question: str, script: Any = None, **asking: Any) -> Asked:
    """Ask with a model that follows a script, as :class:`ModelServer` takes them; ``None`` is no model."""
    server, events = ModelServer(script), list[Event]()
    client = OpenAIClient("http://model.test/v1", timeout_s=5.0, transport=server.transport)
    model = None if script is None else LanguageModel("scripted-model", client)
    answer = knowledge.ask(question, model=model, emit=events.append, **asking)
    return Asked(answer, [request.body for request in server.answered], events)


def purpose(body: Body) -> str:
    """Which call a request is: ``mentions``, ``sentences``, ``choices``, ``plan``, ``answer`` or ``closed book``."""
    said = body["messages"][0]["content"]
    heads = {
        "You find": "mentions", "You put": "sentences", "You choose": "choices", "You answer": "answer",
        "You write": "plan", "Answer the": "closed book",
    }  # fmt: skip
    return next(name for head, name in heads.items() if said.startswith(head))


def facts_of(body: Body) -> list[tuple[str, str]]:
    """The numbered facts of a request, as ``(marker, text)``."""
    return list(marked(body).items())


def by_call(**replies: Reply | Callable[[Body], Reply] | dict[str, Any]) -> Callable[[Body], Reply]:
    """A script that replies by purpose; dictionaries are written as JSON. By default it names nothing and takes 1."""
    otherwise = {"choices": {"choices": [{"n": 1, "score": 1.0}]}}

    def script(body: Body) -> Reply:
        reply = replies.get(purpose(body), otherwise.get(purpose(body), {"mentions": []}))
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
    """A model that copies: capitalised words as names, the first fact as answer, its first arrow as inference."""
    if purpose(body) == "choices":
        return Text({"choices": [{"n": n, "score": round(0.9 / n, 3)} for n in list(numbered(body))[:3]]})
    if purpose(body) in {"mentions", "sentences"}:
        return Text({purpose(body): Player().members(purpose(body), {}, body)})
    marker, text = facts_of(body)[0]
    said = f"{json.dumps(text[:60], ensure_ascii=False)} [{marker}]"
    return wrote(said, entities=[1], inference=_steps(marker, text))


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

    It chooses the candidates that share most letters' worth of words with the question, takes capitalised words for
    names, cites the first facts, and gives the first candidate as the answer.

    :param sufficient: what it says when it is asked whether the evidence is enough.
    :param chooses: how many numbers of a list.
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
        if kind == "array":
            return self.members(name, schema["items"], body)
        if kind == "object":
            return {key: self.value(key, own, body) for key, own in schema["properties"].items()}
        plain = {"boolean": self.sufficient if name == "sufficient" else False, "integer": 1, "number": 0.5}
        if isinstance(kind, str) and kind in plain:
            return plain[kind]
        return schema["enum"][0] if "enum" in schema else self.text(name, body)

    def members(self, name: str, schema: Mapping[str, Any], body: Body) -> list[Any]:
        if name == "mentions":
            return [{"mention": said, "is_type": False} for said in NAMES.findall(question_of(body))]
        if name == "sentences":
            return [{"marker": m, "sentence": f"It is so that {text}"} for m, text in marked(body).items()]
        if name in {"choices", "numbers", "scores"}:
            return [self.choice(schema, n, i, body) for i, n in enumerate(self.chosen(body))]
        if name == "inference":
            return [step for marker, text in marked(body).items() for step in _steps(marker, text)][:2]
        if schema.get("type") == "string":
            return list(marked(body))[:2]
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

    def text(self, name: str, body: Body) -> str:
        markers = list(marked(body))[:2]
        said = f" [{', '.join(markers)}]" if markers else ""
        return f"It is the first{said}." if name == "answer" else (markers[0] if name == "marker" and markers else name)


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


def _steps(marker: str, text: str) -> list[dict[str, str]]:
    arrow = re.match(r"(?P<a>.+?) (?:—(?P<out>[^—→]+)→|←(?P<in>[^—→]+)—) (?P<b>[^;|—←]+)", text)
    if arrow is None:
        return []
    a, b = arrow["a"].strip(), arrow["b"].strip()
    subject, predicate, object_ = (a, arrow["out"], b) if arrow["out"] else (b, arrow["in"], a)
    return [{"marker": marker, "subject": subject, "predicate": predicate, "object": object_}]
