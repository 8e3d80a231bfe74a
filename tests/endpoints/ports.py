"""Ports of this machine for servers that tests start: never the same one twice in a process.

What kgsparql knows of a server, such as that it wants to be left alone, it knows as long as the process runs, and its
cache even longer. A server that got the port of an earlier one would be taken for it.
"""

import socket

_TRIES = 100
_given: set[int] = set()


def listener() -> socket.socket:
    """A socket that listens on a port of this machine."""
    for _ in range(_TRIES):
        found = socket.create_server(("127.0.0.1", 0))
        port = found.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return found
        found.close()
    raise OSError(f"no port that was not used before, in {_TRIES} tries")


def free_port() -> int:
    """A port on which nobody listens."""
    with listener() as sock:
        return int(sock.getsockname()[1])
