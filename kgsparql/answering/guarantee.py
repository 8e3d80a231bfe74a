"""As few readings as hold the right one in so many of 100 questions, or none of them: split conformal prediction.

How likely the right reading is among the first, the first two or three is weighed by what the confidence rests on. The
weights are in ``guarantee.json``, which ``python -m benchmarks.guarantee`` makes, with how likely is enough: so that it
held in 80, 90 and 95 of 100 questions of graphs that the weights had not seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from kgsparql.answering.confidence import Calibration
from kgsparql.dataclasses import frozen
from kgsparql.resources import packaged_text


@frozen
class Guarantee:
    """What tells how many readings are enough.

    :param sizes: how likely the right reading is among the first, the first two, and so on.
    :param least: how likely is enough, by the number of questions of 100.
    """

    sizes: Sequence[Calibration]
    least: Mapping[str, float]

    def size(self, signals: Mapping[str, float], listed: int, percent: int) -> int:
        """Return how many of the readings that are listed are enough; 0 where all of them are not.

        >>> one = Guarantee([Calibration({"fit": 2.0}, 0.0), Calibration({"fit": 4.0}, 0.0)], {"90": 0.9})
        >>> [one.size({"fit": fit}, 2, 90) for fit in (1.2, 0.6, 0.1)]
        [1, 2, 0]
        """
        likely = (own.score(signals) for own in self.sizes[:listed])
        return next((size for size, one in enumerate(likely, 1) if one >= self.least[str(percent)]), 0)


@cache
def guarantee() -> Guarantee:
    """Return what was fitted."""
    made = json.loads(packaged_text("answering/guarantee.json"))
    return Guarantee([Calibration(**one) for one in made["sizes"]], made["least"])
