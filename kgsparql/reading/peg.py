"""A packrat parser of grammars that are text: rules over tagged words, tried in order, each place once.

``Name <- part part => builder key=constant`` is a rule, further lines that begin with ``/`` are its alternatives.
A part is a tag of a word or a rule; ``label:part`` keeps its value for the builder; ``? * + ( / ) & !`` are as usual,
and ``&`` keeps its labels. A rule without a builder hands its labels on. ``name = tag tag`` names some tags at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

_TOKEN = re.compile(r"\s*(<-|=>|\w+=[^\s]+|[()/?*+!&]|\w+:(?=\S)|[\w.]+)")
_MAX_DEPTH = 60
_FAILED = -1

Labelled = tuple[str, Any]
Match = Callable[["_Parse", int, list[Labelled]], int]
Builder = Callable[[Sequence[Labelled]], Any]


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
    """The rules of a grammar, ready to parse.

    >>> rules = "S <- who:name verb what:name => fact sure=yes"
    >>> words = [{"name": Edge(0, 1, 1, "ann")}, {"verb": Edge(1, 2, 2, "knows")}, {"name": Edge(2, 3, 3, "bea")}, {}]
    >>> Grammar(rules).parse(words, "S", {"fact": lambda found: [(key, getattr(own, "text", own)) for key, own in found]})
    (3, [('sure', 'yes'), ('who', 'ann'), ('what', 'bea')])
    """

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[tuple[Match, str, list[Labelled]]]] = {}
        self.examples: list[tuple[str, str]] = []
        self._names: dict[str, tuple[str, ...]] = {}
        bodies: dict[str, str] = {}
        head = ""
        for line in filter(None, (line.partition("#")[0].rstrip() for line in text.splitlines())):
            if line.lstrip().startswith('"'):
                question, form = line.split('"', 2)[1:]
                self.examples.append((question, form.strip()))
            elif " = " in line:
                name, tags = line.split(" = ")
                self._names[name] = tuple(own for tag in tags.split() for own in self._names.get(tag, (tag,)))
            elif "<-" in line:
                head, _, bodies[head] = (part.strip() for part in line.partition("<-"))
            else:
                bodies[head] += line
        self.rules = dict.fromkeys(bodies, [])
        for head, body in bodies.items():
            self.rules[head] = self._alternatives(_TOKEN.findall(body))

    def parse(self, words: Lattice, rule: str, builders: Mapping[str, Builder], at: int = 0) -> tuple[int, Any] | None:
        """Read a rule at a place; return where it ends, and its value; None where it does not fit."""
        found = _Parse(self.rules, words, builders).rule(rule, at)
        return None if found is None else found[:2]

    def _alternatives(self, tokens: list[str]) -> list[tuple[Match, str, list[Labelled]]]:
        tokens, found = [*tokens, "/"], []
        while tokens:
            match, builder, constants = self._sequence(tokens), "", list[Labelled]()
            if tokens[0] == "=>":
                builder = tokens[1]
                del tokens[:2]
            while "=" in tokens[0]:
                name, _, value = tokens.pop(0).partition("=")
                constants.append((name, value))
            found.append((match, builder, constants))
            tokens.pop(0)
        return found

    def _choice(self, tokens: list[str]) -> Match:
        options = [self._sequence(tokens)]
        while tokens.pop(0) == "/":
            options.append(self._sequence(tokens))
        return options[0] if len(options) == 1 else _any_of(options)

    def _sequence(self, tokens: list[str]) -> Match:
        parts = list[Match]()
        while tokens[0] not in {"/", ")", "=>"}:
            parts.append(self._part(tokens))
        return parts[0] if len(parts) == 1 else _all_of(parts)

    def _part(self, tokens: list[str]) -> Match:
        token = tokens.pop(0)
        if token in {"&", "!"}:
            return _looking_ahead(self._part(tokens), is_wanted=token == "&")
        if token.endswith(":"):
            part = _labelled(token[:-1], self._atom(tokens))
        else:
            tokens.insert(0, token)
            part = self._atom(tokens)
        return _repeated(part, tokens.pop(0)) if tokens[0] in {"?", "*", "+"} else part

    def _atom(self, tokens: list[str]) -> Match:
        token = tokens.pop(0)
        if token == "(":
            return self._choice(tokens)
        return _rule(token) if token in self.rules else _tagged(self._names.get(token, (token,)))


class _Parse:
    """One reading of some words: what each rule found at each place."""

    def __init__(self, rules: Mapping[str, Any], words: Lattice, builders: Mapping[str, Builder]) -> None:
        self.rules, self.words, self.builders = rules, words, builders
        self.known: dict[tuple[str, int], tuple[int, Any, list[Labelled]] | None] = {}
        self.depth = 0
        self.value: Any = None

    def rule(self, name: str, at: int) -> tuple[int, Any, list[Labelled]] | None:
        """Read a rule at a place; one that begins with itself does not fit, nor one that is too deep in others."""
        key = name, at
        if key in self.known:
            return self.known[key]
        self.known[key] = None
        if self.depth > _MAX_DEPTH:
            return None
        self.depth += 1
        for match, builder, constants in self.rules[name]:
            caught: list[Labelled] = []
            self.value = None
            end = match(self, at, caught)
            if end != _FAILED:
                value = self.builders[builder](constants + caught) if builder else self.value
                if builder and value is None:
                    continue
                self.known[key] = end, value, [] if builder else caught
                break
        self.depth -= 1
        return self.known[key]


def _tagged(tags: Sequence[str]) -> Match:
    def match(parse: _Parse, at: int, _caught: list[Labelled]) -> int:
        here = parse.words[at]
        for tag in tags:
            if tag in here:
                parse.value = here[tag]
                return here[tag].next
        return _FAILED

    return match


def _rule(name: str) -> Match:
    def match(parse: _Parse, at: int, caught: list[Labelled]) -> int:
        found = parse.rule(name, at)
        if found is None:
            return _FAILED
        caught += found[2]
        parse.value = found[1]
        return found[0]

    return match


def _labelled(label: str, part: Match) -> Match:
    def match(parse: _Parse, at: int, caught: list[Labelled]) -> int:
        end = part(parse, at, [])
        if end != _FAILED:
            caught.append((label, parse.value))
        return end

    return match


def _any_of(options: Sequence[Match]) -> Match:
    def match(parse: _Parse, at: int, caught: list[Labelled]) -> int:
        for option in options:
            if (end := option(parse, at, caught)) != _FAILED:
                return end
        return _FAILED

    return match


def _all_of(parts: Sequence[Match]) -> Match:
    def match(parse: _Parse, at: int, caught: list[Labelled]) -> int:
        mark = len(caught)
        for part in parts:
            at = part(parse, at, caught)
            if at == _FAILED:
                del caught[mark:]
                return at
        return at

    return match


def _repeated(part: Match, times: str) -> Match:
    def match(parse: _Parse, at: int, caught: list[Labelled]) -> int:
        begun = at
        while (end := part(parse, at, caught)) > at:
            at = end
            if times == "?":
                break
        return _FAILED if times == "+" and at == begun else at

    return match


def _looking_ahead(part: Match, *, is_wanted: bool) -> Match:
    def match(parse: _Parse, at: int, caught: list[Labelled]) -> int:
        before = parse.value
        end = part(parse, at, caught if is_wanted else [])
        parse.value = before
        return at if (end != _FAILED) == is_wanted else _FAILED

    return match
