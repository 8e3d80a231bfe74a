"""Answers that were kept in JSON or JSON Lines, to be checked again: nothing in them is trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import SCHEMA_VERSION, answer_to_json
from kgsparql.dataclasses import frozen
from kgsparql.errors import AnswerFileError, LimitError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Row, Term, Triple, parse_term, printable, validated

_HOW_TO_KEEP = "a file that kgsparql ask -f json or jsonl wrote is expected"

MOST_BYTES = 64 * 2**20  # of a file of answers: a thousand long ones


@frozen
class KeptItem:
    """A piece of evidence, as it was kept.

    :param answers: the answers that it is cited for.
    :param rows: what was computed: a number, a yes or no, items, a table; ``None`` where the file does not say.
    :param ends: how many terms it led to, where all were known; the triples that are kept may show only some.
    :param is_part: whether more may have been there already than was kept: it was cut, or is one path of many.
    """

    marker: str
    text: str
    is_cited: bool = False
    query: str = ""
    answers: frozenset[Term] = frozenset()
    rows: frozenset[Row] | None = None
    is_computed: bool = False
    is_part: bool = False
    ends: int | None = None

    @property
    def cites_all_facts(self) -> bool:
        """Tell whether it was computed from no more than it cites: its text counts these, and nothing is absent."""
        is_known = self.is_computed and self.rows is not None and not self.is_part and bool(self.query)
        return (
            is_known
            and re.search(r" \([0-9,]+ \w+\)\Z", self.text) is not None
            and re.search("NOT EXISTS|MINUS", self.query) is None
        )


@frozen
class KeptAnswer:
    """An answer, as it was kept: its answers without blank nodes, whose names say nothing in another file.

    :param cited: the triples that it rests on.
    :param retrieved: those that were only found on the way.
    """

    question: str
    status: str
    text: str
    answers: tuple[Term, ...]
    items: tuple[KeptItem, ...]
    cited: tuple[Triple, ...]
    retrieved: tuple[Triple, ...]


@frozen
class AnswerFile:
    """What is in a file of answers.

    :param damaged: what could not be read, in the order of the file; ``detail["line"]`` is the line, or the object.
    :param unanswered: how many lines say that there was no answer: an error, or an empty question.
    """

    answers: tuple[KeptAnswer, ...]
    damaged: tuple[AnswerFileError, ...] = ()
    unanswered: int = 0

    @classmethod
    def read(cls, data: bytes) -> AnswerFile:
        """Read the answers in a JSON object, a list of them, or a JSON object a line.

        :raises AnswerFileError: for what holds no answer, or half a file: of several damaged lines, of the first.
        :raises LimitError: for more than :data:`MOST_BYTES`.

        >>> AnswerFile.read(b'{"question": "x"}')
        Traceback (most recent call last):
        ...
        kgsparql.errors.AnswerFileError: line 1: this is no answer of kgsparql: it has no 'answers'
        """
        if len(data) > MOST_BYTES:
            raise LimitError(f"more than {MOST_BYTES >> 20} MiB of answers", hint="check fewer at once", limit="bytes")
        answers = list[KeptAnswer]()
        damaged = list[AnswerFileError]()
        unanswered = 0
        try:
            whole = _parsed_json(data)
            parts: list[Any] = whole if isinstance(whole, list) else [whole]
            what = "object" if isinstance(whole, list) else "line"
        except AnswerFileError:  # a text in JSON may hold what ends a line elsewhere, such as U+2028
            parts, what = data.split(b"\n"), "line"
        for number, part in enumerate(parts, 1):
            if isinstance(part, bytes) and not part.strip():
                continue
            try:
                found = _parsed_json(part) if isinstance(part, bytes) else part
                if isinstance(found, dict) and found.get("status") in ("empty", "error"):  # a list is no status
                    unanswered += 1
                else:
                    answers.append(_answer_of_object(found))
            except AnswerFileError as error:
                message = f"{what} {number}: {error.message}"
                damaged.append(AnswerFileError(message, hint=error.hint, line=number))
        if not answers:
            raise damaged[0] if damaged else AnswerFileError("there is no answer in it", hint=_HOW_TO_KEEP)
        return cls(tuple(answers), tuple(damaged), unanswered)


def kept_answer(answer: Answer | Mapping[str, Any] | str | bytes) -> KeptAnswer:
    """Read one answer, given as an object of Python, the JSON object of it, or as text."""
    if isinstance(answer, Answer):
        return _answer_of_object(answer_to_json(answer))
    if isinstance(answer, Mapping):
        return _answer_of_object(answer)
    return _answer_of_object(_parsed_json(answer.encode() if isinstance(answer, str) else answer))


def _parsed_json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise AnswerFileError(f"not UTF-8 at byte {error.start:,}", hint=_HOW_TO_KEEP) from error
    except (ValueError, RecursionError) as error:
        raise AnswerFileError("not JSON, or cut off", hint=_HOW_TO_KEEP) from error


def _answer_of_object(found: Any) -> KeptAnswer:
    version = found.get("schema_version") if isinstance(found, Mapping) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        what = f"an answer in version {version} of the JSON; this kgsparql reads versions 1 to {SCHEMA_VERSION}"
        raise AnswerFileError(what, hint="upgrade kgsparql, or ask the question again")
    try:
        computed = found.get("computed") or {"rows": (), "is_cut": False}
        rows = frozenset(tuple(map(_term_of, row)) for row in computed["rows"]) or None
        answers = [(_term_of(one["term"]), frozenset(one["markers"])) for one in found["answers"]]
        named = [(term, markers) for term, markers in answers if not isinstance(term, BlankNode)]
        cited, items = frozenset(found["cited"]), []
        triples: dict[bool, dict[Triple, None]] = {True: {}, False: {}}
        for one in found["evidence"]:
            marker, kind, ends = str(one["marker"]), one["kind"], one.get("ends")
            is_computed = kind == "computed"
            items.append(KeptItem(
                marker, str(one["text"]),
                is_cited=marker in cited,
                query=str(one["query"] or ""),
                answers=frozenset(term for term, markers in named if marker in markers),
                rows=rows if is_computed else None,
                is_computed=is_computed,
                is_part=bool(one["cuts"] or (kind == "path" and ends is None) or (is_computed and computed["is_cut"])),
                ends=None if ends is None or is_computed else int(ends),
            ))  # fmt: skip
            for own in one["triples"]:
                triple = Triple(*(_term_of(own[name]) for name in ("subject", "predicate", "object")))
                triples[marker in cited][triple] = None
        return KeptAnswer(
            str(found["question"]), str(found["status"]), str(found["text"]),
            tuple(term for term, _ in named), tuple(items), tuple(triples[True]), tuple(triples[False]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        what = f"it has no {error.args[0]!r}" if isinstance(error, KeyError) else printable(str(error), 200)
        raise AnswerFileError(f"this is no answer of kgsparql: {what}", hint=_HOW_TO_KEEP) from error


def _term_of(found: Mapping[str, Any] | None) -> Any:
    """Read a term; a cell of a table may be empty."""
    if found is None:
        return None
    kind, value, datatype = found["type"], found["value"], found.get("datatype")
    if kind == "bnode":
        return BlankNode(value)
    if kind == "triple":
        return parse_term(f"<<( {value} )>>")
    if kind not in {"uri", "literal"}:
        raise ValueError(f"a term of the kind {kind!r}")
    if kind == "uri":
        return validated(IRI(value))
    return validated(Literal(value, language=found.get("xml:lang"), datatype=datatype and IRI(datatype)))
