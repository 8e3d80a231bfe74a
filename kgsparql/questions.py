"""What a question asks for: the kind of thing that would answer it, in words."""

from __future__ import annotations

from kgsparql.words import root, stem, stop_words, tokens

__all__ = ["asks_for_others", "expected_kind", "shared_words"]

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
    ('number', 'name novels')
    """
    asked = [token.text for token in tokens(question)]
    stops = stop_words(("en",))
    for i, word in enumerate(asked):
        following = [w for w in asked[i + 1 :] if w not in stops][:2]
        if word == "how" and i + 1 < len(asked) and asked[i + 1] in _COUNTED:
            return "number"
        if word in _CHOSEN:
            return " ".join(following[:1] if _is_done(following[1:]) else following)
        if word in _BY_FIRST_WORD:
            return _BY_FIRST_WORD[word]
    return " ".join([word for word in asked if word not in stops][:2])


def _is_done(words: list[str]) -> bool:
    """Whether the first of these words says what was done, not what is asked for: `worked` in `scientists worked`."""
    return bool(words) and (words[0].endswith("ed") or words[0] in _PAST)


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
