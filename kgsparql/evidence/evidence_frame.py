"""Evidence as a table: one line a triple."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgsparql.rdf.literals import data_frame, python_value
from kgsparql.rdf.terms import IRI, Literal, Term, local_name

if TYPE_CHECKING:
    import pandas as pd

    from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem

_COLUMNS = (
    "marker", "kind", "subject", "subject_label", "predicate", "predicate_label", "object", "object_label", "direction",
    "graph", "named_graph", "verified", "score", "text",
)  # fmt: skip


def evidence_frame(evidence: Evidence, labels: Mapping[Term, str]) -> pd.DataFrame:
    """Make a line for each triple of each item, and one for an item without triples, such as a passage.

    :param labels: of the terms; of one that has none here, the local name.
    """
    rows = [row for item in evidence for row in _item_rows(item, labels)]
    return data_frame({name: [row.get(name) for row in rows] for name in _COLUMNS})


def _item_rows(item: EvidenceItem, labels: Mapping[Term, str]) -> list[dict[str, Any]]:
    about = {"marker": item.marker, "kind": item.kind, "score": item.score, "text": item.sourced_text}
    return [{**about, **_triple_columns(cited, labels)} for cited in item.triples] or [about]


def _triple_columns(cited: CitedTriple, labels: Mapping[Term, str]) -> dict[str, Any]:
    source = cited.sources[0] if cited.sources else None
    terms = zip(("subject", "predicate", "object"), cited.triple, strict=True)
    return {
        **{key: value for name, term in terms for key, value in _term_columns(name, term, labels).items()},
        "direction": cited.direction,
        "graph": None if source is None else source.graph,
        "named_graph": None if source is None else source.named_graph,
        "verified": cited.verified,
    }  # fmt: skip


def _term_columns(name: str, term: Term, labels: Mapping[Term, str]) -> dict[str, Any]:
    own = local_name(term) if isinstance(term, IRI) else term.value if isinstance(term, Literal) else str(term)
    return {name: python_value(term), f"{name}_label": labels.get(term) or own}
