"""A real server over the fixture graph, for all tests of a process; and short ways to open endpoints."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import FIXTURES
from tests.endpoints.servers import oxigraph_serve, store_of


@pytest.fixture(scope="session")
def nobel_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``fixtures/nobel.ttl`` behind ``oxigraph serve-read-only``."""
    store = store_of(FIXTURES / "nobel.ttl", tmp_path_factory.mktemp("nobel") / "store")
    with oxigraph_serve(store) as url:
        yield url
