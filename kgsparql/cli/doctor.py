"""``kgsparql doctor``."""

from __future__ import annotations

__all__ = ["doctor"]


def doctor() -> None:
    """Check what kgsparql needs here."""
