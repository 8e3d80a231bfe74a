"""What an answer rests on as a drawing: nodes in columns by hop from the entities of the question, and true arrows."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from math import ceil, floor
from typing import Literal as OneOf

from kgsparql.answering.answer import Answer
from kgsparql.dataclasses import asdict, frozen
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.exploration.labels import own_label
from kgsparql.plans.algebra import Instances
from kgsparql.plans.type_check import parts_of
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.paths import Direction, Hop
from kgsparql.rdf.terms import IRI, Json, Labels, Literal, Term, Triple, local_name, printable
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.schema.kinds import predicate_of_things

MOST_NODES = 14  # in view at once: more cannot be read
MOST_WHOLE = 400  # where a person asks for all; further ones are only in the table
_LABEL_LENGTH = 200  # characters of a label; pictures show less of it


_Curve = Sequence[tuple[float, float]]
_Joined = tuple[int, int, str]  # the places of two nodes, and the label of the edge between them


@frozen
class Box:
    """A rectangle, by its middle in pixels from the top left."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        """Tell whether both share some place."""
        across = abs(self.x - other.x) * 2 < self.width + other.width
        return across and abs(self.y - other.y) * 2 < self.height + other.height


@frozen
class DrawnNode(Box):
    """A term in a drawing."""

    layer: int
    term: Term
    label: str
    description: str
    role: OneOf["question", "answer", "literal", "other"]
    markers: tuple[str, ...]


@frozen
class DrawnEdge:
    """A triple as a cubic curve from the node of its subject to that of its object.

    :param source: the place of that node in the drawing, as ``target`` of the other.
    :param is_inverse: the evidence walks against it.
    :param label_at: where its label stands; ``None`` where there is no room for it.
    """

    source: int
    target: int
    label: str
    predicate: IRI
    markers: tuple[str, ...]
    is_inverse: bool
    points: _Curve
    label_at: Box | None


@frozen
class Drawing:
    """A drawing of what an answer rests on; false where there is nothing to draw."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.nodes)

    @property
    def bounds(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the whole picture, with a margin."""
        points = [(340.0, MARGIN), *(point for edge in self.edges for point in edge.points)]
        for box in (*self.nodes, *(edge.label_at for edge in self.edges if edge.label_at)):
            points += [(box.x + side * box.width / 2, box.y + side * box.height / 2) for side in (-1, 1)]
        xs, ys = zip(*points, strict=True)
        return floor(min(xs) - MARGIN), floor(min(ys) - MARGIN), ceil(max(xs) + MARGIN), ceil(max(ys) + MARGIN)

    def to_json(self) -> Json:
        """Return a JSON object with all that a page needs to show it; terms are in the syntax of N-Triples."""
        left, top, right, bottom = self.bounds
        return {
            "view": [left, top, right - left, bottom - top],
            "nodes": [asdict(one) | {"term": str(one.term)} for one in self.nodes],
            "edges": [asdict(one) | {"predicate": one.predicate.value} for one in self.edges],
            "left_out": self.left_out,
        }


def drawing_of(answer: Answer, *, most_nodes: int = MOST_NODES) -> Drawing:
    """Draw the evidence that an answer cites, what leads to the answer first; the same answer gives the same drawing.

    Of the best of a set, as few nodes as that show only the best and what comes next.
    """
    best = {marker for one in answer.best for marker in one.markers[:1]}
    items = sorted(answer.evidence.keep(answer.cited), key=lambda item: item.marker not in best)
    answers = {one.term for one in answer.best} | set(answer.computed.items if answer.computed else ())
    compared = answer.computed.compared if answer.computed is not None and most_nodes <= MOST_NODES else None
    few = {fact for facts in (() if compared is None else compared.facts) for fact in facts}
    firsts = {link.term for link in answer.linked} | {path.start for item in items for path in item.paths}
    drawn, terms = set[Term](), dict[Term, dict[str, None]]()  # each with its markers, as are the links
    links: dict[Triple, tuple[Direction, dict[str, None]]] = {}
    for item in items:
        whole = _telling_parts(item, answer)
        drawn |= {*item.ends}.union(*((hop.triple.subject, hop.triple.object) for part in whole for hop in part))
        parts = [part for part in whole if not few or any(hop.triple in few for hop in part)]
        for part in _leading_first(parts, firsts, answers, most_nodes):
            ends = [end for hop in part for end in (hop.triple.subject, hop.triple.object)]
            if len(terms.keys() | set(ends)) > most_nodes:
                continue
            for end in ends:
                terms.setdefault(end, {})[item.marker] = None
            for hop in part:
                links.setdefault(hop.triple, (hop.direction, {}))[1][item.marker] = None
    ids = {term: number for number, term in enumerate(terms)}
    descriptions: dict[Term, str] = {link.term: link.description for link in answer.linked}
    descriptions.update({one.term: one.description for one in answer.answers if one.description})
    labels = _node_labels(answer, terms, descriptions)
    joined = [
        (ids[one.subject], ids[one.object], _label_text(answer.labels.get(one.predicate, ""), one.predicate))
        for one in links
    ]
    layers = _hops_from({ids[term] for term in firsts if term in ids}, len(ids), joined)
    places = layout_in_layers([labels[term] for term in ids], joined, layers)
    nodes = tuple(
        DrawnNode(
            *place, term, labels[term], printable(descriptions.get(term, ""), _LABEL_LENGTH),
            "answer" if term in answers else "question" if term in firsts
            else "literal" if isinstance(term, Literal) else "other",
            tuple(markers),
        )
        for (term, markers), place in zip(terms.items(), places, strict=True)
    )  # fmt: skip
    edges = tuple(
        DrawnEdge(*ends, link.predicate, tuple(markers), way == "inverse", *shape)
        for ends, (link, (way, markers)), shape in zip(joined, links.items(), _edge_shapes(joined, nodes), strict=True)
    )
    return Drawing(nodes, edges, len(drawn - ids.keys()))


def _leading_first(
    parts: Sequence[list[Hop]], firsts: Iterable[Term], answers: Set[Term], most_nodes: int
) -> list[list[Hop]]:
    """Put first, answer by answer, what joins it with what is named: alone, where all of it is too much."""
    ends = [{end for hop in part for end in (hop.triple.subject, hop.triple.object)} for part in parts]
    ways: dict[Term, list[int]] = {}
    for first in firsts:
        reached: dict[Term, tuple[int, ...]] = {first: ()}
        while new := {
            end: (*reached[near], at) for at, own in enumerate(ends) for near in own & reached.keys() for end in own
            if end not in reached
        }:  # fmt: skip
            reached.update(new)
        for answer in reached.keys() & answers:
            ways.setdefault(answer, []).extend(reached[answer])
    leading = dict.fromkeys(at for answer in answers for at in ways.get(answer, ()))
    others = sorted(set(range(len(parts))) - leading.keys(), key=lambda at: answers.isdisjoint(ends[at]))
    is_enough = ways.keys() == answers and len(set[Term]().union(*ends)) > most_nodes
    return [parts[at] for at in (leading if is_enough else [*leading, *others])]


def _telling_parts(item: EvidenceItem, answer: Answer) -> list[list[Hop]]:
    """Leave out what only says of which kind things are, where anything else is said."""
    plan, whole = answer.computed and answer.computed.plan, _whole_parts(item)
    kinds = {RDF_TYPE, *(predicate_of_things(one.of) for one in parts_of(plan, Instances))}
    return [part for part in whole if len(part) > 1 or part[0].triple.predicate not in kinds] or whole


def _whole_parts(item: EvidenceItem) -> list[list[Hop]]:
    """List what is drawn whole or not at all: paths, and each other triple."""
    rest = {one.triple: one.hop for one in item.triples}
    paths = [[hop for hop in path.hops if hop.triple in rest] for path in item.paths]
    for hop in (hop for path in paths for hop in path):
        rest.pop(hop.triple, None)
    return [*paths, *([hop] for hop in rest.values())]


def _node_labels(answer: Answer, terms: Iterable[Term], descriptions: Labels) -> Labels:
    """Return a label for each term; those of several IRIs with a description, or the end of the IRI."""
    labels = {term: _label_text(answer.labels.get(term, ""), term) for term in terms}
    shared = Counter(label for term, label in labels.items() if isinstance(term, IRI))
    for term, label in labels.items():
        if isinstance(term, IRI) and shared[label] > 1:
            labels[term] = printable(f"{label} ({descriptions.get(term) or local_name(term)})", _LABEL_LENGTH)
    return labels


def _label_text(label: str, term: Term) -> str:
    """Return the label, on one line; where there is none, what the term says of itself."""
    if isinstance(term, Literal):
        return printable(value_text(term, label), _LABEL_LENGTH) or '""'
    return printable(label, _LABEL_LENGTH) or printable(own_label(term).text, _LABEL_LENGTH)


# -- Where the nodes stand ----------------------------------------------------------------------------------------

MARGIN = 20.0
LONGEST_NODE, LONGEST_EDGE = 40, 30  # characters of a label that are shown
_ROW_HEIGHT = 50.0
_COLUMN_GAP = 60.0  # between two columns, beside the labels of the edges: room for arrow heads and slants
_SORTING_SWEEPS = 3


_Place = tuple[float, float, float, float, int]
"""Where a node stands: its middle and its size in pixels, and its column."""


def shortened(label: str, longest: int) -> str:
    """Return the label, cut where it is too long."""
    return label if len(label) <= longest else label[: longest - 1].rstrip() + "…"


def edge_width(label: str) -> float:
    """Return the pixels that the label of an edge takes."""
    return _text_width(shortened(label, LONGEST_EDGE), 11) + 8


def _text_width(text: str, size: float) -> float:
    """Return the most pixels that a text takes: wide characters take two thirds more than others."""
    units = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.7 if c in "MWmw@%" else 0.6 for c in text)
    return round(units * size, 1)


def layout_in_layers(labels: Sequence[str], edges: Sequence[_Joined], layers: Sequence[int]) -> list[_Place]:
    """Place each node in its column, near its neighbours; columns that nothing stands in are left out.

    The nodes of a column are of one width, so that no edge passes through a neighbour.

    :param edges: the numbers of two nodes, and a label.

    >>> [(column, y) for _, y, *_, column in layout_in_layers(["a", "b", "c"], [(0, 1, "p"), (2, 0, "q")], [0, 3, 3])]
    [(0, 70.0), (1, 45.0), (1, 95.0)]
    """
    columns = [[node for node, at in enumerate(layers) if at == layer] for layer in sorted(set(layers))]
    layer = {node: at for at, column in enumerate(columns) for node in column}
    beside = _neighbours_of(len(labels), (edge for edge in edges if layer[edge[0]] != layer[edge[1]]))
    height: dict[int, float] = {}  # in its column: 0 at the top, 1 at the bottom

    def mean_height(node: int) -> float:
        known = [height[far] for far in beside[node] if far in height] or [height.get(node, 0.5)]
        return sum(known) / len(known)

    for column in [*columns, *reversed(columns)] * _SORTING_SWEEPS:
        column.sort(key=mean_height)
        height.update({node: (row + 0.5) / len(column) for row, node in enumerate(column)})
    most_rows = max(map(len, columns), default=0)
    left, across = MARGIN, []
    for at, column in enumerate(columns):
        width = max(_text_width(shortened(labels[node], LONGEST_NODE), 13) * 0.95 + 24 for node in column)
        across.append((round(left + width / 2, 1), width))
        widest = max((edge_width(label) for s, t, label in edges if min(layer[s], layer[t]) == at), default=0)
        left += width + widest + _COLUMN_GAP + min(140, 4 * most_rows)  # edges to many nodes are not steep
    rows = {node: round(MARGIN + height[node] * most_rows * _ROW_HEIGHT, 1) for node in layer}
    return [(across[at][0], rows[node], across[at][1], 30, at) for node, at in sorted(layer.items())]


def _neighbours_of(count: int, edges: Iterable[_Joined]) -> list[list[int]]:
    near: list[list[int]] = [[] for _ in range(count)]
    for source, target, _ in edges:
        near[source].append(target)
        near[target].append(source)
    return near


def _hops_from(firsts: Collection[int], count: int, edges: Iterable[_Joined]) -> list[int]:
    """Count the steps to each node from the first ones; a part without any starts from its first node."""
    near = _neighbours_of(count, edges)
    found: dict[int, int] = {}
    for start in (sorted(firsts), *([node] for node in range(count))):
        wave, hops = [node for node in start if node not in found], 0
        while wave:
            found.update(dict.fromkeys(wave, hops))
            wave = list(dict.fromkeys(far for node in wave for far in near[node] if far not in found))
            hops += 1
    return [found[node] for node in range(count)]


# -- Where the edges run, and their labels stand ------------------------------------------------------------------

_EDGE_SPREAD = 30.0  # between the curves of two edges that join the same nodes
_LABEL_PLACES = (0.65, 0.7, 0.6, 0.75, 0.55, 0.8, 0.5, 0.84, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
"""Where on an edge its label may stand, the best first, from the end with more edges: there, edges are too close."""


def _edge_shapes(edges: Sequence[_Joined], nodes: Sequence[DrawnNode]) -> Iterator[tuple[_Curve, Box | None]]:
    """Yield a curve for each edge, and where its label stands; edges between the same nodes are spread."""
    degrees = Counter(end for edge in edges for end in edge[:2])
    beside = Counter(frozenset(edge[:2]) for edge in edges)
    drawn: Counter[frozenset[int]] = Counter()
    taken: list[Box] = [*nodes]
    for source, target, label in edges:
        ends, width = frozenset[int]((source, target)), edge_width(label)
        points = _edge_curve(nodes[source], nodes[target], width, drawn[ends] - (beside[ends] - 1) / 2, drawn[ends])
        drawn[ends] += 1
        along = points if degrees[source] >= degrees[target] else points[::-1]
        places = (Box(*_curve_point(along, at), width, 16) for at in _LABEL_PLACES)
        label_at = next((box for box in places if not any(map(box.overlaps, taken))), None)
        taken += [label_at] if label_at else []
        yield points, label_at


def _edge_curve(start: DrawnNode, end: DrawnNode, label: float, spread: float, place: int) -> _Curve:
    """Draw from side to side of two columns; within a column, round its right side."""
    steps = end.layer - start.layer
    leaving, coming = (1 if steps >= 0 else -1), (1 if steps <= 0 else -1)
    x1, x2 = start.x + leaving * start.width / 2, end.x + coming * end.width / 2
    y1, y2, aside, reach = start.y, end.y, spread * _EDGE_SPREAD, abs(x2 - x1) / 4
    if not steps:  # away from the edges that end in the middle of the side, and far enough for the label
        turn = 7 if y1 < y2 else -7
        y1, y2, aside, reach = y1 + turn, y2 - turn, 0, (label / 2 + 8) / 0.75 + _EDGE_SPREAD * place
    return (x1, y1), (x1 + leaving * reach, y1 + aside), (x2 + coming * reach, y2 + aside), (x2, y2)


def _curve_point(curve: _Curve, at: float) -> tuple[float, float]:
    """Return a point of a cubic curve, 0 for its start and 1 for its end."""
    weights = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
    x, y = (sum(w * value for w, value in zip(weights, axis, strict=True)) for axis in zip(*curve, strict=True))
    return x, y
