"""rdflib-endpoint over a file, at a port of this machine: ``python -m tests.endpoints.rdflib_server FILE PORT``."""

import sys
from pathlib import Path

import uvicorn
from rdflib_endpoint import SparqlEndpoint

from tests.engines import RdflibGraph, engine_from_file


def serve(data: Path, port: int) -> None:
    graph = engine_from_file("rdflib", data)
    assert isinstance(graph, RdflibGraph)
    uvicorn.run(SparqlEndpoint(graph=graph.dataset, path="/sparql"), host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))
