"""Numbered terms for a model that writes a plan: entities, classes, predicates and values, with what it must know.

A plan can only be as good as these lists. Of a graph with few predicates they hold all; of another, those that fit the
question best among what is near its entities and classes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kgsparql.evidence.term_labels import TermLabels, descriptions_of, namesake_groups
from kgsparql.exploration import descriptions
from kgsparql.exploration.counting import counted
from kgsparql.graphs.graph import KnowledgeGraph, Solutions
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import ListedName
from kgsparql.plans.question_words import QuestionWords
from kgsparql.plans.set_profile import PredicateUse, Profiler, kind_at_end
from kgsparql.plans.term_lines import ListedPredicate, TermLines, said_besides
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, normalised
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES, UNWALKED

MOST_CLASSES = 30
MOST_PREDICATES = 60
_CLASSES_OF_MANY = 16
_PREDICATES_OF_MANY = 40
_CLASSES_READ = 200
_FOLLOWED = 6
"""Predicates of an entity that are followed once more, where the graph has many."""
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


@dataclass(frozen=True, slots=True)
class TermLists:
    """The terms that a plan may be made of.

    :param names: what each name stands for, such as ``R5``.
    :param lines: a line for each name, in the order of the names.
    :param left_out: what there are more of than are listed: `predicates`.
    """

    names: Mapping[str, ListedName]
    lines: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def texts_of(question: str, asked: QuestionWords) -> list[str]:
    """The words of a question that a graph may have as text: what is in quotes, names of several words, each word.

    >>> from kgsparql.linking.ranking import BM25Ranker
    >>> question = 'Which US firms in New Delhi make "tea bags"?'
    >>> texts_of(question, QuestionWords(question, BM25Ranker()))
    ['tea bags', 'US', 'New Delhi', 'firms', 'New', 'Delhi', 'make', 'tea', 'bags']
    """
    quoted = [found[1] for found in _QUOTED.finditer(question)]
    names = [found[0] for found in _NAME.finditer(question, question.find(" "))]
    own = [question[asked.tokens[i].start : asked.tokens[i].end] for i in asked.content]
    return [text for text in dict.fromkeys([*quoted, *names, *own]) if not text.isdecimal()]


def class_counts(graph: KnowledgeGraph, select: Callable[[Query], Solutions]) -> dict[IRI, int]:
    """How many items the commonest classes of a graph have, schemas left out; one query that reads all of them, once.

    :param select: runs the query.
    """
    found = counted(graph, Query.load("info_classes").limit(_CLASSES_READ), select)
    return {
        term: int(number.value)
        for term, number in ((s["term"], s["count"]) for s in found)
        if isinstance(term, IRI) and isinstance(number, Literal) and not term.value.startswith(_OF_SCHEMA)
    }


def common_predicates(graph: KnowledgeGraph, select: Callable[[Query], Solutions]) -> tuple[IRI, ...]:
    """The commonest predicates of a graph; one query that reads all of it, once.

    :param select: runs the query.
    """
    found = counted(graph, Query.load("info_predicates"), select)
    return tuple(s["term"] for s in found if isinstance(s["term"], IRI) and s["term"] not in UNWALKED)


@dataclass(slots=True)
class TermLister:
    """Makes the lists for one question.

    :param asked: the words of the question.
    :param class_counts: how many items the commonest classes have, as far as that is known.
    :param most: sets that are looked at, with those that the profiler knows: three queries each.
    """

    asked: QuestionWords
    profiler: Profiler
    labels: TermLabels
    linker: Linker | None = None
    class_counts: Mapping[IRI, int] = field(default_factory=dict)
    most: int = 60

    def lists(
        self, question: str, named: Sequence[IRI | Literal], kinds: Sequence[IRI], links: Sequence[LinkedEntity]
    ) -> TermLists:
        """The terms that a plan for a question may be made of, the likeliest where there are many.

        :param named: the entities and texts that the question names. :param kinds: the classes.
        :param links: its entities, with what else each name may mean.
        """
        counts = self.class_counts
        linked = [one.term for link in links for one in (link, *link.likely_alternatives[:_ALTERNATIVES])]
        things = [term for term in named if isinstance(term, IRI)]
        alike = self.of_one_name([term for term in dict.fromkeys([*things, *linked]) if term not in counts])
        entities = self.of_no_schema(list(alike))
        classes = self.classes(kinds, counts)
        found = self.predicates(entities, classes)
        kept = found if len(found) <= MOST_PREDICATES else self.likeliest(found)
        self.find_names(kept)
        kinds_of = {term: self.profiler(a.Items((term,))).classes[:2] for term in entities}
        shown = [
            *entities,
            *classes,
            *(kind for own in kinds_of.values() for kind in own),
            *(t for one in kept for t in one.terms),
        ]
        lines = TermLines(self.labels(shown, in_grace=True))
        known: dict[Term, str] = {term: ", ".join(lines.labels[kind] for kind in own) for term, own in kinds_of.items()}
        namesakes = namesake_groups((term, lines.labels[term]) for term in entities)
        known |= descriptions_of(namesakes, self.labels) if namesakes else {}
        lines.add_entities({term: alike[term] for term in entities}, known, self.asked.texts)
        lines.add_classes(classes, counts)
        lines.add_predicates(kept)
        lines.add_texts([term for term in named if isinstance(term, Literal)], texts_of(question, self.asked))
        cut = [("classes", len(counts) > len(classes)), ("predicates", len(found) > len(kept))]
        return TermLists(lines.names, tuple(lines.lines), tuple(what for what, is_cut in cut if is_cut))

    def of_one_name(self, entities: Sequence[IRI]) -> dict[IRI, tuple[IRI, ...]]:
        """Each entity with the others of its name, kind and description: for a plan they are one; two queries.

        One that the question tells apart by its IRI, such as the number of a part, is meant alone.
        """
        labels = self.labels(entities, in_grace=True)
        keys = {normalised(labels[term]) for term in entities}
        rows = [] if self.linker is None else self.linker.index.search.offline().exact(keys)
        others = {IRI(row.iri): row.key for row in rows if row.kind == "entity"}
        labels = self.labels([*entities, *list(others)[: _NAMESAKES * len(keys)]], in_grace=True)
        named: dict[str, list[IRI]] = defaultdict(list)
        for term in dict.fromkeys([*entities, *others]):
            if term in labels and len(named[normalised(labels[term])]) < _NAMESAKES:
                named[normalised(labels[term])].append(term)
        several = [term for own in named.values() if len(own) > 1 for term in own]
        known = descriptions(self.profiler.graph, several, languages=self.labels.languages) if several else {}
        found: dict[IRI, tuple[IRI, ...]] = {}
        for term in entities:
            if not any(term in also for also in found.values()):
                own = [] if said_besides(term, labels[term], self.asked.texts) else named[normalised(labels[term])]
                found[term] = tuple(o for o in own if o != term and known.get(o) == known.get(term))
        return found

    def of_no_schema(self, entities: Sequence[IRI]) -> list[IRI]:
        """The entities that are no classes or predicates themselves."""
        kinds = {term: self.profiler(a.Items((term,))).classes for term in entities[: self.most]}
        return [term for term, own in kinds.items() if not (own and all(k.value.startswith(_OF_SCHEMA) for k in own))]

    def classes(self, wanted: Sequence[IRI], counts: Mapping[IRI, int]) -> list[IRI]:
        """All classes of few; of many, those that are named, then those whose names fit the question best."""
        if len(counts) <= MOST_CLASSES:
            return list(dict.fromkeys([*counts, *wanted]))
        fits = self.fits(list(counts))
        ranked = sorted(counts, key=lambda term: (-fits[term], -counts[term], term.value))
        return list(dict.fromkeys([*wanted, *ranked]))[:_CLASSES_OF_MANY]

    def predicates(self, entities: Sequence[IRI], classes: Sequence[IRI]) -> list[ListedPredicate]:
        """The predicates near the entities and at the classes; with many, or no classes, those two steps away."""
        found: dict[IRI, ListedPredicate] = {}

        def look(items: a.ItemSet, known: Sequence[IRI], bonus: float, after: IRI | None = None) -> None:
            if items not in self.profiler.profiles and len(self.profiler.profiles) >= self.most:
                return
            profile = self.profiler(items)
            for use in profile.uses:
                if use.step.predicate in PICTURES_AND_PAGES:
                    continue
                own = found.setdefault(use.step.predicate, ListedPredicate(use.step.predicate))
                own.add(use, known or profile.classes)
                own.bonus = max(own.bonus, bonus)
                own.after = own.after or after

        for kind in classes:  # first, so that the list begins alike for all questions about a graph
            look(a.Instances(kind), (kind,), 0.0)
            for use in self.to_nameless(a.Instances(kind)):
                look(a.Ends(a.Instances(kind), use.path), (), 0.0, after=use.step.predicate)
        for term in entities:
            look(a.Items((term,)), (), _NEAR_ENTITY)
        if len(found) > MOST_PREDICATES or not classes:
            for term in entities:
                for use in self.onward(a.Items((term,))):
                    look(a.Ends(a.Items((term,)), use.path), (), _NEAR_ENTITY / 2)
        return list(found.values())

    def find_names(self, found: Sequence[ListedPredicate]) -> None:
        """Find the predicates whose ends are read by their names: numbers, such as a year, or several of one name."""
        ends = {t: one for one in found if not one.ends for t in one.items}
        labels = self.labels(ends, in_grace=True)
        for one in found:
            names = [labels[t] for t in one.items if ends.get(t) is one]
            numbers = bool(names) and kind_at_end([Literal(name) for name in names]) == "number"
            one.name_kind = "number" if numbers else "text" if len(set(names)) < len(names) else "item"
        asked = tuple(t for t, one in ends.items() if one.name_kind != "item" and isinstance(t, IRI))
        if not asked:
            return
        x, p, y = g.Variable("x"), g.Variable("p"), g.Variable("y")
        group = (g.Values(x, asked), g.Values(p, self.profiler.vocabulary.labels), g.Fact(x, p, y))
        query = g.select_query("names_of", g.Select(((x, None), (p, None)), group, distinct=True))
        for solution in self.profiler.graph.select(query):
            if isinstance(solution["p"], IRI):
                ends[solution["x"]].read_by = solution["p"]

    def to_nameless(self, items: a.ItemSet) -> list[PredicateUse]:
        """The predicates of a set that lead to nodes without a name, such as an amount with its currency."""
        profile = self.profiler.profiles.get(items)
        uses = () if profile is None else profile.uses
        return [use for use in uses if any(isinstance(end, BlankNode) for end in use.ends)][:_FOLLOWED]

    def onward(self, items: a.ItemSet) -> list[PredicateUse]:
        """The predicates of a set that lead to items and fit the question best."""
        profile = self.profiler.profiles.get(items)
        uses = [] if profile is None else [use for use in profile.uses if use.kind == "item"]
        fits = self.fits([use.step.predicate for use in uses])
        return sorted(uses, key=lambda use: (-fits[use.step.predicate], str(use.step)))[:_FOLLOWED]

    def likeliest(self, found: Sequence[ListedPredicate]) -> list[ListedPredicate]:
        """The predicates whose names, or the classes they lead to, fit the question best; near an entity, better."""
        fits = self.fits([term for one in found for term in (one.term, *one.ends)])
        scores = {
            one.term: fits[one.term] + max((fits[t] for t in one.ends), default=0.0) / 2 + one.bonus for one in found
        }
        kept = {one.term for one in sorted(found, key=lambda o: (-scores[o.term], o.term.value))[:_PREDICATES_OF_MANY]}
        return [one for one in found if one.term in kept]

    def fits(self, terms: Sequence[IRI]) -> dict[IRI, float]:
        """How many words of the question the names of terms account for."""
        names = self.labels(terms, in_grace=True)
        fits = self.asked.fits([names[term] for term in terms])
        return {term: sum(fit.values()) for term, fit in zip(terms, fits, strict=True)}
