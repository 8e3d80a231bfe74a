"""Answers as a pandas ``DataFrame``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from kgsparql.answering.rendering.computed_tables import table_of
from kgsparql.errors import OptionError
from kgsparql.rdf.data_frames import data_frame, python_value
from kgsparql.rdf.terms import Literal

if TYPE_CHECKING:
    import pandas as pd

    from kgsparql.answering.answer import Answer
    from kgsparql.plans.running import Computed


def to_dataframe(answer: Answer, of: OneOf["answers", "evidence"] = "answers") -> pd.DataFrame:
    """Make a table of the answers, or of the triples of the evidence.

    :raises OptionError: if pandas is not installed, or for something else to show.
    """
    from kgsparql.evidence.evidence_frame import evidence_frame

    if of not in {"answers", "evidence"}:
        raise OptionError(f"no table of {of!r}", hint="one of: answers, evidence")
    return answers_frame(answer) if of == "answers" else evidence_frame(answer.evidence, answer.labels)


def answers_frame(answer: Answer) -> pd.DataFrame:
    """A line for each answer, the best first; a computed table with its own columns.

    ``status`` is that of the whole answer, so that a doubt stays with what it is about; ``answer`` the IRI, or the
    value of a literal as Python has it; ``label`` what a person calls it.
    """
    if (found := table_of(answer)) is not None:
        return data_frame(_table(found, answer))
    best = frozenset(answer.best)
    return data_frame(
        {
            "status": [answer.status for _ in answer.answers],
            "answer": [python_value(one.term) for one in answer.answers],
            "label": [one.label for one in answer.answers],
            "description": [one.description for one in answer.answers],
            "score": [one.score for one in answer.answers],
            "is_best": [one in best for one in answer.answers],
            "markers": [one.markers for one in answer.answers],
        }
    )


def _table(found: Computed, answer: Answer) -> dict[str, list[Any]]:
    """The columns of a computed table; behind one of things comes one with their IRIs, as in CSV."""
    columns: dict[str, list[Any]] = {}
    for i, name in enumerate(found.columns):
        terms = [row[i] for row in found.rows]
        if all(isinstance(term, Literal | None) for term in terms):
            columns[name] = [python_value(term) for term in terms]
        else:
            columns[name] = [None if term is None else answer.labels[term] for term in terms]
            columns[f"{name}_iri"] = [python_value(term) for term in terms]
    return columns
