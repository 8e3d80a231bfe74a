"""A real server over the fixture graph, for all tests of a process; and short ways to open endpoints."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import FIXTURES


@pytest.fixture(scope="session")
def nobel_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``fixtures/nobel.ttl`` behind ``oxigraph serve-read-only``."""
    store = store_of(FIXTURES / "nobel.ttl", tmp_path_factory.mktemp("nobel") / "store")
    with oxigraph_serve(store) as url:
        yield url


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be known from an earlier test: what every test uses, here with another directory."""
    monkeypatch.setenv("KGSPARQL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def people_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``people.trig``, which has named graphs, behind the same."""
    store = store_of(FIXTURES / "queries" / "people.trig", tmp_path_factory.mktemp("people") / "store")
    with oxigraph_serve(store) as url:
        yield url
