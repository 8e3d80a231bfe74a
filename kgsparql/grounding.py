"""What a model wrote, held against the evidence: what is not there is removed and counted."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kgsparql.answer import AnswerTerm, Claim, Draft, InferenceStep, Retrieval
from kgsparql.evidence import CitedTriple, Evidence
from kgsparql.replies import Step, Written
from kgsparql.session import Session
from kgsparql.terms import Term, normalised, printable
from kgsparql.verbalising import arrow

__all__ = ["evidence_labels", "grounded"]

_MARKERS = re.compile(r"\s*\[\s*([A-Za-z]\d+(?:\s*[,;]\s*[A-Za-z]\d+)*)\s*\]")
_LONGEST_ANSWER = 4_000


def grounded(written: Written, retrieval: Retrieval, session: Session) -> Draft:
    """The draft that this evidence carries; its ``text`` is empty if it carries none of what was written.

    Markers that are not in the evidence, and steps that no triple of their item says, are removed and counted.
    """
    evidence = retrieval.evidence
    labels = evidence_labels(evidence, session)
    inference = tuple(step for s in written.steps if (step := _step(s, evidence, labels)) is not None)
    claims = [Claim(printable(c.text, 1000), tuple(m for m in c.markers if m in evidence)) for c in written.claims]
    text, in_text = _checked_markers(printable(written.answer, _LONGEST_ANSWER), evidence)
    named = {
        *written.markers,
        *(m for c in written.claims for m in c.markers),
        *(s.marker for s in written.steps if s.marker),
    }
    cited = {m for m in named if m in evidence} | in_text
    removed = len({m for m in named | _markers_of(written.answer) if m not in evidence})
    removed += written.dropped + sum(1 for s in written.steps if s.marker in evidence or not s.marker) - len(inference)
    answers = _answers(written, retrieval, cited)
    if written.answer and not answers:
        answers = _named_in(written.answer, retrieval, cited)
    ordered = tuple(item.marker for item in evidence if item.marker in cited)
    if not text.strip():
        text = ", ".join(answer.label for answer in answers)
    if ordered and text and not in_text:
        text = f"{text} [{', '.join(ordered)}]"
    rebuilt = [Claim(_said(step, labels), (step.marker,)) for step in inference]
    kept = [claim for claim in claims if claim.markers and claim.text] or rebuilt
    told = {marker for claim in kept for marker in claim.markers}
    kept += [Claim(evidence[marker].text, (marker,)) for marker in ordered if marker not in told]
    _tell(answers, cited, text, session)
    return Draft(
        text=text if ordered else "",
        answers=answers if ordered else (),
        claims=tuple(kept),
        inference=inference,
        sufficient=written.sufficient,
        removed=removed + len(claims) - sum(1 for claim in claims if claim.markers),
    )


def evidence_labels(evidence: Evidence, session: Session) -> dict[Term, str]:
    """A label for every term of the evidence."""
    terms = (term for t in evidence.triples for term in (t.subject, t.predicate, t.object))
    return session.labels(terms, owed=True)


def _step(step: Step, evidence: Evidence, labels: Mapping[Term, str]) -> InferenceStep | None:
    """The triple of its item that a step says, by the labels of the terms; never one that is only like it."""
    if step.marker not in evidence:
        return None
    said = [normalised(text) for text in (step.subject, step.predicate, step.object)]
    joins: list[CitedTriple] = []
    for cited in evidence[step.marker].triples:
        subject, predicate, object_ = (
            normalised(labels[term]) for term in (cited.triple.subject, cited.triple.predicate, cited.triple.object)
        )
        if said == [subject, predicate, object_]:
            return InferenceStep(step.marker, cited)
        if {said[0], said[2]} == {subject, object_}:
            joins.append(cited)
    # Between two terms with one predicate, another word for it, or the other way round, means no other triple.
    return InferenceStep(step.marker, joins[0]) if len(joins) == 1 else None


def _said(step: InferenceStep, labels: Mapping[Term, str]) -> str:
    triple = step.cited.triple
    forward = replace(step.cited.hop.step, direction="forward")
    return f"{printable(labels[triple.subject], 120)} {arrow(forward, labels)} {printable(labels[triple.object], 120)}"


def _answers(written: Written, retrieval: Retrieval, cited: Iterable[str]) -> tuple[AnswerTerm, ...]:
    """The candidates whose numbers were given, with the markers that were cited for them where there are any."""
    choices = retrieval.choices
    chosen = dict.fromkeys(c for n in written.entities if 1 <= n <= len(choices) for c in choices[n - 1][1])
    return tuple(_citing(answer, cited) for answer in chosen)


def _named_in(text: str, retrieval: Retrieval, cited: Iterable[str]) -> tuple[AnswerTerm, ...]:
    """The candidates that a text names word for word and cites, in its order; nothing that is only alike."""
    words = f" {normalised(text)} "
    found = [(words.find(f" {normalised(c.label)} "), c) for c in retrieval.candidates if normalised(c.label)]
    named = [(at, -len(c.label), c) for at, c in found if at >= 0 and set(c.markers) & set(cited)]
    taken: list[tuple[int, int]] = []
    answers = []
    for at, _, candidate in sorted(named, key=lambda entry: entry[:2]):
        span = at, at + len(normalised(candidate.label))
        if not any(start <= span[0] and span[1] <= end for start, end in taken):  # `York` in `New York` is not named
            taken.append(span)
            answers.append(_citing(candidate, cited))
    return tuple(answers)


def _citing(answer: AnswerTerm, cited: Iterable[str]) -> AnswerTerm:
    wanted = set(cited)
    return replace(answer, markers=tuple(m for m in answer.markers if m in wanted) or answer.markers)


def _checked_markers(text: str, evidence: Evidence) -> tuple[str, set[str]]:
    """The text without markers that are not in the evidence, and those that are."""
    found: set[str] = set()

    def keep(match: re.Match[str]) -> str:
        known = [m for m in _split(match[1]) if m in evidence]
        found.update(known)
        return f" [{', '.join(known)}]" if known else ""

    return _MARKERS.sub(keep, text).strip(), found


def _markers_of(text: str) -> set[str]:
    return {marker for match in _MARKERS.finditer(text) for marker in _split(match[1])}


def _split(markers: str) -> Iterator[str]:
    return (marker.strip().upper() for marker in re.split("[,;]", markers))


def _tell(answers: Iterable[AnswerTerm], cited: set[str], text: str, session: Session) -> None:
    """What the reader should know of an answer that is not wrong in form."""
    aside = [printable(a.label, 60) for a in answers if cited and not cited.intersection(a.markers)]
    if aside:
        session.notes.append(f"the evidence that was cited does not mention {'; '.join(aside[:5])}")
    asked, used = _script(session.question), _script(text)
    if asked and used and asked != used:
        session.notes.append(f"the answer is in another script than the question ({used.lower()})")


def _script(text: str) -> str:
    """The script that most letters of a text are in, as Unicode names it; empty for too few to tell."""
    letters = [char for char in text if char.isalpha()]
    if len(letters) < 3:
        return ""
    counts = Counter(unicodedata.name(char, "").split(" ")[0] for char in letters)
    return min(counts, key=lambda script: (-counts[script], script))
