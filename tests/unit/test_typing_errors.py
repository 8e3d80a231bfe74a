"""Names with a letter wrong: found by their letters and the edit distance; what is spelled right is left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.graphs import OxigraphGraph
from kgsparql.linking.graph_indexes import build_label_index
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.reading import read_labels
from kgsparql.linking.label_index.search import LabelIndex, LabelRow, LabelSearch
from kgsparql.linking.linker import Linker

FILMS = """
:inception rdfs:label "Inception" . :interception rdfs:label "The Interception" . :matrix rdfs:label "The Matrix" .
:faust rdfs:label "Faust" . :fausta rdfs:label "Fausta" . :up rdfs:label "Up" . :ran rdfs:label "Ran" .
:us rdfs:label "Us" . :goethe rdfs:label "Johann Wolfgang Goethe" . :nolan rdfs:label "Christopher Nolan" .
:directed rdfs:label "directed by" . :inception :directed :nolan . :faust :directed :goethe .
"""


def distance(text: str, other: str) -> int:
    """The optimal string alignment distance, as its definition has it."""
    rows = [[i + j if not i * j else 0 for j in range(len(other) + 1)] for i in range(len(text) + 1)]
    for i in range(1, len(text) + 1):
        for j in range(1, len(other) + 1):
            is_wrong = text[i - 1] != other[j - 1]
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + is_wrong)
            if i > 1 and j > 1 and text[i - 1] == other[j - 2] and text[i - 2] == other[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


WORDS = st.text(alphabet="abcé京 ", min_size=1, max_size=8)


@given(texts=st.sets(WORDS, max_size=12), text=WORDS, edits=st.integers(1, 2))
def test_all_texts_within_the_distance_are_found(texts: set[str], text: str, edits: int) -> None:
    found = PackedLabels.of(LabelRow(text, text, text) for text in texts).near(text, edits=edits)
    near = {other: d for other in texts if 0 < (d := distance(text, other)) <= edits}
    assert dict(found) == (near if len(text) > edits else {})
    assert [d for _, d in found] == sorted(d for _, d in found)


@pytest.fixture(params=["memory", "file"])
def search(request: pytest.FixtureRequest, graph_of: Callable[..., OxigraphGraph], tmp_path: Path) -> LabelSearch:
    graph = graph_of(FILMS)
    if request.param == "memory":
        return PackedLabels.of(read_labels(graph))
    return build_label_index(graph, tmp_path / "index", embedder=None).search


def test_a_letter_wrong_or_two_in_a_long_name(search: LabelSearch) -> None:
    linker = Linker(LabelIndex(search))
    for typed in ("Incepton", "Inceptoin", "Incepption", "Nception", "Imception"):
        assert linker.find(typed)[0].label == linker.find(typed.lower())[0].label == "Inception"
        assert "Inception" in {link.label for link in linker.link(f"Who directed {typed}?")}
    assert linker.find("Inseptiom")[0].label == "Inception"


def test_what_is_spelled_right_is_no_other_word(search: LabelSearch) -> None:
    linker = Linker(LabelIndex(search))
    for asked, expected in (("Faust", ["Faust"]), ("Fausta", ["Fausta"]), ("Use", []), ("Upp", []), ("Ram", [])):
        linked = linker.link(f"Who directed {asked}?")
        assert [link.label for link in linked if link.kind == "entity"] == expected
    assert linker.find("Faust")[0].label == "Faust"
    linked = linker.link("Did Christopher Nolam direct The Matrix?")
    assert {link.label for link in linked if link.kind == "entity"} == {"Christopher Nolan", "The Matrix"}
    (nolan,) = (link for link in linked if link.label == "Christopher Nolan")
    assert nolan.matched == "text"
    assert 0.8 < nolan.score < 1


WORDS_AND_NAMES = """
:veneer rdfs:label "veneer" . :baboon rdfs:label "baboon" . :bacon rdfs:label "bacon" . :baron rdfs:label "baron" .
:baton rdfs:label "baton" . :gabon rdfs:label "Gabon" . :flesh rdfs:label "in the flesh" . :bilbao rdfs:label "Bilbao" .
:mario rdfs:label "mario" . :eliot rdfs:label "T S Eliot" . :inhibitor rdfs:label "inhibitor" .
:iran rdfs:label "Iran" . :rust rdfs:label "rust inhibitor" . :bust rdfs:label "bust" . :iraq rdfs:label "Iraq War" .
:war rdfs:label "war" . :mark rdfs:label "Mark Williams" . :one rdfs:label "Esther Wiliams" .
:hall rdfs:label "World Golf Hall of Fame" . :hal rdfs:label "Hal David" . :team rdfs:label "Iraq football team" .
:late rdfs:label "Euro 2016" . :euro rdfs:label "Euro" . :written rdfs:label "written by" . :flesh :written :eliot .
"""
WILLIAMSES = " ".join(f':w{i} rdfs:label "Williams {name}" .' for i, name in enumerate("abcdefghijklmnop"))


@pytest.fixture
def linker(graph_of: Callable[..., OxigraphGraph]) -> Linker:
    return Linker(LabelIndex(PackedLabels.of(read_labels(graph_of(WORDS_AND_NAMES + WILLIAMSES)))))


def test_what_may_be_a_name_is_corrected_and_what_may_be_another_is_left_alone(linker: Linker) -> None:
    for asked, *expected in (
        ("What is eeneer?", "veneer"),  # the first letter
        ("What is babon?", "baboon"),  # a letter left out is likelier than one of the five other words
        ("What is xacon?", "bacon"),
        ("Who has written xacon?", "bacon"),  # a word of a predicate beside it
        ("What is in the flehs?", "in the flesh"),  # words that say nothing beside it
        ("What is T S Elioct?", "T S Eliot"),
        ("What is Euro 2018?", "Euro"),  # numbers are not mistyped
        ("Where is Bilbo?", "Bilbao"),  # a name that the graph may not have: the answer is doubted
        ("What is maria?",),  # another last letter makes another name
        ("What is gabo?", "Gabon"),  # but one may be left out
        ("What is xaron with zzz?",),  # the other word may be the name
        ("What is vcon?",),  # too short
    ):
        assert [link.label for link in linker.link(asked)] == expected, asked


@pytest.mark.parametrize(
    "frame",
    [
        "Tell me everything about {}", "What do you know about {}?", "How old is {}?", "When was {} founded?",
        "How many facts are there about {} in the graph?", "list what is about {}",
    ],
)  # fmt: skip
def test_words_that_ask_are_no_names_beside_one(graph_of: Callable[..., OxigraphGraph], frame: str) -> None:
    asking = "tell everything know old founded facts graph list"
    words = " ".join(f':{word} rdfs:label "{word}" . :{word} rdfs:seeAlso :veneer .' for word in asking.split())
    linker = Linker(LabelIndex(PackedLabels.of(read_labels(graph_of(WORDS_AND_NAMES + words)))))
    for name in ("eeneer", "inhibitro", "veneer", "graph"):  # the last one is asked for where it says what
        expected = {"eeneer": "veneer", "inhibitro": "inhibitor"}.get(name, name)
        assert expected in [link.label for link in linker.link(frame.format(name))]
        assert name == "graph" or len(linker.link(frame.format(name))) == 1
    assert [link.label for link in linker.link("What is old?")] == ["old"]


def test_known_words_that_are_only_together_no_name(linker: Linker) -> None:
    assert linker.link("Who is Mark Wiliams?")[0].label == "Mark Williams"  # many labels have the other spelling
    assert linker.link("Who founded the World Golf Hal of Fame?")[0].label == "World Golf Hall of Fame"
    for question, words, meant in (
        ("What is bust inhibitor?", {"bust", "inhibitor"}, "rust inhibitor"),
        ("What is Iran War?", {"Iran", "war"}, "Iraq War"),
        ("Who coaches the Iran football team?", {"Iran"}, "Iraq football team"),
    ):
        links = linker.link(question)
        assert {link.label for link in links} == words
        assert meant in {candidate.label for link in links for candidate in link.candidates}
