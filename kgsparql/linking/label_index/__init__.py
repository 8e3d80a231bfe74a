"""Label indexes: the names of a graph's entities, classes and predicates, read or looked up, and searched.

May use: ``exploration``, ``models`` and what is below them, and words. Open first: ``search.py``.
"""
