"""What goes through the pipes between a session and its worker: a JSON header and, after it, bytes."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

__all__ = ["ChunkReader", "ChunkWriter", "read_frame", "write_frame"]

_LENGTHS = struct.Struct(">IQ")
_LENGTH = struct.Struct(">I")


def write_frame(pipe: BinaryIO, header: dict[str, Any], body: bytes = b"") -> None:
    """Write a header and the bytes that belong to it."""
    text = json.dumps(header).encode()
    pipe.write(_LENGTHS.pack(len(text), len(body)) + text)
    pipe.write(body)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """The next header and its bytes; ``None`` at the end, also when that comes in the middle of a frame."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    length, body_length = _LENGTHS.unpack(lengths)
    text, body = pipe.read(length), pipe.read(body_length)
    if len(text) < length or len(body) < body_length:
        return None
    header: dict[str, Any] = json.loads(text)
    return header, body


class ChunkWriter:
    """A file whose content is sent in pieces of a stated length, so that its end can be told."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe

    def write(self, data: bytes) -> int:
        """Send a piece."""
        if data:
            self._pipe.write(_LENGTH.pack(len(data)) + data)
        return len(data)

    def flush(self) -> None:
        """Leave it to the pipe."""

    def close(self) -> None:
        """Say that this was all."""
        self._pipe.write(_LENGTH.pack(0))
        self._pipe.flush()


class ChunkReader:
    """The other end of a :class:`ChunkWriter`."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._left = b""
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; none at the end."""
        if not self._left and not self._ended:
            head = self._pipe.read(_LENGTH.size)
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
            self._ended = length == 0
            self._left = self._pipe.read(length)
        if size < 0:
            size = len(self._left)
        piece, self._left = self._left[:size], self._left[size:]
        return piece
