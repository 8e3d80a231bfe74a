"""``kgsparql cache``: what is kept between runs, where, and how to be rid of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.errors import StoreLockedError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from kgsparql.cli._cache_contents import CacheContents, Cleared, KindSummary


@c.command
def cache(
    clear: Annotated[
        list[str] | None,
        typer.Option(
            "--clear", metavar="KIND", help="Remove a kind: graphs, labels, model, query … or all; repeatable."
        ),
    ] = None,
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    quiet: c.QuietOption = False,
    debug: c.DebugOption = False,
) -> None:
    """Say what is kept between runs, how big and how old it is; remove it by kind.

    All of it is made again when it is needed; the replies of a model are paid for again.
    What another kgsparql is writing is skipped. What it is reading may be gone for it; it says so then.
    """
    from kgsparql.cli._cache_contents import CacheContents

    contents = CacheContents()
    form = c.chosen_format(form, output)
    if clear:
        _clear(contents, clear, form, output, quiet=quiet)
        return
    kept, size = contents.summary(), contents.bytes
    if form == "json":
        found = {"directory": str(contents.directory), "bytes": size, "kinds": [asdict(kind) for kind in kept]}
        c.write_json(found, output)
        return
    c.write("\n".join(_lines(contents, kept, size)), output)
    if kept:
        c.say("remove a kind: kgsparql cache --clear KIND, or all", quiet=quiet)


def _lines(contents: CacheContents, kept: Iterable[KindSummary], size: int) -> list[str]:
    from kgsparql.storage.files import size_text

    lines = [
        f"  {kind.kind:<10} {kind.count:>7,}  {size_text(kind.bytes):>7}  {_days_of(kind):<24}  {kind.what}"
        + (f": {printable(kind.trouble, 400)}" if kind.trouble else "")
        for kind in kept
    ]
    there = size_text(size) if lines else "nothing is kept" if contents.directory.is_dir() else "not made yet"
    return [f"{contents.directory}: {there}", *lines]


def _days_of(kind: KindSummary) -> str:
    days = [when[:10] for when in (kind.oldest, kind.newest) if when]
    return " to ".join(dict.fromkeys(days))


def _clear(contents: CacheContents, kinds: Iterable[str], form: str, output: Path | None, *, quiet: bool) -> None:
    """Remove kinds, and say what was freed; what is in use is an error only if nothing was removed."""
    done = list(contents.clear(kinds))
    failures = [failure for one in done for failure in one.failures]
    if form == "json":
        c.write_json(_as_json(contents, done), output)
    else:
        c.write("\n".join(map(_freed_line, done)), output)
    for one in done:
        c.say(printable(one.note, 600), quiet=quiet)
    is_worse = [failure for failure in failures if not isinstance(failure, StoreLockedError)]
    raised = (is_worse or failures if is_worse or not any(one.count or one.bytes for one in done) else [])[:1]
    for failure in failures:
        if failure not in raised:
            c.say(f"skipped: {printable(failure.message, 400)}")
    if raised:
        raise raised[0]


def _freed_line(one: Cleared) -> str:
    from kgsparql.storage.files import size_text

    if not (one.count or one.bytes):
        return f"{one.kind}: nothing removed"
    return f"{one.kind}: {one.count:,} removed, {size_text(one.bytes)} freed"


def _as_json(contents: CacheContents, done: Sequence[Cleared]) -> dict[str, Any]:
    return {
        "directory": str(contents.directory),
        "freed_bytes": sum(one.bytes for one in done),
        "cleared": [
            {
                "kind": one.kind, "count": one.count, "bytes": one.bytes, "note": one.note,
                "failures": [failure.to_json() for failure in one.failures],
            }
            for one in done
        ],
    }  # fmt: skip
