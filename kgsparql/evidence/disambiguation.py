"""Things that are shown under the same label: each with a few words that tell it from the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.term_labels import TermLabels
from kgsparql.exploration import Description, descriptions
from kgsparql.rdf.terms import IRI, Term, local_name, normalised, printable

_LONGEST = 60
"""Characters of a description."""

_SENTENCE = re.compile(r"(?<=[^\W\d_]{3})[.;]\s|\n")
"""Where a first sentence ends: not after `St.`"""


def namesake_groups(named: Iterable[tuple[Term, str]]) -> list[list[IRI]]:
    """The terms that share a label with others, together.

    >>> a, b, c = (IRI(f"http://e.org/{name}") for name in "abc")
    >>> namesake_groups([(a, "Curie"), (b, "curie"), (c, "Joliot")]) == [[a, b]]
    True
    """
    groups: dict[str, dict[IRI, None]] = {}
    for term, label in named:
        if isinstance(term, IRI):
            groups.setdefault(normalised(label) or label, {})[term] = None
    return [list(group) for group in groups.values() if len(group) > 1]


def descriptions_of(groups: Sequence[Sequence[IRI]], terms: TermLabels) -> dict[Term, str]:
    """A few words for each term, which differ within a group; one query.

    Its description; else a class that the others are not of; else the end of its IRI.

    :raises KgsparqlError: if the graph fails, or the budget does not hold the query.
    """
    known = descriptions(terms.graph, [term for group in groups for term in group], languages=terms.languages)
    return {term: text for group in groups for term, text in _group_descriptions(group, known).items()}


def _group_descriptions(group: Sequence[IRI], known: Mapping[IRI, Description]) -> dict[Term, str]:
    counts = Counter(name for term in group for name in known[term].classes)
    own = {}
    for term in group:
        rarest = min(known[term].classes, key=lambda name: (counts[name], name), default="")
        sentence = printable(_SENTENCE.split(known[term].text, maxsplit=1)[0].strip(" ."), _LONGEST)
        own[term] = sentence if any(map(str.isalnum, sentence)) else printable(rarest, _LONGEST)
    repeated = Counter(text.casefold() for text in own.values())
    return {
        term: text if text and repeated[text.casefold()] == 1
        else ", ".join(filter(None, [text, printable(local_name(term), _LONGEST)]))
        for term, text in own.items()
    }  # fmt: skip


def described_starts(evidence: Evidence, descriptions: Mapping[Term, str], terms: TermLabels) -> Evidence:
    """The evidence, in which paths from different things of the same name do not read alike."""
    all_starts = {item.marker: {path.start for path in item.paths} for item in evidence}
    starts = {marker: own.pop() for marker, own in all_starts.items() if len(own) == 1 and own <= descriptions.keys()}
    labels = terms(starts.values())
    shared = Counter(labels.values())

    def with_description(item: EvidenceItem) -> EvidenceItem:
        start = starts.get(item.marker)
        label = "" if start is None else labels[start]
        if start is None or shared[label] == 1 or not item.text.startswith(label):
            return item
        return replace(item, text=f"{label} ({descriptions[start]}){item.text[len(label) :]}")

    return Evidence(map(with_description, evidence))
