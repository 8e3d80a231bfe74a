"""``kgsparql eval compare``: runs side by side, with what is sure about their differences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import InputError, OptionError
from kgsparql.linking.words import comma_separated


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """What is compared, and how it is shown; each field is an option of the command line."""

    form: Annotated[
        str | None, typer.Option("-f", "--format", metavar="FORMAT", help="Output: text, md, csv or json.")
    ] = None
    output: c.OutputOption = None
    metrics: Annotated[
        str, typer.Option("--metrics", metavar="NAMES", help="These, between commas, or all; the first decides.")
    ] = ""
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="METHOD", help="Compare with this one instead of the best.")
    ] = ""
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="Draw plots into this directory, as PNG and SVG.")
    ] = None
    failures: Annotated[
        bool, typer.Option("--failures", help="Show questions on which methods differ, and what each found.")
    ] = False
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="So many of them for each dataset.")] = 10
    reproducible: Annotated[
        bool, typer.Option("--reproducible", help="Leave out what differs when the same is run again: time, paid cost.")
    ] = False
    explain: Annotated[bool, typer.Option("--explain", help="Say how each metric is defined, and stop.")] = False
    quiet: c.QuietOption = False
    debug: c.DebugOption = False


@c.command
def compare(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN…", help="Directories of runs, of one dataset or several.")
    ] = None,
    *,
    how: ComparisonOptions,
) -> None:
    """Compare methods: quality with 95 % intervals, which differences are real, by hops, at what cost.

    Runs are scored from their files; nothing is asked again. Rows are tested on the questions they share.
    """
    from kgsparql.evaluation import comparison as comparing
    from kgsparql.evaluation import comparison_exports as exports
    from kgsparql.evaluation import comparison_tables as tables
    from kgsparql.evaluation.disagreements import disagreements_text
    from kgsparql.evaluation.runs.directory import Run
    from kgsparql.evaluation.scoring import chosen_metrics

    form = c.chosen_format(how.form or c.guessed_format(how.output), None, ("text", "md", "csv", "json"))
    if how.failures and form in {"csv", "json"}:
        raise OptionError(f"--failures is no part of {form}", hint="-f text or md")
    names = comma_separated(how.metrics)
    if how.explain:
        c.write(tables.metric_definitions(chosen_metrics(names)), how.output)
        return
    if not runs:
        raise InputError("no run was given", hint="kgsparql eval compare RUN …")
    opened = {path.resolve(): Run.open(path) for path in runs}.values()  # a run that is named twice is one
    found = comparing.compare(list(opened), metrics=names, baseline=how.baseline, reproducible=how.reproducible)
    if how.plots is not None:
        files = exports.save_plots(found, how.plots)
        c.say(f"{len(files)} files of plots: {how.plots}", quiet=how.quiet)
    write = {
        "text": tables.comparison_text, "md": tables.comparison_markdown,
        "csv": exports.comparison_csv, "json": exports.comparison_json,
    }  # fmt: skip
    text = write[form](found)
    if how.failures:
        text += f"\n{disagreements_text(found, how.limit, markdown=form == 'md')}"
    c.write_bytes(text.encode("utf-8", "replace"), how.output)
