"""What the methods that walk from entity to entity have in common."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from kgsparql.answering.answer import Draft, Retrieval
from kgsparql.answering.composing import compose
from kgsparql.answering.session import Session
from kgsparql.exploration import PredicateCount, predicates
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import IRI, Term, local_name
from kgsparql.rdf.vocabulary import RDF_TYPE

__all__ = ["composed", "counted", "is_opaque", "linked_classes"]

_INSTANCES = Step(RDF_TYPE, "inverse")

_WORD = re.compile(r"(?<![^\W_])(?![0-9A-Fa-f]+(?![^\W_]))[^\W\d_]{4,}\d*(?![^\W_])|[^\W\d_\u0000-\u024f]")
"""A word, with a number or without, but no number in hexadecimal digits; or what is not written in Latin letters."""


def linked_classes(session: Session) -> frozenset[IRI]:
    """The classes that the question names, if their instances may be walked to."""
    if session.direction == "forward":
        return frozenset()
    return frozenset(link.term for link in session.link() if link.kind == "class")


def counted(
    entities: Iterable[Term], session: Session, *, skip: Collection[IRI], classes: Collection[IRI] = ()
) -> list[PredicateCount]:
    """The predicates at these entities, one query; one more if some are classes, whose instances are a step away.

    :param classes: those of the entities that the walk has begun at.
    """
    wanted = list(dict.fromkeys(entities))
    starts = [entity for entity in wanted if entity in classes]
    found = [predicates(session.graph, [e for e in wanted if e not in classes], direction=session.direction, skip=skip)]
    if starts:
        more = frozenset(skip) - {RDF_TYPE}
        found.append(predicates(session.graph, starts, direction=session.direction, skip=more))
    session.note_cuts(cut for own in found for cut in own.cuts)
    return [
        count for own in found for count in own.items if count.step.predicate != RDF_TYPE or count.step == _INSTANCES
    ]


def is_opaque(term: Term, session: Session) -> bool:
    """Whether a term has no label and its IRI says nothing either, such as ``Q7186-a1b2``; its label was asked for.

    ``IBM``, ``1984_Olympics`` and ``paper7`` say something.
    """
    if not isinstance(term, IRI) or session.has_label(term):
        return False
    name = local_name(term)
    return any(map(str.isdigit, name)) and not _WORD.search(name)


def composed(retrieval: Retrieval, session: Session) -> Draft:
    """The draft; that the facts are not enough is not said of the graph where calls were kept back on the way."""
    if retrieval.draft is not None:
        return retrieval.draft
    draft = compose(retrieval, session)
    if draft.sufficient is False and draft.grounding == "graph" and session.kept_a_call and not session.partial:
        session.notes.append(
            "the budget held too few model calls to look further: the graph may know more (raise it with --max-calls)"
        )
        session.partial = True
    return draft
