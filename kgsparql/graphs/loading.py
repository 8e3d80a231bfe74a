"""Loading files into a store on disk: whole or not at all.

A load fills ``DIR.partial-*`` beside ``DIR`` in a child process, and replaces ``DIR`` by it when it is complete. After
a kill, Ctrl-C or a bad file ``DIR`` is as it was, and the next load removes the leftovers.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgsparql.errors import InputError, OptionError, StoreError, error_from
from kgsparql.graphs.child_process import Child
from kgsparql.graphs.files import Progress, RdfFile, ReadOptions, rdf_files, standard_input
from kgsparql.graphs.manifest import Manifest, StoredSource, read_manifest, stored_source
from kgsparql.rdf.terms import IRI, iri
from kgsparql.storage.files import (
    disk_full,
    is_disk_full,
    is_store,
    partial_path,
    remove_leftovers,
    replace_directory,
    writer_lock,
)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The result of a load.

    :param loaded: the sources that were read.
    :param unchanged: names of files that the store already held, byte for byte.
    :param manifest: with all sources of the store after the load.
    """

    directory: Path
    loaded: tuple[StoredSource, ...]
    unchanged: tuple[str, ...]
    manifest: Manifest


def load_store(
    sources: str | Path | Sequence[str | Path],
    directory: str | Path,
    *,
    graph: str | IRI | bool | None = None,
    base: str | None = None,
    format: str | None = None,  # noqa: A002 - the word of the specifications
    encoding: str | None = None,
    skip_bad: bool = False,
    context: str | None = None,
    progress: Progress | None = None,
) -> LoadReport:
    """Load RDF files into a store on disk: all of them or none.

    :param sources: files, directories of RDF files, or ``-`` for standard input (then with ``format``).
    :param directory: the store, which is created, or added to if it exists.
    :param graph: ``True`` gives each file a named graph of its own (the ``file:`` IRI of its path), an IRI names it
        for a single file; a later load of that source replaces the graph. ``None``: the default graph.
        Quad formats keep their named graphs; their default graph follows the same rule.
    :param progress: called with the phases ``reading`` and ``writing``.
    :raises GraphLoadError: for a file that is not valid RDF; the store stays as it was.
    :raises StoreLockedError: if another process is loading into it.
    :raises StoreError: if the directory holds something else, or a source without a named graph of its own changed.
    :raises DiskFullError: if the device is full.
    """
    options = ReadOptions(format=format, base=base, encoding=encoding, skip_bad=skip_bad, context=context)
    target = Path(directory).absolute()
    given = [sources] if isinstance(sources, str | Path) else sources
    files = list({file.iri: file for source in given for file in rdf_files(source)}.values())
    if not files:
        raise InputError("nothing to load", hint="name an RDF file")
    with writer_lock(target), ExitStack() as spools:
        remove_leftovers(target)
        _refuse_foreign_directory(target)
        jobs = [_job_for_file(file, _graph_of(file, graph, len(files)), target, spools) for file in files]
        manifest = read_manifest(target)
        plan = _plan_of_load(jobs, manifest, options, target)
        if not plan.jobs:
            return LoadReport(target, (), plan.unchanged, manifest)
        loaded = fill(target, plan.jobs, options, progress=progress, manifest=manifest, drop=plan.drop)
        return LoadReport(target, loaded, plan.unchanged, read_manifest(target))


def _graph_of(file: RdfFile, graph: str | IRI | bool | None, how_many: int) -> str | None:
    if graph is None or graph is False:
        return None
    if graph is True:
        return file.iri.value
    if how_many > 1:
        raise OptionError(
            f"one named graph for {how_many} files", hint="load them one by one, or let each have its own graph"
        )
    return graph.value if isinstance(graph, IRI) else iri(graph).value


def _job_for_file(file: RdfFile, graph: str | None, target: Path, spools: ExitStack) -> Job:
    """Make the job for a file; standard input is copied to a file first, because the child process cannot read it."""
    if file.path is not None:
        path = str(file.path.resolve())
        return Job(file.name, path, path, graph)
    spool = partial_path(target)  # no temporary file of Python: on Windows no other process could open it
    spools.callback(spool.unlink, missing_ok=True)
    with spool.open("xb") as copy:
        shutil.copyfileobj(standard_input(), copy)
    return Job(file.name, str(spool), file.name, graph)


def _refuse_foreign_directory(target: Path) -> None:
    if target.is_dir():
        if not is_store(target) and any(target.iterdir()):
            raise StoreError(
                f"{target}: this directory is not empty and not a store", hint="choose another directory",
                path=str(target),
            )  # fmt: skip
    elif target.exists():
        raise StoreError(f"{target}: not a directory", hint="choose another place for the store", path=str(target))


@dataclass(frozen=True, slots=True)
class _Plan:
    jobs: tuple[Job, ...]
    unchanged: tuple[str, ...]
    drop: frozenset[str]


def _plan_of_load(jobs: Sequence[Job], manifest: Manifest, options: ReadOptions, target: Path) -> _Plan:
    """Choose the files to read, and the named graphs that they replace.

    :raises StoreError: for a changed source that cannot be replaced, with the command that rebuilds the store.
    """
    to_read, unchanged, drop = [], [], set()
    held = {(source.sha256, source.graph, source.recipe) for source in manifest.sources}
    for job in jobs:
        if held and (RdfFile(job.name, Path(job.path)).sha256(), job.graph, options.recipe) in held:
            unchanged.append(job.name)
            continue
        to_read.append(job)
        for source in manifest.sources:
            if job.graph is not None and source.graph == job.graph and not source.graphs:
                drop.add(job.graph)
            elif _is_same_file(source.source, job.source) or job.graph in {source.graph or "", *source.graphs}:
                raise _cannot_replace(job, manifest, target)
    return _Plan(tuple(to_read), tuple(unchanged), frozenset(drop))


def _is_same_file(loaded: str, job: str) -> bool:
    """Tell whether two names, neither of them standard input, are of one file: on macOS and Windows by any case."""
    try:
        return "-" not in {loaded, job} and (loaded == job or Path(loaded).samefile(job))
    except OSError:  # what was loaded is gone
        return False


def _cannot_replace(job: Job, manifest: Manifest, target: Path) -> StoreError:
    sources = shlex.join(dict.fromkeys([*(source.source for source in manifest.sources), job.source]))
    directory = shlex.quote(str(target))
    return StoreError(
        f"{job.name}: changed since it was loaded into {target}, and it has no named graph of its own to replace",
        hint=f"rebuild: rm -r {directory} && kgsparql load {sources} --store {directory}", path=job.name,
        code="E_STORE_CHANGED",
    )  # fmt: skip


_CHILD = "kgsparql.graphs.store_filling"


@dataclass(frozen=True, slots=True)
class Job:
    """A file to load: its name in errors, the path of its bytes, its name in the manifest, and its own named graph."""

    name: str
    path: str
    source: str
    graph: str | None


def fill(
    target: Path,
    jobs: Sequence[Job],
    options: ReadOptions,
    *,
    progress: Progress | None,
    manifest: Manifest,
    drop: frozenset[str] = frozenset(),
) -> tuple[StoredSource, ...]:
    """Fill a new store beside ``target``, which it then replaces; returns what was loaded.

    :param manifest: of the store that is there, if there is one; its quads are copied first, without the named graphs
        ``drop``.
    :raises KgsparqlError: the error that the child reported.
    """
    partial = partial_path(target)
    request = {
        "directory": str(partial),
        "target": str(target),
        "old": str(target) if is_store(target) else None,
        "drop": sorted(drop),
        "jobs": [asdict(job) for job in jobs],
        "options": {name: getattr(options, name) for name in ("format", "base", "encoding", "skip_bad", "context")},
    }
    try:
        partial.mkdir()
        loaded = _run_child(request, progress)
        kept = [source for source in manifest.sources if source.graph is None or source.graph not in drop]
        Manifest((*kept, *loaded)).write(partial)
        replace_directory(partial, target)
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(target) from error
        raise StoreError(f"{target}: cannot be written: {error.strerror or error}", hint="check the disk") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return loaded


def _run_child(request: dict[str, Any], progress: Progress | None) -> tuple[StoredSource, ...]:
    child = Child(_CHILD)
    try:
        with suppress(BrokenPipeError):
            child.send(request)
        while (frame := child.next_frame()) is not None:
            header, _ = frame
            if "error" in header:
                raise error_from(header["error"])
            if "done" in header:
                return tuple(stored_source(entry) for entry in header["done"])
            if progress is not None:
                progress(*header["progress"])
        status, said = child.last_words()
    finally:
        child.stop()
    cause = said.strip().rpartition("\n")[2] or f"status {status}"
    raise StoreError(
        f"the loading process ended early ({cause})", hint="is there enough memory? the store is as it was",
        status=status,
    )  # fmt: skip
