"""What a question costs an endpoint, held against what that was sent; and the little more time its answer may take."""

import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kgsparql
from kgsparql import UNKNOWN, AskOptions, Budget, EndpointGraph, KnowledgeBase, Query, Usage
from kgsparql.cli import app
from kgsparql.errors import BudgetExceededError, EndpointError
from kgsparql.events import Event, EvidenceFound
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.plans.chips import chips, options
from kgsparql.storage.response_cache import ResponseCache
from tests.endpoints.proxy import Proxy, first, hangs, late

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
    with Proxy(nobel_url) as one:
        knowledge = KnowledgeBase(EndpointGraph(one.url), embedder="none")
        answer = knowledge.ask(QUESTION, budget=Budget(max_queries=1))
        assert "budget reached: 1 query" in " ".join(answer.notes)
        assert len(one.requests) > 1
    told = CliRunner().invoke(app, ["ask", "--help"], env={"COLUMNS": "200"}).stdout
    (line,) = [line for line in told.splitlines() if "--max-queries" in line]
    assert "of the method" in line


FEYNMAN = "Where did Richard Feynman study?"


def test_U15_what_an_answer_owes_ends_soon_after_its_time(nobel_url: str) -> None:
    budget = Budget(max_seconds=8.0)
    with Proxy(nobel_url) as proxy:
        knowledge = kgsparql.open(proxy.url, embedder="none")
        knowledge.session(FEYNMAN, kgsparql.AskOptions())
        began = time.monotonic()

        def late_from_then_on(event: Event) -> None:
            if isinstance(event, EvidenceFound):
                proxy.plan = lambda request: hangs
                time.sleep(max(0.0, began + 8.1 - time.monotonic()))

        answer = knowledge.ask(FEYNMAN, retriever="path_ranking", budget=budget, emit=late_from_then_on)
        assert time.monotonic() - began < 20, "as long as each query may take"
        assert answer.status == "partial"
        assert answer.error is None
        assert len(answer.evidence)
        assert not any(cited.verified for item in answer.evidence for cited in item.triples)
        assert [note for note in answer.notes if note.endswith("could not be looked up again: no time was left")]
        assert [note for note in answer.notes if note.startswith("budget reached: 8 seconds: some steps were left out")]


def test_U15_the_time_that_ends_before_the_question_says_what_it_was_spent_on(nobel_url: str) -> None:
    for slow in ("COUNT(*) AS ?count", "COUNT(*) AS ?triples"):
        with Proxy(nobel_url, lambda request, slow=slow: late(9) if slow in request.query else None) as proxy:  # type: ignore[misc]
            known = KnowledgeBase(EndpointGraph(proxy.url), embedder="none")
            with pytest.raises(
                BudgetExceededError, match=r"budget reached: 3 seconds.* before the question was"
            ) as caught:
                known.ask(FEYNMAN, budget=Budget(max_seconds=3.0))
        assert proxy.url in caught.value.message
        assert caught.value.hint.startswith("raise it with --max-seconds")
        assert caught.value.hint.endswith(f"`kgsparql index -k {shlex.quote(proxy.url)}` does that once")
        assert caught.value.detail["limit"] == "seconds"


def test_the_time_for_what_is_owed_begins_when_the_end_is_seen() -> None:
    usage = Usage(Budget(max_seconds=8.0), started=time.monotonic() - 30)
    assert usage.grace_s == 5.0
    usage.before_query(in_grace=True)
    assert 4.0 < (usage.grace_s or 0.0) < 5.0
    with pytest.raises(BudgetExceededError):
        usage.before_query()
    with pytest.raises(BudgetExceededError):
        Usage(Budget(max_seconds=8.0), started=time.monotonic() - 30).check(in_grace=True, is_late=True)
    usage = Usage(Budget(max_seconds=90.0), started=time.monotonic() - 30)
    assert (usage.seconds_left or 0.0) > 59
    usage.begin_asking(is_remote=True)
    assert 39 < (usage.seconds_left or 0.0) < 41, "a third is for telling"


QUESTIONS = [
    "Which laureates were born in Warsaw?", "How many laureates were born after 1900?",
    "Which country has the most laureates?", "List the laureates without a spouse.",
    "How many laureates were born in each country?",
]  # fmt: skip


@pytest.fixture
def served(nobel_url: str) -> Iterator[kgsparql.KnowledgeBase]:
    with kgsparql.open(nobel_url, embedder="none") as opened:
        yield opened


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_offered_at_an_endpoint_is_what_is_offered_over_a_file(
    nobel: kgsparql.KnowledgeBase, served: kgsparql.KnowledgeBase, question: str
) -> None:
    planned = served.plan(question)
    plan = (planned.chosen or planned.candidates[0]).plan
    assert plan == (nobel.plan(question).chosen or nobel.plan(question).candidates[0]).plan
    for chip in chips(plan):
        here, _ = options(plan, chip, nobel.graph)
        there, _ = options(plan, chip, served.graph)
        assert {(str(one.plan), one.count) for one in there} == {(str(one.plan), one.count) for one in here}, chip
        assert all(one.count != 0 for one in there), chip
