"""``query`` and ``plan``: SPARQL of the user's own, and what a question computes by a query plan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions
from kgsparql.errors import BudgetExceededError, InputError, NotFoundError
from kgsparql.rdf.terms import Json, PrefixMap, printable
from kgsparql.resources import option_file

if TYPE_CHECKING:
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
    from kgsparql.graphs.sources import open_graph
    from kgsparql.graphs.user_query import FORMATS, GraphQueries, check, is_nothing, serialise, why_nothing

    text = _query_text(text, graph.sources)
    with (
        c.Progress(quiet=graph.quiet) as shown,
        closing(
            open_graph(
                graph.sources, progress=shown, notes=graph.say, endpoint_timeout_s=graph.endpoint_timeout,
                **graph.reading,
            )
        ) as opened,
    ):  # fmt: skip
        prefixes = PrefixMap.default().merged(opened.prefixes)
        checked = check(text, prefixes=prefixes)
        form = c.chosen_format(form, output, FORMATS[checked.form])
        run = GraphQueries(opened, note=graph.say).run_checked
        if verbose:
            c.say(f"· running\n{c.indented(checked.text)}")
        result = run(checked, timeout_s=timeout, max_rows=max_rows)
        why = why_nothing(checked, run, prefixes) if is_nothing(result) and not graph.quiet else ""
    what = "triples" if checked.form in {"CONSTRUCT", "DESCRIBE"} else "solutions"
    c.say(f"· {result.rows:,} {what}, {result.seconds:.3f} s" if verbose else "")
    c.say(f"nothing: {why}" if why else "")
    c.write(serialise(result, form, prefixes=prefixes), output)
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
    """Show how a question is read, and the plans that it may ask for, the likeliest first.

    A plan says what is to be computed: a count, a sum, yes or no, the largest, a table. It is one query, which
    `kgsparql ask -r query_plan` runs. No model is asked. A half-written plan, `(count (where "film" "length" > 120))`,
    is completed: its words in quotes are filled with what the graph calls so.

    Exit status: 0 where the likeliest plan has an answer without a doubt, else 3.
    """
    with graph.opened(lang=lang) as knowledge:
        planned = knowledge.plan(question)
    if not (to.is_json or planned.named or planned.candidates):
        raise NotFoundError(
            f"nothing in {printable(question, 80)!r} is called so in this graph, so there is no plan",
            hint="search its names: kgsparql find TEXT -k GRAPH",
        )
    to.write(_question_json(planned), _question_lines(planned, verbose=bool(verbose)))
    found = planned.computed
    if planned.chosen is None or found is None or planned.doubts or found.left_out or found.is_no_number:
        raise typer.Exit(_EXIT_NOTHING_CHOSEN)


def _question_lines(planned: PlannedQuestion, *, verbose: bool) -> list[str]:
    named = [
        f"{one.kind:7} {printable(one.words, 60) or '–'} → {printable(one.label, 80)} {one.term}"
        for one in planned.named
    ]
    candidates = []
    for one in planned.candidates:
        left = f"; leaves out {', '.join(one.left_out)}" if one.left_out else f" = {one.comes_to}" * bool(one.comes_to)
        mark = "*" if one is planned.chosen else " "
        candidates.append(f"{mark} {one.score:.2f}  {printable(one.words, 300)}{left}")
    why = ["no plan: the question asks for nothing that is computed, or not about what it names"]
    none = why if planned.read else []  # a half-written plan has its own
    read = [f"read    {printable(line, 300)}" for line in planned.read]
    doubts = [f"no sure answer: {own}" for own in planned.doubts]
    query = [] if planned.computed is None or not verbose else ["", planned.computed.query.shown]
    shown = c.most_lines(candidates, _MAX_PLANS, "  +{}: -f json") or none
    return [*read, *named, "", *shown, *doubts, *planned.notes, *query]


def _question_json(planned: PlannedQuestion) -> Json:
    from kgsparql.answering.answer_json import term_json
    from kgsparql.plans.arrays import written_plan

    return {
        "question": planned.question,
        "read": list(planned.read),
        "named": [
            {"words": one.words, "kind": one.kind, "term": term_json(one.term, one.label)} for one in planned.named
        ],
        "candidates": [
            {
                "score": one.score,
                "words": one.words,
                "left_out": list(one.left_out),
                **({"comes_to": one.comes_to} if one.comes_to else {}),
                **written_plan(one.plan),
            }
            for one in planned.candidates
        ],
        "doubts": list(planned.doubts),
        "confidence": planned.confidence,
        "notes": list(planned.notes),
        **({} if planned.chosen is None else written_plan(planned.chosen.plan)),
        "query": "" if planned.computed is None else planned.computed.query.shown,
    }
