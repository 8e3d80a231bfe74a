"""The words of a question, and how well names in the graph account for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from kgsparql.linking.linker import Linker
from kgsparql.linking.ranking import Ranker
from kgsparql.linking.words import root, stop_words, tokens, words
from kgsparql.rdf.terms import normalised

NEAR = 0.5
"""How alike a word and a name are, at least, to count: a cosine."""
_NEAR_ALL_THE_SAME = 0.75
"""The same for a word that some predicate of the graph is called by: `born` is not the nationality."""
_LIGHT = frozenset(
    "have has had give list show name names tell find get all there different distinct exist exists known say said "
    "according graph data dataset please want item items over round "
    "reasonably assigned given got anyone anything anybody someone called word add up too still far came out "
    "thing things kind kinds type types return ones one".split()
)
"""Words that ask for nothing by themselves."""

_ROWS = 100

Fit = Mapping[int, float]
"""How well a name accounts for words of the question, in (0, 1], by their places."""


class QuestionWords:
    """The words of one question.

    >>> from kgsparql.linking.ranking import BM25Ranker
    >>> asked = QuestionWords("Which films were directed by Ann?", BM25Ranker())
    >>> asked.content, asked.fits(["director", "film genre"])
    ((1, 3, 5), [{3: 1.0}, {1: 0.9}])
    """

    def __init__(self, question: str, ranker: Ranker, linker: Linker | None = None) -> None:
        self.tokens = tokens(question)
        self.texts = [token.text for token in self.tokens]
        stops = stop_words(("en",))
        self.content = tuple(i for i, t in enumerate(self.texts) if t not in stops and t not in _LIGHT)
        self.ranker = ranker
        self._own_names = _predicates_called([self.texts[i] for i in self.content], linker)
        self._known: dict[str, Fit] = {}

    def fits(self, names: Sequence[str]) -> list[Fit]:
        """For each name, the words that it accounts for: by a common root, else by meaning."""
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        self._known.update(zip(new, self._fits(new), strict=True))
        return [self._known[name] for name in names]

    def _fits(self, names: Sequence[str]) -> list[Fit]:
        if not names or not self.content:
            return [{} for _ in names]
        asked = [self.texts[i] for i in self.content]
        alike = self.ranker.similarities(list(names), asked) if self.ranker.by_meaning else None
        found: list[Fit] = []
        for at, name in enumerate(names):
            roots = _roots(name)
            same = {i for i, text in zip(self.content, asked, strict=True) if root(text) in roots}
            share = len({root(self.texts[i]) for i in same}) / len(roots) if roots else 0.0
            fit = dict.fromkeys(sorted(same), round(0.8 + 0.2 * share, 3))
            if alike is not None:
                near = zip(self.content, alike[at].tolist(), strict=True)
                fit.update({i: round(cosine, 3) for i, cosine in near if i not in fit and cosine >= self._least(i)})
            found.append(fit)
        return found

    def _least(self, place: int) -> float:
        return _NEAR_ALL_THE_SAME if root(self.texts[place]) in self._own_names else NEAR


def _predicates_called(texts: Sequence[str], linker: Linker | None) -> frozenset[str]:
    """The roots of these words that are in the name of a predicate, as far as the labels at hand tell."""
    if linker is None or not texts:
        return frozenset()
    wanted = sorted({form for text in texts for form in (text, root(text))})
    rows = linker.index.search.offline().with_words(wanted, limit=_ROWS)
    called = {root(word) for row in rows if row.kind == "predicate" for word in words(row.key)}
    return frozenset(called & {root(text) for text in texts})


@lru_cache(maxsize=20_000)
def _roots(name: str) -> frozenset[str]:
    """The roots of the words of a name that carry what it says."""
    found = words(normalised(name))
    return frozenset(root(word) for word in found if word not in stop_words(("en",))) or frozenset(map(root, found))
