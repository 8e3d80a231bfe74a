"""A model tried on a graph: does it choose paths better than the ranking, and how much may its judgement count?

Questions are made of the graph's own paths, so that their answers are known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgsparql.answering.ask_options import AskOptions, ignore
from kgsparql.answering.choosing import MOST_JUDGED, judging, reading_call
from kgsparql.answering.entity_linking import link_entities
from kgsparql.budget import Budget, Usage
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import ModelReplyError
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.made_questions.making import MadeQuestion, make
from kgsparql.made_questions.patterns import Progress, no_progress
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.trust import Trust
from kgsparql.retrievers._listed_paths import distinct_paths, numbered_list
from kgsparql.retrievers.path_ranking import PathRanking

WEIGHTS = (0.05, 0.1, 0.2, 0.4)  # of a judgement; more hurt on every graph that was tried


@dataclass(frozen=True, slots=True)
class GraphTrial:
    """How many questions are answered right, by who puts the best path first.

    :param lists: by the model, from a list, the same in two orders; ``None`` where that was not asked.
    :param by_weight: by the ranker with the model's judgements; empty where the server tells no log-probabilities.
    """

    questions: int
    ranker: float
    lists: float | None
    by_weight: dict[float, float]
    tokens: int

    @property
    def weight(self) -> float:
        """The weight of a judgement with which most was right, the largest of several; 0 if all made things worse."""
        most = max(self.by_weight.values(), default=0.0)
        return max((own for own, right in self.by_weight.items() if right == most >= self.ranker), default=0.0)

    def applied(self, trust: Trust) -> Trust:
        """Return what a model is trusted with, after what it did on this graph."""
        chooses = trust.chooses and (self.lists is None or self.lists >= self.ranker)
        weight = self.weight if self.by_weight else trust.weight
        has_helped = self.by_weight.get(weight, 0.0) > self.ranker  # here, whatever it did with invented worlds
        judges = weight > 0 and (trust.judges or has_helped)
        return replace(
            trust, chooses=chooses, plans=trust.plans and chooses, judges=judges, weight=weight,
            tokens=trust.tokens + self.tokens,
        )  # fmt: skip

    @property
    def lines(self) -> list[str]:
        """Say it in words."""
        of = f"of {self.questions} questions about this graph"
        lines = [f"the ranking alone puts the right path first in {self.ranker:.3g} {of}"]
        if self.lists is not None:
            lines.append(f"the model, choosing from a list: {self.lists:.3g}")
        told = ", ".join(f"{right:.3g} (weight {weight:g})" for weight, right in self.by_weight.items())
        return [*lines, f"the ranking with the model's judgements: {told}"] if told else lines


def tried_on_graph(
    knowledge: KnowledgeBase, model: LanguageModel, trust: Trust, count: int, *, progress: Progress = no_progress
) -> GraphTrial:
    """Try a model on questions made of a graph, as it would be used.

    :raises ModelError: if the server cannot be reached, fails or refuses.
    :raises NotFoundError: for a graph of which no questions can be made.
    """
    made = make(knowledge, count, max_hops=2, progress=progress)
    usage = Usage(Budget(max_seconds=None))
    ranker, chosen, sums = 0.0, 0.0, np.zeros(len(WEIGHTS))
    judges = model.capabilities.top_tokens > 0
    for number, question in enumerate(made.questions):
        progress("asking the model", number, len(made.questions))
        given = (question.walk.start,) if made.are_shared else ()
        asking = AskOptions(entities=given, trial=False, own_words=False)
        lines, scores, right = _listed_questions(knowledge, question, asking)
        if not lines:
            continue
        ranker += right[int(np.argmax(scores))]
        if trust.chooses:
            chosen += _choice_score(model, question.text, lines, right, usage)
        if judges:
            odds = model.log_odds("judge", [judging(question.text, line) for line in lines], usage, ignore)
            judges = None not in odds
            told = np.array([one or 0.0 for one in odds])
            sums += [right[int(np.argmax(scores + weight * told))] for weight in WEIGHTS]
    by_weight = dict(zip(WEIGHTS, sums.tolist(), strict=True)) if judges else {}
    tokens = usage.prompt_tokens + usage.completion_tokens
    return GraphTrial(len(made.questions), ranker, chosen if trust.chooses else None, by_weight, tokens)


def _listed_questions(
    knowledge: KnowledgeBase, question: MadeQuestion, asking: AskOptions
) -> tuple[list[str], NDArray[np.float64], list[float]]:
    """List the likeliest paths, the best first, with their scores, and what share of their ends is right."""
    session = knowledge.session(question.text, asking)
    link_entities(session)
    likely = distinct_paths(PathRanking().likely_paths(session), MOST_JUDGED)
    lines = [one.text for one in numbered_list(likely, session)]
    right = [len(question.answers.keys() & {*one.ends}) / max(1, len({*one.ends})) for one in likely]
    return lines, np.array([one.score for one in likely]), right


def _choice_score(
    model: LanguageModel, question: str, lines: Sequence[str], right: Sequence[float], usage: Usage
) -> float:
    """Return how right a choice is; one that changes with the order of the list is none."""
    picked = set()
    for turned in (False, True):
        places = [*range(len(lines))][:: -1 if turned else 1]
        try:
            said = model.ask(reading_call(question, [lines[at] for at in places]), usage, ignore)
        except ModelReplyError:
            return 0.0
        picked.add(places[said.numbers[0] - 1] if said.numbers else None)
    at = picked.pop()
    return 0.0 if picked or at is None else right[at]
