"""What a reader must know of runs before rows are compared: how they differ, and what of the dataset is in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kgsparql.evaluation.runs.directory import Run
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import printable

__all__ = ["dataset_notes", "run_differences"]

_MISSING = 0.01
"""Share of gold terms that a graph may lack before it is told."""

_REASONS = 3
"""Reasons for which questions were left out that are told."""

_ONLY_THAT = {"prompts": "prompts", "graph": "the graph", "versions": "versions of packages"}
"""Values that say nothing to a person: only that they differ is told."""

_TOLD_ELSEWHERE = frozenset({
    "format", "began", "ended", "workers", "model", "methods", "questions", "dataset", "python", "asked_embedder",
    "left_out", "missing_share", "without_answer",
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


def dataset_notes(runs: Mapping[str, Run]) -> Iterator[str]:
    """Lines that say how the questions and the graph of runs are not those of the dataset; none for older runs.

    :param runs: by name.
    """
    for note in (_left_out, _missing, _without_answer):
        by_text: dict[str, list[str]] = {}
        for name, run in runs.items():
            if text := note(run.config):
                by_text.setdefault(text, []).append(name)
        for text, names in by_text.items():
            yield text if len(names) == len(runs) else f"{text} ({', '.join(names)})"


def _left_out(config: Mapping[str, Any]) -> str:
    """Questions that the run did not ask; their number, or the reasons as a list or with their counts."""
    found, reasons = config.get("left_out"), []
    if isinstance(found, Mapping):
        reasons = [f"{_short(reason)} ({count})" for reason, count in found.items()]
        count = sum(n for n in found.values() if isinstance(n, int))
    elif isinstance(found, list):
        reasons = [_short(reason) for reason in found]
        count = len(found)
    else:
        count = _count(found)
    why = f": {'; '.join(reasons[:_REASONS])}{' …' if len(reasons) > _REASONS else ''}" if reasons else ""
    cannot = "" if reasons else ", as they could not be read or have no known answers"
    were = "was" if count == 1 else "were"
    return f"{counted(count, 'question')} of the dataset {were} left out{cannot}{why}" if count else ""


def _missing(config: Mapping[str, Any]) -> str:
    """Gold terms that the graph lacks."""
    share = config.get("missing_share")
    if not isinstance(share, int | float) or isinstance(share, bool) or not share > _MISSING:
        return ""
    return (
        f"{100 * share:.0f} % of the gold terms are not in the graph: the figures are not those of the dataset as"
        " published"
    )


def _without_answer(config: Mapping[str, Any]) -> str:
    """Questions that a method gets right by saying nothing."""
    count = _count(config.get("without_answer"))
    has = "has" if count == 1 else "have"
    return f"{counted(count, 'question')} {has} no right answer: who says nothing is right there" if count else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


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
