"""Whether the weights of path ranking would be better if they were fitted: leave one data set out.

    python benchmarks/path_weights.py FOLDER FOLDER... --limit 40   # folders as `kgsparql eval` takes them

The features of every path of every question are computed once; then, for each data set, weights are fitted (logistic
regression over the paths of a question) on all the other sets, and this one is asked with them. Beside it, the fixed
weights of ``kgsparql/plans/weights.toml``, and those fitted on the very set. hits@1 is the expected one.

It also prints what each part of the score is worth with the fixed weights, and how often the best path is right where
it is well ahead of the next and where it is not.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kgsparql
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.entity_linking import link_entities
from kgsparql.answering.path_scoring import WEIGHTS, Start, path_features
from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.datasets import load, sample
from kgsparql.evaluation.metrics import GoldAnswers
from kgsparql.exploration import walk_ends
from kgsparql.rdf.paths import Walk
from kgsparql.retrievers.path_ranking import PathRanking

NAMES, FIXED = [*WEIGHTS], np.array([*WEIGHTS.values()])

Features = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Features of its paths ``(n_paths, n_weights)``, the scores of their links, the share of their ends that is gold."""


def main() -> None:
    """Collect, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=40, help="questions of each number of hops, drawn with seed 1")
    parser.add_argument("--embedder", default="auto")
    options = parser.parse_args()
    groups: dict[str, list[Features]] = {}
    for folder in options.folders:
        dataset = load(folder)
        knowledge = kgsparql.open(*dataset.graph, embedder=options.embedder)
        own: dict[str, list[Features]] = defaultdict(list)
        kinds = len({question.hops for question in dataset.questions})
        for question in sample(dataset.questions, options.limit * kinds, 1):
            own[f"{dataset.name}-{question.hops or 'any'}"].append(features(knowledge, question))
        groups.update(own)
    print(f"{'set-hops':<22}{'n':>5}{'fixed':>8}{'left out':>10}{'own fit':>9}")
    sets = sorted({name.rsplit("-", 1)[0] for name in groups})
    for left_out in sets:
        mine = {name: some for name, some in groups.items() if name.startswith(f"{left_out}-")}
        others = {name: some for name, some in groups.items() if name not in mine}
        elsewhere = fitted(others) if others else FIXED
        best = fitted(mine)
        for name, some in sorted(mine.items()):
            figures = hits(some, FIXED), hits(some, elsewhere), hits(some, best)
            print(f"{name:<22}{len(some):>5}{figures[0]:>8.1f}{figures[1]:>10.1f}{figures[2]:>9.1f}")
    print(f"\n{'without':<12}" + "".join(f"{name:>18}" for name in sorted(groups)))
    for i, name in enumerate(("nothing", *NAMES)):
        weights = FIXED.copy()
        if i:
            weights[i - 1] = 0.0
        print(f"{name:<12}" + "".join(f"{hits(groups[group], weights):>18.1f}" for group in sorted(groups)))
    print(f"\n{'ahead by':<12}{'n':>6}{'hits@1':>8}")
    ahead = [margin_and_hit(q) for some in groups.values() for q in some if len(q[1]) > 1]
    for low, high in ((0.0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 9.0)):
        some = [hit for margin, hit in ahead if low <= margin < high]
        print(f"{low:.2f}-{high:<7.2f}{len(some):>6}{100 * float(np.mean(some or [0])):>8.1f}")


def features(knowledge: kgsparql.KnowledgeBase, question: Question) -> Features:
    """Every path that the method would score, with its features and how right it is."""
    gold = GoldAnswers(question.answers or ())
    session = knowledge.session(question.text, AskOptions())
    link_entities(session)
    rows, links, right = [], [], []
    method = PathRanking()
    found = method._scored_with_ends(method._enumerations_from((), session), session, is_read=True)  # noqa: SLF001
    for link in dict.fromkeys(one.link.term for one in found):
        own = [one for one in found if one.link.term == link]
        worded = [(one.path, one.enumeration.kinds_along(one.path)) for one in own]
        rows += list(path_features(Start.of(session, own[0].link), worded, session.label_fit))
        links += [own[0].link.score] * len(own)
        for ends in walk_ends(knowledge.graph, [Walk(link, one.path) for one in own]):
            met = [end for end in ends.items if end != link] or list(ends.items)
            right.append(sum(bool(gold.found(str(end))) for end in met) / len(met) if met else 0.0)
    return np.array(rows).reshape(len(rows), len(NAMES)), np.array(links), np.array(right)


def hits(questions: list[Features], weights: NDArray[np.float64]) -> float:
    """Expected hits@1 in percent."""
    return 100 * float(
        np.mean([right[np.argmax(scores(q, weights))] if len(right := q[2]) else 0.0 for q in questions])
    )


def scores(question: Features, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The score of each path, its link included."""
    return np.asarray(question[0] @ weights + PathRanking().link_weight * question[1])


def margin_and_hit(question: Features) -> tuple[float, float]:
    """How far the best path is ahead, and how right it is."""
    ranked = scores(question, FIXED)
    order = np.argsort(-ranked, kind="stable")
    return float(ranked[order[0]] - ranked[order[1]]), float(question[2][order[0]])


def fitted(groups: dict[str, list[Features]], *, rounds: int = 400) -> NDArray[np.float64]:
    """Weights by conditional logistic regression: of the paths of a question, the right ones; each group counts alike.

    A path is right where more than half as much of its ends is gold as of the best one. The weight of a link is fixed,
    as the scale of all; by gradient ascent from the fixed weights, held near zero (ridge).
    """
    weights, speed = FIXED.copy(), np.zeros(len(FIXED))
    known = [(q, 1 / len(some)) for some in groups.values() for q in some if len(q[2]) and q[2].max() > 0]
    for _ in range(rounds):
        slope = -0.02 * weights
        for question, share in known:
            likely = np.exp(scores(question, weights) - scores(question, weights).max())
            likely /= likely.sum()
            right = likely * (question[2] > question[2].max() / 2)
            slope += share * (right / max(float(right.sum()), 1e-12) - likely) @ question[0]
        speed = 0.9 * speed + 0.02 * slope
        weights = weights + speed
    return weights


if __name__ == "__main__":
    main()
