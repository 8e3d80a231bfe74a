"""Names in questions: of topics, of predicates, and of the kinds of thing that a step leads to."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from kgsparql.evaluation.making.patterns import TYPES, Starts
from kgsparql.evaluation.making.question_wording import can_be_asked
from kgsparql.exploration import Label, labels, neighbours
from kgsparql.graphs.protocols import KnowledgeGraph, naming_of
from kgsparql.linking.english_forms import Wording, is_done_by_persons, is_person, wording
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, normalised, printable

if TYPE_CHECKING:
    from kgsparql.knowledge_base import KnowledgeBase


_TOPIC = 80
"""Characters of the name of a topic."""

_WORDS = 4
"""Words of the name of a class that says what is asked for."""

_NEAR = 40
"""Terms of each step whose classes are looked up."""

_OWN_NAMES = 0.2
"""If at least this share of the named entities have a name of their own, those that share theirs are left out."""

_MAJORITY = 0.7
"""If at least this share of the terms are in a class, the step leads to things of that name."""

_OFTEN = 0.4
"""If at least this share of the terms are in a class, it is one of those that the step leads to."""

_PERSONS = frozenset(
    IRI(value)
    for value in (
        "http://xmlns.com/foaf/0.1/Person", "http://schema.org/Person", "https://schema.org/Person",
        "http://dbpedia.org/ontology/Person", "http://www.wikidata.org/entity/Q5",
        "http://www.w3.org/2000/10/swap/pim/contact#Person", "http://www.cidoc-crm.org/cidoc-crm/E21_Person",
    )
)  # fmt: skip
"""Classes of people, which may have no label where they are used."""

_PEOPLE = frozenset({"human", "human being", "people", "persons", "natural person"})

_DATES = frozenset(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("date", "dateTime", "gYear", "gYearMonth"))
_DATE = re.compile(r"(?:1\d|20)\d\d(?:-[01]\d(?:-[0-3]\d(?:T[\d:.]+Z?)?)?)?")

_SAYS_NOTHING = re.compile(
    r"^http://www\.w3\.org/(?:2002/07/owl|1999/02/22-rdf-syntax-ns|2000/01/rdf-schema)#"
    r"|^http://www\.w3\.org/2004/02/skos/core#Concept$|^https?://schema\.org/Thing$"
)


def topic_names(knowledge: KnowledgeBase, entities: Sequence[IRI]) -> tuple[dict[IRI, str], bool]:
    """The names of entities that a person could write and that nothing else has, and whether names are shared.

    If too few entities have a name of their own, all names are taken, and the second value is true.
    """
    named = labels(knowledge.graph, entities, languages=knowledge.languages)
    usable = {entity: label.text for entity, label in _iris(named) if _is_name(label)}
    shared = _shared(knowledge.graph, usable, knowledge.languages)
    own = {entity: text for entity, text in usable.items() if text not in shared}
    return (usable, True) if len(own) < _OWN_NAMES * len(usable) else (own, False)


def _iris(named: Mapping[Term, Label]) -> Iterator[tuple[IRI, Label]]:
    return ((term, label) for term, label in named.items() if isinstance(term, IRI))


def _is_name(label: Label) -> bool:
    """Whether a label could be a name in a question: words, and neither an identifier nor a sentence.

    >>> [_is_name(Label(text, derived=True)) for text in ("New York", "Q42", "m.0h6rm", "1e0eae5f-25ae", "U2")]
    [True, False, False, False, False]
    """
    text = label.text
    if not 1 < len(text) <= _TOPIC or printable(text, _TOPIC) != text or not normalised(text):
        return False
    if "://" in text or "\\" in text or text.startswith('"') or (text.endswith(".") and len(text.split()) > 6):
        return False
    letters = sum(char.isalpha() for char in text)
    if not label.derived:
        return letters > 0
    digits = sum(char.isdigit() for char in text)
    return letters >= 3 and 3 * digits <= len(text) and not re.search(r"[%?=&@{}]|::|\.\w{2,4}$|^\w\.", text)


def _shared(graph: KnowledgeGraph, names: Mapping[IRI, str], languages: Sequence[str]) -> set[str]:
    """The names that more than one entity has, in the languages that names are taken from."""
    texts = sorted(set(names.values()))
    owners: dict[str, set[Term]] = defaultdict(set)
    for entity, text in names.items():
        owners[text].add(entity)
    query = Query.load("namesakes").bind(predicate=naming_of(graph).names)
    tags = tuple(dict.fromkeys((None, *languages, "en", "mul")))  # English is what labels fall back on
    size = max(1, graph.chunk_size // len(tags))
    for at in range(0, len(texts), size):
        literals = [
            Literal(t) if tag is None else Literal(t, language=tag) for t in texts[at : at + size] for tag in tags
        ]
        for solution in graph.select(query.bind(label=literals).limit(20 * len(literals))):  # any two owners will do
            if isinstance(label := solution["label"], Literal):
                owners[label.value].add(solution["entity"])
    return {text for text, entities in owners.items() if len(entities) > 1}


class Namer:
    """The words for predicates, and for what their steps lead to.

    :ivar many: steps that mostly lead to more than one term.
    :ivar kinds: what most of the terms are that a step leads to: a class in the singular.
    :ivar dates: steps that mostly lead to dates or years.
    """

    def __init__(self, knowledge: KnowledgeBase, starts: Starts) -> None:
        graph, languages = knowledge.graph, knowledge.languages
        self.many = starts.many
        self.dates = frozenset(step for step, near in starts.near.items() if _are_dates(near))
        predicates = {step.predicate for step in starts.near}
        self.wordings: dict[IRI, Wording] = {}
        for term, label in _iris(labels(graph, predicates, languages=languages)):
            if _is_name(Label(label.text, derived=True)) and (words := wording(label.text)) is not None:
                self.wordings[term] = words
        classes = _classes(graph, starts)
        used = Counter(kind for own in classes.values() for kind in own)
        names = {t: lb.text for t, lb in _iris(labels(graph, used, languages=languages)) if _is_class_name(lb)}
        names.update({kind: "person" for kind in used if kind in _PERSONS or names.get(kind, "").casefold() in _PEOPLE})
        persons = self._persons(starts)
        self._classes: dict[Step, frozenset[IRI]] = {}
        self.kinds: dict[Step, str] = {}
        for step, near in starts.near.items():
            ends = [term for term in near[:_NEAR] if isinstance(term, IRI)]
            counts = Counter(kind for term in ends for kind in classes.get(term, ()))
            self._classes[step] = frozenset(kind for kind, count in counts.items() if count >= _OFTEN * len(ends))
            common = [kind for kind, count in counts.items() if count >= _MAJORITY * len(ends) and kind in names]
            if common:  # of several classes the rarest says most
                self.kinds[step] = _kind_text(names[min(common, key=lambda kind: (used[kind], str(kind)))])
            else:  # bakers and clerks are people, and so is who works somewhere, even without a class
                own = [term for term in ends if term in persons or _are_persons(classes.get(term, ()), names)]
                if ends and len(own) >= _MAJORITY * len(ends):
                    self.kinds[step] = "person"

    def _persons(self, starts: Starts) -> set[Term]:
        """The terms that are subjects of predicates that only people are subjects of."""
        steps = [Step(predicate, "inverse") for predicate, words in self.wordings.items() if is_done_by_persons(words)]
        return {term for step in steps for term in starts.near.get(step, ())}

    def kind(self, path: PropertyPath, i: int) -> str:
        """What a step leads to, by the step itself, or by the step that follows."""
        found = self.kinds.get(path.steps[i], "")
        return found or (self.kinds.get(path.steps[i + 1].reversed, "") if i + 1 < len(path) else "")

    def makes_sense(self, path: PropertyPath) -> bool:
        """Whether it can be put in words, and each step begins at the kind of thing that the one before it leads to.

        If one node is both a genre and a film of that name, nobody asks for the tags of the genre.
        """
        if not can_be_asked(path, self.wordings):
            return False
        for step, following in pairwise(path.steps):
            reached, left = self._classes[step], self._classes[following.reversed]
            if reached and left and reached.isdisjoint(left):
                return False
        return True


def _classes(graph: KnowledgeGraph, starts: Starts) -> dict[Term, set[IRI]]:
    """The classes of the terms that steps lead to, without those that say nothing."""
    terms = {term for own in starts.near.values() for term in own[:_NEAR] if isinstance(term, IRI)}
    found: dict[Term, set[IRI]] = defaultdict(set)
    for group in neighbours(graph, sorted(terms, key=str), steps=[Step(p) for p in TYPES], limit=20).items:
        found[group.entity].update(
            term for term in group.neighbours if isinstance(term, IRI) and not _SAYS_NOTHING.search(term.value)
        )
    return found


def _are_persons(kinds: Collection[IRI], names: Mapping[IRI, str]) -> bool:
    return any(is_person(_kind_text(names[kind])) for kind in kinds if kind in names)


def _are_dates(terms: Sequence[Term]) -> bool:
    """Whether most of these are dates or years, by their datatype or as they are written.

    >>> _are_dates([Literal("1902"), Literal("1911-05-03")]), _are_dates([Literal("1902"), Literal("7")])
    (True, False)
    """
    dates = [t for t in terms if isinstance(t, Literal) and (t.datatype.value in _DATES or _DATE.fullmatch(t.value))]
    return 0 < _MAJORITY * len(terms) <= len(dates)


def _is_class_name(label: Label) -> bool:
    return _is_name(Label(label.text, derived=True)) and len(label.text.split()) <= _WORDS


def _kind_text(label: str) -> str:
    """The name of a class in the middle of a sentence.

    >>> _kind_text("University"), _kind_text("TV_Series"), _kind_text("ScientificArticle")
    ('university', 'TV series', 'scientific article')
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|\s*\([^()]*\)", " ", label.replace("_", " "))
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in text.split())
