"""Metrics: whether answers are right, whether they can be relied on, and what they cost.

Pure functions of a question and a record, so that a new one scores old runs; the answers of a record are compared with
the right ones once for all.

Given and right answers are compared strictly: IRIs by their characters, literals by value, names only where there is
no term; a table row by row, by every column that is asked; duplicates count once. No right answer and none given: 1.
No right answer and one given: 0. None given: 0. A failed question, also for want of its model: 0. Not defined while
nobody knows the right answers.

Answers are scored in the order in which they were given; what of that order is chance, ``expected_hits@1`` evens out.

The leading answers are the first, and those right behind it that have the same score and the same first piece of
evidence. Of a method that ranks paths, these are all ends of the best one; of methods that rank entities (entity,
mindmap), often the first answer alone. The set, of precision and recall, is the leading answers where nobody chose
among the candidates, else all answers.

Evidence is compared with the triples that an answer must rest on; what was linked, with the entities of the question.
Triples are equal if their terms are: IRIs by their characters, literals by value. No evidence: 0. A failed question:
0. Not defined for a question without golden triples. Of the first ten, the places are the triples in the order in
which they are read: item after item, in each from its first to its last; a triple that was there before takes a place,
too. That is as in the evaluation of HubLink on ORKG, whose published figures ``triple_hit@10``
reproduces. What a question costs counts for a failed one, too.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import takewhile
from operator import attrgetter
from typing import Literal as OneOf
from typing import TypeVar

from kgsparql.dataclasses import frozen
from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer, Question, Record, RecordedAnswer, RecordedCost
from kgsparql.rdf.terms import XSD, Literal, parse_term

_T = TypeVar("_T")

Group = OneOf["answer", "evidence", "linking", "grounding", "cost"]
Better = OneOf["higher", "lower", ""]


@frozen
class Metric:
    """A figure for one question; the figure of a method is the mean over the questions that have one.

    :param better: which way is better; empty where neither is.
    :param of: gives ``None`` where it is not defined: the question is then left out of the mean, so that a share of
        some questions (those without an answer, say) is a mean too.
    """

    name: str
    group: Group
    better: Better
    of: Callable[[Question, Record], float | None]


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 where both are.

    >>> f1(1.0, 0.5), f1(0.0, 0.0)
    (0.6666666666666666, 0.0)
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@frozen
class Judgement:
    """The given answers in the order in which they are scored, and which of them are right.

    :param gold: how many different right answers there are.
    :param found: for each different given one, the best first, the numbers of the right answers it is equal to; empty
        for a wrong one.
    :param leading: how many of these lead: the first, and those right behind it of equal score and first marker.
    :param predicted: how many of them are the predicted set: the leading ones if nobody chose among candidates, else
        all.
    :param settled: the score in every metric if the question failed (0) or has no right answer (1 for silence, else 0).
    """

    gold: int
    found: tuple[tuple[int, ...], ...]
    leading: int
    predicted: int
    settled: float | None

    def right(self, first: int) -> int:
        """How many of the first so many are right."""
        return sum(map(bool, self.found[:first]))

    def gold_found(self, first: int) -> int:
        """How many right answers are among the first so many."""
        return len({number for numbers in self.found[:first] for number in numbers})


@lru_cache(maxsize=16)
def judgement(question: Question, record: Record) -> Judgement | None:
    """Compare the answers of a record with the right ones; ``None`` while nobody knows these."""
    if question.answers is None:
        return None
    gold = _gold_answers(question)
    if question.rows and len(question.rows[0]) > 1 and not record.has_failed:
        # A row that was given is right if it has every value of a right row.
        rows = tuple(
            tuple(number for number, own in enumerate(question.rows) if _is_same_row(own, row, question))
            for row in dict.fromkeys(record.rows)
        )
        return Judgement(len(question.rows), rows, len(rows), len(rows), None)
    given: dict[Hashable, RecordedAnswer] = {}
    for answer in () if record.has_failed else record.answers:
        given.setdefault(identity(answer.term, answer.label), answer)
    paths = [(answer.score, answer.markers[:1]) for answer in given.values()]
    leading = len(list(takewhile(paths[0].__eq__, paths))) if paths else 0
    return Judgement(
        gold=len(gold), found=tuple(gold.found(answer.term, answer.label) for answer in given.values()),
        leading=leading, predicted=leading if record.ranked else len(given),
        settled=float(is_silent(record)) if record.has_failed or not gold else None,
    )  # fmt: skip


def is_silent(record: Record) -> bool:
    """Tell whether nothing was given as an answer: no term, no name, and no words of a model.

    In a partial answer the text is a model's only if it has claims, or is not from the graph; else it is our own.
    """
    if record.answers or record.has_failed:
        return False
    is_claimed = bool(record.claims) or record.grounding != "graph"
    is_answer = record.status == "answered" or (record.status == "partial" and is_claimed)
    return record.ranked or not record.text.strip() or not is_answer


@lru_cache(maxsize=1024)
def _gold_answers(question: Question) -> GoldAnswers:
    return GoldAnswers(question.answers or ())


_BOOLEANS = {"true", "false"}

_ORDERED = "RESULT_ORDER_MATTERS"  # a word of a question's type: its rows are right only in the order of the gold rows

_G = TypeVar("_G")
_Formula = Callable[[Judgement], float]
"""For a question that has right answers and did not fail."""


def _set_precision(found: Judgement) -> float:
    return found.right(found.predicted) / found.predicted if found.predicted else 0.0


def _set_recall(found: Judgement) -> float:
    return found.gold_found(found.predicted) / found.gold


def _answer_metric(name: str, formula: _Formula) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        found = judgement(question, record)
        if found is None:
            return None
        return formula(found) if found.settled is None else found.settled

    return Metric(name, "answer", "higher", value)


def _is_exact(question: Question, record: Record) -> float | None:
    """Tell whether the whole answer is right: value, rows, or set of answers, with nothing missing or added.

    A computed value is compared with the one right answer: numbers with a tolerance of a millionth of them, or, where
    the question asks for a round one, of half the last digit of the right answer; dates by value and precision, so
    that a year is no day. A row is right if it has every value of a right row, in whatever column, and more columns do
    no harm; every row must be right, and every right row there, in its order where the type of the question holds
    RESULT_ORDER_MATTERS. Else the set of answers must be the right one, as for precision and recall. No right answer:
    1 if none was given. A failed question: 0. Not defined while nobody knows the right answers.
    """
    found = judgement(question, record)
    if found is None or record.has_failed:
        return None if found is None else 0.0
    gold = question.answers or ()
    if question.rows:
        return float(_same_rows(question, record))
    if record.value:
        return float(len(gold) == 1 and _same_cell(gold[0], record.value, "", is_round=_is_round(question)))
    if found.settled is not None:
        return found.settled
    right = found.right(found.predicted) == found.predicted > 0
    return float(right and found.gold_found(found.predicted) == found.gold)


def _wrong_verdict(question: Question, record: Record) -> float | None:
    """Count the yes/no questions to which the opposite was answered without a word of doubt (`answered`).

    Nothing answered, or a partial answer: 0. Not defined for a question whose right answer is no yes or no.
    """
    gold = question.answers or ()
    if len(gold) != 1 or gold[0].label not in _BOOLEANS:
        return None
    given = _literal_text(record.value)
    return float(record.status == "answered" and given in _BOOLEANS and given != gold[0].label)


def _same_rows(question: Question, record: Record) -> bool:
    def is_same(gold: Sequence[GoldAnswer], given: Sequence[tuple[str, str]]) -> bool:
        return _is_same_row(gold, given, question)

    if len(question.rows) != len(record.rows):
        return False
    if _ORDERED in question.type:
        return all(map(is_same, question.rows, record.rows))
    return _each_has_its_own(question.rows, record.rows, is_same)


def _is_same_row(gold: Sequence[GoldAnswer], given: Sequence[tuple[str, str]], question: Question) -> bool:
    return _each_has_its_own(gold, given, lambda cell, own: _same_cell(cell, *own, is_round=_is_round(question)))


def _each_has_its_own(gold: Sequence[_T], given: Sequence[_G], is_same: Callable[[_T, _G], bool]) -> bool:
    """Tell whether each right thing is the same as a given one that no other is the same as."""
    left = list(given)
    for one in gold:
        place = next((i for i, own in enumerate(left) if is_same(one, own)), None)
        if place is None:
            return False
        del left[place]
    return True


def _same_cell(gold: GoldAnswer, term: str, label: str, *, is_round: bool) -> bool:
    if GoldAnswers([gold]).found(term, label):
        return True
    if not (is_round and term.startswith('"')):
        return False
    right = gold.label if gold.term is None else _literal_text(str(gold.term))
    try:
        one, other = float(right), float(_literal_text(term))
    except ValueError:
        return False
    digits = len(right.partition(".")[2])
    return math.isclose(one, other, rel_tol=NEAR, abs_tol=0.5 * 10**-digits + 1e-12)


def _is_round(question: Question) -> bool:
    return "round" in question.text.lower()


def _literal_text(term: str) -> str:
    """Return the text of a literal in N-Triples syntax; empty for anything else."""
    try:
        literal = parse_term(term) if term else None
    except InputError:
        return ""
    return literal.value if isinstance(literal, Literal) else ""


_NO_EMBEDDER = "ranking"  # the purpose of the fallback that every question of a run without an embedding model has

_Triple = tuple[Hashable, ...]
_OfTriples = Callable[[frozenset[_Triple], list[_Triple]], float]
"""Of the golden triples, and of every triple of the evidence as it is read, repeats included."""


def _triple_precision(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return len(golden.intersection(places)) / len(set(places)) if places else 0.0


def _triple_recall(golden: frozenset[_Triple], places: list[_Triple]) -> float:
    return len(golden.intersection(places)) / len(golden)


def _triple_metric(name: str, formula: _OfTriples) -> Metric:
    def value(question: Question, record: Record) -> float | None:
        if not question.golden_triples:
            return None
        if record.status == "error":
            return 0.0
        golden = frozenset(tuple(identity(str(term)) for term in triple) for triple in question.golden_triples)
        places = [tuple(map(identity, triple)) for item in record.evidence for triple in item.triples]
        return formula(golden, places)

    return Metric(name, "evidence", "higher", value)


def _linking_recall(question: Question, record: Record) -> float | None:
    """Divide the entities of a question that were taken for some mention by its entities.

    1 where the entities were given to the method. Not defined where the dataset names no entities.
    """
    topics = {str(topic.iri) for topic in question.topics}
    if not topics:
        return None
    return 0.0 if record.status == "error" else len(topics & {link[0] for link in record.linked}) / len(topics)


def _is_grounded(_question: Question, record: Record) -> float | None:
    """Tell whether every citation of the answer holds.

    1 if the answer is from the graph alone, cites something, every marker it cites is in the evidence, every triple of
    these items was looked up again and found, and the model made up no citation or choice; else 0. A triple that nobody
    could look up (a blank node of an endpoint) does not hold. A failed question: 0. Not defined where nothing was
    answered.
    """
    if record.has_failed:
        return 0.0
    if is_silent(record):
        return None
    cited = {m for _, markers in record.claims for m in markers} | {m for a in record.answers for m in a.markers}
    # A passage has no triples.
    found_again = {i.marker for i in record.evidence if len(i.verified) >= len(i.triples) and all(i.verified)}
    return float(record.grounding == "graph" and bool(cited) and cited <= found_again)


def _is_misleading(question: Question, record: Record) -> float | None:
    """Count questions with something that is called an answer (`answered`), although the first one is wrong.

    Not defined while nobody knows the right answers.
    """
    found = judgement(question, record)
    is_called_answer = record.status == "answered" and not record.has_failed and not is_silent(record)
    return None if found is None else float(is_called_answer and not found.right(1))


def _cost_metric(name: str, of: Callable[[RecordedCost], float | None] | None = None) -> Metric:
    """Make a metric of what was measured: the field of this name, or what is computed from several."""
    measured = of or attrgetter(name)
    return Metric(name, "cost", "lower", lambda _, record: measured(record.measured))


def _share_metric(name: str, of: Callable[[Record], bool], better: Better = "lower") -> Metric:
    """Make a metric that counts questions."""
    return Metric(name, "grounding", better, lambda _, record: float(of(record)))


METRICS = {metric.name: metric for metric in (
    _answer_metric("hits@1", lambda own: float(own.right(1) > 0)),
    # Hits@1 if one of the leading answers is drawn at random
    _answer_metric("expected_hits@1", lambda own: own.right(own.leading) / own.leading if own.leading else 0.0),
    _answer_metric("mrr", lambda own: next((1 / place for place, right in enumerate(own.found, 1) if right), 0.0)),
    _answer_metric("precision", _set_precision),
    _answer_metric("recall", _set_recall),
    _answer_metric("f1", lambda found: f1(_set_precision(found), _set_recall(found))),  # of each question
    Metric("exact", "answer", "higher", _is_exact),
    Metric("wrong_yes_no", "grounding", "lower", _wrong_verdict),
    _triple_metric("triple_precision", _triple_precision),
    _triple_metric("triple_recall", _triple_recall),
    _triple_metric("triple_f1", lambda golden, own: f1(_triple_precision(golden, own), _triple_recall(golden, own))),
    _triple_metric("triple_hit@10", lambda golden, places: _triple_recall(golden, places[:10])),
    Metric("linking_recall@1", "linking", "higher", _linking_recall),
    Metric("grounded", "grounding", "higher", _is_grounded),
    # no term, no name, and no model says in words that it knows; a failed question is no abstention
    _share_metric("abstained", is_silent, ""),
    Metric("misleading", "grounding", "lower", _is_misleading),
    # a model was to help, and failed, or was not trusted
    _share_metric("without_model", attrgetter("is_without_model")),
    # a reply of a model could not be used; that there is no embedding model is how the run was made, and no fallback
    _share_metric("fallbacks", lambda record: any(purpose != _NO_EMBEDDER for purpose, _ in record.fallbacks)),
    # a limit cut something off: an item of the evidence, a list on the way, or the budget
    _share_metric("truncated", attrgetter("is_cut_short")),
    # marked as not whole: a limit, words without evidence, a doubt
    _share_metric("partial", lambda record: record.status == "partial" and not record.has_failed),
    # an error left it without an answer; where a model failed once there was evidence, the candidates are no answer
    _share_metric("failed", attrgetter("has_failed")),
    _cost_metric("model_calls"),
    _cost_metric("tokens", lambda measured: measured.prompt_tokens + measured.completion_tokens),
    *map(_cost_metric, ("queries", "seconds")),
)}  # fmt: skip
"""All metrics by name, in the order of a table."""


# -- When an answer that was given is a right one: terms by what they say, names only where there is no term ----------

# IRIs are equal code point by code point. Literals are equal by value, whatever their datatype: "1"^^xsd:integer,
# "1.0"^^xsd:decimal and "1" are one number, `true` is the boolean 1, instants are compared as such, and "1965" is a
# year too. A date is no dateTime, one with a time zone is never equal to one without, and a code with a zero before it
# is no number. Numbers are also equal that differ by less than a millionth, unless both are whole: engines divide to
# other digits. Other texts are compared in Unicode's NFC form, with their case, whatever their language. Where a side
# has only a name, names are compared: NFC, case folded, white space as one space, whole names; or the values they are.
NEAR = 1e-6  # numbers that differ by less than this share of them are the same
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,17})?")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?")


def name(text: str) -> str:
    r"""Return the key under which names are compared.

    >>> name("  Sa\u0303o   Paulo ") == name("são paulo")
    True
    """
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def identity(term: str, label: str = "") -> Hashable:
    """Return what equal terms, or names, have in common.

    :param term: in N-Triples syntax; empty for a name.

    >>> identity('"+1"^^<http://www.w3.org/2001/XMLSchema#int>')
    ('number', Decimal('1'))
    >>> identity("<http://example.org/a>")
    '<http://example.org/a>'
    """
    return _read_literal(term)[0] if term.startswith('"') else term or ("name", name(label))


class GoldAnswers:
    """Right answers of a question, indexed, so that finding one takes no time however many there are.

    >>> from kgsparql.rdf.terms import IRI
    >>> gold = GoldAnswers([GoldAnswer(IRI("http://e.org/p"), "Paris"), GoldAnswer(None, "8")])
    >>> gold.found("<http://e.org/p>"), gold.found("", "PARIS"), gold.found("", "Pari"), len(gold)
    ((0,), (0,), (), 2)
    >>> gold.found('"8"^^<http://www.w3.org/2001/XMLSchema#integer>')
    (1,)
    """

    def __init__(self, answers: Iterable[GoldAnswer]) -> None:
        given = (("" if answer.term is None else str(answer.term), answer.label) for answer in answers)
        self._distinct = list({identity(*own): own for own in reversed([*given])}.values())[::-1]
        self._by_value: dict[Hashable, list[int]] = defaultdict(list)
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for number, (term, label) in enumerate(self._distinct):
            value, own_name = _keys_of(term, label)
            self._by_value[value].append(number)
            self._by_name[own_name].append(number)

    def __len__(self) -> int:
        return len(self._distinct)

    def found(self, term: str, label: str = "") -> tuple[int, ...]:
        """Return the numbers of the right answers that a given answer is equal to; a name may be that of several.

        :param term: in N-Triples syntax; empty for an answer that is a name only.
        """
        value, own_name = _keys_of(term, label)
        called = [number for number in self._by_name.get(own_name, ()) if not (term and self._distinct[number][0])]
        found = {*self._by_value.get(value, ()), *(called if own_name else ())}
        near = (one for one in self._by_value if not found and _are_near(value, one))
        return tuple(sorted(found.union(*(self._by_value[one] for one in near))))


def _are_near(one: Hashable, other: Hashable) -> bool:
    """Tell whether two values are numbers that differ by less than a millionth, and not both whole."""
    match one, other:
        case ("number", Decimal() as x), ("number", Decimal() as y) if math.isfinite(x) and math.isfinite(y):
            return math.isclose(x, y, rel_tol=NEAR) and not (x == round(x) and y == round(y))
    return False


def _keys_of(term: str, label: str) -> tuple[Hashable, str]:
    """Return what an answer is, and what it is called; what a name is, is the value that it may be."""
    if term.startswith('"'):
        value, text = _read_literal(term)
        return value, name(text)
    return term or (_value_of(label) if label else None), name(label)


@lru_cache(maxsize=1 << 16)
def _read_literal(term: str) -> tuple[Hashable, str]:
    """Read the value and the text of a literal in N-Triples syntax; a text that is none is equal only to itself."""
    try:
        literal = parse_term(term)
    except InputError:
        literal = None
    if not isinstance(literal, Literal):
        return ("no literal", term), ""
    return _value_of(literal.value, is_boolean=literal.datatype.value == f"{XSD}boolean"), literal.value


def _value_of(text: str, *, is_boolean: bool = False) -> tuple[str, Hashable]:
    """Return the value that a text says: a truth, a number of any size and never rounded, an instant, or the text.

    >>> _value_of("+1.50") == _value_of("15e-1"), _value_of("007"), _value_of("1e")
    (True, ('text', '007'), ('text', '1e'))
    >>> _value_of("2000-01-01T00:00:00Z") == _value_of("1999-12-31T19:00:00.0-05:00"), _value_of("2020-02-31")
    (True, ('text', '2020-02-31'))
    """
    bare = text.strip(" \t\r\n")
    if bare in {"true", "false"} or (is_boolean and bare in {"1", "0"}):
        return "boolean", bare in {"true", "1"}
    if _NUMBER.fullmatch(bare):
        return "number", Decimal(bare)
    if found := _DATE.fullmatch(bare):
        day, time, zone = found.groups()
        try:
            return "dateTime" if time else "date", datetime.fromisoformat(f"{day}{time or 'T00:00:00'}{zone or ''}")
        except ValueError:  # a day of no calendar
            pass
    return "text", unicodedata.normalize("NFC", text)
