"""Questions about any graph, made of its own frequent property paths and verified on it.

Each is a property path of one to three hops from a named entity, in English made of the names of predicates and
classes. Methods can be measured on them, but they repeat labels letter for letter, which favours methods that compare
labels.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.errors import NotFoundError
from kgsparql.exploration import labels, neighbours, predicate_counts, walk_ends
from kgsparql.exploration.batched_select import select_about
from kgsparql.exploration.lookups import empty_graph_error
from kgsparql.graphs.graph import KnowledgeGraph, in_parts
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.english_forms import is_done_by_persons, is_person, name_words, wording
from kgsparql.linking.label_index.search import Progress, silent
from kgsparql.linking.words import in_turn
from kgsparql.plans.questions import can_be_asked, question_text
from kgsparql.rdf import path_queries
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import PropertyPath, Step, Walk
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Labels, Literal, Term, iris_in, local_name, normalised, printable
from kgsparql.rdf.vocabulary import INSTANCE_OF, RDF_TYPE, UNWALKED

T = TypeVar("T")

Cell = tuple[int, str]
"""Hops and direction, by which questions are balanced."""

Patterns = dict[Cell, dict[PropertyPath, list[IRI]]]
"""Property paths by hops and direction, each with starts that it leads somewhere from."""

TYPES = (RDF_TYPE, INSTANCE_OF)
"""Predicates that give the class of something: no question is made of them, but they name what is asked for."""

_MAX_PREDICATES = 150  # the commonest predicates, of which questions are made
_WAYS_OF_A_START = 4  # ways of each start that are walked on at each hop
_MAX_ENDS = 200  # a step that leads to more terms is not walked on: nobody would ask about all of them together
_ENDS_OF_A_PLURAL = 1.5  # average number of terms that a step leads to from which on questions use the plural

_NOT_ASKED = re.compile(
    r"^http://www\.w3\.org/(?:1999/02/22-rdf-syntax-ns|2002/07/owl)#|^http://www\.w3\.org/2000/01/rdf-schema#(?!subClassOf)"
    r"|^http://wikiba\.se/ontology#|^http://www\.w3\.org/2004/02/skos/core#(?:exactMatch|inScheme|notation|example)$"
)
_NAMES = {"name", "label", "title", "pref label", "alt label", "full name", "alternative name", "id"}

_Way = tuple[IRI, PropertyPath, IRI, IRI | None]
"""Where it starts, the path, where it is now, and where it was before."""


@frozen
class SampleSize:
    """How much of a graph is looked at.

    :param triples: of all predicates together from which starts are drawn.
    :param frontier: entities that are walked on from at each hop: reading the neighbours of large ones takes the time.
    :param ways: that end at them.
    """

    triples: int = 150_000
    starts: int = 600
    frontier: int = 500
    ways: int = 4_000


FULL = SampleSize()


@frozen
class Starts:
    """Entities that questions may be about.

    :param entities: in the order they are to be used.
    :param near: by step, some terms that it leads to.
    :param skip: predicates that are not walked.
    :param many: steps that mostly lead to more than one term.
    """

    entities: tuple[IRI, ...]
    near: Mapping[Step, tuple[Term, ...]]
    skip: frozenset[IRI]
    many: frozenset[Step] = frozenset()


def drawn(items: Iterable[T], seed: object, *, key: Callable[[T], Hashable] = str) -> list[T]:
    """Sort items by a hash of the seed and their key: an order as good as random that is the same everywhere.

    >>> drawn("abc", 1) == drawn("cab", 1), sorted(drawn("abc", 1))
    (True, ['a', 'b', 'c'])
    """
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed}\0{key(item)}".encode("utf-8", "replace")).digest())


def cell_of(path: PropertyPath) -> Cell:
    """Return the number of hops of a path, and which way it is walked.

    >>> cell_of(PropertyPath.of("http://e.org/p", "^http://e.org/q"))
    (2, 'mixed')
    """
    ways = {step.direction for step in path.steps}
    return len(path.steps), ways.pop() if len(ways) == 1 else "mixed"


def sampled_starts(graph: KnowledgeGraph, seed: int, size: SampleSize) -> Starts:
    """Draw entities at the commonest predicates of a graph, as many of each, on either side.

    :raises NotFoundError: for a graph that has nothing to ask about.
    """
    counted = predicate_counts(graph)
    unasked = {p for p in counted if _NOT_ASKED.search(p.value) or local_name(p).casefold() in _NAMES}
    skip = UNWALKED | set(TYPES) | unasked
    common = [p for p in counted if p not in skip][:_MAX_PREDICATES]
    if not common:
        raise NotFoundError(
            f"{graph.name} holds no triples that a question could be about", code="E_EMPTY_GRAPH",
            hint="is it the right file? labels and types alone are not enough",
        )  # fmt: skip
    near = defaultdict(list)
    sides: dict[Step, dict[IRI, None]] = defaultdict(dict)
    for step, here, there in _sampled_steps(graph, common, size.triples):
        near[step].append(there)
        if isinstance(here, IRI):
            sides[step][here] = None
    entities = dict.fromkeys(in_turn(drawn(sides[step], seed) for step in sorted(sides)))
    return Starts(
        tuple(entities)[: size.starts],
        {step: tuple(drawn(dict.fromkeys(terms), seed)[:60]) for step, terms in near.items()},
        frozenset(skip),
        frozenset(step for step, terms in near.items() if len(terms) >= _ENDS_OF_A_PLURAL * len(sides[step]) > 0),
    )


def _sampled_steps(graph: KnowledgeGraph, predicates: Sequence[IRI], limit: int) -> Iterator[tuple[Step, Term, Term]]:
    """Yield both steps of each triple, with where they begin and where they lead."""
    query, each = Query.load("predicate_triples"), max(50, limit // len(predicates))
    for some in in_parts(predicates, MAX_ARMS):
        arms = [query.bind(predicate=[p]).limit(each) for p in some]
        for solution in graph.select(Query.union(arms)):
            if isinstance(predicate := solution["predicate"], IRI):
                subject, object_ = solution["subject"], solution["object"]
                yield Step(predicate), subject, object_
                yield Step(predicate, "inverse"), object_, subject


def patterns_of(
    graph: KnowledgeGraph, starts: Starts, *, max_hops: int, seed: int, size: SampleSize = FULL,
    progress: Progress = silent,
) -> Patterns:  # fmt: skip
    """Find the property paths that lead somewhere from these starts, with a few queries for each hop.

    From each start a few ways are walked on, drawn by the seed; none through blank nodes.
    """
    patterns: Patterns = defaultdict(dict)
    ways: list[_Way] = [(start, PropertyPath(()), start, None) for start in starts.entities]
    for hops in range(max_hops):
        progress("looking for paths", hops, max_hops)
        groups = defaultdict(list)
        ends = sorted({end for _, _, end, _ in ways}, key=str)
        for group in neighbours(graph, ends, skip=starts.skip, limit=_WAYS_OF_A_START).items:
            if group.step in starts.near:
                groups[group.entity].append(group)
        grown: list[_Way] = []
        for start, path, end, before in ways:
            longer: list[_Way] = []
            for group in groups[end]:
                is_back = path.is_back(group.step)
                onward = [term for term in group.neighbours if term != start and not (is_back and term == before)]
                if not onward or (is_back and group.count < 2):
                    continue
                way = PropertyPath((*path.steps, group.step))
                known = patterns[cell_of(way)].setdefault(way, [])
                known += [start] if start not in known[-1:] else []
                if group.count <= _MAX_ENDS:
                    longer += [(start, way, term, end) for term in onward if isinstance(term, IRI)]
            grown += islice({way[1]: way for way in drawn(longer, seed, key=_way_key)}.values(), _WAYS_OF_A_START)
        grown = drawn(grown, seed, key=_way_key)
        walked_on = set(islice(dict.fromkeys(way[2] for way in grown), size.frontier))
        ways = [way for way in grown if way[2] in walked_on][: size.ways]
    return patterns


def _way_key(way: _Way) -> str:
    return f"{way[0]} {way[1]} {way[2]}"


# -- Questions, made of the paths ---------------------------------------------------------------------------------


MAX_ANSWERS = 20  # answers that a question has at most, by default
_MAX_PATHS = 60  # the commonest paths of one number of hops and direction, of which questions are made
_ATTEMPTS = 25  # walks that are tried for each question that is wanted
QUESTIONS_OF_A_TOPIC = 3
_MAX_LITERAL_CHARACTERS = 80

_MAX_TOPIC_CHARACTERS = 80
_MAX_CLASS_WORDS = 4

_MAX_CLASSIFIED = 40  # terms of each step whose classes are looked up

_MAJORITY = 0.7  # if at least this share of the terms are in a class, the step leads to things of that name

_PERSON_LABELS = {"human", "human being", "people", "persons", "natural person"}

_DATE = re.compile(r"(?:1\d|20)\d\d(?:-[01]\d(?:-[0-3]\d(?:T[\d:.]+Z?)?)?)?")

_MEANINGLESS_CLASS = re.compile(
    r"^http://www\.w3\.org/(?:2002/07/owl|1999/02/22-rdf-syntax-ns|2000/01/rdf-schema)#"
    r"|^http://www\.w3\.org/2004/02/skos/core#Concept$|^https?://schema\.org/Thing$"
)


@frozen
class MadeQuestion:
    """Question with the walk that finds its answers.

    :param topic: the name of the entity that it begins at.
    :param answers: every right answer, with its label.
    :param how_many: the question how many answers there are.
    """

    text: str
    walk: Walk
    topic: str
    answers: Labels
    how_many: str

    @property
    def cell(self) -> Cell:
        """The number of hops, and which way they are walked."""
        return cell_of(self.walk.path)

    @property
    def query(self) -> Query:
        """The query that finds the answers."""
        return path_queries.answers(self.walk, without_start=True, without_blank=True)


def make(
    knowledge: KnowledgeBase, count: int, *, seed: int = 0, max_hops: int = 3, max_answers: int = MAX_ANSWERS,
    size: SampleSize = FULL, progress: Progress = silent,
) -> list[MadeQuestion]:  # fmt: skip
    """Make questions from a graph, the same for the same graph and seed.

    Each number of hops and direction (forward, inverse, mixed) has as many as the graph allows, made of its commonest
    paths in turn; if topics are scarce, each kind gets its share of them, the rarest first. Every question has one to
    ``max_answers`` answers, and one topic, whose name no other entity has.

    :raises NotFoundError: for a graph without triples, without a name that a person would use, or without a path that
        leads to so few answers.
    """
    graph = knowledge.graph
    if knowledge.is_empty:
        raise empty_graph_error(graph)
    starts = sampled_starts(graph, seed, size)
    topics = _topic_names(knowledge, starts.entities)
    if not topics:
        raise NotFoundError(
            f"{graph.name}: nothing in it has a name of its own that a question could say",
            hint="labels are needed: rdfs:label, skos:prefLabel, schema:name … or IRIs that end in words",
        )
    named = replace(starts, entities=tuple(entity for entity in starts.entities if entity in topics))
    patterns = patterns_of(graph, named, max_hops=max_hops, seed=seed, size=size, progress=progress)
    found = _Maker(knowledge, topics, _Namer(knowledge, starts), count, max_answers, seed).questions(patterns, progress)
    if not found:
        raise NotFoundError(
            f"{graph.name}: no path of {max_hops} hops or less leads to at most {max_answers} answers with names",
            hint="allow more with --max-answers",
        )
    return found


@dataclass()
class _Maker:
    """Tries paths from starts in turn, and makes questions of those that lead to few answers."""

    knowledge: KnowledgeBase
    topics: Labels
    namer: _Namer
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
        paths: dict[Cell, dict[PropertyPath, list[IRI]]] = {}
        for cell, own in patterns.items():
            usable = [
                (-len(starts), str(path), path)
                for path, starts in own.items()
                if can_be_asked(path, self.namer.wordings)
            ]
            paths[cell] = {path: own[path] for *_, path in sorted(usable)[:_MAX_PATHS]}
        rarest_first = sorted(paths, key=lambda cell: (sum(map(len, paths[cell].values())), cell))
        at_once = min(MAX_ARMS, 2 * math.ceil(self.count / max(1, len(paths))))

        def walks(path: PropertyPath, starts: Iterable[IRI]) -> Iterator[Walk]:
            return (Walk(start, path) for start in drawn(starts, self.seed, key=lambda start: f"{start} {path}"))

        kinds = (
            self._questions_of(in_turn(walks(*own) for own in paths[cell].items()), at_once) for cell in rarest_first
        )
        made: list[MadeQuestion] = []
        for question in islice(in_turn(kinds), self.count):
            made.append(question)
            progress("making questions", len(made), self.count)
        return sorted(made, key=lambda question: question.cell)

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
                topic, several = self.topics[walk.start], len(terms) > 1
                text, how_many = (
                    self.namer.question(walk.path, topic, several=several, is_counted=counted)
                    for counted in (False, True)
                )
                if self._uses[walk.start] < QUESTIONS_OF_A_TOPIC and text not in self._texts:
                    self._texts.add(text)
                    self._uses[walk.start] += 1
                    answers = {term: labels[term] for term in terms}
                    yield MadeQuestion(text, walk, topic, answers, how_many)


def _are_answers(terms: Sequence[Term]) -> bool:
    """Tell whether these are what a person would take for answers: all IRIs, or all short literals in one language."""
    literals = [term for term in terms if isinstance(term, Literal)]
    if not literals:
        return all(isinstance(term, IRI) for term in terms)
    is_one_kind = len(literals) == len(terms) and len({term.language for term in literals}) == 1
    texts = [literal.value for literal in literals]
    are_printable = all(text.strip() and printable(text, _MAX_LITERAL_CHARACTERS) == text for text in texts)
    return is_one_kind and are_printable and not any("://" in t or t.lower() in {"true", "false"} for t in texts)


def _topic_names(knowledge: KnowledgeBase, entities: Sequence[IRI]) -> dict[Term, str]:
    """Return the names of entities that a person could write and that nothing else has."""
    named = labels(knowledge.graph, entities, languages=knowledge.languages)
    usable = {
        entity: label.text
        for entity, label in named.items()
        if (_is_plain_name if label.derived else _is_name)(label.text)
    }
    owners = defaultdict(set)
    for entity, text in usable.items():
        owners[text].add(entity)
    tags = dict.fromkeys((None, *knowledge.languages, "en", "mul"))  # English is what labels fall back on
    literals = [Literal(text, language=tag) for text in sorted(owners) for tag in tags]
    query = Query.load("namesakes").bind(predicate=knowledge.graph.naming.names)
    for solution in select_about(knowledge.graph, [query], literals, parameter="label").seen:
        owners[str(getattr(solution["label"], "value", ""))].add(solution["entity"])
    return {entity: text for entity, text in usable.items() if len(owners[text]) == 1}


def _is_name(text: str) -> bool:
    """Tell whether a label could be a name in a question: one line, with letters, and neither an IRI nor a sentence."""
    is_one_line = 1 < len(text) <= _MAX_TOPIC_CHARACTERS and printable(text, _MAX_TOPIC_CHARACTERS) == text
    is_code = "://" in text or "\\" in text or text.startswith('"')
    is_sentence = text.endswith(".") and len(text.split()) > 6
    return is_one_line and bool(normalised(text)) and not is_code and not is_sentence and any(map(str.isalpha, text))


def _is_plain_name(text: str) -> bool:
    """Tell whether the end of an IRI, or the name of a predicate or a class, is words, and no identifier.

    >>> [_is_plain_name(text) for text in ("New York", "Q42", "m.0h6rm", "1e0eae5f-25ae", "U2")]
    [True, False, False, False, False]
    """
    letters, digits = (sum(map(kind, text)) for kind in (str.isalpha, str.isdigit))
    is_plain = letters >= 3 and 3 * digits <= len(text) and not re.search(r"[%?=&@{}]|::|\.\w{2,4}$|^\w\.", text)
    return is_plain and _is_name(text)


class _Namer:
    """Words for predicates, and for what their steps lead to.

    :ivar wordings: the predicates that a question can name.
    :ivar many: steps that mostly lead to more than one term.
    """

    def __init__(self, knowledge: KnowledgeBase, starts: Starts) -> None:
        graph, languages = knowledge.graph, knowledge.languages
        self.many = starts.many
        said = labels(graph, {step.predicate for step in starts.near}, languages=languages).items()
        found = {predicate: wording(label.text) for predicate, label in said if _is_plain_name(label.text)}
        self.wordings = {predicate: words for predicate, words in found.items() if words}
        classes = _classes_of(graph, starts)
        used = Counter(kind for own in classes.values() for kind in own)
        self._names = {
            kind: "person" if label.text.casefold() in _PERSON_LABELS else " ".join(name_words(label.text))
            for kind, label in labels(graph, used, languages=languages).items()
            if _is_plain_name(label.text) and len(label.text.split()) <= _MAX_CLASS_WORDS
        }
        self._kinds = {step: "date" for step, near in starts.near.items() if _are_dates(near)}
        # Who works somewhere is a person, even without a class.
        persons = {
            term
            for step, near in starts.near.items()
            if step.direction == "inverse" and step.predicate in self.wordings
            if is_done_by_persons(self.wordings[step.predicate])
            for term in near
        }
        for step, near in starts.near.items():
            ends = iris_in(near[:_MAX_CLASSIFIED])
            counts = Counter(kind for term in ends for kind in classes.get(term, ()))
            enough = max(1.0, _MAJORITY * len(ends))
            common = [kind for kind, count in counts.items() if count >= enough and kind in self._names]
            if common:  # of several classes the rarest says most
                self._kinds[step] = self._names[min(common, key=lambda kind: (used[kind], str(kind)))]
            elif enough <= sum(
                term in persons or any(is_person(self._names.get(kind, "")) for kind in classes.get(term, ()))
                for term in ends
            ):
                self._kinds[step] = "person"

    def kind(self, path: PropertyPath, i: int) -> str:
        """Name what a step leads to, by the step itself, or by the step that follows; empty if nobody knows."""
        following = [step.reversed for step in path.steps[i + 1 : i + 2]]
        return next(filter(None, (self._kinds.get(step, "") for step in (path.steps[i], *following))), "")

    def question(self, path: PropertyPath, topic: str, *, several: bool, is_counted: bool) -> str:
        """Ask for what a path leads to from a topic."""
        kinds = [self.kind(path, i) for i in range(len(path.steps))]
        return question_text(
            path, topic, self.wordings, kinds, several=several, leads_to_many=self.many, is_counted=is_counted
        )


def _classes_of(graph: KnowledgeGraph, starts: Starts) -> dict[Term, set[IRI]]:
    """Look up the classes of the terms that steps lead to, without those that say nothing."""
    terms = {*iris_in(term for own in starts.near.values() for term in own[:_MAX_CLASSIFIED])}
    found: dict[Term, set[IRI]] = defaultdict(set)
    for group in neighbours(graph, sorted(terms, key=str), steps=[Step(p) for p in TYPES], limit=20).items:
        found[group.entity].update(
            term for term in iris_in(group.neighbours) if not _MEANINGLESS_CLASS.search(term.value)
        )
    return found


def _are_dates(terms: Sequence[Term]) -> bool:
    """Tell whether most of these are dates or years, by their datatype or as they are written.

    >>> _are_dates([Literal("1902"), Literal("1911-05-03")]), _are_dates([Literal("1902"), Literal("7")])
    (True, False)
    """
    dates = [t for t in terms if isinstance(t, Literal) and (literal_kind(t) == "date" or _DATE.fullmatch(t.value))]
    return 0 < _MAJORITY * len(terms) <= len(dates)
