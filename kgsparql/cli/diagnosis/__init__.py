"""What ``kgsparql doctor`` checks: the installation, the graph, the model server and the embedder.

May use: every wing below ``cli``. Open first: ``checks.py``, then ``installation.py``.
"""
