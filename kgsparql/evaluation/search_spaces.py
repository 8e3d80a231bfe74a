"""The settings of a method's options that a tuning tries: a grid, or a random sample of it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any, get_args, get_type_hints

from kgsparql import retrievers
from kgsparql.errors import LimitError, OptionError
from kgsparql.rdf.terms import printable
from kgsparql.retrievers._loading import is_tuple

Setting = Mapping[str, Any]
"""A value for each option that is tuned, in the order of the space."""

MAX_TRIALS = 10_000
"""Settings of a grid. Of a larger one only a sample can be tried."""

_MAX_VALUES = 1_000
"""Values of one option."""

_HINT = 'for example -O "NAME=3,5,10", -O "NAME=1..5" or -O "NAME=0.1..0.5/0.1"'


@dataclass(frozen=True, slots=True)
class Space:
    """The options of a method that are tuned, with the values to try of each."""

    method: str
    values: Mapping[str, tuple[Any, ...]]
    default: Setting

    @classmethod
    def read(cls, method: str, texts: Mapping[str, str]) -> Space:
        """Read options as a command line has them: ``{"paths_kept": "3,5,10", "nested": "0.5..1.5/0.5"}``.

        Commas separate values; ``|`` does where values have commas, or an option holds several. ``first..last`` and
        ``first..last/step`` are ranges of numbers.

        :raises OptionError: for a method or an option that does not exist, an option without values, or a value that
            the method does not take beside the defaults of its other options.
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
        names = {field.name for field in retrievers.option_fields(found)}
        for name in texts.keys() - names:
            retrievers.load(method, {name: ""})  # raises an error that lists the options
        base = retrievers.load(method)
        values = {}
        for name, text in texts.items():
            typed = (
                getattr(retrievers.load(method, {name: one}), name) for one in _split_values(name, text, hints[name])
            )
            values[name] = tuple(dict.fromkeys(typed))
        return cls(method, values, {name: getattr(base, name) for name in values})

    @property
    def size(self) -> int:
        """How many settings the grid has."""
        return math.prod(map(len, self.values.values()))

    def grid(self) -> list[Setting]:
        """Return every setting, the last option varying fastest.

        :raises LimitError: if there are more than 10,000.
        """
        if self.size > MAX_TRIALS:
            raise LimitError(f"a grid of {self.size:,} trials", hint="--search random --trials 50")
        return [dict(zip(self.values, values, strict=True)) for values in product(*self.values.values())]

    def sample(self, n: int, *, seed: int) -> list[Setting]:
        """Draw ``n`` different settings of the grid, or as many as there are; the same for the same seed.

        >>> space = Space.read("mindmap", {"paths_kept": "1..10", "max_hops": "1..5"})
        >>> len({setting_key(setting) for setting in space.sample(20, seed=1)})
        20
        """
        drawn = random.Random(f"settings of {seed}")  # noqa: S311 - nobody is to be kept from guessing it
        if self.size <= MAX_TRIALS:
            return drawn.sample(self.grid(), min(n, self.size))
        found: dict[str, Setting] = {}
        while len(found) < min(n, MAX_TRIALS):
            setting = {name: drawn.choice(values) for name, values in self.values.items()}
            found[setting_key(setting)] = setting
        return list(found.values())

    def calls(self, setting: Setting) -> int:
        """Bound the model calls of one question with a setting, by the method's own estimate for one entity."""
        made = retrievers.load(self.method)
        options = {field.name: getattr(made, field.name) for field in retrievers.option_fields(type(made))}
        return type(made)(**{**options, **setting}).cost().calls


def setting_key(setting: Setting) -> str:
    """Write a setting as a text that tells it from all others."""
    return json.dumps(setting, sort_keys=True, ensure_ascii=False)


def setting_text(setting: Setting) -> str:
    """Write a setting for a person.

    >>> setting_text({"paths_kept": 5, "max_hops": None, "skip": ("http://a.org/", "http://b.org/")})
    'paths_kept=5 max_hops=none skip=http://a.org/,http://b.org/'
    """
    return " ".join(f"{name}={value_text(value)}" for name, value in setting.items())


def value_text(value: Any) -> str:
    """Write a value as ``-O`` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return printable(",".join(map(str, value)) if isinstance(value, list | tuple) else str(value), 60)


def _split_values(name: str, text: str, hint: Any) -> list[str]:
    """Split the text of an option into the texts of its values.

    >>> _split_values("hops", "1..3, 5", int), _split_values("weight", "0.1..0.3/0.1", float)
    (['1', '2', '3', '5'], ['0.1', '0.2', '0.3'])
    >>> _split_values("skip", "http://a.org/,http://b.org/|", tuple[str, ...]), _split_values("file", "a,b|c", str)
    (['http://a.org/,http://b.org/', ''], ['a,b', 'c'])
    """
    parts = text.split("|") if "|" in text or is_tuple(hint) else text.split(",")
    kinds = {hint, *get_args(hint)}
    found: list[str] = []
    for part in map(str.strip, parts):
        if not part and not is_tuple(hint):
            raise OptionError(f"-O {printable(name, 60)}={printable(text, 60)}: an empty value", hint=_HINT)
        found += _range_values(name, part, whole=int in kinds) if ".." in part and kinds & {int, float} else [part]
        if len(found) > _MAX_VALUES:
            raise _too_many_values(name)
    return found


def _range_values(name: str, text: str, *, whole: bool) -> list[str]:
    """List the numbers of a range; the last one is left out if it lies between two steps."""
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
    if (last - first) / step >= _MAX_VALUES:
        raise _too_many_values(name)
    return [f"{first + i * step:f}" for i in range(int((last - first) // step) + 1)]


def _too_many_values(name: str) -> LimitError:
    return LimitError(f"-O {printable(name, 60)}: more than {_MAX_VALUES:,} values", hint="a larger step")
