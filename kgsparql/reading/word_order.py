"""The order of words: a question of another language, whose words are known, as English would have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from kgsparql.reading.glossary import Glossary
from kgsparql.reading.lexicon import Lexicon

Kind = OneOf[
    "name", "noun", "adjective", "number", "pronoun", "determiner", "preposition", "asking", "auxiliary", "verb",
    "joint", "negation", "adverb", "word", "clause",
]  # fmt: skip
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


def in_english_order(units: Sequence[Unit], glossary: Glossary, lexicon: Lexicon) -> list[Unit]:
    """Put the units of a question into the order of English; some are added, such as ``did``."""
    return list(_without_clauses(_Orderer(glossary, lexicon).question(list(units))))


def _without_clauses(units: Sequence[Unit]) -> Iterator[Unit]:
    for unit in units:
        yield from _without_clauses(unit.inner) if unit.kind == "clause" else (unit,)


class _Orderer:
    """Orders the units of one question."""

    def __init__(self, glossary: Glossary, lexicon: Lexicon) -> None:
        self.glossary, self.lexicon = glossary, lexicon
        self.words = glossary.words
        self.written = lexicon.written

    def question(self, units: list[Unit]) -> list[Unit]:
        """Order a whole question."""
        units = self._with_clauses(units)
        (_, first), *others = self._joined_clauses(units)
        return [*self._main(first), *self._further_all(others)]

    def _further_all(self, others: Sequence[tuple[list[Unit], list[Unit]]]) -> list[Unit]:
        return [unit for joint, segment in others for unit in (*joint, *self._further_clause(segment))]

    # --- Parts

    def _begins_clause(self, units: Sequence[Unit], at: int) -> int:
        """Return how many units are a relative pronoun after a comma, with its preposition; 0 where there is none."""
        if at == 0 or units[at].sign != "," or not self.glossary.verb_last:
            return 0
        if units[at].said in self.glossary.pairs["relatives"]:
            return 1
        is_fronted = units[at].kind == "preposition" and at + 1 < len(units)
        return 2 if is_fronted and units[at + 1].said in self.glossary.pairs["relatives"] else 0

    def _with_clauses(self, units: list[Unit]) -> list[Unit]:
        """Make one unit of each relative clause."""
        found, at = list[Unit](), 0
        while at < len(units):
            if self._begins_clause(units, at):
                clause, at = self._clause_at(units, at)
                found.append(clause)
                if at < len(units) and not self._begins_clause(units, at):
                    units[at] = replace(units[at], sign="")
            else:
                found.append(units[at])
                at += 1
        return found

    def _clause_at(self, units: Sequence[Unit], start: int) -> tuple[Unit, int]:
        """Read a relative clause, which ends at a comma after its verb; return it and the place after it."""
        at = start + self._begins_clause(units, start)
        opening, body = units[start:at], list[Unit]()
        while at < len(units):
            is_whole = bool(body) and body[-1].is_verb
            if units[at].sign and is_whole:
                break
            if self._begins_clause(units, at):
                inner, at = self._clause_at(units, at)
                body.append(inner)
            else:
                body.append(units[at])
                at += 1
        ordered = self._relative_clause(list(opening), body)
        return Unit(units[start].start, units[at - 1].end, "", "", "clause", inner=tuple(ordered)), at

    def _joined_clauses(self, units: list[Unit]) -> list[tuple[list[Unit], list[Unit]]]:
        """Split at what joins clauses: each with its joint, if it has one."""
        found, begun, joint = list[tuple[list[Unit], list[Unit]]](), 0, list[Unit]()
        for at, unit in enumerate(units):
            is_joint = unit.kind == "joint" and at > begun and self._joins_clauses(units[begun:at], units[at + 1 :])
            if is_joint or (at > begun and unit.sign and (unit.sign in "?!" or self._begins_question(units[at:]))):
                found.append(([*joint], units[begun:at]))
                joint, begun = [unit] * is_joint, at + is_joint
        return [*found, (joint, units[begun:])]

    def _begins_question(self, units: Sequence[Unit]) -> bool:
        """Tell whether a question begins, with or without a preposition."""
        return bool(units) and "asking" in (
            units[0].kind,
            units[0].kind == "preposition" and units[1:2] and units[1].kind,
        )

    def _joins_clauses(self, before: Sequence[Unit], after: Sequence[Unit]) -> bool:
        """Tell whether what stands before and after ``and`` are clauses of their own."""
        own = list(after[: next((i for i, unit in enumerate(after) if unit.kind == "joint"), len(after))])
        while own and own[0].kind == "negation":
            own = own[1:]
        if not own or not any(unit.is_verb for unit in before):
            return False
        if own[0].is_verb or (own[0].kind == "asking" and any(unit.is_verb for unit in own)):
            return True
        ends_whole = before[-1].is_verb and sum(unit.is_verb for unit in before) > 0
        return ends_whole and any(unit.is_verb for unit in own)

    # --- Clauses

    def _main(self, units: list[Unit]) -> list[Unit]:
        """Order a main clause, whose finite verb is the first or second part of it."""
        units = self._each_first(units)
        if units and units[0].english in self.lexicon.imperatives and units[-1].said in self.words["particles"]:
            units = units[:-1]  # *liste … auf*
        at = next((i for i, unit in enumerate(units) if unit.is_verb), None)
        if at is None:
            return units
        before, finite, rest = units[:at], units[at], units[at + 1 :]
        finite, rest = self._with_particle(finite, rest)
        middle, verbs, after = self._final_verbs(rest, is_due=finite.said in self.words["become"] | self.words["have"])
        if finite.kind == "auxiliary" and not verbs:
            return self._with_copula(before, finite, rest)
        is_passive = bool(verbs) and (finite.said in self.words["become"] or self._is_being(finite, verbs[-1]))
        if is_passive:
            middle = self._with_agent(middle, is_whole=not before)
        is_subject = bool(before) and self._is_subject(before, finite, middle, is_passive=is_passive)
        subject = list[Unit]()
        if not is_subject:
            end = self._end_of_phrase(middle)
            subject, middle = middle[:end], middle[end:]
        negation, middle = self._split_negation(middle)
        head = self._verb_group(finite, verbs, is_passive=is_passive, negation=negation, is_split=not is_subject)
        first, last = head
        parts = [*before, *first, *subject, *negation, *last, *middle, *after]
        return _with_governed(parts, next((unit for unit in verbs if unit.kind == "verb"), finite), self.glossary)

    def _each_first(self, units: list[Unit]) -> list[Unit]:
        """Put what something is asked for each of before the question."""
        for at in range(1, len(units) - 1):
            if units[at].kind == "preposition" and units[at + 1].english in self.lexicon.distributives:
                end = at + 1 + self._end_of_phrase(units[at + 1 :])
                rest = [*units[:at], *units[end:]]
                return [*units[at:end], replace(rest[0], sign=","), *rest[1:]]
        return units

    def _verb_group(
        self, finite: Unit, verbs: list[Unit], *, is_passive: bool, negation: list[Unit], is_split: bool
    ) -> tuple[list[Unit], list[Unit]]:
        """Return what stands before the subject, and after it: ``was`` and ``born``, ``did`` and ``die``."""
        main = next((unit for unit in verbs if unit.kind == "verb"), finite)
        if is_passive:
            return [finite], [main.in_form(PARTICIPLE)]
        is_modal = (
            finite.kind == "auxiliary"
            and finite.said not in self.words["have"]
            and finite.english not in (self.lexicon.be_forms)
        )
        if is_modal and main is not finite:
            return [finite], [main.in_form(BASE)]
        if is_split or negation:
            return [replace(finite, english=self.written["did"], kind="auxiliary")], [main.in_form(BASE)]
        return [], [main.in_form(PAST)]

    def _is_being(self, finite: Unit, verb: Unit) -> bool:
        """Tell whether a participle after ``be`` says what is done to the subject: not ``ist gestorben``."""
        is_be = finite.english in self.lexicon.be_forms and finite.kind == "auxiliary"
        return is_be and bool(verb.forms) and verb.forms[0] not in self.words["perfect_with_be"]

    def _with_copula(self, before: list[Unit], finite: Unit, rest: list[Unit]) -> list[Unit]:
        """Order a clause without another verb: ``X is Y``, ``X has Y``."""
        if finite.said in self.words["have"] and not self._has_subject(before, finite, rest):
            end = self._end_of_phrase(rest)
            do = replace(finite, english=self.written["did"])
            return [*before, do, *rest[:end], replace(finite, english=self.written["have"]), *rest[end:]]
        return [*before, finite, *self._with_adjective(rest)]

    def _with_adjective(self, units: list[Unit]) -> list[Unit]:
        """Put an adjective before the preposition that belongs to it: ``compatible with X``."""
        last = len(units) - (units[-1].kind == "clause") if units else 0
        if not last or units[last - 1].kind != "adjective":
            return units
        own = (i for i, unit in enumerate(units[:last]) if unit.kind == "preposition")
        at = next((i for i in own if units[i].english not in self.lexicon.of_words), last - 1)
        return [*units[:at], units[last - 1], *units[at : last - 1], *units[last:]]

    def _has_subject(self, before: list[Unit], finite: Unit, rest: list[Unit]) -> bool:
        """Tell whether the subject of ``have`` stands before it: what is had is seldom named."""
        if not before or self._is_adverbial(before[0]) or before[0].said in self.words["objects"]:
            return False
        if before[0].said in self.words["subjects"] or not rest:
            return True
        is_known = rest[0].kind in {"name", "pronoun"} or rest[0].english in self.lexicon.definites
        if any(unit.english in self.lexicon.superlatives for unit in rest[1:2]):
            return True
        is_plural_of_name = self.glossary.is_plural(finite.said) and rest[0].kind == "name"
        return not is_known or is_plural_of_name or rest[0].said in self.words["accusatives"]

    def _is_adverbial(self, unit: Unit) -> bool:
        asks_for = self.lexicon.question_words.get(unit.english, "")
        return unit.kind == "preposition" or asks_for in {"place", "time", "manner"}

    def _is_subject(self, before: list[Unit], finite: Unit, middle: list[Unit], *, is_passive: bool) -> bool:
        """Tell whether what stands before the finite verb is the subject."""
        first = before[0]
        if self._is_adverbial(first) or first.said in self.words["objects"]:
            return False
        if first.kind != "asking" or first.said in self.words["subjects"]:
            return True
        if not middle or is_passive or self._end_of_phrase(middle) == 0:
            return True
        if middle[0].said in self.words["accusatives"] or middle[0].english in self.lexicon.indefinites:
            return True
        if self.glossary.is_plural(finite.said):
            own = middle[: self._end_of_phrase(middle)]
            is_known = own[0].english in self.lexicon.definites and any(map(self._is_inflected, own))
            return not is_known and all(unit.kind != "joint" for unit in own)
        return middle[0].kind not in {"name", "pronoun"} and middle[0].english not in self.lexicon.definites

    def _is_inflected(self, unit: Unit) -> bool:
        return unit.kind == "noun" and unit.said not in self.glossary.meanings["nouns"]

    def _further_clause(self, units: list[Unit]) -> list[Unit]:
        """Order a clause after ``and``, whose subject is that of the first one, or that is a question of its own."""
        if self._begins_question(units) or (units and units[0].sign):
            return self._main(units)
        negation, units = self._split_negation(units)
        finite = units[0] if units and units[0].is_verb else None
        if finite is not None:
            finite, rest = self._with_particle(finite, units[1:])
            middle, verbs, after = self._final_verbs(rest)
            if finite.kind == "auxiliary" and not verbs:
                return [finite, *negation, *rest]
        else:
            middle, verbs, after = self._final_verbs(units)
            finite = next((unit for unit in reversed(verbs) if unit.kind == "auxiliary"), None)
            if not verbs:
                return [*negation, *units]
        return [*self._predicate_of(finite, verbs, middle, negation), *after]

    def _predicate_of(
        self, finite: Unit | None, verbs: list[Unit], middle: list[Unit], negation: list[Unit]
    ) -> list[Unit]:
        """Order the verbs and what else is said of a subject that stands before."""
        more, middle = self._split_negation(middle)
        negation = negation + more
        mains = [unit for unit in verbs if unit.kind == "verb"]
        finite = finite or verbs[-1]
        if not mains and finite.kind == "auxiliary":
            return [finite, *negation, *self._with_adjective(middle)]
        is_passive = bool(mains) and (finite.said in self.words["become"] or self._is_being(finite, mains[-1]))
        if is_passive:
            middle = self._with_agent(middle)
        first, last = self._verb_group(
            finite, mains or [finite], is_passive=is_passive, negation=negation, is_split=False
        )
        return [*first, *negation, *last, *_with_governed(middle, mains[-1] if mains else finite, self.glossary)]

    def _relative_clause(self, opening: list[Unit], body: list[Unit]) -> list[Unit]:
        """Order a relative clause, whose verbs stand at its end."""
        pronoun = opening[-1]
        word = self.glossary.pairs["relatives"][pronoun.said]
        if len(opening) > 1:
            opening = [
                replace(opening[0], sign=""),
                replace(pronoun, english=self.glossary.pairs["relatives"]["-"], kind="asking"),
            ]
        else:
            opening = [replace(pronoun, english=word, kind="asking", sign="")]
        (_, first), *others = self._joined_clauses(body)
        middle, verbs, after = self._final_verbs(first, is_due=True)
        if not verbs:
            return [*opening, *body]
        finite = next((unit for unit in reversed(verbs) if unit.kind == "auxiliary"), None)
        finite = finite or self._finite_of(others) or verbs[-1]
        subject = list[Unit]()
        is_owner = word in self.lexicon.relative_possessives
        if is_owner or self._has_own_subject(opening, finite, middle):
            end = self._end_of_phrase(middle)
            subject, middle = middle[:end], middle[end:]
            opening = opening[:-1] if subject and subject[0].english in self.lexicon.owners else opening
        return [*opening, *subject, *self._predicate_of(finite, verbs, middle, []), *after, *self._further_all(others)]

    def _finite_of(self, others: Sequence[tuple[list[Unit], list[Unit]]]) -> Unit | None:
        """Find the auxiliary of a later clause that holds of an earlier one, too: ``geboren und begraben wurden``."""
        last = others[-1][1][-1:] if others else []
        return last[0] if last and last[0].kind == "auxiliary" else None

    def _has_own_subject(self, opening: list[Unit], finite: Unit, middle: list[Unit]) -> bool:
        """Tell whether the pronoun of a relative clause is not its subject."""
        pronoun = opening[-1]
        adverbs = self.lexicon.relative_adverbs
        if len(opening) > 1 or pronoun.english in adverbs or pronoun.said in self.words["relative_objects"]:
            return True
        if not middle or self._end_of_phrase(middle) == 0 or finite.said in self.words["become"]:
            return False
        if middle[0].kind == "pronoun":
            return True
        if (
            middle[0].said in self.words["accusatives"]
            or middle[0].english in self.lexicon.indefinites | self.lexicon.no_words
        ):
            return False
        is_doer = pronoun.said in self.words["subjects"]
        return not is_doer and middle[0].kind == "name" and not self.glossary.is_plural(finite.said)

    # --- Places

    def _final_verbs(self, units: list[Unit], *, is_due: bool = False) -> tuple[list[Unit], list[Unit], list[Unit]]:
        """Return what stands before the last verbs of a clause, these, and what stands after them.

        :param is_due: the last word is a verb, though no table has it.
        """
        last = next((i for i in range(len(units) - 1, -1, -1) if units[i].is_verb), None)
        if last is None and is_due and units and units[-1].kind == "word" and self.glossary.verb_last:
            unknown = units[-1]
            return units[:-1], [replace(unknown, kind="verb", forms=(unknown.english,) * 3)], []
        if last is None:
            return units, [], []
        first = last
        while first > 0 and units[first - 1].is_verb:
            first -= 1
        return units[:first], units[first : last + 1], units[last + 1 :]

    def _with_particle(self, finite: Unit, rest: list[Unit]) -> tuple[Unit, list[Unit]]:
        """Join the particle at the end of a clause with its verb: ``fand … statt``."""
        last = rest[-1] if rest else None
        if finite.kind != "verb" or last is None or last.said not in self.words["particles"]:
            return finite, rest
        whole = self.glossary.verb(last.said + finite.said)
        if whole is None:
            return finite, rest[:-1] if last.kind == "preposition" else rest
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

    def _is_owner(self, unit: Unit | None) -> bool:
        return unit is not None and unit.english.endswith(f"'{self.lexicon.possessive}")

    def _end_of_phrase(self, units: Sequence[Unit]) -> int:
        """Return the place after the noun phrase that units begin with; 0 where they begin with none."""
        at, has_noun = 0, False
        while at < len(units):
            unit, before = units[at], units[at - 1] if at else None
            if unit.kind in {"noun", "name", "pronoun", "word", "number"}:
                is_closed = before is not None and has_noun and before.kind in {"name", "pronoun"}
                if is_closed and not self._is_owner(before):
                    break
                has_noun = has_noun or unit.kind != "number"
            elif unit.kind in {"determiner", "adjective"}:
                if has_noun and not self._is_owner(before):
                    break
            elif unit.kind == "preposition" and unit.english.split()[0] in self.lexicon.of_words and has_noun:
                is_year = units[at + 1 : at + 2] and units[at + 1].kind == "number"
                inner = self._end_of_phrase(units[at + 1 :]) or int(bool(is_year))
                if not inner:
                    break
                at += inner
                has_noun = True
            elif unit.kind == "joint" and has_noun and (inner := self._end_of_phrase(units[at + 1 :])):
                at += inner
            elif unit.kind != "clause" or not has_noun:
                break
            at += 1
        return at if has_noun else 0


def _with_governed(units: Sequence[Unit], verb: Unit, glossary: Glossary) -> list[Unit]:
    """Return what stands beside a verb, with the prepositions that English has after this verb."""
    own = {
        unit.said: glossary.pairs["governed"].get(f"{verb.forms[0]}.{unit.said}", "") for unit in units if verb.forms
    }
    return [replace(unit, english=own.get(unit.said) or unit.english) for unit in units]
