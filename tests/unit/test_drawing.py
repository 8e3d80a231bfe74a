"""A drawing of what an answer rests on: what is in it, where it stands, and that all of a graph's text is text."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

import kgsparql
from kgsparql import Answer, AnswerTerm, Hop, LinkedEntity, Mention, Path, Query, render
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.rdf.terms import IRI, Literal, Term, Triple, parse_term
from kgsparql.rendering.drawing import Drawing, drawing_of, drawing_to_svg, edge_shapes, node_boxes
from kgsparql.rendering.html import answer_to_html, mime_bundle
from tests.world import ROOT

FOUND = Query("found", "SELECT ?answer { ?answer ?p ?o }")
SVG = "{http://www.w3.org/2000/svg}"
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
    return EvidenceItem("path", "text", cited, FOUND, ways=paths)


def answered(*items: EvidenceItem, answers: Sequence[Term] = (), labels: Mapping[Term, str] | None = None) -> Answer:
    evidence = Evidence(items)
    markers = tuple(item.marker for item in evidence)
    named = tuple(AnswerTerm(term, str(term), markers=markers) for term in answers or [node("nothing")])
    return Answer("Who?", "answered", "So.", named, evidence=evidence, labels=labels or {})


def facts(drawing: Drawing) -> set[tuple[str, str, str, bool]]:
    labels = {one.id: one.label for one in drawing.nodes}
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
    assert "Nothing to draw" in render(nothing, "svg")
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
    assert joined == {one.id for one in drawn.nodes}
    assert "+68 more" in drawing_to_svg(drawn, title="t")
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
    assert list(made) == ["nodes", "edges", "left_out"]
    assert made["nodes"][0] | {"x": 0, "y": 0} == {
        "id": 0, "term": "<http://e.org/bob>", "label": "Bob", "description": "", "layer": 1, "x": 0, "y": 0,
        "role": "answer", "markers": ("P1",),
    }  # fmt: skip
    assert made["edges"] == [
        {"id": 0, "source": 0, "target": 1, "label": "knows", "predicate": "http://e.org/p/knows", "markers": ("P1",),
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
        nodes = node_boxes(drawn)
        labels = [shape.label for shape in edge_shapes(drawn, nodes)]
        boxes = [*nodes.values(), *(label for label in labels if label)]
        assert None not in labels
        assert [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)] == []
    tangled = [("a", "p", 1, False), ("a", "p", 2, False), ("a", "p", 3, False)]
    tangled += [(3, "q", "z", False), (1, "q", "x", False), (2, "q", "y", False)]
    rows = {one.label: one.y for one in drawing_of(graph(tangled)).nodes}
    assert [rows["1"], rows["2"], rows["3"]] == [rows["x"], rows["y"], rows["z"]]


STEPS = st.tuples(st.integers(0, 9), st.integers(0, 3).map(str), st.integers(0, 9), st.booleans())
TEXTS = st.text(max_size=60) | st.sampled_from([HOSTILE, "", "\u202e" * 3, "ب" * 80, "東京" * 40, "end", "]]>"])


@given(st.lists(STEPS, min_size=1, max_size=40), st.lists(TEXTS, min_size=14, max_size=14))
@example([(0, "0", 0, False), (0, "1", 1, True)], [HOSTILE] * 14)
def test_any_drawing_is_well_formed_and_all_text_is_text(triples: Triples, texts: list[str]) -> None:
    terms: list[Term] = [*map(node, range(10)), *(predicate(i) for i in range(4))]
    made = replace(graph(triples), labels=dict(zip(terms, texts, strict=True)), question=texts[0], text=texts[1])
    svg, html = render(made, "svg"), answer_to_html(made)
    assert svg == render(made, "svg")
    for element in [*ET.fromstring(svg).iter(), *ET.fromstring(html).iter()]:  # noqa: S314
        name = element.tag.removeprefix(SVG)
        assert name in {
            "svg", "title", "desc", "style", "rect", "g", "path", "polygon", "text",
            "div", "p", "small", "strong", "table", "tr", "th", "td",
        }  # fmt: skip
        for key, value in element.attrib.items():
            assert not key.startswith("on")
            assert re.fullmatch(r"[\w #.,()-]*", value), value
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08]", svg + html)


def test_the_picture_says_in_words_what_it_shows_and_needs_nothing_from_outside() -> None:
    made = answered(along(path("ann", ("^knows", "bob"))), labels={node("bob"): "Bob " * 30})
    svg = render(made, "svg")
    root = ET.fromstring(svg)  # noqa: S314
    title, desc = root[0], root[1]
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == f"{title.attrib['id']} {desc.attrib['id']}"
    assert (title.text, desc.text) == ("Who?", f"{('Bob ' * 30).strip()} — knows → ann")
    assert "url(" not in svg
    assert "href" not in svg
    assert "prefers-color-scheme: dark" in svg
    shown = [one.text for one in root.iter(f"{SVG}text")]
    assert any(text and text.startswith("Bob Bob") and text.endswith("…") and len(text) <= 40 for text in shown)


def test_real_answers_are_drawn_with_terms_that_can_be_read_again() -> None:
    knowledge = kgsparql.open(ROOT / "fixtures" / "nobel.ttl", embedder="none")
    made = knowledge.ask("Where was Marie Curie born?")
    drawn = drawing_of(made)
    assert {parse_term(one["term"]) for one in drawn.to_json()["nodes"]} == {one.term for one in drawn.nodes}
    assert ("Warsaw", "answer") in [(one.label, one.role) for one in drawn.nodes]
    shown = mime_bundle(made)
    assert set(shown) == {"text/plain", "text/html", "image/svg+xml"}
    assert shown["image/svg+xml"] in shown["text/html"]
    assert "<td>Warsaw</td>" in shown["text/html"]
    assert "<strong>Warsaw</strong>" in shown["text/html"]
    assert "1. Warsaw" not in shown["text/html"]
    assert drawn == drawing_of(knowledge.ask("Where was Marie Curie born?"))
