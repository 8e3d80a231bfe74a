"""What a question asks for: the kind of its answer, or others like the one it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile

from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import STOP_WORDS, is_unspaced, root, stem, stop_words, tokens

_BY_FIRST_WORD = {
    "who": "person",
    "whom": "person",
    "when": "date year",
    "where": "place location",
}
_QUANTITY = frozenset({"many", "much"})
_OTHERS = frozenset(
    {"same", "share", "shares", "shared", "sharing", "also", "other", "others", "else", "together", "fellow"}
)
_PAST = frozenset(
    "became began born built came died gave got held led made met ran sang sold taught took went won wrote".split()
)
_NAMING = frozenset({"name", "names"})
_BEFORE_NOUN = frozenset({"what", "which", "whose"})
_WHAT_ONE_DOES = "profession job"
_DOES = re.compile(r"what (?:do|does|did) (?:.+ )?do\b|(?:what|why) .*\b(?:known|famous)\b", re.IGNORECASE)
"""A question for what somebody does for a living or is known for, also without the name."""
_SPEAK = re.compile(r"what (?:do|does|did|.*\blanguages?)\b.*\bspeaks?\b", re.IGNORECASE)


def expected_kind(question: str) -> str:
    """The kind of answer a question expects, to be compared with names of classes; empty where it does not say.

    English only: in other languages it is the first two content words, which is right about half the time.

    Source: the measured recipe of the project's path ranking.

    >>> expected_kind("Which scientists worked with her?"), expected_kind("When did he die?")
    ('scientists', 'date year')
    >>> expected_kind("How many people live there?"), expected_kind("Name the novels of Morrison")
    ('people live', 'name novels')
    >>> expected_kind("What is the gender of her spouse?"), expected_kind("What is the name of the city?")
    ('gender', 'city')
    >>> expected_kind("What did Ann do at Bell Labs?")
    'profession job'
    >>> expected_kind("What did do for a living?"), expected_kind("What do they speak in Chile?")
    ('profession job', 'language')
    """
    if _DOES.match(question.strip()):
        return _WHAT_ONE_DOES
    if _SPEAK.match(question.strip()):
        return "language"
    question_words = [token.text for token in tokens(question)]
    stops = stop_words(("en",))
    for i, word in enumerate(question_words):
        following = _first_run(question_words[i + 1 :], stops)
        if word == "how" and i + 1 < len(question_words) and question_words[i + 1] in _QUANTITY:
            return " ".join(_noun(following)) if question_words[i + 1] == "many" and following else "number"
        if word in _BEFORE_NOUN:
            return " ".join(_noun(following))
        if word in _BY_FIRST_WORD:
            return _BY_FIRST_WORD[word]
    return " ".join([word for word in question_words if word not in stops][:2])


def _first_run(words: list[str], stops: frozenset[str]) -> list[str]:
    """The first two content words; one where a small word follows: `sex` of `is the sex of her spouse`."""
    begun = list(dropwhile(lambda word: word in stops, words))
    if begun[:1] and begun[0] in _NAMING and begun[1:2] == ["of"]:
        return _first_run(begun[1:], stops)
    return list(takewhile(lambda word: word not in stops, begun))[:2]


def _noun(words: list[str]) -> list[str]:
    """The words without a second one that is a verb in the past: `scientists` of `scientists worked`."""
    return words[:1] if words[1:] and (words[1].endswith("ed") or words[1] in _PAST) else words


def is_foreign(question: str) -> bool:
    """Whether a question is in another language than English: more of its words are stop words there, or its script.

    >>> [is_foreign(text) for text in ("Ada's office", "Was Ada fired?", "Wann wurde Ada geboren?", "居里夫人")]
    [False, False, True, True]
    """
    own = [token.text for token in tokens(question)]
    hits = {tag: sum(word in stops for word in own) for tag, stops in STOP_WORDS.items()}
    return 2 * sum(map(is_unspaced, question)) > len(question) or max(hits.values()) > hits["en"]


_ASKS_WHAT = re.compile(
    r"(?:(?:what|who)(?:['’]s|\s+(?:is|are|was|were|does|do))|define|describe|explain|what is meant by|"
    r"(?:tell me |what do you know )about)(?:\s+(?:an?|the))?",
    re.IGNORECASE,
)


def asks_what_it_is(question: str, links: Sequence[LinkedEntity]) -> bool:
    """Whether a question asks only what the one thing is that it names; English only.

    >>> from kgsparql.linking.linked_entity import LinkedEntity, Mention
    >>> from kgsparql.rdf.terms import IRI
    >>> radium = LinkedEntity(IRI("http://e.org/Ra"), "radium", 1.0, "entity", "exact", Mention("radium", 8, 14))
    >>> asks_what_it_is("What is radium?", [radium]), asks_what_it_is("What is radium called?", [radium])
    (True, False)
    """
    if len(links) != 1 or links[0].mention.start < 0:
        return False
    before, after = question[: links[0].mention.start], question[links[0].mention.end :]
    return bool(_ASKS_WHAT.fullmatch(before.strip())) and after.strip(" ?.!") in {"", "mean"}


def asks_for_others(question: str, *, names: int = 1) -> bool:
    """Whether the question asks for things that have something in common with the one it names; English only.

    Where it names several, `also` asks for what they share. Else the answer is reached by a predicate to what they
    share, and back by the same predicate. Such a question has a word for it, such as `same`, or has one word twice.

    >>> asks_for_others("Who worked at the same place as Ann?"), asks_for_others("Where did Ann work?")
    (True, False)
    >>> asks_for_others("films directed by the director of Jaws"), asks_for_others("Who co-wrote songs with Ann?")
    (True, True)
    >>> asks_for_others("Who starred in and also starred in", names=2)
    False
    """
    question_words = [token.text for token in tokens(question)]
    if names > 1 and "also" in question_words:
        return False
    stops = stop_words(("en",))
    roots = [root(word) for word in question_words if word not in stops and len(word) > 3]
    return "co" in question_words or len(roots) > len(set(roots)) or not _OTHERS.isdisjoint(question_words)


def word_overlap(question: str, text: str) -> float:
    """The share, in [0, 1], of the question's content words whose stems the text has too.

    >>> word_overlap("Which scientists worked there?", "work of a person")
    0.5
    """
    wanted = content_stems(question)
    return len(wanted & content_stems(text)) / len(wanted) if wanted else 0.0


def content_stems(text: str) -> set[str]:
    """The stems of the words that carry what a text says.

    >>> sorted(content_stems("Which of the films were banned?"))
    ['ban', 'film']
    """
    stops = stop_words(("en",))
    return {stem(token.text) for token in tokens(text) if token.text not in stops}
