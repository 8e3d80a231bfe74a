"""What kind of question a dataset's question is, so that what must be computed is told apart from what is looked up."""

from __future__ import annotations

import re

from kgsparql.evaluation.dataset import Question

KINDS = ("lookup", "count", "number", "yes/no", "extreme", "filter", "negation", "combination", "table")
"""All but ``lookup`` must be computed."""

_SHAPES = (
    ("yes/no", re.compile(r"\bASK\b")),
    ("count", re.compile(r"^[^{]*\bSELECT\b[^{]*\bCOUNT\s*\(")),
    ("number", re.compile(r"^[^{]*\bSELECT\b[^{]*\b(SUM|AVG|MIN|MAX)\s*\(")),
    ("negation", re.compile(r"\bNOT\s+EXISTS\b|\bMINUS\b")),
    ("extreme", re.compile(r"\bORDER\s+BY\b.*\bLIMIT\b|\b(MAX|MIN)\s*\(")),
    ("filter", re.compile(r"\bFILTER\b.*[<>]|\bHAVING\b")),
)
"""What a query looks like that answers a question of a kind; the first that fits."""

_NOT_SHAPE = re.compile(r"<[^<>\s]*>|\"(?:[^\"\\]|\\.)*\"|#[^\n]*")


def question_kind(question: Question) -> str:
    """The kind of a question: the dataset's own word where it is one of ours, else by the shape of its query.

    >>> question_kind(Question(id="1", text="?", sparql="SELECT (COUNT(?x) AS ?n) { ?x a <http://e.org/C> }"))
    'count'
    >>> question_kind(Question(id="1", text="?", sparql="SELECT ?x ?n { ?x a <http://e.org/C> ; <http://e.org/n> ?n }"))
    'table'
    >>> question_kind(Question(id="1", text="?", path=("author",)))
    'lookup'
    """
    own = question.type.split(",")[0]
    if own in KINDS:
        return own
    shape = _NOT_SHAPE.sub(" ", question.sparql)
    columns = _columns(shape.partition("{")[0])
    if question.rows or (columns > 1 and not re.search(r"\bASK\b", shape)):
        return "table"
    flat = " ".join(shape.upper().split())
    return next((kind for kind, pattern in _SHAPES if pattern.search(flat)), "lookup")


def _columns(head: str) -> int:
    """How many columns the head of a query names; an expression in brackets is one.

    >>> _columns("SELECT ?x (ROUND(AVG(?y) * 100) / 100 AS ?n)")
    2
    """
    depth, found = 0, 0
    for letter in head:
        if depth == 0 and letter in "?$(":
            found += 1
        depth += {"(": 1, ")": -1}.get(letter, 0)
    return found
