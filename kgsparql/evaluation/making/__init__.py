"""Questions with known answers, made from a graph of the user's own.

Open :mod:`.making` first, then :mod:`.patterns` (which paths) and :mod:`.question_wording` (in which words);
:mod:`.examples` has the few that a newcomer is shown.
"""

from kgsparql.evaluation.making.examples import example_questions
from kgsparql.evaluation.making.making import MadeQuestions, make

__all__ = ["MadeQuestions", "example_questions", "make"]
