"""RDF files: their names and formats, and readers of their bytes from which hostile input was refused.

Files are parsed by pyoxigraph only, and never leniently: an invalid IRI would become text of a query later.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import pyoxigraph as ox

from kgsparql.dataclasses import dataclass, field, frozen
from kgsparql.errors import GraphLoadError, InputError, KgsparqlError, OptionError, shown_source
from kgsparql.graphs.decoding import Tally
from kgsparql.rdf.terms import IRI, BlankNode, printable
from kgsparql.resources import is_of_the_system

GraphName: TypeAlias = IRI | BlankNode | ox.DefaultGraph
Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the phase (``reading``, ``writing``), the bytes done and the bytes in all (0: not known)."""

FORMATS: dict[str, ox.RdfFormat] = {
    **dict.fromkeys(("ttl", "turtle"), ox.RdfFormat.TURTLE),
    **dict.fromkeys(("nt", "ntriples"), ox.RdfFormat.N_TRIPLES),
    **dict.fromkeys(("nq", "nquads"), ox.RdfFormat.N_QUADS),
    "trig": ox.RdfFormat.TRIG,
    **dict.fromkeys(("rdf", "xml", "owl", "rdfxml"), ox.RdfFormat.RDF_XML),
    **dict.fromkeys(("jsonld", "json-ld"), ox.RdfFormat.JSON_LD),
}
"""Format by file suffix or name, without the dot, in lower case."""

OWN_BASE = "file:"
SMALL_BYTES = 8 << 20  # of smaller files it is told how they write values, which takes more time for each
_NAMES = "ttl, nt, nq, trig, rdf, jsonld"
_SHOWN = 5
_MOST_COMPARED = 1_000


@frozen
class ReadOptions:
    """How files are read.

    :param format: a key of :data:`FORMATS` or a media type, where the file name does not tell the format.
    :param base: the IRI that relative IRIs are resolved against; :data:`OWN_BASE` is that of each file.
    :param skip_bad: skip invalid statements, and count them.
    """

    format: str | None = None
    base: str | None = None
    skip_bad: bool = False

    @property
    def recipe(self) -> tuple[str, ...]:
        """The options that change what is read, for manifests and cache keys."""
        # In the third place 0.2 had the encoding: stores that it made are not to be made again.
        return self.format or "", self.base or "", "", "skip_bad" if self.skip_bad else ""

    def base_of(self, file: RdfFile) -> str | None:
        """Return what the relative IRIs of a file are resolved against; standard input has no IRI of its own."""
        return (None if file.path is None else file.iri.value) if self.base == OWN_BASE else self.base

    def __post_init__(self) -> None:
        if self.format is not None:
            format_named(self.format)
        try:
            IRI("urn:none" if self.base is None else self.base)
        except ValueError as error:
            raise OptionError(f"the base is not an absolute IRI: {self.base!r}", hint="--base http://…") from error


@dataclass(slots=True)
class RdfFile:
    """A file that is read into a graph.

    :param name: as the user typed it, for errors and citations.
    :param path: ``None`` for standard input.
    :param skipped: number of invalid statements that were skipped; ``first_skipped`` is where the first is, and why.
    :param prefixes: declared in Turtle or TriG; known after reading, as are ``graphs`` and ``written``.
    """

    name: str
    path: Path | None
    tally: Tally = field(init=False, repr=False, compare=False)
    skipped: int = field(default=0, init=False)
    first_skipped: str = field(default="", init=False)
    prefixes: dict[str, str] = field(default_factory=dict, init=False)
    graphs: set[GraphName] = field(default_factory=set, init=False)
    written: dict[str, str] = field(default_factory=dict, init=False)

    @property
    def iri(self) -> IRI:
        """The ``file:`` IRI of the path: the named graph of the file when it is read with others."""
        return IRI("urn:kgsparql:stdin") if self.path is None else IRI(self.path.resolve().as_uri())

    @property
    def size(self) -> int:
        """Bytes on disk; 0 for standard input."""
        return 0 if self.path is None else self.path.stat().st_size

    @property
    def unpacked_size(self) -> int:
        """Bytes when it is unpacked, estimated: gzip makes RDF some ten times smaller."""
        return self.size * (10 if self.name.lower().endswith((".gz", ".gzip")) else 1)

    def sha256(self) -> str:
        """Hash of the bytes on disk, which are read for this."""
        data: Any
        with raw_file(self) as data:
            return hashlib.file_digest(data, "sha256").hexdigest()


def format_named(name: str) -> ox.RdfFormat:
    """Return the format of a suffix, a name or a media type."""
    found = FORMATS.get(name.lower().lstrip(".")) or ox.RdfFormat.from_media_type(name)
    if found is None or found.file_extension == "n3":
        raise OptionError(f"unknown RDF format {name!r}", hint=f"one of {_NAMES}")
    return found


def format_of(file: RdfFile, options: ReadOptions) -> ox.RdfFormat:
    """Return the format of a file: that of the options, else that of its suffix, without ``.gz``."""
    if options.format is not None:
        return format_named(options.format)
    if (found := _format_of_suffix(Path(file.name))) is not None:
        return found
    what = "standard input" if file.path is None else file.name
    hint = f"name it: --input-format {_NAMES.replace(', ', '|')}"
    raise GraphLoadError(f"{what}: the RDF format is not known", code="E_FORMAT", path=file.name, hint=hint)


def _format_of_suffix(path: Path) -> ox.RdfFormat | None:
    name = re.sub(r"(\.gz|\.gzip)+$", "", path.name.lower())  # what is packed twice is refused when it is read
    return FORMATS.get(Path(name).suffix.lstrip("."))


def has_rdf_suffix(path: Path) -> bool:
    """Tell whether a path ends as the name of an RDF file, packed or not."""
    return _format_of_suffix(path) is not None


def rdf_files(source: str | Path, *, more_hint: str = "") -> list[RdfFile]:
    """Return the files that a path names: itself, the RDF files in a directory, or standard input (``-``)."""
    name, path = str(source), Path(source)
    shown = shown_source(name)  # a mistyped URL may hold a password
    try:
        if name == "-":
            return [RdfFile(name, None)]
        if path.is_file() and not is_of_the_system(path):
            return [RdfFile(name, path)]
        if path.is_dir():
            return _files_in(path, name)
        if not path.exists():
            raise _missing_file(path, name, shown, more_hint)
    except OSError as error:
        raise InputError(f"{shown}: {error.strerror}", hint="check the path", path=shown) from error
    hint = "give a file, a directory, or - for standard input"
    raise InputError(f"{name}: not a regular file", hint=hint, path=name)


def _files_in(directory: Path, name: str) -> list[RdfFile]:
    inside = sorted(e for e in directory.iterdir() if has_rdf_suffix(e) and e.is_file() and e.name[0] != ".")
    for entry in inside:
        if not entry.resolve().is_relative_to(directory.resolve()):
            raise InputError(f"{entry}: a link that leads out of {name}", hint="name the file itself", path=name)
    if not inside:
        hint = left_out(directory) or f"looked for names that end in one of {_NAMES}"
        raise InputError(f"{name}: no RDF files in this directory", hint=hint, path=name)
    return [RdfFile(str(entry), entry) for entry in inside]


def _missing_file(path: Path, name: str, shown: str, more_hint: str) -> InputError:
    if name.startswith(("http://", "https://")):
        hint = "download it first; the URL of a SPARQL endpoint is asked with -k"
        return InputError(f"{shown}: no file is read over the network", hint=hint)
    hint = f"check the path{more_hint}; an endpoint starts with http:// or https://"
    beside = islice(path.parent.iterdir(), _MOST_COMPARED) if path.parent.is_dir() else ()
    for near in get_close_matches(path.name, [e.name for e in beside if has_rdf_suffix(e)], n=1, cutoff=0.75):
        hint = f"did you mean {path.with_name(near)}?"
    return InputError(f"{shown}: no such file or directory", hint=hint, path=shown)


def left_out(directory: str | Path) -> str:
    """Write a note on the directories in a directory that hold RDF, which is not read; empty for a file."""
    path = Path(directory)
    inner = {file.parent.name for file in path.glob("*/*") if has_rdf_suffix(file) and file.parent.name[0] != "."}
    shown = printable(", ".join(sorted(inner)), 400)
    return f"{printable(str(path), 200)}: what is in directories of it is not read: {shown}" if inner else ""


@contextlib.contextmanager
def raw_file(file: RdfFile) -> Iterator[BinaryIO]:
    """Open the bytes of a file or of standard input; what cannot be read is an InputError."""
    try:
        with contextlib.nullcontext(standard_input()) if file.path is None else file.path.open("rb") as raw:
            yield raw
    except OSError as error:
        if isinstance(error, KgsparqlError):
            raise
        message = f"{file.name}: {error.strerror or error}"
        raise InputError(message, hint="check the path, the file and the disk", path=file.name) from error


def standard_input() -> BinaryIO:
    """Return the bytes of standard input; an InputError if it is closed or not binary."""
    binary: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if binary is None:
        raise InputError("standard input cannot be read", hint="give a file instead of -")
    return binary
