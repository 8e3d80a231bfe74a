"""Hops, paths, and property paths: the ways from one term of a graph to another."""

from __future__ import annotations

from operator import attrgetter
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

from kgsparql.dataclasses import frozen
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, as_iri, iri

Direction: TypeAlias = OneOf["forward", "inverse"]
Directions: TypeAlias = OneOf["both", "forward", "inverse"]


def directions(wanted: Directions) -> tuple[Direction, ...]:
    """List the directions that an option value stands for."""
    return ("forward", "inverse") if wanted == "both" else (wanted,)


_PREDICATE = attrgetter("predicate")


class Step(NamedTuple):
    """A predicate and the direction it is walked in, as in a SPARQL property path.

    It is a tuple, as are :class:`Hop` and :class:`PropertyPath`: the hash of a dataclass is a Python function, and was
    a third of all calls that a question makes.

    :param is_repeated: it is walked once or more: ``p+``.
    """

    predicate: IRI
    direction: Direction = "forward"
    is_repeated: bool = False

    def __str__(self) -> str:
        return f"{'^' if self.direction == 'inverse' else ''}{self.predicate}{'+' if self.is_repeated else ''}"

    @property
    def is_forward(self) -> bool:
        """Tell whether it goes from the subject to the object."""
        return self.direction == "forward"

    @property
    def is_inverse(self) -> bool:
        """Tell whether it goes from the object to the subject."""
        return self.direction == "inverse"

    @property
    def reversed(self) -> Step:
        """The same predicate walked the other way."""
        return self._replace(direction="inverse" if self.direction == "forward" else "forward")

    @property
    def path(self) -> PropertyPath:
        """The path of one step."""
        return PropertyPath((self,))

    def inverts(self, other: Step) -> bool:
        """Tell whether this step walks the other one's predicate back."""
        return self.predicate == other.predicate and self.direction != other.direction

    def hop(self, near: Term, far: Term) -> Hop:
        """Return the hop that this step is, from one term to another."""
        subject, object_ = (near, far) if self.direction == "forward" else (far, near)
        return Hop(Triple(subject, self.predicate, object_), self.direction)  # type: ignore[arg-type]


class Hop(NamedTuple):
    """One triple and the direction it was walked in; the triple keeps its own direction."""

    triple: Triple
    direction: Direction = "forward"

    @property
    def start(self) -> Term:
        """The term the hop leaves."""
        return self.triple.subject if self.direction == "forward" else self.triple.object

    @property
    def end(self) -> Term:
        """The term the hop reaches."""
        return self.triple.object if self.direction == "forward" else self.triple.subject

    @property
    def step(self) -> Step:
        """The hop without its terms."""
        return Step(self.triple.predicate, self.direction)

    @property
    def reversed(self) -> Hop:
        """The same triple walked the other way."""
        return Hop(self.triple, "inverse" if self.direction == "forward" else "forward")


def may_follow(previous: Hop, following: Hop) -> bool:
    """Tell whether a walk may continue with ``following``: with any hop but straight back to the term just left."""
    return not (following.step.inverts(previous.step) and following.end == previous.start)


@frozen
class Path:
    """A start term and hops in order; no hops at all is a path too."""

    start: Term
    hops: tuple[Hop, ...] = ()

    def __post_init__(self) -> None:
        at = self.start
        for hop in self.hops:
            if hop.start != at:
                raise ValueError(f"hop {hop.triple} does not start at {at}")
            at = hop.end

    def __len__(self) -> int:
        return len(self.hops)

    @property
    def end(self) -> Term:
        """The last term."""
        return self.hops[-1].end if self.hops else self.start

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every term in order, the start first: one more than there are hops."""
        return (self.start, *(hop.end for hop in self.hops))

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The triples in the order they were walked."""
        return tuple(hop.triple for hop in self.hops)

    @property
    def property_path(self) -> PropertyPath:
        """The predicates and directions of the hops, without the terms."""
        return PropertyPath(tuple(hop.step for hop in self.hops))

    @property
    def walk(self) -> Walk:
        """The start, an IRI, and the predicates, which it shares with its siblings."""
        return Walk(as_iri(self.start), self.property_path)

    def then(self, other: Path) -> Path:
        """Continue the path by one that starts at its end."""
        return Path(self.start, self.hops + other.hops)


class PropertyPath(NamedTuple):
    """Predicates with directions, such as ``^dbo:director/dbo:starring``: a SPARQL property path.

    >>> str(PropertyPath.of("^http://e.org/director", "http://e.org/starring"))
    '^<http://e.org/director>/<http://e.org/starring>'
    """

    steps: tuple[Step, ...]

    @property
    def is_direct(self) -> bool:
        """Tell whether it has one step."""
        return len(self.steps) == 1

    @property
    def is_long(self) -> bool:
        """Tell whether it has several steps."""
        return len(self.steps) > 1

    @classmethod
    def of(cls, *steps: str) -> PropertyPath:
        """From texts: an IRI, with ``^`` before it for the inverse direction, and ``+`` after it for once or more.

        :raises IriError: for a text that is not a valid IRI.
        """
        return cls(
            tuple(
                Step(iri(s.strip("^+")), "inverse" if s.startswith("^") else "forward", s.endswith("+")) for s in steps
            )
        )

    def __str__(self) -> str:
        return "/".join(map(str, self.steps))

    @property
    def predicates(self) -> tuple[IRI, ...]:
        """The predicates in order, whichever way they are walked."""
        return tuple(map(_PREDICATE, self.steps))

    @property
    def first_step(self) -> Step:
        """The step that it begins with."""
        return self.steps[0]

    @property
    def last_step(self) -> Step:
        """The step that it ends with."""
        return self.steps[-1]

    @property
    def last(self) -> IRI:
        """The predicate that it ends with."""
        return self.last_step.predicate

    @property
    def goes_back(self) -> bool:
        """Whether some step inverts one before it: up to what something is of, and down to others that are of it."""
        return self.is_long and len({*self.steps}) > len({*self.predicates})


@frozen
class Constraint:
    """A condition on a term of a walk: a step from it must lead to one of ``values``."""

    at: int
    step: Step
    values: tuple[IRI | Literal, ...]


@frozen
class Walk:
    """A property path from a start, with conditions on the terms along it."""

    start: IRI
    path: PropertyPath
    constraints: tuple[Constraint, ...] = ()

    def __str__(self) -> str:
        return f"{self.start} {self.path}"


@frozen
class Way:
    """A path that follows a walk, and the hops that satisfy its constraints, in their order."""

    path: Path
    aside: tuple[Hop, ...] = ()
