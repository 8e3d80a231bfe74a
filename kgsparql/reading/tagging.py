"""The words of a question with their tags: each list of the lexicon is one, and so is what a word may be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from kgsparql.reading.chunks import MAX_WORDS, Chunked
from kgsparql.reading.clauses import Chunk
from kgsparql.reading.lexicon import LONGEST_PHRASE, Lexicon
from kgsparql.reading.peg import Edge

Tags = dict[str, Edge]

_BREAKS = frozenset(".?!;:-–—(")  # before a request
_APOSTROPHES = {"'", "’"}


def tagged(read: Chunked, lexicon: Lexicon) -> list[Tags]:
    """Tag the words of a question, and a last place, which is the ``end``; words that say nothing are gone over."""
    tagger = _Tagger(read, lexicon)
    found = list(map(tagger.tags, range(tagger.length)))
    after = tagger.length
    places: list[Tags] = [{} for _ in range(after)] + [{"end": Edge(after, after, after, "")}]
    following = list(range(after + 1))
    for at in reversed(range(after)):
        if found[at] is None:
            following[at] = following[at + 1]
    for at, own in enumerate(found):
        places[at] = {
            tag: Edge(at, end, following[end], " ".join(read.texts[at:end]), value) for tag, (end, value) in (own or {}).items()
        }
        if at in tagger.owners:
            places[at]["pos"] = Edge(at, at, at, "")
        if own:
            end, value = next(iter(own.values())) if at in tagger.covered else (at + 1, None)
            places[at]["word"] = Edge(at, end, following[end], read.texts[at], value)
        gap = read.gaps[at - 1] if at else ""
        if " " in gap and not _BREAKS.isdisjoint(gap):
            places[at]["break"] = Edge(at, at, at, gap)
        if "%" in gap:
            places[at]["percent"] = Edge(at, at, at, gap)
        if not {",", ":"}.isdisjoint(gap):
            places[at]["comma"] = Edge(at, at, at, ",")
    places[0] = places[following[0]] if places and after else places[0]
    return places


@lru_cache(maxsize=8)
def _words_of(language: str) -> tuple[Mapping[str, dict[str, Any]], Mapping[str, list[tuple[tuple[str, ...], str, Any]]]]:
    """Tell the tags of each word of a lexicon, and of the phrases that begin with it, the longest first."""
    from kgsparql.reading.lexicon import lexicon as lexicon_of_language

    lexicon = lexicon_of_language(language)
    words: dict[str, dict[str, Any]] = defaultdict(dict)
    phrases: dict[str, list[tuple[tuple[str, ...], str, Any]]] = defaultdict(list)
    for field in fields(lexicon):
        table = getattr(lexicon, field.name)
        for key in table if not isinstance(table, str) else ():
            value = table[key] if isinstance(table, Mapping) else None
            own = tuple(key.split())
            if len(own) == 1:
                words[key][field.name] = value
                if isinstance(value, str):
                    words[key][f"{field.name}.{value}"] = value
            else:
                phrases[own[0]].append((own, field.name, value))
    for key, value in lexicon.measures.items():
        if len(key.split()) > 1:
            words[key.split()[1]]["adjective"] = value
    for name in ("function_words", "empty_words"):
        for key in getattr(lexicon, name):
            words[key][name] = None
    for some in phrases.values():
        some.sort(key=lambda one: -len(one[0]))
    return words, phrases


class _Tagger:
    """Tags one question."""

    def __init__(self, read: Chunked, lexicon: Lexicon) -> None:
        self.read, self.lexicon = read, lexicon
        self.length = min(len(read.texts), MAX_WORDS)
        self.chunks = {chunk.start: chunk for chunk in read.chunks}
        self.owners: set[int] = set()
        self.words, self.phrases = _words_of(lexicon.language)
        self.covered = {at for c in read.chunks if c.is_strong or c.is_value or len(c.span) > 1 for at in c.span}
        self.asides: set[int] = set()
        self.last = -1

    def tags(self, at: int) -> dict[str, tuple[int, Any]] | None:
        """Tag a word: each tag with where it ends and what it says; None if the word says nothing."""
        read, lexicon, text = self.read, self.lexicon, self.read.texts[at]
        chunk = self.chunks.get(at)
        named = self._name_of_predicate(at)
        if at in self.covered and named is None:
            if chunk is None:
                return {}
            tag = "name" if chunk.is_name else "num" if chunk.is_value else "class" if chunk.classes else "noun"
            tags = {tag, "chunk"}
            known = {"strong": chunk.is_strong, "num": chunk.number is not None, "years": chunk.may_be_years, "thing": bool(chunk.entities)}
            known["range"] = chunk.number is not None and chunk.last is not None
            tags |= {own for own, is_so in known.items() if is_so}
            found = {own: (min(chunk.end, self.length), chunk) for own in tags}
            self._note_owner(at)
            self.last = at
            return found
        if at and read.gaps[at - 1].strip() in _APOSTROPHES and text == lexicon.possessive:
            self.last = at
            return {"pos": (at + 1, None)}
        if named is not None and at in self.covered:
            return {"noun": (named.end, named), "chunk": (named.end, named)}
        found = {tag: (at + 1, value) for tag, value in self.words.get(text, {}).items()}
        found |= dict(self._phrases(at))
        if "quantifiers" in found:  # most expensive counts nothing, most does
            longest = max(found[tag][0] for tag in ("superlatives", "comparatives", "quantifiers") if tag in found)
            found.pop("quantifiers" if longest > at + 1 else "superlatives", None)
        if "asides" in found:
            self.asides |= set(range(at, found["asides"][0]))
        if at in self.asides:
            return None
        found |= {tag: (at + 1, chunk or Chunk(at, at + 1, read.raw[at])) for tag in self._forms(at, chunk)}
        if named is not None:
            found = {tag: one for tag, one in found.items() if tag not in {"class", "base", "summaries"}}
            found |= {"noun": (named.end, named)} | ({"chunk": (named.end, named)} if chunk else {})
        if (text in lexicon.adverbs and not found.keys() & {"negations", "only_words"}) or text in lexicon.time_adverbs:
            return None
        self._note_owner(at)
        self.last = at
        return found

    def _note_owner(self, at: int) -> None:
        """Note an owner that ends with the letter of its mark: ``the Beatles' songs``."""
        before = self.read.texts[at - 1] if at else ""
        if at and self.read.gaps[at - 1].strip() in _APOSTROPHES and before.endswith(self.lexicon.possessive):
            self.owners.add(at)

    def _phrases(self, at: int) -> Iterator[tuple[str, tuple[int, Any]]]:
        known = set[str]()
        for own, tag, value in self.phrases.get(self.read.texts[at], ()):
            end = at + len(own)
            if self.read.texts[at:end] == own and self.covered.isdisjoint(range(at, end)) and end <= self.length and tag not in known:
                known.add(tag)
                yield tag, (end, value)

    def _forms(self, at: int, chunk: Chunk | None) -> set[str]:
        """Tell what the form of a word, and what stands beside it, makes of it."""
        lexicon, text = self.lexicon, self.read.texts[at]
        own = self.words.get(text, {})
        forms = {"class" if chunk.classes else "noun", "chunk"} if chunk is not None else set()
        if chunk is not None and (chunk.entities or chunk.classes):
            forms |= {"named", "thing"} if chunk.entities else {"named"}
        is_part, is_present = lexicon.is_participle(text), lexicon.is_present(text) and text not in lexicon.function_words
        if is_part:
            forms.add("part")
            if text not in lexicon.intransitives:
                forms.add("passive")
        if self._agrees(at, is_present=is_present):
            forms.add("agrees")
        if is_present:
            forms.add("present")
        if text in lexicon.verbs or is_present:
            forms.add("verb")
        if lexicon.is_progressive(text):
            forms |= {"ing", "verb"}
        if self.read.is_capital(at):
            forms.add("capital")
        if chunk is None and text in lexicon.fillers - lexicon.function_words:
            forms.add("filler")
        is_open = text not in lexicon.function_words and not own.keys() & {"superlatives", "comparatives", "bounds"}
        if "class" not in forms and is_open:
            forms |= {"base", "noun"}
        return forms

    def _agrees(self, at: int, *, is_present: bool) -> bool:
        """Tell whether a word agrees with the class before it as a verb: which trains *stop* at Ulm."""
        texts, lexicon = self.read.texts, self.lexicon
        are_many = at > 0 and lexicon.is_present(texts[at - 1])
        is_after_class = any(chunk.end == at and chunk.classes for chunk in self.chunks.values())
        is_only = texts[0] in lexicon.question_words and lexicon.auxiliaries.isdisjoint(texts)
        return is_after_class and texts[at] not in lexicon.function_words and are_many != is_present and (are_many or is_only)

    def _name_of_predicate(self, at: int) -> Chunk | None:
        """Return the name of a predicate of several words as one chunk, if no sentence would have them there."""
        read, lexicon = self.read, self.lexicon
        end = max((end for start, end in read.predicates if start == at and end > at + 1), default=at)
        span = range(at, end)
        if end > self.length or not span or any(p in self.chunks and self.chunks[p].is_name for p in span):
            return None
        if at in self.covered and at not in self.chunks:
            return None
        text, before = read.texts[at], read.texts[at - 1] if at else ""
        is_joined = any(read.texts[p] in lexicon.function_words for p in span) or lexicon.is_verb(text)
        openers = lexicon.determiners | lexicon.have_forms | {lexicon.possessive, *lexicon.question_words}
        is_opened = before in openers | lexicon.relative_possessives
        is_open = read.texts[end - 1] in lexicon.prepositions and end < self.length
        if (is_joined and not is_opened) or is_open:
            return None
        chunk = self.chunks.get(at)
        classes = chunk.classes if chunk is not None and chunk.end == end else ()
        return Chunk(at, end, read.text_of(at, end), classes=classes, predicates=read.predicates[at, end])
