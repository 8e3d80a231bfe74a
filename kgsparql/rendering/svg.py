"""A drawing as SVG: no script, no reference, light and dark; all that a graph says is text in it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor
from typing import TypeAlias

from kgsparql.rdf.terms import printable
from kgsparql.rendering import drawing as d
from kgsparql.rendering.drawing import MARGIN, Drawing, DrawnEdge, DrawnNode

_Point: TypeAlias = tuple[float, float]

_EDGE_SPREAD = 30.0  # between the curves of two edges that join the same nodes
_LABEL_PLACES = (0.65, 0.7, 0.6, 0.75, 0.55, 0.8, 0.5, 0.84, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
"""Where on an edge its label may stand, the best first, from the end with more edges: there, edges are too close."""


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
    """An edge as a cubic curve from subject to object; ``label`` is ``None`` where there is no room for it."""

    edge: DrawnEdge
    points: tuple[_Point, _Point, _Point, _Point]
    label: Box | None


def node_boxes(drawing: Drawing) -> dict[int, Box]:
    """Return a box for each node; those of a column are of one width, so that no edge passes through a neighbour."""
    widths: dict[int, float] = {}
    for node in drawing.nodes:
        widths[node.layer] = max(widths.get(node.layer, 0), d.node_width(node.label))
    return {node.id: Box(node.x, node.y, widths[node.layer], 30) for node in drawing.nodes}


def edge_shapes(drawing: Drawing) -> list[EdgeShape]:
    """Return a shape for each edge; edges between the same nodes are spread."""
    boxes = node_boxes(drawing)
    degrees = Counter(end for edge in drawing.edges for end in (edge.source, edge.target))
    beside = Counter(frozenset((edge.source, edge.target)) for edge in drawing.edges)
    drawn: Counter[frozenset[int]] = Counter()
    taken, shapes = list(boxes.values()), []
    for edge in drawing.edges:
        ends = frozenset((edge.source, edge.target))
        points = _edge_curve(edge, drawing.nodes, boxes, drawn[ends], beside[ends])
        drawn[ends] += 1
        along = points if degrees[edge.source] >= degrees[edge.target] else points[::-1]
        places = (Box(*_curve_point(along, at), d.edge_width(edge.label), 16) for at in _LABEL_PLACES)
        label = next((box for box in places if not any(map(box.overlaps, taken))), None)
        taken += [label] if label else []
        shapes.append(EdgeShape(edge, points, label))
    return shapes


def _edge_curve(
    edge: DrawnEdge, nodes: Sequence[DrawnNode], boxes: Mapping[int, Box], place: int, beside: int
) -> tuple[_Point, _Point, _Point, _Point]:
    """Draw from side to side of two columns; within a column, round its right side."""
    start, end = boxes[edge.source], boxes[edge.target]
    steps = nodes[edge.target].layer - nodes[edge.source].layer
    leaving, coming = (1 if steps >= 0 else -1), (1 if steps <= 0 else -1)
    x1, x2 = start.x + leaving * start.width / 2, end.x + coming * end.width / 2
    y1, y2, aside, reach = start.y, end.y, (place - (beside - 1) / 2) * _EDGE_SPREAD, abs(x2 - x1) / 4
    if not steps:  # away from the edges that end in the middle of the side, and far enough for the label
        turn, own = (7 if y1 < y2 else -7), d.edge_width(edge.label)
        y1, y2, aside, reach = y1 + turn, y2 - turn, 0, (own / 2 + 8) / 0.75 + _EDGE_SPREAD * place
    return (x1, y1), (x1 + leaving * reach, y1 + aside), (x2 + coming * reach, y2 + aside), (x2, y2)


def _curve_point(curve: Sequence[_Point], at: float) -> _Point:
    """Return a point of a cubic curve, 0 for its start and 1 for its end."""
    weights = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
    x, y = (sum(w * value for w, value in zip(weights, axis, strict=True)) for axis in zip(*curve, strict=True))
    return x, y


_SHOWN_MARKERS = 4  # of an answer
_TEXT_LENGTH = 20_000  # characters of a text, of which most are a few
_LINE = "#5b6472"
_LOOKS = {  # fill, line and its width on a light page, fill and line on a dark one
    "question": ("#ffffff", "#1a5fb4", 2.5, "#23262d", "#7db4ff"),
    "answer": ("#c6ecd6", "#1b7f4b", 2.0, "#1d4f36", "#5fd39a"),
    "literal": ("#eef0f3", "#c3c8d0", 1.0, "#2b2f37", "#4a505c"),
    "other": ("#ffffff", "#6b7280", 1.2, "#23262d", "#8b93a1"),
}
_DARK = "\n".join([
    "@media (prefers-color-scheme: dark) {",
    "  .kgsparql .ground { fill: #16181d }",
    "  .kgsparql text { fill: #e8eaed }",
    *(f"  .kgsparql .{role} rect {{ fill: {looks[3]}; stroke: {looks[4]} }}" for role, looks in _LOOKS.items()),
    "  .kgsparql .edge path { stroke: #9aa2b1 }",
    "  .kgsparql .edge polygon { fill: #9aa2b1 }",
    "}",
])  # fmt: skip


def drawing_to_svg(drawing: Drawing, *, title: str) -> str:
    """Write the drawing as one SVG element; the same drawing gives the same text."""
    shapes, boxes = edge_shapes(drawing), node_boxes(drawing)
    left, top, right, bottom = _picture_bounds(shapes, boxes.values())
    nothing = "" if drawing else "Nothing to draw: the answer rests on no facts."
    below = f"+{drawing.left_out:,} more" if drawing.left_out else nothing
    bottom += 22 if below else 0
    names = {node.id: node.label for node in drawing.nodes}
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    said = [f"{names[edge.source]} — {edge.label} → {names[edge.target]}" for edge in drawing.edges]
    said += [label for number, label in names.items() if number not in joined] + ([below] if below else [])
    key = json.dumps([title, drawing.to_json()], ensure_ascii=False)
    name = "kgsparql-" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12]  # two may be on one page
    size = f'width="{right - left}" height="{bottom - top}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kgsparql" role="img" aria-labelledby="{name}-t {name}-d" '
        f'{size} viewBox="{left} {top} {right - left} {bottom - top}" font-family="system-ui, sans-serif">'
    )
    return "\n".join([
        head,
        f'<title id="{name}-t">{svg_text(title)}</title>',
        f'<desc id="{name}-d">{svg_text(". ".join(said))}</desc>',
        f"<style>{_DARK}</style>",
        f'<rect class="ground" x="{left}" y="{top}" {size} fill="#ffffff"/>',
        *map(_edge_line, shapes),
        *(_edge_label(shape.edge, shape.label) for shape in shapes if shape.label),
        *(_node_element(node, boxes[node.id]) for node in drawing.nodes),
        *([_text_element(below, left + MARGIN, bottom - MARGIN, anchor="start")] if below else []),
        "</svg>",
    ])  # fmt: skip


def svg_text(text: str) -> str:
    """Write a text as it stands in an element, without what is no character of XML or turns the text around it."""
    return escape(printable(text, _TEXT_LENGTH), quote=False)


def _picture_bounds(shapes: Iterable[EdgeShape], boxes: Iterable[Box]) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the whole picture, with a margin."""
    points = [(340.0, MARGIN), *(point for shape in shapes for point in shape.points)]
    for box in [*boxes, *(shape.label for shape in shapes if shape.label)]:
        points += [(box.x + side * box.width / 2, box.y + side * box.height / 2) for side in (-1, 1)]
    xs, ys = zip(*points, strict=True)
    return floor(min(xs) - MARGIN), floor(min(ys) - MARGIN), ceil(max(xs) + MARGIN), ceil(max(ys) + MARGIN)


def _edge_line(shape: EdgeShape) -> str:
    start, *rest = (f"{x:.1f},{y:.1f}" for x, y in shape.points)
    dashes = ' stroke-dasharray="5 4"' if shape.edge.is_inverse else ""
    (before, _), (x, y) = shape.points[2:]
    base = x - 9 if before < x else x + 9
    return (
        f'<g class="edge">{_edge_title(shape.edge)}<path d="M{start} C{" ".join(rest)}" fill="none" stroke="{_LINE}" '
        f'stroke-width="1.4"{dashes}/><polygon points="{x:.1f},{y:.1f} {base:.1f},{y - 4:.1f} {base:.1f},{y + 4:.1f}" '
        f'fill="{_LINE}"/></g>'
    )


def _edge_title(edge: DrawnEdge) -> str:
    return f"<title>{svg_text(f'{edge.label} {edge.predicate} {_marker_text(edge.markers)}')}</title>"


def _marker_text(markers: Sequence[str]) -> str:
    return f"[{', '.join(markers)}]"


def _edge_label(edge: DrawnEdge, box: Box) -> str:
    ground = f'{_rect_start(box)} class="ground" rx="3" fill="#ffffff"/>'
    label = _text_element(d.shortened(edge.label, d.LONGEST_EDGE), box.x, box.y, size=11)
    return f'<g class="label">{_edge_title(edge)}{ground}{label}</g>'


def _node_element(node: DrawnNode, box: Box) -> str:
    """Write the box of a node, its label, and the first markers of an answer above its right corner."""
    fill, line, width, *_ = _LOOKS[node.role]
    described = f" ({node.description})" if node.description else ""
    shown = " ".join([*node.markers[:_SHOWN_MARKERS], *(["…"] if len(node.markers) > _SHOWN_MARKERS else [])])
    corner = box.x + box.width / 2 - 3, box.y - box.height / 2 - 6
    title = svg_text(f"{node.label}{described} {node.term} {_marker_text(node.markers)}")
    return (
        f'<g class="{node.role}"><title>{title}</title>'
        f'{_rect_start(box)} rx="{0 if node.role == "literal" else 7}" fill="{fill}" stroke="{line}" '
        f'stroke-width="{width}"/>{_text_element(d.shortened(node.label, d.LONGEST_NODE), box.x, box.y)}'
        f"{_text_element(shown, *corner, size=9, anchor='end') if node.role == 'answer' else ''}</g>"
    )


def _rect_start(box: Box) -> str:
    corner = f'x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
    return f'<rect {corner} width="{box.width:.1f}" height="{box.height:.1f}"'


def _text_element(text: str, x: float, y: float, *, size: int = 13, anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y + size * 0.35:.1f}"'
    return f'<text {place} font-size="{size}" text-anchor="{anchor}" fill="#1b1f24">{svg_text(text)}</text>'
