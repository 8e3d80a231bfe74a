"""Walks: hops join, property paths print as SPARQL, and nobody goes straight back."""

import pytest

from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step, directions, may_follow
from kgsparql.rdf.terms import IRI, Triple

A, B, C, P, Q = (IRI(f"http://example.org/{name}") for name in "abcpq")


def test_a_hop_and_a_step_walked_back_keep_the_triple() -> None:
    hop = Hop(Triple(A, P, B), "inverse")
    assert (hop.start, hop.end, hop.step) == (B, A, Step(P, "inverse"))
    assert (hop.reversed.start, hop.reversed.reversed, hop.step.reversed) == (A, hop, Step(P))
    assert hop.step.inverts(Step(P))
    assert (directions("both"), directions("inverse")) == (("forward", "inverse"), ("inverse",))


def test_the_hops_of_a_path_join_and_none_is_repeated() -> None:
    """Chaining must not repeat the junction: MindMap, known mistake 6."""
    with pytest.raises(ValueError, match="does not start at"):
        Path(A, (Hop(Triple(B, P, C)),))
    chained = Path(A, (Hop(Triple(A, P, B)),)).then(Path(B, (Hop(Triple(C, Q, B), "inverse"),)))
    assert chained.terms == (A, B, C)
    assert str(chained.property_path) == "<http://example.org/p>/^<http://example.org/q>"
    assert (Path(A).end, Path(A).terms, len(Path(A))) == (A, (A,), 0)


def test_only_the_way_straight_back_is_barred() -> None:
    there, back = Hop(Triple(A, P, B)), Hop(Triple(A, P, B), "inverse")
    others = [Hop(Triple(C, P, B), "inverse"), Hop(Triple(B, P, A)), Hop(Triple(A, Q, B), "inverse")]
    assert [may_follow(there, hop) for hop in (back, *others)] == [False, True, True, True]
    assert PropertyPath.of(P.value, f"^{P.value}").goes_back
    assert not PropertyPath.of(P.value, P.value, f"^{Q.value}").goes_back
    assert not PropertyPath.of(P.value, Q.value, f"^{P.value}").goes_back
