"""Entities of several graphs that have one external identifier: found, cited, and never merged."""

from typing import Any

import pyoxigraph
import pytest

from kgsparql import IRI, AskOptions, Budget, FederatedGraph, KnowledgeBase, KnowledgeGraph, Usage
from kgsparql.evidence import same_as as module
from kgsparql.evidence.same_as import Same, same_as
from kgsparql.graphs.ignored_predicates import IgnoredPredicates
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.retrievers import names
from tests.unit.test_federated import ex, graph, parsed
from tests.world import FIXTURES

WIKIBASE = list(pyoxigraph.parse(path=str(FIXTURES / "identifiers" / "wikibase.ttl")))
LIBRARY = list(pyoxigraph.parse(path=str(FIXTURES / "identifiers" / "library.ttl")))
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
CURIE, PIERRE, PERSON = IRI(f"{WD}Q7186"), IRI(f"{WD}Q37463"), IRI("https://kgsparql.example/library/person-12")
VIAF = IRI(f"{WDT}P214")
PREFIXES = f"@prefix wdt: <{WDT}> . @prefix wd: <{WD}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"


def quads(turtle: str) -> list[pyoxigraph.Quad]:
    return parsed(PREFIXES + turtle)


def metered(*members: KnowledgeGraph) -> tuple[MeteredGraph, list[Any]]:
    """Several graphs as a question asks them, and the events of that."""
    whole = FederatedGraph(members)
    events: list[Any] = []
    ignored = KnowledgeBase(whole, embedder=None).session("Who?", AskOptions()).graph.ignored
    return MeteredGraph(whole, Usage(Budget()), events.append, ignored=ignored), events


def pairs(start: IRI, *more: list[pyoxigraph.Quad]) -> list[Same]:
    asked, _ = metered(*(graph(some, f"graph {at}") for at, some in enumerate(more)))
    return list(same_as(asked, [start]).items)


def test_what_is_said_of_the_other_holder_of_an_identifier_answers() -> None:
    both = KnowledgeBase(FederatedGraph([graph(WIKIBASE, "wikibase"), graph(LIBRARY, "library")]), embedder=None)
    for retriever in (name for name in names() if name != "query_plan"):
        answer = both.ask("What was written by Marie Curie?", retriever=retriever)
        links = {link.term: link for link in answer.linked}
        assert links[PERSON].matched == "same as"
        assert links[PERSON].mention == links[CURIE].mention
        (same,) = [item for item in answer.evidence if "VIAF cluster ID" in item.text]
        assert same.text == "Marie Curie —VIAF cluster ID→ 76353174 ←VIAF cluster ID— Skłodowska-Curie, M."
        assert [[source.graph for source in cited.sources] for cited in same.triples] == [["wikibase"], ["library"]]
        assert all(cited.verified for cited in same.triples)
        assert [own.source for own in same.queries] == ["wikibase", "library"]
        found = next(term for term in answer.answers if term.label == "laboratory notebooks")
        assert same.marker in found.markers
        assert same.marker in answer.cited
    for question, label, same_text, is_cited in (
        ("What is the place of birth of Skłodowska-Curie, M.?", "Warsaw",
         "Skłodowska-Curie, M. —VIAF cluster ID→ 76353174 ←VIAF cluster ID— Marie Curie", True),
        ("Who was the spouse of Marie Curie?", "Pierre Curie",
         "Marie Curie —VIAF cluster ID→ 76353174 ←VIAF cluster ID— Skłodowska-Curie, M.", False),
    ):  # fmt: skip
        answer = both.ask(question, retriever="path_ranking")
        assert answer.answers[0].label == label
        (same,) = [item for item in answer.evidence if "VIAF cluster ID" in item.text]
        assert same.text == same_text
        assert (same.marker in answer.answers[0].markers) is is_cited


def test_the_queries_of_a_frontier_are_three() -> None:
    asked, events = metered(graph(WIKIBASE, "wikibase"), graph(LIBRARY, "library"))
    assert [same.other for same in same_as(asked, [CURIE, PIERRE, IRI(f"{WD}Q90")]).items] == [PERSON]
    assert [event.name for event in events] == [
        "group_forward+group_inverse", "identified", "counts_forward+counts_inverse",
    ]  # fmt: skip
    asked, events = metered(graph(quads(":a :p :b ."), "one"), graph(quads(":a :q :b ."), "other"))
    assert same_as(asked, [ex("a")]).items == ()
    assert len(events) == 1, "none of them declares an identifier"


def test_many_identifiers_are_read_from_the_texts_of_an_entity() -> None:
    """As Wikidata has them: too many to ask for each."""
    declared = "".join(
        f"wd:P9{n:04} wikibase:propertyType wikibase:ExternalId ; wikibase:directClaim wdt:P9{n:04} .\n"
        for n in range(1200)
    )
    ontology = "@prefix wikibase: <http://wikiba.se/ontology#> .\n"
    asked, events = metered(graph([*WIKIBASE, *quads(ontology + declared)], "wikibase"), graph(LIBRARY, "library"))
    assert [same.other for same in same_as(asked, [CURIE]).items] == [PERSON]
    assert [event.name for event in events] == [
        "group_forward+group_inverse+plain_values", "identified", "counts_forward+counts_inverse",
    ]  # fmt: skip
    assert max(len(event.text) for event in events) < 10_000
    held = "".join(f'wd:Q7186 wdt:P9{n:04} "{n}" .\n' for n in range(1200))
    asked, events = metered(
        graph([*WIKIBASE, *quads(ontology + declared + held)], "wikibase"), graph(LIBRARY, "library")
    )
    found = same_as(asked, [CURIE])
    assert len(events) == 3
    assert [str(cut) for cut in found.cuts] == ["identifiers: at most 1,000 of 1,202 taken"]


def test_the_same_text_by_another_predicate_is_no_pair() -> None:
    isni = quads(':other wdt:P213 "76353174" ; :p :x .')
    assert pairs(CURIE, WIKIBASE, isni) == []
    no_identifier = quads(':other wdt:P5008 "women" ; :p :x .')
    assert pairs(CURIE, WIKIBASE, no_identifier) == []
    undeclared = quads(':one :id "1" ; :p :x .'), quads(':two :id "1" ; :p :x .')
    assert pairs(ex("one"), *undeclared) == []
    tagged = quads(':other wdt:P214 "76353174"@en ; :p :x .')
    assert pairs(CURIE, WIKIBASE, tagged) == []


def test_what_several_things_of_one_graph_have_identifies_none() -> None:
    twice = quads(':one wdt:P214 "76353174" ; :p :x . :two wdt:P214 "76353174" ; :p :x .')
    assert pairs(CURIE, WIKIBASE, twice) == []
    assert pairs(ex("one"), WIKIBASE, twice) == []
    crowd = quads("".join(f':e{n} wdt:P214 "76353174" ; :p :x .\n' for n in range(1_000)))
    asked, events = metered(graph(WIKIBASE, "wikibase"), graph(crowd, "crowd"))
    assert same_as(asked, [CURIE]).items == ()
    assert sum(event.solutions for event in events) < 10, "of a crowd its number comes, and not its members"
    crowd = quads("".join(f':e{n} wdt:P213 "0000000121379622" .\n' for n in range(10_050)))
    asked, events = metered(graph(WIKIBASE, "wikibase"), graph([*LIBRARY, *crowd], "library"))
    assert [same.other for same in same_as(asked, [CURIE]).items] == [PERSON], "one that is too large hides no other"
    assert len([event for event in events if event.name == "identified"]) == 2


def test_holders_in_three_graphs_are_each_the_same_but_where_nothing_else_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    third = quads(':third wdt:P214 "76353174" ; :p :x .')
    assert [same.other for same in pairs(CURIE, WIKIBASE, third, LIBRARY)] == [ex("third"), PERSON]
    assert pairs(CURIE, WIKIBASE, quads(':other wdt:P214 "76353174" ; rdfs:label "Other" .')) == []
    monkeypatch.setattr(module, "MAX_SAME", 1)
    asked, _ = metered(graph(WIKIBASE, "wikibase"), graph(third, "third"), graph(LIBRARY, "library"))
    found = same_as(asked, [CURIE])
    assert [same.other for same in found.items] == [ex("third")]
    assert [str(cut) for cut in found.cuts] == ["equivalents: at most 1 of 2 taken"]


def test_inverse_functional_properties_identify_by_literals_and_iris_and_are_still_walked() -> None:
    mailed = ':mbox a owl:InverseFunctionalProperty . :ann :mbox <mailto:a@e.org> ; :code "7" ; :p :x .'
    other = quads(':anna :mbox <mailto:a@e.org> ; :q :y . :bob :code "7" ; :q :y .')
    (same,) = pairs(ex("ann"), quads(mailed), other)
    assert (same.other, same.path.terms[1]) == (ex("anna"), IRI("mailto:a@e.org"))
    coded = quads(f"{mailed} :code a owl:InverseFunctionalProperty .")
    assert [same.other for same in pairs(ex("ann"), coded, other)] == [ex("anna"), ex("bob")]
    held = quads(":keeps a owl:InverseFunctionalProperty . :ann rdfs:label 'Ann' ; :keeps :dog .")
    assert not IgnoredPredicates.of(graph(held, "held")).drops(ex("keeps"))


def test_candidates_are_bounded_before_they_are_counted() -> None:
    own = quads("wd:Q7186 :p :x .")
    crowd = quads("".join(f":same{n:04} owl:sameAs wd:Q7186 ; :p :x .\n" for n in range(1_000)))
    asked, events = metered(graph(own, "own"), graph(crowd, "crowd"))
    found = same_as(asked, [CURIE])
    assert [same.other for same in found.items] == [ex(f"same{n:04}") for n in range(20)]
    assert len(events) <= 4
    assert {str(cut) for cut in found.cuts} == {
        "terms that may be equivalents: at most 200 of 1,000 taken",
        "equivalents: at most 20 of 200 taken",
    }


def inverse_functional(count: int) -> str:
    return "".join(f":id{n:03} a owl:InverseFunctionalProperty .\n" for n in range(count))


def test_every_declared_predicate_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pairs than one block of terms may hold, and values that are IRIs."""
    held = "".join(f":id{n:03} :q :r . :ann :id{n:03} <mailto:{n}@e.org> .\n" for n in range(60))
    other = quads("".join(f":b{n:02} :id{n:03} <mailto:{n}@e.org> ; :p :x .\n" for n in (0, 31, 59)))
    members = graph(quads(inverse_functional(60) + held), "one"), graph(other, "other")
    for member in members:
        monkeypatch.setattr(type(member), "chunk_size", 50)
    asked, events = metered(*members)
    found = same_as(asked, [ex("ann"), ex("bob")])
    assert [same.other for same in found.items] == [ex("b00"), ex("b31"), ex("b59")]
    assert found.cuts == ()
    assert [event.name for event in events] == [
        "group_forward+group_inverse", "identified", "counts_forward+counts_inverse",
    ]  # fmt: skip
