"""Path ranking: whole paths ranked, the best followed to every end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path as FilePath

import pytest

from kgsparql.answering.answer import Answer
from kgsparql.answering.ask_options import AskOptions
from kgsparql.answering.choosing import OracleChooser
from kgsparql.answering.path_scoring import Weights
from kgsparql.budget import Budget
from kgsparql.errors import InputError, OptionError
from kgsparql.events import CandidatesChosen, Event, ModelCalled
from kgsparql.graphs import OxigraphGraph
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.openai_client import OpenAIClient
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI
from kgsparql.retrievers import load
from kgsparql.retrievers.path_ranking import PathRanking
from tests.model_server import ModelServer, Reply, Text

EX = "http://example.org/"
Graph = Callable[..., OxigraphGraph]

FILMS = """
:alien :director :scott ; :actor :weaver , :hurt ; rdfs:label "Alien" ; a :Film .
:blade :director :scott ; :actor :ford ; rdfs:label "Blade Runner" ; a :Film .
:gorillas :actor :weaver ; :director :apted ; rdfs:label "Gorillas" ; a :Film .
:scott rdfs:label "Ridley Scott" ; :born "1937"^^xsd:gYear ; a :Person .
:weaver rdfs:label "Sigourney Weaver" ; a :Person .
:hurt rdfs:label "John Hurt" ; a :Person . :ford rdfs:label "Harrison Ford" ; a :Person .
:apted rdfs:label "Michael Apted" ; a :Person . :Film rdfs:label "film" . :Person rdfs:label "person" .
"""


def known(graph: OxigraphGraph) -> KnowledgeBase:
    return KnowledgeBase(graph, embedder=None)


def ask(graph: OxigraphGraph, question: str, **options: object) -> Answer:
    return known(graph).answer(question, AskOptions(retriever="path_ranking", **options))  # type: ignore[arg-type]


def labels(answer: Answer) -> list[str]:
    return [a.label for a in answer.answers]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("which actor is in Alien?", {"Sigourney Weaver", "John Hurt"}),
        ("which films have Sigourney Weaver as actor?", {"Alien", "Gorillas"}),
        ("when was the director of Alien born?", {"1937"}),
        ("who is the director of films with the actor Harrison Ford?", {"Ridley Scott"}),
    ],
)
def test_the_ends_of_the_best_path_are_the_first_candidates(graph_of: Graph, question: str, first: set[str]) -> None:
    graph = graph_of(FILMS)
    answer = ask(graph, question)
    best = answer.evidence["P1"]
    assert set(labels(answer)[: len(first)]) == first
    assert {solution["answer"] for solution in graph.select(best.query)} == set(best.ends)
    assert all(cited.verified for item in answer.evidence for cited in item.triples)


def test_a_walk_that_goes_back_does_not_return_to_the_start(graph_of: Graph) -> None:
    """Known mistake of the prototype: a bare property path lets the start back in."""
    answer = ask(graph_of(FILMS), "which other films share an actor with Alien?")
    for item in answer.evidence:
        assert IRI(EX + "alien") not in item.ends
    there_and_back = [item for item in answer.evidence if set(item.ends) == {IRI(EX + "gorillas")}]
    assert there_and_back


def test_a_thing_that_points_at_itself_says_nothing(graph_of: Graph) -> None:
    """France is a country whose country is France."""
    turtle = ':fr :country :fr ; :capital :paris ; rdfs:label "France" . :paris rdfs:label "Paris" .'
    answer = ask(graph_of(turtle), "which country is France?")
    assert all(item.ends != (IRI(EX + "fr"),) for item in answer.evidence)
    assert "Paris" in labels(answer)


def test_a_repeated_predicate_is_a_path_like_any_other(graph_of: Graph) -> None:
    """Known mistake of the prototype: a predicate walked twice was judged redundant."""
    graph = graph_of(':a :parent :b . :b :parent :c . :a rdfs:label "Ann" . :c rdfs:label "Cas" . :b rdfs:label "Bo" .')
    answer = ask(graph, "who is the parent of the parent of Ann?")
    assert labels(answer)[0] == "Cas"


def test_a_detour_of_two_hops_does_not_win_over_the_one_hop_that_is_asked_for(graph_of: Graph) -> None:
    """Known mistake of the prototype."""
    turtle = """:br rdfs:label "Brazil" ; :language :pt ; :neighbour :ar . :ar :language :es ; rdfs:label "Argentina" .
    :pt rdfs:label "Portuguese" . :es rdfs:label "Spanish" ."""
    assert labels(ask(graph_of(turtle), "what language do they speak in Brazil?"))[0] == "Portuguese"


def test_the_meanings_of_a_name_are_told_apart_by_their_paths(graph_of: Graph) -> None:
    """Two things are called Paris; only the person has a spouse."""
    turtle = """:city rdfs:label "Paris" ; :mayor :m ; :river :s , :t ; :country :fr .
    :man rdfs:label "Paris" ; :spouse :h . :h rdfs:label "Helen" . :m rdfs:label "Mayor" ."""
    answer = ask(graph_of(turtle), "who is the spouse of Paris?")
    assert labels(answer)[0] == "Helen"
    only = ask(graph_of(turtle), "who is the spouse of Paris?", options={"link_candidates": 1})
    assert "Helen" not in labels(only)


def test_a_part_of_a_longer_name_is_not_what_is_meant(graph_of: Graph) -> None:
    turtle = """:film rdfs:label "Bread, Love and Dreams" ; :year "1953" . :other rdfs:label "Dreams" ; :writer :k .
    :k rdfs:label "Kurosawa" . :love rdfs:label "Love" ; :writer :k ."""
    answer = ask(graph_of(turtle), "who was the writer of Bread, Love and Dreams")
    assert {item.ways[0].start for item in answer.evidence} == {IRI(EX + "film")}


def test_a_predicate_walked_twice_does_not_win_without_a_word_for_it(graph_of: Graph) -> None:
    turtle = ':a :advisor :b ; rdfs:label "Ann" . :b :advisor :c ; rdfs:label "Bo" . :c rdfs:label "Cy" .'
    assert labels(ask(graph_of(turtle), "who was the advisor of Ann?"))[0] == "Bo"


def test_how_many_asks_for_things_that_can_be_counted(graph_of: Graph) -> None:
    turtle = ':fr rdfs:label "France" . ' + "".join(
        f":s{i} :country :fr ; a :Supplier ; :depth {i} . " for i in range(8)
    )
    answer = ask(graph_of(turtle + ':Supplier rdfs:label "supplier" .'), "how many suppliers are in France?")
    assert len(answer.evidence["P1"].ends) == 8


def test_instances_of_a_class_are_a_step_away(graph_of: Graph) -> None:
    answer = ask(graph_of(FILMS), "who are the directors of film?")
    assert {"Ridley Scott", "Michael Apted"} <= set(labels(answer))


def test_not_complete_is_a_sample_that_says_so(graph_of: Graph) -> None:
    graph = graph_of("".join(f":a :p :o{i:03} ." for i in range(70)))
    whole = ask(graph, "p?", entities=(IRI(EX + "a"),))
    some = ask(graph, "p?", entities=(IRI(EX + "a"),), complete=False)
    assert len(whole.evidence["P1"].ends) == 70
    assert len(some.evidence["P1"].ends) == 20
    assert any("ends" in note for note in some.notes)


@pytest.mark.parametrize("options", [{"paths_kept": "0"}, {"nested": "much"}])
def test_options_out_of_range(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="path_ranking"):
        load("path_ranking", options)


def test_what_was_not_walked_on_from_is_said(graph_of: Graph) -> None:
    turtle = "".join(f":a :part :o{i:03} ." for i in range(120)) + ':o119 :mood "dark" . :a rdfs:label "Alien" .'
    answer = ask(graph_of(turtle), "what is the mood of the parts of Alien?")
    assert "paths from Alien: only 50 ends were walked on from; there are more (-O frontier=N)" in answer.notes
    more = ask(graph_of(turtle), "what is the mood of the parts of Alien?", options={"frontier": 200})
    assert labels(more)[0] == "dark"


def test_first_steps_that_were_not_taken_are_said(graph_of: Graph) -> None:
    turtle = "".join(f":a :step{i} :o{i} . :o{i} :onward{i} :e{i} ." for i in range(60)) + ':a rdfs:label "Alien" .'
    answer = ask(graph_of(turtle), "what about Alien?")
    assert any("first steps" in note and "15 of 60" in note for note in answer.notes)


def test_paths_are_the_same_only_if_all_their_ends_are(graph_of: Graph) -> None:
    """60 members, the first 25 of them alumni: alike in a sample, not as wholes."""
    members = "".join(f':m{i:02} :member :college ; rdfs:label "m{i:02}" .' for i in range(60))
    alumni = "".join(f":m{i:02} :alumnus :college ." for i in range(25))
    answer = ask(graph_of(members + alumni + ':college rdfs:label "Old College" .'), "people of Old College")
    assert {len(item.ends) for item in answer.evidence} >= {25, 60}


def test_a_file_of_aliases_says_what_questions_call_a_predicate(graph_of: Graph, tmp_path: FilePath) -> None:
    graph = graph_of(':a rdfs:label "Alien" ; :p31 "dark" ; :p32 "long" .')
    aliases = tmp_path / "aliases.tsv"
    aliases.write_text(f"# other words\n\n<{EX}p32>\tmood, atmosphere\n", encoding="utf-8")
    assert labels(ask(graph, "what is the mood of Alien?"))[0] == "dark"
    assert labels(ask(graph, "what is the mood of Alien?", options={"aliases": str(aliases)}))[0] == "long"


@pytest.mark.parametrize("line", [f"{EX}p\t", "not an iri\twords"])
def test_a_line_of_aliases_that_is_none(graph_of: Graph, tmp_path: FilePath, line: str) -> None:
    aliases = tmp_path / "aliases.tsv"
    aliases.write_text(line, encoding="utf-8")
    with pytest.raises(InputError):
        ask(graph_of(FILMS), "who is the director of Alien?", options={"aliases": str(aliases)})
    with pytest.raises(InputError, match="aliases"):
        load("path_ranking", {"aliases": str(tmp_path / "absent")})


def test_two_paths_that_fit_as_well_are_said_to(graph_of: Graph) -> None:
    told = "uncertain"
    unclear = ask(graph_of(':a rdfs:label "Alien" ; :x "dark" ; :y "long" .'), "what about Alien?")
    assert any(told in note for note in unclear.notes)
    assert not any(told in note for note in ask(graph_of(FILMS), "who is the director of Alien?").notes)


@pytest.mark.parametrize(
    ("name", "words", "is_told"), [("knows", "", True), ("telephone", "", False), ("knows", "telephone", False)]
)
def test_paths_without_a_word_of_the_question_are_said_to_be(
    graph_of: Graph, tmp_path: FilePath, name: str, words: str, is_told: bool
) -> None:
    graph = graph_of(f':ann rdfs:label "Ann" ; :p1 "1" ; :p2 "2" . :p1 rdfs:label "{name}" . :p2 rdfs:label "pays" .')
    aliases = tmp_path / "aliases.tsv"
    aliases.write_text(f"{EX}p1\t{words or name}\n", encoding="utf-8")
    notes = ask(graph, "what is the telephone of Ann?", options={"aliases": str(aliases)}).notes
    (told,) = [note for note in notes if "no path has a word of the question" in note] if is_told else [""]
    assert ("pip install" in told, "leave out --embedder none" in told) == (is_told, is_told)
    assert not any("no path has a word" in note for note in notes if note != told)


def test_one_path_has_no_order(graph_of: Graph) -> None:
    answer = ask(graph_of(':ann rdfs:label "Ann" ; :p1 "1" .'), "what is the telephone of Ann?")
    assert not any("no path has a word" in note for note in answer.notes)


def test_the_weights_are_those_of_the_recipe() -> None:
    assert PathRanking().signed.tolist() == Weights().signed.tolist()
    assert PathRanking(order=0.1).signed.tolist() == Weights(order=0.1).signed.tolist()


def model(server: ModelServer) -> LanguageModel:
    return LanguageModel("scripted", OpenAIClient(server.url, timeout_s=10.0))


def scripted(
    graph: OxigraphGraph, replies: Sequence[Reply], question: str, **options: object
) -> tuple[Answer, ModelServer, list[Event]]:
    events: list[Event] = []
    with ModelServer(list(replies)) as server:
        asker = model(server)
        try:
            answer = ask(graph, question, model=asker, emit=events.append, **options)
        finally:
            asker.client.close()
    return answer, server, events


def picks(*numbers: int) -> Text:
    return Text({"choices": [{"n": n, "score": 1 - i / 10} for i, n in enumerate(numbers)]})


def wrote(answer: str, *entities: int) -> Text:
    return Text({"sufficient": True, "answer": answer, "entities": list(entities), "claims": []})


QUESTION = "which films have Sigourney Weaver as actor?"


def test_a_model_chooses_paths_by_number_and_answers_from_all_their_ends(graph_of: Graph) -> None:
    replies = [picks(2, 1), wrote("Both [P1].", 1)]
    answer, server, events = scripted(graph_of(FILMS), replies, QUESTION)
    shown = server.requests[0].body["messages"][-1]["content"]
    listed = [line for line in shown.splitlines() if line.startswith("2. ")]
    (chosen,) = [e for e in events if isinstance(e, CandidatesChosen) and e.purpose == "paths"]
    assert chosen.chosen_by == "scripted"
    assert listed[0].removeprefix("2. ")[:100] == chosen.kept[0][:100]
    assert len(answer.evidence) == 2
    assert [event.purpose for event in events if isinstance(event, ModelCalled)] == ["paths", "answer"]
    assert answer.usage["model_calls"] == 2
    assert answer.answers


def test_paths_are_shown_with_their_count_and_examples(graph_of: Graph) -> None:
    _, server, _ = scripted(graph_of(FILMS), [picks(1), wrote("x [P1]")], QUESTION)
    shown = server.requests[0].body["messages"][-1]["content"]
    assert "Sigourney Weaver ←actor— film (2: Alien; Gorillas)" in shown


def shown_paths(graph: OxigraphGraph, question: str) -> list[str]:
    """The lines that a model reads, without their numbers."""
    _, server, _ = scripted(graph, [picks(1), wrote("x [P1]")], question)
    shown = server.requests[0].body["messages"][-1]["content"]
    return [line.partition(". ")[2] for line in shown.splitlines() if line[:1].isdigit()]


def test_a_direct_hop_is_listed_before_what_continues_it(graph_of: Graph) -> None:
    turtle = ':a rdfs:label "Alien" ; :maker :m . :m :language "English" ; :mood "dark" . :o :language "Dutch" .'
    lines = shown_paths(graph_of(turtle), "what is the language of Alien?")
    direct, longer = "Alien —maker→", "Alien —maker→ … —language→"
    assert [line.startswith(direct) and "language" not in line for line in lines].index(True) < next(
        i for i, line in enumerate(lines) if line.startswith(longer)
    )


def test_lines_that_read_the_same_are_told_apart(graph_of: Graph) -> None:
    turtle = (
        ':a rdfs:label "Alien" ; :film.language "English" ; :dub.language "Dutch" . '
        ':film.language rdfs:label "language" . :dub.language rdfs:label "language" .'
    )
    lines = shown_paths(graph_of(turtle), "what is the language of Alien?")
    assert "Alien —language→ text [dub.language] (1: Dutch)" in lines
    assert "Alien —language→ text [film.language] (1: English)" in lines


def test_identifiers_that_nobody_asked_for_come_last(graph_of: Graph) -> None:
    graph = graph_of(':a rdfs:label "Alien" ; :atlas_ID "x" ; :mood "dark" ; :catalogue "tt0078748" .')
    assert labels(ask(graph, "what about Alien?"))[0] == "dark"
    assert labels(ask(graph, "what is the atlas id of Alien?"))[0] == "x"
    assert labels(ask(graph, "what is the catalogue of Alien?"))[0] == "tt0078748"


def test_all_the_ends_of_a_path_are_one_choice(graph_of: Graph) -> None:
    answer, server, _ = scripted(graph_of(FILMS), [picks(1), wrote("These films [P1].", 1)], QUESTION)
    assert "1. all 2 at the end of P1 [P1]" in server.requests[1].body["messages"][1]["content"]
    assert {a.term for a in answer.answers} == set(answer.evidence["P1"].ends)


def test_of_a_single_call_the_answer_is_made(graph_of: Graph) -> None:
    answer, server, _ = scripted(
        graph_of(FILMS), [wrote("Alien and Gorillas [P1].", 1)], QUESTION, budget=Budget(max_calls=1)
    )
    assert len(server.requests) == 1
    assert answer.status == "answered"
    assert {a.label for a in answer.answers} == {"Alien", "Gorillas"}


def test_an_oracle_follows_the_gold_path(graph_of: Graph) -> None:
    gold = PropertyPath.of("^" + EX + "actor", EX + "director")
    answer = ask(
        graph_of(FILMS), "what about Sigourney Weaver?",
        chooser=lambda ranked: OracleChooser((), ranked, ranked.emit, paths=(gold,)),
    )  # fmt: skip
    assert {"Ridley Scott", "Michael Apted"} == set(labels(answer)[:2])
