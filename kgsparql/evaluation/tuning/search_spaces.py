"""The settings of a method's options to try: all of them, a sample, or one option at a time."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice, product
from typing import Any, get_args, get_type_hints

from kgsparql import retrievers
from kgsparql.errors import LimitError, OptionError
from kgsparql.rdf.terms import printable
from kgsparql.retrievers._presets import is_tuple

Setting = Mapping[str, Any]
"""A value for each option that is tuned, in the order of the space."""

MOST_TRIALS = 10_000
"""Settings of one grid; of a larger one only a sample can be tried."""

_MOST_VALUES = 1_000
"""Values of one option."""

_LOOKED_AT = 2_000
"""Settings that are searched for one that takes a value that the defaults do not take."""

_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Space:
    """The options of a method that are tuned, with the values to try of each."""

    method: str
    values: Mapping[str, tuple[Any, ...]]
    default: Setting

    @classmethod
    def read(cls, method: str, texts: Mapping[str, str]) -> Space:
        """The space of options as a command line has them: ``{"paths_kept": "3,5,10", "nested": "0.5..1.5/0.5"}``.

        Commas separate values; ``|`` does where values have commas, or an option holds several. ``first..last`` and
        ``first..last/step`` are ranges of numbers.

        :raises OptionError: for a method, an option or a value that does not exist, or an option without values.
        :raises LimitError: for more than 1,000 values of an option.

        >>> space = Space.read("path_ranking", {"paths_kept": "3,5", "nested": "0.1..0.3/0.1", "max_hops": "none,2"})
        >>> space.values
        {'paths_kept': (3, 5), 'nested': (0.1, 0.2, 0.3), 'max_hops': (None, 2)}
        >>> space.default
        {'paths_kept': 5, 'nested': 1.0, 'max_hops': None}
        """
        found = retrievers.find(method)
        if not texts:
            raise OptionError(
                "no option to tune", hint=f'for example -O "NAME=1,2,3"; which there are: kgsparql retrievers {method}'
            )
        hints = get_type_hints(found)
        for name in texts:
            if name not in _names(method):
                retrievers.load(method, {name: ""})  # raises an error that lists the options
        split = {name: _split(name, text, hints[name]) for name, text in texts.items()}
        base = retrievers.load(method)
        values = {
            name: tuple(dict.fromkeys(_value(method, name, text, split) for text in own)) for name, own in split.items()
        }
        return cls(method, values, {name: getattr(base, name) for name in values})

    @property
    def size(self) -> int:
        """How many settings the grid has, those that the method does not take included."""
        return math.prod(len(own) for own in self.values.values())

    def takes(self, setting: Setting) -> bool:
        """Whether the method takes these values together."""
        try:
            retrievers.load(self.method, setting)
        except OptionError:
            return False
        return True

    def at(self, place: int) -> Setting:
        """The setting at a place of the grid, the last option the fastest.

        >>> space = Space.read("mindmap", {"paths_kept": "3,5", "max_hops": "2,3"})
        >>> space.at(1)
        {'paths_kept': 3, 'max_hops': 3}
        """
        found = {}
        for name in reversed(tuple(self.values)):
            place, i = divmod(place, len(self.values[name]))
            found[name] = self.values[name][i]
        return {name: found[name] for name in self.values}


def setting_key(setting: Mapping[str, Any]) -> str:
    """A text that tells a setting from all others."""
    return json.dumps(setting, sort_keys=True, ensure_ascii=False)


def grid(space: Space) -> tuple[list[Setting], int]:
    """All settings that the method takes, and how many it does not take.

    :raises LimitError: if there are more than 10,000.
    """
    if space.size > MOST_TRIALS:
        raise LimitError(
            f"a grid of {space.size:,} trials", hint="--search random --trials 50, or --search one-at-a-time"
        )
    every = [space.at(place) for place in range(space.size)]
    taken = [setting for setting in every if space.takes(setting)]
    return taken, len(every) - len(taken)


def sampled(space: Space, n: int, *, seed: int) -> list[Setting]:
    """``n`` different settings of the grid, or as many as there are; the same for the same seed.

    >>> space = Space.read("mindmap", {"paths_kept": "1..10", "max_hops": "1..5"})
    >>> len({setting_key(setting) for setting in sampled(space, 20, seed=1)})
    20
    """
    drawn = random.Random(f"settings of {seed}")  # noqa: S311 - nobody is to be kept from guessing it
    if space.size <= MOST_TRIALS:
        places = drawn.sample(range(space.size), space.size)
        return list(islice((setting for place in places if space.takes(setting := space.at(place))), n))
    found: dict[int, Setting] = {}
    for _ in range(100 * n):  # a grid so large is hardly ever drawn from twice at one place
        place = drawn.randrange(space.size)
        if place not in found and space.takes(setting := space.at(place)):
            found[place] = setting
        if len(found) == n:
            break
    return list(found.values())


def settings_of(space: Space, search: str, n: int, *, seed: int) -> tuple[list[Setting], int]:
    """The settings, beside the default one, that are known before anything is tried; how many of a grid cannot be."""
    settings, left_out = grid(space) if search == "grid" else ([], 0)
    if search == "random":
        settings = sampled(space, n, seed=seed)
    return [setting for setting in settings if setting != space.default], left_out


def one_at_a_time(space: Space, best_of: Callable[[Sequence[Setting]], Setting]) -> Setting:
    """Starting from the defaults, change one option at a time, keep its best value, and return the last setting.

    If the first round changed anything, a second one follows: the best value of an early option may be another beside
    the later choices. Values that do not go with the others are left out.

    :param best_of: tries settings, the first of which is the one so far, and returns the best.
    """
    now = space.default
    for _ in range(_ROUNDS):
        before = now
        for name in space.values:
            now = best_of([now, *_neighbours(space, now, name)])
        if now == before:
            break
    return now


def _neighbours(space: Space, now: Setting, name: str) -> Iterator[Setting]:
    for value in dict.fromkeys((space.default[name], *space.values[name])):
        setting = {**now, name: value}
        if value != now[name] and space.takes(setting):
            yield setting


@dataclass(frozen=True, slots=True)
class SearchCost:
    """An upper bound of what a search costs.

    :param trials: settings, the default one included.
    :param calls: of a model, for one question in all settings: rough, by the method's formula for one entity.
    :param calls_held_out: for one question with the default setting, and again with the dearest one.
    """

    trials: int
    calls: int
    calls_held_out: int


def search_cost(space: Space, search: str, n: int, *, seed: int) -> SearchCost:
    """An upper bound of what a search costs.

    >>> space = Space.read("mindmap", {"paths_kept": "3,5,10", "max_hops": "2,3"})
    >>> [search_cost(space, search, 4, seed=0).trials for search in ("grid", "random", "one-at-a-time")]
    [7, 5, 9]
    >>> search_cost(Space.read("mindmap", {"verbalise": "template,model"}), "grid", 0, seed=0)
    SearchCost(trials=2, calls=5, calls_held_out=5)
    """
    own = _calls(space, space.default)
    if search == "one-at-a-time":
        around = sum(len(set(values) - {space.default[name]}) for name, values in space.values.items())
        trials = 1 + around * (1 if len(space.values) == 1 else _ROUNDS)
        some = (space.at(place) for place in range(min(space.size, _LOOKED_AT)))
        dearest = max(own, *(_calls(space, setting) for setting in some))
        return SearchCost(trials, own + (trials - 1) * dearest, own + dearest)
    calls = [own, *(_calls(space, setting) for setting in settings_of(space, search, n, seed=seed)[0])]
    return SearchCost(len(calls), sum(calls), own + max(calls))


def _calls(space: Space, setting: Setting) -> int:
    options = {name: getattr(retrievers.load(space.method), name) for name in _names(space.method)}
    return retrievers.find(space.method).cost.bounds({**options, **setting})["calls"]


def _names(method: str) -> list[str]:
    return [field.name for field in retrievers.option_fields(retrievers.find(method))]


def _value(method: str, name: str, text: str, split: Mapping[str, Sequence[str]]) -> Any:
    """The value of an option that a text stands for: with the defaults, else with other values of the other options."""
    try:
        return getattr(retrievers.load(method, {name: text}), name)
    except OptionError as error:
        others = [own if other != name else [text] for other, own in split.items()]
        for values in islice(product(*others), _LOOKED_AT):
            try:
                return getattr(retrievers.load(method, dict(zip(split, values, strict=True))), name)
            except OptionError:
                continue
        raise error from None


def _split(name: str, text: str, hint: Any) -> list[str]:
    """The values in a text.

    >>> _split("hops", "1..3, 5", int), _split("weight", "0.1..0.3/0.1", float)
    (['1', '2', '3', '5'], ['0.1', '0.2', '0.3'])
    >>> _split("skip", "http://a.org/,http://b.org/|", tuple[str, ...]), _split("file", "a,b.tsv|c.tsv", str)
    (['http://a.org/,http://b.org/', ''], ['a,b.tsv', 'c.tsv'])
    """
    parts = text.split("|") if "|" in text or is_tuple(hint) else text.split(",")
    kinds = {hint, *get_args(hint)}
    found: list[str] = []
    for part in map(str.strip, parts):
        if not part and not is_tuple(hint):
            raise OptionError(f"-O {printable(name, 60)}={printable(text, 60)}: an empty value", hint=_HINT)
        found += _range(name, part, whole=int in kinds) if ".." in part and kinds & {int, float} else [part]
        if len(found) > _MOST_VALUES:
            raise LimitError(f"-O {printable(name, 60)}: more than {_MOST_VALUES:,} values", hint="a larger step")
    return found


_HINT = 'for example -O "NAME=3,5,10", -O "NAME=1..5" or -O "NAME=0.1..0.5/0.1"'


def _range(name: str, text: str, *, whole: bool) -> list[str]:
    """The numbers of a range; the last one is left out if it lies between two steps."""
    no_range = f"-O {printable(name, 60)}: {printable(text, 60)!r} is no range"
    ends, slash, by = text.partition("/")
    try:
        first, last = (Decimal(end.strip()) for end in ends.split(".."))
        step = Decimal(by.strip()) if slash else Decimal(1)
    except (InvalidOperation, ValueError) as error:
        raise OptionError(no_range, hint=_HINT) from error
    if not all(number.is_finite() for number in (first, last, step)) or step <= 0 or last < first:
        raise OptionError(no_range, hint="from the lower to the higher, by a step above 0")
    if not slash and not whole:
        raise OptionError(no_range, hint=f"say the step: {printable(text, 60)}/0.1")
    if (last - first) / step >= _MOST_VALUES:
        raise LimitError(f"-O {printable(name, 60)}: more than {_MOST_VALUES:,} values", hint="a larger step")
    return [f"{first + i * step:f}" for i in range(int((last - first) // step) + 1)]
