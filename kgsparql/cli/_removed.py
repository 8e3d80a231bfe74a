"""What the version before this one had: what is typed, set or in a file is answered by what to do instead."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

from kgsparql.errors import OptionError
from kgsparql.rdf.terms import printable

_TABLE = Path(__file__).parents[1] / "removed.toml"


def removed_things() -> dict[str, dict[str, str]]:
    """Read what is gone: options, commands, variables, settings and files, each with what to do instead."""
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


def refuse_removed(kind: str, name: str, command: str = "") -> None:
    """Raise what to do instead of an option or command that is gone, of one command or of all; else do nothing."""
    gone = removed_things()[kind]
    for one in (f"{command} {name}".strip(), name):
        if one in gone:
            raise OptionError(f"{printable(one, 60)} is gone: {gone[one]}")


def removed_notes() -> Iterator[str]:
    """Tell of each variable that is set and each file here or above that this version does not read any more."""
    gone = removed_things()
    yield from (f"{name} is not read any more: {say}" for name, say in gone["variables"].items() if name in os.environ)
    try:
        here = Path.cwd()
    except OSError:  # a folder that was deleted
        return
    for name, say in gone["files"].items() if "KGSPARQL_CONFIG" not in os.environ else ():
        found = next((folder / name for folder in (here, *here.parents) if (folder / name).is_file()), None)
        if found is not None:
            yield f"{found} is not read any more: {say}"
