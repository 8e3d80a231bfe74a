"""Profiles of endpoints: those that are shipped, those of users, and what is wrong with a file of them."""

import itertools
import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from kgsparql import UNKNOWN, EndpointGraph, EndpointProfile, open_graph
from kgsparql.errors import GraphLoadError, InputError
from kgsparql.graphs.metered_graph import IgnoredPredicates
from kgsparql.graphs.profiles import StatusMeaning, endpoint_named, known_endpoints
from kgsparql.graphs.sources import names_endpoint
from kgsparql.rdf.vocabulary import UNWALKED
from tests.world import ROOT

SHIPPED = ROOT / "kgsparql" / "graphs" / "endpoints.toml"
PAGE = ROOT / "docs" / "endpoints.md"
OURS = """[ours]
name = "Ours"
engine = "virtuoso"
urls = ["https://sparql.example.org/query"]
chunk_size = 50
"""
ENGINES = {
    "Amazon Neptune", "Apache Jena Fuseki", "Blazegraph", "Eclipse RDF4J", "GraphDB", "Oxigraph", "QLever",
    "Virtuoso", "rdflib-endpoint",
}  # fmt: skip
SERVICES = {
    "wikidata": ("https://query.wikidata.org/sparql", "Blazegraph"),
    "wikidata-scholarly": ("https://query-scholarly.wikidata.org/sparql", "Blazegraph"),
    "wikidata-qlever": ("https://qlever.dev/api/wikidata", "QLever"),
    "dbpedia": ("https://dbpedia.org/sparql", "Virtuoso"),
    "dblp": ("https://sparql.dblp.org/sparql", "QLever"),
    "semopenalex": ("https://semopenalex.org/sparql", "GraphDB"),
    "ubergraph": ("https://ubergraph.apps.renci.org/sparql", "Blazegraph"),
    "uniprot": ("https://sparql.uniprot.org/sparql", ""),
}


@pytest.fixture(autouse=True)
def _no_files_of_a_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a user keeps profiles."""
    path = tmp_path / "config" / "kgsparql" / "endpoints.toml"
    path.parent.mkdir(parents=True)
    return path


CHANGES = itertools.count(1)


def change(file: Path, text: str) -> None:
    """Write the file, as at another time than before."""
    file.write_text(text)
    os.utime(file, ns=(time := next(CHANGES), time))


def named(alias: str) -> EndpointProfile:
    profile = known_endpoints().named(alias)
    assert profile is not None
    return profile


def engine_named(name: str) -> EndpointProfile:
    return next(profile for profile in known_endpoints().engines if profile.name == name)


def opened(source: str) -> EndpointGraph:
    graph = open_graph(source)
    assert isinstance(graph, EndpointGraph)
    return graph


def test_an_alias_opens_its_service() -> None:
    assert set(known_endpoints().aliases) == set(SERVICES)
    for alias, (url, engine) in SERVICES.items():
        graph, by_url = opened(alias), opened(url)
        assert (graph.name, graph.url, graph.profile.engine) == (alias, url, engine)
        assert (graph.profile.is_public, graph.profile.concurrency) == (True, 1)
        assert (by_url.name, by_url.profile) == (url, known_endpoints().at(url))


def test_a_service_takes_over_what_its_engine_has_and_keeps_its_own() -> None:
    virtuoso, dbpedia, scholarly = engine_named("Virtuoso"), named("dbpedia"), named("wikidata-scholarly")
    assert (dbpedia.max_solutions, dbpedia.text_search) == (10_000, "bif:contains")
    throttled = StatusMeaning(status=405, means="throttled")
    assert set(dbpedia.statuses) - set(virtuoso.statuses) == {throttled}
    assert set(virtuoso.statuses) < set(dbpedia.statuses)
    assert (scholarly.requests_per_minute, scholarly.requests_without_contact) == (200, 10)
    assert (scholarly.errors_per_minute, scholarly.aliases) == (30, ("wikidata-scholarly",))
    assert scholarly.urls == ("https://query-scholarly.wikidata.org/sparql",)
    assert engine_named("QLever").statuses == (StatusMeaning(status=429, means="out of time", says="timed out"),)

    wikidata, other = named("wikidata"), named("wikidata-qlever")
    for name in ("noise", "label_predicates", "predicate_label_links", "type_predicates", "degree_predicate"):
        assert getattr(other, name) == getattr(wikidata, name) != getattr(UNKNOWN, name)
    assert (other.external_ids, other.has_many_labels) == (True, True)
    assert (other.text_search, other.errors_per_minute) == ("ql:has-word", None)


def test_every_profile_that_is_shipped_says_where_it_is_from_and_no_noise_is_known_anyway() -> None:
    assert {profile.name for profile in known_endpoints().engines} == ENGINES
    tables = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))
    tables.pop("prefixes")
    known = known_endpoints()
    assert len(tables) == len(known.services) + len(known.engines)
    assert all(table.get("sources") for table in tables.values())
    for profile in (*known.services, *known.engines):
        assert not {term for term in profile.noise if term in UNWALKED or IgnoredPredicates().drops(term)}, profile.name


def test_a_url_has_the_profile_of_its_service() -> None:
    services = {
        "DBpedia": (
            "http://dbpedia.org/sparql", "https://DBpedia.org:443/sparql/", "https://me:secret@dbpedia.org/sparql",
            "https://dbpedia.org/sparql?default-graph-uri=http://dbpedia.org",
        ),
        "Wikidata Query Service, main graph": (
            "https://query.wikidata.org/bigdata/namespace/wdq/sparql", "https://another.wikidata.org/sparql",
            "https://query.wikidata.org:443/bigdata/sparql", "https://query.wikidata.org./sparql",
            "https://query.wikidata.org?x=1", "http://QUERY.wikidata.org/",
        ),
        "Wikidata Query Service, scholarly graph": ("https://query-scholarly.wikidata.org/bigdata/sparql",),
        UNKNOWN.name: (
            "https://dbpedia.org/other", "https://mirror.example.org/?from=query.wikidata.org/sparql",
            "https://mirror.example.org/query.wikidata.org/sparql", "https://notwikidata.org/sparql",
            "https://qlever.dev/api/osm-planet", "http://localhost:3030/ds/sparql",
        ),
    }  # fmt: skip
    for name, urls in services.items():
        assert [known_endpoints().at(url).name for url in urls] == [name] * len(urls)


def test_who_is_not_known_is_asked_as_if_many_did_if_anybody_may() -> None:
    for url in ("https://sparql.example.org/query", "http://8.8.8.8/sparql", "https://sparql.example.org:8443/"):
        profile = known_endpoints().at(url)
        assert (profile.name, profile.is_public, profile.concurrency, profile.keep_s) == (UNKNOWN.name, True, 1, 300)
        assert 0 < profile.pause_s < 1
        assert not profile.has_many_labels, "nobody said so: they are counted first"
    for url in (
        "http://localhost:3030/ds", "http://127.0.0.1:3030/ds", "http://[::1]:3030/ds", "http://fuseki:3030/ds",
        "http://10.1.2.3/sparql", "http://192.168.0.7/sparql", "http://[fe80::1]/sparql", "http://sparql.example.local/",
        "http://graphs.corp.internal/sparql", "http://nas.lan/sparql", "https://me:secret@sparql.example.org/query",
        "https://sparql.example.org/query?apikey=1234",
    ):  # fmt: skip
        assert known_endpoints().at(url) is UNKNOWN, url


def test_a_query_has_the_time_that_the_profile_gives_it() -> None:
    wikidata = opened("wikidata")
    assert (wikidata.timeout_s, opened("http://localhost:3030/ds").timeout_s) == (62, 30)
    assert EndpointGraph("http://e.org/", profile=wikidata.profile, timeout_s=5).timeout_s == 5


def test_a_path_is_never_an_alias_and_what_is_both_is_not_guessed_at(tmp_path: Path) -> None:
    assert names_endpoint("Wikidata")
    for source in ("./wikidata", "wikidata.ttl", "wikidata/", Path("wikidata"), "data", "-"):
        assert not names_endpoint(source)
    assert open_graph(" Wikidata ").name == "wikidata"
    with pytest.raises(InputError, match="options of files"):
        open_graph("dbpedia", base="http://example.org/")
    (tmp_path / "dbpedia").mkdir()
    (tmp_path / "dbpedia" / "a.ttl").write_text("<a:a> <a:b> <a:c> .")
    for name, says, hint in (
        ("dbpedia", "a directory here, and a known endpoint",
         "-k ./dbpedia is the one here, -k https://dbpedia.org/sparql the other"),
        ("dpedia", "dpedia: no such file or directory", "check the path; known endpoints: dblp, dbpedia, "),
        ("dpedia.ttl", "", "check the path"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=says or None) as caught:
            open_graph(name)
        assert caught.value.hint.startswith(hint)
        assert ("known endpoints" in caught.value.hint) is (name == "dpedia")
    assert not open_graph("./dbpedia").is_remote


def test_a_profile_of_a_user_opens_by_its_alias_and_is_read_again_when_it_changes(file: Path) -> None:
    change(file, OURS)
    graph = opened("ours")
    assert (graph.name, graph.url, graph.profile.name) == ("ours", "https://sparql.example.org/query", "Ours")
    assert (graph.chunk_size, graph.profile.engine, graph.profile.max_solutions) == (50, "Virtuoso", 10_000)
    assert "ours" in known_endpoints().aliases
    change(file, OURS.replace("[ours]", '[theirs]\naliases = ["them"]'))
    assert [endpoint_named(alias) is None for alias in ("ours", "theirs", "them")] == [True, False, False]


def test_a_profile_of_a_user_says_how_public_a_service_is(file: Path) -> None:
    for more, *expected in (
        ("", True, 1, 300, 0.1),
        ("concurrency = 4\nkeep_s = 0\npause_s = 0", True, 4, 0, 0),
        ("is_public = false", False, UNKNOWN.concurrency, 0, 0),
    ):
        change(file, OURS + more)
        ours = known_endpoints().at("https://sparql.example.org/query")
        assert [ours.is_public, ours.concurrency, ours.keep_s, ours.pause_s] == expected


def test_a_profile_of_a_user_goes_before_ours_or_changes_one_value_of_it(file: Path) -> None:
    change(file, "[wikidata]\npause_s = 2\nconcurrency = 3\n")
    changed = named("wikidata")
    assert (changed.pause_s, changed.concurrency, changed.timeout_s, changed.engine) == (2, 3, 60, "Blazegraph")
    assert named("wikidata-scholarly").pause_s == 2, "it takes over the values of the other"
    mine = '[mine]\naliases = ["dbpedia"]\nengine = "dbpedia"\nmax_solutions = 500\n'
    change(file, f'{mine}urls = ["https://dbpedia.org/sparql"]\n')
    for found in (named("dbpedia"), known_endpoints().at("https://dbpedia.org/sparql")):
        assert (found.max_solutions, found.text_search, found.engine) == (500, "bif:contains", "Virtuoso")


def test_lists_keep_their_order_and_noise_adds_up(file: Path) -> None:
    file.write_text(
        'prefixes = { a = "urn:a:" }\n'
        '[e]\nnoise = ["a:b"]\nlabel_predicates = ["a:z"]\n'
        '[s]\nurls = ["http://e.org/sparql", "http://b.org/", "http://a.org/"]\nengine = "e"\nnoise = ["urn://x/a"]\n'
        'label_predicates = ["a:c", "a:a", "a:b", "a:a"]\n'
        '[t]\nurls = ["http://f.org/"]\nengine = "e"\n'
    )
    service, other = named("s"), named("t")
    assert [p.value for p in service.label_predicates] == ["urn:a:c", "urn:a:a", "urn:a:b", "urn:a:a"]
    assert [p.value for p in other.label_predicates] == ["urn:a:z"]
    assert service.urls == ("http://e.org/sparql", "http://b.org/", "http://a.org/")
    assert [p.value for p in service.noise] == ["urn://x/a", "urn:a:b"]
    assert (service.name, service.engine, service.chunk_size) == ("s", "e", UNKNOWN.chunk_size)


WRONG = {
    "chunk_siz = 100": "a.chunk_siz: no such field", "chunk_size = 0": "a.chunk_size: 0: a whole number above 0",
    "pause_s = inf": "a.pause_s: inf: a number of at least 0",
    'has_union = "true"': "a.has_union: true: a value of another type",
    'text_search = "lucene"': "a.text_search: lucene: one of none, bif:contains, ",
    'hosts = "e.org"': "a.hosts: e.org: a value of another type",
    'noise = ["dbo:x"]': "a.noise: .*: neither an IRI nor one with a prefix",
    'engine = "virtuso"': "a.engine: virtuso: no such profile", 'engine = "a"': "a.engine: a: .* leads back here",
    'statuses = [{ status = 429, means = "busy" }]': "a.statuses: .* one of throttled, ",
    'urls = ["https://me:secret@e.org/"]': "a.urls: ", 'urls = ["file:///etc/passwd"]': "a.urls: ",
}  # fmt: skip


def test_what_no_profile_can_say_is_an_error_with_its_place(file: Path) -> None:
    for said, message in WRONG.items():
        change(file, f"[a]\n{said}\n")
        with pytest.raises(GraphLoadError, match=message) as caught:
            known_endpoints()
        assert (caught.value.code, caught.value.exit_code) == ("E_PROFILE", 4)
        assert "secret" not in str(caught.value)


def test_what_is_no_file_of_profiles_is_an_error(file: Path) -> None:
    data = file.with_name("data.ttl")
    data.write_text("<a:a> <a:b> <a:c> .")
    for text in (b"[a]\nchunk_size =\n", b"name = 5\n", b"[A-b]\n", b"\xff[a]"):
        file.write_bytes(text)
        with pytest.raises(GraphLoadError, match=r"endpoints\.toml") as caught:
            open_graph("ours")
        assert caught.value.code == "E_PROFILE"
        assert not open_graph(str(data)).is_remote, "a file needs no profile"


def test_the_page_shows_a_profile_and_names_every_alias(file: Path) -> None:
    file.write_text(re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0])
    ours = named("ours")
    assert (ours.chunk_size, ours.text_search, ours.engine) == (50, "graphdb", "GraphDB")
    shown = PAGE.read_text(encoding="utf-8").replace("`-k ", "`")
    assert [alias for alias in SERVICES if f"`{alias}`" not in shown] == []


def test_a_table_fills_every_field(file: Path) -> None:
    shown = {key for table in tomllib.loads(SHIPPED.read_text("utf-8")).values() for key in table}
    assert {field.name for field in fields(EndpointProfile)} - shown <= {
        "aliases", "pause_s", "token_env", "headers",
    }  # fmt: skip
