"""Fields of a question in a file, gold answers too; an :class:`InputError` says which is missing or of another type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgsparql.answering.question import checked_question
from kgsparql.errors import InputError
from kgsparql.evaluation.dataset import GoldAnswer, Topic
from kgsparql.rdf.terms import IRI, BlankNode, Literal, Term, Triple, iri, local_name, normalised, parse_term, printable

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+|urn:\S+")
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:@[A-Za-z][A-Za-z0-9-]*|\^\^<[^<>\s]*>)?')
_ENTITIES = {"dbr": "http://dbpedia.org/resource/", "wd": "http://www.wikidata.org/entity/"}
"""Namespaces in which an IRI is always an entity; their usual prefixes."""
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
_PREFIX = re.compile(r"\bPREFIX\s+([\w.-]*):\s*<([^>\s]*)>", re.IGNORECASE)
_CLASS = re.compile(r"(?:\ba|rdf:type|wdt:P31|22-rdf-syntax-ns#type>|prop/direct/P31>)\s+$")


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is no object but {_type_text(value)}")
    return value


def text_to_ask(value: Any) -> str:
    """The question as it will be asked."""
    if not isinstance(value, str):
        raise InputError(f"the question is no text but {_type_text(value)}" if value is not None else "no question")
    return checked_question(value)


def an_id(value: Any, instead: object) -> str:
    """The id of a question, a text or a number; ``instead`` where there is none.

    >>> an_id(7, 1), an_id(None, 12)
    ('7', '12')
    """
    if value is None or value == "":
        value = instead
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"the id is no text but {_type_text(value)}")
    return printable(_as_text(value), 200)


def text_of(data: Mapping[str, Any], name: str) -> str:
    """A text; empty where there is none."""
    value = data.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{name} is no text but {_type_text(value)}")
    return value


def texts_of(data: Mapping[str, Any], name: str) -> list[str] | None:
    """A list of texts, with numbers and booleans as text; ``None`` where there is no list.

    >>> texts_of({"answers": ["Bonn", 8, True]}, "answers")
    ['Bonn', '8', 'true']
    """
    value = _list(data.get(name), name)
    if value is None:
        return None
    if not all(isinstance(item, str | int | float) for item in value):
        wrong = next(item for item in value if not isinstance(item, str | int | float))
        raise InputError(f"{name} holds {_type_text(wrong)}, which is no text")
    return [item if isinstance(item, str) else _as_text(item) for item in value]


def _list(value: Any, what: str) -> list[Any] | None:
    """The value, which must be a list; ``None`` where there is none."""
    if value is not None and not isinstance(value, list):
        raise InputError(f"{what} is no list but {_type_text(value)}")
    return value


def _as_text(value: str | float) -> str:
    """A text as it is; a number or boolean as JSON writes it."""
    try:
        return value if isinstance(value, str) else json.dumps(value)
    except ValueError as error:
        raise InputError("a number of thousands of digits") from error


def rows_of(value: Any) -> tuple[tuple[GoldAnswer, ...], ...]:
    """The rows of a table by the names of their items, and their values.

    >>> [[cell.label for cell in row] for row in rows_of([["Denmark", 2]])]
    [['Denmark', '2']]
    """
    rows = _list(value, "rows") or ()
    return tuple(tuple(GoldAnswer(None, text) for text in texts_of({"rows": row}, "rows") or ()) for row in rows)


def hops_of(value: Any) -> int | None:
    """How many hops a question has, if that is known."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"hops is no number from 0 on but {_type_text(value)}")
    return value


def term_of(text: str) -> Term | None:
    """The term that a text is: an IRI with or without brackets, or a literal in N-Triples syntax; ``None`` for a name.

    :raises InputError: for a text that begins like a term and is none.

    >>> term_of("http://e.org/a"), term_of('"8"^^<http://www.w3.org/2001/XMLSchema#integer>').value, term_of("Bonn")
    (<NamedNode value=http://e.org/a>, '8', None)
    """
    bare = text.strip()
    if bare.startswith("<") and bare.endswith(">"):
        return iri(bare)
    if _LITERAL.fullmatch(bare):
        return parse_term(bare)
    return iri(bare) if _ABSOLUTE.fullmatch(bare) else None


def topics_of(value: Any) -> tuple[Topic, ...]:
    """Topics: a list of IRIs, or of objects with an IRI and a label."""
    found: dict[IRI, Topic] = {}
    for item in _list(value, "topic_entities") or ():
        data = {"iri": item} if isinstance(item, str) else mapping(item, "a topic")
        topic = Topic(iri(text_of(data, "iri")), text_of(data, "label"))
        found.setdefault(topic.iri, topic)
    return tuple(found.values())


def triples_of(value: Any) -> tuple[Triple, ...]:
    """Golden triples: objects with ``s``, ``p`` and ``o``, or lists of three; texts that are no terms are literals."""
    return tuple(map(_triple, _list(value, "golden_triples") or ()))


def _triple(item: Any) -> Triple:
    if isinstance(item, list) and len(item) == 3:
        item = dict(zip("spo", item, strict=True))
    texts = [text_of(mapping(item, "a golden triple"), part) for part in "spo"]
    subject, predicate, object_ = (term_of(text) or Literal(text) for text in texts)
    if not isinstance(subject, IRI) or not isinstance(predicate, IRI):
        raise InputError(f"not a triple: {printable(' '.join(texts), 120)}")
    return Triple(subject, predicate, object_)


def topics_in(sparql: str) -> tuple[Topic, ...]:
    """The entities that a query over Wikidata or DBpedia names, without the classes of ``rdf:type`` and P31.

    In these two graphs an IRI says whether it is an entity. DBpedia's local names are labels: those of Wikipedia.

    >>> [t.label for t in topics_in("SELECT * { ?f <http://dbpedia.org/ontology/starring> dbr:Bruce_Willis }")]
    ['Bruce Willis']
    >>> [t.iri.value for t in topics_in("SELECT * { ?x wdt:P31 wd:Q5 . ?x wdt:P26 wd:Q42 }")]
    ['http://www.wikidata.org/entity/Q42']
    """
    text = _STRING.sub(" ", sparql)
    prefixes = {**_ENTITIES, **dict(_PREFIX.findall(text))}
    body = _PREFIX.sub(" ", text)
    found: dict[str, Topic] = {}
    for match in re.finditer(r"<([^<>\s]*)>|(?<![\w:<])([\w.-]*):((?:[^\W]|[-.%()',&+!*]|\\.)*[^\W.,])", body):
        whole, prefix, name = match.groups()
        value = whole if whole is not None else prefixes.get(prefix, "") + name.replace("\\", "")
        if value.startswith(tuple(_ENTITIES.values())) and not _CLASS.search(body, 0, match.start()):
            term = iri(value)
            found.setdefault(term.value, Topic(term, local_name(term) if value.startswith(_ENTITIES["dbr"]) else ""))
    return tuple(found.values())


def gold_of(
    labels: Sequence[str] | None, iris: Sequence[str] | None, names: Mapping[IRI, str] | None = None
) -> tuple[GoldAnswer, ...] | None:
    """Gold answers from a list of labels and a list of IRIs, either of which may be missing (``None``).

    - As many labels as IRIs: they are pairs.
    - No list of IRIs: the answers are known by name only, and have no term.
    - An empty list of IRIs: no answer is an IRI, so the texts are literals.
    - Another number of IRIs than of labels: the IRIs are the answers. The label of an IRI is the one that the question
      has elsewhere, or the only label, or the label that equals the end of the IRI.

    :param names: labels of terms that the question has elsewhere.

    >>> gold_of(["Bonn"], ["http://e.org/b"])[0].term, gold_of(["Bonn"], None)[0].term
    (<NamedNode value=http://e.org/b>, None)
    >>> gold_of(["8"], [])[0].term.value, gold_of(["8"], [])[0].label
    ('8', '8')
    >>> [answer.label for answer in gold_of(["Ann"], ["http://e.org/a1", "http://e.org/a2"])]
    ['Ann', 'Ann']
    """
    if iris is None:
        return None if labels is None else tuple(GoldAnswer(None, label) for label in dict.fromkeys(labels))
    texts = list(labels or ())
    if not iris:
        return tuple(GoldAnswer(Literal(text), text) for text in dict.fromkeys(texts))
    terms = [iri(text) for text in iris]
    if len(texts) == len(terms):
        first_labels = dict(zip(reversed(terms), reversed(texts), strict=True))
        return tuple(GoldAnswer(term, first_labels[term]) for term in dict.fromkeys(terms))
    spelled = {normalised(text): text for text in texts}
    only = texts[0] if len(texts) == 1 else ""
    known = names or {}
    return tuple(
        GoldAnswer(term, known.get(term) or only or spelled.get(normalised(local_name(term)), ""))
        for term in dict.fromkeys(terms)
    )


def gold_terms(rows: Iterable[Mapping[str, Term]], variables: Sequence[str]) -> tuple[Term, ...]:
    """The answers in the solutions of a query: each once, in their order.

    With one variable, all its terms. With several, every IRI of the rows, as literals then describe the IRIs; without
    IRIs, every literal. A blank node is never an answer: it has no name outside its graph.

    >>> rows = [{"film": IRI("http://e.org/f"), "year": Literal("1999")}]
    >>> gold_terms(rows, ("film", "year"))
    (<NamedNode value=http://e.org/f>,)
    """
    found = dict.fromkeys(
        row[name] for row in rows for name in variables if name in row and not isinstance(row[name], BlankNode)
    )
    if len(variables) > 1 and any(isinstance(term, IRI) for term in found):
        return tuple(term for term in found if isinstance(term, IRI))
    return tuple(found)


def _type_text(value: Any) -> str:
    kinds: dict[type, str] = {
        bool: "a boolean", int: "a number", float: "a number", list: "a list", str: "a text", type(None): "nothing",
    }  # fmt: skip
    return "an object" if isinstance(value, Mapping) else kinds.get(type(value), type(value).__name__)
