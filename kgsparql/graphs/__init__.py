"""Graphs that answer SPARQL: RDF files and stores in this process, endpoints, and several of them as one.

May use: ``rdf``, ``storage`` and ``http``. Open first: ``sources.py``, which opens what a user names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgsparql.graphs.endpoint import EndpointGraph
    from kgsparql.graphs.federated_graph import FederatedGraph
    from kgsparql.graphs.oxigraph import OxigraphGraph
    from kgsparql.graphs.sources import (
        names_endpoint,
        open_graph,
    )
    from kgsparql.graphs.stores import describe_store, load_store, open_store

__all__ = [
    "EndpointGraph", "FederatedGraph", "OxigraphGraph", "describe_store",
    "load_store", "names_endpoint", "open_graph", "open_store",
]  # fmt: skip
_HOMES = {
    "EndpointGraph": "endpoint", "FederatedGraph": "federated_graph", "OxigraphGraph": "oxigraph",
    "describe_store": "stores", "load_store": "stores", "open_store": "stores",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name's module when it is first used: a process that only fills a store needs few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'sources')}"), name)
