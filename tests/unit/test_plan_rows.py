"""Tables of a model's plan whose rows go on from a column, are held to a class, or count over each group."""

from collections.abc import Iterator

import pytest

from benchmarks.golden import is_given_by_facts
from kgsparql import KnowledgeBase, open_graph
from tests.serving.sparql_server import sparql_server
from tests.unit.test_written_plans import ask, named, prompts
from tests.world import Asked, graph_of

PHOTO = """
@prefix : <http://e.org/> .
:Camera rdfs:label "camera" . :Lens rdfs:label "lens" . :Bag rdfs:label "bag" . :Maker rdfs:label "maker" .
:price rdfs:label "price" . :fits rdfs:label "fits" . :by rdfs:label "made by" . :weight rdfs:label "weight" .
:Rex a :Camera ; rdfs:label "Rex" ; :price 900 ; :by :Ono ; :fits :Wide, :Tele, :Sling .
:Dot a :Camera ; rdfs:label "Dot" ; :price 200 ; :by :Ono ; :fits :Wide .
:Max a :Camera ; rdfs:label "Max" ; :price 400 ; :by :Kin .
:Old a :Camera ; rdfs:label "Old" ; :price 200 ; :by :Kin .
:Wide a :Lens ; rdfs:label "Wide" ; :price 350 ; :weight 2, 3 . :Tele a :Lens ; rdfs:label "Tele" ; :price 1100 .
:Sling a :Bag ; rdfs:label "Sling" ; :price 60 ; :weight 1 . :Nova a :Lens ; rdfs:label "Nova" .
:Ono a :Maker ; rdfs:label "Ono" . :Kin a :Maker ; rdfs:label "Kin" .
"""


@pytest.fixture(scope="module", params=["file", "endpoint"])
def photo(request: pytest.FixtureRequest) -> Iterator[KnowledgeBase]:
    embedded = KnowledgeBase(graph_of(PHOTO), embedder="none")
    if request.param == "file":
        yield embedded
        return
    with sparql_server(embedded) as server:
        yield KnowledgeBase(open_graph(server.url), embedder="none")


@pytest.fixture(scope="module")
def names(photo: KnowledgeBase) -> dict[str, str]:
    (prompt,) = prompts(ask(photo, "Which camera, lens and bag has which price, weight, fits, made by?", "(count C1)"))
    lines = {
        "camera": "camera, ", "lens": "lens, ", "price": "price: ", "fits": "fits: ", "by": "made by: ",
        "weight": "weight: ",
    }  # fmt: skip
    return {key: named(prompt, line) for key, line in lines.items()}


def rows(asked: Asked) -> list[str]:
    """The rows, with names; the facts that they rest on give them again in a second store."""
    computed = asked.answer.computed
    assert computed is not None, asked.answer.text
    assert is_given_by_facts(computed), asked.answer.text
    labels = asked.answer.labels
    return [" ".join(labels.get(t, getattr(t, "value", "")) if t else "–" for t in row) for row in computed.rows]


@pytest.mark.parametrize(("question", "plan", "found"), [
    ("Each camera, what it fits, and the price difference?",
     "(table {camera} ((name) (fits {fits}) (price (- {price} (of fits {price})))) order=price desc)",
     ["Rex Sling 840", "Rex Wide 550", "Dot Wide -150", "Rex Tele -200", "Max – –", "Old – –"]),
    ("Each camera with the lens that it fits?",
     "(table {camera} ((name) (lens (to {fits} {lens}))) having=(lens != E9))", None),
    ("Each camera with a lens that costs more than it?",
     "(table {camera} ((name) (lens (to {fits} {lens})) (price (of lens {price}))) having=(price > {price}))",
     ["Dot Wide 350", "Rex Tele 1100"]),
    ("How many cameras of each maker cost more than 300, and their mean price, rounded?",
     "(group {camera} {by} ((n (count (where each {price} > 300))) (p (round (avg each {price}) 0))) order=p desc)",
     ["Ono 1 550", "Kin 1 300"]),
    ("What share of the cameras in percent has each maker with at least as many as half of them?",
     "(group {camera} {by} ((share (* 100 (/ (count each) (count {camera}))))) having=(share >= 50))",
     ["Kin 50", "Ono 50"]),
    ("Each maker with more cameras than the average?",
     "(group {camera} {by} ((cameras)) having=(cameras >= (/ (count {camera}) (count (ends {camera} {by})))))",
     ["Kin 2", "Ono 2"]),
    ("The dearest 30 percent of the cameras?", "(top {camera} {price} 30% desc)", ["Max", "Rex"]),
    ("More than half of the lenses fit?", "(compare (count (ends {camera} {fits})) > (* 0.5 (count {lens})))",
     ["true"]),
])  # fmt: skip
def test_rows_go_on_from_a_column_and_groups_have_any_number(
    photo: KnowledgeBase, names: dict[str, str], question: str, plan: str, found: list[str] | None
) -> None:
    asked = ask(photo, question, plan.format(**names), plan.format(**names))
    if found is None:
        assert "E9 is not in the list" in prompts(asked)[1]
        return
    assert len(prompts(asked)) == 1
    assert (rows(asked) if "order" in plan else sorted(rows(asked))) == found


def test_columns_that_multiply_are_a_doubt_and_ties_at_a_cut_are_said(
    photo: KnowledgeBase, names: dict[str, str]
) -> None:
    own = {**names, "both": "(weight (of fits {weight}))".format(**names)}
    plan = "(table (and {camera} (has {camera} {fits})) ((name) (fits {fits}) (weight ({fits} {weight}))))".format(
        **own
    )
    apart = ask(photo, "Each camera, what it fits, and its weight?", plan)
    assert "each fits with each weight fits the question as well as those that belong together" in apart.answer.text
    plan = "(table (and {camera} (has {camera} {fits})) ((name) (fits {fits}) {both}))".format(**own)
    assert ask(photo, "Each camera, what it fits, and its weight?", plan).answer.status == "answered"
    cut = ask(photo, "The 3 cheapest cameras?", "(top {camera} {price} 3 asc)".format(**names))
    assert "share the last place" not in cut.answer.text
    cut = ask(photo, "The cheapest 25 percent of cameras by how many things they fit?",
              "(table {camera} ((name) (n (n {fits}))) order=n asc limit=1)".format(**names))  # fmt: skip
    assert "1 more share the last place" in cut.answer.text


OBSERVED = """
@prefix : <http://e.org/> .
:Reading rdfs:label "reading" . :River rdfs:label "river" . :at rdfs:label "river" . :on rdfs:label "day" .
:level rdfs:label "level" . :unit rdfs:label "unit" .
:Main a :River ; rdfs:label "Main" . :Lech a :River ; rdfs:label "Lech" .
:r1 a :Reading ; :at :Main ; :on "2024-05-01"^^xsd:date ; :level 210 ; :unit "cm" .
:r2 a :Reading ; :at :Lech ; :on "2024-05-01"^^xsd:date ; :level 90 ; :unit "cm" .
:r3 a :Reading ; :at :Main ; :on "2024-05-02"^^xsd:date ; :level 190 ; :unit "cm" .
"""


def test_bare_numbers_of_readings_are_rows_of_whose_when_and_value() -> None:
    rivers = KnowledgeBase(graph_of(OBSERVED), embedder="none")
    own = rivers.ask("What are the levels of the readings of the Main?")
    (prompt,) = prompts(ask(rivers, "Which levels had the readings?", "(count C1)"))
    plan = f"(ends {named(prompt, 'reading, ')} {named(prompt, 'level: ')})"
    by_model = ask(rivers, "Which levels had the readings?", plan)
    for answer, told in ((own, 2), (by_model.answer, 3)):
        assert answer.computed is not None
        rows = {
            " ".join(answer.labels.get(t, getattr(t, "value", "")) for t in row if t) for row in answer.computed.rows
        }
        assert len(rows) == told, answer.text
        assert {"Main", "2024-05-01", "210"} <= {word for row in rows for word in row.split()}


def test_without_a_model_a_percentage_is_read_and_a_column_is_held_to_its_class(photo: KnowledgeBase) -> None:
    for question, found in (
        ("What are the top 50 percent of cameras by price?", ["Max", "Rex"]),
        ("What are the cheapest 50 % of all cameras?", ["Dot", "Old"]),
    ):
        answer = photo.ask(question)
        assert (answer.status, sorted(one.label for one in answer.best)) == ("answered", found), answer.text
    held = photo.ask("For each camera its lens").computed
    assert held is not None
    assert sorted(str(row[1]) for row in held.rows if row[1]) == sorted(
        f"<http://e.org/{name}>" for name in ("Wide", "Tele", "Wide")
    ), "and not the bag"
