"""What the items of a set have: the predicates at some of them, what these lead to, and how often."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, filterfalse

from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.exploration import Label
from kgsparql.exploration.adjacency_search import AdjacentSteps, leads_to_any, led_to
from kgsparql.exploration.batched_select import PredicatePath, StepUse
from kgsparql.graphs.graph import KnowledgeGraph, Solutions, in_parts, select_each
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import kind_at_end
from kgsparql.plans.implied_facts import (
    MOST_OF_EACH,
    add_declared,
    add_keyed,
    add_list_owners,
    add_nodes,
    add_restricted,
    add_values,
)
from kgsparql.plans.plan_patterns import PlanCompiler
from kgsparql.plans.type_check import PLACE, UNITS, is_back_from_container, without_ranking
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable, apply
from kgsparql.rdf.literals import OF_RDF, unit_named
from kgsparql.rdf.paths import Direction, PropertyPath, Step, directions
from kgsparql.rdf.query import Lookup, Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, distinct, grouped, iris_in, local_name, zip_equal
from kgsparql.rdf.vocabulary import LIST_END, LIST_FIRST, UNWALKED
from kgsparql.schema.known_names import PredicateName
from kgsparql.schema.patterns import patterns
from kgsparql.schema.vocabulary import GraphVocabulary

ITEMS = 40  # items of a set that are looked at
SAMPLED = 200  # items of a set from which the next step of a path is taken
_ORDERED = 1_000  # items of which the first by their IRIs are taken: of larger sets, any of so many
_FACTS = 4_000  # triples of these that are read, in each direction
_ABOVE = 100  # classes above a class that are read
_TOGETHER = 20  # classes of which one query reads those above
_KEPT_ENDS = 20
_SHARE = 0.25  # share of the ends that must be of a class for it to count
_ENDS_READ = 300  # triples of a predicate whose ends tell the classes at both
_ALIKE = 0.2  # share of the ends of a predicate that must be of a class for both ends to be of one kind
_SHARED = 0.02  # share of the objects that must be subjects, too, where the graph names no classes


@frozen
class PredicateUse:
    """How the items of a set use a predicate, in one direction.

    :param kind: of what it leads to.
    :param share: of the items that were looked at, how many have it: more than 0, at most 1.
    :param most: values that one item has, at most.
    :param ends: some of what it leads to.
    :param classes: what many of the ends are, the commonest first.
    """

    step: Step
    kind: a.Kind
    share: float
    most: int
    ends: tuple[Term, ...]
    classes: tuple[IRI, ...] = ()
    unit: str = ""

    @property
    def path(self) -> PropertyPath:
        """The predicate as a path of one step."""
        return self.step.path

    @property
    def predicate(self) -> IRI:
        """The predicate, whichever way it is walked."""
        return self.step.predicate

    @property
    def states_numbers(self) -> bool:
        """Tell whether each has one text that begins with a number: `8 servings`."""
        texts = [end.value for end in self.ends if isinstance(end, Literal)]
        return self.kind == "text" and self.most == 1 and all(text[:1].isdigit() for text in texts)


@frozen
class SetProfile:
    """The predicates of the items of a set.

    :param classes: what many of the items are, the commonest first.
    """

    uses: tuple[PredicateUse, ...] = ()
    classes: tuple[IRI, ...] = ()


@frozen
class PredicateEnds:
    """What the ends of a predicate are.

    :param subjects: classes of its subjects, with those above; ``objects`` likewise.
    :param are_of_one_kind: only the direction tells subjects from objects.
    :param are_mutual: some of its subjects and objects are so both ways: spouses.
    :param lead_to_texts: its objects are numbers, dates and other literals.
    :param lead_to_lists: some of its objects are blank nodes, which may be lists, or an empty list.
    :param subject_kinds: what its subjects are said to be, the commonest first.
    :param kind: what its objects are read as.
    :param flags: what says yes and no of its subjects, where it says nothing else: true, false; `yes`, `no`.
    """

    subjects: frozenset[IRI]
    objects: frozenset[IRI]
    are_of_one_kind: bool
    are_mutual: bool
    lead_to_texts: bool
    lead_to_lists: bool
    subject_kinds: tuple[IRI, ...]
    kind: a.Kind
    flags: tuple[Literal, ...]


@frozen
class KnownSets:
    """What is known of sets and predicates; it holds no graph, so that it may be kept beside one."""

    profiles: dict[a.ItemSet, SetProfile] = field(default_factory=dict)
    samples: dict[a.ItemSet, tuple[Term, ...]] = field(default_factory=dict)
    broader: dict[IRI, frozenset[IRI]] = field(default_factory=dict)
    predicates: dict[str, tuple[PredicateName, ...]] = field(default_factory=dict)
    at_ends: dict[IRI, PredicateEnds] = field(default_factory=dict)
    instances: dict[tuple[a.Instances | Step, ...], bool] = field(default_factory=dict)
    labels: dict[tuple[str, ...], dict[Term, Label]] = field(default_factory=dict)
    in_lists: set[a.ItemSet] = field(default_factory=set)

    def steps_from(self, term: IRI) -> Iterator[PredicatePath]:
        """Yield where each step from a term leads, as far as that was read."""
        for items, ends in self.samples.items():
            if isinstance(items, a.Ends) and items.start == a.Items((term,)) and items.path.is_direct:
                yield PredicatePath(items.path, ends)


@dataclass(slots=True)
class Profiler:
    """Looks at sets, each once.

    :param common: looks at the sets that are the same for all questions: the items of a class, and what a predicate
        leads to from these.
    :param known: of sets that were looked at before.
    :param unwalked: predicates that lead to no relation that may be asked for.
    """

    graph: KnowledgeGraph
    vocabulary: GraphVocabulary = field(default_factory=GraphVocabulary)
    common: Profiler | None = None
    known: KnownSets = field(default_factory=KnownSets)
    unwalked: frozenset[IRI] = UNWALKED

    def __call__(self, items: a.ItemSet) -> SetProfile:
        """What some of the items have: three queries, for a set not looked at before; in an ontology, two more."""
        self.look_at([items])
        return self.known.profiles[items]

    def look_at(self, sets: Iterable[a.ItemSet]) -> None:
        """Look at several sets together: three queries for all not looked at before; in an ontology, two more a set."""
        profiles, own, shared = self.known.profiles, list[a.ItemSet](), list[a.ItemSet]()
        for one in distinct(sets):
            if one not in profiles:
                (shared if self.common is not None and _is_of_class(one) else own).append(one)
        if self.common is not None and shared:
            self.common.look_at(shared)
            profiles.update({one: self.common.known.profiles[one] for one in shared})
        for some in in_parts(own, _TOGETHER):
            self._look_at(some)

    def sample(self, items: a.ItemSet) -> tuple[Term, ...]:
        """Some of the items; none where there are none."""
        if self.common is not None and _is_of_class(items):
            return self.common.sample(items)
        self.sample_all([items])
        return self.known.samples[items]

    def sample_all(self, sets: Sequence[a.ItemSet]) -> None:
        """Read some of the items of each set that was not sampled before."""
        known, new = self.known.samples, list[a.ItemSet]()
        for one in sets:
            if isinstance(one, a.Items):
                known[one] = _first_by_name(one.terms)
            elif one not in known and (ends := self._adjacent_ends(one)) is not None:
                known[one] = ends
            elif one not in known:
                new.append(one)
        selects = [g.Select((Variable("x"),), (self._any(self._from_sample(one)),)) for one in new]
        found = grouped((at, solution["x"]) for at, solution in select_each(self.graph, "sample", selects))
        for at, one in enumerate(new):  # ordered here: Oxigraph takes 80 ms for 2,000 terms
            known[one] = _first_by_name(found.get(at, ()))

    def _adjacent_ends(self, items: a.ItemSet) -> tuple[Term, ...] | None:
        """The first of what a path leads to, by the adjacency; ``None`` where a query finds them."""
        match self._from_sample(items):
            case a.Ends(a.Items(terms), PropertyPath((step,))) if not step.is_repeated:
                steps = self._adjacent(terms)
                return None if steps is None else steps.ends(step, SAMPLED)
        return None

    def _from_sample(self, items: a.ItemSet) -> a.ItemSet:
        """What a path leads to, from a sample of where its last step begins.

        Whole paths between large sets join more than can be read: 58 s at 27,000 triples, for one question.
        """
        if not isinstance(items, a.Ends):
            return items
        *begun, last = items.path.steps
        before = a.Ends(items.start, PropertyPath(tuple(begun))) if begun else items.start
        near = self.sample(before)
        if near and len(iris := iris_in(near)) == len(near):
            return a.Ends(a.Items(iris), last.path)
        shorter = self._from_sample(before)  # a blank node has no name to begin at
        return (
            a.Ends(shorter.start, PropertyPath((*shorter.path.steps, last))) if isinstance(shorter, a.Ends) else items
        )

    def _any(self, items: a.ItemSet) -> g.Select:
        x = Variable("x")
        members = PlanCompiler(self.vocabulary, _ORDERED).members(without_ranking(items, self.graph), x)
        return g.Select((x,), members, distinct=True, limit=_ORDERED)

    def with_broader(self, kinds: Iterable[IRI]) -> tuple[IRI, ...]:
        """Classes, then those above them: one query for all that were not looked at before."""
        if self.common is not None:
            return self.common.with_broader(kinds)
        own = tuple(kinds)
        new = [*filterfalse(self.known.broader.__contains__, dict.fromkeys(own))]
        if not self.vocabulary.narrower:
            self.known.broader.update(dict.fromkeys(new, frozenset()))
            new = []
        for some in in_parts(new, _TOGETHER):
            self._look_above(some)
        above = (kind for one in own for kind in sorted(self.known.broader[one], key=str))
        return distinct((*own, *above))

    def _look_above(self, kinds: Sequence[IRI]) -> None:
        """Read the classes above some classes."""
        above: dict[Term, set[IRI]] = defaultdict(set)
        c, x, queries = Variable("c"), Variable("x"), []
        for kind in kinds:  # each by itself: Virtuoso wants a constant where a path of any length begins
            group = (g.Values(c, (kind,)), g.OneOfPredicates(kind, (), x, then=self.vocabulary.narrower))
            select = g.Select((c, x), group, distinct=True, limit=_ABOVE)
            queries.append(g.select_query("broader", select))
        for found in self.graph.select(Query.union(queries)):
            if isinstance(found["x"], IRI):
                above[found["c"]].add(found["x"])
        self.known.broader.update({kind: frozenset(above[kind]) - {kind} for kind in kinds})

    def _look_at(self, sets: Sequence[a.ItemSet]) -> None:
        self.sample_all(sets)
        terms, uses_of = dict[a.ItemSet, tuple[Term, ...]](), dict[a.ItemSet, dict[Step, StepUse]]()
        asked = dict[a.ItemSet, tuple[Sequence[Term], Sequence[IRI] | None]]()
        for one in sets:
            terms[one] = items = self.sample(one)[:ITEMS]
            steps = self._adjacent(items) if items else None
            uses_of[one] = {} if steps is None else dict(steps.uses(_KEPT_ENDS))
            if any(map(is_back_from_container, uses_of[one])):
                steps, uses_of[one] = None, {}
            if items:
                asked[one] = items, None if steps is None else steps.to_literals()
        for one, facts in self._facts(asked).items():  # in one query for what is not in the adjacency
            for step, ends in facts.items():
                uses_of[one][step] = StepUse.of(ends, _KEPT_ENDS)
        ends_of = (use.ends for own in uses_of.values() for use in own.values())
        classes = self.classes_of(iris_in(chain(*terms.values(), *ends_of)))
        for one in sets:
            uses = []
            for step, use in uses_of[one].items():
                if step.predicate not in self.unwalked and not PLACE.match(step.predicate.value):
                    share, kinds = use.having / len(terms[one]), _common_classes(use.ends, classes)
                    amounts = self.vocabulary.amounts.get(step.predicate) if step.is_forward else None
                    kind = kind_at_end(use.ends) if amounts is None else "number"
                    unit = UNITS.get(kind) or (amounts.sign if amounts else unit_of(step.predicate, use.ends))
                    uses.append(PredicateUse(step, kind, share, use.most, use.ends, kinds, unit))
            uses.sort(key=lambda use: (-use.share, str(use.step)))
            self.known.profiles[one] = SetProfile(tuple(uses), _common_classes(terms[one], classes))

    def _adjacent(self, terms: Sequence[Term]) -> AdjacentSteps | None:
        """The steps from terms in the adjacency; ``None`` where queries find them."""
        view, iris = self.graph.adjacency_view(), iris_in(terms)
        if view is None or len(iris) < len(terms) or self.vocabulary.restricted:
            return None  # a blank node has no number to begin with
        steps = AdjacentSteps(view, iris, self.unwalked)
        of = self.vocabulary
        also = (*of.implied, *of.to_nodes, *map(Step, (*of.valued, *of.keys)))
        beyond = (Step(LIST_FIRST, "inverse"), *also)  # what has the list is beyond its cells
        return None if steps.are_too_many or any(map(steps.has, beyond)) else steps

    def _facts(
        self, asked: Mapping[a.ItemSet, tuple[Sequence[Term], Sequence[IRI] | None]]
    ) -> dict[a.ItemSet, dict[Step, dict[Term, set[Term]]]]:
        """The steps from some items of each set, and where they lead, in one query but for what restrictions say.

        :param asked: the items, and the only predicates from them that are wanted.
        """
        graph, x = self.graph, Variable("x")
        queries, limit = list[Query](), _FACTS if len(asked) == 1 else MOST_OF_EACH
        for at, (items, (terms, only)) in enumerate(asked.items()):
            some = self._some(items, terms, x)
            for led in directions("both") if only is None else ("forward",) if only else ():
                queries.append(_query_of_facts(Literal(str(at)), some, only, led, limit))
        by_end = partial(defaultdict[Term, set[Term]], set)
        facts: list[dict[Step, dict[Term, set[Term]]]] = [defaultdict(by_end) for _ in asked]
        solutions = graph.select(Query.union(queries)) if queries else Solutions()
        by_step: dict[tuple[Term, Term, Direction], dict[Term, set[Term]]] = defaultdict(by_end)
        for found in solutions:
            way: Direction = "forward" if "forward" in found else "inverse"
            by_step[found["n"], found["p"], way][found["x"]].add(found[way])
        for (number, predicate, led), ends in by_step.items():
            if isinstance(predicate, IRI) and isinstance(number, Literal):
                facts[int(number.value)][Step(predicate, led)] = ends
        patterns = [self._some(items, terms, x) for items, (terms, _) in asked.items()]
        add_declared(facts, self.vocabulary)
        add_nodes(facts, patterns, graph, self.vocabulary)
        add_values(facts, patterns, graph, self.vocabulary)
        add_keyed(facts, patterns, graph, self.vocabulary)
        for (terms, _), own in zip(asked.values() if self.vocabulary.restricted else (), facts, strict=False):
            add_restricted(iris_in(terms), own, graph)
        for items, own in zip_equal(asked, facts):
            ways = (LIST_FIRST, *(step.predicate for step in own if is_back_from_container(step)))
            if found_in := iris_in(chain(*(own.pop(Step(one, "inverse"), ()) for one in ways))):
                self.known.in_lists.add(items)
                add_list_owners(found_in, own, ways, graph)
        if solutions.complete and len(solutions) < MOST_OF_EACH:  # these are all that there are
            for (items, (_, only)), own in zip_equal(asked.items(), facts):
                if isinstance(items, a.Items) and len(items.terms) <= ITEMS and only is None:
                    for step, led_to in own.items():
                        far = _first_by_name(set[Term]().union(*led_to.values()))
                        self.known.samples[a.Ends(items, step.path)] = far
        return dict(zip_equal(asked, facts))

    def _some(self, items: a.ItemSet, terms: Sequence[Term], x: Variable) -> g.Pattern:
        """Patterns of the items that are looked at."""
        if len(iris := iris_in(terms)) == len(terms):
            return g.Values(x, iris)
        some = self._any(self._from_sample(items))  # a blank node has no name to ask with
        return g.Select((x,), (some,), order=((apply("STR", x), False),), limit=ITEMS)

    def classes_of(self, terms: Sequence[IRI]) -> dict[Term, set[IRI]]:
        """The classes of terms, without the broader ones; none of a Wikibase, whose ``rdf:type`` says nothing."""
        is_said = not self.graph.profile.external_ids and self.graph.held(frozenset(self.vocabulary.kinds))
        wanted = distinct(terms) if is_said else ()
        x, kind = Variable("x"), Variable("c")
        found: dict[Term, set[IRI]] = defaultdict(set)
        view = self.graph.adjacency_view()
        for some in in_parts(wanted, 400):
            if (pairs := None if view is None else led_to(view, some, self.vocabulary.kinds)) is None:
                facts = [(g.Fact(x, predicate, kind),) for predicate in self.vocabulary.kinds]
                group = (g.Values(x, tuple(some)), *g.any_of(facts))
                solutions = g.found(self.graph, "classes", (x, kind), group, distinct=True, limit=10_000)
                pairs = [(one["x"], one["c"]) for one in solutions]
            for term, own in pairs:
                if isinstance(own, IRI):
                    found[term].add(own)
        return found

    def is_anywhere(self, kind: a.Instances, *after: Step) -> bool:
        """Tell whether anything is of a class, and at the end of a step; looked up once for a graph."""
        if self.common is not None:  # what is the same for all questions is charged to none
            return self.common.is_anywhere(kind, *after)
        if after and not self.is_anywhere(kind):  # quick to see: no class of an ontology need have any
            return False
        if (kind, *after) not in self.known.instances:
            x, compiler = Variable("x"), PlanCompiler(self.vocabulary, 1)
            path = PropertyPath(tuple(step.reversed for step in after))
            group = (*compiler.members(kind, x), *compiler.along(x, path, Variable("near")))
            view, is_such = self.graph.adjacency_view(), None
            if view is not None and after and all(isinstance(one, g.Fact) for one in group):
                is_such = leads_to_any(view, after[0], kind.of, Step(self.vocabulary.types[0], "inverse"))
            if is_such is None:
                is_such = bool(g.found(self.graph, "members", (x,), group, limit=1))
            self.known.instances[kind, *after] = is_such
        return self.known.instances[kind, *after]

    def at_ends(self, predicate: IRI) -> PredicateEnds:
        """What the subjects and objects of a predicate are, from a sample, once for a graph."""
        self.look_at_ends([predicate])
        return (self.common or self).known.at_ends[predicate]

    def look_at_ends(self, predicates: Iterable[IRI]) -> None:
        """Look at the ends of several predicates together: three queries, for those not looked at before."""
        if self.common is not None:
            self.common.look_at_ends(predicates)
            return
        new = [*filterfalse(self.known.at_ends.__contains__, dict.fromkeys(predicates))]
        for some in in_parts(new, _TOGETHER):
            found = self.pairs_along(some)
            kinds = self.classes_of(iris_in(chain(*chain(*found.values()))))
            self.with_broader(sorted(set().union(*kinds.values()), key=str))
            self.known.at_ends.update({one: self._ends_of(pairs, kinds) for one, pairs in found.items()})

    def pairs_along(self, predicates: Sequence[IRI], *, most: int = _ENDS_READ) -> dict[IRI, list[tuple[Term, Term]]]:
        """Read some subjects and objects of each of a few predicates, in one query."""
        x, y, compiler = Variable("x"), Variable("y"), PlanCompiler(self.vocabulary, most)
        selects = [g.Select((x, y), compiler.along(x, Step(one).path, y), limit=most) for one in predicates]
        found: dict[IRI, list[tuple[Term, Term]]] = {one: [] for one in predicates}
        for at, solution in select_each(self.graph, "ends", selects):
            found[predicates[at]].append((solution["x"], solution["y"]))
        return found

    def _ends_of(self, found: Sequence[tuple[Term, Term]], kinds: Mapping[Term, set[IRI]]) -> PredicateEnds:
        subjects = distinct(one for one, _ in found)
        objects = [one for one in distinct(other for _, other in found) if not isinstance(one, Literal)]
        counts = [Counter(kind for one in ends for kind in kinds.get(one, ())) for ends in (subjects, objects)]
        common = {kind for kind, number in counts[0].items() if number > _ALIKE * len(subjects)}
        alike = sum(not common.isdisjoint(kinds.get(one, ())) for one in objects)
        shared = len(set(subjects) & set(objects)) > _SHARED * len(objects)
        with_subjects, with_objects = (frozenset(self.with_broader(sorted(own, key=str))) for own in counts)
        return PredicateEnds(
            with_subjects,
            with_objects,
            bool(objects) and (alike > _ALIKE * len(objects) if all(counts) else shared),
            not {(other, one) for one, other in found if one != other}.isdisjoint(found),
            bool(found) and not objects,
            any(isinstance(one, BlankNode) or one == LIST_END for one in objects),
            tuple(kind for kind, _ in sorted(counts[0].items(), key=lambda one: (-one[1], str(one[0])))),
            kind_at_end([other for _, other in found]),
            _flags_in({getattr(other, "value", "").lower() for _, other in found}),
        )


def _query_of_facts(
    number: Literal, some: g.Pattern, only: Sequence[IRI] | None, led: Direction, limit: int
) -> Query:  # fmt: skip
    """Ask for the facts of some items; of those with names they are looked up, without reading SPARQL."""
    x, p, end = Variable("x"), Variable("p"), Variable(led)
    subject, far = (x, end) if led == "forward" else (end, x)
    values = [some] if only is None else [some, g.Values(p, tuple(only))]
    head, group = ((Variable("n"), number), x, p, end), (*values, g.Fact(subject, p, far))
    query = g.select_query(f"facts_{led}", g.Select(head, group, limit=limit))
    given: dict[tuple[str, ...], Sequence[Sequence[Term]]] = {("n",): [[number]]}
    for own in values:
        if not isinstance(own, g.Values):
            return query
        given[own.variable.name,] = [[term] for term in own.terms]
    return replace(query, lookup=Lookup((subject.name, p.name, far.name), given, limit=limit))


def _flags_in(values: set[str]) -> tuple[Literal, ...]:
    """Find what of some values says yes, and what no, where they say nothing else."""
    told = values.difference(patterns()["nothing"])  # nor `unknown`
    pair = next((own for own in map(str.split, patterns()["flags"]) if told and told <= {*own}), [])
    return tuple(Literal({"true": True, "false": False}.get(one, one)) for one in pair)


def _is_of_class(items: a.ItemSet) -> bool:
    """Whether a set is that of a class, or what one step leads to from there."""
    near = items.start if isinstance(items, a.Ends) and items.path.is_direct else items
    return isinstance(near, a.Instances)


def _first_by_name(terms: Iterable[Term]) -> tuple[Term, ...]:
    return tuple(sorted(terms, key=str)[:SAMPLED])


def _common_classes(terms: Sequence[Term], classes: dict[Term, set[IRI]]) -> tuple[IRI, ...]:
    if not classes:
        return ()
    counts = Counter(chain.from_iterable(filter(None, map(classes.get, terms))))
    least = _SHARE * len(iris_in(terms)) if counts else 0
    common = [c for c, n in counts.items() if n >= least]
    return tuple(sorted(common, key=lambda c: (-counts[c], c.value)) if len(common) > 1 else common)


def unit_of(predicate: IRI, ends: Sequence[Term]) -> str:
    """The unit that the name of a predicate ends with, or that its values have as their datatype.

    >>> unit_of(IRI("http://e.org/weight_g"), ()), unit_of(IRI("http://e.org/is_a_b"), ())
    ('g', '')
    """
    kinds = {end.datatype.value for end in ends if isinstance(end, Literal)}
    kind = kinds.pop() if len(kinds) == 1 else ""
    datatype = local_name(IRI(kind)).lower() if kind and not OF_RDF.match(kind) else ""
    return unit_named(local_name(predicate)) or datatype
