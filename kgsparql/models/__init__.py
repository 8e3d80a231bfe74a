"""Language models and embedding models: asking them, reading their replies, keeping what they said.

May use: ``storage`` and what is below it. Open first: ``language_model.py``, then ``embedding.py``.
"""
