"""What tells things apart that have the same label: a description, or what they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kgsparql.exploration.batched_select import batched_select, entities_of
from kgsparql.exploration.labels import language_ranges, language_rank
from kgsparql.graphs.protocols import KnowledgeGraph, Solution, naming_of
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, RDF_TYPE

__all__ = ["Description", "descriptions"]


@dataclass(frozen=True, slots=True)
class Description:
    """What a graph says of an entity in a few words.

    :param text: its best description; empty without any in these languages.
    :param classes: what its classes are called, in lexical order.
    """

    text: str = ""
    classes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Read:
    """The best text of each thing that was met, by what makes it the best."""

    texts: dict[Term, tuple[object, ...]] = field(default_factory=dict)
    classes: dict[tuple[Term, Term], tuple[object, ...]] = field(default_factory=dict)


def descriptions(
    graph: KnowledgeGraph, entities: Iterable[Term], *, languages: Sequence[str] = ("en",)
) -> dict[IRI, Description]:
    """The best description of each entity, and the names of its classes; one query for each chunk.

    In these languages, as ``mul``, without a tag or in English; of classes also ``instance of`` of Wikidata.

    :raises InputError: for a blank node or a literal.
    """
    starts = entities_of(entities)
    names = naming_of(graph).labels
    ranges = language_ranges(languages)
    of_it = Query.load("labels").bind(predicate=DESCRIPTIONS, range=ranges)
    of_class = Query.load("class_labels").bind(type=(RDF_TYPE, INSTANCE_OF), predicate=names, range=ranges)

    def query_of(chunk: Sequence[IRI], bound: int) -> Query:
        return Query.union([query.bind(entity=chunk).limit(bound + 1) for query in (of_it, of_class)])

    asked = batched_select(graph, query_of, starts, key_of=lambda solution: solution["entity"])
    read = _Read()
    for solution in asked.seen:
        _read(solution, languages, names, read)
    classes: dict[Term, list[str]] = {}
    for (entity, _), key in read.classes.items():
        classes.setdefault(entity, []).append(str(key[-1]))
    texts = {entity: str(key[-1]) for entity, key in read.texts.items()}
    return {e: Description(texts.get(e, ""), tuple(sorted(set(classes.get(e, ()))))) for e in starts}


def _read(solution: Solution, languages: Sequence[str], names: Sequence[IRI], read: _Read) -> None:
    literal, predicate = solution["label"], solution["predicate"]
    if not isinstance(literal, Literal) or not isinstance(predicate, IRI) or not any(map(str.isalnum, literal.value)):
        return
    order = names if "class" in solution else DESCRIPTIONS
    place = order.index(predicate) if predicate in order else len(order)
    key = (language_rank(literal.language, languages), place, literal.value.strip())
    if "class" in solution:
        of = solution["entity"], solution["class"]
        read.classes[of] = min(read.classes.get(of, key), key)
    else:
        read.texts[solution["entity"]] = min(read.texts.get(solution["entity"], key), key)
