"""What every test may use: graphs from Turtle text, real data where it is there, a cache of its own."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

import kgsparql
from kgsparql.graphs.protocol import senders
from kgsparql.models import openai_client
from tests.deep import DEEP
from tests.endpoints.servers import Virtuoso, oxigraph_serve, store_of
from tests.world import NOBEL, ROOT, open_nobel

settings.register_profile("short", max_examples=15, deadline=None)
settings.register_profile("deep", deadline=None)
settings.load_profile("deep" if DEEP else "short")

# All that a process of the tests ever made is looked through less often, as by the commands: a fifth of the time.
gc.set_threshold(50_000, 20, 100)


def pytest_collection_finish() -> None:
    """Look no more through what was imported: a twentieth of the time."""
    gc.collect()
    gc.freeze()


# Scripted models are asked at once, also by fixtures of a module; tests of the trial set this on.
os.environ["KGSPARQL_TRIAL"] = "off"

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every command they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


# A process takes the tests of whole files: those that take longest begin first, so that none is waited for at the end.
LONGEST = (
    "golden", "eval_run", "runs_on_the_page", "engines", "lying_model", "plans", "news", "kept_answers",
    "mcp", "patience", "computed_questions", "check", "answers_on_the_page",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first."""
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in LONGEST)


@pytest.fixture(scope="session")
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests of a process: a label index is made once, as for a user."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(cache_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's files, a graph or model named in the environment, or a model hub."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(cache_directory))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(cache_directory / "config"))
    for name in ("KGSPARQL_KG", "KGSPARQL_MODEL", "KGSPARQL_CONTACT", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return cache_directory


@pytest.fixture
def empty_cache(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory that is not there yet: what is kept in one test is not there in the next."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def trial_is_on(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSPARQL_TRIAL", "on")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that fails is asked again at once."""
    monkeypatch.setattr(openai_client, "PAUSE_S", 0.02)
    monkeypatch.setattr(openai_client, "RATE_PAUSE_S", 0.02)


@pytest.fixture(autouse=True)
def no_server_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that a server of an earlier test had is another server now, which may be asked at once."""
    monkeypatch.setattr(senders, "_limiters", {})


@pytest.fixture(scope="session")
def nobel() -> kgsparql.KnowledgeBase:
    return open_nobel()


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """A function that returns the URL of ``oxigraph serve-read-only`` over a file, one for all tests of a process."""
    with ExitStack() as servers:

        @cache
        def url(file: Path) -> str:
            return servers.enter_context(oxigraph_serve(store_of(file, tmp_path_factory.mktemp("served") / "store")))

        yield url


@pytest.fixture(scope="session")
def nobel_url(serve: Callable[[Path], str]) -> str:
    return serve(NOBEL)


@pytest.fixture
def shared_data() -> Path:
    """The folder of real graphs beside the checkout; the test is skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real graphs is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def virtuoso_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtuoso]:
    """One Virtuoso for all tests of a process; each fills it with what it needs, and nothing else is in it."""
    with Virtuoso(tmp_path_factory.mktemp("virtuoso")).running() as server:
        yield server
