"""Walks: hops join, property paths print as SPARQL, and nobody goes straight back."""

from __future__ import annotations

import pytest

from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step, directions, may_follow
from kgsparql.rdf.terms import IRI, Triple

A, B, C, P, Q = (IRI(f"http://example.org/{name}") for name in "abcpq")


def test_inverse_hop_keeps_the_triple_and_turns_the_walk() -> None:
    hop = Hop(Triple(A, P, B), "inverse")
    assert (hop.start, hop.end, hop.step) == (B, A, Step(P, "inverse"))


def test_a_step_reversed_walks_its_predicate_back() -> None:
    step = Step(P)
    assert step.reversed == Step(P, "inverse")
    assert step.reversed.inverts(step)
    assert step.reversed.reversed == step


def test_path_refuses_hops_that_do_not_join() -> None:
    with pytest.raises(ValueError, match="does not start at"):
        Path(A, (Hop(Triple(B, P, C)),))


def test_chaining_does_not_repeat_the_junction() -> None:
    """MindMap, known mistake 6."""
    chained = Path(A, (Hop(Triple(A, P, B)),)).then(Path(B, (Hop(Triple(C, Q, B), "inverse"),)))
    assert chained.terms == (A, B, C)
    assert str(chained.property_path) == "<http://example.org/p>/^<http://example.org/q>"


def test_zero_hop_path_ends_where_it_starts() -> None:
    assert (Path(A).end, Path(A).terms, len(Path(A))) == (A, (A,), 0)


@pytest.mark.parametrize(
    ("following", "allowed"),
    [
        (Hop(Triple(A, P, B), "inverse"), False),
        (Hop(Triple(C, P, B), "inverse"), True),
        (Hop(Triple(B, P, A)), True),
        (Hop(Triple(A, Q, B), "inverse"), True),
        (Hop(Triple(B, P, B)), True),
    ],
)
def test_only_the_way_straight_back_is_barred(following: Hop, allowed: bool) -> None:
    assert may_follow(Hop(Triple(A, P, B)), following) is allowed


def test_going_back_is_a_step_that_inverts_the_one_before() -> None:
    assert PropertyPath.of(P.value, f"^{P.value}").goes_back
    assert not PropertyPath.of(P.value, P.value, f"^{Q.value}").goes_back
    assert not PropertyPath.of(P.value, Q.value, f"^{P.value}").goes_back


def test_directions() -> None:
    assert (directions("both"), directions("inverse")) == (("forward", "inverse"), ("inverse",))
