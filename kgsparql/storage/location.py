"""Where an index is kept: a directory, or a prefix in object storage, which is used like one as far as tables go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from kgsparql.errors import OptionError

_URI = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://[^/]+(?:/[^/?#]+)*/?")
_SCHEMES = ("s3", "gs", "az")
"""Those of the storages that LanceDB reads and writes; who may do so, and where, is in variables such as AWS_…."""


@dataclass(frozen=True, slots=True)
class ObjectPrefix:
    """The first part of the names of some objects, such as ``s3://bucket/prefix``; without a slash at its end.

    >>> index = ObjectPrefix("s3://bucket/prefix") / "labels" / "1f"
    >>> str(index), index.name, str(index.parent)
    ('s3://bucket/prefix/labels/1f', '1f', 's3://bucket/prefix/labels')
    """

    uri: str

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> ObjectPrefix:
        return ObjectPrefix(f"{self.uri}/{name}")

    @property
    def name(self) -> str:
        """The part after the last slash."""
        return self.uri.rpartition("/")[2]

    @property
    def parent(self) -> ObjectPrefix:
        """The prefix before the last slash."""
        return ObjectPrefix(self.uri.rpartition("/")[0])


Location: TypeAlias = Path | ObjectPrefix


def location(text: str) -> Location:
    """The location that a person names: a URI of object storage, else a directory.

    :raises OptionError: for a URI that is not one of object storage.

    >>> location("s3://bucket/prefix/")
    ObjectPrefix(uri='s3://bucket/prefix')
    """
    if "://" not in text:
        return Path(text).absolute()
    found = _URI.fullmatch(text)
    if found is None or found["scheme"] not in _SCHEMES:
        raise OptionError(f"{text!r} is no place for an index", hint="a directory, or s3://bucket/prefix")
    return ObjectPrefix(text.rstrip("/"))
