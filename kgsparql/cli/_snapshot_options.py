"""The options with which a command records what it is told by endpoints and models, or is replayed; written once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kgsparql.errors import InputError, OptionError

if TYPE_CHECKING:
    from kgsparql.graphs.snapshots import Snapshot

__all__ = ["SnapshotOptions", "TypedGroup"]

_PANEL = "Snapshots"

_VARIABLES = {"kg": ("KGSPARQL_KG", "-k", "--kg"), "embedder": ("KGSPARQL_EMBEDDER", "--embedder")}
"""What a command was asked that a variable may have said, and the options for it."""


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


@dataclass(frozen=True, kw_only=True)
class SnapshotOptions:
    """Where to record, or what to replay; each field is an option of the command line."""

    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="DIR", help="Keep whatever endpoints and models reply, for --replay.",
            rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay", metavar="DIR", help="Ask nobody: the replies are those that were recorded.",
            rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip

    @contextmanager
    def opened(self, say: Callable[[str], None], command: str, **asked: Any) -> Iterator[Snapshot | None]:
        """The snapshot, as long as the ``with`` lasts; ``None`` if neither is wanted.

        :param command: that is recorded, and what it was ``asked``, for whoever reads the manifest, or wants to replay
            it: arguments in their order, then options by their names.
        :raises OptionError: for both at once.
        :raises InputError: if there is no snapshot to be replayed.
        """
        if self.record is not None and self.replay is not None:
            raise OptionError("--record together with --replay", hint="leave out one of them")
        directory = self.record or self.replay
        if directory is None:
            yield None
            return
        from kgsparql.graphs.snapshots import Snapshot

        told = {name: _said(value) for name, value in asked.items()}
        about = {"command": command, "asked": told, "typed": _typed(told)}
        with Snapshot(directory, "write" if self.record else "only", about=about, note=say) as snapshot:
            yield snapshot


def _typed(told: Mapping[str, Any]) -> str:
    """The command as it can be typed again, also where the variables that it was given by are not set."""
    words = typed(leave_out=("--record", "--replay"), shown=lambda word: str(_said(word)))
    for name, (variable, *options) in _VARIABLES.items():
        if os.environ.get(variable) and not any(word.startswith(tuple(options)) for word in words):
            value = told.get(name) or []
            words += [word for one in (value if isinstance(value, list) else [value]) for word in (options[0], one)]
    return shlex.join(words)


def _said(value: Any) -> Any:
    """A value without credentials and keys."""
    from kgsparql.http.address import Address, is_address
    from kgsparql.redaction import redacted

    if isinstance(value, Mapping):
        return {name: _said(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_said(one) for one in value]
    if isinstance(value, bool | int | float) or value is None:
        return value
    where, sharp, model = str(value).partition("#")
    with suppress(InputError):  # a question may begin like a URL
        where = Address.parse(where).url if is_address(where) else where
    return redacted(f"{where}{sharp}{model}")
