"""The same facts in other shapes: what a question comes to must not depend on how the author of a graph modelled it.

Each shape takes the triples of a graph whose things, classes and predicates have ``rdfs:label``, and yields others that
say the same. Things keep their IRIs, so that right answers stay right; what a shape needs is made anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pyoxigraph as ox

from kgsparql.rdf.vocabulary import INVERSE_OF, LABELS, RDF_TYPE, SUBPROPERTY_OF

Term = ox.NamedNode | ox.BlankNode | ox.Literal
Triple = tuple[ox.NamedNode | ox.BlankNode, ox.NamedNode, Term]
NEW = "https://shape.example/"
RDFS_CLASS = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#Class")
VALUE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#value")
DEFINED = ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#",
           "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2004/02/skos/core#")  # fmt: skip
TYPE, LABEL, INVERSE, PART = (ox.NamedNode(one.value) for one in (RDF_TYPE, LABELS[0], INVERSE_OF, SUBPROPERTY_OF))


def local(iri: ox.NamedNode) -> str:
    """Return the end of an IRI."""
    return iri.value.rstrip("/#").replace("#", "/").rpartition("/")[2]


def mark(*terms: object) -> str:
    """Make a name that says nothing to a reader."""
    return sha256("|".join(map(str, terms)).encode()).hexdigest()[:12]


@dataclass
class Facts:
    """The triples of a graph, and what its terms are."""

    triples: list[Triple]
    kinds: dict[Term, ox.NamedNode] = field(init=False)
    classes: set[Term] = field(init=False)
    own: set[ox.NamedNode] = field(init=False)
    links: set[ox.NamedNode] = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = {s: o for s, p, o in sorted(self.triples, key=str) if p == TYPE and isinstance(o, ox.NamedNode)}
        self.classes = {o for _, p, o in self.triples if p == TYPE} | {
            s for s, o in self.kinds.items() if o == RDFS_CLASS
        }
        self.own = {p for _, p, _ in self.triples if not p.value.startswith(DEFINED)}
        self.links = {p for _, p, o in self.triples if p in self.own and not isinstance(o, ox.Literal)}

    def is_thing(self, term: Term) -> bool:
        """Tell things from classes and predicates."""
        return term not in self.classes and term not in self.own

    def labels(self, predicate: ox.NamedNode) -> list[Term]:
        """List the labels of a predicate, else the end of its IRI."""
        return [o for s, p, o in self.triples if s == predicate and p == LABEL] or [ox.Literal(local(predicate))]


def names(facts: Facts) -> Iterator[Triple]:
    """Each class of things has a predicate of its own for their names, without a label."""
    for s, p, o in facts.triples:
        kind = local(facts.kinds[s]) if p == LABEL and s in facts.kinds and facts.is_thing(s) else ""
        yield s, ox.NamedNode(f"{NEW}{kind}#{kind.lower()}name") if kind else p, o


def local_names(facts: Facts) -> Iterator[Triple]:
    """Predicates and classes have no labels."""
    yield from (one for one in facts.triples if one[1] != LABEL or facts.is_thing(one[0]))


def inverse(facts: Facts) -> Iterator[Triple]:
    """Links are stated the other way round, by predicates without names that ``owl:inverseOf`` declares."""
    yield from ((ox.NamedNode(NEW + mark(p)), INVERSE, p) for p in facts.links)
    yield from ((o, ox.NamedNode(NEW + mark(p)), s) if p in facts.links else (s, p, o) for s, p, o in facts.triples)


def subproperties(facts: Facts) -> Iterator[Triple]:
    """Each link is stated by one of two sub-properties without a name."""
    for p in facts.links:
        yield from ((ox.NamedNode(NEW + mark(p, half)), PART, p) for half in (0, 1))
    for s, p, o in facts.triples:
        yield s, ox.NamedNode(NEW + mark(p, int(mark(s, o), 16) % 2)) if p in facts.links else p, o


def relation_nodes(facts: Facts) -> Iterator[Triple]:
    """Links are nodes of a class that is called as the link was, with predicates of its own for both ends."""
    yield from _nodes(facts, lambda name, _: (f"{name}Of", f"{name}Is"))


def from_to(facts: Facts) -> Iterator[Triple]:
    """The same nodes, whose ends are stated by ``from`` and ``to`` whatever the class."""
    yield from _nodes(facts, lambda _, __: ("from", "to"))


def roles(facts: Facts) -> Iterator[Triple]:
    """The same nodes, whose ends are stated by what these are: the class of the subject, and the name of the link."""
    yield from _nodes(facts, lambda name, kind: (f"{name}/{kind}", f"{name}/{name}"))


def blank_nodes(facts: Facts) -> Iterator[Triple]:
    """The same nodes, blank, of classes that have no label."""
    yield from _nodes(facts, lambda name, _: (f"{name}Subject", f"{name}Object"), are_blank=True)


def value_nodes(facts: Facts) -> Iterator[Triple]:
    """Numbers and dates stand on a node, by ``rdf:value``."""
    for s, p, o in facts.triples:
        if p in facts.own and isinstance(o, ox.Literal) and not o.datatype.value.endswith(("#string", "#langString")):
            node = ox.BlankNode(f"v{mark(s, p, o)}")
            yield from ((s, p, node), (node, VALUE, o))
        else:
            yield s, p, o


def _nodes(facts: Facts, ends: Callable[[str, str], tuple[str, str]], *, are_blank: bool = False) -> Iterator[Triple]:
    kinds = {p: ox.NamedNode(f"{NEW}{local(p)[0].upper()}{local(p)[1:]}") for p in facts.links}
    own = {p: Counter(local(facts.kinds[s]) for s, q, _ in facts.triples if p == q and s in facts.kinds) for p in kinds}
    subjects = {p: counts.most_common(1)[0][0].lower() if counts else "thing" for p, counts in own.items()}
    for p, kind in kinds.items():
        yield kind, TYPE, RDFS_CLASS
        yield from ((kind, LABEL, label) for label in facts.labels(p) if not are_blank)
    for s, p, o in facts.triples:
        if p in facts.links:
            node: ox.NamedNode | ox.BlankNode = ox.NamedNode(f"{NEW}node/{mark(s, p, o)}")
            node = ox.BlankNode(f"n{mark(s, p, o)}") if are_blank else node
            start, end = (ox.NamedNode(NEW + one) for one in ends(local(p), subjects[p]))
            yield from ((node, TYPE, kinds[p]), (node, start, s), (node, end, o))
        elif s not in facts.links:
            yield s, p, o


SHAPES: Mapping[str, Callable[[Facts], Iterator[Triple]]] = {
    one.__name__: one
    for one in (names, local_names, inverse, subproperties, relation_nodes, from_to, roles, blank_nodes, value_nodes)
}


def reshaped(path: Path, shape: str) -> ox.Store:
    """Load a Turtle file, its triples in another shape."""
    read = ox.parse(path=str(path), format=ox.RdfFormat.TURTLE)
    store = ox.Store()
    store.extend(ox.Quad(*one) for one in SHAPES[shape](Facts([(q.subject, q.predicate, q.object) for q in read])))
    return store
