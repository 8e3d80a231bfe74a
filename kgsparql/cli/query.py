"""``query`` and ``plan``: SPARQL of the user's own, and what a question computes by a query plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.errors import BudgetExceededError, InputError, NotFoundError
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import PrefixMap, Term, printable
from kgsparql.resources import option_file

if TYPE_CHECKING:
    from kgsparql.plans.running import Computed
    from kgsparql.retrievers._planned_question import PlannedQuestion


@c.command
def query(
    graph: GraphOptions,
    text: Annotated[str, typer.Argument(metavar="SPARQL", help="The query, a .rq file, or - for stdin.")],
    form: Annotated[
        str | None,
        c.format_option("table, json, csv, tsv, xml; ttl, trig, nt, jsonld or rdf for CONSTRUCT and DESCRIBE."),
    ] = None,
    output: c.OutputOption = None,
    timeout: Annotated[float, c.option("--max-seconds --timeout SECONDS", "Stop the query then.", min=0.1)] = 30.0,
    max_rows: Annotated[int, c.option("--max-rows", "Keep at most so many solutions.", min=1)] = 100_000,
    verbose: Annotated[int, c.option("-v --verbose", "Show the query as it is run.", count=True)] = 0,
) -> None:
    """Run a SELECT, ASK, CONSTRUCT or DESCRIBE over all triples of a graph; known prefixes need no declaration.

    Exit status: 0 all solutions, 2 wrong use or out of time, 4 bad data or SPARQL, 5 unreachable, 6 not all solutions.
    """
    from kgsparql.graphs import open_graph
    from kgsparql.graphs.user_query import FORMATS, GraphQueries, check, is_nothing, serialise, why_nothing

    text = _query_text(text, graph.sources)
    with ExitStack() as stack:
        shown = stack.enter_context(c.Progress(quiet=graph.quiet))
        opened = open_graph(
            graph.sources, progress=shown, notes=graph.say, endpoint_timeout_s=graph.endpoint_timeout, **graph.reading
        )
        prefixes = PrefixMap.default().merged(opened.prefixes)
        checked = check(text, prefixes=prefixes)
        form = c.chosen_format(form, output, FORMATS[checked.form])
        run = stack.enter_context(GraphQueries(opened, note=graph.say)).run_checked
        if verbose:
            c.say(f"· running\n{c.indented(checked.text)}")
        result = run(checked, timeout_s=timeout, max_rows=max_rows)
        why = why_nothing(checked, run, prefixes) if is_nothing(result) and not graph.quiet else ""
    what = "triples" if checked.form in {"CONSTRUCT", "DESCRIBE"} else "solutions"
    c.say(f"· {result.rows:,} {what}, {result.seconds:.3f} s" if verbose else "")
    c.say(f"nothing: {why}" if why else "")
    data = serialise(result, form, prefixes=prefixes)
    c.write_bytes(data if data.endswith(b"\n") or not data else data + b"\n", output)
    if result.cut is not None:
        c.say(f"cut: {result.cut} ({result.reason or '--max-rows keeps more'})")  # with -q, too: it is as an error
        raise typer.Exit(BudgetExceededError.exit_code)


def _query_text(text: str, sources: Sequence[str]) -> str:
    """Return the query itself, from a file or stdin where the argument names one."""
    from kgsparql.graphs.files import standard_input

    if text == "-" and "-" in sources:
        raise InputError("query and graph cannot both come from stdin", hint="put one of them in a file")
    is_named = text.endswith((".rq", ".sparql")) and "\n" not in text and "{" not in text
    if text != "-" and not is_named:
        return text
    try:
        return (option_file(text) if is_named else standard_input().read()).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"cannot read {text}: {why}", hint="name a file with a SPARQL query") from error


_MAX_PLANS = 5
_EXIT_NOTHING_CHOSEN = 3  # exit status where no plan answers a question without a doubt, as of ``ask``


@c.command
def plan(
    graph: GraphOptions,
    question: Annotated[str, typer.Argument(help="A question that asks for something to be computed.")],
    lang: c.LangOption = "en",
    verbose: Annotated[int, c.option("-v --verbose", "Show the query, too.", count=True)] = 0,
    *,
    to: c.ShownOptions,
) -> None:
    """Show the plans that a question may ask for, and compute the likeliest.

    A plan says what is to be computed: a count, a sum, yes or no, the largest, a table. It is one query, and
    comes with the facts that it rests on. No model is asked.
    """
    with graph.opened(languages=c.languages(lang)) as knowledge:
        planned = knowledge.plan(question)
    made, lines, is_sure = _shown_plans(planned, verbose=bool(verbose))
    if not (to.is_json or planned.named or planned.candidates):
        message = f"nothing in {printable(question, 80)!r} is called so in this graph, so there is no plan"
        raise NotFoundError(message, hint="search its names: kgsparql find TEXT -k GRAPH")
    to.write(made, lines)
    if not is_sure:
        raise typer.Exit(_EXIT_NOTHING_CHOSEN)


def _shown_plans(planned: PlannedQuestion, *, verbose: bool) -> tuple[dict[str, Any], list[str], bool]:
    """Show the plans of a question, and what the likeliest comes to: as JSON, as lines, and whether that is sure."""
    from kgsparql.plans.arrays import written_plan

    chosen, found, labels = planned.chosen, planned.computed, planned.labels
    made, lines = _question_json(planned), _question_lines(planned)
    if chosen is not None:
        made |= written_plan(chosen.plan)
    if chosen is None or found is None:
        return made, [*lines, *planned.notes], False
    made |= _computed_json(found, chosen.words, labels)
    doubts = [f"no sure answer: {own}" for own in planned.doubts]
    lines += ["", *_computed_lines(found, chosen.words, labels, doubts=doubts, verbose=verbose), *planned.notes]
    return made, lines, not (doubts or found.left_out or found.is_no_number)


def _question_lines(planned: PlannedQuestion) -> list[str]:
    named = [
        f"{one.kind:8}{printable(one.words, 60) or '–'} → {printable(one.label, 80)} {one.term}"
        for one in planned.named
    ]
    candidates = []
    for one in planned.candidates:
        left = f"; leaves out {', '.join(one.left_out)}" if one.left_out else ""
        mark = "*" if one is planned.chosen else " "
        candidates.append(f"{mark} {one.score:.2f}  {printable(one.words, 300)}{left}")
    none = ["no plan: the question asks for nothing that is computed, or not about what it names"]
    read = [f"read    {printable(line, 300)}" for line in planned.read]
    return [*read, *named, "", *(c.most_lines(candidates, _MAX_PLANS, "  +{}: -f json") or none)]


def _question_json(planned: PlannedQuestion) -> dict[str, Any]:
    from kgsparql.answering.answer_json import term_json
    from kgsparql.plans.arrays import written_plan

    return {
        "question": planned.question,
        "read": list(planned.read),
        "named": [
            {"words": one.words, "kind": one.kind, "term": term_json(one.term, one.label)} for one in planned.named
        ],
        "candidates": [
            {"score": one.score, "words": one.words, "left_out": list(one.left_out), **written_plan(one.plan)}
            for one in planned.candidates
        ],
        "doubts": list(planned.doubts),
        "confidence": planned.confidence,
        "notes": list(planned.notes),
    }


def _computed_lines(
    found: Computed, words: str, labels: Mapping[Term, str], *, doubts: Sequence[str] = (), verbose: bool
) -> list[str]:
    from kgsparql.plans.running import NO_NUMBER
    from kgsparql.plans.writing import none_in_words

    name = labels.__getitem__
    lines = [" | ".join(found.columns)] if len(found.columns) > 1 else []
    lines += [" | ".join("–" if term is None else printable(name(term), 200) for term in row) for row in found.rows]
    lines += [*([] if found.rows else ["nothing"]), "", f"computed: {printable(words, 600)}"]
    lines += [NO_NUMBER] if found.is_no_number else []
    if found.empty_part is not None:
        lines.append(f"in this graph {printable(none_in_words(found.empty_part, name), 300)}")
    lines += [own.in_words(name) for own in found.left_out]
    lines += [f"only the first {len(found.rows):,} are shown"] if found.is_cut else []
    lines.append(f"rests on {'' if found.all_facts else 'more than '}{counted(len(found.facts), 'fact')}")
    return [*lines, *doubts, *(["", found.query.shown] if verbose else [])]


def _computed_json(found: Computed, words: str, labels: Mapping[Term, str]) -> dict[str, Any]:
    from kgsparql.answering.answer_json import term_json
    from kgsparql.plans.writing import in_words

    return {
        "words": words, "columns": list(found.columns),
        "rows": [[None if term is None else term_json(term, labels[term]) for term in row] for row in found.rows],
        "is_cut": found.is_cut,
        "empty_part": "" if found.empty_part is None else in_words(found.empty_part, labels.__getitem__),
        "query": found.query.shown, "facts": [[str(term) for term in triple] for triple in found.facts],
        "all_facts": found.all_facts,
        "left_out": [own.in_words(labels.__getitem__) for own in found.left_out],
    }  # fmt: skip
