"""A language model behind an OpenAI-compatible server: one call in, one checked value out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Any, Generic, TypeVar

from kgsparql.budget import Usage
from kgsparql.errors import (
    CancelledError,
    KgsparqlError,
    ModelError,
    ModelReplyError,
    ModelTimeoutError,
    RequestRefusedError,
    StoreError,
    UnreachableError,
)
from kgsparql.events import Emit, FallbackUsed, ModelCalled
from kgsparql.models.chat_completion import note, noted, plain_reply, text_of, tokens_of
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.models.prompting import Message, estimated_tokens
from kgsparql.models.server_capabilities import ABILITIES, Abilities, fewer_tokens
from kgsparql.storage.response_cache import EXCHANGES, Exchanges

__all__ = [
    "ABILITIES",
    "EXCHANGES",
    "KIND",
    "Call",
    "LanguageModel",
    "object_schema",
]

T = TypeVar("T")

KIND = "model"
"""The kind of exchange that a model's reply is."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One question to a model, and how its reply becomes a value.

    :param purpose: a word or two, for events, notes and the name of the schema.
    :param schema: JSON schema of the reply, for servers that hold a model to it.
    :param read: makes the value of the reply's text; raises :class:`ModelReplyError` where it cannot.
    """

    purpose: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    read: Callable[[str], T]


class LanguageModel:
    """A model on a server. What the server does not take is found once, and remembered for both of them.

    :param temperature: 0 for the likeliest reply.
    :param reply_tokens: the longest reply that is asked for; reasoning counts.
    :param exchanges: where replies are kept, so that nothing is paid for twice; ``None`` keeps none.
    """

    def __init__(
        self,
        name: str,
        client: OpenAIClient,
        *,
        exchanges: Exchanges | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        reply_tokens: int = 4096,
    ) -> None:
        self.name = name
        self.client = client
        self.exchanges = exchanges
        self.temperature = temperature
        self.seed = seed
        self.reply_tokens = reply_tokens
        self._abilities: Abilities | None = None

    def ask(self, call: Call[T], usage: Usage, emit: Emit) -> T:
        """The value of the model's reply. An empty reply is asked for once more, whatever became of other calls.

        So a call whose reply is empty counts as two, if the budget holds both.

        :raises ModelReplyError: for a reply that cannot be used, ``code`` says why.
        :raises ModelError: if the server cannot be reached, fails or refuses.
        :raises ReplayMissError: if only recorded replies may be used, and this one was not recorded.
        :raises StoreError: if only recorded replies may be used, and they cannot be read.
        :raises BudgetExceededError: if the call could go over the budget; nothing is sent then.
        :raises CancelledError: if the question was stopped.
        """
        try:
            return self._once(call, 0, usage, emit)
        except ModelReplyError as error:
            if error.code != "E_LLM_EMPTY":
                raise
        return self._once(call, 1, usage, emit)

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the server and the store of exchanges; the next call opens them again."""
        self.client.close()
        if self.exchanges is not None:
            self.exchanges.close()

    @property
    def abilities(self) -> Abilities:
        """What is known of the server and the model; the most that can be hoped for, if nothing is."""
        if self._abilities is None:
            self._abilities = Abilities()
            with suppress(StoreError):  # whoever keeps the first reply will say so
                known = self.exchanges.known(ABILITIES, self._place) if self.exchanges else None
                self._abilities = self._abilities if known is None else Abilities.of_json(known)
        return self._abilities

    @property
    def _place(self) -> dict[str, str]:
        return {"server": self.client.base_url, "model": self.name}

    def _once(self, call: Call[T], attempt: int, usage: Usage, emit: Emit) -> T:
        request = {
            **self._place, "messages": [m.to_json() for m in call.messages], "schema": call.schema,
            "temperature": self.temperature, "seed": self.seed, "reply_tokens": self.reply_tokens, "attempt": attempt,
        }  # fmt: skip
        if self.exchanges is None:
            return self._answered(call, request, usage, emit)
        with self.exchanges.alone(KIND, request, cancel=usage.cancel):
            return self._answered(call, request, usage, emit)

    def _answered(self, call: Call[T], request: Mapping[str, Any], usage: Usage, emit: Emit) -> T:
        reserved = estimated_tokens(call.messages), self.reply_tokens
        usage.reserve_call(*reserved)
        began = time.perf_counter()
        told = ModelCalled(model=self.name, purpose=call.purpose, prompt=_shown(call.messages))
        try:
            reply, is_kept = self._reply(call, request, usage, emit)
        except KgsparqlError as error:
            if not isinstance(error, ModelTimeoutError | CancelledError):
                usage.cancel_call(*reserved)  # no model worked for this
            emit(replace(told, error=error.code, seconds=_since(began)))
            if isinstance(error, ModelTimeoutError):
                usage.check()  # it may have been the question's deadline
            raise
        text, problem = text_of(reply, call.purpose)
        actual = tokens_of(reply, reserved, text)
        usage.settle_call(*reserved, actual=actual, cached=is_kept)
        told = replace(
            told, reply=text, prompt_tokens=actual[0], completion_tokens=actual[1], cached=is_kept,
            seconds=_since(began),
        )  # fmt: skip
        if "temperature" in noted(reply).get("left_out", ()):
            reason = f"{self.name} takes no temperature: {self.temperature:g} was left out"
            emit(FallbackUsed(purpose=call.purpose, reason=reason))
        try:
            if problem is not None:
                raise problem
            value = call.read(text)
        except ModelReplyError as error:
            emit(replace(told, error=error.code))
            if not is_kept:
                self._keep(KIND, request, note(reply, unusable=error.code), emit, again=True)
            raise
        emit(told)
        if not is_kept:
            self._keep(KIND, request, reply, emit)
        return value

    def _reply(
        self, call: Call[Any], request: Mapping[str, Any], usage: Usage, emit: Emit
    ) -> tuple[dict[str, Any], bool]:
        """The reply to a request, and whether it is one that was kept.

        Replies of no use are kept too, since what was done without them has to come out the same in a replay; where
        the server may be asked, they stand in for it only when it cannot be reached.
        """
        kept = self._kept(call, request, emit)
        is_replay = self.exchanges is not None and self.exchanges.mode == "only"
        if kept is not None and (is_replay or "unusable" not in noted(kept)):
            return kept, True
        try:
            return self._sent(call, usage, emit), False
        except ModelReplyError as error:
            return note({}, unusable=error.code, message=error.message, hint=error.hint), False
        except UnreachableError as error:
            if kept is None or type(error) is not ModelError:
                if self.exchanges is not None:
                    self.exchanges.fail(KIND, request, error)
                raise
            return kept, True

    def _sent(self, call: Call[Any], usage: Usage, emit: Emit) -> dict[str, Any]:
        """The reply of the server, to a request without what it refuses; one deadline for all that takes.

        :raises RequestRefusedError: if it refuses what cannot be left out.
        """
        abilities, tokens, began = self.abilities, self.reply_tokens, time.monotonic()
        left = usage.seconds_left
        timeout_s = self.client.timeout_s if left is None else min(left, self.client.timeout_s)
        while True:
            body = self._body(call, abilities, tokens)
            try:
                chat = self.client.chat(body, timeout_s=timeout_s, began=began, cancel=usage.cancel)
            except RequestRefusedError as error:
                said = str(error.detail.get("body", ""))
                if abilities.limit and (fewer := fewer_tokens(said, tokens)):
                    tokens = fewer
                    continue
                less = abilities.after(said)
                if less is None:
                    raise
                abilities = less
            else:
                if abilities != self.abilities:
                    self._abilities = abilities
                    self._keep(ABILITIES, self._place, asdict(abilities), emit)
                reply = plain_reply(chat)
                is_missed = self.temperature > 0 and "temperature" in abilities.without
                return note(reply, left_out=["temperature"]) if is_missed else reply

    def _body(self, call: Call[Any], abilities: Abilities, tokens: int) -> dict[str, Any]:
        messages = call.messages if abilities.system else _without_system(call.messages)
        body: dict[str, Any] = {"model": self.name, "messages": [m.to_json() for m in messages]}
        optional = {"temperature": self.temperature, "seed": self.seed}
        body |= {name: value for name, value in optional.items() if name not in abilities.without}
        if abilities.limit:
            body[abilities.limit] = tokens
        if abilities.rung == "json_schema":
            named = {"name": call.purpose.replace(" ", "_"), "schema": call.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif abilities.rung == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _kept(self, call: Call[Any], request: Mapping[str, Any], emit: Emit) -> dict[str, Any] | None:
        try:
            what = f"the call of {self.name} ({call.purpose})"
            return self.exchanges.get(KIND, request, what=what) if self.exchanges else None
        except StoreError as error:
            self._keep_none(error, emit)
            return None

    def _keep(
        self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], emit: Emit, *, again: bool = False
    ) -> None:
        try:
            if self.exchanges:
                self.exchanges.put(kind, request, reply, again=again)
        except StoreError as error:  # the reply is here, only keeping it failed
            self._keep_none(error, emit)

    def _keep_none(self, error: StoreError, emit: Emit) -> None:
        """Go on without the store of exchanges, and say so once; nobody can replay or record without it."""
        if self.exchanges is not None and (self.exchanges.mode == "only" or self.exchanges.is_recording):
            raise error
        self.exchanges = None
        emit(FallbackUsed(purpose="keeping replies", reason=f"replies are not kept: {error.message}"))


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The strict JSON schema of an object with these properties, all of them required.

    >>> object_schema(n={"type": "integer"})["required"]
    ['n']
    """
    return {
        "type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _shown(messages: tuple[Message, ...]) -> str:
    return "\n\n".join(f"{m.role}\n{m.content}" for m in messages)


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 6)


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same with the system message at the head of the first turn, for models that know no such role."""
    first, second, *rest = messages
    if first.role != "system":
        return messages
    return (Message(second.role, f"{first.content}\n\n{second.content}"), *rest)
