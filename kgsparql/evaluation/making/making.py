"""Questions about any graph, made of its own frequent paths and verified on it, so that methods can be measured there.

Each is a property path of one to three hops from an entity with a name, put in plain English by the names of predicates
and classes. Whether a person would ask it is another matter: a model can rephrase them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from kgsparql.errors import NotFoundError
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic
from kgsparql.evaluation.datasets.sampling import equal_shares
from kgsparql.evaluation.making.naming import Namer, topic_names
from kgsparql.evaluation.making.patterns import Cell, Patterns, drawn, patterns_of, sampled_starts
from kgsparql.evaluation.making.question_wording import question_text
from kgsparql.exploration import walk_ends
from kgsparql.paths import PropertyPath, Walk
from kgsparql.query import MAX_ARMS, Query
from kgsparql.terms import IRI, BlankNode, Literal, Term, printable

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["MAX_ANSWERS", "Made", "Progress", "make"]

Progress = Callable[[str, int, int | None], None]

MAX_ANSWERS = 20
"""Answers of a question, by default: more than a person wants to read."""

_PATHS = 60
"""Paths of one number of hops and direction that questions are made of, the commonest."""

_ATTEMPTS = 25
"""Walks that are tried for each question that is wanted."""

_PER_TOPIC = 3
_TEXT = 80
"""Characters of an answer that is a literal."""


@dataclass(frozen=True, slots=True)
class Made:
    """Questions that were made.

    :param counts: how many of each number of hops and direction.
    :param tried: walks that were tried.
    :param are_shared: topics have names that other entities have too, because in this graph nearly every name is so:
        then methods should be given the topics.
    """

    questions: tuple[Question, ...]
    counts: Mapping[Cell, int]
    tried: int
    are_shared: bool = False


def make(
    knowledge: KnowledgeBase,
    count: int,
    *,
    seed: int = 0,
    max_hops: int = 3,
    max_answers: int = MAX_ANSWERS,
    progress: Progress | None = None,
) -> Made:
    """Questions from a graph, the same for the same graph and seed.

    As many of each number of hops and direction (forward, inverse, mixed) as the graph allows, and within these of each
    of the commonest paths in turn. Every question has at least one answer on this graph and at most ``max_answers``,
    one topic, whose name no other entity has (``are_shared`` says where that could not be), and the path and SPARQL
    that find the answers.

    :raises NotFoundError: for a graph without triples, without a name that a person would use, or without a path that
        leads to so few answers.
    """
    graph = knowledge.graph
    if knowledge.is_empty:
        raise NotFoundError(f"{graph.name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right file?")
    starts = sampled_starts(graph, seed)
    topics, are_shared = topic_names(knowledge, starts.entities)
    if not topics:
        raise NotFoundError(
            f"{graph.name}: nothing in it has a name that a question could say",
            hint="labels are needed: rdfs:label, skos:prefLabel, schema:name … or IRIs that end in words",
        )
    named = replace(starts, entities=tuple(entity for entity in starts.entities if entity in topics))
    patterns = patterns_of(graph, named, max_hops=max_hops, seed=seed, progress=progress)
    maker = _Maker(knowledge, topics, Namer(knowledge, starts), max_answers=max_answers, seed=seed)
    maker.run(patterns, count, progress)
    found = maker.chosen(count)
    if not found:
        raise NotFoundError(
            f"{graph.name}: no path of {max_hops} hops or less leads to at most {max_answers} answers with names",
            hint="allow more with --max-answers",
        )
    counts = Counter((question.hops or 0, question.direction) for question in found)
    return Made(tuple(found), dict(sorted(counts.items())), maker.tried, are_shared)


@dataclass
class _Maker:
    """Tries paths from starts in turn, and keeps the questions that come of it."""

    knowledge: KnowledgeBase
    topics: Mapping[IRI, str]
    namer: Namer
    max_answers: int
    seed: int
    tried: int = 0
    made: dict[Cell, list[Question]] = field(default_factory=dict)
    _texts: set[str] = field(default_factory=set)
    _uses: Counter[IRI] = field(default_factory=Counter)

    def run(self, patterns: Patterns, count: int, progress: Progress | None) -> None:
        """Make questions until there are enough, or nothing is left to try."""
        waiting = {cell: self._candidates(paths) for cell, paths in sorted(patterns.cells.items())}
        self.made = {cell: [] for cell in waiting}
        while self.tried < _ATTEMPTS * count:
            # What can still be made is shared equally; a cell with nothing left to try has what it has.
            sizes = [count if cell in waiting else len(own) for cell, own in self.made.items()]
            wanted = dict(zip(self.made, equal_shares(sizes, count), strict=True))
            lacking = {cell: more for cell in waiting if (more := wanted[cell] - len(self.made[cell])) > 0}
            if progress is not None:
                progress("making questions", count - sum(lacking.values()), count)
            batch: list[Walk] = []
            for cell, more in lacking.items():
                own = list(islice(waiting[cell], min(MAX_ARMS, 2 * more)))
                if not own:
                    del waiting[cell]
                batch += own
            if not lacking:
                return
            self._try(batch)

    def chosen(self, count: int) -> list[Question]:
        """So many questions, of each number of hops and direction equally, with their ids."""
        shares = equal_shares([len(own) for own in self.made.values()], count)
        picked = [question for own, share in zip(self.made.values(), shares, strict=True) for question in own[:share]]
        return [_numbered(question, number) for number, question in enumerate(picked, 1)]

    def _candidates(self, paths: Mapping[PropertyPath, Sequence[IRI]]) -> Iterator[Walk]:
        """Walks to try: of each of the commonest paths one, then another of each …"""
        usable = [path for path in paths if self.namer.makes_sense(path)]
        known = sorted(usable, key=lambda path: (-len(paths[path]), str(path)))[:_PATHS]
        starts = {path: drawn(paths[path], self.seed, key=lambda s, path=path: f"{s} {path}") for path in known}  # type: ignore[misc]
        for place in range(max(map(len, starts.values()), default=0)):
            for path in known:
                if place < len(starts[path]):
                    yield Walk(starts[path][place], path)

    def _try(self, walks: Sequence[Walk]) -> None:
        """Walk, and make a question of each walk that leads to a few answers."""
        self.tried += len(walks)
        graph = self.knowledge.graph
        found = walk_ends(graph, walks, limit=self.max_answers + 1)
        kept: list[tuple[Walk, tuple[Term, ...]]] = []
        for walk, ends in zip(walks, found, strict=True):
            terms = tuple(term for term in ends.items if term != walk.start)
            if not ends.cuts and 0 < len(terms) <= self.max_answers and _are_answers(terms):
                kept.append((walk, terms))
        named = self.knowledge.labels({term for _, terms in kept for term in terms})
        for walk, terms in kept:
            self._add(walk, terms, named)

    def _add(self, walk: Walk, terms: Sequence[Term], named: Mapping[Term, str]) -> None:
        topic = self.topics[walk.start]
        kinds = [self.namer.kind(walk.path, i) for i in range(len(walk.path))]
        text = question_text(walk.path, topic, self.namer.said, kinds, several=len(terms) > 1, many=self.namer.many)
        if text in self._texts or self._uses[walk.start] >= _PER_TOPIC:
            return
        path = tuple(f"{'^' * (step.direction == 'inverse')}{step.predicate.value}" for step in walk.path)
        question = Question(
            id="",
            text=text,
            answers=tuple(GoldAnswer(term, named[term]) for term in terms),
            topics=(Topic(walk.start, topic),),
            hops=len(path),
            path=path,
            sparql=Query.answers(walk.path, walk.start, without_start=True, without_blank=True).text,
        )
        own = self.made[len(path), question.direction]
        self._texts.add(text)
        self._uses[walk.start] += 1
        own.append(question)


def _numbered(question: Question, number: int) -> Question:
    kind = f"{question.hops}-hop {question.direction}"
    return replace(question, id=f"made-{number:04}", type=kind)


def _are_answers(terms: Iterable[Term]) -> bool:
    """Whether these are what a person would take for answers: all IRIs, or all literals that are short."""
    own = list(terms)
    if any(isinstance(term, BlankNode) for term in own):
        return False
    literals = [term for term in own if isinstance(term, Literal)]
    if not literals:
        return all(isinstance(term, IRI) for term in own)
    if len(literals) < len(own) or len({term.language for term in literals}) > 1:
        return False
    return all(map(_is_short, literals))


def _is_short(literal: Literal) -> bool:
    text = literal.value
    is_said = bool(text.strip()) and printable(text, _TEXT) == text
    return is_said and "://" not in text and text.lower() not in {"true", "false"}
