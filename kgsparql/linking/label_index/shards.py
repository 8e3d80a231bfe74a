"""Shards: disjoint parts of a graph's entities, whose labels can be indexed at the same time on several machines."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from kgsparql.errors import OptionError
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import Literal

MAX_SHARDS = 10_000
_WRITTEN = re.compile(r"([0-9]{1,5})/([0-9]{1,5})")
_DIGITS = 8
"""Hexadecimal digits of a bound: so many that shards differ in size by chance only."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The entities whose IRIs have an MD5 in one of ``count`` ranges of equal length.

    Any SPARQL engine can say which these are, the same on every machine: MD5 is a function of SPARQL 1.1.

    :param number: from 1 to ``count``.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that a person writes as ``3/16``.

        :raises OptionError: for anything else.

        >>> str(Shard.parse("3/16")), Shard.parse("3/16").folder
        ('3/16', '3-of-16')
        """
        found = _WRITTEN.fullmatch(text.strip())
        number, count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= count <= MAX_SHARDS:
            raise OptionError(f"--shard {text!r} is no shard", hint=f"1/16 to 16/16; at most {MAX_SHARDS:,} shards")
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def folder(self) -> str:
        """The name of the directory of its part of an index."""
        return f"{self.number}-of-{self.count}"

    @property
    def bounds(self) -> tuple[str, str]:
        """The least hexadecimal MD5 of the range, and the least beyond it.

        >>> Shard(1, 2).bounds, Shard(2, 2).bounds
        (('00000000', '80000000'), ('80000000', 'g'))
        """
        span = 16**_DIGITS
        least, beyond = (span * place // self.count for place in (self.number - 1, self.number))
        return f"{least:0{_DIGITS}x}", "g" if self.number == self.count else f"{beyond:0{_DIGITS}x}"

    def has(self, key: str) -> bool:
        """Whether an IRI, or another key, is in this shard.

        >>> [number for number in range(1, 5) if Shard(number, 4).has("http://example.org/a")]
        [2]
        """
        least, beyond = self.bounds
        written = key.encode(errors="surrogatepass")  # names of files may have any bytes
        return least <= hashlib.md5(written, usedforsecurity=False).hexdigest() < beyond

    def only(self, query: Query) -> Query:
        """A query with the parameters ``?least`` and ``?beyond`` for the entities of this shard alone."""
        return query.bind_rows(("least", "beyond"), [tuple(map(Literal, self.bounds))])
