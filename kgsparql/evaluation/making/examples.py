"""A few questions that a graph answers, for whoever meets it for the first time.

They are made as :mod:`.making` makes them, put as a person would, and asked: only what is answered rightly is shown.
"""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from kgsparql.errors import NotFoundError
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.making.example_wording import as_asked, how_many
from kgsparql.evaluation.making.making import make
from kgsparql.evaluation.making.patterns import SampleSize
from kgsparql.exploration import predicate_counts, predicates, types
from kgsparql.graphs import OxigraphGraph
from kgsparql.rdf.terms import IRI, Literal, Term

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.knowledge_base import KnowledgeBase

Kind = OneOf["one hop", "two hops", "count", "inverse"]

_KINDS: tuple[Kind, ...] = ("one hop", "two hops", "count", "inverse")
"""In the order in which they are shown."""

_SIZE = SampleSize(triples=4_000, starts=120, frontier=120, ways=1_000)
"""What is looked at: a tenth of what an evaluation needs, half a second in a graph of a million triples."""

_MADE = 60
_MAX_ANSWERS = 12
_TRIES = 3
"""Questions of each kind that are asked before it is given up."""

INDEXED_AT_ONCE = 60_000
"""Triples up to which labels are read for the examples; in a larger graph they wait for its label index."""

MOST_TRIPLES = 1_000_000
"""Triples up to which there are examples: among 1.5 million, choosing them takes two seconds, and answering as long."""

_LONGEST = 90
"""Characters of a question."""

_MOST_OF = 2
"""Nouns that may hang on one another: *the capital of the country of …*."""

_NO_PLAIN_NAME = re.compile(r"[()\[\]{}<>\"“”*/\\:;,_|]|\d{3,}|\d-|-\d|^\w*[a-z][A-Z]\w*$")
"""What no name has that stands in a sentence without more."""

_IS_CODE = re.compile(r"[%_|\\]|::")
"""What tells an answer that is written for machines."""

_CLUMSY = re.compile(
    r"\bone of\b|\bother\b|\belse\b|\bthings?\b|\beverything\b|^Whose\b|^What (?:has|have)\b|\bthat .*\bthat\b"
    r"|\bthe [\w ]+ that\b|[\"“”]|(?:super|sub)class(?:es)? of the\b|\bof the (?:super|sub)class"
    r"|\bthe [\w ]+ of\b.* (?:at|by|for|from|in|of|on|since|to|with)\?$"
    r"|^(?:Which|How many) (?:data|equipment|evidence|hardware|information|knowledge|music|news|research|software)\b"
)
"""What makes a question hard to read, though it is right."""

_DULL = re.compile(
    r"\b(?:ids?|identifiers?|codes?|keys?|iris?|ur[il]s?|doi|e-?mails?|home ?pages?|websites?|votes|ISO|gender|sex"
    r"|tags?|notations?|status|versions?|comments?|descriptions?|abstracts?|images?|thumbnails?|lat(?:itude)?s?"
    r"|long(?:itude)?s?|types?|classes|lists?|nodes?|shapes?|propert(?:y|ies)|resources?|statements?|rank|subsets?"
    r"|integers?|strings?|literals?|booleans?|floats?|decimals?|datatypes?|documentations?"
    r"|(?:domain|range|inverse) of|obsolete|deprecated|consider|similars?|alsos?)\b",
    re.IGNORECASE,
)
"""What is noted of a thing, or serves its description, but is seldom asked."""

_VOCABULARIES = (
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
)
_OF_ANY_THING = {"NamedIndividual", "Thing", "Resource", "Statement", "List", "Bag", "Seq", "Alt"}

_STILTED = re.compile(r"\b(?:has|have) .* as\b")
"""What is right, but better said in another way where there is one."""


@dataclass(frozen=True, slots=True)
class _Example:
    """A question that may be shown, and what must come out for that.

    :param path: from the topic to the answers, ``^`` before a predicate that is walked from object to subject.
    :param names: of the answers, in one line.
    """

    text: str
    kind: Kind
    topic: IRI
    path: tuple[str, ...]
    answers: frozenset[Term | None]
    names: str

    def is_like(self, other: _Example) -> bool:
        """Whether both are about the same entity, or ask for the same."""
        return self.topic == other.topic or self.path[-1] == other.path[-1]

    def is_answered_by(self, answer: Answer) -> bool:
        """Whether an answer is whole and right."""
        if answer.status != "answered" or answer.gaps:
            return False
        if self.kind == "count":
            return isinstance(answer.value, Literal) and answer.value.value == str(len(self.answers))
        return {one.term for one in answer.best} == self.answers


def example_questions(
    knowledge: KnowledgeBase, *, count: int = 4, seed: int = 0, max_seconds: float = math.inf
) -> tuple[str, ...]:
    """Questions to begin with, of several kinds as far as there are any; the same for the same graph and seed.

    Each has been asked, without a model, and was answered in full and rightly; where fewer were, there are fewer. There
    are none of an endpoint or of several graphs, of which too much would have to be asked; none in a snapshot; none of
    a large graph whose label index is not made yet, and none of a very large one. None is about a class or a property,
    such as an ontology has: what is noted there is for those who write it.

    :param max_seconds: after which those that were found by then, one at least, are taken.

    >>> import kgsparql
    >>> example_questions(kgsparql.open("fixtures/nobel.ttl", embedder="none"), count=1)
    ('What are the fields of work of Marie Curie?',)
    """
    if not _can_be_asked(knowledge):
        return ()
    ends = time.monotonic() + max_seconds
    try:
        made = make(knowledge, _MADE, seed=seed, max_hops=2, max_answers=_MAX_ANSWERS, size=_SIZE)
    except NotFoundError:  # nothing in it has a name, or leads to anything that has
        return ()
    found = list(_about_things(knowledge, [one for question in made.questions for one in _examples(question)]))
    ranked = _ranked(found, _degrees(knowledge, {example.topic for example in found}))
    chosen: list[_Example] = []
    turns = deque(_answered(knowledge, [one for one in ranked if one.kind == kind], chosen) for kind in _KINDS)
    while turns and len(chosen) < count and not (chosen and time.monotonic() > ends):
        if (example := next(turns[0], None)) is None:
            turns.popleft()
        else:
            chosen.append(example)
            turns.rotate(-1)
    return tuple(example.text for example in sorted(chosen, key=lambda example: _KINDS.index(example.kind)))


def _answered(knowledge: KnowledgeBase, examples: Iterable[_Example], chosen: Sequence[_Example]) -> Iterator[_Example]:
    """Those that are answered rightly and are not like one that is chosen already; only a few are asked."""
    unlike = (one for one in examples if not any(one.is_like(other) for other in chosen))
    for example in islice(unlike, _TRIES):
        if example.is_answered_by(knowledge.ask(example.text)):
            yield example


def _can_be_asked(knowledge: KnowledgeBase) -> bool:
    """Whether questions cost no more than their own time: no network, and no large index to be made first."""
    graph = knowledge.graph
    if not isinstance(graph, OxigraphGraph) or knowledge.snapshot is not None or knowledge.is_empty:
        return False
    triples = sum(predicate_counts(graph).values())
    return triples <= (MOST_TRIPLES if knowledge.indexes.is_made else INDEXED_AT_ONCE)


def _about_things(knowledge: KnowledgeBase, examples: Sequence[_Example]) -> Iterator[_Example]:
    """Those that are not about a term of an ontology: a class or a property."""
    kinds = types(knowledge.graph, {example.topic for example in examples})
    for example in examples:
        if not any(_is_of_ontologies(kind) for kind in kinds.get(example.topic, ())):
            yield example


def _is_of_ontologies(kind: IRI) -> bool:
    """Whether a type is one of RDFS or OWL, other than those that any thing may have."""
    namespace = next((own for own in _VOCABULARIES if kind.value.startswith(own)), None)
    return namespace is not None and kind.value.removeprefix(namespace) not in _OF_ANY_THING


def _examples(question: Question) -> Iterator[_Example]:
    """What can be asked of what a made question is about: itself, and how many answers it has."""
    answers, topic = question.answers or (), question.topics[0]
    says_itself = any(answer.label.casefold() in topic.label.casefold() for answer in answers)
    are_plain = all(answer.label[:1].isalnum() and not _IS_CODE.search(answer.label) for answer in answers)
    if says_itself or not are_plain or not _is_readable(question.text, topic.label):
        return
    terms, names = frozenset(answer.term for answer in answers), " ".join(answer.label for answer in answers)
    inverse = question.hops == 1 and question.direction == "inverse"
    kind: Kind = "inverse" if inverse else "one hop" if question.hops == 1 else "two hops"
    yield _Example(as_asked(question.text), kind, topic.iri, question.path, terms, names)
    if inverse and len(terms) > 1 and question.text.startswith("Which "):
        yield _Example(how_many(question.text), "count", topic.iri, question.path, terms, names)


def _is_readable(text: str, topic: str) -> bool:
    """Whether the name is a plain one, and the words around it make a short and simple sentence."""
    if _NO_PLAIN_NAME.search(topic) or len(text) > _LONGEST or text.count(" of ") > _MOST_OF:
        return False
    words = text.replace(topic, "", 1)
    return not (_CLUMSY.search(words) or _DULL.search(words))


def _ranked(examples: Iterable[_Example], degrees: dict[Term, int]) -> list[_Example]:
    """Those first that are pleasant to read and about well-known things."""

    def key(example: _Example) -> tuple[int, int, str]:
        written = set(example.names.split())
        has_lost_capital = any(word.islower() and word.capitalize() in written for word in example.text.split())
        return bool(_STILTED.search(example.text)) + has_lost_capital, -degrees.get(example.topic, 0), example.text

    return sorted(examples, key=key)


def _degrees(knowledge: KnowledgeBase, topics: Collection[IRI]) -> dict[Term, int]:
    degrees: dict[Term, int] = {}
    for counted in predicates(knowledge.graph, sorted(topics, key=str)).items:
        degrees[counted.entity] = degrees.get(counted.entity, 0) + counted.count
    return degrees
