"""What the methods share: predicates around entities, their scores, examples of them, opaque terms, the last draft."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.answer import Draft, Retrieval
from kgsparql.answering.choosing import Candidate, Choice
from kgsparql.answering.entity_linking import alternatives, mend_links
from kgsparql.answering.path_scoring import UNWORDED, Weights, score_paths
from kgsparql.answering.retriever import Retriever
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, EvidenceItem
from kgsparql.evidence.term_labels import statement_labels
from kgsparql.evidence.verbalising import nested_text, path_text
from kgsparql.exploration import PredicateCount, neighbours, predicates
from kgsparql.graphs.notes import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.models.embedding import INSTALL_HINT
from kgsparql.rdf.paths import Path, PropertyPath, Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term, local_name
from kgsparql.rdf.vocabulary import RDF_TYPE, is_mediator

T = TypeVar("T")

SAMPLE = 20
"""Paths, or ends of a path, from which the kinds of the terms along the path are taken."""

_WORDED, _WORDED_FOR_A_MODEL = 20, 50
"""Paths whose wordings are compared with the question: the likeliest without them. An embedding takes 6 ms each."""

_MAX_COMPARED_BY_MEANING = 500  # texts that are compared with the question by meaning; of more, those that share words

_EXAMPLES_OF_STEP = 2  # terms that a step leads to which a model reads

_INSTANCES = Step(RDF_TYPE, "inverse")

_WORD = re.compile(r"(?<![^\W_])(?![0-9A-Fa-f]+(?![^\W_]))[^\W\d_]{4,}\d*(?![^\W_])|[^\W\d_\u0000-\u024f]")
"""A word of Latin letters, perhaps with digits at its end, but no hexadecimal number; or a letter that is not Latin."""


def linked_classes(session: Session) -> frozenset[IRI]:
    """Find the classes that the question names; none with forward steps only, which do not lead to instances."""
    if session.direction == "forward":
        return frozenset()
    return frozenset(link.term for link in session.links if link.kind == "class")


def predicate_counts(
    entities: Iterable[Term], session: Session, *, skip: Collection[IRI], classes: Collection[IRI] = ()
) -> list[PredicateCount]:
    """Count the predicates at entities: one query, and one more if some are classes, which lead to instances.

    :param classes: the classes among the entities at which the walk began.
    """
    wanted = list(dict.fromkeys(entities))
    starts = [entity for entity in wanted if entity in classes]
    found = [predicates(session.graph, [e for e in wanted if e not in classes], direction=session.direction, skip=skip)]
    if starts:
        more = frozenset(skip) - {RDF_TYPE}
        found.append(predicates(session.graph, starts, direction=session.direction, skip=more))
    session.note_cuts(cut for own in found for cut in own.cuts)
    return [
        count for own in found for count in own.items if count.step.predicate != RDF_TYPE or count.step == _INSTANCES
    ]


def candidates_by_start(
    paths: Sequence[tuple[Term, PropertyPath, Sequence[str]]], session: Session, *, texts: Sequence[str] = ()
) -> list[Candidate]:
    """Score property paths from several starts as candidates, numbered from 0; those of each start are scored together.

    :param paths: each with its start and the kinds along it.
    :param texts: what a model reads of each; the paths in words without any.
    """
    places: dict[Term, list[int]] = defaultdict(list)
    for place, (start, _, _) in enumerate(paths):
        places[start].append(place)

    labels = session.labels([step.predicate for _, path, _ in paths for step in path.steps], in_grace=True)

    def scores(weights: Weights, worded: Collection[int] | None = None) -> NDArray[np.float64]:
        found = np.zeros(len(paths))
        for start, own in places.items():
            kinded = [paths[i][1:] for i in own]
            compared = None if worded is None else [n for n, i in enumerate(own) if i in worded]
            question = session.scored_question(start)
            found[own] = score_paths(question, kinded, labels, session.ranker, weights, worded=compared)
        return found

    most = _WORDED_FOR_A_MODEL if session.reads_lists else _WORDED
    worded = None
    if session.ranker.by_meaning and len(paths) > most:
        worded = set(np.argsort(-scores(UNWORDED), kind="stable")[:most].tolist())
    shown = texts or [nested_text(path, kinds, labels) for _, path, kinds in paths]
    scored = zip(shown, paths, scores(Weights(), worded).tolist(), strict=True)
    return [Candidate(i, text, score=score, path=path) for i, (text, (_, path, _), score) in enumerate(scored)]


def example_ends(steps: Sequence[tuple[Path, Step]], session: Session) -> list[list[Term]]:
    """Find two terms that each step leads to from the end of its path, not straight back: what a model reads of it.

    A query for all, one more each for blank nodes and hubs.
    """
    wanted: dict[IRI, list[Step]] = {}
    for path, step in steps:
        if isinstance(path.end, IRI):
            wanted.setdefault(path.end, []).append(step)
    near: dict[tuple[Term, Step], list[Term]] = {}
    with session.within_budget():
        own = {entity: list(dict.fromkeys(some)) for entity, some in wanted.items()}
        found = neighbours(session.graph, own, steps=own, direction=session.direction, limit=_EXAMPLES_OF_STEP + 1)
        for group in found.items:
            ends = [*group.neighbours, *(way.end for way in group.mediated)]
            near[group.entity, group.step] = [end for end in dict.fromkeys(ends) if not is_mediator(end)]
    before = [path.hops[-1].start if path.hops else None for path, _ in steps]
    return [
        [end for end in near.get((path.end, step), ()) if end != last][:_EXAMPLES_OF_STEP]
        for (path, step), last in zip(steps, before, strict=True)
    ]


def terms_of(paths: Iterable[Path]) -> Iterator[Term]:
    """List the subject, predicate and object of every triple on these paths."""
    return (term for path in paths for triple in path.triples for term in triple)


def is_opaque(term: Term, session: Session) -> bool:
    """Tell whether a term has neither a label nor a readable IRI, such as ``Q7186-a1b2``; labels are known by now.

    ``IBM``, ``1984_Olympics`` and ``paper7`` are readable.
    """
    if not isinstance(term, IRI) or session.labels.has_label(term):
        return False
    name = local_name(term)
    return any(map(str.isdigit, name)) and not _WORD.search(name)


class WalkingRetriever(Retriever):
    """A method that walks step by step, and asks a model on the way whether to go on."""

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """Compose as :meth:`Retriever.compose`, with a note if the budget kept back calls for looking further."""
        draft = super().compose(retrieval, session)
        is_lacking = draft is not retrieval.draft and draft.sufficient is False and draft.grounding == "graph"
        if is_lacking and session.kept_a_call and not session.notes.partial:
            session.notes.append(
                "the budget held too few model calls to look further: "
                "the graph may know more (raise it with --max-calls)"
            )
            session.notes.partial = True
        return draft


def note_order(
    paths: Iterable[tuple[PropertyPath, Sequence[str]]], session: Session, *, words: Mapping[Term, str] | None = None
) -> bool:
    """Note, once, if no path has a word of the question, so that a ranker by words cannot order them.

    :param words: words for predicates that replaced their labels when they were compared with the question.
    :return: whether that is so; always false for a ranker by meaning, to whom no two paths are the same.
    """
    if not isinstance(session.ranker, BM25Ranker):
        return False
    own = list(paths)
    named = {
        **session.labels((step.predicate for path, _ in own for step in path.steps), in_grace=True),
        **(words or {}),
    }
    texts = {" ".join((*(named[step.predicate] for step in path.steps), *kinds[1:])) for path, kinds in own}
    if len(texts) < 2 or session.ranker.rank(session.masked_question, sorted(texts)).any():
        return False
    note = (
        "uncertain: no path has a word of the question, so their order means little (an embedding model compares by "
        f"meaning: {INSTALL_HINT}, or leave out --embedder none)"
    )
    session.notes.append(note, code="order_unknown")
    return True


def path_item(
    path: Path, query: Query, labels: Mapping[Term, str], session: Session, *, score: float = 0.0
) -> EvidenceItem:
    """Make a single path evidence, with the query that finds it."""
    named, beside = statement_labels([path], session.labels, labels)
    cited = (CitedTriple(hop.triple, hop.direction) for hop in path.hops)
    return EvidenceItem("path", path_text(path, named), (*cited, *beside), query, path=path, score=score)


def second_choices(
    choose_of: Callable[[Sequence[LinkedEntity]], Sequence[tuple[Term, Choice]]],
    session: Session,
    *,
    is_more: bool,
    at_most: int | None = None,
) -> list[Choice]:
    """Ask a model that chose nothing for the next predicates, or, if there are none, those of what else names may mean.

    :param choose_of: chooses among the predicates of these entities, or of those that were not read yet without any;
        each choice with the entity that its walk starts from.
    """
    others = () if is_more else alternatives(session)[:at_most]
    chosen = choose_of(others)
    starts = {start for start, _ in chosen}
    mend_links(session, [other for other in others if other.term in starts])
    if not chosen:
        session.notes.append("no predicate that the model read leads to an answer", code="nothing_chosen")
    return [choice for _, choice in chosen]


def places_by_likeness(question: str, groups: Sequence[Sequence[str]], session: Session) -> list[list[int]]:
    """Order the places of the texts of each group by how much they are like the question; ties in the order given.

    Of very many, those that share most words with it are compared by meaning: to embed a whole hub takes seconds.
    """
    sizes = [len(own) for own in groups]
    rooms = sizes if isinstance(session.ranker, BM25Ranker) else _shares_compared(sizes)
    if sum(rooms) < sum(sizes):
        session.note_cuts([Cut("names compared by meaning", sum(rooms), sum(sizes))])
    kept = [
        list(range(len(own))) if len(own) <= room else _places_by_score(BM25Ranker().rank(question, own))[:room]
        for own, room in zip(groups, rooms, strict=True)
    ]
    alike = iter(session.ranker.rank(question, [own[j] for own, some in zip(groups, kept, strict=True) for j in some]))
    scores = [np.array([next(alike) for _ in places]) for places in kept]
    return [[places[j] for j in _places_by_score(own)] for places, own in zip(kept, scores, strict=True)]


def _shares_compared(sizes: Sequence[int]) -> list[int]:
    """Share out what is compared by meaning: all of a group, or an equal number of each of the largest groups.

    >>> _shares_compared([30, 400]), _shares_compared([400, 30, 900])
    ([30, 400], [235, 30, 235])
    """
    rooms = [0] * len(sizes)
    left = _MAX_COMPARED_BY_MEANING
    for place, (size, i) in enumerate(sorted((size, i) for i, size in enumerate(sizes))):
        rooms[i] = min(size, max(1, left // (len(sizes) - place)))
        left -= rooms[i]
    return rooms


def _places_by_score(scores: NDArray[np.float64]) -> list[int]:
    return [int(i) for i in np.argsort(-scores, kind="stable")]
