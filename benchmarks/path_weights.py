"""Whether the weights of path ranking would be better if they were fitted: leave one data set out.

    python benchmarks/path_weights.py FOLDER FOLDER... --limit 40   # folders as `kgsparql eval` takes them

The features of every path of every question are computed once; then, for each data set, coordinate ascent over the
weights on all the other sets, and the figure of this one with what was found. Beside it, the fixed weights that the
method has, and the best that fitting on the very set could reach. hits@1 is the expected one.

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
from kgsparql.evaluation.matching import GoldAnswers
from kgsparql.exploration import walk_ends
from kgsparql.rdf.paths import Walk
from kgsparql.retrievers.path_ranking import PathRanking

STEPS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5)
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
        fitted = ascent(others) if others else FIXED
        best = ascent(mine)
        for name, some in sorted(mine.items()):
            print(
                f"{name:<22}{len(some):>5}{hits(some, FIXED):>8.1f}{hits(some, fitted):>10.1f}{hits(some, best):>9.1f}"
            )
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


def ascent(groups: dict[str, list[Features]], *, rounds: int = 3) -> NDArray[np.float64]:
    """Weights that are best on these groups, one at a time, from the fixed ones; each group counts the same."""
    weights = FIXED.copy()
    signs = np.where(FIXED < 0, -1.0, 1.0)

    def mean(candidate: NDArray[np.float64]) -> float:
        return float(np.mean([hits(some, candidate) for some in groups.values()]))

    best = mean(weights)
    for _ in range(rounds):
        before = best
        for i in range(len(weights)):
            for step in STEPS:
                candidate = weights.copy()
                candidate[i] = signs[i] * step
                if (value := mean(candidate)) > best + 1e-9:
                    best, weights = value, candidate
        if best - before < 1e-9:
            break
    return weights


if __name__ == "__main__":
    main()
