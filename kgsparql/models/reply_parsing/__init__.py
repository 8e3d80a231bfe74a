"""Replies of language models, parsed tolerantly: what is ambiguous is dropped and counted, never guessed.

Every function takes linear time, refuses a reply of more than 200,000 characters, and raises only
:class:`~kgsparql.errors.ModelReplyError`. Open first: ``cleaning.py``, then ``written_answers.py``.
"""
