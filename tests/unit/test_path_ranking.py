"""Path ranking: whole paths ranked, the best followed to every end."""

from typing import Any

from kgsparql import IRI
from kgsparql.events import ModelCalled
from tests import scripted
from tests.scripted import chose
from tests.world import EX, PASSED, Asked, knowledge_of

FILMS = """
:alien :director :scott ; :actor :weaver , :hurt ; rdfs:label "Alien" ; a :Film .
:blade :director :scott ; :actor :ford ; rdfs:label "Blade Runner" ; a :Film .
:gorillas :actor :weaver ; :director :apted ; rdfs:label "Gorillas" ; a :Film .
:scott rdfs:label "Ridley Scott" ; :born "1937"^^xsd:gYear ; a :Person .
:weaver rdfs:label "Sigourney Weaver" ; a :Person .
:hurt rdfs:label "John Hurt" ; a :Person . :ford rdfs:label "Harrison Ford" ; a :Person .
:apted rdfs:label "Michael Apted" ; a :Person . :Film rdfs:label "film" . :Person rdfs:label "person" .
"""


def ask(turtle: str, question: str, script: Any = None, **asking: Any) -> Asked:
    return scripted.ask(knowledge_of(turtle), question, script, retriever="path_ranking", **asking)


def test_the_ends_of_the_best_path_are_the_first_candidates() -> None:
    knowledge = knowledge_of(FILMS)
    for question, first in (
        ("which actor is in Alien?", {"Sigourney Weaver", "John Hurt"}),
        ("which films have Sigourney Weaver as actor?", {"Alien", "Gorillas"}),
        ("when was the director of Alien born?", {"1937"}),
        ("who is the director of films with the actor Harrison Ford?", {"Ridley Scott"}),
    ):
        asked = scripted.ask(knowledge, question, retriever="path_ranking")
        best = asked.answer.evidence["P1"]
        assert set(asked.labels[: len(first)]) == first
        assert {solution["answer"] for solution in knowledge.graph.select(best.query)} == set(best.ends)
        assert all(cited.verified for item in asked.answer.evidence for cited in item.triples)
    instances = ask(FILMS, "who are the directors of film?").labels
    assert {"Ridley Scott", "Michael Apted"} <= set(instances), "instances of a class are a step away"


def test_a_walk_that_goes_back_does_not_return_to_the_start() -> None:
    """Known mistake of the prototype: a bare property path lets the start back in."""
    ends = [item.ends for item in ask(FILMS, "which other films share an actor with Alien?").answer.evidence]
    assert not any(IRI(EX + "alien") in own for own in ends)
    assert (IRI(EX + "gorillas"),) in ends
    loop = ':fr :country :fr ; :capital :paris ; rdfs:label "France" . :paris rdfs:label "Paris" .'
    france = ask(loop, "which country is France?")
    assert all(item.ends != (IRI(EX + "fr"),) for item in france.answer.evidence), "its country is France: says nothing"
    assert "Paris" in france.labels


def test_not_complete_is_a_sample_that_says_so() -> None:
    turtle = "".join(f":a :p :o{i:03} ." for i in range(70))
    whole, some = (ask(turtle, "p?", entities=(IRI(EX + "a"),), complete=complete).answer for complete in (True, False))
    assert (len(whole.evidence["P1"].ends), len(some.evidence["P1"].ends)) == (70, 20)
    assert any("ends" in note for note in some.notes)


def test_what_was_not_walked_is_said() -> None:
    turtle = "".join(f":a :part :o{i:03} ." for i in range(120)) + ':o119 :mood "dark" . :a rdfs:label "Alien" .'
    notes = ask(turtle, "what is the mood of the parts of Alien?").answer.notes
    assert "paths from Alien: only 50 ends were walked on from; there are more (-O frontier=N)" in notes
    more = ask(turtle, "what is the mood of the parts of Alien?", options={"frontier": 200})
    assert more.labels[0] == "dark"
    turtle = "".join(f":a :step{i} :o{i} . :o{i} :onward{i} :e{i} ." for i in range(60)) + ':a rdfs:label "Alien" .'
    assert any("first steps" in n and "15 of 60" in n for n in ask(turtle, "what about Alien?").answer.notes)


def test_paths_are_the_same_only_if_all_their_ends_are() -> None:
    """60 members, the first 25 of them alumni: alike in a sample, not as wholes."""
    members = "".join(f':m{i:02} :member :college ; rdfs:label "m{i:02}" .' for i in range(60))
    alumni = "".join(f":m{i:02} :alumnus :college ." for i in range(25))
    found = ask(members + alumni + ':college rdfs:label "Old College" .', "people of Old College").answer.evidence
    assert {len(item.ends) for item in found} >= {25, 60}


QUESTION = "which films have Sigourney Weaver as actor?"


def shown_paths(asked: Asked) -> list[str]:
    """The lines that a model reads, without their numbers."""
    shown = asked.bodies[0]["messages"][-1]["content"]
    return [line.partition(". ")[2] for line in shown.splitlines() if line[:1].isdigit()]


def test_a_model_chooses_paths_by_number_and_all_their_ends_are_the_answer() -> None:
    asked = ask(FILMS, QUESTION, [chose(1)])
    assert "Sigourney Weaver ←actor— film (2: Alien; Gorillas)" in shown_paths(asked), "with their count and examples"
    assert (asked.labels, asked.answer.status) == (["Alien", "Gorillas"], "answered")
    assert {a.term for a in asked.answer.answers} == set(asked.answer.evidence["P1"].ends)
    asked = ask(FILMS, QUESTION, [chose(2, 1)], trust=PASSED)
    assert [event.purpose for event in asked.events if isinstance(event, ModelCalled)] == ["reading"]
    assert {marker for one in asked.answer.answers for marker in one.markers} == {"P1", "P2"}


def test_a_direct_hop_is_listed_before_what_continues_it() -> None:
    question, replies = "what is the language of Alien?", [chose(1)]
    turtle = ':a rdfs:label "Alien" ; :maker :m . :m :language "English" ; :mood "dark" . :o :language "Dutch" .'
    lines = shown_paths(ask(turtle, question, replies))
    is_direct = [line.startswith("Alien —maker→") and "language" not in line for line in lines]
    is_longer = [line.startswith("Alien —maker→ … —language→") for line in lines]
    assert is_direct.index(True) < is_longer.index(True)
    turtle = ':a rdfs:label "Alien" ; :film.language "English" ; :dub.language "Dutch" . '
    turtle += ':film.language rdfs:label "language" . :dub.language rdfs:label "language" .'
    alike = {"Alien —language→ text [dub.language] (1: Dutch)", "Alien —language→ text [film.language] (1: English)"}
    assert alike <= set(shown_paths(ask(turtle, question, replies))), "lines that read the same are told apart"
