"""``kgsparql eval tune``: options chosen on one part of the questions, and what they are worth on the other."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import HOW_TO_ADD, GraphOptions, LimitOptions, ModelOptions, options_of
from kgsparql.cli.eval._questions import (
    ColumnsOption,
    DatasetArgument,
    QuestionOptions,
    TallyLine,
    check_directory,
    opened_dataset,
    with_answers,
)
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.evaluation.search_spaces import Space
    from kgsparql.evaluation.tuning import Search, Tuning


@dataclass(frozen=True, kw_only=True)
class TuningOptions:
    """Which options of which method are tuned, and how; each field is an option of the command line."""

    output: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="The directory of the trials.")]
    retriever: Annotated[str, typer.Option("-r", "--retriever", metavar="NAME", help="The method.")] = "path_ranking"
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-O",
            "--option",
            metavar="NAME=VALUES",
            help="Values to try: 3,5,10 or 1..5 or 0.1..0.5/0.1; between | where they have commas. Repeatable.",
        ),
    ] = None
    search: Annotated[str, typer.Option("--search", metavar="HOW", help="grid or random.")] = "grid"
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, metavar="N", help="Of a random search.", show_default="30")
    ] = None
    metric: Annotated[str, typer.Option("--metric", metavar="NAME", help="What is made better.")] = "f1"
    share: Annotated[
        float, typer.Option("--split", metavar="SHARE", help="Of the questions: those options are chosen on.")
    ] = 0.5
    columns: ColumnsOption = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in the directory.")] = False
    preset_out: Annotated[
        Path | None, typer.Option("--preset-out", metavar="FILE", help="The preset.", show_default="RUN/preset.toml")
    ] = None
    form: c.TextOrJsonOption = None
    reproducible: c.ReproducibleOption = False

    def checked_search(self, seed: int) -> Search:
        """Return how settings are tried; ``--trials`` is for a random search alone."""
        from kgsparql.evaluation.tuning import Search

        if self.trials is not None and self.search != "random":
            raise OptionError(f"--trials with --search {printable(self.search, 40)}", hint="it is for --search random")
        return Search(kind=self.search, trials=self.trials or 30, seed=seed)

    def preset_file(self) -> Path:
        """Return where the preset is written."""
        if self.preset_out is None:
            return self.output / "preset.toml"
        if not self.preset_out.parent.is_dir():
            raise InputError(f"{self.preset_out}: its directory is not there", hint="make it, or name another file")
        return self.preset_out


@c.command
def tune(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    asked: QuestionOptions,
    dataset: DatasetArgument,
    how: TuningOptions,
) -> None:
    """Choose options of a method on one part of the questions, and see what they are worth on the others.

    Every setting is a run of its own in RUN/trials, so that `--resume` pays for nothing twice, with other values or
    another search too. The chosen options are written as a preset, without options where nothing beat the defaults:
    kgsparql ask --preset RUN/preset.toml
    """
    from kgsparql.evaluation.search_spaces import Space
    from kgsparql.evaluation.splitting import checked_share, split
    from kgsparql.evaluation.tuning import Bench, checked_metric, few_held_out
    from kgsparql.evaluation.tuning import tune as tune_all

    form = c.chosen_format(how.form, None)
    search = how.checked_search(asked.seed)
    space = Space.read(how.retriever, _values_by_option(how.retriever, how.option))
    checked_metric(how.metric)
    checked_share(how.share)
    check_directory(how.output, resume=how.resume, file="tuning.json")
    preset_file = how.preset_file()
    languages = c.languages(asked.lang)
    loaded, graph = opened_dataset(dataset, how.columns, graph, language=languages[0])
    asking = asked.asking(model, limits)
    n = min(asked.limit or len(loaded.questions), len(loaded.questions))
    graph.say(_what_it_takes(space, search, n, how.share, with_model=asking.model is not None))
    opened = graph.opened(languages=languages, embedder=asked.embedder)
    with asking.model or nullcontext(), opened as knowledge:
        graph.say("" if asked.oracle or asking.model is not None or model.no_model else HOW_TO_ADD)
        drawn = asked.sample(loaded)
        questions = with_answers(drawn, knowledge, graph)[0].questions
        parts = split(questions, how.share, seed=asked.sample_seed)
        graph.say(str(parts))
        graph.say(few_held_out(len(parts.held_out)))
        with TallyLine(how.output, quiet=graph.quiet) as line:
            bench = Bench(
                knowledge=knowledge, plan=asked.plan(knowledge, asking, questions, ()), path=how.output, space=space,
                metric=how.metric, configuration=partial(asked.configuration, loaded, knowledge), tell=line.tell,
            )  # fmt: skip
            found = tune_all(bench, parts, search, seed=asked.seed)
    _write_results(found, preset_file, form, reproducible=how.reproducible)
    graph.say(found.advice(preset_file))


def _values_by_option(method: str, option: list[str] | None) -> dict[str, str]:
    """Read the values to try of each option."""
    from kgsparql.evaluation.runs.plan import options_by_method

    options = options_of(option)
    if len(options) < len(option or ()):
        raise OptionError("an option is named twice", hint='its values stand together: -O "NAME=3,5,10"')
    found = options_by_method(options, [method])
    for other in found:
        if other != method:
            raise OptionError(f"-O {printable(other, 60)}.…: this method is not tuned", hint=f"-r {method} is")
    return found.get(method, {})


def _what_it_takes(space: Space, search: Search, n: int, share: float, *, with_model: bool) -> str:
    """Say how many trials there will be on how many questions, and what that may cost."""
    settings = search.settings(space)
    calls = [space.calls(setting) for setting in settings]
    development = round(share * n)
    held_out = n - development
    total = sum(calls) * development + (calls[0] + max(calls)) * held_out
    cost = f"about {total:,} model calls at most" if with_model else "no model calls"
    return (
        f"{len(settings):,} trials of {space.method} on some {development:,} questions, "
        f"then 2 on some {held_out:,}: {cost}"
    )


def _write_results(found: Tuning, preset_file: Path, form: str, *, reproducible: bool) -> None:
    from importlib.metadata import version

    from kgsparql.evaluation.tuning import tuning_json, tuning_text

    c.write(found.preset(kgsparql=version("kgsparql")).to_toml(), preset_file)
    c.write((tuning_json if form == "json" else tuning_text)(found, reproducible=reproducible), None)
