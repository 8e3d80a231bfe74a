"""What the methods share: predicates around entities, their scores, examples of them, opaque terms, lines of facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np

from kgsparql.answering.answer import AnswerTerm
from kgsparql.answering.choosing import Candidate, Choice, choose, ranked_choices
from kgsparql.answering.entity_linking import mend_links
from kgsparql.answering.path_scoring import Start, score_paths
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem, ItemKind
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.evidence.term_labels import terms_of
from kgsparql.evidence.verbalising import Line, line_text, nested_text, walk_text
from kgsparql.exploration import Found, NeighbourGroup, neighbours, predicates
from kgsparql.graphs.notes import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.ranking import BM25Ranker, Scores
from kgsparql.linking.words import in_turn
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, PropertyPath, Step, Walk, may_follow
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Labels, Literal, Term, grouped, local_name, printable, zip_equal
from kgsparql.rdf.vocabulary import RDF_TYPE, is_mediator

NextStepT = TypeVar("NextStepT", bound="NextStep")
T = TypeVar("T")

SAMPLE = 20  # paths, or ends of a path, from which the kinds of the terms along the path are taken
SHOWN = 50  # ways of a line that are shown, and whose triples are cited

# Paths whose wordings are compared with the question: the likeliest without them. An embedding takes 6 ms each.
_WORDED, _WORDED_FOR_A_MODEL = 20, 50
_MAX_COMPARED_BY_MEANING = 500  # texts that are compared with the question by meaning; of more, those that share words
_EXAMPLES_OF_STEP = 2  # terms that a step leads to which a model reads
_MAX_ENDS_TOLD = 20  # ends that the text of a line of one step names; a longer one names half as many
_WAY_BACK_PENALTY = 2.0  # taken off the score of a line that leads back along a predicate: such a line comes last
# A word of Latin letters, perhaps with digits at its end, but no hexadecimal number; or a letter that is not Latin.
_WORD = re.compile(r"(?<![^\W_])(?![0-9A-Fa-f]+(?![^\W_]))[^\W\d_]{4,}\d*(?![^\W_])|[^\W\d_\u0000-\u024f]")


def predicate_counts(
    entities: Iterable[Term], session: Session, *, skip: frozenset[IRI], begins: bool
) -> dict[Term, list[NeighbourGroup]]:
    """Count the predicates at entities: one query, and one more where a walk begins at classes, for their instances."""
    wanted = dict.fromkeys(entities)
    linked = session.links if begins else ()
    classes = {link.term for link in linked if link.kind == "class"}
    plain, starts = [e for e in wanted if e not in classes], [e for e in wanted if e in classes]
    found = [predicates(session.graph, plain, skip=skip)]
    if starts:
        found.append(predicates(session.graph, starts, skip=skip - {RDF_TYPE}))
    session.notes.add_cuts(cut for own in found for cut in own.cuts)
    return grouped((count.entity, count) for own in found for count in own.items if count.step != Step(RDF_TYPE))


def topics(session: Session) -> list[LinkedEntity]:
    """List what a walk begins at: what is linked but for verbs and kinds of things, as `movie`, where more is named."""
    asked, read, own = session.asked, session.asked.read, session.asked.language

    def is_common(link: LinkedEntity) -> bool:
        places = read.positions_between(*link.mention.place)
        if len(places) != 1:
            return False
        at, text = places[0], read.texts[places[0]]
        is_said = text in own.verbs or own.is_participle(text) or read.is_type_word(at) or at in asked.noun
        return is_said and not read.is_capital(at)

    return [link for link in session.links if not is_common(link)] or list(session.links)


def candidates_by_start(paths: Sequence[tuple[Term, PropertyPath, Sequence[str]]], session: Session) -> list[Candidate]:
    """Score property paths from several starts as candidates, numbered from 0; those of each start are scored together.

    :param paths: each with its start and the kinds along it.
    """
    places = grouped((start, place) for place, (start, _, _) in enumerate(paths))
    labels = session.compared_labels([p for _, path, _ in paths for p in path.predicates])

    scores, worded = np.zeros(len(paths)), _WORDED_FOR_A_MODEL if session.model else _WORDED
    for start, own in places.items():
        kinded = [paths[i][1:] for i in own]
        scores[own] = score_paths(Start.of(session, start), kinded, session.label_fit, worded=worded)
    texts = (nested_text(path, kinds, labels) for _, path, kinds in paths)
    return [Candidate(i, text, score) for i, (text, score) in enumerate(zip_equal(texts, scores.tolist()))]


def candidates_of_ways(groups: Sequence[Sequence[Path]], session: Session) -> list[Candidate]:
    """Score the property path that the ways of each group share, with the kinds of the terms along the first ways."""
    kinds = [[""] * (len(ways[0]) + 1) for ways in groups]
    with session.within_budget():
        kinds = session.compared_labels.majority_types([[way.terms for way in ways[:SAMPLE]] for ways in groups])
    paths = [(own[0].start, own[0].property_path, kind) for own, kind in zip_equal(groups, kinds)]
    return candidates_by_start(paths, session)


@frozen(kw_only=True)
class NextStep:
    """A step that may be walked from the end of a way, and perhaps of others of its kind.

    :param text: what a model reads of it, with the number of terms that it leads to in brackets at the end.
    :param score: how well the whole path fits the question.
    """

    way: Path
    step: Step
    text: str = ""
    score: float = 0.0


def chosen_steps(
    offered: Sequence[NextStepT], at_most: int, session: Session, **asking: Any
) -> list[tuple[NextStepT, Choice]]:
    """Choose steps; a model reads with each two of the terms that it leads to."""
    if not offered:
        return []
    examples = _examples_of(offered, session) if session.model_reads else [""] * len(offered)
    texts = [f"{one.text[:-1]}: {own})" if own else one.text for one, own in zip_equal(offered, examples)]
    candidates = [Candidate(n, text, offered[n].score) for n, text in enumerate(texts)]
    choices = choices_among(candidates, "predicates", at_most, session, **asking)
    return [(offered[choice.candidate.number], choice) for choice in choices]


def _examples_of(offered: Sequence[NextStep], session: Session) -> list[str]:
    """Name two terms that each step leads to, not straight back."""
    near = dict[tuple[Term, Step], list[Term]]()
    with session.within_budget():
        found = groups_of(((one.way.end, one.step) for one in offered), session, limit=_EXAMPLES_OF_STEP + 1)
        near = {(group.entity, group.step): [way.end for way in ways_of(group)] for group in found.items}
    examples = []
    for one in offered:
        last = one.way.hops[-1].start if one.way.hops else None
        ends = (end for end in dict.fromkeys(near.get((one.way.end, one.step), ())) if end != last)
        examples.append(list(islice(ends, _EXAMPLES_OF_STEP)))
    labels = session.labels([term for ends in examples for term in ends], in_grace=False)
    return ["; ".join(printable(labels[term], 60) for term in ends) for ends in examples]


def told_count(groups: Iterable[NeighbourGroup]) -> str:
    """Say how many neighbours there are: at least so many, with a plus, where they were not all counted."""
    some = list(groups)
    return f"{sum(one.count for one in some):,}{'' if all(one.exact for one in some) else '+'}"


def groups_of(wanted: Iterable[tuple[Term, Step]], session: Session, *, limit: int) -> Found[NeighbourGroup]:
    """Find the neighbours of entities, each by steps of its own, at most so many of a step."""
    steps = grouped((entity, step) for entity, step in wanted if isinstance(entity, IRI))
    return neighbours(session.graph, steps, steps=steps, limit=limit)


def ways_of(group: NeighbourGroup) -> list[Path]:
    """List the paths to the neighbours of a group, and to what lies behind blank nodes in their place."""
    ways = [*(Path(group.entity, (hop,)) for hop in group.hops), *group.mediated]
    return [way for way in ways if not is_mediator(way.end)]


def is_opaque(term: Term, session: Session) -> bool:
    """Tell whether a term has no known label and no readable IRI: ``Q7186-a1b2`` is opaque, ``paper7`` is not."""
    if not isinstance(term, IRI) or session.labels.has_label(term):
        return False
    name = local_name(term)
    return any(map(str.isdigit, name)) and not _WORD.search(name)


def choices_among(
    candidates: Sequence[Candidate], purpose: str, at_most: int, session: Session, **asking: Any
) -> list[Choice]:
    """Choose, by the ranker if no call is left; a model may choose nothing."""
    if session.can_spare_call(purpose):
        with session.within_budget():
            return choose(candidates, purpose, at_most, session, **asking)
    return ranked_choices(candidates, purpose, at_most, session)


def walk_scores(ways: Mapping[Walk, Sequence[Path]], session: Session) -> dict[Walk, float]:
    """Score walks, the best first: by how well they fit the question."""
    scored = candidates_of_ways(list(ways.values()), session)
    scores = {walk: candidate.score or 0.0 for walk, candidate in zip_equal(ways, scored)}
    return {walk: scores[walk] for walk in sorted(scores, key=lambda w: (-scores[w], w.path, w.start.value))}


def items_at_ends(walks: Mapping[Walk, float], session: Session) -> list[EvidenceItem]:
    """Follow scored walks to all their ends; one without any is left out."""
    items = expanded_items(list(walks), session.labels)
    return [replace(item, score=score) for item, score in zip_equal(items, walks.values()) if item is not None]


def answers_of(found: Iterable[tuple[Term, float, str]], session: Session) -> list[AnswerTerm]:
    """Make each term an answer, with its best score and the markers of all items that it is in."""
    held = grouped((term, (score, marker)) for term, score, marker in found)
    labels = session.labels(held)
    return [
        AnswerTerm(term, labels[term], max(own)[0], tuple(marker for _, marker in own)) for term, own in held.items()
    ]


def best_answers_first(answers: Iterable[AnswerTerm]) -> tuple[AnswerTerm, ...]:
    """Order answers by score, then those in most items, then by name."""
    return tuple(sorted(answers, key=lambda a: (-a.score, -len(a.markers), a.label, str(a.term))))


def item_of_ways(
    ways: Sequence[Path], query: Query, session: Session, text: Callable[[Labels], str] | None = None, *,
    kind: ItemKind = "path", **more: Any,
) -> EvidenceItem:  # fmt: skip
    """Make ways of one path evidence, with the query that finds them.

    :param text: writes it otherwise than as a line with all its ends.
    """
    labels = session.labels(terms_of(ways))
    hops = dict.fromkeys(hop for way in ways for hop in way.hops)
    line = Line(tuple(ways[:SHOWN]), len({way.end for way in ways}))
    said = line_text(line, labels, shown=SHOWN) if text is None else text(labels)
    return EvidenceItem(kind, said, tuple(CitedTriple(*hop) for hop in hops), query, tuple(ways), **more)


def path_items(found: Sequence[tuple[Path, Query, float]], session: Session) -> list[EvidenceItem]:
    """Make single paths evidence, each with the query that finds it and a score."""
    session.labels(terms_of(path for path, _, _ in found))  # so that one query finds them all
    return [
        item_of_ways([path], query, session, score=score, between=tuple((term,) for term in path.terms[1:-1]))
        for path, query, score in found
    ]


def take_second_choices(others: Sequence[LinkedEntity], starts: Collection[Term], session: Session) -> None:
    """Take what names may mean as linked where a model that chose nothing before chose to start there; or note it."""
    mend_links(session, [other for other in others if other.term in starts])
    if not starts:
        session.notes.append("no predicate that the model read leads to an answer", code="nothing_chosen")


def places_by_likeness(question: str, texts: Sequence[str], session: Session) -> list[int]:
    """Order the places of texts by how much they are like the question; ties in the order given.

    Of very many, those that share most words with it are compared by meaning: to embed a whole hub takes seconds.
    """
    order, rest = list(range(len(texts))), []
    if len(texts) > _MAX_COMPARED_BY_MEANING and not isinstance(session.ranker, BM25Ranker):
        session.notes.add_cuts([Cut("names compared by meaning", _MAX_COMPARED_BY_MEANING, len(texts))])
        order = _places_by_score(BM25Ranker().rank(question, texts))
        order, rest = order[:_MAX_COMPARED_BY_MEANING], order[_MAX_COMPARED_BY_MEANING:]
    scores = session.ranker.rank(question, [texts[i] for i in order])
    return [order[j] for j in _places_by_score(scores)] + rest


def _places_by_score(scores: Scores) -> list[int]:
    return list(map(int, np.argsort(-scores, kind="stable")))


def groups_near(entities: Iterable[LinkedEntity], session: Session, *, limit: int) -> Iterator[NeighbourGroup]:
    """Find the neighbours of entities, then the instances of classes among these, at most so many of a step."""
    graph, terms = session.graph, {entity.term: entity.kind for entity in entities}
    yield from neighbours(graph, terms, limit=limit).items
    classes = [term for term, kind in terms.items() if kind == "class"]
    yield from neighbours(graph, classes, steps=[Step(RDF_TYPE, "inverse")], limit=limit).items


def lines_of(group: NeighbourGroup) -> Iterator[Line]:
    """Make a group of neighbours a line, and one of each path that lies behind blank nodes in their place."""
    plain = tuple(Path(group.entity, (hop,)) for hop in group.hops if not is_mediator(hop.end))
    if plain:
        blank = len(group.neighbours) - len(plain)
        yield Line(plain, group.count - blank, group.exact)
    whole = group.exact and group.count == len(group.neighbours)
    yield from _by_property_path((path, whole) for path in group.mediated if not is_mediator(path.end))


def lines_beyond(lines: Sequence[Line], session: Session, *, frontier: int, steps: int = 1) -> list[Line]:
    """Continue the lines of so many steps by another, never in a circle.

    At most ``frontier`` ends are walked on from: one of each line in turn, so that late lines have their share.
    """
    starts = {line.start for line in lines}
    own = [line for line in lines if len(line.path.steps) == steps]
    ways = in_turn(line.ways for line in own)
    reached = grouped((way.end, way) for way in ways if isinstance(way.end, IRI) and way.end not in starts)
    onward = list(reached)
    if len(onward) > frontier:
        session.notes.add_cuts([Cut("neighbours walked on from", frontier, len(onward))])
    found = neighbours(session.graph, onward[:frontier], limit=SHOWN)
    # A line is partial if it continues a line that was cut, or one with an end that was not walked on from.
    partial = {(line.start, line.path) for line in own if not line.exact or line.count > len(line.ways)}
    partial |= {(way.start, way.property_path) for term in onward[frontier:] for way in reached[term]}
    return _by_property_path(
        (
            first.then(Path(group.entity, (hop,))),
            group.count == len(group.neighbours) and (first.start, first.property_path) not in partial,
        )
        for group in found.items
        for hop in group.hops
        for first in reached[group.entity]
        if not is_mediator(hop.end) and may_follow(first.hops[-1], hop) and hop.end not in first.terms[:-1]
    )


def _by_property_path(paths: Iterable[tuple[Path, bool]]) -> list[Line]:
    """One line for each start and property path; it is exact if all its paths are said to be complete."""
    lines = grouped(((path.start, path.property_path), (path, whole)) for path, whole in paths)
    return [
        Line(tuple(path for path, _ in some), len(some), all(whole for _, whole in some)) for some in lines.values()
    ]


def without_inverse_lines(lines: Sequence[Line]) -> list[Line]:
    """Leave out each inverse line whose several ends are exactly those of a line by another forward predicate.

    Graphs that store the inverse of every triple say everything twice. A single common end may be chance.
    """
    forward = dict[tuple[Term, frozenset[Term]], set[IRI]]()
    for line in lines:
        if line.path.is_direct and line.path.first_step.is_forward:
            forward.setdefault((line.start, frozenset(line.ends)), set()).add(line.path.first_step.predicate)

    def is_repeated(line: Line) -> bool:
        step, ends = line.path.first_step, frozenset(line.ends)
        is_one_inverse = line.path.is_direct and step.is_inverse and len(ends) > 1
        return is_one_inverse and bool(forward.get((line.start, ends), set()) - {step.predicate})

    return [line for line in lines if not is_repeated(line)]


def telling_lines(lines: Sequence[Line], session: Session) -> list[Line]:
    """Keep the lines that say something: none that only repeats a name or goes in a circle, no two that read alike."""
    between = [way.terms[-2] for line in lines for way in line.ways[:1] if isinstance(way.end, Literal)]
    labels = session.labels([*between, *(p for line in lines for p in line.path.predicates)], in_grace=False)

    def says_nothing(way: Path) -> bool:
        is_name = isinstance(way.end, Literal) and way.end.value == labels.get(way.terms[-2])
        return is_name or way.end in way.terms[:-1]

    told = dict[tuple[object, ...], Line]()
    for line in lines:
        steps = tuple((labels[step.predicate], step.direction) for step in line.path.steps)
        if not all(map(says_nothing, line.ways)):
            told.setdefault((line.start, steps, frozenset(line.ends)), line)
    return list(told.values())


def line_candidates(lines: Sequence[Line], session: Session) -> list[Candidate]:
    """Score lines by how well their predicates and the kind of their ends fit the question.

    Those that lead back along a predicate of the same name come last, unless others with the same are asked for.
    """
    scored = candidates_of_ways([line.ways for line in lines], session)
    labels = session.labels(p for line in lines for p in line.path.predicates)
    others = session.asked.asks_for_others
    candidates = []
    for line, candidate in zip_equal(lines, scored):
        back = not others and any(
            labels[a.predicate] == labels[b.predicate] and a.direction != b.direction
            for a, b in pairwise(line.path.steps)
        )
        group = frozenset(line.ends) if line.path.is_long else None
        candidates.append(replace(candidate, score=(candidate.score or 0.0) - _WAY_BACK_PENALTY * back, group=group))
    return candidates


def line_items(
    scored: Sequence[tuple[Line, float]], session: Session, *, named: Iterable[Term] = ()
) -> list[EvidenceItem]:
    """Make lines evidence: a line of one step has the kind ``neighbours``, a longer one the kind ``path``.

    :param named: other terms whose labels will be needed, to be asked for in the same query.
    """
    shown = [(replace(line, ways=line.ways[:SHOWN]), score) for line, score in scored]
    session.labels([*terms_of(way for line, _ in shown for way in line.ways), *named])
    return [_line_item(line, score, session) for line, score in shown]


def _line_item(line: Line, score: float, session: Session) -> EvidenceItem:
    ways = line.ways
    walk = ways[0].walk
    is_long, is_whole = walk.path.is_long, line.exact and line.count == len(ways)
    labels = session.labels([walk.start, *walk.path.predicates])
    known = line.count if line.exact else None
    cut = Cut("ends", len(ways), known, walk_text(walk, labels))
    every = path_queries.walk_triples(walk, limit=1_000)  # blank nodes, not shown, too
    return item_of_ways(
        ways, every if is_whole else query_through(ways), session,
        lambda named: line_text(line, named, shown=_MAX_ENDS_TOLD // (1 + is_long)),
        kind="path" if is_long else "neighbours", score=score, cuts=() if is_whole else (cut,),
    )  # fmt: skip


def query_through(ways: Sequence[Path]) -> Query:
    """Ask for ways of one path: for what they have at each place, or anything where one has a blank node there."""
    places = [dict.fromkeys(terms) for terms in zip_equal(*(way.terms for way in ways))]
    named = {at: own for at, own in enumerate(places) if at and not any(isinstance(t, BlankNode) for t in own)}
    ends = named.pop(len(places) - 1, None)
    return path_queries.walk_triples(ways[0].walk, ends, limit=1_000, through=named)


def direct_first(found: Iterable[tuple[Walk, T]]) -> list[T]:
    """Put what is found by one step before what goes on from it, and what is found by each walk once."""
    known = {(walk.start, walk.path.steps): one for walk, one in found}
    keys = dict.fromkeys(key for start, steps in known for key in ((start, steps[:1]), (start, steps)))
    return [known[key] for key in keys if key in known]
