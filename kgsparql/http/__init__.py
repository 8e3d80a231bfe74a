"""What graphs and models share of HTTP: addresses, how long a server asks to wait, and calls that end at a deadline.

May use: ``rdf.terms``, ``redaction``, ``errors``. Open first: ``address.py``.
"""
