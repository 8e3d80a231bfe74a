"""Finds property paths of unbounded length whose two ends nothing else binds: they mean all pairs of a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kgsparql.graphs.user_query.tokens import SparqlToken

_STEPS = frozenset(("iri", "name"))
_UNBOUNDED = frozenset("*+")
_MODIFIERS = frozenset("*+?")
_BEFORE_STEP = frozenset("^!")
_BETWEEN_STEPS = frozenset("/|")


class _Path(NamedTuple):
    """The indexes of the first and last token of a path, and its ends: variable, blank node, or ``None`` if fixed."""

    first: int
    last: int
    ends: tuple[str | None, str | None]


def free_path(tokens: Sequence[SparqlToken]) -> SparqlToken | None:
    """The first token of a path that may be of any length and has both ends free, or ``None``.

    An end is bound if another triple pattern, ``VALUES``, ``BIND`` or ``GRAPH`` mentions it, or a path whose other end
    is bound. ``FILTER`` binds nothing. A step of a fixed length binds the path that it is in.
    """
    pairs = _pairs(tokens)
    paths = [
        path for path in _unbounded_paths(tokens, pairs) if not _has_fixed_step(tokens, pairs, path.first, path.last)
    ]
    if not paths:
        return None
    mentioned = Counter(_bindings(tokens))
    mentioned.subtract(end for path in paths for end in path.ends if end is not None)
    bound = {None} | {name for name, times in mentioned.items() if times > 0}
    waiting = paths
    while waiting:
        reached = [path for path in waiting if bound.intersection(path.ends)]
        if not reached:
            return tokens[waiting[0].first]
        bound.update(end for path in reached for end in path.ends)
        waiting = [path for path in waiting if path not in reached]
    return None


def _pairs(tokens: Sequence[SparqlToken]) -> dict[int, int]:
    """The partner of every parenthesis."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for i, token in enumerate(tokens):
        if token.text == "(":
            opened.append(i)
        elif token.text == ")":
            pairs[i] = opened.pop()
            pairs[pairs[i]] = i
    return pairs


def _unbounded_paths(tokens: Sequence[SparqlToken], pairs: dict[int, int]) -> Iterator[_Path]:
    """The paths with ``*`` or ``+`` after a step, each once."""
    seen = -1
    for i, token in enumerate(tokens):
        if token.text not in _UNBOUNDED or i <= seen or not _ends_step(tokens, pairs, i - 1):
            continue
        first, last = _path_extent(tokens, pairs, i)
        if first < 1 or tokens[first].owner < 0 or tokens[tokens[first].owner].text not in {"{", "["}:
            continue
        seen = last
        yield _Path(first, last, (_free_end(tokens, first - 1), _free_end(tokens, last + 1)))


def _ends_step(tokens: Sequence[SparqlToken], pairs: dict[int, int], i: int) -> bool:
    """Whether token ``i`` is a predicate, or closes parentheses that hold nothing but a path."""
    if i < 0:
        return False
    if tokens[i].text != ")":
        return tokens[i].kind in _STEPS or tokens[i].text == "a"
    inside = tokens[pairs[i] + 1 : i]
    return bool(inside) and all(t.kind in _STEPS or t.text in {"a", *"()/|^!*+?"} for t in inside)


def _path_extent(tokens: Sequence[SparqlToken], pairs: dict[int, int], modifier: int) -> tuple[int, int]:
    """First and last token of the path around a modifier, with the parentheses that hold nothing else."""
    first = last = modifier
    while True:
        first = _step_start(tokens, pairs, first)
        while tokens[first - 1].text in _BETWEEN_STEPS:
            first = _step_start(tokens, pairs, first - 2)
        while last + 1 < len(tokens) and tokens[last + 1].text in _BETWEEN_STEPS:
            last = _step_end(tokens, pairs, last + 2)
        owner = tokens[first].owner
        if owner < 0 or owner != first - 1 or pairs.get(owner) != last + 1:
            return first, last
        last = _after_modifier(tokens, last + 1)
        first = owner


def _step_start(tokens: Sequence[SparqlToken], pairs: dict[int, int], i: int) -> int:
    """The first token of the step that ends at ``i``."""
    while i > 0 and tokens[i].text in _MODIFIERS:
        i -= 1
    if tokens[i].text == ")":
        i = pairs[i]
    while i > 0 and tokens[i - 1].text in _BEFORE_STEP:
        i -= 1
    return max(i, 1)


def _step_end(tokens: Sequence[SparqlToken], pairs: dict[int, int], i: int) -> int:
    """The last token of the step that starts at ``i``."""
    while i + 1 < len(tokens) and tokens[i].text in _BEFORE_STEP:
        i += 1
    i = min(i, len(tokens) - 1)
    return _after_modifier(tokens, pairs[i] if tokens[i].text == "(" else i)


def _after_modifier(tokens: Sequence[SparqlToken], i: int) -> int:
    return i + 1 if i + 1 < len(tokens) and tokens[i + 1].text in _MODIFIERS else i


def _has_fixed_step(tokens: Sequence[SparqlToken], pairs: dict[int, int], first: int, last: int) -> bool:
    """Whether every alternative of a path has a step of a fixed length, which binds its ends. (Depth is limited.)"""
    alternatives, i = [False], first
    while i <= last:
        text = tokens[i].text
        if text == "|":
            alternatives.append(False)
        elif text not in {"/", *_BEFORE_STEP}:
            end = _step_end(tokens, pairs, i)
            if tokens[end].text not in _MODIFIERS:
                alternatives[-1] |= text != "(" or _has_fixed_step(tokens, pairs, i + 1, end - 1)
            i = end
        i += 1
    return all(alternatives)


def _free_end(tokens: Sequence[SparqlToken], i: int) -> str | None:
    """The variable or blank node at one end of a path; ``None`` for a fixed term."""
    if i < len(tokens) and tokens[i].kind in {"variable", "blank"}:
        return _node_name(tokens[i])
    for opened in (i - 1, i):
        if [token.text for token in tokens[opened : opened + 2]] == ["[", "]"]:
            return f"[{opened}"
    return None


def _node_name(token: SparqlToken) -> str:
    return token.text.replace("$", "?", 1) if token.kind == "variable" else token.text


def _bindings(tokens: Sequence[SparqlToken]) -> Iterator[str]:
    """Variables and blank nodes, once for each place that gives them values."""
    selects = {token.owner for token in tokens if token.word == "SELECT"}
    templates = {i for i, token in enumerate(tokens) if token.text == "{" and tokens[i - 1].word == "CONSTRUCT"}
    for i, token in enumerate(tokens):
        if token.kind not in {"variable", "blank"}:
            continue
        before = tokens[i - 1].word
        opener = tokens[token.owner] if token.owner >= 0 else None
        before_opener = tokens[token.owner - 1].word if token.owner > 0 else ""
        in_pattern = opener is not None and opener.text in {"{", "[", "<<"}
        listed = before == "VALUES" or before_opener == "VALUES" or (before == "AS" and before_opener == "BIND")
        if listed or (in_pattern and token.owner not in selects and token.owner not in templates):
            yield _node_name(token)
