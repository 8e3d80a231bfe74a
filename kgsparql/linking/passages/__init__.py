"""Documents beside a graph: read, cut into passages, indexed with the entities they mention.

Open first: ``passages.py``.
"""
