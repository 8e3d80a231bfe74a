"""Numbered terms for a model that writes a plan: entities, classes, predicates and values, with what it must know.

A plan can only be as good as these lists. Of a graph with few predicates they hold all; of another, those that fit the
question best among what is near its entities and classes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from kgsparql.dataclasses import dataclass, field
from kgsparql.evidence.term_labels import TermLabels, descriptions_of, namesake_groups
from kgsparql.exploration import descriptions
from kgsparql.exploration.counting import counted
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.linking.words import words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import ListedName
from kgsparql.plans.expressions import kind_at_end
from kgsparql.plans.label_fit import LabelFit
from kgsparql.plans.set_profile import PredicateUse, Profiler, SetProfile
from kgsparql.plans.type_check import kind_of_literal
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import (
    IRI,
    BlankNode,
    Labels,
    Literal,
    Term,
    distinct,
    iris_in,
    local_name,
    normalised,
    printable,
    whole_number,
    zip_equal,
)
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES, UNWALKED
from kgsparql.reading.form import Form

MOST_CLASSES = 30
MOST_PREDICATES = 60
MOST_SETS = 60  # that are looked at, with those that the profiler knows: three queries each
_CLASSES_OF_MANY = 16
_PREDICATES_OF_MANY = 40
_CLASSES_READ = 200
_FOLLOWED = 6  # predicates of an entity that are followed once more, where the graph has many
_ALTERNATIVES = 2
_NAMESAKES = 1_000
_QUOTED = re.compile(r"[\"“„']([^\"“”„']{2,60})[\"”“'](?!\w)")
_NAME = re.compile(r"\b[^\W\d_a-z]\w*(?: [^\W\d_a-z]\w*)*")
_OF_SCHEMA = (
    "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
)  # fmt: skip
_NEAR_ENTITY = 0.3
"""What counts for a predicate beside the words of the question: that an entity of the question has it."""
_YES_OR_NO = {"yes": Literal(value=True), "no": Literal(value=False)}
_EXAMPLES = 2
_CHARACTERS = 28  # of an example
_DESCRIBED = 60


@dataclass(slots=True)
class ListedPredicate:
    """What is known of a predicate from the sets that use it.

    :param starts: classes of what has it, by the sets that say so; ``ends``, of what it leads to.
    :param most: values that one item has, at most.
    :param least_share: of the items of a set, how many have it at least.
    :param bonus: what counts for it beside the words of the question.
    :param items: some of what it leads to.
    :param name_kind: what the items it leads to are read as: themselves, or their names.
    :param read_by: the predicate of these names.
    :param after: the predicate that leads to what has it, where that has no class.
    """

    term: IRI
    starts: Counter[IRI] = field(default_factory=Counter)
    ends: Counter[IRI] = field(default_factory=Counter)
    kinds: Counter[a.Kind] = field(default_factory=Counter)
    examples: dict[Term, None] = field(default_factory=dict)
    most: int = 0
    least_share: float = 1.0
    unit: str = ""
    bonus: float = 0.0
    items: dict[Term, None] = field(default_factory=dict)
    name_kind: a.Kind = "item"
    read_by: IRI | None = None
    after: IRI | None = None

    def add(self, use: PredicateUse, classes: Sequence[IRI]) -> None:
        """Take in how one set uses it."""
        is_forward = use.step.is_forward
        subjects, objects = (classes, use.classes) if is_forward else (use.classes, classes)
        self.starts.update(subjects)
        self.ends.update(objects)
        if is_forward:
            self.kinds[use.kind] += 1
            self.examples.update(dict.fromkeys(use.ends[:_EXAMPLES]))
            self.items.update(dict.fromkeys(iris_in(use.ends)))
            self.most = max(self.most, use.most)
            self.least_share = min(self.least_share, use.share)
            self.unit = self.unit or use.unit

    @property
    def kind(self) -> a.Kind:
        """What it leads to; an item, where only the items it leads to were looked at."""
        if self.read_by is not None:
            return self.name_kind
        return self.kinds.most_common(1)[0][0] if self.kinds else "item"

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms that its line may name."""
        return (self.term, *self.starts, *self.ends, *self.examples, *(() if self.after is None else (self.after,)))


@dataclass(slots=True)
class TermLists:
    """The terms that a plan may be made of.

    :param labels: of all that is named.
    :param names: what each name stands for, such as ``R5``.
    :param shown: values of the graph that stand in the lines, by what they are shown as.
    :param lines: a line for each name, in the order of the names.
    :param left_out: what there are more of than are listed: `predicates`.
    """

    labels: Labels = field(default_factory=dict)
    names: dict[str, ListedName] = field(default_factory=dict)
    shown: dict[str, ListedName] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    left_out: tuple[str, ...] = ()

    def add(self, letter: str, name: ListedName, line: str) -> None:
        """Give the next name of a letter to a term."""
        called = f"{letter}{1 + sum(known.startswith(letter) for known in self.names)}"
        self.names[called] = name
        self.lines.append(f"{called} {line}")

    def add_entities(self, entities: Mapping[IRI, tuple[IRI, ...]], known: Labels, asked: Sequence[str]) -> None:
        """Entities, each with the others of its name.

        :param known: what each is, where that is known: its classes, or what tells it from another of its name.
        :param asked: the words of the question: an IRI is shown where it has one of them that the label lacks.
        """
        for term, others in entities.items():
            label, name = self.labels[term], local_name(term)
            says_more = said_besides(term, label, asked)
            more = [f", {1 + len(others)} nodes"] if others else [f", {name}"] if says_more else []
            more += [f" ({printable(known[term], _DESCRIBED)})"] if known.get(term) else []
            self.add("E", ListedName(term, also=others), "".join([label, *more]))

    def add_classes(self, classes: Sequence[IRI], counts: Mapping[IRI, int]) -> None:
        """Classes with how many items they have, where that is known."""
        for term in classes:
            size = f", {counts[term]:,}" if term in counts else ""
            self.add("C", ListedName(term), self.labels[term] + size)

    def add_predicates(self, found: Sequence[ListedPredicate]) -> None:
        """Predicates with what has them and what they lead to; `yes` and `no` are names where one needs them."""
        for one in found:
            after = f"what {self.labels[one.after]} leads to" if one.after is not None else "item"
            starts = self._classes(one.starts, 3) or after
            is_yes_or_no = bool(one.examples) and all(t in _YES_OR_NO.values() for t in one.examples)
            is_item = one.kind == "item" or (one.read_by is not None and one.kind == "text")
            ends = (self._classes(one.ends, 2) or "item") if is_item else one.kind
            if is_yes_or_no:
                ends = "yes or no"
                self.names.update({name: ListedName(value, "text") for name, value in _YES_OR_NO.items()})
            unit = f" in {one.unit}" if one.unit else ""
            line = f"{self.labels[one.term]}: {starts} → {ends}{unit}"
            shown = [
                printable(self.labels.get(t, str(t)), _CHARACTERS)
                for t in one.examples
                if not (is_yes_or_no or isinstance(t, BlankNode))
            ]
            line += f", such as {' / '.join(shown[:_EXAMPLES])}" if shown else ""
            texts = {t.value: t for t in one.examples if isinstance(t, Literal) and t.value in shown[:_EXAMPLES]}
            self.shown |= {text: ListedName(term, one.kind) for text, term in texts.items()}
            line += f"; up to {one.most} each" if one.most > 1 else ""
            line += f"; {one.least_share:.0%} have it" if one.least_share < 0.9 and len(one.starts) == 1 else ""
            self.add("R", ListedName(one.term, one.kind, one.unit, read_by=one.read_by), line)

    def add_texts(self, values: Sequence[Literal], texts: Sequence[str]) -> None:
        """Values of the graph that the question names, and its own words."""
        for value in values:
            self.add("L", ListedName(value, kind_of_literal(value)), printable(value.value, 60))
        said = {value.value.casefold() for value in values}
        for text in texts:
            if text.casefold() not in said:
                self.add("L", ListedName(Literal(text), "text"), text)

    def _classes(self, counts: Counter[IRI], most: int) -> str:
        shown = [self.labels[term] for term, _ in counts.most_common(most)]
        more = len(counts) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def said_besides(term: IRI, label: str, asked: Sequence[str]) -> bool:
    """Whether words of a question are in an IRI and not in its label.

    >>> said_besides(IRI("http://e.org/part-K367"), "Strain Encoder", ["the", "k367", "strain", "encoder"])
    True
    """
    return bool(set(words_of(local_name(term))) & set(asked) - set(words_of(label)))


def texts_of(asked: Form) -> list[str]:
    """The words of a question that a graph may have as text: what is in quotes, names of several words, each word.

    >>> from kgsparql.reading.chunks import chunked
    >>> from kgsparql.reading.parser import read_question
    >>> texts_of(read_question(chunked('Which US firms in New Delhi make "tea bags"?', None)))
    ['tea bags', 'US', 'New Delhi', 'firms', 'New', 'Delhi', 'tea', 'bags']
    """
    question = asked.read.question
    quoted = [found[1] for found in _QUOTED.finditer(question)]
    names = [found[0] for found in _NAME.finditer(question, question.find(" "))]
    own = [asked.read.raw[at] for at in asked.content]
    return [text for text in distinct([*quoted, *names, *own]) if not text.isdecimal()]


def _term_counts(graph: KnowledgeGraph, what: str, query: Query) -> dict[IRI, int]:
    """How often the commonest terms of a kind are there: as it is stated, or one query that reads all of the graph."""
    if (counts := graph.sizes.stated(what)) is None:
        counts = {s["term"]: whole_number(s["count"]) for s in counted(graph, query)}
    return {term: n for term, n in counts.items() if isinstance(term, IRI)}


def class_counts(graph: KnowledgeGraph) -> dict[IRI, int]:
    """How many items the commonest classes have, schemas left out."""
    counts = _term_counts(graph, "class", Query.load("info_classes").limit(_CLASSES_READ))
    return {term: n for term, n in counts.items() if not term.value.startswith(_OF_SCHEMA)}


def common_predicates(graph: KnowledgeGraph) -> tuple[IRI, ...]:
    """The commonest predicates of a graph."""
    counts = _term_counts(graph, "predicate", Query.load("info_predicates"))
    return tuple(term for term in counts if term not in UNWALKED)


@dataclass(slots=True)
class TermLister:
    """Makes the lists for one question.

    :param fit: compares words of the question with names.
    :param class_counts: how many items the commonest classes have, as far as that is known.
    """

    asked: Form
    fit: LabelFit
    profiler: Profiler
    labels: TermLabels
    linker: Linker | None = None
    class_counts: Mapping[IRI, int] = field(default_factory=dict)

    def lists(
        self, named: Sequence[IRI | Literal], kinds: Sequence[IRI], links: Sequence[LinkedEntity], wanted: Sequence[IRI]
    ) -> TermLists:
        """The terms that a plan for a question may be made of, the likeliest where there are many.

        :param named: the entities and texts that it names. :param kinds: the classes.
        :param links: its entities, with what else each name may mean. :param wanted: predicates.
        """
        counts = self.class_counts
        linked = [one.term for link in links for one in (link, *link.likely_alternatives[:_ALTERNATIVES])]
        things = iris_in(named)
        alike = self.of_one_name([term for term in distinct([*things, *linked]) if term not in counts])
        kinds_of = self.kinds_of(list(alike))
        entities = list(kinds_of)
        classes = self.classes(kinds, counts)
        found = self.predicates(entities, classes)
        kept = found if len(found) <= MOST_PREDICATES else self.likeliest(found, wanted)
        self.find_names(kept)
        shown = [
            *entities, *classes, *(kind for own in kinds_of.values() for kind in own),
            *(t for one in kept for t in one.terms),
        ]  # fmt: skip
        lists = TermLists(self.labels(shown))
        known: dict[Term, str] = {term: ", ".join(lists.labels[kind] for kind in own) for term, own in kinds_of.items()}
        namesakes = namesake_groups((term, lists.labels[term]) for term in entities)
        known |= descriptions_of(namesakes, self.labels) if namesakes else {}
        lists.add_entities({term: alike[term] for term in entities}, known, self.asked.texts)
        lists.add_classes(classes, counts)
        lists.add_predicates(kept)
        lists.add_texts([term for term in named if isinstance(term, Literal)], texts_of(self.asked))
        cut = [("classes", len(counts) > len(classes)), ("predicates", len(found) > len(kept))]
        lists.left_out = tuple(what for what, is_cut in cut if is_cut)
        return lists

    def of_one_name(self, entities: Sequence[IRI]) -> dict[IRI, tuple[IRI, ...]]:
        """Each entity with the others of its name, kind and description: for a plan they are one; two queries.

        One that the question tells apart by its IRI, such as the number of a part, is meant alone.
        """
        labels = self.labels(entities)
        keys = {normalised(labels[term]) for term in entities}
        rows = [] if self.linker is None else self.linker.search.offline().exact(keys)
        others = {IRI(row.iri): row.key for row in rows if row.kind == "entity"}
        labels = self.labels([*entities, *list(others)[: _NAMESAKES * len(keys)]])
        named: dict[str, list[IRI]] = defaultdict(list)
        for term in (term for term in distinct([*entities, *others]) if term in labels):
            if len(alike := named[normalised(labels[term])]) < _NAMESAKES:
                alike.append(term)
        several = [term for own in named.values() if len(own) > 1 for term in own]
        known = descriptions(self.profiler.graph, several, languages=self.labels.languages) if several else {}
        found = dict[IRI, tuple[IRI, ...]]()
        for term in entities:
            if not any(term in also for also in found.values()):
                own = [] if said_besides(term, labels[term], self.asked.texts) else named[normalised(labels[term])]
                found[term] = tuple(o for o in own if o != term and known.get(o) == known.get(term))
        return found

    def kinds_of(self, entities: Sequence[IRI]) -> dict[IRI, tuple[IRI, ...]]:
        """Two classes of each entity; those that are classes or predicates themselves are left out."""
        kinds = {term: self.profiler(a.Items((term,))).classes for term in entities[:MOST_SETS]}
        of_schema = {t for t, own in kinds.items() if own and all(k.value.startswith(_OF_SCHEMA) for k in own)}
        return {term: tuple(own[:2]) for term, own in kinds.items() if term not in of_schema}

    def classes(self, wanted: Sequence[IRI], counts: Mapping[IRI, int]) -> list[IRI]:
        """All classes of few; of many, those that are named, then those whose names fit the question best."""
        if len(counts) <= MOST_CLASSES:
            return [*distinct([*counts, *wanted])]
        fits = self.fits(list(counts))
        ranked = sorted(counts, key=lambda term: (-fits[term], -counts[term], term.value))
        return [*distinct([*wanted, *ranked])][:_CLASSES_OF_MANY]

    def predicates(self, entities: Sequence[IRI], classes: Sequence[IRI]) -> list[ListedPredicate]:
        """The predicates near the entities and at the classes; with many, or no classes, those two steps away."""
        found = dict[IRI, ListedPredicate]()

        def look(items: a.ItemSet, known: Sequence[IRI], bonus: float, after: IRI | None = None) -> None:
            if items not in self.profiler.known.profiles and len(self.profiler.known.profiles) >= MOST_SETS:
                return
            profile = self.profiler(items)
            for use in profile.uses:
                if use.predicate in PICTURES_AND_PAGES:
                    continue
                own = found.setdefault(use.predicate, ListedPredicate(use.predicate))
                own.add(use, known or profile.classes)
                own.bonus = max(own.bonus, bonus)
                own.after = own.after or after

        for kind in classes:  # first, so that the list begins alike for all questions about a graph
            items = a.Instances(kind)
            look(items, (kind,), 0.0)
            uses = self.uses(items)  # an amount with its currency has no name
            for use in [use for use in uses if any(isinstance(end, BlankNode) for end in use.ends)][:_FOLLOWED]:
                look(a.Ends(items, use.path), (), 0.0, after=use.predicate)
        things = [a.Items((term,)) for term in entities]
        for one in things:
            look(one, (), _NEAR_ENTITY)
        if len(found) > MOST_PREDICATES or not classes:
            for one in things:
                for use in self.onward(one):
                    look(a.Ends(one, use.path), (), _NEAR_ENTITY / 2)
        return list(found.values())

    def find_names(self, found: Sequence[ListedPredicate]) -> None:
        """Find the predicates whose ends are read by their names: numbers, such as a year, or several of one name."""
        ends = {t: one for one in found if not one.ends for t in one.items}
        labels = self.labels(ends)
        for one in found:
            names = [labels[t] for t in one.items if ends.get(t) is one]
            numbers = bool(names) and kind_at_end([Literal(name) for name in names]) == "number"
            one.name_kind = "number" if numbers else "text" if len(set(names)) < len(names) else "item"
        asked = tuple(t for t, one in ends.items() if one.name_kind != "item" and isinstance(t, IRI))
        if not asked:
            return
        x, p, y = g.variables("x p y")
        group = (g.Values(x, asked), g.Values(p, self.profiler.vocabulary.labels), g.Fact(x, p, y))
        for solution in g.found(self.profiler.graph, "names_of", (x, p), group, distinct=True):
            if isinstance(solution["p"], IRI):
                ends[solution["x"]].read_by = solution["p"]

    def uses(self, items: a.ItemSet) -> Sequence[PredicateUse]:
        """The predicates of a set that was looked at."""
        return self.profiler.known.profiles.get(items, SetProfile()).uses

    def onward(self, items: a.ItemSet) -> list[PredicateUse]:
        """The predicates of a set that lead to items and fit the question best."""
        uses = [use for use in self.uses(items) if use.kind == "item"]
        fits = self.fits([use.predicate for use in uses])
        return sorted(uses, key=lambda use: (-fits[use.predicate], str(use.step)))[:_FOLLOWED]

    def likeliest(self, found: Sequence[ListedPredicate], wanted: Sequence[IRI]) -> list[ListedPredicate]:
        """Those that are wanted, and those whose names, or the classes they lead to, fit best; near an entity, more."""
        fits = self.fits([term for one in found for term in (one.term, *one.ends)])
        scores = {
            one.term: fits[one.term] + max((fits[t] for t in one.ends), default=0.0) / 2 + one.bonus for one in found
        }
        kept = {one.term for one in sorted(found, key=lambda o: (-scores[o.term], o.term.value))[:_PREDICATES_OF_MANY]}
        return [one for one in found if one.term in kept.union(wanted)]

    def fits(self, terms: Sequence[IRI]) -> dict[IRI, float]:
        """How many words of the question the names of terms account for."""
        names = self.labels(terms)
        texts = [self.asked.texts[at] for at in self.asked.content]
        return dict(zip_equal(terms, self.fit.covered(texts, [names[term] for term in terms])))
