"""A language model behind an OpenAI-compatible server: one call in, one checked value out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, TypeVar

from kgsparql.budget import AnyEvent, Usage
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
from kgsparql.models.chat_completion import (
    CAPABILITIES,
    Call,
    Capabilities,
    Message,
    estimated_tokens,
    fewer_tokens,
    note_of,
    text_of,
    tokens_of,
    with_note,
    without_note,
)
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.storage.recording import Recording
from kgsparql.storage.response_cache import ResponseCache

T = TypeVar("T")

KIND = "model"
"""The kind of exchange that a model's reply is."""


class LanguageModel:
    """A model on a server. What this server refuses for this model is found out once and remembered.

    :param response_cache: where replies are kept, so that nothing is paid for twice; ``None`` keeps none.
    :param recording: of a snapshot, which keeps failures, too; it takes the place of the cache.
    :param reply_tokens: the longest reply that is asked for; reasoning counts.
    """

    def __init__(
        self,
        name: str,
        client: OpenAIClient,
        *,
        response_cache: ResponseCache | None = None,
        recording: Recording | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        reply_tokens: int = 4096,
    ) -> None:
        self.name = name
        self.client = client
        self.response_cache = response_cache
        self.recording = recording
        self.temperature = temperature
        self.seed = seed
        self.reply_tokens = reply_tokens
        self._capabilities: Capabilities | None = None

    def ask(self, call: Call[T], usage: Usage, emit: Emit) -> T:
        """The value of the model's reply. After an empty reply the model is asked once more, if the budget allows it.

        :raises ModelReplyError: for a reply that cannot be used, ``code`` says why.
        :raises ModelError: if the server cannot be reached, fails or refuses.
        :raises ReplayMissError: if only recorded replies may be used, and this one was not recorded.
        :raises StoreError: if only recorded replies may be used, and they cannot be read.
        :raises BudgetExceededError: if the call could go over the budget; nothing is sent then.
        :raises CancelledError: if the question was stopped.
        """
        try:
            return self._value_at(0, call, usage, emit)
        except ModelReplyError as error:
            if error.code != "E_LLM_EMPTY":
                raise
        return self._value_at(1, call, usage, emit)

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the server and the response cache; the next call opens them again."""
        self.client.close()
        if (kept := self._exchanges) is not None:
            kept.close()

    @property
    def _exchanges(self) -> Recording | ResponseCache | None:
        return self.recording or self.response_cache

    @property
    def capabilities(self) -> Capabilities:
        """What the server takes for this model, as far as is known; everything, if nothing is known."""
        if self._capabilities is None:
            self._capabilities = Capabilities()
            with suppress(StoreError):  # reported when the first reply is kept
                known = self._exchanges.lookup(CAPABILITIES, self._place) if self._exchanges else None
                self._capabilities = self._capabilities if known is None else Capabilities.of_json(known)
        return self._capabilities

    @property
    def _place(self) -> dict[str, str]:
        return {"server": self.client.base_url, "model": self.name}

    def _value_at(self, attempt: int, call: Call[T], usage: Usage, emit: Emit) -> T:
        """The value of one attempt; ``attempt`` is part of the cache key."""
        request = {
            **self._place, "messages": [m.to_json() for m in call.messages], "schema": call.schema,
            "temperature": self.temperature, "seed": self.seed, "reply_tokens": self.reply_tokens, "attempt": attempt,
        }  # fmt: skip
        if self.recording is None:
            return self._value(call, request, usage, emit)
        with self.recording.exclusive(KIND, request, cancel=usage.cancel):
            return self._value(call, request, usage, emit)

    def _value(self, call: Call[T], request: Mapping[str, Any], usage: Usage, emit: Emit) -> T:
        reserved = estimated_tokens(call.messages), self.reply_tokens
        usage.reserve_call(*reserved)
        began = time.perf_counter()
        prompt = "\n\n".join(f"{m.role}\n{m.content}" for m in call.messages)
        event = ModelCalled(model=self.name, purpose=call.purpose, prompt=prompt)
        try:
            reply, is_kept = self._reply(call, request, usage, emit)
        except KgsparqlError as error:
            if not isinstance(error, ModelTimeoutError | CancelledError):
                usage.cancel_call(*reserved)  # no model worked for this
            emit(replace(event, error=error.code, seconds=_seconds_since(began)))
            if isinstance(error, ModelTimeoutError | CancelledError):
                usage.check()  # it may have been the question's deadline, or a person who stopped it
            raise
        text, problem = text_of(reply, call.purpose)
        tokens = tokens_of(reply, reserved, text)
        usage.settle_call(*reserved, actual=tokens, cached=is_kept)
        event = replace(
            event, reply=text, prompt_tokens=tokens[0], completion_tokens=tokens[1], cached=is_kept,
            seconds=_seconds_since(began),
        )  # fmt: skip
        if "temperature" in note_of(reply).get("left_out", ()):
            reason = f"{self.name} takes no temperature: {self.temperature:g} was left out"
            emit(FallbackUsed(purpose=call.purpose, reason=reason))
        try:
            if problem is not None:
                raise problem
            value = call.read(text)
        except ModelReplyError as error:
            emit(replace(event, error=error.code))
            if not is_kept:
                self._keep(KIND, request, with_note(reply, unusable=error.code), emit, again=True)
            raise
        emit(event)
        if not is_kept:
            self._keep(KIND, request, reply, emit)
        return value

    def _reply(
        self, call: Call[Any], request: Mapping[str, Any], usage: Usage, emit: Emit
    ) -> tuple[dict[str, Any], bool]:
        """The reply to a request, and whether it comes from the cache.

        Unusable replies are kept too, so that a replay goes the same way. Where the server may be asked, such a reply
        is used only if the server cannot be reached.
        """
        kept = self._kept_reply(call, request, emit)
        is_replay = self._exchanges is not None and self._exchanges.mode == "only"
        if kept is not None and (is_replay or "unusable" not in note_of(kept)):
            return kept, True
        try:
            return self._reply_of_server(call, usage, emit), False
        except ModelReplyError as error:
            return with_note({}, unusable=error.code, message=error.message, hint=error.hint), False
        except UnreachableError as error:
            if kept is None or type(error) is not ModelError:
                if self.recording is not None:
                    self.recording.fail(KIND, request, error)
                raise
            return kept, True

    def _reply_of_server(self, call: Call[Any], usage: Usage, emit: Emit) -> dict[str, Any]:
        """The reply of the server; what it refuses is left out and the request sent again, all within one deadline.

        :raises RequestRefusedError: if it refuses what cannot be left out.
        """
        self.client.prepare()
        capabilities, tokens, began = self.capabilities, self.reply_tokens, time.monotonic()
        left = usage.seconds_left
        timeout_s = self.client.timeout_s if left is None else min(left, self.client.timeout_s)
        interrupt = AnyEvent(usage.cancel, usage.stop)
        while True:
            body = self._body(call, capabilities, tokens)
            try:
                chat = self.client.chat(body, timeout_s=timeout_s, began=began, cancel=interrupt)
            except RequestRefusedError as error:
                refusal = str(error.detail.get("body", ""))
                if capabilities.limit and (fewer := fewer_tokens(refusal, tokens)):
                    tokens = fewer
                elif (less := capabilities.after(refusal)) is not None:
                    capabilities = less
                else:
                    raise
            else:
                if capabilities != self.capabilities:
                    self._capabilities = capabilities
                    self._keep(CAPABILITIES, self._place, asdict(capabilities), emit)
                reply = without_note(chat)
                is_missed = self.temperature > 0 and "temperature" in capabilities.without
                return with_note(reply, left_out=["temperature"]) if is_missed else reply

    def _body(self, call: Call[Any], capabilities: Capabilities, tokens: int) -> dict[str, Any]:
        messages = call.messages if capabilities.system else _without_system(call.messages)
        body: dict[str, Any] = {"model": self.name, "messages": [m.to_json() for m in messages]}
        optional = {"temperature": self.temperature, "seed": self.seed}
        body |= {name: value for name, value in optional.items() if name not in capabilities.without}
        if capabilities.limit:
            body[capabilities.limit] = tokens
        if capabilities.rung == "json_schema":
            named = {"name": call.purpose.replace(" ", "_"), "schema": call.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif capabilities.rung == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _kept_reply(self, call: Call[Any], request: Mapping[str, Any], emit: Emit) -> dict[str, Any] | None:
        try:
            what = f"the call of {self.name} ({call.purpose})"
            return self._exchanges.get(KIND, request, what=what) if self._exchanges else None
        except StoreError as error:
            self._stop_keeping(error, emit)
            return None

    def _keep(
        self, kind: str, request: Mapping[str, Any], reply: Mapping[str, Any], emit: Emit, *, again: bool = False
    ) -> None:
        try:
            if self.recording is not None:
                self.recording.put(kind, request, reply, again=again)
            elif self.response_cache is not None:
                self.response_cache.put(kind, request, reply)
        except StoreError as error:  # the reply is here, only keeping it failed
            self._stop_keeping(error, emit)

    def _stop_keeping(self, error: StoreError, emit: Emit) -> None:
        """Go on without the response cache and say so once; a replay or a recording cannot go on without it."""
        if self.recording is not None or (self.response_cache is not None and self.response_cache.mode == "only"):
            raise error
        self.response_cache = None
        emit(FallbackUsed(purpose="keeping replies", reason=f"replies are not kept: {error.message}"))


def _seconds_since(began: float) -> float:
    return round(time.perf_counter() - began, 6)


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with the text of the system message put before the first turn, for models without that role."""
    first, second, *rest = messages
    if first.role != "system":
        return messages
    return (Message(second.role, f"{first.content}\n\n{second.content}"), *rest)
