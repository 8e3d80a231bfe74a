"""Questions in plain English for the ends of a property path."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kgsparql.linking.english_forms import (
    Wording,
    is_done_by_persons,
    is_person,
    plural,
    singular,
    when_asked,
)
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import IRI

_CONVERSE = {"subclass": "superclass", "subproperty": "superproperty"}
"""What the object is of a subject that is a subclass of it."""


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A noun phrase: the topic, or what a part of a path leads to."""

    text: str
    is_plural: bool = False

    @property
    def one(self) -> str:
        """One of them, where a question is about things that have to do with any of them."""
        return f"one of {self.text}" if self.is_plural else self.text


def question_text(
    path: PropertyPath,
    topic: str,
    wordings: Mapping[IRI, Wording],
    kinds: Sequence[str],
    *,
    several: bool,
    many: Collection[Step] = (),
    dates: Collection[Step] = (),
) -> str:
    """A question for the ends of a path.

    :param kinds: what each step leads to: a class in the singular; empty if unknown.
    :param many: steps that mostly lead to more than one term.
    :param dates: steps that mostly lead to dates or years.

    >>> from kgsparql.linking.english_forms import wording
    >>> at, by = IRI("http://e.org/at"), IRI("http://e.org/by")
    >>> wordings = {at: wording("birth place"), by: wording("directed by")}
    >>> def asked(*steps, kinds):
    ...     path = PropertyPath.of(*("^" * s.startswith("^") + {"at": at, "by": by}[s.strip("^")].value for s in steps))
    ...     return question_text(path, "Jaws", wordings, kinds, several=True)
    >>> asked("by", "at", kinds=["person", "city"])
    'What are the birth places of the person that Jaws was directed by?'
    >>> asked("by", "^by", kinds=["person", "film"])
    'Which other films were directed by the person that Jaws was directed by?'
    >>> asked("^at", kinds=["person"])
    'Which people have Jaws as birth place?'
    """
    phrase = _Phrase(_quoted(topic))
    kinds = [kind or _whose(step, wordings) for kind, step in zip(kinds, path.steps, strict=True)]
    for i, step in enumerate(path.steps[:-1]):
        kind = kinds[i] or _role(path.steps[i + 1], wordings)
        words, is_back = _wording(step, wordings), _is_back(path, i)
        if step.direction == "forward":
            phrase = _forward(phrase, words, kind, "other " * is_back, are_many=step in many or is_back)
        else:
            phrase = _inverse(phrase, words, kind, "other " * is_back)
    last = len(path) - 1
    step = path.steps[last]
    text = when_asked(_wording(step, wordings), phrase.text, are_many=phrase.is_plural) if step in dates else ""
    ask = _ask_forward if step.direction == "forward" else _ask_inverse
    text = text or ask(phrase, _wording(step, wordings), kinds[last], several, is_back=_is_back(path, last))
    return text[0].upper() + text[1:]


def _whose(step: Step, wordings: Mapping[IRI, Wording]) -> str:
    """``person`` for the subject of a predicate that only people are subjects of: used if there is no class."""
    return "person" if step.direction == "inverse" and is_done_by_persons(wordings[step.predicate]) else ""


def _role(following: Step, wordings: Mapping[IRI, Wording]) -> str:
    """What a predicate calls its object (that of ``country`` is a country): used if there is no class."""
    own = wordings[following.predicate]
    return singular(own.text) if following.direction == "inverse" and own.form == "noun" else ""


def can_be_asked(path: PropertyPath, wordings: Mapping[IRI, Wording]) -> bool:
    """Whether a sentence about a path stays readable: every predicate has a form, and at most one needs a clause.

    *The thing that the thing that it is part of was made by* is nothing that people say.
    """
    if not all(step.predicate in wordings for step in path):
        return False
    forms = [_wording(step, wordings).form for step in path if step.direction == "forward"]
    return sum(form != "noun" for form in forms) <= 1


def _wording(step: Step, wordings: Mapping[IRI, Wording]) -> Wording:
    own = wordings[step.predicate]
    if own.form == "of" and step.direction == "forward" and own.text in _CONVERSE:
        return Wording("noun", _CONVERSE[own.text])
    return own


def _is_back(path: PropertyPath, i: int) -> bool:
    return i > 0 and path.steps[i].inverts(path.steps[i - 1])


def _quoted(topic: str) -> str:
    if len(topic.split()) <= 5 and not re.search(r"[?!:;,]", topic):
        return topic
    return f'"{topic}"' if '"' not in topic else f"'{topic}'" if "'" not in topic else topic


def _forward(of: _Phrase, words: Wording, kind: str, other: str, *, are_many: bool) -> _Phrase:
    if words.form == "noun":
        noun = plural(words.text) if are_many else words.text
        return _Phrase(f"the {other}{noun} of {of.text}", noun != singular(noun))
    things = plural(kind or "thing") if are_many else kind or "thing"
    rest = _verb(words.text, plural_=of.is_plural)
    if words.form != "verb":
        be = _be(words.text, plural_=of.is_plural)
        rest = f"{be} {_a(words.text)} of" if words.form == "of" else f"{be} {words.text}"
    return _Phrase(f"the {other}{things} that {of.text} {rest}", are_many)


def _inverse(of: _Phrase, words: Wording, kind: str, other: str) -> _Phrase:
    what = f"the {other}{plural(kind or 'thing')}"
    text = {
        "noun": f"{what} whose {singular(words.text)} is {of.one}",
        "of": f"the {other}{plural(words.text)} of {of.one}",
        "passive": f"{what} {words.text} {of.one}",
        "verb": f"{what} that {_verb(words.text, plural_=True)} {of.one}",
    }[words.form]
    return _Phrase(text, is_plural=True)


def _what(kind: str, several: bool, *, is_back: bool) -> str:
    if kind:
        return f"which {'other ' * is_back}{plural(kind) if several else kind}"
    return f"what{' else' * is_back}"


def _ask_forward(of: _Phrase, words: Wording, kind: str, several: bool, *, is_back: bool) -> str:
    other = "other " * is_back
    if words.form == "noun":
        noun = plural(words.text) if several else words.text
        who = "who" if is_person(kind or words.text) else "what"
        return f"{who} {'are' if noun != singular(noun) else 'is'} the {other}{noun} of {of.text}?"
    if words.form == "verb":
        things = f"the {other}{plural(kind) if several else kind}" if kind else f"everything{' else' * is_back}"
        return f"name {things} that {of.text} {_verb(words.text, plural_=of.is_plural)}."
    if words.form == "of":
        what = _what(kind, several, is_back=is_back)
        return f"{what} {_be('', plural_=of.is_plural)} {of.text} {_a(words.text)} of?"
    is_who = is_person(kind) and words.text.endswith(" by")
    what = f"who{' else' * is_back}" if is_who else _what(kind, several, is_back=is_back)
    return f"{what} {_be(words.text, plural_=of.is_plural)} {of.text} {words.text}?"


def _ask_inverse(of: _Phrase, words: Wording, kind: str, several: bool, *, is_back: bool) -> str:
    what, are_many = _what(kind, several, is_back=is_back), several and bool(kind)
    if words.form == "noun" and of.is_plural and is_person(kind) and not is_back:
        return f"whose {singular(words.text)} is {of.one}?"
    if words.form == "of":
        noun, who = plural(words.text) if several else words.text, "who" if is_person(kind or words.text) else "what"
        return f"{who} {'are' if several else 'is'} the {'other ' * is_back}{noun} of {of.one}?"
    if words.form == "noun":
        return f"{what} {'have' if are_many else 'has'} {of.one} as {singular(words.text)}?"
    if words.form == "passive":
        return f"{what} {_be(words.text, plural_=are_many)} {words.text} {of.one}?"
    return f"{what} {_verb(words.text, plural_=are_many)} {of.one}?"


def _a(noun: str) -> str:
    """A noun after *is*.

    >>> _a("subclass"), _a("part"), _a("instance")
    ('a subclass', 'part', 'an instance')
    """
    return noun if noun in {"part", "capital", "author"} else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _be(text: str, *, plural_: bool) -> str:
    """A form of *be*: in the past for what has been done, else in the present."""
    is_past = text.endswith(" by") or text.startswith("born ")
    return ("were" if plural_ else "was") if is_past else ("are" if plural_ else "is")


def _verb(text: str, *, plural_: bool) -> str:
    """A verb in the present that agrees with its subject; others as they are.

    >>> _verb("belongs to", plural_=True), _verb("worked at", plural_=True)
    ('belong to', 'worked at')
    """
    first, _, rest = text.partition(" ")
    if plural_ and first.endswith("s") and not first.endswith("ss"):
        first = singular(first)
    return f"{first} {rest}".strip()
