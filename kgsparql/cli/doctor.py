"""``kgsparql doctor``: what is here, what works, and what to do about the rest."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import KgOption
from kgsparql.redaction import redacted

if TYPE_CHECKING:
    from kgsparql.cli.diagnosis import Check

__all__ = ["doctor"]

_SHOWN = {"ok": "ok", "absent": "--", "fail": "FAIL"}


@c.reported
def doctor(
    kg: KgOption = None,
    model: Annotated[
        str | None, typer.Option("-m", "--model", metavar="NAME", help="A language model. Default: KGSPARQL_MODEL.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", metavar="URL", help="OpenAI-compatible server. Default: OPENAI_BASE_URL."),
    ] = None,
    embedder: c.EmbedderOption = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not load the embedding model, which takes seconds.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="For each thing asked over the network.")
    ] = 10.0,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Check what kgsparql needs here: packages, embedder, cache; with -m or --base-url a model; with -k a graph.

    A line for each check: ok, -- (not there, not needed) or FAIL, and what to do. A model is asked one small question.
    Exit status: 0 if nothing fails, else that of the worst: 5 unreachable, 4 bad data or store, 3, 2, 1.
    """
    from kgsparql.cli.diagnosis import Diagnosis

    shape = c.two_formats(form, output)
    diagnosis = Diagnosis(
        sources=c.sources(kg) if kg or os.environ.get("KGSPARQL_KG", "").strip() else (),
        model=model or os.environ.get("KGSPARQL_MODEL"), base_url=base_url or os.environ.get("OPENAI_BASE_URL"),
        embedder=embedder, timeout_s=timeout, is_quick=quick, note=lambda line: c.say(redacted(line), quiet=quiet),
    )  # fmt: skip
    done: list[Check] = []
    if shape == "json":
        done += diagnosis.checks()
        c.write(json.dumps([check.to_json() for check in done], ensure_ascii=False, indent=2), output)
    else:
        c.write_lines(_lines(diagnosis.checks(), done), output)
    worst = max(check.exit_code for check in done)
    if worst:
        raise typer.Exit(worst)


def _lines(checks: Iterable[Check], done: list[Check]) -> Iterator[str]:
    """Each check as text as soon as it is there; ``done`` gets it too."""
    for check in checks:
        done.append(check)
        told = check.to_json()
        line = f"{_SHOWN[check.state]:<5} {check.check:<19} {told['found']}"
        yield f"{line}\n{'':<25} → {told['hint']}" if check.hint else line
