"""A Wikibase says everything twice: what is walked of it, with qualifiers and without; and its labels."""

from pathlib import Path
from typing import Any

import pytest

import kgsparql
from kgsparql import IRI, KnowledgeBase, Solutions
from kgsparql.exploration import neighbours
from kgsparql.graphs.metered_graph import IgnoredPredicates
from kgsparql.rdf.vocabulary import claim_part, is_mediator
from tests.world import knowledge_of, open_nobel

STATEMENTS = Path(__file__).parents[2] / "fixtures" / "wikidata_statements.ttl"
WD, PROP = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/"
METHODS = ("path_ranking", "think_on_graph", "struct_gpt", "mindmap", "entity")
CURIE = IRI(WD + "Q7186")
CHANCELLOR, REPLACED = "Since when was Angela Merkel chancellor?", "Who replaced Gerhard Schröder?"
RECEIVED = "At which point in time was an award received by Marie Curie?"


@pytest.fixture(scope="module")
def knowledge() -> KnowledgeBase:
    return kgsparql.open(STATEMENTS, embedder="none")


def walked(answer: kgsparql.Answer) -> set[str]:
    return {cited.triple.predicate.value for item in answer.evidence for cited in item.triples}


def labels_in(answer: kgsparql.Answer) -> set[str]:
    return {term.label for term in answer.answers}


def test_without_qualifiers_only_direct_claims_are_walked(knowledge: KnowledgeBase) -> None:
    counted = knowledge.ask("How many awards did Marie Curie receive?")
    assert labels_in(counted) == {"2"}
    for method in METHODS:
        answer = knowledge.ask("When did Marie Curie receive the Nobel Prize in Chemistry?", retriever=method)
        predicates = walked(answer) | walked(counted)
        assert predicates
        assert {part[0] for p in predicates if (part := claim_part(IRI(p)))} <= {"direct"}, predicates
        assert PROP + "direct/P214" not in predicates, "an identifier in another catalogue"


def test_with_qualifiers_a_date_is_reached_through_its_statement(knowledge: KnowledgeBase) -> None:
    for method in ("path_ranking", "think_on_graph", "entity"):
        answer = knowledge.ask(RECEIVED, retriever=method, qualifiers=True, entities=(CURIE,))
        assert "1911" in labels_in(answer)
        (item, *_) = [item for item in answer.evidence if "—point in time→" in item.text and "1911" in item.text]
        assert all(cited.verified for cited in item.triples), "a statement has a name, so it is found again"
        assert not any(is_mediator(term.term) for term in answer.answers)
        assert "normal rank" not in labels_in(answer)
        for item in answer.evidence:
            found = knowledge.graph.select(item.query)
            assert not any(is_mediator(s["answer"]) for s in found if "answer" in s), item.query.text


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


def test_qualifiers_of_the_statement_that_two_entities_are_in(knowledge: KnowledgeBase) -> None:
    expected = {"Henri Becquerel", "Pierre Curie"}
    answer = knowledge.ask("With whom did Marie Curie share the Nobel Prize in Physics?", qualifiers=True)
    first = answer.evidence["P1"]
    assert {answer.labels[end] for end in first.ends} == expected
    assert {term.label for term in answer.answers[: len(expected)]} == expected
    assert {s["answer"] for s in knowledge.graph.select(first.query)} == set(first.ends), "its query finds these"


@pytest.mark.parametrize("qualifiers", [True, False])
def test_when_a_statement_held_needs_no_option(knowledge: KnowledgeBase, qualifiers: bool) -> None:
    answer = knowledge.ask("When did Marie Curie receive the Nobel Prize in Physics?", qualifiers=qualifiers)
    assert answer.sure
    assert [term.label for term in answer.best] == ["1903"]
    assert "1911" not in labels_in(answer), "that is of the prize in chemistry"
    found = knowledge.graph.select(answer.computed.query)
    assert {s["answer"].value for s in found} == {"1903"}, "its query finds it"


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


@pytest.mark.parametrize("method", METHODS)
def test_a_statement_is_named_by_what_it_joins(knowledge: KnowledgeBase, method: str) -> None:
    held = "Angela Merkel —position held→ Federal Chancellor of Germany"
    for question, named in (
        (CHANCELLOR, "—position held→ [Federal Chancellor of Germany] —start time→ 2005"),
        (REPLACED, "←replaces— [Angela Merkel] —position held→ Federal Chancellor of Germany"),
        (REPLACED, f"←replaces— [{held}] —replaced by→ Olaf Scholz"),
    ):
        own = {"predicates_per_step": 1} if method == "struct_gpt" else {}  # else it goes on through a second statement
        own = {"width": 5} if method == "think_on_graph" else own
        answer = knowledge.ask(question, retriever=method, options=own, qualifiers=True)
        said = [item.text for item in answer.evidence]
        assert any(named in text for text in said), said
        assert not any("[]" in text for text in (*said, answer.tree.text(), answer.tree.mermaid()))
        triples = {cited.triple for item in answer.evidence if named in item.text for cited in item.triples}
        statements = {t for triple in triples for t in (triple.subject, triple.object) if is_mediator(t)}
        assert statements
        for statement in statements:
            of_it = {p for t in triples if statement in (t.subject, t.object) and (p := claim_part(t.predicate))}
            assert {part for part, _ in of_it} == {"claim", "statement", "qualifier"}, "what names it is cited, too"
        assert all(cited.verified for item in answer.evidence for cited in item.triples)
        assert not any(is_mediator(term.term) for term in answer.answers)


def test_a_statement_is_named_by_whom_it_is_about_or_not_at_all_and_asked_about_once(knowledge: KnowledgeBase) -> None:
    answer = knowledge.ask("Who shared the Nobel Prize in Physics?", retriever="mindmap", qualifiers=True)
    (item,) = [item for item in answer.evidence if "together with" in item.text]
    assert (
        item.text
        == "Nobel Prize in Physics ←award received— [Marie Curie] —together with→ Pierre Curie; Henri Becquerel"
    )
    about = [c for c in item.triples if c.triple.subject == CURIE]
    assert [c.triple.predicate.value for c in about] == [PROP + "P166"]
    assert CURIE not in {term.term for term in answer.answers if item.marker in term.markers}, "she is only its name"
    assert "[Marie Curie]\n" in answer.tree.text()
    events: list[Any] = []
    knowledge.ask(REPLACED, retriever="mindmap", qualifiers=True, emit=events.append)
    names = [getattr(event, "name", "") for event in events]
    assert (names.count("neighbours_inverse"), names.count("group_forward")) == (1, 1)
    statement = f"<{WD}statement/q1-a>"
    turtle = f"""<{WD}Q1> rdfs:label "Ann" ; <{PROP}P39> {statement} . {statement} <{PROP}qualifier/P580> "1999" .
    <{WD}P580> rdfs:label "start" ."""
    answer = knowledge_of(turtle).ask("When did it start for Ann?", qualifiers=True)
    assert "1999" in labels_in(answer)
    assert any("→ [] —" in item.text for item in answer.evidence)


def test_statements_not_looked_at_are_said_and_their_values_not_walked_twice(knowledge: KnowledgeBase) -> None:
    def is_said(known: KnowledgeBase, question: str, **asking: bool) -> bool:
        answer = known.ask(question, **asking)  # type: ignore[arg-type]
        assert answer.linked
        return any("--qualifiers" in note for note in answer.notes)

    assert is_said(knowledge, CHANCELLOR)
    assert not is_said(knowledge, CHANCELLOR, qualifiers=True)
    assert not is_said(knowledge, "Which country is Gerhard Schröder from?"), "nothing is said of him in statements"
    assert not is_said(open_nobel(), "Where was Marie Curie born?")
    answer = knowledge.ask("Which award did Marie Curie receive?", qualifiers=True)
    assert answer.answers[0].label.startswith("Nobel Prize")
    assert not any("—award received→ [] —award received→" in item.text for item in answer.evidence)
    viaf = {IRI(PROP + f"{part}P214") for part in ("", "direct/", "statement/", "qualifier/")}
    assert knowledge.session("Who?", kgsparql.AskOptions()).graph.ignored.terms == viaf
    assert IgnoredPredicates.of(open_nobel().graph).terms == frozenset()


def test_what_is_left_out_is_counted_and_a_statement_is_no_entity_to_walk_on_from(knowledge: KnowledgeBase) -> None:
    direct, claim = IRI(PROP + "direct/P26"), IRI(PROP + "P26")
    solutions = Solutions(("predicate", "object"), ({"predicate": direct}, {"predicate": claim}))
    kept = IgnoredPredicates().without(solutions)
    assert [s["predicate"] for s in kept] == [direct]
    assert kept.left_out == 1
    assert len(IgnoredPredicates(qualifiers=True).without(solutions)) == 2
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
