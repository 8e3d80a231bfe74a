"""What terms are called and what they are; the graph is asked for each term at most once in a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsparql.evidence.notes import Notes
from kgsparql.exploration import Label, StatementSide, labels, types
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, local_name

_UNNAMED = "no time was left to ask what all of these are called: some are named by the ends of their IRIs"


@dataclass(slots=True)
class TermLabels:
    """Labels and classes of the terms of one graph, called as ``labels(terms)``.

    :param notes: takes what the reader should know of labels that could not be had; holds those that are known.
    :param remember: called with the labels that the graph was asked for.
    :param statements: what was asked of statements of a Wikibase; ``None`` for what they do not say.
    """

    graph: MeteredGraph
    notes: Notes
    languages: tuple[str, ...] = ("en",)
    remember: Callable[[Mapping[Term, Label]], None] = lambda _: None
    statements: dict[tuple[IRI, StatementSide], Triple | None] = field(default_factory=dict)
    _derived: set[Term] = field(default_factory=set)
    _types: dict[IRI, tuple[IRI, ...]] = field(default_factory=dict)

    def unlimited(self) -> TermLabels:
        """The same labels, with the graph asked however little of the budget is left."""
        return replace(self, graph=self.graph.unlimited())

    def __call__(self, terms: Iterable[Term], *, in_grace: bool = False) -> dict[Term, str]:
        """A label for each term.

        :param in_grace: the terms will be shown: their labels are asked for whatever the budget says. Where even the
            grace time is over, or the graph is lost, they are called by the ends of their IRIs.
        """
        known = self.notes.labels
        wanted = list(dict.fromkeys(terms))
        missing = [term for term in wanted if term not in known]
        if missing:
            found: Mapping[Term, Label] | None = None
            with self.notes.looking_up(in_grace=in_grace):
                found = labels(self._graph(in_grace=in_grace), missing, languages=self.languages)
            if found is None:
                if self.notes.lost is None:
                    self.notes.append(_UNNAMED, code="unlabelled")
                return {term: known.get(term) or _name_by_itself(term) for term in wanted}
            known.update({term: label.text for term, label in found.items()})
            self._derived.update(term for term, label in found.items() if label.derived)
            self.remember(found)
        return {term: known[term] for term in wanted}

    def learn(self, labels: Mapping[Term, str]) -> None:
        """Take these labels as known."""
        self.notes.labels.update(labels)

    def has_label(self, term: Term) -> bool:
        """Whether the graph itself says what a term is called, as far as it was asked."""
        return term not in self._derived

    def majority_types(self, groups: Sequence[Sequence[Sequence[Term]]], *, in_grace: bool = False) -> list[list[str]]:
        """What the terms at each place of some paths are, in words: the name of the class that most of them have.

        ``date``, ``number`` or ``text`` for literals.

        :param groups: groups of paths as terms in order; all paths of a group have the same length.
        :return: for each group, a name for each place.
        """
        terms = dict.fromkeys(term for group in groups for path in group for term in path if isinstance(term, IRI))
        missing = [term for term in terms if term not in self._types]
        if missing:
            found: Mapping[IRI, tuple[IRI, ...]] = {}
            with self.notes.looking_up(in_grace=in_grace):
                found = types(self._graph(in_grace=in_grace), missing)
            self._types.update({term: found.get(term, ()) for term in missing})
        classes = self(dict.fromkeys(c for term in terms for c in self._types[term]), in_grace=in_grace)
        return [[majority_type(place, self._types, classes) for place in zip(*group, strict=True)] for group in groups]

    def _graph(self, *, in_grace: bool) -> MeteredGraph:
        return self.graph.unlimited() if in_grace else self.graph


def _name_by_itself(term: Term) -> str:
    """What a term is called without asking the graph."""
    return local_name(term) if isinstance(term, IRI) else term.value if isinstance(term, Literal) else "[]"


def majority_type(terms: Iterable[Term], types_of: Mapping[IRI, tuple[IRI, ...]], classes: Mapping[Term, str]) -> str:
    """The name of what most of these terms are; among equals the first in lexical order, nothing where none is known.

    >>> majority_type([Literal("a"), Literal("b"), Literal(3)], {}, {})
    'text'
    """
    counts: Counter[str] = Counter()
    for term in dict.fromkeys(terms):
        if isinstance(term, Literal):
            counts[_literal_type(term)] += 1
        elif isinstance(term, IRI):
            counts.update(dict.fromkeys((classes[c] for c in types_of[term]), 1))
    return min(counts, key=lambda name: (-counts[name], name), default="")


def _literal_type(literal: Literal) -> str:
    name = literal.datatype.value.rsplit("#", 1)[-1]
    if name in {"date", "dateTime", "gYear", "gYearMonth", "time"} or name.startswith("dateTime"):
        return "date year"
    if name in {"integer", "decimal", "double", "float", "int", "long", "nonNegativeInteger", "positiveInteger"}:
        return "number"
    return "text"
