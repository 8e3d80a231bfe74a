"""Questions that templates made, put as a person would: *Who directed Jaws?*"""

from __future__ import annotations

import re

from kgsparql.linking.english_forms import is_past_form, is_person

_PAST = {
    "written": "wrote", "made": "made", "sung": "sang", "given": "gave", "known": "knew", "seen": "saw",
    "spoken": "spoke", "taken": "took", "won": "won",
}  # fmt: skip
"""Past forms by participles, where they differ or the ending does not show them."""

_BE = {"were": "was", "have": "has"}
_LONGEST_KIND = 3
"""Words of the name of a class of persons."""


def as_asked(text: str) -> str:
    """The question, about who did something where that is asked.

    >>> as_asked("Who was Jaws directed by?"), as_asked("Which Nobel laureates were born in Rome?")
    ('Who directed Jaws?', 'Who was born in Rome?')
    >>> as_asked("What is the capital of France?"), as_asked("Which person has Rome as birth place?")
    ('What is the capital of France?', 'Who has Rome as birth place?')
    """
    done = re.fullmatch(r"Who (?:was|were) (.+) (\w+) by\?", text)
    if done and (past := _PAST.get(done[2]) or (done[2] if done[2].endswith("ed") else "")):
        return f"Who {past} {done[1]}?"
    found = _of_persons(text)
    if found is None:
        return text
    verb, _, rest = found.partition(" ")
    return f"Who {_BE.get(verb, verb)} {rest}"


def how_many(text: str) -> str:
    """How many answers a question has that asks which.

    >>> how_many("Which films were directed by Ann?"), how_many("Which Nobel laureates worked at Bell Labs?")
    ('How many films were directed by Ann?', 'How many people worked at Bell Labs?')
    """
    found = _of_persons(text)
    return f"How many {text.removeprefix('Which ')}" if found is None else f"How many people {found}"


def _of_persons(text: str) -> str | None:
    """What is said of the persons that are asked for, from the verb on, if that can be said of one as of many."""
    which, _, rest = text.partition(" ")
    words = rest.split() if which == "Which" else []
    for at, verb in enumerate(words[1 : _LONGEST_KIND + 1], 1):
        if is_person(words[at - 1]) and (verb in {"was", "were", "has", "have"} or is_past_form(verb)):
            return " ".join(words[at:])
    return None
