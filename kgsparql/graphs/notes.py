"""What the reader of an answer should know: a value with a code, so that no program has to go by the words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the reader of an answer should know.

    :param code: what kind of note it is: ``graph_failed``, ``names_unfound`` …
    :param text: the line that is shown.
    :param cause: what went wrong, where something did. A note is left out beside a ``graph_failed`` of the same cause.
    """

    code: str
    text: str
    cause: str = ""
