"""Numbered terms for a model that writes a plan: entities, classes, predicates and values, with what it must know.

A plan can only be as good as these lists. Of a graph with few predicates they hold all; of another, those that fit the
question best among what is near its entities and classes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

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
from kgsparql.plans.set_profile import PredicateUse, Profiler
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
_PREDICATES_OF_MANY = 32
_CLASSES_READ = 200
_FOLLOWED = 6  # predicates of an entity that are followed once more, where the graph has many
_ALTERNATIVES = 2
_NAMESAKES = 1_000
_OF_SCHEMA = (
    "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
)  # fmt: skip
_ONTOLOGY = IRI(f"{_OF_SCHEMA[0]}Ontology")
_NEAR_ENTITY = 0.3
"""What counts for a predicate beside the words of the question: that an entity of the question has it."""
_YES_OR_NO = {Literal(value=True): "yes", Literal(value=False): "no"}
_EXAMPLES = 4  # of which one or two are shown: nodes without a name, and empty texts, say nothing
_CHARACTERS = 28  # of an example
_CLASSES_SHOWN = 3  # of what has a predicate, or what it leads to
_SHORT = 14  # characters of two examples: codes, or the few values that there are
_DESCRIBED = 60


@dataclass(slots=True)
class ListedPredicate:
    """What is known of a predicate from the sets that use it.

    :param starts: classes of what has it, in the order of the list; ``ends``, of what it leads to.
    :param most: values that one item has, at most.
    :param bonus: what counts for it beside the words of the question.
    :param name_kind: what the items it leads to are read as: themselves, or their names.
    :param read_by: the predicate of these names.
    :param near: where it is, of what has no class: an item or a class, and a predicate from there; ``^``, back.
    :param back: some of what has it, where it leads to that.
    """

    term: IRI
    starts: dict[IRI, None] = field(default_factory=dict)
    ends: dict[IRI, None] = field(default_factory=dict)
    kinds: Counter[a.Kind] = field(default_factory=Counter)
    examples: dict[Term, None] = field(default_factory=dict)
    most: int = 0
    unit: str = ""
    bonus: float = 0.0
    name_kind: a.Kind = "item"
    read_by: IRI | None = None
    near: tuple[tuple[str, IRI], ...] = ()
    back: tuple[Term, ...] = ()

    def add(self, use: PredicateUse, classes: Sequence[IRI], near: tuple[tuple[str, IRI], ...]) -> None:
        """Take in how one set uses it."""
        is_forward = use.step.is_forward
        if not self.near or (is_forward and self.back and len(near) == len(self.near)):
            self.near, self.back = near, () if is_forward else use.ends[:1]
        subjects, objects = map(_telling, (classes, use.classes) if is_forward else (use.classes, classes))
        self.starts.update(dict.fromkeys(subjects))
        self.ends.update(dict.fromkeys(objects))
        if is_forward:
            self.kinds[use.kind] += 1
            self.examples.update(dict.fromkeys(use.ends))
            self.most = max(self.most, use.most)
            self.unit = self.unit or use.unit

    @property
    def kind(self) -> a.Kind:
        """What it leads to; an item, where only the items it leads to were looked at."""
        if self.read_by is not None:
            return self.name_kind
        return self.kinds.most_common(1)[0][0] if self.kinds else "item"


@dataclass(slots=True)
class TermLists:
    """The terms that a plan may be made of.

    :param labels: of all that is named.
    :param names: what each name stands for, such as ``R5``.
    :param shown: values of the graph that stand in the lines, by what they are shown as.
    :param lines: a line for each name: classes, predicates, entities, texts.
    :param is_cut: there are more classes or predicates than are listed.
    """

    labels: Labels = field(default_factory=dict)
    names: dict[str, ListedName] = field(default_factory=dict)
    shown: dict[str, ListedName] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    is_cut: bool = False

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
            line, name, told = self.labels[term], local_name(term), known.get(term, "")
            if others:
                line += f", {1 + len(others)} nodes"
            elif said_besides(term, line, asked) and name not in told:
                line += f", {name}"
            self.add("E", ListedName(term, also=others), line + (f" ({printable(told, _DESCRIBED)})" if told else ""))

    def add_classes(
        self, classes: Sequence[IRI], counts: Mapping[IRI, int], broader: Mapping[IRI, Collection[IRI]]
    ) -> None:
        """Classes with how many items are said to be of them, where that is known, and with those below them."""
        for term in classes:
            size = f", {counts[term]:,}" if term in counts else ""
            below = self.class_names([one for one in classes if term in broader[one]])
            self.add("C", ListedName(term), self.labels[term] + size + (f" and those of {below}" if below else ""))

    def add_predicates(self, found: Sequence[ListedPredicate]) -> None:
        """Predicates with what has them and what they lead to; items stand as examples of their class once."""
        called = {name.term: key for key, name in self.names.items()}
        called |= {one.term: f"R{number}" for number, one in enumerate(found, 1)}
        exemplified = set[IRI]()
        for one in found:
            near = " ".join(mark + called.get(term, "…") for mark, term in one.near)
            start, end = (self._shown_examples(one.back) or "item", near) if one.back else (near, "")
            is_item = one.kind == "item" or (one.read_by is not None and one.kind == "text")
            ends = self.class_names(one.ends) or end if is_item else one.kind
            is_seen = end or exemplified.issuperset(one.ends or [one.term])
            exemplified.update(one.ends)
            examples = "" if is_seen else self._shown_examples(one.examples, one.kind)
            if one.examples and all(t in _YES_OR_NO for t in one.examples):
                ends, examples = "yes or no", ""
                self.names |= {word: ListedName(value, "text") for value, word in _YES_OR_NO.items()}
            unit = f" in {one.unit}" if one.unit else ""
            starts = self.class_names(one.starts) or start or "item"
            line = f"{self.labels[one.term]}: {starts} → {f'{ends}{unit} {examples}'.strip() or 'item'}"
            line += f", up to {one.most}" if one.most > 1 else ""
            self.add("R", ListedName(one.term, one.kind, one.unit, read_by=one.read_by), line)

    def _shown_examples(self, terms: Iterable[Term], kind: a.Kind = "item") -> str:
        """Show an example in brackets, and another where both are short; a text may be written in a plan."""
        named = [
            (t, printable(self.labels[t], _CHARACTERS)) for t in [*terms][:_EXAMPLES] if not isinstance(t, BlankNode)
        ]
        shown = [one for one in named if one[1].strip()][: 1 if kind == "number" else 2]
        if sum(len(text) for _, text in shown) > _SHORT:
            del shown[1:]
        self.shown |= {
            text: ListedName(term, kind) for term, text in shown if isinstance(term, Literal) and term.value == text
        }
        return f"({' / '.join(text for _, text in shown)})" if shown else ""

    def add_texts(self, values: Mapping[Literal, Collection[IRI]]) -> None:
        """Values of the graph that the question names, with the predicates that lead to each."""
        called = {name.term: key for key, name in self.names.items()}
        for value, predicates in values.items():
            held = ", ".join(key for term, key in called.items() if term in predicates)
            line = printable(value.value, 60) + (f" ({held})" if held else "")
            self.add("L", ListedName(value, kind_of_literal(value)), line)

    def class_names(self, terms: Collection[IRI]) -> str:
        """Name the first of some classes, and say how many more there are."""
        shown = [self.labels[term] for term in [*terms][:_CLASSES_SHOWN]]
        more = len(terms) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")


def said_besides(term: IRI, label: str, asked: Sequence[str]) -> bool:
    """Whether words of a question are in an IRI and not in its label.

    >>> said_besides(IRI("http://e.org/part-K367"), "Strain Encoder", ["the", "k367", "strain", "encoder"])
    True
    """
    return bool(set(words_of(local_name(term))) & set(asked) - set(words_of(label)))


def _telling(kinds: Sequence[IRI]) -> Sequence[IRI]:
    """Leave out classes that say nothing of things, such as `owl:NamedIndividual`, where there are others."""
    return [kind for kind in kinds if not kind.value.startswith(_OF_SCHEMA)] or kinds


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
        alike = self.of_one_name([term for term in distinct([*iris_in(named), *linked]) if term not in counts])
        kinds_of = self.kinds_of(list(alike))
        entities = list(kinds_of)
        classes = self.classes(kinds, counts)
        found = self.predicates(entities, classes)
        near = {one.term for one in found}
        found += [self.looked_for(one) for one in wanted if one not in near]
        values = self.values([term for term in named if isinstance(term, Literal)])
        is_few = len(found) <= (MOST_PREDICATES if classes else _PREDICATES_OF_MANY)
        kept = found if is_few else self.likeliest(found, [*wanted, *chain(*values.values())])
        self.find_names(kept)
        shown = [
            *entities, *classes, *(kind for own in kinds_of.values() for kind in own),
            *(t for one in kept for t in (one.term, *one.starts, *one.ends, *[*one.examples][:_EXAMPLES], *one.back)),
        ]  # fmt: skip
        lists = TermLists(self.labels(shown))
        known: dict[Term, str] = {term: lists.class_names(own) for term, own in kinds_of.items()}
        known |= descriptions_of(namesake_groups((term, lists.labels[term]) for term in entities), self.labels)
        lists.add_entities({term: alike[term] for term in entities}, known, self.asked.texts)
        self.profiler.with_broader(classes)
        lists.add_classes(classes, counts, (self.profiler.common or self.profiler).known.broader)
        lists.add_predicates(kept)
        lists.add_texts(values)
        lists.lines.sort(key=lambda line: line[0] in "EL")  # first what is the same for all questions about a graph
        lists.is_cut = len(counts) > len(classes) or len(found) > len(kept) or not classes
        return lists

    def values(self, texts: Sequence[Literal]) -> dict[Literal, list[IRI]]:
        """The predicates that lead to each of some texts: `US` may be a country or its code."""
        found: dict[Literal, list[IRI]] = {text: [] for text in texts}
        if found:
            x, p, v = g.variables("x p v")
            group = (g.Values(v, tuple(texts)), g.Fact(x, p, v))
            for solution in g.found(self.profiler.graph, "predicates_of_texts", (v, p), group, distinct=True):
                found[solution["v"]].append(solution["p"])
        return found

    def of_one_name(self, entities: Sequence[IRI]) -> dict[IRI, tuple[IRI, ...]]:
        """Each entity with the others of its name, kind and description: for a plan they are one; two queries.

        One that the question tells apart by its IRI, such as the number of a part, is meant alone.
        """
        labels = self.labels(entities)
        keys = {normalised(labels[term]) for term in entities}
        rows = () if self.linker is None else self.linker.search.offline().exact(keys)
        others = [IRI(row.iri) for row in rows if row.kind == "entity"][: _NAMESAKES * len(keys)]
        labels, named = self.labels([*entities, *others]), defaultdict[str, list[IRI]](list)
        for term in distinct([*entities, *others]):
            named[normalised(labels[term])].append(term)
        several = [term for own in named.values() if len(own) > 1 for term in own]
        known = descriptions(self.profiler.graph, several, languages=self.labels.languages)
        found = dict[IRI, tuple[IRI, ...]]()
        for term in entities:
            if not any(term in also for also in found.values()):
                own = [] if said_besides(term, labels[term], self.asked.texts) else named[normalised(labels[term])]
                found[term] = tuple(o for o in own if o != term and known.get(o) == known.get(term))
        return found

    def kinds_of(self, entities: Sequence[IRI]) -> dict[IRI, tuple[IRI, ...]]:
        """Two classes of each entity; those that are classes or predicates themselves are left out."""
        kinds = {term: self.profiler(a.Items((term,))).classes for term in entities[:MOST_SETS]}
        return {
            term: tuple(_telling(own)[:2])
            for term, own in kinds.items()
            if not (own and all(kind.value.startswith(_OF_SCHEMA) for kind in own))
        }

    def classes(self, wanted: Sequence[IRI], counts: Mapping[IRI, int]) -> list[IRI]:
        """All classes of few; of many, those that are named, then those whose names fit the question best."""
        if len(counts) <= MOST_CLASSES:
            return [*distinct([*counts, *wanted])]
        fits = self.fits(list(counts))
        ranked = sorted(counts, key=lambda term: -fits[term])  # the commonest stand first
        return [*distinct([*wanted, *ranked])][:_CLASSES_OF_MANY]

    def predicates(self, entities: Sequence[IRI], classes: Sequence[IRI]) -> list[ListedPredicate]:
        """The predicates near the entities and at the classes; with many, or no classes, those two steps away."""
        found = dict[IRI, ListedPredicate]()

        def look(items: a.ItemSet, bonus: float, *near: tuple[str, IRI]) -> Sequence[PredicateUse]:
            if items not in self.profiler.known.profiles and len(self.profiler.known.profiles) >= MOST_SETS:
                return ()
            profile = self.profiler(items)
            classes = (items.of,) if isinstance(items, a.Instances) else profile.classes
            for use in profile.uses:
                # What is said of the graph itself, such as who publishes an ontology, nobody asks of its items.
                is_header = use.step.is_inverse and use.classes == (_ONTOLOGY,) and len(use.ends) == 1
                if use.predicate not in PICTURES_AND_PAGES and not is_header:
                    own = found.setdefault(use.predicate, ListedPredicate(use.predicate))
                    own.add(use, classes, near)
                    own.bonus = max(own.bonus, bonus)
            return profile.uses

        def look_on(items: a.ItemSet, uses: Iterable[PredicateUse], bonus: float, term: IRI) -> None:
            for use in uses:
                look(a.Ends(items, use.path), bonus, ("", term), ("^" * use.step.is_inverse, use.predicate))

        for kind in classes:  # first, so that the list begins alike for all questions about a graph
            uses = look(items := a.Instances(kind), 0.0, ("", kind))
            nameless = [use for use in uses if any(isinstance(end, BlankNode) for end in use.ends)]
            look_on(items, nameless[:_FOLLOWED], 0.0, kind)  # an amount with its currency has no name
        uses_of = {term: look(a.Items((term,)), _NEAR_ENTITY, ("", term)) for term in entities}
        if len(found) > MOST_PREDICATES or not classes:
            for term, uses in uses_of.items():
                look_on(a.Items((term,)), self.onward(uses), _NEAR_ENTITY / 2, term)
        return list(found.values())

    def looked_for(self, term: IRI) -> ListedPredicate:
        """A predicate that a model looked for, which is near none of the entities and classes."""
        known, own = self.profiler.at_ends(term), ListedPredicate(term)
        own.starts.update(dict.fromkeys(known.subject_kinds[:_CLASSES_SHOWN]))
        own.kinds[known.kind] += 1
        return own

    def find_names(self, found: Sequence[ListedPredicate]) -> None:
        """Find the predicates whose ends are read by their names: numbers, such as a year, or several of one name."""
        ends = {t: one for one in found if not one.ends for t in iris_in(one.examples)}
        labels = self.labels(ends)
        for one in found:
            names = [labels[t] for t in iris_in(one.examples) if ends.get(t) is one]
            numbers = kind_at_end([Literal(name) for name in names]) == "number"
            one.name_kind = "number" if numbers else "text" if len(set(names)) < len(names) else "item"
        asked = tuple(t for t, one in ends.items() if one.name_kind != "item")
        if not asked:
            return
        x, p, y = g.variables("x p y")
        group = (g.Values(x, asked), g.Values(p, self.profiler.vocabulary.labels), g.Fact(x, p, y))
        for solution in g.found(self.profiler.graph, "names_of", (x, p), group, distinct=True):
            if isinstance(solution["p"], IRI):
                ends[solution["x"]].read_by = solution["p"]

    def onward(self, uses: Iterable[PredicateUse]) -> list[PredicateUse]:
        """The predicates of a set that lead to items and fit the question best."""
        uses = [use for use in uses if use.kind == "item"]
        fits = self.fits([use.predicate for use in uses])
        return sorted(uses, key=lambda use: (-fits[use.predicate], str(use.step)))[:_FOLLOWED]

    def likeliest(self, found: Sequence[ListedPredicate], wanted: Sequence[IRI]) -> list[ListedPredicate]:
        """Those that are wanted, and those whose names, or the classes they lead to, fit best; near an entity, more."""
        fits = self.fits([term for one in found for term in (one.term, *one.ends)])
        scores = {
            one.term: fits[one.term] + max((fits[t] for t in one.ends), default=0.0) / 2 + one.bonus for one in found
        }
        # Of two that fit alike, what an item has itself comes before what leads to it: a hub is led to by all kinds.
        ranked = sorted(found, key=lambda one: (-scores[one.term], bool(one.back), one.term.value))
        kept = {*wanted, *(term for one in ranked[:_PREDICATES_OF_MANY] for _, term in (("", one.term), *one.near))}
        return [one for one in found if one.term in kept]

    def fits(self, terms: Sequence[IRI]) -> dict[IRI, float]:
        """How many words of the question the names of terms account for."""
        names = self.labels(terms)
        texts = [self.asked.texts[at] for at in self.asked.content]
        return dict(zip_equal(terms, self.fit.covered(texts, [names[term] for term in terms])))
