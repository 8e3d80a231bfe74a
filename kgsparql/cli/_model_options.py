"""The options with which the commands name a language model, and limit what a question may cost."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable
from kgsparql.redaction import KEY_VARIABLE

if TYPE_CHECKING:
    from kgsparql.budget import Budget, Prices
    from kgsparql.graphs.snapshots import Snapshot
    from kgsparql.models.language_model import LanguageModel


_model_option = partial(typer.Option, rich_help_panel="Language model")
_limit_option = partial(typer.Option, rich_help_panel="Limits")

HOW_TO_ADD = (
    f"no language model: candidates are ranked. Add one with -m MODEL and {KEY_VARIABLE}, or with --base-url URL of an "
    "OpenAI-compatible server; --no-model hides this"
)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The language model; each field is an option of the command line."""

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
        """The model; ``None`` if none is named, or none is wanted."""
        if self.no_model and (self.model or self.base_url):
            raise OptionError("--no-model together with a model", hint="leave out one of them")
        if self.no_model or not self.is_named:
            return None
        for option, value in (("--temperature", self.temperature), ("--model-timeout", self.model_timeout)):
            if not math.isfinite(value):
                raise OptionError(f"{option} {value}: not a number", hint="leave it out for the usual one")
        from kgsparql.models.open_model import open_model

        return open_model(
            self.model, base_url=self.base_url, mode="write" if self.fresh else "use", timeout_s=self.model_timeout,
            temperature=self.temperature, reply_tokens=self.reply_tokens, seed=seed,
            recording=None if snapshot is None else snapshot.recording,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What one question may cost; each field is an option of the command line."""

    max_queries: Annotated[
        int | None,
        _limit_option(
            "--max-queries", min=0, help="SPARQL queries of the method per question; several graphs count as one."
        ),
    ] = 500
    max_seconds: Annotated[float | None, _limit_option("--max-seconds", min=0, help="Seconds per question.")] = 120
    max_calls: Annotated[int | None, _limit_option("--max-calls", min=0, help="Model calls per question.")] = None
    max_tokens: Annotated[int | None, _limit_option("--max-tokens", min=0, help="Tokens per question.")] = None
    max_cost: Annotated[float | None, _limit_option("--max-cost", min=0, help="Cost per question.")] = None
    prices: Annotated[
        str | None, _limit_option("--prices", metavar="IN,OUT", help="Of a million tokens, prompts and replies.")
    ] = None

    def budget(self) -> Budget:
        """The budget of one question."""
        from kgsparql.budget import Budget

        return Budget(
            max_queries=self.max_queries, max_seconds=self.max_seconds, max_calls=self.max_calls,
            max_tokens=self.max_tokens, max_cost=self.max_cost, prices=prices_of(self.prices),
        )  # fmt: skip


def prices_of(text: str | None) -> Prices | None:
    """Prices from ``0.15,0.60``: of a million tokens of prompts, and of replies."""
    if text is None:
        return None
    from kgsparql.budget import Prices

    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError as error:
        raise OptionError(
            f"--prices {printable(text, 40)}", hint="two numbers, for example --prices 0.15,0.60"
        ) from error
    if not (0 <= prompt < float("inf") and 0 <= completion < float("inf")):
        raise OptionError(f"--prices {printable(text, 40)}", hint="prices are numbers from 0 on")
    return Prices(prompt, completion)
