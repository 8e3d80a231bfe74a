"""The order of words: a question of another language, whose words are known, as English would have it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal as OneOf

from kgsparql.dataclasses import dataclass, replace
from kgsparql.reading.glossary import Glossary
from kgsparql.reading.lexicon import Lexicon

Kind = OneOf[
    "name", "noun", "adjective", "number", "pronoun", "determiner", "preposition", "asking", "auxiliary", "verb",
    "joint", "negation", "adverb", "word", "clause",
]  # fmt: skip
NOUNS = frozenset({"noun", "name", "word", "number"})
NOMINAL = NOUNS | {"pronoun", "determiner", "adjective"}
BASE, PAST, PARTICIPLE = range(3)  # forms of a verb


@dataclass(frozen=True, slots=True)
class Unit:
    """Words of a question that stand together, and what they are in English.

    :param start: in characters of the question, as is ``end``.
    :param said: normalised, as in the question.
    :param forms: of a verb: base form, past, participle.
    :param sign: a comma or the like that stands before.
    :param inner: the units of a relative clause, in English order.
    """

    start: int
    end: int
    said: str
    english: str
    kind: Kind
    forms: tuple[str, ...] = ()
    sign: str = ""
    inner: tuple[Unit, ...] = ()

    @property
    def is_verb(self) -> bool:
        """Whether it is a verb or an auxiliary."""
        return self.kind in {"verb", "auxiliary"}

    def in_form(self, form: int) -> Unit:
        """Return a verb in another form; what has no forms, as it is."""
        return replace(self, english=self.forms[form]) if self.forms else self

    def as_auxiliary(self, english: str) -> Unit:
        """Return what English says in its place before a verb."""
        return replace(self, english=english, kind="auxiliary", forms=())


class WordOrder:
    """What the orders of all languages have in common: where phrases end, and how English has a verb."""

    def __init__(self, glossary: Glossary, lexicon: Lexicon) -> None:
        self.glossary, self.lexicon, self.words = glossary, lexicon, glossary.words
        self.written = lexicon.written

    def is_asking(self, unit: Unit) -> bool:
        """Tell whether something is asked for, or a relative clause begins."""
        return unit.kind == "asking" or any(word in self.lexicon.question_words for word in unit.english.split())

    def is_adverbial(self, unit: Unit) -> bool:
        """Tell whether a unit opens, or asks for, a place, a time or a manner."""
        asks_for = self.lexicon.question_words.get(unit.english, "")
        return unit.kind == "preposition" or asks_for in {"place", "time", "manner"}

    def end_of_phrase(self, units: Sequence[Unit], *, with_clauses: bool = True) -> int:
        """Return how many units are the noun phrase they begin with, with what belongs to it; 0 without a noun."""
        at, has_noun = 0, False
        while at < len(units):
            unit = units[at]
            if unit.kind in NOMINAL:
                if has_noun and self._begins_phrase(unit, units[at - 1], units[0]):
                    break
                has_noun = has_noun or unit.kind in NOUNS | {"pronoun"}
            elif has_noun and (unit.kind == "joint" or unit.english.split()[:1] == [self.written["of"]]):
                inner = self.end_of_phrase(units[at + 1 :], with_clauses=with_clauses)
                if not inner:
                    break
                at += inner
            elif has_noun and with_clauses and unit.kind == "asking":
                return len(units)
            elif not has_noun or unit.kind != "clause":
                break
            at += 1
        return at if has_noun else 0

    def _begins_phrase(self, unit: Unit, before: Unit, first: Unit) -> bool:
        """Tell whether a phrase that has a noun is over: *wrote | a book*, *Tim Burton | Batman*."""
        if before.english.endswith(f"'{self.lexicon.possessive}") or unit.kind == "number":
            return False
        is_other = unit.kind == "name" and first.english in self.lexicon.indefinites
        return is_other or unit.kind in {"determiner", "adjective"} or before.kind in {"name", "pronoun"}

    def with_governed(self, units: Sequence[Unit], verb: Unit) -> list[Unit]:
        """Return what stands beside a verb, with the prepositions that English has after this verb."""
        governed, base = self.glossary.pairs["governed"], verb.in_form(BASE).english
        return [replace(unit, english=governed.get(f"{base}.{unit.said}", unit.english)) for unit in units]

    def is_past(self, auxiliary: Unit, verb: Unit) -> bool:
        """Tell whether an auxiliary makes a verb past, and no passive: *hat geschrieben*, *ist gestorben*."""
        is_be = auxiliary.english in self.lexicon.be_forms and verb.forms[:1]
        return auxiliary.english in self.lexicon.have_forms or (
            bool(is_be) and verb.forms[BASE] in self.words["perfect_with_be"]
        )

    def is_passive(self, verb: Unit) -> bool:
        """Tell whether English says a verb with *be* only: *was born*."""
        return len(set(verb.forms)) == 1 and self.lexicon.is_participle(verb.forms[BASE])

    def conjugated(self, auxiliaries: Sequence[Unit], verb: Unit, *, is_split: bool) -> tuple[list[Unit], list[Unit]]:
        """Return the auxiliaries that English has, and the verb: *was* and *born*, *did* and *die*.

        :param is_split: the subject, or a negation, stands between them.
        """
        first = auxiliaries[0] if auxiliaries else verb
        is_past = bool(auxiliaries) and self.is_past(auxiliaries[-1], verb)
        if auxiliaries and not is_past:
            is_done = auxiliaries[-1].english in self.lexicon.be_forms
            return [*auxiliaries], [verb.in_form(PARTICIPLE if is_done else BASE)]
        if self.is_passive(verb):
            return [first.as_auxiliary(self.written["was"])], [verb.in_form(PARTICIPLE)]
        return [first.as_auxiliary(self.written["did"])] * is_split, [verb.in_form(BASE if is_split else PAST)]


class VerbLastOrder(WordOrder):
    """Orders the units of one question in a language whose verbs stand at the end of clauses."""

    def question(self, units: Sequence[Unit]) -> list[Unit]:
        """Order a whole question; some units are added, such as ``did``."""
        own = self._with_clauses(list(units))[0]
        for at in range(1, len(own)):  # …, starben aber dort
            if own[at].kind == "joint" and own[at - 1].sign and own[at - 1].is_verb:
                own[at - 1 : at + 1] = [own[at], replace(own[at - 1], sign="")]
        (_, first), *others = self._joined_clauses(own)
        return _without_clauses([*self._main(first), *self._further_all(others)])

    def _further_all(self, others: Sequence[tuple[list[Unit], list[Unit]]]) -> list[Unit]:
        return [unit for joint, segment in others for unit in (*joint, *self._further_clause(segment))]

    # --- Parts

    def _length_of_opening(self, units: Sequence[Unit], at: int) -> int:
        """Return how many units are a relative pronoun after a comma, with its preposition; 0 where there is none."""
        last = at + (units[at].kind == "preposition")
        is_relative = any(unit.said in self.glossary.pairs["relatives"] for unit in units[last : last + 1])
        has_verb = any(unit.is_verb for unit in units[last:]) or units[-1].kind == "word"  # not: A, der Sohn, oder B
        return last + 1 - at if is_relative and units[at].sign == "," and has_verb else 0

    def _with_clauses(self, units: list[Unit], at: int = 0, *, is_inner: bool = False) -> tuple[list[Unit], int]:
        """Make one unit of each relative clause; return them all, and the place after them.

        :param is_inner: they are such a clause themselves, which ends at a comma after its verb.
        """
        found = list[Unit]()
        while at < len(units) and not (is_inner and units[at].sign and found and found[-1].is_verb):
            opening = self._length_of_opening(units, at)
            if not opening:
                found.append(units[at])
                at += 1
                continue
            body, end = self._with_clauses(units, at + opening, is_inner=True)
            inner = self._relative_clause(units[at : at + opening], body)
            found.append(Unit(units[at].start, units[end - 1].end, "", "", "clause", inner=tuple(inner)))
            at = end
            if at < len(units) and not self._length_of_opening(units, at):
                units[at] = replace(units[at], sign="")
        return found, at

    def _joined_clauses(self, units: list[Unit]) -> list[tuple[list[Unit], list[Unit]]]:
        """Split at what joins clauses: each with its joint, if it has one."""
        found, begun, joint = list[tuple[list[Unit], list[Unit]]](), 0, list[Unit]()
        for at, unit in enumerate(units):
            is_joint = unit.kind == "joint" and self._joins_clauses(units[begun:at], units[at + 1 :])
            if is_joint or (at > begun and unit.sign and (unit.sign in "?!" or self._begins_question(units[at:]))):
                found.append(([*joint], units[begun:at]))
                joint, begun = [unit] * is_joint, at + is_joint
        return [*found, (joint, units[begun:])]

    def _begins_question(self, units: Sequence[Unit]) -> bool:
        """Tell whether a question begins, with or without a preposition."""
        return any(unit.kind == "asking" for unit in units[: 1 + (units[0].kind == "preposition")])

    def _joins_clauses(self, before: Sequence[Unit], after: Sequence[Unit]) -> bool:
        """Tell whether what stands before and after ``and`` are clauses of their own."""
        own = [unit for unit in takewhile(lambda unit: unit.kind != "joint", after) if unit.kind != "negation"]
        if not all(any(unit.is_verb for unit in units) for units in (before, own)):
            return False
        return own[0].is_verb or own[0].kind == "asking" or before[-1].is_verb

    # --- Clauses

    def _main(self, units: list[Unit]) -> list[Unit]:
        """Order a main clause, whose finite verb is the first or second part of it."""
        units = self._each_first(units)
        if units and units[0].english in self.lexicon.imperatives and units[-1].said in self.words["particles"]:
            units = units[:-1]  # *liste … auf*
        at = next((i for i, unit in enumerate(units) if unit.is_verb), None)
        if at is None:
            return units
        before = units[:at]
        finite, rest = self._with_particle(units[at], units[at + 1 :])
        middle, verbs, after = self._final_verbs(rest, is_due=self._needs_verb(finite))
        if finite.kind == "auxiliary" and not verbs:
            return self._with_copula(before, finite, rest)
        main = next((unit for unit in verbs if unit.kind == "verb"), finite)
        is_passive = bool(verbs) and self._is_done(finite, main)
        if is_passive:
            middle = self._with_agent(middle, is_whole=not before)
        is_subject = bool(before) and self._is_subject(before[0], finite, middle, is_passive=is_passive)
        end = 0 if is_subject else self.end_of_phrase(middle)
        negation, more = self._split_negation(middle[end:])
        first, last = self._verb_group(finite, main, is_split=not is_subject or bool(negation))
        return self.with_governed([*before, *first, *middle[:end], *negation, *last, *more, *after], main)

    def _each_first(self, units: list[Unit]) -> list[Unit]:
        """Put what something is asked for each of before the question."""
        for at in range(1, len(units) - 1):
            if units[at].kind == "preposition" and units[at + 1].english in self.lexicon.distributives:
                end = at + 1 + self.end_of_phrase(units[at + 1 :])
                rest = [*units[:at], *units[end:]]
                return [*units[at:end], replace(rest[0], sign=","), *rest[1:]]
        return units

    def _needs_verb(self, finite: Unit) -> bool:
        """Tell whether a verb stands at the end of the clause of another one: *hat*, *wurde*."""
        return finite.kind == "auxiliary" and (
            finite.english in self.lexicon.have_forms or finite.said in self.words["become"]
        )

    def _is_done(self, finite: Unit, verb: Unit) -> bool:
        """Tell whether a participle says what is done to the subject: not ``ist gestorben``."""
        is_be = finite.kind == "auxiliary" and finite.english in self.lexicon.be_forms
        return is_be and verb.kind == "verb" and not self.is_past(finite, verb)

    def _verb_group(self, finite: Unit, verb: Unit, *, is_split: bool) -> tuple[list[Unit], list[Unit]]:
        """Return what stands before the subject, and after it; of two auxiliaries, the finite one."""
        if verb.kind != "verb":
            return [finite], []
        return self.conjugated([finite] if finite.kind == "auxiliary" else [], verb, is_split=is_split)

    def _with_copula(self, before: list[Unit], finite: Unit, rest: list[Unit]) -> list[Unit]:
        """Order a clause without another verb: ``X is Y``, ``X has Y``."""
        is_have = finite.english in self.lexicon.have_forms
        if is_have and not (before and self._is_subject(before[0], finite, rest)):
            end = self.end_of_phrase(rest)
            did, have = (replace(finite, english=self.written[word]) for word in ("did", "have"))
            return [*before, did, *rest[:end], have, *rest[end:]]
        return [*before, finite, *self._with_adjective(rest)]

    def _with_adjective(self, units: list[Unit]) -> list[Unit]:
        """Put an adjective before the preposition that belongs to it: ``compatible with X``."""
        last = len(units) - (bool(units) and units[-1].kind == "clause")
        if not last or units[last - 1].kind != "adjective":
            return units
        own = (i for i, unit in enumerate(units[:last]) if unit.kind == "preposition")
        at = next((i for i in own if units[i].english not in self.lexicon.of_words), last - 1)
        return [*units[:at], units[last - 1], *units[at : last - 1], *units[last:]]

    def _is_subject(
        self, first: Unit, finite: Unit, middle: list[Unit], *, is_passive: bool = False, is_relative: bool = False
    ) -> bool:
        """Tell whether what stands before the verb is its subject, or what a relative pronoun stands for."""
        if self.is_adverbial(first) or first.said in self.words["objects"]:
            return False
        end = self.end_of_phrase(middle)
        if first.kind != "asking" or first.said in self.words["subjects"] or is_passive or not end:
            return True
        head, is_several = middle[0], self.glossary.is_plural(finite.said)
        if head.said in self.words["accusatives"] or head.english in self.lexicon.indefinites | self.lexicon.no_words:
            return True
        if any(unit.english in self.lexicon.superlatives for unit in middle[1:2]):
            return True
        if head.kind == "pronoun" or is_relative:
            return head.kind not in {"name", "pronoun"} or (is_several and head.kind == "name")
        is_known = head.english in self.lexicon.definites
        if is_several:
            is_inflected = any(
                one.kind == "noun" and one.said not in self.glossary.meanings["nouns"] for one in middle[:end]
            )
            is_joint = any(unit.english in self.lexicon.and_words for unit in middle[:end])
            return not is_joint and not (is_known and is_inflected)
        return head.kind != "name" and not is_known

    def _further_clause(self, units: list[Unit]) -> list[Unit]:
        """Order a clause after ``and``, whose subject is that of the first one, or that is a question of its own."""
        if units and (units[0].sign or self._begins_question(units)):
            return self._main(units)
        negation, units = self._split_negation(units)
        if units and units[0].is_verb:
            finite, rest = self._with_particle(units[0], units[1:])
            middle, verbs, after = self._final_verbs(rest)
        else:
            middle, verbs, after = self._final_verbs(units)
            if not verbs:
                return [*negation, *units]
            finite = self._finite_of(verbs) or verbs[-1]
        return [*self._predicate_of(finite, verbs, middle, negation), *after]

    def _finite_of(self, verbs: Sequence[Unit]) -> Unit | None:
        return next((unit for unit in reversed(verbs) if unit.kind == "auxiliary"), None)

    def _predicate_of(self, finite: Unit, verbs: list[Unit], middle: list[Unit], negation: list[Unit]) -> list[Unit]:
        """Order the verbs and what else is said of a subject that stands before."""
        more, middle = self._split_negation(middle)
        negation = negation + more
        main = next((unit for unit in verbs if unit.kind == "verb"), finite)
        if main.kind == "auxiliary":
            return [finite, *negation, *self._with_adjective(middle)]
        if self._is_done(finite, main):
            middle = self._with_agent(middle)
        first, last = self._verb_group(finite, main, is_split=bool(negation))
        return [*first, *negation, *last, *self.with_governed(middle, main)]

    def _relative_clause(self, opening: list[Unit], body: list[Unit]) -> list[Unit]:
        """Order a relative clause, whose verbs stand at its end."""
        relatives, (*prepositions, pronoun) = self.glossary.pairs["relatives"], opening
        word = relatives["-" if prepositions else pronoun.said]
        opening = [replace(unit, sign="") for unit in (*prepositions, replace(pronoun, english=word, kind="asking"))]
        (_, first), *others = self._joined_clauses(body)
        middle, verbs, after = self._final_verbs(first, is_due=True)
        if not verbs:
            return [*opening, *body]
        later = others[-1][1][-1:] if others else []  # geboren und begraben wurden
        finite = self._finite_of(verbs) or self._finite_of(later) or verbs[-1]
        is_owner = relatives[pronoun.said] in self.lexicon.relative_possessives
        is_passive = finite.said in self.words["become"]
        subject = list[Unit]()
        if is_owner or not self._is_subject(opening[0], finite, middle, is_passive=is_passive, is_relative=True):
            end = self.end_of_phrase(middle)
            subject, middle = middle[:end], middle[end:]
            opening = opening[:-1] if subject and subject[0].english in self.lexicon.owners else opening
        main = next((unit for unit in verbs if unit.kind == "verb"), finite)
        if subject and subject[0].english in self.lexicon.no_words and self._is_done(finite, main) and not prepositions:
            owned = replace(opening[0], english=self.written["with"], kind="preposition")  # denen kein X zugewiesen ist
            return [owned, *subject, main.in_form(PARTICIPLE), *middle, *after, *self._further_all(others)]
        return [*opening, *subject, *self._predicate_of(finite, verbs, middle, []), *after, *self._further_all(others)]

    # --- Places

    def _final_verbs(self, units: list[Unit], *, is_due: bool = False) -> tuple[list[Unit], list[Unit], list[Unit]]:
        """Return what stands before the last verbs of a clause, these, and what stands after them.

        :param is_due: the last word is a verb, though no table has it.
        """
        end = next((i for i in range(len(units), 0, -1) if units[i - 1].is_verb), 0)
        if not end and is_due and units and units[-1].kind == "word":
            return units[:-1], [replace(units[-1], kind="verb", forms=(units[-1].english,) * 3)], []
        first = end
        while first > 0 and units[first - 1].is_verb:
            first -= 1
        return (units[:first], units[first:end], units[end:]) if end else (units, [], [])

    def _with_particle(self, finite: Unit, rest: list[Unit]) -> tuple[Unit, list[Unit]]:
        """Join the particle at the end of a clause with its verb: ``fand … statt``."""
        if finite.kind != "verb" or not rest or rest[-1].said not in self.words["particles"]:
            return finite, rest
        whole = self.glossary.verb(rest[-1].said + finite.said)
        if whole is None:
            return finite, rest[:-1] if rest[-1].kind == "preposition" else rest
        return replace(finite, english=whole.english[0], forms=whole.english), rest[:-1]

    def _split_negation(self, units: list[Unit]) -> tuple[list[Unit], list[Unit]]:
        """Take the negation of a verb out of what stands beside it; one after ``but`` stays where it is."""
        for at, unit in enumerate(units):
            if unit.kind == "negation" and (at == 0 or units[at - 1].kind != "joint"):
                return [unit], [*units[:at], *units[at + 1 :]]
        return [], units

    def _with_agent(self, units: list[Unit], *, is_whole: bool = False) -> list[Unit]:
        """Say who did it: ``von`` in a passive, but after a noun; there only where nothing else is asked for."""
        places = [i for i, unit in enumerate(units) if unit.kind == "preposition"]
        for at in places:
            is_free = at == 0 or units[at - 1].kind not in {"noun", "clause"}
            if units[at].said in self.words["agents"] and (is_free or (is_whole and at == places[-1])):
                by = " ".join([self.written["by"], *units[at].english.split()[1:]])
                return [*units[:at], replace(units[at], english=by), *units[at + 1 :]]
        return units


def _without_clauses(units: Sequence[Unit]) -> list[Unit]:
    return [one for unit in units for one in (_without_clauses(unit.inner) if unit.kind == "clause" else [unit])]
