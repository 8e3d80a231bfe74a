"""LC-QuAD 1 and 2: questions with SPARQL over DBpedia, or over Wikidata; the answers are what it finds there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets._fields import an_id, mapping, text_of, text_to_ask, topics_in
from kgsparql.evaluation.datasets._question_file import CollectedQuestions, QuestionFile

TITLE_1 = "LC-QuAD 1: corrected_question and sparql_query"
TITLE_2 = "LC-QuAD 2: question or NNQT_question, sparql_wikidata or sparql_dbpedia18"

_NOT_A_TEXT = re.compile(r"\W*|n/?a|none|null", re.IGNORECASE)


def is_first(data: Any) -> bool:
    """Whether a JSON value is a file of LC-QuAD 1."""
    return _has(data, {"corrected_question", "sparql_query"})


def is_second(data: Any) -> bool:
    """Whether a JSON value is a file of LC-QuAD 2."""
    return _has(data, {"sparql_wikidata"}) or _has(data, {"sparql_dbpedia18"})


def _has(data: Any, names: set[str]) -> bool:
    return isinstance(data, list) and any(isinstance(entry, Mapping) and names <= entry.keys() for entry in data)


def read_first(file: QuestionFile) -> CollectedQuestions:
    """The questions of LC-QuAD 1, over DBpedia of 2016-04."""
    found = CollectedQuestions(file, "lcquad-1", "LC-QuAD 1.0, https://github.com/AskNowQA/LC-QuAD", "GPL-3.0")
    return found.add_all(file.json, _first)


def _first(value: Any, number: int) -> Question:
    data = mapping(value, "the question")
    template = data.get("sparql_template_id")
    return Question(
        id=an_id(data.get("_id"), number),
        text=text_to_ask(data.get("corrected_question")),
        type=f"template {template}" if isinstance(template, int) else "",
        sparql=(sparql := _sparql(data, "sparql_query")),
        topics=topics_in(sparql),
    )


def read_second(file: QuestionFile) -> CollectedQuestions:
    """The questions of LC-QuAD 2 with the SPARQL over Wikidata; where that is missing, over DBpedia of 2018."""
    return CollectedQuestions(file, "lcquad-2", "LC-QuAD 2.0, http://lc-quad.sda.tech", "").add_all(file.json, _second)


def _second(value: Any, number: int) -> Question:
    data = mapping(value, "the question")
    sparql = _sparql(data, "sparql_wikidata", "sparql_dbpedia18")
    return Question(
        id=an_id(data.get("uid"), number),
        text=text_to_ask(_wording(data)),
        type=text_of(data, "subgraph"),
        sparql=sparql,
        topics=topics_in(sparql),
    )


def _wording(data: Mapping[str, Any]) -> Any:
    """The question as people put it; where nobody did, the template, without its braces."""
    for name in ("question", "NNQT_question"):
        text = data.get(name)
        if isinstance(text, str) and not _NOT_A_TEXT.fullmatch(text.strip()):
            return text if name == "question" else re.sub(r"[{}<>]", "", text)
    return data.get("question")


def _sparql(data: Mapping[str, Any], *names: str) -> str:
    for name in names:
        if text := text_of(data, name).strip():
            return text
    raise InputError("no answers, and no SPARQL that finds them")
