"""Whether questions are understood: questions made from any graph, whose right answers follow from its triples.

    python -m benchmarks.meaning                                   # fixtures/nobel.ttl
    python -m benchmarks.meaning GRAPH… -n 8 --no-embedder --json MISSED
    python -m benchmarks.meaning --no-embedder --shape all         # made on the graph, asked of its other shapes

Twenty kinds: each asks what a careful reader of the triples answers without doubt, and what is easily taken for
something else: roles turned round, *or* for *and*, one class for another, active for passive. What the graph does not
state is not so. Answers are judged whole:

- ``right and sure``: called an answer, and just the right things, number, yes or no; or surely nothing, if that is so;
- ``right, doubted``: right, but not called an answer;
- ``wrong and sure``: called an answer, and wrong: this is the failure;
- ``other``: doubted and wrong, or nothing found where there is something.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product, zip_longest
from math import ceil
from pathlib import Path
from typing import TypeVar

import pyoxigraph as ox

import kgsparql
from benchmarks.meaning_words import Facts, Item, Noun, Relation, Value, a_, have, plural, whose
from benchmarks.shapes import SHAPES, reshaped
from kgsparql.answering.answer import Answer
from kgsparql.rdf.terms import normalised

T = TypeVar("T")
Gold = frozenset[Value] | int | bool
GRAPH = Path(__file__).parents[1] / "fixtures" / "nobel.ttl"
OUTCOMES = ("right and sure", "right, doubted", "wrong and sure", "other")
PER_KIND, FACTS_TRIED, MOST_LISTED = 32, 24, 100  # questions; facts of a predicate; things of a right answer


@dataclass(frozen=True)
class Question:
    """A question and its right answer.

    :param about: the predicates, or the class, that it is about.
    :param also: another right answer, where a careful reader may give that.
    :param straight: the right answer of the question whose names are not swapped.
    """

    text: str
    gold: Gold
    about: str
    also: Gold | None = None
    straight: Gold | None = None
    kind: str = ""


Group = tuple[Question, ...]  # taken together, or not at all


class Maker:
    """Makes more questions of each kind than are wanted."""

    def __init__(self, facts: Facts, rng: random.Random) -> None:
        self.facts, self.rng = facts, rng
        self.name, self.nouns, self.is_clear = facts.name, facts.nouns, facts.is_clear
        self.relations = [own for own in facts.relations if own.has_items]

    def some(self, items: Iterable[T], n: int = FACTS_TRIED) -> list[T]:
        """Some of the items by chance, in an order that depends on nothing else."""
        known = sorted(items, key=str)
        return self.rng.sample(known, min(n, len(known)))

    def subjects(self, own: Relation, n: int = FACTS_TRIED) -> list[Item]:
        """Subjects whose values do not stand in their names."""
        return self.some((
            x for x, some in own.forward.items() if self.is_clear(x, own)
            and not any(self.facts.label(o).lower() in self.name(x).lower() for o in some)
        ), n)  # fmt: skip

    def pairs(self, own: Relation) -> list[tuple[Item, Item]]:
        """Facts of two good names; those that could be read the other way round, where there are enough of them."""
        every = ((x, o) for x, some in own.forward.items() for o in some if isinstance(o, Item))
        clear = [(x, o) for x, o in every if self.is_clear(x, own) and self.is_clear(o, own)]
        both_ways = [(x, o) for x, o in clear if x in own.backward or o in own.forward]
        return self.some(both_ways if len(both_ways) > 5 and not own.is_symmetric else clear)

    def objects(self, own: Relation, fewest: int = 1) -> list[Value]:
        sized = (o for o, some in own.backward.items() if fewest <= len(some) <= MOST_LISTED)
        return self.some(o for o in sized if self.is_clear(o, own))

    def nouns_of(self, own: Relation) -> list[Noun]:
        """The classes whose members have a predicate."""
        return [noun for noun in self.nouns if len(noun.members & own.forward.keys()) >= 3]

    def those(self, noun: Noun, own: Relation, o: Value) -> frozenset[Value]:
        return frozenset(noun.members & own.backward.get(o, frozenset()))

    def sets(self, fewest: int = 1) -> Iterator[tuple[int, Relation, Value, Noun, frozenset[Value]]]:
        """The members of a class, by chance, that a predicate relates to a thing."""
        for own in (own for own in self.relations if own.verb):
            for i, o in enumerate(self.objects(own, fewest)):
                for noun in self.some((n for n in self.nouns_of(own) if len(self.those(n, own, o)) >= fewest), 1):
                    yield i, own, o, noun, self.those(noun, own, o)

    def what(self) -> Iterator[Group]:
        for own in self.facts.relations:
            for i, x in enumerate(self.subjects(own)):
                gold = own.forward[x]
                yield one(turn(own.asked(self.name(x), many=len(gold) > 1), i), gold, own.label)

    def true(self) -> Iterator[Group]:
        for own in self.relations:
            for i, (x, o) in enumerate(self.pairs(own)):
                texts = own.whether(self.name(x), self.name(o), is_only=len(own.forward[x]) == 1)
                yield one(turn(texts, i), True, own.label)

    def false(self) -> Iterator[Group]:
        """With a thing that is related in another way, where there is one: born where one died."""
        for own in self.relations:
            for i, (x, _) in enumerate(self.pairs(own)):
                near = {o for other in self.relations for o in other.forward.get(x, ()) if o in own.backward}
                wrong = [o for o in near if o != x and o not in own.forward[x] and self.is_clear(o, own)]
                for o in self.some(wrong, 1) or self.objects(own)[:1]:
                    if o != x and o not in own.forward[x] and not (own.is_symmetric and o in own.backward.get(x, ())):
                        yield one(turn(own.whether(self.name(x), self.name(o)), i), False, own.label)

    def turned(self) -> Iterator[Group]:
        for own in self.relations:
            is_fair = own.noun != "" and own.of_person == own.is_person
            is_fair |= own.verb is not None and own.verb.bare in {"located in", "named after", "part of"}
            for i, (x, o) in enumerate(self.pairs(own) if is_fair and not own.is_symmetric else ()):
                found, name = own.forward.get(o, frozenset()), self.name(o)
                if x not in found and i % 4 == 3 and own.is_person and own.of_person:
                    text = turn(own.asked(name, many=len(found) > 1), i // 4)
                    yield one(text, found, own.label, straight=own.forward[x])
                elif x not in found:
                    yield one(turn(own.whether(name, self.name(x)), i), False, own.label, straight=True)

    def which(self) -> Iterator[Group]:
        for i, own, o, noun, gold in self.sets():
            name, texts = self.name(o), [f"Which {noun.many} {own.says(self.name(o))}?"]
            if own.noun:
                had, upper = have(own.noun), name[0].upper() + name[1:]
                texts += [f"Which {noun.one} {had.one} {name}?", f"Which {noun.many} {had.many} {name}?"]
                texts.append(f"{upper} is the {own.noun} of which {noun.many}?")
            yield one(turn(texts, i), gold, own.label)

    def voice(self) -> Iterator[Group]:
        for own in self.relations:
            for i, (x, o) in enumerate(self.pairs(own)):
                name, other, to, by = self.name(x), self.name(o), own.forward[x], frozenset[Value](own.backward[o])
                who, forms = "Who" if own.of_person else "What", [(ask.format(x=name), to) for ask in own.asks]
                if own.verb and not own.verb.bare.startswith("have "):
                    forms.append((f"{who} {own.verb.says(other)}?", by))
                if own.back:
                    forms.append((f"{who.replace('Who', 'Whom')} did {other} {own.back.bare}?", by))
                if own.noun and own.of_person and own.noun != "nationality":
                    forms.append((f"Whose {own.noun} is {other}?", by))
                if len(forms) > 1:
                    yield one(*forms[i % len(forms)], own.label)

    def how_many(self) -> Iterator[Group]:
        for noun in self.nouns:
            yield one(f"How many {noun.many} are there?", len(noun.members), "")
        for i, own, o, noun, gold in self.sets():
            many = own.says(self.name(o))
            texts = [f"How many {noun.many} {many}?", f"What is the number of {noun.many} {noun.who} {many}?"]
            yield one(turn(texts, i), len(gold), own.label)
        for own in (own for own in self.relations if own.noun in {"child", "spouse", "member"}):
            for x in self.subjects(own, 4):
                text = f"How many {plural(own.noun)} {'did' if own.of_person else 'does'} {self.name(x)} have?"
                yield one(text, len(own.forward[x]), own.label)

    def listed(self) -> Iterator[Group]:
        for i, own, o, noun, gold in self.sets(2):
            many, single = own.says(self.name(o)), own.says(self.name(o), many=False)
            texts = [
                f"List all {noun.many} {noun.who} {many}.", f"Name every {noun.one} {noun.who} {single}.",
                f"Which {noun.one} {single}?", f"Give me the {noun.many} {noun.who} {many}.",
            ]  # fmt: skip
            yield one(turn(texts, i), gold, own.label)

    def same(self) -> Iterator[Group]:
        """Which, how many and whether there is one; every other time of a class that has none, if there is one."""
        for own in (own for own in self.relations if own.verb):
            for i, o in enumerate(self.objects(own)):
                nouns = [noun for noun in self.nouns_of(own) if bool(self.those(noun, own, o)) == (i % 2 == 0)]
                for noun in self.some(nouns, 1):
                    gold, name = self.those(noun, own, o), self.name(o)
                    forms: list[tuple[str, Gold]] = [(f"Which {noun.many} {own.says(name)}?", gold)]
                    forms.append((f"How many {noun.many} {own.says(name)}?", len(gold)))
                    forms.append((f"Is there {a_(noun.one)} {noun.who} {own.says(name, many=False)}?", bool(gold)))
                    yield tuple(Question(text, right, own.label) for text, right in forms)

    def without(self) -> Iterator[Group]:
        """Of things whose value is not known a careful reader may say nothing."""
        for i, own, o, noun, some in self.sets(2):
            gold, denied = frozenset[Value](noun.members - some), own.denies(self.name(o))
            texts = [f"Which {noun.many} {denied}?", f"List the {noun.many} {noun.who} {denied}."]
            if len(noun.members & own.forward.keys()) * 2 > len(noun.members) and 0 < len(gold) <= MOST_LISTED:
                yield one(turn(texts, i), gold, own.label, also=gold & own.forward.keys())
        for own in self.relations:
            for i, noun in enumerate(
                self.nouns_of(own) if not f"{own.noun} ".startswith((" ", "place", "nat")) else ()
            ):
                texts = [f"Which {noun.many} have no {own.noun}?", f"Which {noun.many} do not have {a_(own.noun)}?"]
                if 0 < len(gold := frozenset[Value](noun.members - own.forward.keys())) <= MOST_LISTED:
                    yield one(turn(texts, i), gold, own.label)
        for noun, other in product(self.nouns, self.nouns):
            gold = frozenset[Value](noun.members - other.members)
            if noun.members & other.members and 0 < len(gold) <= MOST_LISTED:
                yield one(f"Which {noun.many} are not {other.many}?", gold, "")

    def member(self) -> Iterator[Group]:
        for noun in self.nouns:
            for i, x in enumerate(self.some(x for x in noun.members if self.facts.is_good(x))):
                texts = [f"Is {self.name(x)} {a_(noun.one)}?", f"Is {self.name(x)} one of the {noun.many}?"]
                yield one(turn(texts, i), True, noun.one)

    def no_member(self) -> Iterator[Group]:
        """Of a class beside its own, unless most of that kind are of it: the others may only lack a word."""
        for noun in self.nouns:
            above = self.facts.broader.get(noun.term, frozenset([noun.term]))
            kin = {x for x, types in self.facts.types.items() if types & above}
            others = [x for x in kin - noun.members if self.facts.is_good(x)]
            for i, x in enumerate(self.some(others) if 3 * len(noun.members) < 2 * len(kin) else ()):
                said = [a_(noun.one)] + [a_(noun.one.split()[-1])] * (noun.is_person and " " in noun.one)
                texts = [f"Is {self.name(x)} {one_}?" for one_ in said]
                texts += [f"Was {self.name(x)} {one_}?" for one_ in said if noun.is_person]
                yield one(turn(texts, i), False, noun.one)

    def both(self) -> Iterator[tuple[int, Noun, Relation, Relation, Value, Value, str]]:
        """A class, two predicates of its members, and a value of each that one member has."""
        for first, second in combinations([own for own in self.relations if own.verb], 2):
            nouns = [noun for noun in self.nouns_of(first) if noun in self.nouns_of(second)]
            for noun in self.some(nouns, 2):
                for i, x in enumerate(self.some(noun.members & first.forward.keys() & second.forward.keys(), 12)):
                    values = ((a, b) for a, b in product(first.forward[x], second.forward[x]) if a != b)
                    clear = [(a, b) for a, b in values if self.is_clear(a, first) and self.is_clear(b, second)]
                    for a, b in self.some(clear, 2):
                        yield i, noun, first, second, a, b, f"{first.label} + {second.label}"

    def conjoined(self) -> Iterator[Group]:
        for i, noun, first, second, a, b, about in self.both():
            forms = joined(first.says(self.name(a)), "and", second.says(self.name(b)))
            turned = joined(second.says(self.name(b), many=False), "and", first.says(self.name(a), many=False))
            gold = self.those(noun, first, a) & self.those(noun, second, b)
            yield one(turn([f"Which {noun.many} {forms}?", f"Which {noun.one} {turned}?"], i), gold, about)

    def swapped(self) -> Iterator[Group]:
        for i, noun, first, second, a, b, about in self.both():
            straight = self.those(noun, first, a) & self.those(noun, second, b)
            gold = self.those(noun, first, b) & self.those(noun, second, a)
            many = joined(first.says(self.name(b)), "and", second.says(self.name(a)))
            single = joined(second.says(self.name(a), many=False), "and", first.says(self.name(b), many=False))
            forms: list[tuple[str, Gold, Gold]] = [
                (f"Which {noun.many} {many}?", gold, straight), (f"Which {noun.one} {single}?", gold, straight),
                (f"How many {noun.many} {many}?", len(gold), len(straight)),
                (f"Is there {a_(noun.one)} {noun.who} {single}?", bool(gold), bool(straight)),
            ]  # fmt: skip
            text, right, unswapped = forms[i % 4]
            are_alike = any(n.members >= {a, b} for n in self.nouns) and (b in first.backward or first.is_person)
            if are_alike and right != unswapped:
                yield one(text, right, about, straight=unswapped)

    def either(self) -> Iterator[Group]:
        for i, noun, first, second, a, b, about in self.both():
            some, others, phrase = self.those(noun, first, a), self.those(noun, second, b), second.says(self.name(b))
            if is_alike := i % 3 == 0:
                c = self.objects(first)[0]
                others, phrase = self.those(noun, first, c), self.name(c)
            text = f"Which {noun.many} {joined(first.says(self.name(a)), 'or', phrase)}?"
            if not some <= others and not others <= some and len(some | others) <= MOST_LISTED:
                yield one(text, some | others, first.label if is_alike else about)
        for noun, (part, other) in product(self.nouns, combinations(self.nouns, 2)):
            if part.members < noun.members and other.members < noun.members and not part.members & other.members:
                yield one(f"Which {noun.many} are {part.many} or {other.many}?", part.members | other.members, "")

    def but_not(self) -> Iterator[Group]:
        for _, noun, first, second, a, b, about in self.both():
            lead, other, x, text, key = first, second, a, second.denies(self.name(b)), about
            are_places = all(own.verb and own.verb.bare.endswith((" at", " in")) for own in (first, second))
            if are_places and b in first.backward:
                lead, other, x, key = second, first, b, "there"
                text = first.denies("there").replace(" in there", " there").replace(" at there", " there")
            gold = (some := self.those(noun, lead, x)) - self.those(noun, other, b)
            if gold and gold != some:
                yield one(f"Which {noun.many} {lead.says(self.name(x))} but {text}?", gold, key)

    def compared(self) -> Iterator[Group]:
        """Which of two is more, asked both ways round."""
        for own in (own for own in self.facts.relations if own.compared()):
            for noun in self.nouns_of(own)[:2]:
                sizes = {x: own.size_of(x) for x in noun.members & own.forward.keys() if self.is_clear(x, own)}
                known = {x: n for x, n in sizes.items() if n is not None}
                for x, y in zip(self.some(known), self.some(known), strict=True):
                    ((form, is_of_less),) = self.some(own.compared(), 1)
                    group = []
                    for this, other in ((x, y), (y, x)):
                        holds = (known[this] < known[other]) == is_of_less
                        gold: Gold = frozenset([this if holds else other]) if " or " in form else holds
                        group.append(Question(form.format(x=self.name(this), y=self.name(other)), gold, own.label))
                    if int(known[x]) != int(known[y]):
                        yield tuple(group)

    def dated(self) -> Iterator[Group]:
        """*After 1900* may count 1900: such a year is one in which nothing was."""
        for own, when in ((own, own.when) for own in self.facts.relations if own.when):
            for noun in self.nouns_of(own)[:3]:
                sizes = {x: own.size_of(x) for x in noun.members & own.forward.keys()}
                years = {x: int(n) for x, n in sizes.items() if n is not None}
                for i, in_year in enumerate(self.some(set(years.values()), 12)):
                    year = in_year // 10 * 10
                    ways = [
                        (f"before {year}", range(year)), (f"after {year}", range(year + 1, 10000)),
                        (f"between {year} and {year + 20}", range(year, year + 21)), (f"in {in_year}", [in_year]),
                    ]  # fmt: skip
                    word, within = ways[i % 4]
                    gold = frozenset[Value](x for x, n in years.items() if n in within)
                    is_open = i % 4 < 3 and not {year, year + 20}.isdisjoint(years.values())
                    if 0 < len(gold) <= MOST_LISTED and not is_open:
                        yield one(f"Which {noun.many} {when.many} {word}?", gold, own.label)

    def paraphrased(self) -> Iterator[Group]:
        for own in self.facts.relations:
            for x in self.subjects(own, 8):
                texts = self.some(own.asked(self.name(x), many=len(own.forward[x]) > 1), 3)
                if len(texts) > 1:
                    yield tuple(Question(text, own.forward[x], own.label) for text in texts)

    def two_hops(self) -> Iterator[Group]:
        """*Where was the spouse of X born?*, *Which people worked at a university that is located in Paris?*"""
        for near in self.relations:
            single = [x for x in self.subjects(near, 99) if len(near.forward[x]) == 1]
            for i, x in enumerate(self.some(single) if near.noun and near.noun != "nationality" else ()):
                (y,) = near.forward[x]
                inner = (f"the {near.noun} of {self.name(x)}", f"{whose(self.name(x))} {near.noun}")[i % 2]
                for own in self.some((own for own in self.facts.relations if y in own.forward and own != near), 1):
                    if x not in (gold := own.forward[y]):  # type: ignore[index]
                        texts = [text for text in own.asked(inner, many=len(gold) > 1) if f"{inner}'" not in text]
                        yield one(turn(texts, i // 2), gold, near.label)
            for far in self.relations:
                yield from self._through_a_class(near, far)

    def _through_a_class(self, near: Relation, far: Relation) -> Iterator[Group]:
        middles = [noun for noun in self.nouns if len(noun.members & near.backward.keys() & far.forward.keys()) >= 3]
        for i, o in enumerate(self.objects(far)[:6] if middles and near is not far and near.verb and far.verb else ()):
            middle, noun = self.rng.choice(middles), self.rng.choice(self.nouns_of(near) or self.nouns)
            through, single, about = far.backward[o] & middle.members, far.says(self.name(o), many=False), near.label
            text = f"Which {noun.many} {near.verb.many if near.verb else ''} {a_(middle.one)} {middle.who} {single}?"
            if near.verb and near.verb.bare.startswith("have "):
                text = f"Which {noun.many} have {a_(near.noun)} {middle.who} {single}?"
            if far.noun == "country" and near.verb and near.verb.bare.endswith(" in") and i % 2:
                text, through = f"Which {noun.many} {near.says(self.name(o))}?", far.backward[o]
                about = f"{near.label} in"
            gold = frozenset[Value](x for y in through for x in near.backward.get(y, ()) if x in noun.members)
            if 0 < len(gold) <= MOST_LISTED and o not in gold and o not in near.backward:
                yield one(text, gold, about)


KINDS: dict[str, tuple[Callable[[Maker], Iterator[Group]], int]] = {
    "what": (Maker.what, 1), "true": (Maker.true, 1), "false": (Maker.false, 1), "turned round": (Maker.turned, 3),
    "member": (Maker.member, 1), "no member": (Maker.no_member, 2), "which of a class": (Maker.which, 1),
    "voice": (Maker.voice, 1), "and": (Maker.conjoined, 1), "and, swapped": (Maker.swapped, 3), "or": (Maker.either, 2),
    "but not": (Maker.but_not, 1), "not": (Maker.without, 1), "how many": (Maker.how_many, 1),
    "list all": (Maker.listed, 1), "three ways": (Maker.same, 1), "compared": (Maker.compared, 1),
    "dates": (Maker.dated, 1), "paraphrases": (Maker.paraphrased, 1), "two hops": (Maker.two_hops, 1),
}  # fmt: skip
"""Each kind with how many times as many questions it has: what turns on roles and classes has more."""


def questions(facts: Facts, n: int = PER_KIND, seed: int = 0, kinds: Sequence[str] = tuple(KINDS)) -> list[Question]:
    """The questions of a graph, ``n`` of a kind or that many times more: the same for the same graph and seed."""
    made = []
    for kind in kinds:
        (make, times), rng = KINDS[kind], random.Random(f"{seed}, {kind}")
        made += [replace(own, kind=kind) for own in chosen(list(make(Maker(facts, rng))), n * times, rng)]
    return made


def chosen(groups: list[Group], n: int, rng: random.Random) -> list[Question]:
    """Some of each predicate in turn, and of none more than a quarter, unless there are fewer than four."""
    rng.shuffle(groups)
    by_about: dict[str, list[Group]] = {group[0].about: [] for group in groups}
    for group in groups:
        by_about[group[0].about].append(group)
    most, taken = ceil(n / min(4, max(1, len(by_about)))), list[Question]()
    count, texts = Counter[str](), set[str]()
    for group in filter(None, chain.from_iterable(zip_longest(*by_about.values()))):
        own = count[group[0].about] + len(group)
        if own <= most and len(taken) + len(group) <= n and texts.isdisjoint(question.text for question in group):
            count[group[0].about] = own
            texts.update(question.text for question in group)
            taken += group
    return taken


def one(text: str, gold: Gold, about: str, *, also: Gold | None = None, straight: Gold | None = None) -> Group:
    return (Question(text, gold, about, also, straight),)


def turn(texts: Sequence[str], i: int) -> str:
    return texts[i % len(texts)]


def joined(first: str, word: str, second: str) -> str:
    """Two phrases; where both have something, the verb stands once."""
    shared = next((verb for verb in ("have ", "has ") if first.startswith(verb) and second.startswith(verb)), "")
    return f"{first} {word} {second.removeprefix(shared)}"


def outcome(question: Question, answer: Answer) -> str:
    """One of the four, of an answer of kgsparql."""
    is_right = any(is_gold(gold, answer) for gold in (question.gold, question.also) if gold is not None)
    if answer.status == "not_in_graph" and not question.gold:
        return OUTCOMES[bool(answer.gaps)]
    if answer.status == "answered":
        return OUTCOMES[0 if is_right else 2]
    return OUTCOMES[1 if is_right and answer.status == "partial" else 3]


def is_gold(gold: Gold, answer: Answer) -> bool:
    """Whether an answer is just what is right; of values, their texts count."""
    found = {one.term for one in answer.best}
    value = answer.value if answer.value is not None else next(iter(found)) if len(found) == 1 else None
    said = value.value if isinstance(value, ox.Literal) else None
    if isinstance(gold, int):
        return said is not None and said.removesuffix(".0") == str(gold).lower()
    both = [{normalised(t.value) if isinstance(t, ox.Literal) else t for t in terms} for terms in (found, gold)]
    return both[0] == both[1] or (not gold and said in {"false", "0"})


def table(name: str, rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """A line for each kind, and the sum."""
    yield f"{name}\n{'kind':18}{'n':>5}" + "".join(f"{label:>20}" for label in OUTCOMES)
    for kind in [*dict.fromkeys(row["kind"] for row in rows), "all"]:
        own = Counter(row["outcome"] for row in rows if kind in {row["kind"], "all"})
        n = own.total() or 1
        yield f"{kind:18}{own.total():>5}" + "".join(f"{own[label]:>14} {own[label] / n:>5.0%}" for label in OUTCOMES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=Path, default=[GRAPH], metavar="GRAPH")
    parser.add_argument("-n", type=int, default=PER_KIND, help="questions of a kind, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-r", "--retriever", default="auto", metavar="METHOD")
    parser.add_argument("--no-embedder", action="store_true", help="compare names by their letters only")
    parser.add_argument("--only", action="append", choices=KINDS, metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--shape", action="append", choices=[*SHAPES, "all"], help="ask a graph that states it so")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every question that is not right and sure")
    parser.add_argument("--show", action="store_true", help="print the questions and right answers, and ask nothing")
    given = parser.parse_args()
    rows = []
    for path in given.graphs:
        facts, name = Facts(path), "/".join(path.parts[-2:])
        made = questions(facts, given.n, given.seed, given.only or tuple(KINDS))
        if given.show:
            print("\n".join(f"{own.kind}: {own.text} → {facts.said(own.gold)}" for own in made))
            continue
        shapes = [*SHAPES] if "all" in (given.shape or ()) else given.shape
        for shape in shapes or [""]:
            called = f"{name}, {shape}" if shape else name
            knowledge = kgsparql.open(
                reshaped(path, shape) if shape else path, embedder="none" if given.no_embedder else "auto"
            )
            try:
                for own in made:
                    answer = knowledge.ask(own.text, retriever=given.retriever)
                    said = "; ".join(term.label for term in answer.best[:20]) or str(answer).partition("\n")[0]
                    row = {"graph": called, "kind": own.kind, "outcome": outcome(own, answer), "question": own.text}
                    rows.append({**row, "gold": facts.said(own.gold), "answer": said, "status": answer.status})
            except KeyboardInterrupt:
                print(f"stopped; there are {len(made)} questions")
            told = [*table(called, [row for row in rows if row["graph"] == called])]
            print("\n".join(told[:1] + told[-1:] if shape else told), flush=True)
    if given.json is not None:
        text = json.dumps([row for row in rows if row["outcome"] != OUTCOMES[0]], indent=1, ensure_ascii=False)
        given.json.write_text(f"{text}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
