"""What a model wrote, held against the evidence: what is shown, what it cites, and what is removed and counted."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from kgsparql.answering.answer import AnswerTerm, Claim, Draft, Retrieval
from kgsparql.answering.composing import (
    NOT_ANSWERED,
    REPLY,
    RULES,
    UNGROUNDED,
    answer_messages,
    closed_book,
    draft_if_enough,
    grounded_draft,
)
from kgsparql.answering.pipeline import answer
from kgsparql.answering.retriever import Cost, Retriever
from kgsparql.answering.session import Session
from kgsparql.budget import Usage
from kgsparql.errors import EndpointError
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.models.citations import cited_text
from kgsparql.models.language_model import LanguageModel
from kgsparql.models.replies import written_answer
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Term, Triple
from kgsparql.rendering import render
from kgsparql.retrievers import entity, mindmap
from tests.conftest import graph_from
from tests.model_server import ModelServer, Text
from tests.sessions import labels_of

NS = "http://example.org/"
TURTLE = """
:ann rdfs:label "Ann" . :bob rdfs:label "Bob" . :cid rdfs:label "Cid" . :lab rdfs:label "Lab" .
:york rdfs:label "York" . :newyork rdfs:label "New York" . :mars rdfs:label "Mars" . :t4 rdfs:label "Thyroxine (T4)" .
:bob2 rdfs:label "Dan" . :bob3 rdfs:label "Dan" .
:works rdfs:label "works at" . :founded rdfs:label "founded" . :directed rdfs:label "directed" . :in rdfs:label "in" .
:ann :works :lab . :bob :works :lab . :cid :founded :lab ; :directed :lab . :lab :in :newyork ; :in :york .
"""


def term(name: str) -> IRI:
    return IRI(NS + name)


def item(kind: Any, *triples: tuple[str, str, str], text: str) -> EvidenceItem:
    made = tuple(CitedTriple(Triple(term(s), term(p), term(o))) for s, p, o in triples)
    return EvidenceItem(kind, text, made, Query("test", ""))


EVIDENCE = Evidence(
    [
        item("path", ("ann", "works", "lab"), ("bob", "works", "lab"), text="Ann —works at→ Lab ←works at— Bob"),
        item("path", ("cid", "founded", "lab"), ("cid", "directed", "lab"), text="Cid —founded→ Lab; makes T4"),
        item("neighbours", ("lab", "in", "newyork"), ("lab", "in", "york"), text="Lab —in→ New York; York"),
    ]
)
RETRIEVAL = Retrieval(
    EVIDENCE,
    tuple(
        AnswerTerm(term(name), label, 0.5, markers)
        for name, label, markers in [
            ("bob", "Bob", ("P1",)), ("cid", "Cid", ("P2",)), ("lab", "Lab", ("P1", "P2", "N1")),
            ("newyork", "New York", ("N1",)), ("york", "York", ("N1",)), ("minster", "York Minster", ("N1",)),
            ("t4", "Thyroxine (T4)", ("P2",)),
            ("bob2", "Dan", ("P1",)), ("bob3", "Dan", ("P1",)),
        ]
    ),
)  # fmt: skip

GRAPH = graph_from(TURTLE)


def make(model: LanguageModel | None = None, **options: Any) -> Session:
    return Session(
        question="Who works with Ann?", labels=labels_of(MeteredGraph(GRAPH, Usage(), lambda _: None)), linker=None,
        ranker=BM25Ranker(), model=model, given=(term("ann"),), **options,
    )  # fmt: skip


def ground(text: str = "", /, **reply: Any) -> Draft:
    """The draft of a reply in JSON, or in prose."""
    return grounded_draft(written_answer(text or json.dumps(reply)), RETRIEVAL, make())


def step(marker: str, subject: str, predicate: str, object_: str) -> dict[str, str]:
    return {"marker": marker, "subject": subject, "predicate": predicate, "object": object_}


# --- markers


def test_M12_a_marker_is_shown_in_one_spelling_or_removed_and_counted() -> None:
    for text, shown, removed in (
        ("He did [P1].", "He did [P1].", 0),
        ("He did [P1 and P99].", "He did [P1].", 1),
        ("He did [99] [P1].", "He did [P1].", 1),
        ("他在工作[P1和P99]。", "他在工作 [P1]。", 1),
        ("He did [P1], as P99 says.", "He did [P1], as […] says.", 1),
    ):
        draft = ground(answer=text)
        assert (draft.text, draft.removed) == (shown, removed)
        in_claim = ground(answer="So [P1].", claims=[{"text": text, "evidence": []}])
        assert (in_claim.claims[0].text, in_claim.removed) == (shown, removed)


PIECES = "[ ] ( ) 【 】 { } P1 P99 p99 N7 X2 , ; - – / 12 P 9 word . ' : [P1] [P99] (P99) 和 …".split()


@given(st.lists(st.sampled_from([*PIECES, " ", " and ", "see "]), max_size=12).map("".join))
def test_M12_no_marker_that_was_made_up_is_ever_shown(text: str) -> None:
    once = cited_text(" ".join(text.split()), ["P1", "P2"])
    again = cited_text(once.text, ["P1", "P2"])
    assert again.unknown == ()
    assert set(again.known) <= set(once.known)


# --- what carries an answer


def test_an_answer_without_a_marker_rests_on_what_is_cited_elsewhere() -> None:
    carried: list[dict[str, Any]] = [
        {"used": ["P1"]},
        {"claims": [{"text": "Bob works there.", "evidence": ["P1"]}]},
        {"claims": [{"text": "Bob works there [P1].", "evidence": []}]},
        {"inference": [step("P1", "Bob", "works at", "Lab")]},
    ]
    for by in carried:
        draft = ground(answer="It was Bob.", **by)
        assert (draft.text, draft.removed) == ("It was Bob. [P1]", 0)
        assert {marker for claim in draft.claims for marker in claim.markers} == {"P1"}


def test_M12_nothing_that_was_made_up_carries_an_answer() -> None:
    replies: list[tuple[dict[str, Any], int]] = [
        ({"inference": [step("P1", "Mars", "capital of", "France")]}, 1),
        ({"inference": [step("P99", "Bob", "works at", "Lab"), step("", "Bob", "works at", "Lab")]}, 2),
        ({"claims": [{"text": "It was Mars.", "evidence": ["P99"]}]}, 2),
        ({"entities": [99]}, 1),
        ({"entities": [1], "answer": "It was Bob [P99]."}, 1),
        ({}, 0),
    ]
    for reply, removed in replies:
        assert ground(**{"answer": "It was Mars.", **reply}) == Draft("", removed=removed)
    draft = ground(answer="It was Bob [P1].", inference=[step("N1", "Bob", "was born in", "Lab")], entities=[1])
    assert draft.claims == (Claim(EVIDENCE["P1"].text, ("P1",)),), "not that of the rejected step"
    assert (draft.text, draft.removed) == ("It was Bob [P1].", 1)


def test_M12_claims_keep_the_markers_of_the_evidence_and_go_without_any() -> None:
    claims = [
        {"text": "He works there [P99].", "evidence": ["P1", "P99"]},
        {"text": "He is tall.", "evidence": ["P98"]},
        {"text": "He is old.", "evidence": []},
    ]
    draft = ground(answer="It was Bob [P1].", claims=claims)
    assert draft.claims == (Claim("He works there.", ("P1",)),)
    assert draft.removed == 4, "P99, P98, and two claims that cite nothing"


# --- steps of inference


def test_a_step_is_the_triple_it_says_or_the_only_one_between_its_terms() -> None:
    for said, found in (
        (("P1", "bob", "Works_at", "LAB"), ("bob", "works", "lab")),
        (("P1", "Bob", "is employed by", "Lab"), ("bob", "works", "lab")),
        (("P2", "Cid", "directed", "Lab"), ("cid", "directed", "lab")),
        (("P2", "Cid", "owned", "Lab"), None),
        (("P1", "Bob", "works at", "Labs"), None),
        (("P1", "Ann", "works with", "Bob"), None),
    ):
        draft = ground(answer="So [P1].", inference=[step(*said)])
        triples = [s.cited.triple for s in draft.inference]
        assert triples == ([] if found is None else [Triple(*(term(name) for name in found))])
        assert draft.removed == (found is None)


def test_what_was_removed_is_named() -> None:
    claims = [{"text": "It was Mars.", "evidence": []}]
    made = {"answer": "Bob [P1, P77].", "entities": [1, 99], "claims": claims}
    steps = [step("N99", "Ann", "in", "Lab"), step("P1", "Ann", "ate", "Mars")]
    answered, _ = asked({**made, "inference": steps})
    assert answered.removed == 5
    assert (
        "removed, since it is not in the evidence: [P77], [N99], candidate 99, step 'Ann ate Mars', "
        "claim 'It was Mars.'" in answered.notes
    )
    more, _ = asked({**made, "inference": steps * 3})
    (note,) = (note for note in more.notes if note.startswith("removed"))
    assert note.endswith("step 'Ann ate Mars' and 2 more")
    assert more.text == "Bob [P1]."
    unread = {"answer": "It was Bob [P1].", "entities": [1, "all", 1.5], "inference": [["P1", "Bob"]]}
    assert ground(**unread).removed == 3
    assert ground(json.dumps({"answer": "It was Bob [P1].", "entities": [1]})[:-1]).removed == 1


# --- lists, and what is only repeated


def test_a_list_stays_a_list() -> None:
    draft = ground(answer="Two people:\n\n- **Bob** [P1]\n\x1b[2J \n- *Cid* [P99]\n\n")
    assert draft.text == "Two people:\n- Bob [P1]\n[2J\n- *Cid*"
    assert ground(answer="2**3 and 2**4 [P1]").text == "2**3 and 2**4 [P1]"


def test_words_of_the_prompt_are_no_answer() -> None:
    for said in ("Lumen Press published it [P1].", "a sentence or two about the question that was asked, [P1]"):
        made, requests = asked({"sufficient": True, "answer": said, "entities": [1], "claims": []})
        assert len(requests) == 1
        assert (made.status, made.error.code) == ("partial", "E_LLM_FORMAT")
        assert made.text.startswith("Ranked candidates")
        assert said.partition(" [")[0] not in render(made, "json")


def test_the_examples_of_the_prompts_are_replies_as_they_are_wanted() -> None:
    for prompt in (REPLY, mindmap.REPLY, entity.TEXT, entity.REASONING, entity.NUMERIC):
        start = prompt.index("{")
        example, end = json.JSONDecoder().raw_decode(prompt, start)
        assert example["sufficient"] is True
        rules = prompt[end:]
        assert [name for name in example if f"\n{name}: " not in rules] == []


# --- which candidates are the answer


def test_names_are_answers_only_where_the_text_is_nothing_but_their_list() -> None:
    for text, labels in (
        ("Bob [P1]", ["Bob"]),
        ("The answers are: Cid [P2], Bob [P1] and New York [N1].", ["Cid", "Bob", "New York"]),
        ("York Minster [N1]", ["York Minster"]),
        ("It was not Bob [P1].", []),
        ("Bobby [P1]", []),
        ("Bob, " * 600 + "Bob [P1]", []),
    ):
        assert [a.label for a in ground(text).answers] == labels
        assert [a.label for a in ground(answer=text).answers] == labels


def test_M05_numbers_that_are_not_on_the_list_are_counted_and_no_other_entity_is_guessed() -> None:
    for entities in ([], [99], ["Bob"]):
        draft = ground(answer="Bob [P1].", entities=entities)
        assert (draft.text, draft.answers, draft.removed) == ("Bob [P1].", (), len(entities))
    draft = ground(answer="So [P1].", entities=[1, 999, 1000, 0])
    assert [a.label for a in draft.answers] == ["Bob"]
    assert draft.removed == 3
    assert ground(answer="[P1]", entities=[1]).text == "Bob [P1]"
    assert ground(answer="", entities=[99]) == Draft("", removed=1)


def test_an_answer_that_was_chosen_by_number_cites_its_own_items() -> None:
    session = make()
    for reply, text, cites in (
        ({"answer": "", "entities": [1, 2], "used": ["P1"]}, "Bob, Cid [P1, P2]", ["P1", "P2"]),
        ({"answer": "", "entities": [1]}, "Bob [P1]", ["P1"]),
        ({"answer": "It was Mars.", "entities": [1]}, "Bob [P1]", ["P1"]),
        ({"answer": "It was Bobby.", "entities": [1]}, "Bob [P1]", ["P1"]),
        ({"answer": "It is the Lab.", "entities": [3], "used": ["P2"]}, "It is the Lab. [P2]", ["P2"]),
        ({"answer": "It was Bob.", "entities": [1, 99]}, "It was Bob. [P1]", ["P1"]),
    ):
        draft = grounded_draft(written_answer(json.dumps(reply)), RETRIEVAL, session)
        assert draft.text == text
        assert [marker for claim in draft.claims for marker in claim.markers] == cites
    assert session.notes.texts == [], "nothing else is cited, so nothing is amiss"
    draft = grounded_draft(written_answer('{"answer": "So [P1].", "entities": [1, 4]}'), RETRIEVAL, session)
    assert [(a.label, a.markers) for a in draft.answers] == [("Bob", ("P1",)), ("New York", ("N1",))]
    assert session.notes.texts == ["the evidence that was cited does not mention New York"], "M13"
    ends = tuple(term(f"e{i}") for i in range(100))
    evidence = Evidence(
        [*EVIDENCE, EvidenceItem("path", "all", EVIDENCE["P1"].triples, Query("q", ""), ends=ends, marker="P3")]
    )
    several = (("P3", "N1"), ("P3",))
    candidates = tuple(AnswerTerm(end, f"End {i}", 0.5, several[i % 2]) for i, end in enumerate(ends))
    draft = grounded_draft(written_answer('{"answer": "", "entities": [1]}'), Retrieval(evidence, candidates), make())
    assert draft.text.endswith("End 58, End 59 and 40 more [P3]")
    assert len(draft.answers) == 100


def test_a_reply_that_nothing_carries_is_no_judgement_of_the_facts() -> None:
    for reply in ("It was Mars.", {"answer": "It was Mars."}, {"sufficient": True, "answer": "Mars [P9]"}):
        made, _ = asked(reply)
        assert made.text.splitlines()[:3] == [UNGROUNDED, "Ranked candidates", " 1. Bob  [P1]"]
        assert (made.status, made.answers, made.error) == ("partial", (), None)
        assert [fallback.purpose for fallback in made.fallbacks] == ["answer"]
        assert "Mars" not in made.text
        assert any("rests on no evidence" in note for note in made.notes)


def test_a_refusal_in_words_is_a_model_that_fails() -> None:
    for reply in ("As an AI language model, I do not.", {"sufficient": True, "answer": "Sorry, no.", "entities": []}):
        made, _ = asked(reply)
        assert (made.status, made.error.code, made.error.exit_code) == ("partial", "E_LLM_REFUSED", 5)
        assert made.text.startswith("Ranked candidates")
        assert NOT_ANSWERED not in made.text
        assert [fallback.purpose for fallback in made.fallbacks] == ["answer"]
    judged_so, _ = asked({"sufficient": False, "answer": "Sorry, the facts do not say."})
    assert (judged_so.status, judged_so.error, judged_so.fallbacks) == ("not_in_graph", None, ())
    assert judged_so.text.startswith(NOT_ANSWERED)
    cites, _ = asked("I can't say for sure, but it was Bob [P1].")
    assert (cites.status, cites.error) == ("answered", None)


# --- what is not enough, and what the model knows itself


class Given(Retriever):
    """Finds what it was given."""

    name: ClassVar[str] = "given"
    summary: ClassVar[str] = "what it was given"
    source: ClassVar[str] = "this test"

    def cost(self, **_: int) -> Cost:
        return Cost(1, 1, 0)

    def retrieve(self, session: Session) -> Retrieval:
        return RETRIEVAL


@dataclass(frozen=True)
class Broken(Given):
    """An endpoint that fails while the answer is written."""

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        raise EndpointError("http://example.org/sparql: status 500")


def asked(*replies: Any, retriever: Retriever | None = None, **options: Any) -> Any:
    """The answer of a scripted model, and the requests it got."""
    server = ModelServer([Text(reply) for reply in replies])
    model = LanguageModel("scripted-model", server.client())
    return answer(retriever or Given(), make(model, **options)), server.requests


MEMORY = {
    "sufficient": False,
    "answer": "The facts do not say, but from memory he was born in Queens [P1].",
    "used": ["P99"],
}


def test_M14_what_is_not_enough_is_a_sentence_of_ours_or_the_models_own_words_labelled() -> None:
    made, _ = asked(MEMORY)
    assert made.text.splitlines()[:3] == [NOT_ANSWERED, "Ranked candidates", " 1. Bob  [P1]"]
    assert "Queens" not in render(made, "json")
    assert (made.status, made.grounding, made.answers, made.removed) == ("not_in_graph", "graph", (), 1)
    made, requests = asked(MEMORY, {"answer": "In Queens."}, allow_model_knowledge=True)
    assert made.text == "Not from the graph, but from the model's own knowledge: In Queens."
    assert (made.status, made.grounding, made.removed, len(requests)) == ("answered", "model", 1, 2)
    assert any(note.startswith("removed") for note in made.notes)
    for reply in ("Unknown.", "I don't know."):
        made, _ = asked(MEMORY, {"answer": reply}, allow_model_knowledge=True)
        assert (made.status, made.grounding, made.removed) == ("not_in_graph", "graph", 1)
        assert made.text.startswith(NOT_ANSWERED)
    made, _ = asked(MEMORY, {"answer": "Unknown Pleasures"}, allow_model_knowledge=True)
    assert made.grounding == "model"
    session = make(allow_model_knowledge=True)
    assert closed_book(session) is None
    made = answer(Given(), session)
    assert (made.grounding, made.text.splitlines()[0]) == ("graph", "Ranked candidates")


def test_evidence_that_does_not_carry_the_answer_is_not_enough_whatever_the_model_thinks() -> None:
    replies = [
        {"sufficient": True, "answer": "Bob [P1].", "entities": [1]}, {"sufficient": True, "answer": "Bob."},
        {"sufficient": False, "answer": "Bob [P1]."},
    ]  # fmt: skip
    model = LanguageModel("scripted-model", ModelServer([Text(reply) for reply in replies]).client())
    drafts = [draft_if_enough(RETRIEVAL, make(model)) for _ in replies]
    assert [draft and (draft.sufficient, draft.text) for draft in drafts] == [
        (True, "Bob [P1]."), (False, ""), (False, ""),
    ]  # fmt: skip
    assert draft_if_enough(RETRIEVAL, make()) is None


def test_an_endpoint_that_fails_while_the_answer_is_written_is_not_called_a_model() -> None:
    made, _ = asked(retriever=Broken())
    assert made.notes == ("http://example.org/sparql: status 500: some steps were left out",)
    assert (made.status, made.error.code) == ("partial", "E_ENDPOINT_DOWN")
    assert made.text.startswith("Ranked candidates")


# --- what the model is shown


def shown(retrieval: Retrieval, session: Session) -> str:
    return answer_messages(RULES, REPLY, retrieval, session)[1].content


def test_what_the_model_would_be_given_too_much_of_is_cut() -> None:
    for length, most in ((996, 30), (4_000, 15)):
        session = make()
        evidence = Evidence(item("path", ("ann", "works", "lab"), text="x" * length) for _ in range(100))
        facts = re.findall(r"^P\d+ x+…?$", shown(Retrieval(evidence), session), re.MULTILINE)
        assert most - 1 <= len(facts) <= most
        assert session.notes.texts == [f"the model was shown the first {len(facts)} of 100 pieces of evidence"]
        assert max(map(len, facts)) <= 2_000
    markers = tuple(f"P{n}" for n in range(1, 31))
    listed: list[tuple[Term, str, tuple[str, ...]]] = [
        (term("a"), "long " * 200, ("P1", "N1")), (term("b"), "Bob [USA]", markers),
    ]  # fmt: skip
    found = Retrieval(EVIDENCE, tuple(AnswerTerm(iri, label, 0.5, own) for iri, label, own in listed))
    lines = shown(found, make()).split("<candidates>\n")[1].splitlines()
    (long,) = (line for line in lines if ". long long" in line)
    assert long.endswith("… [P1, N1]")
    (bob,) = (line for line in lines if ". Bob (USA) [P1, P2, " in line)
    assert bob.endswith("P12, …]")
    assert max(map(len, lines)) < 400
