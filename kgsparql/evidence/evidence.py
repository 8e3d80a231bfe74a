"""What an answer rests on: triples with their sources, looked up again, grouped in items that carry markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal as OneOf
from typing import TypeAlias, overload

from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError, EndpointError, QueryError
from kgsparql.exploration.batched_select import batched_select, lookup
from kgsparql.graphs.graph import Solution, Source, in_parts
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.notes import Cut
from kgsparql.rdf.paths import Direction, Hop, Path, PropertyPath
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, distinct, printable

ItemKind: TypeAlias = OneOf["path", "neighbours", "passage", "computed"]
_LETTERS: dict[ItemKind, str] = {"path": "P", "neighbours": "N", "passage": "T", "computed": "Q"}

_MAX_LINE_CHARACTERS = 20_000


@frozen
class CitedTriple:
    """A triple that evidence rests on.

    :param direction: how it was walked; the triple itself keeps its own direction.
    :param verified: looked up again and found; ``None`` while nobody looked, or where nobody can.
    """

    triple: Triple
    direction: Direction = "forward"
    sources: tuple[Source, ...] = ()
    verified: bool | None = None

    @property
    def hop(self) -> Hop:
        """The triple as it was walked."""
        return Hop(self.triple, self.direction)


@frozen
class EvidenceItem:
    """One numbered piece of evidence.

    :param text: the item as a sentence or an arrow line.
    :param score: higher is better; comparable only within one answer.
    :param query: the smallest query that finds this item again; for an item with ``ends``, just these.
    :param paths: those that it is made of; none for a passage.
    :param ends: where the item leads to, every one that is known, even where the triples of only some are shown.
    :param between: the terms at each place between its start and its ends, where all of them are known.
    :param marker: ``P1`` (path), ``N1`` (neighbours), ``T1`` (passage), ``Q1`` (computed); given once, by
        :class:`Evidence`.
    """

    kind: ItemKind
    text: str
    triples: tuple[CitedTriple, ...]
    query: Query
    paths: tuple[Path, ...] = ()
    score: float = 0.0
    cuts: tuple[Cut, ...] = ()
    ends: tuple[Term, ...] = ()
    between: tuple[tuple[Term, ...], ...] = ()
    marker: str = ""

    @property
    def named_ends(self) -> int | None:
        """How many of its ends are no blank nodes; ``None`` where its ends are not known."""
        return sum(not isinstance(end, BlankNode) for end in self.ends) if self.ends else None

    @property
    def start(self) -> Term:
        """What its first path starts from."""
        return self.paths[0].start

    @property
    def property_path(self) -> PropertyPath:
        """The predicates of its first path."""
        return self.paths[0].property_path

    @property
    def terms(self) -> frozenset[Term]:
        """What it is about: its ends, what lies between, and its nodes."""
        return frozenset((*self.ends, *(term for place in self.between for term in place), *self.nodes))

    @property
    def nodes(self) -> tuple[Term, ...]:
        """The subjects and objects of its triples, in order."""
        return distinct(end for own in self.triples for end in (own.triple.subject, own.triple.object))

    @property
    def graphs(self) -> tuple[str, ...]:
        """The files, or else the graph, that its triples were found in, as the user named them."""
        return distinct(source.graph for cited in self.triples for source in cited.sources)


class Evidence:
    """Items in order, with markers that never change; those that have none yet get the next ones.

    >>> q = Query("q", "")
    >>> evidence = Evidence([EvidenceItem("path", "a", (), q), EvidenceItem("neighbours", "b", (), q)])
    >>> [item.marker for item in evidence], [item.marker for item in evidence.keep(["N1"])]
    (['P1', 'N1'], ['N1'])
    """

    def __init__(self, items: Iterable[EvidenceItem] = ()) -> None:
        counts = Counter[ItemKind]()
        self._items: dict[str, EvidenceItem] = {}
        for item in items:
            if not item.marker:
                counts[item.kind] += 1
                item = replace(item, marker=f"{_LETTERS[item.kind]}{counts[item.kind]}")  # noqa: PLW2901
            elif (number := item.marker[1:]).isdecimal():
                counts[item.kind] = max(counts[item.kind], int(number))
            self._items[item.marker] = item

    def __iter__(self) -> Iterator[EvidenceItem]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, marker: str | int) -> EvidenceItem: ...
    @overload
    def __getitem__(self, marker: slice) -> Evidence: ...
    def __getitem__(self, marker: str | int | slice) -> EvidenceItem | Evidence:
        """Get an item by its marker or its place, or some by a slice of places, with the markers they had."""
        if isinstance(marker, str):
            try:
                return self._items[marker]
            except KeyError:
                raise KeyError(f"no evidence {marker!r}; there are: {', '.join(self._items)}") from None
        items = list(self)[marker]
        return Evidence(items) if isinstance(items, list) else items

    def __repr__(self) -> str:
        return f"<Evidence {', '.join(self._items)}>" if self._items else "<Evidence: none>"

    def __str__(self) -> str:
        """Write a line for each item: its marker and its text."""
        return "\n".join(f"{item.marker:>4}  {printable(item.text, _MAX_LINE_CHARACTERS)}" for item in self)

    def __contains__(self, marker: object) -> bool:
        return marker in self._items

    @property
    def triples(self) -> tuple[Triple, ...]:
        """Every cited triple once, in order."""
        return distinct(cited.triple for item in self for cited in item.triples)

    def keep(self, markers: Iterable[str]) -> Evidence:
        """Only these items, in their order, with the markers they had."""
        wanted = set(markers)
        return Evidence(item for item in self if item.marker in wanted)


# -- Verification: every cited triple is looked up again, and what is not there is removed -------------------------

BATCH = 200  # triples looked up by one query


@frozen
class Verification:
    """Evidence whose triples are all marked, and what could not be kept.

    :param removed: triples that the graph does not hold, or no longer.
    :param unknown: triples of which that cannot be told.
    :param unanswered: those of them that have a name to be asked for by.
    :param failure: why the graph could not be asked any more; ``None`` if it could.
    :param ended: where there was no time to ask.
    :param lost: markers of items that rested on them and are gone.
    """

    evidence: Evidence
    found: int
    removed: tuple[Triple, ...]
    unknown: int
    lost: tuple[str, ...]
    unanswered: int = 0
    failure: EndpointError | QueryError | None = None
    ended: BudgetExceededError | None = None


def verify(evidence: Evidence, graph: MeteredGraph) -> Verification:
    """Look each triple up again, with its named graphs; items with a missing triple are dropped.

    A triple with a blank node is looked up where blank nodes keep their names; elsewhere it stays, with ``verified``
    ``None``. So does a triple of which an endpoint that failed, or cut its results, did not say whether it is there.
    What was found again for this question already is not looked up once more.
    """
    found = {cited.triple: cited.sources for item in evidence for cited in item.triples if cited.verified}
    triples = [triple for triple in evidence.triples if triple not in found]
    asked = _Lookup([*filter(has_a_name, triples)], graph.unfiltered())
    unknown, removed = list[Triple](), list[Triple]()
    for triple in triples:
        held = tuple(sorted({*asked.held.get(triple, ())})) if has_a_name(triple) else graph.sources_of(triple)
        if held:
            found[triple] = held
        else:
            (unknown if held is None or triple in asked.open_ else removed).append(triple)
    kept, lost = [], []
    for item in evidence:
        if not {*removed}.isdisjoint(cited.triple for cited in item.triples):
            lost.append(item.marker)
            continue
        cited = (replace(c, sources=found.get(c.triple, ()), verified=c.triple in found or None) for c in item.triples)
        kept.append(replace(item, triples=tuple(cited)))
    return Verification(
        evidence=Evidence(kept), found=len(found), unknown=len(unknown), removed=tuple(removed), lost=tuple(lost),
        unanswered=sum(map(has_a_name, unknown)), failure=asked.failure, ended=asked.ended,
    )  # fmt: skip


def has_a_name(triple: Triple) -> bool:
    """Tell whether a triple can be looked up by name: blank nodes have none, nor triples in triples."""
    return isinstance(triple.subject, IRI) and isinstance(triple.object, IRI | Literal)


class _Lookup:
    """What a graph says of the triples that have a name.

    :ivar held: in which named graphs it holds them.
    :ivar open_: those of which it has not said whether it does.
    """

    def __init__(self, triples: Sequence[Triple], graph: MeteredGraph) -> None:
        self.open_ = set(triples)
        self.held: dict[Triple, list[Source]] = {}
        self.failure: EndpointError | QueryError | None = None
        self.ended: BudgetExceededError | None = None
        named: dict[Triple, list[Source]] = {}
        try:
            for some in in_parts(triples, BATCH):  # what is found already is not lost with an endpoint
                asked = batched_select(graph, lambda chunk, _: lookup(chunk), some, key_of=_triple_in, chunk_size=BATCH)
                found = {*map(_triple_in, asked.seen)}
                self.held |= {triple: [graph.source(None)] for triple in some if triple in found}
                self.open_.difference_update(t for t in some if t in found or t not in asked.over)
            held = [] if graph.named_graphs() == [] else [*self.held]
            for some in in_parts(held, BATCH):
                for solution in graph.select(lookup(some, named_graphs=True)):
                    if (triple := _triple_in(solution)) is not None:
                        name = solution.get("graph")
                        named.setdefault(triple, []).append(graph.source(str(getattr(name, "value", name))))
        except GRAPH_FAILED as error:  # what is found already is not lost with its endpoint
            self.failure = error
        except BudgetExceededError as error:
            self.ended = error
        self.held |= named


def _triple_in(solution: Solution) -> Triple | None:
    """Return the triple that was found; what a server sends need be none."""
    subject, predicate = solution["subject"], solution["predicate"]
    if isinstance(subject, IRI) and isinstance(predicate, IRI):
        return Triple(subject, predicate, solution["object"])
    return None
