"""``cache``: what is kept between runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from rich.filesize import decimal

from kgsparql.cli import _common as c
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable
from kgsparql.resources import cache_directory

_KINDS = {
    "graphs": ("graphs/*", "files kept as stores"),
    "labels": ("labels/*", "label indexes"),
    "adjacency": ("adjacency/*", "adjacencies of graphs, for paths"),
    "runs": ("runs/*", "answers of the page, by their addresses"),
    "rate-limits": ("rate-limits/*", "until when public endpoints want to be left alone"),
    "exchanges": ("exchanges.sqlite*", "replies of models and endpoints, and what was found out about both"),
    "vectors": ("vectors.sqlite*", "vectors of texts"),
}
"""Each with the entries of the cache that are of it, and what they are."""

_OURS = re.compile(r"[0-9a-f]{32}(?:\..+)?|\w+\.sqlite.*")
"""Names of stores and indexes, and of the files that belong to one; nothing else is touched."""


@c.command
def cache(
    clear: Annotated[
        list[str] | None, c.option("--clear KIND", "Remove graphs, labels, exchanges … or all; repeatable.")
    ] = None,
    *,
    to: c.AloneOptions,
) -> None:
    """Say what is kept between runs and how big it is; remove it by kind.

    All of it is made again when it is needed; the replies of a model are paid for again.
    What another kgsparql is writing or reading is gone for it; it says so then.
    """
    directory = cache_directory().absolute()
    if clear:
        _clear_kinds(directory, clear, to)
        return
    from kgsparql.storage.files import size_of

    sizes = {kind: sum(map(size_of, entries)) for kind in _KINDS if (entries := _entries_of(directory, kind))}
    kept = [{"kind": kind, "what": _KINDS[kind][1], "bytes": size} for kind, size in sizes.items()]
    size = sum(sizes.values())
    lines = [f"{directory}: {decimal(size) if kept else 'nothing is kept'}"]
    lines += [f"  {kind:<11} {decimal(own):>8}  {_KINDS[kind][1]}" for kind, own in sizes.items()]
    to.write({"directory": str(directory), "bytes": size, "kinds": kept}, lines)
    to.say("remove a kind: kgsparql cache --clear KIND, or all" if kept and not to.is_json else "")


def _clear_kinds(directory: Path, kinds: Sequence[str], to: c.AloneOptions) -> None:
    """Remove kinds, or nothing if a name is none."""
    from kgsparql.storage.files import remove, size_of

    for kind in kinds:
        if kind not in {*_KINDS, "all"}:
            hint = f"one of: {', '.join(_KINDS)}, all"
            raise OptionError(f"no kind {printable(kind, 40)!r} in the cache", hint=hint)
    freed: dict[str, int] = {}
    for kind in _KINDS if "all" in kinds else dict.fromkeys(kinds):
        freed[kind] = 0
        for entry in _entries_of(directory, kind):
            size = size_of(entry)
            remove(entry, entry.with_name(entry.name.partition(".")[0]))
            freed[kind] += size
    cleared = [{"kind": kind, "bytes": size} for kind, size in freed.items()]
    lines = [f"{kind}: {decimal(size)} freed" for kind, size in freed.items()]
    to.write({"cleared": cleared}, lines)


def _entries_of(directory: Path, kind: str) -> list[Path]:
    """List the stores or indexes of a kind, with what interrupted writers left, or its file; no link is followed."""
    found = (one for one in sorted(directory.glob(_KINDS[kind][0])) if _OURS.fullmatch(one.name))
    ours = (one for one in found if not (one if one.parent == directory else one.parent).is_symlink())
    return [one for one in ours if one.suffix != ".lock"]
