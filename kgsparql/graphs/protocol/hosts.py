"""What the URL of an endpoint says of its server, without asking any name server."""

from __future__ import annotations

import ipaddress

from kgsparql.graphs.protocol.request import Address

__all__ = ["host_of", "is_for_all", "is_loopback", "matches", "server_of"]

_PRIVATE = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".localdomain")
"""How names end that mean something in one network only."""


def host_of(url: str) -> str:
    """The name or the number of the host, however it is written.

    >>> host_of("https://Query.Wikidata.org.:443/sparql?x=1"), host_of("http://[::1]:3030/ds")
    ('query.wikidata.org', '::1')
    """
    return Address.parse(url).origin[1].strip("[]").rstrip(".").lower()


def server_of(url: str) -> str:
    """What all ways to write the URLs of one server share: ``http`` leads where ``https`` does, and ports go by these.

    >>> server_of("http://me:secret@e.org/a"), server_of("https://E.org.:443/b"), server_of("http://e.org:3030/a")
    ('e.org', 'e.org', 'e.org:3030')
    """
    port = Address.parse(url).origin[2]
    return host_of(url) if port in {80, 443} else f"{host_of(url)}:{port}"


def matches(host: str, pattern: str) -> bool:
    """Whether a host is the one that a pattern names; ``*.`` stands for every name below a name.

    >>> matches("a.b.example.org", "*.example.org"), matches("example.org", "*.example.org")
    (True, False)
    >>> matches("anexample.org", "*.example.org"), matches("example.org", "example.org")
    (False, True)
    """
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def is_loopback(host: str) -> bool:
    """Whether it is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_for_all(url: str) -> bool:
    """Whether anybody may ask there: the host is not of a private network, and no credentials are sent.

    >>> is_for_all("https://sparql.example.org/"), is_for_all("https://me:secret@sparql.example.org/")
    (True, False)
    >>> is_for_all("http://10.0.0.7:3030/ds"), is_for_all("http://fuseki:3030/ds"), is_for_all("http://127.0.0.1/")
    (False, False, False)
    """
    address, host = Address.parse(url), host_of(url)
    if address.user or address.keys:
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_PRIVATE)
