"""A Wikibase says everything twice: what is walked of it, what its statements are asked for; and its labels."""

from pathlib import Path

import pytest

import kgsparql
from kgsparql import IRI, KnowledgeBase, Solutions
from kgsparql.errors import OptionError
from kgsparql.exploration import neighbours
from kgsparql.graphs.metered_graph import IgnoredPredicates
from kgsparql.rdf.vocabulary import claim_part, is_mediator
from tests.world import knowledge_of, open_nobel

STATEMENTS = Path(__file__).parents[2] / "fixtures" / "wikidata_statements.ttl"
WD, PROP = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/"
METHODS = ("path_ranking", "think_on_graph", "struct_gpt", "mindmap", "entity")
CURIE = IRI(WD + "Q7186")
CHANCELLOR, REPLACED = "Since when was Angela Merkel chancellor?", "Who replaced Gerhard Schröder?"


@pytest.fixture(scope="module")
def knowledge() -> KnowledgeBase:
    return kgsparql.open(STATEMENTS, embedder="none")


def walked(answer: kgsparql.Answer) -> set[str]:
    return {cited.triple.predicate.value for item in answer.evidence for cited in item.triples}


def labels_in(answer: kgsparql.Answer) -> set[str]:
    return {term.label for term in answer.answers}


def test_only_direct_claims_are_walked(knowledge: KnowledgeBase) -> None:
    counted = knowledge.ask("How many awards did Marie Curie receive?")
    assert labels_in(counted) == {"2"}
    for method in METHODS:
        answer = knowledge.ask("When did Marie Curie receive the Nobel Prize in Chemistry?", retriever=method)
        predicates = walked(answer) | walked(counted)
        assert predicates
        assert {part[0] for p in predicates if (part := claim_part(IRI(p)))} <= {"direct"}, predicates
        assert PROP + "direct/P214" not in predicates, "an identifier in another catalogue"


def test_a_predicate_is_not_what_a_question_is_about(knowledge: KnowledgeBase) -> None:
    several = kgsparql.open(STATEMENTS.with_name("nobel.ttl"), STATEMENTS, embedder="none")
    for known in (knowledge, several):
        answer = known.ask("Who is the spouse of Marie Curie?", retriever="path_ranking")
        assert {link.label for link in answer.linked} == {"Marie Curie"}
        assert answer.answers[0].label == "Pierre Curie"
    turtle = """:P7 a <http://wikiba.se/ontology#Property> ; rdfs:label "colour" .
    :sky rdfs:label "Sky" ; :P1 :blue . :blue rdfs:label "Blue" ."""
    (link,) = knowledge_of(turtle).ask("What colour is the Sky?").linked
    assert link.label == "Sky", "a property that nothing uses is no entity"


def test_when_a_statement_held_is_asked_of_it_and_it_is_shown_by_what_it_joins(knowledge: KnowledgeBase) -> None:
    answer = knowledge.ask("When did Marie Curie receive the Nobel Prize in Physics?")
    assert answer.sure
    assert [term.label for term in answer.best] == ["1903"]
    assert "1911" not in labels_in(answer), "that is of the prize in chemistry"
    found = knowledge.graph.select(answer.computed.query)
    assert {s["answer"].value for s in found} == {"1903"}, "its query finds it"
    cited = {claim_part(one.triple.predicate) for item in answer.evidence for one in item.triples}
    assert cited >= {("claim", "P166"), ("statement", "P166"), ("qualifier", "P585")}
    drawn = answer.tree.mermaid()
    assert "[Nobel Prize in Physics]" in drawn
    assert "[]" not in drawn
    with pytest.raises(OptionError, match="qualifiers is gone: a question of when"):
        knowledge.ask("Who?", qualifiers=True)  # type: ignore[call-arg]


def test_what_two_entities_are_in_may_be_a_blank_node_and_what_is_named_comes_last(knowledge: KnowledgeBase) -> None:
    turtle = """:ann rdfs:label "Ann Lee" ;
    :marriage [ :partner :bob ; :place :rome ] , [ :partner :cal ; :place :oslo ] .
    :bob rdfs:label "Bob Ray" . :cal rdfs:label "Cal Fox" . :rome rdfs:label "Rome" . :oslo rdfs:label "Oslo" ."""
    answer = knowledge_of(turtle).ask("At which place was the marriage of Ann Lee with Cal Fox?")
    assert answer.answers[0].label == "Oslo"
    assert "Rome" not in labels_in(answer)
    answer = knowledge.ask("Who got the Nobel Prize in Physics, Marie Curie?")
    topics = {link.term for link in answer.linked}
    are_topics = [term.term in topics for term in answer.answers]
    assert True in are_topics
    assert are_topics == sorted(are_topics)


def test_identifiers_in_other_catalogues_are_not_walked_nor_are_those_of_statements(knowledge: KnowledgeBase) -> None:
    ignored = knowledge.session("Who?", kgsparql.AskOptions()).graph.ignored
    assert ignored.terms == {IRI(PROP + "direct/P214")}
    assert all(ignored.drops(IRI(PROP + f"{part}P214")) for part in ("", "direct/", "statement/", "qualifier/"))
    assert IgnoredPredicates.of(open_nobel().graph).terms == frozenset()


def test_what_is_left_out_is_counted_and_a_statement_is_no_entity_to_walk_on_from(knowledge: KnowledgeBase) -> None:
    direct, claim = IRI(PROP + "direct/P26"), IRI(PROP + "P26")
    solutions = Solutions(("predicate", "object"), ({"predicate": direct}, {"predicate": claim}))
    kept = IgnoredPredicates().without(solutions)
    assert [s["predicate"] for s in kept] == [direct]
    assert kept.left_out == 1
    assert len(IgnoredPredicates(keeps_statements=True).without(solutions)) == 2
    other = Solutions(("entity",), ({"entity": claim},))
    assert IgnoredPredicates().without(other) is other, "only what is walked is noise"
    (spouse,) = [g for g in neighbours(knowledge.graph, [CURIE]).items if g.step.predicate == IRI(PROP + "P26")]
    assert all(is_mediator(term) for term in spouse.neighbours)
    assert {path.end for path in spouse.mediated} >= {IRI(WD + "Q37463")}


def test_the_noise_of_wikidata_is_noise_in_a_dump_of_it() -> None:
    """Where the graph declares the properties, and not where it only uses them."""
    image, category = IRI(f"{PROP}direct/P18"), IRI(f"{PROP}direct/P373")
    used = f"""<{WD}Q1> rdfs:label "Ann" ; {image} "Ann.jpg" ; {category} "Anns" ; <{PROP}direct/P19> <{WD}Q2> .
    <{WD}Q2> rdfs:label "Bonn" ."""
    declared = f" <{WD}P18> <http://wikiba.se/ontology#directClaim> {image} ."
    dump = knowledge_of(used + declared)
    for knowledge, ignored in ((knowledge_of(used), frozenset()), (dump, {image})):
        assert knowledge.session("Who?", kgsparql.AskOptions()).graph.ignored.terms == ignored
    predicates = walked(dump.ask("What is there about Ann?", retriever="think_on_graph"))
    assert (image.value in predicates, category.value in predicates) == (False, True), "only what is declared of it"
