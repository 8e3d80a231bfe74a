"""RDF terms, paths and SPARQL texts: the words that everything else is written in.

May use: ``errors`` and ``resources``. Open first: ``terms.py``, then ``query.py``.
"""
