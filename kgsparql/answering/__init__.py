"""The way of a question: its session, what chooses and writes, and the answer.

May use: ``evidence`` and what is below it. Open first: ``pipeline.py``, then ``session.py``.
"""
