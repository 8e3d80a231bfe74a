"""Things that are shown under the same label: each with a few words that tell it from the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kgsparql.answering.answer import AnswerTerm, Retrieval
from kgsparql.answering.notes import NAMESAKES_TOLD, link_notes
from kgsparql.answering.session import Session
from kgsparql.errors import GRAPH_FAILED, BudgetExceededError
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.exploration import Description, descriptions
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.rdf.terms import IRI, Term, local_name, normalised, printable

__all__ = ["links_told_apart", "told_apart"]

_ANSWERS = 10
"""Candidates that are listed."""

_LONGEST = 60
"""Characters of a description."""

_SENTENCE = re.compile(r"(?<=[^\W\d_]{3})[.;]\s|\n")
"""Where a first sentence ends: not after `St.`"""


def told_apart(found: Retrieval, session: Session) -> Retrieval:
    """The retrieval with descriptions of candidates that have the same label as others, or as what was linked.

    Evidence that starts from one of several namesakes says from which. What was linked, and the notes about it, have
    descriptions from then on, too. One query where there are such and the budget holds it, else none.
    """
    links = session.link()
    drafted = found.draft.answers if found.draft is not None else ()
    answers = (*found.candidates[:_ANSWERS], *drafted[:_ANSWERS])
    groups = _groups([(a.term, a.label) for a in answers] + _named(links))
    if not groups or session.lost is not None:
        return found
    try:
        terms = [term for group in groups for term in group]
        known = descriptions(session.graph, terms, languages=session.languages)
    except GRAPH_FAILED as error:
        session.lose(error)
        return found
    except BudgetExceededError as error:
        if not session.partial:
            session.notes.append(f"{error.message}: things of the same name are not told apart")
        return found
    for group in groups:
        session.descriptions.update(_texts(group, known))
    notes = dict(zip(link_notes(links), link_notes(links_told_apart(session)), strict=True))
    session.notes[:] = [notes.get(note, note) for note in session.notes]
    draft = found.draft and replace(found.draft, answers=_with(found.draft.answers, session.descriptions))
    evidence = _starts_told_apart(found.evidence, session)
    return replace(found, evidence=evidence, candidates=_with(found.candidates, session.descriptions), draft=draft)


def _starts_told_apart(evidence: Evidence, session: Session) -> Evidence:
    """The evidence, of which paths from different things of the same name do not read alike."""
    starts = {item.marker: start for item in evidence if (start := _start_of(item)) in session.descriptions}
    labels = session.labels(dict.fromkeys(starts.values()))
    shared = Counter(labels.values())

    def told(item: EvidenceItem) -> EvidenceItem:
        start = starts.get(item.marker)
        label = "" if start is None else labels[start]
        if start is None or shared[label] == 1 or not item.text.startswith(label):
            return item
        return replace(item, text=f"{label} ({session.descriptions[start]}){item.text[len(label) :]}")

    return Evidence(map(told, evidence))


def _start_of(item: EvidenceItem) -> Term | None:
    """The term from which all paths of an item start, if they start from one."""
    starts = {way.start for way in item.ways or (() if item.path is None else (item.path,))}
    return starts.pop() if len(starts) == 1 else None


def links_told_apart(session: Session) -> tuple[LinkedEntity, ...]:
    """The entities of the question, with the descriptions that :func:`told_apart` has found."""
    known = session.descriptions

    def of(entity: LinkedEntity) -> LinkedEntity:
        others = tuple(replace(c, description=known.get(c.term, "")) for c in entity.candidates)
        return replace(entity, description=known.get(entity.term, ""), candidates=others)

    return tuple(map(of, session.link())) if known else session.link()


def _named(links: Iterable[LinkedEntity]) -> list[tuple[Term, str]]:
    """The links, and their namesakes of which a reader is told, by the label of the link."""
    return [(e.term, link.label) for link in links for e in (link, *link.namesakes[:NAMESAKES_TOLD])]


def _groups(named: Iterable[tuple[Term, str]]) -> list[list[IRI]]:
    """The terms that share a label with others, together."""
    groups: dict[str, dict[IRI, None]] = {}
    for term, label in named:
        if isinstance(term, IRI):
            groups.setdefault(normalised(label) or label, {})[term] = None
    return [list(group) for group in groups.values() if len(group) > 1]


def _texts(group: Sequence[IRI], known: Mapping[IRI, Description]) -> dict[Term, str]:
    """A few words for each: its description; else a class that the others are not of; else the end of its IRI."""
    counts = Counter(name for term in group for name in known[term].classes)
    own = {}
    for term in group:
        said = known[term]
        rarest = min(said.classes, key=lambda name: (counts[name], name), default="")
        sentence = printable(_SENTENCE.split(said.text, maxsplit=1)[0].strip(" ."), _LONGEST)
        own[term] = sentence if any(map(str.isalnum, sentence)) else printable(rarest, _LONGEST)
    repeated = Counter(text.casefold() for text in own.values())
    return {term: _shown(term, text, is_telling=repeated[text.casefold()] == 1) for term, text in own.items()}


def _shown(term: IRI, text: str, *, is_telling: bool) -> str:
    parts = [text] if text else []
    return ", ".join(parts if parts and is_telling else [*parts, printable(local_name(term), _LONGEST)])


def _with(answers: Sequence[AnswerTerm], known: Mapping[Term, str]) -> tuple[AnswerTerm, ...]:
    return tuple(replace(a, description=known[a.term]) if a.term in known else a for a in answers)
