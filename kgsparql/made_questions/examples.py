"""A few questions that a graph answers, for whoever meets it for the first time.

They are made as :mod:`.making` makes them, put as a person would, and asked: only what is answered rightly is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kgsparql.dataclasses import frozen
from kgsparql.errors import NotFoundError
from kgsparql.exploration import degrees, predicate_counts, types
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.words import in_turn
from kgsparql.made_questions.making import MadeQuestion, SampleSize, make
from kgsparql.rdf.terms import Literal

_KINDS = ("one hop", "count", "inverse", "two hops")  # in the order in which they are shown

# A tenth of what an evaluation looks at: half a second in a graph of a million triples.
_SIZE = SampleSize(triples=4_000, starts=120, frontier=120, ways=1_000)
_MADE = 60
_MAX_ANSWERS = 12
_TRIES_OF_A_KIND = 3

INDEXED_AT_ONCE = 60_000
"""Triples up to which labels are read for the examples; in a larger graph they wait for its label index."""

MOST_TRIPLES = 1_000_000
"""Triples up to which there are examples: among 1.5 million, choosing them takes two seconds, and answering as long."""

_MAX_CHARACTERS = 90

_MAX_NESTED_NOUNS = 2  # nouns that may hang on one another: *the capital of the country of …*
_NO_PLAIN_NAME = re.compile(r"[()\[\]{}<>\"“”*/\\:;,_|]|\d{3,}|\d-|-\d|^\w*[a-z][A-Z]\w*$")
_MACHINE_CODE = re.compile(r"[%_|\\]|::")

_CLUMSY = re.compile(
    r"\bone of\b|\bother\b|\belse\b|\bthings?\b|\beverything\b|^Whose\b|^What (?:has|have)\b|\bthat .*\bthat\b"
    r"|\bthe [\w ]+ that\b|[\"“”]|(?:super|sub)class(?:es)? of the\b|\bof the (?:super|sub)class"
    r"|\bthe [\w ]+ of\b.* (?:at|by|for|from|in|of|on|since|to|with)\?$"
    r"|^(?:Which|How many) (?:data|equipment|evidence|hardware|information|knowledge|music|news|research|software)\b"
)

_DULL = re.compile(
    r"\b(?:ids?|identifiers?|codes?|keys?|iris?|ur[il]s?|doi|e-?mails?|home ?pages?|websites?|votes|ISO|gender|sex"
    r"|tags?|notations?|status|versions?|comments?|descriptions?|abstracts?|images?|thumbnails?|lat(?:itude)?s?"
    r"|long(?:itude)?s?|types?|classes|lists?|nodes?|shapes?|propert(?:y|ies)|resources?|statements?|rank|subsets?"
    r"|integers?|strings?|literals?|booleans?|floats?|decimals?|datatypes?|documentations?"
    r"|broaders?|narrowers?|alternatives?|accounts?"
    r"|(?:domain|range|inverse) of|obsolete|deprecated|consider|similars?|alsos?)\b",
    re.IGNORECASE,
)
"""Words for what is noted of a thing, or serves its description, but is seldom asked."""

_OF_ONTOLOGIES = re.compile(
    r"http://www\.w3\.org/(?:2002/07/owl|2000/01/rdf-schema|1999/02/22-rdf-syntax-ns)#"
    r"(?!(?:NamedIndividual|Thing|Resource|Statement|List|Bag|Seq|Alt)$)"
)
"""Types of RDFS or OWL, other than those that any thing may have."""

_STILTED = re.compile(r"\b(?:has|have) .* as\b")  # a wording that is right, but shown only where there is no better one


@frozen
class _Example:
    """Made question that may be shown, in one of its forms."""

    text: str
    kind: str
    made: MadeQuestion


def example_questions(knowledge: KnowledgeBase, *, count: int = 4) -> tuple[str, ...]:
    """Choose questions to begin with, of several kinds as far as there are any; the same for the same graph.

    Each has been asked, without a model, and was answered in full and rightly; where fewer were, there are fewer. There
    are none of an endpoint or of several graphs, of which too much would have to be asked; none of
    a large graph whose label index is not made yet, and none of a very large one. None is about a class or a property,
    such as an ontology has: what is noted there is for those who write it.

    >>> import kgsparql
    >>> example_questions(kgsparql.open("fixtures/nobel.ttl", embedder="none"), count=1)
    ('What are the fields of work of Marie Curie?',)
    """
    graph, most = knowledge.graph, MOST_TRIPLES if knowledge.indexes.is_made else INDEXED_AT_ONCE
    if not graph.is_embedded or knowledge.is_empty or sum(predicate_counts(graph).values()) > most:
        return ()
    try:
        made = make(knowledge, _MADE, seed=0, max_hops=2, max_answers=_MAX_ANSWERS, size=_SIZE)
    except NotFoundError:  # nothing in it has a name, or leads to anything that has
        return ()
    kinds = types(graph, {question.walk.start for question in made})
    of_ontologies = {entity for entity, own in kinds.items() if any(_OF_ONTOLOGIES.match(kind.value) for kind in own)}
    things = [question for question in made if question.walk.start not in of_ontologies]
    found = [one for question in things for one in _example_forms(question)]
    sizes = degrees(graph, sorted({one.made.walk.start for one in found}, key=str))

    def rank(example: _Example) -> tuple[int, int, str]:  # first what is pleasant to read, and of well-known things
        written = {word for label in example.made.answers.values() for word in label.split()}
        has_lost_capital = any(word.islower() and word.capitalize() in written for word in example.text.split())
        return bool(_STILTED.search(example.text)) + has_lost_capital, -sizes[example.made.walk.start], example.text

    found.sort(key=rank)
    chosen: list[_Example] = []
    turns = [_answered_examples(knowledge, [one for one in found if one.kind == kind], chosen) for kind in _KINDS]
    for example in islice(in_turn(turns), count):
        chosen.append(example)  # noqa: PERF402 - the others look at what is chosen
    return tuple(example.text for example in sorted(chosen, key=lambda example: _KINDS.index(example.kind)))


def _answered_examples(
    knowledge: KnowledgeBase, examples: Iterable[_Example], chosen: Sequence[_Example]
) -> Iterator[_Example]:
    """Yield those that are answered rightly and are not like one that is chosen already; only a few are asked."""

    def is_new(example: _Example) -> bool:  # about another entity than those chosen, and asks for something else
        own, others = example.made.walk, [one.made.walk for one in chosen]
        return all(own.start != o.start and own.path.steps[-1] != o.path.steps[-1] for o in others)

    for example in islice(filter(is_new, examples), _TRIES_OF_A_KIND):
        answer, right = knowledge.ask(example.text, choices=False), example.made.answers
        if answer.status == "answered" and not answer.gaps:
            counted = answer.value.value if isinstance(answer.value, Literal) else ""
            is_all = {one.term for one in answer.best} == right.keys()
            if counted == str(len(right)) if example.kind == "count" else is_all:
                yield example


def _example_forms(question: MadeQuestion) -> Iterator[_Example]:
    """Yield a made question as a person would ask it, and the question how many answers it has."""
    labels = question.answers.values()
    says_itself = any(label.casefold() in question.topic.casefold() for label in labels)
    are_plain = all(label[:1].isalnum() and not _MACHINE_CODE.search(label) for label in labels)
    words = question.text.replace(question.topic, "", 1)
    is_long = len(question.text) > _MAX_CHARACTERS or question.text.count(" of ") > _MAX_NESTED_NOUNS
    is_odd = _NO_PLAIN_NAME.search(question.topic) or _CLUMSY.search(words) or _DULL.search(words)
    if says_itself or not are_plain or is_long or is_odd:
        return
    hops, direction = question.cell
    inverse = hops == 1 and direction == "inverse"
    kind = "inverse" if inverse else "one hop" if hops == 1 else "two hops"
    yield _Example(question.text, kind, question)
    if inverse and len(labels) > 1 and question.how_many.startswith("How many "):
        yield _Example(question.how_many, "count", question)
