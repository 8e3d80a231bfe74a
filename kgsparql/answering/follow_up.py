"""Questions that follow another one: ``and where did she die?``, ``how many of them …?``, ``and in 1911?``.

What is left out is filled in from the question before and its answer, and it is said what was taken for what. The
question that is then answered stands for itself: it can be asked again, kept and shared without the one before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.graphs.notes import Note
from kgsparql.linking.english_forms import is_past_form, plural, singular
from kgsparql.linking.words import roots_of
from kgsparql.plans.english import listed
from kgsparql.rdf.terms import IRI, Term
from kgsparql.reading.lexicon import glossary, lexicon
from kgsparql.reading.translation import language_in
from kgsparql.resources import packaged_toml

MOST_NAMES = 10  # answers that are named one by one where they are asked about together
_TAKEN = "{!r} was taken for {}"
_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]{2,})?")
_NUMBER = re.compile(r"(?<![\w-])\d[\d.,:-]*(?!\w)")
_PLACE = re.compile(r"\bthe (\w+) one\b", re.IGNORECASE)
_OF_SOMETHING = re.compile(r"(?:what|who|which) (?:is|are|was|were) the ", re.IGNORECASE)
_LISTED = 3  # names: that many are a list
_LISTING = re.compile(r"(?:list|name|show|give)(?: me)?(?: all)?(?: the)? (?=\w)", re.IGNORECASE)
_HOW_MANY = re.compile(r"how many(?: (?:are|were) (?:there|they))?", re.IGNORECASE)


@frozen
class Meant:
    """Something that the question before named, or that answered it.

    :param text: its words in the question, and ``start`` where they begin; of an answer empty, and -1.
    """

    term: Term
    label: str
    text: str = ""
    start: int = -1


@frozen
class Before:
    """The question before: what it named, and what answered it, where that was sure."""

    question: str
    topics: tuple[Meant, ...] = ()
    answers: tuple[Meant, ...] = ()

    @classmethod
    def from_json(cls, told: Any) -> Before:
        """Take it from what ``answer_to_json`` wrote."""
        topics = [
            Meant(IRI(own["term"]["value"]), own["term"]["label"], own["mention"], own["start"])
            for own in told["linked"]
        ]
        best = [
            own["term"]
            for own in told["answers"]
            if own.get("best", own.get("is_best")) and own["term"]["type"] == "uri"
        ]
        answers = [Meant(IRI(own["value"]), own["label"]) for own in best if told["status"] == "answered"]
        return cls(told["question"], tuple(sorted(topics, key=lambda own: own.start)), tuple(answers))


@frozen
class Completed:
    """A question with what it left out, and sentences that say what was taken for what."""

    text: str
    taken: tuple[str, ...] = ()


@lru_cache
def rules(language: str) -> SimpleNamespace | None:
    """Return the words of a language, as ``follow_ups.toml`` explains them; ``None`` where it has none."""
    if (own := packaged_toml("reading/lexicon/follow_ups.toml").get(language)) is None:
        return None
    openings = sorted((one.replace("_", " ") for one in own["openings"].split()), key=len, reverse=True)
    words = {key: frozenset(v.split()) for key, v in own.items() if isinstance(v, str) and "{" not in v}
    return SimpleNamespace(**{**own, **words, "openings": openings})


def completed(question: str, before: Before, language: str, is_person: Callable[[Term], bool | None]) -> Completed:
    """Fill in what a question leaves to the one before; one that leaves nothing stays as it is.

    :param language: of the question before.
    :param is_person: whether a term is a person; ``None`` where the graph does not say.

    >>> curie = Meant(IRI("http://e.org/curie"), "Marie Curie", "Marie Curie", 10)
    >>> before = Before("Where was Marie Curie born?", (curie,), (Meant(IRI("http://e.org/w"), "Warsaw"),))
    >>> persons = {curie.term: True}
    >>> completed("and where did she die?", before, "en", persons.get)
    Completed(text='Where did Marie Curie die?', taken=("'she' was taken for Marie Curie",))
    >>> [completed(own, before, "en", persons.get).text for own in ("And when?", "what about Pierre Curie?")]
    ['When was Marie Curie born?', 'Where was Pierre Curie born?']
    """
    own = rules(language)
    if own is None:
        return Completed(question)
    completion = _Completion(before, own, language, is_person)
    placed = completion.with_place(question)
    found = completion.of(placed.text)
    return replace(found, taken=(*placed.taken, *found.taken))


def take_up(session: Session, before: Before, language: str = "") -> None:
    """Fill in what the question of a session leaves to the one before, and note what was taken for what."""
    search = None if session.linker is None else session.linker.search
    persons = roots_of(lexicon().persons)

    def is_person(term: Term) -> bool | None:
        (kinds,) = session.labels.shared_types([[term]])
        return None if not kinds else not persons.isdisjoint(roots_of(kinds))

    with session.within_budget():
        made = completed(session.question, before, language or language_in(before.question, search), is_person)
        session.question = made.text
        session.notes.extend(Note("follow_up", line) for line in made.taken)


@frozen
class _Completion:
    """What is filled in of one question."""

    before: Before
    rules: SimpleNamespace
    language: str
    is_person: Callable[[Term], bool | None]

    def of(self, question: str) -> Completed:
        begun = question.lstrip("¿¡ ")
        low = begun.lower()
        opening = next((one for one in self.rules.openings if re.match(rf"{re.escape(one)}(?!\w)", low)), "")
        text = begun[len(opening) :].lstrip(" ,") if opening else question
        bare = text.rstrip(" ?.!¿¡").lstrip("¿¡ ")
        if self.language == "en" and (made := self._about_set(bare)) is not None:
            return made
        filled = self._with_names(text)
        if opening and filled.taken and _OF_SOMETHING.match(self.before.question):  # and its homepage?
            return replace(filled, text=f"What is {filled.text.rstrip(' ?.!')}?")
        if filled.taken and " of the " in filled.text and self._set_phrase() is not None:  # and their spouses?
            return filled
        if opening and (made := self._in_place(filled.text.rstrip(" ?.!¿¡").lstrip("¿¡ "), bare)) is not None:
            return replace(made, taken=(*filled.taken, *made.taken))
        if filled.taken:
            return filled
        return Completed(text if opening and len(bare.split()) > 1 else question)

    def _told_sentence(self, sentence: str, *values: str) -> str:
        known = {} if self.language == lexicon().language else glossary(self.language).sentences
        return known.get(sentence, sentence).format(*values)

    def with_place(self, text: str) -> Completed:
        """Put an answer to the question before in the place of *the first one*; ask back if there is none."""
        answers = self.before.answers
        places = {"first": 1, "last": len(answers), **lexicon().ordinals}
        if (found := _PLACE.search(text)) is None or (at := places.get(found[1].lower())) is None:
            return Completed(text)
        if not 0 < at <= len(answers) > 1:
            return Completed(text, (self._told_sentence("nothing before is {!r}: say its name", found[0]),))
        whom = answers[at - 1].label
        return Completed(text.replace(found[0], whom), (self._told_sentence(_TAKEN, found[0], whom),))

    # --- several

    def _about_set(self, bare: str) -> Completed | None:
        """Complete what asks about all that was found: ``how many of them were born in Paris``, ``how many``."""
        things, answers = self._set_phrase(), self.before.answers
        if things is not None and _HOW_MANY.fullmatch(bare):
            return Completed(
                f"How many {' '.join(things).rstrip()}?", (self._told_sentence("asked of: {}", self.before.question),)
            )
        whole = rf"(.*?\b(?:how many|which|who|what)) of ({'|'.join(self.rules.sets)})\b(.*)"
        if (found := re.fullmatch(whole, bare, re.IGNORECASE)) is None:
            return None
        asked, them, rest = found.groups()
        if things is not None:
            whom, asked = _as_phrase(things), "Which" if asked.lower() in {"who", "what"} else asked
        elif 1 < len(answers) <= MOST_NAMES:
            whom, asked = listed([own.label for own in answers]), f"{asked} of"
        else:
            return None
        return Completed(f"{asked} {whom}{rest}?", (self._told_sentence(_TAKEN, them, whom),))

    def _set_phrase(self) -> tuple[str, str] | None:
        """Split what the question before asks for into its noun and what is said of it; ``None`` if it is no set."""
        asked = self.before.question.rstrip(" ?.!")
        first, _, rest = asked.partition(" ")
        if first.lower() == "who" and rest:
            return "people", rest.removeprefix("else ")
        listing = _LISTING.match(asked)
        if listing is None and first.lower() not in {"which", "what", "how"}:  # a set in words: poets born in Rome
            is_set = asked == self.before.question and first.lower() not in self.rules.asking | lexicon().auxiliaries
            return (
                (asked, "")
                if is_set and any(plural(singular(one)) == one != singular(one) for one in asked.split())
                else None
            )
        words = (asked[listing.end() :] if listing else rest.removeprefix("many ")).split()
        at = next((n for n, word in enumerate(words, 1) if word == plural(singular(word)) != singular(word)), 0)
        clause = words[at:]
        if not at or (clause and clause[0].lower() in lexicon().do_forms):  # which films did she make
            return None
        if clause and clause[0].lower() in lexicon().relatives:
            if listing is None:  # which people who won it were born there
                return None
            clause = clause[1:]
        return " ".join(words[:at]), " ".join(clause)

    # --- pronouns

    def _with_names(self, text: str) -> Completed:
        """Put what was named before in the place of pronouns."""
        made, taken, done = "", list[str](), 0
        is_impersonal = any(phrase.replace("_", " ") in text.lower() for phrase in self.rules.impersonal)
        found = [] if is_impersonal else list(_WORD.finditer(text))
        for at, word in enumerate(found):
            said = word[0].lower()
            noun = found[at + 1] if at + 1 < len(found) else None
            noun = noun if noun is not None and text[word.end() : noun.start()] == " " else None
            is_owner = said in self.rules.possessives and noun is not None and not self._ends_phrase(noun[0])
            before = found[at - 1][0].lower() if at else ""
            is_of_them = said in self.rules.sets and before == "of"
            is_there = said in self.rules.places and before in lexicon().auxiliaries  # how many are there
            if word.start() < done or is_of_them or is_there:
                continue
            if self._names_somebody(text[: word.start()]):
                break  # `Marie Curie and her husband`: it is hers
            if (whom := self._name_of_pronoun(said, is_owner=is_owner)) is None:
                continue
            name, end = self.rules.place.format(place=whom) if said in self.rules.places else whom, word.end()
            if is_owner and noun is not None:
                owned = "{noun} of {owner}" if whom.startswith("the ") else self.rules.owner
                name, end = owned.format(owner=whom, noun=noun[0]), noun.end()
            start = word.start()
            if at and text[start - 1 : start] == "-":  # where is he: où est-il, où Pierre Curie est-il
                start = found[at - 1].start()
                name = f"{name} {text[start:end]}"
            made, done = f"{made}{text[done:start]}{name}", end
            taken.append(self._told_sentence(_TAKEN, word[0], whom))
        whole = made + text[done:]
        return Completed(whole[:1].upper() + whole[1:] if taken else text, tuple(dict.fromkeys(taken)))

    def _names_somebody(self, text: str) -> bool:
        """Whether there is a name in words: a capital, but of the first; two in a row in German, with its nouns."""
        capital = r"[^\W\d_a-zß-ÿ]\w+"
        names = rf"\b{capital} {capital}" if self.language == "de" else rf"(?<!^)\b{capital}"
        return re.search(names, text.lstrip("¿¡ ")) is not None

    def _ends_phrase(self, word: str) -> bool:
        """Whether no noun can begin with a word: `born` after `her`."""
        low = word.lower()
        return low in self.rules.prepositions or (self.language == "en" and is_past_form(low))

    def _name_of_pronoun(self, said: str, *, is_owner: bool) -> str | None:
        own, answers, topics = self.rules, self.before.answers, tuple(reversed(self.before.topics))
        one = answers if len(answers) == 1 else ()
        persons = [own for own in (*one, *topics) if self.is_person(own.term)]
        others = [own for own in (*one, *topics) if self.is_person(own.term) is False]
        unknown = [own for own in (*topics, *one) if self.is_person(own.term) is None]
        is_plural = said in own.sets or (said in own.possessives and said in {"their", "leur", "leurs"})
        are_few = is_plural and 1 < len(answers) <= MOST_NAMES
        things = self._set_phrase() if is_plural and self.language == "en" else None
        if things is not None and not (is_owner and are_few):
            return f"the {_as_phrase(things)}"
        if are_few:
            return listed([own.label for own in answers])
        if said in own.persons or (is_owner and said != "its"):
            found = persons or unknown or (others if said in own.things else [])
            return found[0].label if found else None
        is_thing = is_owner or said in own.things | own.places
        return next((meant.label for meant in (*others, *unknown)), None) if is_thing else None

    # --- in the place of something

    def _in_place(self, text: str, said: str) -> Completed | None:
        """Ask the question before again, with what was said in the place of its like."""
        before, words = self.before.question, text.split()
        if not words or (self.language == "en" and not lexicon().auxiliaries.isdisjoint(w.lower() for w in words)):
            return None
        first = before.split(maxsplit=1)
        if words[0].lower() in self.rules.asking:
            if len(words) > 1 or first[0].lower() not in self.rules.asking or len(first) < 2:
                if not self.rules.drops or len(words) == 1 or text != said:
                    return None
                whom = self._name_of_pronoun(next(iter(self.rules.persons)), is_owner=False)  # ¿y dónde murió?
                return (
                    None
                    if whom is None
                    else Completed(f"¿{text} {whom}?", (self._told_sentence("asked about {}", whom),))
                )
            return Completed(
                f"{words[0].capitalize()} {first[1]}",
                (self._told_sentence("asked again, with {!r}: {}", said, before),),
            )
        is_told = words[0].lower() in self.rules.prepositions
        preposition, name = (words[0], " ".join(words[1:])) if is_told else ("", text)
        if not name or (old := self._place_replaced(preposition, name)) is None:
            return None
        start, end = old
        if "'s" in name and before[end:].startswith("'s"):  # what something of it was asked of
            return None
        if before[:start].lower().endswith("the "):
            name = re.sub("^the ", "", name, flags=re.IGNORECASE)
        now = f"{before[:start]}{name}{before[end:]}"
        return Completed(
            now, (self._told_sentence("asked again, with {!r} in the place of {!r}", name, before[start:end]),)
        )

    def _place_replaced(self, preposition: str, name: str) -> tuple[int, int] | None:
        """Find what a name or number takes the place of: where it begins in the question before, and where it ends."""
        before = self.before.question
        if _NUMBER.fullmatch(name):
            places = [found.span() for found in _NUMBER.finditer(before)]
        elif any(letter.isupper() for letter in name):
            like = rf" {re.escape(preposition)} ((?:[A-Z][\w.'-]*)(?: [A-Z][\w.'-]*)*)"
            if preposition and (inside := [found.span(1) for found in re.finditer(like, before)]):
                return inside[-1]
            places = [(own.start, own.start + len(own.text)) for own in self.before.topics if own.start >= 0]
            places = places if len(places) < _LISTED else []  # one of a list
        else:
            return None
        behind = [place for place in places if before[: place[0]].lower().endswith(f" {preposition.lower()} ")]
        found = behind if preposition and behind else places
        return found[-1] if found else None


def _as_phrase(things: tuple[str, str]) -> str:
    noun, clause = things
    return f"{noun} who {clause}" if clause else noun
