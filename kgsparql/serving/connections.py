"""Connections to clients: whoever leaves a request unfinished or a reply unread is let go; the others are served."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 20.0
"""How long a client may take to send a request, head and body."""
UNREAD_S = 60.0
"""How long a client may read nothing of what is to be sent to it."""


class PunctualConnection(H11Protocol):
    """Is closed where a request is not whole, or a reply not read, in time; or at once where there are too many.

    So a client that opens connections and never ends its requests cannot keep all places for itself: whoever sends a
    whole request has a place. It needs no token for that, since the head of a request is where a token would be.
    """

    late: TimerHandle | None = None
    unread: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start waiting for a request, in the place of another connection if there is no other place."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that it is paused while anything is still to be sent
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            waiting = [one for one in cast("set[PunctualConnection]", self.connections) if one.late is not None]
            if waiting:
                min(waiting, key=lambda one: one.late.when() if one.late else 0.0).give_up()
        self._watch()

    def handle_events(self) -> None:
        """Handle what has come, and wait for the rest of it."""
        super().handle_events()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        super().connection_lost(exc)
        self.resume_writing()
        self._stop_waiting()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._look_again(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        if self.unread is not None:
            self.unread.cancel()

    def _look_again(self, unsent: int) -> None:
        def look() -> None:
            left = self.transport.get_write_buffer_size()
            self._look_again(left) if left < unsent else self.give_up()

        self.unread = self.loop.call_later(UNREAD_S, look)

    def _watch(self) -> None:
        is_whole = self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}
        if is_whole:
            self._stop_waiting()
        elif self.late is None and not self.transport.is_closing():
            self.late = self.loop.call_later(REQUEST_S, self.give_up)

    def give_up(self) -> None:
        """Close the connection, whatever is still to be sent."""
        self._stop_waiting()
        self.transport.abort()

    def _stop_waiting(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None
