"""The first step of a question: the entities it is about, what other graphs call them, and what to say of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

from kgsparql.answering.session import Session
from kgsparql.errors import GRAPH_FAILED
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.evidence.same_as import same_as
from kgsparql.graphs.notes import Note
from kgsparql.linking.linked_entity import LinkedEntity, mention_in
from kgsparql.linking.linker import MAX_CANDIDATES, THRESHOLD, Linker
from kgsparql.rdf.terms import local_name, printable

MAX_NAMESAKES_SHOWN = 3
"""Of the things that are called the same as what is linked, those that are named."""

_OPTIONAL_SHARE = 0.25
"""Of the time of a question, for each query to find equivalents: most questions are answered without any."""

_LOOKING = "looking for what graphs say is the same:"


@dataclass(slots=True)
class EntityLinking:
    """Links the entities of one question, once."""

    session: Session
    _own: tuple[LinkedEntity, ...] | None = None
    _is_done: bool = False

    def names(self) -> list[str]:
        """The names that the question has, as it writes them: of entities given, else those the linker finds.

        Those of the linker settle no links: :meth:`link` may still be given the names that a model finds.
        """
        if self.session.given:
            self.link()
        links = self.session.links if self.session.given else self._own_links()
        return [link.mention.text for link in links if link.mention.text]

    def link(self, mentions: Sequence[tuple[str, bool]] | None = None) -> None:
        """Set the links of the session: the entities given, else those the linker finds; and their equivalents.

        :param mentions: what a model takes for names in the question, and whether each names a type; ``None`` leaves
            it to the linker to find them.
        """
        if self._is_done:
            return
        self._is_done = True
        session = self.session
        links: tuple[LinkedEntity, ...] = ()
        if session.given:
            links = self._given_links()
        else:
            with session.within_budget():
                if session.linker is not None and mentions:
                    links = session.linker.link(session.own_words, mentions)
                else:
                    links = self._own_links()
                session.notes.links_at = len(session.notes.texts)
                session.notes.extend(self._missing_notes(links, mentions))
        session.labels.learn({link.term: link.label for link in links if link.label != local_name(link.term)})
        session.set_links((*links, *self._equivalents(links)))

    def _given_links(self) -> tuple[LinkedEntity, ...]:
        labels = self.session.labels(self.session.given, in_grace=True)
        return tuple(
            LinkedEntity(
                term=term, label=labels[term], score=1.0, kind="entity", matched="given",
                mention=mention_in(self.session.own_words, labels[term]),
            )
            for term in dict.fromkeys(self.session.given)
        )  # fmt: skip

    def _own_links(self) -> tuple[LinkedEntity, ...]:
        if self._own is None:
            self._own = self.session.linker.link(self.session.own_words) if self.session.linker else ()
        return self._own

    def _missing_notes(
        self, links: Sequence[LinkedEntity], mentions: Sequence[tuple[str, bool]] | None
    ) -> Iterator[Note]:
        linker, question = self.session.linker, self.session.own_words
        if linker is None:
            return
        if links:
            for name, near in linker.unlinked_names(question, links, mentions):
                meant = f"; did you mean {'; '.join(printable(entity.label, 60) for entity in near)}?" if near else ""
                yield Note(MISSING_NAME, f"not found in the graph: {printable(name, 80)!r}{meant}", name)
        elif looked_for := linker.looked_for(question):
            yield Note(MISSING_NAME, _not_found(looked_for, linker, question))
        yield from (Note("labels", line) for line in linker.notes(links))

    def _equivalents(self, links: Sequence[LinkedEntity]) -> tuple[LinkedEntity, ...]:
        """What one of several graphs says is the same as a linked entity: an entity of its own, as well as that one."""
        session = self.session
        if len(session.graph.members) == 1 or not links:
            return ()
        limit_s = session.usage.budget.max_seconds
        graph = session.graph.optional(None if limit_s is None else limit_s * _OPTIONAL_SHARE)
        before = graph.failures
        with session.within_budget():
            try:
                found = same_as(graph, [link.term for link in links])
            except GRAPH_FAILED as error:
                session.notes.append(f"{_LOOKING} {error.message}", code="equivalents_failed")
            else:
                session.note_cuts(found.cuts)
                session.same = found.items
                session.notes.extend(
                    Note("equivalents_failed", f"{_LOOKING} {failure}", failure.cause)
                    for failure in graph.failures if failure not in before
                )  # fmt: skip
        labels = session.labels((same.other for same in session.same), in_grace=True)
        of = {link.term: link for link in links}
        known = {same.other: of[same.term] for same in reversed(session.same)}
        return tuple(
            LinkedEntity(
                term=other, label=labels[other], score=link.score, kind=link.kind, matched="same as",
                mention=link.mention,
            )
            for other, link in reversed(known.items())
        )  # fmt: skip


def _not_found(looked_for: Sequence[str], linker: Linker, question: str) -> str:
    """What was looked for where nothing was linked, and what the graph has that is nearest."""
    near = linker.suggest(question)
    nearest = near or linker.suggest(question, alike=0.0) or linker.similar(question, limit=3, threshold=0.0)
    names = "; ".join(printable(entity.label, 60) for entity in nearest)
    meant = (
        f"did you mean: {names}?" if near else f"the nearest names are: {names}" if names else "nothing is like that"
    )
    return f"looked for {', '.join(repr(printable(text, 60)) for text in looked_for)}; {meant}"


def link_notes(links: Iterable[LinkedEntity]) -> Iterator[Note]:
    """What the reader should know of links: names that several things have, and what else may be meant."""
    for link in links:
        if link.matched in {"given", "same as"}:
            continue
        if link.score < THRESHOLD:
            rivals = [_to_take(c, link) for c in link.candidates[:MAX_NAMESAKES_SHOWN]]
            among = f", the best connected; to take another, add {', or '.join(rivals)}" if rivals else ""
            text = f"{link.mention.text!r} was taken to mean {printable(link.label, 60)}{among}"
            yield Note("link_uncertain", text)
        if link.namesakes:
            yield Note("namesakes", _namesakes_text(link))


def _namesakes_text(link: LinkedEntity) -> str:
    others = link.namesakes
    at_least = "at least " if others[-1] == link.candidates[-1] and len(link.candidates) == MAX_CANDIDATES else ""
    named = ", or ".join(_to_take(other, link) for other in others[:MAX_NAMESAKES_SHOWN])
    more = " …" if len(others) > MAX_NAMESAKES_SHOWN or at_least else ""
    taken = f"{link.term}{f' ({link.description})' if link.description else ''}"
    return (
        f"{at_least}{len(others) + 1} things are called {printable(link.label, 60)!r}: {taken} is linked; "
        f"to take another, add {named}{more}"
    )


def _to_take(entity: LinkedEntity, link: LinkedEntity) -> str:
    """What to add to a command to have an entity instead of what was linked, and what it is."""
    label = "" if entity.label == link.label else printable(entity.label, 60)
    about = ", ".join(filter(None, [label, entity.description]))
    return f"-e {quote(entity.term.value)}{f' ({about})' if about else ''}"
