"""A language model behind an OpenAI-compatible server: one call in, one checked value out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

from kgsparql.budget import Usage
from kgsparql.errors import (
    CancelledError,
    InputError,
    KgsparqlError,
    ModelReplyError,
    ModelTimeoutError,
    RequestRefusedError,
    StoreError,
)
from kgsparql.events import Emit, FallbackUsed, ModelCalled
from kgsparql.exchanges import Exchanges, Mode
from kgsparql.openai_client import OpenAIClient
from kgsparql.prompting import Message, estimated_tokens
from kgsparql.redaction import KEY_VARIABLE
from kgsparql.resources import cache_directory
from kgsparql.terms import printable

__all__ = [
    "ABILITIES",
    "EXCHANGES",
    "KIND",
    "RUNGS",
    "Abilities",
    "Call",
    "LanguageModel",
    "object_schema",
    "open_model",
]

T = TypeVar("T")

RUNGS = ("json_schema", "json_object", "text")
"""How a reply is kept in shape, the strictest first."""

EXCHANGES = "exchanges.sqlite"
"""The file in the cache directory that replies are kept in."""

KIND = "model"
"""The kind of exchange that a model's reply is."""
ABILITIES = "abilities"
"""The kind of exchange that keeps what a server takes for a model."""


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


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a server takes for a model, found by what it refused.

    :param rung: one of :data:`RUNGS`.
    :param without: optional parameters that it refuses.
    :param limit: what it calls the limit on the length of a reply.
    :param system: whether it takes a system message.
    """

    rung: str = RUNGS[0]
    without: tuple[str, ...] = ()
    limit: str = "max_tokens"
    system: bool = True

    def after(self, refusal: str) -> Abilities | None:
        """What is left once a request was refused with these words; ``None`` if nothing of ours is to blame.

        >>> Abilities().after("Unsupported value: 'temperature' does not support 0").without
        ('temperature',)
        >>> Abilities().after("response_format of type json_schema is not supported").rung
        'json_object'
        >>> Abilities().after("no such model") is None
        True
        """
        said = refusal.lower()
        if self.limit == "max_tokens" and "max_completion_tokens" in said:
            return replace(self, limit="max_completion_tokens")
        for name in ("temperature", "seed"):
            if name in said and name not in self.without:
                return replace(self, without=(*self.without, name))
        if self.rung != RUNGS[-1] and any(
            word in said for word in ("response_format", "json_schema", "json_object", "schema", "grammar")
        ):
            return replace(self, rung=RUNGS[RUNGS.index(self.rung) + 1])
        if self.system and "system" in said and any(word in said for word in ("role", "message", "prompt")):
            return replace(self, system=False)
        if self.limit and self.limit in said:
            return replace(self, limit="")
        return None


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
        """The value of the model's reply. An empty reply is asked for once more, once in a question.

        :raises ModelReplyError: for a reply that cannot be used, ``code`` says why.
        :raises ModelError: if the server cannot be reached, fails or refuses.
        :raises BudgetExceededError: if the call could go over the budget; nothing is sent then.
        :raises CancelledError: if the question was stopped.
        """
        try:
            return self._once(call, 0, usage, emit)
        except ModelReplyError as error:
            if error.code != "E_LLM_EMPTY" or not usage.may_repeat():
                raise
        return self._once(call, 1, usage, emit)

    @property
    def abilities(self) -> Abilities:
        """What is known of the server and the model; the most that can be hoped for, if nothing is."""
        if self._abilities is None:
            self._abilities = Abilities()
            with suppress(StoreError):  # whoever keeps the first reply will say so
                known = self.exchanges.known(ABILITIES, self._place) if self.exchanges else None
                self._abilities = self._abilities if known is None else _abilities(known)
        return self._abilities

    @property
    def _place(self) -> dict[str, str]:
        return {"server": self.client.base_url, "model": self.name}

    def _once(self, call: Call[T], attempt: int, usage: Usage, emit: Emit) -> T:
        request = {
            **self._place, "messages": [m.to_json() for m in call.messages], "schema": call.schema,
            "temperature": self.temperature, "seed": self.seed, "reply_tokens": self.reply_tokens, "attempt": attempt,
        }  # fmt: skip
        reserved = estimated_tokens(call.messages), self.reply_tokens
        usage.reserve_call(*reserved)
        began = time.perf_counter()
        told = ModelCalled(model=self.name, purpose=call.purpose, prompt=_shown(call.messages))
        try:
            kept = self._kept(request, emit)
            reply = self._sent(call, usage, emit) if kept is None else kept
        except KgsparqlError as error:
            if not isinstance(error, ModelReplyError | ModelTimeoutError | CancelledError):
                usage.cancel_call(*reserved)  # no model worked for this
            emit(replace(told, error=error.code, seconds=_since(began)))
            if isinstance(error, ModelTimeoutError):
                usage.check()  # it may have been the question's deadline
            raise
        text, problem = _text(reply, call.purpose)
        actual = _tokens(reply, reserved[0], text)
        usage.settle_call(*reserved, actual=actual, cached=kept is not None)
        told = replace(
            told, reply=text, prompt_tokens=actual[0], completion_tokens=actual[1], cached=kept is not None,
            seconds=_since(began),
        )  # fmt: skip
        try:
            if problem is not None:
                raise problem
            value = call.read(text)
        except ModelReplyError as error:
            emit(replace(told, error=error.code))
            raise
        emit(told)
        if kept is None:
            self._keep(KIND, request, reply, emit)
        return value

    def _sent(self, call: Call[Any], usage: Usage, emit: Emit) -> dict[str, Any]:
        """The reply of the server, to a request without what it refuses.

        :raises RequestRefusedError: if it refuses what cannot be left out.
        """
        abilities = self.abilities
        while True:
            try:
                left = usage.seconds_left
                timeout = self.client.timeout_s if left is None else min(left, self.client.timeout_s)
                reply = self.client.chat(self._body(call, abilities), timeout_s=timeout, cancel=usage.cancel)
            except RequestRefusedError as error:
                fewer = abilities.after(str(error.detail.get("body", "")))
                if fewer is None:
                    raise
                abilities = fewer
            else:
                if abilities != self.abilities:
                    self._abilities = abilities
                    self._keep(ABILITIES, self._place, asdict(abilities), emit)
                return reply

    def _body(self, call: Call[Any], abilities: Abilities) -> dict[str, Any]:
        messages = call.messages if abilities.system else _without_system(call.messages)
        body: dict[str, Any] = {"model": self.name, "messages": [m.to_json() for m in messages]}
        optional = {"temperature": self.temperature, "seed": self.seed}
        body |= {name: value for name, value in optional.items() if name not in abilities.without}
        if abilities.limit:
            body[abilities.limit] = self.reply_tokens
        if abilities.rung == "json_schema":
            named = {"name": call.purpose.replace(" ", "_"), "schema": call.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif abilities.rung == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _kept(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any] | None:
        try:
            return self.exchanges.get(KIND, request) if self.exchanges else None
        except StoreError as error:
            self._keep_none(error, emit)
            return None

    def _keep(self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], emit: Emit) -> None:
        try:
            if self.exchanges:
                self.exchanges.put(kind, request, reply)
        except StoreError as error:  # the reply is here, only keeping it failed
            self._keep_none(error, emit)

    def _keep_none(self, error: StoreError, emit: Emit) -> None:
        """Go on without the store of exchanges, and say so once."""
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


def _abilities(known: Mapping[str, Any]) -> Abilities:
    return Abilities(
        rung=str(known["rung"]), without=tuple(known["without"]), limit=str(known["limit"]),
        system=bool(known["system"]),
    )  # fmt: skip


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


def _text(reply: Mapping[str, Any], purpose: str) -> tuple[str, ModelReplyError | None]:
    """The text of a reply, and what makes it useless, if anything does."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    text = content if isinstance(content, str) else ""
    reason = choice.get("finish_reason")
    about = f"the model's reply ({purpose})"
    if message.get("refusal") or reason == "content_filter":
        said = printable(str(message.get("refusal") or reason), 200)
        return text, ModelReplyError(f"{about} is a refusal: {said}", code="E_LLM_REFUSED", hint="ask in other words")
    if reason == "length":
        hint = "--reply-tokens allows longer replies; a reasoning model needs many"
        return text, ModelReplyError(f"{about} was cut off at its limit of tokens", code="E_LLM_LENGTH", hint=hint)
    if not text.strip():
        return text, ModelReplyError(
            f"{about} is empty", code="E_LLM_EMPTY", hint="try another model; kgsparql doctor tests this one"
        )
    return text, None


def _tokens(reply: Mapping[str, Any], estimated: int, text: str) -> tuple[int, int]:
    """Prompt and completion tokens as the server counted them, or our own estimate where it says nothing sensible."""
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    guess = estimated_tokens([Message("assistant", text)])
    found = []
    for name, own in (("prompt_tokens", estimated), ("completion_tokens", guess)):
        count = usage.get(name)
        found.append(count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else own)
    return found[0], found[1]


def open_model(
    name: str | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    mode: Mode | None = "use",
    timeout_s: float = 60.0,
    temperature: float = 0.0,
    seed: int = 0,
    reply_tokens: int = 4096,
) -> LanguageModel:
    """The model that a person means.

    :param name: ``KGSPARQL_MODEL`` if not given, else the one model that the server has.
    :param base_url: of an OpenAI-compatible server, ``OPENAI_BASE_URL`` if not given; servers that need no key work.
    :param api_key: ``OPENAI_API_KEY`` if not given.
    :param mode: what the store of exchanges is used for; ``None`` for nothing.
    :raises InputError: if it is not clear which server or model is meant.
    :raises ModelError: if the server has to be asked which models it has, and cannot be.
    """
    address = base_url or os.environ.get("OPENAI_BASE_URL")
    if not address and not api_key and not os.environ.get(KEY_VARIABLE):
        raise InputError(
            "no model server is set up",
            hint=f"set {KEY_VARIABLE}, or name a server: --base-url http://localhost:11434/v1",
        )
    client = OpenAIClient(address, api_key=api_key, timeout_s=timeout_s)
    return LanguageModel(
        name or os.environ.get("KGSPARQL_MODEL") or _only_model(client),
        client,
        exchanges=None if mode is None else Exchanges(cache_directory() / EXCHANGES, mode=mode),
        temperature=temperature,
        seed=seed,
        reply_tokens=reply_tokens,
    )


def _only_model(client: OpenAIClient) -> str:
    try:
        names = client.models()
    finally:
        client.close()  # the next call opens it again
    if len(names) == 1:
        return names[0]
    listed = f"it has: {', '.join(printable(name, 60) for name in names[:10])}" if names else "it lists no models"
    raise InputError(f"which model of {client.base_url}?", hint=f"name one with -m; {listed}")
