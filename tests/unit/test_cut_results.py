"""Results that an endpoint cut or spoilt: asked for in parts, else said to be cut, never taken for all."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from kgsparql import IRI, KnowledgeBase, OxigraphGraph, Query, Term, Triple
from kgsparql.errors import EndpointError, EndpointReplyError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem, verify
from kgsparql.exploration import by_label, neighbours, predicates, shortest_paths, types, walk_ends
from kgsparql.exploration.batched_select import batched_select, selected
from kgsparql.graphs.graph import Solution, Solutions
from kgsparql.rdf.paths import PropertyPath, Step, Walk
from tests.engines import WatchedGraph
from tests.world import EX, graph_of, metered

P, R = IRI(EX + "p"), IRI(EX + "r")


@dataclass(eq=False)
class Cutting(WatchedGraph):
    """A graph that gives some solutions of a query and no more, as some endpoints do.

    :param most: solutions of one query.
    :param only: the names of the queries that are cut; all if there are none.
    :param dies_after: so many queries.
    :param loses: a variable that every third solution of a union lacks, as those of Virtuoso now and then do.
    """

    graph: OxigraphGraph
    most: int = 1_000_000
    only: tuple[str, ...] = ()
    dies_after: int = 1_000_000
    loses: str = ""
    sent: list[Query] = field(default_factory=list)

    @property
    def asked(self) -> list[str]:
        return [query.name for query in self.sent]

    def select(self, query: Query, timeout_s: float | None = None) -> Solutions:
        self.sent.append(query)
        if len(self.sent) > self.dies_after:
            raise EndpointError("test: gone", query=query.text)
        found = self.graph.select(query)
        if self.loses and len(query.arms) > 1:
            lost = tuple(
                {name: term for name, term in solution.items() if name != self.loses or i % 3}
                for i, solution in enumerate(found)
            )
            found = replace(found, solutions=lost)
        if len(found) <= self.most or (self.only and not any(name in query.name for name in self.only)):
            return found
        why = f"the endpoint stopped at {self.most} solutions"
        return replace(found, solutions=found.solutions[: self.most], cut=why)


@pytest.fixture
def star() -> OxigraphGraph:
    """Thirty entities with three neighbours each, and one with forty."""
    lines = [f":e{i} :p :n{i}, :m{i} ; :r :e{(i + 1) % 30} ." for i in range(30)]
    lines += [f":hub :p :h{i} ." for i in range(40)]
    return graph_of("\n".join(lines))


ENTITIES = [IRI(f"{EX}e{i}") for i in range(30)]


def test_only_what_was_cut_is_cut() -> None:
    assert Solutions().complete
    lacking = (Solutions(cut="x"), Solutions(invalid=1))
    assert [(found.complete, found.cut) for found in lacking] == [(False, "x"), (False, "")]
    assert Solutions(cut="x", invalid=3).missing == "x, and 3 solutions with invalid terms left out"


def test_what_was_cut_is_asked_for_in_parts_and_nobody_need_be_told(star: OxigraphGraph) -> None:
    graph = metered(Cutting(star, most=20))
    found = neighbours(graph, ENTITIES)
    assert found == neighbours(star, ENTITIES)
    assert found.cuts == ()
    assert graph.usage.queries > 5
    assert graph.cut_short == []
    assert predicates(graph, ENTITIES) == predicates(star, ENTITIES)


def test_an_entity_whose_own_result_is_cut_is_one_that_something_is_missing_of(star: OxigraphGraph) -> None:
    graph = metered(Cutting(star, most=20))
    found = neighbours(graph, [*ENTITIES, IRI(EX + "hub")], limit=50)
    assert [cut for cut in found.cuts if "hub" in str(cut)]
    (hub,) = (group for group in found.items if group.entity == IRI(EX + "hub"))
    assert len(hub.neighbours) <= 20
    assert [g for g in found.items if g != hub] == list(neighbours(star, ENTITIES, limit=50).items)
    assert set(graph.cut_short) == {"the endpoint stopped at 20 solutions"}


def test_groups_of_which_nothing_came_are_cuts() -> None:
    hub = graph_of("\n".join(f":hub :p{i % 5} :n{i} ." for i in range(50)))
    found = neighbours(metered(Cutting(hub, most=7)), [IRI(EX + "hub")])
    assert [(len(group.neighbours), group.count) for group in found.items] == [(7, 10)] * 5
    assert [(cut.limit, cut.known) for cut in found.cuts] == [(7, 10)] * 5
    found = neighbours(metered(Cutting(hub, most=0, only=("group", "neighbours"))), [IRI(EX + "hub")])
    assert found.items == ()
    assert [(cut.limit, cut.known) for cut in found.cuts] == [(0, 10)] * 5


@pytest.mark.parametrize("most", [1, 2, 5])
def test_paths_are_all_there_or_said_to_be_cut(most: int) -> None:
    graph = graph_of("\n".join(f":a :p :m{i} . :m{i} :r :z ." for i in range(10)))
    whole = shortest_paths(graph, IRI(EX + "a"), IRI(EX + "z"))
    found = shortest_paths(metered(Cutting(graph, most=most)), IRI(EX + "a"), IRI(EX + "z"))
    assert len(whole.items) == 10
    assert len(found.items) < 10
    assert found.cuts
    (ends,) = walk_ends(metered(Cutting(graph, most=most)), [Walk(IRI(EX + "a"), PropertyPath((Step(P),)))])
    assert (len(ends.items), len(ends.cuts)) == (most, 1)


def test_a_name_that_is_not_found_in_a_result_that_was_cut_may_be_there() -> None:
    graph = graph_of(':a rdfs:label "Ada" . ' + " ".join(f':b{i} rdfs:label "Bob"@fr .' for i in range(5)))
    assert by_label(Cutting(graph, most=1), "Ada") == (IRI(EX + "a"),)
    assert by_label(Cutting(graph, most=0, only=("none",)), "Nobody") == ()
    with pytest.raises(EndpointReplyError, match="cut the search for 'Bob'"):
        by_label(Cutting(graph, most=0), "Bob")
    assert types(metered(Cutting(graph, most=0)), [IRI(EX + "a")]) == {IRI(EX + "a"): ()}


def test_smaller_parts_of_a_hub_are_not_asked_for_without_end() -> None:
    hub = graph_of("\n".join(f":hub :p{i} :n{j} ." for i in range(40) for j in range(3)))
    graph = Cutting(hub, most=0, only=("group", "neighbours"))
    found = neighbours(metered(graph), [IRI(EX + "hub")], direction="forward")
    assert found.items == ()
    assert len(found.cuts) == 40
    assert 4 < len(graph.asked) < 20


SIX, HUB = ENTITIES[:6], IRI(EX + "hub")
OUT = Query("out", "SELECT ?s ?o { VALUES ?s { UNDEF } ?s <http://example.org/p> ?o } LIMIT 1000")
ARMS = [OUT.bind(s=[entity]) for entity in SIX[:3]]


def in_order(found: Sequence[Solution]) -> list[list[tuple[str, str]]]:
    return sorted(sorted((name, str(term)) for name, term in solution.items()) for solution in found)


def test_a_query_is_asked_once_where_its_solutions_are_whole_or_it_is_no_union(star: OxigraphGraph) -> None:
    graph = Cutting(star)
    union = Query.union(ARMS)
    assert in_order(selected(graph, union)) == in_order(star.select(union))
    assert [query.text for query in graph.sent] == [union.text]
    assert len(selected(graph, OUT.bind(s=[SIX[0]]), is_whole=lambda _: False)) == 2
    lossy = Cutting(star, loses="o")
    assert len(selected(lossy, Query.union(ARMS[:2]), is_whole=lambda solution: "s" in solution)) == 4
    assert (len(graph.asked), len(lossy.asked)) == (2, 1)


def test_each_arm_of_a_union_is_asked_again_where_a_variable_was_lost(star: OxigraphGraph) -> None:
    graph = Cutting(star, loses="o")
    union = Query.union(ARMS)
    lost = graph.select(union)
    assert any("o" not in solution for solution in lost)
    graph.sent.clear()
    found = selected(graph, union)
    assert in_order(found) == in_order(star.select(union))
    assert [query.text for query in graph.sent] == [union.text, *(arm.text for arm in ARMS)]
    assert found.variables == lost.variables
    assert found.complete
    graph = Cutting(star, loses="o", most=5)
    found = selected(graph, Query.union([ARMS[0], OUT.bind(s=[HUB])]))
    assert found.cut == "the endpoint stopped at 5 solutions"
    assert len(found) == 7
    assert in_order([s for s in found if s["s"] == SIX[0]]) == in_order(star.select(ARMS[0]))


def asked_all(graph: Cutting, keys: Sequence[IRI], *, bound: int = 10) -> tuple[list[Solution], dict[Term, int]]:
    found = batched_select(
        graph, lambda keys, most: OUT.bind(s=keys).limit(most + 1), keys,
        key_of=lambda solution: solution["s"], bound=bound,
    )  # fmt: skip
    return found.solutions, {key: len(some) for key, some in found.over.items()}


def test_what_a_chunk_was_cut_of_comes_in_parts_and_what_is_under_the_bound_at_once(star: OxigraphGraph) -> None:
    for most in (2, 3, 5, 11):
        graph = Cutting(star, most=most)
        found, over = asked_all(graph, SIX, bound=1_000)
        assert in_order(found) == in_order(star.select(OUT.bind(s=SIX)))
        assert over == {}
        assert len(graph.asked) > 1
    graph = Cutting(star)
    found, over = asked_all(graph, SIX, bound=12)
    assert (len(found), over, len(graph.asked)) == (12, {}, 1)


def test_only_the_key_with_too_many_solutions_is_over_or_one_of_which_nothing_comes(star: OxigraphGraph) -> None:
    """Whether it is our bound that it reaches, or that of the endpoint."""
    for most in (8, 1_000):
        found, over = asked_all(Cutting(star, most=most), [*SIX, HUB])
        assert in_order(found) == in_order(star.select(OUT.bind(s=SIX)))
        assert over == {HUB: min(most, 11)}
    graph = Cutting(star, most=0)
    found, over = asked_all(graph, SIX)
    assert found == []
    assert over == dict.fromkeys(SIX, 0)
    assert len(graph.asked) <= 2 * len(SIX)


def evidence_of(*triples: Triple) -> Evidence:
    return Evidence(
        EvidenceItem(marker=f"P{i}", kind="path", triples=(CitedTriple(triple),), text="x", query=Query("q", "ASK {}"))
        for i, triple in enumerate(triples, 1)
    )


HELD = [Triple(IRI(f"{EX}e{i}"), P, IRI(f"{EX}n{i}")) for i in range(30)]
NOT_HELD = Triple(IRI(EX + "e1"), P, IRI(EX + "nowhere"))


def test_E22_triples_that_a_cut_result_does_not_show_are_looked_up_in_parts_never_refuted(star: OxigraphGraph) -> None:
    graph = metered(Cutting(star, most=4))
    found = verify(evidence_of(*HELD, NOT_HELD), graph)
    assert (found.found, found.unanswered, found.removed) == (30, 0, (NOT_HELD,))
    assert found.lost == ("P31",)
    assert graph.cut_short == []
    found = verify(evidence_of(*HELD[:5]), metered(Cutting(star, most=0)))
    assert (found.found, found.removed, found.lost) == (0, (), ())
    assert (found.unknown, found.unanswered) == (5, 5)
    assert {cited.verified for item in found.evidence for cited in item.triples} == {None}
    found = verify(evidence_of(*HELD), metered(Cutting(star, most=1000, dies_after=0)))
    assert (found.unanswered, found.removed, str(found.failure)) == (30, (), "test: gone")
    found = verify(evidence_of(*HELD, NOT_HELD), metered(Cutting(star, most=1000, dies_after=1)))
    assert (found.found, found.unanswered, found.removed) == (30, 0, (NOT_HELD,))
    assert str(found.failure) == "test: gone"


@pytest.mark.parametrize("retriever", ["entity", "mindmap", "path_ranking", "struct_gpt", "think_on_graph"])
def test_E22_a_graph_that_goes_leaves_what_was_found_or_an_error(star: OxigraphGraph, retriever: str) -> None:
    question, entities = "What is p of r of e1?", [IRI(EX + "e1")]
    whole = Cutting(star, most=1000)
    assert KnowledgeBase(whole, embedder="none").ask(question, entities=entities, retriever=retriever).evidence
    kept = 0
    for n in range(len(whole.asked)):
        going = Cutting(star, most=1000, dies_after=n)
        try:
            answer = KnowledgeBase(going, embedder="none").ask(question, entities=entities, retriever=retriever)
        except EndpointError as error:
            assert error.message == "test: gone"  # noqa: PT017
            continue
        assert len(answer.evidence)
        if len(going.sent) <= n:  # on a slow machine more is kept from one asking to the next, and not asked again
            assert answer.error is None
            continue
        kept += 1
        assert any("test: gone" in note for note in answer.notes)
        assert answer.status == "partial"
        assert isinstance(answer.error, EndpointError)
    assert kept


def test_an_answer_says_once_what_its_graph_cut_or_could_not_be_looked_up(star: OxigraphGraph) -> None:
    graph = Cutting(star, most=5, only=("neighbours", "group", "walk"))
    answer = KnowledgeBase(graph, embedder="none").ask("What is p of hub?", entities=[IRI(EX + "hub")])
    (note,) = [note for note in answer.notes if " cut " in note and "stopped at 5" in note]
    assert note.startswith("test cut ")
    assert note.endswith("the endpoint stopped at 5 solutions")
    graph = Cutting(star, most=0, only=("verify",))
    answer = KnowledgeBase(graph, embedder="none").ask("What is p of e1?", entities=[IRI(EX + "e1")])
    assert len(answer.evidence)
    assert {cited.verified for item in answer.evidence for cited in item.triples} == {None}
    assert any("could not be looked up again: the endpoint cut the results" in note for note in answer.notes)
    assert not any("not in the graph any more" in note for note in answer.notes)
    assert not any("blank nodes" in note for note in answer.notes)
    graph = Cutting(star, most=0, only=("any", "mentioned"))
    answer = KnowledgeBase(graph, embedder="none").ask("What is p of e1?", entities=[IRI(EX + "e1")])
    assert len(answer.evidence)
