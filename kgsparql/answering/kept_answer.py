"""An answer that was kept in a file, read back: from TriG, JSON or JSON Lines. Nothing in it is trusted."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyoxigraph
from pyoxigraph import DefaultGraph, RdfFormat

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
    :param is_first_column: whether of the rows only the first column was kept, as in TriG.
    :param ends: how many terms it led to, where all were known; the triples that are kept may show only some.
    :param is_cut: whether more was there already than was kept.
    """

    marker: str
    text: str
    is_cited: bool
    queries: tuple[tuple[str, str], ...] = ()
    answers: frozenset[Term] = frozenset()
    rows: frozenset[Row] | None = None
    is_first_column: bool = False
    is_computed: bool = False
    is_cut: bool = False
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
    values: frozenset[Term] = frozenset()
    at: str = ""


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
    except (TypeError, ValueError, AttributeError) as error:
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
        items.append(
            KeptItem(
                marker=marker,
                text=str(one["text"]),
                is_cited=marker in cited,
                queries=tuple(own or [("", str(text)) for text in [one["query"]] if text]),
                answers=frozenset(term for term, markers in answers if marker in markers),
                rows=_rows(computed) if is_computed and computed else None,
                is_computed=is_computed,
                ends=None if is_computed or one.get("ends") is None else int(one["ends"]),
                is_cut=bool(one["cuts"]) or bool(is_computed and computed and computed["is_cut"]),
            )
        )
    value = found.get("value")
    return KeptAnswer(
        question=str(found["question"]),
        status=str(found["status"]),
        text=str(found["text"]),
        graphs=tuple(map(str, found["graphs"])),
        answers=tuple(term for term, _ in answers),
        items=tuple(items),
        cited=tuple(dict.fromkeys(triples[True])),
        retrieved=tuple(dict.fromkeys(triples[False])),
        values=frozenset() if value is None else frozenset((_term(value),)),
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
    found = [_of_node(node, said, triples) for node in dict.fromkeys(answers) if said.get((node, _KGS + "status"))]
    if not found:
        raise AnswerFileError("there is no answer of kgsparql in it", hint=_HINT)
    return found


def _of_node(
    node: Term, said: Mapping[tuple[Term, str], list[Term]], triples: Mapping[str, list[Triple]]
) -> KeptAnswer:
    def of(subject: Term, predicate: str) -> list[Term]:
        return said.get((subject, predicate), [])

    def text(subject: Term, predicate: str) -> str:
        return next((_text(term) for term in of(subject, predicate)), "")

    run = _text(node).rpartition("#")[0]
    cites: dict[Term, set[Term]] = defaultdict(set)
    for candidate in of(node, _KGS + "candidate"):
        for item in of(candidate, _SCHEMA + "citation"):
            cites[item].update(of(candidate, _RDF + "value"))
    items = []
    for name, is_cited in ((_SCHEMA + "citation", True), (_KGS + "retrieved", False)):
        for item in of(node, name):
            own = [(text(q, _SCHEMA + "name"), text(q, _SH + "select")) for q in of(item, _KGS + "sourceQuery")]
            is_computed = IRI(_KGS + "EvidenceComputation") in of(item, _RDF + "type")
            values = of(item, _SCHEMA + "value")
            items.append(
                KeptItem(
                    marker=text(item, _KGS + "marker"),
                    text=text(item, _SCHEMA + "text"),
                    is_cited=is_cited,
                    queries=tuple(own or [("", _text(query)) for query in of(item, _SH + "select")[:1]]),
                    answers=frozenset(cites[item]),
                    rows=frozenset((value,) for value in values) if values and is_computed else None,
                    is_first_column=True,
                    is_computed=is_computed,
                    is_cut=bool(of(item, _KGS + "cut")),
                    ends=None if is_computed or not (ends := text(item, _KGS + "ends")).isdecimal() else int(ends),
                )
            )
    activities = of(node, _PROV + "wasGeneratedBy")
    return KeptAnswer(
        question=next((text(asked, _SCHEMA + "text") for asked in of(node, _SCHEMA + "parentItem")), ""),
        status=text(node, _KGS + "status"),
        text=text(node, _SCHEMA + "text"),
        graphs=tuple(text(used, _SCHEMA + "name") for one in activities for used in of(one, _PROV + "used")),
        answers=tuple(dict.fromkeys(of(node, _SCHEMA + "about"))),
        items=tuple(items),
        cited=tuple(dict.fromkeys(triples.get(run + "#evidence", []))),
        retrieved=tuple(dict.fromkeys(triples.get(run + "#retrieved", []))),
        values=frozenset(of(node, _SCHEMA + "value")),
        at=next((text(one, _PROV + "endedAtTime") for one in activities), ""),
    )


def _text(term: Term) -> str:
    return term.value if isinstance(term, IRI | BlankNode | Literal) else str(term)


def named_triples(triples: Iterable[Triple]) -> list[Triple]:
    """Those that can be looked up by name: blank nodes have none outside the graph, nor have triples in triples."""
    return [triple for triple in triples if all(isinstance(term, IRI | Literal) for term in triple)]
