"""The known endpoints: the profiles that are shipped, and those in files of the user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from kgsparql.errors import InputError
from kgsparql.graphs.profiles.profile import SHARED, UNKNOWN, EndpointProfile, could_be_alias
from kgsparql.graphs.profiles.reading import ProfileFile, read_profiles
from kgsparql.http.address import Address, host_of, is_for_all, matches, server_of
from kgsparql.resources import resource

PROFILES_VARIABLE = "KGSPARQL_ENDPOINTS"
"""Names a file of the user's; another may be ``endpoints.ttl`` in the user's configuration directory."""

_FILE = "endpoints.ttl"
_URL = "url"


@dataclass(frozen=True, slots=True)
class KnownEndpoints:
    """Profiles; the first that fits is used.

    >>> known_endpoints().named("dbpedia").urls[0]
    'https://dbpedia.org/sparql'
    """

    profiles: tuple[EndpointProfile, ...]

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every name that opens an endpoint."""
        return tuple(sorted({alias for profile in self.profiles if profile.urls for alias in profile.aliases}))

    def named(self, alias: str) -> EndpointProfile | None:
        """The service with an alias."""
        wanted = alias.lower()
        return next((profile for profile in self.profiles if profile.urls and wanted in profile.aliases), None)

    def at(self, url: str) -> EndpointProfile:
        """The profile of the service at a URL, else on its host; else :data:`UNKNOWN`, with the limits of a public one
        if the public may use the URL.

        >>> known_endpoints().at("http://dbpedia.org/sparql/").name
        'DBpedia'
        """
        key = _key(url)
        services = [profile for profile in self.profiles if profile.urls]
        for profile in services:
            if key in map(_key, profile.urls):
                return profile
        host = host_of(url)
        hosts = [(at, profile) for profile in services for at in profile.hosts if matches(host, at)]
        if hosts:
            return max(hosts, key=lambda found: len(found[0]))[1]
        known = next((profile for profile in services if _url_has_sign(url, profile)), None)
        return known or (replace(UNKNOWN, **SHARED) if is_for_all(url) else UNKNOWN)

    def engine(self, url: str, headers: Mapping[str, str], description: str) -> EndpointProfile | None:
        """The engine that is recognised by its signs; ``None`` if none is.

        :param headers: of any reply, names in lower case.
        :param description: the text of the service description; empty if there is none.
        """
        engines = [profile for profile in self.profiles if not profile.urls]
        for profile in engines:  # what it says of itself is surer than its URL
            if any(_has_sign(sign, headers, description) for sign in profile.signs):
                return profile
        return next((profile for profile in engines if _url_has_sign(url, profile)), None)

    def by_name(self, name: str) -> EndpointProfile | None:
        """The engine with a name, as in :attr:`EndpointProfile.engine`."""
        return next((profile for profile in self.profiles if not profile.urls and profile.name == name), None)


def known_endpoints() -> KnownEndpoints:
    """The profiles of the user's files and of ours; read again when a file has changed.

    :raises GraphLoadError: for a file that is not right, with its line.
    :raises InputError: if there is no file where :data:`PROFILES_VARIABLE` says.
    """
    return _known_endpoints(tuple((path, path.stat().st_mtime_ns) for path in _user_files()))


def endpoint_named(source: object) -> EndpointProfile | None:
    """The profile of a service whose alias the source is, with that alias alone; ``None`` if it is no alias.

    :raises InputError: if there is also a file or a directory of that name.
    :raises GraphLoadError: for a file of profiles that is not right.

    >>> endpoint_named("Wikidata").aliases, endpoint_named("data.ttl"), endpoint_named("./wikidata")
    (('wikidata',), None, None)
    """
    if not isinstance(source, str) or not could_be_alias(source):
        return None
    name = source.strip()
    profile = known_endpoints().named(name)
    if profile is None:
        return None
    if Path(name).exists():
        what = "a directory" if Path(name).is_dir() else "a file"
        raise InputError(
            f"{name}: {what} here, and a known endpoint",
            hint=f"-k ./{name} is the one here, -k {profile.urls[0]} the other",
        )
    return replace(profile, aliases=(name.lower(),))


@cache
def _known_endpoints(user_files: tuple[tuple[Path, int], ...]) -> KnownEndpoints:
    shipped = ProfileFile(_FILE, data=resource("ontologies", _FILE).read_bytes())
    return KnownEndpoints(read_profiles([*(ProfileFile(str(path), path) for path, _ in user_files), shipped]))


def _user_files() -> list[Path]:
    from platformdirs import user_config_dir

    files = []
    if given := os.environ.get(PROFILES_VARIABLE, "").strip():
        if not Path(given).is_file():
            raise InputError(
                f"{PROFILES_VARIABLE}: no file {given}", hint="name a Turtle file of profiles, or unset it"
            )
        files.append(Path(given))
    own = Path(user_config_dir("kgsparql", appauthor=False)) / _FILE
    return [*files, own] if own.is_file() else files


def _key(url: str) -> tuple[str, str]:
    """Server and path of a URL, the same for all its spellings; without parameters."""
    return server_of(url), urlsplit(Address.parse(url).url).path.rstrip("/")


def _url_has_sign(url: str, profile: EndpointProfile) -> bool:
    parts = urlsplit(Address.parse(url).url)
    where = f"//{parts.netloc}{parts.path}".lower()  # parameters may name other engines
    signs = (sign.partition(": ") for sign in profile.signs)
    return any(name.lower() == _URL and part.lower() in where for name, colon, part in signs if colon)


def _has_sign(sign: str, headers: Mapping[str, str], description: str) -> bool:
    if "://" in sign and not sign.lower().startswith(f"{_URL}:"):
        return sign in description
    name, _, value = sign.partition(":")
    said = headers.get(name.strip().lower())
    return name.lower() != _URL and said is not None and said.lower().startswith(value.strip().lower())
