"""Documents: read, cut into passages, searched for names, kept beside the labels, found again."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import kgsparql
from kgsparql.errors import InputError, StoreError, StoreLockedError
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.documents import BYTES_PER_TOKEN, Gazetteer, Skipped, files_of, passage_spans, text_of
from kgsparql.linking.label_index.search import silent
from kgsparql.linking.passages import PASSAGES, Passages, build_passages
from kgsparql.linking.words import _spans, tokens
from kgsparql.rdf.terms import IRI, normalised
from kgsparql.storage.files import writer_lock
from tests.world import DBR, FIXTURES

CURIE = IRI(DBR + "Marie_Curie")
FEYNMAN = IRI(DBR + "Richard_Feynman")
BETHE = IRI(DBR + "Hans_Bethe")


def test_passages_end_with_paragraphs_and_sentences_and_overlap_by_whole_sentences() -> None:
    text = (FIXTURES / "texts" / "curie.md").read_text(encoding="utf-8")
    found = [text[start:end] for start, end in passage_spans(text, tokens=60, overlap=15)]
    assert all(passage.rstrip("\"”'")[-1] in ".!?" for passage in found)
    assert found[3].endswith("Neither of the two took out a patent on how to extract it.")
    assert found[4].startswith(
        "Neither of the two took out a patent on how to extract it.\n\nPierre Curie was run over"
    )
    assert not any(passage[0].islower() for passage in found)


def test_every_character_is_in_a_passage_and_none_is_too_long() -> None:
    draw = random.Random(0)  # noqa: S311 - a sample
    for _ in range(500):
        text = "".join(draw.choice("ab c. \n東京é😀。") for _ in range(draw.randrange(200))) or " \n\n \t"
        tokens = draw.randrange(2, 12)
        found = list(passage_spans(text, tokens=tokens, overlap=draw.randrange(tokens)))
        inside = {i for start, end in found for i in range(start, end)}
        assert all(i in inside or char.isspace() for i, char in enumerate(text))
        assert all(text[a:b].strip() == text[a:b] for a, b in found)
        assert all(len(text[a:b].encode()) <= tokens * BYTES_PER_TOKEN for a, b in found)
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(found))


def test_texts_are_read_as_they_say_they_are_encoded_and_others_say_why_not(tmp_path: Path) -> None:
    for name, data, expected in (
        ("a.md", "# Skłodowska".encode(), "# Skłodowska"), ("a.TXT", b"\xef\xbb\xbfwith\r\na mark", "with\na mark"),
        ("a.markdown", "sixteen".encode("utf-16"), "sixteen"),
        ("b.txt", "café".encode("latin-1"), "not UTF-8 (byte 3)"),
        ("b.txt", b"a\0b", "bytes of zero"), ("b.txt", b" \n ", "no text in it"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
        found = text_of(tmp_path / name)
        assert isinstance(found, Skipped) == name.startswith("b")
        assert expected in found.reason if isinstance(found, Skipped) else found == expected, name


def test_files_are_found_below_the_directory_in_order_and_others_are_named(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.md", "a/b.txt", ".git/x.txt", "a/.hidden.txt", "c.docx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text", encoding="utf-8")
    found, others = files_of(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["a/b.txt", "a/z.md", "b.txt"]
    assert [str(skipped) for skipped in others] == ["c.docx: not .txt or .md; of a PDF, pdftotext makes one"]
    for nothing in (tmp_path / ".git" / "x.txt", tmp_path / "empty", tmp_path / "no such"):
        if nothing.name == "empty":
            nothing.mkdir()
        with pytest.raises(InputError, match=nothing.name) as caught:
            files_of(nothing)
        assert caught.value.hint


def said(matcher: Gazetteer, text: str) -> list[tuple[str, str]]:
    return [(text[m.start : m.end], m.term.value.rsplit("/", 1)[-1]) for m in matcher.mentions(text)]


def test_mentions_are_the_longest_labels_between_word_borders() -> None:
    labels = {
        "new york": ["ny"], "york": ["york"], "new york city": ["nyc"], "university of new york": ["uny"],
        "café de flore": ["flore"], "cafe de flore": ["flore"], "mercury": ["planet", "element"], "it": ["film"],
        "東京": ["tokyo"], "東京大学": ["todai"], "x": ["x"], "the who": ["who"], "t4": ["t4"],
    }  # fmt: skip
    gazetteer = Gazetteer({key: [f"http://e.org/{name}" for name in names] for key, names in labels.items()})
    for text, found in (
        ("From New York City to York.", [("New York City", "nyc"), ("York", "york")]),
        ("the University of New York City", [("University of New York", "uny")]),
        ("Yorkshire, New Yorkers", []),
        ("NEW\n  YORK", [("NEW\n  YORK", "ny")]),
        ("at the cafe\u0301 de flore", [("cafe\u0301 de flore", "flore")]),
        ("Mercury rose.", [("Mercury", "element"), ("Mercury", "planet")]),
        ("It is x.", []),
        ("東京大学は東京にある", [("東京大学", "todai"), ("東京", "tokyo")]),
    ):
        assert said(gazetteer, text) == found


def test_mentions_are_those_that_comparing_every_run_of_words_finds() -> None:
    """Against the plain way: at each word the longest run of words that is a label, then on behind it."""
    draw = random.Random(1)  # noqa: S311 - a sample
    words = ["ada", "bo", "cy", "dee", "adabo"]
    for _ in range(300):
        labels = {" ".join(draw.choices(words, k=draw.randrange(1, 4))) for _ in range(6)}
        text = [draw.choice(words) for _ in range(20)]
        matcher = Gazetteer({label: [f"http://e.org/{label.replace(' ', '_')}"] for label in labels})
        expected, at = [], 0
        while at < len(text):
            runs = [n for n in range(4, 0, -1) if " ".join(text[at : at + n]) in labels and at + n <= len(text)]
            if runs:
                expected.append(" ".join(text[at : at + runs[0]]))
            at += runs[0] if runs else 1
        assert [surface for surface, _ in said(matcher, " ".join(text))] == expected


def test_the_words_of_a_text_are_those_of_a_label() -> None:
    """The faster way to split a text finds just the words that the slower one does."""
    draw = random.Random(2)  # noqa: S311 - a sample
    for _ in range(2_000):
        text = "".join(draw.choices("aZ09 .,-_'$+<^`|~é\u0301東京ก\u0e31한😀–’½ﬁ²\u200b\n", k=draw.randrange(30)))
        spans = [(word, *span) for span in _spans(text) if (word := normalised(text[slice(*span)]))]
        assert [(t.text, t.start, t.end) for t in tokens(text)] == spans, repr(text)
        ends = [-1, *(token.end for token in tokens(text))]
        assert all(t.joined == (t.start == end) for t, end in zip(tokens(text), ends, strict=False))


def indexed(graph: Path) -> KnowledgeBase:
    """A graph with a label index of its own."""
    knowledge = kgsparql.open(graph, embedder="none")
    knowledge.indexes.build()
    return knowledge


pytestmark = pytest.mark.usefixtures("empty_cache")


@pytest.fixture
def nobel() -> KnowledgeBase:
    return indexed(FIXTURES / "nobel.ttl")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes documents, by name, into a directory; names of what is there already stay."""

    def written(**texts: str | bytes) -> Path:
        for name, text in texts.items():
            path = tmp_path / "texts" / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / "texts"

    return written


def test_passages_are_found_by_what_they_mention(
    nobel: KnowledgeBase, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = nobel.indexes.index_texts(FIXTURES / "texts")
    assert (built.documents, built.changed, built.skipped) == (2, True, ())
    passages = nobel.indexes.passages
    assert (len(passages), passages.documents) == (built.passages, 2)
    found = passages.mentioning([CURIE, BETHE], "")
    assert {terms for _, terms in found} == {frozenset([CURIE]), frozenset([BETHE])}
    for passage, _ in found:
        text = (FIXTURES / "texts" / passage.excerpt.document).read_text(encoding="utf-8")
        assert text[passage.excerpt.start : passage.excerpt.end] == passage.text
        surfaces = {text[m.start : m.end].casefold() for m in passage.excerpt.mentions if m.term in (CURIE, BETHE)}
        assert surfaces <= {"marie curie", "hans bethe"}
        assert surfaces
    assert sum(len(passage.excerpt.mentions) for passage in passages.every) == built.mentions
    nobel.indexes.index_texts(write(sub__report_txt="Then Marie Curie spoke."))
    ((passage, _),) = nobel.indexes.passages.mentioning([CURIE], "")
    assert (str(passage.excerpt), passage.text) == ("sub/report.txt", "Then Marie Curie spoke.")
    assert [(m.start, m.end) for m in passage.excerpt.mentions if m.term == CURIE] == [(5, 16)]
    monkeypatch.setattr("kgsparql.linking.passages.PASSAGE_TOKENS", 40)
    nobel.indexes.index_texts(FIXTURES / "texts")
    *_, last = nobel.indexes.passages.mentioning([FEYNMAN], "")  # the likest to a question is the first
    assert nobel.indexes.passages.mentioning([FEYNMAN], last[0].text)[0] == last


def test_bad_files_keep_no_good_one_out_and_where_all_are_bad_what_there_was_stays(
    nobel: KnowledgeBase, write: Callable[..., Path], tmp_path: Path
) -> None:
    directory = write(good_txt="Marie Curie.", latin_txt="café".encode("latin-1"), broken_txt=b"\0", other_docx=b"")
    built = nobel.indexes.index_texts(directory)
    assert built.documents == 1
    assert [skipped.name for skipped in built.skipped] == ["other.docx", "broken.txt", "latin.txt"]
    again = nobel.indexes.index_texts(directory)
    assert (again.changed, again.skipped) == (False, built.skipped)
    (directory / "good.txt").unlink()
    (directory / "broken.txt").unlink()
    with pytest.raises(InputError, match=r"no document can be read: latin\.txt: not UTF-8"):
        nobel.indexes.index_texts(directory)
    assert (len(reopened(nobel)), bool(reopened(nobel).mentioning([CURIE], ""))) == (1, True)
    nobel.indexes.build()  # neither does this touch them
    assert reopened(nobel).mentioning([CURIE], "")


def reopened(knowledge: KnowledgeBase) -> Passages:
    return Passages(lambda: knowledge.indexes.directory, knowledge.graph.name)


def test_documents_that_changed_take_the_place_of_the_old_ones_unless_the_run_is_stopped(
    nobel: KnowledgeBase, write: Callable[..., Path]
) -> None:
    def progress(phase: str, done: int, total: int | None) -> None:
        if (phase, done) == ("reading documents", 1):
            raise KeyboardInterrupt

    nobel.indexes.index_texts(write(a_txt="Marie Curie.", b_txt="Richard Feynman."))
    before = {*nobel.indexes.directory.iterdir()}
    directory = write(a_txt="Nobody.")
    nobel.indexes.progress = progress
    with pytest.raises(KeyboardInterrupt):
        nobel.indexes.index_texts(directory)
    assert reopened(nobel).mentioning([CURIE], "")
    (nobel.indexes.directory / f"{PASSAGES}.partial-0123").touch()  # as a kill leaves it
    nobel.indexes.progress = silent
    assert nobel.indexes.index_texts(directory).changed
    assert not nobel.indexes.passages.mentioning([CURIE], "")
    ((passage, terms),) = nobel.indexes.passages.mentioning([FEYNMAN], "")
    assert (passage.excerpt.document, terms) == ("b.txt", {FEYNMAN})
    assert {*nobel.indexes.directory.iterdir()} == before


def test_other_languages_make_them_anew(nobel: KnowledgeBase, tmp_path: Path) -> None:
    directory = nobel.indexes.directory
    for languages, is_changed in ((("en",), True), (("en",), False), (("de",), True)):  # whose stop words name nothing
        built = build_passages(directory, FIXTURES / "texts", source="g.ttl", languages=languages)
        assert built.changed == is_changed
    with pytest.raises(StoreError, match="no label index") as caught:
        build_passages(tmp_path / "nothing", FIXTURES / "texts", source="g.ttl")
    assert caught.value.hint == "run kgsparql index first"
    with writer_lock(directory), pytest.raises(StoreLockedError):
        nobel.indexes.index_texts(FIXTURES / "texts")


def test_documents_of_another_state_of_the_graph_are_told_of(tmp_path: Path, write: Callable[..., Path]) -> None:
    def named(name: str) -> Path:
        label = "<http://www.w3.org/2000/01/rdf-schema#label>"
        (tmp_path / "g.ttl").write_text(f'<http://e.org/a> {label} "{name}" .', encoding="utf-8")
        return tmp_path / "g.ttl"

    first = indexed(named("Ann"))
    first.indexes.index_texts(write(a_txt="Ann."))
    assert first.indexes.passages.note == ""
    passages = kgsparql.open(named("Anna"), embedder="none").indexes.passages
    assert len(passages) == 0
    assert "indexed with an earlier state or version" in passages.note
    assert "--text DIR" in passages.note


def test_mentions_are_of_entities_and_of_classes_of_an_ontology(tmp_path: Path, write: Callable[..., Path]) -> None:
    prefixes = "@prefix : <http://e.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    people = ':Dog a rdfs:Class ; rdfs:label "dog" . :rex a :Dog ; rdfs:label "Rex" . :tim a :Dog ; rdfs:label "Tim" .'
    kinds = ':Dog a rdfs:Class ; rdfs:label "dog" . :Pug a rdfs:Class ; rdfs:label "pug" ; rdfs:subClassOf :Dog .'
    directory = write(a_txt="Rex is a dog, no pug.")
    for name, data, expected in (("people", people, ["rex"]), ("kinds", kinds, ["Dog", "Pug"])):
        (tmp_path / f"{name}.ttl").write_text(prefixes + data, encoding="utf-8")
        knowledge = indexed(tmp_path / f"{name}.ttl")
        knowledge.indexes.index_texts(directory)
        (passage,) = knowledge.indexes.passages.every
        assert [m.term.value[-3:] for m in passage.excerpt.mentions] == expected
