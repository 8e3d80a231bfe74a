"""How runs of one dataset were run differently: what a reader must know before rows are compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kgsparql.evaluation.runs.directory import Run
from kgsparql.terms import printable

__all__ = ["run_differences"]

_ONLY_THAT = {"prompts": "prompts", "graph": "the graph", "versions": "versions of packages"}
"""Values that say nothing to a person: only that they differ is told."""

_TOLD_ELSEWHERE = frozenset({
    "format", "began", "ended", "workers", "model", "methods", "questions", "dataset", "python", "asked_embedder",
})  # fmt: skip
"""What changes no answer, and what the tables say."""


def run_differences(runs: Mapping[str, Run]) -> Iterator[str]:
    """Lines that say in what runs differ.

    :param runs: by name.
    """
    if len(runs) < 2:
        return
    parts = []
    for key in dict.fromkeys(key for run in runs.values() for key in run.config):
        values = {name: _value(key, run.config.get(key)) for name, run in runs.items()}
        if key in _TOLD_ELSEWHERE or len(set(values.values())) == 1:
            continue
        if key in _ONLY_THAT:
            parts.append(f"{_ONLY_THAT[key]} differ" if key != "graph" else "the graph is not the same")
        else:
            parts.append(f"{key} {', '.join(f'{value} ({name})' for name, value in values.items())}")
    options = _option_differences(runs)
    if parts or options:
        yield f"the runs were not run alike: {'; '.join([*parts, *options])}"


def _option_differences(runs: Mapping[str, Run]) -> list[str]:
    """Options of a method that several runs have, as far as they differ."""
    found = []
    methods = [{m["label"]: m.get("options") or {} for m in run.config["methods"]} for run in runs.values()]
    for label in dict.fromkeys(label for own in methods for label in own):
        having = {name: own[label] for name, own in zip(runs, methods, strict=True) if label in own}
        for option in dict.fromkeys(option for options in having.values() for option in options):
            values = {name: _short(options.get(option)) for name, options in having.items()}
            if len(set(values.values())) > 1:
                found.append(f"{label}.{option} {', '.join(f'{value} ({name})' for name, value in values.items())}")
    return found


def _value(key: str, value: Any) -> str:
    if key == "graph" and isinstance(value, Mapping):
        return str(value.get("fingerprint"))  # the same graph may lie elsewhere
    return _short(value) if key not in _ONLY_THAT else json.dumps(value, sort_keys=True)


def _short(value: object) -> str:
    words = {True: "yes", False: "no", None: "none", "": "none"}
    if isinstance(value, bool | str | None) and value in words:
        return words[value]
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True), 80)
