"""What a model wrote, held against the evidence: what is not there is removed and counted."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kgsparql.answer import AnswerTerm, Claim, Draft, InferenceStep, Retrieval
from kgsparql.evidence import CitedTriple, Evidence
from kgsparql.replies import Cited, Step, Written, cited, like_markers
from kgsparql.session import Session
from kgsparql.terms import Term, normalised, printable
from kgsparql.verbalising import arrow

__all__ = ["evidence_labels", "grounded"]

_LONGEST_ANSWER = 4_000
_LONGEST_CLAIM = 1_000
_LONGEST_LIST = 2_000
"""Characters of an answer that may be a list of names."""

_CITATION = re.compile(r"\[[A-Z]\d+(?:, [A-Z]\d+)*\]")
_LEAD_IN = re.compile(r"^(?:it|he|she|they|that|this|these|those|the answers?)\s+(?:is|are|was|were)\b", re.IGNORECASE)
_JOINING = frozenset({"and", "und", "et", "y", "e", "en"})


def grounded(written: Written, retrieval: Retrieval, session: Session) -> Draft:
    """The draft that this evidence carries; without text and answers if it carries nothing, or is said not to suffice.

    It carries what is cited by the text, by a claim, by the list of what was used, or by a step of inference that is in
    it. Removed and counted are markers that are not in the evidence, wherever they stand; steps that no triple of
    their item says; claims that cite nothing; and numbers that are not on the list.
    """
    evidence = retrieval.evidence
    labels = evidence_labels(evidence, session)
    known = {item.marker: None for item in evidence}
    shown = (session.question, *(item.text for item in evidence), *(c.label for c in retrieval.candidates))
    quoted = like_markers(shown)
    answer = cited(printable(written.answer, _LONGEST_ANSWER), known, quoted)
    said = [cited(printable(claim.text, _LONGEST_CLAIM), known, quoted) for claim in written.claims]
    claims = [_claim(text, claim.markers, known) for text, claim in zip(said, written.claims, strict=True)]
    inference = tuple(step for s in written.steps if (step := _step(s, evidence, labels)) is not None)
    carrying = {
        *answer.known, *written.markers, *(m for c in claims for m in c.markers), *(s.marker for s in inference),
    }  # fmt: skip
    ordered = tuple(marker for marker in known if marker in carrying)
    removed = _removed(written, [answer, *said], len(retrieval.choices), known)
    removed += sum(1 for step in written.steps if not step.marker or step.marker in known) - len(inference)
    removed += sum(1 for claim in claims if not claim.markers)
    if written.sufficient is False or not ordered:
        return Draft("", sufficient=written.sufficient, removed=removed)
    answers = _answers(written, answer.text, retrieval, ordered)
    text = answer.text
    if not _CITATION.sub("", text).strip(" ."):
        text = ", ".join(term.label for term in answers)
    if text and (text is not answer.text or not answer.known):
        text = f"{text} [{', '.join(ordered)}]"
    _tell(answers, ordered, text, session)
    kept = [c for c in claims if c.markers and c.text] or [Claim(_said(s, labels), (s.marker,)) for s in inference]
    told = {marker for claim in kept for marker in claim.markers}
    kept += [Claim(evidence[marker].text, (marker,)) for marker in ordered if marker not in told]
    return Draft(
        text=text, answers=answers, claims=tuple(kept), inference=inference, sufficient=written.sufficient,
        removed=removed,
    )  # fmt: skip


def evidence_labels(evidence: Evidence, session: Session) -> dict[Term, str]:
    """A label for every term of the evidence."""
    terms = (term for t in evidence.triples for term in (t.subject, t.predicate, t.object))
    return session.labels(terms, owed=True)


def _claim(said: Cited, listed: Sequence[str], known: Collection[str]) -> Claim:
    return Claim(said.text, tuple(dict.fromkeys(m for m in (*listed, *said.known) if m in known)))


def _removed(written: Written, texts: Iterable[Cited], listed: int, known: Collection[str]) -> int:
    """Markers that are not known, each once, numbers that are not on the list, and what could not be read."""
    named = {*written.markers, *(m for c in written.claims for m in c.markers), *(s.marker for s in written.steps)}
    made_up = {m for m in named if m and m not in known}.union(*(text.unknown for text in texts))
    return len(made_up) + sum(1 for number in written.entities if number > listed) + written.dropped


def _step(step: Step, evidence: Evidence, labels: Mapping[Term, str]) -> InferenceStep | None:
    """The triple that a step of its item says: the same three labels, else the only triple between its two terms.

    Whatever a step calls the predicate between two terms that one triple joins, and in whatever direction: what is
    shown is that triple. Of several, none is taken.
    """
    if step.marker not in evidence:
        return None
    said = [normalised(text) for text in (step.subject, step.predicate, step.object)]
    joins: list[CitedTriple] = []
    for triple in evidence[step.marker].triples:
        subject, predicate, object_ = (
            normalised(labels[term]) for term in (triple.triple.subject, triple.triple.predicate, triple.triple.object)
        )
        if said == [subject, predicate, object_]:
            return InferenceStep(step.marker, triple)
        if {said[0], said[2]} == {subject, object_}:
            joins.append(triple)
    return InferenceStep(step.marker, joins[0]) if len(joins) == 1 else None


def _said(step: InferenceStep, labels: Mapping[Term, str]) -> str:
    triple = step.cited.triple
    forward = replace(step.cited.hop.step, direction="forward")
    return f"{printable(labels[triple.subject], 120)} {arrow(forward, labels)} {printable(labels[triple.object], 120)}"


def _answers(written: Written, text: str, retrieval: Retrieval, cited: Collection[str]) -> tuple[AnswerTerm, ...]:
    """The candidates whose numbers were given; without a list of numbers, those that are all the text names.

    Each with the markers that were cited for it, where there are any.
    """
    choices = retrieval.choices
    chosen: Iterable[AnswerTerm] = dict.fromkeys(
        c for number in written.entities if number <= len(choices) for c in choices[number - 1][1]
    )
    if not written.names_entities:
        bare = _CITATION.sub(" ", text).strip()
        possible = [c for c in retrieval.candidates if set(c.markers) & set(cited)]
        chosen = _listed(bare, possible) or _listed(_LEAD_IN.sub("", bare), possible)
    return tuple(replace(a, markers=tuple(m for m in a.markers if m in cited) or a.markers) for a in chosen)


def _listed(text: str, candidates: Iterable[AnswerTerm]) -> tuple[AnswerTerm, ...]:
    """The candidates of a text that is a list of their names and nothing else.

    A sentence names others, too, and may deny what it names. A name that two candidates have is nobody's.
    """
    named: dict[str, list[AnswerTerm]] = {}
    for candidate in candidates:
        named.setdefault(normalised(candidate.label), []).append(candidate)
    longest = max((len(name.split()) for name in named), default=0)
    words = normalised(text).split() if len(text) <= _LONGEST_LIST else []
    found: dict[AnswerTerm, None] = {}
    at = 0
    while at < len(words):
        ends = range(min(len(words), at + longest), at, -1)  # the longest first: `New York` is not `York`
        end = next((end for end in ends if len(named.get(" ".join(words[at:end]), ())) == 1), at)
        if end > at:
            found[named[" ".join(words[at:end])][0]] = None
        elif not found or words[at] not in _JOINING:
            return ()
        at = max(end, at + 1)
    return tuple(found)


def _tell(answers: Iterable[AnswerTerm], cited: Collection[str], text: str, session: Session) -> None:
    """What the reader should know of an answer that is not wrong in form."""
    aside = [printable(a.label, 60) for a in answers if not set(cited).intersection(a.markers)]
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
