"""A packrat parser of grammars that are text: rules over tagged words, tried in order, each place once.

``Name <- part part => builder key=constant`` is a rule, and a line below that begins with ``/`` its next alternative.
A part is a tag of words, or a rule; ``label:part`` keeps its value for the builder; ``? * + ( / ) & !`` are as usual,
and ``&`` keeps labels. A rule without a builder hands its labels on, and its last value. ``name = tag tag`` names tags
of which any will do. A line in quotation marks below a rule is an example, with what is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

_PART = re.compile(r'"[^"]*"|<-|=>|\w+=\S+|[()/?*+!&]|\w+:(?=\S)|[\w.]+')
_MAX_DEPTH = 60  # of rules within rules; a rule that is deeper does not fit
_FAILED = -1

Labelled = tuple[str, Any]
Build = Callable[[str, Sequence[Labelled]], Any]


class Edge(NamedTuple):
    """Words with a tag. :param next: where the word after them begins. :param value: what the tag says of them."""

    start: int
    end: int
    next: int
    text: str
    value: Any = None


Lattice = Sequence[Mapping[str, Edge]]
"""For each position the tags there, each with its words."""


class Grammar:
    """The rules of a grammar, ready to parse; and its examples.

    >>> ann, knows, bea = Edge(0, 1, 1, "ann"), Edge(1, 2, 2, "knows"), Edge(2, 3, 3, "bea")
    >>> words = [{"name": ann}, {"verb": knows}, {"name": bea}, {}]
    >>> show = lambda builder, found: [builder, *(f"{label}:{getattr(own, 'text', own)}" for label, own in found)]
    >>> RuleReader(Grammar("S <- who:name verb what:name => fact sure=yes"), words, show).rule("S", 0)
    (3, ['fact', 'sure:yes', 'who:ann', 'what:bea'], [])
    """

    def __init__(self, text: str) -> None:
        self.examples: list[tuple[str, str]] = []
        self.tags: dict[str, tuple[str, ...]] = {}
        bodies: dict[str, str] = {}
        for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
            if line.startswith('"'):
                question, _, form = line[1:].partition('"')
                self.examples.append((question, form.strip()))
            elif " <- " in line:
                name, _, body = line.partition(" <- ")
                bodies[name.strip()] = body
            elif " = " in line:
                name, _, tags = line.partition(" = ")
                self.tags[name.strip()] = tuple(own for tag in tags.split() for own in self.tags.get(tag, (tag,)))
            else:
                bodies[[*bodies][-1]] += f" {line}"
        self.names = bodies.keys()
        self.rule = cache(lambda name: self._alternatives_in(_PART.findall(bodies[name])))  # one question needs a few

    def _alternatives_in(self, parts: list[str]) -> list[tuple[_Match, str, list[Labelled]]]:
        found = []
        while parts:
            match, builder, constants = self._sequence_in(parts), "", list[Labelled]()
            if parts[:1] == ["=>"]:
                builder = parts[1]
                del parts[:2]
            while parts and "=" in parts[0]:
                name, _, value = parts.pop(0).partition("=")
                constants.append((name, value))
            found.append((match, builder, constants))
            del parts[:1]
        return found

    def _sequence_in(self, parts: list[str]) -> _Match:
        found = list[_Match]()
        while parts and parts[0] not in {"/", ")", "=>"}:
            found.append(self._part_in(parts))
        return found[0] if len(found) == 1 else partial(_match_all, found)

    def _part_in(self, parts: list[str]) -> _Match:
        first = parts.pop(0)
        if first in {"&", "!"}:
            return partial(_look_ahead, self._part_in(parts), first == "&")
        label, first = (first[:-1], parts.pop(0)) if first.endswith(":") else ("", first)
        if first == "(":
            options = [self._sequence_in(parts)]
            while parts.pop(0) == "/":
                options.append(self._sequence_in(parts))
            part: _Match = partial(_match_any, options)
        elif first in self.names:
            part = partial(_match_rule, first)
        else:
            part = partial(_match_tag, self.tags.get(first, (first,)))
        part = partial(_match_label, label, part) if label else part
        return partial(_match_repeated, part, parts.pop(0)) if parts and parts[0] in {"?", "*", "+"} else part


class RuleReader:
    """Reads some words by a grammar.

    :param keeps_all: parts without a label are kept, too, with an empty one, and a label is of all that its part kept.
    :ivar known: what each rule found at each place: where it ends, its value, and labels that it hands on.
    :ivar value: what was found last.
    """

    def __init__(self, grammar: Grammar, words: Lattice, build: Build, *, keeps_all: bool = False) -> None:
        self.rules, self.words, self.build, self.keeps_all = grammar.rule, words, build, keeps_all
        self.known: dict[tuple[str, int], tuple[int, Any, list[Labelled]] | None] = {}
        self.depth = 0
        self.value: Any = None

    def rule(self, name: str, at: int) -> tuple[int, Any, list[Labelled]] | None:
        """Read a rule at a place; one that begins with itself does not fit, nor one whose builder makes nothing."""
        key = name, at
        if key in self.known:
            return self.known[key]
        self.known[key] = None
        if self.depth > _MAX_DEPTH:
            return None
        self.depth += 1
        for match, builder, constants in self.rules(name):
            caught: list[Labelled] = []
            self.value = None
            end = match(self, at, caught)
            value = caught if self.keeps_all else self.value
            if builder and end != _FAILED:
                value = self.build(builder, constants + caught)
            if end != _FAILED and not (builder and value is None):
                kept = [("", value)] if self.keeps_all else []
                self.known[key] = end, value, kept if builder else caught
                break
        self.depth -= 1
        return self.known[key]


_Match = Callable[[RuleReader, int, list[Labelled]], int]
"""Reads on from a place, and notes labels; returns where it ends, or -1."""


def _match_tag(tags: Sequence[str], parse: RuleReader, at: int, caught: list[Labelled]) -> int:
    here = parse.words[at]
    for tag in tags:
        if tag in here:
            parse.value = here[tag]
            if parse.keeps_all:
                caught.append(("", parse.value))
            return here[tag].next
    return _FAILED


def _match_rule(name: str, parse: RuleReader, at: int, caught: list[Labelled]) -> int:
    found = parse.rule(name, at)
    if found is None:
        return _FAILED
    end, parse.value, labels = found
    caught += labels
    return end


def _match_label(label: str, part: _Match, parse: RuleReader, at: int, caught: list[Labelled]) -> int:
    own: list[Labelled] = []
    end = part(parse, at, own)
    if end != _FAILED:
        caught.append((label, own if parse.keeps_all else parse.value))
    return end


def _match_any(options: Sequence[_Match], parse: RuleReader, at: int, caught: list[Labelled]) -> int:
    for option in options:
        if (end := option(parse, at, caught)) != _FAILED:
            return end
    return _FAILED


def _match_all(parts: Sequence[_Match], parse: RuleReader, at: int, caught: list[Labelled]) -> int:
    mark = len(caught)
    for part in parts:
        at = part(parse, at, caught)
        if at == _FAILED:
            del caught[mark:]
            break
    return at


def _match_repeated(part: _Match, times: str, parse: RuleReader, at: int, caught: list[Labelled]) -> int:
    begun = at
    while (end := part(parse, at, caught)) > at:
        at = end
        if times == "?":
            break
    return _FAILED if times == "+" and at == begun else at


def _look_ahead(part: _Match, is_wanted: bool, parse: RuleReader, at: int, caught: list[Labelled]) -> int:
    before = parse.value
    end = part(parse, at, caught if is_wanted and not parse.keeps_all else [])
    parse.value = before
    return at if (end != _FAILED) == is_wanted else _FAILED
