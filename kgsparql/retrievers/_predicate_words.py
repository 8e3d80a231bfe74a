"""Other words for predicates: what questions call them, from a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from kgsparql.errors import InputError
from kgsparql.rdf.terms import Term, iri


def predicate_words(aliases: str | None) -> Mapping[Term, str]:
    """The other words for predicates in a file of ``IRI<tab>words`` lines, read again when it has changed.

    :raises InputError: for a file that cannot be read, or a line that is none.
    """
    if aliases is None:
        return {}
    file = Path(aliases)
    return _words_of(aliases, file.stat().st_mtime_ns if file.exists() else 0)


@lru_cache(maxsize=8)
def _words_of(aliases: str, changed_ns: int) -> Mapping[Term, str]:  # noqa: ARG001 - a key of the cache
    try:
        lines = Path(aliases).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"aliases: {aliases}: {why}", hint="name a UTF-8 text file: IRI, tab, words") from error
    found: dict[Term, str] = {}
    for number, line in enumerate(lines, 1):
        name, tab, words = line.partition("\t")
        if not line.strip() or line.startswith("#"):
            continue
        if not tab or not words.strip():
            raise InputError(f"{aliases}:{number}: no tab, or nothing after it", hint="write IRI, tab, words")
        found[iri(name.strip().strip("<>"))] = words.strip()
    return found
