"""Tuning: what is tried, how questions are split, what is best, and what the held-out questions say of it."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgsparql
from kgsparql.errors import DataError, InputError, LimitError, OptionError
from kgsparql.evaluation.comparison import Row, compare
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.tuning import Setting, Split, Tuning, best, settings_of, split, tuning_text
from kgsparql.rdf.terms import IRI, Triple
from tests.made_runs import made_run, record
from tests.made_runs import question as made_question


def test_values_as_they_are_typed() -> None:
    for method, option, text, values in (
        ("mindmap", "paths_kept", " 3 , 3,4 ", [3, 4]),
        ("path_ranking", "nested", "0.1,1,0.5", [0.1, 0.5]),  # 1 is the default
        ("path_ranking", "max_hops", "none,1,2", [1, 2]),
        ("mindmap", "mentions", "model,linker", ["linker"]),
    ):
        default, *others = settings_of(method, {option: text})
        assert [setting[option] for setting in others] == values
        assert default == {option: getattr(kgsparql.retrievers.load(method), option)}


def test_what_cannot_be_tried_is_said() -> None:
    for method, texts, said in (
        ("mindmapp", {"paths_kept": "3"}, "no method 'mindmapp'"),
        ("mindmap", {}, "no option to tune"),
        ("mindmap", {"colour": "3"}, "no option 'colour'"),
        ("mindmap", {"paths_kept": "3,,5"}, "paths_kept='' is not a whole number"),
        ("mindmap", {"paths_kept": "1,1.5"}, "'1.5' is not a whole number"),
        ("entity", {"node_freq_weight": "0.7"}, "not 1 together"),
    ):
        with pytest.raises(OptionError, match=said):
            settings_of(method, texts)
    hundred = ",".join(map(str, range(100)))
    with pytest.raises(LimitError, match="20,000 trials"):
        settings_of("mindmap", {"paths_kept": hundred, "lines_per_entity": hundred, "neighbour_lines": "1,2"})


def test_a_grid_is_everything_and_a_sample_is_the_same_for_a_seed() -> None:
    settings = settings_of("mindmap", {"paths_kept": "3,4", "max_hops": "2,3"})[1:]
    assert [tuple(setting.values()) for setting in settings] == [(3, 2), (3, 3), (4, 2), (4, 3)]
    texts = dict.fromkeys(("paths_kept", "lines_per_entity", "neighbour_lines"), ",".join(map(str, range(1, 101))))
    one, again, other = (settings_of("mindmap", texts, trials=20, seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len({tuple(setting.values()) for setting in one}) == 21
    assert len(settings_of("mindmap", {"paths_kept": "1,2,3,4"}, trials=90)) == 5  # as many as there are


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


NAN = float("nan")


def trial(setting: Setting, *values: float, calls: float = 0, queries: float = 5) -> tuple[Setting, Row]:
    """A setting with scores as they come of a run, with these values of a metric."""
    columns = {"f1": values, "rounds": values, "model_calls": [calls] * len(values), "queries": [queries] * len(values)}
    scores = {name: np.array(column, float) for name, column in columns.items()}
    asked = tuple(map(question, range(len(values))))
    return setting, Row(run=Run(Path("run"), {}), method="mindmap", model="", questions=asked, values=scores)


def kept(n: int, *values: float, **more: float) -> tuple[Setting, Row]:
    return trial({"paths_kept": n}, *values, **more)


def both(paths: int, hops: int, score: float, **more: float) -> tuple[Setting, Row]:
    return trial({"paths_kept": paths, "max_hops": hops}, score, **more)


def test_the_best_is_the_cheapest_of_the_best_and_changes_the_least() -> None:
    for trials, chosen in (
        ([kept(5, 1, 0, 0), kept(3, 1, 1, 0, calls=3), kept(10, 0, 1, 1, calls=2)], 2),
        ([both(5, 5, 0.4), both(3, 2, 0.9, queries=1), both(5, 2, 0.9), both(5, 3, 0.2)], 2),
        ([kept(5, 1, 0.5, queries=9), kept(3, 1, 0.5, queries=2), kept(10, 0.5, 1, queries=1)], 0),
        ([kept(5, 0.1, NAN), kept(3, NAN, NAN)], 0),  # what is not defined is no winner
        ([kept(5, NAN), kept(3, 0.1)], 1),
    ):
        assert best(trials, "f1") == chosen
    assert best([kept(5, 9), kept(3, 4)], "rounds") == 1, "lower is better"
    with pytest.raises(DataError, match="f1 is not defined for any of the 2 development questions"):
        best([kept(5, NAN, NAN)], "f1")


@pytest.mark.parametrize(
    ("default", "chosen", "significant", "said"),
    [
        ("w" * 10 + "r" * 10, "r" * 20, True, "are better than the defaults on 20 held-out questions: hits@1 +0.500"),
        ("w" * 11 + "r" * 9, "r" + "w" * 10 + "r" * 9, False, "are NOT shown to be better than the defaults on 20"),
        ("wr" * 10, "wr" * 10, False, "are NOT shown to be better"),
        ("r" * 20, "w" * 10 + "r" * 10, False, "are WORSE than the defaults on 20 held-out questions: hits@1 -0.500"),
        ("", "r", False, "hits@1 is not defined for the held-out questions"),
    ],
)
def test_the_held_out_questions_say_what_the_choice_is_worth(
    tmp_path: Path, default: str, chosen: str, significant: bool, said: str
) -> None:
    asked = [made_question(f"q{i}") for i in range(20)]
    methods = {
        label: [record(one, label, [{"r": "right", "w": "wrong"}[c]]) for one, c in zip(asked, letters, strict=False)]
        for label, letters in (("default", default), ("chosen", chosen))
    }
    held_out = compare([Run.open(made_run(tmp_path / "R", asked, methods))], metrics=["hits@1"], baseline="default")
    parts = Split(tuple(asked), tuple(asked))
    scores = replace(held_out.rows[0], values=dict.fromkeys(("hits@1", "model_calls", "queries"), np.ones(1)))
    trials = [({"paths_kept": 5}, scores), ({"paths_kept": 3}, scores)]
    found = Tuning("hits@1", parts, trials, 1, held_out)
    assert said in found.verdict
    assert said.partition(".")[0] in " ".join(tuning_text(found).split())
    preset = found.preset(kgsparql="0.1.0")
    assert (preset.comment, preset.options) == (found.verdict, {"paths_kept": 3})
    assert preset.tuned is not None
    assert (preset.tuned["significant"], preset.tuned["held_out"]) == (significant, 20)
    if significant:
        assert re.search(r"\+0\.500, 95 % interval \[\+0\.\d+, \+0\.\d+\], p=0\.00", found.verdict)
    stayed = Tuning("hits@1", parts, trials, 0, held_out)
    assert stayed.verdict == "Nothing beat the defaults: no setting that was tried has a better hits@1."
    assert stayed.preset(kgsparql="1").options == {}
