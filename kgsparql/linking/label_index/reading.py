"""Reading every name in a graph, in a few queries: labels, alternative ones, and the ends of IRIs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import attrgetter
from typing import TypeVar

from kgsparql.errors import CancelledError, EndpointReplyError, EndpointTimeoutError, LimitError
from kgsparql.exploration.batched_select import select_about
from kgsparql.graphs.graph import KnowledgeGraph, Solution, Solutions
from kgsparql.graphs.kept_counts import counted
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.http.threaded_call import ThreadedCall
from kgsparql.linking.label_index.gathered import AT_ONCE, Gathered
from kgsparql.linking.label_index.row_making import Read, RowMaker, names_of_one
from kgsparql.linking.label_index.rows import Kind, LabelRow, Progress, Role, clean_text
from kgsparql.linking.label_index.shards import Shard
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, local_name, normalised, whole_number
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS, DESCRIPTIONS, UNWALKED

REMOTE_ROWS = 300_000
"""Of an endpoint with more labels none are read: it would be a minute's work for it, and for the network."""

_NAME_LIKE = frozenset(("name", "label", "title", "preflabel"))
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

_Result = TypeVar("_Result")


def read_labels(
    graph: KnowledgeGraph,
    *,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    announce: Callable[[int], None] | None = None,
    shard: Shard | None = None,
) -> Gathered[LabelRow]:
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


def too_many(graph: KnowledgeGraph, why: str) -> LimitError:
    """The error that the labels of an endpoint cannot all be read, with what can be done instead."""
    return LimitError(
        f"{graph.name}: its labels cannot all be read: {why}",
        hint="questions look them up; to index a part: kgsparql index -k … --class CLASS", limit="labels",
    )  # fmt: skip


@contextmanager
def _limits_explained(graph: KnowledgeGraph) -> Iterator[None]:
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
    """The queries, and what they have given so far.

    :ivar linked: with a shard, the IRIs beyond it that share labels with others, so that they are read, too.
    :ivar used_as: the predicates that are described on another node, by that node: ``wdt:P31`` by ``wd:P31``.
    :ivar described: the names of those nodes.
    :ivar names_entity: whether any entity has a name.
    """

    graph: KnowledgeGraph
    progress: Progress | None = None
    cancel: threading.Event | None = None
    shard: Shard | None = None
    linked: frozenset[str] = frozenset()
    used_as: dict[str, list[str]] = field(default_factory=dict)
    described: dict[str, list[Read]] = field(default_factory=dict)
    names_entity: bool = False
    found: Gathered[Read] = field(default_factory=lambda: Gathered(Read))
    kinds: dict[str, Kind] = field(default_factory=dict)
    step: int = 0

    def labels(self, announce: Callable[[int], None] | None) -> Gathered[LabelRow]:
        query = self._counting_query("index_predicates")
        counts = self._whole(self._result(ThreadedCall(lambda: counted(self.graph, query), name="kgsparql counts")))
        triples = {_value(s["predicate"]): whole_number(s["triples"]) for s in counts}
        about = sum(triples.get(p.value, 0) for p in self.graph.naming.names)
        about //= 1 if self.shard is None else self.shard.count
        if self.graph.is_remote and about > REMOTE_ROWS:
            raise too_many(self.graph, f"there are about {about:,}")
        if announce is not None:
            announce(about)
        # The engine counts on one core while this one reads texts.
        counting = ThreadedCall(self._degrees, name="kgsparql labels")
        self._read_kinds(triples)
        self._read_texts(triples.keys())
        is_bare = self._names_no_entity(triples.keys())
        self.found.extend(self._result(counting))
        self.found.extend(Gathered(Read, map(Read, self.kinds)))
        maker, rows = RowMaker(self.kinds, is_bare), Gathered(LabelRow)
        for iri, found in groupby(self.found.in_order("iri"), attrgetter("iri")):
            if self._is_wanted(iri):
                for row in maker.rows(iri, list(found)):
                    rows.add(row)
        return rows

    def _degrees(self) -> Gathered[Read]:
        """In how many triples each IRI is."""
        query = self._counting_query("index_degrees").bind(predicate=sorted(UNWALKED, key=str))
        solutions = self._streamed(query if self.shard is None else self.shard.only(query))
        return Gathered(Read, (Read(_value(s["entity"]), degree=whole_number(s["triples"])) for s in solutions))

    def _read_texts(self, used: Collection[str]) -> None:
        naming = self.graph.naming
        self._read_links(used)
        roles: tuple[tuple[Role, Iterable[IRI]], ...] = (("label", naming.labels), ("alternative", ALTERNATIVE_LABELS))
        for role, predicates in roles:
            for predicate in predicates:
                if predicate.value in used:
                    self._add(self.texts(predicate, role, self.shard))
        known = {p.value for p in (*naming.names, *DESCRIPTIONS)}
        for value in sorted(set(used) - known):
            if local_name(IRI(value)).replace(" ", "").casefold() in _NAME_LIKE:
                found = Gathered(Read, self.texts(IRI(value)))
                # They count if they tell things apart; title "Dr." does not.
                if 2 * len({hash(read.text) for read in found}) >= len({hash(read.iri) for read in found}):
                    self._add(read for read in found if read.iri in self.linked or self._is_wanted(read.iri))
        self._share_property_labels()

    def _is_wanted(self, iri: str) -> bool:
        return self.shard is None or self.shard.has(iri)

    def _names_no_entity(self, used: Collection[str]) -> bool:
        """Whether no entity of the whole graph has a name."""
        if self.names_entity or self.shard is None:
            return not self.names_entity
        whole = _Reader(self.graph, cancel=self.cancel)  # the few names of classes and predicates, most likely
        whole._read_kinds(used)
        whole._read_texts(used)
        return not whole.names_entity

    def _counting_query(self, name: str) -> Query:
        """A query that counts triples; where a triple may be in several named graphs, the slower one with DISTINCT."""
        return Query.load(f"{name}_distinct" if self.graph.may_repeat_triples else name)

    def _result(self, call: ThreadedCall[_Result]) -> _Result:
        """What is done on a thread that neither a Ctrl-C nor the end of Python waits for."""
        try:
            return call.result(self._poll_s)
        finally:
            self._poll_s()

    def _whole(self, solutions: Solutions) -> Solutions:
        """All solutions, or an error: a label that is missing once would not be found for good."""
        if self.graph.is_remote and (solutions.cut or solutions.failed):
            raise too_many(self.graph, f"the endpoint gives only {len(solutions):,} at once")
        return solutions

    def _poll_s(self) -> float:
        """Seconds until it is asked again whether to stop."""
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("stopped while reading labels")
        return 0.1

    def _streamed(self, query: Query) -> Iterable[Solution]:
        """The solutions; of a graph in this process, where there may be millions, as they are found."""
        graph = self.graph
        return graph.stream(query) if isinstance(graph, OxigraphGraph) else self._whole(graph.select(query))

    def _select(self, query: Query) -> Iterator[Solution]:
        """As :meth:`_streamed`, with progress, and until it is cancelled."""
        if isinstance(self.graph, OxigraphGraph):
            solutions = self._streamed(query)
        else:
            solutions = self._result(ThreadedCall(lambda: self._streamed(query), name="kgsparql labels"))
        for number, solution in enumerate(solutions):
            if number % AT_ONCE == 0:
                self._poll_s()
                if self.progress is not None:
                    self.progress("reading labels", len(self.found), None)
            yield solution

    def texts(self, predicate: IRI, role: str = "", shard: Shard | None = None) -> Iterator[Read]:
        """Each usable text that a predicate gives; with a shard, only of its entities."""
        self.step += 1
        query = Query.load("index_labels").bind(predicate=[predicate])
        found: Iterable[Solution] = self._select(query if shard is None else shard.only(query))
        if shard is not None and self.linked:
            # Of a few thousand predicates, as Wikidata's, a few queries.
            linked = [IRI(iri) for iri in sorted(self.linked)]
            asked = select_about(self.graph, [Query.load("labels").bind(predicate=[predicate])], linked)
            found = chain(found, ({"entity": s["entity"], "text": s["label"]} for s in asked.seen))
        for solution in found:
            entity, literal = solution["entity"], solution["text"]
            if not isinstance(entity, IRI) or not isinstance(literal, Literal):
                continue
            if literal.language is None and literal.datatype.value != _XSD_STRING:
                continue
            text = clean_text(literal.value)
            if text and text != entity.value:
                yield Read(entity.value, self.step, text, (literal.language or "").lower(), role)

    def _read_kinds(self, used: Iterable[str]) -> None:
        for solution in self._select(Query.load("index_classes")):
            self.kinds[_value(solution["class"])] = "class"
        for solution in self._select(Query.load("index_properties")):
            self.kinds[_value(solution["property"])] = "predicate"
        self.kinds.update((predicate, "predicate") for predicate in used)

    def _read_links(self, used: Collection[str]) -> None:
        """Which predicates are described on other nodes, which stand for them: these are no entities."""
        links = [link for link in self.graph.naming.links if link.value in used]
        for solution in self._select(Query.load("index_predicate_links").bind(link=links)):
            node, predicate = _value(solution["property"]), _value(solution["predicate"])
            self.used_as.setdefault(node, []).append(predicate)
            self.kinds |= {node: "predicate", predicate: "predicate"}
        shared = chain(self.used_as, *self.used_as.values())
        self.linked = frozenset(iri for iri in shared if not self._is_wanted(iri))

    def _add(self, names: Iterable[Read]) -> None:
        for read in names:
            self.found.add(read)
            if read.iri in self.used_as:
                self.described.setdefault(read.iri, []).append(read)
            if not self.names_entity and read.iri not in self.kinds:
                self.names_entity = bool(normalised(read.text))

    def _share_property_labels(self) -> None:
        """Give predicates the labels of the nodes that describe them."""
        self.step += 1
        for node, names in self.described.items():
            for row in names_of_one(names):
                for predicate in self.used_as[node]:
                    self.found.add(Read(predicate, self.step, row.text, row.language, row.role))


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
