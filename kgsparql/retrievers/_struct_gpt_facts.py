"""What StructGPT shows of the facts it found: the likeliest, as many as fit, as items of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from kgsparql.answering.answer import AnswerTerm
from kgsparql.answering.choosing import Candidate
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import CitedTriple, Evidence, EvidenceItem
from kgsparql.evidence.verbalising import Line, arrow, line_terms, line_text, name_of, path_text
from kgsparql.evidence.wikibase_statements import worded
from kgsparql.graphs.cut import Cut
from kgsparql.linking.answer_type import word_overlap
from kgsparql.models.chat_completion import Message, estimated_tokens
from kgsparql.rdf import path_queries
from kgsparql.rdf.paths import Path
from kgsparql.rdf.query import MAX_ARMS, Query
from kgsparql.rdf.terms import IRI, Term, local_name
from kgsparql.retrievers._struct_gpt_moves import Followed, Reached, Unit

__all__ = ["Shown", "candidates_of", "item_of", "likeliest", "shown"]

_COMPARED = 500
"""Labels that are compared with the question by meaning; of more, those that share words with it."""

_CHARACTERS = 1_900
"""Of one item's text: a model is shown no more of it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What one predicate led to, and the part of it that is shown."""

    followed: Followed
    units: tuple[Unit, ...]

    @property
    def ways(self) -> tuple[Path, ...]:
        """Every way that is shown."""
        return tuple(way for unit in self.units for way in unit)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out, by a limit or for want of space."""
        return not self.followed.cuts and len(self.units) == len(self.followed.units)


def likeliest(texts: Sequence[str], session: Session) -> list[int]:
    """The places of texts in the order of how well they fit the question; ties in the order given."""
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


def shown(followed: Sequence[Followed], session: Session, *, tokens: int) -> list[Shown]:
    """The facts of one step that fit into so many tokens: the likeliest of each predicate, each in its turn."""
    named = session.labels(term for one in followed for term in _terms(one))
    labels, _ = worded([way for one in followed for unit in one.units for way in unit], session, named, in_grace=False)
    texts = [[_text(unit, one, labels) for unit in one.units] for one in followed]
    sizes = [[_tokens(text) for text in own] for own in texts]
    room = [max(1, _CHARACTERS // 4)] * len(followed)
    if sum(map(sum, sizes)) <= tokens and all(sum(own) <= most for own, most in zip(sizes, room, strict=True)):
        return [Shown(one, one.units) for one in followed]
    orders = [likeliest(own, session) for own in texts]
    kept: list[list[int]] = [[] for _ in followed]
    left = tokens
    for turn in zip_longest(*orders):
        for i, place in enumerate(turn):
            if place is None or (kept[i] and (sizes[i][place] > left or sizes[i][place] > room[i])):
                continue
            kept[i].append(place)
            left -= sizes[i][place]
            room[i] -= sizes[i][place]
    some = [Shown(one, tuple(one.units[i] for i in own)) for one, own in zip(followed, kept, strict=True)]
    session.note_cuts(_left_out(one, labels) for one in some if len(one.units) < len(one.followed.units))
    return some


def item_of(one: Shown, session: Session) -> EvidenceItem:
    """The facts of one predicate as a piece of evidence: each with the way to it from the topic."""
    labels, beside = worded(one.ways, session, session.labels(_terms(one.followed), in_grace=True))
    parts = list(_texts(one, labels))
    walks = one.followed.reached()
    alone = walks[0] if len(walks) == 1 and not one.followed.mediated else None
    cited = dict.fromkeys(CitedTriple(hop.triple, hop.direction) for way in one.ways for hop in way.hops)
    return EvidenceItem(
        kind="path",
        text=" | ".join(parts),
        triples=(*cited, *beside),
        query=_query(one, walks),
        score=one.followed.score + one.followed.oracle,
        cuts=one.followed.cuts,
        ways=one.ways,
        ends=alone.ends if alone else (),
    )


def candidates_of(evidence: Evidence, found: Mapping[str, Sequence[Reached]], session: Session) -> Iterator[AnswerTerm]:
    """Everything that the walks of these items lead to, in the order of the items, each once.

    :param found: by the marker of an item, what it leads to.
    """
    markers: dict[Term, list[str]] = {}
    scores: dict[Term, float] = {}
    for item in evidence:
        for end in dict.fromkeys(end for reached in found.get(item.marker, ()) for end in reached.ends):
            markers.setdefault(end, []).append(item.marker)
            scores[end] = max(scores.get(end, item.score), item.score)
    labels = session.labels(markers, in_grace=True)
    for end, own in markers.items():
        yield AnswerTerm(end, labels[end], scores[end], tuple(own))


def _texts(one: Shown, labels: Mapping[Term, str]) -> Iterator[str]:
    """The neighbours as a line; each mediator with what lies behind it."""
    plain = [unit[0] for unit in one.units if not one.followed.is_mediated(unit)]
    mediated = [unit for unit in one.units if one.followed.is_mediated(unit)]
    missing = len(one.followed.units) - len(one.units)
    if plain:
        count = len(plain) + (0 if mediated else missing)
        line = Line(one.followed.walk.path, tuple(plain), count, exact=not one.followed.cuts)
        yield line_text(line, labels, shown=len(plain))
    for i, unit in enumerate(mediated):
        yield _mediated_text(unit, labels, lead=i == 0)
    if mediated and missing:
        yield f"… {missing:,} more"


def _text(unit: Unit, one: Followed, labels: Mapping[Term, str]) -> str:
    """What a unit says: the term it leads to and the one before, or everything behind a mediator."""
    if one.is_mediated(unit):
        return _mediated_text(unit, labels)
    before = [name_of(unit[0].hops[-1].start, labels)] if len(unit[0]) > 1 else []
    return " ".join([*before, name_of(unit[0].end, labels)])


def _mediated_text(unit: Unit, labels: Mapping[Term, str], *, lead: bool = False) -> str:
    """A mediator with everything behind it, under the triple that leads there."""
    *before, joining, _ = unit[0].hops
    # What stands between the topic and the mediator is said again where there is much of it: it may be another way.
    begun = path_text(Path(unit[0].start, tuple(before)) if lead or len(before) > 1 else Path(joining.start), labels)
    behind: dict[str, list[str]] = {}
    for way in unit:
        behind.setdefault(arrow(way.hops[-1].step, labels), []).append(name_of(way.end, labels))
    told = "; ".join(f"{step} {', '.join(ends)}" for step, ends in behind.items())
    mediator = joining.end
    has_name = isinstance(mediator, IRI) and labels[mediator] not in {local_name(mediator), "[]"}
    name = f"{name_of(mediator, labels)} " if has_name else ""
    return f"{begun} {arrow(joining.step, labels)} {name}[{told}]"


def _tokens(text: str) -> int:
    return estimated_tokens([Message("user", text)]) - estimated_tokens([Message("user", "")]) + 1


def _terms(one: Followed) -> dict[Term, None]:
    """Every term of the facts, predicates too, once, in order."""
    return line_terms([Line(one.walk.path, tuple(way for unit in one.units for way in unit), 0)])


def _left_out(one: Shown, labels: Mapping[Term, str]) -> Cut:
    arrows = " ".join(arrow(step, labels) for step in one.followed.walk.path)
    where = f"{labels[one.followed.walk.start]} {arrows}"
    return Cut("facts shown", len(one.units), len(one.followed.units), where)


def _query(one: Shown, walks: Iterable[Reached]) -> Query:
    """The query that finds the item again: everything on its walks, or, of an item that was cut, just its ends."""
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
