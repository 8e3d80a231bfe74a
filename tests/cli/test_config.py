"""Settings of files, seen from the commands: flag, environment, project, user, default; and ``kgsparql config``."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgsparql.cli._settings import user_file
from tests.cli.conftest import Run
from tests.conftest import ROOT

PHYSICS = "Who received the Nobel Prize in Physics in 1903?"


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
    user_file().parent.mkdir(parents=True)
    user_file().write_text('[model]\nname = "mine"\napi_key = "sk-in-the-file"')
    user_file().chmod(0o600)
    found = settings(run)
    assert found["model.name"] == ("mine", str(user_file()))
    assert found["model.api_key"] == ("***", str(user_file()))
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


def test_a_file_above_the_home_directory_is_not_read_though_a_link_leads_home(
    project: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS, where ``/tmp`` and ``/var`` are links: the current directory has other names than ``HOME`` says."""
    home = tmp_path / "home"
    (project / "deeper").mkdir()
    home.symlink_to(project / "deeper")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    assert Path.cwd() == project.resolve() / "deeper"
    assert not any("kgsparql.toml" in origin for _, origin in settings(run).values())
    assert f"your own file: {user_file()} (not made yet)" in run("config", "show").stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_settings_that_are_a_pipe_are_said_not_to_be_read(project: Path, run: Run) -> None:
    (project / "kgsparql.toml").unlink()
    os.mkfifo(project / "kgsparql.toml")
    done = run("query", "ASK { ?s ?p ?o }", "-k", project / "nobel.ttl")
    assert done.exit_code == 0
    assert f"{project / 'kgsparql.toml'} is not read: it is no regular file" in done.stderr


def test_nothing_is_paid_where_there_is_no_file(project: Path) -> None:
    (project / "kgsparql.toml").unlink()
    code = (
        "import sys, time; from kgsparql.cli import _settings as c; import platformdirs\n"
        "start = time.perf_counter(); found = c.load_settings(print); taken = time.perf_counter() - start\n"
        "assert not found.values and 'pydantic' not in sys.modules and taken < 0.005, taken"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT), "HOME": str(project)})


def test_a_strangers_file_is_refused_before_it_takes_memory_or_time(project: Path, run: Run) -> None:
    """A key of 50,000 names took 3 GB, and more than a minute, of every command in the folder."""
    for text, said in (
        ("a" + ".a" * 30_000 + " = 1", "a line with more than 200 dots"),
        ("a = " + "[" * 30_000, "not TOML: maximum recursion depth"),
        ("not = = toml", "kgsparql.toml: not TOML"),
        ("graph = 17", "graph: write a text, or a list of them"),
    ):
        (project / "kgsparql.toml").write_text(text)
        for words in (("query", "ASK {}", "-k", "nobel.ttl"), ("config", "show")):
            done = run(*words)
            assert (done.exit_code, said in done.stderr, "hint:" in done.stderr) == (2, True, True), text[:20]
    lines = ",\n".join(f'"a.b.c.{i}.ttl"' for i in range(500))
    (project / "kgsparql.toml").write_text(f"graph = [\n{lines}\n]")
    assert len(settings(run)["graph"][0]) == 500  # type: ignore[arg-type]


def test_a_server_that_a_project_names_is_said(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://127.0.0.1:9/sparql"
    (project / "kgsparql.toml").write_text(f'[graphs]\nprizes = "{url}"\nown = "nobel.ttl"\n')
    said = f"{url}: {project / 'kgsparql.toml'} says to ask there"
    assert said in run("query", "ASK {}", "-k", "prizes", "-q").stderr
    assert "says to ask there" not in run("query", "ASK {}", "-k", "own").stderr
    assert "says to ask there" not in run("query", "ASK {}", "-k", url).stderr
    monkeypatch.setenv("KGSPARQL_CONFIG", str(project / "kgsparql.toml"))
    assert "says to ask there" not in run("query", "ASK {}", "-k", "prizes").stderr
