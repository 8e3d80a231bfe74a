"""The options with which a command records the replies of endpoints and models, or replays them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kgsparql.cli._configured import settings_as_words
from kgsparql.cli._plain_values import make_plain
from kgsparql.errors import InputError, OptionError

if TYPE_CHECKING:
    from kgsparql.graphs.snapshots import Snapshot


_option = partial(typer.Option, rich_help_panel="Snapshots")

_VARIABLES = {"kg": ("KGSPARQL_KG", "-k", "--kg"), "embedder": ("KGSPARQL_EMBEDDER", "--embedder")}
"""Options that can also be given by a variable: the variable, and the spellings of the option."""


_TYPED: ContextVar[tuple[str, ...]] = ContextVar("kgsparql_typed", default=())
"""What was typed after ``kgsparql``."""


class TypedGroup(TyperGroup):
    """The commands; they remember the words that were typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As for any group."""
        _TYPED.set(tuple(args))
        make_plain(self.get_params(ctx))
        return super().parse_args(ctx, args)


@dataclass(frozen=True, kw_only=True)
class SnapshotOptions:
    """Where to record, or what to replay; each field is an option of the command line."""

    record: Annotated[
        Path | None, _option("--record", metavar="DIR", help="Keep whatever endpoints and models reply, for --replay.")
    ] = None
    replay: Annotated[
        Path | None, _option("--replay", metavar="DIR", help="Ask nobody: the replies are those that were recorded.")
    ] = None

    @contextmanager
    def opened(self, say: Callable[[str], None], command: str, **asked: Any) -> Iterator[Snapshot | None]:
        """The snapshot while the ``with`` block runs; ``None`` if neither option is given.

        :param asked: the arguments and options of the command, for the manifest.
        """
        if self.record is not None and self.replay is not None:
            raise OptionError("--record together with --replay", hint="leave out one of them")
        directory = self.record or self.replay
        if directory is None:
            yield None
            return
        from kgsparql.graphs.snapshots import Snapshot

        values = {name: _without_secrets(value) for name, value in asked.items()}
        about = {"command": command, "asked": values, "typed": _typed_again(values)}
        with Snapshot(directory, "write" if self.record else "only", about=about, note=say) as snapshot:
            yield snapshot


def _typed_again(values: Mapping[str, Any]) -> str:
    """The command as it can be typed again, with options in place of the variables and the settings of files."""
    words = [*_typed_words(), *(str(_without_secrets(word)) for word in settings_as_words())]
    for name, (variable, *options) in _VARIABLES.items():
        if os.environ.get(variable) and not any(word.startswith(tuple(options)) for word in words):
            value = values.get(name) or []
            words += [word for one in (value if isinstance(value, list) else [value]) for word in (options[0], one)]
    return shlex.join(words)


def _typed_words() -> list[str]:
    """The words of this command without credentials, keys, and the options for snapshots; its name comes first."""
    words: list[str] = []
    is_value = False
    for word in _TYPED.get():
        is_left_out = word.partition("=")[0] in {"--record", "--replay"}
        if not is_value and not is_left_out:
            option, value = _split_word(word)
            words.append(f"{option}{_without_secrets(value)}")
        is_value = not is_value and is_left_out and "=" not in word
    return words


def _split_word(word: str) -> tuple[str, str]:
    """The option of a word, and its value: ``--option=value`` or ``-ovalue``; one of them may be empty."""
    if word.startswith("--"):
        option, sign, value = word.partition("=")
        return option + sign, value
    return (word[:2], word[2:]) if word.startswith("-") else ("", word)


def _without_secrets(value: Any) -> Any:
    """A value without credentials and keys."""
    from kgsparql.http.address import Address, is_address
    from kgsparql.redaction import redacted

    if isinstance(value, Mapping):
        return {name: _without_secrets(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(one) for one in value]
    if isinstance(value, bool | int | float) or value is None:
        return value
    where, sharp, model = str(value).partition("#")
    with suppress(InputError):  # a question may begin like a URL
        where = Address.parse(where).url if is_address(where) else where
    return redacted(f"{where}{sharp}{model}")
