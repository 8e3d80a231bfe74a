"""What of a question an answer does not account for: one of fourteen sentences, chosen here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal as OneOf

from kgsparql.dataclasses import frozen, replace
from kgsparql.rdf.terms import printable

GapCode = OneOf[
    "name", "part_of_name", "ambiguous", "word", "operation", "predicate", "kind", "step", "reading", "value", "model",
    "confidence",
]  # fmt: skip
_LONGEST = 80  # characters of what a sentence names
_LONGEST_MEANING = 200  # with an IRI


@frozen
class Gap:
    """Words of a question that an answer does not account for, and a sentence for the reader.

    :param code: what it is about; ``confidence``: nothing is left out, and what speaks least for the answer is said.
    :param template: the sentence, with places for the values: a lexicon has it in its language.
    :param position: of the word that is the first value, as long as that is not known; -1 where it is.

    >>> gap = no_name("Anna")
    >>> gap.text
    "nothing in this graph is called 'Anna'"
    >>> gap.translated({"nothing in this graph is called {!r}": "nichts in diesem Graphen heißt {!r}"}).text
    "nichts in diesem Graphen heißt 'Anna'"
    """

    code: GapCode
    words: str
    template: str
    values: tuple[str, ...] = ()
    position: int = -1

    @property
    def text(self) -> str:
        """The sentence."""
        return self.template.format(*self.values)

    def said(self, word: str) -> Gap:
        """Say which word it is about."""
        return replace(self, words=word, values=(word, *self.values), position=-1)

    def translated(self, sentences: Mapping[str, str]) -> Gap:
        """Say it in another language, as far as that has a sentence for it."""
        either = f") {sentences.get('or', 'or')} "  # between meanings, behind the IRI of each
        values = tuple(sentences.get(value, value).replace(") or ", either) for value in self.values)
        return replace(self, template=sentences.get(self.template, self.template), values=values)


def _gap(code: GapCode, words: str, template: str, *values: str, most: int = _LONGEST) -> Gap:
    return Gap(code, words, template, tuple(printable(one, most) for one in values))


def quoted(text: str) -> str:
    """Quote a text of the graph, without the signs that would hide it."""
    return repr(printable(text, _LONGEST))


def no_name(name: str) -> Gap:
    """Say that nothing has a name."""
    return _gap("name", name, "nothing in this graph is called {!r}", name)


def may_mean(words: str, *meanings: str, code: OneOf["part_of_name", "ambiguous"] = "ambiguous") -> Gap:
    """Say that words mean one of some things, or were taken for one."""
    told = " or ".join(printable(one, _LONGEST_MEANING) for one in meanings)
    return Gap(code, words, "{!r} may mean {}", (printable(words, _LONGEST), told))


LEFT_OUT = "{!r} is left out"


def left_out(words: str, code: OneOf["word", "name", "value"] = "word") -> Gap:
    """Say that nothing that was found has to do with some words."""
    return _gap(code, words, LEFT_OUT, words)


def left_out_at(positions: Iterable[int]) -> tuple[Gap, ...]:
    """Say the same of the words at some positions."""
    return tuple(Gap("word", "", LEFT_OUT, position=position) for position in positions)


def uncomputed(words: str, asked: str = "") -> Gap:
    """Say that something is to be computed, compared or ordered that is not.

    :param asked: what that is, where the words do not say it.
    """
    return _gap("operation", words, "what {!r} asks for is not computed", asked or words)


def known_elsewhere(label: str, words: str = "") -> Gap:
    """Say that the graph has a predicate or class that is asked for, and what was found is not by it."""
    return _gap("predicate", words, "this graph knows {!r}, but nothing of it was found here", label)


def other_kind(asked: str, found: str, words: str = "") -> Gap:
    """Say that what was found is not of the kind that is asked for."""
    return _gap("kind", words or asked, "this asks for {}, and what was found is {}", asked, found)


def unsaid(label: str, words: str = "") -> Gap:
    """Say that a step is gone, or a class is taken, that no word names."""
    return _gap("step", words or label, "the graph says {!r}, and the question does not", label)


def turned(label: str) -> Gap:
    """Say that a step is gone the other way than is asked."""
    return _gap("step", label, "the question asks for the other way of {!r}", label)


def rival(one: str = "another reading", other: str = "this one") -> Gap:
    """Say that something else is as likely to be meant."""
    return _gap("reading", "", "{} fits the question as well as {}", one, other, most=_LONGEST_MEANING)


def not_all(why: str) -> Gap:
    """Say that some of what counts was not read."""
    return _gap("value", "", "this may not be all: {}", why, most=_LONGEST_MEANING)


def not_the_graphs(why: str) -> Gap:
    """Say that a model or a document says it."""
    return _gap("model", "", "the graph alone does not say this: {}", why, most=_LONGEST_MEANING)


def undated() -> Gap:
    """Say that the graph has what is asked for, and not when it was so."""
    return Gap("value", "", "the graph alone does not say this: {}", ("when",))


def unlikely(percent: float, why: str) -> Gap:
    """Say that nothing is left out, and all the same it is not likely enough."""
    return Gap("confidence", "", "it is {} % likely to be right: {}", (f"{percent:.0f}", why))


def held_in(percent: int) -> Gap:
    """Say that the right reading is one of those that are listed, and how often that is so."""
    return Gap("confidence", "", "it is one of these readings in {} of 100 questions", (f"{percent}",))


def held_by_none(percent: int, why: str) -> Gap:
    """Say that no few readings are likely enough to hold the right one, and what is in doubt."""
    template = "no set of readings holds the right answer in {} of 100 questions; {}"
    return Gap("confidence", "", template, (f"{percent}", why))
