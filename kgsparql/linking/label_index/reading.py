"""Reading every name in a graph, in a few queries: labels, alternative ones, and the ends of IRIs."""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

from kgsparql.errors import CancelledError, EndpointReplyError, EndpointTimeoutError, LimitError
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.kept_counts import counted
from kgsparql.graphs.protocols import OpenedGraph, Solution, Solutions, naming_of
from kgsparql.http.threaded_call import ThreadedCall
from kgsparql.linking.label_index.rows import (
    MAX_DEGREE,
    Kind,
    LabelRow,
    Progress,
    Role,
    clean_text,
    with_short,
)
from kgsparql.linking.label_index.shards import Shard
from kgsparql.linking.words import is_unspaced
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, local_name, normalised, whole_number
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS, DESCRIPTIONS, UNWALKED, is_mediator

REMOTE_ROWS = 300_000
"""Of an endpoint with more labels none are read: it would be a minute's work for it, and for the network."""

_NAME_LIKE = frozenset(("name", "label", "title", "preflabel"))
_MEANS_SOMETHING = re.compile(r"[^\W\d_]{3}")
_NOT_A_NAME = re.compile(r"[%?=&@]|::|\.(?:jpe?g|png|gif|svg|tiff?|pdf|html?|ogg|webm|mp[34])$", re.IGNORECASE)
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


def read_labels(
    graph: OpenedGraph,
    *,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    announce: Callable[[int], None] | None = None,
    shard: Shard | None = None,
) -> list[LabelRow]:
    """Every name in a graph, sorted by IRI and text; a few queries, however large the graph.

    Labels are what the graph's label predicates give; if the graph does not say which these are, the usual ones. Texts
    that are empty or only repeat the IRI are left out, and long ones are cut. Predicates called ``name``, ``label`` or
    ``title`` count too when their texts tell things apart. What has no name, or only names in languages other than
    English, gets the end of its IRI too, if that means something to a person.

    :param announce: called early, once, with about how many rows there will be.
    :param shard: only the names of its entities, classes and predicates: just those rows that there are without it.
    :raises LimitError: if the labels of an endpoint are more than :data:`REMOTE_ROWS`, or more than it gives in time.
    :raises CancelledError: if ``cancel`` is set before all is read.
    """
    with _limits_explained(graph), _no_garbage_collection():
        return _Reader(graph, progress, cancel, shard).labels(announce)


def too_many(graph: OpenedGraph, why: str) -> LimitError:
    """The error that the labels of an endpoint cannot all be read, with what can be done instead."""
    return LimitError(
        f"{graph.name}: its labels cannot all be read: {why}",
        hint="questions look them up; to index a part: kgsparql index -k … --class CLASS", limit="labels",
    )  # fmt: skip


@contextmanager
def _limits_explained(graph: OpenedGraph) -> Iterator[None]:
    """Raise as :func:`too_many` what an endpoint says that has too many labels."""
    try:
        yield
    except EndpointTimeoutError as error:
        raise too_many(graph, "it takes too long") from error
    except EndpointReplyError as error:
        if error.code != "E_LIMIT":
            raise
        raise too_many(graph, "they are too large for one reply") from error


@dataclass(slots=True)
class _Reader:
    """The queries, and the names that they have given so far.

    :ivar linked: with a shard, the IRIs beyond it that share labels with others, so that they are read, too.
    :ivar rows: by IRI, text, language and kind: key and role.
    :ivar labelled: the IRIs that have a label.
    :ivar named: the IRIs that have a name in English or in no language.
    :ivar foreign: the keys of the names of the IRIs that have one in another language.
    """

    graph: OpenedGraph
    progress: Progress | None = None
    cancel: threading.Event | None = None
    shard: Shard | None = None
    linked: list[IRI] = field(default_factory=list)
    rows: dict[tuple[str, str, str, Kind], tuple[str, Role]] = field(default_factory=dict)
    labelled: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    foreign: dict[str, set[str]] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)

    def labels(self, announce: Callable[[int], None] | None) -> list[LabelRow]:
        query = self._counting_query("index_predicates")
        counts = self._result(ThreadedCall(lambda: counted(self.graph, query), name="kgsparql counts"))
        triples = {_value(s["predicate"]): whole_number(s["triples"]) for s in counts}
        about = sum(triples.get(p.value, 0) for p in naming_of(self.graph).names)
        about //= 1 if self.shard is None else self.shard.count
        if self.graph.is_remote and about > REMOTE_ROWS:
            raise too_many(self.graph, f"there are about {about:,}")
        if announce is not None:
            announce(about)
        # The engine counts on one core while this one reads texts.
        degrees_query = self._counting_query("index_degrees").bind(predicate=sorted(UNWALKED, key=str))
        counting = self._started(self._of_shard(degrees_query))
        self._read_kinds(triples)
        self._read_texts(triples.keys())
        degrees = {_value(s["entity"]): min(MAX_DEGREE, whole_number(s["triples"])) for s in self._result(counting)}
        self._add_derived(degrees.keys(), is_bare=self._names_no_entity(triples.keys()))
        rows = (
            LabelRow(iri, text, key, role, language, kind, degrees.get(iri, 0))
            for (iri, text, language, kind), (key, role) in self.rows.items()
            if self._is_wanted(iri)
        )
        return sorted(chain.from_iterable(map(with_short, rows)))

    def _read_texts(self, used: Collection[str]) -> None:
        naming = naming_of(self.graph)
        used_as = self._used_as(used)
        self.linked = sorted({IRI(i) for node in used_as for i in (node, *used_as[node]) if not self._is_wanted(i)})
        roles: tuple[tuple[Role, Iterable[IRI]], ...] = (("label", naming.labels), ("alternative", ALTERNATIVE_LABELS))
        for role, predicates in roles:
            for predicate in predicates:
                if predicate.value in used:
                    for iri, text, language in self.texts(predicate, self.shard):
                        self._add_row(iri, text, language, role)
        known = {p.value for p in (*naming.names, *DESCRIPTIONS)}
        for value in sorted(set(used) - known):
            if local_name(IRI(value)).replace(" ", "").casefold() in _NAME_LIKE:
                self._add_names(list(self.texts(IRI(value))))
        self._share_property_labels(used_as)

    def _is_wanted(self, iri: str) -> bool:
        return self.shard is None or self.shard.has(iri)

    def _of_shard(self, query: Query) -> Query:
        return query if self.shard is None else self.shard.only(query)

    def _names_no_entity(self, used: Collection[str]) -> bool:
        """Whether no entity of the whole graph has a name."""
        if any(kind == "entity" for *_, kind in self.rows):
            return False
        if self.shard is None:
            return True
        whole = _Reader(self.graph, cancel=self.cancel)  # the few names of classes and predicates, most likely
        whole._read_kinds(used)
        whole._read_texts(used)
        return whole._names_no_entity(used)

    def _counting_query(self, name: str) -> Query:
        """A query that counts triples; where a triple may be in several named graphs, the slower one with DISTINCT."""
        return Query.load(f"{name}_distinct" if self.graph.may_repeat_triples else name)

    def _started(self, query: Query) -> ThreadedCall[Solutions]:
        """The query, running on a thread that neither a Ctrl-C nor the end of Python waits for."""
        return ThreadedCall(lambda: self.graph.select(query), name="kgsparql labels")

    def _result(self, call: ThreadedCall[Solutions]) -> Solutions:
        """All solutions, or an error: a label that is missing once would not be found for good."""
        try:
            solutions = call.result(self._poll_s)
        finally:
            self._poll_s()
        if self.graph.is_remote and (solutions.cut or solutions.failed):
            raise too_many(self.graph, f"the endpoint gives only {len(solutions):,} at once")
        return solutions

    def _poll_s(self) -> float:
        """Seconds until it is asked again whether to stop."""
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("stopped while reading labels")
        return 0.1

    def _select(self, query: Query) -> Solutions:
        solutions = self._result(self._started(query))
        if self.progress is not None:
            self.progress("reading labels", len(self.rows), None)
        return solutions

    def texts(self, predicate: IRI, shard: Shard | None = None) -> Iterable[tuple[str, str, str]]:
        """IRI, text and language of each usable text that a predicate gives; with a shard, only of its entities."""
        query = Query.load("index_labels").bind(predicate=[predicate])
        found: Iterable[Solution] = self._select(query if shard is None else shard.only(query))
        if shard is not None and self.linked:
            # Of a few thousand predicates, as Wikidata's, a few queries.
            asked = select_about(self.graph, [Query.load("labels").bind(predicate=[predicate])], self.linked)
            found = chain(found, ({"entity": s["entity"], "text": s["label"]} for s in asked.seen))
        for solution in found:
            entity, literal = solution["entity"], solution["text"]
            if not isinstance(entity, IRI) or not isinstance(literal, Literal):
                continue
            if literal.language is None and literal.datatype.value != _XSD_STRING:
                continue
            text = clean_text(literal.value)
            if text and text != entity.value:
                yield entity.value, text, (literal.language or "").lower()

    def _read_kinds(self, used: Iterable[str]) -> None:
        for solution in self._select(Query.load("index_classes")):
            self.kinds[_value(solution["class"])] = "class"
        for solution in self._select(Query.load("index_properties")):
            self.kinds[_value(solution["property"])] = "predicate"
        self.kinds.update((predicate, "predicate") for predicate in used)

    def _add_row(self, iri: str, text: str, language: str, role: Role) -> None:
        kind = self.kinds.get(iri, "entity")
        identity = (iri, text, language, kind)
        key = normalised(text)
        if key and identity not in self.rows:
            self.rows[identity] = (key, role)
            if language in {"", "mul"} or language.partition("-")[0] == "en":
                self.named.add(iri)
            else:
                self.foreign.setdefault(iri, set()).add(key)
            if role == "label":
                self.labelled.add(iri)

    def _add_names(self, texts: Sequence[tuple[str, str, str]]) -> None:
        """Add the texts of a predicate called like a name, if they tell things apart; ``title "Dr."`` does not."""
        if 2 * len({text for _, text, _ in texts}) < len({iri for iri, _, _ in texts}):
            return
        before = frozenset(self.labelled)
        linked = {iri.value for iri in self.linked}
        for iri, text, language in texts:
            if iri in linked or self._is_wanted(iri):
                self._add_row(iri, text, language, "alternative" if iri in before else "label")

    def _used_as(self, used: Collection[str]) -> dict[str, list[str]]:
        """The predicates that are described on another node, by that node: ``wdt:P31`` by ``wd:P31``."""
        links = [link for link in naming_of(self.graph).links if link.value in used]
        used_as: dict[str, list[str]] = {}
        for solution in self._select(Query.load("index_predicate_links").bind(link=links)):
            used_as.setdefault(_value(solution["property"]), []).append(_value(solution["predicate"]))
        return used_as

    def _share_property_labels(self, used_as: Mapping[str, Sequence[str]]) -> None:
        """Give predicates the labels of the nodes that describe them."""
        # The node itself stands for the predicate; it is no entity that the graph is about.
        for node, predicates in used_as.items():
            self.kinds.update((iri, "predicate") for iri in (node, *predicates))
        for identity, (_, role) in list(self.rows.items()):
            iri, text, language, kind = identity
            if iri in used_as:
                if kind != "predicate":
                    del self.rows[identity]
                for same in (iri, *used_as[iri]):
                    self._add_row(same, text, language, role)

    def _add_derived(self, mentioned: Collection[str], *, is_bare: bool) -> None:
        """Add the ends of IRIs without a readable name: those that mean something; all, if no entity has a name."""
        for iri in sorted((set(mentioned) | self.kinds.keys()) - self.named):
            name = clean_text(local_name(IRI(iri)))
            is_new = normalised(name) not in self.foreign.get(iri, ())
            if is_new and not is_mediator(IRI(iri)) and (is_bare or _is_name(name)):
                self._add_row(iri, name, "", "derived")


def _is_name(name: str) -> bool:
    """Whether the end of an IRI means something to a person: words, not ``Q42``, ``m.0abc``, a UUID or ``a.jpg``.

    >>> [_is_name(n) for n in ("New York", "Q42", "m.0h6rm", "1e0eae5f 25ae 4ef9", "東京", "Flag.svg", "go%2:38::")]
    [True, False, False, False, True, False, False]
    """
    if _NOT_A_NAME.search(name) or sum(c.isdigit() for c in name) * 3 > len(name):
        return False
    return any(map(is_unspaced, name)) or _MEANS_SOMETHING.search(name) is not None


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Millions of small values are made and all are kept: to look for garbage there takes a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _value(term: object) -> str:
    return str(getattr(term, "value", term))
