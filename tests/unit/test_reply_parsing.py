"""What models reply, and what is read from it: the gallery of replies, rows M01 to M11 of the catalogue."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.errors import ModelReplyError
from kgsparql.models.citations import cited_text
from kgsparql.models.replies import (
    Numbers,
    WrittenAnswer,
    WrittenClaim,
    WrittenStep,
    mentions,
    numbers,
    quantity,
    truth_of,
    written_answer,
)
from kgsparql.models.reply_json import MAX_CHARACTERS, json_value, plain_text
from tests.deep import examples

RELATIONS = ["spouse", "capital of", "capital", "country (state)", "wiki: part of", "http://e.org/p", "child", "child"]
READERS: tuple[Callable[[str], Any], ...] = (
    json_value,
    plain_text,
    lambda text: numbers(text, count=7),
    lambda text: numbers(text, count=len(RELATIONS), names=RELATIONS),
    mentions,
    written_answer,
    quantity,
    lambda text: cited_text(text, ("P1", "N2")),
)


def chosen(text: str, count: int = 4) -> tuple[tuple[int, ...], dict[int, float], int]:
    read = numbers(text, count=count)
    return read.numbers, read.scores, read.dropped


def named(text: str) -> tuple[tuple[int, ...], dict[int, float], int]:
    read = numbers(text, count=len(RELATIONS), names=RELATIONS)
    return read.numbers, read.scores, read.dropped


def code_of(read: Callable[[str], object], text: str) -> str:
    with pytest.raises(ModelReplyError) as caught:
        read(text)
    return caught.value.code


# --- JSON


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[]", []),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}', {"a": 1}),
        ('Sure! Here it is:\n{"a": [1, 2]}\nHope this helps :)', {"a": [1, 2]}),
        ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        (r'{"a": "\ud83d\ude00 \_ \alpha \"x\""}', {"a": '😀 \\_ \\alpha "x"'}),
        (r'{"a": "\ud83d"}', {"a": "\ufffd"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('See [1] and [2]: {"a": 1} as in [3].', {"a": 1}),
        ('{"a": 1}\nWait, I was wrong:\n{"a": 2}', {"a": 2}),
        ('{"a": 1} {"a": 1}', {"a": 1}),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
        ('{"a": "<think>"}', {"a": "<think>"}),
        ("{1: 0.5, 2: 0.25}", {"1": 0.5, "2": 0.25}),
        ("[-Infinity, 1e400]", [-math.inf, math.inf]),
    ],
)
def test_M02_json_is_found_and_repaired_where_that_is_unambiguous(text: str, value: object) -> None:
    assert json_value(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"answer": "Paris", "n": [1, 2', {"answer": "Paris", "n": [1]}),
        ('{"answer": "Paris", "why": "because', {"answer": "Paris"}),
        ('{"answer": "Paris", "wh', {"answer": "Paris"}),
        ('{"choices": [{"n": 3}, {"n": 1, "score": 0.', {"choices": [{"n": 3}, {"n": 1}]}),
        ('{"a": 1}. And then {"b": [1, ', {"a": 1}),
        ('{"a": true, "b": tr', {"a": True}),
    ],
)
def test_M02_of_json_that_breaks_off_the_complete_members_are_kept(text: str, value: object) -> None:
    assert json_value(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2}', '{"a": 0,4}', '{"a": 40%}', '{"a": 1\n "b": 2}', '[{"n": 1} {"n": 2}]', '{"a": 1 // one\n}',
        '"{\\"a\\": [3, 1]}"', '{\\"a\\": [3]}', '"{\\"a\\": [3, 12, 1',
        "no", "{", "[1", '{"a', '{"a": ', "{]", "[see below]", "{X} is the answer", '{"a": 1 oops}', "}{",
        '{"b": "]}", "a": bad thing, "c": {"n": 1}}', '{"a": [{"n": 3}}, {"n": 1}]}',
        '{"a": bad thing, "b": {"n": 1}}', "SELECT ?x WHERE { ?x ?p ?o }",
    ],
)  # fmt: skip
def test_M02_what_is_not_json_or_broken_in_the_middle_is_an_error(text: str) -> None:
    assert code_of(json_value, text) == "E_LLM_FORMAT"


def test_the_error_shows_what_came_in_one_clean_line() -> None:
    with pytest.raises(ModelReplyError, match=r"not JSON: I am sorry \[31mI cannot") as caught:
        json_value("I am sorry\n\x1b[31mI cannot " + 500 * "x")
    assert len(str(caught.value)) < 300
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('<think>Perhaps {"a": 1}?</think>\n{"a": 2}', {"a": 2}),
        ('<THINKING>\nPerhaps {"a": 1}?\n</THINKING>{"a": 2}', {"a": 2}),
        ('<reasoning>{"a": 1}</reasoning>{"a": 2}', {"a": 2}),
        ('◁think▷{"a": 1}◁/think▷{"a": 2}', {"a": 2}),
        ('[THINK]{"a": 1}[/THINK]{"a": 2}', {"a": 2}),
        ('perhaps {"a": 1}</think>{"a": 2}', {"a": 2}),
        ('<think>I write <think> tags {"a": 1}</think>{"a": 2}', {"a": 2}),
        ('{"a": 1}<think>no, wait\n{"a": 2}', {"a": 2}),
        ('{"a": 2}\n<think>that was it</think>', {"a": 2}),
        ('<|channel|>analysis<|message|>{"a": 1}<|end|><|start|>assistant<|channel|>final<|message|>{"a": 2}<|return|>',
         {"a": 2}),
    ],
)  # fmt: skip
def test_reasoning_before_the_answer_does_not_count(text: str, value: object) -> None:
    assert json_value(text) == value


@pytest.mark.parametrize("text", ['<think>Perhaps {"a": 1}, or', "<think></think>", "x</think>"])
def test_reasoning_that_was_cut_off_is_no_answer(text: str) -> None:
    assert code_of(json_value, text) == "E_LLM_EMPTY"
    assert plain_text(text) == ""


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\n\n  Paris\n\n", "  Paris"),
        ("```\nParis\n```", "Paris"),
        ("```text\nParis```", "Paris"),
        ("Look:\n```sparql\nSELECT *\n```\nso.", "Look:\nSELECT *\nso."),
        ("<think>…</think>Paris", "Paris"),
        ("![x](http://e.org/?q=1) <script>alert(1)</script>", "![x](http://e.org/?q=1) <script>alert(1)</script>"),
        ("", ""),
    ],
)
def test_M11_prose_is_text_whatever_is_in_it(text: str, plain: str) -> None:
    assert plain_text(text) == plain


# --- numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"choices": [{"n": 3, "score": 0.8}]}', ((3,), {3: 0.8}, 0)),
        ('{"choices": [3, 1]}', ((3, 1), {}, 0)),
        ('{"reasoning": "In [2] …", "choices": [3, 1]}', ((3, 1), {}, 0)),
        ('{"result": {"choices": [{"number": "3", "relevance": "0.5"}]}}', ((3,), {3: 0.5}, 0)),
        ("[3, 1]", ((3, 1), {}, 0)),
        ("Here:\n[\n  3,\n  1\n]", ((3, 1), {}, 0)),
        ('{"3": 0.8, "1": "0.2"}', ((3, 1), {3: 0.8, 1: 0.2}, 0)),
        ("{3: 0.8, 1: 0.2}", ((3, 1), {3: 0.8, 1: 0.2}, 0)),
        ('[{"3": 0.8}, {"1": 0.2}]', ((3, 1), {3: 0.8, 1: 0.2}, 0)),
        ('[{"n": "3"}]', ((3,), {}, 0)),
        ('{"choices": "3, 1"}', ((3, 1), {}, 0)),
        ('{"choices": 3}', ((3,), {}, 0)),
        ("3, 1", ((3, 1), {}, 0)),
        ("3", ((3,), {}, 0)),
        ("Answer: 3, 1 and 2.", ((3, 1, 2), {}, 0)),
        ("3. (0.8)", ((3,), {3: 0.8}, 0)),
        ("3: 0.8\n1: 0.2", ((3, 1), {3: 0.8, 1: 0.2}, 0)),
        ("1) capital of  Score: 0.4", ((1,), {1: 0.4}, 0)),
        ("- **3**: capital of (Score:0.4)\n- **1** - part of(Score: 40%)", ((3, 1), {3: 0.4, 1: 0.4}, 0)),
        ("* 3. **capital of** (Score: 0,4)", ((3,), {3: 0.4}, 0)),
        ("[3] capital of (0.8)\n[1] part of (0.2)", ((3, 1), {3: 0.8, 1: 0.2}, 0)),
        ("| n | relation | score |\n|---|---|---|\n| 3 | capital of | 0.8 |\n| 1 | part of | 20 % |",
         ((3, 1), {3: 0.8, 1: 0.2}, 0)),
        ("I chose:\n\n3. country (1998)\n\nI hope that this helps.", ((3,), {}, 0)),
        ("<think>1, 2? No:</think>\n3, 1", ((3, 1), {}, 0)),
    ],
)  # fmt: skip
def test_numbers_are_read_from_every_shape_of_list(text: str, expected: object) -> None:
    assert chosen(text) == expected


@pytest.mark.parametrize(
    "text", ["[]", '{"choices": []}', "none", "None.", "**None**", '{"choices": "none"}', "```\n[]\n```"]
)
def test_choosing_nothing_is_a_valid_answer(text: str) -> None:
    assert chosen(text) == ((), {}, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[0, -1, 99, 3]", ((3,), {}, 3)),
        ("0, -1, 99, 3", ((3,), {}, 3)),
        ('{"choices": [3, 3, 1, 3]}', ((3, 1), {}, 2)),
        ('{"choices": [{"n": 3, "score": 0.8}, {"n": 3, "score": 0.1}]}', ((3,), {3: 0.8}, 1)),
        ('{"choices": "all"}', ((), {}, 1)),
        ("all", ((), {}, 1)),
        ('{"choices": null}', ((), {}, 1)),
        ('{"choices": [null, true, 2.5, "x", {}, [], 1e999, 3.0]}', ((3,), {}, 7)),
        ('{"numbers": [1], "ids": [2]}', ((), {}, 1)),
        ('{"3": true, "1": false}', ((), {}, 2)),
        ('{"n": 3, "score": 0.8}\n{"n": 1, "score": 0.2}', ((1,), {1: 0.2}, 1)),
        ('{"choices": [3]}\nWait:\n{"choices": [1]}', ((1,), {}, 1)),
        ('{"other": "text"}', ((), {}, 1)),
        ("{}", ((), {}, 1)),
    ],
)
def test_M05_choices_that_are_not_on_the_list_are_dropped_and_counted(text: str, expected: object) -> None:
    assert chosen(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I am sorry, but I cannot help with that.",
        "In 1998 there were 3 of them.",
        "In 1998, 3 prizes were given, 1 of them to a woman.",
        "1998 was the year of 3 of them",
        "3 prizes were given.",
        "Sources [1] and [2] do not agree.",
        "The best are [3, 1].",
        "Sources [1, 2] do not agree.",
        "Sources [1, 2",
        "Nothing fits [1].",
        "At 10:30 it was 3.5 km away.",
        "1. First, I consider the relations that lead to a country, since it was asked for.",
        "SELECT ?x WHERE { ?x ?p 3 } LIMIT 1",
        "![3](http://e.org/1) <script>1</script>",
    ],
)
def test_M11_numbers_in_prose_are_no_choices(text: str) -> None:
    assert chosen(text) == ((), {}, 1)


@pytest.mark.parametrize(
    ("score", "expected", "dropped"),
    [
        ('"9/10"', 0.9, 0), ("NaN", None, 1), ('"NaN"', None, 1), ("-1", 0.0, 0), ("1e9", 1.0, 0), ('"high"', None, 1),
        ('"40%"', 0.4, 0), ('"0,4"', 0.4, 0), ("null", None, 0), ("true", None, 1),
        ("Infinity", None, 1), ('"1/0"', None, 1), ("1e400", None, 1), ("[1]", None, 1), ("1" + 400 * "0", 1.0, 0),
    ],
)  # fmt: skip
def test_M10_scores_are_clipped_or_dropped(score: str, expected: float | None, dropped: int) -> None:
    read = numbers(f'{{"choices": [{{"n": 3, "score": {score}}}]}}', count=4)
    assert read == Numbers((3,), {} if expected is None else {3: expected}, dropped)


@pytest.mark.parametrize("word", ["high", "9/10", "-1", "1e9", "NaN"])
def test_M10_scores_in_text_too(word: str) -> None:
    read = numbers(f"3. capital of (Score: {word})", count=4)
    assert read.numbers == (3,)
    assert set(read.scores.values()) <= {0.9, 0.0, 1.0}
    assert read.dropped == (3 not in read.scores)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"choices": [{"relation": "capital of", "score": 0.4}]}', ((2,), {2: 0.4}, 0)),
        ('["capital of", "spouse"]', ((2, 1), {}, 0)),
        ('{"capital of": 0.4, "spouse": "60%"}', ((2, 1), {2: 0.4, 1: 0.6}, 0)),
        ('[{"n": 2, "name": "capital of"}]', ((2,), {}, 0)),
    ],
)
def test_names_are_understood_where_they_are_exact(text: str, expected: object) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["capitals of", "spouse"]', ((1,), {}, 1)),
        ("capitl of (Score: 0.4)", ((), {}, 1)),
        ('["child"]', ((), {}, 1)),
        ('{"choices": ["child", 7]}', ((7,), {}, 1)),
        ("7. child (Score: 0.9)\n8. child (Score: 0.1)", ((7, 8), {7: 0.9, 8: 0.1}, 0)),
        ('[{"n": 1, "name": "capital of"}]', ((), {}, 1)),
        ("3. capital of (0.4)", ((), {}, 1)),
        ("3. I thought about it for long", ((), {}, 1)),
    ],
)
def test_M06_names_that_are_near_shared_or_at_odds_with_the_number_choose_nothing(text: str, expected: object) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"choices": [{"n": 3, "score": 0.8}, {"n": 1', ((3,), {3: 0.8}, 1)),
        ('{"choices": [{"n": 3, "score": 0.8}, {"n": 1, "score": 0', ((3, 1), {3: 0.8}, 1)),
        ("[3, 1", ((3,), {}, 1)),
        ("Here:\n[\n  3,\n  1", ((3,), {}, 1)),
        ("Answer: [3, 1", ((3,), {}, 1)),
        ('{"choices": [', ((), {}, 1)),
    ],
)
def test_M02_the_last_item_of_a_reply_that_breaks_off_is_dropped(text: str, expected: object) -> None:
    assert chosen(text) == expected


@pytest.mark.parametrize("read", [json_value, mentions, written_answer, lambda text: numbers(text, count=3)])
@pytest.mark.parametrize("text", ["", " \n\t", None, "<think>hm</think>"])
def test_M01_an_empty_reply_is_an_error_of_its_own(read: Callable[[Any], object], text: Any) -> None:
    assert code_of(read, text) == "E_LLM_EMPTY"


def test_M01_an_empty_reply_is_no_number() -> None:
    assert quantity(" ") is None


# --- mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mentions": [{"mention": "Paris", "is_type": false}, {"mention": "city", "is_type": true}]}',
         [("Paris", False), ("city", True)]),
        ('[{"mention": "Paris", "is_type": "yes"}, {"mention": " "}, {"mention": "paris"}]', [("Paris", True)]),
        ('["Physical therapy exercises; manipulation; and other procedures", "b, c"]',
         [("Physical therapy exercises; manipulation; and other procedures", False), ("b, c", False)]),
        ('{"mentions": "Paris, London"}', [("Paris", False), ("London", False)]),
        ('{"entities": ["Paris"], "note": "x"}', [("Paris", False)]),
        ('{"Paris": false, "city": true}', [("Paris", False), ("city", True)]),
        ('{"mentions": []}', []),
        ("None.", []),
        ("The extracted entities are: Anemia, Chest pain, and Fever.",
         [("Anemia", False), ("Chest pain", False), ("Fever", False)]),
        ("Entities: Mercury (planet, inner), Paris", [("Mercury (planet, inner)", False), ("Paris", False)]),
        ("Here are the names:\n- **Paris, Texas**\n- `U2`\n- Paris, Texas", [("Paris, Texas", False), ("U2", False)]),
        ("1. Star Wars: A New Hope\n2. Washington D.C.",
         [("Star Wars: A New Hope", False), ("Washington D.C.", False)]),
        ("Physical therapy exercises; manipulation; and other procedures\nFever",
         [("Physical therapy exercises; manipulation; and other procedures", False), ("Fever", False)]),
        ("Paris, London", [("Paris", False), ("London", False)]),
        ("World War I, fever.", [("World War I", False), ("fever", False)]),
        ('["Paris", "Lon', [("Paris", False)]),
    ],
)  # fmt: skip
def test_mentions(text: str, expected: object) -> None:
    assert mentions(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I am sorry, but I cannot help you with this request.", "I am sorry, I can't.", "Sorry, no.", "I cannot say",
        "There are no entities",
        "The question is about a city.", '{"mentions": [', '{"a": 1}', "[1, 2]",
    ],
)  # fmt: skip
def test_mentions_are_not_made_of_sentences(text: str) -> None:
    assert code_of(mentions, text) == "E_LLM_FORMAT"


# --- answers


def test_an_answer_with_all_its_parts() -> None:
    reply = {
        "answer": "Paris [n2]",
        "entities": [2, "3", 0, 2, "x"],
        "inference": [
            {"marker": "[p1]", "subject": "Paris", "predicate": "capital of", "object": "France"},
            {"marker": "P2", "subject": "Paris"},
            {"marker": "P 3", "subject": "a", "predicate": "b", "object": 4},
        ],
        "claims": [{"text": "It is.", "evidence": ["P1", "P4; N5"]}, "So [P6, p7].", {"evidence": ["P9"]}],
        "used": ["P1, N2", "nonsense here"],
        "sufficient": "yes",
    }
    read = written_answer(json.dumps(reply))
    assert read.answer == "Paris [n2]"
    assert read.entities == (2, 3)
    assert read.steps == (WrittenStep("P1", "Paris", "capital of", "France"), WrittenStep("P3", "a", "b", "4"))
    assert read.claims == (WrittenClaim("It is.", ("P1", "P4", "N5")), WrittenClaim("So [P6, p7].", ()))
    assert read.markers == ("P1", "N2")
    assert read.names_entities
    assert read.sufficient is True
    assert read.dropped == 3 + 1 + 1 + 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("12", "12"), ("12.5", "12.5"), ("true", "yes"), ("false", "no"), ('["Paris", 3]', "Paris, 3"),
        ('{"text": "Paris"}', "Paris"), ('"At 10:30, see http://e.org/a"', "At 10:30, see http://e.org/a"),
        ('"SELECT ?x WHERE { ?x ?p [] }"', "SELECT ?x WHERE { ?x ?p [] }"),
        ("123456789012345678901", "123456789012345678901"),
    ],
)  # fmt: skip
def test_an_answer_of_any_json_type_is_text(answer: str, expected: str) -> None:
    assert written_answer(f'```json\n{{"answer": {answer}}}\n```\nI hope that helps.').answer == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ('["P1"]', ("P1",)), ('["[P1]"]', ("P1",)), ('["p1"]', ("P1",)), ('["P 1"]', ("P1",)),
        ('"P1, N2"', ("P1", "N2")),
        ('["P01", "P1"]', ("P1",)), ("[1, 2]", ("1", "2")), ('["2007"]', ("2007",)),
    ],
)  # fmt: skip
def test_markers_have_one_spelling(used: str, expected: tuple[str, ...]) -> None:
    assert written_answer(f'{{"answer": "x", "used": {used}}}').markers == expected


@pytest.mark.parametrize(
    "text",
    [
        "Output 1: Paris.\nOutput 2: P1 …\nOutput 3: tree",
        "output1:\nParis.\n\nOUTPUT2:\nP1 …",
        "**Output 1:** Paris.\n\n**Output 2:** …",
        "### Output 1\nParis.\n### Output 2\nx",
        "Paris.\nOutput 2: because",
        "Answer: Paris.",
        "**Final answer:** Paris.",
        "Paris.",
    ],
)
def test_an_answer_under_headings_or_in_prose(text: str) -> None:
    read = written_answer(text)
    assert read.answer == "Paris."
    assert read.steps == ()


def test_prose_lists_no_markers_and_names_no_entities() -> None:
    text = "Paris [P1] [p2, N3][1] is [sic] of [http://e.org/a]; answer: 10:30"
    assert written_answer(text) == WrittenAnswer(text)
    assert not written_answer(text).names_entities
    assert written_answer('{"answer": "Paris", "entities": []}').names_entities


def test_citations_are_found_in_brackets_and_where_they_look_like_ours() -> None:
    found = cited_text("Paris [P1] [p2, N3][1] is [sic] the P9 of X9 [http://e.org/a1]", ["P1", "P2", "P9"])
    assert (found.known, found.unknown) == (("P1", "P2", "P9"), ("N3", "1"))
    assert found.text == "Paris [P1] [P2] is [sic] the P9 of X9 [http://e.org/a1]"


@pytest.mark.parametrize(
    "text", ["![x](http://e.org) <script>x</script>", "SELECT ?x WHERE { ?x ?p ?o }", "{Paris} it is"]
)
def test_M11_hostile_prose_is_an_answer_like_any_other(text: str) -> None:
    assert written_answer(text).answer == text


@pytest.mark.parametrize(
    "text", ['{"answer": "Par', '{"other": 1}', '{"answer": "x" oops}', '{"sufficient": true}', "[{", '["Pa']
)
def test_M02_json_without_an_answer_is_not_taken_for_prose(text: str) -> None:
    assert code_of(written_answer, text) == "E_LLM_FORMAT"


@pytest.mark.parametrize("answer", ['""', "null", "[]", "NaN", '" "'])
def test_M01_an_empty_answer_is_an_empty_reply(answer: str) -> None:
    assert code_of(written_answer, f'{{"answer": {answer}}}') == "E_LLM_EMPTY"
    assert written_answer(f'{{"answer": {answer}, "sufficient": false}}').sufficient is False
    assert written_answer(f'{{"answer": {answer}, "entities": [2]}}').entities == (2,)


@pytest.mark.parametrize(
    ("text", "answer"), [('["Paris", 3]', "Paris, 3"), ('["Paris"]', "Paris"), ("Paris [P1", "Paris")]
)
def test_an_answer_that_is_a_list_or_breaks_off_in_a_citation(text: str, answer: str) -> None:
    assert written_answer(text).answer == answer


def test_an_answer_that_breaks_off_is_counted() -> None:
    read = written_answer('{"answer": "Paris", "entities": [1, 12')
    assert (read.answer, read.entities, read.dropped) == ("Paris", (1,), 1)


# --- yes, no, and quantities


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{Yes}", True), ("Yes.", True), ("**Yes**", True), ("yes, because no other is", True), ("true", True),
        ("No, although yes would", False), ("{No}", False), ("I know the Nobel Prize.", None), ("No. 5 is known", None),
        ("No-one knows; yes", True), ("", None), ("perhaps", None),
    ],
)  # fmt: skip
def test_truth(text: str, expected: bool | None) -> None:
    assert truth_of(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234", 1234), ("1 234", 1234), ("1,234,567.8", 1234567.8),
        ("1.5", 1.5), ("-3", -3), ("−3.5", -3.5), ("40%", 40), ("40 %", 40), ("$1,234.50", 1234.5),
        ("-$5", -5), ("It is 12 km.", 12), ("It is 12km.", 12), ("3 million", 3e6), ("1e3", 1000), (".5", 0.5),
        ('{"answer": 1234}', 1234), ('{"answer": "1,234 km"}', 1234), ("```json\n{\"answer\": -2.5}\n```", -2.5),
        ("In 1998 there were many; the answer is 12.", 12), ("**Answer:** 7 of 12", 7), ("Seven [P1]: 7 [1]", 7),
        ("7, I mean 7", 7),
    ],
)  # fmt: skip
def test_quantity(text: str, expected: float) -> None:
    assert quantity(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "many", "In 1998 there were 3.", "2020-02-03", "10:30", "P1", "the 3rd", "1e9999", '{"answer": null}', "3-5"],
)
def test_no_certain_quantity(text: str) -> None:
    assert quantity(text) is None


# --- every text


HOSTILE_UNITS = (
    "[", "{", '{"', '{"a":', "[1,", '["a" ', '"', '\\"', '{\\"', '{"a":1 x ', "<think>", "</think>", "<think></think>",
    "{a", "[a ", "{'", " ", "\n", "```\n", "//", "[“", '{"a":"x"   "', '[{"a":[', "`", "<|", "1,", "a:", "1. a\n",
    "| 1 ", "| 1 |\n", "(", "[P1]", "[P1, ", "P1 ", "Output 1:", "output ", "*", "- ", "score ", "score: 1 ", "1 234 ",
    "1.234.", "1,234,", "answer is ", "yes", "no.", "entities ", "a, ", "{x} ", "'a' ", "\u2028", "3 (", "are ", "http://",
    "<|channel|>", "'", "“",
)  # fmt: skip


def seconds_for(*bodies: str) -> float:
    started = time.process_time()
    for body in bodies:
        for read in READERS:
            with contextlib.suppress(ModelReplyError):
                read(body)
    return time.process_time() - started


@pytest.mark.parametrize("unit", HOSTILE_UNITS)
def test_M07_no_text_takes_more_than_linear_time(unit: str) -> None:
    text = (unit * 10_000)[:10_000]
    seconds = seconds_for(text, '{"answer":' + text, text + ' {"b": 1}')
    assert seconds < 5  # a sixth of a second; minutes if it were quadratic


@pytest.mark.parametrize("unit", ["{", "1. a\n"])  # the slowest of all
def test_M07_the_longest_reply_that_is_read(unit: str) -> None:
    assert seconds_for((unit * MAX_CHARACTERS)[:MAX_CHARACTERS]) < 60


def test_M07_a_reply_of_a_megabyte_is_refused_at_once() -> None:
    started = time.process_time()
    for read in READERS[:-1]:
        assert code_of(read, 1_000_000 * "[") == "E_LIMIT"
    assert time.process_time() - started < 1


TEXTS = st.lists(
    st.one_of(st.text(max_size=6), st.sampled_from([*HOSTILE_UNITS, "capital of", "child", ": 0.4", "}", "]", ")"])),
    max_size=14,
).map("".join)


@given(TEXTS)
@examples(300)
def test_no_text_raises_anything_else(text: str) -> None:
    for read in READERS:
        try:
            result = read(text)
        except ModelReplyError:
            continue
        if isinstance(result, Numbers):
            assert len(set(result.numbers)) == len(result.numbers)
            assert all(1 <= number <= 8 for number in result.numbers)
            assert set(result.scores) <= set(result.numbers)
            assert all(0 <= score <= 1 for score in result.scores.values())


CHOICES = st.lists(
    st.fixed_dictionaries({"n": st.integers(1, 250)}, optional={"score": st.floats(0, 1), "why": st.text(max_size=8)}),
    max_size=4,
)
BODIES = st.one_of(
    CHOICES.map(lambda choices: {"choices": choices}),
    CHOICES,
    st.lists(st.integers(1, 250), max_size=6),
    st.dictionaries(st.integers(1, 250).map(str), st.floats(0, 1), max_size=4),
)


@given(BODIES, st.sampled_from([None, 2]), st.sampled_from(["", "Here:\n", "```json\n", "I think [1"]))
@examples(150)
def test_M02_a_body_cut_anywhere_yields_no_number_that_was_not_whole(
    body: Any, indent: int | None, before: str
) -> None:
    text = json.dumps(body, indent=indent)
    text = before.replace("[1", "") + text
    whole = numbers(text, count=250)
    for end in range(len(text)):
        if not text[:end].strip():
            continue
        cut = numbers(text[:end], count=250)
        assert cut.numbers == whole.numbers[: len(cut.numbers)]
        assert all(whole.scores[number] == score for number, score in cut.scores.items())


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), JSON_VALUES, min_size=1, max_size=4), st.booleans())
@examples(300)
def test_valid_json_is_read_as_it_is(value: dict[str, Any], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert json_value(text) == json.loads(text)
    assert json_value(f"```json\n{text}\n```") == json.loads(text)
