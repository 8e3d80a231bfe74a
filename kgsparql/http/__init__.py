"""What graphs and models share of HTTP: addresses, the one way to a server, and what its failures mean.

May use: ``rdf.terms``, ``errors``. Open first: ``transport.py``.
"""
