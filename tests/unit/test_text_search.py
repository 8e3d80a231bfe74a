"""What of a question gets into the text searches of engines, and how its names are spelled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsparql.errors import QueryBindingError
from kgsparql.graphs.profiles import TextSearch
from kgsparql.linking.label_index.lookup import label_search, search_words, wikibase_search
from kgsparql.linking.label_index.names import MAX_SPELLINGS, Spellings
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal
from kgsparql.rdf.vocabulary import LABELS

VENDOR = sorted((Path(__file__).parents[2] / "queries" / "text_search").glob("*.rq"))
BY_WORDS: tuple[TextSearch, ...] = ("bif:contains", "graphdb", "jena", "qlever")
TEXTS = st.lists(
    st.one_of(st.text(max_size=20), st.sampled_from(["' OR '", '"', "NOT", "a*", "x~2", "f:b", "\\", "}"]))
)


@given(TEXTS, st.sampled_from(BY_WORDS))
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


@given(TEXTS, st.sampled_from(BY_WORDS))
def test_T1_a_word_that_is_only_begun_has_one_wildcard_at_its_end(texts: list[str], kind: TextSearch) -> None:
    begun, whole = search_words(kind, texts, is_begun=True), search_words(kind, texts)
    if begun is not None:
        assert whole is not None
        assert begun.value.count("*") <= 1
        assert whole.value.startswith(begun.value.rstrip("*'"))


@given(TEXTS, st.sampled_from(BY_WORDS))
def test_T1_a_text_search_is_the_same_query_whatever_the_words(texts: list[str], kind: TextSearch) -> None:
    def shape(words: list[str]) -> str:
        asked = label_search(kind, [words], predicates=LABELS[:2], languages=["en", ""], limit=7)
        return re.sub(r'"(?:[^"\\]|\\.)*"', '""', asked.text)

    if search_words(kind, texts) is not None:
        assert shape(texts) == shape(["curie"])
        assert "?words" not in shape(texts)


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
    assert [file.stem for file in VENDOR] == ["bif_contains", "graphdb", "jena", "mwapi", "mwapi_labels", "qlever"]
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
    with pytest.raises(QueryBindingError, match="no parameter"):
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
