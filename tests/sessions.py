"""Sessions without a knowledge base: see ``world``."""

from tests.world import labels_of, linked

__all__ = ["labels_of", "linked"]
