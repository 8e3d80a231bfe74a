"""Terms: safe text, keys for comparison, CURIEs; and what a query or a text search is made of with them."""

import json
import re
from contextlib import suppress
from pathlib import Path as FilePath

import curies
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgsparql
from kgsparql import IRI, BlankNode, Literal, OxigraphGraph, PrefixMap, Term
from kgsparql.errors import InputError, IriError, PrefixError, QueryBindingError
from kgsparql.graphs.profiles import TextSearch
from kgsparql.linking.label_index.lookup import MAX_SPELLINGS, Spellings, label_search, search_words, wikibase_search
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Constraint, PropertyPath, Step, Walk
from kgsparql.rdf.query import Query, prologue
from kgsparql.rdf.terms import iri, local_name, normalised, printable, validated
from kgsparql.rdf.vocabulary import LABELS
from tests.deep import examples
from tests.endpoints.faults import answering
from tests.world import EX, XSD, ex, graph_of


@pytest.mark.parametrize(("value", "words"), [
    ("http://dbpedia.org/ontology/birthPlace", "birth place"),
    ("http://example.org/caf%C3%A9", "café"),
    ("http://example.org/HTTPServer", "HTTP server"),
    ("http://www.wikidata.org/entity/Q42", "Q42"),
    ("urn:isbn:123", "123"),
    ("http://example.org/#", "example.org"),
])  # fmt: skip
def test_L38_local_names_read_as_words(value: str, words: str) -> None:
    assert local_name(IRI(value)) == words


def test_L36_nfc_and_nfd_have_one_key_and_iris_are_left_alone() -> None:
    assert normalised("café") == normalised("cafe\u0301") == "cafe"
    assert iri("http://e.org/caf\u00e9") != iri("http://e.org/cafe\u0301")


@pytest.mark.parametrize("text", ["東京", "กรุงเทพ", "दिल्ली", "القاهرة", "🎈", "C++"])
def test_L39_keys_of_every_script_are_not_empty_and_stable(text: str) -> None:
    assert normalised(text)
    assert normalised(normalised(text)) == normalised(text)
    assert normalised("दिल्ली") != normalised("दल्ल"), "vowel signs stay"


def test_U03_L16_nothing_unprintable_is_printed_and_long_text_is_cut() -> None:
    hostile = "a\x00b\x1b[31mc\u202ed\ud800e\u200bf\r\ng"
    shown = printable(hostile)
    assert shown == "ab[31mcdef g"
    assert shown.encode("utf-8")
    assert len(printable("x" * 10_000_000)) == 300


def test_curies() -> None:
    prefixes = PrefixMap.default()
    assert prefixes.expand("dbo:birthPlace") == IRI("http://dbpedia.org/ontology/birthPlace")
    assert prefixes.compress(IRI("http://www.wikidata.org/entity/Q42")) == "wd:Q42"
    assert prefixes.compress(IRI("http://www.wikidata.org/prop/direct/P31")) == "wdt:P31"
    with pytest.raises(PrefixError, match="unknown prefix 'nope'"):
        prefixes.expand("nope:a")
    with pytest.raises(IriError):
        prefixes.expand("no colon")
    assert PrefixMap({"e": "http://e.org/"}).compress(IRI("http://e.org/a/b")) == "<http://e.org/a/b>"


def test_the_public_surface_is_what_it_says() -> None:
    assert len(kgsparql.__all__) > 50
    for name in kgsparql.__all__:
        assert getattr(kgsparql, name) is not None
    with pytest.raises(AttributeError):
        _ = kgsparql.nothing_of_the_kind


def test_iris_are_shortened_as_curies_does_it() -> None:
    more = {"long": "http://ex.org/a/b/", "short": "http://ex.org/", "zweit": "http://ex.org/", "": "http://ex.org/a/"}
    prefixes = PrefixMap.default().merged(more)
    converter = curies.Converter([])
    for prefix, namespace in prefixes:
        converter.add_prefix(prefix, namespace, merge=True)
    for name in ("", "x", "a/x", "a/b/x", "a/b/", "x/y", "ü", "a%20b"):
        for _, namespace in prefixes:
            known = converter.compress(namespace + name) or ""
            wanted = known if re.fullmatch(r"[\w.-]*:[\w.%-]*", known) else f"<{namespace}{name}>"
            assert prefixes.compress(IRI(namespace + name)) == wanted


YEARS = ':a :year "1911"^^xsd:int . :b :year "1911" . :c :year "1911"@en . :d :year "1912"^^xsd:int .'


@pytest.mark.parametrize(("asked", "found"), [
    (Literal("1911", datatype=IRI(XSD + "integer")), {"a", "b", "c"}),
    (Literal("1911", datatype=IRI(XSD + "short")), {"a", "b", "c"}),
    (Literal("1911"), {"b"}),
    (Literal("1911", language="en"), {"c"}),
    (Literal("1913", datatype=IRI(XSD + "int")), set()),
])  # fmt: skip
def test_numbers_are_found_whatever_their_datatype_and_texts_as_they_are(asked: Literal, found: set[str]) -> None:
    """Virtuoso returns an ``xsd:int`` as ``xsd:integer``, and would not find that; the text of both is the same."""
    graph = graph_of(YEARS)
    path, constraint = PropertyPath.of(EX + "year"), Constraint(0, Step(ex("year")), (asked,))
    for name in "abcd":
        ways = graph.select(path_queries.walk_triples(Walk(ex(name), path), [asked], limit=9))
        assert [way["n0"] for way in ways] == [ex(name)] * (name in found)
        start = path_queries.walk(Walk(ex(name), PropertyPath(()), (constraint,)), limit=9)
        assert [way["n0"] for way in graph.select(start)] == [ex(name)] * (name in found)


def test_virtuosos_blank_nodes_and_truth_values_are_read_as_the_specifications_write_them() -> None:
    says = 'he said "bnode","value":"nodeID://b1" and <bnode>nodeID://b1</bnode>'
    body = {
        "head": {"vars": ["b", "t", "f", "n", "l"]},
        "results": {"bindings": [{
            "b": {"type": "bnode", "value": "nodeID://b10052"},
            "t": {"type": "literal", "datatype": XSD + "boolean", "value": "1"},
            "f": {"type": "literal", "datatype": XSD + "boolean", "value": "0"},
            "n": {"type": "literal", "datatype": XSD + "integer", "value": "1"},
            "l": {"type": "literal", "value": says},
        }]},
    }  # fmt: skip
    (solution,) = answering(json.dumps(body).encode()).graph().select(VALUES)
    assert [getattr(solution[name], "value", "") for name in "btfnl"] == ["b10052", "true", "false", "1", says]


ORG = "http://e.org/"
VALUES = Query("values", "SELECT ?term { VALUES ?term { UNDEF } }")
EMPTY = OxigraphGraph(ox.Store(), name="empty", fingerprint="0")

# Every character but lone surrogates, with those that could end a literal more often than chance would have them.
TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.sampled_from(list("\"'\\\n\r\t#<>{}|^`$?u"))
    ),
    max_size=12,
).map("".join)
IRI_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(lambda text: ORG + text)
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


@pytest.mark.parametrize(("written", "shown", "error"), [
    (r"<http://e/x\u003E\u0020?q\u0020?r\u0020.\u0020#>", "> ?q ?r", IriError),
    (r'"x"^^<http://e/t\u003E\u0020}\u0020#>', "> } #", IriError),
    ('"x"@toolongalanguage', "toolonga", InputError),
])  # fmt: skip
def test_Q04_Q05_Q06_terms_of_a_lenient_parser_are_refused_when_they_are_validated_again(
    written: str, shown: str, error: type[InputError]
) -> None:
    data = f"<http://e/s> <http://e/p> {written} ."
    (quad,) = ox.parse(data, ox.RdfFormat.N_TRIPLES, lenient=True)
    assert shown in str(quad.object), "the parser refuses it by itself: this test shows nothing"
    for bind in (
        lambda: validated(quad.object),
        lambda: VALUES.bind(term=[quad.object]),
        lambda: VALUES.bind(term=[IRI(ORG), quad.object]),
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
    rows = [(Literal(text), IRI(f"{ORG}{i}")) for i, text in enumerate(texts)]
    found = EMPTY.select(query.bind_rows(("a", "b"), rows))
    assert sorted(((solution["a"], solution["b"]) for solution in found), key=str) == sorted(rows, key=str)


TWO = Query("two", "SELECT ?a ?b { VALUES ?a { UNDEF } VALUES ?b { UNDEF } }")
LOOKALIKES = [
    "VALUES ?a { UNDEF }", "VALUES ?b { UNDEF }", "VALUES (?a ?b) { (UNDEF UNDEF) }", '?b NOT IN ("")', "?a", "?b",
    f"FILTER(?b NOT IN (<{ORG}p>))", '"', "'", "\\", "#", "<", ">", "\n", " ",
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
    (solution,) = EMPTY.select(asking.fix(a=IRI(ORG + "?b=1"), b=Literal("two")))
    assert (solution["x"], solution["y"]) == (IRI(ORG + "?b=1"), Literal("two"))
    entity = Literal(f"FILTER(?predicate NOT IN (<{ORG}p>)) and VALUES ?predicate {{ UNDEF }}")
    query = Query.load("neighbours_inverse").bind(entity=[entity]).bind(predicate=[IRI(ORG + "q")])
    assert str(entity) in query.text
    assert query.text.count(f"<{ORG}q>") == 1
    text = wikibase_search(["x VALUES ?language { UNDEF } y"], host="e.org", languages=["en"]).text
    assert '"x VALUES ?language { UNDEF } y"' in text
    assert 'VALUES ?language { "en" }' in text


def test_a_parameter_in_a_comment_is_none_and_a_blank_node_is_no_term_for_one() -> None:
    with pytest.raises(QueryBindingError):
        Query("q", "# VALUES ?s { UNDEF }\nSELECT * { ?s ?p ?o }").bind(s=[IRI(ORG)])
    with pytest.raises(QueryBindingError, match="BlankNode"):
        VALUES.bind(term=[BlankNode("b")])


def test_the_order_of_terms_and_rows_makes_no_other_text() -> None:
    terms = [IRI(f"{ORG}{i}") for i in (10, 9, 2, 1)]
    one = Query("q", "SELECT * { VALUES ?s { UNDEF } ?s ?p ?o }")
    texts = {one.bind(s=some).text for some in (terms, terms[::-1], sorted(terms, key=str))}
    assert texts == {f"SELECT * {{ VALUES ?s {{ <{ORG}10> <{ORG}1> <{ORG}2> <{ORG}9> }} ?s ?p ?o }}"}
    two = Query("rows", "SELECT * { VALUES (?s ?o) { (UNDEF UNDEF) } ?s ?p ?o }")
    rows = [(a, b) for a in terms for b in terms]
    assert two.bind_rows(("s", "o"), rows).text == two.bind_rows(("s", "o"), rows[::-1]).text


def test_prefixes_are_declared_a_line_each_and_hostile_ones_are_not() -> None:
    text = prologue([("a-b", ORG), ("", ORG + "#"), ("é", ORG)])
    assert text.splitlines() == [f"PREFIX a-b: <{ORG}>", f"PREFIX : <{ORG}#>", f"PREFIX é: <{ORG}>"]
    assert len(EMPTY.select(Query("declared", text + "SELECT * {}"))) == 1
    for prefix in ("x:y", "1", "a.", "a> <"):
        with pytest.raises(QueryBindingError):
            prologue([(prefix, ORG)])


VENDOR = sorted((FilePath(__file__).parents[2] / "queries" / "text_search").glob("*.rq"))
BY_WORDS: tuple[TextSearch, ...] = ("bif:contains", "graphdb", "jena", "qlever")
WORDS = st.lists(
    st.one_of(st.text(max_size=20), st.sampled_from(["' OR '", '"', "NOT", "a*", "x~2", "f:b", "\\", "}"]))
)


@given(WORDS, st.sampled_from(BY_WORDS))
def test_T1_only_words_get_into_a_text_search(texts: list[str], kind: TextSearch) -> None:
    literal = search_words(kind, texts)
    assert (literal is None) <= (not any(char.isalnum() for text in texts for char in text))
    if literal is not None:
        words = literal.value.split(" " if kind == "qlever" else " AND ")
        if kind == "bif:contains":
            assert all(word[0] == word[-1] == "'" for word in words)
            words = [word[1:-1] for word in words]
        assert all(word.isalnum() for word in words)
        assert not {"AND", "OR", "NOT", "TO"} & set(words)


@given(WORDS, st.sampled_from(BY_WORDS))
def test_T1_a_text_search_is_the_same_query_whatever_the_words(texts: list[str], kind: TextSearch) -> None:
    def shape(words: list[str]) -> str:
        asked = label_search(kind, [words], predicates=LABELS[:2], languages=["en", ""], limit=7)
        return re.sub(r'"(?:[^"\\]|\\.)*"', '""', asked.text)

    if search_words(kind, texts) is not None:
        assert shape(texts) == shape(["curie"])
        assert "?words" not in shape(texts)


@given(WORDS)
def test_T1_a_search_for_qlevers_words_asks_for_the_three_longest_as_constants(texts: list[str]) -> None:
    asked = label_search("ql:has-word", [texts], predicates=LABELS[:1], languages=["en"], limit=7)
    words = re.findall(r'ql:has-word "([^"]*)" \.', asked.text)
    plain = "".join(char if char.isalnum() else " " for char in " ".join(texts).lower()).split()
    assert (len(words), asked.empty) == ((0, True) if not plain else (3, False))
    assert all(word.isalnum() for word in words)
    assert sorted(map(len, set(words)))[-3:] == sorted(map(len, dict.fromkeys(plain)))[-3:]


@given(st.text(min_size=1, max_size=30))
def test_T1_a_name_is_a_literal_of_wikidatas_search(name: str) -> None:
    query = wikibase_search([name], host="www.wikidata.org", languages=["en"])
    assert query.empty == (not name.strip())
    if name.strip():
        assert f"VALUES ?words {{ {Literal(name)} }}" in query.text


def test_graphdb_is_asked_for_the_indexes_of_all_languages() -> None:
    """Without the star it looks in the one for literals without a language only."""
    asked = label_search("graphdb", [["Marie", "Curie"]], predicates=LABELS[:1], languages=["en", ""], limit=7)
    assert '?label onto:fts ("marie AND curie" "*" 1000) .' in asked.text


def test_L13_tags_are_compared_in_small_letters_where_an_engine_keeps_their_capitals() -> None:
    for kind in BY_WORDS:
        asked = label_search(kind, [["grey"]], predicates=LABELS[:1], languages=["en-gb"], limit=7)
        compared = "LANG(?label)" if kind == "bif:contains" else "LCASE(LANG(?label))"
        assert f"FILTER({compared} = ?language)" in asked.text


def test_each_text_search_says_what_it_is() -> None:
    assert [file.stem for file in VENDOR] == ["bif_contains", "graphdb", "jena", "mwapi", "ql_has_word", "qlever"]
    assert label_search("bif:contains", [["?!"], []], predicates=LABELS, languages=["en"], limit=5).empty
    for file in VENDOR:
        text = file.read_text(encoding="utf-8")
        assert re.match(r"#\+ summary: \S.*\.\n#\+ parameters: \[.*\]\n#\+ variables: \[.*\]\n", text)
        said = re.search(r"#\+ parameters: \[(.*)\]", text)
        assert said is not None
        assert set(re.findall(r"\w+", said[1])) == set(re.findall(r"VALUES \?(\w+) \{ UNDEF \}", text))
        assert "wikibase:label" not in text


def test_a_constant_takes_the_place_of_a_parameter() -> None:
    query = Query("q", "SELECT ?s { VALUES ?o { UNDEF } ?s ?p ?o . ?s ?other ?o }")
    assert (
        query.fix(o=IRI("http://e.org/a")).text == "SELECT ?s { ?s ?p <http://e.org/a> . ?s ?other <http://e.org/a> }"
    )
    assert query.fix(o=Literal("\\1 ?o")).text.count(r'"\\1 ?o"') == 2
    with pytest.raises(QueryBindingError, match="lacks one of: x"):
        query.fix(x=Literal("a"))
    with pytest.raises(QueryBindingError):
        query.fix(o=BlankNode())


def test_spellings_of_a_question_begin_with_its_names_and_small_words_and_articles_may_be_in_them() -> None:
    found = Spellings("Which cities of the USA did Penicillin's Alexander Fleming visit?", ("en",))
    assert found.exact[0] == "USA"
    assert {"Alexander Fleming", "penicillin", "Cities", "City", "city", "USA"} <= set(found.exact)
    assert "of" not in found.exact
    assert ("Alexander", "Fleming") in found.searches
    assert "city" not in {word for words in found.searches for word in words}
    found = Spellings("Who wrote The Lord of the Rings and The Last Man?", ("en",))
    assert {"The Lord of the Rings", "Lord of the Rings", "The Last Man", "Last Man"} <= set(found.exact)
    assert ("Last", "Man") in found.searches
    assert "The Lord of the Rings" not in found.names  # an article is looked up, not searched for
    assert "Lord of the Rings and The Last Man" in found.names
    found = Spellings("where was marie curie born", ("en",))
    assert {"Marie Curie", "marie curie", "Marie curie"} <= set(found.exact)
    assert (found.is_cased, found.names) == (False, ("marie curie born",))


@given(st.text(max_size=300))
def test_any_text_has_spellings_that_are_not_too_many(text: str) -> None:
    found = Spellings(text, ("en", "de"))
    assert len(found.exact) == len(set(found.exact)) <= MAX_SPELLINGS
    assert all(spelling.strip() for spelling in found.exact)
    assert all(words for words in found.searches)
    assert found.names == Spellings(text, ("en", "de")).names
