"""What a question asks, made once of its words: what planner, path search, lists for a model and doubts read.

It has two holes that a graph fills: a :class:`NounPhrase` is a set that is not chosen yet, a :class:`Predication` a
step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass
from kgsparql.linking.words import root
from kgsparql.rdf.terms import Term, first_of, zip_equal
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.clauses import (
    READ_ALOUD,
    Alternatives,
    Chunk,
    Comparative,
    NounPhrase,
    Predication,
    Restriction,
    Summary,
    Superlative,
    places_of,
    positions_in,
    relations,
)
from kgsparql.reading.lexicon import Lexicon, lexicon

Link = tuple[OneOf["of", "kind", "value", "subject", "object", "by", "prep", "any"], tuple[int, ...]]
"""The role of an argument in its clause, and the positions of the words that say what it has to do with the rest.

A ``kind`` is that of which the kinds are asked for."""


Asks = OneOf["set", "count", "ask", "choose", "compare", "share", "difference"]
"""What is asked: which, how many, whether, which of two, whether one has more than another, what percentage, how much
more: of one, by ``comparative``, than of the other; without, of two sets, or of what belongs to each of two."""

_SHORT = 3  # letters of a word that may well be there twice
_CLAUSES = ("phrase", "said", "choices", "comparative", "other", "measured", "each", "columns")
"""The fields of a form that have words."""


@dataclass(frozen=True)
class Form:
    """A question as it was read.

    :param read: its words, with the names and classes among them.
    :param phrase: what is asked for; of ``ask``, what something is said of; of ``compare``, the first of the two.
    :param said: of ``ask``, what is said of the phrase; of ``share``, what is true of a part of it.
    :param each: of which something is asked one by one: ``How many films did each director make?``.
    :param columns: what is asked of the phrase besides, or of each: ``their names and prices``.
    :param choices: of ``choose``, a phrase with the choices as parts.
    :param other: of ``compare``, the second of the two; ``comparative`` is what is compared, ``measured`` the positions
        of the noun (``more children than``) and ``summary`` how several values become one.
    :param order: in which order the answers are asked for: ``newest first``, ``by price``.
    :param asks_value: it asks for what is measured, too: ``and how many``.
    :param digits: to how many digits numbers are rounded. :param unit: that a difference is asked in: ``year``.
    :param is_definition: it asks what or who something is: ``Who is Ann?``.
    :param is_listing: it asks for a list: ``List the films with their years``.
    :param asks_fields: it asks for the columns alone: ``the names and ages of the singers``.
    :param asks_existence: it asks whether there is any such thing.
    :param measures: words for what ``how long``, ``how old`` ask for.
    :param closing: words for what ``made of``, ``used for`` ask for, at the end.
    :param other_names: what this is called besides is asked for, or whether that is so: ``Is Ann also called Bea?``.
    :param unread: positions of content words that are in no clause.
    :param pronouns: positions of ``its``, ``she``: whom they mean is not known.
    """

    read: Chunked
    asks: Asks = "set"
    phrase: NounPhrase = NounPhrase()
    said: tuple[Restriction, ...] = ()
    each: NounPhrase | None = None
    columns: tuple[NounPhrase, ...] = ()
    choices: NounPhrase | None = None
    other: NounPhrase | None = None
    comparative: Comparative | None = None
    measured: tuple[int, ...] = ()
    summary: Summary | OneOf[""] = ""
    order: Superlative | None = None
    asks_value: bool = False
    digits: int | None = None
    unit: str = ""
    is_definition: bool = False
    is_listing: bool = False
    asks_fields: bool = False
    asks_existence: bool = False
    measures: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    other_names: NounPhrase | None = None
    unread: tuple[int, ...] = ()
    pronouns: tuple[int, ...] = ()

    @property
    def language(self) -> Lexicon:
        """The words of the language that it is read in."""
        return lexicon()

    # --- Its phrases, and their words

    @property
    def texts(self) -> tuple[str, ...]:
        """Its words, as they are compared."""
        return self.read.texts

    @cached_property
    def phrases(self) -> list[NounPhrase]:
        """All noun phrases, those within others, too."""
        waiting: list[NounPhrase | Predication | None] = [self.phrase, *relations(self.said)]
        waiting += [self.choices, self.other, self.each, *self.columns]
        found = []
        while waiting:
            one = waiting.pop()
            if isinstance(one, NounPhrase):
                found.append(one)
                waiting += [*one.parts, *relations(one.restrictions), one.of]
            elif one is not None:
                waiting += [one.subject, one.object, one.whose, *(phrase for _, phrase in one.more)]
                waiting += relations(one.said)
        return found

    @property
    def place_in_list(self) -> tuple[int, int] | None:
        """The word that says which of several in their order is asked for, and which that is; -1 for the last."""
        texts, own = self.texts, self.language
        for phrase in self.phrases:
            if (one := phrase.superlative) is not None and texts[one.position] in own.last_words and one.number == 1:
                return one.position, -one.rank if one.is_largest else one.rank - 1
            for place in (p for chunk in phrase.chunks if not chunk.is_name for p in chunk.span):
                if texts[place] in own.ordinals:
                    return place, own.ordinals[texts[place]] - 1
        return None

    @property
    def positions(self) -> set[int]:
        """The positions of all words that stand in a clause."""
        return positions_in(tuple(getattr(self, name) for name in _CLAUSES))

    def words(self, positions: Iterable[int]) -> str:
        """Return some words, side by side."""
        return " ".join(self.texts[p] for p in positions)

    @cached_property
    def relations(self) -> list[Predication]:
        """Everything that is said of anything."""
        phrases = (phrase.restrictions for phrase in self.phrases)
        return [one for some in (self.said, *phrases) for one in _all_said(some)]

    @cached_property
    def pieces(self) -> list[tuple[int, ...]]:
        """The words of each noun phrase and verb, side by side; so is each word that is in no clause."""
        nouns = (tuple(p for own in phrase.chunks for p in own.span) for phrase in self.phrases)
        verbs = (one.verb for one in self.relations)
        alone = ((p,) for p in self.unread)
        return sorted({piece for piece in chain(nouns, verbs, alone, [self.measured]) if piece})

    def tells(self, position: int) -> bool:
        """Whether a word says what is asked: no function word, light verb, title, initial or adverb."""
        text, own = self.texts[position], self.language
        is_initial = len(text) == 1 and not text.isdecimal()
        return not (text in own.light_words or is_initial or own.is_adverb(text))

    @cached_property
    def content(self) -> list[int]:
        """The positions of all words that say what is asked, those of names too."""
        return [*filter(self.tells, range(len(self.texts)))]

    # --- Which kind of thing

    @property
    def sort(self) -> str:
        """What the question word asks for: a key of the question words of the lexicon."""
        return str(self.language.question_words.get(self.phrase.asked, ""))

    @property
    def noun(self) -> tuple[int, ...]:
        """The positions of the noun that is asked for: `films` of `which films`, and of `the films of Ann`."""
        return tuple(p for own in self.phrase.chunks if not own.is_name for p in own.span)

    @property
    def asks_time(self) -> bool:
        """Whether it asks when, or in which year."""
        is_noun = not self.language.time_nouns.isdisjoint(self.words(self.noun).split())
        return self.sort == "time" or (self.sort == "any" and is_noun)

    @property
    def bound(self) -> str:
        """The word before `when` that says that a time begins or ends then: `since`, `until`; empty where none does."""
        own, texts = self.language, self.texts
        times = (p for p, text in enumerate(texts) if p and own.question_words.get(text) == "time")
        return next((texts[p - 1] for p in times if texts[p - 1] in own.starting | own.ending), "")

    @property
    def asks_amount(self) -> bool:
        """Whether it asks for a number that is no number of things: how long, how much."""
        return bool(self.measures) or (self.asks == "count" and not self.phrase.chunks)

    @property
    def asks_what_one_does(self) -> bool:
        """Whether it asks what somebody does, and says no more of it."""
        is_bare = self.sort == "any" and not self.phrase.chunks
        return is_bare and any(one.light == "do" and not one.verb and one.object is None for one in self.relations)

    @property
    def kind(self) -> str:
        """What is asked for, to be compared with names of classes; empty where nothing says it.

        >>> from kgsparql.reading.parser import read_question
        >>> texts = "Which films are new?", "Who is it?", "Who does?"
        >>> [read_question(Chunked.of(text)).kind for text in texts]
        ['films', 'person', 'person']
        """
        own, noun = self.language, self.words(self.phrase.kinds[:1] or self.noun)  # the `kind` of film
        if self.asks_what_one_does or not (noun or own.renowned.isdisjoint(self.texts)):
            return str(own.sorts["job"][0])
        if self.sort in own.sorts:
            return str(own.sorts[self.sort][0])
        if noun in own.identity_nouns and self.phrase.of is not None:
            noun = self.words(p for one in self.phrase.of.chunks if not one.is_name for p in one.span) or noun
        noun = noun if own.word_nouns.isdisjoint(noun.split()) else ""  # `a few words` are of no kind
        return noun or ("number" if self.asks == "count" else "")

    @property
    def asks_for_others(self) -> bool:
        """Whether it asks for what has something in common with the thing it names.

        It has a word for that, such as `same`, or one word twice: `films directed by the director of Jaws`.
        """
        names = self.read.named
        texts = [text for p, text in enumerate(self.texts) if p not in names]
        said = [text for text in texts if len(text) > _SHORT and text not in self.language.empty_words]
        roots = {(root(text), text[:_SHORT]) for text in said}  # to speak a language is no word twice
        return len(said) > len(roots) or not self.language.others.isdisjoint(texts)

    @property
    def asks_what_it_is(self) -> bool:
        """Whether it asks only what the one thing is that it names: `What is radium?`, `Explain radium`."""
        own = self.language
        names = places_of(one for one in self.read.chunks if one.entities or one.classes)
        texts = {text for p, text in enumerate(self.texts) if p not in names}
        is_definition = self.is_definition and texts.isdisjoint(own.prepositions | own.kinds)
        if is_definition:
            return texts <= own.light_words
        return not texts.isdisjoint(own.explaining) and texts <= own.function_words | own.explaining

    def parts(self) -> list[str]:
        """Split one of several: `Who wrote Jaws and when was it released?`; one where it is only one."""
        read, own, taken = self.read, self.language, places_of(self.read.chunks)
        places = (p for p in range(1, len(read.texts) - 1) if read.texts[p] in own.and_words and p not in taken)
        cuts = [p for p in places if read.texts[p + 1] in own.question_words]
        spans = zip_equal([0, *(p + 1 for p in cuts)], [*cuts, len(read.texts)])
        return [read.text_of(start, end) for start, end in spans if start < end]

    # --- What is to be computed

    def operations(self) -> Iterator[tuple[str, str]]:
        """Tell what is to be computed: the words that ask for it, and what that is, after `this asks`."""
        own, texts = self.language, self.texts
        is_number = self.phrase.of is not None and self.words(self.noun) in own.count_words
        if self.asks == "count" or is_number:
            yield self._said_by(own.amounts | own.count_words | own.how_words) or "how many", "how many there are"
        elif self.asks == "ask":
            yield "yes or no", "for yes or no"
        elif self.asks != "set":
            yield self._said_by(own.or_words | own.than_words), "for a comparison"
        if self.phrase.asked in own.reasons:
            yield self.phrase.asked, "for a reason"
        phrases, compares = self.phrases, own.value_prepositions
        for phrase in phrases:
            marks = [one[0] for one in (phrase.most, phrase.summary) if one]
            marks += [phrase.superlative.position] if phrase.superlative else []
            marks += [p for one in phrase.chunks if not one.is_name for p in one.span if texts[p] in own.ordinals]
            yield from ((texts[p], f"for the {texts[p]}") for p in marks)
            if phrase.quantity is not None:
                yield self.words(phrase.quantity.positions), "for a comparison"
            is_either = phrase.joined_by == "or" and all(part.head and part.head.is_name for part in phrase.parts)
            if is_either or any(isinstance(one, Alternatives) for one in phrase.restrictions):
                yield self._said_by(own.or_words), "for one or the other"
        for one in self.relations:
            is_number = one.object is not None and one.object.head is not None and one.object.head.number is not None
            if one.compared is not None:
                yield texts[one.compared.position], "for a comparison"
            elif is_number and compares.get(one.preposition, "=") != "=":
                yield one.preposition, "for a comparison"
        yield from (
            (texts[p], f"for the {texts[p]}") for p in self.unread if texts[p] in {*own.superlatives, *own.amounts}
        )
        said = f" {' '.join(texts)} "
        yield from ((one, "for a total") for one in own.sum_phrases if f" {one} " in said)
        if self.order is not None:
            yield self.read.raw[self.order.position], "for an order"
        if any(one.is_negated for one in phrases) or any(one.is_negated for one in self.relations):
            yield self._said_by(own.negations), "for what is not so"

    def _said_by(self, some: frozenset[str]) -> str:
        return " ".join(text for text in self.texts if text in some)

    # --- What has to do with a thing

    def said_by(self, link: Link) -> list[str]:
        """List the words of a link, the head first; of kinds, what a class in another one is called."""
        role, said = link
        return [*self.language.sorts["kind"]] if role == "kind" else [self.texts[p] for p in reversed(said)]

    def is_shared(self, links: Sequence[Link]) -> bool:
        """Tell whether a thing that is joined so is what others share, and none of them: `who shared the prize`."""
        role, said = links[0] if links else ("any", ())
        return role == "object" and not self.language.share_verbs.isdisjoint(self.texts[p] for p in said)

    def owned_nouns(self, links: Iterable[Link]) -> list[tuple[int, ...]]:
        """List the nouns of a chain of possessions, each of which is a step: `place of birth` is one."""
        none, texts = self.language.identity_nouns | self.language.facets, self.texts
        return [said for role, said in links if role == "of" and not none.issuperset(texts[p] for p in said)]

    def links_from(self, term: Term) -> list[Link]:
        """How the clauses join a thing that is named with what is asked for, from the name outwards.

        Of `the nation of Ann's mother`: Ann's are `mother`, and whose these are `nation`.
        """
        above = dict[int, tuple[NounPhrase, Link]]()
        phrases = list(self.phrases)
        found_in = (one for one in self.read.chunks if term in (*one.classes, *(name.term for name in one.entities)))
        named = places_of(found_in)
        for phrase in phrases:
            own = tuple(p for one in phrase.chunks if named.isdisjoint(one.span) for p in one.span)
            if phrase.of is not None:
                above[id(phrase.of)] = (phrase, ("of", own))
            said = [*phrase.restrictions, *(self.said if phrase is self.phrase else [])]
            for one in relations(said):
                for role, other in self._arguments_of(one):
                    link: Link = (role, one.verb) if one.verb else ("of" if own else "any", own)
                    if role == "object" and one.light == "have":  # who has a child is not of it: it is theirs
                        link = "value", tuple(p for chunk in other.chunks for p in {*chunk.span} - named)
                    elif role == "object" and one.light == "be" and not one.verb:  # who is a citizen is the same
                        link = "any", ()
                    above[id(other)] = (phrase, link)
            above.update({id(part): (phrase, ("any", ())) for part in phrase.parts})
        at = first_of(p for p in phrases if any(not named.isdisjoint(one.span) for one in p.chunks))
        phrase, there = self.phrase, self.language.existence_words  # which instruments are there
        asks_kinds = phrase.kinds or (phrase.asked in self.language.relatives and self.texts[-1] in there)
        found: list[Link] = [("kind", phrase.kinds)] if at is phrase and asks_kinds else []
        while at is not None and id(at) in above:
            at, link = above.pop(id(at))
            found += [link] if link[1] else []
        return found

    def _arguments_of(self, said: Predication) -> Iterator[tuple[OneOf["subject", "object", "by", "prep"], NounPhrase]]:
        """List the phrases by which something is said of another one, each with its role."""
        by = self.language.by_words
        if said.subject is not None:
            yield ("object" if said.is_passive and said.preposition in by else "subject"), said.subject
        for preposition, other in ((said.preposition, said.object), *said.more):
            if other is not None:
                yield ("by" if preposition in by else "prep" if preposition else "object"), other
        for one in _all_said(said.said if said.whose is not None else []):
            yield from self._arguments_of(one)


def _all_said(restrictions: Sequence[Restriction]) -> Iterator[Predication]:
    """All that is said, what is said of `whose` nouns, too."""
    for one in relations(list(restrictions)):
        yield one
        yield from _all_said(one.said)


# --- The clauses of a question as lines that a person can read


def described(question: Form) -> list[str]:
    """Write the clauses of a question: what it asks, then each field, clauses in it in brackets; names in ‹›.

    >>> from kgsparql.reading.parser import read_question
    >>> described(read_question(Chunked.of("What is the capital of his country?")))
    ['asks: set', 'phrase: what capital of country', 'pronouns: his']
    """
    fields = {name: getattr(question, name) for name in ("asks", *_CLAUSES, "unread", "pronouns")}
    return [f"{name}: {text}" for name, own in fields.items() if (text := _clause_text(own, question.read.texts))]


def _clause_text(value: Any, texts: Sequence[str]) -> str:
    """Write a clause, or what is in one: numbers are positions of words."""
    match value:
        case str():
            return value
        case None | bool():
            return ""
        case int():
            return texts[value]
        case Chunk(text=text):
            return f"‹{text}›" if value.entities else f"<{text}>" if value.classes else text
        case tuple():
            return " ".join(filter(None, (_inner_text(one, texts) for one in value)))
    own = {name: getattr(value, name) for name in READ_ALOUD[type(value)].split()}
    said = (name.removeprefix("is_") if one is True else _inner_text(one, texts) for name, one in own.items())
    return " ".join(filter(None, said))


def _inner_text(value: Any, texts: Sequence[str]) -> str:
    text = _clause_text(value, texts)
    is_clause = type(value) in READ_ALOUD and not (text.startswith("‹") and text.endswith("›"))
    return f"({text})" if is_clause and " " in text else text
