"""Every name in a graph, in a few queries however large it is: labels, alternative ones, and the ends of IRIs."""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from kgsparql.errors import CancelledError
from kgsparql.graphs.protocols import KnowledgeGraph, Solutions, naming_of
from kgsparql.linking.labels.rows import MAX_DEGREE, Description, Kind, LabelRow, Progress, Role, told, with_short
from kgsparql.linking.words import is_unspaced
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, local_name, normalised
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS, DESCRIPTIONS, UNWALKED, Naming, is_mediator

__all__ = ["description_rows", "label_rows"]

_NAME_LIKE = frozenset(("name", "label", "title", "preflabel"))
_MEANS_SOMETHING = re.compile(r"[^\W\d_]{3}")
_NOT_A_NAME = re.compile(r"[%?=&@]|::|\.(?:jpe?g|png|gif|svg|tiff?|pdf|html?|ogg|webm|mp[34])$", re.IGNORECASE)
_Result = TypeVar("_Result")
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


def label_rows(
    graph: KnowledgeGraph,
    *,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    announce: Callable[[int], None] | None = None,
) -> list[LabelRow]:
    """Every name in a graph, sorted by IRI and text; a few queries, however large the graph.

    Labels are what the graph's label predicates give; of a graph that does not say which these are, those that kgsparql
    knows. Texts that are empty or only repeat the IRI are left out, and long ones are cut. Predicates that are called
    ``name``, ``label`` or ``title`` count too when their texts tell things apart. What has no name at all gets the
    end of its IRI, if that means something to a person.

    :param announce: called early, once, with about how many rows there will be.
    :raises CancelledError: if ``cancel`` is set before all is read.
    """
    with _no_garbage_collection():
        return _Reader(graph, naming_of(graph), progress, cancel).read(announce)


def description_rows(graph: KnowledgeGraph, *, cancel: threading.Event | None = None) -> list[Description]:
    """Every description in a graph, sorted.

    :raises CancelledError: if ``cancel`` is set before all is read.
    """
    reader = _Reader(graph, naming_of(graph), None, cancel)
    found = set()
    for predicate in DESCRIPTIONS:
        for iri, text, language in reader.texts(predicate):
            found.add(Description(iri, text, language))
    return sorted(found)


@dataclass(slots=True)
class _Reader:
    """The queries, and what they have said so far."""

    graph: KnowledgeGraph
    naming: Naming
    progress: Progress | None
    cancel: threading.Event | None
    rows: dict[tuple[str, str, str, Kind], tuple[str, Role]] = field(default_factory=dict)
    labelled: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    kinds: dict[str, Kind] = field(default_factory=dict)

    def read(self, announce: Callable[[int], None] | None) -> list[LabelRow]:
        triples = {
            _value(s["predicate"]): _number(s["triples"]) for s in self._select(self._counting("index_predicates"))
        }
        if announce is not None:
            announce(sum(triples.get(p.value, 0) for p in self.naming.names))
        # The engine counts on one core while this one reads texts.
        degrees_query = self._counting("index_degrees").bind(predicate=sorted(UNWALKED, key=str))
        counting = _started(lambda: self.graph.select(degrees_query), self.cancel)
        self._read_kinds(triples)
        self._read_texts(triples.keys())
        degrees = {_value(s["entity"]): min(MAX_DEGREE, _number(s["triples"])) for s in counting()}
        self._derive(degrees.keys())
        made = (
            LabelRow(iri, text, key, role, language, kind, degrees.get(iri, 0))
            for (iri, text, language, kind), (key, role) in self.rows.items()
        )
        return sorted(chain.from_iterable(map(with_short, made)))

    def _read_texts(self, used: Collection[str]) -> None:
        for predicate in self.naming.labels:
            if predicate.value in used:
                self._add(self.texts(predicate), "label")
        for predicate in ALTERNATIVE_LABELS:
            if predicate.value in used:
                self._add(self.texts(predicate), "alternative")
        known = {p.value for p in (*self.naming.names, *DESCRIPTIONS)}
        for value in sorted(set(used) - known):
            if local_name(IRI(value)).replace(" ", "").casefold() in _NAME_LIKE:
                self._add_names(list(self.texts(IRI(value))))
        self._share_property_labels(used)

    def _counting(self, name: str) -> Query:
        """A query that counts triples: each once where it may be in several named graphs, which takes twice as long."""
        has_doubles = self.graph.may_repeat_triples
        return Query.load(f"{name}_distinct" if has_doubles else name)

    def _select(self, query: Query) -> Solutions:
        solutions = _started(lambda: self.graph.select(query), self.cancel)()
        if self.progress is not None:
            self.progress("reading labels", len(self.rows), None)
        return solutions

    def texts(self, predicate: IRI) -> Iterable[tuple[str, str, str]]:
        """IRI, text and language of each usable text that a predicate gives."""
        for solution in self._select(Query.load("index_labels").bind(predicate=[predicate])):
            entity, literal = solution["entity"], solution["text"]
            if not isinstance(entity, IRI) or not isinstance(literal, Literal):
                continue
            if literal.language is None and literal.datatype.value != _XSD_STRING:
                continue
            text = told(literal.value)
            if text and text != entity.value:
                yield entity.value, text, (literal.language or "").lower()

    def _read_kinds(self, used: Iterable[str]) -> None:
        for solution in self._select(Query.load("index_classes")):
            self.kinds[_value(solution["class"])] = "class"
        for solution in self._select(Query.load("index_properties")):
            self.kinds[_value(solution["property"])] = "predicate"
        self.kinds.update((predicate, "predicate") for predicate in used)

    def _add(self, texts: Iterable[tuple[str, str, str]], role: Role) -> None:
        for iri, text, language in texts:
            self._add_row(iri, text, language, role)

    def _add_row(self, iri: str, text: str, language: str, role: Role) -> None:
        kind = self.kinds.get(iri, "entity")
        identity = (iri, text, language, kind)
        key = normalised(text)
        if key and identity not in self.rows:
            self.rows[identity] = (key, role)
            self.named.add(iri)
            if role == "label":
                self.labelled.add(iri)

    def _add_names(self, texts: Sequence[tuple[str, str, str]]) -> None:
        """Texts of a predicate that looks like a name: of use if they tell things apart (``title "Dr."`` does not)."""
        if 2 * len({text for _, text, _ in texts}) < len({iri for iri, _, _ in texts}):
            return
        before = frozenset(self.labelled)
        for iri, text, language in texts:
            self._add_row(iri, text, language, "alternative" if iri in before else "label")

    def _share_property_labels(self, used: Collection[str]) -> None:
        """Give ``wdt:P31`` the labels of ``wd:P31``, which is the node that Wikidata describes."""
        links = [link for link in self.naming.links if link.value in used]
        used_as: dict[str, list[str]] = {}
        for solution in self._select(Query.load("index_predicate_links").bind(link=links)):
            used_as.setdefault(_value(solution["property"]), []).append(_value(solution["predicate"]))
        # The node itself is a name for the predicate, not a thing that the graph is about.
        for node, predicates in used_as.items():
            self.kinds.update((iri, "predicate") for iri in (node, *predicates))
        for identity, (_, role) in list(self.rows.items()):
            iri, text, language, kind = identity
            if iri in used_as:
                if kind != "predicate":
                    del self.rows[identity]
                for same in (iri, *used_as[iri]):
                    self._add_row(same, text, language, role)

    def _derive(self, mentioned: Collection[str]) -> None:
        is_bare = not any(kind == "entity" for *_, kind in self.rows)
        for iri in sorted((set(mentioned) | self.kinds.keys()) - self.named):
            name = told(local_name(IRI(iri)))
            if not is_mediator(IRI(iri)) and (is_bare or _is_name(name)):
                self._add_row(iri, name, "", "derived")


def _is_name(name: str) -> bool:
    """Whether the end of an IRI means something to a person: words, not ``Q42``, ``m.0abc``, a UUID or ``a.jpg``.

    >>> [_is_name(n) for n in ("New York", "Q42", "m.0h6rm", "1e0eae5f 25ae 4ef9", "東京", "Flag.svg", "go%2:38::")]
    [True, False, False, False, True, False, False]
    """
    if _NOT_A_NAME.search(name) or sum(c.isdigit() for c in name) * 3 > len(name):
        return False
    return any(map(is_unspaced, name)) or _MEANS_SOMETHING.search(name) is not None


def _started(work: Callable[[], _Result], cancel: threading.Event | None) -> Callable[[], _Result]:
    """Start something on a thread that nobody waits for at exit; gives the function that waits for what it returns.

    The engine answers when it is done; a Ctrl-C must not wait for it, nor, as for a pool, Python when it ends.

    :raises CancelledError: from that function, if ``cancel`` is set before it is done.
    """
    done = threading.Event()
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            errors.append(error)
        done.set()

    def wait() -> _Result:
        while not done.wait(0.1):
            _stop_if(cancel)
        _stop_if(cancel)
        if errors:
            raise errors[0]
        return results[0]

    threading.Thread(target=run, name="kgsparql labels", daemon=True).start()
    return wait


def _stop_if(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise CancelledError("stopped while reading labels")


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Millions of small values are made and all are kept: looking for garbage there takes a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _value(term: object) -> str:
    return str(getattr(term, "value", term))


def _number(term: object) -> int:
    return int(_value(term))
