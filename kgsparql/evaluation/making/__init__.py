"""Questions with known answers, made from a graph of the user's own."""

from kgsparql.evaluation.making.making import MadeQuestions, make

__all__ = ["MadeQuestions", "make"]
