"""How well words of a question name a predicate, and which way the predicate must then be followed.

A label has a form, and the role that an argument has in its clause goes with one direction of it: Ann's ``author`` is
whom ``author`` leads to, whom Ann ``advised`` is what ``advised by`` leads to Ann from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache, partial
from itertools import repeat, takewhile
from typing import Literal as OneOf

import numpy as np

from kgsparql.dataclasses import dataclass
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.linking.ranking import Ranker, Scores
from kgsparql.linking.words import LABEL_OPENERS, root, roots_of, stem, words_of
from kgsparql.plans.denotation import Role
from kgsparql.plans.weights import weights
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, distinct, split_camel_case, zip_equal
from kgsparql.rdf.vocabulary import TAXONOMY
from kgsparql.reading.lexicon import Lexicon
from kgsparql.schema.patterns import patterns

_W = weights("label")
NEAR: float = _W.near
SAME: float = _W.same
BY_CLASS: float = _W.by_class
_SHORT = 3  # letters of a word that may end another one by chance

Form = OneOf["noun", "agent", "by", "verb", "of"]
"""O is the N of S; the same of who does something; S was V-ed by O; S V-s O; S is the N of O."""


@dataclass()
class LabelFit:
    """Compares words of one question with labels of a graph.

    :ivar roots: the roots of the words of a label that carry what it says.
    :ivar label_roots: the same of the label of a predicate.
    :ivar text: the label of a predicate as words: no dashes, no unit at its end.
    :ivar form: what the label of a predicate says of the two ends.
    """

    labels: TermLabels
    ranker: Ranker
    lexicon: Lexicon
    named: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.locations = roots_of(self.lexicon.locations)
        self.contained = roots_of(self.lexicon.containment)
        self._suffixes = tuple(self.lexicon.agent_suffixes)
        self.roots = partial(_roots, function=self.lexicon.function_words)
        self._cosines = dict[tuple[str, str], float]()
        # Kept for the question: it asks thousands of times the same of a few labels.
        self._plain, self.text = cache(self._read_plain), cache(lambda one: self._plain(self.labels([one])[one]))
        self._letters, self.word = cache(self._read_letters), cache(self._read_word)
        self.form, self.is_other_end = cache(self._read_form), cache(self._is_other_end)
        self.holds, self.is_location = cache(self._holds), cache(self._is_location)
        self._of_class = cache(lambda kind: self.roots(*self.names([kind])))
        self.label_roots = cache(lambda predicate: self.roots(self.text(predicate)))

    def _read_plain(self, label: str) -> str:
        text = _DASHES.sub(" ", split_camel_case(label)).strip().lower()
        name, _, last = text.rpartition(" ")
        is_unit = last.strip("()") in self.lexicon.units and not name.endswith(" per")  # miles per gallon
        return name if name and is_unit else text

    def compare(self, texts: Sequence[str], predicates: Sequence[IRI], preposition: str = "") -> None:
        """Compare words, alone and together, with the labels of predicates at once, as far as that is not known."""
        self.labels(predicates)
        if self.ranker.by_meaning:
            more = [f"{text} {preposition}" for text in texts] if preposition else []
            self._compare([*texts, " ".join(texts), *more], map(self.text, predicates))

    def _compare(self, texts: Iterable[str], labels: Iterable[str]) -> None:
        ours, theirs = [*distinct(filter(None, texts))], [*distinct(filter(None, labels))]
        theirs = [label for label in theirs if any((text, label) not in self._cosines for text in ours)]
        if ours and theirs:
            found = np.clip(self.ranker.similarities(ours, theirs), 0.0, _W.most_by_meaning)
            for text, row in zip_equal(ours, found.tolist()):
                self._cosines.update({(text, label): cosine for label, cosine in zip_equal(theirs, row)})

    def cosine(self, text: str, label: str) -> float:
        """How alike a text and a label are in meaning; 0 without an embedder."""
        if not (self.ranker.by_meaning and text and label):
            return 0.0
        if (text, label) not in self._cosines:
            self._compare([text], [label])
        return self._cosines[text, label]

    # --- words and labels

    def says(self, word: str, label: str) -> bool:
        """Whether a label has a word, or a synonym, and is not only like it."""
        return self._letters(word, label) >= SAME

    def _read_word(self, word: str, label: str) -> float:
        """How well a label accounts for a word, in [0, 1]."""
        if by_letters := self._letters(word, label):
            return by_letters
        cosine = self.cosine(self.lexicon.irregular.get(word, word), label)
        return cosine if word not in self.named or cosine >= _W.near_all_the_same else 0.0

    def _read_letters(self, said: str, label: str) -> float:
        own, word = self.roots(label), self.lexicon.irregular.get(said, said)
        if root(word) in own or root(said) in own:
            parts = label.split()
            is_same = stem(said) in set(map(stem, parts))  # and no synonym
            is_same = is_same or any(len(one) > _SHORT and said.endswith(one) for one in parts)  # birthplace: a place
            return _W.has_word + _W.only_word / len(own) - (0.0 if is_same else _W.synonym)
        if said == label.replace(" ", ""):  # as the column is called: fullname
            return SAME
        if self.is_other_end(word, label):
            return _W.other_end
        names = (*own, *label.split())
        starts = word[:-1], self.lexicon.shortened.get(word, word)  # destairport: a destination
        if len(word) > 4 and any(len(one) > 4 and (one.startswith(starts) or word.startswith(one)) for one in names):
            return SAME
        act, bare = tuple(self.lexicon.act_suffixes), stem(said)  # a trial that is completed has a completion date
        if len(bare) > 4 and any(one.startswith(bare) and one.endswith(act) for one in label.split()):
            return SAME
        return 0.0

    def phrase(self, texts: Sequence[str], predicate: IRI, preposition: str = "") -> list[float]:
        """For each word of a phrase, how well a predicate accounts for it.

        A phrase may be alike as a whole (`passed away` and `date of death`), a verb with its preposition.
        """
        label = self.text(predicate)
        if not unit_in(label) <= roots_of(texts):  # what a price is in is no price
            return [0.0] * len(texts)
        own = [self.word(text, label) for text in texts]
        if len(texts) > 1 and min(own) < NEAR and self.roots(label).isdisjoint(map(root, texts)):
            whole = self.cosine(" ".join(texts), label)
            own = [max(whole, one) for one in own] if whole >= _W.near_phrase else own
        if preposition and len(texts) == 1 and own[0] < SAME:
            own = [max(own[0], self.cosine(f"{texts[0]} {preposition}", label) - _W.with_preposition)]
        if more := _roots_of_iri(predicate):
            own = [max(one, _W.by_iri * (root(text) in more)) for one, text in zip_equal(own, texts)]
        return own

    def whole(self, texts: Sequence[str], predicate: IRI) -> float:
        """How well a predicate accounts for all words of a phrase; 0 where it leaves one out."""
        own = self.phrase(texts, predicate)
        return sum(own) / len(own) if own and min(own) >= NEAR else 0.0

    def with_classes(self, texts: Sequence[str], own: Sequence[float], classes: Collection[IRI]) -> list[float]:
        """The same for each word, where the classes of what a predicate leads to account for it, too."""
        called = self.roots_of(classes)
        return [max(one, BY_CLASS * (root(text) in called)) for one, text in zip_equal(own, texts)]

    def hinted(self, predicate: IRI, hints: Sequence[str]) -> float:
        """How well a predicate has one of some hints in its name, of which the first are the likeliest.

        One of several words stands there as it is: `made by` does not say what something is `made of`. A hint with `-`
        before it is of what runs the other way: the `age` of the youngest.
        """
        if not hints:
            return 0.0
        own, label = self.label_roots(predicate), self.text(predicate)
        is_in = [hint in label if " " in hint else self.roots(hint.removeprefix("-")) <= own for hint in hints]
        return 1 - _W.later_hint * is_in.index(True) if True in is_in else 0.0

    def names(self, classes: Collection[IRI]) -> list[str]:
        """The names of classes, in small letters."""
        found = self.labels(list(classes))
        return [split_camel_case(found[kind]).lower() for kind in classes]

    def roots_of(self, classes: Collection[IRI]) -> frozenset[str]:
        """The roots of the words in the names of classes."""
        return frozenset[str]().union(*map(self._of_class, classes))

    def _is_other_end(self, word: str, label: str) -> bool:
        """Whether a word names the relation of a label from its other end: `narrower` for `broader`."""
        stems, own = {*map(stem, label.split())}, self.roots(label)
        # Of words of one root, as `employer` and `work` are, just the one that stands there is meant.
        return stem(word) not in stems and any(
            (stem(one) in stems) if root(one) == root(word) else (root(one) in own and root(word) not in own)
            for one in self.lexicon.other_ends(word)
        )

    def is_narrower(self, label: str, texts: Collection[str]) -> bool:
        """Whether a label says which of several is meant, and a question does not: `first awarded in`."""
        return not self.lexicon.superlatives.keys() & words_of(label) <= {*texts}

    def is_of_other(self, label: str, noun: str) -> bool:
        """Whether a noun is not what a label names, but what that is of: a `film manager` is no film."""
        own = self.lexicon
        *of, last = [*takewhile(lambda word: word not in own.prepositions, words_of(label))] or [noun]
        light = own.identity_nouns | own.joining_words | own.measure_words | own.moments | own.light_words
        return stem(noun) in {*map(stem, of)} - {stem(last)} and not (own.is_participle(last) or light & {last, noun})

    def unsaid(self, label: str, texts: Collection[str]) -> str:
        """The word for a man, a woman or another that a label does not say: `daughter`, `grandchild`, of a `child`."""
        own, sex_of = {*map(stem, words_of(label))}, self.lexicon.sex_of
        for text in texts:
            rests = [text.removeprefix(one) for one in self.lexicon.distancing if text.startswith(one)]
            is_said = sex_of(text) and (root(text) in self.roots(label) or self.is_other_end(text, label))
            if stem(text) not in own and (is_said or any(sex_of(rest) or stem(rest) in own for rest in rests)):
                return text
        return ""

    def likeness(self, texts: Sequence[str], names: Sequence[str]) -> Scores:
        """Tell how well each name accounts for each text of one or more words, shape ``(n_texts, n_names)``."""
        plain = [*map(self._plain, names)]
        rows = {word: np.zeros(len(names)) for text in texts for word in text.split()}
        if self.ranker.by_meaning:
            self._compare(rows, plain)
        rows = {word: np.array([*map(self.word, repeat(word), plain)]) for word in rows}
        found = np.array([np.mean([rows[word] for word in text.split()], axis=0) for text in texts])
        if self.ranker.by_meaning and len(texts) and len(names):
            found = np.maximum(found, np.clip(self.ranker.similarities(texts, plain), 0.0, _W.most_by_meaning))
        return found.reshape(len(texts), len(names))

    def covered(self, texts: Sequence[str], names: Sequence[str]) -> list[float]:
        """For each name, how many of some words it accounts for, each by how well it does."""
        found = self.likeness(texts, names)
        return [*map(float, np.where(found >= NEAR, found, 0.0).sum(axis=0))]

    # --- directions

    def _read_form(self, predicate: IRI) -> Form:
        lexicon, found = self.lexicon, [*words_of(self.text(predicate))]
        while found and found[0] in LABEL_OPENERS:
            del found[0]
        if not found or found[-1] in lexicon.by_words:
            return "by" if found else "noun"
        first, last = found[0], found[-1]
        is_one_of = first in lexicon.belonging and found[1:2] and found[1] in lexicon.of_words  # member of sports team
        if last in lexicon.of_words or is_one_of:
            return "of"
        if last in lexicon.prepositions or (len(found) > 1 and lexicon.is_participle(last)):
            return "verb"  # `responsible for`, `located in`, `award received`
        is_verb = first in lexicon.verbs or (first.endswith("ed") and len(first) > 4)
        is_whole = len(found) == 1 or found[1] in lexicon.prepositions or found[1] in lexicon.determiners
        if first in lexicon.verb_labels or (is_verb and is_whole) or (len(found) == 1 and first in lexicon.edge_verbs):
            return "verb"
        is_agent = last in lexicon.agents or (last.endswith(self._suffixes) and last not in lexicon.no_agents)
        return "agent" if is_agent else "noun"

    def _holds(self, predicate: IRI) -> bool:
        """Whether the subject contains the object: `has part`, `contains`, `member`, `is location of`."""
        label = self.text(predicate)
        found = words_of(label)
        if found[-1:] == ("of",):
            return len(found) > 1 and found[-2] in self.lexicon.location_labels
        is_within = found[-1:] == ("location",) or "located" in found
        return bool(self.roots(label) & self.contained) and not is_within

    def says_act(self, verb: str, predicate: IRI) -> bool:
        """Whether a predicate says something of what was done by a verb: by whom it was *given by*, *given on*."""
        first, *rest = self.text(predicate).split()
        return root(first) == root(verb) and len(rest) == 1 and rest[0] in self.lexicon.prepositions

    def is_of_life(self, predicate: IRI) -> bool:
        """Whether a predicate says how something itself began or ended, and so not when anything else was."""
        return not self.label_roots(predicate).isdisjoint(roots_of(self.lexicon.life_words))

    def _is_location(self, predicate: IRI) -> bool:
        """Whether a predicate says nothing but where or in what something is."""
        own = self.label_roots(predicate)
        return bool(own) and own <= self.locations

    def goes_down(self, step: Step) -> bool:
        """Whether a step leads from what holds something to what is in it: from a country to its cities."""
        is_inside = self.is_location(step.predicate) or step.predicate in TAXONOMY
        return is_inside and step.is_forward == self.holds(step.predicate)

    def allows(self, step: Step, role: Role, noun: str) -> bool:
        """Whether the role of the argument that a step starts from goes with its direction.

        :param noun: the word that names the predicate.
        """
        label, form = self.text(step.predicate), self.form(step.predicate)
        if (
            form == "noun"
            and self.lexicon.is_participle(noun)
            and self.lexicon.is_present(label)
            and stem(noun) == stem(label)
        ):
            form = "verb"  # who is `maintained` by somebody that `maintains`
        if form == "of" and noun and root(noun) in self.roots(label.partition(" of ")[2]):
            form = "noun"  # the party of a `member of political party`
        if form == "verb" and self.lexicon.is_participle(noun) and self._is_object_in(noun, label):
            return True  # who `received the award` was awarded it, and so it was to them
        is_forward = step.is_forward != bool(noun and self.is_other_end(noun, label))
        is_doer = bool(noun) and self.says(noun, label)
        match role:
            case "of":
                good = form != "of" and not (form == "verb" and noun.endswith(self._suffixes))
            case "value":
                good = form == "of"
            case "subject":
                good = form in {"verb", "noun", "of"} or (form == "agent" and not is_doer)
            case "object":
                good = form in {"by", "agent"}
            case "by":
                good = form == "verb"
            case "prep":
                good = self.holds(step.predicate) or (form == "agent" and is_doer)
            case "where":
                good = not self.holds(step.predicate)
            case _:
                return True
        return good == is_forward

    def _is_object_in(self, word: str, label: str) -> bool:
        """Whether a word is no verb of a label, but one that stands beside its verb."""
        verbs = set(map(stem, filter(self.lexicon.is_participle, label.split())))
        return bool(verbs) and stem(word) in {*map(stem, label.split())} - verbs

    def is_turned(self, step: Step, role: Role | OneOf["kind"], said: Sequence[str], *, is_one_kind: bool) -> bool:
        """Whether a step is gone the other way than its role allows, where only the way tells both ends.

        :param role: of the argument; of a ``kind``, the kinds are asked for.
        :param is_one_kind: what is at both ends is of one kind.
        """
        own: Role = "of" if role == "kind" else role
        noun = self.word_for(step, said) if own not in {"any", "prep"} else ""
        return bool(noun) and not self.allows(step, own, noun) and (own in {"of", "value"} or is_one_kind)

    def are_of_statement(self, verb: str, *ends: IRI) -> bool:
        """Whether a verb names both ends of a statement: who borrowed a book is the `borrower` of a `borrowed item`."""
        doer, done = sorted(map(self.text, ends), key=lambda name: len(name.split()))
        is_done = len(done.split()) > len(doer.split()) == 1 and self.lexicon.is_participle(done.split()[0])
        return is_done and all(name.startswith(stem(verb)) for name in (doer, done))

    def names_end(self, texts: Sequence[str], predicate: IRI, hints: Iterable[str]) -> bool:
        """Tell whether words name what a predicate leads to, with nothing unsaid in its label but what it measures."""
        said, own = roots_of(texts), self.label_roots(predicate)
        return bool(own & said) and own <= said | roots_of((*self.lexicon.measure_words, *hints))

    def means_class(self, texts: Sequence[str], classes: Collection[IRI]) -> bool:
        """Tell whether words mean a class, but do not have its name: a *wife*, or to *marry*, a marriage."""
        said, stems, names = roots_of(texts), {*map(stem, texts)}, self.names(classes) if texts else ()
        return any(said & self.roots(name) and stems.isdisjoint(map(stem, name.split())) for name in names)

    def word_for(self, step: Step, said: Iterable[str]) -> str:
        """The first of some words that says a step or its other end; empty where none does."""
        label = self.text(step.predicate)
        return next((text for text in said if self.says(text, label) or self.is_other_end(text, label)), "")

    def is_said_so(self, predicate: IRI, noun: str, preposition: str) -> bool:
        """Whether words are those of the label, preposition and all: `named after`; its direction is then said, too."""
        label = self.text(predicate)
        return bool(preposition) and preposition in label.split() and root(noun) in self.roots(label)


_DASHES = re.compile(r"[–—\-\s]+")


def unit_in(label: str) -> frozenset[str]:
    """The root of the word for a unit at the end of a label of several: `price currency`."""
    name, _, last = label.rpartition(" ")
    return roots_of({last} & patterns()["unit"] if name else ())


@lru_cache(maxsize=50_000)
def _roots(label: str, function: frozenset[str]) -> frozenset[str]:
    found = words_of(label)
    return frozenset(root(word) for word in found if word not in function) or frozenset(map(root, found))


@lru_cache(maxsize=20_000)
def _roots_of_iri(predicate: IRI) -> frozenset[str]:
    """The words of an IRI of several names, beyond its label: Freebase's `film.actor.film..film.performance.film`."""
    name = predicate.value.rsplit("/", 1)[-1]
    if name.count(".") < 2:
        return frozenset()
    return frozenset(root(word) for part in name.split(".") for word in part.split("_") if len(word) > 2)
