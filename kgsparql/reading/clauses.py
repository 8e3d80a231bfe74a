"""What a question says: noun phrases, what is said of each, and what is asked; words are positions of tokens.

A reading binds arguments by syntax alone: who does what to whom, what belongs to what. Which predicate of a graph is
meant, and which way it is followed, is decided where the graph is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeAlias
from typing import Literal as OneOf

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.english_forms import singular
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.reading.gaps import Gap

Comparison = OneOf["=", "!=", "<", "<=", ">", ">="]
Light = OneOf["", "be", "have", "do"]
TextPlace = OneOf["CONTAINS", "STRSTARTS", "STRENDS"]
Summary = OneOf["sum", "avg", "min", "max"]


@frozen
class Name:
    """A term that some words may name.

    :param score: how likely they name it, in [0, 1].
    :param degree: how many triples it is in, where that is known.
    :param calls: the predicate by which it is what blank nodes are called: these are meant, and not the text.
    """

    term: IRI | Literal
    label: str
    score: float = 1.0
    degree: int = 0
    calls: IRI | None = None


@frozen
class Chunk:
    """Words side by side: a name, a class, a number, or a plain word.

    :param start: token it begins with, as ``end`` is the one after it.
    :param entities: what it may name, the likeliest first: entities and texts of the graph.
    :param classes: the classes it may name, the likeliest first.
    :param is_fuzzy: the names are like the words, but not the same.
    :param predicates: that are called just so, where the name is one of several words.
    :param date: a day, a month or a time: ``14 March 1879``. :param last: the other end of a range: 1959 of ``1950s``.
    :param unit: the sign of that of a number. :param problem: why the value cannot be taken, or is to be doubted: a
        sentence with places for the values after it. Where it cannot, there is neither number nor date. Of a class: why
        it may not be all that is of the class which is meant.
    :param is_strong: it can be nothing but a name: several words, a capital, digits.
    """

    start: int
    end: int
    text: str
    entities: tuple[Name, ...] = ()
    classes: tuple[IRI, ...] = ()
    number: Decimal | None = None
    is_fuzzy: bool = False
    is_strong: bool = False
    predicates: tuple[IRI, ...] = ()
    date: Literal | None = None
    last: Decimal | Literal | None = None
    unit: str = ""
    problem: Gap | None = None

    @property
    def span(self) -> range:
        """The positions of its tokens."""
        return range(self.start, self.end)

    @property
    def is_value(self) -> bool:
        """Whether it is a number or a date."""
        return self.number is not None or self.date is not None

    @property
    def is_clock(self) -> bool:
        """Whether it is a time of day."""
        return self.date is not None and self.date.datatype.value.endswith("#time")

    @property
    def may_be_years(self) -> bool:
        """Whether it has the form of a year, or is a range."""
        is_year = self.text.isdecimal() or self.last is not None
        return is_year and self.number is not None and 1000 <= self.number < 10_000

    @property
    def texts_of_each(self) -> tuple[Name, ...]:
        """The texts that it has in the plural, for all that have one: ``librarians``, whose job is ``librarian``."""
        text, one = self.text.lower(), singular(self.text.lower())
        return tuple(own for own in self.entities if isinstance(own.term, Literal) and own.label.lower() == one != text)

    @property
    def kinds_of_each(self) -> tuple[Name, ...]:
        """The things in the plural that it names as the kind of others: ``reels``, whose category is Reels."""
        one = singular(self.text)
        own = [name for name in self.entities if isinstance(name.term, IRI) and name.label.lower() in {self.text, one}]
        return tuple(own) if self.text != one and self.text.islower() else ()

    @property
    def is_name(self) -> bool:
        """Whether it can be nothing but the name of an entity, or of a text."""
        return self.is_strong and bool(self.entities)


@frozen
class Superlative:
    """``largest``, ``second oldest``, ``top 5``.

    :param measures: words for what is measured, the likeliest first; empty where the adjective tells nothing.
    :param words: positions of those that say it: ``ordered by number of members``.
    :param rank: 2 of ``second``. :param number: 5 of ``top 5``. :param is_share: the number is of a hundred.
    """

    position: int
    is_largest: bool
    measures: tuple[str, ...] = ()
    rank: int = 1
    number: int = 1
    is_share: bool = False
    words: tuple[int, ...] = ()


@frozen
class Quantity:
    """A value that something is compared with: ``more than 100`` of ``more than 100 servings``.

    :param value: the number, with its unit; the date; or the range.
    :param is_share: it is of a hundred: ``10 % of the books``.
    :param is_of_value: it stands after its noun, ``a price below 15``, whose value it is, not how many there are.
    :param place: of a text in quotation marks, where it is in what the noun names: ``a title that starts with "The"``.
    """

    comparison: Comparison
    value: Chunk
    positions: tuple[int, ...] = ()
    is_of_value: bool = False
    is_share: bool = False
    place: TextPlace | None = None

    @property
    def number(self) -> Decimal:
        """The number, or the first of a range."""
        return self.value.number or Decimal()


@frozen
class NounPhrase:
    """A noun phrase, as the parser makes it.

    :param chunks: in order, the head last: ``vegan recipes``, ``film Jaws``, ``doctoral advisor``.
    :param asked: its question word: ``which``, ``who``, ``where`` …; empty where it has none.
    :param of: whom it belongs to; ``of_form`` says how: ``of``, ``'s``, ``same`` (``the same genre as Jaws``).
    :param restrictions: what is said of it, in order; all of them hold.
    :param parts: phrases joined by ``joined_by``; where there are any, the phrase has nothing else.
    :param quantity: of ``more than 100 servings``. :param most: position and direction of ``the most servings``.
    :param summary: position and kind (``sum``, ``avg``, ``min``, ``max``) of ``the average price``.
    :param kinds: positions of ``kinds of``. :param same: positions of ``same``.
    :param every: position of ``all``, ``every``. :param is_both: all of the parts hold: ``both A and B``.
    :param is_each: something is asked of each of them: ``each department``. :param is_theirs: ``their prices``.
    """

    chunks: tuple[Chunk, ...] = ()
    asked: str = ""
    of: NounPhrase | None = None
    of_form: OneOf["", "of", "'s", "same"] = ""
    restrictions: tuple[Restriction, ...] = ()
    parts: tuple[NounPhrase, ...] = ()
    joined_by: OneOf["", "and", "or"] = ""
    superlative: Superlative | None = None
    quantity: Quantity | None = None
    most: tuple[int, bool] | None = None
    summary: tuple[int, Summary] | None = None
    kinds: tuple[int, ...] = ()
    same: tuple[int, ...] = ()
    is_negated: bool = False
    is_each: bool = False
    is_theirs: bool = False
    is_both: bool = False
    every: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.chunks or self.parts or self.of or self.asked)

    @property
    def head(self) -> Chunk | None:
        """The last chunk: what the phrase is about."""
        return self.chunks[-1] if self.chunks else None

    def restricted(self, *more: Restriction) -> NounPhrase:
        """Say more of it."""
        return replace(self, restrictions=(*self.restrictions, *more))

    @property
    def positions(self) -> set[int]:
        """Where its own words are, or those of its parts; not those of what it belongs to."""
        return places_of(self.chunks).union(*(part.positions for part in self.parts))


@frozen
class Predication:
    """A verb, preposition or copula with its arguments; the argument that is None is the phrase that it restricts.

    :param verb: positions of its content words; none where ``light`` or the preposition is all there is.
    :param preposition: that joins the argument: ``in`` of ``born in Paris``.
        Where subject and object are there, it joins the phrase that is restricted: ``What did Ann win a prize for?``
    :param light: the predicate is named by a noun, not by the verb: ``be``, ``have``, ``do``.
    :param more: further arguments of the same verb, each with its preposition: ``in 1921`` of ``won a prize in 1921``.
    :param is_only: it holds of the object and of nothing else: ``worked only at Jena``.
    :param whose: the noun of ``whose advisor was born in Bonn``; what is said of it is in ``said``.
    :param compared: ``older than Ann``, ``wider than 3``, ``born before Ann``: what is compared with is ``object``, or
        the quantity; of ``has more children than Ann``, ``verb`` has the noun, too.
    """

    verb: tuple[int, ...] = ()
    preposition: str = ""
    is_passive: bool = False
    light: Light = ""
    subject: NounPhrase | None = None
    object: NounPhrase | None = None
    more: tuple[tuple[str, NounPhrase], ...] = ()
    is_negated: bool = False
    whose: NounPhrase | None = None
    said: tuple[Restriction, ...] = ()
    compared: Comparative | None = None
    is_only: bool = False


@frozen
class Comparative:
    """``older``, ``wider``, ``more``: what is measured, and which way.

    :param measures: words for what is measured, the likeliest first; empty of ``more``.
    :param quantity: the number it is compared with; None where it is a phrase, or nothing: ``Is A or B older?``.
    :param event: positions of the verb of ``before Ann died``.
    :param own: words for another measure of the same thing: ``wider than they are tall``.
    """

    position: int
    comparison: Comparison
    measures: tuple[str, ...] = ()
    quantity: Quantity | None = None
    event: tuple[int, ...] = ()
    own: tuple[str, ...] = ()


@frozen
class Alternatives:
    """``died before 1930 or were born after 1950``: what is said in one of these branches holds."""

    branches: tuple[tuple[Restriction, ...], ...]


Restriction: TypeAlias = "Predication | Alternatives"


def places_of(chunks: Iterable[Chunk]) -> set[int]:
    """Collect the positions of the words of chunks."""
    return {place for chunk in chunks for place in chunk.span}


def relations(restrictions: Iterable[Restriction]) -> Iterator[Predication]:
    """All relations of restrictions, those in branches, too."""
    for one in restrictions:
        if isinstance(one, Predication):
            yield one
        else:
            for branch in one.branches:
                yield from relations(branch)


def with_argument_within(said: Predication, one: Predication, other: NounPhrase) -> Predication:
    """Say the same, with another argument in what restricts its object: ``had concerts in 2015``."""
    phrase = said.object or NounPhrase()
    within = tuple(replace(one, object=other) if own is one else own for own in phrase.restrictions)
    return replace(said, object=replace(phrase, restrictions=within))


def with_preposition(last: Predication, preposition: str, other: NounPhrase, is_negated: bool) -> Predication:
    """Say of another phrase what was said with another preposition: ``won it in 1921, but not in 1922``."""
    for one in last.object.restrictions if last.object is not None else ():
        # Had concerts in 2014, but not in 2015.
        if isinstance(one, Predication) and one.preposition == preposition != last.preposition:
            return replace(with_argument_within(last, one, other), is_negated=is_negated)
    is_transitive = last.object is not None and not last.preposition
    if is_transitive and any(said == preposition for said, _ in last.more):
        return replace(last, more=((preposition, other),), is_negated=is_negated)
    return replace(last, preposition=preposition, object=other, more=(), is_negated=is_negated, compared=None)


def is_adverb(relation: Predication) -> bool:
    """Tell whether a relation compares what it is said of: ``older``, ``born first``."""
    compared, other = relation.compared, relation.object
    is_extreme = other is not None and (other.superlative is not None or other.most is not None)
    return (compared is not None and other is None) or is_extreme


READ_ALOUD: Mapping[type, str] = {
    NounPhrase: "asked is_negated kinds same superlative most summary quantity joined_by parts chunks of_form of "
    "restrictions",
    Predication: "is_negated whose said subject is_passive verb light compared preposition object more",
    Alternatives: "branches",
    Comparative: "position quantity event",
    Quantity: "comparison positions",
    Superlative: "position",
}
"""The fields of a clause that have words, in the order in which they are read: positions, texts and other clauses."""


def positions_in(clause: Any) -> set[int]:
    """Collect the positions of the words of a clause, and of all that is in it.

    >>> sorted(positions_in(NounPhrase((Chunk(3, 5, "vegan recipes"),), kinds=(1,))))
    [1, 3, 4]
    """
    match clause:
        case Chunk():
            return set(clause.span)
        case bool() | str() | None:
            return set()
        case int():
            return {clause}
        case tuple():
            return set().union(*map(positions_in, clause))
    return set().union(*(positions_in(getattr(clause, name)) for name in READ_ALOUD[type(clause)].split()))
