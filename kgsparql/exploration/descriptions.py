"""Short descriptions of entities, to tell apart those that have the same label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgsparql.exploration.batched_select import entities_of, select_about
from kgsparql.exploration.labels import language_ranges, language_rank
from kgsparql.graphs.protocols import KnowledgeGraph, Solution, naming_of
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, RDF_TYPE


@dataclass(frozen=True, slots=True)
class Description:
    """What a graph says of an entity in a few words.

    :param text: its best description; empty without any in these languages.
    :param classes: labels of its classes, in lexical order.
    """

    text: str = ""
    classes: tuple[str, ...] = ()


def descriptions(
    graph: KnowledgeGraph, entities: Iterable[Term], *, languages: Sequence[str] = ("en",)
) -> dict[IRI, Description]:
    """The best description of each entity, and the labels of its classes; one query for each chunk.

    In these languages, as ``mul``, without a tag or in English. ``instance of`` of Wikidata counts as a class, too.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    naming = naming_of(graph).labels
    ranges = language_ranges(languages)
    of_entity = Query.load("labels").bind(predicate=DESCRIPTIONS, range=ranges)
    of_class = Query.load("class_labels").bind(type=(RDF_TYPE, INSTANCE_OF), predicate=naming, range=ranges)
    texts: dict[Term, tuple[tuple[int, int], int, str]] = {}
    class_labels: dict[tuple[Term, Term], tuple[tuple[int, int], int, str]] = {}
    for solution in select_about(graph, [of_entity, of_class], starts).seen:
        rank = _rank(solution, languages, naming if "class" in solution else DESCRIPTIONS)
        if rank is None:
            continue
        if "class" in solution:
            about = solution["entity"], solution["class"]
            class_labels[about] = min(class_labels.get(about, rank), rank)
        else:
            texts[solution["entity"]] = min(texts.get(solution["entity"], rank), rank)
    classes: dict[Term, set[str]] = {}
    for (entity, _), (*_, text) in class_labels.items():
        classes.setdefault(entity, set()).add(text)
    return {e: Description(texts[e][-1] if e in texts else "", tuple(sorted(classes.get(e, ())))) for e in starts}


def _rank(
    solution: Solution, languages: Sequence[str], predicates: Sequence[IRI]
) -> tuple[tuple[int, int], int, str] | None:
    """How good a text is, the best first, and the text; ``None`` for no text."""
    literal, predicate = solution["label"], solution["predicate"]
    if not isinstance(literal, Literal) or not isinstance(predicate, IRI) or not any(map(str.isalnum, literal.value)):
        return None
    place = predicates.index(predicate) if predicate in predicates else len(predicates)
    return language_rank(literal.language, languages), place, literal.value.strip()
