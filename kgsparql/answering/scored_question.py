"""A question about one of the things it mentions: which words ask for something, and how they are read from there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from kgsparql.linking.ranking import Ranker
from kgsparql.linking.words import TextToken, root, stop_words, tokens

_LONGEST = 3  # words of a run of the question that one predicate is compared with

_REPEATS = 0.45
"""How alike a word beside a mention and the kind of what is mentioned are, so that the word asks for nothing."""


_KIND_OF = re.compile(r"\b((?:kind|type|sort)s? of) (\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class ScoredQuestion:
    """A question about one of the things it mentions.

    :param mentions: places of everything that was linked, as ``(start, end)`` in characters.
    :param about: the place of what the paths start from; ``None`` where the question does not say its name.
    """

    question: str
    mentions: tuple[tuple[int, int], ...] = ()
    about: tuple[int, int] | None = None

    @cached_property
    def masked(self) -> str:
        """The question without the mentions: what is asked weighs more than about whom."""
        text = self.question
        for start, end in sorted(self.mentions, reverse=True):
            text = f"{text[:start]} {text[end:]}"
        return " ".join(text.split()) or self.question

    @cached_property
    def tokens(self) -> list[TextToken]:
        """The words of the question, those of mentions too."""
        return tokens(self.question)

    @cached_property
    def free(self) -> list[int]:
        """The places of the words that are in no mention."""
        return [
            i
            for i, token in enumerate(self.tokens)
            if not any(start < token.end and token.start < end for start, end in self.mentions)
        ]

    @cached_property
    def content(self) -> list[int]:
        """The places of the words that ask for something."""
        stops = stop_words(("en",))
        return [i for i in self.free if self.tokens[i].text not in stops]

    @cached_property
    def _own(self) -> range | None:
        if self.about is None:
            return None
        start, end = self.about
        own = [i for i, token in enumerate(self.tokens) if start < token.end and token.start < end]
        return range(own[0], own[-1] + 1) if own else None

    @cached_property
    def ranks(self) -> list[int] | None:
        """The order in which words are read outwards from what the paths start from; ``None`` where that is not named.

        After `X's`, what follows belongs to X first, then what stands before; else the other way round:
        `the gender of X's parents` leads to the parents and then to their gender.
        """
        if self._own is None:
            return None
        first, last, count = self._own.start, self._own.stop - 1, len(self.tokens)
        is_owner = last + 1 < count and self.tokens[last + 1].text == "s"
        before, after = (count, 0) if is_owner else (0, count)
        return [before + first - i if i < first else after + i - last for i in range(count)]

    def asking_words(self, kind: str, ranker: Ranker) -> list[int]:
        """The content words but for one beside the mention that only says what the mentioned thing is."""
        own = self._own
        beside = [] if own is None else [i for i in self.content if i in {own.start - 1, own.stop}]
        if not beside or not kind:
            return self.content
        alike = ranker.similarities([self.tokens[i].text for i in beside], [kind])[:, 0]
        dropped = {i for i, value in zip(beside, alike, strict=True) if value >= _REPEATS}
        return [i for i in self.content if i not in dropped]

    def without_types(self, names: Iterable[str]) -> ScoredQuestion:
        """The question in which `director` is no mention, but asks for something, where a predicate or kind is that."""
        known = frozenset().union(*map(_roots, names))
        places = tuple(own for own in self.mentions if own == self.about or not self._only_says(known, own))
        return replace(self, mentions=places) if places != self.mentions else self

    def _only_says(self, known: Collection[str], place: tuple[int, int]) -> bool:
        text = self.question[slice(*place)]
        return text.islower() and _roots(text).issubset(known)

    def without_kind_of(self, kind: str) -> ScoredQuestion:
        """The question without `kind of`, unless it is the kind of what the paths start from that is asked for.

        `what kind of film is X` asks for something else than a film, `what kind of films did she make` for films.
        """
        found = _KIND_OF.search(self.question)
        if found is None or _roots(found[2]) == _roots(kind):
            return self
        return replace(self, mentions=(*self.mentions, found.span(1)))

    def runs(self, places: Iterable[int]) -> int:
        """How many runs of words there are that nothing stands between: no other word, no mention, no punctuation."""
        count, last = 0, None
        for i in places:
            joined = last is not None and i == last + 1
            count += not joined or bool(self.question[self.tokens[i - 1].end : self.tokens[i].start].strip())
            last = i
        return count

    def phrases(self) -> list[tuple[str, int]]:
        """Runs of up to three free words that begin with a content word, and the rank of the first that is read."""
        free, content = set(self.free), set(self.content)
        found = []
        for i in self.content:
            for length in range(1, _LONGEST + 1):
                places = range(i, i + length)
                if not all(place in free for place in places):
                    break
                if length > 1 and not any(place in content for place in places[1:]):
                    continue
                rank = 0 if self.ranks is None else min(self.ranks[place] for place in places)
                found.append((" ".join(self.tokens[place].text for place in places), rank))
        return found


def _roots(text: str) -> frozenset[str]:
    stops = stop_words(("en",))
    return frozenset(root(token.text) for token in tokens(text) if token.text not in stops)
