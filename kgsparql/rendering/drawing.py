"""What an answer rests on as a drawing: nodes in layers by hop from the entities of the question, and true arrows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import Literal as OneOf

from kgsparql.evidence.evidence_tree import mermaid_text
from kgsparql.evidence.verbalising import with_statements
from kgsparql.rdf.literals import value_text
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, local_name, printable
from kgsparql.rendering.layout import layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgsparql.answering.answer import Answer
    from kgsparql.evidence.evidence import EvidenceItem


Role: TypeAlias = OneOf["question", "answer", "literal", "other"]

_MENTIONS = IRI("http://schema.org/mentions")
"""From a passage to what it names: as in the TriG of an answer."""

MOST_NODES = 60
"""In view at once."""

MOST_WHOLE = 400
"""Where a person asks for all; further ones are only in the table."""

_LABEL_LENGTH = 200
"""Characters of a label; pictures show less of it."""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A term in a drawing; of a passage, its text.

    :param description: what tells it from another of the same label; empty where there is none.
    :param layer: its column: hops from the entities of the question.
    :param row: its place in the column, from the top.
    :param x: of its middle, as is ``y``, in pixels from the top left corner.
    :param markers: of the evidence it is in.
    """

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
    """A triple in a drawing, from the node of its subject to that of its object.

    :param markers: of the evidence it is in.
    :param is_inverse: the way of the evidence walks against it.
    """

    id: int
    source: int
    target: int
    label: str
    predicate: IRI
    markers: tuple[str, ...]
    is_inverse: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of what an answer rests on; false where there is nothing to draw.

    :param left_out: how many terms of the evidence have no node.
    """

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.nodes)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; terms are in the syntax of N-Triples."""
        return {
            "nodes": [
                {
                    "id": node.id, "term": str(node.term), "label": node.label, "description": node.description,
                    "layer": node.layer, "row": node.row, "x": node.x, "y": node.y, "role": node.role,
                    "markers": list(node.markers),
                }
                for node in self.nodes
            ],
            "edges": [
                {
                    "id": edge.id, "source": edge.source, "target": edge.target, "label": edge.label,
                    "predicate": edge.predicate.value, "markers": list(edge.markers), "is_inverse": edge.is_inverse,
                }
                for edge in self.edges
            ],
            "left_out": self.left_out,
        }  # fmt: skip


def drawing_of(answer: Answer, *, most_nodes: int = MOST_NODES) -> Drawing:
    """Draw the evidence that an answer cites, as a drawing; the same answer gives the same drawing.

    :param most_nodes: further terms are left out and counted; those of the best answers come first.
    """
    items = _best_first(answer)
    answers = {one.term for one in answer.best} | set(answer.computed.items if answer.computed else ())
    firsts = {link.term for link in answer.linked} | {path.start for item in items for path in item.paths}
    found = _Gathered(most_nodes)
    for item in items:
        found.add(item, answers | firsts)
    ids = {term: number for number, term in enumerate(found.terms)}
    descriptions: dict[Term, str] = {link.term: link.description for link in answer.linked}
    descriptions.update({one.term: one.description for one in answer.answers if one.description})
    labels = _told_apart(_node_labels(answer, items, found.terms), descriptions)
    edges = tuple(
        DrawnEdge(
            number, ids[source], ids[target], _label_text(answer.labels.get(predicate, ""), predicate), predicate,
            tuple(seen.markers), seen.is_inverse,
        )
        for number, ((source, predicate, target), seen) in enumerate(found.edges.items())
    )  # fmt: skip
    places = layout(
        [labels[term] for term in ids],
        [(edge.source, edge.target, edge.label) for edge in edges],
        {ids[term] for term in firsts if term in ids},
    )
    nodes = tuple(
        DrawnNode(
            ids[term], term, labels[term], printable(descriptions.get(term, ""), _LABEL_LENGTH), place.layer, place.row,
            place.x, place.y, _role_of(term, answers, firsts), tuple(markers),
        )
        for (term, markers), place in zip(found.terms.items(), places, strict=True)
    )  # fmt: skip
    return Drawing(nodes, edges, len({term for item in items for term in _item_terms(item)} - ids.keys()))


_Link: TypeAlias = tuple[Term, IRI, Term]
"""Subject, predicate and object, of which the subject may be a passage."""


@dataclass(slots=True)
class _Seen:
    is_inverse: bool
    markers: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Gathered:
    """Terms with their markers, and links, until there are too many terms."""

    most: int
    terms: dict[Term, dict[str, None]] = field(default_factory=dict)
    edges: dict[_Link, _Seen] = field(default_factory=dict)

    def add(self, item: EvidenceItem, known: set[Term]) -> None:
        """Take what there is room for: whole paths, then triples, then a passage and what it names of the known."""
        cited = {one.triple for one in item.triples}
        for path in item.paths:
            self._take(
                item.marker,
                [(_link_of(hop.triple), hop.direction == "inverse") for hop in path.hops if hop.triple in cited],
            )
        on_paths = {hop.triple for path in item.paths for hop in path.hops}
        for one in item.triples:
            if one.triple in on_paths:
                continue
            self._take(item.marker, [(_link_of(one.triple), one.direction == "inverse")])
        if item.kind == "passage":
            text = _passage_term(item)
            named = dict.fromkeys(mention.term for mention in item.excerpt.mentions) if item.excerpt else {}
            self._take(item.marker, [], [text])
            self._take(item.marker, [((text, _MENTIONS, term), False) for term in named if term in known])

    def _take(self, marker: str, links: list[tuple[_Link, bool]], alone: Iterable[Term] = ()) -> None:
        ends = dict.fromkeys([*alone, *(end for (source, _, target), _ in links for end in (source, target))])
        if len(ends.keys() | self.terms.keys()) > self.most:
            return
        for end in ends:
            self.terms.setdefault(end, {})[marker] = None
        for link, is_inverse in links:
            self.edges.setdefault(link, _Seen(is_inverse)).markers[marker] = None


def _best_first(answer: Answer) -> list[EvidenceItem]:
    """Return the items that the answer cites, those of the best answers first."""
    best = {marker for one in answer.best for marker in one.markers[:1]}
    return sorted(answer.evidence.keep(answer.cited), key=lambda item: item.marker not in best)


def _item_terms(item: EvidenceItem) -> Iterator[Term]:
    yield from item.terms
    if item.kind == "passage":
        yield _passage_term(item)


def _passage_term(item: EvidenceItem) -> Literal:
    return Literal(item.sourced_text)


def _link_of(triple: Any) -> _Link:
    return triple.subject, triple.predicate, triple.object


def _role_of(term: Term, answers: set[Term], firsts: set[Term]) -> Role:
    if term in answers:
        return "answer"
    if term in firsts:
        return "question"
    return "literal" if isinstance(term, Literal) else "other"


def _node_labels(answer: Answer, items: Iterable[EvidenceItem], terms: Iterable[Term]) -> Mapping[Term, str]:
    """Return a label for each term: a value in a person's form, a statement of a Wikibase by what it joins."""
    named = dict(answer.labels)
    for item in items:
        named.update(with_statements(named, item.paths, [cited.triple for cited in item.triples]))
    return {term: _label_text(named.get(term, ""), term) for term in terms}


def _told_apart(labels: Mapping[Term, str], descriptions: Mapping[Term, str]) -> Mapping[Term, str]:
    """Return the labels; those of several IRIs with what tells them apart: a description, or the end of the IRI."""
    shared = Counter(label for term, label in labels.items() if isinstance(term, IRI))

    def told(term: Term, label: str) -> str:
        if not isinstance(term, IRI) or shared[label] == 1:
            return label
        return printable(f"{label} ({descriptions.get(term) or local_name(term)})", _LABEL_LENGTH)

    return {term: told(term, label) for term, label in labels.items()}


def _label_text(label: str, term: Term) -> str:
    """Return the label, on one line; where there is none, what the term says of itself."""
    if isinstance(term, Literal):
        return printable(value_text(term), _LABEL_LENGTH) or '""'
    by_itself = local_name(term) if isinstance(term, IRI) else "[]" if isinstance(term, BlankNode) else str(term)
    return printable(label, _LABEL_LENGTH) or printable(by_itself, _LABEL_LENGTH)


_DOT_STYLES: dict[Role, str] = {
    "question": 'style="rounded,bold"',
    "answer": 'style="rounded,filled" fillcolor="#c6ecd6"',
    "literal": 'style="filled" fillcolor="#eef0f3" color="#c3c8d0"',
    "other": 'style="rounded"',
}


def drawing_to_dot(drawing: Drawing) -> str:
    """Write the drawing in DOT: every arrow points the way of its triple, steps walked against it are dashed."""
    return "\n".join(["digraph answer {", *(f"  {line};" for line in _dot_lines(drawing)), "}"])


def _dot_lines(drawing: Drawing) -> Iterator[str]:
    yield "rankdir=LR"
    yield 'node [shape=box fontname="sans-serif"]'
    yield 'edge [fontname="sans-serif" fontsize=11]'
    layers: dict[int, list[int]] = {}
    for node in drawing.nodes:
        layers.setdefault(node.layer, []).append(node.id)
        told = f"label={_dot_string(node.label)} tooltip={_dot_string(str(node.term))}"
        yield f"n{node.id} [{told} {_DOT_STYLES[node.role]}]"
    columns = [numbers for _, numbers in sorted(layers.items())]
    for numbers in columns:
        yield f"{{ rank=same; {'; '.join(f'n{number}' for number in numbers)} }}"
    if len(columns) > 1:  # the columns keep their order, whichever way the arrows between them point
        yield f"{' -> '.join(f'n{numbers[0]}' for numbers in columns)} [style=invis]"
    layer_of = {node.id: node.layer for node in drawing.nodes}
    for edge in drawing.edges:
        looks = " style=dashed" if edge.is_inverse else ""
        looks += "" if layer_of[edge.source] < layer_of[edge.target] else " constraint=false"
        yield f"n{edge.source} -> n{edge.target} [label={_dot_string(edge.label)}{looks}]"
    if not drawing:
        yield 'nothing [label="nothing to draw" shape=plaintext]'
    if drawing.left_out:
        yield f'more [label="+{drawing.left_out:,} more" shape=plaintext]'


def _dot_string(text: str) -> str:
    r"""Write the text as a string of DOT, in which a backslash stands for itself.

    >>> print(_dot_string('a "b" \\N'))
    "a \"b\" \\N"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_MERMAID_EDGES = 40
"""More make a chart that nobody can read, and that some renderers refuse."""


def drawing_to_mermaid(drawing: Drawing) -> str:
    """Write the drawing as a Mermaid flow chart, with arrows as in DOT."""
    return "\n".join(["flowchart LR", *(f"  {line}" for line in _mermaid_lines(drawing))])


def _mermaid_lines(drawing: Drawing) -> Iterator[str]:
    edges = drawing.edges[:_MERMAID_EDGES]
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    kept = {end for edge in edges for end in (edge.source, edge.target)}
    shown = [node for node in drawing.nodes if node.id in kept or node.id not in joined]
    yield from map(_mermaid_node, shown)
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


def _mermaid_node(node: DrawnNode) -> str:
    start, end = ("[", "]") if node.role == "literal" else ("(", ")")
    return f'n{node.id}{start}"{mermaid_text(node.label)}"{end}'
