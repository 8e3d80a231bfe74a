"""What a plan leaves out of the values that it measures, in words."""

from __future__ import annotations

import re

from kgsparql.dataclasses import frozen
from kgsparql.plans import algebra as a
from kgsparql.plans.type_check import UNITS
from kgsparql.plans.writing import Label, Writer
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import Literal, Term, printable

MOST_LEFT_OUT = 1_000  # values that are left out, and counted
_BEGINS_AS_NUMBER = re.compile("[-+]?[0-9]")
LEFT_OUT_SENTENCES = {
    "number": "{} of the values of {} cannot be read as a number, such as {!r}, and are left out",
    "unit": "{} of the values of {} are in no unit that can be converted, such as {!r}, and are left out",
    "date": "{} of the values of {} cannot be read as a date, such as {!r}, and are left out",
    "time": "{} of the values of {} cannot be read as a time, such as {!r}, and are left out",
    "duration": "{} of the values of {} cannot be compared as durations with the others, such as {!r}",
    "coarse": "{} of the values of {} are less precise than what is asked, such as {!r}",
    "zero": "{} of the items have a {} of 0 to be divided by, such as {}, and are left out",
}


@frozen
class LeftOut:
    """Values that cannot be read as what they should be, or items that would be divided by zero.

    :param measure: whose values they are, or what is 0. :param is_coarse: they are read, and less precise than needed.
    :param number: how many, counted up to :data:`MOST_LEFT_OUT`.
    :param example: a value, or an item that would be divided by zero.
    """

    measure: a.Measure | a.Number
    number: int
    example: Term
    is_coarse: bool = False

    def in_words(self, label: Label) -> str:
        """What was left out, as a sentence.

        >>> from kgsparql.rdf.paths import PropertyPath
        >>> length = a.Value(PropertyPath.of("http://e.org/length"))
        >>> LeftOut(length, 3, Literal("20 m")).in_words(lambda term: "length")
        "3 of the values of length cannot be read as a number, such as '20 m', and are left out"
        """
        sentence, *values = self.sentence(label)
        return sentence.format(*values)

    def sentence(self, label: Label) -> tuple[str, ...]:
        """The sentence with places for the values, which it is followed by."""
        of, amount = Writer(label).said(self.measure), f"{self.number:,}{'+' * (self.number == MOST_LEFT_OUT)}"
        if not isinstance(self.example, Literal):
            return LEFT_OUT_SENTENCES["zero"], amount, of, printable(label(self.example), 80)
        kind: str = "coarse" if self.is_coarse else self.measure.kind if isinstance(self.measure, a.Value) else "date"
        value = printable(value_text(self.example), 80)
        if (
            kind == "number"
            and isinstance(self.measure, a.Value)
            and self.measure.unit
            and _BEGINS_AS_NUMBER.match(self.example.value)
        ):
            kind = "unit"
        sentence = LEFT_OUT_SENTENCES["duration"] if kind in UNITS else LEFT_OUT_SENTENCES.get(kind)
        return sentence or LEFT_OUT_SENTENCES["date"], amount, of, value
