"""When an answer that was given is a right one."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from kgsparql.evaluation.dataset import GoldAnswer
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.rdf.terms import IRI, Literal
from tests.world import XSD


def term(text: str, kind: str = "") -> Literal:
    """A literal: plain, of a datatype of XSD, or ``@en``."""
    if kind.startswith("@"):
        return Literal(text, language=kind[1:])
    return Literal(text, datatype=IRI(XSD + (kind or "string")))


def literal(text: str, kind: str = "") -> str:
    return str(term(text, kind))


def gold_of(text: str, kind: str = "") -> GoldAnswer:
    return GoldAnswer(term(text, kind), text)


def is_right(gold: GoldAnswer, given: str, label: str = "") -> bool:
    return bool(GoldAnswers([gold]).found(given, label))


EQUAL = [
    (("1", "integer"), ("1.0", "decimal")), (("0.1", "decimal"), ("0.1", "double")),
    (("1e400", "double"), ("INF", "double")), (("NaN", "double"), ("NaN", "float")),
    (("123456789012345678901234567890.5", "decimal"), ("0123456789012345678901234567890.50", "decimal")),
    (("true", "boolean"), ("1", "boolean")),
    (("1999-12-31T23:00:00-01:00", "dateTime"), ("2000-01-01T00:00:00Z", "dateTimeStamp")),
    (("2000-01-01Z", "date"), ("2000-01-01+00:00", "date")), (("8", ""), ("8", "integer")),
    (("8", ""), ("+8.0", "decimal")), (("true", ""), ("1", "boolean")), (("1965", ""), ("1965", "gYear")),
    (("1965", ""), ("1965", "integer")), (("1965-01-02", ""), ("1965-01-02", "date")),
    (("P1D", ""), ("P1D", "duration")), (("abc", ""), ("abc", "integer")), (("chat", "@fr"), ("chat", "")),
    (("chat", "@EN"), ("chat", "@en")),
    (("São", ""), (unicodedata.normalize("NFD", "São"), "")),
]  # fmt: skip

DIFFERENT = [
    (("1", "integer"), ("2", "integer")), (("1.0", ""), ("1", "")),
    (("0.1", "decimal"), ("0.10000000000000001", "decimal")), (("1965", "gYear"), ("1965", "integer")),
    (("1965-01-01", "date"), ("1965-01-01T00:00:00", "dateTime")), (("2000-01-01", "date"), ("2000-01-01Z", "date")),
    (("2020-02-31", "date"), ("2020-03-02", "date")), (("chat", "@fr"), ("chat", "@en")),
    (("Paris", ""), ("paris", "")), (("abc", "integer"), ("abd", "integer")), (("1", "boolean"), ("1", "integer")),
    (("INF", "double"), ("-INF", "double")),
]  # fmt: skip


def test_literals_are_equal_by_value_whichever_is_the_right_answer() -> None:
    for rows, are_equal in ((EQUAL, True), (DIFFERENT, False)):
        for one, other in rows:
            assert is_right(gold_of(*one), literal(*other)) is are_equal, (one, other)
            assert is_right(gold_of(*other), literal(*one)) is are_equal, (one, other)


ODD = ("1e999999999999999999999", "9" * 5000, "", "99999999999-01-01", "٣", "--1", "1_000", "0x10", "\u0000", "1e", ".")


def test_a_literal_of_any_shape_is_equal_to_itself_and_to_no_other() -> None:
    for kind in ("integer", "decimal", "double", "boolean", "date", "gYear", "duration", "", "@en"):
        for text in ODD:
            assert is_right(gold_of(text, kind), literal(text, kind)), text
            assert not is_right(gold_of(text, kind), literal("7", kind)), text


def test_iris_are_equal_by_their_characters_whatever_they_are_called() -> None:
    composed, decomposed = "http://example.org/é", "http://example.org/e\u0301"
    assert is_right(GoldAnswer(IRI(composed), "é"), f"<{composed}>")
    assert not is_right(GoldAnswer(IRI(composed), "é"), f"<{decomposed}>", "é")
    for other in ("A", "%61", "a_TX"):
        assert not is_right(GoldAnswer(IRI("http://example.org/a"), "a"), f"<http://example.org/{other}>", "a")


def test_a_name_is_compared_with_the_name_of_the_right_answer() -> None:
    paris = GoldAnswer(IRI("http://example.org/p"), "Paris")
    assert is_right(paris, "", "  PARIS ")
    assert not is_right(paris, "", "a")
    assert not is_right(paris, "", "Paris, France")
    assert not is_right(paris, "", "")
    assert not is_right(GoldAnswer(IRI("http://example.org/p"), ""), "", "")
    assert is_right(gold_of("8", "integer"), "", "8")
    assert is_right(gold_of("8", "integer"), "", "8.0")
    assert is_right(gold_of("Straße"), "", "STRASSE")


def test_a_right_answer_that_is_a_name_is_compared_with_the_name_of_what_was_given() -> None:
    paris = GoldAnswer(None, "Paris")
    assert is_right(paris, "<http://example.org/p>", "paris")
    assert not is_right(paris, "<http://example.org/Paris>", "Paris, Texas")
    assert is_right(paris, literal("Paris", "@fr"), "another label")
    assert is_right(GoldAnswer(None, "8"), literal("8.0", "decimal"))
    assert is_right(GoldAnswer(None, "sa\u0303o  paulo"), "_:b0", "São Paulo")


def test_one_name_may_be_that_of_several_right_answers_and_duplicates_count_once() -> None:
    twins = [GoldAnswer(IRI(f"http://example.org/{i}"), "Ann") for i in range(3)]
    gold = GoldAnswers([*twins, *twins])
    assert len(gold) == 3
    assert gold.found("", "ann") == (0, 1, 2)
    assert gold.found("<http://example.org/1>", "Ann") == (1,)
    numbers = GoldAnswers([gold_of("1", "integer"), gold_of("1.0", "decimal"), gold_of("2", "integer")])
    assert len(numbers) == 2
    assert numbers.found(literal("2", "double")) == (1,)


def test_what_is_no_term_is_equal_to_nothing() -> None:
    assert not is_right(gold_of("Paris"), '"Paris', "Paris")
    assert not is_right(GoldAnswer(None, ""), '"Paris', "")
    assert not is_right(gold_of(""), '"Paris', "")


@given(st.integers(), st.integers(min_value=0, max_value=30))
def test_a_number_is_the_same_however_it_is_written(digits: int, power: int) -> None:
    whole = literal(str(digits * 10**power), "integer")
    assert is_right(gold_of(f"{digits}E{power}"), whole)
    assert is_right(gold_of(f"{digits}{'0' * power}.000", "decimal"), whole)
    assert not is_right(gold_of(f"{digits + 1}E{power}"), whole)


@given(st.integers(-30_000_000_000, 250_000_000_000), st.integers(min_value=-14 * 60, max_value=14 * 60))
def test_an_instant_is_the_same_in_every_time_zone(seconds: int, minutes: int) -> None:
    in_utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    there = in_utc.astimezone(timezone(timedelta(minutes=minutes)))
    later = in_utc + timedelta(seconds=1)
    assert is_right(gold_of(in_utc.isoformat(), "dateTime"), literal(there.isoformat(), "dateTime"))
    assert not is_right(gold_of(later.isoformat(), "dateTime"), literal(there.isoformat(), "dateTime"))
