"""The numbers that decide between readings: ``weights.toml`` says what each is for."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


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
    text = files("kgsparql.plans").joinpath("weights.toml").read_text(encoding="utf-8")
    return Weights(tomllib.loads(text)[part])
