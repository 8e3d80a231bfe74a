"""Settings of files, seen from the commands: flag, environment, file, default; and ``kgsparql config``."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
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
        'graph = "prizes"\nlog = "q.sqlite"\n[graphs]\nprizes = "nobel.ttl"\n'
        '[method]\nname = "path_ranking"\noptions = {max_hops = 1, paths_kept = 2}\n[limits]\nmax_seconds = 77\n',
        encoding="utf-8",
    )
    return folder


def settings(run: Run, *words: str) -> dict[str, tuple[object, str]]:
    shown = json.loads(run("config", "show", "-f", "json", *words).stdout)
    return {one["key"]: (one["value"], one["origin"]) for one in shown}


def test_a_file_acts_as_if_its_options_had_been_typed(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    configured = run("ask", PHYSICS, "-f", "json", "-q", "--reproducible").stdout
    assert PHYSICS in run("log").stdout
    assert run("ask", PHYSICS, "-k", "prizes", "-f", "json", "-q", "--reproducible").stdout == configured
    monkeypatch.setenv("KGSPARQL_CONFIG", "none")
    typed = run(
        "ask", PHYSICS, "-k", project / "nobel.ttl", "-r", "path_ranking", "-O", "max_hops=1", "-O", "paths_kept=2",
        "--max-seconds", "77", "-f", "json", "-q", "--reproducible",
    ).stdout  # fmt: skip
    assert json.loads(configured)["answers"]
    assert configured == typed
    usual = run("ask", PHYSICS, "-k", project / "nobel.ttl", "-f", "json", "-q", "--reproducible").stdout
    assert configured != usual


def test_what_is_typed_wins_over_the_environment_which_wins_over_the_file(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "other.ttl").write_text('<http://e.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "A" .')
    assert run("ask", PHYSICS, "-k", "other.ttl", "-q").exit_code == 3
    wrong = run("ask", PHYSICS, "-O", "max_hops=none", "-O", "bogus=1", "-q")
    assert "bogus" in wrong.stderr
    other = run("ask", PHYSICS, "-r", "query_plan", "-q")  # the options are of another method
    assert "has no option" not in other.stderr
    (project / "q.sqlite").unlink()
    monkeypatch.setenv("KGSPARQL_LOG", str(project / "other.sqlite"))
    monkeypatch.setenv("KGSPARQL_KG", "missing.ttl")
    done = run("ask", PHYSICS, "-q")
    assert "missing.ttl" in done.stderr
    assert not (project / "q.sqlite").exists()
    found = settings(run)
    assert found["log"] == (str(project / "other.sqlite"), "KGSPARQL_LOG")
    assert found["graph"] == (["missing.ttl"], "KGSPARQL_KG")
    for name in ("KGSPARQL_LOG", "KGSPARQL_KG"):
        monkeypatch.delenv(name)
    (project / "kgsparql.toml").write_text(
        'graph = "nobel.ttl"\n[model]\nname = "m"\nbase_url = "http://127.0.0.1:9/v1"', encoding="utf-8"
    )
    assert "127.0.0.1:9" in run("ask", PHYSICS, "-q", "--max-seconds", "20").stdout, "the note of the model that failed"
    done = run("ask", PHYSICS, "--no-model")
    assert done.exit_code == 0, done.stderr


def test_show_says_where_each_value_is_from_and_no_key(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (project / "kgsparql.toml").open("a") as file:
        file.write('[model]\nname = "mine"\napi_key = "sk-in-the-file"\n')
    (project / "kgsparql.toml").chmod(0o600)
    found = settings(run)
    assert found["model.name"] == ("mine", str(project / "kgsparql.toml"))
    assert found["model.api_key"] == ("***", str(project / "kgsparql.toml"))
    assert found["limits.max_seconds"] == (77, str(project / "kgsparql.toml"))
    assert found["limits.max_queries"] == (500, "default")
    assert found["method.options"][0] == {"max_hops": 1, "paths_kept": 2}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-in-the-environment")
    assert settings(run)["model.api_key"] == ("***", "OPENAI_API_KEY")
    shown = run("config", "show").stdout
    assert "sk-in" not in shown
    assert any(line.split() == ["graphs.prizes", "nobel.ttl", "kgsparql.toml"] for line in shown.splitlines())


def test_what_holds_for_a_graph_is_shown_and_its_prefixes_are_read_and_written_by_every_command(
    project: Path, run: Run
) -> None:
    (project / "other.ttl").write_text('<http://e.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "A" .')
    (project / "kgsparql.toml").write_text(
        'graph = "prizes"\nlanguages = "fr"\nlog = "q.sqlite"\n[graphs.prizes]\nsources = "nobel.ttl"\n'
        'languages = ["en", "de"]\nprefixes = {laureate = "http://dbpedia.org/resource/Marie_"}\n'
        '[graphs]\nother = "other.ttl"\n[method]\nname = "path_ranking"\noptions = {max_hops = 1}\n',
        encoding="utf-8",
    )
    file = str(project / "kgsparql.toml")
    assert settings(run)["languages"] == (["en", "de"], file)  # of the default graph
    assert "graphs.other" in settings(run)
    found = settings(run, "-k", "other")
    assert found["graph"] == ([str(project / "other.ttl")], "-k")
    assert found["languages"] == (["fr"], file)
    assert found["prefixes"] == (None, "default")
    assert not any(key.startswith("graphs.") for key in found)
    found = settings(run, "-k", "prizes")
    assert found["prefixes"] == ({"laureate": "http://dbpedia.org/resource/Marie_"}, file)
    assert run("show", "laureate:Curie", "-q").stdout.startswith("laureate:Curie ")
    assert "laureate:Curie" in run("find", "Marie Curie", "-q").stdout
    select = "SELECT * { ?who <http://dbpedia.org/ontology/spouse> laureate:Curie }"
    assert "Pierre" in run("query", select, "-q").stdout
    done = run("ask", "Where was she born?", "-e", "laureate:Curie", "-f", "plain", "-q")
    assert done.stdout == "Warsaw\n", done.stderr
    assert run("paths", "laureate:Curie", "dbr:Pierre_Curie", "-q").exit_code == 0
    assert "laureate" in run("show", "laureate:Curie", "-k", "other", "-q").stderr


def test_nothing_is_paid_where_there_is_no_file(project: Path) -> None:
    (project / "kgsparql.toml").unlink()
    code = (
        "import sys, time; from kgsparql.cli import _settings as c; import platformdirs\n"
        "start = time.perf_counter(); found = c.load_settings(); taken = time.perf_counter() - start\n"
        "assert not found.values and 'pydantic' not in sys.modules and taken < 0.005, taken"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT), "HOME": str(project)})
