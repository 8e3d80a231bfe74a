"""``kgsparql plan``: run a query plan that is kept in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsparql.cli import _common as c
from kgsparql.cli._graph_options import GraphOptions
from kgsparql.errors import InputError
from kgsparql.rdf.terms import Term, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgsparql.plans.running import Computed


@c.command
def plan(
    graph: GraphOptions,
    file: Annotated[
        Path, typer.Argument(help="A JSON file with the names and the arrays of a plan; README shows one.")
    ],
    form: c.TextOrJsonOption = None,
    output: c.OutputOption = None,
    lang: c.LangOption = "en",
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Show the query, too.")] = 0,
) -> None:
    """Compute what a query plan asks: a count, a sum, yes or no, the largest, a table.

    The value is computed a second time, from the facts it rests on alone, wherever these are all there.
    """
    from kgsparql.plans.reading import read_plan_file
    from kgsparql.plans.wording import in_words, none_in_words
    from kgsparql.plans.writing import written_plan

    form = c.chosen_format(form, output)
    asked = read_plan_file(_content(file))
    with graph.opened(languages=c.languages(lang), embedder="none") as knowledge:
        found = knowledge.run(asked)
        labels = knowledge.labels([*found.terms, *(one for triple in found.facts for one in triple), *_terms_of(asked)])
    words = in_words(asked, lambda term: labels[term])
    if form == "json":
        empty = "" if found.empty_part is None else in_words(found.empty_part, labels.__getitem__)
        c.write_json({**written_plan(asked), **_json_of(found, words, empty, labels)}, output)
        return
    empty = "" if found.empty_part is None else none_in_words(found.empty_part, labels.__getitem__)
    shown = ["", found.query.shown] if verbose else []
    c.write("\n".join([*_lines(found, words, empty, labels), *shown]), output)


def _content(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not JSON: {error}"
        raise InputError(f"{file}: {why}", hint='an object with "names" and "plan" is expected') from error


def _terms_of(asked: Any) -> set[Term]:
    from kgsparql.plans.type_check import terms_in

    return terms_in(asked)


def _lines(found: Computed, words: str, empty: str, labels: Mapping[Term, str]) -> list[str]:
    lines = [" | ".join(found.columns)] if len(found.columns) > 1 else []
    lines += [" | ".join("–" if term is None else printable(labels[term], 200) for term in row) for row in found.rows]
    lines += [] if found.rows else ["nothing"]
    lines += ["", f"computed: {printable(words, 600)}"]
    if empty:
        lines.append(f"in this graph {printable(empty, 300)}")
    if found.is_cut:
        lines.append(f"only the first {len(found.rows):,} are shown")
    return [*lines, _confirmation(found)]


def _confirmation(found: Computed) -> str:
    facts = f"{len(found.facts):,} {'fact' if len(found.facts) == 1 else 'facts'}"
    if found.is_confirmed is None:
        why = "there is an absence among its reasons" if found.all_facts else "there are more"
        return f"rests on {facts}; not computed again from these: {why}"
    return f"computed again from {facts}: {'the same' if found.is_confirmed else 'NOT THE SAME'}"


def _json_of(found: Computed, words: str, empty: str, labels: Mapping[Term, str]) -> dict[str, Any]:
    from kgsparql.answering.answer_json import term_json

    def shown(term: Term | None) -> Any:
        return None if term is None else term_json(term, labels[term])

    return {
        "words": words,
        "columns": list(found.columns),
        "rows": [[shown(term) for term in row] for row in found.rows],
        "is_cut": found.is_cut,
        "empty_part": empty,
        "query": found.query.shown,
        "facts": [[str(term) for term in triple] for triple in found.facts],
        "all_facts": found.all_facts,
        "is_confirmed": found.is_confirmed,
    }
