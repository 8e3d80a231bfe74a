"""Questions in plain English for the ends of a property path, by the rules of ``english.txt``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any

from kgsparql.dataclasses import replace
from kgsparql.linking.english_forms import (
    Relation,
    Wording,
    is_done_by_persons,
    is_person,
    many,
    marked,
    of_wording,
    singular,
    when_asked,
)
from kgsparql.plans.english import names, reached, say
from kgsparql.rdf.paths import PropertyPath, Step

_CONVERSE = {"subclass": "superclass", "subproperty": "superproperty"}


def question_text(
    path: PropertyPath, topic: str, wordings: Mapping[Any, Wording], kinds: Sequence[str], *, several: bool,
    leads_to_many: Collection[Step] = (), is_counted: bool = False,
) -> str:  # fmt: skip
    """Ask for the ends of a path, or how many there are.

    :param kinds: what each step leads to: a class in the singular, or ``date``; empty if unknown.
    :param leads_to_many: steps that mostly lead to more than one term.

    >>> from kgsparql.linking.english_forms import wording
    >>> from kgsparql.rdf.terms import IRI
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
    'Who has Jaws as birth place?'
    """
    *before, last = _relations(path, wordings, kinds, leads_to_many)
    start = reduce(reached, before, names([_quoted_topic(topic)]))
    are_many_starts = "many" in start.features
    kind = last.subject if last.is_inverse else last.thing
    when = when_asked(Wording("passive", last.text), f"{start:subject}", are_many=are_many_starts)
    if kind == "date" and last.form != "noun" and when and not is_counted:
        return when[0].upper() + when[1:]
    things, noun = (many(own) if several else own for own in (kind, last.text))
    is_anybody = is_person(kind) and not is_counted
    are_many = several and bool(kind) and not is_anybody if last.is_inverse and not last.is_of else are_many_starts
    features = last.features | marked(
        many=noun != singular(noun) if last.is_noun else are_many, many_starts=are_many_starts, kind=kind,
        person=is_person(kind or last.text * last.is_noun), anybody=is_anybody, counted=is_counted,
    )  # fmt: skip
    return say("ask", features, last, start=start, things=things, asked=noun)


def can_be_asked(path: PropertyPath, wordings: Mapping[Any, Wording]) -> bool:
    """Whether a sentence about a path stays readable: each predicate has a form, and at most one needs a clause.

    *The thing that the thing that it is part of was made by* is nothing that people say.
    """
    if not all(step.predicate in wordings for step in path.steps):
        return False
    own = zip(path.steps, _relations(path, wordings, [""] * len(path.steps), ()), strict=True)
    return sum(step.direction == "forward" and not said.is_noun for step, said in own) <= 1


def _relations(
    path: PropertyPath, wordings: Mapping[Any, Wording], kinds: Sequence[str], leads_to_many: Collection[Step]
) -> list[Relation]:
    """How each step is said, with what it leads to: by its class, by the predicate, or by the one that follows."""
    found: list[Relation] = []
    for i, step in enumerate(path.steps):
        said, is_inverse, following = wordings[step.predicate], step.direction == "inverse", path.steps[i + 1 : i + 2]
        is_back = i > 0 and step.inverts(path.steps[i - 1])
        own = of_wording(said, is_inverse=is_inverse)
        if own.is_of and own.text in _CONVERSE and not is_inverse:
            own = Relation("noun", _CONVERSE[own.text])
        kind = kinds[i] or "person" * (is_inverse and is_done_by_persons(said))
        if following and not kind:
            role = of_wording(wordings[following[0].predicate])
            kind = singular(role.text) if following[0].direction == "inverse" and role.is_noun else "thing"
        number = "many" if is_back or is_inverse or step in leads_to_many else "one"
        own = replace(own, is_back=is_back, number=number)
        found.append(replace(own, subject=kind) if own.is_inverse else replace(own, thing=kind))
    return found


def _quoted_topic(topic: str) -> str:
    if len(topic.split()) <= 5 and not re.search(r"[?!:;,]", topic):
        return topic
    return f'"{topic}"' if '"' not in topic else f"'{topic}'" if "'" not in topic else topic
