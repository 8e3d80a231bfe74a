"""The address of a server: what its URL says, without asking any name server."""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from urllib.parse import unquote, unquote_plus, urlsplit, urlunsplit

from kgsparql.dataclasses import field, frozen
from kgsparql.errors import InputError, is_secret_parameter, secret_spellings, unreadable_url
from kgsparql.rdf.terms import printable

PROXY_HINT = "write it as http://host:port; NO_PROXY names hosts that need none"
_PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".localdomain")


def is_address(source: object) -> bool:
    """Tell whether a source is written as the URL of a server."""
    return isinstance(source, str) and source.strip().lower().startswith(("http://", "https://"))


@frozen
class Address:
    """The address of an endpoint, with the credentials apart.

    :param url: to be shown: without user, password, and the parameters that are or may be keys.
    :param target: to be sent: the URL with those parameters.
    :param origin: scheme, host and port; no redirect may leave them.
    :param keys: the values of those parameters, raw and decoded, and those of headers that are secret.
    :param headers: sent with every request.

    >>> address = Address.parse("https://me:secret@example.org/sparql?apikey=1234&infer=1#top")
    >>> address.url, address.user, address.origin
    ('https://example.org/sparql?infer=1', 'me', ('https', 'example.org', 443))
    """

    url: str
    target: str = field(repr=False)
    origin: tuple[str, str, int]
    keys: tuple[str, ...] = field(default=(), repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """List every spelling of the credentials and keys that a server may echo: plain, encoded, as in a header."""
        pair = f"{self.user}:{self.password}" if self.user else ""
        header = b64encode(pair.encode()).decode("ascii")
        return secret_spellings([self.password, pair, header, header.rstrip("="), *self.keys])

    @property
    def host(self) -> str:
        """The host, a name or an IP address, in one spelling.

        >>> Address.parse("https://Query.Wikidata.org.:443/sparql?x=1").host, Address.parse("http://[::1]:3030/ds").host
        ('query.wikidata.org', '::1')
        """
        return self.origin[1].strip("[]").rstrip(".").lower()

    @property
    def server(self) -> str:
        """The name of the server, the same for ``http`` and ``https``; with the port where it is not 80 or 443."""
        port = self.origin[2]
        return self.host if port in {80, 443} else f"{self.host}:{port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

    @property
    def is_for_all(self) -> bool:
        """Whether the public may use it: the host is not in a private network, and no credentials are sent.

        >>> [Address.parse(f"http://{host}/ds").is_for_all for host in ("e.example.org", "10.0.0.7:3030", "fuseki")]
        [True, False, False]
        """
        if self.user or self.keys:
            return False
        try:
            return ipaddress.ip_address(self.host).is_global
        except ValueError:
            return "." in self.host and not self.host.endswith(_PRIVATE_ENDINGS)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read the address that a URL names."""
        named = printable(unreadable_url(text), 200)
        not_an_url = InputError(f"{named}: not the URL of an endpoint", hint="for example https://host/sparql")
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname or "", parts.port
        except ValueError:  # its message may repeat parts of the password
            raise not_an_url from None
        scheme = parts.scheme.lower()
        has_slash_in_password = "@" in parts.path and ":" in parts.netloc and "@" not in parts.netloc
        is_whole = scheme in {"http", "https"} and host and not any(char.isspace() for char in text.strip())
        if has_slash_in_password or not is_whole:
            raise not_an_url
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if bool(user) != bool(password):
            raise InputError(f"{named}: needs user and password both", hint="USER:PASSWORD@ before the host")
        where, path = parts.netloc.rpartition("@")[2], parts.path or "/"
        shown, keys = list[str](), list[str]()
        for pair in parts.query.split("&"):
            name, _, value = pair.partition("=")
            is_secret = is_secret_parameter(unquote_plus(name), unquote_plus(value))
            (keys if is_secret else shown).append(value if is_secret else pair)
        return cls(
            url=urlunsplit((scheme, where, path, "&".join(shown), "")),
            target=urlunsplit((scheme, where, path, parts.query, "")),
            origin=(scheme, host, port or (443 if scheme == "https" else 80)), keys=(*keys, *map(unquote_plus, keys)),
            user=user, password=password,
        )  # fmt: skip
