"""What kgsparql needs and has on this machine, and the model server and graph it is to work with: one check each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kgsparql.cli.diagnosis.checks import Check
from kgsparql.cli.diagnosis.embedders import embedder_check
from kgsparql.cli.diagnosis.graphs import graph_checks
from kgsparql.cli.diagnosis.installation import cache_check, certificates_check, installation_checks
from kgsparql.cli.diagnosis.models import model_checks
from kgsparql.errors import KgsparqlError
from kgsparql.graphs.profiles.catalogue import endpoint_named

__all__ = ["Check", "Diagnosis"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is to be looked at.

    :param sources: the graph, as for :func:`kgsparql.graphs.open_graph`; none: no graph is looked at.
    :param model: a model's name; ``None`` for the only one of the server.
    :param base_url: of the model server; ``None`` for OpenAI's own. Without this and a model, no server is asked.
    :param embedder: as for :func:`kgsparql.models.embedding.open_embedder`.
    :param timeout_s: for each thing that is asked over the network.
    :param is_quick: nothing is embedded, which takes seconds.
    :param note: called with a line before each thing that takes seconds.
    """

    sources: Sequence[str] = ()
    model: str | None = None
    base_url: str | None = None
    embedder: str = "auto"
    timeout_s: float = 10.0
    is_quick: bool = False
    note: Callable[[str], None]

    def checks(self) -> Iterator[Check]:
        """Each check as soon as it is done; none raises an error of kgsparql's."""
        yield from installation_checks()
        yield certificates_check(is_needed=self._uses_https)
        yield cache_check()
        yield from graph_checks(self.sources, timeout_s=self.timeout_s, note=self.note)
        yield from model_checks(self.model, self.base_url, timeout_s=self.timeout_s, note=self.note)
        yield embedder_check(self.embedder, timeout_s=self.timeout_s, is_quick=self.is_quick, note=self.note)

    @property
    def _uses_https(self) -> bool:
        server = self.base_url or ("https:" if self.model else "")
        places = (server, self.embedder, *map(_url, self.sources))
        return any(place.lower().startswith("https:") for place in places)


def _url(source: str) -> str:
    """Where a source is, if it is an endpoint that is known by name."""
    try:
        known = endpoint_named(source)
    except KgsparqlError:
        return source  # the check of the graph says so
    return known.urls[0] if known else source
