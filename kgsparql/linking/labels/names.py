"""Names that a graph is asked for: what it calls some entities, and what it calls exactly so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kgsparql.exploration.batched_select import batched_select
from kgsparql.graphs.protocols import KnowledgeGraph, Solution, naming_of
from kgsparql.linking.labels.rows import Kind, LabelRow, Role, label_row, with_short
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal, Term, text_literal
from kgsparql.rdf.vocabulary import ALTERNATIVE_LABELS

__all__ = ["Name", "entities_named", "language_tags", "names_in", "names_of"]


@dataclass(frozen=True, slots=True)
class Name:
    """One name of one entity.

    :param language: in lower case; empty for none.
    """

    iri: str
    text: str
    role: Role
    language: str

    def rows(self, *, kind: Kind = "entity", degree: int = 1) -> Iterator[LabelRow]:
        """What is searched for it, as of a label that was read; nothing for one that says nothing."""
        row = label_row(self.iri, self.text, role=self.role, language=self.language, kind=kind, degree=degree)
        return iter(()) if row is None else with_short(row)


def language_tags(languages: Iterable[str]) -> tuple[str, ...]:
    """The languages that names are asked for in: the reader's, then those that everybody reads; empty for none.

    >>> language_tags(["de", "en-GB"])
    ('de', 'en-gb', 'mul', '', 'en')
    """
    return tuple(dict.fromkeys((*(tag.lower() for tag in languages), "mul", "", "en")))


def names_of(graph: KnowledgeGraph, entities: Sequence[IRI], tags: Sequence[str]) -> list[Name]:
    """What a graph calls some entities, each name once.

    :param tags: as :func:`language_tags`.
    """
    query = Query.load("search_names").bind(predicate=naming_of(graph).names, language=map(Literal, tags))
    return _asked(graph, query, "entity", entities)


def entities_named(graph: KnowledgeGraph, query: Query, texts: Sequence[str], tags: Sequence[str]) -> list[Name]:
    """The names that are exactly one of some texts, in one of some languages.

    :param query: finds them by ``?label``.
    :raises InputError: for a language tag that is not one.
    """
    return _asked(graph, query, "label", [text_literal(text, tag) for text in texts for tag in tags])


def names_in(solutions: Iterable[Solution]) -> list[Name]:
    """The names in solutions with ``?entity``, ``?label`` and maybe ``?predicate``, each once."""
    found: dict[Name, None] = {}
    for solution in solutions:
        entity, label = solution.get("entity"), solution.get("label")
        if isinstance(entity, IRI) and isinstance(label, Literal):
            role: Role = "alternative" if solution.get("predicate") in ALTERNATIVE_LABELS else "label"
            found[Name(entity.value, label.value, role, (label.language or "").lower())] = None
    return list(found)


def _asked(graph: KnowledgeGraph, query: Query, parameter: str, terms: Sequence[Term]) -> list[Name]:
    def query_of(chunk: Sequence[Term], bound: int) -> Query:
        return query.bind(**{parameter: chunk}).limit(bound + 1)

    asked = batched_select(graph, query_of, terms, key_of=lambda solution: solution[parameter])
    return names_in(asked.seen)
