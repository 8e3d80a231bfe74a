"""The process that answers questions of a run; ``worker_processes.py`` is the side of the run."""

from __future__ import annotations

import gc
import os
import pickle
import sys

from kgsparql.answering.ask_options import AskOptions
from kgsparql.evaluation.runs.outcome import outcome_of
from kgsparql.evaluation.runs.plan import Plan
from kgsparql.evaluation.runs.worker_processes import WorkerSetup
from kgsparql.graphs.child_process import frames_from_parent, pipe_to_parent, write_frame
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.knowledge_base import open as open_knowledge


def main() -> None:
    """Open the graph that the first frame names, then answer the questions of the others."""
    replies = pipe_to_parent()
    requests = frames_from_parent(sys.stdin.buffer)
    setup: WorkerSetup = pickle.loads(requests.get()[1])  # noqa: S301 - our own process wrote it, as below
    gc.set_threshold(*setup.gc_threshold)
    knowledge = _opened(setup)
    plan = Plan(questions=(), methods=(), asking=AskOptions(**setup.asking), gold_topics=setup.gold_topics)
    with knowledge.forgetting():
        write_frame(replies, {})
        while True:
            method, question = pickle.loads(requests.get()[1])  # noqa: S301
            found = outcome_of(knowledge, plan, method, question)
            error = None if found.error is None else found.error.to_record()
            write_frame(replies, {}, pickle.dumps((found.record, found.steps, error)))


def _opened(setup: WorkerSetup) -> KnowledgeBase:
    """The graph; the process ends if it is another by now, whose answers would be others."""
    named = dict(setup.opened_with)
    knowledge = open_knowledge(*named.pop("sources"), **named)
    if knowledge.graph.fingerprint != setup.fingerprint:
        os._exit(1)
    _ = knowledge.indexes.linker
    return knowledge


if __name__ == "__main__":
    main()
