"""What a graph states, and the English that says it: names, nouns of classes, and the phrases of each predicate.

All is read from the triples with pyoxigraph alone, so that a right answer owes nothing to what is measured.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyoxigraph as ox

K, V = TypeVar("K"), TypeVar("V")
Item = ox.NamedNode
Value = ox.NamedNode | ox.Literal

RDFS, SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
TYPE, SUBCLASS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", f"{RDFS}subClassOf"
LABELS = (
    f"{RDFS}label", f"{SKOS}prefLabel", "http://schema.org/name", "https://schema.org/name",
    "http://purl.org/dc/terms/title", "http://xmlns.com/foaf/0.1/name",
)  # fmt: skip
OTHER_NAMES = f"{SKOS}altLabel"
FEWEST_FACTS, FEWEST_ITEMS, MOST_RELATIONS = 5, 3, 16  # of a predicate; of a class; where a graph has many
PERSONS = frozenset(
    "person people human scientist writer author laureate artist songwriter producer actor actress director employee"
    " manager politician economist player singer composer".split()
)
PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women", "series": "series", "box": "boxes"}
ARTICLE = re.compile(
    r"(University|Academy|Kingdom|Republic|Nobel (Memorial )?Prize) (of|in) |Nobel Peace Prize |United |Netherlands|"
    r"(\w+ )*(Institute (of|for)|(National|Technical) University of) |\w+ (Republic|Union|Institution)$|"
    r".*( model| experiment| principle| equation| effect| formulation| cycle| movement| helix)$"
)  # names that take *the*


@dataclass(frozen=True)
class Verb:
    """A verb phrase that wants one more name: its finite forms for one and for many, its auxiliaries, and what is left.

    >>> was("born in").asks("Ada", "London"), did("work at").denies("Acme", many=True)
    ('Was Ada born in London?', 'did not work at Acme')
    """

    one: str
    many: str
    aux: tuple[str, str]
    bare: str
    bare_many: str = ""

    def says(self, name: str, *, many: bool = False) -> str:
        return f"{self.many if many else self.one} {name}"

    def denies(self, name: str, *, many: bool = False) -> str:
        return f"{self.aux[many]} not {(many and self.bare_many) or self.bare} {name}"

    def asks(self, who: str, name: str, *, many: bool = False) -> str:
        return f"{self.aux[many].capitalize()} {who} {self.bare} {name}?"


def was(bare: str) -> Verb:
    return Verb(f"was {bare}", f"were {bare}", ("was", "were"), bare)


def is_(bare: str, many: str = "") -> Verb:
    return Verb(f"is {bare}", f"are {many or bare}", ("is", "are"), bare, many)


def did(bare: str, past: str = "") -> Verb:
    """A verb in the past; ``past`` where it is not made by *-ed*."""
    base, _, rest = bare.partition(" ")
    said = f"{past or ed_form(base)} {rest}".strip()
    return Verb(said, said, ("did", "did"), bare)


def have(noun: str) -> Verb:
    return Verb(f"has the {noun}", f"have the {noun}", ("does", "do"), f"have the {noun}")


def ed_form(base: str) -> str:
    stem = f"{base[:-1]}i" if base.endswith("y") and base[-2] not in "aeiou" else base.removesuffix("e")
    return f"{stem}ed"


def plural(noun: str) -> str:
    """The plural of a noun phrase: of its head, which stands before *of*, or is the last word.

    >>> plural("place of birth"), plural("Nobel laureate"), plural("country"), plural("child")
    ('places of birth', 'Nobel laureates', 'countries', 'children')
    """
    head, of, rest = noun.partition(" of ")
    *before, last = head.split()
    made = PLURALS.get(last, "")
    if not made:
        made = f"{last[:-1]}ies" if last.endswith("y") and last[-2] not in "aeiou" else f"{last}s"
        made = f"{last}es" if last.endswith(("s", "x", "ch", "sh")) else made
    return " ".join([*before, made]) + of + rest


def a_(noun: str) -> str:
    """A noun with its indefinite article."""
    sounds_like_a_consonant = noun.lower().startswith(("uni", "eu", "one", "use"))
    return f"an {noun}" if noun[0].lower() in "aeiou" and not sounds_like_a_consonant else f"a {noun}"


def whose(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


@dataclass(frozen=True)
class Relation:
    """A predicate, what it states, and how people say it.

    :param noun: as in *the NOUN of X*; empty where the label is no noun.
    :param verb: said of the subject, with the object: *was born in*.
    :param back: said of the object, with the subject: *advised*.
    :param when: the participle or past with which its date is asked for: *born*, *died*.
    :param asks: questions for the object of ``{x}``.
    """

    predicate: Item
    label: str
    noun: str = ""
    verb: Verb | None = None
    back: Verb | None = None
    when: Verb | None = None
    asks: tuple[str, ...] = ()
    forward: Mapping[Item, frozenset[Value]] = field(default_factory=dict, repr=False)
    backward: Mapping[Value, frozenset[Item]] = field(default_factory=dict, repr=False)
    of_person: bool = False
    is_person: bool = False
    has_items: bool = True

    @property
    def head(self) -> str:
        """The word by which another predicate may mean nearly the same: *advisor* of *doctoral advisor*."""
        return (self.noun.partition(" of ")[0] or self.label).split()[-1]

    def says(self, name: str, *, many: bool = True) -> str:
        return self.verb.says(name, many=many) if self.verb else ""

    def denies(self, name: str) -> str:
        return self.verb.denies(name, many=True) if self.verb else ""

    @property
    def is_symmetric(self) -> bool:
        """Whether every third fact, or more, is stated the other way, too."""
        both = sum(o in self.forward and x in self.forward[o] for x in self.forward for o in self.forward[x])
        return self.has_items and 3 * both >= sum(map(len, self.forward.values()))

    def size_of(self, x: Item) -> float | None:
        """A number, a year with the part of it that has gone, or how many there are; ``None`` where it is not one."""
        if self.has_items:
            return len(self.forward[x])
        value, *more = self.forward[x]
        try:
            parts = value.value.split("-") if self.when else [value.value]
            return None if more else sum(float(part) / 20**i for i, part in enumerate(parts))
        except ValueError:
            return None

    def asked(self, name: str, *, many: bool = False) -> list[str]:
        """The ways to ask for what a subject is related to, to one thing or many."""
        noun, found = plural(self.noun) if many and self.noun else self.noun, [ask.format(x=name) for ask in self.asks]
        if self.when:
            return [*found, f"What is the {noun} of {name}?", f"What is {whose(name)} {noun}?"]
        if noun:
            who = f"{'Who' if self.is_person else 'What'} {'are' if many else 'is'}"
            found += [f"{who} the {noun} of {name}?", f"{who} {whose(name)} {noun}?", f"Tell me the {noun} of {name}."]
            found += [f"Who was the {noun} of {name}?"] * (self.is_person and self.of_person and not many)
        return found

    def whether(self, name: str, other: str, *, is_only: bool = True) -> list[str]:
        """The ways to ask whether a fact holds of two names; ``is_only``: of no third."""
        is_had = self.noun and self.verb and self.verb.bare.startswith("have ")
        found = [self.verb.asks(name, other)] if self.verb and not is_had else []
        if self.back:
            found.append(self.back.asks(other, name))
        if self.noun and self.noun != "nationality":
            found.append(f"Is {other} {f'the {self.noun}' if is_only else a_(self.noun)} of {name}?")
            found += [f"Is {whose(name)} {self.noun} {other}?"] * is_only
        return found

    def compared(self) -> list[tuple[str, bool]]:
        """The ways to compare ``{x}`` and ``{y}`` by what a predicate states, and whether each is said of the less."""
        who, noun = "Who" if self.of_person else "Which", self.noun or "thing"
        if self.has_items:
            does, many = "Did" if self.of_person else "Does", plural(noun)
            is_counted = noun in {"child", "spouse", "member", "author", "writer", "producer"}
            more, most = f"{does} {{x}} have more {many} than {{y}}?", f"{who} has more {many}, {{x}} or {{y}}?"
            return [(more, False), (most, False)] * is_counted
        if self.when is None:
            is_measure = noun.split()[-1] not in {"year", "id", "code", "position"}
            more, least = f"Does {{x}} have a higher {noun} than {{y}}?", f"Which has the lower {noun}, {{x}} or {{y}}?"
            return [(more, False), (least, True)] * is_measure
        lead = f"{self.when.aux[0].capitalize()} {{x}} {self.when.bare}"
        return [
            (f"{lead} before {{y}}?", True), (f"{who} {self.when.one} first, {{x}} or {{y}}?", True),
            (f"{lead} after {{y}}?", False), *(_AGES if self.when.bare == "born" else ()),
        ]  # fmt: skip


_AGES = (
    ("Is {x} older than {y}?", True), ("Who is younger, {x} or {y}?", False), ("Is {x} younger than {y}?", False),
)  # fmt: skip
_AGENTS = {
    "advisor": "advise", "author": "write wrote written", "writer": "write wrote written", "director": "direct",
    "producer": "produce", "composer": "compose", "founder": "found", "editor": "edit", "publisher": "publish",
    "employer": "employ", "supplier": "supply", "manager": "manage", "creator": "create",
}  # fmt: skip
_PAST = {
    "studied": "study", "worked": "work", "lived": "live", "died": "die", "graduated": "graduate",
    "taught": "teach", "played": "play", "competed": "compete", "starred": "star", "received": "receive",
}  # fmt: skip
_IS = frozenset("located based known named part situated related used eligible responsible compatible".split())
_PREPOSITIONS = "by|in|at|for|after|of|from|to|on|with"
_PARTICIPLES = r"\w+(?:ed|wn|en)|built|held|made|part|eligible|responsible|compatible"
_DATES = {
    r"(date|year) of birth|birth ?(date|year)": (was("born"), "When was {x} born?", "On what date was {x} born?"),
    r"(date|year) of death|death ?(date|year)": (did("die"), "When did {x} die?", "On what date did {x} die?"),
    r"(date|year) of foundation": (was("founded"), "When was {x} founded?", "In what year was {x} founded?"),
    r"(date|year) of publication": (was("published"), "When was {x} published?", "In what year was {x} published?"),
    r"release ?date|(date|year) of release": (was("released"), "When was {x} released?"),
}  # fmt: skip
_NOUNS: dict[str, tuple[Verb, *tuple[str, ...]]] = {
    r"place of birth|birth ?place": (was("born in"), "Where was {x} born?", "In which place was {x} born?"),
    r"place of death|death ?place": (did("die in"), "Where did {x} die?", "In which place did {x} die?"),
    "spouse": (was("married to"), "Who was {x} married to?", "To whom was {x} married?"),
    "nationality": (is_("a citizen of", "citizens of"), "Of which country is {x} a citizen?"),
    "country": (is_("in"), "In which country is {x}?", "Which country is {x} in?"),
    "capital": (have("capital"), "Which city is the capital of {x}?"),
    "child": (have("child"), "What children did {x} have?"),
}


def phrased(own: Relation) -> Relation | None:
    """A relation with what English has for a label like its; ``None`` where it has nothing natural."""
    text = re.sub(r"^(has|is) ", "", own.label)
    if not re.fullmatch(r"[a-z][a-z -]*([^s]| of [a-z ]+)", text) or len(text.split()) > 4:
        return None
    for pattern, (when, *asks) in _DATES.items():
        if re.fullmatch(pattern, text):
            return replace(own, noun=text, when=when, asks=tuple(asks))
    if not own.has_items:
        is_noun = not re.search(rf" ({_PREPOSITIONS})( the \w+)?( \w+)?$", f" {text}") or " of " in text
        is_short = all(len(value.value) < 60 for value in own.backward)
        return replace(own, noun=text) if is_noun and is_short and own.label == text else None
    for pattern, (verb, *asks) in _NOUNS.items():
        if re.fullmatch(pattern, text):
            of_person = own.of_person or verb.bare in {"born in", "die in", "married to", "a citizen of"}
            return replace(own, noun=text, verb=verb, asks=tuple(asks), of_person=of_person)
    return _of_agent(own, text) or _of_verb(own, text) or _of_noun(own, text)


def _of_agent(own: Relation, noun: str) -> Relation | None:
    """Nouns of those who do something: *doctoral advisor*, *author*."""
    if noun.rsplit(maxsplit=1)[-1] not in _AGENTS:
        return None
    base, past, participle = (*_AGENTS[noun.rsplit(maxsplit=1)[-1]].split(), "", "")[:3]
    past = past or ed_form(base)
    asks = (f"By whom was {{x}} {participle or past}?", f"Who {past} {{x}}?")
    return replace(own, noun=noun, verb=was(f"{participle or past} by"), back=did(base, past), asks=asks)


def _of_verb(own: Relation, text: str) -> Relation | None:
    """Labels that are verb phrases: *studied at*, *located in the city*, *received the award*."""
    first, _, rest = text.partition(" ")
    if first in _PAST:
        base = _PAST[first]
        if thing := re.fullmatch(r"the (\w+)", rest):
            asks = (f"Which {thing[1]} did {{x}} {base}?", f"What did {{x}} {base}?")
            return replace(own, verb=did(base, first), asks=asks)
        if re.fullmatch(_PREPOSITIONS, rest):
            where = f"Where did {{x}} {base}?" if rest in {"at", "in"} else f"What did {{x}} {base} {rest}?"
            return replace(own, verb=did(f"{base} {rest}", first), asks=(where,))
        return None
    if found := re.fullmatch(rf"({_PARTICIPLES}) ({_PREPOSITIONS})( the (\w+))?", text):
        participle, preposition, _, thing = found.groups()
        verb = (is_ if participle in _IS else was)(f"{participle} {preposition}")
        what = "whom" if own.is_person or preposition == "by" else f"which {thing}" if thing else "what"
        asks = (f"{preposition.capitalize()} {what} {verb.aux[0]} {{x}} {participle}?",)
        if preposition in {"in", "at"}:
            asks = (f"Where {verb.aux[0]} {{x}} {participle}?", *asks)
        return replace(own, verb=verb, asks=asks)
    return None


def _of_noun(own: Relation, noun: str) -> Relation | None:
    """Any other noun: it is had."""
    if re.search(rf"\b({_PREPOSITIONS})( the \w+)?$", noun) or re.match(r"\w+(ed|s|en) (?!of)", f"{noun} ."):
        return None
    return replace(own, noun=noun, verb=have(noun), asks=(f"What {noun} does {{x}} have?",))


@dataclass(frozen=True)
class Noun:
    """A class, and what its members are called."""

    term: Item
    one: str
    members: frozenset[Item] = field(repr=False)
    is_person: bool

    @property
    def many(self) -> str:
        return plural(self.one)

    @property
    def who(self) -> str:
        return "who" if self.is_person else "that"


class Facts:
    """The facts of a file of RDF between things that have names."""

    def __init__(self, path: Path) -> None:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        self.store = ox.Store()
        form = ox.RdfFormat.from_extension(path.name.removesuffix(".gz").rpartition(".")[2]) or ox.RdfFormat.TURTLE
        self.store.load(data, format=form)
        self.labels: dict[Item, str] = {}
        named: set[tuple[str, Item]] = set()
        for predicate in (*LABELS, OTHER_NAMES):
            for subject, name in self.stated(predicate):
                if isinstance(name, ox.Literal) and (name.language or "en").startswith("en"):
                    named.add((name.value.lower(), subject))
                    if predicate != OTHER_NAMES:
                        self.labels[subject] = min(self.labels.get(subject, name.value), name.value)
        self._holders = Counter(name for name, _ in named)

    def stated(self, predicate: str) -> Iterator[tuple[Item, Value]]:
        """The facts of a predicate whose subject has an IRI, and whose object is no blank node."""
        for quad in self.store.quads_for_pattern(None, Item(predicate), None):
            if isinstance(quad.subject, Item) and isinstance(quad.object, Item | ox.Literal):
                yield quad.subject, quad.object

    def label(self, term: Value) -> str:
        """The name of a term; of one without a label the words of its IRI."""
        if isinstance(term, ox.Literal):
            return term.value
        local = re.split(r"[/#:]", term.value.rstrip("/#")).pop()
        return self.labels.get(term, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", local).replace("_", " "))

    def said(self, gold: frozenset[Value] | int) -> str:
        """A right answer in words."""
        if isinstance(gold, int):
            return {"True": "yes", "False": "no"}.get(str(gold), str(gold))
        return "; ".join(sorted(map(self.label, gold))) or "nothing"

    def name(self, term: Value) -> str:
        """A name as it stands in a sentence."""
        label = self.label(term)
        return f"the {label}" if ARTICLE.match(label) else label

    @cached_property
    def broader(self) -> dict[Item, frozenset[Item]]:
        """The classes above each class, itself among them."""
        above: dict[Item, set[Item]] = defaultdict(set)
        for narrow, broad in self.stated(SUBCLASS):
            if isinstance(broad, Item):
                above[narrow].add(broad)
        found = {}
        for term in list(above):
            seen, todo = {term}, [term]
            while todo:
                new = above.get(todo.pop(), set()) - seen
                seen |= new
                todo += new
            found[term] = frozenset(seen)
        return found

    @cached_property
    def types(self) -> dict[Item, frozenset[Item]]:
        """The classes of each thing, with those above them."""
        found: dict[Item, set[Item]] = defaultdict(set)
        for thing, own in self.stated(TYPE):
            if isinstance(own, Item):
                found[thing] |= self.broader.get(own, {own})
        return {thing: frozenset(own) for thing, own in found.items()}

    @cached_property
    def nouns(self) -> list[Noun]:
        """The classes that a question may name, the largest first; none of RDF's own."""
        members: dict[Item, set[Item]] = defaultdict(set)
        for thing, own in self.types.items():
            for term in own:
                members[term].add(thing)
        said = Counter(self.label(term).lower() for term in [*members, *map(Item, self.predicates)])
        found = []
        for term, things in members.items():
            one = self.label(term) if term in self.labels else self.label(term).lower()
            words = {self.label(own).lower().split()[-1] for own in self.broader.get(term, {term})}
            is_sayable = re.fullmatch(r"[A-Za-z]+( [A-Za-z]+){0,2}", one) and said[one.lower()] == 1
            if is_sayable and len(things) >= FEWEST_ITEMS and "w3.org" not in term.value:
                one = one if " " in one or not one.istitle() else one.lower()
                found.append(Noun(term, one, frozenset(things), bool(words & PERSONS)))
        return sorted(found, key=lambda own: (-len(own.members), own.term.value))

    @cached_property
    def predicates(self) -> list[str]:
        return sorted({quad.predicate.value for quad in self.store})

    def is_good(self, term: Value) -> bool:
        """Whether a name stands for one thing alone, and for nothing else that a sentence may say."""
        if not isinstance(term, Item) or term not in self.labels or term in self._words:
            return False
        label = self.labels[term]
        is_plain = re.fullmatch(r"[\w.,'’–-]+( [\w.,'’–-]+)*", label) and not re.search(
            r", [^A-Z]| (and|or|but) ", label
        )
        is_alone = self._holders[label.lower()] == 1 and label.lower() not in self._schema_words
        return bool(is_plain) and is_alone and 2 < len(label) < 45 and "_" not in label and not label.isdecimal()

    def is_clear(self, term: Value, own: Relation) -> bool:
        """Whether a name is good, is not of a whole, and nothing is stated of it with nearly the same predicate."""
        found, rivals = self.store.quads_for_pattern, map(Item, self._rivals[own.head] - {own.predicate.value})
        return self.is_good(term) and term not in self._wholes and not any(
            next(found(*at), None) is not None for p in rivals for at in ((term, p, None), (None, p, term))
        )  # fmt: skip

    @cached_property
    def _rivals(self) -> dict[str, set[str]]:
        return defaultdict(set, {
            head: {p for p in self.predicates if f' {self.label(Item(p)).lower()}'.endswith(f' {head}')}
            for head in {own.head for own in self.relations}
        })  # fmt: skip

    @cached_property
    def _wholes(self) -> set[Value]:
        return {o for own in self.relations if own.label.startswith("part of") for o in own.backward}

    @cached_property
    def _words(self) -> frozenset[Item]:
        return frozenset([*(own for classes in self.types.values() for own in classes), *map(Item, self.predicates)])

    @cached_property
    def _schema_words(self) -> frozenset[str]:
        labels = [self.label(term).lower() for term in self._words]
        return frozenset([*labels, *(word for label in labels for word in label.split())])

    @cached_property
    def relations(self) -> list[Relation]:
        """The largest predicates that English has a phrase for, and no other the same one."""
        said, found = Counter(self.label(Item(p)).lower() for p in self.predicates), []
        for predicate in self.predicates:
            facts = [] if "w3.org" in predicate else sorted(self.stated(predicate), key=str)
            n_items = sum(isinstance(o, Item) for _, o in facts)
            label = self.label(Item(predicate)).lower()
            is_mixed = n_items not in {0, len(facts)} or said[label] > 1
            if len(facts) < FEWEST_FACTS or is_mixed or predicate in {*LABELS, OTHER_NAMES}:
                continue
            own = phrased(Relation(
                Item(predicate), label, has_items=n_items > 0, forward=grouped(facts),
                backward=grouped((o, x) for x, o in facts),
                of_person=self.are_persons(x for x, _ in facts), is_person=self.are_persons(o for _, o in facts),
            ))  # fmt: skip
            if own is not None:
                found.append(own)
        found.sort(key=lambda own: (-len(own.forward), own.predicate.value))
        return found[:MOST_RELATIONS] if len(found) > 2 * MOST_RELATIONS else found

    def are_persons(self, terms: Iterable[Value]) -> bool:
        some = list(terms)
        persons = {own.term for own in self.nouns if own.is_person}
        return sum(isinstance(t, Item) and bool(self.types.get(t, frozenset()) & persons) for t in some) * 2 > len(some)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, frozenset[V]]:
    """The second members by the first."""
    found: dict[K, set[V]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return {key: frozenset(values) for key, values in found.items()}
