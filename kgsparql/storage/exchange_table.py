"""The table of an SQLite file that holds exchanges."""

from __future__ import annotations

from kgsparql.storage.sqlite_file import Contents

__all__ = ["EXCHANGE_TABLE", "PRUNE"]

EXCHANGE_TABLE = Contents(
    what="exchanges",
    version=1,
    tables="""
CREATE TABLE exchange (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, made TEXT NOT NULL, bytes INTEGER NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL
);
CREATE INDEX exchange_kind ON exchange (kind, made, bytes);
""",
    again="the replies are asked for again",
    room="kgsparql cache --clear all",
)

PRUNE = """
DELETE FROM exchange WHERE kind = ?1 AND (made < ?2 OR rowid NOT IN (
    SELECT rowid FROM (
        SELECT rowid, sum(bytes) OVER (ORDER BY made DESC, rowid DESC) AS total FROM exchange WHERE kind = ?1
    ) WHERE total <= ?3
))
"""
"""Removes those of a kind that are older than a time, and the oldest of those that are too many bytes."""
