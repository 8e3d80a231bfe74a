"""Names while one types, of a graph at an endpoint: one query for each pause in typing, with the keyboard alone."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.endpoints.proxy import Proxy, Seen
from tests.endpoints.servers import Virtuoso
from tests.serving.conftest import NOBEL, open_to_type, served


@pytest.fixture
def searched(tmp_path: Path) -> Iterator[tuple[Proxy, str]]:
    """A page on a Virtuoso whose labels are said to be many."""
    with Virtuoso(tmp_path / "virtuoso").running() as server:
        url = server.fill(NOBEL, text_index=True)
        with Proxy(url, lambda _: None) as proxy:
            profile = tmp_path / "profile.toml"
            profile.write_text(
                f'[mine]\nurls = ["{proxy.url}"]\nhas_many_labels = true\ntext_search = "bif:contains"\n', "utf-8"
            )
            environment = {"KGSPARQL_ENDPOINTS": str(profile)}
            with served(tmp_path / "cache", "-k", proxy.url, "--no-model", "-q", **environment) as address:
                yield proxy, address


def searches(proxy: Proxy) -> list[Seen]:
    return proxy.of("bif:contains")


def test_one_query_for_each_pause_completes_names_with_the_keyboard(page: Page, searched: tuple[Proxy, str]) -> None:
    proxy, address = searched
    open_to_type(page, address)
    page.keyboard.type("Where was ", delay=20)
    page.wait_for_timeout(500)
    assert not searches(proxy)
    page.keyboard.type("marie curi", delay=20)
    page.wait_for_selector("#names li >> text=Marie Curie")
    assert len(searches(proxy)) == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#question") == "Where was Marie Curie"
    before = time.monotonic()
    page.keyboard.type(" and Sommerf", delay=20)
    page.wait_for_selector("#names li >> text=Arnold Sommerfeld")
    assert time.monotonic() - before > 0.3  # the pause
    assert len(searches(proxy)) == 2
