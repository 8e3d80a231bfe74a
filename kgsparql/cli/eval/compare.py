"""``kgsparql eval compare``: runs side by side, with what is sure about their differences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import InputError, OptionError
from kgsparql.linking.words import comma_separated
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.comparison.comparison import Comparison

__all__ = ["compare"]

_FORMATS = ("text", "md", "csv", "json", "html")


@c.reported
def compare(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN…", help="Directories of runs, of one dataset or several.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("-f", "--format", metavar="FORMAT", help="Output: text, md, csv, json or html.")
    ] = None,
    output: c.OutputOption = None,
    metrics: Annotated[
        str, typer.Option("--metrics", metavar="NAMES", help="These, between commas, or all; the first decides.")
    ] = "",
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="WHAT", help="Tell questions apart by hops, type, direction (commas) or none."),
    ] = None,
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="METHOD", help="Compare with this one instead of the best.")
    ] = "",
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="Draw plots into this directory, as PNG and SVG.")
    ] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Show questions on which methods differ, and what each found.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="So many of them for each dataset.")] = 10,
    reproducible: Annotated[
        bool, typer.Option("--reproducible", help="Leave out what differs when the same is run again: time, paid cost.")
    ] = False,
    text_metrics: Annotated[
        bool, typer.Option("--text-metrics", help="Also compare sentences (ROUGE, BERTScore), with a model of its own.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the resamples for intervals and tests.")] = 0,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each metric is defined, and stop.")] = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Compare methods: quality with 95 % intervals, which differences are real, by hops, at what cost.

    Runs are scored from their files; nothing is asked again. Rows are tested on the questions they share.
    """
    from kgsparql.evaluation.comparison import comparison as comparing
    from kgsparql.evaluation.scoring import chosen_metrics, opened

    shape = _shape(form, output, failures=failures)
    names = chosen_metrics(metrics, reproducible=reproducible, text=text_metrics)
    if explain:
        from kgsparql.evaluation.comparison.formats import explained

        c.write(explained(names), output)
        return
    if not runs:
        raise InputError("no run was given", hint="kgsparql eval compare RUN …")
    kinds = None if by is None else _kinds(by)
    with c.progress(quiet=quiet) as shown:
        found = comparing.compare(
            opened(runs), metrics=names, named=bool(metrics), by=kinds, baseline=baseline, seed=seed,
            reproducible=reproducible, progress=shown,
        )  # fmt: skip
    if plots is not None:
        from kgsparql.evaluation.comparison.plots import save_plots

        files = save_plots(found, plots)
        c.say(f"{len(files)} plots: {plots}", quiet=quiet)
    c.write_bytes(_rendered(found, shape, failures=failures, limit=limit).encode("utf-8", "replace"), output)


def _rendered(found: Comparison, shape: str, *, failures: bool, limit: int) -> str:
    from kgsparql.evaluation.comparison import formats

    if shape == "json":
        return formats.as_json(found)
    if shape == "csv":
        return formats.as_csv(found)
    from kgsparql.evaluation.comparison.disagreements import disagreements, disagreements_markdown, disagreements_text

    questions = disagreements(found, limit) if failures or shape == "html" else None
    if shape == "html":
        from kgsparql.evaluation.comparison.report import as_html

        return as_html(found, questions or [])
    table = formats.as_markdown(found) if shape == "md" else formats.as_text(found)
    if questions is None:
        return table
    return f"{table}\n{(disagreements_markdown if shape == 'md' else disagreements_text)(questions)}"


def _shape(form: str | None, output: Path | None, *, failures: bool) -> str:
    """The format: as told, else by the suffix of the output file.

    :raises OptionError: for one that is none, and for one that cannot show what is wanted.
    """
    shape = form or c.guessed_format(output) or "text"
    shape = "html" if shape == "htm" else shape
    if shape not in _FORMATS:
        raise OptionError(f"no output format {printable(shape, 40)!r}", hint=f"one of: {', '.join(_FORMATS)}")
    if failures and shape in {"csv", "json"}:
        raise OptionError(f"--failures is no part of {shape}", hint="-f text, md or html")
    return shape


def _kinds(by: str) -> tuple[str, ...]:
    """What questions are told apart by.

    :raises OptionError: for something else.
    """
    from kgsparql.evaluation.scoring import SLICES

    wanted = tuple(dict.fromkeys(comma_separated(by)))
    wanted = tuple("hops" if name == "hop" else name for name in wanted)
    for name in wanted:
        if name not in {*SLICES, "none"}:
            raise OptionError(f"--by {printable(name, 40)}: not known", hint=f"one of: {', '.join(SLICES)}, none")
    return () if "none" in wanted else wanted
