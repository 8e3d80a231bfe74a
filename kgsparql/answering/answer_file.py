"""Answers in a file: TriG, JSON or JSON Lines. Nothing in it is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.kept_answer import HOW_TO_KEEP, KeptAnswer, KeptItem, Row
from kgsparql.answering.kept_answer_trig import answers_of_trig
from kgsparql.errors import AnswerFileError, LimitError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable, validated

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
        """The answers in TriG, a JSON object, a list of them, or a JSON object a line.

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
        for what, number, found in _objects(data):
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
    """One answer, as an object of Python, the JSON object of it, or as text: TriG or JSON.

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
    cited, computed = frozenset(answer.cited), answer.computed
    named = [one for one in answer.answers if not isinstance(one.term, BlankNode)]
    items, triples = [], {True: [], False: []}  # type: ignore[var-annotated]
    for item in answer.evidence:
        is_computed = item.kind == "computed"
        triples[item.marker in cited] += [one.triple for one in item.triples]
        whole = [("", item.query.shown)] if item.query.shown else []
        is_cut = is_computed and computed is not None and computed.is_cut
        items.append(
            KeptItem(
                marker=item.marker,
                text=item.text,
                is_cited=item.marker in cited,
                queries=tuple([(own.source, own.query.shown) for own in item.queries] or whole),
                answers=frozenset(one.term for one in named if item.marker in one.markers),
                rows=frozenset(computed.rows) if is_computed and computed is not None else None,
                is_computed=is_computed,
                ends=None if is_computed else item.named_ends,
                is_part=bool(item.cuts) or (item.kind == "path" and item.named_ends is None) or is_cut,
            )
        )
    return KeptAnswer(
        question=answer.question,
        status=answer.status,
        text=answer.text,
        graphs=answer.graphs,
        answers=tuple(one.term for one in named),
        items=tuple(items),
        cited=tuple(dict.fromkeys(triples[True])),
        retrieved=tuple(dict.fromkeys(triples[False])),
    )


def _objects(data: bytes) -> Iterator[tuple[str, int, Any]]:
    """What is in JSON or JSON Lines: that it is a line or an object, its number, and the object, or what is wrong."""
    whole = _parsed(data)
    if isinstance(whole, list):
        yield from (("object", number, one) for number, one in enumerate(whole, 1))
    elif not isinstance(whole, AnswerFileError):
        yield "line", 1, whole
    else:
        lines = enumerate(data.split(b"\n"), 1)  # a text in JSON may hold what ends a line elsewhere, such as U+2028
        yield from (("line", number, _parsed(line)) for number, line in lines if line.strip())


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return AnswerFileError(f"not UTF-8 at byte {error.start:,}", hint=HOW_TO_KEEP)
    except (ValueError, RecursionError):
        return AnswerFileError("not JSON, or cut off", hint=HOW_TO_KEEP)


def answer_of_object(found: Any) -> KeptAnswer:
    """The answer that an object is.

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
    evidence, cited = found["evidence"], frozenset(found["cited"])
    listed = [(_term(one["term"]), frozenset(one["markers"])) for one in found["answers"]]
    answers = [(term, markers) for term, markers in listed if not isinstance(term, BlankNode)]
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
