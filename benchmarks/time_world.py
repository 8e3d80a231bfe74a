"""Hold the world of dated facts of time_suite.py and write it in three shapes.

The facts, and the words for them, are in time_world.toml.  Spans there: 2001/2005, 2014/ (still holds), /1995 (start
unknown), 2006/? (ended, nobody knows when), =1993 (one date), - (no date).  A mark after the span: ! preferred, ~
deprecated.  Only the statements have ranks, so the other two shapes leave the deprecated facts out.
"""

import re
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHAPES = ("statements", "nodes", "reifiers")
LANGUAGES = ("en", "de", "fr", "es")
DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
RELATIONS: dict[str, dict[str, Any]] = DATA["relations"]


@dataclass(frozen=True)
class Fact:
    """One fact of the world; an empty date is a missing one."""

    relation: str
    subject: str
    object: str
    start: str
    end: str
    at: str
    mark: str


def read_facts() -> list[Fact]:
    """Read the table; a marriage is there for both partners."""
    found = []
    for relation, table in DATA["facts"].items():
        for line in table.strip().splitlines():
            subject, entries = line.split(": ")
            for entry in entries.split(", "):
                value, span = entry.rsplit(" ", 1)
                mark, span = (span[-1], span[:-1]) if span[-1] in "!~" else ("", span)
                start, _, end = span.partition("/") if "/" in span else ("", "", "")
                at = span[1:] if span[0] == "=" else ""
                pair = (value, subject) if relation == "post" else (subject, value)
                found.append(Fact(relation, *pair, start, end, at, mark))
                if relation == "spouse":
                    found.append(Fact(relation, value, subject, start, end, at, mark))
    return found


WORLD = read_facts()


def label(name: str, language: str) -> str:
    """Give what a thing is called in a language."""
    if language == "en" or name not in DATA["names"]:
        return name
    return str(DATA["names"][name].split("|")[LANGUAGES.index(language) - 1])


PREFIXES = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
WIKIDATA_PREFIXES = """@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wds: <http://www.wikidata.org/entity/statement/> .
@prefix wdv: <http://www.wikidata.org/value/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> .
@prefix pqv: <http://www.wikidata.org/prop/qualifier/value/> .
"""
OWN_PREFIXES = """@prefix ex: <http://example.org/time/> .
@prefix org: <http://www.w3.org/ns/org#> .
@prefix time: <http://www.w3.org/2006/time#> .
@prefix schema: <https://schema.org/> .
"""
QUALIFIERS = {
    "P580": "start time;since|Startzeitpunkt|date de début|fecha de inicio",
    "P582": "end time;until|Endzeitpunkt|date de fin|fecha de fin",
    "P585": "point in time;date|Zeitpunkt|date|fecha",
}


def labels(words: Iterable[str], plain: bool = False) -> str:
    """Write the labels of a thing in four languages; the first word is the label unless the plain one is wanted."""
    main, more = [], []
    for language, text in zip(LANGUAGES, words, strict=False):
        first, *rest = dict.fromkeys(text.split(";")) if not plain else dict.fromkeys(text.split(";")[1:] or [text])
        main.append(f'"{first}"@{language}')
        more += [f'"{word}"@{language}' for word in rest]
    return f"rdfs:label {', '.join(main)}" + (f" ; skos:altLabel {', '.join(more)}" if more else "")


def items() -> dict[str, str]:
    """Give every thing of the world with its class."""
    named = (zip((f.subject, f.object), RELATIONS[f.relation]["classes"], strict=True) for f in WORLD)
    return dict(sorted((name, kind) for pairs in named for name, kind in pairs if kind in DATA["classes"]))


ITEMS = items()
NUMBERS = {name: f"Q{990000101 + 7 * place}" for place, name in enumerate(ITEMS)}


def slug(text: str) -> str:
    """Make a local name."""
    return re.sub(r"\W+", "_", text.lower())


def literal(value: str) -> str:
    """Write a year, a day or a number."""
    if "-" in value:
        return f'"{value}"^^xsd:date'
    return f'"{value}"^^xsd:gYear'


def term(value: str, shape: str) -> str:
    """Write the value of a fact."""
    if value in ITEMS:
        return f"wd:{NUMBERS[value]}" if shape == SHAPES[0] else f"ex:{slug(value)}"
    if "-" in value:
        return f'"{value}T00:00:00Z"^^xsd:dateTime' if shape == SHAPES[0] else literal(value)
    return f'"+{value}"^^xsd:decimal' if shape == SHAPES[0] else value


def property_lines() -> Iterator[str]:
    """Declare the properties of Wikidata that are used."""
    rows = [("P31", "WikibaseItem", ["instance of;is a", "ist ein(e)", "nature de l'élément", "instancia de"])]
    rows += [(pid, "Time", words.split("|")) for pid, words in QUALIFIERS.items()]
    types = {"number": "Quantity", "date": "Time"}
    for relation in RELATIONS.values():
        kind = types.get(relation["classes"][1], "WikibaseItem")
        rows.append((relation["property"], kind, [relation[language] for language in LANGUAGES]))
    for pid, kind, words in rows:
        yield f"wd:{pid} a wikibase:Property ; wikibase:propertyType wikibase:{kind} ;"
        yield f"  {labels(words)} ;"
        yield f"  wikibase:directClaim wdt:{pid} ; wikibase:claim p:{pid} ; wikibase:statementProperty ps:{pid} ;"
        yield f"  wikibase:qualifier pq:{pid} ; wikibase:qualifierValue pqv:{pid} ."


def statement_lines() -> Iterator[str]:
    """Write the facts as statements with ranks and qualifiers."""
    preferred = {(f.relation, f.subject) for f in WORLD if f.mark == "!"}
    for f in WORLD:
        pid, s, o = RELATIONS[f.relation]["property"], term(f.subject, SHAPES[0]), term(f.object, SHAPES[0])
        node = f"wds:{s[3:]}-{uuid.uuid5(uuid.NAMESPACE_URL, repr(f))}"
        rank = {"!": "Preferred", "~": "Deprecated"}.get(f.mark, "Normal")
        best = rank == "Preferred" or (rank == "Normal" and (f.relation, f.subject) not in preferred)
        if best:
            yield f"{s} wdt:{pid} {o} ."
        yield f"{s} p:{pid} {node} ."
        yield f"{node} a wikibase:{'BestRank, wikibase:' if best else ''}Statement ;"
        yield f"  wikibase:rank wikibase:{rank}Rank ; ps:{pid} {o} ."
        for key, day in zip(QUALIFIERS, (f.start, f.end, f.at), strict=True):
            if day == "?":
                yield f"{node} pq:{key} [] ."
            elif day:
                value = f'"{day if "-" in day else day + "-01-01"}T00:00:00Z"^^xsd:dateTime'
                full = f"wdv:{uuid.uuid5(uuid.NAMESPACE_URL, day).hex}"
                yield f"{node} pq:{key} {value} ; pqv:{key} {full} ."
                yield f"{full} a wikibase:TimeValue ; wikibase:timeValue {value} ;"
                yield f"  wikibase:timePrecision {11 if '-' in day else 9} ; wikibase:timeTimezone 0 ;"
                yield "  wikibase:timeCalendarModel wd:Q1985727 ."


def node_lines() -> Iterator[str]:
    """Write the facts as nodes for events and relations, in the way of each domain."""
    written = set[frozenset[str]]()
    for place, f in enumerate(WORLD):
        kind, left, right, *when = RELATIONS[f.relation]["node"].split()
        s, o, node = term(f.subject, SHAPES[1]), term(f.object, SHAPES[1]), f"ex:n{1000 + 13 * place}"
        pair = frozenset([s, o, f.start])
        if f.mark == "~" or (f.relation == "spouse" and pair in written):
            continue
        written.add(pair)
        if kind == "_":
            yield f"{s} {right} {o} ."
            continue
        if kind.startswith("schema:"):
            s, o = (o, s) if f.relation == "player" else (s, o)
            yield f"{s} {right} {node} ."
            parts, when = [f"{right} {o}"], ["schema:startDate", "schema:endDate"]
        else:
            parts = [f"{left} {s}", f"{right} {o}"]
        parts += [f'rdfs:label "{kind.split(":")[1]}#{place}"'] if place % 4 == 0 else []
        if kind.startswith("org:"):
            times = zip(("time:hasBeginning", "time:hasEnd"), (f.start, f.end), strict=True)
            halves = [f"{key} [ time:inXSD{'Date' if '-' in d else 'gYear'} {literal(d)} ]" for key, d in times if d]
            parts += [f"org:memberDuring [ a time:Interval ; {' ; '.join(halves)} ]"] if halves else []
        else:
            when = [*when[:2], when[0] if when[0] == "ex:year" else "ex:onDate"]
            for key, d in zip(when, (f.start, f.end, f.at), strict=True):
                parts += [f"{key} {'[]' if d == '?' else literal(d)}"] if d else []
        yield f"{node} a {kind} ; {' ; '.join(parts)} ."


def reifier_lines() -> Iterator[str]:
    """Write the facts as triples with reifiers, mostly as annotations."""
    for place, f in enumerate(WORLD):
        if f.mark == "~":
            continue
        key = slug((RELATIONS[f.relation]["en"].split(";") * 2)[1])
        triple = f"{term(f.subject, SHAPES[2])} ex:{key} {term(f.object, SHAPES[2])}"
        times = zip(("ex:since", "ex:until", "ex:on"), (f.start, f.end, f.at), strict=True)
        notes = " ; ".join(f"{name} {'[]' if d == '?' else literal(d)}" for name, d in times if d)
        if notes and place % 4 == 1:
            yield f"{triple} ."
            yield f"<< {triple} ~ ex:r{place} >> {notes} ."
        else:
            yield f"{triple} {{| {notes} |}} ." if notes else f"{triple} ."


def own_vocabulary(shape: str) -> Iterator[str]:
    """Write labels for the classes and properties of the nodes or of the reified triples."""
    if shape == SHAPES[2]:
        for relation in RELATIONS.values():
            key = slug((relation["en"].split(";") * 2)[1])
            yield f"ex:{key} {labels((relation[language] for language in LANGUAGES), plain=True)} ."
        yield 'ex:since rdfs:label "since"@en .\nex:until rdfs:label "until"@en .\nex:on rdfs:label "on"@en .'
        return
    seen = set[str]()
    for key, relation in RELATIONS.items():
        kind, left, right, *when = relation["node"].split()
        words = DATA["everyday"].get(key, "|".join(relation[language] for language in LANGUAGES)).split("|")
        yield f"{right} {labels(words, plain=True)} ."
        seen |= {right, "_"}
        for name in (kind, left, *when):
            if name not in seen:
                seen.add(name)
                words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.split(":")[1]).lower()
                yield f'{name} rdfs:label "{words}"@en .'


def turtle(shape: str) -> str:
    """Write the world in one shape, as Turtle (1.2 for the reifiers)."""
    first = shape == SHAPES[0]
    lines = [PREFIXES + (WIKIDATA_PREFIXES if first else OWN_PREFIXES)]
    for name, text in DATA["classes"].items():
        number, *words = text.split("|")
        lines.append(f"{f'wd:{number}' if first else f'ex:{slug(name)}_'} {labels([name, *words])} .")
    for name, kind in ITEMS.items():
        of = f"wdt:P31 wd:{DATA['classes'][kind].split('|')[0]}" if first else f"a ex:{slug(kind)}_"
        lines.append(f"{term(name, shape)} {of} ; {labels(label(name, language) for language in LANGUAGES)} .")
    makers = {"statements": statement_lines, "nodes": node_lines, "reifiers": reifier_lines}
    lines += property_lines() if first else own_vocabulary(shape)
    return "\n".join([*lines, *makers[shape]()]) + "\n"
