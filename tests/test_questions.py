"""Questions of small graphs, with the answers that they must have: tables in ``questions/``, a graph and its rows each.

A graph is Turtle text, the usual prefixes declared, below a line ``== what is promised``; its rows stand below ``--``::

    Which concerts had 10,000 visitors?  = Spring
    What are the stops of Line Nine?  > Quay; Mint; Alder
    Which composers died before 1950?  ~ Ann Alder | cannot be read as a date
    Which operas premiered on 30 February 1990?  ! there is no such date as '30 February 1990'

``=`` is what is answered, ``>`` in this order; ``~`` what is not sure (either part may be missing), and why; ``!`` is
no answer, and why. After ``|`` is a part of what is said: of a doubt, the text of the answer or its evidence. A promise
may end in ``@`` and the method to be asked by. Whatever the row, all that is cited was found again, and what was
computed came out the same.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgsparql
from kgsparql import Answer, OxigraphGraph
from kgsparql.plans.running import run
from tests.endpoints.servers import oxigraph_serve, store_of
from tests.engines import engine_from_quads
from tests.world import FIXTURES, PREFIXES, known, open_nobel

TABLES = Path(__file__).parent / "questions"
ROW = re.compile(r"(?P<question>.*?)  (?P<sign>[=>~!])(?: (?P<labels>[^|]*?))?(?: ?\| (?P<why>.*))?")


def blocks() -> Iterator[tuple[str, str, list[str]]]:
    """Yield each promise with its graph and its rows."""
    for file in sorted(TABLES.glob("*.txt")):
        for block in file.read_text(encoding="utf-8").split("== ")[1:]:
            head, _, rows = block.partition("\n--\n")
            promise, _, turtle = head.partition("\n")
            yield f"{file.stem}: {promise}", turtle, [row for row in rows.splitlines() if row]


def is_as_expected(answer: Answer, row: re.Match[str]) -> bool:
    """Tell whether an answer is what its row says."""
    sign, said, gaps = row["sign"], [own.label for own in answer.best], "; ".join(gap.text for gap in answer.gaps)
    if (row["why"] or "") not in "\n".join([gaps, answer.text, *(item.text for item in answer.evidence)]):
        return False
    if sign == "!":
        return answer.status in {"not_in_graph", "no_entity"} and not answer.answers and gaps == row["labels"]
    if sign == "~":
        return answer.status != "answered" and set((row["labels"] or "").split("; ")) - {""} <= set(said)
    expected = row["labels"].split("; ")
    return answer.status == "answered" and (said == expected if sign == ">" else sorted(said) == sorted(expected))


@pytest.mark.parametrize(("promise", "turtle", "rows"), [pytest.param(*own, id=own[0]) for own in blocks()])
def test_questions_have_the_answers_of_their_table(promise: str, turtle: str, rows: list[str]) -> None:
    file, method, wrong = FIXTURES / turtle[:80], promise.partition(" @")[2] or "auto", []
    knowledge = kgsparql.open(file, embedder="none") if turtle.endswith((".ttl", ".trig")) else known(turtle)
    knowledge = open_nobel() if turtle == "nobel.ttl" else knowledge
    for line in rows:
        row = ROW.fullmatch(line.partition("  # ")[0])
        assert row, line
        answer = knowledge.ask(row["question"], retriever=method)
        if not is_as_expected(answer, row):
            wrong.append((line, answer.status, [own.label for own in answer.best], [gap.text for gap in answer.gaps]))
        texts = [item.text for item in answer.evidence]
        assert len(texts) == len(set(texts)), line
        assert all(cited.verified for item in answer.evidence for cited in item.triples), line
        assert answer.computed is None or answer.computed.is_confirmed is not False, line
    assert wrong == []


@pytest.mark.parametrize("promise", ["times with zones are compared as instants"])
def test_what_is_computed_comes_out_the_same_on_another_engine(promise: str) -> None:
    (found,) = [own for own in blocks() if own[0].endswith(promise)]
    knowledge = known(found[1])
    assert isinstance(knowledge.graph, OxigraphGraph)
    other = engine_from_quads("rdflib", list(knowledge.graph.store))
    for line in found[2]:
        computed = knowledge.ask(line.partition("  ")[0]).computed
        assert computed is not None
        again = run(computed.plan, other)
        assert (again.rows, again.is_confirmed) == (computed.rows, True)


def test_a_server_is_asked_the_same(tmp_path: Path) -> None:
    """By one graph that says something of its facts, in ways that servers write each in their own."""
    (found,) = [own for own in blocks() if own[0].startswith("annotations")]
    (tmp_path / "club.ttl").write_text(PREFIXES + found[1])
    with oxigraph_serve(store_of(tmp_path / "club.ttl", tmp_path / "store")) as url:
        answer = kgsparql.open(url, embedder="none").ask("Since when is Ada Pell married to Bo Rask?")
    assert [one.label for one in answer.best] == ["1999"], answer.gaps
