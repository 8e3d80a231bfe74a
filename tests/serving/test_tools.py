"""The tools as a Python program calls them, and their definitions."""

import json
import re

import jsonschema
import pytest
from openai.types.chat import ChatCompletionToolUnionParam
from pydantic import TypeAdapter

import kgsparql
from kgsparql.errors import AmbiguousLabelError, InputError, KgsparqlError, NotFoundError, OptionError
from kgsparql.rdf.terms import compact_json
from kgsparql.serving.tool_runs import DOUBTFUL
from kgsparql.serving.tools import INSTRUCTIONS, TOOLS, Toolbox
from tests.model_server import ModelServer
from tests.scripted import Player
from tests.world import FIXTURES, graph_of, known

CALLS = {
    "ask": {"question": "Where was Marie Curie born?"}, "find": {"text": "Curie"}, "show": {"entity": "Marie Curie"},
    "paths": {"start": "Marie Curie", "end": "Niels Bohr"}, "plan": {"question": "How many Nobel laureates are there?"},
    "query": {"sparql": "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "limit": 3}, "info": {},
}  # fmt: skip


TWO_SPRINGFIELDS = (
    ':a rdfs:label "Springfield"@en ; a :Town . :b rdfs:label "Springfield"@en ; a :River .'
    ':Town rdfs:label "town"@en . :River rdfs:label "river"@en .'
)
SUPPLIERS = (
    ':Supplier rdfs:label "supplier"@en . :city rdfs:label "city"@en . :sells rdfs:label "sells"@en .'
    ':acme a :Supplier ; rdfs:label "Acme"@en ; :city "Toulouse" ; :sells :nut .'
    ':bolt a :Supplier ; rdfs:label "Bolt"@en ; :city "Paris" ; :sells :nut .'
    ':nut rdfs:label "nut M6"@en .'
)

PRICES = (
    ':Supplier rdfs:label "supplier"@en . :Price rdfs:label "price"@en . :Product rdfs:label "product"@en .'
    ':supplier rdfs:label "supplier"@en . :price rdfs:label "price"@en . :amount rdfs:label "amount"@en .'
    ':acme a :Supplier ; rdfs:label "Acme"@en . :bolt a :Supplier ; rdfs:label "Bolt"@en .'
    ':nut a :Product ; rdfs:label "nut"@en ; :supplier :acme ; :price :p1 . :p1 a :Price ; :amount 2.5 .'
    ':Service rdfs:label "service"@en . :cost rdfs:label "cost"@en . :polish a :Service ; :supplier :acme ; :cost 5 .'
    ':wash a :Service ; rdfs:label "wash"@en ; :supplier :bolt .'
    ':pin a :Product ; rdfs:label "pin"@en ; :supplier :bolt ; :price :p2 . :p2 a :Price ; :amount 3.5 .'
)


@pytest.fixture(scope="module")
def toolbox() -> kgsparql.Toolbox:
    return kgsparql.tools(kgsparql.open(FIXTURES / "nobel.ttl", embedder="none"))


def toolbox_of(turtle: str) -> kgsparql.Toolbox:
    return kgsparql.tools(known(turtle))


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_what_a_tool_takes_and_gives_is_as_its_schemas_say(tool, toolbox: kgsparql.Toolbox) -> None:
    for schema in (tool.input_schema(), tool.output_schema()):
        jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(CALLS[tool.name], tool.input_schema())
    result = toolbox.call_tool(tool.name, CALLS[tool.name])
    jsonschema.validate(result, tool.output_schema())
    assert len(json.dumps(result)) < 9_000


def test_the_definitions_are_those_of_chat_completions(toolbox: kgsparql.Toolbox) -> None:
    definitions = toolbox.openai()
    for one in definitions:
        TypeAdapter(ChatCompletionToolUnionParam).validate_python(one)
        jsonschema.Draft202012Validator.check_schema(one["function"]["parameters"])
    assert [one["function"]["name"] for one in definitions] == [*CALLS]


def test_a_doubt_is_at_most_1500_characters(toolbox: kgsparql.Toolbox) -> None:
    for question in ("What is the mass of Marie Curie?", "Which hobbies do Marie Curie and Pierre Curie share?"):
        doubtful = toolbox.call_tool("ask", {"question": question})
        assert doubtful["status"] == "partial"
        assert doubtful["answers"]
        assert doubtful["evidence"]
        assert len(compact_json(doubtful).encode()) <= DOUBTFUL == 1_500
        whole = toolbox.call_tool("ask", {"question": question, "limit": 5})
        assert len(whole["evidence"]) == 5
        assert "sparql" in whole["evidence"][0]


def test_no_text_of_the_tools_names_what_only_a_terminal_has(toolbox: kgsparql.Toolbox) -> None:
    terminal = re.compile(r"(?<!\w)--?[a-z]|kgsparql [a-z]|pip install")
    said = [INSTRUCTIONS, json.dumps(toolbox.openai())]
    for question in ("What is the mass of Marie Curie?", "Who was Batman?", "Where was Bragg born?", "the largest Xyz"):
        for tool in ("ask", "plan"):
            found = toolbox.call_tool(tool, {"question": question})
            said += [found.get("text", ""), *found["notes"], *found.get("gaps", found.get("doubts", []))]
    for name, arguments in (("show", {"entity": "Nobody"}), ("find", {"text": "?"}), ("ask", {"question": " "})):
        with pytest.raises(KgsparqlError) as error:
            toolbox.call_tool(name, arguments)
        said.append(toolbox.error_text(error.value))
    assert [text for text in said if terminal.search(text)] == []


def test_a_plan_says_how_sure_it_is_and_doubts_a_tie() -> None:
    sure = toolbox_of(SUPPLIERS).call_tool("plan", {"question": "How many suppliers are there?"})
    assert (sure["is_sure"], 0.5 < sure["confidence"] <= 1) == (True, True)
    tied = toolbox_of(
        ':P1 rdfs:label "size"@en . :P2 rdfs:label "size"@en . :Town rdfs:label "town"@en .'
        ':a a :Town ; rdfs:label "Ulm"@en ; :P1 854 ; :P2 1900 . :b a :Town ; rdfs:label "Bonn"@en ; :P1 1200 ; :P2 3 .'
    ).call_tool("plan", {"question": "Which town has the largest size?"})
    assert not tied["is_sure"]
    assert tied["doubts"]


def test_wrong_names_and_arguments_say_which_are_right(toolbox: kgsparql.Toolbox) -> None:
    with pytest.raises(InputError, match="no tool 'drop'"):
        toolbox.call_tool("drop", {})
    with pytest.raises(InputError, match="limit: Input should be less than or equal to 100") as wrong:
        toolbox.call_tool("find", {"text": "Curie", "limit": 1_000})
    assert wrong.value.hint == "find takes: max_tokens, text, limit"
    with pytest.raises(NotFoundError) as unknown:
        toolbox.call_tool("paths", {"start": "Marie Curie", "end": "Nobody At All"})
    assert "the tool find" in unknown.value.hint
    with pytest.raises(OptionError, match="did you mean 'retriever'"):
        kgsparql.tools(kgsparql.open(FIXTURES / "nobel.ttl", embedder="none"), retreiver="mindmap")
    assert toolbox.call_tool("find", '{"text": "Marie Curie", "limit": 1}')["found"][0]["label"] == "Marie Curie"
    assert toolbox.call_tool("info", "")["triples"] == 3534
    for wrong, said in (('{"text": ', "the arguments are no JSON"), ('["Curie"]', "Input should be")):
        with pytest.raises(InputError, match=said) as error:
            toolbox.call_tool("find", wrong)
        assert toolbox.error_text(error.value).startswith(f"E_INPUT: {said}")


def test_info_says_what_the_graph_is_read_as_with_the_terms_for_a_query(toolbox: kgsparql.Toolbox) -> None:
    found = toolbox.call_tool("info", {"limit": 40})
    assert "more" not in found
    (laureate,) = [line for line in found["kinds"] if "Nobel laureate (" in line]
    (award,) = [line for line in found["relations"] if line.startswith("dbo:award ")]
    assert "received the award (78): Nobel laureate → Nobel Prize; Aage Bohr — received the award → " in award
    assert {"dbo", "nob"} <= found["prefixes"].keys()
    kind, relation = (line.split()[0] for line in (laureate, award))
    query = f"SELECT (COUNT(*) AS ?n) {{ ?x a {kind} ; {relation} ?prize }}"
    assert toolbox.call_tool("query", {"sparql": query})["rows"][0][0]["label"] == "78"
    few = toolbox.call_tool("info", {"limit": 3})
    assert len("".join([*few["kinds"], *few["relations"]])) <= 3 * 240
    assert "raise limit" in few["more"]


def test_things_of_one_name_are_told_apart() -> None:
    toolbox = toolbox_of(TWO_SPRINGFIELDS)
    found = toolbox.call_tool("find", {"text": "Springfield"})["found"]
    assert {one["term"]: one["description"] for one in found} == {
        "<http://example.org/a>": "town", "<http://example.org/b>": "river",
    }  # fmt: skip
    with pytest.raises(AmbiguousLabelError) as error:
        toolbox.call_tool("show", {"entity": "Springfield"})
    said = Toolbox.error_text(error.value)
    assert "<http://example.org/a> (Springfield, town), <http://example.org/b> (Springfield, river)" in said


def test_what_is_only_near_is_said_to_be(toolbox: kgsparql.Toolbox) -> None:
    assert toolbox.call_tool("find", {"text": "Curie"})["notes"] == []
    assert "something else" in toolbox.call_tool("find", {"text": "Kurie"})["notes"][0]
    meant = {"question": "Where was he born?", "entities": ["Bohr"]}
    with pytest.raises(NotFoundError) as unknown:
        toolbox.call_tool("ask", meant)
    assert "<http://dbpedia.org/resource/Niels_Bohr> (Niels Bohr)" in unknown.value.hint
    meant["entities"] = ["<http://dbpedia.org/resource/Niels_Bohr>"]
    assert toolbox.call_tool("ask", meant)["answers"][0]["label"] == "Copenhagen"
    with pytest.raises(NotFoundError) as unknown:
        toolbox.call_tool("show", {"entity": "Nobody At All"})
    assert "perhaps" not in unknown.value.hint
    nothing = toolbox.call_tool("ask", {"question": "Who wrote Hamlet?"})
    assert nothing["status"] == "no_entity"
    assert "the tool find finds it, and entities names it" in " ".join(nothing["notes"])
    assert "start from the IRI" in toolbox.call_tool("query", {"sparql": 'SELECT * { ?x ?p "Bonn" }'})["more"]


def test_in_doubt_nothing_is_best() -> None:
    knowledge = kgsparql.KnowledgeBase(graph_of(SUPPLIERS), embedder=None)
    toolbox = kgsparql.tools(knowledge, retriever="path_ranking")  # by itself, ask takes such a plan
    answer = toolbox.call_tool("ask", {"question": "Which suppliers do we have in Toulouse?"})
    assert answer["status"] == "partial"
    said = "nothing in this graph is called 'Toulouse'"
    assert answer["text"].startswith(f"No sure answer: {said}")
    assert answer["gaps"][0] == said
    assert [one["best"] for one in answer["answers"]] == [False] * len(answer["answers"])
    assert not any("not found in the graph" in note for note in answer["notes"])


def test_a_sure_answer_is_the_text_and_brings_only_its_own_evidence(toolbox: kgsparql.Toolbox) -> None:
    born = {"question": "Where was Marie Curie born?"}
    answer = toolbox.call_tool("ask", born)
    assert answer["text"] == "Warsaw [P1]"
    assert [one["label"] for one in answer["answers"] if one["best"]] == ["Warsaw"]
    assert [item["marker"] for item in answer["evidence"]] == ["P1"]
    doubted = {"question": "Where was Marie Curie crowned?"}
    assert toolbox.call_tool("ask", doubted)["more"].endswith("give limit")
    few = toolbox.call_tool("ask", {**doubted, "limit": 3})
    assert (len(few["answers"]), len(few["evidence"])) == (3, 3)
    assert few["more"] == "3 of 5 pieces of evidence: raise limit"
    asked = {"question": "Who was the youngest Nobel laureate?"}
    few, whole = toolbox.call_tool("ask", asked), toolbox.call_tool("ask", {**asked, "limit": 10})
    assert "SELECT" not in json.dumps(few["evidence"])
    assert "SELECT" in json.dumps(whole["evidence"])
    assert "SELECT" in toolbox.call_tool("plan", asked)["sparql"]
    three = toolbox.call_tool("query", {"sparql": "SELECT * { ?s ?p ?o }", "limit": 3})
    assert (len(three["rows"]), three["is_complete"]) == (3, False)
    assert "raise limit" in three["more"]
    none = toolbox.call_tool("paths", {"start": "Marie Curie", "end": "Niels Bohr", "max_hops": 1})
    assert "raise max_hops" in none["more"]


def test_an_answer_that_a_model_chose_brings_all_evidence_that_it_cites() -> None:
    with ModelServer(Player()) as server:
        model = kgsparql.open_model("any", base_url=server.url)
        toolbox = kgsparql.tools(kgsparql.open(FIXTURES / "nobel.ttl", embedder="none"), model=model)
        answer = toolbox.call_tool("ask", {"question": "Where was Marie Curie born?"})
    cited = re.findall(r"[PN]\d+", answer["text"])
    assert len(cited) == 1
    assert (answer["is_ranked"], answer["status"]) == (False, "answered")
    assert set(cited) <= {item["marker"] for item in answer["evidence"]}


def test_another_plan_is_computed_for_who_asks_for_it(toolbox: kgsparql.Toolbox) -> None:
    question = {"question": "Which country has the most laureates?"}
    likeliest = toolbox.call_tool("plan", question)
    other = toolbox.call_tool("plan", {**question, "other_plan": 1})
    assert likeliest["is_sure"]
    assert other["words"] == likeliest["other_plans"][0]
    assert other["words"] != likeliest["words"]
    assert (other["is_sure"], other["doubts"]) == (False, ["this is a less likely reading, which was asked for"])


def test_a_table_of_other_things_or_without_a_value_is_in_doubt() -> None:
    toolbox = toolbox_of(PRICES)
    other = toolbox.call_tool("plan", {"question": "Show the amount of every supplier"})
    assert (other["rows"], other["is_sure"]) == ([], False)
    empty = toolbox.call_tool("plan", {"question": "For each service by Bolt, the average cost"})
    assert [row[1] for row in empty["rows"]] == [None]
    assert empty["doubts"][0] == "no row has a value, so this is probably not what was asked"


def test_of_predicates_of_one_name_it_is_the_one_that_is_used() -> None:
    toolbox = toolbox_of(':P35 rdfs:label "head"@en . :headOf rdfs:label "head"@en . :a :headOf :b .')
    (group,) = toolbox.call_tool("show", {"entity": "<http://example.org/a>", "predicate": "head"})["groups"]
    assert group["predicate"]["term"] == "<http://example.org/headOf>"


def test_texts_of_the_graph_are_short_without_control_characters() -> None:
    hostile = r"\u001b[31mred\u202e\u0000 <script>"
    toolbox = toolbox_of(f':a rdfs:label "{hostile}"@en ; :p "{hostile}" ; :q "{"long " * 10_000}" .')
    calls = {
        "show": {"entity": "<http://example.org/a>"}, "query": {"sparql": "SELECT * { ?s ?p ?o }"},
        "find": {"text": "red"}, "ask": {"question": "What is p of red?", "entities": ["<http://example.org/a>"]},
    }  # fmt: skip
    for name, arguments in calls.items():
        text = json.dumps(toolbox.call_tool(name, arguments), ensure_ascii=False)
        assert "red" in text
        assert len(text) < 9_000
        for escaped in ("\\u001b", "\u202e", "\\u0000", "\\u202e"):
            assert escaped not in text, name


def test_a_broken_query_is_told_with_place_and_a_hint(toolbox: kgsparql.Toolbox) -> None:
    with pytest.raises(KgsparqlError) as caught:
        toolbox.call_tool("query", {"sparql": "SELECT ?s {\n ?s ?p 'x'"})
    told = Toolbox.error_text(caught.value)
    assert told == "E_SYNTAX: line 1:11: { is never closed. write the other one of the pair, or leave both out"
