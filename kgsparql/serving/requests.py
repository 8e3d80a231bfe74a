"""What a page asks for: a question and its settings, read from what anybody may have sent."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kgsparql.answering.question import checked_question
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable
from kgsparql.retrievers import load, names

if TYPE_CHECKING:
    from starlette.requests import Request

    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.knowledge_base import KnowledgeBase

_MOST_ENTITIES = 20
_LONGEST_ENTITY = 2_000
_MOST_ANSWERS = 100
_LONGEST_ANSWER = 2_000
_SETTINGS: Mapping[str, type] = {"entities": list, "method": str, "use_model": bool}
_CORRECTS: Mapping[str, type] = {"run": str, "link": int, "candidate": int}


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question and what was set beside it: the entities it is about, the method, whether the model is used.

    :param corrects: the ``run`` that is asked again, with a ``candidate`` in the place of a ``link``, by their numbers.
    """

    question: str
    settings: Mapping[str, Any]
    corrects: Mapping[str, Any] | None = None

    @classmethod
    async def read(cls, request: Request) -> AskRequest:
        """What a request asks for.

        :raises InputError: for anything that is not JSON of such an object.
        :raises LimitError: for a question of more than 4,000 characters.
        """
        given = await json_of(request)
        if not isinstance(given, dict) or not isinstance(given.get("question"), str):
            raise InputError("there is no question", hint='send {"question": "…"}')
        corrects = given.pop("corrects", None)
        if corrects is not None and (
            not isinstance(corrects, dict) or {name: type(value) for name, value in corrects.items()} != _CORRECTS
        ):
            raise InputError("this corrects nothing", hint="name run, link and candidate")
        settings = {name: value for name, value in given.items() if name != "question" and value is not None}
        for name, value in settings.items():
            if name not in _SETTINGS or not isinstance(value, _SETTINGS[name]):
                raise InputError(f"{printable(name, 40)} cannot be set so", hint=f"there are: {', '.join(_SETTINGS)}")
        entities = settings.get("entities", [])
        if len(entities) > _MOST_ENTITIES or not all(
            isinstance(one, str) and len(one) <= _LONGEST_ENTITY for one in entities
        ):
            raise InputError("these are no entities", hint=f"at most {_MOST_ENTITIES} IRIs")
        return cls(checked_question(given["question"]), settings, corrects)

    def about(self, entities: list[str]) -> AskRequest:
        """The same about other entities."""
        return replace(self, settings={**self.settings, "entities": entities})

    def asking(self, knowledge: KnowledgeBase, usual: AskOptions) -> AskOptions:
        """How it is asked: as usual, but for what was set.

        :raises OptionError: for a method that does not exist.
        :raises NotFoundError: for an entity that the graph does not mention.
        """
        asking, method = usual, self.settings.get("method")
        if method is not None:
            if method not in names():
                raise OptionError(f"no method {printable(method, 40)}", hint=f"one of: {', '.join(names())}")
            asking = replace(asking, retriever=method, options={})
        if self.settings.get("use_model") is False:
            asking = replace(asking, model=None)
        load(asking.retriever, asking.options)
        return asking.about(knowledge.resolve(entity) for entity in self.settings.get("entities", []))


async def read_rating(request: Request) -> dict[str, Any]:
    """What a person says of an answer: ``is_right``, ``right_answers``, or both; what was not said is ``None``.

    :raises InputError: for anything else, and for text that is empty, long or holds control characters.
    """
    given = await json_of(request)
    is_right, answers = (given.get("is_right"), given.get("right_answers")) if isinstance(given, dict) else (None, None)
    if is_right is answers is None or not (is_right is None or isinstance(is_right, bool)):
        hint = 'send {"is_right": false, "right_answers": ["…"]}'
        raise InputError("nothing was said of the answer", hint=hint)
    if answers is not None and not (
        isinstance(answers, list) and len(answers) <= _MOST_ANSWERS and all(map(_is_answer, answers))
    ):
        limits = f"at most {_MOST_ANSWERS}, each of 1 to {_LONGEST_ANSWER:,} characters, without control characters"
        raise InputError("these are no right answers", hint=limits)
    return {"is_right": is_right, "right_answers": answers}


def _is_answer(text: object) -> bool:
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST_ANSWER:
        return False
    return not any(unicodedata.category(character) in {"Cc", "Cs"} for character in text)


async def json_of(request: Request) -> Any:
    """The JSON that was sent.

    :raises InputError: for anything else. Of another content type it could be a form of another site.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise InputError("this is not application/json", hint="send JSON, with that content type")
    try:
        return json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise InputError("this is no JSON", hint='send an object, such as {"question": "…"}') from error
