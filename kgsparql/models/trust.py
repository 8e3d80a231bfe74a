"""What a model has been found good for, kept for 30 days by its server, its name and the prompts it was tried with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from kgsparql.dataclasses import asdict, field, frozen
from kgsparql.errors import StoreError
from kgsparql.storage.response_cache import ResponseCache

TRIAL = "trial"  # the kind of exchange that keeps what a trial found
_KEPT_S = 30 * 86_400.0


@frozen
class Trust:
    """What a model may do.

    :param chooses: it chooses readings from numbered lists. :param plans: it writes plans.
    :param right: how many of how many it had right, of each part of the trial that it came to.
    :param tokens: what the trial took.

    >>> Trust(right={"lists": (1, 5)}).in_words
    'it chooses worse than the ranking, and is not asked (1 of 5 lists right)'
    """

    chooses: bool = False
    plans: bool = False
    right: Mapping[str, Sequence[int]] = field(default_factory=dict)
    tokens: int = 0

    @property
    def in_words(self) -> str:
        """Say how the model is used, and why."""
        if self.chooses:
            use = f"it chooses from lists{' and writes plans' if self.plans else ', and writes no plans'}"
        else:
            use = "it chooses worse than the ranking, and is not asked"
        counts = ", ".join(f"{right} of {asked} {part}" for part, (right, asked) in self.right.items())
        return f"{use} ({counts} right)" if counts else use


def kept_trust(tried: Mapping[str, str]) -> Trust | None:
    """Return what was found in the last 30 days; ``None`` if nothing was, or it cannot be read.

    :param tried: the server, the model, and a digest of the prompts that it was tried with.
    """
    # What another version kept may lack a member, or have another.
    with suppress(StoreError, TypeError, KeyError), ResponseCache() as cache:
        known = cache.lookup(TRIAL, tried, at_most_s=_KEPT_S)
        return None if known is None else Trust(**known)
    return None


def keep_trust(tried: Mapping[str, str], found: Trust) -> None:
    """Keep what was found of a model; where nothing can be written, the next process finds it out again."""
    with suppress(StoreError), ResponseCache() as cache:
        cache.put(TRIAL, tried, asdict(found))
