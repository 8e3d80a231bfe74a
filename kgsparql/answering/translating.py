"""Questions of other languages, read in English."""

from __future__ import annotations

from copy import copy
from threading import Lock
from weakref import WeakKeyDictionary

from kgsparql.answering.plan_question import classes_of, predicates_of, unmetered
from kgsparql.answering.session import Session
from kgsparql.dataclasses import replace
from kgsparql.exploration import labels
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.combined import CombinedLabels
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import Kind, LabelRow, label_row
from kgsparql.rdf.terms import IRI
from kgsparql.reading.lexicon import glossary, lexicon
from kgsparql.reading.translation import label_in_english, language_in, translated

_ENGLISH: WeakKeyDictionary[KnowledgeGraph, dict[str, tuple[LabelRow, ...]]] = WeakKeyDictionary()
"""By language, the English names of what has only names in that language; read once."""
_KEEPING = Lock()


def translate(session: Session, language: str = "") -> None:
    """Take the question of a session for what it is in English; labels in its own language are shown before others.

    :param language: of the question; empty if its words are to tell.
    """
    english = lexicon().language
    with session.within_budget():  # labels at an endpoint are looked up
        search = None if session.linker is None else session.linker.search
        tag = language or language_in(session.question, search)
        if tag == english:
            return
        if session.linker is not None and search is not None and (rows := _english_rows(session, tag)):
            search = CombinedLabels((search, PackedLabels.of(rows)))
            session.linker = copy(session.linker)
            session.linker.search = search
            session.compared = {IRI(row.iri): row.text for row in rows} | session.compared
        called = replace(session.labels, known=session.compared)
        session.translation = translated(session.question, tag, search, lambda term: called([term])[term])
        session.question = session.translation.text
        session.labels = replace(session.labels, languages=(tag, *session.labels.languages))


def _english_rows(session: Session, tag: str) -> tuple[LabelRow, ...]:
    """Name the classes and predicates in English that have only names in another language.

    They are known of the graph, not of a question: the queries are charged to none, or they would be to the first one.
    """
    kinds: dict[IRI, Kind] = dict.fromkeys(predicates_of(session), "predicate")
    kinds |= dict.fromkeys(classes_of(session), "class")
    graph = session.graph.graph
    with _KEEPING:
        known = _ENGLISH.setdefault(graph, {})
        if tag not in known:
            english, found = lexicon().language, labels(unmetered(session), kinds, languages=(lexicon().language,))
            own = {term: found[term].text for term in kinds if (found[term].language or "").partition("-")[0] == tag}
            said = {term: label_in_english(text, glossary(tag)) for term, text in own.items()}
            named = ((term, text) for term, text in said.items() if text != own[term])
            rows = (label_row(term.value, text, language=english) for term, text in named)
            known[tag] = tuple(row._replace(kind=kinds[IRI(row.iri)], degree=1) for row in rows if row is not None)
        return known[tag]
