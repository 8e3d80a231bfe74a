"""Typed query plans: what a question asks to be computed, as values that are checked, compiled to one query and worded.

May use: ``rdf``, ``graphs``, ``exploration``, ``linking``, ``evidence``. Open first: ``algebra.py``.
"""
