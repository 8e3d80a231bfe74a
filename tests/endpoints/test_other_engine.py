"""A service that has another engine than it had: Wikidata's, with the manners of QLever instead of Blazegraph's."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.wikidata_service import WikidataSimulator, qlever_error, simulated
from kgsparql import Answer, EndpointGraph, KnowledgeBase, Query
from kgsparql.errors import EndpointTimeoutError
from kgsparql.graphs.profiles import known_endpoints
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Fault, Seen, passes, sends
from tests.endpoints.test_rate_limits_on_simulator import CONTACT, ITEMS

PARTNER = "Among the characters in the lantern, who is the unmarried partner of Ivo Reed?"
AUTHOR = "Who is the author of The Lantern?"
EVERY = Query("every", "SELECT ?s { ?s ?p ?o } LIMIT 3")


@pytest.fixture
def wikidata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WikidataSimulator]:
    monkeypatch.setenv("KGSPARQL_CONTACT", CONTACT)
    with simulated(ITEMS, tmp_path) as (simulator, _):
        yield simulator


def opened(simulator: WikidataSimulator, **profile: object) -> KnowledgeBase:
    return KnowledgeBase(EndpointGraph(simulator.url, profile=simulator.profile(**profile)), embedder="none")


def labels(answer: Answer) -> list[str]:
    return [one.label for one in answer.best]


def test_a_question_is_answered_by_a_wikidata_on_qlever(wikidata: WikidataSimulator) -> None:
    wikidata.manners = "QLever"
    knowledge = opened(wikidata, linker_url="")
    answer = knowledge.ask(PARTNER)
    assert (labels(answer), answer.notes) == (["Olga Marsh"], ())
    assert knowledge.graph.profile.engine == "QLever"
    assert wikidata.of('ql:has-word "lantern"')
    assert not wikidata.of("SERVICE"), "the first reply told"
    asked = len(wikidata.of("?text ql:has-word ?word"))
    assert labels(knowledge.ask(AUTHOR)) == ["Anna Berg"]
    assert len(wikidata.of("?text ql:has-word ?word")) == asked == 1


def test_no_question_is_lost_when_the_engine_turns_between_two_and_back(wikidata: WikidataSimulator) -> None:
    knowledge = opened(wikidata)
    seen = []
    for manners in ("Blazegraph", "QLever", "QLever", "Blazegraph"):
        wikidata.manners = manners  # type: ignore[assignment]
        answer = knowledge.ask(PARTNER)
        seen.append((answer.status, labels(answer), answer.notes))
    assert seen == [seen[0]] * 4
    assert seen[0][1:] == (["Olga Marsh"], ())
    assert wikidata.throttled == 0


def test_what_took_too_long_there_is_no_reason_to_wait_before_the_next_query(wikidata: WikidataSimulator) -> None:
    graph = opened(wikidata).graph
    wikidata.manners = "QLever"
    wikidata.faults = lambda request: sends(qlever_error(request, 429, "Operation timed out."))
    began = time.monotonic()
    with pytest.raises(EndpointTimeoutError, match="Operation timed out"):
        graph.select(EVERY)
    wikidata.faults = None
    assert len(graph.select(EVERY)) == 3
    assert time.monotonic() - began < 10, "429 is no wish to be left alone"
    assert (graph.profile.engine, graph.profile.timeout_s, graph.profile.has_named_graphs) == ("QLever", 60.0, False)


def test_a_server_in_front_that_hides_the_engine_is_asked_what_it_is_once_a_search_fails(
    wikidata: WikidataSimulator,
) -> None:
    refuses = sends(reply(b'{"error": "this service is not there"}', status="400 Bad Request", type="application/json"))

    def hides(request: Seen) -> Fault | None:
        if "has-word" in request.query:
            return None
        return refuses if "SERVICE" in request.query else passes

    knowledge = opened(wikidata, linker_url="")
    wikidata.manners, wikidata.faults = "QLever", hides
    answer = knowledge.ask(PARTNER)
    assert labels(answer) == ["Olga Marsh"]
    assert wikidata.of('ql:has-word "lantern"')
    (note,) = answer.notes
    url = wikidata.url
    assert note == (
        f"the text search of {url} failed, so names are looked up by ql:has-word: {url} refuses query "
        "text_search/mwapi: this service is not there"
    )
    answer = knowledge.ask(AUTHOR)
    assert (labels(answer), answer.notes) == (["Anna Berg"], ())
    assert (len(wikidata.probes), len(wikidata.of("SERVICE"))) == (1, 1)


def test_a_qlever_whose_index_has_no_words_is_asked_for_them_once(wikidata: WikidataSimulator) -> None:
    wikidata.manners, wikidata.has_words = "QLever", False
    knowledge = opened(wikidata, linker_url="")
    for _ in range(2):
        answer = knowledge.ask(AUTHOR)
        assert (labels(answer), answer.notes) == (["Anna Berg"], ())
    (asked,) = wikidata.of("ql:has-word")
    assert "?text ql:has-word ?word" in asked.query


def test_a_profile_of_a_service_keeps_its_own_values_on_another_engine() -> None:
    known = known_endpoints()
    wikidata, qlever = known.named("wikidata"), next(one for one in known.engines if one.name == "QLever")
    assert wikidata is not None
    moved = wikidata.on(qlever)
    assert (moved.name, moved.urls, moved.noise, moved.timeout_s) == (wikidata.name, wikidata.urls, wikidata.noise, 60)
    assert (moved.engine, moved.text_search, moved.statuses, moved.quick_counts, moved.timeout_unit) == (
        "QLever", "ql:has-word", qlever.statuses, True, "seconds with unit",
    )  # fmt: skip
    assert wikidata.on(next(one for one in known.engines if one.name == "Blazegraph")) == wikidata
