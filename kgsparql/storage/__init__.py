"""Files on disk: SQLite files, kept replies of servers, LanceDB tables, locks, atomic replacement.

May use: ``rdf``. Open first: ``sqlite_file.py``, then ``response_cache.py``.
"""
