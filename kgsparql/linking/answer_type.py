"""What a question asks for: the kind of thing that would answer it, in words."""

from __future__ import annotations

from itertools import pairwise

from kgsparql.linking.words import root, stem, stop_words, tokens

__all__ = ["asks_for_others", "asks_how_many", "expected_kind", "shared_words"]

_BY_FIRST_WORD = {
    "who": "person",
    "whom": "person",
    "when": "date year",
    "where": "place location",
}
_COUNTED = frozenset({"many", "much"})
_OTHERS = frozenset(
    {"same", "share", "shares", "shared", "sharing", "also", "other", "others", "else", "together", "fellow"}
)
_PAST = frozenset(
    {
        "became",
        "began",
        "born",
        "built",
        "came",
        "died",
        "gave",
        "got",
        "held",
        "led",
        "made",
        "met",
        "ran",
        "sang",
        "sold",
        "taught",
        "took",
        "went",
        "won",
        "wrote",
    }
)
_CHOSEN = frozenset({"what", "which", "whose"})


def expected_kind(question: str) -> str:
    """The kind of answer a question expects, for comparison with the names of classes; empty when it does not say.

    English only: in other languages it is the first content words, which is right about as often as not.

    Source: the measured recipe of the project's path ranking.

    >>> expected_kind("Which scientists worked with her?"), expected_kind("When did he die?")
    ('scientists', 'date year')
    >>> expected_kind("How many people live there?"), expected_kind("Name the novels of Morrison")
    ('people live', 'name novels')
    """
    asked = [token.text for token in tokens(question)]
    stops = stop_words(("en",))
    for i, word in enumerate(asked):
        following = [w for w in asked[i + 1 :] if w not in stops][:2]
        if word == "how" and i + 1 < len(asked) and asked[i + 1] in _COUNTED:
            return " ".join(_noun(following)) if asked[i + 1] == "many" and following else "number"
        if word in _CHOSEN:
            return " ".join(_noun(following))
        if word in _BY_FIRST_WORD:
            return _BY_FIRST_WORD[word]
    return " ".join([word for word in asked if word not in stops][:2])


def _noun(words: list[str]) -> list[str]:
    """The words but for a second that says what was done, not what is asked for: `worked` in `scientists worked`."""
    return words[:1] if words[1:] and (words[1].endswith("ed") or words[1] in _PAST) else words


def asks_how_many(question: str) -> bool:
    """Whether the question asks for a number of things; English only.

    >>> asks_how_many("How many prizes did she win?"), asks_how_many("How much is it?")
    (True, False)
    """
    asked = [token.text for token in tokens(question)]
    return ("how", "many") in pairwise(asked)


def asks_for_others(question: str) -> bool:
    """Whether the question asks for things that have something in common with the one it names; English only.

    Such a question walks a predicate to what is shared and the same predicate back to the others. It says so, or it
    says a word twice.

    >>> asks_for_others("Who worked at the same place as Ann?"), asks_for_others("Where did Ann work?")
    (True, False)
    >>> asks_for_others("films directed by the director of Jaws"), asks_for_others("Who co-wrote songs with Ann?")
    (True, True)
    """
    asked = [token.text for token in tokens(question)]
    stops = stop_words(("en",))
    roots = [root(word) for word in asked if word not in stops and len(word) > 3]
    return "co" in asked or len(roots) > len(set(roots)) or not _OTHERS.isdisjoint(asked)


def shared_words(question: str, text: str) -> float:
    """The share of the question's content words that the text has too, compared by their stems.

    >>> shared_words("Which scientists worked there?", "work of a person")
    0.5
    """
    asked = _stems(question)
    return len(asked & _stems(text)) / len(asked) if asked else 0.0


def _stems(text: str) -> set[str]:
    stops = stop_words(("en",))
    return {stem(token.text) for token in tokens(text) if token.text not in stops}
