"""The model server and its model, and the embedder: whether they reply, and what they take."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from kgsparql.answering.ask_options import ignore
from kgsparql.budget import Budget, Usage
from kgsparql.cli.diagnosis.checks import Check, attempted, failed
from kgsparql.errors import CancelledError, KgsparqlError, ModelReplyError, ModelTimeoutError
from kgsparql.models.chat_completion import Call, Message, object_schema
from kgsparql.models.embedders import open_embedder
from kgsparql.models.embedders.local_models import DEFAULT_MODEL, find_model
from kgsparql.models.embedders.openai_server import OpenAIEmbedder
from kgsparql.models.embedding import INSTALL_HINT, Embedder
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client.client import OpenAIClient
from kgsparql.models.reply_json import json_value
from kgsparql.models.server_capabilities import Capabilities
from kgsparql.rdf.terms import printable
from kgsparql.redaction import KEY_VARIABLE, shown_source
from kgsparql.resources import cache_directory
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

_SERVER, _MODEL = "model server", "model"
_HOW_TO_ADD = (
    f"candidates are ranked without one. Add one with -m MODEL and {KEY_VARIABLE}, or with --base-url URL of an "
    "OpenAI-compatible server, such as http://localhost:11434/v1"
)
_LISTED = 5
_NO_LIST = {404, 405, 501}
"""Statuses of servers that have no list of models."""

_QUESTION = (
    Message("system", 'Reply with JSON only, in the form {"answer": number}.'),
    Message("user", "What is two plus two?"),
)


def model_checks(
    name: str | None, base_url: str | None, *, timeout_s: float, note: Callable[[str], None]
) -> Iterator[Check]:
    """A check of the server, by its list of models, and one of the model, by a small call; if one of them is named."""
    has_key = bool(os.environ.get(KEY_VARIABLE))
    key = f"{KEY_VARIABLE} is {'set' if has_key else 'not set'}"
    used = key if has_key else f"{key} (not needed here)"
    if not name and not base_url:
        yield Check(_SERVER, "absent", f"none is named; {key}", _HOW_TO_ADD)
        return
    try:
        import_module("openai")  # here, so that it is not in the time of the server
    except ImportError as error:
        message = f"the package openai cannot be imported: {error}"
        yield Check(_SERVER, "fail", message, "pip install --force-reinstall openai", KgsparqlError.exit_code)
        return
    try:
        client = OpenAIClient(base_url, timeout_s=timeout_s)
    except KgsparqlError as error:
        yield failed(_SERVER, error)
        return
    with client:
        note(f"asking {client.base_url} for its models …")
        listed: list[str] | None = None
        began = time.perf_counter()
        try:
            listed = client.models(timeout_s=timeout_s)
        except CancelledError:
            raise
        except KgsparqlError as error:
            if not name or error.detail.get("status") not in _NO_LIST:
                yield failed(_SERVER, error, hint=_patience(error))
                return
            yield Check(_SERVER, "absent", f"{client.base_url}: it does not list its models; {key}")
        else:
            took = time.perf_counter() - began
            yield Check(_SERVER, "ok", f"{client.base_url}: {_models(listed)}, {took:.2f} s; {used}")
        yield _model(name, listed, client, note)


def _patience(error: KgsparqlError) -> str:
    """A hint for a server that took too long; empty for other errors, which have a hint."""
    return "a model that is being loaded needs longer: --timeout 60" if isinstance(error, ModelTimeoutError) else ""


def _models(names: Sequence[str]) -> str:
    if not names:
        return "no models"
    more = f" … ({len(names):,})" if len(names) > _LISTED else ""
    return f"it has {', '.join(printable(name, 60) for name in names[:_LISTED])}{more}"


def _model(name: str | None, listed: Sequence[str] | None, client: OpenAIClient, note: Callable[[str], None]) -> Check:
    if not name:
        if not listed or len(listed) != 1:
            return Check(_MODEL, "absent", "none is named", f"name one with -m: {_models(listed or ())}")
        name = listed[0]
    shown, is_listed = printable(name, 100), listed is None or name in listed
    note(f"asking {shown} one small question …")
    try:
        checked = _small_call(LanguageModel(name, client))
    except CancelledError:
        raise
    except KgsparqlError as error:
        checked = failed(_MODEL, error, hint=_patience(error))
    found = checked.found if is_listed else f"not in the server's list; {checked.found}"
    hint = checked.hint
    if checked.state == "fail" and not is_listed:
        near = get_close_matches(name, listed or (), n=3, cutoff=0.3) or list(listed or ())[:3]
        hint = f"name another with -m: {', '.join(printable(one, 60) for one in near)}" if near else hint
    return Check(_MODEL, checked.state, f"{shown}: {found}", hint, checked.exit_code)


def _small_call(model: LanguageModel) -> Check:
    """What the server takes for a model, found by one call past the cache."""
    replies: list[str] = []

    def read(text: str) -> Any:
        replies.append(text)
        value = json_value(text)
        if not isinstance(value, dict) or "answer" not in value:
            message = f'it was asked for {{"answer": number}} and replied {printable(text, 200)!r}'
            raise ModelReplyError(message, hint="its choices would be made by ranking; another model may do better")
        return value

    call = Call("check", _QUESTION, object_schema(answer={"type": "integer"}), read)
    began = time.perf_counter()
    model.ask(call, Usage(Budget()), ignore)
    took = time.perf_counter() - began
    found, remembered = model.capabilities, _remembered(model)
    said = [f"takes {found.rung}", *_refusals(found)]
    if found.rung != "text" and not _is_json(replies[-1]):
        said.append("but does not hold the model to it: what is around the JSON is skipped")
    hint = ""
    if remembered is not None and remembered != found:
        hint = f"asking still uses {remembered.rung}, found earlier: kgsparql cache --clear abilities has it look again"
    return Check(_MODEL, "ok", f"{', '.join(said)}; replied in {took:.2f} s", hint)


def _refusals(found: Capabilities) -> list[str]:
    refused = [*found.without]
    refused += [] if found.limit == "max_tokens" else ["max_tokens"]
    refused += [] if found.limit else ["any limit of tokens"]
    refused += [] if found.system else ["system messages"]
    return [f"refuses {' and '.join(refused)}"] if refused else []


def _remembered(model: LanguageModel) -> Capabilities | None:
    """What questions use: the capabilities that were found earlier and kept; ``None`` for none."""
    with ResponseCache(cache_directory() / RESPONSE_FILE) as response_cache:
        known = LanguageModel(model.name, model.client, response_cache=response_cache).capabilities
    return None if known == Capabilities() else known


def embedder_check(spec: str, *, timeout_s: float, is_quick: bool, note: Callable[[str], None]) -> Check:
    """Which embedder is used and where it comes from; unless ``is_quick``, also one text embedded by it."""
    return attempted("embedder", lambda: _embedder(spec, timeout_s, note, is_quick=is_quick))


def _embedder(spec: str, timeout_s: float, note: Callable[[str], None], *, is_quick: bool) -> Check:
    embedder = open_embedder(spec, note=note)
    if embedder is None:
        hint = "" if spec == "none" else INSTALL_HINT
        return Check("embedder", "absent", "none: texts are compared by the words they share", hint)
    if isinstance(embedder, OpenAIEmbedder):
        base_url, _, model = spec.partition("#")
        embedder = OpenAIEmbedder(base_url, model, timeout_s=timeout_s)
        try:
            return _embedder_found(embedder, embedder.name, note, is_quick=is_quick)
        finally:
            embedder.close()
    local = find_model(DEFAULT_MODEL if spec == "auto" else spec)
    if local is None:
        hint = "the first use downloads it from the hub; or name a directory that holds a model"
        return Check("embedder", "absent", f"{printable(shown_source(spec), 100)} is not on this machine", hint)
    return _embedder_found(embedder, f"{local.name} from {local.directory}", note, is_quick=is_quick)


def _embedder_found(embedder: Embedder, source: str, note: Callable[[str], None], *, is_quick: bool) -> Check:
    if is_quick:
        return Check("embedder", "ok", f"{source}; not tried")
    note(f"trying {embedder.name} …")
    began = time.perf_counter()
    shape = embedder.embed(["Where was Marie Curie born?"]).shape
    return Check("embedder", "ok", f"{source}; a vector of {shape[1]} numbers in {time.perf_counter() - began:.1f} s")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
