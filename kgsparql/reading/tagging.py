"""The words of a question with their tags: each list of the lexicon is one, and so is what a word may be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kgsparql.reading.chunks import MAX_WORDS, Chunked
from kgsparql.reading.clauses import Chunk
from kgsparql.reading.lexicon import Lexicon
from kgsparql.reading.peg import Edge

Tags = dict[str, Edge]

_BREAKS = frozenset(".?!;:-–—(")  # before a request
_SIGNS = {"comma": frozenset(",:"), "percent": frozenset("%")}
"""Tags without words, of what stands before a word."""

_APOSTROPHES = {"'", "’"}
_CLOSED = {"superlatives", "comparatives", "bounds"}  # are no nouns
_NAMED = {"class", "summaries"}  # tags that the first word of a name loses


def tagged(read: Chunked, lexicon: Lexicon) -> list[Tags]:
    """Tag the words of a question, and the place after them, ``end``; words that say nothing are gone over."""
    tagger = _Tagger(read, lexicon)
    found, after = [tagger.tags(at) for at in range(tagger.length)], tagger.length
    following = [*range(after + 1)]
    for at in reversed(range(after)):
        following[at] = following[at + 1] if found[at] is None else at
    places: list[Tags] = [
        {
            tag: Edge(at, end, following[end], " ".join(read.texts[at:end]), value)
            for tag, (end, value) in {**(tags or {}), **dict.fromkeys(tagger.signs(at), (at, None))}.items()
        }
        for at, tags in enumerate(found)
    ]
    places.append({"end": Edge(after, after, after, "")})
    return [places[following[0]], *places[1:]]


class _Tagger:
    """Tags the words of one question, from the first to the last."""

    def __init__(self, read: Chunked, lexicon: Lexicon) -> None:
        self.read, self.lexicon = read, lexicon
        self.length = min(len(read.texts), MAX_WORDS)
        self.chunks = {chunk.start: chunk for chunk in read.chunks}
        self.covered = {at for c in read.chunks if c.is_strong or c.is_value or len(c.span) > 1 for at in c.span}
        self.silent = set[int]()

    def tags(self, at: int) -> dict[str, tuple[int, Any]] | None:
        """Tag a word: each tag with where it ends and what it says; None if the word says nothing."""
        chunk, named = self.chunks.get(at), self._name_of_predicate(at)
        if self._is_after_owner(at) and self.read.texts[at] == self.lexicon.possessive:
            return {"pos": (at + 1, None)}
        found: dict[str, tuple[int, Any]] = {}
        if at not in self.covered:
            found = self._tags_by_list(at)
            if at in self.silent or "time_adverbs" in found:
                return None
            if "adverbs" in found and not found.keys() & {"negations", "only_words"}:
                return None
            own = Chunk(at, at + 1, self.read.raw[at])
            found |= dict.fromkeys(self._tags_by_form(at, found), (at + 1, chunk or own))
        if chunk is not None and (named is None or at not in self.covered):
            found |= dict.fromkeys(_kinds_of(chunk), (min(chunk.end, self.length), chunk))
        if named is not None:
            found = {tag: one for tag, one in found.items() if tag not in _NAMED}
            found |= dict.fromkeys(("noun", "chunk") if chunk else ("noun",), (named.end, named))
        if found:
            found["word"] = found["chunk"] if at in self.covered else (at + 1, None)
        return found

    def signs(self, at: int) -> set[str]:
        """Tell what stands before a word: a comma, a break, the mark of an owner: ``the Beatles' songs``."""
        gap = self.read.gaps[at - 1] if at else ""
        found = {tag for tag, signs in _SIGNS.items() if not signs.isdisjoint(gap)}
        found |= {"break"} if " " in gap and not _BREAKS.isdisjoint(gap) else set()
        before, mark = self.read.texts[at - 1], self.lexicon.possessive
        is_owner = self._is_after_owner(at) and before.endswith(mark) and self.read.texts[at] != mark
        return found | ({"pos"} if is_owner else set())

    def _is_after_owner(self, at: int) -> bool:
        return at > 0 and self.read.gaps[at - 1].strip() in _APOSTROPHES

    def _tags_by_list(self, at: int) -> dict[str, tuple[int, Any]]:
        """Tell in which lists of the lexicon a word is, and the phrases that begin with it."""
        (words, phrases), texts = word_tags(self.lexicon), self.read.texts
        found = {tag: (at + 1, value) for tag, value in words.get(texts[at], {}).items()}
        for own, tag, value in phrases.get(texts[at], ()):
            end = at + len(own)
            if texts[at:end] == own and self.covered.isdisjoint(range(at, end)):
                found[tag] = end, value
        if "quantifiers" in found:  # `most expensive` counts nothing, `most` does
            longest = max(found[tag][0] for tag in ("superlatives", "comparatives") if tag in found)
            found.pop("quantifiers" if longest > at + 1 else "superlatives", None)
        ending = next((one for one in self.lexicon.day_endings if texts[at].endswith(one)), "")
        if ending and texts[at].removesuffix(ending).isdecimal():
            found["ordinals"] = at + 1, int(texts[at].removesuffix(ending))
        self.silent |= set(range(at, found["asides"][0] if "asides" in found else at))
        return found

    def _tags_by_form(self, at: int, found: Mapping[str, Any]) -> set[str]:
        """Tell what the form of a word makes of it."""
        lexicon, text = self.lexicon, self.read.texts[at]
        is_open = "function_words" not in found
        is_present = lexicon.is_present(text) and is_open
        forms = {
            "part": lexicon.is_participle(text),
            "present": is_present,
            "ing": lexicon.is_progressive(text),
            "agrees": is_open and self._agrees_with_class(at, is_present=is_present),
            "capital": self.read.is_capital(at),
            "noun": is_open and not found.keys() & _CLOSED and not (at in self.chunks and self.chunks[at].classes),
        }
        return {form for form, is_so in forms.items() if is_so}

    def _agrees_with_class(self, at: int, *, is_present: bool) -> bool:
        """Tell whether a word agrees with the class before it as a verb: which trains *stop* at Ulm."""
        texts, lexicon = self.read.texts, self.lexicon
        are_many = at > 0 and lexicon.is_present(texts[at - 1])
        is_after_class = any(chunk.end == at and chunk.classes for chunk in self.chunks.values())
        is_only = texts[0] in lexicon.question_words and lexicon.auxiliaries.isdisjoint(texts)
        return is_after_class and are_many != is_present and (are_many or is_only)

    def _name_of_predicate(self, at: int) -> Chunk | None:
        """Return the name of a predicate of several words as one chunk, if no sentence would have them there."""
        read, lexicon, chunk = self.read, self.lexicon, self.chunks.get(at)
        end = max((end for start, end in read.predicates if start == at and end <= self.length), default=at)
        span, texts = range(at, end), read.texts[at:end]
        if len(span) < 2 or (at in self.covered and chunk is None):
            return None
        if any(p in self.chunks and self.chunks[p].is_name for p in span):
            return None
        openers = lexicon.determiners | lexicon.have_forms | lexicon.question_words.keys() | {lexicon.possessive}
        is_opened = at > 0 and read.texts[at - 1] in openers
        is_joined = not lexicon.function_words.isdisjoint(texts) or lexicon.is_verb(texts[0])
        if (is_joined and not is_opened) or (texts[-1] in lexicon.prepositions and end < self.length):
            return None
        classes = chunk.classes if chunk is not None and chunk.end == end else ()
        return Chunk(at, end, read.text_of(at, end), classes=classes, predicates=read.predicates[at, end])


def _kinds_of(chunk: Chunk) -> set[str]:
    """Tell what a chunk is."""
    kind = "name" if chunk.is_name else "num" if chunk.is_value else "class" if chunk.classes else "noun"
    is_number = chunk.number is not None
    more = {
        "named": chunk.entities or chunk.classes, "thing": chunk.entities, "strong": chunk.is_strong, "num": is_number,
        "years": chunk.may_be_years, "range": is_number and chunk.last is not None,
    }  # fmt: skip
    return {kind, "chunk", *(tag for tag, is_so in more.items() if is_so)}


@lru_cache(maxsize=8)
def word_tags(
    lexicon: Lexicon,
) -> tuple[Mapping[str, dict[str, Any]], Mapping[str, list[tuple[tuple[str, ...], str, Any]]]]:
    """Tell the tags of each word of a lexicon, and of the phrases that begin with it, the shortest first."""
    words: dict[str, dict[str, Any]] = defaultdict(dict)
    phrases: dict[str, list[tuple[tuple[str, ...], str, Any]]] = defaultdict(list)
    for name, table in {**lexicon.tables, "function_words": lexicon.function_words}.items():
        for key in table if not isinstance(table, str) else ():
            value, (first, *rest) = table[key] if isinstance(table, Mapping) else None, key.split()
            if rest:
                phrases[first].append(((first, *rest), name, value))
            else:
                words[first] |= {name: value, **({f"{name}.{value}": value} if isinstance(value, str) else {})}
            if name == "measures":
                words[key.split()[-1]]["adjective"] = value
    for some in phrases.values():
        some.sort(key=lambda one: len(one[0]))
    return words, phrases
