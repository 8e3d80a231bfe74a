"""Measuring methods on questions with known answers.

May use: everything but ``cli``. Open first: ``dataset.py``, then ``run_plan.py`` and ``comparison.py``::

    dataset.py      a question, the record of its result      datasets.py       read, drawn, written
    run_plan.py     what a run asks, and asking it            run_directory.py  a run on disk
    metrics.py      figures from question and record          comparison.py     all metrics of runs, side by side

Scoring reads questions and records alone, so that a new metric scores an old run::

    from pathlib import Path
    from kgsparql.evaluation.comparison import compare
    from kgsparql.evaluation.run_directory import Run

    for found in compare([Run.open(Path("RUN"))]):
        print([(row.name, row.mean("hits@1")) for row in found.rows])
"""
