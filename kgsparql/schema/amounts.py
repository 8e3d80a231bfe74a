"""Numbers with units: where a graph says the unit of each, and what makes numbers in several units comparable."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from itertools import islice, starmap
from typing import cast

from kgsparql.dataclasses import frozen, replace
from kgsparql.exploration.counting import counted
from kgsparql.graphs.graph import KnowledgeGraph
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import Aggregate, Apply, Expression, Variable, variables
from kgsparql.rdf.literals import NUMBERS, OF_RDF, sign_of, unit
from kgsparql.rdf.terms import IRI, XSD, Literal, Term, distinct, name_words, whole_number
from kgsparql.rdf.vocabulary import LABELS, RDF_TYPE
from kgsparql.schema.dating import Joined
from kgsparql.schema.patterns import patterns

_SEEN, _NODES, _UNITS = 10_000, 200, 100  # triples that tell the predicates; nodes with a unit; units of a predicate
_ASKED = 6  # predicates that an endpoint is asked about: in 38 requests, at most
_NUMBER = "[-+]?[0-9]+([.][0-9]+)?"
_BEFORE_UNIT = re.compile(f"^{_NUMBER} ?")
_PRECISION = Context(prec=15)
_OF_TEXTS = 0.8  # share of the texts of a predicate that must be numbers with a unit


@frozen
class Amounts:
    """What the numbers of a predicate are in.

    :param sign: the unit that these are compared in: the commonest; as the graph names it, where its size is not known.
    :param signs: of the units that are converted into it, by their texts.
    :param is_mixed: there is more than one unit.
    :param beside: the predicates from what has a number to its unit; none where that is the datatype of the number.
    :param is_text: the unit stands behind the number, in one text; with predicates beside, of some of them.
    """

    sign: str
    signs: Mapping[str, str]
    is_mixed: bool
    beside: tuple[IRI, ...] = ()
    is_text: bool = False

    def in_one_unit(self, value: Expression, unit_of_it: Variable, asked: str) -> tuple[Expression, Expression]:
        """Return what a value is in the unit that is asked for, and whether it has one that is known."""
        stated = _unit_of(value, *[unit_of_it] * bool(self.beside), is_text=self.is_text)
        text, own, into = Apply("STR", (value,)), Apply("STR", (stated,)), unit(asked or self.sign)
        if self.is_text:
            text = Apply("REPLACE", (text, Literal(f"^({_NUMBER}).*$"), Literal("$1")))
        number = Apply("decimal", (text,))
        of_all: Expression = number
        known: Expression = Literal(value=not self.signs)
        for name, sign in self.signs.items() or (("", self.sign),):
            one, is_it, slope = number, Apply("=", (own, Literal(name))), unit(sign).factor / into.factor
            if slope != 1:
                is_part = into.factor % unit(sign).factor == 0  # a minute of an hour: 1 / 60 has no end
                one = Apply("/" if is_part else "*", (one, _decimal_literal(1 / slope if is_part else slope)))
            if added := unit(sign).added * slope - into.added:
                one = Apply("+", (one, _decimal_literal(added)))
            of_all = Apply("IF", (is_it, one, of_all)) if self.signs else one
            known = Apply("||", (is_it, known))
        return of_all, Apply("&&", (Apply("REGEX", (text, Literal(f"^{_NUMBER}$"))), known))


@frozen
class _Seen:
    """What a predicate leads to: a datatype, and one value of it."""

    predicate: IRI
    datatype: str
    value: Term

    @property
    def is_text(self) -> bool:
        """Whether the value is a number with a unit behind it; one letter without a space is of a code: `118889s`."""
        number = _BEFORE_UNIT.match(self.value.value) if isinstance(self.value, Literal) else None
        behind = "" if number is None else number.string[number.end() :]
        is_apart = number is not None and number[0].endswith(" ")
        return bool(sign_of(behind)) and (is_apart or len(behind) > 1)


@frozen
class _Beside:
    """A predicate to units, one whose numbers these are of, and the one from the node of an amount to its number."""

    by: IRI
    of: IRI
    value: IRI | None = None


def amounts_of(graph: KnowledgeGraph) -> tuple[dict[IRI, Amounts], dict[IRI, tuple[IRI, ...]]]:
    """Read which predicates lead to numbers with units.

    :return: the amounts; and of the predicates that lead to nodes for an amount, those from there to the number.
    """
    seen, found, x, y, node, near = [*_seen_predicates(graph)], dict[IRI, Amounts](), *variables("x y node near")
    most = _ASKED if graph.is_remote else None
    for one in islice((one for one in seen if one.is_text or (one.datatype and not OF_RDF.match(one.datatype))), most):
        said = _counted_units(graph, (g.Fact(x, one.predicate, y),), y, _unit_of(y, is_text=one.is_text))
        if (amounts := _amounts_in(graph, said, is_text=one.is_text)) is not None:
            found[one.predicate] = amounts
    numbers = {one.predicate for one in seen if one.datatype in NUMBERS}
    texts = {one.predicate for one in seen if one.is_text}
    units = {one.predicate for one in seen if _is_unit(one.predicate)} - numbers
    to_units = tuple(sorted(units, key=str))[:most]
    has = (g.Values(x, tuple(numbers)), g.OneOfPredicates(x, to_units, y))
    for own in g.found(graph, "of_numbers", (x, y), has) if to_units else ():
        if isinstance(predicate := own["x"], IRI):  # the unit of all its numbers
            found[predicate] = Amounts(unit_text(own["y"]), {}, is_mixed=False)
    beside = [pair for by in to_units for pair in _units_beside(graph, by, numbers)][:most]
    beside += [own for pair in beside for own in _over_nodes(graph, pair)]
    valued = dict[IRI, tuple[IRI, ...]]()
    for pair in beside:
        valued |= {pair.of: distinct((*valued.get(pair.of, ()), pair.value))} if pair.value else {}
    for of in distinct(pair.of for pair in beside):
        ways = distinct(pair.by for pair in beside if pair.of == of)
        leds: list[g.Group] = [(g.Fact(x, of, node),) if of in valued else (g.Fact(node, of, x),)]
        leds += [(g.Fact(x, of, near), g.Fact(near, by, node)) for by in valued.get(of, ()) if by in valued]
        said = [own for led in leds for own in _counted_units(graph, (*led, g.OneOfPredicates(node, ways, y)), node, y)]
        if are_texts := of in texts:  # as well
            literals = (g.Fact(x, of, y), g.Filter(Apply("isLiteral", (y,))))
            said += _counted_units(graph, literals, y, _unit_of(y, is_text=True))
        if (amounts := _amounts_in(graph, said, beside=ways)) is not None:
            found[of] = replace(amounts, is_text=are_texts)
    return found, valued


def amounts_observed(
    graph: KnowledgeGraph, joined: Mapping[IRI, Sequence[Joined]], amounts: Mapping[IRI, Amounts]
) -> dict[IRI, Amounts]:
    """Read what the values of each property are in that observations are of, by the units of all of these."""
    found = dict[IRI, Amounts]()
    node, near, far, via, y = variables("node near far via y")
    for relation, ways in joined.items():
        said = list[tuple[Term, int]]()
        known = [way for way in ways if way.office is not None and way.end in amounts]
        for way in known:
            units = g.OneOfPredicates(node if way.value is None else via, amounts[way.end].beside, y)
            said += _counted_units(graph, (*starmap(g.Fact, way.facts(node, near, far, via)), units), node, y)
        if known and (own := _amounts_in(graph, said, beside=amounts[known[0].end].beside)) is not None:
            found[relation] = own
    return found


def unit_text(term: Term) -> str:
    """Write a unit by its sign, or as the graph names it."""
    name = re.split("[#/]", term.value)[-1] if isinstance(term, IRI) else getattr(term, "value", "")
    return sign_of(name) or sign_of(name.split("_")[-1]) or name


def _unit_of(value: Expression, *beside: Variable, is_text: bool) -> Expression:
    behind = Apply("REPLACE", (Apply("STR", (value,)), Literal(_BEFORE_UNIT.pattern), Literal("")))
    if beside:
        return Apply("COALESCE", (*beside, behind)) if is_text else beside[0]
    return behind if is_text else Apply("DATATYPE", (value,))


def _decimal_literal(number: Decimal) -> Literal:
    return Literal(f"{number.normalize(_PRECISION):f}", datatype=IRI(f"{XSD}decimal"))  # no engine reads 28 digits


def _seen_predicates(graph: KnowledgeGraph) -> Iterator[_Seen]:
    """Yield the predicates of many triples, once for each datatype of what they lead to."""
    p, d, y, one = variables("p d y one")
    some = g.Select((p, y), (g.Fact(Variable("x"), p, y),), limit=_SEEN)
    typed = g.Select((p, (d, Apply("DATATYPE", (y,))), y), (some,))
    query = g.select_query("seen", g.Select((p, d, (one, Aggregate("MIN", y))), (typed,), group_by=(p, d)))
    for said in counted(graph, query):
        yield _Seen(cast("IRI", said["p"]), getattr(said.get("d"), "value", ""), said["one"])


def _is_unit(predicate: IRI) -> bool:
    return not patterns()["unit"].isdisjoint(name_words(predicate))


def _units_beside(graph: KnowledgeGraph, by: IRI, numbers: set[IRI]) -> Iterator[_Beside]:
    """Yield the predicates whose numbers have the unit that a predicate leads to.

    A node is for an amount if it has a number and a unit, and no more, nor a name; else its number is what is called as
    the unit is (`weight unit` of `weight`), or the only one.
    """
    x, p, y = variables("x p y")
    has_number = (g.Fact(x, by, y), g.Values(p, tuple(numbers)), g.Fact(x, p, Variable("number")))
    nodes = g.Select((x,), has_number, distinct=True, limit=_NODES)
    used, to_nodes = (
        dict.fromkeys(
            one["p"] for one in g.found(graph, "predicates", (p,), (nodes, fact), distinct=True, limit=_UNITS)
        )
        for fact in (g.Fact(x, p, y), g.Fact(y, p, x))
    )
    own, beside = {*name_words(by)} - patterns()["unit"], sorted(numbers & used.keys(), key=str)
    others = {one for one in used.keys() - {RDF_TYPE, *beside} if not (_is_unit(one) or "kind" in name_words(one))}
    for one in beside:
        if to_nodes and not others and len(beside) == 1:
            yield from (_Beside(by, way, one) for way in to_nodes)
        elif own <= {*name_words(one)} if own else len(beside) == 1:
            yield _Beside(by, one)


def _over_nodes(graph: KnowledgeGraph, pair: _Beside) -> Iterator[_Beside]:
    """Yield the predicates that lead to the node of an amount over another node: `mass`, then `quantity value`."""
    x, p, node, y = variables("x p node y")
    if pair.value and pair.of.value in patterns()["amount"]:
        led = (g.Fact(x, p, node), g.Fact(node, pair.of, y), g.Fact(y, pair.by, Variable("unit")))
        for one in g.found(graph, "through", (p,), led, distinct=True, limit=_UNITS):
            yield _Beside(pair.by, cast("IRI", one["p"]), pair.of)


def _counted_units(graph: KnowledgeGraph, group: g.Group, x: Variable, of: Expression) -> list[tuple[Term, int]]:
    """Count how often each unit is said, the commonest first."""
    unit_of_it, number = variables("unit number")
    each = g.Select((x, (unit_of_it, of)), group)
    head = (unit_of_it, (number, Aggregate("COUNT", x)))
    counts = g.found(graph, "units", head, (each,), group_by=(unit_of_it,), limit=_UNITS)
    found = [(one["unit"], whole_number(one["number"])) for one in counts if "unit" in one]
    return sorted(found, key=lambda one: (-one[1], str(one[0])))


def _amounts_in(
    graph: KnowledgeGraph, said: Sequence[tuple[Term, int]], *, beside: tuple[IRI, ...] = (), is_text: bool = False
) -> Amounts | None:
    """Tell what numbers are in by how often each unit is said; ``None`` for texts that are no numbers."""
    said = [own for own in said if unit_text(own[0]).strip().lower() not in patterns()["nothing"]]
    texts = {one: unit_text(one) for one, _ in said}
    for one, name in _unit_labels(
        graph, [one for one, text in texts.items() if isinstance(one, IRI) and not sign_of(text)]
    ):
        texts[one] = sign_of(name) or (texts[one] if sign_of(texts[one]) else name)
    kinds, often = Counter[str](), Counter[str]()
    for one, number in said:
        kinds[unit(texts[one]).kind] += number
        often[texts[one]] += number
    (kind, most), *_ = kinds.most_common(1) or [("", 0)]
    if not most or (is_text and most < _OF_TEXTS * kinds.total()):
        return None
    signs = {getattr(one, "value", ""): text for one, text in texts.items() if unit(text).kind == kind}
    commonest = max(signs.values(), key=lambda sign: (often[sign], unit(sign).factor == 1))
    return Amounts(commonest, signs, len(texts) > 1 or is_text, beside, is_text)


def _unit_labels(graph: KnowledgeGraph, units: Sequence[IRI]) -> Iterator[tuple[Term, str]]:
    x, name = variables("x name")
    names = (*LABELS, *map(IRI, sorted(patterns()["symbol"])))
    group = (g.Values(x, tuple(units)), g.OneOfPredicates(x, names, name))
    for one in g.found(graph, "called", (x, name), group) if units else ():
        if isinstance(one["name"], Literal):
            yield one["x"], one["name"].value
