"""Texts as vectors."""

from __future__ import annotations
from typing import Protocol


class Embedder(Protocol):
    name: str
    dimension: int
