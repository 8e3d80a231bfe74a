"""SPARQL typed by a user or written by a model: checked as text, then run in a process that can be killed."""

from __future__ import annotations

from kgsparql.user_query.checking import CheckedQuery, Form, check
from kgsparql.user_query.results import FORMATS, QueryResult, serialise
from kgsparql.user_query.tokens import Limits
from kgsparql.user_query.worker import QueryWorker, Target, run

__all__ = [
    "FORMATS",
    "CheckedQuery",
    "Form",
    "Limits",
    "QueryResult",
    "QueryWorker",
    "Target",
    "check",
    "run",
    "serialise",
]
