"""Words of a user's own: what they mean is kept for a graph, counts in each question about it, and is told."""

from pathlib import Path

import pytest

import kgsparql
from kgsparql.errors import InputError, NotFoundError
from kgsparql.rdf.terms import IRI
from tests.conftest import FIXTURES, PREFIXES

WORKS = """
:ann a :Engineer ; rdfs:label "Ann Hill" ; :employer :acme ; :salary 40 . :bob a :Engineer ; rdfs:label "Bob Lee" ;
  :employer :acme, :orion . :acme a :Firm ; rdfs:label "Acme" . :orion a :Firm ; rdfs:label "Orion" .
:tinkerer rdfs:label "Tinkerer" ; :age 3 .
:employer rdfs:label "employer"@en, "Arbeitgeber"@de . :Engineer rdfs:label "engineer" . :Firm rdfs:label "firm" .
"""


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> kgsparql.KnowledgeBase:
    """A graph of two engineers and two firms, and no words kept."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "works.ttl"
    file.write_text(PREFIXES + WORKS)
    return kgsparql.open(file, embedder="none")


@pytest.mark.parametrize(
    ("word", "means", "question", "answers"),
    [
        ("gaffer", "employer", "Who is the gaffer of Ann Hill?", ["Acme"]),
        ("tinkerer", "Engineer", "How many tinkerers are there?", ["2"]),  # though something is called so
        ("toils for", "employer", "Who toils for Orion?", ["Bob Lee"]),
        ("the Doc", "ann", "Where does the doc work?", ["Acme"]),
        ("Brötchengeber", "employer", "Wer ist der Brötchengeber von Ann Hill?", ["Acme"]),
    ],
)
def test_a_word_is_read_as_was_said(
    works: kgsparql.KnowledgeBase, word: str, means: str, question: str, answers: list[str]
) -> None:
    works.own_words.keep(word, term := IRI(f"http://example.org/{means}"))
    answer = works.ask(question)
    assert (answer.status, [one.label for one in answer.best]) == ("answered", answers)
    (note,) = [one for one in answer.notes if one.code == "own_word"]
    assert (note.cause, word in note) == (term.value, True)
    assert works.ask("Who is the employer of Ann Hill?").best[0].label == "Acme"  # its own name stays
    assert not any(one.code == "own_word" for one in works.ask(question, own_words=False).notes)
    works.own_words.forget(word.upper())
    assert works.own_words.read() == []


def test_the_file_is_a_users_own(works: kgsparql.KnowledgeBase) -> None:
    own = works.own_words
    own.keep('the "boss"', IRI("http://example.org/employer"))
    (file,) = own.files
    own.keep("tinkerer", IRI("http://example.org/Engineer"))
    own.keep("Tinkerer", IRI("http://example.org/Firm"))
    assert [(one.text, one.means.value[19:]) for one in own.read()] == [
        ('the "boss"', "employer"),
        ("Tinkerer", "Firm"),
    ]
    assert file.stat().st_mode & 0o777 == 0o600
    nobel = kgsparql.open(FIXTURES / "nobel.ttl", embedder="none")
    assert nobel.own_words.read() == []
    for text, means in (("", "employer"), ("a\nb " * 9, "employer"), ("boss", "nobody")):
        with pytest.raises((InputError, NotFoundError)):
            own.keep(text, IRI(f"http://example.org/{means}"))
    for broken in ('home = "http://e.org/x"', "version = 2", "[words", "words = { a = { means = 1, said = 1 } }"):
        file.write_text(broken)
        with pytest.raises(InputError, match=file.name):
            works.ask("Who is the employer of Ann Hill?")
