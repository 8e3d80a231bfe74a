"""RDF terms: pyoxigraph's classes, and functions on their text as the specifications have it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote, unquote

from pyoxigraph import BaseDirection, BlankNode, Literal, RdfFormat, Triple, parse
from pyoxigraph import NamedNode as IRI  # noqa: N814 - the field's own spelling

from kgsparql.errors import InputError, IriError, PrefixError
from kgsparql.resources import packaged_toml, resource

__all__ = ["IRI", "BlankNode", "Literal", "Triple"]  # the others are defined here

_K = TypeVar("_K")
_T = TypeVar("_T")

# What is paired is of one length, or it is an error.
if TYPE_CHECKING:
    zip_equal = zip
else:
    zip_equal = partial(zip, strict=True)

XSD = "http://www.w3.org/2001/XMLSchema#"
_OTHER_TRUTH = {"1": "true", "0": "false", "true": "1", "false": "0"}

Term: TypeAlias = IRI | BlankNode | Literal | Triple

Row: TypeAlias = tuple[Term | None, ...]
"""A solution, or a row of what was computed: its terms in the order of the columns."""

Labels: TypeAlias = Mapping[Term, str]
"""What terms are called."""

Json: TypeAlias = dict[str, Any]
"""An object of JSON."""

json_text = partial(json.dumps, ensure_ascii=False)
"""Writes JSON in which every character stands for itself; layout as of :func:`json.dumps`."""

compact_json = partial(json_text, separators=(",", ":"))

# Never shown: control characters (except white space), zero-width and bidirectional marks, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
_ASCII_GAP = re.compile("[^0-9a-z$+<=>^`|~]+")  # everything except letters, digits and symbols
_OF_COLUMN = re.compile("([a-z]{3,})(id|name|code|type|no|number|date|year)")
_BEFORE_NAME = frozenset({"full", "first", "last", "birth"})  # in such names, whatever the table
_NUMBER_OF = re.compile("^(?:num|no|nr|number)[_ ](?:of[_ ])?(?=[a-z]+s$|(?<=of[_ ]))")
_CAMEL = re.compile(
    r"(?<!\bMc)(?<=[a-z0-9])(?=[A-Z][a-z]{2})"  # before a word of three letters, but for Scottish names
    r"|(?:(?<=[a-z]{2})|(?<=[a-z][A-Z][a-z]))(?=[A-Z][a-z])"  # of two, which in NaCl is no word
    r"|(?<=[a-z])(?=[A-Z]{2})|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})"  # before and after an acronym
    r"|(?<=[A-Za-z][a-z])(?=[A-Z]\Z)|(?<=[a-z0-9][A-Z])(?=[A-Z][a-z]{2})"  # a letter at the end, or between words
)


def iri(text: str) -> IRI:
    """Make an IRI from text, with or without angle brackets.

    :raises IriError: if it is not an absolute, valid IRI.

    >>> iri("<http://example.org/a>")
    <NamedNode value=http://example.org/a>
    """
    bare = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    try:
        return IRI(bare)
    except ValueError as error:
        shown = printable(bare, 80)
        raise IriError(f"not a valid IRI: {shown} ({error})", hint="write it as <http://…> or prefix:name") from error


_NO_IRI = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


def other_spellings(entity: IRI) -> list[IRI]:
    """List the IRIs that differ from one by their percent-encoding alone.

    >>> [one.value for one in other_spellings(IRI("http://example.org/caf%c3%a9"))]
    ['http://example.org/café', 'http://example.org/caf%C3%A9']
    """
    plain = unquote(entity.value)
    texts = [plain, *(quote(plain, safe=f"%:/?#[]@&=+$;~{kept}") for kept in ("!'()*,", "")), entity.value]
    texts = [re.sub("%..", partial(_in_case, case), text) for case in (str.upper, str.lower) for text in texts]
    return [IRI(text) for text in dict.fromkeys(texts) if text != entity.value and not _NO_IRI.search(text)]


def _in_case(case: Callable[[str], str], found: re.Match[str]) -> str:
    return case(found[0])


def iris_in(terms: Iterable[Term | None]) -> tuple[IRI, ...]:
    """Return those of some terms that are IRIs, in their order."""
    return tuple([term for term in terms if isinstance(term, IRI)])


def as_iri(term: Term) -> IRI:
    """Return a term that must be an IRI, such as the start of a walk."""
    if not isinstance(term, IRI):
        raise TypeError(f"not an IRI: {term}")
    return term


def text_literal(text: str, language: str, *, direction: BaseDirection | None = None) -> Literal:
    """Make a text literal, with a language tag unless that is empty."""
    try:
        return Literal(text, language=language, direction=direction) if language else Literal(text)
    except ValueError as error:
        raise InputError(f"not a language tag: {printable(language, 40)}", hint="write it as en or en-GB") from error


def parse_term(text: str) -> Term:
    """Read a term in N-Triples syntax, such as ``str(term)`` gives."""
    try:
        (quad,) = parse(f"<x:s> <x:p> {text} .", format=RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"not a term: {printable(text, 80)}", hint="write it in the syntax of N-Triples") from error
    term: Term = quad.object
    return term


@lru_cache(maxsize=8192)
def validated(term: Term) -> Term:
    """Check a term again before its text enters a query.

    A lenient parser can make an IRI that holds ``>``; the constructor, called here, refuses it.

    :raises IriError: for such an IRI, also as a datatype.
    :raises InputError: for an invalid language tag.
    """
    if isinstance(term, IRI):
        return iri(term.value)
    if isinstance(term, Literal):
        if term.language is not None:
            return text_literal(term.value, term.language, direction=term.direction)
        return Literal(term.value, datatype=iri(term.datatype.value))
    return term


def grouped(pairs: Iterable[tuple[_K, _T]]) -> dict[_K, list[_T]]:
    """Group what is paired with the same key.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    groups: dict[_K, list[_T]] = {}
    for key, one in pairs:
        groups.setdefault(key, []).append(one)
    return groups


def distinct(some: Iterable[_T]) -> tuple[_T, ...]:
    """Take each once, in the order in which they come first.

    >>> distinct("abcab")
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys(some))


def first_of(some: Iterable[_T]) -> _T | None:
    """Take the first; ``None`` where there is none.

    >>> first_of("ab"), first_of([])
    ('a', None)
    """
    return next(iter(some), None)


def renamed(term: Any, name: Callable[[BlankNode], BlankNode]) -> Any:
    """Rename the blank nodes of a term of any class, also those inside triple terms."""
    if isinstance(term, BlankNode):
        return name(term)
    if isinstance(term, Triple):
        return Triple(renamed(term.subject, name), term.predicate, renamed(term.object, name))
    return term


def whole_number(term: Term) -> int:
    """Read an integer literal, such as a count; 0 for a term that is not a literal."""
    return int(term.value) if isinstance(term, Literal) else 0


@lru_cache(maxsize=8192)
def local_name(term: IRI) -> str:
    """Make words of the last part of an IRI, for terms without a label.

    >>> local_name(IRI("http://dbpedia.org/ontology/birthPlace"))
    'birth place'
    >>> local_name(IRI("http://example.org/New_York_NY"))
    'New York NY'
    >>> local_name(IRI("https://example.org/"))
    'example.org'
    >>> [local_name(IRI(f"http://e.org/airports#{name}")) for name in ("airno", "fullname", "num_of_gates")]
    ['airport number', 'full name', 'number of gates']
    >>> [local_name(IRI(f"http://e.org/staff#{name}")) for name in ("emp_nm", "startDt", "Dept")]
    ['employee name', 'start date', 'department']
    """
    value = term.value.rstrip("/#")
    before, _, tail = value.rpartition("#") if value.rfind("#") > value.rfind("/") else value.rpartition("/")
    tail = tail or value
    if tail == value:
        tail = value.rsplit(":", 1)[-1] or value
    tail = _NUMBER_OF.sub("number of ", tail)
    parted = _parted_name(tail, before.rpartition("/")[2])
    return parted or _in_full(split_camel_case(unquote(tail).replace("_", " ").strip())) or value


def _in_full(name: str) -> str:
    """Write out the words of the name of a column that are short: `emp nm` of employees."""
    words, short = name.split(" "), packaged_toml("rdf/columns.toml")
    beside = short["beside"] if len(words) > 1 else {}
    return " ".join(short["alone"].get(word.lower()) or beside.get(word) or word for word in words)


def _parted_name(name: str, table: str) -> str:
    """Take apart the name of a column that begins with that of its table: `airportcode` of `airports`."""
    if (found := _OF_COLUMN.fullmatch(name)) is None:
        return ""
    tables = (re.sub("ies$", "y", word) for word in re.split("[_-]", table.lower()))
    whole = next((word for word in tables if word.startswith(found[1])), "")
    own = whole.removesuffix("s") if len(whole) > len(found[1]) + 2 else found[1]  # `stuid` of students
    is_of_it = whole or found[1] in _BEFORE_NAME
    return f"{own} {'number' if found[2] == 'no' else found[2]}" if is_of_it else ""


@lru_cache(maxsize=8192)
def name_words(term: IRI) -> tuple[str, ...]:
    """List the words of the last part of an IRI, as they are compared.

    >>> name_words(IRI("http://example.org/birthPlace"))
    ('birth', 'place')
    """
    return tuple(normalised(split_camel_case(local_name(term))).split())


@lru_cache(maxsize=8192)
def split_camel_case(name: str) -> str:
    """Take a name apart that is one word with capitals inside; another one is returned as it is.

    >>> split_camel_case("inverseOf"), split_camel_case("TVSeries"), split_camel_case("New York")
    ('inverse of', 'TV series', 'New York')
    >>> split_camel_case("isMemberOf"), split_camel_case("Kitchen-tempS-Actuator"), split_camel_case("NaCl")
    ('is member of', 'Kitchen-tempS-Actuator', 'NaCl')
    >>> split_camel_case("subClassOf")
    'subclass of'
    """
    if " " in name or "-" in name or not _CAMEL.search(name):
        return name
    apart = " ".join(w if w.isupper() and len(w) > 1 else w.lower() for w in _CAMEL.sub(" ", name).split())
    return f"sub{apart[4:]}" if apart.startswith("sub ") else apart  # nobody writes `sub class`


def printable(text: object, limit: int = 300) -> str:
    r"""Make a text safe to show: one line, no control and bidirectional characters, cut at ``limit``.

    >>> printable("a\x1b[31mb\nc", 10)
    'a[31mb c'
    """
    line = " ".join(_UNPRINTABLE.sub("", str(text)[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


@lru_cache(maxsize=8192)
def normalised(text: str) -> str:
    r"""Make the key under which labels are compared: NFKC, case-folded, no accents, ``_`` and punctuation as spaces.

    Soft hyphens, which are only seen at the end of a line, do not count.

    >>> normalised("Café_de  Flo\u00adre") == normalised("cafe\u0301 de flore")
    True
    """
    if text.isascii():  # most labels, ten times as fast
        return " ".join(_ASCII_GAP.sub(" ", text[:2000].lower()).split())
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text[:2000].replace("\u00ad", "")).casefold())
    # Accents (U+0300 to U+036F) go; the vowel signs of Indic and Thai scripts stay: they carry the word.
    kept = (c for c in folded if unicodedata.category(c) != "Mn" or not "\u0300" <= c <= "\u036f")
    composed = unicodedata.normalize("NFC", "".join(kept))
    return " ".join("".join(c if c.isalnum() or unicodedata.category(c)[0] in "MS" else " " for c in composed).split())


def spellings(term: IRI | Literal) -> tuple[str, ...]:
    """List the texts that ``STR`` may give for a term that an endpoint returned.

    Floats may have their long form; Virtuoso also writes booleans as numbers, and years without zeros.

    >>> xsd = "http://www.w3.org/2001/XMLSchema#"
    >>> spellings(Literal("3e+08", datatype=IRI(xsd + "double")))
    ('3e+08', '300000000')
    >>> spellings(Literal("1", datatype=IRI(xsd + "boolean")))
    ('1', 'true')
    >>> spellings(Literal("-0044-03-15", datatype=IRI(xsd + "date")))
    ('-0044-03-15', '-044-03-15')
    """
    if isinstance(term, IRI) or not term.datatype.value.startswith(XSD):
        return (term.value,)
    kind, other = term.datatype.value.removeprefix(XSD), ""
    if kind == "boolean":
        other = _OTHER_TRUTH.get(term.value, "")
    elif kind in {"double", "float"}:
        with suppress(ValueError):
            other = f"{float(term.value):.15g}"
    elif kind in {"date", "dateTime"}:
        other = term.value.replace("-0", "-", 1) if term.value.startswith("-0") else ""
    return distinct((term.value, other or term.value))


class PrefixMap:
    """Expands and compresses CURIEs; an unknown prefix is an error, never a guess.

    >>> prefixes = PrefixMap({"ex": "http://example.org/"})
    >>> prefixes.expand("ex:a").value
    'http://example.org/a'
    >>> prefixes.compress(IRI("http://example.org/a"))
    'ex:a'
    >>> prefixes.compress(IRI("http://elsewhere.org/a"))
    '<http://elsewhere.org/a>'
    """

    def __init__(self, prefixes: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        self._prefixes = dict(prefixes)

    @classmethod
    def default(cls) -> PrefixMap:
        """Read the prefixes of ``ontologies/prefixes.ttl``."""
        return cls(_shipped_prefixes())

    def merged(self, more: Mapping[str, str]) -> PrefixMap:
        """Add prefixes, which replace those of the same name."""
        return PrefixMap({**self._prefixes, **more})

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(sorted(self._prefixes.items()))

    @cached_property
    def _longest_first(self) -> list[tuple[str, str]]:
        """Namespaces with their prefixes: within another, the longer comes first; of one of two prefixes, the first."""
        first = {namespace: prefix for prefix, namespace in sorted(self._prefixes.items(), reverse=True)}
        return sorted(first.items(), key=lambda own: -len(own[0]))

    def expand(self, text: str) -> IRI:
        """Make the IRI of a CURIE, or of an IRI as it stands.

        :raises PrefixError: if the prefix is not known.
        :raises IriError: if the result is not a valid IRI.
        """
        if text.startswith(("<", "urn:")) or "://" in text:
            return iri(text)
        prefix, colon, name = text.partition(":")
        if not colon:
            raise IriError(f"not an IRI or CURIE: {printable(text, 80)}", hint="write <http://…> or prefix:name")
        if prefix not in self._prefixes:
            known = ", ".join(sorted(p for p in self._prefixes if p)[:12])
            raise PrefixError(
                f"unknown prefix {printable(prefix, 40)!r}", hint=f"known: {known} …, or write the full IRI"
            )
        return iri(self._prefixes[prefix] + name)

    def compress(self, term: Term) -> str:
        """Write a term as short as it can be read again: an IRI as a CURIE, where it has a prefix, also in a triple."""
        if isinstance(term, Triple):
            return f"<<( {' '.join(map(self.compress, term))} )>>"
        if not isinstance(term, IRI):
            return str(term)
        fits = ((p, term.value[len(n) :]) for n, p in self._longest_first if term.value.startswith(n))
        curie = ":".join(next(fits, ("<", "")))
        return curie if re.fullmatch(r"[\w.-]*:[\w.%-]*", curie) else f"<{term.value}>"


@cache
def _shipped_prefixes() -> dict[str, str]:
    text = resource("ontologies", "prefixes.ttl").read_bytes()
    parser = parse(text, format=RdfFormat.TURTLE)
    for _ in parser:
        pass
    return dict(parser.prefixes)
