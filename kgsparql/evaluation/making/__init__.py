"""Questions with known answers, made from a graph of the user's own.

Open :mod:`.making` first, then :mod:`.patterns` (which paths) and :mod:`.wording` (in which words).
"""

from kgsparql.evaluation.making.making import MadeQuestions, make

__all__ = ["MadeQuestions", "make"]
