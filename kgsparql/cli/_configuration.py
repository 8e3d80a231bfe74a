"""Settings of files: which files there are, what they may say, and what holds if several say it.

A setting of a file stands where its option or variable was not given. The file of a project is written by whoever
wrote the project, who may be a stranger: it names no server that gets the user's key, no key, and no place outside its
own folder that would be written to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError, OptionError
from kgsparql.redaction import KEY_VARIABLE

CONFIG_VARIABLE = "KGSPARQL_CONFIG"
"""Names a file that is read in place of the project's, and trusted; ``none`` reads no file at all."""

PROJECT_FILE = "kgsparql.toml"
_NO_FILE = "is not read: it is no regular file"

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
class Configuration:
    """The settings of all files, by their keys.

    :param notes: files that were not read, and why.
    """

    settings: Mapping[str, Setting] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def get(self, key: str) -> Any:
        """The value of a setting; ``None`` if no file says it."""
        setting = self.settings.get(key)
        return None if setting is None else setting.value

    def named_sources(self, given: Sequence[str] | None) -> list[str]:
        """The sources or names of graphs that are meant: those given, else of ``KGSPARQL_KG``, else of a file."""
        lines = (line.strip() for line in os.environ.get("KGSPARQL_KG", "").splitlines())
        return list(given or ()) or [line for line in lines if line] or list(self.get("graph") or ())

    def sources(self, given: Sequence[str] | None) -> list[str]:
        """The same, with the sources of a graph in place of its name.

        :raises InputError: for a name that is also a file here, or a known endpoint, or is nearly that of a graph.
        """
        found: list[str] = []
        for name in self.named_sources(given):
            table = self.get(f"graphs.{name}")
            if table is None:
                self._check_spelling(name)
            else:
                self._check_name(name)
            found += [name] if table is None else table["sources"]
        return list(dict.fromkeys(found))

    def project_servers(self, given: Sequence[str] | None) -> Iterator[str]:
        """A line for each server that the file of a project names: it gets the queries, and the user's contact."""
        from kgsparql.http.address import is_address

        for name in self.named_sources(given):
            setting = self.settings.get(f"graphs.{name}") or self.settings.get("graph")
            if setting is None or setting.file == user_file() or os.environ.get(CONFIG_VARIABLE):
                continue
            for source in setting.value["sources"] if isinstance(setting.value, dict) else [name]:
                if is_address(source) and source not in (given or os.environ.get("KGSPARQL_KG", "")):
                    yield f"{source}: {setting.file} says to ask there; KGSPARQL_CONFIG=none does without that file"

    def prefixes(self, given: Sequence[str] | None) -> dict[str, str]:
        """The prefixes of the named graphs; of one prefix with several meanings, the first."""
        tables = [self.get(f"graphs.{name}") or {} for name in self.named_sources(given)]
        return {prefix: name for table in reversed(tables) for prefix, name in table.get("prefixes", {}).items()}

    def of_graphs(self, given: Sequence[str] | None) -> dict[str, Setting]:
        """What the named graphs say of languages, index and prefixes; of several graphs, all their languages."""
        tables = [own for name in self.named_sources(given) if (own := self.settings.get(f"graphs.{name}"))]
        said = {key: [own for own in tables if key in own.value] for key in ("languages", "index", "prefixes")}
        if len({own.value["index"] for own in said["index"]}) > 1:
            raise OptionError("these graphs have indexes in several places", hint="choose one with --index")
        values = {
            "languages": list(dict.fromkeys(tag for own in said["languages"] for tag in own.value["languages"])),
            "index": next((own.value["index"] for own in said["index"]), None),
            "prefixes": self.prefixes(given),
        }
        return {key: Setting(values[key], own[0].file) for key, own in said.items() if own}

    def _check_spelling(self, name: str) -> None:
        from kgsparql.graphs.profiles.catalogue import known_endpoints
        from kgsparql.graphs.profiles.profile import could_be_alias

        graphs = [key.removeprefix("graphs.") for key in self.settings if key.startswith("graphs.")]
        if not graphs or not could_be_alias(name) or Path(name).exists() or known_endpoints().named(name) is not None:
            return
        meant = get_close_matches(name, [*graphs, *known_endpoints().aliases], n=1)
        listed = f"graphs of {PROJECT_FILE}, or of your own file: {', '.join(sorted(graphs))}"
        raise InputError(
            f"{name}: no file, no graph of the settings and no known endpoint is called so",
            hint=f"did you mean {meant[0]}?" if meant else listed,
        )

    def _check_name(self, name: str) -> None:
        from kgsparql.graphs.profiles.catalogue import known_endpoints

        file = self.settings[f"graphs.{name}"].file
        if Path(name).exists():
            raise InputError(f"{name}: a file here, and a graph of {file}", hint=f"-k ./{name} is the one here")
        if known_endpoints().named(name) is not None:
            raise InputError(f"{name}: a known endpoint, and a graph of {file}", hint="give the graph another name")


_current: ContextVar[Configuration] = ContextVar("kgsparql_configuration", default=Configuration())  # noqa: B039 - frozen


def configuration() -> Configuration:
    """The settings that hold for this command."""
    return _current.get()


def load_configuration() -> Configuration:
    """Read the files, and have their settings hold from now on.

    :raises OptionError: for a file that is not right, or says what it may not.
    """
    settings: dict[str, Setting] = {}
    notes: list[str] = []
    for file, is_trusted in configuration_files(notes):
        own = _settings_of(file, is_trusted=is_trusted)
        if any(key.startswith("method.") for key in own):  # options are of one method: the tables are not mixed
            settings = {key: setting for key, setting in settings.items() if not key.startswith("method.")}
        settings |= own
    found = Configuration(settings, tuple(notes))
    _current.set(found)
    return found


def user_file() -> Path:
    """Where the user's own file is, whether or not there is one."""
    from platformdirs import user_config_dir

    return Path(user_config_dir("kgsparql", appauthor=False)) / "config.toml"


def configuration_files(notes: list[str]) -> Iterator[tuple[Path, bool]]:
    """The files, the one that counts most last, each with whether it is trusted.

    :param notes: gets a line for a file that is not read.
    :raises OptionError: if there is no file where the variable says.
    """
    named = os.environ.get(CONFIG_VARIABLE, "").strip()
    if named == "none":
        return
    if (own := user_file()).is_file():
        yield own, True
    elif own.exists():
        notes.append(f"{own} {_NO_FILE}")
    if named:
        if not Path(named).is_file():
            raise OptionError(f"{CONFIG_VARIABLE}: no file {named}", hint="name a file, or unset it")
        yield Path(named).absolute(), True
    elif (project := _project_file()) is not None:
        if not project.is_file():
            notes.append(f"{project} {_NO_FILE}")
        elif reason := _foreign(project):
            notes.append(f"{project} is not read: {reason}; {CONFIG_VARIABLE}={project} reads it all the same")
        else:
            yield project, False


def _project_file() -> Path | None:
    """The nearest file from the current directory upwards, not above the home directory."""
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


def _foreign(file: Path) -> str:
    """Why a file may be somebody else's; empty if it is not."""
    if os.name != "posix":
        return ""
    status = file.stat()
    if status.st_uid not in {0, os.getuid()}:
        return "it belongs to another user"
    return "everybody may write it" if status.st_mode & 0o002 else ""


def _settings_of(file: Path, *, is_trusted: bool) -> dict[str, Setting]:
    from kgsparql.cli._configuration_file import read_settings  # pydantic, which takes 0.1 s
    from kgsparql.cli._trusted_settings import check_key_file, check_project_settings, with_paths

    settings = with_paths(read_settings(file), file.parent)
    if is_trusted:
        check_key_file(settings, file)
    else:
        check_project_settings(settings, file)
    return {key: Setting(value, file) for key, value in settings.items()}
