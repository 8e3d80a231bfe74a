"""What an answer comes to that a model reads from numbered facts: joined, met, chosen among siblings, or its own."""

import json
from collections.abc import Sequence

import pytest

from kgsparql import Evidence, Hop, Path, Retrieval, Session, Triple
from kgsparql.errors import ModelReplyError
from kgsparql.models.replies import said_answer, said_sentences
from kgsparql.rdf import path_queries
from kgsparql.retrievers._reasoning import FactSheet, answered, segments
from kgsparql.retrievers._walking import path_items
from tests.world import ex, linked, session_of

GRAPH = """
:ann :wrote :dune , :moor , :tide . :ben :filmed :moor , :rain . :moor :year 1984 . :tide :year 1990 . :ann :from :fen .
:fen :in :mark . :cid :from :fen .
"""
WROTE = [["ann", "wrote", "dune"], ["ann", "wrote", "moor"], ["ann", "wrote", "tide"]]
FILMED = [["ben", "filmed", "moor"], ["ben", "filmed", "rain"]]
FROM = [["ann", "from", "fen", "in", "mark"]]


def path(start: str, *words: str) -> Path:
    """``ann from fen ^from cid``: from the first over each pair of a predicate and a term."""
    hops, at = [], ex(start)
    for by, to in zip(words[::2], words[1::2], strict=True):
        predicate, term = ex(by.lstrip("^")), ex(to)
        hops.append(Hop(Triple(term, predicate, at), "inverse") if by[0] == "^" else Hop(Triple(at, predicate, term)))
        at = term
    return Path(ex(start), tuple(hops))


def found(paths: Sequence[Path], session: Session) -> Retrieval:
    queries = [path_queries.walk_triples(p.walk, limit=9) for p in paths]
    return Retrieval(Evidence(path_items([(p, q, 1.0) for p, q in zip(paths, queries, strict=True)], session)))


def answer(facts: Sequence[Sequence[str]], said: str, *entities: str, seen: Sequence[Sequence[str]] = ()) -> Retrieval:
    """What a reply comes to; in it, things are called by their names."""
    session = linked(session_of(GRAPH, tuple(map(ex, entities))))
    paths = [path(*words) for words in facts]
    sheet = FactSheet.of(segments(paths, session), session)
    read = said_answer(said, markers=list(sheet.lines), names=sheet.names)
    made = answered(read, sheet, found(paths, session), session, seen=[path(*words) for words in seen])
    assert made is not None
    return made


def shown(made: Retrieval) -> tuple[set[str], list[str], list[str]]:
    """What is answered, the evidence that it rests on, and what is in doubt."""
    assert made.draft is not None
    cited = dict.fromkeys(marker for claim in made.draft.claims for marker in claim.markers)
    return {a.label for a in made.draft.answers}, [made.evidence[m].text for m in cited], [g.text for g in made.gaps]


MET = [["ann", "wrote", "moor", "^filmed", "ben"]]


@pytest.mark.parametrize(("facts", "names", "used", "of", "answers", "texts"), [
    (FROM, ["mark"], ["F1", "F2"], "ann", {"mark"}, ["ann —from→ fen —in→ mark"]),  # two facts are joined
    (FROM, ["mark"], ["F2"], "ann", {"mark"}, ["ann —from→ fen —in→ mark"]),  # one on the way was not named
    ([*WROTE, *FILMED], ["moor"], ["F2", "F4"], "ann ben", {"moor"}, ["ann —wrote→ moor", "ben —filmed→ moor"]),
    (MET, ["moor"], ["F1", "F2"], "ann ben", {"moor"}, None),  # ann wrote others, which the model never saw
    (WROTE[:2], ["dune", "moor"], ["F1", "F2"], "ann", {"dune", "moor", "tide"}, None),  # all that was seen of a kind
])  # fmt: skip
def test_facts_are_joined_and_siblings_that_were_seen_stay_out(
    facts: list[list[str]], names: list[str], used: list[str], of: str, answers: set[str], texts: list[str] | None
) -> None:
    made = answer(facts, json.dumps({"answers": names, "used": used}), *of.split())
    assert shown(made)[0] == answers
    assert texts is None or shown(made)[1:] == (texts, [])


def test_what_was_seen_and_left_out_stays_out_and_what_is_named_or_led_to_by_nothing_is_in_doubt() -> None:
    taken = '{"answers": ["dune", "moor"], "used": ["F1", "F2"]}'
    assert shown(answer(WROTE[:2], taken, "ann", seen=WROTE))[0] == {"dune", "moor"}, "it saw a third and left it out"
    made = answer([["ann", "from", "fen", "^from", "cid"]], '{"answers": ["cid"], "used": ["F1", "F2"]}', "ann", "cid")
    assert (shown(made)[0], len(shown(made)[2])) == ({"cid"}, 1)
    made = answer([*FROM, FILMED[1]], '{"answers": ["rain"], "used": ["F3"]}', "ann")
    (doubt,) = shown(made)[2]
    assert shown(made)[0] == {"rain"}
    assert "no facts lead to rain" in doubt


@pytest.mark.parametrize(("step", "inference", "own"), [
    ('"used": ["F1"], "start": 1, "end": 2, "says": "a"', ["from"], []),
    ('"used": ["F1", "F2"], "start": 1, "end": 3, "says": "a"', ["from", "in"], []),
    ('"used": ["F1"], "start": 1, "end": 3, "says": "too far"', [], ["too far"]),
    ('"used": [], "start": 0, "end": 3, "says": "I know it"', [], ["I know it"]),
])  # fmt: skip
def test_a_step_is_a_fact_or_two_or_the_models_own(step: str, inference: list[str], own: list[str]) -> None:
    made = answer(FROM, f'{{"answers": [3], "used": ["F1", "F2"], "steps": [{{{step}}}]}}', "ann")
    assert made.draft is not None
    assert [one.cited.triple.predicate for one in made.draft.inference] == [ex(name) for name in inference]
    assert list(made.draft.own_steps) == own
    assert (made.draft.grounding, len(made.gaps)) == (("mixed", 1) if own else ("graph", 0))


def test_a_line_stands_once_and_a_thing_has_one_number() -> None:
    session = linked(session_of(GRAPH, (ex("ann"),)))
    paths = [path(*words) for words in (*FROM, *FROM, ["cid", "from", "fen", "in", "mark"])]
    sheet = FactSheet.of(segments(paths, session), session)
    assert list(sheet.texts) == ["F1 ann [1] —from→ fen [2]", "F2 fen [2] —in→ mark [3]", "F3 cid [4] —from→ fen [2]"]


def test_a_reply_that_names_nothing_is_of_no_use() -> None:
    with pytest.raises(ModelReplyError):
        said_answer("The answer is Mark.", markers=["F1"], names=["Mark"])
    for text in ('{"sentences": 5}', '{"sentences": {"P1": "So."}}', "{}"):
        with pytest.raises(ModelReplyError):
            said_sentences(text, markers=["P1"])


def test_a_list_may_be_written_as_a_text() -> None:
    names, markers = ["Ann", "Washington, D.C."], ["P1", "N1", "N2"]
    for said, answers, used, dropped in (
        ('"answers": "1, 2", "used": "P1, N1"', (1, 2), ("P1", "N1"), 0),
        ('"answers": "Washington, D.C.", "used": [2]', (2,), ("N2",), 0),
        ('"answers": ["Ann [1]", 0, true, [1]], "used": [1]', (1,), (), 3),
        ('"answers": "none", "used": ""', (), (), 0),
    ):
        read = said_answer(f"{{{said}}}", markers=markers, names=names)
        assert (read.answers, read.used, read.dropped) == (answers, used, dropped)
