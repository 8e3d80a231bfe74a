"""Sets of items in words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from kgsparql.linking.english_forms import is_past_form
from kgsparql.plans import algebra as a
from kgsparql.plans.measure_words import NUMBERS_COMPARED, Label, MeasureWords
from kgsparql.plans.phrases import NOT_BACK, THOSE, Clause, Phrase, behind, both, condition, ends, names, of_class
from kgsparql.plans.relation_words import Relation, one, owned
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal

_BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"


_NAMED_KINDS = 4
"""Classes with one last word, as kinds of sensors, of which each is named; of more, only how many."""


@dataclass(frozen=True, slots=True)
class SetWords:
    """Says sets of items by the names of their classes, predicates and items."""

    label: Label

    @property
    def measures(self) -> MeasureWords:
        """Says what is measured of items."""
        return MeasureWords(self.label, self.phrase)

    def phrase(self, items: a.ItemSet) -> Phrase:  # noqa: PLR0911 - one arm a form
        """A set of items."""
        match items:
            case a.Instances(of):
                return of_class(self.label(of))
            case a.Items(terms):
                nodes = Counter(map(self.label, terms))
                return names([name if n == 1 else f"{name} ({n} nodes)" for name, n in nodes.items()])
            case a.Ends(start, path):
                found = self.measures.along(self.phrase(start), self.measures.relations(path))
                return replace(found, is_one=found.is_one and path.steps[-1].direction == "forward")
            case a.Where():
                return self._where(items)
            case a.Named(inner, word):
                return self.phrase(inner).with_clause(Clause(f'with the word "{word}" in their name'))
            case a.Has(inner, path, to):
                return self._has(self.phrase(inner), path, to)
            case a.Lacks(inner, path, to):
                return self._lacks(self.phrase(inner), path, to)
            case a.Both(sets):
                return both([self.phrase(own) for own in sets])
            case a.Either(sets):
                return _either([self.phrase(own) for own in sets])
            case a.Minus(inner, without):
                phrase, left = self.phrase(inner), self.phrase(without)
                is_same = left.kind == phrase.kind == "class" and left.single == phrase.single and not left.is_plain
                return phrase.without(f"those{left.tail}" if is_same else left.own_number)
            case a.Top():
                return self._top(items)

    def _has(self, phrase: Phrase, path: PropertyPath, to: a.ItemSet | None) -> Phrase:
        steps = self.measures.relations(path)
        last = steps[-1]
        if to is not None:
            return phrase.with_clause(leads(steps, self.phrase(to)))
        if not last.is_noun:
            thing = of_class(last.object_noun) if last.object_noun and not last.is_inverse else names(["something"])
            return phrase.with_clause(leads(steps, thing))
        has = one(last.text)
        if len(steps) > 1 and steps[-2].is_noun:
            return phrase.with_clause(says(steps[:-1], f"has {has}"))
        clause = Clause(f"with another {last.text}" if last.is_back else f"with {has}")
        return phrase.with_clause(leads(steps[:-1], THOSE.with_clause(clause)) if len(steps) > 1 else clause)

    def _lacks(self, phrase: Phrase, path: PropertyPath, to: a.ItemSet | None) -> Phrase:
        steps = self.measures.relations(path)
        end = None if to is None else self.phrase(to)
        if len(steps) == 1 and steps[0].is_noun:
            noun = steps[0].text
            if end is None:
                return phrase.with_clause(Clause(f"without {one(noun)}"))
            if end.kind == "names" and end.is_plain:
                return phrase.with_clause(Clause(f"without {end.as_one_of} as {noun}"))
            return phrase.with_clause(Clause(f"without {one(noun)} that is {end.as_one_of}", end.needs_room))
        end = end or names(["anything"])
        is_passive = len(steps) == 1 and steps[0].form == "passive" and not steps[0].is_inverse
        if is_passive and end.kind == "names" and end.is_plain and not steps[0].object_noun:
            return phrase.with_clause(Clause(f"not {condition(steps[0], end).text}"))
        return phrase.without(self._has(THOSE, path, to).all_of_them)

    def _where(self, where: a.Where) -> Phrase:
        """The items of which a comparison is true; of two that make a range, both at once."""
        items, measure, comparison, value = where.items, where.measure, where.comparison, where.value
        words, inner = self.measures, self.phrase(items)
        match items, where:
            case a.Where(rest, m, ">=", Literal() as low), a.Where(_, _, "<=", Literal() as high) if m == measure:
                lowest, highest = words.quantity(measure, low), words.quantity(measure, high)
                return self.phrase(rest).with_clause(self._measured(measure, f"is from {lowest} to {highest}"))
        if isinstance(measure, a.HowMany) and isinstance(value, Literal):
            return inner.with_clause(Clause(words.has_as_many(measure, comparison, value)))
        if isinstance(value, IRI):
            return inner.with_clause(self._is_item(measure, comparison, names([self.label(value)])))
        if isinstance(measure, a.Value) and isinstance(value, Literal):
            if value.datatype.value == _BOOLEAN and comparison == "=":
                return inner.with_clause(self._is_true(measure.path, is_true=value.value in {"true", "1"}))
            if measure.kind in {"text", "item"}:
                return inner.with_clause(self._is_item(measure, comparison, names([value.value])))
        return inner.with_clause(self._measured(measure, words.compares(measure, comparison, value)))

    def _measured(self, measure: a.Measure, said: str) -> Clause:
        words = self.measures
        if not isinstance(measure, a.Value):
            return Clause(f"whose {words.measure(measure)} {said}")
        steps = words.relations(measure.path)
        if steps[-1].is_noun:
            return says(steps, said)
        clause = Clause(f"whose '{self.label(measure.path.steps[-1].predicate)}' {said}")
        return leads(steps[:-1], THOSE.with_clause(clause)) if steps[:-1] else clause

    def _is_item(self, measure: a.Measure, comparison: a.Comparison, item: Phrase) -> Clause:
        if comparison == "=" and isinstance(measure, a.Value):
            return leads(self.measures.relations(measure.path), item)
        return self._measured(measure, f"{NUMBERS_COMPARED[comparison]} {item.single}")

    def _is_true(self, path: PropertyPath, *, is_true: bool) -> Clause:
        """What is true of items by a predicate of yes and no: *that are radioactive*, where its name says so."""
        label = self.label(path.steps[-1].predicate)
        first, _, rest = label.partition(" ")
        clause = Clause(f"where '{label}' is {'yes' if is_true else 'no'}")
        not_ = "" if is_true else " not"
        if rest and first.lower() == "is":
            clause = Clause(f"that are{not_} {rest}")
        elif rest and first.lower() == "has":
            is_done = is_past_form(rest.split()[0]) or rest.split()[0] == "been"
            clause = Clause(f"that have{not_} {rest}" if is_done or is_true else f"that do not have {rest}")
        before = self.measures.relations(path)[:-1]
        return leads(before, THOSE.with_clause(clause)) if before else clause

    def _top(self, top: a.Top) -> Phrase:
        """The best of a set; of a set that has clauses, *among those*."""
        inner = self.phrase(top.items)
        most = self.measures.most(top.measure, largest=top.largest, are_many=top.number > 1)
        among = ", among" if re.search(" (?:whose|that) ", most[1:]) else " among"
        count = "" if top.number == 1 else f"{top.number:,} "
        head = f"{count}{inner.single if top.number == 1 else inner.plural}"
        if inner.is_plain and (inner.kind == "class" or (inner.kind == "ends" and not inner.is_open)):
            text = f"the {head} {most}"
        elif inner.kind == "class" and inner.clauses:
            text = f"the {head} {most}{among} those{inner.tail}"
        else:
            text = f"the {count or 'one '}{most}{among} {inner.definite}"
        return Phrase(text, text, "best", is_one=top.number == 1)


def leads(steps: list[Relation], end: Phrase) -> Clause:
    """What is true of the items from which some steps lead to an end; nouns in a row are owned by each other."""
    nouns = len(steps) - max((i + 1 for i, step in enumerate(steps) if not step.is_noun), default=0)
    before = steps[: len(steps) - max(nouns, 1)]
    run = steps[len(before) :]
    last = replace(steps[-1], text=owned([step.text for step in run]), is_back=any(step.is_back for step in run))
    if not before:
        return condition(last, end)
    is_end = last.is_inverse and not last.is_back
    return leads(before, ends(end, last.reversed) if is_end else THOSE.with_clause(condition(last, end)))


def says(steps: list[Relation], said: str) -> Clause:
    """What is said of that to which some steps lead: *whose author's date of birth is before 1950*."""
    last = max((i + 1 for i, step in enumerate(steps) if not step.is_noun), default=0)
    back = NOT_BACK if any(step.is_back for step in steps[last:]) else ""
    clause = Clause(f"whose {owned([step.text for step in steps[last:]])} {said}{back}")
    return leads(steps[:last], THOSE.with_clause(clause)) if last else clause


def _either(phrases: list[Phrase]) -> Phrase:
    heads = {(phrase.kind, phrase.single) for phrase in phrases}
    first = phrases[0]
    if len(heads) == 1 and all(len(p.clauses) == 1 and not p.exceptions and not p.is_open for p in phrases):
        clauses = [phrase.clauses[0] for phrase in phrases]
        said = " or ".join(behind(clause.text) if i else clause.text for i, clause in enumerate(clauses))
        return replace(first, clauses=(Clause(said, any(clause.is_open for clause in clauses), is_choice=True),))
    last = {phrase.own_number.split()[-1].removesuffix("s") for phrase in phrases}
    if len(phrases) > _NAMED_KINDS and len(last) == 1 and all(phrase.kind == "class" for phrase in phrases):
        text = f"{last.pop()}s of {len(phrases)} kinds"
        return Phrase(text, text, "best")
    comma = "" if all(phrase.is_plain for phrase in phrases) else ","
    text = f"{comma} or ".join(phrase.own_number for phrase in phrases)
    return Phrase(text, text, "best")
