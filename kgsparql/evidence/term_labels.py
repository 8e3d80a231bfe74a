"""What terms are called and what they are, and what tells those of the same name apart.

The graph is asked for each term at most once in a question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain

from kgsparql.dataclasses import dataclass, field, replace
from kgsparql.errors import QueryError
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.notes import Notes
from kgsparql.evidence.verbalising import with_statements
from kgsparql.exploration import Label, descriptions, labels
from kgsparql.exploration.labels import named_types, own_label
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.rdf.literals import literal_kind
from kgsparql.rdf.paths import Path, Walk
from kgsparql.rdf.terms import IRI, Labels, Literal, Term, grouped, iris_in, local_name, normalised, printable
from kgsparql.rdf.vocabulary import is_mediator
from kgsparql.schema.known_names import name_of_code

_UNNAMED = "no time was left to ask what all of these are called: some are named by the ends of their IRIs"

_LONGEST_DESCRIPTION = 60
_MOST_SHARED = 50_000  # labels that are kept of a graph for all questions: 10 MB
_SENTENCE = re.compile(r"(?<=[^\W\d_]{3})[.;]\s|\n")  # where a first sentence ends: not after `St.`


@dataclass(slots=True)
class TermLabels:
    """Labels and classes of the terms of one graph, called as ``labels(terms)``.

    :param notes: takes what the reader should know of labels that could not be had; holds those that are known.
    :param known: in place of those that the notes hold.
    :param said_as: what a question calls predicates that have several names; only to compare its words with.
    :param shared: labels that the graph gives whoever asks, by the languages they were asked for in.
    :param walked: all ends of the walks that were followed to all of them.
    """

    graph: MeteredGraph
    notes: Notes
    languages: tuple[str, ...] = ("en",)
    known: dict[Term, str] | None = None
    said_as: Labels = field(default_factory=dict)
    shared: dict[tuple[str, ...], dict[Term, Label]] = field(default_factory=dict)
    walked: dict[Walk, tuple[Term, ...]] = field(default_factory=dict, repr=False)
    _derived: set[Term] = field(default_factory=set)
    _types: dict[Term, tuple[IRI, ...]] = field(default_factory=dict)

    def unlimited(self) -> TermLabels:
        """Get the same labels, with the graph asked however little of the budget is left."""
        return replace(self, graph=self.graph.unlimited())

    def __call__(self, terms: Iterable[Term], *, in_grace: bool = True) -> dict[Term, str]:
        """Find a label for each term.

        :param in_grace: the terms will be shown: their labels are asked for whatever the budget says. Where even the
            grace time is over, or the graph is lost, they are called by the ends of their IRIs. ``False`` for terms
            that are only compared, or shown if the budget allows it.
        """
        known, wanted = self.notes.labels if self.known is None else self.known, dict.fromkeys(terms)
        if new := [term for term in wanted if term not in known]:
            shared = self.shared.setdefault(self.languages, {})
            self._keep(shared, new)
            if missing := [term for term in new if term not in known]:
                found: Mapping[Term, Label] | None = None
                with self.asking(in_grace=in_grace) as graph:
                    found = labels(graph, missing, languages=self.languages)
                if found is None and self.notes.lost is None:
                    self.notes.append(_UNNAMED, code="unlabelled")
                if found is None:
                    return {term: known.get(term) or own_label(term).text for term in wanted}
                self._keep(found, found)
                if self.graph.is_as_loaded and len(shared) < _MOST_SHARED:
                    shared.update((term, found[term]) for term in iris_in(found))
        return {term: self.said_as.get(term) or known[term] for term in wanted}

    def _keep(self, found: Mapping[Term, Label], terms: Iterable[Term]) -> None:
        known = self.notes.labels if self.known is None else self.known
        for term in terms:
            if term in found and term not in known:
                known[term] = found[term].text
                if found[term].derived:
                    self._derived.add(term)
                    known[term] = (isinstance(term, IRI) and name_of_code(term)) or known[term]

    def learn_schema(self, terms: Iterable[Term]) -> None:
        """Read what predicates and classes are called: once for all questions, where that costs no request."""
        known = self.shared.setdefault(self.languages, {})
        missing = [term for term in terms if term not in known]
        if self.graph.is_remote:
            self(missing)
        elif missing:
            with self.asking(in_grace=True) as graph:
                known |= labels(graph.shared(), missing, languages=self.languages)

    def has_label(self, term: Term) -> bool:
        """Tell whether the graph itself says what a term is called, as far as it was asked."""
        return term not in self._derived

    def majority_types(self, groups: Sequence[Sequence[Sequence[Term]]], *, in_grace: bool = False) -> list[list[str]]:
        """Say what the terms at each place of some paths are: the name of the class that most of them have.

        ``date``, ``number`` or ``text`` for literals.

        :param groups: groups of paths as terms in order; all paths of a group have the same length.
        :return: for each group, a name for each place.
        """
        places = [list(zip(*group, strict=True)) for group in groups]
        counts = iter(self._type_counts([place for own in places for place in own], in_grace=in_grace))
        return [[max(sorted(own := next(counts)), key=own.__getitem__, default="") for _ in group] for group in places]

    def learn(self, terms: Iterable[Term]) -> None:
        """Find classes and labels of terms that will be shown, of an endpoint in one query."""
        if self.graph.is_remote:
            self._type_counts([[one for one in terms if not is_mediator(one)]], in_grace=True)

    def shared_types(self, groups: Sequence[Sequence[Term]]) -> list[list[str]]:
        """Name, for each group of terms, all classes that at least half of them have."""
        counts = self._type_counts(groups, in_grace=True)
        return [[n for n, c in own.items() if 2 * c >= len(group)] for own, group in zip(counts, groups, strict=True)]

    def _type_counts(self, groups: Sequence[Sequence[Term]], *, in_grace: bool) -> list[Counter[str]]:
        """Count how many of the terms of each group have each class, by its name; classes are remembered."""
        terms = iris_in(dict.fromkeys(chain.from_iterable(groups)))
        if missing := [term for term in terms if term not in self._types]:
            found: Mapping[IRI, tuple[IRI, ...]] = {}
            called: Mapping[Term, Label] = {}
            with self.asking(in_grace=in_grace) as graph:
                found, called = named_types(graph, missing, languages=self.languages)
            self._keep(called, called)
            self._types.update({term: found.get(term, ()) for term in missing})
        classes = {term: self._types[term] for term in terms}
        names = self(chain.from_iterable(dict.fromkeys(classes.values())), in_grace=in_grace)
        called_so = {own: [*dict.fromkeys(names[one] for one in own)] for own in {*classes.values()}}
        said: dict[Term, list[str]] = {term: called_so[own] for term, own in classes.items()}
        said |= {one: [_kind_of_text(one)] for one in chain(*groups) if isinstance(one, Literal)}
        # In their order, whatever the hashes.
        return [Counter(chain.from_iterable([said.get(one, ()) for one in dict.fromkeys(group)])) for group in groups]

    @contextmanager
    def asking(self, *, in_grace: bool) -> Iterator[MeteredGraph]:
        """Give the graph to be asked; ``in_grace``, whatever the budget says, and what goes wrong is a note."""
        if not in_grace:
            yield self.graph
            return
        with self.notes.within_budget(QueryError):
            yield self.graph.unlimited()


def _kind_of_text(term: Literal) -> str:
    kind = "date" if term.datatype.value.endswith("#time") else literal_kind(term)
    return {"date": "date year", "number": kind}.get(kind, "text")


def namesake_groups(named: Iterable[tuple[Term, str]]) -> list[list[IRI]]:
    """Group the terms that share a label."""
    groups = grouped(
        dict.fromkeys((normalised(label) or label, term) for term, label in named if isinstance(term, IRI))
    )
    return [group for group in groups.values() if len(group) > 1]


def descriptions_of(groups: Sequence[Sequence[IRI]], terms: TermLabels) -> dict[Term, str]:
    """Find a few words for each term, which differ within a group; one query.

    Its description; else a class that the others are not of; else the end of its IRI.

    :raises KgsparqlError: if the graph fails, or the budget does not hold the query.
    """
    known = descriptions(terms.graph, [term for group in groups for term in group], languages=terms.languages)
    found: dict[Term, str] = {}
    for group in groups:
        counts = Counter(name for term in group for name in known[term].classes)
        texts = {}
        for term in group:
            rarest = min(known[term].classes, key=lambda name: (counts[name], name), default="")
            sentence = _SENTENCE.split(known[term].text, maxsplit=1)[0].strip(" .")
            texts[term] = printable(sentence if any(map(str.isalnum, sentence)) else rarest, _LONGEST_DESCRIPTION)
        repeated = Counter(map(str.casefold, texts.values()))
        for term, text in texts.items():
            is_telling = text and repeated[text.casefold()] == 1
            own = "" if is_telling else printable(local_name(term), _LONGEST_DESCRIPTION)
            found[term] = ", ".join(filter(None, (text, own)))
    return found


def described_starts(evidence: Evidence, descriptions: Labels, terms: TermLabels) -> Evidence:
    """Tell paths from different things of the same name apart in the texts of the evidence."""
    all_starts = {item.marker: {path.start for path in item.paths} for item in evidence}
    starts = {marker: own.pop() for marker, own in all_starts.items() if len(own) == 1 and own <= descriptions.keys()}
    labels = terms(starts.values(), in_grace=False)
    shared = Counter(labels.values())
    described = []
    for item in evidence:
        label = labels[starts[item.marker]] if item.marker in starts else ""
        if shared[label] > 1 and item.text.startswith(label):
            told = f"{label} ({descriptions[starts[item.marker]]})"
            if not item.text.startswith(told):  # it is described already
                item = replace(item, text=f"{told}{item.text[len(label) :]}")  # noqa: PLW2901
        described.append(item)
    return Evidence(described)


def terms_of(ways: Iterable[Path]) -> Iterator[Term]:
    """List the subject, predicate and object of every triple on these paths."""
    return (term for way in ways for triple in way.triples for term in triple)


def labels_from_items(items: Iterable[EvidenceItem], labels: Labels) -> Labels:
    """Labels in which the statements of these items have names: of one in several items, that in the first."""
    for item in reversed(list(items)):
        labels = with_statements(labels, item.paths, [cited.triple for cited in item.triples])
    return labels
