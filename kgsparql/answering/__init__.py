"""The steps of a question: its session, linking, choosing, writing, and the answer.

May use: ``evidence`` and what is below it. Open first: ``pipeline.py``, then ``session.py``.
"""
