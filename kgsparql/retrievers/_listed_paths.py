"""The property paths that begin at an entity: the kinds of terms along them, and the terms at their ends."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import chain

import numpy as np

from kgsparql.answering.choosing import Candidate
from kgsparql.answering.path_scoring import Start, score_paths
from kgsparql.answering.session import Session
from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.evidence.verbalising import arrow
from kgsparql.exploration import PredicatePath, mediated_paths, paths_of_several, walk_ends
from kgsparql.graphs.notes import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import counted, root, roots_of, words_of
from kgsparql.rdf.paths import Constraint, PropertyPath, Step, Walk
from kgsparql.rdf.terms import IRI, Literal, Term, distinct, grouped, local_name, normalised, printable, zip_equal
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES, RDF_TYPE, UNWALKED, is_mediator
from kgsparql.retrievers._walking import SAMPLE, direct_first

# With more predicates near an entity, only the likeliest first steps are walked on from, and paths have at most 2 hops.
_MANY_PREDICATES = 30
_MAX_FETCHED_ENDS = 500  # ends of a path that are fetched: enough that the first in order are the same on every engine
_EXAMPLE_ENDS = 2
_MAX_FURTHER_PATHS = 10
_MAX_NAME_CHARACTERS = 40

# Words in names of predicates that say little of a thing itself: identifiers, addresses, pictures, records.
_HOUSEKEEPING = frozenset(
    "id ids identifier identifiers iri uri url guid uuid doi isbn issn orcid gnd viaf isni lccn checksum sortkey logo "
    "image picture photo thumbnail depiction icon homepage website webpage modified revision".split()
)
# A text that looks like an identifier: letters and digits, and no space.
_CODE = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w./:-]{6,}")


@dataclass(slots=True)
class Enumeration:
    """The paths from one linked entity, with some ends of each; those whose ends are all known are ``whole``.

    :param fetched: the ends of each path that were fetched; ``looked_at``: those whose kind was asked for.
    :param kinds: the kind of the terms at the end of each path.
    :param to_nodes: steps that lead to nodes that only join things, where no path ends.
    :param constraints: the condition on the middle node of a path that :func:`restrict_to_shared` restricted.
    """

    link: LinkedEntity
    ends: dict[PropertyPath, tuple[Term, ...]] = field(default_factory=dict)
    whole: set[PropertyPath] = field(default_factory=set)
    fetched: set[PropertyPath] = field(default_factory=set)
    looked_at: dict[PropertyPath, tuple[Term, ...]] = field(default_factory=dict)
    kinds: dict[tuple[Step, ...], str] = field(default_factory=dict)
    constraints: dict[PropertyPath, Constraint] = field(default_factory=dict)
    to_nodes: frozenset[Step] = frozenset()

    def kinds_along(self, path: PropertyPath) -> list[str]:
        """List the kind of the terms at each place of a path, the start first; empty where it is not known."""
        return [self.kinds.get(path.steps[:length], "") for length in range(len(path.steps) + 1)]

    @property
    def paths(self) -> list[PropertyPath]:
        """The paths, in the order in which they were found."""
        return [path for path in self.ends if path.steps]

    def add(self, found: Iterable[PredicatePath]) -> None:
        """Add paths, but for those over a term's class, to what only joins others, and from the start to itself."""
        for path, ends in found:
            is_none = not self.to_nodes.isdisjoint(path.steps[-1:])
            to_itself = path.is_direct and ends == (self.link.term,)
            if path not in self.ends and Step(RDF_TYPE) not in path.steps and not (to_itself or is_none):
                self.ends[path] = ends[:SAMPLE]

    def walk(self, path: PropertyPath) -> Walk:
        """Walk a path from the start, with its constraint if it has one."""
        return Walk(self.link.term, path, (self.constraints[path],) if path in self.constraints else ())


def enumerate_paths(
    links: Sequence[LinkedEntity], session: Session, *, max_hops: int | None, first_steps: int, frontier: int
) -> list[Enumeration]:
    """Enumerate the distinct paths from entities, in the same queries; from a class, a step leads to its instances.

    :param max_hops: ``None`` for 3, or 2 where more than 30 predicates are near; then the likeliest first steps go on.
    """
    to_nodes = session.vocabulary.to_nodes
    enumerations = [Enumeration(link, ends={PropertyPath(()): (link.term,)}, to_nodes=to_nodes) for link in links]

    def note_cut(start: IRI, what: str, limit: int, known: int | None, message: str) -> None:
        name = session.labels([one.term for one in links])[start]
        session.notes.add_cuts([Cut(what, limit, known, name, f"paths from {name}: {message}")])

    def keep(enumeration: Enumeration, level: Sequence[PredicatePath]) -> Collection[PropertyPath]:
        start = enumeration.link.term
        enumeration.add(level)
        paths = [found.path for found in level if found.path.is_long or found.ends != (start,)]
        if len({p for path in paths for p in path.predicates}) <= _MANY_PREDICATES:
            return paths
        if paths[0].is_long:
            return paths if max_hops is not None else ()
        if len(paths) <= first_steps:
            return paths
        scores = score_paths(
            Start.of(session, enumeration.link), [(path, ("", "")) for path in paths], session.label_fit
        )
        told = f"only {first_steps:,} of {len(paths):,} first steps were walked on from (-O first_steps=N takes more)"
        note_cut(start, "first steps walked on from", first_steps, len(paths), told)
        return [paths[i] for i in sorted(np.argsort(-scores, kind="stable")[:first_steps])]

    with session.within_budget():
        starts = [
            (one.link.term, UNWALKED - {RDF_TYPE} if one.link.kind == "class" else UNWALKED, partial(keep, one))
            for one in enumerations
        ]
        several = paths_of_several(session.graph, starts, max_hops=max_hops or 3, frontier=frontier, direction="both")
        for one, found in zip_equal(enumerations, several):
            one.add(found.items)
            if found.cuts:
                told = f"only {frontier:,} ends were walked on from; there are more (-O frontier=N)"
                note_cut(one.link.term, "ends of a path walked on from", frontier, None, told)
    return enumerations


def add_ends(enumerations: Sequence[Enumeration], kept: Sequence[Sequence[PropertyPath]], session: Session) -> None:
    """Fetch the ends of the paths that are kept of each enumeration, together; of more than 500 ends, any 500."""
    pairs = [(one, path) for one, own in zip_equal(enumerations, kept) for path in own if path not in one.fetched]
    with session.within_budget():
        found = walk_ends(session.graph, [one.walk(path) for one, path in pairs], limit=_MAX_FETCHED_ENDS)
        for (one, path), own in zip_equal(pairs, found):
            ends = tuple(end for end in own.items if not is_mediator(end))
            one.ends[path] = tuple(end for end in ends if end != one.link.term) or ends
            one.fetched.add(path)
            if not own.cuts:
                one.whole.add(path)
                session.labels.walked[one.walk(path)] = own.items
        add_kinds(enumerations, session)


def restrict_to_shared(enumeration: Enumeration, session: Session) -> None:
    """Restrict the paths through a blank node to the nodes that also name another linked entity.

    Then a path leads from the prize that two people shared, not from every prize that one of them received.
    """
    others = others_named(enumeration.link, session)
    one_step = [path for path in enumeration.paths if path.is_direct]
    steps = [path.first_step for path in one_step if any(map(is_mediator, enumeration.ends[path]))]
    if not others or not steps:
        return
    with session.within_budget():
        groups = [(enumeration.link.term, step) for step in steps]
        found, _ = mediated_paths(session.graph, groups, direction="both", skip=UNWALKED)
        paths = [path for own in found.values() for path in own]
        between = dict[Term, tuple[Step, IRI]]()
        for path in paths:
            if path.end in others:
                between.setdefault(path.hops[0].end, (path.hops[1].step, path.end))  # type: ignore[arg-type]
        shared = dict[PropertyPath, list[Term]]()
        for path in paths:
            node, shape = path.hops[0].end, path.property_path
            if node in between and path.end not in others and not is_mediator(path.end):
                step, other = between[node]
                enumeration.constraints.setdefault(shape, Constraint(1, step, (other,)))
                shared.setdefault(shape, []).append(path.end)
        enumeration.ends |= {path: distinct(ends)[:SAMPLE] for path, ends in shared.items()}


def others_named(link: LinkedEntity, session: Session) -> dict[Term, float]:
    """Find the linked entities that other words of the question name, with the scores of their links."""
    others = (other for other in session.links if other.term != link.term)
    return {other.term: other.score for other in others if not other.mention.overlaps(link.mention)}


def add_kinds(enumerations: Iterable[Enumeration], session: Session) -> None:
    """Name the kinds of the ends that are known, of all paths together."""
    pairs = [(one, path) for one in enumerations for path, ends in one.ends.items() if one.looked_at.get(path) != ends]
    new = [(one, path) for one, path in pairs if not one.kinds.get(path.steps)]
    groups = [[(end,) for end in one.ends[path][:SAMPLE] if not is_mediator(end)] for one, path in new]
    for (one, path), kinds in zip_equal(new, session.compared_labels.majority_types(groups)):
        one.kinds[path.steps], one.looked_at[path] = kinds[0] if kinds else "", one.ends[path]


@frozen
class LikelyPath:
    """A scored path from one of the entities that a mention may mean, and the same from nodes of the same name."""

    enumeration: Enumeration
    path: PropertyPath
    score: float = 0.0
    others: tuple[LikelyPath, ...] = ()

    @property
    def link(self) -> LinkedEntity:
        """The entity that it starts from."""
        return self.enumeration.link

    @property
    def walk(self) -> Walk:
        """Walk it, with its constraint if it has one."""
        return self.enumeration.walk(self.path)

    @property
    def of_all_nodes(self) -> tuple[LikelyPath, ...]:
        """It, and the same from the other nodes."""
        return (self, *self.others)

    @property
    def ends(self) -> tuple[Term, ...]:
        """Where it leads to from all nodes, as far as that is known."""
        return distinct(chain.from_iterable([one.enumeration.ends[one.path] for one in self.of_all_nodes]))

    @property
    def is_whole(self) -> bool:
        """Tell whether all its ends are known."""
        return all(one.path in one.enumeration.whole for one in self.of_all_nodes)


def distinct_paths(found: Sequence[LikelyPath], at_most: int) -> list[LikelyPath]:
    """Take the first paths, without those that lead to just the same several ends as one before them."""
    kept = []
    seen = set()
    same = dict[tuple[object, ...], list[LikelyPath]]()
    for one in found:  # from nodes of one label, kind and description, which nobody can tell apart
        link, kind = one.link, one.enumeration.kinds_along(one.path)[0]
        key = (link.mention, normalised(link.label), link.kind, link.description, kind, one.path)
        same.setdefault(key, []).append(one)
    for one in direct_first((own[0].walk, replace(own[0], others=tuple(own[1:]))) for own in same.values()):
        own = replace(one, others=())
        ends = frozenset(own.ends)
        if one.others or not own.is_whole or len(ends) < 2 or ends not in seen:
            seen |= {ends} if own.is_whole else set()
            kept.append(one)
    return kept[:at_most]


def from_all_nodes(chosen: Sequence[LikelyPath], session: Session) -> list[LikelyPath]:
    """Follow each path from all nodes of its name that nobody can tell apart; what is left out is noted."""
    near = [replace(one, enumeration=each.enumeration) for one in chosen for each in one.of_all_nodes]
    known = {one.link.term for one in near}
    further = []
    for one in (one for one in chosen if one.others):
        links = [link for link in session.links if one.link.term in {e.term for e in (link, *link.namesakes)}]
        nodes = [e for link in links for e in link.namesakes if e.term not in known]
        further += [replace(one, enumeration=Enumeration(node)) for node in nodes]
    if (left := len(further) - _MAX_FURTHER_PATHS) > 0:
        text = f"a name has many nodes: {counted(left, 'path')} from them not followed (-e IRI takes a node)"
        session.notes.append(text, code="namesakes")
    return near + further[:_MAX_FURTHER_PATHS]


def is_housekeeping(name: str, predicate: Term, ends: Sequence[Term], asked: Collection[str]) -> bool:
    """Tell whether a predicate leads to identifiers, addresses or pictures that the question does not ask for.

    >>> from kgsparql.rdf.terms import IRI
    >>> predicate, key = IRI("http://e.org/p214"), Literal("n79021164")
    >>> is_housekeeping("VIAF ID", predicate, (), ["who"]), is_housekeeping("VIAF ID", predicate, (), ["viaf"])
    (True, False)
    >>> is_housekeeping("code", predicate, [key], [])
    True
    """
    if telling := _HOUSEKEEPING.intersection(words_of(name)):
        return telling.isdisjoint(asked)
    looks_so = predicate in PICTURES_AND_PAGES or (bool(ends) and all(map(_is_code, ends)))
    return looks_so and roots_of([name]).isdisjoint(map(root, asked))


def _is_code(end: Term) -> bool:
    if not isinstance(end, Literal):
        return False
    kind = end.datatype.value.rpartition("#")[2]
    return kind == "anyURI" or (kind == "string" and _CODE.fullmatch(end.value) is not None)


def numbered_list(found: Sequence[LikelyPath], session: Session) -> list[Candidate]:
    """List the paths for a reader, numbered: start, predicates, number of ends, and some of the ends."""
    predicates = [p for one in found for p in one.path.predicates]
    examples = [end for one in found for end in one.ends[:_EXAMPLE_ENDS]]
    labels = session.labels([*predicates, *examples, *(one.link.term for one in found)], in_grace=False)
    walks = []
    for one in found:
        nodes = f", {1 + len(one.others)} nodes" if one.others else ""
        parts = [f"{printable(labels[one.link.term], _MAX_NAME_CHARACTERS)}{nodes}"]
        for step, kind in zip_equal(one.path.steps, one.enumeration.kinds_along(one.path)[1:]):
            parts += [arrow(step, labels), kind or "…"]
        walks.append(" ".join(parts))
    alike = grouped(zip_equal(walks, found))
    listed = []
    for i, (one, walk) in enumerate(zip_equal(found, walks)):
        told = f" [{_told_apart(one, alike[walk])}]" if len(alike[walk]) > 1 else ""
        ends = "; ".join(printable(labels[end], _MAX_NAME_CHARACTERS) for end in one.ends[:_EXAMPLE_ENDS])
        text = f"{walk}{told} ({len(one.ends)}{'' if one.is_whole else '+'}: {ends})"
        listed.append(Candidate(i, text, score=one.score))
    return listed


def _told_apart(one: LikelyPath, alike: Sequence[LikelyPath]) -> str:
    """Say what tells a path from others that read the same: its start, else what its predicates are called."""
    if len({other.link.term for other in alike}) > 1:
        return printable(one.link.description or local_name(one.link.term), 60)
    pairs = zip_equal(*(other.path.steps for other in alike))
    own = [step for step, others in zip_equal(one.path.steps, pairs) if len(set(others)) > 1]
    return ", ".join(printable(local_name(step.predicate), 80) for step in own)
