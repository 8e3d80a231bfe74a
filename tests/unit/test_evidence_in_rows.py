"""Evidence in rows: what paths of one beginning say side by side, how often, and which of many values are shown."""

import re
from collections.abc import Callable, Sequence

from kgsparql.events import Event, QueryRun
from kgsparql.evidence.evidence import Evidence, EvidenceItem, verify
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.graphs import OxigraphGraph
from kgsparql.rdf.paths import Constraint, Step, Walk
from tests.unit.test_path_expansion import ex, path, session_of

Graph = Callable[..., OxigraphGraph]

FILMS = (
    ":f1 :star :joan ; :year 1928 ; :by :tod . :f2 :star :joan ; :year 1930 ; :by :sam , :ann . "
    ":f3 :star :joan ; :year 1928 . :tod :born :rome . :ann :born :oslo ."
)
YEAR, BY = Walk(ex("joan"), path("^star", "year")), Walk(ex("joan"), path("^star", "by"))


def items_of(
    graph: OxigraphGraph,
    walks: Sequence[Walk],
    *,
    events: list[Event] | None = None,
    question: str = "",
    columns: Sequence[Walk] | None = None,
) -> list[EvidenceItem]:
    labels = session_of(graph, events).labels
    found = expanded_items(walks, labels, question=question, columns=walks if columns is None else columns)
    return [item for item in found if item is not None]


def test_what_two_paths_say_of_the_same_things_stands_in_one_row(graph_of: Graph) -> None:
    graph = graph_of(FILMS)
    events: list[Event] = []
    table, alone = items_of(graph, [YEAR, BY], events=events)
    assert table.text == ("joan ←star— f1 (—by→ tod) —year→ 1928 | f3 —year→ 1928 | f2 (—by→ ann; sam) —year→ 1930")
    assert alone.text == "joan ←star— f2 —by→ ann; sam | f1 —by→ tod"
    assert sum(isinstance(event, QueryRun) and "walk" in event.name for event in events) == 3


def test_a_row_keeps_the_ends_and_candidates_of_its_own_path_and_its_query_finds_the_table(graph_of: Graph) -> None:
    graph = graph_of(FILMS)
    table, _ = items_of(graph, [YEAR, BY])
    (plain,) = items_of(graph, [YEAR], columns=())
    assert table.ends == plain.ends
    assert {s["answer"] for s in graph.select(table.query)} == set(plain.ends)
    rows = {(str(s["row"]), str(s["answer"].value), str(s.get("value2"))) for s in graph.select(table.query)}
    assert len(rows) == 4
    assert (str(ex("f2")), "1930", str(ex("sam"))) in rows
    assert (str(ex("f3")), "1928", "None") in rows
    assert verify(Evidence([table]), session_of(graph).graph).lost == ()
    assert {c.triple.predicate for c in table.triples} == {ex("star"), ex("year"), ex("by")}


def test_what_goes_on_from_the_ends_of_a_path_stands_beside_them(graph_of: Graph) -> None:
    graph = graph_of(FILMS)
    films = Walk(ex("joan"), path("^star"))
    born = Walk(ex("joan"), path("^star", "by", "born"))
    (first, *others) = items_of(graph, [films, YEAR, BY, born])
    assert first.text == (
        "joan ←star— f1 (—year→ 1928, —by→ tod —born→ rome); f2 (—year→ 1930, —by→ sam, —by→ ann —born→ oslo); "
        "f3 (—year→ 1928)"
    )
    assert len(others) == 3
    assert "OPTIONAL" in first.query.text
    assert {s["answer"] for s in graph.select(first.query)} == set(first.ends)


def test_what_leads_back_says_nothing_of_a_row(graph_of: Graph) -> None:
    graph = graph_of(":uni :laureate :ann , :bo . :ann :at :uni ; :award :p1 . :bo :at :uni .")
    laureates = Walk(ex("uni"), path("laureate"))
    back = [Walk(ex("uni"), path("laureate", "at", "laureate")), Walk(ex("uni"), path("laureate", "^laureate"))]
    (first, *_) = items_of(graph, [laureates, *back, Walk(ex("uni"), path("laureate", "award"))])
    assert first.text == "uni —laureate→ ann (—award→ p1); bo"


def test_only_paths_with_the_same_beginning_and_constraints_are_joined(graph_of: Graph) -> None:
    graph = graph_of(FILMS + ":f1 :place :x . :joan :likes :f2 .")
    here = Constraint(1, Step(ex("place")), (ex("x"),))
    walks = [YEAR, Walk(ex("joan"), path("^star", "by"), (here,)), Walk(ex("joan"), path("likes", "by"))]
    assert not any("(—" in item.text for item in items_of(graph, walks))
    assert not any("(—" in item.text for item in items_of(graph, [YEAR, BY], columns=()))


def test_a_value_that_repeats_says_how_often(graph_of: Graph) -> None:
    graph = graph_of("".join(f":f{i} :star :joan ; :genre :{'drama' if i % 4 else 'war'} . " for i in range(40)))
    (item,) = items_of(graph, [Walk(ex("joan"), path("^star", "genre"))])
    assert "drama (30 times)" in item.text
    assert "war (10 times)" in item.text
    assert item.text.count("times") == 2
    assert set(item.between[0]) == {ex(f"f{i}") for i in range(40)}


def test_of_many_numbers_the_extremes_are_shown_and_two_is_before_ten(graph_of: Graph) -> None:
    graph = graph_of("".join(f":a :p {i} . " for i in range(1, 101)))
    (item,) = items_of(graph, [Walk(ex("a"), path("p"))])
    assert [int(end.value) for end in item.ends] == list(range(1, 101))
    assert item.text == "a —p→ 1; 2; 3; 4; 5; 6; 95; 96; 97; 98; 99; 100; … 88 more between"


def test_of_many_names_the_one_of_the_question_is_shown(graph_of: Graph) -> None:
    graph = graph_of(
        "".join(f':a :p :o{i} . :o{i} rdfs:label "Person {i}{" Smith" * (i == 77)}" . ' for i in range(90))
    )
    (item,) = items_of(graph, [Walk(ex("a"), path("p"))], question="Did it meet Smith?")
    named = re.findall(r"Person (\d+)", item.text)
    assert named == [*map(str, range(11)), "77"]
    assert item.text.endswith("Person 77 Smith; … 78 more")


def test_what_lies_between_is_known_even_of_many_ends_unless_there_are_too_many_ways(graph_of: Graph) -> None:
    graph = graph_of("".join(f":joan :in :f{i % 30} . :f{i % 30} :with :o{i} . " for i in range(90)))
    (item,) = items_of(graph, [Walk(ex("joan"), path("in", "with"))])
    assert (len(item.ends), len(item.between), len(item.between[0])) == (90, 1, 30)
    dense = graph_of(
        "".join(f":joan :in :f{i} . :f{i} :with {', '.join(f':o{j}' for j in range(70))} . " for i in range(60))
    )
    events: list[Event] = []
    (item,) = items_of(dense, [Walk(ex("joan"), path("in", "with"))], events=events)
    assert (len(item.ends), item.between) == (70, ())
    assert item.cuts
    assert sum(isinstance(event, QueryRun) and event.name == "walk_triples" for event in events) == 2


def test_where_one_value_is_that_of_many_a_single_example_stands_for_them(graph_of: Graph) -> None:
    of_many = Walk(ex("joan"), path("^star", "genre"))
    few = graph_of("".join(f":f{i} :star :joan ; :genre :drama . " for i in range(3)))
    (item,) = items_of(few, [of_many])
    assert item.text == "joan ←star— f0 —genre→ drama | f1 —genre→ drama | f2 —genre→ drama"
    many = graph_of("".join(f":f{i} :star :joan ; :genre :drama ; :by :d{i} . " for i in range(40)))
    (item,) = items_of(many, [of_many])
    assert item.text == "joan ←star— f0 —genre→ drama (40 times)"
    table, _ = items_of(many, [of_many, BY])
    assert table.text.count("(—by→ d") == 12
