"""What is made faster than by the standard library is the same."""

import copy
import dataclasses
import inspect
import pickle

import pytest

from kgsparql.dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Value:
    name: str
    numbers: tuple[int, ...] = ()
    made: list[int] = field(default_factory=list, compare=False)
    shown: float = field(default=0.5, kw_only=True)
    hidden: str = field(default="x", init=False, repr=False)


@dataclass(slots=True)
class Tally:
    seen: int = 0
    double: int = field(init=False)

    def __post_init__(self) -> None:
        self.double = 2 * self.seen


def test_a_value_is_made_compared_shown_and_copied() -> None:
    value = Value("a", (1,), shown=1.0)
    assert repr(value) == "Value(name='a', numbers=(1,), made=[], shown=1.0)"
    assert value == Value("a", (1,), [7], shown=1.0) != Value("a", (1,))
    assert len({value, Value("a", (1,), [7], shown=1.0)}) == 1
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value  # noqa: S301
    assert replace(value, name="b") == Value("b", (1,), shown=1.0)
    assert dataclasses.asdict(value)["hidden"] == "x"
    assert list(inspect.signature(Value).parameters) == ["name", "numbers", "made", "shown"]
    assert Value("a").made is not Value("a").made


def test_a_frozen_value_stays_and_another_does_not() -> None:
    value = Value("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'name' of a Value"):
        value.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del value.name
    with pytest.raises(TypeError):
        Value()  # type: ignore[call-arg]
    tally = Tally(2)
    tally.seen += 1
    assert (tally.seen, tally.double) == (3, 4)
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally)
