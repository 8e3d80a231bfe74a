"""Where kgsparql's own files are: queries and ontologies that are shipped, and the cache directory."""

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from kgsparql.errors import ResourceNotFoundError

__all__ = ["cache_directory", "resource"]


def resource(folder: str, name: str) -> Traversable:
    """Find a shipped file, in a checkout or in an installed wheel.

    The checkout is believed only when ``pyproject.toml`` sits beside it; it comes first, so that an editable install
    reads the files being edited and not the copy made when it was installed.

    :raises ResourceNotFoundError: if neither place has it.

    >>> resource("queries", "labels.rq").is_file()
    True
    """
    roots: list[Traversable] = []
    checkout = Path(__file__).parents[1]
    if checkout.joinpath("pyproject.toml").is_file():
        roots.append(checkout)
    roots.append(files("kgsparql").joinpath("_data"))
    for root in roots:
        found = root.joinpath(folder).joinpath(name)
        if found.is_file():
            return found
    raise ResourceNotFoundError(f"no {name} in {folder}/", hint="reinstall kgsparql: the package is incomplete")


def cache_directory() -> Path:
    """Where kgsparql keeps what it can make again: ``KGSPARQL_CACHE_DIR``, else the user's cache directory."""
    if given := os.environ.get("KGSPARQL_CACHE_DIR"):
        return Path(given)
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("kgsparql", appauthor=False))
