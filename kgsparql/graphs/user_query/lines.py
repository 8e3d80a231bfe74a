"""Results written a line each, as many as may be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyoxigraph as ox

__all__ = ["Lines", "written"]


class _Enough(Exception):  # noqa: N818 - it stops a serialiser, it is no error
    """The limit of rows or bytes is reached."""


class Lines:
    """A file that keeps a bounded number of lines, all of them whole."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.content = bytearray()
        self.lines = 0
        self._most = most
        self._most_bytes = most_bytes
        self._full = False

    def write(self, data: bytes) -> int:
        """Keep what may be kept; the serialiser flushes once more when it was stopped, and that is dropped."""
        if self._full:
            return len(data)
        self.content += data
        self.lines += data.count(b"\n")
        self._full = self.lines > self._most or len(self.content) > self._most_bytes
        if self._full:
            self._cut()
            raise _Enough
        return len(data)

    def extend(self, lines: Iterable[bytes]) -> bool:
        """Write lines until no more may be kept; whether they are all there."""
        try:
            for line in lines:
                self.write(line)
        except _Enough:
            return False
        return True

    def _cut(self) -> None:
        """Drop the lines over either limit; of bytes one line may always be kept, for the names of the variables."""
        end = self.content.rfind(b"\n", 0, self._most_bytes) + 1 or self.content.find(b"\n") + 1
        lines = self.content.count(b"\n", 0, end)
        for _ in range(lines - self._most):
            end = self.content.rfind(b"\n", 0, end - 1) + 1
        del self.content[end:]
        self.lines = min(lines, self._most)

    def flush(self) -> None:
        """There is nothing to flush."""


def written(results: ox.QuerySolutions | ox.QueryTriples, lines: Lines) -> bool:
    """Write results a line each, as TSV or N-Triples; whether they are all there."""
    write: Callable[..., object] = results.serialize
    is_solutions = isinstance(results, ox.QuerySolutions)
    try:
        write(lines, ox.QueryResultsFormat.TSV if is_solutions else ox.RdfFormat.N_TRIPLES)
    except _Enough:
        return False
    return True
