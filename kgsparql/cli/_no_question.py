"""``kgsparql ask`` without a question: an error that shows what the graph can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kgsparql.cli import _common as c
from kgsparql.cli._configuration import configuration
from kgsparql.errors import InputError

if TYPE_CHECKING:
    from kgsparql.cli._graph_options import GraphOptions

_MAX_SECONDS = 1.0
_MOST_BYTES = 4_000_000
"""Of files that are read for the examples: half a second; a store is opened at once."""


def no_question(graph: GraphOptions, *, lang: str) -> InputError:
    """The error, with a few questions that the graph answers, if these are known within about a second."""
    examples = _examples(graph, c.languages(lang)) if configuration().named_sources(graph.kg) else ()
    hint = (
        "for example:" if examples else 'kgsparql ask "Where was Ann born?" -k data.ttl; - reads questions from stdin'
    )
    return InputError("no question was given", hint=hint, candidates=[f'"{text}"' for text in examples])


def _examples(graph: GraphOptions, languages: tuple[str, ...]) -> tuple[str, ...]:
    from kgsparql.graphs import names_endpoint
    from kgsparql.made_questions.examples import example_questions

    if names_endpoint(graph.sources) or not all(map(_is_opened_soon, graph.sources)):
        return ()
    with graph.opened(languages=languages, embedder="none") as knowledge:
        return example_questions(knowledge, max_seconds=_MAX_SECONDS)


def _is_opened_soon(source: str) -> bool:
    """Whether a source takes no time to open; one that is not there is told when it is opened."""
    from kgsparql.storage.files import is_store

    path = Path(source)
    if source == "-" or is_store(path):
        return source != "-"
    files = path.rglob("*") if path.is_dir() else [path] if path.is_file() else []
    return (
        sum(file.stat().st_size * (10 if file.suffix in {".gz", ".bz2", ".xz"} else 1) for file in files) < _MOST_BYTES
    )
