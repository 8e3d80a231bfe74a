"""Names: which parts of a text may be one, how a graph may spell it, and what it calls its entities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import KnowledgeGraph, Solution
from kgsparql.linking.label_index.search import LabelRow, Role, label_row
from kgsparql.linking.words import consecutive, stop_words, tokens
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, text_literal
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS

MAX_SPELLINGS = 160
"""Spellings of one text that are looked up: enough for all of a question of some twenty words."""

_MOST_WORDS = 8  # of a name
_MOST_LOWER_WORDS = 3  # of a name that may be in lower case in the question: `penicillin`, `high school`
_IN_NAMES = frozenset("of the in on at for to a de la le les du des von van der den zu da di del do dos".split())
_BETWEEN_NAMES = frozenset(("and", "y", "e", "et", "und"))  # or in one name, as in `Pride and Prejudice`
_ARTICLES = frozenset(("the", "a", "an"))


def language_tags(languages: Iterable[str]) -> tuple[str, ...]:
    """List the language tags of the names to ask for: the reader's, then what everybody reads; empty for no tag.

    >>> language_tags(["de", "en-GB"])
    ('de', 'en-gb', 'mul', '', 'en')
    """
    return tuple(dict.fromkeys((*(tag.lower() for tag in languages), "mul", "", "en")))


def names_of(graph: KnowledgeGraph, entities: Sequence[IRI], tags: Sequence[str]) -> list[LabelRow]:
    """Ask for all names that a graph has for some entities, each once."""
    query = Query.load("search_names").bind(predicate=graph.naming.names, language=map(Literal, tags))
    return names_in(select_about(graph, [query], entities).seen)


def entities_named(graph: KnowledgeGraph, query: Query, texts: Sequence[str], tags: Sequence[str]) -> list[LabelRow]:
    """Ask for the names that are exactly one of some texts, with one of some language tags."""
    literals = [text_literal(text, tag) for text in texts for tag in tags]
    return names_in(select_about(graph, [query], literals, parameter="label").seen)


def names_in(solutions: Iterable[Solution]) -> list[LabelRow]:
    """Return the names in solutions with ``?entity``, ``?label`` and maybe ``?predicate``, each once."""
    found: dict[LabelRow, None] = {}
    for solution in solutions:
        entity, label = solution.get("entity"), solution.get("label")
        if isinstance(entity, IRI) and isinstance(label, Literal):
            role: Role = "alternative" if solution.get("predicate") in ALTERNATIVE_LABELS else "label"
            row = label_row(entity.value, label.value, role=role, language=(label.language or "").lower())
            if row is not None:
                found[row] = None
    return list(found)


class Spellings:
    """Parts of a text that may be names, for graphs that find a label only in their own spelling.

    >>> found = Spellings("Which films did Jane Campion write?", ("en",))
    >>> found.names
    ('Jane Campion',)
    >>> [text for text in found.exact if text.lower() in ("film", "films")]
    ['films', 'Films', 'film', 'Film']
    """

    def __init__(self, text: str, languages: tuple[str, ...]) -> None:
        self.text = text
        self.tokens = tokens(text)
        self._stops = stop_words((*languages, "en"))
        self._capitals = [self._word_at(i)[:1].isupper() for i in range(len(self.tokens))]
        marked = [i for i, is_capital in enumerate(self._capitals) if is_capital and i]
        self._is_shouted = text == text.upper()
        self.is_cased = bool(marked) and not self._is_shouted

    def _word_at(self, i: int) -> str:
        return self.text[self.tokens[i].start : self.tokens[i].end]

    def _is_content(self, i: int) -> bool:
        token = self.tokens[i]
        is_acronym = self.is_cased and len(token.text) > 1 and self._word_at(i).isupper()
        return token.text not in self._stops or is_acronym

    @property
    def exact(self) -> tuple[str, ...]:
        """List texts that may be a whole label, the likeliest first: as written, and with other capitals."""
        found: dict[str, None] = {}
        for start, end in sorted(self._name_spans(), key=self._span_likelihood):
            for form in self._span_forms(start, end):
                found[form] = None
        return tuple(found)[:MAX_SPELLINGS]

    def _name_spans(self) -> Iterator[tuple[int, int]]:
        count = len(self.tokens)
        for start in range(count):
            for end in range(start + 1, min(count, start + _MOST_WORDS) + 1):
                is_whole = end - start == count
                if is_whole or (any(map(self._is_content, range(start, end))) and self._is_closed(start, end)):
                    yield start, end

    def _is_closed(self, start: int, end: int) -> bool:
        """Tell whether a name may begin and end here: not with `of`, but with `The`, and with `Who` after a capital."""
        first, last = start, end - 1
        begins = self._is_content(first) or self.tokens[first].text in _ARTICLES or (self._capitals[first] and first)
        ends = self._is_content(last) or (self.is_cased and self._capitals[last] and last > first)
        return bool(begins and ends)

    def _span_likelihood(self, span: tuple[int, int]) -> tuple[int, int]:
        """Make a sort key: first what begins and ends with a capital, then a few words, then the rest."""
        start, end = span
        is_long = end - start > _MOST_LOWER_WORDS
        if not self.is_cased:
            return int(is_long), start
        if self._capitals[start] and self._capitals[end - 1] and self._is_content(start):
            return 0, start
        has_name = any(self._capitals[i] and i for i in range(start, end))
        return (3 if is_long else 2) if has_name or is_long else 1, start

    def _span_forms(self, start: int, end: int) -> Iterator[str]:
        written = self.text[self.tokens[start].start : self.tokens[end - 1].end]
        for form in (written, *self._singular_forms(written, start, end)):
            yield form
            yield form[:1].upper() + form[1:]
            if end - start > 1:
                yield self._title_case(start, end)
            if not self.is_cased or start == 0 or end - start <= _MOST_LOWER_WORDS:
                yield form.lower()
                yield form.capitalize()

    def _singular_forms(self, written: str, start: int, end: int) -> Iterator[str]:
        """Yield `city` for `cities`: questions often have the plural of a class."""
        if end - start > 2 or self._capitals[end - 1] or len(self.tokens[end - 1].text) < 4:
            return
        if written.endswith("ies"):
            yield written[:-3] + "y"
        elif written.endswith("s") and not written.endswith(("ss", "us", "is")):
            yield written[:-1]

    def _title_case(self, start: int, end: int) -> str:
        parts, at = [], self.tokens[start].start
        for i in range(start, end):
            token = self.tokens[i]
            word = self.text[token.start : token.end]
            rest = word[1:].lower() if self._is_shouted else word[1:]
            is_small = i > start and token.text in self._stops
            parts += [self.text[at : token.start], word.lower() if is_small else word[:1].upper() + rest]
            at = token.end
        return "".join(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """List what is written like a name; where nothing is, runs of content words."""
        runs = self._name_runs()
        return tuple(dict.fromkeys(self.text[self.tokens[run[0]].start : self.tokens[run[-1]].end] for run in runs))

    @property
    def small_words(self) -> frozenset[str]:
        """Return lower-case words where names have capitals: they more likely say which kind is asked for."""
        if not self.is_cased:
            return frozenset()
        return frozenset(t.text for i, t in enumerate(self.tokens) if self._is_content(i) and not self._capitals[i])

    @property
    def searches(self) -> tuple[tuple[str, ...], ...]:
        """List words to search for together: of each name, of each run of content words; then each word of a name."""
        together = [self._content_words(run) for run in (*self._name_runs(), *self._content_runs())]
        alone = [(word,) for run in self._name_runs() for word in self._content_words(run)]
        return tuple(dict.fromkeys(words for words in (*together, *alone) if words))

    def _content_words(self, run: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._word_at(i) for i in run if self._is_content(i))

    def _name_runs(self) -> list[list[int]]:
        """List runs of capitalised words: joined by small words that a name may have, then by fewer, then by none."""
        if not self.is_cased:
            return self._content_runs()
        found: list[list[int]] = []
        for small in (_IN_NAMES | _BETWEEN_NAMES, _IN_NAMES, frozenset[str]()):
            runs: list[list[int]] = []
            for i in (i for i, is_capital in enumerate(self._capitals) if is_capital and self._is_content(i)):
                if runs and i - runs[-1][-1] <= 3 and self._is_one(runs[-1][-1], i, small):
                    runs[-1] = list(range(runs[-1][0], i + 1))
                else:
                    runs.append([i])
            found += [run for run in runs if run not in found]
        return found

    def _is_one(self, last: int, i: int, small: Collection[str]) -> bool:
        """Tell whether two words may be of one name: only small words such as `of the` are between them, no comma."""
        between = self.text[self.tokens[last].end : self.tokens[i].start]
        words = (self.tokens[j].text for j in range(last + 1, i))
        return all(word in small for word in words) and not any(char in between for char in ",.;:?!()\"'’")

    def _content_runs(self) -> list[list[int]]:
        return consecutive(filter(self._is_content, range(len(self.tokens))))
