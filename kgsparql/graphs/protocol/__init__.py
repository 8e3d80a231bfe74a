"""The SPARQL protocol: requests within rate limits, and replies that are read only if they are whole.

May use: ``graphs.profiles``, ``http``, ``storage``. Open first: ``senders.py``, then ``replies.py``.
"""
