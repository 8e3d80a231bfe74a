"""``kgsparql retrievers``: what it lists, and methods of other packages, which it lists, explains and asks with."""

import json
import sys
from pathlib import Path

import pytest

import kgsparql
from kgsparql.retrievers import find, load, names
from tests.cli.conftest import Run
from tests.world import NOBEL

OUTSIDE = '''
"""A method of another package."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from kgsparql.answering.answer import AnswerTerm, Retrieval
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.exploration import neighbours
from kgsparql.rdf.query import Query
from kgsparql.answering.retriever import Cost, Retriever


@dataclass(frozen=True, slots=True)
class OneHop(Retriever):
    """Everything beside the first entity.

    :param lines: how many
        to show.
    :param order: which come first.
    :param word: what else to look for.
    :param limit: the most; none for all.
    :param loud: whether to say it louder.
    :param weight: what it counts for.
    """

    name: ClassVar[str] = "one_hop"
    summary: ClassVar[str] = "what is beside | the first entity"
    source: ClassVar[str] = "a test"
    lines: int = 3
    order: Literal["first", "last"] = "first"
    word: str = ""
    limit: int | None = None
    loud: bool = False
    weight: float = 0.5

    def cost(self, *, entities=1, **_):
        return Cost(calls=1, rounds=1, queries=self.lines + 4 * entities + (self.order == "last"))

    def retrieve(self, session):
        items, answers = [], []
        for link in session.links[:1]:
            groups = neighbours(session.graph, [link.term], direction="forward").items
            for group in groups[: self.lines]:
                cited = [CitedTriple(path.triples[0]) for path in _paths(link.term, group)]
                labels = session.labels([group.step.predicate, *group.neighbours])
                text = f"{link.label} —{labels[group.step.predicate]}→ {labels[group.neighbours[0]]}"
                items.append(EvidenceItem("neighbours", text, tuple(cited), Query("q", "SELECT * { ?s ?p ?o }")))
                marker = f"N{len(items)}"
                answers += [AnswerTerm(end, labels[end], 1.0, (marker,)) for end in group.neighbours]
        return Retrieval(Evidence(items), tuple(answers))


def _paths(start, group):
    from kgsparql.rdf.paths import Hop, Path
    from kgsparql.rdf.terms import Triple

    return [Path(start, (Hop(Triple(start, group.step.predicate, end), "forward"),)) for end in group.neighbours]
'''


def test_all_methods_are_listed_with_what_they_cost_in_each_format(run: Run, tmp_path: Path) -> None:
    done = run("retrievers")
    assert done.exit_code == 0, done.stderr
    for name in names():
        assert f"{name} " in done.stdout
        assert find(name).summary in done.stdout
        assert find(name).source in done.stdout
    assert done.stdout.count("model calls: ") == len(names())
    one = run("retrievers", "mindmap").stdout
    for said in (
        "model calls        3\n", "paths shown, over all chains (int; default 5)",
        "(model | linker; default model)", "(true | false; default true)",
    ):  # fmt: skip
        assert said in one
    listed = json.loads(run("retrievers", "-f", "json").stdout)
    assert [method["name"] for method in listed] == names()
    mindmap = json.loads(run("retrievers", "mindmap", "-f", "json").stdout)
    assert mindmap == next(other for other in listed if other["name"] == "mindmap")
    assert mindmap["cost"]["calls"] == {"value": 3, "where": {}}
    assert mindmap["cost"]["queries"]["where"] == {"entities": 1}
    hops = {"name": "max_hops", "type": "int", "default": "5", "about": "the longest shortest path"}
    assert hops in mindmap["options"]
    assert run("retrievers", "-o", tmp_path / "methods.txt").stdout == ""
    assert (tmp_path / "methods.txt").read_text() == done.stdout
    unknown = run("retrievers", "mindmapp")
    assert unknown.exit_code == 2
    assert "'mindmapp'" in unknown.stderr
    assert "mindmap" in unknown.stderr.splitlines()[-1]
    assert run("retrievers", "-f", "xml").exit_code == 2


def test_a_method_of_ones_own_is_named_on_the_command_line_and_in_python_and_in_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_methods.py").write_text(OUTSIDE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    asked = ("ask", "Where was Marie Curie born?", "-k", NOBEL, "-q", "--no-model")
    done = run(*asked, "-r", "own_methods:OneHop", "-O", "lines=2", "-f", "json")
    assert json.loads(done.stdout)["retriever"] == "one_hop", done.stderr
    knowledge = kgsparql.open(NOBEL, embedder="none")
    assert knowledge.ask("Where was Marie Curie born?", retriever="own_methods:OneHop").retriever == "one_hop"
    for name in ("own_methods:Nope", "no_such_module:OneHop", "own_methods:Cost"):
        done = run(*asked, "-r", name)
        assert (done.exit_code, "module:Class" in done.stderr) == (2, True), name
    (tmp_path / "kgsparql.toml").write_text('[method]\nname = "own_methods:OneHop"\n')
    monkeypatch.setenv("KGSPARQL_CONFIG", "kgsparql.toml")
    done = run(*asked)
    assert (done.exit_code, "on the command line alone" in done.stderr) == (2, True), done.stderr


def test_the_options_of_a_method_of_ones_own_are_shown_and_checked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = OUTSIDE + "\n\n@dataclass(frozen=True)\nclass Costly(OneHop):\n    name: ClassVar[str] = 'costly'\n"
    code += "    def cost(self, **_):\n        return Cost(calls='many', rounds=1, queries=1)\n"
    (tmp_path / "more_methods.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    method = "more_methods:OneHop"
    shown = run("retrievers", method).stdout
    assert "queries            7 (entities = 1)" in shown
    assert "lines   how many to show (int; default 3)" in shown
    assert "word    what else to look for (text; default nothing)" in shown
    assert "limit   the most; none for all (int | none; default none)" in shown
    asked = ("ask", "Where was Marie Curie born?", "-k", NOBEL, "--embedder", "none", "--no-model", "-f", "json")
    done = run(*asked, "-r", method, "-O", "lines=2", "-O", "word=a, b", "-O", "limit=none", "-O", "order=last")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["retriever"], answer["status"]) == ("one_hop", "answered")
    assert [item["marker"] for item in answer["evidence"]] == ["N1", "N2"]
    assert all(triple["verified"] for item in answer["evidence"] for triple in item["triples"])
    assert load(method, {"word": "a, b", "limit": "7", "loud": "yes"}) == find(method)(word="a, b", limit=7, loud=True)
    wrong = run(*asked, "-r", method, "-O", "order=middle")
    assert wrong.exit_code == 2
    assert "is not first | last" in wrong.stderr
    for value in ("nan", "inf", "half", ""):
        assert run(*asked, "-r", method, "-O", f"weight={value}").exit_code == 2
    costly = run("retrievers", "more_methods:Costly")
    assert (costly.exit_code, "does not say what it costs" in costly.stderr) == (2, True)
