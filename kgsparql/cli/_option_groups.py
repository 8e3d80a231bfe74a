"""Options that several commands share, written once as dataclasses whose fields are options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

__all__ = ["with_groups"]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes dataclasses of options, with the fields of these as its own options.

    The command is called with one value for each of its parameters; on the command line the first option of the first
    group comes first, then the command's own, then the other fields.
    """
    own = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    members = {name: [field.name for field in fields(group)] for name, group in groups.items()}

    @wraps(command)
    def run(**given: Any) -> None:
        values = {
            name: group(**{member: given.pop(member) for member in members[name]}) for name, group in groups.items()
        }
        command(**values, **given)

    first, *others = [
        p for group in groups.values() for p in inspect.signature(group, eval_str=True).parameters.values()
    ]
    plain = [p for name, p in own.items() if name not in groups]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (first, *plain, *others)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
