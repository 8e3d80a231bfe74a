"""Texts of a graph: cut into passages, searched for names."""

import random
from itertools import pairwise

from kgsparql.linking.passages import names_in, passage_spans
from kgsparql.linking.words import _spans, tokens
from kgsparql.rdf.terms import normalised


def test_passages_end_with_paragraphs_then_sentences_then_words() -> None:
    text = "One was here. Two came.\n\nThree left, and went on for quite some time without an end to it. Four."
    assert [text[start:end] for start, end in passage_spans(text, 40)] == [
        "One was here. Two came.", "Three left, and went on for quite some", "time without an end to it. Four.",
    ]  # fmt: skip


def test_every_character_is_in_a_passage_and_none_is_too_long() -> None:
    draw = random.Random(0)  # noqa: S311 - a sample
    for _ in range(500):
        text = "".join(draw.choice("ab c. \n東京é😀。") for _ in range(draw.randrange(200))) or " \n\n \t"
        most = draw.randrange(8, 48)
        found = list(passage_spans(text, most))
        inside = {i for start, end in found for i in range(start, end)}
        assert all(i in inside or char.isspace() for i, char in enumerate(text))
        assert all(text[a:b].strip() == text[a:b] for a, b in found)
        assert all(len(text[a:b].encode()) <= most for a, b in found)
        assert all(b <= c for (a, b), (c, d) in pairwise(found))


def test_mentions_are_the_longest_labels_between_word_borders() -> None:
    labels = {
        "new york", "york", "new york city", "university of new york", "cafe de flore", "mercury", "it", "東京",
        "東京大学", "x", "the who", "t4",
    }  # fmt: skip
    for text, found in (
        ("From New York City to York.", ["new york city", "york"]),
        ("the University of New York City", ["university of new york"]),
        ("Yorkshire, New Yorkers", []),
        ("NEW\n  YORK", ["new york"]),
        ("at the cafe\u0301 de flore", ["cafe de flore"]),
        ("Mercury rose.", ["mercury"]),
        ("It is x.", []),
        ("東京大学は東京にある", ["東京大学", "東京"]),
    ):
        assert list(names_in(text, labels)) == found


def test_mentions_are_those_that_comparing_every_run_of_words_finds() -> None:
    """Against the plain way: at each word the longest run of words that is a label, then on behind it."""
    draw = random.Random(1)  # noqa: S311 - a sample
    words = ["ada", "bo", "cy", "dee", "adabo"]
    for _ in range(300):
        labels = {" ".join(draw.choices(words, k=draw.randrange(1, 4))) for _ in range(6)}
        text = [draw.choice(words) for _ in range(20)]
        expected, at = [], 0
        while at < len(text):
            runs = [n for n in range(4, 0, -1) if " ".join(text[at : at + n]) in labels and at + n <= len(text)]
            if runs:
                expected.append(" ".join(text[at : at + runs[0]]))
            at += runs[0] if runs else 1
        assert list(names_in(" ".join(text), labels)) == expected


def test_the_words_of_a_text_are_those_of_a_label() -> None:
    """The faster way to split a text finds just the words that the slower one does."""
    draw = random.Random(2)  # noqa: S311 - a sample
    for _ in range(2_000):
        text = "".join(draw.choices("aZ09 .,-_'$+<^`|~é\u0301東京ก\u0e31한😀–’½ﬁ²\u200b\n", k=draw.randrange(30)))
        spans = [(word, *span) for span in _spans(text) if (word := normalised(text[slice(*span)]))]
        assert [(t.text, t.start, t.end) for t in tokens(text)] == spans, repr(text)
        ends = [-1, *(token.end for token in tokens(text))]
        assert all(t.joined == (t.start == end) for t, end in zip(tokens(text), ends, strict=False))
