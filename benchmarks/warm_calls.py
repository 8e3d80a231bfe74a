"""How many Python functions a warm question calls: ``python -m benchmarks.warm_calls``.

The third ask of one question in a process, on ``fixtures/nobel.ttl`` and without a model, is profiled without builtins.
The figure depends on no machine, and on nothing else that runs there, so that versions can be compared.
"""

from __future__ import annotations

import argparse
import cProfile
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import kgsparql

QUESTION = "Where was Marie Curie born?"
ROOT = Path(__file__).parent.parent


def warm_calls(question: str = QUESTION, *, asked_before: int = 2) -> Counter[str]:
    """Count the calls of each function in one more ask of a question that was asked some times before.

    They are counted by code object: ``pstats`` knows a function by file, line and name, and keeps one of the methods
    that dataclasses generate where there are many, so that most hashes went uncounted.
    """
    with kgsparql.open(ROOT / "fixtures" / "nobel.ttl") as knowledge:
        for _ in range(asked_before):
            knowledge.ask(question)
        profile = cProfile.Profile(builtins=False)
        profile.runcall(knowledge.ask, question)
    calls: Counter[str] = Counter()
    for entry in profile.getstats():
        calls[_function_name(entry.code)] += entry.callcount
    return calls


def _function_name(code: Any) -> str:
    file = code.co_filename.removeprefix(f"{ROOT}/")
    return f"{file}:{code.co_firstlineno} {code.co_name}"


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--top", type=int, default=0, help="functions that are listed, those called most first")
    given = parser.parse_args()
    calls = warm_calls(given.question)
    for name, count in calls.most_common(given.top):
        sys.stdout.write(f"{count:>8,}  {name}\n")
    sys.stdout.write(f"{calls.total():,} calls of Python functions\n")


if __name__ == "__main__":
    _main()
