"""Kept files that are changed by hand, with the digest that is right for what they then say."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from kgsparql.storage.files import sealed_json
from kgsparql.storage.response_cache import sealed, unsealed


def rewrite(file: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON object that has its digest in it."""
    file.write_text(sealed_json(data))


def replace_in_replies(file: Path, old: str, new: str) -> None:
    """Replace a text in every reply of a recording, each with its checksum."""

    def replaced(key: bytes, reply: str) -> str:
        return sealed(key, json.dumps(unsealed(key, reply), separators=(",", ":")).replace(old, new))

    with closing(sqlite3.connect(file)) as connection, connection:
        connection.create_function("replaced", 2, replaced)
        connection.execute("UPDATE exchange SET reply = replaced(key, reply)")
