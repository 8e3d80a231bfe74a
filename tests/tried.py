"""Models that a trial tells apart: one that reads well, one that prefers the first of a list, one that guesses."""

import random
from collections.abc import Callable

from kgsparql.retrievers._trial import bundled
from tests.model_server import Reply, Text
from tests.scripted import numbered, question_of
from tests.world import Body

Script = Callable[[Body], Reply]
RIGHT = {item["paths"][0] for item in bundled()["items"]}
PLANS = {item["question"]: item["plan"] for item in bundled()["plans"]}


def strong(body: Body, *, misses: int = 0) -> Reply:
    """What a model replies that reads well, but for the first questions of the trial."""
    missed = {item["paths"][0] for item in bundled()["items"][:misses]}
    if question_of(body) in PLANS:
        return Text({"plan": PLANS[question_of(body)], "left_out": "", "search": ""})
    return Text({"numbers": [n for n, line in numbered(body).items() if line in RIGHT - missed]})


def weak(body: Body) -> Reply:
    """Prefers the first of a list, as small models do."""
    return Text({"numbers": [n for n in numbered(body) if n % 3 == 1]})


def eager(body: Body) -> Reply:
    """Reads well, but never says that no line is right."""
    wrong = {path for item in bundled()["items"] if item.get("lacks_it") for path in item["paths"][1:2]}
    return Text({"numbers": [n for n, line in numbered(body).items() if line in RIGHT | wrong]})


def erratic(body: Body) -> Reply:
    draw = random.Random(str(body["messages"]))  # noqa: S311
    return Text({"numbers": [first + draw.randrange(3) for first in range(1, 15, 3)]})
