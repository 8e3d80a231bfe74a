"""What an answer rests on: cited triples, their texts and names, looked up again; and the notes for its reader.

May use: ``linking`` and what is below it. Open first: ``evidence.py``, then ``path_expansion.py``.
"""
