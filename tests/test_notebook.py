"""The notebook runs, and shows what it shows. ``UPDATE_NOTEBOOK=1 pytest tests/test_notebook.py`` writes it anew."""

import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.world import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

NOTEBOOK = ROOT / "docs" / "quickstart.ipynb"
_CHANGES = re.compile(r"\d+\.\d\d s\b")
"""The seconds that an answer took."""


def _texts(notebook: Any) -> Iterator[tuple[int, str]]:
    """The number of each cell that shows something, and all that it shows: a busy kernel sends a text in parts."""
    for i, cell in enumerate(notebook.cells):
        shown = [
            output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())
        ]
        if shown:
            yield i, "".join(shown)


def _run() -> Any:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's client, about sockets and event loops
        nbclient.NotebookClient(
            notebook, timeout=120, record_timing=False, resources={"metadata": {"path": str(NOTEBOOK.parent)}}
        ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = _CHANGES.sub("0.05 s", output["text"])
    return notebook


@pytest.mark.filterwarnings("ignore")
def test_every_cell_runs_and_shows_what_the_notebook_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    kept, now = nbformat.read(NOTEBOOK, as_version=4), _run()
    if os.environ.get("UPDATE_NOTEBOOK"):
        now.metadata = kept.metadata
        nbformat.write(now, NOTEBOOK)
        return
    shown = list(_texts(now))
    assert len(shown) > 8
    assert shown == list(_texts(kept))
