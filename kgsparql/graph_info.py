"""What a graph holds: counts of its triples, classes and predicates, and where they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from kgsparql.evidence import Cut
from kgsparql.graph import OpenedGraph
from kgsparql.query import Query
from kgsparql.terms import IRI, Literal, PrefixMap, Term

__all__ = ["graph_info"]

Labels = Callable[[Iterable[Term]], dict[Term, str]]


def graph_info(graph: OpenedGraph, labels: Labels, prefixes: PrefixMap, *, shown: int) -> dict[str, Any]:
    """Sources, triples, named graphs, commonest classes and predicates, as a JSON object.

    A triple that is in several named graphs counts once.

    :param shown: how many named graphs, classes and predicates; ``cuts`` says where there are more.
    """
    kind = "_distinct" if graph.may_repeat_triples else ""
    (triples,) = graph.select(Query.load(f"info_triples{kind}"))
    named = [str(solution["graph"]) for solution in graph.select(Query.load("info_graphs").limit(shown + 1))]
    counted = {
        what: _counts(graph, Query.load(query).limit(shown + 1), labels, prefixes)
        for what, query in (("classes", "info_classes"), ("predicates", f"info_predicates{kind}"))
    }
    cuts = []
    if len(named) > shown:
        (graphs,) = graph.select(Query.load("info_graph_count"))
        cuts.append(Cut("named graphs", shown, _number(graphs["count"])))
    cuts += [Cut(what, shown) for what, rows in counted.items() if len(rows) > shown]
    return {
        "name": graph.name,
        "triples": _number(triples["count"]),
        "sources": [asdict(source) for source in graph.stored],
        "named_graphs": named[:shown],
        **{what: rows[:shown] for what, rows in counted.items()},
        "cuts": [str(cut) for cut in cuts],
    }


def _counts(graph: OpenedGraph, query: Query, labels: Labels, prefixes: PrefixMap) -> list[dict[str, Any]]:
    solutions = graph.select(query)
    named = labels([solution["term"] for solution in solutions])
    return [
        {
            "term": str(term := solution["term"]),
            "curie": prefixes.compress(term) if isinstance(term, IRI) else str(term),
            "label": named[term],
            "count": _number(solution["count"]),
        }
        for solution in solutions
    ]


def _number(term: Term) -> int:
    return int(term.value) if isinstance(term, Literal) else 0
