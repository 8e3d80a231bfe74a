"""A drawing as a Mermaid flow chart, for Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from kgsparql.answering.drawing.drawing import Drawing, DrawnNode
from kgsparql.evidence.evidence_tree import mermaid_text

_MOST_EDGES = 40
"""More make a chart that nobody can read, and that some renderers refuse."""


def drawing_to_mermaid(drawing: Drawing) -> str:
    """The drawing as a flow chart: every arrow points the way of its triple, steps walked against it are dashed."""
    return "\n".join(["flowchart LR", *(f"  {line}" for line in _statements(drawing))])


def _statements(drawing: Drawing) -> Iterator[str]:
    edges = drawing.edges[:_MOST_EDGES]
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    kept = {end for edge in edges for end in (edge.source, edge.target)}
    shown = [node for node in drawing.nodes if node.id in kept or node.id not in joined]
    yield from map(_node, shown)
    for edge in edges:
        start, end = ("-.", ".->") if edge.is_inverse else ("--", "-->")
        yield f'n{edge.source} {start} "{mermaid_text(edge.label)}" {end} n{edge.target}'
    for role, looks in (("answer", "fill:#c6ecd6,stroke:#1b7f4b,color:#1b1f24"), ("question", "stroke-width:3px")):
        if numbers := [f"n{node.id}" for node in shown if node.role == role]:
            yield f"classDef {role} {looks}"
            yield f"class {','.join(numbers)} {role}"
    if left := drawing.left_out + len(drawing.nodes) - len(shown):
        yield f'more["+{left:,} more"]'
    elif not shown:
        yield 'nothing["nothing to draw"]'


def _node(node: DrawnNode) -> str:
    start, end = ("[", "]") if node.role == "literal" else ("(", ")")
    return f'n{node.id}{start}"{mermaid_text(node.label)}"{end}'
