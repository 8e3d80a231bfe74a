"""Questions that a graph can be asked, made of its own frequent paths: for newcomers, and to measure methods on.

May use: everything up to ``knowledge_base``. Open first: ``making.py``; then ``examples.py`` (those for
newcomers).
"""
