"""StructGPT's facts as evidence: the likeliest that fit into a prompt, and, for a draft, the walks it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from kgsparql.answering.answer import AnswerTerm, Draft, Retrieval
from kgsparql.answering.choosing import Candidate
from kgsparql.answering.ranked_answers import answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.path_expansion import expanded_items
from kgsparql.evidence.term_labels import statement_labels
from kgsparql.evidence.verbalising import Line, arrow, line_text, name_of, path_text
from kgsparql.graphs.cut import Cut
from kgsparql.linking.answer_type import word_overlap
from kgsparql.models.chat_completion import Message, estimated_tokens
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path, Walk
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Term, local_name
from kgsparql.retrievers._struct_gpt_expansions import FoundFacts, ReachedTerms, Unit
from kgsparql.retrievers._walking import terms_of

_COMPARED = 500  # labels that are compared with the question by meaning; of more labels, those that share words with it
_CHARACTERS = 1_900  # most characters of one item's text: a model reads no more of it

COMPLETED = 20
"""Most walks that are followed to all their ends."""

_OTHERS = 5  # items that are shown beside those that an answer rests on


def likeliest(texts: Sequence[str], session: Session) -> list[int]:
    """The places of the texts, those that fit the question best first; ties in the order given."""
    question = session.masked_question
    order = list(range(len(texts)))
    if len(order) > _COMPARED:
        shared = [word_overlap(question, text) for text in texts]
        order.sort(key=lambda i: -shared[i])
        session.note_cuts([Cut("names compared by meaning", _COMPARED, len(texts))])
    compared, rest = order[:_COMPARED], order[_COMPARED:]
    scores = session.score([Candidate(i, texts[i]) for i in compared])
    ranked = dict(zip(compared, scores, strict=True))
    return [*sorted(compared, key=lambda i: -ranked[i]), *rest]


def shown_facts(found: Sequence[FoundFacts], session: Session, *, tokens: int) -> list[FoundFacts]:
    """The facts of one step that fit into so many tokens: the likeliest of each predicate in turn."""
    ways = [way for one in found for unit in one.units for way in unit]
    labels, _ = statement_labels(ways, session.labels, session.labels(terms_of(ways)), in_grace=False)
    texts = [[_text(unit, one, labels) for unit in one.units] for one in found]
    sizes = [[_tokens(text) for text in own] for own in texts]
    room = [max(1, _CHARACTERS // 4)] * len(found)
    if sum(map(sum, sizes)) <= tokens and all(sum(own) <= most for own, most in zip(sizes, room, strict=True)):
        return [replace(one, shown=one.units) for one in found]
    orders = [likeliest(own, session) for own in texts]
    kept: list[list[int]] = [[] for _ in found]
    left = tokens
    for turn in zip_longest(*orders):
        for i, place in enumerate(turn):
            if place is None or (kept[i] and (sizes[i][place] > left or sizes[i][place] > room[i])):
                continue
            kept[i].append(place)
            left -= sizes[i][place]
            room[i] -= sizes[i][place]
    some = [replace(one, shown=tuple(one.units[i] for i in own)) for one, own in zip(found, kept, strict=True)]
    session.note_cuts(_left_out(one, labels) for one in some if len(one.shown) < len(one.units))
    return some


def fact_item(one: FoundFacts, session: Session) -> EvidenceItem:
    """The facts of one predicate as an item of evidence, each with the path to it from the topic."""
    named = session.labels(terms_of(way for unit in one.units for way in unit), in_grace=True)
    labels, beside = statement_labels(one.ways, session.labels, named)
    parts = list(_texts(one, labels))
    walks = one.reached_terms()
    alone = walks[0] if len(walks) == 1 and not one.mediated else None
    cited = dict.fromkeys(CitedTriple(hop.triple, hop.direction) for way in one.ways for hop in way.hops)
    return EvidenceItem(
        kind="path",
        text=" | ".join(parts),
        triples=(*cited, *beside),
        query=_query(one, walks),
        score=one.score + one.oracle_steps,
        cuts=one.cuts,
        ways=one.ways,
        ends=alone.ends if alone else (),
    )


def candidates_of(shown: Iterable[tuple[EvidenceItem, FoundFacts]], session: Session) -> Iterator[AnswerTerm]:
    """The ends of the walks of these items, in the order of the items, each once."""
    markers: dict[Term, list[str]] = {}
    scores: dict[Term, float] = {}
    for item, one in shown:
        for end in dict.fromkeys(end for reached in one.reached_terms() for end in reached.ends):
            markers.setdefault(end, []).append(item.marker)
            scores[end] = max(scores.get(end, item.score), item.score)
    labels = session.labels(markers, in_grace=True)
    for end, own in markers.items():
        yield AnswerTerm(end, labels[end], scores[end], tuple(own))


def _texts(one: FoundFacts, labels: Mapping[Term, str]) -> Iterator[str]:
    plain = [unit[0] for unit in one.shown if not one.is_mediated(unit)]
    mediated = [unit for unit in one.shown if one.is_mediated(unit)]
    missing = len(one.units) - len(one.shown)
    if plain:
        count = len(plain) + (0 if mediated else missing)
        line = Line(one.walk.path, tuple(plain), count, exact=not one.cuts)
        yield line_text(line, labels, shown=len(plain))
    for i, unit in enumerate(mediated):
        yield _mediated_text(unit, labels, lead=i == 0)
    if mediated and missing:
        yield f"… {missing:,} more"


def _text(unit: Unit, one: FoundFacts, labels: Mapping[Term, str]) -> str:
    """The text of a unit: its last term and the one before, or everything behind a mediator."""
    if one.is_mediated(unit):
        return _mediated_text(unit, labels)
    before = [name_of(unit[0].hops[-1].start, labels)] if len(unit[0]) > 1 else []
    return " ".join([*before, name_of(unit[0].end, labels)])


def _mediated_text(unit: Unit, labels: Mapping[Term, str], *, lead: bool = False) -> str:
    """A mediator with everything behind it, after the triple that leads to it."""
    *before, joining, _ = unit[0].hops
    # A longer path from the topic to the mediator is repeated for each mediator, since it may differ.
    begun = path_text(Path(unit[0].start, tuple(before)) if lead or len(before) > 1 else Path(joining.start), labels)
    behind: dict[str, list[str]] = {}
    for way in unit:
        behind.setdefault(arrow(way.hops[-1].step, labels), []).append(name_of(way.end, labels))
    properties = "; ".join(f"{step} {', '.join(ends)}" for step, ends in behind.items())
    mediator = joining.end
    has_name = isinstance(mediator, IRI) and labels[mediator] not in {local_name(mediator), "[]"}
    name = f"{name_of(mediator, labels)} " if has_name else ""
    return f"{begun} {arrow(joining.step, labels)} {name}[{properties}]"


def _tokens(text: str) -> int:
    return estimated_tokens([Message("user", text)]) - estimated_tokens([Message("user", "")]) + 1


def _left_out(one: FoundFacts, labels: Mapping[Term, str]) -> Cut:
    arrows = " ".join(arrow(step, labels) for step in one.walk.path.steps)
    where = f"{labels[one.walk.start]} {arrows}"
    return Cut("facts shown", len(one.shown), len(one.units), where)


def _query(one: FoundFacts, walks: Iterable[ReachedTerms]) -> Query:
    """The query for everything on the walks of an item; for an item that was cut, for just its ends."""
    arms = []
    for number, reached in enumerate(list(walks)[:MAX_ARMS]):
        walk = reached.walk
        arms.append(
            path_queries.walk_triples(
                walk.path, [walk.start], None if one.is_whole else reached.ends,
                limit=max(1_000, 2 * len(reached.ends)), constraints=walk.constraints, number=number,
            )
        )  # fmt: skip
    return arms[0] if len(arms) == 1 else Query.union(arms)


def cited_retrieval(seen: Retrieval, found: Sequence[FoundFacts], draft: Draft, session: Session) -> Retrieval:
    """The walks that a draft rests on, followed to all their ends; if that finds more ends, without the draft."""
    seen = replace(seen, draft=draft, sufficient=True)
    cited = {marker for claim in draft.claims for marker in claim.markers}
    cited |= {marker for answer in draft.answers for marker in answer.markers}
    used = [(item, one) for item, one in zip(seen.evidence, found, strict=True) if item.marker in cited]
    others = [replace(item, ends=()) for item in seen.evidence if item.marker not in cited][:_OTHERS]
    walks = _walks_to([one for _, one in used], draft)
    expanded: list[EvidenceItem | None] = []
    with session.within_budget():
        expanded = expanded_items(list(walks), session.labels) if session.complete else []
    if not any(expanded):
        return seen
    read = {way.end for _, one in used for way in one.ways}
    if all(item is None or read.issuperset(item.ends) for item in expanded):
        whole = {walk: item for walk, item in zip(walks, expanded, strict=True) if item is not None}
        evidence = Evidence([*_complete_items(used, whole, first=len(seen.evidence) + 1), *others])
        left = (replace(c, markers=tuple(m for m in c.markers if m in evidence)) for c in seen.candidates)
        return replace(seen, evidence=evidence, candidates=tuple(c for c in left if c.markers))
    if session.usage.calls_left == 0:
        session.notes.append("the budget holds no call for all that was found: the answer rests on a sample")
        return seen
    items = [replace(item, score=1.0 + walks[w]) for w, item in zip(walks, expanded, strict=True) if item is not None]
    evidence = Evidence([*items, *(replace(item, marker="") for item in others)])
    return Retrieval(evidence=evidence, candidates=answers_at_ends(evidence, session), sufficient=True)


def _walks_to(used: Sequence[FoundFacts], draft: Draft) -> dict[Walk, float]:
    """The walks of the cited facts with their scores; behind mediators, only those that lead to an answer."""
    answers = {answer.term for answer in draft.answers}
    walks: dict[Walk, float] = {}
    for one in used:
        reached = one.reached_terms()
        leading = [own for own in reached if answers.intersection(own.ways)]
        walks |= {own.walk: one.score for own in leading or reached}
    return dict(list(walks.items())[:COMPLETED])


def _complete_items(
    used: Iterable[tuple[EvidenceItem, FoundFacts]], whole: Mapping[Walk, EvidenceItem], *, first: int
) -> Iterator[EvidenceItem]:
    """The items that a model has read, each with the query and the ends of its first walk that leads to an answer.

    Each other walk through mediators becomes an item of its own, after all that were read, from marker ``first`` on.
    """
    more: dict[Walk, EvidenceItem] = {}
    given: set[Walk] = set()
    for item, one in used:
        own = [(reached.walk, whole[reached.walk]) for reached in one.reached_terms() if reached.walk in whole]
        for walk, complete in own[:1]:
            given.add(walk)
            yield replace(item, query=complete.query, ends=complete.ends)
        if not own:
            yield item
        more |= {walk: replace(complete, score=item.score) for walk, complete in own[1:]}
    others = [complete for walk, complete in more.items() if walk not in given]
    yield from (replace(complete, marker=f"P{number}") for number, complete in enumerate(others, first))
