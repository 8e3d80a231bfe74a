"""An oracle instead of a model: it chooses what the gold path walks, and says when that is enough.

With it, the figures of a method are a ceiling: what is possible if every choice is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice, product
from urllib.parse import unquote

from kgsparql.answering.session import Oracle
from kgsparql.errors import IriError
from kgsparql.evaluation.dataset import Question
from kgsparql.exploration import predicate_counts, shortest_paths
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step, may_follow
from kgsparql.rdf.terms import IRI, Triple, iri

HOPS_TO_A_TRIPLE = 4  # at most so many hops lead from a topic of a question to a golden triple
_WAYS = 20  # shortest paths between the two that are compared
_PATHS = 64  # property paths that one list of names may mean, since several predicates may have the same name


def predicates_by_name(graph: KnowledgeGraph) -> dict[str, tuple[IRI, ...]]:
    """Sort the predicates of a graph by the last part of their IRIs, the commonest of a name first."""
    found: dict[str, tuple[IRI, ...]] = {}
    for predicate in predicate_counts(graph):
        name = unquote(predicate.value.rstrip("/#").replace("#", "/").rpartition("/")[2])
        found[name] = (*found.get(name, ()), predicate)
    return found


def gold_paths(question: Question, names: Mapping[str, tuple[IRI, ...]]) -> tuple[PropertyPath, ...]:
    """Return the property paths that the path of a question may mean; none if the graph lacks a predicate of it.

    >>> question = Question(id="1", text="?", path=("^at", "http://e.org/of"))
    >>> [str(path) for path in gold_paths(question, {"at": (IRI("http://e.org/at"), IRI("http://f.org/at"))})]
    ['^<http://e.org/at>/<http://e.org/of>', '^<http://f.org/at>/<http://e.org/of>']
    """
    steps = [_possible_steps(name, names) for name in question.path]
    return tuple(PropertyPath(own) for own in islice(product(*steps), _PATHS)) if steps else ()


def _possible_steps(name: str, names: Mapping[str, tuple[IRI, ...]]) -> list[Step]:
    """Return the steps that one name of a path may mean."""
    plain = name.removeprefix("^").removeprefix("<").removesuffix(">")
    found = names.get(plain, ())
    if not found and ":" in plain:
        with suppress(IriError):
            found = (iri(plain),)
    return [Step(predicate, "inverse" if name.startswith("^") else "forward") for predicate in found]


def paths_to_triples(question: Question, graph: KnowledgeGraph) -> tuple[PropertyPath, ...]:
    """Find the shortest ways from the topics of a question to and along each of its golden triples."""
    found: dict[PropertyPath, None] = {}
    for triple in question.golden_triples:
        ways = (way for topic in question.topics for way in _ways_to(topic.iri, triple, graph))
        best = min(ways, key=lambda path: (len(path.steps), path), default=None)
        if best is not None:
            found[best] = None
    return tuple(found)


def _ways_to(topic: IRI, triple: Triple, graph: KnowledgeGraph) -> Iterator[PropertyPath]:
    """Yield the best ways from a topic to each end of a triple that has a name, and along the triple, never back."""
    for hop in (Hop(triple), Hop(triple).reversed):
        if isinstance(hop.start, IRI) and hop.end != topic:
            for way in shortest_paths(graph, topic, hop.start, max_hops=HOPS_TO_A_TRIPLE, limit=_WAYS).items:
                if hop.triple not in way.triples and (not way.hops or may_follow(way.hops[-1], hop)):
                    yield way.then(Path(hop.start, (hop,))).property_path


def oracle_for(
    question: Question, names: Mapping[str, tuple[IRI, ...]], graph: KnowledgeGraph | None = None
) -> Oracle | None:
    """Return the oracle of a question; ``None`` if the way to its answers is not known.

    If the path is known, the oracle chooses what begins it, and stops when it has been walked. Else it chooses what
    leads from the topics to the golden triples (without a graph, just their predicates), and stops when the evidence
    has all of them, or every way to them has been walked.
    """
    paths, triples = gold_paths(question, names), question.golden_triples
    if not paths and not triples:
        return None
    if paths:
        triples = ()
    elif graph is not None:
        paths = paths_to_triples(question, graph)
    predicates = {step.predicate for path in paths for step in path.steps} | {triple.predicate for triple in triples}
    return Oracle(frozenset(predicates), paths, tuple(triples))
