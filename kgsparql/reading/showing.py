"""The clauses of a question as lines that a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgsparql.reading.clauses import Chunk, Comparative, NounPhrase, Predication, Restriction
from kgsparql.reading.form import Form


def described(question: Form) -> list[str]:
    """Write the clauses of a question: names in ‹›, classes in <>."""
    texts = question.read.texts
    lines = [_Writer(texts).question(question)]
    for title, positions in (("not read", question.unread), ("whom it means is not known", question.pronouns)):
        if positions:
            lines.append(f"{title}: {', '.join(texts[at] for at in positions)}")
    return lines


class _Writer:
    """Writes clauses with the words of one question."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def question(self, question: Form) -> str:
        """Write a question in a line."""
        parts = [question.asks, self.phrase(question.phrase), *map(self.restriction, question.said)]
        if question.choices is not None:
            parts.append(f"out of {self.phrase(question.choices)}")
        if question.other is not None:
            parts.append(f"{self.compared(question.comparative)} than {self.phrase(question.other)}")
        parts += [self.words(question.measured)] if question.measured else []
        if question.each is not None and question.each is not question.phrase:
            parts.append(f"for each {self.phrase(question.each)}")
        if question.columns:
            parts.append(f"with columns {', '.join(map(self.phrase, question.columns))}")
        return " · ".join(filter(None, parts))

    def words(self, positions: Sequence[int]) -> str:
        """Write some words."""
        return " ".join(self.texts[at] for at in positions)

    def compared(self, comparative: Comparative | None) -> str:
        """Write a comparative."""
        if comparative is None:
            return ""
        number = "" if comparative.quantity is None else f" {comparative.comparison} {comparative.quantity.value.text}"
        return self.texts[comparative.position] + number

    def phrase(self, phrase: NounPhrase) -> str:
        """Write a noun phrase with what is said of it."""
        return " · ".join(filter(None, self._parts_of_phrase(phrase)))

    def _parts_of_phrase(self, phrase: NounPhrase) -> Iterator[str]:
        """Yield the noun, its owner, and each restriction."""
        before = [phrase.asked, "no" * phrase.is_negated, self.words(phrase.kinds), self.words(phrase.same)]
        if phrase.superlative is not None:
            rank, number = phrase.superlative.rank, phrase.superlative.number
            before += [str(rank) * (rank > 1), self.texts[phrase.superlative.position], str(number) * (number > 1)]
        before += [self.texts[one[0]] for one in (phrase.most, phrase.summary) if one]
        before += [f"{phrase.quantity.comparison} {phrase.quantity.value.text}"] if phrase.quantity else []
        noun = f" {phrase.joined_by} ".join(self._inner_phrase(part) for part in phrase.parts)
        noun = noun or " ".join(map(_chunk_text, phrase.chunks))
        owner = [f"{'as' if phrase.of_form == 'same' else 'of'} {self._inner_phrase(phrase.of)}"] if phrase.of else []
        yield " ".join(filter(None, [*before, noun, *owner]))
        yield from map(self.restriction, phrase.restrictions)

    def _inner_phrase(self, phrase: NounPhrase) -> str:
        """Write a phrase within another one."""
        text = self.phrase(phrase)
        return f"({text})" if " · " in text else text

    def restriction(self, restriction: Restriction) -> str:
        """Write what is said of a phrase."""
        if isinstance(restriction, Predication):
            return " ".join(filter(None, self._parts_of_relation(restriction)))
        branches = (" · ".join(map(self.restriction, branch)) for branch in restriction.branches)
        return " or ".join(f"({branch})" for branch in branches)

    def _parts_of_relation(self, relation: Predication) -> Iterator[str]:
        """Yield the negation, subject, verb and arguments of a relation."""
        yield "not" * relation.is_negated
        if relation.whose is not None:
            yield f"whose {self._inner_phrase(relation.whose)} · {' · '.join(map(self.restriction, relation.said))}"
        yield self._inner_phrase(relation.subject) if relation.subject else ""
        yield "be" * relation.is_passive
        yield self.words(relation.verb) or ("" if relation.preposition else relation.light)
        yield self.compared(relation.compared)
        yield relation.preposition
        yield self._inner_phrase(relation.object) if relation.object else ""
        yield self.words(relation.compared.event) if relation.compared else ""
        for preposition, other in relation.more:
            yield f"{preposition} {self._inner_phrase(other)}"


def _chunk_text(chunk: Chunk) -> str:
    if chunk.entities:
        return f"‹{chunk.text}›"
    return f"<{chunk.text}>" if chunk.classes else chunk.text
