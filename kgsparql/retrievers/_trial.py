"""The trial of a model: what it is good for, measured on bundled questions before it is asked about a graph.

It chooses from numbered lists in two orders, with the very call that readings are chosen with; five questions stand in
one call, since its rules would be sent twenty times else. Of a model that passes, a plan is wanted: one, for the rules
of plans alone are a third of all that a trial may cost.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from operator import and_
from typing import TypeVar

from kgsparql.answering.choosing import READING, reading_call
from kgsparql.budget import Budget, Usage
from kgsparql.errors import KgsparqlError, ModelReplyError
from kgsparql.events import ignore
from kgsparql.graphs.graph import in_parts
from kgsparql.graphs.notes import Note
from kgsparql.models.chat_completion import Call
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.trust import Trust, keep_trust, kept_trust
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import ListedName, read_plan
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.running import rows_from_facts
from kgsparql.plans.term_lists import TermLists
from kgsparql.rdf.terms import IRI, Json, Literal, Triple, printable, zip_equal
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.resources import packaged_toml
from kgsparql.retrievers.query_plan import RULES, arrays_of, plan_call

T = TypeVar("T")

_ALLOWED_MISSES = 0.1
_REPLY = 300  # tokens: a small model may write numbers without end, one that reasons needs many
_REASONED_REPLY = 2_000  # of one that was cut: it may have reasoned
_TOGETHER = 5  # questions of one list
_POLL_S = 0.05
_FAILED_S = 600.0  # after which a model that could not be tried is tried again
_WORSE = "this model chooses worse than the ranking: it is not asked"
_WORLD = "http://trial.example/"


_Item = Json
"""A question with paths, of which the first is right; a list may lack that, and then none is to be chosen."""


def bundled() -> Json:
    """Return the questions, terms and facts of the trial, as their file has them."""
    return packaged_toml("retrievers/trial.toml")


def tried_as(model: LanguageModel) -> dict[str, str]:
    """Name what is tried: the server, the model, the prompts; what was found with other prompts says nothing."""
    prompts = "\n".join((READING, RULES, repr(bundled())))
    return {**model.server_and_model, "prompts": hashlib.sha256(prompts.encode()).hexdigest()[:16]}


class Trial:
    """One trial; it ends early where it is decided.

    :param asking: the question before which it is run; what ends that ends the trial with an error.
    """

    def __init__(self, model: LanguageModel, asking: Usage | None = None) -> None:
        self.asked = model
        self.model = model.uncached(reply_tokens=_REPLY)
        within = asking or Usage(Budget(max_seconds=None))
        self.usage = Usage(
            Budget(max_queries=None, max_rows=None, max_seconds=within.budget.max_seconds), cancel=within.cancel,
            stop=within.stop, started=within.started, asking_s=within.asking_s,
        )  # fmt: skip

    @property
    def tokens(self) -> int:
        """What it has taken so far."""
        return self.usage.prompt_tokens + self.usage.completion_tokens

    def run(self) -> Trust:
        """Try the model, and keep what it was found good for.

        :raises KgsparqlError: if it cannot be asked, or the trial was stopped; nothing is kept then.
        """
        items, plans = bundled()["items"], bundled()["plans"]
        right = {}

        def passes(part: str, total: int, results: Iterable[bool]) -> bool:
            tried = []
            for is_right in results:
                tried.append(is_right)
                if tried.count(False) > _ALLOWED_MISSES * total:
                    break
            right[part] = [sum(tried), len(tried)]
            return len(tried) > 0 and total - sum(tried) <= _ALLOWED_MISSES * total

        chooses = passes("lists", len(items), self._list_results(items))
        writes = chooses and passes("plans", len(plans), map(self._writes_plan, plans))
        known = {part: counts for part, counts in right.items() if counts[1]}
        found = self.asked.trust = Trust(chooses, writes, right=known, tokens=self.tokens)
        if self.asked.response_cache is not None:
            keep_trust(tried_as(self.asked), found)
        return found

    def _list_results(self, items: Sequence[_Item]) -> Iterator[bool]:
        for some in in_parts(items, _TOGETHER):
            first = self._chosen_rightly(some, is_turned=False)
            is_lost = first.count(False) > _ALLOWED_MISSES * len(items)
            yield from first if is_lost else map(and_, first, self._chosen_rightly(some, is_turned=True))

    def _chosen_rightly(self, items: Sequence[_Item], *, is_turned: bool) -> list[bool]:
        """Have one line chosen for each question; those of a question stand together, the right one anywhere."""
        places = []
        for number, item in enumerate(items, 1):
            listed = item["paths"][item.get("lacks_it", False) :]
            at = number % len(listed)
            places += [(item, path) for path in listed[at:] + listed[:at]]
        places = places[::-1] if is_turned else places
        asked = " ".join(item["question"] for item in items)
        question = f"Several questions, for each the line that says what it asks, if there is one: {asked}"
        try:
            said = self._reply_with_room(reading_call(question, [path for _, path in places]))
        except ModelReplyError as error:
            if self.model.client.base_url in error.message:  # that is no reply of a model
                raise
            return [False] * len(items)
        chosen = [places[number - 1] for number in said.numbers]
        right = [item["paths"][: not item.get("lacks_it")] for item in items]
        return [[path for own, path in chosen if own is item] == one for item, one in zip_equal(items, right)]

    def _reply_with_room(self, call: Call[T]) -> T:
        """Ask; one that reasons before it replies is given more room, from then on."""
        try:
            return self.model.ask(call, self.usage, ignore)
        except ModelReplyError as error:
            if error.code != "E_LLM_LENGTH" or self.model.reply_tokens >= _REASONED_REPLY:
                raise
        self.model = self.asked.uncached(reply_tokens=_REASONED_REPLY)
        return self.model.ask(call, self.usage, ignore)

    def _writes_plan(self, item: dict[str, str]) -> bool:
        terms = bundled()["terms"].items()
        names = {name: ListedName(IRI(_WORLD + called)) for name, (called, _) in terms}
        names["R2"] = ListedName(names["R2"].term, "number", "m")
        lines = [f"{name} {line}" for name, (_, line) in terms]
        try:
            written = self._reply_with_room(plan_call(item["question"], TermLists(names=names, lines=lines)))
        except ModelReplyError:
            return False
        right = read_plan(arrays_of(item["plan"]), names)
        if not isinstance(written.plan, a.Number):
            return False
        return len({rows_from_facts(plan, compiled(plan), _bundled_facts()) for plan in (written.plan, right)}) == 1


def _bundled_facts() -> Iterator[Triple]:
    for ship, (yard, length, port) in bundled()["facts"].items():
        one, by, at = (IRI(_WORLD + name) for name in (ship, yard, port))
        yield Triple(one, RDF_TYPE, IRI(_WORLD + "Ship"))
        yield Triple(by, RDF_TYPE, IRI(_WORLD + "Shipyard"))
        yield Triple(one, IRI(_WORLD + "builtBy"), by)
        yield Triple(one, IRI(_WORLD + "length"), Literal(length))
        yield Triple(one, IRI(_WORLD + "homePort"), at)


# --- Who is tried, and what follows from it


def use_of(model: LanguageModel) -> str:
    """Say how a model is used, as far as it was tried out."""
    known = model.trust or kept_trust(tried_as(model))
    return "not tried out yet" if known is None else known.in_words


def admitted(model: LanguageModel, usage: Usage, *, required: bool) -> tuple[Trust | None, Note | None]:
    """Find out what a model is good for, where nobody knows it, before a question asks it; say what is news.

    :param required: it is an error if it cannot be tried.
    """
    try:
        while not model.trying.acquire(timeout=_POLL_S):  # whoever asks meanwhile waits for what is found
            usage.check()
        try:
            told = _tried(model, usage)
        finally:
            model.trying.release()
    except KgsparqlError as error:
        if required or usage.cancel.is_set():
            raise
        why = printable(error.message, 300)
        return None, Note("trial", f"{printable(model.name, 60)} could not be tried out, and is not asked: {why}")
    return model.trust, told if model.trust is None or model.trust.chooses else Note("trial", _WORSE)


def _tried(model: LanguageModel, usage: Usage) -> Note | None:
    """Try a model that nobody knows, not again soon after it failed; say what was found."""
    if model.trust is None and model.response_cache is not None:
        model.trust = kept_trust(tried_as(model))
    if model.trust is not None:
        return None
    if model.failed_trial is not None and time.monotonic() - model.failed_trial[0] < _FAILED_S:
        raise model.failed_trial[1]
    trial = Trial(model, usage)
    try:
        words = trial.run().in_words
    except KgsparqlError as error:
        if not (usage.cancel.is_set() or usage.stop.is_set()):
            model.failed_trial = time.monotonic(), error
        raise
    finally:
        usage.trial_tokens = trial.tokens
    about = "on questions that kgsparql brings along"
    return Note(
        "tried", f"{printable(model.name, 60)} was tried out first, with {trial.tokens:,} tokens, {about}: {words}"
    )
