"""The formats that questions with known answers come in: a model of an entry each, which becomes a question.

kgsparql's own is JSON Lines (or a JSON list): ``id``, ``question``, ``answers`` (labels), ``answer_iris``,
``topic_entities`` (``{iri, label}``), ``hops``, ``type``, ``path`` (names of predicates, ``^`` before one walked from
object to subject), ``sparql``, ``golden_triples`` (``{s, p, o}``), ``rows`` (of a table: lists of
labels or values). Only ``question`` must be there, and what says or finds its answers. ``"answers": []`` says that the
graph has no answer: who finds none is right. The same holds for an empty SPARQL result of QALD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, ValidationError, model_validator
from pyoxigraph import QueryResultsFormat, parse_query_results

from kgsparql.answering.ask_options import checked_question
from kgsparql.errors import InputError, why_invalid
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic, WrittenIRI, gold_terms
from kgsparql.rdf.terms import IRI, Json, Literal, Term, Triple, iri, local_name, parse_term, printable

_ABSOLUTE_IRI = re.compile(r"<.*>|[A-Za-z][A-Za-z0-9+.-]*://\S+|urn:\S+")
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:@[A-Za-z][A-Za-z0-9-]*|\^\^<[^<>\s]*>)?')
_DBPEDIA = "http://dbpedia.org/resource/"  # whose local names are labels: those of Wikipedia


# A number or boolean is written as in JSON.
Text = Annotated[str, BeforeValidator(lambda own: json.dumps(own) if isinstance(own, int | float) else own)]
# The SPARQL, also out of an object that it is in.
Queried = Annotated[str, BeforeValidator(lambda own: own.get("sparql") or "" if isinstance(own, Mapping) else own)]


def _without_nulls(data: Any) -> Any:
    return {k: v for k, v in data.items() if v is not None} if isinstance(data, Mapping) else data


class _WithoutNulls(BaseModel):
    """JSON object in which ``null`` stands for something that is not there."""

    _without_nulls = model_validator(mode="before")(_without_nulls)


class Entry(_WithoutNulls):
    """Question as a file has it."""

    id: Text = ""

    def to_question(self, language: str, /) -> Question:
        """Make the question, in one of its languages.

        :raises InputError: if it cannot be used, with the reason.
        """
        raise NotImplementedError


class Folder(_WithoutNulls):
    """What ``dataset.json`` says of the questions beside it."""

    name: str = ""
    source: str = ""
    licence: Annotated[str, Field(validation_alias=AliasChoices("licence", "license"))] = ""
    graph: Annotated[
        list[Annotated[str, Field(min_length=1)]], BeforeValidator(lambda own: [own] if isinstance(own, str) else own)
    ] = []


def question_of(model: type[Entry], value: Any, number: int, language: str) -> Question:
    """Read one question.

    :param value: the entry, as JSON or as that says.
    :param number: its id, if it has none.
    :raises InputError: if it cannot be used, with the reason.
    """
    try:
        entry = model.model_validate_json(value) if isinstance(value, str) else model.model_validate(value)
    except ValidationError as error:
        raise InputError(why_invalid(error)) from error
    question = entry.to_question(language)
    if question.answers is None and not (question.sparql.strip() or question.golden_triples):
        raise InputError("no answers, and no SPARQL that finds them")
    return replace(question, id=printable(entry.id, 200) or str(number))


class _TripleEntry(_WithoutNulls):
    s: str
    p: str
    o: str

    def to_triple(self) -> Triple:
        subject, predicate, object_ = (term_of(text) or Literal(text) for text in (self.s, self.p, self.o))
        if not isinstance(subject, IRI) or not isinstance(predicate, IRI):
            raise InputError(f"not a triple: {printable(f'{self.s} {self.p} {self.o}', 120)}")
        return Triple(subject, predicate, object_)


class OwnEntry(Entry):
    """Question in kgsparql's own format."""

    question: Annotated[str, AfterValidator(checked_question)]
    answers: list[Text] | None = None
    answer_iris: list[WrittenIRI] | None = None
    topic_entities: list[Annotated[Topic, BeforeValidator(_without_nulls)]] = []
    hops: Annotated[int, Field(ge=0)] | None = None
    type: str = ""
    path: list[Text] = []
    sparql: str = ""
    golden_triples: list[_TripleEntry] = []
    rows: list[list[Text]] = []

    def to_question(self, _: str, /) -> Question:
        """Make the question."""
        topics = {topic.iri: topic for topic in reversed(self.topic_entities)}
        return Question(
            id=self.id, text=self.question, answers=gold_of(self.answers, self.answer_iris),
            topics=tuple(topics.values())[::-1], hops=self.hops,
            type=self.type, path=tuple(self.path), sparql=self.sparql,
            golden_triples=tuple(entry.to_triple() for entry in self.golden_triples),
            rows=tuple(tuple(GoldAnswer(None, text) for text in row) for row in self.rows),
        )  # fmt: skip


class _Wording(_WithoutNulls):
    language: str = ""
    string: str | None = None


class _Bindings(_WithoutNulls):
    bindings: list[dict[str, Json]] = []


class _Result(_WithoutNulls):
    """Result of a query in SPARQL's JSON, whose head may lack."""

    boolean: bool | None = None
    results: _Bindings | None = None

    def to_terms(self) -> tuple[Term, ...]:
        if self.boolean is not None:
            return (Literal(self.boolean),)
        rows = self.results.bindings if self.results else []
        names = list(dict.fromkeys(name for row in rows for name in row))
        written = json.dumps({"head": {"vars": names}, "results": {"bindings": rows}})
        try:
            found = list(parse_query_results(written, format=QueryResultsFormat.JSON))  # type: ignore[arg-type]
        except SyntaxError as error:
            raise InputError(f"answers: {printable(error.msg, 200)}") from error
        return gold_terms([{name: term for name in names if (term := row[name]) is not None} for row in found], names)


class QaldEntry(Entry):
    """Question of QALD JSON, all editions: in several languages, with answers as SPARQL results."""

    question: list[_Wording]
    query: Queried = ""
    answers: list[_Result] | None = None
    answertype: str = ""

    def to_question(self, language: str, /) -> Question:
        """Make the question."""
        text = in_language({own.language: own.string for own in self.question}, language)
        results = [one for one in self.answers or () if one.boolean is not None or one.results is not None]
        terms = dict.fromkeys(term for one in results for term in one.to_terms())
        return Question(
            id=self.id, text=checked_question(text),
            answers=tuple(GoldAnswer(term, _term_label(term)) for term in terms) if results else None,
            sparql=self.query, type=self.answertype,
        )  # fmt: skip


def in_language(texts: Mapping[str, str | None], language: str) -> str:
    """Choose the text in a language, or in a region's variety of it.

    :raises InputError: if there is none; the message says in which there is.
    """
    written = {tag.replace("_", "-").lower(): text for tag, text in texts.items() if text and text.strip()}
    wanted = language.lower()
    found = [tag for tag in written if tag == wanted] or sorted(tag for tag in written if tag.startswith(f"{wanted}-"))
    if not found:
        there = printable(", ".join(sorted(written)) or "no language", 80)
        raise InputError(f"no question in {printable(language, 20)}; there is one in {there}")
    return written[found[0]]


def term_of(text: str) -> Term | None:
    """Read an IRI with or without brackets, or a literal in N-Triples syntax; ``None`` for a name.

    :raises InputError: for a text that begins like a term and is none.

    >>> term_of("http://e.org/a"), term_of('"8"^^<http://www.w3.org/2001/XMLSchema#integer>').value, term_of("Bonn")
    (<NamedNode value=http://e.org/a>, '8', None)
    """
    bare = text.strip()
    if _LITERAL.fullmatch(bare):
        return parse_term(bare)
    return iri(bare) if _ABSOLUTE_IRI.fullmatch(bare) else None


def gold_of(labels: Sequence[str] | None, terms: Sequence[IRI] | None) -> tuple[GoldAnswer, ...] | None:
    """Make gold answers of a list of labels and a list of IRIs, either of which may be missing (``None``).

    As many labels as IRIs are pairs; else only the graph says what the IRIs are called. Without a list of IRIs the
    answers are names only; with an empty one they are literals.

    >>> bonn = IRI("http://e.org/b")
    >>> gold_of(["Bonn"], [bonn])[0].term, gold_of(["Bonn"], None)[0].term, gold_of(["8"], [])[0].term.value
    (<NamedNode value=http://e.org/b>, None, '8')
    """
    if terms is None and labels is None:
        return None
    texts = list(labels or ())
    if not terms:
        return tuple(GoldAnswer(None if terms is None else Literal(text), text) for text in dict.fromkeys(texts))
    if len(texts) != len(terms):
        texts = [""] * len(terms)
    called = dict(zip(reversed(terms), reversed(texts), strict=True))  # of one that is there twice, the first
    return tuple(GoldAnswer(term, called[term]) for term in dict.fromkeys(terms))


def _term_label(term: Term) -> str:
    """Return a literal's text; of DBpedia's names those of Wikipedia; what others are called only the graph knows."""
    if isinstance(term, IRI):
        return local_name(term) if term.value.startswith(_DBPEDIA) else ""
    return str(getattr(term, "value", ""))
