"""The model alone, without the graph: what every method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.option_ranges import Within
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.errors import ModelReplyError, OptionError
from kgsparql.models.chat_completion import Call, Message, object_schema
from kgsparql.models.prompting import plain
from kgsparql.models.reply_json import json_value
from kgsparql.rdf.terms import Literal, normalised, printable

RULES = """\
You answer questions from memory, with nothing to look things up in. Reply with the names of the answers alone, as they
are usually written: no sentences, no explanations, one entry for each answer, the likeliest first. If the question has
several right answers, list all that you know. A number or a date is an entry by itself. If you do not know, reply with
an empty list. Reply with JSON only. An example, for another question:
{"answers": ["Ada Novak", "Jon Berg"]}"""

NOT_KNOWN = "The model does not know the answer."

_UNKNOWN = frozenset({"unknown", "not known", "none", "n a", "i do not know", "i don t know", "no answer"})
"""What a model writes that knows no answer, normalised."""

_LONGEST = 300
"""Characters of an answer: a longer one is a sentence, not a name."""


@dataclass(frozen=True, slots=True)
class ClosedBook(Retriever):
    """A model is asked without the graph; its answers are literals without evidence, and their grounding is ``model``.

    :param most: names that are read of a reply.
    """

    name: ClassVar[str] = "closed_book"
    summary: ClassVar[str] = "the model alone, without the graph"
    source: ClassVar[str] = "a baseline of every paper in the field"
    cost: ClassVar[Cost] = Cost(calls="1", rounds="1", queries="5 + 2 * entities")

    most: Annotated[int, Within(1, 1_000)] = 100

    def retrieve(self, session: Session) -> Retrieval:
        """No evidence, and a draft of names.

        :raises OptionError: if there is no model.
        :raises ModelReplyError: if the reply cannot be used.
        """
        if session.model is None:
            raise OptionError("closed_book asks the model alone, and there is none", hint="name one with -m")
        messages = Message("system", RULES), Message("user", f"Question: {plain(session.own_words, 4_000)}")
        schema = object_schema(answers={"type": "array", "items": {"type": "string"}})
        found = session.ask_model(Call("closed book", messages, schema, _names), required=True) or []
        if not found:
            return Retrieval(draft=Draft(NOT_KNOWN, grounding="model", sufficient=False))
        kept = found[: self.most]
        answers = tuple(AnswerTerm(Literal(name), name, 1 / place) for place, name in enumerate(kept, 1))
        return Retrieval(draft=Draft("; ".join(kept), answers=answers, grounding="model"))


def _names(text: str) -> list[str]:
    """The names in a reply, none twice; empty for a model that says it does not know.

    :raises ModelReplyError: if there is no list of names.

    >>> _names('{"answers": ["Marie Curie", "unknown", "Marie Curie", 1903]}')
    ['Marie Curie', '1903']
    """
    value = json_value(text)
    listed = value.get("answers", value.get("answer")) if isinstance(value, dict) else value
    if isinstance(listed, str | int | float):
        listed = [listed]
    if not isinstance(listed, list):
        raise ModelReplyError("there is no list of answers in the reply", code="E_LLM_FORMAT")
    names: dict[str, str] = {}
    for entry in listed:
        name = " ".join(printable(str(entry), _LONGEST).split()) if isinstance(entry, str | int | float) else ""
        if normalised(name) and normalised(name) not in _UNKNOWN:
            names.setdefault(normalised(name), name)
    return list(names.values())
