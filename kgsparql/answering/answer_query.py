"""The one query of an answer, for who runs SPARQL: a SELECT or ASK that gives the answer's rows and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgsparql.plans.plan_compiler import asked_query
from kgsparql.rdf.path_queries import NOTHING, answers, joined_answers
from kgsparql.rdf.terms import IRI

if TYPE_CHECKING:
    from kgsparql.answering.answer import Answer
    from kgsparql.evidence.evidence import EvidenceItem
    from kgsparql.rdf.query import Query


def answer_query(answer: Answer) -> Query:
    """Return the query of what an answer comes to, doubted or not: no comments, prefixes, or columns beside it.

    ``SELECT * { FILTER(false) }`` stands for no answer, and for one that is in no graph.

    >>> import kgsparql
    >>> knowledge = kgsparql.open("fixtures/nobel.ttl", embedder="none")
    >>> answer_query(knowledge.ask("Is Paris the birthplace of Pierre Curie?")).text.split()[0]
    'ASK'
    >>> answer_query(knowledge.ask("Who is Batman?")).text
    'SELECT * { FILTER(false) }'
    """
    cited = [answer.evidence[marker] for marker in answer.cited]
    if answer.computed is not None and any(item.kind == "computed" for item in cited):
        return asked_query(answer.computed.plan, answer.computed.query)
    if not answer.best:
        return NOTHING
    shared = set.intersection(*(set(one.markers) for one in answer.best))
    leads = [answer.evidence[marker] for marker in answer.best[0].markers if marker in shared]
    if leads and len({path.start for item in leads for path in item.paths[:1]}) > 1:  # from each thing that is named
        return joined_answers((one for item in leads for one in _queries_of(item, answer)), in_all=True)
    leads = leads[:1] or [answer.evidence[one.markers[0]] for one in answer.best if one.markers]
    return joined_answers(one for item in leads for one in _queries_of(item, answer))


def _queries_of(item: EvidenceItem, answer: Answer) -> Iterator[Query]:
    """Yield what finds the answers of an item: its own query, or those of its paths, where it does not give them."""
    best = {one.term for one in answer.best if item.marker in one.markers}
    if "answer" in item.query.variables and not best.isdisjoint(item.ends):
        yield item.query
        return
    for path in item.paths:
        places = [place for place, term in enumerate(path.terms) if place and term in best]
        if places and isinstance(path.start, IRI):
            yield answers(path.property_path, path.start, place=places[-1])
