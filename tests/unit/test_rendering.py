"""An answer as a person reads it, in text and in Markdown: what it rests on, what was left out, and what it cost."""

import copy
import csv
import io
import json
from dataclasses import replace
from itertools import product

from kgsparql import IRI, Hop, LinkedEntity, Literal, Mention, Path, Query, Triple, render
from kgsparql.answering.answer import Answer, AnswerTerm, Claim, Fallback, Gap, Retrieval
from kgsparql.answering.composing import compose_from_templates
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem, SourceQuery
from kgsparql.evidence.verbalising import decision_tree
from kgsparql.graphs.notes import Cut, Note
from kgsparql.rendering.rows import separated
from tests.world import XSD

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
    assert section(made, "Also found") == ["P2  Ann —knows→ Friend 2"]
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
        (nothing, "no_entity · 2 queries · 0 model calls"),
        (answer(usage={"model_calls": 2, "cost": 1e-7}), "0 queries · 2 model calls · 0 tokens · cost 0.0000001"),
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


def test_what_the_best_reading_leads_to_comes_first_and_other_readings_below_in_short() -> None:
    made = ranked()
    assert [one.label for one in made.best] == ["Friend 0", "Friend 1"]
    assert lines(made)[:2] == [
        "Friend 0; Friend 1  [P1]", "(the best reading by rank)",
    ]  # fmt: skip
    also = section(made, "Also found")
    assert [line.split()[0] for line in also] == ["P2", "P3", "P4", "P5", "…"]
    assert also[-1] == "… 3 more (-v shows all)"
    assert all(len(line) < 110 for line in also)
    whole = render(made, "text", verbose=1)
    assert "Friend 8" in whole
    assert "more (-v" not in whole
    assert len(lines(made)) < 16
    gap = Gap("operation", "how many", "this asks how many there are, which is not computed: these are the facts")
    made = replace(ranked(gaps=(gap,)), text=f"No sure answer: {gap.text}\nRanked candidates", status="partial")
    assert lines(made)[:2] == [f"No sure answer: {gap.text}", "Nearest: Friend 0; Friend 1  [P1]"]


def test_who_is_met_from_several_entities_comes_before_who_is_met_from_one() -> None:
    from_ann, from_ben = (
        replace(item(0), ways=(Path(start, (Hop(Triple(start, KNOWS, friend(0))),)),)) for start in (ANN, friend(9))
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
    said = ["mentions: the model refused; the linker found the names", "predicates: no number in the reply (2 times)"]
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
    drawn = decision_tree([replace(item(*range(50), ends=3_000), ways=ways)], {})
    assert drawn.text().splitlines()[-1] == "└─ … 2,994 more"
    inverse = Path(ANN, (Hop(Triple(friend(1), KNOWS, ANN), "inverse"),))
    chart = decision_tree([replace(item(1), ways=(inverse,))], {KNOWS: "knows"}).mermaid()
    assert '  n2 -- "knows" --> n1' in chart.splitlines()


NOTED = Query("noted", '#+ summary: All.\n# Why it is so.\n\nSELECT ?answer {\n  # of each\n  ?answer ?p "#+ 1" }\n')


def test_queries_are_shown_without_our_comments() -> None:
    of_each = replace(item(1), query=NOTED, queries=(SourceQuery("one.ttl", NOTED), SourceQuery("two.ttl", NOTED)))
    for own, form in product((replace(item(1), query=NOTED), of_each), ("text", "md", "json", "trig")):
        shown = render(answer(evidence=Evidence([own])), form, verbose=1)
        assert "SELECT ?answer {" in shown
        assert "#+ 1" in shown
        assert not any(comment in shown for comment in ("summary: All", "Why it is so", "of each"))


def test_rows_are_read_back_whatever_their_cells_hold() -> None:
    rows = [["a", "b"], ["one\rtwo", 'three"'], ["four\r\nfive", "six\n"], ["", "\t,"]]
    assert list(csv.reader(io.StringIO(separated(rows), newline=""))) == rows
