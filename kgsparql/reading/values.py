"""Values that words of a question say: ``10,000``, ``two dozen``, ``5 kg``, ``14 March 1879``, ``1900 to 1910``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from kgsparql.linking.words import TextToken, codes_in, is_never_number
from kgsparql.rdf.literals import converted
from kgsparql.rdf.terms import IRI, XSD, Literal, first_of
from kgsparql.reading.clauses import Chunk
from kgsparql.reading.gaps import Gap, may_mean, uncomputed
from kgsparql.reading.lexicon import lexicon

_YEAR = 4  # digits
_DIGITS = 18  # before and after the decimal sign; Oxigraph has no more
_HUNDRED = 100
_TIME = r"T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?"
_NUMERIC_DATE = re.compile(
    rf"(?<![\w./-])(?:(?P<iso>\d{{4}}-(?:\d\d-\d\d(?P<time>{_TIME})?|(?:0[1-9]|1[0-2])(?!-)))"
    r"|(?P<one>\d{1,2})(?P<sign>[./-])(?P<two>\d{1,2})(?P=sign)(?P<year>\d{4}))(?![\w/-]|\.\d)",
    re.IGNORECASE,
)

_TIME_OF_DAY = (
    r"(?<![\w.:])(?P<hour>\d\d?)(?::(?P<minute>[0-5]\d)(?P<second>:[0-5]\d)?)?(?:\s?(?P<part>{})\b)?(?![\w:])"
)

_NUMBER = re.compile(
    r"(?<![\w,.])(?P<minus>[-−])?(?P<before>[$€£])?(?P<whole>\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?!\d)|\d+)"
    r"(?:\.(?P<part>\d+))?(?P<power>[eE][+-]?\d+)?(?P<behind>[^\W\d_]*)(?!\w|[,.]\d)"
)
"""A number in digits, with what is written right before and behind it."""


class ValueFinder:
    """Finds the values in the words of one question."""

    def __init__(self, question: str, tokens: Sequence[TextToken], texts: Sequence[str], gaps: Sequence[str]) -> None:
        self.question, self.tokens, self.texts, self.gaps, self.language = question, tokens, texts, gaps, lexicon()
        self.in_digits: dict[int, tuple[int, re.Match[str]]] = {}
        codes = [place for place in codes_in(question) if is_never_number(question[slice(*place)])]
        for found in _NUMBER.finditer(question):
            is_in_code = any(start < found.end() and found.start() < end for start, end in codes)
            if not is_in_code and (span := self._span_of_match(found)):
                self.in_digits[span.start] = span.stop, found

    def _span_of_match(self, found: re.Match[str]) -> range:
        """Return the positions of the words of a match; none where it begins or ends within a word."""
        first = found.start() + len(found.groupdict().get("minus") or "")
        own = [at for at, token in enumerate(self.tokens) if first <= token.start and token.end <= found.end()]
        is_whole = own and (self.tokens[own[0]].start, self.tokens[own[-1]].end) == (first, found.end())
        return range(own[0], own[-1] + 1) if is_whole else range(0)

    def _chunk_of(self, start: int, end: int, **value: object) -> Chunk:
        text = self.question[self.tokens[start].start : self.tokens[end - 1].end]
        return replace(Chunk(start, end, text), **value)  # type: ignore[arg-type]

    # --- Dates

    def dates(self) -> Iterator[Chunk]:
        """Find days, months of a year, and times, which are no names."""
        for found in _NUMERIC_DATE.finditer(self.question):
            if span := self._span_of_match(found):
                value, problem = self._date_in_digits(found)
                yield self._chunk_of(span.start, span.stop, is_strong=True, date=value, problem=problem)
        parts = self.language.day_parts
        for found in re.finditer(_TIME_OF_DAY.format("|".join(parts)), self.question, re.IGNORECASE):
            hour = int(found["hour"])
            hour = hour % 12 + parts[found["part"].lower()] if found["part"] else hour
            if (found["minute"] or found["part"]) and hour < 24 and (span := self._span_of_match(found)):
                time = f"{hour:02}:{found['minute'] or '00'}{found['second'] or ':00'}"
                date = Literal(time, datatype=IRI(f"{XSD}time"))
                yield self._chunk_of(span.start, span.stop, is_strong=True, date=date)
        for at in range(len(self.texts)):
            if (said := date_at(self.texts, at)) is not None:
                chunk = self._chunk_of(at, at + said[1], is_strong=True, date=said[0])
                yield chunk if chunk.date else replace(chunk, problem=uncomputed(chunk.text))

    def _date_in_digits(self, found: re.Match[str]) -> tuple[Literal | None, Gap | None]:
        """Read a date in digits, and what is to be doubted of it: which number is the day, where both may be."""
        if found["iso"] is not None:
            texts = [re.sub(r"(?<=T\d\d:\d\d)(?!:)", ":00", found["iso"].upper())]
        else:
            one, two = f"{found['one']:0>2}", f"{found['two']:0>2}"
            texts = [f"{found['year']}-{two}-{one}", f"{found['year']}-{one}-{two}"]
            order = self.language.date_orders.get(found["sign"], "")
            texts = {"day": texts[:1], "month": texts[1:]}.get(order, texts)
        known = list(dict.fromkeys(own for text in texts if (own := _date_of_match(text)) is not None))
        doubt = may_mean(found[0], *(own.value for own in known)) if known else uncomputed(found[0])
        return first_of(known), doubt if len(known) != 1 else None

    # --- Numbers

    def numbers(self, taken: set[int]) -> Iterator[Chunk]:
        """Find numbers, in digits and in words, decades and centuries.

        :param taken: positions of words that are no units.
        """
        at = 0
        while at < len(self.texts):
            found = self._period_at(at) or self._number_at(at, taken)
            if found is not None:
                yield found
            at = at + 1 if found is None else found.end

    def _period_at(self, at: int) -> Chunk | None:
        """Read the years of ``1920s``, ``19th century``."""
        text, own = self.texts[at], self.language
        decade = text.removesuffix(own.decade_ending)
        if decade != text and len(decade) == _YEAR and decade.isdecimal():
            first, end, years = int(decade), at + 1, 10
        elif not own.century_words.isdisjoint(self.texts[at + 1 : at + 2]):
            number = own.day_number(text)
            century = own.ordinals.get(text, int(number) if number.isdecimal() and len(number) < 3 else 0)
            first, end, years = (century - 1) * _HUNDRED + 1, at + 2, _HUNDRED if century else 0
        else:
            return None
        made = self._chunk_of(at, end, number=Decimal(first), last=Decimal(first + years - 1), is_strong=True)
        if years == 10 and first % _HUNDRED == 0:
            made = replace(made, problem=may_mean(made.text, f"until {first + 9}", f"until {first + 99}"))
        return made if years else None

    def _number_at(self, start: int, taken: set[int]) -> Chunk | None:
        """Read a number with its unit: ``10``, ``4.9``, ``-3``, ``1.5 million``, ``twenty-five``, ``5 kg``."""
        texts, own, unit = self.texts, self.language, ""
        number, end = self._spoken_at(start)
        if start in self.in_digits:
            end, found = self.in_digits[start]
            unit = own.units.get((found["before"] or found["behind"]).lower(), "")
            if found["behind"] and not unit:
                return None
            minus, whole = "-" * bool(found["minus"]), re.sub(r"\D", "", found["whole"])
            number = Decimal(f"{minus}{whole}.{found['part'] or 0}{(found['power'] or '')[:6]}")
            while end < len(texts) and texts[end] in own.multipliers:
                number, end = number * own.multipliers[texts[end]], end + 1
        if number is None:
            return None
        is_beside = end < len(texts) and end not in taken and self.gaps[end - 1].isspace()
        of_one = f"{texts[end]}s" if is_beside and number == 1 else ""  # 1 year; alone, that is no unit
        if not unit and is_beside and (named := own.units.get(texts[end]) or own.units.get(of_one)):
            unit, end = named, end + 1
        chunk = self._chunk_of(start, end, unit=unit)
        exponent = number.as_tuple().exponent
        is_long = not isinstance(exponent, int) or number.adjusted() >= _DIGITS or exponent < -_DIGITS
        if is_long:
            return replace(chunk, is_strong=True, problem=uncomputed(chunk.text))
        return replace(chunk, number=number)

    def _spoken_at(self, start: int) -> tuple[Decimal | None, int]:
        """Read a number in words: ``five``, ``twenty-five``, ``three hundred and two``, ``half a million``."""
        texts, own = self.texts, self.language
        at, total, group = start, Decimal(0), Decimal(0)
        text, behind, after = (*texts[at : at + 3], "", "")[:3]
        is_compared = 0 < at < len(texts) - 1 and texts[at - 1] in own.than_words
        if text in own.half_words and behind in own.indefinites:
            at, group = (at + 2, Decimal("0.5")) if after in own.multipliers or after in own.units else (at, group)
        elif text in own.indefinites and behind in own.multipliers:
            at, group = at + 1, Decimal(1)
        elif text in own.indefinites and is_compared and own.units.keys() & {behind, f"{behind}s"}:
            return Decimal(1), at + 1  # than a tonne
        elif text in own.indefinites and is_compared and behind in own.single_words:
            return Decimal(1), at + 2
        while at < len(texts):
            number, times = own.numbers.get(texts[at]), own.multipliers.get(texts[at])
            is_and = texts[at] in own.and_words and group % _HUNDRED == 0 and group > 0
            if number is not None and (group == 0 or (group % 10 == 0 and number < (10 if group % _HUNDRED else 100))):
                group += number
            elif times == _HUNDRED and group:
                group *= times
            elif times is not None and group:
                total, group = total + group * times, Decimal(0)
            elif not is_and or own.numbers.keys().isdisjoint(texts[at + 1 : at + 2]):
                break
            at += 1
        is_word = at == start or (at == start + 1 and not self._is_counting(start, at))
        return (None if is_word else total + group), max(at, start + 1)

    def is_compared(self, start: int) -> bool:
        """Tell whether words such as ``more than``, ``at least``, ``between`` stand before a position."""
        own, before = self.language, self.texts[max(0, start - 4) : start]
        phrases = {" ".join(before[at:]) for at in range(len(before))}
        return not phrases.isdisjoint(own.than_words | own.between_words | own.bounds.keys())

    def _is_counting(self, start: int, end: int) -> bool:
        """Tell whether a word counts what follows, or is compared with: ``one`` may be a pronoun."""
        own, after = self.language, self.texts[end : end + 1]
        is_counting = bool(after) and after[0] not in own.function_words - own.or_words - own.distinct_words
        is_after = start > 0 and self.texts[start - 1] in own.prepositions | own.be_forms | own.range_words
        is_first = self.texts[start - 1] in own.between_words and bool(own.range_words & {*after})  # one of one and two
        is_number = is_first or self.texts[start] not in own.dummies
        return is_counting or ((is_after or self.is_compared(start)) and is_number)

    # --- Ranges

    def ranges(self, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
        """Join two values into one: ``1900 to 1910``, ``1914-18``, and between two of them, ``5 and 10 kg``."""
        own = self.language
        for one, other in itertools.pairwise(chunks):
            before = [text for text in self.texts[: one.start] if text not in own.determiners][-1:]
            joint = [text for text in self.texts[one.end : other.start] if text not in own.determiners]
            is_between = not own.between_words.isdisjoint(before)
            is_joined = len(joint) == 1 and joint[0] in own.range_words - (frozenset() if is_between else own.and_words)
            is_dashed = not joint and self.gaps[one.end - 1].strip() in {"-", "–"}
            are_values = one.is_value and other.is_value and not (one.entities or other.entities)
            if are_values and (is_joined or is_dashed):
                yield self._range_at(one, other)

    def _range_at(self, one: Chunk, other: Chunk) -> Chunk:
        unit = other.unit or one.unit
        first = one.date if one.number is None else converted(one.number, one.unit or unit, unit)
        last = next(end for end in (other.last, other.number, other.date) if end is not None)
        if isinstance(first, Decimal) and isinstance(last, Decimal) and len(one.text) == _YEAR and last < _HUNDRED:
            last += first // _HUNDRED * _HUNDRED  # 1914-18
        made = self._chunk_of(one.start, other.end, is_strong=True, unit=unit)
        if first is None or _order_key(first) > _order_key(last):
            return replace(made, problem=uncomputed(made.text))
        number, day = (first, None) if isinstance(first, Decimal) else (None, first)
        return replace(made, number=number, date=day, last=last, problem=one.problem or other.problem)


def _order_key(value: Decimal | Literal) -> tuple[Decimal, str]:
    """Return what numbers, years and dates are ordered by."""
    if isinstance(value, Decimal):
        return value, ""
    year, rest = value.value[:_YEAR], value.value[_YEAR:]
    return (Decimal(year), rest) if year.isdecimal() else (Decimal(), value.value)


def date_at(words: Sequence[str], at: int) -> tuple[Literal | None, int] | None:
    """Return the date with a month's name that begins at a word, and how many words say it; None where none does.

    >>> date_at("born on 14 march 1879".split(), 2)[0].value
    '1879-03-14'
    >>> date_at("in march 1879".split(), 1)[0].value
    '1879-03'
    >>> date_at("the 14th of march 1879".split(), 1)[1], date_at("31 april 1900".split(), 0)
    (4, (None, 3))
    """
    said, language = list(words[at : at + 4]), lexicon()
    has_of = said[1:2] != [] and said[1] in language.of_words
    one, two, three = [*([said[0], *said[2:]] if has_of else said), "", "", ""][:3]
    for day, month, year in ((one, two, three), (two, one, three), (three, two, one), ("", one, two)):
        if month in language.months and year.isdecimal() and len(year) == _YEAR:
            known = language.day_number(day)
            text = f"{year}-{language.months[month]:02}"
            if known.isdecimal() and len(known) < 3:
                return _date_of_match(f"{text}-{known:0>2}"), 3 + has_of
            if not (day or has_of):
                return _date_of_match(text), 2
    return None


def _date_of_match(text: str) -> Literal | None:
    """Return a day, a month of a year or a time; None where there is none, as the 31st of April."""
    try:
        datetime.fromisoformat(f"{text}-01" if len(text) == len("1990-05") else text)
    except ValueError:
        return None
    kind = {len("1990-05"): "gYearMonth", len("1990-05-13"): "date"}.get(len(text), "dateTime")
    return Literal(text, datatype=IRI(XSD + kind))
