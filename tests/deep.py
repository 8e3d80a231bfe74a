"""What only ``make test-deep`` tests: parameters that are left out elsewhere, and how many examples a property gets."""

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

DEEP = os.environ.get("KGSPARQL_DEEP") == "1"
"""Whether this is ``make test-deep``, which sets it."""


def deep(*values: object, id: str | None = None) -> Any:  # noqa: A002
    """The values of a case that only the deep tests try."""
    return pytest.param(*values, marks=pytest.mark.deep, id=id)


def crossed(first: Iterable[Any], second: Iterable[Any], *, times: int = 1) -> list[Any]:
    """Every pair of both; but for ``times`` partners of each of the more numerous, pairs are marked ``deep``."""
    ours, theirs = list(first), list(second)
    fewer = min(len(ours), len(theirs))
    return [
        pytest.param(one, other, id=f"{one}-{other}", marks=() if (i - j) % fewer < times else pytest.mark.deep)
        for i, one in enumerate(ours)
        for j, other in enumerate(theirs)
    ]


def examples(most: int, *, short: int | None = None, **more: Any) -> settings:
    """So many examples of a property in the deep tests, elsewhere a tenth, but 12 at least."""
    return settings(max_examples=most if DEEP else short or max(12, most // 10), deadline=None, **more)
