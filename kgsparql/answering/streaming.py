"""The events of a question one after the other, while it is answered in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

from kgsparql.answering.ask_options import AskOptions
from kgsparql.events import Event, Finished

__all__ = ["streamed"]


def streamed(answered: Callable[[AskOptions], object], asking: AskOptions) -> Iterator[Event]:
    """The events of answering, as they happen, to the last; who listens already goes on to hear them.

    Closing the iterator stops the question.

    :param answered: answers the question, as it is told to ask.
    """
    waiting: queue.SimpleQueue[Event | BaseException] = queue.SimpleQueue()

    def both(event: Event) -> None:
        asking.emit(event)
        waiting.put(event)

    def work() -> None:
        try:
            answered(replace(asking, emit=both))
        except BaseException as error:  # noqa: BLE001 - handed to the caller, not handled here
            waiting.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        while True:
            event = waiting.get()
            if isinstance(event, BaseException):
                raise event
            yield event
            if isinstance(event, Finished):
                return
    finally:
        asking.cancel.set()
