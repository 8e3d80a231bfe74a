"""What a method is, and what it finds, ranked, looked up again and drafted as an answer by templates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import ClassVar, NamedTuple, get_type_hints

from kgsparql.answering.answer import LISTED, AnswerTerm, Claim, Draft, Reading, Retrieval, more_text
from kgsparql.answering.session import Session
from kgsparql.dataclasses import frozen, replace
from kgsparql.errors import OptionError
from kgsparql.events import Verified
from kgsparql.evidence.evidence import Evidence, verify
from kgsparql.evidence.path_expansion import LABELLED
from kgsparql.evidence.same_as import with_reasons
from kgsparql.evidence.term_labels import labels_from_items
from kgsparql.exploration.labels import own_label
from kgsparql.linking.linked_entity import LinkedEntity
from kgsparql.linking.linker import Mentions
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import Labels, Term, printable


@frozen
class Within:
    """The least and the most that an option may be: ``width: Annotated[int, Within(1, 50)] = 3``."""

    least: float
    most: float


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Write the end of a message about a name that there is not; empty where none is like it."""
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


@cache
def _ranges_of(kind: type) -> list[tuple[str, Within]]:
    hints = get_type_hints(kind, include_extras=True).items()
    return [(name, own) for name, hint in hints for own in getattr(hint, "__metadata__", ()) if isinstance(own, Within)]


# What an item may score less than the best about the same entity, and read the question as well. With it, 5 of 539
# questions of five data sets gained a right first answer and none lost one (path ranking, no model).
_AS_GOOD = 0.05


def answers_at_ends(evidence: Evidence, session: Session) -> tuple[AnswerTerm, ...]:
    """Rank every end of the items once: by the best item that each is an end of, then as its ends are ordered.

    What the best items of several entities of the question lead to comes first: who was in a film with both, not with
    one of them. An item that reads the question less well than another about the same entity says nothing of the kind.
    What the question names itself comes last: it is hardly what is asked for.

    :return: each with that item's score and the markers of all items it is an end of.
    """
    found = dict[Term, tuple[float, list[str], set[Term]]]()  # of each end its score, its markers, what leads to it
    best = dict[Term, float]()
    mentioned: dict[Term, Term] = {e.term: link.term for link in session.links for e in (*link.candidates, link)}
    mentioned |= {path.end: path.start for path in session.same}
    for item in sorted(evidence, key=lambda item: -item.score):
        about = {mentioned.get(way.start, way.start) for way in item.paths[:1]}
        leading = {topic for topic in about if item.score >= best.setdefault(topic, item.score) - _AS_GOOD}
        for end in item.ends:
            _, markers, topics = found.setdefault(end, (item.score, [], set()))
            markers.append(item.marker)
            topics |= leading
    named = session.linked
    ranked = sorted(found.items(), key=lambda own: (own[0] in named, -len(own[1][2])))
    labels = session.labels((end for end, _ in ranked[:LABELLED]))
    return tuple(
        AnswerTerm(end, labels.get(end) or own_label(end).text, score, tuple(markers))
        for end, (score, markers, _) in ranked
    )


def without_lost_items(retrieval: Retrieval, session: Session) -> Retrieval:
    """Return the retrieval after its triples were looked up again: without the items of which some are gone.

    What rests on an equivalent of an entity of the question also cites why that is the same.
    """
    found, notes = verify(retrieval.evidence, session.graph.unlimited()), session.notes
    if found.removed:
        gone = counted(len(found.removed), "cited triple")
        notes.append(f"not in the graph any more, and gone with what rested on it: {gone}", code="triples_gone")
    if nameless := found.unknown - found.unanswered:
        what = counted(nameless, "cited triple")
        notes.append(f"{what} with blank nodes could not be looked up again", code="unverified")
    if found.unanswered:
        is_noted = found.failure is not None
        why = ": no time was left" if found.ended else "" if is_noted else ": the endpoint cut the results"
        what = f"{counted(found.unanswered, 'cited triple')} could not be looked up again{why}"
        notes.append(what, code="unverified")
    if found.failure is not None:
        notes.lose(found.failure)
    if found.ended is not None:
        notes.end(found.ended)
    session.emit(Verified(found=found.found, removed=len(found.removed), unknown=found.unknown))
    candidates: Iterable[AnswerTerm] = retrieval.candidates
    if found.lost:
        kept = (replace(one, markers=tuple(m for m in one.markers if m not in found.lost)) for one in candidates)
        candidates = [one for one in kept if one.markers]
    if session.same:
        candidates = with_reasons(candidates, found.evidence, session.same)
    draft = None if found.lost else retrieval.draft
    return replace(retrieval, evidence=found.evidence, candidates=tuple(candidates), draft=draft)


RANKED = "Ranked candidates"


def compose_from_templates(retrieval: Retrieval, say: Callable[[str], str] = str) -> Draft:
    """Make the draft without a model: ranked candidates, and one claim for each item of evidence they rest on."""
    if retrieval.draft is not None:
        return retrieval.draft
    listed = retrieval.candidates[:LISTED]
    cited = dict.fromkeys(marker for answer in listed for marker in answer.markers)
    claims = tuple(Claim(retrieval.evidence[marker].text, (marker,)) for marker in cited)
    # Beyond the first, those at the end of the best item that has ends.
    best = next((frozenset(item.ends) for item in retrieval.evidence if item.ends), frozenset[Term]())
    rest = tuple(term for term in retrieval.candidates[LISTED:] if term.term in best)
    lines = [f"{i:>2}. {printable(own.shown, 180)}  [{', '.join(own.markers)}]" for i, own in enumerate(listed, 1)]
    more = more_text(rest, retrieval.evidence, say)
    text = "\n".join([say(RANKED), *lines, *([f"    {more}"] if more else [])]) if lines else ""
    return Draft(text=text, answers=(*listed, *rest), claims=claims, is_ranked=True)


def evidence_labels(evidence: Evidence, session: Session, *, besides: Iterable[Term] = ()) -> Labels:
    """Return a label for every term of the evidence, and of some besides."""
    return labels_from_items(evidence, session.labels(chain(besides, *evidence.triples)))


class Cost(NamedTuple):
    """Upper bounds of what one question spends: model calls, rounds of those that wait for each other, and queries."""

    calls: int
    rounds: int
    queries: int


class Retriever(ABC):
    """A method. Implementations are frozen dataclasses whose fields are the options.

    ``source`` names the paper, ``summary`` says in one line what the method does, ``asks`` what a model is asked of the
    steps of the paper, and what was changed. Fields that are annotated with
    :class:`Within` are checked. A method that ``asks_on_the_way`` has a model choose while it looks for evidence: it
    runs once without, for the draft, and once with it. Of others a model chooses among the readings; one that
    ``mends`` lists those of another meaning of a name, one that ``computes`` has a model write a plan.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    asks: ClassVar[tuple[str, ...]] = ()
    asks_on_the_way: ClassVar[bool] = False
    mends: ClassVar[bool] = False
    computes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the options against the ranges of their fields; ``None`` is in every range.

        :raises OptionError: for the first option that is out of its range.
        """
        for name, within in _ranges_of(type(self)):
            value = getattr(self, name)
            if value is not None and not within.least <= value <= within.most:
                hint = f"from {within.least:,} to {within.most:,}"
                raise OptionError(f"{self.name}: {name}={value} is out of range", hint=hint)

    @abstractmethod
    def cost(self, *, entities: int = 1) -> Cost:
        """Bound what a question about so many entities costs."""

    def find_mentions(self, session: Session) -> Mentions:  # noqa: ARG002 - of the question
        """Return the names in the question, and whether each names a type, where the method has them found by a model.

        Called before the entities are linked; ``None`` leaves it to the linker to find them.
        """
        return None

    @abstractmethod
    def retrieve(self, session: Session) -> Retrieval:
        """Find evidence and ranked candidates for the session's question."""

    def used(self, retrieval: Retrieval) -> Retriever:  # noqa: ARG002 - itself, whatever was found
        """Return the method that an answer names."""
        return self

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """Draft an answer of verified evidence: what was chosen or computed, else the candidates in order."""
        return compose_from_templates(retrieval, session.say)

    def readings_about(self, meant: Sequence[LinkedEntity], session: Session) -> Sequence[Reading]:  # noqa: ARG002
        """List the readings of the question, where its names mean these things; only of a method that ``mends``."""
        return ()

    def written_plan(self, session: Session, named: Sequence[LinkedEntity] = ()) -> Retrieval | None:  # noqa: ARG002
        """Return what a plan that a model writes comes to; ``None`` where it writes none that can be run.

        Only of a method that ``computes``.

        :param named: entities that it may name beside those that are linked.
        """
        return None


AUTO = "auto"
