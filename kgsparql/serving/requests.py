"""What a page asks for: a question and its settings, read from what anybody may have sent."""

from __future__ import annotations

import json
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
_SETTINGS: Mapping[str, type] = {"entities": list, "method": str, "use_model": bool}


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question and what was set beside it: the entities it is about, the method, whether the model is used."""

    question: str
    settings: Mapping[str, Any]

    @classmethod
    async def read(cls, request: Request) -> AskRequest:
        """What a request asks for.

        :raises InputError: for anything that is not JSON of such an object. Of another type it could be a form of
            another site.
        :raises LimitError: for a question of more than 4,000 characters.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise InputError("this is not application/json", hint="send JSON, with that content type")
        try:
            given = json.loads(await request.body())
        except (ValueError, RecursionError) as error:
            raise InputError("this is no JSON", hint='send {"question": "…"}') from error
        if not isinstance(given, dict) or not isinstance(given.get("question"), str):
            raise InputError("there is no question", hint='send {"question": "…"}')
        settings = {name: value for name, value in given.items() if name != "question" and value is not None}
        for name, value in settings.items():
            if name not in _SETTINGS or not isinstance(value, _SETTINGS[name]):
                raise InputError(f"{printable(name, 40)} cannot be set so", hint=f"there are: {', '.join(_SETTINGS)}")
        entities = settings.get("entities", [])
        if len(entities) > _MOST_ENTITIES or not all(
            isinstance(one, str) and len(one) <= _LONGEST_ENTITY for one in entities
        ):
            raise InputError("these are no entities", hint=f"at most {_MOST_ENTITIES} IRIs")
        return cls(checked_question(given["question"]), settings)

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
