"""What a question asks to be computed from what was found: a number of things, the largest, the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kgsparql.answering.answer import Gap
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.linking.answer_type import Operation
from kgsparql.linking.words import root, words
from kgsparql.rdf.terms import Literal, Term, normalised

_COLUMNS = re.compile(
    r"(?:please )?(?:list|show|give|name|get|return)\b.*\bwith (?:their|its|his|her) (\w+)", re.IGNORECASE
)
"""A list of things, each with something of its own beside it."""
_BOTH = re.compile(r"\bboth (\w+) and (\w+)\b")
"""Two things that are done to the same: `films that she both wrote and directed`."""
_ORDINALS = frozenset({"first", "second", "third", "last"})


def operation_gaps(
    operation: Operation | None, session: Session, best: EvidenceItem, steps: Sequence[str]
) -> Iterator[Gap]:
    """What a question asks to be computed, if the best item does not state it.

    :param steps: the names of the predicates that lead to its ends.
    """
    if columns := _COLUMNS.match(session.question.strip()):
        yield Gap("operation", columns[1], f"this asks for things with their {columns[1]}, and only one was looked for")
    if (both := _BOTH.search(session.question)) and not _is_in_name(both, session):
        yield Gap("operation", both[0], f"this asks for {both[0]!r}, which is not computed: these are the facts")
    if operation is None:
        if len(best.ends) > 1 and (place := _ordinal(session)):
            yield Gap("operation", place, f"this asks for the {place}, which is not computed: these are the facts")
        return
    if operation.kind == "count" and len(best.ends) == 1 and _is_number(best.ends[0]):
        return
    named = {root(word) for name in steps for word in words(normalised(name))}
    if operation.kind == "extreme" and root(operation.words.split()[-1]) in named:
        return
    yield Gap("operation", operation.words, f"this asks {operation.text}, which is not computed: these are the facts")


def _is_in_name(found: re.Match[str], session: Session) -> bool:
    places = [(link.mention.start, link.mention.end) for link in session.links]
    return any(start < found.end() and found.start() < end for start, end in places)


def _ordinal(session: Session) -> str:
    """The place in a row of what is asked for, as `first` in `the first track`; empty if none is."""
    asked = session.scored_question()
    free = [asked.tokens[i].text for i in asked.free]
    after = dict(pairwise(free))
    return next((word for word in free if word in _ORDINALS and not after.get(word, "name").startswith("name")), "")


def _is_number(term: Term) -> bool:
    return isinstance(term, Literal) and term.value.replace(".", "", 1).lstrip("-").isdecimal()
