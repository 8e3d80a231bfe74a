"""The whole way on real graphs, where they lie beside the checkout."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

import kgsparql
from kgsparql import IRI, OxigraphGraph, open_graph
from tests.brute_force import all_shortest_paths
from tests.cli.conftest import Run, run  # noqa: F401 - a fixture
from tests.deep import DEEP, deep
from tests.world import FEYNMAN


def questions(folder: Path) -> list[dict[str, Any]]:
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("embedder", [deep("auto"), "none"])
def test_feynmans_colleagues(shared_data: Path, run: Run, embedder: str) -> None:  # noqa: F811
    graph = shared_data / "nobel" / "graph.nt.gz"
    done = run("ask", FEYNMAN, "-k", graph, "--no-model", "-f", "json", "--embedder", embedder)
    answer = json.loads(done.stdout)
    assert done.exit_code == (3 if answer["gaps"] else 0), done.stderr
    assert [link["term"]["label"] for link in answer["linked"]] == ["Richard P. Feynman"]
    first = [
        {t[role]["label"] for t in item["triples"] for role in ("subject", "object")}
        for item in answer["evidence"][:5]
        if item["kind"] == "path"
    ]
    caltech = "California Institute of Technology (Caltech)"
    assert any({"Richard P. Feynman", caltech, "Murray Gell-Mann"} <= item for item in first)
    assert "Richard P. Feynman" not in {a["term"]["label"] for a in answer["answers"]}
    assert all(t["verified"] is True for item in answer["evidence"] for t in item["triples"])


@pytest.fixture(params=["inverses as they are", "inverses removed"])
def emckg(request: pytest.FixtureRequest, shared_data: Path) -> OxigraphGraph:
    store = pyoxigraph.Store()
    with gzip.open(shared_data / "emckg" / "graph.nt.gz") as data:
        kept: set[tuple[object, object]] = set()
        for quad in pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.N_TRIPLES):
            if request.param == "inverses removed" and (quad.object, quad.subject) in kept:
                continue
            kept.add((quad.subject, quad.object))
            store.add(pyoxigraph.Quad(quad.subject, quad.predicate, quad.object))
    return open_graph(store, name="emckg")


@pytest.mark.longer
def test_paths_on_emckg_are_those_of_brute_force(emckg: OxigraphGraph, shared_data: Path) -> None:
    """MindMap, known mistake 8 among others: nothing depends on the inverses being there."""
    every = {quad.triple for quad in emckg.store}
    pairs = [q["topic_entities"][:2] for q in questions(shared_data / "emckg") if len(q["topic_entities"]) >= 2]
    pairs = pairs[: 20 if DEEP else 6]
    knowledge = kgsparql.KnowledgeBase(emckg, embedder="none")
    everything = {"paths_kept": 1000, "paths_per_pair": 1000, "merge_inverses": False}
    lengths, compared = set(), 0
    for pair in pairs:
        start, end = (IRI(entity["iri"]) for entity in pair)
        found = knowledge.retrieve(
            "What connects them?", entities=(start, end), retriever="mindmap", options=everything
        )
        made = {item.paths[0] for item in found.evidence if item.kind == "path" and len(item.paths[0])}
        expected = all_shortest_paths(every, start, end)
        assert made <= expected
        assert made == expected or (len(made) == 1000 < len(expected))
        compared += made == expected
        lengths |= set(map(len, made))
    assert len(lengths) > 1
    assert compared >= (15 if DEEP else 4)


@pytest.mark.parametrize(("graph", "question", "topic"), [
    deep("emckg/graph.nt.gz", "I think I might have Turner syndrome.", "Turner syndrome"),
    ("metaqa/graph.nt.gz", "what does Chunchuna Villafañe act in", "Chunchuna Villafañe"),
    ("ck25/graph.nt.gz", "What is the telephone of Baldwin Dirksen?", "Baldwin Dirksen"),
    ("wikidata_qald10/graph.nt.gz", "Who founded Aerosvit?", ""),
    deep("music/graph.nt.gz", "Who is the artist of the album Heroes?", ""),
    ("orkg/graph.nt.gz", "Which papers are about software architecture?", ""),
    deep("orkg/graph_literals.nt.gz", "Which papers are about software architecture?", ""),
])  # fmt: skip
def test_every_citation_on_real_graphs_is_found_again(shared_data: Path, graph: str, question: str, topic: str) -> None:
    answer = kgsparql.open(shared_data / graph, embedder="none").ask(question)
    assert answer.status in {"no_entity", "partial" if answer.gaps else "answered"}
    if topic:
        assert topic.casefold() in {link.label.casefold() for link in answer.linked}
        assert len(answer.evidence)
    for item in answer.evidence:
        assert all(cited.verified for cited in item.triples)


@pytest.mark.deep
@pytest.mark.timeout(1_200)  # one half is asked without an adjacency
@pytest.mark.parametrize("name", ["fb15k237", "metaqa"])
def test_paths_in_an_adjacency_give_the_same_answers(shared_data: Path, name: str) -> None:
    asked = [entry["question"] for entry in questions(shared_data / name)]
    found = []
    for indexed in (True, False):
        knowledge = kgsparql.open(shared_data / name / "graph.nt.gz", embedder="none")
        assert isinstance(knowledge.graph, OxigraphGraph)
        if indexed:
            assert knowledge.index_paths() > 100_000
        else:
            knowledge.graph.revision = None
        answers = [
            kgsparql.answer_to_json(knowledge.ask(q, retriever="path_ranking")) for q in asked[:: len(asked) // 60]
        ]
        found.append([{**answer, "usage": None} for answer in answers])
    for one, other in zip(*found, strict=True):
        assert one == other
