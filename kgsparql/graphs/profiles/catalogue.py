"""The endpoints that are known: those that are shipped, and those that users described in files of their own."""

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

__all__ = ["PROFILES_VARIABLE", "KnownEndpoints", "endpoint_named", "known_endpoints"]

PROFILES_VARIABLE = "KGSPARQL_ENDPOINTS"
"""Names a file of the user's; another may be ``endpoints.ttl`` in the user's configuration directory."""

_FILE = "endpoints.ttl"
_URL = "url"


@dataclass(frozen=True, slots=True)
class KnownEndpoints:
    """Profiles, those that go before others first.

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
        """The service at a URL, or else on its host; one that is not known is :data:`UNKNOWN`, with more manners if
        anybody may ask there.

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
        known = next((profile for profile in services if _bears(url, profile)), None)
        return known or (replace(UNKNOWN, **SHARED) if is_for_all(url) else UNKNOWN)

    def engine(self, url: str, headers: Mapping[str, str], description: str) -> EndpointProfile | None:
        """The engine that gives itself away.

        :param headers: of any reply, names in lower case.
        :param description: the text of the service description; empty if there is none.
        """
        engines = [profile for profile in self.profiles if not profile.urls]
        for profile in engines:  # what it says of itself goes before what its URL looks like
            if any(_is_said(sign, headers, description) for sign in profile.signs):
                return profile
        return next((profile for profile in engines if _bears(url, profile)), None)

    def by_name(self, name: str) -> EndpointProfile | None:
        """The engine of a name, as :attr:`EndpointProfile.engine` has it."""
        return next((profile for profile in self.profiles if not profile.urls and profile.name == name), None)


def known_endpoints() -> KnownEndpoints:
    """The profiles of the user's files and of ours, read when they are first asked for or a file has changed.

    :raises GraphLoadError: for a file that is not right, with its line.
    :raises InputError: if there is no file where :data:`PROFILES_VARIABLE` says.
    """
    return _read(tuple((path, path.stat().st_mtime_ns) for path in _user_files()))


def endpoint_named(source: object) -> EndpointProfile | None:
    """The service that a source names by its alias, if it is one; its only alias is then the one that names it.

    A file of that name is no obstacle to the endpoint, nor the other way round: which one is meant must be said.

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
def _read(user_files: tuple[tuple[Path, int], ...]) -> KnownEndpoints:
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
    """What two ways to write one URL share: parameters are no part of it."""
    return server_of(url), urlsplit(Address.parse(url).url).path.rstrip("/")


def _bears(url: str, profile: EndpointProfile) -> bool:
    parts = urlsplit(Address.parse(url).url)
    where = f"//{parts.netloc}{parts.path}".lower()  # what else a URL has may name any other
    signs = (sign.partition(": ") for sign in profile.signs)
    return any(name.lower() == _URL and part.lower() in where for name, colon, part in signs if colon)


def _is_said(sign: str, headers: Mapping[str, str], description: str) -> bool:
    if "://" in sign and not sign.lower().startswith(f"{_URL}:"):
        return sign in description
    name, _, value = sign.partition(":")
    said = headers.get(name.strip().lower())
    return name.lower() != _URL and said is not None and said.lower().startswith(value.strip().lower())
