"""Quads of an RDF file: blank nodes renamed in order, bad statements skipped on request, errors with their place."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import IO, cast

import pyoxigraph as ox

from kgsparql.errors import GraphLoadError, InputError, KgsparqlError, LimitError
from kgsparql.graphs.decoding import LINE_FORMATS, ChunkReader, error_at
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, format_of, reader_of
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Triple, printable, renamed
from kgsparql.storage.files import disk_full, is_disk_full

_RECOVERING_FORMATS = frozenset({"Turtle", "TriG"})
_BLOCK_BYTES = 1 << 16
_LONGEST_TERM = 17 << 20


class BlankNodes:
    """Names for blank nodes in the order they are met, the same for the same files; no two files share a node."""

    def __init__(self, prefix: str = "b") -> None:
        self._prefix = prefix
        self._numbers = count(1)

    def of_file(self) -> Callable[[BlankNode], BlankNode]:
        """Make a function from a blank node of one file to the node with its new name."""
        known: dict[str, BlankNode] = {}

        def name(node: BlankNode) -> BlankNode:
            found = known.get(node.value)
            if found is None:
                found = known[node.value] = BlankNode(f"{self._prefix}{next(self._numbers)}")
            return found

        return name


@contextlib.contextmanager
def opened(file: RdfFile, options: ReadOptions, progress: Progress | None = None) -> Iterator[ChunkReader]:
    """Open a file as :func:`reader_of`; errors in the ``with`` block are raised as ours, with their place."""
    with reader_of(file, options, progress) as reader:
        try:
            yield reader
        except (SyntaxError, ValueError, OSError, RuntimeError, MemoryError) as error:
            cause = reader.error or error  # pyoxigraph may have wrapped what our reader raised
            if not isinstance(cause, Exception) or isinstance(cause, KgsparqlError):
                raise cause from error
            raise _load_error(cause, file, in_lines=format_of(file, options).name in LINE_FORMATS) from error


def quads(
    file: RdfFile,
    options: ReadOptions,
    names: BlankNodes,
    *,
    graph: IRI | None = None,
    graphs_met: set[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[ox.Quad]:
    """Yield the quads of a file, in its order, with the errors of :func:`reader_of`.

    :param graph: the graph for quads of its default graph; ``None`` for the default graph.
    :param graphs_met: the named graphs of the file are added to this.
    """
    rename = names.of_file()
    with opened(file, options, progress) as reader:
        for quad in _parsed_quads(reader, file, options):
            subject, object_, name = quad.subject, quad.object, quad.graph_name
            in_default = isinstance(name, ox.DefaultGraph)
            if not in_default and graphs_met is not None and isinstance(name, IRI):
                graphs_met.add(name.value)
            plain = not isinstance(subject, BlankNode) and not isinstance(object_, BlankNode | Triple)
            if plain and not isinstance(name, BlankNode) and (graph is None or not in_default):
                yield quad  # unchanged: a new quad costs more than parsing it
                continue
            target = graph if in_default and graph is not None else renamed(name, rename)
            yield ox.Quad(renamed(subject, rename), quad.predicate, renamed(object_, rename), target)


def prefixes_of(file: RdfFile, options: ReadOptions) -> dict[str, str]:
    """Read the prefixes declared in the first 64 kB of a file; none where the format has none.

    Those of standard input are known after reading it. Syntax errors are left to the reading of the whole file.
    """
    if file.path is None or format_of(file, options).name not in _RECOVERING_FORMATS:
        return file.prefixes
    with reader_of(RdfFile(file.name, file.path), options) as reader:
        parser = ox.parse(reader.read(_BLOCK_BYTES), format=format_of(file, options), base_iri=options.base)
        with contextlib.suppress(SyntaxError):  # the block may end in the middle of a statement
            deque(parser, maxlen=0)
        return dict(parser.prefixes)


def _parsed_quads(reader: ChunkReader, file: RdfFile, options: ReadOptions) -> Iterator[ox.Quad]:
    rdf_format = format_of(file, options)
    if options.skip_bad and rdf_format.name in LINE_FORMATS:
        yield from _good_lines(reader, file, rdf_format)
        return
    parser = ox.parse(cast("IO[bytes]", reader), format=rdf_format, base_iri=options.base)
    yield from _good_statements(parser, file) if options.skip_bad else parser
    file.prefixes = dict(parser.prefixes)


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
                        error.lineno = number
                        _note_skipped(file, error)
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


def _note_skipped(file: RdfFile, error: SyntaxError) -> None:
    file.skipped += 1
    file.first_skipped = file.first_skipped or _load_error(error, file, in_lines=False).message


_PLACE = re.compile(r"^Parser error (?:at|between) line [^:]*: |(?: \(line \d+\))$")
_SKIP = "fix the statement, or leave it out: --skip-bad"
_KINDS = (
    ("LoadDocumentCallback", "E_EGRESS", "nothing is ever fetched: give the context as a file with --context FILE"),
    ("No scheme found", "E_PARSE", "the file has relative IRIs; name what they are relative to: --base http://…"),
    ("prefix", "E_PARSE", "declare the prefix at the top of the file"),
    ("IRI", "E_IRI", _SKIP),
    ("Max stack size", "E_PARSE", "the file is nested too deep"),
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
    kinds = (kind for kind in _KINDS if not (in_lines and kind[0] in {"No scheme found", "prefix"}))
    code, hint = next((code, hint) for part, code, hint in kinds if part in cause)
    if code == "E_EGRESS":
        cause = "a JSON-LD context outside the file"
    if error.lineno is None:
        return GraphLoadError(f"{name}: {cause}", code=code, hint=hint, path=name, line=None, column=error.offset or 1)
    return error_at(GraphLoadError, name, error.lineno, error.offset or 1, cause, code=code, hint=hint)
