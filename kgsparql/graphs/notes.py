"""What the reader of an answer should know: a line with a code, so that no program has to go by the words."""

from __future__ import annotations


class Note(str):
    """Something that the reader of an answer should know: the line that is shown.

    :param code: what kind of note it is: ``graph_failed``, ``names_unfound`` …
    :param cause: what went wrong, where something did, or the reason of the fallback that it tells of. A note is left
        out beside a ``graph_failed`` of the same cause, and a fallback beside a note.

    >>> note = Note("rewritten", "searched as: Who?")
    >>> note, note.code
    ('searched as: Who?', 'rewritten')
    """

    code: str
    cause: str

    def __new__(cls, code: str, text: str, cause: str = "") -> Note:
        """Its text, with the rest beside it."""
        made = super().__new__(cls, text)
        made.code, made.cause = code, cause
        return made

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        """For copies."""
        return self.code, str(self), self.cause
