"""Several graphs asked as one: merging solutions, and joins over several graphs.

May use: ``graphs.protocols``, ``rdf``. Open first: ``queries.py``, then ``joining.py``.
"""
