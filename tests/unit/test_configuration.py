"""The file of settings: which is read, and errors that name the key."""

import os
from pathlib import Path
from unittest.mock import patch

import pytest

from kgsparql.cli._settings import Settings, load_settings, user_file
from kgsparql.errors import OptionError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with a project in it, in which we are."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("KGSPARQL_CONFIG", "KGSPARQL_KG", "OPENAI_API_KEY", "OPENAI_BASE_URL", "KGSPARQL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def project(home: Path, text: str) -> Settings:
    file = home / "project" / "kgsparql.toml"
    file.write_text(text, encoding="utf-8")
    with patch.dict(os.environ, KGSPARQL_CONFIG=str(file)):
        return load_settings()


def own(home: Path, text: str, mode: int = 0o600) -> Settings:
    assert user_file().is_relative_to(home)
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, encoding="utf-8")
    user_file().chmod(mode)
    return load_settings()


def test_without_files_nothing_is_set(home: Path) -> None:
    assert load_settings().values == {}


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_key_must_not_be_in_a_file_that_others_read(home: Path) -> None:
    with pytest.raises(OptionError, match="others can read"):
        own(home, '[model]\napi_key = "sk-123456789"', mode=0o644)


def test_errors_name_file_and_key_or_line(home: Path) -> None:
    for text, said, hint in (
        ("modell = 1", "modell: no such setting", "docs/settings.md"),
        ('[model]\nnmae = "x"', "model.nmae: no such setting; there are graph, languages", ""),
        ('[graphs.films]\nsource = "x"', "graphs.films", ""),
        ('[limits]\nmax_cost = "much"', "limits.max_cost", ""),
        ("[model]\ntemperature = true", "model.temperature", ""),
        ("[model]\nprices = ['1']", "model.prices", ""),
        ("[model]\nrequired = 1", "model.required: write a switch", ""),
        ("model = 1", "model: no such setting", ""),
        ("[model]\nname = ''", "model.name", ""),
        ("languages = 'x'\nb\nc = 1", "line 2", ""),
    ):
        with pytest.raises(OptionError) as caught:
            project(home, text)
        assert "kgsparql.toml" in caught.value.message
        assert said in caught.value.message
        assert hint in caught.value.hint


def test_prefixes_and_languages_of_several_graphs_are_joined_and_the_first_wins(home: Path) -> None:
    found = project(
        home,
        '[graphs.a]\nsources = "a.ttl"\nlanguages = ["en", "de"]\n'
        'prefixes = {ex = "http://a.org/", index = "http://i.org/"}\n'
        '[graphs.b]\nsources = "b.ttl"\nlanguages = "fr"\nprefixes = {ex = "http://b.org/", y = "http://y.org/"}',
    )
    prefixes = {"ex": "http://a.org/", "index": "http://i.org/", "y": "http://y.org/"}
    assert found.of_graphs(["a", "b"]) == {"prefixes": prefixes, "languages": ["en", "de", "fr"]}
    assert found.of_graphs(["a.ttl"]) == {}


def test_a_variable_names_another_file_or_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert project(home, 'languages = "de"').values.get("languages") == ["de"]
    assert load_settings().values == {}, "a file that lies here is not read by itself"
    monkeypatch.setenv("KGSPARQL_CONFIG", "none")
    assert own(home, 'languages = "de"').values == {}
    monkeypatch.setenv("KGSPARQL_CONFIG", "nowhere.toml")
    with pytest.raises(OptionError, match="no file"):
        load_settings()
