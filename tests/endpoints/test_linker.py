"""A service beside an endpoint that finds entities by name: a Wikibase's search."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from benchmarks.wikidata_service import simulated
from kgsparql import EndpointGraph, EndpointProfile, KnowledgeBase
from kgsparql.errors import GraphLoadError
from kgsparql.graphs.profiles import known_endpoints
from kgsparql.linking.label_index.lookup import EndpointLabels
from kgsparql.linking.linker import Linker
from tests.endpoints.faults import FaultServer, results
from tests.endpoints.proxy import Proxy
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.endpoints.test_rate_limits_on_simulator import CONTACT, ITEMS

SURE = "Curie Sklodowska"
UNKNOWN_NAME = "Did Marie Sklodowska live in Warsaw?"
PEOPLE = """@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:m1 rdfs:label "Marie Curie"@en ; :born :w . :w rdfs:label "Warsaw"@en . :born rdfs:label "born"@en .
:m1 <http://www.w3.org/2004/02/skos/core#altLabel> "Curie-Sklodowska"@en .
:other rdfs:label "Curie-Sklodowska House"@en .
"""


class NameService:
    """A service that finds entities as a Wikibase does, on a socket; what it is asked lies in ``asked``."""

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                (name,) = parse_qs(urlsplit(self.path).query)["search"]
                service.asked.append(name)
                service.headers.append({name.lower(): value for name, value in self.headers.items()})
                made = answer(name)
                body = made if isinstance(made, bytes) else json.dumps(made).encode()
                self.send_response(503 if body == b"busy" else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/w/api.php"

    @contextmanager
    def running(self) -> Iterator["NameService"]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(10)


@pytest.fixture(scope="module")
def people_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.ttl").write_text(PEOPLE, encoding="utf-8")
    with oxigraph_serve(store_of(folder / "people.ttl", folder / "store")) as url:
        yield url


def profiled(service: NameService, **more: Any) -> EndpointProfile:
    return EndpointProfile(name="ours", has_union=True, linker_url=service.url, **more)


def result(*ids: Any) -> dict[str, Any]:
    iris = [f"http://e.org/{one}" if isinstance(one, str) and "://" not in one else one for one in ids]
    return {"search": [{"id": one, "label": "?", "concepturi": iri} for one, iri in zip(ids, iris, strict=True)]}


def linked(url: str, service: NameService, question: str, **more: Any) -> tuple[list[str], tuple[str, ...]]:
    linker = Linker(EndpointLabels(EndpointGraph(url, profile=profiled(service, **more))))
    links = linker.link(question)
    return [link.term.value.rpartition("/")[2] for link in links], linker.search.notes


def test_a_linker_that_is_named_in_a_profile_needs_no_index_and_one_request(people_at: str) -> None:
    asked = f"Where was {SURE} born?"
    with NameService(lambda _: result("m1", "nobody")).running() as own:
        with Proxy(people_at) as proxy:
            knowledge = KnowledgeBase(EndpointGraph(proxy.url, profile=profiled(own)), embedder="none")
            answer = knowledge.ask(asked.replace(SURE, "Marie Curie"))
            assert ([one.label for one in answer.best], answer.notes) == (["Warsaw"], ())
            assert not own.asked, "an exact label is found without it"
            assert linked(proxy.url, own, asked) == (["m1"], ())
            assert len(own.asked) == 1
            assert knowledge.indexes.index.row_count == 0
        assert own.asked == [SURE]
    assert own.headers[0]["user-agent"].startswith("kgsparql/")
    assert "authorization" not in own.headers[0]


def test_info_says_where_the_linker_is_without_its_key(people_at: str) -> None:
    profile = EndpointProfile(name="ours", has_union=True, linker_url="http://e.org/find?apikey=s3cret&lang=en")
    told = KnowledgeBase(EndpointGraph(people_at, profile=profile), embedder="none").info()["endpoint"]
    assert told["linker_url"] == "http://e.org/find?lang=en"
    assert "s3cret" not in json.dumps(told)


def test_redirects_of_a_linker_are_not_followed(people_at: str) -> None:
    moved = results(b"", status="302 Found", headers=["Location: http://127.0.0.1:9/"])
    with FaultServer(moved) as server:
        profile = EndpointProfile(name="ours", has_union=True, linker_url=f"{server.url}/w/api.php")
        linker = Linker(EndpointLabels(EndpointGraph(people_at, profile=profile)))
        links = linker.link(UNKNOWN_NAME)
        (note,) = linker.search.notes
    assert "302" in note
    assert [link.term.value for link in links] == ["http://e.org/w"]


def test_what_the_endpoint_does_not_know_is_not_used(people_at: str) -> None:
    asked = "Where was Marya Sklodowska born?"
    with NameService(lambda _: result("nobody", "http://elsewhere.org/x")).running() as service:
        assert (
            linked(people_at, service, asked) == (["born"], ()) or "nobody" not in linked(people_at, service, asked)[0]
        )


BAD = {
    "no JSON": b"<html>log in</html>", "another form": b'{"results": []}', "no text": result(7),
    "a list": b"[]",
    "a blank": result("a b"), "an injection": result("x> } DROP ALL #"), "deep": b"[" * 100_000,
    "too large": b'{"search": "' + b"x" * 300_000 + b'"}', "busy": b"busy",
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_linker_that_fails_is_a_note_in_one_line_and_the_text_search_is_asked(what: str, people_at: str) -> None:
    with NameService(lambda _: BAD[what]).running() as service:
        links, notes = linked(people_at, service, UNKNOWN_NAME)
        assert links == ["w"]
        (note,) = notes
        assert note.startswith(f"the linker of {people_at} failed, so labels are found only if they are written as in")
        assert service.url in note
        assert "\n" not in note
        (note,) = linked(people_at, service, UNKNOWN_NAME, text_search="jena")[1]
        assert note.startswith(f"the linker of {people_at} failed, so names are looked up by jena: {service.url}")


def test_wikidatas_own_search_is_asked_where_the_engine_cannot_ask_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGSPARQL_CONTACT", CONTACT)
    asked = "Who is the author of The Lantern Book?"
    more = 'wd:Q2 <http://www.w3.org/2004/02/skos/core#altLabel> "The Lantern Book of Light"@en .'
    with simulated(ITEMS + more, tmp_path) as (simulator, _):
        found = []
        for manners in ("Blazegraph", "QLever"):
            simulator.manners = manners  # type: ignore[assignment]
            knowledge = KnowledgeBase(EndpointGraph(simulator.url, profile=simulator.profile()), embedder="none")
            answer = knowledge.ask(asked)
            found.append(([link.label for link in answer.linked], [one.label for one in answer.best], answer.notes))
        paths = [request.path for request in simulator.requests if "/w/api.php" in request.path]
        assert 1 <= len(paths) <= 4
        assert parse_qs(urlsplit(paths[0]).query) == {
            "action": ["wbsearchentities"], "format": ["json"], "language": ["en"], "limit": ["10"],
            "search": ["The Lantern Book"],
        }  # fmt: skip
        assert found[1] == found[0]
        assert simulator.throttled == 0


def test_a_linker_of_a_profile_has_a_url_without_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config" / "kgsparql" / "endpoints.toml"
    file.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file.write_text('[ours]\nurls = ["http://e.org/sparql"]\nlinker_url = "https://me:secret@e.org/reconcile"\n')
    with pytest.raises(GraphLoadError, match="belong to -k") as caught:
        known_endpoints()
    assert "secret" not in str(caught.value)
