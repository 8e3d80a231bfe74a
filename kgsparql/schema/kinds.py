"""What nouns stand for that no class is called by: the things whose names or addresses have the noun."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import quote, unquote

from kgsparql.dataclasses import frozen
from kgsparql.exploration.labels import labels
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Variable, variables
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, normalised, split_camel_case
from kgsparql.rdf.vocabulary import RDF_TYPE

_READ, _EACH = 20, 500  # classes or predicates whose things are read, and things of each
_FEWEST = 4  # things that tell what such are called
_PRECISE, _WHOLE = 0.6, 0.75  # share of the things of a kind that have the noun, and of those that have it
_TYPED = 0.1  # of a graph in which fewer things have a class, the predicates that things have tell what they are
_WITH = "urn:things-with:"
_WORD, _ASIDE = re.compile(r"[^\W\d_]+"), re.compile(r"\(.*?\)")


@frozen
class NamedKind:
    """What a noun stands for.

    :param of: a class, or what :func:`things_with` makes.
    :param share: of its things, how many have the noun; 1 where every one is meant.
    :param size: how many there are, as far as that was read.
    """

    of: IRI
    share: float
    size: int


@frozen
class NamedKinds:
    """The things of a graph by the words of their names.

    :param things: by class, or by predicate of things without one; some of each.
    :param by_word: which things have a word at an end of their names, or of the address that they share with others.
    :param sizes: of classes.
    """

    things: Mapping[IRI, frozenset[IRI]]
    by_word: Mapping[str, frozenset[IRI]]
    sizes: Mapping[IRI, int]

    @classmethod
    def of(cls, graph: KnowledgeGraph, sizes: Mapping[IRI, int], predicates: Sequence[IRI]) -> NamedKinds:
        """Read them; none at an endpoint, as some of its things tell little of all.

        :param sizes: of the commonest classes. :param predicates: the commonest, for a graph whose things have none.
        """
        if graph.is_remote:
            return cls({}, {}, sizes)
        things = _things_of(graph, {kind: g.Fact(Variable("x"), RDF_TYPE, kind) for kind in [*sizes][:_READ]})
        with_any = {one: g.Fact(Variable("x"), one, Variable("y")) for one in predicates[:_READ]}
        by_predicate = _things_of(graph, with_any) if sum(sizes.values()) < _EACH else {}
        most = max(map(len, by_predicate.values()), default=0)
        things |= by_predicate if sum(sizes.values()) < _TYPED * most else {}
        return cls(things, _by_word(graph, set().union(*things.values())), sizes)

    def called(self, forms: Collection[str]) -> NamedKind | None:
        """Find of what things a noun is the name: of most of a kind, and of few others.

        :param forms: of the noun.
        """
        known = sorted(filter(self.by_word.__contains__, forms), key=len)
        named = frozenset[IRI]().union(*map(self.by_word.__getitem__, known))
        found = []
        for kind, things in self.things.items():
            both = len(named & things)
            if len(things) >= _FEWEST and both >= _PRECISE * len(things) and both >= _WHOLE * len(named):
                of = kind if kind in self.sizes else things_with(kind, known[0])
                # With most of what has the noun, as of what is out of use less is said; then with few others.
                found.append((both, -len(things), str(kind), NamedKind(of, both / len(things), len(things))))
        return max(found)[-1] if found else None


def things_with(predicate: IRI, noun: str) -> IRI:
    """Make what stands for the class of all that has a predicate, in a graph that has none for it.

    >>> class_of = things_with(IRI("http://e.org/v#status"), "part")
    >>> class_of.value, predicate_of_things(class_of).value
    ('urn:things-with:http://e.org/v%23status#part', 'http://e.org/v#status')
    """
    return IRI(f"{_WITH}{quote(predicate.value, safe=':/')}#{noun}")


def predicate_of_things(kind: IRI) -> IRI | None:
    """Return the predicate that all things of such a class have; ``None`` for other classes."""
    own = kind.value.removeprefix(_WITH)
    return None if own == kind.value else IRI(unquote(own.partition("#")[0]))


def _things_of(graph: KnowledgeGraph, facts: Mapping[IRI, g.Fact]) -> dict[IRI, frozenset[IRI]]:
    x, n = variables("x n")
    queries = [
        g.select_query("things", g.Select(((n, Literal(str(at))), x), (fact,), distinct=True, limit=_EACH))
        for at, fact in enumerate(facts.values())
    ]
    found: dict[object, set[IRI]] = defaultdict(set)
    for one in graph.select(Query.union(queries)) if queries else ():
        if isinstance(one["x"], IRI):
            found[one["n"]].add(one["x"])
    return {kind: frozenset(found[Literal(str(at))]) for at, kind in enumerate(facts)}


def _by_word(graph: KnowledgeGraph, things: Collection[IRI]) -> dict[str, frozenset[IRI]]:
    found: dict[str, set[IRI]] = defaultdict(set)
    for term, label in labels(graph, things).items():
        if isinstance(term, IRI):
            address = ["", *re.split("[/#]+", term.value.rstrip("/#"))[2:]]  # not the host, which is of all kinds
            for text in (label.text, *address[-2:-1]):
                own = _WORD.findall(normalised(split_camel_case(_ASIDE.sub("", text))))
                for word in {*own[:1], *own[-1:]}:  # Ontology for …, … Ontology; Lake …
                    found[word].add(term)
    return {word: frozenset(own) for word, own in found.items()}
