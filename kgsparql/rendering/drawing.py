"""What an answer rests on as a drawing: nodes in columns by hop from the entities of the question, and true arrows."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from typing import Literal as OneOf

from kgsparql.evidence.verbalising import with_statements
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, local_name, printable

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.evidence.evidence import EvidenceItem


Role: TypeAlias = OneOf["question", "answer", "literal", "other"]

MOST_NODES = 60
"""In view at once."""

MOST_WHOLE = 400
"""Where a person asks for all; further ones are only in the table."""

_LABEL_LENGTH = 200  # characters of a label; pictures show less of it


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A term in a drawing; ``x`` and ``y`` are its middle in pixels from the top left."""

    id: int
    term: Term
    label: str
    description: str
    layer: int
    row: int
    x: float
    y: float
    role: Role
    markers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """A triple, from the node of its subject to that of its object; ``is_inverse``: the evidence walks against it."""

    id: int
    source: int
    target: int
    label: str
    predicate: IRI
    markers: tuple[str, ...]
    is_inverse: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of what an answer rests on; false where there is nothing to draw."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.nodes)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; terms are in the syntax of N-Triples."""
        nodes = [asdict(node) | {"term": str(node.term), "markers": list(node.markers)} for node in self.nodes]
        edges = [
            asdict(edge) | {"predicate": edge.predicate.value, "markers": list(edge.markers)} for edge in self.edges
        ]
        return {"nodes": nodes, "edges": edges, "left_out": self.left_out}


def drawing_of(answer: Answer, *, most_nodes: int = MOST_NODES) -> Drawing:
    """Draw the evidence that an answer cites; the same answer gives the same drawing."""
    best = {marker for one in answer.best for marker in one.markers[:1]}
    items = sorted(answer.evidence.keep(answer.cited), key=lambda item: item.marker not in best)
    answers = {one.term for one in answer.best} | set(answer.computed.items if answer.computed else ())
    firsts = {link.term for link in answer.linked} | {path.start for item in items for path in item.paths}
    terms: dict[Term, dict[str, None]] = {}  # each with its markers, as are the links
    links: dict[Triple, dict[str, None]] = {}
    walked_back: dict[Triple, bool] = {}
    for item in items:
        for part in _whole_parts(item):
            ends = dict.fromkeys(end for triple in part for end in (triple.subject, triple.object))
            if len(ends.keys() | terms.keys()) > most_nodes:
                continue
            for end in ends:
                terms.setdefault(end, {})[item.marker] = None
            for triple, is_inverse in part.items():
                links.setdefault(triple, {})[item.marker] = None
                walked_back.setdefault(triple, is_inverse)
    ids = {term: number for number, term in enumerate(terms)}
    descriptions: dict[Term, str] = {link.term: link.description for link in answer.linked}
    descriptions.update({one.term: one.description for one in answer.answers if one.description})
    labels = _node_labels(answer, items, terms, descriptions)
    edges = tuple(
        DrawnEdge(
            number, ids[link.subject], ids[link.object],
            _label_text(answer.labels.get(link.predicate, ""), link.predicate), link.predicate, tuple(markers),
            walked_back[link],
        )
        for number, (link, markers) in enumerate(links.items())
    )  # fmt: skip
    joined = [(edge.source, edge.target, edge.label) for edge in edges]
    layers = _hops_from({ids[term] for term in firsts if term in ids}, len(ids), joined)
    places = layout_in_layers([labels[term] for term in ids], joined, layers)
    nodes = tuple(
        DrawnNode(
            ids[term], term, labels[term], printable(descriptions.get(term, ""), _LABEL_LENGTH), *place,
            "answer" if term in answers else "question" if term in firsts
            else "literal" if isinstance(term, Literal) else "other",
            tuple(markers),
        )
        for (term, markers), place in zip(terms.items(), places, strict=True)
    )  # fmt: skip
    everything = {term for item in items for term in item.terms}
    return Drawing(nodes, edges, len(everything - ids.keys()))


def _whole_parts(item: EvidenceItem) -> Iterator[dict[Triple, bool]]:
    """Yield what is drawn whole or not at all, paths and other triples, with whether the evidence walks against it."""
    cited = {one.triple: one.direction == "inverse" for one in item.triples}
    for path in item.paths:
        yield {hop.triple: hop.direction == "inverse" for hop in path.hops if hop.triple in cited}
    on_paths = {hop.triple for path in item.paths for hop in path.hops}
    yield from ({triple: back} for triple, back in cited.items() if triple not in on_paths)


def _node_labels(
    answer: Answer, items: Iterable[EvidenceItem], terms: Iterable[Term], descriptions: Mapping[Term, str]
) -> Mapping[Term, str]:
    """Return a label for each term; those of several IRIs with a description, or the end of the IRI."""
    named = dict(answer.labels)
    for item in items:
        named.update(with_statements(named, item.paths, [cited.triple for cited in item.triples]))
    labels = {term: _label_text(named.get(term, ""), term) for term in terms}
    shared = Counter(label for term, label in labels.items() if isinstance(term, IRI))
    for term, label in labels.items():
        if isinstance(term, IRI) and shared[label] > 1:
            labels[term] = printable(f"{label} ({descriptions.get(term) or local_name(term)})", _LABEL_LENGTH)
    return labels


def _label_text(label: str, term: Term) -> str:
    """Return the label, on one line; where there is none, what the term says of itself."""
    if isinstance(term, Literal):
        return printable(value_text(term), _LABEL_LENGTH) or '""'
    by_itself = local_name(term) if isinstance(term, IRI) else "[]" if isinstance(term, BlankNode) else str(term)
    return printable(label, _LABEL_LENGTH) or printable(by_itself, _LABEL_LENGTH)


# -- Where the nodes stand ----------------------------------------------------------------------------------------

MARGIN = 20.0
LONGEST_NODE, LONGEST_EDGE = 40, 30  # characters of a label that are shown
_ROW_HEIGHT = 50.0
_COLUMN_GAP = 60.0  # between two columns, beside the labels of the edges: room for arrow heads and slants
_SORTING_SWEEPS = 3


class Place(NamedTuple):
    """Where a node stands: its column and row, and its middle in pixels."""

    layer: int
    row: int
    x: float
    y: float


def shortened(label: str, longest: int) -> str:
    """Return the label, cut where it is too long."""
    return label if len(label) <= longest else label[: longest - 1].rstrip() + "…"


def node_width(label: str) -> float:
    """Return the pixels from side to side of a node."""
    return _text_width(shortened(label, LONGEST_NODE), 13) * 0.95 + 24


def edge_width(label: str) -> float:
    """Return the pixels that the label of an edge takes."""
    return _text_width(shortened(label, LONGEST_EDGE), 11) + 8


def _text_width(text: str, size: float) -> float:
    """Return the most pixels that a text takes: wide characters take two thirds more than others."""
    units = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.7 if c in "MWmw@%" else 0.6 for c in text)
    return round(units * size, 1)


def layout_in_layers(
    labels: Sequence[str], edges: Sequence[tuple[int, int, str]], layers: Sequence[int]
) -> list[Place]:
    """Place each node in its column, near its neighbours; columns that nothing stands in are left out.

    :param edges: the numbers of two nodes, and a label.

    >>> [(place.layer, place.row) for place in layout_in_layers(["a", "b", "c"], [(0, 1, "p"), (2, 0, "q")], [0, 3, 3])]
    [(0, 0), (1, 0), (1, 1)]
    """
    columns = [[node for node, at in enumerate(layers) if at == layer] for layer in sorted(set(layers))]
    layer = {node: at for at, column in enumerate(columns) for node in column}
    beside: dict[int, list[int]] = {node: [] for node in layer}
    for source, target, _ in edges:
        if layer[source] != layer[target]:
            beside[source].append(target)
            beside[target].append(source)
    height: dict[int, float] = {}  # in its column: 0 at the top, 1 at the bottom

    def mean_height(node: int) -> float:
        known = [height[far] for far in beside[node] if far in height] or [height.get(node, 0.5)]
        return sum(known) / len(known)

    for column in [*columns, *reversed(columns)] * _SORTING_SWEEPS:
        column.sort(key=mean_height)
        height.update({node: (row + 0.5) / len(column) for row, node in enumerate(column)})
    rows = {node: row for column in columns for row, node in enumerate(column)}
    most_rows = max(map(len, columns), default=0)
    left, x = MARGIN, []
    for at, column in enumerate(columns):
        width = max(node_width(labels[node]) for node in column)
        x.append(left + width / 2)
        widest = max((edge_width(label) for s, t, label in edges if min(layer[s], layer[t]) == at), default=0)
        left += width + widest + _COLUMN_GAP + min(140, 4 * most_rows)  # edges to many nodes are not steep
    return [
        Place(at, rows[node], round(x[at], 1), round(MARGIN + height[node] * most_rows * _ROW_HEIGHT, 1))
        for node, at in sorted(layer.items())
    ]


def _hops_from(firsts: Collection[int], count: int, edges: Iterable[tuple[int, int, str]]) -> list[int]:
    """Count the steps to each node from the first ones; a part without any starts from its first node."""
    near: dict[int, list[int]] = {node: [] for node in range(count)}
    for source, target, _ in edges:
        near[source].append(target)
        near[target].append(source)
    found: dict[int, int] = {}
    for start in (sorted(firsts), *([node] for node in near)):
        wave, hops = [node for node in start if node not in found], 0
        while wave:
            found.update(dict.fromkeys(wave, hops))
            wave = list(dict.fromkeys(far for node in wave for far in near[node] if far not in found))
            hops += 1
    return [found[node] for node in near]


# -- The same for Graphviz ----------------------------------------------------------------------------------------

_DOT_STYLES: dict[Role, str] = {
    "question": 'style="rounded,bold"',
    "answer": 'style="rounded,filled" fillcolor="#c6ecd6"',
    "literal": 'style="filled" fillcolor="#eef0f3" color="#c3c8d0"',
    "other": 'style="rounded"',
}


def drawing_to_dot(drawing: Drawing) -> str:
    """Write the drawing in DOT: every arrow points the way of its triple, steps walked against it are dashed."""
    lines = ["rankdir=LR", 'node [shape=box fontname="sans-serif"]', 'edge [fontname="sans-serif" fontsize=11]']
    columns: dict[int, list[str]] = {}
    for node in sorted(drawing.nodes, key=lambda node: node.layer):
        columns.setdefault(node.layer, []).append(f"n{node.id}")
        said = f"label={_dot_string(node.label)} tooltip={_dot_string(str(node.term))}"
        lines.append(f"n{node.id} [{said} {_DOT_STYLES[node.role]}]")
    lines += [f"{{ rank=same; {'; '.join(column)} }}" for column in columns.values()]
    if len(columns) > 1:  # the columns keep their order, whichever way the arrows between them point
        lines.append(f"{' -> '.join(column[0] for column in columns.values())} [style=invis]")
    for edge in drawing.edges:
        looks = " style=dashed" if edge.is_inverse else ""
        looks += "" if drawing.nodes[edge.source].layer < drawing.nodes[edge.target].layer else " constraint=false"
        lines.append(f"n{edge.source} -> n{edge.target} [label={_dot_string(edge.label)}{looks}]")
    if drawing.left_out or not drawing:
        said = f"+{drawing.left_out:,} more" if drawing.left_out else "nothing to draw"
        lines.append(f'more [label="{said}" shape=plaintext]')
    return "\n".join(["digraph answer {", *(f"  {line};" for line in lines), "}"])


def _dot_string(text: str) -> str:
    """Write the text as a string of DOT, in which a backslash stands for itself."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
