"""What the reader of an answer should know: notes with a code, and lists that a limit cut."""

from __future__ import annotations

import re

from kgsparql.dataclasses import frozen
from kgsparql.rdf.terms import IRI, Labels, local_name, printable


class Note(str):
    """Something that the reader of an answer should know: the line that is shown.

    :param code: what kind of note it is: ``graph_lost``, ``missing_name`` …
    :param cause: what went wrong, or why there was a fallback, which is left out beside a note of the same cause.
    """

    code: str
    cause: str

    def __new__(cls, code: str, text: str, cause: str = "") -> Note:
        """Make a string with a code and a cause."""
        made = super().__new__(cls, text)
        made.code, made.cause = code, cause
        return made

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        """Return what a copy is made of."""
        return self.code, str(self), self.cause


_PLACE = re.compile(r"(?P<before>– |[ /])?(?P<inverse>(?<!\^)\^)?<(?P<iri>[A-Za-z][\w+.-]*:[^\s<>\"{}|\\^`]*)>")


@frozen
class Cut:
    """A list that a limit cut.

    :param what: what was listed (``neighbours``, ``paths``, ``ends`` …), of which at most ``limit`` were kept.
    :param known: how many there are; ``None`` if that was not counted to the end.
    :param where: the term, with predicate and direction where they apply.
    :param told: the whole line for the reader, where one made of the others would not read well.
    """

    what: str
    limit: int
    known: int | None = None
    where: str = ""
    told: str = ""

    @property
    def is_frontier(self) -> bool:
        """Whether it says only from how many things a walk went on."""
        return self.what.endswith("on from")

    def __str__(self) -> str:
        return self.said({})

    def said(self, labels: Labels) -> str:
        """Return a line for the reader: terms by their labels, or by the end of their IRIs, predicates as arrows.

        >>> Cut("ends", 9, where="<http://e.org/Ann> ^<http://e.org/worksAt>/<http://e.org/knows>").said({})
        'ends of Ann ←works at— —knows→: at most 9 taken, there are more'
        """
        if self.told:
            return self.told
        whose = f" of {_readable_place(self.where, labels)}" if self.where else ""
        if self.known is None:
            return f"{self.what}{whose}: at most {self.limit:,} taken, there are more"
        return f"{self.what}{whose}: at most {self.limit:,} of {self.known:,} taken"


def _readable_place(where: str, labels: Labels) -> str:
    """Return a place with labels in place of IRIs: first, and after a dash, stands a term; elsewhere a step."""

    def name(found: re.Match[str]) -> str:
        term = IRI(found["iri"])
        said = printable(labels.get(term) or local_name(term), 80)
        if found["before"] is None or found["before"] == "– ":
            return (found["before"] or "") + said
        return f" ←{said}—" if found["inverse"] else f" —{said}→"

    return _PLACE.sub(name, where)
