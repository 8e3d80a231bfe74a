"""Runs made by hand, compared: means, intervals, slices, the best, what is tested on which questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kgsparql.errors import DataError, InputError, OptionError
from kgsparql.evaluation.comparison import Comparison, compare
from kgsparql.evaluation.comparison_tables import summary
from kgsparql.evaluation.leaderboard import Leaderboard, Row
from kgsparql.evaluation.runs.directory import Run
from kgsparql.evaluation.scoring import chosen_metrics, opened
from tests.kept import rewrite
from tests.made_runs import made_run, question, record, sampled_questions, sampled_records

FOUR = [
    question("q1", hops=1, type_="who", path=["directed"]),
    question("q2", hops=1, type_="who", path=["^directed"]),
    question("q3", hops=2, type_="when", path=["directed", "^starring"]),
    question("q4", hops=2, type_="", path=["directed", "starring"]),
]


def four(method: str, given: str, **options: object) -> list:
    """Records of the four questions: right, wrong, 2nd place right, - nothing, error."""
    answers = {"r": ["right"], "w": ["wrong"], "2": ["wrong", "right"], "-": []}
    return [
        record(asked, method, error=("E_TIMEOUT", "too late"))
        if letter == "e"
        else record(asked, method, answers[letter], **options)  # type: ignore[arg-type]
        for asked, letter in zip(FOUR, given, strict=False)
    ]


def compared(*runs: Path, **options: object) -> Comparison:
    return compare(opened(runs), **options)  # type: ignore[arg-type]


def only(comparison: Comparison) -> Leaderboard:
    (leaderboard,) = comparison.leaderboards
    return leaderboard


def row(comparison: Comparison, name: str) -> Row:
    return next(row for row in comparison.rows if row.name == name)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    methods = {"good": four("good", "rrrw", calls=2, queries=5), "poor": four("poor", "w2ew", queries=1)}
    return made_run(tmp_path / "R", FOUR, methods, model="small-model", without_model=["poor"])


def test_means_by_hand(run: Path) -> None:
    good, poor = only(compared(run)).rows
    assert (good.name, good.model, good.n, good.questions) == ("good", "small-model", 4, 4)
    assert (poor.name, poor.model, poor.n) == ("poor", "", 4)
    assert good.mean("hits@1") == 0.75
    assert good.mean("model_calls") == 2
    assert poor.mean("hits@1") == 0
    assert poor.mean("mrr") == 0.125
    assert poor.mean("failed") == 0.25
    assert poor.mean("queries") == 1.5  # the failed question counts with the three it sent
    assert poor.mean("triple_recall") is None
    assert dict(poor.scores.errors) == {"E_TIMEOUT": 1}
    found = good.means["hits@1"]
    assert found is not None
    # Wilson: with z² = 3.8415, middle (3 + 1.9207) / 7.8415 = .6275, half 1.96 · √(3/4 + .9604) / 7.8415 = .3269
    assert (found.low, found.high, found.n) == (pytest.approx(0.3006, abs=1e-4), pytest.approx(0.9544, abs=1e-4), 4)
    # a count of calls is no share, whatever its values are
    calls = poor.means["model_calls"]
    assert calls is not None
    assert (calls.low, calls.high, calls.method) == (0, 0, "bootstrap")


def test_slices_by_hand(run: Path, tmp_path: Path) -> None:
    good = row(compared(run), "good")
    hops = good.slices["hops"]
    assert {value: (part.n, part.means["hits@1"].mean) for value, part in hops.items()} == {  # type: ignore[union-attr]
        "1": (2, 1.0),
        "2": (2, 0.5),
    }
    assert {value: part.n for value, part in good.slices["type"].items()} == {"when": 1, "who": 2, "unknown": 1}
    assert {value: part.n for value, part in good.slices["direction"].items()} == {
        "forward": 2,
        "inverse": 1,
        "mixed": 1,
    }
    assert list(row(compared(run, by=()), "good").slices) == []
    asked = [question("q1", hops=None)]
    run = made_run(tmp_path / "N", asked, {"good": [record(asked[0], "good", ["right"])]})
    assert dict(only(compared(run)).rows[0].slices) == {"hops": {}, "type": {}, "direction": {}}


def test_the_test_against_the_best_by_hand(run: Path) -> None:
    leaderboard = only(compared(run))
    assert (leaderboard.primary, leaderboard.best, leaderboard.reference) == ("hits@1", 0, 0)
    test = leaderboard.tests[1]["hits@1"]
    assert (test.difference.mean, test.won, test.lost) == (-0.75, 0, 3)
    assert test.p == 2 / 8  # exact McNemar of 0 and 3
    assert test.verdict == "not shown"


def test_a_baseline_is_what_others_are_compared_with(run: Path) -> None:
    leaderboard = only(compared(run, baseline="poor"))
    assert leaderboard.rows[leaderboard.reference or 0].name == "poor"
    assert leaderboard.best == 0
    assert leaderboard.tests[0]["hits@1"].difference.mean == 0.75
    with pytest.raises(OptionError, match="nobody") as caught:
        compared(run, baseline="nobody")
    assert "good, poor" in caught.value.hint


def test_of_a_cost_less_is_better(run: Path) -> None:
    leaderboard = only(compared(run, metrics=["queries"]))
    assert [row.name for row in leaderboard.rows] == ["poor", "good"]
    test = leaderboard.tests[1]["queries"]
    assert (test.difference.mean, test.won, test.lost) == (3.5, 0, 4)
    assert test.p == 2 / 16  # all four differ, and only two of sixteen exchanges go as far
    assert leaderboard.rows[0].mean("fallbacks") == 0  # always told


def test_p_is_corrected_for_the_number_of_comparisons(tmp_path: Path) -> None:
    asked = [question(f"q{i}") for i in range(8)]
    methods = {
        "best": [record(one, "best", ["right"]) for one in asked],
        "worst": [record(one, "worst", ["wrong"]) for one in asked],
        "bad": [record(one, "bad", ["wrong"]) for one in asked],
    }
    leaderboard = only(compared(made_run(tmp_path / "R", asked, methods)))
    assert [leaderboard.tests[i]["hits@1"].difference.p for i in (1, 2)] == [2 / 256] * 2
    # three pairs of rows, since the best might have been any of them
    assert [leaderboard.tests[i]["hits@1"].p for i in (1, 2)] == [6 / 256] * 2
    assert [leaderboard.tests[i]["hits@1"].comparisons for i in (1, 2)] == [3, 3]
    assert [leaderboard.tests[i]["hits@1"].verdict for i in (1, 2)] == ["worse"] * 2
    leaderboard = only(compared(tmp_path / "R", baseline="best"))
    assert [leaderboard.tests[i]["hits@1"].p for i in (1, 2)] == [4 / 256] * 2
    # of another dataset, which lacks it, the reference is found on its questions
    methods = {name: [record(one, name, ["right"]) for one in asked] for name in ("a", "b", "c")}
    other = made_run(tmp_path / "S", asked, methods, dataset="books")
    counts = [
        {own["hits@1"].comparisons for own in leaderboard.tests.values()}
        for leaderboard in compared(tmp_path / "R", other, baseline="best").leaderboards
    ]
    assert counts == [{2}, {3}]


def test_an_interrupted_method_is_said_and_tested_on_what_both_were_asked(tmp_path: Path) -> None:
    run = made_run(tmp_path / "R", FOUR, {"good": four("good", "rrww"), "cut": four("cut", "wr"), "none": []})
    leaderboard = only(compared(run))
    cut = row(compared(run), "cut")
    assert (cut.n, cut.questions, cut.mean("hits@1")) == (2, 4, 0.5)
    place = [row.name for row in leaderboard.rows].index("cut")
    assert leaderboard.tests[place]["hits@1"].difference.n == 2
    assert leaderboard.tests[[row.name for row in leaderboard.rows].index("none")] == {}
    assert any("cut 2 of 4; none none of 4" in note for note in leaderboard.notes)


def test_the_best_is_decided_on_questions_that_all_were_asked(tmp_path: Path) -> None:
    run = made_run(tmp_path / "R", FOUR, {"a": four("a", "rrww"), "b": four("b", "rwr")})
    # of its own questions b has 2/3 right, a 2/4; of the three that both were asked, both have two
    leaderboard = only(compared(run))
    assert leaderboard.rows[0].name == "b"
    assert [leaderboard.rows[i].name for i in (leaderboard.best or 0, *leaderboard.tied)] == ["b", "a"]
    assert leaderboard.shared == 3
    # of the two shared questions a has both and b one, though b has more of its own: - was not asked
    asked = [question(f"q{i}") for i in range(6)]
    words = {"r": ["right"], "w": ["wrong"]}
    methods = {
        name: [record(one, name, words[letter]) for one, letter in zip(asked, given, strict=True) if letter != "-"]
        for name, given in (("a", "wwrr--"), ("b", "--rwrr"))
    }
    other = only(compared(made_run(tmp_path / "S", asked, methods)))
    assert [row.name for row in other.rows] == ["b", "a"]
    assert other.rows[other.best or 0].name == "a"
    assert other.shared == 2
    assert leaderboard.tests[1 - (leaderboard.reference or 0)]["hits@1"].difference.n == 3


def test_a_row_with_less_than_half_as_many_questions_is_not_the_best(tmp_path: Path) -> None:
    run = made_run(tmp_path / "H", FOUR, {"good": four("good", "wrrw"), "half": four("half", "rr")})
    leaderboard = only(compared(run))
    assert leaderboard.rows[leaderboard.best or 0].name == "half"
    assert leaderboard.shared == 2
    asked = [*FOUR, question("q5")]
    methods = {"good": [*four("good", "rrrw"), record(asked[4], "good", ["right"])], "less": four("less", "rr")}
    leaderboard = only(compared(made_run(tmp_path / "R", asked, methods)))
    assert leaderboard.rows[leaderboard.best or 0].name == "good"
    assert leaderboard.shared == 5


def test_runs_with_other_questions_are_compared_on_the_shared_ones(tmp_path: Path) -> None:
    first = made_run(tmp_path / "A", FOUR[:3], {"x": four("x", "rrr")})
    second = made_run(tmp_path / "B", FOUR[1:], {"y": [record(one, "y", ["wrong"]) for one in FOUR[1:]]})
    leaderboard = only(compared(first, second))
    assert leaderboard.tests[1]["hits@1"].difference.n == 2
    assert any("2 were asked of all" in note for note in leaderboard.notes)


def test_the_same_id_with_another_text_is_another_question(tmp_path: Path) -> None:
    other = [question("q1", text="Something else?")]
    first = made_run(tmp_path / "A", FOUR[:1], {"x": four("x", "r")})
    second = made_run(tmp_path / "B", other, {"y": [record(other[0], "y", ["right"])]})
    leaderboard = only(compared(first, second))
    assert leaderboard.tests[1] == {}
    assert any("0 were asked of all" in note for note in leaderboard.notes)


def test_other_gold_answers_are_said(tmp_path: Path) -> None:
    changed = [question("q1", ["wrong"])]
    first = made_run(tmp_path / "A", [question("q1")], {"x": four("x", "r")})
    second = made_run(tmp_path / "B", changed, {"y": [record(changed[0], "y", ["wrong"])]})
    leaderboard = only(compared(first, second))
    assert [row.mean("hits@1") for row in leaderboard.rows] == [1, 1]
    assert any(note.startswith("1 question with other gold answers") for note in leaderboard.notes)


def test_rows_are_told_apart_by_model_and_by_run(tmp_path: Path) -> None:
    for name, model in (("A", ""), ("B", "small"), ("C", "small")):
        made_run(tmp_path / name / "run", FOUR, {"x": four("x", "rrrr"), "y": four("y", "rrrr")[:0]}, model=model)
    comparison = compared(*(tmp_path / name / "run" for name in "ABC"))
    names = [row.name for row in comparison.rows if row.method == "x"]
    assert names == ["x, no model", "x, small (B/run)", "x, small (C/run)"]
    with pytest.raises(OptionError, match="may be") as caught:
        compared(*(tmp_path / name / "run" for name in "ABC"), baseline="x")
    assert caught.value.hint
    assert compared(*(tmp_path / n / "run" for n in "ABC"), baseline="x, small (B/run)").leaderboards[0].reference == 1


def test_questions_without_known_answers_are_left_out_and_said(tmp_path: Path) -> None:
    asked = [FOUR[0], replace(FOUR[1], answers=None)]
    run = made_run(tmp_path / "R", asked, {"x": [record(one, "x", ["right"]) for one in asked]})
    found = only(compared(run))
    hits = found.rows[0].means["hits@1"]
    assert hits is not None
    assert (hits.mean, hits.n, found.rows[0].n) == (1.0, 1, 2)
    assert any("hits@1 is not defined for every question" in note for note in found.notes)


def test_what_is_no_run_or_has_no_answer(tmp_path: Path, run: Path) -> None:
    file = run / "answers" / "good.jsonl"
    file.write_text(file.read_text()[:-20])
    assert row(compared(run), "good").n == 3, "a line that is still being written is no error"
    with pytest.raises(InputError, match="no run is here"):
        opened([tmp_path])
    with pytest.raises(InputError, match="named twice"):
        opened([run, tmp_path / "R" / ".." / "R"])
    (run / "run.json").write_text('{"format": 1}')
    with pytest.raises(DataError, match="not what a run writes"):
        opened([run])
    with pytest.raises(InputError, match="no question has been answered yet"):
        compared(made_run(tmp_path / "E", FOUR, {"x": []}))


def test_a_label_leads_nowhere_else(tmp_path: Path, run: Path) -> None:
    made_run(tmp_path / "two", FOUR, {"x": four("x", "rrrr")})
    for label in ("../../two/answers/x", "..", "", "x\n", "/etc/x"):
        config = json.loads((run / "run.json").read_text())
        config["methods"][0]["label"] = label
        rewrite(run / "run.json", config)
        with pytest.raises(DataError, match=r"run\.json: .* is no label of a method"):
            opened([run])
        with pytest.raises(DataError, match="no label"):
            Run.open(run).records(label)
        with pytest.raises(DataError, match="no label"):
            compare([Run.open(run)])


def test_a_line_that_is_no_record_has_its_number(run: Path) -> None:
    file = run / "answers" / "good.jsonl"
    whole = file.read_text()
    for line in ("{half", '{"question": "q1"}', "[]", "null"):
        file.write_text(f"{whole}{line}\n")
        with pytest.raises(DataError, match=r"good\.jsonl:5: "):
            compared(run)


def test_metrics_are_chosen_by_name() -> None:
    assert chosen_metrics("f1, hits@1,f1") == ("f1", "hits@1")
    assert "hits@1" in chosen_metrics("all")
    assert "seconds" in chosen_metrics()
    assert "seconds" not in chosen_metrics(reproducible=True)
    with pytest.raises(OptionError, match="'f2'") as caught:
        chosen_metrics("f1,f2")
    assert "hits@1, expected_hits@1" in caught.value.hint
    with pytest.raises(OptionError, match="differs from run to run"):
        chosen_metrics("seconds", reproducible=True)


def test_each_record_is_scored_once_and_figures_come_out_the_same(tmp_path: Path) -> None:
    asked = sampled_questions(45)
    methods = {name: sampled_records(asked, name, skill) for name, skill in (("a", 0.9), ("b", 0.5))}
    run = made_run(tmp_path / "R", asked, methods)
    told: list[tuple[str, int, int]] = []
    first = compare([Run.open(run)], progress=lambda *step: told.append(step))
    assert told == [("scoring", 0, 2), ("scoring", 1, 2), ("scoring", 2, 2)]
    assert compared(run).rows == first.rows
    again = compared(made_run(tmp_path / "S", FOUR[:1], {"x": [*four("x", "e"), *four("x", "r")]})).rows[0]
    assert (again.n, again.mean("hits@1"), dict(again.scores.errors)) == (1, 1.0, {}), (
        "of one asked again, the last counts"
    )
    other = compared(run, seed=1)
    assert [r.mean("hits@1") for r in other.rows] == [r.mean("hits@1") for r in first.rows]
    assert other.rows != first.rows


def test_what_runs_differ_in_is_told(tmp_path: Path) -> None:
    for name in "AB":
        made_run(tmp_path / name, FOUR, {"x": four("x", "rrrr")}, began=f"2026-01-0{1 if name == 'A' else 2}")
    assert only(compared(tmp_path / "A", tmp_path / "B")).notes == (
        "fewer than 30 questions: Wilson's intervals are wide; bootstrap intervals are rough, and too narrow",
    )
    file = tmp_path / "B" / "run.json"
    config = json.loads(file.read_text())
    config |= {"gold_topics": True, "prompts": "b" * 64, "graph": {**config["graph"], "name": "elsewhere/films.ttl"}}
    config["methods"][0]["options"] = {"max_hops": 2}
    rewrite(file, config)
    assert only(compared(tmp_path / "A", tmp_path / "B")).notes[0] == (
        "the runs were not run alike: they differ in gold_topics, prompts, x.max_hops"
    )
    config["graph"]["fingerprint"] = "other"
    rewrite(file, config)
    assert "they differ in graph, gold_topics" in only(compared(tmp_path / "A", tmp_path / "B")).notes[0]


def oracle_run(path: Path, chosen_by: dict[str, tuple[str, ...] | None], given: dict[str, str]) -> Path:
    """A run in which an oracle chose wherever anybody chooses."""
    methods = {
        name: [replace(one, chosen_by=chosen_by[name]) for one in four(name, letters)]
        for name, letters in given.items()
    }
    return made_run(path, FOUR, methods, model="oracle")


def test_a_row_in_which_nobody_chooses_is_no_ceiling(tmp_path: Path) -> None:
    chosen_by = {"walker": ("oracle",), "entity": (), "mindmap": ("words",)}
    given = {"walker": "rrww", "entity": "rrrr", "mindmap": "rrrw"}
    comparison = compared(oracle_run(tmp_path / "R", chosen_by, given))
    leaderboard = only(comparison)
    assert leaderboard.rows[leaderboard.best or 0].name == "walker"
    assert {row.name: row.title for row in leaderboard.rows} == {
        "walker": "walker", "entity": "entity †", "mindmap": "mindmap †"
    }  # fmt: skip
    assert leaderboard.tests == {}
    assert any(note.startswith("nobody chooses in entity; mindmap: as without") for note in leaderboard.notes)
    # who asks for such a row as the baseline has the others compared with it
    asked = only(compared(tmp_path / "R", baseline="entity"))
    assert [asked.rows[i].name for i in asked.tests] == ["walker"]


def test_a_ceiling_among_methods_is_never_the_best(tmp_path: Path) -> None:
    oracles = oracle_run(tmp_path / "O", {"walker": ("oracle",), "entity": ()}, {"walker": "rrrr", "entity": "rrrw"})
    methods = made_run(tmp_path / "M", FOUR, {"walker": four("walker", "rrww"), "x": four("x", "rwww")}, model="small")
    leaderboard = only(compared(oracles, methods))
    assert leaderboard.rows[0].title == "walker, oracle ‡"
    assert leaderboard.rows[leaderboard.best or 0].name == "walker, small"
    assert leaderboard.reference == leaderboard.best
    assert leaderboard.tests[0]["hits@1"].won == 2  # how far it is to the ceiling is told all the same
    lines = list(summary(leaderboard))
    assert lines[0].startswith("Best hits@1: walker, small, ")
    assert "an oracle chooses in walker, oracle: a ceiling, no method, and never the best" in leaderboard.notes
    named = only(compared(oracles, methods, baseline="walker, oracle"))
    assert named.reference == 0
    assert named.rows[named.best or 0].name == "walker, small"
    # a row without the oracle in the same run is a method too, and one that was asked little is as good as none
    mixed = oracle_run(tmp_path / "X", {"w": ("oracle",), "w+no_model": ()}, {"w": "rrrr", "w+no_model": "r"})
    leaderboard = only(compared(mixed))
    assert [row.title for row in leaderboard.rows] == ["w ‡", "w+no_model"]
    assert leaderboard.rows[leaderboard.best or 0].name == "w+no_model"
    # oracles alone are compared with each other
    alone = only(compared(oracle_run(tmp_path / "A", {"w": ("oracle",), "v": ("oracle",)}, {"w": "rrrw", "v": "rwww"})))
    assert [row.title for row in alone.rows] == ["w", "v"]
    assert (alone.best, alone.reference) == (0, 0)


def test_where_no_record_says_who_chose_nothing_is_said(tmp_path: Path) -> None:
    run = oracle_run(tmp_path / "R", {"walker": None, "entity": None}, {"walker": "rrww", "entity": "rrrr"})
    leaderboard = only(compared(run))
    assert leaderboard.rows[leaderboard.best or 0].name == "entity"
    assert not any("chooses" in note for note in leaderboard.notes)
    alone = only(compared(oracle_run(tmp_path / "A", {"entity": ()}, {"entity": "rrrr"})))
    assert (alone.best, alone.reference, alone.tests) == (None, None, {})


def test_a_model_that_failed_counts_as_failed_whatever_templates_listed(tmp_path: Path) -> None:
    lost = [
        replace(record(one, "x", ["right"]), status="partial", error=("E_MODEL", "gone"), fallbacks=())
        for one in FOUR[:3]
    ]
    found = only(compared(made_run(tmp_path / "R", FOUR, {"x": [*lost, record(FOUR[3], "x", ["right"])]})))
    (x,) = found.rows
    assert (x.mean("hits@1"), x.mean("f1"), x.mean("failed"), x.mean("partial")) == (0.25, 0.25, 0.75, 0)
    assert x.mean("linking_recall@1") == 1
    assert dict(x.scores.errors) == {"E_MODEL": 3}
    assert "questions that failed count as wrong: x 3 of 4 (E_MODEL 3)" in found.notes


def test_ties_are_said_with_what_decides(tmp_path: Path) -> None:
    methods = {"dear": four("dear", "rrwr", queries=9), "cheap": four("cheap", "rrrw", queries=2)}
    leaderboard = only(compared(made_run(tmp_path / "A", FOUR, methods)))
    assert [leaderboard.rows[i].name for i in (leaderboard.best or 0, *leaderboard.tied)] == ["cheap", "dear"]
    assert leaderboard.decided_by == "queries"
    assert "tied with dear (queries decides)" in next(summary(leaderboard))
    same = {name: four(name, "rrww") for name in ("a", "b")}
    leaderboard = only(compared(made_run(tmp_path / "B", FOUR, same)))
    assert "Best hits@1: a, 0.500 (0.150–0.850); tied with b (nothing tells them apart)." in summary(leaderboard)


def changed(run: Path, **config: object) -> Path:
    file = run / "run.json"
    rewrite(file, {**json.loads(file.read_text()), **config})
    return run


@pytest.mark.parametrize(
    ("config", "note"),
    [
        (
            {"left_out": {"no text": 1, "no \x1bid": 2}},
            "3 questions left out of the dataset: no text (1); no id (2)",
        ),
        (
            {"missing_share": 0.234},
            "23 % of the gold terms are not in the graph: the figures are not those of the data",
        ),
        ({"without_answer": 3}, "3 questions without a right answer: who says nothing is right there"),
        ({"left_out": {}, "missing_share": 0.01, "without_answer": 0}, ""),
    ],
)
def test_what_of_the_dataset_is_not_in_the_run_is_told(tmp_path: Path, config: dict[str, object], note: str) -> None:
    run = changed(made_run(tmp_path / "R", FOUR, {"x": four("x", "rrrr")}), **config)
    notes = [one for one in only(compared(run)).notes if "fewer than" not in one]
    assert [one[: len(note)] for one in notes] == ([note] if note else [])
    other = made_run(tmp_path / "Other", FOUR, {"y": four("y", "rrrr")})
    notes = [one for one in only(compared(run, other)).notes if "fewer than" not in one]
    assert [one.startswith(note) and one.endswith("(R)") for one in notes] == ([True] if note else [])
