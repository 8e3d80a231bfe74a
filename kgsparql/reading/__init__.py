"""From the words of a question to clauses whose arguments have roles. Knows languages, looks at no graph.

May use: ``linking`` and what is below it. Open first: ``clauses.py``, then ``parser.py``.
"""
