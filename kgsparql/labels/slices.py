"""The labels of the instances of some classes of an endpoint, read a page at a time and kept as they come."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kgsparql.errors import CancelledError, EndpointTimeoutError, LimitError, NotFoundError
from kgsparql.exploration.asking import ask_all
from kgsparql.graph import KnowledgeGraph, Solutions, naming_of
from kgsparql.labels.kept import KeptLabels, Page
from kgsparql.labels.rows import LabelRow, Progress, Role, label_row, with_short
from kgsparql.query import Query
from kgsparql.terms import IRI, Literal, Term
from kgsparql.vocabulary import ALTERNATIVE_LABELS, RDF_TYPE

__all__ = ["PAGE", "read_slice"]

PAGE = 1_000
"""Entities of a page, if the endpoint gives so many solutions."""


def read_slice(
    graph: KnowledgeGraph,
    classes: Sequence[IRI],
    kept: KeptLabels,
    *,
    limit: int,
    languages: Sequence[str] = ("en",),
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> int:
    """Read labels of instances of each class and keep every page; gives how many entities are kept of these classes.

    What an earlier run kept is not read again: after a Ctrl-C, an error or with a higher limit, it goes on from there.
    A page that the endpoint cut is no harm, the next one begins where it ends; so the last is one that is empty, or is
    short where it is known how many solutions the endpoint gives.

    :param limit: entities of each class, at most.
    :param languages: of the labels that are kept, beside those in no language, in ``mul`` and in English.
    :raises NotFoundError: for a class without instances.
    :raises LimitError: if the endpoint cannot put the instances of a class in order in time, or gives none of a page.
    :raises CancelledError: if ``cancel`` is set; the pages so far are kept.
    """
    total = 0
    for class_ in classes:
        page = kept.pages().get(class_.value, Page())
        while not page.whole and page.entities < limit:
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped while reading labels", hint="run it again: it goes on from here")
            size = min(PAGE, limit - page.entities, _most(graph))
            found = _found(graph, class_, page, size)
            entities = [entity for solution in found if isinstance(entity := solution["entity"], IRI)]
            if not entities and not page.entities:
                raise NotFoundError(
                    f"{class_} has no instances in {graph.name}", hint="name a class: kgsparql info shows the commonest"
                )
            rows = _rows(graph, entities, languages)
            last = entities[-1].value if entities else page.last
            page = Page(last, page.entities + len(entities), whole=_is_last(graph, found, size))
            kept.add_page(class_.value, rows, page)
            if progress is not None:
                progress("reading labels", page.entities, limit)
        total += page.entities
    return total


def _most(graph: KnowledgeGraph) -> int:
    """Solutions that the endpoint gives at once: one less than a result that may have been cut."""
    most = getattr(getattr(graph, "profile", None), "max_solutions", None)
    return PAGE if most is None else max(1, most - 1)


def _is_last(graph: KnowledgeGraph, page: Solutions, size: int) -> bool:
    """Whether nothing comes after a page; where nobody knows how many there are at most, a short one may be cut."""
    profile = getattr(graph, "profile", None)
    tells = profile is None or profile.max_solutions is not None
    return not page or (tells and page.complete and len(page) < size)


def _found(graph: KnowledgeGraph, class_: IRI, page: Page, size: int) -> Solutions:
    """The solutions of the next page; none only if there are no more.

    :raises LimitError: as :func:`read_slice`.
    """
    types = getattr(getattr(graph, "profile", None), "type_predicates", ())
    query = Query.load("slice_entities").bind(kind=[class_], predicate=[RDF_TYPE, *types], after=[Literal(page.last)])
    try:
        found = graph.select(query.limit(size))
    except EndpointTimeoutError as error:
        raise _too_many(graph, class_) from error
    if not found and not found.complete:
        raise _too_many(graph, class_)
    return found


def _too_many(graph: KnowledgeGraph, class_: IRI) -> LimitError:
    return LimitError(
        f"{graph.name}: the instances of {class_} are too many to be read in order",
        hint="name a narrower class: its instances are put in order by the endpoint", limit="labels",
    )  # fmt: skip


def _rows(graph: KnowledgeGraph, entities: Sequence[IRI], languages: Sequence[str]) -> list[LabelRow]:
    tags = dict.fromkeys([*(tag.lower() for tag in languages), "mul", "", "en"])
    query = Query.load("search_names").bind(
        predicate=naming_of(graph).names, language=[Literal(tag) for tag in tags]
    )  # fmt: skip

    def query_of(chunk: Sequence[Term], bound: int) -> Query:
        return query.bind(entity=chunk).limit(bound + 1)

    asked = ask_all(graph, query_of, entities, key_of=lambda solution: solution["entity"])
    rows: dict[LabelRow, None] = {}
    for solution in (*asked.solutions, *(s for some in asked.over.values() for s in some)):
        entity, label = solution["entity"], solution["label"]
        if isinstance(entity, IRI) and isinstance(label, Literal):
            role: Role = "alternative" if solution["predicate"] in ALTERNATIVE_LABELS else "label"
            row = label_row(entity.value, label.value, role=role, language=(label.language or "").lower(), degree=1)
            rows.update(dict.fromkeys(with_short(row)) if row is not None else {})
    return list(rows)
