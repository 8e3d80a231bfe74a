"""The language model that the user means: its server, its name, and where its replies are kept."""

from __future__ import annotations

import os

from kgsparql.errors import InputError, KgsparqlError
from kgsparql.http.transport import Transport
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.rdf.terms import printable
from kgsparql.redaction import KEY_VARIABLE
from kgsparql.resources import cache_directory
from kgsparql.storage.recording import Recording
from kgsparql.storage.response_cache import RESPONSE_FILE, Mode, ResponseCache

MODELS = "models"
"""The kind of exchange that keeps a server's list of its models."""


def open_model(
    name: str | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    mode: Mode | None = "use",
    recording: Recording | None = None,
    timeout_s: float = 60.0,
    temperature: float = 0.0,
    seed: int = 0,
    reply_tokens: int = 4096,
    transport: Transport | None = None,
) -> LanguageModel:
    """The model that the user means.

    :param name: ``KGSPARQL_MODEL`` if not given, else the one model that the server has.
    :param base_url: of an OpenAI-compatible server, ``OPENAI_BASE_URL`` if not given; servers that need no key work.
    :param api_key: ``OPENAI_API_KEY`` if not given.
    :param mode: what the response cache is used for; ``None`` for nothing.
    :param recording: takes the place of that store. A replay needs neither a server nor a key.
    :param transport: a function that answers each HTTP request; ``None`` for the network.
    :raises InputError: if it is not clear which server or model is meant.
    :raises ModelError: if the server has to be asked which models it has, and cannot be.
    """
    address = base_url or os.environ.get("OPENAI_BASE_URL")
    is_replay = recording is not None and recording.mode == "only"
    if not (address or api_key or os.environ.get(KEY_VARIABLE) or is_replay):
        raise InputError(
            "no model server is set up",
            hint=f"set {KEY_VARIABLE}, or name a server: --base-url http://localhost:11434/v1",
        )
    client = OpenAIClient(address, api_key=api_key, timeout_s=timeout_s, transport=transport)
    kept: ResponseCache | None = None
    if recording is None and mode is not None:
        kept = ResponseCache(cache_directory() / RESPONSE_FILE, mode=mode)
    name = name or os.environ.get("KGSPARQL_MODEL") or _only_model(client, recording)
    return LanguageModel(
        name,
        client,
        response_cache=kept,
        recording=recording,
        temperature=temperature,
        seed=seed,
        reply_tokens=reply_tokens,
    )


def _only_model(client: OpenAIClient, recording: Recording | None) -> str:
    names = _models(client) if recording is None else _recorded_models(client, recording)
    if len(names) == 1:
        return names[0]
    listed = f"it has: {', '.join(printable(name, 60) for name in names[:10])}" if names else "it lists no models"
    raise InputError(f"which model of {client.base_url}?", hint=f"name one with -m; {listed}")


def _recorded_models(client: OpenAIClient, recording: Recording) -> list[str]:
    request = {"server": client.base_url}
    kept = recording.get(MODELS, request, what=f"the models of {client.base_url}")
    if kept is None:
        try:
            kept = {"models": _models(client)}
        except KgsparqlError as error:
            recording.fail(MODELS, request, error)
            raise
        recording.put(MODELS, request, kept)
    return [str(name) for name in kept["models"]]


def _models(client: OpenAIClient) -> list[str]:
    try:
        return client.models()
    finally:
        client.close()  # the next call opens it again
