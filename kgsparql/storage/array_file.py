"""A file of arrays that is read through memory mapping; one that was not written to its end is never read."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from kgsparql.storage.files import digest_of, partial_path, put_in_place

if TYPE_CHECKING:
    import numpy.typing as npt

_END = b"kgsparql arrays\n"
_DIGEST = 32
_ALIGNED = 8


class ArrayWriter:
    """Writes arrays one after the other; a table of these comes last, so that half a file has none.

    Use it as a context manager: the file is in its place after the block, or, after an error, as it was.

    :param about: JSON values for the reader, who can refuse the file because of them.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.about = dict(about)
        self._path = path
        self._partial = partial_path(path)
        self._table: dict[str, list[Any]] = {}

    def __enter__(self) -> ArrayWriter:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = self._partial.open("wb")
        return self

    @contextmanager
    def array(self, name: str, dtype: str) -> Iterator[BinaryIO]:
        """Yields the file, to write the bytes of an array to."""
        self._file.write(bytes(-self._file.tell() % _ALIGNED))
        begin = self._file.tell()
        yield self._file
        self._table[name] = [dtype, begin, self._file.tell() - begin]

    def write(self, name: str, array: npt.NDArray[Any]) -> None:
        """Write a whole array."""
        with self.array(name, array.dtype.str) as file:
            file.write(array.tobytes())

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            with suppress(OSError):  # what is left to write, after an error
                self._file.close()
            self._partial.unlink(missing_ok=True)

    def _finish(self) -> None:
        self._file.flush()
        stamp = int(time.time()) // 2 * 2_000_000_000  # as every file system keeps it
        whole = {"size": self._file.tell(), "sha256": digest_of(self._partial), "stamp": stamp}
        table = {"about": self.about, "arrays": self._table, **whole}
        text = json.dumps(table).encode()
        self._file.write(text + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + _END)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.utime(self._partial, ns=(stamp, stamp))
        put_in_place(self._partial, self._path)


def read_arrays(path: Path, *, thoroughly: bool = False) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
    """The JSON values and the arrays of a file, mapped into memory; ``None`` for no file, half of one, or another.

    :param thoroughly: look at the digest of the arrays, even if the file's time is the one it was given.
    """
    import numpy as np

    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            time_ns = os.fstat(file.fileno()).st_mtime_ns
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    tail = len(mapped) - len(_END) - _DIGEST - 8
    if tail < 0 or mapped[-len(_END) :] != _END:
        return None
    length = int.from_bytes(mapped[tail : tail + 8], "little")
    text = mapped[max(0, tail - length) : tail]
    if hashlib.sha256(text).digest() != mapped[tail + 8 : tail + 8 + _DIGEST]:
        return None
    table = json.loads(text)
    if table["size"] != tail - length or "sha256" not in table:
        return None
    if thoroughly or time_ns != table["stamp"]:
        with memoryview(mapped)[: table["size"]] as arrays_of_it:
            if hashlib.sha256(arrays_of_it).hexdigest() != table["sha256"]:
                return None
    arrays = {
        name: np.frombuffer(mapped, dtype, size // np.dtype(dtype).itemsize, begin)
        for name, (dtype, begin, size) in table["arrays"].items()
    }
    return table["about"], arrays
