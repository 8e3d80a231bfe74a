"""Read every name in a graph in a few queries: labels, alternative ones, and the ends of IRIs."""

from __future__ import annotations

import heapq
import re
import sqlite3
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby, starmap
from operator import attrgetter, itemgetter
from tempfile import gettempdir
from typing import Any, Generic, NamedTuple, TypeVar, cast

from kgsparql.dataclasses import dataclass, field
from kgsparql.errors import CancelledError, EndpointReplyError, EndpointTimeoutError, LimitError, StoreError
from kgsparql.exploration.counting import counted
from kgsparql.graphs.graph import KnowledgeGraph, Solution, Solutions
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.http.transport import ThreadedCall
from kgsparql.linking.label_index.search import (
    MAX_DEGREE,
    Kind,
    LabelRow,
    Progress,
    Role,
    clean_text,
    label_row,
    silent,
    with_short,
)
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.literals import literal_kind, plain_text
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, iris_in, local_name, name_words, normalised, split_camel_case, whole_number
from kgsparql.rdf.vocabulary import (
    DESCRIPTIONS,
    LABEL_NODES,
    RDF_TYPE,
    SHAPE_NAME,
    SHAPE_PATH,
    SUBCLASS_OF,
    UNWALKED,
    has_readable_end,
    is_mediator,
    may_be_name,
)
from kgsparql.schema.joining import roles_without_meaning
from kgsparql.schema.known_names import known_names, name_of_code
from kgsparql.schema.vocabulary import GraphVocabulary
from kgsparql.storage.files import disk_full

REMOTE_ROWS = 300_000
"""Of an endpoint with more labels none are read: it would be a minute's work for it, and for the network."""
AT_ONCE = 50_000  # rows between which it is asked whether to stop

_ENGLISH = frozenset(("", "mul", "en", "en-"))  # what the tags of English, and of no language, begin with
_STEP, _DEGREE = attrgetter("step"), attrgetter("degree")
_SEVERAL, _OF_A_VOCABULARY = 3, 30  # properties that are no predicates, at least; triples for each, at most

_NAMESPACE = re.compile(r".*//.*/([^\W\d_]+)(?:\.\w+)?[/#][^/#]+$")
"""The word before the name of a term, without the ending of a file; not that of a host."""
_ENDS_IN_NUMBER = re.compile(r"[A-Za-z]+\d+$")
_IDENTIFIER = re.compile(r"[/#][A-Za-z]+_\d\d+$")  # in biology: topic_0091; asked for as GO:0008150, too
_OTHER_NAME = re.compile(r"[/#:]variant(?:Name|Label)\w*$")  # of GND and MADS, read after the preferred ones

_Result = TypeVar("_Result")
_Row = TypeVar("_Row", bound=NamedTuple)


def read_labels(
    graph: KnowledgeGraph, *, progress: Progress = silent, cancel: threading.Event | None = None
) -> Iterator[LabelRow]:
    """Yield every name in a graph, sorted by IRI and text, by a few queries however large the graph.

    Labels are what the graph's label predicates give; if the graph does not say which these are, the usual ones. Texts
    that are empty or only repeat the IRI are left out, and long ones are cut. Predicates called ``name``, ``label`` or
    ``title`` count too when their texts tell things apart. What has no name, or only names in languages other than
    English, gets the end of its IRI too, if that means something to a person.
    """
    try:
        yield from _Reader(graph, progress, cancel or threading.Event()).labels()
    except EndpointTimeoutError as error:
        raise too_many(graph, "it takes too long") from error
    except EndpointReplyError as error:
        if error.code != "E_LIMIT":
            raise
        raise too_many(graph, "they are too large for one reply") from error
    except sqlite3.Error as error:
        raise disk_full(gettempdir()) from error


def too_many(graph: KnowledgeGraph, why: str) -> LimitError:
    """Make the error that the labels of an endpoint cannot all be read, with what can be done instead."""
    return LimitError(
        f"{graph.name}: its labels cannot all be read: {why}",
        hint="questions look them up, none is indexed", limit="labels",
    )  # fmt: skip


class Gathered(Generic[_Row]):
    """Rows of texts and numbers, gathered by the million: in a table of SQLite, which keeps of many most on the disk.

    >>> class Pair(NamedTuple):
    ...     word: str
    ...     number: int
    >>> pairs = Gathered(Pair, [Pair("b", 1), Pair("a", 2)])
    >>> len(pairs), list(pairs.in_order("word"))
    (2, [Pair(word='a', number=2), Pair(word='b', number=1)])
    """

    def __init__(self, kind: type[_Row], rows: Iterable[_Row] = ()) -> None:
        self._kind = kind
        self._table = sqlite3.connect("", check_same_thread=False)
        weakref.finalize(self, self._table.close)
        self._table.execute(f"CREATE TABLE rows ({', '.join(kind._fields)})")
        self.extend(rows)

    def extend(self, rows: Iterable[_Row]) -> None:
        """Put rows behind the others."""
        places = ", ".join("?" * len(self._kind._fields))
        self._table.executemany(f"INSERT INTO rows VALUES ({places})", rows)  # noqa: S608 - only question marks

    def __len__(self) -> int:
        return self._table.total_changes

    def __iter__(self) -> Iterator[_Row]:
        return self.in_order("rowid")

    def in_order(self, column: str) -> Iterator[_Row]:
        """Yield the rows in the order of a column."""
        select = f"SELECT {', '.join(self._kind._fields)} FROM rows ORDER BY {column}, rowid"  # noqa: S608 - the name of a field
        yield from starmap(self._kind, self._table.execute(select))


class _Read(NamedTuple):
    """What one solution says of an IRI: a name or, without a text, in how many triples it is.

    :param step: names count in the order of the queries that gave them: the first of two equal ones stays.
    :param role: empty for a text that is a label if no earlier query gave one.
    """

    iri: str
    step: int = 0
    text: str = ""
    language: str = ""
    role: str = ""
    degree: int = 0


@dataclass(slots=True)
class _Reader:
    """The queries, and what they have given so far.

    :ivar used_as: the predicates that are described on another node, by that node: ``wdt:P31`` by ``wd:P31``.
    :ivar described: the names of those nodes.
    :ivar names_entity: whether any entity has a name.
    :ivar pages: web pages of which nothing is said: the ends of their addresses are no names.
    :ivar nameless: what no question means.
    :ivar is_ontology: its classes are the things one asks about.
    :ivar related: the last words of the names of predicates; ``called``: the names of classes above others.
    """

    graph: KnowledgeGraph
    progress: Progress
    cancel: threading.Event
    used_as: dict[str, list[str]] = field(default_factory=dict)
    described: dict[str, list[_Read]] = field(default_factory=dict)
    names_entity: bool = False
    found: Gathered[_Read] = field(default_factory=lambda: Gathered(_Read))
    kinds: dict[str, Kind] = field(default_factory=dict)
    pages: set[str] = field(default_factory=set)
    nameless: set[str] = field(default_factory=set)
    is_ontology: bool = False
    related: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    step: int = 0

    def labels(self) -> Iterator[LabelRow]:
        graph = self.graph
        sizes = graph.sizes
        triples = {_term_value(predicate): number for predicate, number in (sizes.stated("predicate") or {}).items()}
        if not sizes.are_large:
            counts = self._result_of(counted, graph, self._counting_query("index_predicates"))
            triples = {_term_value(s["predicate"]): whole_number(s["triples"]) for s in self._whole_solutions(counts)}
        about = sum(triples.get(p.value, 0) for p in graph.naming.names)
        if graph.is_remote and (about > REMOTE_ROWS or (sizes.are_large and not about)):
            raise too_many(graph, f"there are about {about:,}" if about else "it is large, and names none")
        self._read_kinds(triples)  # before: a process forked while the engine works on may wait for it forever
        # The engine counts on one core while this one reads texts.
        counting = ThreadedCall(partial(self._read_degrees, triples), name="kgsparql labels")
        if to_pages := [predicate for predicate in graph.naming.pages if predicate.value in triples]:
            pages = Query.load("index_pages").bind(predicate=to_pages, other=to_pages)
            self.pages.update(_term_value(solution["page"]) for solution in self._polled_solutions(pages))
        self._read_texts(triples.keys())
        degrees = self._waited_for(counting)
        parts = self.found.in_order("iri"), degrees, map(_Read, sorted(self.kinds))
        groups = groupby(heapq.merge(*parts), itemgetter(0))
        self.progress("indexing labels", len(self.found), len(self.found))
        has_codes = bool(graph.naming.measured)
        for iri, found in groups:
            if iri not in self.nameless:
                yield from self._rows_of_one(iri, list(found), has_codes)

    def _read_degrees(self, used: Collection[str]) -> Iterable[_Read]:
        """Count in how many triples each IRI is, in order: by an adjacency, built in less time than the query takes."""
        adjacency = None
        if isinstance(self.graph, OxigraphGraph):
            with suppress(StoreError):  # no place to keep it
                adjacency = self.graph.built_adjacency(lambda *_: self._poll_s())
        if adjacency is not None:
            return (_Read(iri, degree=n) for iri, n in adjacency.triples_of_iris(UNWALKED) if n)
        if self.graph.sizes.are_large:
            return ()
        # rdflib compares each triple with all that it is given: those that no triple has double its time.
        unwalked = sorted((predicate for predicate in UNWALKED if predicate.value in used), key=str)
        query = self._counting_query("index_degrees").bind(predicate=unwalked or [RDF_TYPE])
        counts = self._streamed_solutions(query)
        found = (_Read(_term_value(s["entity"]), degree=whole_number(s["triples"])) for s in counts)
        return Gathered(_Read, found).in_order("iri")

    def _read_kinds(self, used: Mapping[str, int]) -> None:
        for solution in self._polled_solutions(Query.load("index_classes")):
            self.kinds[_term_value(solution["class"])] = "class"
        properties = [_term_value(s["property"]) for s in self._polled_solutions(Query.load("index_properties"))]
        # What a vocabulary declares are the things one asks about; elsewhere it tells what the graph has nothing of.
        unused = set(properties) - used.keys()
        is_vocabulary = len(unused) >= _SEVERAL and 0 < sum(used.values()) < _OF_A_VOCABULARY * len(unused)
        vocabulary = GraphVocabulary.of(self.graph)
        self.is_ontology, joining = vocabulary.is_ontology, vocabulary.joined  # their names are those of relations
        self.nameless |= {role.value for role in roles_without_meaning(joining)}
        own = (
            *(() if is_vocabulary else properties),
            *used,
            *(kind.value for kind, ways in joining.items() if ways[0].office is None or ways[0].is_value),
        )
        self.kinds.update(dict.fromkeys(own, "predicate"))

    def _read_texts(self, used: Collection[str]) -> None:
        naming = self.graph.naming
        links = [link for link in naming.links if link.value in used]
        for solution in self._polled_solutions(Query.load("index_predicate_links").bind(link=links)):
            node, described = _term_value(solution["property"]), _term_value(solution["predicate"])
            self.used_as.setdefault(node, []).append(described)
            self.kinds |= {node: "predicate", described: "predicate"}
        others = naming.names[len(naming.labels) :]
        stated = [predicate for predicate in naming.labels if predicate not in naming.measured]
        roles = (("label", stated), ("alternative", others), ("", naming.measured))
        for role, predicates in roles:
            for predicate in predicates:
                if predicate.value in used:
                    self.found.extend(self._noted_names(self._label_texts(predicate, role)))
        owners = dict[object, list[tuple[str, str]]]()  # of the nodes that have labels
        for link in (link for link in LABEL_NODES if link.value in used):
            role = "label" if may_be_name(link) else "alternative"
            for solution in self._polled_solutions(Query.load("index_labels").bind(predicate=[link])):
                owners.setdefault(solution["text"], []).append((_term_value(solution["entity"]), role))
        for predicate in dict.fromkeys(LABEL_NODES.values()) if owners else ():
            self.found.extend(self._noted_names(self._label_texts(predicate, owners=owners)))
        known = {p.value for p in (*naming.names, *DESCRIPTIONS)}
        for value in sorted(set(used) - known):
            if may_be_name(IRI(value)) or _OTHER_NAME.search(value):
                found = Gathered(_Read, self._label_texts(IRI(value)))
                # They count if they tell things apart; title "Dr." does not.
                if 2 * len({hash(read.text) for read in found}) >= len({hash(read.iri) for read in found}):
                    self.found.extend(self._noted_names(found))
        self._read_shapes(used)
        self.step += 1
        self.found.extend(  # predicates get the labels of the nodes that describe them
            _Read(iri, self.step, row.text, row.language, row.role)
            for node, names in self.described.items()
            for row in _names_of_one(names)
            for iri in self.used_as[node]
        )

    def _read_shapes(self, used: Collection[str]) -> None:
        """Read what shapes call the predicates that they are about."""
        self.step += 1
        shape, predicate, name = variables("shape entity text")
        said = (g.Fact(shape, SHAPE_PATH, predicate), g.Fact(shape, SHAPE_NAME, name))
        query = g.select_query("names_by_shapes", g.Select((predicate, name), said))
        for solution in self._polled_solutions(query) if {SHAPE_PATH.value, SHAPE_NAME.value} <= {*used} else ():
            one, text = solution["entity"], solution["text"]
            if isinstance(one, IRI) and isinstance(text, Literal):
                language = (text.language or "").lower()
                read = _Read(one.value, self.step, clean_text(plain_text(text)), language, "alternative")
                self.found.extend([read])

    def _label_texts(
        self, predicate: IRI, role: str = "", *, owners: Mapping[object, list[tuple[str, str]]] | None = None
    ) -> Iterator[_Read]:
        """Yield each usable text that a predicate gives; of nodes that only have labels, for the owners of these."""
        self.step += 1
        for solution in self._polled_solutions(Query.load("index_labels").bind(predicate=[predicate])):
            entity, literal = solution["entity"], solution["text"]
            if not isinstance(literal, Literal) or literal_kind(literal) != "text":
                continue
            named = [(entity.value, role)] if isinstance(entity, IRI) else []
            text, language = clean_text(plain_text(literal)), (literal.language or "").lower()
            for iri, as_ in named if owners is None else owners.get(entity, ()):
                if text and text != iri:
                    yield _Read(iri, self.step, text, language, as_)

    def _noted_names(self, names: Iterable[_Read]) -> Iterator[_Read]:
        for read in names:
            if read.iri in self.used_as:
                self.described.setdefault(read.iri, []).append(read)
            if not self.names_entity and read.iri not in self.kinds:
                self.names_entity = bool(normalised(read.text))
            yield read

    def _rows_of_one(self, iri: str, found: list[_Read], has_codes: bool) -> list[LabelRow]:
        """Make all rows of an IRI, sorted; with the end of an IRI that has no readable name, if it means something."""
        names = list(_names_of_one(found)) if len(found) > 1 or found[0].text else []
        is_named = not _ENGLISH.isdisjoint([row.language[:3] for row in names])
        is_identifier = iri[-1].isdecimal() and _IDENTIFIER.search(iri) is not None
        if has_codes or is_identifier or not is_named:
            term = IRI(iri)
            name = name_of_code(term) or clean_text(local_name(term))
            is_code = has_codes and _ENDS_IN_NUMBER.match(name) is not None  # machine `m3`, by its end
            may_be = is_identifier or is_code or (not is_named and (not self.names_entity or has_readable_end(name)))
            if may_be and not is_mediator(term) and iri not in self.pages:
                key = normalised(name)
                if key and key not in {row.key for row in names}:
                    names.append(LabelRow(iri, name, key, "derived"))
        if not names:
            return names
        kind, degree = self.kinds.get(iri, "entity"), min(MAX_DEGREE, max(map(_DEGREE, found)))
        if kind != "entity":  # `inverseOf` is asked for as `inverse of`, `ShipYard` as `shipyard`
            keys = {row.key for row in names}
            forms = [(row, normalised(split_camel_case(row.text))) for row in names]
            is_derived = any(row.role == "derived" for row in names)
            if is_derived and kind == "class":
                forms += [(row, row.key.replace(" ", "")) for row in names]
                space = _NAMESPACE.match(iri)  # `nobel/Laureate` is asked for as `Nobel laureate`
                forms += [(row, f"{space[1].lower()} {row.key}") for row in names if space]
                forms += [(row, bare) for row in names if row.role == "derived" and (bare := self._bare_name(row.key))]
            names += [row._replace(key=key) for row, key in forms if key not in keys]
            is_told = is_derived or normalised(local_name(IRI(iri))) in keys
            more = known_names(IRI(iri), is_labelled=kind == "class" or not is_told)
            known = (label_row(iri, name.text, role="alternative", language=name.language) for name in more)
            names += [row for row in known if row is not None and row.key not in keys]
        rows = [LabelRow(*name[:5], kind, degree) for name in names]
        return sorted(short for row in rows for short in (with_short(row) if row.text.endswith(")") else (row,)))

    def _bare_name(self, key: str) -> str:
        """Return what a class is called without the word by which a relation leads to such: `anchovies topping`.

        Only in an ontology: where things are of classes, a payment is no `payment status`. What a class above others is
        called means no other one.
        """
        if self.is_ontology and not self.related:
            kinds = [(kind, name_words(IRI(iri))) for iri, kind in self.kinds.items()]
            self.related = {name[-1] for kind, name in kinds if kind == "predicate" and name}
            x, kind = variables("x kind")
            above = g.found(self.graph, "broader", (kind,), (g.Fact(x, SUBCLASS_OF, kind),), distinct=True)
            self.called = {" ".join(name_words(own)) for own in iris_in(one["kind"] for one in above)}
        bare, _, last = key.rpartition(" ")
        return bare if last in self.related and bare not in self.called else ""

    def _counting_query(self, name: str) -> Query:
        """Load a query that counts triples; a slower one where a triple may be in several named graphs."""
        return Query.load(f"{name}_distinct" if self.graph.may_repeat_triples else name)

    def _polled_solutions(self, query: Query) -> Iterator[Solution]:
        """Yield the solutions with progress, until it is cancelled."""
        for number, solution in enumerate(self._streamed_solutions(query)):
            if number % AT_ONCE == 0:
                self._poll_s()
                self.progress("reading labels", len(self.found), None)
            yield solution

    def _streamed_solutions(self, query: Query) -> Iterable[Solution]:
        """Return the solutions; of a graph in this process, where there may be millions, as they are found."""
        graph = self.graph
        if isinstance(graph, OxigraphGraph):
            return graph.stream(query)
        return self._whole_solutions(self._result_of(graph.select, query))

    def _whole_solutions(self, solutions: Solutions) -> Solutions:
        """Check that these are all solutions: a label that is missing once would not be found for good."""
        if self.graph.is_remote and solutions.cut:
            raise too_many(self.graph, f"the endpoint gives only {len(solutions):,} at once")
        return solutions

    def _result_of(self, work: Callable[..., _Result], *given: Any) -> _Result:
        return self._waited_for(ThreadedCall(partial(work, *given), name="kgsparql labels"))

    def _waited_for(self, call: ThreadedCall[_Result]) -> _Result:
        """Wait for a thread that neither a Ctrl-C nor the end of Python waits for."""
        try:
            return call.result(self._poll_s)
        finally:
            self._poll_s()

    def _poll_s(self) -> float:
        """Return the seconds until it is asked again whether to stop."""
        if self.cancel.is_set():
            raise CancelledError("stopped while reading labels")
        return 0.1


def _names_of_one(found: Iterable[_Read]) -> Iterator[LabelRow]:
    """Yield the names that were read of one IRI, each once, without kind and degree."""
    first = dict[tuple[str, str], _Read]()
    labelled_at = None
    for read in sorted(found, key=_STEP):
        key = normalised(read.text)
        if key and first.setdefault((read.text, read.language), read) is read:
            role = cast("Role", read.role or ("label" if labelled_at in {None, read.step} else "alternative"))
            if role == "label" and labelled_at is None:
                labelled_at = read.step
            yield LabelRow(read.iri, read.text, key, role, read.language)


def _term_value(term: object) -> str:
    return str(getattr(term, "value", term))
