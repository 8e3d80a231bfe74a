"""What models reply, and what is read from it: the gallery of replies, rows M01 to M11 of the catalogue."""

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
from kgsparql.models.chat_completion import text_of
from kgsparql.models.replies import SaidReading, mentions, numbers, said_reading
from kgsparql.models.reply_json import MAX_CHARACTERS, json_value, plain_text
from tests.deep import DEEP, examples

READERS: tuple[Callable[[str], Any], ...] = (
    json_value, plain_text, lambda text: numbers(text, count=7), mentions,
    lambda text: said_reading(text, count=7, meanings=3),
)  # fmt: skip


def chosen(text: str) -> tuple[tuple[int, ...], dict[int, float], int]:
    read = numbers(text, count=4)
    return read.numbers, read.scores, read.dropped


def code_of(read: Callable[[str], object], text: str) -> str:
    with pytest.raises(ModelReplyError) as caught:
        read(text)
    return caught.value.code


def test_M02_json_is_found_and_repaired_where_that_is_unambiguous() -> None:
    for text, value in (
        ('```\n{"a": 1}', {"a": 1}),
        ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
        (r'{"a": "\ud83d\ude00", "b": "two' + '\nlines"}', {"a": "😀", "b": "two\nlines"}),
        ('See [1] and [2]: {"a": 1}\nWait, I was wrong:\n{"a": {"b": 2}}', {"a": {"b": 2}}),
        ("[-Infinity, 1e400]", [-math.inf, math.inf]),
        ('{"a": 1}. And then {"b": [1, ', {"a": 1}),
        # Reasoning before the answer does not count.
        ('<THINKING>\nPerhaps {"a": 1}?\n</THINKING>{"a": 2}', {"a": 2}),
        ('◁think▷{"a": 1}◁/think▷{"a": 2}', {"a": 2}),
        ('<think>I write <think> tags {"a": 1}</think>{"a": 2}', {"a": 2}),
        ('{"a": 2}\n<think>that was it</think>', {"a": 2}),
        ('<|channel|>analysis<|message|>{"a": 1}<|end|><|start|>assistant<|channel|>final<|message|>{"a": 2}<|return|>',
         {"a": 2}),
    ):  # fmt: skip
        assert json_value(text) == value, text


def test_M02_what_is_not_json_or_broken_or_cut_is_an_error() -> None:
    for text in (
        '{"answer": "Paris", "n": [1, 2', '{"answer": "Paris", "wh', '{"a": true, "b": tr', r'{"a": "\_ \alpha"}',
        r'{"a": "\ud83d"}', '{"a": [1, 2}', '{"a": 0,4}', '[{"n": 1} {"n": 2}]', '"{\\"a\\": [3, 12, 1', "no", "[1",
        '{"a": ', "[see below]", "{X} is the answer", '{"b": "]}", "a": bad thing, "c": {"n": 1}}', "}{",
        '{"a": [{"n": 3}}, {"n": 1}]}',
    ):  # fmt: skip
        assert code_of(json_value, text) == "E_LLM_FORMAT", text
    with pytest.raises(ModelReplyError, match=r"not JSON: I am sorry \[31mI cannot") as caught:
        json_value("I am sorry\n\x1b[31mI cannot " + 500 * "x")
    assert len(str(caught.value)) < 300


def test_M01_an_empty_reply_or_answer_is_an_error_of_its_own() -> None:
    for read in (json_value, mentions, lambda text: numbers(text, count=3), lambda text: said_reading(text, count=3)):
        for text in ("", " \n\t", None, "<think>hm</think>", '<think>Perhaps {"a": 1}, or', "x</think>"):
            assert code_of(read, text) == "E_LLM_EMPTY"  # type: ignore[arg-type]


def test_M11_prose_is_text_whatever_is_in_it() -> None:
    for text, plain in (
        ("\n\n  Paris\n\n", "  Paris"),
        ("```text\nParis```", "Paris"),
        ("Look:\n```sparql\nSELECT *\n```\nso.", "Look:\nSELECT *\nso."),
        ("![x](http://e.org/?q=1) <script>alert(1)</script>", "![x](http://e.org/?q=1) <script>alert(1)</script>"),
        ("<think>", ""),
    ):
        assert plain_text(text) == plain


def test_M06_M11_choices_are_numbers_in_json_or_nothing_but_numbers() -> None:
    for text, expected in (
        ('{"choices": [{"number": "3", "relevance": "0.5"}]}', ((3,), {3: 0.5}, 0)),
        ('{"reasoning": "In [2] …", "choices": [3, 1]}', ((3, 1), {}, 0)),
        ("```json\n[\n  3,\n  1\n]\n```", ((3, 1), {}, 0)),
        ("<think>1, 2? No:</think>\n3, 1.", ((3, 1), {}, 0)),
        *((none, ((), {}, 0)) for none in ("[]", '{"choices": []}', "None.", "**None**", '{"choices": "none"}')),
        ("```\n[]\n```", ((), {}, 0)),
        ('["capital of"]', ((), {}, 1)),
        *((prose, ((), {}, 1)) for prose in (
            "I am sorry, but I cannot help with that.", "1998 was the year of 3 of them", "3. capital of (Score: 0.4)",
            "Sources [1] and [2] do not agree.", "The best are [3, 1].", "Sources [1, 2",
        )),
    ):  # fmt: skip
        assert chosen(text) == expected, text


@pytest.mark.parametrize("replies", [
    ('{"result": {"choices": [3]}}', '{"name": "f", "arguments": "{\\"choices\\": [3]}"}', '[{"choices": [3]}]'),
    ('<tool_call>{"name": "f", "arguments": {"choices": [3]}}</tool_call>', '{"data": {"answer": {"numbers": 3}}}'),
    ('```json\n{"choices": [3,]}\n```', '{"type": "object", "properties": {"choices": [3]}}'),
    ('{"choices": "[3]"}', '{"choices": ["#3"]}', "**3**", "(3)"),
])  # fmt: skip
def test_M02_a_reply_that_is_wrapped_is_read(replies: tuple[str, ...]) -> None:
    for text in replies:
        assert chosen(text) == ((3,), {}, 0), text


@pytest.mark.parametrize(("message", "read"), [
    ({"tool_calls": [{"function": {"name": "f", "arguments": '{"n": 3}'}}]}, '{"n": 3}'),
    ({"content": "", "function_call": {"arguments": {"n": 3}}}, '{"n": 3}'),
    ({"content": " ", "reasoning_content": 'So it is {"n": 3}'}, 'So it is {"n": 3}'),
    ({"content": None, "reasoning": 'Is it {"n": 3}? I am not sure'}, ""),
    ({"content": "3", "reasoning": '{"n": 4}'}, "3"),
])  # fmt: skip
def test_a_reply_in_the_call_of_a_tool_or_in_its_reasoning_is_one(message: dict[str, Any], read: str) -> None:
    assert text_of({"choices": [{"message": message, "finish_reason": "stop"}]}, "x")[0] == read


def test_an_error_in_the_place_of_a_reply_says_the_servers_words() -> None:
    choice = {"message": {"content": ""}, "error": {"code": 502, "message": "upstream is down"}}
    _, problem = text_of({"choices": [choice]}, "x")
    assert problem is not None
    assert problem.message == "the model's reply (x) is an error: upstream is down"


def test_M02_M05_choices_that_are_not_on_the_list_or_not_whole_are_dropped_and_counted() -> None:
    for text, expected in (
        ("0, -1, 99, 3", ((3,), {}, 3)),
        ('{"choices": [{"n": 3, "score": 0.8}, {"n": 3, "score": 0.1}]}', ((3,), {3: 0.8}, 1)),
        ("all", ((), {}, 1)),
        ('{"choices": [null, true, 2.5, "x", {}, [], 1e999, 3.0]}', ((3,), {}, 7)),
        ('{"picks": [1], "ids": [2]}', ((), {}, 1)),
        ('{"n": 3, "score": 0.8}\n{"n": 1, "score": 0.2}', ((1,), {1: 0.2}, 1)),
        ("{}", ((), {}, 1)),
        ('{"choices": [{"n": 3, "score": 0.8}, {"n": 1', ((), {}, 1)),
        ("[\n  3,\n  1", ((), {}, 1)),
        ('{"choices": [', ((), {}, 1)),
    ):
        assert chosen(text) == expected, text


def test_M10_scores_are_clipped_or_dropped() -> None:
    for score, expected in (
        ("-1", 0.0), ("1e9", 1.0), ('"0.4"', 0.4), ("null", None), ('"9/10"', 0.9), ('"1/0"', None), ("1e400", None),
        ('"NaN"', None), ('"high"', None), ("[1]", None), ("true", None), ("1" + 400 * "0", None),
    ):  # fmt: skip
        read = numbers(f'{{"choices": [{{"n": 3, "score": {score}}}]}}', count=4)
        scores, dropped = ({}, int(score != "null")) if expected is None else ({3: expected}, 0)
        assert read == SaidReading((3,), scores, dropped), score


def test_mentions() -> None:
    for text, *expected in (
        ('{"mentions": [{"mention": "Paris", "is_type": false}, {"mention": "city", "is_type": true}]}',
         "Paris", "+city"),
        ('[{"mention": "Paris", "is_type": "yes"}, {"mention": " "}, {"mention": "paris"}, 3]', "+Paris"),
        ('["Therapy; manipulation; and other", "b, c"]', "Therapy; manipulation; and other", "b, c"),
        ('{"mentions": []}',),
        ("None.",),
    ):  # fmt: skip
        assert mentions(text) == [(name.lstrip("+"), name.startswith("+")) for name in expected], text
    for text in (
        "I am sorry, I can't.", "Entities: Paris, London", '{"mentions": [', '["Paris", "Lon', "[1, 2]",
        '{"mentions": "a"}',
    ):  # fmt: skip
        assert code_of(mentions, text) == "E_LLM_FORMAT", f"{text}: mentions are not made of sentences"


def test_a_reading_is_chosen_by_its_number_another_meaning_by_its_letter_and_nothing_else_counts() -> None:
    for text, expected in (
        ('{"numbers": [2, 2, 9, "1"], "meaning": "", "search": "", "compute": false}', SaidReading((2, 1), dropped=2)),
        ('{"numbers": [], "meaning": "B."}', SaidReading(meaning=1)),
        ('{"numbers": [], "meaning": "d", "search": "none"}', SaidReading()),
        ('{"numbers": [], "search": "New\\nYork", "compute": "yes"}', SaidReading(search="New York", compute=True)),
        ('{"numbers": [3], "quote": "in 1903", "answer": "Paris"}', SaidReading((3,), quote="in 1903")),
        ("3", SaidReading((3,))), ("none", SaidReading()),
    ):  # fmt: skip
        assert said_reading(text, count=4, meanings=3) == expected, text
    for text in (
        "Paris", '{"answer": "Paris"}', '{"numbers": [7]}', '{"numbers": [', "{}", "The third [3].", '"3 or 4"',
    ):  # fmt: skip
        assert code_of(lambda text: said_reading(text, count=4), text) == "E_LLM_FORMAT", text


HOSTILE_UNITS = (
    "[", "{", '{"', '{"a":', "[1,", '["a" ', '"', '\\"', '{\\"', '{"a":1 x ', "<think>", "</think>", "<think></think>",
    "{a", "[a ", "{'", " ", "\n", "```\n", "[“", '{"a":"x"   "', '[{"a":[', "`", "<|", "1,", "a:", "(", "[1] ", "[P1]",
    "[P1, ", "P1 ", "*", "1 234 ", "1.234.", "1,234,", "yes", "{x} ", "\u2028", "3 (", "http://", "<|channel|>", "“",
)  # fmt: skip


def test_M07_no_text_takes_more_than_linear_time_and_a_megabyte_none() -> None:
    def seconds_for(*bodies: str) -> float:
        started = time.process_time()
        for body in bodies:
            for read in READERS:
                with contextlib.suppress(ModelReplyError):
                    read(body)
        return time.process_time() - started

    for unit in HOSTILE_UNITS:
        text = (unit * 10_000)[: 10_000 if DEEP else 1_500]
        seconds = seconds_for(text, '{"answer":' + text, text + ' {"b": 1}')
        assert seconds < 5, unit  # a sixth of a second; minutes if it were quadratic
    for unit in ("{", "[1] "):  # the slowest of all, in the longest reply that is read
        assert seconds_for((unit * MAX_CHARACTERS)[: MAX_CHARACTERS if DEEP else MAX_CHARACTERS // 16]) < 60
    assert seconds_for(1_000_000 * "[") < 1
    for read in READERS:
        assert code_of(read, 1_000_000 * "[") == "E_LIMIT"


TEXTS = st.lists(
    st.one_of(st.text(max_size=6), st.sampled_from([*HOSTILE_UNITS, "child", ": 0.4", "}", "]", ")"])), max_size=14
).map("".join)


@given(TEXTS)
@examples(300)
def test_no_text_raises_anything_else(text: str) -> None:
    for read in READERS:
        try:
            result = read(text)
        except ModelReplyError:
            continue
        if isinstance(result, SaidReading):
            assert len(set(result.numbers)) == len(result.numbers)
            assert all(1 <= number <= 8 for number in result.numbers)
            assert set(result.scores) <= set(result.numbers)
            assert all(0 <= score <= 1 for score in result.scores.values())


CHOICES = st.lists(
    st.fixed_dictionaries({"n": st.integers(1, 250)}, optional={"score": st.floats(0, 1), "why": st.text(max_size=8)}),
    max_size=4,
)
BODIES = st.one_of(
    CHOICES.map(lambda choices: {"choices": choices}), CHOICES, st.lists(st.integers(1, 250), max_size=6),
    st.dictionaries(st.integers(1, 250).map(str), st.floats(0, 1), max_size=4),
)  # fmt: skip


@given(BODIES, st.sampled_from([None, 2]), st.sampled_from(["", "Here:\n", "```json\n", "I think"]))
@examples(150)
def test_M02_a_body_cut_anywhere_yields_no_number_that_is_not_whole(body: Any, indent: int | None, before: str) -> None:
    text = before + json.dumps(body, indent=indent)
    whole = numbers(text, count=250)
    for end in range(len(before) + 1, len(text)):
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
