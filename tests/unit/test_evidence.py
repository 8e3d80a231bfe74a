"""Evidence: verified and marked, gathered at the ends of paths, and said in rows and words."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pyoxigraph
import pytest

from kgsparql import BlankNode, Budget, KnowledgeGraph, OxigraphGraph, Query, Session, Source
from kgsparql.answering.retriever import answers_at_ends
from kgsparql.errors import BudgetExceededError
from kgsparql.events import Event, QueryRun
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem, verify
from kgsparql.evidence.path_expansion import expanded_items, first_to_show, natural_key
from kgsparql.evidence.term_labels import namesake_groups
from kgsparql.evidence.verbalising import DecisionTree, Line, Node, line_text, nested_text, path_text, with_statements
from kgsparql.rdf.paths import Constraint, Hop, Path, PropertyPath, Step, Walk
from kgsparql.rdf.terms import IRI, Literal, Term, Triple
from tests.engines import CountingGraph
from tests.world import ex, examples, graph_of, linked, metered, path_of, session_of

A, B, P = (IRI(f"http://example.org/{name}") for name in "abp")
Q = Query("q", "")
ANY = Query("any", "SELECT * { ?s ?p ?o }")


def item(*triples: Triple, kind: str = "neighbours") -> EvidenceItem:
    return EvidenceItem(kind, "text", tuple(map(CitedTriple, triples)), Q)  # type: ignore[arg-type]


def stored(*quads: pyoxigraph.Quad) -> OxigraphGraph:
    store = pyoxigraph.Store()
    store.extend(quads)
    return OxigraphGraph(store, name="t", fingerprint="0")


def test_markers_are_given_once_and_never_renumbered() -> None:
    evidence = Evidence([item(kind="path"), item(), item(), item(kind="path")])
    assert [i.marker for i in evidence] == ["P1", "N1", "N2", "P2"]
    assert [i.marker for i in evidence.keep(["N2", "P2"])] == ["N2", "P2"]


def test_found_triples_carry_their_sources_and_absent_ones_go() -> None:
    graph = metered(graph_of(":a :p :b ."))
    checked = verify(Evidence([item(Triple(A, P, B)), item(Triple(A, P, B), Triple(A, P, A))]), graph)
    (kept,) = checked.evidence
    assert kept.triples == (CitedTriple(Triple(A, P, B), sources=(Source("test"),), verified=True),)
    assert (checked.found, checked.lost, checked.removed) == (1, ("N2",), (Triple(A, P, A),))
    checked = verify(Evidence([item(Triple(A, P, B), Triple(B, P, A), kind="path")]), graph)
    assert (len(checked.evidence), checked.lost) == (0, ("P1",)), "a path falls with any of its triples"


def test_blank_nodes_are_looked_up_where_their_names_last() -> None:
    blank = BlankNode("m")
    evidence = Evidence([item(Triple(A, P, blank)), item(Triple(A, P, BlankNode("other")))])
    checked = verify(evidence, metered(stored(pyoxigraph.Quad(A, P, blank))))
    assert [i.triples[0].verified for i in checked.evidence] == [True]
    assert checked.lost == ("N2",)


def test_verification_asks_in_batches_of_200() -> None:
    triples, events = [Triple(A, P, Literal(str(i))) for i in range(401)], list[Event]()
    for names in [], [P]:
        graph = stored(*(pyoxigraph.Quad(t.subject, t.predicate, t.object, *names) for t in triples))
        assert verify(Evidence([item(*triples)]), metered(graph, emit=events.append)).found == 401
    assert [e.name for e in events if isinstance(e, QueryRun)] == ["verify_texts"] * 6 + ["named_graphs_texts"] * 3


def test_a_budget_is_kept_and_unlimited_work_is_still_counted() -> None:
    graph = metered(graph_of(":a :p :b, :a ."), budget=Budget(max_queries=1))
    graph.select(ANY)
    with pytest.raises(BudgetExceededError, match="1 query"):
        graph.select(ANY)
    graph.unlimited().select(ANY)
    assert graph.usage.queries == 2
    with pytest.raises(BudgetExceededError, match="1 rows"):
        metered(graph_of(":a :p :b, :a ."), budget=Budget(max_rows=1)).select(ANY)


def expanded(session: Session | KnowledgeGraph, *walks: Walk, **limits: int) -> list[EvidenceItem]:
    """What the walks lead to, each to something."""
    session = session if isinstance(session, Session) else session_of(session, (A,))
    items = [item for item in expanded_items(list(walks), session.labels, **limits) if item is not None]
    assert len(items) == len(walks)
    return items


def from_a(*steps: str) -> Walk:
    return Walk(ex("a"), path_of(*steps))


def again(graph: KnowledgeGraph, query: Query) -> set[object]:
    return {solution["answer"] for solution in graph.select(query)}


SEVENTY = "".join(f":a :p :o{i:03} ." for i in range(70))
COLLEAGUES = ":a :at :u , :v . :b :at :u . :c :at :u , :v . :d :at :v ; :field :physics . :b :field :physics , :art ."


def test_every_end_is_found_and_the_query_finds_just_these() -> None:
    graph = graph_of(COLLEAGUES)
    (item,) = expanded(graph, from_a("at", "^at"))
    assert item.ends == examples(*"bcd")
    assert again(graph, item.query) == set(item.ends)
    assert list(dict.fromkeys(way.end for way in item.paths)) == list(item.ends)
    assert {way.start for way in item.paths} == {ex("a")}
    assert len({cited.triple for cited in item.triples}) == len(item.triples)
    assert item.text.startswith("a —at→ u ←at— b")


def test_a_constraint_holds_in_the_ends_the_triples_and_the_query() -> None:
    graph = graph_of(COLLEAGUES)
    physics = Constraint(2, Step(ex("field")), (ex("physics"), Literal("nowhere")))
    (item,) = expanded(graph, Walk(ex("a"), path_of("at", "^at"), (physics,)))
    assert item.ends == examples(*"bd")
    assert again(graph, item.query) == set(item.ends)
    assert {c.triple.subject for c in item.triples if c.triple.predicate == ex("field")} == set(item.ends)
    assert item.text.endswith("(where field physics or nowhere)")


def test_the_start_is_an_answer_only_if_it_is_the_only_one() -> None:
    graph = graph_of(":a :spouse :b . :b :spouse :a . :a :near :a , :c .")
    items = expanded(graph, from_a("spouse", "spouse"), from_a("near"))
    assert [item.ends for item in items] == [examples(*"a"), examples(*"c")]
    assert [again(graph, item.query) for item in items] == [set(item.ends) for item in items]


def test_the_triples_of_the_first_ends_are_cited_and_more_ends_than_the_limit_are_a_cut() -> None:
    events: list[Event] = []
    (item,) = expanded(session_of(graph_of(SEVENTY), (A,), emit=events.append), from_a("p"))
    assert (len(item.ends), len(item.triples), item.cuts) == (70, 50, ())
    assert "58 more" in item.text
    names = [event.name for event in events if isinstance(event, QueryRun)]
    assert [name for name in names if "walk" in name] == ["walk", "walk_triples"]
    session = session_of(graph_of(SEVENTY), (A,))
    (item,) = expanded(session, from_a("p"), limit=20)
    assert (len(item.ends), item.cuts[0].limit) == (20, 20)
    assert any("at most 20" in line for line in session.notes.lines())


def test_of_very_many_ends_only_the_first_are_asked_for_their_labels() -> None:
    events: list[Event] = []
    things = "".join(f':a :p :o{i:04} . :o{i:04} rdfs:label "thing {9999 - i}" . ' for i in range(2_500))
    session = session_of(graph_of(things), (A,), emit=events.append)
    answers = answers_at_ends(Evidence(expanded(session, from_a("p"))), linked(session))
    assert (len(answers), answers[0].label, answers[-1].label) == (2_500, "thing 9999", "o2499")
    assert sum(1 for event in events if isinstance(event, QueryRun)) <= 6


def test_a_blank_node_is_passed_but_is_no_end_nor_found_by_the_query() -> None:
    session = session_of(graph_of(":a :job [ :employer :uni ; :since 1999 ] ."), (A,))
    through, only = expanded_items([from_a("job", "employer"), from_a("job")], session.labels)
    assert through is not None
    assert through.ends == (ex("uni"),)
    assert isinstance(through.paths[0].terms[1], BlankNode)
    assert only is None
    graph = graph_of(
        ":ann :employer :acme , :bolt , [ :country :land ] ; :knows :ann , [ :knows :ann ] . :acme :country :land . "
        ":a :at :u . :b :at :u . [] :at :u ."
    )
    steps = [("employer",), ("employer", "country"), ("knows",)]
    items = expanded(graph, *(Walk(ex("ann"), path_of(*own)) for own in steps), from_a("at", "^at"))
    assert [item.ends for item in items] == [(ex("acme"), ex("bolt")), (ex("land"),), (ex("ann"),), (ex("b"),)]
    assert [again(graph, item.query) for item in items] == [set(item.ends) for item in items]
    filtered = ["isBlank" in item.query.text for item in items]
    assert filtered == [True, False, True, True], "only where there is one to leave out"


def test_no_query_names_more_ends_at_a_time_than_the_graph_takes() -> None:
    events: list[Event] = []
    graph = CountingGraph(graph_of(SEVENTY), chunk_size=20)
    (item,) = expanded(session_of(graph, (A,), emit=events.append), from_a("p"))
    assert [way.end for way in item.paths] == list(item.ends)[:50]
    (sent,) = [event.text for event in events if isinstance(event, QueryRun) and "walk_triples" in event.name]
    blocks = [block.split("}")[0].count("<") for block in sent.split("VALUES ?n1 {")[1:]]
    assert blocks == [20, 20, 10]


def answered(turtle: str, *walks: tuple[Walk, float], given: str = "a") -> list[tuple[str, tuple[str, ...], float]]:
    """The answers at the ends of walks with these scores."""
    session = session_of(graph_of(turtle), examples(*given.split()))
    items = expanded(session, *(walk for walk, _ in walks))
    evidence = Evidence(replace(item, score=score) for item, (_, score) in zip(items, walks, strict=True))
    return [(a.label, a.markers, a.score) for a in answers_at_ends(evidence, linked(session))]


def test_answers_are_the_ends_of_the_best_item_first_and_before_these_what_several_entities_lead_to() -> None:
    assert answered(COLLEAGUES, (from_a("at"), 0.2), (from_a("at", "^at"), 0.9)) == [
        ("b", ("P2",), 0.9), ("c", ("P2",), 0.9), ("d", ("P2",), 0.9), ("u", ("P1",), 0.2), ("v", ("P1",), 0.2),
    ]  # fmt: skip
    starred = [(Walk(ex(name), path_of("^star")), 0.0) for name in "ab"]
    found = answered(":f1 :star :a . :f2 :star :a , :b . :f3 :star :b .", *starred, given="a b")
    assert [own[:2] for own in found] == [("f2", ("P1", "P2")), ("f1", ("P1",)), ("f3", ("P2",))]
    turtle = ":a :directed :f . :b :directed :f , :g . :a :year :y . :tag :year :z . :a :like :z ."
    both = (Walk(ex("b"), path_of("directed")), 1.0), (from_a("directed"), 0.97)
    years = (from_a("year"), 1.0), (Walk(ex("tag"), path_of("year")), 0.9)
    for walks, labels, why in (
        (both, ["f", "g"], "a film of both comes before one of the better reading alone"),
        ((*years, (from_a("like"), 0.8)), ["y", "z"], "what a worse reading about one of them says counts for nothing"),
        ((*years, (from_a("like"), 0.96)), ["z", "y"], ""),
    ):
        assert [label for label, _, _ in answered(turtle, *walks, given="a b tag")] == labels, why


def items_of(
    graph: KnowledgeGraph, walks: Sequence[Walk], *, events: list[Event] | None = None, question: str = "",
) -> list[EvidenceItem]:  # fmt: skip
    labels = session_of(graph, (A,), emit=None if events is None else events.append).labels
    found = expanded_items(walks, labels, question=question)
    return [item for item in found if item is not None]


def test_of_many_ends_the_first_are_shown_and_the_one_of_the_question() -> None:
    graph = graph_of("".join(f":a :p {i} . " for i in range(1, 101)))
    (item,) = items_of(graph, [from_a("p")])
    assert [int(end.value) for end in item.ends] == list(range(1, 101))
    assert item.text == "a —p→ 1; 2; 3; 4; 5; 6; 7; 8; 9; 10; 11; 12; … 88 more"
    people = (f':a :p :o{i} . :o{i} rdfs:label "Person {i}{" Smith" * (i == 77)}" . ' for i in range(90))
    (item,) = items_of(graph_of("".join(people)), [from_a("p")], question="Did it meet Smith?")
    named = re.findall(r"Person (\d+)", item.text)
    assert named == [*map(str, range(11)), "77"]
    assert item.text.endswith("Person 77 Smith; … 78 more")


def test_what_lies_between_is_known_even_of_many_ends_unless_there_are_too_many_ways() -> None:
    graph = graph_of("".join(f":joan :in :f{i % 30} . :f{i % 30} :with :o{i} . " for i in range(90)))
    (item,) = items_of(graph, [Walk(ex("joan"), path_of("in", "with"))])
    assert (len(item.ends), len(item.between), len(item.between[0])) == (90, 1, 30)
    dense = graph_of(
        "".join(f":joan :in :f{i} . :f{i} :with {', '.join(f':o{j}' for j in range(70))} . " for i in range(60))
    )
    events: list[Event] = []
    (item,) = items_of(dense, [Walk(ex("joan"), path_of("in", "with"))], events=events)
    assert (len(item.ends), item.between) == (70, ())
    assert item.cuts
    assert sum(isinstance(event, QueryRun) and event.name == "walk_triples" for event in events) == 2


def test_a_value_that_repeats_says_how_often_and_a_single_example_stands_for_them() -> None:
    of_many = Walk(ex("joan"), path_of("^star", "genre"))
    graph = graph_of("".join(f":f{i} :star :joan ; :genre :{'drama' if i % 4 else 'war'} . " for i in range(40)))
    (item,) = items_of(graph, [of_many])
    assert ("drama (30 times)" in item.text, "war (10 times)" in item.text, item.text.count("times")) == (True, True, 2)
    assert set(item.between[0]) == {ex(f"f{i}") for i in range(40)}
    few = graph_of("".join(f":f{i} :star :joan ; :genre :drama . " for i in range(3)))
    (item,) = items_of(few, [of_many])
    assert item.text == "joan ←star— f0 —genre→ drama | f1 —genre→ drama | f2 —genre→ drama"
    many = graph_of("".join(f":f{i} :star :joan ; :genre :drama ; :by :d{i} . " for i in range(40)))
    (item,) = items_of(many, [of_many])
    assert item.text == "joan ←star— f0 —genre→ drama (40 times)"


ANN, BEN, CAS, KNOWS = (IRI(f"http://e.org/{name}") for name in "abcp")
LABELS: dict[Term, str] = {ANN: "Ann", BEN: "Ben", CAS: "Cas", KNOWS: "knows"}


def test_a_path_and_a_line_show_the_direction_of_each_triple() -> None:
    assert path_text(Path(BEN, (Hop(Triple(ANN, KNOWS, BEN), "inverse"),)), LABELS) == "Ben ←knows— Ann"
    ways = tuple(Path(ANN, (Hop(Triple(ANN, KNOWS, end)),)) for end in (BEN, CAS))
    line = Line(ways, 3)
    assert line_text(line, LABELS, times={BEN: 4}) == "Ann —knows→ Ben (4 times); Cas; … 1 more"
    # What is behind Cas is not told as if it were behind Ben.
    mids, ends = (BEN, CAS, CAS), [IRI(f"http://e.org/{name}") for name in ("x", "y", "z")]
    nodes = [IRI(f"http://e.org/n{i}") for i in range(3)]
    hops = [
        (Hop(Triple(ANN, KNOWS, mid)), Hop(Triple(node, KNOWS, mid), "inverse"), Hop(Triple(node, KNOWS, end)))
        for mid, node, end in zip(mids, nodes, ends, strict=True)
    ]
    ways = tuple(Path(ANN, own) for own in hops)
    labels = LABELS | {term: term.value[13:] for term in (*nodes, *ends)}
    assert line_text(Line(ways, 3), labels) == (
        "Ann —knows→ Ben ←knows— n0 —knows→ x | Cas ←knows— n1 —knows→ y | n2 —knows→ z"
    )
    tree = DecisionTree(lambda: [Node("Ann", children={(Step(KNOWS), BEN): Node("Ben", "knows", markers=["N1"])})])
    assert tree.mermaid().splitlines()[1:] == ['  n1["Ann"]', '  n2["Ben [N1]"]', '  n1 -- "knows" --> n2']


def test_a_ranker_reads_a_property_path_as_a_noun_phrase() -> None:
    path_of = PropertyPath((Step(KNOWS), Step(KNOWS, "inverse")))
    assert nested_text(path_of, ["person", "university", "scientist"], {KNOWS: "worked at"}) == (
        "scientist whose worked at is worked at of person"
    )


def test_a_statement_is_named_by_what_its_way_does_not_say() -> None:
    wikidata = "http://www.wikidata.org/"
    it, job = IRI(wikidata + "entity/statement/q1-a"), IRI(wikidata + "entity/Q2")
    claim, value, since = (IRI(wikidata + f"prop/{name}") for name in ("P39", "statement/P39", "qualifier/P580"))
    named = {ANN: "Ann", job: "mayor", claim: "held", since: "since", value: "held", Literal("1999"): "1999"}
    said = [Triple(ANN, claim, it), Triple(it, value, job)]
    began = Hop(Triple(it, since, Literal("1999")))
    ways = [Path(ANN, (Hop(said[0]), began)), Path(job, (Hop(said[1], "inverse"), began))]
    assert [path_text(way, with_statements(named, [way], said)) for way in ways] == [
        "Ann —held→ [mayor] —since→ 1999", "mayor ←held— [Ann] —since→ 1999",
    ]  # fmt: skip


def test_names_are_in_natural_order_and_those_of_the_question_are_shown() -> None:
    names = ["10", "9.5", "Part 12", "part 2", "-3", "1,200", "0,19 EUR", "2015-03-01"]
    ordered = ["-3", "0,19 EUR", "9.5", "10", "1,200", "2015-03-01", "part 2", "Part 12"]
    assert sorted(names, key=natural_key) == ordered
    assert first_to_show(["Ann", "Ben", "Cas", "Dan Ott"], "did he meet Dan Ott?", 2) == [0, 3]


def test_namesakes_share_a_label_as_it_is_compared() -> None:
    assert namesake_groups([(ANN, "Curie"), (BEN, "curie"), (CAS, "Joliot")]) == [[ANN, BEN]]
