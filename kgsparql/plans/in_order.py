"""Tables and lists in an order: of a column, of what is no column, or of the names that are listed."""

from __future__ import annotations

from collections.abc import Sequence

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.words import root
from kgsparql.plans import algebra as a
from kgsparql.plans.denotation import Denotation, back
from kgsparql.plans.measuring import MeasureFit
from kgsparql.plans.phrases_on_graph import Phrases
from kgsparql.rdf.paths import PropertyPath
from kgsparql.reading.clauses import Superlative


@frozen
class Ordering:
    """Puts what a question asks for in the order that it says.

    :param phrases: of the question, on its graph.
    """

    phrases: Phrases

    def in_order(self, plan: a.Plan, order: Superlative) -> a.Plan | None:
        """The same in an order; ``None`` where nothing is measured that it may be."""
        items = plan.items if isinstance(plan, a.ItemTable) else plan
        if not isinstance(items, a.ItemSet):
            return None
        options = self._measures_to_order_by(Denotation(items), order)
        if not options and isinstance(items, a.Ends):
            return self._texts_in_order(items, order)
        largest = order.is_largest != any(one.is_turned for one in options[:1])
        if isinstance(plan, a.ItemTable):
            by = self._ordering_of(plan.columns, order, options)
            return replace(plan, order_by=by, largest_first=largest) if by else None
        if not options:
            return None
        members, measure = self.phrases.view.members(items), options[0].measure
        ordered = a.Top(items, measure, max(1, len(members)), largest)
        if len(self.phrases.view.members(ordered)) < len(members):  # what has no value keeps its row
            return a.ItemTable(items, (), measure, largest)
        return ordered

    def _measures_to_order_by(self, given: Denotation, order: Superlative) -> list[MeasureFit]:
        """What all words of an order name, or how many there are of it; its adjective, where there are none."""
        measuring, texts = self.phrases.measuring, self.phrases.texts
        if not order.words:
            return measuring.measures(given, (), order.measures)
        if isinstance(given.items, a.Ends) and not given.items.path.last_step.is_inverse:
            last, said = given.items.path.last_step, {root(texts[p]) for p in order.words}
            kind = self.phrases.view.profiler.at_ends(last.predicate).kind
            if kind != "item" and said <= self.phrases.fit.label_roots(last.predicate):  # the ids, ordered by id
                return [MeasureFit(1.0, a.Value(PropertyPath((last.reversed, last)), kind))]
        counting = self.phrases.lexicon.count_words
        if isinstance(given.items, a.Ends) and all(texts[p] in counting for p in order.words):  # in order of count
            return [MeasureFit(1.0, a.HowMany(back(given.items.path), given.items.start))]
        if found := measuring.measures_at(given, order.words, order.measures, counts=False):
            return found
        rest = [p for p in order.words if texts[p] not in self.phrases.lexicon.count_words]
        found = measuring.measures_at(given, rest) if 0 < len(rest) < len(order.words) else []
        return [one for one in found if len(rest) > 1 or isinstance(one.measure, a.HowMany)]  # final tables made

    def _texts_in_order(self, texts: a.Ends, order: Superlative) -> a.ItemTable | None:
        """The texts of some items in the order of another measure of these, or in their own."""
        last, said = texts.path.last_step, self.phrases.connector.at(order.words)
        kind, name = self.phrases.view.profiler.at_ends(last.predicate).kind, self.phrases.fit.text(last.predicate)
        is_own = not order.measures and self.phrases.lexicon.value_words.issuperset(said)
        is_own |= self._is_by_name(order) and kind == "text" and (not said or self._is_name(name))
        options = self._measures_to_order_by(Denotation(texts.start), order)
        if last.is_inverse or kind == "item" or not (options or is_own):
            return None
        largest = order.is_largest != any(one.is_turned for one in options[:1])
        by = name if is_own else options[0].measure
        return a.ItemTable(texts.start, (a.Column(name, a.Value(texts.path, kind)),), by, largest, shows_items=False)

    def _is_by_name(self, order: Superlative) -> bool:
        said = {*order.measures, *self.phrases.connector.at(order.words)}
        return bool(said) and self.phrases.lexicon.alphabetical.issuperset(said)

    def _is_name(self, text: str) -> bool:
        return not self.phrases.fit.roots(text).isdisjoint(map(root, self.phrases.lexicon.alphabetical))

    def is_ordered_by_name(self, plan: a.Plan, order: Superlative) -> bool:
        """Whether an order by name is asked for, and what is listed are texts, which are in this order anyway."""
        last = plan.path.last_step if isinstance(plan, a.Ends) else None
        if last is None or last.is_inverse or order.is_largest or not self._is_by_name(order):
            return False
        is_text = self.phrases.view.profiler.at_ends(last.predicate).kind == "text"
        return is_text and (not order.words or self._is_name(self.phrases.fit.text(last.predicate)))

    def _ordering_of(
        self, columns: Sequence[a.Column], order: Superlative, options: Sequence[MeasureFit]
    ) -> str | a.Measure:
        """What a table is ordered by: the column that is called so, or has this measure, the only one, or no column."""
        said = {root(text) for text in self.phrases.connector.at(order.words)}
        texts = [one for one in columns if getattr(one.measure, "kind", "") != "item"]  # things have no order
        if self._is_by_name(order):
            return next((one.name for one in texts if self._is_name(one.name)), "")
        named = [one.name for one in texts if said and said == self.phrases.fit.roots(one.name)]
        paths = [option.path for option in options[:1]]
        named += [one.name for one in texts if getattr(one.measure, "path", None) in paths]
        named += [one.name for one in texts] if len(columns) == 1 and not (said or order.measures) else []
        return next(iter(named), options[0].measure if options else "")
