"""Presets: a method with chosen options in a TOML file, which ``eval tune`` writes and ``--preset`` reads.

::

    method = "path_ranking"         the only line that a preset must have
    kgsparql = "0.1.0"
    comment = "…"

    [options]
    paths_kept = 10
    max_hops = "none"               TOML has no null; the method reads this text as none

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, get_origin, get_type_hints

from pydantic import ConfigDict, StrictBool, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError

from kgsparql import retrievers
from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable
from kgsparql.resources import option_file
from kgsparql.retrievers._loading import alternatives

_HINT = "kgsparql eval tune writes presets"
_FAULTS = {
    "missing": "is missing", "unexpected_keyword_argument": "is not for presets", "dict_type": "is not a table",
    "dataclass_type": "is not a table",
}  # fmt: skip
_NO_OTHERS = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The metric on one part of the questions.

    :param default: mean with the method's default options.
    :param chosen: mean with the chosen options.
    :param difference: chosen minus default, with its 95 % interval (``low``, ``high``) and ``p``, where the two were
        compared question by question.
    """

    __pydantic_config__: ClassVar = _NO_OTHERS

    n: StrictInt
    default: StrictFloat
    chosen: StrictFloat
    difference: StrictFloat | None = None
    low: StrictFloat | None = None
    high: StrictFloat | None = None
    p: StrictFloat | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """How options were chosen.

    :param questions_sha256: digest of the questions with their gold answers.
    :param model: name of the model, ``oracle``, or empty for none.
    :param trials: number of settings that were tried, with the default one.
    :param significant: whether the gain on the held-out questions is more than chance.
    """

    __pydantic_config__: ClassVar = _NO_OTHERS

    metric: StrictStr
    dataset: StrictStr
    questions_sha256: StrictStr
    graph: StrictStr
    model: StrictStr
    gold_topics: StrictBool
    search: StrictStr
    trials: StrictInt
    significant: StrictBool
    development: Figures
    held_out: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A method and its options.

    :param options: the chosen options; all others keep the method's defaults.
    :param kgsparql: the version that wrote it.

    >>> print(Preset(method="mindmap", options={"paths_kept": 3, "mentions": "linker"}).to_toml())
    method = "mindmap"
    <BLANKLINE>
    [options]
    paths_kept = 3
    mentions = "linker"
    <BLANKLINE>
    """

    __pydantic_config__: ClassVar = _NO_OTHERS

    method: StrictStr
    options: Mapping[str, StrictStr | StrictInt | StrictFloat | StrictBool | list[Any]] = field(default_factory=dict)
    comment: StrictStr = ""
    kgsparql: StrictStr = ""
    tuned: Tuned | None = None

    @classmethod
    def load(cls, path: Path) -> Preset:
        """Read a preset from a file.

        :raises InputError: if the file cannot be read or is no preset; with the line.
        :raises OptionError: for a method, an option or a value that does not exist (any more).
        """
        text = _preset_text(path)
        try:
            preset = TypeAdapter(cls).validate_python(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            where = f"{path}:{at[1]}:{at[2]}" if at else f"{path}:{text.count(chr(10)) + 1}"
            problem = printable(str(error).partition(" (at ")[0], 200)
            raise InputError(f"{where}: not TOML: {problem}", hint=_HINT) from error
        except RecursionError as error:
            raise InputError(f"{path}: nested too deeply", hint=_HINT) from error
        except ValidationError as error:
            first = min(error.errors(), key=lambda one: one["type"] == "missing")
            place = [str(part) for part in first["loc"]]
            del place[2 if place[0] == "options" else len(place) :]  # which of the types of an option does not matter
            line = _line_number(text, place) or _line_number(text, place[:-1])
            message = f"{printable('.'.join(place), 80)} {_FAULTS.get(first['type']) or first['msg'].lower()}"
            raise InputError(f"{path}:{line}: {message}" if line else f"{path}: {message}", hint=_HINT) from error
        try:
            retrievers.load(preset.method, loadable(preset.method, preset.options))
        except OptionError as error:
            named = (_line_number(text, ["options", name]) for name in preset.options if name in error.message)
            where = f"{path}:{line}" if (line := next(named, 0)) else str(path)
            raise OptionError(f"{where}: {error.message}", hint=error.hint or "it is of another version") from error
        return preset

    def with_options(self, explicit: Mapping[str, Any]) -> dict[str, Any]:
        """Make the options for :func:`kgsparql.retrievers.load`; explicit ones win over those of the preset.

        >>> Preset(method="mindmap", options={"paths_kept": 3, "max_hops": 4}).with_options({"max_hops": "2"})
        {'paths_kept': '3', 'max_hops': '2'}
        """
        own = {name: value for name, value in self.options.items() if name not in explicit}
        return {**loadable(self.method, own), **explicit}

    def to_toml(self) -> str:
        """Write the preset as a TOML document, ending with a line end."""
        said = {name: value for name, value in asdict(self).items() if value not in ("", None)}
        if not self.options:
            del said["options"]
        return "\n".join(_toml_lines(said, ())) + "\n"


def loadable(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Make options from TOML those that a method takes: tuples for options with several values, texts for all others.

    :raises OptionError: for a method that does not exist, or a list where one value is wanted.

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
    """Tell whether an option of this type holds several values.

    >>> is_tuple(tuple[str, ...] | None), is_tuple(int)
    (True, False)
    """
    return any(get_origin(kind) is tuple for kind in alternatives(hint))


def _preset_text(path: Path) -> str:
    try:
        data = option_file(path)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="--preset takes a file that eval tune wrote") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}:{line}: not UTF-8", hint=_HINT) from error


def _line_number(text: str, place: Sequence[str]) -> int:
    """Find the line that sets a value, or begins a table; 0 if there is none.

    :param place: the tables that it is in, and its name.
    """
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if heading := re.fullmatch(r"\[([\w.\-\"' ]+)\]\s*(?:#.*)?", plain):
            table = [part.strip().strip("\"'") for part in heading[1].split(".")]
            if table == [*place]:
                return number
        elif [*table, plain.partition("=")[0].strip().strip("\"'")] == [*place]:
            return number
    return 0


def _toml_lines(values: Mapping[str, Any], within: tuple[str, ...]) -> Iterator[str]:
    """Write the plain values of a table first, as TOML wants it, then the tables inside it."""
    for name, value in values.items():
        if not isinstance(value, Mapping) and (value is not None or within == ("options",)):
            key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml_value(name)
            yield f"{key} = {_toml_value(value)}"
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ("", f"[{'.'.join((*within, name))}]", *_toml_lines(value, (*within, name)))


def _toml_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    # The escapes of JSON are those of a basic string in TOML; half of a surrogate pair, which no file may hold, is not.
    text = json.dumps("none" if value is None else value.encode("utf-8", "replace").decode(), ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
