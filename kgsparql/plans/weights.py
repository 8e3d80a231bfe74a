"""The numbers that decide between readings: ``weights.toml`` says what each is for."""

from __future__ import annotations

from functools import cache

from kgsparql.resources import packaged_toml


class Weights:
    """The numbers of one part, by their names."""

    def __init__(self, numbers: dict[str, float]) -> None:
        self.__dict__.update(numbers)

    def __getattr__(self, name: str) -> float:
        raise AttributeError(f"weights.toml has no {name} there")


@cache
def weights(part: str) -> Weights:
    """Return the numbers of one part.

    >>> weights("label").near
    0.5
    """
    return Weights(packaged_toml("plans/weights.toml")[part])
