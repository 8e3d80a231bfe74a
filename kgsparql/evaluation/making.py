"""Questions about any graph, made of its own frequent paths and verified on it, so that methods can be measured there.

Each is a property path of one to three hops from an entity with a name, put in plain English by the names of predicates
and classes. Whether a person would ask it is another matter: a model can rephrase them.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgsparql.errors import InputError, NotFoundError
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic
from kgsparql.evaluation.patterns import TYPES, Cell, Patterns, Starts, drawn, patterns_of, sampled_starts
from kgsparql.evaluation.run_directory import writing, written
from kgsparql.evaluation.wording import Wording, question_text, wording
from kgsparql.exploration import Label, labels, neighbours, walk_ends
from kgsparql.graph import KnowledgeGraph
from kgsparql.paths import PropertyPath, Step, Walk
from kgsparql.query import Query
from kgsparql.terms import IRI, BlankNode, Literal, Term, normalised, printable
from kgsparql.vocabulary import ALTERNATIVE_LABELS, LABELS

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["Made", "make", "write_dataset"]

Progress = Callable[[str, int, int | None], None]

MAX_ANSWERS = 20
"""Answers of a question, by default: more than a person wants to read."""

_PATHS = 60
"""Paths of one number of hops and direction that questions are made of, the commonest."""

_ATTEMPTS = 25
"""Walks that are tried for each question that is wanted."""

_PER_TOPIC = 3
_TOPIC = 80
_TEXT = 80
"""Characters of the name of a topic, and of an answer that is a literal."""

_WORDS = 4
"""Words of the name of a class that says what is asked for."""

_NEAR = 40
"""Terms of each step that are looked at to say what it leads to."""

_MAJORITY = 0.7
"""Of them that must be in a class before all are called by it."""

_OFTEN = 0.4
"""Of them that must be in a class before it counts as one of those that the step leads to."""

_SAYS_NOTHING = re.compile(
    r"^http://www\.w3\.org/(?:2002/07/owl|1999/02/22-rdf-syntax-ns|2000/01/rdf-schema)#"
    r"|^http://www\.w3\.org/2004/02/skos/core#Concept$|^https?://schema\.org/Thing$"
)
_BOOLEAN = IRI("http://www.w3.org/2001/XMLSchema#boolean")


@dataclass(frozen=True, slots=True)
class Made:
    """Questions that were made.

    :param counts: how many of each number of hops and direction.
    :param tried: walks that were tried.
    """

    questions: tuple[Question, ...]
    counts: Mapping[Cell, int]
    tried: int


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
    one topic, whose name no other entity has, and the path and SPARQL that find the answers.

    :raises NotFoundError: for a graph without triples, without a name that a person would use, or without a path that
        leads to so few answers.
    """
    graph = knowledge.graph
    if knowledge.is_empty:
        raise NotFoundError(f"{graph.name} holds no triples", code="E_EMPTY_GRAPH", hint="is it the right file?")
    starts = sampled_starts(graph, seed)
    topics = _topics(knowledge, starts.entities)
    if not topics:
        raise NotFoundError(
            f"{graph.name}: nothing in it has a name that a question could say",
            hint="labels are needed: rdfs:label, skos:prefLabel, schema:name … or IRIs that end in words",
        )
    named = Starts(tuple(entity for entity in starts.entities if entity in topics), starts.near, starts.skip)
    patterns = patterns_of(graph, named, max_hops=max_hops, seed=seed, progress=progress)
    maker = _Maker(knowledge, topics, _Namer(knowledge, starts), max_answers=max_answers, seed=seed)
    maker.run(patterns, count, progress)
    found = maker.chosen(count)
    if not found:
        raise NotFoundError(
            f"{graph.name}: no path of {max_hops} hops or less leads to at most {max_answers} answers with names",
            hint="allow more with --max-answers",
        )
    counts = Counter((question.hops or 0, question.direction) for question in found)
    return Made(tuple(found), dict(sorted(counts.items())), maker.tried)


def _topics(knowledge: KnowledgeBase, entities: Sequence[IRI]) -> dict[IRI, str]:
    """The names of those entities that have one a person could write, and that nothing else has."""
    named = labels(knowledge.graph, entities, languages=knowledge.languages)
    usable = {entity: label.text for entity, label in _iris(named) if _is_name(label)}
    shared = _shared(knowledge.graph, usable)
    return {entity: text for entity, text in usable.items() if text not in shared}


def _iris(named: Mapping[Term, Label]) -> Iterator[tuple[IRI, Label]]:
    return ((term, label) for term, label in named.items() if isinstance(term, IRI))


def _is_name(label: Label) -> bool:
    """Whether people could call something so: words, and neither an identifier nor a sentence.

    >>> [_is_name(Label(text, derived=True)) for text in ("New York", "Q42", "m.0h6rm", "1e0eae5f-25ae", "U2")]
    [True, False, False, False, False]
    """
    text = label.text
    if not 1 < len(text) <= _TOPIC or printable(text, _TOPIC) != text or "://" in text or not normalised(text):
        return False
    letters = sum(char.isalpha() for char in text)
    if not label.derived:
        return letters > 0
    digits = sum(char.isdigit() for char in text)
    return letters >= 3 and 3 * digits <= len(text) and not re.search(r"[%?=&@{}]|::|\.\w{2,4}$|^\w\.", text)


def _shared(graph: KnowledgeGraph, names: Mapping[IRI, str]) -> set[str]:
    """The names that more than one entity has."""
    texts = sorted(set(names.values()))
    owners: dict[str, set[Term]] = defaultdict(set)
    for entity, text in names.items():
        owners[text].add(entity)
    query = Query.load("namesakes").bind(predicate=[*LABELS, *ALTERNATIVE_LABELS])
    tags = (None, "en", "mul")
    size = max(1, graph.chunk_size // len(tags))
    for at in range(0, len(texts), size):
        literals = [
            Literal(t) if tag is None else Literal(t, language=tag) for t in texts[at : at + size] for tag in tags
        ]
        for solution in graph.select(query.bind(label=literals).limit(20 * len(literals))):  # any two owners will do
            if isinstance(label := solution["label"], Literal):
                owners[label.value].add(solution["entity"])
    return {text for text, entities in owners.items() if len(entities) > 1}


class _Namer:
    """How one speaks of predicates, and of what their steps lead to.

    :ivar said: of the predicates that have a name and a form; no question has another.
    :ivar kinds: what most of the terms are that a step leads to: a class in the singular.
    """

    def __init__(self, knowledge: KnowledgeBase, starts: Starts) -> None:
        graph, languages = knowledge.graph, knowledge.languages
        predicates = {step.predicate for step in starts.near}
        self.said: dict[IRI, Wording] = {}
        for term, label in _iris(labels(graph, predicates, languages=languages)):
            if _is_name(Label(label.text, derived=True)) and (said := wording(label.text)) is not None:
                self.said[term] = said
        classes = _classes(graph, starts)
        used = Counter(kind for own in classes.values() for kind in own)
        names = {t: lb.text for t, lb in _iris(labels(graph, used, languages=languages)) if _is_class_name(lb)}
        self._classes: dict[Step, frozenset[IRI]] = {}
        self.kinds: dict[Step, str] = {}
        for step, near in starts.near.items():
            ends = [term for term in near[:_NEAR] if isinstance(term, IRI)]
            counts = Counter(kind for term in ends for kind in classes.get(term, ()))
            self._classes[step] = frozenset(kind for kind, count in counts.items() if count >= _OFTEN * len(ends))
            common = [kind for kind, count in counts.items() if count >= _MAJORITY * len(ends) and kind in names]
            if common:  # of several the rarest says most
                self.kinds[step] = _kind_text(names[min(common, key=lambda kind: (used[kind], str(kind)))])

    def kind(self, path: PropertyPath, i: int) -> str:
        """What the ends of a step are, by the step itself, or by the step that goes on from them."""
        found = self.kinds.get(path.steps[i], "")
        return found or (self.kinds.get(_reversed(path.steps[i + 1]), "") if i + 1 < len(path) else "")

    def makes_sense(self, path: PropertyPath) -> bool:
        """Whether each step begins at the kind of thing that the one before it leads to.

        Where one node is both a genre and a film of that name, the tags of a genre are nothing to ask for.
        """
        for step, following in pairwise(path.steps):
            reached, left = self._classes[step], self._classes[_reversed(following)]
            if reached and left and reached.isdisjoint(left):
                return False
        return all(step.predicate in self.said for step in path)


def _reversed(step: Step) -> Step:
    return Step(step.predicate, "inverse" if step.direction == "forward" else "forward")


def _classes(graph: KnowledgeGraph, starts: Starts) -> dict[Term, set[IRI]]:
    """The classes of the terms that steps were seen to lead to, but those that everything is in."""
    terms = {term for own in starts.near.values() for term in own[:_NEAR] if isinstance(term, IRI)}
    found: dict[Term, set[IRI]] = defaultdict(set)
    for group in neighbours(graph, sorted(terms, key=str), steps=[Step(p) for p in TYPES], limit=20).items:
        found[group.entity].update(
            term for term in group.neighbours if isinstance(term, IRI) and not _SAYS_NOTHING.search(term.value)
        )
    return found


def _is_class_name(label: Label) -> bool:
    return _is_name(Label(label.text, derived=True)) and len(label.text.split()) <= _WORDS


def _kind_text(label: str) -> str:
    """The name of a class in the middle of a sentence.

    >>> _kind_text("University"), _kind_text("TV_Series"), _kind_text("ScientificArticle")
    ('university', 'TV series', 'scientific article')
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label.replace("_", " "))
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in text.split())


@dataclass
class _Maker:
    """Tries paths from starts in turn, and keeps the questions that come of it."""

    knowledge: KnowledgeBase
    topics: Mapping[IRI, str]
    namer: _Namer
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
        while waiting and self.tried < _ATTEMPTS * count:
            done = sum(map(len, self.made.values()))
            if done >= count and all(len(self.made[cell]) * len(self.made) >= count for cell in waiting):
                break
            if progress is not None:
                progress("making questions", min(done, count), count)
            batch: list[Walk] = []
            for cell in list(waiting):
                wanted = max(0, -(-count // len(self.made)) - len(self.made[cell])) or (
                    count - done if done < count else 0
                )
                own = [walk for walk, _ in zip(waiting[cell], range(min(50, 2 * wanted)), strict=False)]
                if wanted and not own:
                    del waiting[cell]
                batch += own
            if not batch:
                break
            self._try(batch)

    def chosen(self, count: int) -> list[Question]:
        """So many questions, of each number of hops and direction in turn; then in order, with their ids."""
        picked: list[tuple[Cell, int, Question]] = []
        for place in range(max(map(len, self.made.values()), default=0)):
            picked += [(cell, place, own[place]) for cell, own in self.made.items() if place < len(own)]
        ordered = sorted(picked[:count], key=lambda one: one[:2])
        return [_numbered(question, number) for number, (_, _, question) in enumerate(ordered, 1)]

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
        text = question_text(walk.path, topic, self.namer.said, kinds, several=len(terms) > 1)
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
    return all(
        0 < len(term.value.strip()) <= _TEXT and term.datatype != _BOOLEAN and "://" not in term.value
        and printable(term.value, _TEXT) == term.value
        for term in literals
    )  # fmt: skip


def write_dataset(folder: Path, made: Made, knowledge: KnowledgeBase, *, sources: Sequence[str], seed: int) -> None:
    """Write questions as a folder that :func:`kgsparql.evaluation.datasets.load` reads.

    The graph is not copied: ``dataset.json`` names its files, from the folder on.

    :param sources: what the graph was read from.
    :raises InputError: if there is something in the folder.
    :raises StoreError: if it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: something is there already", hint="name a folder that is not there yet")
    about = {
        "name": f"made from {Path(knowledge.graph.name).name or knowledge.graph.name}",
        "source": f"made by kgsparql eval make from {knowledge.graph.name}",
        "licence": "",
        "graph": _references(folder, sources),
        "fingerprint": knowledge.graph.fingerprint,
        "seed": seed,
    }
    lines = "".join(json.dumps(_line(question), ensure_ascii=False) + "\n" for question in made.questions)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        written(folder / "questions.jsonl", lines)
        written(folder / "dataset.json", json.dumps(about, ensure_ascii=False, indent=1) + "\n")


def _references(folder: Path, sources: Sequence[str]) -> list[str]:
    """The files of the graph, from the folder on; an endpoint or standard input has none."""
    paths = [Path(source) for source in sources]
    if not all(path.exists() for path in paths):
        return []
    return [os.path.relpath(path, folder) for path in paths]


def _line(question: Question) -> dict[str, Any]:
    """A question as a line of the format that is read."""
    answers = question.answers or ()
    return {
        "id": question.id,
        "question": question.text,
        "answers": [answer.label for answer in answers],
        "answer_iris": [answer.term.value for answer in answers if isinstance(answer.term, IRI)],
        "topic_entities": [{"iri": topic.iri.value, "label": topic.label} for topic in question.topics],
        "hops": question.hops,
        "type": question.type,
        "path": list(question.path),
        "sparql": question.sparql,
    }
