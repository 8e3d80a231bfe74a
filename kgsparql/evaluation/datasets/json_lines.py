"""kgsparql's own format: JSON Lines, a question a line; a JSON list of the same objects is read too.

``id``, ``question``, ``answers`` (labels), ``answer_iris``, ``topic_entities`` (``{iri, label}``), ``hops``, ``type``,
``path`` (names of predicates, ``^`` before one walked from object to subject), ``sparql``, ``golden_triples``
(``{s, p, o}``), ``reference_answer``, ``rows`` (of a table: lists of labels or values). Only ``question`` must be
there, and what says or finds its answers.

``"answers": []`` says that the graph has no answer: who finds none is right. Without ``answers`` and ``answer_iris``
nothing is said, and the SPARQL or the path must find them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets._fields import (
    an_id,
    gold_of,
    hops_of,
    mapping,
    rows_of,
    text_of,
    text_to_ask,
    texts_of,
    topics_of,
    triples_of,
)
from kgsparql.evaluation.datasets._question_file import CollectedQuestions, QuestionFile, check_encoding, json_value
from kgsparql.rdf.terms import IRI, iri

TITLE = "JSON Lines: a question a line, with answers and answer_iris"
_LOOKED_AT = 20
_OWN = frozenset({"answers", "answer_iris", "topic_entities", "path", "golden_triples", "reference_answer", "sparql"})


def is_ours(file: QuestionFile) -> bool:
    """Whether one of the first lines is a question of this format, or the file is called ``.jsonl``."""
    if file.suffix in {".jsonl", ".ndjson"}:
        return True
    if not file.text.lstrip().startswith("{"):
        return False
    return any(map(_is_line, file.lines[:_LOOKED_AT]))


def is_entry(data: Any) -> bool:
    """Whether a JSON value is a question of this format."""
    return isinstance(data, Mapping) and isinstance(data.get("question"), str) and not _OWN.isdisjoint(data)


def _is_line(line: str) -> bool:
    try:
        return is_entry(json_value(line))
    except InputError:
        return False


def read(file: QuestionFile) -> CollectedQuestions:
    """The questions of the lines; a line that is not UTF-8 costs only itself."""
    found = CollectedQuestions(file)
    for number, line in enumerate(file.lines, 1):
        if line.strip():
            found.add(str(number), _question_of_line, line, number)
    return found


def _question_of_line(line: str, number: int) -> Question:
    check_encoding(line)
    return question_of(json_value(line), number)


def read_list(file: QuestionFile) -> CollectedQuestions:
    """The questions of one JSON list."""
    return CollectedQuestions(file).add_all(file.json, question_of)


def question_of(value: Any, number: int) -> Question:
    """The question of one object.

    :param number: its id, if it has none.
    :raises InputError: if it cannot be used, with the reason.
    """
    data = mapping(value, "the line")
    text = text_to_ask(data.get("question"))
    topics = topics_of(data.get("topic_entities"))
    names = {**{topic.iri: topic.label for topic in topics if topic.label}, **_triple_labels(data)}
    answers = gold_of(texts_of(data, "answers"), texts_of(data, "answer_iris"), names)
    question = Question(
        id=an_id(data.get("id"), number), text=text, answers=answers, topics=topics, hops=hops_of(data.get("hops")),
        type=text_of(data, "type"), path=tuple(texts_of(data, "path") or ()), sparql=text_of(data, "sparql"),
        golden_triples=triples_of(data.get("golden_triples")),
        reference=text_of(data, "reference_answer") or text_of(data, "reference"),
        rows=rows_of(data.get("rows")),
    )  # fmt: skip
    if answers is None and not (question.sparql or question.path or question.golden_triples or question.reference):
        raise InputError("no answers, and no SPARQL or path that finds them")
    return question


def _triple_labels(data: Mapping[str, Any]) -> dict[IRI, str]:
    """Labels that golden triples give beside their terms."""
    found: dict[IRI, str] = {}
    triples = data.get("golden_triples")
    for item in triples if isinstance(triples, list) else ():
        if isinstance(item, Mapping):
            for part in "so":
                value, label = item.get(part), item.get(f"{part}_label")
                if isinstance(value, str) and isinstance(label, str) and label and "://" in value:
                    found.setdefault(iri(value), label)
    return found
