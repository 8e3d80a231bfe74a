"""Where the nodes of a layered drawing stand: columns by distance, rows by barycentre; always the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

MARGIN = 20.0
NODE_HEIGHT = 30.0
PADDING = 12.0
"""Between the label of a node and its sides."""

LONGEST_NODE = 40
LONGEST_EDGE = 30
"""Characters of a label that are shown."""

_ROW_HEIGHT = 50.0
_COLUMN_GAP = 60.0
"""Between two columns, beside the labels of the edges: room for arrow heads and slants."""

_WIDENING, _MOST_WIDENING = 4.0, 140.0
"""More of it for each row, so that edges to many nodes are not steep."""

_SORTING_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: its column and row, and its middle in pixels."""

    layer: int
    row: int
    x: float
    y: float


def shortened(label: str, longest: int) -> str:
    """Return the label, cut where it is too long.

    >>> shortened("received the award", 10)
    'received…'
    """
    return label if len(label) <= longest else label[: longest - 1].rstrip() + "…"


def text_width(text: str, size: float) -> float:
    """Return the pixels that a text may take in a font of this size: wide characters take two thirds more than others.

    >>> text_width("Bonn", 10), text_width("東京", 10)
    (24.0, 20.0)
    """
    units = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.7 if c in "MWmw@%" else 0.6 for c in text)
    return round(units * size, 1)


def node_width(label: str) -> float:
    """Return the pixels from side to side of a node."""
    return text_width(shortened(label, LONGEST_NODE), 13) * 0.95 + 2 * PADDING


def edge_width(label: str) -> float:
    """Return the pixels that the label of an edge takes."""
    return text_width(shortened(label, LONGEST_EDGE), 11) + 8


def layout(labels: Sequence[str], edges: Sequence[tuple[int, int, str]], firsts: Collection[int]) -> list[Place]:
    """Place each node.

    :param labels: of the nodes.
    :param edges: the numbers of two nodes, and a label.
    :param firsts: what stands in the first column; all other nodes stand by their distance from these.

    >>> [(place.layer, place.row) for place in layout(["a", "b", "c"], [(0, 1, "p"), (2, 0, "q")], {0})]
    [(0, 0), (1, 0), (1, 1)]
    """
    distances = _layer_distances(_neighbour_lists(len(labels), edges), firsts)
    return layout_in_layers(labels, edges, [distances[node] for node in range(len(labels))])


def layout_in_layers(
    labels: Sequence[str], edges: Sequence[tuple[int, int, str]], layers: Sequence[int]
) -> list[Place]:
    """Place each node, whose column is known; the columns that nothing stands in are left out."""
    near = _neighbour_lists(len(labels), edges)
    used = {at: column for column, at in enumerate(sorted(set(layers)))}
    layer = {node: used[at] for node, at in enumerate(layers)}
    columns = [[n for n in near if layer[n] == at] for at in used.values()]
    _sort_columns(columns, near)
    y = _node_heights(columns, near)
    x = _column_middles(columns, labels, edges, layer)
    rows = {node: row for column in columns for row, node in enumerate(column)}
    return [Place(layer[n], rows[n], round(x[layer[n]], 1), round(y[n], 1)) for n in near]


def _neighbour_lists(nodes: int, edges: Iterable[tuple[int, int, str]]) -> dict[int, list[int]]:
    near: dict[int, list[int]] = {node: [] for node in range(nodes)}
    for source, target, _ in edges:
        near[source].append(target)
        near[target].append(source)
    return near


def _layer_distances(near: Mapping[int, Sequence[int]], firsts: Collection[int]) -> dict[int, int]:
    """Count steps from the first nodes; a part of the drawing without any starts from its first node."""
    found: dict[int, int] = {}
    for start in (sorted(firsts), *([node] for node in near)):
        wave = [node for node in start if node not in found]
        steps = 0
        while wave:
            found.update(dict.fromkeys(wave, steps))
            wave = list(dict.fromkeys(far for node in wave for far in near[node] if far not in found))
            steps += 1
    return found


def _sort_columns(columns: list[list[int]], near: Mapping[int, Sequence[int]]) -> None:
    """Sort each column by the mean place of its neighbours in the column before it, then after it, some times."""
    for sweep in range(_SORTING_SWEEPS):
        forward = sweep % 2 == 0
        order = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
        for at in order:
            beside = columns[at - 1] if forward else columns[at + 1]
            place = {node: (row + 0.5) / len(beside) for row, node in enumerate(beside)}
            column = columns[at]
            own = {node: (row + 0.5) / len(column) for row, node in enumerate(column)}
            column.sort(key=lambda node: _mean_of([place[far] for far in near[node] if far in place], own[node]))


def _mean_of(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _node_heights(columns: list[list[int]], near: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """Place the longest column evenly; in others, from there outwards, each node as near its neighbours as it can."""
    if not columns:
        return {}
    longest = max(range(len(columns)), key=lambda at: len(columns[at]))
    top = MARGIN + NODE_HEIGHT / 2
    y = {node: top + row * _ROW_HEIGHT for row, node in enumerate(columns[longest])}
    middle = _mean_of(list(y.values()), top)
    for at in (*range(longest - 1, -1, -1), *range(longest + 1, len(columns))):
        column = columns[at]
        wanted = [_mean_of([y[far] for far in near[node] if far in y and far not in column], middle) for node in column]
        y.update(zip(column, _spaced_heights(wanted), strict=True))
    lift = top - min(y.values())
    return {node: height + lift for node, height in y.items()}


def _spaced_heights(wanted: Sequence[float]) -> list[float]:
    """Return the nearest heights, in their order, that are a row apart: neighbours that are too close share their mean.

    >>> _spaced_heights([100.0, 100.0, 300.0])
    [75.0, 125.0, 300.0]
    """
    groups: list[list[float]] = []
    for row, height in enumerate(wanted):
        groups.append([height - row * _ROW_HEIGHT])
        while len(groups) > 1 and _mean_of(groups[-2], 0) > _mean_of(groups[-1], 0):
            last = groups.pop()
            groups[-1] += last
    even = [_mean_of(group, 0) for group in groups for _ in group]
    return [base + row * _ROW_HEIGHT for row, base in enumerate(even)]


def _column_middles(
    columns: Sequence[Sequence[int]], labels: Sequence[str], edges: Sequence[tuple[int, int, str]],
    layer: Mapping[int, int],
) -> list[float]:  # fmt: skip
    """Return the middles of columns, which are as far from each other as nodes and the labels of edges need."""
    left, middles = MARGIN, []
    for at, column in enumerate(columns):
        width = max(node_width(labels[node]) for node in column)
        middles.append(left + width / 2)
        beside = [edge_width(label) for s, t, label in edges if min(layer[s], layer[t]) == at]
        rows = max(len(one) for one in columns[at : at + 2])
        left += width + max(beside, default=0) + _COLUMN_GAP + min(_MOST_WIDENING, rows * _WIDENING)
    return middles
