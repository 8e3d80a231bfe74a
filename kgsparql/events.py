"""The events of a question, as values; :func:`kgsparql.answering.answer_json.event_json` writes them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar, TypeAlias

from kgsparql.dataclasses import frozen, replace


@frozen(kw_only=True)
class Event:
    """Something that happened; its ``kind`` is the name of the class, as in ``query_run``.

    :param sequence: 1, 2, 3 … within one question.
    :param parent: the sequence number of the step this belongs to; 0 for none.
    :param at_s: seconds since the question began.
    """

    kind: ClassVar[str]
    sequence: int = 0
    parent: int = 0
    at_s: float = 0.0

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


@frozen(kw_only=True)
class EntitiesLinked(Event):
    """Mentions of the question that were linked: one entry ``(mention, term, label, score, matched)`` each."""

    entities: tuple[tuple[str, str, str, float, str], ...] = ()


@frozen(kw_only=True)
class QuestionRead(Event):
    """The question was read as clauses, and planned without a model.

    :param clauses: what it says, with names in ‹› and classes in <>.
    :param plan: the likeliest plan, in words; empty where there is none.
    :param matches: which words were taken for which path, as ``(words, path)``.
    """

    clauses: tuple[str, ...] = ()
    plan: str = ""
    matches: tuple[tuple[str, str], ...] = ()


@frozen(kw_only=True)
class QueryRun(Event):
    """A query was answered."""

    name: str = ""
    text: str = ""
    solutions: int = 0
    complete: bool = True
    seconds: float = 0.0


@frozen(kw_only=True)
class PathsSearched(Event):
    """Something was looked up in the graph's adjacency, without a query.

    :param what: shortest paths between two terms, all paths, or steps from some terms.
    :param paths: how many of these there are.
    """

    start: str = ""
    end: str = ""
    what: str = "paths"
    paths: int = 0
    seconds: float = 0.0


@frozen(kw_only=True)
class ModelCalled(Event):
    """A model replied, or failed.

    :param prompt: the messages as they were sent, each with its role on a line of its own.
    :param error: the code of what was wrong; empty if nothing was.
    """

    model: str = ""
    purpose: str = ""
    prompt: str = ""
    reply: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False
    error: str = ""
    seconds: float = 0.0


@frozen(kw_only=True)
class CandidatesChosen(Event):
    """Some of the candidates were kept, by a model or a ranker."""

    purpose: str = ""
    chosen_by: str = ""
    kept: tuple[str, ...] = ()
    pruned: int = 0
    pruned_texts: tuple[str, ...] = ()


@frozen(kw_only=True)
class LimitReached(Event):
    """A limit left something out, or ended the exploration."""

    what: str = ""
    message: str = ""


@frozen(kw_only=True)
class FallbackUsed(Event):
    """Something was done in the second-best way."""

    purpose: str = ""
    reason: str = ""


@frozen(kw_only=True)
class EvidenceFound(Event):
    """Items of evidence, as ``(marker, text)``."""

    items: tuple[tuple[str, str], ...] = ()


@frozen(kw_only=True)
class Verified(Event):
    """Cited triples were looked up again."""

    found: int = 0
    removed: int = 0
    unknown: int = 0


@frozen(kw_only=True)
class Drafted(Event):
    """The question is answered without the model, which is asked now; the answer itself."""

    status: str = ""
    answer: Any = None


@frozen(kw_only=True)
class Finished(Event):
    """The question is answered; the last event, with the answer itself."""

    status: str = ""
    answer: Any = None


Emit: TypeAlias = Callable[[Event], None]
Tell: TypeAlias = Callable[[str], None]
"""Called with each line that a person should read."""


def ignore(_: object) -> None:
    """Receive events, or lines, that nobody wants; those that take time to make are not made for it."""


def numbered(receive: Emit, clock: Callable[[], float]) -> Emit:
    """Make what gives events their sequence number and time, then hands them on."""
    if receive is ignore:
        return ignore
    numbers, lock = count(1), threading.Lock()

    def emit(event: Event) -> None:
        with lock:
            receive(replace(event, sequence=next(numbers), at_s=round(clock(), 6)))

    return emit
