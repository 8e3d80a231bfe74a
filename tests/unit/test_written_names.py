"""Names that differ in a sign, or are made of words that say little: each is found as it is written."""

import pytest

import kgsparql
from tests.conftest import graph_from

MAKERS = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:maker rdfs:label "maker"@en , "Hersteller"@de , "fabricant"@fr , "fabricante"@es .
:a rdfs:label "F#" ; :maker :m1 . :b rdfs:label "F" ; :maker :m2 . :c rdfs:label ".TEK" ; :maker :m3 .
:d rdfs:label "TEK" ; :maker :m4 . :e rdfs:label "Wow!" ; :maker :m5 . :f rdfs:label "Wow" ; :maker :m6 .
:g rdfs:label "x²" ; :maker :m7 . :h rdfs:label "x2" ; :maker :m8 . :i rdfs:label "Ruiz-Peña" ; :maker :m9 .
:j rdfs:label "Ruiz-Pena" ; :maker :m1 . :k rdfs:label "May" ; :maker :m2 . :l rdfs:label "will.i.am" ; :maker :m3 .
:m rdfs:label "The The" ; :maker :m4 .
:m1 rdfs:label "Ada One" . :m2 rdfs:label "Bea Two" . :m3 rdfs:label "Cia Three" . :m4 rdfs:label "Dov Four" .
:m5 rdfs:label "Eli Five" . :m6 rdfs:label "Flo Six" . :m7 rdfs:label "Gus Seven" . :m8 rdfs:label "Hal Eight" .
:m9 rdfs:label "Ira Nine" .
"""


@pytest.fixture(scope="module")
def makers() -> kgsparql.KnowledgeBase:
    return kgsparql.KnowledgeBase(graph_from(MAKERS), embedder="none")


@pytest.mark.parametrize(
    ("question", "maker"),
    {
        "Who is the maker of F#?": "Ada One",
        "Who is the maker of Wow!?": "Eli Five",
        "Who is the maker of *TEK*?": "Dov Four",  # emphasis is no sign of a name
        "Wer ist der Hersteller von .TEK?": "Cia Three",
        "Qui est le fabricant de x2 ?": "Hal Eight",
        "¿Quién es el fabricante de Ruiz-Peña?": "Ira Nine",
    }.items(),
)
def test_a_name_is_told_from_others_by_its_signs(makers: kgsparql.KnowledgeBase, question: str, maker: str) -> None:
    answer = makers.ask(question)
    assert (answer.status, answer.answers[0].label) == ("answered", maker), answer.gaps


@pytest.mark.parametrize(
    ("question", "doubt"),
    {
        "Who is the maker of TEK#?": "'TEK#' may be",  # no label has this sign
        "Who is the maker of Ruiz-Pena?": "'Ruiz-Pena' may be",  # accents are often left out
        "Who is the maker of may?": "",
        "Who is the maker of a?": "",
    }.items(),
)
def test_a_name_that_is_written_otherwise_is_doubted(makers: kgsparql.KnowledgeBase, question: str, doubt: str) -> None:
    answer = makers.ask(question)
    assert answer.status != "answered"
    assert doubt in "; ".join(gap.text for gap in answer.gaps)


@pytest.mark.parametrize(
    ("question", "maker"),
    {
        "Who is the maker of May?": "Bea Two",
        "Who is the maker of will.i.am?": "Cia Three",
        "Wer ist der Hersteller von The The?": "Dov Four",
    }.items(),
)
def test_words_that_say_little_are_a_name_where_they_are_written_so(
    makers: kgsparql.KnowledgeBase, question: str, maker: str
) -> None:
    answer = makers.ask(question)
    assert (answer.status, answer.answers[0].label) == ("answered", maker), answer.gaps
