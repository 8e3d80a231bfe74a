"""Terms in query texts: rows Q01 to Q07 of the catalogue. Whatever a label holds, it stays one term."""

from contextlib import suppress

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.errors import InputError, IriError, QueryBindingError
from kgsparql.graphs import OxigraphGraph
from kgsparql.linking.label_index.lookup import wikibase_search
from kgsparql.rdf.query import Query, prologue
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, iri, validated
from tests.deep import examples

EX = "http://e.org/"
VALUES = Query("values", "SELECT ?term { VALUES ?term { UNDEF } }")
EMPTY = OxigraphGraph(ox.Store(), name="empty", fingerprint="0")
HOSTILE = 'z" || true) } #'

# Every character but lone surrogates, with those that could end a literal more often than chance would have them.
TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.sampled_from(list("\"'\\\n\r\t#<>{}|^`$?u"))
    ),
    max_size=12,
).map("".join)
IRI_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(lambda text: EX + text)
LANGUAGES = st.from_regex(r"[a-zA-Z]{2,8}(-[a-zA-Z0-9]{1,8}){0,2}", fullmatch=True)


def _back(term: Term) -> Term:
    """What Oxigraph makes of a term that was bound in a query."""
    (solution,) = EMPTY.select(VALUES.bind(term=[term]))
    return solution["term"]


@pytest.mark.parametrize(
    "text",
    ["http://e/z> ?p ?o } UNION { ?s ?p ?o }} #", "http://e/\n", "http://e/<", "relative", "", "http://e/`"],
)  # fmt: skip
def test_Q03_a_hostile_iri_is_refused_before_it_is_text(text: str) -> None:
    with pytest.raises(IriError) as error:
        iri(text)
    assert error.value.code == "E_IRI"
    with pytest.raises(IriError):
        prologue([("x", text)])


@pytest.mark.parametrize(
    ("written", "shown", "error"),
    [
        (r"<http://e/x\u003E\u0020?q\u0020?r\u0020.\u0020#>", "> ?q ?r", IriError),
        (r'"x"^^<http://e/t\u003E\u0020}\u0020#>', "> } #", IriError),
        ('"x"@toolongalanguage', "toolonga", InputError),
    ],
)
def test_Q04_Q05_Q06_terms_of_a_lenient_parser_are_refused_when_they_are_validated_again(
    written: str, shown: str, error: type[InputError]
) -> None:
    data = f"<http://e/s> <http://e/p> {written} ."
    (quad,) = ox.parse(data, ox.RdfFormat.N_TRIPLES, lenient=True)
    assert shown in str(quad.object), "the parser refuses it by itself: this test shows nothing"
    for bind in (
        lambda: validated(quad.object),
        lambda: VALUES.bind(term=[quad.object]),
        lambda: VALUES.bind(term=[IRI(EX), quad.object]),
    ):
        with pytest.raises(error) as refused:
            bind()
        assert refused.value.code == ("E_IRI" if error is IriError else "E_INPUT")
    assert validated(Literal("x", language="en")) == Literal("x", language="en")
    for language in ("en } DROP ALL", "", "en--"):
        with pytest.raises(ValueError, match=r"."):
            Literal("x", language=language)


@examples(2000)
@given(TEXTS)
def test_Q01_Q02_Q07_every_text_comes_back_from_a_query(text: str) -> None:
    assert _back(Literal(text)) == Literal(text)


@examples(1000)
@given(TEXTS, IRI_TEXTS, LANGUAGES)
def test_Q07_with_a_language_a_datatype_and_as_an_iri(text: str, datatype: str, language: str) -> None:
    with suppress(ValueError):  # the pattern above is wider than BCP 47
        assert _back(Literal(text, language=language)) == Literal(text, language=language)
    try:
        known = iri(datatype)
    except IriError:
        with pytest.raises(ValueError, match=r"."):
            IRI(datatype)
        return
    assert _back(known) == known
    assert _back(Literal(text, datatype=known)) == Literal(text, datatype=known)


@examples(300)
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_Q07_rows_of_several_terms(texts: list[str]) -> None:
    query = Query("rows", "SELECT ?a ?b { VALUES (?a ?b) { (UNDEF UNDEF) } }")
    rows = [(Literal(text), IRI(f"{EX}{i}")) for i, text in enumerate(texts)]
    found = EMPTY.select(query.bind_rows(("a", "b"), rows))
    assert sorted(((solution["a"], solution["b"]) for solution in found), key=str) == sorted(rows, key=str)


TWO = Query("two", "SELECT ?a ?b { VALUES ?a { UNDEF } VALUES ?b { UNDEF } }")
LOOKALIKES = [
    "VALUES ?a { UNDEF }", "VALUES ?b { UNDEF }", "VALUES (?a ?b) { (UNDEF UNDEF) }", '?b NOT IN ("")', "?a", "?b",
    f"FILTER(?b NOT IN (<{EX}p>))", '"', "'", "\\", "#", "<", ">", "\n", " ",
]  # fmt: skip


@examples(500)
@given(st.lists(st.sampled_from(LOOKALIKES), min_size=1, max_size=6).map("".join), st.sampled_from(LOOKALIKES))
def test_Q07_a_text_that_looks_like_a_parameter_is_left_as_it_is(text: str, other: str) -> None:
    """Whichever parameter is bound first, and where a term is written in place of one."""
    one, two = Literal(text), Literal(other)
    for query in (TWO.bind(a=[one]).bind(b=[two]), TWO.bind(b=[two]).bind(a=[one])):
        (solution,) = EMPTY.select(query)
        assert (solution["a"], solution["b"]) == (one, two)
    fixed = Query("fixed", "SELECT ?x ?y { VALUES ?a { UNDEF } VALUES ?b { UNDEF } BIND(?a AS ?x) BIND(?b AS ?y) }")
    (solution,) = EMPTY.select(fixed.fix(a=one, b=two))
    assert (solution["x"], solution["y"]) == (one, two)


def test_Q07_nor_is_an_iri_a_list_of_predicates_or_a_name_that_is_searched() -> None:
    asking = Query("fixed", "SELECT ?x ?y { VALUES ?a { UNDEF } VALUES ?b { UNDEF } BIND(?a AS ?x) BIND(?b AS ?y) }")
    (solution,) = EMPTY.select(asking.fix(a=IRI(EX + "?b=1"), b=Literal("two")))
    assert (solution["x"], solution["y"]) == (IRI(EX + "?b=1"), Literal("two"))
    entity = Literal(f"FILTER(?predicate NOT IN (<{EX}p>)) and VALUES ?predicate {{ UNDEF }}")
    query = Query.load("neighbours_inverse").bind(entity=[entity]).bind(predicate=[IRI(EX + "q")])
    assert str(entity) in query.text
    assert query.text.count(f"<{EX}q>") == 1
    text = wikibase_search(["x VALUES ?language { UNDEF } y"], host="e.org", languages=["en"]).text
    assert '"x VALUES ?language { UNDEF } y"' in text
    assert 'VALUES ?language { "en" }' in text


def test_a_parameter_in_a_comment_is_none_and_a_blank_node_is_no_term_for_one() -> None:
    with pytest.raises(QueryBindingError):
        Query("q", "# VALUES ?s { UNDEF }\nSELECT * { ?s ?p ?o }").bind(s=[IRI(EX)])
    with pytest.raises(QueryBindingError, match="BlankNode"):
        VALUES.bind(term=[BlankNode("b")])


def test_the_order_of_terms_and_rows_makes_no_other_text() -> None:
    terms = [IRI(f"{EX}{i}") for i in (10, 9, 2, 1)]
    one = Query("q", "SELECT * { VALUES ?s { UNDEF } ?s ?p ?o }")
    texts = {one.bind(s=some).text for some in (terms, terms[::-1], sorted(terms, key=str))}
    assert texts == {f"SELECT * {{ VALUES ?s {{ <{EX}10> <{EX}1> <{EX}2> <{EX}9> }} ?s ?p ?o }}"}
    two = Query("rows", "SELECT * { VALUES (?s ?o) { (UNDEF UNDEF) } ?s ?p ?o }")
    rows = [(a, b) for a in terms for b in terms]
    assert two.bind_rows(("s", "o"), rows).text == two.bind_rows(("s", "o"), rows[::-1]).text


def test_prefixes_are_declared_a_line_each_and_hostile_ones_are_not() -> None:
    text = prologue([("a-b", EX), ("", EX + "#"), ("é", EX)])
    assert text.splitlines() == [f"PREFIX a-b: <{EX}>", f"PREFIX : <{EX}#>", f"PREFIX é: <{EX}>"]
    assert EMPTY.ask(Query("declared", text + "ASK {}"))
    for prefix in ("x:y", "1", "a.", "a> <"):
        with pytest.raises(QueryBindingError):
            prologue([(prefix, EX)])
