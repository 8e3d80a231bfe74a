"""``kgsparql ask``: a question, or questions from stdin."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._logging import LogOption, logged
from kgsparql.cli._method_options import MethodOption, PresetOption, method_with, options_of
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.cli._no_question import no_question
from kgsparql.cli._snapshot_options import SnapshotOptions
from kgsparql.cli._stderr import steps
from kgsparql.errors import BudgetExceededError, InputError, NotFoundError, ReplayMissError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.budget import Budget
    from kgsparql.knowledge_base import KnowledgeBase
    from kgsparql.models.language_model import LanguageModel


_EXIT = {"answered": 0, "partial": BudgetExceededError.exit_code, "not_in_graph": 3, "no_entity": 3}


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """How a question is answered, and how the answer is shown; each field is an option of the command line."""

    entity: Annotated[
        list[str] | None,
        typer.Option(
            "-e", "--entity", metavar="IRI", help="An entity of the question, instead of linking; repeatable."
        ),
    ] = None
    retriever: Annotated[
        str | None,
        typer.Option(
            "-r",
            "--retriever",
            metavar="NAME",
            help="The method.",
            show_default="query_plan for what must be computed, else path_ranking; or that of --preset",
        ),
    ] = None
    preset: PresetOption = None
    option: MethodOption = None
    allow_model_knowledge: Annotated[
        bool,
        typer.Option("--allow-model-knowledge", help="Where the graph has no answer, show the model's own, labelled."),
    ] = False
    complete: c.CompleteOption = True
    qualifiers: Annotated[
        bool, typer.Option("--qualifiers", help="Walk the statements of Wikidata too: since when, with whom.")
    ] = False
    augment: Annotated[
        bool,
        typer.Option("--augment", help="Have the model reword the question for the search: a call more. Experimental."),
    ] = False
    rerank: Annotated[
        int | None,
        typer.Option(
            "--rerank", metavar="N", help="Choose the N best pieces of all the evidence: a call more. Experimental."
        ),
    ] = None
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            metavar="SPEC",
            envvar="KGSPARQL_EMBEDDER",
            show_envvar=False,
            help="auto, none, a model's name or path, or an OpenAI-compatible URL#model. Else KGSPARQL_EMBEDDER.",
        ),
    ] = "auto"
    form: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            autocompletion=lambda: list(c.ANSWER_FORMATS),
            help=f"Output: {', '.join(c.ANSWER_FORMATS)}.",
        ),
    ] = None
    output: c.OutputOption = None
    direction: c.DirectionOption = "both"
    lang: c.LangOption = "en"
    seed: Annotated[int, typer.Option("--seed", help="For methods that draw samples.")] = 0
    fail_if_unanswered: Annotated[
        bool, typer.Option("--fail-if-unanswered", help="Of many questions: exit status 3 if one is not answered.")
    ] = False
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="At a terminal: say which is meant of things of one name.")
    ] = False
    log: LogOption = None
    reproducible: c.ReproducibleOption = False
    verbose: c.VerboseOption = 0

    def checked_format(self, question: str, sources: Sequence[str]) -> str:
        """The format of the output; a question that cannot be one, or not with these sources, is refused."""
        from kgsparql.answering.question import checked_question

        form = self.form or c.guessed_format(self.output)
        if self.interactive:
            from kgsparql.cli._which_meant import check_terminal

            check_terminal(question)
        if question != "-":
            form = c.chosen_format(form, None, c.ANSWER_FORMATS)
            checked_question(question)
            return form
        if "-" in sources:
            raise InputError("questions and graph cannot both come from stdin", hint="put the graph in a file")
        if form == "svg":
            raise InputError("an SVG is one picture: of one question", hint="ask one, or use -f dot or -f mermaid")
        return c.chosen_format("jsonl" if form in {None, "json"} else form, None, c.ANSWER_FORMATS)

    def asking(
        self, method: str, options: Mapping[str, Any], budget: Budget, model: LanguageModel | None, *, quiet: bool
    ) -> AskOptions:
        """How a question is asked with these options; ``quiet`` shows no steps."""
        from kgsparql.answering.ask_options import AskOptions

        return AskOptions(
            retriever=method, options=options, direction=c.checked_direction(self.direction), seed=self.seed,
            budget=budget, model=model, emit=steps(0 if quiet else self.verbose),
            allow_model_knowledge=self.allow_model_knowledge, complete=self.complete,
            qualifiers=self.qualifiers, augment=self.augment, rerank=self.rerank,
        )  # fmt: skip

    def with_meanings(self, asking: AskOptions, question: str, knowledge: KnowledgeBase) -> AskOptions:
        """How the question is asked, about what a person at the terminal says is meant, if that is to be asked."""
        if not self.interactive or self.entity:
            return asking
        from kgsparql.cli._which_meant import meant_entities

        return asking.about(meant_entities(question, knowledge, asking))

    def rendered(
        self, answer: Answer, form: str, knowledge: KnowledgeBase, *, names_graphs: bool, verbose: int = 0
    ) -> str:
        """The answer as text in this format."""
        from kgsparql.rendering import render

        at = "" if self.reproducible or form != "trig" else _time_of(answer, knowledge)
        if self.reproducible:
            differing = dict.fromkeys(("seconds", "cached_calls", "paid_cost", "prepared"))
            answer = replace(answer, usage={**answer.usage, **differing})
        return render(answer, form, verbose=verbose, told_graphs=names_graphs, at=at)


@c.command
def ask(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    snapshots: SnapshotOptions,
    *,
    question: Annotated[
        str | None,
        typer.Argument(help='The question in quotes; - reads one per line from stdin, or {"id": …, "question": …}.'),
    ] = None,
    how: AnswerOptions,
) -> None:
    """Answer a question from the graph, with the triples and queries every answer rests on.

    Exit status: 0 answered, 2 wrong use, 3 nothing found, or not what was asked, 4 bad data, 5 unreachable, 6 a limit
    reached, 130 stopped.
    """
    from kgsparql.retrievers import load

    if question is None:
        raise no_question(graph, lang=how.lang)
    named = graph.sources
    form = how.checked_format(question, named)
    method, options = method_with(how.preset, how.retriever, options_of(how.option))
    languages = c.languages(how.lang)
    with snapshots.opened(
        graph.say, "ask", question=question, kg=named, retriever=method, options=options, embedder=how.embedder,
        entities=how.entity or [], model=model.model,
    ) as snapshot:  # fmt: skip
        opened_model = model.opened(seed=how.seed, snapshot=snapshot)
        asking = how.asking(method, options, limits.budget(), opened_model, quiet=graph.quiet)
        load(asking.retriever, asking.options)  # a wrong name or option is said before a graph is loaded
        opened = graph.opened(languages=languages, embedder=how.embedder, snapshot=snapshot, fresh=model.fresh)
        with asking.model or nullcontext(), opened as knowledge:
            rendered = partial(how.rendered, form=form, knowledge=knowledge, names_graphs=len(named) > 1)
            asking = asking.about(knowledge.resolve(name) for name in how.entity or ())
            without = HOW_TO_ADD if asking.model is None and not model.no_model else ""
            if question == "-":
                graph.say(without)
                _answer_lines(knowledge, asking, how, form, rendered, debug=graph.debug)
                return
            with logged(how.log, question) as log:
                answer = log(knowledge.answer(question, how.with_meanings(asking, question, knowledge)))
            result = rendered(answer, verbose=how.verbose)
    graph.say(without)
    c.write(result, how.output)
    if form in {"plain", "csv", "tsv"}:
        from kgsparql.rendering.rows import cut_lines

        unsaid = answer.text.splitlines()[:1] if answer.gaps else []
        graph.say("\n".join(printable(line, 600) for line in [*unsaid, *cut_lines(answer)]))
    if answer.error is not None:
        c.show_error(answer.error)
    if _exit_code(answer):
        raise typer.Exit(_exit_code(answer))


def _time_of(answer: Answer, knowledge: KnowledgeBase) -> str:
    """When an answer was given; in a replay, when it was recorded, empty if that was not noted."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        return str(knowledge.measured({"answered": answer.question}, {"at": now})["at"])
    except ReplayMissError:
        return ""


def _answer_lines(
    knowledge: KnowledgeBase, asking: AskOptions, how: AnswerOptions, form: str, rendered: Callable[[Answer], str],
    *, debug: bool,
) -> None:  # fmt: skip
    from kgsparql.cli._batch import Batch, BatchOutput, asked_lines

    def answered(question: str) -> Answer:
        with logged(how.log, question) as log:
            return log(knowledge.answer(question, asking))

    batch = Batch(answered, _exit_code, BatchOutput(form, rendered), debug=debug)
    c.write_lines(batch.results(asked_lines(sys.stdin.buffer)), how.output)
    if batch.is_empty:
        raise NotFoundError(
            "no question came from stdin", hint="one a line: kgsparql ask - -k data.ttl < questions.txt"
        )
    if code := batch.exit_code(all_answered=how.fail_if_unanswered):
        raise typer.Exit(code)


def _exit_code(answer: Answer) -> int:
    if answer.error is not None:
        return answer.error.exit_code
    return _EXIT["not_in_graph"] if answer.gaps else _EXIT[answer.status]
