"""Questions that follow another one: ``and where did she die?``, ``how many of them …?``, ``and in 1911?``.

What is left out is filled in from the question before and its answer, and it is said what was taken for what. The
question that is then answered stands for itself: it can be asked again, kept and shared without the one before. One
about several things is read of their kind, and what is planned is asked of them alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, cast

from kgsparql.answering.plan_question import common_profiler, translate
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.graphs.notes import Note
from kgsparql.linking.english_forms import is_past_form, is_person
from kgsparql.linking.words import roots_of, tokens
from kgsparql.plans import algebra as a
from kgsparql.plans.adapting import Those
from kgsparql.plans.arrays import read_plan_file
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.type_check import parts, terms_in
from kgsparql.plans.writing import in_words
from kgsparql.rdf.terms import IRI, Term, distinct, iris_in, printable
from kgsparql.reading.lexicon import glossary, languages, lexicon, longest_phrase, said_in
from kgsparql.reading.translation import Translation, language_in
from kgsparql.resources import packaged_toml

MOST_NAMES = 10  # answers that are named one by one where they are asked about together
_TAKEN, _ASKED_OF = "{!r} was taken for {}", "asked of: {}"
_NOBODY = "nothing before is {!r}: say its name"
_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]{2,})?")
_NUMBER = re.compile(r"(?<![\w-])\d[\d.,:-]*(?!\w)")
_PLACE = re.compile(r"\bthe (\w+) one\b", re.IGNORECASE)
_OF_LIST = re.compile(r"(?<!was )(?<!is )\bthe (?:first|last) one\b", re.IGNORECASE)
_OF_SOMETHING = re.compile(r"(?:what|who|which) (?:is|are|was|were) the ", re.IGNORECASE)
_ITS = re.compile(r"((?:[Ww]hat|[Ww]ho|[Ww]hich) (?:is|are|was|were) )?the ((?!.*\b(?:in|for|ones?)\b)[a-z][a-z -]*)")
"""Something of what the question before was about, where nothing else is said."""
_LISTED = 3  # names: that many are a list


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
    """The question before: what it named, and what answered it, where that was sure.

    :param several: what *they* are: the answers, the things of a table, what was counted; else what they were before.
    :param beside: things that stand beside those of a table: *they*, where they are of the same kind.
    :param kind: the class, or classes, that it asked for, where the graph does not say of what class *they* are.
    """

    question: str
    topics: tuple[Meant, ...] = ()
    answers: tuple[Meant, ...] = ()
    several: a.ItemSet | None = None
    beside: a.Items | None = None
    kind: a.ItemSet | None = None

    @classmethod
    def from_json(cls, told: Any) -> Before:
        """Take it from what ``answer_to_json`` wrote."""
        topics = [
            Meant(IRI(own["term"]["value"]), own["term"]["label"], own["mention"], own["start"])
            for own in told["linked"]
        ]
        best = [own["term"] for own in told["answers"] if own.get("best") and own["term"]["type"] == "uri"]
        answers = [Meant(IRI(own["value"]), own["label"]) for own in best if told["status"] == "answered"]
        topics.sort(key=lambda own: own.start)
        several, beside = _several_in(told, iris_in(own.term for own in answers))
        plan = () if (computed := told.get("computed")) is None else parts(read_plan_file(computed["plan"]))
        kind = next((one for one in plan if all(isinstance(own, a.Instances | a.Either) for own in parts(one))), None)
        return cls(told["question"], tuple(topics), tuple(answers), several, beside, kind)


def _several_in(told: Any, answers: tuple[IRI, ...]) -> tuple[a.ItemSet | None, a.Items | None]:
    """Return what *they* would be after an answer, and what else they may be."""
    plan = None
    if told["status"] == "answered" and (computed := told.get("computed")) is not None:
        plan = read_plan_file(computed["plan"])
        ends = [row[-1] for row in computed["rows"] if row[-1] is not None]
        if isinstance(plan, a.ItemTable):
            beside = dict.fromkeys(IRI(one["value"]) for one in ends if one["type"] == "uri")
            return plan.items, a.Items(tuple(beside)) if beside and not computed["is_cut"] else None
    if len(answers) > MOST_NAMES and isinstance(plan, a.ItemSet):
        return plan, None
    if len(answers) > 1:
        return a.Items(answers), None
    before = told.get("details", {}).get("they")
    return plan.items if isinstance(plan, a.Count) else before and cast("a.ItemSet", read_plan_file(before)), None


@frozen
class Completed:
    """A question with what it left out, and sentences that say what was taken for what."""

    text: str
    taken: tuple[str, ...] = ()


@lru_cache
def rules(language: str) -> SimpleNamespace:
    """Return the words of a language, as ``follow_ups.toml`` explains them; else those of English."""
    own = packaged_toml("reading/lexicon/follow_ups.toml")[language if language in languages() else lexicon().language]
    openings = sorted((one.replace("_", " ") for one in own["openings"].split()), key=len, reverse=True)
    words = {key: frozenset(v.split()) for key, v in own.items() if isinstance(v, str) and "{" not in v}
    words |= {key: dict(v) for key, v in own.items() if isinstance(v, Mapping)}
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
    completion = _Completion(before, rules(language), language, is_person)
    placed = completion.with_place(question)
    found = completion.of(placed.text)
    return replace(found, taken=(*placed.taken, *found.taken))


def read_after(session: Session, before: Before | None, language: str = "") -> None:
    """Read the question of a session in English, with what it leaves to the one before; what was taken is noted."""
    if before is not None:
        _fill_in(session, before, language)
    elif (found := _OF_LIST.search(session.question)) is not None:
        session.notes.append(session.say(_NOBODY).format(found[0]), code="follow_up")
    translate(session, language)
    if before is not None and not session.given:
        _take_up_several(session, before)


def _fill_in(session: Session, before: Before, language: str) -> None:
    search = None if session.linker is None else session.linker.search
    persons = roots_of(lexicon().persons)

    def is_person(term: Term) -> bool | None:
        (kinds,) = session.labels.shared_types([[term]])
        return None if not kinds else not persons.isdisjoint(roots_of(kinds))

    with session.within_budget():
        made = completed(session.question, before, language or language_in(before.question, search), is_person)
        session.question = made.text
        session.notes.extend(Note("follow_up", line) for line in made.taken)


_LOOKED_AT = 200  # things found before whose kind is looked up
_NAMED = 3  # of them, that a note names where they are too many


def _take_up_several(session: Session, before: Before) -> None:
    """Ask a question that says *they* or *the oldest* of what was found before, in words for all of their kind.

    What is read stands in English; the plan of it is then one of those things alone.
    """
    own = session.wording or Translation(session.question, session.question, lexicon().language, ())
    own = own if own.places else replace(own, places=tuple((t.start, t.end) * 2 for t in tokens(own.text)))
    if not (edits := _words_replaced(own, "")):
        return
    start, end, _ = edits[0]
    word = own.text[start:end].rpartition(" ")[2]
    said = own.original_words(word)
    if before.several is None:
        if word.lower() in rules(lexicon().language).sets:
            session.those = Those(a.Items(()), None, said)
            session.notes.append(session.say(_NOBODY).format(said), code="follow_up")
        return
    with session.within_budget():
        several, (members, kinds) = before.several, _with_kinds(before.several, session)
        if before.beside is not None:
            others, theirs = _with_kinds(before.beside, session)
            several, members = (before.beside, others) if theirs & kinds else (several, members)
        kind: a.ItemSet | None = before.kind
        if kinds:
            kind = a.Instances(max(sorted(kinds, key=str), key=kinds.__getitem__))
        if kind is not None:
            named = in_words(kind, session.compared_labels(terms_in(kind)).__getitem__)
            made = own.reworded(_words_replaced(own, named))
            session.question, session.those = made.text, Those(several, kind, said)
            session.translation, session.reworded = (made, None) if session.translation is not None else (None, made)
            names = [printable(one, 60) for one in session.labels(members).values()]
            told = "; ".join(names if len(names) <= MOST_NAMES else [*names[:_NAMED], f"… ({len(names)})"])
            spoken = rules(own.language)
            is_said = not {*re.findall(r"\w+", said.lower())}.isdisjoint(spoken.sets | spoken.possessives)
            told = session.say(_TAKEN).format(said, told) if is_said else session.say(_ASKED_OF).format(told)
            session.notes.append(told, code="follow_up")


def _with_kinds(items: a.ItemSet, session: Session) -> tuple[tuple[IRI, ...], Counter[IRI]]:
    """List what is in a set, and how many of it are of each class."""
    terms = items.terms if isinstance(items, a.Items) else ()
    rows = () if terms else session.graph.select(compiled(items, vocabulary=session.vocabulary))
    members = iris_in(dict.fromkeys((*terms, *(row["answer"] for row in rows))))[:_LOOKED_AT]
    classes = common_profiler(session).classes_of(members)
    return members, Counter(kind for some in classes.values() for kind in some)


def _words_replaced(read: Translation, noun: str) -> list[tuple[int, int, str]]:
    """List what stands for things found before in an English text, and how it is said with the noun for their kind."""
    table = {**rules(lexicon().language).said_of_several, **rules(read.language).said_of_several}
    own, shaping = tokens(read.text), lexicon().function_words | lexicon().imperatives
    texts, found, at = [*(token.text for token in own), "?"], list[tuple[int, int, str]](), 0
    while at < len(own):
        length, made = longest_phrase(table, texts[at:]) or (0, "")
        of_these = texts[at] in lexicon().possessive_pronouns and not shaping.issuperset(texts[:at])  # films and their
        if length and not of_these:
            words = made.format(noun).replace("s's", "s'")
            last = own[min(at + length, len(own)) - 1]
            found.append((own[at].start, last.end, words if at else words[:1].upper() + words[1:]))
        best = longest_phrase(lexicon().superlatives, texts[at:-1])
        if best is not None and at + best[0] == len(own) and shaping.issuperset(texts[:at]):  # who is the oldest
            found.append((own[-1].end, own[-1].end, f" of the {noun}"))
        at += max(1, length)
    return found


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
        filled = self._with_names(text)
        begins = bare.lower().partition(" ")[0]
        is_things = self.language == "en" and begins in self.rules.possessives and not is_person(bare)
        is_noun = is_things or (_OF_SOMETHING.match(self.before.question) and begins not in self.rules.asking)
        if opening and filled.taken and is_noun:  # and its homepage?
            return replace(filled, text=f"What is {filled.text.rstrip(' ?.!')}?")
        if (
            opening
            and not self._is_several(begins, bare)
            and (made := self._in_place(filled.text.rstrip(" ?.!¿¡").lstrip("¿¡ "), bare)) is not None
        ):
            return replace(made, taken=(*filled.taken, *made.taken))
        if filled.taken:
            return filled
        noun = _ITS.fullmatch(bare) if opening and self.language == "en" else None
        topics = self.before.topics or self.before.answers[:1]
        is_best = noun is not None and longest_phrase(lexicon().superlatives, noun[2].split()) is not None  # the oldest
        if noun is not None and topics and not is_best:  # and the license?
            asked = f"{noun[1] or 'What is '}the {noun[2]} of {topics[-1].label}"
            return Completed(f"{asked[:1].upper()}{asked[1:]}?", (self._told_sentence(_TAKEN, bare, asked),))
        return Completed(text if opening and len(bare.split()) > 1 else question)

    def _told_sentence(self, sentence: str, *values: str) -> str:
        return said_in(self.language).get(sentence, sentence).format(*values)

    def with_place(self, text: str) -> Completed:
        """Put an answer to the question before in the place of *the first one*; ask back if there is none."""
        answers = self.before.answers
        places = {"first": 1, "last": len(answers), **lexicon().ordinals}
        if (found := _PLACE.search(text)) is None or (at := places.get(found[1].lower())) is None:
            return Completed(text)
        if not 0 < at <= len(answers) > 1:
            return Completed(text, (self._told_sentence(_NOBODY, found[0]),))
        whom = answers[at - 1].label
        return Completed(text.replace(found[0], whom), (self._told_sentence(_TAKEN, found[0], whom),))

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
            is_there = said in self.rules.places and before in lexicon().auxiliaries  # how many are there
            if word.start() < done or is_there or self._is_several(said, text):
                continue
            if self._names_somebody(text[: word.start()]):
                break  # `Marie Curie and her husband`: it is hers
            if (whom := self._name_of_pronoun(said, is_owner=is_owner)) is None:
                continue
            name, end = self.rules.place.format(place=whom) if said in self.rules.places else whom, word.end()
            if is_owner and noun is not None:
                name, end = self.rules.owner.format(owner=whom, noun=noun[0]), noun.end()
            start = word.start()
            if at and text[start - 1 : start] == "-":  # where is he: où est-il, où Pierre Curie est-il
                start = found[at - 1].start()
                name = f"{name} {text[start:end]}"
            made, done = f"{made}{text[done:start]}{name}", end
            taken.append(self._told_sentence(_TAKEN, word[0], whom))
        whole = made + text[done:]
        return Completed(whole[:1].upper() + whole[1:] if taken else text, distinct(taken))

    def _is_several(self, said: str, text: str) -> bool:
        """Whether a pronoun stands for all that was found; one that may be of a person, where these are persons."""
        own, answers = self.rules, self.before.answers
        if self.before.several is None or said not in own.sets | own.owners_of_several:
            return False
        may_be_one = said in own.persons | own.owners_of_one
        is_one = not own.verbs_of_one.isdisjoint(text.lower().split())
        return not may_be_one or (not is_one and any(self.is_person(one.term) for one in answers[:1]))

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
                if words[-1].endswith(glossary(self.language).endings["plural"]):  # ¿y dónde murieron?
                    return Completed(text)
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
