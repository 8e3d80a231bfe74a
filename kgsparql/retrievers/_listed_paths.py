"""Likely paths as a person would list them: what leads somewhere directly first, housekeeping last, no two alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from kgsparql.answering.choosing import Candidate, Choice
from kgsparql.answering.session import Session
from kgsparql.evidence.verbalising import arrow
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import counted, root, words
from kgsparql.rdf.paths import PropertyPath
from kgsparql.rdf.terms import Literal, Term, local_name, normalised, printable
from kgsparql.rdf.vocabulary import PICTURES_AND_PAGES
from kgsparql.retrievers._path_enumeration import Enumeration

_EXAMPLES = 2  # ends of a path that a model reads
_FURTHER = 10  # paths followed from nodes of a name that no paths were listed from
_LONGEST = 40  # characters of a name in a line

_HOUSEKEEPING = frozenset(
    "id ids identifier identifiers iri uri url guid uuid doi isbn issn orcid gnd viaf isni lccn checksum sortkey logo "
    "image picture photo thumbnail depiction icon homepage website webpage modified revision".split()
)
"""Words in names of predicates that say little of a thing itself: identifiers, addresses, pictures, records."""

_CODE = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w./:-]{6,}")
"""A text that looks like an identifier: letters and digits, and no space."""


@dataclass(frozen=True, slots=True)
class LikelyPath:
    """A scored path from one of the entities that a mention may mean.

    :param others: the same path from the other nodes of the same label and kind.
    """

    enumeration: Enumeration
    candidate: Candidate
    others: tuple[LikelyPath, ...] = ()

    @property
    def link(self) -> LinkedEntity:
        """The entity that it starts from."""
        return self.enumeration.link

    @property
    def path(self) -> PropertyPath:
        """The predicates."""
        return self.candidate.path or PropertyPath(())

    @property
    def score(self) -> float:
        """How well the path fits the question; comparable over all paths of the question."""
        return self.candidate.score or 0.0


def with_direct_hops(found: Iterable[LikelyPath]) -> list[LikelyPath]:
    """The paths in their order, the direct hop that a path begins with before it, where that is among them."""
    paths = list(found)
    known = {(one.link.term, one.path): one for one in paths}
    ordered: dict[tuple[Term, PropertyPath], LikelyPath] = {}
    for one in paths:
        direct = known.get((one.link.term, PropertyPath(one.path.steps[:1])))
        for each in (direct, one):
            if each is not None:
                ordered.setdefault((each.link.term, each.path), each)
    return list(ordered.values())


def distinct_paths(found: Sequence[LikelyPath], at_most: int) -> list[LikelyPath]:
    """The first paths, without those that lead to just the same several ends as one before them."""
    kept: list[LikelyPath] = []
    seen: set[frozenset[Term]] = set()
    for one in with_direct_hops(_of_one_name(found)):
        ends = frozenset(one.enumeration.ends[one.path])
        if one.others or one.path not in one.enumeration.whole or len(ends) < 2 or ends not in seen:
            seen |= {ends} if one.path in one.enumeration.whole else set()
            kept.append(one)
        if len(kept) == at_most:
            break
    return kept


def _of_one_name(found: Iterable[LikelyPath]) -> list[LikelyPath]:
    """The paths, those of one label, kind and description, which nobody can tell apart, in the place of the best."""
    same: dict[tuple[object, ...], list[LikelyPath]] = {}
    for one in found:
        link, kinds = one.link, one.enumeration.kinds_along(one.path)
        key = (link.mention, normalised(link.label), link.kind, link.description, kinds[0], one.path)
        same.setdefault(key, []).append(one)
    return [replace(own[0], others=tuple(own[1:])) for own in same.values()]


def from_all_nodes(chosen: Sequence[tuple[LikelyPath, Choice]], session: Session) -> list[tuple[LikelyPath, Choice]]:
    """Each path from all nodes of its name that nobody can tell apart; what is left out of many is noted."""
    near = [(each, choice) for one, choice in chosen for each in (one, *one.others)]
    known = {one.link.term for one, _ in near}
    further = []
    for one, choice in chosen:
        links = [link for link in session.links if one.link.term in {e.term for e in (link, *link.namesakes)}]
        nodes = [e for link in links if one.others for e in link.namesakes if e.term not in known]
        further += [(LikelyPath(Enumeration(node), one.candidate), choice) for node in nodes]
    if (left := len(further) - _FURTHER) > 0:
        text = f"a name has many nodes: {counted(left, 'path')} from them not followed (-e IRI takes a node)"
        session.notes.append(text, code="namesakes")
    return near + further[:_FURTHER]


def is_housekeeping(name: str, predicate: Term, ends: Sequence[Term], asked: Collection[str]) -> bool:
    """Whether a predicate leads to identifiers, addresses or pictures, and the question does not ask for these.

    :param name: of the predicate.
    :param ends: what it leads to, as far as it is known.
    :param asked: the words of the question.

    >>> from kgsparql.rdf.terms import IRI
    >>> predicate, key = IRI("http://e.org/p214"), Literal("n79021164")
    >>> is_housekeeping("VIAF ID", predicate, (), ["who"]), is_housekeeping("VIAF ID", predicate, (), ["viaf"])
    (True, False)
    >>> is_housekeeping("code", predicate, [key], []), is_housekeeping("name", predicate, [Literal("Ann")], [])
    (True, False)
    """
    own = words(normalised(name))
    telling = _HOUSEKEEPING.intersection(own)
    if telling:
        return telling.isdisjoint(asked)
    looks_so = predicate in PICTURES_AND_PAGES or (bool(ends) and all(map(_is_code, ends)))
    return looks_so and {root(word) for word in own}.isdisjoint(root(word) for word in asked)


def _is_code(end: Term) -> bool:
    if not isinstance(end, Literal):
        return False
    kind = end.datatype.value.rpartition("#")[2]
    return kind == "anyURI" or (kind == "string" and _CODE.fullmatch(end.value) is not None)


def numbered_list(found: Sequence[LikelyPath], session: Session) -> list[Candidate]:
    """The paths as a numbered list: start, predicates, number of ends, and some of the ends."""
    ends_of = [
        list(dict.fromkeys(end for f in (one, *one.others) for end in f.enumeration.ends[f.path])) for one in found
    ]
    examples = [own[:_EXAMPLES] for own in ends_of]
    predicates = [step.predicate for one in found for step in one.path.steps]
    labels = session.labels([*predicates, *(end for own in examples for end in own), *(f.link.term for f in found)])
    walks = []
    for one in found:
        nodes = f", {1 + len(one.others)} nodes" if one.others else ""
        parts = [f"{printable(labels[one.link.term], _LONGEST)}{nodes}"]
        for step, kind in zip(one.path.steps, one.enumeration.kinds_along(one.path)[1:], strict=True):
            parts += [arrow(step, labels), kind or "…"]
        walks.append(" ".join(parts))
    alike = Counter(walks)
    listed = []
    for i, (one, walk, own) in enumerate(zip(found, walks, examples, strict=True)):
        is_whole = all(f.path in f.enumeration.whole for f in (one, *one.others))
        count = f"{len(ends_of[i])}{'' if is_whole else '+'}"
        told = f" [{_told_apart(one, [f for f, w in zip(found, walks, strict=True) if w == walk])}]" * (alike[walk] > 1)
        ends = "; ".join(printable(labels[end], _LONGEST) for end in own)
        listed.append(replace(one.candidate, number=i, text=f"{walk}{told} ({count}: {ends})"))
    return listed


def _told_apart(one: LikelyPath, alike: Sequence[LikelyPath]) -> str:
    """What tells a path from others that read the same: what it starts from, else what its predicates are called."""
    if len({other.link.term for other in alike}) > 1:
        return printable(one.link.description or local_name(one.link.term), 60)
    pairs = zip(*(other.path.steps for other in alike), strict=True)
    own = [step for step, others in zip(one.path.steps, pairs, strict=True) if len(set(others)) > 1]
    return ", ".join(printable(local_name(step.predicate), 80) for step in own)
