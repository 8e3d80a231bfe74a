"""Mending links: what else the names of a question may mean, and names that a model wants looked up instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from kgsparql.answering.choosing import Candidate, Chooser, Chosen, Links, ModelChooser, is_read
from kgsparql.answering.session import Session
from kgsparql.evidence.term_labels import descriptions_of
from kgsparql.linking.linked_entity import LinkedEntity, mention_in
from kgsparql.linking.linker import THRESHOLD
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import IRI, Term, local_name, normalised, printable

_NOTHING_LINKED = "no name in the question was found in the graph"
_OTHERS = 4  # of what else a name may mean, those that are shown
_ALL = 10  # of all names together

_LIKE_ENOUGH = 0.5
"""The score of what is found under a name that a model gave, at least."""


def choose_or_mend(
    chooser: Chooser,
    candidates: Sequence[Candidate],
    purpose: str,
    at_most: int,
    session: Session,
    *,
    mends: bool = True,
) -> Chosen:
    """What a chooser takes of these candidates; a model may say that a link is wrong, too."""
    if isinstance(chooser, ModelChooser):
        links = links_to_mend(session) if mends else None
        return chooser.choose_or_mend(session.question, candidates, purpose, at_most, links)
    return Chosen(tuple(chooser.choose(session.question, candidates, purpose, at_most)))


def find_links(session: Session) -> bool:
    """Where nothing in the question was linked, or only a predicate, link what a model means; whether it was asked.

    It chooses from what looks like words of the question, or names something to look up.
    """
    is_linked = session.given or any(link.kind != "predicate" for link in session.links)
    if is_linked or session.linker is None or not is_read(session.choose) or not session.can_spare_call("links"):
        return False
    with session.within_budget():
        said = choose_or_mend(session.choose, [], "links", 1, session)
        found = said.links or looked_up(said.search, session, at_most=_OTHERS)
        if found:
            mend_links(session, [replace(found[0], candidates=tuple(found[1:]))])
    return True


def links_to_mend(session: Session) -> Links | None:
    """The links and what else the names may mean, as a model reads them; one query.

    ``None`` where the entities were given: they are what is meant.
    """
    links = session.links
    if session.linker is None or session.given or any(link.matched == "given" for link in links):
        return None
    others = alternatives(session) if links else session.linker.suggest(session.own_words)
    descriptions = _descriptions((*links, *others), session)
    lines = tuple(_line(link, descriptions) for link in links) or (_NOTHING_LINKED,)
    return Links(lines, tuple((other, _line(other, descriptions)) for other in others))


def alternatives(session: Session) -> tuple[LinkedEntity, ...]:
    """What else the whole names of the question may mean, the first of each name before the second of any."""
    linked = {link.term for link in session.links}
    of_each = [
        [c for c in link.full_candidates if c.kind != "predicate" and c.term not in linked] for link in session.links
    ]
    others = {other.term: other for turn in zip_longest(*(own[:_OTHERS] for own in of_each)) for other in turn if other}
    return tuple(others.values())[:_ALL]


def _descriptions(entities: Iterable[LinkedEntity], session: Session) -> dict[Term, str]:
    groups: dict[str, list[IRI]] = {}
    for entity in entities:
        groups.setdefault(normalised(entity.label), []).append(entity.term)
    found: dict[Term, str] = {}
    with session.within_budget():
        found = descriptions_of(list(groups.values()), session.labels)
    for own in groups.values():
        if len(own) == 1 and found.get(own[0]) == local_name(own[0]):
            del found[own[0]]  # nothing is known of it, and it needs no IRI to be told apart
    return found


def _line(entity: LinkedEntity, descriptions: dict[Term, str]) -> str:
    triples = counted(entity.degree, "triple") if entity.degree else ""
    about = "; ".join(filter(None, [descriptions.get(entity.term, ""), triples]))
    named = f"{printable(entity.label, 60)}{f' ({about})' if about else ''}"
    return f'"{printable(entity.mention.text, 60)}": {named}' if entity.mention.text else named


def looked_up(name: str, session: Session, *, at_most: int) -> tuple[LinkedEntity, ...]:
    """What the index of labels has under a name that a model gave, the best first; a note where it has none."""
    if session.linker is None or not name:
        return ()
    with session.within_budget():
        found = session.linker.find(name, limit=2 * at_most)
        found = [one for one in found if one.kind != "predicate" and one.score >= _LIKE_ENOUGH]
        if not found:
            shown = printable(name, 60)
            session.notes.append(f"the model looked for {shown!r}, and nothing is called so", code="not_found")
        return tuple(replace(one, mention=mention_in(session.own_words, one.label)) for one in found[:at_most])
    return ()


def mend_links(session: Session, meant: Sequence[LinkedEntity]) -> None:
    """Put these entities in the place of what was linked for the same words; what was, is among their candidates.

    One that no word of the question names takes the place of the only link, else it is one more.
    """
    links = list(session.links)
    right = {entity.term for entity in meant}
    new = [entity for entity in meant if all(link.term != entity.term for link in links)]
    for entity in {entity.term: entity for entity in new}.values():
        others_linked = [link for link in links if link.term not in right]
        wrong = [link for link in others_linked if link.mention.start < 0 or link.mention.overlaps(entity.mention)]
        wrong = wrong or (others_linked if entity.mention.start < 0 and len(links) == 1 else [])
        others = dict.fromkeys(other for link in wrong for other in (replace(link, candidates=()), *link.candidates))
        candidates = tuple(other for other in dict.fromkeys((*entity.candidates, *others)) if other.term != entity.term)
        chosen = replace(entity, score=max(entity.score, THRESHOLD), candidates=candidates)  # it is sure enough
        links = [chosen, *(link for link in links if link not in wrong)]
        was = f"{'; '.join(_named(link) for link in wrong)} was linked first; " if wrong else ""
        session.notes.append(f"{was}the model took {_named(entity)} to be meant", code="mended")
    if new:
        session.set_links(tuple(links))


def _named(entity: LinkedEntity) -> str:
    return f"{printable(entity.label, 60)} {entity.term}"
