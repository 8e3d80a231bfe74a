"""What held at a time: plans over facts with dates, for what a question says of when, or for now."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.english_forms import is_person
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import PlannedReading, back
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.label_fit import NEAR, LabelFit
from kgsparql.plans.type_check import mapped, parts
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import normalised
from kgsparql.rdf.vocabulary import statement_claim
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import LEFT_OUT, undated
from kgsparql.reading.times import ASKED_TIMES, EVER, TimeSaid, WhileClause, clause_of, times_said, today
from kgsparql.schema.dating import TIME_QUALIFIERS, Dates, dates_called, wikibase_dates

_ORDERED = {
    "first": ("start", False),
    "last": ("start", True),
    "longest": ("years", True),
    "shortest": ("years", False),
}


@frozen
class TimePlanner:
    """Makes plans over facts with dates of plans over all facts."""

    view: KnownGraph
    fit: LabelFit

    def at(self, reading: PlannedReading, asked: Form, said: TimeSaid) -> PlannedReading | None:
        """Return a reading of what held at a time that is said; ``None`` where the graph does not say when it did.

        :param asked: the question without that time.
        """
        reading = self._of_offices(reading, asked)
        if said.kind in ASKED_TIMES:
            return self._when_so(reading, asked, said.kind)
        plan = reading.plan
        others = None if said.clause is None else self._facts_of(said.clause, asked)
        if said.clause is not None and others is None:
            return None
        change = partial(self._at_time, said=said, asked=asked, others=others)
        made = self._over_facts(plan, change)
        if made is None or (said.kind not in {"now", "former"} and self._is_not_told(plan, made)):
            return None
        if said.kind == "now" and isinstance(made, a.ItemSet) and not self.view.has_items(made):
            made = self._over_facts(plan, _last_over)
        return replace(reading, plan=made, others=())

    def with_undated(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Return a reading that leaves a date out, of what has dates elsewhere, as one whose facts are without any."""
        places = {at for said in times_said(asked) if said.days != (0, 0) for at in said.words}
        left = [doubt for doubt in reading.doubts if doubt.template == LEFT_OUT and doubt.position in places]
        ways = [part.path.steps for part in parts(reading.plan) if isinstance(part, a.Ends)] if left else []
        if not any(self._dates_of(step).are_known for steps in ways for step in steps):
            return reading
        return replace(reading, doubts=(undated(), *(doubt for doubt in reading.doubts if doubt not in left)))

    def _of_offices(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Read *who is X*, and *is Ann X*, of what is an office, as who holds it, by the one relation with dates."""
        head = asked.phrase.head
        if reading.plan is None and asked.asks == "ask" and (facts := self._facts_of(clause_of(asked.read), asked)):
            holders = a.Both((a.Ends(facts.start, facts.path), facts.to or facts.start))
            return replace(reading, plan=a.Exists(holders), doubts=(), others=())
        is_bare = not (asked.phrase.restrictions or asked.phrase.of or asked.said)
        is_asked = asked.asks == "set" and asked.phrase.asked in {"who", ""}
        if not (is_asked and is_bare and head is not None and head.entities):
            return reading
        office = a.Items((head.entities[0].term,))
        found = []
        for use in self.view.uses(office):
            ways = self._dated_facts(a.Ends(office, use.path), 0)
            is_of_persons = not use.classes or any(map(is_person, self.fit.names(use.classes)))
            found += [a.Ends(office, use.path)] if ways and is_of_persons else []
        alike = {self.view.members(one) for one in found}  # a node has a name for either end of it
        return replace(reading, plan=found[0], doubts=(), others=()) if len(alike) == 1 else reading

    def now(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Return a reading of what holds now, of a question in the present tense; the last of those that are over."""
        reading = self._of_offices(reading, asked)
        plan = reading.plan
        items = plan.items if isinstance(plan, a.Count) else plan
        if not isinstance(items, a.ItemSet) or not is_present(asked) or len(self.view.members(items)) < 2:
            return reading
        made = self._over_facts(items, _holding_now)
        if made is None:
            return reading
        if not self.view.has_items(made):
            made = self._over_facts(items, _last_over)
        return replace(reading, plan=replace(plan, items=made) if isinstance(plan, a.Count) else made)

    def _at_time(self, facts: a.Held, said: TimeSaid, asked: Form, others: a.Held | None) -> a.ItemSet:
        """Return those of some facts, or of what they lead to, that a time is said of.

        What was just before, or just after, is asked for where it is not asked whether something was at all.

        :param others: facts that held at the same time.
        """
        if others is not None:
            return a.Beside(facts, "while", others)
        first, last = said.days
        day, largest = _ORDERED.get(said.kind, ("", False))
        if day:
            return a.Top(facts, a.When(facts, day), 1, largest)  # type: ignore[arg-type]
        if said.beside is not None:
            thing = a.Items(tuple(name.term for name in said.beside.entities[:1]))
            found: a.ItemSet = a.Beside(facts, said.kind, replace(facts, to=thing))  # type: ignore[arg-type]
            if asked.asks == "ask":
                return found
            found = a.Minus(found, thing)
            return found if said.kind == "while" else a.Top(found, a.When(facts, "start"), 1, said.kind == "before")
        match said.kind:
            case "now":
                return _holding_now(facts)
            case "former":
                return a.Minus(replace(facts, over_by=today()), _holding_now(facts))
            case "since" if asked.phrase.asked == "who":  # who has been so all the time
                return replace(facts, first=today(), last=last)
        held = {
            "in": (first, last, 0), "before": (0, first - 1, 0), "by": (0, last, 0), "after": (last + 1, EVER, 0),
            "since": (first, EVER, 0), "until": (first, EVER, last + 1),
        }.get(said.kind, (0, 0, 0))  # fmt: skip
        return replace(facts, first=held[0], last=held[1], over_by=held[2])

    def _is_not_told(self, plan: Any, made: Any) -> bool:
        """Whether the graph does not say when: nothing held then, and what is not known of may have."""
        items = [own.items if isinstance(own, a.Exists | a.Count) else own for own in (plan, made)]
        if not all(isinstance(one, a.ItemSet) for one in items) or self.view.has_items(items[1]):
            return False
        spans = mapped(items[1], partial(_at_any_time, dates=lambda own: replace(own, at=())))
        if not self.view.has_items(spans):
            return True  # there are only single days, of which others may have been between
        return self.view.has_items(mapped(items[1], _with_undated))

    def _when_so(self, reading: PlannedReading, asked: Form, of: str) -> PlannedReading | None:
        """Ask when it was so of what a question asks whether it was; or of the one relation of two named things."""
        doubts = reading.doubts
        match self._over_facts(reading.plan, lambda facts: facts):
            case a.Exists(a.Both((a.Items() as thing, a.Held() as facts))):
                facts = replace(facts, to=thing)
            case a.Exists(a.Both((a.Held() as facts, a.Items() as thing))):
                facts = replace(facts, to=thing)
            case _:
                found = self._facts_of(clause_of(asked.read), asked)
                if found is None or found.to is None:
                    return None
                facts, doubts = found, ()
        times = a.Times(facts, "start" if of == "years" else of)  # type: ignore[arg-type]
        if not self.view.has_items(a.Top(facts, a.When(facts, "years")) if of == "years" else times):
            return None
        plan = a.SummaryOf("sum", facts.to or facts, a.When(facts, "years")) if of == "years" else times
        return replace(reading, plan=plan, others=(), doubts=doubts)

    def _facts_of(self, clause: WhileClause, asked: Form) -> a.Held | None:
        """The facts of the one relation with dates between two named things, whose name the other words are like."""
        if len(clause.names) != 2:
            return None
        one, other = (a.Items((chunk.entities[0].term,)) for chunk in clause.names)
        said = [text for text in clause.texts if text not in asked.language.light_words]
        found = []
        for use in self.view.uses(one):
            for facts, rest in self._dated_facts(a.Ends(one, use.path), 0):
                if not rest and self.view.has_items(replace(facts, first=-EVER, last=EVER, to=other)):
                    fits = [*self.fit.phrase(said, use.step.predicate)] if said else [NEAR]
                    found += [replace(facts, to=other)] if max(fits, default=0.0) >= NEAR else []
        spans = {self.view.members(a.Times(facts, "span")) for facts in found}  # a node has a name for either end of it
        return found[0] if len(spans) == 1 else None

    def _over_facts(self, plan: Any, change: Callable[[a.Held], a.ItemSet]) -> Any:
        """Change the parts of a plan that go over facts with dates; ``None`` where none does."""
        found: list[a.Held] = []

        def over(part: Any) -> Any:
            if isinstance(part, a.Has) and part.to is not None:
                others = over(a.Ends(part.to, back(part.path)))
                return part if isinstance(others, a.Ends) else a.Both((part.items, others))
            if not isinstance(part, a.Ends):
                return part
            for at in range(len(part.path.steps)):
                for facts, rest in self._dated_facts(part, at):
                    found.append(facts)
                    made = change(facts)
                    return a.Ends(made, PropertyPath(rest)) if rest else made
            return part

        made = mapped(plan, over)
        return made if found else None

    def _dated_facts(self, part: a.Ends, at: int) -> list[tuple[a.Held, tuple[Step, ...]]]:
        """The facts of a step, or over the node that it leads to, if any has a date; and the steps after these."""
        steps = part.path.steps
        start = a.Ends(part.start, PropertyPath(steps[:at])) if at else part.start
        options = []
        if not steps[at].is_repeated and (dates := self._dates_of(steps[at])).are_known:
            options.append((a.Held(start, PropertyPath(steps[at : at + 1]), dates), steps[at + 1 :]))
        elif at + 1 < len(steps) and not (steps[at].is_repeated or steps[at + 1].is_repeated):
            nodes = a.Ends(start, PropertyPath(steps[at : at + 1]))
            dates = self._dates_of_nodes(nodes)
            options.append((a.Held(start, PropertyPath(steps[at : at + 2]), dates), steps[at + 2 :]))
        return [
            own
            for own in options
            if own[0].dates.are_known and self.view.has_items(replace(own[0], first=-EVER, last=EVER))
        ]

    def _dates_of(self, step: Step) -> Dates:
        dated = self.view.profiler.vocabulary.dated.get(step.predicate)
        if dated is not None:
            return dated.dates
        if statement_claim(step.predicate) is None:
            return Dates()
        return wikibase_dates(self.view.profiler.graph.held(frozenset(TIME_QUALIFIERS)))

    def _dates_of_nodes(self, nodes: a.ItemSet) -> Dates:
        """The dates of nodes without names, by what predicates from these to dates or years are called."""
        uses = [use for use in self.view.uses(nodes) if use.step.direction == "forward" and use.kind != "item"]
        dates = [use.step for use in uses if self.view.may_be("time", use)]
        names = [a.Has(nodes, PropertyPath((Step(label),))) for label in self.view.profiler.vocabulary.labels]
        if not dates or any(map(self.view.has_items, names)):
            return Dates()
        labels = self.view.labels([step.predicate for step in dates], in_grace=True)
        found = dates_called((PropertyPath((step,)), normalised(labels[step.predicate])) for step in dates)
        return found if found.began or found.over else Dates()


def _holding_now(facts: a.Held) -> a.Held:
    return replace(facts, first=today(), last=today(), with_undated=True)


def _last_over(facts: a.Held) -> a.Top:
    return a.Top(facts, a.When(facts, "end"), 1, largest=True)


def _with_undated(part: Any) -> Any:
    return replace(part, with_undated=True) if isinstance(part, a.Held) else part


def _at_any_time(part: Any, dates: Callable[[Dates], Dates]) -> Any:
    return (
        replace(part, first=-EVER, last=EVER, over_by=0, dates=dates(part.dates)) if isinstance(part, a.Held) else part
    )


def is_present(asked: Form) -> bool:
    """Tell whether a question is in the present tense."""
    own, texts = asked.language, asked.read.texts
    if not own.past_forms.isdisjoint(texts):
        return False
    has_auxiliary = not own.present_forms.isdisjoint(texts)
    verbs = (texts[at] for said in asked.relations for at in said.verb)
    return has_auxiliary or any(map(own.is_present, verbs))
