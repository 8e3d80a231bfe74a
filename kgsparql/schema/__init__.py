"""What a graph says of its own words: what things are called, which predicates say what others do, what is above what.

May use: ``exploration`` and what is below it. Open first: ``vocabulary.py``.
"""
