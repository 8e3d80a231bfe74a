"""Settings of files, seen from the commands: flag, environment, file, default."""

import json
import os
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

from kgsparql.cli._settings import Settings, load_settings, user_file
from kgsparql.errors import OptionError
from tests.cli.conftest import Run, told_by
from tests.world import PHYSICS, ROOT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph and a file of settings, in which we are."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(ROOT / "fixtures" / "nobel.ttl", folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("KGSPARQL_CONFIG", "KGSPARQL_KG", "KGSPARQL_LOG", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("KGSPARQL_MODEL", raising=False)
    monkeypatch.setenv("KGSPARQL_CONFIG", str(folder / "kgsparql.toml"))
    (folder / "kgsparql.toml").write_text(
        'graph = "prizes"\nlog = "q.jsonl"\n[graphs]\nprizes = "nobel.ttl"\n'
        '[method]\nname = "path_ranking"\noptions = {max_hops = 1, paths_kept = 2}\n[limits]\nmax_seconds = 77\n',
        encoding="utf-8",
    )
    return folder


def test_a_file_acts_as_if_its_options_had_been_typed(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    configured = told_by(run("ask", PHYSICS, "-f", "json", "-q"))
    assert PHYSICS in (project / "q.jsonl").read_text(encoding="utf-8")
    assert told_by(run("ask", PHYSICS, "-k", "prizes", "-f", "json", "-q")) == configured
    monkeypatch.setenv("KGSPARQL_CONFIG", "none")
    typed = told_by(run(
        "ask", PHYSICS, "-k", project / "nobel.ttl", "-r", "path_ranking", "-O", "max_hops=1", "-O", "paths_kept=2",
        "--max-seconds", "77", "-f", "json", "-q",
    ))  # fmt: skip
    assert configured["answers"]
    assert configured == typed
    usual = told_by(run("ask", PHYSICS, "-k", project / "nobel.ttl", "-f", "json", "-q"))
    assert configured != usual


def test_what_is_typed_wins_over_variable_over_file(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "other.ttl").write_text('<http://e.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "A" .')
    assert run("ask", PHYSICS, "-k", "other.ttl", "-q").exit_code == 3
    wrong = run("ask", PHYSICS, "-O", "max_hops=none", "-O", "bogus=1", "-q")
    assert "bogus" in wrong.stderr
    other = run("ask", PHYSICS, "-r", "query_plan", "-q")  # the options are of another method
    assert "has no option" not in other.stderr
    (project / "q.jsonl").unlink()
    monkeypatch.setenv("KGSPARQL_LOG", str(project / "other.jsonl"))
    monkeypatch.setenv("KGSPARQL_KG", "missing.ttl")
    done = run("ask", PHYSICS, "-q")
    assert "missing.ttl" in done.stderr
    assert not (project / "q.jsonl").exists()
    for name in ("KGSPARQL_LOG", "KGSPARQL_KG"):
        monkeypatch.delenv(name)
    (project / "kgsparql.toml").write_text(
        'graph = "nobel.ttl"\n[model]\nname = "m"\nbase_url = "http://127.0.0.1:9/v1"', encoding="utf-8"
    )
    assert "127.0.0.1:9" in run("ask", PHYSICS, "-q", "--max-seconds", "20").stdout, "the note of the model that failed"
    done = run("ask", PHYSICS, "--no-model")
    assert done.exit_code == 0, done.stderr


def test_doctor_says_what_is_read_from_where(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        checks = json.loads(run("doctor", "--embedder", "none", "-f", "json").stdout)
        return next(one["found"] for one in checks if one["check"] == "settings")

    keys = "graph, log, graphs.prizes, method.name, method.options, limits.max_seconds"
    assert said().startswith(f"{project / 'kgsparql.toml'}: {keys}; set here: KGSPARQL_")
    (project / "kgsparql.toml").write_text("[model]\napi_key = 'k'")
    assert said() == f"{project / 'kgsparql.toml'}: model.api_key is gone: the key is in OPENAI_API_KEY [E_OPTION]"
    assert run("ask", PHYSICS).exit_code == run("doctor").exit_code == 2
    monkeypatch.setenv("KGSPARQL_CONFIG", "none")
    assert said().startswith(f"no file; your own would be {user_file()}; set here: KGSPARQL_")


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


def written(home: Path, text: str) -> Settings:
    file = home / "project" / "kgsparql.toml"
    file.write_text(text, encoding="utf-8")
    with patch.dict(os.environ, KGSPARQL_CONFIG=str(file)):
        return load_settings()


def own(home: Path, text: str) -> Settings:
    assert user_file().is_relative_to(home)
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, encoding="utf-8")
    return load_settings()


def test_without_files_nothing_is_set(home: Path) -> None:
    assert load_settings().values == {}


def test_errors_name_file_and_key_or_line(home: Path) -> None:
    for text, said, hint in (
        ("modell = 1", "modell: no such setting", "docs/settings.md"),
        ('[model]\nnmae = "x"', "model.nmae: no such setting; there are graph, languages", ""),
        ('[graphs.films]\nsources = "x"', "[graphs.NAME] is gone: [graphs] NAME = SOURCE", ""),
        ("[graphs]\nfilms = 1", "graphs.films: write a text, or a list of them", ""),
        ('[limits]\nmax_tokens = "many"', "limits.max_tokens: write a number", ""),
        ("[model]\ntemperature = 1", "model.temperature is gone", ""),
        ("[model]\nrequired = 1", "model.required: write a switch", ""),
        ("model = 1", "model: no such setting", ""),
        ("[model]\nname = ''", "model.name", ""),
        ("[model]\napi_key = 'k'", "model.api_key is gone: the key is in OPENAI_API_KEY", ""),
        ("languages = 'x'\nb\nc = 1", "line 2", ""),
    ):
        with pytest.raises(OptionError) as caught:
            written(home, text)
        assert "kgsparql.toml" in caught.value.message
        assert said in caught.value.message
        assert hint in caught.value.hint


def test_a_variable_names_another_file_or_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(home, 'languages = "de"').values.get("languages") == ["de"]
    assert load_settings().values == {}, "a file that lies here is not read by itself"
    monkeypatch.setenv("KGSPARQL_CONFIG", "none")
    assert own(home, 'languages = "de"').values == {}
    monkeypatch.setenv("KGSPARQL_CONFIG", "nowhere.toml")
    with pytest.raises(OptionError, match="no file"):
        load_settings()
