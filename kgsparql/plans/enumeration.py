"""Plans for a question without a model: made from what it names, one operator at a time, and ranked.

Source: enumerating and ranking in place of writing follows Gu et al., "Don't Generate, Discriminate" (ACL 2023),
arXiv:2212.09736; cues, fits and costs are ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.plans.cues import Against, Cues
from kgsparql.plans.item_sets import unfiltered
from kgsparql.plans.operations import Operations
from kgsparql.plans.plan_forms import PlanForms
from kgsparql.plans.readings import CHAINS, Reader, Reading
from kgsparql.plans.type_check import check
from kgsparql.rdf.terms import IRI, Literal

_BEAM = 10
_FURTHER = 3
"""Sets after a step from the best that are followed by another."""
_ANOTHER_CLASS = 0.4
"""What it costs that the items are not of the class that is asked for."""
ACCOUNTED = 0.4
"""How well a word is accounted for, at least, that is not said to be left out."""


@dataclass(frozen=True, slots=True)
class RankedPlan:
    """A plan and how well it fits a question.

    :param score: the share of what is asked that it accounts for, about 1 if that is all, less what speaks against it.
    :param left: places of the words that it does not account for.
    :param silent: its steps that nothing in the question asks for.
    :param is_of_another_class: the question says which class it asks for, and this finds another.
    """

    plan: a.Plan
    score: float
    left: tuple[int, ...] = ()
    silent: int = 0
    is_of_another_class: bool = False


def enumerated_plans(reader: Reader, cues: Cues, *, most: int = 8, found: Reading | None = None) -> list[RankedPlan]:
    """The likeliest plans for a question, the best first.

    :param found: the set that the question is about, where that is known.
    """
    operations = Operations(reader, cues)
    forms = PlanForms(operations)
    ranked: dict[a.Plan, RankedPlan] = {}
    for reading in _sets(reader, operations, cues) if found is None else operations.applied(found):
        for plan, accounted in forms.plans(reading):
            try:
                check(plan)
            except PlanError:
                continue
            made = _ranked(plan, accounted, operations)
            if plan not in ranked or ranked[plan].score < made.score:
                ranked[plan] = made
    return sorted(ranked.values(), key=lambda own: (-own.score, len(str(own.plan)), str(own.plan)))[:most]


def _sets(reader: Reader, operations: Operations, cues: Cues) -> list[Reading]:
    """The sets that the question may be about, with what is asked to be done with them done."""
    starts = reader.starts()
    chains = {next(iter(start.named)): reader.chains(start) for start in starts}
    found = [reading for own in chains.values() for reading in own]
    for one, other in combinations(chains.values(), 2):
        met = [reader.met(x, y) for x in one[:CHAINS] for y in other[:CHAINS]]
        found += sorted((m for m in met if m is not None), key=lambda r: -r.score)[:_BEAM]
    threes = [
        reader.met(x, y) for x in sorted(found, key=lambda r: -r.score)[:_BEAM] if len(x.named) == 2 for y in starts
    ]
    found += [three for three in threes if three is not None]
    found.sort(key=lambda r: (-r.score, str(r.items)))
    others = [one for one in found[2 * _BEAM :] if one.kind == "item" and not _says_focus(one, reader)]
    best = [*starts, *found[: 2 * _BEAM], *(others[: _BEAM // 2] if reader.focus else [])]
    done = [new for one in best for new in operations.applied(one)]
    plain = [one for one in done if len(one.named) == 1 and isinstance(unfiltered(one.items), a.Instances)]
    done.sort(key=lambda r: (-r.score, str(r.items)))
    kept = done[:_BEAM]
    if any(isinstance(cue, Against) for cue in cues.operations):
        plain += [one for one in starts if isinstance(one.items, a.Items)]
    return [*kept, *(one for one in plain if one not in kept), *_of_the_best(done, reader, cues)]


def _of_the_best(done: list[Reading], reader: Reader, cues: Cues) -> list[Reading]:
    """What steps from the largest and the like lead to: one, and two where none leads to what is asked for."""
    tops = [one for one in done if isinstance(one.items, a.Top) and not _says_focus(one, reader)][: _BEAM // 2]
    known = {i for places in (cues.words, *(c.words for c in cues.operations)) for i in places}
    known |= {i for own in reader.named for i in own.words}
    rest = frozenset(reader.words.content) - known
    asked = reader.classes_at(reader.focus)
    after = _best(_of_class(step, asked, reader) for one in tops for step in reader.steps(one, cues.sought, rest))
    if asked and not any(reader.is_of(one, asked) for one in after):
        after += _best(_of_class(step, asked, reader) for one in after[:_FURTHER] for step in reader.steps(one))
    return after


def _of_class(reading: Reading, asked: set[IRI | Literal], reader: Reader) -> Reading:
    """What is asked for of what a step leads to, where only some of it is of the class that is asked for."""
    kinds = [kind for kind in sorted(asked, key=str) if isinstance(kind, IRI) and reader.is_of(reading, {kind})]
    others = [kind for kind in reading.classes if asked.isdisjoint(reader.profiler.with_broader([kind]))]
    return replace(reading, items=a.Both((a.Instances(kinds[0]), reading.items))) if kinds and others else reading


def _says_focus(reading: Reading, reader: Reader) -> bool:
    """Whether a set is already kept by the class that is asked for: those *that studied at a university*.

    Or by one of which only the last word is said: *work*, of a field of work.
    """
    classes = [own for own in reading.named if own.is_class]
    is_by_last_word = any(own.score < 1 and not own.words & reader.after_cues for own in classes)
    return is_by_last_word or any(own.words & reader.focus for own in classes)


def _best(readings: Iterable[Reading]) -> list[Reading]:
    return sorted(readings, key=lambda reading: -reading.score)[:_BEAM]


def _ranked(plan: a.Plan, reading: Reading, operations: Operations) -> RankedPlan:
    reader, cues = operations.reader, operations.cues
    done = [cue.words for number, cue in enumerate(cues.operations) if number in reading.cues]
    said = {i for places in (cues.words, *done) for i in places}
    asked = [i for i in reader.words.content if i not in cues.words]
    fit = sum(1.0 if i in said else reading.fit.get(i, 0.0) for i in asked)
    is_best = isinstance(plan, a.Top) and isinstance(plan.measure, a.Value)
    is_other = (is_best and operations.asks_beyond()) or _is_of_another_class(reading, reader, cues)
    cost = reading.cost + (_ANOTHER_CLASS if is_other else 0.0)
    score = (fit + len(done) + 1 - cost) / (len(asked) + len(cues.operations) + 1)
    left = {i for i in asked if i not in said and reading.fit.get(i, 0.0) < ACCOUNTED}
    missed = {i for number, cue in enumerate(cues.operations) if number not in reading.cues for i in cue.words}
    return RankedPlan(plan, round(score, 4), tuple(sorted(left | missed)), reading.silent, is_other)


def _is_of_another_class(reading: Reading, reader: Reader, cues: Cues) -> bool:
    """Whether the question says which class is asked for, right after `which` or a superlative, and these are no such.

    What is asked for is rather said after `which`: `which university did the oldest laureate attend`.
    """
    after_best = frozenset() if cues.of_best else reader.after_cues
    asked = reader.classes_at(reader.focus) or reader.classes_at(after_best)
    return bool(asked) and not reader.is_of(reading, asked)
