"""Checks of a SPARQL text that it must pass before any parser may see it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal as OneOf
from typing import TypeAlias, cast

from kgsparql.errors import ForbiddenQueryError, LimitError, QuerySyntaxError
from kgsparql.graphs.user_query.tokens import (
    QueryLimits,
    SparqlToken,
    place,
    syntax_error,
    tokenise,
    too_much,
    without_codepoint_escapes,
)
from kgsparql.rdf.query import prologue
from kgsparql.rdf.terms import PrefixMap, printable

Form: TypeAlias = OneOf["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
_FORMS = frozenset(("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"))
_FORBIDDEN = frozenset("SERVICE LOAD FROM INSERT DELETE CLEAR DROP CREATE COPY MOVE ADD WITH USING NAMED INTO".split())
_GLUED = ("SERVICE", "FROM", "INSERT", "DELETE", "LOAD")
# Words are allowed by name, because Oxigraph 0.5 also takes two keywords that are written as one: ``ASKFROM <g> {}``.
_WORDS = frozenset(
    """A ABS ADJUST AS ASC ASK AVG BASE BIND BNODE BOUND BY CEIL COALESCE CONCAT CONSTRUCT CONTAINS COUNT DATATYPE DAY
    DESC DESCRIBE DISTINCT ENCODE_FOR_URI EXISTS FALSE FILTER FLOOR GRAPH GROUP GROUP_CONCAT HASLANG HASLANGDIR HAVING
    HOURS IF IN IRI ISBLANK ISIRI ISLITERAL ISNUMERIC ISTRIPLE ISURI LANG LANGDIR LANGMATCHES LATERAL LCASE LIMIT MAX
    MD5 MIN MINUS MINUTES MONTH NOT NOW OBJECT OFFSET OPTIONAL ORDER PREDICATE PREFIX RAND REDUCED REGEX REPLACE ROUND
    SAMETERM SAMPLE SECONDS SELECT SEPARATOR SHA1 SHA256 SHA384 SHA512 STR STRAFTER STRBEFORE STRDT STRENDS STRLANG
    STRLANGDIR STRLEN STRSTARTS STRUUID SUBJECT SUBSTR SUM TIMEZONE TRIPLE TRUE TZ UCASE UNDEF UNION URI UUID VALUES
    VERSION WHERE YEAR""".split()
)
_HINT = "kgsparql runs SELECT, ASK, CONSTRUCT and DESCRIBE over the graph it was given, and nothing else"
_COUNTED = {"OPTIONAL": "optionals", "UNION": "unions", "||": "conditions", "&&": "conditions", "|": "alternatives",
            "/": "steps"}  # fmt: skip
_NAMES = frozenset(("name", "iri", "variable"))
_STRING_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_REGEX_PART = re.compile(r"\\.|\{(\d+)(,?)(\d*)\}|.", re.DOTALL)
_UNESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that :func:`check` found harmless to parse and run.

    :param text: the text to run: codepoint escapes decoded, declarations added for known prefixes that it uses.
    :param added: number of these declarations; each is a line before the user's text.
    :param listed: the variables that a SELECT lists; empty for ``*``, and where it has an expression without a name.
    """

    form: Form
    text: str
    added: int = 0
    listed: frozenset[str] = frozenset()


def check(text: str, *, prefixes: PrefixMap | None = None, limits: QueryLimits | None = None) -> CheckedQuery:
    r"""Check SPARQL typed by a user or written by a model, without parsing it. The engine finds other errors.

    :param prefixes: declared where the text uses them and does not declare them; the shipped ones by default.
    :raises LimitError: if it is too long, too deep, or has too much of something.
    :raises ForbiddenQueryError: if it is an update, names its own dataset, or asks another server.
    :raises QuerySyntaxError: if it cannot be SPARQL.

    >>> print(check("SELECT * { ?s rdfs:label 'SERVICE' }").text)
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    SELECT * { ?s rdfs:label 'SERVICE' }
    >>> check("SELECT * { ?s ?p ?o } # comment\n; DROP ALL")
    Traceback (most recent call last):
    ...
    kgsparql.errors.ForbiddenQueryError: line 2:3: DROP is not run here
    """
    limits = limits or QueryLimits()
    if len(text) > limits.length:
        raise too_much(f"the query has {len(text):,} characters, at most {limits.length:,} are read", "length")
    decoded = without_codepoint_escapes(text.removeprefix("\ufeff"))
    tokens = tokenise(decoded, limits)
    _refuse_forbidden(tokens, decoded)
    _refuse_too_much(tokens, decoded, limits)
    form = _form_of(tokens, decoded)
    _refuse_regular_expressions(tokens, decoded, limits)
    added = prologue(_undeclared_prefixes(tokens, decoded, dict(prefixes or PrefixMap.default())))
    return CheckedQuery(form, added + decoded, added.count("\n"), _listed_variables(tokens))


def _listed_variables(tokens: Sequence[SparqlToken]) -> frozenset[str]:
    """Return the variables in the head of a SELECT."""
    first = next((i for i, token in enumerate(tokens) if token.word == "SELECT"), len(tokens))
    last = next((i for i in range(first, len(tokens)) if tokens[i].text == "{" or tokens[i].word == "WHERE"), first)
    head = range(first, last)
    outer = {i for i in head if tokens[i].text == "(" and tokens[i].owner < 0}
    plain = [i for i in head if tokens[i].kind == "variable" and tokens[i].owner < 0]
    aliases = [
        i for i in head if tokens[i].kind == "variable" and tokens[i].owner in outer and tokens[i - 1].word == "AS"
    ]
    is_whole = len(aliases) == len(outer) and not any(tokens[i].text == "*" and tokens[i].owner < 0 for i in head)
    return frozenset(tokens[i].text[1:] for i in [*plain, *aliases]) if is_whole else frozenset()


def _refuse_forbidden(tokens: Sequence[SparqlToken], text: str) -> None:
    for i, token in enumerate(tokens):
        word = token.word
        if word and word not in _WORDS:
            found = word if word in _FORBIDDEN else next((part for part in _GLUED if part in word), None)
            if found is None:
                raise syntax_error(
                    f"{printable(token.text, 40)} is not a word of SPARQL", text, token.start, hint=_HINT
                )
            raise _forbidden_error(found, text, token)
        if token.kind in {"name", "blank"}:
            _refuse_ambiguous_name(tokens, i, text)


def _refuse_ambiguous_name(tokens: Sequence[SparqlToken], i: int, text: str) -> None:
    """Refuse a name that Oxigraph 0.5 may cut in two where that gives a clause.

    It reads ``SERVICE:p {`` as a SERVICE clause where no triple can stand; ``a:b.c.SERVICE ?v {``, and
    ``a:SERVICE ?v {`` when the IRI of ``a:SERVICE`` is not valid, as the end of a triple and a SERVICE clause;
    ``ASK FROM:g {`` as FROM.
    """
    token, upper = tokens[i], tokens[i].text.upper()
    following = [following.text for following in tokens[i + 1 : i + 3]]
    before = tokens[i - 1].word if i else ""
    if "SERVICE" in upper:
        opens = following[:1] == ["{"] and before != "GRAPH"
        opens |= following[1:] == ["{"] and tokens[i + 1].kind in _NAMES
        if opens:
            raise _forbidden_error("SERVICE", text, token)
    if "FROM" in upper and token.owner < 0 and before != "PREFIX":
        raise _forbidden_error("FROM", text, token)


def _forbidden_error(word: str, text: str, token: SparqlToken) -> ForbiddenQueryError:
    return ForbiddenQueryError(f"line {place(text, token.start)}: {word} is not run here", hint=_HINT, word=word)


def _refuse_too_much(tokens: Sequence[SparqlToken], text: str, limits: QueryLimits) -> None:
    counts: Counter[str] = Counter()
    for token in tokens:
        name = _COUNTED.get(token.word or token.text) if token.kind in {"word", "sign"} else None
        if name is None and token.owner < 0 and token.kind in _NAMES:
            name = "unbracketed"
        if name is not None:
            counts[name] += 1
            most = getattr(limits, name)
            if counts[name] > most:
                what = "names after one another" if name == "unbracketed" else token.word or token.text
                raise too_much(f"more than {most} of {what}, at {place(text, token.start)}", name)


def _form_of(tokens: Sequence[SparqlToken], text: str) -> Form:
    """Return the first word after the prologue, checked."""
    i = 0
    lengths = {"PREFIX": 3, "BASE": 2, "VERSION": 2}
    while i < len(tokens) and tokens[i].word in lengths:
        i += lengths[tokens[i].word]
    if i >= len(tokens):
        raise QuerySyntaxError("there is no query", hint=_HINT)
    word = tokens[i].word
    if word not in _FORMS:
        raise syntax_error(
            f"a query does not start with {printable(tokens[i].text, 40)}", text, tokens[i].start, hint=_HINT
        )
    return cast("Form", word)


def _undeclared_prefixes(
    tokens: Sequence[SparqlToken], text: str, known: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the known prefixes that are used and not declared, in the order of their first use."""
    declared = {
        token.text[:-1] for before, token in pairwise(tokens) if before.word == "PREFIX" and token.text.endswith(":")
    }
    for token in tokens:
        prefix = token.text.partition(":")[0]
        if token.kind == "name" and prefix not in declared:
            if prefix not in known:
                raise syntax_error(
                    f"the prefix {printable(prefix, 40)}: is not declared",
                    text,
                    token.start,
                    hint="declare it before the query, or write the IRI in full",
                )
            declared.add(prefix)
            yield prefix, known[prefix]


def _refuse_regular_expressions(tokens: Sequence[SparqlToken], text: str, limits: QueryLimits) -> None:
    """Refuse patterns of REGEX and REPLACE that cannot be compiled, or only to something huge."""
    for i, token in enumerate(tokens):
        if token.word not in {"REGEX", "REPLACE"} or tokens[i + 1 : i + 2] == [] or tokens[i + 1].text != "(":
            continue
        arguments = _call_arguments(tokens, i + 1)
        flags = arguments.get(2 if token.word == "REGEX" else 3, [])
        if any(part.kind == "string" and "q" in part.text for part in flags):
            continue
        for part in arguments.get(1, []):
            if part.kind == "string":
                _refuse_pattern(part, text, limits)


def _call_arguments(tokens: Sequence[SparqlToken], opened: int) -> dict[int, list[SparqlToken]]:
    """Return the tokens of each argument of a call, by position."""
    arguments: dict[int, list[SparqlToken]] = {}
    position, inside = 0, {opened}
    for i in range(opened + 1, len(tokens)):
        if tokens[i].owner not in inside:
            break
        inside.add(i)
        if tokens[i].text == "," and tokens[i].owner == opened:
            position += 1
        arguments.setdefault(position, []).append(tokens[i])
    return arguments


def _refuse_pattern(token: SparqlToken, text: str, limits: QueryLimits) -> None:
    quotes = 3 if token.text[:3] in {"'''", '"""'} else 1
    pattern = _STRING_ESCAPE.sub(lambda m: _UNESCAPED.get(m[1], m[1]), token.text[quotes:-quotes])
    try:
        found = _expanded_size(pattern)
    except ValueError as error:
        hint = r"a bracket that stands for itself is written \\( in SPARQL"
        raise syntax_error(f"the regular expression has {error}", text, token.start, hint=hint) from error
    if found > limits.regex:
        raise LimitError(
            f"line {place(text, token.start)}: the regular expression stands for {found:,} characters, at most "
            f"{limits.regex:,} are tried",
            hint="repeat less often",
            limit="regex",
        )


def _expanded_size(pattern: str) -> int:
    """Count the characters that a regular expression matches when its counted repetitions are written out.

    :raises ValueError: for parentheses that do not pair; the message says which.

    >>> _expanded_size("ab+c?"), _expanded_size("(a{1000}){1000}"), _expanded_size(r"[(]{3}")
    (3, 1000000, 3)
    """
    groups: list[tuple[int, int]] = [(0, 0)]  # size so far, size of the last part, for each open group
    in_class = 0
    for part in _REGEX_PART.finditer(pattern):
        text = part[0]
        total, last = groups[-1]
        if in_class:
            in_class = _class_depth(in_class, text, part.start())
        elif text == "[":
            in_class = part.end() + 1  # a bracket that comes first in a class is an ordinary character
            groups[-1] = (total + 1, 1)
        elif text == "(":
            groups.append((0, 0))
        elif text == ")":
            if len(groups) == 1:
                raise ValueError("a ) without its (")
            groups.pop()
            outer, _ = groups[-1]
            groups[-1] = (outer + total, total)
        elif part[1] is not None:
            times = max(int(part[1][:9]), int((part[3] or "0")[:9]), 1)
            groups[-1] = (total - last + last * times, last * times)
        elif text not in {"*", "+", "?", "|", "^", "$"}:
            groups[-1] = (total + 1, 1)
    if len(groups) > 1:
        raise ValueError("a ( without its )")
    return groups[0][0]


def _class_depth(first: int, text: str, position: int) -> int:
    """Return 0 once a character class is closed, else where its first ordinary character may be."""
    if text == "^" and position + 1 == first:
        return first + 1
    return 0 if text == "]" and position + 1 > first else first
