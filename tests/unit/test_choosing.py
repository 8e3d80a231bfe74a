"""What a model chooses, quotes and knows itself, what makes that count, and how sure an answer is."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import kgsparql
from kgsparql import IRI, Answer, CitedTriple, Evidence, EvidenceItem, Hop, LanguageModel, Path, Query, Triple, Usage
from kgsparql.answering.answer import MAX_CHOICES, AnswerTerm, Reading, Retrieval, Support
from kgsparql.answering.answer_json import SCHEMA_VERSION, answer_to_json
from kgsparql.answering.choosing import Candidate, choose
from kgsparql.answering.confidence import SIGNALS, calibration, signals_of
from kgsparql.answering.kept_answers import AnswerFile
from kgsparql.answering.pipeline import answer
from kgsparql.answering.retriever import Cost, Retriever, answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.errors import AnswerFileError, EndpointRateLimitError, OptionError
from kgsparql.events import CandidatesChosen, Event, FallbackUsed
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.models.trust import Trust
from kgsparql.rdf.terms import Literal
from kgsparql.reading.gaps import Gap
from tests.engines import engine_from_quads
from tests.model_server import ModelServer, Reply, Text
from tests.scripted import chose
from tests.unit.test_model_readings import ISLANDS, WHO
from tests.world import BORN, EX, graph_of, labels_of

TEXTS = ("place of birth", "worked at", "spouse", "doctoral advisor")


def candidates(texts: Sequence[str] = TEXTS, **more: Any) -> list[Candidate]:
    return [Candidate(i, text, **more) for i, text in enumerate(texts)]


def session_of(question: str, events: list[Event], **more: Any) -> Session:
    graph = MeteredGraph(engine_from_quads("oxigraph", []), Usage(), events.append)
    return Session(question=question, labels=labels_of(graph), linker=None, ranker=BM25Ranker(), **more)


def chosen_by_model(
    script: Any, listed: Sequence[Candidate], *, at_most: int = 2, question: str = "Where was she born?"
) -> tuple[list[Any], list[Event], ModelServer]:
    """Choices of a session with a scripted model, its events, and the server."""
    events, server = list[Event](), ModelServer(script)
    session = session_of(question, events, model=LanguageModel("scripted-model", server.client()))
    return choose(listed, "predicates", at_most, session), events, server


def test_a_model_chooses_by_number_the_highest_score_first() -> None:
    reply = Text({"choices": [{"n": 2, "score": 0.3}, {"n": 1, "score": 0.9}]})
    chosen, events, server = chosen_by_model([reply], candidates())
    assert [(c.candidate.text, c.score, c.chosen_by) for c in chosen] == [
        ("place of birth", 0.9, "model"), ("worked at", 0.3, "model"),
    ]  # fmt: skip
    (told,) = [event for event in events if isinstance(event, CandidatesChosen)]
    assert (told.chosen_by, told.kept, told.pruned) == ("scripted-model", ("place of birth", "worked at"), 2)
    assert told.pruned_texts == ("spouse", "doctoral advisor")
    shown = server.requests[0].body["messages"][-1]["content"]
    assert "1. place of birth\n2. worked at\n3. spouse\n4. doctoral advisor" in shown


def test_at_most_so_many_are_chosen_and_of_a_group_one() -> None:
    reply = Text({"choices": [{"n": n, "score": 0.5} for n in (1, 2, 3, 4)]})
    assert len(chosen_by_model([reply], candidates(), at_most=3)[0]) == 3
    assert len(chosen_by_model([reply], candidates(group="same"), at_most=3)[0]) == 1


def test_choosing_nothing_is_a_choice() -> None:
    chosen, events, _ = chosen_by_model([Text({"choices": []})], candidates())
    assert chosen == []
    assert not any(isinstance(event, FallbackUsed) for event in events)


def test_a_long_list_is_thinned_by_the_ranker_before_a_model_reads_it() -> None:
    many = [*(f"thing {i}" for i in range(200)), "place of birth"]
    chosen, events, server = chosen_by_model(
        [Text({"choices": [{"n": MAX_CHOICES, "score": 1}]})], candidates(many), question="What is her place of birth?"
    )
    lines = server.requests[0].body["messages"][-1]["content"].split("<candidates>\n")[1].split("\n")
    assert len(lines) == MAX_CHOICES + 1
    assert [c.candidate.text for c in chosen] == ["place of birth"], "it kept its place, at the end of the list"
    (told,) = [event for event in events if isinstance(event, CandidatesChosen)]
    assert told.pruned == 200
    assert len(told.pruned_texts) == 3


def test_of_what_a_ranker_pruned_the_best_are_told_but_not_what_says_the_same() -> None:
    events: list[Event] = []
    scores = {"worked at": 0.1, "spouse": 0.5, "husband": 0.9, "married": 0.8, "child": 0.4, "field": 0.3}
    listed = [
        Candidate(n, text, score=score, group="wed" if text in {"husband", "married"} else None)
        for n, (text, score) in enumerate(scores.items())
    ]
    choose(listed, "predicates", 1, session_of("Who?", events))
    (told,) = [event for event in events if isinstance(event, CandidatesChosen)]
    assert (told.kept, told.pruned) == (("husband",), 5)
    assert told.pruned_texts == ("spouse", "child", "field")


def test_what_was_fitted_only_gains_from_better_signals() -> None:
    own = calibration()
    assert set(own.weights) <= set(SIGNALS)
    assert min(own.weights.values()) > 0
    for table in (own.scores, own.probabilities):
        assert list(table) == sorted(table)
        assert 0 <= table[0] < table[-1] <= 1
    middle = dict.fromkeys(SIGNALS, 0.5)
    for name in SIGNALS:
        less, more = (own.probability({**middle, name: value}) for value in (0.0, 1.0))
        assert less <= more


def said(value: object, *codes: str) -> float:
    """Whether a computed value would stay with the words of these gaps."""
    best = [AnswerTerm(Literal(value), str(value))]
    gaps = [Gap(code, "", "") for code in codes]  # type: ignore[arg-type]
    return signals_of(Support(), gaps, best, is_computed=True)["holds_anyway"]


def test_a_no_that_leaves_a_condition_out_is_still_a_no_and_a_yes_need_be_none() -> None:
    assert said(value=True) == said(value=False) == said(7)
    assert said(True, "word") < said(7, "word") < said(True) < said(False, "word")


def test_every_answer_has_a_confidence_and_one_of_too_little_is_no_sure_one(nobel: kgsparql.KnowledgeBase) -> None:
    sure, unsure, nothing = (nobel.ask(q) for q in (BORN, "Where was Marie Curie crowned?", "Who was Shroedingr?"))
    assert 1 > sure.confidence > 0.9 > unsure.confidence > 0 == nothing.confidence
    asked = nobel.ask(BORN, min_confidence=0.995)
    (gap,) = asked.gaps
    assert (asked.status, gap.code, asked.confidence) == ("partial", "confidence", sure.confidence)
    assert str(asked).startswith(f"No sure answer: it is {100 * sure.confidence:.0f} % likely to be right: ")
    assert gap.text.rpartition(": ")[2] in SIGNALS.values()
    assert nobel.retrieve(BORN).confidence == sure.confidence
    with pytest.raises(OptionError, match="confidence of 2"):
        nobel.ask(BORN, min_confidence=2)


def versions(written: dict[str, object], *numbers: int | None) -> Sequence[bytes]:
    """The same answer as other versions of the JSON have it."""
    return [json.dumps({**written, "schema_version": number}).encode() for number in numbers]


def test_answers_of_the_first_version_are_read_and_later_ones_refused(nobel: kgsparql.KnowledgeBase) -> None:
    written = dict(answer_to_json(nobel.ask(BORN)))
    now, later = versions(written, SCHEMA_VERSION, SCHEMA_VERSION + 1)
    del written["confidence"], written["details"]
    (first,) = versions(written, 1)
    assert AnswerFile.read(first).answers == AnswerFile.read(now).answers
    with pytest.raises(AnswerFileError, match=f"version {SCHEMA_VERSION + 1} of the JSON") as caught:
        AnswerFile.read(later)
    assert "upgrade" in caught.value.hint


def path(text: str, name: str, end: str) -> EvidenceItem:
    hop = Hop(Triple(IRI(EX + "iona"), IRI(EX + name), IRI(EX + end)))
    way = Path(hop.start, (hop,))
    return EvidenceItem("path", text, (CitedTriple(hop.triple),), Query("test", ""), (way,), ends=(hop.end,))


PASSAGE = "Columba came to Iona\n in 563, with twelve companions."
FOUND = Evidence(
    [
        path("Iona —founder→ Columba", "founder", "columba"),
        path("Iona —owner→ The Trust", "owner", "trust"),
        EvidenceItem("passage", PASSAGE, (), Query("test", "")),
    ]
)


class Given(Retriever):
    """Finds what it was given."""

    name, summary, source = "given", "what it was given", "this test"

    def cost(self, **_: int) -> Cost:
        return Cost(1, 1, 0)

    def retrieve(self, session: Session) -> Retrieval:
        return Retrieval(FOUND, answers_at_ends(FOUND, session))


class Broken(Given):
    """An endpoint that fails while what was chosen is followed."""

    def retrieve(self, session: Session) -> Retrieval:
        def follow() -> Retrieval:
            raise EndpointRateLimitError("http://example.org/sparql: status 429")

        return replace(super().retrieve(session), readings=lambda _: [Reading("this", follow)])


def given(*replies: Reply, retriever: type[Retriever] = Given, **options: object) -> tuple[Answer, ModelServer]:
    """The answer of a model that says this to what is found, and what it was asked."""
    server = ModelServer([*replies])
    graph = MeteredGraph(graph_of(ISLANDS), Usage(), lambda _: None)
    session = Session(
        question=WHO, labels=labels_of(graph), linker=None, ranker=BM25Ranker(), given=(IRI(EX + "iona"),),
        model=LanguageModel("scripted-model", server.client()), **options,  # type: ignore[arg-type]
    )  # fmt: skip
    return answer(retriever(), session), server


def test_trust_is_what_makes_a_choice_against_the_ranking_or_of_nothing_count() -> None:
    for is_trusted in (False, True):
        other, _ = given(chose(2), trust=Trust(chooses=is_trusted))
        told = [gap.text for gap in other.gaps if "the model chose it" in gap.text]
        assert (bool(told), other.signals["path_lead"]) == (not is_trusted, 0.5 * is_trusted)
        assert [one.label for one in other.answers] == ["The Trust"]
        nothing, _ = given(chose(), trust=Trust(chooses=is_trusted))
        assert any("none of the readings" in gap.text for gap in nothing.gaps) == is_trusted
        assert nothing.answers[0].label == "Columba"


def test_a_quote_stands_letter_by_letter_in_its_passage_which_is_shown_with_its_marker() -> None:
    quoted, server = given(chose(3, quote="in 563"), trust=Trust(chooses=True))
    shown = server.requests[0].body["messages"][-1]["content"]
    assert "3. Columba came to Iona in 563" in shown
    assert quoted.answers == ()
    assert quoted.text.endswith("“in 563” [T1] (words of the graph)")
    assert [claim.markers for claim in quoted.claims] == [("T1",)]
    for words in ("in 564", "", "IN 563", "Columba came in 563"):
        other, _ = given(chose(3, quote=words))
        assert other.answers[0].label == "Columba", "the draft"
        assert words not in other.text or not words


def test_an_endpoint_that_fails_while_what_was_chosen_is_followed_leaves_the_draft() -> None:
    made, _ = given(chose(1), retriever=Broken)
    note, other = made.notes
    assert note.endswith("the answer is the one without it: http://example.org/sparql: status 429")
    assert other == "not every reading was followed: http://example.org/sparql: status 429"
    assert (made.error, made.best[0].label) == (None, "Columba")
