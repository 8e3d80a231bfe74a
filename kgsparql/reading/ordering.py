"""The words of a question of another language in the order of English, which a grammar of that language writes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from typing import Literal as OneOf

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.english_forms import plural
from kgsparql.rdf.terms import first_of
from kgsparql.reading.lexicon import Glossary, Lexicon
from kgsparql.reading.parser import grammar, word_tags
from kgsparql.reading.peg import Edge, Labelled, Lattice, RuleReader

Kind = OneOf[
    "name", "noun", "adjective", "number", "pronoun", "determiner", "preposition", "asking", "auxiliary", "verb",
    "joint", "negation", "adverb", "word", "sign",
]  # fmt: skip
BASE, PAST, PARTICIPLE = range(3)  # forms of a verb

_FORMS = {"participle": PARTICIPLE, "comparative": 1, "superlative": 2}
_TEMPLATE_PART = re.compile(r"\{(\w*)([.=]?)(\w*)\}|([^\s{}\"]+)")


@frozen
class Unit:
    """Words of a question that stand together, and what they are in English.

    :param start: in characters of the question, as is ``end``.
    :param said: normalised, as in the question.
    :param forms: of a verb: base form, past, participle; of an adjective: its degrees.
    """

    start: int
    end: int
    said: str
    english: str
    kind: Kind
    forms: tuple[str, ...] = ()


def in_order(units: Sequence[Unit], glossary: Glossary, lexicon: Lexicon) -> list[Unit]:
    """Write units in the order of English; some are added, such as ``did``."""
    rules, writer = grammar(glossary.order), _Writer(glossary, lexicon)
    for rule in ("Words", "Question"):
        if rule in rules.names:
            read = RuleReader(rules, writer.lattice(units), writer.written, keeps_all=True).rule(rule, 0)
            units = units if read is None else [*_units_of(read[1]), *units[read[0] :]]
    return [*units]


def _units_of(value: Any) -> Iterator[Unit]:
    """Yield the units in what a part of a rule kept."""
    if isinstance(value, Edge):
        yield value.value
    elif isinstance(value, Unit):
        yield value
    else:
        for _, own in value:
            yield from _units_of(own)


def kind_of(english: str, lexicon: Lexicon) -> Kind:
    """Return what a word of English is that shapes a sentence."""
    first, own = english.split(maxsplit=1)[0] if english else "", lexicon
    kinds: tuple[tuple[Kind, bool], ...] = (
        ("asking", first in own.question_words and english not in own.as_words), ("number", first in own.months),
        ("auxiliary", first in own.auxiliaries), ("joint", first in own.and_words | own.or_words | own.but_words),
        ("determiner", first in own.determiners | own.no_words | own.quantifiers.keys()),
        ("negation", first in own.negations - own.without_words),
        ("preposition", first in own.prepositions | own.without_words | own.except_words),
        ("pronoun", first in own.subject_pronouns | own.pronouns),
        ("adjective", first in own.superlatives or first in own.comparatives), ("number", first in own.numbers),
        ("adverb", first in own.adverbs | own.time_adverbs | own.together_words),
    )  # fmt: skip
    return next((kind for kind, holds in kinds if holds), "word")


class _Writer:
    """Tags the units of a question, and writes what a rule found by its template."""

    def __init__(self, glossary: Glossary, lexicon: Lexicon) -> None:
        self.glossary, self.lexicon = glossary, lexicon

    def lattice(self, units: Sequence[Unit]) -> Lattice:
        """Tag each unit, also with the tags of the one before: ``after.noun``."""
        found = list[dict[str, Edge]]()
        before = list[str]()
        for at, unit in enumerate(units):
            is_governed = at > 0 and self._after_verb(unit, units[at - 1]) is not unit
            own = [*self.tags(unit), *["governed"] * is_governed]
            found.append(dict.fromkeys([*own, *before], Edge(at, at + 1, at + 1, unit.said, unit)))
            before = [f"after.{tag}" for tag in own]
        return [*found, {"end": Edge(0, 0, 0, "")}]

    def tags(self, unit: Unit) -> Iterator[str]:
        """Yield the tags of a unit: its kind, the lists of both languages that it is in, what it ends with."""
        said, kind = unit.said, unit.kind
        yield kind if kind != "sign" else "comma" if said == "," else "break"
        yield "any"
        yield from (f"said.{name}" for name, words in self.glossary.words.items() if said in words)
        for name, pairs in self.glossary.pairs.items():
            yield from (f"said.{name}", f"{name}.{pairs[said]}") if said in pairs else ()
        yield from (f"ends.{name}" for name, ends in self.glossary.endings.items() if said.endswith(ends))
        if kind == "adjective" and len(unit.forms) > 1:
            yield "graded"
        if unit.english and kind != "name":
            own, words = word_tags()[0], unit.english.split()
            last = unit.forms[PARTICIPLE] if kind == "verb" else words[-1]
            is_agent = last.endswith(tuple(self.lexicon.agent_suffixes)) and last not in self.lexicon.no_agents
            yield from (*own.get(last, ()), *["agent"] * (is_agent and kind == "noun"))
            yield from own.get(words[0], ()) if kind in {"preposition", "word"} else ()

    def written(self, template: str, labelled: Sequence[Labelled]) -> list[Labelled]:
        """Write what was found, by label, as a template has it."""
        parts: dict[str, list[Unit]] = defaultdict(list)
        verbs = [unit for label, own in labelled if label == "verbs" for unit in _units_of(own)]
        for label, own in labelled:
            units = [*_units_of(own)]
            for verb in verbs if units else ():
                units[0] = self._after_verb(units[0], verb)
            parts[label] += units
        texts = list[list[Unit]]()
        places = dict[str, int]()
        for label, sign, form, literal in _TEMPLATE_PART.findall(template):
            places[label] = len(texts)
            if literal:
                beside = next(unit for _, own in labelled for unit in _units_of(own))
                texts.append([replace(beside, said="", english=literal, kind=kind_of(literal, self.lexicon), forms=())])
            else:
                texts.append([self._in_form(unit, sign, form) for unit in parts[label]])
        if "first" in places:
            first, last = places["first"], places["last"]
            is_split = any(texts[first + 1 : last])
            texts[first], texts[last] = self._verb_parts(parts["verbs"], parts["particle"], is_split=is_split)
        return [("", unit) for text in texts for unit in text]

    def _in_form(self, unit: Unit, sign: str, form: str) -> Unit:
        english = form if sign == "=" else self.glossary.pairs.get(form, {}).get(unit.said)
        if form == "bare":
            english = unit.english.split()[0]
        if english is not None:
            return replace(unit, english=english, kind=kind_of(english, self.lexicon))
        return replace(unit, english=unit.forms[_FORMS[form]]) if form in _FORMS and unit.forms else unit

    def _after_verb(self, unit: Unit, verb: Unit) -> Unit:
        """Say the preposition that English has after a verb."""
        key = f"{verb.forms[BASE] if verb.forms else verb.said}.{unit.said}"
        english = self.glossary.pairs["governed"].get(key)
        return unit if english is None else replace(unit, english=english)

    def _verb_parts(
        self, verbs: Sequence[Unit], particle: Sequence[Unit], *, is_split: bool
    ) -> tuple[list[Unit], list[Unit]]:
        """Return the auxiliaries that English has, and the verb: *was* and *born*, *did* and *die*.

        :param particle: of a separable verb. :param is_split: the subject, or a negation, stands between them.
        """
        own, written = self.lexicon, self.lexicon.written
        auxiliaries = [unit for unit in verbs if unit.kind == "auxiliary"]
        verb = first_of(unit for unit in verbs if unit.kind != "auxiliary")
        helper = auxiliaries[-1].english if auxiliaries else ""
        is_be, is_have = helper in own.be_forms, helper in own.have_forms
        if verb is None and is_be and len(auxiliaries) > 1:  # a été
            return [replace(auxiliaries[0], english=written["was"])], []
        if verb is None and is_have and is_split:
            did, have = (replace(auxiliaries[-1], english=written[word]) for word in ("did", "have"))
            return [did], [have]
        if verb is None:
            return auxiliaries, []
        whole = self.glossary.verb(particle[0].said + verb.said) if particle else None
        base, past, participle = (whole.english if whole else verb.forms) or (verb.english,) * 3
        is_past = is_have or (is_be and base in self.glossary.words["perfect_with_be"])
        if auxiliaries and not is_past:
            return auxiliaries[:1], [*auxiliaries[1:], replace(verb, english=participle if is_be else base)]
        before, form = "did", past
        if not auxiliaries and self.glossary.is_present(verb.said):
            is_many = verb.said.endswith(self.glossary.endings["plural"])
            before, form = ("do", base) if is_many else ("does", plural(base))  # as of a noun: studies
        begun = [before] * is_split
        if base == participle and own.is_participle(base):
            begun, form, is_split = ["was"], participle, False
        first = auxiliaries[0] if auxiliaries else verb
        return [replace(first, english=written[word]) for word in begun], [
            replace(verb, english=base if is_split else form)
        ]
