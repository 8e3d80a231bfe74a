"""What an answer rests on as a drawing: nodes in columns by hop from the entities of the question, and true arrows."""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor
from typing import Any
from typing import Literal as OneOf

from kgsparql.answering.answer import Answer
from kgsparql.dataclasses import asdict, frozen
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.exploration.labels import own_label
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.paths import Direction, Hop
from kgsparql.rdf.terms import IRI, Json, Labels, Literal, Term, Triple, local_name, printable
from kgsparql.rendering.text import own_step_lines, text_lines

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
    terms: dict[Term, dict[str, None]] = {}  # each with its markers, as are the links
    links: dict[Triple, tuple[Direction, dict[str, None]]] = {}
    for item in items:
        parts = [part for part in _whole_parts(item) if not few or any(hop.triple in few for hop in part)]
        for part in sorted(parts, key=lambda part: not any(answers & {*hop.triple} for hop in part)):
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
    return Drawing(nodes, edges, len({term for item in items for term in item.terms} - ids.keys()))


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


# -- The same as SVG: no script, no reference; all that a graph says is text in it ------------------

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


_SHOWN_MARKERS = 4  # of an answer
_TEXT_LENGTH = 20_000  # characters of a text, of which most are a few
_LINE = "#5b6472"
_LINE_HEIGHT, _LONGEST_LINE = 22, 110  # of a text below the drawing: pixels, characters that are shown
_LOOKS = {  # fill, line and its width
    "question": ("#ffffff", "#1a5fb4", 2.5),
    "answer": ("#c6ecd6", "#1b7f4b", 2.0),
    "literal": ("#eef0f3", "#c3c8d0", 1.0),
    "other": ("#ffffff", "#6b7280", 1.2),
}


def answer_to_svg(answer: Answer) -> str:
    """Write what an answer rests on as SVG, and below it the steps that only a model says."""
    return drawing_to_svg(drawing_of(answer), title=answer.question, below=own_step_lines(answer))


def drawing_to_svg(drawing: Drawing, *, title: str, below: Sequence[str] = ()) -> str:
    """Write the drawing as one SVG element, with lines of text below; the same drawing gives the same text."""
    left, top, right, bottom = drawing.bounds
    more = f"+{drawing.left_out:,} more" if drawing else "Nothing to draw: the answer rests on no facts."
    below = [*([more] if drawing.left_out or not drawing else []), *below]
    shown = [shortened(line, _LONGEST_LINE) for line in below]
    bottom += _LINE_HEIGHT * len(shown)
    right = max([right, *(ceil(left + 2 * MARGIN + _text_width(line, 13)) for line in shown)])
    names = [node.label for node in drawing.nodes]
    said = [f"{names[edge.source]} — {edge.label} → {names[edge.target]}" for edge in drawing.edges]
    key = f"{title}\n{drawing}{below}".encode("utf-8", "replace")
    name = "kgsparql-" + hashlib.sha256(key).hexdigest()[:12]  # two may be on one page
    size = f'width="{right - left}" height="{bottom - top}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kgsparql" role="img" aria-labelledby="{name}-t {name}-d"',
        f'  {size} viewBox="{left} {top} {right - left} {bottom - top}" font-family="system-ui, sans-serif">',
        f'<title id="{name}-t">{svg_text(title)}</title>',
        f'<desc id="{name}-d">{svg_text(". ".join([*said, *below]))}</desc>',
        f'<rect class="ground" x="{left}" y="{top}" {size} fill="#ffffff"/>',
        *map(_edge_line, drawing.edges),
        *(_edge_label(edge, edge.label_at) for edge in drawing.edges if edge.label_at),
        *map(_node_element, drawing.nodes),
        *(
            _text_element(line, left + MARGIN, bottom - MARGIN + _LINE_HEIGHT * at, anchor="start")
            for at, line in enumerate(shown, 1 - len(shown))
        ),
        "</svg>",
    ])  # fmt: skip


def svg_text(text: str) -> str:
    """Write a text as it stands in an element, without what is no character of XML or turns the text around it."""
    return escape(printable(text, _TEXT_LENGTH), quote=False)


def _edge_line(edge: DrawnEdge) -> str:
    start, *rest = (f"{x:.1f},{y:.1f}" for x, y in edge.points)
    (before, _), (x, y) = edge.points[2:]
    base = x - 9 if before < x else x + 9
    dashes = ' stroke-dasharray="5 4"' if edge.is_inverse else ""
    return (
        f'<g class="edge">{_title_element(edge.label, edge.predicate, edge.markers)}'
        f'<path d="M{start} C{" ".join(rest)}" fill="none" stroke="{_LINE}" stroke-width="1.4"{dashes}/>'
        f'<polygon points="{x:.1f},{y:.1f} {base:.1f},{y - 4:.1f} {base:.1f},{y + 4:.1f}" fill="{_LINE}"/></g>'
    )


def _title_element(label: str, term: Term, markers: Iterable[str]) -> str:
    said = f"{label} {term} [{', '.join(markers)}]"
    return f"<title>{svg_text(said)}</title>"


def _edge_label(edge: DrawnEdge, box: Box) -> str:
    ground = f'{_rect_start(box)} class="ground" rx="3" fill="#ffffff"/>'
    label = _text_element(shortened(edge.label, LONGEST_EDGE), box.x, box.y, size=11)
    return f'<g class="label">{_title_element(edge.label, edge.predicate, edge.markers)}{ground}{label}</g>'


def _node_element(node: DrawnNode) -> str:
    """Write the box of a node, its label, and the first markers of an answer above its right corner."""
    fill, line, width = _LOOKS[node.role]
    described = f" ({node.description})" if node.description else ""
    shown = " ".join([*node.markers[:_SHOWN_MARKERS], *(["…"] if len(node.markers) > _SHOWN_MARKERS else [])])
    corner = node.x + node.width / 2 - 3, node.y - node.height / 2 - 6
    return (
        f'<g class="{node.role}">{_title_element(node.label + described, node.term, node.markers)}'
        f'{_rect_start(node)} rx="{0 if node.role == "literal" else 7}" fill="{fill}" stroke="{line}" '
        f'stroke-width="{width}"/>{_text_element(shortened(node.label, LONGEST_NODE), node.x, node.y)}'
        f"{_text_element(shown, *corner, size=9, anchor='end') if node.role == 'answer' else ''}</g>"
    )


def _rect_start(box: Box) -> str:
    corner = f'x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}"'
    return f'<rect {corner} width="{box.width:.1f}" height="{box.height:.1f}"'


def _text_element(text: str, x: float, y: float, *, size: int = 13, anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y + size * 0.35:.1f}"'
    return f'<text {place} font-size="{size}" text-anchor="{anchor}" fill="#1b1f24">{svg_text(text)}</text>'


def answer_to_html(answer: Answer) -> str:
    """Write the answer and the drawing; no script, no link."""
    text = "\n".join([svg_text(answer.question), "", *map(_pre_text, text_lines(answer))])
    return f'<div class="kgsparql-answer">\n<pre>{text}</pre>\n{answer_to_svg(answer)}\n</div>'


def _pre_text(line: str) -> str:
    """Write a line with its spaces, which stand for the columns of a table."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in line), quote=False)


def mime_bundle(answer: Answer, *_: object) -> dict[str, str]:
    """Return the answer as text, as HTML and as a drawing; the notebook takes what it can show."""
    return {
        "text/plain": "\n".join(text_lines(answer)),
        "text/html": answer_to_html(answer),
        "image/svg+xml": answer_to_svg(answer),
    }


def load_ipython_extension(shell: Any) -> None:
    """Have IPython show answers. It asks the class for a method otherwise, and an answer is a plain value."""
    shell.display_formatter.mimebundle_formatter.for_type(Answer, mime_bundle)


def register_if_running() -> None:
    """Register in the shell that runs this process, if one does: looked up, never imported."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        load_ipython_extension(shell)
