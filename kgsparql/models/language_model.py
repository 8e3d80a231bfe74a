"""A language model behind an OpenAI-compatible server: opened, and asked; one call in, one checked value out."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from kgsparql.budget import AnyEvent, Usage
from kgsparql.dataclasses import asdict, dataclass, field, replace
from kgsparql.errors import (
    KEY_VARIABLE,
    CancelledError,
    InputError,
    KgsparqlError,
    ModelReplyError,
    ModelTimeoutError,
    RequestRefusedError,
    StoreError,
)
from kgsparql.events import Emit, FallbackUsed, ModelCalled
from kgsparql.http.transport import Transport
from kgsparql.models.chat_completion import (
    CAPABILITIES,
    Call,
    Capabilities,
    estimated_tokens,
    fewer_tokens,
    text_of,
    tokens_of,
)
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.models.trust import Trust
from kgsparql.rdf.terms import Json, printable
from kgsparql.resources import ClosedAtExit
from kgsparql.storage.response_cache import Mode, ResponseCache

T = TypeVar("T")

KIND = "model"  # the kind of exchange that a model's reply is
_LIKELIEST = {"temperature": 0.0, "seed": 0}  # no reply by chance, as far as a server can do that


@dataclass(eq=False)
class LanguageModel(ClosedAtExit):
    """Model on a server; what this server refuses for this model is found out once and remembered.

    :param response_cache: where replies are kept, so that nothing is paid for twice; ``None`` keeps none.
    :param reply_tokens: the longest reply that is asked for; reasoning counts.
    :param trust: what it was found good for, once that is known.
    :param trying: held by whoever finds that out. :param failed_trial: when that failed last, and why.
    """

    name: str
    client: OpenAIClient
    response_cache: ResponseCache | None = None
    reply_tokens: int = 4096
    trust: Trust | None = None
    trying: Lock = field(default_factory=Lock, repr=False)
    failed_trial: tuple[float, KgsparqlError] | None = None
    _capabilities: Capabilities | None = None

    def ask(self, call: Call[T], usage: Usage, emit: Emit) -> T:
        """Return the value of the model's reply; after an empty one it is asked once more, if the budget allows it.

        :raises ModelReplyError: for a reply that cannot be used, ``code`` says why.
        :raises ModelError: if the server cannot be reached, fails or refuses.
        :raises BudgetExceededError: if the call could go over the budget; nothing is sent then.
        :raises CancelledError: if the question was stopped.
        """
        try:
            return self._value_at(0, call, usage, emit)
        except ModelReplyError as error:
            if error.code != "E_LLM_EMPTY":
                raise
        return self._value_at(1, call, usage, emit)

    def close(self) -> None:
        """Close the connections to the server and the response cache; the next call opens them again."""
        self.client.close()
        if self.response_cache is not None:
            self.response_cache.close()

    @property
    def capabilities(self) -> Capabilities:
        """Return what the server takes for this model, as far as is known; everything, if nothing is known."""
        if self._capabilities is None:
            known = None
            with suppress(StoreError):  # reported when the first reply is kept
                known = cache.lookup(CAPABILITIES, self.server_and_model) if (cache := self.response_cache) else None
            self._capabilities = Capabilities(**known | {"without": (*known["without"],)}) if known else Capabilities()
        return self._capabilities

    def uncached(self, *, reply_tokens: int) -> LanguageModel:
        """Return the same model with a limit of its own, of which no reply is kept."""
        return replace(
            self, response_cache=None, reply_tokens=min(reply_tokens, self.reply_tokens), trying=Lock(),
            _capabilities=self.capabilities,
        )  # fmt: skip

    @property
    def server_and_model(self) -> dict[str, str]:
        """What tells it from other models."""
        return {"server": self.client.base_url, "model": self.name}

    def _value_at(self, attempt: int, call: Call[T], usage: Usage, emit: Emit) -> T:
        """Return the value of one attempt; ``attempt`` is part of the cache key."""
        request = {
            **self.server_and_model, "messages": call.messages, "schema": call.schema,
            **_LIKELIEST, "attempt": attempt, "reply_tokens": self.reply_tokens,
        }  # fmt: skip
        reserved = estimated_tokens(call.rules, call.text), self.reply_tokens
        usage.reserve_call(*reserved)
        began = time.perf_counter()
        event = ModelCalled(model=self.name, purpose=call.purpose, prompt=f"system\n{call.rules}\n\nuser\n{call.text}")
        try:
            cache = self.response_cache
            kept = cache and cache.tried(lambda: cache.get(KIND, request), partial(_note_error, emit))
            is_kept, reply = bool(kept), kept or self._reply_of_server(call, usage, emit)
        except KgsparqlError as error:
            if not isinstance(error, ModelReplyError | ModelTimeoutError | CancelledError):
                usage.settle_call(reserved, None)  # no model worked for this
            emit(replace(event, error=error.code, seconds=_seconds_since(began)))
            if isinstance(error, ModelTimeoutError | CancelledError):
                usage.check()  # it may have been the question's deadline, or a person who stopped it
            raise
        text, problem = text_of(reply, call.purpose)
        tokens = tokens_of(reply, reserved, text)
        usage.settle_call(reserved, tokens, cached=is_kept)
        event = replace(
            event, reply=text, prompt_tokens=tokens[0], completion_tokens=tokens[1], cached=is_kept,
            seconds=_seconds_since(began),
        )  # fmt: skip
        try:
            if problem is not None:
                raise problem
            value = call.read(text)
        except ModelReplyError as error:
            emit(replace(event, error=error.code))
            raise
        emit(event)
        if not is_kept:
            self._keep_reply(KIND, request, reply, emit)
        return value

    def _reply_of_server(self, call: Call[Any], usage: Usage, emit: Emit) -> Json:
        """Ask the server; what it refuses is left out and the request sent again, all within one deadline."""
        self.client.prepare()
        capabilities, tokens, began = self.capabilities, self.reply_tokens, time.monotonic()
        left = usage.seconds_left
        timeout_s = self.client.timeout_s if left is None else min(left, self.client.timeout_s)
        interrupt = AnyEvent(usage.cancel, usage.stop)
        alone = [{"role": "user", "content": f"{call.rules}\n\n{call.text}"}]
        while True:
            body: Json = {"model": self.name, "messages": call.messages if capabilities.system else alone}
            body |= {name: value for name, value in _LIKELIEST.items() if name not in capabilities.without}
            body |= {capabilities.limit: tokens} if capabilities.limit else {}
            if capabilities.rung == "json_schema":
                named = {"name": call.purpose.replace(" ", "_"), "schema": call.schema, "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
            elif capabilities.rung == "json_object":
                body["response_format"] = {"type": "json_object"}
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
                    self._keep_reply(CAPABILITIES, self.server_and_model, asdict(capabilities), emit)
                return chat

    def _keep_reply(self, kind: str, request: Json, reply: Json, emit: Emit) -> None:
        if (cache := self.response_cache) is not None:
            cache.tried(lambda: cache.put(kind, request, reply), partial(_note_error, emit))


def _note_error(emit: Emit, error: StoreError) -> None:
    emit(FallbackUsed(purpose="keeping replies", reason=f"replies are not kept: {error.message}"))


def _seconds_since(began: float) -> float:
    return round(time.perf_counter() - began, 6)


# --- Opening


def open_model(
    name: str | None = None, *, base_url: str | None = None, api_key: str | None = None, mode: Mode | None = "use",
    timeout_s: float = 60.0,
    reply_tokens: int = 4096, transport: Transport | None = None,
) -> LanguageModel:  # fmt: skip
    """Open the model that the user means.

    :param name: ``KGSPARQL_MODEL`` if not given, else the one model that the server has.
    :param base_url: of an OpenAI-compatible server, ``OPENAI_BASE_URL`` if not given; servers that need no key work.
    :param api_key: ``OPENAI_API_KEY`` if not given.
    :param mode: what the response cache is used for; ``None`` for nothing.
    :param transport: a function that answers each HTTP request; ``None`` for the network.
    :raises InputError: if it is not clear which server or model is meant.
    :raises ModelError: if the server has to be asked which models it has, and cannot be.
    """
    address = base_url or os.environ.get("OPENAI_BASE_URL")
    if not (address or api_key or os.environ.get(KEY_VARIABLE)):
        raise InputError(
            "no model server is set up",
            hint=f"set {KEY_VARIABLE}, or name a server: --base-url http://localhost:11434/v1",
        )
    client = OpenAIClient(address, api_key=api_key, timeout_s=timeout_s, transport=transport)
    cache = None if mode is None else ResponseCache(mode=mode)
    name = name or os.environ.get("KGSPARQL_MODEL") or _only_model(client)
    return LanguageModel(name, client, response_cache=cache, reply_tokens=reply_tokens)


def _only_model(client: OpenAIClient) -> str:
    """Name the one model that a server lists."""
    with client:  # the next call opens it again
        names = client.models()
    if len(names) == 1:
        return str(names[0])
    shown = f"it has: {', '.join(printable(name, 60) for name in names[:10])}" if names else "it lists no models"
    raise InputError(f"which model of {client.base_url}?", hint=f"name one with -m; {shown}")
