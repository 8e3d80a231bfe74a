"""Think-on-Graph: on small graphs without a model, then with a scripted one; each known mistake of others is a test."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kgsparql import IRI, BlankNode, OxigraphGraph, Retrieval, Session
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.retrievers import load
from kgsparql.retrievers._walking import is_opaque
from tests import scripted, world
from tests.model_server import Reply, Text
from tests.scripted import facts_with, marked, numbered
from tests.world import EX, FEYNMAN, Asked, examples, graph_of, knowledge_of, linked, open_nobel, texts

Body = dict[str, Any]
Script = Callable[[Body], Reply]
WORK = """
:ann :works_at :uni, :lab . :ben :works_at :uni . :cas :works_at :uni . :dan :works_at :lab .
:uni :city :bonn . :lab :city :kiel . :ann :born "1990" . :ann :knows :eva .
"""


def first_subject(turtle: str) -> list[str]:
    """What a question is about unless the test says otherwise."""
    return re.findall(r":(\w+) ", turtle)[:1]


def session_of(
    graph: OxigraphGraph | str, question: str = "what about it?", entities: Sequence[str] = (), **more: Any
) -> Session:
    emit = more.pop("events", []).append
    return linked(
        world.session_of(graph, examples(*entities or first_subject(str(graph))), question, emit=emit, **more)
    )


def retrieve(
    graph: OxigraphGraph | str, question: str = "what about it?", *, options: Any = None, **more: Any
) -> Retrieval:
    return load("think_on_graph", options).retrieve(session_of(graph, question, **more))


def named(found: Retrieval) -> list[str]:
    return [candidate.label for candidate in found.candidates]


def ask(replies: Any, question: str = FEYNMAN, **more: Any) -> Asked:
    """Ask a question of the bundled graph."""
    return scripted.ask(open_nobel(), question, replies, retriever="think_on_graph", **more)


def ask_about(turtle: str, replies: Any, question: str = "what about it?", **more: Any) -> Asked:
    """Ask a question about the first subject of another graph."""
    asking = {"retriever": "think_on_graph", "entities": examples(*first_subject(turtle)), **more}
    return scripted.ask(knowledge_of(turtle), question, replies, **asking)


def listed(body: Body) -> list[str]:
    """The candidates of a request, in their order."""
    return [*numbered(body).values()]


def purpose(body: Body) -> str:
    return str(body["response_format"]["json_schema"]["name"])


def purposes(asked: Asked) -> list[str]:
    return [purpose(body) for body in asked.bodies]


def choices(scores: dict[int, float]) -> Text:
    return Text({"choices": [{"n": n, "score": score} for n, score in scores.items()]})


def picking(**scores: float) -> Script:
    """Choose the candidates that end in these words, ``_`` for a space, with these scores."""

    def script(body: Body) -> Text:
        ends = {rf"{name.replace('_', ' ')}(?:[→—]* \([\d,]+\+?(?:: .*)?\))?$": own for name, own in scores.items()}
        shown = enumerate(listed(body), 1)
        return choices({n: score for n, text in shown for end, score in ends.items() if re.search(end, text)})

    return script


NOTHING = Text({"choices": []})
NOT_ENOUGH = facts_with()


def script(**replies: Reply | Script) -> Script:
    """Replies by purpose; by default the first three candidates are chosen, and the first fact is the answer."""

    def reply(body: Body) -> Reply:
        found = replies.get(purpose(body), scripted.reader)
        if purpose(body) in {"predicates", "entities"} - {*replies}:
            return choices({n: 0.9 - n / 10 for n in range(1, min(3, len(listed(body))) + 1)})
        return found if isinstance(found, Reply) else found(body)

    return reply


def scores_of(turtle: str, **replies: Reply | Script) -> dict[str, float]:
    """The scores of what a model that finds no answer keeps at the first depth."""
    model, _ = world.scripted_model(script(answer=NOT_ENOUGH, **replies))
    found = retrieve(turtle, model=model, complete=False, options={"depth": 1})
    return {item.text: item.score for item in found.evidence}


def test_the_way_that_was_asked_for_comes_first_with_all_its_ends() -> None:
    found = ask(None, "In which country was Ernest Rutherford born?")
    assert found.texts[0] == "Ernest Rutherford —place of birth→ Brightwater —country→ New Zealand"
    assert (found.labels[0], found.answer.status) == ("New Zealand", "answered")


def test_a_walk_is_a_sample_and_its_path_is_followed_to_every_answer() -> None:
    """One colleague was met, all are found; of twelve films three are kept, only the last has a language."""
    found = retrieve(WORK, "who works at what Ann works at?", options={"width": 1, "depth": 2})
    item = next(iter(found.evidence))
    assert sorted(named(found)[:3]) == ["ben", "cas", "dan"]
    assert set(item.ends) == set(examples("ben", "cas", "dan"))
    assert {row["answer"] for row in graph_of(WORK).store.query(item.query.text)} == set(item.ends)  # type: ignore[union-attr]
    films = "".join(f":actor :played_in :film{i:02} . :film{i:02} :year {2000 + i} . " for i in range(12))
    asked = "what is the language of what it played in?"
    assert named(retrieve(films + ":film11 :language :welsh .", asked))[0] == "welsh"


def test_without_completion_the_evidence_is_exactly_the_kept_chains() -> None:
    found = retrieve(WORK, "who works at the city?", complete=False, options={"depth": 2})
    assert 1 <= len(found.evidence) <= 6
    for item in found.evidence:
        (path,) = item.paths
        assert (len(item.triples), item.ends) == (len(path), ())
        assert len(list(graph_of(WORK).store.query(item.query.text))) == 1, "the query finds just this chain again"  # type: ignore[arg-type]


def test_two_hops_through_a_blank_node_are_one_step() -> None:
    turtle = ":ann :employment [ :employer :uni ; :since 1999 ] . :uni :city :bonn ."
    found = retrieve(turtle, "in which city is the employer?", options={"depth": 2})
    assert "ann —employment→ [] —employer→ uni —city→ bonn" in texts(found)
    assert not any(isinstance(candidate.term, BlankNode) for candidate in found.candidates)
    assert "ann —employment→ [] —since→ 1999" in texts(retrieve(turtle, "since when?", options={"depth": 1}))


def test_what_has_no_name_has_the_share_of_its_predicate() -> None:
    turtle, entities = ":a :p :Q1, :Q2, :named, :called .", picking(named=0.6, called=0.2)
    four, three = (ask_about(turtle, script(entities=entities), options={"depth": 1, "width": n}) for n in (4, 3))
    assert purposes(four) == ["predicates", "answer"], "all have their place"
    assert listed(three.bodies[1]) == ["a —p→ called", "a —p→ named"]
    scores = {text.split()[-1]: score for text, score in scores_of(turtle, entities=entities).items()}
    assert scores == {"named": pytest.approx(0.601), "called": pytest.approx(0.201), "Q1": 0.25, "Q2": 0.25}


def test_what_says_nothing_is_an_identifier_without_a_label() -> None:
    opaque, readable = ("Q42", "m.07sbkfb"), ("IBM", "1984_Olympics", "paper7", "第44届")
    turtle = " ".join(f":a :p <{EX}{name}> ." for name in (*opaque, *readable)) + ' :Q7 rdfs:label "Q7" .'
    session = session_of(turtle)
    session.labels(examples(*opaque, *readable, "Q7"))
    assert [is_opaque(iri, session) for iri in examples(*opaque, *readable, "Q7")] == [True] * 2 + [False] * 5
    for names, label in product((["IBM", "SAP", "AMD", "DEC"], ["北京", "上海", "東京", "大阪"]), (True, False)):
        facts = " ".join(f":a :p :{name} ." + f' :{name} rdfs:label "{name}" .' * label for name in names)
        asked = ask_about(facts, script(), options={"depth": 1})
        assert set(listed(asked.bodies[1])) == {f"a —p→ {name}" for name in names}, "short names are chosen from too"


def test_the_instances_of_a_class_are_a_step_away_and_no_other_types() -> None:
    rivers = " ".join(f':r{i} a :River ; rdfs:label "Stream {i}" ; :flows :sea .' for i in range(5))
    turtle = f""":River a rdfs:Class ; rdfs:label "river" . {rivers} :sea a :Water ; rdfs:label "Sea" .
        :Water rdfs:label "water" . :flows rdfs:label "flows into" ."""
    for method in ("think_on_graph", "struct_gpt"):
        asking: dict[str, Any] = {"entities": (), "retriever": method}
        found = ask_about(turtle, None, "List every river", **asking)
        assert [link.kind for link in found.answer.linked] == ["class"]
        assert {f"Stream {i}" for i in range(5)} <= set(found.labels)
        cited = [c for item in found.answer.evidence for c in item.triples]
        types = [c for c in cited if str(c.triple.predicate).endswith("#type>")]
        assert {(str(c.triple.object), c.direction) for c in types} == {(f"<{EX}River>", "inverse")}


def test_noise_is_not_walked() -> None:
    turtle = """:a <http://xmlns.com/foaf/0.1/depiction> :picture ; <http://www.w3.org/2002/07/owl#sameAs> :b ;
        :viaf "12" ; :p :c ; :q :d . :viaf rdfs:label "VIAF ID" ."""
    assert set(texts(retrieve(turtle, options={"depth": 1}))) == {"a —p→ c", "a —q→ d"}
    assert "a —VIAF ID→ 12" in texts(retrieve(turtle, "what is its VIAF ID?", options={"depth": 1}))


def test_mistake_02_the_entity_that_was_chosen_is_the_one_that_is_expanded() -> None:
    """D2: two entities of the same name."""
    turtle = """:a :p :first, :second, :third . :first rdfs:label "Paris" ; :q :wrong .
        :second rdfs:label "Paris" ; :q :right . :third rdfs:label "Rome" ; :q :worse ."""
    replies = script(entities=choices({2: 0.9, 1: 0.1}), enough=NOT_ENOUGH, answer=facts_with("right"))
    asked = ask_about(turtle, replies, complete=False, options={"width": 1, "depth": 2})
    assert listed(asked.bodies[1]) == ["a —p→ Paris", "a —p→ Paris", "a —p→ Rome"]
    assert asked.texts[0] == "a —p→ Paris —q→ right"
    assert not any("wrong" in text for text in asked.texts)
    assert asked.answer.evidence["P1"].triples[0].triple.object == IRI(EX + "second")


def test_mistake_03_a_predicate_in_both_directions_is_two_choices() -> None:
    inverse = lambda body: choices({1 + listed(body).index("ann ←advised— (1: cas)"): 1})  # noqa: E731
    asked = ask_about(":ann :advised :ben . :cas :advised :ann .", script(predicates=inverse), options={"depth": 1})
    assert listed(asked.bodies[0]) == ["ann —advised→ (1: ben)", "ann ←advised— (1: cas)"]
    assert asked.texts == ["ann ←advised— cas"]


def test_mistake_09_scores_need_not_sum_to_one_and_are_no_reason_to_take_all_for_alike() -> None:
    twice = [{"n": 1, "score": 0.3333}, {"n": 2, "score": 0.33341}, {"n": 2, "score": 0.1}]
    turtle, odd = ":a :p :x ; :q :y ; :r :z ; :s :v .", Text({"choices": twice})
    asked = ask_about(turtle, script(predicates=odd), options={"depth": 1})
    scores = scores_of(turtle, predicates=odd)
    assert scores["a —p→ x"] == pytest.approx(0.3333 / 0.66671)
    assert sum(scores.values()) == pytest.approx(1)
    reasons = [used.reason[:5] for used in asked.answer.fallbacks if used.purpose != "ranking"]
    assert reasons == ["1 of "], "what was there twice is counted"

    def city(predicates: Reply | Script) -> Asked:
        asking: dict[str, Any] = {"complete": False, "options": {"depth": 1}}
        return ask_about(":a :p :x ; :city :y ; :r :z .", script(predicates=predicates), "in which city?", **asking)

    same = city(picking(p=0.9, r=0.9))
    assert (sorted(same.texts), same.fallbacks) == (["a —p→ x", "a —r→ z"], []), "they are as good as each other"


def test_a_choice_of_no_predicate_is_respected_and_the_next_ones_are_read_once() -> None:
    asked = ask_about(WORK, script(predicates=NOTHING), "who?")
    assert purposes(asked) == ["predicates"], "there is nothing more to read"
    assert asked.labels == ask_about(WORK, None, "who?").labels, "the answer without a model"
    assert "nothing_chosen" in {note.code for note in asked.answer.notes}
    turtle = ":a " + " ; ".join(f":p{i} :n{i}" for i in range(40)) + " ."
    for method in ("think_on_graph", "struct_gpt"):
        many = ask_about(turtle, script(predicates=NOTHING), retriever=method)
        first, second = (set(listed(body)) for body in many.bodies)
        assert (len(first), len(second), first & second) == (30, 10, set())
        assert asked.fallbacks == many.fallbacks == []


def test_a_model_that_was_asked_for_a_link_and_chose_nothing_is_not_asked_again() -> None:
    turtle = ':a rdfs:label "Alpha" ; ' + " ; ".join(f":p{i} :n{i}" for i in range(40)) + " ."
    replies = script(reading=Text({"numbers": [], "meaning": "", "search": "Alpha"}), predicates=NOTHING)
    for method in ("think_on_graph", "struct_gpt"):
        asked = ask_about(turtle, replies, "Where do zebras live?", entities=(), retriever=method)
        assert purposes(asked) == ["reading", "predicates"]


def test_a_model_that_chose_no_predicate_reads_those_of_what_else_is_meant() -> None:
    turtle = """:film rdfs:label "Dune" ; :director :lynch ; :year "1984" ; :genre :sf . :lynch rdfs:label "L" .
    :book rdfs:label "Dune" ; :author :herbert . :herbert rdfs:label "Frank Herbert" ."""
    replies = script(predicates=picking(author=0.9))
    for method in ("think_on_graph", "struct_gpt"):
        asked = ask_about(turtle, replies, "who wrote Dune?", entities=(), retriever=method)
        assert purposes(asked)[:2] == ["predicates", "predicates"]
        assert (asked.texts, asked.fallbacks) == (["Dune —author→ Frank Herbert"], [])
        assert [link.term for link in asked.answer.linked] == [IRI(EX + "book")]


def test_after_the_first_hop_a_choice_of_nothing_ends_the_walk() -> None:
    def predicates(body: Body) -> Reply:
        return NOTHING if any("→ uni" in line for line in listed(body)) else picking(works_at=0.9)(body)

    replies = script(predicates=predicates, enough=NOT_ENOUGH, answer=facts_with("works at"))
    asked = ask_about(WORK, replies, "where does ann work?")
    assert purposes(asked) == ["predicates", "enough", "predicates", "answer"]
    assert (asked.labels, asked.texts[0], asked.fallbacks) == (["lab", "uni"], "ann —works at→ lab; uni", [])


def test_the_facts_that_are_judged_come_as_the_model_scored_them() -> None:
    """A predicate with one neighbour does not come before what the model scored higher among many."""
    turtle = ":a :p :paris, :rome, :london, :berlin, :madrid, :lisbon ; :q :vienna . :rome :r :tiber ."
    replies = script(predicates=picking(p=0.5, q=0.5), entities=picking(rome=0.9, berlin=0.8, vienna=0.3))
    asked = ask_about(turtle, replies, "what?", complete=False)
    body = next(body for body in asked.bodies if purpose(body) == "enough")
    facts = [re.sub(r" \[\d+\]", "", fact) for fact in marked(body).values()]
    assert facts == ["a —p→ rome", "a —p→ berlin", "a —q→ vienna"]


def test_what_the_model_leaves_out_of_siblings_stays_out_but_not_what_it_never_saw() -> None:
    """Of two official languages of a country it keeps one; of five in the list of entities; all five of 30."""

    def country(languages: int, **replies: Reply | Script) -> Asked:
        turtle = "".join(f":be :language :tongue{n:02} . " for n in range(languages))
        return ask_about(turtle, script(**replies), "which language has be?", options={"depth": 1})

    for one in (country(2, answer=facts_with("tongue01")), country(5, entities=picking(tongue01=0.9))):
        assert (one.labels, one.answer.cited, one.texts[0]) == (["tongue01"], ("P1",), "be —language→ tongue01")
    every = country(30, entities=choices(dict.fromkeys(range(1, 6), 0.9)), answer=facts_with("language"))
    assert (len(marked(every.bodies[-1])), len(every.labels)) == (5, 30)


def test_mistake_10_a_beam_does_not_bounce_and_siblings_are_found() -> None:
    """The way back is there, but not to the term just left; the same predicate leads to others."""
    found = retrieve(":ann :works_at :uni . :ben :works_at :uni .", "who works at the same?", complete=False)
    assert texts(found) == ["ann —works at→ uni ←works at— ben"]


def test_mistake_11_a_predicate_is_shown_with_a_count_and_examples_not_its_triples() -> None:
    asked = ask_about("".join(f":a :p :object{i} . " for i in range(500)), script(), options={"depth": 1})
    assert listed(asked.bodies[0]) == ["a —p→ (500: object0; object1)"]
    assert len(listed(asked.bodies[1])) == 5, "thinned"


def test_mistake_15_a_hub_is_thinned_to_what_the_question_is_about() -> None:
    """D6: a topic with in-degree 157, out-degree 0, and questions that quote a title."""
    words = "model graph query store index beam label answer path rule test cost order engine".split()
    titles = [f"{words[i % 14].title()} {words[(i * 5 + 3) % 13]} study {i}" for i in range(157)]
    papers = graph_of("".join(f':paper{i} :field :hub ; rdfs:label "{title}" . ' for i, title in enumerate(titles)))
    asking: dict[str, Any] = {"entities": ["hub"], "complete": False}

    found = {
        t: retrieve(papers, f"In which year did '{t}' appear?", options={"depth": 1}, **asking) for t in titles[:60]
    }
    kept = sum(any(text.endswith(f" {title}") for text in texts(own)) for title, own in found.items())
    assert kept >= 57


@pytest.mark.parametrize("gold", [5, 150])
def test_mistake_15_a_name_that_shares_no_word_with_the_question_is_found_by_its_meaning(gold: int) -> None:
    """A ranker that knows what words cannot tell, as an embedder does."""

    class Knowing(BM25Ranker):
        def rank(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
            return np.array([1.0 if text.endswith(f"name {gold:03}") else 0.1 for text in texts])

    class ByMeaning:
        name, rank, similarities = "by meaning", Knowing().rank, Knowing().similarities
        by_meaning = True

    facts = "".join(f':hub :p :e{i:03} . :e{i:03} rdfs:label "name {i:03}" . ' for i in range(157))
    found = retrieve(facts, ranker=ByMeaning(), options={"depth": 1, "thin_to": 5}, complete=False)
    assert f"hub —p→ name {gold:03}" in texts(found)
