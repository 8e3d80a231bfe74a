"""The time of a question that is over: what its answer still owes has a little more, all together, and says so."""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgsparql
from kgsparql import Budget, EndpointGraph, KnowledgeBase, Snapshot
from kgsparql.budget import Elapsed, Usage
from kgsparql.errors import BudgetExceededError
from kgsparql.events import Event, EvidenceFound
from tests.conftest import FIXTURES
from tests.endpoints.proxy import Proxy, hangs, late
from tests.endpoints.servers import oxigraph_serve, store_of

pytestmark = pytest.mark.usefixtures("own_cache")

FEYNMAN = "Where did Richard Feynman study?"


@pytest.fixture(scope="module")
def nobel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oxigraph_serve(store_of(FIXTURES / "nobel.ttl", tmp_path_factory.mktemp("nobel") / "store")) as url:
        yield url


def test_U15_what_an_answer_owes_ends_soon_after_its_time(nobel: str, tmp_path: Path) -> None:
    budget = Budget(max_seconds=8.0)
    with Proxy(nobel) as proxy:
        with Snapshot(tmp_path / "seen", "write") as snapshot:
            knowledge = kgsparql.open(proxy.url, embedder="none", snapshot=snapshot)
            knowledge.session(FEYNMAN, kgsparql.AskOptions())
            began = time.monotonic()

            def late_from_then_on(event: Event) -> None:
                if isinstance(event, EvidenceFound):
                    proxy.plan = lambda request: hangs
                    time.sleep(max(0.0, began + 8.1 - time.monotonic()))

            answer = knowledge.ask(FEYNMAN, budget=budget, emit=late_from_then_on)
            assert time.monotonic() - began < 20, "as long as each query may take"
        assert answer.status == "partial"
        assert answer.error is None
        assert len(answer.evidence)
        assert not any(cited.verified for item in answer.evidence for cited in item.triples)
        assert [note for note in answer.notes if note.endswith("could not be looked up again: no time was left")]
        assert [note for note in answer.notes if note.startswith("budget reached: 8 seconds: some steps were left out")]
        with Snapshot(tmp_path / "seen", "only") as snapshot:
            again = kgsparql.open(proxy.url, embedder="none", snapshot=snapshot)
            again.session(FEYNMAN, kgsparql.AskOptions())
            replayed = again.ask(FEYNMAN, budget=budget)
    assert replayed.notes == answer.notes
    assert list(replayed.evidence) == list(answer.evidence)
    assert replayed.usage == answer.usage


def test_U15_the_time_that_ends_before_the_question_says_what_it_was_spent_on(nobel: str) -> None:
    for slow in ("COUNT(*) AS ?count", "COUNT(*) AS ?triples"):
        with Proxy(nobel, lambda request, slow=slow: late(9) if slow in request.query else None) as proxy:  # type: ignore[misc]
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
    Usage(Budget(max_seconds=80.0), started=time.monotonic() - 95).check(in_grace=True, is_late=True)


def test_a_replay_owes_as_much_as_its_recording() -> None:
    usage = Usage(Budget(max_seconds=1.0), replayed=Elapsed(9.0, over_at=(1, 0), owed_over_at=(2, 0)))
    usage.check()
    usage.is_prepared = True
    usage.before_query()
    with pytest.raises(BudgetExceededError):
        usage.before_query()
    usage.before_query(in_grace=True)
    with pytest.raises(BudgetExceededError):
        usage.before_query(in_grace=True)
    assert (usage.queries, usage.over_at, usage.owed_over_at) == (2, (1, 0), (2, 0))
