"""What a graph calls its entities, predicates and classes: one row for each name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

from kgsparql.errors import CancelledError
from kgsparql.graph import KnowledgeGraph, Solutions
from kgsparql.query import Query
from kgsparql.terms import IRI, Literal, local_name, normalised
from kgsparql.vocabulary import ALTERNATIVE_LABELS, DESCRIPTIONS, LABELS, PREDICATE_LABEL_LINKS
from kgsparql.words import is_unspaced

__all__ = ["MAX_TEXT", "Description", "Kind", "LabelRow", "Progress", "Role", "description_rows", "label_rows"]

Kind: TypeAlias = OneOf["entity", "predicate", "class"]
Role: TypeAlias = OneOf["label", "alternative", "derived"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it is done, and of how much, where that is known."""

MAX_TEXT = 300
"""Characters of a text that are kept."""
MAX_DEGREE = 10_001
"""Where counting stops to matter."""

_NAME_LIKE = frozenset(("name", "label", "title", "preflabel"))
_MEANS_SOMETHING = re.compile(r"[^\W\d_]{3}")
_FILE = re.compile(r"\.(?:jpe?g|png|gif|svg|tiff?|pdf|html?|ogg|webm|mp[34])$", re.IGNORECASE)
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class LabelRow(NamedTuple):
    """One name of one thing.

    :param key: the text as labels are compared.
    :param role: ``derived`` when the graph has no name for it, so that the end of its IRI has to do.
    :param language: as the graph has it, in lower case; empty for none.
    :param degree: triples it is in, counted to 10,001.
    """

    iri: str
    text: str
    key: str
    role: Role = "label"
    language: str = ""
    kind: Kind = "entity"
    degree: int = 0


class Description(NamedTuple):
    """A sentence about one thing: for display and for choosing among candidates, never for finding them."""

    iri: str
    text: str
    language: str = ""


def label_rows(
    graph: KnowledgeGraph,
    *,
    label_predicates: Iterable[IRI] = (),
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> list[LabelRow]:
    """Every name in a graph, sorted by IRI and text; a few queries, however large the graph.

    Texts that are empty or only repeat the IRI are left out, and long ones are cut. Predicates that are called
    ``name``, ``label`` or ``title`` count too when their texts tell things apart. What has no name at all gets the
    end of its IRI, if that means something to a person.

    :param label_predicates: further predicates whose texts are names.
    :raises CancelledError: if ``cancel`` is set before all is read.
    """
    return _Reader(graph, tuple(label_predicates), progress, cancel).read()


def description_rows(graph: KnowledgeGraph, *, cancel: threading.Event | None = None) -> list[Description]:
    """Every description in a graph, sorted.

    :raises CancelledError: if ``cancel`` is set before all is read.
    """
    reader = _Reader(graph, (), None, cancel)
    found = set()
    for predicate in DESCRIPTIONS:
        for iri, text, language in reader.texts(predicate):
            found.add(Description(iri, text, language))
    return sorted(found)


@dataclass(slots=True)
class _Reader:
    """The queries, and what they have said so far."""

    graph: KnowledgeGraph
    extra: tuple[IRI, ...]
    progress: Progress | None
    cancel: threading.Event | None
    rows: dict[tuple[str, str, str, Kind], LabelRow] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    degrees: dict[str, int] = field(default_factory=dict)

    def read(self) -> list[LabelRow]:
        used = {s["predicate"]: _number(s["triples"]) for s in self._select("index_predicates")}
        self._read_kinds(used)
        self._read_degrees()
        predicates = {p.value for p in used if isinstance(p, IRI)}
        for role, known in (("label", (*LABELS, *self.extra)), ("alternative", ALTERNATIVE_LABELS)):
            for predicate in known:
                if predicate.value in predicates:
                    self._add(self.texts(predicate), role)  # type: ignore[arg-type]
        known_names = {p.value for p in (*LABELS, *self.extra, *ALTERNATIVE_LABELS, *DESCRIPTIONS)}
        for value in sorted(predicates - known_names):
            if local_name(IRI(value)).replace(" ", "").casefold() in _NAME_LIKE:
                self._add_names(list(self.texts(IRI(value))))
        self._share_property_labels(predicates)
        self._derive()
        return sorted(self.rows.values())

    def _select(self, name: str, query: Query | None = None) -> Solutions:
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("stopped while reading labels")
        solutions = self.graph.select(query or Query.load(name))
        if self.progress is not None:
            self.progress("reading labels", len(self.rows), None)
        return solutions

    def texts(self, predicate: IRI) -> Iterable[tuple[str, str, str]]:
        """IRI, text and language of each usable text that a predicate gives."""
        for solution in self._select("index_labels", Query.load("index_labels").bind(predicate=[predicate])):
            entity, literal = solution["entity"], solution["text"]
            if not isinstance(entity, IRI) or not isinstance(literal, Literal):
                continue
            if literal.language is None and literal.datatype.value != _XSD_STRING:
                continue
            text = literal.value[: MAX_TEXT + 100].strip()[:MAX_TEXT]
            if text and text != entity.value:
                yield entity.value, text, (literal.language or "").lower()

    def _read_kinds(self, used: Iterable[object]) -> None:
        for solution in self._select("index_classes"):
            self.kinds[_value(solution["class"])] = "class"
        for solution in self._select("index_properties"):
            self.kinds[_value(solution["property"])] = "predicate"
        for predicate in used:
            self.kinds[_value(predicate)] = "predicate"

    def _read_degrees(self) -> None:
        for name in ("index_degrees_out", "index_degrees_in"):
            for solution in self._select(name):
                entity = _value(solution["entity"])
                self.degrees[entity] = min(MAX_DEGREE, self.degrees.get(entity, 0) + _number(solution["triples"]))

    def _add(self, texts: Iterable[tuple[str, str, str]], role: Role) -> None:
        for iri, text, language in texts:
            self._add_row(iri, text, language, role)

    def _add_row(self, iri: str, text: str, language: str, role: Role) -> None:
        kind = self.kinds.get(iri, "entity")
        identity = (iri, text, language, kind)
        key = normalised(text)
        if key and identity not in self.rows:
            self.rows[identity] = LabelRow(iri, text, key, role, language, kind, self.degrees.get(iri, 0))

    def _add_names(self, texts: Sequence[tuple[str, str, str]]) -> None:
        """Texts of a predicate that looks like a name: of use if they tell things apart (``title "Dr."`` does not)."""
        if 2 * len({text for _, text, _ in texts}) < len({iri for iri, _, _ in texts}):
            return
        labelled = {row.iri for row in self.rows.values() if row.role == "label"}
        for iri, text, language in texts:
            self._add_row(iri, text, language, "alternative" if iri in labelled else "label")

    def _share_property_labels(self, used: set[str]) -> None:
        """Give ``wdt:P31`` the labels of ``wd:P31``, which is the node that Wikidata describes."""
        links = [link for link in PREDICATE_LABEL_LINKS if link.value in used]
        query = Query.load("index_predicate_links").bind(link=links)
        used_as: dict[str, list[str]] = {}
        for solution in self._select("index_predicate_links", query):
            used_as.setdefault(_value(solution["property"]), []).append(_value(solution["predicate"]))
        for row in list(self.rows.values()):
            for predicate in used_as.get(row.iri, ()):
                self.kinds[predicate] = "predicate"
                self._add_row(predicate, row.text, row.language, row.role)
        for node in used_as:
            # The node itself is a name for the predicate, not a thing that the graph is about.
            self.kinds[node] = "predicate"
        for identity, row in list(self.rows.items()):
            if row.iri in used_as and row.kind != "predicate":
                del self.rows[identity]
                self._add_row(row.iri, row.text, row.language, row.role)

    def _derive(self) -> None:
        named = {row.iri for row in self.rows.values()}
        bare = not any(row.kind == "entity" for row in self.rows.values())
        for iri in sorted((self.degrees.keys() | self.kinds.keys()) - named):
            name = local_name(IRI(iri)).strip()[:MAX_TEXT]
            if bare or _is_name(name):
                self._add_row(iri, name, "", "derived")


def _is_name(name: str) -> bool:
    """Whether the end of an IRI means something to a person: words, not ``Q42``, ``m.0abc``, a UUID or ``a.jpg``.

    >>> [_is_name(n) for n in ("New York", "Q42", "m.0h6rm", "1e0eae5f 25ae 4ef9", "東京", "Flag.svg")]
    [True, False, False, False, True, False]
    """
    if _FILE.search(name) or sum(c.isdigit() for c in name) * 3 > len(name):
        return False
    return any(map(is_unspaced, name)) or _MEANS_SOMETHING.search(name) is not None


def _value(term: object) -> str:
    return str(getattr(term, "value", term))


def _number(term: object) -> int:
    return int(_value(term))
