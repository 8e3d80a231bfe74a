"""A preset says what it said when it is read again; what it cannot mean is refused, with its file."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql import retrievers
from kgsparql.errors import InputError, OptionError
from kgsparql.retrievers._loading import Preset

FULL = Preset(
    method="path_ranking",
    options={"paths_kept": 10, "max_hops": None, "nested": 0.30000000000000004, "words": 1e-07},
    comment='a "quoted" word, a \\ and a tab\t; é',
    kgsparql="0.1.0",
    tuned={"metric": "f1", "significant": True, "held_out": {"n": 21, "difference": 0.25, "p": 0.01}},
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
    assert retrievers.load(found.method, found.options) == retrievers.load(FULL.method, FULL.options)
    assert found.to_toml() == FULL.to_toml()
    data = tomllib.loads(FULL.to_toml())
    assert (data["options"], data["tuned"]["held_out"]["p"], data["comment"]) == (options, 0.01, FULL.comment)
    assert list(data) == ["method", "comment", "kgsparql", "options", "tuned"]


@given(st.text())
def test_any_text_survives(text: str) -> None:
    whole = text.encode("utf-8", "replace").decode()
    data = tomllib.loads(Preset(method="path_ranking", options={"several": (text,)}, comment=text).to_toml())
    assert data["options"]["several"] == [whole]
    assert data.get("comment", "") == whole


def test_what_is_said_explicitly_wins(file: Path) -> None:
    assert read(file, 'method = "mindmap"\n') == Preset(method="mindmap"), "a method is all that it needs"
    found = read(file, 'method = "mindmap"\n[options]\npaths_kept = 3\nmax_hops = 2\ntwo_hop_when_single = false\n')
    method = retrievers.load("mindmap", {**found.options, "max_hops": "4"})
    assert (method.paths_kept, method.max_hops, method.two_hop_when_single) == (3, 4, False)


def test_what_is_no_preset_is_refused_with_its_file(file: Path) -> None:
    for content, said in (
        ('method = "mindmap"\n[options\n', r"not TOML: .*line 2"),
        ('method = "mindmap"\ncolour = "red"\n', "colour: Unexpected"),
        ('method = "mindmap"\noptions = 3\n', "options: Input should be"),
        ("[options]\npaths_kept = 3\n", "method: "),
        (b'method = "mindmap"\n# caf\xe9\n', "not TOML: 'utf-8' codec"),
        (b"method = " + b"[" * 100_000, "not TOML"),
        (b"#" * 1_000_001, "larger than"),
    ):
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(InputError, match=rf"p\.toml: {said}"):
            Preset.load(file)
    with pytest.raises(InputError, match="No such file"):
        Preset.load(file.with_name("none.toml"))


def test_what_the_methods_have_not_is_refused_with_the_file(file: Path) -> None:
    for option, said in (
        ("paths_keptt = 3", "mindmap has no option 'paths_keptt'"),
        ("paths_kept = 3.5", "mindmap: paths_kept='3.5' is not a whole number"),
        ("paths_kept = 9999999", "mindmap: paths_kept=9999999 is out of range"),
        ("paths_kept = [3]", r"mindmap: paths_kept='\[3\]' is not a whole number"),
    ):
        with pytest.raises(OptionError, match=rf"p\.toml: {said}"):
            read(file, f'method = "mindmap"\n\n[options]\n{option}\n')
    with pytest.raises(OptionError, match=r"p\.toml.*no method 'mind_map'"):
        read(file, 'method = "mind_map"\n')
