"""What is tried: values as they are typed, grids and samples."""

from __future__ import annotations

import pytest

from kgsparql.errors import LimitError, OptionError
from kgsparql.evaluation.search_spaces import Space, setting_key


@pytest.mark.parametrize(
    ("method", "option", "text", "values"),
    [
        ("mindmap", "paths_kept", " 3 , 3,5 ", (3, 5)),
        ("mindmap", "paths_kept", "1..3,10", (1, 2, 3, 10)),
        ("mindmap", "paths_kept", "2..9/3", (2, 5, 8)),
        ("path_ranking", "nested", "0.1..0.5/0.1", (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("path_ranking", "max_hops", "none,1..2", (None, 1, 2)),
        ("think_on_graph", "skip", "|http://a.example/p,http://a.example/q", ((), ("http://a.example/p", "http://a.example/q"))),
    ],
)  # fmt: skip
def test_values_as_they_are_typed(method: str, option: str, text: str, values: tuple[object, ...]) -> None:
    space = Space.read(method, {option: text})
    assert space.values == {option: values}


@pytest.mark.parametrize(
    ("method", "texts", "said"),
    [
        ("mindmapp", {"paths_kept": "3"}, "no method 'mindmapp'"),
        ("mindmap", {}, "no option to tune"),
        ("mindmap", {"colour": "3"}, "no option 'colour'"),
        ("mindmap", {"paths_kept": "3,many"}, "paths_kept='many' is not a whole number"),
        ("mindmap", {"paths_kept": "3,,5"}, "an empty value"),
        ("mindmap", {"paths_kept": "5..1"}, "no range"),
        ("mindmap", {"paths_kept": "1..2/0.5"}, "'1.5' is not a whole number"),
        ("path_ranking", {"nested": "0..1"}, "no range"),
        ("mindmap", {"mentions": "model,nobody"}, "mentions='nobody'"),
        ("entity", {"node_freq_weight": "0.7"}, "not 1 together"),
    ],
)
def test_what_cannot_be_tried_is_said(method: str, texts: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Space.read(method, texts)


def test_too_many_values_are_refused_before_they_are_made() -> None:
    with pytest.raises(LimitError, match="more than 1,000 values"):
        Space.read("mindmap", {"paths_kept": "1..1000000000"})
    with pytest.raises(LimitError, match="more than 1,000 values"):
        Space.read("path_ranking", {"nested": "0..1/0.000000001"})
    space = Space.read("mindmap", {"paths_kept": "1..100", "lines_per_entity": "1..100", "neighbour_lines": "1..2"})
    with pytest.raises(LimitError, match="a grid of 20,000 trials"):
        space.grid()


def test_a_grid_is_everything_and_the_last_option_the_fastest() -> None:
    settings = Space.read("mindmap", {"paths_kept": "3,5", "max_hops": "2,3"}).grid()
    assert [tuple(setting.values()) for setting in settings] == [(3, 2), (3, 3), (5, 2), (5, 3)]


def test_a_sample_is_the_same_for_a_seed_and_repeats_nothing() -> None:
    space = Space.read("mindmap", {"paths_kept": "1..10", "max_hops": "1..5"})
    one, again, other = (space.sample(20, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert len({setting_key(setting) for setting in one}) == 20
    assert len(space.sample(90, seed=1)) == 50  # as many as there are
    texts = dict.fromkeys(("paths_kept", "lines_per_entity", "neighbour_lines", "paths_per_pair"), "1..100")
    too_large_to_list = Space.read("mindmap", texts).sample(30, seed=0)
    assert len({setting_key(setting) for setting in too_large_to_list}) == 30


def test_what_a_setting_may_cost_is_bounded() -> None:
    space = Space.read("mindmap", {"verbalise": "template,model"})
    assert [space.calls(setting) for setting in ({"verbalise": "template"}, {"verbalise": "model"})] == [2, 3]
