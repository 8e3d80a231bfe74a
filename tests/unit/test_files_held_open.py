"""Windows does not replace or remove what a program has open: it is tried again, or said, and nothing is lost."""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kgsparql
from kgsparql.answering.ask_options import AskOptions
from kgsparql.errors import StoreError
from kgsparql.graphs import load_store, open_store
from kgsparql.serving.app import ServedPage
from kgsparql.serving.kept_runs import KeptRuns
from kgsparql.serving.runs import AskedRun
from kgsparql.storage import atomic_replace, file_lock
from kgsparql.storage.atomic_replace import put_in_place, replace_store, replace_text
from kgsparql.storage.disk_usage import remove
from kgsparql.storage.file_lock import is_abandoned, lock_path, writer_lock
from tests.conftest import FIXTURES

NOBEL = FIXTURES / "nobel.ttl"
Refuse = Callable[..., list[str]]


def names_in(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


class HeldError(PermissionError):
    """As Windows raises it: an ``OSError`` of Linux has no ``winerror``."""

    winerror = 32


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """A function that has the next calls of ``os.replace`` refused where a part of a name is in them; lists these."""
    monkeypatch.setattr(atomic_replace, "_HELD_S", 0.2)

    def begin(part: str, *, times: int = 1_000_000, error: type[PermissionError] = HeldError) -> list[str]:
        tried: list[str] = []
        real = os.replace

        def replace(one: str | Path, other: str | Path) -> None:
            if part in f"{one} {other}" and len(tried) < times:
                tried.append(str(other))
                raise error(13, "Access is denied", str(one))
            real(one, other)

        monkeypatch.setattr(os, "replace", replace)
        return tried

    return begin


@pytest.fixture
def nothing_open_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """``os.unlink`` refuses what this process has open, as on Windows."""
    real = os.unlink

    @functools.wraps(real)
    def unlink(path: str | Path) -> None:
        for descriptor in Path("/proc/self/fd").iterdir():
            if descriptor.exists() and Path(path).exists() and descriptor.samefile(path):
                raise HeldError(13, "The process cannot access the file", str(path))
        real(path)

    monkeypatch.setattr(os, "unlink", unlink)


def test_a_file_that_a_scanner_looks_at_for_a_moment_is_replaced(tmp_path: Path, refuse: Refuse) -> None:
    (tmp_path / "f").write_text("old")
    tried = refuse("f", times=3)
    replace_text(tmp_path / "f", "new\n")
    assert len(tried) == 3
    assert (tmp_path / "f").read_bytes() == b"new\n"
    assert names_in(tmp_path) == ["f"]


def test_a_file_that_stays_open_elsewhere_stays_as_it_was(tmp_path: Path, refuse: Refuse) -> None:
    (tmp_path / "f").write_text("old")
    tried = refuse("f")
    with pytest.raises(PermissionError):
        replace_text(tmp_path / "f", "new")
    assert len(tried) > 3
    assert (tmp_path / "f").read_text() == "old"
    assert names_in(tmp_path) == ["f"]


def test_a_directory_that_may_not_be_written_is_not_tried_again(tmp_path: Path, refuse: Refuse) -> None:
    tried = refuse("f", error=PermissionError)
    (tmp_path / "g").touch()
    with pytest.raises(PermissionError):
        put_in_place(tmp_path / "g", tmp_path / "f")
    assert len(tried) == 1


@pytest.mark.parametrize("step", ["the old one is put aside", "the new one is put in place"])
def test_a_store_that_is_open_elsewhere_is_neither_lost_nor_replaced(
    step: str, tmp_path: Path, refuse: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_replace, "_exchange_names", lambda *_: False)
    load_store(NOBEL, tmp_path / "S")
    load_store(FIXTURES / "nobel.ttl", tmp_path / "new", graph="http://example.org/g")
    refuse(f"{tmp_path / 'S'} " if step.startswith("the old") else str(tmp_path / "new"))
    with pytest.raises(StoreError, match="cannot be put in place") as caught:
        replace_store(tmp_path / "new", tmp_path / "S")
    assert caught.value.hint == "close the programs that use the store"
    assert names_in(tmp_path) == ["S", "new"]
    assert len(open_store(tmp_path / "S").store) == 3_534


def test_what_is_open_elsewhere_is_not_removed_by_half(tmp_path: Path, refuse: Refuse) -> None:
    load_store(NOBEL, tmp_path / "S")
    refuse("S")
    with pytest.raises(StoreError, match="cannot be removed") as caught:
        remove(tmp_path / "S", tmp_path / "S")
    assert "open in another program" in caught.value.hint
    assert len(open_store(tmp_path / "S").store) == 3_534


@pytest.mark.usefixtures("nothing_open_is_removed")
def test_a_lock_file_goes_with_its_owner_though_it_cannot_be_removed_while_it_is_held(tmp_path: Path) -> None:
    with writer_lock(tmp_path / "S"):
        assert lock_path(tmp_path / "S").read_text() == f"{os.getpid()}\n"
        with pytest.raises(StoreError, match=f"process {os.getpid()} is writing here"), writer_lock(tmp_path / "S"):
            pass
        assert lock_path(tmp_path / "S").exists(), "who waited in vain removes nothing"
    assert names_in(tmp_path) == []
    load_store(NOBEL, tmp_path / "S")
    assert names_in(tmp_path) == ["S"]
    assert not is_abandoned(tmp_path / "S")


@pytest.mark.usefixtures("nothing_open_is_removed")
def test_the_oldest_run_of_a_page_that_is_being_read_is_removed_later(tmp_path: Path) -> None:
    runs = KeptRuns(tmp_path, most=1)
    for number, name in enumerate(("a" * 32, "b" * 32, "c" * 32)):
        runs.put(name, {"n": number})
        os.utime(tmp_path / f"{name}.json", (number, number))
    with (tmp_path / f"{'b' * 32}.json").open():
        runs.sweep()
    assert [runs.get(name * 32) for name in "abc"] == [None, {"n": 1}, {"n": 2}]
    runs.sweep()
    assert runs.get("b" * 32) is None


@pytest.fixture
def lock_of_windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of locks as Windows loads it. A lock of ``msvcrt`` belongs to an open file, as those of ``OFD`` do."""

    def locking(descriptor: int, mode: int, length: int) -> None:
        assert mode == 2
        start = os.lseek(descriptor, 0, os.SEEK_CUR)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start, length, 0))

    spec = importlib.util.spec_from_file_location("lock_of_windows", file_lock.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", "win32")
        spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr(os, "pread")
    return module


@pytest.mark.usefixtures("nothing_open_is_removed")
def test_with_the_locks_of_windows_one_writes_and_the_other_is_told_who(tmp_path: Path, lock_of_windows: Any) -> None:
    for _ in range(2):
        with lock_of_windows.writer_lock(tmp_path / "S"):
            with pytest.raises(StoreError, match=f"process {os.getpid()} is writing here") as caught:
                lock_of_windows._locked_descriptor(lock_of_windows.lock_path(tmp_path / "S"), tmp_path / "S")
            assert caught.value.detail["pid"] == os.getpid()
            assert not lock_of_windows.is_abandoned(tmp_path / "S")
        assert names_in(tmp_path) == []
    lock_path(tmp_path / "S").write_text("1\r\n")
    assert lock_of_windows.is_abandoned(tmp_path / "S")


def test_an_answer_of_the_page_that_cannot_be_kept_is_shown_all_the_same(tmp_path: Path) -> None:
    """It was told to be a bug in kgsparql, and lost: it may have cost money."""
    (tmp_path / "runs").touch()
    knowledge = kgsparql.open(NOBEL, embedder="none")
    asking = AskOptions(model=None)
    page = ServedPage(knowledge=knowledge, asking=asking, kept=KeptRuns(tmp_path / "runs"))
    run = AskedRun("Where was Marie Curie born?", asking, {})
    frozen = page.freeze(run, knowledge.ask(run.question, model=None))
    assert "Warsaw" in frozen["answer"]["text"]
    (note,) = frozen["answer"]["notes"]
    assert note["code"] == "not_kept"
    assert "File exists" in note["text"]
