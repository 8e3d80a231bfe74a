"""RDF files: their names and formats, readers of their bytes from which hostile input was refused, and their quads.

Files are parsed by pyoxigraph only, and never leniently: an invalid IRI would become text of a query later. Blank nodes
are renamed in order, bad statements skipped on request, and errors have their place.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias, cast

import pyoxigraph as ox

from kgsparql.dataclasses import dataclass, field, frozen
from kgsparql.errors import GraphLoadError, InputError, KgsparqlError, LimitError, OptionError, shown_source
from kgsparql.graphs.decoding import LINE_FORMATS, ChunkReader, Tally, error_at, guarded, unpacked
from kgsparql.graphs.manifest import StoredSource
from kgsparql.rdf.literals import RESPELT
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Triple, printable, renamed
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.resources import is_of_the_system
from kgsparql.storage.files import disk_full, is_disk_full

GraphName: TypeAlias = IRI | BlankNode | ox.DefaultGraph
Progress: TypeAlias = Callable[[str, int, int], object]
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
MANY_TRIPLES, _TRIPLE_BYTES = 30_000_000, 100  # a triple has 100 to 150 bytes in N-Triples, half as many in Turtle
_NAMES = "ttl, nt, nq, trig, rdf, jsonld"
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
    :param format: what it holds; known when it was opened.
    """

    name: str
    path: Path | None
    tally: Tally = field(init=False, repr=False, compare=False)
    format: ox.RdfFormat = field(init=False, repr=False, compare=False)
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


def note_on_size(files: Iterable[RdfFile]) -> str:
    """Say of files that are too large for the engine that is here what to do; empty for others."""
    triples = sum(file.unpacked_size for file in files) // _TRIPLE_BYTES
    if triples < MANY_TRIPLES:
        return ""
    return (
        f"some {triples / 1e6:,.0f} million triples: from about {MANY_TRIPLES / 1e6:.0f} million on an engine of its "
        "own answers faster (QLever, Virtuoso, GraphDB): load the files there, and ask it by -k URL (docs/scale.md)"
    )


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


# -- Quads --------------------------------------------------------------------------------------------------------


_RECOVERING_FORMATS = frozenset({"Turtle", "TriG"})
_BLOCK_BYTES, _BLOCK_QUADS = 1 << 16, 500
_LONGEST_TERM = 17 << 20
_SPELLINGS = 100_000  # numbers, times and durations of a file whose spelling is kept, at most


def blank_nodes(prefix: str = "b") -> Iterator[BlankNode]:
    """Yield blank nodes to take the place of those of files: the same for the same files, no two files share one."""
    return (BlankNode(f"{prefix}{number}") for number in count(1))


@contextlib.contextmanager
def opened(file: RdfFile, options: ReadOptions, progress: Progress | None = None) -> Iterator[ChunkReader]:
    """Open a reader of UTF-8, from which all hostile input that shows before parsing was refused.

    Errors in the ``with`` block are raised as ours, with their place.
    """
    named, total = format_of(file, options), file.size
    on_read = None if progress is None else lambda done: progress("reading", done, max(total, done))
    file.tally, file.skipped, file.first_skipped, file.graphs = Tally(file.name), 0, "", set()
    with raw_file(file) as raw:
        unchecked = unpacked(raw, file.tally, on_read)
        file.format, chunks = guarded(unchecked, named, file.tally, is_sure=options.format is not None)
        try:
            yield ChunkReader(chunks)
        except (SyntaxError, ValueError, OSError, RuntimeError, MemoryError) as error:
            if isinstance(error, KgsparqlError):
                raise
            raise _load_error(error, file, in_lines=file.format.name in LINE_FORMATS) from error


def quads(
    file: RdfFile, options: ReadOptions, blank: Iterator[BlankNode], *, graph: IRI | None = None,
    progress: Progress | None = None,
) -> Iterator[ox.Quad]:  # fmt: skip
    """Yield the quads of a file, in its order, with the errors of :func:`opened`.

    :param blank: the nodes that take the place of its blank nodes, in the order in which these are met.
    :param graph: the graph for quads of its default graph; ``None`` for the default graph.
    """
    known = defaultdict[BlankNode, BlankNode](partial(next, blank))
    rename, values = known.__getitem__, set[Literal]()
    with opened(file, options, progress) as reader:
        met = file.graphs
        for quad in parsed_quads(reader, file, options):
            subject, object_, name = quad.subject, quad.object, quad.graph_name
            if isinstance(object_, Literal) and object_.datatype.value in RESPELT and len(values) < _SPELLINGS:
                values.add(object_)
            target = name
            if isinstance(name, BlankNode):
                target = rename(name)
            elif graph is not None and isinstance(name, ox.DefaultGraph):
                target = graph
            met.add(target)
            if target is name and not isinstance(subject, BlankNode) and not isinstance(object_, BlankNode | Triple):
                yield quad  # unchanged: a new quad costs more than parsing it
            else:
                yield ox.Quad(renamed(subject, rename), quad.predicate, renamed(object_, rename), target)
    file.written = {} if len(values) == _SPELLINGS else _written_forms(values)


def _written_forms(values: Iterable[Literal]) -> dict[str, str]:
    """Tell how values are written that the engine writes otherwise, in whatever forms each is."""
    store, forms, numbered = ox.Store(), defaultdict[Any, list[str]](list), dict(enumerate(values))
    store.bulk_extend(ox.Quad(BlankNode(f"b{i}"), RDF_TYPE, value) for i, value in numbered.items())
    for quad in store:
        forms[quad.object].append(numbered[int(quad.subject.value[1:])].value)
    told = ((one, ", ".join(sorted(own)), len(own) > 1) for one, own in forms.items())
    return {str(one): f"{one.value} ({text})" if several else text for one, text, several in told if text != one.value}


def stored_source(file: RdfFile, options: ReadOptions, *, source: str, graph: IRI | None, triples: int) -> StoredSource:
    """Describe a file that was read into a store, for its manifest."""
    graphs = sorted(name.value for name in file.graphs if isinstance(name, IRI) and name != graph)
    return StoredSource(
        source=source, sha256=file.tally.digest.hexdigest(), graph=None if graph is None else graph.value,
        graphs=tuple(graphs), triples=triples, skipped=file.skipped, first_skipped=file.first_skipped,
        recipe=options.recipe, prefixes=prefixes_of(file, options), written=file.written,
    )  # fmt: skip


def prefixes_of(file: RdfFile, options: ReadOptions) -> dict[str, str]:
    """Read the prefixes declared in the first 64 kB of a file; none where the format has none.

    Those of standard input are known after reading it. Syntax errors are left to the reading of the whole file.
    """
    if file.path is None or file.format.name not in _RECOVERING_FORMATS:
        return file.prefixes
    with opened(RdfFile(file.name, file.path), options) as reader:
        parser = ox.parse(reader.read(_BLOCK_BYTES), format=file.format, base_iri=options.base_of(file))
        with contextlib.suppress(SyntaxError):  # the block may end in the middle of a statement
            deque(parser, maxlen=0)
        return dict(parser.prefixes)


def parsed_quads(reader: ChunkReader, file: RdfFile, options: ReadOptions) -> Iterator[ox.Quad]:
    """Yield the quads of an open file as the parser gives them."""
    if options.skip_bad and file.format.name in LINE_FORMATS:
        yield from _good_lines(reader, file, file.format)
        return
    is_json = file.format == ox.RdfFormat.JSON_LD
    base, source = options.base_of(file), cast("IO[bytes]", reader)
    parser = ox.parse(source, format=file.format, base_iri=base, lenient=is_json)
    if is_json:  # what is not valid its parser leaves out without a word, or leniently gives: it is parsed once more
        lines = _lines_of(parser, needs_base=options.base is None and file.name != "-")
        yield from _good_lines(ChunkReader(lines), file, ox.RdfFormat.N_QUADS)
        return
    yield from _good_statements(parser, file) if options.skip_bad else parser
    file.prefixes = dict(parser.prefixes)


def _lines_of(quads: Iterator[ox.Quad], *, needs_base: bool) -> Iterator[bytes]:
    """Yield quads as N-Quads, in blocks; a relative IRI is an error where all files may be read again with a base."""
    while batch := list(islice(quads, _BLOCK_QUADS)):
        ends = (end for quad in batch for end in (quad.subject, quad.object) if isinstance(end, IRI))
        if needs_base and any(":" not in end.value for end in ends):
            raise SyntaxError("No scheme found in an IRI")
        yield b"".join(f"{quad} .\n".encode() for quad in batch)


def _good_lines(reader: ChunkReader, file: RdfFile, rdf_format: ox.RdfFormat) -> Iterator[ox.Quad]:
    """Yield the quads of valid lines: whole blocks are parsed at once, the lines of a bad block one by one."""
    line, rest, is_last = 1, b"", False
    while not is_last:
        data = reader.read(_BLOCK_BYTES)
        is_last = not data
        if len(rest) > _LONGEST_TERM:
            raise MemoryError  # as the parser does, but before the rest of the line is collected
        block, end, rest = (rest + data).rpartition(b"\n") if data else (rest, b"", b"")
        try:
            yield from list(ox.parse(block + end, format=rdf_format))
        except SyntaxError:
            for number, text in enumerate(block.split(b"\n"), line):
                for part in text.split(b"\r"):
                    try:
                        yield from list(ox.parse(part, format=rdf_format))
                    except SyntaxError as error:
                        is_own = file.format == rdf_format
                        error.lineno = number if is_own else None
                        _note_skipped(file, error, "" if is_own else f": {printable(part.decode(), 200)}")
        line += block.count(b"\n") + len(end)


def _good_statements(parser: ox.QuadParser, file: RdfFile) -> Iterator[ox.Quad]:
    """Yield the quads that the parser finds when it continues after errors; the rest of a bad statement is left out.

    One quad is held back: from ``"a"@en_US`` the parser gives ``"a"@en`` before it reports the error.
    """
    held: ox.Quad | None = None
    last_place: tuple[int | None, int | None] | None = None
    while True:
        try:
            quad = next(parser, None)
        except SyntaxError as error:
            place = error.lineno, error.offset
            if place == last_place:
                raise  # the parser cannot continue from here
            last_place = place
            _note_skipped(file, error)
            literal = held.object if held is not None else None
            is_tagged = isinstance(literal, Literal) and literal.language is not None
            if is_tagged and "Unexpected character" in str(error.msg):
                held = None
            continue
        if held is not None:
            yield held
        if quad is None:
            return
        held = quad


def _note_skipped(file: RdfFile, error: SyntaxError, what: str = "") -> None:
    file.skipped += 1
    said = _load_error(error, file, in_lines=False).message.removeprefix(f"{file.name}:")
    file.first_skipped = file.first_skipped or said + what


_PLACE = re.compile(r"^Parser error (?:at|between) line [^:]*: |(?: \(line \d+\))$")
_SKIP = "fix the statement, or leave it out: --skip-bad"
_ESCAPE = "write \\ before it, or the whole IRI in < >"
_KINDS = (
    ("LoadDocumentCallback", "E_EGRESS", "nothing is fetched: write the context into the file, in place of its IRI"),
    ("No scheme found", "E_BASE", "the file has relative IRIs; name what they are relative to: --base http://…"),
    ("cannot stand in a prefixed name", "E_PARSE", _ESCAPE),
    ("is not a valid", "E_PARSE", f"if it belongs to a name: {_ESCAPE}; else {_SKIP}"),
    ("hexadecimal", "E_PARSE", "write %25 where a % is meant"),
    ("prefix", "E_PARSE", "declare the prefix at the top of the file"),
    ("IRI", "E_IRI", _SKIP),
    ("", "E_PARSE", _SKIP),
)
"""What the parser says, our code for it, and what to do."""


def _load_error(error: Exception, file: RdfFile, *, in_lines: bool) -> KgsparqlError:
    """Make our error of one of the parser's; N-Triples and N-Quads (``in_lines``) have neither base nor prefixes."""
    name = file.name
    if isinstance(error, MemoryError):
        line = file.tally.lines + 1
        message, hint = f"a term over 16 MiB, line {line:,}", "shorten the literal, or leave it out"
        return error_at(LimitError, name, line, 1, message, hint=hint)
    if is_disk_full(error):
        return disk_full(name)
    if not isinstance(error, SyntaxError):
        kind = InputError if isinstance(error, OSError) and error.errno is not None else GraphLoadError
        why = getattr(error, "strerror", None) or printable(str(error))
        return kind(f"{name}: {why}", hint="check the file and the disk", path=name)
    cause = printable(_PLACE.sub("", str(error.msg)))
    cause = cause.replace(
        "is not allowed at the beginning of a prefix name", "cannot stand in a prefixed name as it is"
    )
    kinds = (kind for kind in _KINDS if not (in_lines and kind[0] in {"No scheme found", "prefix"}))
    code, hint = next((code, hint) for part, code, hint in kinds if part in cause)
    if code == "E_EGRESS":
        cause = "a JSON-LD context outside the file"
    if error.lineno is None:
        return GraphLoadError(f"{name}: {cause}", code=code, hint=hint, path=name, line=None, column=error.offset or 1)
    return error_at(GraphLoadError, name, error.lineno, error.offset or 1, cause, code=code, hint=hint)
