"""Paths and lines of neighbours in words: to be read, and to be compared with a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgsparql.paths import Path, PropertyPath, Step
from kgsparql.terms import Term, printable

__all__ = ["Line", "arrow", "arrow_text", "line_terms", "line_text", "nested_text", "path_text", "reversed_text"]


@dataclass(frozen=True, slots=True)
class Line:
    """Everything one property path leads to from one start, as one piece of evidence.

    :param ways: a path for each end, at most as many as were asked for.
    :param count: how many there are; at least so many when ``exact`` is ``False``.
    """

    path: PropertyPath
    ways: tuple[Path, ...]
    count: int
    exact: bool = True

    @property
    def start(self) -> Term:
        """Where every way starts."""
        return self.ways[0].start

    @property
    def ends(self) -> tuple[Term, ...]:
        """The distinct ends, in order."""
        return tuple(dict.fromkeys(way.end for way in self.ways))


def path_text(path: Path, labels: Mapping[Term, str]) -> str:
    """A path as one line; arrows show the direction of each triple, whichever way it was walked.

    >>> from kgsparql.paths import Hop
    >>> from kgsparql.terms import IRI, Triple
    >>> a, b, p = (IRI(f"http://e.org/{name}") for name in "abp")
    >>> path_text(Path(b, (Hop(Triple(a, p, b), "inverse"),)), {a: "Ann", b: "Bonn", p: "born in"})
    'Bonn ←born in— Ann'
    """
    parts = [_name(path.start, labels)]
    for hop in path.hops:
        parts += [arrow(hop.step, labels), _name(hop.end, labels)]
    return " ".join(parts)


def line_text(line: Line, labels: Mapping[Term, str], *, shown: int = 12) -> str:
    """A line of evidence: ends that are reached through the same terms stand together.

    >>> from kgsparql.paths import Hop
    >>> from kgsparql.terms import IRI, Triple
    >>> a, b, c, p = (IRI(f"http://e.org/{name}") for name in "abcp")
    >>> ways = tuple(Path(a, (Hop(Triple(a, p, end)),)) for end in (b, c))
    >>> line_text(Line(ways[0].property_path, ways, 3), {a: "Ann", b: "Ben", c: "Cas", p: "knows"})
    'Ann —knows→ Ben; Cas; … 1 more'
    """
    last = arrow(line.path.steps[-1], labels)
    groups: dict[Path, list[str]] = {}
    for way in line.ways[:shown]:
        groups.setdefault(Path(way.start, way.hops[:-1]), []).append(_name(way.end, labels))
    parts = []
    before: Path | None = None
    for lead, ends in groups.items():
        begun = path_text(lead if before is None else _since(before, lead), labels)
        parts.append(f"{begun} {last} {'; '.join(ends)}")
        before = lead
    more = line.count - min(len(line.ways), shown)
    if not line.exact:
        return " | ".join(parts) + (f"; … at least {more:,} more" if more > 0 else "; … and more")
    return " | ".join(parts) + (f"; … {more:,} more" if more > 0 else "")


def _since(before: Path, path: Path) -> Path:
    """The path from where it leads elsewhere than the one before it."""
    pairs = zip(before.hops, path.hops, strict=False)
    shared = next((i for i, (one, other) in enumerate(pairs) if one != other), len(path.hops) - 1)
    return Path(path.hops[shared].end, path.hops[shared + 1 :]) if path.hops else path


def nested_text(path: PropertyPath, kinds: Sequence[str], labels: Mapping[Term, str]) -> str:
    """A property path as a noun phrase, inside out: what a question about its ends would say.

    :param kinds: what the terms along the path are, the start first: one more than there are steps.

    Source: the measured recipe of the project's path ranking (nested verbalisation).

    >>> from kgsparql.terms import IRI
    >>> p = IRI("http://e.org/worked_at")
    >>> path = PropertyPath((Step(p), Step(p, "inverse")))
    >>> nested_text(path, ["person", "university", "scientist"], {p: "worked at"})
    'scientist whose worked at is worked at of person'
    """
    phrase = kinds[0] or "thing"
    for step, kind in zip(path, kinds[1:], strict=True):
        name = _name(step.predicate, labels)
        phrase = f"{name} of {phrase}" if step.direction == "forward" else f"{kind or 'thing'} whose {name} is {phrase}"
    return phrase


def arrow_text(path: PropertyPath, kinds: Sequence[str], labels: Mapping[Term, str]) -> str:
    """A property path as a chain from the start: the second of the three wordings a ranker reads.

    >>> from kgsparql.terms import IRI
    >>> p = IRI("http://e.org/worked_at")
    >>> arrow_text(PropertyPath((Step(p), Step(p, "inverse"))), ["person", "", "scientist"], {p: "worked at"})
    'person -> worked at -> thing -> worked at of -> scientist'
    """
    parts = [kinds[0] or "thing"]
    for step, kind in zip(path, kinds[1:], strict=True):
        parts += [_name(step.predicate, labels) + (" of" if step.direction == "inverse" else ""), kind or "thing"]
    return " -> ".join(parts)


def reversed_text(path: PropertyPath, kinds: Sequence[str], labels: Mapping[Term, str]) -> str:
    """A property path from its end back: the third wording.

    >>> from kgsparql.terms import IRI
    >>> p = IRI("http://e.org/worked_at")
    >>> reversed_text(PropertyPath((Step(p), Step(p, "inverse"))), ["person", "", "scientist"], {p: "worked at"})
    'scientist worked at of worked at'
    """
    steps = list(zip(path, kinds[1:], strict=True))
    names = [
        _name(step.predicate, labels)
        if step.direction == "forward"
        else f"{kind or 'thing'} {_name(step.predicate, labels)}"
        for step, kind in reversed(steps)
    ]
    return " of ".join(names)


def line_terms(lines: Iterable[Line]) -> dict[Term, None]:
    """Every term of these lines, predicates too, once, in order."""
    triples = (triple for line in lines for way in line.ways for triple in way.triples)
    return dict.fromkeys(term for triple in triples for term in (triple.subject, triple.predicate, triple.object))


def arrow(step: Step, labels: Mapping[Term, str]) -> str:
    """A step as an arrow that points the way of the triple, whichever way it is walked."""
    name = _name(step.predicate, labels)
    return f"—{name}→" if step.direction == "forward" else f"←{name}—"


def _name(term: Term, labels: Mapping[Term, str]) -> str:
    return printable(labels.get(term) or str(term), 120)
