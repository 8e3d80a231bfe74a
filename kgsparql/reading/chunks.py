"""The words of a question, covered by chunks: the names and classes of a graph's labels, and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter

from kgsparql.dataclasses import field, frozen, replace
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.lattice import Lattice
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Linker
from kgsparql.linking.words import TextToken, is_proper, other_numbers, stem, tokens, words, words_of
from kgsparql.rdf.terms import IRI, distinct, first_of, grouped, normalised
from kgsparql.rdf.vocabulary import is_wikibase_item
from kgsparql.reading.clauses import Chunk, Name, places_of
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.values import ValueFinder

MAX_WORDS = 200  # words of a question that are read; what comes after them is in no clause
MAX_NAMES = 6
_VARIED = 4  # words of a name that may not begin or end with some
_FEW = 8  # names with a word, of which any may be meant by it
_LEAST_LETTERS, _LEAST_MISTYPED = 3, 4  # of a word of a name; a mistyped one has more
_LEAST_SCORE = 0.55  # of a link; below it, its name is too unlike the words
_SURE_SCORE = 0.7  # of a link that covers shorter names
_MUCH_RARER = 5  # times that a name written as in the question may be in fewer triples than its namesakes
_ALTERNATIVE = 0.97


@frozen
class Chunked:
    """A question as words and chunks; other fields than ``chunks`` are about words, by their positions.

    :param texts: normalised, contractions written out: ``is not`` of ``isn't``.
    :param gaps: what stands between a word and the next one.
    :param is_cased: it writes names with capitals.
    :param chunks: in order, without overlaps; most words are in none.
    :param predicates: the spans that are the name of predicates, with these.
    :param type_stems: stems of the words of classes and predicates.
    """

    question: str
    tokens: tuple[TextToken, ...]
    texts: tuple[str, ...]
    raw: tuple[str, ...]
    gaps: tuple[str, ...]
    is_cased: bool = False
    chunks: tuple[Chunk, ...] = ()
    predicates: Mapping[tuple[int, int], tuple[IRI, ...]] = field(default_factory=dict)
    type_stems: frozenset[str] = frozenset()

    @classmethod
    def of(cls, question: str) -> Chunked:
        """Split a question into words, without chunks."""
        found = tuple(tokens(question))
        raw = tuple(question[token.start : token.end] for token in found)
        ends = [*(token.start for token in found[1:]), len(question)]
        gaps = tuple(question[token.end : end] for token, end in zip(found, ends, strict=False))
        is_cased = any(word[0].isupper() and len(word) > 1 for word in raw[1:])
        texts = _without_contractions([token.text for token in found], gaps)
        return cls(question, found, tuple(texts), raw, gaps, is_cased)

    @property
    def named(self) -> set[int]:
        """The positions of the words of what can be nothing but names."""
        return places_of(chunk for chunk in self.chunks if chunk.is_name)

    def is_type_word(self, position: int) -> bool:
        """Tell whether a word is one of the name of a class or predicate."""
        return stem(self.texts[position]) in self.type_stems

    def is_capital(self, position: int) -> bool:
        """Tell whether a word has a capital that marks a name: the first one has it anyway."""
        return position > 0 and self.raw[position][:1].isupper()

    def is_letter(self, position: int) -> bool:
        """Tell whether a word is one capital letter amid small ones: grade A."""
        raw, is_pronoun = self.raw[position], self.texts[position] in lexicon().subject_pronouns
        return position > 0 and len(raw) == 1 and raw.isupper() and not (is_pronoun or self.question.isupper())

    def text_of(self, start: int, end: int) -> str:
        """Return some words side by side, as they are written."""
        return self.question[self.tokens[start].start : self.tokens[end - 1].end]

    def without(self, start: int, end: int) -> Chunked:
        """Return the question without some words: what is named by any of them is not named."""

        def moved(at: int) -> int:
            return at - (end - start) if at >= end else at

        tokens, texts, raw, gaps = (
            (*own[:start], *own[end:]) for own in (self.tokens, self.texts, self.raw, self.gaps)
        )
        kept = (one for one in self.chunks if one.end <= start or one.start >= end)
        chunks = tuple(replace(one, start=moved(one.start), end=moved(one.end)) for one in kept)
        spans = {(moved(a), moved(b)): own for (a, b), own in self.predicates.items() if b <= start or a >= end}
        return replace(self, tokens=tokens, texts=texts, raw=raw, gaps=gaps, chunks=chunks, predicates=spans)

    def with_text(self, at: int, text: str) -> Chunked:
        """Return the question with another word at a place."""
        return replace(self, texts=(*self.texts[:at], text, *self.texts[at + 1 :]))

    def positions_between(self, start: int, end: int) -> list[int]:
        """Return the positions of the words between two characters."""
        return [at for at, token in enumerate(self.tokens) if token.start >= start and token.end <= end]


def chunked(
    question: str, linker: Linker | None, *,
    links: Sequence[LinkedEntity] | None = None, values: Sequence[tuple[int, int, Name]] = (),
) -> Chunked:  # fmt: skip
    """Cover the words of a question by the names and classes of a graph, and numbers.

    :param links: what was linked, or given; without them, the linker is asked.
    :param values: texts of the graph that the question has, each with the positions of its first word and after its
        last one. They count where no entity has this name.
    """
    if links is None:
        links = () if linker is None else linker.link(question)
    lattice = None if linker is None else linker.lattice(question)
    return _Chunker(Chunked.of(question), lattice, values).chunked(links)


def _without_contractions(texts: list[str], gaps: Sequence[str]) -> list[str]:
    """Write contractions out: ``isn't``, ``who's``."""
    language = lexicon()
    own = language.contractions
    before, negation, after = own["before_not"], own["not"], own["after"]
    for at in range(1, len(texts)):
        if gaps[at - 1] in {"'", "’"}:
            if texts[at] in negation and texts[at - 1] in before:
                texts[at - 1 : at + 1] = before[texts[at - 1]], negation[texts[at]]
            elif texts[at] in after and texts[at - 1] in {*language.question_words, *language.existence_words}:
                texts[at] = after[texts[at]]
    return texts


class _Chunker:
    """Finds the chunks of one question: exact names first, the longest first; then what the linker found besides."""

    def __init__(self, read: Chunked, lattice: Lattice | None, values: Sequence[tuple[int, int, Name]]) -> None:
        self.read, self.texts, self.raw = read, read.texts, read.raw
        self.language = lexicon()
        self.lattice = lattice
        self.length = min(MAX_WORDS, len(read.texts))
        self.finder = ValueFinder(read.question, read.tokens, read.texts[: self.length], read.gaps)
        self.values = grouped(((start, end), name) for start, end, name in values)
        self.chunks: list[Chunk] = []
        self.taken: set[int] = set()

    def chunked(self, links: Sequence[LinkedEntity]) -> Chunked:
        """Return the question with its chunks."""
        rows = dict[tuple[int, int], list[tuple[LabelRow, float]]]()
        if self.lattice is not None:
            spans = {}
            for span, own in self.lattice.rows.items():
                if span[1] <= self.length:
                    rows[span] = own
                    if named := dict.fromkeys([IRI(row.iri) for row, _ in own if row.kind == "predicate"]):
                        spans[span] = tuple(named)
            self.read = replace(self.read, type_stems=self.lattice.vocabulary.type_stems, predicates=spans)
        for found in self.finder.dates():  # days and months of a year, and times, which are no names
            self._add_chunk(found)
        for found in self.finder.numbers(self.taken):
            if self.finder.is_compared(found.start):
                self._add_chunk(found)
        if given := [link for link in links if link.matched == "given"]:
            self._take_given(given)
        self._take_names_of_predicates()
        self._take_exact(rows)
        for link in links:
            self._take_linked(link)
        if self.lattice is not None:
            self._take_words_of_names(self.lattice)
        self._take_numbers()
        self._take_acronyms()
        return replace(self.read, chunks=tuple(sorted(self.chunks, key=attrgetter("start"))))

    def _add_chunk(self, chunk: Chunk) -> None:
        """Add a chunk, unless another has some of its words."""
        if self.taken.isdisjoint(chunk.span):
            self.chunks.append(chunk)
            self.taken.update(chunk.span)

    def _take_given(self, links: Sequence[LinkedEntity]) -> None:
        """Take what the user says that words mean; one that no words name is what the pronouns mean."""
        unnamed = [link for link in links if link.mention.start < 0]
        for at, text in enumerate(self.texts[: self.length]):
            is_place = text in self.language.existence_words and self.texts[at - 1] not in self.language.be_forms
            if len(unnamed) == 1 and (text in self.language.personal_pronouns or (at > 0 and is_place)):
                self._add_chunk(Chunk(at, at + 1, self.raw[at], (_name_of(unnamed[0]),), is_strong=True))
        for link in links:
            places = self.read.positions_between(*link.mention.place)
            if places:
                start, end = places[0], places[-1] + 1
                self._add_chunk(Chunk(start, end, self.read.text_of(start, end), (_name_of(link),), is_strong=True))

    def _take_exact(self, rows: Mapping[tuple[int, int], list[tuple[LabelRow, float]]]) -> None:
        """Take the names and classes that the question has word for word, the longest first."""
        found = list[tuple[float, int, Chunk]]()
        for start, end in rows.keys() | self.values.keys():
            chunk = self._exact_chunk(start, end, rows.get((start, end), []))
            if chunk is not None:
                as_written = any(name.label == chunk.text for name in chunk.entities)
                found.append((start - end - 0.3 * as_written, start, chunk))
        for _, _, chunk in sorted(found, key=itemgetter(0, 1)):
            self._add_chunk(chunk)

    def _take_names_of_predicates(self) -> None:
        """Take names of predicates that no sentence would have there: `the *in language* of X`, `domainIncludes`."""
        language, texts = self.language, self.texts
        for start, end in sorted(self.read.predicates, key=lambda span: span[0] - span[1]):
            opener = texts[start - 1] if start else ""
            is_cut = texts[start] in language.auxiliaries | language.prepositions | language.have_forms | language.verbs
            is_cut = (is_cut or language.is_participle(texts[start])) and end > start + 1
            is_code = end == start + 1 and any(map(str.isupper, self.raw[start][1:]))
            is_asked = end == self.length and texts[0] in language.be_forms  # is it in use
            is_so = is_asked or opener in language.be_forms | language.negations
            is_so = is_so and texts[start] in language.prepositions and end > start + 1
            if (is_cut and opener in language.determiners) or is_code or is_so:
                text, named = self.read.text_of(start, end), self.read.predicates[start, end]
                self._add_chunk(Chunk(start, end, text, predicates=named))

    def _exact_chunk(self, start: int, end: int, rows: Sequence[tuple[LabelRow, float]]) -> Chunk | None:
        """Make the chunk of a span; None where it names nothing, or is made of words that are no name here."""
        read = self.read
        if end > self.length or self._is_no_name(start, end):
            return None
        text, span = read.text_of(start, end), range(start, end)
        is_relation = any(row.kind == "predicate" for row, _ in rows)  # the country of a firm is none of `country`
        items = {row.iri for row, _ in rows if row.kind == "entity" or (is_relation and is_wikibase_item(row.iri))}
        kinds = [row for row, _ in sorted(rows, key=_by_score) if row.kind == "class" and row.iri not in items]
        classes = distinct(IRI(row.iri) for row in kinds)
        names = _best_names(((row, score) for row, score in rows if row.iri in items), text)
        names = names or tuple(self.values.get((start, end), ()))[:MAX_NAMES]
        is_small = not any(self.raw[at][:1].isupper() for at in span)
        may_be_said = is_small and (len(span) > 1 or (read.is_cased and not classes and start > 0))
        functional = self.language.function_words
        if may_be_said and all(self.texts[at] in functional or read.is_type_word(at) for at in span):
            names = ()
        if not names and not classes:
            return None
        is_first_name = start == 0 and bool(names) and names[0].label == text and not self._is_word(0)
        is_phrase = len(span) > 1 and not (is_small and read.is_cased)
        is_strong = is_phrase or read.is_capital(start) or any(map(str.isdigit, text)) or is_first_name
        return Chunk(start, end, text, names, classes, is_strong=is_strong)

    def _is_no_name(self, start: int, end: int) -> bool:
        """Tell whether a span is a word that says nothing, or begins or ends with one of the sentence."""
        own, language = self.texts[start:end], self.language
        if len(own) == 1:
            is_acronym = self.read.is_cased and self.raw[start].isupper() and len(self.raw[start]) > 1
            is_acronym |= self.read.is_letter(start)
            is_name = is_acronym or is_proper(self.read.question, self.read.tokens, start, end)
            is_asked = self.texts[start - 1] in language.question_words and start > 0  # which dataset
            return own[0] in language.empty_words and not is_name and not (is_asked and own[0] in language.fillers)
        is_joined = self.read.gaps[end - 2] == "-"  # FASTA-like
        is_said = is_joined or self.read.is_capital(end - 1)
        ends_badly = own[-1] in language.prepositions | language.determiners and not is_said
        openers = language.determiners | language.auxiliaries | language.prepositions
        begins_badly = own[0] in openers and not (self.raw[start][0].isupper() or (start, end) in self.values)
        return (ends_badly or begins_badly) and len(own) < _VARIED

    def _is_word(self, position: int) -> bool:
        """Tell whether a word alone is a word of the language, or of classes and predicates, and no name."""
        text, language = self.texts[position], self.language
        return (
            text in language.empty_words | language.verbs | language.imperatives
            or self.read.is_type_word(position)
            or text in language.superlatives
            or text in language.comparatives
            or text in language.summaries
        )

    def _take_linked(self, link: LinkedEntity) -> None:
        """Take what the linker found besides: parts of names, other orders of their words, typing errors."""
        language, places = self.language, self.read.positions_between(*link.mention.place)
        if link.kind != "entity" or not places or places[-1] >= self.length or link.score < _LEAST_SCORE:
            return
        start, end, is_single = places[0], places[-1] + 1, len(places) == 1
        if any(chunk.span == range(start, end) for chunk in self.chunks):
            return
        text = self.texts[start]
        if is_single and link.matched != "exact" and language.is_participle(text):
            return  # `released` is not *I Shall Be Released*
        is_acronym = is_single and self.read.is_cased and self.raw[start][1:].isupper()  # US, no `us`
        if (
            link.matched == "vector"
            and all(self.raw[at][:1].isupper() for at in places)
            and not (is_acronym and normalised(link.label).startswith(text))  # of the USA
            and not {*words_of(link.label)} & {self.texts[at] for at in places}
        ):
            return  # a name that the graph has not is not another one that is like it
        small = {self.texts[at] for at in places} & (language.function_words | language.numbers.keys())
        small = set() if is_acronym else small
        own = set() if link.matched == "exact" else small - set(words_of(link.label))
        if own or small & (language.and_words | language.or_words):  # the sentence goes on in it
            return
        inside = [chunk for chunk in self.chunks if set(chunk.span) & set(places)]
        shorter = all(set(chunk.span) < set(places) and len(chunk.span) < len(places) - 1 for chunk in inside)
        shorter &= len(places) > 2
        if inside and (shorter or self._is_respelled(link, inside)):
            self.chunks = [chunk for chunk in self.chunks if chunk not in inside]
            self.taken -= places_of(inside)
        is_small = self.read.is_cased and self.raw[start].islower()
        if is_single and not is_acronym and (is_small or self._is_word(start)):
            return
        names = distinct(_name_of(one) for one in (link, *link.candidates))[: MAX_NAMES - 1]
        if is_acronym:  # of `US`, the USA and not what is near it
            names = tuple(name for name in names if normalised(name.label).startswith(text)) or names
        is_fuzzy = link.matched != "exact"
        self._add_chunk(Chunk(start, end, self.read.text_of(start, end), names, is_fuzzy=is_fuzzy, is_strong=True))

    def _is_respelled(self, link: LinkedEntity, inside: Sequence[Chunk]) -> bool:
        """Tell whether a mention is a name but for the words that no chunk has: `Princton University`."""
        typed, label = words_of(link.mention.text), words_of(link.label)
        right = {self.texts[at] for at in places_of(inside)}
        same = [one for one, other in zip(typed, label, strict=False) if one == other]
        return len(typed) == len(label) and len(same) == len(label) - 1 and right <= set(same)

    def _take_words_of_names(self, lattice: Lattice) -> None:
        """Take first or last names alone, and the last words of names of classes: `laureates` of *Nobel laureate*.

        Of classes, the only one with this last word; or those with one that a word is which no label has, but for a
        letter.
        """
        closed, count = self.language.empty_words | self.language.verbs, lattice.vocabulary.count
        forms = {
            at: (text, *other_numbers(text))
            for at, text in enumerate(self.texts[: self.length])
            if not (at in self.taken or text in closed or self.read.is_capital(at)) and len(text) > _LEAST_LETTERS
        }
        last = lattice.rows_with([*chain.from_iterable(forms.values())], "class", (-1,))
        for at in range(self.length):
            text, raw = self.texts[at], self.raw[at]
            if at in self.taken or len(text) < _LEAST_LETTERS:
                continue
            if raw[0].isupper() and not self._is_word(at) and not text.isdecimal():
                beside = self._names_beside(at)
                rows = lattice.rows_with([text], "entity", (0, -1), limit=3 * _FEW)
                rows = [row for row in rows if beside.issubset(words(row.key))]
                if 0 < len({row.iri for row in rows}) <= _FEW:
                    names = _best_names(((row, _SURE_SCORE) for row in rows), text)
                    self._add_chunk(Chunk(at, at + 1, raw, names, is_fuzzy=len(names) > 1, is_strong=True))
            elif at in forms:
                is_verb = self.language.is_participle(text)
                classes = _classes_of(row for row in last if words(row.key)[-1] in forms[at])
                if len(classes) == 1:
                    self._add_chunk(Chunk(at, at + 1, raw, (), classes))
                elif not (classes or count(text) or self._is_word(at) or is_verb) and len(text) > _LEAST_MISTYPED:
                    classes = _classes_of(lattice.rows_with(lattice.respelled(at), "class", (-1,)))
                    if classes:
                        self._add_chunk(Chunk(at, at + 1, raw, (), classes, is_fuzzy=True))

    def _names_beside(self, position: int) -> set[str]:
        """Return the words beside one that are written as of one name with it: ``Alfred`` of ``Alfred Nobel``."""
        language, found = self.language, set[str]()
        for other, gap in ((position - 1, position - 1), (position + 1, position)):
            is_there = 0 < other < self.length and other not in self.taken and self.read.gaps[gap].isspace()
            if is_there and self.read.is_capital(other) and self.texts[other] not in language.empty_words:
                found.add(self.texts[other])
        return found

    def _take_numbers(self) -> None:
        """Take numbers, also in words; where one is a name as well, it is both: ``1984``."""
        for found in self.finder.numbers(self.taken):
            if (at := first_of(at for at, one in enumerate(self.chunks) if one.span == found.span)) is not None:
                self.chunks[at] = replace(self.chunks[at], number=found.number, last=found.last)
            else:
                self._add_chunk(found)
        for found in self.finder.ranges(sorted(self.chunks, key=attrgetter("start"))):
            self.chunks = [chunk for chunk in self.chunks if {*chunk.span}.isdisjoint(found.span)]
            self.taken -= {*found.span}
            self._add_chunk(found)

    def _take_acronyms(self) -> None:
        """Take words such as ``US`` for no function words."""
        for at in range(self.length if self.read.is_cased else 0):
            raw, text = self.raw[at], self.texts[at]
            if len(raw) > 1 and raw.isupper() and text in self.language.empty_words:
                self._add_chunk(Chunk(at, at + 1, raw, is_strong=True))


def _classes_of(rows: Iterable[LabelRow]) -> tuple[IRI, ...]:
    return distinct(IRI(row.iri) for row in rows)


def _by_score(hit: tuple[LabelRow, float]) -> tuple[float, bool, int, str]:
    row, score = hit
    return -score, row.role != "label" and row.text.endswith(")"), -row.degree, row.iri  # Gene name, then one (HGNC)


def _best_names(hits: Iterable[tuple[LabelRow, float]], text: str) -> tuple[Name, ...]:
    """Make names of rows, those written as in the question first if they are not much rarer, then by degree."""
    best = dict[str, Name]()
    for row, score in hits:
        name = Name(IRI(row.iri), row.text, score * (1.0 if row.role == "label" else _ALTERNATIVE), row.degree)
        old = best.get(row.iri)
        if old is None or (name.label == text, name.score) > (old.label == text, old.score):
            best[row.iri] = name
    most = max((name.degree for name in best.values()), default=0)

    def order(name: Name) -> tuple[bool, int, str]:
        return name.label != text or name.degree * _MUCH_RARER < most, -name.degree, name.term.value

    return tuple(sorted(best.values(), key=order)[:MAX_NAMES])


def _name_of(link: LinkedEntity) -> Name:
    return Name(link.term, link.label, link.score, link.degree)
