"""How graphs state one thing in several ways: the lists of ``patterns.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kgsparql.resources import packaged_toml


@cache
def patterns() -> Mapping[str, frozenset[str]]:
    """Read the lists.

    >>> "of" in patterns()["start"]
    True
    """
    return {name: frozenset(own) for name, own in packaged_toml("schema/patterns.toml").items()}
