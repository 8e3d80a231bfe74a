"""The manifest of a store: a JSON file inside it that lists its sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgsparql.dataclasses import asdict, field, frozen
from kgsparql.errors import StoreError
from kgsparql.resources import cache_directory
from kgsparql.storage.files import digest_of, read_sealed_json, replace_text, sealed_json

MANIFEST = "kgsparql.json"
_VERSION = 1


@frozen
class StoredSource:
    """One file that was loaded into a store.

    :param source: its absolute path; ``-`` for standard input. In memory: as the user named it.
    :param sha256: of the bytes on the disk, packed or not.
    :param graph: the named graph that only this source fills; ``None`` for the default graph.
    :param graphs: the named graphs inside a file of a quad format.
    :param triples: number of triples that were new to the store.
    :param skipped: number of invalid statements that were left out.
    :param recipe: the options that change what is read (:attr:`ReadOptions.recipe`).
    :param prefixes: declared at the head of the file.
    :param written: literals, in N-Triples, and how the file writes these, where the engine does it otherwise.
    """

    source: str
    sha256: str
    graph: str | None = None
    graphs: tuple[str, ...] = ()
    triples: int = 0
    skipped: int = 0
    first_skipped: str = ""
    recipe: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> StoredSource:
        """Return the source that ``dataclasses.asdict`` and JSON wrote."""
        own = {name: value for name, value in entry.items() if name != "unclear"}  # which 0.2 wrote
        return cls(**{**own, "graphs": tuple(entry["graphs"]), "recipe": tuple(entry["recipe"])})


@frozen
class Manifest:
    """The sources of a store in the order they were loaded, and how long the engine's own list of tables is.

    The engine finds flipped bits by its checksums; but of a list that is cut off it reads what is left, without a word.
    """

    sources: tuple[StoredSource, ...] = ()
    lists: Mapping[str, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """A hash of content, graphs and recipes, in hexadecimal; paths do not matter."""
        return digest_of([(source.sha256, source.graph, source.recipe) for source in self.sources])

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes of all sources; of one prefix with several meanings, the first."""
        return {prefix: name for source in reversed(self.sources) for prefix, name in source.prefixes.items()}

    def write(self, directory: Path) -> None:
        """Write the manifest into the directory of a store."""
        sources = [asdict(source) for source in self.sources]
        lists = {file.name: file.stat().st_size for file in directory.glob("MANIFEST-*")}
        replace_text(directory / MANIFEST, sealed_json({"version": _VERSION, "sources": sources, "lists": lists}))


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a store; without sources if another program made the store."""
    path = directory / MANIFEST
    try:
        data = read_sealed_json(path, version=_VERSION)
        found = Manifest(tuple(map(StoredSource.from_json, data["sources"])), data.get("lists", {}))
        # Of another name where another program wrote to the store.
        cut = [f.name for f in directory.glob("MANIFEST-*") if f.stat().st_size < found.lists.get(f.name, 0)]
    except FileNotFoundError:
        return Manifest()
    except (OSError, LookupError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, StoreError):
            raise
        raise corrupt_store(directory, f"{path.name} cannot be read: {error}") from error
    if cut:
        raise corrupt_store(directory, f"{cut[0]} is cut off")
    return found


def corrupt_store(directory: str | Path, why: str) -> StoreError:
    """Make the error about a damaged store (``E_STORE_CORRUPT``)."""
    hint = f"load its sources into a new store, kgsparql load FILE --store NEW; {MANIFEST} in it names them"
    if Path(directory).is_relative_to(cache_directory().absolute()):
        hint = "it is a copy, which the next question makes anew after: kgsparql cache --clear graphs"
    message = f"{directory}: the store is damaged: {why}"
    return StoreError(message, code="E_STORE_CORRUPT", hint=hint, path=str(directory))
