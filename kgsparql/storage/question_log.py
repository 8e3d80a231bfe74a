"""A log of questions: what was asked, what was answered and what it cost, as JSON Lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgsparql.errors import redacted
from kgsparql.rdf.terms import json_text


def log_question(path: Path, answer: Mapping[str, Any]) -> str:
    """Append an answer, or what stands for one after an error, to a file that its owner only can read.

    Return why it is not logged, which costs nobody the answer.
    """
    line = redacted(json_text({"at": datetime.now(UTC).isoformat(timespec="seconds"), **answer})) + "\n"
    try:
        path.touch(0o600)
        with path.open("a+b") as file:
            file.seek(0)
            if file.read(1) not in {b"", b"{"}:
                return f"{path} is no log of JSON Lines (--log names another file)"
            os.write(file.fileno(), line.encode("utf-8", "replace"))  # at once: other processes append, too
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""
