"""Graphs that answer SPARQL: RDF files and stores in this process, endpoints, and several of them as one.

May use: ``rdf``, ``storage`` and ``http``. Open first: ``sources.py``, which opens what a user names.
"""
