"""Asking what a run still lacks, whether it begins here or was begun before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kgsparql.answering.ask_options import ignore
from kgsparql.evaluation.runs import configuration
from kgsparql.evaluation.runs.directory import Run, RunDirectory
from kgsparql.evaluation.runs.running import MethodProgress, Plan, run
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.storage.file_lock import writer_lock

__all__ = ["ask_all"]


def ask_all(
    knowledge: KnowledgeBase,
    plan: Plan,
    path: Path,
    wanted: Mapping[str, Any],
    *,
    tell: Callable[[MethodProgress], None] = ignore,
) -> Run:
    """The whole run in a directory: what is there is kept, the rest is asked.

    :param wanted: its configuration, from :func:`kgsparql.evaluation.runs.configuration.configuration`.
    :raises InputError: if what is there is a run of something else, or no run.
    :raises StoreLockedError: if another process is writing it.
    """
    directory = RunDirectory(path)
    config = dict(wanted)
    with writer_lock(path):
        if (path / "run.json").is_file():
            directory.mend()
            there = Run.open(path)
            configuration.check_same(there.config, wanted, path)
            config["began"] = there.config["began"]
        else:
            directory.begin(wanted, plan.questions)
        run(knowledge, plan, directory, Run.open(path).records, tell=tell)
        directory.configured({**config, "ended": configuration.now()})
    return Run.open(path)
