"""What is answered today, question by question, so that a change is judged by the answers that it changes.

    python -m benchmarks.golden compare [GRAPH…]   # which answers differ from what is written; 1 if one is surely worse
    python -m benchmarks.golden write [GRAPH…]     # write what is answered now

A line of ``fixtures/golden/outcomes.jsonl`` has a question, the graph that it is asked of, options where they are not
the default ones, gold, and what came of it, without a model or an embedder. Gold is a list of labels in any order, or
of rows; ``[]`` where the graph has nothing, ``"doubt"`` where the graph does not settle it, and ``null`` where nobody
judged: then the outcome only tells a change. A new question is a line with ``graph``, ``question`` and ``gold``; the
option ``after`` lists the questions that it follows. ``choice`` is which of the readings under a doubt is right.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import kgsparql
from benchmarks.meaning import OUTCOMES
from kgsparql.answering.answer import Answer
from kgsparql.budget import Budget
from kgsparql.plans import algebra as a
from kgsparql.plans.running import Computed, rows_from_facts
from kgsparql.plans.type_check import parts
from kgsparql.rdf.terms import Term

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILE = FIXTURES / "golden" / "outcomes.jsonl"
ASKED = ("graph", "question", "options", "gold")
RIGHT, DOUBTED, WRONG, OTHER = OUTCOMES
MOST_LISTED, MOST_CHARACTERS, PER_PROCESS = 12, 120, 60

Line = dict[str, Any]


def lines(file: Path = FILE) -> dict[str, list[Line]]:
    """Read the questions with their outcomes, by graph."""
    every = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    every.sort(key=lambda line: str(line["graph"]))
    return {graph: list(own) for graph, own in groupby(every, key=lambda line: str(line["graph"]))}


def asked_anew(graph: str, questions: Iterable[Line], embedder: str = "none") -> list[Line]:
    """Ask questions of one graph, and return the lines with what comes of them now."""
    with kgsparql.open(FIXTURES / graph, embedder=embedder) as knowledge:
        return [_line(question, knowledge.ask) for question in questions]


def _line(question: Line, ask: Callable[..., Answer]) -> Line:
    asked, options, before = {key: question[key] for key in ASKED if key in question}, question.get("options", {}), None
    own = {key: value for key, value in options.items() if key != "after"}
    try:
        for earlier in options.get("after", ()):
            before = ask(earlier, after=before, **own)
        ask = partial(ask, question["question"], after=before, budget=Budget(max_seconds=None), **own)
        answer, gold = ask(), question["gold"]
        came = outcome(answer)
        if answer.choices and gold not in (None, "doubt"):
            chosen = (ask(reading=number) for number in range(1, len(answer.choices) + 1))
            right = [verdict(gold, one, outcome(one)) == RIGHT for one in chosen]
            came["choice"] = right.index(True) + 1 if any(right) else 0
    except Exception as error:  # noqa: BLE001 - a crash is an outcome, too
        return {**asked, "verdict": "error", "status": repr(error)}
    return {**asked, "verdict": verdict(gold, answer, came), **came}


def outcome(answer: Answer) -> Line:
    """Say in short what is answered, what is doubted, and what it rests on."""
    found, cited = answer.computed, answer.cited
    first = answer.evidence[cited[0]].text if cited else ""
    way = first if found is None else answer.text.splitlines()[-1]  # for what is computed, how it was read
    way = re.sub(r"(?<=today), [\d-]+", "", way)  # on any day
    said: Line = {"status": str(answer.status), "method": answer.retriever}
    said["linked"] = [link.label for link in answer.linked]
    said["best"] = _some([one.label for one in answer.best])
    if found is not None and found.is_table:
        said["columns"], said["rows"] = list(found.columns), _some(rows_of(answer))
    said["doubts"] = [gap.text[:MOST_CHARACTERS] for gap in answer.gaps]
    said["notes"] = sorted({note.code for note in answer.notes})
    said |= {"way": way[: 2 * MOST_CHARACTERS], "evidence": len(answer.evidence), "faults": faults(answer)}
    return {key: value for key, value in said.items() if value not in ([], "", 0)}


def faults(answer: Answer) -> list[str]:
    """Say what no answer may have: triples that were not found again, and a line of evidence twice."""
    texts = [item.text for item in answer.evidence]
    found = {
        "a triple was not found again": all(cited.verified for item in answer.evidence for cited in item.triples),
        "evidence is said twice": len(texts) == len(set(texts)),
        "the facts give another value": answer.computed is None or is_given_by_facts(answer.computed),
    }
    return [fault for fault, is_well in found.items() if not is_well]


def is_given_by_facts(found: Computed) -> bool:
    """Tell whether the facts alone give the value again; where some are missing, or an absence is a reason, it may."""
    if not found.all_facts or found.is_cut or any(isinstance(part, a.Lacks | a.Minus) for part in parts(found.plan)):
        return True
    again = rows_from_facts(found.plan, found.query, found.facts)
    one, other = (
        {tuple(_plain(str(getattr(term, "value", ""))) for term in row[-len(found.columns) :]) for row in rows}
        for rows in (found.rows, again)
    )
    return one == other


def _name(answer: Answer, term: Term) -> str:
    return answer.labels.get(term) or getattr(term, "value", "–")


def _some(items: Sequence[Any]) -> list[Any]:
    more = len(items) - MOST_LISTED
    return [*items[:MOST_LISTED], *([f"and {more} more"] if more > 0 else [])]


def rows_of(answer: Answer) -> list[list[str]]:
    """Return the rows of a table by their labels; ``–`` where there is nothing."""
    rows = answer.computed.rows if answer.computed is not None else ()
    return [[_name(answer, term) if term else "–" for term in row] for row in rows]


def verdict(gold: Any, answer: Answer, came: Mapping[str, Any]) -> str:
    """Judge an answer: right or wrong, sure or doubted."""
    if gold is None:
        return "not judged"
    if came["status"] == "not_in_graph":
        is_empty = gold in ("doubt", [], ["false"], ["0"])
        return OTHER if not is_empty else DOUBTED if came.get("doubts") else RIGHT
    if gold == "doubt":
        return WRONG if came["status"] == "answered" else DOUBTED
    if gold and isinstance(gold[0], list):
        is_right = sorted(rows_of(answer)) == sorted(gold)
    else:
        is_right = {_plain(one.label) for one in answer.best} == {_plain(label) for label in gold}
    if came["status"] == "answered":
        return RIGHT if is_right else WRONG
    return DOUBTED if is_right else OTHER


def _plain(label: str) -> str:
    """Round what is a number, which engines and hands write with more digits or fewer."""
    try:
        return f"{float(label):.6g}"
    except ValueError:
        return label


def differences(before: Iterable[Line], now: Iterable[Line]) -> list[str]:
    """Say of each question whose outcome is another what it was and is; what is surely worse is marked as an error."""
    told = []
    for old, new in zip(before, now, strict=True):
        changed = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
        if changed:
            is_worse = new["verdict"] in {WRONG, "error"} and new["verdict"] != old.get("verdict")
            head = f"{'ERROR: ' * is_worse}{new['graph']}: {new['question']} {new.get('options', '')}".rstrip()
            told.append("\n    ".join([head, *(f"{key}: {old.get(key)} → {new.get(key)}" for key in changed)]))
    return told


def ask_all(known: Mapping[str, Sequence[Line]]) -> list[Line]:
    """Ask all questions, in a process for each processor."""
    parts = [(graph, own[i : i + PER_PROCESS]) for graph, own in known.items() for i in range(0, len(own), PER_PROCESS)]
    parts.sort(key=lambda part: -len(part[1]))
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        answered = [line for part in pool.map(asked_anew, *zip(*parts, strict=True)) for line in part]
    places = {id_of(line): i for i, line in enumerate(line for own in known.values() for line in own)}
    return sorted(answered, key=lambda line: places[id_of(line)])


def id_of(line: Line) -> str:
    """Return what tells a question from all others."""
    return json.dumps([line["graph"], line["question"], line.get("options")])


def main() -> int:
    """Compare, or write; then count the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compare", "write"])
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", help="as in the file; all by default")
    given = parser.parse_args()
    known = lines()
    wanted = {graph: own for graph, own in known.items() if not given.graphs or graph in given.graphs}
    now = ask_all(wanted)
    told = differences([line for own in wanted.values() for line in own], now)
    print("\n".join(told))
    if given.what == "write":
        by_id = {id_of(line): line for line in now}
        every = [by_id.get(id_of(line), line) for own in known.values() for line in own]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in every)
        FILE.write_text(text, encoding="utf-8", newline="\n")
    counts = Counter(line["verdict"] for line in now).most_common()
    print(f"{len(now)} questions, {len(told)} changed; {', '.join(f'{n} {name}' for name, n in counts)}")
    chosen = [line["choice"] for line in now if "choice" in line]
    print(f"{sum(map(bool, chosen))} of {len(chosen)} doubts with readings have the right one among them")
    return int(given.what == "compare" and any(one.startswith("ERROR") for one in told))


if __name__ == "__main__":
    sys.exit(main())
