"""A method with options that were chosen once, in a TOML file: what ``eval tune`` writes and ``--preset`` reads.

::

    method = "path_ranking"         what a preset needs: the rest says where it is from
    kgsparql = "0.1.0"
    comment = "…"

    [options]
    paths_kept = 10
    max_hops = "none"               TOML knows no null; the method reads this text as none

    [tuned]                         how the options were chosen
    metric = "f1"
    …
    [tuned.development]             figures on the questions they were chosen on
    [tuned.held_out]                and on the others
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from kgsparql import retrievers
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

__all__ = ["Figures", "Preset", "Tuned", "is_tuple"]

_LARGEST = 1_000_000
"""Bytes: what is larger is no preset, and is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the metric is on one part of the questions.

    :param n: questions.
    :param default: mean with the method's own options.
    :param chosen: mean with the chosen ones.
    :param difference: chosen minus default; with ``low`` and ``high``, its 95 % interval, and ``p``, where they were
        compared question by question.
    """

    n: int
    default: float
    chosen: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """How options were chosen.

    :param questions_sha256: of the questions, with all that is known of them.
    :param graph: the fingerprint of the graph.
    :param model: its name, ``oracle``, or empty for none.
    :param trials: settings that were tried, the default one included.
    :param significant: the gain on the held-out questions is more than chance.
    """

    metric: str
    dataset: str
    questions_sha256: str
    graph: str
    model: str
    gold_topics: bool
    search: str
    trials: int
    significant: bool
    development: Figures
    held_out: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A method and its options.

    :param options: those that were chosen; the others are as the method has them.
    :param comment: what whoever uses it should know.
    :param kgsparql: the version that wrote it.

    >>> print(Preset(method="mindmap", options={"paths_kept": 3, "mentions": "linker"}).to_toml())
    method = "mindmap"
    <BLANKLINE>
    [options]
    paths_kept = 3
    mentions = "linker"
    <BLANKLINE>
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    comment: str = ""
    kgsparql: str = ""
    tuned: Tuned | None = None

    @classmethod
    def load(cls, path: Path) -> Preset:
        """The preset in a file.

        :raises InputError: if it cannot be read, or says something that a preset does not; with the line.
        :raises OptionError: for a method, an option or a value that there is not, or not any more.
        """
        text = _text(path)
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"\(at (?:line (\d+), column (\d+)|end of document)\)", str(error))
            where = f"{path}:{at[1]}:{at[2]}" if at and at[1] else f"{path}:{text.count(chr(10)) + 1}"
            said = printable(str(error).partition(" (at ")[0], 200)
            raise InputError(f"{where}: not TOML: {said}", hint="kgsparql eval tune writes presets") from error
        except RecursionError as error:
            raise InputError(f"{path}: nested too deeply", hint="kgsparql eval tune writes presets") from error
        preset = cls(**_Reader(path, text).read(cls, data, ()))
        preset._checked(path, text)
        return preset

    def _checked(self, path: Path, text: str) -> None:
        """Refuse options that the method does not have, or does not take.

        :raises OptionError: which names the file.
        """
        try:
            retrievers.load(self.method, loadable(self.method, self.options))
        except OptionError as error:
            line = next((at for name in self.options if name in error.message and (at := _line(text, name))), 0)
            where = f"{path}:{line}" if line else str(path)
            raise OptionError(
                f"{where}: {error.message}", hint=error.hint or "the preset is of another version"
            ) from error

    def with_options(self, explicit: Mapping[str, Any]) -> dict[str, Any]:
        """The options for :func:`kgsparql.retrievers.load`; what was said explicitly wins.

        >>> Preset(method="mindmap", options={"paths_kept": 3, "max_hops": 4}).with_options({"max_hops": "2"})
        {'paths_kept': '3', 'max_hops': '2'}
        """
        own = {name: value for name, value in self.options.items() if name not in explicit}
        return {**loadable(self.method, own), **explicit}

    def to_toml(self) -> str:
        """The preset as a TOML document, ending with a line end."""
        return "\n".join(_lines(self, ())).lstrip("\n") + "\n"


def loadable(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options from TOML as a method takes them: lists where it has several values, else texts, which are checked.

    :raises OptionError: for a method that there is not, or a list where one value is wanted.

    >>> loadable("struct_gpt", {"mediator_classes": ["http://a.org/b,c"], "max_steps": 2})
    {'mediator_classes': ('http://a.org/b,c',), 'max_steps': '2'}
    """
    hints = get_type_hints(retrievers.find(method))
    found: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, list | tuple) and name in hints:
            if not is_tuple(hints[name]):
                raise OptionError(f"{method}: {name} has one value, not a list")
            if not all(isinstance(one, str) for one in value):
                raise OptionError(f"{method}: {name} holds something else than texts")
            found[name] = tuple(value)
        else:
            found[name] = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return found


def is_tuple(hint: Any) -> bool:
    """Whether an option of this type holds several values.

    >>> is_tuple(tuple[str, ...] | None), is_tuple(int)
    (True, False)
    """
    kinds = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    return any(get_origin(kind) is tuple for kind in kinds)


def _text(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: too large for a preset", hint="kgsparql eval tune writes presets")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="--preset takes a file that eval tune wrote") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: not UTF-8", hint="kgsparql eval tune writes presets") from error


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks what a document says against the fields of our classes."""

    path: Path
    text: str

    def read(self, cls: Any, data: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        """The values of the fields of a class, from a table.

        :raises InputError: for a name that is no field, a value of another type, or a field that is not there.
        """
        hints = get_type_hints(cls)
        known = {f.name: f for f in fields(cls)}
        found: dict[str, Any] = {}
        for name, value in data.items():
            if name not in known:
                there = ", ".join(known)
                raise self._wrong(within, name, f"{printable(name, 60)!r} is not for presets", f"there are: {there}")
            found[name] = self._value(hints[name], value, (*within, name))
        for name, one in known.items():
            if name not in found and one.default is MISSING and one.default_factory is MISSING:
                raise self._wrong(within[:-1], within[-1] if within else "", f"{name!r} is missing", "")
        return found

    def _value(self, hint: Any, value: Any, at: tuple[str, ...]) -> Any:
        kinds = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
        table = next((kind for kind in kinds if kind in {Figures, Tuned}), None)
        if table is not None and isinstance(value, dict):
            return table(**self.read(table, value, at))
        if at == ("options",) and isinstance(value, dict):
            for name, own in value.items():
                if not isinstance(own, str | int | float | list):
                    raise self._wrong(at, name, f"{printable(name, 60)} has a value that no option has", "")
            return value
        if float in kinds and type(value) is int:
            return float(value)
        if any(type(value) is kind for kind in kinds):
            return value
        wanted = " or ".join(_KINDS.get(kind, "a table") for kind in kinds if kind is not type(None))
        raise self._wrong(at[:-1], at[-1], f"{'.'.join(at)} is not {wanted}", "")

    def _wrong(self, within: tuple[str, ...], name: str, message: str, hint: str) -> InputError:
        line = _line(self.text, name, within)
        return InputError(f"{self.path}:{line}: {message}" if line else f"{self.path}: {message}", hint=hint)


_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _line(text: str, name: str, within: tuple[str, ...] = ("options",)) -> int:
    """The line where a name of a table is set, or its table begins; 0 if it is not found."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if heading := re.fullmatch(r"\[([\w.\-\"' ]+)\]\s*(?:#.*)?", plain):
            table = tuple(part.strip().strip("\"'") for part in heading[1].split("."))
            if table == (*within, name):
                return number
        elif table == within and plain.partition("=")[0].strip().strip("\"'") == name:
            return number
    return 0


def _lines(value: Any, within: tuple[str, ...]) -> Iterator[str]:
    """A table: what is plain first, as TOML wants it, then the tables in it."""
    items = dict(value) if isinstance(value, Mapping) else {f.name: getattr(value, f.name) for f in fields(value)}
    tables = {name: own for name, own in items.items() if isinstance(own, Mapping | Figures | Tuned)}
    if within:
        yield ""
        yield f"[{'.'.join(within)}]"
    for name, own in items.items():
        if (
            name in tables
            or (isinstance(value, Preset) and own in {"", None})
            or (own is None and within[:1] != ("options",))
        ):
            continue
        yield f"{_key(name)} = {_written(own)}"
    for name, own in tables.items():
        yield from _lines(own, (*within, name))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _written(name)


def _written(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, int | float):
        return repr(value)
    # The escapes of JSON are those of a basic string in TOML; half of a surrogate pair, which no file may hold, is not.
    text = json.dumps("none" if value is None else value.encode("utf-8", "replace").decode(), ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
