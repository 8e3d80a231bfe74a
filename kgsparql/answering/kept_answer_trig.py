"""A kept answer read from TriG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import pyoxigraph
from pyoxigraph import DefaultGraph, QueryResultsFormat, RdfFormat

from kgsparql.answering.kept_answer import HOW_TO_KEEP, KeptAnswer, KeptItem, Row
from kgsparql.errors import AnswerFileError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable

_SCHEMA, _KGS, _SH = "http://schema.org/", "https://w3id.org/kgsparql#", "http://www.w3.org/ns/shacl#"
_PROV, _RDF = "http://www.w3.org/ns/prov#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def answers_of_trig(data: bytes) -> list[KeptAnswer]:
    """The answers in TriG.

    :raises AnswerFileError: for what is none, or half a file.
    """
    said: dict[tuple[Term, str], list[Term]] = defaultdict(list)
    triples: dict[str, list[Triple]] = defaultdict(list)
    answers: list[Term] = []
    try:
        for quad in pyoxigraph.parse(data, RdfFormat.TRIG):
            if not isinstance(quad.graph_name, DefaultGraph):
                triples[quad.graph_name.value].append(quad.triple)
                continue
            said[quad.subject, quad.predicate.value].append(quad.object)
            if quad.predicate.value == _RDF + "type" and quad.object == IRI(_SCHEMA + "Answer"):
                answers.append(quad.subject)
    except SyntaxError as error:
        raise AnswerFileError(f"not TriG, or cut off: {printable(str(error), 200)}", hint=HOW_TO_KEEP) from error
    statements = _Statements(said)
    nodes = [node for node in dict.fromkeys(answers) if statements.text(node, _KGS + "status")]
    if not nodes:
        raise AnswerFileError("there is no answer of kgsparql in it", hint=HOW_TO_KEEP)
    try:
        return [_of_node(node, statements, triples) for node in nodes]
    except (SyntaxError, ValueError) as error:  # a row of a table, or a number of a thousand digits
        raise AnswerFileError(f"no answer of kgsparql: {printable(str(error), 200)}", hint=HOW_TO_KEEP) from error


@dataclass(frozen=True, slots=True)
class _Statements:
    """The objects of each subject and predicate."""

    said: Mapping[tuple[Term, str], list[Term]]

    def of(self, subject: Term, predicate: str) -> list[Term]:
        return self.said.get((subject, predicate), [])

    def text(self, subject: Term, predicate: str) -> str:
        return next((_text(term) for term in self.of(subject, predicate)), "")


def _of_node(node: Term, said: _Statements, triples: Mapping[str, list[Triple]]) -> KeptAnswer:
    run = _text(node).rpartition("#")[0]
    cites: dict[Term, set[Term]] = defaultdict(set)
    for candidate in said.of(node, _KGS + "candidate"):
        for item in said.of(candidate, _SCHEMA + "citation"):
            cites[item].update(said.of(candidate, _RDF + "value"))
    items = [
        replace(_item_of_node(item, said), is_cited=is_cited, answers=frozenset(cites[item]))
        for name, is_cited in ((_SCHEMA + "citation", True), (_KGS + "retrieved", False))
        for item in said.of(node, name)
    ]
    activities = said.of(node, _PROV + "wasGeneratedBy")
    return KeptAnswer(
        question=next((said.text(asked, _SCHEMA + "text") for asked in said.of(node, _SCHEMA + "parentItem")), ""),
        status=said.text(node, _KGS + "status"),
        text=said.text(node, _SCHEMA + "text"),
        graphs=tuple(said.text(used, _SCHEMA + "name") for one in activities for used in said.of(one, _PROV + "used")),
        answers=tuple(dict.fromkeys(said.of(node, _SCHEMA + "about"))),
        items=tuple(items),
        cited=tuple(dict.fromkeys(triples.get(run + "#evidence", []))),
        retrieved=tuple(dict.fromkeys(triples.get(run + "#retrieved", []))),
        at=next((said.text(one, _PROV + "endedAtTime") for one in activities), ""),
    )


def _item_of_node(item: Term, said: _Statements) -> KeptItem:
    own = [(said.text(q, _SCHEMA + "name"), said.text(q, _SH + "select")) for q in said.of(item, _KGS + "sourceQuery")]
    kinds = said.of(item, _RDF + "type")
    is_computed, is_path = (IRI(_KGS + kind) in kinds for kind in ("EvidenceComputation", "EvidencePath"))
    rows = _table(said.of(item, _KGS + "row")) or frozenset((value,) for value in said.of(item, _SCHEMA + "value"))
    ends = said.text(item, _KGS + "ends")
    return KeptItem(
        marker=said.text(item, _KGS + "marker"),
        text=said.text(item, _SCHEMA + "text"),
        is_cited=False,
        queries=tuple(own or [("", _text(query)) for query in said.of(item, _SH + "select")[:1]]),
        rows=rows if rows and is_computed else None,
        is_computed=is_computed,
        is_part=bool(said.of(item, _KGS + "cut")) or (is_path and not ends),
        ends=int(ends) if ends and not is_computed else None,
    )


def _table(rows: Sequence[Term]) -> frozenset[Row]:
    """Rows of a table, each written like a line of SPARQL's TSV."""
    lines = [_text(row) for row in rows]
    head = "\t".join(f"?c{i}" for i in range(lines[0].count("\t") + 1)) if lines else "?c0"
    found = pyoxigraph.parse_query_results("\n".join([head, *lines, ""]).encode(), QueryResultsFormat.TSV)
    return frozenset(tuple(row) for row in cast("pyoxigraph.QuerySolutions", found))


def _text(term: Term) -> str:
    return term.value if isinstance(term, IRI | BlankNode | Literal) else str(term)
