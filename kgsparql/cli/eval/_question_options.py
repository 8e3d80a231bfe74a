"""The options with which the commands of ``eval`` name the questions of a dataset, and how they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._model_options import LimitOptions, ModelOptions
from kgsparql.errors import OptionError

if TYPE_CHECKING:
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.evaluation.dataset import Dataset, Question
    from kgsparql.evaluation.runs.plan import Method, Plan
    from kgsparql.graphs.snapshots import Snapshot
    from kgsparql.knowledge_base import KnowledgeBase


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Which questions, and how they are asked; each field is an option of the command line."""

    oracle: Annotated[
        bool, typer.Option("--oracle", help="In place of a model, one that knows the gold path: how far a method gets.")
    ] = False
    gold_topics: Annotated[
        bool, typer.Option("--gold-topics", help="Give the entities of each question instead of linking them.")
    ] = False
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="So many questions, equally of each number of hops."),
    ] = None
    sample_seed: Annotated[int, typer.Option("--sample-seed", help="Which questions --limit draws.")] = 0
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, max=64, help="Questions at the same time; 4 with a model or endpoint, else 1."
        ),
    ] = None
    complete: Annotated[
        bool, typer.Option("--complete/--no-complete", help="Follow a way that was chosen to every answer on it.")
    ] = True
    qualifiers: Annotated[bool, typer.Option("--qualifiers", help="As for ask.")] = False
    augment: Annotated[bool, typer.Option("--augment", help="As for ask.")] = False
    rerank: Annotated[int | None, typer.Option("--rerank", metavar="N", help="As for ask.")] = None
    embedder: c.EmbedderOption = "auto"
    direction: c.DirectionOption = "both"
    lang: c.LangOption = "en"
    seed: Annotated[int, typer.Option("--seed", help="For methods, and for whatever else is drawn.")] = 0

    @property
    def more_calls(self) -> int:
        """Model calls for each question that the options around a method take."""
        return self.augment + (self.rerank is not None)

    def sample(self, dataset: Dataset) -> Dataset:
        """The dataset with the questions that ``--limit`` draws."""
        from kgsparql.evaluation.datasets import sample

        return replace(dataset, questions=sample(dataset.questions, self.limit, self.sample_seed))

    def configuration(self, dataset: Dataset, knowledge: KnowledgeBase, plan: Plan, **about: Any) -> dict[str, Any]:
        """The configuration of a run."""
        from kgsparql.evaluation.runs.configuration import configuration

        sampling = {"limit": self.limit, "sample_seed": self.sample_seed, **about}
        return configuration(dataset, knowledge, plan, sampling=sampling, embedder=self.embedder)

    def asking(self, model: ModelOptions, limits: LimitOptions, snapshot: Snapshot | None = None) -> AskOptions:
        """What is the same for all questions; the model, if there is one, is to be closed."""
        from kgsparql.answering.ask_options import AskOptions

        if self.oracle and model.is_named:
            raise OptionError("--oracle together with a model", hint="leave out one of them")
        return AskOptions(
            direction=c.checked_direction(self.direction), seed=self.seed, budget=limits.budget(),
            complete=self.complete, qualifiers=self.qualifiers, augment=self.augment, rerank=self.rerank,
            model=model.opened(seed=self.seed, snapshot=snapshot),
        )  # fmt: skip

    def plan(
        self, knowledge: KnowledgeBase, asking: AskOptions, questions: Sequence[Question], methods: Sequence[Method]
    ) -> Plan:
        """What is asked, and how."""
        from kgsparql.evaluation.oracle import oracle_for, predicates_by_name
        from kgsparql.evaluation.runs.plan import Plan

        predicates = predicates_by_name(knowledge.graph) if self.oracle else {}

        @cache  # every method asks for the same
        def oracle(question: Question) -> Any:
            return oracle_for(question, predicates, knowledge.graph)

        is_slow = asking.model is not None or knowledge.graph.is_remote
        return Plan(
            questions=questions, methods=methods, asking=asking, gold_topics=self.gold_topics,
            oracle=oracle if self.oracle else None,
            workers=self.workers or (4 if is_slow else 1),
        )  # fmt: skip
