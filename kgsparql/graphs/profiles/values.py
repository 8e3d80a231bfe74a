"""The properties of an endpoint profile in Turtle: the field that each fills, and the values that it may have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, Literal, TypeAlias, get_args

from kgsparql.errors import InputError
from kgsparql.graphs.profiles.profile import ALIAS, Meaning, TextSearch
from kgsparql.http.address import Address, is_address
from kgsparql.rdf.terms import IRI, Term
from kgsparql.rdf.terms import Literal as RdfLiteral

KGS = "https://w3id.org/kgsparql#"
ENGINE = KGS + "engine"
DATA = KGS + "sameDataAs"
SEARCH = KGS + "textSearch"
STATUS = KGS + "statusMeaning"

_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(_XSD + name for name in ("integer", "decimal", "double", "float", "int", "long"))
_HOST = re.compile(r"(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*")
_Holds: TypeAlias = Literal["one", "several", "list", "any"]


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a profile.

    :param field: of :class:`~kgsparql.graphs.profiles.EndpointProfile`.
    :param read: the value of a term; its ValueError says what is wanted instead.
    :param holds: one value, several without an order, a list, or any one of several.
    :param adds: the values of the engine are added; else the profile's replace them.
    :param is_own: never taken over from an engine.
    :param is_of_data: it is about the data, whatever engine holds it.
    """

    field: str
    read: Callable[[Term], Any]
    holds: _Holds = "one"
    adds: bool = False
    is_own: bool = False
    is_of_data: bool = False


def _text(term: Term) -> str:
    if not isinstance(term, RdfLiteral) or not term.value.strip():
        raise ValueError("a text")
    return term.value.strip()


def _alias(term: Term) -> str:
    text = _text(term)
    if not ALIAS.fullmatch(text):
        raise ValueError("small letters, digits, - and _, a letter or digit first")
    return text


def _boolean(term: Term) -> bool:
    if not isinstance(term, RdfLiteral) or term.datatype.value != _XSD + "boolean":
        raise ValueError("true or false, without quotes")
    return term.value in {"true", "1"}


def _number(term: Term) -> float:
    try:
        is_number = isinstance(term, RdfLiteral) and term.datatype.value in _NUMBERS
        value = float(term.value) if is_number else -1.0  # type: ignore[union-attr]
    except ValueError:
        value = -1.0
    if not isfinite(value) or value < 0:
        raise ValueError("a number of at least 0, without quotes")
    return value


def _count(term: Term) -> int:
    try:
        value = _number(term)
    except ValueError:
        value = 0.0
    if value < 1 or value != int(value):
        raise ValueError("a whole number above 0, without quotes")
    return int(value)


def _iri(term: Term) -> IRI:
    if isinstance(term, IRI):
        return term
    raise ValueError("an IRI")


def _url(term: Term) -> str:
    text = _iri(term).value
    if not is_address(text):
        raise ValueError("the URL of an endpoint, with http or https")
    try:
        address = Address.parse(text)
    except InputError:
        raise ValueError("the URL of an endpoint, for example <https://host/sparql>") from None
    if address.user or address.keys:
        raise ValueError("a URL without user, password and keys: those belong to -k")
    return text


def _host(term: Term) -> str:
    text = _text(term).lower().rstrip(".")
    if not _HOST.fullmatch(text):
        raise ValueError("the name of a host, for example sparql.example.org or *.example.org")
    return text


def _elsewhere(term: Term) -> str:
    text = _text(term)
    if not re.match(rf"{ALIAS.pattern}:\s*\S", text):
        raise ValueError('an alias and what is there: "alias: what it holds"')
    return text


def _one_of(options: tuple[str, ...]) -> Callable[[Term], str]:
    def read(term: Term) -> str:
        if not isinstance(term, RdfLiteral) or term.value not in options:
            raise ValueError(f"one of {', '.join(options)}")
        return term.value

    return read


_own = partial(Property, is_own=True)
_of_data = partial(Property, is_of_data=True)
PROPERTIES: dict[str, Property] = {
    "http://www.w3.org/2000/01/rdf-schema#label": _own("name", _text, "any"),
    "http://www.w3.org/ns/sparql-service-description#endpoint": _own("endpoint", _url),
    KGS + "alsoAt": _own("also_at", _url, "several"),
    KGS + "alias": _own("aliases", _alias, "several"),
    KGS + "host": _own("hosts", _host, "several"),
    KGS + "sign": _own("signs", _text, "several"),
    KGS + "elsewhere": _own("elsewhere", _elsewhere, "several"),
    KGS + "isPublic": Property("is_public", _boolean),
    KGS + "hasManyLabels": _of_data("has_many_labels", _boolean),
    KGS + "needsContact": Property("needs_contact", _boolean),
    KGS + "post": Property("post", _boolean),
    KGS + "maxUrl": Property("max_url", _count),
    KGS + "chunkSize": Property("chunk_size", _count),
    KGS + "maxSolutions": Property("max_solutions", _count),
    KGS + "timeoutSeconds": Property("timeout_s", _number),
    KGS + "concurrency": Property("concurrency", _count),
    KGS + "pauseSeconds": Property("pause_s", _number),
    KGS + "querySeconds": Property("query_seconds", _number),
    KGS + "burstSeconds": Property("burst_seconds", _number),
    KGS + "errorsPerMinute": Property("errors_per_minute", _count),
    KGS + "hasUnion": Property("has_union", _boolean),
    KGS + "hasNamedGraphs": Property("has_named_graphs", _boolean),
    SEARCH: Property("text_search", _one_of(get_args(TextSearch))),
    KGS + "searchHost": Property("search_host", _host),
    KGS + "degreePredicate": _of_data("degree_predicate", _iri),
    KGS + "typePredicate": _of_data("type_predicates", _iri, "several"),
    KGS + "labelPredicates": _of_data("label_predicates", _iri, "list"),
    KGS + "predicateLabelLink": _of_data("predicate_label_links", _iri, "several"),
    KGS + "noise": _of_data("noise", _iri, "several", adds=True),
    KGS + "externalIds": _of_data("external_ids", _boolean),
    KGS + "silentTimeoutSeconds": Property("silent_timeout_s", _number),
    KGS + "keepSeconds": Property("keep_s", _number),
}
"""By IRI; without :data:`ENGINE`, :data:`DATA` and :data:`STATUS`, which lead to other nodes."""

STATUS_PROPERTIES: dict[str, Property] = {
    KGS + "httpStatus": Property("status", _count),
    KGS + "means": Property("means", _one_of(get_args(Meaning))),
    KGS + "says": Property("says", _text),
}
"""The properties of a status meaning, by IRI."""
