"""How graphs state one thing in several ways: the lists of ``patterns.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def patterns() -> Mapping[str, frozenset[str]]:
    """Read the lists.

    >>> "of" in patterns()["start"]
    True
    """
    read = tomllib.loads(files("kgsparql.schema").joinpath("patterns.toml").read_text(encoding="utf-8"))
    return {name: frozenset(own) for name, own in read.items()}
