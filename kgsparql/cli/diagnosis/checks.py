"""What a check finds, and how an error becomes a finding."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kgsparql.errors import CancelledError, KgsparqlError
from kgsparql.rdf.terms import printable
from kgsparql.redaction import redacted

_OURSELVES = re.compile(r"(?:(?<=\?) |; |^)kgsparql doctor[^;]*(?:; )?")
"""A hint to run the command that is running."""

State = Literal["ok", "absent", "fail"]
"""``absent``: something optional that is not there, or was not looked at."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    :param exit_code: exit status for the shell, if it failed.

    >>> Check("cache", "ok", "in /tmp").to_json()
    {'check': 'cache', 'state': 'ok', 'found': 'in /tmp', 'hint': ''}
    """

    check: str
    state: State
    found: str
    hint: str = ""
    exit_code: int = 0

    def to_json(self) -> dict[str, str]:
        """The check as a JSON object, with no secret in it."""
        return {
            "check": self.check, "state": self.state, "found": redacted(printable(self.found, 600)),
            "hint": redacted(printable(self.hint, 600)),
        }  # fmt: skip


def attempted(check: str, look: Callable[[], Check]) -> Check:
    """What ``look`` returns; an error of kgsparql's becomes a failed check."""
    try:
        return look()
    except CancelledError:
        raise
    except KgsparqlError as error:
        return failed(check, error)


def failed(check: str, error: KgsparqlError, *, hint: str = "") -> Check:
    """A check that ended in an error.

    >>> failed("model", KgsparqlError("no reply", hint="is it running? kgsparql doctor checks it")).hint
    'is it running?'
    """
    advice = hint or _OURSELVES.sub("", error.hint)
    return Check(check, "fail", f"{error.message} [{error.code}]", advice, error.exit_code)
