"""Real servers over fixture graphs, for all tests of a process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.world import FIXTURES


@pytest.fixture
def cache_directory(tmp_path: Path) -> Path:
    """Let nothing be known from an earlier test: what every test uses, here another for each."""
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def people_url(serve: Callable[[Path], str]) -> str:
    """``people.trig``, which has named graphs."""
    return serve(FIXTURES / "queries" / "people.trig")


@pytest.fixture(scope="session")
def wikibase(serve: Callable[[Path], str]) -> str:
    """Two people with identifiers."""
    return serve(FIXTURES / "identifiers" / "wikibase.ttl")
