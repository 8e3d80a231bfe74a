"""What an answer rests on: the graph, a document whose words are quoted, or a model that was asked by itself."""

from __future__ import annotations

from dataclasses import replace

from kgsparql import IRI, CitedTriple, Evidence, EvidenceItem, Hop, LanguageModel, Path, Query, Session, Triple, Usage
from kgsparql.answering.answer import Answer, Reading, Retrieval
from kgsparql.answering.pipeline import answer
from kgsparql.answering.retriever import Cost, Retriever, answers_at_ends
from kgsparql.errors import EndpointRateLimitError
from kgsparql.graphs.metered_graph import MeteredGraph
from kgsparql.linking.documents import Excerpt
from kgsparql.linking.ranking import BM25Ranker
from kgsparql.models.trust import Trust
from tests.model_server import ModelServer, Reply, Status, Text
from tests.scripted import chose
from tests.unit.test_model_readings import ISLANDS, WHO
from tests.world import EX, graph_of, labels_of


def path(text: str, name: str, end: str) -> EvidenceItem:
    hop = Hop(Triple(IRI(EX + "iona"), IRI(EX + name), IRI(EX + end)))
    way = Path(hop.start, (hop,))
    return EvidenceItem("path", text, (CitedTriple(hop.triple),), Query("test", ""), way, ends=(hop.end,))


PASSAGE = "Columba came to Iona\n in 563, with twelve companions."
FOUND = Evidence(
    [
        path("Iona —founder→ Columba", "founder", "columba"),
        path("Iona —owner→ The Trust", "owner", "trust"),
        EvidenceItem("passage", PASSAGE, (), Query("test", ""), excerpt=Excerpt("saints.md", 0, 50)),
    ]
)


class Given(Retriever):
    """Finds what it was given."""

    name, summary, source = "given", "what it was given", "this test"

    def cost(self, **_: int) -> Cost:
        return Cost(1, 1, 0)

    def retrieve(self, session: Session) -> Retrieval:
        return Retrieval(FOUND, answers_at_ends(FOUND, session))


class Nothing(Given):
    """Finds nothing."""

    def retrieve(self, session: Session) -> Retrieval:
        return Retrieval()


class Broken(Given):
    """An endpoint that fails while what was chosen is followed."""

    def retrieve(self, session: Session) -> Retrieval:
        def follow() -> Retrieval:
            raise EndpointRateLimitError("http://example.org/sparql: status 429")

        return replace(super().retrieve(session), readings=lambda: [Reading("this", follow)])


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
        told = [gap.text for gap in other.gaps if gap.text.startswith("the model chose this")]
        assert (bool(told), other.signals["agreement"]) == (not is_trusted, 0.5 * is_trusted)
        assert [one.label for one in other.answers] == ["The Trust"]
        nothing, _ = given(chose(), trust=Trust(chooses=is_trusted))
        assert any("none of the readings" in gap.text for gap in nothing.gaps) == is_trusted
        assert nothing.answers[0].label == "Columba"


def test_a_quote_stands_letter_by_letter_in_its_passage_which_is_shown_with_marker_and_source() -> None:
    quoted, server = given(chose(3, quote="in 563"))
    shown = server.requests[0].body["messages"][-1]["content"]
    assert "3. saints.md" in shown
    assert "Columba came to Iona in 563" in shown
    assert (quoted.grounding, quoted.status, quoted.answers) == ("document", "partial", ())
    assert [gap.text for gap in quoted.gaps] == ["this is read in a document, not in the graph"]
    assert quoted.text.endswith("“in 563” [T1] (words of saints.md)")
    assert [claim.markers for claim in quoted.claims] == [("T1",)]
    for words in ("in 564", "", "IN 563", "Columba came in 563"):
        other, _ = given(chose(3, quote=words))
        assert (other.grounding, other.answers[0].label) == ("graph", "Columba"), "the draft"
        assert words not in other.text or not words


def test_what_a_model_knows_itself_is_asked_only_where_nothing_is_found_and_that_is_wanted_and_said() -> None:
    known, server = given(Text({"answer": "It was **Columba**."}), retriever=Nothing, allow_model_knowledge=True)
    assert known.text == "Not from the graph, but from the model's own knowledge: It was Columba."
    assert (known.status, known.grounding, known.answers) == ("not_in_graph", "model", ())
    assert len(server.requests) == 1
    without, server = given(retriever=Nothing)
    assert (without.grounding, server.requests) == ("graph", [])
    for reply, code in ((Text("I don't know."), "unknown_to_model"), (Status(500), "model_failed")):
        unknown, _ = given(reply, retriever=Nothing, allow_model_knowledge=True)
        assert (unknown.text, unknown.grounding) == (without.text, "graph")
        assert code in {note.code for note in unknown.notes}
    found, server = given(chose(1), allow_model_knowledge=True)
    assert (found.grounding, len(server.requests)) == ("graph", 1)


def test_an_endpoint_that_fails_while_what_was_chosen_is_followed_leaves_the_draft() -> None:
    made, _ = given(chose(1), retriever=Broken)
    (note,) = made.notes
    assert note.endswith("the answer is the one without it: http://example.org/sparql: status 429")
    assert (made.error, made.best[0].label) == (None, "Columba")
