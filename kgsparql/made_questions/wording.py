"""Questions in plain English for the ends of a property path, and the names in them: of topics, predicates, classes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from kgsparql.dataclasses import dataclass
from kgsparql.exploration import Label, labels, neighbours
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.english_forms import Wording, is_done_by_persons, is_person, plural, singular, when_asked, wording
from kgsparql.made_questions.patterns import TYPES, Starts
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

_PERSON_CLASSES = frozenset(
    IRI(value)
    for value in (
        "http://xmlns.com/foaf/0.1/Person", "http://schema.org/Person", "https://schema.org/Person",
        "http://dbpedia.org/ontology/Person", "http://www.wikidata.org/entity/Q5",
        "http://www.w3.org/2000/10/swap/pim/contact#Person", "http://www.cidoc-crm.org/cidoc-crm/E21_Person",
    )
)  # fmt: skip
"""These may have no label where they are used."""

_PERSON_LABELS = frozenset({"human", "human being", "people", "persons", "natural person"})

_DATES = frozenset(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("date", "dateTime", "gYear", "gYearMonth"))
_DATE = re.compile(r"(?:1\d|20)\d\d(?:-[01]\d(?:-[0-3]\d(?:T[\d:.]+Z?)?)?)?")

_MEANINGLESS_CLASS = re.compile(
    r"^http://www\.w3\.org/(?:2002/07/owl|1999/02/22-rdf-syntax-ns|2000/01/rdf-schema)#"
    r"|^http://www\.w3\.org/2004/02/skos/core#Concept$|^https?://schema\.org/Thing$"
)


def topic_names(knowledge: KnowledgeBase, entities: Sequence[IRI]) -> tuple[dict[IRI, str], bool]:
    """Return the names of entities that a person could write and that nothing else has, and whether names are shared.

    If too few entities have a name of their own, all names are taken, and the second value is true.
    """
    named = labels(knowledge.graph, entities, languages=knowledge.languages)
    usable = {
        entity: label.text
        for entity, label in _named_iris(named)
        if (_is_plain_name if label.derived else _is_name)(label.text)
    }
    shared = _shared_names(knowledge.graph, usable, knowledge.languages)
    own = {entity: text for entity, text in usable.items() if text not in shared}
    return (usable, True) if len(own) < _ENOUGH_UNSHARED * len(usable) else (own, False)


def _named_iris(named: Mapping[Term, Label]) -> Iterator[tuple[IRI, Label]]:
    return ((term, label) for term, label in named.items() if isinstance(term, IRI))


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


def _shared_names(graph: KnowledgeGraph, names: Mapping[IRI, str], languages: Sequence[str]) -> set[str]:
    """Find the names that more than one entity has, in the languages that names are taken from."""
    owners: dict[str, set[Term]] = defaultdict(set)
    for entity, text in names.items():
        owners[text].add(entity)
    texts = sorted(owners)
    query = Query.load("namesakes").bind(predicate=graph.naming.names)
    tags = tuple(dict.fromkeys((None, *languages, "en", "mul")))  # English is what labels fall back on
    size = max(1, graph.chunk_size // len(tags))
    for at in range(0, len(texts), size):
        literals = [Literal(text, language=tag) for text in texts[at : at + size] for tag in tags]
        for solution in graph.select(query.bind(label=literals).limit(20 * len(literals))):  # any two owners will do
            if isinstance(label := solution["label"], Literal):
                owners[label.value].add(solution["entity"])
    return {text for text, entities in owners.items() if len(entities) > 1}


class Namer:
    """Words for predicates, and for what their steps lead to.

    :ivar wordings: the predicates that a question can name.
    :ivar many: steps that mostly lead to more than one term.
    :ivar kinds: what most of the terms are that a step leads to: a class in the singular.
    :ivar dates: steps that mostly lead to dates or years.
    """

    def __init__(self, knowledge: KnowledgeBase, starts: Starts) -> None:
        graph, languages = knowledge.graph, knowledge.languages
        self.many = starts.many
        self.dates = frozenset(step for step, near in starts.near.items() if _are_dates(near))
        predicates = labels(graph, {step.predicate for step in starts.near}, languages=languages)
        named = {term: wording(label.text) for term, label in _named_iris(predicates) if _is_plain_name(label.text)}
        self.wordings: dict[IRI, Wording] = {term: words for term, words in named.items() if words is not None}
        classes = _classes_of(graph, starts)
        used = Counter(kind for own in classes.values() for kind in own)
        found = ((kind, label.text) for kind, label in _named_iris(labels(graph, used, languages=languages)))
        names = {kind: name for kind, name in found if _is_plain_name(name) and len(name.split()) <= _MAX_CLASS_WORDS}
        names |= {
            kind: "person"
            for kind in used
            if kind in _PERSON_CLASSES or names.get(kind, "").casefold() in _PERSON_LABELS
        }
        of_persons = {kind for kind, text in names.items() if is_person(_kind_text(text))}
        persons = self._known_persons(starts)
        self._classes: dict[Step, frozenset[IRI]] = {}
        self.kinds: dict[Step, str] = {}
        for step, near in starts.near.items():
            ends = [term for term in near[:_MAX_CLASSIFIED] if isinstance(term, IRI)]
            counts = Counter(kind for term in ends for kind in classes.get(term, ()))
            self._classes[step] = frozenset(kind for kind, count in counts.items() if count >= _OFTEN * len(ends))
            common = [kind for kind, count in counts.items() if count >= _MAJORITY * len(ends) and kind in names]
            if common:  # of several classes the rarest says most
                self.kinds[step] = _kind_text(names[min(common, key=lambda kind: (used[kind], str(kind)))])
            else:  # bakers and clerks are people, and so is who works somewhere, even without a class
                own = [term for term in ends if term in persons or not of_persons.isdisjoint(classes.get(term, ()))]
                if ends and len(own) >= _MAJORITY * len(ends):
                    self.kinds[step] = "person"

    def _known_persons(self, starts: Starts) -> set[Term]:
        """Find the terms that are subjects of predicates that only people are subjects of."""
        steps = [Step(predicate, "inverse") for predicate, words in self.wordings.items() if is_done_by_persons(words)]
        return {term for step in steps for term in starts.near.get(step, ())}

    def kind(self, path: PropertyPath, i: int) -> str:
        """Name what a step leads to, by the step itself, or by the step that follows; empty if nobody knows."""
        found = self.kinds.get(path.steps[i], "")
        return found or (self.kinds.get(path.steps[i + 1].reversed, "") if i + 1 < len(path.steps) else "")

    def makes_sense(self, path: PropertyPath) -> bool:
        """Tell whether a path can be put in words, and each step begins at what the one before it leads to.

        If one node is both a genre and a film of that name, nobody asks for the tags of the genre.
        """
        if not can_be_asked(path, self.wordings):
            return False
        for step, following in pairwise(path.steps):
            reached, left = self._classes[step], self._classes[following.reversed]
            if reached and left and reached.isdisjoint(left):
                return False
        return True


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


_CONVERSE = {"subclass": "superclass", "subproperty": "superproperty"}


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Noun phrase: the topic, or what a part of a path leads to."""

    text: str
    is_plural: bool = False

    @property
    def one(self) -> str:
        """Say *one of them*, where a question is about things that have to do with any of them."""
        return f"one of {self.text}" if self.is_plural else self.text


def question_text(
    path: PropertyPath, topic: str, wordings: Mapping[IRI, Wording], kinds: Sequence[str], *, several: bool,
    many: Collection[Step] = (), dates: Collection[Step] = (),
) -> str:  # fmt: skip
    """Ask for the ends of a path.

    :param kinds: what each step leads to: a class in the singular; empty if unknown.
    :param many: steps that mostly lead to more than one term.
    :param dates: steps that mostly lead to dates or years.

    >>> from kgsparql.linking.english_forms import wording
    >>> at, by = IRI("http://e.org/at"), IRI("http://e.org/by")
    >>> wordings = {at: wording("birth place"), by: wording("directed by")}
    >>> def asked(*steps, kinds):
    ...     path = PropertyPath.of(*("^" * s.startswith("^") + {"at": at, "by": by}[s.strip("^")].value for s in steps))
    ...     return question_text(path, "Jaws", wordings, kinds, several=True)
    >>> asked("by", "at", kinds=["person", "city"])
    'What are the birth places of the person that Jaws was directed by?'
    >>> asked("by", "^by", kinds=["person", "film"])
    'Which other films were directed by the person that Jaws was directed by?'
    >>> asked("^at", kinds=["person"])
    'Which people have Jaws as birth place?'
    """
    phrase = _Phrase(_quoted_topic(topic))
    persons = [s.direction == "inverse" and is_done_by_persons(wordings[s.predicate]) for s in path.steps]
    kinds = [kind or "person" * is_person for kind, is_person in zip(kinds, persons, strict=True)]  # without a class
    for i, step in enumerate(path.steps[:-1]):
        kind = kinds[i] or _role_name(path.steps[i + 1], wordings)
        words, is_back = _step_wording(step, wordings), _is_back(path, i)
        if step.direction == "forward":
            phrase = _object_phrase(phrase, words, kind, "other " * is_back, are_many=step in many or is_back)
        else:
            phrase = _subject_phrase(phrase, words, kind, "other " * is_back)
    last = len(path.steps) - 1
    step = path.steps[last]
    text = when_asked(_step_wording(step, wordings), phrase.text, are_many=phrase.is_plural) if step in dates else ""
    ask = _ask_for_objects if step.direction == "forward" else _ask_for_subjects
    text = text or ask(phrase, _step_wording(step, wordings), kinds[last], several, is_back=_is_back(path, last))
    return text[0].upper() + text[1:]


def _role_name(following: Step, wordings: Mapping[IRI, Wording]) -> str:
    """Name the object of a predicate (that of ``country`` is a country): used if there is no class."""
    own = wordings[following.predicate]
    return singular(own.text) if following.direction == "inverse" and own.form == "noun" else ""


def can_be_asked(path: PropertyPath, wordings: Mapping[IRI, Wording]) -> bool:
    """Tell whether a sentence about a path stays readable: each predicate has a form, and at most one needs a clause.

    *The thing that the thing that it is part of was made by* is nothing that people say.
    """
    if not all(step.predicate in wordings for step in path.steps):
        return False
    forms = [_step_wording(step, wordings).form for step in path.steps if step.direction == "forward"]
    return sum(form != "noun" for form in forms) <= 1


def _step_wording(step: Step, wordings: Mapping[IRI, Wording]) -> Wording:
    own = wordings[step.predicate]
    if own.form == "of" and step.direction == "forward" and own.text in _CONVERSE:
        return Wording("noun", _CONVERSE[own.text])
    return own


def _is_back(path: PropertyPath, i: int) -> bool:
    return i > 0 and path.steps[i].inverts(path.steps[i - 1])


def _quoted_topic(topic: str) -> str:
    if len(topic.split()) <= 5 and not re.search(r"[?!:;,]", topic):
        return topic
    return f'"{topic}"' if '"' not in topic else f"'{topic}'" if "'" not in topic else topic


def _object_phrase(of: _Phrase, words: Wording, kind: str, other: str, *, are_many: bool) -> _Phrase:
    if words.form == "noun":
        noun = plural(words.text) if are_many else words.text
        return _Phrase(f"the {other}{noun} of {of.text}", noun != singular(noun))
    things = plural(kind or "thing") if are_many else kind or "thing"
    rest = _agreeing_verb(words.text, plural_=of.is_plural)
    if words.form != "verb":
        be = _form_of_be(words.text, plural_=of.is_plural)
        rest = f"{be} {_with_article(words.text)} of" if words.form == "of" else f"{be} {words.text}"
    return _Phrase(f"the {other}{things} that {of.text} {rest}", are_many)


def _subject_phrase(of: _Phrase, words: Wording, kind: str, other: str) -> _Phrase:
    what = f"the {other}{plural(kind or 'thing')}"
    text = {
        "noun": f"{what} whose {singular(words.text)} is {of.one}",
        "of": f"the {other}{plural(words.text)} of {of.one}",
        "passive": f"{what} {words.text} {of.one}",
        "verb": f"{what} that {_agreeing_verb(words.text, plural_=True)} {of.one}",
    }[words.form]
    return _Phrase(text, is_plural=True)


def _question_word(kind: str, several: bool, *, is_back: bool) -> str:
    if kind:
        return f"which {'other ' * is_back}{plural(kind) if several else kind}"
    return f"what{' else' * is_back}"


def _ask_for_objects(of: _Phrase, words: Wording, kind: str, several: bool, *, is_back: bool) -> str:
    other = "other " * is_back
    if words.form == "noun":
        noun = plural(words.text) if several else words.text
        who = "who" if is_person(kind or words.text) else "what"
        return f"{who} {'are' if noun != singular(noun) else 'is'} the {other}{noun} of {of.text}?"
    if words.form == "verb":
        things = f"the {other}{plural(kind) if several else kind}" if kind else f"everything{' else' * is_back}"
        return f"name {things} that {of.text} {_agreeing_verb(words.text, plural_=of.is_plural)}."
    if words.form == "of":
        what = _question_word(kind, several, is_back=is_back)
        return f"{what} {_form_of_be('', plural_=of.is_plural)} {of.text} {_with_article(words.text)} of?"
    is_who = is_person(kind) and words.text.endswith(" by")
    what = f"who{' else' * is_back}" if is_who else _question_word(kind, several, is_back=is_back)
    return f"{what} {_form_of_be(words.text, plural_=of.is_plural)} {of.text} {words.text}?"


def _ask_for_subjects(of: _Phrase, words: Wording, kind: str, several: bool, *, is_back: bool) -> str:
    what, are_many = _question_word(kind, several, is_back=is_back), several and bool(kind)
    if words.form == "noun" and of.is_plural and is_person(kind) and not is_back:
        return f"whose {singular(words.text)} is {of.one}?"
    if words.form == "of":
        noun, who = plural(words.text) if several else words.text, "who" if is_person(kind or words.text) else "what"
        return f"{who} {'are' if several else 'is'} the {'other ' * is_back}{noun} of {of.one}?"
    if words.form == "noun":
        return f"{what} {'have' if are_many else 'has'} {of.one} as {singular(words.text)}?"
    if words.form == "passive":
        return f"{what} {_form_of_be(words.text, plural_=are_many)} {words.text} {of.one}?"
    return f"{what} {_agreeing_verb(words.text, plural_=are_many)} {of.one}?"


def _with_article(noun: str) -> str:
    """Write a noun as it stands after *is*.

    >>> _with_article("subclass"), _with_article("part"), _with_article("instance")
    ('a subclass', 'part', 'an instance')
    """
    return noun if noun in {"part", "capital", "author"} else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _form_of_be(text: str, *, plural_: bool) -> str:
    """Choose a form of *be*: in the past for what has been done, else in the present."""
    is_past = text.endswith(" by") or text.startswith("born ")
    return ("were" if plural_ else "was") if is_past else ("are" if plural_ else "is")


def _agreeing_verb(text: str, *, plural_: bool) -> str:
    """Make a verb in the present agree with its subject; leave others as they are.

    >>> _agreeing_verb("belongs to", plural_=True), _agreeing_verb("worked at", plural_=True)
    ('belong to', 'worked at')
    """
    first, _, rest = text.partition(" ")
    if plural_ and first.endswith("s") and not first.endswith("ss"):
        first = singular(first)
    return f"{first} {rest}".strip()
