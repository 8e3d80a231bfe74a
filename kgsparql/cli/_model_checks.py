"""What ``kgsparql doctor`` checks of the model server, its model and the embedder."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from kgsparql.answering.ask_options import ignore
from kgsparql.budget import Budget, Usage
from kgsparql.cli._checks import Check, Note, failed
from kgsparql.errors import CancelledError, KgsparqlError, ModelReplyError, ModelTimeoutError
from kgsparql.models.chat_completion import Call, Capabilities, Message, object_schema
from kgsparql.models.embedders import OpenAIEmbedder, open_embedder
from kgsparql.models.embedding import DEFAULT_MODEL, INSTALL_HINT, find_model
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.models.reply_json import json_value
from kgsparql.rdf.terms import printable
from kgsparql.redaction import KEY_VARIABLE, shown_source
from kgsparql.resources import cache_directory
from kgsparql.storage.response_cache import RESPONSE_FILE, ResponseCache

_MAX_NAMED = 5
_HOW_TO_ADD = (
    f"candidates are ranked without one. Add one with -m MODEL and {KEY_VARIABLE}, or with --base-url URL of an "
    "OpenAI-compatible server, such as http://localhost:11434/v1"
)
_QUESTION = (
    Message("system", 'Reply with JSON only, in the form {"answer": number}.'),
    Message("user", "What is two plus two?"),
)


def model_checks(name: str | None, base_url: str | None, timeout_s: float, note: Note) -> Iterator[Check]:
    """Check the server, by its list of models, and the model, by a small call; if one of them is named."""
    server, has_key = "model server", bool(os.environ.get(KEY_VARIABLE))
    key = f"{KEY_VARIABLE} is {'set' if has_key else 'not set'}"
    if not name and not base_url:
        yield Check(server, "absent", f"none is named; {key}", _HOW_TO_ADD)
        return
    try:
        import_module("openai")  # here, so that it is not in the time of the server
        client = OpenAIClient(base_url, timeout_s=timeout_s)
    except ImportError as error:
        message = f"the package openai cannot be imported: {error}"
        yield Check(server, "fail", message, "pip install --force-reinstall openai", KgsparqlError.exit_code)
        return
    except KgsparqlError as error:
        yield failed(server, error)
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
            if not name or error.detail.get("status") not in {404, 405, 501}:  # servers without a list of models
                yield failed(server, error, hint=_patience(error))
                return
            yield Check(server, "absent", f"{client.base_url}: it does not list its models; {key}")
        else:
            took = time.perf_counter() - began
            used = key if has_key else f"{key} (not needed here)"
            yield Check(server, "ok", f"{client.base_url}: {_models_text(listed)}, {took:.2f} s; {used}")
        yield _model(name, listed, client, note)


def _patience(error: KgsparqlError) -> str:
    """Return a hint for a server that took too long; empty for other errors, which have a hint."""
    return "a model that is being loaded needs longer: --timeout 60" if isinstance(error, ModelTimeoutError) else ""


def _models_text(names: Sequence[str]) -> str:
    if not names:
        return "no models"
    more = f" … ({len(names):,})" if len(names) > _MAX_NAMED else ""
    return f"it has {', '.join(printable(name, 60) for name in names[:_MAX_NAMED])}{more}"


def _model(name: str | None, listed: Sequence[str] | None, client: OpenAIClient, note: Note) -> Check:
    if not name:
        if not listed or len(listed) != 1:
            return Check("model", "absent", "none is named", f"name one with -m: {_models_text(listed or ())}")
        name = listed[0]
    shown, is_listed = printable(name, 100), listed is None or name in listed
    note(f"asking {shown} one small question …")
    try:
        checked = _small_call(LanguageModel(name, client))
    except CancelledError:
        raise
    except KgsparqlError as error:
        checked = failed("model", error, hint=_patience(error))
    found, hint = checked.found, checked.hint
    if not is_listed:
        found = f"not in the server's list; {found}"
        near = get_close_matches(name, listed or (), n=3, cutoff=0.3) or list(listed or ())[:3]
        if checked.state == "fail" and near:
            hint = f"name another with -m: {', '.join(printable(one, 60) for one in near)}"
    return Check("model", checked.state, f"{shown}: {found}", hint, checked.exit_code)


def _small_call(model: LanguageModel) -> Check:
    """Say what the server takes for a model, found by one call past the cache."""
    replies: list[str] = []

    def read(text: str) -> Any:
        replies.append(text)
        value = json_value(text)
        if not isinstance(value, dict) or "answer" not in value:
            message = f'it was asked for {{"answer": number}} and replied {printable(text, 200)!r}'
            raise ModelReplyError(message, hint="its choices would be made by ranking; another model may do better")
        return value

    began = time.perf_counter()
    call = Call("check", _QUESTION, object_schema(answer={"type": "integer"}), read)
    model.ask(call, Usage(Budget()), ignore)
    took = time.perf_counter() - began
    found = model.capabilities
    refused = [*found.without, *([] if found.limit == "max_tokens" else ["max_tokens"])]
    refused += ([] if found.limit else ["any limit of tokens"]) + ([] if found.system else ["system messages"])
    said = [f"takes {found.rung}", *([f"refuses {' and '.join(refused)}"] if refused else [])]
    if found.rung != "text":
        try:
            json.loads(replies[-1])
        except ValueError:
            said.append("but does not hold the model to it: what is around the JSON is skipped")
    with ResponseCache(cache_directory() / RESPONSE_FILE) as kept:  # what was found earlier, and questions use
        remembered = LanguageModel(model.name, model.client, response_cache=kept).capabilities
    hint = ""
    if remembered not in (Capabilities(), found):
        hint = f"asking still uses {remembered.rung}, found earlier: kgsparql cache --clear abilities has it look again"
    return Check("model", "ok", f"{', '.join(said)}; replied in {took:.2f} s", hint)


def embedder_check(spec: str, timeout_s: float, note: Note, *, is_quick: bool) -> Check:
    """Say which embedder is used and where it comes from; unless ``is_quick``, also embed one text."""
    embedder = open_embedder(spec, note=note)
    if embedder is None:
        hint = "" if spec == "none" else INSTALL_HINT
        return Check("embedder", "absent", "none: texts are compared by the words they share", hint)
    local = None if isinstance(embedder, OpenAIEmbedder) else find_model(DEFAULT_MODEL if spec == "auto" else spec)
    if isinstance(embedder, OpenAIEmbedder):
        base_url, _, model = spec.partition("#")
        embedder = OpenAIEmbedder(base_url, model, timeout_s=timeout_s)
    elif local is None:
        hint = "the first use downloads it from the hub; or name a directory that holds a model"
        return Check("embedder", "absent", f"{printable(shown_source(spec), 100)} is not on this machine", hint)
    source = embedder.name if local is None else f"{local.name} from {local.directory}"
    if is_quick:
        return Check("embedder", "ok", f"{source}; not tried")
    note(f"trying {embedder.name} …")
    began = time.perf_counter()
    with closing(embedder) if isinstance(embedder, OpenAIEmbedder) else nullcontext():
        size = embedder.embed(["Where was Marie Curie born?"]).shape[1]
    return Check("embedder", "ok", f"{source}; a vector of {size} numbers in {time.perf_counter() - began:.1f} s")
