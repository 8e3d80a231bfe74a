"""What was typed after ``kgsparql``, for who wants to type it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from typer.core import TyperGroup

__all__ = ["TypedGroup", "typed"]

_TYPED: ContextVar[tuple[str, ...]] = ContextVar("kgsparql_typed", default=())


class TypedGroup(TyperGroup):
    """The commands, which remember what they were called with."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As for any group."""
        _TYPED.set(tuple(args))
        return super().parse_args(ctx, args)


def typed(*, leave_out: Sequence[str] = (), shown: Callable[[str], str] = str) -> list[str]:
    """The words of this command, the name of the command first.

    :param leave_out: options, with their values: ``--record``.
    :param shown: what may be shown of a word.
    """
    words: list[str] = []
    is_value = False
    for word in _TYPED.get():
        if not is_value and word.partition("=")[0] not in leave_out:
            words.append(_shown(word, shown))
        is_value = not is_value and word in leave_out
    return words


def _shown(word: str, shown: Callable[[str], str]) -> str:
    """A word as it may be shown; of ``--option=value`` and ``-ovalue`` what comes after the option, by itself."""
    if word.startswith("--"):
        option, sign, value = word.partition("=")
    else:
        option, sign, value = (word[:2], "", word[2:]) if word.startswith("-") else ("", "", word)
    return f"{option}{sign}{shown(value)}"
