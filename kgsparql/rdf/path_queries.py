"""Queries from property paths: the ends of a walk, the paths along it, and the query that people are shown.

Their text is made of variables numbered here and of validated terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from kgsparql.errors import QueryBindingError
from kgsparql.rdf.paths import Constraint, PropertyPath, Step, Walk
from kgsparql.rdf.query import Query, path_text
from kgsparql.rdf.terms import IRI, Literal, Term, spellings, validated

_NO_BLANK = "FILTER(!isBlank(?answer))"
_STRING_TYPES = {"http://www.w3.org/2001/XMLSchema#string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"}


def walk_triples(
    walk: Walk, ends: Iterable[Term] | None = None, *, limit: int,
    through: Mapping[int, Iterable[Term]] | None = None, number: int | None = None, ends_only: bool = False,
) -> Query:  # fmt: skip
    """Ask for every path along a walk; the terms are ``?n0``, ``?n1`` …

    The terms that constraints lead to are ``?c0``, ``?c1`` …, in the order of the constraints. A step that inverts the
    one before it does not return to the term just left.

    Numbers, dates and the like are matched by their text, so that those of another datatype are found too: Virtuoso
    changes the datatype of numbers, and refuses coordinates. So are literals of a regional language: an engine may keep
    ``en-GB`` as written, and then does not find it as ``en-gb``.

    :param ends: only paths that end at one of these; ``None`` for all.
    :param through: number of hops → the terms of which one must be reached after them.
    :param number: returned as ``?walk`` with every solution, to tell the walks of a union apart.
    :param ends_only: ask for the distinct ends alone: ``?n0`` (the start) and ``?end``.
    """
    nodes, given = _node_variables(walk.path), {0: list[Term]([walk.start])}
    given |= {i: list(terms) for i, terms in (through or {}).items()}
    if ends is not None:
        given[len(walk.path.steps)] = list(ends)
    by_text = {i: terms for i, terms in given.items() if any(map(_is_respelt, terms))}
    asides = (f"?c{i}" for i in range(len(walk.constraints)))
    head = ["?n0", f"({nodes[-1]} AS ?end)"] if ends_only else [*nodes, *asides]
    head += [] if number is None else [f"({int(number)} AS ?walk)"]
    body = "".join(f"  VALUES ?n{i} {{ UNDEF }}\n" for i in given if i not in by_text)
    body += f"{_path_patterns(walk.path, nodes)}{_constraint_patterns(walk.constraints, nodes)}"
    body += "".join(f"  FILTER(STR({nodes[i]}) IN ({_str_values(terms)}))\n" for i, terms in by_text.items())
    text = f"SELECT DISTINCT {' '.join(head)} WHERE {{\n{body}}}\nLIMIT 1000"
    query = Query("walk" if ends_only else "walk_triples", text)
    return query.bind(**{f"n{i}": terms for i, terms in given.items() if i not in by_text}).limit(limit)


walk = partial(walk_triples, ends_only=True)
"""Ask for the distinct ends of a property path."""


def answers(walk: Walk, *, without_start: bool = False, without_blank: bool = False, place: int | None = None) -> Query:
    """Write what people are shown for a walk: a property path where that is equivalent, else triple patterns.

    :param place: after so many steps the answers are met, where they are not at the end.
    """
    path, first = walk.path, str(validated(walk.start))
    place = len(path.steps) if place is None else place
    if not path.goes_back and not walk.constraints and place == len(path.steps):
        kept_out = f" FILTER(!sameTerm(?answer, {first}))" if without_start else ""
        kept_out += f" {_NO_BLANK}" * without_blank
        return Query("answers", f"SELECT DISTINCT ?answer {{ {first} {path_text(path)} ?answer{kept_out} }}")
    nodes = [first, *_node_variables(path)[1:]]
    nodes[place] = "?answer"
    body = f"{_path_patterns(path, nodes)}{_constraint_patterns(walk.constraints, nodes)}"
    kept_out = f"  FILTER(!sameTerm(?answer, {first}))\n"
    if without_start and kept_out not in body:
        body += kept_out
    body += f"  {_NO_BLANK}\n" * without_blank
    return Query("answers", f"SELECT DISTINCT ?answer {{\n{body}}}")


NOTHING = Query("nothing", "SELECT * { FILTER(false) }", empty=True)


def joined_answers(queries: Iterable[Query], *, in_all: bool = False) -> Query:
    """Ask for the ``?answer`` of any of some queries, or of them all, and for nothing else.

    >>> joined_answers([Query("a", "SELECT DISTINCT ?answer { <http://e.org/a> <http://e.org/p> ?answer }")]).text
    'SELECT DISTINCT ?answer { <http://e.org/a> <http://e.org/p> ?answer }'
    """
    known = list({query.shown: query for query in queries}.values())
    if len(known) == 1 and known[0].variables == {"answer"}:
        return known[0]
    arms = ("\n" if in_all else "\n  UNION\n").join(f"  {{ {query.shown} }}" for query in known)
    return Query("answers", f"SELECT DISTINCT ?answer {{\n{arms}\n}}") if known else NOTHING


def _node_variables(path: PropertyPath) -> list[str]:
    return [f"?n{i}" for i in range(len(path.steps) + 1)]


def _path_patterns(path: PropertyPath, nodes: Sequence[str]) -> str:
    """Write the triple patterns of a path, with the filters for steps that go back."""
    lines = []
    for i, step in enumerate(path.steps):
        lines.append(_step_pattern(nodes[i], step, nodes[i + 1]))
        if i and step.inverts(path.steps[i - 1]):
            lines.append(f"  FILTER(!sameTerm({nodes[i + 1]}, {nodes[i - 1]}))\n")
    return "".join(lines)


def _step_pattern(near: str, step: Step, far: str) -> str:
    subject, object_ = (near, far) if step.direction == "forward" else (far, near)
    return f"  {subject} {validated(step.predicate)} {object_} .\n"


def _is_respelt(term: Term) -> bool:
    """Tell whether an engine may write a literal differently: by its value, or with capitals in its language tag."""
    if not isinstance(term, Literal):
        return False
    return term.datatype.value not in _STRING_TYPES if term.language is None else "-" in term.language


def _str_values(terms: Iterable[Term]) -> str:
    """List the texts that ``STR`` may give for some terms."""
    found: dict[str, None] = {}
    for term in terms:
        if not isinstance(term, IRI | Literal):
            raise QueryBindingError(f"{type(term).__name__} has no text", hint="start from an IRI beside it")
        found.update(dict.fromkeys(spellings(term)))
    return ", ".join(str(Literal(text)) for text in found)


def _constraint_patterns(constraints: Sequence[Constraint], nodes: Sequence[str]) -> str:
    lines = []
    for i, constraint in enumerate(constraints):
        if any(map(_is_respelt, constraint.values)):
            kept = f"FILTER(STR(?c{i}) IN ({_str_values(constraint.values)}))"
        else:
            kept = f"VALUES ?c{i} {{ {' '.join(str(validated(term)) for term in constraint.values)} }}"
        lines.append(f"{_step_pattern(nodes[constraint.at], constraint.step, f'?c{i}')}  {kept}\n")
    return "".join(lines)
