"""Whether what was kept is what was written: a digest in each file of text, and the digests of files of other programs.

A digest finds damage, and does not defend against who may write the files: they could write another digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_DIGEST = "sha256"
_AT_ONCE = 2**28
"""Bytes whose digest is looked at each time, where files are younger or older than they should be: of a copy, say."""


def checked_text(text: str) -> str:
    """The text of a file, below a line with its digest."""
    return f"{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}\n{text}"


def read_checked_text(file: Path) -> str:
    """The text that was written; JSON without a digest is of an earlier version, and taken as it is.

    :raises ValueError: if it is not what was written.
    :raises OSError: if it cannot be read.
    """
    content = file.read_text(encoding="utf-8")
    _, _, text = content.partition("\n")
    if content.startswith("{"):
        return content
    if content != checked_text(text):
        raise ValueError("damaged: it is not what was written")
    return text


def with_digest(data: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the digest of all else that is in it."""
    plain = {name: value for name, value in data.items() if name != _DIGEST}
    return {**plain, _DIGEST: hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()}


def is_as_written(data: Mapping[str, Any]) -> bool:
    """Whether a JSON object has its digest, or none, as of an earlier version."""
    return _DIGEST not in data or with_digest(data)[_DIGEST] == data[_DIGEST]


def seals(directory: Path, files: Iterable[Path]) -> dict[str, list[Any]]:
    """Size, time and digest of files that stay as they are, by their paths in a directory."""
    found = {}
    for file in files:
        stat = file.stat()
        found[file.relative_to(directory).as_posix()] = [stat.st_size, stat.st_mtime_ns, digest_of(file)]
    return found


def damaged(directory: Path, sealed: Mapping[str, Any], *, thoroughly: bool = False) -> list[str]:
    """The files that are gone or not as they were; the digest of one is looked at if its time is another.

    :param thoroughly: look at every digest.
    """
    found, left = [], _AT_ONCE
    for name, (size, time_ns, digest) in sealed.items():
        try:
            stat = (directory / name).stat()
            is_whole = stat.st_size == size
            if is_whole and (thoroughly or (stat.st_mtime_ns != time_ns and (left := left - size) >= 0)):
                is_whole = digest_of(directory / name) == digest
        except OSError:
            is_whole = False
        if not is_whole:
            found.append(name)
    return found


def digest_of(file: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
