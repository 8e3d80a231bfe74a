"""Labels of an endpoint that has too many to read: looked up for each question, in a few queries."""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, cycle, islice
from typing import TypeAlias, cast

from kgsparql.dataclasses import replace
from kgsparql.errors import GRAPH_FAILED
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution, in_parts
from kgsparql.graphs.profiles import EndpointProfile, TextSearch
from kgsparql.graphs.protocol.linker import LINKER, linker_query
from kgsparql.linking.english_forms import singular
from kgsparql.linking.label_index.packed import PackedLabels, packed_bytes
from kgsparql.linking.label_index.search import (
    MAX_DEGREE,
    Kind,
    LabelRow,
    Role,
    Vocabulary,
    label_row,
    rows_by,
    with_short,
)
from kgsparql.linking.words import TextToken, consecutive, is_proper, stop_words, tokens, with_signs, words, words_of
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, distinct, normalised, text_literal, zip_equal
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS, WORDS, direct_claim

_FOUND_EACH = 50  # labels of one text search; a word that as many have is common: another must tell which is meant
_MAX_ENTITIES = 300  # of one text, whose kinds and degrees are looked up
_MAX_NAMES = 10  # that the search of a Wikibase is asked for: the endpoint makes a request of its own for each
_MAX_LINKED = 4  # that a linker is asked for, which may take a request for each
_LEAST_LABELS = 10_000  # that a graph is taken to have, when only those found for a text are known
_SHARE_OF_COMMON_WORDS = 0.02  # of them; of a word that is common more labels were found than are read
_NOT_IN_A_NAME = re.compile(r"\W")
_Search: TypeAlias = tuple[str, ...]


def language_tags(languages: Iterable[str]) -> tuple[str, ...]:
    """List the language tags of the names to ask for: the reader's, then what everybody reads; empty for no tag.

    >>> language_tags(["de", "en-GB"])
    ('de', 'en-gb', 'mul', '', 'en')
    """
    return distinct((*(tag.lower() for tag in languages), "mul", "", "en"))


def names_in(solutions: Iterable[Solution]) -> list[LabelRow]:
    """Return the names in solutions with ``?entity``, ``?label`` and maybe ``?predicate``, each once."""
    found = dict[LabelRow, None]()
    for solution in solutions:
        entity, label = solution.get("entity"), solution.get("label")
        if isinstance(entity, IRI) and isinstance(label, Literal):
            role: Role = "alternative" if solution.get("predicate") in ALTERNATIVE_LABELS else "label"
            row = label_row(entity.value, label.value, role=role, language=(label.language or "").lower())
            if row is not None:
                found[row] = None
    return list(found)


class FoundLabels(PackedLabels):
    """Labels that were found for one text; a typing error is none: the graph may have a label of that spelling.

    :param common: words that more labels have than were read.
    """

    def __init__(self, rows: Iterable[LabelRow], embedder: Embedder | None, common: Collection[str] = ()) -> None:
        super().__init__(packed_bytes(rows), embedder)
        self.embedder = embedder
        self._common = common

    def near(self, text: str, *, edits: int, words: bool = False) -> list[tuple[str, int]]:  # noqa: ARG002 - see there
        """See :meth:`PackedLabels.near`."""
        return []

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """See :meth:`PackedLabels.vocabulary`."""
        found = super().vocabulary
        labels = max(found.labels, _LEAST_LABELS)
        common = dict.fromkeys(self._common, int(_SHARE_OF_COMMON_WORDS * labels))
        return replace(found, labels=labels, count=lambda word: common.get(word) or found.count(word))


class EndpointLabels(FoundLabels):
    """Labels that stay at the endpoint: none are here before :meth:`for_text` looks up those that a text may name.

    Every spelling that a name may have is looked up as an exact label, which any engine answers from its index. Where
    the engine has a text search, names are also searched for. Nothing is asked twice.

    :param profile: says which text search there is, and which predicate tells how well known an entity is; that of
        the graph, if ``None``, which may change when the engine does.
    :param embedder: compares what was found with the question by meaning.
    """

    def __init__(
        self, graph: KnowledgeGraph, *, profile: EndpointProfile | None = None, embedder: Embedder | None = None
    ) -> None:
        super().__init__((), embedder)
        self._graph = graph
        self._own_profile = profile
        self._lock = threading.RLock()
        self._texts: dict[tuple[str, tuple[str, ...]], FoundLabels] = {}
        self._exact: dict[tuple[str, tuple[str, ...]], list[LabelRow]] = {}
        self._searched: dict[_Search, list[LabelRow]] = {}
        self._kinds: dict[str, Kind] = {}
        self._degrees: dict[str, int] = {}
        self._failed: dict[str, str] = {}

    @property
    def _known_profile(self) -> EndpointProfile:
        return self._own_profile or self._graph.profile

    def with_graph(self, graph: KnowledgeGraph) -> EndpointLabels:
        """See :meth:`PackedLabels.with_graph`; nothing is remembered, so that earlier questions change no query."""
        return EndpointLabels(graph, profile=self._own_profile, embedder=self.embedder)

    def offline(self) -> FoundLabels:
        """See :meth:`PackedLabels.offline`: there are no labels."""
        return FoundLabels((), self.embedder)

    def for_text(self, text: str, languages: tuple[str, ...]) -> FoundLabels:
        """Look up the labels that a text may name."""
        with self._lock:
            if (text, languages) not in self._texts:
                self._texts[text, languages] = self._found_labels(text, languages)
            return self._texts[text, languages]

    @property
    def notes(self) -> tuple[str, ...]:
        """How a text search failed, and what was done instead."""
        instead = "labels are found only if they are written as in the question"
        if other := self._next_search():
            instead = f"names are looked up by {other}"
        return tuple(
            f"the {'linker' if kind == LINKER else 'text search'} of {self._graph.name} failed, so {instead}: {why}"
            for kind, why in self._failed.items()
        )

    def _found_labels(self, text: str, languages: tuple[str, ...]) -> FoundLabels:
        spellings, tags = Spellings(text, languages), language_tags(languages)
        names = self._exact_names(spellings.exact, tags)
        common = set[str]()
        searched = self._names_by_search(spellings, tags, common, names)
        names += [name for name in searched if name not in names]
        if not names:  # by predicates of the graph's own, as in :func:`kgsparql.exploration.by_label`
            found = self._names_by_text([Query.load("by_name")], spellings.exact, tags)
            names = [name for spelling in spellings.exact for name in found[spelling]]
        return FoundLabels(self._with_kinds_and_degrees(names), self.embedder, common)

    def _exact_names(self, spellings: Sequence[str], tags: tuple[str, ...]) -> list[LabelRow]:
        missing = [text for text in spellings if (text, tags) not in self._exact]
        query = Query.load("search_exact").bind(predicate=self._graph.naming.names)
        found = self._names_by_text([query], missing, tags)
        self._exact.update(((text, tags), found[text]) for text in missing)
        return [name for text in spellings for name in self._exact[text, tags]]

    def _names_by_text(
        self, queries: Sequence[Query], texts: Sequence[str], tags: Sequence[str]
    ) -> dict[str, list[LabelRow]]:
        """Ask for the names that are exactly one of some texts, with one of some language tags."""
        literals = [text_literal(text, tag) for text in texts for tag in tags]
        return rows_by("text", names_in(select_about(self._graph, queries, literals, parameter="label").seen))

    def _next_search(self) -> str:
        """Choose the best search for names that there is; one that failed is not tried again.

        Wikidata's own goes through the endpoint, all names in one query, as long as its engine can do that.
        """
        profile = self._known_profile
        kinds = [profile.text_search, LINKER if profile.linker_url else "none"]
        for kind in kinds if profile.text_search == "wikibase:mwapi" else reversed(kinds):
            if kind not in {"none", *self._failed} and (kind != "ql:has-word" or self._graph.uses_any(WORDS)):
                return kind
        return ""

    def _names_by_search(
        self, spellings: Spellings, tags: Sequence[str], common: set[str], known: Sequence[LabelRow]
    ) -> list[LabelRow]:
        """Ask the linker or the text search; where one fails, the other, or that of the engine that it is now."""
        while kind := self._next_search():
            try:
                if kind in {"wikibase:mwapi", LINKER}:
                    named = {row.key for row in known} if kind == LINKER else ()
                    names = [name for name in spellings.names[:_MAX_NAMES] if normalised(name) not in named]
                    return self._names_by_wikibase_search(kind, names, tags, [row.iri for row in known])
                return self._names_by_words(cast("TextSearch", kind), spellings.searches[:MAX_ARMS], tags, common)
            except GRAPH_FAILED as error:
                self._failed[kind] = error.message
        return []

    def _names_by_words(
        self, kind: TextSearch, searches: Sequence[_Search], tags: Sequence[str], common: set[str]
    ) -> list[LabelRow]:
        missing = [search for search in searches if search not in self._searched]
        if missing:
            predicates = self._graph.naming.names
            query = label_search(kind, missing, predicates=predicates, languages=tags, limit=_FOUND_EACH)
            names = names_in(self._graph.select(query)) if not query.empty else []
            for search in missing:
                wanted = {word for text in search for word in words_of(text)}
                self._searched[search] = [name for name in names if wanted <= set(words(name.key))]
        for search in searches:
            if len(search) == 1 and len(self._searched[search]) >= _FOUND_EACH:
                common.update(words_of(search[0]))
        return [name for search in searches for name in self._searched[search]]

    def _names_by_wikibase_search(
        self, kind: str, names: Sequence[str], tags: Sequence[str], known: Sequence[str]
    ) -> list[LabelRow]:
        missing = [name for name in names if (name,) not in self._searched]
        if missing:
            languages = [tag for tag in tags if tag not in {"", "mul"}][:1]
            search = linker_query(missing[:_MAX_LINKED], *languages or ("en",))
            if kind != LINKER:
                search = wikibase_search(missing, host=self._known_profile.search_host, languages=languages)
            found = [one for one in self._graph.select(search) if isinstance(one.get("entity"), IRI)]
            meant = [getattr(one["entity"], "value", "") for one in found]
            new = distinct([*(iri for iri in known if iri not in self._kinds), *meant])
            named = rows_by("iri", self._learn_kinds(new[:_MAX_ENTITIES], tags, named=frozenset(meant)))
            for name in missing:
                own = (iri for one, iri in zip_equal(found, meant) if one.get("words") == Literal(name))
                self._searched[name,] = [*chain.from_iterable(map(named.__getitem__, own))]
        return [row for name in names for row in self._searched[name,]]

    def _with_kinds_and_degrees(self, names: Sequence[LabelRow]) -> list[LabelRow]:
        entities = distinct(name.iri for name in names)[:_MAX_ENTITIES]
        known = set(entities)
        self._learn_kinds([iri for iri in entities if iri not in self._kinds])
        sharing = Counter(key for key, _ in {(name.key, name.iri) for name in names})
        rivals = {name.iri for name in names if sharing[name.key] > 1}
        self._learn_degrees(sorted(entities, key=lambda iri: iri not in rivals))  # first those that share a name
        made = (
            name._replace(
                iri=direct_claim(name.iri) if self._kinds[name.iri] == "predicate" else name.iri,
                kind=self._kinds[name.iri],
                degree=min(MAX_DEGREE, self._degrees.get(name.iri, 1)),
            )
            for name in names
            if name.iri in known
        )
        return sorted(set(chain.from_iterable(map(with_short, made))))

    def _learn_kinds(
        self, entities: Sequence[str], tags: Sequence[str] = (), *, named: Collection[str] = ()
    ) -> list[LabelRow]:
        """Ask what entities are; where a predicate tells how well known they are, that in the same query.

        :param named: those whose names are asked for, too, and returned.
        """
        size, given_by = max(1, self._graph.chunk_size), self._known_profile.degree_predicate
        names = []
        for chunk in in_parts(entities, size):
            queries = [Query.load("search_kinds").bind(entity=list(map(IRI, chunk)), link=self._graph.naming.links)]
            if unnamed := [IRI(iri) for iri in chunk if iri in named]:
                names_query = Query.load("search_names").bind(predicate=self._graph.naming.names, entity=unnamed)
                queries.append(names_query.bind(language=map(Literal, tags)).limit(BOUND))
            if given_by is not None and (missing := [IRI(iri) for iri in chunk if iri not in self._degrees]):
                known = Query.load("search_known").bind(measure=[given_by], entity=missing)
                queries.append(known.limit(2 * len(missing)))
            solutions = self._graph.select(Query.union(queries))
            names += names_in(solutions)
            found: dict[str, Kind] = dict.fromkeys(chunk, "entity")
            for solution in sorted(solutions, key=lambda solution: "predicate" in solution):
                if "triples" not in solution and "label" not in solution:
                    kind: Kind = "predicate" if "predicate" in solution else "class"
                    found[getattr(solution["entity"], "value", "")] = kind
            self._kinds |= found
            self._keep_degrees(solutions)
        return names

    def _learn_degrees(self, entities: Sequence[str]) -> None:
        if self._known_profile.degree_predicate is not None:
            return
        missing = [iri for iri in entities if iri not in self._degrees][:MAX_ARMS]
        if missing:
            query = Query.union([Query.load("search_degrees").bind(entity=[IRI(iri)]) for iri in missing])
            self._degrees.update(dict.fromkeys(missing, 1))
            self._keep_degrees(self._graph.select(query))

    def _keep_degrees(self, solutions: Iterable[Solution]) -> None:
        for solution in solutions:
            count = solution.get("triples")
            if isinstance(count, Literal) and count.value.isdecimal():
                self._degrees[getattr(solution["entity"], "value", "")] = max(1, int(count.value))


def label_search(
    kind: TextSearch, searches: Iterable[Sequence[str]], *, predicates: Sequence[IRI], languages: Sequence[str],
    limit: int,
) -> Query:  # fmt: skip
    """Make a query for the labels that have all words of any of the searches: ``?entity``, ``?predicate``, ``?label``.

    :param searches: at most :data:`MAX_ARMS`; those without a letter or digit are left out.
    :param languages: tags, the empty one for literals without.
    """
    tags = [Literal(tag) for tag in languages]
    file = _NOT_IN_A_NAME.sub("_", kind)
    one = Query.load(f"text_search/{file}").bind(predicate=predicates, language=tags).limit(limit)
    if kind == "ql:has-word":
        longest = (sorted(dict.fromkeys(_plain_words(words)), key=len, reverse=True) for words in searches)
        slots = dict.fromkeys(tuple(islice(cycle(map(Literal, own)), 3)) for own in longest if own)
        return Query.union([one.fix(words=first, second=second, third=third) for first, second, third in slots])
    literals = dict.fromkeys(search_words(kind, words) for words in searches)
    return Query.union([one.fix(words=literal) for literal in literals if literal is not None])


def wikibase_search(names: Iterable[str], *, host: str, languages: Sequence[str]) -> Query:
    """Make a query for the items that a Wikibase's own search finds for some names: ``?words``, ``?entity``."""
    query = Query.load("text_search/mwapi").fix(host=Literal(host))
    words = dict.fromkeys(Literal(name) for name in names if name.strip())
    return query.bind(words=list(words), language=[Literal(tag) for tag in languages])


def search_words(kind: TextSearch, words: Iterable[str]) -> Literal | None:
    """Write a search for labels with all these words, in an engine's own syntax; ``None`` if no word is left.

    That syntax has operators, wildcards and fields, so only letters and digits are passed on.

    >>> print(search_words("bif:contains", ["Curie's", 'x" OR *']))
    "'curie' AND 's' AND 'x' AND 'or'"
    >>> print(search_words("jena", ["NOT", "curie~2"]), search_words("qlever", ["Marie", "Curie"]))
    "not AND curie AND 2" "marie curie"
    """
    plain = _plain_words(words)
    quote, between = "'" if kind == "bif:contains" else "", " " if kind == "qlever" else " AND "
    return Literal(between.join(f"{quote}{word}{quote}" for word in plain)) if plain else None


def _plain_words(words: Iterable[str]) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in " ".join(words).lower()).split()


# --- Which parts of a text may be a name, and how a graph may spell it

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
        stops = stop_words(languages)
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
        return distinct(form for span in spans for form in self._span_forms(*span))[:MAX_SPELLINGS]

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
        for form in distinct((written, singular(written) if is_plural else written)):
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
        return distinct(self._text_of(run[0], run[-1] + 1) for run in self._name_runs())

    @property
    def searches(self) -> tuple[tuple[str, ...], ...]:
        """List words to search for together: of each name, of each run of content words; then each word of a name."""
        names = [self._content_words(run) for run in self._name_runs()]
        others = [self._content_words(run) for run in self._content_runs()]
        alone = [(word,) for words in names for word in words]
        return distinct(words for words in (*names, *others, *alone) if words)

    def _content_words(self, run: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._words[i] for i in run if self._content[i])

    def _name_runs(self) -> list[list[int]]:
        """List runs of capitalised words: joined by small words that a name may have, then by fewer, then by none."""
        if not self.is_cased:
            return self._content_runs()
        found = []
        for small in (_IN_NAMES | _BETWEEN_NAMES, _IN_NAMES, frozenset[str]()):
            runs = list[list[int]]()
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
