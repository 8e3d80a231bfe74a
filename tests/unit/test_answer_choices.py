"""What a model may name as the answer: groups, ends, what lies on the way, and the entity itself, all with numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kgsparql
from kgsparql.answering.answer import Answer
from kgsparql.graphs import OxigraphGraph
from tests.model_server import ModelServer, Text
from tests.scripted import marked, numbered
from tests.unit.test_path_ranking import FILMS, picks

Graph = Callable[..., OxigraphGraph]
WHO = "who directed the films that Sigourney Weaver is an actor of?"


def scripted(graph: OxigraphGraph, replies: list[Text], question: str) -> tuple[Answer, ModelServer]:
    """Ask with path ranking and a model that gives these replies."""
    with ModelServer(replies) as server, kgsparql.open_model("m", base_url=server.url) as model:
        knowledge = kgsparql.KnowledgeBase(graph, embedder="none")
        return knowledge.ask(question, retriever="path_ranking", model=model), server


def reply(numbers: list[int], text: str = "So it is [P1].") -> Text:
    return Text({"sufficient": True, "answer": text, "entities": numbers, "claims": []})


def listed(graph: OxigraphGraph, question: str = WHO, path: int = 2) -> tuple[dict[int, str], dict[str, str]]:
    """The choices by number, and the facts by marker, of a question for which this listed path is chosen."""
    _, server = scripted(graph, [picks(path), reply([])], question)
    return numbered(server.requests[-1].body), marked(server.requests[-1].body)


def answered(
    graph: OxigraphGraph, choice: str, text: str = "So it is [P1].", question: str = WHO, path: int = 2
) -> Answer:
    """The answer of a model that names the choice with these words."""
    choices, _ = listed(graph, question, path)
    (number,) = (n for n, shown in choices.items() if shown.startswith(choice))
    answer, _ = scripted(graph, [picks(path), reply([number], text)], question)
    return answer


def labels(answer: Answer) -> list[str]:
    return [term.label for term in answer.answers]


def test_everything_that_a_fact_names_has_a_number_and_groups_come_first(graph_of: Graph) -> None:
    choices, facts = listed(graph_of(FILMS))
    assert facts["P1"].startswith("Sigourney Weaver ←actor— ")
    names = [shown.rpartition(" [")[0] for shown in choices.values()]
    assert names[:2] == ["all 2 at the end of P1", "all 2 in the middle of P1"]
    assert sorted(names[2:6]) == ["Alien", "Gorillas", "Michael Apted", "Ridley Scott"]
    assert names[6:] == ["Sigourney Weaver"], "the entity that the question names comes last"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("all 2 in the middle of P1", ["Alien", "Gorillas"]),
        ("all 2 at the end of P1", ["Michael Apted", "Ridley Scott"]),
        ("Gorillas", ["Gorillas"]),
        ("Sigourney Weaver", ["Sigourney Weaver"]),
    ],
)
def test_what_lies_on_the_way_can_be_chosen_and_is_grounded(graph_of: Graph, choice: str, expected: list[str]) -> None:
    answer = answered(graph_of(FILMS), choice)
    assert sorted(labels(answer)) == expected
    assert all(term.markers == ("P1",) for term in answer.answers)
    assert not any("does not mention" in str(note) for note in answer.notes)
    assert answer.status == "answered"


def test_a_choice_on_the_way_cites_its_item_where_the_text_cites_nothing(graph_of: Graph) -> None:
    answer = answered(graph_of(FILMS), "Alien", "It is Alien.")
    assert answer.cited == ("P1",)
    assert labels(answer) == ["Alien"]


def test_the_kind_that_is_asked_for_comes_first(graph_of: Graph) -> None:
    for asked, first in (("person", "at the end"), ("film", "in the middle")):
        question = f"which {asked} directed has to do with Sigourney Weaver?"
        _, server = scripted(graph_of(FILMS), [picks(2), reply([])], question)
        paths = numbered(server.requests[0].body)
        (path,) = (
            n for n, text in paths.items() if text.startswith("Sigourney Weaver ←actor— film —director→ person (")
        )
        _, server = scripted(graph_of(FILMS), [picks(path), reply([])], question)
        choices = numbered(server.requests[-1].body)
        assert choices[1] == f"all 2 {first} of P1 [P1]"
        found = {choices[3], choices[4]}
        assert (
            found == {"Alien [P1]", "Gorillas [P1]"} if asked == "film" else {"Ridley Scott [P1]", "Michael Apted [P1]"}
        )


def test_beyond_sixty_ends_each_shown_one_and_all_of_them_can_be_chosen(graph_of: Graph) -> None:
    many = "".join(f':joan :visited :c{i} . :c{i} rdfs:label "City {i}" . ' for i in range(130))
    graph = graph_of(':joan rdfs:label "Joan Ott" . ' + many)
    question = "which cities has Joan Ott visited, City 99 too?"
    choices, facts = listed(graph, question, path=1)
    shown = facts["P1"].split("→ ")[1].split("; …")[0].split("; ")
    assert len(shown) == 12
    assert {f"{name} [P1]" for name in shown} <= set(choices.values())
    assert len(answered(graph, "all 130 at the end of P1", question=question, path=1).answers) == 130
