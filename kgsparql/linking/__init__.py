"""From the words of a question to entities, classes and predicates of the graph; labels, passages, ranking.

May use: ``exploration``, ``models`` and what is below them. Open first: ``linker.py``, then ``lattice.py``.
"""
