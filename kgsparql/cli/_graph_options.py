"""The options with which the commands name and read a graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli._common import DebugOption, Progress, QuietOption, say, sources
from kgsparql.cli._configuration import configuration

if TYPE_CHECKING:
    from kgsparql.graphs.snapshots import Snapshot
    from kgsparql.knowledge_base import KnowledgeBase


InputFormatOption = Annotated[
    str | None,
    typer.Option("--input-format", metavar="EXT", help="Format of RDF from stdin: ttl, nt, nq, trig, rdf, jsonld."),
]
BaseOption = Annotated[str | None, typer.Option("--base", metavar="IRI", help="Base for relative IRIs in the files.")]
EncodingOption = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Character encoding of the files.")
]
ContextOption = Annotated[
    str | None,
    typer.Option("--context", metavar="FILE", help="Stands in for contexts that JSON-LD only names; none is fetched."),
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Go on after a statement that is not valid RDF; they are counted.")
]
KgOption = Annotated[
    list[str] | None,
    typer.Option(
        "-k",
        "--kg",
        metavar="SOURCE",
        help="RDF file, directory of RDF files, store, SPARQL endpoint (URL, or a name such as wikidata or dbpedia), "
        "or - for stdin; repeat for several of any kind. Default: KGSPARQL_KG, one source per line.",
    ),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Keep neither big files nor replies of endpoints in the cache directory.")
]
IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="PLACE",
        envvar="KGSPARQL_INDEX",
        show_envvar=False,
        help="Where label indexes are: a directory, or object storage (s3://bucket/prefix). Default: KGSPARQL_INDEX, "
        "else the cache directory.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """The graph that the user names; each field is an option of the command line."""

    kg: KgOption = None
    input_format: InputFormatOption = None
    base: BaseOption = None
    encoding: EncodingOption = None
    skip_bad: SkipBadOption = False
    context: ContextOption = None
    no_cache: NoCacheOption = False
    index: IndexOption = None
    quiet: QuietOption = False
    debug: DebugOption = False

    @property
    def sources(self) -> list[str]:
        """The sources that are named."""
        return sources(self.kg)

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that the settings have for the graphs that are named."""
        return configuration().prefixes(self.kg)

    @property
    def reading(self) -> dict[str, Any]:
        """The options of :func:`kgsparql.graphs.open_graph`."""
        return {
            "format": self.input_format, "base": self.base, "encoding": self.encoding, "skip_bad": self.skip_bad,
            "context": self.context, "cache": not self.no_cache,
        }  # fmt: skip

    def one_by_one(self) -> list[GraphOptions]:
        """The options of each graph alone; all files together are one graph."""
        from kgsparql.graphs import groups_of, is_graph_by_itself

        groups = groups_of(self.sources)
        if len(groups) < 2:
            return [self]
        ours = {"input_format": None, "base": None, "encoding": None, "skip_bad": False, "context": None}
        return [
            replace(self, kg=[str(source) for source in group], **(ours if is_graph_by_itself(group[0]) else {}))  # type: ignore[arg-type]
            for group in groups
        ]

    def say(self, message: str) -> None:
        """Write a line to stderr, unless ``-q`` is set."""
        say(message, quiet=self.quiet)

    @contextmanager
    def opened(
        self,
        *,
        languages: tuple[str, ...] = ("en",),
        embedder: str = "auto",
        snapshot: Snapshot | None = None,
        fresh: bool = False,
    ) -> Iterator[KnowledgeBase]:
        """The knowledge base, with progress and notes on stderr while the ``with`` block runs.

        :param fresh: endpoints are asked again, also where a reply of theirs is kept.
        """
        from kgsparql.knowledge_base import open as open_knowledge

        with Progress(quiet=self.quiet) as shown:
            yield open_knowledge(
                *self.sources, languages=languages, embedder=embedder, progress=shown, note=self.say,
                snapshot=snapshot, fresh=fresh, index=self.index, prefixes=self.prefixes, **self.reading,
            )  # fmt: skip
