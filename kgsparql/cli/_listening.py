"""What the commands that serve share: who may ask, where they listen, and serving until Ctrl-C."""

from __future__ import annotations

import os
import re
import secrets
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from kgsparql.errors import InputError, OptionError
from kgsparql.rdf.terms import printable

if TYPE_CHECKING:
    from starlette.types import ASGIApp

TOKEN_VARIABLE = "KGSPARQL_TOKEN"  # noqa: S105 - its name
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", re.IGNORECASE)
_CONNECTIONS = 256
_SWITCH_S = 0.0005
"""How long a thread that computes keeps the others waiting: a server is to reply while questions are answered."""


def token_for(host: str) -> str:
    """The token that requests need: from the environment, else one made for an address that others can reach."""
    given = os.environ.get(TOKEN_VARIABLE, "")
    if given and (len(given) < 16 or not all(char.isascii() and (char.isalnum() or char in "-_") for char in given)):
        raise OptionError(
            f"{TOKEN_VARIABLE} is too short, or has other characters", hint="16 or more of A-Z a-z 0-9 - _"
        )
    return given or ("" if host in _LOOPBACK else secrets.token_urlsafe(24))


def shown_token(token: str) -> str:
    """What is printed for a token: itself if it was made, since nobody knows it; else the variable that holds it."""
    return f"${TOKEN_VARIABLE}" if os.environ.get(TOKEN_VARIABLE) else token


def origins_of(given: Sequence[str] | None, *, token: str) -> frozenset[str]:
    """The sites that ``--cors`` names, as browsers write them.

    >>> origins_of(["https://YASGUI.org", "http://localhost:3000"], token="") == {
    ...     "https://yasgui.org", "http://localhost:3000"}
    True
    """
    for text in given or ():
        if text == "*" and token:
            raise OptionError("--cors *: with a token, any site is too many", hint="name each: --cors https://e.org")
        if text != "*" and not _ORIGIN.fullmatch(text):
            hint = "scheme and host, with a port where it is another: --cors https://e.org"
            raise OptionError(f"--cors {printable(text, 100)}: this is no origin", hint=hint)
    return frozenset(map(str.lower, given or ()))


def listening_at(host: str, port: int) -> socket.socket:
    """A socket that listens there, so that a port that is taken is said before anything else."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on Windows it would let two programs listen at one port
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(128)  # whoever reads the address may come before the server is ready
        except OSError:
            made.close()
            raise
    except OSError as error:
        raise InputError(
            f"cannot listen at {printable(host, 100)} port {port}: {error.strerror or error}",
            hint=f"another port: --port {port + 1}, or --port 0 for one that is free",
        ) from error
    return made


def address_of(host: str, port: int) -> str:
    """The URL of a server.

    >>> address_of("::1", 8080)
    'http://[::1]:8080'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve_app(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    import logging

    import uvicorn

    from kgsparql.serving.connections import PunctualConnection

    settings = uvicorn.Config(
        app, http=PunctualConnection, ws="none", log_level="warning", access_log=False, server_header=False,
        limit_concurrency=_CONNECTIONS, timeout_keep_alive=5, timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=32_768,
    )  # fmt: skip
    sys.setswitchinterval(_SWITCH_S)
    server = uvicorn.Server(settings)
    # After Ctrl-C what is cancelled is no error of anybody's.
    logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
    with suppress(KeyboardInterrupt):  # how a server is stopped
        server.run(sockets=[listening])
