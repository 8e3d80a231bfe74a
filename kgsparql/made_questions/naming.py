"""Names in questions about a graph: of what they are about, of predicates, and of what steps lead to."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from kgsparql.exploration import labels, neighbours
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.english_forms import Wording, is_done_by_persons, is_person, wording
from kgsparql.made_questions.frequent_paths import TYPES, Starts
from kgsparql.plans.questions import can_be_asked
from kgsparql.rdf.paths import PropertyPath, Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, normalised, printable

_MAX_TOPIC_CHARACTERS = 80
_MAX_CLASS_WORDS = 4

_MAX_CLASSIFIED = 40  # terms of each step whose classes are looked up
_ENOUGH_UNSHARED = 0.2
"""If at least this share of the named entities have a name of their own, those that share theirs are left out."""

_MAJORITY = 0.7  # if at least this share of the terms are in a class, the step leads to things of that name
_OFTEN = 0.4  # if at least this share of the terms are in a class, it is one of those that the step leads to

_PERSON_LABELS = frozenset({"human", "human being", "people", "persons", "natural person"})

_DATES = frozenset(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("date", "dateTime", "gYear", "gYearMonth"))
_DATE = re.compile(r"(?:1\d|20)\d\d(?:-[01]\d(?:-[0-3]\d(?:T[\d:.]+Z?)?)?)?")

_MEANINGLESS_CLASS = re.compile(
    r"^http://www\.w3\.org/(?:2002/07/owl|1999/02/22-rdf-syntax-ns|2000/01/rdf-schema)#"
    r"|^http://www\.w3\.org/2004/02/skos/core#Concept$|^https?://schema\.org/Thing$"
)


def topic_names(knowledge: KnowledgeBase, entities: Sequence[IRI]) -> tuple[dict[Term, str], bool]:
    """Return the names of entities that a person could write and that nothing else has, and whether names are shared.

    If too few entities have a name of their own, all names are taken, and the second value is true.
    """
    named = labels(knowledge.graph, entities, languages=knowledge.languages)
    usable = {
        entity: label.text
        for entity, label in named.items()
        if (_is_plain_name if label.derived else _is_name)(label.text)
    }
    shared = _shared_names(knowledge.graph, usable, knowledge.languages)
    own = {entity: text for entity, text in usable.items() if text not in shared}
    return (usable, True) if len(own) < _ENOUGH_UNSHARED * len(usable) else (own, False)


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


def _shared_names(graph: KnowledgeGraph, names: Mapping[Term, str], languages: Sequence[str]) -> set[str]:
    """Find the names that more than one entity has, in the languages that names are taken from."""
    owners: dict[str, set[Term]] = defaultdict(set)
    for entity, text in names.items():
        owners[text].add(entity)
    tags = dict.fromkeys((None, *languages, "en", "mul"))  # English is what labels fall back on
    literals = [Literal(text, language=tag) for text in sorted(owners) for tag in tags]
    query = Query.load("namesakes").bind(predicate=graph.naming.names)
    for solution in select_about(graph, [query], literals, parameter="label").seen:
        owners[str(getattr(solution["label"], "value", ""))].add(solution["entity"])
    return {text for text, entities in owners.items() if len(entities) > 1}


class Namer:
    """Words for predicates, and for what their steps lead to.

    :ivar wordings: the predicates that a question can name.
    :ivar many: steps that mostly lead to more than one term.
    """

    def __init__(self, knowledge: KnowledgeBase, starts: Starts) -> None:
        graph, languages = knowledge.graph, knowledge.languages
        self.many = starts.many
        said = labels(graph, {step.predicate for step in starts.near}, languages=languages).items()
        found = {predicate: wording(label.text) for predicate, label in said if _is_plain_name(label.text)}
        self.wordings: dict[Term, Wording] = {predicate: words for predicate, words in found.items() if words}
        classes = _classes_of(graph, starts)
        used = Counter(kind for own in classes.values() for kind in own)
        self._names = {
            kind: "person" if label.text.casefold() in _PERSON_LABELS else _kind_text(label.text)
            for kind, label in labels(graph, used, languages=languages).items()
            if _is_plain_name(label.text) and len(label.text.split()) <= _MAX_CLASS_WORDS
        }
        self._classes: dict[Step, frozenset[Term]] = {}
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
            ends = [term for term in near[:_MAX_CLASSIFIED] if isinstance(term, IRI)]
            counts = Counter(kind for term in ends for kind in classes.get(term, ()))
            self._classes[step] = frozenset(kind for kind, count in counts.items() if count >= _OFTEN * len(ends))
            enough = max(1.0, _MAJORITY * len(ends))
            common = [kind for kind, count in counts.items() if count >= enough and kind in self._names]
            if common:  # of several classes the rarest says most
                self._kinds[step] = self._names[min(common, key=lambda kind: (used[kind], str(kind)))]
            elif enough <= sum(term in persons or self._is_person(classes.get(term, ())) for term in ends):
                self._kinds[step] = "person"

    def _is_person(self, classes: Iterable[Term]) -> bool:
        return any(is_person(self._names.get(kind, "")) for kind in classes)

    def kind(self, path: PropertyPath, i: int) -> str:
        """Name what a step leads to, by the step itself, or by the step that follows; empty if nobody knows."""
        following = [step.reversed for step in path.steps[i + 1 : i + 2]]
        return next(filter(None, (self._kinds.get(step, "") for step in (path.steps[i], *following))), "")

    def makes_sense(self, path: PropertyPath) -> bool:
        """Tell whether a path can be put in words, and each step begins at what the one before it leads to.

        If one node is both a genre and a film of that name, nobody asks for the tags of the genre.
        """
        joints = [(self._classes[step], self._classes[following.reversed]) for step, following in pairwise(path.steps)]
        is_apart = any(reached and left and reached.isdisjoint(left) for reached, left in joints)
        return not is_apart and can_be_asked(path, self.wordings)


def _classes_of(graph: KnowledgeGraph, starts: Starts) -> dict[Term, set[IRI]]:
    """Look up the classes of the terms that steps lead to, without those that say nothing."""
    terms = {term for own in starts.near.values() for term in own[:_MAX_CLASSIFIED] if isinstance(term, IRI)}
    found: dict[Term, set[IRI]] = defaultdict(set)
    for group in neighbours(graph, sorted(terms, key=str), steps=[Step(p) for p in TYPES], limit=20).items:
        found[group.entity].update(
            term for term in group.neighbours if isinstance(term, IRI) and not _MEANINGLESS_CLASS.search(term.value)
        )
    return found


def _are_dates(terms: Sequence[Term]) -> bool:
    """Tell whether most of these are dates or years, by their datatype or as they are written.

    >>> _are_dates([Literal("1902"), Literal("1911-05-03")]), _are_dates([Literal("1902"), Literal("7")])
    (True, False)
    """
    dates = [t for t in terms if isinstance(t, Literal) and (t.datatype.value in _DATES or _DATE.fullmatch(t.value))]
    return 0 < _MAJORITY * len(terms) <= len(dates)


def _kind_text(label: str) -> str:
    """Write the name of a class as it stands in the middle of a sentence.

    >>> _kind_text("University"), _kind_text("TV_Series"), _kind_text("ScientificArticle")
    ('university', 'TV series', 'scientific article')
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|\s*\([^()]*\)", " ", label.replace("_", " "))
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in text.split())
