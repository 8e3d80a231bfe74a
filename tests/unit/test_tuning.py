"""Tuning: what is tried, how questions are split, what is best, and what the held-out questions say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgsparql
from kgsparql.answering.ask_options import AskOptions
from kgsparql.errors import DataError, InputError, LimitError, OptionError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets import load, sample
from kgsparql.evaluation.runs import plan as config
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.runs.plan import Plan
from kgsparql.evaluation.scoring import MethodScores
from kgsparql.evaluation.tuning import Setting, Split, Trial, Tuning, best, settings_of, split, tune, tuning_text
from kgsparql.rdf.terms import IRI, Triple
from kgsparql.retrievers._loading import Preset
from tests.conftest import FIXTURES

# -- What is tried ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "option", "text", "values"),
    [
        ("mindmap", "paths_kept", " 3 , 3,4 ", [3, 4]),
        ("mindmap", "paths_kept", "1..3,10", [1, 2, 3, 10]),
        ("mindmap", "paths_kept", "2..9/3", [2, 8]),  # 5 is the default
        ("path_ranking", "nested", "0.1..0.5/0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("path_ranking", "max_hops", "none,1..2", [1, 2]),
        ("mindmap", "mentions", "model,linker", ["linker"]),
    ],
)
def test_values_as_they_are_typed(method: str, option: str, text: str, values: list[object]) -> None:
    default, *others = settings_of(method, {option: text})
    assert [setting[option] for setting in others] == values
    assert default == {option: getattr(kgsparql.retrievers.load(method), option)}


def test_what_cannot_be_tried_is_said() -> None:
    for method, texts, said in (
        ("mindmapp", {"paths_kept": "3"}, "no method 'mindmapp'"),
        ("mindmap", {}, "no option to tune"),
        ("mindmap", {"colour": "3"}, "no option 'colour'"),
        ("mindmap", {"paths_kept": "3,,5"}, "paths_kept='' is not a whole number"),
        ("mindmap", {"paths_kept": "1..2/0.5"}, "'1.5' is not a whole number"),
        ("mindmap", {"paths_kept": "1..x"}, r"'1\.\.x' is not a whole number"),
        ("entity", {"node_freq_weight": "0.7"}, "not 1 together"),
    ):
        with pytest.raises(OptionError, match=said):
            settings_of(method, texts)
    for text in ("1..1000000000", "5..1", "0..1/0.000000001"):
        with pytest.raises(LimitError, match="1 to 1,000 values"):
            settings_of("mindmap", {"paths_kept": text})
    with pytest.raises(LimitError, match="20,000 trials"):
        settings_of("mindmap", {"paths_kept": "1..100", "lines_per_entity": "1..100", "neighbour_lines": "1..2"})


def test_a_grid_is_everything_and_a_sample_is_the_same_for_a_seed() -> None:
    settings = settings_of("mindmap", {"paths_kept": "3,4", "max_hops": "2,3"})[1:]
    assert [tuple(setting.values()) for setting in settings] == [(3, 2), (3, 3), (4, 2), (4, 3)]
    texts = dict.fromkeys(("paths_kept", "lines_per_entity", "neighbour_lines"), "1..100")
    one, again, other = (settings_of("mindmap", texts, trials=20, seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len({tuple(setting.values()) for setting in one}) == 21
    assert len(settings_of("mindmap", {"paths_kept": "1..4"}, trials=90)) == 5  # as many as there are


# -- The two parts of the questions -------------------------------------------------------------------------------


def question(n: int, *, hops: int | None = 1, path: str = "", **fields: Any) -> Question:
    return Question(id=f"q{n}", text="?", hops=hops, path=tuple(path.split()), **fields)


questions_of_any_kind = st.lists(
    st.tuples(st.sampled_from([None, 1, 2, 3]), st.sampled_from(["", "p", "p q", "r"])), min_size=4, max_size=40
).map(lambda rows: [question(n, hops=hops, path=path) for n, (hops, path) in enumerate(rows)])


@given(questions_of_any_kind, st.sampled_from([0.1, 0.2, 0.5, 0.7, 0.9]), st.integers(0, 3))
def test_every_question_is_in_one_part_and_hops_are_even(questions: list[Question], share: float, seed: int) -> None:
    parts = split(questions, share, seed=seed)
    assert sorted([*parts.development, *parts.held_out], key=questions.index) == questions
    assert parts.development
    assert parts.held_out
    total, there = (Counter(one.hops for one in own) for own in (questions, parts.development))
    assert all(abs(there[hops] - share * n) <= max(1.0, 0.1 * n) for hops, n in total.items())


def test_what_is_alike_is_in_one_part() -> None:
    def with_triples(n: int) -> Question:
        names = (IRI(f"http://example.org/{name}") for name in (f"s{n}", f"p{n % 2}", f"o{n}"))
        return question(n, golden_triples=(Triple(*names),))  # type: ignore[arg-type]

    for questions, shared in (
        ([question(n, path=f"p{n % 4}") for n in range(40)], "0 of 4 paths are in both"),
        ([with_triples(n) for n in range(8)], "0 of 2 paths are in both"),
        ([question(n, path="p") for n in range(10)], "1 of 1 paths are in both"),  # hops come first
    ):
        parts = split(questions, 0.5, seed=0)
        assert len(parts.development) == len(parts.held_out)
        assert shared in str(parts)
    questions = [question(n) for n in range(80)]
    one, other = (split(questions, 0.5, seed=seed) for seed in (0, 1))
    assert one.development != other.development
    assert str(one) == "40 development and 40 held-out questions"
    with pytest.raises(InputError, match="3 questions cannot be split"):
        split(questions[:3], 0.5, seed=0)


# -- The choice, and what it is worth -----------------------------------------------------------------------------

HALF = tuple(question(n) for n in range(40))
RUN = Run(Path("run"), {
    "dataset": {"name": "nobel", "sha256": "ab"}, "graph": {"fingerprint": "cd"}, "model": "", "gold_topics": False,
})  # fmt: skip


def trial(
    setting: Mapping[str, Any], values: Sequence[float], *, calls: float = 0, queries: float = 5, metric: str = "f1"
) -> Trial:
    """A trial as it comes of a run, with these values of its metric."""
    n = len(values)
    costs = {name: np.full(n, float(cost)) for name, cost in (("model_calls", calls), ("queries", queries))}
    scores = MethodScores(
        run=RUN, method="mindmap", model="", questions=HALF[:n], errors={},
        values={**costs, metric: np.array(values, float)},
    )  # fmt: skip
    return Trial(setting, metric, scores)


def kept(n: int, values: Sequence[float], **more: Any) -> Trial:
    return trial({"paths_kept": n}, values, **more)


def tuned(*trials: Trial, held_out: Sequence[Trial] = ()) -> Tuning:
    seen = held_out or (trials[0], best(trials))
    return Tuning(Split(HALF[:20], HALF[20:]), trials, (seen[0], seen[1]))


def test_the_best_is_the_cheapest_of_the_best_and_changes_the_least() -> None:
    def both(paths: int, hops: int, score: float, *, queries: float = 5) -> Trial:
        return trial({"paths_kept": paths, "max_hops": hops}, [score], queries=queries)

    nan = float("nan")
    for trials, chosen in (
        ([kept(5, [1, 0, 0]), kept(3, [1, 1, 0], calls=3), kept(10, [0, 1, 1], calls=2)], 2),
        ([both(5, 5, 0.4), both(3, 2, 0.9, queries=1), both(5, 2, 0.9), both(5, 3, 0.2)], 2),
        ([kept(5, [1, 0.5], queries=9), kept(3, [1, 0.5], queries=2), kept(10, [0.5, 1], queries=1)], 0),
        ([kept(5, [9, 9], metric="queries"), kept(3, [4, 4], metric="queries")], 1),  # lower is better
        ([kept(5, [0.1, nan]), kept(3, [nan, nan])], 0),  # what is not defined is no winner
    ):
        assert best(trials) is trials[chosen]
    assert "–" in tuning_text(tuned(*trials))


def test_the_default_stays_where_nothing_is_better() -> None:
    found = tuned(kept(5, [1, 0.5]), kept(3, [1, 0.5]))
    assert found.chosen is found.trials[0]
    assert not found.is_significant
    assert found.verdict == "Nothing beat the defaults: no setting that was tried has a better f1."
    assert found.preset(kgsparql="1").options == {}
    text = tuning_text(found)
    assert text.splitlines()[0] == "mindmap on nobel · f1 · no model"
    rows = [line.split() for line in text.splitlines() if line.startswith("  trials")]
    assert rows == [["trials/1", "default", "*", "0.750", "5.0", "5"], ["trials/2", "0.750", "5.0", "3"]]


@pytest.mark.parametrize(
    ("default", "chosen", "significant", "said"),
    [
        ([0] * 10 + [1] * 10, [1] * 20, True, "f1 1.000 instead of 0.500 with the default options on 20 held-out"),
        ([0] * 11 + [1] * 9, [1] + [0] * 10 + [1] * 9, False, "NOT significant: it may be chance. f1 0.500 instead"),
        ([0, 1] * 10, [0, 1] * 10, False, "There is NO gain on the held-out questions"),
        ([1] * 11 + [0] * 9, [1] * 10 + [0] * 10, False, "There is NO gain on the held-out questions"),
        ([1] * 20, [0] * 10 + [1] * 10, False, "The chosen options are WORSE than the default ones"),
        ([float("nan")] * 2, [float("nan")] * 2, False, "f1 is not defined for any of the held-out questions"),
    ],
)
def test_the_held_out_questions_say_what_the_choice_is_worth(
    default: list[float], chosen: list[float], significant: bool, said: str
) -> None:
    found = tuned(kept(5, [0]), kept(3, [1]), held_out=(kept(5, default), kept(3, chosen)))
    assert found.is_significant is significant
    assert said in found.verdict
    preset = found.preset(kgsparql="0.1.0")
    assert preset.comment == found.verdict
    assert preset.options == {"paths_kept": 3}
    assert preset.tuned is not None
    assert (preset.tuned["significant"], preset.tuned["held_out"]["n"]) == (significant, len(default))
    assert said.partition(".")[0] in " ".join(tuning_text(found).split())
    if found.difference is not None:
        assert f"[{found.difference.low:+.3f}, {found.difference.high:+.3f}]" in found.verdict
        assert found.difference.mean == pytest.approx(np.mean(chosen) - np.mean(default))


@pytest.fixture
def tried(tmp_path: Path) -> Callable[..., Tuning]:
    """A function that tunes on the bundled graph."""
    dataset = load(FIXTURES / "nobel_questions.jsonl")
    knowledge = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
    parts = split(sample(dataset.questions, 8), 0.5, seed=0)
    plan = Plan(questions=(), methods=(), asking=AskOptions())
    configuration = partial(config.configuration, dataset, knowledge, sampling={}, embedder="none")

    def run(settings: Sequence[Setting], metric: str, folder: str = "run", held_out: str = "", **more: Any) -> Tuning:
        others = tuple(replace(one, text=held_out or one.text) for one in parts.held_out)
        return tune(
            knowledge, plan, settings, replace(parts, held_out=others), tmp_path / folder,
            method="path_ranking", metric=metric, configuration=configuration, **more,
        )  # fmt: skip

    return run


def test_a_grid_on_a_real_graph(tried: Callable[..., Tuning], tmp_path: Path) -> None:
    heard: list[str] = []
    settings = settings_of("path_ranking", {"max_hops": "1,2", "paths_kept": "1"})
    found = tried(settings, "queries", tell=lambda tally: heard.append(tally.method))
    assert [one.setting for one in found.trials] == settings
    assert {"trials/2: max_hops=1 paths_kept=1", "held_out/default: max_hops=none paths_kept=5"} <= set(heard)
    assert found.chosen.setting == {"max_hops": 1, "paths_kept": 1}
    runs = {str(file.parent.relative_to(tmp_path)): Run.open(file.parent) for file in tmp_path.glob("*/*/*/run.json")}
    assert {*runs} == {
        f"run/{place}" for place in ("trials/1", "trials/2", "trials/3", "held_out/default", "held_out/chosen")
    }
    assert all(len(run.records("path_ranking")) == 4 for run in runs.values())
    assert runs["run/trials/2"].questions == found.parts.development
    assert runs["run/held_out/chosen"].config["methods"][0]["options"]["max_hops"] == 1
    file = tmp_path / "preset.toml"
    file.write_text(found.preset(kgsparql="0.1.0").to_toml(), encoding="utf-8")
    assert Preset.load(file).options == found.chosen.setting
    # the held-out questions have no say in the choice
    spoilt = tried(settings, "queries", "other", held_out="Who?")
    assert [own.mean() for own in spoilt.trials] == [own.mean() for own in found.trials]
    assert spoilt.held_out[1].mean() != found.held_out[1].mean(), "the held-out questions were others indeed"


def test_a_metric_that_no_question_has_is_said(tried: Callable[..., Tuning]) -> None:
    with pytest.raises(DataError, match="triple_f1 is not defined for any of the 4 development questions"):
        tried(settings_of("path_ranking", {"paths_kept": "1"}), "triple_f1")
