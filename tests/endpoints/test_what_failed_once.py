"""A graph that fails at one question, beside another: the next question has all that it knows again."""

from collections.abc import Iterator

import pytest

import kgsparql
from kgsparql import IRI, EndpointGraph, FederatedGraph, KnowledgeBase, open_graph
from tests.endpoints.faults import reply
from tests.endpoints.proxy import Proxy, first, sends
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.world import FIXTURES

WIKIBASE, LIBRARY = (FIXTURES / "identifiers" / f"{name}.ttl" for name in ("wikibase", "library"))
FAILS = sends(reply(b"sorry", status="500 Internal Server Error", type="text/plain"))
WRITTEN = "What was written by Marie Curie?"
VIAF = IRI("http://www.wikidata.org/prop/direct/P214")


@pytest.fixture(scope="module")
def wikibase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two people with identifiers behind a server."""
    with oxigraph_serve(store_of(WIKIBASE, tmp_path_factory.mktemp("wikibase") / "store")) as url:
        yield url


def test_E03_a_failure_before_the_first_question_is_not_one_of_the_second(wikibase: str) -> None:
    with Proxy(wikibase, first(FAILS, only="ExternalId")) as proxy:
        knowledge = kgsparql.open(LIBRARY, proxy.url, embedder="none", cache=False)
        before = knowledge.session(WRITTEN, kgsparql.AskOptions())
        after, later = (knowledge.ask(WRITTEN) for _ in range(2))
        assert len(proxy.of("ExternalId")) == 2
        assert VIAF in knowledge.session(WRITTEN, kgsparql.AskOptions()).graph.ignored.terms
    assert [note for note in before.notes.texts if "names that only it knows are not found" in note]
    assert after.linked[0].label == "Marie Curie"
    assert after.answers[0].label == "laboratory notebooks"
    assert not [note for note in after.notes if proxy.url in note]
    assert later.answers == after.answers


def test_E03_as_long_as_names_are_missing_every_answer_says_so(wikibase: str) -> None:
    with Proxy(wikibase, first(then=FAILS, only="?entity ?predicate ?text")) as proxy:
        graph = FederatedGraph([open_graph(LIBRARY), EndpointGraph(proxy.url)])
        knowledge = KnowledgeBase(graph, embedder="none")
        answers = [knowledge.ask("Where are the laboratory notebooks kept at?") for _ in range(2)]
        proxy.plan = None
        answers.append(knowledge.ask("Where are the laboratory notebooks kept at?"))
        found = knowledge.find("Marie Curie")
    told = [[note for note in answer.notes if "names that only it knows are not found" in note] for answer in answers]
    assert [len(lines) for lines in told] == [1, 1, 0]
    assert told[0][0].startswith(proxy.url)
    assert found[0].term == IRI("http://www.wikidata.org/entity/Q7186")


def test_names_that_were_read_are_not_read_again_for_those_of_another_graph(wikibase: str) -> None:
    with Proxy(wikibase) as whole, Proxy(wikibase, first(FAILS, FAILS, only="?entity ?predicate ?text")) as other:
        graph = FederatedGraph([EndpointGraph(whole.url), EndpointGraph(other.url)])
        knowledge = KnowledgeBase(graph, embedder="none")
        for _ in range(3):
            knowledge.session(WRITTEN, kgsparql.AskOptions())
        assert len(other.of("?entity ?predicate ?text")) == len(whole.of("?entity ?predicate ?text")) + 2 > 2
