"""What pyoxigraph's errors about a file mean to a person."""

from __future__ import annotations

import re

from kgsparql.errors import GraphLoadError, KgsparqlError, LimitError
from kgsparql.graphs.decoding import Tally
from kgsparql.terms import printable

__all__ = ["load_error"]

_PLACE = re.compile(r"^Parser error at line \d+[^:]*: |(?: \(line \d+\))$")
_SKIP = "fix the statement, or leave it out: --skip-bad"
_KINDS = (
    ("No LoadDocumentCallback", "E_EGRESS", "put the context into the file; nothing is ever fetched"),
    ("No scheme found", "E_PARSE", "the file has relative IRIs; name what they are relative to: --base http://…"),
    ("prefix", "E_PARSE", "declare the prefix at the top of the file"),
    ("IRI", "E_IRI", _SKIP),
    ("Max stack size", "E_PARSE", "the file is nested too deep"),
    ("", "E_PARSE", _SKIP),
)


def load_error(error: Exception, name: str, tally: Tally) -> KgsparqlError:
    """The error of kgsparql for one that pyoxigraph raised while it read a file."""
    if isinstance(error, MemoryError):
        line = tally.lines + 1
        return LimitError(
            f"{name}:{line}:1: a term over 16 MiB, line {line:,}", path=name, line=line, column=1,
            hint="shorten the literal, or leave it out",
        )  # fmt: skip
    if not isinstance(error, SyntaxError):
        return GraphLoadError(f"{name}: {printable(str(error))}", hint="check the file and the disk", path=name)
    cause = printable(_PLACE.sub("", str(error.msg)))
    code, hint = next((code, hint) for part, code, hint in _KINDS if part in cause)
    line, column = error.lineno, error.offset or 1
    place = name if line is None else f"{name}:{line}:{column}"
    return GraphLoadError(f"{place}: {cause}", code=code, hint=hint, path=name, line=line, column=column)
