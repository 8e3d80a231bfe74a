"""The entities of a question: linked first, and mended where a model says that a name means something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from shlex import quote
from typing import TYPE_CHECKING

from kgsparql.answering.choosing import Links, reading_call
from kgsparql.answering.session import Session
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.evidence.same_as import same_as
from kgsparql.evidence.term_labels import descriptions_of
from kgsparql.graphs.graph import BOUND
from kgsparql.graphs.notes import Note
from kgsparql.linking.label_matching import THRESHOLD
from kgsparql.linking.linked_entity import LinkedEntity, Mention, mention_in
from kgsparql.linking.linker import MAX_CANDIDATES, Linker, Mentions
from kgsparql.linking.words import codes_in, counted
from kgsparql.rdf import graph_patterns as g
from kgsparql.rdf.graph_patterns import variables
from kgsparql.rdf.terms import IRI, Literal, Term, as_iri, grouped, local_name, normalised, printable, zip_equal
from kgsparql.rdf.vocabulary import SAME_AS

if TYPE_CHECKING:
    from kgsparql.models.replies import SaidReading

MAX_NAMESAKES_SHOWN = 3  # of the things that are called the same as what is linked, those that are named
_FEW_OWNERS = 5  # things that one code may belong to


def link_entities(session: Session, mentions: Mentions = None) -> None:
    """Set the links of the session, once: the entities given, else those the linker finds; and their equivalents.

    :param mentions: what a model takes for names in the question, and whether each names a type; ``None`` leaves
        it to the linker to find them.
    """
    if session.is_linked:
        return
    session.is_linked = True
    links: tuple[LinkedEntity, ...] = ()
    linker = session.linker
    if session.given:
        known = session.labels(session.given)
        links = tuple(
            LinkedEntity(term, known[term], 1.0, "entity", "given", mention_in(session.question, known[term]))
            for term in dict.fromkeys(session.given)
        )
    elif linker is not None:
        with session.within_budget():
            links = linker.link(session.question, mentions or None)
            links = _with_owners_of_codes(links, session)
            session.notes.links_at = len(session.notes.texts)
            session.notes.extend(_missing_notes(linker, links, mentions, session))
    session.notes.labels.update({link.term: link.label for link in links if link.label != local_name(link.term)})
    equivalent = _equivalent_links(links, session)
    pairs = {(path.start, path.end) for path in session.same}
    others = (tuple(other for other in one.candidates if (one.term, other.term) not in pairs) for one in links)
    own = [replace(one, candidates=left) for one, left in zip_equal(links, others)]
    session.set_links((*_current_namesakes(own, session), *equivalent))


def _current_namesakes(links: Sequence[LinkedEntity], session: Session) -> Iterator[LinkedEntity]:
    """Yield the links, of things of one name without those that are deprecated, where another is not."""
    retired = session.retired([one.term for link in links if link.namesakes for one in (link, *link.namesakes)])
    for link in links:
        alike = [link, *link.namesakes]
        current = [one for one in alike if one.term not in retired]
        if retired and 0 < len(current) < len(alike):
            first = current[0]
            others = tuple(one for one in link.candidates if one not in alike or one in current[1:])
            yield replace(link, term=first.term, label=first.label, degree=first.degree, candidates=others)
        else:
            yield link


def _with_owners_of_codes(links: tuple[LinkedEntity, ...], session: Session) -> tuple[LinkedEntity, ...]:
    """Link what has a code of the question, where only a few things have it, and nothing by a part of the code.

    One query where the question has a code that is no name.
    """
    exact = [range(*link.mention.place) for link in links if link.matched == "exact"]
    places = {
        session.question[start:end]: (start, end)
        for start, end in codes_in(session.question)
        if not any(start in own and end - 1 in own for own in exact)
    }
    if not places:
        return links
    value, predicate, item = variables("value predicate item")
    group = (g.Values(value, tuple(map(Literal, places))), g.Fact(item, predicate, value))
    found = g.found(session.graph, "codes", (value, item), group, distinct=True, limit=BOUND)
    of_each = grouped((own["value"].value, own["item"]) for own in found if isinstance(own["item"], IRI))
    owners = {text: sorted(own, key=str) for text in places if 0 < len(own := of_each.get(text, ())) <= _FEW_OWNERS}
    labels, linked = session.labels(chain(*owners.values())), list[LinkedEntity]()
    for text, items in owners.items():
        mention = Mention(text, *places[text])
        first, *others = (LinkedEntity(one, labels[one], 1.0, "entity", "exact", mention) for one in items)
        linked.append(replace(first, candidates=tuple(others)))
    spans = [range(*places[text]) for text in owners]
    return (*linked, *(link for link in links if not any(link.mention.start in span for span in spans)))


def _missing_notes(
    linker: Linker, links: Sequence[LinkedEntity], mentions: Mentions, session: Session
) -> Iterator[Note]:
    """Yield what was looked for and not found, and what the graph has that is nearest."""
    question, say = session.question, session.say

    def named(entities: Iterable[LinkedEntity]) -> str:
        return "; ".join(printable(entity.label, 60) for entity in entities)

    if links:
        for name, near in linker.unlinked_names(question, links, mentions):
            meant = say("; did you mean {}?").format(named(near)) if near else ""
            yield Note(MISSING_NAME, say("not found in the graph: {!r}").format(printable(name, 80)) + meant, name)
    elif looked_for := linker.looked_for(question):
        meant = say("; did you mean {}?").format(named(near)) if (near := linker.suggest(question)) else ""
        if not near:
            near = linker.similar(question, limit=3)
            meant = say("; the nearest names are: {}").format(named(near)) if near else say("; nothing is like that")
        texts = ", ".join(repr(printable(text, 60)) for text in looked_for)
        yield Note(MISSING_NAME, say("looked for {}").format(texts) + meant)
    for line in linker.search.notes:
        yield Note("labels", line)


def _equivalent_links(links: Sequence[LinkedEntity], session: Session) -> tuple[LinkedEntity, ...]:
    """Find what a graph says is the same as a linked entity: one more entity, beside that one."""
    if not (links and session.graph.is_embedded and session.graph.uses_any((SAME_AS,))):
        return ()
    with session.within_budget():
        found = same_as(session.graph, [link.term for link in links])
        session.notes.add_cuts(found.cuts)
        session.same = found.items
    labels = session.labels(path.end for path in session.same)
    of: dict[Term, LinkedEntity] = {link.term: link for link in links}
    known = {as_iri(path.end): of[path.start] for path in reversed(session.same)}
    return tuple(
        LinkedEntity(other, labels[other], link.score, link.kind, "same as", link.mention)
        for other, link in reversed(known.items())
    )


def link_notes(session: Session) -> Iterator[Note]:
    """Yield what the reader should know of links: names that several things have, and what else may be meant."""
    links, say = session.links, session.say
    for link in links:
        if link.matched in {"given", "same as"}:
            continue
        if link.score < THRESHOLD:
            rivals = [_choice_hint(c, link) for c in link.candidates[:MAX_NAMESAKES_SHOWN]]
            among = say(", the best connected; to take another, add {}").format("; ".join(rivals)) if rivals else ""
            text = say("{!r} was taken to mean {}").format(link.mention.text, printable(link.label, 60)) + among
            yield Note("link_uncertain", text)
        if others := link.namesakes:
            is_part = others[-1] == link.candidates[-1] and len(link.candidates) == MAX_CANDIDATES
            named = "; ".join(_choice_hint(other, link) for other in others[:MAX_NAMESAKES_SHOWN])
            more = " …" if len(others) > MAX_NAMESAKES_SHOWN or is_part else ""
            taken = f"{link.term}{f' ({link.description})' if link.description else ''}"
            count = f"{'≥ ' if is_part else ''}{len(others) + 1}"
            told = say("{} things are called {!r}: {} is linked; to take another, add {}")
            yield Note("namesakes", told.format(count, printable(link.label, 60), taken, named) + more)


def _choice_hint(entity: LinkedEntity, link: LinkedEntity) -> str:
    """Say what to add to a command to have an entity instead of what was linked, and what it is."""
    label = "" if entity.label == link.label else printable(entity.label, 60)
    about = ", ".join(filter(None, [label, entity.description]))
    return f"-e {quote(entity.term.value)}{f' ({about})' if about else ''}"


_NOTHING_LINKED = "no name in the question was found in the graph"
_MOST_NAMES = 4  # that a model looks for at once
_MAX_MEANINGS, _MAX_MEANINGS_OF_ALL = 4, 10  # of what else a name may mean, those that are shown; of all together


def find_links(session: Session) -> bool:
    """Where nothing in the question was linked, or only a predicate, link what a model means; whether it was asked."""
    is_linked = session.given or any(link.kind != "predicate" for link in session.links)
    if is_linked or session.linker is None or not session.model_reads or not session.can_spare_call("links"):
        return False
    with session.within_budget():
        links = links_to_mend(session)
        said = session.ask_model(reading_call(session.original, (), links))
        if found := () if said is None else meant_by(said, links, session):
            mend_links(session, [replace(found[0], candidates=tuple(found[1:]))])
    return True


def links_to_mend(session: Session) -> Links | None:
    """List the links and what else the names may mean, as a model reads them; one query."""
    links = session.links
    if session.linker is None or session.given or any(link.matched == "given" for link in links):
        return None
    others = alternatives(session) if links else session.linker.suggest(session.question)
    descriptions = _known_descriptions((*links, *others), session)
    lines = tuple(_entity_line(link, descriptions) for link in links) or (_NOTHING_LINKED,)
    return Links(lines, tuple((other, _entity_line(other, descriptions)) for other in others))


def alternatives(session: Session) -> tuple[LinkedEntity, ...]:
    """List what else the whole names of the question may mean, the first of each name before the second of any."""
    linked = {link.term for link in session.links}
    of_each = [
        [c for c in link.full_candidates if c.kind != "predicate" and c.term not in linked] for link in session.links
    ]
    others = {
        other.term: other for turn in zip_longest(*(own[:_MAX_MEANINGS] for own in of_each)) for other in turn if other
    }
    return tuple(others.values())[:_MAX_MEANINGS_OF_ALL]


def _known_descriptions(entities: Iterable[LinkedEntity], session: Session) -> dict[Term, str]:
    groups = grouped((normalised(entity.label), entity.term) for entity in entities)
    found = dict[Term, str]()
    with session.within_budget():
        found = descriptions_of(list(groups.values()), session.labels)
    # A thing of which nothing is known needs no IRI to be told apart, where no other is called so.
    bare = {own[0] for own in groups.values() if len(own) == 1 and found.get(own[0]) == local_name(own[0])}
    return {term: text for term, text in found.items() if term not in bare}


def _entity_line(entity: LinkedEntity, descriptions: dict[Term, str]) -> str:
    triples = counted(entity.degree, "triple") if entity.degree else ""
    about = "; ".join(filter(None, [descriptions.get(entity.term, ""), triples]))
    named = f"{printable(entity.label, 60)}{f' ({about})' if about else ''}"
    return f'"{printable(entity.mention.text, 60)}": {named}' if entity.mention.text else named


def looked_up(name: str, session: Session, *, at_most: int) -> tuple[LinkedEntity, ...]:
    """Find what the index of labels has under names that a model gave, apart by ``;``: of each the best first.

    A note says under which there is nothing.
    """
    found, linker = dict[Term, LinkedEntity](), session.linker
    texts = [text.strip() for text in name.split(";")[:_MOST_NAMES] if text.strip()]
    for text in texts:
        with session.within_budget():
            own = linker.find(text, limit=2 * at_most) if linker is not None else ()
            own = [one for one in own if one.score >= THRESHOLD]
            if not own:
                shown = printable(text, 60)
                session.notes.append(f"the model looked for {shown!r}, and nothing is called so", code="not_found")
            found |= {one.term: replace(one, mention=mention_in(session.question, one.label)) for one in own[:at_most]}
    return tuple(found.values())


def meant_by(said: SaidReading, links: Links | None, session: Session) -> tuple[LinkedEntity, ...]:
    """Find what a model says that a name means: one of those it was shown, or what is called as it says."""
    if links is None:
        return ()
    if said.meaning is not None:
        return (links.others[said.meaning][0],)
    found = looked_up(said.search, session, at_most=_MAX_MEANINGS)
    return tuple(one for one in found if one.kind != "predicate")


def mend_links(session: Session, meant: Sequence[LinkedEntity]) -> None:
    """Put these entities in the place of what was linked for the same words; what was, is among their candidates.

    One that no word of the question names takes the place of the only link, else it is one more.
    """
    links, right = list(session.links), {entity.term for entity in meant}
    linked = {link.term for link in links}
    new = {entity.term: entity for entity in meant if entity.term not in linked}
    for term, entity in new.items():
        others_linked = [link for link in links if link.term not in right]
        wrong = [link for link in others_linked if link.mention.start < 0 or link.mention.overlaps(entity.mention)]
        wrong = wrong or (others_linked if entity.mention.start < 0 and len(links) == 1 else [])
        was = [other for link in wrong for other in (replace(link, candidates=()), *link.candidates)]
        candidates = tuple(other for other in dict.fromkeys((*entity.candidates, *was)) if other.term != term)
        chosen = replace(entity, score=max(entity.score, THRESHOLD), candidates=candidates)  # it is sure enough
        links = [chosen, *(link for link in links if link not in wrong)]
        first = f"{'; '.join(map(_named_entity, wrong))} was linked first; " if wrong else ""
        session.notes.append(f"{first}the model took {_named_entity(entity)} to be meant", code="mended")
    if new:
        session.set_links(tuple(links))


def _named_entity(entity: LinkedEntity) -> str:
    return f"{printable(entity.label, 60)} {entity.term}"
