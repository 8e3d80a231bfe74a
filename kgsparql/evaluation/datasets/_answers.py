"""Gold answers from the labels, IRIs and query results of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgsparql.evaluation.dataset import GoldAnswer
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, iri, local_name, normalised


def gold_of(
    labels: Sequence[str] | None, iris: Sequence[str] | None, names: Mapping[IRI, str] | None = None
) -> tuple[GoldAnswer, ...] | None:
    """Gold answers from a list of labels and a list of IRIs, either of which may be missing (``None``).

    - As many labels as IRIs: they are pairs.
    - No list of IRIs: the answers are known by name only, and have no term.
    - An empty list of IRIs: no answer is an IRI, so the texts are literals.
    - Another number of IRIs than of labels: the IRIs are the answers. The label of an IRI is the one that the question
      has elsewhere, or the only label, or the label that equals the end of the IRI.

    :param names: labels of terms that the question has elsewhere.

    >>> gold_of(["Bonn"], ["http://e.org/b"])[0].term, gold_of(["Bonn"], None)[0].term
    (<NamedNode value=http://e.org/b>, None)
    >>> gold_of(["8"], [])[0].term.value, gold_of(["8"], [])[0].label
    ('8', '8')
    >>> [answer.label for answer in gold_of(["Ann"], ["http://e.org/a1", "http://e.org/a2"])]
    ['Ann', 'Ann']
    """
    if iris is None:
        return None if labels is None else tuple(GoldAnswer(None, label) for label in dict.fromkeys(labels))
    texts = list(labels or ())
    if not iris:
        return tuple(GoldAnswer(Literal(text), text) for text in dict.fromkeys(texts))
    terms = [iri(text) for text in iris]
    if len(texts) == len(terms):
        first_labels = dict(zip(reversed(terms), reversed(texts), strict=True))
        return tuple(GoldAnswer(term, first_labels[term]) for term in dict.fromkeys(terms))
    spelled = {normalised(text): text for text in texts}
    only = texts[0] if len(texts) == 1 else ""
    known = names or {}
    return tuple(
        GoldAnswer(term, known.get(term) or only or spelled.get(normalised(local_name(term)), ""))
        for term in dict.fromkeys(terms)
    )


def gold_terms(rows: Iterable[Mapping[str, Term]], variables: Sequence[str]) -> tuple[Term, ...]:
    """The answers in the solutions of a query: each once, in their order.

    With one variable, all its terms. With several, every IRI of the rows, as literals then describe the IRIs; without
    IRIs, every literal. A blank node is never an answer: it has no name outside its graph.

    >>> rows = [{"film": IRI("http://e.org/f"), "year": Literal("1999")}]
    >>> gold_terms(rows, ("film", "year"))
    (<NamedNode value=http://e.org/f>,)
    """
    found = dict.fromkeys(
        row[name] for row in rows for name in variables if name in row and not isinstance(row[name], BlankNode)
    )
    if len(variables) > 1 and any(isinstance(term, IRI) for term in found):
        return tuple(term for term in found if isinstance(term, IRI))
    return tuple(found)
