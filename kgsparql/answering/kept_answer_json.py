"""A kept answer read from the JSON object of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgsparql.answering.kept_answer import HOW_TO_KEEP, KeptAnswer, KeptItem, Row
from kgsparql.errors import AnswerFileError
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, printable, validated


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
