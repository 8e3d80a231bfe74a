"""``kgsparql ask``: a question, or questions from stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.cli._option_groups import with_groups
from kgsparql.cli._preset_option import PresetOption, method_with
from kgsparql.cli._rendering import FORMATS, render
from kgsparql.cli._snapshot_options import SnapshotOptions
from kgsparql.errors import BudgetExceededError, InputError, KgsparqlError, OptionError
from kgsparql.terms import printable

if TYPE_CHECKING:
    from kgsparql.answer import Answer
    from kgsparql.asking import Asking
    from kgsparql.events import Event
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["ask", "options_of"]

_EXIT = {"answered": 0, "partial": BudgetExceededError.exit_code, "not_in_graph": 3, "no_entity": 3}


@c.reported
@with_groups
def ask(
    graph: GraphOptions,
    model: ModelOptions,
    limits: LimitOptions,
    snapshots: SnapshotOptions,
    question: Annotated[str, typer.Argument(help="The question in quotes; - reads one per line from stdin.")],
    entity: Annotated[
        list[str] | None,
        typer.Option(
            "-e", "--entity", metavar="IRI", help="An entity of the question, instead of linking; repeatable."
        ),
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            "-r", "--retriever", metavar="NAME", help="The method.", show_default="path_ranking, or that of --preset"
        ),
    ] = None,
    preset: PresetOption = None,
    option: Annotated[
        list[str] | None,
        typer.Option("-O", "--option", metavar="NAME=VALUE", help="An option of the method; repeatable."),
    ] = None,
    allow_model_knowledge: Annotated[
        bool,
        typer.Option("--allow-model-knowledge", help="Where the graph has no answer, show the model's own, labelled."),
    ] = False,
    complete: Annotated[
        bool,
        typer.Option("--complete/--no-complete", help="Follow a way that was chosen to every answer on it."),
    ] = True,
    qualifiers: Annotated[
        bool, typer.Option("--qualifiers", help="Walk the statements of Wikidata too: since when, with whom.")
    ] = False,
    augment: Annotated[
        bool,
        typer.Option("--augment", help="Have the model reword the question for the search: a call more. Experimental."),
    ] = False,
    rerank: Annotated[
        int | None,
        typer.Option(
            "--rerank", metavar="N", help="Choose the N best pieces of all the evidence: a call more. Experimental."
        ),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            metavar="SPEC",
            envvar="KGSPARQL_EMBEDDER",
            show_envvar=False,
            help="auto, none, a model's name or path, or an OpenAI-compatible URL#model. Else KGSPARQL_EMBEDDER.",
        ),
    ] = "auto",
    form: Annotated[
        str | None, typer.Option("-f", "--format", metavar="FORMAT", help=f"Output: {', '.join(FORMATS)}.")
    ] = None,
    output: c.OutputOption = None,
    direction: c.DirectionOption = "both",
    lang: c.LangOption = "en",
    seed: Annotated[int, typer.Option("--seed", help="For methods that draw samples.")] = 0,
    reproducible: Annotated[bool, typer.Option("--reproducible", help="Leave out what differs between runs.")] = False,
    verbose: c.VerboseOption = 0,
) -> None:
    """Answer a question from the graph, with the triples and queries every answer rests on.

    Exit status: 0 answered, 2 wrong use, 3 nothing found, 4 bad data, 5 unreachable, 6 a limit reached, 130 stopped.
    """
    from kgsparql.answering import checked_question
    from kgsparql.asking import Asking

    named = graph.sources
    if question == "-" and "-" in named:
        raise InputError("questions and graph cannot both come from stdin", hint="put the graph in a file")
    shape = form or c.guessed_format(output) or ("jsonl" if question == "-" else "text")
    if question == "-" and shape == "json":
        shape = "jsonl"
    if shape not in FORMATS:
        raise OptionError(f"no output format {printable(shape, 40)!r}", hint=f"one of: {', '.join(FORMATS)}")
    if question != "-":
        checked_question(question)
    method, options = method_with(preset, retriever, options_of(option))
    languages = c.languages(lang)

    def shown(answer: Answer, *, verbose: int = 0) -> str:
        made = _reproducible(answer) if reproducible else answer
        return render(made, shape, verbose=verbose, told_graphs=len(named) > 1)

    with ExitStack() as stack:
        snapshot = stack.enter_context(
            snapshots.opened(
                graph.say, "ask", question=question, kg=graph.sources, retriever=method, options=options,
                embedder=embedder, entities=entity or [], model=model.model,
            )
        )  # fmt: skip
        asking = Asking(
            retriever=method, options=options, direction=c.checked_direction(direction), seed=seed,
            budget=limits.budget(), emit=_steps(verbose), allow_model_knowledge=allow_model_knowledge,
            complete=complete, qualifiers=qualifiers, augment=augment, rerank=rerank,
            model=model.opened(seed=seed, snapshot=snapshot),
        )  # fmt: skip
        asking.method()  # a wrong name or option is said before a graph is loaded
        stack.enter_context(asking.model or nullcontext())
        opened = graph.opened(languages=languages, embedder=embedder, snapshot=snapshot, fresh=model.fresh)
        knowledge = stack.enter_context(opened)
        asking = asking.about(knowledge.resolve(name) for name in entity or ())
        without = HOW_TO_ADD if asking.model is None and not model.no_model else ""
        if question == "-":
            graph.say(without)
            c.write_lines(_many(knowledge, asking, shape, shown), output)
            return
        answer = knowledge.answer(question, asking)
    graph.say(without)
    c.write(shown(answer, verbose=verbose), output)
    if answer.error is not None:
        c.show_error(answer.error)
    if _exit_code(answer):
        raise typer.Exit(_exit_code(answer))


def _many(knowledge: KnowledgeBase, asking: Asking, shape: str, shown: Callable[[Answer], str]) -> Iterator[str]:
    """One result for each line of stdin, whatever happened to the others; the worst status is raised at the end."""
    statuses = set()
    for line in sys.stdin.buffer:
        text = line.decode("utf-8", "replace").strip()
        if not text:
            continue
        try:
            answer = knowledge.answer(text, asking)
            statuses.add(_exit_code(answer))
            yield shown(answer)
        except KgsparqlError as error:
            statuses.add(error.exit_code)
            if error.exit_code == 130:
                raise
            if shape == "jsonl":
                failed = {"question": printable(text), "status": "error", "error": error.to_json()}
                yield json.dumps(failed, ensure_ascii=False, default=str)
            else:
                c.show_error(error, about=text)
    worst = next((code for code in (1, 5, 6) if code in statuses), 0)
    if worst:
        raise typer.Exit(worst)


def _exit_code(answer: Answer) -> int:
    return _EXIT[answer.status] if answer.error is None else answer.error.exit_code


def options_of(option: list[str] | None) -> dict[str, str]:
    """Names and values from ``name=value``.

    :raises OptionError: for anything else.
    """
    options = {}
    for text in option or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"-O {printable(text, 60)}", hint="write -O name=value")
        options[name.replace("-", "_")] = value
    return options


def _reproducible(answer: Answer) -> Answer:
    from dataclasses import replace

    return replace(answer, usage={**answer.usage, "seconds": None, "cached_calls": None, "paid_cost": None})


def _steps(verbose: int) -> Any:
    """Who listens to the events: nobody, or the terminal."""

    def show(event: Event) -> None:
        from kgsparql import events as e

        match event:
            case e.QueryRun() if verbose >= 2:
                cut = "" if event.complete else ", cut by the endpoint"
                c.say(f"· {event.name}: {event.solutions:,} solutions{cut}, {event.seconds * 1000:.1f} ms")
                c.say("\n".join(f"    {line}" for line in printable_lines(event.text)))
            case e.ModelCalled():
                what = (
                    f"failed: {event.error}"
                    if event.error
                    else f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens"
                )
                kept = ", kept reply" if event.cached else f", {event.seconds:.2f} s"
                c.say(f"· {event.model} ({event.purpose}): {what}{kept}")
                if verbose >= 2:
                    for heading, text in (("prompt", event.prompt), ("reply", event.reply)):
                        c.say(f"  {heading}")
                        c.say("\n".join(f"    {line}" for line in printable_lines(text, 20_000)))
            case e.EntitiesLinked():
                found = "; ".join(f"{m!r} → {label}" for m, _, label, _, _ in event.entities) or "nothing"
                c.say(f"· linked: {printable(found, 400)}")
            case e.CandidatesChosen():
                c.say(
                    f"· {event.purpose}: kept {len(event.kept)} of {len(event.kept) + event.pruned} ({event.chosen_by})"
                )
            case e.LimitReached():
                c.say(f"· {printable(event.message, 300)}")
            case e.FallbackUsed():
                c.say(f"· {event.purpose}: {printable(event.reason, 300)}")
            case e.Verified():
                c.say(f"· verified: {event.found} found again, {event.removed} removed, {event.unknown} not checkable")

    return show if verbose else cast("Any", _nobody)


def _nobody(event: Event) -> None:
    """Nobody listens."""


def printable_lines(text: str, limit: int = 400) -> list[str]:
    """The lines of a query, a prompt or a reply, each safe on a terminal and of at most ``limit`` characters."""
    return [printable(line, limit) for line in text.splitlines() if not line.startswith("#+")]
