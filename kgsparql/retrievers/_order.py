"""Whether the order in which a ranker brought paths says anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgsparql.answering.session import Session
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.models.embedding import INSTALL_HINT
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import Term

__all__ = ["note_order"]


def note_order(
    paths: Iterable[tuple[PropertyPath, Sequence[str]]],
    session: Session,
    *,
    words: Mapping[Term, str] | None = None,
) -> bool:
    """Tell the reader, once, if a ranker by words had nothing to go by: no path has a word of the question.

    :param paths: each with the kinds along it, the start's first.
    :param words: of predicates, that were compared with the question in place of their labels.
    :return: whether it is so. By meaning no two paths are the same.
    """
    if not isinstance(session.ranker, BM25Ranker):
        return False
    own = list(paths)
    named = {**session.labels((step.predicate for path, _ in own for step in path), in_grace=True), **(words or {})}
    texts = {" ".join((*(named[step.predicate] for step in path), *kinds[1:])) for path, kinds in own}
    if len(texts) < 2 or session.ranker.rank(session.masked_question, sorted(texts)).any():
        return False
    note = (
        "uncertain: no path has a word of the question, so their order means little (an embedding model compares by "
        f"meaning: {INSTALL_HINT}, or leave out --embedder none)"
    )
    if note not in session.notes:
        session.notes.append(note)
    return True
