"""Ask any RDF graph a question; every claim comes with the triples it rests on.

>>> import kgsparql
>>> knowledge = kgsparql.open("fixtures/nobel.ttl", embedder="none")
>>> answer = knowledge.ask("Where was Marie Curie born?")
>>> answer.answers[0].label
'Warsaw'
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path as _Path  # `kgsparql.Path` is one of a graph
from typing import Any

_STUB = _Path(__file__).with_suffix(".pyi").read_text(encoding="ascii")
_HOME = {name: module for module, name in re.findall(r"from (\S+) import \w+ as (\w+)", _STUB)}
"""The module of each public name."""

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used: ``import kgsparql`` itself costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if "IPython" in sys.modules:  # a notebook asks the shell how an answer is shown, and an answer is a plain value
        import_module(f"{__name__}.rendering").register_in_notebook()
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
