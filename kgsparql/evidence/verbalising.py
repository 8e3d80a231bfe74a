"""Paths, lines of neighbours and decision trees in words: to be read, and to be compared with a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import count
from types import MappingProxyType

from kgsparql.dataclasses import dataclass, field, frozen
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.rdf.paths import Direction, Hop, Path, PropertyPath, Step, Walk
from kgsparql.rdf.terms import Labels, Term, Triple, distinct, printable
from kgsparql.rdf.vocabulary import claim_part, is_mediator


@frozen
class Line:
    """Everything one property path leads to from one start, as one piece of evidence.

    :param ways: a path for each end, at most as many as were asked for.
    :param count: how many there are; at least so many when ``exact`` is ``False``.
    """

    ways: tuple[Path, ...]
    count: int
    exact: bool = True

    @property
    def start(self) -> Term:
        """Where every way starts."""
        return self.ways[0].start

    @property
    def path(self) -> PropertyPath:
        """The property path that every way follows."""
        return self.ways[0].property_path

    @property
    def ends(self) -> tuple[Term, ...]:
        """The distinct ends, in order."""
        return distinct(way.end for way in self.ways)


def path_text(path: Path, labels: Labels) -> str:
    """Write a path as one line; arrows show the direction of each triple, whichever way it was walked."""
    parts = [name_of(path.start, labels)]
    for hop in path.hops:
        parts += [arrow(hop.step, labels), name_of(hop.end, labels)]
    return " ".join(parts)


def triple_text(triple: Triple, labels: Labels) -> str:
    """Write a triple as one line."""
    subject, predicate, object_ = (name_of(term, labels) for term in triple)
    return f"{subject} {_named_arrow(predicate, 'forward')} {object_}"


def line_text(line: Line, labels: Labels, *, shown: int = 12, times: Mapping[Term, int] = MappingProxyType({})) -> str:
    """Write a line of evidence: ends that are reached through the same terms stand together.

    :param times: in how many ways an end is reached, said where more than are shown.
    """
    last, ways = arrow(line.path.steps[-1], labels), line.ways[:shown]
    told = Counter(way.end for way in ways)
    groups: dict[Path, list[str]] = {}
    seen = set()
    for way in ways:
        name = name_of(way.end, labels)
        if way.end not in seen and times.get(way.end, 0) > told[way.end]:
            name += f" ({times[way.end]:,} times)"
        seen.add(way.end)
        groups.setdefault(Path(way.start, way.hops[:-1]), []).append(name)
    parts = []
    before = None
    for lead, ends in groups.items():
        begun = path_text(lead if before is None else _part_since(before, lead), labels)
        parts.append(f"{begun} {last} {'; '.join(ends)}")
        before = lead
    more, at_least = line.count - len(told), "" if line.exact else "at least "
    rest = f"; … {at_least}{more:,} more" if more > 0 else "" if line.exact else "; … and more"
    return " | ".join(parts) + rest


def _part_since(before: Path, path: Path) -> Path:
    """Cut a path to where it leads elsewhere than the one before it."""
    pairs = zip(before.hops, path.hops, strict=False)
    shared = next((i for i, (one, other) in enumerate(pairs) if one != other), len(path.hops) - 1)
    return Path(path.hops[shared].end, path.hops[shared + 1 :]) if path.hops else path


def nested_text(path: PropertyPath, kinds: Sequence[str], labels: Labels) -> str:
    """Write a property path as a noun phrase, inside out: what a question about its ends would say."""
    phrase = kinds[0] or "thing"
    for step, kind in zip(path.steps, kinds[1:], strict=True):
        name = name_of(step.predicate, labels)
        phrase = f"{name} of {phrase}" if step.direction == "forward" else f"{kind or 'thing'} whose {name} is {phrase}"
    return phrase


def with_statements(labels: Labels, ways: Iterable[Path], triples: Iterable[Triple]) -> Labels:
    """Name each statement of a Wikibase on these ways: by what it joins that its way does not say.

    That is its value where a way comes from whom it is about, and the other way round; both for one between qualifiers.

    :param triples: in which the statements are joined to whom they are about, and to their values.
    """
    sides: dict[Term, list[Triple]] = {}
    for triple in triples:
        part = claim_part(triple.predicate)
        if part is not None and part[0] in {"claim", "statement"}:
            node, other = (triple.object, triple.subject) if part[0] == "claim" else (triple.subject, triple.object)
            if not is_mediator(other):
                sides.setdefault(node, []).append(triple)
    named = {}
    for way in ways if sides else ():
        for node in way.terms:
            untold = [triple for triple in dict.fromkeys(sides.get(node, ())) if triple not in way.triples]
            if untold and node not in named:
                about = next((t for t in untold if t.object == node), None)
                others = [name_of(t.object, labels) for t in untold if t.subject == node][:1]
                if about is not None:
                    step = [arrow(Step(about.predicate), labels)] if others else []
                    others = [name_of(about.subject, labels), *step, *others]
                named[node] = f"[{' '.join(others)}]"
    return {**labels, **named} if named else labels


def arrow(step: Step, labels: Labels) -> str:
    """Write a step as an arrow that points the way of the triple, whichever way it is walked."""
    return _named_arrow(name_of(step.predicate, labels), step.direction)


def walk_text(walk: Walk, labels: Labels, *, between: str = " ") -> str:
    """Write a start and the steps from there on, without the terms along them."""
    return f"{printable(labels[walk.start], 80)} {between.join(arrow(step, labels) for step in walk.path.steps)}"


def _named_arrow(name: str, direction: Direction) -> str:
    return f"—{name}→" if direction == "forward" else f"←{name}—"


def name_of(term: Term, labels: Labels) -> str:
    """Write the label of a term, short enough for a line; what has none is written as it is."""
    return printable(labels.get(term) or str(term), 120)


# -- The decision tree that MindMap is named after -----------------------------------------------------------------

_MAX_LEAVES = 6


@dataclass(slots=True)
class Node:
    """A term of the evidence as it was reached, with ``unseen`` further leaves; or what only a model says."""

    label: str
    step: str = ""
    direction: Direction = "forward"
    markers: list[str] = field(default_factory=list)
    children: dict[tuple[Step, Term], Node] = field(default_factory=dict)
    unseen: int = 0
    is_said: bool = False

    @property
    def shown(self) -> list[Node]:
        """The children but for further leaves, since the evidence lists them."""
        leaves = count()
        return [child for child in self.children.values() if child.children or next(leaves) < _MAX_LEAVES]

    @property
    def hidden(self) -> int:
        """How many leaves are left out."""
        return len(self.children) - len(self.shown) + self.unseen


@dataclass(frozen=True)
class DecisionTree:
    """Trees whose branches are evidence, made when they are first looked at; false where there is none."""

    make: Callable[[], Collection[Node]] = tuple

    @cached_property
    def roots(self) -> tuple[Node, ...]:
        """The terms that the evidence starts from."""
        return tuple(self.make())

    def __bool__(self) -> bool:
        return bool(self.roots)

    def mermaid(self) -> str:
        """Draw a Mermaid flow chart, in which every arrow points the way of its triple."""
        lines, numbers = ["flowchart LR"], count(1)

        def draw(node: Node) -> int:
            number = next(numbers)
            marks = f" [{', '.join(node.markers)}]" if node.markers else ""
            kind = ":::said" if node.is_said else ""
            lines.append(f'  n{number}["{mermaid_text(node.label + marks)}"]{kind}')
            for child, below in [(child, draw(child)) for child in node.shown]:
                ends = (number, below) if child.direction == "forward" else (below, number)
                lines.append(f'  n{ends[0]} -- "{mermaid_text(child.step)}" --> n{ends[1]}')
            if node.hidden:
                lines.append(f"  n{number} --> n{draw(Node(f'… {node.hidden:,} more'))}")
            return number

        for root in self.roots:
            draw(root)
        lines += ["  classDef said stroke-dasharray: 4"] if any(root.is_said for root in self.roots) else []
        return "\n".join(lines)


def decision_tree(evidence: Iterable[EvidenceItem], labels: Labels) -> DecisionTree:
    """Draw every item as a path from its start; paths share their beginnings, and leaves carry markers."""
    return DecisionTree(partial(_roots_of, tuple(evidence), labels))


def _roots_of(evidence: Iterable[EvidenceItem], labels: Labels) -> Collection[Node]:
    roots: dict[Term, Node] = {}
    for item in evidence:
        above = {}
        paths = [path for path in item.paths or _paths_through(item) if path.hops]
        named = with_statements(labels, paths, [cited.triple for cited in item.triples])
        for path in paths:
            before = node = roots.setdefault(path.start, Node(name_of(path.start, named)))
            for hop in path.hops:
                below = Node(name_of(hop.end, named), name_of(hop.step.predicate, named), hop.step.direction)
                before, node = node, node.children.setdefault((hop.step, hop.end), below)
            above[id(before)] = before
            node.markers += [item.marker] if item.marker not in node.markers else []
        if len(above) == 1:  # where several lead to the ends, nobody knows whose the others are
            (last,) = above.values()
            last.unseen += max(0, len(item.ends) - len(item.paths))
    return roots.values()


def tree_of_steps(steps: Iterable[tuple[str, Hop]], said: Iterable[str], labels: Labels) -> DecisionTree:
    """Draw steps one after the other, each from a term that is there already; what a model says stands apart.

    :param steps: each with the marker of its piece of evidence.
    """
    roots = []
    nodes: dict[Term, Node] = {}
    for marker, hop in steps:
        walked = hop.reversed if hop.start not in nodes and hop.end in nodes else hop
        if walked.start not in nodes:
            roots.append(nodes.setdefault(walked.start, Node(name_of(walked.start, labels))))
        step = walked.step
        below = Node(name_of(walked.end, labels), name_of(step.predicate, labels), step.direction, [marker])
        nodes.setdefault(walked.end, nodes[walked.start].children.setdefault((step, walked.end), below))
    roots += [Node(f"the model's own: “{text}”", is_said=True) for text in said]
    return DecisionTree(roots.copy)


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


_MERMAID = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;"})


def mermaid_text(text: str) -> str:
    """Text inside Mermaid's quotes: what has a meaning there becomes an entity."""
    return text.translate(_MERMAID)
