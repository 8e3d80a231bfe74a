"""Where files are: the queries and ontologies shipped with kgsparql, and the cache directory; files of options."""

import os
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Self

from kgsparql.errors import DataError, InputError


class ClosedAtExit:
    """What is closed where a ``with`` ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close files and connections; the next use opens them again."""
        raise NotImplementedError


def resource(folder: str, name: str) -> Traversable:
    """Find a shipped file, in a checkout or in an installed wheel.

    A checkout, known by its ``pyproject.toml``, comes first, so that an editable install reads the files being edited
    and not the copies made when it was installed.

    :raises DataError: if neither place has it.
    """
    checkout = Path(__file__).parents[1]
    roots: list[Traversable] = [checkout] if checkout.joinpath("pyproject.toml").is_file() else []
    roots.append(files("kgsparql").joinpath("_data"))
    for root in roots:
        found = root.joinpath(folder).joinpath(name)
        if found.is_file():
            return found
    raise DataError(f"no {name} in {folder}/", code="E_RESOURCE", hint="reinstall kgsparql: it is incomplete")


def packaged_text(path: str) -> str:
    """Return the text of a file of the package, such as ``rdf/units.toml``."""
    return (Path(__file__).parent / path).read_text(encoding="utf-8")


@cache
def packaged_toml(path: str) -> dict[str, Any]:
    """Read a TOML file of the package."""
    import tomllib  # which few commands need

    return tomllib.loads(packaged_text(path))


def option_file(path: str | Path, *, at_most: int = 1_000_000) -> bytes:
    """Return the bytes of a file that an option names, which may be a device without an end."""
    if is_of_the_system(path):
        raise InputError(f"{path}: not a regular file", hint="is it the right file?", path=str(path))
    with Path(path).open("rb") as file:
        data = file.read(at_most + 1)
    if len(data) > at_most:
        raise InputError(f"{path}: larger than {at_most:,} bytes", hint="is it the right file?", path=str(path))
    return data


def is_of_the_system(path: str | Path) -> bool:
    """Tell whether a path leads to what says that it is a regular file, but may take for ever to read: /proc/kmsg."""
    return str(Path(path).resolve()).startswith(("/proc/", "/sys/"))


def cache_directory() -> Path:
    """Return the directory for files that can be made again: ``KGSPARQL_CACHE_DIR``, else the user's cache directory.

    Only its owner may look into the latter: it has what endpoints replied. Who names another, or has a link there,
    decides for that.
    """
    if given := os.environ.get("KGSPARQL_CACHE_DIR"):
        return Path(given)
    from platformdirs import user_cache_dir

    directory = Path(user_cache_dir("kgsparql", appauthor=False))
    with suppress(OSError):  # not there yet, or not ours
        if directory.stat().st_mode & 0o077 and not directory.is_symlink():
            directory.chmod(0o700)
    return directory
