"""An answer as a person reads it, in text, Markdown and as a drawing: what it rests on, was left out, and cost."""

import copy
import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

import kgsparql
from kgsparql import IRI, Hop, LinkedEntity, Literal, Mention, Path, Query, Triple, render
from kgsparql.answering.answer import Answer, AnswerTerm, Claim, Fallback, ReadingChoice, Retrieval
from kgsparql.answering.retriever import compose_from_templates
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import decision_tree
from kgsparql.graphs.notes import Cut, Note
from kgsparql.rdf.terms import Term, parse_term
from kgsparql.reading.gaps import Gap
from kgsparql.rendering import mime_bundle
from kgsparql.rendering.drawing import Drawing, drawing_of
from kgsparql.rendering.rows import separated
from tests.world import ROOT, XSD

KNOWS = IRI("http://e.org/knows")
ANN = IRI("http://e.org/ann")
FOUND = Query("found", "SELECT ?answer { ?answer ?p ?o }")


def friend(i: int) -> IRI:
    return IRI(f"http://e.org/{i}")


def item(*numbers: int, text: str = "", ends: int = 0, verified: bool | None = True) -> EvidenceItem:
    triples = tuple(CitedTriple(Triple(ANN, KNOWS, friend(i)), verified=verified) for i in numbers)
    said = text or f"Ann —knows→ {'; '.join(f'Friend {i}' for i in numbers)}"
    return EvidenceItem("path", said, triples, FOUND, ends=tuple(map(friend, range(ends))))


def terms(count: int, *markers: str, start: int = 0) -> tuple[AnswerTerm, ...]:
    return tuple(AnswerTerm(friend(i), f"Friend {i}", 1.0, markers) for i in range(start, start + count))


def answer(text: str = "It is so [P1].", **values: object) -> Answer:
    made: dict[str, object] = {
        "question": "Whom does Ann know?", "status": "answered", "text": text,
        "evidence": Evidence([item(0, 1), item(2, text="Ann —knows→ Friend 2")]),
        "claims": (Claim("So.", ("P1",)),), "usage": {"queries": 1, "model_calls": 1, "tokens": 1000, "seconds": 0.5},
    }  # fmt: skip
    return Answer(**{**made, **values})  # type: ignore[arg-type]


def lines(made: Answer, form: str = "text") -> list[str]:
    return render(made, form).splitlines()


def section(made: Answer, title: str) -> list[str]:
    """The lines below a heading of the text, to the next empty one."""
    shown = lines(made)
    at = shown.index(title) + 1
    return [line.strip() for line in shown[at : shown.index("", at)]]


def test_what_the_answer_rests_on_comes_first_and_what_else_was_found_below() -> None:
    made = answer()
    assert section(made, "Evidence") == ["P1  Ann —knows→ Friend 0; Friend 1"]
    assert "Also found" not in lines(made)  # nobody asked for it
    assert "  P2  Ann —knows→ Friend 2" in render(made, "text", verbose=1).partition("\nAlso found\n")[2].splitlines()
    places = [render(made, "md").index(text) for text in ("**P1**", "### Also found", "**P2**")]
    assert places == sorted(places)
    nothing = answer("The facts do not say.", status="not_in_graph", claims=())
    assert len(section(nothing, "Found in the graph")) == 2
    assert "Evidence" not in lines(nothing)
    page = render(answer(), "md")  # has the queries of what is cited, folded
    assert page.count("<details><summary>SPARQL</summary>") == page.count("</details>") == page.count("```sparql") == 1
    assert page.index("**P1**") < page.index("```sparql") < page.index("**P2**")


def test_the_last_line_counts_what_was_cited_and_what_was_found() -> None:
    whole = "answered · 1 citation checked · 3 of 3 triples found again · 1 query · 1 model call · 1,000 tokens · 0.5"
    half = Evidence([item(0, verified=None), item(1)])
    nothing = answer(evidence=Evidence(), claims=(), status="no_entity", usage={"queries": 2})
    for made, says in (
        (answer(), whole),
        (answer(evidence=half), "answered · 0 of 1 citation checked · 1 of 2 triples found again · 1 query"),
        (nothing, "no_entity · 2 queries"),
    ):
        assert says in lines(made)[-1]


def test_answers_that_the_text_does_not_name_are_listed() -> None:
    assert "Answers" not in lines(answer("It is friend 1 [P1].", answers=terms(1, "P1", start=1)))
    made = answer("See the list [P1].", answers=terms(12, "P1"))
    listed = section(made, "Answers")
    assert (listed[0], listed[9], listed[10:]) == ("1  Friend 0  [P1]", "10  Friend 9  [P1]", ["… 2 more"])
    whole = replace(made, evidence=Evidence([item(0, ends=12)]))
    assert section(whole, "Answers")[-1] == "… 2 more: the query of P1 finds them all"
    page = render(whole, "md")
    cut = replace(whole, evidence=Evidence([replace(item(0, ends=12), cuts=(Cut("ends", 12),))]))
    assert section(cut, "Answers")[-1] == "… at least 2 more: the query of P1 finds them all"
    assert "10. Friend 9 \\[P1\\]\n\n… 2 more: the query of P1 finds them all" in page
    assert "11. " not in page


def test_ten_candidates_are_listed_and_every_end_of_the_best_way_is_an_answer() -> None:
    evidence = Evidence([item(0, ends=5_000), item(1, ends=2)])
    candidates = (*terms(5_000, "P1"), *terms(3, "P2", start=9_000))
    draft = compose_from_templates(Retrieval(evidence, candidates))
    assert draft.answers == candidates[:5_000]
    made = answer(draft.text, answers=draft.answers, claims=draft.claims, evidence=evidence, is_ranked=True)
    shown = lines(made)
    assert shown[0].startswith("Friend 0; Friend 1; ")
    assert shown[0].endswith("; Friend 9; … 4,990 more: the query of P1 finds them all  [P1]")
    assert shown[1:3] == ["(the best reading by rank)", ""]
    assert "Answers" not in shown
    said = json.loads(render(made, "json"))
    assert (len(said["answers"]), said["more_answers"], said["cited"]) == (1_000, 4_000, ["P1"])
    assert len(render(made, "json")) < 300_000


def test_what_a_model_writes_cannot_pass_for_evidence_or_for_the_last_line() -> None:
    text = "Elvis did [P1].\n\nEvidence\n  P1  Ann —knows→ Elvis\n\nanswered · 9 citations checked"
    shown = lines(answer(text, model="m"))
    assert shown[:6] == [
        "Elvis did [P1].", "│", "│ Evidence", "│ P1 Ann —knows→ Elvis", "│", "│ answered · 9 citations checked",
    ]  # fmt: skip
    assert shown.count("Evidence") == 1
    assert sum(line.startswith("answered") for line in shown) == 1


def test_a_long_answer_is_whole_a_list_stays_one_and_wide_evidence_is_broken_into_its_parts() -> None:
    long = "x" * 900
    text = f"Two of them:\n- {long} [P1]\n- *Ben* <b> [P1]\n1. one\nThe end."
    assert lines(answer(text))[:5] == text.splitlines()
    page = lines(answer(text), "md")
    assert page[2:10] == [
        "Two of them:", "", f"- {long} \\[P1\\]", "- \\*Ben\\* \\<b\\> \\[P1\\]", "1. one", "", "The end.", "",
    ]  # fmt: skip
    evidence = Evidence([item(0, text=f"Ann —knows→ {'Friend; ' * 500}the last")])
    assert "the last" in render(answer(evidence=evidence), "md")
    narrow, wide = "Ann —knows→ Ben | Cas —knows→ Dan", " | ".join(f"Friend {i} —knows→ Somebody" for i in range(5))
    assert section(answer(evidence=Evidence([item(0, text=narrow)])), "Evidence") == [f"P1  {narrow}"]
    below = section(answer(evidence=Evidence([item(0, text=wide)])), "Evidence")
    assert below == ["P1  Friend 0 —knows→ Somebody", *(f"| Friend {i} —knows→ Somebody" for i in range(1, 5))]


def ranked(**values: object) -> Answer:
    """Candidates of two readings from Ann, and more pieces of evidence than are shown beside the best."""
    others = [item(i, text=f"Ann —knows→ {'Somebody; ' * 20}Friend {i}") for i in range(2, 9)]
    candidates = (*terms(2, "P1", "P3"), *terms(1, "P2", start=2), *terms(1, "P1", start=3))
    made: dict[str, object] = {
        "evidence": Evidence([item(0, 1), *others]), "answers": candidates, "claims": (), "is_ranked": True,
    }  # fmt: skip
    return answer("Ranked candidates\n 1. Friend 0", **{**made, **values})


def test_what_the_best_reading_leads_to_comes_first_and_other_readings_only_if_they_are_asked_for() -> None:
    made = ranked()
    assert [one.label for one in made.best] == ["Friend 0", "Friend 1"]
    assert lines(made)[:2] == ["Friend 0; Friend 1  [P1]", "(the best reading by rank)"]
    assert "Friend 8" not in "".join(lines(made))
    assert "Friend 8" in render(made, "text", verbose=1)
    gap = Gap("operation", "how many", "what 'how many' asks for is not computed")
    made = replace(ranked(gaps=(gap,)), text=f"No sure answer: {gap.text}\nRanked candidates", status="partial")
    assert lines(made)[:2] == [f"No sure answer: {gap.text}", "      (-v shows what was found, which is not likely)"]


def test_a_doubt_is_shown_as_the_readings_to_choose_from() -> None:
    friends = ReadingChoice("friends of Ann", 12, ("Friend 0", "Friend 1", "Friend 2"))
    choices = (friends, ReadingChoice("age of Ann", 1, ("41",)))
    made = answer("No sure answer: 'old' is left out\nRanked candidates", status="partial", choices=choices)
    assert lines(made)[:6] == [
        "No sure answer: 'old' is left out",
        "   1  friends of Ann", "      = Friend 0; Friend 1; Friend 2; and 9 more",
        "   2  age of Ann", "      = 41",
        "      (--reading 1 asks for the first of these)",
    ]  # fmt: skip
    assert "Evidence" not in lines(made)  # that of none of them would be the answer's
    assert "Evidence" in render(made, "text", verbose=1).splitlines()
    page = lines(made, "md")
    assert "1. friends of Ann = Friend 0; Friend 1; Friend 2; and 9 more" in page


def test_who_is_met_from_several_entities_comes_before_who_is_met_from_one() -> None:
    from_ann, from_ben = (
        replace(item(0), paths=(Path(start, (Hop(Triple(start, KNOWS, friend(0))),)),)) for start in (ANN, friend(9))
    )
    candidates = (*terms(1, "P1", "P2"), *terms(2, "P1", start=1))
    made = ranked(evidence=Evidence([from_ann, from_ben]), answers=candidates)
    assert made.best == candidates[:1]
    assert lines(made)[0] == "Friend 0  [P1, P2]"
    # Unless the two are what one name may mean: nobody asked what they have in common.
    named = Mention("Ann", 0, 3)
    ben = LinkedEntity(friend(9), "Ann (band)", 0.9, "entity", "exact", named)
    meanings = LinkedEntity(ANN, "Ann", 1.0, "entity", "exact", named, candidates=(ben,))
    assert replace(made, linked=(meanings,)).best == candidates


def test_a_value_is_in_a_persons_form_and_listed_where_the_text_has_it_in_no_form() -> None:
    for value, datatype, shown in (
        ("-12345.50", "decimal", "-12,345.5"), ("1903", "gYear", "1903"), ("1E400", "double", "1E400"),
        ("0.000", "decimal", "0.000"), ("12345", "string", "12345"),
    ):  # fmt: skip
        made = ranked(answers=(AnswerTerm(Literal(value, datatype=IRI(XSD + datatype)), value, 1.0, ("P1",)),))
        assert lines(made)[0] == f"{shown}  [P1]"
        assert render(made, "plain") == value
    value = AnswerTerm(Literal("1200000", datatype=IRI(XSD + "integer")), "1200000", 1.0, ("P1",))
    for text in ("It has 1,200,000 [P1].", "It has 1200000 [P1]."):
        assert "Answers" not in lines(answer(text, answers=(value,)))
    assert section(answer("A lot [P1].", answers=(value,)), "Answers") == ["1  1,200,000  [P1]"]


def test_a_note_that_changes_nothing_for_a_person_is_in_json_and_with_v_and_a_fallback_is_a_note_once() -> None:
    noted = answer(notes=(Note("frontier", "only 50 ends were walked on from"), Note("namesakes", "two Anns")))
    assert section(noted, "Notes") == ["two Anns"]
    assert "walked on from" in render(noted, "text", verbose=1)
    assert json.loads(render(noted, "json"))["notes"] == [
        {"code": "frontier", "text": "only 50 ends were walked on from"}, {"code": "namesakes", "text": "two Anns"},
    ]  # fmt: skip
    assert copy.deepcopy(noted.notes[0]).code == "frontier"
    fallbacks = [
        Fallback("mentions", "the model refused [E_LLM_REFUSED]"), Fallback("ranking", "no embedding model"),
        Fallback("predicates", "no number in the reply"), Fallback("predicates", "no number in the reply"),
        Fallback("answer", "its reply is empty [E_LLM_EMPTY]"),
    ]  # fmt: skip
    note = Note("model_failed", "no answer was written: its reply is empty", "its reply is empty [E_LLM_EMPTY]")
    made = answer(fallbacks=tuple(fallbacks), notes=(note,))
    said = ["mentions: the model refused; the linker found the names", "predicates: no number in the reply"]
    assert section(made, "Notes") == ["no answer was written: its reply is empty", *said]
    assert f"- {said[0]}" in lines(made, "md")
    many = answer(fallbacks=tuple(Fallback("steps", f"trouble {i}") for i in range(20)))
    assert section(many, "Notes")[-1] == "14 more fallbacks (-f json lists them all)"


def test_a_cut_is_told_by_names_and_arrows() -> None:
    ann, bob, ends = "<http://e.org/Ann_Lee>", "<http://e.org/Q7>", Cut("ends", 9, where=f"{ANN} ^{KNOWS}/{KNOWS}")
    assert str(ends) == "ends of ann ←knows— —knows→: at most 9 taken, there are more"
    assert ends.where == f"{ANN} ^{KNOWS}/{KNOWS}"
    assert ends.said({ANN: "Ann", KNOWS: "is a friend of"}).startswith("ends of Ann ←is a friend of— —is a friend of→:")
    assert str(Cut("paths", 9, 12, f"{ann} – {bob}")) == "paths of Ann Lee – Q7: at most 9 of 12 taken"
    named = Cut("paths", 9, 12, f"{ann} – {bob}").said({IRI("http://e.org/Q7"): "Bob"})
    assert named.startswith("paths of Ann Lee – Bob:")
    typed = '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert str(Cut("hops", 9, where=typed)) == 'hops of "7"^^integer: at most 9 taken, there are more'
    assert str(Cut("ends", 9, where="a < b: c > d")) == "ends of a < b: c > d: at most 9 taken, there are more"


def test_a_tree_counts_the_ends_that_are_not_drawn() -> None:
    ways = tuple(Path(ANN, (Hop(Triple(ANN, KNOWS, friend(i))),)) for i in range(50))
    drawn = decision_tree([replace(item(*range(50), ends=3_000), paths=ways)], {})
    assert '["… 2,994 more"]' in drawn.mermaid()
    inverse = Path(ANN, (Hop(Triple(friend(1), KNOWS, ANN), "inverse"),))
    chart = decision_tree([replace(item(1), paths=(inverse,))], {KNOWS: "knows"}).mermaid()
    assert '  n2 -- "knows" --> n1' in chart.splitlines()


NOTED = Query("noted", '#+ summary: All.\n# Why it is so.\n\nSELECT ?answer {\n  # of each\n  ?answer ?p "#+ 1" }\n')


def test_queries_are_shown_without_our_comments() -> None:
    for form in ("text", "md", "json", "trig"):
        shown = render(answer(evidence=Evidence([replace(item(1), query=NOTED)])), form, verbose=1)
        assert "SELECT ?answer {" in shown
        assert "#+ 1" in shown
        assert not any(comment in shown for comment in ("summary: All", "Why it is so", "of each"))


def test_rows_are_read_back_whatever_their_cells_hold() -> None:
    rows = [["a", "b"], ["one\rtwo", 'three"'], ["four\r\nfive", "six\n"], ["", "\t,"]]
    assert list(csv.reader(io.StringIO(separated(rows), newline=""))) == rows


HOSTILE = '<script>alert("x")</script>&amp;\u202egnp\u0000\u0007\ufffe]]> -->\\" ` #'


def node(name: object) -> IRI:
    return IRI(f"http://e.org/{name}")


def predicate(name: object) -> IRI:
    return IRI(f"http://e.org/p/{name}")


def path(start: object, *steps: tuple[str, object]) -> Path:
    """A path whose steps are a predicate, with ``^`` before it to walk against it, and a term."""
    at, hops = node(start), []
    for name, to in steps:
        there = node(to)
        step = predicate(name.removeprefix("^"))
        is_inverse = name.startswith("^")
        hops.append(Hop(Triple(there, step, at), "inverse") if is_inverse else Hop(Triple(at, step, there)))
        at = there
    return Path(node(start), tuple(hops))


def along(*paths: Path) -> EvidenceItem:
    hops = dict.fromkeys(hop for own in paths for hop in own.hops)
    cited = tuple(CitedTriple(hop.triple, hop.direction, verified=True) for hop in hops)
    return EvidenceItem("path", "text", cited, FOUND, paths=paths)


def answered(*items: EvidenceItem, answers: Sequence[Term] = (), labels: Mapping[Term, str] | None = None) -> Answer:
    evidence = Evidence(items)
    markers = tuple(item.marker for item in evidence)
    named = tuple(AnswerTerm(term, str(term), markers=markers) for term in answers or [node("nothing")])
    return Answer("Who?", "answered", "So.", named, evidence=evidence, labels=labels or {})


def facts(drawing: Drawing) -> set[tuple[str, str, str, bool]]:
    labels = [one.label for one in drawing.nodes]
    return {(labels[e.source], e.label, labels[e.target], e.is_inverse) for e in drawing.edges}


def test_arrows_point_as_the_triples_do_and_steps_against_them_are_marked() -> None:
    drawn = drawing_of(answered(along(path("ann", ("^knows", "bob"), ("at", "mit"))), answers=[node("mit")]))
    assert facts(drawn) == {("bob", "knows", "ann", True), ("bob", "at", "mit", False)}
    assert [(one.label, one.layer, one.role) for one in drawn.nodes] == [
        ("bob", 1, "other"), ("ann", 0, "question"), ("mit", 2, "answer"),
    ]  # fmt: skip


def test_only_what_the_answer_cites_is_drawn() -> None:
    evidence = Evidence([along(path("a", ("p", "b"))), along(path("a", ("p", "c")))])
    made = Answer("Who?", "answered", "So.", (AnswerTerm(node("b"), "b", markers=("P1",)),), evidence=evidence)
    assert facts(drawing_of(made)) == {("a", "p", "b", False)}
    assert not drawing_of(replace(made, answers=()))
    nothing = Answer("Who?", "no_entity", "Nothing.")
    assert render(nothing, "mermaid").splitlines() == ["flowchart LR", '  nothing["nothing to draw"]']


def test_paths_share_nodes_and_edges_with_the_markers_of_both_and_begin_at_linked_entities() -> None:
    drawn = drawing_of(answered(along(path("a", ("p", "b"), ("q", "c"))), along(path("a", ("p", "b"), ("r", "d")))))
    assert [(one.label, one.markers) for one in drawn.nodes][:2] == [("a", ("P1", "P2")), ("b", ("P1", "P2"))]
    assert {e.label: e.markers for e in drawn.edges} == {"p": ("P1", "P2"), "q": ("P1",), "r": ("P2",)}
    made = answered(along(path("a", ("p", "b"), ("q", "c"))))
    link = LinkedEntity(node("c"), "c", 1.0, "entity", "exact", Mention("c", 0, 1), description="the third")
    drawn = drawing_of(replace(made, linked=(link,)))
    assert {one.label: one.layer for one in drawn.nodes} == {"a": 0, "b": 1, "c": 0}
    assert next(one for one in drawn.nodes if one.label == "c").description == "the third"


def test_more_than_the_most_nodes_are_counted_whole_paths_first() -> None:
    items = [along(path("hub", ("p", f"m{i}"), ("q", f"end{i}"))) for i in range(40)]
    drawn = drawing_of(answered(*items))
    assert (len(drawn.nodes), drawn.left_out) == (13, 68)
    joined = {end for edge in drawn.edges for end in (edge.source, edge.target)}
    assert joined == set(range(len(drawn.nodes)))
    item = replace(along(path("a", ("p", "b"))), ends=tuple(node(f"end{i}") for i in range(500)))
    assert drawing_of(answered(item)).left_out == 500


def test_literals_are_told_as_values_and_labels_never_empty() -> None:
    count = Literal("3005172", datatype=IRI("http://www.w3.org/2001/XMLSchema#integer"))
    cited = [CitedTriple(Triple(node("a"), predicate("p"), value)) for value in (count, Literal(""))]
    drawn = drawing_of(answered(EvidenceItem("neighbours", "", tuple(cited), FOUND), labels={node("a"): "\u202e"}))
    assert [(one.label, one.role) for one in drawn.nodes][1:] == [("3,005,172", "literal"), ('""', "literal")]
    named = {node("a"): "Paris", node("b"): "Paris"}
    drawn = drawing_of(answered(along(path("a", ("p", "b"))), labels=named))
    assert [one.label for one in drawn.nodes] == ["Paris (a)", "Paris (b)"]


def test_the_json_is_what_the_page_takes() -> None:
    asked = answered(along(path("ann", ("^knows", "bob"))), answers=[node("bob")], labels={node("bob"): "Bob"})
    made = drawing_of(asked).to_json()
    assert list(made) == ["view", "nodes", "edges", "left_out"]
    assert made["nodes"][0] | {"x": 0, "y": 0} == {
        "width": made["nodes"][0]["width"], "height": 30, "term": "<http://e.org/bob>", "label": "Bob",
        "description": "", "layer": 1, "x": 0, "y": 0, "role": "answer", "markers": ("P1",),
    }  # fmt: skip
    drawn = ("points", "label_at")
    assert [len(made["edges"][0].pop(name)) for name in drawn] == [4, 4]
    assert made["edges"] == [
        {"source": 0, "target": 1, "label": "knows", "predicate": "http://e.org/p/knows", "markers": ("P1",),
         "is_inverse": True},
    ]  # fmt: skip


Triples = Sequence[tuple[object, str, object, bool]]
STAR: Triples = [("hub", "worksAt", i, False) for i in range(40)]
LOOPS: Triples = [("a", "p", "a", False), ("a", "p", "b", False), ("b", "q", "a", True), ("a", "r", "b", False)]
RING: Triples = [(i, "next", (i + 1) % 7, False) for i in range(7)]
MANY_WAYS: Triples = [("a", f"p{i}", "b", bool(i % 2)) for i in range(4)]


def graph(triples: Triples) -> Answer:
    cited = tuple(
        CitedTriple(Triple(node(s), predicate(p), node(o)), "inverse" if walked_back else "forward")
        for s, p, o, walked_back in triples
    )
    first = node(triples[0][0])
    link = LinkedEntity(first, "first", 1.0, "entity", "given", Mention("", -1, -1))
    made = answered(EvidenceItem("neighbours", "", cited, FOUND), answers=[node(triples[-1][2])])
    return replace(made, linked=(link,))


def test_nodes_and_labels_stand_apart_and_edges_do_not_cross() -> None:
    for triples in (STAR, LOOPS, RING, MANY_WAYS):
        drawn = drawing_of(graph(triples))
        labels = [edge.label_at for edge in drawn.edges]
        boxes = [*drawn.nodes, *(label for label in labels if label)]
        assert None not in labels
        assert [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)] == []
    tangled = [("a", "p", 1, False), ("a", "p", 2, False), ("a", "p", 3, False)]
    tangled += [(3, "q", "z", False), (1, "q", "x", False), (2, "q", "y", False)]
    rows = {one.label: one.y for one in drawing_of(graph(tangled)).nodes}
    assert [rows["1"], rows["2"], rows["3"]] == [rows["x"], rows["y"], rows["z"]]


STEPS = st.tuples(st.integers(0, 9), st.integers(0, 3).map(str), st.integers(0, 9), st.booleans())
TEXTS = st.text(max_size=60) | st.sampled_from([HOSTILE, "", "\u202e" * 3, "ب" * 80, "東京" * 40, "end", "]]>", "```"])


@given(st.lists(STEPS, min_size=1, max_size=40), st.lists(TEXTS, min_size=14, max_size=14))
@example([(0, "0", 0, False), (0, "1", 1, True)], [HOSTILE] * 14)
def test_any_drawing_is_all_text_in_a_notebook_too(triples: Triples, texts: list[str]) -> None:
    terms: list[Term] = [*map(node, range(10)), *(predicate(i) for i in range(4))]
    made = replace(graph(triples), labels=dict(zip(terms, texts, strict=True)), question=texts[0], text=texts[1])
    made = replace(made, own_steps=tuple(texts[2:4]))
    assert json.dumps(drawing_of(made).to_json(), allow_nan=False)
    shown = mime_bundle(made)["text/markdown"]
    chart = shown.split("\n\n```mermaid\nflowchart LR\n")[-1]
    assert chart.endswith("\n```")
    assert chart.count("```") == 1
    assert not re.search(r"(?<!\\)<script", shown)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08]", shown)


def test_real_answers_are_drawn_and_shown_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    knowledge = kgsparql.open(ROOT / "fixtures" / "nobel.ttl", embedder="none")
    made = knowledge.ask("Where was Marie Curie born?")
    drawn = drawing_of(made)
    assert {parse_term(one["term"]) for one in drawn.to_json()["nodes"]} == {one.term for one in drawn.nodes}
    assert ("Warsaw", "answer") in [(one.label, one.role) for one in drawn.nodes]
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    _ = kgsparql.render  # whatever is used of the package
    shown, _ = shell.display_formatter.format(made)
    assert shown["text/plain"].startswith("Warsaw  [P1]\n")
    assert shown["text/markdown"].startswith("## Where was Marie Curie born?\n")
    assert '\n  n1 -- "place of birth" --> n2\n```' in shown["text/markdown"]
    assert drawn == drawing_of(knowledge.ask("Where was Marie Curie born?"))
