"""The result of a query: collected as lines, read as terms, and written in the formats of the W3C."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import pyoxigraph as ox

from kgsparql.dataclasses import field, frozen
from kgsparql.errors import OptionError, QueryError
from kgsparql.graphs.graph import Solution, Solutions
from kgsparql.graphs.notes import Cut
from kgsparql.graphs.oxigraph import names_in, solutions_in
from kgsparql.graphs.user_query.checking import Form
from kgsparql.rdf.literals import aligned, data_frame, python_value
from kgsparql.rdf.terms import XSD, Literal, PrefixMap, Term, Triple, distinct, printable

if TYPE_CHECKING:
    import pandas as pd
    import rdflib

_OF_TRIPLES = ("ttl", "trig", "nt", "jsonld", "rdf")
FORMATS: dict[Form, tuple[str, ...]] = {
    "SELECT": ("table", "json", "csv", "tsv", "xml"),
    "ASK": ("table", "json", "xml"),
    "CONSTRUCT": _OF_TRIPLES,
    "DESCRIBE": _OF_TRIPLES,
}
"""The formats of each form of query; the first is the one for people."""

_BARE = frozenset(XSD + name for name in ("integer", "decimal", "double", "boolean"))
_MAX_CELL = 80
_PIECE_BYTES = 2**16


@frozen
class QueryResult:
    """The result of a query, as the process sent it.

    :param content: solutions as SPARQL TSV, triples as N-Triples, or ``true`` or ``false``.
    :param rows: how many solutions or triples there are in it.
    :param complete: ``False`` when a limit cut it.
    :param seconds: how long the engine worked.
    :param why_cut: why an endpoint has more, as a clause; empty if our own limit cut it.
    :param invalid: number of solutions left out because they hold an invalid term.
    """

    form: Form
    content: bytes = field(repr=False)
    rows: int
    complete: bool = True
    seconds: float = 0.0
    why_cut: str = ""
    invalid: int = 0

    def __iter__(self) -> Iterator[Solution]:
        """Iterate over the solutions of a SELECT; an OptionError for another form."""
        if self.form != "SELECT":
            raise OptionError(f"the result of {self.form} has no solutions", hint="triples, or bool(result) of an ASK")
        return iter(self.solutions)

    def __len__(self) -> int:
        return self.rows

    def __bool__(self) -> bool:
        """Return the answer to an ASK; for another form, whether there is any solution or triple."""
        return self.boolean if self.form == "ASK" else bool(self.rows)

    def __str__(self) -> str:
        """Return the result as ``kgsparql query`` prints it, without a line end."""
        return serialise(self, FORMATS[self.form][0]).decode().rstrip("\n")

    def to_dataframe(self) -> pd.DataFrame:
        """Make a data frame: a column for each variable of a SELECT, or subject, predicate and object; Python's values.

        ``attrs["cut"]`` of the frame says what a limit cut off, where one did.
        """
        if self.form == "ASK":
            raise OptionError("the result of an ASK is no table", hint="bool(result) is yes or no")
        if self.form == "SELECT":
            solutions = self.solutions
            columns = {name: [python_value(one.get(name)) for one in solutions] for name in solutions.variables}
        else:
            names = ("subject", "predicate", "object")
            columns = {name: [python_value(getattr(triple, name)) for triple in self.triples] for name in names}
        frame = data_frame(columns)
        if self.cut is not None:
            frame.attrs["cut"] = str(self.cut)
        return frame

    def to_rdflib(self) -> rdflib.Graph:
        """Make a graph of rdflib of the triples of a CONSTRUCT or DESCRIBE; an OptionError for another form."""
        from kgsparql.graphs.rdflib_interop import triples_to_rdflib

        if self.form in {"SELECT", "ASK"}:
            raise OptionError(f"the result of {self.form} is no graph", hint="CONSTRUCT and DESCRIBE make graphs")
        return triples_to_rdflib(self.triples)

    @property
    def reason(self) -> str:
        """Why it is not complete, as a clause; empty if our own limit cut it."""
        return Solutions(cut=self.why_cut, invalid=self.invalid).missing

    @property
    def cut(self) -> Cut | None:
        """The cut to show to the user; ``None`` for a complete result."""
        if self.complete:
            return None
        return Cut("solutions" if self.form == "SELECT" else "triples", self.rows)

    @property
    def boolean(self) -> bool:
        """The answer to an ASK."""
        return self.content == b"true"

    @property
    def solutions(self) -> Solutions:
        """The solutions of a SELECT; none for another form."""
        if self.form != "SELECT":
            return Solutions()
        with _term_errors():
            results: Any = ox.parse_query_results(self.content, format=ox.QueryResultsFormat.TSV)
            names, found = names_in(results), tuple(solutions_in(results))
        cut = self.why_cut or ("" if self.complete or self.invalid else "no more are kept")
        return Solutions(names, found, cut=cut, invalid=self.invalid)

    @property
    def triples(self) -> tuple[Triple, ...]:
        """The distinct triples of a CONSTRUCT or DESCRIBE, in the order they came; none for another form."""
        if self.form not in {"CONSTRUCT", "DESCRIBE"}:
            return ()
        with _term_errors():
            return distinct(quad.triple for quad in ox.parse(self.content, ox.RdfFormat.N_TRIPLES))


def serialise(result: QueryResult, format: str, *, prefixes: PrefixMap | None = None) -> bytes:  # noqa: A002
    r"""Write a result: ``table`` for people; W3C SPARQL results or RDF for programs.

    :param prefixes: to shorten IRIs in ``table``, ``ttl`` and ``trig``; the shipped ones by default.
    :raises OptionError: if the result has no such format (:data:`FORMATS`), or holds what that cannot write.

    >>> serialise(QueryResult("SELECT", b'?name\n"Ada"@en\n', 1), "csv")
    b'name\r\nAda\r\n'
    """
    possible = FORMATS[result.form]
    if format not in possible:
        hint = f"formats of {result.form}: {', '.join(possible)}"
        raise OptionError(f"the result of {result.form} cannot be written as {printable(format, 20)}", hint=hint)
    known = prefixes or PrefixMap.default()
    if format == "table":
        return _text_table(result, known).encode()
    if format == "tsv":
        return result.content
    try:
        if result.form in {"CONSTRUCT", "DESCRIBE"}:
            text = result.content.decode() if format in {"ttl", "trig"} else ""
            # None that would shorten an IRI which ends in a dot: rdflib 7 cannot read that, which is good Turtle.
            dotted = tuple(re.findall(r"<([^<>]*\.)>", text))
            used = {p: ns for p, ns in known if f"<{ns}" in text and not any(iri.startswith(ns) for iri in dotted)}
            rdf_format = ox.RdfFormat.from_extension(format)
            written = ox.serialize(result.triples, format=rdf_format, prefixes=used) or b""
        else:
            with _term_errors():
                results = ox.parse_query_results(result.content, format=ox.QueryResultsFormat.TSV)
                written = results.serialize(format=ox.QueryResultsFormat.from_extension(format)) or b""
        if format in {"xml", "rdf"}:
            parser = expat.ParserCreate(namespace_separator=" ")
            for start in range(0, len(written), _PIECE_BYTES):  # at once, it would stop all other threads for so long
                parser.Parse(written[start : start + _PIECE_BYTES], False)
            parser.Parse(b"", True)
    except (OSError, expat.ExpatError) as error:  # Oxigraph 0.5 writes any character and any predicate as XML
        why = f"the result holds a character, a predicate or a quoted triple that {format} cannot hold"
        raise OptionError(why, hint="another format: json, nt") from error
    return written


def _text_table(result: QueryResult, prefixes: PrefixMap) -> str:
    """Write columns of equal width, a line for each solution, and what was cut; no control characters."""
    if result.form == "ASK":
        return "true\n" if result.boolean else "false\n"
    solutions, names = result.solutions, result.solutions.variables
    rows = [[f"?{name}" for name in names]]
    rows += [[_cell_text(s.get(name), prefixes) for name in names] for s in solutions]
    cut = [] if result.cut is None else [f"… {result.cut}"]
    return "\n".join([*aligned(rows, range(len(names)), rule="─"), *cut, ""])


def _cell_text(term: Term | None, prefixes: PrefixMap) -> str:
    if term is None:
        return ""
    if not isinstance(term, Literal):
        return printable(prefixes.compress(term), _MAX_CELL)
    text = printable(term.value, _MAX_CELL)
    if term.language is not None:
        return f'"{text}"@{term.language}'
    datatype = term.datatype.value
    if datatype in _BARE:
        return text
    suffix = "" if datatype == XSD + "string" else f"^^{printable(prefixes.compress(term.datatype), _MAX_CELL)}"
    return f'"{text}"{suffix}'


@contextmanager
def _term_errors() -> Iterator[None]:
    try:
        yield
    except (SyntaxError, ValueError) as error:
        hint = "the store was filled by a lenient parser: load the files again"
        raise QueryError(f"the result holds a term that is not one: {printable(str(error), 120)}", hint=hint) from error
