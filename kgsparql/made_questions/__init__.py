"""Questions that a graph can be asked, made of its own frequent paths: for newcomers, and to measure methods on.

May use: everything up to ``knowledge_base``. Open first: ``making.py``; then ``frequent_paths.py`` (which paths), and
``examples.py`` (the few that a newcomer is shown).
"""
