"""The options with which every command names and reads its graph, written once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli._common import (
    BaseOption,
    ContextOption,
    DebugOption,
    EncodingOption,
    InputFormatOption,
    QuietOption,
    SkipBadOption,
    progress,
    say,
    sources,
)

if TYPE_CHECKING:
    from kgsparql.graphs.snapshots import Snapshot
    from kgsparql.knowledge_base import KnowledgeBase

__all__ = ["GraphOptions"]

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


@dataclass(frozen=True, kw_only=True)
class GraphOptions:
    """What the user said of the graph; each field is an option of the command line."""

    kg: KgOption = None
    input_format: InputFormatOption = None
    base: BaseOption = None
    encoding: EncodingOption = None
    skip_bad: SkipBadOption = False
    context: ContextOption = None
    no_cache: NoCacheOption = False
    quiet: QuietOption = False
    debug: DebugOption = False

    @property
    def sources(self) -> list[str]:
        """The sources that were named.

        :raises InputError: if there is none.
        """
        return sources(self.kg)

    @property
    def reading(self) -> dict[str, Any]:
        """The options of :func:`kgsparql.graphs.open_graph`."""
        return {
            "format": self.input_format, "base": self.base, "encoding": self.encoding, "skip_bad": self.skip_bad,
            "context": self.context, "cache": not self.no_cache,
        }  # fmt: skip

    def one_by_one(self) -> list[GraphOptions]:
        """The options of each graph by itself, where several are named: all files together are one."""
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
        """A line for the person at the terminal, unless ``-q`` says that none is wanted."""
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
        """The knowledge base, with progress and notes on stderr as long as the ``with`` lasts.

        :param snapshot: that everything is recorded into, or replayed from.
        :param fresh: endpoints are asked again, whatever of their replies is kept.
        """
        from kgsparql.knowledge_base import open as open_knowledge

        with progress(quiet=self.quiet) as shown:
            yield open_knowledge(
                *self.sources, languages=languages, embedder=embedder, progress=shown, note=self.say,
                snapshot=snapshot, fresh=fresh, **self.reading,
            )  # fmt: skip
