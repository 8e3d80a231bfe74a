"""What a model may name as the answer: groups, ends, what lies on the way, and the entity itself, all with numbers."""

from __future__ import annotations

from tests.model_server import Text
from tests.scripted import Asked, marked, numbered
from tests.unit.test_path_ranking import FILMS, ask, picks

WHO = "who directed the films that Sigourney Weaver is an actor of?"


def reply(numbers: list[int], text: str = "So it is [P1].") -> Text:
    return Text({"sufficient": True, "answer": text, "entities": numbers, "claims": []})


def listed(turtle: str, question: str = WHO, path: int = 2) -> tuple[dict[int, str], dict[str, str]]:
    """The choices by number, and the facts by marker, of a question for which this listed path is chosen."""
    body = ask(turtle, question, [picks(path), reply([])]).bodies[-1]
    return numbered(body), marked(body)


def answered(turtle: str, choice: str, text: str = "So it is [P1].", question: str = WHO, path: int = 2) -> Asked:
    """What is answered where a model names the choice with these words."""
    choices, _ = listed(turtle, question, path)
    (number,) = (n for n, shown in choices.items() if shown.startswith(choice))
    return ask(turtle, question, [picks(path), reply([number], text)])


def test_everything_that_a_fact_names_has_a_number_and_groups_come_first() -> None:
    choices, facts = listed(FILMS)
    assert facts["P1"].startswith("Sigourney Weaver ←actor— ")
    names = [shown.rpartition(" [")[0] for shown in choices.values()]
    assert names[:2] == ["all 2 at the end of P1", "all 2 in the middle of P1"]
    assert sorted(names[2:6]) == ["Alien", "Gorillas", "Michael Apted", "Ridley Scott"]
    assert names[6:] == ["Sigourney Weaver"], "the entity that the question names comes last"


def test_what_lies_on_the_way_can_be_chosen_and_is_grounded() -> None:
    for choice, expected in (
        ("all 2 in the middle of P1", ["Alien", "Gorillas"]),
        ("all 2 at the end of P1", ["Michael Apted", "Ridley Scott"]),
        ("Gorillas", ["Gorillas"]),
        ("Sigourney Weaver", ["Sigourney Weaver"]),
    ):
        asked = answered(FILMS, choice)
        assert (sorted(asked.labels), asked.answer.status) == (expected, "answered")
        assert all(term.markers == ("P1",) for term in asked.answer.answers)
        assert not any("does not mention" in str(note) for note in asked.answer.notes)
    asked = answered(FILMS, "Alien", "It is Alien.")
    assert (asked.answer.cited, asked.labels) == (("P1",), ["Alien"]), "where the text cites nothing"


def test_the_kind_that_is_asked_for_comes_first() -> None:
    for asked, first in (("person", "at the end"), ("film", "in the middle")):
        question = f"which {asked} directed has to do with Sigourney Weaver?"
        paths = numbered(ask(FILMS, question, [picks(2), reply([])]).bodies[0])
        wanted = "Sigourney Weaver ←actor— film —director→ person ("
        (path,) = (n for n, text in paths.items() if text.startswith(wanted))
        choices, _ = listed(FILMS, question, path)
        assert choices[1] == f"all 2 {first} of P1 [P1]"
        found = {choices[3], choices[4]}
        people = {"Ridley Scott [P1]", "Michael Apted [P1]"}
        assert found == ({"Alien [P1]", "Gorillas [P1]"} if asked == "film" else people)


def test_beyond_sixty_ends_each_shown_one_and_all_of_them_can_be_chosen() -> None:
    many = "".join(f':joan :visited :c{i} . :c{i} rdfs:label "City {i}" . ' for i in range(130))
    graph = ':joan rdfs:label "Joan Ott" . ' + many
    question = "which cities has Joan Ott visited, City 99 too?"
    choices, facts = listed(graph, question, path=1)
    shown = facts["P1"].split("→ ")[1].split("; …")[0].split("; ")
    assert len(shown) == 12
    assert {f"{name} [P1]" for name in shown} <= set(choices.values())
    assert len(answered(graph, "all 130 at the end of P1", question=question, path=1).labels) == 130
