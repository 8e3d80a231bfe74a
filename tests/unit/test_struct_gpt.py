"""StructGPT on small graphs; each known mistake of other implementations is a test."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from kgsparql import IRI, Budget, StructGPT, answer_to_json
from tests import scripted
from tests.model_server import NullContent, Reply, Text
from tests.scripted import by_call, facts_with, marked, numbered, purposes
from tests.world import EX, Asked, knowledge_of, open_nobel

CHAIN = """
:a rdfs:label "Alpha" ; :p :b . :b rdfs:label "Beta" ; :q :c , :a2 . :c rdfs:label "Gamma" ; :r :d .
:d rdfs:label "Delta" . :a2 rdfs:label "Alpha Two" ; :noise :a .
:p rdfs:label "first" . :q rdfs:label "second" . :r rdfs:label "third" . :noise rdfs:label "noise" .
"""
THIRD = "What is the third of the second of the first of Alpha?"
AWARDS = """
:marie rdfs:label "Marie" ; :award [ :prize :physics ; :year "1903" ; :with :pierre ] ,
  [ :prize :chemistry ; :year "1911" ] , [ :prize :medal ; :year "1911" ; :with :nora ] .
:physics rdfs:label "Nobel Prize in Physics" . :chemistry rdfs:label "Nobel Prize in Chemistry" .
:medal rdfs:label "Davy Medal" . :pierre rdfs:label "Pierre" ; :born "1859" . :nora rdfs:label "Nora" .
:award rdfs:label "received" . :prize rdfs:label "award" . :year rdfs:label "in" . :with rdfs:label "together with" .
:born rdfs:label "born" .
"""
NEAR = ':a rdfs:label "Alpha" . :p rdfs:label "near" . ' + " ".join(
    f':a :p :b{i} . :b{i} rdfs:label "Beta {i:02}" .' for i in range(12)
)
NO = Text("No")
NONE = Text({"choices": []})
NEVER = facts_with("no such fact")
BETAS = [f"Beta {i:02}" for i in range(12)]

Body = dict[str, Any]
Script = Callable[[Body], Reply]


def choices(numbers: Sequence[int]) -> Text:
    return Text({"choices": [{"n": n, "score": 0.9} for n in numbers]})


def steps_of(body: Body) -> int:
    """How many steps the paths of a list have."""
    return max(len(re.findall("[→←]", text)) for text in numbered(body).values())


def choosing(*labels: str) -> Script:
    """Choose the candidates whose line has the labels in this order, one for each step."""

    def script(body: Body) -> Reply:
        wanted = labels[min(steps_of(body), len(labels)) - 1]
        return choices([n for n, text in numbered(body).items() if re.search(rf"(—{wanted}→|←{wanted}—) \(", text)])

    return script


def conditions(*lines: str) -> Script:
    """Choose the values behind mediators that are listed so."""
    return lambda body: Text({"choices": [n for n, text in numbered(body).items() if text in lines]})


def ask(turtle: str, question: str, script: Any = None, *, topics: Sequence[str] | None = None, **more: Any) -> Asked:
    """Ask about a graph, whose first subject is what the question is about unless the test says otherwise."""
    given = re.findall(r":(\w+) ", turtle)[:1] if topics is None else topics
    asking = {"retriever": "struct_gpt", "entities": tuple(IRI(EX + name) for name in given), **more}
    return scripted.ask(knowledge_of(turtle), question, script, **asking)


def test_without_a_model_every_path_is_followed_to_every_end() -> None:
    asked = scripted.ask(open_nobel(), "When did Marie Curie die?", retriever="struct_gpt")
    assert [own.label for own in asked.answer.best] == ["1934-07-04"]
    item = asked.answer.evidence[0]
    assert "dbpedia.org/ontology/deathDate" in item.query.text
    assert item.query.text.startswith("SELECT DISTINCT ?answer")
    assert asked.answer.usage["model_calls"] == 0


def test_the_answer_is_a_sample_where_nothing_is_to_be_completed() -> None:
    some, every = (
        ask(NEAR, "What is Alpha near?", options={"neighbours_per_predicate": 10}, complete=complete).answer
        for complete in (False, True)
    )
    assert [[len(item.ends) for item in answer.evidence] for answer in (some, every)] == [[10], [12]]
    assert any("at most 10 of 12" in note for note in some.notes)
    hub = ask(':a rdfs:label "Alpha" . ' + " ".join(f":b{i} :in :a ." for i in range(700)), "What is in Alpha?")
    assert [len(item.ends) for item in hub.answer.evidence] == [700], "some are looked at, the path leads to all"
    assert any("at most 200 of 700 taken" in note for note in hub.answer.notes)


def test_several_topics_are_gone_on_from_at_once() -> None:
    turtle = ':a rdfs:label "Alpha" ; :spouse :x . :b rdfs:label "Beta" ; :height "3" . :spouse rdfs:label "spouse" .'
    script = by_call(choices=choosing("spouse"))
    asked = ask(turtle, "Who is the spouse?", script, topics="ba", options={"max_steps": 1})
    assert set(numbered(asked.bodies[0]).values()) == {"Beta —height→ (1: 3)", "Alpha —spouse→ (1: x)"}
    assert {way.start for item in asked.answer.evidence for way in item.paths} == {IRI(EX + "a")}


TO_DELTA = by_call(choices=choosing("first", "second", "third"), answer=facts_with("→ Delta"))


def test_D3_mistake_01_and_06_a_question_of_three_hops_is_answered_at_the_third_step_every_time() -> None:
    method = StructGPT()
    asked, again = (ask(CHAIN, THIRD, TO_DELTA, retriever=method) for _ in range(2))
    assert (asked.labels, asked.answer.text, purposes(asked)) == (["Delta"], "Delta [P1]", ["choices", "answer"] * 3)
    drafted = ask(CHAIN, THIRD, retriever=method)
    for names, expected in ((("counts_forward",), 3), (("group_forward", "group_inverse"), 6)):
        assert len(asked.queries(*names)) - len(drafted.queries(*names)) == expected, "examples are one more a step"
    assert answer_to_json(asked.answer)["evidence"] == answer_to_json(again.answer)["evidence"]
    assert asked.bodies == again.bodies, "nothing is kept from one question to the next"


def to_answer(predicate: str, answer: str) -> Script:
    """Choose a predicate, and answer with this."""
    return by_call(choices=choosing(predicate), answer=facts_with(f" {answer} ["))


def test_mistake_02_predicates_are_followed_backwards_too() -> None:
    turtle = ':a rdfs:label "Alpha" . :b :wrote :a ; rdfs:label "Beta" . :wrote rdfs:label "wrote" .'
    assert ask(turtle, "Who wrote Alpha?", to_answer("wrote", "Beta")).labels == ["Beta"]


def test_mistake_03_a_value_called_nobel_is_no_no() -> None:
    def place(body: Body) -> int:
        return next(n for n, text in numbered(body).items() if text == "award: Nobel Prize in Physics")

    replies: list[tuple[Reply | Script, set[str]]] = [
        (lambda body: Text([place(body)]), {"1903"}), (lambda body: Text({"choices": [place(body)]}), {"1903"}),
        (NO, {"1903", "1911"}), (Text([99]), {"1903", "1911"}),
    ]  # fmt: skip
    for constraints, years in replies:
        asked = awards("in", constraints, "In which year did Marie receive the Nobel Prize in Physics?")
        assert (set(asked.labels), purposes(asked)) == (years, ["choices", "constraints", "answer"])


def test_mistake_11_nothing_is_asked_for_twice() -> None:
    """Both directions of a dense graph: whatever was expanded is not expanded again, and no step goes straight back."""
    facts = " ".join(f":n{i} :p :n{j} ." for i in range(8) for j in range(8) if i != j)
    asked = ask(facts, "what about it?", options={"max_steps": 5, "predicates_per_step": 1})
    pairs = [
        (run.name, pair)
        for run in asked.queries("group_forward", "group_inverse")
        for arm in run.text.split("UNION")
        for pair in re.findall(r"\(<\S+> <\S+>\)", arm)
    ]
    assert len(pairs) > 5
    assert len(pairs) == len(set(pairs)), "no entity is left twice by the same predicate"
    for way in (way for item in asked.answer.evidence for way in item.paths):
        for before, after in zip(way.hops, way.hops[1:], strict=False):
            assert not (after.step.inverts(before.step) and after.end == before.start)


def test_mistake_12_the_evidence_holds_every_hop_back_to_the_topic() -> None:
    script = by_call(choices=choosing("first", "second", "third"), answer=facts_with("→ Alpha Two", "→ Gamma"))
    asked = ask(CHAIN, "What is the second of the first of Alpha?", script)
    (cited,) = asked.answer.evidence.keep(m for a in asked.answer.answers for m in a.markers)
    assert {str(cited.triple.predicate) for cited in cited.triples} == {f"<{EX}p>", f"<{EX}q>"}
    assert all(way.start == IRI(EX + "a") for way in cited.paths)


def test_mistake_13_what_fits_the_question_best_is_shown_and_the_rest_is_counted() -> None:
    facts = " ".join(f':a :paper :b{i} . :b{i} rdfs:label "Study {i} of many things and others" .' for i in range(99))
    turtle = f'{facts} :b77 rdfs:label "Entangled photons" . :a rdfs:label "Alpha" . :paper rdfs:label "paper" .'
    script = by_call(choices=choosing("paper"), answer=NEVER)
    options = {"fact_tokens": 100, "max_steps": 2}
    asked, again = (ask(turtle, "Which paper is on entangled photons?", script, options=options) for _ in range(2))
    shown = [*marked(asked.bodies[1]).values()]
    assert "Entangled photons" in shown[0]
    assert f"facts shown of Alpha —paper→: at most {len(shown)} of 99 taken" in asked.answer.notes
    assert again.bodies == asked.bodies


def awards(step: str, constraints: Script | Reply = NO, question: str = "What did Marie get?", **more: Any) -> Asked:
    """Ask what Marie received; what this predicate leads to is the answer."""
    script = by_call(choices=choosing("received"), constraints=constraints, answer=facts_with(f"—{step}→"))
    return ask(AWARDS, question, script, **more)


def test_what_is_behind_a_blank_node_stands_together_under_the_triple_that_leads_there() -> None:
    asked = awards("none", options={"max_steps": 2})
    shown = marked(asked.bodies[2]).values()
    assert all(text.startswith("Marie [1] —received→ [") for text in shown)
    told = [set(re.findall("Chemistry|Physics|Medal|1903|1911", text)) for text in shown]
    assert all(prize in told for prize in ({"Chemistry", "1911"}, {"Physics", "1903"}, {"Medal", "1911"}))
    assert "Marie —received→ … —together with→ … —born→ (1: 1859)" in str(numbered(asked.bodies[3]))


def test_a_condition_is_kept_in_the_query_that_finds_the_answers() -> None:
    asked = awards("award", conditions("in: 1911"), "What did Marie get in 1911?")
    assert not any("1903" in text for text in marked(asked.bodies[2]).values())
    (prizes,) = (item for item in asked.answer.evidence if item.ends)
    assert '"1911"' in prizes.query.text
    assert {str(end) for end in prizes.ends} == {f"<{EX}chemistry>", f"<{EX}medal>"}
    assert prizes.text.endswith("(where in 1911)")


def test_mediators_match_all_conditions_else_any() -> None:
    medal, chemistry, physics = "Davy Medal", "Nobel Prize in Chemistry", "Nobel Prize in Physics"
    for wanted, left in (
        (["in: 1911", "together with: Nora"], {medal}),
        (["in: 1911", "together with: Pierre"], {medal, chemistry, physics}),
        (["together with: Pierre"], {physics}),
    ):
        assert set(awards("award", conditions(*wanted)).labels) == left, wanted
    for reply in (NullContent(), Text("{"), Text({"choices": [0, -1, 99]})):
        asked = awards("in", reply)
        assert set(asked.labels) == {"1903", "1911"}, "an unusable condition is none"
        assert "constraints" in asked.fallbacks


def test_statement_nodes_are_looked_behind_and_not_gone_on_from() -> None:
    turtle = """:ann rdfs:label "Ann" ; :position :Q1-5A3F , :Q1-77B0 . :position rdfs:label "position" .
    :Q1-5A3F a :Statement ; :value :chair ; :start "2001" . :Q1-77B0 a :Statement ; :value :clerk ; :start "1999" .
    :chair rdfs:label "chairperson" . :clerk rdfs:label "clerk" . :value rdfs:label "value" .
    :start rdfs:label "start" ."""
    script = by_call(choices=choosing("position"), constraints=NO, answer=facts_with("—value→"))
    asked = ask(turtle, "Which position had Ann?", script)
    assert (purposes(asked), asked.labels) == (["choices", "constraints", "answer"], ["chairperson", "clerk"])
    assert not any("Q1" in text for text in marked(asked.bodies[-1]).values()), "a node is not a thing to answer with"
    cited = asked.answer.evidence[asked.answer.answers[0].markers[0]]
    assert any(str(c.triple.predicate) == f"<{EX}position>" for c in cited.triples), "closed back to the topic"


def test_the_query_of_what_is_behind_mediators_finds_the_answers() -> None:
    prizes = {"Davy Medal", "Nobel Prize in Chemistry", "Nobel Prize in Physics"}
    for asked, labels in ((awards("award", NONE), prizes), (awards("in", NONE), {"1903", "1911"})):
        item = asked.answer.evidence["P1"]
        assert set(asked.labels) == labels
        found = {solution.get("answer") for solution in knowledge_of(AWARDS).graph.select(item.query)}
        assert found == set(item.ends) == {answer.term for answer in asked.answer.answers}


def test_what_was_chosen_is_followed_to_all_its_ends() -> None:
    every = by_call(choices=choosing("near"), answer=facts_with("near"))
    for options in ({"neighbours_per_predicate": 5}, {}):
        asked = ask(NEAR, "What is Alpha near?", every, options=options)
        assert (purposes(asked), sorted(asked.labels)) == (["choices", "answer"], BETAS)
        assert asked.answer.evidence["P1"].query.text.startswith("SELECT DISTINCT ?answer")
        assert ask(NEAR, "What is Alpha near?", to_answer("near", BETAS[0]), options=options).labels == BETAS[:1]


def test_where_no_fact_answers_the_draft_stands() -> None:
    drafted = ask(CHAIN, "What is Alpha near?")
    later = lambda body: choosing("first")(body) if steps_of(body) == 1 else NONE  # noqa: E731
    for choice, expected in (
        (choosing("first", "second", "noise"), ["choices", "answer"] * 3),
        (NONE, ["choices"]),  # there is nothing more to read
        (Text("none of these"), ["choices"]),
        (later, ["choices", "answer"] * 2),
    ):
        asked = ask(CHAIN, "What is Alpha near?", by_call(choices=choice, answer=NEVER))
        assert (purposes(asked), asked.texts, asked.labels) == (expected, drafted.texts, drafted.labels)
        assert (asked.answer.status, asked.fallbacks) == (drafted.answer.status, [])
        assert any("the model finds none of the readings" in note for note in asked.answer.notes)


def test_a_model_may_go_back_to_a_predicate_of_the_step_before() -> None:
    turtle = """:a rdfs:label "Alpha" ; :p :b ; :other :d . :b rdfs:label "Beta" ; :q :c . :d rdfs:label "Delta" .
    :p rdfs:label "first" . :q rdfs:label "second" . :other rdfs:label "other" . :c rdfs:label "Gamma" ."""

    def back(body: Body) -> Reply:
        if steps_of(body) == 1:
            return choosing("first")(body)
        return choices([n for n, text in numbered(body).items() if text == "Alpha —other→ (1: Delta)"])

    asked = ask(turtle, "What of Alpha?", by_call(choices=back, answer=facts_with("→ Delta")))
    assert (purposes(asked), asked.labels) == (["choices", "answer"] * 2, ["Delta"])
    assert "Alpha —first→ (1: Beta)" not in numbered(asked.bodies[2]).values(), "it was followed"


def test_a_model_goes_on_from_the_facts_that_it_selects() -> None:
    turtle = ':a rdfs:label "Alpha" ; :p :b , :c . :b rdfs:label "Beta" ; :q 1 . :c rdfs:label "Gamma" ; :r 2 .'
    for selected, onward in ((1, {"q"}), (0, {"q", "r"})):
        asked = ask(turtle, "What of Alpha?", by_call(choices=choosing("p"), answer={"used": [selected]}))
        assert set(re.findall("(.)→ [(]", str(numbered(asked.bodies[2])))) == onward


def test_a_model_may_choose_three_predicates_at_once_as_the_ranker_does() -> None:
    turtle = ':a rdfs:label "Alpha" ; ' + " ; ".join(f':p{i} "v{i}"' for i in range(5)) + " ."
    asked = ask(turtle, "What of Alpha?", by_call(choices=choices([*range(1, 6)]), answer=facts_with("→ v")))
    assert len(marked(asked.bodies[1])) == 3
    assert asked.labels == ["v0", "v1", "v2"], "what leads there was chosen in this order"
    assert len(ask(turtle, "What of Alpha?", options={"max_steps": 1}).texts) == 3


def test_the_last_call_of_a_budget_is_for_the_answer() -> None:
    never = by_call(choices=choosing("first", "second", "third"), answer=NEVER)
    for most in (1, 3, 5):
        asked = ask(CHAIN, THIRD, never, budget=Budget(max_calls=most))
        assert (len(asked.bodies), purposes(asked)[-1]) == (most, "answer")
        asked = ask(CHAIN, "What is first, second, third of Alpha?", TO_DELTA, budget=Budget(max_calls=most))
        assert (asked.labels, len(asked.bodies) <= most) == (["Delta"], True)
        asked = ask(NEAR, "What is Alpha near?", to_answer("near", BETAS[0]), budget=Budget(max_calls=most))
        assert purposes(asked) == ["choices", "answer"][-most:], "where there is no other step"
