"""Questions with known answers, read from the formats that datasets come in, drawn from them, and answered.

They come as JSON Lines: ``id``, ``question``, ``answers`` (labels), ``answer_iris``,
``topic_entities`` (``{iri, label}``), ``hops``, ``type``, ``path`` (names of predicates, ``^`` before one walked from
object to subject), ``sparql``, ``golden_triples`` (``{s, p, o}``), ``rows`` (of a table: lists of labels or values).
Only ``question`` must be there, and what says or finds its answers. ``"answers": []`` says that the graph has no
answer: who finds none is right.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError, model_validator

from kgsparql.answering.ask_options import checked_question
from kgsparql.dataclasses import replace
from kgsparql.errors import (
    DataError,
    EndpointTimeoutError,
    ForbiddenQueryError,
    InputError,
    KgsparqlError,
    LimitError,
    QueryError,
    why_invalid,
)
from kgsparql.evaluation.dataset import Dataset, GoldAnswer, Problem, Question, Topic, WrittenIRI, gold_terms
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.files import has_rdf_suffix
from kgsparql.graphs.user_query import GraphQueries, check
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.words import in_turn
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import (
    IRI,
    Literal,
    PrefixMap,
    Term,
    Triple,
    grouped,
    iri,
    parse_term,
    printable,
)

FORMATS = (
    "a folder with graph.ttl (or .nt.gz …) and questions.jsonl",
    "JSON Lines: a question a line, with answers and answer_iris",
)
"""What can be read, for people."""

_MAX_BYTES = 2**29  # the limit for a file of questions, unpacked: the largest known have 100 MB


def load(path: str | Path) -> Dataset:
    """Load the questions of a file, or of a folder with a graph and questions about it.

    The ending of a file tells its format. A question that cannot be used becomes a problem, and so does one with the id
    of another. In a folder the graph is every RDF file called ``graph.*``, the questions are in ``questions.jsonl``.

    :raises InputError: if there is nothing, or no format is recognised.
    :raises DataError: if the file is malformed, or none of its questions can be used.

    >>> dataset = load("fixtures/nobel_questions.jsonl")
    >>> dataset.name, len(dataset.questions), dataset.questions[0].answers[0].label
    ('nobel_questions', 40, 'Warsaw')
    """
    place = Path(path)
    if os.path.isdir(place):  # noqa: PTH112 - Path's method raises for a name that is too long
        return _folder_dataset(place)
    if not os.path.isfile(place):  # noqa: PTH113
        raise InputError(f"{printable(path, 200)}: no such file or folder", hint=f"name {'; or '.join(FORMATS)}")
    return _file_dataset(place)


def _folder_dataset(folder: Path) -> Dataset:
    names = ("questions.jsonl", "questions.jsonl.gz")
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        there = printable(", ".join(sorted(entry.name for entry in folder.iterdir())[:12]) or "nothing", 300)
        raise InputError(f"{folder}: no questions.jsonl in this folder", hint=f"there is: {there}")
    graph = [entry for entry in sorted(folder.glob("graph.*")) if entry.is_file() and has_rdf_suffix(entry)]
    return replace(_file_dataset(file), graph=tuple(graph))


def _file_dataset(path: Path) -> Dataset:
    """Make the questions of a file; of those with one id the first counts."""
    questions: dict[str, Question] = {}
    problems: list[Problem] = []
    for place, number, value in _entries_of(path):
        try:
            question = question_of(value, number)
        except KgsparqlError as error:
            problems.append(Problem(place, error.message))
            continue
        if question.id in questions:
            problems.append(Problem(place, f"another one has the id {question.id}"))
        questions.setdefault(question.id, question)
    if not questions:
        if not problems:
            raise DataError(f"{path}: no questions in it", hint="is it the right file?")
        first = problems[0].where.removeprefix(str(path))
        raise DataError(
            f"{path}: none of {len(problems):,} questions can be used; the first{first}: {problems[0].message}",
            hint="is it the right file?",
        )
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    name = path.absolute().parent.name if stem == "questions" else stem
    return Dataset(name=printable(name, 60), questions=tuple(questions.values()), problems=tuple(problems))


def _entries_of(path: Path) -> Iterator[tuple[str, int, Any]]:
    """Yield the entries of a file, whose ending tells how it has them: place, number, and JSON or its text."""
    if Path(path.name.lower().removesuffix(".gz")).suffix != ".jsonl":
        raise InputError(f"{path}: not a file of questions", hint=f"known: {'; '.join(FORMATS)}")
    for number, line in enumerate(_file_text(path).split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", number, line


def _file_text(path: Path) -> str:
    """Read the text of a file, unpacked if it is packed with gzip."""
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if is_packed else path.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: a packed file that is not whole: {error}", hint="fetch it again") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", hint="name a file of questions") from error
    if len(data) > _MAX_BYTES:
        raise LimitError(f"{path}: more than {_MAX_BYTES:,} bytes", hint="divide it, or take a part of it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8", code="E_ENCODING", hint="save the file as UTF-8") from error


def sample(questions: Sequence[Question], limit: int | None, seed: int = 0) -> tuple[Question, ...]:
    """Draw at most ``limit`` questions, in their order; each number of hops gets an equal share, as far as it has any.

    Questions without a number of hops are a group of their own. The sample of a group depends only on the seed and the
    ids: a larger limit keeps what a smaller one took.

    >>> many = [Question(id=str(n), text="?", hops=n % 3) for n in range(300)]
    >>> from collections import Counter
    >>> sorted(Counter(question.hops for question in sample(many, 90)).items())
    [(0, 30), (1, 30), (2, 30)]
    """
    if limit is None or limit >= len(questions):
        return tuple(questions)
    # By a hash: an order as good as random that is the same everywhere.
    drawn = sorted(questions, key=lambda one: hashlib.sha256(f"{seed}\0{one.id}".encode("utf-8", "replace")).digest())
    groups = grouped((one.hops, one.id) for one in drawn)
    ordered = [groups[hops] for hops in sorted(groups, key=lambda hops: (hops is None, hops or 0))]
    taken = set(islice(in_turn(ordered), max(0, limit)))
    return tuple(question for question in questions if question.id in taken)


MAX_ROWS = 100_000  # solutions of one gold query: nobody asks a question with more answers

_REFUSED = (QueryError, LimitError, ForbiddenQueryError, EndpointTimeoutError)
"""Errors of one query, and not of the graph or the network."""


def answered(dataset: Dataset, knowledge: KnowledgeBase, *, timeout_s: float = 30.0) -> Dataset:
    """Fill in answers where a dataset has only SPARQL, and labels where it has only IRIs.

    A question without a known answer is left out, and becomes a problem: its SPARQL is refused, or finds nothing.

    :param timeout_s: of each query.
    :raises DataError: if none of the queries finds anything: then it is another graph.
    """
    queries = GraphQueries(knowledge.graph, prefixes=knowledge.prefixes)
    results = {
        question.id: _query_result(queries, knowledge.prefixes, question.sparql, timeout_s)
        for question in dataset.questions
        if question.answers is None and question.sparql
    }
    if results and not any(terms for terms, _ in results.values()):
        why = next((f"; the first is refused: {reason}" for _, reason in results.values() if reason), "")
        raise DataError(
            f"none of the {len(results):,} queries of {dataset.name} finds anything in {knowledge.graph.name}{why}",
            hint="is it the graph that the questions are about? name it with -k",
        )
    bare = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI) and not a.label}
    labels = knowledge.labels({*bare, *(term for terms, _ in results.values() for term in terms)})
    questions: list[Question] = []
    problems: list[Problem] = []
    for question in dataset.questions:
        answers = question.answers
        if question.id in results:
            terms, reason = results[question.id]
            if not terms:
                problems.append(Problem(question.id, f"no answer is known: {reason or 'it finds nothing'}"))
                continue
            answers = tuple(GoldAnswer(term, labels[term]) for term in terms)
        elif answers:
            answers = tuple(replace(a, label=a.label or labels.get(a.term, "")) if a.term else a for a in answers)
        questions.append(replace(question, answers=answers))
    return replace(dataset, questions=tuple(questions), problems=(*dataset.problems, *problems))


def missing_share(dataset: Dataset, knowledge: KnowledgeBase) -> float:
    """Return the share of the IRIs in gold answers and topics that the graph does not mention; 0 if there are none."""
    terms = {a.term for q in dataset.questions for a in q.answers or () if isinstance(a.term, IRI)}
    terms |= {topic.iri for question in dataset.questions for topic in question.topics}
    known = select_about(knowledge.graph, [Query.load("known")], sorted(terms, key=str)).seen if terms else ()
    return 1 - len({solution["entity"] for solution in known}) / len(terms) if terms else 0.0


def _query_result(
    queries: GraphQueries, prefixes: PrefixMap, sparql: str, timeout_s: float
) -> tuple[tuple[Term, ...], str]:
    """Run SPARQL, if it may be run: return the answers, or why it is refused."""
    try:
        form = check(sparql, prefixes=prefixes).form
        if form not in {"SELECT", "ASK"}:
            return (), f"{form} has no answers, only triples (write a SELECT)"
        result = queries.run(sparql, timeout_s=timeout_s, max_rows=MAX_ROWS)
    except _REFUSED as error:
        return (), f"{error.message} ({error.hint})" if error.hint else error.message
    if not result.complete:
        return (), f"more than {result.rows:,} solutions (ask for less)"
    if form == "ASK":
        return (Literal(result.boolean),), ""
    return gold_terms(result.solutions, result.solutions.variables), ""


# -- The formats -----------------------------------------------------------------------------------------------------


_ABSOLUTE_IRI = re.compile(r"<.*>|[A-Za-z][A-Za-z0-9+.-]*://\S+|urn:\S+")
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:@[A-Za-z][A-Za-z0-9-]*|\^\^<[^<>\s]*>)?')


# A number or boolean is written as in JSON.
Text = Annotated[str, BeforeValidator(lambda own: json.dumps(own) if isinstance(own, int | float) else own)]


def _without_nulls(data: Any) -> Any:
    return {k: v for k, v in data.items() if v is not None} if isinstance(data, Mapping) else data


class _WithoutNulls(BaseModel):
    """JSON object in which ``null`` stands for something that is not there."""

    _without_nulls = model_validator(mode="before")(_without_nulls)


def question_of(value: Any, number: int) -> Question:
    """Read one question.

    :param value: the entry, as JSON or as that says.
    :param number: its id, if it has none.
    :raises InputError: if it cannot be used, with the reason.
    """
    try:
        entry = OwnEntry.model_validate_json(value) if isinstance(value, str) else OwnEntry.model_validate(value)
    except ValidationError as error:
        raise InputError(why_invalid(error)) from error
    question = entry.to_question()
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


class OwnEntry(_WithoutNulls):
    """Question as a file has it."""

    id: Text = ""
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

    def to_question(self) -> Question:
        """Make the question.

        :raises InputError: if it cannot be used, with the reason.
        """
        topics = {topic.iri: topic for topic in reversed(self.topic_entities)}
        return Question(
            id=self.id, text=self.question, answers=gold_of(self.answers, self.answer_iris),
            topics=tuple(topics.values())[::-1], hops=self.hops,
            type=self.type, path=tuple(self.path), sparql=self.sparql,
            golden_triples=tuple(entry.to_triple() for entry in self.golden_triples),
            rows=tuple(tuple(GoldAnswer(None, text) for text in row) for row in self.rows),
        )  # fmt: skip


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
