"""What a graph is read as, for who asks it or writes queries: its kinds and relations, with names and examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError
from kgsparql.exploration.batched_select import select_about
from kgsparql.exploration.counting import graph_info
from kgsparql.exploration.labels import labels
from kgsparql.exploration.lookups import GraphLookups
from kgsparql.graphs.graph import in_parts
from kgsparql.plans import algebra as a
from kgsparql.plans.expressions import kind_at_end
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.set_profile import Profiler, unit_of
from kgsparql.rdf.paths import Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import (
    IRI,
    BlankNode,
    Term,
    as_iri,
    distinct,
    iris_in,
    normalised,
    parse_term,
    printable,
    zip_equal,
)
from kgsparql.rdf.vocabulary import ASKED_OF_ONTOLOGIES, OF_ONTOLOGIES, SUBCLASS_OF, UNWALKED
from kgsparql.schema.joining import roles_without_meaning
from kgsparql.schema.kinds import NamedKinds, predicate_of_things
from kgsparql.schema.known_names import name_of_code, other_names
from kgsparql.schema.vocabulary import GraphVocabulary

MOST_KINDS, MOST_RELATIONS = 50, 200
MOST_COUNTED = 10_000  # things of a kind that has others below it
_TERMS = 1_000  # classes and predicates that are counted
_PAIRS, _PAIRS_REMOTE = 300, 20  # of a relation, that tell what its values are
_TYPED = 100  # of these, those that tell of which kinds they are
_TOGETHER = 20  # kinds or relations that are looked at together
_NAMED, _EXAMPLES = 20, 3  # things of a kind that tell what names them, and that are shown
_MOST_ALSO, _LONGEST = 4, 60  # other names, and characters of a name
_KINDS_AT_END, _SHARE = 3, 0.1


@frozen
class SchemaKind:
    """A kind of things: a class, or what has a predicate, where things without a class are called so.

    :param also: what else it is called. :param named_by: the predicate that names most of its things, if any does.
    :param iri: of plans, also where it is no class.
    :param count: of its things with those of classes below it; of the latter, up to :data:`MOST_COUNTED`.
    """

    term: str
    label: str
    also: tuple[str, ...]
    count: int
    named_by: str
    examples: tuple[str, ...]
    iri: str

    def __str__(self) -> str:
        by = f", by {self.named_by}" if self.named_by else ""
        return ": ".join(filter(None, (f"{_heading(self)}{by}", "; ".join(self.examples))))


@frozen
class SchemaRelation:
    """What is said of things, however it is stated.

    :param count: of its facts: one that is stated in two ways counts twice; of restrictions of classes, some.
    :param subjects: the kinds of what it is said of; ``objects``, of what it leads to: kinds, or number, text …
    :param stated: how it is stated where that is not by its own predicate alone.
    """

    term: str
    label: str
    also: tuple[str, ...]
    count: int
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    stated: tuple[str, ...]
    example: str

    def __str__(self) -> str:
        ends = " → ".join(" or ".join(own) or "thing" for own in (self.subjects, self.objects))
        return f"{_heading(self)}: {'; '.join((ends, *self.stated, self.example))}"


def _heading(one: SchemaKind | SchemaRelation) -> str:
    also = f" (also: {', '.join(one.also)})" if one.also else ""
    return f"{one.term} ! {one.label}{also} ({one.count:,})"


@frozen
class SchemaOverview:
    """The kinds and relations of a graph, the commonest first.

    :param triples: how many there are, as far as that was counted.
    :param more_kinds: how many more are known.
    :param missing: what an endpoint could not tell, and why.
    """

    name: str
    triples: int | None
    named_graphs: tuple[str, ...]
    kinds: tuple[SchemaKind, ...]
    relations: tuple[SchemaRelation, ...]
    more_kinds: int
    more_relations: int
    missing: tuple[str, ...]

    def __str__(self) -> str:
        more = {"kinds": self.more_kinds, "relations": self.more_relations}
        cut = [f"{number:,} more {what}" for what, number in more.items() if number]
        parts = {"kind": self.kinds, "relation": self.relations, "cut": cut, "missing": self.missing}
        return "\n".join(f"{what:<9} {one}" for what, own in parts.items() for one in own)

    def within(self, characters: int) -> SchemaOverview:
        """Leave the commonest kinds and relations whose lines have room together."""
        own = self
        while len(str(own)) > characters and (own.kinds or own.relations):
            what = "kinds" if len(own.kinds) > len(own.relations) else "relations"
            more = {what: getattr(own, what)[:-1], f"more_{what}": getattr(own, f"more_{what}") + 1}
            own = replace(own, **more)
        return own


def schema_overview(lookups: GraphLookups) -> SchemaOverview:
    """Read what a graph is read as, from what it counts of its classes and predicates, and some facts of each."""
    reader = _Reader(lookups)
    facts, kinds, relations = reader.facts, list[SchemaKind](), list[SchemaRelation]()
    try:
        reader.read_nouns()
        kinds += reader.kinds()
        relations += reader.relations()
    except (*GRAPH_FAILED, BudgetExceededError) as error:
        if not lookups.graph.is_remote:
            raise
        facts["missing"]["all kinds and relations"] = error.message
    missing = tuple(f"{what}: {why}" for what, why in facts["missing"].items())
    own = facts["triples"], tuple(facts["named_graphs"]), tuple(kinds), tuple(relations)
    return SchemaOverview(facts["name"], *own, reader.more_kinds, reader.more_relations, missing)


class _Reader:
    """Reads kinds and relations.

    :ivar nouns: what kinds are called in the names of their things. :ivar things: some, of kinds that are no classes.
    """

    def __init__(self, lookups: GraphLookups) -> None:
        self.graph, self._lookups = lookups.graph, lookups
        self.facts = graph_info(self.graph, lambda _: {}, lookups.prefixes, shown=_TERMS)
        self._sizes: dict[IRI, int]
        self._sizes, self._counts = (
            {as_iri(parse_term(one["term"])): one["count"] for one in self.facts[what]}
            for what in ("classes", "predicates")
        )
        self._vocabulary = GraphVocabulary.of(self.graph)
        self._profiler = Profiler(self.graph, self._vocabulary)
        self._nouns = defaultdict[IRI, list[str]](list)
        self._things: dict[IRI, frozenset[IRI]] = {}
        self.more_kinds = self.more_relations = 0

    def read_nouns(self) -> None:
        """Read which nouns stand for the things of a kind; in an ontology its classes have all."""
        if self._vocabulary.is_ontology:
            return
        sizes = {kind: size for kind, size in self._sizes.items() if not _is_of_schema(kind)}
        named = NamedKinds.of(self.graph, sizes, [one for one in self._counts if one not in UNWALKED])
        for word in sorted(named.by_word, key=lambda own: (-len(named.by_word[own]), own)):
            if (found := named.called({word})) is not None:
                by = predicate_of_things(found.of)
                if by is None:
                    self._nouns[found.of].append(word)
                elif named.things[by] not in self._things.values():
                    self._things[found.of] = named.things[by]

    # -- Kinds

    def kinds(self) -> Iterator[SchemaKind]:
        """Yield the commonest kinds."""
        classes = [*self._things, *self._sizes][: 2 * MOST_KINDS]
        above: Iterable[IRI] = self._profiler.with_broader(classes)
        if self._vocabulary.is_ontology:
            below = self._profiler.pairs_along([SUBCLASS_OF], most=MOST_COUNTED)[SUBCLASS_OF]
            above = [kind for kind, _ in Counter(iris_in(end for _, end in below)).most_common(2 * MOST_KINDS)]
        nodes = {way.kind for own in self._vocabulary.joined.values() for way in own}
        wanted = [one for one in distinct([*classes, *above]) if one not in nodes and not _is_of_schema(one)]
        counts = {one: self._count_of(one) for one in wanted}
        chosen = sorted(counts, key=lambda one: (-counts[one], one.value))
        self.more_kinds = len(chosen[MOST_KINDS:]) + len(self._sizes.keys() - {*classes})
        naming = self.graph.naming.labels
        for some in in_parts(chosen[:MOST_KINDS], _TOGETHER):
            self._profiler.sample_all([*map(a.Instances, some)])
            things = {one: iris_in(self._profiler.sample(a.Instances(one)))[:_NAMED] for one in some}
            every = [*chain(*things.values())]
            texts = select_about(self.graph, [Query.load("labels").bind(predicate=naming)], every).seen
            called, named = self._names([*some, *every]), {(one["entity"], one["predicate"]) for one in texts}
            for kind, own in things.items():
                by = [self._term(p) for p in naming if 2 * sum((one, p) in named for one in own) >= len(own) > 0]
                also = self._also(called(kind), self._nouns.get(kind, ()))
                examples = distinct(map(called, own))[:_EXAMPLES]
                yield SchemaKind(
                    self._term(kind), called(kind), also, counts[kind], "".join(by[:1]), examples, kind.value
                )

    def _count_of(self, kind: IRI) -> int:
        """Count the things of a kind and of those below it; an endpoint only counted the former."""
        size = self._sizes.get(kind, 0)
        if self.graph.is_remote or (size and not self._vocabulary.narrower):
            return size
        things = compiled(a.Instances(kind), vocabulary=self._vocabulary, limit=MOST_COUNTED)
        return max(size, len(self.graph.select(things)))

    # -- Relations

    def relations(self) -> Iterator[SchemaRelation]:
        """Yield the commonest relations."""
        sizes, most = self._relation_sizes(), _PAIRS_REMOTE if self.graph.is_remote else _PAIRS
        wanted = sorted(sizes, key=lambda one: (-sizes[one], one.value))
        self.more_relations = len(wanted[MOST_RELATIONS:])
        for some in in_parts(wanted[:MOST_RELATIONS], _TOGETHER):
            pairs = {one: own for one, own in self._profiler.pairs_along(some, most=most).items() if own}
            ends = {one: [*zip_equal(*own[:_TYPED])] for one, own in pairs.items()}
            every = {*chain(*chain(*ends.values()))}
            types = self._profiler.classes_of(iris_in(every))
            for kind, things in self._things.items():
                for thing in things & every:
                    types[thing].add(kind)
            kinds = {one: [self._kinds_at([types[e] for e in {*side}]) for side in own] for one, own in ends.items()}
            examples = {one: min(own, key=_rank_as_example) for one, own in pairs.items()}
            called = self._names([*pairs, *chain(*examples.values()), *chain(*chain(*kinds.values()))])
            also = other_names(self.graph, [*pairs])
            for one, own in pairs.items():
                (subject, end), label = map(called, examples[one]), called(one)
                near, far = (tuple(map(called, side)) for side in kinds[one])
                if (value := kind_at_end(objects := [end for _, end in own])) != "item":
                    far = (" in ".join(filter(None, (value, unit_of(one, objects)))),)
                yield SchemaRelation(
                    self._term(one), label, self._also(label, also.get(one, ())), sizes[one] or len(own), near, far,
                    tuple(self._ways(one)), f"{subject} — {label} → {end}",
                )  # fmt: skip

    def _relation_sizes(self) -> dict[IRI, int]:
        """Tell how many facts each relation has, in all the ways in which it is stated."""
        of, counts = self._vocabulary, Counter(self._counts)
        unsaid = UNWALKED | {*self.graph.naming.labels, *chain(*of.valued.values())} | roles_without_meaning(of.joined)
        found = {one: counts[one] for one in (*counts, *of.restricted) if one not in unsaid}
        for one, ways in of.relations.items():
            found[one] = sum(counts[own] for own in {one, *(way.predicate for way in ways)})
        for one, nodes in of.joined.items():
            found[one] = sum(self._sizes.get(kind, 0) for kind in {way.kind for way in nodes})
        return {one: size for one, size in found.items() if one in ASKED_OF_ONTOLOGIES or not _is_of_schema(one)}

    def _ways(self, one: IRI) -> Iterator[str]:
        """Yield how a relation is stated, where that is not by its predicate alone."""
        of = self._vocabulary
        for way in of.relations.get(one, ()):
            yield f"{'inverse of' if way.direction == 'inverse' else 'also'} {self._term(way.predicate)}"
        for node in of.joined.get(one, ()):
            yield "node of class {} by {} and {}".format(*map(self._term, (node.kind, node.start, node.end)))
        if one in of.valued:
            yield f"node with the value by {' or '.join(map(self._term, of.valued[one]))}"
        if one in of.keyed:
            yield "key of class {} by {}".format(*map(self._term, of.keyed[one]))
        if one in of.restricted:
            yield "restrictions of classes"
        if of.may_repeat(Step(one), is_within=True):
            yield "any number of steps (+)"

    def _kinds_at(self, ends: Sequence[set[IRI]]) -> list[IRI]:
        """List the kinds that most ends are of; of two that as many are of, the smaller one says more."""
        left, found = [{kind for kind in own if not _is_of_schema(kind)} or own for own in ends], list[IRI]()
        sizes = {**{kind: len(things) for kind, things in self._things.items()}, **self._sizes}
        while len(found) < _KINDS_AT_END and (counts := Counter(chain(*left))):
            best = min(counts, key=lambda one: (-counts[one], sizes.get(one, 0), one.value))
            if counts[best] < _SHARE * len(ends):
                break
            found.append(best)
            left = [own for own in left if best not in own]
        return found

    # -- Names

    def _names(self, terms: Iterable[Term]) -> Callable[[Term], str]:
        """Find what terms are called."""
        found = labels(self.graph, terms, languages=self._lookups.languages)

        def called(term: Term) -> str:
            own = found[term].text
            if isinstance(term, IRI) and found[term].derived:
                own = term.value.rpartition("#")[2] if term in self._things else name_of_code(term) or own
            return printable(own, _LONGEST)

        return called

    def _term(self, term: IRI) -> str:
        by, compress = predicate_of_things(term), self._lookups.prefixes.compress
        return compress(term) if by is None else f"things with {compress(by)}"

    @staticmethod
    def _also(label: str, others: Iterable[str]) -> tuple[str, ...]:
        own = {normalised(one): printable(one, _LONGEST) for one in (label, *others)}
        return tuple(own.values())[1 : 1 + _MOST_ALSO]


def _rank_as_example(pair: tuple[Term, Term]) -> tuple[int, str]:
    return sum(isinstance(one, BlankNode) for one in pair), str(pair)


def _is_of_schema(term: IRI) -> bool:
    return term.value.startswith(OF_ONTOLOGIES)
