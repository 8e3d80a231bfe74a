"""Questions of other languages, read in English; and words of a user's own, read as the user said."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import Any, cast
from weakref import WeakKeyDictionary

from kgsparql.answering.plan_question import classes_of, predicates_of, unmetered
from kgsparql.answering.session import Session
from kgsparql.dataclasses import dataclass, replace
from kgsparql.errors import InputError
from kgsparql.exploration import labels
from kgsparql.exploration.lookups import check_mentioned
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.label_index.packed import PackedLabels
from kgsparql.linking.label_index.search import MAX_DEGREE, CombinedLabels, Kind, LabelRow, label_row
from kgsparql.linking.words import stem, words
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, iri, normalised, printable
from kgsparql.rdf.vocabulary import Naming
from kgsparql.reading.glossary import glossary
from kgsparql.reading.lexicon import lexicon
from kgsparql.reading.translation import label_in_english, language_in, translated
from kgsparql.storage.files import replace_text

_ENGLISH: WeakKeyDictionary[KnowledgeGraph, dict[str, tuple[LabelRow, ...]]] = WeakKeyDictionary()
"""By language, the English names of what has only names in that language; read once."""
_KEEPING = Lock()
_READ_AS = "{!r} was read as {}, as you said on {}"


def translate(session: Session, language: str = "", *, has_own_words: bool = True) -> None:
    """Take the question of a session for what it is in English; labels in its own language are shown before others.

    :param language: of the question; empty if its words are to tell.
    :param has_own_words: what a user said that words mean counts.
    """
    english = lexicon().language
    with session.within_budget():  # labels at an endpoint are looked up
        search = None if session.linker is None else session.linker.index.search
        tag = language or language_in(session.question, search)
        said = _read_own_words(session, tag) if has_own_words else []
        if tag == english:
            _note_own_words(session, said)
            return
        search = None if session.linker is None else session.linker.index.search
        if session.linker is not None and search is not None and (rows := _english_rows(session, tag)):
            search = CombinedLabels((search, PackedLabels.of(rows)))
            session.linker = copy(session.linker)
            session.linker.index = replace(session.linker.index, search=search)
            session.compared = {IRI(row.iri): row.text for row in rows} | session.compared
        called = replace(session.labels, known=session.compared)
        session.translation = translated(session.question, tag, search, lambda term: called([term])[term])
        session.question = session.translation.text
        session.labels = replace(session.labels, languages=(tag, *session.labels.languages))
        _note_own_words(session, said)


def _english_rows(session: Session, tag: str) -> tuple[LabelRow, ...]:
    """Name the classes and predicates in English that have only names in another language.

    They are known of the graph, not of a question: the queries are charged to none, or they would be to the first one.
    """
    kinds: dict[IRI, Kind] = dict.fromkeys(predicates_of(session), "predicate")
    kinds |= dict.fromkeys(classes_of(session), "class")
    graph = session.graph.graph
    with _KEEPING:
        known = _ENGLISH.setdefault(graph, {})
        if tag not in known:
            english, found = lexicon().language, labels(unmetered(session), kinds, languages=(lexicon().language,))
            own = {term: found[term].text for term in kinds if (found[term].language or "").partition("-")[0] == tag}
            said = {term: label_in_english(text, glossary(tag)) for term, text in own.items()}
            named = ((term, text) for term, text in said.items() if text != own[term])
            rows = (label_row(term.value, text, language=english) for term, text in named)
            known[tag] = tuple(row._replace(kind=kinds[IRI(row.iri)], degree=1) for row in rows if row is not None)
        return known[tag]


class _OwnLabels(CombinedLabels):
    """Labels of a graph and a user's own, which count alone where they have a key."""

    def exact(self, keys: Collection[str]) -> list[LabelRow]:
        """See :meth:`LabelSearch.exact`."""
        own = self.parts[-1].exact(keys)
        return sorted([*own, *self.parts[0].exact(set(keys).difference(row.key for row in own))])


def _read_own_words(session: Session, language: str) -> list[OwnWord]:
    """Have words of a session's question, which is in a language, read as the user said; return those that it has."""
    kept = {normalised(own.text): own for own in OwnWords(session.graph.graph.origin).read()}
    said = _stemmed_words(session.question)
    found = {key: own for key, own in kept.items() if _stemmed_words(key) in said}
    kinds = _kinds_of({own.means for own in found.values()}, session) if found else {}
    rows = [
        LabelRow(own.means.value, own.text, key, language=language, kind=kinds[own.means], degree=MAX_DEGREE)
        for key, own in found.items()
    ]
    if rows and session.linker is not None:
        index = session.linker.index
        session.linker = copy(session.linker)
        session.linker.index = replace(index, search=_OwnLabels((index.search, PackedLabels.of(rows))))
    session.compared |= {own.means: own.text for own in found.values() if kinds[own.means] != "entity"}
    return [*found.values()]


def _note_own_words(session: Session, said: Sequence[OwnWord]) -> None:
    labels = session.labels([own.means for own in said], in_grace=True) if said else {}
    for own in said:
        text = session.say(_READ_AS).format(own.text, printable(labels[own.means], 80), own.said)
        session.notes.append(text, code="own_word", cause=own.means.value)


def _stemmed_words(text: str) -> str:
    return f" {' '.join(map(stem, words(normalised(text))))} "


def _kinds_of(terms: Collection[IRI], session: Session) -> dict[IRI, Kind]:
    """Look up which terms are classes or predicates; that is known of the graph, and no cost of a question."""
    graph, kinds = unmetered(session), cast("dict[IRI, Kind]", dict.fromkeys(terms, "entity"))
    for row in graph.select(Query.load("search_kinds").bind(entity=[*terms], link=Naming().links)):
        if isinstance(term := row["entity"], IRI) and kinds[term] != "predicate":
            kinds[term] = "predicate" if "predicate" in row else "class"
    return kinds


_MOST_WORDS = 8
_HEAD = """\
# What words mean in this graph, as you said: every question reads it. Change lines as you like, or remove them.
version = 1

[words]
"""


@dataclass(frozen=True, slots=True)
class OwnWord:
    """What a text means, and the day on which that was said."""

    text: str
    means: IRI
    said: date


class OwnWords:
    """A user's own words for a graph: of several, those of each; of one in memory, which has no name, none.

    :ivar files: where they are; words are kept for one graph at a time.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        named = [own.name if own.is_remote else str(Path(own.name).absolute()) for own in graph.members]
        self.files = [_file_of(name) for name in named if "://" in name or Path(name).exists()]

    def read(self) -> list[OwnWord]:
        """Read what was kept; an ``InputError`` for a file that is not as it was written any more."""
        return [word for file in self.files for word in _words_in(file)]

    def keep(self, text: str, means: IRI) -> None:
        """Keep what a text means, in the place of what it meant.

        :raises InputError: for no words, or too many; for several graphs. :raises NotFoundError: for an unknown IRI.
        """
        said = " ".join(text.split())
        if not 0 < len(words(normalised(said))) <= _MOST_WORDS or said != printable(said, 100):
            raise InputError("these are no words that can be kept", hint=f"one to {_MOST_WORDS} words of a question")
        if len(self.files) != 1:
            raise InputError("words are kept for one file, store or endpoint", hint="open it alone")
        check_mentioned(self._graph, means)
        self._write_words([*self._words_without(said), OwnWord(said, means, datetime.now(UTC).date())])

    def forget(self, text: str) -> None:
        """Forget what a text means, if that was kept."""
        if len(left := self._words_without(text)) < len(self.read()):
            self._write_words(left)

    def _words_without(self, text: str) -> list[OwnWord]:
        return [own for own in self.read() if normalised(own.text) != normalised(text)]

    def _write_words(self, kept: Iterable[OwnWord]) -> None:
        (file,) = self.files
        pairs = ((json.dumps(own.text, ensure_ascii=False), own) for own in kept)
        lines = [f'{text} = {{ means = "{own.means.value}", said = {own.said} }}\n' for text, own in pairs]
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_text(file, _HEAD + "".join(lines), mode=0o600)


def _file_of(graph: str) -> Path:
    from platformdirs import user_config_dir

    name = re.sub(r"\W+", "-", graph.rstrip("/").rpartition("/")[2])[:40]
    name += f"-{hashlib.sha256(graph.encode()).hexdigest()[:12]}.toml"
    return Path(user_config_dir("kgsparql", appauthor=False), "words", name)


def _words_in(file: Path) -> list[OwnWord]:
    try:
        held: dict[str, Any] = {"version": 1, "words": {}}
        held = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else held
        if held.pop("version") != 1 or held.keys() != {"words"}:
            raise KeyError("it has version = 1, and words below [words]")  # noqa: TRY301 - told as what TOML finds
        return [
            OwnWord(text, iri(one["means"]), date.fromisoformat(str(one["said"])))
            for text, one in held["words"].items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = 'a line is: "home" = { means = "IRI", said = 2026-01-31 }'
        raise InputError(f"{file}: {printable(str(error), 200)}", hint=hint) from error
