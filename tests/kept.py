"""Kept files that are changed by hand, with the digest that is right for what they then say."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from kgsparql.storage.array_file import ArrayWriter, read_arrays
from kgsparql.storage.integrity import checked_text, read_checked_text, with_digest
from kgsparql.storage.response_cache import _sealed, unsealed

__all__ = ["in_other_byte_order", "read_checked", "replace_in_replies", "rewrite", "write_checked"]


def rewrite(file: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object that has its digest in it."""
    file.write_text(json.dumps(with_digest(data)))


def read_checked(file: Path) -> dict[str, Any]:
    """The JSON object below a line with its digest."""
    data: dict[str, Any] = json.loads(read_checked_text(file))
    return data


def write_checked(file: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object below a line with its digest."""
    file.write_text(checked_text(json.dumps(data)))


def replace_in_replies(file: Path, old: str, new: str) -> None:
    """Replace a text in every reply of a recording, each with its checksum."""

    def replaced(key: bytes, reply: str) -> str:
        return _sealed(key, json.dumps(unsealed(key, reply), separators=(",", ":")).replace(old, new))

    with closing(sqlite3.connect(file)) as connection, connection:
        connection.create_function("replaced", 2, replaced)
        connection.execute("UPDATE exchange SET reply = replaced(key, reply)")


def in_other_byte_order(file: Path) -> None:
    """Write a file of arrays as a machine with the other byte order writes it."""
    found = read_arrays(file)
    assert found is not None
    about, arrays = found
    with ArrayWriter(file, about) as writer:
        for name, array in arrays.items():
            writer.write(name, array.astype(array.dtype.newbyteorder()))
