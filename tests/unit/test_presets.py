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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "p.toml"


def read(file: Path, text: str) -> Preset:
    file.write_text(text, encoding="utf-8")
    return Preset.load(file)


def test_a_preset_that_is_read_again_says_the_same(file: Path) -> None:
    found = read(file, FULL.to_toml())
    options = {**FULL.options, "max_hops": "none"}
    assert found == replace(FULL, options=options)
    assert retrievers.load(found.method, found.with_options({})) == retrievers.load(FULL.method, FULL.options)
    assert found.to_toml() == FULL.to_toml()
    data = tomllib.loads(FULL.to_toml())
    assert (data["options"], data["tuned"]["held_out"]["p"], data["comment"]) == (options, 0.01, FULL.comment)
    assert list(data) == ["method", "comment", "kgsparql", "options", "tuned"]


@given(st.text())
def test_any_text_survives(text: str) -> None:
    whole = text.encode("utf-8", "replace").decode()
    preset = Preset(method="struct_gpt", options={"mediator_classes": (text,)}, comment=text)
    data = tomllib.loads(preset.to_toml())
    assert data["options"]["mediator_classes"] == [whole]
    assert data.get("comment", "") == whole


def test_values_are_taken_as_they_are_written_and_what_is_said_explicitly_wins(file: Path) -> None:
    classes = ("http://a.example/b,c", "http://a.example/d")
    preset = read(file, Preset(method="struct_gpt", options={"mediator_classes": classes}).to_toml())
    assert retrievers.load("struct_gpt", preset.with_options({})).mediator_classes == classes
    assert read(file, 'method = "mindmap"\n') == Preset(method="mindmap"), "a method is all that it needs"
    found = read(file, 'method = "mindmap"\n[options]\npaths_kept = 3\nmax_hops = 2\nmerge_inverses = false\n')
    method = retrievers.load("mindmap", found.with_options({"max_hops": "4"}))
    assert (method.paths_kept, method.max_hops, method.merge_inverses) == (3, 4, False)


def test_what_is_no_preset_is_refused_with_its_line(file: Path) -> None:
    for text, line, said in (
        ('method = "mindmap"\n[options\n', 2, "not TOML"),
        ('method = "mindmap', 1, "not TOML"),
        ('method = "mindmap"\ncolour = "red"\n', 2, "colour is not for presets"),
        ('method = "mindmap"\n\n[colours]\nred = 1\n', 3, "colours is not for presets"),
        ("method = 3\n", 1, "method input should be a valid string"),
        ('method = "mindmap"\noptions = 3\n', 2, "options is not a table"),
        ('method = "mindmap"\n[options]\npaths_kept = 2026-01-01\n', 3, "options.paths_kept input should be"),
        ('method = "mindmap"\n[options.deep]\nx = 1\n', 2, "options.deep input should be"),
        ('method = "mindmap"\n[tuned]\nmetric = "f1"\n', 2, "tuned.dataset is missing"),
    ):
        with pytest.raises(InputError) as caught:
            read(file, text)
        assert not isinstance(caught.value, OptionError)
        assert f"{file}:{line}" in caught.value.message
        assert said in caught.value.message
    for text, said in (
        ("[options]\npaths_kept = 3\n", "method is missing"),
        (
            FULL.to_toml().replace("chosen = 0.75", 'chosen = "much"'),
            r"p\.toml:\d+: tuned\.held_out\.chosen input should be a valid number",
        ),
    ):
        with pytest.raises(InputError, match=said):
            read(file, text)


def test_what_the_methods_have_not_is_refused_with_the_file(file: Path) -> None:
    for option, said in (
        ("paths_keptt = 3", "has no option 'paths_keptt'"),
        ('paths_kept = "many"', "paths_kept='many' is not a whole number"),
        ("paths_kept = 3.5", "paths_kept='3.5' is not a whole number"),
        ("paths_kept = 9999999", "paths_kept=9999999 is out of range"),
        ("paths_kept = [3]", "paths_kept has one value, not a list"),
    ):
        with pytest.raises(OptionError, match=rf"p\.toml:4: mindmap:? {said}"):
            read(file, f'method = "mindmap"\n\n[options]\n{option}\n')
    with pytest.raises(OptionError, match=r"p\.toml.*no method 'mind_map'"):
        read(file, 'method = "mind_map"\n')


def test_a_file_that_cannot_be_read_is_said(file: Path) -> None:
    for path, said in ((file.with_name("none.toml"), "No such file"), (file.parent, "Is a directory")):
        with pytest.raises(InputError, match=said):
            Preset.load(path)
    for content, said in (
        (b'method = "mindmap"\n# caf\xe9\n', r"p\.toml:2: not UTF-8"),
        (b"method = " + b"[" * 100_000, "nested too deeply"),
        (b"#" * 1_000_001, "larger than"),
    ):
        file.write_bytes(content)
        with pytest.raises(InputError, match=said):
            Preset.load(file)
