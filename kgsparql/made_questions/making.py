"""Questions about any graph, made of its own frequent paths and verified on it.

Each is a property path of one to three hops from a named entity, in English made of the names of predicates and
classes. Methods can be measured on them, but they repeat labels letter for letter, which favours methods that compare
labels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import NotFoundError
from kgsparql.exploration import walk_ends
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.words import in_turn
from kgsparql.made_questions.frequent_paths import (
    FULL,
    Cell,
    Patterns,
    Progress,
    SampleSize,
    cell_of,
    drawn,
    no_progress,
    patterns_of,
    sampled_starts,
)
from kgsparql.made_questions.naming import Namer, topic_names
from kgsparql.plans.questions import question_text
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import PropertyPath, Walk
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, Term, printable

MAX_ANSWERS = 20  # answers that a question has at most, by default
_MAX_PATHS = 60  # the commonest paths of one number of hops and direction, of which questions are made
_ATTEMPTS = 25  # walks that are tried for each question that is wanted
QUESTIONS_OF_A_TOPIC = 3
_MAX_LITERAL_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """Question with the walk that finds its answers.

    :param topic: the name of the entity that it begins at.
    :param answers: every right answer, with its label.
    :param how_many: the question how many answers there are.
    """

    text: str
    walk: Walk
    topic: str
    answers: Mapping[Term, str]
    how_many: str

    @property
    def cell(self) -> Cell:
        """The number of hops, and which way they are walked."""
        return cell_of(self.walk.path)

    @property
    def query(self) -> Query:
        """The query that finds the answers."""
        return path_queries.answers(self.walk.path, self.walk.start, without_start=True, without_blank=True)


@dataclass(frozen=True, slots=True)
class MadeQuestions:
    """Questions that were made.

    :param are_shared: topics share their names with other entities, since nearly every name in this graph is shared:
        then methods should be given the topics.
    """

    questions: tuple[MadeQuestion, ...]
    are_shared: bool = False

    @property
    def counts(self) -> Mapping[Cell, int]:
        """How many questions there are of each number of hops and direction."""
        return dict(sorted(Counter(question.cell for question in self.questions).items()))


def make(
    knowledge: KnowledgeBase, count: int, *, seed: int = 0, max_hops: int = 3, max_answers: int = MAX_ANSWERS,
    size: SampleSize = FULL, progress: Progress = no_progress,
) -> MadeQuestions:  # fmt: skip
    """Make questions from a graph, the same for the same graph and seed.

    Each number of hops and direction (forward, inverse, mixed) has as many as the graph allows, made of its commonest
    paths in turn; if topics are scarce, each kind gets its share of them, the rarest first. Every question has one to
    ``max_answers`` answers, and one topic, whose name no other entity has, unless ``are_shared``.

    :raises NotFoundError: for a graph without triples, without a name that a person would use, or without a path that
        leads to so few answers.
    """
    graph = knowledge.graph
    if knowledge.is_empty:
        raise NotFoundError(f"{graph.name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right file?")
    starts = sampled_starts(graph, seed, size)
    topics, are_shared = topic_names(knowledge, starts.entities)
    if not topics:
        raise NotFoundError(
            f"{graph.name}: nothing in it has a name that a question could say",
            hint="labels are needed: rdfs:label, skos:prefLabel, schema:name … or IRIs that end in words",
        )
    named = replace(starts, entities=tuple(entity for entity in starts.entities if entity in topics))
    patterns = patterns_of(graph, named, max_hops=max_hops, seed=seed, size=size, progress=progress)
    found = _Maker(knowledge, topics, Namer(knowledge, starts), count, max_answers, seed).questions(patterns, progress)
    if not found:
        raise NotFoundError(
            f"{graph.name}: no path of {max_hops} hops or less leads to at most {max_answers} answers with names",
            hint="allow more with --max-answers",
        )
    return MadeQuestions(tuple(found), are_shared)


@dataclass()
class _Maker:
    """Tries paths from starts in turn, and makes questions of those that lead to few answers."""

    knowledge: KnowledgeBase
    topics: Mapping[Term, str]
    namer: Namer
    count: int
    max_answers: int
    seed: int
    tried: int = 0
    _texts: set[str] = field(default_factory=set)
    _uses: Counter[IRI] = field(default_factory=Counter)

    def questions(self, patterns: Patterns, progress: Progress) -> list[MadeQuestion]:
        """Make questions until there are enough, or nothing is left to try: always of the kind that has the fewest.

        A topic may be used only so often: without turns, the commonest kind would use up the topics.
        """
        paths = {cell: self._usable_paths(own) for cell, own in patterns.items()}
        rarest_first = sorted(paths, key=lambda cell: (sum(map(len, paths[cell].values())), cell))
        at_once = min(MAX_ARMS, 2 * math.ceil(self.count / max(1, len(paths))))
        waiting = {cell: self._questions_of(self._walks_to_try(paths[cell]), at_once) for cell in rarest_first}
        made: dict[Cell, list[MadeQuestion]] = {cell: [] for cell in waiting}
        while waiting and (done := sum(map(len, made.values()))) < self.count:
            progress("making questions", done, self.count)
            cell = min(waiting, key=lambda cell: len(made[cell]))
            if (question := next(waiting[cell], None)) is None:
                del waiting[cell]
            else:
                made[cell].append(question)
        return [question for cell in sorted(made) for question in made[cell]]

    def _usable_paths(self, paths: Mapping[PropertyPath, Sequence[IRI]]) -> dict[PropertyPath, Sequence[IRI]]:
        """Keep the commonest paths that can be put in words, with their starts."""
        usable = [path for path in paths if self.namer.makes_sense(path)]
        commonest = sorted(usable, key=lambda path: (-len(paths[path]), str(path)))[:_MAX_PATHS]
        return {path: paths[path] for path in commonest}

    def _walks_to_try(self, paths: Mapping[PropertyPath, Sequence[IRI]]) -> Iterator[Walk]:
        """Yield walks to try: of each path one, then another of each …"""

        def walks(path: PropertyPath) -> Iterator[Walk]:
            starts = drawn(paths[path], self.seed, key=lambda start: f"{start} {path}")
            return (Walk(start, path) for start in starts)

        return in_turn(map(walks, paths))

    def _questions_of(self, walks: Iterator[Walk], at_once: int) -> Iterator[MadeQuestion]:
        """Yield questions of the walks that lead to a few answers with names; so many are looked up together."""
        while some := list(islice(walks, at_once)):
            if self.tried >= _ATTEMPTS * self.count:
                return
            self.tried += len(some)
            kept: list[tuple[Walk, list[Term]]] = []
            for walk, ends in zip(some, walk_ends(self.knowledge.graph, some, limit=self.max_answers + 1), strict=True):
                terms = [term for term in ends.items if term != walk.start]
                if not ends.cuts and 0 < len(terms) <= self.max_answers and _are_answers(terms):
                    kept.append((walk, terms))
            labels = self.knowledge.labels({term for _, terms in kept for term in terms})
            for walk, terms in kept:
                text, how_many = (self._text_of(walk, len(terms), is_counted=counted) for counted in (False, True))
                if self._uses[walk.start] < QUESTIONS_OF_A_TOPIC and text not in self._texts:
                    self._texts.add(text)
                    self._uses[walk.start] += 1
                    answers = {term: labels[term] for term in terms}
                    yield MadeQuestion(text, walk, self.topics[walk.start], answers, how_many)

    def _text_of(self, walk: Walk, answers: int, *, is_counted: bool) -> str:
        namer, path, topic = self.namer, walk.path, self.topics[walk.start]
        return question_text(
            path, topic, namer.wordings, [namer.kind(path, i) for i in range(len(path.steps))],
            several=answers > 1, leads_to_many=namer.many, is_counted=is_counted,
        )  # fmt: skip


def _are_answers(terms: Sequence[Term]) -> bool:
    """Tell whether these are what a person would take for answers: all IRIs, or all short literals in one language."""
    literals = [term for term in terms if isinstance(term, Literal)]
    if not literals:
        return all(isinstance(term, IRI) for term in terms)
    is_one_kind = len(literals) == len(terms) and len({term.language for term in literals}) == 1
    return is_one_kind and all(_is_short(literal.value) for literal in literals)


def _is_short(text: str) -> bool:
    is_printable = bool(text.strip()) and printable(text, _MAX_LITERAL_CHARACTERS) == text
    return is_printable and "://" not in text and text.lower() not in {"true", "false"}
