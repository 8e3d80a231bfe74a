"""Graphs that answer SPARQL: RDF files and stores in this process, and endpoints.

May use: ``rdf``, ``storage`` and ``http``. Open first: ``sources.py``, which opens what a user names.
"""
