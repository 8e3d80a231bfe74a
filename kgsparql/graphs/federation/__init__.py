"""Several graphs asked as one: merging solutions, and joins over several graphs.

May use: the other files of ``graphs``, ``rdf``. Open first: ``federated_graph.py``, then ``joining.py``.
"""
