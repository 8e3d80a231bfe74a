"""What is known of SPARQL engines and public services before they are asked: how each is to be asked."""

from __future__ import annotations

import math
import os
import re
import threading
import time
import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from kgsparql.dataclasses import dataclass, field, frozen, replace
from kgsparql.errors import GraphLoadError, InputError, OptionError, is_secret_parameter
from kgsparql.http.address import Address
from kgsparql.http.transport import HttpReply
from kgsparql.rdf.terms import IRI, Json, distinct, iri, printable

PUBLIC_PAUSE_S = 60.0
"""The pause after a public endpoint is overloaded, or asked too often, and does not say how long to wait."""
_LONGEST_QLEVER_S = 10  # a QLever that is given more time than it may take refuses the query; 10 s is its least default
_SIGNS_WITHIN = 2**13  # bytes at both ends of a reply that are looked at for signs of an engine
_ENGINES_LATE_S = 2  # an engine looks at its clock now and then, and what it says of it needs time to get here

Meaning: TypeAlias = Literal["throttled", "out of time", "overloaded", "may pass", "refused", "not allowed"]
TimeoutUnit: TypeAlias = Literal["none", "ms", "s", "seconds with unit"]
Manner: TypeAlias = Literal["POST", "POSTDIRECTLY", "GET"]
Headers: TypeAlias = tuple[tuple[str, str], ...]
TextSearch: TypeAlias = Literal["none", "bif:contains", "wikibase:mwapi", "ql:has-word", "qlever", "jena", "graphdb"]

PROFILES_VARIABLE = "KGSPARQL_ENDPOINTS"
"""Names a file of profiles that is read in place of ``endpoints.toml`` in the configuration directory."""
_SHIPPED = Path(__file__).with_name("endpoints.toml")
_ALIAS = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HEADER = re.compile(r"(?i)(?!(?:accept|content|transfer)-|(?:accept|host|connection|user-agent)$)[\w!#-'*+.^`|~-]+")
"""A header of a user's own; the others are kgsparql's to write."""
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_OF_THE_SERVICE = frozenset({"name", "aliases", "urls", "hosts", "signs", "elsewhere", "token_env", "headers"})
"""Fields that are never taken over from an engine."""
_ADDED = frozenset({"noise", "statuses"})  # of a service, beside those of its engine
_NOTES = frozenset({"note", "sources"})


@frozen(kw_only=True)
class StatusMeaning:
    """The meaning of a status where it is not that of HTTP, and the words that the body must have for it."""

    status: int
    means: Meaning
    says: str = ""


@frozen(kw_only=True)
class EndpointProfile:
    """How to ask an endpoint: of one engine, or of one service that runs it. A table of ``endpoints.toml`` makes one.

    :param aliases: what a user may write instead of the URL.
    :param urls: of the service; none for an engine.
    :param engine: the name of the engine's own profile, whose values a service takes over.
    :param is_public: many share it: all graphs of a process take turns there, and errors count.
    :param has_many_labels: more than can be read: they are looked up for each question, and it is not asked for counts.
    :param quick_counts: it is asked how many there are of anything, however many that may be.
    :param manner: queries are posted as a form, posted as they are, or sent by GET where they are short.
    :param chunk_size: terms of one ``VALUES`` block.
    :param max_solutions: a result of exactly so many may have been cut.
    :param timeout_s: how long the server lets a query run.
    :param timeout_unit: of the parameter ``timeout`` by which an engine is told how long a query may take.
    :param pause_s: between the end of a query and the next.
    :param requests_per_minute: that it takes of one client; of one that names no contact ``requests_without_contact``.
    :param errors_per_minute: from which on a client is banned.
    :param hosts: all endpoints there are of this service; ``*.`` at the beginning stands for every name below one.
    :param signs: by which it is recognised: ``Header: how its value begins``, ``URL: part of its host and path``,
        ``Body: part of what it replies``, or how an IRI begins that its service description mentions.
    :param statuses: statuses that mean something of their own.
    :param has_union: whether the default graph is the union of all graphs; only Oxigraph is asked for that.
    :param has_named_graphs: whether it makes sense, and is allowed, to ask for named graphs; ``None``: find out.
    :param search_host: of a Wikibase, whose own search ``wikibase:mwapi`` is to ask.
    :param linker_url: of the search API of a Wikibase, if there is one: it is asked which entities have a name, before
        the text search is.
    :param degree_predicate: leads to a number that tells how well known an entity is; else its triples are counted.
    :param type_predicates: lead from an entity to its class, beside ``rdf:type``.
    :param label_predicates: the best first; none for those that kgsparql knows.
    :param noise: predicates that lead nowhere, beside those that kgsparql knows.
    :param external_ids: it is a Wikibase, which says itself which predicates lead to identifiers in other catalogues.
    :param silent_timeout_s: an empty result that took so long may be one that ran out of time.
    :param keep_s: how long a result may be used again.
    :param elsewhere: other services that hold what this one lacks, each as ``alias: what it holds``.
    :param token_env: the variable of the environment that holds a bearer token.
    :param headers: sent with every request; ``${NAME}`` in a value is that variable of the environment.
    """

    name: str = "unknown endpoint"
    aliases: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    engine: str = ""
    is_public: bool = False
    has_many_labels: bool = False
    quick_counts: bool = False
    manner: Manner = "POST"
    chunk_size: int = 200
    max_solutions: int | None = None
    timeout_s: float | None = None
    timeout_unit: TimeoutUnit = "none"
    concurrency: int = 4
    pause_s: float = 0.0
    requests_per_minute: int | None = None
    requests_without_contact: int | None = None
    errors_per_minute: int | None = None
    hosts: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    statuses: tuple[StatusMeaning, ...] = ()
    has_union: bool | None = None
    has_named_graphs: bool | None = None
    text_search: TextSearch = "none"
    search_host: str = ""
    linker_url: str = ""
    degree_predicate: IRI | None = None
    type_predicates: tuple[IRI, ...] = ()
    label_predicates: tuple[IRI, ...] = ()
    predicate_label_links: tuple[IRI, ...] = ()
    noise: tuple[IRI, ...] = ()
    external_ids: bool = False
    silent_timeout_s: float | None = None
    keep_s: float = 0.0
    elsewhere: tuple[str, ...] = ()
    token_env: str = ""
    headers: Headers = field(default=(), repr=False)

    def with_credentials(self, address: Address) -> Address:
        """Return an address with the headers of this profile, if it is on a server of its service.

        :raises OptionError: for a variable that is not set, or what no header can be; the value is not shown.
        """
        if self.urls and address.origin not in {Address.parse(url).origin for url in self.urls}:
            return address
        token = (("Authorization", f"Bearer ${{{self.token_env}}}"),) if self.token_env and not address.user else ()
        sent, secret = list[tuple[str, str]](), list[str]()
        for name, written in (*token, *self.headers):
            value = _VARIABLE.sub(self._variable_value, written)
            if not (_HEADER.fullmatch(name) and (name + value).isascii() and value.isprintable()):
                hint = "a name that kgsparql does not write itself, and a value of one line of ASCII"
                raise OptionError(f"{self.name}: no header: {printable(name, 60)}", hint=hint)
            sent.append((name, value))
            if value != written or is_secret_parameter(name, value):
                secret += [value, value.rpartition(" ")[2]]
        return replace(address, headers=tuple(sent), keys=(*address.keys, *secret))

    def _variable_value(self, found: re.Match[str]) -> str:
        if value := os.environ.get(found[1], "").strip():
            return value
        raise OptionError(f"{self.name}: its profile names {found[1]}, which is not set", hint=f"export {found[1]}=…")

    def on(self, engine: EndpointProfile) -> EndpointProfile:
        """Return the profile of the same service on another engine, whose text search is another, too."""
        if engine.name == self.engine:
            return self
        before = next((one for one in known_endpoints().engines if one.name == self.engine), UNKNOWN)
        own = {name: value for name in _TYPES if (value := getattr(self, name)) != getattr(before, name)}
        if before is not UNKNOWN:
            own.pop("text_search", None)
        for name in _ADDED:
            more = (value for value in getattr(self, name) if value not in getattr(before, name))
            own[name] = distinct((*more, *getattr(engine, name)))
        return replace(engine, **{**own, "engine": "" if engine is UNKNOWN else engine.name, "signs": ()})

    def time_limit(self, left_s: float) -> dict[str, str]:
        """Tell an engine when nobody waits any more, a little before: else it goes on with what was given up."""
        seconds = max(1, int(left_s - min(_ENGINES_LATE_S, left_s / 5))) if left_s < math.inf else 0
        text = {"ms": f"{1000 * seconds}", "s": f"{seconds}", "seconds with unit": f"{seconds}s"}.get(self.timeout_unit)
        is_refused = self.timeout_unit == "seconds with unit" and seconds > _LONGEST_QLEVER_S
        return {"timeout": text} if text and seconds and not is_refused else {}


UNKNOWN = EndpointProfile()  # the profile of an endpoint without one
SHARED: Json = {"is_public": True, "concurrency": 1, "pause_s": 0.1, "keep_s": 300.0}
"""What is assumed of an endpoint that the public may use, where its profile says nothing else."""
_TYPES = get_type_hints(EndpointProfile)


def could_be_alias(source: str) -> bool:
    """Tell whether a source is written as an alias is, and not as a path or a URL."""
    return _ALIAS.fullmatch(source.strip().lower()) is not None


@frozen
class KnownEndpoints:
    """Profiles of services and of engines; the first that fits is used."""

    services: tuple[EndpointProfile, ...]
    engines: tuple[EndpointProfile, ...]

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every name that opens an endpoint."""
        return tuple(sorted({alias for profile in self.services for alias in profile.aliases}))

    def named(self, alias: str) -> EndpointProfile | None:
        """Find the service with an alias."""
        return next((profile for profile in self.services if alias.lower() in profile.aliases), None)

    def at(self, url: str) -> EndpointProfile:
        """Find the profile of the service at a URL, else on its host.

        Else it is :data:`UNKNOWN`, with the limits of a public one if the public may use the URL.

        >>> known_endpoints().at("http://dbpedia.org/sparql/").name
        'DBpedia'
        """
        key, address = _url_key(url), Address.parse(url)
        for profile in self.services:
            if key in map(_url_key, profile.urls):
                return profile
        hosts = [
            (at, profile) for profile in self.services for at in profile.hosts if fnmatchcase(address.host, at.lower())
        ]
        if hosts:
            return max(hosts, key=lambda found: len(found[0]))[1]
        return replace(UNKNOWN, **SHARED) if address.is_for_all else UNKNOWN

    def engine(
        self, url: str, headers: Mapping[str, str], description: str, body: bytes, *, is_sure: bool = False
    ) -> EndpointProfile | None:
        """Recognise the engine by its signs in a reply, its service description, and its URL; ``None`` if none fits.

        :param is_sure: the URL alone does not tell.
        """
        parts = urlsplit(Address.parse(url).url)
        where = f"//{parts.netloc}{parts.path}".lower()  # parameters may name other engines
        said = (body[:_SIGNS_WITHIN] + body[-_SIGNS_WITHIN:]).decode("utf-8", "replace").lower()

        def strength_of(sign: str) -> int:
            """Return 2 for what it says of itself, which is surer than its URL."""
            name, _, value = (part.strip().lower() for part in sign.partition(":"))
            if name == "url":
                return int(value in where)
            if value.startswith("//"):
                return 2 * (sign in description)
            if name == "body":
                return 2 * (value in said)
            return 2 * (name in headers and headers[name].lower().startswith(value))

        signs = ((strength_of(sign), profile) for profile in self.engines for sign in profile.signs)
        strength, found = max(signs, key=lambda one: one[0], default=(0, None))
        return found if strength > is_sure else None

    def engine_of(self, url: str, reply: HttpReply) -> EndpointProfile | None:
        """Recognise the engine that wrote a reply by what only that engine writes."""
        return self.engine(url, reply.headers, "", reply.body, is_sure=True)


def _url_key(url: str) -> tuple[str, str]:
    """Spell server and path of a URL in one way, without parameters."""
    address = Address.parse(url)
    return address.server, urlsplit(address.url).path.rstrip("/")


def endpoint_named(source: object) -> EndpointProfile | None:
    """Find the service whose alias the source is, with that alias alone; ``None`` if it is no alias.

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
        hint = f"-k ./{name} is the one here, -k {profile.urls[0]} the other"
        raise InputError(f"{name}: {what} here, and a known endpoint", hint=hint)
    return replace(profile, aliases=(name.lower(),))


def known_endpoints() -> KnownEndpoints:
    """Read the profiles of the user's file, ``endpoints.toml`` in the configuration directory, and of ours.

    It is read again when it has changed.

    :raises GraphLoadError: for a file that is not right.
    :raises OptionError: if there is no file where :data:`PROFILES_VARIABLE` says.
    """
    from platformdirs import user_config_dir

    named = os.environ.get(PROFILES_VARIABLE, "").strip()
    own = Path(named or f"{user_config_dir('kgsparql', appauthor=False)}/{_SHIPPED.name}")
    if named and not own.is_file():
        raise OptionError(f"{PROFILES_VARIABLE}: no file {named}", hint="name a file of profiles, or unset it")
    return _known_endpoints(((own, own.stat().st_mtime_ns),) if own.is_file() else ())


@cache
def _known_endpoints(user_files: tuple[tuple[Path, int], ...]) -> KnownEndpoints:
    tables: dict[str, Json] = {}
    for path in (*(path for path, _ in user_files), _SHIPPED):
        for name, values in _tables_of(path).items():
            tables[name] = {**values, **tables.get(name, {})}
    profiles = []
    for name in tables:
        values = {"name": name, **_with_engine_values(name, tables)}
        if urls := values.get("urls"):
            values["aliases"] = (name, *values.get("aliases", ()))
            is_asked_freely = not {"is_public", "token_env", "headers"} & values.keys()
            is_shared = is_asked_freely and any(Address.parse(url).is_for_all for url in urls)
            values = (SHARED if is_shared else {}) | values
        profiles.append(EndpointProfile(**values | ({} if urls else {"engine": ""})))
    return KnownEndpoints(tuple(p for p in profiles if p.urls), tuple(p for p in profiles if not p.urls))


def _profile_error(message: str, path: Path | None = None) -> GraphLoadError:
    where = "" if path is None else f"{path}: "
    hint = "docs/endpoints.md has an example, endpoints.toml of kgsparql all fields"
    return GraphLoadError(f"{where}{message}", code="E_PROFILE", hint=hint)


def _tables_of(path: Path) -> dict[str, Json]:
    """Read the tables of a file, each value as the field of a profile has it."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _profile_error(f"not TOML: {error}", path) from None
    prefixes, tables = document.pop("prefixes", {}), dict[str, Json]()
    for name, values in document.items():
        if not isinstance(values, dict) or not _ALIAS.fullmatch(name):
            raise _profile_error(f"{name}: a profile is a table, in small letters, digits, - and _: [my-service]", path)
        tables[name] = {}
        for key, value in values.items():
            if key in _NOTES:
                continue
            try:
                tables[name][key] = _value_of_type(_TYPES[key], value, prefixes)
                _refuse_credentials({"urls": value, "linker_url": [value]}.get(key, ()))
            except KeyError:
                raise _profile_error(f"{name}.{key}: no such field", path) from None
            except (ValueError, TypeError) as error:
                shown = "" if key == "headers" else f"{printable(str(value), 80)}: "
                raise _profile_error(f"{name}.{key}: {shown}{error}", path) from None
    return tables


def _value_of_type(hint: Any, value: Any, prefixes: Mapping[str, str]) -> Any:
    """Return a value of TOML as a field of this type has it; a ValueError or TypeError if it is of another."""
    kinds = get_args(hint)
    if hint == Headers and isinstance(value, dict):
        return tuple((name, _value_of_type(str, text, prefixes)) for name, text in value.items())
    if type(None) in kinds:
        return _value_of_type(kinds[0], value, prefixes)
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_value_of_type(kinds[0], item, prefixes) for item in value)
    if hint is StatusMeaning and isinstance(value, dict):
        types = get_type_hints(StatusMeaning)
        return StatusMeaning(**{name: _value_of_type(types.get(name), v, prefixes) for name, v in value.items()})
    if get_origin(hint) is Literal and value in kinds:
        return value
    if hint in {int, float} and isinstance(value, int | float) and not isinstance(value, bool):
        if (hint is int and value >= 1 and value == int(value)) or (hint is float and 0 <= value < math.inf):
            return hint(value)
        raise ValueError("a whole number above 0" if hint is int else "a number of at least 0")
    if hint is IRI and isinstance(value, str):
        prefix, _, local = value.partition(":")
        if prefix not in prefixes and "://" not in value:
            raise ValueError("neither an IRI nor one with a prefix of the table [prefixes]")
        return iri(prefixes[prefix] + local if prefix in prefixes else value)
    if hint in {str, bool} and isinstance(value, hint) and value != "":
        return value
    raise ValueError(f"one of {', '.join(kinds)}" if get_origin(hint) is Literal else "a value of another type")


def _refuse_credentials(urls: Iterable[str]) -> None:
    if any(address.user or address.keys for address in map(Address.parse, urls)):
        raise ValueError("user, password and keys belong to -k")


def _with_engine_values(name: str, tables: Mapping[str, Mapping[str, Any]], *above: str) -> Json:
    """Return the values of a table, with those of its engine where it has none, and the name of the engine."""
    values = dict(tables[name])
    if not (engine := values.get("engine")):
        return values
    if engine not in tables or engine in {name, *above}:
        raise _profile_error(f"{name}.engine: {engine}: no such profile, or one that leads back here")
    theirs = _with_engine_values(engine, tables, name, *above)
    for key in theirs.keys() - _OF_THE_SERVICE:
        values.setdefault(key, theirs[key])
    for key in _ADDED & theirs.keys():
        values[key] = distinct((*values[key], *theirs[key]))
    values["engine"] = theirs.get("engine", "") if "urls" in theirs else theirs.get("name", engine)
    return values


@dataclass(slots=True)
class Probe:
    """What was found out about an endpoint so far, shared by all views of its graph.

    :param known: its profile before it was asked; ``profile``: with what was found.
    :param server: what it calls itself, in the header ``Server``; ``None`` before it was asked.
    :param checked_at: when its fingerprint was asked for, in the seconds of the graph's clock.
    :param used: whether a triple has one of some predicates.
    :param is_doubted: it failed where its engine does not: it may have another by now.
    """

    known: EndpointProfile
    profile: EndpointProfile
    server: str | None = None
    again_from: float = 0.0
    sizes: Any = None
    fingerprint: str | None = None
    checked_at: float = math.inf
    has_named_graphs: bool | None = None
    used: dict[tuple[IRI, ...], bool] = field(default_factory=dict)
    is_doubted: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def needs_description(self) -> bool:
        """Whether the endpoint is still to be asked what it is."""
        says_enough = self.known.engine or (self.known.name != UNKNOWN.name and not self.known.urls)
        is_open = self.is_doubted or (not says_enough and self.server is None)
        return is_open and time.monotonic() >= self.again_from


def engine_in_words(profile: EndpointProfile, server: str | None) -> str:
    """Say what the service and its engine are, as :class:`Probe` has them."""
    engine = profile.engine
    if server is not None and not engine:
        engine = "an engine that does not say what it is" + (server and f" (server: {server})")
    is_named = profile.name not in {UNKNOWN.name, profile.engine}
    return ", on ".join(filter(None, (profile.name if is_named else "", engine))) or "an engine that is not known yet"
