"""Measuring methods on questions with known answers.

May use: everything but ``cli``. Open first: ``dataset.py`` and ``record.py``, then ``runs/`` and ``comparison.py``::

    dataset.py      a question with its gold answers          datasets.py   read, drawn, written
    record.py       the result of a question with a method    runs/         asking, and the directory of a run
    metrics.py      figures from question and record          matching.py   which given answers are right
    comparison.py   all metrics of runs, side by side         statistics.py intervals and tests

Scoring reads questions and records alone, so that a new metric scores an old run::

    from pathlib import Path
    from kgsparql.evaluation.comparison import compare
    from kgsparql.evaluation.runs.directory import Run

    for found in compare([Run.open(Path("RUN"))]):
        print(found.whole[["name", "hits@1"]])
"""
