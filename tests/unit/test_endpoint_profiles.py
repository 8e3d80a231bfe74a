"""Profiles of endpoints: those that are shipped, those of users, and what is wrong with a file of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pyoxigraph
import pytest
import rdflib

from kgsparql.errors import GraphLoadError, InputError
from kgsparql.graphs import EndpointGraph, names_endpoint, open_graph
from kgsparql.graphs.ignored_predicates import IgnoredPredicates
from kgsparql.graphs.profiles.catalogue import PROFILES_VARIABLE, endpoint_named, known_endpoints
from kgsparql.graphs.profiles.profile import UNKNOWN, EndpointProfile, StatusMeaning
from kgsparql.graphs.profiles.reading import ProfileFile, read_profiles
from kgsparql.graphs.profiles.values import DATA, ENGINE, KGS, PROPERTIES, STATUS, STATUS_PROPERTIES
from kgsparql.rdf.terms import IRI
from kgsparql.rdf.vocabulary import UNWALKED
from tests.conftest import ROOT

SHIPPED = ROOT / "ontologies" / "endpoints.ttl"
RDFS_LABEL = IRI("http://www.w3.org/2000/01/rdf-schema#label")
PREFIXES = """@prefix kgs: <https://w3id.org/kgsparql#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
"""
OURS = PREFIXES + (
    '<#ours> a kgs:EndpointProfile ; rdfs:label "Ours" ; kgs:alias "ours" ; kgs:engine kgs:virtuoso ;\n'
    "  sd:endpoint <https://sparql.example.org/query> ; kgs:chunkSize 50 .\n"
)


@pytest.fixture(autouse=True)
def _no_files_of_a_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(PROFILES_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a user keeps profiles."""
    path = tmp_path / "mine.ttl"
    monkeypatch.setenv(PROFILES_VARIABLE, str(path))
    return path


def read(text: str, tmp_path: Path) -> tuple[EndpointProfile, ...]:
    path = tmp_path / "profiles.ttl"
    path.write_text(text, encoding="utf-8")
    return read_profiles([ProfileFile(str(path), path)])


@pytest.mark.parametrize(
    ("alias", "url", "engine"),
    [
        ("wikidata", "https://query.wikidata.org/sparql", "Blazegraph"),
        ("wikidata-scholarly", "https://query-scholarly.wikidata.org/sparql", "Blazegraph"),
        ("wikidata-qlever", "https://qlever.dev/api/wikidata", "QLever"),
        ("dbpedia", "https://dbpedia.org/sparql", "Virtuoso"),
        ("dblp", "https://sparql.dblp.org/sparql", "QLever"),
        ("semopenalex", "https://semopenalex.org/sparql", "GraphDB"),
        ("ubergraph", "https://ubergraph.apps.renci.org/sparql", "Blazegraph"),
        ("uniprot", "https://sparql.uniprot.org/sparql", ""),
    ],
)
def test_an_alias_opens_its_service(alias: str, url: str, engine: str) -> None:
    graph = open_graph(alias)
    assert isinstance(graph, EndpointGraph)
    assert (graph.name, graph.url, graph.profile.engine) == (alias, url, engine)
    assert graph.profile.is_public
    assert graph.profile.concurrency == 1
    by_url = open_graph(url)
    assert isinstance(by_url, EndpointGraph)
    assert (by_url.name, by_url.profile) == (url, known_endpoints().at(url))


def test_every_alias_is_tried_above() -> None:
    assert set(known_endpoints().aliases) == {
        "dblp", "dbpedia", "semopenalex", "ubergraph", "uniprot", "wikidata", "wikidata-qlever", "wikidata-scholarly",
    }  # fmt: skip


def test_wikidata_is_as_its_operators_say() -> None:
    wikidata = known_endpoints().named("wikidata")
    assert wikidata is not None
    assert (wikidata.timeout_s, wikidata.query_seconds, wikidata.burst_seconds) == (60, 60, 120)
    assert (wikidata.errors_per_minute, wikidata.needs_contact) == (30, True)
    assert (wikidata.has_union, wikidata.has_named_graphs, wikidata.external_ids) == (True, False, True)
    assert (wikidata.text_search, wikidata.search_host) == ("wikibase:mwapi", "www.wikidata.org")
    assert wikidata.degree_predicate == IRI("http://wikiba.se/ontology#sitelinks")
    assert wikidata.type_predicates == (IRI("http://www.wikidata.org/prop/direct/P31"),)
    assert wikidata.label_predicates == (RDFS_LABEL,)
    assert IRI("http://wikiba.se/ontology#directClaim") in wikidata.predicate_label_links
    assert wikidata.elsewhere == ("wikidata-scholarly: scholarly articles",)


def test_a_service_takes_over_what_its_engine_has_and_keeps_its_own() -> None:
    known = known_endpoints()
    virtuoso, dbpedia, scholarly = known.by_name("Virtuoso"), known.named("dbpedia"), known.named("wikidata-scholarly")
    assert virtuoso is not None
    assert dbpedia is not None
    assert scholarly is not None
    assert (dbpedia.max_solutions, dbpedia.text_search) == (10_000, "bif:contains")
    assert StatusMeaning(status=405, means="throttled") in dbpedia.statuses
    assert set(virtuoso.statuses) < set(dbpedia.statuses)
    assert StatusMeaning(status=405, means="throttled") not in virtuoso.statuses
    assert (scholarly.needs_contact, scholarly.query_seconds, scholarly.aliases) == (True, 60, ("wikidata-scholarly",))
    assert scholarly.urls == ("https://query-scholarly.wikidata.org/sparql",)


def test_E12_E13_what_a_status_means_is_in_the_profile() -> None:
    qlever = known_endpoints().by_name("QLever")
    assert qlever is not None
    assert qlever.statuses == (StatusMeaning(status=429, means="out of time", says="timed out"),)


def test_every_engine_of_the_list_has_a_profile() -> None:
    engines = {profile.name for profile in known_endpoints().profiles if not profile.urls}
    assert engines == {
        "Amazon Neptune", "Apache Jena Fuseki", "Blazegraph", "Eclipse RDF4J", "GraphDB", "Oxigraph", "QLever",
        "Stardog", "Virtuoso", "rdflib-endpoint",
    }  # fmt: skip


def test_every_profile_that_is_shipped_says_where_it_is_from() -> None:
    graph = rdflib.Graph().parse(SHIPPED)
    source = rdflib.URIRef("http://purl.org/dc/terms/source")
    profiles = set(graph.subjects(rdflib.RDF.type, rdflib.URIRef(KGS + "EndpointProfile")))
    assert len(profiles) == len(known_endpoints().profiles)
    without = {str(profile) for profile in profiles if (profile, source, None) not in graph}
    assert without == {KGS + "stardog"}, "of which nothing is said"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://dbpedia.org/sparql", "DBpedia"),
        ("https://DBpedia.org:443/sparql/", "DBpedia"),
        ("https://me:secret@dbpedia.org/sparql", "DBpedia"),
        ("https://dbpedia.org/other", UNKNOWN.name),
        ("https://query.wikidata.org/bigdata/namespace/wdq/sparql", "Wikidata Query Service, main graph"),
        ("https://dbpedia.org/sparql?default-graph-uri=http://dbpedia.org", "DBpedia"),
        ("https://dbpedia.org:443/sparql", "DBpedia"),
        ("https://another.wikidata.org/sparql", "Wikidata Query Service, main graph"),
        ("https://query.wikidata.org:443/bigdata/sparql", "Wikidata Query Service, main graph"),
        ("https://query.wikidata.org./sparql", "Wikidata Query Service, main graph"),
        ("https://query.wikidata.org?x=1", "Wikidata Query Service, main graph"),
        ("http://QUERY.wikidata.org/", "Wikidata Query Service, main graph"),
        ("https://query-scholarly.wikidata.org/bigdata/sparql", "Wikidata Query Service, scholarly graph"),
        ("https://mirror.example.org/?from=query.wikidata.org/sparql", UNKNOWN.name),
        ("https://mirror.example.org/query.wikidata.org/sparql", UNKNOWN.name),
        ("https://notwikidata.org/sparql", UNKNOWN.name),
        ("https://qlever.dev/api/osm-planet", UNKNOWN.name),
        ("http://localhost:3030/ds/sparql", UNKNOWN.name),
    ],
)
def test_a_url_has_the_profile_of_its_service(url: str, name: str) -> None:
    assert known_endpoints().at(url).name == name


@pytest.mark.parametrize(
    "url",
    [
        "https://fr.dbpedia.org/sparql", "https://qlever.dev/api/osm-planet", "http://sparql.example.org:8890/sparql",
        "http://93.184.216.34/sparql", "https://[2606:4700::1111]/sparql", "https://mirror.example.org/?a=localhost",
    ],
)  # fmt: skip
def test_who_is_not_known_is_asked_as_if_many_did_if_anybody_may(url: str) -> None:
    graph = open_graph(url)
    assert isinstance(graph, EndpointGraph)
    assert (graph.profile.name, graph.profile.is_public, graph.profile.concurrency) == (UNKNOWN.name, True, 1)
    assert graph.profile.keep_s == 300
    assert 0 < graph.profile.pause_s < 1
    assert not graph.profile.has_many_labels, "nobody said so: they are counted first"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:3030/ds", "http://127.0.0.1:3030/ds", "http://[::1]:3030/ds", "http://fuseki:3030/ds",
        "http://10.1.2.3/sparql", "http://192.168.0.7/sparql", "http://[fe80::1]/sparql", "http://sparql.example.local/",
        "http://graphs.corp.internal/sparql", "http://nas.lan/sparql", "https://me:secret@sparql.example.org/query",
        "https://sparql.example.org/query?apikey=1234",
    ],
)  # fmt: skip
def test_who_is_of_a_private_network_or_wants_credentials_is_not(url: str) -> None:
    assert known_endpoints().at(url) is UNKNOWN


def test_a_profile_of_a_user_says_how_public_a_service_is(file: Path) -> None:
    file.write_text(OURS)
    ours = known_endpoints().named("ours")
    assert ours is not None
    assert (ours.is_public, ours.concurrency, ours.keep_s, ours.max_solutions) == (True, 1, 300, 10_000)
    file.write_text(OURS.replace("50 .", "50 ; kgs:concurrency 4 ; kgs:keepSeconds 0 ; kgs:pauseSeconds 0 ."))
    os.utime(file, ns=(1, 1))
    ours = known_endpoints().named("ours")
    assert ours is not None
    assert (ours.is_public, ours.concurrency, ours.keep_s, ours.pause_s) == (True, 4, 0, 0)
    file.write_text(OURS.replace("50 .", "50 ; kgs:isPublic false ."))
    os.utime(file, ns=(2, 2))
    ours = known_endpoints().at("https://sparql.example.org/query")
    assert (ours.is_public, ours.concurrency, ours.keep_s, ours.pause_s) == (False, UNKNOWN.concurrency, 0, 0)


def test_a_query_has_the_time_that_the_profile_gives_it() -> None:
    wikidata, unknown = open_graph("wikidata"), open_graph("http://localhost:3030/ds")
    assert isinstance(wikidata, EndpointGraph)
    assert isinstance(unknown, EndpointGraph)
    assert (wikidata.timeout_s, unknown.timeout_s) == (62, 30)
    assert EndpointGraph("http://e.org/", profile=wikidata.profile, timeout_s=5).timeout_s == 5


def test_what_is_shipped_has_the_shape_that_is_promised() -> None:
    pyshacl = pytest.importorskip("pyshacl")
    shapes = rdflib.Graph().parse(ROOT / "ontologies" / "shapes.ttl")
    text = SHIPPED.read_text(encoding="utf-8")
    assert pyshacl.validate(rdflib.Graph().parse(data=text, format="turtle"), shacl_graph=shapes)[0]
    for right, wrong in (
        ("kgs:concurrency 1", "kgs:concurrency 0"),
        ('kgs:alias "dbpedia"', 'kgs:alias "DB pedia"'),
        ('kgs:means "throttled"', 'kgs:means "busy"'),
        ("( rdfs:label )", '( "label" )'),
    ):
        spoiled = rdflib.Graph().parse(data=text.replace(right, wrong), format="turtle")
        assert right in text
        assert not pyshacl.validate(spoiled, shacl_graph=shapes)[0], wrong


def test_every_property_is_in_the_vocabulary_and_fills_a_field() -> None:
    declared = {str(quad.subject.value) for quad in pyoxigraph.parse(path=str(ROOT / "ontologies" / "kgsparql.ttl"))}
    ours = {name for name in (*PROPERTIES, *STATUS_PROPERTIES, ENGINE, DATA, STATUS) if name.startswith(KGS)}
    assert ours <= declared
    filled = {prop.field for prop in PROPERTIES.values()} - {"endpoint", "also_at"}
    assert filled | {"urls", "engine", "statuses"} == {field.name for field in fields(EndpointProfile)}


def test_a_path_is_never_an_alias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert names_endpoint("Wikidata")
    for source in ("./wikidata", "wikidata.ttl", "wikidata/", Path("wikidata"), "data", "-"):
        assert not names_endpoint([source])
    graph = open_graph(" Wikidata ")
    assert graph.name == "wikidata"


def test_an_alias_that_is_a_directory_too_is_not_guessed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbpedia").mkdir()
    (tmp_path / "dbpedia" / "a.ttl").write_text("<a:a> <a:b> <a:c> .")
    with pytest.raises(InputError, match="a directory here, and a known endpoint") as caught:
        open_graph("dbpedia")
    assert caught.value.hint == "-k ./dbpedia is the one here, -k https://dbpedia.org/sparql the other"
    assert not open_graph("./dbpedia").is_remote


def test_a_name_that_is_nothing_says_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="dpedia: no such file or directory") as caught:
        open_graph("dpedia")
    assert caught.value.hint.startswith("check the path; known endpoints: dblp, dbpedia, ")
    with pytest.raises(InputError) as caught:
        open_graph("dpedia.ttl")
    assert caught.value.hint == "check the path"


def test_options_of_files_are_refused_with_an_alias() -> None:
    with pytest.raises(InputError, match="options of files"):
        open_graph("dbpedia", base="http://example.org/")


def test_no_profile_is_read_for_a_file(tmp_path: Path) -> None:
    data = tmp_path / "a.ttl"
    data.write_text("<a:a> <a:b> <a:c> .")
    program = (
        "from kgsparql.graphs import open_graph; import kgsparql.graphs.profiles.catalogue as k\n"
        f"open_graph({str(data)!r}); print(k._known_endpoints.cache_info().misses)\n"
        "open_graph('dbpedia'); print(k._known_endpoints.cache_info().misses)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]


def test_a_profile_of_a_user_opens_by_its_alias(file: Path) -> None:
    file.write_text(OURS)
    graph = open_graph("ours")
    assert isinstance(graph, EndpointGraph)
    assert (graph.name, graph.url, graph.profile.name) == ("ours", "https://sparql.example.org/query", "Ours")
    assert (graph.chunk_size, graph.profile.engine, graph.profile.max_solutions) == (50, "Virtuoso", 10_000)
    assert "ours" in known_endpoints().aliases


def test_a_file_that_changes_is_read_again(file: Path) -> None:
    file.write_text(OURS)
    assert endpoint_named("ours") is not None
    file.write_text(OURS.replace('"ours"', '"theirs"'))
    os.utime(file, ns=(1, 1))
    assert endpoint_named("ours") is None
    assert endpoint_named("theirs") is not None


def test_a_user_changes_one_value_of_ours(file: Path) -> None:
    before = known_endpoints().named("wikidata") if file.exists() else None
    assert before is None
    file.write_text(PREFIXES + "kgs:wikidata a kgs:EndpointProfile ; kgs:pauseSeconds 2 ; kgs:concurrency 3 .")
    changed = known_endpoints().named("wikidata")
    assert changed is not None
    assert (changed.pause_s, changed.concurrency, changed.timeout_s, changed.engine) == (2, 3, 60, "Blazegraph")
    scholarly = known_endpoints().named("wikidata-scholarly")
    assert scholarly is not None
    assert scholarly.pause_s == 2, "it takes over the values of the other"


def test_a_profile_of_a_user_goes_before_ours(file: Path) -> None:
    file.write_text(
        PREFIXES + '[] a kgs:EndpointProfile ; kgs:alias "dbpedia" ; sd:endpoint <https://dbpedia.org/sparql> ;'
        " kgs:engine kgs:dbpedia ; kgs:maxSolutions 500 ."
    )
    for found in (known_endpoints().named("dbpedia"), known_endpoints().at("https://dbpedia.org/sparql")):
        assert found is not None
        assert (found.max_solutions, found.text_search, found.engine) == (500, "bif:contains", "Virtuoso")


def test_the_file_in_the_configuration_directory_comes_after_the_named_one(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "config" / "kgsparql" / "endpoints.ttl"
    kept.parent.mkdir(parents=True)
    kept.write_text(OURS.replace("50", "70"))
    file.write_text(OURS)
    assert [p.chunk_size for p in known_endpoints().profiles if p.aliases == ("ours",)] == [50, 70]
    monkeypatch.delenv(PROFILES_VARIABLE)
    found = known_endpoints().named("ours")
    assert found is not None
    assert found.chunk_size == 70


def test_the_same_data_elsewhere_has_the_same_labels_and_the_same_noise() -> None:
    known = known_endpoints()
    wikidata, other = known.named("wikidata"), known.named("wikidata-qlever")
    assert wikidata is not None
    assert other is not None
    for name in ("noise", "label_predicates", "predicate_label_links", "type_predicates", "degree_predicate"):
        assert getattr(other, name) == getattr(wikidata, name) != getattr(UNKNOWN, name)
    assert (other.external_ids, other.has_many_labels) == (True, True)
    assert (other.text_search, other.needs_contact, other.query_seconds) == ("none", False, None)


def test_no_noise_of_a_profile_is_noise_anywhere() -> None:
    for profile in known_endpoints().profiles:
        assert not {term for term in profile.noise if term in UNWALKED or IgnoredPredicates().drops(term)}, profile.name


def test_a_list_keeps_its_order_and_sets_add_up(tmp_path: Path) -> None:
    text = PREFIXES + (
        "<#e> a kgs:EndpointProfile ; kgs:noise <a:b> ; kgs:labelPredicates ( <a:z> ) .\n"
        "<#s> a kgs:EndpointProfile ; sd:endpoint <http://e.org/sparql> ; kgs:engine <#e> ; kgs:noise <a:a> ;\n"
        "  kgs:alsoAt <http://b.org/> , <http://a.org/> ; kgs:labelPredicates ( <a:c> <a:a> <a:b> <a:a> ) .\n"
        "[] a kgs:EndpointProfile ; kgs:engine <#e> ; sd:endpoint <http://f.org/> ."
    )
    by_url = {profile.urls[:1]: profile for profile in read(text, tmp_path)}
    service, other = by_url["http://e.org/sparql",], by_url["http://f.org/",]
    assert [p.value for p in service.label_predicates] == ["a:c", "a:a", "a:b", "a:a"]
    assert [p.value for p in other.label_predicates] == ["a:z"]
    assert service.urls == ("http://e.org/sparql", "http://a.org/", "http://b.org/")
    assert {p.value for p in service.noise} == {"a:a", "a:b"}
    assert (service.name, service.chunk_size) == ("http://e.org/sparql", UNKNOWN.chunk_size)


HEAD = PREFIXES + "\n<#a> a kgs:EndpointProfile ;\n  sd:endpoint <http://e.org/sparql> ;\n"


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("kgs:chunkSiz 100", "no property kgs:chunkSiz of a profile", "did you mean kgs:chunkSize?"),
        ("kgs:chunkSize 0", "kgs:chunkSize '0': not a whole number above 0, without quotes", ""),
        ('kgs:chunkSize "100"', "kgs:chunkSize '100': not a whole number above 0, without quotes", ""),
        ("kgs:pauseSeconds -1", "kgs:pauseSeconds '-1': not a number of at least 0, without quotes", ""),
        ('kgs:hasUnion "true"', "kgs:hasUnion 'true': not true or false, without quotes", ""),
        ('kgs:textSearch "lucene"', "kgs:textSearch 'lucene': not one of none, bif:contains, ", ""),
        ('kgs:textSearch "wikibase:mwapi"', "kgs:textSearch of A: no wiki is named", 'kgs:searchHost "www.'),
        ('kgs:avoid "paths"', "no property kgs:avoid of a profile", ""),
        ('kgs:host "https://e.org/"', "kgs:host 'https://e.org/': not the name of a host", ""),
        ('kgs:alias "Our own"', "kgs:alias 'Our own': not small letters, digits", ""),
        ("kgs:alsoAt <file:///etc/passwd>", "kgs:alsoAt 'file:///etc/passwd': not the URL of an endpoint", ""),
        ("kgs:alsoAt <https://me:secret@e.org/>", "not a URL without user, password and keys", ""),
        ("kgs:noise 5", "kgs:noise '5': not an IRI", ""),
        ('kgs:labelPredicates ( rdfs:label "x" )', "kgs:labelPredicates 'x': not an IRI", ""),
        ("kgs:chunkSize 5, 6", "kgs:chunkSize has one value, not 5 and 6", ""),
        ('kgs:elsewhere "somewhere"', 'not an alias and what is there: "alias: what it holds"', ""),
        ("kgs:engine kgs:virtuso", "kgs:engine kgs:virtuso: no such profile", "one of kgs:blazegraph, "),
        ("kgs:engine <#a>", "leads back to where it came from", ""),
        ("kgs:sameDataAs kgs:wikidat", "kgs:sameDataAs kgs:wikidat: no such profile", "one of kgs:blazegraph, "),
        ('kgs:engine "virtuoso"', "kgs:engine: not the IRI of one profile", ""),
        ("kgs:statusMeaning [ kgs:httpStatus 429 ]", "kgs:statusMeaning: needs kgs:httpStatus and kgs:means", ""),
        ('kgs:statusMeaning [ kgs:httpStatus 429 ; kgs:means "busy" ]', "kgs:means 'busy': not one of throttled, ", ""),
        ('kgs:statusMeaning [ kgs:code 429 ; kgs:means "throttled" ]', "no property kgs:code of a status", ""),
    ],
)
def test_what_no_profile_can_say_is_an_error_with_its_line(file: Path, said: str, message: str, hint: str) -> None:
    file.write_text(f'{HEAD}  {said} ;\n  rdfs:label "A" .\n')
    with pytest.raises(GraphLoadError) as caught:
        known_endpoints()
    assert caught.value.message.startswith(f"{file}:7: "), caught.value.message
    assert message in caught.value.message
    assert "secret@" not in caught.value.message
    assert hint in caught.value.hint
    assert (caught.value.code, caught.value.exit_code) == ("E_PROFILE", 4)


def test_the_wiki_that_is_searched_may_be_named_by_the_engine_or_another_file(file: Path) -> None:
    wiki = '<#wiki> a kgs:EndpointProfile ; rdfs:label "Wiki" ; kgs:textSearch "wikibase:mwapi" .\n'
    file.write_text(f'{HEAD}  kgs:engine <#wiki> ; kgs:searchHost "w.e.org" .\n{wiki}')
    assert known_endpoints().at("http://e.org/sparql").search_host == "w.e.org"
    file.write_text(f"{HEAD}  kgs:engine kgs:wikidata .\n")
    assert known_endpoints().at("http://e.org/sparql").search_host == "www.wikidata.org"
    file.write_text(f"{HEAD}  kgs:engine <#wiki> .\n{wiki}")
    with pytest.raises(GraphLoadError, match=r"mine\.ttl:8: kgs:textSearch of .*no wiki is named"):
        known_endpoints()


def test_what_is_not_turtle_is_an_error_with_its_line(file: Path) -> None:
    file.write_text(f"{HEAD}  kgs:chunkSize .\n")
    with pytest.raises(GraphLoadError, match=r"mine\.ttl:7:"):
        open_graph("ours")
    file.write_bytes(b"\xef\xbb\xbf" + f"{HEAD}  kgs:chunkSize 0 .\n".encode())
    with pytest.raises(GraphLoadError, match=r"mine\.ttl:7: kgs:chunkSize"):
        open_graph("https://e.org/sparql")


def test_a_file_without_a_profile_and_no_file_are_errors(file: Path) -> None:
    with pytest.raises(InputError, match=f"{PROFILES_VARIABLE}: no file"):
        known_endpoints()
    file.write_text(PREFIXES + '<#a> kgs:alias "a" .')
    with pytest.raises(GraphLoadError, match="nothing in it is a kgs:EndpointProfile"):
        known_endpoints()
    data = file.with_name("data.ttl")
    data.write_text("<a:a> <a:b> <a:c> .")
    assert not open_graph(str(data)).is_remote, "a file needs no profile"


PAGE = ROOT / "docs" / "endpoints.md"


def test_the_profile_that_the_docs_show_is_one(file: Path) -> None:
    (text,) = re.findall(r"```turtle\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file.write_text(text)
    shown = known_endpoints().named("ours")
    assert shown is not None
    assert (shown.engine, shown.chunk_size, shown.text_search, shown.has_union) == ("GraphDB", 50, "graphdb", True)


def test_the_docs_name_every_alias() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [alias for alias in known_endpoints().aliases if f"`{alias}`" not in text.replace("`-k ", "`")] == []
