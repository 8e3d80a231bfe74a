"""A tuning as text or JSON: what was tried, at what cost, which of it nothing beats, and what the choice is worth."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kgsparql.evaluation.comparison.figures import amount
from kgsparql.evaluation.tuning.results import Tuning
from kgsparql.evaluation.tuning.trials import COSTS, Trial, setting_text, value_text
from kgsparql.rdf.terms import printable
from kgsparql.rendering.rows import aligned, wrapped

_HEADS = {"model_calls": "calls", "rounds": "rounds", "queries": "queries", "seconds": "s"}


def as_text(tuning: Tuning, *, reproducible: bool = False) -> str:
    """Tables for a terminal or a pipe."""
    return "\n".join(_lines(tuning, reproducible=reproducible)) + "\n"


def as_json(tuning: Tuning, *, reproducible: bool = False) -> str:
    """The same as one JSON object."""
    costs = [cost for cost in COSTS if not (reproducible and cost == "seconds")]
    name = tuning.metric
    found: dict[str, Any] = {
        "dataset": tuning.config["dataset"]["name"],
        "method": tuning.space.method,
        "model": tuning.config["model"],
        "metric": name,
        "search": tuning.search.kind,
        "left_out": tuning.left_out,
        "split": tuning.split.to_json(),
        "cost": tuning.cost,
        "trials": [
            {
                **_trial(trial, costs),
                "default": trial is tuning.default,
                "chosen": trial is tuning.chosen,
                "pareto": trial.name in tuning.pareto,
            }
            for trial in tuning.trials
        ],
        "effects": {
            option: [
                {
                    "value": effect.value, name: round(effect.score, 6),
                    **{cost: round(effect.cost[cost], 6) for cost in costs}, "n": effect.n, "matched": effect.matched,
                }
                for effect in effects
            ]
            for option, effects in tuning.effects.items()
        },
        "unseen": list(tuning.unseen),
        "held_out": {
            "n": len(tuning.split.held_out),
            "default": _trial(tuning.held_out[0], costs),
            "chosen": _trial(tuning.held_out[1], costs),
            "difference": None if tuning.difference is None else asdict(tuning.difference),
            "significant": tuning.significant,
            "verdict": tuning.verdict,
            "notes": list(tuning.notes),
        },
    }  # fmt: skip
    return json.dumps(found, ensure_ascii=False, indent=2)


def _trial(trial: Trial, costs: Sequence[str]) -> dict[str, Any]:
    return {
        "options": dict(trial.setting),
        "n": len(trial.scores.questions),
        trial.metric: None if math.isnan(trial.score) else round(trial.score, 6),
        **{cost: round(trial.mean(cost), 6) for cost in costs if cost != trial.metric},
        "failed": trial.failed,
        "run": trial.name,
    }


def _lines(tuning: Tuning, *, reproducible: bool) -> Iterator[str]:
    config, split = tuning.config, tuning.split
    model = printable(str(config["model"]), 60) or "no model"
    yield f"{tuning.space.method} on {printable(str(config['dataset']['name']), 60)} · {tuning.metric} · {model}"
    yield from wrapped(str(split), indent="  ")
    yield ""
    yield f"Trials on the {len(split.development)} development questions, the best first"
    yield from _trials(tuning, reproducible=reproducible)
    if tuning.left_out:
        left_out = f"{tuning.left_out:,} settings are left out: the method does not take their values together."
        yield from wrapped(left_out, indent="  ")
    yield ""
    yield "What each value comes to"
    yield from _effects(tuning)
    yield ""
    yield f"On the {len(split.held_out)} held-out questions"
    costs = _table_costs(tuning, reproducible=reproducible)
    default, chosen = tuning.held_out
    held_out = {"default, chosen": default} if tuning.is_default else {"default": default, "chosen": chosen}
    rows = [[what, *_figures(trial, costs), setting_text(trial.setting)] for what, trial in held_out.items()]
    heads = ["", tuning.metric, *(_HEADS[cost] for cost in costs), "options"]
    yield from aligned([heads, *rows], {0, len(heads) - 1})
    if failed := sum(trial.failed for trial in held_out.values()):
        yield from wrapped(f"{failed:,} questions failed there and count as wrong; the runs say why.", indent="  ")
    for sentences in (tuning.verdict, *tuning.notes):
        yield from wrapped(sentences, indent="  ")


def _trials(tuning: Tuning, *, reproducible: bool) -> Iterator[str]:
    costs = _table_costs(tuning, reproducible=reproducible)
    names = list(tuning.space.values)
    rows = []
    for trial in sorted(tuning.trials, key=lambda trial: _order(trial, tuning)):
        what = ["default"] if trial is tuning.default else []
        what += ["chosen"] if trial is tuning.chosen else []
        values = [value_text(trial.setting[name]) for name in names]
        mark = "*" if trial.name in tuning.pareto else ""
        rows.append([mark, *_figures(trial, costs), *values, trial.name, ", ".join(what)])
    heads = ["", tuning.metric, *(_HEADS[cost] for cost in costs), *names, "run", ""]
    yield from aligned([heads, *rows], {0, len(heads) - 2, len(heads) - 1})
    cost = "model calls" if tuning.cost == "model_calls" else "queries"
    pareto = f"* no other trial has a better {tuning.metric} at no more {cost}, or fewer of them at no less."
    yield from wrapped(pareto, indent="  ")
    if failed := sum(trial.failed for trial in tuning.trials):
        failures = f"{failed:,} questions failed in the trials and count as wrong; the runs say why."
        yield from wrapped(failures, indent="  ")


def _order(trial: Trial, tuning: Tuning) -> tuple[float, ...]:
    """A sort key: by the metric; of equals the chosen trial first, then the cheapest."""
    score, *costs = (-part for part in trial.rank)
    return (score, trial is not tuning.chosen, *costs)


def _effects(tuning: Tuning) -> Iterator[str]:
    costs = [cost for cost in (tuning.cost,) if cost != tuning.metric]
    rows = [["option", "value", tuning.metric, *(_HEADS[cost] for cost in costs), "trials"]]
    for name, effects in tuning.effects.items():
        for i, effect in enumerate(effects):
            figures = [amount(tuning.metric, effect.score), *(amount(cost, effect.cost[cost]) for cost in costs)]
            rows.append(["" if i else name, value_text(effect.value), *figures, str(effect.n)])
    yield from aligned(rows, {0})
    if not all(effect.matched for effects in tuning.effects.values() for effect in effects):
        about = "Means over trials that differ in other options too: no value is told from its company."
        yield from wrapped(about, indent="  ")


def _table_costs(tuning: Tuning, *, reproducible: bool) -> list[str]:
    """The costs that tables have: with a model its calls and rounds; queries; seconds."""
    own = ["model_calls", "rounds", "queries"] if tuning.cost == "model_calls" else ["queries"]
    return [cost for cost in [*own, *([] if reproducible else ["seconds"])] if cost != tuning.metric]


def _figures(trial: Trial, costs: Sequence[str]) -> list[str]:
    score = None if math.isnan(trial.score) else trial.score
    return [amount(trial.metric, score), *(amount(cost, trial.mean(cost)) for cost in costs)]
