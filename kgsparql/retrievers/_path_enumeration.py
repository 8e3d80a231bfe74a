"""Which property paths lead on from an entity, what stands along them, and what may be at their ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgsparql.answering.session import Session
from kgsparql.exploration import PredicatePath, predicate_paths, walk_ends
from kgsparql.graphs.cut import Cut
from kgsparql.rdf.paths import Constraint, PropertyPath, Step, Walk
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.vocabulary import RDF_TYPE, UNWALKED, is_mediator

__all__ = ["Enumeration", "enumerated", "with_ends"]

MANY_PREDICATES = 30
"""Distinct predicates near an entity above which only the likeliest first steps are walked on from, and two hops."""

SAMPLE = 20
"""Ends of a path whose kinds say what kind of thing it leads to: the first in the order of their text."""

_LOOKED_AT = 500
"""Ends of a path that are fetched, so that those first in order are the same on every engine."""


@dataclass(slots=True)
class Enumeration:
    """The paths from one entity.

    :param ends: some ends of each path that was looked at.
    :param whole: the paths of which these are all the ends.
    :param constraints: of a path that only keeps to nodes which have something to do with another entity: that.
    """

    start: IRI
    paths: list[PropertyPath] = field(default_factory=list)
    ends: dict[PropertyPath, tuple[Term, ...]] = field(default_factory=dict)
    whole: set[PropertyPath] = field(default_factory=set)
    kinds: dict[PropertyPath, str] = field(default_factory=dict)
    constraints: dict[PropertyPath, Constraint] = field(default_factory=dict)

    def kinds_along(self, path: PropertyPath) -> list[str]:
        """What stands at each place of a path, the start first; empty where it is not known."""
        return [self.kinds.get(PropertyPath(path.steps[:length]), "") for length in range(len(path) + 1)]

    def add(self, found: Sequence[PredicatePath]) -> None:
        """Take paths in, but for those that say what a thing is, or that it points at itself."""
        forward_type = Step(RDF_TYPE)
        for item in found:
            says = forward_type not in item.path.steps and (len(item.path) > 1 or item.ends != (self.start,))
            if says and item.path not in self.ends:
                self.paths.append(item.path)
                self.ends[item.path] = item.ends[:SAMPLE]

    def take_in(self, shared: Mapping[PropertyPath, Sequence[Term]]) -> None:
        """Have these paths lead just to these ends, whether they were found before or not."""
        self.paths += [path for path in shared if path not in self.ends]
        self.ends |= {path: tuple(dict.fromkeys(ends))[:SAMPLE] for path, ends in shared.items()}

    def walk(self, path: PropertyPath) -> Walk:
        """A path from the start, with what it keeps to."""
        return Walk(self.start, path, (self.constraints[path],) if path in self.constraints else ())


def enumerated(
    start: IRI, session: Session, *, max_hops: int | None, first_steps: int, frontier: int, is_class: bool
) -> Enumeration:
    """The distinct paths from an entity, with the kinds of what they pass and, but for the longest, lead to.

    When the budget ends, those found until then stand.

    :param max_hops: ``None`` for 3, or 2 where more than 30 predicates are near.
    :param first_steps: of more than 30 first steps, how many are walked on from: those most like the question.
    :param is_class: its instances are a step away, too.
    """
    made = Enumeration(start, ends={PropertyPath(()): (start,)})

    def keep(level: Sequence[PredicatePath]) -> Collection[PropertyPath]:
        made.add(level)
        paths = [found.path for found in level if len(found.path) > 1 or found.ends != (start,)]
        predicates = {step.predicate for path in paths for step in path}
        if len(predicates) <= MANY_PREDICATES or not paths:
            return paths
        if len(paths[0]) > 1:
            return paths if max_hops is not None else ()
        likely = _likeliest(paths, first_steps, session)
        if len(likely) < len(paths):
            name = _name(start, session)
            told = (
                f"paths from {name}: only {first_steps:,} of {len(paths):,} first steps were walked on from "
                "(-O first_steps=N takes more)"
            )
            session.note_cuts([Cut("first steps walked on from", first_steps, len(paths), name, told)])
        return likely

    with session.within_budget():
        found = predicate_paths(
            session.graph, start,
            max_hops=max_hops or 3, frontier=frontier, direction=session.direction,
            skip=UNWALKED - {RDF_TYPE} if is_class else UNWALKED, keep=keep,
        )  # fmt: skip
        made.add(found.items)
        if found.cuts:
            name = _name(start, session)
            told = f"paths from {name}: only {frontier:,} ends were walked on from; there are more (-O frontier=N)"
            session.note_cuts([Cut("ends of a path walked on from", frontier, None, name, told)])
        _add_kinds(made, session)
    return made


def with_ends(made: Enumeration, paths: Sequence[PropertyPath], session: Session) -> None:
    """Look at the ends of these paths: one query for 50 of them. Of more than 500 ends, at any 500."""
    with session.within_budget():
        found = walk_ends(session.graph, [made.walk(path) for path in paths], limit=_LOOKED_AT)
        for path, own in zip(paths, found, strict=True):
            ends = tuple(end for end in own.items if not is_mediator(end))
            made.ends[path] = tuple(end for end in ends if end != made.start) or ends
            if not own.cuts:
                made.whole.add(path)
        _add_kinds(made, session)


def _add_kinds(made: Enumeration, session: Session) -> None:
    new = [path for path in made.ends if not made.kinds.get(path)]
    ends = [[(end,) for end in made.ends[path][:SAMPLE] if not is_mediator(end)] for path in new]
    for path, kinds in zip(new, session.kinds(ends), strict=True):
        made.kinds[path] = kinds[0] if kinds else ""


def _likeliest(paths: Sequence[PropertyPath], at_most: int, session: Session) -> list[PropertyPath]:
    """The first steps that are most like the question, in their order."""
    labels = session.labels(path.steps[0].predicate for path in paths)
    texts = [f"{labels[p.steps[0].predicate]}{' of' if p.steps[0].direction == 'inverse' else ''}" for p in paths]
    scores = session.ranker.rank(session.masked_question, texts)
    return [paths[i] for i in sorted(np.argsort(-scores, kind="stable")[:at_most])]


def _name(term: IRI, session: Session) -> str:
    return session.labels([term], in_grace=True)[term]
