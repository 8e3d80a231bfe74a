"""Answers that were kept in TriG, JSON or JSON Lines, to be checked again and compared: nothing in them is trusted."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import pyoxigraph
from pyoxigraph import DefaultGraph, QueryResultsFormat, RdfFormat

from kgsparql.answering.answer import Answer
from kgsparql.errors import AnswerFileError, LimitError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable, validated

HOW_TO_KEEP = "a file that kgsparql ask -f trig, json or jsonl wrote is expected"
"""The hint where there is no answer."""

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
    is_cited: bool = False
    queries: tuple[tuple[str, str], ...] = ()
    answers: frozenset[Term] = frozenset()
    rows: frozenset[Row] | None = None
    is_computed: bool = False
    is_part: bool = False
    ends: int | None = None


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer, as it was kept.

    :param answers: without blank nodes, whose names say nothing in another file.
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


def named_triples(triples: Iterable[Triple]) -> list[Triple]:
    """Those that can be looked up by name: blank nodes have none outside the graph, nor have triples in triples."""
    return [triple for triple in triples if all(isinstance(term, IRI | Literal) for term in triple)]


_SCHEMA, _KGS, _SH = "http://schema.org/", "https://w3id.org/kgsparql#", "http://www.w3.org/ns/shacl#"
_PROV, _RDF = "http://www.w3.org/ns/prov#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def answers_of_trig(data: bytes) -> list[KeptAnswer]:
    """Read the answers in TriG.

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
        return [_node_answer(node, statements, triples) for node in nodes]
    except (SyntaxError, ValueError) as error:  # a row of a table, or a number of a thousand digits
        raise AnswerFileError(f"no answer of kgsparql: {printable(str(error), 200)}", hint=HOW_TO_KEEP) from error


@dataclass(frozen=True, slots=True)
class _Statements:
    """The objects of each subject and predicate."""

    said: Mapping[tuple[Term, str], list[Term]]

    def of(self, subject: Term, predicate: str) -> list[Term]:
        return self.said.get((subject, predicate), [])

    def text(self, subject: Term, predicate: str) -> str:
        return next((_term_text(term) for term in self.of(subject, predicate)), "")


def _node_answer(node: Term, said: _Statements, triples: Mapping[str, list[Triple]]) -> KeptAnswer:
    run = _term_text(node).rpartition("#")[0]
    cites: dict[Term, set[Term]] = defaultdict(set)
    for candidate in said.of(node, _KGS + "candidate"):
        for item in said.of(candidate, _SCHEMA + "citation"):
            cites[item].update(said.of(candidate, _RDF + "value"))
    items = [
        replace(_node_item(item, said), is_cited=is_cited, answers=frozenset(cites[item]))
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


def _node_item(item: Term, said: _Statements) -> KeptItem:
    own = [(said.text(q, _SCHEMA + "name"), said.text(q, _SH + "select")) for q in said.of(item, _KGS + "sourceQuery")]
    kinds = said.of(item, _RDF + "type")
    is_computed, is_path = (IRI(_KGS + kind) in kinds for kind in ("EvidenceComputation", "EvidencePath"))
    rows = _table_rows(said.of(item, _KGS + "row")) or frozenset((value,) for value in said.of(item, _SCHEMA + "value"))
    ends = said.text(item, _KGS + "ends")
    return KeptItem(
        marker=said.text(item, _KGS + "marker"),
        text=said.text(item, _SCHEMA + "text"),
        queries=tuple(own or [("", _term_text(query)) for query in said.of(item, _SH + "select")[:1]]),
        rows=rows if rows and is_computed else None,
        is_computed=is_computed,
        is_part=bool(said.of(item, _KGS + "cut")) or (is_path and not ends),
        ends=int(ends) if ends and not is_computed else None,
    )


def _table_rows(rows: Sequence[Term]) -> frozenset[Row]:
    """Rows of a table, each written like a line of SPARQL's TSV."""
    lines = [_term_text(row) for row in rows]
    head = "\t".join(f"?c{i}" for i in range(lines[0].count("\t") + 1)) if lines else "?c0"
    found = pyoxigraph.parse_query_results("\n".join([head, *lines, ""]).encode(), QueryResultsFormat.TSV)
    return frozenset(tuple(row) for row in cast("pyoxigraph.QuerySolutions", found))


def _term_text(term: Term) -> str:
    return term.value if isinstance(term, IRI | BlankNode | Literal) else str(term)


MOST_BYTES = 64 * 2**20
"""Of a file of answers: a thousand long ones."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A line of JSON Lines, or an object of a list, that cannot be read as an answer.

    :param number: of the line, or of the object in its list; the first is 1.
    """

    number: int
    error: AnswerFileError

    def to_json(self) -> dict[str, Any]:
        """Its number, and why it cannot be read."""
        return {"number": self.number, "why": self.error.message}


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """What is in a file of answers.

    :param damaged: what could not be read, in the order of the file.
    :param unanswered: how many lines say that there was no answer: an error, or an empty question.
    """

    answers: tuple[KeptAnswer, ...]
    damaged: tuple[Damaged, ...] = ()
    unanswered: int = 0

    @classmethod
    def read(cls, data: bytes) -> AnswerFile:
        """Read the answers in TriG, a JSON object, a list of them, or a JSON object a line.

        :raises AnswerFileError: for what holds no answer, or half a file: of several damaged lines, of the first.
        :raises LimitError: for more than :data:`MOST_BYTES`.

        >>> AnswerFile.read(b'{"question": "x"}')
        Traceback (most recent call last):
        ...
        kgsparql.errors.AnswerFileError: line 1: this is no answer of kgsparql: it has no 'evidence'
        """
        if len(data) > MOST_BYTES:
            raise LimitError(f"more than {MOST_BYTES >> 20} MiB of answers", hint="check fewer at once", limit="bytes")
        is_json = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}
        found = cls._of_objects(data) if is_json else cls(tuple(answers_of_trig(data)))
        if found.damaged and not found.answers:
            raise found.damaged[0].error
        if not found.answers:
            raise AnswerFileError("there is no answer in it", hint=HOW_TO_KEEP)
        return found

    @classmethod
    def _of_objects(cls, data: bytes) -> AnswerFile:
        answers: list[KeptAnswer] = []
        damaged: list[Damaged] = []
        unanswered = 0
        for what, number, found in _json_objects(data):
            try:
                if isinstance(found, AnswerFileError):
                    raise found
                if isinstance(found, dict) and found.get("status") in {"empty", "error"}:
                    unanswered += 1
                else:
                    answers.append(answer_of_object(found))
            except AnswerFileError as error:
                message = f"{what} {number}: {error.message}"
                damaged.append(Damaged(number, AnswerFileError(message, hint=HOW_TO_KEEP, line=number)))
        return cls(tuple(answers), tuple(damaged), unanswered)


def kept_answer(answer: Answer | Mapping[str, Any] | str | bytes) -> KeptAnswer:
    """Read one answer, given as an object of Python, the JSON object of it, or as text: TriG or JSON.

    :raises AnswerFileError: for what is not just one answer.
    """
    if isinstance(answer, Answer):
        return _kept_value(answer)
    if isinstance(answer, Mapping):
        return answer_of_object(answer)
    found = AnswerFile.read(answer.encode() if isinstance(answer, str) else answer)
    if found.damaged:
        raise found.damaged[0].error
    if len(found.answers) != 1:
        raise AnswerFileError(f"{len(found.answers):,} answers where one is expected", hint="give them one by one")
    return found.answers[0]


def _kept_value(answer: Answer) -> KeptAnswer:
    computed = answer.computed
    items = []
    for item in answer.evidence:
        whole = [("", item.query.shown)] if item.query.shown else []
        kept = KeptItem(
            marker=item.marker,
            text=item.text,
            queries=tuple([(own.source, own.query.shown) for own in item.queries] or whole),
            rows=None if computed is None else frozenset(computed.rows),
            is_computed=item.kind == "computed",
            ends=item.named_ends,
            is_part=bool(item.cuts) or (item.kind == "path" and item.named_ends is None),
        )
        items.append((kept, [one.triple for one in item.triples]))
    about = (answer.question, answer.status, answer.text, answer.graphs)
    answers = [(one.term, one.markers) for one in answer.answers]
    return _assembled(about, answers, answer.cited, items, is_cut=computed is not None and computed.is_cut)


def _assembled(
    about: tuple[str, str, str, tuple[str, ...]],
    answers: Iterable[tuple[Term, Iterable[str]]],
    cited: Collection[str],
    items: Iterable[tuple[KeptItem, list[Triple]]],
    *,
    is_cut: bool,
) -> KeptAnswer:
    """Make an answer of what is said in it.

    :param about: its question, status, text and graphs.
    :param answers: each with its markers.
    :param items: each with its triples; what was computed is in the rows of all of them.
    :param is_cut: more rows were computed than are there.
    """
    named = [(term, frozenset(markers)) for term, markers in answers if not isinstance(term, BlankNode)]
    whole: list[KeptItem] = []
    triples: dict[bool, list[Triple]] = {True: [], False: []}
    for item, own in items:
        is_cited = item.marker in cited
        triples[is_cited] += own
        of_item = frozenset(term for term, markers in named if item.marker in markers)
        known = {"ends": None, "is_part": item.is_part or is_cut} if item.is_computed else {"rows": None}
        whole.append(replace(item, is_cited=is_cited, answers=of_item, **known))
    rests_on, others = (tuple(dict.fromkeys(triples[is_cited])) for is_cited in (True, False))
    return KeptAnswer(*about, tuple([term for term, _ in named]), tuple(whole), cited=rests_on, retrieved=others)


def _json_objects(data: bytes) -> Iterator[tuple[str, int, Any]]:
    """Yield each line or object, its number, and what it holds, or the error that it is."""
    whole = _parsed_json(data)
    if isinstance(whole, list):
        yield from (("object", number, one) for number, one in enumerate(whole, 1))
    elif not isinstance(whole, AnswerFileError):
        yield "line", 1, whole
    else:
        lines = enumerate(data.split(b"\n"), 1)  # a text in JSON may hold what ends a line elsewhere, such as U+2028
        yield from (("line", number, _parsed_json(line)) for number, line in lines if line.strip())


def _parsed_json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return AnswerFileError(f"not UTF-8 at byte {error.start:,}", hint=HOW_TO_KEEP)
    except (ValueError, RecursionError):
        return AnswerFileError("not JSON, or cut off", hint=HOW_TO_KEEP)


def answer_of_object(found: Any) -> KeptAnswer:
    """Read the answer that an object is.

    :raises AnswerFileError: if it is none.
    """
    try:
        return _object_answer(found)
    except KeyError as error:
        message = f"this is no answer of kgsparql: it has no {error.args[0]!r}"
        raise AnswerFileError(message, hint=HOW_TO_KEEP) from error
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        message = f"this is no answer of kgsparql: {printable(str(error), 200)}"
        raise AnswerFileError(message, hint=HOW_TO_KEEP) from error


def _object_answer(found: Mapping[str, Any]) -> KeptAnswer:
    computed = found.get("computed")
    items = []
    for one in found["evidence"]:
        own = [(str(query["source"]), str(query["query"])) for query in one["queries"]]
        ends = None if one.get("ends") is None else int(one["ends"])
        kept = KeptItem(
            marker=str(one["marker"]),
            text=str(one["text"]),
            queries=tuple(own or [("", str(text)) for text in [one["query"]] if text]),
            rows=_computed_rows(computed) if computed and one["kind"] == "computed" else None,
            is_computed=one["kind"] == "computed",
            ends=ends,
            is_part=bool(one["cuts"]) or (one["kind"] == "path" and ends is None),
        )
        items.append((kept, [_object_triple(triple) for triple in one["triples"]]))
    about = (str(found["question"]), str(found["status"]), str(found["text"]), tuple(map(str, found["graphs"])))
    answers = [(_object_term(one["term"]), one["markers"]) for one in found["answers"]]
    return _assembled(about, answers, frozenset(found["cited"]), items, is_cut=bool(computed and computed["is_cut"]))


def _computed_rows(computed: Mapping[str, Any]) -> frozenset[Row]:
    return frozenset(tuple(None if cell is None else _object_term(cell) for cell in row) for row in computed["rows"])


def _object_triple(found: Mapping[str, Any]) -> Triple:
    subject, predicate, object_ = (_object_term(found[name]) for name in ("subject", "predicate", "object"))
    return Triple(subject, predicate, object_)  # type: ignore[arg-type]


def _object_term(found: Mapping[str, Any]) -> Term:
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
