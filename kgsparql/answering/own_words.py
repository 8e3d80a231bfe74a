"""Words of a user's own for terms of a graph: `home` is its `place of birth`; kept in a file, which may be edited.

There is a file for each graph, in the configuration directory of whoever keeps it: nobody else's answers change.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from kgsparql.dataclasses import dataclass
from kgsparql.errors import InputError
from kgsparql.exploration.lookups import check_mentioned
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.linking.words import words
from kgsparql.rdf.terms import IRI, iri, normalised, printable
from kgsparql.storage.files import replace_text

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
