"""A question of another language in English words and their order; names stay as they are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from kgsparql.dataclasses import frozen, replace
from kgsparql.linking.english_forms import plural
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import LabelRow, rows_by
from kgsparql.linking.label_matching import as_written, signed_place
from kgsparql.linking.lattice import USUAL_NGRAM
from kgsparql.linking.words import TextToken, codes_in, is_proper, key_of, stem, tokens
from kgsparql.rdf.terms import IRI, normalised, zip_equal
from kgsparql.reading.chunks import MAX_WORDS
from kgsparql.reading.lexicon import LONGEST_PHRASE, Glossary, Meaning, glossary, language_of, lexicon
from kgsparql.reading.lexicon import Kind as WordKind
from kgsparql.reading.ordering import Kind, Unit, in_order, kind_of

_QUOTED = re.compile(r'["“„«]([^"”“„»«]+)["”“»]')
_STOPS = re.compile(r"[,;:?!]")
_DAY_FIRST = re.compile(r"(\d{1,2})[/-](0?[1-9]|1[0-2])[/-](\d{4})(?!\w)")
_SHORT = 3  # letters of a name whose last one marks no owner


@frozen
class Translation:
    """A question of another language as it is read.

    :param text: in English, but for names.
    :param original: the question.
    :param places: start and end of each word of the text, and of what stands for it in the question.
    """

    text: str
    original: str
    language: str
    places: tuple[tuple[int, int, int, int], ...]

    def place_of(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the question the part of the text stands that begins and ends at these characters."""
        own = [place for place in self.places if place[0] < end and place[1] > start]
        if start < 0 or not own:
            return start, end
        return min(place[2] for place in own), max(place[3] for place in own)

    def original_words(self, words: str) -> str:
        """Return what stands in the question for some words of the text, as it is written there."""
        found = re.search(rf"\b{re.escape(words)}\b", self.text, re.IGNORECASE) if words else None
        return words if found is None else self.original[slice(*self.place_of(*found.span()))]

    def reworded(self, edits: Sequence[tuple[int, int, str]]) -> Translation:
        """Put other words in the place of parts of the text, from its end on; they stand for the same."""
        text, places = self.text, self.places
        for start, end, words in sorted(edits, reverse=True):
            text, more = text[:start] + words + text[end:], len(words) - (end - start)
            moved = [(a + more, b + more, c, d) for a, b, c, d in places if a >= end]
            kept = [place for place in places if place[0] < end and place[1] <= start]
            places = (*kept, (start, start + len(words), *self.place_of(start, end)), *moved)
        return replace(self, text=text, places=places)


@frozen
class _Known:
    """Words that the graph has a name for, up to a place, and what that is in English."""

    end: int
    english: str
    kind: Kind = "name"
    is_owner: bool = False


def language_in(question: str, search: PackedLabels | None) -> str:
    """Tell the language of a question by its words; a tie is broken without the names in it.

    :param search: finds the names.

    >>> language_in("Wo wurde Marie Curie geboren?", None), language_in("Who directed La La Land?", None)
    ('de', 'en')
    """
    own, english = tokens(question)[:MAX_WORDS], lexicon().language
    quoted = [span.span() for span in _QUOTED.finditer(question)]
    small = {
        at: token.text
        for at, token in enumerate(own)
        if (at == 0 or question[token.start].islower()) and not any(a < token.start < b for a, b in quoted)
    }
    language, is_clear = language_of({*small.values()}, question)
    if language == english or search is None:
        return language if is_clear else english
    names = _Names(question, own, glossary(language), search, None).found()
    taken = {at for start, known in names.items() if known.kind == "name" for at in range(start, known.end)}
    rows = search.offline().exact({*small.values()} - lexicon().function_words)  # a mayor is not the Spanish for larger
    called = {row.key for row in rows if row.text == row.key and row.language.partition("-")[0] in {"", english}}
    language, is_clear = language_of({text for at, text in small.items() if at not in taken} - called, question)
    return language if is_clear else english


def translated(
    question: str, language: str, search: PackedLabels | None = None, called: Callable[[IRI], str] | None = None
) -> Translation:
    """Say a question of another language in English.

    :param search: finds the names in it.
    :param called: gives the English label of a term.

    >>> translated("Wo wurde Marie Curie geboren?", "de").text
    'Where was Marie Curie born?'
    """
    own, words = tokens(question)[:MAX_WORDS], glossary(language)
    names = _Names(question, own, words, search, called).found()
    made = _Translator(question, own, names, words, search).translated()
    rest = question[own[-1].end :] if len(own) == MAX_WORDS else ""  # is not read, and so is doubted
    return replace(made, text=made.text + rest) if rest.strip() else made


def label_in_english(label: str, words: Glossary) -> str:
    """Say the name of a class or predicate in English, as far as its words are known.

    >>> label_in_english("Anzahl der Preisträger", glossary("de"))
    'number of the laureate'
    """
    translator = _Translator(label, tokens(label)[:MAX_WORDS], {}, words, None, is_label=True)
    return " ".join(unit.english.lower() for unit in translator.units()) or label


def in_graph(english: str, type_stems: Collection[str]) -> bool:
    """Tell whether all words are ones of names of classes and predicates."""
    return all(stem(word) in type_stems for word in english.lower().split())


class _Names:
    """Finds the names in a question, which are not translated."""

    def __init__(
        self, question: str, own: Sequence[TextToken], words: Glossary, search: PackedLabels | None,
        called: Callable[[IRI], str] | None,
    ) -> None:  # fmt: skip
        self.question, self.tokens, self.words, self.search, self.called = question, own, words, search, called
        self.type_stems = frozenset[str]() if search is None else search.vocabulary.type_stems

    def found(self) -> dict[int, _Known]:
        """Return the names by the position of their first word, the longest first."""
        found = dict[int, _Known]()
        taken = set[int]()
        order = sorted(self._named_spans(), key=lambda hit: (hit[0] - hit[1].end, hit[1].kind != "name", hit[0]))
        for start, known in [*self._quoted_spans(), *order]:
            if not taken & set(range(start, known.end)):
                found[start] = known
                taken.update(range(start, known.end))
        return found

    def _quoted_spans(self) -> Iterator[tuple[int, _Known]]:
        spans = [(*one.span(), f'"{one[1].strip()}"') for one in _QUOTED.finditer(self.question)]
        spans += [(start, end, self.question[start:end]) for start, end in codes_in(self.question)]
        for start, end, text in spans:
            if own := [at for at, token in enumerate(self.tokens) if start <= token.start < end]:
                yield own[0], _Known(own[-1] + 1, text)

    def _named_spans(self) -> Iterator[tuple[int, _Known]]:
        """Yield what the graph has names for, the best connected of each first."""
        words = self.words
        if self.search is None:
            return
        spans = dict[str, list[tuple[int, int, str]]]()
        is_noun = [self._is_noun(at) for at in range(len(self.tokens))]
        for start in range(len(self.tokens)):
            for end in range(start + 1, min(len(self.tokens), start + USUAL_NGRAM) + 1):
                key, mark = key_of(self.tokens[start:end]), words.possessive
                for form in words.spelled(key):
                    spans.setdefault(form, []).append((start, end, ""))
                if mark and key.endswith(mark):
                    spans.setdefault(key.removesuffix(mark), []).append((start, end, mark))
                for form in words.stems_of(key) if is_noun[end - 1] else ():
                    spans.setdefault(form, []).append((start, end, "inflected"))
        rows = self.search.for_text(self.question, (words.language,)).exact(sorted(filter(None, spans)))
        rows = [row._replace(language=row.language.partition("-")[0]) for row in rows]  # of whatever region
        by_key = rows_by("key", rows)
        for row in sorted(rows, key=lambda row: (row.language != words.language, -row.degree)):
            for start, end, ending in spans[row.key]:
                if row not in as_written(by_key[row.key], self.question, self.tokens[start:end]):
                    continue
                if row.kind == "entity" and ending != "inflected" and self._may_be(row, start, end):
                    yield start, _Known(end, self._english_name(row, start, end, ending), is_owner=bool(ending))
                elif row.kind != "entity" and row.language == words.language and is_noun[start]:
                    yield start, _Known(end, self._english_name(row, start, end, "").lower(), "noun")

    def _english_name(self, row: LabelRow, start: int, end: int, ending: str) -> str:
        """Return the English label for one in the language of the question; else what is written."""
        if row.language == self.words.language and self.called is not None:
            return self.called(IRI(row.iri)) + ending
        place = signed_place(row.text, self.question, self.tokens[start].start, self.tokens[end - 1].end)
        return self.question[slice(*place)]

    def _is_noun(self, at: int) -> bool:
        """Tell whether a word may be a noun."""
        raw, text = self.question[self.tokens[at].start], self.tokens[at].text
        meaning = self.words.meaning(text, likely="nouns")
        is_said = meaning is not None and any(in_graph(one, self.type_stems) for one in meaning.english)
        is_noun = meaning is None or (meaning.kind == "nouns" and not is_said)
        return (raw.isupper() or not self.words.noun_capitals) and is_noun

    def _may_be(self, row: LabelRow, start: int, end: int) -> bool:
        """Tell whether words that are the name of something are meant as a name."""
        words, own = self.words, self.tokens
        text = self.question[own[start].start : own[end - 1].end]
        if row.role != "label" and all(map(words.meaning, key_of(own[start:end]).split())):
            return False  # rather word by word, beside others of the name: *Nobelpreis für Chemie* 2020
        if row.text == text and end - start > 1:
            return True
        firsts = [self.question[own[at].start] for at in (start, end - 1)]
        texts = [token.text for token in own[start:end]]
        closed = words.closed_words
        if end - start > 1:
            return not any(first.islower() for first in firsts) and not closed.issuperset(texts)
        is_word = words.meaning(texts[0], likely="nouns" if words.noun_capitals else "verbs") is not None
        is_written_so = row.text == text and row.language == words.language
        is_name = row.text == text and is_proper(self.question, own, start, end)
        return is_name or (not is_word and firsts[0].isupper()) or (is_written_so and texts[0] not in closed)


class _Translator:
    """Translates one question."""

    def __init__(
        self, question: str, own: Sequence[TextToken], names: dict[int, _Known], words: Glossary,
        search: PackedLabels | None, *, is_label: bool = False,
    ) -> None:  # fmt: skip
        self.is_label = is_label  # then the first word has a capital for what it is
        self.question, self.tokens, self.names, self.words = question, own, names, words
        self.raw = [question[token.start : token.end] for token in own]
        said, accented = [raw.lower() for raw in self.raw], words.words["accented"]
        self.texts = [raw if raw in accented else token.text for raw, token in zip_equal(said, own)]
        self.lexicon, self.search = lexicon(), search
        self.before: Unit | None = None
        self.owners = set[int]()  # where names begin that have the mark of an owner
        self.type_stems = frozenset[str]() if search is None else search.vocabulary.type_stems

    def translated(self) -> Translation:
        """Return the question in English."""
        units = self._with_names(self.units())
        text, places = "", list[tuple[int, int, int, int]]()
        for unit in in_order(units, self.words, self.lexicon):
            if not unit.english:
                continue
            start = len(text) + bool(text and unit.kind != "sign")
            text = f"{text:{start}}" + (unit.english if text else unit.english[:1].upper() + unit.english[1:])
            places.append((start, len(text), unit.start, unit.end))
        last = "?" if self.question.rstrip().endswith("?") else ""
        return Translation(text + last, self.question, self.words.language, tuple(places))

    # --- Units

    def units(self) -> list[Unit]:
        """Return the parts of the question in their order."""
        return self._with_owners([*self._units_of_question()])

    def _units_of_question(self) -> Iterator[Unit]:
        """Yield the parts of the question, each with its English words."""
        at = 0
        while at < len(self.tokens):
            unit, end = self._unit_at(at)
            before = self._gap_before(at) if at else ""
            if unit is not None:
                if (sign := _STOPS.search(before)) is not None:
                    start = self.tokens[at - 1].end + sign.start()
                    yield Unit(start, start + 1, sign[0], sign[0], "sign")
                self.before = unit
                yield unit
            at = end

    def _unit_at(self, at: int) -> tuple[Unit | None, int]:
        """Return the unit that begins at a word, and the place after it; None for a word that is left out."""
        if (known := self.names.get(at)) is not None:
            self.owners |= {self.tokens[at].start} if known.is_owner else set()
            return self._unit_of(at, known.end, known.english, known.kind), known.end
        raw = self.raw[at]
        if raw[0].isdigit():
            return self._number_at(at)
        ahead = self.texts[at : at + LONGEST_PHRASE]
        ends = next((i for i in range(len(ahead)) if at + i in self.names), len(ahead))
        found = self.words.phrase(ahead[:ends], likely=self._likeliest_meaning(at))
        if found is not None and found[0] == 1 and self._is_like_name(at):
            found = None
        end = at + (found[0] if found else 1)
        if found is None:
            if raw.lower() in self.words.words["fillers"] or self.texts[at] in self.words.words["fillers"]:
                return None, end
            unit = self._unknown_word(at)
            return unit, at + len(unit.said.split())
        return self._of_meaning(at, end, found[1]), end

    def _likeliest_meaning(self, at: int) -> WordKind:
        """Return what a word is that may be several: by its capital, or by what stands before it."""
        before, words = self.before, self.words.words
        if self.words.noun_capitals:
            return "nouns" if (at > 0 or self.is_label) and self.raw[at][0].isupper() else "verbs"
        if before is None:
            return "nouns"
        is_simple = before.kind in {"auxiliary", "negation", "joint"} and " " not in before.english
        if is_simple or before.said in words["verb_openers"]:
            return "verbs"
        is_noun = before.kind == "noun" and before.english.split()[-1] not in self.lexicon.prepositions
        return "adjectives" if is_noun or before.said in words["more"] else "nouns"

    def _is_like_name(self, at: int) -> bool:
        """Tell whether a capital within a sentence begins a name, where nouns have none: *Marie*, *Roman Polanski*."""
        if self.words.noun_capitals or at == 0 or not self.raw[at][0].isupper():
            return False
        return not self._has_entry(at) or (self._is_part_of_name(at + 1) and not self._has_entry(at + 1))

    def _has_entry(self, at: int) -> bool:
        return any(self.texts[at] in self.words.meanings[kind] for kind in ("nouns", "names", "closed"))

    def _text_of(self, start: int, end: int) -> str:
        return self.question[self.tokens[start].start : self.tokens[end - 1].end]

    def _unit_of(self, start: int, end: int, english: str, kind: Kind, forms: tuple[str, ...] = ()) -> Unit:
        said = " ".join(self.texts[start:end])
        return Unit(self.tokens[start].start, self.tokens[end - 1].end, said, english, kind, forms)

    def _number_at(self, at: int) -> tuple[Unit, int]:
        """Read digits: 1.234,5 is 1,234.5 where commas are decimal; 1950er are the 1950s; 3/4/1950 is in April."""
        if date := _DAY_FIRST.match(self.question, self.tokens[at].start):
            day, month, year = date.groups()
            return self._unit_of(at, at + 3, f"{year}-{month:0>2}-{day:0>2}", "name"), at + 3
        end = at + 1
        while end < len(self.tokens) and self.texts[end].isdecimal() and self._gap_before(end) in {",", "."}:
            end += 1
        raw = self._text_of(at, end)
        is_one = len(re.split("[.,]", raw)) == 1 or re.fullmatch(r"\d{1,3}(\.\d{3})*(,\d+)?", raw)
        if self.words.decimal_comma and is_one:
            raw = raw.translate({ord(","): ".", ord("."): ","})
        ending = self.words.decade_ending
        if ending and re.fullmatch(rf"\d{{3}}0{ending}", self.texts[at]):
            end += int(end < len(self.tokens) and self.words.meaning(self.texts[end]) is not None)
            return self._unit_of(at, end, raw.removesuffix(ending) + self.lexicon.decade_ending, "number"), end
        raw += " %" * self.question[self.tokens[end - 1].end :].lstrip().startswith("%")
        is_number = re.sub("[.,]", "", raw.strip(" %")).isdecimal()
        return self._unit_of(at, end, raw, "number" if is_number else "name"), end

    def _gap_before(self, at: int) -> str:
        return self.question[self.tokens[at - 1].end : self.tokens[at].start]

    def _unknown_word(self, at: int) -> Unit:
        """Return a word that no table has: a name, or one that the graph has as it is, inflected or not."""
        raw, text = self.raw[at], self.texts[at]
        cognates = self.words.pairs["cognates"].items()
        alike = (text.removesuffix(end) + other for end, other in cognates if text.endswith(end))
        for form in (text, *self.words.stems_of(text), *alike):
            if stem(form) in self.type_stems:
                return self._unit_of(at, at + 1, form, "noun")
        if not raw[0].isupper():
            return self._unit_of(at, at + 1, raw, "word")
        end = at + 1  # of a name that the graph has not
        while self._is_part_of_name(end):
            end += 1
        if text.endswith(self.words.possessive) and len(text) > _SHORT and raw[-1].islower():
            self.owners.add(self.tokens[at].start)
        place = signed_place("", self.question, self.tokens[at].start, self.tokens[end - 1].end)
        return self._unit_of(at, end, self.question[slice(*place)], "name")

    def _is_part_of_name(self, at: int) -> bool:
        """Tell whether a word has a capital and goes on with a name before it."""
        if at >= len(self.tokens) or at in self.names or not self._gap_before(at).isspace():
            return False
        is_word = self.words.noun_capitals and self.words.meaning(self.texts[at], likely="nouns") is not None
        return self.raw[at][0].isupper() and not is_word

    def _of_meaning(self, start: int, end: int, meaning: Meaning) -> Unit:
        """Return the unit of words whose meaning is known."""
        if meaning.kind == "verbs":
            return self._unit_of(start, end, meaning.english[1], "verb", meaning.english)
        english, *degrees = meaning.english[0].split("/")
        if meaning.kind == "closed":
            is_asking = not start or self._gap_before(start).strip() or self.texts[start - 1] in self.words.closed_words
            english = english if is_asking or degrees else meaning.english[-1]
            if self.texts[end : end + 1] and self.texts[end].isdecimal():
                english = self.words.pairs["before_numbers"].get(self.texts[start], english)
        elif len(meaning.english) > 1:
            english = next((one for one in meaning.english if in_graph(one, self.type_stems)), english)
        if meaning.kind == "nouns" and self._is_plural(start, end):
            english = plural(english)
        kinds: dict[str, Kind] = {"nouns": "noun", "adjectives": "adjective", "names": "name"}
        kind = kinds.get(meaning.kind) or kind_of(english, self.lexicon)
        return self._unit_of(start, end, english, kind, (english, *degrees) if degrees else ())

    def _is_plural(self, start: int, end: int) -> bool:
        """Tell whether a noun has the ending of a plural, and no word before it that only one thing has."""
        text, nouns = self.texts[end - 1], self.words.meanings["nouns"]
        before = self.texts[start - 1] if start else ""
        is_known = text in nouns or end - start > 1 or before in self.words.words["singular"]
        return not is_known and text.endswith(self.words.endings["plural_nouns"])

    # --- Names

    def _with_names(self, units: list[Unit]) -> list[Unit]:
        """Join what is the name of something in English: *Universität Bonn*, *die Beatles*."""
        the, of = self.lexicon.written["the"], self.lexicon.written["of"]
        places = dict[str, int]()
        for at, (first, last) in enumerate(itertools.pairwise(units)):
            if last.kind == "name" and (first.kind == "noun" or first.english.endswith(the)):
                joint = f"{first.english} {of}" if first.kind == "noun" else the
                places[normalised(f"{joint} {last.english}")] = at
        asked = {at + 1 for at, unit in enumerate(units) if unit.kind == "asking"}  # which coil: no name
        nouns = {unit.english: at for at, unit in enumerate(units) if unit.kind == "noun" and at not in asked}
        rows = self.search.exact([*places, *nouns]) if self.search is not None and (places or nouns) else []
        for noun, at in nouns.items():
            own = [row for row in rows if row.key == noun]
            if own and all(row.kind == "entity" for row in own):
                units[at] = replace(units[at], english=max(own, key=lambda row: row.degree).text)
        own = [row for row in rows if row.key in places and row.kind == "entity"]
        own.sort(key=lambda row: (normalised(row.text) == row.key, row.degree))  # rather The Beatles than … (album)
        named = {places[row.key]: row.text for row in own}
        for at, name in sorted(named.items(), reverse=True):
            first, last = units[at : at + 2]
            joint = first.english.removesuffix(the).rstrip()
            kept = [replace(first, english=joint)] if first.kind == "preposition" else []
            units[at : at + 2] = [*kept, replace(last, start=first.start, english=name)]
        return units

    # --- Possession

    def _with_owners(self, units: list[Unit]) -> list[Unit]:
        """Say whose something is: *der Vater des Königs*, *Deutschlands Hauptstadt*, *die Hauptstadt Deutschlands*."""
        of, mark, found = self.lexicon.written["of"], self.words.possessive, list[Unit]()
        degrees = self.lexicon.comparatives.keys() | self.lexicon.quantifiers.keys()
        for at, unit in enumerate(units):
            found.append(unit)
            before, after = (units[at - 1].kind if at else ""), (units[at + 1].kind if at + 1 < len(units) else "")
            is_owner = after != "adjective" or units[at + 1].said.endswith(self.words.endings["owners"])
            is_named = unit.kind == "name" and mark and unit.start in self.owners
            name = unit.english.removesuffix(mark)
            if unit.said in self.words.words["than"] and any(one.english in degrees for one in units[:at]):
                found[-1] = replace(unit, english=self.lexicon.written["than"])
            elif unit.said in self.words.words["genitives"] and before == "noun" and is_owner:
                found[-1] = replace(unit, english=f"{of} {unit.english}", kind="preposition")
            elif is_named and after in {"noun", "adjective"}:
                found[-1] = replace(unit, english=f"{name}'{self.lexicon.possessive}")
            elif is_named and before == "noun":
                found[-1:] = [replace(unit, english=of, kind="preposition"), replace(unit, english=name)]
        return found
