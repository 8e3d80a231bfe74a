"""Labels as libraries and thesauri give them: on nodes of their own, by predicates of their own, in marked-up text."""

import pytest

import kgsparql
from tests.conftest import graph_from

CATALOGUE = """
@prefix : <http://example.org/> .
@prefix skosxl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix bf: <http://id.loc.gov/ontologies/bibframe/> .
@prefix mads: <http://www.loc.gov/mads/rdf/v1#> .
@prefix gndo: <https://d-nb.info/standards/elementset/gnd#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:keeper rdfs:label "keeper"@en , "Halter"@DE-at .
:a skosxl:prefLabel [ skosxl:literalForm "Barbet"@en ] ; skosxl:altLabel [ skosxl:literalForm "Water dog"@en ] .
:b skosxl:prefLabel :b_label . :b_label skosxl:literalForm "Gallia"@en .
:c bf:title [ a bf:Title ; bf:mainTitle "The Grey Wind" ] .
:d mads:authoritativeLabel "Solberg, Nina" ; mads:variantLabel "Sunberg, Nina" .
:e gndo:preferredNameForThePerson "Lunde, Ida" ; gndo:variantNameForThePerson "Ida Anna Lunde" .
:f rdfs:label "<b>Bold</b> &amp; Sons"^^rdf:HTML .
:a :keeper :b . :c :keeper :d . :d :keeper :e . :e :keeper :f . :f :keeper :c .
"""


@pytest.fixture(scope="module")
def catalogue() -> kgsparql.KnowledgeBase:
    return kgsparql.KnowledgeBase(graph_from(CATALOGUE), embedder="none")


@pytest.mark.parametrize(
    ("name", "keeper"),
    {
        "Barbet": "Gallia",
        "the Water dog": "Gallia",
        "The Grey Wind": "Solberg, Nina",
        "Nina Sunberg": "Lunde, Ida",
        "Ida Anna Lunde": "Bold & Sons",
        "Bold & Sons": "The Grey Wind",
    }.items(),
)
def test_a_label_is_found_and_shown_wherever_it_is(catalogue: kgsparql.KnowledgeBase, name: str, keeper: str) -> None:
    answer = catalogue.ask(f"Who is the keeper of {name}?")
    assert (answer.status, answer.answers[0].label) == ("answered", keeper), answer.gaps


def test_a_node_that_only_has_a_label_is_not_what_is_called_so(catalogue: kgsparql.KnowledgeBase) -> None:
    assert [entity.term.value for entity in catalogue.find("Gallia")] == ["http://example.org/b"]


def test_a_label_of_a_region_is_one_of_its_language(catalogue: kgsparql.KnowledgeBase) -> None:
    answer = catalogue.ask("Wer ist der Halter von Barbet?")
    assert (answer.status, answer.answers[0].label) == ("answered", "Gallia"), answer.gaps
