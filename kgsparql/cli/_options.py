"""Options that several commands have, in groups: dataclasses whose fields are options of the command line."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli._common import DebugOption, Progress, QuietOption, say, say_once, variable_option
from kgsparql.cli._settings import settings, typed_again, without_secrets
from kgsparql.errors import CancelledError, InputError, KgsparqlError, OptionError
from kgsparql.rdf.terms import printable
from kgsparql.redaction import KEY_VARIABLE

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.budget import Budget, Prices
    from kgsparql.graphs.snapshots import Snapshot
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.models.language_model import LanguageModel
    from kgsparql.retrievers._loading import Preset

_model_option = partial(typer.Option, rich_help_panel="Language model")
_limit_option = partial(typer.Option, rich_help_panel="Limits")
_snapshot_option = partial(typer.Option, rich_help_panel="Snapshots")
_reading_option = partial(typer.Option, rich_help_panel="Reading the graph")

InputFormatOption = Annotated[
    str | None,
    _reading_option("--input-format", metavar="EXT", help="Format of RDF from stdin: ttl, nt, nq, trig, rdf, jsonld."),
]
BaseOption = Annotated[
    str | None, _reading_option("--base", metavar="IRI", help="Base for relative IRIs in the files.")
]
EncodingOption = Annotated[
    str | None, _reading_option("--encoding", metavar="NAME", help="Character encoding of the files.")
]
ContextOption = Annotated[
    str | None,
    _reading_option("--context", metavar="FILE", help="Stands in for contexts that JSON-LD only names."),
]
SkipBadOption = Annotated[
    bool, _reading_option("--skip-bad", help="Go on after a statement that is not valid RDF; they are counted.")
]
KgOption = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        "--kg",
        metavar="SOURCE",
        help="RDF file, directory of RDF files, store, SPARQL endpoint (URL, or a name such as wikidata or dbpedia), "
        "or - for stdin; repeat for several of any kind. Default: KGSPARQL_KG, one source per line.",
    ),
]
IndexOption = Annotated[
    str | None,
    variable_option(
        "--index",
        "KGSPARQL_INDEX",
        "PLACE",
        rich_help_panel="Reading the graph",
        help="Where label indexes are: a directory, or object storage (s3://bucket/prefix). Default: KGSPARQL_INDEX, "
        "else the cache directory.",
    ),
]
PresetOption = Annotated[
    Path | None,
    typer.Option("--preset", metavar="FILE", help="A method and its options, as eval tune writes them; -O wins."),
]
MethodOption = Annotated[
    list[str] | None, typer.Option("-O", "--option", metavar="NAME=VALUE", help="An option of the method; repeatable.")
]
LogOption = Annotated[
    Path | None,
    variable_option(
        "--log",
        "KGSPARQL_LOG",
        "FILE",
        help="Keep question, answer and cost in this file, for kgsparql log. Default: KGSPARQL_LOG, else no log.",
    ),
]
HostOption = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Another address; needs KGSPARQL_TOKEN, or makes a token."),
]

HOW_TO_ADD = (
    f"no language model: candidates are ranked. Add one with -m MODEL and {KEY_VARIABLE}, or with --base-url URL of an "
    "OpenAI-compatible server; --no-model hides this"
)


def named_sources(kg: list[str] | None) -> list[str]:
    """List the sources that ``-k`` names, else those of ``KGSPARQL_KG``, one a line, else those of the settings."""
    if kg and not all(kg):
        raise InputError("-k is empty", hint="is a variable unset? name a file, a directory or a store")
    named = settings().sources(kg)
    for note in settings().project_servers(kg):
        say_once(note)
    if not named:
        raise InputError("no graph was given", hint="name one with -k data.ttl, or set KGSPARQL_KG")
    return named


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """The graph that the user names."""

    kg: KgOption = None
    input_format: InputFormatOption = None
    base: BaseOption = None
    encoding: EncodingOption = None
    skip_bad: SkipBadOption = False
    context: ContextOption = None
    no_cache: Annotated[
        bool, _reading_option("--no-cache", help="Keep neither big files nor replies of endpoints on disk.")
    ] = False
    index: IndexOption = None
    quiet: QuietOption = False
    debug: DebugOption = False

    @property
    def sources(self) -> list[str]:
        """The sources that are named."""
        return named_sources(self.kg)

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that the settings have for the graphs that are named."""
        found = settings().of_graphs(self.kg).get("prefixes")
        return {} if found is None else dict(found.value)

    @property
    def reading(self) -> dict[str, Any]:
        """The options of :func:`kgsparql.graphs.open_graph`."""
        return {
            "format": self.input_format, "base": self.base, "encoding": self.encoding, "skip_bad": self.skip_bad,
            "context": self.context, "cache": not self.no_cache,
        }  # fmt: skip

    def one_by_one(self) -> list[GraphOptions]:
        """Return the options of each graph alone; all files together are one graph."""
        from kgsparql.graphs import groups_of, is_graph_by_itself

        groups = groups_of(self.sources)
        if len(groups) < 2:
            return [self]
        ours = {"input_format": None, "base": None, "encoding": None, "skip_bad": False, "context": None}
        return [
            replace(self, kg=[str(source) for source in group], **(ours if is_graph_by_itself(group[0]) else {}))  # type: ignore[arg-type]
            for group in groups
        ]

    def say(self, message: str) -> None:
        """Write a line to stderr, unless ``-q`` is set."""
        say(message, quiet=self.quiet)

    @contextmanager
    def opened(
        self,
        *,
        languages: tuple[str, ...] = ("en",),
        embedder: str = "auto",
        snapshot: Snapshot | None = None,
        fresh: bool = False,
    ) -> Iterator[KnowledgeBase]:
        """Open the knowledge base, with progress and notes on stderr while the ``with`` block runs."""
        from kgsparql.knowledge_base import open as open_knowledge

        with Progress(quiet=self.quiet) as shown:
            yield open_knowledge(
                *self.sources, languages=languages, embedder=embedder, progress=shown, note=self.say,
                snapshot=snapshot, fresh=fresh, index=self.index, prefixes=self.prefixes, **self.reading,
            )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The language model."""

    model: Annotated[
        str | None, _model_option("-m", "--model", metavar="NAME", help="The language model. Default: KGSPARQL_MODEL.")
    ] = None
    base_url: Annotated[
        str | None,
        _model_option("--base-url", metavar="URL", help="OpenAI-compatible server. Default: OPENAI_BASE_URL."),
    ] = None
    no_model: Annotated[bool, _model_option("--no-model", help="Use no language model.")] = False
    temperature: Annotated[float, _model_option("--temperature", min=0, max=2, help="0 for the likeliest replies.")] = (
        0.0
    )
    reply_tokens: Annotated[
        int, _model_option("--reply-tokens", min=16, help="The longest reply, reasoning included.")
    ] = 4096
    model_timeout: Annotated[
        float, _model_option("--model-timeout", min=0.1, metavar="SECONDS", help="For one call of the model.")
    ] = 60.0
    fresh: Annotated[
        bool, _model_option("--fresh", help="Ask models and endpoints again, whatever replies are kept.")
    ] = False

    @property
    def is_named(self) -> bool:
        """Whether the user, or the environment, names a model or a server of models."""
        return bool(
            self.model or self.base_url or os.environ.get("KGSPARQL_MODEL") or os.environ.get("OPENAI_BASE_URL")
        )

    def opened(self, *, seed: int = 0, snapshot: Snapshot | None = None) -> LanguageModel | None:
        """Open the model; ``None`` if none is named, or none is wanted."""
        if self.no_model and (self.model or self.base_url):
            raise OptionError("--no-model together with a model", hint="leave out one of them")
        if self.no_model or not self.is_named:
            return None
        for option, value in (("--temperature", self.temperature), ("--model-timeout", self.model_timeout)):
            if not math.isfinite(value):
                raise OptionError(f"{option} {value}: not a number", hint="leave it out for the usual one")
        from kgsparql.models.language_model import open_model

        return open_model(
            self.model, base_url=self.base_url, mode="write" if self.fresh else "use", timeout_s=self.model_timeout,
            temperature=self.temperature, reply_tokens=self.reply_tokens, seed=seed,
            recording=None if snapshot is None else snapshot.recording,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What one question may cost."""

    max_queries: Annotated[
        int | None,
        _limit_option("--max-queries", min=0, help="SPARQL queries of the method; several graphs count as one."),
    ] = 500
    max_seconds: Annotated[float | None, _limit_option("--max-seconds", min=0, help="Seconds per question.")] = 120
    max_calls: Annotated[int | None, _limit_option("--max-calls", min=0, help="Model calls per question.")] = None
    max_tokens: Annotated[int | None, _limit_option("--max-tokens", min=0, help="Tokens per question.")] = None
    max_cost: Annotated[float | None, _limit_option("--max-cost", min=0, help="Cost per question.")] = None
    prices: Annotated[
        str | None, _limit_option("--prices", metavar="IN,OUT", help="Of a million tokens, prompts and replies.")
    ] = None

    def budget(self) -> Budget:
        """Return the budget of one question."""
        from kgsparql.budget import Budget

        return Budget(
            max_queries=self.max_queries, max_seconds=self.max_seconds, max_calls=self.max_calls,
            max_tokens=self.max_tokens, max_cost=self.max_cost, prices=prices_of(self.prices),
        )  # fmt: skip


def prices_of(text: str | None) -> Prices | None:
    """Read prices from ``0.15,0.60``: of a million tokens of prompts, and of replies."""
    if text is None:
        return None
    from kgsparql.budget import Prices

    try:
        prices = [float(part) for part in text.split(",")]
    except ValueError:
        prices = []
    if len(prices) != 2 or not all(0 <= one < math.inf for one in prices):
        hint = "two numbers from 0 on, for example --prices 0.15,0.60"
        raise OptionError(f"--prices {printable(text, 40)}", hint=hint)
    return Prices(*prices)


def options_of(option: list[str] | None) -> dict[str, str]:
    """Read names and values of options from texts such as ``name=value``."""
    options = {}
    for text in option or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"-O {printable(text, 60)}", hint="write -O name=value")
        options[name.replace("-", "_")] = value
    return options


def method_with(path: Path | None, name: str | None, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the options of one method, from a preset if one is named."""
    if path is None:
        return name or "auto", dict(options)
    from kgsparql.retrievers._loading import Preset

    preset = Preset.load(path)
    if name is not None and name != preset.method:
        raise contradiction(path, preset, name)
    return preset.method, {**preset.options, **options}


def contradiction(path: Path | None, preset: Preset, names: str | None) -> OptionError:
    """Make the error for a preset of another method than those that are named."""
    about = f"-r {printable(names or '', 60)}: the preset {path} is of {preset.method}"
    return OptionError(about, hint="leave out one of the two")


@dataclass(frozen=True, kw_only=True)
class SnapshotOptions:
    """Where to record the replies of endpoints and models, or which to replay."""

    record: Annotated[
        Path | None,
        _snapshot_option("--record", metavar="DIR", help="Keep whatever endpoints and models reply, for --replay."),
    ] = None
    replay: Annotated[
        Path | None,
        _snapshot_option("--replay", metavar="DIR", help="Ask nobody: the replies are those that were recorded."),
    ] = None

    @contextmanager
    def opened(self, say: Callable[[str], None], command: str, **asked: Any) -> Iterator[Snapshot | None]:
        """Open the snapshot while the ``with`` block runs; ``None`` if neither option is given."""
        if self.record is not None and self.replay is not None:
            raise OptionError("--record together with --replay", hint="leave out one of them")
        directory = self.record or self.replay
        if directory is None:
            yield None
            return
        from kgsparql.graphs.snapshots import Snapshot

        values = {name: without_secrets(value) for name, value in asked.items()}
        about = {"command": command, "asked": values, "typed": typed_again()}
        with Snapshot(directory, "write" if self.record else "only", about=about, note=say) as snapshot:
            yield snapshot


@contextmanager
def logged(path: Path | None, question: str) -> Iterator[Callable[[Answer], Answer]]:
    """Make a function that logs an answer and gives it back; an error of ours that leaves the block is logged too."""

    def add(answer: Answer) -> Answer:
        if path is not None:
            from kgsparql.answering.answer_json import answer_to_json

            _add_to_log(path, answer_to_json(answer))
        return answer

    try:
        yield add
    except KgsparqlError as error:
        if path is not None and not isinstance(error, CancelledError):
            from kgsparql.answering.answer_json import unanswered_json

            _add_to_log(path, unanswered_json(question, error))
        raise


def _add_to_log(path: Path, answer: Mapping[str, Any]) -> None:
    from kgsparql.storage.question_log import QuestionLog

    try:
        with QuestionLog(path) as log:
            log.add(answer)
    except KgsparqlError as error:  # the answer is there, and may have been paid for
        say(f"not logged: {printable(error.message, 400)} ({printable(error.hint, 200)})")
