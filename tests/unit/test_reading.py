"""A question is read as clauses: whose arguments are whose, what is asked, what is left unread."""

import time
from decimal import Decimal
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import LabelRow
from kgsparql.linking.linked_entity import LinkedEntity, Mention
from kgsparql.linking.linker import Linker
from kgsparql.rdf.terms import IRI, Literal, normalised
from kgsparql.reading.chunks import MAX_WORDS, Chunked, chunked
from kgsparql.reading.clauses import Name, relations
from kgsparql.reading.form import Form, described
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.parser import grammar, read_question

ATTACHMENTS = Path(__file__).with_name("attachments.txt")
NAMES = (
    "Germany; Switzerland; Marie Curie; Albert Einstein; Niels Bohr; Harvard University; Physics; Berlin; Jaws; France"
)
CLASSES = "laureate; person; film; country; city; scientist"
PREDICATES = "advisor; rating; director; capital"


def linker_of(names: str = NAMES, classes: str = CLASSES, predicates: str = "") -> Linker:
    """Link with labels that a test gives, instead of those of a graph."""
    rows = [
        LabelRow(f"http://e.org/{kind}/{number}", text, normalised(text), kind=kind, degree=9)
        for kind, texts in (("entity", names), ("class", classes), ("predicate", predicates))
        for number, text in enumerate(filter(None, texts.split("; ")))
    ]
    return Linker(PackedLabels.of(rows))


def reading_of(question: str, names: str = NAMES, classes: str = CLASSES) -> tuple[Chunked, Form]:
    read = chunked(question, linker_of(names, classes, PREDICATES))
    return read, read_question(read)


def shown(question: str) -> str:
    _, found = reading_of(question)
    return "; ".join(described(found))


def test_clauses_join_a_name_with_what_is_asked_for() -> None:
    curie = IRI("http://e.org/entity/2")
    for question, links in (
        ("What is the nation of Marie Curie's mother?", [("of", "mother"), ("of", "nation")]),
        ("Which films did Marie Curie direct?", [("subject", "direct")]),
        ("Which films were directed by Marie Curie?", [("by", "directed")]),
        ("Who advised Marie Curie?", [("object", "advised")]),
        ("Which students did Marie Curie have?", [("of", "students")]),
    ):
        asked = read_question(chunked(question, linker_of()))
        assert [(role, asked.words(said)) for role, said in asked.links_from(curie)] == links, question


def test_arguments_are_bound_to_their_verbs() -> None:
    for line in ATTACHMENTS.read_text(encoding="utf-8").splitlines()[1:]:
        question, form, names, classes = line.split("|")
        _, found = reading_of(question, names, classes)
        assert "; ".join(described(found)) == form


def test_numbers_are_read_with_points_commas_signs_and_in_words() -> None:
    read = chunked("4.9, 10,000 and 1, 2 or -3 of three films with 5 million", None)
    numbers = [chunk.number for chunk in read.chunks]
    assert numbers == [Decimal(text) for text in ("4.9", "10000", "1", "2", "-3", "3", "5000000")]


def test_a_name_as_written_comes_first_a_text_last_and_a_given_entity_alone() -> None:
    rows = [LabelRow("http://e.org/1", "JAWS", "jaws", degree=9), LabelRow("http://e.org/2", "Jaws", "jaws", degree=4)]
    text = Name(Literal("France"), "France")
    read = chunked("Was Jaws made in France?", Linker(PackedLabels.of(rows)), values=[(1, 2, text), (4, 5, text)])
    jaws, france = read.chunks
    assert [name.label for name in jaws.entities] == ["Jaws", "JAWS"]
    assert [name.term for name in france.entities] == [Literal("France")]
    given_link = LinkedEntity(IRI("http://e.org/x"), "Jaws (novel)", 1.0, "entity", "given", Mention("Jaws", 8, 12))
    (chunk,) = chunked("Who had Jaws?", linker_of(), links=[given_link]).chunks
    assert [name.term for name in chunk.entities] == [IRI("http://e.org/x")]


def test_each_example_of_the_grammar_is_read_as_it_says() -> None:
    examples = grammar("en").examples
    assert len(examples) > 100
    for question, form in examples:
        assert shown(question) == form, question


def test_counts_existence_definitions_and_measures_are_told() -> None:
    assert reading_of("Are there films about Berlin?")[1].asks_existence
    assert reading_of("Who is Marie Curie?")[1].is_definition
    assert reading_of("How old was Marie Curie?")[1].measures == ("age", "date of birth")
    most = reading_of("What are the three largest cities?")[1].phrase.superlative
    assert most is not None
    assert (most.number, most.is_largest) == (3, True)


def test_what_is_in_no_clause_is_unread_and_a_pronoun_is_told() -> None:
    assert "unread: now" in shown("Who lives in Berlin now?")
    assert "pronouns: his" in shown("What is Niels Bohr and who was his advisor?")
    _, found = reading_of("Which person died in Berlin?")
    assert (found.unread, found.pronouns) == ((), ())


def test_dates_decades_and_units_are_values() -> None:
    chunks = chunked("Who was born on the 14th of March 1879, in May 1880, in the 1920s?", linker_of()).chunks
    assert [own.date.value for own in chunks if own.date] == ["1879-03-14", "1880-05"]
    assert [(own.number, own.last) for own in chunks if own.last] == [(Decimal(1920), Decimal(1929))]
    (said,) = relations(reading_of("Which films are heavier than 5 kilograms?")[1].phrase.restrictions)
    assert said.compared is not None
    assert said.compared.quantity is not None
    assert (said.compared.quantity.number, said.compared.quantity.value.unit) == (5, "kg")
    assert "After Eight" not in shown("Is After Eight older than Berlin?").split("; ")[1]


HOSTILE = [
    "", "?", "Which?", "who", "'", "Curie birthplace", "“Berlin", "東京はどこですか", "Кто такой Нильс Бор?",
    "SELECT ?x WHERE { ?x a <http://e.org/c> FILTER(?x > 3) }", "http://e.org/entity/1", "is is is is of of of the",
    "and or but not", "Who is Marie Curie? Where was she born?", "the the the " * 60, "the film of " * 90,
    "that who was and " * 60, "A, " * 150, "Germany's " * 80, "which of which of " * 50, "by in on " * 70,
]  # fmt: skip


def test_any_text_is_read_in_a_moment_and_of_ten_thousand_words_the_first() -> None:
    linker = linker_of()
    for text in HOSTILE:
        read = chunked(text, linker)
        begun = time.process_time()
        found = read_question(read)
        assert time.process_time() - begun < 0.2, text[:80]
        assert described(found)
    read = Chunked.of("Which laureates were born in Germany and lived where film " * 1_000)
    found = read_question(read)
    assert set(found.unread) >= {at for at in range(MAX_WORDS, len(read.texts)) if read.texts[at] == "germany"}


SOME = sorted({*lexicon().function_words, *lexicon().verbs, *lexicon().superlatives, *lexicon().comparatives})
SOME += ["Berlin", "Marie Curie", "films", "rating", "4.5", "1921", ",", "?", "'s", "s'", "“", "no more than"]


@given(st.lists(st.sampled_from(SOME), max_size=40).map(" ".join))
def test_no_order_of_words_stops_the_reader(text: str) -> None:
    read = chunked(text, linker_of(), links=[])
    found = read_question(read)
    assert described(found)
    assert set(found.unread) <= set(range(len(read.texts)))


@given(st.text(max_size=200))
def test_no_text_stops_the_reader(text: str) -> None:
    assert read_question(chunked(text, None))
