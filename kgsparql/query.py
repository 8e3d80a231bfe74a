"""SPARQL texts with typed parameters: the only module that makes query text.

A text is a file in ``queries/``, valid SPARQL as it stands. Its parameters are ``VALUES`` blocks that hold ``UNDEF``;
binding puts terms there. Terms are validated again before they become text, and nothing else ever does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from kgsparql.errors import QueryBindingError, ResourceNotFoundError
from kgsparql.paths import Constraint, PropertyPath, Step
from kgsparql.patterns import Join, Pattern
from kgsparql.resources import resource
from kgsparql.terms import IRI, Literal, Term, iri, spellings, validated
from kgsparql.vocabulary import STATEMENT

__all__ = ["MAX_ARMS", "Query", "prologue", "steps_of_walks"]

MAX_ARMS = 50
"""Sub-selects in one union: the embedded engine is quadratic in them, and 10,000 end its process."""

_LIMIT = re.compile(r"\bLIMIT\s+1000\s*\Z")
_PROLOGUE = re.compile(r"^[ \t]*PREFIX[^\n]*\n", re.MULTILINE)
_PREFIX_NAME = re.compile(r"(?:[^\W\d_](?:[\w.-]*[\w-])?)?")
_NO_BLANK = "FILTER(!isBlank(?answer))"
_NO_STATEMENT = f'FILTER(!CONTAINS(STR(?answer), "{STATEMENT}"))'
_HEADING = re.compile(r"\A(?:#\+[^\n]*\n)+\s*")
_COMMENT = re.compile(r"^[ \t]*#[^\n]*\n", re.MULTILINE)
_NO_LIST = r'\?{}\s+NOT\s+IN\s*\(\s*""\s*\)'
"""A literal is no predicate. The empty list, which would say the same, hides everything on Oxigraph."""
_TEXTS = {"http://www.w3.org/2001/XMLSchema#string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"}
_SELECTED = re.compile(r"\bSELECT\b(?:\s+DISTINCT\b)?([^{]*?)(?:\bWHERE\b|\{)")
_NAMED = re.compile(r"\([^()]*(?:\([^()]*\))?[^()]*\bAS\s+\?(\w+)\s*\)|\?(\w+)")
_NOT_IN = r"FILTER\(\?(\w+) NOT IN \((<[^<>\s]*>(?:, <[^<>\s]*>)*)\)\)"
_TERM = r"""(?P<term>"[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+'|<[^<>"{}|^`\\\s]*+>|\#[^\n]*+)"""
"""What a parameter is never looked for in: literals, which may say anything, IRIs, and comments."""
_HEADER = re.compile(r"^#\+ (\w+): (.*)$", re.MULTILINE)
_WALK = re.compile(r"SELECT DISTINCT ([^\n{]*) WHERE \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
_SHOWN = re.compile(r"\((\S+) AS \?(\w+)\)|\?(\w+)")
_STEP = re.compile(r"^  \?\w+ <[^<>\s]*> \?\w+(?= \.$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Query:
    """A SPARQL text and the name it is known by in logs and evidence.

    :param empty: a parameter was bound to no term at all, so there is nothing to ask: it is never sent.
    :param counts: variables that count triples: the counts of several graphs are added.
    :param join: what it asks of triples that may be in different graphs.
    :param triples: the triples of the graph that each solution shows, as patterns of its variables.
    :param arms: the queries that it is a union of.

    >>> Query("q", "ASK { VALUES ?s { UNDEF } ?s ?p ?o }").bind(s=[IRI("http://e.org/a")]).text
    'ASK { VALUES ?s { <http://e.org/a> } ?s ?p ?o }'
    """

    name: str
    text: str
    empty: bool = False
    counts: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    join: Join | None = field(default=None, compare=False, repr=False)
    triples: tuple[Pattern, ...] = field(default=(), compare=False, repr=False)
    arms: tuple[Query, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def load(cls, name: str) -> Query:
        """Read ``queries/<name>.rq``.

        :raises ResourceNotFoundError: if there is none.
        """
        text, counts, join, triples = _loaded(name)
        return cls(name, text, counts=counts, join=join, triples=triples)

    @property
    def variables(self) -> frozenset[str]:
        """The variables that are selected by name.

        >>> sorted(Query("q", "SELECT DISTINCT ?n0 (?n2 AS ?end) WHERE { ?n0 ?p ?n2 }").variables)
        ['end', 'n0']
        """
        head = _SELECTED.search(_COMMENT.sub("", self.text))
        return frozenset(a or b for a, b in _NAMED.findall(head[1])) if head else frozenset()

    @property
    def without_heading(self) -> str:
        r"""The text without the comments at its head, which are for people and not for a server.

        >>> Query("q", "#+ summary: All.\n\nSELECT * { ?s ?p ?o }").without_heading
        'SELECT * { ?s ?p ?o }'
        """
        return _HEADING.sub("", self.text)

    @property
    def minus_values(self) -> str:
        """The text of one of our files with ``MINUS`` for ``NOT IN``: twice as fast on Oxigraph, and wrong on Virtuoso.

        >>> skipping = Query.load("neighbours_forward").bind(predicate=[IRI("http://e.org/a"), IRI("http://e.org/b")])
        >>> skipping.minus_values.splitlines()[-3].strip()
        'MINUS { VALUES ?predicate { <http://e.org/a> <http://e.org/b> } }'
        """
        if not all(map(_is_file, self.name.split("+"))):
            return self.text
        return _filled(_NOT_IN, lambda m: f"MINUS {{ VALUES ?{m[1]} {{ {m[2].replace(', ', ' ')} }} }}", self.text)[0]

    def bind(self, **values: Iterable[Term]) -> Query:
        """Fill every ``VALUES ?name { UNDEF }``, and every ``?name NOT IN ("")``, of the named parameters.

        :raises QueryBindingError: for a parameter the text lacks, or a blank node.
        :raises IriError: for an IRI that would not be safe as text.
        """
        query = self
        for name, terms in values.items():
            query = query.bind_rows((name,), [(term,) for term in terms])
        return query

    def bind_rows(self, names: Sequence[str], rows: Iterable[Sequence[Term]]) -> Query:
        """Fill every ``VALUES (?a ?b) { (UNDEF UNDEF) }`` of these parameters with rows of terms, sorted.

        The same terms make the same text, in whatever order they were met: what was asked before is found again.

        :raises QueryBindingError: for parameters the text lacks, a row of another width, or a blank node.

        >>> pair = Query("q", "SELECT * { VALUES (?s ?p) { (UNDEF UNDEF) } ?s ?p ?o }")
        >>> pair.bind_rows(("s", "p"), [(IRI("http://e.org/a"), IRI("http://e.org/p"))]).text
        'SELECT * { VALUES (?s ?p) { (<http://e.org/a> <http://e.org/p>) } ?s ?p ?o }'
        """
        # Each once: of a literal that is there twice Virtuoso finds nothing.
        written = sorted({self._row(names, row): row for row in rows}.items(), key=lambda one: one[0])
        data, terms = [text for text, _ in written], [row for _, row in written]
        if len(names) == 1:
            pattern, head, body = rf"VALUES\s+\?{names[0]}\s*\{{\s*UNDEF\s*\}}", f"?{names[0]}", data
        else:
            variables = r"\s+".join(rf"\?{name}" for name in names)
            unbound = r"\s+".join("UNDEF" for _ in names)
            pattern = rf"VALUES\s+\(\s*{variables}\s*\)\s*\{{\s*\(\s*{unbound}\s*\)\s*\}}"
            head, body = f"({' '.join(f'?{name}' for name in names)})", [f"({row})" for row in data]
        block = f"VALUES {head} {{ {' '.join(body)} }}"
        text, count = _filled(pattern, lambda _: block, self.text)
        if len(names) == 1:
            listed = f"?{names[0]} NOT IN ({', '.join(data)})"
            text, lists = _filled(_NO_LIST.format(names[0]), lambda _: listed, text)
            count += lists
        if count == 0:
            raise QueryBindingError(f"query {self.name} has no parameter {head}", query=self.text)
        join = self.join
        if join is not None:
            for at, name in enumerate(names):
                join = join.bound(name, [row[at] for row in terms])
        return replace(self, text=text, empty=self.empty or not data, join=join)

    def fix(self, **values: Term) -> Query:
        """Write one term in place of each named parameter: for engines that want a constant where SPARQL has variables.

        :raises QueryBindingError: for a parameter the text lacks, or a blank node.
        :raises IriError: for an IRI that would not be safe as text.

        >>> Query("q", "SELECT ?s { VALUES ?o { UNDEF } ?s ?p ?o }").fix(o=Literal("a")).text
        'SELECT ?s { ?s ?p "a" }'
        """
        query = self
        for name, term in values.items():
            written = self._row((name,), (term,))
            text, count = _filled(rf"VALUES\s+\?{name}\s*\{{\s*UNDEF\s*\}}\s*", lambda _: "", query.text)
            if count == 0:
                raise QueryBindingError(f"query {self.name} has no parameter ?{name}", query=self.text)
            query = replace(query, text=_written_for(name, written, text))
        return query

    def _row(self, names: Sequence[str], row: Sequence[Term]) -> str:
        if len(row) != len(names):
            raise QueryBindingError(f"query {self.name}: {len(row)} terms for {len(names)} parameters")
        for term in row:
            if not isinstance(term, IRI | Literal):
                raise QueryBindingError(
                    f"query {self.name}: {type(term).__name__} cannot be a parameter",
                    hint="a blank node has no name outside its graph: start from an IRI beside it",
                )
        return " ".join(str(validated(term)) for term in row)

    def limit(self, solutions: int) -> Query:
        """Replace the closing ``LIMIT 1000``.

        :raises QueryBindingError: if the text does not end with it.

        >>> Query("q", "SELECT * { ?s ?p ?o } LIMIT 1000").limit(5).text
        'SELECT * { ?s ?p ?o } LIMIT 5'
        """
        text, count = _LIMIT.subn(f"LIMIT {int(solutions)}", self.text.rstrip())
        if count == 0:
            raise QueryBindingError(f"query {self.name} does not end with LIMIT 1000", query=self.text)
        join = None if self.join is None else replace(self.join, limit=int(solutions))
        return replace(self, text=text, join=join)

    @classmethod
    def union(cls, queries: Sequence[Query]) -> Query:
        """One query with a sub-select for each given one, which keep their own VALUES and LIMIT.

        :raises QueryBindingError: for more than :data:`MAX_ARMS` queries.
        """
        arms = [query for query in queries if not query.empty]
        if len(arms) > MAX_ARMS:
            raise QueryBindingError(f"{len(arms)} sub-selects in one union; at most {MAX_ARMS}")
        name = "+".join(sorted({query.name for query in queries})) or "union"
        prologue = sorted({line for query in arms for line in _PROLOGUE.findall(query.text)})
        bodies = [_PROLOGUE.sub("", _COMMENT.sub("", query.text)).strip() for query in arms]
        joined = "\n  UNION\n".join(f"  {{ {body} }}" for body in bodies)
        text = f"{''.join(prologue)}SELECT * WHERE {{\n{joined}\n}}"
        counts = frozenset[str]().union(*(query.counts for query in arms))
        leaves = tuple(leaf for query in arms for leaf in query.arms or (query,))
        return cls(name, text, empty=not arms, counts=counts, arms=leaves)

    @classmethod
    def walk(
        cls,
        path: PropertyPath,
        starts: Iterable[IRI],
        *,
        limit: int,
        constraints: Sequence[Constraint] = (),
        number: int | None = None,
    ) -> Query:
        """The distinct ends of a property path: ``?n0`` (the start) and ``?end``, at most ``limit`` solutions.

        A step that inverts the one before it does not return to the term just left.

        :param constraints: what the terms on the way must have.
        :param number: returned as ``?walk`` with every solution, to tell the walks of a union apart.

        >>> at = "http://e.org/at"
        >>> print(Query.walk(PropertyPath.of(at, "^" + at), [IRI("http://e.org/a")], limit=9).text)
        SELECT DISTINCT ?n0 (?n2 AS ?end) WHERE {
          VALUES ?n0 { <http://e.org/a> }
          ?n0 <http://e.org/at> ?n1 .
          ?n2 <http://e.org/at> ?n1 .
          FILTER(!sameTerm(?n2, ?n0))
        }
        LIMIT 9
        """
        nodes = _nodes(path)
        head = f"SELECT DISTINCT ?n0 ({nodes[-1]} AS ?end){_numbered(number)} WHERE {{\n  VALUES ?n0 {{ UNDEF }}\n"
        body = f"{_patterns(path, nodes)}{_constrained(constraints, nodes)}"
        join = Join.along(path, constraints=constraints, number=number, ends_only=True)
        return cls("walk", f"{head}{body}}}\nLIMIT 1000", join=join).bind(n0=starts).limit(limit)

    @classmethod
    def walk_triples(
        cls,
        path: PropertyPath,
        starts: Iterable[IRI],
        ends: Iterable[Term] | None = None,
        *,
        limit: int,
        through: Mapping[int, Iterable[Term]] | None = None,
        constraints: Sequence[Constraint] = (),
        number: int | None = None,
    ) -> Query:
        """Every way along a property path, a variable for each term: ``?n0``, ``?n1`` … of each solution.

        What a constraint led to is ``?c0``, ``?c1`` …, in the order of the constraints.

        Numbers, dates and the like are looked for by their text, so that one of another datatype is found too: Virtuoso
        returns numbers that it is given as others, and refuses coordinates.

        :param ends: only ways that end at one of these; ``None`` for all.
        :param through: the same for the terms between: after so many hops, one of these.
        :param constraints: as for :meth:`walk`, and ``number``.
        """
        given: dict[int, list[Term]] = {0: list(starts), **{i: list(terms) for i, terms in (through or {}).items()}}
        if ends is not None:
            given[len(path)] = list(ends)
        nodes = _nodes(path)
        by_text = {i: terms for i, terms in given.items() if any(map(_is_respelt, terms))}
        blocks = "".join(f"  VALUES ?n{i} {{ UNDEF }}\n" for i in given if i not in by_text)
        head = " ".join([*nodes, *(f"?c{i}" for i in range(len(constraints)))]) + _numbered(number)
        body = f"{blocks}{_patterns(path, nodes)}{_constrained(constraints, nodes)}"
        body += "".join(f"  FILTER(STR({nodes[i]}) IN ({_texts(terms)}))\n" for i, terms in by_text.items())
        join = Join.along(path, constraints=constraints, number=number, ends_only=False)
        for i, terms in by_text.items():
            join = join.bound(f"n{i}", terms)
        query = cls("walk_triples", f"SELECT DISTINCT {head} WHERE {{\n{body}}}\nLIMIT 1000", join=join)
        return query.bind(**{f"n{i}": terms for i, terms in given.items() if i not in by_text}).limit(limit)

    @classmethod
    def through_blank(cls, join: Join, blank: Iterable[str], *, limit: int) -> Query:
        """The ways through blank nodes: the patterns of a join, where these variables are blank nodes.

        >>> at = IRI("http://e.org/at")
        >>> join = Join((Pattern("a", at, "b"), Pattern("b", at, "c")), (("a", "a"), ("c", "c")))
        >>> print(Query.through_blank(join.bound("a", [IRI("http://e.org/x")]), ["b"], limit=5).text)
        SELECT DISTINCT ?a ?c WHERE {
          VALUES ?a { <http://e.org/x> }
          ?a <http://e.org/at> ?b .
          ?b <http://e.org/at> ?c .
          FILTER(isBlank(?b))
        }
        LIMIT 5
        """
        names = {name for pattern in join.patterns for name in pattern.variables}
        given = {name: terms for name, terms in join.values.items() if name in names}
        lines = [f"  VALUES ?{name} {{ UNDEF }}\n" for name in given]
        lines += [f"  ?{p.subject} {_verb(p)} ?{p.object} .\n" for p in join.patterns]
        lines += [f"  FILTER(isBlank(?{name}))\n" for name in blank]
        head = " ".join(f"?{name}" for name, _ in join.head)
        query = cls("through_blank", f"SELECT DISTINCT {head} WHERE {{\n{''.join(lines)}}}\nLIMIT 1000")
        return query.bind(**given).limit(limit)

    @classmethod
    def answers(
        cls,
        path: PropertyPath,
        start: IRI,
        *,
        constraints: Sequence[Constraint] = (),
        without_start: bool = False,
        without_blank: bool = False,
        without_statements: bool = False,
    ) -> Query:
        """The query people are shown for a path: a property path where that says the same, else triple patterns.

        :param without_start: leave the start itself out of the answers.
        :param without_blank: leave out blank nodes, which have no name outside their graph.
        :param without_statements: leave out the statements of a Wikibase, which have no name for a reader.

        >>> at, ann = "http://e.org/at", IRI("http://e.org/Ann")
        >>> print(Query.answers(PropertyPath.of("^http://e.org/capital"), IRI("http://e.org/Paris")).text)
        SELECT DISTINCT ?answer { <http://e.org/Paris> ^<http://e.org/capital> ?answer }
        >>> print(Query.answers(PropertyPath.of(at, "^" + at), ann).text)
        SELECT DISTINCT ?answer {
          <http://e.org/Ann> <http://e.org/at> ?n1 .
          ?answer <http://e.org/at> ?n1 .
          FILTER(!sameTerm(?answer, <http://e.org/Ann>))
        }
        """
        first = str(validated(start))
        left_out = [_NO_BLANK] * without_blank + [_NO_STATEMENT] * without_statements
        if not path.goes_back and not constraints:
            steps = "/".join(f"{'^' if s.direction == 'inverse' else ''}{validated(s.predicate)}" for s in path)
            kept_out = f" FILTER(!sameTerm(?answer, {first}))" if without_start else ""
            kept_out += "".join(f" {text}" for text in left_out)
            return cls("answers", f"SELECT DISTINCT ?answer {{ {first} {steps} ?answer{kept_out} }}")
        nodes = [first, *_nodes(path)[1:-1], "?answer"]
        body = f"{_patterns(path, nodes)}{_constrained(constraints, nodes)}"
        kept_out = f"  FILTER(!sameTerm(?answer, {first}))\n"
        if without_start and kept_out not in body:
            body += kept_out
        body += "".join(f"  {text}\n" for text in left_out)
        return cls("answers", f"SELECT DISTINCT ?answer {{\n{body}}}")


def prologue(prefixes: Iterable[tuple[str, str]]) -> str:
    r"""The PREFIX declarations of ``(prefix, namespace)`` pairs, a line each.

    :raises IriError: for a namespace that is not a valid IRI.
    :raises QueryBindingError: for a prefix that is not one.

    >>> prologue([("ex", "http://e.org/")])
    'PREFIX ex: <http://e.org/>\n'
    """
    lines = []
    for prefix, namespace in prefixes:
        if not _PREFIX_NAME.fullmatch(prefix):
            raise QueryBindingError(f"not a prefix: {prefix!r}")
        lines.append(f"PREFIX {prefix}: {iri(namespace)}\n")
    return "".join(lines)


def _filled(pattern: str, made: Callable[[re.Match[str]], str], text: str) -> tuple[str, int]:
    """A text with each match of a pattern replaced that is not in a term or a comment, and how many there were."""
    count = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal count
        if found["term"] is not None:
            return found[0]
        count += 1
        return made(found)

    return re.sub(f"{pattern}|{_TERM}", replaced, text), count


def steps_of_walks(text: str) -> Iterator[tuple[frozenset[str], str, tuple[Pattern, ...]]]:
    """What the solutions of each walk in a text bind, the number they have, and the steps that they show.

    >>> walk = Query.walk(PropertyPath.of("http://e.org/at"), [IRI("http://e.org/a")], limit=9, number=3)
    >>> ((names, number, (step,)),) = steps_of_walks(walk.text)
    >>> sorted(names), number, step.subject, str(step.predicate), step.object
    (['end', 'n0', 'walk'], '3', 'n0', '<http://e.org/at>', 'end')
    """
    for head, body in _WALK.findall(text):
        shown = {alias or plain: what or plain for what, alias, plain in _SHOWN.findall(head)}
        number = shown.pop("walk", "")
        called = {what.removeprefix("?"): name for name, what in shown.items()}
        steps = map(Pattern.read, _STEP.findall(body))
        seen = (replace(s, subject=called.get(s.subject, ""), object=called.get(s.object, "")) for s in steps)
        names = frozenset(shown) | (frozenset({"walk"}) if number else frozenset())
        yield names, number, tuple(step for step in seen if "" not in step.variables)


def _written_for(name: str, written: str, text: str) -> str:
    return _filled(rf"\?{name}\b", lambda _: written, text)[0]


def _nodes(path: PropertyPath) -> list[str]:
    return [f"?n{i}" for i in range(len(path) + 1)]


def _numbered(number: int | None) -> str:
    return "" if number is None else f" ({int(number)} AS ?walk)"


def _patterns(path: PropertyPath, nodes: Sequence[str]) -> str:
    """Triple patterns from the first node to the last, with the filters for steps that go back."""
    lines = []
    for i, step in enumerate(path):
        lines.append(_pattern(nodes[i], step, nodes[i + 1]))
        if i and step.inverts(path.steps[i - 1]):
            lines.append(f"  FILTER(!sameTerm({nodes[i + 1]}, {nodes[i - 1]}))\n")
    return "".join(lines)


def _verb(pattern: Pattern) -> str:
    return f"?{pattern.predicate}" if isinstance(pattern.predicate, str) else str(validated(pattern.predicate))


def _pattern(near: str, step: Step, far: str) -> str:
    subject, object_ = (near, far) if step.direction == "forward" else (far, near)
    return f"  {subject} {validated(step.predicate)} {object_} .\n"


def _is_respelt(term: Term) -> bool:
    """Whether a term is a literal that an engine may store as a value, and not as it is written."""
    return isinstance(term, Literal) and term.language is None and term.datatype.value not in _TEXTS


def _texts(terms: Iterable[Term]) -> str:
    """What ``STR`` may say of some terms, as a list."""
    found: dict[str, None] = {}
    for term in terms:
        if not isinstance(term, IRI | Literal):
            raise QueryBindingError(f"{type(term).__name__} has no text", hint="start from an IRI beside it")
        found.update(dict.fromkeys(spellings(term)))
    return ", ".join(str(Literal(text)) for text in found)


def _constrained(constraints: Sequence[Constraint], nodes: Sequence[str]) -> str:
    """Triple patterns that hold only where each constraint does."""
    lines = []
    for i, constraint in enumerate(constraints):
        if any(map(_is_respelt, constraint.values)):
            kept = f"FILTER(STR(?c{i}) IN ({_texts(constraint.values)}))"
        else:
            kept = f"VALUES ?c{i} {{ {' '.join(str(validated(term)) for term in constraint.values)} }}"
        lines.append(f"{_pattern(nodes[constraint.at], constraint.step, f'?c{i}')}  {kept}\n")
    return "".join(lines)


@cache
def _loaded(name: str) -> tuple[str, frozenset[str], Join | None, tuple[Pattern, ...]]:
    """The text of a query, and what its head says of counts, joins and triples."""
    text = resource("queries", f"{name}.rq").read_text(encoding="utf-8")
    header = dict(_HEADER.findall(text))
    counts = frozenset(re.findall(r"\w+", header.get("counts", "")))
    return text, counts, Join.declared(header), Pattern.declared(header)


@cache
def _is_file(name: str) -> bool:
    try:
        _loaded(name)
    except ResourceNotFoundError:
        return False
    return True
