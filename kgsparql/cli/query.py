"""``kgsparql query``: SPARQL of the user's own, checked, bounded, in a process that can be stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import InputError, OptionError
from kgsparql.terms import printable

__all__ = ["query"]


@c.reported
def query(
    text: Annotated[str, typer.Argument(metavar="SPARQL", help="The query, a .rq file, or - for stdin.")],
    kg: c.KgOption = None,
    form: Annotated[
        str | None,
        typer.Option(
            "-f", "--format", metavar="FORMAT", help="table, json, csv, tsv, xml; ttl or nt for CONSTRUCT and DESCRIBE."
        ),
    ] = None,
    output: c.OutputOption = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Stop the query then.")
    ] = 30.0,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Keep at most so many solutions.")] = 100_000,
    input_format: c.InputFormatOption = None,
    base: c.BaseOption = None,
    encoding: c.EncodingOption = None,
    skip_bad: c.SkipBadOption = False,
    no_cache: c.NoCacheOption = False,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Run a SELECT, ASK, CONSTRUCT or DESCRIBE over the union of all graphs; known prefixes need no declaration."""
    from kgsparql.graphs import open_graph
    from kgsparql.user_query import FORMATS, QueryWorker, check, serialise

    named = c.sources(kg)
    if text == "-" and "-" in named:
        raise InputError("query and graph cannot both come from stdin", hint="put one of them in a file")
    checked = check(_read(text))
    formats = FORMATS[checked.form]
    shape = form or c.guessed_format(output) or formats[0]
    if shape not in formats:
        raise OptionError(f"no {printable(shape, 40)} for {checked.form}", hint=f"one of: {', '.join(formats)}")
    options: dict[str, Any] = {
        "format": input_format, "base": base, "encoding": encoding, "skip_bad": skip_bad, "cache": not no_cache,
    }  # fmt: skip
    with c.progress(quiet=quiet) as shown:
        # The worker cannot read our stdin: what comes from there is read here and sent to it.
        target = open_graph(named, progress=shown, **options).store if "-" in named else list(named)
        kept = {} if "-" in named else options
        with QueryWorker(target, options=kept, progress=shown, notes=lambda note: c.say(note, quiet=quiet)) as worker:
            result = worker.run(checked, timeout_s=timeout, max_rows=max_rows)
    data = serialise(result, shape)
    c.write_bytes(data if data.endswith(b"\n") or not data else data + b"\n", output)
    if result.cut is not None:
        c.say(f"cut: {result.cut} (--max-rows keeps more)", quiet=quiet)


def _read(text: str) -> str:
    """The query itself, from a file or stdin where the argument names one."""
    if text == "-":
        return sys.stdin.read()
    if text.endswith((".rq", ".sparql")) and "\n" not in text and "{" not in text:
        try:
            return Path(text).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {text}: {error}", hint="name a file with a SPARQL query") from error
    return text
