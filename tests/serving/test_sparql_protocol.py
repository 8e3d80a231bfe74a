"""The SPARQL endpoint that kgsparql serves, asked over HTTP by real clients, by careless ones and by hostile ones."""

import csv
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyoxigraph
import pytest
import rdflib
import urllib3
from rdflib import RDF, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from SPARQLWrapper import CSV, JSON, POST, TURTLE, XML, SPARQLWrapper

import kgsparql
from tests.model_server import ModelServer
from tests.scripted import reading_with
from tests.serving.conftest import served
from tests.serving.sparql_server import SparqlServer, sparql_server
from tests.tried import strong
from tests.world import NOBEL, ROOT

PEOPLE = ROOT / "fixtures" / "queries" / "people.ttl"
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
COUNT = "SELECT (COUNT(*) AS ?n) { ?s a <http://dbpedia.org/ontology/Person> }"
CONSTRUCT = "CONSTRUCT { ?s a ?c } WHERE { ?s a ?c . ?s a <http://dbpedia.org/ontology/Person> }"
FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
TOKEN = "a-token-of-the-tests"  # noqa: S105


@pytest.fixture(scope="module")
def server() -> Iterator[SparqlServer]:
    with sparql_server(kgsparql.open(NOBEL, embedder="none")) as served:
        yield served


@pytest.fixture(scope="module")
def hurried() -> Iterator[SparqlServer]:
    """One query at a time, one that waits, 1.5 s each, 5 solutions."""
    knowledge = kgsparql.open(NOBEL, embedder="none")
    with sparql_server(knowledge, at_once=1, waiting=1, timeout_s=1.5, max_rows=5) as served:
        assert served.ask("ASK {}").status == 200  # the graph is loaded
        yield served


def number(body: bytes) -> int:
    return int(json.loads(body)["results"]["bindings"][0]["n"]["value"])


def test_rdflib_asks_the_endpoint_as_it_would_ask_the_file(server: SparqlServer) -> None:
    file = rdflib.Graph().parse(NOBEL)
    remote = rdflib.Graph(SPARQLStore(server.url))
    ordered = "SELECT ?s ?label { ?s a dbo:Scientist ; rdfs:label ?label } ORDER BY ?s ?label"
    names = {"dbo": "http://dbpedia.org/ontology/", "rdfs": str(rdflib.RDFS)}
    assert list(remote.query(ordered, initNs=names)) == list(file.query(ordered, initNs=names)) != []
    assert remote.query("ASK { ?s ?p 'no such thing' }").askAnswer is False
    assert set(remote.query(CONSTRUCT).graph) == set(file.query(CONSTRUCT).graph)
    marie = rdflib.URIRef("http://dbpedia.org/resource/Marie_Curie")
    assert set(remote.triples((marie, None, None))) == set(file.triples((marie, None, None)))


def test_sparqlwrapper_gets_each_format_by_get_and_post(server: SparqlServer) -> None:
    client = SPARQLWrapper(server.url)
    for method in ("GET", POST):
        client.setMethod(method)
        client.setQuery(COUNT)
        client.setReturnFormat(JSON)
        assert client.queryAndConvert()["results"]["bindings"][0]["n"]["value"] == "124"
        client.setReturnFormat(XML)
        assert "124" in client.queryAndConvert().toxml()
        client.setReturnFormat(CSV)
        assert list(csv.reader(io.StringIO(client.queryAndConvert().decode()))) == [["n"], ["124"]]
    client.setQuery(CONSTRUCT)
    client.setReturnFormat(TURTLE)
    triples = rdflib.Graph().parse(data=client.queryAndConvert(), format="turtle")
    assert set(triples) == set(rdflib.Graph().parse(NOBEL).query(CONSTRUCT).graph)


def test_kgsparql_answers_over_the_endpoint_as_over_the_file(server: SparqlServer) -> None:
    near, far = (
        kgsparql.open(source, embedder="none").ask("How many Nobel laureates are there?", retriever="query_plan")
        for source in (NOBEL, server.url)
    )
    assert near.answers
    with sparql_server(kgsparql.open(server.url, embedder="none")) as second:  # an endpoint before another
        assert number(second.ask(COUNT).body) == 124
        assert second.ask("SELECT * { ?s").status == 400
    assert [a.term for a in far.answers] == [a.term for a in near.answers]
    assert far.text == near.text


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")  # of its own parsers
def test_a_result_is_written_as_the_client_likes_it_and_triples_are_alike_in_each_format(server: SparqlServer) -> None:
    for accept, media_type in {
        "": "application/sparql-results+json", "application/json": "application/sparql-results+json",
        "text/csv;q=0.5, text/tab-separated-values;q=0.6": "text/tab-separated-values; charset=utf-8",
        "application/sparql-results+json;q=0, */*": "text/csv; charset=utf-8",
        "text/html, text/turtle": "", "text/csv;q=much": "",
    }.items():  # fmt: skip
        reply = server.ask(COUNT, accept)
        if media_type:
            assert (reply.status, reply.headers["content-type"]) == (200, media_type)
            assert reply.headers["vary"] == "Accept"
        else:
            assert (reply.status, "application/sparql-results+json" in reply.text) == (406, True)
    query = "DESCRIBE <http://dbpedia.org/resource/Marie_Curie>"
    expected = set(rdflib.Graph().parse(data=server.ask(query, "application/n-triples").text, format="nt"))
    for media_type, form in {
        "text/turtle": "turtle", "application/trig": "trig", "application/ld+json": "json-ld",
        "application/rdf+xml": "xml",
    }.items():  # fmt: skip
        reply = server.ask(query, media_type)
        assert reply.headers["content-type"].startswith(media_type)
        read = rdflib.Dataset()
        read.parse(data=reply.text, format=form)
        assert {(s, p, o) for s, p, o, _ in read.quads()} == expected != set()


def posted(body: str | bytes, kind: str = FORM, target: str = "/sparql") -> tuple[str, str, bytes, str]:
    return "POST", target, body if isinstance(body, bytes) else body.encode(), kind


W3C = [  # the cases of the protocol's test suite that a read-only endpoint over one dataset can have
    ("query via GET", ("GET", "/sparql?query=ASK%20%7B%7D", b"", ""), 200),
    ("query via POST of a form", posted("query=ASK%20%7B%7D"), 200),
    ("query via POST directly", posted("ASK {}", QUERY), 200),
    ("a form with a character set", posted("query=ASK%20%7B%7D", FORM + "; charset=UTF-8"), 200),
    ("more than one query", ("GET", "/sparql?query=ASK%20%7B%7D&query=ASK%20%7B%7D", b"", ""), 400),
    ("a query in the body and in the URL", posted("ASK {}", QUERY, "/sparql?query=ASK%20%7B%7D"), 400),
    ("a POST without a type", posted("query=ASK%20%7B%7D", ""), 415),
    ("a POST of another type", posted("ASK {}", "text/plain"), 415),
    ("a query that is not UTF-8", posted("ASK { ?s ?p 'é' }".encode("utf-16"), QUERY), 400),
    ("a form that is not UTF-8", posted("query=%E9"), 400),
    ("no query", posted("something=else"), 400),
    ("no query beside another parameter", ("GET", "/sparql?a=1", b"", ""), 400),
    ("an empty query", ("GET", "/sparql?query=", b"", ""), 400),
    ("a wrong query", posted("ASK {", QUERY), 400),
    ("a method that is none", ("PUT", "/sparql?query=ASK%20%7B%7D", b"", ""), 405),
    ("DELETE", ("DELETE", "/sparql", b"", ""), 405),
    ("a default graph", ("GET", "/sparql?query=ASK%20%7B%7D&default-graph-uri=http%3A%2F%2Fe.org", b"", ""), 400),
    ("a named graph", posted("query=ASK%20%7B%7D&named-graph-uri=http%3A%2F%2Fe.org"), 400),
    ("a graph of updates", ("GET", "/sparql?query=ASK%20%7B%7D&using-graph-uri=http%3A%2F%2Fe.org", b"", ""), 400),
    ("a named one", posted("query=ASK%20%7B%7D&using-named-graph-uri=http%3A%2F%2Fe.org"), 400),
    ("a default graph beside a body", posted("ASK {}", QUERY, "/sparql?default-graph-uri=http%3A%2F%2Fe.org"), 400),
    ("an update via GET", ("GET", "/sparql?update=CLEAR%20ALL", b"", ""), 403),
    ("an update via POST of a form", posted("update=CLEAR%20ALL"), 403),
    ("an update via POST directly", posted("CLEAR ALL", "application/sparql-update"), 403),
    ("an update as a query", posted("INSERT DATA { <a:a> <a:b> 1 }", QUERY), 403),
    ("too many parameters", posted("&".join(f"a{i}=1" for i in range(200))), 400),
]


def test_the_protocol(server: SparqlServer) -> None:
    for name, (method, target, body, kind), status in W3C:
        reply = server.send(method, target, body, **({"Content_Type": kind} if kind else {}))
        assert reply.status == status, f"{name}: {reply.text}"
        if status == 200:
            assert json.loads(reply.body)["boolean"] is True, name
        else:
            assert reply.headers["content-type"] == "text/plain; charset=utf-8", name
            assert reply.text.strip(), name


def test_U09_what_is_not_run_is_said_with_its_place_and_a_body_of_ten_MB_is_refused(server: SparqlServer) -> None:
    for query, status, said in (
        ("SELECT * {\n  ?s ?p ?o\n  ?x }", 400, "line 3:7: '?x }' cannot be read"),
        ("SELECT * { ?s nosuch:p ?o }", 400, "line 1:15: the prefix nosuch: is not declared"),
        ("SELECT * { S\\u0045RVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", 403, "SERVICE"),
        ("SELECT * FROM <http://e.org/> { ?s ?p ?o }", 403, "FROM is not run here"),
        ("ASK { FILTER(" + "(" * 5_000 + "1" + ")" * 5_000 + ") }", 400, ""),
    ):
        reply = server.send("POST", "/sparql", query.encode(), Content_Type=QUERY)
        assert (reply.status, said in reply.text) == (status, True), reply.text
        assert number(server.ask(COUNT).body) == 124
    for kind in (FORM, QUERY):
        assert server.send("POST", "/sparql", b"query=" + b"#" * 10_000_000, Content_Type=kind).status == 413
    assert server.send("POST", "/sparql", b"#" * 2_000_000, Content_Type=QUERY).status == 413  # read, and too long
    assert number(server.ask(COUNT).body) == 124


def test_twenty_clients_at_once_are_all_answered_and_so_is_head(server: SparqlServer) -> None:
    with ThreadPoolExecutor(20) as clients:
        replies = list(clients.map(lambda _: server.ask(COUNT), range(100)))
    assert [(reply.status, number(reply.body)) for reply in replies] == [(200, 124)] * 100
    got, head = server.ask(COUNT), server.ask(COUNT, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"] == str(len(got.body))


def test_an_endless_query_is_killed_at_its_limit_and_the_next_is_answered(hurried: SparqlServer) -> None:
    began = time.monotonic()
    reply = hurried.ask(ENDLESS)
    assert reply.status == 504
    assert "stopped after 1.5 s" in reply.text
    assert "--max-seconds" not in reply.text
    assert time.monotonic() - began < 4
    assert number(hurried.ask(COUNT).body) == 124


def test_U10_too_many_at_once_are_told_to_come_back(hurried: SparqlServer) -> None:
    with ThreadPoolExecutor(6) as clients:
        replies = list(clients.map(lambda _: hurried.ask(ENDLESS), range(6)))
    statuses = [reply.status for reply in replies]
    assert set(statuses) <= {503, 504}
    assert statuses.count(503) >= 4
    assert all(int(reply.headers["retry-after"]) > 0 for reply in replies if reply.status == 503)
    assert number(hurried.ask(COUNT).body) == 124


def test_U11_a_client_that_goes_away_kills_its_query() -> None:
    with sparql_server(kgsparql.open(NOBEL, embedder="none"), at_once=1, timeout_s=60) as served:
        assert served.ask("ASK {}").status == 200
        connection = served.connection()
        connection.request("GET", "/sparql?" + urlencode({"query": ENDLESS}))
        time.sleep(0.5)
        connection.close()
        began = time.monotonic()
        assert number(served.ask(COUNT).body) == 124
        assert time.monotonic() - began < 5, "it waited for the query of who went away"


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")  # of its own parsers
def test_a_cut_result_says_so_in_its_headers_and_where_there_is_room_in_its_body(hurried: SparqlServer) -> None:
    for media_type, start in (
        ("application/sparql-results+json", b'{"incomplete":"solutions: at most 5 taken'),
        ("application/sparql-results+xml", b'<?xml version="1.0"?><!-- incomplete: solutions: at most 5 taken'),
        ("text/csv", b"s"),
        ("text/tab-separated-values", b"?s"),
    ):
        reply = hurried.ask("SELECT ?s { ?s ?p ?o }", media_type)
        assert reply.headers["x-sparql-maxrows"] == "5"
        assert "at most 5 taken" in reply.headers["x-kgsparql-cut"]
        assert reply.body.startswith(start)
    for media_type, form in (("text/turtle", "turtle"), ("application/rdf+xml", "xml"), ("application/trig", "trig")):
        reply = hurried.ask(CONSTRUCT, media_type)
        assert "incomplete: triples: at most 5 taken" in reply.text
        assert len(rdflib.Dataset().parse(data=reply.text, format=form)) == 5
    json_ = hurried.ask("SELECT ?s { ?s ?p ?o }", "application/json").body
    assert len(list(pyoxigraph.parse_query_results(json_, format=pyoxigraph.QueryResultsFormat.JSON))) == 5
    remote = kgsparql.open(hurried.url, embedder="none").graph
    assert "stopped at 5 solutions" in remote.select(kgsparql.Query.load("index_predicates")).cut
    whole = hurried.ask("SELECT ?s { ?s ?p ?o } LIMIT 5")
    assert "x-kgsparql-cut" not in whole.headers
    assert b"incomplete" not in whole.body


def test_labels_are_data_in_every_format_and_what_xml_cannot_hold_is_not_written_as_xml(tmp_path: Path) -> None:
    label = "</literal><script>alert(1)</script> ]]> \u202e \"'&"
    a, odd = pyoxigraph.NamedNode("http://e.org/a"), pyoxigraph.NamedNode("http://e.org/1")
    store = pyoxigraph.Store()
    store.extend([
        pyoxigraph.Quad(a, pyoxigraph.NamedNode("http://e.org/p"), pyoxigraph.Literal(label)),
        pyoxigraph.Quad(a, odd, pyoxigraph.Literal("bell \u0007")),
    ])  # fmt: skip
    with sparql_server(kgsparql.open(store, embedder="none")) as served:
        for kind in ("json", "xml"):
            reply = served.ask("SELECT ?o { ?s <http://e.org/p> ?o }", f"application/sparql-results+{kind}")
            (row,) = rdflib.query.Result.parse(io.BytesIO(reply.body), format=kind)
            assert str(row[0]) == label
            assert reply.headers["x-content-type-options"] == "nosniff"
        for query, accept in (
            ("SELECT * { ?s ?p ?o }", "application/sparql-results+xml"),
            ("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", "application/rdf+xml"),
            ("CONSTRUCT { ?s ?p 1 } { ?s ?p ?o }", "application/rdf+xml"),
        ):
            reply = served.ask(query, accept)
            assert reply.status == 406, reply.text
            assert served.ask(query, accept + ";q=.1, application/json").status == 200


def test_the_command_serves_sparql_beside_the_page_to_clients_and_not_to_pages_of_other_sites(address: str) -> None:
    url = f"{address}sparql"
    assert len(rdflib.Graph(SPARQLStore(url)).query("SELECT ?s { ?s a <http://dbpedia.org/ontology/Book> }")) == 20
    assert urllib3.request("GET", f"{url}?query=ASK%7B%7D", headers={"Host": "e.org"}).status == 421
    long = COUNT + "\n" + "#" * 900_000
    done = urllib3.request("POST", url, body=long, headers={"content-type": QUERY})
    assert (done.status, number(done.data)) == (200, 124)
    assert urllib3.request("POST", url, body=b"#" * 4_000_001, headers={"content-type": QUERY}).status == 413
    for site in ("http://e.org", "null"):
        done = urllib3.request("GET", f"{url}?query=ASK%7B%7D", headers={"Origin": site})
        assert done.status == 403
        assert not [name for name in done.headers if name.lower().startswith("access-control")]
    for path in ("api/ask", "sparqlx"):
        assert urllib3.request("POST", address + path, body=b"#" * 262_145).status == 413


def test_limits_have_the_names_of_query(tmp_path: Path) -> None:
    options = ("-k", NOBEL, "--no-model", "-q", "--timeout", "1", "--max-rows", "30")
    with served(tmp_path, *options, KGSPARQL_TOKEN=TOKEN) as printed:
        url, known = f"{printed.partition('?')[0]}sparql", {"Authorization": f"Bearer {TOKEN}"}
        asked = f"{url}?{urlencode({'query': 'SELECT * { ?s ?p ?o }'})}"
        assert urllib3.request("GET", asked).status == 401
        assert urllib3.request("GET", asked, headers=known).headers["x-sparql-maxrows"] == "30"
        began = time.monotonic()
        assert urllib3.request("GET", f"{url}?{urlencode({'query': ENDLESS})}", headers=known).status == 504
        assert time.monotonic() - began < 15


def test_the_page_is_told_why_there_is_nothing_and_other_clients_do_not_wait_for_it(server: SparqlServer) -> None:
    target = "/sparql?" + urlencode({"query": "ASK { ?s a <http://e.org/Robot> }"})
    replies = [server.send("GET", target, **headers) for headers in ({"X_Kgsparql_Why": "1"}, {})]
    whys = [reply.headers.get("x-kgsparql-nothing") for reply in replies]
    assert whys == ["the graph does not mention <http://e.org/Robot>", None]


DATASET = "https://kgsparql.example/nobel/"
EXPECTED = {
    "Where was Marie Curie born?": ["http://dbpedia.org/resource/Warsaw"],
    "How many Nobel laureates are there?": ["74"],
    "Who is the oldest laureate?": ["http://dbpedia.org/resource/John_William_Strutt,_3rd_Baron_Rayleigh"],
    "Was Marie Curie born in Paris?": [False],
    "Who was Batman?": [],
}
ASK = "from text2sparql_client.commands.ask import ask_command; ask_command()"


def answered(address: str, **parameters: str) -> tuple[int, dict[str, Any]]:
    reply = urllib3.request("GET", f"{address}text2sparql", fields=parameters, timeout=60)
    return reply.status, reply.json()


def results(address: str, query: str) -> list[Any]:
    reply = urllib3.request("GET", f"{address}sparql", fields={"query": query}, timeout=60)
    assert reply.status == 200, reply.data
    found = reply.json()
    return [found["boolean"]] if "boolean" in found else [
        one["value"] for row in found["results"]["bindings"] for one in row.values()
    ]  # fmt: skip


def test_the_client_of_the_challenge_gets_queries_that_answer_its_questions(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.environ.get("KGSPARQL_TEXT2SPARQL", "")}
    found = subprocess.run([sys.executable, "-c", ASK, "--help"], env=environment, capture_output=True, check=False)
    if found.returncode:
        without = pytest.fail if os.environ.get("KGSPARQL_ALL_ENGINES") else pytest.skip
        without("no text2sparql-client: see the top of this file")
    questions = tmp_path / "questions.yml"
    asked = [{"id": number, "question": {"en": text}} for number, text in enumerate(EXPECTED, 1)]
    questions.write_text(json.dumps({"dataset": {"id": DATASET, "prefix": "nobel"}, "questions": asked}))
    with served(tmp_path, "-k", NOBEL, "--dataset", DATASET, "--no-model", "-q") as address:
        command = [sys.executable, "-c", ASK, questions, f"{address}text2sparql", "-o", "answers.json", "-r", "0"]
        subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=120)
        replies = json.loads((tmp_path / "answers.json").read_text())
        assert {one["question"]: results(address, one["query"]) for one in replies} == EXPECTED
    assert [one["qname"] for one in replies] == [f"nobel:{one['id']}-en" for one in asked]


def test_a_dataset_is_named_by_its_file_or_iri_and_another_is_not_found(address: str) -> None:
    question = "Where was Marie Curie born?"
    query = kgsparql.render(kgsparql.open(NOBEL, embedder="none").ask(question), "sparql")
    for name in (str(NOBEL), NOBEL.as_uri()):
        assert answered(address, dataset=name, question=question) == (
            200, {"dataset": name, "question": question, "query": query},
        )  # fmt: skip
    status, reply = answered(address, dataset="https://example.org/other", question=question)
    assert (status, reply["error"]["code"]) == (404, "E_NOT_FOUND")
    assert NOBEL.as_uri() in reply["error"]["hint"]
    assert answered(address, question=question)[0] == answered(address, dataset=str(NOBEL), question=" ")[0] == 400


def test_a_page_of_another_site_cannot_ask_as_a_client_of_the_challenge(address: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    url = f"{address}text2sparql?dataset={NOBEL.as_uri()}&question=Where"
    assert urllib3.request("GET", url, headers=headers).status == 403


def test_with_a_model_the_query_is_of_what_it_chose(tmp_path: Path) -> None:
    chooses = reading_with("Marie Curie —studied at→")
    with ModelServer(lambda body: chooses(body) if "Marie Curie" in str(body) else strong(body)) as server:
        model = ("-m", "any", "--base-url", server.url)
        with served(tmp_path, "-k", NOBEL, *model, "-q", OPENAI_API_KEY="k", KGSPARQL_TRIAL="on") as address:
            _, reply = answered(address, dataset=str(NOBEL), question="Where was Marie Curie born?")
            assert results(address, reply["query"]) == ["http://dbpedia.org/resource/University_of_Paris"]


def test_without_a_query_the_endpoint_says_what_it_is_and_holds_in_any_format_of_triples(server: SparqlServer) -> None:
    sd, void = "http://www.w3.org/ns/sparql-service-description#", "http://rdfs.org/ns/void#"
    counts = set()
    for accept, form in (("text/turtle", "turtle"), ("", "turtle"), ("application/rdf+xml", "xml")):
        reply = server.send(Accept=accept) if accept else server.send()
        assert (reply.status, reply.headers["vary"]) == (200, "Accept")
        said = rdflib.Graph()
        said.parse(data=reply.text, format=form)
        (service,) = said.subjects(RDF.type, URIRef(f"{sd}Service"))
        assert said.value(service, URIRef(f"{sd}endpoint")) == URIRef(server.url)
        graph = said.value(said.value(service, URIRef(f"{sd}defaultDataset")), URIRef(f"{sd}defaultGraph"))
        parts = {
            (said.value(part, URIRef(f"{void}class")), str(said.value(part, URIRef(f"{void}entities"))))
            for part in said.objects(graph, URIRef(f"{void}classPartition"))
        }
        assert (URIRef("http://dbpedia.org/ontology/Scientist"), "96") in parts
        counts.add(str(said.value(graph, URIRef(f"{void}triples"))))
    (found,) = json.loads(server.ask("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").text)["results"]["bindings"]
    assert counts == {found["n"]["value"]}
    page = server.send(Accept="text/html")
    assert (page.status, "there is no query" in page.text) == (400, True)


def test_what_is_said_of_named_graphs_is_their_names_and_of_an_endpoint_nothing_that_would_be_counted(
    server: SparqlServer,
) -> None:
    with sparql_server(kgsparql.open(PEOPLE.with_suffix(".trig"), embedder="none")) as several:
        assert "namedGraph" in several.send().text
    with sparql_server(kgsparql.open(server.url, embedder="none")) as passed_on:
        text = passed_on.send().text
    assert ("sd:Service" in text, "Partition" in text) == (True, False)
