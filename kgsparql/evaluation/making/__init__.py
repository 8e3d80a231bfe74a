"""Questions with known answers, made from a graph of the user's own."""

from kgsparql.evaluation.making.making import Made, make

__all__ = ["Made", "make"]
