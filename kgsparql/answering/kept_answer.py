"""An answer that was kept, as it is checked again and compared: what both TriG and JSON say of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple

HOW_TO_KEEP = "a file that kgsparql ask -f trig, json or jsonl wrote is expected"
"""The hint where there is no answer."""

Row: TypeAlias = tuple[Term | None, ...]
"""A solution, or a row of what was computed: its terms in the order of the columns."""


@dataclass(frozen=True, slots=True)
class KeptItem:
    """A piece of evidence, as it was kept.

    :param queries: each with the graph that it is for; its name is empty where it is for all of them.
    :param answers: the answers that it is cited for.
    :param rows: what was computed: a number, a yes or no, items, a table; ``None`` where the file does not say.
    :param ends: how many terms it led to, where all were known; the triples that are kept may show only some.
    :param is_part: whether more may have been there already than was kept: it was cut, or is one path of many.
    """

    marker: str
    text: str
    is_cited: bool
    queries: tuple[tuple[str, str], ...] = ()
    answers: frozenset[Term] = frozenset()
    rows: frozenset[Row] | None = None
    is_computed: bool = False
    is_part: bool = False
    ends: int | None = None


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer, as it was kept.

    :param answers: without blank nodes, whose names say nothing in another file.
    :param cited: the triples that it rests on.
    :param retrieved: those that were only found on the way.
    :param at: when it was given, as it is written there; empty where that is not said.
    """

    question: str
    status: str
    text: str
    graphs: tuple[str, ...]
    answers: tuple[Term, ...]
    items: tuple[KeptItem, ...]
    cited: tuple[Triple, ...]
    retrieved: tuple[Triple, ...]
    at: str = ""

    @property
    def values(self) -> frozenset[Term]:
        """What was computed, if the answer rests on it: a number, a yes or no, the items of a set or table."""
        firsts = (row[0] for item in self.items if item.is_cited for row in item.rows or ())
        return frozenset(term for term in firsts if term is not None and not isinstance(term, BlankNode))


def named_triples(triples: Iterable[Triple]) -> list[Triple]:
    """Those that can be looked up by name: blank nodes have none outside the graph, nor have triples in triples."""
    return [triple for triple in triples if all(isinstance(term, IRI | Literal) for term in triple)]
