"""The oracle: which paths and triples it goes by, and that methods stop where it says that there is enough."""

import importlib.util
import json
from types import ModuleType

import pytest

from kgsparql import IRI, AskOptions, CitedTriple, Evidence, EvidenceItem, KnowledgeBase, Query, Triple
from kgsparql.answering.choosing import Candidate, choose
from kgsparql.answering.session import Oracle
from kgsparql.evaluation.dataset import GoldAnswer, Question, Topic
from kgsparql.evaluation.oracle import gold_paths, oracle_for, paths_to_triples, predicates_by_name
from kgsparql.events import CandidatesChosen, Event
from kgsparql.rdf.paths import Hop, Path, PropertyPath
from tests.world import EX, FIXTURES, ROOT, graph_of

A, B, C, P, Q = (IRI(EX + name) for name in "abcpq")
GOLD = [json.loads(line) for line in (FIXTURES / "nobel_questions.jsonl").read_text(encoding="utf-8").splitlines()]


def question(**more: object) -> Question:
    return Question(id="1", text="Who?", **more)  # type: ignore[arg-type]


def oracle(**more: object) -> Oracle:
    made = oracle_for(question(**more), {"p": (P,), "q": (Q,)})
    assert made is not None
    return made


def along(*hops: Hop) -> EvidenceItem:
    triples = tuple(CitedTriple(hop.triple, hop.direction) for hop in hops)
    return EvidenceItem("path", "", triples, Query("q", ""), ways=(Path(hops[0].start, hops),))


ONE, BACK = Hop(Triple(A, P, B)), Hop(Triple(C, Q, B), "inverse")


def test_predicates_of_one_name_are_all_kept_the_commonest_first() -> None:
    graph = graph_of("@prefix o: <http://other.org/x#> . :a :at :b . :a o:at :b , :c . :a :of%20it :c .")
    assert predicates_by_name(graph) == {
        "at": (IRI("http://other.org/x#at"), IRI(EX + "at")), "of it": (IRI(EX + "of%20it"),),
    }  # fmt: skip


def test_a_path_of_names_is_every_path_that_they_may_stand_for_and_none_where_the_graph_lacks_one() -> None:
    names = {"at": (P, Q), "of": (P,)}
    paths = gold_paths(question(path=("^at", "of")), names)
    assert [str(path) for path in paths] == [f"^<{EX}p>/<{EX}p>", f"^<{EX}q>/<{EX}p>"]
    in_full = gold_paths(question(path=(f"^<{EX}p>", EX + "q")), {})
    assert in_full == (PropertyPath.of(f"^{EX}p", f"{EX}q"),)
    assert gold_paths(question(path=("p", "unheard_of")), {"p": (P,)}) == ()
    assert gold_paths(question(path=("not an iri: at all",)), {}) == ()
    assert oracle_for(question(path=("unheard_of",)), {"p": (P,)}) is None
    assert oracle_for(question(), {"p": (P,)}) is None


def test_a_gold_path_walked_to_its_end_is_enough_else_every_golden_triple_in_the_evidence() -> None:
    asked = oracle(path=("p", "^q"))
    assert asked.is_enough(Evidence()) is False
    assert asked.is_enough(Evidence([along(ONE)])) is False
    assert asked.is_enough(Evidence([along(ONE), along(ONE, BACK)])) is True
    assert asked.is_enough(Evidence([along(ONE, BACK, Hop(Triple(C, P, A)))])) is True
    assert asked.is_enough(Evidence([along(BACK.reversed)])) is False
    with_triples = oracle(path=("p",), golden_triples=(BACK.triple,))
    assert with_triples.is_enough(Evidence([along(ONE)])) is True, "with a path, triples do not count"
    assert Oracle().is_enough(Evidence([along(ONE)])) is None
    asked = oracle(golden_triples=(ONE.triple, BACK.triple))
    assert set(asked.predicates) == {P, Q}
    assert asked.is_enough(Evidence([along(ONE)])) is False
    assert asked.is_enough(Evidence([along(ONE), along(BACK)])) is True


HUB = """
:topic :has :one , :two . :one :about :x ; :by :ann . :two :about :y . :elsewhere :about :z .
:ann :wrote :topic . :far :about :ann .
"""


def gold(*triples: str) -> tuple[Triple, ...]:
    return tuple(Triple(*(IRI(EX + name) for name in triple.split())) for triple in triples)


def test_golden_triples_are_led_to_from_the_topics() -> None:
    graph, topics = graph_of(HUB), (Topic(IRI(EX + "topic")),)

    def led(*triples: str, **more: object) -> list[str]:
        asked = question(golden_triples=gold(*triples), **{"topics": topics, **more})
        return [str(path).replace(EX, "") for path in paths_to_triples(asked, graph)]

    assert led("one about x", "two about y") == ["<has>/<about>"]
    assert led("topic has one") == ["<has>"]
    assert led("far about ann") == ["^<wrote>/^<about>"]
    assert led("elsewhere about z") == []
    assert led("one about x", topics=()) == []


def test_with_the_graph_an_oracle_goes_by_the_ways_to_its_triples() -> None:
    graph, triples = graph_of(HUB), gold("one about x", "two about y")
    asked = question(golden_triples=triples, topics=(Topic(IRI(EX + "topic")),))
    made = oracle_for(asked, {}, graph)
    assert made is not None
    topic, has = IRI(EX + "topic"), IRI(EX + "has")
    steps = [Candidate(0, "a", path=PropertyPath.of(EX + "about")), Candidate(1, "b", path=PropertyPath.of(EX + "has"))]
    session = KnowledgeBase(graph, embedder="none").session("of the topic?", AskOptions(oracle=made))
    assert [(c.candidate.number, c.chosen_by) for c in choose(steps, "predicates", 2, session)] == [(1, "oracle")]
    first = Hop(Triple(topic, has, triples[0].subject))
    assert made.is_enough(Evidence([along(first)])) is False
    assert made.is_enough(Evidence([along(first, Hop(triples[0]))])) is True  # the only way, walked to its end


def test_an_oracle_judges_without_a_word(nobel: KnowledgeBase) -> None:
    retrieval = nobel.retrieve("Who discovered radium?")
    way = next(item for item in retrieval.evidence if item.ways).ways[0]
    gold = [
        step.predicate.value if step.direction == "forward" else f"^{step.predicate.value}"
        for step in way.property_path.steps
    ]
    for path, is_enough in ((gold, True), ([*gold, "http://e.org/more"], False)):
        asked = oracle_for(question(path=tuple(path)), {})
        assert asked is not None
        assert asked.is_enough(retrieval.evidence) == is_enough


@pytest.mark.parametrize("method", ["struct_gpt", "think_on_graph"])
def test_a_method_stops_at_the_gold_depth_and_finds_all_that_is_gold(nobel: KnowledgeBase, method: str) -> None:
    names = predicates_by_name(nobel.graph)
    hops = set()
    for known in GOLD[::4]:
        steps: list[Event] = []
        chosen_by = oracle_for(question(path=tuple(known["path"])), names)
        topics = tuple(IRI(topic["iri"]) for topic in known["topic_entities"])
        answer = nobel.ask(known["question"], retriever=method, entities=topics, oracle=chosen_by, emit=steps.append)
        best = answer.evidence[answer.answers[0].markers[0]]
        assert set(known["answer_iris"] or known["answers"]) <= {getattr(end, "value", "") for end in best.ends}
        assert max(len(way) for item in answer.evidence for way in item.ways) == len(known["path"])
        assert answer.usage["model_calls"] == 0
        assert {event.chosen_by for event in steps if isinstance(event, CandidatesChosen)} == {"oracle"}
        hops.add(len(known["path"]))
    assert len(hops) > 1


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("computed", ROOT / "benchmarks" / "computed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("sparql", "kind"),
    [
        ("SELECT DISTINCT ?x WHERE { <http://e.org/a> <http://e.org/p> ?x }", "lookup"),
        ("ASK { ?x <http://e.org/p> 1 FILTER NOT EXISTS { ?x <http://e.org/q> ?y } }", "yes/no"),
        ("SELECT DISTINCT (COUNT(?x) AS ?n) WHERE { ?x <http://e.org/p> ?y }", "count"),
        ("SELECT (ROUND(AVG(?y) * 100) / 100 AS ?n) { ?x <http://e.org/p> ?y }", "number"),
        ("SELECT ?x { ?x <http://e.org/p> ?y } ORDER BY DESC(?y) LIMIT 1", "extreme"),
        ("SELECT ?x { ?x <http://e.org/p> ?y FILTER(?y > 5) }", "filter"),
        ('SELECT ?x { ?x <http://e.org/p> ?y FILTER(CONTAINS(?y, "a > b")) }', "lookup"),
        ("SELECT ?x { ?x <http://e.org/p> ?y MINUS { ?x <http://e.org/q> ?z } }", "negation"),
        ("SELECT (COUNT(?x) AS ?n) { ?x a <http://e.org/C> }", "count"),
        ("SELECT ?x ?n { ?x a <http://e.org/C> ; <http://e.org/n> ?n }", "table"),
        ("SELECT ?x (COUNT(?y) AS ?n) { ?x <http://e.org/p> ?y } GROUP BY ?x", "table"),
    ],
)
def test_a_kind_by_the_shape_of_a_query(benchmark: ModuleType, sparql: str, kind: str) -> None:
    assert benchmark.question_kind(Question(id="1", text="?", type="SELECT", sparql=sparql)) == kind


def test_the_word_of_the_dataset_comes_first_and_what_has_no_query_is_looked_up(benchmark: ModuleType) -> None:
    question = Question(id="1", text="?", type="table,RESULT_ORDER_MATTERS", sparql="ASK { ?x ?p 1 }")
    assert benchmark.question_kind(question) == "table"
    assert benchmark.question_kind(Question(id="1", text="?", path=("author",))) == "lookup"
    assert benchmark.columns("SELECT ?x (ROUND(AVG(?y) * 100) / 100 AS ?n)") == 2


def test_yes_and_no_stand_apart_and_always_no_is_a_baseline(benchmark: ModuleType) -> None:
    no = Question(id="1", text="?", type="yes/no", answers=(GoldAnswer(None, "false"),))
    zero = Question(id="2", text="?", type="count", answers=(GoldAnswer(None, "0"),))
    eight = Question(id="3", text="?", type="count", answers=(GoldAnswer(None, "8"),))
    assert list(benchmark.kinds_of(no)) == ["yes/no", "yes/no: false", "computed"]
    assert [benchmark.always_no(question) for question in (no, zero, eight)] == [True, True, False]
    assert [benchmark.share(values) for values in ([1.0, 0.0, 0.0], [])] == ["33 %", "–"]
