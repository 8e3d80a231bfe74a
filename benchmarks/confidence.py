"""How likely an answer is right: fits `kgsparql/answering/confidence.json`, and judges that on graphs left out of it.

    python -m benchmarks.confidence                          # graphs and questions of fixtures/ and ../shared/data
    python -m benchmarks.confidence DATA --json ASKED        # keeps what was answered; --read ASKED asks nothing again

Each graph is asked questions that are made from its triples (`benchmarks.meaning`), and those that people asked where
DATA has them with their answers. A logistic regression whose weights are not negative weighs the signals of each
answer; isotonic regression on the scores of graphs left out makes probabilities of the sums.
Every figure that is printed is of graphs left out, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kgsparql
from benchmarks import meaning
from benchmarks.meaning_words import Facts
from kgsparql.answering.answer import Answer
from kgsparql.answering.confidence import SIGNALS, Calibration
from kgsparql.evaluation.dataset import Question, Record
from kgsparql.evaluation.datasets import load, sample
from kgsparql.evaluation.metrics import METRICS

ROOT = Path(__file__).parents[1]
DATA, PAGE = ROOT.parent / "shared" / "data", ROOT / "benchmarks" / "CONFIDENCE.md"
TARGET = ROOT / "kgsparql" / "answering" / "confidence.json"
GRAPHS = ("fb15k237", "metaqa", "wikidata_qald10", "ck25", "pathquestion", "orkg")
KINDS = {"people": "asked by people", "meaning": "made: twenty kinds", "made": "made: paths"}  # the last in kept runs
PER_KIND, ASKED = 4, 150  # questions of a kind, and asked by people, of a graph at most
LARGEST = 1_000_000  # bytes of a packed graph that many questions are made of
WEIGHT_OF_MADE, MOST_WEIGHT, PENALTY = 0.4, 100, 1.0  # of a question that was made; of a set of questions; of weights
FEW = 4  # right and wrong answers of a set, at least, that its AUROC is shown
SURE = 0.5
"""From how likely on an answer is sure that leaves nothing out: it is rather right than wrong."""

Values = NDArray[np.float64]


def auroc(claimed: Values, right: Values) -> float:
    """How often a right answer is claimed more than a wrong one, equal claims counting half (Fawcett 2006)."""
    apart = claimed[right > 0, None] - claimed[right == 0]
    return float(np.mean((apart > 0) + (apart == 0) / 2)) if apart.size else 0.0


def right_at_half(claimed: Values, right: Values) -> float:
    """The share of right ones in the half that is claimed most; answers that are claimed alike share what is right."""
    _, level_of = np.unique(-claimed, return_inverse=True)
    shares = np.bincount(level_of, weights=right) / np.bincount(level_of)
    return float(np.mean(shares[np.sort(level_of)][: max(1, round(len(claimed) / 2))]))


@dataclass(frozen=True)
class Asked:
    """A question that was answered, and how right.

    :param graph: of one name where graphs say the same. :param kind: of :data:`KINDS`.
    :param margin: what told right from wrong before: the score of the best answer above that of the next.
    """

    graph: str
    kind: str
    question: str
    signals: Mapping[str, float]
    is_sure: bool
    hit: float
    f1: float
    margin: float
    said: str


def asked_of(path: Path, questions: Sequence[Path], quick: int) -> list[Asked]:
    """Ask everything of one graph."""
    name = path.name.partition(".")[0] if path.name.partition(".")[0] != "graph" else path.parent.name
    knowledge, found, began = kgsparql.open(path), list[Asked](), time.monotonic()
    is_small = path.stat().st_size < LARGEST
    made = meaning.questions(Facts(path), max(1, PER_KIND // quick)) if is_small else []
    for own in made:
        answer = knowledge.ask(own.text)
        is_gold = any(meaning.is_gold(gold, answer) for gold in (own.gold, own.also) if gold is not None)
        is_right = float(is_gold or (answer.status == "not_in_graph" and not own.gold))
        found.append(_asked(name, "meaning", answer, is_right, is_right))
    loaded = [own for file in questions for own in load(file).questions]
    usable = [own for own in loaded if own.answers and not own.golden_triples]  # else their ends are no answers
    found += [_judged(name, "people", knowledge.ask(own.text), own) for own in sample(usable, ASKED // quick, 1)]
    print(f"{name}: {len(found)} questions, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def _judged(name: str, kind: str, answer: Answer, question: Question) -> Asked:
    record = Record.of(answer, question=question.id, method="auto")
    hit, f1 = (METRICS[metric].of(question, record) or 0.0 for metric in ("hits@1", "f1"))
    return _asked(name, kind, answer, hit, f1)


def _asked(name: str, kind: str, answer: Answer, hit: float, f1: float) -> Asked:
    best = answer.best
    others = max((one.score for one in answer.answers[len(best) :]), default=0.0)
    is_sure = answer.status == "answered" or {gap.code for gap in answer.gaps} == {"confidence"}
    margin, said = best[0].score - others if best else 0.0, "; ".join(one.label for one in best[:4])
    return Asked(name, kind, answer.question, dict(answer.signals), is_sure, hit, f1, margin, said)


def sources(data: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the graphs, with the questions that people asked of them, those first that take longest."""
    graphs = [data / name / "graph.nt.gz" for name in GRAPHS]
    for path in filter(Path.is_file, [*graphs, *sorted(data.glob("fresh/*.ttl.gz"))]):
        yield path, sorted(path.parent.glob("questions.jsonl*"))
    fixtures = ROOT / "fixtures"
    yield fixtures / "nobel.ttl", [fixtures / "computed_questions.jsonl", fixtures / "nobel_questions.jsonl"]


# --- fitting


def matrix(rows: Sequence[Asked]) -> Values:
    """The signals, of shape (answers, signals)."""
    return np.array([[row.signals[name] for name in SIGNALS] for row in rows])


def importance(rows: Sequence[Asked]) -> Values:
    """How much each answer counts: no set of questions outweighs the others."""
    keys = [(row.graph, row.kind) for row in rows]
    sizes = {key: keys.count(key) for key in set(keys)}
    own = [min(1.0, MOST_WEIGHT / sizes[k]) * (1.0 if k[1] == "people" else WEIGHT_OF_MADE) for k in keys]
    return np.array(own) / sum(own)


def fitted(rows: Sequence[Asked], steps: int = 3000) -> Calibration:
    """Weights that are not negative, by projected gradient descent (Adam)."""
    signals, right, weight = matrix(rows), np.array([row.hit > 0 for row in rows], float), importance(rows)
    signals = np.hstack([signals, np.ones((len(rows), 1))])
    own, mean, square = (np.zeros(signals.shape[1]) for _ in range(3))
    shrunk = PENALTY / len(rows) * (np.arange(signals.shape[1]) < signals.shape[1] - 1)
    for step in range(1, steps + 1):
        gradient = signals.T @ (weight * (_logistic(signals @ own) - right)) + shrunk * own
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        rate = 0.05 * (1 - step / steps) + 0.001
        own -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        own[:-1] = np.maximum(0.0, own[:-1])
    weights = {name: round(float(one), 3) for name, one in zip(SIGNALS, own, strict=False) if one > 0.005}
    return Calibration(weights, round(float(own[-1]), 3))


def _logistic(sums: Values) -> Values:
    made: Values = 1 / (1 + np.exp(-sums))
    return made


def with_table(own: Calibration, scores: Values, rows: Sequence[Asked]) -> Calibration:
    """The same with probabilities: isotonic regression by pooling adjacent violators, and lines between its blocks."""
    right, weight = np.array([row.hit > 0 for row in rows], float), importance(rows) * len(rows)
    blocks: list[list[float]] = []  # of each the weight, that of what is right, and that of the scores
    for at in np.argsort(scores, kind="stable"):
        blocks.append([weight[at], weight[at] * right[at], weight[at] * scores[at]])
        while len(blocks) > 1 and (
            blocks[-2][1] * blocks[-1][0] >= blocks[-1][1] * blocks[-2][0] or blocks[-2][0] < len(rows) / 50
        ):
            last = blocks.pop()
            blocks[-1] = [sum(pair) for pair in zip(blocks[-1], last, strict=True)]
    at = [0.0, *(block[2] / block[0] for block in blocks), 1.0]
    chance = [0.0, *((block[1] + 0.5) / (block[0] + 1) for block in blocks), 1.0]
    chance = [0.01 + 0.98 * one for one in chance]  # nothing is certain
    table = sorted(zip(np.round(at, 4).tolist(), np.round(np.maximum.accumulate(chance), 4).tolist(), strict=True))
    return Calibration(own.weights, own.bias, [s for s, _ in table], [p for _, p in table], SURE)


def scored(own: Calibration, rows: Sequence[Asked]) -> Values:
    """The scores of answers."""
    return np.array([own.score(row.signals) for row in rows])


def left_out(rows: Sequence[Asked]) -> tuple[Values, Values]:
    """The score, and the probability, of each answer by a fit on the other graphs."""
    scores, probabilities = np.zeros(len(rows)), np.zeros(len(rows))
    for graph in {row.graph for row in rows}:
        here = np.array([row.graph == graph for row in rows])
        others = [row for row in rows if row.graph != graph]
        own = fitted(others)
        scores[here] = scored(own, [row for row in rows if row.graph == graph])
        own = with_table(own, scored(own, others), others)
        probabilities[here] = [own.probability(row.signals) for row in rows if row.graph == graph]
    return scores, probabilities


# --- judging


def page(rows: Sequence[Asked], probabilities: Values, own: Calibration) -> Iterator[str]:
    """The figures by set of questions, over all that people asked, and what was fitted, as Markdown."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    yield "# How far the confidence of answers can be trusted\n"
    yield f"Made by `python -m benchmarks.confidence DATA`, {today} ({len(rows):,} questions, no model). Each figure"
    yield f"is of a graph left out of the fit. Sets of which fewer than {FEW} answers are right, or wrong, have"
    yield "no AUROC. The graphs in DATA are not part of this repository.\n"
    yield "| graph | questions | answers | right, % | AUROC: margin, as before | confidence | right at half, % |"
    yield "|---|---|---|---|---|---|---|"
    means: list[tuple[float, float]] = []
    for key in sorted({(row.kind, row.graph) for row in rows}, reverse=True):
        here = [i for i, row in enumerate(rows) if (row.kind, row.graph) == key and row.said]
        hits, margins = (np.array([getattr(rows[i], name) for i in here]) for name in ("hit", "margin"))
        before, now = (auroc(c, hits) for c in (margins, probabilities[here]))
        if min(hits.sum(), len(hits) - hits.sum()) < FEW:
            continue
        pair = before, now
        means += [pair] * (key[0] == "people")
        half = 100 * right_at_half(probabilities[here], hits)
        figures = f"{100 * hits.mean():.0f} | {pair[0]:.3f} | {pair[1]:.3f} | {half:.0f}"
        yield f"| {key[1]} | {KINDS[key[0]]} | {len(here)} | {figures} |"
    people = [i for i, row in enumerate(rows) if row.kind == "people"]
    if means:
        yield "\nMean AUROC of what people asked: {:.3f} by margin, **{:.3f}** by confidence.".format(
            *np.mean(means, axis=0)
        )
    if people:
        error = np.mean([(probabilities[i] - (rows[i].hit > 0)) ** 2 for i in people])
        yield f"Brier score of what people asked: {error:.3f}.\n"
    yield "| sure from | of what people asked | wrong of these |\n|---|---|---|"
    for least in sorted({0.0, 0.5, own.sure, 0.8, 0.9, 0.95}):
        called = [i for i in people if rows[i].is_sure and probabilities[i] >= least]
        wrong = sum(rows[i].f1 < 0.5 for i in called) / max(1, len(called))
        name = f"**{least}**" if least == own.sure else f"{least}"
        yield f"| {name} | {100 * len(called) / max(1, len(people)):.1f} % | {100 * wrong:.1f} % |"
    yield "\nWeights: " + ", ".join(f"{name} {own.weights.get(name, 0.0):.2f}" for name in SIGNALS) + "."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what was answered here")
    parser.add_argument("--read", type=Path, nargs="+", metavar="FILE", help="ask nothing: read what was kept")
    parser.add_argument("--quick", type=int, default=1, metavar="N", help="ask only one question of N")
    parser.add_argument("--dry", action="store_true", help="write no file")
    given = parser.parse_args()
    if given.read is not None:
        kept = (Asked(**one) for file in given.read for one in json.loads(file.read_text(encoding="utf-8")))
        rows = list({(row.graph, row.question): row for row in reversed([*kept])}.values())  # of the first file
    else:
        with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            asked = [pool.submit(asked_of, *own, given.quick) for own in sources(given.data)]
            rows = [row for one in asked for row in one.result()]
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], ensure_ascii=False), encoding="utf-8")
    scores, probabilities = left_out(rows)
    own = with_table(fitted(rows), scores, rows)
    shown = "\n".join(page(rows, probabilities, own)) + "\n"
    if len(given.read or ()) > 1:
        shown += (
            "\nAlso of answers that earlier runs kept (`--read`), among them those that a reader judged (FRESH.md).\n"
        )
    print(shown)
    if not given.dry:
        lines = [f' "{name}": {json.dumps(one)}' for name, one in asdict(own).items()]
        TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")
        PAGE.write_text(shown, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
