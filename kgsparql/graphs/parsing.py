"""Quads of an RDF file: blank nodes renamed in order, bad statements skipped on request, errors with their place."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from typing import IO, Any, cast

import pyoxigraph as ox

from kgsparql.errors import GraphLoadError, InputError, KgsparqlError, LimitError
from kgsparql.graphs.decoding import (
    LINE_FORMATS,
    ChunkReader,
    Tally,
    error_at,
    guarded,
    unpacked,
)
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, format_of, raw_file
from kgsparql.graphs.manifest import StoredSource
from kgsparql.rdf.literals import RESPELT
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Triple, printable, renamed
from kgsparql.rdf.vocabulary import RDF_TYPE
from kgsparql.storage.files import disk_full, is_disk_full

_RECOVERING_FORMATS = frozenset({"Turtle", "TriG"})
_BLOCK_BYTES = 1 << 16
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
    rdf_format, total = format_of(file, options), file.size
    on_read = None if progress is None else lambda done: progress("reading", done, max(total, done))
    file.tally, file.skipped, file.first_skipped, file.graphs = Tally(file.name), 0, "", set()
    with raw_file(file) as raw:
        chunks = guarded(unpacked(raw, file.tally, on_read), rdf_format, file.tally)
        try:
            yield ChunkReader(chunks)
        except (SyntaxError, ValueError, OSError, RuntimeError, MemoryError) as error:
            if isinstance(error, KgsparqlError):
                raise
            raise _load_error(error, file, in_lines=rdf_format.name in LINE_FORMATS) from error


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
    if file.path is None or format_of(file, options).name not in _RECOVERING_FORMATS:
        return file.prefixes
    with opened(RdfFile(file.name, file.path), options) as reader:
        parser = ox.parse(reader.read(_BLOCK_BYTES), format=format_of(file, options), base_iri=options.base_of(file))
        with contextlib.suppress(SyntaxError):  # the block may end in the middle of a statement
            deque(parser, maxlen=0)
        return dict(parser.prefixes)


def parsed_quads(reader: ChunkReader, file: RdfFile, options: ReadOptions) -> Iterator[ox.Quad]:
    """Yield the quads of an open file as the parser gives them."""
    rdf_format = format_of(file, options)
    if options.skip_bad and rdf_format.name in LINE_FORMATS:
        yield from _good_lines(reader, file, rdf_format)
        return
    parser = ox.parse(cast("IO[bytes]", reader), format=rdf_format, base_iri=options.base_of(file))
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
    file.first_skipped = file.first_skipped or _load_error(error, file, in_lines=False).message.removeprefix(
        f"{file.name}:"
    )


_PLACE = re.compile(r"^Parser error (?:at|between) line [^:]*: |(?: \(line \d+\))$")
_SKIP = "fix the statement, or leave it out: --skip-bad"
_KINDS = (
    (
        "LoadDocumentCallback",
        "E_EGRESS",
        "nothing is fetched: write the context into the file, in place of its IRI",
    ),
    ("No scheme found", "E_BASE", "the file has relative IRIs; name what they are relative to: --base http://…"),
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
    kinds = (kind for kind in _KINDS if not (in_lines and kind[0] in {"No scheme found", "prefix"}))
    code, hint = next((code, hint) for part, code, hint in kinds if part in cause)
    if code == "E_EGRESS":
        cause = "a JSON-LD context outside the file"
    if error.lineno is None:
        return GraphLoadError(f"{name}: {cause}", code=code, hint=hint, path=name, line=None, column=error.offset or 1)
    return error_at(GraphLoadError, name, error.lineno, error.offset or 1, cause, code=code, hint=hint)
