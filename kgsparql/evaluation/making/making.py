"""Questions about any graph, made of its own frequent paths and verified on it, so that methods can be measured there.

Each is a property path of one to three hops from a named entity, in English made of the names of predicates and
classes. The questions repeat labels letter for letter, which favours methods that compare labels, until a model
rephrases them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from kgsparql.errors import NotFoundError
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic
from kgsparql.evaluation.datasets.sampling import drawn, equal_shares
from kgsparql.evaluation.making.naming import Namer, topic_names
from kgsparql.evaluation.making.patterns import FULL, Cell, Patterns, SampleSize, cell_of, patterns_of, sampled_starts
from kgsparql.evaluation.making.question_wording import question_text
from kgsparql.exploration import walk_ends
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import PropertyPath, Walk
from kgsparql.rdf.query import MAX_ARMS
from kgsparql.rdf.terms import IRI, Literal, Term, printable

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase


Progress = Callable[[str, int, int | None], None]

_AnsweredWalk = tuple[Walk, tuple[GoldAnswer, ...]]
"""A walk and the answers that it leads to."""

MAX_ANSWERS = 20
"""Answers that a question has at most, by default."""

_PATHS = 60
"""The commonest paths of one number of hops and direction, of which questions are made."""

_ATTEMPTS = 25
"""Walks that are tried for each question that is wanted."""

_PER_TOPIC = 3
_TEXT = 80
"""Characters of an answer that is a literal."""


@dataclass(frozen=True, slots=True)
class MadeQuestions:
    """Questions that were made.

    :param are_shared: topics share their names with other entities, since nearly every name in this graph is shared:
        then methods should be given the topics.
    :param why_no_more: if there are fewer than were wanted, why other paths became no questions.
    """

    questions: tuple[Question, ...]
    counts: Mapping[Cell, int]
    tried: int
    are_shared: bool = False
    why_no_more: tuple[str, ...] = ()


def make(
    knowledge: KnowledgeBase,
    count: int,
    *,
    seed: int = 0,
    max_hops: int = 3,
    max_answers: int = MAX_ANSWERS,
    size: SampleSize = FULL,
    progress: Progress | None = None,
) -> MadeQuestions:
    """Questions from a graph, the same for the same graph and seed.

    Each number of hops and direction (forward, inverse, mixed) has as many as the graph allows, made of its commonest
    paths in turn; if topics are scarce, each kind gets its share of them, the rarest first. Every question has one to
    ``max_answers`` answers, the path and SPARQL that find them, and one topic, whose name no other entity has, unless
    ``are_shared``.

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
    maker = _Maker(knowledge, topics, Namer(knowledge, starts), max_answers=max_answers, seed=seed)
    maker.run(patterns, count, progress)
    found = maker.chosen(count)
    if not found:
        raise NotFoundError(
            f"{graph.name}: no path of {max_hops} hops or less leads to at most {max_answers} answers with names",
            hint="allow more with --max-answers",
        )
    counts = Counter((question.hops or 0, question.direction) for question in found)
    why = maker.why_no_more() if len(found) < count else ()
    return MadeQuestions(tuple(found), dict(sorted(counts.items())), maker.tried, are_shared, why)


@dataclass
class _Maker:
    """Tries paths from starts in turn, and keeps the questions that it makes."""

    knowledge: KnowledgeBase
    topics: Mapping[IRI, str]
    namer: Namer
    max_answers: int
    seed: int
    tried: int = 0
    made: dict[Cell, list[Question]] = field(default_factory=dict)  # the rarest kind first
    unused: Counter[str] = field(default_factory=Counter)
    _texts: set[str] = field(default_factory=set)
    _uses: Counter[IRI] = field(default_factory=Counter)

    def run(self, patterns: Patterns, count: int, progress: Progress | None) -> None:
        """Make questions until there are enough, or nothing is left to try."""
        paths = {cell: self._usable(own) for cell, own in sorted(patterns.items())}
        waiting = {cell: self._candidates(own) for cell, own in paths.items()}
        rarity = {cell: sum(map(len, own.values())) for cell, own in paths.items()}
        ready: dict[Cell, deque[_AnsweredWalk]] = {cell: deque() for cell in paths}
        self.made = {cell: [] for cell in sorted(paths, key=lambda cell: (rarity[cell], cell))}
        while True:
            # Cells share the questions equally; a cell with nothing left to try keeps what it has.
            sizes = [count if cell in waiting or ready[cell] else len(own) for cell, own in self.made.items()]
            wanted = dict(zip(self.made, equal_shares(sizes, count), strict=True))
            self._take_turns(wanted, ready, waiting)
            lacking = {cell: more for cell in self.made if (more := wanted[cell] - len(self.made[cell])) > 0}
            if progress is not None:
                progress("making questions", count - sum(lacking.values()), count)
            if not lacking:
                return
            batch: list[Walk] = []
            for cell, more in lacking.items():
                if cell in waiting and len(ready[cell]) < more:
                    own = list(islice(waiting[cell], min(MAX_ARMS, 2 * more)))
                    if not own or self.tried >= _ATTEMPTS * count:
                        self.unused["untried"] += bool(own)
                        del waiting[cell]
                    else:
                        batch += own
            for walk, answers in self._answered(batch):
                ready[cell_of(walk.path)].append((walk, answers))

    def _take_turns(
        self, wanted: Mapping[Cell, int], ready: Mapping[Cell, deque[_AnsweredWalk]], waiting: Collection[Cell]
    ) -> None:
        """Make a question of each kind in turn, the rarest first, until a kind has no walk that is ready.

        A topic may be used only so often: without turns, the commonest kind would use up the topics.
        """
        while open_ := [c for c, own in self.made.items() if len(own) < wanted[c] and (ready[c] or c in waiting)]:
            cell = min(open_, key=lambda cell: len(self.made[cell]))
            if not ready[cell]:
                return
            self._add(*ready[cell].popleft())

    def chosen(self, count: int) -> list[Question]:
        """At most ``count`` questions, of each number of hops and direction equally, with ids and types."""
        made = [self.made[cell] for cell in sorted(self.made)]
        shares = equal_shares([len(own) for own in made], count)
        picked = [question for own, share in zip(made, shares, strict=True) for question in own[:share]]
        return [
            replace(question, id=f"made-{number:04}", type=f"{question.hops}-hop {question.direction}")
            for number, question in enumerate(picked, 1)
        ]

    def _usable(self, paths: Mapping[PropertyPath, Sequence[IRI]]) -> dict[PropertyPath, Sequence[IRI]]:
        """The commonest paths that can be put in words, with their starts."""
        usable = [path for path in paths if self.namer.makes_sense(path)]
        return {path: paths[path] for path in sorted(usable, key=lambda path: (-len(paths[path]), str(path)))[:_PATHS]}

    def _candidates(self, paths: Mapping[PropertyPath, Sequence[IRI]]) -> Iterator[Walk]:
        """Walks to try: of each path one, then another of each …"""
        starts = {path: drawn(paths[path], self.seed, key=lambda s, path=path: f"{s} {path}") for path in paths}  # type: ignore[misc]
        for place in range(max(map(len, starts.values()), default=0)):
            for path in paths:
                if place < len(starts[path]):
                    yield Walk(starts[path][place], path)

    def _answered(self, walks: Sequence[Walk]) -> list[_AnsweredWalk]:
        self.tried += len(walks)
        found = walk_ends(self.knowledge.graph, walks, limit=self.max_answers + 1)
        kept: list[tuple[Walk, tuple[Term, ...]]] = []
        for walk, ends in zip(walks, found, strict=True):
            terms = tuple(term for term in ends.items if term != walk.start)
            if not ends.cuts and 0 < len(terms) <= self.max_answers and _are_answers(terms):
                kept.append((walk, terms))
        self.unused["answers"] += len(walks) - len(kept)
        named = self.knowledge.labels({term for _, terms in kept for term in terms})
        return [(walk, tuple(GoldAnswer(term, named[term]) for term in terms)) for walk, terms in kept]

    def _add(self, walk: Walk, answers: tuple[GoldAnswer, ...]) -> None:
        """Make a question of a walk, unless its topic has been used up, or another question reads the same."""
        if self._uses[walk.start] >= _PER_TOPIC:
            self.unused["topic"] += 1
            return
        topic = self.topics[walk.start]
        kinds = [self.namer.kind(walk.path, i) for i in range(len(walk.path))]
        namer, several = self.namer, len(answers) > 1
        text = question_text(
            walk.path, topic, namer.wordings, kinds, several=several, many=namer.many, dates=namer.dates
        )
        if text in self._texts:
            self.unused["text"] += 1
            return
        self._texts.add(text)
        self._uses[walk.start] += 1
        question = Question(
            id="", text=text, answers=answers, topics=(Topic(walk.start, topic),), hops=len(walk.path),
            path=tuple(f"{'^' * (step.direction == 'inverse')}{step.predicate.value}" for step in walk.path),
            sparql=path_queries.answers(walk.path, walk.start, without_start=True, without_blank=True).text,
        )  # fmt: skip
        self.made[cell_of(walk.path)].append(question)

    def why_no_more(self) -> tuple[str, ...]:
        """What became of the walks that no question was made of."""
        reasons = {
            "answers": f"{{:,}} paths lead to more than {self.max_answers} answers or to none that has a name",
            "topic": f"{{:,}} begin at an entity that {_PER_TOPIC} questions are about already",
            "text": "{:,} read like another question",
            "untried": f"after {self.tried:,} paths no more were tried",
        }
        return tuple(text.format(self.unused[reason]) for reason, text in reasons.items() if self.unused[reason])


def _are_answers(terms: Iterable[Term]) -> bool:
    """Whether these are what a person would take for answers: all IRIs, or all short literals in one language."""
    own = list(terms)
    literals = [term for term in own if isinstance(term, Literal)]
    if not literals:
        return all(isinstance(term, IRI) for term in own)
    is_one_kind = len(literals) == len(own) and len({term.language for term in literals}) == 1
    return is_one_kind and all(_is_short(literal.value) for literal in literals)


def _is_short(text: str) -> bool:
    is_printable = bool(text.strip()) and printable(text, _TEXT) == text
    return is_printable and "://" not in text and text.lower() not in {"true", "false"}
