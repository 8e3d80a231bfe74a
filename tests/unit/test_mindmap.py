"""MindMap on small graphs, without and with a model; each known mistake of other implementations is a test."""

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

from kgsparql import Hop, OxigraphGraph, Path, Query, Retrieval, render
from kgsparql.evidence.verbalising import decision_tree
from kgsparql.linking.words import in_turn
from kgsparql.rdf.terms import IRI, BlankNode, Triple, local_name
from kgsparql.retrievers import load
from kgsparql.retrievers.mindmap import chained_paths
from tests import scripted
from tests.model_server import Text
from tests.scripted import by_call, facts_with, marked, purposes, reader, things_in
from tests.world import EX, FEYNMAN, Asked, Body, examples, graph_of, known, linked, session_of, texts


def retrieve(
    graph: OxigraphGraph | str, entities: Sequence[str], question: str = "what about it?", *, complete: bool = True,
    **options: object,
) -> Retrieval:  # fmt: skip
    session = session_of(graph, examples(*entities), question, complete=complete)
    return load("mindmap", options).retrieve(linked(session))


def chains(turtle: str, entities: Sequence[str]) -> list[str]:
    """The paths between the entities, as the names on them."""
    return [names(path) for path in paths(retrieve(turtle, entities, two_hop_when_single=False))]


def paths(found: Retrieval) -> list[Path]:
    return [item.paths[0] for item in found.evidence if item.kind == "path"]


def names(path: Path) -> str:
    return "".join(term.value.removeprefix(EX) for term in path.terms if isinstance(term, IRI | BlankNode))


CHAIN = ":a :p :x . :x :p :b . :b :q :y . :c :q :y ."


def test_paths_between_the_entities_are_one_chain() -> None:
    far = CHAIN + ":far :p :farther ."
    assert chains(far, ["a", "far"]) == [], "known mistake 2: no path is no crash, and starts a new chain"
    assert chains(far, ["far", "a", "b"]) == ["axb"]
    through = ':a :p :m . :m :p :b . :a :p :n . :n :p :b . :m rdfs:label "the middle one" .'
    assert chains(through, "abm") == ["amb"], "known mistake 3: a label with spaces does not matter"
    assert chains(":a :p :b . :b :p :c . :c :p :d .", "abcd") == ["abcd"], "known mistake 4: it is no star"
    assert chains(":x :p :a . :x :p :b .", "ab") == ["axb"], "known mistake 8: it needs no materialised inverses"
    assert chains(":a :p :a . :a :p :b . :b :p :a .", "ab") == ["ab"] * 2, "loops end"


def path(terms: str, predicate: str = "p") -> Path:
    hops = (Hop(Triple(near, *examples(predicate), far)) for near, far in pairwise(examples(*terms)))
    return Path(*examples(terms[0]), tuple(hops))


def test_segments_are_joined_lazily_the_best_first_and_never_pass_a_term_twice() -> None:
    for segments, joined in (
        ([(path("axb"), path("ayb")), (path("bxc"), path("bzc"))], ["axbzc", "aybxc", "aybzc"]),
        ([(path("axb"), path("ayb"))], ["axb", "ayb"]),
        ([(path("axb"), path("axyb")), (path("bxc"),)], ["axb", "bxc", "axyb"]),  # in turn: all pass a term twice
    ):
        assert [names(found) for found in chained_paths(segments)] == joined
    first, second = [path("ab", p) for p in "pq"], [path("bc", p) for p in "rst"]
    ranks = {x.then(y): i + j for i, x in enumerate(first) for j, y in enumerate(second)}
    made = list(chained_paths([tuple(first), tuple(second)]))
    assert (set(made), [ranks[one] for one in made]) == (set(ranks), sorted(ranks.values()))
    letters = "abcdefghijklmnopqrstuvwxyzABCDE"  # known mistake 5: thirty segments of five are 5 ** 30 products
    many = [tuple(path(near + far, p) for p in "pqrst") for near, far in pairwise(letters)]
    assert len({*islice(chained_paths(many), 50)}) == 50
    one, two = [path("ab", p) for p in "pqr"], [path("ba")]
    assert list(in_turn([one, two])) == [one[0], two[0], one[1], one[2]]


def test_the_junction_is_not_repeated_and_the_path_stays_whole() -> None:
    """Known mistakes 6 and 7."""
    found = retrieve(CHAIN, "abc")
    (item,) = [item for item in found.evidence if item.kind == "path"]
    assert item.text == "a —p→ x —p→ b —q→ y ←q— c"
    assert [cited.direction for cited in item.triples] == ["forward", "forward", "forward", "inverse"]


def test_every_entity_has_its_share_of_the_neighbour_lines() -> None:
    """Known mistake 12."""
    turtle = "".join(f":{e} :p{i} :o{e}{i} . " for e in "abcd" for i in range(30))
    found = retrieve(turtle, "abcd", neighbour_lines=8)
    lines = [item.text.split()[0] for item in found.evidence if item.kind == "neighbours"]
    assert {entity: lines.count(entity) for entity in "abcd"} == dict.fromkeys("abcd", 2)


def test_a_single_entity_is_looked_around_two_hops() -> None:
    turtle = ":ann :worked_at :uni . :ben :worked_at :uni . :cas :worked_at :uni . :uni :city :bonn ."
    found = retrieve(turtle, ["ann"], "who worked at the same uni?")
    assert texts(found)[:2] == ["ann —worked at→ uni", "ann —worked at→ uni ←worked at— ben; cas"]
    assert {a.label for a in found.candidates[:2]} == {"ben", "cas"}
    assert "ann" not in {a.label for a in found.candidates}


def test_a_direct_fact_comes_before_what_it_leads_to_and_before_others_with_the_same() -> None:
    """A form of government led to 82 other countries before it was told (1)."""
    countries = " . ".join(f":c{i} :form_of_government :unitary ; :capital :t{i}" for i in range(20))
    turtle = f":italy :form_of_government :unitary ; :capital :rome . :rome :mayor :ann . {countries} ."
    first, second, *_ = texts(retrieve(turtle, ["italy"], "what is the form of government of italy?"))
    assert first == "italy —form of government→ unitary"
    assert "c1" not in second
    asked = texts(retrieve(turtle, ["italy"], "what has the same form of government as italy?"))
    assert any("←form of government— c0; c1; c10" in text for text in asked[:2])


def test_no_two_lines_read_alike_and_none_leads_back_to_where_it_starts() -> None:
    turtle = ':a :p :b ; :q :b ; :loop :a . :p rdfs:label "in country" . :q rdfs:label "in country" . :b :r :c .'
    shown = texts(retrieve(turtle, ["a"]))
    assert shown.count("a —in country→ b") == 1
    assert not any("loop" in text for text in shown)


def test_a_line_says_its_limits_or_is_followed_to_every_end() -> None:
    graph = graph_of("".join(f":a :p :o{i:03} ." for i in range(70)))
    (line,) = retrieve(graph, ["a"], complete=False).evidence
    assert (len(line.triples), line.cuts[0].limit, line.cuts[0].known) == (50, 50, 70)
    assert str(line.cuts[0]) == "ends of a —p→: at most 50 of 70 taken"
    found = retrieve(graph, ["a"])
    (line,) = found.evidence
    assert (line.marker, len(line.triples), len(line.ends), line.cuts) == ("N1", 50, 70, ())
    assert {s["answer"] for s in graph.select(line.query)} == set(line.ends)
    assert {candidate.term for candidate in found.candidates} == set(line.ends)
    assert "58 more" in line.text


def test_the_decision_tree_merges_what_begins_alike() -> None:
    evidence = retrieve(":a :p :x . :x :q :b . :x :q :c .", "abc").evidence
    labels = {term: local_name(term) for triple in evidence.triples for term in triple if isinstance(term, IRI)}
    chart = decision_tree(evidence, labels).mermaid()
    assert chart.splitlines()[:2] == ["flowchart LR", '  n1["a"]']
    assert chart.count('-- "p" -->') == 1


def test_the_query_of_a_line_that_was_cut_finds_what_is_shown() -> None:
    graph = graph_of("".join(f":ann :at :uni{i % 3} . :p{i:03} :at :uni{i % 3} ." for i in range(200)))
    found = retrieve(graph, ["ann"], complete=False)
    cut = [item for item in found.evidence if item.cuts]
    assert cut
    for item in cut:
        seen = {term for s in graph.select(Query("again", item.query.text)) for term in s.values()}
        assert {t for c in item.triples for t in (c.triple.subject, c.triple.object)} <= seen
        assert "more" in item.text
    beyond = ":ann :country :land ." + "".join(f":o{i:03} :country :land ." for i in range(500))
    (item,) = [i for i in retrieve(beyond, ["ann"], complete=False).evidence if i.kind == "path"]
    assert item.text.endswith("more")
    assert item.cuts[0].limit == len(item.triples) - 1


def test_every_line_gets_its_turn_in_the_frontier() -> None:
    turtle = "".join(f":a :p{i % 4} :n{i:04} . :n{i:04} :q{i % 4} :end{i % 4} ." for i in range(1200))
    walked = [i.text for i in retrieve(turtle, ["a"], paths_kept=10).evidence if i.kind == "path"]
    assert all(any(f"—p{n}→" in text for text in walked) for n in range(4))


def test_a_line_keeps_its_wording_when_it_is_completed() -> None:
    turtle = ":a :p :b , :c . :b :q :d , :e . :c :q :d ."
    done, met = (retrieve(turtle, "a", complete=complete) for complete in (True, False))
    assert texts(done) == texts(met)
    assert [item.triples for item in done.evidence] == [item.triples for item in met.evidence]
    assert [item.ends for item in done.evidence] == [examples("b", "c"), examples("d", "e")]


def test_what_a_line_leads_to_through_another_entity_is_no_less_of_an_answer() -> None:
    """A walk does not go on from an entity of the question, but the query that is shown does."""
    graph = graph_of(":a :p :b . :b :q :d . :a :p :c . :c :q :e .")
    found = retrieve(graph, "ab", two_hop_when_single=True, max_hops=1, neighbour_lines=0)
    for item in found.evidence:
        if item.ends:
            assert {s["answer"] for s in graph.select(item.query)} == set(item.ends)
            assert {way.end for way in item.paths} == set(item.ends)


def test_the_inverse_of_what_is_shown_is_not_shown_again() -> None:
    """A graph that stores every inverse says the same with and without them; parallel predicates are two facts."""
    forward = ":a :p :x , :y . :x :p :b . :y :q :b . :a :parallel :x ."
    inverse = ":x :ip :a . :y :ip :a . :b :ip :x . :b :iq :y ."
    alone, doubled = (retrieve(data, "ab") for data in (forward, forward + inverse))
    assert [names(path) for path in paths(alone)] == [names(path) for path in paths(doubled)] == ["ayb", "axb", "axb"]
    steps = [{step.direction for step in path.property_path.steps} for path in paths(doubled)]
    assert [len(ways) for ways in steps] == [1, 1, 1]
    shown = [item.text for item in doubled.evidence if item.kind == "neighbours"]
    assert "a —p→ x; y" in shown
    assert "a ←ip— x; y" not in shown
    assert "a —parallel→ x" in shown
    limits = {"merge_inverses": False, "paths_per_pair": 50, "paths_kept": 50}
    assert len(paths(retrieve(forward + inverse, "ab", **limits))) == 2 * 3 + 2 * 2


CALTECH = "California Institute of Technology"
LINKER = {"mentions": "linker"}


def ask(script: Any, question: str = FEYNMAN, *, turtle: str = "", **asking: Any) -> Asked:
    """Ask a question of the bundled graph, or another."""
    knowledge = known(turtle)
    return scripted.ask(knowledge, question, script, retriever="mindmap", **asking)


def linked_labels(asked: Asked) -> list[str]:
    return [link.label for link in asked.answer.linked]


def mentioning(*said: tuple[str, bool]) -> dict[str, Any]:
    return {"mentions": [{"mention": text, "is_type": kind} for text, kind in said]}


def test_what_is_chosen_is_answered_with_what_it_is_inferred_from() -> None:
    def merged(body: Body) -> Text:
        ((used, line),) = (own for own in marked(body).items() if f"—worked at→ {CALTECH} [2] ←worked at— " in own[1])
        people = [number for number in things_in(line) if number > 3]
        steps = [{"used": [used], "start": 1, "end": number, "says": "a colleague"} for number in people]
        return Text({"steps": steps, "answers": people})

    asked = ask(by_call(answer=merged))
    answer = asked.answer
    assert set(asked.labels) == {
        "Hans Bethe", "J. Robert Oppenheimer", "Linus Pauling", "Max Delbrück", "Murray Gell-Mann",
        "Ray Wu", "Roscoe G. Dickinson",
    }  # fmt: skip
    assert (answer.status, answer.grounding, answer.error) == ("answered", "graph", None)
    (item,) = answer.evidence.keep(answer.cited)
    assert {(step.marker, step.cited) for step in answer.inference} == {(item.marker, own) for own in item.triples}
    drawn, at = answer.tree.mermaid().splitlines(), f"[{item.marker}]"
    for label in ("Richard Feynman", f"{CALTECH} {at}", f"J. Robert Oppenheimer {at}"):
        assert any(f'["{label}"]' in line for line in drawn), label
    assert (answer.usage["model_calls"], purposes(asked)) == (2, ["mentions", "answer"])


def test_a_step_that_no_fact_bears_out_is_the_model_s_own_and_the_answer_is_not_sure() -> None:
    """Nor do two facts bear it out that only meet at Ann."""
    home = {"used": ["N1"], "start": "Ann", "end": "bonn", "says": "her town"}
    own = {"used": [], "start": "bonn", "end": "rhine", "says": "Bonn is on the Rhine."}
    reply = Text({"steps": [home, own], "answers": ["rhine"]})
    for sees in (':cas rdfs:label "Cas" ; :sees :rhine .', ":ann :sees :rhine ."):
        turtle = f':ann rdfs:label "Ann" ; :lives_in :bonn . {sees}'
        asked = ask([reply], "On which river do Ann and Cas live?", turtle=turtle, options=LINKER)
        assert (asked.labels, asked.answer.own_steps) == (["rhine"], ("Bonn is on the Rhine.",))
        assert [step.cited.triple.object for step in asked.answer.inference] == [*examples("bonn")]
        assert (asked.answer.status, asked.answer.grounding) == ("partial", "mixed")
        assert "the model's own: “Bonn is on the Rhine.”" in render(asked.answer, "text")
        assert 'own: “Bonn is on the Rhine.”"]:::said' in asked.answer.tree.mermaid()


def test_the_facts_that_are_read_are_the_lines_of_the_evidence() -> None:
    asked, without = ask(reader, options=LINKER), ask(None).answer
    assert (purposes(asked), linked_labels(asked)) == (["answer"], ["Richard Feynman"]), "the linker finds the names"
    begun = {re.sub(r" \[\d+\]", "", line)[:90] for line in marked(asked.bodies[0]).values()}
    assert begun == {item.text[:90] for item in without.evidence}, "long ones name other ends first"
    assert set(asked.answer.evidence.triples) == set(without.evidence.triples)
    assert without.linked == asked.answer.linked


def test_known_mistake_11_mentions_are_linked_in_their_order_and_types_only_alone() -> None:
    curie = ("Marie Curie", False)
    mentions = mentioning(("person", True), ("Niels Bohr", False), ("the lady Curie", False), curie, ("", False))
    asked = ask(by_call(mentions=mentions), "What joins Marie Curie and Niels Bohr?")
    assert linked_labels(asked) == [link.mention.text for link in asked.answer.linked] == ["Niels Bohr", "Marie Curie"]
    for reply, fallbacks in (
        (Text(mentioning()), []), (Text("I am sorry, I can't."), ["mentions"]),
        (Text(mentioning(("Zzyzx Qwrt", False))), []), (Text(mentioning(("scientists", True), ("xqzw", False))), []),
    ):  # fmt: skip
        asked = ask(by_call(mentions=reply))
        assert linked_labels(asked) == ["Richard Feynman"], "by the words of the question"
        assert asked.fallbacks == fallbacks


def test_two_chains_that_meet_at_the_answer_account_for_both_names() -> None:
    asked = ask(
        by_call(answer=facts_with("curium")), "Which chemical element is named after Marie Curie and Pierre Curie?"
    )
    assert (asked.answer.text, asked.answer.status) == ("curium [P1, P2]", "answered"), asked.answer.gaps


def test_evidence_in_sentences_is_read_where_every_thing_keeps_its_number() -> None:
    def told(body: Body) -> Text:
        (first, line), (second, _), *_ = marked(body).items()
        said = f"It is said that {line.replace('—', '').replace('→', '')}."
        return Text({"sentences": [{"marker": first, "text": said}, {"marker": second, "text": "It is so."}]})

    asked = ask(by_call(sentences=told), options={"verbalise": "model"})
    before, after = (list(marked(body).values()) for body in asked.bodies[-2:])
    assert after[0].startswith("It is said that")
    assert after[1:] == before[1:]
