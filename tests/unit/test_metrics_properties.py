"""What holds for every metric, whatever was asked and given."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kgsparql.evaluation.dataset import Question
from kgsparql.evaluation.metrics import METRICS
from kgsparql.evaluation.record import Record
from tests.unit.scored import asking, entity, item, link, record, scores, topics, triple

QUALITY = {"answer", "evidence", "linking", "grounding"}
NAMES = st.lists(st.sampled_from("a b c d e f".split()), max_size=8)
TRIPLES = st.lists(st.sampled_from(["a p b", "b p c", "c p a", "a q c"]), max_size=6)


MARKERS, SCORES, DEGREES = st.sampled_from(["", "P1", "P2"]), st.sampled_from([1.0, 0.5]), st.none() | st.integers(0, 3)
STATUS = st.sampled_from(["answered", "partial", "not_in_graph", "no_entity", "error"])


@st.composite
def asked(draw: st.DrawFn) -> tuple[Question, Record]:
    golden, topic = tuple(map(triple, draw(TRIPLES))), topics(" ".join(draw(NAMES)))
    question = asking(" ".join(draw(NAMES)), topics=topic, golden_triples=golden)
    answers = [entity(n, score=draw(SCORES), marker=draw(MARKERS), degree=draw(DEGREES)) for n in draw(NAMES)]
    linked = tuple(link(name, *draw(NAMES)) for name in draw(NAMES)[:2])
    claims = (("x", ("P1",)),) if draw(st.booleans()) else ()
    text, is_ranked, evidence = " ".join(draw(NAMES)), draw(st.booleans()), (item(*draw(TRIPLES)),)
    more = {"linked": linked, "claims": claims, "evidence": evidence}
    return question, record(*answers, status=draw(STATUS), ranked=is_ranked, text=text, **more)


@given(asked())
def test_every_quality_is_between_0_and_1_and_f1_between_precision_and_recall(pair: tuple[Question, Record]) -> None:
    found = scores(*pair, groups=QUALITY)
    assert all(value is None or 0 <= value <= 1 for value in found.values())
    for prefix in ("", "triple_"):
        parts = [found[f"{prefix}{name}"] for name in ("precision", "recall", "f1")]
        if None not in parts:
            precision, recall, f1 = parts
            assert min(precision, recall) - 1e-12 <= f1 <= max(precision, recall) + 1e-12 or f1 == 0
    assert found["hits@1"] <= found["hits@3"] <= found["hits@5"] <= found["hits@10"]
    assert found["hits@1"] <= found["mrr"] or found["hits@1"] == found["mrr"] == 1


@given(asked(), st.randoms(use_true_random=False))
def test_the_order_of_what_is_right_and_of_one_path_does_not_matter(
    pair: tuple[Question, Record], chance: random.Random
) -> None:
    question, made = pair
    names = ("answers", "topics", "golden_triples")
    shuffled = {name: tuple(chance.sample(own, len(own))) for name in names for own in [getattr(question, name)]}
    assert scores(question, made) == scores(replace(question, **shuffled), made)
    answers = tuple(replace(answer, score=1.0, markers=("P1",), degree=1) for answer in made.answers)
    one = replace(made, ranked=True, answers=answers)
    other = replace(one, answers=tuple(chance.sample(answers, len(answers))))
    assert scores(question, one, groups={"answer"}) == scores(question, other, groups={"answer"})


@given(asked())
def test_a_wrong_answer_or_triple_more_never_helps(pair: tuple[Question, Record]) -> None:
    question, made = pair
    worse = replace(made, evidence=(*made.evidence, item("x p y", marker="P2")))
    before, after = (scores(question, some, groups={"evidence"}) for some in (made, worse))
    assert all(before[name] is None or after[name] <= before[name] for name in before)
    if question.answers and made.status != "error":
        chosen = replace(made, ranked=False)
        last = chosen.answers[-1] if chosen.answers else entity("a")
        worse = replace(chosen, answers=(*chosen.answers, replace(entity("wrong"), score=last.score)))
        before, after = (scores(question, some, groups={"answer"}) for some in (chosen, worse))
        assert all(after[name] <= before[name] for name in ("precision", "f1", "recall"))


@given(asked())
def test_giving_exactly_what_is_right_is_perfect(pair: tuple[Question, Record]) -> None:
    question, _ = pair
    given = [entity(answer.label) for answer in question.answers or ()]
    perfect = record(*given, status="answered" if given else "not_in_graph", ranked=True)
    names = [m.name for m in METRICS.values() if m.group == "answer"]
    assert [scores(question, perfect)[name] for name in names] == [1] * len(names)
