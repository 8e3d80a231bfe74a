"""What a method is: it finds evidence for a question, and may write the draft; and the one that is taken by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_type_hints

from kgsparql.answering.answer import Draft, Retrieval
from kgsparql.answering.composing import compose
from kgsparql.answering.session import Session
from kgsparql.errors import OptionError
from kgsparql.evidence.evidence import Evidence
from kgsparql.evidence.notes import MISSING_NAME
from kgsparql.linking.answer_type import is_foreign
from kgsparql.plans.cue_reading import read_cues
from kgsparql.rdf.terms import Literal, normalised

if TYPE_CHECKING:
    from kgsparql.plans.running import Computed


@dataclass(frozen=True, slots=True)
class Within:
    """The least and the most that an option may be: ``width: Annotated[int, Within(1, 50)] = 3``."""

    least: float
    most: float


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Write the end of a message about a name that there is not; empty where none is like it."""
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_ranges(method: Any) -> None:
    """Check the options of a method against the ranges of its fields; ``None`` is in every range.

    :raises OptionError: for the first option that is out of its range.
    """
    for name, within in _ranges_of(type(method)):  # type: ignore[arg-type]
        value = getattr(method, name)
        if value is not None and not within.least <= value <= within.most:
            hint = f"from {within.least:,} to {within.most:,}"
            raise OptionError(f"{method.name}: {name}={value} is out of range", hint=hint)


@cache
def _ranges_of(kind: type) -> list[tuple[str, Within]]:
    hints = get_type_hints(kind, include_extras=True).items()
    return [(name, own) for name, hint in hints for own in getattr(hint, "__metadata__", ()) if isinstance(own, Within)]


class Cost(NamedTuple):
    """Upper bounds of what one question spends.

    :param calls: of a model; an empty reply is asked for once more, which is one more.
    :param rounds: of model calls that wait for each other: calls at the same time are one round.
    :param queries: of the graph, those that look citations up again and ask for labels included.
    """

    calls: int
    rounds: int
    queries: int


class Retriever(ABC):
    """A method. Implementations are frozen dataclasses whose fields are the options.

    ``source`` names the paper, ``summary`` says in one line what the method does. Fields that are annotated with
    :class:`Within` are checked.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]

    def __post_init__(self) -> None:
        check_ranges(self)

    @abstractmethod
    def cost(self, *, entities: int = 1, mediators: int = 1) -> Cost:
        """Bound what a question costs with these options.

        :param entities: how many are linked.
        :param mediators: 1 where the graph states facts by nodes in between, else 0.
        """

    def find_mentions(self, session: Session) -> Sequence[tuple[str, bool]] | None:  # noqa: ARG002 - of the question
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
        """Write the draft of an answer from verified evidence; a method that has a prompt of its own overrides this."""
        return retrieval.draft or compose(retrieval, session)


AUTO = "auto"
_MOST_LEFT = 0.34  # share of the words of a question that a plan may leave out and still be shown, as no sure answer


@dataclass(frozen=True, slots=True)
class Routed(Retriever):
    """One method for what must be computed, another for everything else; who answered is who gave the answer.

    :param computing: makes the method that is asked first where words of the question ask for a count, a yes or no, an
        extreme and the like.
    :param walking: asked where nothing is to be computed, or no plan accounts for what is asked.
    """

    name: ClassVar[str] = AUTO
    summary: ClassVar[str] = "computed where something is to be computed, else looked up along paths"
    source: ClassVar[str] = "kgsparql"
    computing: Callable[[], Retriever] = field(repr=False)
    walking: Retriever = field(repr=False)

    def cost(self, **_: int) -> Cost:
        """Bound both methods together."""
        return Cost(calls=7, rounds=7, queries=1000)

    def find_mentions(self, session: Session) -> Sequence[tuple[str, bool]] | None:
        """Find names as the method for everything else does."""
        return self.walking.find_mentions(session)

    def retrieve(self, session: Session) -> Retrieval:
        """Return what a plan comes to that says all that is asked; else paths, or a plan that leaves little out.

        A plan is also made where a name is no label: it may be a value, as the town of an address; and where there are
        several names: a path starts from one, and what is asked for may have to do with all.
        At an endpoint nothing is computed by itself: plans are made with more queries than its limits allow.
        """
        is_asked = read_cues(session.question).is_any
        unfound = session.notes.causes(MISSING_NAME)
        names = {link.term for link in session.links if link.kind == "entity"}
        is_tried = (is_asked or unfound or len(names) > 1) and not is_foreign(session.question)
        if not is_tried or session.oracle is not None or not session.graph.is_one_local_graph:
            return self.walking.retrieve(session)
        from kgsparql.plans.type_check import terms_in  # with all of the plans

        computed = self.computing().retrieve(session)
        values = [name for name in unfound if computed.computed and _is_value(name, computed.computed)]
        is_joined = len(names) > 1 and computed.computed is not None and names <= terms_in(computed.computed.plan)
        if computed.computed is not None and not computed.gaps and (is_asked or values or is_joined):
            session.notes.drop(MISSING_NAME, values)
            return computed
        walked = self.walking.retrieve(session)
        left = sum(len(gap.words.split()) for gap in computed.gaps) / max(1, len(session.question.split()))
        if not is_asked or not computed.candidates or left > _MOST_LEFT:
            return walked
        return replace(computed, evidence=Evidence([*computed.evidence, *walked.evidence]))

    def compose(self, retrieval: Retrieval, session: Session) -> Draft:
        """As the method that found it writes it."""
        return self.used(retrieval).compose(retrieval, session)

    def used(self, retrieval: Retrieval) -> Retriever:
        """Return the method that found something."""
        return self.walking if retrieval.computed is None else self.computing()


def _is_value(name: str, computed: Computed) -> bool:
    """Tell whether a plan that came to something compares with a text that is a name, or has it in it."""
    from kgsparql.plans.type_check import terms_in

    texts = [normalised(term.value) for term in terms_in(computed.plan) if isinstance(term, Literal)]
    return bool(computed.items) and any(f" {normalised(name)} " in f" {text} " for text in texts)
