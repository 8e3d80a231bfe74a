"""The lines of a drawing: a curve for each edge, its arrow head, and a place for its label where nothing else is."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kgsparql.answering.drawing.drawing import Drawing, DrawnEdge, DrawnNode
from kgsparql.answering.drawing.layout import NODE_HEIGHT, edge_width, node_width

Point: TypeAlias = tuple[float, float]

LABEL_HEIGHT = 16.0

_SPREAD = 22.0
"""Between two edges that join the same nodes."""

_HEAD = 9.0

_PLACES = (0.5, 0.6, 0.4, 0.7, 0.3, 0.55, 0.45, 0.65, 0.35, 0.75, 0.25, 0.8, 0.2)
"""Where on an edge its label may stand, the best first."""

_NEAR_TARGET = (0.72, 0.66, 0.78, 0.6, 0.84, *_PLACES)
"""The same, of an edge from a node of many to one of few: where the edges are apart."""

_MANY = 4
"""Edges of a node of many."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its middle."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        """Whether both share some place."""
        across = abs(self.x - other.x) * 2 < self.width + other.width
        return across and abs(self.y - other.y) * 2 < self.height + other.height


@dataclass(frozen=True, slots=True)
class EdgeShape:
    """An edge as it is drawn.

    :param points: ends and control points of a cubic curve, from the subject to the object.
    :param label: where the label stands; ``None`` where there is no room for it.
    """

    edge: DrawnEdge
    points: tuple[Point, Point, Point, Point]
    label: Box | None

    @property
    def head(self) -> tuple[Point, Point, Point]:
        """The corners of the arrow head."""
        (bx, by), (x, y) = self.points[2:]
        angle = math.atan2(y - by, x - bx)
        sides = [(x - _HEAD * math.cos(angle + turn), y - _HEAD * math.sin(angle + turn)) for turn in (0.4, -0.4)]
        return (x, y), sides[0], sides[1]


def node_boxes(drawing: Drawing) -> dict[int, Box]:
    """A box for each node; those of a column are of one width, so that no edge passes through a neighbour."""
    widths: dict[int, float] = {}
    for node in drawing.nodes:
        widths[node.layer] = max(widths.get(node.layer, 0), node_width(node.label))
    return {node.id: Box(node.x, node.y, widths[node.layer], NODE_HEIGHT) for node in drawing.nodes}


def edge_shapes(drawing: Drawing) -> list[EdgeShape]:
    """A shape for each edge; edges between the same nodes are spread."""
    boxes, nodes = node_boxes(drawing), {node.id: node for node in drawing.nodes}
    beside: dict[frozenset[int], list[DrawnEdge]] = defaultdict(list)
    for edge in drawing.edges:
        beside[frozenset((edge.source, edge.target))].append(edge)
    curves = {}
    for together in beside.values():
        for place, edge in enumerate(together):
            aside = (place - (len(together) - 1) / 2) * _SPREAD
            curves[edge.id] = _curve(
                nodes[edge.source], nodes[edge.target], boxes, width=edge_width(edge.label), aside=aside, place=place
            )
    taken, shapes = list(boxes.values()), []
    degrees = Counter(end for edge in drawing.edges for end in (edge.source, edge.target))
    for edge in drawing.edges:
        places = _places(degrees[edge.source], degrees[edge.target])
        label = _free_place(curves[edge.id], edge_width(edge.label), taken, places)
        taken += [label] if label else []
        shapes.append(EdgeShape(edge, curves[edge.id], label))
    return shapes


def _curve(
    source: DrawnNode, target: DrawnNode, boxes: Mapping[int, Box], *, width: float, aside: float, place: int
) -> tuple[Point, Point, Point, Point]:
    """From side to side of two columns; within a column, round its right side.

    :param width: of its label.
    :param aside: how far its middle is moved away from a straight line.
    :param place: among the edges of the same nodes.
    """
    start, end = boxes[source.id], boxes[target.id]
    tilt = max(-9.0, min(9.0, aside / 3))
    if source.layer == target.layer:
        bulge = (width / 2 + 8) / 0.75 + 30 * place
        turn = 7 if start.y <= end.y else -7  # away from the edges that end in the middle of the side
        x, y1, y2 = start.x + start.width / 2, start.y + turn, end.y - turn
        if source.id == target.id:
            y1, y2 = start.y - 7, end.y + 7
        return (x, y1), (x + bulge, y1), (x + bulge, y2), (x, y2)
    way = 1 if source.layer < target.layer else -1
    x1, x2 = start.x + way * start.width / 2, end.x - way * end.width / 2
    y1, y2 = start.y + tilt, end.y + tilt
    lift = (aside - tilt) * 4 / 3
    half = (x2 - x1) / 2
    return (x1, y1), (x1 + half, y1 + lift), (x2 - half, y2 + lift), (x2, y2)


def _places(source: int, target: int) -> Sequence[float]:
    """Where the label of an edge may stand, by the number of edges at its ends."""
    if max(source, target) < _MANY or source == target:
        return _PLACES
    return _NEAR_TARGET if source > target else [1 - at for at in _NEAR_TARGET]


def _free_place(curve: Sequence[Point], width: float, taken: Sequence[Box], places: Sequence[float]) -> Box | None:
    for at in places:
        x, y = _point(curve, at)
        box = Box(x, y, width, LABEL_HEIGHT)
        if not any(box.overlaps(other) for other in taken):
            return box
    return None


def _point(curve: Sequence[Point], at: float) -> Point:
    """A point of a cubic curve, 0 for its start and 1 for its end."""
    weights = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
    return sum(w * x for w, (x, _) in zip(weights, curve, strict=True)), sum(
        w * y for w, (_, y) in zip(weights, curve, strict=True)
    )
