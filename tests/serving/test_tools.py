"""The tools as a Python program calls them, and their definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from openai.types.chat import ChatCompletionToolUnionParam
from pydantic import TypeAdapter
from typer.testing import CliRunner

import kgsparql
from kgsparql.cli import app
from kgsparql.errors import AmbiguousLabelError, InputError, NotFoundError
from kgsparql.graphs import OxigraphGraph
from kgsparql.serving.tools import TOOLS, error_text
from tests.conftest import FIXTURES

CALLS = {
    "ask": {"question": "Where was Marie Curie born?"},
    "find": {"text": "Curie"},
    "show": {"entity": "Marie Curie"},
    "paths": {"start": "Marie Curie", "end": "Niels Bohr"},
    "plan": {"question": "How many Nobel laureates are there?"},
    "query": {"sparql": "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "limit": 3},
    "info": {},
}


@pytest.fixture(scope="module")
def toolbox() -> kgsparql.Toolbox:
    return kgsparql.tools(kgsparql.open(FIXTURES / "nobel.ttl", embedder="none"))


@pytest.fixture
def toolbox_of(graph_of: Callable[..., OxigraphGraph]) -> Callable[[str], kgsparql.Toolbox]:
    return lambda turtle: kgsparql.tools(kgsparql.KnowledgeBase(graph_of(turtle), embedder=None))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_a_tool_takes_and_gives_is_as_its_schemas_say(tool, toolbox: kgsparql.Toolbox) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(CALLS[tool.name], tool.input_schema)
    result = toolbox.call_tool(tool.name, CALLS[tool.name])
    jsonschema.validate(result, tool.output_schema)
    assert len(json.dumps(result)) < 9_000


def test_the_definitions_are_those_of_chat_completions(toolbox: kgsparql.Toolbox) -> None:
    printed = CliRunner().invoke(app, ["tools", "--openai"])
    assert printed.exit_code == 0
    definitions = json.loads(printed.stdout)
    assert definitions == toolbox.openai()
    for one in definitions:
        TypeAdapter(ChatCompletionToolUnionParam).validate_python(one)
        jsonschema.Draft202012Validator.check_schema(one["function"]["parameters"])
    assert [one["function"]["name"] for one in definitions] == [*CALLS]
    assert len(CliRunner().invoke(app, ["tools"]).stdout.splitlines()) == 7


def test_wrong_names_and_arguments_say_which_are_right(toolbox: kgsparql.Toolbox) -> None:
    with pytest.raises(InputError, match="no tool 'drop'"):
        toolbox.call_tool("drop", {})
    with pytest.raises(InputError, match="limit: Input should be less than or equal to 100") as wrong:
        toolbox.call_tool("find", {"text": "Curie", "limit": 1_000})
    assert wrong.value.hint == "find takes: text, limit"
    with pytest.raises(NotFoundError) as unknown:
        toolbox.call_tool("paths", {"start": "Marie Curie", "end": "Nobody At All"})
    assert "the tool find" in unknown.value.hint


def test_what_a_name_may_mean_is_in_the_error(toolbox_of: Callable[[str], kgsparql.Toolbox]) -> None:
    toolbox = toolbox_of(':a rdfs:label "Springfield"@en ; :p :x . :b rdfs:label "Springfield"@en ; :p :y .')
    with pytest.raises(AmbiguousLabelError) as error:
        toolbox.call_tool("show", {"entity": "Springfield"})
    assert "<http://example.org/a>, <http://example.org/b>" in error_text(error.value)


def test_things_of_one_name_are_told_apart(toolbox_of: Callable[[str], kgsparql.Toolbox]) -> None:
    toolbox = toolbox_of(
        ':a rdfs:label "Springfield"@en ; a :Town . :b rdfs:label "Springfield"@en ; a :River .'
        ':Town rdfs:label "town"@en . :River rdfs:label "river"@en .'
    )
    found = toolbox.call_tool("find", {"text": "Springfield"})["found"]
    assert {one["term"]: one["description"] for one in found} == {
        "<http://example.org/a>": "town", "<http://example.org/b>": "river",
    }  # fmt: skip


def test_what_is_only_near_is_said_to_be(toolbox: kgsparql.Toolbox) -> None:
    assert toolbox.call_tool("find", {"text": "Curie"})["notes"] == []
    assert "something else" in toolbox.call_tool("find", {"text": "Kurie"})["notes"][0]


def test_a_long_query_is_given_to_who_asks_for_it(toolbox: kgsparql.Toolbox) -> None:
    asked = {"question": "Who was the youngest Nobel laureate?"}
    for tool in ("plan", "ask"):
        few, whole = toolbox.call_tool(tool, asked), toolbox.call_tool(tool, {**asked, "whole_queries": True})
        assert "whole_queries" in few["more"]
        assert "SELECT" in json.dumps(whole)
        assert "whole_queries" not in whole.get("more", "")


def test_notes_and_hints_name_tools_and_arguments(toolbox: kgsparql.Toolbox) -> None:
    nothing = toolbox.call_tool("ask", {"question": "Who wrote Hamlet?"})
    assert nothing["status"] == "no_entity"
    assert "the tool find; then name it with entities" in " ".join(nothing["notes"])
    assert "start from the IRI" in toolbox.call_tool("query", {"sparql": 'SELECT * { ?x ?p "Bonn" }'})["more"]


def test_given_entities_are_what_is_asked_about(toolbox: kgsparql.Toolbox) -> None:
    meant = {"question": "Where was Marie Curie born?", "entities": ["<http://dbpedia.org/resource/Niels_Bohr>"]}
    assert toolbox.call_tool("ask", meant)["answers"][0]["label"] == "Copenhagen"


def test_a_result_says_which_argument_gets_more(toolbox: kgsparql.Toolbox) -> None:
    who = {"question": "Who received the Nobel Prize in Physics 1903?", "max_answers": 1, "max_evidence": 1}
    few = toolbox.call_tool("ask", who)
    assert (len(few["answers"]), len(few["evidence"])) == (1, 1)
    assert "raise max_answers" in few["more"]
    assert "raise max_evidence" in few["more"]
    three = toolbox.call_tool("query", {"sparql": "SELECT * { ?s ?p ?o }", "limit": 3})
    assert (len(three["rows"]), three["is_complete"]) == (3, False)
    assert "raise limit" in three["more"]
    assert (
        "raise max_hops"
        in toolbox.call_tool("paths", {"start": "Marie Curie", "end": "Niels Bohr", "max_hops": 1})["more"]
    )


def test_texts_of_the_graph_are_short_and_have_no_control_characters(
    toolbox_of: Callable[[str], kgsparql.Toolbox],
) -> None:
    hostile = r"\u001b[31mred\u202e\u0000 <script>"
    toolbox = toolbox_of(f':a rdfs:label "{hostile}"@en ; :p "{hostile}" ; :q "{"long " * 10_000}" .')
    calls = {
        "show": {"entity": "<http://example.org/a>"},
        "query": {"sparql": "SELECT * { ?s ?p ?o }"},
        "find": {"text": "red"},
        "ask": {"question": "What is p of red?", "entities": ["<http://example.org/a>"]},
    }
    for name, arguments in calls.items():
        text = json.dumps(toolbox.call_tool(name, arguments), ensure_ascii=False)
        assert "red" in text
        assert len(text) < 9_000
        for escaped in ("\\u001b", "\u202e", "\\u0000", "\\u202e"):
            assert escaped not in text, name


def test_a_query_sees_what_was_added_to_a_store_of_python(tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data="<http://e.org/a> <http://e.org/p> 1 .", format="turtle")
    toolbox = kgsparql.tools(kgsparql.open(graph, embedder="none"))
    assert toolbox.call_tool("query", {"sparql": "ASK { <http://e.org/a> ?p 1 }"})["boolean"]
