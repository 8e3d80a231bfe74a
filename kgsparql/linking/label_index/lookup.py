"""Labels of an endpoint that has too many to read: looked up for each question, in a few queries."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain, cycle, islice
from typing import TypeAlias, cast

from kgsparql.dataclasses import replace
from kgsparql.errors import GRAPH_FAILED
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import BOUND, KnowledgeGraph, Solution, in_parts
from kgsparql.graphs.profiles import EndpointProfile, TextSearch
from kgsparql.graphs.protocol.linker import LINKER, linker_query
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
from kgsparql.linking.label_index.spellings import Spellings
from kgsparql.linking.words import words
from kgsparql.models.embedding import Embedder
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Literal, normalised, text_literal
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
    return tuple(dict.fromkeys((*(tag.lower() for tag in languages), "mul", "", "en")))


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

    def named(self, texts: Sequence[str], languages: tuple[str, ...]) -> list[LabelRow]:
        """Find what is called exactly like one of some texts, in at most two queries: its triples are not counted."""
        tags, naming = language_tags(languages), self._graph.naming
        queries = [Query.load("search_exact").bind(predicate=naming.names), Query.load("by_name")]
        found = self._names_by_text(queries, texts[: max(1, self._graph.chunk_size // len(tags))], tags)
        names = [name for text in texts for name in found[text]]
        self._degrees.update((name.iri, 1) for name in names)
        return self._with_kinds_and_degrees(names)

    def offline(self) -> FoundLabels:
        """See :meth:`PackedLabels.offline`: there are no labels."""
        return FoundLabels((), self.embedder)

    def for_text(self, text: str, languages: tuple[str, ...]) -> FoundLabels:
        """Look up the labels that a text may name."""
        with self._lock:
            if (text, languages) not in self._texts:
                self._texts[text, languages] = self._found_labels(text, languages)
            return self._texts[text, languages]

    def notes(self, linked: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002 - a search that failed is said anyway
        """Say how a text search failed, and what was done instead."""
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
        common: set[str] = set()
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
                wanted = {word for text in search for word in words(normalised(text))}
                self._searched[search] = [name for name in names if wanted <= set(words(name.key))]
        for search in searches:
            if len(search) == 1 and len(self._searched[search]) >= _FOUND_EACH:
                common.update(words(normalised(search[0])))
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
            new = list(dict.fromkeys([*(iri for iri in known if iri not in self._kinds), *meant]))
            named = rows_by("iri", self._learn_kinds(new[:_MAX_ENTITIES], tags, named=frozenset(meant)))
            for name in missing:
                own = [(one, iri) for one, iri in zip(found, meant, strict=True) if one.get("words") == Literal(name)]
                sure = names_in(one for one, iri in own if named[iri])
                self._searched[name,] = [*chain.from_iterable(named[iri] for _, iri in own), *sure]
        return [row for name in names for row in self._searched[name,]]

    def _with_kinds_and_degrees(self, names: Sequence[LabelRow]) -> list[LabelRow]:
        entities = list(dict.fromkeys(name.iri for name in names))[:_MAX_ENTITIES]
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
