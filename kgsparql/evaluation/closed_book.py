"""The baseline of every paper in the field: the model alone, without the graph."""

from __future__ import annotations

from typing import Annotated, ClassVar

from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.retriever import Cost, Retriever, Within
from kgsparql.answering.session import Session
from kgsparql.dataclasses import dataclass
from kgsparql.errors import ModelReplyError
from kgsparql.models.chat_completion import Call, Message, object_schema, plain
from kgsparql.models.reply_json import json_value
from kgsparql.rdf.terms import Literal, normalised, printable

RULES = """\
You answer questions from memory, with nothing to look things up in. Reply with the names of the answers alone, as they
are usually written: no sentences, no explanations, one entry for each answer, the likeliest first. If the question has
several right answers, list all that you know. A number or a date is an entry by itself. If you do not know, reply with
an empty list. Reply with JSON only. An example, for another question:
{"answers": ["Ada Novak", "Jon Berg"]}"""

NOT_KNOWN = "The model does not know the answer."

_NOT_KNOWN_REPLIES = frozenset({"unknown", "not known", "none", "n a", "i do not know", "i don t know", "no answer"})
"""Normalised replies of a model that knows no answer."""

_MAX_NAME_CHARACTERS = 300  # a longer answer is a sentence, not a name


@dataclass(frozen=True, slots=True)
class ClosedBook(Retriever):
    """Model that is asked without the graph: its answers are literals without evidence, grounded in the ``model``.

    :param most: names that are read of a reply.
    """

    name: ClassVar[str] = "closed_book"
    summary: ClassVar[str] = "the model alone, without the graph"
    source: ClassVar[str] = "a baseline of every paper in the field"
    asks_on_the_way: ClassVar[bool] = True

    most: Annotated[int, Within(1, 1_000)] = 100

    def cost(self, *, entities: int = 1, **_: int) -> Cost:
        """Bound what a question costs: one call, and the queries about its entities."""
        return Cost(1, 1, 5 + 2 * entities)

    def retrieve(self, session: Session) -> Retrieval:
        """Return no evidence, and a draft of names; nothing where no model is asked.

        :raises ModelReplyError: if the reply cannot be used.
        """
        if session.model is None:
            return Retrieval()
        messages = Message("system", RULES), Message("user", f"Question: {plain(session.question, 4_000)}")
        schema = object_schema(answers={"type": "array", "items": {"type": "string"}})
        found = session.ask_model(Call("closed book", messages, schema, _answer_names), required=True) or []
        if not found:
            return Retrieval(draft=Draft(NOT_KNOWN, grounding="model", sufficient=False))
        kept = found[: self.most]
        answers = tuple(AnswerTerm(Literal(name), name, 1 / place) for place, name in enumerate(kept, 1))
        return Retrieval(draft=Draft("; ".join(kept), answers=answers, grounding="model"))


def _answer_names(text: str) -> list[str]:
    """Read the names in a reply, none twice; none from a model that says it does not know.

    >>> _answer_names('{"answers": ["Marie Curie", "unknown", "Marie Curie", 1903]}')
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
        name = " ".join(printable(str(entry), _MAX_NAME_CHARACTERS).split())
        key = normalised(name) if isinstance(entry, str | int | float) else ""
        if key and key not in _NOT_KNOWN_REPLIES:
            names.setdefault(key, name)
    return list(names.values())
