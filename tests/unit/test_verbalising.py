"""Paths, lines and names in words, and the order in which names are shown."""

from kgsparql.evidence.path_expansion import first_to_show, natural_key
from kgsparql.evidence.term_labels import namesake_groups
from kgsparql.evidence.verbalising import (
    DecisionTree,
    Line,
    Node,
    arrow_text,
    line_text,
    nested_text,
    path_text,
    reversed_text,
    with_statements,
)
from kgsparql.rdf.paths import Hop, Path, PropertyPath, Step
from kgsparql.rdf.terms import IRI, Literal, Term, Triple

A, B, C, P = (IRI(f"http://e.org/{name}") for name in "abcp")
LABELS: dict[Term, str] = {A: "Ann", B: "Ben", C: "Cas", P: "knows"}


def test_a_path_and_a_line_show_the_direction_of_each_triple() -> None:
    assert path_text(Path(B, (Hop(Triple(A, P, B), "inverse"),)), LABELS) == "Ben ←knows— Ann"
    ways = tuple(Path(A, (Hop(Triple(A, P, end)),)) for end in (B, C))
    line = Line(ways[0].property_path, ways, 3)
    assert line_text(line, LABELS, times={B: 4}) == "Ann —knows→ Ben (4 times); Cas; … 1 more"
    # What is behind Cas is not told as if it were behind Ben.
    mids, ends = (B, C, C), [IRI(f"http://e.org/{name}") for name in ("x", "y", "z")]
    nodes = [IRI(f"http://e.org/n{i}") for i in range(3)]
    hops = [
        (Hop(Triple(A, P, mid)), Hop(Triple(node, P, mid), "inverse"), Hop(Triple(node, P, end)))
        for mid, node, end in zip(mids, nodes, ends, strict=True)
    ]
    ways = tuple(Path(A, own) for own in hops)
    labels = LABELS | {term: term.value[13:] for term in (*nodes, *ends)}
    assert line_text(Line(ways[0].property_path, ways, 3), labels) == (
        "Ann —knows→ Ben ←knows— n0 —knows→ x | Cas ←knows— n1 —knows→ y | n2 —knows→ z"
    )
    tree = DecisionTree((Node("Ann", children={(Step(P), B): Node("Ben", "knows", markers=["N1"])}),))
    assert tree.text() == "Ann\n└─ —knows→ Ben  [N1]"
    assert tree.mermaid().splitlines()[1:] == ['  n1["Ann"]', '  n2["Ben [N1]"]', '  n1 -- "knows" --> n2']


def test_a_ranker_reads_a_property_path_in_three_wordings() -> None:
    path, kinds = PropertyPath((Step(P), Step(P, "inverse"))), ["person", "", "scientist"]
    named = {P: "worked at"}
    assert nested_text(path, ["person", "university", "scientist"], named) == (
        "scientist whose worked at is worked at of person"
    )
    assert arrow_text(path, kinds, named) == "person -> worked at -> thing -> worked at of -> scientist"
    assert reversed_text(path, kinds, named) == "scientist worked at of worked at"


def test_a_statement_is_named_by_what_its_way_does_not_say() -> None:
    wikidata = "http://www.wikidata.org/"
    it, job = IRI(wikidata + "entity/statement/q1-a"), IRI(wikidata + "entity/Q2")
    claim, value, since = (IRI(wikidata + f"prop/{name}") for name in ("P39", "statement/P39", "qualifier/P580"))
    named = {A: "Ann", job: "mayor", claim: "held", since: "since", value: "held", Literal("1999"): "1999"}
    said = [Triple(A, claim, it), Triple(it, value, job)]
    began = Hop(Triple(it, since, Literal("1999")))
    ways = [Path(A, (Hop(said[0]), began)), Path(job, (Hop(said[1], "inverse"), began))]
    assert [path_text(way, with_statements(named, [way], said)) for way in ways] == [
        "Ann —held→ [mayor] —since→ 1999",
        "mayor ←held— [Ann] —since→ 1999",
    ]


def test_names_are_in_natural_order_and_those_of_the_question_and_the_extremes_are_shown() -> None:
    names = ["10", "9.5", "Part 12", "part 2", "-3", "1,200", "0,19 EUR", "2015-03-01"]
    ordered = ["-3", "0,19 EUR", "9.5", "10", "1,200", "2015-03-01", "part 2", "Part 12"]
    assert sorted(names, key=natural_key) == ordered
    assert first_to_show([str(number) for number in range(100)], "the highest?", 6) == [0, 1, 2, 97, 98, 99]
    assert first_to_show(["Ann", "Ben", "Cas", "Dan Ott"], "did he meet Dan Ott?", 2) == [0, 3]


def test_namesakes_share_a_label_as_it_is_compared() -> None:
    assert namesake_groups([(A, "Curie"), (B, "curie"), (C, "Joliot")]) == [[A, B]]
