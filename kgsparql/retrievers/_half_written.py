"""A half-written plan, completed: its words in quotes are filled with what the graph calls so, and what is empty goes.

Whoever writes ``(count (where "film" "running time" > 120))`` need not know a term of the graph, nor which way its
predicates lead. Every filling that makes sense is run, the likeliest first, as the planner does for a question.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product
from typing import Any
from typing import Literal as OneOf

from kgsparql.answering.computed import computed_words
from kgsparql.answering.plan_question import PlanQuestion, predicates_of
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen
from kgsparql.errors import NotFoundError, PlanError, QueryError
from kgsparql.linking.label_matching import THRESHOLD
from kgsparql.linking.words import words
from kgsparql.plans.arrays import ListedName, read_plan
from kgsparql.plans.running import Computed, run
from kgsparql.plans.type_check import check, terms_in
from kgsparql.plans.writing import in_words
from kgsparql.rdf.terms import Literal, normalised, printable
from kgsparql.reading.lexicon import lexicon
from kgsparql.retrievers._planned_question import CandidatePlan, PlannedQuestion, QuestionTerm
from kgsparql.retrievers.query_plan import arrays_of, quoted_in

_MEANINGS = 5  # of the words of a hole
_TRIED, _RUN = 20_000, 40  # fillings that are read, and of those that make sense, that are run
_KEPT = 10
_HOLE = "hole{}"
_ENDED = "nothing was computed within the limits"
_NOTHING = "whatever fills it, it comes to nothing; the likeliest was: {}"
_SHOWN = 80


@frozen
class _Filling:
    """What may stand for the words of a hole."""

    name: str
    of: ListedName
    label: str
    kind: OneOf["entity", "class", "text", "predicate"]
    score: float


def completed_plan(session: Session) -> PlannedQuestion:
    """Complete a half-written plan; its fillings that come to something, the likeliest first.

    :raises PlanError: for what is no plan, whatever stands in its holes; it says where.
    :raises NotFoundError: if nothing in the graph is called as a hole says.
    """
    line, asked, texts = session.original, PlanQuestion.of(session), quoted_in(session.original)
    for number, text in enumerate(texts):
        line = line.replace(f'"{text}"', _HOLE.format(number)).replace(f"'{text}'", _HOLE.format(number))
    written = arrays_of(line)
    holes = {_HOLE.format(number): _fillings_of(text, number, asked) for number, text in enumerate(texts)}
    found: list[tuple[tuple[_Filling, ...], Computed]] = []
    tried, wrong, empty = 0, None, None
    ranked = sorted(islice(product(*holes.values()), _TRIED), key=lambda own: -sum(one.score for one in own))
    with session.within_budget():
        for filled in ranked:
            names = dict(zip(holes, filled, strict=True))
            try:
                plan = read_plan(_with_names(written, names), {one.name.rstrip("<>"): one.of for one in filled})
                check(plan)
                computed = run(plan, session.graph, vocabulary=session.vocabulary)
            except (PlanError, QueryError) as error:
                wrong = wrong or error
                continue
            tried, empty = tried + 1, empty or (filled, computed)
            if _says_something(computed) and all(plan != own.plan for _, own in found):
                found.append((filled, computed))
            if tried == _RUN or len(found) == _KEPT:
                break
    if empty is None and wrong is not None:
        raise wrong
    if empty is None:
        return PlannedQuestion(session.original, (), (), (), None, None, (_ENDED,), tuple(session.notes.texts), {})
    used, first = found[0] if found else empty
    labels = session.labels([*(t for _, one in found or [empty] for t in (*terms_in(one.plan), *one.terms))])
    called = labels.__getitem__
    candidates = tuple(
        CandidatePlan(
            one.plan, in_words(one.plan, called), sum(own.score for own in filled) / max(1, len(filled)),
            comes_to=printable(computed_words(one, called), _SHOWN),
        )
        for filled, one in found
    )  # fmt: skip
    named = (QuestionTerm(text, own.of.term, own.label, own.kind) for text, own in zip(texts, used, strict=True))
    doubts = () if found else (_NOTHING.format(in_words(first.plan, called)),)
    return PlannedQuestion(
        session.original, (), tuple(named), candidates, candidates[0] if found else None, first if found else None,
        doubts, (), labels,
    )  # fmt: skip


def _says_something(computed: Computed) -> bool:
    first = 1 if computed.is_table and len(computed.columns) > 1 else 0
    return computed.empty_part is None and any(term is not None for row in computed.rows for term in row[first:])


def _fillings_of(text: str, number: int, asked: PlanQuestion) -> list[_Filling]:
    """List what the graph calls so: classes and entities, predicates either way, and texts.

    :raises NotFoundError: if there is nothing.
    """
    session, fit = asked.session, asked.session.label_fit
    linkers = [] if session.linker is None else [session.linker.by_letters(), session.linker]
    found_by = (one.find(text, limit=2 * _MEANINGS) for one in linkers)  # what is only like it, where nothing is so
    links = next((found for own in found_by if (found := [one for one in own if one.score >= THRESHOLD])), [])
    things = [one for one in links if one.kind != "predicate"]
    fits = {one.term: one.score for one in links if one.kind == "predicate"}
    every, known = words(normalised(text)), predicates_of(session)
    said = [word for word in every if word not in lexicon().function_words] or every  # born in
    fit.compare(said, known)
    fits |= {one: score for one in known if (score := fit.whole(said, one)) > fits.get(one, 0.0)}
    labels, fillings = session.labels(fits), list[_Filling]()
    for one in things[:_MEANINGS]:
        name = f"{'C' if one.kind == 'class' else 'E'}{number}_{len(fillings)}"
        kind: OneOf["class", "entity"] = "class" if one.kind == "class" else "entity"
        fillings.append(_Filling(name, ListedName(one.term), one.label, kind, one.score))
    for own in sorted(fits, key=lambda own: (-fits[own], own.value))[:_MEANINGS]:
        of = ListedName(own, asked.profiler.at_ends(own).kind)
        fillings += [
            _Filling(f"R{number}_{len(fillings)}{sign}", of, labels[own], "predicate", fits[own]) for sign in "><"
        ]
    values = asked.texts(text)
    for value in (*values, Literal(text))[:_MEANINGS]:
        fillings.append(
            _Filling(f"L{number}_{len(fillings)}", ListedName(value, "text"), value.value, "text", THRESHOLD)
        )
    if len(fillings) == 1 and not values:
        raise NotFoundError(
            f"nothing in this graph is called {printable(text, 80)!r}", hint="search its names: kgsparql find TEXT"
        )
    return fillings


def _with_names(written: Any, names: Mapping[str, _Filling]) -> Any:
    """Write names in the holes of the arrays of a plan."""
    if isinstance(written, list):
        return [_with_names(one, names) for one in written]
    if isinstance(written, dict):
        return {key: _with_names(one, names) for key, one in written.items()}
    return names[written].name if isinstance(written, str) and written in names else written
