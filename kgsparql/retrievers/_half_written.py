"""A half-written plan, completed: its words in quotes are filled with what the graph calls so, and what is empty goes.

Whoever writes ``(count (where "film" "running time" > 120))`` need not know a term of the graph, nor which way its
predicates lead. Every filling that makes sense is run, the likeliest first, as the planner does for a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any
from typing import Literal as OneOf

from kgsparql.answering.computed import computed_words, run_plan
from kgsparql.answering.plan_question import PlanQuestion, predicates_of
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen
from kgsparql.errors import NotFoundError, PlanError, QueryError
from kgsparql.linking.label_matching import THRESHOLD
from kgsparql.linking.words import roots_of, words_of
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import ListedName, read_plan
from kgsparql.plans.denotation import unfiltered
from kgsparql.plans.running import Computed
from kgsparql.plans.type_check import check, parts, terms_in
from kgsparql.plans.writing import in_words
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import IRI, XSD, Literal, first_of, printable, zip_equal
from kgsparql.reading.lexicon import lexicon
from kgsparql.retrievers._planned_question import CandidatePlan, PlannedQuestion, QuestionTerm
from kgsparql.retrievers.query_plan import arrays_of, quoted_in

_MEANINGS = 5  # of the words of a hole
_TRIED, _RUN = 20_000, 200  # fillings that are read, and of those that make sense, that are run
_KEPT = 10
_HOLE = "hole{}"
_OWN_NAME = re.compile(r"\bhole(\d+)\b|\b[CELR](\d+)_\d+\b[<>]?")
_HINT = 'a plan is such as (count (where "film" "length" > 120)), with words of the graph in quotes'
_NUMBER, _DATE = re.compile(r"-?\d+(\.\d+)?"), re.compile(r"-?\d{4,}-\d\d-\d\d")
_LESS = "the likeliest filling comes to nothing, and others do not"
_ENDED = "nothing was computed within the limits"
_NOTHING = "whatever fills it, it comes to nothing; the likeliest was: {}"


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
    holes = {_HOLE.format(n): text for n, text in enumerate(texts) if not _NUMBER.fullmatch(text)}
    for own, text in [*holes.items(), *zip_equal(texts, texts)]:  # a number needs no quotes
        line = line.replace(f'"{text}"', own).replace(f"'{text}'", own)
    try:
        written = arrays_of(line)
        found, empty = _computed_fillings(written, holes, asked)
    except PlanError as error:  # it speaks of names that nobody wrote
        told = _OWN_NAME.sub(lambda own: texts[int(own[1] or own[2])], error.message)
        raise PlanError(told, hint=error.hint or _HINT) from error
    if empty is None:
        return PlannedQuestion(session.original, (), (), (), None, None, (_ENDED,), tuple(session.notes.texts), {})
    is_less = bool(found) and _score_of(found[0][0]) < _score_of(empty[0])
    if isinstance(empty[1].plan, a.Number | a.Condition) and (is_less or not found):  # nothing is what it comes to
        found = [empty, *found]
    used, first = found[0] if found else empty
    labels = session.labels([*(t for _, one in found or [empty] for t in (*terms_in(one.plan), *one.terms))])
    called = labels.__getitem__
    candidates = tuple(
        CandidatePlan(
            one.plan, in_words(one.plan, called), _score_of(filled),
            comes_to=printable(computed_words(one, called), 80),
        )
        for filled, one in found
    )  # fmt: skip
    filled = zip_equal(holes.values(), used)
    named = (QuestionTerm(text, own.of.term, own.label, own.kind) for text, own in filled)
    doubts = (_LESS,) * is_less if found else (_NOTHING.format(in_words(first.plan, called)),)
    return PlannedQuestion(
        session.original, (), tuple(named), candidates, candidates[0] if found else None, first if found else None,
        doubts, tuple(session.notes.texts), labels, candidates[0].score if found and not doubts else 0.0,
    )  # fmt: skip


_Filled = tuple[tuple[_Filling, ...], Computed]


def _computed_fillings(
    written: Any, holes: Mapping[str, str], asked: PlanQuestion
) -> tuple[list[_Filled], _Filled | None]:
    """Run the fillings that make sense, the likeliest first: those that come to something, and the likeliest of all.

    :raises PlanError: if none makes sense: why not the likeliest.
    """
    session, found, tried = asked.session, list[_Filled](), 0
    wrong: PlanError | QueryError | None = None
    first: _Filled | None = None
    options = [_fillings_of(text, number, asked) for number, text in enumerate(holes.values())]
    while prod(map(len, options)) > _TRIED:
        longest = max(range(len(options)), key=lambda at: len(options[at]))
        options[longest] = options[longest][:-1]
    ranked = sorted(product(*options), key=_score_of, reverse=True)
    known = dict[tuple[a.ItemSet, PropertyPath], bool]()
    later = list[_Filled]()
    with session.within_budget():
        for filled in ranked:
            if tried == _RUN or len(found) == _KEPT:
                break
            names = dict(zip_equal(holes, filled))
            try:
                plan = read_plan(_with_names(written, names, holes), {one.name.rstrip("<>"): one.of for one in filled})
                check(plan)
                is_vain = not all(_leads_on(*one, known, session) for one in _paths_of(plan))
                computed = run_plan(plan, session)
            except (PlanError, QueryError) as error:
                wrong = wrong or error
                continue
            tried += 1
            if is_vain:  # the awards of a film are not what has it as its award
                later.append((filled, computed))
                continue
            first = first or (filled, computed)
            if _says_something(computed) and all(plan != own.plan for _, own in found):
                found.append((filled, computed))
    if first is None and not later and wrong is not None:
        raise wrong
    return found, first or first_of(later)


def _score_of(filled: Sequence[_Filling]) -> float:
    return sum(one.score for one in filled) / max(1, len(filled))


def _paths_of(plan: a.Plan) -> Iterator[tuple[a.ItemSet, PropertyPath]]:
    """Yield each path of a plan with what it begins at."""
    for part in parts(plan):
        items = getattr(part, "items", getattr(part, "start", None))
        columns = [one.measure for one in getattr(part, "columns", ()) if hasattr(one, "measure")]
        for own in (part, getattr(part, "measure", None), *columns):
            path = getattr(own, "path", None)
            if items is not None and isinstance(path, PropertyPath):
                yield unfiltered(items), path


def _leads_on(
    items: a.ItemSet, path: PropertyPath, known: dict[tuple[a.ItemSet, PropertyPath], bool], session: Session
) -> bool:
    """Whether a path leads anywhere from a class; looked up once."""
    if isinstance(items, a.Items) and path.first_step.is_forward:
        return not any(isinstance(term, Literal) for term in items.terms)
    if not isinstance(items, a.Instances):
        return True
    if (items, path) not in known:
        some = run_plan(a.Exists(a.Has(items, path)), session)
        known[items, path] = some.value == Literal(value=True)
    return known[items, path]


def _says_something(computed: Computed) -> bool:
    first = 1 if computed.is_table and len(computed.columns) > 1 else 0
    is_no = computed.value in {Literal(0), Literal(value=False)}
    return (
        not is_no and computed.empty_part is None and any(t is not None for row in computed.rows for t in row[first:])
    )


def _fillings_of(text: str, number: int, asked: PlanQuestion) -> list[_Filling]:
    """List what the graph calls so: classes and entities, predicates either way, and texts.

    :raises NotFoundError: if there is nothing.
    """
    if _DATE.fullmatch(text):
        date = Literal(text, datatype=IRI(f"{XSD}date"))
        return [_Filling(f"L{number}_0", ListedName(date, "date"), text, "text", 1.0)]
    session, fit = asked.session, asked.session.label_fit
    linkers = [] if session.linker is None else [session.linker.by_letters(), session.linker]
    found_by = (one.find(text, limit=2 * _MEANINGS) for one in linkers)  # what is only like it, where nothing is so
    links = next((found for own in found_by if (found := [one for one in own if one.score >= THRESHOLD])), [])
    said_of = roots_of([text])  # *film* is no *documentary film*
    things = [one for one in links if one.kind != "predicate" and (one.score == 1 or said_of <= roots_of([one.label]))]
    fits = {one.term: one.score for one in links if one.kind == "predicate"}
    every, known = words_of(text), predicates_of(session)
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
    parts_of_names = [Literal(text)] if "(named" in session.original else []  # a part of names need be no whole text
    for value in [*asked.texts(text), *parts_of_names][:_MEANINGS]:
        fillings.append(
            _Filling(f"L{number}_{len(fillings)}", ListedName(value, "text"), value.value, "text", THRESHOLD)
        )
    if not fillings:
        raise NotFoundError(
            f"nothing in this graph is called {printable(text, 80)!r}", hint="search its names: kgsparql find TEXT"
        )
    return fillings


def _with_names(written: Any, names: Mapping[str, _Filling], texts: Mapping[str, str]) -> Any:
    """Write names in the holes of the arrays of a plan; columns are called by the words."""
    if isinstance(written, list):
        made = [_with_names(one, names, texts) for one in written]
        if written[:1] in (["table"], ["group"]) and len(written) > 3:
            at = len(written) - 2 if isinstance(written[-1], dict) else len(written) - 1
            called = [texts.get(own[0], own[0]) for own in written[at]]
            made[at] = [[own, *new[1:]] for own, new in zip_equal(called, made[at])]
            hole = written[-1].get("order", "") if isinstance(written[-1], dict) else ""
            if hole in names:
                made[-1]["order"] = texts[hole] if texts[hole] in called else [names[hole].name]
        return made
    if isinstance(written, dict):
        return {key: _with_names(one, names, texts) for key, one in written.items()}
    if not isinstance(written, str):
        return written
    hole, is_back = written.removeprefix("^"), written.startswith("^")
    if hole not in names:
        return written
    return f"{names[hole].name.rstrip('<>')}<" if is_back and names[hole].kind == "predicate" else names[hole].name
