"""Plans of what is asked of each of some things: how many each has, the average of each, several values of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import cast

from kgsparql.linking.english_forms import singular
from kgsparql.linking.words import root, roots_of
from kgsparql.plans import algebra as a
from kgsparql.plans.adapting import summarised
from kgsparql.plans.columns import Columns, Ordering
from kgsparql.plans.denotation import (
    Denotation,
    Match,
    PlannedReading,
    Rel,
    back,
    best,
    ends,
    unplanned,
    way_back,
)
from kgsparql.plans.phrases_on_graph import OnPhrases, Phrases
from kgsparql.plans.type_check import parts
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, first_of
from kgsparql.reading.clauses import Chunk, NounPhrase, Predication, Restriction, Superlative
from kgsparql.reading.gaps import left_out_at, quoted, rival, uncomputed

_KEYS, _COUNTED, _PARTS, _TRIED = 3, 3, 6, 2
_COLUMN = "value"


class TablePlanner(OnPhrases):
    """Plans the tables of one question: a row for each item of a set, with what is asked of it."""

    def __init__(self, phrases: Phrases) -> None:
        super().__init__(phrases)
        self.ordering, self.beside, columns = Ordering(phrases), Columns(phrases), phrases.question.columns
        # `Show the town and the number`, beside the town with the most bakeries: what was measured.
        self.columns = tuple(one for one in columns if one.of or not self.beside.is_counted(one))
        is_counted = phrases.question.asks == "count"
        self.asks_value = phrases.question.asks_value or (len(self.columns) < len(columns) and not is_counted)

    def plan(self, each: NounPhrase) -> PlannedReading:
        """The likeliest table, or one number where something is summed up over all of it."""
        question, phrase, keys = self.question, self.question.phrase, self._keys(each)
        found = list[PlannedReading]()
        for key in keys:
            columns = [one for one in self.columns if not (self.beside.is_key(one, key) or _is_again(one, phrase))]
            if (best := self.asks_best(each)) is not None:
                found += self._best_of(key, *best)
            elif question.asks == "count":
                numbers = [*self._numbers(key, each)]
                # The number of nights per ward: those of its stays together; but no numbers of channels.
                if not (phrase.head and phrase.head.classes) and all(one.doubts for one in numbers):
                    summed = replace(phrase, summary=(0, question.summary or "sum"))
                    numbers = [*self._summaries(key, each, summed)] or numbers
                found += map(self._with_columns_asked, numbers)
            elif question.asks == "share":
                found += self._shares(key, each)
            elif any(one.summary for one in columns) and all(map(self._is_number, columns)):
                own = [phrase] if self._is_number(phrase) else []
                found += self._several_numbers(key, each, [*own, *columns])
            elif self.columns and (columns or phrase.summary is None):
                found.append(self.beside.of(key, self.columns, names_stand=True))
            elif phrase.summary is not None:
                found += self._summaries(key, each, phrase)
        is_other = self.columns and phrase is not each and phrase.head is not None and bool(phrase.head.classes)
        left = sorted(phrase.positions) if is_other and question.asks == "set" and not phrase.summary else []
        return _likeliest(found).doubted(*left_out_at(left))  # the name of the shop, and how many for each colour

    def _with_columns_asked(self, found: PlannedReading) -> PlannedReading:
        """A table of numbers with what is asked for besides: `show the shop name as well`."""
        table, columns = found.plan, [one for one in self.columns if not self.beside.is_counted(one)]
        if not columns or not isinstance(table, a.ItemTable):
            return found
        beside = self.beside.of(Denotation(table.items), columns, names_stand=True)
        shown = beside.plan if isinstance(beside.plan, a.ItemTable) else replace(table, columns=())
        made = replace(table, columns=(*shown.columns, *table.columns), shows_items=shown.shows_items)
        return replace(found.doubted(*beside.doubts), plan=made)

    def _keys(self, each: NounPhrase) -> list[Denotation]:
        """What there is a row for: a class, or whatever a predicate of that name leads to, rather than a synonym."""
        found = self.phrases.denotations(each)[:_KEYS]
        named = [own for one in found if one.is_free and (own := self.word_set(one)) is not None]
        is_class = each.head is not None and bool(each.head.classes)
        classes = self.predicating.settled_of(found)
        return named if named and not is_class else classes or named

    # --- the best of each

    def asks_best(self, each: NounPhrase) -> tuple[NounPhrase, NounPhrase, Superlative] | None:
        """The things of which the best of each is asked for, what it is the best by, and which it is."""
        phrase, best = self.question.phrase, self.question.phrase
        said = tuple(one for one in phrase.restrictions if not _has(one, each))
        for one in said if best.superlative is None else ():
            if isinstance(one, Predication) and one.object and (one.object.superlative or one.object.most):
                best, said = one.object, tuple(own for own in said if own is not one)
        extreme = best.superlative or (Superlative(*best.most) if best.most else None)
        if extreme is None or self.question.asks != "set" or self.columns:
            return None
        of = None if phrase.of is each else phrase.of
        nouns = phrase.chunks or best.chunks  # which was the first prize
        return replace(phrase, chunks=nouns, superlative=None, restrictions=said, of=of), best, extreme

    def _best_of(
        self, key: Denotation, things: NounPhrase, by: NounPhrase, extreme: Superlative
    ) -> Iterator[PlannedReading]:
        for thing in self.phrases.settled(things)[:_KEYS]:
            ways = self.connector.connect(key, Rel(preposition="of", wanted=thing))[:_TRIED]
            positions = self.positions(by.chunks) if by.chunks != things.chunks else ()
            options = self.measuring.measures(thing, positions, extreme.measures, counts=bool(positions))
            for one in ways:
                path = back(one.path)
                for option in options[:1]:
                    plan = a.BestOfEach(thing.known, path, option.measure, extreme.is_largest != option.is_turned)
                    yield one.doubted(*thing.doubts).reading(plan, option.score + thing.score, Match(_COLUMN, path))

    # --- how many of each

    def _numbers(self, key: Denotation, each: NounPhrase) -> Iterator[PlannedReading]:
        """How many each has: a number that the graph states, or what is counted along a path."""
        for one, measure in [*self._stated(key)] or [*self._counted(key, each, self.question.phrase)]:
            way = a.Has(key.known, measure.path, None) if isinstance(measure, a.HowMany) else key.known
            plan = _table(key.known, measure, "number")
            summed = a.SummaryOf(self.question.summary, key.known, measure) if self.question.summary else plan
            yield one.doubted(*self.phrases.restricting.of_no_such_thing(way)).reading(summed)

    def _shares(self, key: Denotation, each: NounPhrase) -> Iterator[PlannedReading]:
        """What percentage of all that is counted each has."""
        phrase, said = self.question.phrase, self.question.said
        for one, measure in self._counted(key, each, phrase.restricted(*said)):
            if isinstance(measure, a.HowMany) and measure.among is not None:
                share = a.Calculated("/", measure, a.Count(measure.among))
                share = a.Calculated("*", share, a.Constant(Decimal(100)))
                yield one.reading(_table(key.known, share, "percent"))

    def _stated(self, key: Denotation) -> Iterator[tuple[Denotation, a.Measure]]:
        """A predicate that is called the `number of` what is counted, or as that is and leads to a number."""
        phrase, fit = self.question.phrase, self.fit
        if phrase.restrictions and not all(isinstance(one, Predication) and one.light for one in phrase.restrictions):
            return
        positions = self.positions(phrase.chunks)
        said = " ".join(self.connector.at(positions))
        called = roots_of((*self.lexicon.count_words, *self.connector.at(positions)))
        near = [one for one in self.measuring.measures(key, positions) if one.path.is_direct]
        for option in near[:_TRIED]:
            own = fit.label_roots(option.last)
            is_plural = option.kind == "number" and fit.text(option.last) == said != singular(said)  # `frames 10`
            if is_plural or (own <= called and own & roots_of(self.lexicon.count_words)):
                yield replace(key, how=(*key.how, Match("number", option.path))), option.measure

    def _counted(self, key: Denotation, each: NounPhrase, phrase: NounPhrase) -> Iterator[tuple[Denotation, a.Measure]]:
        """What is counted of each item of a set, along a path that is said or goes without saying."""
        said = first_of(one for one in phrase.restrictions if isinstance(one, Predication) and _has(one, each))
        if said is None and phrase.of is each:  # how many of each
            said, phrase = Predication(light="have", subject=each), replace(phrase, of=None, of_form="")
        if said is None:
            return
        rest = tuple(one for one in phrase.restrictions if one is not said)
        things = self.phrases.denotations(replace(phrase, restrictions=rest))[:_COUNTED]
        for thing in self.predicating.settled_of(things) or things:
            back = way_back(key.known, thing.items)
            if back is not None and not self.measuring.unsaid_by(back, said.verb):
                yield replace(key, score=key.score + thing.score, doubts=thing.doubts), a.HowMany(back, thing.items)
                continue  # the diets that recipes have: how many recipes each
            found = best((one for one in self.phrases.with_argument(thing, said, key, each) if one.how), _TRIED)
            names = [quoted(self.fit.text(one.last)) for one in found[:2]] if self.are_open(found) else []
            own = key.known.path.last if isinstance(key.known, a.Ends) else None
            for one in found:
                ways = [own, one.path.first_step.predicate]
                if own not in {None, ways[1]} and self.view.profiler.at_ends(own).kind != "item":
                    names = [quoted(self.fit.text(way)) for way in ways]  # songs in each year of concerts
                yield one.doubted(*([rival(*names)] if names else [])), a.HowMany(one.path, thing.items)

    # --- a number of each

    def _several_numbers(
        self, key: Denotation, each: NounPhrase, nouns: Sequence[NounPhrase]
    ) -> Iterator[PlannedReading]:
        """Several numbers of each, side by side: `the average and maximum age for each type`."""
        made = dict[str, a.Column]()
        readings = list[PlannedReading]()
        for noun in nouns:
            if noun.summary:
                one = first_of(self._summaries(key, each, noun))
                if one is None or not isinstance(one.plan, a.ItemTable) or one.plan.items != key.known:
                    return
                column = replace(one.plan.columns[0], name=self._summary_name(noun))
            else:
                of = noun.of or noun
                is_said = any(_has(one, each) for one in of.restrictions)
                of = of if is_said else of.restricted(Predication(light="have", subject=each))
                counted = first_of(self._counted(key, each, of))
                if counted is None:
                    return
                one, column = counted[0].reading(key.known), a.Column("number", counted[1], optional=True)
            made[column.name] = column
            readings.append(one)
        doubts = [doubt for one in readings for doubt in one.doubts]
        yield replace(readings[0], plan=a.ItemTable(key.known, tuple(made.values()))).doubted(*doubts)

    def _is_number(self, noun: NounPhrase) -> bool:
        return bool(noun.summary) or (noun.of is not None and self.beside.is_counted(noun))

    def _summary_name(self, noun: NounPhrase) -> str:
        """What a number is called as it is asked for: `average age`."""
        word = self.texts[noun.summary[0]] if noun.summary else ""
        return f"{word} {' '.join(chunk.text for chunk in noun.chunks)}".strip()

    def _side_by_side(self, found: Denotation) -> PlannedReading:
        """Several numbers of a set, in one row: `the average, the lowest and the highest age of the singers`."""
        columns = list[a.Column]()
        left = list[int]()
        for noun in self.columns:
            positions = self.positions([*noun.chunks, *(noun.of.chunks if noun.of is not None else ())])
            options = [one.measure for one in self.measuring.measures(found, positions) if one.kind == "number"]
            counted = None if options else self.beside.counted(found, noun)
            if not (options or counted) or noun.summary is None:
                left += positions
                continue
            measure = cast("a.Measure", counted.measure) if counted else options[0]
            total = a.SummaryOf(noun.summary[1], found.known, measure)
            columns.append(a.Column(self._summary_name(noun), total))
        if not columns:
            return unplanned()
        return PlannedReading(a.Numbers(tuple(columns)), found.score, (*found.doubts, *left_out_at(left)))

    def _summaries(self, key: Denotation, each: NounPhrase, phrase: NounPhrase) -> Iterator[PlannedReading]:
        """The average, the sum … of the values that each has, itself or by what belongs to it.

        :param phrase: the noun of the values, and how they are summed up.
        """
        known = key.known
        owner, summary = phrase.of if phrase.of is not each else None, (phrase.summary or (0, "sum"))[1]
        of = known.start if isinstance(known, a.Ends) and isinstance(known.start, a.Instances) else None
        ways = [(key, PropertyPath(()))]
        start, back, things = key, None if of is None else way_back(known, of), list[Denotation]()
        if owner is not None:
            bare = replace(owner, restrictions=tuple(one for one in owner.restrictions if not _has(one, each)))
            things = [one for one in self.phrases.denotations(bare)[:_COUNTED] if not one.is_free]
            rels = [Rel(preposition="of", wanted=thing) for thing in things]
            ways = [(one, one.path) for rel in rels for one in self.connector.connect(key, rel)[:_TRIED]]
        if back is not None and (owner is None or any(one.known == of for one in things)):
            ways, start = [(key, back)], Denotation(of)  # the diets that recipes have: of the recipes of each
        for one, way in ways:
            measured = start if start is not key or owner is None else Denotation(ends(known, way))
            for option in self.measuring.measures(measured, self.positions(phrase.chunks))[:_TRIED]:
                is_number = bool(phrase.chunks) and self.texts[phrase.chunks[0].start] in self.lexicon.count_words
                if is_number and not way.steps and isinstance(option.measure, a.Value):
                    yield one.reading(a.SummaryOf(summary, known, option.measure))  # the number per prize
                elif isinstance(option.measure, a.Value):
                    path = PropertyPath((*way.steps, *option.path.steps))
                    measure = summarised(summary, option.measure, path)
                    yield one.reading(_table(known, measure, _COLUMN), option.score, Match(_COLUMN, path))

    # --- several values of each

    def listed(self) -> PlannedReading | None:
        """A list with values of each: `the films with their years`; ``None`` where no such list is asked for."""
        phrase, columns = self.question.phrase, [*self.columns]
        kept: tuple[Restriction, ...] = ()
        for said in phrase.restrictions:
            nouns = self._nouns_beside(said)
            columns += nouns
            kept += () if nouns else (said,)
        if not columns:
            return None
        if not (
            phrase.chunks or phrase.parts or phrase.of or kept
        ):  # the lowest and the highest price: of what has one
            kind = self.measured_class(self.positions(columns[0].chunks))
            phrase = phrase if kind is None else _all_of(kind)
        found, stand = self.phrases.settled(replace(phrase, restrictions=kept))[:_KEYS], bool(self.columns)
        if all(one.summary for one in columns):
            rows = map(self._side_by_side, found)
            return max(rows, key=lambda own: (not own.doubts, own.score), default=None)
        tables = [self.beside.of(one, columns, names_stand=stand) for one in found]
        if not (stand or all(one.is_theirs for one in columns)):  # else they are kept by it
            tables = [own for own in tables if not own.doubts and not _leads_to_items(own.plan)]
        likeliest = max(tables, key=lambda own: own.score, default=None)
        if likeliest is not None and likeliest.doubts and (kind := self._class_of_field(columns[0])) is not None:
            others = Predication(light="be", preposition="of", object=replace(phrase, asked=""))
            for one in self.phrases.settled(_all_of(kind, others))[:1]:  # the paragraph ids and texts of a document
                table = self.beside.of(one, columns, names_stand=True)
                return likeliest if table.doubts else table
        return likeliest

    def field_of_class(self, phrase: NounPhrase) -> NounPhrase | None:
        """Take the loaf prices of a bakery for those of its loaves; None where more is said: that it has the most."""
        of = () if phrase.of is None else (Predication(light="be", preposition="of", object=phrase.of),)
        said = (*of, *phrase.restrictions)
        kind = self._class_of_field(phrase) if said and all(map(_is_plain, said)) else None
        if kind is None:
            return None
        nouns = tuple(one for one in phrase.chunks if not one.classes) or phrase.chunks
        return replace(phrase, chunks=nouns, of=_all_of(kind, *said), of_form="of", restrictions=())

    def _class_of_field(self, noun: NounPhrase) -> IRI | None:
        """The class that a field begins with: `paragraph ids`."""
        kinds = [kind for chunk in noun.chunks[:-1] for kind in chunk.classes[:1]]
        kind = first_of(kinds) or self.measured_class(self.positions(noun.chunks))
        roots = roots_of(self.connector.at(self.positions(noun.chunks)))
        return kind if kind is not None and self.fit.roots_of([kind]) < roots else None

    def _nouns_beside(self, said: Restriction) -> Sequence[NounPhrase]:
        """What a list has beside its items: `with symbol and number`; nothing where things are kept by it."""
        with_words = self.lexicon.with_words
        if not isinstance(said, Predication) or said.preposition not in with_words or said.object is None:
            return ()
        nouns, indefinites = said.object.parts or (said.object,), self.lexicon.indefinites
        for one in nouns:  # with symbol, not with a child: no thing that one may have or not
            known = [chunk for chunk in one.chunks if chunk.entities or chunk.classes or chunk.is_value]
            is_thing = not one.chunks or known or one.is_negated
            is_thing = is_thing or self.texts[one.chunks[0].start - 1] in indefinites
            is_kept_by = one.quantity or one.restrictions or one.most or one.superlative
            if is_kept_by or (is_thing and not one.is_theirs):
                return ()
        return nouns if self.question.is_listing and not said.is_negated else ()

    # --- in which order, and with what was measured

    def _with_value(self, found: PlannedReading, plan: a.ItemSet | a.ItemTable) -> PlannedReading:
        """The same with what was measured: `the most common colour, and how many cars have it`."""
        if isinstance(plan, a.Ends):  # the name of the one with the most
            last = plan.path.last
            value = a.Value(plan.path, self.view.profiler.at_ends(last).kind)
            plan = a.ItemTable(plan.start, (a.Column(self.fit.text(last), value),), shows_items=False)
        items = plan.items if isinstance(plan, a.ItemTable) else plan
        kept = first_of(own for own in parts(items) if isinstance(own, a.Top | a.Where))
        if kept is None or isinstance(kept.measure, a.Constant):
            return found.doubted(uncomputed("", "how many"))
        found = found.doubted(*left_out_at(self._not_measured(kept.measure)))
        name = "number" if isinstance(kept.measure, a.HowMany) else _COLUMN
        if isinstance(plan, a.ItemTable):
            return replace(found, plan=replace(plan, columns=(*plan.columns, a.Column(name, kept.measure))))
        return replace(found, plan=_table(plan, kept.measure, name))

    def _not_measured(self, measure: a.Measure) -> Iterator[int]:
        """The words of what is asked for at the end that neither the question has before nor what was measured."""
        at, path = self.question.measured, getattr(measure, "path", None)
        known = roots_of(self.texts[: min(at, default=0)]) | (self.fit.label_roots(path.last) if path else set())
        for position in at:
            hints = self.measuring.measured_by([position])
            if root(self.texts[position]) not in known and not (path and self.fit.hinted(path.last, hints)):
                yield position

    def as_asked(self, found: PlannedReading) -> PlannedReading:
        """The same in the order that is asked for, and with what was measured where that is asked for, too; rounded."""
        digits, order = self.question.digits, self.question.order
        if digits is not None:
            rounded = _rounded_plan(found.plan, digits)
            found = found.doubted(uncomputed("", "rounding")) if rounded == found.plan else replace(found, plan=rounded)
        found = self._with_its_columns(found)
        plan = found.plan
        if self.asks_value and isinstance(plan, a.ItemSet | a.ItemTable):
            return self._with_value(found, plan)
        if order is None or plan is None:
            return found
        is_second = any(text in self.lexicon.then_words for text in self.texts[order.position :])
        if not is_second and (ordered := self.ordering.in_order(plan, order)) is not None:
            return replace(found, plan=ordered)
        return found.doubted(*left_out_at([order.position]))

    def _with_its_columns(self, found: PlannedReading) -> PlannedReading:
        """The least or most of some values with what else is asked of what has it: the lowest price and its shop."""
        match found.plan:
            case a.SummaryOf("min" | "max" as summary, items, a.Value(path) as measure) if self.columns:
                kinds, best = self.view.classes_in(items), a.Top(items, measure, 1, summary == "max")
            case _:
                return found
        nouns = [one for one in self.columns if not (one.head and kinds.intersection(one.head.classes))]
        shown, first = len(nouns) < len(self.columns), a.Column(self.fit.text(path.last), measure)
        beside = self.beside.of(Denotation(best), nouns)
        own = beside.plan.columns if isinstance(beside.plan, a.ItemTable) else ()
        if beside.doubts or len(own) < len(nouns):
            return found
        return replace(found, plan=a.ItemTable(best, (first, *own), shows_items=shown))

    # --- a share of all

    def share(self) -> PlannedReading:
        """What percentage of a set something is true of."""
        found = list[PlannedReading]()
        wholes = self.phrases.settled(self.question.phrase)[:_KEYS] if self.question.said else []  # of what is a part
        for whole in wholes:
            for part in self.phrases.restricting.all_of(whole, self.question.said, _PARTS)[:_TRIED]:
                share = a.Calculated("/", a.Count(part.known), a.Count(whole.known))
                found.append(part.reading(a.Calculated("*", share, a.Constant(Decimal(100)))))
        return _likeliest(found)


def _rounded_plan(plan: a.Plan | None, digits: int) -> a.Plan | None:
    """Round a number, or the averages and sums in the columns of a table; nothing else."""
    by = a.Constant(Decimal(digits))
    if isinstance(plan, a.Number):
        return a.Calculated("round", plan, by)
    if not isinstance(plan, a.ItemTable):
        return plan
    columns = [
        replace(one, measure=a.Calculated("round", one.measure, by)) if isinstance(one.measure, a.Summarised) else one
        for one in plan.columns
    ]
    return replace(plan, columns=tuple(columns))


def _all_of(kind: IRI, *said: Restriction) -> NounPhrase:
    """Make a phrase for what is of a class, and what is said of it."""
    return NounPhrase(chunks=(Chunk(-1, -1, "", classes=(kind,)),), restrictions=said)


def _likeliest(found: Sequence[PlannedReading]) -> PlannedReading:
    return max(found, key=lambda own: own.score, default=unplanned())


def _is_plain(said: Restriction) -> bool:
    """Whether no more is said than that things are in, of or for something."""
    if not isinstance(said, Predication) or said.verb or said.is_negated or not said.preposition or said.object is None:
        return False
    return not (said.object.most or said.object.superlative or said.object.quantity)


def _is_again(column: NounPhrase, phrase: NounPhrase) -> bool:
    """Whether a number that is asked for in a second sentence is that of the first."""
    said = [[chunk.text for chunk in one.chunks] for one in (column, phrase)]
    is_same = column.summary and phrase.summary and column.summary[1] == phrase.summary[1]
    return bool(is_same) and said[0] == said[1]


def _leads_to_items(plan: a.Plan | None) -> bool:
    columns = plan.columns if isinstance(plan, a.ItemTable) else ()
    return any(isinstance(one.measure, a.Value) and one.measure.kind == "item" for one in columns)


def _table(items: a.ItemSet, measure: a.Measure, name: str) -> a.ItemTable:
    return a.ItemTable(items, (a.Column(name, measure, optional=True),), name)


def _has(said: Restriction, each: NounPhrase) -> bool:
    """Whether a relation has a phrase as one of its arguments."""
    own = (said.subject, said.object, *(phrase for _, phrase in said.more)) if isinstance(said, Predication) else ()
    return any(one is each for one in own)
