"""Names in a question that are not in the graph, only in part, or that several things have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from shlex import quote

from kgsparql.answering.answer import Retrieval
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.exploration import descriptions
from kgsparql.linking.label_index.search import unlikeliness
from kgsparql.linking.label_matching import similarity
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import root, stop_words, words, words_of
from kgsparql.rdf.terms import Term, distinct, normalised, printable
from kgsparql.reading.chunks import Chunked
from kgsparql.reading.gaps import Gap, may_mean, no_name
from kgsparql.reading.lexicon import lexicon

_LITTLE_KNOWN = 20
"""How many times fewer triples a thing is in than another of the name, so that nobody means it without saying so."""

_MEANINGS = 3  # meanings of a name that are told

_LEAST_SLIP = 4  # letters of a word in which one may be left out or swapped; a shorter one is too often another name

_FEW_WORDS = 2  # words of a name of which one, with another letter, is too often another name

_QUOTES = frozenset('"“”„«»')  # say that a word is not meant as it stands

SAME_WORD = 0.8  # how alike two spellings of one word are at least


def missing_names(session: Session, best: EvidenceItem, read: Chunked, said: Collection[str]) -> Iterator[Gap]:
    """Names that were not found, or of which only a part was.

    :param said: roots of the words that the way to the answer says.
    """
    if session.linker is None or session.given:
        return
    light = lexicon().light_words
    for note in session.notes.texts:
        if note.code == MISSING_NAME and note.cause and normalised(note.cause) not in light:
            yield no_name(note.cause)
    used = {term for path in best.paths for term in path.terms}
    for link in session.links:
        whole = _name_around(link, read, session.links, light)
        is_odd = link.has_other_signs or is_just_words(link) or _is_half_named(link)
        if (whole and not _is_name_of(whole, link, said)) or (link.term in used and is_odd):
            yield taken_for(link, link.mention.text if link.has_other_signs else whole or link.mention.text)


def taken_for(link: LinkedEntity, name: str) -> Gap:
    """The doubt whether a name means what it was linked to."""
    return may_mean(name, printable(link.label, 80), code="part_of_name")


def is_just_words(link: LinkedEntity) -> bool:
    """Whether words that say little were taken for a name, `made` for *Made*, or a sentence, `rivers are long`."""
    said, own = words(link.mention.text), lexicon()
    is_light = bool(said) and own.light_words.issuperset(said)
    unsaid = {*said} - {*words_of(link.label)}
    is_sentence = not own.auxiliaries.isdisjoint(unsaid) and own.relatives.isdisjoint(unsaid)
    return is_sentence or (is_light and link.label[:1].isupper() and link.mention.text.islower())


def _is_half_named(link: LinkedEntity) -> bool:
    """Whether a name was hardly said: less than half of either is in the other, or it has a word in quotes.

    Who asks for a fruit cake does not mean *100% Fruit "Cake"*.
    """
    if link.matched != "text":
        return False
    said, own = content_words(link.mention.text), content_words(link.label)
    shared = [sum(_has_word(others, word) for word in some) for some, others in ((own, said), (said, own))]
    are_few = 2 * shared[0] < len(own) and 2 * shared[1] < len(said)
    return are_few or not _QUOTES.isdisjoint({*link.label} - {*link.mention.text})


def _name_around(link: LinkedEntity, read: Chunked, links: Sequence[LinkedEntity], light: Collection[str]) -> str:
    """The mention with the words before and after it that are written like a name and are in no other mention."""
    own = read.positions_between(*link.mention.place)
    if not own:
        return ""
    others = (one.mention.place for one in links if one is not link)
    taken = {position for place in others for position in read.positions_between(*place)}
    stops, capitals = stop_words(), [word[:1].isupper() for word in read.raw]

    def joins(at: int, gap: int) -> bool:
        return capitals[at] and at not in taken and read.texts[at] not in stops and read.gaps[gap].isspace()

    first, last = own[0], own[-1]
    while first > 0 and capitals[first] and joins(first - 1, first - 1):
        first -= 1
    while last + 1 < len(read.raw) and capitals[last] and joins(last + 1, last):
        last += 1
    while first < last and read.texts[first] in light:
        first += 1
    return read.text_of(first, last + 1)


def _is_name_of(whole: str, link: LinkedEntity, said: Collection[str]) -> bool:
    """Whether every word of a name is in the label or said, or the name itself is one that the graph has."""
    if link.matched in {"given", "same as"} or _is_mistyped(whole, link.label):
        return True
    label = (*words_of(link.label), *(words_of(link.mention.text) if link.matched == "exact" else ()))
    return all(_has_word(label, word) or root(word) in said for word in content_words(whole))


def content_words(text: str) -> list[str]:
    """The words of a text, as they are compared, that are no stop words."""
    return [word for word in words_of(text) if word not in stop_words()]


def _has_word(label: Sequence[str], word: str) -> bool:
    """Whether a label has a word."""
    return any(similarity(own, word) >= SAME_WORD for own in label)


def ambiguous_names(session: Session, found: Retrieval, best: EvidenceItem) -> Iterator[Gap]:
    """Mentions of which another meaning leads somewhere by the same predicates, or is as near to a part of a name."""
    start, path = best.start, best.property_path
    beside = [item for item in found.evidence if item.paths and item.property_path == path]
    alike = {item.start for item in beside if not {*item.ends} <= {*best.ends}}
    for link in session.links:
        if link.matched in {"given", "same as"} or not link.mention.text:
            continue
        meant = [*distinct([link, *link.namesakes, *link.likely_alternatives])]
        near = {one.term for one in link.likely_alternatives} if link.matched in {"text", "vector"} else set()
        if session.asked.is_definition and link.namesakes:  # of what it is, each may be asked
            known = descriptions(
                session.graph, [one.term for one in link.namesakes], languages=session.labels.languages
            )
            near |= {term for term, said in known.items() if said.text}
        if link.matched != "exact":
            named, is_part = _named_alike(link)
            meant += named
            near |= {one.term for one in named} if is_part else set()
        others = [one for one in _known_meanings(meant) if one.term in (alike | near) - {start}]
        if others and start in {one.term for one in meant}:
            yield ambiguous_gap(link, meant)


def _named_alike(link: LinkedEntity) -> tuple[list[LinkedEntity], bool]:
    """What else has the words that a mention has in common with its label, and whether these are a part of that."""
    if _is_mistyped(link.mention.text, link.label):
        return [c for c in link.candidates if _is_mistyped(link.mention.text, c.label)], False
    own = words_of(link.label)
    asked = [word for word in content_words(link.mention.text) if _has_word(own, word)]
    named = [c for c in link.candidates if asked and all(_has_word(words_of(c.label), w) for w in asked)]
    return named, not all(_has_word(asked, word) for word in own)


def _is_mistyped(typed: str, label: str) -> bool:
    """Whether a text is most likely a label with a typing error, and no other name.

    Of three words or more, one may have any wrong letter; of fewer, no last one, which makes too many other names.

    >>> _is_mistyped("Marie Cuire", "Marie Curie"), _is_mistyped("Nobel Prize in Phisics", "Nobel Prize in Physics")
    (True, True)
    >>> _is_mistyped("John Smith", "Joan Smith"), _is_mistyped("Mario Rossi", "Maria Rossi")
    (False, False)
    """
    said, own = words_of(typed), words_of(label)
    same = {one for one in said if one in own and one.isdecimal()}  # another number is another name
    text, name = (" ".join(one for one in ones if one not in same) for ones in (said, own))
    pairs = [(one, other) for one, other in zip(said, own, strict=False) if one != other]
    is_alike = len(said) == len(own) and similarity(text, name) > 0
    return is_alike and (len(own) > _FEW_WORDS or all(_is_slip(*pair) for pair in pairs))


def _is_slip(typed: str, word: str) -> bool:
    """Whether a word has one wrong letter before the last, or two swapped; a short one but one left out or doubled."""
    shorter = min(len(typed), len(word))
    is_usual = _without_doubles(typed) == _without_doubles(word) or not unlikeliness(typed, word, 0)[1]
    is_inside = typed[-1] == word[-1] or sorted(typed) == sorted(word)
    is_inside &= shorter > _LEAST_SLIP or (shorter == _LEAST_SLIP and is_usual)
    return is_inside or similarity(typed, word) >= SAME_WORD


def _without_doubles(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def equally_named(link: LinkedEntity, question: str) -> Iterator[Gap]:
    """The doubt where something else has the name of what a mention is taken for, and no word says which is meant."""
    said = {word for word in content_words(question) if word not in content_words(link.mention.text)}
    meant = [link, *link.likely_alternatives]
    if link.matched == "exact" and len(_known_meanings(meant)) > 1 and said.isdisjoint(words_of(link.label)):
        yield ambiguous_gap(link, meant)
    elif link.matched in {"text", "vector"}:
        named, is_part = _named_alike(link)
        if is_part and len(_known_meanings([link, *named])) > 1:
            yield ambiguous_gap(link, [link, *named])


def other_meanings(used: Collection[Term], links: Sequence[LinkedEntity], question: str) -> Iterator[Gap]:
    """The doubts about names of which a plan takes a meaning that is not the likeliest, or not the only one.

    :param used: the terms of the plan.
    """
    for link in links:
        said = link.mention.text.casefold()
        others = [one for one in link.candidates if one.term in used and one.label.casefold() != said]
        is_whole = len(words_of(said)) == len(words_of(link.label))
        is_like = (link.matched == "text" and is_whole) or (
            link.matched == "vector" and link.mention.text[:1].isupper()
        )
        is_other = is_like and not _is_name_of(link.mention.text, link, ())
        is_odd = link.has_other_signs or is_just_words(link) or _is_half_named(link)
        if link.term in used and (is_odd or is_other):
            yield taken_for(link, link.mention.text)
        elif link.kind == "entity" and others and link.term not in used:
            yield may_mean(link.mention.text, printable(link.label, 80), printable(others[0].term.value, 120))
        elif link.kind == "entity" and any(one.term in used for one in (link, *link.candidates)):
            yield from () if others else equally_named(link, question)


def _known_meanings(meant: Sequence[LinkedEntity]) -> list[LinkedEntity]:
    """The different things that are not so little known that nobody means them without saying so."""
    known = max(one.degree for one in meant) / _LITTLE_KNOWN
    return list({one.term: one for one in meant if one.degree >= known}.values())


def longer_names(link: LinkedEntity) -> list[LinkedEntity]:
    """List what is better known than a thing, and called by a longer name that begins as its name."""
    own = words_of(link.mention.text)
    known = (one for one in link.candidates if one.kind == "entity" and one.degree > link.degree)
    longer = [one for one in known if words_of(one.label)[: len(own)] == own]
    return sorted(longer, key=lambda one: -one.degree)[:_MEANINGS]


def ambiguous_gap(link: LinkedEntity, meant: Sequence[LinkedEntity]) -> Gap:
    """Doubt which of several things a mention means."""
    told = [f"{printable(one.label, 60)} (-e {quote(one.term.value)})" for one in distinct(meant)]
    left = [f"{len(told) - _MEANINGS} others"] if len(told) > _MEANINGS else []
    return may_mean(link.mention.text, *told[:_MEANINGS], *left)
