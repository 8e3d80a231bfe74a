"""The runs of a page: questions that are being answered, finished runs as files and in the log, and runs in words.

A run is asked on one of a few threads, bounded, and stopped when nobody watches it any more.
"""

from __future__ import annotations

import queue
import re
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kgsparql.answering.answer import Answer
from kgsparql.answering.answer_json import error_json, event_json
from kgsparql.answering.ask_options import AskOptions
from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.errors import BudgetExceededError, InputError, KgsparqlError, our_error
from kgsparql.events import Drafted, Event, Finished, ignore
from kgsparql.linking.words import counted
from kgsparql.rdf.terms import Json
from kgsparql.rendering.text import cost_parts, step_words, without_commands
from kgsparql.storage.files import read_sealed_json, replace_text, sealed_json

FOLDER = "runs"  # where finished runs are kept, below the cache directory
_MAX_EVENTS = 4_000  # steps of a run that are kept; further ones are counted
_MAX_TEXT_CHARACTERS = 20_000
_MAX_KEPT_BYTES = 64_000_000
_MAX_RUNS, _MAX_WAITING, _MAX_KEPT = 100, 64, 1_000
_ABANDONED_S = 5.0  # so long after the last who watched it has gone, a run is ended
_UNWATCHED_S = 60.0  # so long after it was put in line, if nobody came to watch it


# -- Runs in memory -----------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class AskedRun:
    """A question on its way, and then its answer."""

    question: str
    asking: AskOptions
    settings: Json
    meanings: list[Json] | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    events: list[Json] = field(default_factory=list)
    left_out: int = 0
    draft: Answer | None = None
    frozen: Json | None = None
    error: Json | None = None
    watchers: int = 0
    was_watched: bool = False
    seen_at: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """Whether there is an answer, or an error."""
        return self.state != "running"

    @property
    def state(self) -> str:
        """``running``, ``finished`` or ``failed``."""
        return "finished" if self.frozen is not None else "failed" if self.error is not None else "running"

    def receive(self, event: Event) -> None:
        """Keep a step, with its words; of the last, the answer is elsewhere."""
        if isinstance(event, Finished):
            return
        if len(self.events) >= _MAX_EVENTS:
            self.left_out += 1
            return
        shown = event
        if isinstance(event, Drafted):  # its words say it, and who looks is shown it whole
            self.draft, shown = event.answer, replace(event, answer=None)
        told = {**event_json(shown), "words": step_words(event)}
        for name, value in told.items():
            left = len(value) - _MAX_TEXT_CHARACTERS if isinstance(value, str) else 0  # a query, a prompt or a reply
            if left > 0:
                told[name] = f"{value[:_MAX_TEXT_CHARACTERS]} … (+{left:,} characters)"
        self.events.append(told)

    def summary(self) -> Json:
        """Return what is known of it before it is frozen, as JSON."""
        own = {name: getattr(self, name) for name in ("id", "question", "state", "meanings", "error")}
        return {**own, "options": dict(self.settings)}


class Runs:
    """The runs of a page: asked on ``workers`` threads, a bounded number in line, the newest kept in memory."""

    def __init__(self, answer: Callable[[AskedRun], Json], *, workers: int) -> None:
        self._answer = answer
        self._waiting: queue.SimpleQueue[AskedRun] = queue.SimpleQueue()
        self._runs: dict[str, AskedRun] = {}
        self._lock = threading.Lock()
        for number in range(workers):
            threading.Thread(target=self._answer_waiting, name=f"kgsparql question {number}", daemon=True).start()

    def start(self, run: AskedRun) -> AskedRun:
        """Put a question in line."""
        with self._lock:
            running = sum(not one.is_over for one in self._runs.values())
            if running >= _MAX_WAITING:
                raise BudgetExceededError(
                    f"{running} questions are being answered already", hint="ask again in a few seconds"
                )
            run.asking = replace(run.asking, emit=run.receive, cancel=threading.Event(), stop=threading.Event())
            self._runs[run.id] = run
        self._waiting.put(run)
        return run

    def get(self, name: str) -> AskedRun | None:
        """Return a run that is in memory."""
        return self._runs.get(name)

    def sweep(self) -> None:
        """End runs that nobody watches any more, and let go of the oldest finished ones."""
        now = time.monotonic()
        with self._lock:
            for run in self._runs.values():
                patience_s = _ABANDONED_S if run.was_watched else _UNWATCHED_S
                if not run.is_over and not run.watchers and now - run.seen_at > patience_s:
                    run.asking.cancel.set()
            finished = [name for name, run in self._runs.items() if run.is_over and not run.watchers]
            for name in finished[: max(0, len(self._runs) - _MAX_RUNS)]:
                del self._runs[name]

    def cancel_all(self) -> None:
        """End all runs."""
        for run in list(self._runs.values()):
            run.asking.cancel.set()

    def _answer_waiting(self) -> None:
        while True:
            run = self._waiting.get()
            try:
                run.frozen = self._answer(run)
            except Exception as error:  # noqa: BLE001 - told to whoever asked; the thread has other questions to answer
                run.error = page_error(our_error(error))
            finally:
                run.asking = replace(run.asking, emit=ignore)  # it held the run: a circle that is rarely looked for


def corrected(run: Json, link: int, candidate: int) -> list[Json]:
    """Put a candidate in the place of one of the links of a run, which becomes a candidate itself.

    >>> paris = {"mention": "Paris", "start": 9, "end": 14, "term": "Paris", "candidates": [{"term": "Paris (Texas)"}]}
    >>> [meant] = corrected({"answer": {"linked": [paris]}}, 0, 0)
    >>> meant["term"], meant["start"], meant["candidates"]
    ('Paris (Texas)', 9, [{'term': 'Paris'}])
    """
    links = run.get("meanings") or run.get("answer", {}).get("linked", [])
    if not (0 <= link < len(links) and 0 <= candidate < len(links[link]["candidates"])):
        raise InputError("that name has no such meaning", hint="open the run again, and choose one that is listed")
    old = dict(links[link])
    place, others = {name: old.pop(name) for name in ("mention", "start", "end")}, list(old.pop("candidates"))
    return [*links[:link], {**others.pop(candidate), **place, "candidates": [old, *others]}, *links[link + 1 :]]


# -- Finished runs as files, and in the log of questions ----------------------------------------------------------


@frozen
class KeptRuns:
    """A directory of runs, readable by its owner only; beyond a thousand the oldest are removed.

    The address of a run opens it later, whatever has become of the graph.
    """

    directory: Path

    def put(self, name: str, run: Json) -> None:
        """Keep a run."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_text(self.directory / f"{name}.json", sealed_json(run, indent=None), mode=0o600)

    def get(self, name: str) -> Json | None:
        """Return a run that is kept; ``None`` if none is of this name, or it is not what was written any more."""
        file = self.directory / f"{name}.json"
        try:
            if not re.fullmatch(r"[0-9a-f]{32}", name) or file.stat().st_size > _MAX_KEPT_BYTES:
                return None
            return read_sealed_json(file)
        except (OSError, ValueError):
            return None

    def sweep(self) -> None:
        """Remove the oldest runs beyond those that are kept."""
        if not self.directory.is_dir():
            return
        files = [(entry.stat().st_mtime, entry) for entry in self.directory.glob("*.json")]
        for _, entry in sorted(files, reverse=True)[_MAX_KEPT:]:
            with suppress(OSError):  # it is being read on Windows, or is removed by another process
                entry.unlink()


# -- A run in words -----------------------------------------------------------------------------------------------

_ASIDE = {"frontier", "model_failed", "nothing_chosen", "untried"}  # notes that are said elsewhere, or change nothing
_CITED = re.compile(r"\s?\[([A-Z]\d+(?:, [A-Z]\d+)*)\]")


def run_words(run: Json) -> Json:
    """Say of a finished run what a page reads beside it: its lines, gaps, notes and meter."""
    if "answer" not in run:
        return {}
    answer = run["answer"]
    gaps = [gap["text"] for gap in answer["gaps"]]
    aside = _ASIDE | ({"namesakes"} if any(gap["code"] == "ambiguous" for gap in answer["gaps"]) else set())
    notes = [note for note in answer["notes"] if note["code"] not in aside and note["text"] not in gaps]
    left = [f"{counted(run['left_out'], 'step')} not kept"] if run.get("left_out") else []
    wrote = f"chosen by {model}" if (model := answer["model"]) else "no language model"
    drawing = run.get("drawing") or {}
    return {
        "drawing": drawing if "view" in drawing else None,  # 0.2 drew in the page
        "said": said_by(answer["text"]), "gaps": [*map(without_commands, gaps)],
        "notes": [without_commands(note["text"]) for note in notes],
        "outcome": without_commands(run.get("outcome", "")),
        "likely": f"{answer['confidence']:.0%} likely" if answer.get("confidence") else "",
        "meter": " · ".join([wrote, *cost_parts(answer["usage"]), *left]),
    }  # fmt: skip


def page_error(error: KgsparqlError) -> Json:
    """Make the JSON of an error for a page, without words of the command line."""
    told = {**error_json(error), "message": without_commands(error.message), "hint": without_commands(error.hint)}
    if error.code != KgsparqlError.code:
        return told
    fault = {
        "message": "a fault of kgsparql is in the way of this answer",
        "hint": "ask it in other words, or report it",
    }
    return {**told, **fault, "detail": {"fault": error.message}}


def said_by(text: str) -> list[Json]:
    """Split an answer's text into lines: whether each is an aside, and its ``parts``, text or lists of markers.

    >>> [line["parts"] for line in said_by("Born in Warsaw [P1, N2].")]
    [['Born in Warsaw', ['P1', 'N2'], '.']]
    """
    lines = []
    for line in filter(str.strip, text.split("\n")):
        pieces = _CITED.split(line)  # text and citations take turns
        parts = [piece.split(", ") if at % 2 else piece for at, piece in enumerate(pieces) if piece]
        lines.append({"is_aside": re.fullmatch(r"\(.*\)", line.strip()) is not None, "parts": parts})
    return lines
