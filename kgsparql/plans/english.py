"""Sets of items as noun phrases: a head, what is true of them, and what is left out; and the rules that say them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.english_forms import Relation, bare, folded, many, marked, one, singular
from kgsparql.rdf.terms import grouped
from kgsparql.resources import packaged_text

_BEGINNINGS = ("whose ", "that ", "with ", "without ", "where ", "either ")
"""How a clause begins that may stand behind another one."""
_HEADS = ("names", "theirs", "class", "ends", "best", "they", "those")
"""Kinds of phrases, those first that say best what the items of several sets are."""
_NOT_BACK = " (not counting themselves)"
_NAMED_KINDS = 4
"""Classes with one last word, as kinds of sensors, of which each is named; of more, only how many."""


@cache
def _rules() -> Mapping[str, Sequence[tuple[frozenset[str], str]]]:
    found = re.findall(r"(?m)^(\w+)(.*?): ?(.*)$", packaged_text("plans/english.txt"))
    return grouped((name, (frozenset(features.split()), text)) for name, features, text in found)


_FORMS: Mapping[str, Callable[[str], str]] = {
    "": str, "many": many, "one": singular, "a": one, "bare": bare,
    "rest": lambda text: text.partition(" ")[2],
}  # fmt: skip


class _Words(str):
    """Words in a sentence, written in a form: ``{text:many}``."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        return _FORMS[form](self)


class _Saying(dict[str, Any]):
    """What may stand in the places of a rule: what is told, or other rules."""

    def __init__(self, features: set[str], told: Sequence[object]) -> None:
        super().__init__()
        self.features, self.told = features, told

    def __missing__(self, name: str) -> Any:
        if name in _rules():
            found = next(text for needed, text in _rules()[name] if needed <= self.features).format_map(self)
        else:
            found = next(getattr(one, name) for one in self.told if hasattr(one, name))
        return _Words(found) if isinstance(found, str) else found


def say(rule: str, features: set[str], *of: object, **values: object) -> str:
    """Say something by a rule.

    :param of: what has attributes that the rule asks for.

    >>> say("best", {"time", "summary=max"}), say("amount", {"comparison=>="}, n="5")
    ('latest', '5 or more')
    """
    return str(_Saying(features, (SimpleNamespace(**values), *of))[rule])


@frozen
class Clause:
    """What is true of items, such as *whose nationality is Germany*.

    :param is_open: it ends with a phrase that has clauses of its own, so that what follows must stand apart.
    :param is_choice: it holds an *or*.
    """

    text: str
    is_open: bool = False
    is_choice: bool = False


@frozen
class Phrase:
    """Some items in words, written in a case: ``f"{phrase:owner}"`` stands after *of*.

    :param single: the head for one of them; ``plural`` for several.
    :param kind: ``class``: all of a class; ``those``: nothing but the clauses says what they are; ``names``: they are
        named one by one; ``ends``: what something leads to; ``best``: with its article; ``they``: what the sentence is
        about, ``theirs``: what that leads to; ``anything``: whatever there is; ``said``, ``yes`` and ``no``: what is
        said of a value.
    :param is_one: it is one thing, or what one thing leads to: *the capital of France*.
    :param is_open: the head ends with a phrase that has clauses of its own.
    :param exceptions: what is left out.
    """

    single: str
    plural: str
    kind: str
    clauses: tuple[Clause, ...] = ()
    exceptions: tuple[str, ...] = ()
    is_one: bool = False
    is_open: bool = False

    def __format__(self, case: str) -> str:
        return say(case or "all", self.features, self)

    def with_clause(self, clause: Clause) -> Phrase:
        """The same items, of which something more is true."""
        return replace(self, clauses=(*self.clauses, clause))

    def without(self, text: str) -> Phrase:
        """The same items but for some."""
        return replace(self, exceptions=(*self.exceptions, text))

    @property
    def is_plain(self) -> bool:
        """Whether nothing is said of the head."""
        return not (self.clauses or self.exceptions)

    @property
    def needs_room(self) -> bool:
        """Whether what follows must stand apart."""
        return self.is_open or not self.is_plain

    @property
    def features(self) -> set[str]:
        """What rules ask of it; a verb after it is in the singular only where it is surely one thing."""
        is_singular = self.is_one and self.kind != "ends"
        return {self.kind} | marked(
            plain=self.is_plain, clauses=self.clauses, exceptions=self.exceptions, one=self.is_one,
            singular=is_singular, many=not is_singular, closed=not self.is_open,
        )  # fmt: skip

    @property
    def said(self) -> str:
        """Its clauses, with a space before them: short ones first, those that end with a phrase of their own last."""
        clauses = sorted(self.clauses, key=lambda clause: (clause.is_open, clause.text.startswith(("whose ", "that "))))
        text = ""
        for i, clause in enumerate(clauses):
            own = f"either {clause.text}" if clause.is_choice and len(clauses) > 1 else clause.text
            text += f"{',' * clauses[i - 1].is_open} and {behind(own)}" if i else f" {own}"
        return text

    @property
    def tail(self) -> str:
        """What is said of the head, with a space or a comma before it."""
        said = self.said
        if said and (self.is_open or self.kind in {"names", "best"}):
            said = f", but only {'if one of ' * self.is_one}those{said}"
        return said + "".join(map(", except {}".format, self.exceptions))

    @property
    def left_out(self) -> str:
        """What is left out, as a choice."""
        return listed(self.exceptions, "or")


THEY, THOSE = Phrase("them", "them", "they"), Phrase("one", "those", "those")
"""What the sentence is about, and items of which nothing is said yet."""
ANYTHING = Phrase("something", "something", "anything", is_one=True)


_MOST_NAMED, _FIRST_NAMED = 10, 3


def names(labels: Sequence[str]) -> Phrase:
    """Items by their names, of many by the first ones.

    >>> f"{names(['Ann', 'Bob'])}", f"{names(['Ann', 'Bob']):one_of}"
    ('Ann and Bob', 'Ann or Bob')
    """
    if len(labels) > _MOST_NAMED:
        labels = [*labels[:_FIRST_NAMED], f"{len(labels) - _FIRST_NAMED:,} more"]
    return Phrase(listed(labels, "or"), listed(labels), "names", is_one=len(labels) == 1)


def of_class(label: str) -> Phrase:
    """All of a class."""
    return Phrase(label, many(label), "class")


def reached(start: Phrase, step: Relation) -> Phrase:
    """What a step leads to from items; others than these, where it leads back.

    >>> f"{reached(names(['Ann']), Relation('verb', 'worked at', is_inverse=True, is_back=True))}"
    'others that worked at Ann'
    """
    found = ends(start, step)
    if not step.is_back:
        return found
    if found.kind == "those":
        return replace(found, single="other one", plural="others", kind="ends")
    return replace(found, single=f"other {found.single}", plural=f"other {found.plural}")


def ends(start: Phrase, step: Relation) -> Phrase:
    """What a step leads to from items.

    >>> f"{ends(names(['France']), Relation('noun', 'capital')):in_number}"
    'capital of France'
    >>> f"{ends(of_class('person'), Relation('noun', 'capital', is_inverse=True))}"
    'those whose capital is a person'
    """
    is_noun = step.is_noun
    if step.is_inverse or not (is_noun or step.thing):
        return THOSE.with_clause(condition(step.reversed, start))
    features, head_noun = step.features | start.features, step.text if is_noun else step.thing
    single, plural = (say("ends", features, step, start=start, head=own) for own in (head_noun, many(head_noun)))
    kind = "theirs" if is_noun and start.kind == "they" else "ends"
    is_one = is_noun and "singular" in start.features
    is_open = not is_noun or start.kind not in {"names", "they"} or start.needs_room
    return Phrase(single, plural, kind, is_one=is_one, is_open=is_open)


def condition(step: Relation, end: Phrase) -> Clause:
    """What is true of the items that a step leads from to an end.

    >>> germany = names(["Germany"])
    >>> condition(Relation("noun", "nationality"), germany).text
    'whose nationality is Germany'
    >>> condition(Relation("passive", "located in"), germany).text, condition(Relation("quoted", "x"), germany).text
    ('located in Germany', "that have Germany as 'x'")
    >>> condition(Relation("noun", "capital", is_inverse=True), germany).text
    'that are capitals of Germany'
    """
    led = ends(end, step.reversed) if step.is_inverse and (step.form == "noun" or step.thing) else end
    return Clause(say("clause", step.features | end.features, step, end=end, led=led), is_open=end.needs_room)


def leads(steps: Sequence[Relation], end: Phrase) -> Clause:
    """What is true of the items from which some steps lead to an end; nouns in a row are owned by each other.

    >>> leads([Relation("noun", "author"), Relation("noun", "age")], Phrase("is 5", "is 5", "said")).text
    "whose author's age is 5"
    """
    first, *rest = folded(steps)
    is_another = end.kind == "anything" and steps[-1].is_noun
    is_back = any(step.is_back for step in steps) and not is_another
    for step in reversed(rest):
        end = ends(end, step.reversed)
    clause = condition(first, end)
    return replace(clause, text=clause.text + _NOT_BACK) if is_back else clause


def lacking(items: Phrase, steps: Sequence[Relation], end: Phrase) -> Phrase:
    """The items from which some steps do not lead to an end."""
    features = steps[0].features | end.features | marked(far=len(steps) > 1)
    if text := say("lacks", features, steps[0], end=end):
        return items.with_clause(Clause(text, is_open=end.needs_room))
    return items.without(f"{THOSE.with_clause(leads(steps, end))}")


def minus(items: Phrase, others: Phrase) -> Phrase:
    """Items without others; those of the same class are *those*."""
    is_same = others.kind == items.kind == "class" and others.single == items.single and not others.is_plain
    return items.without(f"those{others.tail}" if is_same else f"{others:in_number}")


def both(phrases: Sequence[Phrase]) -> Phrase:
    """The items that are in all of some sets: one head, with the clauses of all.

    >>> person, german = of_class("person"), THOSE.with_clause(Clause("whose nationality is Germany"))
    >>> f"{both([german, person])}", f"{both([person, of_class('saint')])}"
    ('people whose nationality is Germany', 'people that are also saints')
    """
    head, *others = sorted(phrases, key=lambda phrase: _HEADS.index(phrase.kind))
    for other in others:
        if other.kind == "those" or (other.kind == "class" and other.single == head.single):
            clauses, exceptions = (*head.clauses, *other.clauses), (*head.exceptions, *other.exceptions)
            head = replace(head, clauses=clauses, exceptions=exceptions)
        else:
            also = "" if head.kind == "names" else "also "
            head = head.with_clause(Clause(f"that are {also}{other}", is_open=other.needs_room))
    return head


def either(phrases: Sequence[Phrase]) -> Phrase:
    """The items that are in any of some sets.

    >>> f"{either([of_class('saint'), of_class('poet')])}"
    'saints or poets'
    """
    texts = [f"{phrase:in_number}" for phrase in phrases]
    clauses = [own for phrase in phrases for own in phrase.clauses]
    heads = {replace(phrase, clauses=()) for phrase in phrases if len(phrase.clauses) == 1 and not phrase.is_open}
    if len(heads) == 1 and len(clauses) == len(phrases) and not phrases[0].exceptions:
        said = " or ".join(behind(own.text) if i else own.text for i, own in enumerate(clauses))
        return heads.pop().with_clause(Clause(said, any(own.is_open for own in clauses), is_choice=True))
    last = {text.split()[-1].removesuffix("s").lower() for text in texts}
    text = f"{',' * any(not own.is_plain for own in phrases)} or ".join(texts)
    if len(last) == 1 and all(own.kind == "class" for own in phrases):
        if plain := [own for own in phrases if " " not in own.plural]:
            return plain[-1]  # bridge ontologies are ontologies
        text = f"{last.pop()}s of {len(phrases)} kinds" if len(phrases) > _NAMED_KINDS else text
    return Phrase(text, text, "best")


def behind(text: str) -> str:
    """A clause behind another one.

    >>> behind("directed by Ann"), behind("whose author is Ann")
    ('that are directed by Ann', 'whose author is Ann')
    """
    return text if text.startswith(_BEGINNINGS) else f"that are {text}"


def listed(some: Sequence[str], word: str = "and") -> str:
    """Texts in a row, with a word before the last.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} {word} {some[-1]}"
