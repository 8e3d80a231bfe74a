"""SPARQL texts with typed parameters.

Only this module, :mod:`kgsparql.rdf.path_queries` and :mod:`kgsparql.rdf.graph_patterns` make query text.

A text is a file in ``queries/``, which is valid SPARQL itself. Its parameters are ``VALUES`` blocks with ``UNDEF``,
which binding replaces by terms. Only terms become text, after they are validated again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from kgsparql.dataclasses import field, frozen, replace
from kgsparql.errors import QueryBindingError
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, Literal, Term, iri, validated
from kgsparql.resources import resource

MAX_ARMS = 50
"""The most sub-selects in one union: the embedded engine is quadratic in them, and crashes at 10,000."""

_CLOSING_LIMIT = re.compile(r"\bLIMIT\s+1000\s*\Z")
_PROLOGUE = re.compile(r"^[ \t]*PREFIX[^\n]*\n", re.MULTILINE)
_PREFIX_NAME = re.compile(r"(?:[^\W\d_](?:[\w.-]*[\w-])?)?")
_OPENING = re.compile(r"\A(?:#[^\n]*\n|\s+)*")
_COMMENT = re.compile(r"^[ \t]*#[^\n]*\n", re.MULTILINE)
_SELECTED = re.compile(r"\bSELECT\b(?:\s+DISTINCT\b)?([^{]*?)(?:\bWHERE\b|\{)")
_NAMED = re.compile(r"\([^()]*(?:\([^()]*\))?[^()]*\bAS\s+\?(\w+)\s*\)|\?(\w+)")
# Literals, IRIs and comments, too: what looks like a parameter in them is not one. In a list that is not bound stands
# a literal, which is no predicate; the empty list, which would say the same, hides everything on Oxigraph.
_PARAMETER = re.compile(
    r"""VALUES\s+(?:(?=\?)|\()(?P<values>[?\w\s]+)\)?\s*\{(?:\s*\((?:\s*UNDEF)+\s*\)|\s*UNDEF)\s*\}"""
    r"""|\?(?P<listed>\w+)\s+NOT\s+IN\s*\(\s*""\s*\)"""
    r"""|"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+'|<[^<>"{}|^`\\\s]*+>|\#[^\n]*+"""
)
_VALUES, _NOT_IN = "VALUES", "NOT IN"  # what stands for a parameter in a text that is taken apart
_MAX_REMEMBERED_CHARACTERS = 8_000
_HEADER_LIST = re.compile(r"[^\[\],\s][^\[\],]*")
_HEADER = re.compile(r"^#\+ (\w+): (.*)$", re.MULTILINE)


@frozen
class Query:
    """A SPARQL text and the name it is known by in logs and evidence.

    :param empty: a parameter was bound to no term at all: the query has no solutions and is never sent.
    :param lookup: all that it asks for, where that is the triples of some terms.
    :param made_of: the :class:`~kgsparql.rdf.graph_patterns.Select` that the text was written of, if it was.

    >>> Query("q", "ASK { VALUES ?s { UNDEF } ?s ?p ?o }").bind(s=[IRI("http://e.org/a")]).text
    'ASK { VALUES ?s { <http://e.org/a> } ?s ?p ?o }'
    """

    name: str
    text: str
    empty: bool = False
    arms: tuple[Query, ...] = field(default=(), compare=False, repr=False)
    lookup: Lookup | None = field(default=None, compare=False, repr=False)
    made_of: Any = field(default=None, compare=False, repr=False)

    @staticmethod
    def load(name: str) -> Query:
        """Read ``queries/<name>.rq``.

        :raises DataError: if there is none.
        """
        return _query_in_file(name)

    @property
    def variables(self) -> frozenset[str]:
        """The variables that are selected by name."""
        head = _SELECTED.search(_COMMENT.sub("", self.text))
        return frozenset(a or b for a, b in _NAMED.findall(head[1])) if head else frozenset()

    @property
    def is_quick(self) -> bool:
        """Tell whether it only looks up terms that it names, as the head of its file says."""
        return "\n#+ quick" in self.text.partition("\n\n")[0]

    @property
    def without_comments(self) -> str:
        """The text without any comments at its head, if it is from a file: to parse them takes a tenth of its time."""
        return _OPENING.sub("", self.text) if self.text.startswith("#+") else self.text

    @property
    def shown(self) -> str:
        """The text without comments, as people are shown it."""
        return _COMMENT.sub("", self.text).lstrip()

    def bind(self, **values: Iterable[Term]) -> Query:
        """Put terms into every ``VALUES ?name { UNDEF }`` and ``?name NOT IN ("")`` of these parameters.

        :raises QueryBindingError: for a parameter the text lacks, or a blank node.
        :raises IriError: for an IRI that would not be safe as text.
        """
        query = self
        for name, terms in values.items():
            query = query.bind_rows((name,), zip(terms))
        return query

    def bind_rows(self, names: Sequence[str], rows: Iterable[Sequence[Term]]) -> Query:
        """Put sorted rows of terms into every ``VALUES (?a ?b) { (UNDEF UNDEF) }`` of these parameters.

        The order of the rows does not change the text, so that a kept reply to the same rows is found.

        :raises QueryBindingError: for parameters the text lacks, a row of another width, or a blank node.

        >>> pair = Query("q", "SELECT * { VALUES (?s ?p) { (UNDEF UNDEF) } ?s ?p ?o }")
        >>> pair.bind_rows(("s", "p"), [(IRI("http://e.org/a"), IRI("http://e.org/p"))]).text
        'SELECT * { VALUES (?s ?p) { (<http://e.org/a> <http://e.org/p>) } ?s ?p ?o }'
        """
        # Each once: Virtuoso finds nothing for a literal that is there twice.
        written: dict[str, Sequence[Term]] = {}
        for row in rows:
            if len(row) != len(names):
                raise QueryBindingError(f"query {self.name}: {len(row)} terms for {len(names)} parameters")
            written[" ".join(map(self._term_text, row))] = row
        return self._with_rows(tuple(names), sorted(written), written)

    def _with_rows(self, names: tuple[str, ...], data: Sequence[str], rows: Mapping[str, Sequence[Term]]) -> Query:
        """Put rows in place of parameters, also in each arm."""
        values = (
            f"VALUES {_values_head(names)} {{ {' '.join(data if len(names) == 1 else (f'({row})' for row in data))} }}"
        )
        listed = f"?{names[0]} NOT IN ({', '.join(data)})"
        parts_of = _remembered_parts if len(self.text) < _MAX_REMEMBERED_CHARACTERS else _parts_of_text  # new each time
        pieces = [*parts_of(self.text, names)]
        if len(pieces) == 1 and not self.empty:  # a union of nothing has no parameter left
            raise QueryBindingError(f"query {self.name} has no parameter {_values_head(names)}", query=self.text)
        pieces[1::2] = map({_VALUES: values, _NOT_IN: listed}.__getitem__, pieces[1::2])
        arms = tuple(arm._with_rows(names, data, rows) for arm in self.arms)  # noqa: SLF001 - of its own class
        given = {names: [*map(rows.__getitem__, data)]}
        lookup = self.lookup and replace(self.lookup, given={**self.lookup.given, **given})
        return Query(self.name, "".join(pieces), self.empty or not data, arms, lookup)

    def fix(self, **values: Term) -> Query:
        """Put one term in place of each parameter: for engines that need a constant there.

        :raises QueryBindingError: for a parameter the text lacks, or a blank node.
        :raises IriError: for an IRI that would not be safe as text.

        >>> Query("q", "SELECT ?s { VALUES ?o { UNDEF } ?s ?p ?o }").fix(o=Literal("a")).text
        'SELECT ?s { ?s ?p "a" }'
        """
        written, names = {name: self._term_text(term) for name, term in values.items()}, "|".join(values)
        text, blocks = re.subn(rf"VALUES\s+\?(?:{names})\s*\{{\s*UNDEF\s*\}}\s*", "", self.text)
        if blocks < len(values):
            raise QueryBindingError(f"query {self.name} lacks one of: {', '.join(values)}", query=self.text)
        text = re.sub(rf"\?({names})\b", lambda found: written[found[1]], text)  # before terms are in other parameters
        return replace(self, text=text, lookup=None)

    def _term_text(self, term: Term) -> str:
        if not isinstance(term, IRI | Literal):
            raise QueryBindingError(
                f"query {self.name}: {type(term).__name__} cannot be a parameter",
                hint="a blank node has no name outside its graph: start from an IRI beside it",
            )
        return str(validated(term))

    def limit(self, solutions: int) -> Query:
        """Replace the closing ``LIMIT 1000``.

        :raises QueryBindingError: if the text does not end with it.

        >>> Query("q", "SELECT * { ?s ?p ?o } LIMIT 1000").limit(5).text
        'SELECT * { ?s ?p ?o } LIMIT 5'
        """
        text, count = _CLOSING_LIMIT.subn(f"LIMIT {int(solutions)}", self.text.rstrip())
        if count == 0:
            raise QueryBindingError(f"query {self.name} does not end with LIMIT 1000", query=self.text)
        lookup = self.lookup and replace(self.lookup, limit=int(solutions))
        return replace(self, text=text, lookup=lookup)

    @classmethod
    def union(cls, queries: Sequence[Query]) -> Query:
        """Join queries as sub-selects of one query, which keep their own VALUES and LIMIT.

        :raises QueryBindingError: for more than :data:`MAX_ARMS` queries.
        """
        names, prologue, bodies = set[str](), set[str](), list[str]()
        leaves = list[Query]()
        for query in queries:
            names.add(query.name)
            if not query.empty:
                prologue.update(_PROLOGUE.findall(query.text))
                bodies.append(f"  {{ {_PROLOGUE.sub('', _COMMENT.sub('', query.text)).strip()} }}")
                leaves += query.arms or (query,)
        if len(bodies) > MAX_ARMS:
            raise QueryBindingError(f"{len(bodies)} sub-selects in one union; at most {MAX_ARMS}")
        joined = "\n  UNION\n".join(bodies)
        text = f"{''.join(sorted(prologue))}SELECT * WHERE {{\n{joined}\n}}"
        return cls("+".join(sorted(names)) or "union", text, not bodies, arms=tuple(leaves))


def prologue(prefixes: Iterable[tuple[str, str]]) -> str:
    """Write the PREFIX declarations of ``(prefix, namespace)`` pairs, a line each."""
    lines = []
    for prefix, namespace in prefixes:
        if not _PREFIX_NAME.fullmatch(prefix):
            raise QueryBindingError(f"not a prefix: {prefix!r}")
        lines.append(f"PREFIX {prefix}: {iri(namespace)}\n")
    return "".join(lines)


def path_text(path: PropertyPath) -> str:
    """Write a property path of IRIs that are validated again."""
    for step in path.steps:
        validated(step.predicate)
    return str(path)


@cache
def _query_in_file(name: str) -> Query:
    text = resource("queries", f"{name}.rq").read_text(encoding="utf-8")
    header = dict(_HEADER.findall(text))
    lookup = None
    if "lookup" in header:
        skipped = frozenset(found.strip() for found in _HEADER_LIST.findall(header.get("skipped", "")))
        subject, predicate, far = (place.removeprefix("?") for place in header["triples"].strip("[]").split())
        lookup = Lookup((subject, predicate, far), skipped=skipped, is_of_texts=header["lookup"] == "texts")
    return Query(name, text, lookup=lookup)


def _values_head(names: Sequence[str]) -> str:
    """Write the variables of a ``VALUES`` block."""
    return f"?{names[0]}" if len(names) == 1 else f"({' '.join(f'?{name}' for name in names)})"


def _parts_of_text(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Take a text apart at its parameters: every second part stands for one, :data:`_VALUES` or :data:`_NOT_IN`."""
    pieces, end = [], 0
    for found in _PARAMETER.finditer(text):
        given = tuple((found["values"] or found["listed"] or "").replace("?", " ").split())
        if given == names:
            pieces += [text[end : found.start()], _VALUES if found["values"] else _NOT_IN]
            end = found.end()
    return (*pieces, text[end:])


_remembered_parts = lru_cache(maxsize=512)(_parts_of_text)


@frozen
class Lookup:
    """The triples of one pattern, which an engine finds without reading SPARQL.

    :param places: its variables; the predicate may be a constant.
    :param given: variables, together → the rows of terms that they may be; in ``skipped``, that they are not.
    :param is_of_texts: only literals in the languages of ``?range``, or without a language, are wanted as objects.
    """

    places: tuple[str, str | IRI, str]
    given: Mapping[tuple[str, ...], Sequence[Sequence[Term]]] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    is_of_texts: bool = False
    limit: int | None = 1000

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of its solutions."""
        names = dict.fromkeys(chain(self.places, *self.given))
        names.pop("range", None)
        return tuple(name for name in names if isinstance(name, str))
