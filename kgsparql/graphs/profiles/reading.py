"""Reads endpoint profiles from Turtle; an error names the line of what is wrong."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import pyoxigraph as ox

from kgsparql.errors import GraphLoadError
from kgsparql.graphs.files import RdfFile, ReadOptions, reader_of
from kgsparql.graphs.parsing import BlankNodes, LineReader, quads
from kgsparql.graphs.profiles.profile import SHARED, EndpointProfile, StatusMeaning
from kgsparql.graphs.profiles.values import DATA, ENGINE, KGS, PROPERTIES, SEARCH, STATUS, STATUS_PROPERTIES, Property
from kgsparql.http.address import is_for_all
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, printable

_OF_A_WIKI = "wikibase:mwapi"
_FIRST = "http://www.w3.org/1999/02/22-rdf-syntax-ns#first"
_EXAMPLE = "ontologies/endpoints.ttl of kgsparql has examples"


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A Turtle file of profiles.

    :param name: as errors say it.
    :param data: its content, where it is not the user's.
    """

    name: str
    path: Path | None = None
    data: bytes = b""

    def store(self) -> ox.Store:
        """The triples of the file."""
        store = ox.Store()
        if self.path is None:
            store.bulk_load(self.data, ox.RdfFormat.TURTLE)
        else:
            options = ReadOptions(format="ttl", base=self.path.resolve().as_uri())
            store.bulk_extend(quads(RdfFile(self.name, self.path), options, BlankNodes()))
        return store

    def wrong(self, predicate: str, value: Term | None, message: str, hint: str = _EXAMPLE) -> GraphLoadError:
        """The error for a triple that no profile may have.

        :param value: ``None``, or a blank node, for the first triple with the predicate.
        """
        line = self._line(predicate, value)
        place = self.name if line is None else f"{self.name}:{line}"
        return GraphLoadError(f"{place}: {message}", code="E_PROFILE", hint=hint, path=self.name, line=line)

    def _line(self, predicate: str, value: Term | None) -> int | None:
        """The line of a triple: the parser, given one line at a time, yields each triple as soon as it is complete."""
        if self.path is None:
            return None
        base = self.path.resolve().as_uri()
        with (
            reader_of(RdfFile(self.name, self.path), ReadOptions(format="ttl")) as reader,
            suppress(SyntaxError, ValueError),  # it was parsed whole before
        ):
            lines = LineReader(reader)
            for quad in ox.parse(cast("IO[bytes]", lines), ox.RdfFormat.TURTLE, base_iri=base):
                is_any = value is None or isinstance(value, BlankNode)
                is_item = quad.predicate.value == _FIRST and not is_any
                if (quad.predicate.value == predicate or is_item) and (is_any or quad.object == value):
                    return lines.number
        return None


@dataclass(slots=True)
class _Statements:
    """What files say of one profile.

    :param values: of its fields.
    :param links: by property, the profile of its engine or of the same data, and the file that says so.
    :param searched_by: the file that says how its labels can be searched.
    """

    values: dict[str, Any] = field(default_factory=dict)
    links: dict[str, tuple[IRI, ProfileFile]] = field(default_factory=dict)
    searched_by: ProfileFile | None = None


def read_profiles(files: Sequence[ProfileFile]) -> tuple[EndpointProfile, ...]:
    """The profiles of some files, those of the first before those of the next, each in the order of its names.

    Where two files describe one IRI, the earlier's values replace the later's, property by property.

    :raises GraphLoadError: for what is not Turtle, or no valid profile, with its line.
    :raises InputError: for a file that cannot be read.
    """
    said: dict[tuple[object, Term], _Statements] = {}
    for file in files:
        for node, found in _statements(file).items():
            # The same blank node in another file is another.
            known = said.setdefault((file if isinstance(node, BlankNode) else None, node), found)
            if known is not found:
                known.values = {**found.values, **known.values}
                known.links = {**found.links, **known.links}
                known.searched_by = known.searched_by or found.searched_by
    named: dict[Term, _Statements] = {node: found for (_, node), found in said.items() if isinstance(node, IRI)}
    return tuple(_profile(found, named) for found in said.values())


def _statements(file: ProfileFile) -> dict[Term, _Statements]:
    store = file.store()
    values: dict[tuple[Term, str], list[Term]] = defaultdict(list)
    for solution in _solutions(store, "endpoint_profiles"):
        values[solution["profile"], _iri(solution["property"])].append(solution["value"])
    if not values:
        message = f"{file.name}: nothing in it is a kgs:EndpointProfile"
        raise GraphLoadError(message, code="E_PROFILE", hint=_EXAMPLE, path=file.name)
    lists = _lists(store)
    found: dict[Term, _Statements] = {node: _Statements() for node, _ in sorted(values, key=str)}
    for (node, name), terms in values.items():
        if name in {ENGINE, DATA}:
            if len(terms) > 1 or not isinstance(terms[0], IRI):
                raise file.wrong(name, terms[-1], f"{_short(name)}: not the IRI of one profile")
            found[node].links[name] = terms[0], file
        elif name in PROPERTIES:
            prop = PROPERTIES[name]
            terms = lists.get((node, name), terms) if prop.holds == "list" else terms  # noqa: PLW2901
            found[node].values[prop.field] = _value(file, name, prop, terms)
            found[node].searched_by = file if name == SEARCH else found[node].searched_by
        elif name.startswith(KGS) and name != STATUS:
            raise file.wrong(name, None, f"no property {_short(name)} of a profile", _nearest(name, PROPERTIES))
    for node, statuses in _statuses(file, store).items():
        found[node].values["statuses"] = statuses
    return found


def _solutions(store: ox.Store, query: str) -> Iterator[dict[str, Any]]:
    found = cast("ox.QuerySolutions", store.query(Query.load(query).without_comments))
    names = [variable.value for variable in found.variables]
    for solution in found:
        yield {name: term for name, term in zip(names, solution, strict=True) if term is not None}


def _lists(store: ox.Store) -> dict[tuple[Term, str], list[Term]]:
    items: dict[tuple[Term, str], list[tuple[int, Term]]] = defaultdict(list)
    for solution in _solutions(store, "endpoint_lists"):
        position = int(getattr(solution["position"], "value", "0"))
        items[solution["profile"], _iri(solution["property"])].append((position, solution["item"]))
    return {of: [item for _, item in sorted(found, key=lambda pair: pair[0])] for of, found in items.items()}


def _statuses(file: ProfileFile, store: ox.Store) -> dict[Term, tuple[StatusMeaning, ...]]:
    said: dict[tuple[Term, Term], dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for solution in _solutions(store, "endpoint_statuses"):
        said[solution["profile"], solution["meaning"]][_iri(solution["property"])].append(solution["value"])
    found: dict[Term, list[StatusMeaning]] = defaultdict(list)
    for (node, _), values in said.items():
        fields: dict[str, Any] = {}
        for name, terms in values.items():
            if name in STATUS_PROPERTIES:
                fields[STATUS_PROPERTIES[name].field] = _value(file, name, STATUS_PROPERTIES[name], terms)
            elif name.startswith(KGS):
                hint = _nearest(name, STATUS_PROPERTIES)
                raise file.wrong(name, None, f"no property {_short(name)} of a status meaning", hint)
        if not {"status", "means"} <= set(fields):
            raise file.wrong(STATUS, None, "kgs:statusMeaning: needs kgs:httpStatus and kgs:means")
        found[node].append(StatusMeaning(**fields))
    return {node: tuple(sorted(meanings, key=lambda m: (m.status, m.says))) for node, meanings in found.items()}


def _value(file: ProfileFile, name: str, prop: Property, terms: Sequence[Term]) -> Any:
    """The value of a field: one, or several in an order that does not depend on the store."""
    read: list[Any] = []
    # Of labels in several languages, the English one.
    ordered = (
        terms if prop.holds == "list" else sorted(terms, key=lambda t: (getattr(t, "language", None) != "en", str(t)))
    )
    for term in ordered:
        try:
            read.append(prop.read(term))
        except ValueError as error:
            shown = printable(str(getattr(term, "value", term)), 80)
            raise file.wrong(name, term, f"{_short(name)} {shown!r}: not {error}") from None
    if prop.holds == "one" and len(read) > 1:
        shown = " and ".join(printable(str(value), 80) for value in read)
        raise file.wrong(name, ordered[-1], f"{_short(name)} has one value, not {shown}")
    return tuple(read) if prop.holds in {"several", "list"} else read[0]


def _profile(own: _Statements, named: dict[Term, _Statements]) -> EndpointProfile:
    """A profile with the values of its engine, and the engine of that, where it has none itself.

    For properties of the data, the profile of the same data comes before the engine.
    """
    values, engine = dict(own.values), ""
    if DATA in own.links:
        _take_over(values, _linked(own, DATA, named), (prop for prop in PROPERTIES.values() if prop.is_of_data))
    for parent in _engines(own, named):
        _take_over(values, parent, (prop for prop in PROPERTIES.values() if not prop.is_own))
        values["statuses"] = (*values.get("statuses", ()), *parent.values.get("statuses", ()))
        if not engine and "endpoint" not in parent.values:
            engine = parent.values.get("name", "")
    at, aliases = values.pop("endpoint", None), values.get("aliases", ())
    values["urls"] = tuple(dict.fromkeys((*([at] if at else []), *values.pop("also_at", ()))))
    values["engine"] = engine if values["urls"] else ""
    values.setdefault("name", next(iter((*aliases, *values["urls"])), "endpoint"))
    if values["urls"] and values.get("text_search") == _OF_A_WIKI and not values.get("search_host"):
        file = next(one.searched_by for one in (own, *_engines(own, named)) if one.searched_by is not None)
        raise file.wrong(
            SEARCH, Literal(_OF_A_WIKI), f"{_short(SEARCH)} of {printable(values['name'], 80)}: no wiki is named",
            'say which one is searched, for example kgs:searchHost "www.wikidata.org"',
        )  # fmt: skip
    if "is_public" not in values and any(map(is_for_all, values["urls"])):
        values = {**SHARED, **values}
    return EndpointProfile(**values)


def _take_over(values: dict[str, Any], parent: _Statements, properties: Iterable[Property]) -> None:
    """Add the values of another profile for these properties, where there are none, or where such values add up."""
    for prop in properties:
        if prop.field in parent.values:
            theirs = parent.values[prop.field]
            own = values.setdefault(prop.field, theirs)
            if prop.adds:
                values[prop.field] = tuple(dict.fromkeys((*own, *theirs)))


def _engines(own: _Statements, named: dict[Term, _Statements]) -> Iterator[_Statements]:
    """The statements of its engine, of the engine of that, and so on."""
    met = [own]
    while ENGINE in met[-1].links:
        engine = _linked(met[-1], ENGINE, named)
        if engine in met:
            node, file = met[-1].links[ENGINE]
            raise file.wrong(ENGINE, node, f"kgs:engine {_short(node.value)}: leads back to where it came from")
        met.append(engine)
        yield engine


def _linked(own: _Statements, name: str, named: dict[Term, _Statements]) -> _Statements:
    node, file = own.links[name]
    if node not in named:
        known = sorted(_short(n.value) for n in named if isinstance(n, IRI) and n.value.startswith(KGS))
        hint = f"one of {', '.join(known)}, or one of your own"
        raise file.wrong(name, node, f"{_short(name)} {_short(node.value)}: no such profile", hint)
    return named[node]


def _nearest(name: str, properties: Iterable[str]) -> str:
    ours = sorted(_short(prop) for prop in (*properties, ENGINE, DATA, STATUS) if prop.startswith(KGS))
    near = difflib.get_close_matches(_short(name), ours, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(ours)}"


def _short(name: str) -> str:
    return f"kgs:{name.removeprefix(KGS)}" if name.startswith(KGS) else f"<{name}>"


def _iri(term: Term) -> str:
    return term.value if isinstance(term, IRI) else ""
