"""Where files are: the queries and ontologies shipped with kgsparql, and the cache directory."""

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from kgsparql.errors import ResourceNotFoundError


def resource(folder: str, name: str) -> Traversable:
    """Find a shipped file, in a checkout or in an installed wheel.

    A checkout, known by its ``pyproject.toml``, comes first, so that an editable install reads the files being edited
    and not the copies made when it was installed.

    :raises ResourceNotFoundError: if neither place has it.

    >>> resource("queries", "labels.rq").is_file()
    True
    """
    checkout = Path(__file__).parents[1]
    roots: list[Traversable] = [checkout] if checkout.joinpath("pyproject.toml").is_file() else []
    roots.append(files("kgsparql").joinpath("_data"))
    for root in roots:
        found = root.joinpath(folder).joinpath(name)
        if found.is_file():
            return found
    raise ResourceNotFoundError(f"no {name} in {folder}/", hint="reinstall kgsparql: the package is incomplete")


def cache_directory() -> Path:
    """The directory for files that can be made again: ``KGSPARQL_CACHE_DIR``, else the user's cache directory."""
    if given := os.environ.get("KGSPARQL_CACHE_DIR"):
        return Path(given)
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("kgsparql", appauthor=False))
