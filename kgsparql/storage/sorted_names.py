"""Many names in lexical order, front-coded: each has a number, and is found by it or by its bytes in microseconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

PER_BLOCK = 16
"""Names of a block, whose first is written whole. More save space and take longer to read."""
_MOST_SHARED = 200
_FIRST_LENGTH = 16
"""Lengths are written as one byte, from this on: a line feed is none of them."""


@dataclass(frozen=True, slots=True)
class SortedNames:
    r"""Names that were written by :func:`front_coded`.

    :param data: the blocks.
    :param starts: where each block begins, and where the last one ends.
    :param count: how many names there are.

    >>> from itertools import accumulate
    >>> blocks = list(front_coded([b"apple", b"apricot", b"fig"]))
    >>> names = SortedNames(b"".join(blocks), [0, *accumulate(map(len, blocks))], 3)
    >>> names[1], names.number(b"fig"), names.number(b"kiwi")
    (b'apricot', 2, None)
    """

    data: bytes | memoryview
    starts: Sequence[int]
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> bytes:
        """The name with a number."""
        block, place = divmod(number, PER_BLOCK)
        name = b""
        for part in self._parts(block)[: place + 1]:
            name = name[: part[0] - _FIRST_LENGTH] + part[1:]
        return name

    def number(self, name: bytes) -> int | None:
        """The number of a name; ``None`` if it is not there."""
        low, high = 0, len(self.starts) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._first(middle) <= name:
                low = middle
            else:
                high = middle
        if self.count:
            found = b""
            for place, part in enumerate(self._parts(low)):
                found = found[: part[0] - _FIRST_LENGTH] + part[1:]
                if found == name:
                    return low * PER_BLOCK + place
        return None

    def _first(self, block: int) -> bytes:
        return self._block(block).partition(b"\n")[0][1:]

    def _parts(self, block: int) -> list[bytes]:
        return self._block(block)[:-1].split(b"\n")

    def _block(self, block: int) -> bytes:
        return bytes(self.data[self.starts[block] : self.starts[block + 1]])


def front_coded(names: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks of some names, each of which is greater than the one before, and has no line feed."""
    lines: list[bytes] = []
    before = b""
    for name in names:
        shared = _shared(before, name) if lines else 0
        lines.append(b"%c%b\n" % (shared + _FIRST_LENGTH, name[shared:]))
        before = name
        if len(lines) == PER_BLOCK:
            yield b"".join(lines)
            lines = []
    if lines:
        yield b"".join(lines)


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two names begin with together, up to a bound."""
    length = min(len(one), len(other), _MOST_SHARED)
    differing = int.from_bytes(one[:length], "big") ^ int.from_bytes(other[:length], "big")
    return length - (differing.bit_length() + 7) // 8
