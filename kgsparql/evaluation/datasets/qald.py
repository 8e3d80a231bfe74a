"""QALD JSON, all editions: questions in several languages, answers as SPARQL results, the query that finds them.

A result with empty bindings says that the graph has no answer: who finds none is right. A question without any result
leaves its answers to its query.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer, Question
from kgsparql.evaluation.datasets._fields import an_id, gold_terms, mapping, text_of, text_to_ask, topics_in
from kgsparql.evaluation.datasets._question_file import CollectedQuestions, QuestionFile
from kgsparql.rdf.terms import IRI, Literal, Term, iri, local_name, printable

TITLE = "QALD JSON: questions[].question[].string"

_KNOWN = dict.fromkeys(("qald-x", "qald-10"), ("qald-10", "QALD-10, https://github.com/KGQA/QALD-10", "MIT"))
"""Name, source and licence of files that say which they are, by their id in lower case."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(_XSD + name for name in ("integer", "decimal", "double", "float", "int", "nonNegativeInteger"))
_DATES = frozenset(_XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth", "time"))
_DBPEDIA = "http://dbpedia.org/resource/"


def is_qald(data: Any) -> bool:
    """Whether a JSON value is a file of QALD."""
    if not isinstance(data, Mapping) or not isinstance(data.get("questions"), list):
        return False
    entries = [entry for entry in data["questions"] if isinstance(entry, Mapping)]
    return not data["questions"] or any(isinstance(entry.get("question"), list) for entry in entries)


def read(file: QuestionFile, language: str) -> CollectedQuestions:
    """The questions in one language."""
    data = file.json
    about = data.get("dataset")
    named = about.get("id") if isinstance(about, Mapping) else None
    own = printable(named, 100) if isinstance(named, str) else ""
    name, source, licence = _KNOWN.get(own.lower(), (own, f"QALD, dataset {own}" if own else "QALD", ""))
    return CollectedQuestions(file, name, source, licence).add_all(
        data["questions"], partial(_question, language=language)
    )


def _question(value: Any, number: int, language: str) -> Question:
    data = mapping(value, "the question")
    wordings = data.get("question")
    if not isinstance(wordings, list):
        raise InputError("the question is no list of languages")
    texts = {
        str(item.get("language", "")).replace("_", "-").lower(): item.get("string")
        for item in wordings
        if isinstance(item, Mapping) and isinstance(item.get("string"), str) and item["string"].strip()
    }
    text = text_to_ask(chosen(texts, language))
    query = data.get("query")
    sparql = text_of(query, "sparql") if isinstance(query, Mapping) else ""
    answers = _answers(data.get("answers"))
    if answers is None and not sparql:
        raise InputError("no answers, and no SPARQL that finds them")
    return Question(
        id=an_id(data.get("id"), number), text=text, answers=answers, topics=topics_in(sparql),
        type=_type(data, answers), sparql=sparql,
    )  # fmt: skip


def chosen(texts: Mapping[str, Any], language: str) -> Any:
    """The text in a language, or in a region's variety of it.

    :raises InputError: if there is none; the message says in which there is.
    """
    wanted = language.lower()
    found = [tag for tag in texts if tag == wanted] or sorted(tag for tag in texts if tag.startswith(f"{wanted}-"))
    if not found:
        there = printable(", ".join(sorted(texts)) or "no language", 80)
        raise InputError(f"no question in {printable(language, 20)}; there is one in {there}")
    return texts[found[0]]


def _answers(value: Any) -> tuple[GoldAnswer, ...] | None:
    """Gold answers of a list of SPARQL results; ``None`` where there is no result at all."""
    if not isinstance(value, list):
        return None
    terms: dict[Term, None] = {}
    is_there = False
    for result in value:
        data = mapping(result, "an answer")
        if isinstance(data.get("boolean"), bool):
            is_there = True
            terms[Literal(data["boolean"])] = None
        elif isinstance(data.get("results"), Mapping):
            is_there = True
            bindings = data["results"].get("bindings")
            rows = [_row(row) for row in (bindings if isinstance(bindings, list) else ())]
            variables = tuple(dict.fromkeys(name for row in rows for name in row))
            terms.update(dict.fromkeys(gold_terms(rows, variables)))
    return tuple(GoldAnswer(term, _label(term)) for term in terms) if is_there else None


def _row(value: Any) -> dict[str, Term]:
    cells = {name: _term(mapping(cell, "a binding")) for name, cell in mapping(value, "a row").items()}
    return {name: term for name, term in cells.items() if term is not None}


def _term(cell: Mapping[str, Any]) -> Term | None:
    kind, value = cell.get("type"), cell.get("value")
    if isinstance(value, bool | int | float):
        value = str(value).lower()
    if not isinstance(value, str):
        raise InputError("an answer without a value")
    if kind == "uri":
        return iri(value)
    if kind == "bnode":
        return None
    if kind not in ("literal", "typed-literal"):
        raise InputError(f"an answer of type {printable(str(kind), 40)}")
    datatype, language = cell.get("datatype"), cell.get("xml:lang")
    if isinstance(language, str) and language:
        try:
            return Literal(value, language=language)
        except ValueError as error:
            raise InputError(f"not a language tag: {printable(language, 40)}") from error
    return Literal(value, datatype=iri(datatype)) if isinstance(datatype, str) and datatype else Literal(value)


def _label(term: Term) -> str:
    """A literal's text; DBpedia's names are those of Wikipedia; what others are called only the graph knows."""
    if isinstance(term, IRI):
        return local_name(term) if term.value.startswith(_DBPEDIA) else ""
    return str(getattr(term, "value", ""))


def _type(data: Mapping[str, Any], answers: tuple[GoldAnswer, ...] | None) -> str:
    """QALD's type of answer, found from the answers where the edition does not say; and whether it is aggregated."""
    kind = data.get("answertype")
    parts = [kind if isinstance(kind, str) and kind else _answer_type(answers)]
    parts += ["aggregation"] if str(data.get("aggregation")).lower() == "true" else []
    return ",".join(part for part in parts if part)


def _answer_type(answers: tuple[GoldAnswer, ...] | None) -> str:
    if not answers:
        return ""
    term = answers[0].term
    if not isinstance(term, Literal):
        return "resource"
    datatype = term.datatype.value
    if datatype == _XSD + "boolean":
        return "boolean"
    return "number" if datatype in _NUMBERS else "date" if datatype in _DATES else "string"
