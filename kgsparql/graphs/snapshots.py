"""Snapshots: every reply that a run got from endpoints and models, so that it can run again without them.

::

    DIR/
      manifest.json        what was recorded, when, with which versions; hashes of the local graphs
      exchanges.sqlite     every query and its reply, every call of a model, every vector of a server; failures too
      cache/               the label indexes and vectors that the run used, and no others
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from kgsparql.budget import Elapsed, Usage
from kgsparql.errors import InputError, ReplayMissError, SnapshotError, StoreError
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.resources import ClosedAtExit
from kgsparql.storage.files import partial_path, put_in_place, read_sealed_json, replace_text, sealed_json, writer_lock
from kgsparql.storage.response_cache import RESPONSE_FILE, Recording

_FORMAT = 1
_MANIFEST = "manifest.json"
_WAIT_S = 60.0
_QUESTION, _MEASURED = "question", "measured"
"""The kinds of exchange that hold the time and cost of a question, and other times that were measured."""


class Snapshot(ClosedAtExit):
    """A directory that a run is recorded into, or replayed from.

    A replay sends no request. Values that depend on the clock, the machine or an earlier run are as they were recorded.
    Recording into an existing snapshot adds to it; for the same request the later replies are kept.

    :param mode: ``write`` to record, ``only`` to replay.
    :param about: entries for the manifest about the run that is recorded; without secrets.
    :param note: called with each line that a person should read.
    """

    def __init__(
        self, directory: Path, mode: Literal["write", "only"], *, about: Mapping[str, Any] | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.directory = Path(directory)
        self.is_replay = mode == "only"
        self.recording = Recording(self.directory / RESPONSE_FILE, mode=mode)
        self._about = dict(about or {})
        self._runs = self._read_runs()
        if self.is_replay and not self._runs:
            raise InputError(f"{self.directory}: no snapshot", hint=f"record one: --record {self.directory}")
        from importlib.metadata import version

        recorded_with = {run["versions"]["kgsparql"] for run in self._runs}
        if note is not None and self.is_replay and version("kgsparql") not in recorded_with:
            note(f"recorded with kgsparql {', '.join(sorted(recorded_with))}: this one may ask for something else")

    def close(self) -> None:
        """Close the recording; the next exchange opens it again."""
        self.recording.close()

    @property
    def cache(self) -> Path:
        """The snapshot's own cache directory, so that the user's cache does not change what is recorded."""
        return self.directory / "cache"

    def about_graph(self, graph: KnowledgeGraph) -> None:
        """Note the hash of a local graph when recording; in a replay, raise a SnapshotError if it is another."""
        fingerprints = {member.name: "" if member.is_remote else member.fingerprint for member in graph.members}
        if not self.is_replay:
            self._add_run(fingerprints)
            return
        recorded = {own for run in self._runs for own in run["graphs"].values()}
        for name, own in fingerprints.items():
            if own and own not in recorded:
                hint = "a replay needs the same files; or record again into another directory"
                raise SnapshotError(f"{name} is not as it was recorded in {self.directory}", hint=hint, path=name)

    def cache_copy(self, kept: Path, cache: Path) -> Path:
        """Return the path in this snapshot for a directory of the user's cache, which is copied there when recording.

        So an index with vectors, which takes long to build, is used in a recording and in each replay.
        """
        own = self.cache / kept.relative_to(cache)
        if self.is_replay or own.exists():
            return own
        if not kept.is_dir():
            own.mkdir(parents=True, exist_ok=True)  # nothing was used, and what the cache gets later must not be copied
            return own
        made = partial_path(own)
        try:
            with writer_lock(kept, wait_s=_WAIT_S), writer_lock(own, wait_s=_WAIT_S):
                if not own.exists():
                    shutil.copytree(kept, made)
                    put_in_place(made, own)
        except OSError as error:
            shutil.rmtree(made, ignore_errors=True)
            raise StoreError(f"{kept}: cannot be copied to {own}: {error.strerror}", path=str(kept)) from error
        return own

    def elapsed(self, question: Mapping[str, Any]) -> Elapsed | None:
        """Return the time and cost of a question that is replayed; ``None`` if it was not finished when recorded."""
        if self.is_replay:
            with suppress(ReplayMissError):
                kept: dict[str, Any] = self.recording.get(_QUESTION, question) or {}
                return Elapsed(**kept | {name: tuple(pair) for name, pair in kept.items() if isinstance(pair, list)})
        return None

    def keep_elapsed(self, question: Mapping[str, Any], usage: Usage, reported: Mapping[str, Any]) -> None:
        """Keep the time and cost of a question, when recording; ``reported`` is the usage that its answer reports."""
        if not self.is_replay:
            taken = {name: reported[name] for name in ("seconds", "cached_calls", "paid_cost", "prepared")}
            elapsed = Elapsed(**taken, over_at=usage.over_at, owed_over_at=usage.owed_over_at)
            self.recording.recorded_value(_QUESTION, question, asdict(elapsed))

    def measured(self, what: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the measured value, in a replay the recorded one."""
        return self.recording.recorded_value(_MEASURED, what, value)

    def _add_run(self, graphs: Mapping[str, str]) -> None:
        from importlib.metadata import version

        packages = ("kgsparql", "pyoxigraph", "lancedb", "numpy")
        run = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {**{package: version(package) for package in packages}, "python": platform.python_version()},
            "graphs": dict(graphs),
            **self._about,
        }
        path = self.directory / _MANIFEST
        try:
            self.directory.mkdir(0o700, parents=True, exist_ok=True)
            with writer_lock(path, wait_s=_WAIT_S):  # another process may be adding to it
                self._runs = [*self._read_runs(), run]
                replace_text(path, sealed_json({"format": _FORMAT, "runs": self._runs}), mode=0o600)
        except OSError as error:
            hint = "name a directory you may write to"
            raise StoreError(f"{path}: cannot be written: {error.strerror}", hint=hint, path=str(path)) from error

    def _read_runs(self) -> list[dict[str, Any]]:
        path = self.directory / _MANIFEST
        try:
            return list(read_sealed_json(path, format=_FORMAT)["runs"])
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = "record it again, into another directory, or use the kgsparql that wrote it"
            raise SnapshotError(f"{path}: not the manifest of a snapshot: {error}", hint=hint) from error
