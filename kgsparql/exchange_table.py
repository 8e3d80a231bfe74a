"""The table of an SQLite file that holds exchanges."""

from __future__ import annotations

import sqlite3

__all__ = ["PRUNE", "VERSION", "has_tables", "make_table", "version"]

VERSION = 1
"""Of the table; kept as SQLite's ``user_version``."""

_SCHEMA = """
CREATE TABLE exchange (
    key BLOB PRIMARY KEY, kind TEXT NOT NULL, made TEXT NOT NULL, bytes INTEGER NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL
);
CREATE INDEX exchange_kind ON exchange (kind, made, bytes);
"""

PRUNE = """
DELETE FROM exchange WHERE kind = ?1 AND (made < ?2 OR rowid NOT IN (
    SELECT rowid FROM (
        SELECT rowid, sum(bytes) OVER (ORDER BY made DESC, rowid DESC) AS total FROM exchange WHERE kind = ?1
    ) WHERE total <= ?3
))
"""
"""Removes those of a kind that are older than a time, and the oldest of those that are too many bytes."""


def make_table(connection: sqlite3.Connection) -> None:
    """Make the table, unless somebody else was faster."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not has_tables(connection):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether there is any table in the file."""
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def version(connection: sqlite3.Connection) -> int:
    """The version of the table; 0 in a file of somebody else, or a new one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
