"""Questions to begin with, for whoever meets a graph for the first time: a fact, a list and a count.

Each is the words of a plan. It was asked, and is shown only if the answer is sure and just what the plan finds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kgsparql.dataclasses import frozen
from kgsparql.exploration import degrees, predicate_counts, types
from kgsparql.knowledge_base import KnowledgeBase
from kgsparql.linking.english_forms import Relation, is_person, many, relation
from kgsparql.plans.algebra import Count, Current, Ends, Has, Instances, Items, Plan
from kgsparql.rdf.paths import Step
from kgsparql.rdf.query import Query
from kgsparql.rdf.terms import IRI, Labels, Term, as_iri, iris_in, parse_term
from kgsparql.rdf.vocabulary import OF_ONTOLOGIES, UNWALKED

INDEXED_AT_ONCE = 60_000
"""Triples up to which labels are read for these questions; in a larger graph they wait for its label index."""
MOST_TRIPLES = 1_000_000
"""Triples up to which there are any: in larger graphs, to find what is well known takes seconds."""

_PREDICATES, _FACTS = 40, 100  # the commonest predicates, and facts of each that are looked at
_TRIES = 8  # questions of a sort that are asked
_MOST_LISTED = 12
_PLAIN_NAME = re.compile(r"(?!.*[a-z][A-Z\d])[^\W\d_][\w '’.-]{1,40}")
_DULL = re.compile(
    r"\b(?:ids?|identifiers?|codes?|keys?|ir[il]s?|ur[il]s?|doi|e-?mails?|home ?pages?|websites?|gender|sex|tags?|name"
    r"|status|versions?|comments?|notes?|images?|thumbnails?|lat(?:itude)?|long(?:itude)?|types?|class(?:es)?"
    r"|lists?|nodes?|shapes?|propert(?:y|ies)|resources?|statements?|subsets?|datatypes?|accounts?|label|title"
    r"|narrower|logos?|depictions?|exact|scheme|pages?|votes|domain|range)\b",
    re.IGNORECASE,
)
"""Words for what is noted of a thing, or serves its description, but is seldom asked."""


_CLAUSES = {"noun": "have {} as {}", "verb": "{1} {0}", "passive": "were {1} {0}"}
_SAID = {  # of a noun: what is asked of one thing, and what is said of several
    "date of birth": ("When was {} born?", ""), "place of birth": ("Where was {} born?", "were born in {}"),
    "date of death": ("When did {} die?", ""), "place of death": ("Where did {} die?", "died in {}"),
    "broader": ("What is broader than {}?", "are narrower than {}"),
}  # fmt: skip

Sizes = Mapping[Term | None, int]
"""How well known a thing is, and how common a kind."""


@frozen
class _Fact:
    """What is said of a thing of some kind, and how."""

    subject: IRI
    step: Step
    object: Term
    kind: IRI | None
    how: Relation


@frozen
class _Starter:
    """A question, the plan that it is the words of, and how many things that may find."""

    text: str
    plan: Plan
    least: int = 1
    most: int = 1


def example_questions(knowledge: KnowledgeBase) -> tuple[str, ...]:
    """Choose a question of each sort that is answered rightly, if there is one; what is best known comes first.

    There are none of an endpoint, of which too much would have to be asked; none of a large graph
    whose label index is not made yet, and none of a very large one. None is about a class or a property.

    >>> import kgsparql
    >>> example_questions(kgsparql.open("fixtures/nobel.ttl", embedder="none"))[0]
    'Who are the children of Albert Einstein?'
    """
    graph, most = knowledge.graph, MOST_TRIPLES if knowledge.indexes.is_made else INDEXED_AT_ONCE
    if not graph.is_embedded or knowledge.is_empty or sum(predicate_counts(graph).values()) > most:
        return ()
    facts = _said_facts(knowledge)
    labels = knowledge.labels({term for fact in facts for term in (fact.subject, fact.object, fact.kind) if term})
    sizes = Counter[Term | None](fact.kind for fact in facts)
    sizes.update(degrees(graph, iris_in(dict.fromkeys(end for fact in facts for end in (fact.subject, fact.object)))))
    found: list[str] = []
    for sort in (
        _lookup_starters(facts, labels, sizes),
        _list_starters(facts, labels, sizes),
        _count_starters(knowledge),
    ):
        tried = islice(dict.fromkeys(sort), _TRIES)
        found += islice((one.text for one in tried if _is_answered(one, knowledge)), 1)
    return tuple(found)


def _said_facts(knowledge: KnowledgeBase) -> list[_Fact]:
    """Read some facts of the commonest predicates that are called as one says them, for each kind of the subject."""
    graph = knowledge.graph
    common = [own for own in predicate_counts(graph) if own not in UNWALKED and not own.value.startswith(OF_ONTOLOGIES)]
    said = {as_iri(own): relation(label) for own, label in knowledge.labels(common[:_PREDICATES]).items()}
    said = {
        own: how for own, how in said.items() if how.form in _CLAUSES and not how.is_inverse and _is_plain(how.text)
    }
    query = Query.load("predicate_triples")
    found = graph.select(Query.union([query.bind(predicate=[own]).limit(_FACTS) for own in said])) if said else ()
    triples = [(s, as_iri(one["predicate"]), one["object"]) for one in found if isinstance(s := one["subject"], IRI)]
    kinds = types(graph, dict.fromkeys(subject for subject, *_ in triples))
    facts = []
    for subject, predicate, object_ in triples:
        of = [kind for kind in kinds[subject] or (None,) if not (kind and kind.value.startswith(OF_ONTOLOGIES))]
        facts += [_Fact(subject, Step(predicate), object_, kind, said[predicate]) for kind in of]
    return facts


def _lookup_starters(facts: Sequence[_Fact], labels: Labels, sizes: Sizes) -> Iterator[_Starter]:
    """Yield questions for what is something of one thing, of the commonest kind and best known."""
    several = {step for (_, step, _), n in Counter((one.subject, one.step, one.kind) for one in facts).items() if n > 1}
    for fact in sorted(facts, key=lambda own: (-sizes[own.kind], -sizes[own.subject], own.how.text, own.subject.value)):
        noun, name = fact.how.text, labels[fact.subject]
        if fact.how.is_noun and _is_plain(name):
            who, is_of_many = "Who" if is_person(noun) else "What", fact.step in several
            asked = f"{who} are the {many(noun)} of {{}}?" if is_of_many else f"{who} is the {noun} of {{}}?"
            text = (_SAID.get(noun, ("",))[0] or asked).format(name)
            yield _Starter(text, Ends(Items((fact.subject,)), fact.step.path), most=_MOST_LISTED)


def _list_starters(facts: Sequence[_Fact], labels: Labels, sizes: Sizes) -> Iterator[_Starter]:
    """Yield questions for the things of a kind that have something in common, those first that are said with a verb."""
    counts = Counter((fact.kind, fact.step, fact.object, fact.how) for fact in facts)
    said = {how: _SAID.get(how.text, ("", ""))[1] for *_, how in counts}
    order = {how: (not clause, how.is_noun, how.text) for how, clause in said.items()}
    for kind, step, end, how in sorted(
        counts, key=lambda own: (order[own[3]], -sizes[own[0]], -sizes[own[2]], str(own))
    ):
        if kind and isinstance(end, IRI) and counts[kind, step, end, how] > 1 and _is_plain(labels[end]):
            plan = Has(Instances(kind), step.path, Items((end,)))
            clause = (said[how] or _CLAUSES[how.form]).format(labels[end], how.text)
            yield _Starter(f"Which {many(labels[kind])} {clause}?", plan, least=2, most=_MOST_LISTED)


def _count_starters(knowledge: KnowledgeBase) -> Iterator[_Starter]:
    """Yield questions how many things of a kind there are, the commonest first."""
    for one in knowledge.info(shown=_TRIES)["classes"]:
        kind = as_iri(parse_term(one["term"]))
        if _is_plain(one["label"]) and not kind.value.startswith(OF_ONTOLOGIES):
            for items in (Instances(kind), Current(Instances(kind))):  # a question leaves out what is deprecated
                yield _Starter(f"How many {many(one['label'])} are there?", Count(items))


def _is_plain(name: str) -> bool:
    return _PLAIN_NAME.fullmatch(name) is not None and not _DULL.search(name)


def _is_answered(starter: _Starter, knowledge: KnowledgeBase) -> bool:
    """Ask a question, and tell whether the answer is sure, and what its plan finds."""
    found = knowledge.run(starter.plan)
    if not starter.least <= len(found.rows) <= starter.most:
        return False
    answer = knowledge.ask(starter.text, choices=False)
    is_same = answer.value == found.value and (found.value or {one.term for one in answer.best} == {*found.items})
    return answer.status == "answered" and not answer.gaps and bool(is_same)
