"""Measuring methods on questions with known answers.

::

    dataset.py      a question with its gold answers          datasets/     the formats they come in
    record.py       what came of a question with a method     runs/         asking, and the directory of a run
    metrics/        from question and record to figures       matching.py   when a given answer is a right one
    comparison/     runs side by side                         statistics.py intervals and tests
    validation/     does the graph give the gold answers?     making/       questions from a graph of one's own
    tuning/         options chosen and judged                 baselines/    what every method must beat
    oracle.py       a perfect chooser, for ceilings

A run asks and writes records; scoring reads records and questions alone, so that a new metric scores an old run::

    from pathlib import Path
    from kgsparql.evaluation.comparison import compare
    from kgsparql.evaluation.runs.directory import Run

    for row in compare([Run.open(Path("RUN"))]).rows:
        print(row.name, row.means["hits@1"])
"""
