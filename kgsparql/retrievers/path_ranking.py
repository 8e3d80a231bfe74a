"""Path ranking: whole predicate paths ranked against the question, then every answer on the best of them.

A question describes a path of predicates from an entity, in some order and in other words. There are far fewer such
paths than entities: tens to hundreds are enumerated and scored as wholes, and SPARQL returns every end of the best.

Source: ours; ``benchmarks/path_weights.py`` prints the recipe and how much each of its parts contributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log10
from operator import attrgetter
from typing import Annotated

from kgsparql.answering.answer import Reading, Retrieval
from kgsparql.answering.choosing import choose
from kgsparql.answering.path_scoring import Start, score_paths
from kgsparql.answering.readings import LISTED_READINGS, readings_in
from kgsparql.answering.retriever import Cost, Retriever, Within, answers_at_ends
from kgsparql.answering.session import Session
from kgsparql.evidence.evidence import Evidence, EvidenceItem
from kgsparql.evidence.path_expansion import ENDS, expanded_items, known_item
from kgsparql.evidence.term_labels import namesake_groups
from kgsparql.exploration import descriptions
from kgsparql.graphs.notes import Cut
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.words import root, roots_of, words_of
from kgsparql.rdf.paths import PropertyPath, Step, Walk
from kgsparql.rdf.terms import IRI, Literal, Term, first_of, zip_equal
from kgsparql.rdf.vocabulary import DESCRIPTIONS, INSTANCE_OF, RDF_TYPE, SUBCLASS_OF
from kgsparql.reading.lexicon import lexicon
from kgsparql.retrievers._listed_paths import (
    Enumeration,
    LikelyPath,
    add_ends,
    add_kinds,
    distinct_paths,
    enumerate_paths,
    from_all_nodes,
    is_housekeeping,
    numbered_list,
    others_named,
    restrict_to_shared,
)
from kgsparql.retrievers._walking import SAMPLE, direct_first

# Paths that are scored by their wordings and ends, those first whose predicates fit the words of the question best:
# where a chooser reads them, and for each path that is kept where the ranker takes the best. More change nothing.
_SHORTLIST, _SHORTLIST_FOR_EACH_KEPT = 50, 4
_LESS_KNOWN_PENALTY = 0.05  # how much lower a link scores for each ten times fewer triples than another meaning is in
_HOUSEKEEPING_PENALTY = 0.3  # taken off the score of a path to identifiers, pictures and the like that nobody asked for
_OWN_NAME_PENALTY = 1.0  # nor is the name of what is named the answer to anything but how it is called
_JOB = root("profession")
_KINDS = (RDF_TYPE, INSTANCE_OF, SUBCLASS_OF)
# Beginnings of the IRIs of classes that say nothing to a reader, such as `owl:NamedIndividual`.
_OF_SCHEMA = ("http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#")
_NEARLY_AS_GOOD = 0.15  # how much lower than the best link of a mention another link may score to be considered, too


@dataclass(frozen=True, slots=True)
class PathRanking(Retriever):
    """Property paths from the question's entities, the best followed to every answer.

    :param max_hops: the longest path; none for 3, or 2 where more than 30 predicates are near the entity.
    :param link_candidates: entities that a mention may mean, among which the paths help to decide.
    :param link_weight: what the score of a link counts for beside the score of a path.
    :param frontier: ends of a path that are walked on from.
    :param first_steps: first steps that are walked on from, where there are more than 30.
    :param paths_kept: paths that are followed to every answer.
    :param prompt_paths: paths that a model chooses from.
    """

    name = "path_ranking"
    summary = "whole predicate paths ranked against the question, the best followed to every answer"
    source = "kgsparql"
    mends = True

    max_hops: Annotated[int | None, Within(1, 5)] = None
    link_candidates: Annotated[int, Within(1, 20)] = 3
    link_weight: float = 2.0
    frontier: Annotated[int, Within(1, 10_000)] = 50
    first_steps: Annotated[int, Within(1, 1_000)] = 15
    paths_kept: Annotated[int, Within(1, 50)] = 5
    prompt_paths: Annotated[int, Within(1, 200)] = 20

    def cost(self, *, entities: int = 1, **_: int) -> Cost:
        """Bound what a question costs."""
        return Cost(calls=2, rounds=2, queries=(entities + 1) * self.link_candidates * 16 + 30)

    def retrieve(self, session: Session) -> Retrieval:
        """Find paths (P), the best first, with all their ends; the ends of the best path are the first candidates."""
        enumerations = self._enumerations_from((), session)
        found = self._scored_with_ends(enumerations, session)
        chosen = []
        defining = list[EvidenceItem]()
        evidence = Evidence()
        with session.within_budget():
            first = distinct_paths(found, self.prompt_paths)[: self.prompt_paths]  # of paths to the same ends, one
            choices = choose(numbered_list(first, session), "paths", self.paths_kept, session)
            taken = [replace(first[one.candidate.number], score=one.score) for one in choices[: self.paths_kept]]
            chosen = from_all_nodes(taken, session)
            steps = [one.path.first_step for one in found if one.path.is_direct]
            around = [step.predicate for step in steps if step.is_forward]
            top = 1.0 + (found[0].score if found else 0.0)
            defining += (replace(item, score=top) for item in definitions(session, around))
            said, items = [item.property_path for item in defining], self._items_of(chosen, session)
            evidence = Evidence([*defining, *(item for item in items if item.property_path not in said)])
        if session.notes.partial and found and not len(evidence):
            # Nothing can be shown of a path that was not followed: follow the best one, whatever the budget says.
            best, unlimited = (chosen or found)[:1], replace(session.unlimited(), complete=False)
            with session.within_budget():
                evidence = Evidence(self._items_of(best, unlimited))
        if session.notes.partial and not len(evidence):
            evidence = self._single_steps(enumerations, session)
        of_things = Retrieval(Evidence(defining))

        def readings(walks: bool) -> list[Reading]:  # without more walks, those of the paths that were scored here
            scored = self._scored_with_ends(enumerations, session, is_read=True) if walks else found
            return [*readings_in(of_things, session), *self._readings_of(scored, session)]

        return Retrieval(evidence, answers_at_ends(evidence, session), readings=readings)

    def _single_steps(self, enumerations: Sequence[Enumeration], session: Session) -> Evidence:
        """Show where the likeliest steps lead, of those that were read before the time, or the endpoint, was gone.

        Where none was and only the time is over, those of the best link are asked for in the grace time.
        """
        for own in enumerations:
            own.add(session.looked_at.steps_from(own.link.term))
        if not any(own.paths for own in enumerations) and session.notes.lost is None and session.graph.usage.is_over:
            late = session.unlimited()
            limits = {"first_steps": self.first_steps, "frontier": self.frontier}
            enumerations = enumerate_paths(session.links[:1], late, max_hops=1, **limits)
        found = []
        for own in enumerations:
            single = [path for path in own.paths if path.is_direct and own.ends[path]]
            found += self._scored_paths(own, single, session)
        best = sorted(found, key=attrgetter("score"), reverse=True)[: self.paths_kept]
        session.labels([term for one in best for term in (one.path.first_step.predicate, *one.ends)])
        items = []
        for one in best:
            name = one.link.label
            cut = Cut("ends", SAMPLE, None, name, f"paths from {name}: {SAMPLE} ends are shown; there may be more")
            cuts = (cut,) if len(one.ends) >= SAMPLE else ()
            if item := known_item(one.walk, one.ends, cuts, session.labels):
                items.append(replace(item, score=one.score))
        return Evidence(items)

    def readings_about(self, meant: Sequence[LinkedEntity], session: Session) -> list[Reading]:
        """List the paths from these entities, which names of the question may mean, the best first."""
        enumerations = self._enumerations_from(meant, session)
        return self._readings_of(self._scored_with_ends(enumerations, session, is_read=True), session)

    def _readings_of(self, found: Sequence[LikelyPath], session: Session) -> list[Reading]:
        """List paths as readings: the likeliest, and after the first list those of one step before the others."""
        likely = distinct_paths(found, len(found))
        further = sorted(likely[LISTED_READINGS:], key=lambda one: one.path.is_long)
        listed = [*likely[:LISTED_READINGS], *further][: self.prompt_paths]
        lines = [candidate.text for candidate in numbered_list(listed, session)]
        return [Reading(text, partial(self._followed_path, one, session)) for one, text in zip_equal(listed, lines)]

    def _followed_path(self, one: LikelyPath, session: Session) -> Retrieval:
        evidence = Evidence(self._items_of(from_all_nodes([one], session), session))
        return Retrieval(evidence, answers_at_ends(evidence, session))

    def _likely_meanings(self, session: Session) -> list[LinkedEntity]:
        """List what the mentions may mean: each link, and what scored nearly as high; the less known, the lower."""
        meant = dict[IRI, LinkedEntity]()
        for link in session.links:
            near = (c for c in link.candidates if c.kind == link.kind and c.score >= link.score - _NEARLY_AS_GOOD)
            # `Dreams` is no rival of `Bread, Love and Dreams`.
            whole = [c for c in near if c.mention.start <= link.mention.start and c.mention.end >= link.mention.end]
            own = (link, *whole[: self.link_candidates - 1])
            most = max(one.degree for one in own)
            for one in own:
                fewer = _LESS_KNOWN_PENALTY * log10((most + 1) / (one.degree + 1))
                meant.setdefault(one.term, replace(one, score=one.score - fewer))
        return list(meant.values())

    def _enumerations_from(self, starts: Sequence[LinkedEntity], session: Session) -> list[Enumeration]:
        links = _with_descriptions(starts or self._likely_meanings(session), session)
        enumerations = enumerate_paths(
            links, session, max_hops=self.max_hops, first_steps=self.first_steps, frontier=self.frontier
        )
        with session.within_budget():
            add_kinds(enumerations, session)
        for enumeration in enumerations:
            restrict_to_shared(enumeration, session)
        return enumerations

    def _scored_with_ends(
        self, enumerations: Sequence[Enumeration], session: Session, *, is_read: bool = False
    ) -> list[LikelyPath]:
        """Score the likeliest of some paths by their ends, too, the best first.

        :param is_read: a model reads them: more, with every path of one step, which it may choose for what it knows.
        """
        kept = {own.link.term: own.paths for own in enumerations}
        every = (p for own in enumerations for path in own.paths for p in path.predicates)
        session.compared_labels(every)  # one query for all of them
        shortlist = _SHORTLIST if is_read else _SHORTLIST_FOR_EACH_KEPT * self.paths_kept
        if sum(map(len, kept.values())) > shortlist:
            found = [f for own in enumerations for f in self._scored_paths(own, own.paths, session, worded=0)]
            ranked = sorted(found, key=attrgetter("score"), reverse=True)
            best = direct_first((one.walk, one) for one in ranked)[:shortlist]
            direct = [one for one in ranked if one.path.is_direct and one not in best][:_SHORTLIST]
            best += direct if is_read else []
            kept = {term: [f.path for f in best if f.link.term == term] for term in kept}
        found = []
        add_ends(enumerations, [kept[own.link.term] for own in enumerations], session)
        for own in enumerations:
            paths = [path for path in kept[own.link.term] if path not in own.whole or own.ends[path]]
            found += self._scored_paths(own, paths, session)
        return sorted(found, key=attrgetter("score"), reverse=True)

    def _scored_paths(
        self, known: Enumeration, paths: Sequence[PropertyPath], session: Session, *, worded: int = _SHORTLIST
    ) -> list[LikelyPath]:
        link, others = known.link, others_named(known.link, session)
        labels = session.compared_labels([p for path in paths for p in path.predicates])
        asked = words_of(session.masked_question)
        asks_name = not (lexicon().identity_nouns | lexicon().naming_words).isdisjoint(asked)
        kinded = [(path, known.kinds_along(path)) for path in paths]
        scores = score_paths(Start.of(session, link), kinded, session.label_fit, worded=worded).tolist()
        found = []
        for path, score in zip_equal(paths, scores):
            last, constraint = path.last, known.constraints.get(path)
            besides = sum(others.get(value, 0.0) for value in constraint.values) if constraint else 0.0
            bonus = self.link_weight * (link.score + besides)
            ends = known.ends.get(path, ())
            if is_housekeeping(labels[last], last, ends, asked):
                bonus -= _HOUSEKEEPING_PENALTY
            if [link.label] == [end.value for end in ends if isinstance(end, Literal)] and not asks_name:
                bonus -= _OWN_NAME_PENALTY
            found.append(LikelyPath(known, path, score + bonus))
        return found

    def _items_of(self, chosen: Sequence[LikelyPath], session: Session) -> list[EvidenceItem]:
        walks = [one.walk for one in chosen]
        limit = ENDS if session.complete else SAMPLE
        items = expanded_items(walks, session.labels, limit=limit, question=session.masked_question)
        return [replace(item, score=one.score) for item, one in zip_equal(items, chosen) if item]


def _with_descriptions(starts: Sequence[LinkedEntity], session: Session) -> Sequence[LinkedEntity]:
    """Describe the entities that share a label; one query where there are such."""
    alike = namesake_groups((one.term, one.label) for one in starts)
    with session.within_budget():
        known = descriptions(session.graph, (term for own in alike for term in own), languages=session.labels.languages)
        return [replace(one, description=known[one.term].text) if one.term in known else one for one in starts]
    return starts


def definitions(session: Session, around: Iterable[IRI]) -> list[EvidenceItem]:
    """Find what describes the thing asked for or says its kind, an item a predicate; no kind alone for `who`.

    Who somebody is, their profession says first. Of descriptions in several languages, one is for the reader.

    :param around: predicates whose subject it is.
    """
    if len(session.links) != 1 or not session.asked.asks_what_it_is:
        return []
    start = session.links[0].term
    asks_who = session.asked.sort == "agent"
    names = session.labels(around, in_grace=False) if asks_who else {}
    jobs = [p for p, name in names.items() if isinstance(p, IRI) and _JOB in roots_of([name])]
    texts = session.vocabulary.valued  # of descriptions that are nodes
    walks = [Walk(start, PropertyPath((Step(p), Step(texts[p][0])))) for p in DESCRIPTIONS if p in texts]
    walks += [Walk(start, Step(p).path) for p in (*jobs, *DESCRIPTIONS, *_KINDS)]

    def for_reader(ends: Sequence[Term]) -> list[Term]:
        own = [end for end in ends if not (isinstance(end, IRI) and end.value.startswith(_OF_SCHEMA))]
        tagged = {end.language or "" for end in own if isinstance(end, Literal)}
        first = first_of(tag for tag in (*session.labels.languages, "", "en") if tag in tagged)
        return [end for end in own if first is None or not isinstance(end, Literal) or (end.language or "") == first]

    found = [item for item in expanded_items(walks, session.labels, keep=for_reader) if item is not None]
    is_described = bool(jobs) or any(isinstance(end, Literal) for item in found for end in item.ends)
    return found if is_described or not asks_who else []
