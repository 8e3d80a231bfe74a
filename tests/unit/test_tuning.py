"""Tuning: what is best and at what cost, what the held-out questions say of it, and that nothing is asked twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgsparql
from kgsparql.answering.ask_options import AskOptions
from kgsparql.errors import DataError, InputError, OptionError, StoreLockedError
from kgsparql.evaluation.dataset import Dataset, Question
from kgsparql.evaluation.datasets import load, sample
from kgsparql.evaluation.runs import plan as config
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.runs.plan import Plan
from kgsparql.evaluation.runs.running import MethodProgress
from kgsparql.evaluation.scoring import MethodScores
from kgsparql.evaluation.search_spaces import Space, setting_text
from kgsparql.evaluation.splitting import Split, split
from kgsparql.evaluation.statistics import differences
from kgsparql.evaluation.tuning import (
    Bench,
    Search,
    Trial,
    Tuning,
    best,
    checked_metric,
    tune,
    tuning_json,
    tuning_text,
)
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.retrievers._loading import Preset
from kgsparql.storage.files import writer_lock
from tests.conftest import FIXTURES

CONFIG = {
    "dataset": {"name": "nobel", "questions_sha256": "ab"},
    "graph": {"fingerprint": "cd"},
    "model": "",
    "gold_topics": False,
}
HALF = tuple(Question(id=f"q{n}", text="?") for n in range(40))


def trial(
    setting: Mapping[str, Any], values: Sequence[float], *, calls: float = 0, queries: float = 5, metric: str = "f1"
) -> Trial:
    """A trial as it comes of a run, with these values of its metric."""
    n = len(values)
    costs = {"model_calls": calls, "rounds": calls, "queries": queries, "seconds": 0.25}
    scores = MethodScores(
        run=Run(Path("run"), {}), method="mindmap", model="", questions=HALF[:n], errors={},
        values={metric: np.array(values, float), **{name: np.full(n, float(cost)) for name, cost in costs.items()}},
    )  # fmt: skip
    return Trial(setting=setting, name=setting_text(setting), metric=metric, scores=scores)


def tuning(
    *trials: Trial,
    held_out: tuple[Trial, Trial] | None = None,
    values: str = "3,5,10",
    metric: str = "f1",
    looks: int = 0,
) -> Tuning:
    """A tuning of mindmap's paths_kept, and max_hops where the trials have one."""
    texts = {"paths_kept": values, "max_hops": "2,3"} if "max_hops" in trials[0].setting else {"paths_kept": values}
    space = Space.read("mindmap", texts)
    chosen = best(trials)
    seen = held_out or (trials[0], chosen)
    first, second = (one.scores.values[metric] for one in seen)
    same = seen[0] is seen[1]
    return Tuning(
        config=CONFIG, space=space, search=Search(), metric=metric, trials=trials,
        split=split(HALF, 0.5, seed=0), chosen=chosen, held_out=seen, looks=looks,
        difference=None if same else differences([(second, first)])[0],
    )  # fmt: skip


def test_the_best_is_the_cheapest_of_the_best_and_changes_the_least() -> None:
    found = tuning(
        trial({"paths_kept": 5}, [1, 0, 0, 0], calls=2),
        trial({"paths_kept": 3}, [1, 1, 0, 0], calls=3),
        trial({"paths_kept": 10}, [0, 1, 1, 0], calls=2),
    )
    assert found.chosen.setting == {"paths_kept": 10}

    def both(paths: int, hops: int, score: float, *, queries: float = 5) -> Trial:
        return trial({"paths_kept": paths, "max_hops": hops}, [score], queries=queries)

    found = tuning(both(5, 5, 0.4), both(3, 2, 0.9, queries=1), both(5, 2, 0.9), both(5, 3, 0.2), values="3,5")
    assert found.chosen.setting == {"paths_kept": 5, "max_hops": 2}


def test_the_default_stays_where_nothing_is_better_even_with_more_queries() -> None:
    found = tuning(
        trial({"paths_kept": 5}, [1, 0.5], queries=9),
        trial({"paths_kept": 3}, [1, 0.5], queries=2),
        trial({"paths_kept": 10}, [0.5, 1], queries=1, calls=0),
    )
    assert found.chosen is found.default
    assert not found.is_significant
    assert found.verdict.startswith("Nothing beat the defaults: no setting that was tried has a better f1")
    assert found.preset(kgsparql="1").options == {}
    assert found.advice(Path("p.toml")) == "nothing beat the defaults: p.toml names the method and no options"
    first = tuning_text(found).splitlines()[5]
    assert first.split()[:2] == ["default,", "chosen"], "of equal trials the chosen one stands first"
    assert tuning_text(found).count("default, chosen") == 2, "the held-out figures of one setting stand once"


def test_lower_is_better_where_the_metric_says_so() -> None:
    found = tuning(
        trial({"paths_kept": 5}, [9, 9], metric="queries", queries=9),
        trial({"paths_kept": 3}, [4, 4], metric="queries", queries=4),
        metric="queries",
    )
    assert found.chosen.setting == {"paths_kept": 3}
    tables = [line.split() for line in tuning_text(found, reproducible=True).splitlines() if line.startswith("  ")]
    assert ["queries", "paths_kept", "run"] in tables


@pytest.mark.parametrize(
    ("default", "chosen", "significant", "said", "advice"),
    [
        (
            [0] * 10 + [1] * 10, [1] * 20, True,
            "f1 1.000 instead of 0.500 with the default options on 20 held-out",
            "preset: kgsparql ask --preset 'my p.toml'",
        ),
        (
            [0] * 11 + [1] * 9, [1] + [0] * 10 + [1] * 9, False,
            "NOT significant: it may be chance. f1 0.500 instead", "not shown to be better",
        ),
        ([0, 1] * 10, [0, 1] * 10, False, "There is NO gain on the held-out questions", "not shown to be better"),
        (
            [1] * 11 + [0] * 9, [1] * 10 + [0] * 10, False,
            "There is NO gain on the held-out questions", "not shown to be better",
        ),
        (
            [1] * 20, [0] * 10 + [1] * 10, False,
            "The chosen options are WORSE than the default ones", "not shown to be better",
        ),
    ],
)  # fmt: skip
def test_the_held_out_questions_say_what_the_choice_is_worth(
    default: list[int], chosen: list[int], significant: bool, said: str, advice: str
) -> None:
    on_development = trial({"paths_kept": 5}, [0]), trial({"paths_kept": 3}, [1])
    held_out = trial({"paths_kept": 5}, default), trial({"paths_kept": 3}, chosen)
    found = tuning(*on_development, held_out=held_out)
    assert found.is_significant is significant
    assert advice in found.advice(Path("my p.toml"))
    assert ("ask --preset" in found.advice(Path("p.toml"))) is significant
    assert said in found.verdict
    preset = found.preset(kgsparql="0.1.0")
    assert said in preset.comment
    assert preset.tuned["significant"] is significant
    assert preset.tuned["held_out"]["n"] == 20
    assert "The gain" not in found.verdict or "chance" in found.verdict
    assert said.partition(".")[0] in " ".join(tuning_text(found).split())


def test_few_held_out_questions_are_warned_of() -> None:
    for n, is_significant, said in (
        (5, False, "With 5 held-out questions only a large gain"),
        (6, True, "With 6"),
        (30, True, ""),
    ):
        pair = trial({"paths_kept": 5}, [0] * n), trial({"paths_kept": 3}, [1] * n)
        found = tuning(*pair, held_out=pair)
        assert found.is_significant is is_significant
        assert (found.notes[-1] if found.notes else "").startswith(said)
        assert bool(found.notes) is bool(said)
        assert said in found.preset(kgsparql="1").comment


def test_the_interval_is_that_of_the_held_out_difference() -> None:
    development = trial({"paths_kept": 5}, [0] * 40), trial({"paths_kept": 3}, [1] * 40)
    held_out = trial({"paths_kept": 5}, [0, 1] * 20), trial({"paths_kept": 3}, [1, 1, 0, 1] * 10)
    found = tuning(*development, held_out=held_out)
    assert found.difference is not None
    assert found.difference.mean == pytest.approx(0.25)
    assert 0 < found.difference.low < 0.25 < found.difference.high < 0.5
    assert "f1 0.750 instead of 0.500" in found.verdict
    assert f"[{found.difference.low:+.3f}, {found.difference.high:+.3f}]" in found.verdict


def test_means_over_different_questions_are_said_to_be_so() -> None:
    nan = float("nan")
    found = tuning(trial({"paths_kept": 5}, [0.5, 0.5]), trial({"paths_kept": 3}, [1, nan]))
    assert any("defined for 1 to 2 questions of a trial" in note for note in found.notes)


def test_a_metric_that_is_not_defined_in_one_trial_is_no_winner() -> None:
    nan = float("nan")
    found = tuning(trial({"paths_kept": 5}, [0.1, nan]), trial({"paths_kept": 3}, [nan, nan]))
    assert found.chosen.setting == {"paths_kept": 5}
    assert json.loads(tuning_json(found))["trials"][1]["f1"] is None
    assert "–" in tuning_text(found)


def test_the_table_says_seconds_unless_they_are_left_out() -> None:
    found = tuning(trial({"paths_kept": 5}, [0.5]), trial({"paths_kept": 3}, [0.25]))
    assert "  s  " in tuning_text(found)
    assert "seconds" not in tuning_json(found, reproducible=True)
    assert json.loads(tuning_json(found))["trials"][0]["seconds"] == 0.25
    head = next(line for line in tuning_text(found, reproducible=True).splitlines() if "queries" in line)
    assert head.split() == ["f1", "queries", "paths_kept", "run"]


def test_only_what_can_be_made_better_is_tuned_for() -> None:
    assert checked_metric("expected_hits@1") == "expected_hits@1"
    with pytest.raises(OptionError, match="no metric 'beauty' to tune for"):
        checked_metric("beauty")
    with pytest.raises(OptionError, match="no search 'greedy'"):
        Search(kind="greedy")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load(FIXTURES / "nobel_questions.jsonl")


@pytest.fixture(scope="module")
def knowledge() -> KnowledgeBase:
    return kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")


@pytest.fixture
def bench(knowledge: KnowledgeBase, dataset: Dataset, tmp_path: Path) -> Callable[..., Bench]:
    """A function that makes a bench on the bundled graph."""

    def make(folder: str = "run", metric: str = "f1", **texts: str) -> Bench:
        plan = Plan(questions=(), methods=(), asking=AskOptions())
        return Bench(
            knowledge=knowledge, plan=plan, path=tmp_path / folder, metric=metric,
            space=Space.read("path_ranking", texts or {"paths_kept": "1,10", "max_hops": "1,2"}),
            configuration=lambda own: config.configuration(dataset, knowledge, own, sampling={}, embedder="none"),
        )  # fmt: skip

    return make


@pytest.fixture
def parts(dataset: Dataset) -> Split:
    return split(sample(dataset.questions, 8), 0.5, seed=0)


def lines(path: Path) -> dict[str, int]:
    """How many answers there are in each file."""
    return {str(file.relative_to(path)): file.read_bytes().count(b"\n") for file in path.glob("*/*/answers/*.jsonl")}


def test_a_grid_on_a_real_graph(bench: Callable[..., Bench], parts: Split, tmp_path: Path) -> None:
    heard: list[str] = []

    def hear(tally: MethodProgress) -> None:
        heard.append(tally.method)

    made = replace(bench(), tell=hear)
    found = tune(made, parts, Search())
    assert [trial.setting for trial in found.trials] == [
        {"paths_kept": 5, "max_hops": None},
        {"paths_kept": 1, "max_hops": 1}, {"paths_kept": 1, "max_hops": 2},
        {"paths_kept": 10, "max_hops": 1}, {"paths_kept": 10, "max_hops": 2},
    ]  # fmt: skip
    assert "trial 2 of 5: paths_kept=1 max_hops=1" in heard
    assert "held out: default" in heard
    counts = lines(tmp_path / "run")
    assert set(counts.values()) == {4}
    assert sum(name.startswith("trials/") for name in counts) == 5
    chosen = Run.open(tmp_path / "run" / "trials" / found.chosen.name)
    assert chosen.config["methods"][0]["options"]["paths_kept"] == found.chosen.setting["paths_kept"]
    assert [question.id for question in chosen.questions] == [question.id for question in parts.development]
    assert chosen.config["ended"] is not None
    said = json.loads(tuning_json(found))
    assert [own["chosen"] for own in said["trials"]].count(True) == 1
    assert said["held_out"]["n"] == 4
    file = tmp_path / "preset.toml"
    file.write_text(found.preset(kgsparql="0.1.0").to_toml(), encoding="utf-8")
    preset = Preset.load(file)
    assert found.chosen is found.default
    assert preset.with_options({}) == {}


def test_what_was_killed_goes_on_to_the_same_table(bench: Callable[..., Bench], parts: Split, tmp_path: Path) -> None:
    search = Search(kind="random", trials=4)
    table = tuning_text(tune(bench("whole"), parts, search), reproducible=True)
    tune(bench("run"), parts, search)
    trials = sorted((tmp_path / "run" / "trials").iterdir())
    files = [next(trial.glob("answers/*.jsonl")) for trial in trials]
    files[0].write_bytes(files[0].read_bytes()[:-20])  # killed while it wrote an answer
    (trials[1] / "run.json").unlink()  # killed while it began
    for file in (*trials[2].rglob("*"), trials[2] / "run.json"):
        if file.is_file():
            file.unlink()
    before = {file: file.stat().st_mtime_ns for file in files[3:]}
    assert tuning_text(tune(bench("run"), parts, search), reproducible=True) == table
    assert {file: file.stat().st_mtime_ns for file in files[3:]} == before
    assert set(lines(tmp_path / "run").values()) == {4}


def test_another_search_asks_only_what_is_new(bench: Callable[..., Bench], parts: Split, tmp_path: Path) -> None:
    tune(bench(paths_kept="1,10"), parts, Search())
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "run").rglob("answers/*.jsonl")}
    found = tune(bench(paths_kept="10,2"), parts, Search(kind="random", trials=2))
    assert {trial.setting["paths_kept"] for trial in found.trials} == {5, 10, 2}
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert len(list((tmp_path / "run" / "trials").iterdir())) == 4


def test_held_out_questions_have_no_say_in_the_choice(bench: Callable[..., Bench], parts: Split) -> None:
    texts = {"max_hops": "1,2", "paths_kept": "1"}
    found = tune(bench("one", "queries", **texts), parts, Search())
    others = tuple(replace(question, text="Who?") for question in parts.held_out)
    spoilt = tune(bench("other", "queries", **texts), replace(parts, held_out=others), Search())
    assert [own.score for own in spoilt.trials] == [own.score for own in found.trials]
    assert spoilt.chosen.setting == found.chosen.setting != found.default.setting
    assert spoilt.held_out[1].score != found.held_out[1].score, "the held-out questions were others indeed"


def test_held_out_questions_that_judged_before_are_told(bench: Callable[..., Bench], parts: Split) -> None:
    first = tune(bench(metric="queries", max_hops="1"), parts, Search())
    assert first.chosen.setting == {"max_hops": 1}
    again = tune(bench(metric="queries", max_hops="1"), parts, Search())
    assert again.looks == 0, "the same choice again is no other look"
    other = tune(bench(metric="queries", paths_kept="1"), parts, Search())
    assert other.looks == 1
    assert any("judged on the held-out questions before" in note for note in other.notes)


def test_another_tuning_is_not_gone_on_with(bench: Callable[..., Bench], parts: Split, tmp_path: Path) -> None:
    tune(bench(paths_kept="1"), parts, Search())
    other = replace(parts, development=parts.held_out, held_out=parts.development)
    with pytest.raises(InputError, match="is a run of something else: split"):
        tune(bench(paths_kept="1"), other, Search())
    (tmp_path / "run" / "tuning.json").write_text("[]")
    with pytest.raises(DataError, match="not what a tuning writes"):
        tune(bench(paths_kept="1"), parts, Search())


def test_two_processes_do_not_write_one_tuning(bench: Callable[..., Bench], parts: Split, tmp_path: Path) -> None:
    with writer_lock(tmp_path / "run"), pytest.raises(StoreLockedError, match="is writing here"):
        tune(bench(paths_kept="1"), parts, Search())
    assert not (tmp_path / "run").exists()
    (tmp_path / "run" / "held_out").mkdir(parents=True)
    (tmp_path / "run" / "held_out" / "ab.lock").touch()  # what a killed process left
    assert tune(bench(paths_kept="1"), parts, Search()).looks == 0


def test_a_metric_that_no_question_has_is_said(bench: Callable[..., Bench], parts: Split) -> None:
    with pytest.raises(DataError, match="triple_f1 is not defined for any of the 4 development questions"):
        tune(bench(metric="triple_f1", paths_kept="1"), parts, Search())
