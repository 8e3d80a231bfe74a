"""The text of a question, checked before anything else is done."""

from __future__ import annotations

import unicodedata

from kgsparql.errors import InputError, LimitError

MAX_QUESTION_CHARACTERS = 4_000


def checked_question(text: str) -> str:
    """The question without control characters and surrounding space.

    :raises InputError: if no letter or digit is left.
    :raises LimitError: if it is longer than 4,000 characters.

    >>> checked_question(" Who? ")
    'Who?'
    """
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise LimitError(
            f"the question has {len(text):,} characters; at most {MAX_QUESTION_CHARACTERS:,}",
            hint="ask a shorter question",
        )
    kept = (" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in {"Cc", "Cs", "Cf"})
    question = " ".join("".join(kept).split())
    if not any(c.isalnum() for c in question):
        raise InputError("the question is empty", hint='write it in quotes: kgsparql ask "Who …?" -k data.ttl')
    return question
