"""``kgsparql ask``: a question, or questions from stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _ask_options as o
from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.cli._model_options import HOW_TO_ADD, LimitOptions, ModelOptions
from kgsparql.cli._option_groups import with_groups
from kgsparql.cli._preset_option import PresetOption, method_with
from kgsparql.cli._snapshot_options import SnapshotOptions
from kgsparql.cli._steps import steps
from kgsparql.errors import BudgetExceededError, InputError, KgsparqlError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.answering.ask_options import AskOptions
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
    question: o.QuestionArgument,
    entity: o.EntityOption = None,
    retriever: o.RetrieverOption = None,
    preset: PresetOption = None,
    option: o.OptionOption = None,
    allow_model_knowledge: o.ModelKnowledgeOption = False,
    complete: o.CompleteOption = True,
    qualifiers: o.QualifiersOption = False,
    augment: o.AugmentOption = False,
    rerank: o.RerankOption = None,
    embedder: o.EmbedderOption = "auto",
    form: Annotated[
        str | None, typer.Option("-f", "--format", metavar="FORMAT", help=f"Output: {', '.join(o.FORMATS)}.")
    ] = None,
    output: c.OutputOption = None,
    direction: c.DirectionOption = "both",
    lang: c.LangOption = "en",
    seed: o.SeedOption = 0,
    reproducible: c.ReproducibleOption = False,
    verbose: c.VerboseOption = 0,
) -> None:
    """Answer a question from the graph, with the triples and queries every answer rests on.

    Exit status: 0 answered, 2 wrong use, 3 nothing found, 4 bad data, 5 unreachable, 6 a limit reached, 130 stopped.
    """
    from kgsparql.answering.ask_options import AskOptions
    from kgsparql.retrievers import load

    named = graph.sources
    shape = _checked_shape(question, named, form or c.guessed_format(output))
    method, options = method_with(preset, retriever, options_of(option))
    languages = c.languages(lang)
    shown = partial(_shown, shape=shape, reproducible=reproducible, told_graphs=len(named) > 1)
    with ExitStack() as stack:
        snapshot = stack.enter_context(
            snapshots.opened(
                graph.say, "ask", question=question, kg=named, retriever=method, options=options,
                embedder=embedder, entities=entity or [], model=model.model,
            )
        )  # fmt: skip
        asking = AskOptions(
            retriever=method, options=options, direction=c.checked_direction(direction), seed=seed,
            budget=limits.budget(), emit=steps(verbose), allow_model_knowledge=allow_model_knowledge,
            complete=complete, qualifiers=qualifiers, augment=augment, rerank=rerank,
            model=model.opened(seed=seed, snapshot=snapshot),
        )  # fmt: skip
        load(asking.retriever, asking.options)  # a wrong name or option is said before a graph is loaded
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


def _checked_shape(question: str, named: list[str], form: str | None) -> str:
    """The format of the output, where question and options go together.

    :raises InputError: if they do not, or for a question that is none.
    :raises OptionError: for a format that there is not.
    """
    from kgsparql.answering.question import checked_question

    if question == "-" and "-" in named:
        raise InputError("questions and graph cannot both come from stdin", hint="put the graph in a file")
    shape = form or ("jsonl" if question == "-" else "text")
    if question == "-" and shape == "json":
        shape = "jsonl"
    if shape not in o.FORMATS:
        raise OptionError(f"no output format {printable(shape, 40)!r}", hint=f"one of: {', '.join(o.FORMATS)}")
    if question != "-":
        checked_question(question)
    return shape


def _shown(answer: Answer, *, shape: str, reproducible: bool, told_graphs: bool, verbose: int = 0) -> str:
    if reproducible:
        differing = dict.fromkeys(("seconds", "cached_calls", "paid_cost", "prepared"))
        answer = replace(answer, usage={**answer.usage, **differing})
    from kgsparql.cli._rendering import render

    return render(answer, shape, verbose=verbose, told_graphs=told_graphs)


def _many(knowledge: KnowledgeBase, asking: AskOptions, shape: str, shown: Callable[[Answer], str]) -> Iterator[str]:
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
