"""SPARQL typed by a user or written by a model: checked as text, then run in a process that can be killed.

At an endpoint no process is needed. Open first: ``checking.py``, then ``running.py``.
"""

from __future__ import annotations

from kgsparql.graphs.user_query.checking import CheckedQuery, Form, check
from kgsparql.graphs.user_query.results import FORMATS, QueryResult, serialise
from kgsparql.graphs.user_query.running import GraphQueries, is_nothing, why_nothing

__all__ = [
    "FORMATS", "CheckedQuery", "Form", "GraphQueries", "QueryResult", "check",
    "is_nothing", "serialise", "why_nothing",
]  # fmt: skip
