"""The labels of the instances of some classes of an endpoint, read a page at a time and kept as they come."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kgsparql.errors import CancelledError, EndpointTimeoutError, LimitError, NotFoundError
from kgsparql.graphs.profiles import WithProfile, profile_of
from kgsparql.graphs.protocols import KnowledgeGraph, Solutions
from kgsparql.linking.labels.kept import KeptLabels, Page
from kgsparql.linking.labels.names import language_tags, names_of
from kgsparql.linking.labels.rows import Progress
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Literal
from kgsparql.rdf.vocabulary import RDF_TYPE

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
            rows = [row for name in names_of(graph, entities, language_tags(languages)) for row in name.rows()]
            last = entities[-1].value if entities else page.last
            page = Page(last, page.entities + len(entities), whole=_is_last(graph, found, size))
            kept.add_page(class_.value, rows, page)
            if progress is not None:
                progress("reading labels", page.entities, limit)
        total += page.entities
    return total


def _most(graph: KnowledgeGraph) -> int:
    """Solutions that the endpoint gives at once: one less than a result that may have been cut."""
    most = profile_of(graph).max_solutions
    return PAGE if most is None else max(1, most - 1)


def _is_last(graph: KnowledgeGraph, page: Solutions, size: int) -> bool:
    """Whether nothing comes after a page; where nobody knows how many there are at most, a short one may be cut."""
    tells = not isinstance(graph, WithProfile) or graph.profile.max_solutions is not None
    return not page or (tells and page.complete and len(page) < size)


def _found(graph: KnowledgeGraph, class_: IRI, page: Page, size: int) -> Solutions:
    """The solutions of the next page; none only if there are no more.

    :raises LimitError: as :func:`read_slice`.
    """
    types = [RDF_TYPE, *profile_of(graph).type_predicates]
    query = Query.load("slice_entities").bind(kind=[class_], predicate=types, after=[Literal(page.last)])
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
