"""Settings of files, which stand where an option or variable was not given, and how a command line is read with them.

The file of a project is written by whoever wrote the project, who may be a stranger: what it may not say is refused in
``_settings_file``.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from kgsparql.errors import InputError, OptionError
from kgsparql.redaction import KEY_VARIABLE

CONFIG_VARIABLE = "KGSPARQL_CONFIG"
"""Names a file that is read in place of the project's, and trusted; ``none`` reads no file at all."""

PROJECT_FILE = "kgsparql.toml"

OPTIONS = {
    "languages": ("lang", ""), "embedder": ("embedder", "KGSPARQL_EMBEDDER"), "index": ("index", "KGSPARQL_INDEX"),
    "log": ("log", "KGSPARQL_LOG"), "model.name": ("model", "KGSPARQL_MODEL"),
    "model.base_url": ("base_url", "OPENAI_BASE_URL"), "model.temperature": ("temperature", ""),
    "model.reply_tokens": ("reply_tokens", ""), "model.timeout": ("model_timeout", ""),
    "model.prices": ("prices", ""), "method.name": ("retriever", ""), "method.preset": ("preset", ""),
    "method.options": ("option", ""),
    **{f"limits.{name}": (name, "") for name in ("max_queries", "max_seconds", "max_calls", "max_tokens", "max_cost")},
}  # fmt: skip
"""The option that a setting is the default of, and the variable that comes before the setting."""

VARIABLES = {
    "graph": "KGSPARQL_KG", "model.api_key": KEY_VARIABLE,
    **{key: variable for key, (_, variable) in OPTIONS.items() if variable},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and the file that says it; paths in it are absolute."""

    value: Any
    file: Path


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of all files, by their keys.

    :param notes: files that were not read, and why.
    """

    values: Mapping[str, Setting] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def get(self, key: str) -> Any:
        """Return the value of a setting; ``None`` if no file says it."""
        setting = self.values.get(key)
        return None if setting is None else setting.value

    def named_sources(self, given: Sequence[str] | None) -> list[str]:
        """List the sources or names of graphs that are meant: those given, else of ``KGSPARQL_KG``, else of a file."""
        lines = (line.strip() for line in os.environ.get("KGSPARQL_KG", "").splitlines())
        return list(given or ()) or [line for line in lines if line] or list(self.get("graph") or ())

    def sources(self, given: Sequence[str] | None) -> list[str]:
        """List the same, with the sources of a graph in place of its name.

        :raises InputError: for a name that is also a file here, or a known endpoint, or is nearly that of a graph.
        """
        found: list[str] = []
        for name in self.named_sources(given):
            table = self.get(f"graphs.{name}")
            self._check_name(name)
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
                    yield f"{source}: {setting.file} says to ask there; KGSPARQL_CONFIG=none does without that file"

    def prefixes(self, given: Sequence[str] | None) -> dict[str, str]:
        """Return the prefixes of the named graphs; of one prefix with several meanings, the first."""
        tables = [self.get(f"graphs.{name}") or {} for name in self.named_sources(given)]
        return {prefix: name for table in reversed(tables) for prefix, name in table.get("prefixes", {}).items()}

    def of_graphs(self, given: Sequence[str] | None) -> dict[str, Setting]:
        """Return what the named graphs say of languages and prefixes; of several graphs, all their languages."""
        tables = [own for name in self.named_sources(given) if (own := self.values.get(f"graphs.{name}"))]
        said = {key: [own for own in tables if key in own.value] for key in ("languages", "prefixes")}
        values = {
            "languages": list(dict.fromkeys(tag for own in said["languages"] for tag in own.value["languages"])),
            "prefixes": self.prefixes(given),
        }
        return {key: Setting(values[key], own[0].file) for key, own in said.items() if own}

    def _check_name(self, name: str) -> None:
        """Refuse a name that means two things, or nothing but nearly a graph."""
        from kgsparql.graphs.profiles import could_be_alias, known_endpoints

        graphs = [key.removeprefix("graphs.") for key in self.values if key.startswith("graphs.")]
        if not graphs or not could_be_alias(name):
            return
        is_file, is_known = Path(name).exists(), known_endpoints().named(name) is not None
        if name in graphs:
            file = self.values[f"graphs.{name}"].file
            if is_file:
                raise InputError(f"{name}: a file here, and a graph of {file}", hint=f"-k ./{name} is the one here")
            if is_known:
                hint = "give the graph another name"
                raise InputError(f"{name}: a known endpoint, and a graph of {file}", hint=hint)
        elif not is_file and not is_known:
            meant = get_close_matches(name, [*graphs, *known_endpoints().aliases], n=1)
            listed = f"graphs of {PROJECT_FILE}, or of your own file: {', '.join(sorted(graphs))}"
            raise InputError(
                f"{name}: no file, no graph of the settings and no known endpoint is called so",
                hint=f"did you mean {meant[0]}?" if meant else listed,
            )


_current: ContextVar[Settings] = ContextVar("kgsparql_settings", default=Settings())  # noqa: B039 - frozen


def settings() -> Settings:
    """Return the settings that hold for this command."""
    return _current.get()


def load_settings() -> Settings:
    """Read the files, and have their settings hold from now on.

    :raises OptionError: for a file that is not right, or says what it may not.
    """
    values: dict[str, Setting] = {}
    notes: list[str] = []
    for file, is_trusted in settings_files(notes):
        from kgsparql.cli._settings_file import read_settings  # pydantic, which takes 0.1 s

        own = read_settings(file, is_trusted=is_trusted)
        if any(key.startswith("method.") for key in own):  # options are of one method: the tables are not mixed
            values = {key: setting for key, setting in values.items() if not key.startswith("method.")}
        values |= {key: Setting(value, file) for key, value in own.items()}
    found = Settings(values, tuple(notes))
    _current.set(found)
    return found


def user_file() -> Path:
    """Return where the user's own file is, whether or not there is one."""
    from platformdirs import user_config_dir

    return Path(user_config_dir("kgsparql", appauthor=False)) / "config.toml"


def settings_files(notes: list[str]) -> Iterator[tuple[Path, bool]]:
    """Find the files, the one that counts most last, each with whether it is trusted.

    :param notes: gets a line for a file that is not read.
    :raises OptionError: if there is no file where the variable says.
    """
    named = os.environ.get(CONFIG_VARIABLE, "").strip()
    if named == "none":
        return
    project = None if named else _project_file()
    for file in (user_file(), project):
        if file is not None and file.exists() and not file.is_file():
            notes.append(f"{file} is not read: it is no regular file")
        elif file is None or not file.exists():
            continue
        elif file == project and (reason := _reason_not_to_trust(file)):
            notes.append(f"{file} is not read: {reason}; {CONFIG_VARIABLE}={file} reads it all the same")
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
    for folder in (here, *here.parents):
        if (folder / PROJECT_FILE).exists():
            return folder / PROJECT_FILE
        if folder == home:
            break
    return None


def _reason_not_to_trust(file: Path) -> str:
    """Say why a file may be somebody else's; empty if it is not."""
    if os.name != "posix":
        return ""
    status = file.stat()
    if status.st_uid not in {0, os.getuid()}:
        return "it belongs to another user"
    return "everybody may write it" if status.st_mode & 0o002 else ""


# -- How a command line is read -----------------------------------------------------------------------------------

_WORDS: ContextVar[tuple[str, ...]] = ContextVar("kgsparql_words", default=())
"""What was typed after ``kgsparql``."""
_FROM_FILES: ContextVar[tuple[str, ...]] = ContextVar("kgsparql_from_files", default=())
"""The options of this command that settings of files stand in for, as they would be typed."""

_EVALUATIONS = {"run", "compare", "make", "tune", "validate"}
"""Commands of ``eval``: what they measure is typed, and neither a method nor its options come from a file."""
_BY_VARIABLE = {"kg": ("KGSPARQL_KG", "-k", "--kg"), "embedder": ("KGSPARQL_EMBEDDER", "--embedder")}
"""Options that can also be given by a variable: the variable, and the spellings of the option."""


class TypedGroup(TyperGroup):
    """The commands; they remember the words that were typed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Do as any group does."""
        _WORDS.set(tuple(args))
        make_plain(self.get_params(ctx))
        return super().parse_args(ctx, args)


class PlainCommand(TyperCommand):
    """A command that makes plain values itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Do as any command does, with the settings of files in place of options that are not given."""
        make_plain(self.get_params(ctx))
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        return super().parse_args(ctx, _with_settings(ctx, given, args))


def make_plain(parameters: Any) -> None:
    """Have these parameters make plain values themselves."""
    for parameter in parameters:
        _make_with(parameter, _PlainValue())


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
        _make_with(param, None)
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _make_with(parameter: Any, maker: _PlainValue | None) -> None:
    """Set what makes the values of a parameter; ``None`` for typer's own.

    It is typer's private name: were it another, values would be made as typer makes them, only later.
    """
    parameter._runtime_param = maker  # noqa: SLF001


# -- Settings of files in the place of options --------------------------------------------------------------------


def _with_settings(ctx: Any, given: Mapping[str, Any], args: list[str]) -> list[str]:
    """Set the defaults of a command from the files; return its words, options of the method before those typed.

    :param given: the options that were typed, by their parameters.
    """
    found = settings()
    if not found.values:
        return args
    if key := found.get("model.api_key"):
        os.environ.setdefault(KEY_VARIABLE, key)
    values = {key: found.get(key) for key in OPTIONS if found.get(key) is not None}
    values |= {key: own.value for key, own in found.of_graphs(given.get("kg")).items() if key in OPTIONS}
    values = {key: value for key, value in values.items() if not os.environ.get(OPTIONS[key][1] or "=")}
    if given.get("no_model"):
        values = {key: value for key, value in values.items() if OPTIONS[key][0] not in {"model", "base_url"}}
    options = [word for one in _method_options(ctx.info_name, given, values) for word in ("-O", one)]
    is_list = {"languages", "model.prices"}
    ctx.default_map = {
        OPTIONS[key][0]: ",".join(map(str, value)) if key in is_list else value for key, value in values.items()
    }
    sources = found.get("graph") if not (given.get("kg") or os.environ.get("KGSPARQL_KG")) else None
    _FROM_FILES.set((*_as_words(ctx, {"kg": sources or [], **ctx.default_map}, given), *options))
    return [*options, *args]


def _method_options(command: str, given: Mapping[str, Any], values: dict[str, Any]) -> list[str]:
    """List the options of the method, if it is the file's; the method goes from the values if another was typed."""
    options = values.pop("method.options", {})
    typed = given.get("retriever")
    is_other = given.get("preset") is not None or (typed is not None and typed != values.get("method.name"))
    if command in _EVALUATIONS or is_other:
        values.pop("method.name", None)
        values.pop("method.preset", None)
        return []
    is_asking = command in {"ask", "serve", "mcp"}
    return [
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in options.items()
        if is_asking
    ]


def _as_words(ctx: Any, values: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Write the values of options that were not typed; without the log, in which nothing is to be kept again."""
    for parameter in ctx.command.get_params(ctx):
        value = values.get(parameter.name)
        if value is None or given.get(parameter.name) is not None or parameter.name == "log":
            continue
        for one in value if isinstance(value, list) else [value]:
            yield from (parameter.opts[0], str(one))


# -- The command as it can be typed again -------------------------------------------------------------------------


def typed_again(values: Mapping[str, Any]) -> str:
    """Write the command with options in place of variables and settings of files, and no credentials or keys.

    :param values: of the options that variables may give, by their parameters.
    """
    words = [*_typed_words(), *(str(without_secrets(word)) for word in _FROM_FILES.get())]
    for name, (variable, *options) in _BY_VARIABLE.items():
        if os.environ.get(variable) and not any(word.startswith(tuple(options)) for word in words):
            value = values.get(name) or []
            words += [word for one in (value if isinstance(value, list) else [value]) for word in (options[0], one)]
    return shlex.join(words)


def _typed_words() -> list[str]:
    """List the words of this command without the options for snapshots; its name comes first."""
    words: list[str] = []
    is_value = False
    for word in _WORDS.get():
        is_left_out = word.partition("=")[0] in {"--record", "--replay"}
        if not is_value and not is_left_out:
            # The option of a word, and its value: --option=value or -ovalue; one of them may be empty.
            option, sign, value = word.partition("=") if word.startswith("--") else ("", "", word)
            if word.startswith("-") and not word.startswith("--"):
                option, value = word[:2], word[2:]
            words.append(f"{option}{sign}{without_secrets(value)}")
        is_value = not is_value and is_left_out and "=" not in word
    return words


def without_secrets(value: Any) -> Any:
    """Return a value without credentials and keys."""
    from kgsparql.http.address import Address, is_address
    from kgsparql.redaction import redacted

    if isinstance(value, Mapping):
        return {name: without_secrets(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(one) for one in value]
    if isinstance(value, bool | int | float) or value is None:
        return value
    where, sharp, model = str(value).partition("#")
    with suppress(InputError):  # a question may begin like a URL
        where = Address.parse(where).url if is_address(where) else where
    return redacted(f"{where}{sharp}{model}")
