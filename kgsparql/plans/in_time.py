"""What held at a time: plans over facts with dates, for what a question says of when, or for now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.english_forms import is_person
from kgsparql.linking.words import roots_of
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import PlannedReading, back
from kgsparql.plans.graph_view import KnownGraph
from kgsparql.plans.label_fit import NEAR, LabelFit
from kgsparql.plans.moments import Moments
from kgsparql.plans.type_check import mapped, parts, parts_of
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.terms import Literal, first_of, normalised
from kgsparql.rdf.vocabulary import RDF_TYPE, statement_claim
from kgsparql.reading.form import Form
from kgsparql.reading.gaps import LEFT_OUT, left_out_at, rival, uncomputed, undated, unsaid
from kgsparql.reading.times import ASKED_TIMES, EVER, TimeSaid, WhileClause, clause_of, days_of, times_said, today
from kgsparql.schema.dating import ITSELF, TIME_QUALIFIERS, Dates, dates_called, wikibase_dates

_ORDERED = {
    "first": ("start", False),
    "last": ("start", True),
    "longest": ("years", True),
    "shortest": ("years", False),
}
_YEAR = 10_000  # between two days, as they are numbered

_Change: TypeAlias = Callable[[Any], a.ItemSet]


@frozen
class TimePlanner:
    """Makes plans over facts with dates of plans over all facts."""

    view: KnownGraph
    fit: LabelFit

    @property
    def moments(self) -> Moments:
        """What finds when something was by the dates of things."""
        return Moments(self.view, self.fit)

    def at(self, reading: PlannedReading, asked: Form, said: TimeSaid) -> PlannedReading | None:
        """Return a reading of what held at a time that is said; ``None`` where the graph does not say when it did.

        :param asked: the question without that time.
        """
        kind = said.kind
        if kind in ASKED_TIMES:
            return self._when_so(self._of_offices(reading, asked, has_time=True), asked, kind)
        others = None if said.clause is None else self._moment_of(said.clause, asked)
        if said.clause is not None and others is None:
            return None
        change: _Change = partial(self._at_time, said=said, asked=asked, others=others)
        ahead: tuple[_Change, ...] = (change,)
        if kind == "now":
            change, ahead = partial(self._current, is_one=_asks_for_one(asked)), _NOW
        if kind == "ordered":
            change, ahead = _at_any_time_or_none, (_at_any_time_or_none,)
        reading = self._of_offices(reading, asked, has_time=True, ahead=ahead)
        plan = reading.plan
        if (said.days != (0, 0) or others or kind in _ORDERED) and any(map(self._has_date, parts_of(plan, a.Has))):
            return None  # mayors that died before 2005
        then = mapped(plan, partial(self._measured_at, change=change))
        made = self._over_facts(then, change, ahead) or (None if then == plan else then)
        if any(not self.view.has_items(one.among) for one in parts_of(then, a.Value) if isinstance(one.among, a.Held)):
            return None
        if kind == "ordered" and isinstance(made, a.Held):
            in_order = a.ItemTable(made, (), order_by=a.When(made), largest_first=False)
            return replace(reading, plan=in_order, others=())
        if made is None or kind == "ordered" or self._path_with_dates(made) or self._is_not_told(plan, made, said):
            return None
        doubts = tuple(one for one in reading.doubts if then == plan or one != rival())  # then, and not at any time
        return replace(reading, plan=made, others=(), doubts=doubts)

    def _measured_at(self, part: Any, change: _Change) -> Any:
        """Return a part of a plan that measures, counts or has only what held at a time."""
        measure, items = getattr(part, "measure", part), getattr(part, "items", None)
        among = getattr(measure, "to", getattr(measure, "among", part))
        if among is None and items is not None and measure.path.is_direct and measure.path.first_step.is_forward:
            for _, facts, _ in self._dated_facts([a.Ends(items, measure.path)], 0, ()):
                if isinstance(held := change(facts), a.Held):
                    is_set = measure is part
                    return replace(part, to=held) if is_set else replace(part, measure=replace(measure, among=held))
        return part

    def _has_date(self, part: a.Has) -> bool:
        """Tell whether a part of a plan is that something has a date, whatever it is, or was born or died."""
        uses = [use for use in self.view.uses(part.items) if use.path == part.path and part.to is None]
        return self.fit.is_of_life(part.path.last) or any(
            u.kind != "item" and self.view.may_be("time", u) for u in uses
        )

    def age(self, said: TimeSaid, asked: Form) -> PlannedReading | None:
        """Read how old something was when it is said, or was so, or is today."""
        rest = range(said.words.stop, len(asked.texts))
        told = first_of(one for one in times_said(asked) if one.words == rest)
        if not rest:
            is_now = not asked.language.present_forms.isdisjoint(asked.texts)
            return self.moments.age(said, asked, None, today() * is_now)
        if told is not None and told.kind == "in" and told.days[1] - told.days[0] < _YEAR:
            return self.moments.age(said, asked, None, told.days[1])
        clause = clause_of(asked.read, said.words.stop) if told is None else told.clause
        moment = None if clause is None else self._moment_of(clause, asked)
        if moment is None or moment.dates.began != moment.dates.over:  # for years, and not on a day
            return None
        return self.moments.age(said, asked, moment, 0)

    def _moment_of(self, clause: WhileClause, asked: Form) -> a.Held | None:
        """The facts that a clause is of: a relation of two named things, or just its beginning or end; or a date."""
        own, said = asked.language, {*clause.texts}
        facts = self._facts_of(clause, asked)
        if facts is None:
            thing = a.Items((clause.names[0].entities[0].term,))
            empty = own.light_words.union(own.pronouns, own.auxiliaries, own.making)
            told = [text for text in clause.texts if text not in empty]
            return self.moments.of_thing(thing, told)
        if said.isdisjoint(own.becoming | own.entering | own.leaving):
            return facts
        dates = facts.dates.over if said & own.leaving else facts.dates.began
        return replace(facts, dates=Dates(dates, dates)) if dates else None

    def ever(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Return a reading of what held at any time: of an office, who held it."""
        return self._of_offices(reading, asked, has_time=True)

    def with_undated(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Return a reading that leaves a date out, of what has dates elsewhere, as one whose facts are without any."""
        places = {at for said in times_said(asked) if said.days != (0, 0) for at in said.words}
        left = [doubt for doubt in reading.doubts if doubt.template == LEFT_OUT and doubt.position in places]
        ways = [part.path.steps for part in parts(reading.plan) if isinstance(part, a.Ends)] if left else []
        if not any(self._dates_of(step).are_known for steps in ways for step in steps):
            return reading
        return replace(reading, doubts=(undated(), *(doubt for doubt in reading.doubts if doubt not in left)))

    def with_dates_left_out(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Return a reading that doubts the dates which nothing in its plan is by."""
        written = repr(reading.plan)
        for chunk in asked.read.chunks:
            days = None if chunk.entities else days_of(chunk)
            years = {day // 10_000 + more for day in days or () for more in (-1, 0, 1)}  # after 2009: from 2010
            told = {doubt.position for doubt in reading.doubts}
            is_number = any(f"{year}.0" in written for year in years)  # the mayor of Arnsby, or of 2010
            is_by = any(str(year) in written for year in years) and not is_number
            if years and not is_by and told.isdisjoint(chunk.span):
                reading = reading.doubted(*left_out_at(chunk.span))
        return reading

    def _of_offices(
        self, reading: PlannedReading, asked: Form, *, has_time: bool, ahead: Sequence[_Change] = ()
    ) -> PlannedReading:
        """Read *who is X*, and *is Ann X*, of what is an office, as who holds it, by the one relation with dates."""
        phrase = asked.phrase
        head, facts = phrase.head, None
        if reading.plan is None and asked.asks == "ask":
            facts = self._facts_of(clause_of(asked.read), asked)
        if facts is not None and self._is_office(facts.path, asked):
            holders = a.Both((facts.ends, facts.to or facts.start))
            return replace(reading, plan=a.Exists(holders), doubts=(), others=())
        is_bare = len(phrase.chunks) == 1 and not (phrase.restrictions or phrase.of or asked.said)
        is_asked = asked.asks == "set" and phrase.asked in {"who", "" if has_time else "who"}
        if not (is_asked and is_bare and head is not None and head.entities):
            return reading
        office = a.Items((head.entities[0].term,))
        uses = {a.Ends(office, use.path): use for use in self.view.uses(office) if self._is_office(use.path, asked)}
        dated = dict.fromkeys(part for part, _, _ in self._dated_facts([*uses], 0, ahead))
        found = [
            part for part in dated if not (kinds := uses[part].classes) or any(map(is_person, self.fit.names(kinds)))
        ]
        # A node has a name for either end of it.
        is_one = len(found) == 1 or len({self.view.members(one) for one in found}) == 1
        left = [one for one in reading.doubts if one.template == LEFT_OUT and one.position not in head.span]
        return replace(reading, plan=found[0], doubts=tuple(left), others=()) if is_one else reading

    def _is_office(self, path: PropertyPath, asked: Form) -> bool:
        """Whether a predicate is called as what leads to or from an office: position held, incumbent."""
        offices = roots_of(asked.language.office_words)
        return any(not offices.isdisjoint(self.fit.label_roots(step.predicate)) for step in path.steps)

    def now(self, reading: PlannedReading, asked: Form) -> PlannedReading:
        """Return a reading of what holds now, of a question in the present tense; doubted where that is not told apart.

        Of one that is asked for, as the mayor is, who was the last, where all are over.
        """
        reading = self._of_offices(reading, asked, has_time=False, ahead=_NOW)
        plan = reading.plan
        is_single = isinstance(plan, a.Ends | a.Both) and len(self.view.members(plan)) < 2
        if plan is None or is_single or not is_present(asked):
            return reading
        is_one = isinstance(plan, a.ItemSet) and _asks_for_one(asked)
        over, dated = list[a.Held](), list[a.Held]()

        def current(facts: a.Held) -> a.ItemSet:
            dated.append(facts)
            is_last = self._are_numbers(facts) and not isinstance(plan, a.Count)
            if not (self.view.has_items(_spans_of(facts)) or is_last):  # events of one day
                return facts.ends
            found = self._current(facts, is_one=is_one or self._are_numbers(facts))
            if isinstance(found, a.Held) and not isinstance(plan, a.Condition) and not self.view.has_items(found):
                over.append(facts)  # all that there are: whether they are meant is in doubt
                return facts.ends
            return found

        made = self._over_facts(plan, current, _NOW)
        now, ever = (one.items if isinstance(one, a.Count) else one for one in (made, plan))
        is_none = isinstance(now, a.ItemSet) and now != ever and not (is_one or self.view.has_items(now))
        if is_none and isinstance(ever, a.ItemSet) and self.view.has_items(ever):
            made, over = plan, dated  # none of today's: so all that there are
        ending = self._path_with_dates(plan if made is None else made) or next((one.dates.over for one in over), ())
        doubts = tuple(unsaid(self.fit.text(path.last)) for path in ending[:1])
        if made in {None, plan} and not doubts:
            return reading
        return replace(reading.doubted(*doubts), plan=plan if made is None else made)

    def _current(self, facts: a.Held, *, is_one: bool) -> a.ItemSet:
        """Return what holds now of some facts; of one that is asked for, the last, where all are over."""
        now = _holding_now(facts)
        return _last_over(facts) if is_one and not self.view.has_items(now) else now

    def _are_numbers(self, facts: a.Held) -> bool:
        """Whether facts lead from one thing to numbers and other values: these are so until there are others."""
        some = self.view.profiler.sample(facts.ends)[:5]
        is_of_one = isinstance(facts.start, a.Items) and len(facts.start.terms) == 1
        return is_of_one and bool(some) and all(isinstance(one, Literal) for one in some)

    def _path_with_dates(self, plan: Any) -> tuple[PropertyPath, ...]:
        """The paths to the ends of facts that a plan measures, counts or lacks without their dates; none else."""
        kinds = a.Value | a.HowMany | a.Summarised | a.Has | a.Lacks | a.Grouped | a.BestOfEach
        found = (part for part in parts(plan) if isinstance(part, kinds))
        found = (one for one in found if not isinstance(getattr(one, "to", getattr(one, "among", None)), a.Held))
        paths = (part.key if isinstance(part, a.Grouped | a.BestOfEach) else part.path for part in found)
        known = (self.view.vocabulary.dated.get(predicate) for path in paths for predicate in path.predicates)
        return next((own.dates.over for own in known if own is not None and own.dates.over), ())

    def _at_time(self, facts: a.Held, said: TimeSaid, asked: Form, others: a.Held | None) -> a.ItemSet:
        """Return those of some facts, or of what they lead to, that a time is said of.

        What was just before, or just after, is asked for where it is not asked whether something was at all.

        :param others: facts that held at the same time.
        """
        kind = said.kind
        if others is not None:
            return a.Beside(facts, kind, others)  # type: ignore[arg-type]
        first, last = said.days
        day, largest = _ORDERED.get(kind, ("", False))
        if day:
            return a.Top(facts, a.When(facts, day), 1, largest)  # type: ignore[arg-type]
        if said.beside is not None:
            thing = a.Items(tuple(name.term for name in said.beside.entities[:1]))
            found: a.ItemSet = a.Beside(facts, kind, replace(facts, to=thing))  # type: ignore[arg-type]
            if asked.asks == "ask":
                return found
            found = a.Minus(found, thing)
            is_any = kind == "while" or not _asks_for_one(asked)
            return found if is_any else a.Top(found, a.When(facts, "start"), 1, kind == "before")
        if kind == "previous":
            return a.Top(replace(facts, over_by=today()), a.When(facts, "end"), 1, largest=True)
        if kind == "former":
            return a.Minus(replace(facts, over_by=today()), _holding_now(facts))
        is_all = kind == "since" and (asked.phrase.asked == "who" or asked.asks == "ask")
        opening = first // 10_000 * 10_000 + 101
        days = {
            "in": (first, last), "before": (0, first - 1), "by": (0, last), "after": (last + 1, EVER),
            "since": (today(), last) if is_all else (first, EVER),  # who has been so all the time
            "until": (first, EVER, last + 1), "throughout": (last, first),
            "opening": (opening, opening), "closing": (last, last),
        }.get(kind, ())  # fmt: skip
        first, last, over_by = (*days, 0, 0, 0)[:3]
        if said.is_beginning and kind in {"in", "after", "since"}:  # who became mayor then
            begun, when = replace(facts, first=-EVER, last=EVER), a.When(facts, "start")
            return a.Where(a.Where(begun, when, ">=", Literal(first)), when, "<=", Literal(last))
        return replace(facts, first=first, last=last, over_by=over_by)

    def _is_not_told(self, plan: Any, made: Any, said: TimeSaid) -> bool:
        """Whether the graph does not say when: nothing held then, and what is not known of may have."""
        if said.kind in {"now", "former", "previous"}:
            return False
        items, then = (own.items if isinstance(own, a.Exists | a.Count) else own for own in (plan, made))
        if not (isinstance(items, a.ItemSet) and isinstance(then, a.ItemSet)) or self.view.has_items(then):
            return False
        spans, undated = then.facts if isinstance(then, a.Beside) else then, mapped(then, _with_undated)
        self.view.look_for_items((spans := mapped(spans, _spans_of), undated))
        # Of single days alone, others may have been between.
        return not self.view.has_items(spans) or self.view.has_items(undated)

    def _when_so(self, reading: PlannedReading, asked: Form, of: str) -> PlannedReading | None:
        """Ask when it was so of what a question asks whether it was; or of the one relation of two named things."""
        doubts, is_long = reading.doubts, of == "years"

        def when(facts: a.Held) -> a.ItemSet:
            return a.Top(facts, a.When(facts, "years")) if is_long else a.Times(facts, of)  # type: ignore[arg-type]

        thing = first_of(one for one in parts(reading.plan) if isinstance(one, a.Items))
        ahead: tuple[_Change, ...] = (partial(replace, to=thing), lambda facts: when(replace(facts, to=thing)))
        match self._over_facts(reading.plan, lambda facts: facts, ahead):
            case a.Exists(a.Both((a.Items() as to, a.Held() as facts))) | a.Exists(
                a.Both((a.Held() as facts, a.Items() as to))
            ):
                facts = replace(facts, to=to)
            case _:
                found = self._facts_of(clause_of(asked.read), asked)
                if found is None or found.to is None:
                    return None
                facts, doubts = found, ()
        times = when(facts)
        self.view.look_for_items((facts, times))
        if not self.view.has_items(facts):
            return None
        if not self.view.has_items(times):
            return replace(reading, plan=facts, others=(), doubts=(*doubts, undated()))
        doubts += (uncomputed("", "how long"),) if is_long and self._overlap(facts) else ()
        plan = a.SummaryOf("sum", facts.to or facts, a.When(facts, "years")) if is_long else times
        return replace(reading, plan=plan, others=(), doubts=doubts)

    def _overlap(self, facts: a.Held) -> bool:
        """Whether some facts begin before others are over, by the order of the dates: their years are not added."""
        moments: tuple[a.Moment, ...] = ("start", "end")
        times = ((of, date) for of in moments for date in self.view.members(a.Times(facts, of)))
        dates = sorted((date.value, of == "start") for of, date in times if isinstance(date, Literal))
        return any(is_start == bool(at % 2) for at, (_, is_start) in enumerate(dates))

    def _facts_of(self, clause: WhileClause, asked: Form) -> a.Held | None:
        """The facts of the one relation with dates between two named things, whose name the other words are like."""
        if len(clause.names) != 2:
            return None
        one, other = (a.Items((chunk.entities[0].term,)) for chunk in clause.names)
        own, found = asked.language, list[a.Held]()
        said = [text for text in clause.texts if text not in own.light_words.union(own.pronouns, own.becoming)]
        uses = {a.Ends(one, use.path): use for use in self.view.uses(one)}
        for part, facts, rest in self._dated_facts([*uses], 0, (partial(_leading_to, to=other),)):
            if not rest and self.view.has_items(_leading_to(facts, other)):
                fits = [*self.fit.phrase(said, uses[part].predicate)] if said else [NEAR]
                found += [replace(facts, to=other)] if max(fits, default=0.0) >= NEAR else []
        spans = {self.view.members(a.Times(facts, "span")) for facts in found}  # a node has a name for either end of it
        return found[0] if len(spans) == 1 else None

    def _over_facts(self, plan: Any, change: Callable[[a.Held], a.ItemSet], ahead: Sequence[_Change]) -> Any:
        """Change the parts of a plan that go over facts with dates; ``None`` where none does.

        :param ahead: what these will be changed to, so that an endpoint is asked for it in the same query.
        """
        found = list[a.Held]()

        def over(part: Any) -> Any:
            if isinstance(part, a.Has) and not isinstance(part.to, a.Held | None):
                others = over(a.Ends(part.to, back(part.path)))
                return part if isinstance(others, a.Ends) else a.Both((part.items, others))
            if isinstance(part, a.Instances) and RDF_TYPE in self.view.vocabulary.dated:
                dated = over(a.Ends(a.Items((part.of,)), Step(RDF_TYPE, "inverse").path))
                return part if isinstance(dated, a.Ends) else dated
            if not isinstance(part, a.Ends):
                return part
            for at in range(len(part.path.steps)):
                for _, facts, rest in self._dated_facts([part], at, ahead):
                    found.append(facts)
                    made = change(facts)
                    return a.Ends(made, PropertyPath(rest)) if rest else made
            return part

        made = mapped(plan, over)
        return made if found else None

    def _dated_facts(
        self, some: Sequence[a.Ends], at: int, ahead: Sequence[_Change]
    ) -> list[tuple[a.Ends, a.Held, tuple[Step, ...]]]:
        """The facts of a step, or over the node that it leads to, if any has a date; and the steps after these."""
        options = []
        for part in some:
            steps = part.path.steps
            start = a.Ends(part.start, PropertyPath(steps[:at])) if at else part.start
            if not steps[at].is_repeated and (dates := self._dates_of(steps[at])).are_known:
                options.append((part, a.Held(start, PropertyPath(steps[at : at + 1]), dates), steps[at + 1 :]))
            elif at + 1 < len(steps) and not (steps[at].is_repeated or steps[at + 1].is_repeated):
                nodes = a.Ends(start, PropertyPath(steps[at : at + 1]))
                facts = a.Held(start, PropertyPath(steps[at : at + 2]), self._dates_of_nodes(nodes))
                options += [(part, facts, steps[at + 2 :])] if facts.dates.are_known else []
        asked = ahead if self.view.profiler.graph.is_remote else ()
        self.view.look_for_items(change(own) for _, own, _ in options for change in (_at_any_time, *asked))
        return [own for own in options if self.view.has_items(_at_any_time(own[1]))]

    def _dates_of(self, step: Step) -> Dates:
        if (dated := self.view.vocabulary.dated.get(step.predicate)) is not None:
            return dated.dates
        is_claimed = statement_claim(step.predicate) is not None
        return wikibase_dates(self.view.profiler.graph.held(frozenset(TIME_QUALIFIERS))) if is_claimed else Dates()

    def _dates_of_nodes(self, nodes: a.ItemSet) -> Dates:
        """The dates of nodes without names, by what predicates from these to dates or years are called."""
        view = self.view
        known, kinds = view.vocabulary, view.classes_in(nodes)
        for relation, ways in known.joined.items():
            if any(way.office is not None and way.kind in kinds for way in ways):
                return known.dated[relation].dates
        uses = [use for use in view.uses(nodes) if use.step.is_forward and use.kind != "item"]
        dates = [use.step for use in uses if view.may_be("time", use)]
        names = [a.Has(nodes, Step(label).path) for label in view.vocabulary.labels]
        if not dates or any(map(view.has_items, names)):
            return Dates()
        labels = view.labels([step.predicate for step in dates], in_grace=True)
        found = dates_called((step.path, normalised(labels[step.predicate])) for step in dates)
        return found if found.began or found.over else Dates()


def _holding_now(facts: a.Held) -> a.Held:
    return replace(facts, first=today(), last=today(), with_undated=True)


def _last_over(facts: a.Held) -> a.Top:
    begun = replace(facts, last=today(), with_undated=True)
    return a.Top(begun, a.When(begun, "end"), 1, largest=True)


def _asks_for_one(asked: Form) -> bool:
    """Tell whether one thing is asked for by its noun: the mayor, and no films."""
    noun = asked.words(asked.noun)
    return asked.asks == "set" and not noun.endswith("s")


def _with_undated(part: Any) -> Any:
    return replace(part, with_undated=True) if isinstance(part, a.Held) else part


def _at_any_time(part: Any) -> Any:
    return replace(part, first=-EVER, last=EVER, over_by=0) if isinstance(part, a.Held) else part


def _at_any_time_or_none(facts: a.Held) -> a.Held:
    return replace(facts, first=-EVER, last=EVER, with_undated=True)


def _leading_to(facts: a.Held, to: a.ItemSet) -> a.Held:
    return replace(facts, first=-EVER, last=EVER, to=to)


def _spans_of(part: Any) -> Any:
    """Return those facts that began and were over, and did not happen on a day."""
    is_date = not isinstance(part, a.Held) or part.dates == ITSELF
    return part if is_date else _at_any_time(replace(part, dates=replace(part.dates, at=())))


_NOW: tuple[_Change, ...] = (_spans_of, _holding_now)
"""What will be asked of facts for what holds now."""


def is_present(asked: Form) -> bool:
    """Tell whether a question is in the present tense; who *has owned* something may own it no more."""
    own, texts = asked.language, asked.texts
    if not own.past_forms.isdisjoint(texts):
        return False
    named = asked.read.named
    if any(own.is_participle(text) for at, text in enumerate(texts) if at not in named):
        return not own.be_forms.isdisjoint(texts)  # is owned by
    verbs = [texts[at] for said in asked.relations for at in said.verb]
    is_finite = any(own.is_present(verb) or f"{verb}s" in own.verbs for verb in verbs)  # owns, own
    return is_finite or not own.present_forms.isdisjoint(texts)
