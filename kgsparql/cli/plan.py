"""``kgsparql plan``: the plans that a question may ask for, or a query plan that is kept in a file, computed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.errors import InputError, NotFoundError
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import Term, printable
from kgsparql.resources import option_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgsparql.plans.running import Computed
    from kgsparql.retrievers._planned_question import PlannedQuestion

_SHOWN = 5
"""Plans of a question that are shown."""
_NOTHING_CHOSEN = 3
"""Exit status where no plan answers a question without a doubt, as of ``ask``."""


@c.command
def plan(
    graph: GraphOptions,
    question: Annotated[str | None, typer.Argument(help="A question that asks for something to be computed.")] = None,
    file: Annotated[
        Path | None, typer.Option("--plan", help="Run the plan in a JSON file, such as -f json writes for a question.")
    ] = None,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    lang: c.LangOption = "en",
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Show the query, too.")] = 0,
) -> None:
    """Show the plans that a question may ask for, and compute the likeliest, or compute a plan that is kept in a file.

    A plan says what is to be computed: a count, a sum, yes or no, the largest, a table. It is one query; the value is
    computed a second time, from the facts it rests on alone, wherever these are all there. No model is asked.
    """
    if (question is None) == (file is None):
        raise InputError("a question, or --plan FILE", hint='kgsparql plan "How many … are there?" -k GRAPH')
    if question is not None and question.endswith(".json") and " " not in question:
        raise InputError(f"{printable(question, 80)}: no question", hint=f"--plan {shlex.quote(question)} runs a file")
    form = c.chosen_format(form, output)
    languages = c.languages(lang)
    if file is not None:
        _run_file(file, graph, languages, form=form, output=output, verbose=bool(verbose))
    elif not _plan_question(question or "", graph, languages, form=form, output=output, verbose=bool(verbose)):
        raise typer.Exit(_NOTHING_CHOSEN)


def _run_file(
    file: Path, graph: GraphOptions, languages: tuple[str, ...], *, form: str, output: Path | None, verbose: bool
) -> None:
    """Compute the plan in a file."""
    from kgsparql.plans.reading import read_plan_file
    from kgsparql.plans.type_check import terms_in
    from kgsparql.plans.wording import in_words
    from kgsparql.plans.writing import written_plan

    asked = read_plan_file(_content(file))
    with graph.opened(languages=languages, embedder="none") as knowledge:
        found = knowledge.run(asked)
        labels = knowledge.labels([*found.terms, *(one for triple in found.facts for one in triple), *terms_in(asked)])
    words = in_words(asked, lambda term: labels[term])
    if form == "json":
        c.write_json({**written_plan(asked), **_json_of(found, words, labels)}, output)
        return
    shown = ["", found.query.shown] if verbose else []
    c.write("\n".join([*_lines(found, words, labels), *shown]), output)


def _plan_question(
    question: str, graph: GraphOptions, languages: tuple[str, ...], *, form: str, output: Path | None, verbose: bool
) -> bool:
    """Show the plans of a question, and what the likeliest comes to; whether that is its answer without a doubt."""
    from kgsparql.plans.writing import written_plan

    with graph.opened(languages=languages) as knowledge:
        planned = knowledge.plan(question)
    chosen, found = planned.chosen, planned.computed
    is_sure = found is not None and not (planned.doubts or found.left_out or found.is_confirmed is False)
    if form == "json":
        run = {} if chosen is None or found is None else _json_of(found, chosen.words, planned.labels)
        own = {} if chosen is None else written_plan(chosen.plan)
        c.write_json({**_question_json(planned), **own, **run}, output)
        return is_sure
    if not (planned.named or planned.candidates):
        message = f"nothing in {printable(question, 80)!r} is called so in this graph, so there is no plan"
        raise NotFoundError(message, hint="search its names: kgsparql find TEXT -k GRAPH")
    lines = [*_named_lines(planned), "", *_candidate_lines(planned)]
    if chosen is not None and found is not None:
        lines += [
            "",
            *_lines(found, chosen.words, planned.labels),
            *(f"no sure answer: {own}" for own in planned.doubts),
        ]
        lines += ["", found.query.shown] if verbose else []
    c.write("\n".join([*lines, *planned.notes]), output)
    return is_sure


def _named_lines(planned: PlannedQuestion) -> list[str]:
    return [
        f"{one.kind:8}{printable(one.words, 60) or '–'} → {printable(one.label, 80)} {one.term}"
        for one in planned.named
    ]


def _candidate_lines(planned: PlannedQuestion) -> list[str]:
    lines = []
    for one in planned.candidates[:_SHOWN]:
        left = f"; leaves out {', '.join(one.left_out)}" if one.left_out else ""
        lines.append(f"{'*' if one is planned.chosen else ' '} {one.score:.2f}  {printable(one.words, 300)}{left}")
    more = len(planned.candidates) - _SHOWN
    lines += [f"  +{more} more: -f json"] if more > 0 else []
    return lines or ["no plan: the question asks for nothing that is computed, or not about what it names"]


def _question_json(planned: PlannedQuestion) -> dict[str, Any]:
    from kgsparql.plans.writing import written_plan
    from kgsparql.rendering.answer_json import term_json

    return {
        "question": planned.question,
        "named": [
            {"words": one.words, "kind": one.kind, "term": term_json(one.term, one.label)} for one in planned.named
        ],
        "candidates": [
            {"score": one.score, "words": one.words, "left_out": list(one.left_out), **written_plan(one.plan)}
            for one in planned.candidates
        ],
        "doubts": list(planned.doubts),
        "notes": list(planned.notes),
    }


def _content(file: Path) -> Any:
    try:
        data = option_file(file)
    except OSError as error:
        hint = f'kgsparql plan "How many …?" -k GRAPH -f json -o {shlex.quote(str(file))} writes one'
        raise InputError(f"{file}: {error.strerror}", hint=hint) from error
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON: {error}", hint='an object with "names" and "plan" is expected') from error


def _lines(found: Computed, words: str, labels: Mapping[Term, str]) -> list[str]:
    from kgsparql.plans.wording import none_in_words

    empty = "" if found.empty_part is None else none_in_words(found.empty_part, labels.__getitem__)
    lines = [" | ".join(found.columns)] if len(found.columns) > 1 else []
    rows = () if found.has_failed else found.rows
    lines += [" | ".join("–" if term is None else printable(labels[term], 200) for term in row) for row in rows]
    lines += (
        ["no value: the engine gives none, it may be too large"]
        if found.has_failed
        else []
        if found.rows
        else ["nothing"]
    )
    lines += ["", f"computed: {printable(words, 600)}"]
    if empty:
        lines.append(f"in this graph {printable(empty, 300)}")
    lines += [own.in_words(labels.__getitem__) for own in found.left_out]
    if found.is_cut:
        lines.append(f"only the first {len(found.rows):,} are shown")
    return [*lines, _confirmation(found)]


def _confirmation(found: Computed) -> str:
    facts = counted(len(found.facts), "fact")
    if found.is_confirmed is None:
        why = "there is an absence among its reasons" if found.all_facts else "there are more"
        return f"rests on {facts}; not computed again from these: {why}"
    return f"computed again from {facts}: {'the same' if found.is_confirmed else 'NOT THE SAME'}"


def _json_of(found: Computed, words: str, labels: Mapping[Term, str]) -> dict[str, Any]:
    from kgsparql.plans.wording import in_words
    from kgsparql.rendering.answer_json import term_json

    def shown(term: Term | None) -> Any:
        return None if term is None else term_json(term, labels[term])

    return {
        "words": words,
        "columns": list(found.columns),
        "rows": [[shown(term) for term in row] for row in found.rows],
        "is_cut": found.is_cut,
        "empty_part": "" if found.empty_part is None else in_words(found.empty_part, labels.__getitem__),
        "query": found.query.shown,
        "facts": [[str(term) for term in triple] for triple in found.facts],
        "all_facts": found.all_facts,
        "is_confirmed": found.is_confirmed,
        "left_out": [own.in_words(labels.__getitem__) for own in found.left_out],
    }
