"""Files of settings: which are read, which wins, what a stranger's may not say, and errors that name the key."""

import os
from pathlib import Path

import pytest

from kgsparql.cli._settings import Setting, Settings, load_settings, user_file
from kgsparql.errors import InputError, OptionError


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
    (home / "project" / "kgsparql.toml").write_text(text, encoding="utf-8")
    return load_settings(print)


def own(home: Path, text: str, mode: int = 0o600) -> Settings:
    assert user_file().is_relative_to(home)
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, encoding="utf-8")
    user_file().chmod(mode)
    return load_settings(print)


def test_without_files_nothing_is_set(home: Path) -> None:
    assert load_settings(print) == Settings()


def test_the_project_comes_before_the_user_setting_by_setting(home: Path) -> None:
    own(home, '[model]\nname = "a"\ntemperature = 0.5\n[graphs]\nmine = "m.ttl"')
    found = project(home, '[model]\nname = "b"\n[graphs]\nfilms = "f.ttl"')
    assert (found.get("model.name"), found.get("model.temperature")) == ("b", 0.5)
    assert found.sources(["films", "mine"]) == [str(home / "project/f.ttl"), str(user_file().parent / "m.ttl")]


def test_options_are_not_mixed_between_methods(home: Path) -> None:
    own(home, '[method]\nname = "path_ranking"\noptions = {max_hops = 2}')
    found = project(home, '[method]\nname = "mindmap"')
    assert (found.get("method.name"), found.get("method.options")) == ("mindmap", None)


def test_a_file_above_is_found_but_none_above_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = project(home, 'languages = "de"')
    (home / "project" / "deep" / "deeper").mkdir(parents=True)
    monkeypatch.chdir(home / "project" / "deep" / "deeper")
    assert load_settings(print) == found
    monkeypatch.setenv("HOME", str(home / "project" / "deep"))
    assert load_settings(print) == Settings()


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_file_that_everybody_may_write_is_not_read_unless_it_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, notes = home / "project" / "kgsparql.toml", list[str]()
    project(home, 'languages = "de"')
    file.chmod(0o666)
    assert load_settings(notes.append).values == {}
    assert str(file) in notes[0]
    monkeypatch.setenv("KGSPARQL_CONFIG", str(file))
    assert load_settings(print).get("languages") == ["de"]
    monkeypatch.setenv("KGSPARQL_CONFIG", "none")
    assert load_settings(print) == Settings()
    monkeypatch.setenv("KGSPARQL_CONFIG", "nowhere.toml")
    with pytest.raises(OptionError, match="no file"):
        load_settings(print)


def test_what_a_project_may_not_say(home: Path) -> None:
    for text, named in (
        ('[model]\napi_key = "sk-123456789"', "model.api_key"),
        ('[graphs]\na = "https://me:secret@e.org/sparql"', "graphs.a"),
        ('[method]\noptions = {x = "https://e.org/?api_key=abc"}', "method.options"),
        ('[model]\nbase_url = "https://evil.example/v1"', "model.base_url"),
        ('[model]\nbase_url = "https://localhost.evil.example/v1"', "model.base_url"),
        ('[model]\nbase_url = "https://localhost@evil.example/v1"', "model.base_url"),
        ('embedder = "https://evil.example/v1#m"', "embedder"),
        ('log = "../elsewhere.sqlite"', "log"),
        ('index = "s3://bucket/x"', "index"),
    ):
        user_file().unlink(missing_ok=True)
        with pytest.raises(OptionError) as caught:
            project(home, text)
        assert named in caught.value.message
        assert "secret" not in caught.value.message
        (home / "project" / "kgsparql.toml").unlink()
        assert own(home, text).values, "and one's own file may"


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_project_may_name_a_server_on_this_machine_and_places_in_its_folder_and_no_link_leads_out_of_it(
    home: Path,
) -> None:
    found = project(home, 'log = "logs/q.sqlite"\n[model]\nbase_url = "http://127.0.0.1:11434/v1"')
    assert found.get("log") == str(home / "project/logs/q.sqlite")
    (home / "project" / "logs").symlink_to(home)
    with pytest.raises(OptionError, match="outside its folder"):
        project(home, 'log = "logs/q.sqlite"')


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_key_must_not_be_in_a_file_that_others_read(home: Path) -> None:
    with pytest.raises(OptionError, match="others can read"):
        own(home, '[model]\napi_key = "sk-123456789"', mode=0o644)


def test_errors_name_file_and_key_or_line(home: Path) -> None:
    for text, said, hint in (
        ("modell = 1", "modell: no such setting", "docs/settings.md"),
        ('[model]\nnmae = "x"', "model.nmae: no such setting; there are graph, languages", ""),
        ('[graphs.films]\nsource = "x"', "graphs.films", ""),
        ('[graphs."a b"]\nsources = "x"', "a b", ""),
        ('[limits]\nmax_cost = "much"', "limits.max_cost", ""),
        ("[model]\ntemperature = true", "model.temperature", ""),
        ("[model]\nprices = ['1']", "model.prices", ""),
        ("[model]\nrequired = 1", "model.required: write true or false", ""),
        ("model = 1", "model: no such setting", ""),
        ('[graphs.a]\nsources = "x"\nprefixes = {ex = "no iri"}', "graphs.a: prefixes.ex", ""),
        ("[model]\nname = ''", "model.name", ""),
        ("languages = 'x'\nb\nc = 1", "line 2", ""),
    ):
        with pytest.raises(OptionError) as caught:
            project(home, text)
        assert "kgsparql.toml" in caught.value.message
        assert said in caught.value.message
        assert hint in caught.value.hint


def test_a_file_that_is_no_text_or_too_large_is_an_error(home: Path) -> None:
    file = home / "project" / "kgsparql.toml"
    for data in (b"\xff\xfe\x00", b"#" * 1_000_002):
        file.write_bytes(data)
        with pytest.raises(OptionError, match=r"kgsparql\.toml"):
            load_settings(print)


def test_the_name_of_a_graph_must_not_also_be_a_file_or_an_endpoint(home: Path) -> None:
    found = project(home, '[graphs]\nfilms = "f.ttl"\nwikidata = "w.ttl"')
    with pytest.raises(InputError, match="known endpoint"):
        found.sources(["wikidata"])
    (home / "project" / "films").write_text("")
    with pytest.raises(InputError, match="a file here"):
        found.sources(["films"])
    assert found.sources(["./films"]) == ["./films"]
    found = project(home, '[graphs]\nall = ["a.ttl", "wikidata", "https://e.org/sparql"]')
    assert found.sources(["all", "x.ttl"]) == [
        str(home / "project/a.ttl"), "wikidata", "https://e.org/sparql", "x.ttl",
    ]  # fmt: skip


def test_prefixes_and_languages_of_several_graphs_are_joined_and_the_first_wins(home: Path) -> None:
    found = project(
        home,
        '[graphs.a]\nsources = "a.ttl"\nlanguages = ["en", "de"]\n'
        'prefixes = {ex = "http://a.org/", index = "http://i.org/"}\n'
        '[graphs.b]\nsources = "b.ttl"\nlanguages = "fr"\nprefixes = {ex = "http://b.org/", y = "http://y.org/"}',
    )
    prefixes = {"ex": "http://a.org/", "index": "http://i.org/", "y": "http://y.org/"}
    file = home / "project/kgsparql.toml"
    joined = {"prefixes": Setting(prefixes, file), "languages": Setting(["en", "de", "fr"], file)}
    assert found.of_graphs(["a", "b"]) == joined
    assert found.of_graphs(["a.ttl"]) == {}
