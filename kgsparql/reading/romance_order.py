"""The order of words in French and Spanish: as English would have it, verbs after subjects, adjectives before nouns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from kgsparql.reading.word_order import BASE, NOMINAL, NOUNS, PARTICIPLE, PAST, Unit, WordOrder

_CALLED = NOUNS - {"number"}
_COMPARATIVE, _SUPERLATIVE = 1, 2
_YEAR = 4  # digits
_NEAR = 4  # units before `que` in which `plus` or `même` stands


class RomanceOrder(WordOrder):
    """Orders the units of one question, between its commas."""

    def question(self, units: Sequence[Unit]) -> list[Unit]:
        """Order a whole question."""
        further = {at for at in range(1, len(units)) if units[at - 1].kind == "joint" and self.is_asking(units[at])}
        starts = [at for at, unit in enumerate(units) if unit.sign or at == 0 or at in further]  # "et qui …?"
        found = list[Unit]()
        for start, end in itertools.pairwise([*starts, len(units)]):
            own = [replace(unit, sign="") for unit in units[start:end]]
            for verb in [at for at, unit in enumerate(own) if unit.kind == "verb"]:
                own[verb + 1 : verb + 2] = self.with_governed(own[verb + 1 : verb + 2], own[verb])
            own = self._with_adjectives(self._with_comparisons(self._without_unsaid(own)))
            own = self._without_personal(self._with_ordered_clauses(self._without_clitics(own)))
            found += [replace(own[0], sign=units[start].sign), *own[1:]] if own else []
        return found

    # --- Words that English has not, or not so

    def _without_unsaid(self, units: list[Unit]) -> list[Unit]:
        """Leave out what English does not say, and tell relative pronouns from question words."""
        found, is_reflexive = list[Unit](), False
        for at, said in enumerate(units):
            before, after = (found[-1] if found else None), units[at + 1 : at + 4]
            if said.said in self.words["reflexives"]:
                is_reflexive = True
            if before is not None and before.kind == "verb" and said.said in self.words["impersonal"]:
                found[-1] = self._as_passive(before)  # parle-t-on
                continue
            if said.said in self.words["reflexives"] or self._is_unsaid(said, before, after):
                continue
            unit = self._in_neither_nor(self._of_day(said, after), units, at)
            if not unit.english:
                continue
            if is_reflexive and unit.is_verb:
                unit, is_reflexive = self._as_reflexive(unit), unit.kind == "auxiliary"
            if unit.said in self.glossary.pairs["relatives"] and before is not None:
                unit = self._relative_pronoun(unit, found)
            is_late = unit.kind == "negation" and before is not None and before.kind == "verb"  # ne travaille pas
            found.insert(len(found) - is_late, unit)
            if unit.kind == "verb" and unit.said.endswith(self.glossary.endings["we"]):
                found.append(replace(unit, english=self.written["we"], kind="pronoun", forms=()))
        return found

    def _is_unsaid(self, unit: Unit, before: Unit | None, after: Sequence[Unit]) -> bool:
        """Tell whether English leaves a word out."""
        if before is not None and before.english in self.lexicon.relative_possessives:
            return unit.kind == "determiner" or unit.said in self.words["partitives"]  # dont le film
        if unit.kind == "negation" and self.words["personal"]:  # no trabajó en ninguna universidad
            return any(one.english in self.lexicon.no_words for one in after)
        if unit.english not in self.lexicon.of_words or not after or self.is_asking(after[0]):
            return False
        own, said = self.lexicon, "" if before is None else before.english
        if {after[0].english, said} & own.months.keys() or said in own.multipliers or said in own.both_words:
            return True  # 14 de marzo de 1879, deux millions de, à la fois des
        if before is not None and before.kind in {"noun", "name"}:  # el premio de 1903
            return after[0].kind == "number" and len(after[0].english) == _YEAR
        is_free = before is None or before.is_verb or before.kind in {"preposition", "joint", "negation", "pronoun"}
        return is_free and unit.said in self.words["partitives"]  # Y a-t-il des films

    def _in_neither_nor(self, unit: Unit, units: Sequence[Unit], at: int) -> Unit:
        """Say the first of *ni … ni* as *not*; after a negation, nothing."""
        nor = self.lexicon.nor_words
        is_first = unit.english in nor and all(one.english not in nor for one in units[:at])
        if not is_first or all(one.english not in nor for one in units[at + 1 :]):
            return unit
        is_denied = any(one.kind == "negation" for one in units[:at])
        return replace(unit, english="" if is_denied else self.written["not"], kind="word" if is_denied else "negation")

    def _as_passive(self, verb: Unit) -> Unit:
        """Say a verb as what is done to something."""
        return replace(verb, forms=(verb.forms[PARTICIPLE],) * 3)

    def _of_day(self, unit: Unit, after: Sequence[Unit]) -> Unit:
        """Say *le 14 mars* as *on 14 march*."""
        is_day = len(after) > 1 and after[0].kind == "number" and unit.said in self.words["articles"]
        is_day = is_day and any(one.english in self.lexicon.months for one in after[1:])
        return replace(unit, english=self.written["on"], kind="preposition") if is_day else unit

    def _as_reflexive(self, unit: Unit) -> Unit:
        """Say *se fundó* as what is done to a thing, and *se sont partagé* as what people do."""
        if unit.kind == "auxiliary":
            is_be = unit.english in self.lexicon.be_forms
            return replace(unit, english=self.written["have"]) if is_be else unit
        is_done = unit.forms[PARTICIPLE] not in self.lexicon.intransitives and bool(self.words["personal"])
        return self._as_passive(unit) if is_done else unit

    def _relative_pronoun(self, unit: Unit, found: list[Unit]) -> Unit:
        """Say what a pronoun is that may be relative, or compare; the article before it is taken away."""
        is_same = any(one.english in self.lexicon.same_words for one in found[-_NEAR:])
        if is_same and unit.said in self.words["compares"]:
            return replace(unit, english=self.written["as"], kind="preposition")
        if len(found) > 2 and found[-1].kind == "determiner" and found[-2].kind == "preposition":
            del found[-1]
        elif found[-1].kind == "preposition":  # del que
            found[-1] = replace(found[-1], english=found[-1].english.split()[0])
        noun = found[-2] if len(found) > 1 and found[-1].kind == "preposition" else found[-1]
        if noun.kind in NOUNS or (noun.kind == "adjective" and len(found) > 1):
            return replace(unit, english=self.glossary.pairs["relatives"][unit.said], kind="asking")
        return unit

    def _without_personal(self, units: list[Unit]) -> list[Unit]:
        """Leave out the preposition before somebody to whom something is done: *emplearon a X*."""
        found = list[Unit]()
        for at, unit in enumerate(units):
            if at and unit.said in self.words["personal"] and self._takes_object(units[at - 1]):
                article = unit.english.split()[1:]
                found += [replace(unit, english=article[0], kind="determiner")] if article else []
            else:
                found.append(unit)
        return found

    def _takes_object(self, unit: Unit) -> bool:
        """Tell whether something is done to what stands after a verb, or after *list*."""
        if unit.kind != "verb":
            return unit.english in self.lexicon.imperatives
        is_active = unit.english in unit.forms[: PAST + 1] and not self.is_passive(unit)
        return is_active and unit.forms[PARTICIPLE] not in self.lexicon.intransitives

    # --- Comparison

    def _with_comparisons(self, units: list[Unit]) -> list[Unit]:
        """Say *plus grand que*, *la plus grande*, *plus de … que*."""
        found, at = list[Unit](), 0
        while at < len(units):
            unit, is_more = units[at], units[at].said.split()[0] in self.words["more"]
            adjective = at if is_more and " " in unit.said else at + 1  # moins cher
            own = units[adjective : adjective + 1]
            if is_more and own and own[0].kind == "adjective" and len(own[0].forms) > _SUPERLATIVE:
                found, at = self._with_degree(found, units[adjective], units[adjective + 1 :]), adjective + 1
                continue
            is_degree = bool(found) and found[-1].english in self.lexicon.comparatives
            is_degree = is_degree or any(
                one.said.split()[0] in self.words["more"] for one in found[-_NEAR:] if one.said
            )
            if is_degree and self._is_than(units[at : at + 2]):
                unit = replace(unit, english=self.written["than"], kind="preposition")
            found.append(unit)
            at += 1
        return found

    def _is_than(self, units: Sequence[Unit]) -> bool:
        """Tell whether a word compares, and begins no clause: *le plus cher que nous avons*."""
        begins = len(units) > 1 and (units[1].is_verb or units[1].kind in {"pronoun", "negation"})
        return bool(units) and units[0].said in self.words["compares"] and not begins

    def _with_degree(self, found: list[Unit], adjective: Unit, after: Sequence[Unit]) -> list[Unit]:
        """Say an adjective as comparative before *que*, else as superlative after a noun or an article."""
        is_of_number = len(after) > 1 and after[1].kind == "number" and after[0].kind == "preposition"
        before = found[-1] if found else None
        last = found[-2:] if before is not None and before.kind == "number" else found[-1:]  # les cinq plus grands
        is_known = bool(last) and last[0].english in self.lexicon.definites
        is_after_noun = before is not None and before.kind in {*NOUNS, "adjective"}
        is_most = not (self._is_than(after[:2]) or is_of_number) and (is_known or is_after_noun)
        is_repeated = len(last) == 1 and len(found) > 1 and found[-2].kind in {*NOUNS, "adjective"}
        if is_most and is_known and is_repeated:
            del found[-1]  # la chanson la plus longue
        degree = _SUPERLATIVE if is_most else _COMPARATIVE
        return [*found, replace(adjective, english=adjective.forms[degree], forms=())]

    def _with_adjectives(self, units: list[Unit]) -> list[Unit]:
        """Put adjectives before their nouns; not before *than*."""
        found, at = list[Unit](), 0
        while at < len(units):
            end = at
            while end < len(units) and units[end].kind == "adjective":
                end += 1
            is_compared = any(one.english.split()[-1] == self.written["than"] for one in units[at : end + 1])
            if end > at and found and found[-1].kind in _CALLED and not is_compared:
                start = len(found)
                while start > 0 and found[start - 1].kind in _CALLED:
                    start -= 1
                extreme = [one for one in units[at:end] if one.english in self.lexicon.superlatives]
                others = [one for one in reversed(units[at:end]) if one not in extreme]
                found[start:start] = [*extreme, *others]
            else:
                end = max(end, at + 1)
                found += units[at:end]
            at = end
        return found

    # --- Verbs before their subjects

    def _without_clitics(self, units: list[Unit]) -> list[Unit]:
        """Put the verb of *X est-il né* before its subject, and *do* before that of *avons-nous*."""
        units = self._without_marks(units)
        at = next((i for i in range(1, len(units)) if self._is_clitic(units, i)), None)
        if at is None:
            return units
        verb, pronoun, rest = units[at - 1], units[at], units[at + 1 :]
        if pronoun.said not in self.words["clitics"]:
            base = replace(verb, english=verb.forms[BASE] if verb.forms else self.written["have"], kind="word")
            return [*units[: at - 1], verb.as_auxiliary(self.written["do"]), pronoun, base, *rest]
        start = self._start_of_subject(units[: at - 1])
        group = self._verb_group([verb, *rest])
        before, after = self._conjugated_verb([verb, *rest][:group], is_split=True)
        subject = units[start : at - 1] or ([pronoun] if pronoun.english else [])
        moved = [*before[:1], *subject, *before[1:], *after]
        fixed = [replace(one, kind="word") if one.is_verb else one for one in moved]
        return [*units[:start], *fixed, *self._without_clitics([verb, *rest][group:])]

    def _without_marks(self, units: list[Unit]) -> list[Unit]:
        """Say *est-ce que X est né*, *où est-ce que X travaille* as *X est-il né*, *où X travaille-t-il*."""
        mark = next((i for i, unit in enumerate(units) if self._is_mark(unit)), None)
        if mark is None:
            return units
        start = mark + self.is_asking(units[mark])
        found = [*units[:start], *units[mark + 1 :]]
        at = next((i for i in range(start, len(found)) if found[i].is_verb), None)
        if at is None:
            return [*found[:start], units[mark].as_auxiliary(self.written["is"]), *found[start:]]
        clitic = Unit(found[at].end, found[at].end, min(self.words["clitics"]), "", "pronoun")
        return [*found[: at + 1], clitic, *found[at + 1 :]]

    def _is_mark(self, unit: Unit) -> bool:
        return unit.said.replace(" ", "_") in self.words["whether"]

    def _is_clitic(self, units: Sequence[Unit], at: int) -> bool:
        """Tell whether a pronoun after a verb stands for the subject before it, or is it."""
        is_we = units[at].english in self.lexicon.owners and bool(self.words["clitics"])
        is_subject = units[at].said in self.words["clitics"] or is_we
        is_asked = at > 1 and units[at - 2].said in self.words["subjects"]
        return is_subject and units[at - 1].is_verb and not is_asked

    def _start_of_subject(self, units: Sequence[Unit]) -> int:
        """Return where the subject begins that the verb after these units has: after the phrase that is asked for."""
        at = int(bool(units) and units[0].kind == "preposition" and not self.is_asking(units[0]))
        if at >= len(units) or not self.is_asking(units[at]):
            return 0
        at += 1
        if self._stands_alone(units[at - 1]):
            return at
        nouns = [i for i in range(at, len(units)) if units[i].kind in NOUNS]
        starts = (
            i
            for i in range(nouns[0] + 1 if nouns else at, len(units))
            if units[i].kind == "name" or (units[i].kind == "determiner" and units[i - 1].kind != "preposition")
        )
        return next(starts, next((i for i in range(at, len(units)) if units[i].said in self.words["partitives"]), at))

    def _stands_alone(self, unit: Unit) -> bool:
        """Tell whether no noun belongs to a question word."""
        is_alone = self.lexicon.question_words.get(unit.english.split()[-1], "any") != "any"
        return is_alone or unit.said in self.words["objects"] or self._is_mark(unit)

    # --- Clauses

    def _with_ordered_clauses(self, units: list[Unit]) -> list[Unit]:
        """Order the clauses, each after the word that opens it."""
        found, at = list[Unit](), 0
        while at < len(units):
            opening = self._length_of_opening(units, at)
            end = at + opening
            group = end + self._verb_group(units[end:])
            is_counted = opening == 1 and not self.lexicon.amounts.isdisjoint(units[at].english.split())
            if is_counted and (more := self.end_of_phrase(units[group:])):  # combien y a-t-il de pays
                said, end = [*units[group : group + more], *units[end:group]], group + more
            elif group == end:
                said, end = units[end : end + (not opening)], end + (not opening)
            elif end > at and self._is_modifier(units, end):
                said, end = [units[end].in_form(PARTICIPLE)], end + 1
            elif self._is_inverted(units, at, end, group):
                said, end = self._subject_first(units, end, group, is_relative=at > 0 and opening > 0)
            elif not opening and at and units[at - 1].kind in NOUNS and self._is_participle(units[at]):
                said, end = [units[at].in_form(PARTICIPLE)], at + 1
            else:
                before, after = self._conjugated_verb(units[end:group], is_split=False)
                said, end = [*before, *after], group
                if opening and units[at].english.split()[0] in self.lexicon.of_words:
                    said, end = self._with_owned_noun([*before, *after], units[group:]), len(units)
            found += [*units[at : at + opening], *said]
            at = end
        return found

    def _with_owned_noun(self, verb: list[Unit], rest: Sequence[Unit]) -> list[Unit]:
        """Say *¿de quién fue X director?* with the article that English has."""
        at = next((i for i, unit in enumerate(rest) if unit.kind == "noun"), 0)
        if not at or rest[at - 1].kind != "name":
            return [*verb, *rest]
        return [*verb, *rest[:at], replace(rest[at], english=self.written["the"], kind="determiner"), *rest[at:]]

    def _is_modifier(self, units: Sequence[Unit], at: int) -> bool:
        """Tell whether a participle belongs to the noun before it: the verb of the clause is a later one."""
        later = units[at + 1 :]
        joints = (i for i, unit in enumerate(later) if unit.kind == "joint" or self.is_asking(unit))
        return self._is_participle(units[at]) and any(unit.is_verb for unit in later[: next(joints, len(later))])

    def _length_of_opening(self, units: Sequence[Unit], at: int) -> int:
        """Return how many units open a question or a relative clause here, with the noun that is asked for."""
        first = at + int(units[at].kind == "preposition" and not self.is_asking(units[at]))
        if first >= len(units) or not self.is_asking(units[first]):
            return 0
        before = units[at - 1].kind if at else "joint"
        if before not in {*NOUNS, "joint"}:
            return 0
        has_noun = before == "joint" and not self._stands_alone(units[first])
        return first + 1 - at + (self.end_of_phrase(units[first + 1 :], with_clauses=False) if has_noun else 0)

    def _verb_group(self, units: Sequence[Unit]) -> int:
        """Return how many units are a verb with its auxiliaries and negations."""
        end = 0
        while end < len(units) and units[end].kind in {"auxiliary", "negation"}:
            end += 1
        has_verb = end < len(units) and units[end].kind == "verb"
        return end + has_verb if has_verb or any(unit.kind == "auxiliary" for unit in units[:end]) else 0

    def _is_inverted(self, units: Sequence[Unit], at: int, end: int, group: int) -> bool:
        """Tell whether the subject of a clause stands after its verb."""
        after = units[group] if group < len(units) and units[group - 1].kind == "verb" else None
        if after is None or after.said in self.words["personal"]:
            return False
        if after.kind not in NOMINAL - {"pronoun"}:
            return after.kind == "pronoun" and not self.words["clitics"]
        if end == at:  # ¿Nació X en Y?
            return at == 0 and bool(self.words["personal"])
        if self.is_adverbial(units[at]):
            return True
        asked = next(unit for unit in units[at:end] if self.is_asking(unit))
        noun = units[at - 1] if at else units[end - 1]
        if asked.said in self.words["subjects"]:
            return False
        if asked.said in self.words["objects"] or noun is asked:
            return True
        is_several = any(self.glossary.is_plural(unit.said) for unit in units[end:group])
        if noun.said.endswith(self.glossary.endings["many"]) != is_several and noun.kind == "noun":
            return True
        subject = next((unit for unit in units[group:] if unit.kind in NOUNS), after)
        return (after.kind == "name" or self._is_doer(subject)) and not self._is_doer(noun)

    def _is_doer(self, noun: Unit) -> bool:
        """Tell whether a noun is one of people, who do something."""
        own, last = self.lexicon, noun.english.split()[-1]
        is_agent = last.endswith(tuple(own.agent_suffixes)) and last not in own.no_agents
        return last in own.persons | self.words["doers"] or is_agent

    def _subject_first(
        self, units: Sequence[Unit], start: int, group: int, *, is_relative: bool
    ) -> tuple[list[Unit], int]:
        """Order a verb, its subject after it, and its object; return them, and the place after them."""
        end = group + (self.end_of_phrase(units[group:]) or 1)
        subject, thing = list(units[group:end]), list[Unit]()
        more = self.end_of_phrase(units[end:])
        if more and subject[0].kind != "pronoun":
            thing, end = list(units[end : end + more]), end + more
            if subject[0].kind != "name" and subject[0].said not in self.words["articles"]:
                subject, thing = thing, subject
        before, after = self._conjugated_verb(units[start:group], is_split=not is_relative)
        split = 0 if is_relative else 1
        return [*before[:split], *subject, *before[split:], *after, *thing], end

    def _conjugated_verb(self, group: Sequence[Unit], *, is_split: bool) -> tuple[list[Unit], list[Unit]]:
        """Return the auxiliaries and negations of a verb as English has them, and the verb.

        :param is_split: the subject stands between them.
        """
        auxiliaries = [unit for unit in group if unit.kind == "auxiliary"]
        negations = [unit for unit in group if unit.kind == "negation"]
        did, have, was = (group[0].as_auxiliary(self.written[word]) for word in ("did", "have", "was"))
        if group[-1].kind != "verb":
            is_have = bool(auxiliaries) and all(one.english in self.lexicon.have_forms for one in auxiliaries)
            if is_have and (is_split or negations):
                return [did, *negations], [have]
            is_been = len(auxiliaries) > 1 and auxiliaries[-1].english in self.lexicon.be_forms  # a été
            before = [was] if is_been else auxiliaries
            return [*before[:1], *negations, *before[1:]], []
        before, after = self.conjugated(auxiliaries, group[-1], is_split=is_split or bool(negations))
        return [*before[:1], *negations, *before[1:]], after

    def _is_participle(self, unit: Unit) -> bool:
        return unit.kind == "verb" and unit.said.endswith(self.glossary.endings["participles"])
