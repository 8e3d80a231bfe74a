"""Settings of files, which stand where an option or variable was not given, and how a command line is read with them.

The file of a project may be a stranger's: it names no server elsewhere that gets the user's key, no key, and no place
outside its own folder that is written to.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from typer import TyperException
from typer.core import TyperCommand, TyperGroup

from kgsparql.cli._removed import refuse_removed
from kgsparql.dataclasses import dataclass, field
from kgsparql.errors import KEY_VARIABLE, InputError, OptionError, redacted
from kgsparql.rdf.terms import printable

CONFIG_VARIABLE = "KGSPARQL_CONFIG"
"""Names a file that is read in place of the project's, and trusted; ``none`` reads no file at all."""
PROJECT_FILE = "kgsparql.toml"

_MAX_BYTES = 64_000
_MAX_DOTS_OF_A_LINE = 200
"""A key of many names, joined by dots, takes ``tomllib`` quadratic time and memory: 3 GB for 50,000 names."""
_WRITTEN_PLACES = ("index", "log")
_EVALUATIONS = {"run", "compare", "make", "tune", "validate"}
"""Commands of ``eval``: what they measure is typed, and neither a method nor its options come from a file."""


# -- What a file may say ------------------------------------------------------------------------------------------


class _Key(NamedTuple):
    """What the value of a setting is, the option that it is the default of, and the variable that comes first."""

    kind: str
    option: str = ""
    variable: str = ""


KEYS = {
    "graph": _Key("texts", "", "KGSPARQL_KG"),
    "languages": _Key("texts", "lang"),
    "embedder": _Key("text", "embedder", "KGSPARQL_EMBEDDER"),
    "index": _Key("text", "index", "KGSPARQL_INDEX"),
    "log": _Key("text", "log", "KGSPARQL_LOG"),
    "model.name": _Key("text", "model", "KGSPARQL_MODEL"),
    "model.base_url": _Key("text", "base_url", "OPENAI_BASE_URL"),
    "model.temperature": _Key("number", "temperature"),
    "model.reply_tokens": _Key("number", "reply_tokens"),
    "model.timeout": _Key("number", "model_timeout"),
    "model.required": _Key("switch", "require_model"),
    "model.trial": _Key("switch", "trial", "KGSPARQL_TRIAL"),
    "model.prices": _Key("numbers", "prices"),
    "method.name": _Key("text", "retriever"),
    "method.preset": _Key("text", "preset"),
    "method.options": _Key("table", "option"),
    **{
        f"limits.{name}": _Key("number", name)
        for name in ("max_queries", "max_seconds", "max_calls", "max_tokens", "max_cost")
    },
    "model.api_key": _Key("text", "", KEY_VARIABLE),
}
"""The settings. Options say how large a number may be, and languages and methods what they may be called."""
_TABLES = {"graphs", *(key.partition(".")[0] for key in KEYS if "." in key)}
_GRAPH_KEYS = {"sources": "texts", "languages": "texts", "prefixes": "table"}
_PREFIX = re.compile(r"([A-Za-z]([\w.-]*[\w-])?)?: <[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*>", re.ASCII)


def _read_settings(path: Path, *, is_trusted: bool) -> dict[str, Any]:
    """Read the settings of a file by their keys, such as ``model.name``; a graph and its table are one setting.

    :raises OptionError: for a file that cannot be read, or says what no file can say, with the line or the key; for
        what the file of a stranger must not say; and for a key in a trusted file that others can read.
    """
    written: dict[str, Any] = {}
    for table, value in _toml_of(path).items():
        is_table = table in _TABLES and isinstance(value, dict)
        written |= {f"{table}.{name}": own for name, own in value.items()} if is_table else {table: value}
    found: dict[str, Any] = {}
    for key, value in written.items():
        try:
            checked = _checked_setting(key, value)
        except ValueError as error:
            hint = "docs/settings.md shows a whole file"
            raise OptionError(f"{path}: {printable(f'{key}: {error}', 300)}", hint=hint) from error
        found[key] = _with_paths(key, checked, path.parent, written)
        if not is_trusted:
            with_texts(found[key], partial(_strangers_text, key, path))
        elif key == "model.api_key" and os.name == "posix" and path.stat().st_mode & 0o077:
            raise OptionError(f"{path}: model.api_key: others can read this file", hint=f"chmod 600 {path}")
    return found


def _checked_setting(key: str, value: Any) -> Any:
    """Return the value of a setting, one text as a list where there may be several."""
    if key.startswith("graphs."):
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", key.removeprefix("graphs.")):
            raise ValueError("a graph is named by letters, digits, - and _")
        table = value if isinstance(value, dict) else {"sources": value}
        if not {"sources"} <= table.keys() <= _GRAPH_KEYS.keys():
            raise ValueError(f"it needs sources, and may have {' and '.join([*_GRAPH_KEYS][1:])}")
        checked = {name: _of_kind(_GRAPH_KEYS[name], own) for name, own in table.items()}
        for prefix, name in checked.get("prefixes", {}).items():
            if not _PREFIX.fullmatch(f"{prefix}: <{name}>"):
                raise ValueError(f"prefixes.{prefix}: this is no prefix with its IRI")
        return checked
    if key not in KEYS:
        raise ValueError(f"no such setting; there are {', '.join(KEYS)}")
    if key == "method.name" and ":" in str(value):  # code that runs is named by who runs it
        raise ValueError("a method of one's own is named on the command line alone: -r module:Class")
    return _of_kind(KEYS[key].kind, value)


def _of_kind(kind: str, value: Any) -> Any:
    """Return a value of this kind; one text as a list where there may be several."""
    if kind == "table":
        if isinstance(value, dict) and all(isinstance(one, str | int | float) for one in value.values()):
            return value
        raise ValueError("write a table: {name = value}")
    if kind == "switch":
        if isinstance(value, bool):
            return value
        raise ValueError("write true or false")
    values = value if isinstance(value, list) and kind in {"texts", "numbers"} else [value]
    wanted: Any = str if kind.startswith("text") else int | float
    if not values or not all(isinstance(one, wanted) and one != "" and not isinstance(one, bool) for one in values):
        raise ValueError(f"write a {kind.removesuffix('s')}{', or a list of them' if kind.endswith('s') else ''}")
    return values if kind.endswith("s") else value


def _toml_of(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES or any(line.count(b".") > _MAX_DOTS_OF_A_LINE for line in data.splitlines()):
            what = f"larger than {_MAX_BYTES:,} bytes, or a line with more than {_MAX_DOTS_OF_A_LINE} dots"
            raise OptionError(f"{path}: {what}", hint="is it the right file?")
        return tomllib.loads(data.decode("utf-8-sig"))
    except (OSError, RecursionError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not TOML: {printable(str(error), 200)}"
        raise OptionError(f"{path}: {why}", hint=f"mend it; {CONFIG_VARIABLE}=none does without") from error


def _with_paths(key: str, value: Any, folder: Path, found: Mapping[str, Any]) -> Any:
    """Return a setting with its paths as seen from the folder of its file; the name of an endpoint stays."""
    from kgsparql.graphs.profiles import could_be_alias

    def path_in(text: str) -> str:
        return text if "://" in text else os.path.normpath(folder / Path(text).expanduser())

    def source_in(source: str) -> str:
        return source if could_be_alias(source) and not (folder / source).exists() else path_in(source)

    if key.startswith("graphs."):
        return {**value, "sources": [source_in(one) for one in value["sources"]]}
    if key == "graph":
        return [one if f"graphs.{one}" in found else source_in(one) for one in value]
    return path_in(value) if key in {*_WRITTEN_PLACES, "method.preset"} else value


def _strangers_text(key: str, file: Path, text: str) -> str:
    """Refuse what a stranger's file must not say: a key, a server that would get one, a place outside its folder."""
    from kgsparql.http.address import Address, is_address

    is_server, why = key == "model.base_url" or (key == "embedder" and is_address(text)), ""
    is_inside = Path(os.path.realpath(text)).is_relative_to(os.path.realpath(file.parent))
    if key == "model.api_key" or redacted(text) != text:
        why = "keys do not belong into a project"
    elif is_server and not (is_address(text) and Address.parse(text).is_loopback):
        why = "a project may not say which server gets your key"
    elif key in _WRITTEN_PLACES and ("://" in text or not is_inside):
        why = "a project may not have files written outside its folder"
    if why:
        hint = "say it in your own file (kgsparql config show), or by a variable"
        raise OptionError(f"{file}: {key}: {why}", hint=hint)
    return text


# -- The settings that hold ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and the file that says it; paths in it are absolute."""

    value: Any
    file: Path


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of all files, by their keys."""

    values: Mapping[str, Setting] = field(default_factory=dict)

    def get(self, key: str) -> Any:
        """Return the value of a setting; ``None`` if no file says it."""
        setting = self.values.get(key)
        return None if setting is None else setting.value

    def named_sources(self, given: Sequence[str] | None) -> list[str]:
        """List the sources or names of graphs that are meant: those given, else of ``KGSPARQL_KG``, else of a file."""
        lines = (line.strip() for line in os.environ.get("KGSPARQL_KG", "").splitlines())
        return list(given or ()) or [line for line in lines if line] or list(self.get("graph") or ())

    def sources(self, given: Sequence[str] | None) -> list[str]:
        """List the same, with the sources of a graph in place of its name."""
        found: list[str] = []
        for name in self.named_sources(given):
            self._check_name(name)
            table = self.get(f"graphs.{name}")
            found += [name] if table is None else table["sources"]
        return list(dict.fromkeys(found))

    def project_servers(self, given: Sequence[str] | None) -> Iterator[str]:
        """Tell of each server that the file of a project names: it gets the queries, and the user's contact."""
        from kgsparql.http.address import is_address

        for name in self.named_sources(given):
            setting = self.values.get(f"graphs.{name}") or self.values.get("graph")
            if setting is None or setting.file == user_file() or os.environ.get(CONFIG_VARIABLE):
                continue
            for source in setting.value["sources"] if isinstance(setting.value, dict) else [name]:
                if is_address(source) and source not in (given or os.environ.get("KGSPARQL_KG", "")):
                    yield f"{source}: {setting.file} says to ask there; {CONFIG_VARIABLE}=none does without that file"

    def of_graphs(self, given: Sequence[str] | None) -> dict[str, Setting]:
        """Return what the named graphs say of languages and prefixes; of several, all of it, and the first counts."""
        found: dict[str, Setting] = {}
        for own in (own for name in self.named_sources(given) if (own := self.values.get(f"graphs.{name}"))):
            if languages := own.value.get("languages"):
                known = found.setdefault("languages", Setting([], own.file)).value
                known += [tag for tag in languages if tag not in known]
            if prefixes := own.value.get("prefixes"):
                before = found.get("prefixes") or Setting({}, own.file)
                found["prefixes"] = Setting({**prefixes, **before.value}, before.file)
        return found

    def _check_name(self, name: str) -> None:
        """Refuse a name that means two things."""
        from kgsparql.graphs.profiles import could_be_alias, known_endpoints

        setting = self.values.get(f"graphs.{name}")
        if setting is not None and could_be_alias(name):
            meanings = ["a file here"] if Path(name).exists() else []
            meanings += ["a known endpoint"] if known_endpoints().named(name) is not None else []
            if meanings:
                hint = f"give the graph another name; -k ./{name} is the file"
                raise InputError(f"{name}: {meanings[0]}, and a graph of {setting.file}", hint=hint)


_current: ContextVar[Settings] = ContextVar("kgsparql_settings", default=Settings())  # noqa: B039 - frozen


def settings() -> Settings:
    """Return the settings that hold for this command."""
    return _current.get()


def load_settings(note: Callable[[str], object]) -> Settings:
    """Read the files, and have their settings hold from now on; ``note`` is told which are not read, and why."""
    values: dict[str, Setting] = {}
    for file, is_trusted in _settings_files(note):
        own = _read_settings(file, is_trusted=is_trusted)
        if any(key.startswith("method.") for key in own):  # options are of one method: the tables are not mixed
            values = {key: setting for key, setting in values.items() if not key.startswith("method.")}
        values |= {key: Setting(value, file) for key, value in own.items()}
    _current.set(Settings(values))
    return settings()


def user_file() -> Path:
    """Return where the user's own file is, whether or not there is one."""
    from platformdirs import user_config_dir

    return Path(user_config_dir("kgsparql", appauthor=False)) / "config.toml"


def _settings_files(note: Callable[[str], object]) -> Iterator[tuple[Path, bool]]:
    """Find the files, the one that counts most last, each with whether it is trusted."""
    named = os.environ.get(CONFIG_VARIABLE, "").strip()
    if named == "none":
        return
    project = None if named else _project_file()
    for file in (user_file(), project):
        if file is None or not file.exists():
            continue
        reason = "it is no regular file" if not file.is_file() else ""
        if file == project and not reason and os.name == "posix":
            status = file.stat()
            if status.st_uid not in {0, os.getuid()} or status.st_mode & 0o002:
                reason = f"another user may have written it; {CONFIG_VARIABLE}={file} reads it all the same"
        if reason:
            note(f"{file} is not read: {reason}")
        else:
            yield file, file != project
    if named:
        if not Path(named).is_file():
            raise OptionError(f"{CONFIG_VARIABLE}: no file {named}", hint="name a file, or unset it")
        yield Path(named).absolute(), True


def _project_file() -> Path | None:
    """Find the nearest file from the current directory upwards, not above the home directory."""
    try:
        here, home = Path.cwd(), Path.home().resolve()  # the current directory is without links, too
    except (OSError, RuntimeError):  # a directory that was deleted, a user without a home
        return None
    above = (here, *here.parents)
    folders = above[: above.index(home) + 1] if home in above else above
    return next((folder / PROJECT_FILE for folder in folders if (folder / PROJECT_FILE).exists()), None)


# -- How a command line is read -----------------------------------------------------------------------------------


class PlainGroup(TyperGroup):
    """A group of commands that makes plain values itself; of a named one, ``default`` is meant where none is named."""

    default = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Do as any group does."""
        is_named = bool({*args[:1]} & {*self.commands, "-h", "--help"})
        if self.default and not is_named and (args or not self.no_args_is_help):
            refuse_removed("commands", "".join(args[:1]), ctx.command_path.partition(" ")[2])
            args = [self.default, *args]
        _make_plain(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return the command of a name; of one that this version has no more, say what to do instead."""
        found = super().get_command(ctx, name)
        if found is None:
            refuse_removed("commands", name, ctx.command_path.partition(" ")[2])
        return found


class PlainCommand(TyperCommand):
    """A command that makes plain values itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Do as any command does, with the settings of files in place of options that are not given."""
        _make_plain(self.get_params(ctx))
        try:
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
        except TyperException as error:
            refuse_removed("options", getattr(error, "option_name", None) or "", ctx.command_path.partition(" ")[2])
            raise
        return super().parse_args(ctx, _with_settings(ctx, given, args))


def _make_plain(parameters: Any) -> None:
    for parameter in parameters:
        parameter._runtime_param = _PlainValue()  # noqa: SLF001 - were it called otherwise, it would only be later


class _PlainValue:
    """Stands in for what typer makes the values of one parameter with: pydantic, whose import takes 0.1 s.

    A text and a default need no making.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Make the value of a parameter, as typer makes it."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        about = param.type_descriptor
        kind, is_plain = about.annotation, about.parameter_info.parser is None
        values = value if isinstance(value, list | tuple) else [value]
        if is_plain and kind in {str, list[str]} and all(isinstance(one, str) for one in values):
            return kind(value)
        if is_plain and kind in {str, int, float} and ctx.get_parameter_source(param.name).name == "DEFAULT":
            return kind(value)
        param._runtime_param = None  # noqa: SLF001 - typer's own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _with_settings(ctx: Any, given: Mapping[str, Any], args: list[str]) -> list[str]:
    """Set the defaults of a command from the files; return its words, options of the method before those typed."""
    found = settings()
    if not found.values:
        return args
    if key := found.get("model.api_key"):
        os.environ.setdefault(KEY_VARIABLE, key)
    held = {**found.values, **found.of_graphs(given.get("kg"))}
    values: dict[str, Any] = {
        own.option: held[key].value
        for key, own in KEYS.items()
        if own.option and key in held and not (own.variable and os.environ.get(own.variable))
    }
    values |= {name: ",".join(map(str, values[name])) for name in ("lang", "prices") if name in values}
    unused = ["model", "base_url", "require_model", "trial"] if given.get("no_model") else []
    typed = given.get("retriever")
    is_other_method = given.get("preset") is not None or typed not in {None, values.get("retriever")}
    if ctx.info_name in _EVALUATIONS or is_other_method:
        unused += ["retriever", "preset", "option"]
    for name in unused:
        values.pop(name, None)
    options: dict[str, Any] = values.pop("option", {})
    ctx.default_map = values
    if ctx.info_name not in {"ask", "serve", "mcp"}:
        return args
    texts = {name: str(own).lower() if isinstance(own, bool) else own for name, own in options.items()}
    return [*(word for name, own in texts.items() for word in ("-O", f"{name}={own}")), *args]


def without_secrets(value: Any) -> Any:
    """Return a value without credentials and keys."""
    from kgsparql.http.address import Address, is_address

    def without(text: str) -> str:
        where, sharp, model = text.partition("#")
        with suppress(InputError):  # a question may begin like a URL
            where = Address.parse(where).url if is_address(where) else where
        return redacted(f"{where}{sharp}{model}")

    return with_texts(value, without)


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with each text in it changed."""
    if isinstance(value, Mapping):
        return {name: with_texts(own, change) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [with_texts(one, change) for one in value]
    return change(value) if isinstance(value, str) else value
