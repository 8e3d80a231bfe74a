"""What is gone: each row of removed.toml is answered by what to do instead."""

from pathlib import Path

import pytest

from kgsparql.cli._removed import removed_things
from tests.cli.conftest import Run

GONE = [(kind, name, said) for kind, rows in removed_things().items() for name, said in rows.items()]


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "said"), [(name, said) for kind, name, said in GONE if kind in kinds])


@of_kind("options", "commands")
def test_what_is_typed_and_gone_is_answered_by_what_to_do_instead(name: str, said: str, run: Run) -> None:
    words = name.split()
    if words[0] == "-f":
        words = ["ask", "q?", "-k", "g.ttl", *words]
    elif words[0].startswith("-"):
        words = ["ask", *words]
    done = run(*words)
    assert (done.exit_code, done.stderr.splitlines()) == (2, [f"error: {name} is gone: {said} [E_OPTION]"])


@of_kind("variables", "files")
def test_what_is_set_or_in_the_folder_and_gone_is_named_once_on_stderr(
    name: str, said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("KGSPARQL_CONFIG", raising=False)
    (tmp_path / name).write_text("1")
    monkeypatch.setenv(name.replace(".", "_"), "1")
    told = [line for line in run("tools").stderr.splitlines() if line.endswith(f" is not read any more: {said}")]
    assert len(told) == 1
    assert name in told[0]
    assert run("tools", "--nothing-like-this").exit_code == 2
