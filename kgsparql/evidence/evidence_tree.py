"""The decision tree that MindMap is named after: evidence merged into one tree for each entity it starts from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.evidence.verbalising import with_statements
from kgsparql.rdf.paths import Direction, Path, Step
from kgsparql.rdf.terms import Term, Triple, printable

_MAX_LEAVES = 6


@dataclass(slots=True)
class Node:
    """A term of the evidence as it was reached, with ``unseen`` further leaves."""

    label: str
    step: str = ""
    direction: Direction = "forward"
    markers: list[str] = field(default_factory=list)
    children: dict[tuple[Step, Term], Node] = field(default_factory=dict)
    unseen: int = 0

    @property
    def shown(self) -> list[Node]:
        """The children but for further leaves, since the evidence lists them."""
        hidden = [id(child) for child in self.children.values() if not child.children][_MAX_LEAVES:]
        return [child for child in self.children.values() if id(child) not in hidden]

    @property
    def hidden(self) -> int:
        """How many leaves are left out."""
        return len(self.children) - len(self.shown) + self.unseen


@dataclass(frozen=True, slots=True)
class DecisionTree:
    """Trees whose branches are evidence; false where there is none."""

    roots: tuple[Node, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.roots)

    def text(self) -> str:
        """Draw the trees as lines with box characters."""
        return "\n".join(line for root in self.roots for line in (root.label, *_branch_lines(root, "")))

    def mermaid(self) -> str:
        """Draw a Mermaid flow chart, in which every arrow points the way of its triple."""
        lines = ["flowchart LR"]
        count = 0

        def draw(node: Node) -> int:
            nonlocal count
            count += 1
            number = count
            marks = f" [{', '.join(node.markers)}]" if node.markers else ""
            lines.append(f'  n{number}["{mermaid_text(node.label + marks)}"]')
            for child, below in [(child, draw(child)) for child in node.shown]:
                ends = (number, below) if child.direction == "forward" else (below, number)
                lines.append(f'  n{ends[0]} -- "{mermaid_text(child.step)}" --> n{ends[1]}')
            if node.hidden:
                lines.append(f"  n{number} --> n{draw(Node(f'… {node.hidden:,} more'))}")
            return number

        for root in self.roots:
            draw(root)
        return "\n".join(lines)


def decision_tree(
    evidence: Iterable[EvidenceItem], labels: Mapping[Term, str], *, only: Collection[Triple] = ()
) -> DecisionTree:
    """Draw every item as a path from its start; paths share their beginnings, and leaves carry markers.

    :param only: the triples that count, where not all do: a path is drawn as far as the last of them.
    """
    roots: dict[Term, Node] = {}
    for item in evidence:
        above: dict[int, Node] = {}
        paths = [path for path in item.paths or _paths_through(item) if path.hops]
        named = with_statements(labels, paths, [cited.triple for cited in item.triples])
        for path in paths:
            drawn = [i for i, hop in enumerate(path.hops, 1) if not only or hop.triple in only]
            if not drawn:
                continue
            before = node = roots.setdefault(path.start, Node(_node_label(path.start, named)))
            for hop in path.hops[: drawn[-1]]:
                label, step = _node_label(hop.end, named), _node_label(hop.step.predicate, named)
                before = node
                node = node.children.setdefault((hop.step, hop.end), Node(label, step, hop.step.direction))
            above[id(before)] = before
            node.markers += [item.marker] if item.marker not in node.markers else []
        if len(above) == 1 and not only:  # where several lead to the ends, nobody knows whose the others are
            (last,) = above.values()
            last.unseen += max(0, len(item.ends) - len(item.ways))
    return DecisionTree(tuple(roots.values()))


def _paths_through(item: EvidenceItem) -> Iterator[Path]:
    """Make paths through the triples of an item that has none: from its start, one for each end."""
    hops = [cited.hop for cited in item.triples]
    if not hops:
        return
    start = hops[0].start
    leads = {hop.end: hop for hop in hops if hop.start == start}
    onward = {hop.start for hop in hops if hop.start != start}
    for hop in hops:
        if hop.start in leads and hop.start != start:
            yield Path(start, (leads[hop.start], hop))
        elif hop.start != start or hop.end not in onward:
            yield Path(hop.start, (hop,))


def _branch_lines(node: Node, indent: str) -> Iterator[str]:
    for i, child in enumerate(node.shown, 1):
        last = i == len(node.shown) and not node.hidden
        marks = f"  [{', '.join(child.markers)}]" if child.markers else ""
        arrow = f"—{child.step}→" if child.direction == "forward" else f"←{child.step}—"
        yield f"{indent}{'└─' if last else '├─'} {arrow} {child.label}{marks}"
        yield from _branch_lines(child, indent + ("   " if last else "│  "))
    if node.hidden:
        yield f"{indent}└─ … {node.hidden:,} more"


def mermaid_text(text: str) -> str:
    """Text inside Mermaid's quotes: what has a meaning there becomes an entity."""
    for char, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")):
        text = text.replace(char, entity)
    return text


def _node_label(term: Term, labels: Mapping[Term, str]) -> str:
    return printable(labels.get(term) or str(term), 80)
