"""Finished runs as files, so that the address of one opens it later, whatever has become of the graph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kgsparql.storage.files import read_sealed_json, replace_text, sealed_json

FOLDER = "runs"
"""Below the cache directory."""

_NAME = re.compile(r"[0-9a-f]{32}")
_MOST_BYTES = 64_000_000


class KeptRuns:
    """A directory of runs, readable by its owner only; beyond ``most`` the oldest are removed.

    >>> import tempfile
    >>> kept = KeptRuns(Path(tempfile.mkdtemp()) / "runs")
    >>> kept.put("a" * 32, {"question": "Who?"})
    >>> kept.get("a" * 32), kept.get("../passwd")
    ({'question': 'Who?'}, None)
    """

    def __init__(self, directory: Path, *, most: int = 1_000) -> None:
        self._directory, self._most = directory, most

    def put(self, name: str, run: Mapping[str, Any]) -> None:
        """Keep a run."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_text(self._file(name), sealed_json(run, indent=None), mode=0o600)

    def get(self, name: str) -> dict[str, Any] | None:
        """A run that is kept; ``None`` if none is of this name, or it is not what was written any more."""
        if not _NAME.fullmatch(name):
            return None
        file = self._file(name)
        try:
            if file.stat().st_size > _MOST_BYTES:
                return None
            return read_sealed_json(file)
        except (OSError, ValueError):
            return None

    def sweep(self) -> None:
        """Remove the oldest runs beyond those that are kept."""
        if not self._directory.is_dir():
            return
        files = [(entry.stat().st_mtime, entry) for entry in self._directory.glob("*.json")]
        for _, entry in sorted(files, reverse=True)[self._most :]:
            with suppress(OSError):  # it is being read on Windows, or is removed by another process
                entry.unlink()

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.json"
