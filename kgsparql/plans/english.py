"""Sets of items as noun phrases: a head, what is true of them, and what is left out; and the rules that say them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass, replace
from kgsparql.plans.relations import Relation, folded, many, one

_BEGINNINGS = ("whose ", "that ", "with ", "without ", "where ", "either ")
"""How a clause begins that may stand behind another one."""
_HEADS = ("names", "theirs", "class", "ends", "best", "they", "those")
"""Kinds of phrases, those first that say best what the items of several sets are."""
_NOT_BACK = " (not counting themselves)"
_NAMED_KINDS = 4
"""Classes with one last word, as kinds of sensors, of which each is named; of more, only how many."""


@cache
def _rules() -> Mapping[str, Sequence[tuple[frozenset[str], str]]]:
    found: dict[str, list[tuple[frozenset[str], str]]] = defaultdict(list)
    for line in files("kgsparql.plans").joinpath("english.txt").read_text(encoding="utf-8").splitlines():
        name, *features = line.partition(":")[0].split() or "#"
        found[name].append((frozenset(features), line.partition(":")[2].removeprefix(" ")))
    return found


class Saying(dict[str, Any]):
    """What may stand in a sentence: values, the rules that hold of these features, and parts of what is said.

    >>> Saying({"time", "max"})["best"], Saying({">="}, n="5")["amount"]
    ('latest', '5 or more')
    """

    def __init__(self, features: set[str], of: object = None, **values: object) -> None:
        super().__init__(values)
        self.features, self.of = features, of

    def __missing__(self, name: str) -> Any:
        if name not in _rules():
            return getattr(self.of, name)
        return next(text for needed, text in _rules()[name] if needed <= self.features).format_map(self)


@dataclass(frozen=True, slots=True)
class Clause:
    """What is true of items, such as *whose nationality is Germany*.

    :param is_open: it ends with a phrase that has clauses of its own, so that what follows must stand apart.
    :param is_choice: it holds an *or*.
    """

    text: str
    is_open: bool = False
    is_choice: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Some items in words, written in a case: ``f"{phrase:owner}"`` stands after *of*.

    :param single: the head for one of them; ``plural`` for several.
    :param kind: ``class``: all of a class; ``those``: nothing but the clauses says what they are; ``names``: they are
        named one by one; ``ends``: what something leads to; ``known``: the same, which may be one; ``best``: with its
        article; ``they``: what the sentence is about, ``theirs``: what that leads to; ``anything``: whatever there is;
        ``said``: no items, but what is said of a measure.
    :param is_one: it is one thing, or what one thing leads to: *the capital of France*.
    :param is_open: the head ends with a phrase that has clauses of its own.
    :param exceptions: what is left out.
    """

    single: str
    plural: str
    kind: OneOf["class", "those", "names", "ends", "known", "best", "they", "theirs", "anything", "said"]
    clauses: tuple[Clause, ...] = ()
    exceptions: tuple[str, ...] = ()
    is_one: bool = False
    is_open: bool = False

    def __format__(self, case: str) -> str:
        return str(Saying(self.features, self)[case or "all"])

    def with_clause(self, clause: Clause) -> Phrase:
        """The same items, of which something more is true."""
        return replace(self, clauses=(*self.clauses, clause))

    def without(self, text: str) -> Phrase:
        """The same items but for some."""
        return replace(self, exceptions=(*self.exceptions, text))

    @property
    def is_plain(self) -> bool:
        """Whether nothing is said of the head."""
        return not self.clauses and not self.exceptions

    @property
    def needs_room(self) -> bool:
        """Whether what follows must stand apart."""
        return self.is_open or not self.is_plain

    @property
    def features(self) -> set[str]:
        """What rules ask of it; a verb after it is in the singular only where it is surely one thing."""
        is_singular = self.is_one and self.kind != "ends"
        marks = {
            "plain": self.is_plain, "clauses": self.clauses, "exceptions": self.exceptions, "one": self.is_one,
            "singular": is_singular, "many": not is_singular, "closed": not self.is_open,
        }  # fmt: skip
        return {self.kind, *(name for name, is_so in marks.items() if is_so)}

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
        return said + "".join(f", except {text}" for text in self.exceptions)

    @property
    def a_single(self) -> str:
        """One of them, whichever."""
        return one(self.single)

    @property
    def left_out(self) -> str:
        """What is left out, as a choice."""
        return listed(self.exceptions, "or")


THEY, THOSE = Phrase("them", "them", "they"), Phrase("one", "those", "those")
"""What the sentence is about, and items of which nothing is said yet."""
ANYTHING = Phrase("something", "something", "anything", is_one=True)


def names(labels: Sequence[str]) -> Phrase:
    """Items by their names.

    >>> f"{names(['Ann', 'Bob'])}", f"{names(['Ann', 'Bob']):one_of}"
    ('Ann and Bob', 'Ann or Bob')
    """
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

    >>> f"{ends(names(['France']), Relation('noun', 'capital')):number}"
    'capital of France'
    >>> f"{ends(of_class('person'), Relation('noun', 'capital', is_inverse=True))}"
    'those whose capital is a person'
    """
    if step.is_inverse or not (step.is_noun or step.thing):
        head = replace(of_class(step.subject), kind="known") if step.subject else THOSE
        return head.with_clause(condition(step.reversed, start))
    head = step.text if step.is_noun else step.thing
    features = step.features | start.features
    single, plural = (str(Saying(features, step, start=start, head=own)["ends"]) for own in (head, many(head)))
    is_theirs = step.is_noun and start.kind == "they"
    is_one = step.number == "one" if step.number else step.is_noun and "singular" in start.features
    is_open = not (is_theirs or (step.is_noun and start.kind == "names" and not start.needs_room))
    kind = "known" if step.number else "theirs" if is_theirs else "ends"
    return Phrase(single, plural, kind, is_one=is_one and not is_theirs, is_open=is_open)


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
    if step.thing and not (step.form == "noun" or step.is_inverse) and end.kind in {"those", "anything"}:
        kind: Any = "class" if end.kind == "anything" else "ends"
        end = replace(end, single=step.thing, plural=many(step.thing), kind=kind, is_one=False)
    is_led = step.is_inverse and (step.form == "noun" or step.thing)
    led = ends(end, step.reversed) if is_led else end
    text = Saying(step.features | end.features, step, end=end, ends=led)["clause"]
    return Clause(text, is_open=end.needs_room)


def leads(steps: Sequence[Relation], end: Phrase) -> Clause:
    """What is true of the items from which some steps lead to an end; nouns in a row are owned by each other.

    >>> leads([Relation("noun", "author"), Relation("noun", "age")], Phrase("is 5", "is 5", "said")).text
    "whose author's age is 5"
    """
    first, *rest = folded(steps)
    is_back = any(step.is_back for step in (first, *rest)) and end.kind != "anything"
    for step in reversed(rest):
        end = ends(end, step.reversed)
    clause = condition(first, end)
    return replace(clause, text=clause.text + _NOT_BACK) if is_back else clause


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
    first = phrases[0]
    heads = {(phrase.kind, phrase.single) for phrase in phrases}
    if len(heads) == 1 and all(len(p.clauses) == 1 and not p.exceptions and not p.is_open for p in phrases):
        clauses = [phrase.clauses[0] for phrase in phrases]
        said = " or ".join([clauses[0].text, *(behind(clause.text) for clause in clauses[1:])])
        return replace(first, clauses=(Clause(said, any(clause.is_open for clause in clauses), is_choice=True),))
    last = {f"{phrase:number}".split()[-1].removesuffix("s") for phrase in phrases}
    text = f"{'' if all(p.is_plain for p in phrases) else ','} or ".join(f"{phrase:number}" for phrase in phrases)
    if len(phrases) > _NAMED_KINDS and len(last) == 1 and all(phrase.kind == "class" for phrase in phrases):
        text = f"{last.pop()}s of {len(phrases)} kinds"
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
