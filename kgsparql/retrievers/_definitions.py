"""What a question gets that only asks what something is: its description, and what kind of thing it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import EvidenceItem
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.linking.answer_type import asks_what_it_is
from kgsparql.linking.words import root, words
from kgsparql.rdf.paths import PropertyPath, Step, Walk
from kgsparql.rdf.terms import IRI, Literal, Term, normalised
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, RDF_TYPE, SUBCLASS_OF

_JOB = root("profession")
_KINDS = (RDF_TYPE, INSTANCE_OF, SUBCLASS_OF)
_OF_SCHEMA = ("http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#")
"""Beginnings of the IRIs of classes that say nothing to a reader, such as `owl:NamedIndividual`."""


def definitions(session: Session, around: Iterable[IRI]) -> list[EvidenceItem]:
    """An item for each predicate that describes the thing asked for or says its kind; no kind alone for `who`.

    Who somebody is, their profession says first. Of descriptions in several languages, those of the first language of
    the reader that there is. Two queries.

    :param around: predicates whose subject it is.
    """
    if session.direction == "inverse" or not asks_what_it_is(session.own_words, session.links):
        return []
    start = session.links[0].term
    asks_who = session.own_words.casefold().startswith("who")
    names = session.labels(around) if asks_who else {}
    jobs = [p for p, name in names.items() if isinstance(p, IRI) and _JOB in map(root, words(normalised(name)))]
    walks = [Walk(start, PropertyPath((Step(p, "forward"),))) for p in (*jobs, *DESCRIPTIONS, *_KINDS)]

    def for_reader(ends: Sequence[Term]) -> list[Term]:
        own = [end for end in ends if not (isinstance(end, IRI) and end.value.startswith(_OF_SCHEMA))]
        tagged = {end.language or "" for end in own if isinstance(end, Literal)}
        first = next((tag for tag in (*session.labels.languages, "", "en") if tag in tagged), None)
        return [end for end in own if first is None or not isinstance(end, Literal) or (end.language or "") == first]

    found = [item for item in expanded_items(walks, session.labels, keep=for_reader) if item is not None]
    is_described = bool(jobs) or any(isinstance(end, Literal) for item in found for end in item.ends)
    return found if is_described or not asks_who else []
