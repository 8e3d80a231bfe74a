"""Options that several commands have, in groups: dataclasses whose fields are options of the command line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kgsparql.cli import _common as c
from kgsparql.cli._settings import settings
from kgsparql.dataclasses import asdict, dataclass, fields, frozen
from kgsparql.errors import KEY_VARIABLE, CancelledError, InputError, KgsparqlError, OptionError
from kgsparql.rdf.terms import Json, printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.budget import Budget
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.models.language_model import LanguageModel

_model_option = partial(c.option, rich_help_panel="Language model")
_limit_option = partial(c.option, rich_help_panel="Limits")
_reading_option = partial(c.option, rich_help_panel="Reading the graph")


def _graphs_named(kg: list[str] | None) -> list[str] | None:
    """Refuse what is no graph, such as an option behind ``-k $U`` with ``U`` unset, before what follows is read."""
    for name in kg or ():
        if not name or (len(name) > 1 and name.startswith("-") and not Path(name).exists()):
            told = f"-k {name}: that is an option, not a graph" if name else "-k is empty"
            raise InputError(told, hint="is a variable unset? name a file, a directory or a store")
    return kg


KgOption = Annotated[
    list[str] | None,
    c.option(
        "-k --kg SOURCE",
        "RDF file, directory of RDF files, store, SPARQL endpoint (URL, or a name such as wikidata or dbpedia), "
        "or - for stdin; repeat for several files, which are one graph. Default: KGSPARQL_KG, one source per line.",
        callback=_graphs_named,
    ),
]
MethodOption = Annotated[list[str] | None, c.option("-O --option NAME=VALUE", "An option of the method; repeatable.")]
LogOption = Annotated[
    Path | None,
    c.option(
        "--log FILE",
        "Add questions and answers to this file, as JSON Lines. Default: KGSPARQL_LOG, else no log.",
        envvar="KGSPARQL_LOG",
    ),
]
HostOption = Annotated[str, c.option("--host ADDRESS", "Another address; needs KGSPARQL_TOKEN, or makes a token.")]

HOW_TO_ADD = (
    f"no language model: candidates are ranked. Add one with -m MODEL and {KEY_VARIABLE}, or with --base-url URL of an "
    "OpenAI-compatible server"
)


@dataclass(frozen=True)
class FileOptions:
    """How files are read."""

    input_format: Annotated[
        str | None, _reading_option("--input-format EXT", "Format of RDF from stdin: ttl, nt, nq, trig, rdf, jsonld.")
    ] = None
    base: Annotated[str | None, _reading_option("--base IRI", "Base for relative IRIs in the files.")] = None
    skip_bad: Annotated[
        bool, _reading_option("--skip-bad", "Go on after a statement that is not valid RDF; they are counted.")
    ] = False

    @property
    def reading(self) -> Json:
        """The options of :class:`kgsparql.graphs.files.ReadOptions`."""
        return {"format": self.input_format, "base": self.base, "skip_bad": self.skip_bad}


@dataclass(frozen=True)
class GraphOptions(FileOptions):
    """The graph that the user names."""

    kg: KgOption = None
    no_cache: Annotated[
        bool, _reading_option("--no-cache", "Keep neither big files nor replies of endpoints on disk.")
    ] = False
    index: Annotated[
        str | None,
        _reading_option(
            "--index DIR",
            "The directory where label indexes are. Default: KGSPARQL_INDEX, else the cache directory.",
            envvar="KGSPARQL_INDEX",
        ),
    ] = None
    endpoint_timeout: Annotated[
        float | None,
        _reading_option(
            "--endpoint-timeout SECONDS",
            "What one query to an endpoint may take.",
            show_default="30, or what is known of the endpoint",
            min=0.1,
        ),
    ] = None
    quiet: c.QuietOption = False
    debug: c.DebugOption = False

    @property
    def sources(self) -> list[str]:
        """The sources that ``-k`` names, else those of ``KGSPARQL_KG``, one a line, else those of the settings."""
        named = settings().sources(self.kg)
        if not named:
            raise InputError("no graph was given", hint="name one with -k data.ttl, or set KGSPARQL_KG")
        return named

    @property
    def reading(self) -> Json:
        """The options of :func:`kgsparql.graphs.open_graph`."""
        return {**super().reading, "cache": not self.no_cache}

    def say(self, message: str) -> None:
        """Write a line to stderr, unless ``-q`` is set."""
        c.say(message, quiet=self.quiet)

    @contextmanager
    def opened(self, *, lang: str = "en", embedder: str = "auto", fresh: bool = False) -> Iterator[KnowledgeBase]:
        """Open the knowledge base, with progress and notes on stderr while the ``with`` block runs."""
        from kgsparql.knowledge_base import open as open_knowledge

        languages = c.languages(lang)
        with c.Progress(quiet=self.quiet) as shown:
            yield open_knowledge(
                *self.sources, languages=languages, embedder=embedder, progress=shown, note=self.say,
                fresh=fresh, index=self.index, endpoint_timeout_s=self.endpoint_timeout, **self.reading,
            )  # fmt: skip


@frozen
class ModelOptions:
    """The language model."""

    model: Annotated[str | None, _model_option("-m --model NAME", "The language model. Default: KGSPARQL_MODEL.")] = (
        None
    )
    base_url: Annotated[
        str | None, _model_option("--base-url URL", "OpenAI-compatible server. Default: OPENAI_BASE_URL.")
    ] = None
    no_model: Annotated[bool, _model_option("--no-model", "Use no language model.")] = False
    reply_tokens: Annotated[int, _model_option("--reply-tokens", "The longest reply, reasoning included.", min=16)] = (
        4096
    )
    model_timeout: Annotated[
        float,
        _model_option("--model-timeout SECONDS", "What one call may take; then the answer without it holds.", min=0.1),
    ] = 60.0
    require_model: Annotated[
        bool, _model_option("--require-model", "A model that fails is an error, not an answer without it.")
    ] = False
    trial: Annotated[
        bool | None,
        _model_option(
            "--trial/--no-trial",
            "Try a model out that nobody knows, once, before it is trusted.",
            show_default="KGSPARQL_TRIAL, else on",
        ),
    ] = None
    fresh: Annotated[bool, _model_option("--fresh", "Ask models and endpoints again, whatever replies are kept.")] = (
        False
    )

    @property
    def is_named(self) -> bool:
        """Whether the user, or the environment, names a model or a server of models."""
        return any((self.model, self.base_url, *map(os.environ.get, ("KGSPARQL_MODEL", "OPENAI_BASE_URL"))))

    def opened(self) -> LanguageModel | None:
        """Open the model; ``None`` if none is named, or none is wanted."""
        if self.no_model and (self.model or self.base_url):
            raise OptionError("--no-model together with a model", hint="leave out one of them")
        if self.no_model or not self.is_named:
            if self.require_model:
                raise OptionError("--require-model without a model", hint="name one with -m MODEL")
            return None
        if not math.isfinite(self.model_timeout):
            raise OptionError(f"--model-timeout {self.model_timeout}: not a number", hint="leave it out: 60 s")
        from kgsparql.models.language_model import open_model

        return open_model(
            self.model, base_url=self.base_url, mode="write" if self.fresh else "use", timeout_s=self.model_timeout,
            reply_tokens=self.reply_tokens,
        )  # fmt: skip


@frozen
class LimitOptions:
    """What one question may cost."""

    max_queries: Annotated[int | None, _limit_option("--max-queries", "SPARQL queries of the method.", min=0)] = 500
    max_seconds: Annotated[float | None, _limit_option("--max-seconds", "Seconds per question.", min=0)] = 120
    max_calls: Annotated[int | None, _limit_option("--max-calls", "Model calls per question.", min=0)] = None
    max_tokens: Annotated[int | None, _limit_option("--max-tokens", "Tokens per question.", min=0)] = None

    def budget(self) -> Budget:
        """Return the budget of one question."""
        from kgsparql.budget import Budget

        return Budget(**asdict(self))


def options_of(option: list[str] | None) -> dict[str, str]:
    """Read names and values of options from texts such as ``name=value``."""
    options = {}
    for text in option or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"-O {printable(text, 60)}", hint="write -O name=value")
        options[name.replace("-", "_")] = value
    return options


@contextmanager
def opened_to_ask(
    graph: GraphOptions, model: ModelOptions, limits: LimitOptions, how: Any, *, is_one_method: bool = True, **more: Any
) -> Iterator[tuple[KnowledgeBase, AskOptions]]:
    """Open what is asked, and say how; a wrong name or option of the method is said before a graph is loaded.

    :param how: options of a command: those that are called as one of :class:`AskOptions` are that one.
    """
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.retrievers import load

    own = {one.name: getattr(how, one.name) for one in fields(AskOptions) if hasattr(how, one.name)}
    own |= {"retriever": "auto", "require_model": model.require_model, **more}
    if is_one_method:
        own |= {"retriever": how.retriever or "auto", "options": options_of(how.option)}
    if model.trial is not None:
        own["trial"] = model.trial
    budget = limits.budget()
    used = model.opened()
    load(own["retriever"], own.get("options"))
    opened = graph.opened(lang=how.lang, embedder=how.embedder, fresh=model.fresh)
    with used or nullcontext(), opened as knowledge:
        yield knowledge, AskOptions(budget=budget, model=used, **own)


def logged_answer(knowledge: KnowledgeBase, question: str, asking: AskOptions, path: Path | None) -> Answer:
    """Answer a question, and log the answer, or the error of ours that it ends with."""
    if path is None:
        return knowledge.answer(question, asking)
    from kgsparql.answering.answer_json import answer_to_json, unanswered_json

    try:
        answer = knowledge.answer(question, asking)
    except CancelledError:
        raise
    except KgsparqlError as error:
        _add_to_log(path, unanswered_json(question, error))
        raise
    _add_to_log(path, answer_to_json(answer))
    return answer


def _add_to_log(path: Path, answer: Mapping[str, Any]) -> None:
    from kgsparql.storage.question_log import log_question

    why = log_question(path, answer)
    c.say(f"not logged: {printable(why, 600)}" if why else "")
