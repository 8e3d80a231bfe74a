"""RDF terms, prefixes, vocabulary, paths and SPARQL texts, which all other wings use.

May use: ``errors`` and ``resources``. Open first: ``terms.py``, then ``query.py``.
"""
