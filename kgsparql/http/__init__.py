"""What graphs and models share of HTTP: the addresses of servers, and how long a server asks to wait.

May use: ``rdf.terms``, ``redaction``, ``errors``. Open first: ``address.py``.
"""
