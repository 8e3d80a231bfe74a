"""What every method promises, whoever wrote it: the list is :func:`kgsparql.retrievers.names`."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import IRI, Answer, AskOptions, Budget, LanguageModel, answer_to_json
from kgsparql.answering.pipeline import answer
from kgsparql.errors import NotFoundError
from kgsparql.events import ModelCalled
from kgsparql.retrievers import find, load, names
from kgsparql.retrievers._loading import description_of
from kgsparql.storage.response_cache import ResponseCache
from tests.contract.conftest import BACKENDS, PLAYERS, as_bytes, check_honest
from tests.deep import DEEP, crossed
from tests.model_server import ModelServer, Slow
from tests.scripted import Player, ask, asked_for, one_after_another
from tests.world import BORN, EX, FEYNMAN, FIXTURES, ROOT, Asked, known, scripted_model

METHODS = names()
JOINED = "What joins Marie Curie and Niels Bohr?"
QUESTIONS = (FEYNMAN, BORN, JOINED, "On what date did Richard Feynman die?", "Who is the spouse of Dorothy Hodgkin?")
ASKED_OF = {"embedded": QUESTIONS, "endpoint": QUESTIONS if DEEP else QUESTIONS[:2]}
"""An endpoint gives what the same graph in this process gives: few questions show whether it does."""

WALKED = {"path", "neighbours"}
"""Kinds of evidence that was walked to: the facts of a value have no direction."""
_CALL_S = 0.15
Once = Callable[..., Asked]
Graphs = dict[str, kgsparql.KnowledgeBase]


@pytest.fixture(params=[name for name in METHODS if name != "query_plan"])
def walker(request: pytest.FixtureRequest) -> str:
    """A method that walks: what joins two things, or lies around one, is nothing to compute."""
    return str(request.param)


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def nobel(backend: str, nobel_graphs: Graphs) -> kgsparql.KnowledgeBase:
    return nobel_graphs[backend]


@pytest.fixture
def embedded(nobel_graphs: Graphs) -> kgsparql.KnowledgeBase:
    return nobel_graphs["embedded"]


# -- What it says of itself --------------------------------------------------------------------------------------------


def test_it_is_a_value_that_says_what_it_is_and_what_it_costs(method: str) -> None:
    kind = find(method)
    found = description_of(kind)
    assert found["name"] == method
    assert found["about"]
    assert found["source"]
    assert 10 < len(found["summary"]) < 120
    assert "\n" not in found["summary"]
    assert [option["name"] for option in found["options"] if not option["about"]] == []
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    assert {option["name"] for option in found["options"]} == {field.name for field in fields if field.init}
    assert 0 <= found["cost"]["rounds"]["value"] <= found["cost"]["calls"]["value"]
    assert found["cost"]["queries"]["value"] > 0
    said = {option["name"]: option["default"] for option in found["options"]}
    assert load(method, said) == load(method), "its options can be written on the command line"
    assert hash(load(method)) == hash(load(method))
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


# -- Evidence and markers ----------------------------------------------------------------------------------------------


@pytest.mark.longer
def test_evidence_is_in_the_graph_and_markers_resolve(once: Once, walker: str, backend: str) -> None:
    for question in ASKED_OF[backend]:
        good, never, asked = (
            once(backend, question, walker, player) for player in ("good", "never enough", "no model")
        )
        for one in (good, never, asked):
            check_honest(one)
            assert len(one.answer.evidence) > 0, question
            assert one.answer.error is None
            assert one.answer.answers, question
            assert one.answer.status == ("partial" if one.answer.gaps else "answered")
        assert good.answer.is_ranked == any(note.code == "untried" for note in good.answer.notes), question
        assert answered(never.answer) == answered(asked.answer)
        assert "nothing_chosen" in {note.code for note in never.answer.notes}
        answer = asked.answer
        assert (asked.bodies, answer.usage["model_calls"]) == ([], 0)
        first = "No sure answer: " if answer.gaps else "Ranked candidates"
        assert answer.text.startswith(first) or answer.computed is not None


def test_blank_nodes_among_the_ends_are_no_answers_of_the_query(method: str) -> None:
    knowledge = known(
        ':ann rdfs:label "Ann" ; :employer :acme , :bolt , [ :country :land ] . :employer rdfs:label "employer" . '
        ':acme rdfs:label "Acme" . :bolt rdfs:label "Bolt" . :land rdfs:label "Land" .'
    )
    asked = ask(knowledge, "Who is the employer of Ann?", retriever=method)
    check_honest(asked)
    with_ends = [item for item in asked.answer.evidence if item.ends]
    assert {"Acme", "Bolt"} <= {a.label for a in asked.answer.answers}
    assert with_ends
    for item in with_ends:
        assert {row["answer"] for row in knowledge.graph.select(item.query)} == set(item.ends), item.query.text


@pytest.mark.longer
def test_the_query_of_an_item_finds_it_again(once: Once, walker: str, backend: str) -> None:
    checked = 0
    for question in ASKED_OF[backend]:
        asked = once(backend, question, walker, "good")
        for item in (item for item in asked.answer.evidence if item.kind != "passage"):
            found = asked.knowledge.graph.select(item.query)
            assert len(found) > 0, item.query.text
            if item.ends:
                assert {solution["answer"] for solution in found} == set(item.ends), item.query.text
                checked += 1
    assert checked > 0, "what is followed to every answer has the query for it"


def test_evidence_alone_needs_no_answer(method: str, embedded: kgsparql.KnowledgeBase, once: Once) -> None:
    found = embedded.retrieve(FEYNMAN, retriever=method)
    answer = once("embedded", FEYNMAN, method, "no model").answer
    assert [item.text for item in found.evidence] == [item.text for item in answer.evidence]
    assert all(cited.verified for item in found.evidence for cited in item.triples)
    listed = answer.answers[:10]
    assert listed
    assert listed == found.candidates[: len(listed)]
    assert 1 > found.confidence == answer.confidence > 0
    assert answer.answers == (*listed, *(c for c in found.candidates[len(listed) :] if c in answer.answers))
    assert not {link.term for link in answer.linked} & {a.term for a in listed[:3]}, "where there are others"
    best = next((item for item in answer.evidence if item.ends), None)
    assert best is None or set(best.ends) <= {term.term for term in answer.answers}, "all ends of the best are answers"


GOLD = [json.loads(line) for line in (FIXTURES / "nobel_questions.jsonl").read_text(encoding="utf-8").splitlines()]


# -- The same bytes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "backend"), crossed(METHODS, BACKENDS))
def test_the_same_bytes_twice_and_replayed_with_the_server_down(
    once: Once, method: str, backend: str, nobel: kgsparql.KnowledgeBase, tmp_path: Path
) -> None:
    for question in (FEYNMAN, JOINED):
        first = once(backend, question, method, "never enough")
        script = PLAYERS["never enough"]
        with ResponseCache(tmp_path / "x.sqlite") as response_cache:
            again = ask(nobel, question, script, retriever=method, kept=response_cache)
        with ResponseCache(tmp_path / "x.sqlite") as response_cache:
            replayed = ask(nobel, question, script, retriever=method, kept=response_cache)
        assert replayed.bodies == []
        assert all(event.cached for event in replayed.events if isinstance(event, ModelCalled))
        assert as_bytes(first.answer) == as_bytes(again.answer) == as_bytes(replayed.answer)
    without = once(backend, FEYNMAN, method, "no model")
    assert as_bytes(without.answer) == as_bytes(ask(nobel, FEYNMAN, retriever=method).answer)


@pytest.fixture(scope="module")
def by_hash_seed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """What every method answers in processes that order their sets differently."""
    code = f"""
import json, kgsparql
from tests.world import FIXTURES, ROOT
from tests.contract.conftest import as_bytes
from kgsparql.retrievers import names
knowledge = kgsparql.open({str(FIXTURES / "nobel.ttl")!r}, embedder="none")
def said(name):
    return "".join(as_bytes(knowledge.ask(question, retriever=name)) for question in {(FEYNMAN, JOINED)})
print(json.dumps({{name: said(name) for name in names()}}))
"""
    place = {"KGSPARQL_CACHE_DIR": str(tmp_path_factory.mktemp("cache")), "PYTHONPATH": str(ROOT)}
    environments = [{**os.environ, **place, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = [subprocess.Popen([sys.executable, "-c", code], env=own, **pipes) for own in environments]
    said = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    return [json.loads(printed) for printed, _ in said]


def test_the_same_bytes_whatever_the_order_of_sets(method: str, by_hash_seed: list[dict[str, str]]) -> None:
    assert by_hash_seed[0][method] == by_hash_seed[1][method] != ""


@pytest.mark.longer
def test_both_backends_give_the_same(once: Once, method: str) -> None:
    compared = 0
    for question in ASKED_OF["endpoint"]:
        for player in PLAYERS:
            one, other = (once(backend, question, method, player).answer for backend in BACKENDS)
            if not _is_cut(one) and not _is_cut(other):
                compared += 1
                assert _content(one) == _content(other), (question, player)
    assert compared >= len(ASKED_OF["endpoint"])


@pytest.mark.deep
@pytest.mark.parametrize("chosen", ["path_ranking", "query_plan"])
def test_the_bundled_questions_have_the_same_answers_at_an_endpoint(nobel_graphs: Graphs, chosen: str) -> None:
    """Also where a graph in this process is asked in a way of its own."""
    assert len(GOLD) == 40
    for question in (gold["question"] for gold in GOLD):
        one, other = (nobel_graphs[backend].ask(question, retriever=chosen) for backend in BACKENDS)
        assert _content(one) == _content(other), question


def answered(answer: Answer) -> tuple[object, ...]:
    """What is answered, whoever was asked on the way."""
    return answer.status, answer.text, answer.answers, answer.claims, [item.text for item in answer.evidence]


def _is_cut(answer: Answer) -> bool:
    return any("there are more" in str(cut) for item in answer.evidence for cut in item.cuts)


def _content(answer: Answer) -> dict[str, Any]:
    """The answer without what it cost."""
    said = answer_to_json(answer)
    del said["usage"]
    return said  # type: ignore[no-any-return]


# -- What it costs -----------------------------------------------------------------------------------------------------


@pytest.mark.longer
def test_it_spends_no_more_than_it_says(once: Once, method: str, backend: str) -> None:
    for question, player in product(ASKED_OF[backend], PLAYERS):
        asked = once(backend, question, method, player)
        bounds = _bounds(method, asked)
        assert asked.answer.usage["model_calls"] <= bounds["calls"], question
        assert asked.answer.usage["queries"] <= bounds["queries"], question


def ask_slowly(knowledge: kgsparql.KnowledgeBase, script: Any, **asking: Any) -> Asked:
    """Ask with a model behind a socket, whose replies may take their time."""
    with ModelServer(script) as server, LanguageModel("scripted-model", server.client(timeout_s=20.0)) as model:
        return Asked(knowledge.ask(FEYNMAN, model=model, **asking), [], [], knowledge)


def test_its_calls_wait_for_each_other_no_more_often_than_it_says(
    method: str, embedded: kgsparql.KnowledgeBase
) -> None:
    calls: list[tuple[float, float]] = []

    def slow(body: dict[str, Any]) -> Any:
        began = time.monotonic()
        calls.append((began, began + _CALL_S))
        return Slow(_CALL_S, Player(sufficient=False)(body))

    asked = ask_slowly(embedded, slow, retriever=method)
    assert len(calls) == asked.answer.usage["model_calls"]
    assert one_after_another(calls) <= _bounds(method, asked)["rounds"]


def _bounds(method: str, asked: Asked) -> dict[str, int]:
    return load(method).cost(entities=max(1, len(asked.answer.linked)))._asdict()


@pytest.mark.longer
@pytest.mark.parametrize(("walker", "most"), [
    ("think_on_graph", lambda made: 3 * made.depth + 2),
    ("struct_gpt", lambda made: 3 * made.max_steps + made.predicates_per_step + 1),
])  # fmt: skip
@pytest.mark.parametrize("player", ["no model", "never enough"])
def test_a_walker_asks_three_times_a_hop_and_a_few_times_for_everything_at_the_end(
    once: Once, backend: str, walker: str, most: Callable[[Any], int], player: str
) -> None:
    """With a model twice: once for the draft."""
    bound = most(load(walker)) * (1 if player == "no model" else 2)
    for question in ASKED_OF[backend]:
        sent = [run.name for run in once(backend, question, walker, player).queries()]
        walking = [name for name in sent if not name.startswith(("labels", "types", "verify", "named_graphs"))]
        assert 0 < len(walking) <= bound, walking


def test_it_sends_no_query_per_candidate(method: str) -> None:
    """Ten times as many neighbours are no more queries."""
    counts = []
    for n in (4, 40):
        facts = "".join(f':a :p{i % 4} :b{i} . :b{i} rdfs:label "B {i}" ; :q :c{i} . ' for i in range(n))
        knowledge = known(f':a rdfs:label "Alpha" . {facts}')
        counts.append(ask(knowledge, "What is Alpha near?", Player(), retriever=method).answer.usage["queries"])
    assert counts[1] <= counts[0] + 4, counts


# -- Limits ------------------------------------------------------------------------------------------------------------


def test_a_limit_on_calls_leaves_evidence(once: Once, method: str, embedded: kgsparql.KnowledgeBase) -> None:
    whole = once("embedded", FEYNMAN, method, "never enough").answer.usage["model_calls"]
    for limit in range(whole):
        asked = ask(embedded, FEYNMAN, Player(sufficient=False), retriever=method, budget=Budget(max_calls=limit))
        check_honest(asked)
        assert len(asked.bodies) <= limit
        assert asked.answer.usage["model_calls"] <= limit
        assert len(asked.answer.evidence) > 0, limit
    without = once("embedded", FEYNMAN, method, "no model").answer
    for budget, said in ((Budget(max_calls=0), "0 model calls"), (Budget(max_tokens=1), "1 token")):
        asked = ask(embedded, FEYNMAN, Player(), retriever=method, budget=budget)
        assert (asked.bodies, answered(asked.answer)) == ([], answered(without))
        assert any(said in note for note in asked.answer.notes if note.code == "model_failed")


@pytest.mark.longer
@pytest.mark.parametrize("player", ["no model", "never enough"])
def test_a_limit_on_queries_keeps_what_was_found(
    once: Once, walker: str, embedded: kgsparql.KnowledgeBase, player: str
) -> None:
    whole = once("embedded", FEYNMAN, walker, player).answer
    partial: list[tuple[int, Asked]] = []
    queries = whole.usage["queries"]
    for limit in range(queries) if DEEP else sorted({*range(0, queries, 4), queries - 1}):
        asked = ask(embedded, FEYNMAN, PLAYERS[player], retriever=walker, budget=Budget(max_queries=limit))
        if asked.answer.status != "partial":
            break
        partial.append((limit, asked))
    for limit, asked in partial:
        check_honest(asked)
        assert asked.answer.usage["queries"] <= limit + 10, "labels and citations of what is shown are owed"
        assert asked.answer.gaps or any(f"budget reached: {limit} quer" in note for note in asked.answer.notes)
    found = [len(asked.answer.evidence) for _, asked in partial]
    assert found[-1] > 0, "with one query less than it takes, what was found until then is kept"


def test_a_limit_on_queries_to_an_endpoint(method: str, nobel_graphs: Graphs) -> None:
    for limit in (0, 2, 4):
        asked = ask(nobel_graphs["endpoint"], FEYNMAN, retriever=method, budget=Budget(max_queries=limit))
        check_honest(asked)
        assert asked.answer.status == "partial"


def test_a_limit_on_solutions_ends_it(once: Once, method: str, embedded: kgsparql.KnowledgeBase) -> None:
    whole = once("embedded", FEYNMAN, method, "no model").answer
    for share in (0.0, 0.1, 0.5, 0.9):
        limit = int(whole.usage["rows"] * share)
        asked = ask(embedded, FEYNMAN, retriever=method, budget=Budget(max_rows=limit))
        check_honest(asked)
        assert asked.answer.status == "partial" or share > 0.5, "rows that are owed do not count"


def test_a_limit_on_time_ends_it(method: str, nobel: kgsparql.KnowledgeBase) -> None:
    model, server = scripted_model(Player())
    for who in (None, model):
        session = nobel.session(FEYNMAN, AskOptions(retriever=method, model=who, budget=Budget(max_seconds=60.0)))
        session.graph.usage.started -= 61.0
        found = answer(load(method), session)
        check_honest(Asked(found, [], [], nobel))
        assert found.status == "partial"
        assert server.requests == []
        assert any("60 seconds" in note for note in found.notes)


def test_a_model_that_takes_too_long_leaves_the_evidence(method: str, embedded: kgsparql.KnowledgeBase) -> None:
    def slow(body: dict[str, Any]) -> Any:
        reply = Player()(body)
        return Slow(30.0, reply) if {"numbers", "answers"} & asked_for(body).keys() else reply

    began = time.monotonic()
    asked = ask_slowly(embedded, slow, retriever=method, budget=Budget(max_seconds=1.0))
    assert time.monotonic() - began < 20
    check_honest(asked)
    assert asked.answer.answers
    assert {"model_failed", "budget"} & {note.code for note in asked.answer.notes}


# -- Odd graphs --------------------------------------------------------------------------------------------------------


NEXT_TO_NOTHING = {
    "one triple": ":a :p :b .", "a loop": ":a :p :a .", "literals": ':a :p "1999"^^xsd:gYear , "text"@en , 42 .',
    "nested blank nodes": ":a :p [ :q [ :r [ :s :b ] ] ] .", "behind a blank node": ":b :p [ :q :a ] .",
    "a cycle of blank nodes": ":a :p _:l . _:l :next _:r . _:r :next _:l .", "noise": ":a rdfs:seeAlso :b ; a :C .",
}  # fmt: skip


def test_a_graph_with_next_to_nothing_in_it(method: str) -> None:
    for name, turtle in NEXT_TO_NOTHING.items():
        knowledge = known(turtle)
        for script in (None, Player(), Player(sufficient=False)):
            asked = ask(knowledge, "What does it say of a?", script, retriever=method, entities=(IRI(EX + "a"),))
            check_honest(asked)
            assert asked.answer.error is None, name


def test_a_literal_and_what_lies_behind_a_blank_node_are_answers(method: str) -> None:
    knowledge = known(
        ':a rdfs:label "Alpha" ; :height "42" ; :employment [ :organisation :o ] . :o rdfs:label "Acme" . '
        ':height rdfs:label "height" . :employment rdfs:label "employment" . :organisation rdfs:label "organisation" .'
    )
    for way, label in (("height", "42"), ("organisation of the employment", "Acme")):
        asked = ask(knowledge, f"What is the {way} of Alpha?", retriever=method)
        check_honest(asked)
        assert label in [a.label for a in asked.answer.answers]


HUBS = {
    "embedded-alpha": ("embedded", "alpha", "no model", True),
    "embedded-hub": ("embedded", "hub", "never enough", False),
    "endpoint-hub": ("endpoint", "hub", "no model", False),
}


def batches(asked: Asked) -> int:
    """Queries that were sent, those counted once that ask for the same of many terms, as many at a time as may be.

    What asks for one term after the other is counted query by query.
    """
    count, before = 0, None
    for run in asked.queries():
        is_next = before is not None and before.name == run.name
        is_full = before is not None and before.text.count("<") >= asked.knowledge.graph.chunk_size / 4
        count += not (is_next and is_full)
        before = run
    return count


@pytest.mark.parametrize(("method", "hub"), crossed(METHODS, HUBS, times=2))
def test_Q16_a_hub_stays_within_the_queries_it_may_send(method: str, hub_graphs: Graphs, hub: str) -> None:
    where, topic, player, complete = HUBS[hub]
    question = {"alpha": "What else is in the same hub as Alpha?", "hub": "What is in The Hub?"}[topic]
    asking: dict[str, Any] = {"entities": (IRI(EX + topic),), "complete": complete}
    asked = ask(hub_graphs[where], question, PLAYERS[player], retriever=method, **asking)
    check_honest(asked)
    assert len(asked.answer.evidence) > 0
    assert batches(asked) <= _bounds(method, asked)["queries"]
    assert asked.answer.usage["queries"] <= 500
    others = [one for one in asked.answer.choices if one.reading not in asked.answer.text]  # than what is answered
    other_readings = 5_000 * len(others)
    assert asked.answer.usage["rows"] <= 28_000 + other_readings, "nobody reads the whole hub"
    assert asked.answer.status == ("partial" if asked.answer.gaps else "answered"), "no budget ended it"
    said = ("at most", "more edges", "were walked on from")
    cuts = [note.lower() for note in asked.answer.notes if any(words in note for words in said)]
    is_computed = asked.answer.computed is not None and (not asked.answer.computed.is_cut or bool(cuts))
    assert is_computed or any("hub" in cut or f"{topic}: is in" in cut or f"{topic} —is in→" in cut for cut in cuts), (
        "what was left out of the hub is said, and where"
    )


def test_Q20_an_entity_that_is_nowhere(method: str, nobel: kgsparql.KnowledgeBase) -> None:
    for script in (None, Player()):
        with pytest.raises(NotFoundError, match="nowhere> is not in the graph"):
            ask(nobel, "Where is it?", script, retriever=method, entities=(IRI(EX + "nowhere"),))
    with pytest.raises(NotFoundError) as caught:
        ask(known("# no triples"), FEYNMAN, Player(), retriever=method)
    assert caught.value.code == "E_EMPTY_GRAPH"


def test_nothing_asked_is_in_the_graph_and_asking_changes_nothing(method: str) -> None:
    knowledge = known(':a rdfs:label "Alpha" ; :p :b . :b rdfs:label "Beta" .')
    before = set(knowledge.graph.store)
    for script in (None, Player()):
        asked = ask(knowledge, "Where do zebras live?", script, retriever=method)
        assert (asked.answer.status, len(asked.answer.evidence)) == ("no_entity", 0)
    ask(knowledge, "What is Alpha near?", Player(), retriever=method)
    assert set(knowledge.graph.store) == before


def test_every_method_is_found_by_its_file() -> None:
    folder = Path(kgsparql.__file__).parent / "retrievers"
    files = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert files == set(names())
    assert all(find(name).__module__ == f"kgsparql.retrievers.{name}" for name in files)
