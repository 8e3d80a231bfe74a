"""An answer without a model: ranked candidates, and the evidence they are in."""

from __future__ import annotations

from collections.abc import Sequence

from kgsparql.answer import AnswerTerm, Claim, Draft, Retrieval
from kgsparql.terms import printable

__all__ = ["candidates_text", "compose_from_templates"]


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
     1. 1965  [P1, N2]
    """
    lines = [f"{i:>2}. {printable(a.label, 120)}  [{', '.join(a.markers)}]" for i, a in enumerate(answers, 1)]
    return "\n".join(["Ranked candidates", *lines]) if lines else ""
