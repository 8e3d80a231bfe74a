"""The language model that a person means: on which server, by which name, with which store of replies."""

from __future__ import annotations

import os

from kgsparql.errors import InputError
from kgsparql.exchanges import Exchanges, Mode
from kgsparql.language_model import EXCHANGES, LanguageModel
from kgsparql.openai_client import OpenAIClient
from kgsparql.redaction import KEY_VARIABLE
from kgsparql.resources import cache_directory
from kgsparql.terms import printable

__all__ = ["open_model"]


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
