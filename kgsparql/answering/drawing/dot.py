"""A drawing as DOT, for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from kgsparql.answering.drawing.drawing import Drawing, Role

_LOOKS: dict[Role, str] = {
    "question": 'style="rounded,bold"',
    "answer": 'style="rounded,filled" fillcolor="#c6ecd6"',
    "literal": 'style="filled" fillcolor="#eef0f3" color="#c3c8d0"',
    "other": 'style="rounded"',
}


def drawing_to_dot(drawing: Drawing) -> str:
    """The drawing in the DOT language: every arrow points the way of its triple, steps walked against it are dashed."""
    return "\n".join(["digraph answer {", *(f"  {line};" for line in _statements(drawing)), "}"])


def _statements(drawing: Drawing) -> Iterator[str]:
    yield "rankdir=LR"
    yield 'node [shape=box fontname="sans-serif"]'
    yield 'edge [fontname="sans-serif" fontsize=11]'
    layers: dict[int, list[int]] = {}
    for node in drawing.nodes:
        layers.setdefault(node.layer, []).append(node.id)
        yield f"n{node.id} [label={_quoted(node.label)} tooltip={_quoted(str(node.term))} {_LOOKS[node.role]}]"
    columns = [numbers for _, numbers in sorted(layers.items())]
    for numbers in columns:
        yield f"{{ rank=same; {'; '.join(f'n{number}' for number in numbers)} }}"
    if len(columns) > 1:  # the columns keep their order, whichever way the arrows between them point
        yield f"{' -> '.join(f'n{numbers[0]}' for numbers in columns)} [style=invis]"
    layer_of = {node.id: node.layer for node in drawing.nodes}
    for edge in drawing.edges:
        looks = " style=dashed" if edge.is_inverse else ""
        looks += "" if layer_of[edge.source] < layer_of[edge.target] else " constraint=false"
        yield f"n{edge.source} -> n{edge.target} [label={_quoted(edge.label)}{looks}]"
    if not drawing:
        yield 'nothing [label="nothing to draw" shape=plaintext]'
    if drawing.left_out:
        yield f'more [label="+{drawing.left_out:,} more" shape=plaintext]'


def _quoted(text: str) -> str:
    r"""The text as a string of DOT, in which a backslash stands for itself.

    >>> print(_quoted('a "b" \\N'))
    "a \"b\" \\N"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
