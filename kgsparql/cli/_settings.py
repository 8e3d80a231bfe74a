"""Settings of files, which stand where an option or variable was not given, and how a command line is read with them.

There is one file, the user's own, or the one that a variable names: none is picked up from the current directory,
which may be a stranger's.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from typer import TyperException
from typer.core import TyperCommand, TyperGroup

from kgsparql.dataclasses import field, frozen
from kgsparql.errors import OptionError
from kgsparql.rdf.terms import Json, printable
from kgsparql.resources import packaged_toml

CONFIG_VARIABLE = "KGSPARQL_CONFIG"
"""Names a file that is read in place of the user's own; ``none`` reads no file at all."""

_EVALUATIONS = {"run", "compare"}
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
    "model.reply_tokens": _Key("number", "reply_tokens"),
    "model.timeout": _Key("number", "model_timeout"),
    "model.required": _Key("switch", "require_model"),
    "model.trial": _Key("switch", "trial", "KGSPARQL_TRIAL"),
    "method.name": _Key("text", "retriever"),
    "method.options": _Key("table", "option"),
    **{f"limits.{name}": _Key("number", name) for name in ("max_queries", "max_seconds", "max_calls", "max_tokens")},
}
"""The settings. Options say how large a number may be, and languages and methods what they may be called."""
_TABLES = {"graphs", *(key.partition(".")[0] for key in KEYS if "." in key)}


def _read_settings(path: Path) -> Json:
    """Read the settings of a file by their keys, such as ``model.name``.

    :raises OptionError: for a file that cannot be read, or says what no file can say, with the line or the key.
    """
    written: Json = {}
    for table, value in _toml_of(path).items():
        is_table = table in _TABLES and isinstance(value, dict)
        written |= {f"{table}.{name}": own for name, own in value.items()} if is_table else {table: value}
    try:
        return {key: _with_paths(key, _checked_setting(key, own), path.parent, written) for key, own in written.items()}
    except ValueError as error:
        raise OptionError(f"{path}: {printable(error, 300)}", hint="docs/settings.md shows a whole file") from error


def _checked_setting(key: str, value: Any) -> Any:
    """Return the value of a setting, one text as a list where there may be several."""
    shape = "[graphs.NAME]" if key.startswith("graphs.") and isinstance(value, dict) else key
    if instead := removed_things()["settings"].get(shape):
        raise ValueError(f"{shape} is gone: {instead}")
    if key.startswith("graphs."):
        return _of_kind(key, "texts", value)
    if key not in KEYS:
        raise ValueError(f"{key}: no such setting; there are {', '.join(KEYS)}")
    if key == "method.name" and ":" in str(value):  # code that runs is named by who runs it
        raise ValueError(f"{key}: a method of one's own is named on the command line alone: -r module:Class")
    return _of_kind(key, KEYS[key].kind, value)


def _of_kind(key: str, kind: str, value: Any) -> Any:
    """Return a value of this kind; one text as a list where there may be several."""
    values = value if isinstance(value, list) and kind == "texts" else [value]
    wanted = {"table": dict, "switch": bool, "text": str, "texts": str}.get(kind, int | float)
    is_switch = kind == "switch"
    if values and all(isinstance(one, wanted) and one != "" and isinstance(one, bool) == is_switch for one in values):
        return values if kind.endswith("s") else value
    raise ValueError(f"{key}: write a {kind.removesuffix('s')}{', or a list of them' if kind.endswith('s') else ''}")


def _toml_of(path: Path) -> Json:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not TOML: {printable(error, 200)}"
        raise OptionError(f"{path}: {why}", hint=f"mend it; {CONFIG_VARIABLE}=none does without") from error


def _with_paths(key: str, value: Any, folder: Path, found: Json) -> Any:
    """Return a setting with its paths as seen from the folder of its file; the name of an endpoint stays."""
    from kgsparql.graphs.profiles import could_be_alias

    def path_in(text: str) -> str:
        return text if "://" in text else os.path.normpath(folder / Path(text).expanduser())

    def source_in(source: str) -> str:
        return source if could_be_alias(source) and not (folder / source).exists() else path_in(source)

    if key == "graph" or key.startswith("graphs."):
        return [one if key == "graph" and f"graphs.{one}" in found else source_in(one) for one in value]
    return path_in(value) if key in {"index", "log"} else value


# -- The settings that hold ---------------------------------------------------------------------------------------


@frozen
class Settings:
    """The settings of a file, by their keys; paths in them are absolute."""

    values: Json = field(default_factory=dict)
    file: Path | None = None

    def sources(self, given: Sequence[str] | None) -> list[str]:
        """List the sources given, else those of ``KGSPARQL_KG``, else of the file, each name of a graph as its own."""
        lines = (line.strip() for line in os.environ.get("KGSPARQL_KG", "").splitlines())
        named = list(given or ()) or [line for line in lines if line] or list(self.values.get("graph") or ())
        return list(dict.fromkeys(source for name in named for source in self.values.get(f"graphs.{name}", [name])))


_current = ContextVar("kgsparql_settings", default=Settings())  # noqa: B039 - frozen


def settings() -> Settings:
    """Return the settings that hold for this command."""
    return _current.get()


def load_settings() -> Settings:
    """Read the file, and have its settings hold from now on."""
    named = os.environ.get(CONFIG_VARIABLE, "").strip()
    file = Path(named).absolute() if named else user_file()
    if named and named != "none" and not file.is_file():
        raise OptionError(f"{CONFIG_VARIABLE}: no file {named}", hint="name a file, or unset it")
    own = _read_settings(file) if named != "none" and file.is_file() else {}
    _current.set(Settings(own, file))
    return settings()


def user_file() -> Path:
    """Return where the user's own file is, whether or not there is one."""
    from platformdirs import user_config_dir

    return Path(user_config_dir("kgsparql", appauthor=False)) / "config.toml"


# -- What the version before this one had, and what to do instead -------------------------------------------------


def removed_things() -> dict[str, dict[str, str]]:
    """Read what is gone: options, commands, settings and files, each with what to do instead."""
    return packaged_toml("removed.toml")


def refuse_removed(kind: str, name: str, command_path: str = "") -> None:
    """Raise what to do instead of an option or command that is gone, of one command or of all; else do nothing."""
    gone, command = removed_things()[kind], command_path.partition(" ")[2]
    for one in (f"{command} {name}".strip(), name):
        if one in gone:
            raise OptionError(f"{printable(one, 60)} is gone: {gone[one]}")


def removed_notes() -> Iterator[str]:
    """Tell of each file here or above that this version does not read any more."""
    try:
        here = Path.cwd()
    except OSError:  # a folder that was deleted
        return
    for name, say in removed_things()["files"].items() if CONFIG_VARIABLE not in os.environ else ():
        found = next((folder / name for folder in (here, *here.parents) if (folder / name).is_file()), None)
        if found is not None:
            yield f"{found} is not read any more: {say}"


# -- How a command line is read -----------------------------------------------------------------------------------


class Group(TyperGroup):
    """A group of commands; ``default`` is meant where none is named."""

    default = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Do as any group does."""
        is_named = bool({*args[:1]} & {*self.commands, "-h", "--help"})
        if self.default and not is_named and (args or not self.no_args_is_help):
            refuse_removed("commands", "".join(args[:1]), ctx.command_path)
            args = [self.default, *args]
        _make_plain(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, name: str) -> Any:
        """Return the command of a name; of one that this version has no more, say what to do instead."""
        found = super().get_command(ctx, name)
        if found is None:
            refuse_removed("commands", name, ctx.command_path)
        return found


class Command(TyperCommand):
    """A command that reads settings of a file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Do as any command does, with the settings of files in place of options that are not given."""
        _make_plain(self.get_params(ctx))
        try:
            given, extra, _ = self.make_parser(ctx).parse_args(list(args))
        except TyperException as error:
            refuse_removed("options", getattr(error, "option_name", None) or "", ctx.command_path)
            raise
        try:
            return super().parse_args(ctx, _with_settings(ctx, given, list(args)))
        except TyperException:
            own = [one.name for one in self.params if one.param_type_name == "argument"]
            if extra and any(one.name == "kg" for one in self.params):
                _refuse_extra_words(ctx, args, [*(given[name] for name in own), *extra], len(own))
            raise


def _refuse_extra_words(ctx: Any, args: Sequence[str], words: Sequence[str], most: int) -> None:
    """Raise how it is written what was typed as more words than there may be: graphs by -k, one text in quotes."""
    from kgsparql.graphs.files import has_rdf_suffix
    from kgsparql.graphs.sources import names_endpoint

    graphs = [word for word in words if has_rdf_suffix(Path(word)) or Path(word).exists() or names_endpoint(word)]
    texts = [word for word in words if word not in graphs]
    texts = [" ".join(texts)] if most == 1 and texts else texts
    if len(texts) == most:
        options = [*(word for word in args if word not in words), *(word for one in graphs for word in ("-k", one))]
        what = "a graph is named by -k" if graphs else "several words are put in quotes"
        raise OptionError(what, hint=f"{ctx.command_path} {printable(shlex.join([*options, *texts]), 400)}")


def _make_plain(parameters: Any) -> None:
    for parameter in parameters:
        parameter._runtime_param = _PlainValue()  # noqa: SLF001 - were it called otherwise, it would only be later


class _PlainValue:
    """Stands in for what typer makes the values of one parameter with: pydantic, whose import doubles each start.

    A text and a default need no making. Typer has no public way around it.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Make the value of a parameter, as typer makes it."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        kind = param.type_descriptor.annotation
        values = value if isinstance(value, list | tuple) else [value]
        if kind in {str, list[str]} and all(isinstance(one, str) for one in values):
            return kind(value)
        if kind in {str, int, float} and ctx.get_parameter_source(param.name).name == "DEFAULT":
            return kind(value)
        param._runtime_param = None  # noqa: SLF001 - typer's own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _with_settings(ctx: Any, given: Json, args: list[str]) -> list[str]:
    """Set the defaults of a command from the files; return its words, options of the method before those typed."""
    held = settings().values
    if not held:
        return args
    values = {
        own.option: held[key]
        for key, own in KEYS.items()
        if own.option and key in held and not (own.variable and os.environ.get(own.variable))
    }
    values |= {"lang": ",".join(values["lang"])} if "lang" in values else {}
    unused = ["model", "base_url", "require_model", "trial"] if given.get("no_model") else []
    is_other_method = given.get("retriever") not in {None, values.get("retriever")}
    if ctx.info_name in _EVALUATIONS or is_other_method:
        unused += ["retriever", "option"]
    for name in unused:
        values.pop(name, None)
    options = values.pop("option", {})
    ctx.default_map = values
    if ctx.info_name not in {"ask", "serve", "mcp"}:
        return args
    texts = {name: str(own).lower() if isinstance(own, bool) else own for name, own in options.items()}
    return [*(word for name, own in texts.items() for word in ("-O", f"{name}={own}")), *args]
