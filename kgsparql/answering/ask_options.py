"""How to ask: everything about a question but the question."""

from __future__ import annotations

import functools
import inspect
import os
import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from kgsparql.answering.follow_up import Before
from kgsparql.answering.retriever import Retriever, did_you_mean
from kgsparql.budget import Budget
from kgsparql.dataclasses import field, fields, frozen, replace
from kgsparql.errors import LimitError, OptionError, QuestionError
from kgsparql.events import Emit, ignore
from kgsparql.rdf.terms import IRI, printable
from kgsparql.resources import packaged_toml

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.models.language_model import LanguageModel


_MAX_CHARACTERS = 4_000
_OFF = {"0", "off", "no", "false"}
GUARANTEES = (80, 90, 95)
"""In how many of 100 questions readings may be asked to hold the right one: what was measured."""


def checked_question(text: str) -> str:
    """Return the question without control characters and surrounding space; a ``QuestionError`` for what is none."""
    if not isinstance(text, str):
        raise QuestionError(f"a question is a text, and this is {type(text).__name__}", hint="give it as str")
    if len(text) > _MAX_CHARACTERS:
        message = f"the question has {len(text):,} characters; at most {_MAX_CHARACTERS:,}"
        raise LimitError(message, hint="ask a shorter question")
    kept = (" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in {"Cc", "Cs", "Cf"})
    question = " ".join("".join(kept).split())
    if not any(map(str.isalnum, question)):
        hint = "write what you want to know; kgsparql info -k GRAPH shows some questions"
        raise QuestionError("the question is empty", hint=hint)
    return question


P = ParamSpec("P")
Asked = TypeVar("Asked")
Result = TypeVar("Result")


@frozen(kw_only=True)
class AskOptions:
    """How to ask: the method and its options, the entities if they are known, the limits, who listens.

    :param retriever: a method by its name, or one with its options, such as ``MindMap(paths_kept=3)``; ``auto``
        computes what is asked to be computed and looks up the rest.
    :param options: of a method that is named: ``{"paths_kept": 3}``.
    :param entities: of the question, if they are known: IRIs, CURIEs or exact labels.
    :param model: who finds names, chooses and writes; without one a ranker chooses and candidates are listed.
    :param require_model: one that fails is an error; else the answer is that without a model, and a note says so.
    :param trial: a model that nobody knows is tried out before it is first asked; else what it chooses against the
        ranking is a doubt, and no sure answer gives way to it. Off where ``KGSPARQL_TRIAL=off`` is set.
    :param complete: follow a way that was chosen to every answer on it, not only to those that were met.
    :param min_confidence: an answer less likely to be right, in [0, 1], is called no sure answer.
    :param language: of the question: ``de``; empty if its words are to tell.
    :param reading: which of an answer's ``choices`` is meant, from 1 on; no model is asked then. 0: the likeliest.
    :param choices: list the likely readings under a doubt, for two or three queries each.
    :param guarantee: 80, 90 or 95: list as few readings as hold the right one in so many of 100 questions, or say that
        none do; without a model, by the default method. 0: no guarantee.
    :param after: the answer to the question before, from which ``and where did she die?`` is filled in.
    :param budget: the limits of the question: calls, tokens, seconds, queries.
    :param emit: called with each event, on the thread that answers.
    :param cancel: ends the question with an error.
    :param stop: ends it as if its time was over: it is answered from what was found until then.
    :raises OptionError: for a value that an option does not take.
    """

    retriever: str | Retriever = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    entities: tuple[IRI | str, ...] = ()
    model: LanguageModel | None = None
    require_model: bool = False
    trial: bool = field(default_factory=lambda: os.environ.get("KGSPARQL_TRIAL", "").lower() not in _OFF)
    complete: bool = True
    min_confidence: float = 0.0
    language: str = ""
    reading: int = 0
    choices: bool = True
    guarantee: int = 0
    after: Before | Answer | None = None
    budget: Budget = field(default_factory=Budget)
    emit: Emit = ignore
    cancel: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        given = [self.entities] if isinstance(self.entities, str | IRI) else self.entities
        object.__setattr__(self, "entities", tuple(given))  # one name, or a list: as a person writes it
        if self.after is not None and not isinstance(self.after, Before):
            from kgsparql.answering.answer_json import answer_to_json  # seldom needed

            object.__setattr__(self, "after", Before.from_json(answer_to_json(self.after)))
        if isinstance(self.model, str):
            message = f"model={printable(self.model, 60)!r} is only its name"
            raise OptionError(message, hint="open it: model=kgsparql.open_model(NAME)")
        if self.require_model and self.model is None:
            raise OptionError("a model is required, and none is named", hint="model=kgsparql.open_model(NAME)")
        if not isinstance(self.retriever, str | Retriever):
            message = f"no method: {printable(str(self.retriever), 80)}"
            raise OptionError(message, hint="its name, or one that is made: MindMap()")
        if not 0 <= self.min_confidence <= 1:
            raise OptionError(f"a confidence of {self.min_confidence}", hint="a probability, from 0 to 1")
        if self.guarantee not in {0, *GUARANTEES}:
            raise OptionError(f"no guarantee of {self.guarantee} in 100", hint="one of: 80, 90, 95")
        if self.guarantee and (self.model is not None or self.retriever != "auto"):
            message = "a guarantee with a model, or with a method that is named, was not measured"
            raise OptionError(message, hint="leave out both (--no-model, model=None)")

    def about(self, entities: Iterable[IRI | str]) -> AskOptions:
        """Return the same options with these entities given."""
        return replace(self, entities=tuple(entities))

    def without_model(self) -> AskOptions:
        """Return the same options with nobody to ask."""
        return replace(self, model=None, require_model=False)


def asked_with(
    options: Callable[P, AskOptions],
) -> Callable[[Callable[[Asked, str, AskOptions], Result]], Callable[Concatenate[Asked, str, P], Result]]:
    """Have a method of (question, asking) take the options of ``asking`` one by one, as keywords."""

    def decorated(method: Callable[[Asked, str, AskOptions], Result]) -> Callable[Concatenate[Asked, str, P], Result]:
        @functools.wraps(method)
        def run(self: Asked, question: str, *args: P.args, **kwargs: P.kwargs) -> Result:
            for name in kwargs:
                check_option(name)
            return method(self, question, options(*args, **kwargs))

        own = inspect.signature(method).parameters.values()
        listed = [*(p for p in own if p.name != "asking"), *inspect.signature(options).parameters.values()]
        result = inspect.signature(method).return_annotation
        shown = cast("Any", run)
        shown.__signature__ = inspect.Signature(listed, return_annotation=result)
        del shown.__wrapped__  # its signature is another
        return cast("Callable[Concatenate[Asked, str, P], Result]", run)

    return decorated


def check_option(name: str) -> None:
    """Refuse a keyword that is no option, and say which was meant."""
    known = [field.name for field in fields(AskOptions)]
    if name not in known:
        if gone := packaged_toml("removed.toml")["options"].get(f"--{name}"):
            raise OptionError(f"{name} is gone: {gone}")
        hint = "those of a method go into options={…}, limits into budget=kgsparql.Budget(…)"
        hint = f"there are: {', '.join(known)}; {hint}"
        raise OptionError(f"no option {printable(name, 60)!r}{did_you_mean(name, known)}", hint=hint)
