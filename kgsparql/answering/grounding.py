"""What a model wrote, held against the evidence: what is not there is removed and counted."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgsparql.answering.answer import MAX_CHOICES, AnswerTerm, Claim, Draft, InferenceStep, Retrieval
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence
from kgsparql.evidence.term_labels import labels_from_items
from kgsparql.evidence.verbalising import arrow
from kgsparql.linking.answer_type import expected_kind
from kgsparql.rdf.paths import Step
from kgsparql.rdf.terms import Term, normalised, printable
from kgsparql.rdf.vocabulary import is_mediator

if TYPE_CHECKING:
    from kgsparql.models.citations import CitedText
    from kgsparql.models.replies import WrittenAnswer, WrittenStep


_NUMBERED_TERMS = 120  # terms of the evidence that get a number; unseen candidates are added up to MAX_CHOICES
_KIND_SAMPLE = 200  # terms from which the kind of a group is taken, those whose classes are known
_KIND_FITS = 0.5  # how well, in [0, 1], the kind of a group fits what is asked for, to come first


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One thing that may be the answer, or several together, and the markers of the evidence that it is in."""

    name: str
    terms: tuple[Term, ...]
    markers: tuple[str, ...]


def answer_choices(retrieval: Retrieval, session: Session) -> list[AnswerChoice]:
    """List the numbered choices of a retrieval, always the same: the kind that is asked for first, entities last.

    Groups are all ends of an item, and all terms at a place on the way to them. Each term that the text of an item
    shows has a number of its own, the entities that the question names too, since they may be what is asked for.
    """
    places: list[AnswerChoice] = []
    for item in retrieval.evidence:
        marker, between = item.marker, item.between
        places.append(AnswerChoice(f"at the end of {marker}", item.ends, (marker,)))
        for step, terms in enumerate(between, 1):
            where = "in the middle" if len(between) == 1 else f"after step {step}"
            places.append(AnswerChoice(f"{where} of {marker}", terms, (marker,)))
    samples = [[(term,) for term in place.terms[:_KIND_SAMPLE]] for place in places]
    kinds = session.labels.majority_types(samples, in_grace=True, ask=False)
    fits = session.fit(expected_kind(session.question), [kind[0] if kind else "" for kind in kinds])
    best = max(fits, default=0.0)
    asked = [place for place, fit in zip(places, fits, strict=True) if fit == best >= _KIND_FITS]
    wanted = {term for place in asked for term in place.terms}
    groups: dict[frozenset[Term], AnswerChoice] = {}
    for place in sorted(places, key=lambda place: place not in asked):
        if len(place.terms) > 1:
            named = replace(place, name=f"all {len(place.terms):,} {place.name}")
            groups.setdefault(frozenset(place.terms), named)
    singles = [AnswerChoice(a.shown, (a.term,), a.markers) for a in _single_answers(retrieval, session)]
    return [*groups.values(), *sorted(singles, key=lambda choice: choice.terms[0] not in wanted)]


def answers_of(choices: Sequence[AnswerChoice], retrieval: Retrieval, session: Session) -> tuple[AnswerTerm, ...]:
    """Return the terms of choices, each once: candidates as they are, others with the markers of their choice."""
    known = {candidate.term: candidate for candidate in retrieval.candidates}
    labels = session.labels((t for choice in choices for t in choice.terms if t not in known), in_grace=True)
    found = {t: known.get(t) or AnswerTerm(t, labels[t], markers=c.markers) for c in choices for t in c.terms}
    return tuple(found.values())


def _single_answers(retrieval: Retrieval, session: Session) -> list[AnswerTerm]:
    """List the candidates and other terms that the evidence shows, then more candidates, then the linked entities."""
    terms = (term for triple in retrieval.evidence.triples for term in (triple.subject, triple.object))
    labels = session.labels(terms, in_grace=True)
    markers: dict[Term, list[str]] = {}
    for item in retrieval.evidence:
        for term in dict.fromkeys(t for c in item.triples for t in (c.triple.subject, c.triple.object)):
            if not is_mediator(term) and printable(labels[term], 120) in item.text:
                markers.setdefault(term, []).append(item.marker)
    linked = {link.term: link.label for link in session.links}
    known = {candidate.term for candidate in retrieval.candidates}
    shown = [candidate for candidate in retrieval.candidates if candidate.term in markers]
    shown += [
        AnswerTerm(t, labels[t], markers=tuple(own)) for t, own in markers.items() if t not in known and t not in linked
    ]
    unseen = [c for c in retrieval.candidates if c.term not in markers][: max(0, MAX_CHOICES - len(shown))]
    asked_about = [
        AnswerTerm(term, label, markers=tuple(markers[term]))
        for term, label in linked.items() if term in markers and term not in known
    ]  # fmt: skip
    return [*shown[:_NUMBERED_TERMS], *unseen, *asked_about]


_LONGEST_ANSWER, _LONGEST_CLAIM, _LONGEST_LIST = 4_000, 1_000, 2_000  # characters
_MAX_REMOVED_NAMES = 5  # removed things that are named
_MAX_NAMES = 60  # names that stand for an answer in words

_CITATION = re.compile(r"\[[A-Z]\d+(?:, [A-Z]\d+)*\]")
_EMPHASIS = re.compile(r"(?<![\w*])\*{2,3}(\S(?:[^*\n]*\S)?)\*{2,3}(?![\w*])")
_LEAD_IN = re.compile(r"^(?:it|he|she|they|that|this|these|those|the answers?)\s+(?:is|are|was|were)\b", re.IGNORECASE)
_JOINING = "and|und|et|y|e|en"


def grounded_draft(written: WrittenAnswer, retrieval: Retrieval, session: Session) -> Draft:
    """Draft a reply without what the evidence does not carry; empty if nothing is left, or it does not suffice.

    An item carries the reply if its marker is cited: in the text, by a claim, in the list of what was used, or by a
    step of inference. Where nothing is, and no marker was made up, a candidate that was chosen by its number cites the
    items it was shown with; a text that names none of these candidates is then replaced by their names.
    """
    from kgsparql.models.citations import cited_text, like_markers

    evidence = retrieval.evidence
    labels = evidence_labels(evidence, session)
    known = {item.marker: None for item in evidence}
    quoted = like_markers((session.question, *(i.text for i in evidence), *(c.label for c in retrieval.candidates)))
    answer = cited_text(plain_lines(written.answer, _LONGEST_ANSWER), known, quoted)
    said = [cited_text(printable(claim.text, _LONGEST_CLAIM), known, quoted) for claim in written.claims]
    claims = [
        Claim(text.text, tuple(dict.fromkeys(m for m in (*claim.markers, *text.known) if m in known)))
        for text, claim in zip(said, written.claims, strict=True)
    ]
    steps = [_inference_step(s, evidence, labels) for s in written.steps]
    inference = tuple(step for step in steps if step is not None)
    in_claims = (marker for claim in claims for marker in claim.markers)
    carrying = {*answer.known, *written.markers, *in_claims, *(step.marker for step in inference)}
    listed = answer_choices(retrieval, session)
    chosen = [listed[number - 1] for number in dict.fromkeys(written.entities) if number <= len(listed)]
    names = _made_up_names(written, [answer, *said], len(listed), known)
    by_itself = not carrying & known.keys()
    if not answer.known and not (by_itself and any(name.startswith("[") for name in names)):
        carrying |= {m for c in chosen if not carrying.intersection(c.markers) for m in c.markers} & known.keys()
    ordered = tuple(marker for marker in known if marker in carrying)
    lost = [s for s, found in zip(written.steps, steps, strict=True) if found is None]
    lost = [s for s in lost if not s.marker or s.marker in known]
    names += [f"step {printable(f'{s.subject} {s.predicate} {s.object}', 80)!r}" for s in lost]
    names += [f"claim {printable(c.text, 60)!r}" for c in claims if not c.markers]
    removed, some = len(names) + written.dropped, tuple(names[:_MAX_REMOVED_NAMES])
    empty = Draft("", sufficient=written.sufficient, removed=removed, removed_names=some)
    if written.sufficient is False or not ordered:
        return empty
    named = answers_of(chosen, retrieval, session) if written.names_entities else None
    text = answer.text
    answers = _grounded_answers(named, text, retrieval, ordered)
    if not _CITATION.sub("", text).strip(" .\n") or (by_itself and not _names_any(text, answers)):
        more = f" and {len(answers) - _MAX_NAMES:,} more" if len(answers) > _MAX_NAMES else ""
        text = ", ".join(term.label for term in answers[:_MAX_NAMES]) + more
    text += f" [{', '.join(ordered)}]" if text and (text is not answer.text or not answer.known) else ""
    _note_mismatches(answers, ordered if answer.known else known, text, session)
    kept = [c for c in claims if c.markers and c.text] or [Claim(_step_text(s, labels), (s.marker,)) for s in inference]
    claimed = {marker for claim in kept for marker in claim.markers}
    kept += [Claim(evidence[marker].text, (marker,)) for marker in ordered if marker not in claimed]
    return replace(empty, text=text, answers=answers, claims=tuple(kept), inference=inference)


def evidence_labels(evidence: Evidence, session: Session) -> Mapping[Term, str]:
    """Return a label for every term of the evidence."""
    terms = (term for triple in evidence.triples for term in triple)
    return labels_from_items(evidence, session.labels(terms, in_grace=True))


def _made_up_names(
    written: WrittenAnswer, texts: Iterable[CitedText], listed: int, known: Collection[str]
) -> list[str]:
    """Markers that are not known, each once, and numbers that are not on the list."""
    named = [*written.markers, *(m for c in written.claims for m in c.markers), *(s.marker for s in written.steps)]
    cited_too = (m for text in texts for m in text.unknown)
    made_up = dict.fromkeys(m for m in (*cited_too, *named) if m and m not in known)
    numbers = [f"candidate {number}" for number in written.entities if number > listed]
    return [f"[{marker}]" for marker in made_up] + numbers


def _inference_step(step: WrittenStep, evidence: Evidence, labels: Mapping[Term, str]) -> InferenceStep | None:
    """Find the triple that a step means: the one with the same labels, else the only one between its terms."""
    if step.marker not in evidence:
        return None
    labels = labels_from_items([evidence[step.marker]], labels)  # as the item says it
    said = [normalised(text) for text in (step.subject, step.predicate, step.object)]
    joins: list[CitedTriple] = []
    for triple in evidence[step.marker].triples:
        subject, predicate, object_ = (normalised(labels[term]) for term in triple.triple)
        if said == [subject, predicate, object_]:
            return InferenceStep(step.marker, triple)
        if {said[0], said[2]} == {subject, object_}:
            joins.append(triple)
    return InferenceStep(step.marker, joins[0]) if len(joins) == 1 else None


def _step_text(step: InferenceStep, labels: Mapping[Term, str]) -> str:
    triple = step.cited.triple
    subject, object_ = printable(labels[triple.subject], 120), printable(labels[triple.object], 120)
    return f"{subject} {arrow(Step(triple.predicate), labels)} {object_}"


def _grounded_answers(
    chosen: tuple[AnswerTerm, ...] | None, text: str, retrieval: Retrieval, cited: Sequence[str]
) -> tuple[AnswerTerm, ...]:
    """Return what was chosen, with the cited items it is in; without numbers, candidates that are all a text names."""
    if chosen is None:
        bare = _CITATION.sub(" ", text).strip()
        possible = [c for c in retrieval.candidates if not set(cited).isdisjoint(c.markers)]
        chosen = _answers_listed_in(bare, possible) or _answers_listed_in(_LEAD_IN.sub("", bare), possible)
    return tuple(replace(one, markers=_markers_among(cited, one, retrieval.evidence)) for one in chosen)


def _markers_among(cited: Sequence[str], answer: AnswerTerm, evidence: Evidence) -> tuple[str, ...]:
    """Return the cited items that an answer is in, as an end or on the way; its own markers if it is in none."""
    own = tuple(m for m in answer.markers if m in cited)
    return own or tuple(m for m in cited if answer.term in evidence[m].terms) or answer.markers


def _names_any(text: str, answers: Iterable[AnswerTerm]) -> bool:
    """Tell whether a text has the name of one of these, as words of their own where the script has spaces."""
    said = f" {normalised(text)} "
    names = (normalised(term.label) for term in answers)
    return any((f" {name} " if name.isascii() else name) in said for name in names if name)


def _answers_listed_in(text: str, candidates: Iterable[AnswerTerm]) -> tuple[AnswerTerm, ...]:
    """Return the candidates of a text that is a list of their names and nothing else."""
    named: dict[str, list[AnswerTerm]] = {}
    for candidate in candidates:
        named.setdefault(normalised(candidate.label), []).append(candidate)
    known = {name: own[0] for name, own in named.items() if name and len(own) == 1}
    if not known or len(text) > _LONGEST_LIST:
        return ()
    # The longest first: `New York` is not `York`.
    one = f"(?:{'|'.join(map(re.escape, sorted(known, key=len, reverse=True)))})(?!\\S)"
    if not re.fullmatch(f"{one}(?: (?:(?:{_JOINING}) )?{one})*", normalised(text)):
        return ()
    return tuple(dict.fromkeys(known[name] for name in re.findall(f"(?<!\\S){one}", normalised(text))))


def _note_mismatches(answers: Iterable[AnswerTerm], cited: Collection[str], text: str, session: Session) -> None:
    aside = [printable(a.label, 60) for a in answers if not set(cited).intersection(a.markers)]
    if aside:
        text_of = f"the evidence that was cited does not mention {'; '.join(aside[:5])}"
        session.notes.append(text_of, code="uncited_answer")
    asked, used = _script_name(session.question), _script_name(text)
    if asked and used and asked != used:
        session.notes.append(f"the answer is in another script than the question ({used.lower()})", code="other_script")


def plain_lines(text: str, limit: int) -> str:
    r"""Write what a model wrote as safe lines without marks for emphasis; empty lines are left out.

    >>> plain_lines("Two:\n\n- **Ann** [P1]\n- Ben\x1b[2J", 100)
    'Two:\n- Ann [P1]\n- Ben[2J'
    """
    kept: list[str] = []
    left = limit
    for line in text[: 4 * limit].splitlines():
        shown = printable(_EMPHASIS.sub(r"\1", line), max(left, 2))
        if shown:
            kept.append(shown)
            left -= len(shown) + 1
        if left <= 0:
            break
    return "\n".join(kept)


def _script_name(text: str) -> str:
    """Name the script that most letters of a text are in, as Unicode names it; empty for too few to tell."""
    letters = [char for char in text if char.isalpha()]
    if len(letters) < 3:
        return ""
    counts = Counter(unicodedata.name(char, "").split(" ")[0] for char in letters)
    return min(counts, key=lambda script: (-counts[script], script))
