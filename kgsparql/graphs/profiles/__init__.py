"""What is known of SPARQL engines and public services: how each is to be asked.

May use: ``http``, and graphs in files. Open first: ``profile.py``, then ``catalogue.py``.
"""
