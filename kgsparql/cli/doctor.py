"""``kgsparql doctor``: what is here, what works, and what to do about the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._configuration import configuration
from kgsparql.cli._graph_options import KgOption
from kgsparql.redaction import redacted

if TYPE_CHECKING:
    from kgsparql.cli.diagnosis.checks import Check


_SHOWN = {"ok": "ok", "absent": "--", "fail": "FAIL"}


@c.command
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
    form = c.chosen_format(form, output)
    checks = _checks(
        c.sources(kg) if configuration().named_sources(kg) else (),
        model=model or os.environ.get("KGSPARQL_MODEL"), base_url=base_url or os.environ.get("OPENAI_BASE_URL"),
        embedder=embedder, timeout_s=timeout, is_quick=quick, note=lambda line: c.say(redacted(line), quiet=quiet),
    )  # fmt: skip
    done: list[Check] = []
    if form == "json":
        done += checks
        c.write_json([check.to_json() for check in done], output)
    else:
        c.write_lines(_lines(checks, done), output)
    worst = max(check.exit_code for check in done)
    if worst:
        raise typer.Exit(worst)


def _checks(
    sources: Sequence[str], *, model: str | None, base_url: str | None, embedder: str, timeout_s: float,
    is_quick: bool, note: Callable[[str], None],
) -> Iterator[Check]:  # fmt: skip
    """Each check as soon as it is done; errors of kgsparql's become failed checks."""
    from kgsparql.cli.diagnosis.graphs import graph_checks, url_of
    from kgsparql.cli.diagnosis.installation import cache_check, certificates_check, installation_checks
    from kgsparql.cli.diagnosis.models import embedder_check, model_checks

    server = base_url or ("https:" if model else "")
    places = (server, embedder, *map(url_of, sources))
    yield from installation_checks()
    yield certificates_check(is_needed=any(place.lower().startswith("https:") for place in places))
    yield cache_check()
    yield from graph_checks(sources, timeout_s=timeout_s, note=note)
    yield from model_checks(model, base_url, timeout_s=timeout_s, note=note)
    yield embedder_check(embedder, timeout_s=timeout_s, is_quick=is_quick, note=note)


def _lines(checks: Iterable[Check], done: list[Check]) -> Iterator[str]:
    """Each check as text as soon as it is there; it is added to ``done``."""
    for check in checks:
        done.append(check)
        shown = check.to_json()
        line = f"{_SHOWN[check.state]:<5} {check.check:<19} {shown['found']}"
        yield f"{line}\n{'':<25} → {shown['hint']}" if check.hint else line
