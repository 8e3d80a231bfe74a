"""Which way a question goes along a predicate: `Ann's children` are whom `child` leads to, not who has Ann as one.

English only.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Literal as OneOf

from kgsparql.linking.words import stem, stop_words, tokens, words
from kgsparql.rdf.terms import normalised

_PAIRS = (
    ("student pupil disciple mentee", "teacher advisor adviser supervisor tutor mentor"),
    ("child son daughter kid", "parent father mother"),
    ("grandchild grandson granddaughter", "grandparent grandfather grandmother"),
    ("descendant", "ancestor"),
    ("employee subordinate", "employer boss manager supervisor"),
    ("predecessor", "successor"),
    ("subclass subtype subcategory hyponym instance", "superclass supertype supercategory hypernym type"),
)
"""Roles of which one is what the other is to it."""

_SHORT = 3  # letters of a word that is not taken for what somebody does
_APOSTROPHES = {"'", "’"}
_DID = re.compile(r"(?:which|what|how many)?\s*(.*)\b(?:did|does|do)\s*$", re.IGNORECASE)

_KINDS_OF = re.compile(
    r"\b(?:(?:kinds|types|sorts|varieties)|(?:what|which|an?) (?:kind|type|sort|variety)) of (?:an? |the )?$",
    re.IGNORECASE,
)
_WHICH = re.compile(r"\b(?:what|which) $", re.IGNORECASE)
_ARE_THERE = re.compile(r" (?:are|is) there\b|\s+exist\b", re.IGNORECASE)

_OF = re.compile(r"\b(\w+) of (?:the |an? )?$", re.IGNORECASE)

_OWNS = re.compile(r"\s?['’]s (\w+)")

_NO_STEP = frozenset(
    "name names birth death burial marriage origin citizenship residence state government study work art".split()
)
"""Words of a chain that are no step of their own: `place of birth`, `head of state` and `field of study` are one."""

_SIDES = [tuple(frozenset(map(stem, side.split())) for side in pair) for pair in _PAIRS]


def asked_way(question: str, about: tuple[int, int], label: str) -> OneOf["forward", "inverse", ""]:
    """Which way a question goes along a predicate from the thing that it names; empty where it does not say.

    :param about: the place of the name, as ``(start, end)`` in characters.
    :param label: the name of the predicate. `student of` says what the subject is, `student` what the object is.

    >>> [asked_way("Who were Ann's students?", (9, 12), label) for label in ("student", "student of", "advisor")]
    ['forward', 'inverse', 'inverse']
    >>> asked_way("Who is the advisor of Ann?", (22, 25), "student of"), asked_way("Who advised Ann?", (12, 15), "boss")
    ('forward', '')
    >>> asked_way("Who did Ann teach?", (8, 11), "teacher")
    'inverse'
    >>> asked_way("Which students did Ann have?", (19, 22), "teacher")
    'inverse'
    >>> [asked_way("Which kinds of oak are there?", (15, 18), label) for label in ("subclass of", "hyponym", "type")]
    ['inverse', 'forward', 'inverse']
    """
    own = [word for word in words(normalised(label)) if word != "has"]
    is_of = own[-1:] == ["of"]
    own = own[:-1] if is_of else own
    called = {stem(own[-1]), stem("".join(own))} if own else set()
    is_doer = _DID.search(question[: about[0]]) and question[about[1] :][:1] not in _APOSTROPHES
    if is_doer and own and own[-1].endswith(("er", "or")):
        doers = {own[-1]}.union(*(side.split() for pair in _PAIRS for side in pair if own[-1] in side.split()))
        done = [stem(token.text) for token in tokens(question[about[1] :]) if len(token.text) > _SHORT]
        if any(doer.startswith(verb) for doer in doers for verb in done):
            return "forward" if is_of else "inverse"
    for noun in reversed(_owned_nouns(question[: about[0]], question[about[1] :])):
        sides = [(mine, other) for pair in _SIDES for mine, other in (pair, pair[::-1]) if noun in mine]
        if noun in called or any(called & mine for mine, _ in sides):
            return "inverse" if is_of else "forward"
        if any(called & other for _, other in sides):
            return "forward" if is_of else "inverse"
    return ""


def phrase_around(question: str, about: tuple[int, int]) -> tuple[int, int] | None:
    """The place of `the … of Ann` around Ann; ``None`` where there is no such phrase.

    >>> asked = "Who is the manager of the members of Data Services?"
    >>> around = phrase_around(asked, (37, 50))
    >>> asked[slice(*around)], asked_way(asked, around, "has manager"), phrase_around("Ann of Kent", (0, 3))
    ('members of Data Services', 'forward', None)
    """
    found = _OF.search(question[: about[0]])
    return found and (found.start(1), about[1])


def owned_chain(question: str, about: tuple[int, int]) -> list[str]:
    """The words of a chain of possessions from a name on, each owned by the one before: a step is asked for each.

    `place of birth` is one step, and `name of` is none.

    >>> owned_chain("What is the place of birth of the mother of Ann's wife?", (44, 47))
    ['wife', 'mother', 'place']
    """
    owned = []
    while found := _OWNS.match(question, about[1]):
        owned.append(found[1])
        about = (about[0], found.end())
    while around := phrase_around(question, about):
        owned.append(question[around[0] : about[0]].split(maxsplit=1)[0])
        about = around
    return [word for word in owned if word.casefold() not in _NO_STEP]


def _owned_nouns(before: str, after: str) -> list[str]:
    """The stems of the words of `Ann's …`, of `the … of Ann` or of `which … did Ann have`; kinds are subclasses."""
    if _KINDS_OF.search(before) or (_WHICH.search(before) and _ARE_THERE.match(after)):
        return [stem("subclass")]
    stops = stop_words(("en",)) - {"s"}
    following = [token.text for token in tokens(after)]
    if following == ["have"] and (has := _DID.search(before)):
        found = [token.text for token in tokens(has[1]) if token.text not in stops]
    elif after[:1] in _APOSTROPHES:
        found = list(takewhile(lambda word: word not in stops, following[following[:1] == ["s"] :]))
    else:
        preceding = [token.text for token in tokens(before)][::-1]
        preceding = preceding[preceding[:1] in (["the"], ["a"], ["an"]) :]
        found = list(takewhile(lambda word: word not in stops, preceding[1:]))[::-1] if preceding[:1] == ["of"] else []
    return [stem(word) for word in takewhile(lambda word: word != "s", found)]
