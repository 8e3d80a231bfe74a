"""An answer that was kept in a file, read back: from TriG, JSON or JSON Lines. Nothing in it is trusted."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyoxigraph
from pyoxigraph import DefaultGraph, QueryResultsFormat, RdfFormat

from kgsparql.errors import AnswerFileError, LimitError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable, validated

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer

MOST_BYTES = 64 * 2**20
"""Of a file of answers: a thousand long ones."""

_HINT = "a file that kgsparql ask -f trig, json or jsonl wrote is expected"
_SCHEMA, _KGS, _SH = "http://schema.org/", "https://w3id.org/kgsparql#", "http://www.w3.org/ns/shacl#"
_PROV, _RDF = "http://www.w3.org/ns/prov#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


Row: TypeAlias = tuple[Term | None, ...]
"""A solution, or a row of what was computed: its terms in the order of the columns."""


@dataclass(frozen=True, slots=True)
class KeptItem:
    """A piece of evidence, as it was kept.

    :param queries: each with the graph that it is for; its name is empty where it is for all of them.
    :param answers: the answers that it is cited for.
    :param rows: what was computed: a number, a yes or no, items, a table; ``None`` where the file does not say.
    :param ends: how many terms it led to, where all were known; the triples that are kept may show only some.
    :param is_part: whether more may have been there already than was kept: it was cut, or is one path of many.
    """

    marker: str
    text: str
    is_cited: bool
    queries: tuple[tuple[str, str], ...] = ()
    answers: frozenset[Term] = frozenset()
    rows: frozenset[Row] | None = None
    is_computed: bool = False
    is_part: bool = False
    ends: int | None = None


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer, as it was kept.

    :param cited: the triples that it rests on.
    :param retrieved: those that were only found on the way.
    :param at: when it was given, as it is written there; empty where that is not said.
    """

    question: str
    status: str
    text: str
    graphs: tuple[str, ...]
    answers: tuple[Term, ...]
    items: tuple[KeptItem, ...]
    cited: tuple[Triple, ...]
    retrieved: tuple[Triple, ...]
    at: str = ""

    @property
    def values(self) -> frozenset[Term]:
        """What was computed, if the answer rests on it: a number, a yes or no, the items of a set or table."""
        firsts = (row[0] for item in self.items if item.is_cited for row in item.rows or ())
        return frozenset(term for term in firsts if term is not None and not isinstance(term, BlankNode))


def read_answers(data: bytes) -> list[KeptAnswer]:
    """The answers in a file: TriG, a JSON object, or a JSON object a line; lines that answer nothing are left out.

    :raises AnswerFileError: for what is none of these, or half a file.
    :raises LimitError: for more than :data:`MOST_BYTES`.

    >>> read_answers(b'{"question": "x"}')
    Traceback (most recent call last):
    ...
    kgsparql.errors.AnswerFileError: line 1: this is no answer of kgsparql: it has no 'evidence'
    """
    if len(data) > MOST_BYTES:
        raise LimitError(f"more than {MOST_BYTES >> 20} MiB of answers", hint="check fewer at once", limit="bytes")
    if data.lstrip()[:1] == b"{" or data.lstrip()[:1] == b"[":
        return _from_json(data)
    return _from_trig(data)


def kept_answer(answer: Answer | Mapping[str, Any] | str | bytes) -> KeptAnswer:
    """One answer, as an object of Python, the JSON object of it, or as text: TriG or JSON.

    :raises AnswerFileError: for what is not just one answer.
    """
    if isinstance(answer, str | bytes):
        found = read_answers(answer.encode() if isinstance(answer, str) else answer)
    else:
        found = [_of_object(1, answer if isinstance(answer, Mapping) else answer.to_json())]
    if len(found) != 1:
        raise AnswerFileError(f"{len(found):,} answers where one is expected", hint="read_answers takes several")
    return found[0]


def _from_json(data: bytes) -> list[KeptAnswer]:
    text = _decoded(data)
    try:
        whole = [(1, json.loads(text))]
    except (ValueError, RecursionError):
        whole = [(i, _line(i, line)) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    objects = [(i, one) for i, found in whole for one in (found if isinstance(found, list) else [found])]
    return [_of_object(i, found) for i, found in objects if not _is_unanswered(found)]


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AnswerFileError(f"not UTF-8 at byte {error.start:,}", hint=_HINT) from error


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AnswerFileError(f"line {number}: not JSON, or cut off", hint=_HINT, line=number) from error


def _is_unanswered(found: Any) -> bool:
    return isinstance(found, dict) and found.get("status") in {"empty", "error"}


def _of_object(line: int, found: Any) -> KeptAnswer:
    try:
        return _object_answer(found)
    except KeyError as error:
        message = f"line {line}: this is no answer of kgsparql: it has no {error.args[0]!r}"
        raise AnswerFileError(message, hint=_HINT, line=line) from error
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        said = printable(str(error), 200)
        raise AnswerFileError(f"line {line}: this is no answer of kgsparql: {said}", hint=_HINT, line=line) from error


def _object_answer(found: Mapping[str, Any]) -> KeptAnswer:
    evidence, cited = found["evidence"], frozenset(found["cited"])
    answers = [(_term(one["term"]), frozenset(one["markers"])) for one in found["answers"]]
    computed = found.get("computed")
    items, triples = [], {True: [], False: []}  # type: ignore[var-annotated]
    for one in evidence:
        marker = str(one["marker"])
        triples[marker in cited] += [_triple(triple) for triple in one["triples"]]
        own = [(str(query["source"]), str(query["query"])) for query in one["queries"]]
        is_computed = one["kind"] == "computed"
        is_cut = bool(is_computed and computed and computed["is_cut"])
        ends = None if is_computed or one.get("ends") is None else int(one["ends"])
        items.append(
            KeptItem(
                marker=marker,
                text=str(one["text"]),
                is_cited=marker in cited,
                queries=tuple(own or [("", str(text)) for text in [one["query"]] if text]),
                answers=frozenset(term for term, markers in answers if marker in markers),
                rows=_rows(computed) if is_computed and computed else None,
                is_computed=is_computed,
                ends=ends,
                is_part=bool(one["cuts"]) or (one["kind"] == "path" and ends is None) or is_cut,
            )
        )
    return KeptAnswer(
        question=str(found["question"]),
        status=str(found["status"]),
        text=str(found["text"]),
        graphs=tuple(map(str, found["graphs"])),
        answers=tuple(term for term, _ in answers),
        items=tuple(items),
        cited=tuple(dict.fromkeys(triples[True])),
        retrieved=tuple(dict.fromkeys(triples[False])),
    )


def _rows(computed: Mapping[str, Any]) -> frozenset[Row]:
    return frozenset(tuple(None if cell is None else _term(cell) for cell in row) for row in computed["rows"])


def _triple(found: Mapping[str, Any]) -> Triple:
    subject, predicate, object_ = (_term(found[name]) for name in ("subject", "predicate", "object"))
    return Triple(subject, predicate, object_)  # type: ignore[arg-type]


def _term(found: Mapping[str, Any]) -> Term:
    kind, value = found["type"], found["value"]
    match kind:
        case "uri":
            term: Term = IRI(value)
        case "bnode":
            term = BlankNode(value)
        case "literal" if "xml:lang" in found:
            term = Literal(value, language=found["xml:lang"])
        case "literal" if "datatype" in found:
            term = Literal(value, datatype=IRI(found["datatype"]))
        case "literal":
            term = Literal(value)
        case _:
            raise ValueError(f"a term of the kind {kind!r}")
    return term if isinstance(term, BlankNode) else validated(term)


def _from_trig(data: bytes) -> list[KeptAnswer]:
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
        raise AnswerFileError(f"not TriG, or cut off: {printable(str(error), 200)}", hint=_HINT) from error
    statements = _Statements(said)
    nodes = [node for node in dict.fromkeys(answers) if statements.text(node, _KGS + "status")]
    if not nodes:
        raise AnswerFileError("there is no answer of kgsparql in it", hint=_HINT)
    try:
        return [_of_node(node, statements, triples) for node in nodes]
    except (SyntaxError, ValueError) as error:  # a row of a table, or a number of a thousand digits
        raise AnswerFileError(f"no answer of kgsparql: {printable(str(error), 200)}", hint=_HINT) from error


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


def named_triples(triples: Iterable[Triple]) -> list[Triple]:
    """Those that can be looked up by name: blank nodes have none outside the graph, nor have triples in triples."""
    return [triple for triple in triples if all(isinstance(term, IRI | Literal) for term in triple)]
