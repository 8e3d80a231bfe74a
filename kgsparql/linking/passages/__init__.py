"""Documents beside a graph: read, cut into passages, and indexed with the entities they mention.

May use: ``linking.label_index``, ``linking.words`` and what is below. Open first: ``passages.py``, then
``indexing.py``.
"""
