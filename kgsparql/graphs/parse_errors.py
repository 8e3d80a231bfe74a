"""Errors about a file, with their place in it, and what pyoxigraph's errors mean to a person."""

from __future__ import annotations

import errno
import re
from typing import Any, TypeVar

from kgsparql.errors import DiskFullError, GraphLoadError, InputError, KgsparqlError, LimitError
from kgsparql.rdf.terms import printable

_Error = TypeVar("_Error", bound=KgsparqlError)

_PLACE = re.compile(r"^Parser error at line \d+[^:]*: |(?: \(line \d+\))$")
_SKIP = "fix the statement, or leave it out: --skip-bad"
_KINDS = (
    ("context outside the file", "E_EGRESS", "nothing is ever fetched: give the context as a file with --context FILE"),
    ("No scheme found", "E_PARSE", "the file has relative IRIs; name what they are relative to: --base http://…"),
    ("'' is not allowed", "E_PARSE", "is it a text file? a character is none that is ever written"),
    ("prefix", "E_PARSE", "declare the prefix at the top of the file"),
    ("IRI", "E_IRI", _SKIP),
    ("Max stack size", "E_PARSE", "the file is nested too deep"),
    ("", "E_PARSE", _SKIP),
)


def error_at(kind: type[_Error], name: str, line: int, column: int, message: str, **options: Any) -> _Error:
    """An error about a place in a file; ``options`` are those of :class:`KgsparqlError`."""
    return kind(f"{name}:{line}:{column}: {message}", path=name, line=line, column=column, **options)


def is_disk_full(error: Exception) -> bool:
    """Whether Python or Oxigraph (which has no errno) says that a device is full."""
    return isinstance(error, OSError) and (error.errno == errno.ENOSPC or "No space left" in str(error))


def disk_full(name: object) -> DiskFullError:
    """The error for a device without space; the store is unchanged then."""
    hint = "free some space (a store needs about as much as its sources unpacked), then load again"
    return DiskFullError(f"{name}: no space left on the device", hint=hint, path=str(name))


def load_error(error: Exception, name: str, lines: int, *, in_lines: bool) -> KgsparqlError:
    """Our error for one of pyoxigraph after so many lines; N-Triples (``in_lines``) has neither base nor prefixes."""
    if isinstance(error, MemoryError):
        message, hint = f"a term over 16 MiB, line {lines + 1:,}", "shorten the literal, or leave it out"
        return error_at(LimitError, name, lines + 1, 1, message, hint=hint)
    if is_disk_full(error):
        return disk_full(name)
    if isinstance(error, OSError) and error.errno is not None:
        return InputError(f"{name}: {error.strerror or error}", hint="check the file and the disk", path=name)
    if not isinstance(error, SyntaxError):
        return GraphLoadError(f"{name}: {printable(str(error))}", hint="check the file and the disk", path=name)
    cause = printable(_PLACE.sub("", str(error.msg)))
    if "No LoadDocumentCallback" in cause:
        cause = "a JSON-LD context outside the file"
    kinds = (kind for kind in _KINDS if not (in_lines and kind[0] in {"No scheme found", "prefix"}))
    code, hint = next((code, hint) for part, code, hint in kinds if part in cause)
    if error.lineno is None:
        return GraphLoadError(f"{name}: {cause}", code=code, hint=hint, path=name, line=None, column=error.offset or 1)
    return error_at(GraphLoadError, name, error.lineno, error.offset or 1, cause, code=code, hint=hint)
