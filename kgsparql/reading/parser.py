"""Reads a question by the grammar of its language: its tagged words, its end, what is asked, what is left."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from kgsparql.dataclasses import replace
from kgsparql.rdf.terms import first_of
from kgsparql.reading.building import Builders
from kgsparql.reading.chunks import MAX_WORDS, Chunked
from kgsparql.reading.clauses import (
    Alternatives,
    Chunk,
    NounPhrase,
    Predication,
    Restriction,
    Superlative,
    places_of,
    relations,
)
from kgsparql.reading.form import Form
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.peg import Edge, Grammar, RuleReader
from kgsparql.resources import packaged_text

_ENDS = ("Ending", "Request", "Choices")
"""Rules for what may stand at the end of a question: they are tried first, so that no phrase takes its words."""


@cache
def grammar(language: str) -> Grammar:
    """Return the grammar of a language, or of its order of words."""
    return Grammar(packaged_text(f"reading/grammar/{language}.txt"))


def read_question(read: Chunked) -> Form:
    """Read any text as a question; the positions of words that are in no clause are in ``unread``."""
    return _Reader(read).question()


class _Reader:
    """Reads one question.

    :ivar passed: positions of the words that a rule has read, in a clause or not; ``ended``, at the end of a question.
    :ivar named: those of names of entities; ``in_names`` those of what can be nothing but a name, or has several words.
    :ivar first_end: where the first name of an entity ends.
    """

    def __init__(self, read: Chunked) -> None:
        self.read, self.lexicon, self.texts, self.builders = read, lexicon(), read.texts, Builders(read)
        self.words = tagged(read)
        self._begin_reading()
        self.passed, self.ended = set[int](), set[int]()
        self.named = read.named
        self.first_end = min((chunk.end for chunk in read.chunks if chunk.is_name), default=len(self.texts))
        self.in_names = places_of(chunk for chunk in read.chunks if chunk.is_strong or len(chunk.span) > 1)

    def question(self) -> Form:
        """Read the question, and note what is left."""
        ends = [self._take_end(rule) for rule in _ENDS]
        if (verb := self.reading.rule("Main", 0)) is not None:
            self.words[verb[1].start]["main"] = verb[1]
            self._begin_reading()
        end, question, _ = self.reading.rule("Question", 0) or (0, self.builders.form(), [])
        self.passed |= set(range(min(end, len(self.words) - 1)))
        for found, places in ends:
            is_of_each = question.each or any(phrase.is_each for phrase in question.phrases)
            if "columns" not in found or question.asks == "set" or is_of_each:
                question = replace(question, **found)
                self.passed |= places
        if question.asks == "compare":
            question = self._with_summary(question)
        question = self._with_form(question)
        is_count, is_ordered = question.asks == "count", question.order is not None
        phrase = self._with_owner(_with_number(question.phrase), is_count=is_count, is_ordered=is_ordered)
        made = _with_each(replace(question, phrase=phrase))
        if made.columns and all(map(_is_theirs, made.columns)):  # the judge names, and the names of their courts
            owned = self._with_owner(made.phrase, is_count=False, is_ordered=True)
            made = _with_each(replace(made, phrase=owned)) if owned is not made.phrase else made
        return self._with_rest(made)

    def _begin_reading(self) -> None:
        self.reading = RuleReader(grammar("en"), self.words, self.builders.build)

    def _take_end(self, rule: str) -> tuple[dict[str, Any], set[int]]:
        """Take out what stands at the end, or is put in; return the fields of the question it gives, and its places."""
        for at in range(2, len(self.words) - 1):
            found = self.reading.rule(rule, at)
            is_of_each = not self.lexicon.distributives.isdisjoint(self.texts[:at])  # each has so many: a column
            if found is not None and not (is_of_each and "measured" in found[1]):
                self.words[at] = self.words[found[0]]
                self._begin_reading()
                self.ended |= (places := set(range(at, found[0])))
                return found[1], places
        return {}, set()

    def _with_owner(self, phrase: NounPhrase, *, is_count: bool, is_ordered: bool) -> NounPhrase:
        """Take what is said of ``singer names``, or of ``names for all singers``, for what is said of the singers.

        How many ``shop locations`` there are is how many locations of shops.
        """
        chunks = phrase.chunks
        own, owner, said = self.lexicon, chunks[:-1], phrase.restrictions
        texts = [self.texts[at] for at in chunks[-1].span] if chunks else []
        if len(chunks) == 1 and (opened := self.words[chunks[0].start].get("owner_class")) is not None:
            owner, texts = (opened.value,), texts[-1:]  # `singer names`, which are called so
        is_named = (bool(said) or is_ordered) and own.identity_nouns.issuperset(texts)
        is_counted = is_count and bool(owner) and not (said or chunks[-1].entities or chunks[-1].classes)
        if not (texts and phrase.of is None and (is_named or is_counted)):
            return phrase
        first, of = first_of(said), NounPhrase(owner, restrictions=said)
        if isinstance(first, Predication) and first.object is not None and not chunks[:-1]:
            is_of = not (first.verb or first.subject or first.is_negated) and first.preposition in own.fields_of
            of = first.object.restricted(*said[1:]) if is_of else of
        if not any(chunk.classes for chunk in of.chunks):
            return phrase
        return replace(phrase, chunks=chunks[-1:], of=of, of_form="of", restrictions=())

    def _with_summary(self, question: Form) -> Form:
        """Take ``average`` of ``a higher average rating than`` for how several values become one."""
        summaries, texts = self.lexicon.summaries, self.texts
        kinds = [summaries[texts[at]] for at in question.measured if texts[at] in summaries]
        measured = tuple(at for at in question.measured if texts[at] not in summaries)
        return replace(question, measured=measured, summary=kinds[0] if kinds else "")

    def _with_form(self, question: Form) -> Form:
        """Tell a question of how many, of what share, and for one of several by its words: ``the number of films``."""
        phrase, own = question.phrase, self.lexicon
        if question.choices is not None:
            return replace(question, asks="choose")
        if question.asks != "set":
            return question
        if phrase.of is not None and len(phrase.chunks) == 1:
            word = " ".join(self.texts[at] for at in phrase.chunks[0].span)
            if word in own.count_words and not phrase.restrictions:
                summary = phrase.summary[1] if phrase.summary else question.summary
                return replace(question, asks="count", phrase=phrase.of, summary=summary)
            if word in own.share_words:
                said = (*phrase.of.restrictions, *phrase.restrictions)
                return replace(question, asks="share", phrase=replace(phrase.of, restrictions=()), said=said)
        is_count = not own.imperatives.isdisjoint(own.count_words.intersection(self.texts[:3]))
        return replace(question, asks="count") if is_count else question

    # --- What is left

    def _with_rest(self, question: Form) -> Form:
        """Note what is in no clause, and what stands for a name that is not known."""
        own, texts, told, named = self.lexicon, self.texts, question.positions, self.named
        empty = own.empty_words - own.negations - own.or_words
        best = own.quantifiers.keys()  # most recently
        passed = told | {at for at in self.passed if texts[at] not in own.time_adverbs or texts[at - 1] in best}
        is_told = question.each is not None or bool(question.columns)
        told |= {at for at, text in enumerate(texts) if is_told and text in own.distributives}  # how many in each
        unread = [
            at
            for at, text in enumerate(texts)
            if (at not in passed and (at in named or text not in empty))
            or (at not in told and text in own.filler_nouns and texts[at - 1] in own.locatives)
        ]
        return replace(
            question,
            unread=tuple(unread),
            closing=() if question.phrase.chunks else own.closings.get(" ".join(texts[-2:]), ()),
            other_names=self._named_otherwise(question),
            pronouns=()
            if is_told
            else tuple(at for at in range(len(texts)) if at not in self.ended and self._is_unknown(at)),
        )

    def _is_unknown(self, at: int) -> bool:
        """Tell whether a word is a pronoun of which nobody tells whom or what it means: no name is before it."""
        own, texts, end = self.lexicon, self.texts, len(self.texts)
        text, before, after = texts[at], texts[at - 1] if at else "", texts[at + 1] if at + 1 < end else ""
        opening = self.words[0].get("statements")
        is_opening = opening is not None and at < opening.end
        is_told = before in own.have_forms | own.regarded_as or after in own.identity_nouns  # have it as their topic
        if is_opening or at in self.in_names or is_told:
            return False
        if at in self.passed and before in own.locatives and not own.have_forms.isdisjoint(texts):
            return False  # which cities have a museum in them
        if text in own.existence_words:
            return 0 < at < self.first_end and own.auxiliaries.isdisjoint((before, after))
        if self.first_end == end:
            is_told = text == "it" and bool(after) and not own.is_participle(after)  # how long does it take
            return at > 0 and text in own.pronouns and not is_told and before not in own.than_words
        is_personal = text in own.personal_pronouns - own.generic_pronouns and at < self.first_end
        return text in own.possessive_pronouns or is_personal or (text in own.pronouns and at not in self.passed)

    def _named_otherwise(self, question: Form) -> NounPhrase | None:
        """Return what other names are asked of, and after it the one that is asked about; None if more is said."""
        own = self.lexicon
        wanted = {*" ".join(own.other_names).split()}
        if wanted.isdisjoint(self.texts):
            return None
        chunks = [chunk for chunk in self.read.chunks if chunk.entities or chunk.classes]
        names = [chunk for chunk in chunks if not wanted.issuperset(self.texts[at] for at in chunk.span)]
        closed = (own.function_words | own.amounts | own.how_words | own.imperatives) - wanted
        closed -= own.negations | own.except_words
        named = places_of(names)
        said = [text for at, text in enumerate(self.texts) if text not in closed and at not in named]
        is_asked = {"set": 1, "count": 1, "ask": 2}.get(question.asks) == len(names)
        return NounPhrase(chunks=tuple(names)) if is_asked and " ".join(said) in own.other_names else None


def _with_number(phrase: NounPhrase) -> NounPhrase:
    """Take ``which three are the heaviest``, ``the top 3 with the highest mass`` for the three heaviest."""
    number, top = phrase.quantity, phrase.superlative
    for said in relations(phrase.restrictions):
        other = said.object
        if other is None or not (other.superlative or other.most) or (top is not None and top.measures):
            continue
        best = other.superlative or Superlative(*(other.most or (-1, True)))
        if top is not None:
            best, phrase = replace(best, number=top.number, is_share=top.is_share), replace(phrase, superlative=None)
        elif number is not None and number.comparison == "=" and not number.is_of_value:
            best = replace(best, number=int(number.number), is_share=number.is_share)
            phrase = replace(phrase, quantity=None)
        else:
            break
        mended = replace(said, object=replace(other, superlative=best))
        return replace(phrase, restrictions=tuple(_in_place(one, said, mended) for one in phrase.restrictions))
    return phrase


def _in_place(one: Restriction, old: Predication, new: Predication) -> Restriction:
    if isinstance(one, Predication):
        return new if one is old else one
    return Alternatives(tuple(tuple(_in_place(own, old, new) for own in branch) for branch in one.branches))


def _is_had_by(phrase: NounPhrase, each: NounPhrase) -> bool:
    return any(isinstance(one, Predication) and one.subject is each for one in phrase.restrictions)


def _is_theirs(phrase: NounPhrase) -> bool:
    return phrase.is_theirs or (phrase.of is not None and phrase.of.is_theirs)


def _is_name(phrase: NounPhrase) -> bool:
    """Tell whether a noun is what things are called, and not a thing: `full names`."""
    return phrase.head is not None and phrase.head.text.lower().split()[-1] in lexicon().identity_nouns


def _with_each(question: Form) -> Form:
    """Note of what something is asked one by one; of ``name every film``, the films are what is asked for."""
    each = next((phrase for phrase in question.phrases if phrase.is_each), question.each)
    parts, whole = question.phrase.parts, question.phrase.of or question.phrase
    kinds = frozenset(whole.head.classes if whole.head is not None and whole is not each else ())
    if each is not None and each.head is not None and kinds == {*each.head.classes} and kinds and question.columns:
        of_each = [replace(own, of=None) if own.of is each else own for own in question.columns if own is not each]
        of_each[:0] = [] if whole is question.phrase else [replace(question.phrase, of=None)]
        return replace(question, phrase=whole, columns=tuple(of_each), each=None)  # those in Ulm, the name of each
    if parts and each is not None and all(part.of is not None and part.of.is_each for part in parts):
        question = replace(question, columns=parts, phrase=each)  # the name and the price of every film
    whose = parts[0].of if parts else None
    if whose is not None and all(part.summary and part.chunks and part.of == whose for part in parts):
        whole = replace(whose, asked=parts[0].asked)  # the total price and the average weight of the films
        return replace(question, phrase=whole, columns=tuple(replace(p, of=None, asked="") for p in parts))
    if parts and each is not None and all(part.of is not None and _is_had_by(part.of, each) for part in parts):
        return replace(question, columns=parts, phrase=each, each=each)  # the average price and the number for each
    owner = question.phrase.of
    is_plain = question.asks == "set" and not (
        question.columns or question.phrase.summary or question.phrase.superlative
    )
    if owner and each and each.head and each.head.classes and is_plain and _is_had_by(owner, each):
        said = tuple(one for one in owner.restrictions if not isinstance(one, Predication) or one.subject is not each)
        column = replace(question.phrase, of=replace(owner, restrictions=said), asked="")
        return replace(question, phrase=each, each=each, columns=(column,))  # the names of the films for each director
    last = parts[-1].restrictions[-1:] if parts else ()
    if each is not None and any(isinstance(one, Predication) and one.subject is each for one in last):
        rest = replace(parts[-1], restrictions=parts[-1].restrictions[:-1])
        question = replace(question, columns=(*parts[:-1], rest), phrase=each)  # the average age and rank for each
    if parts and not parts[0].is_theirs and all(_is_theirs(part) for part in parts[1:]):
        question = replace(question, phrase=parts[0], columns=parts[1:])  # the films and their years
    phrase = question.phrase
    if question.columns and phrase.of is not None and all(map(_is_theirs, question.columns)) and _is_name(phrase):
        columns = (
            replace(phrase, of=None, of_form="", asked=""),
            *question.columns,
        )  # the names of the films and their years
        question = replace(question, phrase=replace(phrase.of, asked=phrase.asked), columns=columns, asks_fields=True)
    other = frozenset(each.head.classes if each is not None and each.head is not None else ())
    if each is not None and question.columns and question.asks == "set" and other and kinds.isdisjoint(other) and kinds:
        theirs = (replace(each, is_each=False, is_theirs=True),) if _is_had_by(question.phrase, each) else ()
        return replace(question, columns=(*theirs, *question.columns), each=None)  # the name of each: it is a column
    return replace(question, each=None if each is question.phrase and not question.columns else each)


# --- Tags: each list of the lexicon is one, and so is what a word may be

Tags = dict[str, Edge]

_BREAKS = frozenset(".?!;:-–—(")  # before a request
_SIGNS = {"comma": frozenset(",:"), "percent": frozenset("%")}
"""Tags without words, of what stands before a word."""

_APOSTROPHES = {"'", "’"}
_QUOTED = re.compile(r"""(?:^|(?<=[\s(]))(["“'‘])([^"”]+?)["”'’](?=[\s?.,;:!)]|$)""")
_CLOSED = {"superlatives", "comparatives", "bounds"}  # are no nouns
_NAMED = {"class", "named", "summaries", *_CLOSED}  # tags that the first word of a name loses


def tagged(read: Chunked) -> list[Tags]:
    """Tag the words of a question, and the place after them, ``end``; words that say nothing are gone over."""
    tagger = _Tagger(read)
    found, after = [tagger.tags(at) for at in range(tagger.length)], tagger.length
    following = [*range(after + 1)]
    for at in reversed(range(after)):
        following[at] = following[at + 1] if found[at] is None else at
    places: list[Tags] = [
        {
            tag: Edge(at, end, following[end], " ".join(read.texts[at:end]), value)
            for tag, (end, value) in {**(tags or {}), **dict.fromkeys(tagger.signs(at), (at, None))}.items()
        }
        for at, tags in enumerate(found)
    ]
    places.append({"end": Edge(after, after, after, "")})
    return [places[following[0]], *places[1:]]


class _Tagger:
    """Tags the words of one question, from the first to the last."""

    def __init__(self, read: Chunked) -> None:
        self.read, self.texts, self.lexicon = read, read.texts, lexicon()
        self.length = min(len(self.texts), MAX_WORDS)
        self.named = {start: end for start, end in sorted(read.predicates) if end <= self.length}
        self.chunks = {chunk.start: chunk for chunk in read.chunks}
        whole = (chunk for chunk in read.chunks if chunk.is_strong or chunk.is_value or len(chunk.span) > 1)
        self.covered = places_of(whole)
        self.silent = set[int]()
        quotes = (read.positions_between(*own.span(2)) for own in _QUOTED.finditer(read.question))
        self.quoted = {own[0]: Chunk(own[0], own[-1] + 1, read.text_of(own[0], own[-1] + 1)) for own in quotes if own}

    def tags(self, at: int) -> dict[str, tuple[int, Any]] | None:
        """Tag a word: each tag with where it ends and what it says; None if the word says nothing."""
        chunk, named = self.chunks.get(at), self._name_of_predicate(at) if at in self.named else None
        if self._is_after_owner(at) and self.texts[at] == self.lexicon.possessive:
            return {"pos": (at + 1, None)}
        found = dict[str, tuple[int, Any]]()
        if at not in self.covered:
            found = self._tags_by_list(at)
            if at in self.silent or "time_adverbs" in found:
                return None
            if "adverbs" in found and not found.keys() & {"negations", "only_words"}:
                return None
            own = Chunk(at, at + 1, self.read.raw[at])
            found |= dict.fromkeys(self._tags_by_form(at, found), (at + 1, chunk or own))
        if chunk is not None and (named is None or at not in self.covered):
            found |= dict.fromkeys(_kinds_of(chunk), (min(chunk.end, self.length), chunk))
        if named is not None:
            found = {tag: one for tag, one in found.items() if tag not in _NAMED}
            found |= dict.fromkeys(("noun", "chunk") if chunk else ("noun",), (named.end, named))
            found |= {"owner_class": (chunk.end, chunk)} if chunk and chunk.classes and chunk.end < named.end else {}
        if found and (quoted := self.quoted.get(at)) is not None:  # not within a name: Johnny "J"
            found["quoted"] = quoted.end, quoted
        if found:
            found["word"] = found["chunk"] if at in self.covered else (at + 1, None)
        return found

    def signs(self, at: int) -> set[str]:
        """Tell what stands before a word: a comma, a break, the mark of an owner: ``the Beatles' songs``."""
        gap = self.read.gaps[at - 1] if at else ""
        if not gap.strip():
            return set()
        found = {tag for tag, signs in _SIGNS.items() if not signs.isdisjoint(gap)}
        found |= {"break"} if " " in gap and not _BREAKS.isdisjoint(gap) else set()
        before, mark = self.texts[at - 1], self.lexicon.possessive
        is_owner = self._is_after_owner(at) and before.endswith(mark) and self.texts[at] != mark
        return found | ({"pos"} if is_owner else set())

    def _is_after_owner(self, at: int) -> bool:
        return at > 0 and self.read.gaps[at - 1].strip() in _APOSTROPHES

    def _tags_by_list(self, at: int) -> dict[str, tuple[int, Any]]:
        """Tell in which lists of the lexicon a word is, and the phrases that begin with it."""
        (words, phrases), texts, text = word_tags(), self.texts, self.texts[at]
        found = {tag: (at + 1, value) for tag, value in words.get(text, {}).items()}
        for own, tag, value in phrases.get(text, ()):
            end = at + len(own)
            if texts[at:end] == own and self.covered.isdisjoint(range(at, end)):
                found[tag] = end, value
        if "quantifiers" in found:  # `most expensive` counts nothing, `most` does
            longest = max(found[tag][0] for tag in ("superlatives", "comparatives") if tag in found)
            found.pop("quantifiers" if longest > at + 1 else "superlatives", None)
        if text[0].isdecimal():
            number = self.lexicon.day_number(text)
            found |= {"ordinals": (at + 1, int(number))} if number != text and number.isdecimal() else {}
        self.silent |= set(range(at, found["asides"][0] if "asides" in found else at))
        return found

    def _tags_by_form(self, at: int, found: Mapping[str, Any]) -> set[str]:
        """Tell what the form of a word makes of it."""
        own, text = self.lexicon, self.texts[at]
        is_open = "function_words" not in found
        is_present = own.is_present(text) and is_open
        forms = {
            "part": own.is_participle(text),
            "present": is_present,
            "ing": own.is_progressive(text),
            "agrees": is_open and self._agrees_with_class(at, is_present=is_present),
            "capital": self.read.is_capital(at),
            "noun": is_open and not found.keys() & _CLOSED and not (at in self.chunks and self.chunks[at].classes),
        }
        return {form for form, is_so in forms.items() if is_so}

    def _agrees_with_class(self, at: int, *, is_present: bool) -> bool:
        """Tell whether a word agrees with the class before it as a verb: which trains *stop* at Ulm."""
        texts, own = self.texts, self.lexicon
        are_many = at > 0 and own.is_present(texts[at - 1])
        is_after_class = any(
            chunk.end == at and (chunk.classes or chunk.texts_of_each) for chunk in self.chunks.values()
        )
        is_only = texts[0] in own.question_words and own.auxiliaries.isdisjoint(texts)
        return is_after_class and are_many != is_present and (are_many or is_only)

    def _name_of_predicate(self, at: int) -> Chunk | None:
        """Return the name of a predicate of several words as one chunk, if no sentence would have them there."""
        read, own, chunk = self.read, self.lexicon, self.chunks.get(at)
        end = self.named[at]
        has_name = any(p in self.chunks and self.chunks[p].is_name for p in range(at, end))
        if end - at < 2 or has_name or (at in self.covered and chunk is None):
            return None
        texts = self.texts[at:end]
        openers = own.determiners | own.no_words | own.have_forms | own.question_words.keys() | {own.possessive}
        openers |= own.summaries.keys() | own.superlatives.keys() | own.and_words | own.amounts
        is_opened = at > 0 and self.texts[at - 1] in openers
        is_verb = own.is_verb(texts[0]) and not (chunk is not None and chunk.classes)
        is_joined = not own.function_words.isdisjoint(texts) or is_verb
        if (is_joined and not is_opened) or (texts[-1] in own.prepositions and end < self.length):
            return None
        classes = chunk.classes if chunk is not None and chunk.end == end else ()
        return Chunk(at, end, read.text_of(at, end), classes=classes, predicates=read.predicates[at, end])


def _kinds_of(chunk: Chunk) -> set[str]:
    """Tell what a chunk is."""
    is_class = bool(chunk.classes or chunk.texts_of_each)
    kind = "name" if chunk.is_name else "num" if chunk.is_value else "class" if is_class else "noun"
    is_number = chunk.number is not None
    more = {
        "named": chunk.entities or chunk.classes, "thing": chunk.entities, "strong": chunk.is_strong, "num": is_number,
        "years": chunk.may_be_years, "range": is_number and chunk.last is not None,
    }  # fmt: skip
    return {kind, "chunk", *(tag for tag, is_so in more.items() if is_so)}


@cache
def word_tags() -> tuple[Mapping[str, dict[str, Any]], Mapping[str, list[tuple[tuple[str, ...], str, Any]]]]:
    """Tell the tags of each word of English, and of the phrases that begin with it, the shortest first."""
    own = lexicon()
    words: dict[str, dict[str, Any]] = defaultdict(dict)
    phrases: dict[str, list[tuple[tuple[str, ...], str, Any]]] = defaultdict(list)
    for name, table in {**own.tables, "function_words": own.function_words}.items():
        for key in table if not isinstance(table, str) else ():
            value, (first, *rest) = table[key] if isinstance(table, Mapping) else None, key.split()
            if rest:
                phrases[first].append(((first, *rest), name, value))
            else:
                words[first] |= {name: value, **({f"{name}.{value}": value} if isinstance(value, str) else {})}
            if name == "measures":
                words[key.split()[-1]]["adjective"] = value
    for some in phrases.values():
        some.sort(key=lambda one: len(one[0]))
    return words, phrases
