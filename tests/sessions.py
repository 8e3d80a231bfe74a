"""Sessions without a knowledge base, for tests of single steps."""

from kgsparql.answering.entity_linking import link_entities
from kgsparql.answering.session import Session
from kgsparql.evidence.notes import Notes
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.graphs.metered_graph import MeteredGraph


def labels_of(graph: MeteredGraph) -> TermLabels:
    """The labels of a graph, of which nothing is known yet."""
    return TermLabels(graph, Notes(graph))


def linked(session: Session) -> Session:
    """The same session, after the first step of a question."""
    link_entities(session)
    return session
