"""What the names of a question mean, after a person corrected one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgsparql.errors import InputError

_IN_THE_QUESTION = ("mention", "start", "end")


def corrected(run: Mapping[str, Any], corrects: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The links of a run, with a candidate in the place of one of them, which becomes a candidate itself.

    :param corrects: the numbers of the ``link`` and of the ``candidate``.
    :raises InputError: if there are none of these numbers.

    >>> paris = {"mention": "Paris", "start": 9, "end": 14, "term": "Paris", "candidates": [{"term": "Paris (Texas)"}]}
    >>> [link] = corrected({"answer": {"linked": [paris]}}, {"link": 0, "candidate": 0})
    >>> link["term"], link["start"], link["candidates"]
    ('Paris (Texas)', 9, [{'term': 'Paris'}])
    """
    links = run.get("meanings") or run.get("answer", {}).get("linked", [])
    at, number = corrects["link"], corrects["candidate"]
    if not (0 <= at < len(links) and 0 <= number < len(links[at]["candidates"])):
        raise InputError("that name has no such meaning", hint="open the run again, and choose one that is listed")
    old, candidates = links[at], list(links[at]["candidates"])
    chosen = candidates.pop(number)
    rival = {name: value for name, value in old.items() if name not in {*_IN_THE_QUESTION, "candidates"}}
    new = {**chosen, **{name: old[name] for name in _IN_THE_QUESTION}, "candidates": [rival, *candidates]}
    return [new if link is old else link for link in links]
