"""From a path that was found to every answer on it: its property path is asked, and what that finds is the evidence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

from kgsparql.dataclasses import dataclass
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.term_labels import TermLabels, terms_of
from kgsparql.evidence.verbalising import Line, line_text
from kgsparql.exploration import Found, walk_ends, walk_ways
from kgsparql.graphs.notes import Cut
from kgsparql.linking.words import content_stems
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, Walk, Way
from kgsparql.rdf.terms import BlankNode, Labels, Literal, Term, distinct
from kgsparql.rdf.vocabulary import is_mediator

# Ends of a walk whose triples are cited; the query of the item finds them all.
SHOWN = 50
# Ends of a walk that are fetched.
ENDS = 10_000
# Ends that are asked for their labels; of more, the others are called by the end of their IRIs.
LABELLED = 1_000

_MAX_WAYS = 2_000
_MAX_TOLD = 12  # ends that the text of an item names

_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(rf"((?:^[-−])?(?:{_GROUPED.pattern}(?!\d)|\d+(?:[.,]\d+)?))")
_FLOAT = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(slots=True, eq=False)
class _FollowedWalk:
    """A walk, and what was found of it so far.

    :param known: one way of each path: what satisfies a constraint may do so in several ways.
    """

    walk: Walk
    met: Found[Term]
    ends: Sequence[Term] = ()
    asked: Sequence[Term] = ()
    known: Sequence[Way] = ()
    cuts: tuple[Cut, ...] = ()
    is_whole: bool = True
    ways: Sequence[Way] = ()
    told: Sequence[Way] = ()

    @property
    def between(self) -> tuple[tuple[Term, ...], ...]:
        """The terms at each place between the start and the ends, where all are known."""
        if not self.is_whole or not {way.path.end for way in self.known}.issuperset(self.ends):
            return ()
        places = zip(*(way.path.terms[1:-1] for way in self.known), strict=True)
        return tuple(distinct(t for t in place if not is_mediator(t)) for place in places)


def expanded_items(
    walks: Sequence[Walk], terms: TermLabels, *, limit: int = ENDS,
    keep: Callable[[Sequence[Term]], list[Term]] = list, question: str = "",
) -> list[EvidenceItem | None]:  # fmt: skip
    """Follow each walk to all its ends: an item with the triples of the first of them; ``None`` without any end.

    Two queries for up to 50 walks, and the labels. The start counts as an end only if there is no other; a blank node
    never does. The query of an item finds just its ends. Of many ends, those that the question may name are shown
    first, then the first in natural order.

    :param limit: ends of each walk; more are a cut.
    :param keep: those of the ends that a reader wants.
    """
    known = {walk: Found(own) for walk, own in terms.walked.items() if len(own) <= limit}
    new = [walk for walk in walks if walk not in known]
    known.update(zip(new, walk_ends(terms.graph, new, limit=limit), strict=True))
    followed = [_FollowedWalk(walk, known[walk]) for walk in walks]
    for one in followed:
        named = [end for end in one.met.items if not is_mediator(end)]
        one.ends = keep([end for end in named if end != one.walk.start] or named)
    labels = terms((end for one in followed if len(one.ends) <= LABELLED for end in one.ends), in_grace=False)
    for one in followed:
        one.ends = _in_natural_order(one.ends, labels)
        one.asked = _first_ends(one.ends, labels, question, SHOWN)
    _find_ways(followed, terms)
    terms.notes.add_cuts(cut for one in followed for cut in one.cuts)
    for one in followed:
        one.ways = _rows_to_show(one.known, one.asked, SHOWN)
    labels |= terms(terms_of(way.path for one in followed for way in one.ways))
    for one in followed:
        told = _first_ends(one.asked, labels, question, _MAX_TOLD)
        one.told = _rows_to_show(one.ways, told, _MAX_TOLD)
    labels |= terms(term for walk in walks for c in walk.constraints for term in (c.step.predicate, *c.values))
    return [_walk_item(one, terms, labels) if one.ways else None for one in followed]


def known_item(walk: Walk, ends: Sequence[Term], cuts: tuple[Cut, ...], terms: TermLabels) -> EvidenceItem | None:
    """Make the item of a walk of one step whose ends are known; only their labels are asked for."""
    (step,) = walk.path.steps
    named = [end for end in ends if not is_mediator(end)]
    labels = terms([walk.start, step.predicate, *named])
    own = _in_natural_order(named, labels)
    ways = [Way(Path(walk.start, (step.hop(walk.start, end),))) for end in own]
    told = [way for way in ways if way.path.end in _first_ends(own, labels, "", _MAX_TOLD)]
    one = _FollowedWalk(walk, Found(tuple(ends)), own, own, ways, cuts, not cuts, ways, told)
    return _walk_item(one, terms, labels) if ways else None


def _find_ways(followed: Sequence[_FollowedWalk], terms: TermLabels) -> None:
    """Find all ways of each walk, so that what lies between is known; where they are too many, those to ``asked``."""
    todo = [
        (one, None if one.walk.path.is_long and len(one.asked) < len(one.ends) <= LABELLED else one.asked)
        for one in followed
    ]
    while todo:
        walks, ends = [one.walk for one, _ in todo], [own for _, own in todo]
        for (one, _), own in zip(todo, walk_ways(terms.graph, walks, ends, limit=_MAX_WAYS), strict=True):
            one.known = list({way.path: way for way in reversed(own.items)}.values())[::-1]
            one.cuts, one.is_whole = (*one.met.cuts, *own.cuts), not own.cuts
        todo = [(one, one.asked) for one, own in todo if own is None and not one.is_whole]


def _in_natural_order(ends: Sequence[Term], labels: Labels) -> Sequence[Term]:
    """Put ends in natural order of their labels; very many that are no literals stay in the order of their text.

    Labels cost a query for each thousand.
    """
    if len(ends) <= LABELLED:
        return sorted(ends, key=lambda end: (natural_key(labels[end]), str(end)))
    literals = [end for end in ends if isinstance(end, Literal)]
    by_value = sorted(literals, key=lambda end: natural_key(end.value))
    return by_value if len(by_value) == len(ends) else ends


def _first_ends(ends: Sequence[Term], labels: Labels, question: str, at_most: int) -> list[Term]:
    names = [labels.get(end) or (end.value if isinstance(end, Literal) else "") for end in ends]
    return [ends[i] for i in first_to_show(names, question, at_most)]


def _rows_to_show(ways: Sequence[Way], ends: Sequence[Term], at_most: int) -> list[Way]:
    """Keep a way to each of these ends, and all ways to them if they go through few other terms."""
    place = {end: i for i, end in enumerate(ends)}
    wanted = [way for way in ways if way.path.end in place]
    kept = {way.path.end: way for way in reversed(wanted)}
    rows = {way.path.hops[:-1] for way in kept.values()}
    more = [way for way in wanted if way is not kept[way.path.end]]
    others = dict.fromkeys(way.path.hops[:-1] for way in more if way.path.hops[:-1] not in rows)
    if len(rows) + len(others) <= at_most:
        rows.update(others)
    beside = [way for way in more if way.path.hops[:-1] in rows]
    return sorted([*kept.values(), *beside[: max(0, 2 * at_most - len(kept))]], key=lambda way: place[way.path.end])


def _walk_item(one: _FollowedWalk, terms: TermLabels, named: Labels) -> EvidenceItem:
    walk, ways = one.walk, tuple(way.path for way in one.ways)
    left_out = [end for end in one.met.items if is_mediator(end)]
    line = Line(tuple(way.path for way in one.told), len(one.ends), exact=not one.cuts)
    labels = {**named, **terms(terms_of(ways))}
    hops = [hop for way in one.ways for hop in (*way.path.hops, *way.aside)]
    told = " and ".join(
        f"{labels[c.step.predicate]} {' or '.join(labels[v] for v in c.values[:5])}"
        for c in walk.constraints
    )  # fmt: skip
    times = Counter(way.path.end for way in one.known) if one.is_whole else {}
    text = line_text(line, labels, shown=len(line.ways), times=times)
    query = path_queries.answers(
        walk,
        without_start=len(one.ends) + len(left_out) < len(one.met.items),
        without_blank=any(isinstance(end, BlankNode) for end in left_out),
    )  # fmt: skip
    return EvidenceItem(
        kind="path", text=f"{text} (where {told})" if told else text,
        triples=tuple(CitedTriple(*hop) for hop in dict.fromkeys(hops)), query=query,
        cuts=one.cuts, paths=ways, ends=tuple(one.ends), between=one.between,
    )  # fmt: skip


def natural_key(text: str) -> tuple[tuple[int, float, str], ...]:
    """Make the key that names are sorted by: numbers by their value, letters without regard to capitals."""
    if _FLOAT.fullmatch(text):
        return ((0, float(text), ""),)
    parts = enumerate(_NUMBER.split(text))  # every other one is a number
    return tuple((0, _value_of(part), "") if i % 2 else (1, 0.0, part.casefold()) for i, part in parts if part)


def _value_of(number: str) -> float:
    digits = number.lstrip("-−")
    value = float(digits.replace(",", "" if _GROUPED.fullmatch(digits) else "."))
    return value if digits == number else -value


def first_to_show(names: Sequence[str], question: str, at_most: int) -> list[int]:
    """Choose the names to show where there are too many: those of the question, then the first.

    :param names: in natural order.
    :return: their places.
    """
    if len(names) <= at_most:
        return list(range(len(names)))
    wanted = content_stems(question)
    shared = [len(wanted & content_stems(name)) if wanted else 0 for name in names]
    least = min(shared)
    named = sorted((i for i, count in enumerate(shared) if count > least), key=lambda i: -shared[i])
    kept = dict.fromkeys(named[: max(1, at_most // 2)])
    return sorted((*kept, *islice((i for i in range(len(names)) if i not in kept), max(0, at_most - len(kept)))))
