"""``kgsparql eval compare``: runs side by side, with what is sure about their differences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import InputError, OptionError
from kgsparql.linking.words import comma_separated
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.comparison import Comparison


_FORMATS = ("text", "md", "csv", "json")


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
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="WHAT", help="Tell questions apart by hops, type, direction (commas) or none."),
    ] = None
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
    text_metrics: Annotated[
        bool, typer.Option("--text-metrics", help="Also compare sentences (ROUGE, BERTScore), with a model of its own.")
    ] = False
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the resamples for intervals and tests.")] = 0
    explain: Annotated[bool, typer.Option("--explain", help="Say how each metric is defined, and stop.")] = False
    quiet: c.QuietOption = False
    debug: c.DebugOption = False

    def chosen_format(self) -> str:
        """Return the format that is named, else that of the output file's suffix."""
        chosen = c.chosen_format(self.form or c.guessed_format(self.output), None, _FORMATS)
        if self.failures and chosen in {"csv", "json"}:
            raise OptionError(f"--failures is no part of {chosen}", hint="-f text or md")
        return chosen

    def slices(self) -> tuple[str, ...] | None:
        """Return what questions are told apart by; ``None`` for the usual."""
        from kgsparql.evaluation.scoring import SLICES

        if self.by is None:
            return None
        wanted = tuple("hops" if name == "hop" else name for name in dict.fromkeys(comma_separated(self.by)))
        for name in wanted:
            if name not in {*SLICES, "none"}:
                raise OptionError(f"--by {printable(name, 40)}: not known", hint=f"one of: {', '.join(SLICES)}, none")
        return () if "none" in wanted else wanted


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
    from kgsparql.evaluation.scoring import chosen_metrics, opened

    form = how.chosen_format()
    names = chosen_metrics(how.metrics, reproducible=how.reproducible, text=how.text_metrics)
    if how.explain:
        from kgsparql.evaluation.comparison_tables import metric_definitions

        c.write(metric_definitions(names), how.output)
        return
    if not runs:
        raise InputError("no run was given", hint="kgsparql eval compare RUN …")
    slices = how.slices()
    with c.Progress(quiet=how.quiet) as shown:
        found = comparing.compare(
            opened(runs), metrics=names, named=bool(how.metrics), by=slices, baseline=how.baseline, seed=how.seed,
            reproducible=how.reproducible, progress=shown,
        )  # fmt: skip
    if how.plots is not None:
        from kgsparql.evaluation.plots import save_plots

        files = save_plots(found, how.plots)
        c.say(f"{len(files)} files of plots: {how.plots}", quiet=how.quiet)
    text = _rendered(found, form, failures=how.failures, limit=how.limit)
    c.write_bytes(text.encode("utf-8", "replace"), how.output)


def _rendered(found: Comparison, form: str, *, failures: bool, limit: int) -> str:
    if form in {"json", "csv"}:
        from kgsparql.evaluation.comparison_exports import comparison_csv, comparison_json

        return (comparison_json if form == "json" else comparison_csv)(found)
    from kgsparql.evaluation.comparison_tables import comparison_markdown, comparison_text

    table = (comparison_markdown if form == "md" else comparison_text)(found)
    if not failures:
        return table
    from kgsparql.evaluation.disagreements import disagreements, disagreements_markdown, disagreements_text

    return f"{table}\n{(disagreements_markdown if form == 'md' else disagreements_text)(disagreements(found, limit))}"
