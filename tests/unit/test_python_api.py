"""Python as a data scientist types it: print, index, tables, rdflib in and out, SPARQL, asyncio, mistyped options."""

import asyncio
import inspect
import re
import subprocess
import sys
import threading
from dataclasses import fields, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from typer.testing import CliRunner

import kgsparql
from kgsparql import IRI, Answer, AnswerTerm, BlankNode, Literal, answer_to_rdflib, render, to_dataframe
from kgsparql.cli import app
from kgsparql.errors import CancelledError, ForbiddenQueryError, OptionError, QueryTimeoutError, QuestionError
from kgsparql.events import Event
from kgsparql.graphs.rdflib_interop import quads_from_rdflib
from kgsparql.rdf.literals import data_frame, python_value
from tests.world import BORN, NOBEL, ROOT, XSD

D = "http://dbpedia.org/resource/"
CURIE = f"{D}Marie_Curie"
ALL_TRIPLES = "SELECT * { ?s ?p ?o }"
of_rdflib_itself = pytest.mark.filterwarnings("ignore:Dataset.default_context is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def answer(nobel: kgsparql.KnowledgeBase) -> Answer:
    return nobel.ask(BORN, retriever="path_ranking")


def test_print_shows_what_the_command_prints() -> None:
    for question in (BORN, "How many laureates were born in each country?", "Who was Shroedingr?"):
        printed = CliRunner().invoke(app, ["ask", question, "-k", str(NOBEL), "--embedder", "none", "--no-model"])
        with kgsparql.open(NOBEL, embedder="none") as anew:  # what was read for a question before is kept
            texts = (render(anew.ask(question)), printed.stdout)
        (own, asked, _), (other, again, _) = (re.split(r" · (\d+) quer.*\s*$", text) for text in texts)
        assert (own, abs(int(asked) - int(again)) <= 1) == (other, True)  # a count that took long is kept


def test_values_are_those_of_python_and_an_answer_is_neither_true_nor_false(nobel: kgsparql.KnowledgeBase) -> None:
    expected = {
        "How many children did Marie Curie have?": (2,), "Was Marie Curie born in Paris?": (False,),
        "When was Marie Curie born?": (date(1867, 11, 7),), BORN: ("http://dbpedia.org/resource/Warsaw",),
    }  # fmt: skip
    for question, values in expected.items():
        found = nobel.ask(question)
        assert found.values == values
        assert type(found.values[0]) is type(values[0])
        with pytest.raises(TypeError, match=r"answer\.values"):
            bool(found)
    table = nobel.ask("List the laureates and their birth dates.").values
    assert (D + "Aage_Bohr", date(1922, 6, 19)) in table
    both = nobel.ask("Where and when were Max Planck and Niels Bohr born?")
    rows = ((D + "Max_Planck", D + "Kiel", date(1858, 4, 23)), (D + "Niels_Bohr", D + "Copenhagen", date(1885, 10, 7)))
    assert (both.status, both.values) == ("answered", rows)
    assert python_value(Literal("2.50", datatype=IRI(f"{XSD}decimal"))) == Decimal("2.50")
    doubtful = nobel.ask("What is the mass of Marie Curie?")
    assert not to_dataframe(doubtful)["best"].any()
    nothing = nobel.ask("Whom did Paul Dirac marry?")
    assert [one.sure for one in (both, doubtful, nothing)] == [True, False, True]
    told = kgsparql.answer_to_json(doubtful)
    assert (told["sure"], [gap["text"] for gap in told["gaps"]]) == (False, [gap.text for gap in doubtful.gaps])


@pytest.mark.parametrize("question", [None, b"Where was Marie Curie born?", 7, "", "???"])
def test_what_is_no_question_is_a_question_error(nobel: kgsparql.KnowledgeBase, question: Any) -> None:
    with pytest.raises(QuestionError, match="question"):
        nobel.ask(question)


def test_an_answer_is_shown_in_short_and_its_evidence_found_by_place_and_by_marker(answer: Answer) -> None:
    assert repr(kgsparql.open(NOBEL)) == f"<KnowledgeBase {NOBEL}>"
    assert repr(answer) == "<Answer answered: Warsaw>"
    hostile = replace(answer, is_ranked=False, text="\x1b[31m<script>\u202e")
    assert not set("\x1b\u202e") & set(repr(hostile) + str(hostile))
    evidence = answer.evidence
    assert repr(evidence) == "<Evidence P1, P2, P3, P4, P5>"
    assert (evidence[0], evidence[-1]) == (evidence["P1"], evidence["P5"])
    assert [item.marker for item in evidence[1:3]] == ["P2", "P3"]
    assert str(evidence).splitlines()[0] == "  P1  Marie Curie —place of birth→ Warsaw"
    with pytest.raises(KeyError, match="no evidence 'P9'; there are: P1, P2"):
        evidence["P9"]
    with pytest.raises(IndexError):
        evidence[5]


def test_a_literal_is_a_python_value_where_it_is_one_of_its_datatype_and_other_terms_are_text() -> None:
    for text, kind, value in (
        ("007", "integer", 7), ("9" * 5000, "integer", "9" * 5000), ("INF", "double", float("inf")),
        ("1_0", "double", "1_0"), ("0", "boolean", False), ("yes", "boolean", "yes"),
        ("1867-11-07+02:00", "date", date(1867, 11, 7)), ("-0044-03-15", "date", "-0044-03-15"),
        ("1867-02-30", "date", "1867-02-30"), ("1903", "gYear", 1903),
    ):  # fmt: skip
        found = python_value(Literal(text, datatype=IRI(XSD + kind)))
        assert found == value
        assert type(found) is type(value)
    for term, value in ((Literal("Köln", language="de"), "Köln"), (IRI(CURIE), CURIE), (BlankNode("b"), "_:b")):
        assert python_value(term) == value
    assert python_value(None) is None
    # A gap makes no year a fraction.
    frame = data_frame({"year": [1867, None], "is_known": [None, True], "huge": [2**70, None], "mixed": [1, "a"]})
    assert (frame["year"][0], frame["huge"][0]) == (1867, 2**70)
    assert [str(frame[name].dtype) for name in frame] == ["Int64", "boolean", "object", "object"]


def test_the_answers_as_a_table(answer: Answer, nobel: kgsparql.KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = to_dataframe(answer)
    assert list(frame) == ["status", "answer", "label", "description", "score", "best", "markers", "confidence"]
    assert frame["answer"].tolist()[:2] == ["http://dbpedia.org/resource/Warsaw", date(1867, 11, 7)]
    assert frame["best"].tolist() == [True, False, False]
    assert set(frame["status"]) == {"answered"}
    assert frame.explode("markers")["markers"].tolist() == ["P1", "P2", "P3", "P4", "P5"]
    assert to_dataframe(nobel.ask("How many Nobel laureates are there?"))["answer"].tolist() == [74]
    assert to_dataframe(nobel.ask("Was Marie Curie born in Warsaw?"))["answer"].tolist() == [True]
    nothing = to_dataframe(nobel.ask("Who was Shroedingr?"))
    assert (len(nothing), list(nothing)) == (0, list(frame))
    groups = to_dataframe(nobel.ask("How many laureates were born in each country?"))
    assert list(groups) == ["item", "item_iri", "number"]
    assert groups.iloc[0].tolist() == ["United States", "http://dbpedia.org/resource/United_States", 16]
    assert str(groups["number"].dtype) == "int64"
    hostile = AnswerTerm(Literal("<script>alert(1)</script>"), "<script>alert(1)</script>", 1.0, ("P1",))
    assert "<script>" not in to_dataframe(replace(answer, answers=(hostile,))).to_html()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match="needs pandas") as caught:
        to_dataframe(answer)
    assert caught.value.hint == "pip install pandas"


def test_the_answer_as_rdflib_is_the_answer_as_trig(answer: Answer) -> None:
    written = {*map(str, pyoxigraph.parse(render(answer, "trig").encode(), pyoxigraph.RdfFormat.TRIG))}
    dataset = answer_to_rdflib(answer)
    assert {*map(str, quads_from_rdflib(dataset))} == written
    assert dict(dataset.namespaces())["kgs"] == rdflib.URIRef("https://w3id.org/kgsparql#")


def _filled(graph: rdflib.Graph) -> rdflib.Graph:
    graph.parse(NOBEL, format="turtle")
    graph.bind("mine", "http://dbpedia.org/resource/")
    return graph


@of_rdflib_itself
@pytest.mark.parametrize("kind", [rdflib.Graph, rdflib.Dataset])
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_graph_of_rdflib_gives_the_same_answer(kind: type[rdflib.Graph], store: str, answer: Answer) -> None:
    graph = _filled(kind(store=store))
    knowledge = kgsparql.open(graph, embedder="none")
    found = knowledge.ask(BORN, retriever="path_ranking")
    assert [item.text for item in found.evidence] == [item.text for item in answer.evidence]
    assert {str(s) for item in found.evidence for cited in item.triples for s in cited.sources} == {"store"}
    assert len(knowledge.query("SELECT ?place { mine:Marie_Curie dbo:birthPlace ?place }")) == 1


@of_rdflib_itself
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_named_graphs_and_blank_nodes_of_a_dataset_are_kept(store: str) -> None:
    dataset, node = rdflib.Dataset(store=store), rdflib.BNode("b7")
    name, says = rdflib.URIRef("http://e.org/g"), rdflib.URIRef("http://e.org/says")
    dataset.graph(name).add((node, says, rdflib.Literal("x")))
    dataset.add((rdflib.URIRef("http://e.org/a"), says, node))
    held = kgsparql.open(dataset).graph.store  # type: ignore[attr-defined]
    assert {(str(q.subject), str(q.object), str(q.graph_name)) for q in held} == {
        ("_:b7", '"x"', "<http://e.org/g>"), ("<http://e.org/a>", "_:b7", "DEFAULT"),
    }  # fmt: skip


def test_a_select_is_solutions_an_ask_true_or_false_and_a_construct_triples(nobel: kgsparql.KnowledgeBase) -> None:
    query = "SELECT ?born ?nothing { dbr:Marie_Curie dbo:birthDate ?born OPTIONAL { ?born dbo:x ?nothing } }"
    result = nobel.query(query)
    assert [str(one["born"]) for one in result] == [f'"1867-11-07"^^<{XSD}date>']
    assert (len(result), bool(result), result.cut) == (1, True, None)
    frame = result.to_dataframe()
    assert list(frame) == ["born", "nothing"]
    assert frame["born"].tolist() == [date(1867, 11, 7)]
    assert str(result).splitlines()[0].split() == ["?born", "?nothing"]
    with pytest.raises(OptionError, match="no graph"):
        result.to_rdflib()
    assert nobel.query("ASK { dbr:Marie_Curie ?p ?o }")
    assert not nobel.query("ASK { dbr:Nobody ?p ?o }")
    with pytest.raises(OptionError, match="no table"):
        nobel.query("ASK {}").to_dataframe()
    made = nobel.query("CONSTRUCT { ?o dbo:child ?s } { ?s dbo:spouse ?o }")
    assert len(made.to_rdflib()) == len(made.triples) == len(made.to_dataframe()) > 0
    assert list(made.to_dataframe()) == ["subject", "predicate", "object"]
    with pytest.raises(OptionError, match="has no solutions") as caught:
        list(made)
    assert "triples" in caught.value.hint
    with pytest.raises(ForbiddenQueryError):
        nobel.query("DELETE WHERE { ?s ?p ?o }")
    endless, cancel = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", threading.Event()
    with pytest.raises(QueryTimeoutError, match=r"after 0\.3 s"):
        nobel.query(endless, timeout_s=0.3)
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(CancelledError):
        nobel.query(endless, cancel=cancel)
    cut = nobel.query(ALL_TRIPLES, max_rows=3)
    assert len(cut) == 3
    assert cut.to_dataframe().attrs == {"cut": "solutions: at most 3 taken, there are more"}


def test_questions_are_answered_beside_the_event_loop_until_cancelled(nobel: kgsparql.KnowledgeBase) -> None:
    cancel, began, seen = threading.Event(), threading.Event(), list[Event]()

    def listen(event: Event) -> None:
        seen.append(event)
        began.set()
        assert cancel.wait(20)

    async def asked() -> None:
        found = await asyncio.gather(nobel.aask(BORN), nobel.aask("Where was Albert Einstein born?"))
        assert [one.answers[0].label for one in found] == ["Warsaw", "Ulm"]
        task = asyncio.create_task(nobel.aask(BORN, emit=listen, cancel=cancel))
        await asyncio.to_thread(began.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asked())  # which ends when its threads have ended
    assert cancel.is_set()
    assert "finished" not in [event.kind for event in seen]


def test_each_option_is_a_parameter_that_is_completed(nobel: kgsparql.KnowledgeBase) -> None:
    shell = InteractiveShell()
    shell.user_ns["knowledge"] = nobel
    for name in ("ask", "aask", "retrieve"):
        method = getattr(nobel, name)
        parameters = inspect.signature(method).parameters
        assert list(parameters) == ["question", *(field.name for field in fields(kgsparql.AskOptions))]
        assert {p.kind for key, p in parameters.items() if key != "question"} == {inspect.Parameter.KEYWORD_ONLY}
        assert method.__doc__
        typed = f"knowledge.{name}('Who?', min_conf"
        for use_jedi in (False, True):
            shell.Completer.use_jedi = use_jedi
            with provisionalcompleter():
                found = [one.text for one in shell.Completer.completions(typed, len(typed))]
            assert "min_confidence=" in found


def test_a_wrong_option_is_an_error_that_names_the_right_one_of_the_method(nobel: kgsparql.KnowledgeBase) -> None:
    for options, message, hint in (
        ({"retreiver": "mindmap"}, "no option 'retreiver'; did you mean 'retriever'?", "there are: retriever, options"),
        ({"paths_kept": 3}, "no option 'paths_kept'", "those of a method go into options="),
        ({"max_seconds": 3}, "no option 'max_seconds'", "limits into budget=kgsparql.Budget(…)"),
        ({"retriever": "mindmp"}, "no method 'mindmp'; did you mean 'mindmap'?", "there are: entity"),
        ({"retriever": "mindmap", "options": {"path_kept": 3}}, "did you mean 'paths_kept'?", "it has: "),
        ({"retriever": kgsparql.MindMap}, "no method: <class", "MindMap()"),
        ({"retriever": kgsparql.MindMap(), "options": {"x": 1}}, "a method that is made: x", "give them to MindMap(…)"),
        ({"model": "gpt-5"}, "model='gpt-5' is only its name", "kgsparql.open_model"),
    ):
        with pytest.raises(OptionError) as caught:
            nobel.ask(BORN, **options)  # type: ignore[arg-type]
        assert message in str(caught.value)
        assert hint in caught.value.hint
    found = nobel.ask(BORN, retriever=kgsparql.MindMap(paths_kept=1))
    assert len([item for item in found.evidence if item.kind == "path"]) == 1
    for entities in ("Marie Curie", ["Marie Curie"], IRI(CURIE)):
        answer = nobel.ask("When was she born?", entities=entities)  # type: ignore[arg-type]
        assert [link.term for link in answer.linked] == [IRI(CURIE)]


@pytest.mark.deep
def test_a_type_checker_knows_the_options(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import kgsparql\n"
        "knowledge = kgsparql.open('data.ttl')\n"
        "reveal_type(knowledge.ask('Who?', min_confidence=0.5, complete=True))\n"
        "knowledge.ask('Who?', langage='de')\n"
        "knowledge.retrieve('Who?', complete='3')\n"
        "kgsparql.MindMap(paths_kept='3')\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", str(script)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = [line.partition("script.py:")[2] for line in checked.stdout.splitlines()]  # its folder is of a run before
    assert [re.sub(r"  \[[a-z-]+\]$", "", line) for line in told if " defined in " not in line] == [
        '3: note: Revealed type is "kgsparql.answering.answer.Answer"',
        '4: error: Unexpected keyword argument "langage" for "ask" of "KnowledgeBase"; did you mean "language"?',
        '5: error: Argument "complete" to "retrieve" of "KnowledgeBase" has incompatible type "str"; expected "bool"',
        '6: error: Argument "paths_kept" to "MindMap" has incompatible type "str"; expected "int"',
    ]
