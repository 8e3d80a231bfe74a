"""Which predicates identify things, at endpoints that cut so long a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kgsparql.graphs import EndpointGraph
from kgsparql.graphs.ignored_predicates import IgnoredPredicates
from kgsparql.rdf.terms import IRI
from tests.endpoints.proxy import Proxy, as_json, changed
from tests.endpoints.servers import virtuoso

WD, PROP, ONTOLOGY = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/", "http://wikiba.se/ontology#"
KEY = "http://e.org/mbox"
PARTS = ("direct/", "", "statement/", "qualifier/")
COUNT = 2_000


@pytest.fixture(scope="module")
def cutting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Virtuoso that gives 500 solutions at most, of 2,000 external identifiers, each with a formatter."""
    folder = tmp_path_factory.mktemp("identifiers")
    lines = [f"<{KEY}> a <http://www.w3.org/2002/07/owl#InverseFunctionalProperty> ."]
    declared = f"<{ONTOLOGY}propertyType> <{ONTOLOGY}ExternalId> ; <{ONTOLOGY}directClaim>"
    lines += [
        f'<{WD}P{n}> {declared} <{PROP}direct/P{n}> ; <{PROP}direct/P1921> "http://made.example/{n}/$1" .'
        for n in range(1, COUNT + 1)
    ]
    (folder / "properties.ttl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "virtuoso").mkdir()
    with virtuoso(folder / "properties.ttl", folder / "virtuoso", max_rows=500) as url:
        yield url


def test_E09_what_virtuoso_cuts_is_asked_for_in_parts(cutting: str) -> None:
    noise = IgnoredPredicates.of(EndpointGraph(cutting))
    assert noise.terms == {IRI(f"{PROP}{part}P{n}") for n in range(1, COUNT + 1) for part in PARTS}
    assert noise.identifiers.predicates == {IRI(KEY), *(IRI(f"{PROP}direct/P{n}") for n in range(1, COUNT + 1))}
    assert len(noise.identifiers.formatters) == COUNT
    assert noise.notes == ()


def test_E09_what_is_cut_all_the_same_is_told(cutting: str) -> None:
    def few(document: dict[str, Any]) -> None:
        del document["results"]["bindings"][20:]

    plan = changed(lambda reply: as_json(few)(reply).with_headers(X_SPARQL_MaxRows="20"))
    with Proxy(cutting, lambda request: plan if "ExternalId" in request.query else None) as proxy:
        noise = IgnoredPredicates.of(EndpointGraph(proxy.url))
        assert len(proxy.of("ExternalId")) <= 6, "it is not asked for ever smaller parts"
    (note,) = noise.notes
    assert note.endswith("; some identifiers may be missing")
    assert "20 solutions" in note
    assert noise.terms
