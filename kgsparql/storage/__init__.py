"""What is kept on disk: SQLite files, replies of servers, recordings, LanceDB tables, locks.

May use: ``rdf``. Open first: ``sqlite_file.py``, then ``response_cache.py``.
"""
