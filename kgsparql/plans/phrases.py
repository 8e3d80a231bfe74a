"""What joins the two ends of a predicate, by its name alone, and sets of items as noun phrases.

A name that fits no pattern is quoted and said of both ends in one neutral form, so that nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass, replace
from kgsparql.linking.english_forms import PREPOSITIONS, is_past_form, plural, singular, wording

_NO_NOUN = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|not)\b")
_PLACES = frozenset({"in", "on", "at", "by", "from", "into"})
_WITH_OBJECT = re.compile(r"(\w+)(?: (\w+))? (?:the|an?) (.+)")


@dataclass(frozen=True, slots=True)
class Relation:
    """How a step is said of its start and its end.

    :param form: ``noun``: the end is a ``text`` of the start; ``passive``: the start is ``text`` the end; ``verb``: the
        start ``text`` the end; ``quoted``: the start has the end as ``text``.
    :param object_noun: what the end is, where the name says so behind a verb: the award of *received the award*.
    :param is_inverse: the two ends change places.
    :param is_back: it walks the step before it back, and never to the same thing.
    """

    form: OneOf["noun", "passive", "verb", "quoted"]
    text: str
    object_noun: str = ""
    is_inverse: bool = False
    is_back: bool = False

    @property
    def reversed(self) -> Relation:
        """The same, from its end."""
        return replace(self, is_inverse=not self.is_inverse)

    @property
    def is_noun(self) -> bool:
        """Whether the end is a so-and-so of the start."""
        return self.form == "noun" and not self.is_inverse

    def verb(self, *, are_many: bool) -> str:
        """The words between the start and the end, which agree with the start: *is named after*, *work for*."""
        if self.form == "passive":
            return f"{'are' if are_many else 'is'} {self.text}"
        first, _, rest = self.text.partition(" ")
        if are_many and first.endswith("s") and not first.endswith("ss"):
            first = singular(first)
        return f"{first} {rest}".strip()


def relation(label: str) -> Relation:
    """How a predicate is said, by its name.

    >>> [relation(name).form for name in ("date of birth", "directed by", "worked at", "prize awarded in")]
    ['noun', 'passive', 'verb', 'quoted']
    >>> relation("has manager").text, relation("received the award"), relation("member of").is_inverse
    ('manager', Relation(form='verb', text='received', object_noun='award', is_inverse=False, is_back=False), True)
    >>> [relation(name).form for name in ("founded", "Uses Tool Support", "is located in", "cites", "has been paid")]
    ['quoted', 'quoted', 'passive', 'verb', 'quoted']
    """
    name = label.strip().replace("(s)", "")
    first, _, rest = name.partition(" ")
    if rest and first.lower() in {"is", "was", "are"}:
        own = relation(rest)
        return own if own.form == "passive" or own.is_inverse else Relation("quoted", label)
    if rest and first.lower() == "has":
        return Relation("noun", rest) if _is_plain_noun(rest) else Relation("quoted", label)
    return _with_object(name) or _by_form(name) or Relation("quoted", label)


def _with_object(name: str) -> Relation | None:
    """What a name with a verb and its object says: *received the award*, *located in the city*."""
    found = _WITH_OBJECT.fullmatch(name)
    if found is None:
        return None
    verb, preposition, noun = found.groups()
    if not is_past_form(verb) or not (preposition is None or preposition in PREPOSITIONS) or not _is_plain_noun(noun):
        return None
    said = wording(f"{verb} {preposition}") if preposition else None
    form: OneOf["passive", "verb"] = "passive" if said is not None and said.form == "passive" else "verb"
    return Relation(form, f"{verb} {preposition or ''}".strip(), noun)


def _by_form(name: str) -> Relation | None:
    """What a name says whose words are all in its English form."""
    said = wording(name) if name else None
    if said is None:
        return None
    if said.form == "of" and _squashed(name) == _squashed(f"{said.text} of"):
        return Relation("noun", name[: -len(" of")], is_inverse=True)
    if said.form in {"passive", "verb"} and _squashed(name) == _squashed(said.text):
        if " " not in name and is_past_form(name.lower()):
            return None  # "founded": by whom, or when?
        lower = name if name.split(maxsplit=1)[0].isupper() else name[0].lower() + name[1:]
        return Relation("passive" if said.form == "passive" else "verb", lower)
    return Relation("noun", name) if _squashed(name).startswith(_squashed(said.text)) and _is_plain_noun(name) else None


def _squashed(name: str) -> str:
    return re.sub("[ _]", "", name).casefold()


def _is_plain_noun(name: str) -> bool:
    """Whether a name reads as a noun: nothing in it is said to happen, but for a last word such as *received*."""
    words = re.sub(r"\s*\([^()]*\)$", "", name).lower().split()
    if not words or _NO_NOUN.search(" ".join(words)):
        return False
    if len(words) > 1 and words[1].partition("/")[0] in _PLACES:  # "present in work": no present
        return False
    inner = words[1:-1] if len(words) > 1 and words[1] not in PREPOSITIONS else words[:-1]
    return PREPOSITIONS.isdisjoint((words[0], words[-1])) and not any(is_past_form(word) for word in inner)


def many(noun: str) -> str:
    """The plural of a name; what is in brackets stays, and so does what is no English word.

    >>> many("chemical element"), many("width (mm)"), many("award received"), many("Q42"), many("Städt")
    ('chemical elements', 'widths (mm)', 'awards received', 'Q42', 'Städt')
    >>> many("sex or gender")
    'sexes or genders'
    """
    if choice := re.fullmatch(r"(\w+) (or|and) (\w+)", noun):
        return f"{many(choice[1])} {choice[2]} {many(choice[3])}"
    bare = re.sub(r"\s*\([^()]*\)$", "", noun) or noun
    rest = noun[len(bare) :]
    words = bare.split()
    if len(words) == 2 and is_past_form(words[1]):
        bare, rest = words[0], f" {words[1]}{rest}"
    if not re.fullmatch(r"[A-Za-z][A-Za-z' -]*[A-Za-z]", bare):
        return noun
    return plural(bare) + rest


def owned(nouns: Sequence[str]) -> str:
    """Nouns of which each belongs to the one before it.

    >>> owned(["author", "date of birth"]), owned(["authors", "name"])
    ("author's date of birth", "authors' name")
    """
    return " ".join([*(f"{noun}'" if noun.endswith("s") else f"{noun}'s" for noun in nouns[:-1]), nouns[-1]])


def one(noun: str) -> str:
    """A noun with its article; a plural has none.

    >>> one("university"), one("author"), one("ID"), one("Nobel Prize"), one("tags")
    ('a university', 'an author', 'an ID', 'a Nobel Prize', 'tags')
    """
    if many(noun) == noun and noun.endswith("s"):
        return noun
    is_vowel = re.match(r"[aeio]|u(?!ni|s|r)|[AEFHILMNORSX](?=[A-Z]+\b)", noun if noun[:2].isupper() else noun.lower())
    return f"{'an' if is_vowel and not noun.lower().startswith(('eu', 'one')) else 'a'} {noun}"


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
    """Some items in words.

    :param single: the head for one of them; ``plural`` for several.
    :param kind: ``class``: all of a class; ``those``: nothing but the clauses says what they are; ``names``: they are
        named one by one; ``ends``: what something leads to; ``best``: with its article; ``they``: what the sentence is
        about, ``theirs``: what that leads to.
    :param is_one: it is one thing, or what one thing leads to: *the capital of France*.
    :param is_open: the head ends with a phrase that has clauses of its own.
    :param exceptions: what is left out.
    """

    single: str
    plural: str
    kind: OneOf["class", "those", "names", "ends", "best", "they", "theirs"]
    clauses: tuple[Clause, ...] = ()
    exceptions: tuple[str, ...] = ()
    is_one: bool = False
    is_open: bool = False

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
    def said(self) -> str:
        """Its clauses, with a space before them: short ones first, those that end with a phrase of their own last."""
        clauses = sorted(self.clauses, key=lambda clause: (clause.is_open, clause.text.startswith(("whose ", "that "))))
        either = "either " if len(clauses) > 1 else ""
        texts = [f"{either if clause.is_choice else ''}{clause.text}" for clause in clauses]
        return "".join(
            f"{',' if clauses[i - 1].is_open else ''} and {behind(text)}" if i else f" {text}"
            for i, text in enumerate(texts)
        )

    @property
    def tail(self) -> str:
        """What is said of the head, with a space or a comma before it."""
        said = self.said
        if said and (self.is_open or self.kind in {"names", "best"}):
            said = f", but only {'if one of ' if self.is_one else ''}those{said}"
        return said + "".join(f", except {text}" for text in self.exceptions)

    @property
    def all_of_them(self) -> str:
        """Several of them, without an article: *universities whose …*."""
        return self.plural + self.tail

    @property
    def own_number(self) -> str:
        """The same, in the singular where they are one: *capital of France*."""
        return self.single if self.is_one and self.is_plain else self.all_of_them

    @property
    def definite(self) -> str:
        """With an article where one is needed: *the universities whose …*."""
        return {"class": "the ", "ends": "the ", "theirs": "their "}.get(self.kind, "") + self.all_of_them

    @property
    def as_owner(self) -> str:
        """After *of*."""
        if self.kind == "names":
            return self.single + self.tail
        return (
            self.definite if self.kind == "theirs" or (self.kind == "class" and not self.is_plain) else self.all_of_them
        )

    @property
    def is_singular(self) -> bool:
        """Whether a verb after it is in the singular."""
        return self.is_one and self.kind != "ends"

    @property
    def as_subject(self) -> str:
        """Before a verb."""
        return "they" if self.kind == "they" else self.as_owner

    @property
    def as_one_of(self) -> str:
        """After *is*: one of these, whichever."""
        if self.kind == "names" and self.is_plain:
            return self.single
        if self.is_singular and self.is_plain:
            return self.plural
        return one(self.single) if self.kind == "class" and self.is_plain else f"one of {self.definite}"

    @property
    def needs_room(self) -> bool:
        """Whether what follows must stand apart."""
        return self.is_open or not self.is_plain


def names(labels: Sequence[str]) -> Phrase:
    """Items by their names.

    >>> names(["Ann", "Bob"]).all_of_them, names(["Ann", "Bob"]).as_one_of
    ('Ann and Bob', 'Ann or Bob')
    """
    return Phrase(listed(labels, "or"), listed(labels), "names", is_one=len(labels) == 1)


def of_class(label: str) -> Phrase:
    """All of a class."""
    return Phrase(label, many(label), "class")


NOT_BACK = " (not counting themselves)"
_BEGINNINGS = ("whose ", "that ", "with ", "without ", "where ", "either ")
"""How a clause begins that may stand behind another one."""
_HEADS = ("names", "theirs", "class", "ends", "best", "they", "those")
"""Kinds of phrases, those first that say best what the items of several sets are."""
THEY = Phrase("them", "them", "they")
"""What the sentence is about."""
THOSE = Phrase("one", "those", "those")
"""Items of which nothing is said yet."""


def ends(start: Phrase, step: Relation) -> Phrase:
    """What a step leads to from items.

    >>> ends(names(["France"]), Relation("noun", "capital")).own_number
    'capital of France'
    >>> ends(of_class("person"), Relation("noun", "capital", is_inverse=True)).all_of_them
    'those whose capital is a person'
    >>> ends(names(["Ann"]), Relation("verb", "worked at", is_inverse=True, is_back=True)).all_of_them
    'others that worked at Ann'
    """
    if step.is_back:
        found = ends(start, replace(step, is_back=False))
        if found.kind == "those":
            return replace(found, single="other one", plural="others", kind="ends")
        return replace(found, single=f"other {found.single}", plural=f"other {found.plural}")
    if step.is_noun:
        if start.kind == "they":
            return Phrase(step.text, many(step.text), "theirs")
        of = f" of {start.as_owner}"
        is_open = start.kind != "names" or start.needs_room
        return Phrase(step.text + of, many(step.text) + of, "ends", is_one=start.is_singular, is_open=is_open)
    if step.object_noun and not step.is_inverse:
        said = f" that {start.as_subject} {step.verb(are_many=not start.is_singular)}"
        noun = step.object_noun
        return Phrase(noun + said, many(noun) + said, "ends", is_open=True)
    return THOSE.with_clause(condition(step.reversed, start))


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
    own = replace(step, is_back=False)
    text = _backward(own, end) if step.is_inverse else _forward(own, end)
    return Clause(f"{text}{NOT_BACK}" if step.is_back else text, is_open=end.needs_room)


def _forward(step: Relation, end: Phrase) -> str:
    if step.form == "noun":
        verb = "include" if step.text.endswith("s") and many(step.text) == step.text else "is"
        return f"whose {step.text} they are" if end.kind == "they" else f"whose {step.text} {verb} {end.as_one_of}"
    if step.object_noun and end.kind == "those":
        end = replace(end, single=step.object_noun, plural=many(step.object_noun), kind="ends")
    target = "them" if end.kind == "they" else end.as_one_of
    if step.form == "quoted":
        return f"that have {target} as '{step.text}'"
    noun = f"the {step.object_noun} " if step.object_noun and end.kind == "names" and end.is_plain else ""
    verb = step.text if step.form == "passive" else f"that {step.verb(are_many=True)}"
    return f"{verb} {noun}{target}"


def _backward(step: Relation, end: Phrase) -> str:
    if step.form == "noun" and end.kind == "they":
        return f"that are their {many(step.text)}"
    if step.form == "noun" or step.object_noun:
        return f"that are {ends(end, step.reversed).all_of_them}"
    if step.form == "quoted":
        return f"that {end.as_subject} {'has' if end.is_singular else 'have'} as '{step.text}'"
    return f"that {end.as_subject} {step.verb(are_many=not end.is_singular)}"


def both(phrases: Sequence[Phrase]) -> Phrase:
    """The items that are in all of some sets: one head, with the clauses of all.

    >>> person, german = of_class("person"), THOSE.with_clause(Clause("whose nationality is Germany"))
    >>> both([german, person]).all_of_them, both([person, of_class("saint")]).all_of_them
    ('people whose nationality is Germany', 'people that are also saints')
    """
    head = min(phrases, key=lambda phrase: _HEADS.index(phrase.kind))
    others = list(phrases)
    others.remove(head)
    for other in others:
        if other.kind == "those" or (other.kind == "class" and other.single == head.single):
            head = replace(
                head, clauses=(*head.clauses, *other.clauses), exceptions=(*head.exceptions, *other.exceptions)
            )
        else:
            also = "" if head.kind == "names" else "also "
            head = head.with_clause(Clause(f"that are {also}{other.all_of_them}", is_open=other.needs_room))
    return head


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
