"""A preset says what it said when it is read again; what it cannot mean is refused, with file and line."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import retrievers
from kgsparql.errors import InputError, OptionError
from kgsparql.retrievers._presets import Figures, Preset, Tuned

FULL = Preset(
    method="path_ranking",
    options={"paths_kept": 10, "max_hops": None, "nested": 0.30000000000000004, "words": 1e-07},
    comment='a "quoted" word, a \\ and a tab\t; é',
    kgsparql="0.1.0",
    tuned=Tuned(
        metric="f1",
        dataset="nobel",
        questions_sha256="ab",
        graph="cd",
        model="",
        gold_topics=False,
        search="grid",
        trials=9,
        significant=True,
        development=Figures(n=20, default=0.5, chosen=0.625),
        held_out=Figures(n=21, default=0.5, chosen=0.75, difference=0.25, low=0.1, high=0.4, p=0.01),
    ),
)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_preset_that_is_read_again_says_the_same(tmp_path: Path) -> None:
    file = written(tmp_path / "preset.toml", FULL.to_toml())
    found = Preset.load(file)
    assert found == replace(FULL, options={**FULL.options, "max_hops": "none"})
    method = retrievers.load(found.method, found.with_options({}))
    assert method == retrievers.load(FULL.method, FULL.options)
    assert found.to_toml() == FULL.to_toml()


def test_the_document_is_toml() -> None:
    data = tomllib.loads(FULL.to_toml())
    assert data["options"] == {"paths_kept": 10, "max_hops": "none", "nested": 0.30000000000000004, "words": 1e-07}
    assert data["tuned"]["held_out"]["p"] == 0.01
    assert data["comment"] == FULL.comment
    assert list(data) == ["method", "comment", "kgsparql", "options", "tuned"]


@given(st.text())
def test_any_text_survives(text: str) -> None:
    whole = text.encode("utf-8", "replace").decode()
    preset = Preset(method="struct_gpt", options={"mediator_classes": (text,)}, comment=text)
    data = tomllib.loads(preset.to_toml())
    assert data["options"]["mediator_classes"] == [whole]
    assert data.get("comment", "") == whole


def test_values_with_commas_and_several_values_are_kept_apart(tmp_path: Path) -> None:
    classes = ("http://a.example/b,c", "http://a.example/d")
    preset = Preset(method="struct_gpt", options={"mediator_classes": classes})
    found = Preset.load(written(tmp_path / "p.toml", preset.to_toml()))
    assert retrievers.load("struct_gpt", found.with_options({})).mediator_classes == classes


def test_a_hand_written_preset_needs_a_method_only(tmp_path: Path) -> None:
    assert Preset.load(written(tmp_path / "p.toml", 'method = "mindmap"\n')) == Preset(method="mindmap")


def test_what_is_said_explicitly_wins(tmp_path: Path) -> None:
    found = Preset.load(written(tmp_path / "p.toml", 'method = "mindmap"\n[options]\npaths_kept = 3\nmax_hops = 2\n'))
    method = retrievers.load("mindmap", found.with_options({"max_hops": "4"}))
    assert (method.paths_kept, method.max_hops) == (3, 4)


def test_true_and_false_are_taken(tmp_path: Path) -> None:
    found = Preset.load(written(tmp_path / "p.toml", 'method = "mindmap"\n[options]\nmerge_inverses = false\n'))
    assert retrievers.load("mindmap", found.with_options({})).merge_inverses is False


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('method = "mindmap"\n[options\n', 2, "not TOML"),
        ('method = "mindmap', 1, "not TOML"),
        ('method = "mindmap"\ncolour = "red"\n', 2, "colour is not for presets"),
        ('method = "mindmap"\n\n[colours]\nred = 1\n', 3, "colours is not for presets"),
        ("method = 3\n", 1, "method input should be a valid string"),
        ('method = "mindmap"\noptions = 3\n', 2, "options is not a table"),
        ('method = "mindmap"\n[options]\npaths_kept = 2026-01-01\n', 3, "options.paths_kept input should be"),
        ('method = "mindmap"\n[options.deep]\nx = 1\n', 2, "options.deep input should be"),
        ('method = "mindmap"\n[tuned]\nmetric = "f1"\n', 2, "tuned.dataset is missing"),
    ],
)
def test_what_is_no_preset_is_refused_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = written(tmp_path / "p.toml", text)
    with pytest.raises(InputError) as caught:
        Preset.load(file)
    assert not isinstance(caught.value, OptionError)
    assert f"{file}:{line}" in caught.value.message
    assert said in caught.value.message


def test_a_figure_of_another_type_is_refused(tmp_path: Path) -> None:
    text = FULL.to_toml().replace("chosen = 0.75", 'chosen = "much"')
    with pytest.raises(InputError, match=r"p\.toml:\d+: tuned\.held_out\.chosen input should be a valid number"):
        Preset.load(written(tmp_path / "p.toml", text))


def test_a_method_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="method is missing"):
        Preset.load(written(tmp_path / "p.toml", "[options]\npaths_kept = 3\n"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("paths_keptt = 3", r"p\.toml:4: mindmap has no option 'paths_keptt'"),
        ('paths_kept = "many"', r"p\.toml:4: mindmap: paths_kept='many' is not a whole number"),
        ("paths_kept = 3.5", r"p\.toml:4: mindmap: paths_kept='3.5' is not a whole number"),
        ("paths_kept = 9999999", r"p\.toml:4: mindmap: paths_kept=9999999 is out of range"),
        ("paths_kept = [3]", r"p\.toml:4: mindmap: paths_kept has one value, not a list"),
    ],
)
def test_options_that_are_no_more_are_refused_with_the_file(tmp_path: Path, options: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Preset.load(written(tmp_path / "p.toml", f'method = "mindmap"\n\n[options]\n{options}\n'))


def test_a_method_that_is_no_more_is_refused_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"p\.toml.*no method 'mind_map'"):
        Preset.load(written(tmp_path / "p.toml", 'method = "mind_map"\n'))


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        Preset.load(tmp_path / "none.toml")
    with pytest.raises(InputError, match="Is a directory"):
        Preset.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'method = "mindmap"\n# caf\xe9\n')
    with pytest.raises(InputError, match=r"latin\.toml:2: not UTF-8"):
        Preset.load(tmp_path / "latin.toml")
    (tmp_path / "deep.toml").write_text(f"method = {'[' * 100_000}")
    with pytest.raises(InputError, match="nested too deeply"):
        Preset.load(tmp_path / "deep.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(InputError, match="larger than"):
        Preset.load(tmp_path / "large.toml")
