"""MindMap's decision tree: the evidence merged into one tree for each entity it starts from, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kgsparql.evidence import EvidenceItem
from kgsparql.paths import Hop, Step
from kgsparql.terms import Term, printable
from kgsparql.verbalising import arrow

__all__ = ["decision_tree"]

_SHOWN = 6


@dataclass(slots=True)
class _Node:
    text: str
    markers: list[str] = field(default_factory=list)
    children: dict[tuple[Step, Term], _Node] = field(default_factory=dict)


def decision_tree(evidence: Iterable[EvidenceItem], labels: Mapping[Term, str]) -> str:
    """Every item as a way from its start; ways that begin alike share their beginning, and leaves carry markers."""
    roots: dict[Term, _Node] = {}
    for item in evidence:
        for way in _ways(item):
            node = roots.setdefault(way[0].start, _Node(_name(way[0].start, labels)))
            for hop in way:
                text = f"{arrow(hop.step, labels)} {_name(hop.end, labels)}"
                node = node.children.setdefault((hop.step, hop.end), _Node(text))
            if item.marker not in node.markers:
                node.markers.append(item.marker)
    return "\n".join(line for root in roots.values() for line in _lines(root))


def _ways(item: EvidenceItem) -> Iterator[list[Hop]]:
    """The item as ways from its start: a path is one, a line of neighbours one for each end."""
    hops = [cited.hop for cited in item.triples]
    if item.path is not None:
        yield hops
        return
    start = hops[0].start
    leads = {hop.end: hop for hop in hops if hop.start == start}
    onward = {hop.start for hop in hops if hop.start != start}
    for hop in hops:
        if hop.start != start:
            yield [leads[hop.start], hop]
        elif hop.end not in onward:
            yield [hop]


def _lines(root: _Node) -> Iterator[str]:
    yield root.text
    yield from _children(root, "")


def _children(node: _Node, indent: str) -> Iterator[str]:
    children = list(node.children.values())
    # Leaves beyond the first few say nothing new about the shape; evidence lists them all.
    leaves = [child for child in children if not child.children]
    hidden = {id(child) for child in leaves[_SHOWN:]}
    shown = [child for child in children if id(child) not in hidden]
    for i, child in enumerate(shown):
        last = i == len(shown) - 1 and not hidden
        marks = f"  [{', '.join(child.markers)}]" if child.markers else ""
        yield f"{indent}{'└─' if last else '├─'} {child.text}{marks}"
        yield from _children(child, indent + ("   " if last else "│  "))
    if hidden:
        yield f"{indent}└─ … {len(hidden):,} more"


def _name(term: Term, labels: Mapping[Term, str]) -> str:
    return printable(labels.get(term) or str(term), 80)
