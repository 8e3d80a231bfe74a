"""What is known of SPARQL engines and public services before they are asked: how each is to be asked."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from kgsparql.errors import GraphLoadError, InputError
from kgsparql.http.address import Address, host_of, is_address, is_for_all, matches, server_of
from kgsparql.rdf.terms import IRI, printable

PROFILES_VARIABLE = "KGSPARQL_ENDPOINTS"
"""Names a file of the user's; another may be ``endpoints.toml`` in the user's configuration directory."""
PUBLIC_PAUSE_S = 60.0
"""The pause after a public endpoint is overloaded, or asked too often, and does not say how long to wait."""
PUBLIC_TIMEOUT_S = 60.0
"""How long a public endpoint may work on a query, where its profile does not say."""

Meaning: TypeAlias = Literal["throttled", "out of time", "overloaded", "may pass", "refused", "not allowed"]
TextSearch: TypeAlias = Literal["none", "bif:contains", "wikibase:mwapi", "qlever", "jena", "graphdb"]

_SHIPPED = Path(__file__).with_name("endpoints.toml")
_EXAMPLE = "endpoints.toml of kgsparql has examples"
_ALIAS = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HOST = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*")
_OF_THE_SERVICE = frozenset({"name", "aliases", "urls", "hosts", "signs", "elsewhere"})
"""Fields that are never taken over from an engine."""
_OF_THE_DATA = frozenset(
    {"has_many_labels", "degree_predicate", "type_predicates", "label_predicates", "predicate_label_links", "noise",
     "external_ids"}
)  # fmt: skip
_NOT_FIELDS = frozenset({"engine", "same_data_as", "note", "sources"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMeaning:
    """The meaning of a status where it is not that of HTTP.

    :param says: words that the body must have for this meaning, in upper or lower case; empty for any body.
    """

    status: int
    means: Meaning
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointProfile:
    """How to ask an endpoint: of one engine, or of one service that runs it. A table of ``endpoints.toml`` makes one.

    :param name: as ``info`` and ``doctor`` say it.
    :param aliases: what a user may write instead of the URL.
    :param urls: of the service; none for an engine.
    :param engine: the name of the engine's own profile, whose values a service takes over.
    :param is_public: many share it. It counts clients, so that all graphs and processes of a user take turns there; it
        counts queries that it cannot run as errors; and counts of all triples get some seconds only.
    :param has_many_labels: more than can be read: they are looked up for each question, and it is not asked for counts.
    :param needs_contact: requests without a way to reach who sends them are refused.
    :param post: queries are posted; else they are sent by GET where they fit in ``max_url`` bytes.
    :param chunk_size: terms of one ``VALUES`` block.
    :param max_solutions: a result of exactly so many may have been cut.
    :param timeout_s: how long the server lets a query run.
    :param concurrency: queries at once.
    :param pause_s: between the end of a query and the next.
    :param query_seconds: in each minute, for all queries together; at most ``burst_seconds`` may be saved up.
    :param errors_per_minute: from which on a client is banned.
    :param hosts: all endpoints there are of this service; ``*.`` at the beginning stands for every name below one.
    :param signs: by which it is recognised: ``Header: how its value begins``, ``URL: part of its host and path``, or
        how an IRI begins that its service description mentions.
    :param statuses: statuses that mean something of their own.
    :param has_union: whether the default graph is the union of all graphs; ``None``: find out.
    :param has_named_graphs: whether there are any, so that it makes sense, and is allowed, to ask for them; ``None``:
        find out.
    :param text_search: how labels can be searched.
    :param search_host: of a Wikibase, whose own search ``wikibase:mwapi`` is to ask.
    :param degree_predicate: leads to a number that tells how well known an entity is; else its triples are counted.
    :param type_predicates: lead from an entity to its class, beside ``rdf:type``.
    :param label_predicates: the best first; none for those that kgsparql knows.
    :param noise: predicates that lead nowhere, beside those that kgsparql knows.
    :param external_ids: it is a Wikibase, which says itself which predicates lead to identifiers in other catalogues.
    :param silent_timeout_s: an empty result that took so long may be one that ran out of time.
    :param keep_s: how long a result may be used again.
    :param elsewhere: other services that hold what this one lacks, each as ``alias: what it holds``.
    """

    name: str = "unknown endpoint"
    aliases: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    engine: str = ""
    is_public: bool = False
    has_many_labels: bool = False
    needs_contact: bool = False
    post: bool = True
    max_url: int = 1_500
    chunk_size: int = 200
    max_solutions: int | None = None
    timeout_s: float | None = None
    concurrency: int = 4
    pause_s: float = 0.0
    query_seconds: float | None = None
    burst_seconds: float | None = None
    errors_per_minute: int | None = None
    hosts: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    statuses: tuple[StatusMeaning, ...] = ()
    has_union: bool | None = None
    has_named_graphs: bool | None = None
    text_search: TextSearch = "none"
    search_host: str = ""
    degree_predicate: IRI | None = None
    type_predicates: tuple[IRI, ...] = ()
    label_predicates: tuple[IRI, ...] = ()
    predicate_label_links: tuple[IRI, ...] = ()
    noise: tuple[IRI, ...] = ()
    external_ids: bool = False
    silent_timeout_s: float | None = None
    keep_s: float = 0.0
    elsewhere: tuple[str, ...] = ()

    @property
    def abandoned_query_s(self) -> float:
        """How long it may work on, and count, a query that nobody waits for any more."""
        if not self.is_public:
            return 0.0
        return PUBLIC_TIMEOUT_S if self.timeout_s is None else self.timeout_s

    @property
    def overload_pause_s(self) -> float | None:
        """The pause when it is overloaded and does not say how long; ``None``: as for any server."""
        return PUBLIC_PAUSE_S if self.is_public else None

    @property
    def may_be_searched_for_noise(self) -> bool:
        """Whether it may be asked for its identifying predicates; a public one only if its profile says it has some."""
        return self.external_ids or not self.is_public

    @property
    def wants_contact(self) -> bool:
        """Whether its operators should know how to reach who asks, even where they do not insist."""
        return self.needs_contact or self.is_public


UNKNOWN = EndpointProfile()
"""The profile of an endpoint without one."""
SHARED: dict[str, Any] = {"is_public": True, "concurrency": 1, "pause_s": 0.1, "keep_s": 300.0}
"""What is assumed of an endpoint that the public may use, where its profile says nothing else."""
_FIELDS: dict[str, Any] = {
    name: hint for name, hint in get_type_hints(EndpointProfile).items() if name not in _NOT_FIELDS
}


def could_be_alias(source: str) -> bool:
    """Tell whether a source is written as an alias is, and not as a path or a URL.

    >>> could_be_alias("wikidata"), could_be_alias("./wikidata"), could_be_alias("data.ttl")
    (True, False, False)
    """
    return _ALIAS.fullmatch(source.strip().lower()) is not None


@dataclass(frozen=True, slots=True)
class KnownEndpoints:
    """Profiles; the first that fits is used.

    >>> known_endpoints().named("dbpedia").urls[0]
    'https://dbpedia.org/sparql'
    """

    profiles: tuple[EndpointProfile, ...]

    @property
    def services(self) -> tuple[EndpointProfile, ...]:
        """The profiles of services."""
        return tuple(profile for profile in self.profiles if profile.urls)

    @property
    def engines(self) -> tuple[EndpointProfile, ...]:
        """The profiles of engines."""
        return tuple(profile for profile in self.profiles if not profile.urls)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every name that opens an endpoint."""
        return tuple(sorted({alias for profile in self.services for alias in profile.aliases}))

    def named(self, alias: str) -> EndpointProfile | None:
        """Find the service with an alias."""
        return next((profile for profile in self.services if alias.lower() in profile.aliases), None)

    def by_name(self, name: str) -> EndpointProfile | None:
        """Find the engine with a name, as in :attr:`EndpointProfile.engine`."""
        return next((profile for profile in self.engines if profile.name == name), None)

    def at(self, url: str) -> EndpointProfile:
        """Find the profile of the service at a URL, else on its host.

        Else it is :data:`UNKNOWN`, with the limits of a public one if the public may use the URL.

        >>> known_endpoints().at("http://dbpedia.org/sparql/").name
        'DBpedia'
        """
        key, host = _url_key(url), host_of(url)
        for profile in self.services:
            if key in map(_url_key, profile.urls):
                return profile
        hosts = [(at, profile) for profile in self.services for at in profile.hosts if matches(host, at)]
        if hosts:
            return max(hosts, key=lambda found: len(found[0]))[1]
        known = next((profile for profile in self.services if _has_url_sign(url, profile)), None)
        return known or (replace(UNKNOWN, **SHARED) if is_for_all(url) else UNKNOWN)

    def engine(self, url: str, headers: Mapping[str, str], description: str) -> EndpointProfile | None:
        """Recognise the engine by its signs; ``None`` if none fits.

        :param headers: of any reply, names in lower case.
        :param description: the text of the service description; empty if there is none.
        """
        for profile in self.engines:  # what it says of itself is surer than its URL
            if any(_has_sign(sign, headers, description) for sign in profile.signs):
                return profile
        return next((profile for profile in self.engines if _has_url_sign(url, profile)), None)


def known_endpoints() -> KnownEndpoints:
    """Read the profiles of the user's files and of ours; again when a file has changed.

    :raises GraphLoadError: for a file that is not right, with its line.
    :raises InputError: if there is no file where :data:`PROFILES_VARIABLE` says.
    """
    return _known_endpoints(tuple((path, path.stat().st_mtime_ns) for path in _user_files()))


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


@cache
def _known_endpoints(user_files: tuple[tuple[Path, int], ...]) -> KnownEndpoints:
    tables: dict[str, _Table] = {}
    for path in (*(path for path, _ in user_files), _SHIPPED):
        for table in _tables_of(path):
            known = tables.setdefault(table.name, table)
            if known is not table:
                known.values = {**table.values, **known.values}
    return KnownEndpoints(tuple(_profile_of_table(table, tables) for table in tables.values()))


def _user_files() -> list[Path]:
    from platformdirs import user_config_dir

    files = []
    if given := os.environ.get(PROFILES_VARIABLE, "").strip():
        if not Path(given).is_file():
            raise InputError(f"{PROFILES_VARIABLE}: no file {given}", hint="name a TOML file of profiles, or unset it")
        files.append(Path(given))
    own = Path(user_config_dir("kgsparql", appauthor=False)) / _SHIPPED.name
    return [*files, own] if own.is_file() else files


@dataclass(slots=True)
class _Table:
    """What the files say of one profile; the first file is the one that errors name."""

    name: str
    values: dict[str, Any]
    file: Path
    text: str

    def error(self, key: str, message: str, hint: str = _EXAMPLE) -> GraphLoadError:
        """Make the error of a value that no profile may have, with its line."""
        line, is_inside = None, False
        for number, text in enumerate(self.text.splitlines(), 1):
            if text.startswith("["):
                is_inside = text.startswith((f"[{self.name}]", f"[[{self.name}."))
                line = number if is_inside and line is None else line
            elif is_inside and re.match(rf"\s*{re.escape(key)}\s*=", text):
                line = number
                break
        place = str(self.file) if line is None else f"{self.file}:{line}"
        what = f"{self.name}.{key}" if key else self.name
        return GraphLoadError(
            f"{place}: {what}: {message}", code="E_PROFILE", hint=hint, path=str(self.file), line=line
        )


def _tables_of(path: Path) -> Iterator[_Table]:
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="name a TOML file of profiles") from None
    except ValueError as error:
        raise GraphLoadError(f"{path}: not TOML: {error}", code="E_PROFILE", hint=_EXAMPLE, path=str(path)) from None
    prefixes = document.pop("prefixes", {})
    for name, values in document.items():
        table = _Table(name, {}, path, text)
        if not isinstance(values, dict) or not _ALIAS.fullmatch(name):
            raise table.error("", "a profile is a table, named in small letters, digits, - and _: [my-service]")
        for key, value in values.items():
            if key in {"note", "sources"}:
                continue
            if key not in _FIELDS and key not in _NOT_FIELDS:
                near = difflib.get_close_matches(key, sorted(_FIELDS.keys() | _NOT_FIELDS), n=1)
                raise table.error(key, "no such field", f"did you mean {near[0]}?" if near else _EXAMPLE)
            try:
                table.values[key] = _checked_value(key, _FIELDS.get(key, str), value, prefixes)
            except ValueError as error:
                raise table.error(key, f"{printable(str(value), 80)!r} is not {error}") from None
        yield table


def _checked_value(key: str, hint: Any, value: Any, prefixes: Mapping[str, str]) -> Any:
    """Return the value as a field of this type has it; a ValueError says what is wanted instead."""
    options = get_args(hint)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise ValueError("a list in [ ]")
        return tuple(_checked_value(key, options[0], item, prefixes) for item in value)
    if get_origin(hint) is Literal:
        if value not in options:
            raise ValueError(f"one of {', '.join(options)}")
        return value
    if type(None) in options:
        return _checked_value(key, options[0], value, prefixes)
    if hint is bool and not isinstance(value, bool):
        raise ValueError("true or false, without quotes")
    if hint in {int, float}:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if hint is int and not (is_number and value >= 1 and value == int(value)):
            raise ValueError("a whole number above 0, without quotes")
        if not is_number or value < 0:
            raise ValueError("a number of at least 0, without quotes")
        return hint(value)
    if hint is StatusMeaning:
        if not isinstance(value, dict) or not {"status", "means"} <= value.keys() <= {"status", "means", "says"}:
            raise ValueError("{ status = …, means = …, says = … }")
        hints = get_type_hints(StatusMeaning)
        return StatusMeaning(**{name: _checked_value(name, hints[name], v, prefixes) for name, v in value.items()})
    return value if hint is bool else _checked_text(key, hint, value, prefixes)


def _checked_text(key: str, hint: Any, value: Any, prefixes: Mapping[str, str]) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text in quotes")
    text = value.strip()
    if hint is IRI:
        prefix, _, local = text.partition(":")
        if prefix not in prefixes and "://" not in text:
            raise ValueError("an IRI, or one with a prefix of the table [prefixes]")
        return IRI(prefixes[prefix] + local if prefix in prefixes else text)
    if key == "urls":
        try:
            address = Address.parse(text) if is_address(text) else None
        except InputError:
            address = None
        if address is None:
            raise ValueError("the URL of an endpoint, for example https://host/sparql")
        if address.user or address.keys:
            raise ValueError("a URL without user, password and keys: those belong to -k")
    if key in {"hosts", "search_host"} and not _HOST.fullmatch(text := text.lower().rstrip(".")):
        raise ValueError("the name of a host, for example sparql.example.org or *.example.org")
    if key == "aliases" and not _ALIAS.fullmatch(text):
        raise ValueError("small letters, digits, - and _, a letter or digit first")
    if key == "elsewhere" and not re.match(rf"{_ALIAS.pattern}:\s*\S", text):
        raise ValueError('an alias and what is there: "alias: what it holds"')
    return text


def _profile_of_table(own: _Table, tables: Mapping[str, _Table]) -> EndpointProfile:
    """Make a profile with the values of its engine, and the engine of that, where it has none itself.

    For fields about the data, the profile of the same data comes before the engine.
    """
    values, engine = dict(own.values), ""
    if (same := values.pop("same_data_as", None)) is not None:
        _take_over(values, _linked(own, "same_data_as", same, tables), _OF_THE_DATA)
    engines = [own]
    while (name := engines[-1].values.get("engine")) is not None:
        parent = _linked(engines[-1], "engine", name, tables)
        if parent in engines:
            raise engines[-1].error("engine", f"{name} leads back to where it came from")
        engines.append(parent)
        _take_over(values, parent, _FIELDS.keys() - _OF_THE_SERVICE - {"statuses"})
        values["statuses"] = (*values.get("statuses", ()), *parent.values.get("statuses", ()))
        if not engine and "urls" not in parent.values:
            engine = parent.values.get("name", name)
    is_service = bool(values.get("urls"))
    values = {"name": own.name, **values, "engine": engine if is_service else ""}
    if is_service:
        values["aliases"] = (own.name, *values.get("aliases", ()))
        if values.get("text_search") == "wikibase:mwapi" and not values.get("search_host"):
            hint = 'say which one is searched, for example search_host = "www.wikidata.org"'
            raise own.error("text_search", "no wiki is named", hint)
        if "is_public" not in values and any(map(is_for_all, values["urls"])):
            values = {**SHARED, **values}
    return EndpointProfile(**values)


def _take_over(values: dict[str, Any], parent: _Table, names: Set[str]) -> None:
    for name in names & parent.values.keys():
        theirs = parent.values[name]
        own = values.setdefault(name, theirs)
        if name == "noise":
            values[name] = tuple(dict.fromkeys((*own, *theirs)))


def _linked(own: _Table, key: str, name: str, tables: Mapping[str, _Table]) -> _Table:
    if name not in tables:
        raise own.error(key, f"{name}: no such profile", f"one of {', '.join(sorted(tables))}, or one of your own")
    return tables[name]


def _url_key(url: str) -> tuple[str, str]:
    """Spell server and path of a URL in one way, without parameters."""
    return server_of(url), urlsplit(Address.parse(url).url).path.rstrip("/")


def _has_url_sign(url: str, profile: EndpointProfile) -> bool:
    parts = urlsplit(Address.parse(url).url)
    where = f"//{parts.netloc}{parts.path}".lower()  # parameters may name other engines
    signs = (sign.partition(": ") for sign in profile.signs)
    return any(name.lower() == "url" and part.lower() in where for name, colon, part in signs if colon)


def _has_sign(sign: str, headers: Mapping[str, str], description: str) -> bool:
    if "://" in sign and not sign.lower().startswith("url:"):
        return sign in description
    name, _, value = sign.partition(":")
    said = headers.get(name.strip().lower())
    return name.lower() != "url" and said is not None and said.lower().startswith(value.strip().lower())
