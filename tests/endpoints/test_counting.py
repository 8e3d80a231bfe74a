"""What a question costs an endpoint, as its usage says, held against what the endpoint was sent."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgsparql.answering.ask_options import AskOptions
from kgsparql.budget import Budget, Usage
from kgsparql.cli import app
from kgsparql.errors import BudgetExceededError, EndpointError
from kgsparql.graphs import EndpointGraph, FederatedGraph
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.profiles import UNKNOWN
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.rdf.query import Query
from kgsparql.storage.response_cache import ResponseCache
from tests.endpoints.proxy import Proxy, first, late

pytestmark = pytest.mark.usefixtures("own_cache")

QUESTION = "Where was Richard Feynman born?"


@pytest.mark.parametrize("has_many_labels", [False, True])
def test_every_query_that_is_sent_is_counted(nobel_url: str, has_many_labels: bool) -> None:
    with Proxy(nobel_url) as server:
        profile = replace(UNKNOWN, has_many_labels=has_many_labels)
        knowledge = KnowledgeBase(EndpointGraph(server.url, profile=profile), embedder="none")
        queries, prepared, sent = [], [], []
        for _ in range(2):
            before = len(server.requests) + len(server.probes)
            usage = knowledge.ask(QUESTION).usage
            queries.append(usage["queries"])
            prepared.append(usage["prepared"])
            sent.append(len(server.requests) + len(server.probes) - before)
        assert [q + p for q, p in zip(queries, prepared, strict=True)] == sent
        assert prepared[0] > 2, "what it is, whether it is empty, its labels"
        assert prepared[1] == 0
        assert queries[0] == queries[1]


def test_what_fails_and_what_is_cut_off_by_the_clock_is_counted(nobel_url: str) -> None:
    with Proxy(nobel_url, first(then=late(30))) as server:
        usage = Usage(Budget(max_seconds=1))
        knowledge = KnowledgeBase(EndpointGraph(server.url), embedder="none")
        with pytest.raises(BudgetExceededError):
            knowledge.session(QUESTION, AskOptions(), usage=usage)
        assert usage.prepared == len(server.requests) + len(server.probes) >= 1
    gone = MeteredGraph(EndpointGraph(server.url, profile=replace(UNKNOWN, has_union=True)), usage, lambda _: None)
    with pytest.raises(EndpointError):
        gone.unlimited().select(Query.load("any"))
    assert usage.queries == 1


def test_a_link_that_is_cut_off_leaves_a_partial_answer_that_says_what_was_sent(nobel_url: str) -> None:
    profile = replace(UNKNOWN, has_many_labels=True, has_union=True)
    with Proxy(nobel_url) as server:
        knowledge = KnowledgeBase(EndpointGraph(server.url, profile=profile), embedder="none")
        answer = knowledge.ask(QUESTION, budget=Budget(max_queries=1))
    assert answer.status == "partial"
    assert answer.linked == ()
    assert answer.usage["queries"] == 1
    assert any("budget reached: 1 query" in note for note in answer.notes)


def test_what_the_cache_knows_is_not_counted_as_sent(nobel_url: str, tmp_path: Path) -> None:
    profile = replace(UNKNOWN, keep_s=3600.0, has_many_labels=True)
    prepared, sent = [], []
    with Proxy(nobel_url) as server:
        for _ in range(2):
            before = len(server.requests) + len(server.probes)
            with ResponseCache(tmp_path / "cache.sqlite") as response_cache:
                graph = EndpointGraph(server.url, profile=profile, response_cache=response_cache)
                usage = Usage(Budget())
                KnowledgeBase(graph, embedder="none").session(QUESTION, AskOptions(), usage=usage)
            prepared.append(usage.prepared)
            sent.append(len(server.requests) + len(server.probes) - before)
    assert prepared == sent
    assert prepared[0] > prepared[1]


def test_a_limit_on_queries_is_for_those_of_the_method(nobel_url: str) -> None:
    with Proxy(nobel_url) as one, Proxy(nobel_url) as two:
        knowledge = KnowledgeBase(FederatedGraph([EndpointGraph(one.url), EndpointGraph(two.url)]), embedder="none")
        answer = knowledge.ask(QUESTION, budget=Budget(max_queries=1))
        assert "budget reached: 1 query" in " ".join(answer.notes)
        assert len(one.asked) > 1
        assert len(one.asked) == len(two.asked)
    told = CliRunner().invoke(app, ["ask", "--help"], env={"COLUMNS": "200"}).stdout
    (line,) = [line for line in told.splitlines() if "--max-queries" in line]
    assert "of the method" in line
