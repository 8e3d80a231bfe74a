"""What a query returned, and its bytes in the formats of the W3C."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

import pyoxigraph as ox

from kgsparql.errors import OptionError, QueryError
from kgsparql.graphs.cut import Cut
from kgsparql.graphs.protocols import Solutions
from kgsparql.graphs.user_query.checking import Form
from kgsparql.rdf.terms import IRI, Literal, PrefixMap, Term, Triple, printable

__all__ = ["FORMATS", "QueryResult", "serialise"]

FORMATS: dict[Form, tuple[str, ...]] = {
    "SELECT": ("table", "json", "csv", "tsv", "xml"),
    "ASK": ("table", "json", "xml"),
    "CONSTRUCT": ("ttl", "trig", "nt"),
    "DESCRIBE": ("ttl", "trig", "nt"),
}
"""The formats of each form of query; the first is the one for people."""

_SOLUTIONS = {
    "json": ox.QueryResultsFormat.JSON,
    "csv": ox.QueryResultsFormat.CSV,
    "tsv": ox.QueryResultsFormat.TSV,
    "xml": ox.QueryResultsFormat.XML,
}
_XSD = "http://www.w3.org/2001/XMLSchema#"
_BARE = frozenset(_XSD + name for name in ("integer", "decimal", "double", "boolean"))
_CELL = 80
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query, as the worker sent it.

    :param content: solutions as SPARQL TSV, triples as N-Triples, or ``true`` or ``false``.
    :param rows: how many solutions or triples there are in it.
    :param complete: ``False`` when a limit cut it.
    :param seconds: how long the engine worked.
    :param why_cut: why an endpoint has more, in a clause; empty if it was our own limit.
    :param invalid: solutions that are missing because a term in them is none.
    """

    form: Form
    content: bytes = field(repr=False)
    rows: int
    complete: bool = True
    seconds: float = 0.0
    why_cut: str = ""
    invalid: int = 0

    @property
    def reason(self) -> str:
        """Why it is not complete, in a clause, where that was not our own limit."""
        return Solutions(cut=self.why_cut, invalid=self.invalid).missing

    @property
    def cut(self) -> Cut | None:
        """What was left out, to be shown to the user."""
        if self.complete:
            return None
        return Cut("solutions" if self.form == "SELECT" else "triples", self.rows)

    @property
    def boolean(self) -> bool:
        """The answer to an ASK."""
        return self.content == b"true"

    @property
    def solutions(self) -> Solutions:
        """The solutions of a SELECT; none for another form.

        :raises QueryError: if the store holds a term that is not one.
        """
        if self.form != "SELECT":
            return Solutions()

        def read() -> Solutions:
            results = cast("ox.QuerySolutions", ox.parse_query_results(self.content, format=ox.QueryResultsFormat.TSV))
            names = tuple(variable.value for variable in results.variables)
            found = tuple(
                {name: term for name, term in zip(names, solution, strict=True) if term is not None}
                for solution in results
            )
            cut = self.why_cut or ("" if self.complete or self.invalid else "no more are kept")
            return Solutions(names, found, cut=cut, invalid=self.invalid)

        return _translated(read)

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The distinct triples of a CONSTRUCT or DESCRIBE, in the order they came; none for another form.

        :raises QueryError: if the store holds a term that is not one.
        """
        if self.form not in {"CONSTRUCT", "DESCRIBE"}:
            return ()
        parse = ox.parse
        return _translated(
            lambda: tuple(dict.fromkeys(quad.triple for quad in parse(self.content, ox.RdfFormat.N_TRIPLES)))
        )


def serialise(result: QueryResult, format: str, *, prefixes: PrefixMap | None = None) -> bytes:  # noqa: A002
    r"""The bytes of a result: ``table`` for people; W3C SPARQL results, Turtle or N-Triples for programs.

    :param prefixes: to shorten IRIs in ``table``, ``ttl`` and ``trig``; the shipped ones by default.
    :raises OptionError: if the result has no such format; :data:`FORMATS` lists what it has.

    >>> serialise(QueryResult("SELECT", b'?name\n"Ada"@en\n', 1), "csv")
    b'name\r\nAda\r\n'
    """
    possible = FORMATS[result.form]
    if format not in possible:
        raise OptionError(
            f"the result of {result.form} cannot be written as {printable(format, 20)}",
            hint=f"formats of {result.form}: {', '.join(possible)}",
        )
    known = prefixes or PrefixMap.default()
    if format == "table":
        return _table(result, known).encode()
    if format in {"ttl", "trig", "nt"}:  # Turtle is TriG, too
        rdf_format = ox.RdfFormat.N_TRIPLES if format == "nt" else ox.RdfFormat.TURTLE
        used = {} if format == "nt" else _used(known, result)
        return ox.serialize(result.triples, format=rdf_format, prefixes=used) or b""
    if format == "tsv":
        return result.content
    content = io.BytesIO(result.content)
    return _translated(
        lambda: (
            ox.parse_query_results(content, format=ox.QueryResultsFormat.TSV).serialize(format=_SOLUTIONS[format])
            or b""
        )
    )


def _used(prefixes: PrefixMap, result: QueryResult) -> dict[str, str]:
    """The prefixes that the triples need, so that no other is declared."""
    text = result.content.decode()
    return {prefix: namespace for prefix, namespace in prefixes if f"<{namespace}" in text}


def _table(result: QueryResult, prefixes: PrefixMap) -> str:
    """Columns of equal width, a line for each solution, and at the end what was cut. No control characters."""
    if result.form == "ASK":
        return "true\n" if result.boolean else "false\n"
    solutions = result.solutions
    rows = [[f"?{name}" for name in solutions.variables]]
    rows += [[_cell(s.get(name), prefixes) for name in solutions.variables] for s in solutions]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["─" * width for width in widths])
    lines = ["  ".join(map(_padded, row, widths)).rstrip() for row in rows]
    if result.cut is not None:
        lines.append(f"… {result.cut}")
    return "\n".join(lines) + "\n"


def _cell(term: Term | None, prefixes: PrefixMap) -> str:
    if term is None:
        return ""
    if isinstance(term, IRI):
        return printable(prefixes.compress(term), _CELL)
    if not isinstance(term, Literal):
        return printable(str(term), _CELL)
    text = printable(term.value, _CELL)
    if term.language is not None:
        return f'"{text}"@{term.language}'
    datatype = term.datatype.value
    if datatype in _BARE:
        return text
    return (
        f'"{text}"'
        if datatype == _XSD + "string"
        else f'"{text}"^^{printable(prefixes.compress(term.datatype), _CELL)}'
    )


def _width(text: str) -> int:
    """Columns on a terminal: two for wide characters, none for marks that combine."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.category(char) in {"Mn", "Me", "Cf"} for char in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _translated(read: Callable[[], _Read]) -> _Read:
    """Run a reader of what the worker sent, with its errors as ours."""
    try:
        return read()
    except (SyntaxError, ValueError) as error:
        hint = "the store was filled by a lenient parser: load the files again"
        raise QueryError(f"the result holds a term that is not one: {printable(str(error), 120)}", hint=hint) from error
