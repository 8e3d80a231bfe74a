"""What the items of a set have, looked at from samples: the same predicates as of the whole, without joining it."""

from collections.abc import Callable

from kgsparql.exploration import types
from kgsparql.graphs.graph import Solutions
from kgsparql.graphs.oxigraph import OxigraphGraph
from kgsparql.graphs.profiles import EndpointProfile
from kgsparql.plans import algebra as a
from kgsparql.plans.plan_compiler import compiled
from kgsparql.plans.running import run
from kgsparql.plans.set_profile import Profiler, SetProfile
from kgsparql.plans.vocabulary import GraphVocabulary
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI

E = "http://e.org/"
MANY = 60
"""Parts, each of which fits each product: whole paths between them join 60 times 60 times 60."""


def dense() -> str:
    lines = [f":part{i} a :Part ; :fits {', '.join(f':product{j}' for j in range(MANY))} ." for i in range(MANY)]
    lines += [f":product{i} a :Product ; :madeBy [ :by :maker{i % 7} ] ." for i in range(MANY)]
    lines += [f":maker{i} a :Maker ; :founded {1900 + i} ." for i in range(7)]
    return "\n".join(lines)


def path(*names: str) -> PropertyPath:
    return PropertyPath.of(*(E + name for name in names))


def used(profile: SetProfile) -> set[str]:
    return {f"{use.step.direction} {use.step.predicate.value.removeprefix(E)}" for use in profile.uses}


class Watched(OxigraphGraph):
    """Keeps what it is asked."""

    asked: list[Query]

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        self.asked.append(query)
        return super().select(query)


def watched(graph: OxigraphGraph) -> Watched:
    found = Watched(graph.store, name=graph.name, fingerprint=graph.fingerprint)
    found.asked = []
    return found


def test_a_long_path_is_looked_at_step_by_step(graph_of: Callable[..., OxigraphGraph]) -> None:
    graph = watched(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    profiler = Profiler(graph)
    parts = a.Instances(IRI(E + "Part"))
    back = PropertyPath((*path("fits").steps, *(s.reversed for s in path("fits").steps), *path("fits").steps))
    profile = profiler(a.Ends(parts, back))
    assert used(profile) == {"inverse fits", "forward madeBy"}
    assert profile.classes == (IRI(E + "Product"),)
    fits = [query.text.count("/fits>") for query in graph.asked]
    assert max(fits) == 1  # no query walks two steps


def test_behind_nodes_without_a_name_the_path_goes_on(graph_of: Callable[..., OxigraphGraph]) -> None:
    profiler = Profiler(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    products = a.Instances(IRI(E + "Product"))
    assert used(profiler(a.Ends(products, path("madeBy")))) == {"inverse madeBy", "forward by"}
    makers = profiler(a.Ends(products, path("madeBy", "by")))
    assert used(makers) == {"inverse by", "forward founded"}


def test_what_is_common_to_all_questions_is_looked_at_once(graph_of: Callable[..., OxigraphGraph]) -> None:
    graph = watched(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    common = Profiler(graph)
    product = a.Ends(a.Instances(IRI(E + "Part")), path("fits"))
    first = Profiler(graph, common=common)(product)
    before = len(graph.asked)
    assert Profiler(graph, common=common)(product) == first
    assert len(graph.asked) == before
    own = Profiler(graph, common=common)
    own(a.Items((IRI(E + "part1"),)))
    assert len(graph.asked) > before
    assert set(common.profiles) == {product}  # what one question names is kept for none other


def test_the_ends_of_several_predicates_are_read_together(graph_of: Callable[..., OxigraphGraph]) -> None:
    graph = watched(graph_of(f"@prefix : <{E}> .\n{dense()}"))
    together, alone = Profiler(graph), Profiler(graph)
    predicates = [IRI(E + name) for name in ("fits", "by", "founded")]
    together.look_at_ends(predicates)
    assert [query.name.split("+")[0] for query in graph.asked] == ["ends", "classes", "broader"]
    known = [together.at_ends(one) for one in predicates]
    assert len(graph.asked) == 3
    assert known == [alone.at_ends(one) for one in predicates]
    assert [one.lead_to_texts for one in known] == [False, False, True]


def test_a_wikibase_is_not_asked_for_types_that_say_nothing(graph_of: Callable[..., OxigraphGraph]) -> None:
    class Wikibase(Watched):
        profile = EndpointProfile(external_ids=True)

    own = graph_of(f"@prefix : <{E}> .\n{dense()}")
    graph = Wikibase(own.store, name=own.name, fingerprint=own.fingerprint)
    graph.asked = []
    profile = Profiler(graph)(a.Items((IRI(E + "maker1"),)))
    assert used(profile) == used(Profiler(own)(a.Items((IRI(E + "maker1"),))))
    assert "classes" not in {query.name for query in graph.asked}


def test_classes_below_are_asked_for_only_where_the_graph_has_some(graph_of: Callable[..., OxigraphGraph]) -> None:
    """Oxigraph puts no union in order with other patterns: one question about 17,000 films took 11 s for it."""
    flat = f"@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :a a :City . :b a :Town ."
    for text, unions, found in ((flat, 0, ["a"]), (f"{flat} :Town rdfs:subClassOf :City .", 1, ["a", "b"])):
        graph = graph_of(text)
        cities, vocabulary = a.Instances(IRI(E + "City")), GraphVocabulary.of(graph)
        asked = compiled(cities, vocabulary=vocabulary).text
        assert asked.count("UNION") == unions
        assert "subClassOf>)*" not in asked  # `p/p*` for `p+` took 70 s in an ontology of 3,500 classes
        computed = run(cities, graph, vocabulary=vocabulary)
        assert sorted(str(item) for item in computed.items) == [f"<{E}{name}>" for name in found]
        shown = {fact.subject for fact in computed.facts if fact.object == IRI(E + "City")}
        assert IRI(E + "b") not in shown  # it is a town, and what the graph does not say is no evidence


def test_a_graph_without_types_is_not_asked_for_any(graph_of: Callable[..., OxigraphGraph]) -> None:
    graph = watched(graph_of(f"@prefix : <{E}> . :a :near :b ."))
    assert Profiler(graph).classes_of([IRI(E + "a")]) == {}
    assert types(graph, [IRI(E + "a")]) == {IRI(E + "a"): ()}
    assert graph.asked == []
