"""What the terms are called, and what they are, that come up on the way of a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kgsparql.answering.notes import Telling
from kgsparql.evidence.kinds import commonest_kind
from kgsparql.exploration import Label, labels, types
from kgsparql.graphs.metered import MeteredGraph
from kgsparql.rdf.terms import IRI, Literal, Term, local_name

__all__ = ["TermNames"]

_UNNAMED = "no time was left to ask what all of these are called: some are named by the ends of their IRIs"


@dataclass(slots=True, kw_only=True)
class TermNames(Telling):
    """Labels and classes of terms; the graph is asked for each at most once.

    :param languages: of labels, the preferred first.
    :param remember: told each label that was asked of the graph.
    """

    languages: tuple[str, ...] = ("en",)
    remember: Callable[[Mapping[Term, Label]], None] = lambda _: None
    _derived: set[Term] = field(default_factory=set)
    _types: dict[IRI, tuple[IRI, ...]] = field(default_factory=dict)

    def labels(self, terms: Iterable[Term], *, in_grace: bool = False) -> dict[Term, str]:
        """A label for each term, asked of the graph at most once in this session.

        :param in_grace: the terms will be shown: their labels are asked for whatever the budget says. Where even the
            grace time is over, or the graph is lost, they are called by the ends of their IRIs.
        """
        wanted = list(dict.fromkeys(terms))
        missing = [term for term in wanted if term not in self._labels]
        if missing:
            found: Mapping[Term, Label] | None = None
            with self.looking_up(in_grace=in_grace):
                found = labels(self._graph(in_grace=in_grace), missing, languages=self.languages)
            if found is None:
                self.notes += [_UNNAMED] if self.lost is None else []
                return {term: self._labels.get(term) or _own_name(term) for term in wanted}
            self._labels.update({term: label.text for term, label in found.items()})
            self._derived.update(term for term, label in found.items() if label.derived)
            self.remember(found)
        return {term: self._labels[term] for term in wanted}

    def has_label(self, term: Term) -> bool:
        """Whether the graph itself says what a term is called, as far as :meth:`labels` has asked it."""
        return term not in self._derived

    def kinds(self, ways: Sequence[Sequence[Sequence[Term]]], *, in_grace: bool = False) -> list[list[str]]:
        """What the terms at each place are, in words, for groups of ways of the same length.

        The name of the class that most of the terms at a place have; ``date``, ``number`` or ``text`` for literals.

        :param ways: for each group, ways as terms in order; all ways of a group have the same length.
        :param in_grace: as for :meth:`labels`.
        """
        terms = dict.fromkeys(term for group in ways for way in group for term in way if isinstance(term, IRI))
        missing = [term for term in terms if term not in self._types]
        if missing:
            found: Mapping[IRI, tuple[IRI, ...]] = {}
            with self.looking_up(in_grace=in_grace):
                found = types(self._graph(in_grace=in_grace), missing)
            self._types.update({term: found.get(term, ()) for term in missing})
        classes = self.labels(dict.fromkeys(c for term in terms for c in self._types[term]), in_grace=in_grace)
        return [[commonest_kind(place, self._types, classes) for place in zip(*group, strict=True)] for group in ways]

    def _graph(self, *, in_grace: bool) -> MeteredGraph:
        return self.graph.unlimited() if in_grace else self.graph


def _own_name(term: Term) -> str:
    if isinstance(term, IRI):
        return local_name(term)
    return term.value if isinstance(term, Literal) else "[]"
