"""Gold answers: what a method may name, from what a dataset says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgsparql.evaluation.dataset import GoldAnswer
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, iri, local_name, normalised

__all__ = ["gold_of", "gold_terms"]


def gold_of(
    labels: Sequence[str] | None, iris: Sequence[str] | None, names: Mapping[IRI, str] | None = None
) -> tuple[GoldAnswer, ...] | None:
    """Gold answers from a list of labels and a list of IRIs, either of which may be missing (``None``).

    - As many labels as IRIs: they are pairs.
    - No list of IRIs: the answers are known by name only, and have no term.
    - An empty list of IRIs: no answer is an IRI, so the texts are literals.
    - Another number of IRIs than of labels: the IRIs are the answers. The texts are then what the rows of a table also
      hold (numbers, names), or a name that several IRIs share. An IRI gets a label where one is known: from elsewhere
      in the question, as the only label, or as the label that the end of the IRI spells.

    :param names: labels of terms that the question has elsewhere.
    :raises IriError: for an IRI that is none.

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
        return tuple(GoldAnswer(term, label) for term, label in _first_labels(terms, texts).items())
    spelled = {normalised(text): text for text in texts}
    only = texts[0] if len(texts) == 1 else ""
    known = names or {}
    return tuple(
        GoldAnswer(term, known.get(term) or only or spelled.get(normalised(local_name(term)), ""))
        for term in dict.fromkeys(terms)
    )


def _first_labels(terms: Iterable[IRI], labels: Iterable[str]) -> dict[IRI, str]:
    found: dict[IRI, str] = {}
    for term, label in zip(terms, labels, strict=True):
        found.setdefault(term, label)
    return found


def gold_terms(rows: Iterable[Mapping[str, Term]], variables: Sequence[str]) -> tuple[Term, ...]:
    """The terms that are the answer, of the solutions of a query: each once, in their order.

    Of one variable all its terms. Of several, every IRI in the rows, whichever variable it is of, because the other
    cells then say something about it; where no row has an IRI, every literal. A blank node is never an answer: it has
    no name outside its graph.

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
