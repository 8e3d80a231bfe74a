"""Query plans: on any small graph, the compiled query gives what plain Python gives, on Oxigraph and on rdflib."""

import json
from decimal import Decimal
from typing import Any

import pyoxigraph
import pytest
import rdflib
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kgsparql import IRI, Literal, PropertyPath, Triple
from kgsparql.dataclasses import replace
from kgsparql.errors import PlanError
from kgsparql.plans import algebra as a
from kgsparql.plans.arrays import read_plan_file, written_plan
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.running import rows_from_facts, witnesses
from kgsparql.plans.type_check import MAX_PARTS, check, kind_of, parts
from kgsparql.plans.writing import in_words
from kgsparql.rdf.vocabulary import LABELS, RDF_TYPE, SUBCLASS_OF
from kgsparql.schema.vocabulary import GraphVocabulary
from tests.deep import examples
from tests.plan_oracle import Facts
from tests.world import XSD

_E = "http://e.org/"
_ITEMS = [IRI(_E + name) for name in "abcdef"]
_CLASSES = [IRI(_E + name) for name in ("Thing", "Work", "Film")]
_NUMBERS = [
    Literal("3", datatype=IRI(XSD + "integer")),
    Literal("7", datatype=IRI(XSD + "integer")),
    Literal("2.5", datatype=IRI(XSD + "decimal")),
    Literal("12"),  # a number written as text
    Literal("many"),
]
_DATES = [
    Literal("1966-03-01", datatype=IRI(XSD + "date")), Literal("1966", datatype=IRI(XSD + "gYear")),
    Literal("1966-02", datatype=IRI(XSD + "gYearMonth")),
    Literal("2001-12-31T10:00:00Z", datatype=IRI(XSD + "dateTime")), Literal("unknown"),
]  # fmt: skip
_NAMES = [Literal("Blue Encoder"), Literal("red encoder", language="en"), Literal("Decoder")]


def _path(*steps: str) -> PropertyPath:
    return PropertyPath.of(*(f"^{_E}{step[1:]}" if step.startswith("^") else _E + step for step in steps))


def graphs(least: int = 4, most: int = 25) -> st.SearchStrategy[list[Triple]]:
    item = st.sampled_from(_ITEMS)
    facts = st.one_of(
        st.builds(Triple, item, st.sampled_from([IRI(_E + "by"), IRI(_E + "near")]), item),
        st.builds(Triple, item, st.just(IRI(_E + "size")), st.sampled_from(_NUMBERS)),
        st.builds(Triple, item, st.just(IRI(_E + "born")), st.sampled_from(_DATES)),
        st.builds(Triple, item, st.just(LABELS[0]), st.sampled_from(_NAMES)),
        st.builds(Triple, item, st.just(RDF_TYPE), st.sampled_from(_CLASSES)),
        st.builds(Triple, st.sampled_from(_CLASSES), st.just(SUBCLASS_OF), st.sampled_from(_CLASSES)),
    )
    return st.lists(facts, min_size=least, max_size=most, unique=True)


_PATHS = st.sampled_from(
    [_path("by"), _path("^by"), _path("by", "near"), _path("by", "^by"), _path("^near", "^by", "by")]
)
_COMPARISONS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
_SIZE, _BORN = a.Value(_path("size")), a.Value(_path("born"), "date")


def _measures(sets: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    basic = st.one_of(
        st.just(_SIZE),
        st.just(a.Value(_path("born"), "year")),
        st.builds(a.HowMany, _PATHS, st.one_of(st.none(), sets)),
        st.just(a.Value(_path("by", "size"))),
        st.builds(
            a.Summarised, st.sampled_from(["sum", "avg", "min", "max"]),
            st.sampled_from([_path("size"), _path("by", "size"), _path("^near", "by", "size")]),
        ),
    )  # fmt: skip
    constants = st.builds(a.Constant, st.sampled_from([Decimal(2), Decimal("0.5"), Decimal(0)]))
    return st.one_of(
        basic, st.builds(a.Calculated, st.sampled_from(["+", "-", "*", "/"]), basic, st.one_of(basic, constants))
    )


def _sets() -> st.SearchStrategy[Any]:
    some = st.lists(st.sampled_from(_ITEMS), min_size=1, max_size=3, unique=True)
    leaves = st.one_of(st.builds(a.Instances, st.sampled_from(_CLASSES)), st.builds(a.Items, some.map(tuple)))

    def larger(sets: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        measures = _measures(sets)
        several = st.lists(sets, min_size=1, max_size=2).map(tuple)
        return st.one_of(
            st.builds(a.Ends, sets, _PATHS),
            st.builds(a.Where, sets, measures, _COMPARISONS, measures | st.sampled_from(_NUMBERS[:3])),
            st.builds(a.Where, sets, st.just(_BORN), _COMPARISONS, st.sampled_from(_DATES[:3])),
            st.builds(
                lambda of, path, all_: a.Where(of, a.HowMany(path, all_), "=", a.Count(all_)), sets, _PATHS, sets
            ),
            st.builds(
                a.Where, sets, st.just(a.Value(_path("by"), "item")), st.sampled_from(["=", "!="]),
                st.sampled_from(_ITEMS),
            ),
            st.builds(a.Named, sets, st.sampled_from(["encoder", "Blue", "coder"])),
            st.builds(a.Has, sets, _PATHS, st.none() | sets),
            st.builds(a.Lacks, sets, _PATHS, st.none() | sets),
            st.builds(a.Both, several),
            st.builds(a.Either, several),
            st.builds(a.Minus, sets, sets),
            st.builds(a.Top, sets, measures | st.just(_BORN), st.sampled_from([1, 2]), st.booleans()),
        )  # fmt: skip

    return st.recursive(leaves, larger, max_leaves=4)


SETS = _sets()
_MEASURED_NUMBERS = _measures(SETS).filter(lambda measure: kind_of(measure)[0] == "number")
NUMBERS = st.recursive(
    st.one_of(
        st.builds(a.Count, SETS),
        st.builds(a.SummaryOf, st.sampled_from(["sum", "avg", "min", "max"]), SETS, _MEASURED_NUMBERS),
    ),
    lambda numbers: (
        st.builds(a.Calculated, st.sampled_from(["+", "-", "*", "/"]), numbers, numbers)
        | st.builds(a.Calculated, st.just("round"), numbers, st.sampled_from([a.Constant(Decimal(n)) for n in (0, 1)]))
    ),
    max_leaves=2,
)
CONDITIONS = st.recursive(
    st.one_of(st.builds(a.Exists, SETS), st.builds(a.Compares, NUMBERS, _COMPARISONS, NUMBERS)),
    lambda some: st.builds(a.Not, some),
    max_leaves=2,
)

_NUMBER_OF = a.Column("n", a.Count(a.Members()))
_LIMITS = (st.booleans(), st.sampled_from([None, 3]))
TABLES = st.builds(
    a.ItemTable, SETS, st.just((a.Column("size", _SIZE), a.Column("born", _BORN, optional=True))),
    st.sampled_from(["born", _SIZE, a.HowMany(_path("by"))]), *_LIMITS, st.booleans(),
) | st.builds(a.BestOfEach, SETS, _PATHS, st.just(_SIZE), st.booleans()) | st.builds(
    a.Grouped, SETS, _PATHS, st.just((_NUMBER_OF, a.Column("mean", a.SummaryOf("avg", a.Members(), _SIZE)))),
    st.sampled_from([None, ("n", ">", a.Constant(Decimal("2.5")))]), st.just("mean"), *_LIMITS,
)  # fmt: skip


_PARTNER = st.sampled_from([a.Value(_path("by"), "item"), a.Value(_path("^near", "by"), "item")])
_FAR_SIZE = a.OfColumn("far", _SIZE)
_BESIDE = st.sampled_from([
    _FAR_SIZE, a.OfColumn("far", a.HowMany(_path("near"))), a.OfColumn("far", a.Summarised("max", _path("by", "size"))),
    a.Calculated("-", _SIZE, _FAR_SIZE), a.OfColumn("far", a.Value(_path("near"), "item")),
])  # fmt: skip
PAIRS = st.builds(
    lambda items, far, among, beside, kept, having: a.ItemTable(
        items, (a.Column("far", replace(far, among=among), kept), a.Column("beside", beside, kept)), having=having
    ),
    SETS, _PARTNER, st.none() | SETS, _BESIDE, st.booleans(), st.none(),
) | st.builds(
    lambda items, far, kept: a.ItemTable(
        items, (a.Column("far", far), a.Column("beside", _FAR_SIZE, kept)), having=("beside", "<", _SIZE)
    ), SETS, _PARTNER, st.booleans(),
)  # fmt: skip
_OF_GROUPS = st.sampled_from([
    a.Count(a.Where(a.Members(), _SIZE, ">", _NUMBERS[0])), a.Count(a.Ends(a.Members(), _path("near"))),
    a.Calculated("/", a.Count(a.Has(a.Members(), _path("by"))), a.Count(a.Members())),
    a.Calculated("round", a.SummaryOf("avg", a.Members(), _SIZE), a.Constant(Decimal(1))),
    a.Calculated("/", a.Count(a.Members()), a.Count(a.Instances(_CLASSES[0]))),
])  # fmt: skip
_AVERAGE, _MOST = (a.Column(name, a.SummaryOf(name, a.Members(), _SIZE)) for name in ("avg", "max"))
_HAVING = [("n", ">", a.Constant(Decimal(1))), ("avg", "<=", a.SummaryOf("avg", a.Instances(_CLASSES[0]), _SIZE))]
OVERVIEWS = st.builds(
    a.Grouped, SETS, st.sampled_from([_path("by"), _path("^near")]), st.just((_NUMBER_OF, _AVERAGE, _MOST)),
    having=st.none() | st.sampled_from(_HAVING), order_by=st.just("n"),
)  # fmt: skip
GROUPS = st.builds(lambda items, key, one: a.Grouped(items, key, (a.Column("n", one),)), SETS, _PATHS, _OF_GROUPS)


class _Engines:
    """The same triples in Oxigraph and in rdflib."""

    def __init__(self, triples: list[Triple]) -> None:
        self.oxigraph = pyoxigraph.Store()
        self.oxigraph.extend(pyoxigraph.Quad(t.subject, t.predicate, t.object) for t in triples)
        self.rdflib = rdflib.Graph()
        self.rdflib.parse(data="\n".join(f"{t} ." for t in triples), format="nt")

    def rows(self, plan: a.Plan) -> list[tuple[str | None, ...]]:
        """The rows of a plan that makes sense, which are the same on both."""
        assume(len(list(parts(plan))) <= MAX_PARTS and not _multiplies_long_fractions(plan))
        check(plan)
        text = compiled(plan).text
        rows = self._rows(text)
        if any(isinstance(one, a.Items) for one in parts(plan)) and any(
            isinstance(one, a.HowMany | a.OfColumn) for one in parts(plan)
        ):
            return rows  # rdflib 7.6 loses what VALUES names where an OPTIONAL beside it matches only others
        other = [tuple(None if v is None else str(v) for v in row) for row in self.rdflib.query(text)]
        assert sorted(map(_comparable, rows), key=repr) == sorted(map(_comparable, other), key=repr), text
        return rows

    def _rows(self, text: str) -> list[tuple[str | None, ...]]:
        # Its own function: rdflib's parser keeps the frames above it, and results may be freed on their thread only.
        return [tuple(None if term is None else term.value for term in row) for row in self.oxigraph.query(text)]


def _multiplies_long_fractions(plan: a.Plan) -> bool:
    """Whether something is multiplied with what was divided: Oxigraph has 18 digits behind the point, and no more."""
    found = list(parts(plan))
    divided = [p for p in found if getattr(p, "summary", "") == "avg" or getattr(p, "operator", "") == "/"]
    return bool(divided) and any(getattr(part, "operator", "") == "*" for part in found)


def _comparable(row: tuple[str | None, ...]) -> tuple[Any, ...]:
    return tuple(_number(value) for value in row)


def _number(value: str | None) -> Any:
    """A number rounded, since engines divide to a number of digits of their own; a time zone as rdflib writes it."""
    try:
        return None if value is None else round(float(value), 9)
    except ValueError:
        return value.lower().removesuffix("z").removesuffix("+00:00")


@examples(100)
@given(graphs(), SETS)
def test_a_set_has_the_items_that_plain_python_finds(triples: list[Triple], plan: Any) -> None:
    found = {row[0] for row in _Engines(triples).rows(plan)}
    assert found == {item.value for item in Facts(triples).items(plan)}


@examples(100)
@given(graphs(), NUMBERS)
def test_a_number_is_what_plain_python_computes(triples: list[Triple], plan: Any) -> None:
    rows = _Engines(triples).rows(plan)
    expected = Facts(triples).number(plan)
    found = [_number(row[0]) for row in rows if row[0] is not None]
    assert found == ([] if expected is None else [pytest.approx(float(expected), abs=1e-9)])


@examples(100)
@given(graphs(), CONDITIONS)
def test_yes_or_no_is_what_plain_python_says(triples: list[Triple], plan: Any) -> None:
    found = [row[0] for row in _Engines(triples).rows(plan)]
    assert found in ([], [None], ["true"], ["false"])
    expected = Facts(triples).holds(plan)
    if found in (["true"], ["false"]) and expected is not None:
        assert found == [str(expected).lower()]


@examples(200)
@given(graphs(), OVERVIEWS | GROUPS)
def test_groups_are_those_of_plain_python(triples: list[Triple], plan: Any) -> None:
    found = {row[0]: [_number(value) for value in row[1:]] for row in _Engines(triples).rows(plan)}
    expected = {
        k.value: [None if v is None else pytest.approx(float(v)) for v in row]
        for k, row in Facts(triples).groups(plan).items()
    }
    assert found == expected


@given(graphs(), PAIRS)
def test_columns_measure_what_an_earlier_one_leads_to(triples: list[Triple], plan: Any) -> None:
    found = {tuple(map(_number, row)) for row in _Engines(triples).rows(plan)}
    expected = {tuple(map(_plain_key, row)) for row in Facts(triples).rows(plan)}
    assert found == expected


def _plain_key(key: Any) -> Any:
    return key if key is None else _number(key.value if hasattr(key, "value") else str(float(key)))


@examples(100)
@given(graphs(), SETS, st.sampled_from([_path("by"), _path("^near")]), st.booleans())
def test_the_best_of_each_are_as_in_python(triples: list[Triple], items: Any, key: PropertyPath, largest: bool) -> None:
    plan = a.BestOfEach(items, key, _SIZE, largest)
    expected = {(group.value, item.value) for group, item in Facts(triples).best_of_each(plan)}
    assert set(_Engines(triples).rows(plan)) == expected


@given(SETS | NUMBERS | CONDITIONS | TABLES | PAIRS | GROUPS)
def test_a_plan_in_a_file_is_the_same_plan(plan: Any) -> None:
    again = json.loads(json.dumps(written_plan(plan)))
    assert read_plan_file(again) == plan
    assert compiled(read_plan_file(again)).text == compiled(plan).text
    assert in_words(plan, lambda term: term.value)


@pytest.mark.parametrize("plan", [
    ["explode", "C1"],
    ["count"],
    ["count", "C1", "C1"],
    ["where", "C1", "R1>", "~", 3],
    ["table", "C1", [["size", "R1>"]], {"having": ["number", ">", 3]}],
    ["table", "C1", [["near", ["of", "far", "R1>"]], ["far", "R2>"]]],
    ["table", "C1", [["size", "R1>"], ["near", ["of", "size", "R1>"]]]],
    ["where", "C1", ["of", "far", "R1>"], ">", 3],
    ["where", "C1", ["to", "R1>", "C1"], ">", 3],
    ["count", "each"],
    ["group", "C1", "R2>", [["n", ["count", ["has", "C1", "R2>", "each"]]]]],
    ["group", "C1", "R2>", [["items"]], {"having": ["items", ">", "R1>"]}],
    ["group", "C1", "R2>", [["n", ["/", ["count", "each"], "R1>"]]]],
    ["top", "C1", "R1>", "0%", "desc"],
    ["top", "C1", "R1>", "101%", "desc"],
    ["table", "C1", [["size", "R1>"]], {"limit": True}],
    ["top", "C1", "R1>", "1", "desc"],
    ["group", "C1", "R1>", [["items", "R1>"]]],
    {"count": "C1"},
])  # fmt: skip
def test_what_is_no_plan_is_refused(plan: Any) -> None:
    names = {"C1": {"term": "<http://e.org/C>"}, "R1": {"term": "<http://e.org/r>", "kind": "number"}}
    names["R2"] = {"term": "<http://e.org/near>"}

    def made() -> None:
        read = read_plan_file({"names": names, "plan": plan})
        check(read)
        compiled(read)

    with pytest.raises(PlanError):
        made()


def _has_absence(part: Any) -> bool:
    """Tell whether an absence is a reason; what is so of all is so since there is no other."""
    every = [one for one in parts(part) if isinstance(one, a.Where) and isinstance(one.value, a.Count)]
    return bool(every) or any(isinstance(one, a.Lacks | a.Minus) for one in parts(part))


@example(  # what is of one class was shown to be of the other, too
    [Triple(_ITEMS[0], RDF_TYPE, _CLASSES[0])],
    a.Either(tuple(map(a.Instances, _CLASSES))),
    GraphVocabulary(narrower=()),
)
@given(graphs(), SETS | NUMBERS | PAIRS | GROUPS, st.sampled_from([None, GraphVocabulary(narrower=())]))
def test_an_answer_is_computed_again_from_the_facts_it_rests_on(
    triples: list[Triple], plan: Any, flat: GraphVocabulary | None
) -> None:
    assume(not _has_absence(plan))
    triples = [triple for triple in triples if not flat or triple.predicate != SUBCLASS_OF]
    store = _Engines(triples).oxigraph
    shown: set[Triple] = {triple for triple in triples if triple.predicate == SUBCLASS_OF}
    for found in witnesses(plan, vocabulary=flat):
        solutions = store.query(found.query.text)
        names = [variable.value for variable in solutions.variables]
        for row in solutions:
            shown.update(found.triples({name: row[name] for name in names if row[name] is not None}))
    assert shown <= set(triples)
    query = compiled(plan, vocabulary=flat)
    again, all_of_it = (
        [tuple(getattr(term, "value", None) for term in row) for row in rows_from_facts(plan, query, facts)]
        for facts in (shown, triples)
    )
    assert set(map(_comparable, again)) == set(map(_comparable, all_of_it))


def test_a_thing_has_its_value_though_only_others_have_what_is_counted_beside_it() -> None:
    one, other, far = _ITEMS[:3]
    size = Triple(one, IRI(_E + "size"), _NUMBERS[0])
    store = _Engines([size, Triple(other, IRI(_E + "by"), far)]).oxigraph
    measure = a.Calculated("+", a.HowMany(_path("by")), _SIZE)
    table = a.ItemTable(a.Items((one,)), (a.Column("sum", measure, optional=True),))
    assert [row["column0"].value for row in store.query(compiled(table).text)] == ["3"]
    (found,) = witnesses(a.SummaryOf("sum", a.Items((one,)), measure))
    rows = store.query(found.query.text)
    assert {fact for row in rows for fact in found.triples({v.value: row[v] for v in rows.variables if row[v]})} == {
        size
    }
