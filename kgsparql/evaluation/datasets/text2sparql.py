"""TEXT2SPARQL YAML: questions in several languages with the SPARQL that finds the answers, which the graph has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from kgsparql.errors import DataError, InputError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets._fields import an_id, mapping, text_of, text_to_ask, texts_of
from kgsparql.evaluation.datasets._question_file import CollectedQuestions, QuestionFile
from kgsparql.evaluation.datasets.qald import chosen
from kgsparql.rdf.terms import printable

TITLE = "TEXT2SPARQL YAML: questions[].question.en and query.sparql"

_KNOWN = {
    "https://text2sparql.aksw.org/2025/corporate/": (
        "CK25, https://github.com/eccenca/ck25-dataset (TEXT2SPARQL challenge 2025)", "CC BY 4.0",
    ),
}  # fmt: skip
"""Source and licence of files that say which they are."""

_QUESTIONS = re.compile(r"^questions\s*:", re.MULTILINE)


def looks_like_it(file: QuestionFile) -> bool:
    """Whether a text may be a file of this format, without parsing it."""
    return not file.text.lstrip().startswith(("{", "[")) and _QUESTIONS.search(file.text) is not None


def read(file: QuestionFile, language: str) -> CollectedQuestions:
    """The questions in one language."""
    data = _parsed(file)
    entries = data.get("questions") if isinstance(data, Mapping) else None
    if not isinstance(entries, list):
        raise DataError(f"{file.path}: questions is no list", hint="each begins with - id: …")
    about = data.get("dataset")
    about = about if isinstance(about, Mapping) else {}
    named, prefix = (_about_text(file, about, key) for key in ("id", "prefix"))
    source, licence = _KNOWN.get(named, (printable(named, 200), ""))
    found = CollectedQuestions(file, printable(prefix, 60), source, licence)
    return found.add_all(entries, partial(_question, prefix=prefix, language=language))


def _about_text(file: QuestionFile, about: Mapping[str, Any], key: str) -> str:
    """What a file says of itself; empty where it says nothing."""
    try:
        return an_id(about.get(key), "")
    except InputError as error:
        raise DataError(f"{file.path}: dataset.{key}: {error.message}", hint="write it in quotes") from error


def _parsed(file: QuestionFile) -> Any:
    import yaml

    try:
        _check_aliases(file)
        return yaml.safe_load(file.text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise DataError(
            f"{file.path}:{line}: not YAML: {printable(error.problem or '', 100)}", hint="look at that line"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise DataError(f"{file.path}: not YAML: {printable(str(error), 200)}", hint="is it whole?") from error


def _check_aliases(file: QuestionFile) -> None:
    """Refuse aliases before anything is made of the text: a few lines of aliases of aliases stand for gigabytes."""
    import yaml

    for event in yaml.parse(file.text, yaml.SafeLoader) if "*" in file.text else ():
        if isinstance(event, yaml.AliasEvent):
            raise DataError(
                f"{file.path}:{event.start_mark.line + 1}: an alias: *{printable(event.anchor, 60)}",
                hint="aliases are not read: write out what they stand for",
            )


def _question(value: Any, number: int, prefix: str, language: str) -> Question:
    data = mapping(value, "the question")
    asked = data.get("question")
    if isinstance(asked, Mapping):
        texts = {str(tag).lower(): text for tag, text in asked.items() if isinstance(text, str) and text.strip()}
        asked = chosen(texts, language)
    query = data.get("query")
    sparql = text_of(query, "sparql") if isinstance(query, Mapping) else query if isinstance(query, str) else ""
    if not sparql.strip():
        raise InputError("no answers, and no SPARQL that finds them")
    own = an_id(data.get("id"), number)
    return Question(
        id=f"{prefix}-{own}" if prefix else own,
        text=text_to_ask(asked),
        type=",".join(texts_of(data, "features") or ()),
        sparql=sparql.strip(),
    )
