"""A drawing as SVG: without scripts and references, for light and dark pages; all that a graph says is text in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from html import escape
from math import ceil, floor

from kgsparql.answering.drawing.drawing import Drawing, DrawnEdge, DrawnNode, Role
from kgsparql.answering.drawing.edge_shapes import Box, EdgeShape, edge_shapes, node_boxes
from kgsparql.answering.drawing.layout import LONGEST_EDGE, LONGEST_NODE, MARGIN, shortened
from kgsparql.rdf.terms import printable

_MARKERS = 4
"""Of an answer, that are shown."""

_NARROWEST = 360.0

_LONGEST = 20_000
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
    """The drawing as one SVG element; the same drawing gives the same text.

    :param title: what a screen reader says first.
    """
    shapes, boxes = edge_shapes(drawing), node_boxes(drawing)
    left, top, right, bottom = _bounds(shapes, boxes.values())
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
        f'<desc id="{name}-d">{svg_text(_description(drawing))}</desc>',
        f"<style>{_DARK}</style>",
        f'<rect class="ground" x="{left}" y="{top}" {size} fill="#ffffff"/>',
        *map(_line, shapes),
        *(_edge_label(shape.edge, shape.label) for shape in shapes if shape.label),
        *(_node(node, boxes[node.id]) for node in drawing.nodes),
    ]
    if said:
        parts.append(_words(said, left + MARGIN, bottom - MARGIN, anchor="start"))
    return "\n".join([*parts, "</svg>"])


def svg_text(text: str) -> str:
    """Text as it stands in an element, without what is no character of XML or turns the text around it."""
    return escape(printable(text, _LONGEST), quote=False)


def _bounds(shapes: Iterable[EdgeShape], boxes: Iterable[Box]) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the whole picture, with a margin."""
    xs, ys = [_NARROWEST - MARGIN, MARGIN], [MARGIN]
    for box in [*boxes, *(shape.label for shape in shapes if shape.label)]:
        xs += [box.x - box.width / 2, box.x + box.width / 2]
        ys += [box.y - box.height / 2, box.y + box.height / 2]
    for shape in shapes:
        xs += [x for x, _ in shape.points]
        ys += [y for _, y in shape.points]
    return (
        floor(min(xs) - MARGIN), floor(min(ys) - MARGIN), ceil(max(xs) + MARGIN), ceil(max(ys) + MARGIN),
    )  # fmt: skip


def _description(drawing: Drawing) -> str:
    """Every triple in words: what a screen reader says instead of the picture."""
    labels = {node.id: node.label for node in drawing.nodes}
    lines = [f"{labels[edge.source]} — {edge.label} → {labels[edge.target]}" for edge in drawing.edges]
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    lines += [label for number, label in labels.items() if number not in joined]
    return ". ".join([*lines, *filter(None, [_said_below(drawing)])])


def _said_below(drawing: Drawing) -> str:
    if drawing.left_out:
        return f"+{drawing.left_out:,} more"
    return "" if drawing else "Nothing to draw: the answer rests on no facts."


def _line(shape: EdgeShape) -> str:
    (x, y), *rest = shape.points
    way = f"M{_at((x, y))} C{' '.join(map(_at, rest))}"
    dashes = ' stroke-dasharray="5 4"' if shape.edge.is_inverse else ""
    corners = " ".join(map(_at, shape.head))
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
        f'<g class="label">{_edge_title(edge)}{_rect(box, "ground", 3)} fill="#ffffff"/>'
        f"{_words(shown, box.x, box.y, size=11)}</g>"
    )


def _node(node: DrawnNode, box: Box) -> str:
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
        f'{_rect(box, "", rounded)} fill="{fill}" stroke="{line}" stroke-width="{width}"/>'
        f"{_words(shortened(node.label, LONGEST_NODE), box.x, box.y)}"
        f"{_shown_markers(node, box)}</g>"
    )


def _shown_markers(node: DrawnNode, box: Box) -> str:
    """The markers of an answer, above its right corner."""
    if node.role != "answer":
        return ""
    more = " …" if len(node.markers) > _MARKERS else ""
    text = " ".join(node.markers[:_MARKERS]) + more
    return _words(text, box.x + box.width / 2 - 3, box.y - box.height / 2 - 6, size=9, anchor="end")


def _rect(box: Box, name: str, rounded: int) -> str:
    named = f'class="{name}" ' if name else ""
    corner = f'x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
    return f'<rect {named}{corner} width="{box.width:.1f}" height="{box.height:.1f}" rx="{rounded}"'


def _words(text: str, x: float, y: float, *, size: int = 13, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y + size * 0.35:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{_INK}">'
        f"{svg_text(text)}</text>"
    )


def _at(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
