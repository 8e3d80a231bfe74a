"""LanceDB tables and blobs in a directory, with a manifest that lists the complete ones."""

from __future__ import annotations

import json
import mmap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from kgsparql.errors import KgsparqlError, StoreError
from kgsparql.rdf.terms import Json, printable
from kgsparql.storage.files import (
    are_whole,
    disk_full,
    is_disk_full,
    read_sealed_json,
    replace_text,
    replaced_file,
    sealed_json,
    sizes_of,
)

MANIFEST = "kgsparql-index.json"
_VERSION = 1
_BLOB = ".bin"
_Result = TypeVar("_Result")
_importing = threading.Lock()


def lancedb(part: str = "") -> Any:
    """Import the package LanceDB, or a module of it, such as ``index``; nothing else imports it.

    Its modules import each other in a circle: two threads that import it at once may see half a module, so the second
    waits here.
    """
    with _importing:
        whole = import_module("lancedb")
        return import_module(f"lancedb.{part}") if part else whole


class Tables:
    """A directory of tables. Tables that its manifest does not name are leftovers of a stopped writer.

    A writer holds the directory's lock; readers need none, because the manifest is replaced in one step.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def manifest(self) -> Json | None:
        """Return what the last complete writer published; ``None`` if there was none, or a file of it is damaged."""
        try:
            data = read_sealed_json(self.directory / MANIFEST, version=_VERSION)
        except StoreError:
            raise
        except (OSError, ValueError):
            return None
        sizes = data.get("sizes")  # 0.2 kept digests
        return data if sizes and are_whole(self.directory, sizes) else None

    def publish(self, manifest: Json) -> None:
        """Replace the manifest in one step."""
        names = json.dumps({name: value for name, value in manifest.items() if name != "sizes"})
        with errors_translated(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            named = [entry for entry in self.directory.iterdir() if json.dumps(entry.stem) in names]
            files = sorted(file for entry in named for file in (entry, *entry.rglob("*")) if file.is_file())
            whole = {**manifest, "version": _VERSION, "sizes": sizes_of(self.directory, files)}
            replace_text(self.directory / MANIFEST, sealed_json(whole, indent=None), sync=True)

    def names(self) -> list[str]:
        """List all tables and blobs, complete or not."""
        return sorted(entry.stem for entry in self.directory.glob("*") if entry.suffix in {".lance", _BLOB})

    def written(self, name: str, data: Any, table: Any = None) -> Any:
        """Add the rows of a pyarrow table to a table; without one, make it, in place of a table of that name."""
        with errors_translated(self.directory):
            if table is None:
                self._open_database.drop_table(name, ignore_missing=True)  # "overwrite" of nothing writes to stderr
                return self._open_database.create_table(name, data)
            table.add(data)
            return table

    def open(self, name: str) -> Any | None:
        """Return a table; ``None`` if it is missing or incomplete."""
        database = self._open_database
        try:
            return database.open_table(name)
        except (OSError, ValueError, RuntimeError):
            return None

    def opened(self, name: str) -> Any:
        """Return a table that a manifest names; a StoreError if it is missing or damaged."""
        table = self.open(name)
        if table is None:
            is_gone = self.manifest() is None
            raise StoreError(
                f"{self.directory}: the table {name} is {'gone' if is_gone else 'damaged'}",
                hint="it was removed meanwhile; ask again" if is_gone else "delete that directory; it is made again",
            )
        return table

    def rows(self, query: Any, columns: Sequence[str], limit: int) -> Any:
        """Return these columns of what a query finds, at most so many rows, as a pyarrow table."""
        with errors_translated(self.directory):
            return query.select(list(columns)).limit(limit).to_arrow().select(list(columns))

    def put_blob(self, name: str, write: Callable[[BinaryIO], _Result]) -> _Result:
        """Keep what is written to a stream, as a file that is there whole or not."""
        with errors_translated(self.directory):
            self.directory.mkdir(0o700, parents=True, exist_ok=True)
            with replaced_file(self.directory / f"{name}{_BLOB}", sync=True) as file:
                return write(file)

    def blob(self, name: str) -> mmap.mmap:
        """Return a blob that a manifest names: mapped, so that only what is looked at is read."""
        try:
            with (self.directory / f"{name}{_BLOB}").open("rb") as file:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise StoreError(f"{self.directory}: {name} is gone", hint="it was removed meanwhile; ask again") from error

    def drop(self, names: Iterable[str]) -> None:
        """Remove tables and blobs, complete or not."""
        with errors_translated(self.directory):
            for name in names:
                if (blob := self.directory / f"{name}{_BLOB}").exists():
                    blob.unlink()
                else:
                    self._open_database.drop_table(name, ignore_missing=True)

    @cached_property
    def _open_database(self) -> Any:
        package = lancedb()  # takes a second or more: only when a table is needed
        with errors_translated(self.directory):
            self.directory.mkdir(0o700, parents=True, exist_ok=True)
            return package.connect(self.directory)


@contextmanager
def errors_translated(directory: Path) -> Iterator[None]:
    """Raise errors of LanceDB and of the file system as ours."""
    try:
        yield
    except KgsparqlError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        if is_disk_full(error):
            raise disk_full(directory) from error
        hint = "set KGSPARQL_CACHE_DIR to a directory you may write to"
        if isinstance(error, FileNotFoundError) or "not found" in str(error).lower():
            hint = "it was removed meanwhile; ask again"
        raise StoreError(f"{directory}: {printable(error, 200)}", hint=hint) from error
