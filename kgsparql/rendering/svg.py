"""A drawing as SVG: no script, no reference, light and dark; all that a graph says is text in it."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor
from typing import TypeAlias

from kgsparql.rdf.terms import printable
from kgsparql.rendering.drawing import Drawing, DrawnEdge, DrawnNode, Role
from kgsparql.rendering.layout import (
    LONGEST_EDGE,
    LONGEST_NODE,
    MARGIN,
    NODE_HEIGHT,
    edge_width,
    node_width,
    shortened,
)

Point: TypeAlias = tuple[float, float]

LABEL_HEIGHT = 16.0

_EDGE_SPREAD = 22.0
"""Between two edges that join the same nodes."""

_HEAD_LENGTH = 9.0

_LABEL_PLACES = (0.5, 0.6, 0.4, 0.7, 0.3, 0.55, 0.45, 0.65, 0.35, 0.75, 0.25, 0.8, 0.2)
"""Where on an edge its label may stand, the best first."""

_NEAR_TARGET = (0.72, 0.66, 0.78, 0.6, 0.84, *_LABEL_PLACES)
"""The same, of an edge from a node of many to one of few: where the edges are apart."""

_MANY_EDGES = 4
"""Edges of a node of many."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its middle."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        """Tell whether both share some place."""
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
        sides = [
            (x - _HEAD_LENGTH * math.cos(angle + turn), y - _HEAD_LENGTH * math.sin(angle + turn))
            for turn in (0.4, -0.4)
        ]
        return (x, y), sides[0], sides[1]


def node_boxes(drawing: Drawing) -> dict[int, Box]:
    """Return a box for each node; those of a column are of one width, so that no edge passes through a neighbour."""
    widths: dict[int, float] = {}
    for node in drawing.nodes:
        widths[node.layer] = max(widths.get(node.layer, 0), node_width(node.label))
    return {node.id: Box(node.x, node.y, widths[node.layer], NODE_HEIGHT) for node in drawing.nodes}


def edge_shapes(drawing: Drawing) -> list[EdgeShape]:
    """Return a shape for each edge; edges between the same nodes are spread."""
    boxes, nodes = node_boxes(drawing), {node.id: node for node in drawing.nodes}
    beside: dict[frozenset[int], list[DrawnEdge]] = defaultdict(list)
    for edge in drawing.edges:
        beside[frozenset((edge.source, edge.target))].append(edge)
    curves = {}
    for together in beside.values():
        for place, edge in enumerate(together):
            aside = (place - (len(together) - 1) / 2) * _EDGE_SPREAD
            curves[edge.id] = _edge_curve(
                nodes[edge.source], nodes[edge.target], boxes, width=edge_width(edge.label), aside=aside, place=place
            )
    taken, shapes = list(boxes.values()), []
    degrees = Counter(end for edge in drawing.edges for end in (edge.source, edge.target))
    for edge in drawing.edges:
        places = _label_places(degrees[edge.source], degrees[edge.target])
        label = _free_box(curves[edge.id], edge_width(edge.label), taken, places)
        taken += [label] if label else []
        shapes.append(EdgeShape(edge, curves[edge.id], label))
    return shapes


def _edge_curve(
    source: DrawnNode, target: DrawnNode, boxes: Mapping[int, Box], *, width: float, aside: float, place: int
) -> tuple[Point, Point, Point, Point]:
    """Draw from side to side of two columns; within a column, round its right side.

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


def _label_places(source: int, target: int) -> Sequence[float]:
    """Tell where the label of an edge may stand, by the number of edges at its ends."""
    if max(source, target) < _MANY_EDGES or source == target:
        return _LABEL_PLACES
    return _NEAR_TARGET if source > target else [1 - at for at in _NEAR_TARGET]


def _free_box(curve: Sequence[Point], width: float, taken: Sequence[Box], places: Sequence[float]) -> Box | None:
    for at in places:
        x, y = _curve_point(curve, at)
        box = Box(x, y, width, LABEL_HEIGHT)
        if not any(box.overlaps(other) for other in taken):
            return box
    return None


def _curve_point(curve: Sequence[Point], at: float) -> Point:
    """Return a point of a cubic curve, 0 for its start and 1 for its end."""
    weights = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
    return sum(w * x for w, (x, _) in zip(weights, curve, strict=True)), sum(
        w * y for w, (_, y) in zip(weights, curve, strict=True)
    )


_SHOWN_MARKERS = 4
"""Of an answer, that are shown."""

_MIN_WIDTH = 360.0

_TEXT_LENGTH = 20_000
"""Characters of a text, of which most are a few."""

_LINE = "#5b6472"
_INK = "#1b1f24"
_FILLS: dict[Role, tuple[str, str, float]] = {
    "question": ("#ffffff", "#1a5fb4", 2.5),
    "answer": ("#c6ecd6", "#1b7f4b", 2.0),
    "literal": ("#eef0f3", "#c3c8d0", 1.0),
    "other": ("#ffffff", "#6b7280", 1.2),
}
"""Fill, line, and its width, on a light page; the style has those of a dark one."""

_DARK = """@media (prefers-color-scheme: dark) {
  .kgsparql .ground { fill: #16181d }
  .kgsparql text { fill: #e8eaed }
  .kgsparql .other rect { fill: #23262d; stroke: #8b93a1 }
  .kgsparql .question rect { fill: #23262d; stroke: #7db4ff }
  .kgsparql .answer rect { fill: #1d4f36; stroke: #5fd39a }
  .kgsparql .literal rect { fill: #2b2f37; stroke: #4a505c }
  .kgsparql .edge path { stroke: #9aa2b1 }
  .kgsparql .edge polygon { fill: #9aa2b1 }
}"""


def drawing_to_svg(drawing: Drawing, *, title: str) -> str:
    """Write the drawing as one SVG element; the same drawing gives the same text.

    :param title: what a screen reader says first.
    """
    shapes, boxes = edge_shapes(drawing), node_boxes(drawing)
    left, top, right, bottom = _picture_bounds(shapes, boxes.values())
    said = _said_below(drawing)
    if said:
        bottom += 22
    size = f'width="{right - left}" height="{bottom - top}"'
    key = json.dumps([title, drawing.to_json()], ensure_ascii=False)
    name = "kgsparql-" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]  # two may be on one page
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kgsparql" role="img" aria-labelledby="{name}-t {name}-d" '
        f'{size} viewBox="{left} {top} {right - left} {bottom - top}" '
        'font-family="system-ui, sans-serif" font-size="13">'
    )
    parts = [
        head,
        f'<title id="{name}-t">{svg_text(title)}</title>',
        f'<desc id="{name}-d">{svg_text(_picture_words(drawing))}</desc>',
        f"<style>{_DARK}</style>",
        f'<rect class="ground" x="{left}" y="{top}" {size} fill="#ffffff"/>',
        *map(_edge_line, shapes),
        *(_edge_label(shape.edge, shape.label) for shape in shapes if shape.label),
        *(_node_element(node, boxes[node.id]) for node in drawing.nodes),
    ]
    if said:
        parts.append(_text_element(said, left + MARGIN, bottom - MARGIN, anchor="start"))
    return "\n".join([*parts, "</svg>"])


def svg_text(text: str) -> str:
    """Write a text as it stands in an element, without what is no character of XML or turns the text around it."""
    return escape(printable(text, _TEXT_LENGTH), quote=False)


def _picture_bounds(shapes: Iterable[EdgeShape], boxes: Iterable[Box]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the whole picture, with a margin."""
    xs, ys = [_MIN_WIDTH - MARGIN, MARGIN], [MARGIN]
    for box in [*boxes, *(shape.label for shape in shapes if shape.label)]:
        xs += [box.x - box.width / 2, box.x + box.width / 2]
        ys += [box.y - box.height / 2, box.y + box.height / 2]
    for shape in shapes:
        xs += [x for x, _ in shape.points]
        ys += [y for _, y in shape.points]
    return (
        floor(min(xs) - MARGIN), floor(min(ys) - MARGIN), ceil(max(xs) + MARGIN), ceil(max(ys) + MARGIN),
    )  # fmt: skip


def _picture_words(drawing: Drawing) -> str:
    """Say every triple in words: what a screen reader says instead of the picture."""
    labels = {node.id: node.label for node in drawing.nodes}
    lines = [f"{labels[edge.source]} — {edge.label} → {labels[edge.target]}" for edge in drawing.edges]
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    lines += [label for number, label in labels.items() if number not in joined]
    return ". ".join([*lines, *filter(None, [_said_below(drawing)])])


def _said_below(drawing: Drawing) -> str:
    if drawing.left_out:
        return f"+{drawing.left_out:,} more"
    return "" if drawing else "Nothing to draw: the answer rests on no facts."


def _edge_line(shape: EdgeShape) -> str:
    (x, y), *rest = shape.points
    way = f"M{_point_text((x, y))} C{' '.join(map(_point_text, rest))}"
    dashes = ' stroke-dasharray="5 4"' if shape.edge.is_inverse else ""
    corners = " ".join(map(_point_text, shape.head))
    return (
        f'<g class="edge">{_edge_title(shape.edge)}<path d="{way}" fill="none" stroke="{_LINE}" '
        f'stroke-width="1.4"{dashes}/><polygon points="{corners}" fill="{_LINE}"/></g>'
    )


def _edge_title(edge: DrawnEdge) -> str:
    marks = f" [{', '.join(edge.markers)}]" if edge.markers else ""
    return f"<title>{svg_text(f'{edge.label} {edge.predicate}{marks}')}</title>"


def _edge_label(edge: DrawnEdge, box: Box) -> str:
    shown = shortened(edge.label, LONGEST_EDGE)
    return (
        f'<g class="label">{_edge_title(edge)}{_rect_start(box, "ground", 3)} fill="#ffffff"/>'
        f"{_text_element(shown, box.x, box.y, size=11)}</g>"
    )


def _node_element(node: DrawnNode, box: Box) -> str:
    fill, line, width = _FILLS[node.role]
    rounded = 0 if node.role == "literal" else 7
    marks = f"[{', '.join(node.markers)}]" if node.markers else ""
    whole = " ".join(
        filter(
            None, [node.label, f"({node.description})" if node.description else "", printable(str(node.term)), marks]
        )
    )
    return (
        f'<g class="{node.role}"><title>{svg_text(whole)}</title>'
        f'{_rect_start(box, "", rounded)} fill="{fill}" stroke="{line}" stroke-width="{width}"/>'
        f"{_text_element(shortened(node.label, LONGEST_NODE), box.x, box.y)}"
        f"{_shown_markers(node, box)}</g>"
    )


def _shown_markers(node: DrawnNode, box: Box) -> str:
    """Write the markers of an answer, above its right corner."""
    if node.role != "answer":
        return ""
    more = " …" if len(node.markers) > _SHOWN_MARKERS else ""
    text = " ".join(node.markers[:_SHOWN_MARKERS]) + more
    return _text_element(text, box.x + box.width / 2 - 3, box.y - box.height / 2 - 6, size=9, anchor="end")


def _rect_start(box: Box, name: str, rounded: int) -> str:
    named = f'class="{name}" ' if name else ""
    corner = f'x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
    return f'<rect {named}{corner} width="{box.width:.1f}" height="{box.height:.1f}" rx="{rounded}"'


def _text_element(text: str, x: float, y: float, *, size: int = 13, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y + size * 0.35:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{_INK}">'
        f"{svg_text(text)}</text>"
    )


def _point_text(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
