"""The "exact match" of earlier papers, kept so that their figures can be read beside strict ones."""

from __future__ import annotations

import re

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics.judging import Judgement, judgement
from kgsparql.evaluation.metrics.metric import defined
from kgsparql.evaluation.record import Record

__all__ = ["LENIENT_EM", "without_markers"]

_BRACES = re.compile(r"\{([^{}]*)\}")
_VERDICTS = frozenset({"yes", "no", "true", "false"})
_MARKERS = re.compile(r"\s*\[[PNT][0-9]+(?:, ?[PNT][0-9]+)*\]")


@defined("lenient_em", "answer", "EM (lenient)", "higher")
def LENIENT_EM(question: Question, record: Record) -> float | None:  # noqa: N802 - a metric, once it is made
    """Whether the reply is part of the name of a right answer, or such a name part of the reply.

    Capitals and spaces aside. It is no exact match, and called so only because papers on Think-on-Graph and its
    successors do: the reply "a" is right for Paris, and a long reply is right for everything it happens to mention. The
    reply is what a model wrote, without citations; where it has braces, what is in the first of them, a bare yes or no
    aside, as in "{Yes} … {X}" (the scripts of those papers take the "Yes"). Without words of a model, each label of the
    predicted set is a reply. Those scripts count an empty reply as right, since an empty text is part of every text:
    here it is wrong, as is a failed question. No right answer: 1 if none was given, else 0.

    Source: the evaluation script of Think-on-Graph (Sun et al., ICLR 2024), but for the empty reply and the verdict.
    """
    found = judgement(question, record)
    if found is None or found.settled is not None:
        return None if found is None else found.settled
    right = [key for answer in question.answers or () if (key := _bare(answer.label))]
    return float(any(said in name or name in said for said in _replies(record, found) for name in right))


def _replies(record: Record, found: Judgement) -> list[str]:
    if record.ranked or not record.text.strip():
        replies = [answer.label for answer in found.answers[: found.predicted]]
    else:
        text = without_markers(record.text)
        braced = [content for content in _BRACES.findall(text) if content.strip()]
        replies = [next((content for content in braced if _bare(content) not in _VERDICTS), (braced or [text])[0])]
    return [said for reply in replies if (said := _bare(reply))]


def _bare(text: str) -> str:
    return "".join(text.split()).lower()


def without_markers(text: str) -> str:
    """A text without its citations.

    >>> without_markers("It is Paris [P1, N2].")
    'It is Paris.'
    """
    return _MARKERS.sub("", text)
