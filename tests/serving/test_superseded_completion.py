"""Completion that nobody waits for any more; no browser, whose event loop none can be started beside."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from kgsparql.answering.ask_options import AskOptions
from kgsparql.serving.app import ServedPage
from kgsparql.serving.runs import KeptRuns


def test_a_search_ends_when_somebody_writes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ServedPage(None, AskOptions(), KeptRuns(tmp_path))
    ended: list[bool] = []

    def looked(_: str, cancel: threading.Event) -> tuple[int, list[Any], int]:
        ended.append(cancel.wait(20))
        return 0, [], 300

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    monkeypatch.setattr(page, "_completed_names", looked)
    asyncio.run(page.names(Request({"type": "http", "query_string": b"text=curi", "headers": []}, receive)))
    assert ended == [True]
