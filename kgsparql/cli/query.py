"""``kgsparql query``: SPARQL of the user's own, checked, bounded, in a process that can be stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._options import GraphOptions, SnapshotOptions
from kgsparql.errors import BudgetExceededError, InputError, OptionError
from kgsparql.rdf.terms import PrefixMap, printable
from kgsparql.resources import option_file

if TYPE_CHECKING:
    from kgsparql.cli._common import Progress
    from kgsparql.graphs import EndpointGraph, OxigraphGraph
    from kgsparql.graphs.snapshots import Snapshot
    from kgsparql.graphs.user_query import CheckedQuery, QueryResult


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """How a query is run, and how its result is written; each field is an option of the command line."""

    form: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            help="table, json, csv, tsv, xml; ttl, trig, nt, jsonld or rdf for CONSTRUCT and DESCRIBE.",
        ),
    ] = None
    output: c.OutputOption = None
    timeout: Annotated[
        float, typer.Option("--max-seconds", "--timeout", min=0.1, metavar="SECONDS", help="Stop the query then.")
    ] = 30.0
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Keep at most so many solutions.")] = 100_000
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Show the query as it is run.")] = 0

    def chosen_format(self, query: CheckedQuery) -> str:
        """The format that is named, else that of the output file's suffix, else the one for people."""
        from kgsparql.graphs.user_query import FORMATS

        formats = FORMATS[query.form]
        chosen = self.form or c.guessed_format(self.output) or formats[0]
        if chosen not in formats:
            raise OptionError(f"no {printable(chosen, 40)} for {query.form}", hint=f"one of: {', '.join(formats)}")
        return chosen


@c.command
def query(
    graph: GraphOptions,
    snapshots: SnapshotOptions,
    text: Annotated[str, typer.Argument(metavar="SPARQL", help="The query, a .rq file, or - for stdin.")],
    how: QueryOptions,
) -> None:
    """Run a SELECT, ASK, CONSTRUCT or DESCRIBE over the union of all graphs; known prefixes need no declaration.

    Exit status: 0 all solutions, 2 wrong use or out of time, 4 bad data or SPARQL, 5 unreachable, 6 not all solutions.
    """
    from kgsparql.graphs import names_endpoint, prefixes_in
    from kgsparql.graphs.user_query import check, serialise

    named = graph.sources
    text = _query_text(text, named)
    with (
        c.Progress(quiet=graph.quiet) as shown,
        snapshots.opened(graph.say, "query", sparql=text, kg=named) as snapshot,
    ):
        remote = _endpoint(graph, snapshot) if names_endpoint(named) else None
        piped = None if remote is not None else _piped(graph, snapshot, shown)
        if piped is not None:
            declared = piped.prefixes
        else:  # read without loading the files: only the worker loads them
            declared = prefixes_in(named, format=graph.input_format, base=graph.base, encoding=graph.encoding)
        prefixes = PrefixMap.default().merged({**declared, **graph.prefixes})
        checked = check(text, prefixes=prefixes)
        form = how.chosen_format(checked)
        with _runner(graph, remote, piped, shown) as run:
            if how.verbose:
                c.say("· running\n" + "\n".join(f"    {printable(line, 400)}" for line in checked.text.splitlines()))
            result = run(checked, timeout_s=how.timeout, max_rows=how.max_rows)
    if how.verbose:
        what = "triples" if checked.form in {"CONSTRUCT", "DESCRIBE"} else "solutions"
        c.say(f"· {result.rows:,} {what}, {result.seconds:.3f} s")
    data = serialise(result, form, prefixes=prefixes)
    c.write_bytes(data if data.endswith(b"\n") or not data else data + b"\n", how.output)
    if snapshots.record is not None and remote is None:
        graph.say(f"nothing was asked of an endpoint: {snapshots.record} keeps only which graph it was")
    if result.cut is not None:
        c.say(f"cut: {result.cut} ({result.reason or '--max-rows keeps more'})")  # with -q, too: it is as an error
        raise typer.Exit(BudgetExceededError.exit_code)


def _query_text(text: str, sources: Sequence[str]) -> str:
    """The query itself, from a file or stdin where the argument names one."""
    from kgsparql.graphs import groups_of
    from kgsparql.graphs.files import standard_input

    if len(groups_of(sources)) > 1:
        raise InputError(
            "a query of your own runs on one graph", hint="name it alone with -k; ask, show and paths take several"
        )
    if text == "-" and "-" in sources:
        raise InputError("query and graph cannot both come from stdin", hint="put one of them in a file")
    is_named = text.endswith((".rq", ".sparql")) and "\n" not in text and "{" not in text
    if text == "-" or is_named:
        try:
            return (option_file(text) if is_named else standard_input().read()).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise InputError(f"cannot read {text}: {why}", hint="name a file with a SPARQL query") from error
    return text


def _endpoint(graph: GraphOptions, snapshot: Snapshot | None) -> EndpointGraph:
    from kgsparql.graphs import open_graph

    recording = None if snapshot is None else snapshot.recording
    opened = cast("EndpointGraph", open_graph(graph.sources, notes=graph.say, recording=recording, **graph.reading))
    if snapshot is not None:
        snapshot.about_graph(opened)
    return opened


def _piped(graph: GraphOptions, snapshot: Snapshot | None, shown: Progress) -> OxigraphGraph | None:
    """The graph from stdin, which is read here because the worker cannot; ``None`` for another graph.

    A snapshot keeps the hash of a local graph, so with one any local graph is opened here.
    """
    from kgsparql.graphs import open_embedded

    is_piped = "-" in graph.sources
    if not is_piped and snapshot is None:
        return None
    notes = graph.say if is_piped else None  # else the worker says them
    opened = open_embedded(graph.sources, progress=shown, notes=notes, **graph.reading)
    if snapshot is not None:
        snapshot.about_graph(opened)
    return opened if is_piped else None


@contextmanager
def _runner(
    graph: GraphOptions, remote: EndpointGraph | None, piped: OxigraphGraph | None, shown: Progress
) -> Iterator[Callable[..., QueryResult]]:
    """A function that runs a query: on the endpoint, or in a worker process that has loaded the graph."""
    from kgsparql.graphs.user_query import QueryWorker, run_on_endpoint

    if remote is not None:
        yield partial(run_on_endpoint, remote)
        return
    target, options = (graph.sources, graph.reading) if piped is None else (piped.store, {})
    with QueryWorker(target, options=options, progress=shown, notes=graph.say) as worker:
        worker.start()
        yield worker.run
