"""Doors beside the terminal: the page, the SPARQL protocol, MCP and tools.

May use: everything but ``cli``. Open first: ``app.py``.
"""
