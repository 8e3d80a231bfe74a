"""The result of a query as an engine writes it, up to a limit of rows and bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyoxigraph as ox


class _Enough(Exception):  # noqa: N818 - it stops a serialiser, it is no error
    """The limit of rows or bytes is reached."""


class BoundedLines:
    """A file that an engine writes a result to, and that keeps whole lines up to a limit of rows and bytes."""

    def __init__(self, most_rows: int, most_bytes: int) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._heads = self._lines = 0

    @property
    def rows(self) -> int:
        """The number of solutions or triples that are kept."""
        return self._lines - self._heads

    def take(self, results: Any) -> bool:
        """Take an engine's solutions as TSV, triples as N-Triples, or a boolean; return whether all are kept."""
        self.content, self._lines, self._is_full = bytearray(), 0, False
        if isinstance(results, bool | ox.QueryBoolean):
            self.content, self._lines = bytearray(b"true" if results else b"false"), 1
            return True
        self._heads = int(isinstance(results, ox.QuerySolutions))
        write: Callable[..., object] = getattr(results, "serialize", partial(ox.serialize, results))
        try:
            write(self, ox.QueryResultsFormat.TSV if self._heads else ox.RdfFormat.N_TRIPLES)
        except _Enough:
            return False
        return True

    def write(self, data: bytes) -> int:
        """Keep data up to the limits; the serialiser writes once more after it was stopped, which is dropped."""
        if not self._is_full:
            self.content += data
            self._lines += data.count(b"\n")
            self._is_full = self.rows > self._most_rows or len(self.content) > self._most_bytes
            if self._is_full:
                self._drop_surplus()
                raise _Enough
        return len(data)

    def flush(self) -> None:
        """Do nothing."""

    def _drop_surplus(self) -> None:
        """Drop the lines over either limit, but never the first one, which has the names of the variables."""
        end = self.content.rfind(b"\n", 0, self._most_bytes) + 1 or self.content.find(b"\n") + 1
        lines, most = self.content.count(b"\n", 0, end), self._most_rows + self._heads
        for _ in range(lines - most):
            end = self.content.rfind(b"\n", 0, end - 1) + 1
        del self.content[end:]
        self._lines = min(lines, most)
