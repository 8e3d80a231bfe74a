"""Columns beside the items of a table: a field of theirs, how many of something they have, or what is behind them.

Tables and lists are put in an order: of a column, of what is no column, or of the names that are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgsparql.linking.words import root, roots_of
from kgsparql.plans import algebra as a
from kgsparql.plans.adapting import summarised
from kgsparql.plans.denotation import Denotation, PlannedReading, Rel, ends, of_classes, way_back
from kgsparql.plans.measuring import MeasureFit
from kgsparql.plans.phrases_on_graph import OnPhrases
from kgsparql.plans.set_profile import PredicateUse
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, first_of
from kgsparql.reading.clauses import Chunk, NounPhrase, Predication, Superlative, relations
from kgsparql.reading.gaps import left_out_at

_COUNTED = 3


class Columns(OnPhrases):
    """Finds the columns that the nouns of one question ask for."""

    def of(self, key: Denotation, columns: Sequence[NounPhrase], *, names_stand: bool = False) -> PlannedReading:
        """A column for each noun; an item that has no value keeps its row.

        :param names_stand: where names of its items are asked for, they stand for these.
        """
        known, made = key.known, dict[str, a.Column]()
        left = list[int]()
        is_hidden = stood = owned = False
        kinds = key.classes or self.view.classes_in(known)
        for noun in columns:
            if noun.summary and not self.is_counted(noun):
                column = self._summarised(key, noun, kinds)
                made |= {column.name: column} if column else {}
                left += () if column else self.positions([*noun.chunks, *(noun.of.chunks if noun.of else ())])
                continue
            column = self._column_asked(key, noun) if noun.asked else self.counted(key, noun)
            if column is not None:
                made[column.name] = column
                continue
            if self.is_key(noun, key):
                continue
            if noun.superlative or noun.most or noun.quantity:  # the cheapest of each is none of its fields
                left += self.positions(noun.chunks) or (noun.superlative.position if noun.superlative else 0,)
                continue
            owner = None if self.is_counted(noun) else _owner_of(noun, kinds)
            if owner is not None:
                column = None if owned else self._of_owner(key, noun, owner)  # two would multiply
                made |= {column.name: column} if column else {}
                owned = True
                if column or owner is not noun:
                    left += () if column else self.positions([*noun.chunks, *owner.chunks])
                    continue
            positions, is_name, found = self._fields_of_noun(key, noun, kinds)
            # A name without a predicate is in its row, where that is no key of a table.
            stands = is_name and self.lexicon.id_words.isdisjoint(self.connector.at(positions))
            stands = stands and not any(found) and owner is None and self.have_names(known)
            is_open = is_name and noun.of is None and self._are_others(columns)
            is_again = is_open or any(
                one is not None and one.name in made for one in found
            )  # each column is asked for once
            made |= {one.name: one for one in found if one is not None}
            left += positions if is_again or not (any(found) or stands) else ()
            is_hidden |= any(found) and names_stand and is_name
            stood |= stands
        doubts = (*key.doubts, *left_out_at(left))
        if not made:
            return PlannedReading(known, key.score, doubts)
        is_beside = self.question.each is not None or not self.question.asks_fields
        table = a.ItemTable(known, tuple(made.values()), shows_items=stood or (is_beside and not is_hidden))
        return PlannedReading(table, key.score, doubts)

    def _are_others(self, columns: Sequence[NounPhrase]) -> bool:
        """Whether a name may be of others: the name and price of its loaves, for each bakery."""
        fields = (own for own in columns if own.of and not (own.summary or self.is_counted(own)))
        return self.question.each is not None and any(fields)

    def _fields_of_noun(
        self, key: Denotation, noun: NounPhrase, kinds: frozenset[IRI]
    ) -> tuple[tuple[int, ...], bool, list[a.Column | None]]:
        """Find what a noun asks for of each item: the positions of its words, whether it is a name, its columns."""
        known, whose = key.known, [] if noun.of is None or noun.of.is_each else noun.of.chunks
        verbs = (
            p for o in relations(noun.restrictions) for p in o.verb if self.texts[p] not in self.lexicon.light_words
        )
        own = [one for one in noun.chunks if kinds.isdisjoint(one.classes)] or noun.chunks  # a singer's name
        positions = (*self.positions([*own, *whose]), *verbs)
        texts = self.connector.at(positions)
        others = [text for text in texts if root(text) not in self.fit.roots_of(kinds)]
        is_name = bool(others) and self.lexicon.identity_nouns.issuperset(others)
        found = self._columns_of_group(known, texts) or [self._column(known, texts, is_name=is_name)]
        own_words = others if is_name else texts  # the baker ids of bakers: their ids
        bare = [text for text in own_words if text not in self.lexicon.measure_words]  # the phone number: the phone
        if self.is_counted(noun) and noun.of is not None:  # how many there are is no id of theirs
            counting = self.lexicon.count_words  # the number of flights is no flight number
            stated = [one for one in found if one is not None and one.name.split()[0] in counting]
            return positions, is_name, list[a.Column | None](stated)
        found = found if any(found) or bare == texts else [self._column(known, bare, is_name=is_name)]
        ids, is_thing = self.lexicon.id_words, noun.head is not None and bool(noun.head.classes)
        if is_thing and any(one and not ids.isdisjoint(one.name.split()) for one in found) and ids.isdisjoint(texts):
            reached = self._of_owner(key, noun, noun) or self._column_of_reached(key, noun, positions)
            found = [reached] if reached is not None else found  # the choirmaster is called by name
        if not any(found) and (path := self.being(known)) is not None:  # the name of who is a judge
            found = [self._column(ends(known, path), own_words, is_name=is_name, of=path)]
        if not any(found):
            found = [self._of_class_before(key, noun, positions) or self._column_of_reached(key, noun, positions)]
        return positions, is_name, found

    def _of_class_before(self, key: Denotation, noun: NounPhrase, positions: Sequence[int]) -> a.Column | None:
        """A field of the class that the first words name, where each item leads to one: the farm name of a stall."""
        before = positions[:-1]
        if not (before and (others := self.classes_named(before))):
            return None
        whose = Chunk(before[0], before[-1] + 1, " ".join(self.connector.at(before)), classes=tuple(others))
        column = self._of_owner(key, noun, NounPhrase(chunks=(whose,)))
        path = column.measure.path if column and isinstance(column.measure, a.Value) else None
        return column if path and all(step.is_forward for step in path.steps) else None

    def _column_asked(self, key: Denotation, asked: NounPhrase) -> a.Column | None:
        """What a question of its own asks of the items, as a column: `when` of `when and where was she born`."""
        for one in self.phrases.settled(asked)[:1]:
            uses = (use for use in self.view.uses(key.known) if one.how and use.path == one.path)
            if not one.doubts and (use := first_of(uses)) is not None:
                return a.Column(self._column_name(use), a.Value(use.path, use.kind, use.unit), optional=True)
        return None

    def counted(self, key: Denotation, noun: NounPhrase) -> a.Column | None:
        """How many of something each of the items has, as a column: `the number of concerts`."""
        of = noun.of
        if of is None or not self.is_counted(noun) or (of.head and key.classes.intersection(of.head.classes)):
            return None  # people of each person
        name = f"number of {of.head.text}" if of.head is not None else "number"
        for thing in self.phrases.settled(of)[:_COUNTED]:
            if (path := way_back(key.known, thing.items)) is not None:
                return a.Column(name, a.HowMany(path, thing.items), optional=True)
            ways = self.connector.connect(key, Rel(preposition="of", wanted=thing))
            if self.are_open(ways):
                return None
            for one in [one for one in ways[:1] if one.doubts == key.doubts]:
                return a.Column(name, a.HowMany(one.path, thing.items), optional=True)
        options = self.measuring.measures_at(key, self.positions(of.chunks))
        counts = (one for one in options if isinstance(one.measure, a.HowMany))
        return first_of(a.Column(name, one.measure, optional=True) for one in counts)

    def _summarised(self, key: Denotation, noun: NounPhrase, kinds: frozenset[IRI]) -> a.Column | None:
        """One number for what things have that belong to each: `the average salary of its staff`."""
        position, summary = noun.summary or (0, "sum")
        owner = _owner_of(noun, kinds)
        of = self._of_owner(key, replace(noun, summary=None), owner) if owner is not None else None
        options = (
            [of.measure] if of else [one.measure for one in self.measuring.measures(key, self.positions(noun.chunks))]
        )
        for one in options[:1]:
            if isinstance(one, a.Value) and one.kind == "number" and len(one.path.steps) != 1:
                name = " ".join((self.texts[position], *(chunk.text for chunk in noun.chunks)))
                return a.Column(name, summarised(summary, one, one.path), optional=True)
        return None

    def is_counted(self, noun: NounPhrase) -> bool:
        """Whether a noun is how many there are: `the number of concerts`, `how many concerts`, `the count`."""
        counting = self.lexicon.count_words | self.lexicon.amounts
        return len(noun.chunks) == 1 and noun.chunks[0].text.lower() in counting

    def is_key(self, noun: NounPhrase, key: Denotation) -> bool:
        """Whether a noun names the items themselves: of `all countries and the number of singers in each country`."""
        of, head = self.question.each or self.question.phrase, noun.head
        is_same = head is not None and of.head is not None and root(head.text) == root(of.head.text)
        known, said = key.known, roots_of(self.connector.at(self.positions(noun.chunks)))
        if isinstance(known, a.Ends) and not known.path.last_step.is_inverse and said:  # the types, of each type of pet
            is_same |= said <= self.fit.label_roots(known.path.last)
        return is_same and noun.of is None and (len(noun.chunks) == 1 or not noun.chunks[0].classes)

    def _column(
        self, items: a.ItemSet, texts: Sequence[str], *, is_name: bool, of: PropertyPath | None = None
    ) -> a.Column | None:
        """The predicate that the words name, as a column; of a name or number, the one that is called just so."""
        fit = self.fit
        noun = texts[-1] if texts else ""
        uses = [use for use in self.view.uses(items) if fit.allows(use.step, "of", noun)]  # theirs
        kinds = fit.roots_of(self.view.classes_in(items)) if is_name else frozenset()
        own = {use: fit.label_roots(use.predicate) - kinds for use in uses}  # the `document id` of documents
        full = roots_of(self.lexicon.name_adjectives)
        called = [use for use in uses if own[use] == {root(noun)}] or [u for u in uses if own[u] - full == {root(noun)}]
        uses = called if is_name else uses
        fit.compare(texts, [use.predicate for use in uses])
        how = {use: fit.whole(texts, use.predicate) for use in uses}
        named = sorted(filter(how.get, uses), key=lambda o: (how[o] * len(texts) + o.share, str(o.step)), reverse=True)
        rivals = [own for own in named[1:] if how[own] == how[named[0]] and 2 * own.share > named[0].share]
        if not named and len(texts) > 1 and noun in self.lexicon.of_itself:
            return self._column(items, texts[:-1], is_name=is_name, of=of)
        if not named or rivals:  # which date?
            return None
        use = named[0]
        measure = self.measuring.amount_behind(items, use) or a.Value(use.path, use.kind, use.unit)
        measure = replace(measure, path=PropertyPath((*of.steps, *measure.path.steps))) if of else measure
        return a.Column(self._column_name(use), measure, optional=True)

    def _column_name(self, use: PredicateUse) -> str:
        """What a column is called, with the unit that numbers of several units are converted into."""
        amounts = self.view.vocabulary.amounts.get(use.predicate)
        unit = f" ({use.unit})" if amounts is not None and amounts.is_mixed else ""
        return f"{self.fit.text(use.predicate)}{unit}"

    def _columns_of_group(self, items: a.ItemSet, texts: Sequence[str]) -> list[a.Column | None]:
        """The columns that one word stands for, such as `dimensions`, where no predicate is called so."""
        group = self.lexicon.groups.get(" ".join(texts), ())
        if group and any(self.fit.says(texts[0], self.fit.text(o)) for o in self.view.predicates_called(texts)):
            return []
        return [one for word in group if (one := self._column(items, [word], is_name=True)) is not None]

    def _column_of_reached(self, key: Denotation, noun: NounPhrase, positions: Sequence[int]) -> a.Column | None:
        """What is of the class of a noun beside each item, as a column: `the department they belong to`."""
        if noun.head is None or not noun.head.classes:
            return None
        rel = Rel(tuple(positions), "of", "of", Denotation(None, classes=frozenset(noun.head.classes)), hops=1)
        ways = (one for one in self.connector.connect(key, rel) if one.doubts == key.doubts)
        return first_of(self._items_at(one.path, key, noun.head) for one in ways)

    def _items_at(self, path: PropertyPath, key: Denotation, head: Chunk) -> a.Column:
        """The things that a path leads to, of the class of a noun where there are others."""
        kinds, reached = of_classes(frozenset(head.classes)), a.Ends(key.known, path)
        self.view.look_for_items([others := a.Minus(reached, kinds)])
        among = kinds if self.view.has_items(others) else None
        return a.Column(head.text, a.Value(path, "item", among=among), optional=True)

    def _of_owner(self, key: Denotation, noun: NounPhrase, owner: NounPhrase) -> a.Column | None:
        """What belongs to other things that each item leads to: `the town of their shop`, `the shop they work at`."""
        said = first_of(one for one in relations(owner.restrictions) if one.light == "have" and not one.object)
        said = replace(said or Predication(light="have"), subject=NounPhrase())
        bare = replace(owner, restrictions=(), of=None, is_each=False, is_theirs=False)
        for thing in self.phrases.settled(bare)[:1]:
            found = self.phrases.with_argument(thing, said, key, NounPhrase())
            for path in (one.path for one in found if one.how and one.doubts == thing.doubts):
                if noun is owner:
                    return self._items_at(path, key, owner.chunks[-1])
                own = [one for one in noun.chunks if not frozenset(owner.chunks[-1].classes).intersection(one.classes)]
                texts = self.connector.at(self.positions(own))
                is_name = self.lexicon.identity_nouns.issuperset(texts)
                column = self._column(ends(key.known, path), texts, is_name=is_name, of=path)
                return column and replace(column, name=f"{column.name} of {owner.chunks[-1].text}")
        return None


def _owner_of(noun: NounPhrase, kinds: frozenset[IRI]) -> NounPhrase | None:
    """Return whose field a noun asks for, where these are no items of the table."""
    said = [one.subject for one in relations(noun.restrictions) if one.subject is not None and one.subject.is_each]
    for one in (*said, noun.of, noun if noun.is_theirs else None):
        if one is not None and one.head is not None and one.head.classes and kinds.isdisjoint(one.head.classes):
            return one
    return None


class Ordering(OnPhrases):
    """Puts what a question asks for in the order that it says."""

    def in_order(self, plan: a.Plan, order: Superlative) -> a.Plan | None:
        """The same in an order; ``None`` where nothing is measured that it may be."""
        items = plan.items if isinstance(plan, a.ItemTable) else plan
        if not isinstance(items, a.ItemSet):
            return None
        step = items.path.last_step if isinstance(items, a.Ends) else None
        kind = self.view.profiler.at_ends(step.predicate).kind if step and step.is_forward else "item"
        if isinstance(plan, a.Ends) and kind != "item":
            return self._texts_in_order(plan, order)
        options = self._measures_to_order_by(Denotation(items), order) if kind == "item" else []
        if (
            step
            and kind != "item"
            and (self._is_by_name(order) or (order.words and self._is_by_own(order, step.predicate)))
        ):
            options = [MeasureFit(1.0, a.Value(PropertyPath((step.reversed, step)), kind))]  # the years, by year
        largest = order.is_largest != any(one.is_turned for one in options[:1])
        if isinstance(plan, a.ItemTable):
            by = self._ordering_of(plan.columns, order, options)
            return replace(plan, order_by=by, largest_first=largest) if by else None
        if not options:
            return None
        members, measure = self.view.members(items), options[0].measure
        ordered = a.Top(items, measure, max(1, len(members)), largest)
        if len(self.view.members(ordered)) < len(members):  # what has no value keeps its row
            return a.ItemTable(items, (), measure, largest)
        return ordered

    def _measures_to_order_by(self, given: Denotation, order: Superlative) -> list[MeasureFit]:
        """What all words of an order name, or how many there are of it; its adjective, where there are none."""
        said, measuring = self.connector.at(order.words), self.measuring
        if not said:
            return measuring.measures(given, (), order.measures)
        if found := measuring.measures_at(given, order.words, order.measures, counts=False):
            return found
        rest = [p for p in order.words if self.texts[p] not in self.lexicon.count_words]
        found = measuring.measures_at(given, rest) if 0 < len(rest) < len(order.words) else []
        return [one for one in found if len(rest) > 1 or isinstance(one.measure, a.HowMany)]  # final tables made

    def _texts_in_order(self, texts: a.Ends, order: Superlative) -> a.ItemTable | None:
        """The texts of some items in the order of another measure of these, or in their own."""
        last, said = texts.path.last_step, self.connector.at(order.words)
        kind, name = self.view.profiler.at_ends(last.predicate).kind, self.fit.text(last.predicate)
        is_own = not order.measures and self._is_by_own(order, last.predicate)
        is_own |= self._is_by_name(order) and kind == "text" and (not said or self._is_name(name))
        options = self._measures_to_order_by(Denotation(texts.start), order)
        if not (options or is_own):
            return None
        largest = order.is_largest != any(one.is_turned for one in options[:1])
        by = name if is_own else options[0].measure
        return a.ItemTable(texts.start, (a.Column(name, a.Value(texts.path, kind)),), by, largest, shows_items=False)

    def _is_by_own(self, order: Superlative, predicate: IRI) -> bool:
        """Whether an order is said to be by nothing but what a predicate leads to."""
        said = roots_of(self.connector.at(order.words))
        return said <= self.fit.label_roots(predicate) | roots_of(self.lexicon.value_words)

    def _is_by_name(self, order: Superlative) -> bool:
        said = {*order.measures, *self.connector.at(order.words)}
        return bool(said) and self.lexicon.alphabetical.issuperset(said)

    def _is_name(self, text: str) -> bool:
        return not self.fit.roots(text).isdisjoint(roots_of(self.lexicon.alphabetical))

    def _ordering_of(
        self, columns: Sequence[a.Column], order: Superlative, options: Sequence[MeasureFit]
    ) -> str | a.Measure:
        """What a table is ordered by: the column that is called so, or has this measure, the only one, or no column."""
        said = roots_of(self.connector.at(order.words))
        texts = [one for one in columns if getattr(one.measure, "kind", "") != "item"]  # things have no order
        if self._is_by_name(order):
            return next((one.name for one in texts if self._is_name(one.name)), options[0].measure if options else "")
        named = [one.name for one in texts if said and said == self.fit.roots(one.name)]
        if said and said <= roots_of(self.lexicon.count_words):
            named += [one.name for one in columns if isinstance(one.measure, a.HowMany)]
        paths = [option.path for option in options[:1]]
        named += [one.name for one in texts if getattr(one.measure, "path", None) in paths]
        named += [one.name for one in texts] if len(columns) == 1 and not (said or order.measures) else []
        return next(iter(named), options[0].measure if options else "")
