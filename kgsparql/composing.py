"""Sentences without a model: evidence as lines, ranked candidates as an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgsparql.answer import AnswerTerm, Claim, Draft, Retrieval
from kgsparql.paths import Direction, Path, Step
from kgsparql.terms import Term, printable

__all__ = ["candidates_text", "compose_from_templates", "group_text", "path_text"]

_SHOWN_NEIGHBOURS = 12


def path_text(path: Path, labels: Mapping[Term, str]) -> str:
    """A path as one line; arrows show the direction of each triple, whichever way it was walked.

    >>> from kgsparql.terms import IRI, Triple
    >>> a, b, p = (IRI(f"http://e.org/{name}") for name in "abp")
    >>> path_text(Path(b, (Hop(Triple(a, p, b), "inverse"),)), {a: "Ann", b: "Bonn", p: "born in"})
    'Bonn ←born in— Ann'
    """
    parts = [_name(path.start, labels)]
    for hop in path.hops:
        parts.append(_arrow(hop.triple.predicate, hop.direction, labels))
        parts.append(_name(hop.end, labels))
    return " ".join(parts)


def group_text(
    lead: Path, step: Step, ends: Sequence[Term], labels: Mapping[Term, str], *, count: int | None = None
) -> str:
    """Neighbours by one step as one line, behind the path (often of no hops) that leads to them.

    :param count: how many there are in all, when more than ``ends``.
    """
    shown = "; ".join(_name(end, labels) for end in ends[:_SHOWN_NEIGHBOURS])
    total = len(ends) if count is None else count
    more = total - min(len(ends), _SHOWN_NEIGHBOURS)
    return f"{path_text(lead, labels)} {_arrow(step.predicate, step.direction, labels)} {shown}{f'; … {more:,} more' if more > 0 else ''}"


def _arrow(predicate: Term, direction: Direction, labels: Mapping[Term, str]) -> str:
    name = _name(predicate, labels)
    return f"—{name}→" if direction == "forward" else f"←{name}—"


def _name(term: Term, labels: Mapping[Term, str]) -> str:
    return printable(labels.get(term) or str(term), 120)


def compose_from_templates(retrieval: Retrieval, *, shown: int = 10) -> Draft:
    """The draft when there is no model: ranked candidates, and one claim for each item of evidence they rest on.

    Its text is left empty: :func:`candidates_text` writes it once the citations are verified.
    """
    answers = retrieval.candidates[:shown]
    cited = dict.fromkeys(marker for answer in answers for marker in answer.markers)
    claims = tuple(Claim(retrieval.evidence[marker].text, (marker,)) for marker in cited)
    return Draft(text="", answers=answers, claims=claims, tree=retrieval.tree)


def candidates_text(answers: Sequence[AnswerTerm]) -> str:
    """Ranked candidates as lines under a heading that does not call them an answer; empty without any.

    >>> from kgsparql.terms import Literal
    >>> print(candidates_text([AnswerTerm(Literal("1965"), "1965", 0.5, ("P1", "N2"))]))
    Ranked candidates
    1. 1965 [P1, N2]
    """
    lines = [f"{i}. {a.label} [{', '.join(a.markers)}]" for i, a in enumerate(answers, 1)]
    return "\n".join(["Ranked candidates", *lines]) if lines else ""
