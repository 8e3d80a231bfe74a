"""Which parts of a text may be a name, and how a graph may spell it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

from kgsparql.linking.english_forms import singular
from kgsparql.linking.words import TextToken, consecutive, is_proper, stop_words, tokens, with_signs

MAX_SPELLINGS = 160
"""Spellings of one text that are looked up: enough for all of a question of some twenty words."""

_MOST_WORDS = 8  # of a name
_MOST_LOWER_WORDS = 3  # of a name that may be in lower case in the question: `penicillin`, `high school`
_LONGEST_ACRONYM = 3
_IN_NAMES = frozenset("of the in on at for to a de la le les du des von van der den zu da di del do dos".split())
_NO_SIGNS_OF_NAMES = frozenset("()[]{},;:\"“”„«»'‘’")
_BETWEEN_NAMES = frozenset(("and", "y", "e", "et", "und"))  # or in one name, as in `Pride and Prejudice`
_ARTICLES = frozenset(("the", "a", "an"))


class Spellings:
    """Parts of a text that may be names, for graphs that find a label only in their own spelling.

    >>> found = Spellings("Which films did Jane Campion write?", ("en",))
    >>> found.names
    ('Jane Campion',)
    >>> [text for text in found.exact if text.lower() in ("film", "films")]
    ['films', 'Films', 'film', 'Film']
    >>> "TV series" in Spellings("Which tv series won?", ("en",)).exact
    True
    """

    def __init__(self, text: str, languages: tuple[str, ...]) -> None:
        self.text = text
        self.tokens = tokens(text)
        stops = stop_words((*languages, "en"))
        self._words = [self._text_of(i, i + 1) for i in range(len(self.tokens))]
        self._capitals = [word[:1].isupper() for word in self._words]
        self._is_shouted = text == text.upper()
        self.is_cased = any(self._capitals[1:]) and not self._is_shouted
        self._stops = [token.text in stops for token in self.tokens]
        self._content = [
            not self._stops[i] or (self.is_cased and word[1:].isupper()) or is_proper(text, self.tokens, i, i + 1)
            for i, word in enumerate(self._words)
        ]

    def _text_of(self, start: int, end: int) -> str:
        return self.text[self.tokens[start].start : self.tokens[end - 1].end]

    @property
    def content(self) -> Iterator[TextToken]:
        """Yield the words that may be in a name: all but stop words."""
        return itertools.compress(self.tokens, self._content)

    @property
    def exact(self) -> tuple[str, ...]:
        """List texts that may be a whole label, the likeliest first: as written, and with other capitals."""
        spans = sorted(self._name_spans(), key=self._span_likelihood)
        return tuple(dict.fromkeys(form for span in spans for form in self._span_forms(*span)))[:MAX_SPELLINGS]

    def _name_spans(self) -> Iterator[tuple[int, int]]:
        count = len(self.tokens)
        for start in range(count):
            for end in range(start + 1, min(count, start + _MOST_WORDS) + 1):
                is_name = any(self._content[start:end]) and self._is_closed(start, end - 1)
                if is_name or end - start == count or is_proper(self.text, self.tokens, start, end):
                    yield start, end

    def _is_closed(self, first: int, last: int) -> bool:
        """Tell whether a name may begin and end here: not with `of`, but with `The`, and with `Who` after a capital."""
        begins = self._content[first] or self.tokens[first].text in _ARTICLES or (self._capitals[first] and first)
        ends = self._content[last] or (self.is_cased and self._capitals[last] and last > first)
        return bool(begins and ends)

    def _span_likelihood(self, span: tuple[int, int]) -> tuple[int, int]:
        """Make a sort key: first what begins and ends with a capital, then a few words, then the rest."""
        start, end = span
        is_long = end - start > _MOST_LOWER_WORDS
        if not self.is_cased:
            return int(is_long), start
        if self._capitals[start] and self._capitals[end - 1] and self._content[start]:
            return 0, start
        has_name = any(self._capitals[max(1, start) : end])
        return 3 if is_long else 1 + has_name, start

    def _span_forms(self, start: int, end: int) -> Iterator[str]:
        written = self._text_of(start, end)
        is_plural = end - start < _MOST_LOWER_WORDS and not self._capitals[end - 1]  # often, of a class
        for form in dict.fromkeys((written, singular(written) if is_plural else written)):
            yield form
            if form is written:
                yield from self._signed_forms(self.tokens[start].start, self.tokens[end - 1].end)
            yield form[:1].upper() + form[1:]
            if end - start > 1:
                yield self._title_case(start, end)
            if self._is_short(start) and end - start <= _MOST_LOWER_WORDS:  # an acronym that is written small
                first = len(self._words[start])
                yield form[:first].upper() + form[first:]
            if not self.is_cased or start == 0 or end - start <= _MOST_LOWER_WORDS:
                yield form.lower()
                yield form.capitalize()

    def _signed_forms(self, start: int, end: int) -> Iterator[str]:
        """Yield `C#`, `Yahoo!` and `.NET`, with a sign or two that may be of the name."""
        first, last = with_signs(self.text, start, end)
        for at, to in itertools.product({first, start}, range(end, min(last, end + 2) + 1)):
            if not _NO_SIGNS_OF_NAMES.issuperset(self.text[at:start] + self.text[end:to]):
                yield self.text[at:to]

    def _is_short(self, at: int) -> bool:
        return self._content[at] and len(self._words[at]) <= _LONGEST_ACRONYM and not self._capitals[at]

    def _title_case(self, start: int, end: int) -> str:
        parts, at = [], self.tokens[start].start
        for i in range(start, end):
            token, word = self.tokens[i], self._words[i]
            rest = word[1:].lower() if self._is_shouted else word[1:]
            is_small = i > start and self._stops[i]
            parts += [self.text[at : token.start], word.lower() if is_small else word[:1].upper() + rest]
            at = token.end
        return "".join(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """List what is written like a name; where nothing is, runs of content words."""
        return tuple(dict.fromkeys(self._text_of(run[0], run[-1] + 1) for run in self._name_runs()))

    @property
    def searches(self) -> tuple[tuple[str, ...], ...]:
        """List words to search for together: of each name, of each run of content words; then each word of a name."""
        names = [self._content_words(run) for run in self._name_runs()]
        others = [self._content_words(run) for run in self._content_runs()]
        alone = [(word,) for words in names for word in words]
        return tuple(dict.fromkeys(words for words in (*names, *others, *alone) if words))

    def _content_words(self, run: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._words[i] for i in run if self._content[i])

    def _name_runs(self) -> list[list[int]]:
        """List runs of capitalised words: joined by small words that a name may have, then by fewer, then by none."""
        if not self.is_cased:
            return self._content_runs()
        found = []
        for small in (_IN_NAMES | _BETWEEN_NAMES, _IN_NAMES, frozenset[str]()):
            runs: list[list[int]] = []
            for i in (i for i, is_capital in enumerate(self._capitals) if is_capital and self._content[i]):
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
        return consecutive(i for i, is_content in enumerate(self._content) if is_content)
