"""An answer checked again on the graph as it is now."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from typing import Literal as OneOf
from typing import TypeAlias

import pyoxigraph as ox

from kgsparql.answering.kept_answers import KeptAnswer, KeptItem
from kgsparql.budget import Budget, Usage
from kgsparql.dataclasses import frozen
from kgsparql.errors import ForbiddenQueryError, LimitError, QueryError, QueryTimeoutError
from kgsparql.events import ignore
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem, has_a_name, verify
from kgsparql.exploration.batched_select import lookup
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.user_query import GraphQueries, QueryResult, check
from kgsparql.rdf.terms import BlankNode, Json, Literal, Row, Term, Triple

_BY_VALUE = frozenset(("integer", "int", "decimal", "double", "float", "boolean"))  # compared by their meaning
_GIVEN_OTHERWISE = "the facts that it cites give another value than it says"

ItemVerdict: TypeAlias = OneOf["stands", "changed", "refused", "unknown", "no_query"]


@frozen
class RecheckedItem:
    """What became of a piece of evidence.

    :param kept: the piece.
    :param gone: rows that its query no longer gives: an answer, a value, a row of a table.
    :param new: those that it gives now.
    :param why: for one that is refused or unknown, or has no query, why that is.
    """

    kept: KeptItem
    verdict: ItemVerdict
    gone: tuple[Row, ...] = ()
    new: tuple[Row, ...] = ()
    why: str = ""


@frozen
class Recheck:
    """What became of an answer on a graph as it is now.

    :param found: cited triples that are there; ``gone`` are those that are not.
    :param unnamed: how many have a blank node, so that they cannot be looked up by name.
    :param unknown: of which nobody could say whether they are there.
    """

    answer: KeptAnswer
    found: int
    gone: tuple[Triple, ...]
    unnamed: int
    unknown: int
    items: tuple[RecheckedItem, ...]

    @property
    def stands(self) -> bool:
        """Tell whether nothing is found to have changed; see also :attr:`is_whole`."""
        return not self.gone and not any(item.verdict in {"changed", "refused"} for item in self.items)

    @property
    def is_whole(self) -> bool:
        """Tell whether all could be checked that can be: nothing ran out of time or failed."""
        return not self.unknown and not any(item.verdict == "unknown" for item in self.items)

    def to_json(self) -> Json:
        """Return the outcome as a JSON object; terms and triples as N-Triples, a row as a list of terms."""

        def texts(rows: Iterable[Row]) -> list[list[str | None]]:
            return [[None if term is None else str(term) for term in row] for row in rows]

        gone = [str(triple) for triple in self.gone]
        return {
            "question": self.answer.question, "stands": self.stands, "is_whole": self.is_whole,
            "triples": {"found": self.found, "gone": gone, "unnamed": self.unnamed, "unknown": self.unknown},
            "items": [
                {
                    "marker": item.kept.marker, "text": item.kept.text, "is_cited": item.kept.is_cited,
                    "verdict": item.verdict, "gone": texts(item.gone), "new": texts(item.new), "why": item.why,
                }
                for item in self.items
            ],
        }  # fmt: skip


def recheck(answer: KeptAnswer, graph: KnowledgeGraph, *, max_seconds: float = 60.0) -> Recheck:
    """Check an answer again.

    :param max_seconds: for all its queries; what is not done then is unknown.
    :raises UnreachableError: if an endpoint fails: of what it holds nothing can be told.
    """
    ends = time.monotonic() + max_seconds
    named = [*filter(has_a_name, answer.cited)]
    budget = Budget(max_queries=None, max_seconds=max_seconds)
    cited = EvidenceItem("path", "", tuple(CitedTriple(triple) for triple in named), lookup(named))
    looked_up = verify(Evidence([cited]), MeteredGraph(graph, Usage(budget), ignore))
    if looked_up.failure is not None:
        raise looked_up.failure
    kept = ox.Store()
    kept.extend(ox.Quad(*triple) for triple in dict.fromkeys((*answer.cited, *answer.retrieved)))
    with closing(OxigraphGraph(kept, name="", fingerprint="")) as before:
        items = tuple(_rechecked_item(item, before, graph, ends) for item in answer.items)
    return Recheck(
        answer=answer, found=looked_up.found, gone=looked_up.removed, unnamed=len(answer.cited) - len(named),
        unknown=looked_up.unknown, items=items,
    )  # fmt: skip


def _rechecked_item(item: KeptItem, before: KnowledgeGraph, graph: KnowledgeGraph, ends: float) -> RecheckedItem:
    if not item.query:
        return RecheckedItem(item, "no_query", why="it has no query")
    try:
        query = check(item.query)
        then, now = (GraphQueries(of).run_checked(query, timeout_s=_seconds_left(ends)) for of in (before, graph))
    except QueryTimeoutError as error:
        return RecheckedItem(item, "unknown", why=error.message)
    except (ForbiddenQueryError, LimitError, QueryError) as error:
        return RecheckedItem(item, "refused", why=error.message)
    return _compared_item(item, then, now)


def _compared_item(item: KeptItem, before: QueryResult, after: QueryResult) -> RecheckedItem:
    """Compare what a query gives now with what it gave; of what was cut, or kept only in part, only what is sure."""
    ends = item.ends
    column = "" if ends is None else "answer"  # what is said of each end is kept in part, too
    then, now = _solution_rows(before, only=column), _solution_rows(after, only=column)
    answers = frozenset((term,) for term in item.answers)
    # What is known to be what the query gave: an item is cited also for terms on the way to its ends.
    old = then | answers if len(then | answers) == ends else then | (answers & now)
    if item.is_computed and item.rows is not None:
        width, old = max(map(len, item.rows), default=0), _without_blanks(item.rows)
        then, now = (frozenset(row[:width] for row in rows) for rows in (then, now))
    gone, new = _rows_without(old, now), () if item.is_part else _rows_without(now, old)
    is_in_part = ends is not None and ends > len(old)
    if item.cites_all_facts and (_rows_without(then, old) or _rows_without(old, then)):
        return RecheckedItem(item, "changed", gone=gone, new=new, why=_GIVEN_OTHERWISE)
    if not (gone or new) or (is_in_part and after.complete and len(now) == ends and not gone):
        return RecheckedItem(item, "stands")
    if item.is_part or not after.complete:
        return RecheckedItem(item, "unknown", why="more was there than was kept, so that this cannot be told")
    if item.is_computed and item.rows is None:
        return RecheckedItem(item, "unknown", why="the file does not say what was computed")
    why = f"it led to {ends:,}, and leads to {len(now):,} now" if is_in_part else ""
    return RecheckedItem(item, "changed", gone=gone, new=() if is_in_part else new, why=why)


def _rows_without(rows: Iterable[Row], others: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows that are not among others, where values that are the same in another spelling are the same."""
    known = {tuple(map(_same_value, row)) for row in others}
    return tuple(sorted((row for row in rows if tuple(map(_same_value, row)) not in known), key=str))


def _same_value(term: Term | None) -> object:
    """Return what equal values have in common: engines write numbers, and yes and no, in ways of their own."""
    if not isinstance(term, Literal) or (name := term.datatype.value.rpartition("#")[2]) not in _BY_VALUE:
        return term
    try:
        digits = 5 if name == "float" else 9
        return f"{float({'true': '1', 'false': '0'}.get(term.value, term.value)):.{digits}g}"
    except ValueError:
        return term


def _solution_rows(result: QueryResult, *, only: str = "") -> frozenset[Row]:
    """All solutions; those with a blank node are left out, whose name says nothing.

    :param only: a column that is taken alone, where there is one of this name.
    """
    if result.form == "ASK":
        return frozenset([(Literal(result.boolean),)])
    found = result.solutions
    names = [only] if only in found.variables else found.variables
    return _without_blanks(tuple(map(solution.get, names)) for solution in found)


def _without_blanks(rows: Iterable[Row]) -> frozenset[Row]:
    return frozenset(row for row in rows if not any(isinstance(term, BlankNode) for term in row))


def _seconds_left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise QueryTimeoutError("the time for this answer is over", hint="give it longer (--max-seconds)")
    return left
