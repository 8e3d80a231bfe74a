"""The methods: each file without an underscore is one, with a class whose ``name`` is the file's; others are parts.

May use everything below: answering, evidence, linking, exploration, graphs, models, rdf; never the knowledge base.
Open first: ``_loading.py``; the shortest method to read is ``path_ranking.py``.
"""

from kgsparql.retrievers._loading import find, load, names, option_fields, with_options

__all__ = ["find", "load", "names", "option_fields", "with_options"]
